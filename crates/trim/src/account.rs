//! Discarded bytes per device layer, from the devices' own counters.

use crate::counters::Sample;
use std::collections::BTreeMap;

/// The block devices below a mount.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layers {
    /// Kernel name, depth and role of each device, top down, each listed once. Includes partitions,
    /// which have counters of their own.
    pub layers: Vec<LayerName>,
}

/// One block device of the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerName {
    /// Kernel name, such as `dm-0`.
    pub device: String,
    /// 0 for the mounted device; several devices have depth 0 on a multi-device Btrfs.
    pub depth: usize,
    /// Whether this is a drive, as far as this kernel can see.
    pub is_leaf: bool,
    /// Whether the device frees space in a pool and passes down only what was mapped (thin volumes,
    /// thin pools, VDO). Discards of space that was never written rightly stop here.
    pub is_mapped: bool,
}

impl Layers {
    /// Returns the mounted devices.
    pub fn top(&self) -> Vec<String> {
        self.names(|layer| layer.depth == 0)
    }

    /// Returns the drives.
    pub fn leaves(&self) -> Vec<String> {
        self.names(|layer| layer.is_leaf)
    }

    /// Returns all devices.
    pub fn all(&self) -> Vec<String> {
        self.names(|_| true)
    }

    fn names(&self, wanted: impl Fn(&LayerName) -> bool) -> Vec<String> {
        self.layers
            .iter()
            .filter(|layer| wanted(layer))
            .map(|layer| layer.device.clone())
            .collect()
    }
}

/// Bytes discarded per device since a given sample. Devices without discard counters are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discarded(pub BTreeMap<String, u64>);

impl Discarded {
    /// Computes the discards between two samples.
    pub fn between(before: &Sample, after: &Sample) -> Self {
        let mut bytes = BTreeMap::new();
        for (name, now) in &after.devices {
            let then = before.devices.get(name);
            if let (Some(now), Some(then)) =
                (now.discarded_bytes, then.and_then(|d| d.discarded_bytes))
            {
                bytes.insert(name.clone(), now.saturating_sub(then));
            }
        }
        Self(bytes)
    }

    /// Adds the discards of another session or step.
    pub fn add(&mut self, other: &Self) {
        for (name, bytes) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*bytes);
        }
    }

    /// Sums over `devices`; `None` if none of them counts discards.
    pub fn sum(&self, devices: &[String]) -> Option<u64> {
        let counted: Vec<u64> = devices
            .iter()
            .filter_map(|name| self.0.get(name).copied())
            .collect();
        (!counted.is_empty()).then(|| counted.iter().fold(0u64, |sum, b| sum.saturating_add(*b)))
    }
}

/// A layer that accepts discards but passes none to the layer below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swallowed {
    /// The layer; `None` if not even the mounted device saw a discard although the filesystem
    /// reported trimming.
    pub device: Option<String>,
    /// Bytes discarded on that layer.
    pub taken_bytes: u64,
    /// Bytes discarded on the drives below it.
    pub passed_bytes: u64,
}

/// Less than this proves nothing: thin pools pass on whole chunks only, RAID arrays whole stripes.
const EVIDENCE_BYTES_MIN: u64 = 64 << 20;

/// Detects a stack that swallows discards: the mounted device received plenty, the drives none.
pub fn swallowed(layers: &Layers, discarded: &Discarded) -> Option<Swallowed> {
    let taken_bytes = discarded.sum(&layers.top())?;
    let leaves = layers.leaves();
    // A drive without counters may have received all of it.
    if !leaves.iter().all(|leaf| discarded.0.contains_key(leaf)) {
        return None;
    }
    let passed_bytes = discarded.sum(&leaves)?;
    if taken_bytes < EVIDENCE_BYTES_MIN || passed_bytes >= taken_bytes / 64 {
        return None;
    }
    // The lowest layer that still received discards.
    let device = layers
        .layers
        .iter()
        .filter(|layer| !layer.is_leaf)
        .filter(|layer| {
            discarded
                .0
                .get(&layer.device)
                .is_some_and(|&bytes| bytes >= taken_bytes / 64 && bytes > 0)
        })
        .max_by_key(|layer| layer.depth);
    if device.is_some_and(|layer| layer.is_mapped) {
        return None;
    }
    Some(Swallowed {
        device: device.map(|layer| layer.device.clone()),
        taken_bytes,
        passed_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::counters::DeviceCounters;

    fn layers(described: &[(&str, usize, bool)]) -> Layers {
        let layers = described.iter().map(|&(device, depth, is_leaf)| LayerName {
            device: device.to_owned(),
            depth,
            is_leaf,
            is_mapped: false,
        });
        Layers {
            layers: layers.collect(),
        }
    }

    fn discarded(bytes: &[(&str, u64)]) -> Discarded {
        let bytes = bytes
            .iter()
            .map(|&(device, mib)| (device.to_owned(), mib << 20));
        Discarded(bytes.collect())
    }

    fn thin() -> Layers {
        layers(&[
            ("dm-4", 0, false),
            ("dm-2", 1, false),
            ("dm-1", 2, false),
            ("nvme0n1", 3, true),
        ])
    }

    #[test]
    fn lowest_layer_that_received_discards_is_named() {
        let seen = discarded(&[("dm-4", 400), ("dm-2", 400), ("dm-1", 0), ("nvme0n1", 0)]);
        let found = swallowed(&thin(), &seen).unwrap();
        assert_eq!(found.device.as_deref(), Some("dm-2"));
        assert_eq!(found.taken_bytes, 400 << 20);
        assert_eq!(found.passed_bytes, 0);
    }

    #[test]
    fn pool_that_passes_whole_chunks_only_does_not_swallow() {
        let seen = discarded(&[("dm-4", 400), ("dm-2", 400), ("dm-1", 90), ("nvme0n1", 90)]);
        assert_eq!(swallowed(&thin(), &seen), None);
    }

    /// A thin volume trimmed for the first or second time: none of its free space is mapped, so the
    /// pool has nothing to pass on (`dm_thin_find_mapped_range`, drivers/md/dm-thin.c).
    #[test]
    fn never_mapped_pool_space_is_not_swallowed() {
        let seen = discarded(&[("dm-4", 4000), ("dm-2", 4000), ("dm-1", 0), ("nvme0n1", 0)]);
        let mut layers = thin();
        layers.layers[1].is_mapped = true;
        assert_eq!(swallowed(&layers, &seen), None);
        // Discards lost above or below the thin layer still count as swallowed.
        let above = discarded(&[("dm-4", 4000), ("dm-2", 0), ("dm-1", 0), ("nvme0n1", 0)]);
        assert_eq!(
            swallowed(&layers, &above).unwrap().device.as_deref(),
            Some("dm-4")
        );
        let below = discarded(&[
            ("dm-4", 4000),
            ("dm-2", 4000),
            ("dm-1", 900),
            ("nvme0n1", 0),
        ]);
        assert_eq!(
            swallowed(&layers, &below).unwrap().device.as_deref(),
            Some("dm-1")
        );
    }

    #[test]
    fn uncounted_drives_prove_nothing() {
        let stripes = layers(&[("dm-0", 0, false), ("sda", 1, true), ("sdb", 1, true)]);
        let seen = discarded(&[("dm-0", 400), ("sda", 0)]);
        assert_eq!(swallowed(&stripes, &seen), None);
    }

    #[test]
    fn small_amounts_prove_nothing() {
        let seen = discarded(&[("dm-4", 63), ("nvme0n1", 0)]);
        assert_eq!(swallowed(&thin(), &seen), None);
    }

    #[test]
    fn one_dead_mirror_half_is_no_proof_and_no_loss() {
        let mirror = layers(&[("md0", 0, false), ("sda", 1, true), ("sdb", 1, true)]);
        let seen = discarded(&[("md0", 400), ("sda", 400), ("sdb", 0)]);
        assert_eq!(swallowed(&mirror, &seen), None);
    }

    #[test]
    fn plain_drive_never_counts_as_swallowing() {
        let plain = layers(&[("sda", 0, true)]);
        assert_eq!(swallowed(&plain, &discarded(&[("sda", 4000)])), None);
    }

    #[test]
    fn without_counters_nothing_is_claimed() {
        assert_eq!(swallowed(&thin(), &Discarded::default()), None);
        assert_eq!(Discarded::default().sum(&thin().leaves()), None);
    }

    #[test]
    fn only_devices_with_discard_counters_are_compared() {
        let counters = |bytes: Option<u64>| DeviceCounters {
            discarded_bytes: bytes,
            ..DeviceCounters::default()
        };
        let sample = |a, b| Sample {
            devices: [("a".to_owned(), counters(a)), ("b".to_owned(), counters(b))].into(),
            ..Sample::default()
        };
        let between = Discarded::between(&sample(Some(5), None), &sample(Some(9), None));
        assert_eq!(between.0, [("a".to_owned(), 4)].into());
        // A device whose counters restarted at zero has no known discards.
        let restarted = Discarded::between(&sample(Some(9), None), &sample(Some(1), None));
        assert_eq!(restarted.0, [("a".to_owned(), 0)].into());
    }
}
