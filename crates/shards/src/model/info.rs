//! Disk usages, shard sizes and data paths (`ClusterInfo`, `DiskUsage`).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{NodeIndex, ShardId};
use crate::copy::{AllocationIndex, CopyState, ShardCopy};

/// A data path, by its place in [`ClusterInfo::paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathIndex(pub u32);

/// The disk behind one data path of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUsage {
    /// The path; `None` for an average over nodes, which is no path (`_na_`).
    pub path: Option<PathIndex>,
    /// Size of the disk, bytes.
    pub total_bytes: i64,
    /// Free on it, bytes. Below 0 where expected relocations exceed what is free.
    pub free_bytes: i64,
}

impl DiskUsage {
    /// Free space in percent; 100 for a disk of no size.
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

/// What a data path is looked up by: the copy as it was when the paths were read.
///
/// The server's key is the whole `ShardRouting`. A copy that began to relocate, was promoted, or was
/// allocated anew is another key; its path is unknown until the next reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathKey {
    shard: ShardId,
    allocation: AllocationIndex,
    relocation: Option<AllocationIndex>,
    state: CopyState,
    primary: bool,
}

impl PathKey {
    /// The key of an assigned copy; an unassigned one has none.
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

/// Mixes the few words of a [`PathKey`]; keys are numbers of our own, so no defence is needed.
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

/// Sizes and disks as last read (`ClusterInfo`).
#[derive(Debug, Clone, Default)]
pub struct ClusterInfo {
    /// Names of the data paths.
    pub paths: Vec<String>,
    /// Per node, the path with the least space: what `canRemain` looks at.
    pub least: HashMap<NodeIndex, DiskUsage>,
    /// Per node, the path with the most space: what `canAllocate` looks at.
    pub most: HashMap<NodeIndex, DiskUsage>,
    sizes: HashMap<(ShardId, bool), i64, BuildHasherDefault<WordHasher>>,
    data_paths: HashMap<PathKey, PathIndex, BuildHasherDefault<WordHasher>>,
}

impl ClusterInfo {
    /// The number of a path, which is added if it is new.
    ///
    /// # Panics
    /// With more than 2^32 paths.
    pub fn path(&mut self, name: &str) -> PathIndex {
        let found = self.paths.iter().position(|path| path == name);
        let at = found.unwrap_or_else(|| {
            self.paths.push(name.to_owned());
            self.paths.len() - 1
        });
        PathIndex(u32::try_from(at).expect("fewer than 2^32 paths"))
    }

    /// Size of a shard in bytes: of its primary, or of its replicas (whichever was read last).
    pub fn size_bytes(&self, shard: ShardId, primary: bool) -> Option<i64> {
        self.sizes.get(&(shard, primary)).copied()
    }

    /// Notes the size of a shard's primary or replicas.
    pub fn set_size_bytes(&mut self, shard: ShardId, primary: bool, bytes: i64) {
        self.sizes.insert((shard, primary), bytes);
    }

    /// The path on which a copy lies, if it was read since the copy became what it is.
    pub fn data_path(&self, copy: &ShardCopy) -> Option<PathIndex> {
        self.data_paths.get(&PathKey::of(copy)?).copied()
    }

    /// Notes the path of an assigned copy; for an unassigned one does nothing.
    pub fn set_data_path(&mut self, copy: &ShardCopy, path: PathIndex) {
        if let Some(key) = PathKey::of(copy) {
            self.data_paths.insert(key, path);
        }
    }

    /// Forgets all sizes and paths, not the disks: before a new reading.
    pub fn clear_shards(&mut self) {
        self.sizes.clear();
        self.data_paths.clear();
    }

    /// Whether no disk is known.
    pub fn is_empty(&self) -> bool {
        self.least.is_empty() && self.most.is_empty()
    }
}
