//! What text and page both tell of a log of disks.

use super::{Told, counts, words};
use crate::words::{count, digits, grouped, human_bytes};
use explain::disk_log::{DeviceJump, DiskLog};

/// Names of the columns: what is written in the first sample, after the jump, and how many times as much
/// that is; the same of what is read, without the last; the device.
pub(super) const HEAD: [&str; 6] = ["written", "after", "times", "read", "after", "device"];

/// `host mongo-03, Linux 4.4.0-1105-aws: 4 samples; the first sample is of 2020-04-13, ...`
pub(super) fn about(log: &DiskLog) -> String {
    let host = log.host.as_ref().map(|host| format!("host {host}"));
    let kernel = log.kernel.as_ref().map(|kernel| format!("Linux {kernel}"));
    let whose: Vec<String> = [host, kernel].into_iter().flatten().collect();
    let mut text = whose.join(", ");
    if !text.is_empty() {
        text += ": ";
    }
    text += &count(log.samples, "sample");
    if let Some(dating) = words::dating(log.dating) {
        text += "; ";
        text += &dating;
    }
    text
}

/// The figures of a device, in the order of [`HEAD`]; `-` where there is none.
pub(super) fn row(device: &DeviceJump) -> [String; 6] {
    let first = |cells: &[Option<f64>]| cells.first().copied().flatten();
    [
        rate(Some(device.write_before_kb_s)),
        rate(first(&device.write_after_kb_s)),
        device.write_times.map_or_else(|| "-".to_owned(), times),
        rate(device.read_before_kb_s),
        rate(first(&device.read_after_kb_s)),
        device.device.clone(),
    ]
}

fn rate(kb_s: Option<f64>) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    kb_s.map_or_else(
        || "-".to_owned(),
        |kb_s| format!("{}/s", human_bytes((kb_s * 1024.0) as u64)),
    )
}

fn times(times: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    let whole = times.round() as u64;
    if times < 100.0 {
        format!("x{}", digits(times))
    } else {
        format!("x{}", grouped(whole))
    }
}

/// The lists below the figures, each with its heading; none is empty.
pub(super) fn lists(log: &DiskLog) -> Vec<(&'static str, &[String])> {
    let all = [
        ("Why", &log.because[..]),
        ("How filesystems are mounted", &log.mounts[..]),
        ("What this log cannot tell", &log.cannot_tell[..]),
    ];
    all.into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
}

/// The line that stands for series that are not told one by one.
pub(super) fn summed_up(series: &[Told<'_>]) -> String {
    format!(
        "By themselves, {} of logs of disks: {}; a pattern takes three cycles. `--all` tells each.",
        match series.len() {
            1 => "1 series".to_owned(),
            number => format!("{} series", grouped(number as u64)),
        },
        counts(series)
    )
}
