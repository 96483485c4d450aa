//! `--max-request`: `queue/discard_max_bytes` lowered on the drives for the length of a pass.
//!
//! What was there is journaled first; it is put back at the end by the pass itself, by a guardian
//! process when the pass dies, by the unit's `ExecStopPost` and at the next start, and only where the
//! value is still the one that was written.
//!
//! **Not every value can be put back.** The kernel starts a drive with the limit of its hardware,
//! and takes back only multiples of the granularity below 4 GiB (`queue_discard_max_store` and
//! `queue_var_store`, `block/blk-sysfs.c`, 4.3 to 6.18): an NVMe drive that began with 2 TiB
//! stays just below 4 GiB until it is attached anew or the host is booted. [`Lowered::restorable_bytes`]
//! tells beforehand. 0 is never written: from 6.9 on the granularity becomes 0 with it and
//! every other value is refused from then on.

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

/// How long the values may take to be put back at the end of a pass. Before Linux 6.9 a limit is
/// changed at once. Since then the queue is frozen for it (`queue_discard_max_store`,
/// `block/blk-sysfs.c`): the write waits for every request in flight on the drive, and requests that
/// come meanwhile wait for the write. A pass that ends by itself has ended its child before, and no
/// guardian waits for the child of a pass that was killed: the kernel kills it with its parent. What
/// either leaves in flight is a part of one step, so others wait no longer than that step would have
/// locked its space. A drive that does not answer at all holds up the guardian; the pass only where
/// the guardian has died, and it writes itself.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits that are lowered now. Dropping it restores them too; [`Guard::restore`] tells how it went.
#[derive(Debug)]
pub struct Guard {
    state_dir: PathBuf,
    sysfs: PathBuf,
    lowered: Vec<Lowered>,
    command: Vec<OsString>,
    /// `None` where nothing was lowered, or all was restored.
    active: Option<Active>,
}

#[derive(Debug)]
struct Active {
    journal: String,
    guardian: Guardian,
}

impl Guard {
    /// Journals, starts the guardian (`guardian` is the command that ends up in [`guard`]), lowers
    /// the limits. Drives whose limit is already as low are left alone, as are those that take no
    /// discards. The name of a partition stands for its drive.
    /// `sysfs` is `/sys` but in tests.
    ///
    /// # Errors
    /// Where a step fails; what was lowered by then is restored.
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
        refuse_what_others_lowered(&directory, &lowered)?;
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

    /// What was lowered.
    pub fn lowered(&self) -> &[Lowered] {
        &self.lowered
    }

    /// Starts another guardian if it has died.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn keep_guarded(&mut self) -> Result<(), LimitError> {
        if let Some(active) = &mut self.active
            && active.guardian.has_died()
        {
            active.guardian = Guardian::start(&self.command, &active.journal)?;
        }
        Ok(())
    }

    /// Puts the old values back and removes the journal.
    ///
    /// # Errors
    /// Where a value cannot be written.
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
            // It died, or failed: the reason shows itself again.
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
        // Partitions of one drive.
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

/// What is journaled by a pass that lives is no "old" value. The drives' locks forbid it; this is
/// for a pass that was started with another run directory.
fn refuse_what_others_lowered(
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
    // The journal does not know this value: put it back here.
    queue.write(limit.restorable_bytes)?;
    Err(LimitError::Invalid {
        path: queue.max_path(),
        message: format!("{} was written, {found_bytes} is there", limit.new_bytes),
    })
}

#[cfg(test)]
mod tests;
