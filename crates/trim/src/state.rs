//! Persistent state: checkpoints, locks, the audit log, requests from other terminals.
//!
//! | file | content |
//! |---|---|
//! | `STATE/pass-KEY.json` | checkpoint of a pass ([`Checkpoint`]) |
//! | `STATE/audit.jsonl` | one line per pass |
//! | `RUN/fs-KEY.lock`, `RUN/drive-MAJOR-MINOR.lock` | locks; removed when nobody holds them |
//! | `RUN/fs-KEY.cancel` | a request to end the pass, naming the process that it is meant for |

mod audit;
mod directory;
mod lock;

use crate::process::ProcessId;
use crate::step::Cursor;
use crate::target::{Identity, Target};
use directory::Directory;
use facts::host::DeviceNumber;
use jiff::Timestamp;
use lock::{Held, Holder};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Schema of a [`Checkpoint`].
pub const CHECKPOINT_SCHEMA: &str = "trimtab.trim-checkpoint/1";

/// Maximum size of a checkpoint that is read. A real one has less than a kilobyte plus 40 bytes per
/// device.
const CHECKPOINT_BYTES_MAX: u64 = 1 << 20;

/// Maximum length of a filesystem key in a file name; a UUID has 36 bytes.
const KEY_BYTES_MAX: usize = 100;

/// Progress of a pass; written atomically and fsynced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// `trimtab.trim-checkpoint/1`.
    pub schema: String,
    /// The filesystem.
    pub identity: Identity,
    /// Mount point at that time.
    pub mount_point: String,
    /// When the pass began.
    pub started_at: Timestamp,
    /// When this checkpoint was written.
    pub updated_at: Timestamp,
    /// Everything below has been trimmed.
    pub cursor: Cursor,
    /// Steps made.
    pub steps: u64,
    /// Free bytes at the start of the pass.
    pub free_bytes: u64,
    /// Free bytes visited by the steps.
    pub visited_bytes: u64,
    /// Bytes discarded by device, over all sessions of the pass; absent if not measurable.
    pub discarded_bytes: BTreeMap<String, u64>,
    /// Time spent over all sessions, including pauses.
    pub active_s: f64,
    /// `running`, or why it stopped.
    pub phase: Phase,
    /// For `--status`: what the pass is doing or waiting for.
    pub remark: Option<String>,
    /// Estimated number of seconds left.
    pub left_s: Option<f64>,
    /// Boot in which it was written: device numbers are only meaningful within a boot.
    #[serde(default)]
    pub boot_id: Option<String>,
}

/// Whether a pass is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Phase {
    /// A process is working on it (or was killed, in which case no lock is held).
    Running,
    /// It stopped and can be resumed.
    Stopped {
        /// Why.
        reason: String,
    },
}

/// Why an operation on the state failed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A file could not be read or written: no space, no permission.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error from the kernel.
        source: io::Error,
    },
    /// A file has content that this program does not write.
    #[error("{path}: {message}")]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// Another pass holds a lock.
    #[error("{what} is being trimmed by process {pid}")]
    Busy {
        /// The shared filesystem or drive.
        what: String,
        /// Process that holds the lock.
        pid: u32,
        /// Whether it is the filesystem itself, rather than only a drive below it.
        same_filesystem: bool,
    },
}

/// The two state directories: `/var/lib/trimtab` survives a reboot, `/run/trimtab` holds the locks
/// and is the same whatever `--state` says.
#[derive(Debug, Clone)]
pub struct State {
    /// Directory of checkpoints, limit journals and the audit log.
    pub state_dir: PathBuf,
    /// Directory of the locks.
    pub run_dir: PathBuf,
}

impl Checkpoint {
    /// The checkpoint of a pass that begins now and has not done anything yet.
    pub(crate) fn begun(target: &Target, now: Timestamp) -> Self {
        Self {
            schema: CHECKPOINT_SCHEMA.to_owned(),
            identity: target.identity.clone(),
            mount_point: target.mount_point.display().to_string(),
            started_at: now,
            updated_at: now,
            cursor: Cursor::default(),
            steps: 0,
            free_bytes: 0,
            visited_bytes: 0,
            discarded_bytes: BTreeMap::new(),
            active_s: 0.0,
            phase: Phase::Running,
            remark: None,
            left_s: None,
            boot_id: boot_id(),
        }
    }

    /// Parses what [`State::save`] wrote.
    ///
    /// # Errors
    /// A message if the content is something else, or of another version.
    pub fn parse(content: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Envelope {
            schema: String,
        }
        let envelope: Envelope = serde_json::from_slice(content)
            .map_err(|error| format!("is no checkpoint: {error}"))?;
        if envelope.schema != CHECKPOINT_SCHEMA {
            return Err(format!(
                "has schema {:?}, expected {CHECKPOINT_SCHEMA:?}: another version wrote it",
                envelope.schema
            ));
        }
        let checkpoint: Self = serde_json::from_slice(content)
            .map_err(|error| format!("is no checkpoint: {error}"))?;
        if checkpoint.active_s < 0.0 {
            return Err(format!("says that {} s were spent", checkpoint.active_s));
        }
        Ok(checkpoint)
    }

    /// Returns why the pass cannot resume from this checkpoint although the UUID matches; `None` if
    /// it can. `size_bytes` is the filesystem's size.
    pub fn outdated(
        &self,
        identity: &Identity,
        size_bytes: Option<u64>,
        now: Timestamp,
        boot_id: Option<&str>,
    ) -> Option<String> {
        if self.identity.fs_type != identity.fs_type {
            return Some(format!(
                "it was begun on {}, and this is {}",
                self.identity.fs_type, identity.fs_type
            ));
        }
        // Btrfs' addresses are logical, not positions on a device.
        let beyond = size_bytes.is_some_and(|size_bytes| self.cursor.next_bytes > size_bytes);
        if beyond && identity.fs_type != "btrfs" {
            return Some("it has come further than the filesystem reaches".to_owned());
        }
        // Drives may come up in another order after a reboot, and Btrfs gets a new anonymous number
        // with every mount. Starting over only costs time.
        let (then, here) = (self.identity.device, identity.device);
        let same_boot = boot_id.is_some() && self.boot_id.as_deref() == boot_id;
        if same_boot && then != here && then.major != 0 && here.major != 0 {
            return Some(format!(
                "it was begun on device {then}, and this is {here}: perhaps a copy of the filesystem"
            ));
        }
        let age_s = now.duration_since(self.updated_at).as_secs();
        (age_s > RESUMABLE_S).then(|| {
            format!(
                "it is {} days old: most of what is free now was not free then",
                age_s / 86_400
            )
        })
    }
}

/// Returns the boot ID, which is constant until the next reboot; `None` if /proc does not provide
/// it.
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// After two weeks most of what is free now was not free then. A weekly pass goes on a week later, which has 169 hours
/// where clocks are set back, or once more a week later if its cluster was not green.
const RESUMABLE_S: i64 = 15 * 86_400;

/// Locks, held until dropped and by every process that inherited them.
#[derive(Debug)]
pub struct Locks {
    held: Vec<Held>,
}

impl Locks {
    /// Returns duplicates for a child to inherit.
    ///
    /// # Errors
    /// If no descriptors are left.
    pub fn for_child(&self) -> io::Result<Vec<OwnedFd>> {
        self.held
            .iter()
            .filter_map(Held::file)
            .map(|file| file.try_clone().map(OwnedFd::from))
            .collect()
    }
}

impl State {
    /// Creates the directories (0700), removes what ended processes left in them, and verifies that the
    /// state directory is writable. Relative paths are made absolute.
    ///
    /// # Errors
    /// If one of these fails.
    #[allow(clippy::needless_pass_by_value)] // they are replaced by absolute ones
    pub fn open(state_dir: PathBuf, run_dir: PathBuf) -> Result<Self, StateError> {
        let state_dir = std::path::absolute(&state_dir).map_err(io_error(&state_dir))?;
        let run_dir = std::path::absolute(&run_dir).map_err(io_error(&run_dir))?;
        let state = Directory::create(&state_dir).map_err(io_error(&state_dir))?;
        let run = Arc::new(Directory::create(&run_dir).map_err(io_error(&run_dir))?);
        for (directory, path) in [(&state, &state_dir), (&*run, &run_dir)] {
            directory.remove_leftovers().map_err(io_error(path))?;
        }
        lock::sweep(&run).map_err(io_error(&run_dir))?;
        state.verify_writable().map_err(io_error(&state_dir))?;
        Ok(Self { state_dir, run_dir })
    }

    /// Locks a filesystem and the drives below it, or nothing at all.
    ///
    /// # Errors
    /// [`StateError::Busy`] if another pass holds one of them.
    pub fn lock(
        &self,
        identity: &Identity,
        drives: &[(String, DeviceNumber)],
    ) -> Result<Locks, StateError> {
        let run = self.run()?;
        let key = identity.key();
        // Everyone locks in the same order, so that two passes that want the same locks do not each
        // get half. The filesystem comes first, so that a second pass on it is reported as such and
        // not as a conflict over a drive.
        let mut on_drives = BTreeMap::new();
        for (device, number) in drives {
            on_drives.insert(
                lock::drive_lock(*number),
                (format!("drive {device}"), false),
            );
        }
        let filesystem = (self.lock_name(&key)?, (format!("filesystem {key}"), true));
        let mut held = Vec::new();
        for (name, (what, same_filesystem)) in std::iter::once(filesystem).chain(on_drives) {
            match lock::take(&run, &name).map_err(io_error(&run.join(&name)))? {
                Ok(lock) => held.push(lock),
                Err(holder) => {
                    return Err(StateError::Busy {
                        what,
                        pid: holder.pid(),
                        same_filesystem,
                    });
                }
            }
        }
        // Requests to cancel an earlier pass do not apply to this one.
        let request = lock::cancel_request(&key);
        run.remove(&request)
            .map_err(io_error(&run.join(&request)))?;
        Ok(Locks { held })
    }

    /// Returns the process that holds a filesystem's lock.
    ///
    /// # Errors
    /// If the lock file cannot be read.
    pub fn holder(&self, key: &str) -> Result<Option<u32>, StateError> {
        Ok(self.find_holder(key)?.map(Holder::pid))
    }

    fn find_holder(&self, key: &str) -> Result<Option<Holder>, StateError> {
        let name = self.lock_name(key)?;
        let Some(run) = open_existing(&self.run_dir)? else {
            return Ok(None);
        };
        lock::holder(&run, &name).map_err(io_error(&run.join(&name)))
    }

    /// Returns the checkpoint of a filesystem (by [`Identity::key`]).
    ///
    /// # Errors
    /// If there is one that cannot be read.
    pub fn checkpoint(&self, key: &str) -> Result<Option<Checkpoint>, StateError> {
        let name = self.checkpoint_name(key)?;
        let Some(state) = open_existing(&self.state_dir)? else {
            return Ok(None);
        };
        read_checkpoint(&state, &name)
    }

    /// Returns all checkpoints; unreadable ones are returned as errors.
    pub fn checkpoints(&self) -> Vec<Result<Checkpoint, StateError>> {
        let names = Directory::open(&self.state_dir)
            .and_then(|state| state.names().map(|names| (state, names)));
        let (state, names) = match names {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => return vec![Err(io_error(&self.state_dir)(error))],
        };
        names
            .iter()
            .filter(|name| name.starts_with("pass-") && name.strip_suffix(".json").is_some())
            .filter_map(|name| read_checkpoint(&state, name).transpose())
            .collect()
    }

    /// Writes a checkpoint: new file, fsync, rename, fsync of the directory.
    ///
    /// # Errors
    /// If it cannot be written; the old one is kept then.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<(), StateError> {
        let name = self.checkpoint_name(&checkpoint.identity.key())?;
        let path = self.state_dir.join(&name);
        // JSON cannot represent them, and what is written must be readable again.
        let numbers = [Some(checkpoint.active_s), checkpoint.left_s];
        if numbers.iter().flatten().any(|number| !number.is_finite()) {
            return Err(StateError::Invalid {
                path,
                message: format!("would hold no numbers: {numbers:?}"),
            });
        }
        let mut content =
            serde_json::to_vec_pretty(checkpoint).map_err(|error| io_error(&path)(error.into()))?;
        content.push(b'\n');
        Directory::open(&self.state_dir)
            .and_then(|state| state.replace(&name, &content))
            .map_err(io_error(&path))
    }

    /// Removes the checkpoint of a pass and any request to cancel it.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn forget(&self, key: &str) -> Result<(), StateError> {
        let name = self.checkpoint_name(key)?;
        for (directory, name) in [
            (&self.state_dir, name),
            (&self.run_dir, lock::cancel_request(key)),
        ] {
            match Directory::open(directory).and_then(|directory| directory.remove(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_error(&directory.join(&name))(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends a JSON line to the audit log (`audit.jsonl`), fsynced.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn audit(&self, entry: &serde_json::Value) -> Result<(), StateError> {
        Directory::open(&self.state_dir)
            .and_then(|state| audit::append(&state, entry))
            .map_err(io_error(&self.state_dir.join(audit::NAME)))
    }

    /// Tells the running pass of a filesystem to end and drop its checkpoint: leaves a request in
    /// the run directory and sends SIGTERM to the lock's holder. Returns `false` if none is running
    /// (the checkpoint, if any, is dropped right away).
    ///
    /// # Errors
    /// If the request cannot be written.
    pub fn cancel(&self, key: &str) -> Result<bool, StateError> {
        let name = self.lock_name(key)?;
        let request = lock::cancel_request(key);
        let mut asked = BTreeSet::new();
        loop {
            match self.find_holder(key)? {
                Some(Holder::Owner(holder)) if asked.insert(holder.pid) => {
                    let run = self.run()?;
                    let content = serde_json::to_vec(&holder).unwrap_or_default();
                    run.replace(&request, &content)
                        .map_err(io_error(&run.join(&request)))?;
                    if self.terminate(key, holder)? {
                        return Ok(true);
                    }
                }
                // It was signalled before and did not get the signal, yet it still holds the lock.
                Some(Holder::Owner(holder)) => {
                    return Err(StateError::Io {
                        path: self.run_dir.join(&name),
                        source: io::Error::other(format!(
                            "process {} holds it and cannot be sent a signal",
                            holder.pid
                        )),
                    });
                }
                // The process that wrote the checkpoint is dead.
                Some(Holder::Inheritor(_)) => {
                    self.forget(key)?;
                    return Ok(false);
                }
                None => {
                    let run = self.run()?;
                    let taken = lock::take(&run, &name).map_err(io_error(&run.join(&name)))?;
                    if let Ok(_lock) = taken {
                        self.forget(key)?;
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Sends SIGTERM to the process that holds the lock, but not to another process that has reused
    /// its ID since.
    fn terminate(&self, key: &str, holder: ProcessId) -> Result<bool, StateError> {
        let Some(pid) = i32::try_from(holder.pid).ok().and_then(Pid::from_raw) else {
            return Ok(false);
        };
        // The handle refers to the process that has this ID now, so verify after opening it that
        // this process is the holder.
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        if self.find_holder(key)? != Some(Holder::Owner(holder)) {
            return Ok(false);
        }
        let sent = match handle {
            Ok(handle) => rustix::process::pidfd_send_signal(handle, Signal::TERM),
            // Before kernel 5.3.
            Err(rustix::io::Errno::NOSYS) => rustix::process::kill_process(pid, Signal::TERM),
            Err(error) => Err(error),
        };
        match sent {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(StateError::Io {
                path: self.run_dir.join(self.lock_name(key)?),
                source: io::Error::new(
                    io::Error::from(error).kind(),
                    format!("process {} cannot be sent SIGTERM: {error}", holder.pid),
                ),
            }),
        }
    }

    /// Returns whether a cancel was requested since the lock was taken; reset by [`State::forget`].
    pub fn cancel_requested(&self, key: &str) -> bool {
        let request = Directory::open(&self.run_dir)
            .and_then(|run| run.read(&lock::cancel_request(key), CHECKPOINT_BYTES_MAX));
        matches!(request, Ok(Some(content))
            if serde_json::from_slice(&content).is_ok_and(|asked: ProcessId| asked == ProcessId::own()))
    }

    fn run(&self) -> Result<Arc<Directory>, StateError> {
        let run = Directory::create(&self.run_dir).map_err(io_error(&self.run_dir))?;
        Ok(Arc::new(run))
    }

    fn lock_name(&self, key: &str) -> Result<String, StateError> {
        self.checked(key).map(lock::filesystem_lock)
    }

    fn checkpoint_name(&self, key: &str) -> Result<String, StateError> {
        self.checked(key).map(|key| format!("pass-{key}.json"))
    }

    /// Validates a key before it becomes part of a file name.
    fn checked<'k>(&self, key: &'k str) -> Result<&'k str, StateError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !key.is_empty() && key.len() <= KEY_BYTES_MAX && key.bytes().all(is_plain) {
            return Ok(key);
        }
        Err(StateError::Invalid {
            path: self.state_dir.clone(),
            message: format!("{key:?} is no name of a filesystem, expected a uuid"),
        })
    }
}

/// Opens a directory; `None` if there is none.
fn open_existing(path: &Path) -> Result<Option<Directory>, StateError> {
    match Directory::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(io_error(path)),
    }
}

fn read_checkpoint(state: &Directory, name: &str) -> Result<Option<Checkpoint>, StateError> {
    let invalid = |message: String| StateError::Invalid {
        path: state.join(name),
        message: format!("{message}; start the pass over with --restart"),
    };
    let content = match state.read(name, CHECKPOINT_BYTES_MAX) {
        Ok(Some(content)) => content,
        Ok(None) => return Ok(None),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            ) =>
        {
            return Err(invalid(error.to_string()));
        }
        Err(error) => return Err(io_error(&state.join(name))(error)),
    };
    let checkpoint = Checkpoint::parse(&content).map_err(invalid)?;
    let key = checkpoint.identity.key();
    if name != format!("pass-{key}.json") {
        return Err(invalid(format!("is the checkpoint of {key}")));
    }
    Ok(Some(checkpoint))
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> StateError + use<> {
    let path = path.to_owned();
    move |source| StateError::Io {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
