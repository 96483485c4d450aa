//! Series of several hosts: what they have in common is told once.

use crate::testing::{DAY_US, HOUR_US, assert_says, cron, made};
use explain::verdict::{Analysis, Kind};
use explain::{JobRuns, Options, explain};
use facts::series::Series;

/// Ten weeks of hours.
const SAMPLES: usize = 10 * 7 * 24;

/// A series of a host that rises in some hours of each week.
fn of_host(host: &str, name: &str, seed: u64, hours: &'static [i64], more: f64) -> Series {
    let mut series = made(SAMPLES, HOUR_US, seed, |at| {
        let hour = at.rem_euclid(7 * DAY_US) / HOUR_US;
        10.0 + if hours.contains(&hour) { more } else { 0.0 }
    });
    name.clone_into(&mut series.name);
    series
        .labels
        .insert("instance".to_owned(), format!("{host}:9100"));
    series
}

/// Ten hosts with two series each; the first so many are slow in some hours.
fn fleet(slow: usize, hours: &'static [i64], more: f64) -> Vec<Series> {
    (0..10)
        .flat_map(|host| {
            ["await", "queue"].map(|name| {
                let more = if host < slow { more } else { 0.0 };
                let seed = host as u64 * 7 + name.len() as u64;
                of_host(&format!("db{host}"), name, seed, hours, more)
            })
        })
        .collect()
}

fn jobs(series: &[Series]) -> Vec<JobRuns> {
    vec![
        cron("cron.weekly/fstrim", "0 3 * * 1", &series[0]),
        cron("cron.daily/logrotate", "25 6 * * *", &series[0]),
    ]
}

fn analysed(series: &[Series], jobs: &[JobRuns]) -> Analysis {
    explain(series, jobs, &Options::default())
}

#[test]
fn one_cause_of_many_hosts_is_one_conclusion_however_large() {
    for more in [8.0, 40.0, 4_000.0] {
        let series = fleet(6, &[3], more);
        let analysis = analysed(&series, &jobs(&series));
        assert_eq!(analysis.common.len(), 1, "{more}: {:#?}", analysis.common);
        let common = &analysis.common[0];
        assert_eq!(common.hosts, ["db0", "db1", "db2", "db3", "db4", "db5"]);
        assert_eq!((common.hosts_of, common.series.len()), (10, 12));
        assert_eq!(common.jobs, ["cron.weekly/fstrim"]);
        let sentence = &common.sentence;
        assert!(
            sentence.starts_with("6 of 10 hosts: every week, Monday 0"),
            "{sentence}"
        );
        assert!(
            sentence.ends_with("one job fits all: cron.weekly/fstrim."),
            "{sentence}"
        );
        for &index in &common.series {
            assert_eq!(analysis.series[index].verdict.kind, Kind::Periodic);
        }
    }
}

#[test]
fn what_no_job_explains_is_told_as_such_and_other_times_are_another_conclusion() {
    let mut series = fleet(10, &[50, 51], 30.0);
    for one in &mut series[..8] {
        let host = one.labels["instance"].replace(":9100", "");
        *one = of_host(&host, &one.name, 99 + one.name.len() as u64, &[3], 30.0);
    }
    let analysis = analysed(&series, &jobs(&series));
    let told: Vec<(usize, &[String])> = (analysis.common.iter())
        .map(|common| (common.hosts.len(), common.jobs.as_slice()))
        .collect();
    assert_eq!(
        told,
        [(4, &["cron.weekly/fstrim".to_owned()][..]), (6, &[])]
    );
    let sentence = &analysis.common[1].sentence;
    assert_says(sentence, "Wednesday");
    assert!(
        sentence.ends_with("no known job explains all."),
        "{sentence}"
    );
}

/// Files without labels may be of one host.
#[test]
fn sources_are_not_called_hosts() {
    let mut series = [
        of_host("db1", "await", 1, &[3], 30.0),
        of_host("db1", "queue", 2, &[3], 30.0),
    ];
    for one in &mut series {
        one.labels.clear();
        one.source = format!("{}.csv", one.name);
    }
    let common = analysed(&series, &jobs(&series)).common;
    assert_eq!(common[0].hosts, ["await.csv", "queue.csv"]);
    assert!(!common[0].are_hosts);
    let sentence = &common[0].sentence;
    assert!(sentence.starts_with("All 2 sources: "), "{sentence}");
}

#[test]
fn one_host_or_nothing_in_common_is_no_conclusion() {
    let series = fleet(0, &[], 0.0);
    assert_eq!(analysed(&series, &jobs(&series)).common, []);
    // Two series of one host.
    let series = [
        of_host("db1", "await", 1, &[3], 30.0),
        of_host("db1", "queue", 2, &[3], 30.0),
    ];
    assert_eq!(analysed(&series, &jobs(&series)).common, []);
}
