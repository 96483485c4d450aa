//! `trimtab ssd replay`: recorded requests on a drive, streamed.

use super::args::{Beyond, Replay as Arguments, SsdFormat};
use super::document;
use super::memory;
use super::replay_answer::{Answer, csv, page, text};
use super::spec::{Basis, PAGES_PER_BLOCK, require_chunk, shown};
use crate::answer::envelope;
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::output;
use crate::progress::Meter;
use flash::drive::{Device, DiscardSplit, Drive, Raid0};
use flash::ftl::{PowerOn, Settings};
use flash::geometry::Geometry;
use flash::time::{Recorder, Timing};
use flash::trace::{
    Addresses, BadLines, Devices, Options, Pace, Reader, Replay, ReplaySettings, Replayed, Stats,
    Summary, TraceError,
};
use report::count;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of a page of a replayed drive where nothing says.
const PAGE_BYTES: u64 = 4096;
/// Chunk of md's RAID-0.
const CHUNK_BYTES: u64 = 512 * 1024;
/// Records between two looks at the progress.
const RECORDS: u64 = 1 << 16;
/// Points of the series where nothing says how long they are.
const POINTS: u64 = 90;
/// A trace that needs less than this gets this much.
const CAPACITY_MIN: u64 = 64 << 20;
/// The drive below a volume is at least this large.
const DRIVE_BYTES_MIN: u64 = 1_000_000_000_000;
/// An interval is this long at least, in nanoseconds.
const INTERVAL_NS_MIN: u64 = 1_000_000;
/// A drive that ends this much later than the recorded one was too slow.
const LATE_NS: u64 = 2_000_000_000;
/// Intervals of a minute where a trace from standard input tells nothing of its length.
const INTERVAL_NS_UNKNOWN: u64 = 60_000_000_000;

/// One drive or several.
enum Drives {
    One(Box<Drive>),
    Many(Box<Raid0<Drive>>),
}

impl Drives {
    fn device(&mut self) -> &mut dyn Device {
        match self {
            Self::One(drive) => drive.as_mut(),
            Self::Many(array) => array.as_mut(),
        }
    }
}

/// Runs it.
///
/// # Errors
/// A trace that cannot be read, numbers of which there is no drive.
pub fn run(arguments: &Arguments, config: &SsdConfig, quiet: bool) -> Result<(), CommandError> {
    let from_stdin = arguments
        .traces
        .iter()
        .filter(|trace| is_stdin(trace))
        .count();
    let once = arguments.traces.iter().any(|trace| is_read_once(trace));
    if from_stdin > 1 || (once && arguments.rounds > 1) {
        return Err(CommandError::new(
            Kind::Usage,
            "standard input and pipes can be read once only: one `-`, and one round",
        ));
    }
    let basis = Basis::new(
        &arguments.drive,
        arguments.op,
        arguments.policy,
        config,
        PAGE_BYTES,
    )?;
    let given = arguments.capacity.or(basis.file.capacity);
    // Traces are read once before, unless nothing is to be learned from that.
    let wants_span = given.is_none() || arguments.beyond == Some(Beyond::Scale);
    let summaries = if !once && (wants_span || arguments.interval.is_none()) {
        summaries(arguments, quiet)?
    } else if wants_span {
        return Err(CommandError::new(
            Kind::Usage,
            "how large the drive has to be cannot be told from standard input or a pipe beforehand",
        )
        .hint("say it: --capacity SIZE, without --beyond scale"));
    } else {
        Vec::new()
    };
    require_devices(&arguments.devices, &summaries)?;
    let span_bytes = summaries
        .iter()
        .map(|summary| span(summary, &arguments.devices))
        .max()
        .unwrap_or(0);
    let plan = Plan::new(arguments, &basis, given, span_bytes, &summaries)?;
    let mut drives = plan.build(arguments, &basis)?;
    let (replayed, stats) = replay(arguments, &plan, drives.device(), quiet)?;
    let device = drives.device();
    device.recorder_mut().finish();
    let answer = Answer::new(arguments, &basis, &plan, &replayed, &stats, device);
    let names: Vec<String> = arguments.traces.iter().map(|trace| shown(trace)).collect();
    let names = names.join(", ");
    let warnings = warnings(arguments, &plan, &replayed, &stats);
    match arguments.format.or(config.format).unwrap_or_default() {
        SsdFormat::Json => {
            let answer = document::Answer::Replay(Box::new(answer));
            let mut document = envelope(format!("trace {names}"), answer)?;
            document.warnings = warnings;
            output::print(&document.json())
        }
        SsdFormat::Csv => output::print(&csv(&answer)),
        SsdFormat::Text => output::print(&text(&answer, &names, &warnings)),
        SsdFormat::Html => output::print(&page(&answer, &names, warnings)),
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a trace is gone once it was read: standard input, and what `<(zcat TRACE.gz)` stands for.
fn is_read_once(path: &Path) -> bool {
    is_stdin(path) || std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
}

/// Counts bytes as they are read, for the progress.
struct Counted<R> {
    inner: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

type Opened = Reader<Counted<Box<dyn Read>>>;

fn open(arguments: &Arguments, path: &Path, read: &Rc<Cell<u64>>) -> Result<Opened, CommandError> {
    let inner: Box<dyn Read> = if is_stdin(path) {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(path).and_then(|file| {
            if file.metadata()?.is_dir() {
                return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory));
            }
            Ok(file)
        });
        Box::new(file.map_err(|error| {
            CommandError::new(Kind::Environment, format!("{}: {error}", shown(path)))
                .hint("name a trace that is there and that you may read")
        })?)
    };
    let reader = Counted {
        inner,
        read: Rc::clone(read),
    };
    let options = Options {
        bad_lines: match arguments.skip_bad_lines {
            None | Some(0) => BadLines::Stop,
            Some(max) => BadLines::Skip { max },
        },
        time_unit_ns: arguments.time_unit,
        ..Options::default()
    };
    match arguments.trace_format {
        Some(format) => Ok(Reader::new(reader, format, options)),
        None => Reader::detect(reader, options).map_err(|error| bad(path, &error)),
    }
}

/// A line that cannot be read, with the ways out.
fn bad(path: &Path, error: &TraceError) -> CommandError {
    let refusal = CommandError::new(Kind::Input, format!("{}: {error}", shown(path)));
    let format = "name the format with --trace-format: `trimtab ssd replay --help` lists them";
    let skip = "--skip-bad-lines N leaves such lines out and counts them";
    let from_stdin = |tool: &str, name: &str| {
        format!(
            "compressed traces are read from standard input: {tool} {name} | trimtab ssd replay - \
             --capacity SIZE"
        )
    };
    match decompressor(path) {
        Some(tool) => refusal.hint(from_stdin(tool, &shown(path))),
        None => (refusal.hint(format).hint(skip)).hint(from_stdin("zcat", "TRACE.gz")),
    }
}

/// First bytes of compressed files, and what unpacks them.
const COMPRESSED: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "zcat"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstdcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xzcat"),
    (b"BZh", "bzcat"),
];

/// What unpacks a file that is compressed, by its first bytes.
fn decompressor(path: &Path) -> Option<&'static str> {
    // What is read once only is gone by now, and may wait for ever.
    if !std::fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return None;
    }
    let mut first = Vec::new();
    File::open(path)
        .ok()?
        .take(8)
        .read_to_end(&mut first)
        .ok()?;
    let mut known = COMPRESSED.iter();
    let (_, tool) = known.find(|(magic, _)| first.starts_with(magic))?;
    Some(tool)
}

/// Bytes of all traces; 0 where one has no length.
fn length(traces: &[PathBuf]) -> u64 {
    let lengths = traces
        .iter()
        .map(|trace| std::fs::metadata(trace).map(|data| data.len()));
    lengths.sum::<std::io::Result<u64>>().unwrap_or(0)
}

fn summaries(arguments: &Arguments, quiet: bool) -> Result<Vec<Summary>, CommandError> {
    let meter = Meter::new("looking through", 1, quiet);
    let total = length(&arguments.traces).max(1);
    let read = Rc::new(Cell::new(0));
    let mut summaries = Vec::new();
    for path in &arguments.traces {
        let reader = open(arguments, path, &read)?;
        summaries.push(Summary::of(reader).map_err(|error| bad(path, &error))?);
        meter.tell(0, read.get(), total);
    }
    Ok(summaries)
}

/// The furthest end of the devices that are wanted.
fn span(summary: &Summary, wanted: &[String]) -> u64 {
    let is_wanted = |index: usize, name: &str| match devices(wanted) {
        Devices::First => index == 0,
        Devices::All => true,
        Devices::Named(names) => names.iter().any(|wanted| wanted == name),
    };
    summary
        .devices
        .iter()
        .enumerate()
        .filter(|(index, device)| is_wanted(*index, &device.name))
        .map(|(_, device)| device.end_bytes)
        .max()
        .unwrap_or(0)
}

/// Devices of a trace that are listed.
const DEVICES_SHOWN: usize = 12;
/// And so much of each.
const NAME_COLUMNS: usize = 40;

/// Names that were asked for and are in no trace; `known` are those of the traces.
fn unknown_devices(missing: &[String], known: &[String]) -> CommandError {
    let mut names: Vec<&String> = Vec::new();
    for name in known {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(DEVICES_SHOWN);
    names.truncate(DEVICES_SHOWN);
    let shown = |name: &&String| report::cut(&report::escape(name), NAME_COLUMNS).into_owned();
    let names: Vec<String> = names.iter().map(shown).collect();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    CommandError::new(
        Kind::Usage,
        format!(
            "--devices {}: the traces have none of this name",
            report::escape(&missing.join(","))
        ),
    )
    .hint(format!(
        "they have {}{more}; `--devices all` takes every device",
        names.join(", ")
    ))
}

/// Refuses names that are in none of the traces, before anything is replayed.
fn require_devices(wanted: &[String], summaries: &[Summary]) -> Result<(), CommandError> {
    let Devices::Named(wanted) = devices(wanted) else {
        return Ok(());
    };
    let known: Vec<String> = summaries
        .iter()
        .flat_map(|summary| summary.devices.iter().map(|device| device.name.clone()))
        .collect();
    let missing: Vec<String> = (wanted.into_iter())
        .filter(|name| !known.contains(name))
        .collect();
    if missing.is_empty() || known.is_empty() {
        Ok(())
    } else {
        Err(unknown_devices(&missing, &known))
    }
}

fn devices(wanted: &[String]) -> Devices {
    match wanted {
        [] => Devices::First,
        [all] if all == "all" => Devices::All,
        names => Devices::Named(names.to_vec()),
    }
}

/// What is built.
pub struct Plan {
    /// See [`Arguments`].
    pub capacity_bytes: u64,
    /// See [`Arguments`].
    pub drives: u32,
    chunk_bytes: u64,
    /// See [`Arguments`].
    pub geometry: Geometry,
    /// See [`Arguments`].
    pub timing: Timing,
    /// How long the traces took when they were recorded; 0 where that is not known.
    recorded_ns: u64,
    addresses: Addresses,
    interval_ns: u64,
}

impl Plan {
    fn new(
        arguments: &Arguments,
        basis: &Basis,
        given: Option<u64>,
        span_bytes: u64,
        summaries: &[Summary],
    ) -> Result<Self, CommandError> {
        let usage = |message: String| CommandError::new(Kind::Usage, message);
        let drives = arguments.drives.unwrap_or(1);
        let chunk_bytes = arguments.chunk.unwrap_or(CHUNK_BYTES);
        require_chunk(chunk_bytes, drives, basis.page_bytes)?;
        let page = u64::from(basis.page_bytes);
        let capacity_bytes = given.unwrap_or_else(|| {
            // Whole chunks on each drive, and no less than what a model is good for.
            let each = span_bytes.div_ceil(drives.into()).max(CAPACITY_MIN);
            each.div_ceil(chunk_bytes.max(page))
                .saturating_mul(chunk_bytes.max(page))
        });
        let geometry = Geometry::new(
            capacity_bytes / page,
            basis.over_provisioning,
            basis.pages_per_block.unwrap_or(PAGES_PER_BLOCK),
            basis.page_bytes,
        )
        .map_err(|error| {
            let refusal = usage(error.to_string())
                .hint("larger pages need fewer of them: --page-bytes 16KiB");
            match given {
                Some(_) => refusal,
                None => refusal.hint(format!(
                    "the trace reaches to byte {span_bytes}; --capacity SIZE makes a smaller drive, \
                     and what lies beyond it is left out and counted"
                )),
            }
        })?;
        let addresses = match arguments.beyond {
            None | Some(Beyond::Skip) => Addresses::Refuse,
            Some(Beyond::Wrap) => Addresses::Wrap,
            Some(Beyond::Scale) => Addresses::Scale { span_bytes },
        };
        let duration_ns = summaries
            .iter()
            .map(|summary| summary.duration_ns)
            .sum::<u64>()
            .saturating_mul(arguments.rounds.into());
        let interval_ns = match arguments.interval {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most 1e18
            Some(seconds) => (seconds * 1e9) as u64,
            None if summaries.is_empty() => INTERVAL_NS_UNKNOWN,
            // The end inclusive: the last request arrives in the last of them.
            None => (duration_ns / POINTS + 1).max(INTERVAL_NS_MIN),
        };
        Ok(Self {
            capacity_bytes,
            drives,
            chunk_bytes,
            geometry,
            // A trace's volume is a part of a drive: it has no fewer dies than the presets.
            timing: basis.timing(capacity_bytes.max(DRIVE_BYTES_MIN))?,
            addresses,
            recorded_ns: duration_ns,
            interval_ns: interval_ns.max(1),
        })
    }

    fn build(&self, arguments: &Arguments, basis: &Basis) -> Result<Drives, CommandError> {
        memory::require(memory::table_bytes(&self.geometry) * u64::from(self.drives))?;
        let usage =
            |error: &dyn std::fmt::Display| CommandError::new(Kind::Usage, error.to_string());
        // The array's own recorder counts what the host sees.
        let own = |interval| Recorder::new(interval);
        let drive = |index: u32, interval: Option<u64>| {
            let settings = Settings {
                collection: basis.collection,
                separate_moved: basis.moved_apart.unwrap_or(true),
                seed: arguments.seed.wrapping_add(index.into()),
                ..Settings::new(self.geometry)
            };
            let power_on = arguments.power_on.unwrap_or(PowerOn::Filled);
            Drive::new(settings, power_on, &self.timing, own(interval))
                .map_err(|error| usage(&error))
        };
        if self.drives == 1 {
            return Ok(Drives::One(Box::new(drive(0, Some(self.interval_ns))?)));
        }
        let members = (0..self.drives)
            .map(|index| drive(index, None))
            .collect::<Result<Vec<_>, _>>()?;
        let chunk_pages = self.chunk_bytes / u64::from(self.geometry.page_bytes);
        let array = Raid0::new(
            members,
            u32::try_from(chunk_pages).unwrap_or(u32::MAX),
            DiscardSplit::Member,
            own(Some(self.interval_ns)),
        )
        .map_err(|error| usage(&error).hint("choose another --chunk"))?;
        Ok(Drives::Many(Box::new(array)))
    }
}

fn replay(
    arguments: &Arguments,
    plan: &Plan,
    device: &mut dyn Device,
    quiet: bool,
) -> Result<(Replayed, Vec<Stats>), CommandError> {
    let settings = ReplaySettings {
        devices: devices(&arguments.devices),
        addresses: plan.addresses,
        pace: arguments
            .queue_depth
            .map_or(Pace::Recorded, Pace::QueueDepth),
        start_ns: 0,
    };
    let is_named = matches!(settings.devices, Devices::Named(_));
    let meter = Meter::new("replaying", 1, quiet);
    let total = length(&arguments.traces).saturating_mul(arguments.rounds.into());
    let read = Rc::new(Cell::new(0));
    let mut replay = Replay::new(settings, device);
    let (mut stats, mut known) = (Vec::new(), Vec::new());
    for round in 0..arguments.rounds {
        for path in &arguments.traces {
            let mut reader = open(arguments, path, &read)?;
            while !replay
                .some(&mut reader, device, RECORDS)
                .map_err(|error| bad(path, &error))?
            {
                meter.tell(0, read.get(), total.max(1));
            }
            if round == 0 {
                stats.push(reader.stats().clone());
                if is_named {
                    known.extend((0..).map_while(|number| reader.device_name(number)));
                }
            }
        }
    }
    drop(meter);
    let replayed = replay.replayed(device);
    if !replayed.missing_devices.is_empty() {
        return Err(unknown_devices(&replayed.missing_devices, &known));
    }
    Ok((replayed, stats))
}

/// What the user should know.
fn warnings(
    arguments: &Arguments,
    plan: &Plan,
    replayed: &Replayed,
    stats: &[Stats],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if replayed.records == 0 {
        warnings.push("the trace holds no requests".to_owned());
    }
    let late_ns = replayed.done_ns.saturating_sub(plan.recorded_ns);
    if arguments.queue_depth.is_none() && plan.recorded_ns > 0 && late_ns > LATE_NS {
        warnings.push(format!(
            "the drive was slower than the recorded one and ended {} after it: latencies are those \
             of a queue that grows; --queue-depth N keeps it short",
            report::human_duration(late_ns / 1_000_000_000)
        ));
    }
    let beyond = &replayed.out_of_range;
    if beyond.records > 0 {
        warnings.push(format!(
            "left out, since beyond the drive: {}, the first in line {}: a larger --capacity, or \
             --beyond wrap or scale",
            count(beyond.records, "request"),
            replayed.out_of_range_line.unwrap_or(0)
        ));
    }
    let other = &replayed.other_devices;
    if other.records > 0 {
        warnings.push(format!(
            "left out, since of other devices: {}: --devices all takes them too",
            count(other.records, "request")
        ));
    }
    for stats in stats {
        for error in &stats.errors {
            warnings.push(format!("left out: {error}"));
        }
        let more = stats.bad_lines.saturating_sub(stats.errors.len() as u64);
        if more > 0 {
            warnings.push(format!("left out, too: {}", count(more, "line")));
        }
        if let Some(line) = stats.backwards_line {
            warnings.push(format!(
                "given the time of the one before, since theirs was earlier: {}, the first in line \
                 {line}",
                count(stats.backwards, "request")
            ));
        }
        if stats.unterminated {
            warnings.push("the last line has no end: the trace may have been cut".to_owned());
        }
    }
    warnings
}
