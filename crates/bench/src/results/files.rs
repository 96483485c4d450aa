//! Results in files and folders.

use super::document::{BYTES_MAX, FORMATS, too_long};
use super::error::ResultsError;
use super::format::{Format, read_bytes};
use crate::compare::Trial;
use facts::Skipped;
use linux::regular_file;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use units::escape;

/// Deepest folder that is looked into.
const DEPTH_MAX: usize = 8;
/// Most entries of folders that are looked at.
const ENTRIES_MAX: usize = 100_000;
/// Most bytes of all files of a folder.
const TOTAL_BYTES_MAX: usize = 512 << 20;

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The trials, in the order of their paths.
    pub trials: Vec<Trial>,
    /// The formats found.
    pub formats: BTreeSet<Format>,
    /// What was not read, and why.
    pub skipped: Vec<Skipped>,
}

/// Reads a file, or all files below a folder whose names end in `.json`. What a folder holds besides results is
/// skipped and reported.
///
/// # Errors
/// When the file or folder cannot be read, or holds no results.
pub fn read_path(path: &Path) -> Result<Reading, ResultsError> {
    let name = path.display().to_string();
    let mut reading = Reading::default();
    if is_trial(path) {
        reading.add_trial(path)?;
        return Ok(reading);
    }
    if !path.is_dir() {
        reading.add(&name, &read_file(path)?)?;
        return Ok(reading);
    }
    let mut files = Files::default();
    files.find(path, 0)?;
    let mut first_error = None;
    let mut left_bytes = TOTAL_BYTES_MAX;
    for file in &files.found {
        let name = file.display().to_string();
        let outcome = if is_trial(file) {
            reading.add_trial(file)
        } else {
            read_file(file).and_then(|bytes| {
                left_bytes = left_bytes
                    .checked_sub(bytes.len())
                    .ok_or_else(|| total_too_long(&name))?;
                reading.add(&name, &bytes)
            })
        };
        if let Err(error) = outcome {
            let why = error.to_string();
            reading.skipped.push(Skipped::new(escape(&name), why, None));
            first_error.get_or_insert(error);
        }
    }
    if files.beyond > 0 {
        reading.skipped.push(Skipped::new(
            format!(
                "{} of {}",
                units::count::counted(files.beyond, "entry", "entries"),
                escape(&name)
            ),
            format!("{ENTRIES_MAX} entries, {DEPTH_MAX} folders deep, are looked at"),
            Some("name the folder that holds the results"),
        ));
    }
    match first_error {
        Some(error) if reading.trials.is_empty() => Err(error),
        None if reading.trials.is_empty() => Err(ResultsError::empty(
            &name,
            format!("the folder holds no file whose name ends in .json; expected {FORMATS}"),
        )),
        _ => Ok(reading),
    }
}

/// Whether a folder is that of a trial of this program.
fn is_trial(path: &Path) -> bool {
    let holds = |name| path.join(name).is_file();
    path.is_dir() && (holds(crate::driver::FILE_NAME) || holds(crate::trial::DOCUMENT_FILE))
}

impl Reading {
    fn add_trial(&mut self, folder: &Path) -> Result<(), ResultsError> {
        let trial = crate::trial::read_trial(folder).map_err(|error| {
            ResultsError::empty(&folder.display().to_string(), error.to_string())
        })?;
        self.formats.insert(Format::Trial);
        self.trials.push(trial);
        Ok(())
    }

    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), ResultsError> {
        let (format, trial) = read_bytes(name, bytes)?;
        self.formats.insert(format);
        self.trials.push(trial);
        Ok(())
    }
}

fn total_too_long(name: &str) -> ResultsError {
    ResultsError::empty(
        name,
        format!(
            "the folder's files before it have {} already; name fewer",
            units::bytes(TOTAL_BYTES_MAX as u64)
        ),
    )
}

fn read_file(path: &Path) -> Result<Vec<u8>, ResultsError> {
    let name = path.display().to_string();
    let failed = |error| ResultsError::file(&name, error);
    let mut bytes = Vec::new();
    regular_file::open(path)
        .and_then(|file| file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() > BYTES_MAX {
        return Err(too_long(&name));
    }
    Ok(bytes)
}

/// Files below a folder.
#[derive(Default)]
struct Files {
    found: Vec<PathBuf>,
    seen: usize,
    beyond: usize,
}

impl Files {
    /// Finds files by name, in the order of their paths. Links to folders are not followed: they may form circles.
    fn find(&mut self, folder: &Path, depth: usize) -> Result<(), ResultsError> {
        let failed = |error| ResultsError::file(&folder.display().to_string(), error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.seen += 1;
            if self.seen > ENTRIES_MAX {
                self.beyond += 1;
                break;
            }
            entries.push((entry.path(), entry.file_type().map_err(failed)?));
        }
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        for (path, kind) in entries {
            if kind.is_dir() && is_trial(&path) {
                self.found.push(path);
            } else if kind.is_dir() {
                if depth < DEPTH_MAX {
                    self.find(&path, depth + 1)?;
                } else {
                    self.beyond += 1;
                }
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
                && path.is_file()
            {
                self.found.push(path);
            }
        }
        Ok(())
    }
}
