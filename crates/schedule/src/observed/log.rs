//! A parsed log.

use super::host_lines::{HostLines, HostStart};
use super::subject::Subject;
use crate::conditions::Uptime;
use crate::run::Seen;
use jiff::Timestamp;

/// Maximum number of runs in one log: a year of ten jobs that run every minute.
pub const OBSERVED_MAX: usize = 5_000_000;

/// Maximum number of different subjects in one log.
pub(super) const SUBJECTS_MAX: usize = 100_000;

/// Maximum number of hosts in one log.
pub(super) const HOSTS_MAX: usize = 100_000;

/// A parsed log.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The file name, or that of the newest file if several were joined.
    pub source: String,
    /// Its kind: [`Seen::Journal`], [`Seen::Syslog`] or [`Seen::Metric`].
    pub seen: Seen,
    /// The time of its first line.
    pub from: Timestamp,
    /// The time of its last line.
    pub until: Timestamp,
    /// When the host was up, according to kernel messages.
    pub uptimes: Vec<Uptime>,
    /// Whether any user may have written lines that it is read from: files of syslog do not say who did, and
    /// entries of the journal only in `_UID`.
    pub is_of_anybody: bool,
    /// What could not be parsed, with counts.
    pub notes: Vec<String>,
    /// The files it was read from, each of which continues the previous one.
    pub(super) parts: Vec<Part>,
    /// The hosts named in its lines.
    pub(super) hosts: Vec<HostLines>,
    pub(super) host_starts: Vec<HostStart>,
    pub(super) subjects: Vec<Subject>,
    /// Sorted by start.
    pub(super) observed: Vec<Observed>,
}

/// A file of a log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    /// Whether line numbers are meaningful.
    pub(super) has_lines: bool,
}

/// A run that a log records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observed {
    pub(super) start: Timestamp,
    pub(super) len_s: Option<f64>,
    /// Index into the subjects.
    pub(super) subject: usize,
    /// Index into the hosts.
    pub(super) host: usize,
    /// Index into the parts.
    pub(super) part: usize,
    /// 1-based line.
    pub(super) line: usize,
}
