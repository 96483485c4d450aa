//! Btrfs: split by block group, with the unallocated space as one extra step.
//!
//! How FITRIM treats a range of logical addresses (`btrfs_trim_fs`, fs/btrfs/extent-tree.c): it
//! trims each block group that begins in the range, as far as the range goes. Then, whatever the
//! range, it trims all unallocated space of all devices that has not been trimmed since the mount
//! (before 5.2: all of it at each call). So a step is a set of whole block groups, and the
//! unallocated space comes first, using a range in which no block group begins.

pub mod items;

use super::source::Source;
use super::walk::{GeometryError, Survey, Unsplittable, Walk};
use crate::ioctl::BtrfsSearchKey;
use crate::step::{ByteRange, Cursor, Step, StepBudget};
use items::Chunk;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;

/// Kernel queries that the walk needs.
pub(super) trait BtrfsSource: Source {
    /// `BTRFS_IOC_TREE_SEARCH_V2`.
    fn search(&mut self, key: BtrfsSearchKey) -> io::Result<(u32, Vec<u8>)>;
    /// Sector size, the smallest range that FITRIM accepts.
    fn sector_bytes(&mut self) -> io::Result<u64>;
}

const EXTENT_TREE: u64 = 2;
const CHUNK_TREE: u64 = 3;
const FREE_SPACE_TREE: u64 = 10;
const BLOCK_GROUP_TREE: u64 = 11;
const CHUNK_TREE_OBJECT: u64 = 256;
const DEVICES_OBJECT: u64 = 1;
const BLOCK_GROUP_ITEM: u32 = 192;
const FREE_SPACE_INFO: u32 = 198;
const DEVICE_ITEM: u32 = 216;
const CHUNK_ITEM: u32 = 228;
/// The first MiB of a device is never used or trimmed (`BTRFS_DEVICE_RANGE_RESERVED`).
const RESERVED_BYTES: u64 = 1 << 20;
/// Maximum number of chunks or devices requested per search.
const CHUNKS_AT_ONCE: u32 = 64;

/// A block group and its free space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    chunk: Chunk,
    /// Free bytes on the devices, all copies included.
    free_bytes: u64,
    /// `None` without a free space tree.
    free_extents: Option<u64>,
}

/// Block groups of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Batch {
    start: u64,
    end: u64,
    groups: u64,
    free_bytes: u64,
    free_extents: Option<u64>,
}

impl Batch {
    fn of(group: Group) -> Self {
        Self {
            start: group.chunk.start_bytes,
            end: group.chunk.end_bytes(),
            groups: 1,
            free_bytes: group.free_bytes,
            free_extents: group.free_extents,
        }
    }

    fn with(self, group: Group) -> Self {
        Self {
            start: self.start,
            end: group.chunk.end_bytes(),
            groups: self.groups + 1,
            free_bytes: self.free_bytes.saturating_add(group.free_bytes),
            free_extents: self
                .free_extents
                .zip(group.free_extents)
                .map(|(ours, more)| ours + more),
        }
    }

    fn exceeds(&self, budget: StepBudget) -> bool {
        let many = |extents| extents > budget.free_extents;
        self.free_bytes > budget.free_bytes || self.free_extents.is_some_and(many)
    }
}

/// The walk over a Btrfs.
pub(super) struct Btrfs<S> {
    source: S,
    cursor: Cursor,
    /// Tree that holds the block group items; `None` until it has been determined.
    group_tree: Option<u64>,
    has_free_space_tree: bool,
    /// Whether the last step returned is that of the unallocated space.
    in_unallocated: bool,
}

fn unreadable(what: &str) -> impl FnOnce(io::Error) -> GeometryError {
    move |error| GeometryError::unreadable(what, error)
}

/// Search key for all items of one kind of one object.
fn key(tree_id: u64, object_id: u64, kind: u32, offsets: (u64, u64), items: u32) -> BtrfsSearchKey {
    let mut key = BtrfsSearchKey::default();
    key.tree_id = tree_id;
    (key.object_id_min, key.object_id_max) = (object_id, object_id);
    (key.offset_min, key.offset_max) = offsets;
    (key.type_min, key.type_max) = (kind, kind);
    (key.transaction_min, key.transaction_max) = (0, u64::MAX);
    key.items = items;
    key
}

fn is_absent(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOENT)
}

impl<S: BtrfsSource> Btrfs<S> {
    pub(super) fn new(source: S, from: Cursor) -> Self {
        Self {
            source,
            cursor: from,
            in_unallocated: false,
            group_tree: None,
            has_free_space_tree: true,
        }
    }

    fn session<T>(
        &mut self,
        ask: impl FnOnce(&mut Self) -> Result<T, GeometryError>,
    ) -> Result<T, GeometryError> {
        self.source.open()?;
        let answer = ask(self);
        self.source.close();
        answer
    }

    /// Returns chunks from a logical address on, at most [`CHUNKS_AT_ONCE`].
    fn chunks(&mut self, from: u64) -> Result<VecDeque<Chunk>, GeometryError> {
        const WHAT: &str = "the chunk tree of Btrfs (BTRFS_IOC_TREE_SEARCH_V2, needs root)";
        let offsets = (from, u64::MAX);
        let key = key(
            CHUNK_TREE,
            CHUNK_TREE_OBJECT,
            CHUNK_ITEM,
            offsets,
            CHUNKS_AT_ONCE,
        );
        let (count, bytes) = self.source.search(key).map_err(unreadable(WHAT))?;
        let items = items::split(count, &bytes)
            .ok_or_else(|| GeometryError::invalid(WHAT, "it is cut off"))?;
        let mut chunks: VecDeque<Chunk> = VecDeque::new();
        for item in items {
            if item.kind != CHUNK_ITEM || item.object_id != CHUNK_TREE_OBJECT {
                continue;
            }
            let chunk = Chunk::parse(&item).ok_or_else(|| {
                GeometryError::invalid(WHAT, format!("chunk {} makes no sense", item.offset))
            })?;
            let behind = chunks.back().map_or(from, Chunk::end_bytes);
            if chunk.start_bytes < behind {
                let message = format!("chunk {} overlaps the one before", chunk.start_bytes);
                return Err(GeometryError::invalid(WHAT, message));
            }
            chunks.push_back(chunk);
        }
        Ok(chunks)
    }

    /// Returns the answer to a search for a single item.
    fn item(&mut self, tree: u64, chunk: &Chunk, kind: u32) -> io::Result<Option<(u32, Vec<u8>)>> {
        let offsets = (chunk.len_bytes, chunk.len_bytes);
        let (count, bytes) = self
            .source
            .search(key(tree, chunk.start_bytes, kind, offsets, 1))?;
        Ok((count > 0).then_some((count, bytes)))
    }

    fn used_bytes(&mut self, chunk: &Chunk) -> Result<u64, GeometryError> {
        const WHAT: &str = "the block groups of Btrfs (BTRFS_IOC_TREE_SEARCH_V2)";
        let found = match self.group_tree {
            Some(tree) => self.item(tree, chunk, BLOCK_GROUP_ITEM),
            None => match self.item(BLOCK_GROUP_TREE, chunk, BLOCK_GROUP_ITEM) {
                Err(error) if is_absent(&error) => {
                    self.group_tree = Some(EXTENT_TREE);
                    self.item(EXTENT_TREE, chunk, BLOCK_GROUP_ITEM)
                }
                found => {
                    self.group_tree = Some(BLOCK_GROUP_TREE);
                    found
                }
            },
        };
        // A newly created block group has no item yet: nothing in it is used.
        let Some((count, bytes)) = found.map_err(unreadable(WHAT))? else {
            return Ok(0);
        };
        items::split(count, &bytes)
            .and_then(|items| items::used_bytes(items.first()?.data))
            .ok_or_else(|| GeometryError::invalid(WHAT, "an item is cut off"))
    }

    fn free_extents(&mut self, chunk: &Chunk) -> Result<Option<u64>, GeometryError> {
        const WHAT: &str = "the free space tree of Btrfs (BTRFS_IOC_TREE_SEARCH_V2)";
        if !self.has_free_space_tree {
            return Ok(None);
        }
        match self.item(FREE_SPACE_TREE, chunk, FREE_SPACE_INFO) {
            Ok(Some((count, bytes))) => items::split(count, &bytes)
                .and_then(|items| items::free_extents(items.first()?.data))
                .map(|count| Some(count.into()))
                .ok_or_else(|| GeometryError::invalid(WHAT, "an item is cut off")),
            Ok(None) => Ok(None),
            Err(error) if is_absent(&error) => {
                self.has_free_space_tree = false;
                Ok(None)
            }
            Err(error) => Err(unreadable(WHAT)(error)),
        }
    }

    fn group(&mut self, chunk: Chunk) -> Result<Group, GeometryError> {
        self.source.check_stop()?;
        let free = chunk.len_bytes.saturating_sub(self.used_bytes(&chunk)?);
        let on_devices = if chunk.is_discarded() {
            free.saturating_mul(chunk.copies())
        } else {
            0
        };
        Ok(Group {
            chunk,
            free_bytes: on_devices,
            free_extents: if on_devices == 0 {
                Some(0)
            } else {
                self.free_extents(&chunk)?
            },
        })
    }

    /// Gathers block groups from an address on, as many as the budget allows, at least one.
    fn batch(
        &mut self,
        from: u64,
        ahead: &mut VecDeque<Chunk>,
        budget: StepBudget,
    ) -> Result<Option<Batch>, GeometryError> {
        let mut batch: Option<Batch> = None;
        let mut from = from;
        loop {
            if ahead.is_empty() {
                *ahead = self.chunks(from)?;
            }
            let Some(&chunk) = ahead.front() else {
                return Ok(batch);
            };
            let group = self.group(chunk)?;
            batch = match batch {
                None => Some(Batch::of(group)),
                Some(batch) => {
                    let more = batch.with(group);
                    // A group without free space costs nothing, so it is always included.
                    if group.free_bytes > 0 && batch.free_bytes > 0 && more.exceeds(budget) {
                        return Ok(Some(batch));
                    }
                    Some(more)
                }
            };
            from = chunk.end_bytes();
            ahead.pop_front();
        }
    }

    /// Returns the unallocated bytes and the size of all devices. They are listed by the chunk tree, which
    /// names only those that exist: a device's number can be any of 64 bits, so asking for each number up
    /// to the highest (`BTRFS_IOC_DEV_INFO`) may never end.
    fn unallocated_bytes(&mut self) -> Result<(u64, u64), GeometryError> {
        const WHAT: &str = "the devices of Btrfs (BTRFS_IOC_TREE_SEARCH_V2, needs root)";
        let (mut free, mut total) = (0u64, 0u64);
        let mut from = Some(0);
        while let Some(id) = from.take() {
            self.source.check_stop()?;
            let offsets = (id, u64::MAX);
            let key = key(
                CHUNK_TREE,
                DEVICES_OBJECT,
                DEVICE_ITEM,
                offsets,
                CHUNKS_AT_ONCE,
            );
            let (count, bytes) = self.source.search(key).map_err(unreadable(WHAT))?;
            let items = items::split(count, &bytes)
                .ok_or_else(|| GeometryError::invalid(WHAT, "it is cut off"))?;
            for item in items {
                let device = (item.offset >= id)
                    .then(|| items::Device::parse(item.data))
                    .flatten();
                let device = device.ok_or_else(|| {
                    GeometryError::invalid(WHAT, format!("device {} makes no sense", item.offset))
                })?;
                let unallocated = device.size_bytes.saturating_sub(device.allocated_bytes);
                free = free.saturating_add(unallocated.saturating_sub(RESERVED_BYTES));
                total = total.saturating_add(device.size_bytes);
                from = item.offset.checked_add(1);
            }
        }
        Ok((free, total))
    }

    /// Returns a range in which no block group begins, so that FITRIM trims only the unallocated
    /// space. It lies inside a block group, because kernels before 5.0 refuse addresses beyond the
    /// filesystem's size.
    fn unallocated_step(&mut self) -> Result<Option<Step>, GeometryError> {
        let sector = self
            .source
            .sector_bytes()
            .map_err(unreadable("the sector size of Btrfs (BTRFS_IOC_FS_INFO)"))?;
        let (free_bytes, _) = self.unallocated_bytes()?;
        let first = self.chunks(0)?.pop_front();
        let Some(first) = first.filter(|chunk| chunk.len_bytes >= 2 * sector) else {
            return Ok(None);
        };
        Ok(Some(Step {
            range: ByteRange {
                start_bytes: first.start_bytes + sector,
                len_bytes: sector,
            },
            free_extents: None,
            free_bytes: Some(free_bytes),
            unsplittable: Some(WHY_UNALLOCATED.to_owned()),
        }))
    }
}

const WHY_UNALLOCATED: &str = "Btrfs trims all unallocated space that was not trimmed since the \
                               mount in its first call, whatever the range";
const WHY_GROUP: &str = "Btrfs can only trim whole block groups";

impl<S: BtrfsSource> Walk for Btrfs<S> {
    fn survey(&mut self, budget: StepBudget) -> Result<Survey, GeometryError> {
        self.session(|walk| {
            let (unallocated, size_bytes) = walk.unallocated_bytes()?;
            let mut unsplittable = vec![Unsplittable {
                what: format!("unallocated space: {WHY_UNALLOCATED}"),
                bytes: unallocated,
                is_unallocated: true,
            }];
            let mut ahead = VecDeque::new();
            let (mut from, mut groups, mut steps) = (0, 0, 1);
            let (mut free_bytes, mut free_extents) = (unallocated, Some(0));
            let (mut over, mut over_largest) = (0, 0);
            while let Some(batch) = walk.batch(from, &mut ahead, budget)? {
                from = batch.end;
                groups += batch.groups;
                steps += 1;
                free_bytes = free_bytes.saturating_add(batch.free_bytes);
                free_extents = free_extents
                    .zip(batch.free_extents)
                    .map(|(ours, more)| ours + more);
                if batch.exceeds(budget) {
                    over += 1;
                    over_largest = over_largest.max(batch.free_bytes);
                }
            }
            if over > 0 {
                unsplittable.push(Unsplittable::groups(over, over_largest, WHY_GROUP));
            }
            Ok(Survey {
                description: format!("Btrfs: {groups} block groups, and unallocated space"),
                free_bytes,
                free_extents,
                largest_extent_bytes: None,
                steps,
                unsplittable,
                size_bytes,
            })
        })
    }

    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError> {
        if !self.cursor.unallocated_done {
            let step = self.session(Self::unallocated_step)?;
            self.cursor.unallocated_done = true;
            if step.is_some() {
                self.in_unallocated = true;
                return Ok(step);
            }
        }
        self.in_unallocated = false;
        let from = self.cursor.next_bytes;
        let batch = self.session(|walk| walk.batch(from, &mut VecDeque::new(), budget))?;
        let Some(batch) = batch else {
            return Ok(None);
        };
        self.cursor.next_bytes = batch.end;
        Ok(Some(Step {
            range: ByteRange {
                start_bytes: batch.start,
                len_bytes: batch.end - batch.start,
            },
            free_extents: batch.free_extents,
            free_bytes: Some(batch.free_bytes),
            unsplittable: batch.exceeds(budget).then(|| WHY_GROUP.to_owned()),
        }))
    }

    fn cursor(&self) -> Cursor {
        self.cursor
    }

    fn locks_one_extent_at_a_time(&self) -> bool {
        // Chunks cannot be allocated while unallocated space is discarded (`chunk_mutex` in
        // `btrfs_trim_free_extents`); in a block group one free extent at a time is locked.
        !self.in_unallocated
    }
}

#[cfg(test)]
mod tests;
