//! The experiment that distinguishes the jobs of a class.

use crate::model::input::JobRuns;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write as _;

/// Sampling interval, in seconds, above which jobs cannot be distinguished by when they run.
const COARSE_S: f64 = 7_200.0;

/// An experiment that distinguishes jobs that run between the same samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Experiment {
    /// The job to be moved; `None` for a trim.
    job: Option<String>,
    /// The day to which it is moved.
    day: &'static str,
    /// Denser sampling that would work as well, and around which time: `Sunday 06:47`.
    sampling: Option<(Sampling, String)>,
}

/// How often samples are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sampling {
    Hourly,
    MoreOften,
}

impl Experiment {
    /// Returns the experiment for a class of jobs; `None` if it has only one.
    pub fn new(names: &[String], jobs: &[JobRuns], zone: &TimeZone, gap_s: f64) -> Option<Self> {
        if names.len() < 2 {
            return None;
        }
        let runs = |name: &String| {
            jobs.iter()
                .find(|job| job.name == *name)
                .map(|job| &job.runs)
        };
        let first = runs(names.first()?)?.last()?;
        let at = units::date::formatted(first.earliest, zone, "%A %H:%M");
        let is_trim = names.iter().any(|name| name.contains("trim"));
        let day = if at.starts_with("Wednesday") {
            "Saturday"
        } else {
            "Wednesday"
        };
        let starts: Vec<Timestamp> = names
            .iter()
            .filter_map(|name| runs(name)?.last().map(|run| run.earliest))
            .collect();
        let is_apart = starts.iter().any(|start| *start != starts[0]);
        let sampling = if gap_s >= COARSE_S {
            Some(Sampling::Hourly)
        } else if is_apart {
            Some(Sampling::MoreOften)
        } else {
            None
        };
        Some(Self {
            job: (!is_trim).then(|| names[0].clone()),
            day,
            sampling: sampling.map(|sampling| (sampling, at)),
        })
    }

    /// Describes the experiment: `trim on a Wednesday, or sample hourly around Sunday 06:47`.
    pub fn words(&self) -> String {
        let mut text = match &self.job {
            None => format!("trim on a {}", self.day),
            Some(job) => format!("run {job} alone on a {}", self.day),
        };
        if let Some((sampling, at)) = &self.sampling {
            let how = match sampling {
                Sampling::Hourly => "hourly",
                Sampling::MoreOften => "more often",
            };
            let _ = write!(text, ", or sample {how} around {at}");
        }
        text
    }
}
