//! The child trims real filesystems, and is ended in every possible way.

use crate::support::{
    Frozen, Loop, Mounted, Process, children_of, helper, is_alive, is_root, run, signal, until,
};
use facts::host::DeviceNumber;
use rustix::fd::OwnedFd;
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use trim::child::{Child, TrimError, Trimmer};
use trim::state::{State, StateError};
use trim::stop::{Stop, StopRequest};
use trim::target::{Target, TargetError};
use trim::{ByteRange, child};

const MIB: u64 = 1 << 20;
const GARBAGE_BYTES: u64 = 64 * MIB;

fn helper_command() -> Vec<OsString> {
    vec![helper().into(), "fitrim".into()]
}

/// A filesystem with free space that is still stored below. Fields are in the order of teardown.
struct Rig {
    target: Target,
    mounted: Mounted,
    device: Loop,
    /// The filesystem that holds its image, and that one's device, if it has its own.
    outer: Option<(Mounted, Loop)>,
    directory: tempfile::TempDir,
}

impl Rig {
    /// Returns `None` without root.
    fn new(fs_type: &str) -> Option<Self> {
        if !is_root() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().to_owned();
        Some(Self::in_directory(directory, None, &image, fs_type))
    }

    /// Creates an ext4 whose image is on an XFS of its own; while that is frozen, the loop device
    /// waits in fallocate, and whoever waits for its discards cannot be killed.
    fn nested() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let outer_device = Loop::sparse(directory.path(), "outer", 600 * MIB);
        let outer_point = directory.path().join("outer.d");
        let outer = Mounted::make("xfs", &outer_device.device, &outer_point);
        let image = outer_point.join("inner");
        std::fs::create_dir(&image).unwrap();
        let outer = Some((outer, outer_device));
        Some(Self::in_directory(directory, outer, &image, "ext4"))
    }

    fn in_directory(
        directory: tempfile::TempDir,
        outer: Option<(Mounted, Loop)>,
        image: &Path,
        fs_type: &str,
    ) -> Self {
        let device = Loop::sparse(image, "image", 400 * MIB);
        let mounted = Mounted::make(fs_type, &device.device, &image.join("mnt"));
        mounted.make_free_space(usize::try_from(GARBAGE_BYTES).unwrap());
        Self {
            target: target(&mounted, fs_type, &device.device),
            mounted,
            device,
            outer,
            directory,
        }
    }

    fn freeze_outer(&self) -> Frozen {
        Frozen::freeze(&self.outer.as_ref().expect("an outer filesystem").0)
    }

    fn state(&self) -> State {
        let below = |name: &str| self.directory.path().join(name);
        State::open(below("state"), below("run")).unwrap()
    }

    /// Starts a pass of one step in a separate process; also returns its child.
    fn pass(&self) -> (Process, u32) {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let mut parent = Process::start(&[
            "trim",
            &path("state"),
            &path("run"),
            self.mounted.mount_point.to_str().unwrap(),
            &self.device.device,
        ]);
        assert_eq!(parent.line(), "trimmed");
        let children = children_of(parent.pid());
        let [child] = children.as_slice() else {
            panic!("{children:?}");
        };
        (parent, *child)
    }
}

fn target(mounted: &Mounted, fs_type: &str, device: &str) -> Target {
    Target::identify(mounted.mount_point.clone(), fs_type, device.into()).unwrap()
}

fn start(target: &Target, stop: &Stop) -> Child {
    Child::new(helper_command(), target.clone(), Vec::new(), stop.clone())
}

#[test]
fn free_space_is_discarded_and_the_mount_not_held() {
    for fs_type in ["ext4", "xfs", "btrfs"] {
        let Some(rig) = Rig::new(fs_type) else { return };
        assert!(rig.target.identity.uuid.is_some(), "{fs_type}");
        let before = rig.device.stored_bytes();
        let mut child = start(&rig.target, &Stop::default());
        let trimmed = child.trim(ByteRange::WHOLE, 0).unwrap();
        assert!(trimmed.reported_len_bytes >= GARBAGE_BYTES, "{fs_type}");
        until(&format!("the image of {fs_type} shrinks"), || {
            // XFS frees deleted space in the background.
            child.trim(ByteRange::WHOLE, 0).unwrap();
            rig.device.stored_bytes() + GARBAGE_BYTES / 10 * 9 < before
        });
        let pid = child.pid().unwrap();
        // Between two calls nothing keeps the filesystem busy.
        rig.mounted.unmount();
        let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
        assert!(
            matches!(error, TrimError::Target(TargetError::Changed { .. })),
            "{error}"
        );
        assert!(
            error.to_string().contains("nothing is mounted there now"),
            "{error}"
        );
        // The same process continues when the filesystem is back.
        let _mounted = Mounted::mount(&rig.device.device, &rig.target.mount_point);
        match child.trim(ByteRange::WHOLE, 0) {
            Ok(_) => {}
            Err(TrimError::Target(TargetError::Changed { found, .. })) => {
                assert!(found.contains("mounted anew"), "{found}");
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(child.pid(), Some(pid));
    }
}

#[test]
fn error_names_what_is_mounted_instead() {
    let Some(rig) = Rig::new("ext4") else { return };
    let (target, device) = (&rig.target, &rig.device.device);
    let mount_point = &target.mount_point;
    let beside = |name: &str| rig.directory.path().join(name);
    let changed = || match target.open().unwrap_err() {
        TargetError::Changed {
            expected, found, ..
        } => {
            let uuid = target.identity.uuid.as_deref().unwrap();
            assert!(expected.contains(uuid), "{expected}");
            found
        }
        error @ TargetError::Unreadable { .. } => panic!("{error}"),
    };
    target.open().unwrap();

    // Moved elsewhere: the directory below shows.
    rig.mounted.unmount();
    let elsewhere = Mounted::mount(device, &beside("elsewhere"));
    let found = changed();
    assert!(found.contains("nothing is mounted"), "{found}");

    // Another filesystem on another device.
    let other = Loop::sparse(rig.directory.path(), "other", 64 * MIB);
    let covering = Mounted::make("ext4", &other.device, mount_point);
    let found = changed();
    assert!(found.contains("another filesystem"), "{found}");
    covering.unmount();
    elsewhere.unmount();

    // Another filesystem on the same device.
    let replaced = Mounted::make("ext4", device, mount_point);
    let found = changed();
    assert!(found.contains("another filesystem"), "{found}");
    replaced.unmount();

    // The directory is gone as well.
    std::fs::remove_dir(mount_point).unwrap();
    let found = changed();
    assert!(found.contains("nothing is mounted"), "{found}");
}

#[test]
fn a_btrfs_that_got_another_number_was_mounted_anew() {
    let Some(rig) = Rig::new("btrfs") else { return };
    let mount_point = &rig.target.mount_point;
    rig.mounted.unmount();
    // Takes the number that became free, unless another test was faster.
    let other = rig.directory.path().join("other");
    let _other = Mounted::tmpfs(&other);
    let _mounted = Mounted::mount(&rig.device.device, mount_point);
    let error = rig.target.open().unwrap_err().to_string();
    assert!(error.contains("mounted anew"), "{error}");
    // A tmpfs has such a number, too.
    let _covering = Mounted::tmpfs(mount_point);
    let error = rig.target.open().unwrap_err().to_string();
    assert!(error.contains("another filesystem"), "{error}");
}

#[test]
fn a_lazily_unmounted_filesystem_is_gone() {
    let Some(rig) = Rig::new("ext4") else { return };
    let mount_point = &rig.mounted.mount_point;
    let open = std::fs::File::create_new(mount_point.join("open")).unwrap();
    run("umount", &["--lazy", mount_point.to_str().unwrap()]);
    let error = rig.target.open().unwrap_err();
    assert!(matches!(error, TargetError::Changed { .. }), "{error}");
    drop(open);
}

#[test]
fn kernel_errors_are_passed_on() {
    if !is_root() {
        return;
    }
    let target = Target::identify("/proc".into(), "proc", "proc".into()).unwrap();
    let error = start(&target, &Stop::default())
        .trim(ByteRange::WHOLE, 0)
        .unwrap_err();
    let TrimError::Kernel(error) = error else {
        panic!("{error}");
    };
    assert_eq!(
        error.raw_os_error(),
        Some(rustix::io::Errno::NOTTY.raw_os_error())
    );
}

#[test]
fn killed_child_is_reported_and_replaced() {
    let Some(rig) = Rig::new("ext4") else { return };
    let mut child = start(&rig.target, &Stop::default());
    child.trim(ByteRange::WHOLE, 0).unwrap();
    let first = child.pid().unwrap();
    signal(first, Signal::KILL);
    until("it is dead", || !is_alive(first));
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    let TrimError::Died(how) = &error else {
        panic!("{error}");
    };
    assert!(how.contains("SIGKILL"), "{how}");
    child.trim(ByteRange::WHOLE, 0).unwrap();
    let second = child.pid().unwrap();
    assert_ne!(first, second);
    drop(child);
    until("the dropped child is gone", || !is_alive(second));
}

#[test]
fn a_child_that_is_stopped_for_good_is_ended() {
    let Some(rig) = Rig::new("ext4") else { return };
    let mut child = start(&rig.target, &Stop::default());
    child.trim(ByteRange::WHOLE, 0).unwrap();
    let pid = child.pid().unwrap();
    // A short stop costs nothing.
    signal(pid, Signal::STOP);
    let continued = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        signal(pid, Signal::CONT);
    });
    child.trim(ByteRange::WHOLE, 0).unwrap();
    continued.join().unwrap();
    signal(pid, Signal::STOP);
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    let TrimError::Died(how) = &error else {
        panic!("{error}");
    };
    assert!(how.contains("SIGSTOP"), "{how}");
    assert!(!is_alive(pid));
    child.trim(ByteRange::WHOLE, 0).unwrap();
}

#[test]
fn stop_ends_even_an_unresponsive_child() {
    let Some(rig) = Rig::new("ext4") else { return };
    let stop = Stop::default();
    let mut child = start(&rig.target, &stop);
    child.trim(ByteRange::WHOLE, 0).unwrap();
    let pid = child.pid().unwrap();
    // SIGTERM waits until the process is continued; SIGKILL does not.
    signal(pid, Signal::STOP);
    let later = stop.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        later.request(StopRequest::Signal(15));
    });
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    assert!(matches!(error, TrimError::Stopped), "{error}");
    assert!(!is_alive(pid));
    stopper.join().unwrap();
    // After a stop no other child is started.
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    assert!(matches!(error, TrimError::Stopped), "{error}");
    assert_eq!(child.pid(), None);
}

/// A limit on discards, using version 1 control groups; `None` if the host does not have them. It
/// applies to the processes that are put into the group.
struct Throttle(std::path::PathBuf);

impl Throttle {
    fn new(device: DeviceNumber, per_second: u32) -> Option<Self> {
        let group = Path::new("/sys/fs/cgroup/blkio").join(format!(
            "trimtab-test-{}-{}",
            std::process::id(),
            device.minor
        ));
        std::fs::create_dir(&group).ok()?;
        let throttle = Self(group);
        let limit = format!("{device} {per_second}");
        std::fs::write(throttle.0.join("blkio.throttle.write_iops_device"), limit).ok()?;
        Some(throttle)
    }

    fn put_in(&self, pid: u32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // Its processes are zombies for a moment.
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_stop_ends_the_call_in_the_middle() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let device = Loop::sparse(directory.path(), "image", 256 * MIB);
    let mounted = Mounted::make("ext4", &device.device, &directory.path().join("mnt"));
    for at in 0..400 {
        let path = mounted.mount_point.join(at.to_string());
        std::fs::write(path, vec![1; 64 << 10]).unwrap();
    }
    run("sync", &["-f", mounted.mount_point.to_str().unwrap()]);
    for at in (0..400).step_by(2) {
        std::fs::remove_file(mounted.mount_point.join(at.to_string())).unwrap();
    }
    run("sync", &["-f", mounted.mount_point.to_str().unwrap()]);
    let target = target(&mounted, "ext4", &device.device);
    let Some(throttle) = Throttle::new(target.identity.device, 20) else {
        eprintln!("skipped: no blkio control group");
        return;
    };
    let stop = Stop::default();
    let mut child = start(&target, &stop);
    // Start the child by a call that finds nothing of that length.
    child.trim(ByteRange::WHOLE, 1 << 40).unwrap_err();
    let pid = child.pid().unwrap();
    throttle.put_in(pid);
    let discards = || {
        let stat = std::fs::read_to_string(device.sysfs("stat")).unwrap();
        let field = stat.split_ascii_whitespace().nth(11).unwrap();
        field.parse::<u64>().unwrap()
    };
    let before = discards();
    let later = stop.clone();
    let path = device.sysfs("stat");
    let stopper = std::thread::spawn(move || {
        until("a few discards are done", || {
            let stat = std::fs::read_to_string(&path).unwrap();
            let field = stat.split_ascii_whitespace().nth(11).unwrap();
            field.parse::<u64>().unwrap() > before + 3
        });
        later.request(StopRequest::Signal(2));
    });
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    assert!(matches!(error, TrimError::Stopped), "{error}");
    stopper.join().unwrap();
    assert!(!is_alive(pid));
    let done = discards() - before;
    assert!(done < 200, "all of it was trimmed: {done} discards");
}

/// Waits until the process waits permanently: discards of space that was never written are quick
/// even on a frozen filesystem.
fn until_it_waits(pid: u32) {
    let mut in_a_row = 0;
    until("it waits for the drive", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let waits = stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('D');
        in_a_row = if waits { in_a_row + 1 } else { 0 };
        in_a_row == 100
    });
}

fn lock(state: &State, target: &Target) -> Result<trim::state::Locks, StateError> {
    state.lock(&target.identity, &[])
}

#[test]
fn child_waiting_for_the_drive_keeps_its_locks() {
    let Some(rig) = Rig::nested() else { return };
    let (target, state) = (&rig.target, rig.state());
    let locks = lock(&state, target).unwrap();
    let stop = Stop::default();
    let inherited: Vec<OwnedFd> = locks.for_child().unwrap();
    let mut child = Child::new(helper_command(), target.clone(), inherited, stop.clone());
    child.trim(ByteRange::WHOLE, 1 << 40).unwrap_err();
    let pid = child.pid().unwrap();

    let frozen = rig.freeze_outer();
    let later = stop.clone();
    let stopper = std::thread::spawn(move || {
        until_it_waits(pid);
        later.request(StopRequest::Signal(15));
    });
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    let TrimError::Stuck { pid: stuck } = error else {
        panic!("{error}");
    };
    assert_eq!(stuck, pid);
    stopper.join().unwrap();
    // The next call finds it still stuck and returns at once.
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    assert!(matches!(error, TrimError::Stuck { .. }), "{error}");
    drop(child);
    drop(locks);
    assert!(is_alive(pid));
    let busy = lock(&state, target).unwrap_err();
    assert!(
        matches!(
            busy,
            StateError::Busy {
                same_filesystem: true,
                ..
            }
        ),
        "{busy}"
    );
    drop(frozen);
    until("the child is gone", || !is_alive(pid));
    until("its locks are free", || lock(&state, target).is_ok());
}

/// As above, but then the parent is killed: the process that took the lock is dead, and the one
/// that inherited it is found.
#[test]
fn a_stuck_child_outlives_its_parent_and_is_named() {
    let Some(rig) = Rig::nested() else { return };
    let (mut parent, child) = rig.pass();
    let (target, state) = (&rig.target, rig.state());
    let key = target.identity.key();
    assert_eq!(state.holder(&key).unwrap(), Some(parent.pid()));
    // Something to trim: what was trimmed is not trimmed again.
    let garbage_bytes = usize::try_from(GARBAGE_BYTES).unwrap();
    rig.mounted.make_free_space(garbage_bytes);
    let frozen = rig.freeze_outer();
    parent.say("again");
    until_it_waits(child);
    parent.kill();
    assert_eq!(state.holder(&key).unwrap(), Some(child));
    match lock(&state, target).unwrap_err() {
        StateError::Busy { pid, .. } => assert_eq!(pid, child),
        error => panic!("{error}"),
    }
    // There is no process to cancel; the checkpoint could be dropped.
    assert!(!state.cancel(&key).unwrap());
    drop(frozen);
    until("the child is gone", || !is_alive(child));
    until("its locks are free", || lock(&state, target).is_ok());
}

#[test]
fn an_idle_child_dies_with_its_parent() {
    let Some(rig) = Rig::new("ext4") else { return };
    let (mut parent, child) = rig.pass();
    parent.kill();
    until("the child is gone", || !is_alive(child));
    rig.mounted.unmount();
}

/// Runs the child's command in a shell, with `exec "$0" fitrim` at the end of `script`, waits for
/// its first answer and returns its masks of ignored, caught and blocked signals; then SIGTERM must
/// end it.
fn masks_under(script: &str) -> [u64; 3] {
    let target = Target::identify("/proc".into(), "proc", "proc".into()).unwrap();
    let helper = ["sh", "-c", script]
        .map(OsString::from)
        .into_iter()
        .chain([helper().into()])
        .collect();
    let mut child = Child::new(helper, target, Vec::new(), Stop::default());
    let error = child.trim(ByteRange::WHOLE, 0).unwrap_err();
    assert!(matches!(error, TrimError::Kernel(_)), "{script}: {error}");
    let pid = child.pid().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    signal(pid, Signal::TERM);
    until("SIGTERM ends it", || !is_alive(pid));
    ["SigIgn:", "SigCgt:", "SigBlk:"].map(|name| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_ascii_whitespace().nth(1).unwrap(), 16).unwrap()
    })
}

fn assert_deadly([ignored, caught, blocked]: [u64; 3], script: &str) {
    for number in [1, 2, 3, 15] {
        let touched = (ignored | caught | blocked) >> (number - 1) & 1;
        assert_eq!(touched, 0, "{script}: signal {number}");
    }
    assert_eq!(blocked, 0, "{script}");
}

/// A background job of a shell ignores SIGINT, `nohup` SIGHUP, and exec preserves that.
#[test]
fn ignored_signals_are_reset() {
    let script = "trap '' HUP INT QUIT TERM; exec \"$0\" fitrim";
    assert_deadly(masks_under(script), script);
}

/// The mask survives exec as well.
#[test]
fn blocked_signals_are_unblocked() {
    let block = "env --block-signal=HUP,INT,QUIT,TERM,USR1";
    let is_known = std::process::Command::new("sh")
        .args([
            "-c",
            &format!("{block} grep -q 'SigBlk:.*4207' /proc/self/status"),
        ])
        .status();
    if !is_known.is_ok_and(|status| status.success()) {
        eprintln!("skipped: env blocks no signals before GNU coreutils 8.31");
        return;
    }
    for script in [
        format!("exec {block} \"$0\" fitrim"),
        format!("trap '' TERM; exec {block} \"$0\" fitrim"),
    ] {
        assert_deadly(masks_under(&script), &script);
    }
}

#[test]
fn invalid_helpers_are_reported() {
    let target = Target::identify("/proc".into(), "proc", "proc".into()).unwrap();
    let outcome = |helper: &[&str]| {
        let helper = helper.iter().map(OsString::from).collect();
        Child::new(helper, target.clone(), Vec::new(), Stop::default())
            .trim(ByteRange::WHOLE, 0)
            .unwrap_err()
    };
    assert!(matches!(outcome(&[]), TrimError::Process(_)));
    assert!(matches!(outcome(&["/nonexistent"]), TrimError::Process(_)));
    let TrimError::Died(how) = outcome(&["sh", "-c", "exit 3"]) else {
        panic!("it did not die");
    };
    assert!(how.contains("status 3"), "{how}");
    let garbage = outcome(&["sh", "-c", "echo '{\"answer\":\"all done\"}' >&0; sleep 60"]);
    assert!(garbage.to_string().contains("not an answer"), "{garbage}");
    let endless = outcome(&["sh", "-c", "exec 3>&0; yes | tr -d '\\n' >&3"]);
    assert!(
        endless.to_string().contains("a line of more than"),
        "{endless}"
    );
}

/// Started by hand it is useless but harmless.
#[test]
fn stdin_must_be_the_parent_socket() {
    let output = std::process::Command::new(helper())
        .arg("fitrim")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("of no use by hand"), "{stderr}");
    let _ = child::serve; // the function under test, in the helper
}
