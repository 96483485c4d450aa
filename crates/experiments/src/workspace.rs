//! The folder that holds everything an experiment makes, and its removal, whatever ended the experiment.
//!
//! There is no list of what was made: such a list is wrong after a crash between making and writing. Everything can be
//! found by the folder instead: processes have it in their environment, filesystems are mounted in it, and the files
//! behind loop devices lie in it. A **register** names the folders of this machine; an experiment that runs holds a lock on its entry.

use crate::control_group;
use crate::path_error::{PathError, at};
use crate::program::{ProgramError, run_program, unmount};
use linux::lock::Exclusive;
use linux::mount_points::MountPoints;
use linux::wait_ready;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// What folders of experiments are called, so that no other is ever removed.
const PREFIX: &str = "trimtab-experiment-";
/// The variable by which the processes of an experiment are found, whatever their working directory.
pub(crate) const MARK: &str = "TRIMTAB_EXPERIMENT";
const PROC: &str = "/proc";
/// The register is locked while an entry is made or removed.
const LOCK: &str = ".lock";
/// A killed process that has not ended then hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(30);
/// Removing what a crash left takes some seconds.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);
/// Longest path in an entry of the register.
const PATH_BYTES_MAX: u64 = 4096;
/// What the kernel appends to the path of a file that has been removed.
const DELETED: &[u8] = b" (deleted)";

/// Why a workspace could not be made or removed.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Another experiment has the same name.
    #[error("{}: another experiment has this name", units::escape(&.0.to_string_lossy()))]
    Taken(PathBuf),
    /// Another experiment runs.
    #[error("another experiment runs, in {}: two at once would distort each other's measurements", units::escape(&.0.to_string_lossy()))]
    Running(PathBuf),
    /// Its path has a blank.
    #[error("{}: expected a folder whose path has no blank", units::escape(&.0.to_string_lossy()))]
    Blank(PathBuf),
    /// The register names what is no workspace.
    #[error("{}: expected the path of a folder {PREFIX}..., found \"{}\"", units::escape(&entry.to_string_lossy()), units::escape(found))]
    Entry {
        /// The entry.
        entry: PathBuf,
        /// What it names.
        found: String,
    },
    /// A process in the workspace does not end.
    #[error("process {pid} of {} was killed and does not end", units::escape(&workspace.to_string_lossy()))]
    Process {
        /// Which.
        pid: i32,
        /// The workspace.
        workspace: PathBuf,
    },
    /// Another process holds the register.
    #[error("{} is locked: another experiment begins, or removes what was left", units::escape(&.0.to_string_lossy()))]
    Locked(PathBuf),
    /// A filesystem in the workspace is still mounted.
    #[error("{} is still mounted", units::escape(&.0.to_string_lossy()))]
    Mounted(PathBuf),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// What was found in a workspace and removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// The workspace.
    pub workspace: PathBuf,
    /// Processes that were killed.
    pub processes: usize,
    /// Mount points that were unmounted.
    pub mounts: Vec<PathBuf>,
    /// Loop devices that were detached.
    pub loop_devices: Vec<PathBuf>,
}

/// The folder of an experiment, registered and locked.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    entry: PathBuf,
    /// Held as long as the experiment runs. Servers must not inherit it.
    _lock: Exclusive,
}

impl Workspace {
    /// Makes the workspace `name` in the folder `within`, and enters it in the register.
    ///
    /// # Errors
    /// If either cannot be written, the name is taken, or another experiment runs.
    pub fn create(register: &Path, within: &Path, name: &str) -> Result<Self, WorkspaceError> {
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(register).map_err(at(register))?;
        let within = fs::canonicalize(within).map_err(at(within))?;
        // Servers' start scripts take their arguments apart at blanks.
        if within.to_string_lossy().contains(char::is_whitespace) {
            return Err(WorkspaceError::Blank(within));
        }
        let _locked = lock(register)?;
        if let Some(other) = running(register)? {
            return Err(WorkspaceError::Running(other));
        }
        let path = within.join(format!("{PREFIX}{name}"));
        let entry = register.join(name);
        let taken = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => WorkspaceError::Taken(path.clone()),
            _ => at(&entry)(error).into(),
        };
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&entry)
            .map_err(taken)?;
        let Some(lock) = Exclusive::attempt(opened).map_err(at(&entry))? else {
            return Err(WorkspaceError::Taken(path));
        };
        // Entered before it is made: what a crash leaves behind is found.
        (&*lock)
            .write_all(path.as_os_str().as_bytes())
            .and_then(|()| lock.sync_all())
            .map_err(at(&entry))?;
        // Servers run as another user and must get through.
        let made = DirBuilder::new().mode(0o711).create(&path);
        if let Err(source) = made {
            fs::remove_file(&entry).map_err(at(&entry))?;
            return Err(match source.kind() {
                io::ErrorKind::AlreadyExists => WorkspaceError::Taken(path),
                _ => at(&path)(source).into(),
            });
        }
        Ok(Self {
            path,
            entry,
            _lock: lock,
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Anonymous memory of its processes: what no file is behind, so that it cannot be reclaimed without swap space.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub(crate) fn memory_bytes(&self) -> Result<u64, PathError> {
        let of = |process: PathBuf| {
            // One that ends meanwhile has none.
            let status = fs::read_to_string(process.join("status")).unwrap_or_default();
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("RssAnon:"));
            let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
            kib.and_then(|kib| kib.trim().parse::<u64>().ok())
                .map_or(0, |kib| kib << 10)
        };
        Ok(processes(&self.path)?.map(of).sum())
    }

    /// Removes everything, and the entry.
    ///
    /// # Errors
    /// If something cannot be removed; the entry then stays for the next attempt.
    pub fn remove(self) -> Result<Removed, WorkspaceError> {
        clean_up(&self.path, &self.entry)
    }

    /// Removes the workspaces of experiments that no longer run.
    ///
    /// # Errors
    /// If the register cannot be read. What cannot be removed of a workspace is its own result.
    pub fn remove_abandoned(
        register: &Path,
    ) -> Result<Vec<Result<Removed, WorkspaceError>>, WorkspaceError> {
        let entries = match fs::read_dir(register) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at(register))?,
        };
        let _locked = lock(register)?;
        let mut removed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(at(register))?.path();
            if entry.ends_with(LOCK) {
                continue;
            }
            if let Some(result) = remove_if_abandoned(&entry).transpose() {
                removed.push(result);
            }
        }
        Ok(removed)
    }
}

/// The workspace of an experiment that holds its lock.
fn running(register: &Path) -> Result<Option<PathBuf>, WorkspaceError> {
    for entry in fs::read_dir(register).map_err(at(register))? {
        let entry = entry.map_err(at(register))?.path();
        if entry.ends_with(LOCK) {
            continue;
        }
        let file = match File::open(&entry) {
            // It has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file.map_err(at(&entry))?,
        };
        let workspace = named(&file, &entry)?;
        if Exclusive::attempt(file).map_err(at(&entry))?.is_none() {
            return Ok(Some(workspace));
        }
    }
    Ok(None)
}

/// The workspace that an entry names.
fn named(entry: &File, path: &Path) -> Result<PathBuf, WorkspaceError> {
    let mut named = Vec::new();
    entry
        .take(PATH_BYTES_MAX)
        .read_to_end(&mut named)
        .map_err(at(path))?;
    Ok(std::ffi::OsString::from_vec(named).into())
}

fn remove_if_abandoned(entry: &Path) -> Result<Option<Removed>, WorkspaceError> {
    let file = match File::open(entry) {
        // Its experiment has just ended.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(at(entry))?,
    };
    let Some(abandoned) = Exclusive::attempt(file).map_err(at(entry))? else {
        return Ok(None);
    };
    let path = named(&abandoned, entry)?;
    if path.as_os_str().is_empty() {
        // Ended before anything was made.
        fs::remove_file(entry).map_err(at(entry))?;
        return Ok(None);
    }
    let name = path.file_name().map(OsStrExt::as_bytes);
    if !path.is_absolute() || !name.is_some_and(|name| name.starts_with(PREFIX.as_bytes())) {
        return Err(WorkspaceError::Entry {
            entry: entry.to_owned(),
            found: path.to_string_lossy().into_owned(),
        });
    }
    clean_up(&path, entry).map(Some)
}

fn clean_up(workspace: &Path, entry: &Path) -> Result<Removed, WorkspaceError> {
    let removed = Removed {
        workspace: workspace.to_owned(),
        processes: kill_processes(workspace)?,
        mounts: unmount_all(workspace)?,
        loop_devices: detach(workspace)?,
    };
    control_group::remove(workspace)?;
    // Removing files must never reach into a filesystem.
    if let Some(mounted) = mounts_in(workspace)?.pop() {
        return Err(WorkspaceError::Mounted(mounted));
    }
    let unless_gone = |path: &Path, removed: io::Result<()>| match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(at(path)),
    };
    unless_gone(workspace, fs::remove_dir_all(workspace))?;
    unless_gone(entry, fs::remove_file(entry))?;
    Ok(removed)
}

/// Locks the register.
fn lock(register: &Path) -> Result<Exclusive, WorkspaceError> {
    let path = register.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(at(&path))?;
    Exclusive::within(file, LOCK_PATIENCE)
        .map_err(at(&path))?
        .ok_or(WorkspaceError::Locked(path))
}

/// Kills the processes that an experiment has started, by the mark in their environment, and returns their number.
/// Others that work in the folder, such as a shell, are not touched.
fn kill_processes(workspace: &Path) -> Result<usize, WorkspaceError> {
    let proc = Path::new(PROC);
    let mut killed: Vec<(Pid, OwnedFd)> = Vec::new();
    for process in processes(workspace)? {
        let name = process.file_name().and_then(std::ffi::OsStr::to_str);
        let pid = name.and_then(|name| name.parse::<i32>().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        // Looked at again through a descriptor: the number may already be another process's.
        if let Ok(fd) = pidfd_open(pid, PidfdFlags::empty())
            && is_of(&process, workspace)
        {
            // Fails only if it has ended.
            let _ = pidfd_send_signal(&fd, Signal::KILL);
            killed.push((pid, fd));
        }
    }
    let until = Instant::now() + KILL_PATIENCE;
    for (pid, fd) in &killed {
        let mut ended = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
        if !wait_ready(&mut ended, until).map_err(at(proc))? {
            return Err(WorkspaceError::Process {
                pid: pid.as_raw_nonzero().get(),
                workspace: workspace.to_owned(),
            });
        }
    }
    Ok(killed.len())
}

/// Processes that an experiment has started, as folders in `/proc`.
fn processes(workspace: &Path) -> Result<impl Iterator<Item = PathBuf>, PathError> {
    let proc = Path::new(PROC);
    Ok(fs::read_dir(proc)
        .map_err(at(proc))?
        .flatten()
        .map(|process| process.path())
        .filter(move |process| is_of(process, workspace)))
}

fn is_of(process: &Path, workspace: &Path) -> bool {
    fs::read(process.join("environ")).is_ok_and(|environment| is_marked(&environment, workspace))
}

/// Mount points in the workspace, those below others last.
fn mounts_in(workspace: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let path = Path::new("/proc/self/mountinfo");
    let mountinfo = fs::read(path).map_err(at(path))?;
    let mounts = MountPoints::parse(&mountinfo);
    Ok(mounts
        .iter()
        .map(|mount| PathBuf::from(&mount.at))
        .filter(|at| at.starts_with(workspace))
        .collect())
}

fn unmount_all(workspace: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let mounts = mounts_in(workspace)?;
    for at in mounts.iter().rev() {
        unmount(at)?;
    }
    Ok(mounts)
}

/// Detaches loop devices whose files lie in the workspace.
fn detach(workspace: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let block = Path::new("/sys/block");
    let mut detached = Vec::new();
    for device in fs::read_dir(block).map_err(at(block))?.flatten() {
        // Other devices, and free loop devices, have no such file.
        let Ok(mut backing) = fs::read(device.path().join("loop/backing_file")) else {
            continue;
        };
        if backing.last() == Some(&b'\n') {
            backing.pop();
        }
        let backing = backing.strip_suffix(DELETED).unwrap_or(&backing);
        if lies_in(backing, workspace) {
            let path = Path::new("/dev").join(device.file_name());
            run_program("losetup", "mount", ["--detach".as_ref(), path.as_os_str()])?;
            detached.push(path);
        }
    }
    Ok(detached)
}

/// Whether an environment has the mark of this workspace.
fn is_marked(environment: &[u8], workspace: &Path) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes());
        value.and_then(|value| value.strip_prefix(b"=")) == Some(workspace.as_os_str().as_bytes())
    })
}

fn lies_in(path: &[u8], workspace: &Path) -> bool {
    Path::new(std::ffi::OsStr::from_bytes(path)).starts_with(workspace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    struct Folders {
        register: PathBuf,
        within: PathBuf,
        _held: tempfile::TempDir,
    }

    fn folders() -> Folders {
        let held = tempfile::tempdir().unwrap();
        let within = held.path().join("within");
        fs::create_dir(&within).unwrap();
        Folders {
            register: held.path().join("register"),
            within,
            _held: held,
        }
    }

    /// As after a crash: the lock is gone, everything else is there.
    fn abandon(workspace: Workspace) -> PathBuf {
        let Workspace { path, .. } = workspace;
        path
    }

    #[test]
    fn an_abandoned_workspace_is_removed_with_its_processes() {
        let of = folders();
        let workspace = Workspace::create(&of.register, &of.within, "a").unwrap();
        fs::write(workspace.path().join("file"), "x").unwrap();
        let mut sleeper = Command::new("sleep")
            .arg("600")
            .env(MARK, workspace.path())
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // spawn() returns within execve(2), when the new program's environment cannot be read yet.
        let process = Path::new(PROC).join(sleeper.id().to_string());
        while !is_of(&process, workspace.path()) {
            std::thread::yield_now();
        }
        let path = abandon(workspace);
        let mut removed = Workspace::remove_abandoned(&of.register).unwrap();
        let removed = removed.remove(0).unwrap();
        assert_eq!((&removed.workspace, removed.processes), (&path, 1));
        assert!(!sleeper.wait().unwrap().success());
        assert!(!path.exists());
        assert!(
            Workspace::remove_abandoned(&of.register)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_shell_in_the_folder_is_not_killed() {
        let of = folders();
        let workspace = Workspace::create(&of.register, &of.within, "a").unwrap();
        let mut shell = Command::new("sleep")
            .arg("600")
            .current_dir(workspace.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(workspace.remove().unwrap().processes, 0);
        assert!(shell.try_wait().unwrap().is_none());
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_path_with_a_blank_is_refused() {
        let of = folders();
        let within = of.within.join("a b");
        fs::create_dir(&within).unwrap();
        let refused = Workspace::create(&of.register, &within, "a");
        assert!(
            matches!(refused, Err(WorkspaceError::Blank(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn one_that_runs_is_left_alone() {
        let of = folders();
        let workspace = Workspace::create(&of.register, &of.within, "a").unwrap();
        assert!(
            Workspace::remove_abandoned(&of.register)
                .unwrap()
                .is_empty()
        );
        assert!(workspace.path().exists());
        let path = workspace.path().to_owned();
        let second = Workspace::create(&of.register, &of.within, "b");
        assert!(
            matches!(&second, Err(WorkspaceError::Running(other)) if *other == path),
            "{second:?}"
        );
        workspace.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_workspace_is_never_removed() {
        let of = folders();
        let other = of.within.join("data");
        fs::create_dir(&other).unwrap();
        fs::create_dir(&of.register).unwrap();
        for named in [other.to_str().unwrap(), "trimtab-experiment-relative", "/"] {
            fs::write(of.register.join("entry"), named).unwrap();
            let removed = Workspace::remove_abandoned(&of.register).unwrap();
            assert!(
                matches!(removed[..], [Err(WorkspaceError::Entry { .. })]),
                "{removed:?}"
            );
        }
        assert!(other.exists());
    }

    #[test]
    fn a_name_that_begins_alike_lies_elsewhere() {
        let workspace = Path::new("/a/trimtab-experiment-1");
        assert!(lies_in(b"/a/trimtab-experiment-1/image", workspace));
        assert!(!lies_in(b"/a/trimtab-experiment-10/image", workspace));
    }
}
