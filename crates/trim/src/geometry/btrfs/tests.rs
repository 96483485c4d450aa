//! Tests of the walk over fake trees.

use super::items::tests::{chunk_data, item};
use super::*;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 4096;

/// Start, length, used, flags and free extents of a block group.
type Made = (u64, u64, u64, u64, u32);

#[derive(Clone)]
struct Fake {
    groups: Vec<Made>,
    group_tree: bool,
    free_space_tree: bool,
    /// Number, size and allocated bytes.
    devices: Vec<(u64, u64, u64)>,
    /// Number of searches made, and the number after which a stop is requested.
    asked: u64,
    stop_after: u64,
}

impl Source for Fake {
    fn open(&mut self) -> Result<(), GeometryError> {
        Ok(())
    }

    fn close(&mut self) {}

    fn check_stop(&self) -> Result<(), GeometryError> {
        if self.asked >= self.stop_after {
            return Err(GeometryError::Stopped);
        }
        Ok(())
    }
}

impl BtrfsSource for Fake {
    fn search(&mut self, key: BtrfsSearchKey) -> io::Result<(u32, Vec<u8>)> {
        assert_eq!(key.type_min, key.type_max);
        self.asked += 1;
        let absent = || Err(Errno::NOENT.into());
        if (key.tree_id, key.type_min) == (CHUNK_TREE, DEVICE_ITEM) {
            let wanted = key.offset_min..=key.offset_max;
            let found = self.devices.iter().filter(|(id, ..)| wanted.contains(id));
            let found: Vec<Vec<u8>> = found
                .take(key.items.try_into().unwrap())
                .map(|&(id, size, used)| {
                    let data = [id, size, used].map(u64::to_le_bytes).concat();
                    item((DEVICES_OBJECT, DEVICE_ITEM, id), &data)
                })
                .collect();
            return Ok((found.len().try_into().unwrap(), found.concat()));
        }
        let kind = match key.tree_id {
            CHUNK_TREE => CHUNK_ITEM,
            BLOCK_GROUP_TREE if self.group_tree => BLOCK_GROUP_ITEM,
            EXTENT_TREE if !self.group_tree => BLOCK_GROUP_ITEM,
            FREE_SPACE_TREE if self.free_space_tree => FREE_SPACE_INFO,
            _ => return absent(),
        };
        assert_eq!(key.type_min, kind);
        let mut bytes = Vec::new();
        let mut count = 0;
        for &(start, len, used, flags, extents) in &self.groups {
            let (object_id, offset, data) = match kind {
                CHUNK_ITEM => (CHUNK_TREE_OBJECT, start, chunk_data(len, flags, 2)),
                BLOCK_GROUP_ITEM => (start, len, [used.to_le_bytes(); 3].concat()),
                _ => (start, len, extents.to_le_bytes().repeat(2)),
            };
            let inside = (key.object_id_min..=key.object_id_max).contains(&object_id)
                && (key.offset_min..=key.offset_max).contains(&offset);
            if inside && count < key.items {
                bytes.extend(item((object_id, kind, offset), &data));
                count += 1;
            }
        }
        Ok((count, bytes))
    }

    fn sector_bytes(&mut self) -> io::Result<u64> {
        Ok(SECTOR)
    }
}

fn made(groups: &[Made]) -> Fake {
    Fake {
        groups: groups.to_vec(),
        group_tree: false,
        free_space_tree: true,
        devices: vec![(1, 1000 * MIB, 400 * MIB), (2, 500 * MIB, 100 * MIB)],
        asked: 0,
        stop_after: u64::MAX,
    }
}

fn budget(mib: u64, free_extents: u64) -> StepBudget {
    StepBudget {
        free_bytes: mib * MIB,
        free_extents,
    }
}

#[test]
fn unallocated_space_comes_first_and_alone() {
    let fake = made(&[(13 * MIB, 8 * MIB, MIB, 1, 3), (21 * MIB, 8 * MIB, 0, 1, 1)]);
    let mut walk = Btrfs::new(fake.clone(), Cursor::default());
    let step = walk.next_step(budget(100, 100)).unwrap().unwrap();
    let starts_inside =
        |group: &Made| (step.range.start_bytes..step.range.end_bytes()).contains(&group.0);
    assert!(
        !fake.groups.iter().any(starts_inside),
        "no block group begins in it"
    );
    assert_eq!(step.range.len_bytes, SECTOR);
    assert_eq!(step.free_bytes, Some(998 * MIB));
    assert!(step.unsplittable.is_some());
    let cursor = walk.cursor();
    assert!(cursor.unallocated_done && cursor.next_bytes == 0);
    let mut resumed = Btrfs::new(fake, cursor);
    let step = resumed.next_step(budget(100, 100)).unwrap().unwrap();
    assert_eq!(step.range.start_bytes, 13 * MIB);
    assert_eq!(step.range.end_bytes(), 29 * MIB);
    assert_eq!(
        (step.free_bytes, step.free_extents),
        (Some(15 * MIB), Some(4))
    );
    assert_eq!(resumed.next_step(budget(100, 100)).unwrap(), None);
}

#[test]
fn profiles_and_trees() {
    let dup = 4 | 1 << 5;
    let raid6 = 1 | 1 << 8;
    let groups = [
        (MIB, 8 * MIB, 2 * MIB, dup, 1),
        (9 * MIB, 8 * MIB, 0, raid6, 1),
    ];
    for (group_tree, free_space_tree) in [(false, true), (true, false)] {
        let mut fake = made(&groups);
        (fake.group_tree, fake.free_space_tree) = (group_tree, free_space_tree);
        let mut walk = Btrfs::new(fake, Cursor::default());
        let survey = walk.survey(budget(5, 100)).unwrap();
        // Both copies of the first group count; nothing is discarded in RAID6.
        assert_eq!(survey.free_bytes, (998 + 12) * MIB);
        assert_eq!(survey.free_extents, free_space_tree.then_some(1));
        assert_eq!(survey.size_bytes, 1500 * MIB);
        assert_eq!(survey.unsplittable.len(), 2);
        assert_eq!(survey.unsplittable[1].bytes, 12 * MIB);
        assert_eq!(survey.steps, 2, "the unallocated space, and both groups");
    }
}

#[test]
fn invalid_structures_are_errors() {
    let overlapping = made(&[(MIB, 8 * MIB, 0, 1, 1), (2 * MIB, 8 * MIB, 0, 1, 1)]);
    let endless = made(&[(MIB, u64::MAX, 0, 1, 1)]);
    for fake in [overlapping, endless] {
        let mut walk = Btrfs::new(fake, Cursor::default());
        let found = walk.survey(budget(1, 1));
        assert!(
            matches!(found, Err(GeometryError::Invalid { .. })),
            "{found:?}"
        );
    }
}

#[test]
fn a_stop_ends_the_survey_and_the_search_for_a_step() {
    let groups: Vec<Made> = (1..=100).map(|at| (at * MIB, MIB, 0, 1, 1)).collect();
    let behind_the_unallocated = Cursor {
        next_bytes: 0,
        unallocated_done: true,
    };
    let mut walk = Btrfs::new(made(&groups), behind_the_unallocated);
    walk.source.stop_after = 10;
    let whole = budget(1000, 1000);
    let surveyed = walk.survey(whole);
    assert!(matches!(surveyed, Err(GeometryError::Stopped)));
    let step = walk.next_step(whole);
    assert!(matches!(step, Err(GeometryError::Stopped)));
    // The items of one block group are queried together, and the next step starts with its chunks.
    assert!((10..=13).contains(&walk.source.asked));
    walk.source.stop_after = u64::MAX;
    assert_eq!(walk.survey(whole).unwrap().free_extents, Some(100));
    let step = walk.next_step(whole).unwrap().unwrap();
    assert_eq!(step.free_bytes, Some(100 * MIB), "nothing was left out");
}

proptest! {
    /// Every block group above the cursor begins in exactly one step and lies entirely within it.
    #[test]
    fn every_block_group_is_in_one_step(
        pieces in proptest::collection::vec((0u64..3, 1u64..20, 0u64..20, 0u32..50), 1..200),
        budgets in proptest::collection::vec((1u64..60, 1u64..100), 1..10),
        from in 0u64..300,
    ) {
        let mut at = MIB;
        let mut groups: Vec<Made> = Vec::new();
        for (gap, len, used, extents) in pieces {
            at += gap * MIB;
            groups.push((at, len * MIB, used.min(len) * MIB, 1, extents));
            at += len * MIB;
        }
        let cursor = Cursor { next_bytes: from * MIB, unallocated_done: true };
        let mut walk = Btrfs::new(made(&groups), cursor);
        let mut ranges: Vec<ByteRange> = Vec::new();
        for step in 0.. {
            let (mib, extents) = budgets[step % budgets.len()];
            let Some(step) = walk.next_step(budget(mib, extents))? else { break };
            let within = step.free_bytes.unwrap() <= mib * MIB && step.free_extents.unwrap() <= extents;
            prop_assert!(within || step.unsplittable.is_some());
            let occupied = groups.iter().filter(|group| {
                (step.range.start_bytes..step.range.end_bytes()).contains(&group.0) && group.2 < group.1
            });
            prop_assert!(within || occupied.count() <= 1);
            ranges.push(step.range);
        }
        for group in groups.iter().filter(|group| group.0 >= from * MIB) {
            let of: Vec<_> = ranges
                .iter()
                .filter(|range| (range.start_bytes..range.end_bytes()).contains(&group.0))
                .collect();
            prop_assert_eq!(of.len(), 1);
            prop_assert!(of[0].end_bytes() >= group.0 + group.1);
        }
    }
}

#[test]
fn devices_may_have_any_numbers() {
    let unallocated = |devices: &[u64]| {
        let mut fake = made(&[]);
        fake.devices = devices.iter().map(|&id| (id, 10 * MIB, 4 * MIB)).collect();
        let mut walk = Btrfs::new(fake, Cursor::default());
        let found = walk.unallocated_bytes().unwrap();
        (found, walk.source.asked)
    };
    // A MiB of each is reserved.
    assert_eq!(unallocated(&[]).0, (0, 0));
    let (found, asked) = unallocated(&[1, 1 << 40, u64::MAX]);
    assert_eq!(found, (15 * MIB, 30 * MIB));
    assert!(asked <= 2, "{asked}");
    let many: Vec<u64> = (1..=200).collect();
    assert_eq!(unallocated(&many).0, (1000 * MIB, 2000 * MIB));
    let mut stopped = made(&[]);
    stopped.stop_after = 0;
    let error = Btrfs::new(stopped, Cursor::default()).unallocated_bytes();
    assert!(matches!(error, Err(GeometryError::Stopped)), "{error:?}");
}
