//! The journal: one file per pass, written and fsynced before the first limit is changed.

use super::lowered::{LimitError, Lowered, Restored, io_error};
use super::queue::{Queue, is_device_name};
use crate::process::ProcessId;
use crate::state;
use crate::state::directory::Directory;
use linux::folder::read_bounded;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Name of the directory below the state directory.
pub(super) const DIRECTORY: &str = "limits";

const SCHEMA: &str = "trimtab.limits-journal/1";

/// Maximum size of a journal that is read; a limit takes about 200 bytes.
const JOURNAL_BYTES_MAX: u64 = 1 << 20;

/// How long to wait for another process that is restoring the same journal.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Content of the file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    schema: String,
    owner: ProcessId,
    limits: Vec<Lowered>,
}

impl Journal {
    pub(super) fn new(limits: Vec<Lowered>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            owner: ProcessId::own(),
            limits,
        }
    }

    /// Writes the journal and returns its file name.
    pub(super) fn write(&self, directory: &Directory) -> Result<String, LimitError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let ProcessId { pid, start_ticks } = self.owner;
        // Process IDs start over at each boot.
        let boot_id = this_boot()?;
        let name = format!("{boot_id}-{pid}-{start_ticks}-{number}.json");
        let mut content = serde_json::to_vec_pretty(self)
            .map_err(|error| io_error(&directory.join(&name))(error.into()))?;
        content.push(b'\n');
        directory
            .replace(&name, &content)
            .map_err(io_error(&directory.join(&name)))?;
        Ok(name)
    }

    fn parse(content: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Envelope {
            schema: String,
        }
        let unreadable = |error: serde_json::Error| format!("is no journal of limits: {error}");
        let envelope: Envelope = serde_json::from_slice(content).map_err(unreadable)?;
        if envelope.schema != SCHEMA {
            return Err(format!(
                "has schema {:?}, expected {SCHEMA:?}: another version wrote it",
                envelope.schema
            ));
        }
        let journal: Self = serde_json::from_slice(content).map_err(unreadable)?;
        for limit in &journal.limits {
            if !is_device_name(&limit.device) {
                return Err(format!("names a device {:?}", limit.device));
            }
            let Lowered {
                old_bytes,
                new_bytes,
                restorable_bytes,
                ..
            } = *limit;
            if new_bytes == 0 || restorable_bytes <= new_bytes || old_bytes < restorable_bytes {
                return Err(format!(
                    "says that {old_bytes} was lowered to {new_bytes}, and that \
                     {restorable_bytes} can be put back"
                ));
            }
        }
        Ok(journal)
    }
}

/// Parses a journal as [`restore_leftovers`] does, for inspection and for tests with hostile ones.
///
/// # Errors
/// A message if the journal is invalid.
pub fn check_journal(content: &[u8]) -> Result<Vec<Lowered>, String> {
    Journal::parse(content).map(|journal| journal.limits)
}

/// A journal locked against restoration by another process.
#[derive(Debug)]
pub(super) struct JournalFile {
    name: String,
    journal: Journal,
    _lock: File,
}

impl JournalFile {
    /// Opens and locks a journal; `None` if it is gone because another process has restored it.
    pub(super) fn claim(directory: &Directory, name: &str) -> Result<Option<Self>, LimitError> {
        let path = directory.join(name);
        let Some(file) = directory
            .open_file(name, OFlags::RDWR)
            .map_err(io_error(&path))?
        else {
            return Ok(None);
        };
        lock(&file).map_err(io_error(&path))?;
        if !directory.is_current(name, &file).map_err(io_error(&path))? {
            return Ok(None);
        }
        let content = read_bounded(&file, JOURNAL_BYTES_MAX).map_err(io_error(&path))?;
        let journal = Journal::parse(&content).map_err(|message| LimitError::Invalid {
            path,
            message: format!(
                "{message}; look at queue/discard_max_bytes of the drives, then remove the file"
            ),
        })?;
        Ok(Some(Self {
            name: name.to_owned(),
            journal,
            _lock: file,
        }))
    }

    pub(super) fn is_owner_alive(&self) -> bool {
        self.journal.owner.is_alive()
    }

    pub(super) fn owner_pid(&self) -> u32 {
        self.journal.owner.pid
    }

    pub(super) fn limits(&self) -> &[Lowered] {
        &self.journal.limits
    }

    /// Restores every limit that still has our value, and removes the journal once all are settled.
    pub(super) fn restore(
        self,
        directory: &Directory,
        sysfs: &Path,
    ) -> Result<Vec<(Lowered, Restored)>, LimitError> {
        let boot_id = this_boot()?;
        let mut restored = Vec::new();
        let mut failed = None;
        for limit in &self.journal.limits {
            match restore(sysfs, &boot_id, limit) {
                Ok(result) => restored.push((limit.clone(), result)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        directory
            .remove(&self.name)
            .map_err(io_error(&directory.join(&self.name)))?;
        Ok(restored)
    }
}

fn restore(sysfs: &Path, boot_id: &str, limit: &Lowered) -> Result<Restored, LimitError> {
    if limit.boot_id != boot_id {
        return Ok(Restored::Obsolete);
    }
    let queue = Queue::find(sysfs, &limit.device).map_err(io_error(sysfs))?;
    // Journals name drives, never partitions: a partition with that name is another device, and the
    // limit of its drive is not ours.
    let queue = queue.filter(|queue| queue.device() == limit.device);
    match queue.filter(|queue| queue.diskseq() == limit.diskseq || queue.still_holds(limit)) {
        Some(queue) => match queue.restore(limit) {
            // The drive was removed just now.
            Err(LimitError::Io { path, source })
                if source.kind() == io::ErrorKind::NotFound && !path.exists() =>
            {
                Ok(Restored::Obsolete)
            }
            result => result,
        },
        None => Ok(Restored::Obsolete),
    }
}

/// Restores the limits that journals of dead passes still name: at the next start, and from the
/// unit's `ExecStopPost`. Journals whose pass is alive are left alone.
///
/// # Errors
/// If a journal cannot be read or a value cannot be written; the others are restored nevertheless.
pub fn restore_leftovers(
    state_dir: &Path,
    sysfs: &Path,
) -> Result<Vec<(Lowered, Restored)>, LimitError> {
    let Some(directory) = open_directory(state_dir)? else {
        return Ok(Vec::new());
    };
    let path = state_dir.join(DIRECTORY);
    directory.remove_leftovers().map_err(io_error(&path))?;
    let mut restored = Vec::new();
    let mut failed = None;
    for name in names(&directory)? {
        let result = JournalFile::claim(&directory, &name).and_then(|journal| match journal {
            Some(journal) if !journal.is_owner_alive() => journal.restore(&directory, sysfs),
            _ => Ok(Vec::new()),
        });
        match result {
            Ok(limits) => restored.extend(limits),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(restored),
    }
}

fn lock(file: &File) -> io::Result<()> {
    if linux::lock::exclusive_within(file, LOCK_TIMEOUT)? {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "another process is restoring it and waits for a drive",
    ))
}

pub(super) fn create_directory(state_dir: &Path) -> Result<Directory, LimitError> {
    let path = state_dir.join(DIRECTORY);
    Directory::create(state_dir)
        .and_then(|_| Directory::create(&path))
        .map_err(io_error(&path))
}

/// Returns `None` if nothing was ever journaled.
pub(super) fn open_directory(state_dir: &Path) -> Result<Option<Directory>, LimitError> {
    let path = state_dir.join(DIRECTORY);
    match Directory::open(state_dir).and_then(|_| Directory::open(&path)) {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(&path)(error)),
    }
}

pub(super) fn names(directory: &Directory) -> Result<Vec<String>, LimitError> {
    let mut names = directory.names().map_err(io_error(&directory.join("")))?;
    // Written by this program, always in lower case.
    names.retain(|name| !name.starts_with('.') && name.strip_suffix(".json").is_some());
    Ok(names)
}

/// Fails if the boot ID is unknown, because later nobody could tell whether a limit is still in
/// force.
pub(super) fn this_boot() -> Result<String, LimitError> {
    state::boot_id().ok_or_else(|| LimitError::Invalid {
        path: PathBuf::from(state::BOOT_ID),
        message: "does not tell which boot this is; is /proc mounted?".to_owned(),
    })
}
