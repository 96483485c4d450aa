//! Disks, mounts and passes that are cleaned up when dropped.

use crate::disk::{TIMEOUT, tool};
use crate::support::{stderr, stdout, trimtab};
use rustix::mount::{UnmountFlags, unmount};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// Slow enough to interrupt a pass over these disks.
const SLOW: [&str; 2] = ["--rate", "6MiB/s"];
pub const FAST: [&str; 2] = ["--rate", "1GiB/s"];

/// A loop device; detached when dropped.
pub struct Loop {
    pub device: String,
}

impl Loop {
    pub fn over(file: &Path) -> Self {
        let file = file.display().to_string();
        Self {
            device: tool("losetup", &["--find", "--show", "--partscan", &file]),
        }
    }

    /// Creates a fully allocated file in `directory` as the backing file.
    pub fn new(directory: &Path, mib: u64) -> Self {
        let file = directory.join(format!("disk{mib}"));
        tool(
            "fallocate",
            &["-l", &format!("{mib}M"), &file.display().to_string()],
        );
        Self::over(&file)
    }

    pub fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    /// Detaches now, before the device name can be reused.
    pub fn detach(&mut self) {
        tool("losetup", &["-d", &std::mem::take(&mut self.device)]);
    }

    /// Returns discards completed since boot, including those of previous users of the device.
    pub fn discards(&self) -> u64 {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        stat.split_ascii_whitespace()
            .nth(11)
            .unwrap()
            .parse()
            .unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            let _ = Command::new("losetup").args(["-d", &self.device]).status();
        }
    }
}

/// A mount; unmounted when dropped.
pub struct Mount {
    pub point: PathBuf,
}

impl Mount {
    pub fn new(arguments: &[&str], point: PathBuf) -> Self {
        fs::create_dir_all(&point).unwrap();
        let path = point.display().to_string();
        tool("mount", &[arguments, &[path.as_str()]].concat());
        Self { point }
    }

    pub fn path(&self) -> &str {
        self.point.to_str().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Mounts may be stacked.
        while unmount(&self.point, UnmountFlags::DETACH).is_ok() {}
    }
}

/// Creates an ext4 with groups of 8 MiB, so that a small filesystem has many steps.
pub fn make_ext4(device: &str) {
    let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    tool(
        "mkfs.ext4",
        &["-q", "-F", "-b", "1024", "-E", options, device],
    );
}

/// A running pass; killed when dropped.
pub struct Pass {
    pub child: Child,
    pub out: PathBuf,
    pub err: PathBuf,
}

fn arguments<'a>(mounts: &[&'a str], state: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let state = state.to_str().unwrap();
    let mut all = vec!["trim"];
    all.extend_from_slice(mounts);
    // These tests are not about latency, which varies on a busy machine.
    all.extend(["--now", "--max-latency", "5s", "--accept-stall", "60s"]);
    all.extend(["--format", "json", "--state", state]);
    all.extend_from_slice(more);
    all
}

impl Pass {
    fn start(directory: &Path, mount: &str, state: &Path) -> Self {
        let (out, err) = (directory.join("pass.jsonl"), directory.join("pass.err"));
        let child = trimtab()
            .args(arguments(&[mount], state, &SLOW))
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Self { child, out, err }
    }

    /// Starts a slow pass and waits until it has made three steps.
    pub fn under_way(directory: &Path, mount: &str, state: &Path) -> Self {
        let mut pass = Self::start(directory, mount, state);
        pass.wait_for("three steps", |pass| pass.of_type("step").len() >= 3);
        pass
    }

    pub fn events(&self) -> Vec<Value> {
        events(&fs::read_to_string(&self.out).unwrap())
    }

    pub fn of_type(&self, wanted: &str) -> Vec<Value> {
        of_type(&self.events(), wanted)
    }

    pub fn wait_for(&mut self, what: &str, found: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !found(self) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && start.elapsed() < TIMEOUT,
                "waited for {what}; exit status of the pass: {ended:?}\n{}\n{}",
                fs::read_to_string(&self.out).unwrap(),
                fs::read_to_string(&self.err).unwrap(),
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of a step: in the pause after it the pass holds nothing open on the
    /// filesystem.
    pub fn wait_for_step_end(&mut self) {
        let before = self.of_type("step").len();
        self.wait_for("a step", |pass| pass.of_type("step").len() > before);
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end; returns the exit code, the `ended` event, and stderr.
    pub fn end(mut self) -> (i32, Value, String) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "the pass hangs: {:?}",
                self.events().last()
            );
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

/// Parses JSON lines. The last line of a killed process may be incomplete.
pub fn events(text: &str) -> Vec<Value> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}")))
        .collect()
}

pub fn of_type(events: &[Value], wanted: &str) -> Vec<Value> {
    let of_type = |event: &&Value| event["type"] == wanted;
    events.iter().filter(of_type).cloned().collect()
}

pub fn run(mounts: &[&str], state: &Path, more: &[&str]) -> Output {
    trimtab()
        .args(arguments(mounts, state, more))
        .output()
        .unwrap()
}

/// Returns stdout followed by stderr.
pub fn combined_output(output: &Output) -> String {
    format!("{}{}", stdout(output), stderr(output))
}

/// Returns the checkpoint in a state directory; it must be the only one.
pub fn checkpoint(state: &Path) -> Value {
    serde_json::from_slice(&fs::read(checkpoint_path(state)).unwrap()).unwrap()
}

/// Overwrites the checkpoint.
pub fn write_checkpoint(state: &Path, checkpoint: &Value) {
    fs::write(checkpoint_path(state), checkpoint.to_string()).unwrap();
}

fn checkpoint_path(state: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> = fs::read_dir(state)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("pass-")
        })
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Asserts that a pass resumes from the checkpoint and completes.
pub fn assert_resumes(mounts: &[&str], state: &Path) {
    let visited = checkpoint(state)["visited_bytes"].as_u64().unwrap();
    assert!(visited > 0);
    let output = run(mounts, state, &FAST);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        combined_output(&output)
    );
    let begins = of_type(&events(&stdout(&output)), "begins").pop().unwrap();
    assert_eq!(begins["resumed_bytes"], visited, "{begins}");
}

/// A disk with a mounted ext4, and a state directory.
pub struct Fixture {
    // Fields are dropped in this order.
    pub mount: Mount,
    pub disk: Loop,
    pub state: PathBuf,
    pub directory: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Self {
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

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn under_way(&self) -> Pass {
        Pass::under_way(self.path(), self.mount.path(), &self.state)
    }

    /// Unmounts without `MNT_DETACH` and without a retry: a pause must not keep the filesystem
    /// busy.
    pub fn unmount_between_steps(&self, pass: &mut Pass) {
        pass.wait_for_step_end();
        unmount(&self.mount.point, UnmountFlags::empty()).expect("umount works in a pause");
    }
}
