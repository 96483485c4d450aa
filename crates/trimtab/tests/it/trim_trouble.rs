//! Faults during a pass: a second start, a mount that disappears or is replaced, a drive that
//! disappears or fails, a full state directory. Each test creates its own loop devices.

mod fixture;

use crate::disk::{needs_root, tool};
use crate::support::stdout;
use fixture::{
    FAST, Fixture, Loop, Mount, Pass, assert_resumes, checkpoint, combined_output, events,
    make_ext4, of_type, run, write_checkpoint,
};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mount::{UnmountFlags, unmount};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_second_start_is_refused_naming_the_running_pass() {
    needs_root!();
    let fixture = Fixture::new();
    let bind = Mount::new(
        &["--bind", fixture.mount.path()],
        fixture.path().join("bind"),
    );
    let pass = fixture.under_way();
    let pid = pass.child.id().to_string();
    let other_state = fixture.path().join("other");
    for (mount, state) in [
        (&fixture.mount, &fixture.state),
        (&bind, &fixture.state),
        (&fixture.mount, &other_state),
        (&bind, &other_state),
    ] {
        let output = run(&[mount.path()], state, &[]);
        let message = combined_output(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        let word = |text: &str| {
            text.split(|c: char| !c.is_ascii_digit())
                .any(|part| part == pid)
        };
        assert!(word(&message), "{pid} is not named: {message}");
        assert!(of_type(&events(&stdout(&output)), "step").is_empty());
    }
    pass.signal(rustix::process::Signal::TERM);
    let (code, ended, _) = pass.end();
    assert_eq!(
        (code, &ended["outcome"]),
        (143, &"signal".into()),
        "{ended}"
    );
    // The lock is free again, through the bind mount as well.
    assert_resumes(&[bind.path()], &fixture.state);
}

#[test]
fn an_unmounted_filesystem_ends_the_pass_resumably() {
    needs_root!();
    let fixture = Fixture::new();
    let mut pass = fixture.under_way();
    fixture.unmount_between_steps(&mut pass);
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("nothing is mounted there now"), "{reason}");
    // Mounted elsewhere, it is still the same filesystem.
    let elsewhere = Mount::new(&[&fixture.disk.device], fixture.path().join("elsewhere"));
    assert_resumes(&[elsewhere.path()], &fixture.state);
}

/// Returns the mount ID from mountinfo. The kernel reuses IDs.
fn mount_id(point: &Path) -> String {
    let mounts = fs::read("/proc/self/mountinfo").unwrap();
    // Some other mount point of this machine may not be UTF-8.
    let mounts = String::from_utf8_lossy(&mounts);
    let matches_point = |line: &&str| line.split(' ').nth(4) == point.to_str();
    let line = mounts.lines().rfind(matches_point).unwrap();
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_filesystem_mounted_again_ends_the_pass_resumably() {
    needs_root!();
    let fixture = Fixture::new();
    let mut pass = fixture.under_way();
    let before = mount_id(&fixture.mount.point);
    fixture.unmount_between_steps(&mut pass);
    // Occupies the freed mount ID.
    let _other = Mount::new(&["-t", "tmpfs", "tmpfs"], fixture.path().join("other"));
    let again = Mount::new(&[&fixture.disk.device], fixture.mount.point.clone());
    if mount_id(&again.point) == before {
        eprintln!("SKIPPED: the kernel gave the same number to the new mount");
        return;
    }
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    // Depends on when the pass looks.
    assert!(
        reason.contains("mounted anew") || reason.contains("nothing is mounted"),
        "{reason}"
    );
    assert_resumes(&[again.path()], &fixture.state);
}

#[test]
fn another_filesystem_on_the_mount_point_is_not_trimmed() {
    needs_root!();
    let fixture = Fixture::new();
    let other_directory = fixture.path().join("other");
    fs::create_dir(&other_directory).unwrap();
    let other = Loop::new(&other_directory, 64);
    make_ext4(&other.device);
    let discards_before = other.discards();
    let mut pass = fixture.under_way();
    fixture.unmount_between_steps(&mut pass);
    let covering = Mount::new(&[&other.device], fixture.mount.point.clone());
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
        "nothing was discarded on it"
    );
    // A pass over the other filesystem starts from zero and keeps the first one's checkpoint.
    let before = checkpoint(&fixture.state);
    let output = run(&[covering.path()], &fixture.state, &FAST);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        combined_output(&output)
    );
    let begins = of_type(&events(&stdout(&output)), "begins").pop().unwrap();
    assert_eq!(begins["resumed_bytes"], 0, "{begins}");
    assert!(other.discards() > discards_before);
    assert_eq!(checkpoint(&fixture.state), before);
    drop(covering);
    let again = Mount::new(&[&fixture.disk.device], fixture.mount.point.clone());
    assert_resumes(&[again.path()], &fixture.state);
}

#[test]
fn a_removed_drive_ends_the_pass_and_its_return_resumes_it() {
    needs_root!();
    let mut fixture = Fixture::new();
    let mut pass = fixture.under_way();
    pass.wait_for_step_end();
    unmount(&fixture.mount.point, UnmountFlags::DETACH).unwrap();
    fixture.disk.detach();
    let (code, ended, err) = pass.end();
    assert_eq!(code, 2, "{ended} {err}");
    assert_eq!(ended["resumable"], true, "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("mounted") || reason.contains("gone"),
        "{reason}"
    );
    // The drive returns after a reboot, possibly under another name. (Within the same boot another
    // name would mean a copy, and the pass would start again.)
    let mut left = checkpoint(&fixture.state);
    assert!(left["boot_id"].is_string(), "{left}");
    left["boot_id"] = "of another boot".into();
    write_checkpoint(&fixture.state, &left);
    fixture.disk = Loop::over(&fixture.path().join("disk160"));
    let again = Mount::new(&[&fixture.disk.device], fixture.mount.point.clone());
    assert_resumes(&[again.path()], &fixture.state);
}

/// A loop device over a memfd that is sealed during the pass: from then on writes and discards
/// fail.
#[test]
fn a_drive_that_starts_failing_discards_ends_the_pass() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let memory = rustix::fs::memfd_create("disk", MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fallocate(&memory, FallocateFlags::empty(), 0, 160 << 20).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    let disk = Loop::over(Path::new(&path));
    make_ext4(&disk.device);
    let mount = Mount::new(&[&disk.device], directory.path().join("data"));
    let state = directory.path().join("state");
    let mut pass = Pass::under_way(directory.path(), mount.path(), &state);
    pass.wait_for_step_end();
    rustix::fs::fcntl_add_seals(&memory, SealFlags::WRITE).unwrap();
    let (code, ended, err) = pass.end();
    // The kernel still counts the bytes as discarded, and ext4 still reports success.
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
    // The filesystem is not busy.
    unmount(&mount.point, UnmountFlags::empty()).expect("umount works");
}

#[test]
fn a_full_state_directory_stops_the_pass_and_keeps_the_checkpoint() {
    needs_root!();
    let fixture = Fixture::new();
    let tiny = Mount::new(
        &["-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs"],
        fixture.path().join("tiny"),
    );
    let mut pass = Pass::under_way(fixture.path(), fixture.mount.path(), &tiny.point);
    pass.wait_for("a checkpoint with steps", |_| {
        checkpoint(&tiny.point)["steps"].as_u64() > Some(0)
    });
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
    // A new start is refused: its checkpoint could not be written.
    let output = run(&[fixture.mount.path()], &tiny.point, &[]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{}",
        combined_output(&output)
    );
    assert!(
        combined_output(&output).contains("No space left"),
        "{}",
        combined_output(&output)
    );
    assert_eq!(checkpoint(&tiny.point), left);
    drop(filler);
    fs::remove_file(ballast).unwrap();
    assert_resumes(&[fixture.mount.path()], &tiny.point);
}

/// Two partitions of one disk.
struct Partitioned {
    mounts: [Mount; 2],
    disk: Loop,
    directory: tempfile::TempDir,
}

impl Partitioned {
    /// Returns `None` if the kernel does not create partitions on loop devices.
    fn new() -> Option<Self> {
        let directory = tempfile::Builder::new()
            .prefix("trimtab-trouble")
            .tempdir_in("/var/tmp")
            .unwrap();
        let disk = Loop::new(directory.path(), 240);
        // A handmade MBR with two Linux partitions of 119 MiB.
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
        // The block device has cached the old content of the file.
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
fn mounts_that_share_a_drive_are_never_trimmed_at_once() {
    needs_root!();
    let Some(parts) = Partitioned::new() else {
        eprintln!("SKIPPED: this kernel makes no partitions of loop devices");
        return;
    };
    let [one, two] = &parts.mounts;
    let state = parts.directory.path().join("state");
    let pass = Pass::under_way(parts.directory.path(), one.path(), &state);
    let pid = pass.child.id().to_string();
    let output = run(&[two.path()], &parts.directory.path().join("other"), &[]);
    let text = combined_output(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(&pid), "{text}");
    assert!(text.contains(parts.disk.name()), "{text}");
    assert!(of_type(&events(&stdout(&output)), "step").is_empty());
    pass.signal(rustix::process::Signal::INT);
    let (code, ended, _) = pass.end();
    assert_eq!(
        (code, &ended["outcome"]),
        (130, &"signal".into()),
        "{ended}"
    );

    // A single call for both makes one pass after the other.
    let output = run(&[one.path(), two.path()], &state, &FAST);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        combined_output(&output)
    );
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

/// Checks an assumption of the tests above, not the product.
#[test]
fn loop_devices_count_discards() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let disk = Loop::new(directory.path(), 16);
    let before = disk.discards();
    tool("blkdiscard", &[&disk.device]);
    assert!(disk.discards() > before);
}
