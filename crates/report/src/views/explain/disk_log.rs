//! Blocks for a disk log: its figures and open questions.

use super::clock;
use super::detail::ExplainDetail;
use super::names;
use crate::views::phrases::cell;
use explain::disk_log::{DeviceJump, DiskLog, Moved};
use explain::verdict::Kind;
use page::{Block, Table, Tone};

/// Maximum number of device rows on a terminal.
const DEVICES_MAX: usize = 40;

/// Returns the sentences that sum up the log.
pub(super) fn lead(log: &DiskLog) -> String {
    log.sentences.join(" ")
}

/// Returns the tone of its sentences: that of a finding if it does harm.
pub(super) fn tone(log: &DiskLog) -> Tone {
    names::tone(if log.harm.is_empty() {
        Kind::None
    } else {
        Kind::Change
    })
}

/// Describes the log:
/// `host mongo-03, Linux 4.4.0-1105-aws: 4 samples; the first sample is of 2020-04-13, ...`
pub(super) fn about(log: &DiskLog) -> String {
    let host = log.host.as_ref().map(|host| format!("host {host}"));
    let kernel = log.kernel.as_ref().map(|kernel| format!("Linux {kernel}"));
    let whose: Vec<String> = host.into_iter().chain(kernel).collect();
    let colon = if whose.is_empty() { "" } else { ": " };
    let samples = units::count(log.samples, "sample");
    let dating = clock::dating(log.dating).map_or(String::new(), |dating| format!("; {dating}"));
    format!("{}{colon}{samples}{dating}", whose.join(", "))
}

/// Builds everything below the description.
pub(super) fn blocks(log: &DiskLog, detail: ExplainDetail) -> Vec<Block> {
    let (before, after, title) = match log.moved {
        Moved::Discards => (
            "discarded before",
            "discarded at most",
            "Before: the samples outside of bursts. Read after: in the first sample of the largest burst.",
        ),
        Moved::NotCounted => (
            "written before",
            "written after",
            "Before: the samples before reads fall. After: the first one in which they do.",
        ),
        _ => (
            "written before",
            "written after",
            "Before: the samples before the jump. After: the first sample after it.",
        ),
    };
    let columns = [
        "<device",
        before,
        after,
        "times",
        "read before",
        "read after",
    ];
    let mut table = Table::titled(title, &columns);
    let shown = detail.shown(log.devices.len(), DEVICES_MAX);
    for device in &log.devices[..shown] {
        table.row(row(device, log.moved));
    }
    let mut blocks: Vec<Block> = Vec::new();
    if !log.devices.is_empty() {
        blocks.push(table.into());
    }
    let more = detail.more(log.devices.len(), DEVICES_MAX);
    blocks.extend(more.map(Block::aside));
    let lists = [
        ("Why", &log.because),
        ("How filesystems are mounted", &log.mounts),
        ("What this log cannot tell", &log.cannot_tell),
    ];
    let list = |(title, items): (&str, &Vec<String>)| detail.list(title, items, usize::MAX);
    blocks.extend(lists.into_iter().filter_map(list));
    blocks
}

fn row(device: &DeviceJump, moved: Moved) -> [String; 6] {
    let first = |values: &[Option<f64>]| values.first().copied().flatten();
    [
        device.device.clone(),
        rate(Some(device.before_kb_s)),
        rate(match moved {
            Moved::Discards => Some(device.largest_kb_s()),
            _ => first(&device.after_kb_s),
        }),
        cell(device.times, units::number::factor),
        rate(device.read_before_kb_s),
        rate(first(&device.read_after_kb_s)),
    ]
}

fn rate(kb_s: Option<f64>) -> String {
    cell(kb_s, |kb_s| units::bytes_per_s(kb_s * 1024.0))
}
