//! What `trimtab explain` answers: an [`Analysis`], the series that it is about, and the runs of jobs.

mod document;

pub use document::{ExplainResult, JobRow, json};

use explain::JobRuns;
use explain::disk_log::DiskLog;
use explain::verdict::{Analysis, Kind, SeriesVerdict};
use facts::Skipped;
use facts::series::Series;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// An analysis with what it was made of.
#[derive(Debug, Clone)]
pub struct ExplainReport<'a> {
    /// The answers.
    pub analysis: &'a Analysis,
    /// The series that were analysed, in any order.
    pub series: &'a [Series],
    /// What short logs of disks show by themselves.
    pub disk_logs: &'a [DiskLog],
    /// The jobs that were weighed, and events given by hand.
    pub jobs: &'a [JobRuns],
    /// Where the jobs were read: `live`, `bundle host.tar.zst`, `crontab /etc/crontab`; `None`
    /// where no host's jobs were asked for.
    pub jobs_from: Option<String>,
    /// The zone that times are told in.
    pub zone: &'a TimeZone,
    /// Where the zone was taken from: `--tz`, `the host's`, `nobody named one`.
    pub zone_from: String,
    /// What was read: `races.csv`, `3 sources`.
    pub source: String,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the report was made.
    pub generated_at: Timestamp,
    /// What was not looked at.
    pub skipped: &'a [Skipped],
    /// What the user should know of this run.
    pub warnings: &'a [String],
}

impl ExplainReport<'_> {
    /// Whether something was found: a series recurs or changed, or the disks of a log jumped.
    pub fn is_trouble(&self) -> bool {
        let is_found = |series: &SeriesVerdict| {
            matches!(
                series.verdict.kind,
                Kind::Periodic | Kind::Unattributed | Kind::Change
            )
        };
        !self.disk_logs.is_empty() || self.analysis.series.iter().any(is_found)
    }
}
