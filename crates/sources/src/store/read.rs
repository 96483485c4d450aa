//! Reading a store.

use super::{SERIES_MAX, Store, better_of, dating_of, failure, refusal};
use crate::reading::SERIES_SAMPLES_MAX;
use crate::{Limits, Reading, SourceError};
use facts::Skipped;
use facts::series::{Better, Dating, Series};
use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of series names listed in an error.
const NAMES_SHOWN: usize = 8;

/// A series of the store, without its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSeries {
    /// The source it was read from.
    pub source: String,
    /// Its name in the source.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The unit of its values.
    pub unit: Option<String>,
    /// Whether higher or lower is better.
    pub better: Option<Better>,
    /// How its times were dated.
    pub dating: Dating,
    /// Notes made while it was read.
    pub notes: Vec<String>,
    /// Number of samples.
    pub samples: u64,
    /// The times of the first and last sample, in microseconds since the epoch.
    pub span_us: Option<(i64, i64)>,
}

/// A filter for series: all conditions must hold; by default all series match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Patterns, one of which must match the name; `*` matches any number of characters, `?` exactly one.
    pub names: Vec<String>,
    /// Patterns for the source, likewise.
    pub sources: Vec<String>,
    /// Labels it must have, with these values.
    pub labels: BTreeMap<String, String>,
}

impl Selection {
    fn includes(&self, series: &StoredSeries) -> bool {
        let fits = |patterns: &[String], text: &str| {
            patterns.is_empty()
                || patterns
                    .iter()
                    .any(|pattern| units::glob::matches(pattern, text))
        };
        fits(&self.names, &series.name)
            && fits(&self.sources, &series.source)
            && self
                .labels
                .iter()
                .all(|(name, value)| series.labels.get(name) == Some(value))
    }
}

impl Store {
    /// Lists the series, sorted by source and name.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or contains invalid rows.
    pub fn list(&self) -> Result<Vec<StoredSeries>, SourceError> {
        let fail = |error: rusqlite::Error| failure(&self.path, &error);
        let snapshot = self.connection.unchecked_transaction().map_err(fail)?;
        let rows = self.rows(&snapshot)?;
        Ok(rows.into_iter().map(|(_, series)| series).collect())
    }

    /// Reads series with their samples from `since` until before `until`.
    ///
    /// Series that exceed the limits are left out and listed in `skipped`. Duplicate names are made unique
    /// with their sources and units.
    ///
    /// # Errors
    /// Same as [`Store::list`], and when no series is selected.
    pub fn read(
        &self,
        selection: &Selection,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        limits: &Limits,
    ) -> Result<Reading, SourceError> {
        let fail = |error: rusqlite::Error| failure(&self.path, &error);
        let snapshot = self.connection.unchecked_transaction().map_err(fail)?;
        let rows = self.rows(&snapshot)?;
        let selected: Vec<&(i64, StoredSeries)> = rows
            .iter()
            .filter(|(_, series)| selection.includes(series))
            .collect();
        if selected.is_empty() {
            return Err(self.nothing_selected(&rows));
        }
        let from_us = since.map_or(i64::MIN, Timestamp::as_microsecond);
        let until_us = until.map_or(i64::MAX, Timestamp::as_microsecond);
        let mut reading = Reading::default();
        let mut samples_left = limits.samples_max;
        for (id, stored) in selected {
            let name = format!("{} {}", stored.source, stored.name);
            let mut skip = |why: String| {
                let needs = Some("a narrower selection, or a shorter time");
                reading.skipped.push(Skipped::new(name.clone(), why, needs));
            };
            if reading.series.len() >= limits.series_max {
                skip(format!("more than {} series", limits.series_max));
                continue;
            }
            let most = samples_left.min(SERIES_SAMPLES_MAX);
            let samples = samples(&snapshot, *id, from_us, until_us, most).map_err(fail)?;
            let Some((times_us, values, infinite)) = samples else {
                skip(format!(
                    "more than {} samples",
                    limits.samples_max.min(SERIES_SAMPLES_MAX)
                ));
                continue;
            };
            samples_left -= times_us.len();
            let mut notes = stored.notes.clone();
            if infinite > 0 {
                notes.push(format!("{infinite} values are infinite: left out"));
            }
            reading.series.push(Series {
                name: stored.name.clone(),
                source: stored.source.clone(),
                labels: stored.labels.clone(),
                unit: stored.unit.clone(),
                better: stored.better,
                dating: stored.dating,
                sample_of: None,
                times_us,
                values,
                notes,
                discard_time: None,
            });
        }
        make_names_unique(&mut reading.series);
        Ok(reading)
    }

    fn nothing_selected(&self, rows: &[(i64, StoredSeries)]) -> SourceError {
        let names: BTreeSet<&str> = rows
            .iter()
            .map(|(_, series)| series.name.as_str())
            .collect();
        let shown: Vec<&str> = names.iter().copied().take(NAMES_SHOWN).collect();
        let more = match names.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        SourceError::Empty {
            source_name: self.path.display().to_string(),
            reason: if names.is_empty() {
                "nothing was stored yet; import a history first".to_owned()
            } else {
                format!("no series fits; it holds {}{more}", shown.join(", "))
            },
        }
    }

    /// Returns all series with their row ids.
    fn rows(&self, snapshot: &Transaction<'_>) -> Result<Vec<(i64, StoredSeries)>, SourceError> {
        let fail = |error: rusqlite::Error| failure(&self.path, &error);
        // A store written by this program has no rows beyond that.
        let mut query = snapshot
            .prepare(
                "SELECT id, source, name, labels, unit, dating, better, notes, samples,
                   (SELECT min(time_us) FROM samples WHERE series_id = id),
                   (SELECT max(time_us) FROM samples WHERE series_id = id)
                 FROM series WHERE id <= ?1 ORDER BY source, name, id",
            )
            .map_err(fail)?;
        let mut rows = query.query([SERIES_MAX]).map_err(fail)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(fail)? {
            let id = row.get(0).map_err(fail)?;
            found.push((id, self.stored(row)?));
        }
        Ok(found)
    }

    fn stored(&self, row: &Row<'_>) -> Result<StoredSeries, SourceError> {
        let fail = |error: rusqlite::Error| failure(&self.path, &error);
        let text = |column: usize| row.get::<_, String>(column).map_err(fail);
        let odd = |expected: &str, found: &str| refusal(&self.path, expected, found);
        let (labels, dating, notes) = (text(3)?, text(5)?, text(7)?);
        let unit = text(4)?;
        let first: Option<i64> = row.get(9).map_err(fail)?;
        let last: Option<i64> = row.get(10).map_err(fail)?;
        let better: Option<String> = row.get(6).map_err(fail)?;
        Ok(StoredSeries {
            source: text(1)?,
            name: text(2)?,
            labels: serde_json::from_str(&labels)
                .map_err(|_| odd("labels as a JSON object of texts", &labels))?,
            unit: (!unit.is_empty()).then_some(unit),
            better: better.as_deref().and_then(better_of),
            dating: dating_of(&dating)
                .ok_or_else(|| odd("absolute, undated, or day and a date", &dating))?,
            notes: serde_json::from_str(&notes)
                .map_err(|_| odd("notes as a JSON list of texts", &notes))?,
            samples: u64::try_from(row.get::<_, i64>(8).map_err(fail)?).unwrap_or(0),
            span_us: first.zip(last),
        })
    }
}

/// Times and values of one series, and the number of infinite values; `None` if there are more samples than
/// `samples_max`.
type Samples = Option<(Vec<i64>, Vec<f64>, u64)>;

fn samples(
    snapshot: &Transaction<'_>,
    series_id: i64,
    from_us: i64,
    until_us: i64,
    samples_max: usize,
) -> rusqlite::Result<Samples> {
    let mut query = snapshot.prepare(
        "SELECT time_us, value FROM samples
         WHERE series_id = ?1 AND time_us >= ?2 AND time_us < ?3 ORDER BY time_us",
    )?;
    let mut rows = query.query(params![series_id, from_us, until_us])?;
    let (mut times_us, mut values, mut infinite) = (Vec::new(), Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let value: f64 = row.get(1)?;
        if !value.is_finite() {
            infinite += 1;
            continue;
        }
        if times_us.len() >= samples_max {
            return Ok(None);
        }
        times_us.push(row.get(0)?);
        values.push(value);
    }
    Ok(Some((times_us, values, infinite)))
}

/// Makes duplicate names unique by adding the source, then the unit, then a number.
fn make_names_unique(series: &mut [Series]) {
    let shared = |series: &[Series]| -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let names = series.iter().map(|one| one.name.clone());
        names.filter(|name| !seen.insert(name.clone())).collect()
    };
    let twice = shared(series);
    for one in series.iter_mut().filter(|one| twice.contains(&one.name)) {
        one.name = format!("{} ({})", one.name, one.source);
    }
    let twice = shared(series);
    for one in series.iter_mut().filter(|one| twice.contains(&one.name)) {
        if let Some(unit) = &one.unit {
            one.name = format!("{} {unit}", one.name);
        }
    }
    let mut taken = BTreeSet::new();
    for one in series {
        let name = one.name.clone();
        let mut number = 2;
        while !taken.insert(one.name.clone()) {
            one.name = format!("{name} #{number}");
            number += 1;
        }
    }
}
