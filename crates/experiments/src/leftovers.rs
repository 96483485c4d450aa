//! What an experiment has made on this machine outside its folder, found and removed: processes by a mark in their
//! environment, mounts by what they are mounted on, loop devices by the file behind them. None is found by a path.

use crate::program::unmount_in;
use crate::variant::FilesystemKind;
use bench::path_error::{PathError, at};
use linux::folder::{FileId, Folder};
use linux::loop_device::LoopDevice;
use linux::mount_id::MountId;
use linux::mount_points::{MountPoint, MountPoints};
use linux::mountinfo::MountLine;
use linux::wait_ready;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The variable by which the processes of an experiment are found, whatever their working directory.
pub(crate) const MARK: &str = "TRIMTAB_EXPERIMENT";
const PROC: &str = "/proc";
const MOUNTINFO: &str = "/proc/self/mountinfo";
/// A killed process that has not ended then hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(30);

/// Why something could not be removed.
#[derive(Debug, Error)]
pub enum LeftoverError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A process does not end.
    #[error("process {pid} of {} was killed and does not end", units::escape(&workspace.to_string_lossy()))]
    Process {
        /// Which.
        pid: i32,
        /// The workspace.
        workspace: PathBuf,
    },
}

/// Kills the processes that an experiment has started, by the mark in their environment, and returns their number.
/// Others that work in the folder, such as a shell, are not touched.
pub(crate) fn kill_processes(workspace: &Path) -> Result<usize, LeftoverError> {
    let proc = Path::new(PROC);
    let mut killed: Vec<(Pid, OwnedFd)> = Vec::new();
    for process in processes(workspace)? {
        let name = process.file_name().and_then(OsStr::to_str);
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
            return Err(LeftoverError::Process {
                pid: pid.as_raw_nonzero().get(),
                workspace: workspace.to_owned(),
            });
        }
    }
    Ok(killed.len())
}

/// Processes that an experiment has started, as folders in `/proc`.
pub(crate) fn processes(workspace: &Path) -> Result<impl Iterator<Item = PathBuf>, PathError> {
    let proc = Path::new(PROC);
    Ok(fs::read_dir(proc)
        .map_err(at(proc))?
        .flatten()
        .map(|process| process.path())
        .filter(move |process| is_of(process, workspace)))
}

pub(crate) fn is_of(process: &Path, workspace: &Path) -> bool {
    fs::read(process.join("environ")).is_ok_and(|environment| is_marked(&environment, workspace))
}

fn is_marked(environment: &[u8], workspace: &Path) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes());
        value.and_then(|value| value.strip_prefix(b"=")) == Some(workspace.as_os_str().as_bytes())
    })
}

/// Unmounts what an experiment has mounted, wherever that is by now: the filesystems on its loop devices, and those that
/// are mounted directly in its folder. Returns their mount points.
pub(crate) fn unmount_all(
    folder: Option<FileId>,
    devices: &[LoopDevice],
) -> Result<Vec<PathBuf>, LeftoverError> {
    let mountinfo = fs::read(MOUNTINFO).map_err(at(Path::new(MOUNTINFO)))?;
    let points = MountPoints::parse(&mountinfo);
    let lines = mountinfo.split(|&byte| byte == b'\n');
    let mut unmounted = Vec::new();
    let mounts: Vec<MountLine<'_>> = lines.filter_map(MountLine::parse).collect();
    // Those below others come last.
    for mount in mounts.iter().rev() {
        let is_ours = FilesystemKind::ALL
            .iter()
            .any(|kind| kind.name().as_bytes() == &*mount.fs_type);
        let on_ours = devices
            .iter()
            .any(|device| device.path().as_os_str().as_bytes() == &*mount.source);
        let path = Path::new(OsStr::from_bytes(&mount.mount_point));
        // Whatever lies below a server that may not answer is not looked at.
        let above = path.parent().map(Path::to_string_lossy);
        let is_remote = above.is_some_and(|above| points.remote_fs(&above).is_some());
        if !is_ours || is_remote {
            continue;
        }
        let Some((parent, name)) = mounted_in(mount, path) else {
            continue;
        };
        let lies_in_folder = folder.is_some() && parent.id().ok() == folder;
        if on_ours || lies_in_folder {
            unmount_in(&parent, &name)?;
            unmounted.push(path.to_owned());
        }
    }
    unmounted.reverse();
    Ok(unmounted)
}

/// The folder in which a mount point lies, and its name there; `None` if the path leads elsewhere.
fn mounted_in(mount: &MountLine<'_>, path: &Path) -> Option<(Folder, String)> {
    let name = path.file_name()?.to_str()?.to_owned();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let id = MountId::of(root.as_fd(), path).ok()?;
    if !id.is_root || id.id != mount.id {
        return None;
    }
    let parent = Folder::above(root.as_fd(), path.parent()?).ok()?;
    Some((parent, name))
}

pub(crate) fn detach(devices: Vec<LoopDevice>) -> Result<Vec<PathBuf>, LeftoverError> {
    let mut detached = Vec::new();
    for device in devices {
        let path = device.path().to_owned();
        device.detach().map_err(at(&path))?;
        detached.push(path);
    }
    Ok(detached)
}

/// A filesystem that is mounted in a folder, wherever the folder is by now.
pub(crate) fn mount_below(folder: &Folder) -> Result<Option<PathBuf>, PathError> {
    let here = folder.descriptor_path();
    let here = fs::read_link(&here).map_err(at(&here))?;
    let path = Path::new(MOUNTINFO);
    let mountinfo = fs::read(path).map_err(at(path))?;
    let points = MountPoints::parse(&mountinfo);
    let mut below = points
        .iter()
        .map(|MountPoint { at, .. }| PathBuf::from(at))
        .filter(|at| at.starts_with(&here));
    Ok(below.next())
}
