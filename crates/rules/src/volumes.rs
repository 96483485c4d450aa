//! Selects the mounted filesystems that rules about discards examine, and groups those with the
//! same result.

use crate::Context;
use crate::discard_path::Fault;
use crate::volume::Volume;
use facts::Evidence;
use facts::host::Mount;
use std::collections::HashMap;
use std::hash::Hash;

/// Server filesystems that support FITRIM. vfat is excluded on purpose (the EFI partition does not
/// degrade), and so are squashfs, iso9660 and the like, which never free anything.
pub(crate) const TRIMMABLE: &[&str] = &[
    "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "ocfs2", "gfs2",
];

/// Returns the writable filesystems that can be trimmed.
pub(crate) fn trimmable<'c, 'a>(
    cx: &'c Context<'a>,
) -> impl Iterator<Item = &'c Volume<'a>> + use<'c, 'a> {
    cx.volumes_in_time()
        .filter(|volume| is_trimmable(volume.mount))
}

fn is_trimmable(mount: &Mount) -> bool {
    TRIMMABLE.contains(&mount.fs_type.as_str()) && !mount.is_filesystem_read_only()
}

/// Volumes with the same result.
pub(crate) struct Group<'c, 'a, T> {
    /// The one to report: one with a store, otherwise the first mounted.
    pub(crate) volume: &'c Volume<'a>,
    /// The result for it.
    pub(crate) item: T,
    /// The other volumes.
    pub(crate) others: Vec<&'c Volume<'a>>,
}

impl<T> Group<'_, '_, T> {
    /// Whether a store's data is on any of the volumes.
    pub(crate) fn has_store(&self) -> bool {
        // A volume with a store comes first.
        !self.volume.stores.is_empty()
    }

    /// Returns the other mounts as evidence.
    pub(crate) fn others_as_evidence(&self) -> Option<Evidence> {
        if self.others.is_empty() {
            return None;
        }
        let points: Vec<&str> = self
            .others
            .iter()
            .map(|volume| volume.mount.mount_point.as_str())
            .collect();
        Some(Evidence::new(
            "proc/self/mountinfo: other mounts above the same device",
            points.join(" "),
        ))
    }
}

/// Groups volumes by their layers at fault; those without any are left out.
pub(crate) fn grouped_by_faults<'c, 'a>(
    volumes: Vec<(&'c Volume<'a>, Vec<Fault<'a>>)>,
) -> Vec<Group<'c, 'a, Vec<Fault<'a>>>> {
    let at_fault = volumes.into_iter().filter(|(_, faults)| !faults.is_empty());
    grouped(at_fault.map(|(volume, faults)| {
        let names = faults.iter().map(|fault| fault.device.name.as_str());
        (volume, names.collect::<Vec<&str>>(), faults)
    }))
}

/// Groups volumes by key, so that a faulty layer below ten mounts is one finding.
pub(crate) fn grouped<'c, 'a, K: Eq + Hash, T>(
    volumes: impl IntoIterator<Item = (&'c Volume<'a>, K, T)>,
) -> Vec<Group<'c, 'a, T>> {
    let mut groups: Vec<Group<'c, 'a, T>> = Vec::new();
    let mut by_key: HashMap<K, usize> = HashMap::new();
    for (volume, key, item) in volumes {
        let index = *by_key.entry(key).or_insert(groups.len());
        match groups.get_mut(index) {
            None => groups.push(Group {
                volume,
                item,
                others: Vec::new(),
            }),
            Some(group) if group.volume.stores.is_empty() && !volume.stores.is_empty() => {
                group.others.push(group.volume);
                group.volume = volume;
                group.item = item;
            }
            Some(group) => group.others.push(volume),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    #[test]
    fn read_only_images_are_left_out_and_the_store_is_named() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), virtio("vda")])
            .device(partition("nvme0n1p1", "nvme0n1"))
            .device(partition("nvme0n1p2", "nvme0n1"))
            .device(partition("nvme0n1p3", "nvme0n1"))
            .mount("/", "nvme0n1p1", "ext4", "rw,relatime")
            .mount("/data", "nvme0n1p2", "xfs", "rw,noatime")
            .mount("/old", "nvme0n1p3", "ext4", "ro,relatime")
            .mount("/snap/core", "vda", "squashfs", "ro,relatime")
            .elasticsearch("/data/es")
            .build();
        let cx = Context::new(&host);
        let groups = grouped(trimmable(&cx).map(|volume| (volume, 1, ())));
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].volume.mount.mount_point, "/data");
        assert_eq!(groups[0].others.len(), 1);
    }
}
