//! Drive files: a drive described in TOML, filling in what a preset leaves open.

use crate::ftl::Collection;
use crate::time::{CollectionPace, DiscardHandling, SlcCache, SlcFull, Timing, TimingError};
use serde::Deserialize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use thiserror::Error;
use units::ValueError;

/// Pages per block: limited by the 16-bit counts of valid pages.
pub const PAGES_PER_BLOCK: RangeInclusive<u32> = 1..=65_535;
/// Page size: at least a sector, and at most what a model can count by the page.
const PAGE_BYTES: RangeInclusive<u64> = 512..=1 << 30;
/// The largest over-provisioning.
const OVER_PROVISIONING_MAX: f64 = 10.0;
/// Maximum length of a line or a value quoted in an error.
const QUOTED_MAX: usize = 300;

/// The file's top level; missing values come from the preset. Sizes and shares use the command
/// line's syntax.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DriveTable {
    name: Option<String>,
    preset: Option<String>,
    capacity: Option<String>,
    over_provisioning: Option<String>,
    page_bytes: Option<String>,
    pages_per_block: Option<u32>,
    policy: Option<String>,
    moved: Option<Moved>,
    timing: TimingTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Moved {
    Apart,
    Shared,
}

/// `[timing]`, see [`Timing`].
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TimingTable {
    channels: Option<u32>,
    dies: Option<u32>,
    read_us: Option<f64>,
    program_us: Option<f64>,
    erase_us: Option<f64>,
    program_bytes: Option<u32>,
    erase_bytes: Option<u32>,
    bus_mb_s: Option<f64>,
    command_us: Option<f64>,
    link_mb_s: Option<f64>,
    suspend_us: Option<f64>,
    write_cache_bytes: Option<u64>,
    collection: Option<CollectionPace>,
    slc: Option<SlcTable>,
    discard: DiscardTable,
}

/// `[timing.slc]`, see [`SlcCache`]; missing values are those of `tlc-slc-cache`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SlcTable {
    bytes: Option<u64>,
    read_us: Option<f64>,
    program_us: Option<f64>,
    idle_us: Option<f64>,
    full: Option<SlcFull>,
}

/// `[timing.discard]`, see [`crate::time::DiscardTiming`].
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DiscardTable {
    fixed_us: Option<f64>,
    range_us: Option<f64>,
    byte_ns: Option<f64>,
    handling: Option<DiscardHandling>,
}

/// A validated drive file. Fields missing in the file are `None`.
#[derive(Debug, Default, PartialEq)]
pub struct DriveFile {
    /// A name for display.
    pub name: Option<String>,
    /// Bytes the host can address.
    pub capacity_bytes: Option<u64>,
    /// Over-provisioning, relative to the logical capacity.
    pub over_provisioning: Option<f64>,
    /// Bytes per page.
    pub page_bytes: Option<u32>,
    /// Pages per block.
    pub pages_per_block: Option<u32>,
    /// Victim selection policy.
    pub collection: Option<Collection>,
    /// Whether moved pages are kept in separate blocks.
    pub moved_apart: Option<bool>,
    /// The name of the preset it is based on.
    pub preset: Option<String>,
    timing: TimingTable,
}

/// An invalid drive file.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DriveFileError {
    /// Invalid TOML or an unknown key, with its line.
    #[error("{0}")]
    Toml(String),
    /// A value out of bounds.
    #[error("{key}: {problem}")]
    Value {
        /// The key, such as `capacity`.
        key: &'static str,
        /// What was expected, and the value found.
        problem: String,
    },
    /// A program or erase size of 0.
    #[error(
        "[timing]: {0} is 0, expected the bytes that a die takes at once; left out, it is the preset's"
    )]
    NoBytes(&'static str),
    /// An invalid timing.
    #[error("[timing]: {0}")]
    Timing(#[from] TimingError),
}

impl DriveFile {
    /// Overrides a preset with the file's values.
    ///
    /// # Errors
    /// If a resulting value is impossible.
    pub fn timing(&self, preset: Timing) -> Result<Timing, DriveFileError> {
        let timing = self.timing.over(preset);
        timing.check()?;
        Ok(timing)
    }
}

impl FromStr for DriveFile {
    type Err = DriveFileError;

    fn from_str(text: &str) -> Result<Self, DriveFileError> {
        let table: DriveTable = toml::from_str(text)
            .map_err(|error| DriveFileError::Toml(describe_toml_error(&error, text)))?;
        let pages_per_block = table.pages_per_block;
        if pages_per_block.is_some_and(|pages| !PAGES_PER_BLOCK.contains(&pages)) {
            return Err(DriveFileError::Value {
                key: "pages_per_block",
                problem: "expected 1 to 65535".to_owned(),
            });
        }
        for (key, bytes) in [
            ("program_bytes", table.timing.program_bytes),
            ("erase_bytes", table.timing.erase_bytes),
        ] {
            if bytes == Some(0) {
                return Err(DriveFileError::NoBytes(key));
            }
        }
        let drive = Self {
            name: table.name,
            capacity_bytes: value("capacity", table.capacity, units::size::parse)?,
            over_provisioning: value(
                "over_provisioning",
                table.over_provisioning,
                over_provisioning,
            )?,
            page_bytes: value("page_bytes", table.page_bytes, page_bytes)?,
            pages_per_block,
            collection: value("policy", table.policy, str::parse)?,
            moved_apart: table.moved.map(|moved| moved == Moved::Apart),
            preset: value("preset", table.preset, preset)?,
            timing: table.timing,
        };
        // Check the values now rather than when the simulation starts.
        let preset = drive.preset.as_deref().and_then(Timing::preset);
        drive.timing(preset.unwrap_or(Timing::TLC))?;
        Ok(drive)
    }
}

fn value<T>(
    key: &'static str,
    text: Option<String>,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<Option<T>, DriveFileError> {
    text.map(|text| {
        parse(&text).map_err(|error| DriveFileError::Value {
            key,
            problem: units::cut(&error.to_string(), QUOTED_MAX).into_owned(),
        })
    })
    .transpose()
}

/// Parses an over-provisioning: `7%`, `0.28`.
///
/// # Errors
/// If `text` is not a share above 0 and up to 1000 %.
pub fn over_provisioning(text: &str) -> Result<f64, ValueError> {
    let share = units::share::parse(text)?;
    if share > 0.0 && share <= OVER_PROVISIONING_MAX {
        Ok(share)
    } else {
        Err(ValueError::new("spare area above 0 and up to 1000%", text))
    }
}

/// Parses a page size: `4KiB`.
///
/// # Errors
/// If `text` is not a size of 512 bytes to 1 GiB.
pub fn page_bytes(text: &str) -> Result<u32, ValueError> {
    let bytes = units::size::parse(text)?;
    let fits = Some(bytes).filter(|bytes| PAGE_BYTES.contains(bytes));
    fits.and_then(|bytes| u32::try_from(bytes).ok())
        .ok_or_else(|| ValueError::new("pages of 512 bytes to 1 GiB", text))
}

/// Parses the name of a preset, ignoring case.
///
/// # Errors
/// If there is no such preset.
pub fn preset(text: &str) -> Result<String, ValueError> {
    let name = text.trim().to_ascii_lowercase();
    if Timing::preset(&name).is_some() {
        return Ok(name);
    }
    let known: Vec<&str> = Timing::PRESETS.iter().map(|(name, _, _)| *name).collect();
    Err(ValueError::new(
        format!("one of {}", known.join(", ")),
        text,
    ))
}

/// Describes a TOML error, quoting its line if that is short enough.
fn describe_toml_error(error: &toml::de::Error, text: &str) -> String {
    let whole = error.to_string();
    if whole.lines().all(|line| line.len() <= QUOTED_MAX) {
        return whole;
    }
    let message = units::cut(error.message(), QUOTED_MAX);
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("TOML parse error at line {line}, column {column}: {message}")
}

impl TimingTable {
    fn over(&self, preset: Timing) -> Timing {
        let slc = self.slc.as_ref().map(|table| table.over(preset.slc));
        let mut timing = preset;
        set(&mut timing.channels, self.channels);
        set(&mut timing.dies, self.dies);
        set(&mut timing.read_us, self.read_us);
        set(&mut timing.program_us, self.program_us);
        set(&mut timing.erase_us, self.erase_us);
        set(&mut timing.program_bytes, self.program_bytes);
        set(&mut timing.erase_bytes, self.erase_bytes);
        set(&mut timing.bus_mb_s, self.bus_mb_s);
        set(&mut timing.command_us, self.command_us);
        set(&mut timing.write_cache_bytes, self.write_cache_bytes);
        set(&mut timing.collection, self.collection);
        timing.link_mb_s = self.link_mb_s.or(preset.link_mb_s);
        timing.suspend_us = self.suspend_us.or(preset.suspend_us);
        timing.slc = slc.or(preset.slc);
        set(&mut timing.discard.fixed_us, self.discard.fixed_us);
        set(&mut timing.discard.range_us, self.discard.range_us);
        set(&mut timing.discard.byte_ns, self.discard.byte_ns);
        set(&mut timing.discard.handling, self.discard.handling);
        // A file that sets only the number of dies may have fewer of them than the preset has
        // channels.
        if self.dies.is_some() && self.channels.is_none() {
            timing.channels = timing.channels.min(timing.dies.max(1));
        }
        timing
    }
}

impl SlcTable {
    fn over(&self, preset: Option<SlcCache>) -> SlcCache {
        let mut slc = preset
            .or(Timing::TLC_WITH_SLC_CACHE.slc)
            .unwrap_or(SlcCache {
                bytes: 0,
                read_us: Timing::SLC.read_us,
                program_us: Timing::SLC.program_us,
                idle_us: 0.0,
                full: SlcFull::Fold,
            });
        set(&mut slc.bytes, self.bytes);
        set(&mut slc.read_us, self.read_us);
        set(&mut slc.program_us, self.program_us);
        set(&mut slc.idle_us, self.idle_us);
        set(&mut slc.full, self.full);
        slc
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DriveFile, DriveFileError> {
        text.parse()
    }

    #[test]
    fn a_whole_drive() {
        let text = "name = \"mine\"\npreset = \"mlc\"\ncapacity = \"3.84TB\"\n\
            over_provisioning = \"28%\"\npage_bytes = \"16KiB\"\npages_per_block = 512\n\
            policy = \"d-choices:8\"\nmoved = \"shared\"\n\
            [timing]\nchannels = 16\ndies = 64\nprogram_us = 700\nlink_mb_s = 3500\n\
            collection = \"at-once\"\nerase_bytes = 4194304\n\
            [timing.slc]\nbytes = 1000000000\nfull = \"bypass\"\n\
            [timing.discard]\nfixed_us = 50\nhandling = \"non-queued\"\n";
        let drive = parse(text).unwrap();
        assert_eq!(drive.capacity_bytes, Some(3_840_000_000_000));
        assert_eq!(drive.collection, Some(Collection::DChoices(8)));
        let timing = drive.timing(Timing::MLC).unwrap();
        assert_eq!((timing.channels, timing.dies), (16, 64));
        assert!((timing.program_us - 700.0).abs() < 1e-9);
        assert_eq!(timing.collection, CollectionPace::AtOnce);
        assert_eq!(timing.erase_bytes, 4 << 20);
        assert!((timing.erase_us - Timing::MLC.erase_us).abs() < 1e-9);
        let slc = timing.slc.unwrap();
        assert_eq!((slc.bytes, slc.full), (1_000_000_000, SlcFull::Bypass));
        assert_eq!(timing.discard.handling, DiscardHandling::NonQueued);
    }

    #[test]
    fn long_lines_are_not_quoted_in_full() {
        let long = "x".repeat(100_000);
        for text in [
            format!("name = \"{long}\" y"),
            format!("\n{long} = 3\n"),
            format!("preset = \"tlc\"\nname = {long}\n"),
            format!("preset = \"{long}\"\n"),
        ] {
            let error = parse(&text).unwrap_err();
            let message = error.to_string();
            assert!(message.len() < 400, "{}", message.len());
            let named = ["error at line", "preset: expected"];
            assert!(
                named.iter().any(|named| message.contains(named)),
                "{message}"
            );
        }
        let error = parse("\ndice = 8\n").unwrap_err();
        assert!(error.to_string().contains("2 | dice = 8"), "{error}");
    }

    #[test]
    fn an_empty_file_is_the_preset() {
        let drive = parse("").unwrap();
        assert_eq!(drive.timing(Timing::QLC).unwrap(), Timing::QLC);
    }

    #[test]
    fn errors_name_unknown_keys_and_impossible_values() {
        for (text, named) in [
            ("dice = 8\n", "dice"),
            ("[timing]\nreed_us = 8\n", "reed_us"),
            ("[timing.discard]\nhandling = \"slow\"\n", "slow"),
            ("capacity = \"big\"\n", "capacity: expected a size"),
            ("over_provisioning = \"7\"\n", "write 7 % as 7%"),
            ("pages_per_block = 0\n", "pages_per_block"),
            ("[timing]\ndies = 4\nchannels = 8\n", "channels"),
            ("[timing]\nprogram_us = -3\n", "program_us"),
            ("[timing]\ndies = 0\n", "dies is 0"),
            ("[timing]\nprogram_bytes = 0\n", "program_bytes is 0"),
            ("[timing]\nerase_bytes = 0\n", "erase_bytes is 0"),
            (
                "[timing]\nwrite_cache_bytes = 9223372036854775807\n",
                "write_cache_bytes",
            ),
            ("page_bytes = \"16\"\n", "page_bytes"),
            ("page_bytes = \"4GiB\"\n", "page_bytes"),
            ("preset = \"plc\"\n", "preset: expected one of"),
            ("= 3", "line 1"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(named), "{text}: {error}");
        }
    }
}
