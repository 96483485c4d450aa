//! Walks of real filesystems with fragmented free space, compared with fstrim: the measure is how
//! much the image behind the loop device still stores.

use crate::support::{Loop, Mounted, is_root, run};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use trim::child::{Child, Trimmer};
use trim::geometry::{self, GeometryError, Walk};
use trim::stop::{Stop, StopRequest};
use trim::target::Target;
use trim::{Cursor, StepBudget};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SIZE_BYTES: u64 = 1024 * MIB;
const BUDGET: StepBudget = StepBudget {
    free_bytes: 32 * MIB,
    free_extents: 100,
};

/// Random numbers, so that no pattern matches the filesystem's layout (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Fills seven tenths with small files and deletes half of them.
fn fragment(mounted: &Mounted, size_bytes: u64) {
    let mut random = Random(7);
    let root = &mounted.mount_point;
    for directory in 0..16 {
        std::fs::create_dir(root.join(directory.to_string())).unwrap();
    }
    let content = vec![0xA5; 256 << 10];
    let (mut written, mut files) = (0, Vec::new());
    while written < size_bytes / 10 * 7 {
        let len = [8, 32, 64, 128, 256][usize::try_from(random.below(5)).unwrap()] * KIB;
        let path = root.join(format!("{}/{}", random.below(16), files.len()));
        std::fs::write(&path, &content[..usize::try_from(len).unwrap()]).unwrap();
        files.push(path);
        written += len;
    }
    sync(root);
    for path in files {
        if random.below(2) == 0 {
            std::fs::remove_file(path).unwrap();
        }
    }
    sync(root);
}

fn sync(path: &Path) {
    run("sync", &["-f", path.to_str().unwrap()]);
}

/// Turns off Btrfs' own delayed discards, which would be counted here.
fn only_when_asked(mounted: &Mounted) {
    let path = mounted.mount_point.to_str().unwrap();
    run("mount", &["-o", "remount,nodiscard", path]);
}

/// Returns requests in flight, and bytes discarded on a loop device.
fn discards(device: &Loop) -> (u64, u64) {
    let text = std::fs::read_to_string(device.sysfs("stat")).unwrap();
    let fields: Vec<u64> = text
        .split_ascii_whitespace()
        .map(|field| field.parse().unwrap())
        .collect();
    (fields[8], fields[13] * 512)
}

/// Waits for discards, because FITRIM of XFS returns before they are done.
fn settle(device: &Loop) -> u64 {
    let (mut last, mut quiet) = (0, 0);
    while quiet < 4 {
        std::thread::sleep(Duration::from_millis(20));
        let (in_flight, bytes) = discards(device);
        quiet = if in_flight == 0 && bytes == last {
            quiet + 1
        } else {
            0
        };
        last = bytes;
    }
    last
}

struct Rig {
    device: Loop,
    mounted: Mounted,
    target: Target,
    _directory: TempDir,
}

fn rig(fs_type: &str, size_bytes: u64) -> Rig {
    let directory = tempfile::tempdir().unwrap();
    let device = Loop::sparse(directory.path(), "image", size_bytes);
    let mount_point = directory.path().join("mnt");
    let mounted = Mounted::make(fs_type, &device.device, &mount_point);
    fragment(&mounted, size_bytes);
    // Remounted, so that freed space is committed and Btrfs' allocator holds nothing back.
    mounted.unmount();
    let mounted = Mounted::mount(&device.device, &mount_point);
    if fs_type == "btrfs" {
        only_when_asked(&mounted);
    }
    Rig::new(directory, device, mounted, fs_type)
}

impl Rig {
    fn new(directory: TempDir, device: Loop, mounted: Mounted, fs_type: &str) -> Self {
        let path = device.device.clone().into();
        let target = Target::identify(mounted.mount_point.clone(), fs_type, path).unwrap();
        Self {
            device,
            mounted,
            target,
            _directory: directory,
        }
    }

    fn trimmer(&self) -> Child {
        let command = vec![crate::support::helper().into(), "fitrim".into()];
        Child::new(command, self.target.clone(), Vec::new(), Stop::default())
    }

    /// Walks, starting over from the cursor after every `steps_a_session` steps.
    fn trim(&self, budget: StepBudget, steps_a_session: u64) -> Passed {
        let mut child = self.trimmer();
        let mut passed = Passed::default();
        let mut walk = self.walk(Cursor::default());
        while let Some(step) = walk.next_step(budget).unwrap() {
            let before = settle(&self.device);
            child.trim(step.range, walk.minlen_bytes()).unwrap();
            let discarded = settle(&self.device) - before;
            walk.observed(Some(discarded));
            passed.steps += 1;
            assert!(passed.steps < 1000, "no end: {step:?} {:?}", walk.cursor());
            passed.free_bytes += step.free_bytes.unwrap();
            passed.discarded_bytes += discarded;
            if step.unsplittable.is_none() {
                passed.largest_bytes = passed.largest_bytes.max(discarded);
            }
            if passed.steps % steps_a_session == 0 {
                walk = self.walk(walk.cursor());
            }
        }
        sync(&self.mounted.mount_point);
        passed
    }

    fn walk(&self, from: Cursor) -> Box<dyn Walk> {
        geometry::open(&self.target, from, &Stop::default()).unwrap()
    }

    fn stored_bytes(&self) -> u64 {
        sync(&self.mounted.mount_point);
        settle(&self.device);
        self.device.stored_bytes()
    }
}

#[derive(Debug, Default)]
struct Passed {
    steps: u64,
    free_bytes: u64,
    discarded_bytes: u64,
    /// The most that one step discarded, among those not marked as unsplittable.
    largest_bytes: u64,
}

#[test]
fn xfs_is_discarded_completely_unlike_with_fstrim() {
    if !is_root() {
        return;
    }
    let rig = rig("xfs", SIZE_BYTES);
    let survey = rig.walk(Cursor::default()).survey(BUDGET).unwrap();
    assert!(survey.free_extents.unwrap() > 1000, "{survey:?}");
    let stored_before = rig.stored_bytes();

    run("fstrim", &[rig.mounted.mount_point.to_str().unwrap()]);
    let left_by_fstrim = rig.stored_bytes();
    let passed = rig.trim(BUDGET, u64::MAX);
    let left = rig.stored_bytes();
    eprintln!(
        "XFS: stored {} MiB, after fstrim {} MiB, after the walk {} MiB; {passed:?}",
        stored_before >> 20,
        left_by_fstrim >> 20,
        left >> 20
    );
    assert!(passed.discarded_bytes >= survey.free_bytes / 100 * 99);
    assert!(left <= left_by_fstrim);
    // The live data, the log, and 1 % of what was free.
    let live = SIZE_BYTES - survey.free_bytes;
    assert!(
        left <= live + survey.free_bytes / 100,
        "{left} stored, {live} live"
    );
    // Each extent once, in steps within the budget.
    assert!(passed.discarded_bytes <= survey.free_bytes / 100 * 101);
    assert!(passed.largest_bytes <= BUDGET.free_bytes, "{passed:?}");
}

#[test]
fn walk_resumed_after_every_step_discards_as_much() {
    if !is_root() {
        return;
    }
    for fs_type in ["xfs", "ext4", "btrfs"] {
        let rig = rig(fs_type, SIZE_BYTES / 3);
        let survey = rig.walk(Cursor::default()).survey(BUDGET).unwrap();
        // Each session on Btrfs begins with the unallocated space.
        let passed = rig.trim(BUDGET, if fs_type == "btrfs" { 2 } else { 1 });
        eprintln!("{fs_type}: {survey:?}\n{passed:?}");
        assert!(
            passed.discarded_bytes >= survey.free_bytes / 100 * 98,
            "{fs_type}"
        );
        assert!(passed.steps >= survey.steps, "{fs_type}");
    }
}

#[test]
fn ext4_is_discarded_as_by_fstrim_and_remembers_it() {
    if !is_root() {
        return;
    }
    let rig = rig("ext4", SIZE_BYTES);
    let survey = rig.walk(Cursor::default()).survey(BUDGET).unwrap();
    assert!(survey.free_extents.unwrap() > 1000, "{survey:?}");
    let passed = rig.trim(BUDGET, u64::MAX);
    assert!(
        passed.discarded_bytes >= survey.free_bytes / 100 * 99,
        "{passed:?}"
    );
    let left = rig.stored_bytes();
    // Whole groups are marked as trimmed: neither a second walk nor fstrim finds anything to do.
    assert_eq!(rig.trim(BUDGET, u64::MAX).discarded_bytes, 0);
    let before = settle(&rig.device);
    run("fstrim", &[rig.mounted.mount_point.to_str().unwrap()]);
    assert_eq!(settle(&rig.device), before);
    // The journal and the superblock write a few blocks of their own meanwhile.
    assert!(rig.stored_bytes().abs_diff(left) < 1 << 20, "{left}");
}

/// Groups of 1 KiB blocks begin at block 1.
#[test]
fn ext4_with_small_blocks_and_with_large_clusters() {
    if !is_root() {
        return;
    }
    let kinds: [&[&str]; 4] = [
        &["-b", "1024"],
        &["-b", "1024", "-O", "meta_bg,^resize_inode"],
        &["-O", "bigalloc", "-C", "8192"],
        &["-O", "^64bit,^sparse_super,^resize_inode"],
    ];
    for options in kinds {
        let directory = tempfile::tempdir().unwrap();
        let device = Loop::sparse(directory.path(), "image", 300 * MIB);
        let base = ["-q", "-F", "-t", "ext4", "-E", "nodiscard"];
        run("mke2fs", &[&base, options, &[&device.device]].concat());
        let mount_point = directory.path().join("mnt");
        let mounted = Mounted::mount(&device.device, &mount_point);
        let rig = Rig::new(directory, device, mounted, "ext4");
        let survey = rig.walk(Cursor::default()).survey(BUDGET).unwrap();
        let passed = rig.trim(BUDGET, u64::MAX);
        eprintln!("{options:?}: {survey:?}\n{passed:?}");
        assert!(passed.steps > 1, "{options:?}");
        assert_eq!(passed.free_bytes, survey.free_bytes, "{options:?}");
        assert!(passed.discarded_bytes <= survey.free_bytes, "{options:?}");
        assert!(
            passed.discarded_bytes >= survey.free_bytes / 100 * 99,
            "{options:?}"
        );
        let again = rig.trim(BUDGET, u64::MAX);
        assert_eq!(again.discarded_bytes, 0, "{options:?}: not whole groups");
    }
}

#[test]
fn btrfs_discards_unallocated_space_only_in_its_own_step() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let device = Loop::sparse(directory.path(), "image", SIZE_BYTES);
    let mounted = Mounted::make("btrfs", &device.device, &directory.path().join("mnt"));
    only_when_asked(&mounted);
    mounted.make_free_space(64 << 20);
    let rig = Rig::new(directory, device, mounted, "btrfs");
    let mut walk = rig.walk(Cursor::default());
    let unallocated = walk.survey(BUDGET).unwrap().unsplittable[0].bytes;
    assert!(unallocated > 500 * MIB);
    let step = walk.next_step(BUDGET).unwrap().unwrap();
    assert!(step.unsplittable.is_some() && walk.cursor().unallocated_done);
    let before = settle(&rig.device);
    rig.trimmer().trim(step.range, 0).unwrap();
    let first = settle(&rig.device) - before;
    assert_eq!(
        Some(first),
        step.free_bytes,
        "all of it, and no block group"
    );
    assert_eq!(first, unallocated);
    // A later session announces it again: the filesystem may have been remounted since, and then
    // whatever step comes first trims it.
    let mut resumed = rig.walk(walk.cursor());
    let again = resumed.next_step(BUDGET).unwrap().unwrap();
    assert_eq!(again.range, step.range);
    assert!(again.unsplittable.is_some());
    let passed = rig.trim(BUDGET, u64::MAX);
    assert!(
        passed.discarded_bytes < SIZE_BYTES - unallocated,
        "not again: {passed:?}"
    );
    assert!(passed.discarded_bytes >= 64 * MIB, "{passed:?}");
}

#[test]
fn a_device_with_another_ext4_is_refused() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let ours = Loop::sparse(directory.path(), "ours", 64 * MIB);
    let other = Loop::sparse(directory.path(), "other", 64 * MIB);
    let mounted = Mounted::make("ext4", &ours.device, &directory.path().join("mnt"));
    run("mkfs.ext4", &["-q", "-F", &other.device]);
    let path = ours.device.clone().into();
    let mut target = Target::identify(mounted.mount_point.clone(), "ext4", path).unwrap();
    target.device_path = other.device.clone().into();
    let opened = geometry::open(&target, Cursor::default(), &Stop::default())
        .err()
        .unwrap();
    assert!(
        opened.to_string().contains("it is of filesystem"),
        "{opened}"
    );
    let uuid = geometry::ext4_uuid(Path::new(&ours.device))
        .unwrap()
        .unwrap();
    let text = format!("{:032x}", u128::from_be_bytes(uuid));
    assert_eq!(
        Some(text),
        target.identity.uuid.map(|uuid| uuid.replace('-', ""))
    );
    assert!(geometry::ext4_uuid(Path::new("/dev/null")).is_err());
}

#[test]
fn a_stop_ends_the_survey_of_every_geometry() {
    if !is_root() {
        return;
    }
    for fs_type in ["xfs", "ext4", "btrfs"] {
        let directory = tempfile::tempdir().unwrap();
        let device = Loop::sparse(directory.path(), "image", 400 * MIB);
        let mount_point = directory.path().join("mnt");
        let _mounted = Mounted::make(fs_type, &device.device, &mount_point);
        let path = device.device.clone().into();
        let target = Target::identify(mount_point, fs_type, path).unwrap();
        let stop = Stop::default();
        let mut walk = geometry::open(&target, Cursor::default(), &stop).unwrap();
        stop.request(StopRequest::Signal(15));
        let surveyed = walk.survey(BUDGET);
        assert!(
            matches!(surveyed, Err(GeometryError::Stopped)),
            "{fs_type}: {surveyed:?}"
        );
        stop.clear();
        let survey = walk.survey(BUDGET).unwrap();
        assert!(survey.free_bytes > 100 * MIB, "{fs_type}: {survey:?}");
    }
}
