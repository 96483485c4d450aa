//! The embedded store: histories kept by trimtab itself, in one file.
//!
//! An SQLite database in WAL mode, so that readers do not wait for the writer. Readings may be appended
//! repeatedly: existing samples are replaced, so an import that was interrupted is simply repeated.
//! Appended samples continue a series if source, name, labels, unit and dating are equal; to combine two
//! files into one series, give both readings the same source.
//!
//! A file is used only if it is a store: SQLite's `application_id` identifies it, `user_version` is the
//! version of the schema, and the schema is compared verbatim with the one defined here, so that no foreign
//! view or trigger is ever run.

mod open;
mod read;

pub use open::is_database;
pub use read::{Selection, StoredSeries};

use crate::{Reading, SourceError};
use facts::InputError;
use facts::series::{Better, Dating, Series};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `trmt`: distinguishes a store from other SQLite files.
const APPLICATION_ID: i32 = 0x7472_6d74;

/// Version of the schema below, stored in `user_version`.
const SCHEMA_VERSION: i32 = 1;

/// The schema of a store: name and SQL of each table, as in `sqlite_schema`.
///
/// Samples are stored in the order in which they are read, without a row id beside their key: about 24
/// bytes each. `samples.series_id` and `time_us` are the key; an unknown unit is empty.
const TABLES: [(&str, &str); 2] = [
    (
        "samples",
        "CREATE TABLE samples (
  series_id INTEGER NOT NULL REFERENCES series (id),
  time_us INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (series_id, time_us)
) STRICT, WITHOUT ROWID",
    ),
    (
        "series",
        "CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  name TEXT NOT NULL,
  labels TEXT NOT NULL,
  unit TEXT NOT NULL,
  dating TEXT NOT NULL,
  better TEXT,
  notes TEXT NOT NULL,
  samples INTEGER NOT NULL,
  UNIQUE (source, name, labels, unit, dating)
) STRICT",
    ),
];

/// Maximum size of a series' text in bytes: name, source, unit and labels, together as JSON.
const TEXT_BYTES_MAX: usize = 65_536;

/// Maximum number of notes kept per series.
const NOTES_MAX: usize = 32;

/// Maximum number of series in a store.
const SERIES_MAX: i64 = 100_000;

/// Number of samples after which an import lets other writers in.
const SAMPLES_PER_TRANSACTION: usize = 200_000;

/// Poll interval while another process is writing; SQLite itself would soon back off to a tenth of a
/// second.
const BUSY_POLL: Duration = Duration::from_millis(2);

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// When it last released the write lock.
    unlocked: Option<Instant>,
}

/// The result of an [append](Store::append).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Appended {
    /// Number of series that were created.
    pub series_new: usize,
    /// Number of series that already existed.
    pub series_continued: usize,
    /// Number of samples at new times.
    pub samples_new: u64,
    /// Number of samples whose value changed.
    pub samples_replaced: u64,
    /// Number of samples that already existed with the same value.
    pub samples_known: u64,
}

impl fmt::Display for Appended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} series ({} of them new), {} new samples, {} replaced, {} known already",
            self.series_new + self.series_continued,
            self.series_new,
            self.samples_new,
            self.samples_replaced,
            self.samples_known
        )
    }
}

impl Store {
    /// Appends the series of a reading.
    ///
    /// They are written in several transactions, so that other writers get their turn: after an error, the
    /// first part of the reading is stored, in whole samples, and repeating the append completes it.
    ///
    /// # Errors
    /// When a series is invalid (as many values as times, finite values, ascending times, texts of a
    /// limited length), when another process has been writing for ten seconds, when the disk is full, or
    /// when the file is damaged.
    pub fn append(&mut self, reading: &Reading) -> Result<Appended, SourceError> {
        for series in &reading.series {
            verify(series)?;
        }
        let path = self.path.clone();
        self.append_verified(reading)
            .map_err(|error| failure(&path, &error))?
            .ok_or_else(|| {
                refusal(
                    &path,
                    "100,000 series at most in one store: use another one",
                    "more of them",
                )
            })
    }

    /// Returns `None` if there would be too many series.
    fn append_verified(&mut self, reading: &Reading) -> rusqlite::Result<Option<Appended>> {
        let mut done = Appended::default();
        let_others_write(self.unlocked);
        let mut transaction = immediate(&mut self.connection)?;
        let mut room = SAMPLES_PER_TRANSACTION;
        for series in &reading.series {
            let (id, is_new) = series_id(&transaction, series)?;
            // Rows are never deleted, so ids count them.
            if id > SERIES_MAX {
                return Ok(None);
            }
            if is_new {
                done.series_new += 1;
            } else {
                done.series_continued += 1;
            }
            let mut rest = 0..series.times_us.len();
            while !rest.is_empty() {
                if room == 0 {
                    transaction.commit()?;
                    let_others_write(Some(Instant::now()));
                    transaction = immediate(&mut self.connection)?;
                    room = SAMPLES_PER_TRANSACTION;
                }
                let end = rest.end.min(rest.start + room);
                room -= end - rest.start;
                let piece = rest.start..end;
                append_samples(
                    &transaction,
                    id,
                    &series.times_us[piece.clone()],
                    &series.values[piece],
                    &mut done,
                )?;
                rest.start = end;
            }
        }
        transaction.commit()?;
        self.unlocked = Some(Instant::now());
        Ok(Some(done))
    }
}

/// Pauses after a write so that other writers can get the lock: SQLite has no queue, so without a pause
/// longer than their poll interval ([`BUSY_POLL`]) a busy writer would starve them.
fn let_others_write(unlocked: Option<Instant>) {
    const TURN: Duration = BUSY_POLL.saturating_mul(3);
    if let Some(left) = unlocked.and_then(|at| TURN.checked_sub(at.elapsed())) {
        std::thread::sleep(left);
    }
}

fn immediate(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Returns the row id of a series, creating it if necessary, and whether it was created.
fn series_id(transaction: &Transaction<'_>, series: &Series) -> rusqlite::Result<(i64, bool)> {
    let labels = labels_text(&series.labels);
    let unit = series.unit.as_deref().unwrap_or("");
    let dating = dating_text(series.dating);
    let added = transaction.execute(
        "INSERT INTO series (source, name, labels, unit, dating, notes, samples)
         VALUES (?1, ?2, ?3, ?4, ?5, '[]', 0) ON CONFLICT DO NOTHING",
        params![series.source, series.name, labels, unit, dating],
    )?;
    let (id, notes): (i64, String) = transaction.query_row(
        "SELECT id, notes FROM series
         WHERE source = ?1 AND name = ?2 AND labels = ?3 AND unit = ?4 AND dating = ?5",
        params![series.source, series.name, labels, unit, dating],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    // Keep earlier notes, and attributes that only an earlier reading knew.
    let mut notes: Vec<String> = serde_json::from_str(&notes).unwrap_or_default();
    for note in &series.notes {
        if notes.len() < NOTES_MAX && !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    transaction.execute(
        "UPDATE series SET notes = ?2, better = coalesce(?3, better) WHERE id = ?1",
        params![
            id,
            serde_json::Value::from(notes).to_string(),
            series.better.map(better_text)
        ],
    )?;
    Ok((id, added > 0))
}

fn append_samples(
    transaction: &Transaction<'_>,
    series_id: i64,
    times_us: &[i64],
    values: &[f64],
    done: &mut Appended,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO samples (series_id, time_us, value) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )?;
    let mut replace = transaction.prepare(
        "UPDATE samples SET value = ?3 WHERE series_id = ?1 AND time_us = ?2 AND value <> ?3",
    )?;
    let mut added = 0_u64;
    for (time_us, value) in times_us.iter().zip(values) {
        let sample = params![series_id, time_us, value];
        if insert.execute(sample)? > 0 {
            added += 1;
        } else if replace.execute(sample)? > 0 {
            done.samples_replaced += 1;
        } else {
            done.samples_known += 1;
        }
    }
    done.samples_new += added;
    transaction.execute(
        "UPDATE series SET samples = samples + ?2 WHERE id = ?1",
        params![series_id, i64::try_from(added).unwrap_or(i64::MAX)],
    )?;
    Ok(())
}

/// Checks the invariants of [`Series`].
fn verify(series: &Series) -> Result<(), InputError> {
    let refuse = |expected: &str, found: &str| {
        Err(InputError::new(
            series.source.clone(),
            format!("{expected} in {:?}", cut(&series.name)),
            found,
        ))
    };
    if series.times_us.len() != series.values.len() {
        return refuse(
            "as many values as times",
            &format!("{} and {}", series.values.len(), series.times_us.len()),
        );
    }
    if let Some(value) = series.values.iter().find(|value| !value.is_finite()) {
        return refuse("finite values", &value.to_string());
    }
    let mut pairs = series.times_us.iter().zip(series.times_us.iter().skip(1));
    if let Some((before, after)) = pairs.find(|(before, after)| before >= after) {
        return refuse("ascending times", &format!("{after} after {before}"));
    }
    let labels = labels_text(&series.labels);
    let notes = series.notes.iter().take(NOTES_MAX).map(String::as_str);
    let texts = [series.name.as_str(), &series.source, &labels];
    let longest = texts
        .into_iter()
        .chain(series.unit.as_deref())
        .chain(notes)
        .map(str::len)
        .max();
    if longest.is_some_and(|len_bytes| len_bytes > TEXT_BYTES_MAX) {
        return refuse(
            "texts of 65,536 bytes at most",
            &format!("{} bytes", longest.unwrap_or_default()),
        );
    }
    Ok(())
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Serialises labels sorted by name, so that equal labels give equal text.
fn labels_text(labels: &BTreeMap<String, String>) -> String {
    let object: serde_json::Map<String, serde_json::Value> = labels
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    serde_json::Value::from(object).to_string()
}

fn better_text(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

fn better_of(text: &str) -> Option<Better> {
    match text {
        "higher" => Some(Better::Higher),
        "lower" => Some(Better::Lower),
        _ => None,
    }
}

fn dating_text(dating: Dating) -> String {
    match dating {
        Dating::Absolute => "absolute".to_owned(),
        Dating::Day(day) => format!("day {day}"),
        Dating::Undated => "undated".to_owned(),
    }
}

fn dating_of(text: &str) -> Option<Dating> {
    match text {
        "absolute" => Some(Dating::Absolute),
        "undated" => Some(Dating::Undated),
        _ => text.strip_prefix("day ")?.parse().ok().map(Dating::Day),
    }
}

/// Converts an SQLite error.
fn failure(path: &Path, error: &rusqlite::Error) -> SourceError {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            return refusal(path, "a trimtab store", "no SQLite database");
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            return refusal(
                path,
                "an intact trimtab store (take a copy of it, or delete it and import again)",
                "a damaged SQLite database",
            );
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            return file_error(
                path,
                io::ErrorKind::WouldBlock,
                "another process has kept it locked for ten seconds: try again",
            );
        }
        Some(ErrorCode::CannotOpen) => io::ErrorKind::NotFound,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => io::ErrorKind::PermissionDenied,
        Some(ErrorCode::DiskFull) => io::ErrorKind::StorageFull,
        _ => io::ErrorKind::Other,
    };
    file_error(path, kind, &error.to_string())
}

fn file_error(path: &Path, kind: io::ErrorKind, text: &str) -> SourceError {
    SourceError::File {
        path: path.display().to_string(),
        error: io::Error::new(kind, text),
    }
}

fn refusal(path: &Path, expected: &str, found: &str) -> SourceError {
    InputError::new(path.display().to_string(), expected, found).into()
}

#[cfg(test)]
mod tests;
