//! Which mounted filesystems a rule about discards looks at, and which of several to name.

use crate::Context;
use crate::context::Volume;
use facts::Evidence;
use facts::host::Mount;

/// Filesystems of servers that FITRIM works on. Left out on purpose: vfat (the EFI partition does
/// not decay), and squashfs, iso9660 and their like, which never free anything.
pub(crate) const TRIMMABLE: &[&str] = &[
    "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "ocfs2", "gfs2",
];

/// Writable filesystems that can be trimmed.
pub(crate) fn trimmable<'c, 'a>(
    cx: &'c Context<'a>,
) -> impl Iterator<Item = &'c Volume<'a>> + use<'c, 'a> {
    cx.volumes
        .iter()
        .filter(|volume| is_trimmable(volume.mount))
}

fn is_trimmable(mount: &Mount) -> bool {
    TRIMMABLE.contains(&mount.fs_type.as_str()) && !mount.is_filesystem_read_only()
}

/// Volumes about which the same thing is to be said.
pub(crate) struct Group<'c, 'a, T> {
    /// The one to name: one with a store, else the first mounted.
    pub(crate) volume: &'c Volume<'a>,
    /// What was found out about it.
    pub(crate) item: T,
    /// The others.
    pub(crate) others: Vec<&'c Volume<'a>>,
}

impl<T> Group<'_, '_, T> {
    /// Whether a store's data lies on any of the volumes.
    pub(crate) fn has_store(&self) -> bool {
        // One with a store comes first.
        !self.volume.stores.is_empty()
    }

    /// The other mounts as evidence.
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

/// Groups volumes whose key is the same, so that a faulty layer below ten mounts is one finding.
pub(crate) fn grouped<'c, 'a, K: PartialEq, T>(
    volumes: impl IntoIterator<Item = (&'c Volume<'a>, K, T)>,
) -> Vec<Group<'c, 'a, T>> {
    let mut groups: Vec<(K, Group<'c, 'a, T>)> = Vec::new();
    for (volume, key, item) in volumes {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            None => groups.push((
                key,
                Group {
                    volume,
                    item,
                    others: Vec::new(),
                },
            )),
            Some((_, group)) if group.volume.stores.is_empty() && !volume.stores.is_empty() => {
                group.others.push(group.volume);
                group.volume = volume;
                group.item = item;
            }
            Some((_, group)) => group.others.push(volume),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
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
