//! The trial's file: records that are readable up to the last whole one, whatever ended the trial.
//!
//! The file begins with [`MAGIC`]. Each record is a length (4 bytes, little-endian), a CRC-32 of length and
//! content (4 bytes), and the content, whose first byte is the record's kind. A process that is killed, a full
//! disk, or a power cut leave a shorter file or a record that is cut; the [`Reader`] says so and where. Records
//! are not synced one by one, because that would load the drive: after a power cut some seconds are missing.

use super::interval::Interval;
use crate::path_error::{PathError, at};
use crate::track::{PhaseKind, Prepared, Track};
use jiff::Timestamp;
use linux::regular_file;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use thiserror::Error;

/// The first bytes of a trial's file. The number is the format's version.
pub const MAGIC: &[u8; 16] = b"trimtab trial 1\n";
/// The name of the file in a trial's directory.
pub const FILE_NAME: &str = "trial.bin";
/// The longest record: more than an interval of 100 loads whose every bucket is used.
const RECORD_BYTES_MAX: u32 = 1 << 28;

const START: u8 = 1;
const PHASE_START: u8 = 2;
const INTERVAL: u8 = 3;
const PHASE_END: u8 = 4;
const END: u8 = 5;

/// A record of a trial's file.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The trial's description: the first record.
    Start(Box<TrialStart>),
    /// A phase begins.
    PhaseStart(PhaseStart),
    /// What a thread measured in about a second.
    Interval(Box<Interval>),
    /// A phase has ended.
    PhaseEnd(PhaseEnd),
    /// The trial has ended: the last record.
    End(TrialEnd),
}

/// What a trial is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialStart {
    /// The track.
    #[serde(deserialize_with = "read_track")]
    pub track: Track,
    /// The target, without credentials.
    pub target: String,
    /// Number of threads.
    pub threads: u32,
    /// The time of day.
    pub started_at: Timestamp,
    /// What was prepared for each operation, for those who read a journal later.
    pub prepared: BTreeMap<String, Prepared>,
    /// Timeout of a request, from sending.
    pub timeout_ns: u64,
}

/// Reads a track. In older files it has two lists more, which were for MongoDB.
fn read_track<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Track, D::Error> {
    let mut track = serde_json::Map::deserialize(deserializer)?;
    for list in ["mongodb_setup", "mongodb_teardown"] {
        track.remove(list);
    }
    serde_json::from_value(track.into()).map_err(D::Error::custom)
}

/// The start of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseStart {
    /// Its number, from 0.
    pub phase: u32,
    /// Its name.
    pub name: String,
    /// Whether its figures count.
    pub kind: PhaseKind,
    /// The operations, in the order of an interval's classes.
    pub operations: Vec<String>,
    /// Whether each of them is an open loop.
    pub open: Vec<bool>,
    /// The time of day.
    pub started_at: Timestamp,
    /// Time since the first phase's start.
    pub offset_ns: u64,
}

/// The end of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseEnd {
    /// Its number, from 0.
    pub phase: u32,
    /// Time since the phase's start.
    pub len_ns: u64,
    /// Per load: requests without an answer. Their latencies are missing.
    pub unfinished: Vec<Unfinished>,
}

/// Requests that have no answer at the end of a phase, because it was stopped or its time was up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Sent, and not answered.
    pub sent: u64,
    /// Planned for an earlier time, and never sent.
    pub not_sent: u64,
    /// How long ago the oldest of those was to start.
    pub oldest_ns: u64,
}

/// The end of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialEnd {
    /// Why it ended.
    pub ended: Ended,
    /// Teardown requests that failed.
    pub teardown_failures: Vec<String>,
}

/// Why a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Everything that was planned has been sent and answered.
    Complete,
    /// The stop flag was set.
    Stopped,
    /// The server still had not answered everything when the time for it was up.
    Overloaded,
    /// The trial's file could not be written. What was written is readable.
    WriteFailed(String),
    /// A part of the driver failed.
    Failed(String),
}

/// A trial's file that cannot be created or read.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Not a trial's file, or of another version.
    #[error(
        "expected a trial's file that begins with {:?}, found {found:?}: {hint}",
        "trimtab trial 1"
    )]
    NotATrial {
        /// Its first bytes, escaped.
        found: String,
        /// What may be wrong.
        hint: &'static str,
    },
}

/// Writes records.
#[derive(Debug)]
pub(super) struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            buffer: Vec::new(),
        })
    }

    /// Appends a record in one write.
    pub(super) fn write(&mut self, record: &Record) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; 8]);
        match record {
            Record::Start(start) => self.json(START, start)?,
            Record::PhaseStart(start) => self.json(PHASE_START, start)?,
            Record::Interval(interval) => return self.write_interval(interval),
            Record::PhaseEnd(end) => self.json(PHASE_END, end)?,
            Record::End(end) => self.json(END, end)?,
        }
        self.finish()
    }

    /// Appends an interval, as [`Writer::write`] does.
    pub(super) fn write_interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; 8]);
        self.buffer.push(INTERVAL);
        interval.encode(&mut self.buffer);
        self.finish()
    }

    fn json(&mut self, kind: u8, value: &impl Serialize) -> io::Result<()> {
        self.buffer.push(kind);
        serde_json::to_writer(&mut self.buffer, value).map_err(io::Error::from)
    }

    fn finish(&mut self) -> io::Result<()> {
        let len = u32::try_from(self.buffer.len() - 8)
            .ok()
            .filter(|len| *len <= RECORD_BYTES_MAX)
            .ok_or_else(|| io::Error::other("a record of more than 256 MiB"))?;
        self.buffer[..4].copy_from_slice(&len.to_le_bytes());
        let crc = checksum(&self.buffer[..4], &self.buffer[8..]);
        self.buffer[4..8].copy_from_slice(&crc.to_le_bytes());
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }
}

fn checksum(len: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(len);
    hasher.update(content);
    hasher.finalize()
}

/// How a trial's file ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With its last record.
    Whole,
    /// Without a last record, but with a whole one: the driver was killed.
    NoEnd,
    /// With a part of a record: the driver was killed while writing, or the disk was full.
    Cut {
        /// Where the part begins.
        at_byte: u64,
        /// Its length.
        len_bytes: u64,
    },
    /// With bytes that are not what was written, or not understood. What follows them was not read.
    Damaged {
        /// Where they begin.
        at_byte: u64,
        /// What is wrong.
        problem: &'static str,
    },
}

/// Reads the records of a trial's file, one after the other.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    at_byte: u64,
    ending: Option<Ending>,
    ended: bool,
    content: Vec<u8>,
}

impl Reader<BufReader<File>> {
    /// Opens the file of a trial's directory.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or it is something else.
    pub fn open(directory: &Path) -> Result<Self, JournalError> {
        let path = directory.join(FILE_NAME);
        let file = regular_file::open(&path).map_err(at(&path))?;
        Self::begin(BufReader::new(file), &path)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from `from`.
    ///
    /// # Errors
    /// If it cannot be read, or is not a trial's file.
    pub fn new(from: R) -> Result<Self, JournalError> {
        Self::begin(from, Path::new(FILE_NAME))
    }

    fn begin(mut from: R, path: &Path) -> Result<Self, JournalError> {
        let mut magic = Vec::new();
        from.by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut magic)
            .map_err(at(path))?;
        if magic == MAGIC {
            return Ok(Self {
                from,
                at_byte: MAGIC.len() as u64,
                ending: None,
                ended: false,
                content: Vec::new(),
            });
        }
        let hint = if MAGIC.starts_with(&magic) {
            "it was cut before anything was measured"
        } else if magic.starts_with(b"trimtab trial") {
            "it was written by another version"
        } else {
            "it is something else"
        };
        Err(JournalError::NotATrial {
            found: units::escape(&String::from_utf8_lossy(&magic)).into_owned(),
            hint,
        })
    }

    /// Returns the next record; `None` after the last one that is whole. Then [`Reader::ending`] tells how the
    /// file ends.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        if self.ending.is_some() {
            return Ok(None);
        }
        match self.read()? {
            Ok(record) => {
                self.at_byte += 8 + self.content.len() as u64;
                self.ended |= matches!(record, Record::End(_));
                Ok(Some(record))
            }
            Err(ending) => {
                self.ending = Some(ending);
                Ok(None)
            }
        }
    }

    /// Where the next record begins.
    pub(super) fn at_byte(&self) -> u64 {
        self.at_byte
    }

    /// How the file ends, once [`Reader::next_record`] has returned `None`.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn read(&mut self) -> io::Result<Result<Record, Ending>> {
        let at_byte = self.at_byte;
        let damaged = |problem| Ok(Err(Ending::Damaged { at_byte, problem }));
        self.content.clear();
        self.from.by_ref().take(8).read_to_end(&mut self.content)?;
        let Ok(head) = <[u8; 8]>::try_from(&self.content[..]) else {
            return Ok(Err(match self.content.len() as u64 {
                0 if self.ended => Ending::Whole,
                0 => Ending::NoEnd,
                len_bytes => Ending::Cut { at_byte, len_bytes },
            }));
        };
        if self.ended {
            return damaged("there is something after the last record");
        }
        let [a, b, c, d, crc @ ..] = head;
        let len = u32::from_le_bytes([a, b, c, d]);
        if len == 0 || len > RECORD_BYTES_MAX {
            return damaged("the length of a record is impossible");
        }
        self.content.clear();
        // Grows with what is there, not with what the length promises.
        self.from
            .by_ref()
            .take(u64::from(len))
            .read_to_end(&mut self.content)?;
        if self.content.len() as u64 != u64::from(len) {
            let len_bytes = 8 + self.content.len() as u64;
            return Ok(Err(Ending::Cut { at_byte, len_bytes }));
        }
        if checksum(&[a, b, c, d], &self.content) != u32::from_le_bytes(crc) {
            return damaged("the checksum of a record is wrong");
        }
        match parse(&self.content) {
            Some(record) => Ok(Ok(record)),
            None => damaged("the content of a record is not understood"),
        }
    }
}

fn parse(content: &[u8]) -> Option<Record> {
    let (kind, content) = content.split_first()?;
    match *kind {
        START => serde_json::from_slice(content)
            .ok()
            .map(|start| Record::Start(Box::new(start))),
        PHASE_START => serde_json::from_slice(content).ok().map(Record::PhaseStart),
        INTERVAL => Interval::decode(content).map(|interval| Record::Interval(Box::new(interval))),
        PHASE_END => serde_json::from_slice(content).ok().map(Record::PhaseEnd),
        END => serde_json::from_slice(content).ok().map(Record::End),
        _ => None,
    }
}

/// Creates the file of a trial in `directory`, which is created as well.
///
/// # Errors
/// If it cannot be created, or the directory has one: trials are never overwritten.
pub fn create(directory: &Path) -> Result<File, JournalError> {
    let path = directory.join(FILE_NAME);
    std::fs::create_dir_all(directory).map_err(at(&path))?;
    Ok(File::create_new(&path).map_err(at(&path))?)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
