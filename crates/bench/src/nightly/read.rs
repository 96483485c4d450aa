//! Reads the folder of a history. Its files may be anybody's: sizes are bounded, and nothing is left out in silence.

use super::history::History;
use crate::path_error::{PathError, at};
use crate::trial::{DOCUMENT_FILE, TrialDocument, read_document};
use facts::Skipped;
use std::collections::BTreeSet;
use std::fs::{read_dir, symlink_metadata};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use units::escape;

/// The most trials of a history: fifty years of nights. Of more, those with the last names are read, and names begin
/// with a date.
pub const NIGHTS_MAX: usize = 20_000;
/// The page that is written into the folder.
pub const PAGE_FILE: &str = "index.html";
/// Notes by hand.
pub const NOTES_FILE: &str = "notes.csv";
/// The most bytes of all documents together.
const DOCUMENTS_BYTES_MAX: u64 = 256 << 20;
/// The most folders that are named one by one when they cannot be read.
const FAULTS_MAX: usize = 50;
/// Files of a trial that the page links to.
const FILES: [&str; 4] = [DOCUMENT_FILE, "client.csv", "host.csv", "server.csv"];

/// Why a history cannot be read.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The folder cannot be listed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// There is no trial.
    #[error(
        "{}: expected folders with a {DOCUMENT_FILE} each, found {found}",
        escape(&path.to_string_lossy())
    )]
    NoTrials {
        /// The folder.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },
}

/// Reads the trials in the folders of `history`; adds to `skipped` those that cannot be read. Links are not
/// followed: a page that is served must not show what lies elsewhere.
///
/// # Errors
/// When the folder cannot be listed, or holds no trial.
pub fn read(history: &Path, skipped: &mut Vec<Skipped>) -> Result<History, HistoryError> {
    let names = folders(history, skipped).map_err(at(history))?;
    let mut room = DOCUMENTS_BYTES_MAX;
    let mut found = Vec::new();
    let mut faults = Vec::new();
    let mut empty = 0_usize;
    // The newest first, as they are what matters if there are too many bytes.
    for (read, name) in names.iter().rev().enumerate() {
        let folder = history.join(name);
        let Ok(document) = symlink_metadata(folder.join(DOCUMENT_FILE)) else {
            empty += 1;
            continue;
        };
        if !document.is_file() {
            faults.push(Skipped::new(
                name,
                format!("its {DOCUMENT_FILE} is not a file"),
                None,
            ));
            continue;
        }
        let Some(left) = room.checked_sub(document.len()) else {
            faults.push(Skipped::new(
                units::count(names.len() - read, "older trial"),
                format!(
                    "the documents of the newer ones already have {} MiB",
                    DOCUMENTS_BYTES_MAX >> 20
                ),
                None,
            ));
            break;
        };
        room = left;
        match read_document(&folder)
            .map_err(|error| error.to_string())
            .and_then(counted)
        {
            Ok(document) => found.push((name.clone(), files(&folder), document)),
            Err(why) => faults.push(Skipped::new(name, why, None)),
        }
    }
    if found.is_empty() {
        return Err(HistoryError::NoTrials {
            path: history.to_owned(),
            found: match faults.first() {
                Some(fault) => format!("{}: {}", escape(&fault.what), fault.why),
                None => units::count::counted(empty, "folder without one", "folders without one"),
            },
        });
    }
    if empty > 0 {
        let folders = units::count(empty, "folder");
        skipped.push(Skipped::new(
            folders,
            format!("without a {DOCUMENT_FILE}"),
            None,
        ));
    }
    let more = faults.len().saturating_sub(FAULTS_MAX);
    faults.truncate(FAULTS_MAX);
    skipped.extend(faults);
    if more > 0 {
        skipped.push(Skipped::new(
            units::count(more, "more folder"),
            "they cannot be read either",
            None,
        ));
    }
    Ok(History::new(found, skipped))
}

/// Returns the names of the folders, the last [`NIGHTS_MAX`] of them.
fn folders(history: &Path, skipped: &mut Vec<Skipped>) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let (mut more, mut unnamed) = (0_u64, 0_u64);
    for entry in read_dir(history)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let Ok(name) = entry.file_name().into_string() else {
            unnamed += 1;
            continue;
        };
        names.insert(name);
        if names.len() > NIGHTS_MAX {
            names.pop_first();
            more += 1;
        }
    }
    if more > 0 {
        let what = units::count(more, "folder");
        let why = format!(
            "only the {} with the last names are read",
            units::count::grouped_usize(NIGHTS_MAX)
        );
        skipped.push(Skipped::new(what, why, None));
    }
    if unnamed > 0 {
        skipped.push(Skipped::new(
            units::count(unnamed, "folder"),
            "the name is not UTF-8",
            None,
        ));
    }
    Ok(names)
}

fn files(folder: &Path) -> Vec<String> {
    let is_there =
        |name: &&str| symlink_metadata(folder.join(name)).is_ok_and(|file| file.is_file());
    let there = FILES.into_iter().filter(is_there);
    there.map(str::to_owned).collect()
}

/// Refuses a document whose counts cannot be added up.
fn counted(document: TrialDocument) -> Result<TrialDocument, String> {
    for operation in &document.operations {
        let mut errors = operation.errors.values();
        let sum = errors.try_fold(operation.succeeded, |sum, count| sum.checked_add(*count));
        if sum.is_none() {
            let name = escape(&operation.operation);
            return Err(format!(
                "expected counts of requests, found more than 2^64 of {name}"
            ));
        }
    }
    Ok(document)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
