//! Keeps secrets out of facts and bundles: an allow-list of files, and of keys within them.
//!
//! It works on live reads too, so that a bundle repeats a live result exactly. A file that no part
//! below claims is refused: whoever adds a read has to say here what of it may be kept.

mod jobs;
pub(crate) mod storage;
mod stores;

use crate::command::Command;
use crate::unread::Unread;

/// What of a file may be kept. `path` has no leading slash.
///
/// # Errors
/// [`Unread::Malformed`] where the file cannot be taken apart into keys, [`Unread::Failed`] for a
/// path that no part claims.
pub fn keep_file(path: &str, bytes: &[u8]) -> Result<Vec<u8>, Unread> {
    if let Some(kept) = storage::keep(path, bytes) {
        return kept;
    }
    if let Some(kept) = jobs::keep(path, bytes) {
        return kept;
    }
    if let Some(kept) = stores::keep(path, bytes) {
        return kept;
    }
    Err(Unread::Failed(format!("no filter for {path}: not read")))
}

/// What of a command's answer may be kept.
///
/// # Errors
/// [`Unread::Malformed`] where it cannot be taken apart.
pub fn keep_command(command: &Command, bytes: &[u8]) -> Result<Vec<u8>, Unread> {
    match command {
        Command::SystemctlShow { .. } => jobs::keep_systemctl_show(bytes),
        Command::DmTable => storage::keep_dm_table(bytes),
        // Made by this program: numbers, and mount points that mountinfo holds too.
        Command::Statfs { .. } => Ok(bytes.to_vec()),
        Command::DriveLog { tool, .. } => storage::keep_drive_log(*tool, bytes),
        Command::Journal { .. } => Err(Unread::Failed(
            "commands in the journal may hold passwords: not kept".to_owned(),
        )),
    }
}
