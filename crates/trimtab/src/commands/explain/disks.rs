//! Analysis of short disk logs among the sources.

use super::jobs::Found;
use explain::JobRuns;
use explain::disk_log::{DiskLog, LogContext, MountedWith, Moved, read_disk_log};
use explain::verdict::{Analysis, Kind};
use facts::series::Series;
use jiff::tz::TimeZone;

/// Analyses each disk log. `jobs` have their runs around the days of the logs. A log in which nothing stands out is told
/// only if it is too short for the `analysis` of its series.
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
            let was_analysed = || {
                let of_log = analysis
                    .series
                    .iter()
                    .filter(|one| one.source == log.source);
                of_log
                    .into_iter()
                    .any(|one| one.verdict.kind != Kind::Undecided)
            };
            (log.moved != Moved::Nothing || !was_analysed()).then_some(log)
        })
        .collect()
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
