//! A drive in TOML: what a preset leaves open, said by who knows it.

use super::args::Moved;
use super::values;
use crate::error::{CommandError, Kind};
use crate::values as plain;
use flash::ftl::Collection;
use flash::time::{CollectionPace, DiscardHandling, SlcCache, SlcFull, Timing};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

/// The largest file that is read: a drive takes some lines.
const BYTES_MAX: u64 = 1 << 20;

/// The file; what is left out is the preset's. Sizes and shares are written as on the command line.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DriveFile {
    /// For people.
    pub name: Option<String>,
    /// What it starts from: `slc`, `mlc`, `tlc`, `tlc-slc-cache`, `qlc`.
    pub preset: Option<String>,
    /// As `--capacity`.
    pub capacity: Option<String>,
    /// As `--op`.
    pub over_provisioning: Option<String>,
    /// As `--page-bytes`.
    pub page_bytes: Option<String>,
    /// As `--pages-per-block`.
    pub pages_per_block: Option<u32>,
    /// As `--policy`.
    pub policy: Option<String>,
    /// As `--moved`.
    pub moved: Option<Moved>,
    /// Times of its parts.
    pub timing: TimingTable,
}

/// `[timing]`, see [`Timing`].
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimingTable {
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
    collection: Option<Pace>,
    slc: Option<SlcTable>,
    discard: DiscardTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pace {
    AtOnce,
    Even,
}

/// `[timing.slc]`, see [`SlcCache`]; what is left out is that of `tlc-slc-cache`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SlcTable {
    bytes: Option<u64>,
    read_us: Option<f64>,
    program_us: Option<f64>,
    idle_us: Option<f64>,
    full: Option<Full>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Full {
    Fold,
    Bypass,
}

/// `[timing.discard]`, see [`flash::time::DiscardTiming`].
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DiscardTable {
    fixed_us: Option<f64>,
    range_us: Option<f64>,
    byte_ns: Option<f64>,
    handling: Option<Handling>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Handling {
    Queued,
    NonQueued,
    Ignored,
    Swallowed,
}

/// A drive as the file says it, checked.
#[derive(Debug, Default, PartialEq)]
pub struct Described {
    /// For people.
    pub name: Option<String>,
    /// As `--capacity`.
    pub capacity: Option<u64>,
    /// As `--op`.
    pub over_provisioning: Option<f64>,
    /// As `--page-bytes`.
    pub page_bytes: Option<u64>,
    /// As `--pages-per-block`.
    pub pages_per_block: Option<u32>,
    /// As `--policy`.
    pub policy: Option<Collection>,
    /// As `--moved`.
    pub moved: Option<Moved>,
    /// What it starts from.
    pub preset: Option<String>,
    /// The numbers over the preset's.
    table: TimingTable,
}

impl Described {
    /// Puts the file's numbers over a preset's.
    ///
    /// # Errors
    /// The first number that no drive has.
    pub fn timing(&self, preset: Timing) -> Result<Timing, CommandError> {
        let timing = self.table.over(preset);
        timing
            .check()
            .map_err(|error| CommandError::new(Kind::Input, format!("[timing]: {error}")))?;
        Ok(timing)
    }
}

/// Reads a drive.
///
/// # Errors
/// When it cannot be read or understood.
pub fn read(path: &Path) -> Result<Described, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::new(
            Kind::Environment,
            format!("--drive {}: {error}", path.display()),
        )
        .hint("name a file that is there and that you may read")
    };
    // A file that grows or never ends has no length beforehand.
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    let input = |found: &str| {
        CommandError::new(
            Kind::Input,
            format!(
                "--drive {}: expected a drive in TOML, found {found}",
                path.display()
            ),
        )
    };
    if bytes.len() as u64 > BYTES_MAX {
        return Err(input("more than 1 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| input("bytes that are no UTF-8"))?;
    parse(&text, &path.display().to_string())
}

/// Complaints quote a line or a value: up to here.
const COLUMNS_MAX: usize = 300;

/// What is wrong with the TOML, with its line as long as that can be read.
fn told(error: &toml::de::Error, text: &str) -> String {
    let whole = error.to_string();
    if whole.lines().all(|line| line.len() <= COLUMNS_MAX) {
        return whole;
    }
    let message = report::cut(error.message(), COLUMNS_MAX);
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("TOML parse error at line {line}, column {column}: {message}")
}

fn parse(text: &str, name: &str) -> Result<Described, CommandError> {
    let error = |message: String| {
        CommandError::new(Kind::Input, format!("drive {name}: {message}"))
            .hint("`docs/ssd.md` lists the keys with an example")
    };
    let file: DriveFile = toml::from_str(text).map_err(|found| error(told(&found, text)))?;
    let key = |key: &'static str| {
        move |message: String| error(format!("{key}: {}", report::cut(&message, COLUMNS_MAX)))
    };
    let described = Described {
        name: file.name,
        capacity: file
            .capacity
            .as_deref()
            .map(plain::size)
            .transpose()
            .map_err(|error| key("capacity")(error.to_string()))?,
        over_provisioning: file
            .over_provisioning
            .as_deref()
            .map(values::over_provisioning)
            .transpose()
            .map_err(key("over_provisioning"))?,
        page_bytes: file
            .page_bytes
            .as_deref()
            .map(values::page_bytes)
            .transpose()
            .map_err(key("page_bytes"))?,
        pages_per_block: file.pages_per_block,
        policy: file
            .policy
            .as_deref()
            .map(values::policy)
            .transpose()
            .map_err(key("policy"))?,
        moved: file.moved,
        preset: file
            .preset
            .as_deref()
            .map(values::preset)
            .transpose()
            .map_err(key("preset"))?,
        table: file.timing,
    };
    if described
        .pages_per_block
        .is_some_and(|pages| !(1..=65_535).contains(&pages))
    {
        return Err(error("pages_per_block: expected 1 to 65535".to_owned()));
    }
    for (key, bytes) in [
        ("program_bytes", described.table.program_bytes),
        ("erase_bytes", described.table.erase_bytes),
    ] {
        if bytes == Some(0) {
            return Err(error(format!(
                "[timing]: {key} is 0, expected the bytes that a die takes at once; left out, it is \
                 the preset's"
            )));
        }
    }
    // A number that no drive has is found here, not after the first minute.
    let preset = described.preset.as_deref().and_then(Timing::preset);
    described
        .timing(preset.unwrap_or(Timing::TLC))
        .map_err(|found| error(found.message))?;
    Ok(described)
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
        let pace = self.collection.map(|pace| match pace {
            Pace::AtOnce => CollectionPace::AtOnce,
            Pace::Even => CollectionPace::Even,
        });
        set(&mut timing.collection, pace);
        timing.link_mb_s = self.link_mb_s.or(preset.link_mb_s);
        timing.suspend_us = self.suspend_us.or(preset.suspend_us);
        timing.slc = slc.or(preset.slc);
        set(&mut timing.discard.fixed_us, self.discard.fixed_us);
        set(&mut timing.discard.range_us, self.discard.range_us);
        set(&mut timing.discard.byte_ns, self.discard.byte_ns);
        let handling = self.discard.handling.map(|handling| match handling {
            Handling::Queued => DiscardHandling::Queued,
            Handling::NonQueued => DiscardHandling::NonQueued,
            Handling::Ignored => DiscardHandling::Ignored,
            Handling::Swallowed => DiscardHandling::Swallowed,
        });
        set(&mut timing.discard.handling, handling);
        // A drive that says how many dies it has says how many channels, too, or has few.
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
        let full = self.full.map(|full| match full {
            Full::Fold => SlcFull::Fold,
            Full::Bypass => SlcFull::Bypass,
        });
        set(&mut slc.full, full);
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

    #[test]
    fn a_whole_drive() {
        let text = "name = \"mine\"\npreset = \"mlc\"\ncapacity = \"3.84TB\"\n\
            over_provisioning = \"28%\"\npage_bytes = \"16KiB\"\npages_per_block = 512\n\
            policy = \"d-choices:8\"\nmoved = \"shared\"\n\
            [timing]\nchannels = 16\ndies = 64\nprogram_us = 700\nlink_mb_s = 3500\n\
            collection = \"at-once\"\nerase_bytes = 4194304\n\
            [timing.slc]\nbytes = 1000000000\nfull = \"bypass\"\n\
            [timing.discard]\nfixed_us = 50\nhandling = \"non-queued\"\n";
        let drive = parse(text, "x.toml").unwrap();
        assert_eq!(drive.capacity, Some(3_840_000_000_000));
        assert_eq!(drive.policy, Some(Collection::DChoices(8)));
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
    fn a_long_line_is_not_told_whole() {
        let long = "x".repeat(100_000);
        for text in [
            format!("name = \"{long}\" y"),
            format!("\n{long} = 3\n"),
            format!("preset = \"tlc\"\nname = {long}\n"),
            format!("preset = \"{long}\"\n"),
        ] {
            let error = parse(&text, "x.toml").unwrap_err();
            assert!(error.message.len() < 400, "{}", error.message.len());
            let named = ["error at line", "preset: expected"];
            assert!(
                named.iter().any(|named| error.message.contains(named)),
                "{error}"
            );
        }
        let error = parse("\ndice = 8\n", "x.toml").unwrap_err();
        assert!(error.message.contains("2 | dice = 8"), "{error}");
    }

    #[test]
    fn an_empty_file_is_the_preset() {
        let drive = parse("", "x.toml").unwrap();
        assert_eq!(drive.timing(Timing::QLC).unwrap(), Timing::QLC);
    }

    #[test]
    fn unknown_keys_and_impossible_numbers_are_named() {
        for (text, named) in [
            ("dice = 8\n", "dice"),
            ("[timing]\nreed_us = 8\n", "reed_us"),
            ("[timing.discard]\nhandling = \"slow\"\n", "slow"),
            ("capacity = \"big\"\n", "capacity: expected a size"),
            ("over_provisioning = \"7\"\n", "written 7%"),
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
            ("= 3", "x.toml"),
        ] {
            let error = parse(text, "x.toml").unwrap_err();
            assert!(error.message.contains(named), "{text}: {error}");
            assert!(!error.hints.is_empty(), "{text}");
        }
    }
}
