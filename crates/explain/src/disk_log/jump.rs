//! Reads a disk log: the burst in it, what each device did, and what got worse.

use super::burst::{Bursts, FALL_TIMES, JUMP_TIMES, QUIET_KB_S, moved, rates};
use super::harm;
use super::mounts::{self, MountedWith};
use super::result::{Burst, DeviceJump, DiskLog, Moved};
use super::sentences;
use super::stack;
use super::table::{Metric, Table};
use crate::model::input::JobRuns;
use crate::statistics::median;
use facts::host::Platform;
use facts::series::Series;
use jiff::tz::TimeZone;

/// Maximum number of samples; a longer log is a history, for [`explain`](crate::explain()).
const SAMPLES_MAX: usize = 1_000;

/// Samples farther apart than this, in microseconds, are no log of a slowdown: writes jump every night.
const GAP_MAX_US: i64 = 60_000_000;

/// The first kernel that counts discards separately from writes.
const KERNEL_COUNTS_DISCARDS: (u32, u32) = (4, 18);

/// Longest write that the block layer assembles by default, in kB: `BLK_DEF_MAX_SECTORS` (linux/blkdev.h,
/// since 4.3; shorter before).
const WRITE_KB_MAX: f64 = 1_280.0;

/// Bandwidth of a drive's link in bytes per second: four lanes of PCIe 3.0 at 8 GT/s, 128b/130b.
const LINK_BYTES_S: f64 = 4.0 * 8e9 / 8.0 * 128.0 / 130.0;

/// What is known besides the log.
#[derive(Debug, Clone, Copy)]
pub struct LogContext<'a> {
    /// Mounted filesystems, from the host's facts or the output of `findmnt`.
    pub mounts: &'a [MountedWith],
    /// Jobs with their runs around the day of the log.
    pub jobs: &'a [JobRuns],
    /// The time zone of the log's day.
    pub zone: &'a TimeZone,
}

/// Analyses a disk log: series with the labels `device` and `metric` and, if known, `kernel` and `host`,
/// with metrics named like the columns of iostat or `sar -d`. Of several hosts, the first with a burst is used. The label
/// `since` with the value `boot` marks a single report about the time since boot.
///
/// Writes that jump without harm are none. Returns `None` if there are no rates of devices, or one sample, or if the log is
/// a history: longer than a thousand samples, or without a burst of discards in samples more than a minute apart.
pub fn read_disk_log(series: &[Series], context: &LogContext<'_>) -> Option<DiskLog> {
    let tables = Table::all(series);
    let all = || tables.iter().filter(|table| table.samples() <= SAMPLES_MAX);
    let is_short = |table: &&Table<'_>| table.gap_us().is_some_and(|gap_us| gap_us <= GAP_MAX_US);
    let mut found = all().filter_map(|table| read(table, context));
    found.next().or_else(|| {
        let quiet = all().find(is_short)?;
        Some(DiskLog {
            moved: Moved::Nothing,
            sentences: vec![sentences::nothing(quiet, discarded_kb_s(quiet))],
            ..begin(quiet, context)
        })
    })
}

/// Returns whether a series is a part of a disk log that [`read_disk_log`] takes, and not of a history.
pub fn is_of_log(series: &Series) -> bool {
    let pairs = || series.times_us.windows(2).map(|pair| pair[1] - pair[0]);
    let short = pairs().filter(|gap_us| *gap_us <= GAP_MAX_US).count();
    series.labels.contains_key("metric")
        && series.values.len() <= SAMPLES_MAX
        && 2 * short > pairs().len()
}

/// Returns what is discarded on all drives in the median sample, in kB per second.
fn discarded_kb_s(table: &Table<'_>) -> f64 {
    let devices = table.devices();
    let drives: Vec<&str> = devices
        .filter(|device| !stack::is_stacked(device))
        .collect();
    median(rates(table, &drives, Metric::Discard))
}

fn read(table: &Table<'_>, context: &LogContext<'_>) -> Option<DiskLog> {
    let (drives, stacked): (Vec<&str>, Vec<&str>) = table
        .devices()
        .partition(|device| !stack::is_stacked(device));
    // If only the stacked device was logged, it stands in for its drives.
    let does =
        |drive: &&str| table.max(drive, Metric::Write) + table.max(drive, Metric::Discard) > 0.0;
    let drives = if drives.iter().any(does) {
        drives
    } else {
        stacked.clone()
    };
    if table.label("since") == Some("boot") {
        return since_boot(table, &drives, context);
    }
    let told = |metric, bursts: Option<Bursts>| {
        let found = bursts?;
        told(table, context, (&drives, &stacked), metric, &found)
    };
    if table.has_discards()
        && let bursts @ Some(_) = Bursts::of_discards(table, &drives)
    {
        return told(Metric::Discard, bursts);
    }
    if table.gap_us()? > GAP_MAX_US {
        return None;
    }
    told(Metric::Write, Bursts::of_writes(table, &drives))
        .or_else(|| told(Metric::Read, Bursts::of_fewer_reads(table, &drives)))
}

/// Describes bursts of a metric, of [`Metric::Read`] the samples in which fewer are done; `None` if they are no finding.
fn told(
    table: &Table<'_>,
    context: &LogContext<'_>,
    (drives, stacked): (&Vec<&str>, &Vec<&str>),
    metric: Metric,
    bursts: &Bursts,
) -> Option<DiskLog> {
    let of = |device: &str, members| device_jump(table, device, members, metric, bursts);
    let members = |device: &str| stack::members(table, device, drives, bursts.samples().start);
    let mut devices: Vec<DeviceJump> = (drives.iter())
        .filter_map(|device| of(device, Vec::new()))
        .collect();
    if drives != stacked {
        devices.extend((stacked.iter()).filter_map(|device| of(device, members(device))));
    }
    // They rose together, but none of them by itself: nothing to report.
    if devices.is_empty() {
        return None;
    }
    let names: Vec<&str> = devices
        .iter()
        .map(|device| device.device.as_str())
        .collect();
    // Every flush of the page cache is like the others; of trims, the largest may be the one that hurts.
    let samples = match metric {
        Metric::Discard => bursts.samples().collect(),
        _ => bursts.all_samples(),
    };
    let harm = harm::harm(table, &names, bursts, &samples);
    let (kernel, has_discards) = (table.label("kernel"), table.has_discards());
    let (moved_is, because) = match metric {
        Metric::Discard => (Moved::Discards, Vec::new()),
        Metric::Read if harm::is_waited_for(&harm) && fewer_requests(table, &names, bursts) => {
            (Moved::NotCounted, Vec::new())
        }
        Metric::Read => return None,
        _ => judge(&devices, kernel, has_discards),
    };
    if metric == Metric::Write && !harm::is_felt(&harm, &devices, moved_is) {
        return None;
    }
    let burst = |(index, (first, samples)): (usize, &(usize, usize))| Burst {
        first_sample: first + 1,
        samples: *samples,
        is_clearest: index == bursts.clearest,
        at: table.at(*first),
    };
    let mut log = DiskLog {
        bursts: bursts.runs.iter().enumerate().map(burst).collect(),
        drives_kb_s: moved(table, drives, metric, bursts.samples().start),
        moved: moved_is,
        because,
        harm,
        devices,
        ..begin(table, context)
    };
    log.sentences = sentences::sentences(&log, context.zone);
    if moved_is == Moved::NotCounted {
        log.sentences.push(not_counted(kernel, has_discards));
    }
    log.cannot_tell = sentences::cannot_tell(&log, context.jobs, context.zone);
    Some(log)
}

/// Returns what is known without looking at any rate.
fn begin(table: &Table<'_>, context: &LogContext<'_>) -> DiskLog {
    DiskLog {
        source: table.source().to_owned(),
        host: table.label("host").map(str::to_owned),
        kernel: table.label("kernel").map(str::to_owned),
        dating: table.dating(),
        samples: table.samples(),
        bursts: Vec::new(),
        devices: Vec::new(),
        drives_kb_s: 0.0,
        moved: Moved::SinceBoot,
        because: Vec::new(),
        harm: Vec::new(),
        sentences: Vec::new(),
        cannot_tell: Vec::new(),
        mounts: mounts::remarks(context.mounts, context.jobs),
    }
}

/// Reads one report of averages since boot: whether anything was ever discarded.
fn since_boot(table: &Table<'_>, drives: &[&str], context: &LogContext<'_>) -> Option<DiskLog> {
    let rates: Vec<(&str, f64, Option<f64>)> = drives
        .iter()
        .filter_map(|drive| {
            let written = table.get(drive, Metric::Write, 0)?;
            let discarded = table.get(drive, Metric::Discard, 0);
            (written > 0.0 || discarded > Some(0.0)).then_some((*drive, written, discarded))
        })
        .collect();
    if rates.is_empty() {
        return None;
    }
    Some(DiskLog {
        sentences: sentences::since_boot(&rates),
        ..begin(table, context)
    })
}

/// Describes what a device did, if its rate jumped too: that of discards anywhere in the burst, that of writes in its first
/// sample; of fewer reads, if its own fall, beside what it writes.
fn device_jump(
    table: &Table<'_>,
    device: &str,
    members: Vec<String>,
    metric: Metric,
    bursts: &Bursts,
) -> Option<DeviceJump> {
    let of_reads = metric == Metric::Read;
    let metric = if of_reads { Metric::Write } else { metric };
    let samples = bursts.samples();
    let before = |metric| bursts.before(table, |sample| table.get(device, metric, sample));
    let before_kb_s = before(metric)?;
    let after = |metric| samples.clone().map(move |at| table.get(device, metric, at));
    let after_kb_s: Vec<Option<f64>> = after(metric).collect();
    let largest_kb_s = if metric == Metric::Discard {
        after_kb_s.iter().flatten().copied().fold(0.0, f64::max)
    } else {
        after_kb_s[0]?
    };
    let jumps = largest_kb_s >= JUMP_TIMES * before_kb_s.max(QUIET_KB_S);
    let read_before_kb_s = before(Metric::Read);
    let read_after_kb_s: Vec<Option<f64>> = after(Metric::Read).collect();
    let falls = read_after_kb_s.iter().flatten().any(|after_kb_s| {
        after_kb_s.max(QUIET_KB_S) * FALL_TIMES <= read_before_kb_s.unwrap_or(0.0)
    });
    if !(if of_reads { falls } else { jumps }) {
        return None;
    }
    let in_first = |metric| table.get(device, metric, samples.start).unwrap_or(0.0);
    let moved_kb_s = [Metric::Write, Metric::Read, Metric::Discard].map(in_first);
    let requests = table.get(device, Metric::Requests, samples.start);
    Some(DeviceJump {
        device: device.to_owned(),
        members,
        before_kb_s,
        after_kb_s,
        times: ratio(largest_kb_s, before_kb_s),
        read_before_kb_s,
        read_down_times: read_after_kb_s
            .iter()
            .map(|after_kb_s| ratio(read_before_kb_s?, (*after_kb_s)?))
            .collect(),
        read_after_kb_s,
        request_kb: requests.and_then(|requests| ratio(moved_kb_s.iter().sum(), requests)),
    })
}

/// Returns a ratio, unless it is undefined.
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

/// Returns whether fewer requests are done as well, if they are counted: else reads are only shorter.
fn fewer_requests(table: &Table<'_>, devices: &[&str], bursts: &Bursts) -> bool {
    let first = bursts.samples().start;
    let mut compared = devices.iter().filter_map(|device| {
        let get = |sample| table.get(device, Metric::Requests, sample);
        Some((bursts.before(table, get)?, get(first)?))
    });
    compared.all(|(before, during)| during * harm::READS_DOWN <= before)
}

/// Returns the version of a kernel, by its release.
fn version(kernel: Option<&str>) -> Option<(u32, u32)> {
    let platform = Platform {
        kernel_release: kernel.map(str::to_owned),
        ..Platform::default()
    };
    platform.kernel_version()
}

/// Says what may take the disks although the log shows nothing that rises.
fn not_counted(kernel: Option<&str>, has_discards: bool) -> String {
    match (has_discards, version(kernel)) {
        (true, _) => "Neither writes nor discards rise: the drives are slow by themselves or shared with others, or \
                      the load changed."
            .to_owned(),
        (false, Some(version)) if version < KERNEL_COUNTS_DISCARDS => format!(
            "Linux {} counts discards as writes, and writes do not rise, so discards are not the cause: the drives are \
             slow by themselves or shared with others, or the load changed.",
            kernel.unwrap_or_default()
        ),
        (false, _) => "Discards may be the cause: since 4.18 Linux counts them apart from writes, and this log does \
                       not show them; `iostat -xt 3 100` of sysstat 12.1.2 or later does. If there are none, the \
                       drives are slow by themselves, or the load changed."
            .to_owned(),
    }
}

/// Judges what the writes were, and why.
fn judge(devices: &[DeviceJump], kernel: Option<&str>, has_discards: bool) -> (Moved, Vec<String>) {
    if has_discards {
        let because = "The log counts discards apart from writes, so these are writes.";
        return (Moved::Writes, vec![because.to_owned()]);
    }
    let version = version(kernel);
    let mut because = Vec::new();
    match (kernel, version) {
        (Some(kernel), Some(version)) if version >= KERNEL_COUNTS_DISCARDS => {
            because.push(format!(
                "Linux {kernel} counts discards apart from writes, so these are writes."
            ));
            return (Moved::Writes, because);
        }
        (Some(kernel), Some(_)) => because.push(format!(
            "Linux {kernel} counts discards as writes (4.18 is the first that does not)."
        )),
        _ => because.push(
            "The kernel is not known: before 4.18, Linux counts discards as writes.".to_owned(),
        ),
    }
    let drives = || devices.iter().filter(|device| device.members.is_empty());
    let is_too_fast = drives().any(|drive| drive.largest_kb_s() * 1024.0 > LINK_BYTES_S);
    let is_too_long = drives().any(|drive| drive.request_kb.is_some_and(|kb| kb > WRITE_KB_MAX));
    if is_too_fast {
        because.push(format!(
            "{} is too fast for writes: four lanes of PCIe 3.0 carry 3.7 GiB/s.",
            sentences::drive_rates(devices)
        ));
    }
    if is_too_long {
        because.push(format!(
            "Requests average {}: by default the block layer splits writes at 1.25 MiB; discards \
             may be longer.",
            sentences::request_lengths(devices)
        ));
    }
    let is_probable = version.is_some() && (is_too_fast || is_too_long);
    (
        if is_probable {
            Moved::ProbablyDiscards
        } else {
            Moved::WritesOrDiscards
        },
        because,
    )
}
