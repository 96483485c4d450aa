//! Device-mapper tables in the format of `dmsetup table`, one `NAME: START LENGTH TYPE ARGS` per
//! line.
//!
//! Encrypting targets contain their keys. This module drops them before any fact exists: it keeps
//! only those arguments that are on an allow-list (devices, integers, option words, and the cipher
//! where its position is certain). Everything else becomes `-`. The arguments are documented in the
//! kernel's `Documentation/admin-guide/device-mapper/`.

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

/// Targets whose numeric arguments may be kept: none of them takes a key, a digest or a path that
/// could look like a number.
const NUMBERS_KEPT: &[&str] = &[
    "cache",
    "clone",
    "delay",
    "era",
    "error",
    "linear",
    "mirror",
    "multipath",
    "raid",
    "snapshot",
    "snapshot-merge",
    "snapshot-origin",
    "striped",
    "thin",
    "thin-pool",
    "unstriped",
    "vdo",
    "writecache",
    "zero",
    "zoned",
];

/// Option words of all targets.
const WORDS: &[&str] = &[
    "D",
    "J",
    "N",
    "P",
    "PO",
    "R",
    "V2",
    "V3",
    "V4",
    "ack",
    "allow_discards",
    "alua",
    "background",
    "bio",
    "bioRotationInterval",
    "block_on_error",
    "check_at_most_once",
    "cleaner",
    "compression",
    "core",
    "cpu",
    "deduplication",
    "delta_disks",
    "discard_passdown_origin",
    "discard_zeroes_cow",
    "disk",
    "emc",
    "error_if_no_space",
    "fix_hmac",
    "fix_padding",
    "handle_errors",
    "hash",
    "high_priority",
    "historical-service-time",
    "hp_sw",
    "ignore_corruption",
    "ignore_discard",
    "ignore_zero_blocks",
    "io-affinity",
    "iv_large_sectors",
    "keep_log",
    "legacy_recalculate",
    "logical",
    "maxDiscard",
    "max_recovery_rate",
    "metadata2",
    "migration_threshold",
    "min_recovery_rate",
    "mq",
    "near",
    "no_discard_passdown",
    "no_hydration",
    "no_read_workqueue",
    "no_write_workqueue",
    "nosync",
    "off",
    "offset",
    "on",
    "p",
    "panic_on_corruption",
    "passthrough",
    "physical",
    "pg_init_retries",
    "queue-length",
    "queue_if_no_path",
    "queue_mode",
    "raid10_copies",
    "raid10_format",
    "rdac",
    "read_only",
    "rebuild",
    "recalculate",
    "region_size",
    "reset_recalculate",
    "restart_on_corruption",
    "retain_attached_hw_handler",
    "round-robin",
    "s",
    "same_cpu_crypt",
    "service-time",
    "skip_block_zeroing",
    "smq",
    "stripe_cache",
    "submit_from_crypt_cpus",
    "sync",
    "write_mostly",
    "writeback",
    "writethrough",
];

/// Options of the form `WORD:NUMBER`, in crypt and integrity targets.
const NUMBERED_WORDS: &[&str] = &[
    "bitmap_flush_interval",
    "block_size",
    "buffer_sectors",
    "commit_time",
    "interleave_sectors",
    "journal_sectors",
    "journal_watermark",
    "sector_size",
    "sectors_per_bit",
];

/// Options of the form `WORD:ALGORITHM[:KEY]`, in integrity targets.
const KEYED_WORDS: &[&str] = &["internal_hash", "journal_crypt", "journal_mac"];

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
    NumberedWord(&'t str, u64),
    KeyedWord {
        name: &'t str,
        algorithm: &'t str,
        has_key: bool,
    },
    Cipher(&'t str),
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
        let words: Vec<&str> = arguments.split_ascii_whitespace().collect();
        let arguments = match target_type {
            "crypt" => crypt(&words),
            "integrity" => words.iter().map(|word| integrity(word)).collect(),
            "raid" => words
                .iter()
                .enumerate()
                .map(|(index, word)| raid(index, word))
                .collect(),
            _ => {
                let numbers = NUMBERS_KEPT.contains(&target_type);
                words.iter().map(|word| listed(word, numbers)).collect()
            }
        };
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
            devices: Vec::new(),
            options: Vec::new(),
            cipher: None,
            chunk_bytes: None,
            stripes: None,
        };
        for argument in &self.arguments {
            match argument {
                Argument::Device(number) => target.devices.push(*number),
                Argument::Cipher(cipher) => target.cipher = Some((*cipher).to_owned()),
                Argument::Word(_) | Argument::NumberedWord(..) | Argument::KeyedWord { .. } => {
                    target.options.push(argument.to_string());
                }
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

/// `CIPHER KEY IV_OFFSET DEVICE START [COUNT OPTION...]`.
fn crypt<'t>(words: &[&'t str]) -> Vec<Argument<'t>> {
    // Only if every argument is in its expected position is it certain which one is the key.
    if let [cipher, _key, iv_offset, device, start, options @ ..] = words
        && is_algorithm(cipher)
        && let Some(iv_offset) = plain_number(iv_offset)
        && let Some(device) = device_number::parse(device)
        && let Some(start) = plain_number(start)
        && options
            .first()
            .is_none_or(|count| plain_number(count).is_some_and(|n| n <= 64))
    {
        let mut kept = vec![
            Argument::Cipher(cipher),
            Argument::Dropped,
            Argument::Number(iv_offset),
            Argument::Device(device),
            Argument::Number(start),
        ];
        for (index, word) in options.iter().enumerate() {
            kept.push(match plain_number(word) {
                Some(count) if index == 0 => Argument::Number(count),
                _ => crypt_option(word),
            });
        }
        return kept;
    }
    words.iter().map(|word| listed(word, false)).collect()
}

/// A word, `sector_size:4096`, or `integrity:28:aead`, of which name and size are kept.
fn crypt_option(word: &str) -> Argument<'_> {
    if let Some(rest) = word.strip_prefix("integrity:") {
        let size = rest.split(':').next().and_then(plain_number);
        return size.map_or(Argument::Dropped, |size| {
            Argument::NumberedWord("integrity", size)
        });
    }
    numbered(word).unwrap_or_else(|| listed(word, false))
}

/// Numbers are kept by option name only: a short word of digits could be a key.
fn integrity(word: &str) -> Argument<'_> {
    if let Some((name, rest)) = word.split_once(':')
        && KEYED_WORDS.contains(&name)
    {
        let (algorithm, key) = match rest.split_once(':') {
            Some((algorithm, key)) => (algorithm, Some(key)),
            None => (rest, None),
        };
        if !is_algorithm(algorithm) {
            return Argument::Dropped;
        }
        return Argument::KeyedWord {
            name,
            algorithm,
            has_key: key.is_some(),
        };
    }
    if let Some(device) = word.strip_prefix("meta_device:") {
        return device_number::parse(device).map_or(Argument::Dropped, Argument::Device);
    }
    numbered(word).unwrap_or_else(|| listed(word, false))
}

/// `LEVEL COUNT CHUNK [PARAMETER...] COUNT [METADATA DATA]...`.
fn raid(index: usize, word: &str) -> Argument<'_> {
    let is_level = index == 0
        && word.len() < 16
        && word.starts_with("raid")
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_level {
        Argument::Word(word)
    } else {
        listed(word, true)
    }
}

fn numbered(word: &str) -> Option<Argument<'_>> {
    let (name, number) = word.split_once(':')?;
    let name = NUMBERED_WORDS.iter().find(|known| **known == name)?;
    Some(Argument::NumberedWord(name, plain_number(number)?))
}

/// Arguments common to all targets: devices, listed words, and numbers if these are harmless.
fn listed(word: &str, numbers: bool) -> Argument<'_> {
    if let Some(device) = device_number::parse(word) {
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

/// Whether a word may be the name of an algorithm (`aes-xts-plain64`, `capi:xts(aes)-plain64`,
/// `hmac(sha256)`) and not a key in hexadecimal.
fn is_algorithm(word: &str) -> bool {
    let named = word.len() <= 64
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'(' | b')' | b':' | b',' | b'.')
        });
    named && !holds_key(word)
}

impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Word(word) | Self::Cipher(word) => f.write_str(word),
            Self::NumberedWord(name, number) => write!(f, "{name}:{number}"),
            Self::KeyedWord {
                name,
                algorithm,
                has_key,
            } => {
                write!(f, "{name}:{algorithm}")?;
                if *has_key {
                    write!(f, ":{DROPPED}")
                } else {
                    Ok(())
                }
            }
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
