//! The result of `trimtab explain`: an [`Analysis`], its input series, and the runs of jobs.

mod document;

pub use document::{ExplainResult, JobRow, json};

use explain::JobRuns;
use explain::disk_log::{DiskLog, Moved};
use explain::verdict::{Analysis, Kind, SeriesVerdict};
use facts::Skipped;
use facts::series::Series;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// An analysis and its input.
#[derive(Debug, Clone)]
pub struct ExplainReport<'a> {
    /// The analysis.
    pub analysis: &'a Analysis,
    /// The analysed series, in any order.
    pub series: &'a [Series],
    /// Bursts found in short disk logs.
    pub disk_logs: &'a [DiskLog],
    /// The jobs that were considered, and events given by hand.
    pub jobs: &'a [JobRuns],
    /// Where the jobs were read: `live`, `bundle host.tar.zst`, `crontab /etc/crontab`; `None` if
    /// no host's jobs were requested.
    pub jobs_from: Option<String>,
    /// Time zone for displaying times.
    pub zone: &'a TimeZone,
    /// Where the zone was taken from: `--tz`, `the host's`, `nobody named one`.
    pub zone_from: String,
    /// What was read: `races.csv`, `3 sources`.
    pub source: String,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the report was made.
    pub generated_at: Timestamp,
    /// What was skipped.
    pub skipped: &'a [Skipped],
    /// Warnings about this run.
    pub warnings: &'a [String],
}

impl ExplainReport<'_> {
    /// Returns whether something was found: a recurring or changed series, or a burst in a disk log
    /// that does harm.
    pub fn is_trouble(&self) -> bool {
        let is_found = |series: &SeriesVerdict| {
            matches!(
                series.verdict.kind,
                Kind::Periodic | Kind::Unattributed | Kind::Change
            )
        };
        // Such a log is reported as a whole because its series by themselves say no more.
        let is_of_quiet_log = |series: &SeriesVerdict| {
            let mut logs = self.disk_logs.iter();
            logs.any(|log| log.source == series.source && log.moved == Moved::Nothing)
        };
        self.disk_logs.iter().any(|log| !log.harm.is_empty())
            || (self.analysis.series.iter()).any(|one| is_found(one) && !is_of_quiet_log(one))
    }
}
