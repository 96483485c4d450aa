//! MongoDB's diagnostic data ("full-time diagnostic data capture", FTDC): metrics of the server and its
//! host for the last days or weeks, second by second, which every mongod keeps in `diagnostic.data` beside
//! its data.
//!
//! The format is described in MongoDB's src/mongo/db/ftdc/README.md: files of BSON documents, of type 0
//! (metadata), 1 (a chunk of metrics, see `chunk`) and 2 (changes of the metadata). Only chunks are read.
//! The format itself drops fractions.
//!
//! Whether a number is a counter, and so becomes a rate per second, is decided by its path: `opcounters`,
//! latencies, network, locks and the like of `serverStatus`; everything of WiredTiger except what its own
//! name calls a state ("currently", "in the cache", "most recent", "maximum", ...); processor times, disks
//! (except `io_in_progress`), pressure and the network of the host. All other numbers are gauges. The
//! patterns are in `ftdc/metric.rs`.

mod bson;
mod chunk;
mod metric;
mod track;

#[cfg(test)]
mod tests;

use crate::discard_time;
use crate::reading::SERIES_SAMPLES_MAX;
use crate::text::file_error;
use crate::{Limits, Reading, SourceError, Times};
use bson::{Elements, Fault, Value};
use chunk::Chunk;
use facts::series::{Better, Series};
use facts::{InputError, Skipped};
use linux::regular_file;
use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use track::{Kind, Track};

/// Maximum size of a document in a file: MongoDB's own limit for documents.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// The file that the server rewrites every few seconds.
const INTERIM: &str = "metrics.interim";
/// Maximum number of values kept from one chunk, over all series.
const CHUNK_NUMBERS_MAX: usize = 4 << 20;
/// Maximum step, in seconds: a year.
const STEP_S_MAX: u32 = 366 * 86_400;

/// Which of the thousands of metrics are read, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Patterns of dotted paths, such as `serverStatus.opcounters.*`; `*` matches any characters. If empty:
    /// load, latencies, queues, the cache with eviction and checkpoints, processors and disks.
    pub select: Vec<String>,
    /// Samples are averaged over this many seconds; 0 keeps each second. Default: 10, so that a week is
    /// 60,000 samples per series.
    pub step_s: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            select: Vec::new(),
            step_s: 10,
        }
    }
}

/// Reads a file of diagnostic data, or a directory of them (`metrics.*`), chunk by chunk.
///
/// Counters become rates per second; latencies and disk times also give means per operation. Series that
/// are zero throughout are left out and counted as skipped. A document truncated at the end of a file was
/// still being written; that is a warning.
///
/// # Errors
/// When a file cannot be read, is damaged (with the offset of the document), or contains nothing that was
/// requested within the time range.
pub fn read(
    path: &Path,
    options: &Options,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut collector = Collector::new(path, options, times, limits);
    for file in files(path)? {
        collector.read_file(&file)?;
    }
    collector.finish()
}

/// Returns whether bytes look like the start of a file of diagnostic data: a BSON document with a date as
/// `_id`, followed by a `type` from 0 to 2.
pub fn looks_like(head: &[u8]) -> bool {
    let Some(length) = bson::u32_at(head, 0) else {
        return false;
    };
    let id = head.get(4..9) == Some(b"\x09_id\0");
    let kind = head.get(17..23) == Some(b"\x10type\0");
    id && kind
        && length as usize <= DOCUMENT_BYTES_MAX
        && bson::u32_at(head, 23).is_some_and(|kind| kind <= 2)
}

/// Reads diagnostic data from memory, as [`read`] does from a file of this name.
///
/// # Errors
/// Same as [`read`].
pub fn read_bytes(
    bytes: &[u8],
    source_name: &str,
    options: &Options,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut collector = Collector::new(Path::new(source_name), options, times, limits);
    collector.read_from(bytes, source_name)?;
    collector.finish()
}

/// Returns the files in the order in which they were written, the interim file last.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let trouble = |error| file_error(&path.display().to_string(), error);
    if !std::fs::metadata(path).map_err(trouble)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(trouble)? {
        let entry = entry.map_err(trouble)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("metrics.") && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    if found.is_empty() {
        return Err(SourceError::empty(
            path.display().to_string(),
            "no file metrics.* in this directory: name the server's diagnostic.data",
        ));
    }
    // File names contain timestamps, so they sort by time.
    found.sort_by_key(|path| (is_interim(path), path.clone()));
    Ok(found)
}

fn is_interim(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == INTERIM)
}

/// How the columns of a chunk map to tracks.
struct Plan {
    /// The paths of the chunk for which it was made.
    paths: Vec<String>,
    /// The index of the metric that holds the time.
    time: usize,
    /// For each metric, whether its column is decoded.
    wanted: Vec<bool>,
    /// For each track to be fed: its index, and its columns among the decoded ones.
    feeds: Vec<(usize, usize, usize)>,
}

struct Collector<'a> {
    source_name: String,
    options: &'a Options,
    times: &'a Times,
    limits: &'a Limits,
    step_us: i64,
    tracks: Vec<Track>,
    /// Track indices by name.
    places: HashMap<String, usize>,
    /// Metrics that are read only because discards are computed from them.
    inputs: HashSet<String>,
    plan: Option<Plan>,
    /// The time of the last sample taken.
    last_us: Option<i64>,
    chunks: u64,
    repeated: u64,
    outside: u64,
    /// Number of series beyond the limit.
    too_many: usize,
    warnings: Vec<String>,
}

impl<'a> Collector<'a> {
    fn new(path: &Path, options: &'a Options, times: &'a Times, limits: &'a Limits) -> Self {
        Self {
            source_name: path.display().to_string(),
            step_us: i64::from(options.step_s.min(STEP_S_MAX)) * 1_000_000,
            options,
            times,
            limits,
            tracks: Vec::new(),
            places: HashMap::new(),
            inputs: HashSet::new(),
            plan: None,
            last_us: None,
            chunks: 0,
            repeated: 0,
            outside: 0,
            too_many: 0,
            warnings: Vec::new(),
        }
    }

    fn read_file(&mut self, path: &Path) -> Result<(), SourceError> {
        let name = path.display().to_string();
        let file = regular_file::open(path).map_err(|error| file_error(&name, error))?;
        match self.read_from(BufReader::new(file), &name) {
            // The server may have been writing it; it holds a few minutes at most.
            Err(SourceError::Input(error)) if is_interim(path) => {
                self.warnings.push(format!("not read: {error}"));
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn read_from(&mut self, mut input: impl Read, name: &str) -> Result<(), SourceError> {
        let mut offset = 0_u64;
        let mut document = Vec::new();
        loop {
            document.clear();
            let mut take = |document: &mut Vec<u8>, bytes: usize| {
                let read = (&mut input).take(bytes as u64).read_to_end(document);
                read.map(|len| len == bytes)
                    .map_err(|error| file_error(name, error))
            };
            let has_length = take(&mut document, 4)?;
            if document.is_empty() {
                return Ok(());
            }
            let mut whole = has_length;
            if let Some(length) = bson::u32_at(&document, 0) {
                let length = length as usize;
                if !(bson::DOCUMENT_BYTES_MIN..=DOCUMENT_BYTES_MAX).contains(&length) {
                    let found = format!("a length of {length} bytes");
                    let expected = "a BSON document of 5 to 16777216 bytes";
                    return Err(damaged(name, offset, expected, &found).into());
                }
                whole = take(&mut document, length - 4)?;
            }
            if !whole {
                self.warnings.push(format!(
                    "{name}: the last document, at byte {offset}, is cut off after {} bytes: it was \
                     being written",
                    document.len()
                ));
                return Ok(());
            }
            self.take_document(&document, name, offset)?;
            offset += document.len() as u64;
        }
    }

    fn take_document(&mut self, bytes: &[u8], name: &str, offset: u64) -> Result<(), SourceError> {
        let fault = |(at, expected): Fault, what: &str| {
            damaged(name, offset, expected, &format!("{what}, at its byte {at}"))
        };
        let document =
            bson::document(bytes).map_err(|found| fault(found, "damage in a document"))?;
        let (mut kind, mut data) = (None, None);
        for element in Elements::of(document) {
            let (_, element) = element.map_err(|found| fault(found, "damage in a document"))?;
            match (element.name, element.value) {
                ("type", Value::Int(number)) => kind = Some(number),
                ("data", Value::Binary(bytes)) => data = Some(bytes),
                _ => {}
            }
        }
        match (kind, data) {
            (Some(1), Some(data)) => {
                let chunk = Chunk::read(data).map_err(|found| fault(found, "damage in a chunk"))?;
                self.take_chunk(&chunk, &|found| fault(found, "damage in a chunk"))
            }
            (Some(0 | 2), _) => Ok(()),
            _ => Err(damaged(
                name,
                offset,
                "a document of FTDC with a type from 0 to 2, and data for type 1",
                "another document",
            )
            .into()),
        }
    }

    fn take_chunk(
        &mut self,
        chunk: &Chunk,
        fault: &dyn Fn(Fault) -> InputError,
    ) -> Result<(), SourceError> {
        self.chunks += 1;
        let same = self.plan.as_ref().is_some_and(|plan| {
            let paths = chunk.metrics.iter().map(|metric| metric.path.as_str());
            plan.paths.iter().map(String::as_str).eq(paths)
        });
        if !same {
            let plan = self.make_plan(chunk).map_err(fault)?;
            self.plan = Some(plan);
        }
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let kept = plan.wanted.iter().filter(|wanted| **wanted).count() + 1;
        if kept.saturating_mul(chunk.samples) > CHUNK_NUMBERS_MAX {
            return Err(self.too_much("a chunk holds too many numbers of what is selected"));
        }
        let time = chunk
            .columns(|index| index == plan.time)
            .map_err(fault)?
            .swap_remove(0);
        let columns = chunk.columns(|index| plan.wanted[index]).map_err(fault)?;
        let wanted_us = self.times.wanted_us();
        for (sample, time_ms) in time.iter().enumerate() {
            let time_us = time_ms.saturating_mul(1000);
            if self.last_us.is_some_and(|last_us| time_us <= last_us) {
                self.repeated += 1;
                continue;
            }
            self.last_us = Some(time_us);
            if !wanted_us.contains(&time_us) {
                self.outside += 1;
                continue;
            }
            for (track, first, second) in &plan.feeds {
                let (first, second) = (columns[*first][sample], columns[*second][sample]);
                self.tracks[*track].push(time_us, first, second, self.step_us);
            }
        }
        let is_long = |track: &Track| track.len() > SERIES_SAMPLES_MAX;
        if self.tracks.iter().map(Track::len).sum::<usize>() > self.limits.samples_max
            || self.tracks.iter().any(is_long)
        {
            return Err(self.too_much("too many samples"));
        }
        Ok(())
    }

    fn too_much(&self, what: &str) -> SourceError {
        SourceError::TooMuch {
            source_name: self.source_name.clone(),
            reason: format!("{what}: select fewer series, a longer step, or less time"),
        }
    }

    /// Maps the columns of a chunk to tracks, creating those that are new.
    fn make_plan(&mut self, chunk: &Chunk) -> Result<Plan, Fault> {
        let paths: Vec<String> = chunk
            .metrics
            .iter()
            .map(|metric| metric.path.clone())
            .collect();
        let time = paths
            .iter()
            .position(|path| path == "start")
            .ok_or((4, "a chunk whose samples have a start"))?;
        let selected = paths.iter().map(|path| is_selected_in(self.options, path));
        let selected: Vec<bool> = selected.collect();
        let index: HashMap<&str, usize> = paths
            .iter()
            .enumerate()
            .map(|(at, path)| (path.as_str(), at))
            .collect();
        let mut wanted = vec![false; paths.len()];
        // Metrics are mapped first; only then are the columns to decode known.
        let mut fed = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            if !selected[at] {
                if !self.is_input(path) {
                    continue;
                }
                self.inputs.insert(path.clone());
            }
            if let Some((mean, parent)) = mean_of(path).filter(|_| selected[at])
                && let Some(below) = index.get(format!("{parent}.{}", mean.denominator).as_str())
                && selected[*below]
                && let name = format!("{parent}.{}", mean.name)
                && let Some(track) = self.track(Kind::Mean, &name)
            {
                self.tracks[track].unit = Some(mean.unit.to_owned());
                self.tracks[track].better = Some(Better::Lower);
                self.label(track, &name);
                fed.push((track, at, *below));
            }
            let counts = metric::is_counter(path);
            let kind = if counts { Kind::Rate } else { Kind::Gauge };
            if let Some(track) = self.track(kind, path) {
                let unit = metric::unit(path);
                self.tracks[track].unit = match (counts, unit) {
                    (true, unit) => Some(format!("{}/s", unit.unwrap_or("1"))),
                    (false, unit) => unit.map(str::to_owned),
                };
                self.label(track, path);
                fed.push((track, at, at));
            }
        }
        for (_, first, second) in &fed {
            wanted[*first] = true;
            wanted[*second] = true;
        }
        let mut columns = vec![0; paths.len()];
        let mut next = 0;
        for (at, is_wanted) in wanted.iter().enumerate() {
            columns[at] = next;
            next += usize::from(*is_wanted);
        }
        let feeds = fed
            .into_iter()
            .map(|(track, first, second)| (track, columns[first], columns[second]))
            .collect();
        Ok(Plan {
            paths,
            time,
            wanted,
            feeds,
        })
    }

    /// Returns whether a selected series is computed from a metric that is not selected itself.
    fn is_input(&self, path: &str) -> bool {
        let bare = metric::without_role(path);
        let device = bare
            .strip_prefix(metric::DISKS)
            .and_then(discard_time::before_input);
        device.is_some_and(|device| {
            let name = discard_time::name_of(device.trim_end_matches('.'));
            is_selected_in(self.options, &name)
        })
    }

    /// Returns the track of this name, creating it unless there are too many.
    fn track(&mut self, kind: Kind, name: &str) -> Option<usize> {
        if let Some(at) = self.places.get(name) {
            return Some(*at);
        }
        if self.tracks.len() >= self.limits.series_max {
            self.too_many += 1;
            return None;
        }
        self.tracks.push(Track::new(kind, name.to_owned()));
        self.places.insert(name.to_owned(), self.tracks.len() - 1);
        Some(self.tracks.len() - 1)
    }

    fn label(&mut self, track: usize, path: &str) {
        let labels = &mut self.tracks[track].labels;
        labels.insert("metric".to_owned(), path.to_owned());
        let bare = metric::without_role(path);
        if let Some(rest) = bare.strip_prefix(metric::DISKS)
            && let Some((device, _)) = rest.rsplit_once('.')
        {
            labels.insert("device".to_owned(), device.to_owned());
        }
    }

    fn finish(self) -> Result<Reading, SourceError> {
        let mut reading = Reading {
            warnings: self.warnings,
            ..Reading::default()
        };
        let name = &self.source_name;
        let tracks = self.tracks.into_iter();
        reading.series = tracks.map(|track| track.finish(name)).collect();
        discard_time::add(&mut reading.series);
        // What only discards were computed from.
        let is_wanted = |series: &Series| match series.discard_time {
            Some(_) => is_selected_in(self.options, &series.name),
            None => !self.inputs.contains(&series.name),
        };
        reading.series.retain(is_wanted);
        let made = reading.series.len();
        // As of an unused disk.
        let is_used = |series: &Series| series.values.iter().any(|value| *value != 0.0);
        reading.series.retain(is_used);
        if reading.series.is_empty() {
            let reason = match (self.chunks, made) {
                (0, _) => "no chunk of metrics in it".to_owned(),
                (_, 0) => "none of the selected metrics are in it: give other patterns".to_owned(),
                _ if self.outside > 0 => format!(
                    "nothing but zeros, or nothing, within the times: {} samples lie outside",
                    self.outside
                ),
                _ => "all selected metrics stay at zero: give other patterns".to_owned(),
            };
            return Err(SourceError::empty(self.source_name, reason));
        }
        let idle = made - reading.series.len();
        if idle > 0 {
            let why = "they are zero throughout, or have no value";
            let what = format!("{idle} series of {name}");
            reading.skipped.push(Skipped::new(what, why, None));
        }
        if self.too_many > 0 {
            let what = format!("further series of {name}");
            let why = format!("more than {} are not kept", self.limits.series_max);
            let needs = Some("a narrower selection");
            reading.skipped.push(Skipped::new(what, why, needs));
        }
        if self.repeated > 0 {
            reading.warnings.push(format!(
                "{name}: {} samples are no later than the one before and were left out: repeated in \
                 the interim file, or the clock was set back",
                self.repeated
            ));
        }
        Ok(reading)
    }
}

/// Returns whether a path, or a name, is selected.
fn is_selected_in(options: &Options, path: &str) -> bool {
    if options.select.is_empty() {
        metric::is_selected(metric::SELECTED, path) || path.starts_with(discard_time::NAME)
    } else {
        metric::is_selected(&options.select, path)
    }
}

/// Returns the mean whose numerator is this path, and the path's parent.
fn mean_of(path: &str) -> Option<(&'static metric::Mean, &str)> {
    let (parent, last) = path.rsplit_once('.')?;
    let bare = metric::without_role(parent);
    let mean = metric::MEANS
        .iter()
        .find(|mean| mean.numerator == last && units::glob::matches(mean.parent, bare))?;
    Some((mean, parent))
}

fn damaged(name: &str, offset: u64, expected: &str, found: &str) -> InputError {
    InputError {
        byte: Some(offset),
        ..InputError::new(name, expected, found)
    }
}
