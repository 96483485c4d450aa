//! Disk usage, shard sizes and data paths (`ClusterInfo`, `DiskUsage`).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{NodeIndex, ShardId};
use crate::copy::{AllocationIndex, CopyState, ShardCopy};

/// A data path, by position in [`ClusterInfo::paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathIndex(pub u32);

/// Usage of the disk behind one data path of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUsage {
    /// The path; `None` for an average over nodes (`_na_`).
    pub path: Option<PathIndex>,
    /// Size of the disk, bytes.
    pub total_bytes: i64,
    /// Free bytes on the disk. Negative if expected relocations exceed the free space.
    pub free_bytes: i64,
}

impl DiskUsage {
    /// Free space in percent; 100 for a disk of size zero.
    #[expect(
        clippy::cast_precision_loss,
        reason = "as DiskUsage.getFreeDiskAsPercentage computes it"
    )]
    pub(crate) fn free_percent(&self) -> f64 {
        if self.total_bytes == 0 {
            100.0
        } else {
            100.0 * (self.free_bytes as f64 / self.total_bytes as f64)
        }
    }

    /// Used space in percent.
    pub fn used_percent(&self) -> f64 {
        100.0 - self.free_percent()
    }
}

/// Key for looking up a data path: the copy as it was when the paths were read.
///
/// The server's key is the whole `ShardRouting`. Once a copy relocates, is promoted or is reallocated,
/// its key is different and its path is unknown until the paths are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathKey {
    shard: ShardId,
    allocation: AllocationIndex,
    relocation: Option<AllocationIndex>,
    state: CopyState,
    primary: bool,
}

impl PathKey {
    /// Key of an assigned copy; `None` for an unassigned one.
    pub fn of(copy: &ShardCopy) -> Option<Self> {
        Some(Self {
            shard: copy.shard,
            allocation: copy.allocation?,
            relocation: copy.relocation,
            state: copy.state,
            primary: copy.primary,
        })
    }
}

/// A map whose keys are made of the model's own numbers.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Hasher for the few words of a [`PathKey`] or [`ShardId`]. Keys are internal numbers, so it need not resist attacks.
#[derive(Debug, Clone, Default)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word.cast_unsigned() as u64);
    }
}

/// Sizes and disk usage as last read (`ClusterInfo`).
#[derive(Debug, Clone, Default)]
pub struct ClusterInfo {
    /// Names of the data paths.
    pub paths: Vec<String>,
    path_numbers: HashMap<String, PathIndex>,
    /// Per node, the path with the least free space, used by `canRemain`.
    pub least: HashMap<NodeIndex, DiskUsage>,
    /// Per node, the path with the most free space, used by `canAllocate`.
    pub most: HashMap<NodeIndex, DiskUsage>,
    /// Whether a path is known by shard and node, whatever became of the copy since (8.6 on).
    pub by_place: bool,
    sizes: NumberMap<(ShardId, bool), i64>,
    data_paths: NumberMap<PathKey, PathIndex>,
    place_paths: NumberMap<(ShardId, NodeIndex), PathIndex>,
}

impl ClusterInfo {
    /// Returns the number of a path, adding it if it is new.
    ///
    /// # Panics
    /// With more than 2^32 paths
    pub fn path(&mut self, name: &str) -> PathIndex {
        if let Some(&known) = self.path_numbers.get(name) {
            return known;
        }
        let new = PathIndex(u32::try_from(self.paths.len()).expect("fewer than 2^32 paths"));
        self.paths.push(name.to_owned());
        self.path_numbers.insert(name.to_owned(), new);
        new
    }

    /// Size in bytes of a shard's primary or of its replicas (whichever replica was read last).
    pub fn size_bytes(&self, shard: ShardId, primary: bool) -> Option<i64> {
        self.sizes.get(&(shard, primary)).copied()
    }

    /// Sets the size of a shard's primary or replicas.
    pub fn set_size_bytes(&mut self, shard: ShardId, primary: bool, bytes: i64) {
        self.sizes.insert((shard, primary), bytes);
    }

    /// Data path of a copy, if it was read since the copy last changed.
    pub fn data_path(&self, copy: &ShardCopy) -> Option<PathIndex> {
        if self.by_place {
            return self.place_paths.get(&(copy.shard, copy.node?)).copied();
        }
        self.data_paths.get(&PathKey::of(copy)?).copied()
    }

    /// Sets the data path of an assigned copy; does nothing for an unassigned one.
    pub fn set_data_path(&mut self, copy: &ShardCopy, path: PathIndex) {
        if self.by_place {
            if let Some(node) = copy.node {
                self.place_paths.insert((copy.shard, node), path);
            }
        } else if let Some(key) = PathKey::of(copy) {
            self.data_paths.insert(key, path);
        }
    }

    /// Whether no disk usage is known.
    pub fn is_empty(&self) -> bool {
        self.least.is_empty() && self.most.is_empty()
    }
}
