//! A pass that meets trouble: a second start, a mount that goes or is replaced, a drive that goes or
//! fails, a full state directory. All on loop devices that each test makes for itself.

use crate::support::{stderr, stdout, trimtab};
use rustix::mount::{UnmountFlags, unmount};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// How long a hang is watched. Nothing is expected to take long.
const PATIENCE: Duration = Duration::from_secs(120);

/// `discard_max_bytes` of the disks below.
const USUAL_BYTES: u64 = 1 << 30;

/// Slow enough to be met in the middle of a pass over the disks below.
const SLOW: [&str; 2] = ["--rate", "6MiB/s"];
const QUICK: [&str; 2] = ["--rate", "1GiB/s"];

/// Says what is missing, and leaves the test.
macro_rules! needs_root {
    () => {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: loop devices need root");
            return;
        }
    };
}

/// Runs a tool that has to succeed; its output.
fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output).trim().to_owned()
}

/// A loop device of its own, detached when dropped.
struct Loop {
    device: String,
}

impl Loop {
    fn over(file: &Path) -> Self {
        let file = file.display().to_string();
        let disk = Self {
            device: tool("losetup", &["--find", "--show", "--partscan", &file]),
        };
        // A loop device keeps the limit of its last owner. This one is neither what a drive begins
        // with nor what a pass writes.
        fs::write(disk.limit(), USUAL_BYTES.to_string()).unwrap();
        disk
    }

    fn limit(&self) -> String {
        format!("/sys/block/{}/queue/discard_max_bytes", self.name())
    }

    /// A file in `directory`, of which every block is stored.
    fn new(directory: &Path, mib: u64) -> Self {
        let file = directory.join(format!("disk{mib}"));
        tool("fallocate", &["-l", &format!("{mib}M"), &file.display().to_string()]);
        Self::over(&file)
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    fn max_bytes(&self) -> u64 {
        fs::read_to_string(self.limit()).unwrap().trim().parse().unwrap()
    }

    /// Gives the device back now: its name may be another's a moment later.
    fn detach(&mut self) {
        tool("losetup", &["-d", &std::mem::take(&mut self.device)]);
    }

    /// Discards completed since boot, under whatever owner.
    fn discards(&self) -> u64 {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        stat.split_ascii_whitespace().nth(11).unwrap().parse().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            let _ = Command::new("losetup").args(["-d", &self.device]).status();
        }
    }
}

/// A mount, taken away when dropped.
struct Mount {
    point: PathBuf,
}

impl Mount {
    fn new(arguments: &[&str], point: PathBuf) -> Self {
        fs::create_dir_all(&point).unwrap();
        let path = point.display().to_string();
        tool("mount", &[arguments, &[path.as_str()]].concat());
        Self { point }
    }

    fn path(&self) -> &str {
        self.point.to_str().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Several may lie on one another.
        while unmount(&self.point, UnmountFlags::DETACH).is_ok() {}
    }
}

/// Puts an ext4 on a device: 8 MiB groups, so that a small one has many steps.
fn make_ext4(device: &str) {
    let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    tool("mkfs.ext4", &["-q", "-F", "-b", "1024", "-E", options, device]);
}

/// A running pass.
struct Pass {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

fn arguments<'a>(mounts: &[&'a str], state: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let state = state.to_str().unwrap();
    let mut all = vec!["trim"];
    all.extend_from_slice(mounts);
    // The latency of a busy test machine is not what is looked at here.
    all.extend(["--now", "--max-latency", "5s", "--accept-stall", "60s"]);
    all.extend(["--format", "json", "--state", state]);
    all.extend_from_slice(more);
    all
}

impl Pass {
    fn start(directory: &Path, mounts: &[&str], state: &Path, more: &[&str]) -> Self {
        let (out, err) = (directory.join("pass.jsonl"), directory.join("pass.err"));
        let child = trimtab()
            .args(arguments(mounts, state, more))
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Self { child, out, err }
    }

    /// One that has made a few steps and written a checkpoint, and has more to do.
    fn under_way(directory: &Path, mount: &str, state: &Path, more: &[&str]) -> Self {
        let mut pass = Self::start(directory, &[mount], state, &[&SLOW, more].concat());
        pass.wait_for("three steps", |pass| pass.of_type("step").len() >= 3);
        pass
    }

    fn events(&self) -> Vec<Value> {
        events(&fs::read_to_string(&self.out).unwrap())
    }

    fn of_type(&self, wanted: &str) -> Vec<Value> {
        of_type(&self.events(), wanted)
    }

    fn wait_for(&mut self, what: &str, found: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !found(self) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && start.elapsed() < PATIENCE,
                "{what} did not come; the pass: {ended:?}\n{}\n{}",
                fs::read_to_string(&self.out).unwrap(),
                fs::read_to_string(&self.err).unwrap(),
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The moment after a step: a pause, in which nothing of the filesystem is held.
    fn wait_for_a_pause(&mut self) {
        let before = self.of_type("step").len();
        self.wait_for("a step", |pass| pass.of_type("step").len() > before);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end: the exit code, the last event, what it said on stderr.
    fn end(mut self) -> (i32, Value, String) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "the pass hangs: {:?}", self.events().last());
            std::thread::sleep(Duration::from_millis(10));
        };
        let err = fs::read_to_string(&self.err).unwrap();
        let ended = self.of_type("ended").pop().unwrap_or_default();
        (status.code().unwrap_or(-1), ended, err)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last line of a process that was killed may be torn.
fn events(text: &str) -> Vec<Value> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}")))
        .collect()
}

fn of_type(events: &[Value], wanted: &str) -> Vec<Value> {
    let of_type = |event: &&Value| event["type"] == wanted;
    events.iter().filter(of_type).cloned().collect()
}

fn run(mounts: &[&str], state: &Path, more: &[&str]) -> Output {
    trimtab()
        .args(arguments(mounts, state, more))
        .output()
        .unwrap()
}

/// Whatever a command that failed has said.
fn said(output: &Output) -> String {
    format!("{}{}", stdout(output), stderr(output))
}

/// The checkpoint in a state directory, which must be the only one and readable.
fn checkpoint(state: &Path) -> Value {
    let found: Vec<PathBuf> = fs::read_dir(state)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("pass-"))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    serde_json::from_slice(&fs::read(&found[0]).unwrap()).unwrap()
}

/// The pass goes on from the checkpoint, says so, and completes.
fn assert_goes_on(mounts: &[&str], state: &Path) {
    let visited = checkpoint(state)["visited_bytes"].as_u64().unwrap();
    assert!(visited > 0);
    let output = run(mounts, state, &QUICK);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let begins = of_type(&events(&stdout(&output)), "begins").pop().unwrap();
    assert_eq!(begins["resumed_bytes"], visited, "{begins}");
}

/// A disk with an ext4 that is mounted, and a state directory.
struct Bench {
    // Dropped in this order.
    mount: Mount,
    disk: Loop,
    state: PathBuf,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("trimtab-trouble")
            .tempdir_in("/var/tmp")
            .unwrap();
        let disk = Loop::new(directory.path(), 160);
        make_ext4(&disk.device);
        let mount = Mount::new(&[&disk.device], directory.path().join("data"));
        let state = directory.path().join("state");
        Self {
            mount,
            disk,
            state,
            directory,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn under_way(&self, more: &[&str]) -> Pass {
        Pass::under_way(self.path(), self.mount.path(), &self.state, more)
    }

    /// Without MNT_DETACH and without a second try: a pause must not keep the filesystem busy.
    fn unmount_in_a_pause(&self, pass: &mut Pass) {
        pass.wait_for_a_pause();
        unmount(&self.mount.point, UnmountFlags::empty()).expect("umount works in a pause");
    }
}

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
        let word = |text: &str| text.split(|c: char| !c.is_ascii_digit()).any(|part| part == pid);
        assert!(word(&said), "{pid} is not named: {said}");
        assert!(of_type(&events(&stdout(&output)), "step").is_empty());
    }
    pass.signal(rustix::process::Signal::TERM);
    let (code, ended, _) = pass.end();
    assert_eq!((code, &ended["outcome"]), (143, &"signal".into()), "{ended}");
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

#[test]
fn a_filesystem_that_was_moved_or_mounted_anew_ends_the_pass_resumably() {
    needs_root!();
    for way in ["moved", "anew"] {
        let bench = Bench::new();
        let mut pass = bench.under_way(&[]);
        let elsewhere = bench.path().join("elsewhere");
        let mount = if way == "moved" {
            bench.unmount_in_a_pause(&mut pass);
            Mount::new(&[&bench.disk.device], elsewhere)
        } else {
            bench.unmount_in_a_pause(&mut pass);
            Mount::new(&[&bench.disk.device], bench.mount.point.clone())
        };
        let (code, ended, err) = pass.end();
        assert_eq!(code, 2, "{way}: {ended} {err}");
        assert_eq!(ended["resumable"], true, "{way}: {ended}");
        let reason = ended["reason"].as_str().unwrap();
        let expected = if way == "moved" { "nothing is mounted" } else { "mounted anew" };
        assert!(reason.contains(expected), "{way}: {reason}");
        assert_goes_on(&[mount.path()], &bench.state);
    }
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
    assert_eq!(other.discards(), discards_before, "not a byte of it was trimmed");
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
    assert!(reason.contains("mounted") || reason.contains("gone"), "{reason}");
    // It comes back, perhaps under another name.
    bench.disk = Loop::over(&bench.path().join("disk160"));
    let again = Mount::new(&[&bench.disk.device], bench.mount.point.clone());
    assert_goes_on(&[again.path()], &bench.state);
}

/// A loop device over memory that is sealed in mid-pass: from then on writes and discards fail.
#[test]
fn a_drive_that_begins_to_fail_is_named_with_what_the_kernel_said() {
    needs_root!();
    use rustix::fs::{MemfdFlags, SealFlags};
    use std::os::fd::AsRawFd;
    let directory = tempfile::tempdir().unwrap();
    let memory = rustix::fs::memfd_create("disk", MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fallocate(&memory, rustix::fs::FallocateFlags::empty(), 0, 160 << 20).unwrap();
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
    assert_ne!(code, 0, "{ended} {err}");
    assert_ne!(ended["outcome"], "complete");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("FITRIM") || reason.contains("os error"), "{reason}");
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
    assert_eq!((code, &ended["outcome"]), (130, &"signal".into()), "{ended}");

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
