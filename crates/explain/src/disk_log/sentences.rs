//! Describes a disk log in sentences.

use super::result::{DeviceJump, DiskLog, WritesAre};
use crate::model::input::JobRuns;
use facts::series::Dating;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use units::number::factor;

/// Maximum number of devices listed individually; more are summarised by their extremes.
const DEVICES_NAMED: usize = 10;

pub(super) fn sentences(log: &DiskLog) -> Vec<String> {
    let mut sentences = vec![writes(log)];
    sentences.extend(reads(log));
    if let Some(iowait) = log.iowait_percent {
        sentences.push(format!(
            "CPU time spent waiting for disks (%iowait) goes from {} to {}.",
            units::percent(iowait.from / 100.0),
            units::percent(iowait.to / 100.0)
        ));
    }
    sentences.push(match log.writes_are {
        WritesAre::ProbablyDiscards => format!(
            "These are probably discards (blocks that a filesystem frees), not data: {} per drive.",
            drive_rates(&log.devices)
        ),
        WritesAre::WritesOrDiscards => format!(
            "These are writes or discards, {} per drive; the log does not tell which.",
            drive_rates(&log.devices)
        ),
        WritesAre::Writes => format!("These are writes, {} per drive.", drive_rates(&log.devices)),
    });
    for device in log
        .devices
        .iter()
        .filter(|device| !device.members.is_empty())
    {
        sentences.push(format!(
            "{} consists of {}: before the jump their figures add up to its own, so it is not counted again: \
             {} in total.",
            device.device,
            device.members.join(", "),
            rate(log.drives_write_kb_s),
        ));
    }
    sentences
}

fn writes(log: &DiskLog) -> String {
    let mut named: Vec<String> = log
        .devices
        .iter()
        .filter_map(|device| Some(format!("{} {}", device.device, factor(device.write_times?))))
        .collect();
    let more = named.len().saturating_sub(DEVICES_NAMED);
    named.truncate(DEVICES_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let from_nothing = log
        .devices
        .iter()
        .filter(|device| device.write_times.is_none());
    named.extend(from_nothing.map(|device| format!("{} from nothing", device.device)));
    format!(
        "Writes jump between sample {} and sample {} of {}: {} (relative to the first sample).",
        log.jump_sample - 1,
        log.jump_sample,
        log.samples,
        named.join(", "),
    )
}

/// Describes reads from the stacked device, or from the drives if there is none.
fn reads(log: &DiskLog) -> Option<String> {
    let stacked = log
        .devices
        .iter()
        .filter(|device| !device.members.is_empty());
    let mut told: Vec<&DeviceJump> = stacked.collect();
    if told.is_empty() {
        told = log.devices.iter().take(DEVICES_NAMED).collect();
    }
    let falls: Vec<String> = told
        .into_iter()
        .filter(|device| device.read_before_kb_s.is_some_and(|kb_s| kb_s > 0.0))
        .filter(|device| matches!(device.read_down_times.first(), Some(None | Some(2.0..))))
        .map(|device| {
            let times: Vec<String> = device
                .read_down_times
                .iter()
                .take(3)
                .map(|times| times.map_or("to nothing".to_owned(), factor))
                .collect();
            format!("{} down {}", device.device, times.join(", then "))
        })
        .collect();
    (!falls.is_empty()).then(|| {
        format!(
            "Reads fall in the same samples: {}. That is the harm: queries have to wait.",
            falls.join("; ")
        )
    })
}

pub(super) fn cannot_tell(log: &DiskLog, jobs: &[JobRuns], zone: &TimeZone) -> Vec<String> {
    let mut sentences = Vec::new();
    if log.writes_are == WritesAre::ProbablyDiscards {
        sentences.push(
            "Who sent the discards: fstrim, deletions on a filesystem mounted with `discard`, and a manual \
             command look the same here."
                .to_owned(),
        );
    }
    match log.dating {
        Dating::Day(day) => sentences.push(of_day(day, jobs, zone)),
        Dating::Undated => sentences.push(
            "When: the log has neither date nor times of day, so it can neither confirm nor exclude a \
             job."
            .to_owned(),
        ),
        Dating::Absolute => {}
    }
    sentences.push(format!(
        "Whether it recurs: {} samples show one jump; a pattern needs three.",
        log.samples
    ));
    sentences
}

fn of_day(day: Date, jobs: &[JobRuns], zone: &TimeZone) -> String {
    let mut text = format!(
        "When: the log is dated {} {day}, without times of day",
        units::date::weekday(day.weekday())
    );
    let end = day
        .tomorrow()
        .ok()
        .and_then(|next| next.to_zoned(zone.clone()).ok())
        .map(|at| at.timestamp());
    let trims: Vec<(&str, Timestamp)> = jobs
        .iter()
        .filter(|job| job.name.contains("fstrim"))
        .filter_map(|job| {
            let before = |at: &Timestamp| end.is_some_and(|end| *at < end);
            let last = job
                .runs
                .iter()
                .map(|run| run.earliest)
                .filter(before)
                .max()?;
            Some((job.name.as_str(), last))
        })
        .collect();
    if trims.is_empty() {
        text.push_str(", so it can neither confirm nor exclude a job.");
        return text;
    }
    text.push('.');
    for (name, last) in trims {
        let last = units::date::formatted(last, zone, "%A %Y-%m-%d %H:%M");
        // Writing to a string does not fail.
        let _ = write!(
            text,
            " {name} was last due on {last}: this log neither confirms nor excludes that it was that \
             run (a long trim takes hours, and anyone can start one manually).",
        );
    }
    text
}

/// Returns the drives' write rates after the jump: `7.0 to 8.3 GiB/s`.
pub(super) fn drive_rates(devices: &[DeviceJump]) -> String {
    let has_drives = devices.iter().any(|device| device.members.is_empty());
    let drives = devices
        .iter()
        .filter(|device| !has_drives || device.members.is_empty());
    let rates: Vec<f64> = drives
        .flat_map(|drive| drive.write_after_kb_s.iter().flatten().copied())
        .collect();
    range(&rates, rate)
}

/// Returns the drives' request sizes after the jump: `7.9 to 8.2 MiB`.
pub(super) fn request_lengths(devices: &[DeviceJump]) -> String {
    let drives = devices.iter().filter(|device| device.members.is_empty());
    let lengths: Vec<f64> = drives.filter_map(|drive| drive.request_kb).collect();
    range(&lengths, |kb| units::size::bytes_estimate(kb * 1024.0))
}

/// Formats the lowest to the highest value; a common unit is written once.
fn range(values: &[f64], write: impl Fn(f64) -> String) -> String {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let (from, to) = (write(lowest), write(highest));
    if from == to {
        return to;
    }
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {to}"),
        _ => format!("{from} to {to}"),
    }
}

/// `7.2 GiB/s`.
fn rate(kb_s: f64) -> String {
    units::bytes_per_s(kb_s * 1024.0)
}
