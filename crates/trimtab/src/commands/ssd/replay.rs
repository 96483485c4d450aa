//! `trimtab ssd replay`: replays traces of recorded requests on a simulated drive, as a stream.

use super::args::{Beyond, Replay as Arguments};
use super::delivery::Delivery;
use super::document::Answer;
use super::memory;
use super::spec::{Basis, PAGES_PER_BLOCK, require_chunk, shown};
use crate::answer::{Medium, envelope};
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::progress::Meter;
use flash::drive::Device;
use flash::ftl::PowerOn;
use flash::trace::{
    Addresses, BadLines, Devices, Options, Pace, Reader, Replay, ReplaySettings, Replayed, Stats,
    Summary, Target, TargetError, TargetSpec, TraceError, decompressor, interval_ns,
};
use linux::regular_file;
use report::ssd::{ReplayAnswer, ReplayRun, replay as view, replay_warnings};
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Default page size, in bytes.
const PAGE_BYTES: u32 = 4096;
/// Default chunk size of md RAID-0, in bytes.
const CHUNK_BYTES: u64 = 512 * 1024;
/// Records between progress updates.
const RECORDS: u64 = 1 << 16;

/// Runs `trimtab ssd replay`.
///
/// # Errors
/// If a trace cannot be read, or the values describe no possible drive.
pub fn run(arguments: &Arguments, config: &SsdConfig, quiet: bool) -> Result<(), CommandError> {
    let delivery = Delivery::of(arguments.format, &arguments.output, config.format)?;
    let stdins = arguments.traces.iter().filter(|trace| is_stdin(trace));
    let once = arguments.traces.iter().any(|trace| is_read_once(trace));
    if stdins.count() > 1 || (once && arguments.rounds > 1) {
        return Err(CommandError::new(
            Kind::Usage,
            "standard input and pipes can be read once only: one `-`, and one round",
        ));
    }
    let basis = Basis::resolve(
        &arguments.drive,
        arguments.op,
        arguments.policy,
        config,
        PAGE_BYTES,
    )?;
    let spec = target_spec(arguments, &basis)?;
    let summaries = scan_traces(arguments, spec.capacity_bytes.is_none(), once, quiet)?;
    let wanted = Devices::of(&arguments.devices);
    let missing = wanted.missing(&summaries);
    if !missing.is_empty() {
        let devices = summaries.iter().flat_map(|summary| &summary.devices);
        let known: Vec<String> = devices.map(|device| device.name.clone()).collect();
        return Err(unknown_devices(&missing, &known));
    }
    let ends = summaries
        .iter()
        .map(|summary| summary.end_bytes_of(&wanted));
    let span_bytes = ends.max().unwrap_or(0);
    let target = Target::new(spec, span_bytes).map_err(|error| {
        let refusal = CommandError::new(Kind::Usage, error.to_string())
            .hint("larger pages need fewer of them: --page-bytes 16KiB");
        match spec.capacity_bytes {
            Some(_) => refusal,
            None => refusal.hint(format!(
                "the trace reaches to byte {span_bytes}; --capacity SIZE makes a smaller drive, \
                 and what lies beyond it is left out and counted"
            )),
        }
    })?;
    memory::require(target.table_bytes())?;
    let recorded_ns = summaries
        .iter()
        .map(|summary| summary.duration_ns)
        .sum::<u64>()
        .saturating_mul(arguments.rounds.into());
    let interval_ns = match arguments.interval {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most 1e18
        Some(seconds) => ((seconds * 1e9) as u64).max(1),
        None => interval_ns((!summaries.is_empty()).then_some(recorded_ns)),
    };
    let timing = basis.timing(target.drive_bytes())?;
    let mut drives = target.build(&timing, interval_ns).map_err(|error| {
        let refusal = CommandError::new(Kind::Usage, error.to_string());
        match error {
            TargetError::Raid0(_) => refusal.hint("choose another --chunk"),
            TargetError::Drive(_) => refusal,
        }
    })?;
    let settings = ReplaySettings {
        devices: wanted,
        addresses: match arguments.beyond {
            None | Some(Beyond::Skip) => Addresses::Refuse,
            Some(Beyond::Wrap) => Addresses::Wrap,
            Some(Beyond::Scale) => Addresses::Scale { span_bytes },
        },
        pace: arguments
            .queue_depth
            .map_or(Pace::Recorded, Pace::QueueDepth),
        start_ns: 0,
    };
    let pace = settings.pace;
    let device = drives.device();
    let (replayed, stats) = replay(arguments, settings, device, quiet)?;
    device.recorder_mut().finish();
    let run = ReplayRun {
        target: &target,
        preset: &basis.preset,
        timing: &timing,
        pace,
        recorded_ns,
        replayed: &replayed,
        stats: &stats,
        recorder: device.recorder(),
    };
    let warnings = replay_warnings(&run);
    let names: Vec<String> = arguments.traces.iter().map(|trace| shown(trace)).collect();
    let names = names.join(", ");
    delivery.give(
        ReplayAnswer::of(&run),
        |answer, medium| view(answer, &names, &warnings, medium == Medium::Terminal),
        ReplayAnswer::csv,
        |answer| {
            let answer = Answer::Replay(Box::new(answer));
            let mut document = envelope(format!("trace {names}"), answer)?;
            document.warnings.clone_from(&warnings);
            Ok(document.json())
        },
    )
}

/// Drives described by the arguments.
fn target_spec(arguments: &Arguments, basis: &Basis) -> Result<TargetSpec, CommandError> {
    let drives = arguments.drives.unwrap_or(1);
    let chunk_bytes = arguments.chunk.unwrap_or(CHUNK_BYTES);
    require_chunk(chunk_bytes, drives, basis.page_bytes)?;
    Ok(TargetSpec {
        capacity_bytes: arguments.capacity.or(basis.file.capacity_bytes),
        drives,
        chunk_bytes,
        over_provisioning: basis.over_provisioning,
        page_bytes: basis.page_bytes,
        pages_per_block: basis.pages_per_block.unwrap_or(PAGES_PER_BLOCK),
        collection: basis.collection,
        separate_moved: basis.moved_apart.unwrap_or(true),
        power_on: arguments.power_on.unwrap_or(PowerOn::Filled),
        seed: arguments.seed,
    })
}

/// Scans the traces in advance, unless nothing is needed from that.
fn scan_traces(
    arguments: &Arguments,
    wants_capacity: bool,
    once: bool,
    quiet: bool,
) -> Result<Vec<Summary>, CommandError> {
    let wants_span = wants_capacity || arguments.beyond == Some(Beyond::Scale);
    if !once && (wants_span || arguments.interval.is_none()) {
        return summaries(arguments, quiet);
    }
    if wants_span {
        return Err(CommandError::new(
            Kind::Usage,
            "how large the drive has to be cannot be told from standard input or a pipe beforehand",
        )
        .hint("say it: --capacity SIZE, without --beyond scale"));
    }
    Ok(Vec::new())
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a trace can be read only once: standard input, or a pipe such as `<(zcat TRACE.gz)`.
fn is_read_once(path: &Path) -> bool {
    is_stdin(path) || std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
}

/// Counts the bytes read, for progress.
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
        Box::new(file.map_err(|error| CommandError::unreadable(&shown(path), error))?)
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

/// The error for an unreadable line, with hints.
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
    match decompressor_of(path) {
        Some(tool) => refusal.hint(from_stdin(tool, &shown(path))),
        None => (refusal.hint(format).hint(skip)).hint(from_stdin("zcat", "TRACE.gz")),
    }
}

/// The tool that decompresses a compressed file.
fn decompressor_of(path: &Path) -> Option<&'static str> {
    // A pipe has been consumed by now, and reading it could block forever.
    let mut first = Vec::new();
    let file = regular_file::open(path).ok()?;
    file.take(8).read_to_end(&mut first).ok()?;
    decompressor(&first)
}

/// Total size of the traces in bytes; 0 if one is unknown.
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

/// Maximum number of devices listed in an error.
const DEVICES_SHOWN: usize = 12;
/// Maximum width of a device name in an error.
const NAME_COLUMNS: usize = 40;

/// The error for device names that are in no trace; `known` are the names in the traces.
fn unknown_devices(missing: &[String], known: &[String]) -> CommandError {
    let mut names: Vec<&String> = Vec::new();
    for name in known {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(DEVICES_SHOWN);
    names.truncate(DEVICES_SHOWN);
    let shown = |name: &&String| units::cut(&units::escape(name), NAME_COLUMNS).into_owned();
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
            units::escape(&missing.join(","))
        ),
    )
    .hint(format!(
        "they have {}{more}; `--devices all` takes every device",
        names.join(", ")
    ))
}

fn replay(
    arguments: &Arguments,
    settings: ReplaySettings,
    device: &mut dyn Device,
    quiet: bool,
) -> Result<(Replayed, Vec<Stats>), CommandError> {
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
                .replay_records(&mut reader, device, RECORDS)
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
