//! What a short log of disks shows by itself: too short for a pattern, long enough for a jump.
//!
//! Somebody keeps a few samples of `iostat` from before and after the moment at which everything
//! became slow. That is no history, but it tells what the disks did: by how much writes jumped and
//! reads fell, and whether the writes can have been writes at all. Before 4.18 Linux counts discards
//! as writes (Documentation/admin-guide/iostats.rst: fields 15 to 18 came with 4.18), so that a trim
//! looks like gigabytes a second.
//!
//! **The figures.** The *jump* lies before the sample in which the sum of what is written to all drives is
//! the largest multiple of that of the sample before. What is told of it compares the first sample
//! of the log, which nothing has touched yet, with those after the jump:
//!
//! - writes rise by `first sample after the jump / first sample of the log`;
//! - reads fall by `first sample of the log / sample after the jump`, for each of those;
//! - the time that processors wait for disks goes from the first sample of the log to the first
//!   after the jump.
//!
//! **What it never says**: a period, a time of day, and who sent the discards.

mod mounts;
mod stack;
mod table;
mod words;

pub use mounts::{MountedWith, parse_findmnt};

use crate::JobRuns;
use facts::host::Platform;
use facts::series::{Dating, Series};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use table::{Metric, Table};

/// A longer log is a history, for [`explain`](crate::explain()).
const SAMPLES_MAX: usize = 1_000;

/// What is written must become this many times as much.
const JUMP_TIMES: f64 = 10.0;

/// So little written to all drives is taken for this much, in kB/s: from nothing to something is no
/// jump yet.
const QUIET_KB_S: f64 = 64.0;

/// The first kernel that counts discards apart from writes.
const KERNEL_COUNTS_DISCARDS: (u32, u32) = (4, 18);

/// The longest write that the block layer puts together unless it is told otherwise, in kB:
/// `BLK_DEF_MAX_SECTORS` (linux/blkdev.h, since 4.3; shorter before).
const WRITE_KB_MAX: f64 = 1_280.0;

/// What a drive's link carries, in bytes a second: four lanes of PCIe 3.0 at 8 GT/s, 128b/130b.
const LINK_BYTES_S: f64 = 4.0 * 8e9 / 8.0 * 128.0 / 130.0;

/// What is known beside the log.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// Filesystems, from the host's facts or the text of `findmnt`.
    pub mounts: &'a [MountedWith],
    /// Jobs with their runs around the day of the log.
    pub jobs: &'a [JobRuns],
    /// The zone of the log's day.
    pub zone: &'a TimeZone,
}

/// What a log of disks shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiskLog {
    /// Where it came from.
    pub source: String,
    /// The host that it names.
    pub host: Option<String>,
    /// The kernel that it names.
    pub kernel: Option<String>,
    /// What its times are worth.
    pub dating: Dating,
    /// Number of samples.
    pub samples: usize,
    /// Number of the first sample after the jump, from 1.
    pub jump_sample: usize,
    /// The devices whose writes jumped, by name, stacked ones last.
    pub devices: Vec<DeviceJump>,
    /// Written to all drives in the first sample after the jump, stacked devices not counted, in kB
    /// (1,024 bytes) a second.
    pub drives_write_kb_s: f64,
    /// `%iowait` in the first sample, and in the first one after the jump.
    pub iowait_percent: Option<FromTo>,
    /// What the writes were.
    pub writes_are: WritesAre,
    /// Why that is thought, one sentence each.
    pub because: Vec<String>,
    /// What the log shows, in sentences.
    pub sentences: Vec<String>,
    /// What it cannot tell, in sentences.
    pub cannot_tell: Vec<String>,
    /// What is wrong with how the filesystems are mounted.
    pub mounts: Vec<String>,
}

/// A figure before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FromTo {
    /// In the first sample of the log.
    pub from: f64,
    /// In the first sample after the jump.
    pub to: f64,
}

/// What a device did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceJump {
    /// `nvme1n1`.
    pub device: String,
    /// The drives that it consists of, found by their sums before the jump; empty for drives.
    pub members: Vec<String>,
    /// Written in the first sample of the log, in kB (1,024 bytes) a second.
    pub write_before_kb_s: f64,
    /// Written in each sample from the jump on; null where there is none.
    pub write_after_kb_s: Vec<Option<f64>>,
    /// The first of them over `write_before_kb_s`.
    pub write_times: Option<f64>,
    /// Read in the first sample of the log.
    pub read_before_kb_s: Option<f64>,
    /// Read in each sample from the jump on.
    pub read_after_kb_s: Vec<Option<f64>>,
    /// `read_before_kb_s` over what is read in each sample from the jump on; null where nothing is.
    pub read_down_times: Vec<Option<f64>>,
    /// Mean length of a request in the first sample after the jump, in kB.
    pub request_kb: Option<f64>,
}

/// What the writes of the jump were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritesAre {
    /// The kernel counts discards as writes, and writes cannot be that fast or that long.
    ProbablyDiscards,
    /// The kernel counts discards as writes, or nobody knows: they may be either.
    WritesOrDiscards,
    /// The kernel counts discards apart.
    Writes,
}

/// Reads a log of disks: series with the labels `device` and `metric`, and where known `kernel` and
/// `host`, as iostat's columns have them. Of several hosts, the first with a jump.
///
/// `None` where nothing is written to drives, where it does not jump, or where the log is longer than
/// a thousand samples: that is a history.
pub fn read_disk_log(series: &[Series], beside: &Beside<'_>) -> Option<DiskLog> {
    Table::all(series)
        .iter()
        .find_map(|table| read(table, beside))
}

fn read(table: &Table<'_>, beside: &Beside<'_>) -> Option<DiskLog> {
    if table.samples() > SAMPLES_MAX {
        return None;
    }
    let (drives, stacked): (Vec<&str>, Vec<&str>) = table
        .devices()
        .partition(|device| !stack::is_stacked(device));
    // Where only the device on top was logged, it speaks for its drives.
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
    // All of them together rose, and none by itself: nothing that could be told.
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
        mounts: mounts::remarks(beside.mounts, beside.jobs),
    };
    log.sentences = words::sentences(&log);
    log.cannot_tell = words::cannot_tell(&log, beside.jobs, beside.zone);
    Some(log)
}

/// Written to all drives in one sample, in kB/s.
fn written(table: &Table<'_>, drives: &[&str], sample: usize) -> f64 {
    drives
        .iter()
        .filter_map(|drive| table.get(drive, Metric::Write, sample))
        .sum()
}

/// The first sample after the jump.
fn jump(table: &Table<'_>, drives: &[&str]) -> Option<usize> {
    let at = |sample| written(table, drives, sample).max(QUIET_KB_S);
    (1..table.samples())
        .map(|sample| (sample, at(sample) / at(sample - 1)))
        .filter(|(_, times)| *times >= JUMP_TIMES)
        // The earliest of equal ones.
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        .map(|(sample, _)| sample)
}

/// What a device did, if its writes jumped too.
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
        write_times: over(first_kb_s, before_kb_s),
        read_before_kb_s,
        read_down_times: read_after_kb_s
            .iter()
            .map(|after_kb_s| over(read_before_kb_s?, (*after_kb_s)?))
            .collect(),
        read_after_kb_s,
        request_kb: table
            .get(device, Metric::Requests, jump)
            .and_then(|requests| over(moved_kb_s, requests)),
    })
}

/// A ratio, where there is one.
fn over(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

/// What the writes were, and why.
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
            "{} are written to a drive: four lanes of PCIe 3.0 carry 3.7 GiB/s.",
            words::drive_rates(devices)
        ));
    }
    if is_too_long {
        because.push(format!(
            "A request moves {} on average: the block layer cuts writes at 1.25 MiB unless it is \
             told otherwise, discards may be longer.",
            words::request_lengths(devices)
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

#[cfg(test)]
mod tests;
