//! Trim debt: what was written to the drives below a filesystem since it was last trimmed completely.

use crate::audit::{self, Earlier};
use crate::filesystem::Filesystem;
use crate::forecast::last_trim;
use crate::state::boot_id;
use facts::host::{Host, Mount};
use jiff::Timestamp;
use linux::counters::parse_diskstats;
use std::path::Path;

/// Bytes written since the last complete trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The audit log holds the drives' counters of that moment.
    Exactly(u64),
    /// It was trimmed since boot, or just before: no more than what was written since.
    AtMost(u64),
    /// It was trimmed before this boot, or neither log nor time stamp shows that it ever was: at least this much.
    AtLeast(u64),
}

/// Returns the last complete pass on a mounted filesystem, by the audit log in `state_dir`. Only root may read both.
pub fn last_pass(host: &Host, mount: &Mount, state_dir: &Path) -> Option<Earlier> {
    let target = Filesystem::of(host, mount).identify().ok()?;
    audit::last_complete(state_dir, &target.identity.key())
}

/// Returns what was written to the drives of a mounted filesystem since its last complete trim: since `earlier`, its
/// [`last_pass`], else by the time stamps of scheduled trims. `None` if the drives are not known or not counted.
pub fn written(host: &Host, mount: &Mount, earlier: Option<&Earlier>) -> Option<Written> {
    let drives: Vec<String> = host
        .stack_of(mount)?
        .leaves()
        .map(|drive| drive.name.clone())
        .collect();
    let text = std::fs::read_to_string("/proc/diskstats").ok()?;
    let now = parse_diskstats(&text, &drives).ok()?;
    if drives.is_empty() || now.len() != drives.len() {
        return None;
    }
    let since_boot: u64 = now.values().map(|drive| drive.written_bytes).sum();
    if let Some(earlier) = earlier
        && earlier.boot_id.is_some()
        && earlier.boot_id == boot_id()
    {
        let since = drives.iter().map(|drive| {
            let before = earlier.written_bytes.get(drive)?;
            now.get(drive)?.written_bytes.checked_sub(*before)
        });
        if let Some(written) = since.sum() {
            return Some(Written::Exactly(written));
        }
    }
    let booted_at = host.platform.uptime_s.and_then(|uptime_s| {
        let uptime = jiff::SignedDuration::try_from_secs_f64(uptime_s).ok()?;
        host.read_at.checked_sub(uptime).ok()
    });
    let trimmed_at: Option<Timestamp> = last_trim(host, earlier).map(|(at, _)| at);
    match (trimmed_at, booted_at) {
        (Some(trimmed), Some(booted)) if trimmed >= booted => Some(Written::AtMost(since_boot)),
        _ => Some(Written::AtLeast(since_boot)),
    }
}
