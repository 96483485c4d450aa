//! Units by their descriptions: before version 250, systemd logs `Starting Discard unused blocks...`
//! and not the unit's name.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Services that timers of distributions start, with the descriptions that they have had.
const KNOWN: &[(&str, &[&str])] = &[
    ("anacron.service", &["Run anacron jobs"]),
    (
        "apt-daily-upgrade.service",
        &["Daily apt upgrade and clean activities"],
    ),
    ("apt-daily.service", &["Daily apt download activities"]),
    (
        "btrfs-balance.service",
        &["Balance block groups on a btrfs filesystem"],
    ),
    (
        "btrfs-scrub.service",
        &["Scrub btrfs filesystem, verify block checksums"],
    ),
    (
        "btrfs-trim.service",
        &["Discard unused blocks on a mounted filesystem"],
    ),
    ("dnf-makecache.service", &["dnf makecache"]),
    (
        "e2scrub_all.service",
        &["Online ext4 Metadata Check for All Filesystems"],
    ),
    (
        "e2scrub_reap.service",
        &["Remove Stale Online ext4 Metadata Check Snapshots"],
    ),
    (
        "fstrim.service",
        &[
            "Discard unused blocks",
            "Discard unused blocks on filesystems from /etc/fstab",
        ],
    ),
    ("logrotate.service", &["Rotate log files"]),
    (
        "man-db.service",
        &["Daily man-db cache update", "Daily man-db regeneration"],
    ),
    (
        "mdcheck_continue.service",
        &["MD array scrubbing - continuation"],
    ),
    ("mdcheck_start.service", &["MD array scrubbing"]),
    (
        "mdmonitor-oneshot.service",
        &["Reminder for degraded MD arrays"],
    ),
    (
        "snapper-cleanup.service",
        &["Daily Cleanup of Snapper Snapshots"],
    ),
    (
        "snapper-timeline.service",
        &["Timeline of Snapper Snapshots"],
    ),
    (
        "systemd-tmpfiles-clean.service",
        &["Cleanup of Temporary Directories"],
    ),
    (
        "xfs_scrub_all.service",
        &["Online XFS Metadata Check for All Filesystems"],
    ),
];

/// Returns the service with a well-known description.
pub(super) fn service(description: &str) -> Option<&'static str> {
    let (service, _) = KNOWN
        .iter()
        .find(|(_, known)| known.contains(&description))?;
    Some(service)
}

/// Returns what stands for a text that may be private.
pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
