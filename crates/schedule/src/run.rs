//! Runs of jobs.

use jiff::Timestamp;
use std::sync::Arc;

/// The source of a run, most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// The systemd journal.
    Journal,
    /// A line of syslog.
    Syslog,
    /// What a monitoring system recorded of a timer.
    Metric,
    /// The time stamp that anacron or systemd keeps of the last run.
    Stamp,
    /// A list supplied by the user, of deployments for example.
    Given,
    /// Computed from the schedule, not observed.
    Computed,
}

/// Where computed runs start between their earliest and their latest times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delays {
    /// All at the same place, but for a smaller part: the delay was chosen once for the host.
    Shared,
    /// Each anew at random, but for a smaller part.
    Anew,
    /// Either: systemd's accuracy puts them at the same place, unless something else wakes the host up before.
    Either,
}

impl Seen {
    /// Whether it was recorded when it happened.
    pub fn is_recorded(self) -> bool {
        matches!(self, Self::Journal | Self::Syslog | Self::Metric)
    }
}

/// One execution of a job. Its start lies between two times, which are equal if the start is exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The job's name.
    pub job: String,
    /// The earliest possible start.
    pub earliest: Timestamp,
    /// The latest possible start, including random delay, systemd's accuracy and anacron's slack.
    pub latest: Timestamp,
    /// Where between these two it starts, compared with the other runs of its schedule.
    pub delays: Delays,
    /// Duration in seconds, if a log records it.
    pub len_s: Option<f64>,
    /// The source.
    pub seen: Seen,
    /// Where the run is recorded, with the text: `etc/crontab:18: 47 6 * * 7`. Shared, because a
    /// schedule can have a hundred thousand runs.
    pub evidence: Arc<str>,
}

/// The runs of a job between two times, as far as they can be computed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forecast {
    /// Sorted by earliest start.
    pub runs: Vec<Run>,
    /// Triggers whose runs cannot be computed, each with the reason.
    pub unknown: Vec<String>,
    /// Whether some of the runs may not have taken place: the job looks at more than the clock
    /// before it does its work. `unknown` has the reason.
    pub some_may_not_run: bool,
    /// Where the list was cut off because it would have exceeded
    /// [`Conditions::runs_max`](crate::Conditions::runs_max).
    pub truncated_at: Option<Timestamp>,
}

/// Returns the earlier of two times; `None` counts as unknown.
pub(crate) fn earlier_of(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
