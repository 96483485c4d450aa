//! `--max-request`: lowers `queue/discard_max_bytes` on the drives for the duration of a pass.
//!
//! The old value is journaled first. It is restored at the end by the pass itself, by a guardian
//! process if the pass dies, by the unit's `ExecStopPost` and at the next start, and only if the
//! value is still the one that was written.
//!
//! **Not every value can be restored.** The kernel starts a drive with the limit of its hardware,
//! and accepts only multiples of the granularity below 4 GiB (`queue_discard_max_store` and
//! `queue_var_store`, `block/blk-sysfs.c`, 4.3 to 6.18): an NVMe drive that began with 2 TiB stays
//! just below 4 GiB until it is reattached or the host reboots. [`Lowered::restorable_bytes`] tells
//! in advance. 0 is never written: from 6.9 on it sets the granularity to 0 as well, and every
//! other value is refused from then on.

mod guardian;
mod journal;
mod lowered;
mod queue;

pub use guardian::guard;
pub use journal::{check_journal, restore_leftovers};
pub use lowered::{LimitError, Lowered, Restored};
pub use queue::lowered_to;

use crate::state::directory::Directory;
use guardian::Guardian;
use journal::{Journal, JournalFile};
use lowered::io_error;
use queue::Queue;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for restoring the values at the end of a pass. Before Linux 6.9 a limit is changed at
/// once. Since then the queue is frozen for it (`queue_discard_max_store`, `block/blk-sysfs.c`):
/// the write waits for every request in flight on the drive, and requests that arrive meanwhile
/// wait for the write. A pass that ends by itself has already ended its child, and a guardian does
/// not have to wait for the child of a killed pass, because the kernel kills the child with its
/// parent. Either leaves at most a part of one step in flight, so others wait no longer than that
/// step would have locked its space. A drive that does not answer at all blocks the guardian; it
/// blocks the pass only if the guardian has died and the pass writes the values itself.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits that are currently lowered. Dropping it restores them too; [`Guard::restore`] reports the
/// result.
#[derive(Debug)]
pub struct Guard {
    state_dir: PathBuf,
    sysfs: PathBuf,
    lowered: Vec<Lowered>,
    command: Vec<OsString>,
    /// `None` if nothing was lowered, or everything was restored.
    active: Option<Active>,
}

#[derive(Debug)]
struct Active {
    journal: String,
    guardian: Guardian,
}

impl Guard {
    /// Journals the limits, starts the guardian (`guardian` is the command that ends up in
    /// [`guard`]) and lowers the limits. Drives whose limit is already as low are left alone, as
    /// are those without discard support. A partition's name refers to its drive. `sysfs` is `/sys`
    /// except in tests.
    ///
    /// # Errors
    /// If a step fails; whatever was lowered by then is restored.
    pub fn lower(
        state_dir: &Path,
        sysfs: &Path,
        devices: &[String],
        max_bytes: u64,
        guardian: Vec<OsString>,
    ) -> Result<Self, LimitError> {
        restore_leftovers(state_dir, sysfs)?;
        let directory = journal::create_directory(state_dir)?;
        let lowered = plan(sysfs, devices, max_bytes)?;
        refuse_limits_of_running_passes(&directory, &lowered)?;
        let mut guard = Self {
            state_dir: state_dir.to_owned(),
            sysfs: sysfs.to_owned(),
            lowered,
            command: guardian,
            active: None,
        };
        if guard.lowered.is_empty() {
            return Ok(guard);
        }
        let journal = Journal::new(guard.lowered.clone()).write(&directory)?;
        match Guardian::start(&guard.command, &journal) {
            Ok(guardian) => guard.active = Some(Active { journal, guardian }),
            Err(error) => {
                // Nothing was lowered yet.
                let _ = directory.remove(&journal);
                return Err(error);
            }
        }
        for limit in &guard.lowered {
            if let Err(error) = write_new(sysfs, limit) {
                let _ = guard.finish();
                return Err(error);
            }
        }
        Ok(guard)
    }

    /// Returns the lowered limits.
    pub fn lowered(&self) -> &[Lowered] {
        &self.lowered
    }

    /// Starts another guardian if it has died, and continues one that was stopped.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn keep_guarded(&mut self) -> Result<(), LimitError> {
        if let Some(active) = &mut self.active {
            if active.guardian.has_died() {
                active.guardian = Guardian::start(&self.command, &active.journal)?;
            }
            active.guardian.keep_running();
        }
        Ok(())
    }

    /// Restores the old values and removes the journal.
    ///
    /// # Errors
    /// If a value cannot be written.
    pub fn restore(mut self) -> Result<Vec<(Lowered, Restored)>, LimitError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Vec<(Lowered, Restored)>, LimitError> {
        let Some(Active { journal, guardian }) = self.active.take() else {
            return Ok(Vec::new());
        };
        match guardian.dismiss(RESTORE_TIMEOUT) {
            guardian::Dismissed::Restored(report) => Ok(report),
            guardian::Dismissed::Waiting { pid } => Err(LimitError::Io {
                path: self.state_dir.join(journal::DIRECTORY).join(&journal),
                source: std::io::Error::new(
                    std::io::ErrorKind::TimedOut,
                    format!(
                        "a drive does not answer; process {pid} puts its limit back when it does"
                    ),
                ),
            }),
            // The guardian died or failed; the reason will show up again here.
            guardian::Dismissed::Failed => {
                let directory = journal::create_directory(&self.state_dir)?;
                match JournalFile::claim(&directory, &journal)? {
                    Some(journal) => journal.restore(&directory, &self.sysfs),
                    None => Ok(Vec::new()),
                }
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn plan(sysfs: &Path, devices: &[String], max_bytes: u64) -> Result<Vec<Lowered>, LimitError> {
    let boot_id = journal::this_boot()?;
    let mut lowered: Vec<Lowered> = Vec::new();
    for device in devices {
        let Some(queue) = Queue::find(sysfs, device).map_err(io_error(sysfs))? else {
            return Err(LimitError::Invalid {
                path: sysfs.join("block"),
                message: format!("there is no drive {device}"),
            });
        };
        // Another partition of the same drive.
        if lowered.iter().any(|limit| limit.device == queue.device()) {
            continue;
        }
        if let Some(change) = queue.plan(max_bytes)? {
            lowered.push(Lowered {
                device: queue.device().to_owned(),
                old_bytes: change.old_bytes,
                new_bytes: change.new_bytes,
                restorable_bytes: change.restorable_bytes,
                diskseq: queue.diskseq(),
                queue_inode: queue.inode(),
                boot_id: boot_id.clone(),
            });
        }
    }
    Ok(lowered)
}

/// Fails if a running pass has journaled a limit of the same drives, because its current value is
/// not an original one. The drive locks normally prevent this; it matters for a pass that was
/// started with another run directory.
fn refuse_limits_of_running_passes(
    directory: &Directory,
    lowered: &[Lowered],
) -> Result<(), LimitError> {
    for name in journal::names(directory)? {
        let Some(other) = JournalFile::claim(directory, &name)? else {
            continue;
        };
        if let Some(limit) = other.limits().iter().find(|limit| {
            lowered.iter().any(|mine| {
                (&mine.device, mine.diskseq, &mine.boot_id)
                    == (&limit.device, limit.diskseq, &limit.boot_id)
            })
        }) {
            return Err(LimitError::Invalid {
                path: directory.join(&name),
                message: format!(
                    "process {} has lowered the limit of {}; wait until its pass has ended",
                    other.owner_pid(),
                    limit.device
                ),
            });
        }
    }
    Ok(())
}

fn write_new(sysfs: &Path, limit: &Lowered) -> Result<(), LimitError> {
    let queue = Queue::find(sysfs, &limit.device).map_err(io_error(sysfs))?;
    let Some(queue) = queue.filter(|queue| queue.diskseq() == limit.diskseq) else {
        return Err(LimitError::Invalid {
            path: sysfs.join("block").join(&limit.device),
            message: "the drive is gone".to_owned(),
        });
    };
    queue.write(limit.new_bytes)?;
    let found_bytes = queue.max_bytes()?;
    if found_bytes == limit.new_bytes {
        return Ok(());
    }
    // The journal does not contain this value, so restore it here.
    queue.write(limit.restorable_bytes)?;
    Err(LimitError::Invalid {
        path: queue.max_path(),
        message: format!("{} was written, {found_bytes} is there", limit.new_bytes),
    })
}

#[cfg(test)]
mod tests;
