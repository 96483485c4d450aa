//! Loop devices, filesystems and processes that a test creates and that are cleaned up when it
//! ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Returns whether the test runs as root, which loop devices and mounts need; if not, prints that
/// the test is skipped.
pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: needs root for loop devices");
    }
    is_root
}

/// Runs a command that must succeed, and returns its output.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Waits until a condition holds.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_mins(1), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the example program with the processes that tests start, built by `cargo test` beside
/// them.
pub fn helper() -> &'static Path {
    static HELPER: OnceLock<PathBuf> = OnceLock::new();
    HELPER.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        let directory = test.parent().and_then(Path::parent).expect("target/debug");
        let helper = directory.join("examples/trim_helper");
        // `cargo test --test it` does not build examples, and leaves old ones.
        if let Some(cargo) = std::env::var_os("CARGO") {
            let built = Command::new(cargo)
                .args(["build", "--quiet", "--package", "trim"])
                .args(["--example", "trim_helper"])
                .status();
            assert!(built.is_ok_and(|status| status.success()), "no helper");
        }
        helper
    })
}

/// An image file behind a loop device.
#[derive(Debug)]
pub struct Loop {
    pub image: PathBuf,
    pub device: String,
}

impl Loop {
    pub fn attach(image: &Path) -> Self {
        let path = image.to_str().expect("a plain path");
        Self {
            image: image.to_owned(),
            device: run("losetup", &["--find", "--show", path]),
        }
    }

    pub fn sparse(directory: &Path, name: &str, size_bytes: u64) -> Self {
        let image = directory.join(name);
        let file = std::fs::File::create_new(&image).expect("an image");
        file.set_len(size_bytes).expect("its size");
        Self::attach(&image)
    }

    /// Returns the kernel name, such as `loop7`.
    fn kernel_name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    pub fn sysfs(&self, attribute: &str) -> PathBuf {
        Path::new("/sys/block")
            .join(self.kernel_name())
            .join(attribute)
    }

    /// Returns how much space the image still occupies.
    pub fn stored_bytes(&self) -> u64 {
        std::fs::metadata(&self.image).unwrap().blocks() * 512
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

/// A mounted filesystem.
#[derive(Debug)]
pub struct Mounted {
    pub mount_point: PathBuf,
}

impl Mounted {
    /// Creates and mounts a filesystem without discarding anything.
    pub fn make(fs_type: &str, device: &str, mount_point: &Path) -> Self {
        match fs_type {
            "ext4" => run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", device]),
            "xfs" => run("mkfs.xfs", &["-q", "-f", "-K", device]),
            "btrfs" => run("mkfs.btrfs", &["-q", "-f", "-K", device]),
            other => panic!("{other}"),
        };
        Self::mount(device, mount_point)
    }

    pub fn mount(device: &str, mount_point: &Path) -> Self {
        std::fs::create_dir_all(mount_point).expect("a mount point");
        let path = mount_point.to_str().expect("a plain path");
        run("mount", &[device, path]);
        Self {
            mount_point: mount_point.to_owned(),
        }
    }

    pub fn tmpfs(mount_point: &Path) -> Self {
        std::fs::create_dir_all(mount_point).expect("a mount point");
        let path = mount_point.to_str().expect("a plain path");
        run("mount", &["-t", "tmpfs", "tmpfs", path]);
        Self {
            mount_point: mount_point.to_owned(),
        }
    }

    /// Unmounts it; fails the test if it is busy.
    pub fn unmount(self) {
        run("umount", &[self.mount_point.to_str().unwrap()]);
        std::mem::forget(self);
    }

    /// Writes a file and deletes it again, which leaves free space that is still stored below.
    pub fn make_free_space(&self, len_bytes: usize) {
        let path = self.mount_point.join("garbage");
        std::fs::write(&path, vec![0xA5; len_bytes]).expect("a file");
        run("sync", &["-f", self.mount_point.to_str().unwrap()]);
        std::fs::remove_file(&path).expect("its end");
        run("sync", &["-f", self.mount_point.to_str().unwrap()]);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.mount_point)
            .status();
    }
}

/// A filesystem in which nothing can be written until it is thawed.
#[derive(Debug)]
pub struct Frozen {
    mount_point: PathBuf,
}

impl Frozen {
    pub fn freeze(mounted: &Mounted) -> Self {
        let mount_point = mounted.mount_point.clone();
        run("fsfreeze", &["-f", mount_point.to_str().unwrap()]);
        Self { mount_point }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze")
            .arg("-u")
            .arg(&self.mount_point)
            .status();
    }
}

/// One of the helper's processes; killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(helper())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the helper");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("its stdout"));
        Self {
            child: process,
            stdin,
            stdout,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its next line of output; empty at its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("its stdout");
        line.trim_end().to_owned()
    }

    /// Writes a line to it.
    pub fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("its stdin");
        writeln!(stdin, "{line}").expect("its stdin");
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }

    pub fn wait(&mut self) {
        self.stdin = None;
        self.child.wait().expect("wait");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to one process.
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).expect("a process to send a signal to");
}

/// Returns whether a process is running: neither gone nor a zombie.
pub fn is_alive(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z')
}

/// Returns a process's state as in `proc_pid_stat(5)`; `None` if it is gone.
fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Returns the processes whose parent is this one.
pub fn children_of(pid: u32) -> Vec<u32> {
    std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}
