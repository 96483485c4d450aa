//! Splits text into tokens and atoms, and recognizes identifiers by their form.
//!
//! A token is a run of letters, digits, `.`, `_`, `:`, `-` and systemd's escape `\x2d`; bytes above
//! 127 count as letters. An atom is a run of letters and digits within a token. Identifiers consist
//! of whole atoms.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// A hyphen as escaped by systemd-escape(1).
const ESCAPED_HYPHEN: &[u8] = b"\\x2d";

/// Length of `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`.
const IPV6_BYTES_MAX: usize = 45;

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Returns the length of the delimiter at the start, 0 if there is none.
fn delimiter_len(text: &[u8]) -> usize {
    match text.first() {
        Some(b'.' | b'_' | b':' | b'-') => 1,
        Some(b'\\') if text.starts_with(ESCAPED_HYPHEN) => ESCAPED_HYPHEN.len(),
        _ => 0,
    }
}

/// Returns the length of the token at the start, 0 if there is none.
pub(super) fn token_len(text: &[u8]) -> usize {
    let mut len = 0;
    while len < text.len() {
        if is_atom_byte(text[len]) {
            len += 1;
            continue;
        }
        match delimiter_len(&text[len..]) {
            0 => break,
            delimiter => len += delimiter,
        }
    }
    len
}

/// A token with its atoms.
pub(super) struct Token<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) atoms: Vec<Range<usize>>,
}

/// An identifier recognized by its form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Pattern {
    /// A UUID in lower-case hexadecimal without hyphens, and its original format.
    Uuid(String, UuidShape),
    /// The UUIDs that LVM assigns, 32 letters and digits each, and whether they have hyphens.
    Lvm(Vec<String>, bool),
    /// A MAC address (six bytes) or a Fibre Channel name (eight), in lower case.
    Mac(String),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum UuidShape {
    /// 8-4-4-4-12.
    Hyphens,
    /// 32 digits, as in dm-crypt UUIDs and in machine-id.
    Compact,
    /// 8:8:8:8, as written by mdadm.
    Colons,
}

/// Lengths of the parts of a UUID (RFC 9562).
pub(super) const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];
/// Lengths of the parts of an LVM UUID (`lib/uuid/uuid.c` of LVM2).
pub(super) const LVM_PARTS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];

impl<'t> Token<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        let mut atoms = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            match delimiter_len(&bytes[at..]) {
                0 => {
                    let start = at;
                    while at < bytes.len() && is_atom_byte(bytes[at]) {
                        at += 1;
                    }
                    // `token_len` accepts nothing else.
                    at = at.max(start + 1);
                    atoms.push(start..at);
                }
                delimiter => at += delimiter,
            }
        }
        Self { bytes, atoms }
    }

    pub(super) fn atom(&self, index: usize) -> &'t [u8] {
        &self.bytes[self.atoms[index].clone()]
    }

    /// Returns what is between an atom and the next one.
    fn delimiter(&self, index: usize) -> &'t [u8] {
        &self.bytes[self.atoms[index].end..self.atoms[index + 1].start]
    }

    fn is_hyphen(&self, index: usize) -> bool {
        matches!(self.delimiter(index), b"-" | b"--" | ESCAPED_HYPHEN)
    }

    /// Returns the text of `count` atoms from `first` on with plain hyphens: LVM doubles them in
    /// the names of its devices, systemd escapes them. `None` if it is not UTF-8.
    pub(super) fn span(&self, first: usize, count: usize) -> Option<String> {
        let mut text = std::str::from_utf8(self.atom(first)).ok()?.to_owned();
        for index in first..first + count - 1 {
            if self.is_hyphen(index) {
                text.push('-');
            } else {
                text.push_str(std::str::from_utf8(self.delimiter(index)).ok()?);
            }
            text.push_str(std::str::from_utf8(self.atom(index + 1)).ok()?);
        }
        Some(text)
    }

    /// Whether atoms of these lengths follow, of bytes accepted by `fits`, with delimiters accepted
    /// by `divides`.
    fn has_parts(
        &self,
        first: usize,
        parts: &[usize],
        fits: impl Fn(&u8) -> bool,
        divides: impl Fn(usize) -> bool,
    ) -> bool {
        first + parts.len() <= self.atoms.len()
            && parts.iter().enumerate().all(|(offset, &len)| {
                let atom = self.atom(first + offset);
                atom.len() == len
                    && atom.iter().all(&fits)
                    && (offset + 1 == parts.len() || divides(first + offset))
            })
    }

    /// Joins atoms without their delimiters; the caller guarantees ASCII.
    fn joined(&self, first: usize, count: usize) -> String {
        (first..first + count)
            .flat_map(|index| self.atom(index))
            .map(|&byte| char::from(byte))
            .collect()
    }

    /// Returns the identifier that starts at an atom, and its number of atoms.
    pub(super) fn pattern_at(&self, first: usize, addresses: bool) -> Option<(Pattern, usize)> {
        let hex = u8::is_ascii_hexdigit;
        let hyphen = |index: usize| self.is_hyphen(index);
        let colon = |index: usize| self.delimiter(index) == b":";
        let uuid = |count: usize, shape: UuidShape| {
            let digits = self.joined(first, count).to_ascii_lowercase();
            let is_nil = digits.bytes().all(|digit| digit == b'0');
            (!is_nil).then_some((Pattern::Uuid(digits, shape), count))
        };
        if self.has_parts(first, &UUID_PARTS, hex, hyphen) {
            return uuid(5, UuidShape::Hyphens);
        }
        if self.has_parts(first, &[32], hex, hyphen) {
            return uuid(1, UuidShape::Compact);
        }
        if self.has_parts(first, &[8; 4], hex, colon) {
            return uuid(4, UuidShape::Colons);
        }
        if let Some(found) = self.lvm_at(first) {
            return Some(found);
        }
        let bytes = self.atoms[first..]
            .iter()
            .enumerate()
            // One more than any valid count.
            .take(9)
            .take_while(|(offset, range)| {
                range.len() == 2
                    && self.atom(first + offset).iter().all(hex)
                    && (*offset == 0 || colon(first + offset - 1))
            })
            .count();
        let is_first =
            first == 0 || self.delimiter(first - 1) != b":" || self.atom(first - 1).len() != 2;
        if is_first && matches!(bytes, 6 | 8) {
            let text = self.span(first, bytes)?.to_ascii_lowercase();
            let says_nothing = text.bytes().all(|b| matches!(b, b'0' | b':'))
                || text.bytes().all(|b| matches!(b, b'f' | b':'));
            return (!says_nothing).then_some((Pattern::Mac(text), bytes));
        }
        if addresses && let Some(address) = self.ipv4_at(first) {
            return Some((Pattern::Ipv4(address), 4));
        }
        None
    }

    fn lvm_at(&self, first: usize) -> Option<(Pattern, usize)> {
        let alphanumeric = u8::is_ascii_alphanumeric;
        if self.has_parts(first, &LVM_PARTS, alphanumeric, |index| {
            self.is_hyphen(index)
        }) {
            let text = self.joined(first, 7);
            // Words that happen to have these lengths would have neither.
            let is_random = text.bytes().any(|b| b.is_ascii_digit())
                && text.bytes().any(|b| b.is_ascii_uppercase());
            return is_random.then_some((Pattern::Lvm(vec![text], true), 7));
        }
        let is_named = first > 0 && self.atom(first - 1) == b"LVM";
        if is_named && self.has_parts(first, &[64], alphanumeric, |_| true) {
            let text = self.joined(first, 1);
            let (group, volume) = text.split_at(32);
            let halves = vec![group.to_owned(), volume.to_owned()];
            return Some((Pattern::Lvm(halves, false), 1));
        }
        None
    }

    /// Parses four numbers from `first` on as an address.
    fn quad(&self, first: usize) -> Option<Ipv4Addr> {
        let dot = |index: usize| self.delimiter(index) == b".";
        let is_quad = first + 4 <= self.atoms.len()
            && (first..first + 3).all(dot)
            && (first..first + 4).all(|index| self.atom(index).len() <= 3);
        if !is_quad {
            return None;
        }
        self.span(first, 4)?.parse().ok()
    }

    /// Returns an IPv4 address unless it is part of a version (`elasticsearch-7.17.28.1.jar`).
    fn ipv4_at(&self, first: usize) -> Option<Ipv4Addr> {
        let address = self.quad(first)?;
        let before = &self.bytes[..self.atoms[first].start];
        let free_before = match before.last() {
            None | Some(b':') => true,
            // `ip-10.0.0.5:3260-iscsi-...` in by-path, and ranges.
            Some(b'-') => {
                before == b"ip-"
                    || (first >= 4 && self.is_hyphen(first - 1) && self.quad(first - 4).is_some())
            }
            Some(_) => false,
        };
        let after = &self.bytes[self.atoms[first + 3].end..];
        let free_after = match after {
            [] | [b':', ..] | [b'.'] => true,
            [b'-', ..] => first + 4 < self.atoms.len() && self.quad(first + 4).is_some(),
            _ => false,
        };
        let is_special = address.is_loopback()
            || address.is_unspecified()
            // Reserved: netmasks and broadcast.
            || address.octets()[0] >= 240
            // The metadata service of clouds.
            || address == Ipv4Addr::new(169, 254, 169, 254);
        (free_before && free_after && !is_special).then_some(address)
    }

    /// Parses the whole token as an IPv6 address.
    pub(super) fn ipv6(&self) -> Option<Ipv6Addr> {
        if self.bytes.len() > IPV6_BYTES_MAX {
            return None;
        }
        let colons = self.bytes.split(|&byte| byte == b':').count() - 1;
        // Eight pairs of digits are a Fibre Channel name.
        if colons < 2 || (self.atoms.len() == 8 && self.atoms.iter().all(|atom| atom.len() == 2)) {
            return None;
        }
        let address: Ipv6Addr = std::str::from_utf8(self.bytes).ok()?.parse().ok()?;
        (!address.is_loopback() && !address.is_unspecified()).then_some(address)
    }
}

/// Iterates over the tokens of a text.
pub(super) fn tokens(text: &[u8]) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            match token_len(&text[at..]) {
                0 => at += 1,
                len => {
                    let token = Token::new(&text[at..at + len]);
                    at += len;
                    return Some(token);
                }
            }
        }
        None
    })
}
