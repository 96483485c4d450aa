//! Format detection and dispatch to the readers, for whatever lies at a path: text formats ([`Format`],
//! compressed or not), directories of them, and MongoDB's diagnostic data. A new format is recognised here.

use crate::iostat::diskstats;
use crate::text::file_error;
use crate::{
    FileOptions, Format, Reading, SourceError, csv, discard_time, ftdc, iostat, jsonl, rally, sadf,
    saved,
};
use facts::InputError;
use linux::regular_file;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// Bytes at the start of a file from which the format is detected.
const HEAD_BYTES: usize = 64 << 10;

/// Start of every `SQLite` file (<https://www.sqlite.org/fileformat.html>).
const SQLITE: &[u8] = b"SQLite format 3\0";

/// log2 of the largest window a zstd frame may require: 32 MiB, enough for `zstd --ultra -20`.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// Maximum decompressed size of a file. It bounds the time taken; memory is bounded anyway.
const TOTAL_BYTES_MAX: u64 = 16 << 30;

/// Reads a file, a directory of Rally races or of pt-stalk's files, or MongoDB's diagnostic data (a file or a directory).
/// Text files may be compressed with gzip or zstd.
///
/// # Errors
/// When it cannot be read, when its format is not known, when its text does not match its format (with file
/// and line), or when it contains nothing that was requested.
pub fn read_path(path: &Path, options: &FileOptions) -> Result<Reading, SourceError> {
    let name = path.display().to_string();
    if is_ftdc(path) {
        let defaults = ftdc::Options::default();
        let ftdc_options = ftdc::Options {
            select: options.select.clone(),
            step_s: options.step_s.map_or(defaults.step_s, whole_seconds),
        };
        return ftdc::read(path, &ftdc_options, &options.times, &options.limits);
    }
    let stalked = stalk_files(path);
    let mut reading = if is_trial(path) {
        let tables: Vec<PathBuf> = TRIAL_TABLES.iter().map(|name| path.join(name)).collect();
        read_files(&tables, options)?
    } else if !stalked.is_empty() {
        let mut all = read_files(&stalked, options)?;
        for series in &mut all.series {
            series.source.clone_from(&name);
        }
        all.join();
        let mut told = BTreeSet::new();
        all.skipped.retain(|one| told.insert(one.clone()));
        all
    } else if path.is_dir() {
        rally::read_directory(path, options)?
    } else {
        // Also a pipe, as of `<(zcat FILE)`.
        let file = File::open(path).map_err(|error| file_error(&name, error))?;
        read_bytes(&name, file, options)?
    };
    reading.select(&options.select);
    Ok(reading)
}

/// The tables that `trimtab bench run` writes into a trial's folder, beside this document.
const TRIAL_DOCUMENT: &str = "trial.json";
const TRIAL_TABLES: [&str; 3] = ["client.csv", "server.csv", "host.csv"];

/// Returns whether a path is the folder of a trial of `trimtab bench run`.
fn is_trial(path: &Path) -> bool {
    path.join(TRIAL_DOCUMENT).is_file()
}

/// The files of a directory in which pt-stalk kept copies of /proc/diskstats, `2026_11_28_10_46_00-diskstats`, by name. Empty
/// if there are none, or if it cannot be listed, which its reader reports.
fn stalk_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with("diskstats"));
    let mut files: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    let is_log = |path: &PathBuf| diskstats::is_log(&String::from_utf8_lossy(&head(path)));
    if !files.iter().any(is_log) {
        return Vec::new();
    }
    files.sort();
    files
}

/// Reads files that belong together: those of a trial (the driver's, the servers' and the host's), or of pt-stalk. What
/// cannot be read is skipped, and the first error is that of all.
fn read_files(paths: &[PathBuf], options: &FileOptions) -> Result<Reading, SourceError> {
    let mut all = Reading::default();
    let mut first_error = None;
    for path in paths {
        let name = path.display().to_string();
        let file = regular_file::open(path).map_err(|error| file_error(&name, error));
        // A trial that was cut short may have a table without rows.
        match file.and_then(|file| read_bytes(&name, file, options)) {
            Ok(reading) => all.append(reading),
            Err(error) => {
                let why = error.to_string();
                all.skipped.push(facts::Skipped::new(name, why, None));
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if all.series.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// Returns the first bytes of a file; empty if it cannot be read, which its reader reports.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(file) = regular_file::open(path) {
        let _ = file.take(512).read_to_end(&mut head);
    }
    head
}

/// Returns whether a path is MongoDB's diagnostic data: a file of it, or a directory with such files.
fn is_ftdc(path: &Path) -> bool {
    if path.is_dir() {
        return std::fs::read_dir(path).is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| {
                    let name = entry.file_name();
                    name.to_string_lossy().starts_with("metrics.")
                        && ftdc::looks_like(&head(&entry.path()))
                })
            })
        });
    }
    ftdc::looks_like(&head(path))
}

/// Diagnostic data has at most one sample per second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn whole_seconds(step_s: f64) -> u32 {
    (step_s as u32).max(1)
}

/// Returns the files that are read from a directory: Rally races, MongoDB diagnostic data and pt-stalk's. Empty if the
/// directory cannot be listed; reading it reports the error.
pub fn files_of(directory: &Path) -> Vec<PathBuf> {
    let (mut files, mut beyond) = (Vec::new(), 0);
    // An error is ignored here, because reading the directory reports it.
    let _ = rally::find(directory, 0, &mut files, &mut beyond);
    files.extend(ftdc::files(directory).unwrap_or_default());
    files.extend(stalk_files(directory));
    files
}

/// Reads a history from memory; `name` identifies it in errors and becomes the source of its series.
///
/// # Errors
/// Same as [`read_path`].
pub fn read_bytes(
    name: &str,
    input: impl Read,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let mut whole = decompress(name, input)?;
    let mut head = Vec::new();
    (&mut whole)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| file_error(name, error))?;
    let mark = usize::from(head.starts_with(b"\xef\xbb\xbf")) * 3;
    head.drain(..mark);
    let format = match options.format {
        Some(format) => format,
        None => detect(name, &head)?,
    };
    let input = BufReader::new(Cursor::new(head).chain(whole));
    let mut reading = match format {
        Format::Csv => csv::read(name, input, options),
        Format::JsonLines => jsonl::read(name, input, options),
        Format::RallyRace => rally::read_file(name, input, options),
        Format::Iostat => iostat::read(name, input, options),
        Format::Diskstats => diskstats::read(name, input, options),
        Format::Sadf => sadf::read(name, input, options),
        Format::PrometheusAnswer => saved::read_prometheus(name, input, options),
        Format::SearchAnswer => saved::read_search(name, input, options),
    }?;
    discard_time::add(&mut reading.series);
    Ok(reading)
}

fn decompress<'r>(name: &str, input: impl Read + 'r) -> Result<Box<dyn Read + 'r>, SourceError> {
    let failed = |error| file_error(name, error);
    let mut input = BufReader::new(input);
    let mut magic = Vec::new();
    (&mut input)
        .take(4)
        .read_to_end(&mut magic)
        .map_err(failed)?;
    let whole = BufReader::new(Cursor::new(magic.clone()).chain(input));
    let plain: Box<dyn Read + 'r> = match magic.as_slice() {
        // RFC 1952.
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        // RFC 8878.
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(whole).map_err(failed)?;
            decoder
                .window_log_max(ZSTD_WINDOW_LOG_MAX)
                .map_err(failed)?;
            Box::new(decoder)
        }
        _ => Box::new(whole),
    };
    Ok(Box::new(Limited {
        input: plain,
        left: TOTAL_BYTES_MAX,
    }))
}

/// Fails beyond the limit, unlike [`Read::take`], which pretends that the file ends there.
struct Limited<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        self.left = self
            .left
            .checked_sub(len as u64)
            .ok_or_else(|| io::Error::other(format!("longer than {TOTAL_BYTES_MAX} bytes")))?;
        Ok(len)
    }
}

/// Detects the format from the beginning of a text.
fn detect(name: &str, head: &[u8]) -> Result<Format, SourceError> {
    let unknown = |found: &str| InputError::new(name, Format::KNOWN_FORMATS, found);
    let start = head
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .ok_or_else(|| unknown("an empty file"))?;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(unknown("text in UTF-16: convert it to UTF-8").into());
    }
    if let Some(kind) = sysstat_file(head) {
        return Err(sysstat(name, kind));
    }
    if head.starts_with(SQLITE) {
        return Err(unknown("an SQLite database: export CSV (sqlite3 -csv -header)").into());
    }
    if head.contains(&0) {
        return Err(unknown("a binary file").into());
    }
    let text = String::from_utf8_lossy(head);
    match head[start] {
        b'[' => return Ok(Format::JsonLines),
        b'{' => return Ok(json_format(&text)),
        _ => {}
    }
    if let Some(found) = rally::summary(&text).or_else(|| other_program(&text)) {
        return Err(SourceError::empty(name, found));
    }
    if text.lines().any(iostat::is_head) || iostat::is_bare_vmstat(&text) {
        return Ok(Format::Iostat);
    }
    if diskstats::is_log(&text) {
        return Ok(Format::Diskstats);
    }
    if csv::delimiter(&text, head.len() == HEAD_BYTES).is_some() {
        return Ok(Format::Csv);
    }
    // The text is not quoted: only root may be allowed to read this file, and others read the error.
    Err(unknown("text in another format").into())
}

/// Names what other programs print of a store or its disks, with what to give instead.
fn other_program(text: &str) -> Option<&'static str> {
    let mut heads = text.lines().take(10).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words
    });
    heads.find_map(|words| {
        let has = |names: &[&str]| names.iter().all(|name| words.contains(name));
        if has(&["insert", "query", "update", "delete", "getmore"]) {
            Some("mongostat counts no disk I/O; diagnostic.data below the server's dbPath does: read that directory")
        } else if has(&["capacity", "operations", "bandwidth"]) {
            Some("zpool iostat counts no discards; `iostat -xt` does: record that of the pool's drives")
        } else {
            None
        }
    })
}

/// Start of a file of sysstat's collector, in either byte order (`SYSSTAT_MAGIC` in sysstat's `sa.h`), and
/// the kinds of file whose number follows it (`FORMAT_MAGIC`).
const SYSSTAT_MAGIC: u16 = 0xd596;
const SYSSTAT_FORMATS: std::ops::RangeInclusive<u16> = 0x2160..=0x21ff;

/// Name of a file that sysstat's collector wrote.
const SAR_FILE: &str = "a file of sar in its own binary format";

/// Returns the name of a binary file of sysstat's collector, such as /var/log/sysstat/sa22.
fn sysstat_file(head: &[u8]) -> Option<&'static str> {
    let number = |at: usize| Some([*head.get(at)?, *head.get(at + 1)?]);
    let (magic, format) = (number(0)?, number(2)?);
    [u16::from_le_bytes, u16::from_be_bytes]
        .iter()
        .any(|read| read(magic) == SYSSTAT_MAGIC && SYSSTAT_FORMATS.contains(&read(format)))
        .then_some(SAR_FILE)
}

/// The error for what sysstat itself has to convert.
fn sysstat(name: &str, kind: &'static str) -> SourceError {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let is_word = !name.starts_with('-') && name.bytes().all(is_plain);
    SourceError::Sysstat {
        path: name.to_owned(),
        kind,
        datafile: if is_word {
            name.to_owned()
        } else {
            "/var/log/sysstat/saDD".to_owned()
        },
    }
}

/// Distinguishes the formats that begin with a JSON object.
fn json_format(text: &str) -> Format {
    let head: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(64)
        .collect();
    if head.starts_with("{\"sysstat\":") {
        return Format::Sadf;
    }
    if saved::is_of_prometheus(text) {
        return Format::PrometheusAnswer;
    }
    if saved::is_of_search(text) {
        return Format::SearchAnswer;
    }
    // A race is pretty-printed over many lines, or a single one. An Elasticsearch metrics store holds races and
    // their results as rows, which also have a race-timestamp: many objects, or one without op_metrics.
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let is_race = if let Some(Ok(object)) = objects.next() {
        let has = |name: &&str| object.get(name).is_some();
        rally::TIMESTAMPS.iter().any(has)
            && (object.get("@timestamp").is_none()
                || (has_results(&object) && !matches!(objects.next(), Some(Ok(_)))))
    } else {
        let has = |name: &&str| text.contains(&format!("\"{name}\""));
        rally::TIMESTAMPS.iter().any(has)
            && (!text.contains("\"@timestamp\"") || text.trim_start().starts_with("{\n"))
    };
    if is_race {
        Format::RallyRace
    } else {
        Format::JsonLines
    }
}

/// Whether a race has results, of one cluster or several. Rally writes `@timestamp` into races since 2.13.
fn has_results(race: &serde_json::Value) -> bool {
    let of_one = |results: &serde_json::Value| results.get("op_metrics").is_some();
    race.get("results").is_some_and(|results| {
        of_one(results)
            || results
                .as_array()
                .is_some_and(|clusters| clusters.iter().any(of_one))
    })
}

/// Reads a text; for the tests of all formats.
#[cfg(test)]
pub(crate) fn read_text(text: &str, options: &FileOptions) -> Result<Reading, SourceError> {
    read_bytes("f", text.as_bytes(), options)
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
