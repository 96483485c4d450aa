//! Parsing of fields within a line.
//!
//! Numbers are parsed byte by byte: parsing eight bytes at once within a word was measured to be
//! slower. Functions are forced inline because calls cost a third of the speed.
#![allow(clippy::inline_always)]

use super::error::{ParseError, ParseErrorKind};

/// A position in a line.
pub(crate) struct Cursor<'a> {
    line: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { line, rest: line }
    }

    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.line.len() - self.rest.len()
    }

    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error: `expected` is missing at this position.
    #[cold]
    pub(crate) fn expected(&self, expected: &'static str) -> ParseError {
        ParseError {
            at: self.at(),
            what: ParseErrorKind::Expected(expected),
        }
    }

    /// Skips spaces and tabs, if any.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Skips the comma between two fields, with optional blanks around it.
    #[inline(always)]
    pub(crate) fn comma(&mut self) -> Result<(), ParseError> {
        self.blanks();
        let [b',', rest @ ..] = self.rest else {
            return Err(self.expected("a comma"));
        };
        self.rest = rest;
        self.blanks();
        Ok(())
    }

    /// Skips at least one blank.
    #[inline(always)]
    pub(crate) fn gap(&mut self) -> Result<(), ParseError> {
        let [b' ' | b'\t', ..] = self.rest else {
            return Err(self.expected("a space"));
        };
        self.blanks();
        Ok(())
    }

    /// Expects the end of the line.
    #[inline(always)]
    pub(crate) fn end(&mut self) -> Result<(), ParseError> {
        self.blanks();
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.expected("the end of the line"))
        }
    }

    /// Parses a decimal number.
    #[inline(always)]
    pub(crate) fn number(&mut self, what: &'static str) -> Result<u64, ParseError> {
        let (value, digits) = self.digits();
        if digits == 0 {
            return Err(self.expected(what));
        }
        // 19 digits are always below 2^64.
        if digits > 19 {
            return self.long_number(what, digits);
        }
        self.rest = &self.rest[digits..];
        Ok(value)
    }

    /// The number at this position, modulo 2^64, and its number of digits.
    #[inline(always)]
    fn digits(&self) -> (u64, usize) {
        let mut value = 0_u64;
        let mut digits = 0;
        for byte in self.rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        }
        (value, digits)
    }

    #[cold]
    fn long_number(&mut self, what: &'static str, digits: usize) -> Result<u64, ParseError> {
        let mut value = 0_u64;
        for digit in &self.rest[..digits] {
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(u64::from(digit - b'0')))
                .ok_or_else(|| self.too_large(what))?;
        }
        self.rest = &self.rest[digits..];
        Ok(value)
    }

    #[cold]
    fn too_large(&self, what: &'static str) -> ParseError {
        ParseError {
            at: self.at(),
            what: ParseErrorKind::TooLarge(what),
        }
    }

    /// Parses a decimal number and multiplies it by `unit`; the result must fit into 64 bits.
    #[inline(always)]
    pub(crate) fn number_of(&mut self, what: &'static str, unit: u64) -> Result<u64, ParseError> {
        let before = self.rest;
        let value = self.number(what)?;
        value.checked_mul(unit).ok_or_else(|| {
            self.rest = before;
            self.too_large(what)
        })
    }

    /// Parses a length whose end, starting at `offset`, must fit into 64 bits.
    #[inline(always)]
    pub(crate) fn length(
        &mut self,
        what: &'static str,
        unit: u64,
        offset: u64,
    ) -> Result<u64, ParseError> {
        let before = self.rest;
        let value = self.number_of(what, unit)?;
        if offset.checked_add(value).is_none() {
            self.rest = before;
            return Err(self.too_large("the end of the request at this length"));
        }
        Ok(value)
    }

    /// Parses seconds such as `12.000000345` into nanoseconds; up to nine decimal places.
    #[inline(always)]
    pub(crate) fn seconds_ns(&mut self, what: &'static str) -> Result<u64, ParseError> {
        let before = self.rest;
        let whole_ns = self.number_of(what, 1_000_000_000)?;
        let [b'.', fraction @ ..] = self.rest else {
            return Ok(whole_ns);
        };
        self.rest = fraction;
        let (value, digits) = self.digits();
        if digits == 0 || digits > 9 {
            return Err(self.expected("one to nine digits behind the point"));
        }
        let time = whole_ns.checked_add(value * POWERS[digits - 1]);
        self.rest = match time {
            Some(_) => &fraction[digits..],
            None => before,
        };
        time.ok_or_else(|| self.too_large(what))
    }

    /// Returns everything up to a blank; at least one byte.
    #[inline(always)]
    pub(crate) fn word(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        let len = self
            .rest
            .iter()
            .position(|byte| matches!(byte, b' ' | b'\t'))
            .unwrap_or(self.rest.len());
        if len == 0 {
            return Err(self.expected(what));
        }
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(word)
    }

    /// Returns everything up to a comma, without trailing blanks; at least one byte.
    #[inline(always)]
    pub(crate) fn text(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        let len = self
            .rest
            .iter()
            .position(|&byte| byte == b',')
            .unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(len);
        let text = text.trim_ascii_end();
        if text.is_empty() {
            return Err(self.expected(what));
        }
        self.rest = rest;
        Ok(text)
    }

    /// Parses a decimal number used as an identifier, and returns its digits without leading zeros.
    #[inline(always)]
    pub(crate) fn id(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        let before = self.rest;
        self.number(what)?;
        let mut digits = &before[..before.len() - self.rest.len()];
        while let [b'0', more @ ..] = digits
            && !more.is_empty()
        {
            digits = more;
        }
        Ok(digits)
    }

    /// Skips one byte if it equals `byte`.
    #[inline(always)]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Moves back to the start of a field, for an error that points there.
    pub(crate) fn back_to(&mut self, at: usize) {
        self.rest = &self.line[at..];
    }
}

/// Value of the last decimal digit in nanoseconds, by number of digits.
const POWERS: [u64; 9] = [
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000,
    1_000,
    100,
    10,
    1,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parse_like_the_standard_library() {
        for text in [
            "0",
            "7",
            "12345678",
            "123456789",
            "1234567812345678",
            "99999999",
            "00000000001",
            "18446744073709551615",
            "000000000000000000000018446744073709551615",
            "9999999999999999999",
        ] {
            let mut cursor = Cursor::new(text.as_bytes());
            assert_eq!(cursor.number("n"), Ok(text.parse().unwrap()), "{text}");
            assert!(cursor.rest().is_empty());
        }
        for text in ["18446744073709551616", "99999999999999999999999"] {
            let wrong = Cursor::new(text.as_bytes()).number("n").unwrap_err();
            assert_eq!(wrong.what, ParseErrorKind::TooLarge("n"), "{text}");
        }
        for text in ["", "x", "-1", "+1", ":", "/"] {
            let wrong = Cursor::new(text.as_bytes()).number("n").unwrap_err();
            assert_eq!(wrong.what, ParseErrorKind::Expected("n"), "{text}");
        }
    }

    #[test]
    fn seconds_have_up_to_nine_decimal_places() {
        let read = |text: &str| Cursor::new(text.as_bytes()).seconds_ns("t");
        assert_eq!(read("0.000000001"), Ok(1));
        assert_eq!(read("12.5"), Ok(12_500_000_000));
        assert_eq!(read("3"), Ok(3_000_000_000));
        assert_eq!(read("1.0000000001").unwrap_err().at, 2);
        assert_eq!(read("1.").unwrap_err().at, 2);
        // 2^64 ns are 18446744073.709551616 s.
        assert_eq!(read("18446744073.709551615"), Ok(u64::MAX));
        assert_eq!(
            read("18446744073.709551616").unwrap_err().what,
            ParseErrorKind::TooLarge("t")
        );
    }
}
