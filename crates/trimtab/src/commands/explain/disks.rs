//! Analysis of short disk logs among the sources.

use super::jobs::Found;
use explain::JobRuns;
use explain::disk_log::{DiskLog, LogContext, MountedWith, Moved, read_disk_log};
use explain::verdict::{Analysis, Kind};
use facts::series::Series;
use jiff::tz::TimeZone;

/// The shortest period of a scheduled job, in seconds. What recurs more often is the kernel's own: it writes back its
/// cache every 5 to 30 s.
const JOB_S: f64 = 60.0;

/// In so short a log, in microseconds, what changes for good is the load, and no finding by itself.
const LOAD_US: i64 = 3_600_000_000;

/// Analyses each disk log. `jobs` have their runs around the days of the logs. A log in which nothing stands out is told
/// only if the `analysis` of its series says no more.
pub fn logs(
    series: &[Series],
    analysis: &Analysis,
    found: &Found,
    jobs: &[JobRuns],
    zone: &TimeZone,
) -> Vec<DiskLog> {
    let mut groups: Vec<Vec<Series>> = Vec::new();
    for one in series {
        if !one.labels.contains_key("metric") {
            continue;
        }
        let host = |series: &Series| series.labels.get("host").cloned();
        let is_same = |group: &&mut Vec<Series>| {
            group[0].source == one.source && host(&group[0]) == host(one)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(one.clone()),
            None => groups.push(vec![one.clone()]),
        }
    }
    // Without a date there are no runs, but the jobs still exist.
    let mut known = jobs.to_vec();
    let without_runs = found
        .jobs
        .iter()
        .filter(|job| jobs.iter().all(|one| one.name != job.name));
    known.extend(without_runs.map(|job| JobRuns {
        name: job.name.clone(),
        runs: Vec::new(),
        unknown: Vec::new(),
        by_hand: None,
    }));
    groups
        .iter()
        .filter_map(|group| {
            let host = group[0].labels.get("host");
            let beside = LogContext {
                mounts: mounts_for(found, host.map(String::as_str)),
                jobs: &known,
                zone,
            };
            let log = read_disk_log(group, &beside)?;
            let says_more = || {
                let mut of_log = (analysis.series.iter()).filter(|one| one.source == log.source);
                of_log.any(|one| match one.verdict.kind {
                    Kind::Undecided => false,
                    Kind::Periodic | Kind::Unattributed => one.verdict.period_s >= Some(JOB_S),
                    Kind::None | Kind::Change => span_us(group) > LOAD_US,
                })
            };
            (log.moved != Moved::Nothing || !says_more()).then_some(log)
        })
        .collect()
}

/// The time from a log's first sample to its last, in microseconds.
fn span_us(log: &[Series]) -> i64 {
    let first = log.iter().filter_map(|one| one.times_us.first()).min();
    let last = log.iter().filter_map(|one| one.times_us.last()).max();
    first.zip(last).map_or(0, |(first, last)| last - first)
}

/// The filesystems of a log's host; empty if the log names a host other than this one.
fn mounts_for<'a>(found: &'a Found, host: Option<&str>) -> &'a [MountedWith] {
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    match (&found.this_host, host) {
        (Some(this), Some(host)) if short(this) != short(host) => &[],
        _ => &found.mounts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::explain::jobs;

    #[test]
    fn mounts_of_this_host_are_not_another_ones() {
        let mut found = jobs::find("none").unwrap();
        found.mounts = vec![MountedWith {
            mount_point: "/".to_owned(),
            source: None,
            fs_type: None,
            options: vec!["discard".to_owned()],
        }];
        // The host of a bundle is taken to be the log's.
        assert_eq!(mounts_for(&found, Some("mongo-03")).len(), 1);
        found.this_host = Some("es1.example.org".to_owned());
        for (host, expected) in [(Some("ES1"), 1), (None, 1), (Some("mongo-03"), 0)] {
            assert_eq!(mounts_for(&found, host).len(), expected, "{host:?}");
        }
    }
}
