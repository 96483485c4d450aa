//! Runs of jobs.

use jiff::Timestamp;

/// The source of a run, most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// The systemd journal.
    Journal,
    /// A line of syslog.
    Syslog,
    /// The time stamp that anacron or systemd keeps of the last run.
    Stamp,
    /// A list that the user supplied, of deployments for example.
    Given,
    /// Computed from the schedule, not observed.
    Computed,
}

/// One execution of a job. Its start lies between two moments, which are equal if the start is exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The job's name.
    pub job: String,
    /// The earliest possible start.
    pub earliest: Timestamp,
    /// The latest possible start, with random delay, the accuracy of systemd, and the slack of anacron.
    pub latest: Timestamp,
    /// Duration in seconds, if a log tells it.
    pub len_s: Option<f64>,
    /// The source.
    pub seen: Seen,
    /// The place and the text of the source: `etc/crontab:18: 47 6 * * 7`.
    pub evidence: String,
}

/// The runs of a job between two moments, as far as they can be computed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forecast {
    /// Sorted by earliest start.
    pub runs: Vec<Run>,
    /// Triggers whose runs cannot be computed, each with the reason.
    pub unknown: Vec<String>,
    /// The list ends here, because it would have been longer than
    /// [`Conditions::runs_max`](crate::Conditions::runs_max).
    pub truncated_at: Option<Timestamp>,
}

/// The earlier of two moments; `None` counts as unknown.
pub(crate) fn earlier_of(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
