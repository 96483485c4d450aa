//! Checks on volumes and trim jobs shared by several rules.

use crate::context::Context;
use crate::medium::StackMedium;
use crate::shell::printable;
use crate::trim_jobs::{bare, has_option};
use crate::volume::Volume;
use crate::volumes::TRIMMABLE;
use crate::{discard_path, fstab_edit, medium, wording};
use facts::host::{AtaTrim, BlockDevice, DeviceKind, EnabledState, Job, Mount};
use facts::{Host, Skipped};

/// How a mounted filesystem discards the space it frees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnlineDiscard {
    /// Not at all.
    Off,
    /// Immediately, as part of freeing.
    On,
    /// In the background, batched and rate-limited: Btrfs' `discard=async`, the default since 6.2
    /// if a device takes discards, and F2FS, for which it is the default, too.
    Background,
}

/// Returns how a mount discards online.
pub(crate) fn online_discard(mount: &Mount) -> OnlineDiscard {
    let last = mount.options.iter().rev().find_map(|option| {
        match option.split_once('=').unwrap_or((option, "")) {
            ("discard", value) => Some(Some(value)),
            ("nodiscard", _) => Some(None),
            _ => None,
        }
    });
    match (last.flatten(), mount.fs_type.as_str()) {
        (None, _) => OnlineDiscard::Off,
        (Some("async"), _) | (Some(_), "f2fs") => OnlineDiscard::Background,
        (Some(_), _) => OnlineDiscard::On,
    }
}

/// Whether a filesystem discards online and will go on: by its mount, unless fstab no longer says so and it is an XFS, which
/// takes that at its next mount only; or by fstab, at the next mount.
pub(crate) fn discards_online(host: &Host, mount: &Mount) -> bool {
    let entry = fstab_edit::entry_of(host, mount);
    let in_fstab = entry.map(|entry| has_option(entry, "discard"));
    let ends = mount.fs_type == "xfs" && in_fstab == Some(false);
    in_fstab == Some(true) || online_discard(mount) != OnlineDiscard::Off && !ends
}

/// Returns libata's term if TRIM waits for an empty queue.
pub(crate) fn unqueued_trim(drive: &BlockDevice) -> Option<&'static str> {
    let DeviceKind::Scsi { ata_trim, .. } = drive.kind else {
        return None;
    };
    match ata_trim? {
        AtaTrim::Unqueued => Some("unqueued"),
        AtaTrim::ForcedUnqueued => Some("forced_unqueued"),
        _ => None,
    }
}

/// Whether a filesystem is read-only on purpose: according to fstab, or because nothing indicates
/// that it should be writable.
fn is_read_only_on_purpose(cx: &Context<'_>, mount: &Mount) -> bool {
    if !mount.is_read_only() {
        return false;
    }
    let entries = cx.host.fstab.iter().flatten();
    entries
        .filter(|entry| bare(&entry.mount_point) == bare(&mount.mount_point))
        .all(|entry| has_option(entry, "ro"))
}

/// Whether the mounted device takes what fstrim sends, regardless of what happens below it.
pub(crate) fn fstrim_works_here(volume: &Volume<'_>) -> bool {
    volume.discards.top_accepts != Some(false)
}

/// Whether the drives below are certainly or probably flash.
pub(crate) fn is_on_flash(cx: &Context<'_>, volume: &Volume<'_>) -> bool {
    medium::of_stack(&cx.host.platform, &volume.stack).is_flash()
}

/// Whether this is flash that slows down without a trim and that may be recommended for trimming:
/// writable, reached by discards as far as known, not discarded online.
pub(crate) fn decays_without_trim(cx: &Context<'_>, volume: &Volume<'_>) -> bool {
    is_on_flash(cx, volume)
        && is_worth_a_trim(cx, volume)
        // VDO uses discards for its own map.
        && !volume
            .stack
            .layers
            .iter()
            .any(|layer| discard_path::is_vdo(layer.device))
}

/// Returns what a rule reports as skipped if a store's volume may be such flash, and nothing tells whether it is.
pub(crate) fn decay_unknown(cx: &Context<'_>, volume: &Volume<'_>, rule: &str) -> Option<Skipped> {
    let medium = medium::of_stack(&cx.host.platform, &volume.stack);
    if volume.stores.is_empty()
        || medium != StackMedium::Unknown
        || volume.discards.reaches_drives() == Some(false)
        || online_discard(volume.mount) != OnlineDiscard::Off
        || !TRIMMABLE.contains(&volume.mount.fs_type.as_str())
    {
        return None;
    }
    let mut drives = volume.stack.data_drives();
    let drive = drives.find(|drive| drive.rotational.is_none())?;
    Some(Skipped::new(
        format!("{rule} on {}", wording::mount_point(volume)),
        format!("whether {} is flash is unknown", printable(&drive.name)),
        Some(&format!("{}/queue/rotational", drive.sysfs_path)),
    ))
}

/// Whether a periodic trim should reach this filesystem: writable, reached by discards as far as
/// known, not discarded online, on a host where trimming may be recommended, and on flash or a
/// device that certainly takes discards.
pub(crate) fn is_worth_a_trim(cx: &Context<'_>, volume: &Volume<'_>) -> bool {
    let mount = volume.mount;
    if cx.host.platform.elastic_cloud_enterprise.is_some()
        || is_read_only_on_purpose(cx, mount)
        || online_discard(mount) != OnlineDiscard::Off
        || !TRIMMABLE.contains(&mount.fs_type.as_str())
    {
        return false;
    }
    let reaches = volume.discards.reaches_drives();
    reaches.unwrap_or_else(|| is_on_flash(cx, volume))
}

/// Whether a timer would run its job and is merely switched off: not started, enabled or not, but
/// neither masked on purpose nor held back by a condition. TRIM003 reports it.
pub(crate) fn is_switched_off(cx: &Context<'_>, job: &Job) -> bool {
    let Some(timer) = &job.timer else {
        return false;
    };
    cx.host.platform.systemd != Some(false)
        && job.held_back_by.is_empty()
        && timer.enabled != Some(EnabledState::Masked)
        && !timer.is_running()
}

/// Explains why an inactive job does not run.
pub(crate) fn why_inactive(cx: &Context<'_>, job: &Job) -> String {
    if let Some(guard) = job.held_back_by.first() {
        return guard.clone();
    }
    let enabled = job.timer.as_ref().map(|timer| timer.enabled);
    match enabled {
        Some(Some(EnabledState::Masked)) => "the timer is masked",
        Some(_) if cx.host.platform.systemd == Some(false) => "systemd does not run here",
        Some(_) => "the timer is not active",
        None => "nothing starts it",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, nvme};

    #[test]
    fn the_last_discard_option_counts() {
        let of = |fs_type: &str, options: &str| {
            let host = TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", fs_type, options)
                .build();
            online_discard(&host.mounts[0])
        };
        assert_eq!(of("xfs", "rw,noatime"), OnlineDiscard::Off);
        assert_eq!(of("xfs", "rw,discard"), OnlineDiscard::On);
        assert_eq!(of("ext4", "rw,discard,nodiscard"), OnlineDiscard::Off);
        assert_eq!(
            of("btrfs", "rw,ssd,discard=async"),
            OnlineDiscard::Background
        );
        assert_eq!(of("btrfs", "rw,discard"), OnlineDiscard::On);
        assert_eq!(of("f2fs", "rw,discard"), OnlineDiscard::Background);
        assert_eq!(of("ext4", "rw,discardable"), OnlineDiscard::Off);
    }
}
