//! ext4, including ext2 and ext3 mounted with its driver: split by block group.
//!
//! FITRIM takes absolute block numbers. A group that is covered entirely is marked as trimmed and
//! not trimmed again until something in it is freed; a group covered in part is never marked
//! (`ext4_trim_fs`, fs/ext4/mballoc.c). So steps are whole groups.

pub mod format;

use super::source::MapSource;
use super::walk::{GeometryError, Survey, Unsplittable, Walk};
use crate::ioctl::{FSMAP_FLAG_LAST, FSMAP_RECORDS, FsMap};
use crate::step::{ByteRange, Cursor, Step, StepBudget};
use format::{SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET_BYTES, Superblock};
use rustix::io::Errno;
use std::io;

/// Larger filesystems are surveyed without extents, because each group costs a bitmap read from the
/// device. 4096 groups of 4 KiB blocks are 512 GiB.
const SURVEY_GROUPS_MAX: u64 = 4096;

/// Free space of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Group {
    free_bytes: u64,
    /// `None` if the kernel does not list extents (before 4.13).
    extents: Option<Extents>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Extents {
    count: u64,
    largest_bytes: u64,
}

impl Extents {
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            largest_bytes: self.largest_bytes.max(other.largest_bytes),
        }
    }
}

/// Groups of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Batch {
    groups_end: u64,
    free_bytes: u64,
    extents: Option<Extents>,
    /// Number of groups with free space.
    occupied: u64,
}

impl Batch {
    fn at(group: u64) -> Self {
        Self {
            groups_end: group,
            free_bytes: 0,
            extents: Some(Extents::default()),
            occupied: 0,
        }
    }

    fn with(self, group: Group) -> Self {
        let extents = match (self.extents, group.extents) {
            _ if group.free_bytes == 0 => self.extents,
            (Some(ours), Some(more)) => Some(ours.and(more)),
            _ => None,
        };
        Self {
            groups_end: self.groups_end + 1,
            free_bytes: self.free_bytes.saturating_add(group.free_bytes),
            extents,
            occupied: self.occupied + u64::from(group.free_bytes > 0),
        }
    }

    fn exceeds(self, budget: StepBudget) -> bool {
        let many = |extents: Extents| extents.count > budget.free_extents;
        self.free_bytes > budget.free_bytes || self.extents.is_some_and(many)
    }
}

/// The walk over an ext4.
pub(super) struct Ext4<S> {
    source: S,
    superblock: Superblock,
    /// `dev_t` in GETFSMAP's encoding.
    device: u32,
    cursor: Cursor,
    lists_extents: bool,
    /// The descriptor block read last; cleared at the start of each call.
    descriptors: Option<(u64, Vec<u8>)>,
}

/// Reads the superblock of a device.
pub(super) fn superblock(
    read_at: &mut dyn FnMut(u64, usize) -> io::Result<Vec<u8>>,
) -> Result<Superblock, GeometryError> {
    let bytes = read_at(SUPERBLOCK_OFFSET_BYTES, SUPERBLOCK_BYTES).map_err(|error| {
        GeometryError::unreadable("the superblock of ext4, on its device", error)
    })?;
    Superblock::parse(&bytes)
        .map_err(|error| GeometryError::invalid("the superblock of ext4", error))
}

impl<S: MapSource> Ext4<S> {
    pub(super) fn open(mut source: S, device: u32, from: Cursor) -> Result<Self, GeometryError> {
        let superblock = superblock(&mut |offset, len| source.read_at(offset, len));
        source.close();
        Ok(Self {
            source,
            superblock: superblock?,
            device,
            cursor: from,
            lists_extents: true,
            descriptors: None,
        })
    }

    pub(super) fn uuid(&self) -> [u8; 16] {
        self.superblock.uuid
    }

    /// Opens the source, runs `ask`, and closes it again.
    fn session<T>(
        &mut self,
        ask: impl FnOnce(&mut Self) -> Result<T, GeometryError>,
    ) -> Result<T, GeometryError> {
        self.source.open()?;
        // The descriptors may have changed since the last step.
        self.descriptors = None;
        let answer = ask(self);
        self.source.close();
        answer
    }

    fn free_bytes(&mut self, group: u64) -> Result<u64, GeometryError> {
        let at = self.superblock.descriptor_block_bytes(group);
        let cached = self.descriptors.take().filter(|(offset, _)| *offset == at);
        let (_, block) = if let Some(cached) = cached {
            self.descriptors.insert(cached)
        } else {
            // A block has at most 64 KiB.
            let len = usize::try_from(self.superblock.block_bytes).unwrap_or(1 << 16);
            let block = self.source.read_at(at, len).map_err(|error| {
                let what = format!("the descriptor of block group {group}");
                GeometryError::unreadable(what, error)
            })?;
            self.descriptors.insert((at, block))
        };
        let free = self.superblock.free_bytes(group, block);
        free.map_err(|error| GeometryError::invalid("a group descriptor of ext4", error))
    }

    fn group(&mut self, group: u64, with_extents: bool) -> Result<Group, GeometryError> {
        self.source.check_stop()?;
        let free_bytes = self.free_bytes(group)?;
        let extents = if with_extents && free_bytes > 0 {
            self.extents(group)?
        } else {
            None
        };
        Ok(Group {
            free_bytes,
            extents,
        })
    }

    /// Returns the free extents of a group, as listed by the kernel.
    fn extents(&mut self, group: u64) -> Result<Option<Extents>, GeometryError> {
        if !self.lists_extents {
            return Ok(None);
        }
        let start = self.superblock.group_start_bytes(group);
        let end = self.superblock.group_start_bytes(group + 1);
        let high = FsMap::upper(self.device, end - 1);
        let mut low = FsMap::key(self.device, start);
        let mut found = Extents::default();
        loop {
            let records = match self.source.fsmap(low, high) {
                Ok(records) => records,
                Err(error) if is_unsupported(&error) => {
                    self.lists_extents = false;
                    return Ok(None);
                }
                Err(error) => {
                    let what = format!("the free extents of block group {group}");
                    return Err(GeometryError::unreadable(what, error));
                }
            };
            for record in records.iter().filter(|record| record.is_free()) {
                let from = record.physical.max(start);
                let to = record.physical.saturating_add(record.length).min(end);
                if from < to {
                    found = found.and(Extents {
                        count: 1,
                        largest_bytes: to - from,
                    });
                }
            }
            match records.last() {
                Some(&last)
                    if records.len() == FSMAP_RECORDS
                        && last.flags & FSMAP_FLAG_LAST == 0
                        && last.physical >= low.physical
                        && last != low =>
                {
                    low = last;
                }
                _ => return Ok(Some(found)),
            }
        }
    }

    /// Gathers the groups of the next step, and the groups after it that have no free space.
    fn batch(
        &mut self,
        first: u64,
        budget: StepBudget,
        with_extents: bool,
    ) -> Result<Batch, GeometryError> {
        let mut batch = Batch::at(first);
        while batch.groups_end < self.superblock.groups {
            let group = self.group(batch.groups_end, with_extents)?;
            let more = batch.with(group);
            if group.free_bytes > 0 && batch.occupied > 0 && more.exceeds(budget) {
                break;
            }
            batch = more;
        }
        Ok(batch)
    }
}

/// Returns whether this kernel or filesystem cannot list extents.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS)
    )
}

const WHY_WHOLE: &str = "ext4 can only trim whole block groups";

impl<S: MapSource> Walk for Ext4<S> {
    fn survey(&mut self, budget: StepBudget) -> Result<Survey, GeometryError> {
        self.session(|walk| {
            let groups = walk.superblock.groups;
            let with_extents = groups <= SURVEY_GROUPS_MAX;
            let (mut total, mut steps, mut first) = (Batch::at(0), 0, 0);
            let (mut over, mut over_largest) = (0, 0);
            while first < groups {
                let batch = walk.batch(first, budget, with_extents)?;
                first = batch.groups_end;
                total.free_bytes = total.free_bytes.saturating_add(batch.free_bytes);
                total.extents = match (total.extents, batch.extents) {
                    (Some(ours), Some(more)) => Some(ours.and(more)),
                    _ => None,
                };
                steps += u64::from(batch.occupied > 0);
                if batch.exceeds(budget) {
                    over += 1;
                    over_largest = over_largest.max(batch.free_bytes);
                }
            }
            let superblock = &walk.superblock;
            let group_bytes = superblock.blocks_per_group * superblock.block_bytes;
            let mut unsplittable = Vec::new();
            if over > 0 {
                let why = "ext4 can only trim whole groups";
                unsplittable.push(Unsplittable::groups(over, over_largest, why));
            }
            Ok(Survey {
                description: format!(
                    "ext4: {groups} block groups of {}",
                    units::bytes(group_bytes)
                ),
                free_bytes: total.free_bytes,
                free_extents: total.extents.map(|extents| extents.count),
                largest_extent_bytes: total.extents.map(|extents| extents.largest_bytes),
                steps,
                unsplittable,
                size_bytes: superblock.size_bytes(),
            })
        })
    }

    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError> {
        let first = self.superblock.group_at(self.cursor.next_bytes);
        if first >= self.superblock.groups {
            return Ok(None);
        }
        let batch = self.session(|walk| walk.batch(first, budget, true))?;
        let start_bytes = self.superblock.group_start_bytes(first);
        let end_bytes = self.superblock.group_start_bytes(batch.groups_end);
        self.cursor.next_bytes = end_bytes;
        if batch.occupied == 0 {
            return Ok(None);
        }
        Ok(Some(Step {
            range: ByteRange {
                start_bytes,
                len_bytes: end_bytes - start_bytes,
            },
            free_extents: batch.extents.map(|extents| extents.count),
            free_bytes: Some(batch.free_bytes),
            unsplittable: batch.exceeds(budget).then(|| WHY_WHOLE.to_owned()),
        }))
    }

    fn cursor(&self) -> Cursor {
        self.cursor
    }

    fn locks_one_extent_at_a_time(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
