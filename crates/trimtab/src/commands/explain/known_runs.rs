//! When the jobs of a host ran in the time of series: from logs where there are some, else from their schedules.

use super::jobs::Found;
use super::logs::Given;
use crate::progress::Draw;
use explain::{JobRuns, job_runs};
use facts::Skipped;
use facts::series::Series;
use host::job_logs;
use jiff::tz::TimeZone;
use schedule::Log;

/// The runs of a host's jobs.
pub struct KnownRuns {
    /// Each job with its runs.
    pub jobs: Vec<JobRuns>,
    /// The logs that were read.
    pub logs: Vec<Log>,
    /// Where jobs and runs come from, for the user; `None` with `--jobs none`.
    pub from: Option<String>,
}

/// Finds the runs of the jobs in the time of `series`; adds what is not known to `skipped`. `zone` is that of the
/// report.
pub fn known_runs(
    found: &Found,
    given: Given,
    zone: &TimeZone,
    series: &[Series],
    draw: &mut Draw,
    skipped: &mut Vec<Skipped>,
) -> KnownRuns {
    let mut known = KnownRuns {
        jobs: Vec::new(),
        logs: given.logs,
        from: found.from.clone(),
    };
    let Some(stretch) = job_runs::time_range(series) else {
        return known;
    };
    // With `--jobs none`, all log lines count, whatever host they name.
    if found.from.is_some() {
        known.logs = job_logs::own_lines(known.logs, found.host_name.as_deref(), skipped);
    }
    if given.reads_host
        && let Some(host) = found.job_host()
    {
        draw.show("reading when the jobs ran");
        // Log lines without a zone are in the host's time zone.
        let zone_of_host = found.zone.as_ref().unwrap_or(zone);
        known
            .logs
            .extend(job_logs::read(&host, stretch, zone_of_host, skipped));
    }
    known.jobs = job_runs::runs(
        &found.jobs,
        &found.clock(zone),
        &known.logs,
        stretch,
        skipped,
    );
    known.from = known
        .from
        .map(|from| job_runs::origin(&from, &known.logs, &known.jobs, stretch, zone));
    known
}
