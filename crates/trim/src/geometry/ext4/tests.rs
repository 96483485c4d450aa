//! Tests of the walk over a fake device and a fake GETFSMAP.

use super::format::tests::Made;
use super::*;
use crate::geometry::source::Source;
use crate::ioctl::{FSMAP_FLAG_SPECIAL_OWNER, FSMAP_OWNER_FREE};
use proptest::prelude::*;
use std::time::Duration;

const BLOCK: u64 = 4096;
const GROUP_BLOCKS: u64 = 32768;
/// The last group is shorter than the others by this many blocks.
const LACKING_BLOCKS: u64 = 5000;

fn size(free: &[u64]) -> u64 {
    (free.len() as u64 * GROUP_BLOCKS - LACKING_BLOCKS) * BLOCK
}

struct Fake {
    /// Free blocks by group: one single free block, the rest in one extent.
    free: Vec<u64>,
    lists_extents: bool,
    open: bool,
    /// Number of extent lists requested, and the number after which a stop is requested.
    asked: u64,
    stop_after: u64,
}

impl Fake {
    fn superblock(&self) -> Vec<u8> {
        Made {
            log_block: 2,
            log_cluster: 2,
            blocks: size(&self.free) / BLOCK,
            blocks_per_group: 32768,
            wide: true,
            meta_bg_first: None,
        }
        .bytes()
    }

    /// Returns the free extents of a group, in blocks.
    fn extents(&self, group: u64) -> Vec<(u64, u64)> {
        let start = group * GROUP_BLOCKS;
        match self.free[usize::try_from(group).unwrap()] {
            0 => Vec::new(),
            1 => vec![(start + 9, start + 10)],
            free => vec![(start + 9, start + 10), (start + 20, start + 19 + free)],
        }
    }
}

impl Source for Fake {
    fn open(&mut self) -> Result<(), GeometryError> {
        self.open = true;
        Ok(())
    }

    fn close(&mut self) {
        self.open = false;
    }

    fn check_stop(&self) -> Result<(), GeometryError> {
        if self.asked >= self.stop_after {
            return Err(GeometryError::Stopped);
        }
        Ok(())
    }
}

impl MapSource for Fake {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn read_at(&mut self, offset_bytes: u64, len_bytes: usize) -> io::Result<Vec<u8>> {
        if offset_bytes == SUPERBLOCK_OFFSET_BYTES {
            return Ok(self.superblock());
        }
        assert_eq!((offset_bytes % BLOCK, len_bytes), (0, 4096));
        // The descriptors begin in block 1, 64 per block.
        let first = (offset_bytes / BLOCK - 1) * 64;
        let mut block = vec![0; len_bytes];
        for (index, descriptor) in block.chunks_mut(64).enumerate() {
            let group = usize::try_from(first).unwrap() + index;
            let free = u32::try_from(self.free.get(group).copied().unwrap_or(0)).unwrap();
            descriptor[12..14].copy_from_slice(&free.to_le_bytes()[..2]);
            descriptor[44..46].copy_from_slice(&free.to_le_bytes()[2..]);
        }
        Ok(block)
    }

    fn fsmap(&mut self, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>> {
        assert!(self.open, "the mount is open while it is asked");
        self.asked += 1;
        if !self.lists_extents {
            return Err(Errno::NOTTY.into());
        }
        let group = low.physical / BLOCK / GROUP_BLOCKS;
        let end = ((group + 1) * GROUP_BLOCKS * BLOCK).min(size(&self.free));
        assert_eq!(high.physical, end - 1);
        let record = |(start, end): (u64, u64)| {
            let mut map = FsMap::key(low.device, start * BLOCK);
            map.length = (end - start) * BLOCK;
            map.owner = FSMAP_OWNER_FREE;
            map.flags = FSMAP_FLAG_SPECIAL_OWNER;
            map
        };
        Ok(self.extents(group).into_iter().map(record).collect())
    }
}

fn walk(free: &[u64], lists_extents: bool, from: u64) -> Ext4<Fake> {
    let fake = Fake {
        free: free.to_vec(),
        lists_extents,
        open: false,
        asked: 0,
        stop_after: u64::MAX,
    };
    let cursor = Cursor {
        next_bytes: from,
        ..Cursor::default()
    };
    Ext4::open(fake, 0x803, cursor).unwrap()
}

fn budget(free_blocks: u64, free_extents: u64) -> StepBudget {
    StepBudget {
        free_bytes: free_blocks * BLOCK,
        free_extents,
    }
}

/// Collects the group numbers of each step: first, and one past the last.
fn steps(walk: &mut Ext4<Fake>, budget: StepBudget) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    while let Some(step) = walk.next_step(budget).unwrap() {
        let group_bytes = GROUP_BLOCKS * BLOCK;
        assert_eq!(step.range.start_bytes % group_bytes, 0, "whole groups");
        let end = step.range.end_bytes();
        assert!(
            end % group_bytes == 0 || end == walk.superblock.size_bytes(),
            "whole groups"
        );
        found.push((
            step.range.start_bytes / group_bytes,
            end.div_ceil(group_bytes),
        ));
    }
    found
}

#[test]
fn groups_are_joined_within_the_budget() {
    let free = [0, 10, 0, 10, 30, 0, 0];
    assert_eq!(
        steps(&mut walk(&free, true, 0), budget(20, 100)),
        [(0, 4), (4, 7)]
    );
    assert_eq!(
        steps(&mut walk(&free, true, 0), budget(1000, 100)),
        [(0, 7)]
    );
    // Two extents per group.
    assert_eq!(
        steps(&mut walk(&free, true, 0), budget(1000, 4)),
        [(0, 4), (4, 7)]
    );
    assert_eq!(steps(&mut walk(&[0, 0], true, 0), budget(1, 1)), []);
}

#[test]
fn group_larger_than_the_budget_is_marked_unsplittable() {
    let mut walk = walk(&[500, 3], true, 0);
    let survey = walk.survey(budget(100, 100)).unwrap();
    assert_eq!((survey.steps, survey.unsplittable.len()), (2, 1));
    assert_eq!(survey.unsplittable[0].bytes, 500 * BLOCK);
    assert_eq!(survey.free_bytes, 503 * BLOCK);
    assert_eq!(survey.free_extents, Some(4));
    assert_eq!(survey.largest_extent_bytes, Some(499 * BLOCK));
    let first = walk.next_step(budget(100, 100)).unwrap().unwrap();
    assert_eq!(first.unsplittable.as_deref(), Some(WHY_WHOLE));
    assert_eq!(first.free_bytes, Some(500 * BLOCK));
    let second = walk.next_step(budget(100, 100)).unwrap().unwrap();
    assert_eq!(second.unsplittable, None);
}

#[test]
fn kernels_without_getfsmap_report_bytes_only() {
    let mut walk = walk(&[5, 6], false, 0);
    let survey = walk.survey(budget(100, 1)).unwrap();
    assert_eq!(survey.free_extents, None);
    let step = walk.next_step(budget(100, 1)).unwrap().unwrap();
    assert_eq!(
        (step.free_bytes, step.free_extents),
        (Some(11 * BLOCK), None)
    );
}

#[test]
fn a_stop_ends_the_survey_and_the_search_for_a_step() {
    let mut walk = walk(&[5; 100], true, 0);
    walk.source.stop_after = 10;
    let whole = budget(1000, 1000);
    let surveyed = walk.survey(whole);
    assert!(matches!(surveyed, Err(GeometryError::Stopped)));
    let step = walk.next_step(whole);
    assert!(matches!(step, Err(GeometryError::Stopped)));
    assert_eq!(walk.source.asked, 10);
    assert!(!walk.source.open, "nothing stays open");
    walk.source.stop_after = u64::MAX;
    assert_eq!(walk.survey(whole).unwrap().free_bytes, 500 * BLOCK);
    assert_eq!(steps(&mut walk, whole), [(0, 100)], "nothing was left out");
}

proptest! {
    /// From any cursor and with any budgets: no gap, no overlap, and every free byte above the
    /// cursor is covered.
    #[test]
    fn steps_tile_the_space_above_the_cursor(
        free in proptest::collection::vec(prop_oneof![Just(0u64), 1u64..2000], 1..150),
        budgets in proptest::collection::vec((1u64..3000, 1u64..20), 1..10),
        from_group in 0u64..150,
        lists_extents in any::<bool>(),
    ) {
        let from = (from_group * GROUP_BLOCKS * BLOCK).min(size(&free));
        let mut walk = walk(&free, lists_extents, from);
        let (mut at, mut visited) = (from, 0);
        for step in 0.. {
            let (blocks, extents) = budgets[step % budgets.len()];
            let Some(step) = walk.next_step(budget(blocks, extents))? else { break };
            prop_assert_eq!(step.range.start_bytes, at);
            at = step.range.end_bytes();
            prop_assert_eq!(walk.cursor().next_bytes, at);
            visited += step.free_bytes.unwrap();
            let over = step.free_bytes.unwrap() > blocks * BLOCK
                || step.free_extents.is_some_and(|count| count > extents);
            prop_assert_eq!(over, step.unsplittable.is_some());
        }
        let above = free.iter().skip(usize::try_from(from_group).unwrap()).sum::<u64>();
        prop_assert_eq!(visited, above * BLOCK);
    }
}
