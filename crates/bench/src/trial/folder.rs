//! The folder of a trial.

use super::document::{SCHEMA, TrialDocument};
use crate::path_error::{PathError, at};
use jiff::Timestamp;
use linux::atomic_file::{self, Access, IfExists};
use linux::regular_file;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;
use units::escape;

/// The name of the trial's document.
pub const DOCUMENT_FILE: &str = "trial.json";
/// The largest document that is read: one with a hundred operations has 100 KB.
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;

/// Why a trial's document cannot be read or written.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] PathError),
    /// It is not a trial's document.
    #[error("{}: expected a document with schema {SCHEMA}, found {found}", escape(&path.to_string_lossy()))]
    Format {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },
}

/// Most folders that begin in the same second.
const SAME_SECOND_MAX: u32 = 1_000;

/// Creates the folder of a trial that starts now, named after the time: its name is the trial's id.
///
/// # Errors
/// If it cannot be created.
pub(super) fn create(into: &Path, started_at: Timestamp) -> Result<(String, PathBuf), FolderError> {
    fs::create_dir_all(into).map_err(at(into))?;
    let time = started_at.strftime("%Y%m%dT%H%M%SZ").to_string();
    // Trials of two hosts whose timers agree are not the same trial.
    let mut suffix =
        started_at.subsec_nanosecond().unsigned_abs() ^ std::process::id().rotate_left(16);
    for _ in 0..SAME_SECOND_MAX {
        let id = format!("{time}-{:04x}", (suffix >> 8) & 0xffff);
        suffix = suffix.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let folder = into.join(&id);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok((id, folder)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at(&folder)(error).into()),
        }
    }
    Err(at(&into.join(time))(io::ErrorKind::AlreadyExists.into()).into())
}

/// Writes the document, in place of an earlier one. A reader sees the old or the new one, whatever happens.
///
/// # Errors
/// If it cannot be written: the earlier one remains.
pub(super) fn write_document(folder: &Path, document: &TrialDocument) -> Result<(), FolderError> {
    let path = folder.join(DOCUMENT_FILE);
    atomic_file::write(&path, IfExists::Replace, Access::Default, |out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        out.write_all(b"\n")
    })
    .map_err(at(&path))?;
    Ok(())
}

/// Reads the document of the trial in `folder`.
///
/// # Errors
/// When there is none, or it is not a trial's.
pub fn read_document(folder: &Path) -> Result<TrialDocument, FolderError> {
    let path = folder.join(DOCUMENT_FILE);
    let mut text = Vec::new();
    let file = regular_file::open(&path).map_err(at(&path))?;
    file.take(DOCUMENT_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(at(&path))?;
    let format = |found: String| FolderError::Format {
        path: path.clone(),
        found,
    };
    if text.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(format("a longer file".to_owned()));
    }
    let document: TrialDocument = serde_json::from_slice(&text)
        .map_err(|error| format(escape(&error.to_string()).into_owned()))?;
    if document.schema != SCHEMA {
        return Err(format(format!("schema {}", escape(&document.schema))));
    }
    Ok(document)
}
