//! The subset of BSON (bsonspec.org, version 1.1) that FTDC needs: iterating over elements, and the numbers
//! of a document in FTDC's order.

/// Maximum nesting depth of documents; MongoDB's collectors reach about 6.
const DEPTH_MAX: usize = 32;
/// Maximum length of a dotted path, in bytes.
const PATH_BYTES_MAX: usize = 1024;
/// Maximum number of numbers in a document; a large replica set has some ten thousand.
pub(super) const METRICS_MAX: usize = 100_000;
/// The smallest document: its length and the terminating zero.
pub(super) const DOCUMENT_BYTES_MIN: usize = 5;

/// A parse error: the offset from the start of the input, and what was expected there.
pub(super) type Fault = (usize, &'static str);

/// A number in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metric {
    /// Element names from the outermost document inwards, joined with dots.
    pub(super) path: String,
    /// The number as FTDC stores it: fractions truncated, dates in milliseconds.
    pub(super) value: i64,
}

/// An element of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    pub(super) value: Value<'a>,
}

/// The types of values that matter here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Double(f64),
    /// The bytes of a document or an array, including its length.
    Document(&'a [u8]),
    Binary(&'a [u8]),
    Bool(bool),
    /// Milliseconds since the epoch.
    Date(i64),
    Int(i64),
    /// Seconds, and an ordinal within the second.
    Timestamp(u32, u32),
    /// A 128-bit decimal floating-point number.
    Decimal([u8; 16]),
    /// Text and other types that FTDC ignores.
    Other,
}

/// Iterator over the elements of a document, with their offsets. Ends after an error.
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

/// Returns the document at the start of `bytes`, without what follows it.
pub(super) fn document(bytes: &[u8]) -> Result<&[u8], Fault> {
    let length = i32_at(bytes, 0).ok_or((0, "the length of a document"))?;
    let length = usize::try_from(length).unwrap_or(0);
    match bytes.get(..length) {
        Some(whole) if length >= DOCUMENT_BYTES_MIN && whole[length - 1] == 0 => Ok(whole),
        _ => Err((0, "a whole document with a zero at its end")),
    }
}

impl<'a> Elements<'a> {
    /// Iterates over a whole document, as returned by [`document`].
    pub(super) fn of(document: &'a [u8]) -> Self {
        Self {
            bytes: document,
            at: 4,
            ended: document.len() < DOCUMENT_BYTES_MIN,
        }
    }

    fn read(&mut self) -> Result<Option<(usize, Element<'a>)>, Fault> {
        let start = self.at;
        let end = self.bytes.len() - 1;
        if start >= end {
            return Ok(None);
        }
        let kind = self.bytes[start];
        let name_at = start + 1;
        let name_len = self.bytes[name_at..end]
            .iter()
            .position(|byte| *byte == 0)
            .ok_or((name_at, "an element's name with a zero behind it"))?;
        let name = std::str::from_utf8(&self.bytes[name_at..name_at + name_len])
            .map_err(|_| (name_at, "an element's name in UTF-8"))?;
        let rest = &self.bytes[name_at + name_len + 1..end];
        let (value, len) =
            value(kind, rest).ok_or((start, "an element of a known type with its whole value"))?;
        self.at = name_at + name_len + 1 + len;
        Ok(Some((start, Element { name, value })))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(usize, Element<'a>), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let outcome = self.read();
        self.ended = !matches!(outcome, Ok(Some(_)));
        outcome.transpose()
    }
}

/// Parses the value at the start of `rest`; returns it and its length in bytes.
fn value(kind: u8, rest: &[u8]) -> Option<(Value<'_>, usize)> {
    let other = |len: usize| (rest.len() >= len).then_some((Value::Other, len));
    let text = |after: usize| {
        let len = usize::try_from(i32_at(rest, 0)?).ok()?;
        other(len.checked_add(4 + after)?)
    };
    match kind {
        0x01 => Some((Value::Double(f64::from_le_bytes(bytes_at(rest, 0)?)), 8)),
        0x02 | 0x0d | 0x0e => text(0),
        0x03 | 0x04 => {
            let inner = document(rest).ok()?;
            Some((Value::Document(inner), inner.len()))
        }
        0x05 => {
            let len = usize::try_from(i32_at(rest, 0)?).ok()?;
            let end = len.checked_add(5)?;
            Some((Value::Binary(rest.get(5..end)?), end))
        }
        0x06 | 0x0a | 0x7f | 0xff => other(0),
        0x07 => other(12),
        0x08 => Some((Value::Bool(*rest.first()? != 0), 1)),
        0x09 => Some((Value::Date(i64::from_le_bytes(bytes_at(rest, 0)?)), 8)),
        0x0b => {
            // A regular expression: two zero-terminated strings.
            let first = rest.iter().position(|byte| *byte == 0)? + 1;
            let second = rest[first..].iter().position(|byte| *byte == 0)? + 1;
            other(first + second)
        }
        0x0c => text(12),
        0x0f => other(usize::try_from(i32_at(rest, 0)?).ok()?),
        0x10 => Some((Value::Int(i64::from(i32_at(rest, 0)?)), 4)),
        0x11 => {
            let increment = u32::from_le_bytes(bytes_at(rest, 0)?);
            let seconds = u32::from_le_bytes(bytes_at(rest, 4)?);
            Some((Value::Timestamp(seconds, increment), 8))
        }
        0x12 => Some((Value::Int(i64::from_le_bytes(bytes_at(rest, 0)?)), 8)),
        0x13 => Some((Value::Decimal(bytes_at(rest, 0)?), 16)),
        _ => None,
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes_at(bytes, at).map(i32::from_le_bytes)
}

/// Reads a little-endian u32.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

/// Returns all numbers of a document in the order in which FTDC extracts them: depth first, in document
/// order; a timestamp counts as two (`extractMetricsFromDocument` in MongoDB's src/mongo/db/ftdc/util.cpp).
pub(super) fn metrics(document: &[u8]) -> Result<Vec<Metric>, Fault> {
    let mut found = Vec::new();
    walk(document, 0, &mut String::new(), 0, &mut found)?;
    Ok(found)
}

fn walk(
    document: &[u8],
    offset: usize,
    path: &mut String,
    depth: usize,
    found: &mut Vec<Metric>,
) -> Result<(), Fault> {
    if depth > DEPTH_MAX {
        return Err((offset, "documents within documents at most 32 deep"));
    }
    for element in Elements::of(document) {
        let (at, element) = element.map_err(|(at, expected)| (offset + at, expected))?;
        let place = offset + at;
        let shorter = path.len();
        if depth > 0 {
            path.push('.');
        }
        path.push_str(element.name);
        if path.len() > PATH_BYTES_MAX {
            return Err((place, "names that together have at most 1024 bytes"));
        }
        let mut add = |path: &str, value: i64| {
            if found.len() >= METRICS_MAX {
                return Err((place, "at most 100000 numbers in a document"));
            }
            found.push(Metric {
                path: path.to_owned(),
                value,
            });
            Ok(())
        };
        match element.value {
            // `as` truncates the fraction, maps NaN to 0 and saturates at the ends of the range: the same
            // as MongoDB's conversion.
            #[allow(clippy::cast_possible_truncation)]
            Value::Double(number) => add(path, number as i64)?,
            Value::Int(number) | Value::Date(number) => add(path, number)?,
            Value::Bool(flag) => add(path, i64::from(flag))?,
            Value::Decimal(bits) => add(path, decimal(bits))?,
            Value::Timestamp(seconds, increment) => {
                add(&format!("{path}.t"), i64::from(seconds))?;
                add(&format!("{path}.i"), i64::from(increment))?;
            }
            Value::Document(inner) => {
                // The value is at the end of the element.
                let header = 2 + element.name.len();
                walk(inner, place + header, path, depth + 1, found)?;
            }
            Value::Binary(_) | Value::Other => {}
        }
        path.truncate(shorter);
    }
    Ok(())
}

/// Returns a 128-bit decimal number in the binary encoding (IEEE 754-2008), rounded to the nearest integer,
/// as MongoDB's `toLong` does; 0 if it is not finite.
fn decimal(bits: [u8; 16]) -> i64 {
    let bits = u128::from_le_bytes(bits);
    let combination = (bits >> 122) & 0x1f;
    // 11 in the first two bits: infinity, NaN, or a coefficient of more than 34 digits, which counts as
    // zero.
    if combination >> 3 == 3 {
        return match (combination, bits >> 127) {
            (0x1e, 0) => i64::MAX,
            (0x1e, _) => i64::MIN,
            _ => 0,
        };
    }
    let exponent = i32::try_from((bits >> 113) & 0x3fff).unwrap_or(0) - 6176;
    let coefficient = bits & ((1 << 113) - 1);
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    let whole = (coefficient as f64 * 10_f64.powi(exponent)).round_ties_even() as i64;
    if bits >> 127 == 0 { whole } else { -whole }
}
