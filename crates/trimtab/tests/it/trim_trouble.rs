//! A pass that meets trouble: a second start, a mount that goes or is replaced, a drive that goes or
//! fails, a full state directory. All on loop devices that each test makes for itself.

mod bench;

use crate::disk::{needs_root, tool};
use crate::support::stdout;
use bench::{
    Bench, Loop, Mount, Pass, QUICK, USUAL_BYTES, assert_goes_on, checkpoint, events,
    keep_checkpoint, make_ext4, of_type, run, said,
};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mount::{UnmountFlags, unmount};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_second_start_is_refused_and_told_by_whom() {
    needs_root!();
    let bench = Bench::new();
    let bind = Mount::new(&["--bind", bench.mount.path()], bench.path().join("bind"));
    let pass = bench.under_way(&[]);
    let pid = pass.child.id().to_string();
    let other_state = bench.path().join("other");
    for (mount, state) in [
        (&bench.mount, &bench.state),
        (&bind, &bench.state),
        (&bench.mount, &other_state),
        (&bind, &other_state),
    ] {
        let output = run(&[mount.path()], state, &[]);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let word = |text: &str| {
            text.split(|c: char| !c.is_ascii_digit())
                .any(|part| part == pid)
        };
        assert!(word(&said), "{pid} is not named: {said}");
        assert!(of_type(&events(&stdout(&output)), "step").is_empty());
    }
    pass.signal(rustix::process::Signal::TERM);
    let (code, ended, _) = pass.end();
    assert_eq!(
        (code, &ended["outcome"]),
        (143, &"signal".into()),
        "{ended}"
    );
    // And now it is free again, through the bind mount as well.
    assert_goes_on(&[bind.path()], &bench.state);
}

#[test]
fn a_filesystem_that_was_unmounted_is_named_and_its_pass_goes_on_later() {
    needs_root!();
    let bench = Bench::new();
    let mut pass = bench.under_way(&["--max-request", "1MiB"]);
    assert_eq!(bench.disk.max_bytes(), 1 << 20);
    bench.unmount_in_a_pause(&mut pass);
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("nothing is mounted there now"), "{reason}");
    assert_eq!(bench.disk.max_bytes(), USUAL_BYTES, "restored");
    // Elsewhere, it is still the same filesystem.
    let elsewhere = Mount::new(&[&bench.disk.device], bench.path().join("elsewhere"));
    assert_goes_on(&[elsewhere.path()], &bench.state);
}

/// Number of a mount, as mountinfo has it. The kernel gives numbers out again.
fn mount_id(point: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let is_meant = |line: &&str| line.split(' ').nth(4) == point.to_str();
    let line = mounts.lines().rfind(is_meant).unwrap();
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_filesystem_that_was_mounted_anew_ends_the_pass_resumably() {
    needs_root!();
    let bench = Bench::new();
    let mut pass = bench.under_way(&[]);
    let before = mount_id(&bench.mount.point);
    bench.unmount_in_a_pause(&mut pass);
    // Takes the number that has become free.
    let _other = Mount::new(&["-t", "tmpfs", "tmpfs"], bench.path().join("other"));
    let again = Mount::new(&[&bench.disk.device], bench.mount.point.clone());
    if mount_id(&again.point) == before {
        eprintln!("SKIPPED: the kernel gave the same number to the new mount");
        return;
    }
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    // Either is true, one after the other.
    assert!(
        reason.contains("mounted anew") || reason.contains("nothing is mounted"),
        "{reason}"
    );
    assert_goes_on(&[again.path()], &bench.state);
}

#[test]
fn another_filesystem_on_the_mount_point_is_never_touched() {
    needs_root!();
    let bench = Bench::new();
    let other_directory = bench.path().join("other");
    fs::create_dir(&other_directory).unwrap();
    let other = Loop::new(&other_directory, 64);
    make_ext4(&other.device);
    let discards_before = other.discards();
    let mut pass = bench.under_way(&[]);
    bench.unmount_in_a_pause(&mut pass);
    let covering = Mount::new(&[&other.device], bench.mount.point.clone());
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("another filesystem") || reason.contains("nothing is mounted"),
        "{reason}"
    );
    assert_eq!(
        other.discards(),
        discards_before,
        "not a byte of it was trimmed"
    );
    // A pass over the other one is a new one, and the first one's checkpoint stands.
    let before = checkpoint(&bench.state);
    let output = run(&[covering.path()], &bench.state, &QUICK);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let begins = of_type(&events(&stdout(&output)), "begins").pop().unwrap();
    assert_eq!(begins["resumed_bytes"], 0, "{begins}");
    assert!(other.discards() > discards_before);
    assert_eq!(checkpoint(&bench.state), before);
    drop(covering);
    let again = Mount::new(&[&bench.disk.device], bench.mount.point.clone());
    assert_goes_on(&[again.path()], &bench.state);
}

#[test]
fn a_drive_that_is_removed_ends_the_pass_and_a_drive_that_returns_goes_on() {
    needs_root!();
    let mut bench = Bench::new();
    let mut pass = bench.under_way(&["--max-request", "1MiB"]);
    pass.wait_for_a_pause();
    unmount(&bench.mount.point, UnmountFlags::DETACH).unwrap();
    bench.disk.detach();
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("mounted") || reason.contains("gone"),
        "{reason}"
    );
    // It comes back after a boot, perhaps under another name. (In the same boot another name would
    // mean a copy, and the pass would begin anew.)
    let mut left = checkpoint(&bench.state);
    assert!(left["boot_id"].is_string(), "{left}");
    left["boot_id"] = "of another boot".into();
    keep_checkpoint(&bench.state, &left);
    bench.disk = Loop::over(&bench.path().join("disk160"));
    let again = Mount::new(&[&bench.disk.device], bench.mount.point.clone());
    assert_goes_on(&[again.path()], &bench.state);
}

/// A loop device over memory that is sealed in mid-pass: from then on writes and discards fail.
#[test]
fn a_drive_that_begins_to_refuse_discards_ends_the_pass() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let memory = rustix::fs::memfd_create("disk", MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fallocate(&memory, FallocateFlags::empty(), 0, 160 << 20).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    let disk = Loop::over(Path::new(&path));
    make_ext4(&disk.device);
    let mount = Mount::new(&[&disk.device], directory.path().join("data"));
    let state = directory.path().join("state");
    let more = ["--max-request", "1MiB"];
    let mut pass = Pass::under_way(directory.path(), mount.path(), &state, &more);
    pass.wait_for_a_pause();
    rustix::fs::fcntl_add_seals(&memory, SealFlags::WRITE).unwrap();
    let (code, ended, err) = pass.end();
    // The kernel goes on counting bytes as discarded, and ext4 goes on saying that all is well.
    assert_eq!(
        (code, &ended["outcome"]),
        (2, &"failed".into()),
        "{ended} {err}"
    );
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("DISCARD") && reason.contains(disk.name()),
        "{reason}"
    );
    let _ = checkpoint(&state);
    assert_eq!(disk.max_bytes(), USUAL_BYTES, "restored");
    // Nothing holds on to it.
    unmount(&mount.point, UnmountFlags::empty()).expect("umount works");
}

#[test]
fn a_full_state_directory_stops_the_pass_and_leaves_the_checkpoint_whole() {
    needs_root!();
    let bench = Bench::new();
    let tiny = Mount::new(
        &["-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs"],
        bench.path().join("tiny"),
    );
    let more = ["--max-request", "1MiB"];
    let mut pass = Pass::under_way(bench.path(), bench.mount.path(), &tiny.point, &more);
    pass.wait_for("a checkpoint with steps", |_| {
        checkpoint(&tiny.point)["steps"].as_u64() > Some(0)
    });
    // Full to the last byte.
    let ballast = tiny.point.join("ballast");
    let mut filler = File::create(&ballast).unwrap();
    while filler.write(&[7; 4096]).is_ok_and(|written| written > 0) {}
    let earlier = checkpoint(&tiny.point);
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("checkpoint") && reason.contains("No space left"),
        "{reason}"
    );
    assert!(reason.contains(tiny.path()), "the path is named: {reason}");
    let left = checkpoint(&tiny.point);
    assert!(
        left["visited_bytes"].as_u64() >= earlier["visited_bytes"].as_u64(),
        "{left}"
    );
    assert_eq!(bench.disk.max_bytes(), USUAL_BYTES, "restored");
    // A start is refused, not begun without a place for its checkpoint.
    let output = run(&[bench.mount.path()], &tiny.point, &more);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("No space left"), "{}", said(&output));
    assert_eq!(checkpoint(&tiny.point), left);
    assert_eq!(bench.disk.max_bytes(), USUAL_BYTES);
    drop(filler);
    fs::remove_file(ballast).unwrap();
    assert_goes_on(&[bench.mount.path()], &tiny.point);
}

/// Two partitions of one disk.
struct Partitioned {
    mounts: [Mount; 2],
    disk: Loop,
    directory: tempfile::TempDir,
}

impl Partitioned {
    /// `None` where the kernel makes no partitions of loop devices.
    fn new() -> Option<Self> {
        let directory = tempfile::Builder::new()
            .prefix("trimtab-trouble")
            .tempdir_in("/var/tmp")
            .unwrap();
        let disk = Loop::new(directory.path(), 240);
        // An MBR, written by hand: two Linux partitions of 119 MiB each.
        let mut file = File::options()
            .write(true)
            .open(directory.path().join("disk240"))
            .unwrap();
        let mut record = [0u8; 512];
        for (index, start) in [(0, 2048u32), (1, 2048 + 119 * 2048)] {
            let at = 446 + 16 * index;
            record[at + 4] = 0x83;
            record[at + 8..at + 12].copy_from_slice(&start.to_le_bytes());
            record[at + 12..at + 16].copy_from_slice(&(119u32 * 2048).to_le_bytes());
        }
        record[510..].copy_from_slice(&[0x55, 0xaa]);
        file.write_all(&record).unwrap();
        file.sync_all().unwrap();
        drop(file);
        // The device's own cache has read the file before.
        tool("blockdev", &["--flushbufs", &disk.device]);
        tool("blockdev", &["--rereadpt", &disk.device]);
        let devices = [1, 2].map(|number| format!("{}p{number}", disk.device));
        let start = Instant::now();
        while !devices.iter().all(|device| Path::new(device).exists()) {
            if start.elapsed() > Duration::from_secs(10) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mounts = devices.map(|device| {
            make_ext4(&device);
            let name = device.trim_start_matches("/dev/").to_owned();
            Mount::new(&[&device], directory.path().join(name))
        });
        Some(Self {
            mounts,
            disk,
            directory,
        })
    }
}

#[test]
fn two_mounts_that_share_a_drive_are_never_trimmed_at_once() {
    needs_root!();
    let Some(parts) = Partitioned::new() else {
        eprintln!("SKIPPED: this kernel makes no partitions of loop devices");
        return;
    };
    let [one, two] = &parts.mounts;
    let state = parts.directory.path().join("state");
    let pass = Pass::under_way(parts.directory.path(), one.path(), &state, &[]);
    let pid = pass.child.id().to_string();
    let output = run(&[two.path()], &parts.directory.path().join("other"), &[]);
    let said_by_other = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said_by_other}");
    assert!(said_by_other.contains(&pid), "{said_by_other}");
    assert!(said_by_other.contains(parts.disk.name()), "{said_by_other}");
    assert!(of_type(&events(&stdout(&output)), "step").is_empty());
    pass.signal(rustix::process::Signal::INT);
    let (code, ended, _) = pass.end();
    assert_eq!(
        (code, &ended["outcome"]),
        (130, &"signal".into()),
        "{ended}"
    );

    // One call for both makes one pass after the other.
    let output = run(&[one.path(), two.path()], &state, &QUICK);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let order: Vec<String> = events(&stdout(&output))
        .iter()
        .filter(|event| event["type"] == "begins" || event["type"] == "ended")
        .map(|event| {
            let which = usize::from(event["mount_point"] == two.path());
            format!("{}{which}", event["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(order, ["begins0", "ended0", "begins1", "ended1"]);
}

/// Not the product but this file: what the tests above stand on.
#[test]
fn loop_devices_are_what_these_tests_take_them_for() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let disk = Loop::new(directory.path(), 16);
    assert_eq!(disk.max_bytes(), USUAL_BYTES, "discards are passed on");
    let before = disk.discards();
    tool("blkdiscard", &[&disk.device]);
    assert!(disk.discards() > before, "and counted");
}
