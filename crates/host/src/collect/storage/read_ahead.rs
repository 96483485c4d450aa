//! The read-ahead of Btrfs, which is a setting of the mounted filesystem and not of its drives
//! (`fs/btrfs/sysfs.c` in the kernel; the link to it is there since Linux 5.9).

use crate::source::Reader;
use facts::Host;
use std::collections::HashMap;

const FILESYSTEMS: &str = "sys/fs/btrfs";
/// More Btrfs filesystems than any real host has; a hostile tree could contain any number.
const FILESYSTEMS_MAX: usize = 1_000;

/// Adds it to the mounts of Btrfs. It stays unknown on kernels that do not show it.
pub(super) fn read(reader: &Reader<'_>, host: &mut Host) {
    let is_btrfs = |fs_type: &str| fs_type == "btrfs";
    if !host.mounts.iter().any(|mount| is_btrfs(&mount.fs_type)) {
        return;
    }
    let by_device = by_device(reader);
    let devices = host.device_index();
    let found: Vec<Option<u64>> = host
        .mounts
        .iter()
        .map(|mount| {
            let device = is_btrfs(&mount.fs_type).then(|| devices.of(mount))??;
            by_device.get(&device.name).copied()
        })
        .collect();
    for (mount, read_ahead_bytes) in host.mounts.iter_mut().zip(found) {
        mount.read_ahead_bytes = read_ahead_bytes;
    }
}

/// The read-ahead of each device's filesystem, by the device's name.
fn by_device(reader: &Reader<'_>) -> HashMap<String, u64> {
    let filesystems = reader.list(FILESYSTEMS).unwrap_or_default();
    let mut found = HashMap::new();
    for filesystem in filesystems.iter().take(FILESYSTEMS_MAX) {
        let path = format!("{FILESYSTEMS}/{filesystem}");
        // Not a filesystem: `features`.
        let Ok(devices) = reader.list(&format!("{path}/devices")) else {
            continue;
        };
        let kib = reader.attribute(&format!("{path}/bdi/read_ahead_kb"));
        let bytes = kib
            .and_then(|kib| kib.parse::<u64>().ok())
            .and_then(|kib| kib.checked_mul(1 << 10));
        if let Some(bytes) = bytes {
            found.extend(devices.into_iter().map(|device| (device, bytes)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::read as read_storage;
    use super::*;
    use crate::source::MemorySource;

    /// Two drives below one Btrfs, which is mounted twice; another without the setting, as before Linux 5.9; an XFS.
    fn host(kib: &str) -> MemorySource {
        let mut source = MemorySource::default().file(
            "proc/self/mountinfo",
            "28 1 0:41 / /data rw - btrfs /dev/nvme0n1 rw,space_cache=v2\n\
             29 1 0:41 /snap /snap rw - btrfs /dev/nvme0n1 rw,space_cache=v2\n\
             30 1 0:42 / /old rw - btrfs /dev/nvme2n1 rw\n\
             31 1 259:3 / /xfs rw - xfs /dev/nvme3n1 rw\n",
        );
        for minor in 0..4 {
            let path = format!("sys/block/nvme{minor}n1");
            source = source
                .file(&format!("{path}/dev"), format!("259:{minor}"))
                .file(&format!("{path}/size"), "2097152");
        }
        let one = "sys/fs/btrfs/3a7c1f0e-6a3a-4d55-9a4b-2a1f6c0c7a11";
        source
            .file("sys/fs/btrfs/features/raid56", "0\n")
            .symlink(&format!("{one}/devices/nvme0n1"), "x")
            .symlink(&format!("{one}/devices/nvme1n1"), "x")
            .symlink(
                &format!("{one}/bdi"),
                "../../../devices/virtual/bdi/btrfs-1",
            )
            .file("sys/devices/virtual/bdi/btrfs-1/read_ahead_kb", kib)
            .symlink("sys/fs/btrfs/other/devices/nvme2n1", "x")
    }

    fn found(kib: &str) -> Vec<Option<u64>> {
        let source = host(kib);
        let mut host = Host::default();
        read_storage(&Reader::new(&source), &mut host);
        host.mounts.iter().map(|m| m.read_ahead_bytes).collect()
    }

    #[test]
    fn each_mount_of_btrfs_has_that_of_its_filesystem() {
        assert_eq!(found("4096\n"), [Some(4 << 20), Some(4 << 20), None, None]);
    }

    #[test]
    fn what_is_no_number_stays_unknown() {
        for kib in ["", "many\n", "-1\n", "18446744073709551615\n"] {
            assert_eq!(found(kib), [None; 4], "{kib:?}");
        }
    }
}
