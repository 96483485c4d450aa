use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Records what the device was told, page by page.
#[derive(Default)]
struct RecordingDisk {
    mapped: Vec<bool>,
    writes: Vec<Extent>,
    reads: Vec<Extent>,
    discards: Vec<Extent>,
    /// The device does not execute discards.
    deaf: bool,
}

impl RecordingDisk {
    fn new(pages: u32) -> Self {
        Self {
            mapped: vec![false; pages as usize],
            ..Self::default()
        }
    }

    fn pages(extents: &[Extent]) -> Vec<u32> {
        (extents.iter())
            .flat_map(|extent| extent.first_page..extent.first_page + extent.pages)
            .collect()
    }
}

impl Disk for RecordingDisk {
    fn write(&mut self, first_page: u32, pages: u32) {
        self.writes.push(Extent { first_page, pages });
        self.mapped[first_page as usize..][..pages as usize].fill(true);
    }
    fn read(&mut self, first_page: u32, pages: u32) {
        self.reads.push(Extent { first_page, pages });
    }
    fn discard(&mut self, first_page: u32, pages: u32) {
        self.discards.push(Extent { first_page, pages });
        if !self.deaf {
            self.mapped[first_page as usize..][..pages as usize].fill(false);
        }
    }
}

fn one_group(pages: u32) -> Settings {
    Settings {
        groups: 1,
        ..Settings::new(pages)
    }
}

#[test]
fn deleted_pages_are_untrimmed_until_a_trim() {
    let mut disk = RecordingDisk::new(100);
    let mut filesystem = Filesystem::new(one_group(100));
    filesystem.create(7).unwrap();
    filesystem.append(7, 30, &mut disk).unwrap();
    assert_eq!(filesystem.delete(7, &mut disk), Ok(30));
    let space = filesystem.space();
    assert_eq!((space.live_pages, space.free_pages), (0, 100));
    assert_eq!(space.free_untrimmed_pages, 30);
    assert!(disk.discards.is_empty());
    // The part never written belongs to the same free extent, so fstrim discards it as well.
    let done = filesystem.trim(&mut disk);
    assert_eq!((done.ranges, done.pages, done.released_pages), (1, 100, 30));
    assert_eq!(filesystem.space().free_untrimmed_pages, 0);
}

/// Large and small files alternate in a fixed order: assigned in turn, each group would get only
/// one kind.
#[test]
fn files_are_spread_over_the_groups() {
    let pages = 40_000;
    let mut disk = RecordingDisk::new(pages);
    let mut filesystem = Filesystem::new(Settings::new(pages));
    for file in 0..400 {
        let large = file % 4 == 0;
        filesystem.create(file).unwrap();
        let pages = if large { 70 } else { 1 };
        filesystem.append(file, pages, &mut disk).unwrap();
    }
    let group_pages = pages / 4;
    for group in 0..4 {
        let pages = group * group_pages..(group + 1) * group_pages;
        let live = pages.filter(|&page| filesystem.is_live(page)).count();
        // 100 large files in four groups: 25 each, with a standard deviation of 4.3.
        assert!((700..2_800).contains(&live), "{group}: {live}");
    }
}

#[test]
fn reused_pages_are_live_and_not_untrimmed() {
    let mut disk = RecordingDisk::new(100);
    let mut filesystem = Filesystem::new(one_group(100));
    filesystem.create(0).unwrap();
    filesystem.append(0, 40, &mut disk).unwrap();
    filesystem.delete(0, &mut disk).unwrap();
    filesystem.create(1).unwrap();
    filesystem.append(1, 75, &mut disk).unwrap();
    // 60 pages were never written, so 15 of the deleted ones were taken.
    assert_eq!(filesystem.space().free_untrimmed_pages, 25);
}

#[test]
fn allocation_continues_after_the_last_one() {
    let mut disk = RecordingDisk::new(100);
    let mut filesystem = Filesystem::new(one_group(100));
    for file in 0..2 {
        filesystem.create(file).unwrap();
        filesystem.append(file, 10, &mut disk).unwrap();
    }
    filesystem.delete(0, &mut disk).unwrap();
    filesystem.create(2).unwrap();
    filesystem.append(2, 10, &mut disk).unwrap();
    assert_eq!(filesystem.extents(2).next().unwrap().first_page, 20);
}

#[test]
fn online_discards_are_sent_on_delete_unless_swallowed() {
    for swallowed in [false, true] {
        let mut disk = RecordingDisk::new(100);
        let mut filesystem = Filesystem::new(Settings {
            discarding: Discarding::Online,
            reach: if swallowed {
                Reach::Swallowed
            } else {
                Reach::Executed
            },
            ..one_group(100)
        });
        filesystem.create(0).unwrap();
        filesystem.append(0, 30, &mut disk).unwrap();
        filesystem.delete(0, &mut disk).unwrap();
        let space = filesystem.space();
        assert_eq!(space.free_untrimmed_pages, if swallowed { 30 } else { 0 });
        assert_eq!(disk.discards.len(), usize::from(!swallowed));
        let done = filesystem.trim(&mut disk);
        assert_eq!(done.pages, 100, "the filesystem reports it either way");
        assert_eq!(
            filesystem.space().free_untrimmed_pages,
            space.free_untrimmed_pages
        );
    }
}

#[test]
fn planned_discards_spare_pages_allocated_since() {
    let mut disk = RecordingDisk::new(100);
    let mut filesystem = Filesystem::new(Settings {
        dirty: true,
        ..one_group(100)
    });
    let plan = filesystem.trim_plan();
    filesystem.create(0).unwrap();
    filesystem.append(0, 10, &mut disk).unwrap();
    let done = filesystem.discard_free(plan[0], &mut disk);
    assert_eq!((done.ranges, done.pages, done.released_pages), (1, 90, 90));
    assert!(filesystem.check().is_ok());
}

#[test]
fn errors_are_specific_and_change_nothing() {
    let mut disk = RecordingDisk::new(10);
    let mut filesystem = Filesystem::new(one_group(10));
    filesystem.create(0).unwrap();
    assert_eq!(filesystem.create(0), Err(FilesystemError::Exists(0)));
    assert_eq!(
        filesystem.append(1, 1, &mut disk),
        Err(FilesystemError::Missing(1))
    );
    let full = filesystem.append(0, 11, &mut disk).unwrap_err();
    assert_eq!(full.to_string(), "11 pages do not fit: 10 of 10 are free");
    assert_eq!(filesystem.file_pages(0), Some(0));
    filesystem.append(0, 10, &mut disk).unwrap();
    let beyond = filesystem.overwrite(0, 9, 2, &mut disk).unwrap_err();
    assert_eq!(
        beyond.to_string(),
        "file 0 has 10 pages; expected a range up to page 11 to lie within"
    );
    assert!(
        filesystem
            .overwrite(0, u32::MAX, u32::MAX, &mut disk)
            .is_err()
    );
    assert_eq!(disk.writes.len(), 1);
}

#[derive(Debug, Clone)]
enum Step {
    Create,
    Append(usize, u32),
    Overwrite(usize, u32, u32),
    Read(usize, u32, u32),
    Delete(usize),
    Trim,
    PlannedTrim,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Create),
        6 => (0..8usize, 0..40u32).prop_map(|(file, pages)| Step::Append(file, pages)),
        2 => (0..8usize, 0..60u32, 0..60u32).prop_map(|(f, o, p)| Step::Overwrite(f, o, p)),
        1 => (0..8usize, 0..60u32, 0..60u32).prop_map(|(f, o, p)| Step::Read(f, o, p)),
        3 => (0..8usize).prop_map(Step::Delete),
        1 => Just(Step::Trim),
        1 => Just(Step::PlannedTrim),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    /// Compared after every step with a model that knows each page's owner: no page is allocated
    /// twice, reads and overwrites go to the right pages, the drive holds exactly the pages the
    /// filesystem assumes, and all counts add up.
    #[test]
    #[allow(clippy::too_many_lines)]
    fn allocation_and_counts_match_a_model(
        pages in 1..320u32,
        groups in 1..6u32,
        online: bool,
        reach in prop::sample::select(vec![Reach::Executed, Reach::Ignored, Reach::Swallowed]),
        dirty: bool,
        steps in steps(),
    ) {
        let mut filesystem = Filesystem::new(Settings {
            pages,
            groups: groups.min(pages),
            seed: 1,
            discarding: if online { Discarding::Online } else { Discarding::Never },
            reach,
            dirty,
        });
        let swallowed = reach == Reach::Swallowed;
        let mut disk = RecordingDisk::new(pages);
        disk.mapped.fill(dirty);
        disk.deaf = reach == Reach::Ignored;
        // For each file, the device page of each of its pages.
        let mut model: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut next = 0;
        let mut planned: Vec<Extent> = Vec::new();
        for step in steps {
            let mut names: Vec<u32> = model.keys().copied().collect();
            names.sort_unstable();
            let pick = |index: usize| names.get(index % names.len().max(1)).copied();
            disk.writes.clear();
            disk.reads.clear();
            disk.discards.clear();
            match step {
                Step::Create => {
                    filesystem.create(next).unwrap();
                    model.insert(next, Vec::new());
                    next += 1;
                }
                Step::Append(file, count) => {
                    let Some(file) = pick(file) else { continue };
                    let used: usize = model.values().map(Vec::len).sum();
                    let fits = used + count as usize <= pages as usize;
                    prop_assert_eq!(filesystem.append(file, count, &mut disk).is_ok(), fits);
                    let new = RecordingDisk::pages(&disk.writes);
                    prop_assert_eq!(new.len(), if fits { count as usize } else { 0 });
                    for page in &new {
                        prop_assert!(!model.values().any(|owned| owned.contains(page)));
                    }
                    model.get_mut(&file).unwrap().extend(new);
                }
                Step::Overwrite(file, offset, count) | Step::Read(file, offset, count) => {
                    let Some(file) = pick(file) else { continue };
                    let expected = model[&file].get(offset as usize..(offset + count) as usize);
                    let writes = matches!(step, Step::Overwrite(..));
                    let done = if writes {
                        filesystem.overwrite(file, offset, count, &mut disk)
                    } else {
                        filesystem.read(file, offset, count, &mut disk)
                    };
                    prop_assert_eq!(done.is_ok(), expected.is_some());
                    let touched = RecordingDisk::pages(if writes { &disk.writes } else { &disk.reads });
                    prop_assert_eq!(&touched[..], expected.unwrap_or(&[]));
                }
                Step::Delete(file) => {
                    let Some(file) = pick(file) else { continue };
                    let owned = model.remove(&file).unwrap();
                    let freed = filesystem.delete(file, &mut disk).unwrap();
                    prop_assert_eq!(freed as usize, owned.len());
                    let discarded = RecordingDisk::pages(&disk.discards);
                    prop_assert_eq!(discarded, if online && !swallowed { owned } else { vec![] });
                }
                Step::Trim => {
                    let done = filesystem.trim(&mut disk);
                    let discarded = RecordingDisk::pages(&disk.discards);
                    for page in &discarded {
                        prop_assert!(!model.values().any(|owned| owned.contains(page)));
                    }
                    if !swallowed {
                        prop_assert_eq!(discarded.len() as u64, done.pages);
                    }
                    if reach == Reach::Executed {
                        prop_assert_eq!(filesystem.space().free_untrimmed_pages, 0);
                    }
                }
                Step::PlannedTrim => {
                    for extent in std::mem::replace(&mut planned, filesystem.trim_plan()) {
                        filesystem.discard_free(extent, &mut disk);
                    }
                    for page in RecordingDisk::pages(&disk.discards) {
                        prop_assert!(!model.values().any(|owned| owned.contains(&page)));
                    }
                }
            }
            prop_assert_eq!(filesystem.check(), Ok(()));
            let space = filesystem.space();
            let live: usize = model.values().map(Vec::len).sum();
            prop_assert_eq!(space.live_pages as usize, live);
            prop_assert_eq!(space.live_pages + space.free_pages, pages);
            let mapped = disk.mapped.iter().filter(|&&mapped| mapped).count();
            prop_assert_eq!(space.free_untrimmed_pages as usize, mapped - live);
            for (&file, owned) in &model {
                let extents: Vec<Extent> = filesystem.extents(file).collect();
                prop_assert_eq!(&RecordingDisk::pages(&extents), owned);
            }
        }
    }
}
