//! Tests of the walk over a fake XFS: extents in memory, and the FITRIM of either kind of kernel.

use super::*;
use crate::geometry::source::Source;
use crate::ioctl::{FSMAP_FLAG_SPECIAL_OWNER, FSMAP_OWNER_FREE, FSMAP_RECORDS};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const BLOCK: u64 = 4096;
const DEVICE: u32 = 0x803;

/// Free space, ascending, never adjacent within a group.
#[derive(Default)]
struct Disk {
    free: RefCell<Vec<Extent>>,
    now: Cell<Duration>,
    opened: Cell<u32>,
    /// Omit extents that begin below the low key, as kernels up to 6.4 do.
    hides_straddling: Cell<bool>,
    no_fsmap: Cell<bool>,
    calls: Cell<u64>,
    /// Number of calls after which a stop is requested.
    stop_after: Cell<Option<u64>>,
}

#[derive(Clone)]
struct Fake(Rc<Disk>);

impl Source for Fake {
    fn open(&mut self) -> Result<(), GeometryError> {
        self.0.opened.set(self.0.opened.get() + 1);
        Ok(())
    }

    fn close(&mut self) {
        self.0.opened.set(self.0.opened.get() - 1);
    }

    fn check_stop(&self) -> Result<(), GeometryError> {
        match self.0.stop_after.get() {
            Some(calls) if self.0.calls.get() >= calls => Err(GeometryError::Stopped),
            _ => Ok(()),
        }
    }
}

impl MapSource for Fake {
    fn fsmap(&mut self, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>> {
        assert_eq!(
            self.0.opened.get(),
            1,
            "the mount is open while it is asked"
        );
        self.0.calls.set(self.0.calls.get() + 1);
        if self.0.no_fsmap.get() {
            return Err(Errno::NOTTY.into());
        }
        let from = low.physical + low.length;
        let mut records = Vec::new();
        let mut at = from;
        for extent in self.0.free.borrow().iter() {
            let hidden = extent.start < from && self.0.hides_straddling.get();
            if extent.end <= from || extent.start > high.physical || hidden {
                continue;
            }
            if extent.start > at {
                records.push(record(at, extent.start, 2));
            }
            records.push(record(extent.start, extent.end, FSMAP_OWNER_FREE));
            at = extent.end;
        }
        records.truncate(FSMAP_RECORDS);
        Ok(records)
    }

    fn read_at(&mut self, offset_bytes: u64, _: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; AGF_BYTES];
        bytes[..4].copy_from_slice(b"XAGF");
        let number = u32::try_from(offset_bytes / (1000 * BLOCK)).unwrap();
        bytes[8..12].copy_from_slice(&number.to_be_bytes());
        bytes[12..16].copy_from_slice(&1000u32.to_be_bytes());
        bytes[52..56].copy_from_slice(&50u32.to_be_bytes());
        bytes[56..60].copy_from_slice(&10u32.to_be_bytes());
        Ok(bytes)
    }

    fn elapsed(&self) -> Duration {
        self.0.now.get()
    }
}

use rustix::io::Errno;

fn record(start: u64, end: u64, owner: u64) -> FsMap {
    let mut map = FsMap::key(DEVICE, start);
    map.length = end - start;
    map.owner = owner;
    map.flags = FSMAP_FLAG_SPECIAL_OWNER;
    map
}

fn shape(groups: u64, group_blocks: u64) -> Shape {
    Shape {
        block: BLOCK,
        sector: 512,
        group: group_blocks * BLOCK,
        groups,
        data: groups * group_blocks * BLOCK,
        real_time: 0,
        zoned: false,
        external_log: false,
        granularity: BLOCK,
    }
}

fn blocks(start: u64, end: u64) -> Extent {
    Extent {
        start: start * BLOCK,
        end: end * BLOCK,
    }
}

fn disk(extents: &[Extent]) -> Rc<Disk> {
    let disk = Disk::default();
    *disk.free.borrow_mut() = extents.to_vec();
    Rc::new(disk)
}

const OLD: KernelRelease = KernelRelease::new(6, 1);
const NEW: KernelRelease = KernelRelease::new(6, 18);

fn walk(disk: &Rc<Disk>, shape: Shape, release: KernelRelease, from: u64) -> Xfs<Fake> {
    let cursor = Cursor {
        next_bytes: from,
        ..Cursor::default()
    };
    Xfs::open(Fake(Rc::clone(disk)), shape, release, DEVICE, cursor).unwrap()
}

fn budget(free_blocks: u64, free_extents: u64) -> StepBudget {
    StepBudget {
        free_bytes: free_blocks * BLOCK,
        free_extents,
    }
}

/// Returns what FITRIM discards, according to the rules in the docs of the parent module.
fn fitrim(free: &[Extent], range: ByteRange, clips: bool) -> Vec<Extent> {
    let last = range.end_bytes() - 1;
    let overlapping = free
        .iter()
        .filter(|extent| extent.end >= range.start_bytes && extent.start <= last);
    if !clips {
        return overlapping.copied().collect();
    }
    overlapping
        .map(|extent| Extent {
            start: extent.start.max(range.start_bytes),
            end: extent.end.min(last + 1),
        })
        .filter(|extent| extent.start < extent.end)
        .collect()
}

fn sum(extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| extent.len()).sum()
}

#[test]
fn neighbours_are_merged_and_large_extents_split() {
    let disk = disk(&[
        blocks(10, 12),
        blocks(20, 24),
        blocks(30, 80),
        blocks(90, 91),
    ]);
    let mut walk = walk(&disk, shape(1, 100), NEW, 0);
    let mut ranges = Vec::new();
    while let Some(step) = walk.next_step(budget(20, 10)).unwrap() {
        assert_eq!(step.unsplittable, None);
        ranges.push((
            step.range.start_bytes / BLOCK,
            step.range.end_bytes() / BLOCK,
            step.free_extents.unwrap(),
        ));
        walk.observed(step.free_bytes);
    }
    assert_eq!(
        ranges,
        [
            (10, 24, 2),
            (30, 50, 1),
            (50, 70, 1),
            (70, 80, 1),
            (90, 91, 1)
        ]
    );
    assert_eq!(disk.opened.get(), 0, "nothing stays open");
}

#[test]
fn extent_count_limits_a_step() {
    let extents: Vec<Extent> = (0..10).map(|n| blocks(n * 2 + 1, n * 2 + 2)).collect();
    let disk = disk(&extents);
    let mut walk = walk(&disk, shape(1, 100), OLD, 0);
    let survey = walk.survey(budget(100, 4)).unwrap();
    assert_eq!((survey.steps, survey.free_extents), (3, Some(10)));
    let step = walk.next_step(budget(100, 4)).unwrap().unwrap();
    assert_eq!(
        (step.range.start_bytes, step.range.end_bytes()),
        (BLOCK, 8 * BLOCK)
    );
}

#[test]
fn old_kernel_is_probed_with_one_part() {
    let free = [blocks(10, 60), blocks(70, 75)];
    // The kernel discards the extent whole, so nothing of it is trimmed again.
    let whole = disk(&free);
    let mut old = walk(&whole, shape(1, 100), OLD, 0);
    let step = old.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.range, range(10 * BLOCK, 20 * BLOCK));
    assert_eq!(step.free_bytes, Some(50 * BLOCK));
    assert!(step.unsplittable.as_deref().unwrap().contains("6.1"));
    old.observed(Some(50 * BLOCK));
    assert_eq!(old.cursor().next_bytes, 60 * BLOCK);
    let step = old.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.range, range(70 * BLOCK, 75 * BLOCK));

    // The kernel clips after all, as distribution kernels may: the rest is split.
    let backported = disk(&free);
    let mut old = walk(&backported, shape(1, 100), OLD, 0);
    old.next_step(budget(10, 10)).unwrap().unwrap();
    old.observed(Some(10 * BLOCK));
    let step = old.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.range, range(20 * BLOCK, 30 * BLOCK));
    assert_eq!(
        (step.unsplittable, step.free_bytes),
        (None, Some(10 * BLOCK))
    );

    // No discards observed: trim the rest as a whole, once.
    for nothing in [None, Some(0)] {
        let silent = disk(&free);
        let mut old = walk(&silent, shape(1, 100), OLD, 0);
        old.next_step(budget(10, 10)).unwrap().unwrap();
        old.observed(nothing);
        let step = old.next_step(budget(10, 10)).unwrap().unwrap();
        assert_eq!(step.range, range(20 * BLOCK, 60 * BLOCK));
        assert!(step.unsplittable.is_some());
    }
}

#[test]
fn non_clipping_new_kernel_needs_two_observations() {
    let disk = disk(&[blocks(10, 60), blocks(62, 98)]);
    let mut new = walk(&disk, shape(1, 100), NEW, 0);
    let step = new.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.unsplittable, None);
    new.observed(Some(50 * BLOCK));
    // The discards may have come from others, so the extent continues in parts.
    let step = new.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.range, range(20 * BLOCK, 30 * BLOCK));
    new.observed(Some(50 * BLOCK));
    let step = new.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.range, range(30 * BLOCK, 60 * BLOCK), "nothing is left");
    let whole = Some("this kernel discards a free extent whole");
    assert_eq!(step.unsplittable.as_deref(), whole);
    let step = new.next_step(budget(10, 10)).unwrap().unwrap();
    assert_eq!(step.range, range(62 * BLOCK, 98 * BLOCK), "the next, whole");
    assert_eq!(step.unsplittable.as_deref(), whole);
    new.observed(Some(36 * BLOCK));
    assert_eq!(new.next_step(budget(10, 10)).unwrap(), None);
}

#[test]
fn other_discards_do_not_mark_a_new_kernel_as_non_clipping() {
    let disk = disk(&[blocks(10, 98)]);
    let mut new = walk(&disk, shape(1, 100), NEW, 0);
    let mut next = 10;
    // In turn: the whole extent, far too much, only the part, and so on.
    for discarded in [88, 10, 88, 500, 88, 10, 88, 0] {
        let step = new.next_step(budget(10, 10)).unwrap().unwrap();
        assert_eq!(step.range.start_bytes, next * BLOCK);
        assert_eq!(step.unsplittable, None, "after {discarded} at {next}");
        next += step.range.len_bytes / BLOCK;
        new.observed(Some(discarded * BLOCK));
    }
    while let Some(step) = new.next_step(budget(10, 10)).unwrap() {
        assert_eq!(step.range.start_bytes, next * BLOCK);
        next += step.range.len_bytes / BLOCK;
    }
    assert_eq!(next, 98);
}

#[test]
fn without_measurements_only_the_first_extent_is_discarded_twice() {
    let disk = disk(&[blocks(10, 60), blocks(62, 98)]);
    let mut old = walk(&disk, shape(1, 100), OLD, 0);
    let mut ranges = Vec::new();
    while let Some(step) = old.next_step(budget(10, 10)).unwrap() {
        ranges.push(step.range);
        old.observed(None);
    }
    let expected = [(10, 20), (20, 60), (62, 98)].map(|(a, b)| range(a * BLOCK, b * BLOCK));
    assert_eq!(ranges, expected);
}

#[test]
fn free_space_is_listed_again_after_a_pause() {
    let disk = disk(&[blocks(10, 12), blocks(50, 52)]);
    let mut walk = walk(&disk, shape(1, 100), OLD, 0);
    walk.next_step(budget(2, 10)).unwrap().unwrap();
    let calls = disk.calls.get();
    disk.free.borrow_mut().insert(1, blocks(30, 33));
    disk.now.set(LISTED_VALID);
    let step = walk.next_step(budget(5, 10)).unwrap().unwrap();
    assert!(disk.calls.get() > calls);
    // From one block after the last extent, so that it is not discarded again.
    assert_eq!(step.range, range(13 * BLOCK, 52 * BLOCK));
    assert_eq!(step.free_extents, Some(2));
}

#[test]
fn short_extents_are_counted_separately() {
    let disk = disk(&[
        blocks(10, 11),
        blocks(20, 24),
        blocks(30, 33),
        blocks(40, 48),
    ]);
    let mut shape = shape(1, 100);
    shape.granularity = 4 * BLOCK;
    let mut walk = walk(&disk, shape, NEW, 0);
    let survey = walk.survey(budget(100, 100)).unwrap();
    assert_eq!(survey.free_bytes, 12 * BLOCK);
    assert_eq!(survey.free_extents, Some(2));
    assert!(
        survey.description.contains("2 more free extents"),
        "{}",
        survey.description
    );
    let step = walk.next_step(budget(100, 100)).unwrap().unwrap();
    assert_eq!(step.range, range(20 * BLOCK, 48 * BLOCK));
}

#[test]
fn without_getfsmap_steps_are_whole_groups_with_free_bytes() {
    let disk = disk(&[]);
    disk.no_fsmap.set(true);
    let mut walk = walk(&disk, shape(3, 1000), KernelRelease::new(3, 10), 0);
    let survey = walk.survey(budget(1, 1)).unwrap();
    assert_eq!((survey.steps, survey.unsplittable.len()), (3, 3));
    assert_eq!(survey.free_bytes, 150 * BLOCK);
    assert_eq!(survey.unsplittable[2].bytes, 50 * BLOCK);
    for number in 0..3 {
        let step = walk.next_step(budget(1, 1)).unwrap().unwrap();
        assert_eq!(
            step.range,
            range(number * 1000 * BLOCK, (number + 1) * 1000 * BLOCK)
        );
        assert_eq!(step.free_bytes, Some(50 * BLOCK));
        assert!(step.unsplittable.is_some());
    }
    assert_eq!(walk.next_step(budget(1, 1)).unwrap(), None);
}

#[test]
fn a_stop_ends_the_survey_and_the_search_for_a_step() {
    // Many short extents in one group: many queries without producing a step.
    let extents: Vec<Extent> = (0..5000).map(|n| blocks(2 * n + 1, 2 * n + 2)).collect();
    let disk = disk(&extents);
    let mut shape = shape(1, 20_000);
    shape.granularity = 2 * BLOCK;
    let mut walk = walk(&disk, shape, NEW, 0);
    let opened_with = disk.calls.get();
    disk.stop_after.set(Some(opened_with + 3));
    let surveyed = walk.survey(budget(100, 100));
    assert!(matches!(surveyed, Err(GeometryError::Stopped)));
    let step = walk.next_step(budget(100, 100));
    assert!(matches!(step, Err(GeometryError::Stopped)));
    assert_eq!(disk.calls.get(), opened_with + 3);
    assert_eq!(disk.opened.get(), 0, "nothing stays open");
    disk.stop_after.set(None);
    let said = walk.survey(budget(100, 100)).unwrap().description;
    assert!(said.contains("5,000 more free extents"), "{said}");
    assert_eq!(walk.next_step(budget(100, 100)).unwrap(), None);
}

#[test]
fn real_time_space_follows_the_data_device() {
    let disk = disk(&[]);
    let mut shape = shape(1, 100);
    shape.real_time = 25 * BLOCK;
    let mut new = walk(&disk, shape, NEW, 0);
    let mut at = 100 * BLOCK;
    while let Some(step) = new.next_step(budget(10, 1)).unwrap() {
        assert_eq!(step.range.start_bytes, at);
        at = step.range.end_bytes();
    }
    assert_eq!(at, 125 * BLOCK);
    let mut old = walk(&disk, shape, OLD, 0);
    assert_eq!(old.next_step(budget(10, 1)).unwrap(), None);
    let said = old.survey(budget(10, 1)).unwrap().description;
    assert!(said.contains("which this kernel does not trim"), "{said}");
}

#[test]
fn invalid_structures_are_refused() {
    for wrong in [
        Shape {
            block: 0,
            ..shape(1, 100)
        },
        Shape {
            group: 0,
            ..shape(1, 100)
        },
        Shape {
            groups: 7,
            ..shape(1, 100)
        },
        Shape {
            data: 1,
            ..shape(1, 100)
        },
        Shape {
            real_time: u64::MAX,
            ..shape(1, 100)
        },
    ] {
        let opened = Xfs::open(Fake(disk(&[])), wrong, NEW, DEVICE, Cursor::default());
        assert!(matches!(opened, Err(GeometryError::Invalid { .. })));
    }
}

const GROUPS: u64 = 3;
const GROUP_BLOCKS: u64 = 3000;

/// Free extents with at least one block in use between two of a group, and with headers in use.
fn any_free() -> impl Strategy<Value = Vec<Extent>> {
    let pieces = proptest::collection::vec((1u64..40, 1u64..60), 0..200);
    (pieces, any::<bool>()).prop_map(|(pieces, to_the_end)| {
        let mut free: Vec<Extent> = Vec::new();
        let mut at = 4;
        for (used, len) in pieces {
            let start = at + used;
            let mut end = start + len;
            let group_end = (start / GROUP_BLOCKS + 1) * GROUP_BLOCKS;
            if start % GROUP_BLOCKS < 4 || end > GROUPS * GROUP_BLOCKS {
                break;
            }
            if end >= group_end {
                end = if to_the_end { group_end } else { group_end - 1 };
            }
            if start < end {
                free.push(blocks(start, end));
            }
            at = if end + 1 >= group_end {
                group_end + 4
            } else {
                end
            };
        }
        free
    })
}

proptest! {
    /// On either kind of kernel, every free byte is discarded (exactly once if extents are
    /// discarded whole), no range leaves its group, ranges ascend, and resuming anywhere loses
    /// nothing.
    #[test]
    fn every_free_byte_is_discarded(
        free in any_free(),
        clips in any::<bool>(),
        hides in any::<bool>(),
        expected_to_clip in any::<bool>(),
        budgets in proptest::collection::vec((1u64..120, 1u64..12, 0u64..30, any::<bool>()), 1..20),
    ) {
        let disk = disk(&free);
        // No kernel that clips omits extents.
        let hides = hides && !clips;
        disk.hides_straddling.set(hides);
        let shape = shape(GROUPS, GROUP_BLOCKS);
        let release = if expected_to_clip { NEW } else { OLD };
        let mut walk = walk(&disk, shape, release, 0);
        let mut discarded: Vec<Extent> = Vec::new();
        let (mut last_end, mut restarts, mut steps) = (0, 0u64, 0usize);
        loop {
            let (blocks, extents, seconds, restart) = budgets[steps % budgets.len()];
            let budget = budget(blocks, extents);
            let Some(step) = walk.next_step(budget)? else { break };
            let range = step.range;
            prop_assert!(range.len_bytes >= BLOCK, "FITRIM refuses less than a block");
            prop_assert!(restarts > 0 || range.start_bytes >= last_end, "ascending");
            prop_assert_eq!(range.start_bytes / shape.group, (range.end_bytes() - 1) / shape.group);
            last_end = range.end_bytes();
            let at = walk.cursor().next_bytes;
            prop_assert!(at == last_end || !expected_to_clip && at <= last_end);
            let now = fitrim(&free, range, clips);
            if clips {
                prop_assert!(step.unsplittable.is_some() || sum(&now) <= budget.free_bytes.max(BLOCK));
            }
            let counted = u64::try_from(now.len()).unwrap();
            // Where a range touches what an earlier one covered, a kernel that discards extents
            // whole may discard the last one again.
            let again = u64::from(!clips);
            prop_assert!(counted <= extents + again);
            walk.observed(Some(sum(&now)));
            discarded.extend(now);
            disk.now.set(disk.now.get() + Duration::from_secs(seconds));
            steps += 1;
            if restart {
                restarts += 1;
                let at = walk.cursor().next_bytes;
                walk = self::walk(&disk, shape, release, at);
            }
            prop_assert!(steps < 100_000);
        }
        let mut left = free.clone();
        left.retain(|extent| {
            let covered: u64 = union(&discarded, *extent);
            covered < extent.len()
        });
        prop_assert_eq!(left, Vec::new(), "not discarded");
        if !clips && restarts == 0 && !expected_to_clip {
            prop_assert_eq!(sum(&discarded), sum(&free), "each once");
        }
        if clips && restarts == 0 {
            prop_assert_eq!(sum(&discarded), sum(&free), "each once");
        }
    }

    /// Hostile records do not make the walk panic, loop forever or leave the data device.
    #[test]
    fn hostile_records(
        records in proptest::collection::vec((any::<u32>(), any::<u64>(), any::<u64>(), any::<bool>()), 0..20),
    ) {
        struct Hostile(Vec<FsMap>);
        impl Source for Hostile {
            fn open(&mut self) -> Result<(), GeometryError> { Ok(()) }
            fn close(&mut self) {}
            fn check_stop(&self) -> Result<(), GeometryError> { Ok(()) }
        }
        impl MapSource for Hostile {
            fn fsmap(&mut self, _: FsMap, _: FsMap) -> io::Result<Vec<FsMap>> {
                Ok(self.0.iter().copied().cycle().take(FSMAP_RECORDS).collect())
            }
            fn read_at(&mut self, _: u64, _: usize) -> io::Result<Vec<u8>> { Ok(Vec::new()) }
            fn elapsed(&self) -> Duration { Duration::ZERO }
        }
        let records = records.into_iter().map(|(flags, physical, length, small)| {
            let limit = if small { 2 * GROUP_BLOCKS * BLOCK } else { u64::MAX };
            let mut map = FsMap::key(DEVICE, physical % limit);
            map.flags = flags | FSMAP_FLAG_SPECIAL_OWNER;
            map.owner = FSMAP_OWNER_FREE;
            map.length = length % limit;
            map
        }).collect();
        let shape = shape(2, GROUP_BLOCKS);
        let mut walk = Xfs::open(Hostile(records), shape, NEW, DEVICE, Cursor::default()).unwrap();
        for _ in 0..2000 {
            match walk.next_step(budget(1000, 1000)) {
                Ok(Some(step)) => prop_assert!(step.range.end_bytes() <= shape.data),
                Ok(None) | Err(_) => break,
            }
        }
    }
}

/// Bytes of an extent that are covered by others, which may overlap.
fn union(parts: &[Extent], extent: Extent) -> u64 {
    let mut inside: Vec<Extent> = parts
        .iter()
        .map(|part| Extent {
            start: part.start.max(extent.start),
            end: part.end.min(extent.end),
        })
        .filter(|part| part.start < part.end)
        .collect();
    inside.sort_by_key(|part| part.start);
    let mut covered = 0;
    let mut at = extent.start;
    for part in inside {
        covered += part.end.saturating_sub(part.start.max(at));
        at = at.max(part.end);
    }
    covered
}
