//! A control group around a server: less memory, page cache included, or less CPU time than the machine has.
//!
//! Versions 1 and 2 of control groups differ in places and files (Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst
//! of the kernel). A group has the name of the workspace, by which it is found and removed after a crash.

use bench::path_error::{PathError, at};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const ROOT: &str = "/sys/fs/cgroup";
/// Present if all controllers are in one hierarchy (version 2).
const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
/// Controllers with a hierarchy of their own in version 1.
const OF_VERSION_1: [&str; 2] = ["memory", "cpu"];
/// Period of the CPU limit.
const PERIOD_US: u64 = 100_000;
/// A group is busy for a moment after its last process has ended.
const REMOVE_PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Limits of a group.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GroupLimits {
    /// Memory with the page cache of the files that it reads and writes.
    pub memory_bytes: Option<u64>,
    /// CPU time per time: 0.5 is half of one CPU.
    pub cpus: Option<f64>,
}

/// A group that a server is started in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControlGroup {
    folders: Vec<PathBuf>,
}

impl ControlGroup {
    /// Makes the group of a workspace, or changes the limits of the one that is there.
    pub(crate) fn create(workspace: &Path, limits: &GroupLimits) -> Result<Self, PathError> {
        let cpus_us = limits.cpus.map(quota_us);
        if Path::new(CONTROLLERS).exists() {
            let control = Path::new(ROOT).join("cgroup.subtree_control");
            write(&control, "+cpu +memory")?;
            let folder = make(Path::new(ROOT), workspace)?;
            let memory = limits.memory_bytes.map(|bytes| bytes.to_string());
            let memory = memory.as_deref().unwrap_or("max");
            write(&folder.join("memory.max"), memory)?;
            if limits.memory_bytes.is_some() && folder.join("memory.swap.max").exists() {
                // A heap in swap space would be measured instead of the filesystem.
                write(&folder.join("memory.swap.max"), "0")?;
            }
            let quota = cpus_us.map_or_else(|| "max".to_owned(), |quota| quota.to_string());
            write(&folder.join("cpu.max"), &format!("{quota} {PERIOD_US}"))?;
            return Ok(Self {
                folders: vec![folder],
            });
        }
        let [memory, cpu] = OF_VERSION_1.map(|controller| Path::new(ROOT).join(controller));
        let (memory, cpu) = (make(&memory, workspace)?, make(&cpu, workspace)?);
        let bytes = limits
            .memory_bytes
            .map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string());
        write(&memory.join("memory.limit_in_bytes"), &bytes)?;
        if limits.memory_bytes.is_some() {
            write(&memory.join("memory.swappiness"), "0")?;
        }
        write(&cpu.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
        let quota = cpus_us.map_or_else(|| "-1".to_owned(), |quota| quota.to_string());
        write(&cpu.join("cpu.cfs_quota_us"), &quota)?;
        Ok(Self {
            folders: vec![memory, cpu],
        })
    }

    /// Files that a process writes its id to in order to enter the group.
    pub(crate) fn process_files(&self) -> impl Iterator<Item = PathBuf> {
        self.folders
            .iter()
            .map(|folder| folder.join("cgroup.procs"))
    }
}

/// Removes the group of a workspace, whose processes have ended.
pub(crate) fn remove(workspace: &Path) -> Result<(), PathError> {
    let root = Path::new(ROOT);
    let parents = OF_VERSION_1.map(|controller| root.join(controller));
    for parent in parents.iter().map(PathBuf::as_path).chain([root]) {
        let folder = parent.join(name(workspace));
        // The root of version 1 may be read-only, where even the attempt fails.
        if !folder.exists() {
            continue;
        }
        let until = Instant::now() + REMOVE_PATIENCE;
        loop {
            match fs::remove_dir(&folder) {
                Err(error) if is_busy(&error) && Instant::now() < until => thread::sleep(POLL),
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                removed => {
                    removed.map_err(at(&folder))?;
                    break;
                }
            }
        }
    }
    Ok(())
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

fn name(workspace: &Path) -> &Path {
    Path::new(workspace.file_name().unwrap_or_default())
}

fn make(parent: &Path, workspace: &Path) -> Result<PathBuf, PathError> {
    let folder = parent.join(name(workspace));
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(at(&folder)(error)),
        _ => Ok(folder),
    }
}

fn write(path: &Path, text: &str) -> Result<(), PathError> {
    fs::write(path, text).map_err(at(path))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)] // a limit of some CPUs
fn quota_us(cpus: f64) -> u64 {
    // The kernel takes 1 ms at the least.
    ((cpus * PERIOD_US as f64) as u64).max(1_000)
}
