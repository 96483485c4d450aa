//! The experiment that distinguishes the jobs of a class.

use crate::model::input::JobRuns;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Sampling interval, in seconds, above which jobs cannot be distinguished by when they run.
const COARSE_S: f64 = 7_200.0;

/// Describes the experiment that distinguishes the jobs of a class, which run between the same samples: `trim on a Wednesday,
/// or sample hourly around Sunday 06:47`. `None` if it has only one.
pub(crate) fn experiment(
    names: &[String],
    jobs: &[JobRuns],
    zone: &TimeZone,
    gap_s: f64,
) -> Option<String> {
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
    let run = if is_trim {
        "trim".to_owned()
    } else {
        format!("run {} alone", names[0])
    };
    // Denser samples would work as well.
    let sample = if gap_s >= COARSE_S {
        format!(", or sample hourly around {at}")
    } else if is_apart {
        format!(", or sample more often around {at}")
    } else {
        String::new()
    };
    Some(format!("{run} on a {day}{sample}"))
}
