//! The input of an analysis besides the series.

use crate::folds::Folded;
use facts::series::Better;
use jiff::tz::TimeZone;
use schedule::Run;

/// A job and its runs, as far as they are known for the time of the series.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRuns {
    /// Its name: `cron.weekly/fstrim`.
    pub name: String,
    /// Runs, in the order of their earliest start.
    pub runs: Vec<Run>,
    /// What is not known about them, for display.
    pub unknown: Vec<String>,
    /// The command that runs it once, if that is known: `systemctl start fstrim.service`.
    pub by_hand: Option<String>,
}

impl JobRuns {
    /// Returns when each run starts, earliest and latest, in microseconds of UTC.
    pub(crate) fn starts_us(&self) -> Vec<(i64, i64)> {
        let runs = self.runs.iter();
        runs.map(|run| (run.earliest.as_microsecond(), run.latest.as_microsecond()))
            .collect()
    }
}

/// Options of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Time zone of calendars and phases.
    pub zone: TimeZone,
    /// The zone of the jobs' host, if it is known: a job may follow its clocks instead.
    pub host_zone: Option<TimeZone>,
    /// Whether higher or lower is better, for series that do not specify it.
    pub better: Option<Better>,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Significance level: a pattern is reported if its probability by chance is at most this.
    pub alpha: f64,
    /// What folded weeks tell of further hosts, of which some have series.
    pub folded: Option<Folded>,
}

impl Options {
    /// Returns the zones besides `zone` whose clocks a job may follow: UTC, as the schedules of many servers
    /// do, and that of the jobs' host.
    pub(crate) fn other_zones(&self) -> Vec<TimeZone> {
        let mut zones = vec![TimeZone::UTC];
        zones.extend(self.host_zone.clone());
        zones.dedup();
        zones.retain(|zone| *zone != self.zone);
        zones
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            host_zone: None,
            better: None,
            seed: 1,
            alpha: 0.01,
            folded: None,
        }
    }
}
