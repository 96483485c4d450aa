//! The folder that holds everything an experiment makes, and its removal, whatever ended the experiment.
//!
//! The folder is held open from its creation on, and what root does in it goes by descriptor: so nobody who can rename a
//! folder above has root write, mount or remove elsewhere. A [register](crate::register) names the folders of this
//! machine by device and inode, so that what a crash leaves is found, too, whatever its path is by then.

use crate::control_group;
use crate::leftovers::{
    LeftoverError, detach, kill_processes, mount_below, processes, unmount_all,
};
use crate::register::{Entry, Recorded, Register, RegisterError};
use bench::path_error::{PathError, at};
use linux::folder::{FileId, Folder, OthersWrite};
use linux::loop_device::LoopDevice;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What folders of experiments are called, so that no other is ever removed.
const PREFIX: &str = "trimtab-experiment-";

/// Why a workspace could not be made or removed.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The register.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// Another user could put another folder in its place.
    #[error("{} {why}", units::escape(&folder.to_string_lossy()))]
    Unprotected {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another experiment has the same name.
    #[error("{}: another experiment has this name", units::escape(&.0.to_string_lossy()))]
    Taken(PathBuf),
    /// Another experiment runs.
    #[error("another experiment runs, in {}: two at once would distort each other's measurements", units::escape(&.0.to_string_lossy()))]
    Running(PathBuf),
    /// Its path has a blank.
    #[error("{}: expected a folder whose path is UTF-8 and has no blank", units::escape(&.0.to_string_lossy()))]
    Blank(PathBuf),
    /// An entry of the register names what is no workspace.
    #[error("{}: expected the path of a folder {PREFIX}..., found \"{}\"", units::escape(&entry.to_string_lossy()), units::escape(found))]
    Entry {
        /// The entry.
        entry: PathBuf,
        /// What it names.
        found: String,
    },
    /// A process, a mount or a loop device.
    #[error(transparent)]
    Leftover(#[from] LeftoverError),
    /// A filesystem in the workspace is still mounted.
    #[error("{} is still mounted", units::escape(&.0.to_string_lossy()))]
    Mounted(PathBuf),
    /// Somebody moved the folder, or put another one in its place.
    #[error("{} is not the folder that the experiment made: it was moved or replaced, and what is there now was not touched", units::escape(&.0.to_string_lossy()))]
    Moved(PathBuf),
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
    within: Folder,
    folder: Folder,
    /// Held as long as the experiment runs. Servers must not inherit it.
    entry: Entry,
}

impl Workspace {
    /// Makes the workspace `name` in the folder `within`, and enters it in the register. No other user must be able to put
    /// another folder in the place of `within`.
    ///
    /// # Errors
    /// If either cannot be written, `within` is another user's, the name is taken, or another experiment runs.
    pub fn create(register: &Path, within: &Path, name: &str) -> Result<Self, WorkspaceError> {
        let within = protected(within)?;
        let is_plain = |text: &str| !text.contains(char::is_whitespace);
        // Servers' start scripts take their arguments apart at blanks.
        if !within.path().to_str().is_some_and(is_plain) {
            return Err(WorkspaceError::Blank(within.path().to_owned()));
        }
        let register = Register::open(register)?;
        if let Some(other) = register.running()?.first() {
            return Err(WorkspaceError::Running(workspace_of(&register, other)));
        }
        let name_of_folder = format!("{PREFIX}{name}");
        let path = within.join(&name_of_folder);
        let Some(entry) = register.enter(name)? else {
            return Err(WorkspaceError::Taken(path));
        };
        let made = entry
            .record_workspace(&path)
            .map_err(Into::into)
            .and_then(|()| {
                // Servers run as another user and must get through.
                let folder = within.make_folder(&name_of_folder, 0o711);
                let folder = folder.map_err(|source| match source.kind() {
                    io::ErrorKind::AlreadyExists => WorkspaceError::Taken(path.clone()),
                    _ => at(&path)(source).into(),
                })?;
                let id = folder.id().map_err(at(&path))?;
                if let Err(error) = entry.record_folder(id) {
                    remove_empty(&within, &name_of_folder)?;
                    return Err(error.into());
                }
                Ok(folder)
            });
        match made {
            Ok(folder) => Ok(Self {
                within,
                folder,
                entry,
            }),
            Err(error) => {
                entry.remove()?;
                Err(error)
            }
        }
    }

    /// The path of the folder when it was made, for people and for other programs.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Records a file before a loop device is put before it.
    pub(crate) fn record_image(&self, image: FileId) -> Result<(), RegisterError> {
        self.entry.record_image(image)
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
        Ok(processes(self.path())?.map(of).sum())
    }

    /// Removes everything, and the entry.
    ///
    /// # Errors
    /// If something cannot be removed; the entry then stays for the next attempt.
    pub fn remove(self) -> Result<Removed, WorkspaceError> {
        let recorded = self.entry.read()?;
        let removed = end_all(self.path(), &recorded)?;
        remove_folder(&self.within, &self.folder)?;
        self.entry.remove()?;
        Ok(removed)
    }

    /// Removes the workspaces of experiments that no longer run.
    ///
    /// # Errors
    /// If the register cannot be read. What cannot be removed of a workspace is its own result.
    pub fn remove_abandoned(
        register: &Path,
    ) -> Result<Vec<Result<Removed, WorkspaceError>>, WorkspaceError> {
        let Some(register) = Register::existing(register)? else {
            return Ok(Vec::new());
        };
        let mut removed = Vec::new();
        for name in register.names()? {
            if let Some(result) = remove_if_abandoned(&register, &name).transpose() {
                removed.push(result);
            }
        }
        Ok(removed)
    }
}

/// Opens a folder in whose place no other user can put another one.
fn protected(path: &Path) -> Result<Folder, WorkspaceError> {
    Folder::open_protected(path, OthersWrite::IfSticky).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => WorkspaceError::Unprotected {
            folder: path.to_owned(),
            why: error.to_string(),
        },
        _ => at(path)(error).into(),
    })
}

/// The workspace that an entry names; the entry, if it names none yet.
fn workspace_of(register: &Register, name: &str) -> PathBuf {
    let recorded = register.read(name).ok();
    let path = recorded.and_then(|recorded| recorded.workspace);
    path.unwrap_or_else(|| register.path(name))
}

fn remove_if_abandoned(register: &Register, name: &str) -> Result<Option<Removed>, WorkspaceError> {
    let Some(entry) = register.take_abandoned(name)? else {
        return Ok(None);
    };
    let recorded = entry.read()?;
    let Some(path) = &recorded.workspace else {
        // Ended before anything was made.
        entry.remove()?;
        return Ok(None);
    };
    let folder_name = path.file_name().map(OsStrExt::as_bytes);
    if !path.is_absolute() || !folder_name.is_some_and(|name| name.starts_with(PREFIX.as_bytes())) {
        return Err(WorkspaceError::Entry {
            entry: entry.path(),
            found: path.to_string_lossy().into_owned(),
        });
    }
    let removed = end_all(path, &recorded)?;
    let left = remove_abandoned_folder(path, &recorded);
    // Whatever took the folder's place is there the next time as well, and is not ours.
    if matches!(left, Ok(()) | Err(WorkspaceError::Moved(_))) {
        entry.remove()?;
    }
    left.map(|()| Some(removed))
}

/// Ends what runs, is mounted and is attached, whatever the folder's path leads to by now.
fn end_all(path: &Path, recorded: &Recorded) -> Result<Removed, WorkspaceError> {
    let processes = kill_processes(path)?;
    let (mounts, loop_devices) = if recorded.is_of_this_boot {
        let devices = LoopDevice::of_files(&recorded.images);
        let devices = devices.map_err(at(Path::new("/sys/block")))?;
        (unmount_all(recorded.folder, &devices)?, detach(devices)?)
    } else {
        (Vec::new(), Vec::new())
    };
    control_group::remove(path)?;
    Ok(Removed {
        workspace: path.to_owned(),
        processes,
        mounts,
        loop_devices,
    })
}

/// Removes the folder that an experiment left, if it is still that one.
fn remove_abandoned_folder(path: &Path, recorded: &Recorded) -> Result<(), WorkspaceError> {
    let (Some(above), Some(name)) = (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) else {
        return Ok(());
    };
    let is_missing = |error: &WorkspaceError| match error {
        WorkspaceError::Path(error) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    };
    let within = match protected(above) {
        Err(error) if is_missing(&error) => return Ok(()),
        within => within?,
    };
    if within.stat(name).map_err(at(path))?.is_none() {
        return Ok(());
    }
    let folder = within
        .folder(name)
        .map_err(|_| WorkspaceError::Moved(path.to_owned()))?;
    let found = folder.id().map_err(at(path))?;
    let is_it = match recorded.folder {
        Some(made) if recorded.is_of_this_boot => made == found,
        // Devices have other numbers.
        Some(made) => made.inode == found.inode,
        // It was killed before it made anything in it.
        None => return remove_empty(&within, name),
    };
    if !is_it {
        return Err(WorkspaceError::Moved(path.to_owned()));
    }
    remove_folder(&within, &folder)
}

fn remove_empty(within: &Folder, name: &str) -> Result<(), WorkspaceError> {
    within.remove_folder(name).map_err(at(&within.join(name)))?;
    Ok(())
}

/// Removes all that is in the folder, and the folder.
fn remove_folder(within: &Folder, folder: &Folder) -> Result<(), WorkspaceError> {
    let path = folder.path();
    // Removing files must never reach into a filesystem.
    if let Some(mounted) = mount_below(folder)? {
        return Err(WorkspaceError::Mounted(mounted));
    }
    folder.empty().map_err(at(path))?;
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let made = folder.id().map_err(at(path))?;
    let there = within.stat(name).map_err(at(path))?;
    if there.is_none_or(|there| FileId::from(&there) != made) {
        return Err(WorkspaceError::Moved(path.to_owned()));
    }
    remove_empty(within, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leftovers::{MARK, is_of};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
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
        let Workspace { folder, .. } = workspace;
        folder.path().to_owned()
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
        let process = Path::new("/proc").join(sleeper.id().to_string());
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
        let register = Register::open(&of.register).unwrap();
        for path in [other.to_str().unwrap(), "trimtab-experiment-relative", "/"] {
            let entry = register.enter("entry").unwrap().unwrap();
            entry.record_workspace(Path::new(path)).unwrap();
            entry
                .record_folder(FileId::of(fs::File::open(&other).unwrap()).unwrap())
                .unwrap();
            drop(entry);
            let removed = remove_if_abandoned(&register, "entry");
            assert!(
                matches!(removed, Err(WorkspaceError::Entry { .. })),
                "{removed:?}"
            );
            fs::remove_file(of.register.join("entry")).unwrap();
        }
        assert!(other.exists());
    }

    #[test]
    fn what_took_the_place_of_a_workspace_is_not_touched() {
        let of = folders();
        let theirs = of.within.join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("precious"), "").unwrap();
        for is_link in [true, false] {
            let workspace = Workspace::create(&of.register, &of.within, "a").unwrap();
            fs::write(workspace.path().join("file"), "x").unwrap();
            let path = abandon(workspace);
            let away = of.within.join("away");
            fs::rename(&path, &away).unwrap();
            if is_link {
                symlink(&theirs, &path).unwrap();
            } else {
                fs::rename(&theirs, &path).unwrap();
            }
            let removed = Workspace::remove_abandoned(&of.register).unwrap();
            assert!(
                matches!(removed[..], [Err(WorkspaceError::Moved(_))]),
                "{removed:?}"
            );
            assert!(path.join("precious").exists());
            // It is reported once.
            assert!(
                Workspace::remove_abandoned(&of.register)
                    .unwrap()
                    .is_empty()
            );
            fs::remove_dir_all(&away).unwrap();
            if is_link {
                fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn a_workspace_that_was_moved_is_emptied_where_it_is() {
        let of = folders();
        let workspace = Workspace::create(&of.register, &of.within, "a").unwrap();
        fs::write(workspace.path().join("file"), "x").unwrap();
        let (path, away) = (workspace.path().to_owned(), of.within.join("away"));
        fs::rename(&path, &away).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "theirs").unwrap();
        let removed = workspace.remove();
        assert!(
            matches!(removed, Err(WorkspaceError::Moved(_))),
            "{removed:?}"
        );
        assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
        assert_eq!(fs::read(path.join("file")).unwrap(), b"theirs");
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let of = folders();
        let below = of.within.join("below");
        fs::create_dir(&below).unwrap();
        chown(&of.within, Some(12345), None).unwrap();
        for within in [&of.within, &below] {
            let refused = Workspace::create(&of.register, within, "a");
            let Err(WorkspaceError::Unprotected { why, .. }) = refused else {
                panic!("{refused:?}");
            };
            assert!(why.contains("belongs to user 12345"), "{why}");
        }
        chown(&of.within, Some(0), None).unwrap();
        for (mode, is_refused) in [(0o777, true), (0o1777, false), (0o755, false)] {
            fs::set_permissions(&of.within, fs::Permissions::from_mode(mode)).unwrap();
            match Workspace::create(&of.register, &of.within, "a") {
                Err(WorkspaceError::Unprotected { .. }) => assert!(is_refused, "{mode:o}"),
                workspace => {
                    assert!(!is_refused, "{mode:o}");
                    workspace.unwrap().remove().unwrap();
                }
            }
        }
        assert_eq!(fs::read_dir(&of.within).unwrap().count(), 1);
    }
}
