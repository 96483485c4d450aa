//! Filesystems on loop devices created by a test, and passes over them.

use crate::support::{stderr, stdout, trimtab};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// After this time a pass counts as hung. None should take nearly as long.
pub const TIMEOUT: Duration = Duration::from_mins(2);
/// Skips the test unless it runs as root.
macro_rules! needs_root {
    () => {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: loop devices need root");
            return;
        }
    };
}
pub(crate) use needs_root;

/// Bytes in a MiB.
pub const MIB: u64 = 1 << 20;

/// Runs a tool that must succeed, and returns its output.
pub fn tool(program: &str, arguments: &[&str]) -> String {
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

/// A filesystem on a sparse file; unmounted and detached when dropped.
pub struct Disk {
    pub directory: tempfile::TempDir,
    pub device: String,
    pub extra_mounts: Vec<PathBuf>,
}

impl Disk {
    /// Creates and mounts a filesystem; `options` are mount options.
    pub fn new(fs_type: &str, mib: u64, options: &str) -> Self {
        let mut disk = Self::empty();
        let image = disk.directory.path().join("image");
        disk.make_and_mount(fs_type, &image, mib, options);
        disk
    }

    /// Returns a temporary directory without a filesystem yet.
    pub fn empty() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            device: String::new(),
            extra_mounts: Vec::new(),
        }
    }

    /// Creates the filesystem in a file and mounts it.
    pub fn make_and_mount(&mut self, fs_type: &str, image: &Path, mib: u64, options: &str) {
        File::create(image).unwrap().set_len(mib * MIB).unwrap();
        self.device = tool("losetup", &["--find", "--show", image.to_str().unwrap()]);
        let device = self.device.as_str();
        // mkfs must not discard: the tests measure what a trim discards.
        match fs_type {
            "xfs" => tool("mkfs.xfs", &["-q", "-K", device]),
            "ext4" => tool(
                "mkfs.ext4",
                &[
                    "-q",
                    "-E",
                    "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
                    device,
                ],
            ),
            "btrfs" => tool("mkfs.btrfs", &["-q", "-K", device]),
            other => panic!("{other}"),
        };
        let point = self.mount_point();
        fs::create_dir(&point).unwrap();
        tool("mount", &["-o", options, device, point.to_str().unwrap()]);
    }

    pub fn mount_point(&self) -> PathBuf {
        self.directory.path().join("mount")
    }

    pub fn path(&self) -> String {
        self.mount_point().display().to_string()
    }

    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Returns the bytes that the image occupies on the host.
    pub fn stored_bytes(&self) -> u64 {
        fs::metadata(self.directory.path().join("image"))
            .unwrap()
            .blocks()
            * 512
    }

    /// Writes files of random bytes and deletes every second one: free space in many extents.
    /// Returns the bytes of the remaining files.
    pub fn fragment(&self, files: u64, each_bytes: u64) -> u64 {
        let mut random = File::open("/dev/urandom").unwrap();
        let mut block = vec![0; usize::try_from(each_bytes).unwrap()];
        for number in 0..files {
            random.read_exact(&mut block).unwrap();
            let mut file = File::create(self.mount_point().join(format!("{number}"))).unwrap();
            file.write_all(&block).unwrap();
        }
        self.sync();
        for number in (0..files).step_by(2) {
            fs::remove_file(self.mount_point().join(format!("{number}"))).unwrap();
        }
        self.sync();
        files / 2 * each_bytes
    }

    pub fn sync(&self) {
        tool("sync", &["-f", &self.path()]);
    }

    /// Returns the number of discards completed by the device.
    pub fn discards(&self) -> u64 {
        let name = self.device.trim_start_matches("/dev/");
        let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_ascii_whitespace()
            .nth(11)
            .unwrap()
            .parse()
            .unwrap()
    }

    pub fn bind(&mut self) -> String {
        let point = self
            .directory
            .path()
            .join(format!("bind{}", self.extra_mounts.len()));
        fs::create_dir(&point).unwrap();
        let path = point.display().to_string();
        tool("mount", &["--bind", &self.path(), &path]);
        self.extra_mounts.push(point);
        path
    }

    /// Returns `trimtab trim` with this disk's state directory, and limits that a busy machine does
    /// not exceed.
    pub fn trim(&self, arguments: &[&str]) -> Command {
        let mut command = trimtab();
        command
            .args(["trim", "--max-latency", "5s", "--accept-stall", "60s"])
            .arg("--state")
            .arg(self.state())
            .args(arguments);
        command
    }

    /// Runs a trim to its end; panics if it hangs.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let running = self.start(arguments);
        let pid = running.id();
        let (done, ended) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let timed_out = ended.recv_timeout(TIMEOUT).is_err();
            if timed_out {
                let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
                let _ = kill_process(pid, Signal::KILL);
            }
            timed_out
        });
        let output = running.output();
        let _ = done.send(());
        let timed_out = watch.join().unwrap();
        assert!(
            !timed_out,
            "{arguments:?} did not end: {}{}",
            stdout(&output),
            stderr(&output)
        );
        output
    }

    /// Runs a trim that must end with this exit code, and returns its JSON lines.
    pub fn lines(&self, code: i32, arguments: &[&str]) -> Vec<Value> {
        let output = self.run(&[&["--format", "json"], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}{}",
            stdout(&output),
            stderr(&output)
        );
        parse(&stdout(&output))
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.trim(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(Some(command.spawn().unwrap()))
    }

    /// Starts a slow pass and waits until it has written a checkpoint with progress.
    pub fn start_slowly(&self, more: &[&str]) -> Running {
        let path = self.path();
        let mut running = self.start(&[&[path.as_str(), "--rate", "8MiB/s"], more].concat());
        wait_until("the pass is under way", || {
            assert!(
                running.is_running(),
                "the pass ended early: {}",
                running.final_output()
            );
            self.checkpoint()
                .is_some_and(|checkpoint| checkpoint["visited_bytes"].as_u64().unwrap_or(0) > 0)
        });
        running
    }

    /// Returns the checkpoint, if there is one.
    pub fn checkpoint(&self) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.checkpoint_path()?).ok()?).ok()
    }

    /// Overwrites the checkpoint.
    pub fn write_checkpoint(&self, checkpoint: &Value) {
        fs::write(self.checkpoint_path().unwrap(), checkpoint.to_string()).unwrap();
    }

    fn checkpoint_path(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.state()).ok()?;
        let name = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .find(|name| {
                name.starts_with("pass-")
                    && Path::new(name).extension().is_some_and(|e| e == "json")
            })?;
        Some(self.state().join(name))
    }

    pub fn audit(&self) -> Vec<Value> {
        parse(&fs::read_to_string(self.state().join("audit.jsonl")).unwrap_or_default())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(self.mount_point(), UnmountFlags::DETACH);
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
        for point in &self.extra_mounts {
            let _ = unmount(point, UnmountFlags::DETACH);
        }
    }
}

/// A pass in another process; killed when dropped.
pub struct Running(Option<Child>);

impl Running {
    pub fn new(child: Child) -> Self {
        Self(Some(child))
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.as_ref().unwrap().id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    pub fn final_output(&mut self) -> String {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        format!("{}{}", stdout(&output), stderr(&output))
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < TIMEOUT, "timed out waiting: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Joins wrapped lines: long paths change where they break.
pub fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn parse(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}
