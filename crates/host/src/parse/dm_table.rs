//! Device-mapper tables in the format of `dmsetup table`, one `NAME: START LENGTH TYPE ARGS` per
//! line.
//!
//! Encrypting targets contain their keys. This module drops them before any fact exists: it keeps
//! devices, the option words that matter here, and the numbers of striped and raid targets.
//! Everything else becomes `-`. The arguments are documented in the kernel's
//! `Documentation/admin-guide/device-mapper/`.

use super::fields::note;
use facts::InputError;
use facts::host::{DeviceNumber, DmTarget};
use linux::device_number;
use std::fmt::{self, Write as _};

/// Name of the recorded answer, for errors and evidence.
pub const PATH: &str = "cmd/dmsetup_table";

/// What `dmsetup table` prints when there are no devices.
const NO_TABLES: &str = "No devices found";

/// Replaces dropped arguments.
const DROPPED: &str = "-";

/// Targets whose numbers matter; none of them takes a key.
const NUMBERS_KEPT: [&str; 2] = ["raid", "striped"];

/// The option words that matter.
const WORDS: [&str; 3] = ["allow_discards", "ignore_discard", "no_discard_passdown"];

/// Maximum length of a device name: `DM_NAME_LEN` is 128 including the final NUL, and each byte may
/// be escaped.
const NAME_BYTES_MAX: usize = 127 * 4;

/// One device with its targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name below /dev/mapper, without libdevmapper's `\xNN` escapes.
    pub name: String,
    /// Targets; empty if the device has no live table.
    pub targets: Vec<DmTarget>,
}

/// Parses the tables; also returns the malformed lines. Errors never quote a line, since it could
/// contain a key.
pub fn parse(text: &str) -> (Vec<Table>, Vec<InputError>) {
    let mut tables: Vec<Table> = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in lines(text) {
        let Some(line) = Line::read(line) else {
            let expected = "`NAME: START LENGTH TYPE ARGUMENTS`";
            let error = InputError::new(PATH, expected, "another form (not repeated here)");
            note(&mut errors, error.at_line(index + 1));
            continue;
        };
        let name = unmangle(line.name);
        // dmsetup lists the targets of a device consecutively.
        if tables.last().is_none_or(|table| table.name != name) {
            tables.push(Table {
                name,
                targets: Vec::new(),
            });
        }
        if let (Some(table), Some(target)) = (tables.last_mut(), &line.target) {
            table.targets.push(target.fact());
        }
    }
    (tables, errors)
}

/// Removes keys from the text: each line is reduced to what [`parse`] understands, a malformed line
/// to `-`. Idempotent.
pub fn sanitise(text: &str) -> String {
    let mut kept = String::new();
    let mut next = 0;
    for (index, line) in lines(text) {
        // Keep line numbers, so that errors refer to the recorded line.
        kept.extend(std::iter::repeat_n('\n', index - next));
        next = index + 1;
        match Line::read(line) {
            Some(line) => kept.push_str(&line.to_string()),
            None => kept.push_str(DROPPED),
        }
        kept.push('\n');
    }
    kept
}

/// Returns one sanitized line (without a line feed) for a target from the kernel's answer; `None`
/// if it is malformed.
pub(crate) fn sanitise_target(
    name: &str,
    start_sectors: u64,
    len_sectors: u64,
    target_type: &str,
    arguments: &str,
) -> Option<String> {
    let target = Target::read(start_sectors, len_sectors, target_type, arguments)?;
    let line = Line {
        name: &mangle(name),
        target: Some(target),
    };
    Some(line.to_string())
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && line.trim() != NO_TABLES)
}

struct Line<'t> {
    name: &'t str,
    target: Option<Target<'t>>,
}

struct Target<'t> {
    start_sectors: u64,
    len_sectors: u64,
    kind: &'t str,
    arguments: Vec<Argument<'t>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument<'t> {
    Device(DeviceNumber),
    Number(u64),
    Word(&'t str),
    Dropped,
}

impl<'t> Line<'t> {
    fn read(line: &'t str) -> Option<Self> {
        // A name may contain spaces and colons: it ends at the first colon that is followed by a
        // target.
        let mut from = 0;
        while let Some(at) = line[from..].find(": ").map(|at| from + at) {
            if at > NAME_BYTES_MAX {
                return None;
            }
            let rest = &line[at + 2..];
            if is_name(&line[..at])
                && let Some(target) = Target::read_words(rest)
            {
                return Some(Self {
                    name: &line[..at],
                    target: Some(target),
                });
            }
            from = at + 2;
        }
        // A device without a live table.
        let name = line.trim_end().strip_suffix(':')?;
        let plain = name.len() <= NAME_BYTES_MAX && !name.contains(": ");
        (plain && is_name(name)).then_some(Self { name, target: None })
    }
}

impl<'t> Target<'t> {
    /// `START LENGTH TYPE ARGUMENTS`.
    fn read_words(rest: &'t str) -> Option<Self> {
        let (start, rest) = rest.split_once(' ')?;
        let (len, rest) = rest.split_once(' ')?;
        let (target_type, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
        Self::read(
            plain_number(start)?,
            plain_number(len)?,
            target_type,
            arguments,
        )
    }

    fn read(
        start_sectors: u64,
        len_sectors: u64,
        target_type: &'t str,
        arguments: &'t str,
    ) -> Option<Self> {
        let target_type = target_type.trim_end();
        // DM_MAX_TYPE_NAME is 16, including the final NUL.
        let is_type = (1..16).contains(&target_type.len())
            && target_type
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !is_type {
            return None;
        }
        let numbers = NUMBERS_KEPT.contains(&target_type);
        let words = arguments.split_ascii_whitespace().enumerate();
        let arguments = words
            .map(|(index, word)| match target_type {
                "raid" if index == 0 && is_raid_level(word) => Argument::Word(word),
                _ => kept(word, numbers),
            })
            .collect();
        Some(Self {
            start_sectors,
            len_sectors,
            kind: target_type,
            arguments,
        })
    }

    fn number(&self, index: usize) -> Option<u64> {
        match self.arguments.get(index)? {
            Argument::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn fact(&self) -> DmTarget {
        let mut target = DmTarget {
            start_sectors: self.start_sectors,
            len_sectors: self.len_sectors,
            target_type: self.kind.to_owned(),
            ..DmTarget::default()
        };
        for argument in &self.arguments {
            match argument {
                Argument::Device(number) => target.devices.push(*number),
                Argument::Word(word) => target.options.push((*word).to_owned()),
                Argument::Number(_) | Argument::Dropped => {}
            }
        }
        let chunk_sectors = match self.kind {
            "striped" => {
                target.stripes = self.number(0).and_then(|n| u32::try_from(n).ok());
                self.number(1)
            }
            "raid" => self.number(2),
            _ => None,
        };
        target.chunk_bytes = chunk_sectors
            .filter(|&sectors| sectors > 0)
            .and_then(|sectors| sectors.checked_mul(512));
        target
    }
}

fn is_raid_level(word: &str) -> bool {
    word.len() < 16
        && word.starts_with("raid")
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn kept(word: &str, numbers: bool) -> Argument<'_> {
    let device = word.strip_prefix("meta_device:").unwrap_or(word);
    if let Some(device) = device_number::parse(device) {
        return Argument::Device(device);
    }
    if WORDS.contains(&word) {
        return Argument::Word(word);
    }
    match plain_number(word) {
        Some(number) if numbers => Argument::Number(number),
        _ => Argument::Dropped,
    }
}

/// Whether this may be a device name. With spaces in it, it may also be part of a damaged line, so
/// none of its words may look like a key.
fn is_name(text: &str) -> bool {
    !text.is_empty() && (!text.contains(char::is_whitespace) || !holds_key(text))
}

/// Whether there is a run of hexadecimal digits that could be a key. The shortest key has 16.
fn holds_key(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_hexdigit())
        .any(|digits| digits.len() >= 16)
}

/// Parses an unsigned decimal number without leading zeros, which is formatted exactly as read.
fn plain_number(word: &str) -> Option<u64> {
    let plain = word.bytes().all(|b| b.is_ascii_digit()) && (word == "0" || !word.starts_with('0'));
    plain.then(|| word.parse().ok()).flatten()
}

impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Dropped => f.write_str(DROPPED),
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        let Some(target) = &self.target else {
            return Ok(());
        };
        write!(
            f,
            " {} {} {}",
            target.start_sectors, target.len_sectors, target.kind
        )?;
        for argument in &target.arguments {
            write!(f, " {argument}")?;
        }
        Ok(())
    }
}

/// Decodes libdevmapper's escapes in a device name: `\x20` is a space.
pub(crate) fn unmangle(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if let [b'\\', b'x', high, low, tail @ ..] = rest
            && let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low))
        {
            bytes.push(high * 16 + low);
            rest = tail;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Escapes a kernel device name for the text format: all characters not on libdevmapper's
/// whitelist, except backslashes, since libdevmapper has already escaped the name.
fn mangle(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"#+-.:=@_\\".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
