//! Finds the jump in a disk log, and what each device did.

use super::mounts::{self, MountedWith};
use super::result::{DeviceJump, DiskLog, FromTo, WritesAre};
use super::sentences;
use super::stack;
use super::table::{Metric, Table};
use crate::model::input::JobRuns;
use facts::host::Platform;
use facts::series::Series;
use jiff::tz::TimeZone;

/// Maximum number of samples; a longer log is a history, for [`explain`](crate::explain()).
const SAMPLES_MAX: usize = 1_000;

/// Minimum factor by which writes jump.
const JUMP_TIMES: f64 = 10.0;

/// Lower write rates, summed over all drives, count as this rate, in kB/s, so that starting from zero is
/// not a jump.
const QUIET_KB_S: f64 = 64.0;

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
/// with metrics named like iostat's columns. Of several hosts, the first with a jump is used.
///
/// Returns `None` if nothing is written to drives, if there is no jump, or if the log is longer than a
/// thousand samples, which makes it a history.
pub fn read_disk_log(series: &[Series], context: &LogContext<'_>) -> Option<DiskLog> {
    Table::all(series)
        .iter()
        .find_map(|table| read(table, context))
}

fn read(table: &Table<'_>, context: &LogContext<'_>) -> Option<DiskLog> {
    if table.samples() > SAMPLES_MAX {
        return None;
    }
    let (drives, stacked): (Vec<&str>, Vec<&str>) = table
        .devices()
        .partition(|device| !stack::is_stacked(device));
    // If only the stacked device was logged, it stands in for its drives.
    let drives = if drives
        .iter()
        .any(|drive| table.max(drive, Metric::Write) > 0.0)
    {
        drives
    } else {
        stacked.clone()
    };
    let jump = jump(table, &drives)?;
    let members_of = |device: &str| stack::members(table, device, &drives, jump);
    let mut devices: Vec<DeviceJump> = drives
        .iter()
        .filter_map(|device| device_jump(table, device, Vec::new(), jump))
        .collect();
    if drives != stacked {
        devices.extend(
            stacked
                .iter()
                .filter_map(|device| device_jump(table, device, members_of(device), jump)),
        );
    }
    // They rose together, but none of them by itself: nothing to report.
    if devices.is_empty() {
        return None;
    }
    let kernel = table.label("kernel");
    let (writes_are, because) = judge(&devices, kernel);
    let mut log = DiskLog {
        source: table.source().to_owned(),
        host: table.label("host").map(str::to_owned),
        kernel: kernel.map(str::to_owned),
        dating: table.dating(),
        samples: table.samples(),
        jump_sample: jump + 1,
        drives_write_kb_s: written(table, &drives, jump),
        iowait_percent: table
            .iowait(0)
            .zip(table.iowait(jump))
            .map(|(from, to)| FromTo { from, to }),
        devices,
        writes_are,
        because,
        sentences: Vec::new(),
        cannot_tell: Vec::new(),
        mounts: mounts::remarks(context.mounts, context.jobs),
    };
    log.sentences = sentences::sentences(&log);
    log.cannot_tell = sentences::cannot_tell(&log, context.jobs, context.zone);
    Some(log)
}

/// Returns the total written to all drives in one sample, in kB/s.
fn written(table: &Table<'_>, drives: &[&str], sample: usize) -> f64 {
    drives
        .iter()
        .filter_map(|drive| table.get(drive, Metric::Write, sample))
        .sum()
}

/// Returns the first sample after the jump.
fn jump(table: &Table<'_>, drives: &[&str]) -> Option<usize> {
    let at = |sample| written(table, drives, sample).max(QUIET_KB_S);
    (1..table.samples())
        .map(|sample| (sample, at(sample) / at(sample - 1)))
        .filter(|(_, times)| *times >= JUMP_TIMES)
        // The earliest one wins a tie.
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        .map(|(sample, _)| sample)
}

/// Describes what a device did, if its writes jumped too.
fn device_jump(
    table: &Table<'_>,
    device: &str,
    members: Vec<String>,
    jump: usize,
) -> Option<DeviceJump> {
    let before_kb_s = table.get(device, Metric::Write, 0)?;
    let after = |metric| (jump..table.samples()).map(move |at| table.get(device, metric, at));
    let write_after_kb_s: Vec<Option<f64>> = after(Metric::Write).collect();
    let first_kb_s = write_after_kb_s[0]?;
    if first_kb_s < JUMP_TIMES * before_kb_s || first_kb_s < QUIET_KB_S * JUMP_TIMES {
        return None;
    }
    let read_before_kb_s = table.get(device, Metric::Read, 0);
    let read_after_kb_s: Vec<Option<f64>> = after(Metric::Read).collect();
    let moved_kb_s = first_kb_s + read_after_kb_s[0].unwrap_or(0.0);
    Some(DeviceJump {
        device: device.to_owned(),
        members,
        write_before_kb_s: before_kb_s,
        write_after_kb_s,
        write_times: ratio(first_kb_s, before_kb_s),
        read_before_kb_s,
        read_down_times: read_after_kb_s
            .iter()
            .map(|after_kb_s| ratio(read_before_kb_s?, (*after_kb_s)?))
            .collect(),
        read_after_kb_s,
        request_kb: table
            .get(device, Metric::Requests, jump)
            .and_then(|requests| ratio(moved_kb_s, requests)),
    })
}

/// Returns a ratio, unless it is undefined.
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

/// Judges what the writes were, and why.
fn judge(devices: &[DeviceJump], kernel: Option<&str>) -> (WritesAre, Vec<String>) {
    let version = Platform {
        kernel_release: kernel.map(str::to_owned),
        ..Platform::default()
    }
    .kernel_version();
    let mut because = Vec::new();
    match (kernel, version) {
        (Some(kernel), Some(version)) if version >= KERNEL_COUNTS_DISCARDS => {
            because.push(format!(
                "Linux {kernel} counts discards apart from writes, so these are writes."
            ));
            return (WritesAre::Writes, because);
        }
        (Some(kernel), Some(_)) => because.push(format!(
            "Linux {kernel} counts discards as writes (4.18 is the first that does not)."
        )),
        _ => because.push(
            "The log does not name its kernel: before 4.18, Linux counts discards as writes."
                .to_owned(),
        ),
    }
    let drives = || devices.iter().filter(|device| device.members.is_empty());
    let is_too_fast = drives().any(|drive| {
        let after = drive.write_after_kb_s.iter().flatten();
        after.copied().fold(0.0, f64::max) * 1024.0 > LINK_BYTES_S
    });
    let is_too_long = drives().any(|drive| drive.request_kb.is_some_and(|kb| kb > WRITE_KB_MAX));
    if is_too_fast {
        because.push(format!(
            "{} per drive is too fast for writes: four lanes of PCIe 3.0 carry 3.7 GiB/s.",
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
            WritesAre::ProbablyDiscards
        } else {
            WritesAre::WritesOrDiscards
        },
        because,
    )
}
