//! Tests on the log of the MongoDB article, as pasted by its author.

mod counted;

use crate::simulate;
use crate::testing::{assert_never_says, assert_says, noise};
use explain::JobRuns;
use explain::disk_log::{
    DeviceJump, DiskLog, Harm, HarmTo, LogContext, MountedWith, Moved, read_disk_log,
};
use facts::host::Trigger;
use facts::series::{Better, Dating, Series};
use jiff::civil::date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

const LOG: &str = include_str!("../../../../lab/explain-cases/mongo-03.iostat.txt");
const FINDMNT: &str = include_str!("../../../../lab/explain-cases/mongo-03.findmnt.txt");
const KERNEL: &str = "4.4.0-1105-aws";

/// The log's tables as series, as the reader of iostat's output provides them. The log was recorded every
/// three seconds.
fn series_of(log: &str, kernel: Option<&str>, dating: Dating) -> Vec<Series> {
    let mut columns: BTreeMap<(String, String), Vec<(i64, f64)>> = BTreeMap::new();
    let mut heads: Vec<&str> = Vec::new();
    let mut sample = -1;
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.first() {
            Some(&"avg-cpu:") => sample += 1,
            Some(&"Device:") => heads = words[1..4].to_vec(),
            Some(first) if words.len() == 6 => {
                // A row of six numbers is about the processors, with %iowait as the fourth; a device has a
                // name.
                if first.parse::<f64>().is_ok() {
                    let value = words[3].parse().expect("a number");
                    let row = columns.entry((String::new(), "%iowait".to_owned()));
                    row.or_default().push((sample * 3_000_000, value));
                    continue;
                }
                for (head, word) in heads.iter().zip(&words[1..]) {
                    let key = ((*first).to_owned(), (*head).to_owned());
                    let value = word.parse().expect("a number");
                    columns
                        .entry(key)
                        .or_default()
                        .push((sample * 3_000_000, value));
                }
            }
            _ => {}
        }
    }
    columns
        .into_iter()
        .map(|((device, metric), samples)| {
            let mut labels = BTreeMap::from([
                ("metric".to_owned(), metric.clone()),
                ("host".to_owned(), "mongo-03".to_owned()),
            ]);
            if !device.is_empty() {
                labels.insert("device".to_owned(), device.clone());
            }
            labels.extend(kernel.map(|kernel| ("kernel".to_owned(), kernel.to_owned())));
            Series {
                name: format!("{device} {metric}"),
                source: "mongo-03.iostat.txt".to_owned(),
                labels,
                unit: None,
                better: Some(Better::Lower),
                dating,
                sample_of: None,
                times_us: samples.iter().map(|(at, _)| *at).collect(),
                values: samples.iter().map(|(_, value)| *value).collect(),
                notes: Vec::new(),
                discard_time: None,
            }
        })
        .collect()
}

fn of_the_day() -> Dating {
    Dating::Day(date(2020, 4, 13))
}

/// The crontab line of Ubuntu 16.04, with the runs of two weeks.
fn cron_weekly() -> Vec<JobRuns> {
    let trigger = Trigger::Cron {
        spec: "47 6 * * 7".to_owned(),
        time_zone: None,
        source: "etc/crontab:1".to_owned(),
    };
    vec![simulate::runs_of(
        &simulate::job("cron.weekly/fstrim", trigger),
        "2020-04-05T00:00:00Z".parse().expect("a time"),
        "2020-04-20T00:00:00Z".parse().expect("a time"),
        &TimeZone::UTC,
    )]
}

/// The mounts of the log's host, as findmnt printed them.
fn mounts() -> Vec<MountedWith> {
    let rows = FINDMNT
        .lines()
        .skip_while(|line| !line.contains("TARGET"))
        .skip(1);
    let words = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    let of = |words: Vec<&str>| {
        let [point, source, fs_type, options] = words[..] else {
            panic!("{words:?}");
        };
        MountedWith {
            mount_point: point.trim_start_matches(|c| c != '/').to_owned(),
            source: Some(source.to_owned()),
            fs_type: Some(fs_type.to_owned()),
            options: options.split(',').map(str::to_owned).collect(),
        }
    };
    words.filter(|words| !words.is_empty()).map(of).collect()
}

fn read_log(series: &[Series], jobs: &[JobRuns]) -> Option<DiskLog> {
    let mounts = mounts();
    read_disk_log(
        series,
        &LogContext {
            mounts: &mounts,
            jobs,
            zone: &TimeZone::UTC,
        },
    )
}

fn the_log() -> DiskLog {
    read_log(&series_of(LOG, Some(KERNEL), of_the_day()), &cron_weekly()).expect("a jump")
}

fn device<'a>(log: &'a DiskLog, name: &str) -> &'a DeviceJump {
    log.devices
        .iter()
        .find(|device| device.device == name)
        .expect("it jumped")
}

fn is_of(one: &Series, device: &str) -> bool {
    one.labels.get("device").is_some_and(|own| own == device)
}

#[track_caller]
fn assert_near(found: Option<f64>, expected: f64, within: f64) {
    let found = found.expect("a figure");
    assert!(
        (found - expected).abs() <= within,
        "{found}, not {expected}"
    );
}

#[test]
fn write_jump_compares_the_third_sample_with_the_first() {
    let log = the_log();
    assert_eq!((log.samples, log.bursts[0].first_sample), (4, 3));
    // 7540296.00 over 560.00, and 80663394.50 over 4628.00.
    assert_near(device(&log, "nvme1n1").times, 13_465.0, 0.5);
    assert_near(device(&log, "md0").times, 17_429.0, 0.5);
    assert_eq!(log.devices.len(), 9);
    assert!(
        log.sentences[0].contains("nvme1n1 13,465x"),
        "{:?}",
        log.sentences
    );
    assert!(
        log.sentences[0].contains("md0 17,429x"),
        "{:?}",
        log.sentences
    );
}

#[test]
fn reads_fall_to_a_7th_and_then_to_a_200th() {
    let log = the_log();
    // 19478.67 over 2641.33, then over 96.00.
    assert_near(device(&log, "md0").read_down_times[0], 7.4, 0.05);
    assert_near(device(&log, "md0").read_down_times[1], 202.9, 0.05);
    assert_near(device(&log, "nvme1n1").read_down_times[0], 6.9, 0.05);
    // Nothing was read from it any more.
    assert_eq!(device(&log, "nvme0n1").read_down_times[1], None);
    let harm = &log.sentences[1];
    assert!(
        harm.contains("md0 down 7.37x, then 203x") && harm.contains("harm"),
        "{harm}"
    );
}

#[test]
fn iowait_rises() {
    let log = the_log();
    let iowait = log.harm.iter().find(|harm| harm.what == HarmTo::Iowait);
    let expected = Harm {
        what: HarmTo::Iowait,
        device: None,
        from: 0.18,
        to: 9.8,
    };
    assert_eq!(iowait, Some(&expected));
    assert!(
        log.sentences
            .iter()
            .any(|text| text.contains("from 0.2 % to 9.8 %"))
    );
}

#[test]
fn before_kernel_4_18_moved_probably_discards() {
    let log = the_log();
    assert_eq!(log.moved, Moved::ProbablyDiscards);
    let because = log.because.join(" ");
    // 7392044.00 and 8689493.33 kB/s; nvme3n1 7653532.83 kB in 932.33 requests, nvme6n1
    // 7421348.00 in 889.67.
    assert_says(&because, "7 to 8.3 GiB/s");
    assert_says(&because, "8 to 8.1 MiB");
    assert_says(&because, "4.18");
    let said = log.sentences.join(" ");
    assert_says(&said, "probably discards");
}

#[test]
fn later_kernels_show_writes_and_unknown_ones_are_ambiguous() {
    let judged = |kernel| {
        let series = series_of(LOG, kernel, of_the_day());
        let log = read_log(&series, &[]).expect("a jump");
        assert!(!log.sentences.join(" ").contains("probably"));
        log.moved
    };
    assert_eq!(judged(Some("4.18.0-80.el8.x86_64")), Moved::Writes);
    assert_eq!(judged(Some("5.4.0-1009-aws")), Moved::Writes);
    assert_eq!(judged(None), Moved::WritesOrDiscards);
    assert_eq!(judged(Some("generic")), Moved::WritesOrDiscards);
}

#[test]
fn slow_short_writes_on_an_old_kernel_are_ambiguous() {
    let mut series = series_of(LOG, Some("3.10.0-1160.el7.x86_64"), of_the_day());
    for one in &mut series {
        if one.labels["metric"] == "kB_wrtn/s" {
            // From 8 GiB/s to 80 MiB/s per drive, at 900 requests: 90 kB each.
            for value in &mut one.values[2..] {
                *value /= 100.0;
            }
        }
    }
    let log = read_log(&series, &[]).expect("a jump");
    assert_eq!(log.moved, Moved::WritesOrDiscards);
}

#[test]
fn md0_is_not_added_to_its_drives() {
    let log = the_log();
    let drives = [
        "nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1", "nvme5n1", "nvme6n1", "nvme7n1",
    ];
    assert_eq!(device(&log, "md0").members, drives);
    // The eight drives, xvdb's 369.67 and xvda's 17.33 kB/s, without md0.
    let sum = 7_540_296.0
        + 7_400_742.67
        + 7_392_044.0
        + 7_397_830.67
        + 7_653_155.5
        + 7_917_478.67
        + 7_421_049.33
        + 7_395_156.0
        + 369.67
        + 17.33;
    assert_near(Some(log.drives_kb_s), sum, 0.01);
    assert!(
        log.sentences
            .iter()
            .any(|text| text.contains("not counted again: 57.3 GiB/s"))
    );
}

#[test]
fn stacks_with_mismatched_sums_have_no_known_members() {
    let mut series = series_of(LOG, Some(KERNEL), of_the_day());
    for one in &mut series {
        let factor = if is_of(one, "md0") { 1.5 } else { 1.0 };
        for value in &mut one.values {
            *value *= factor;
        }
    }
    let log = read_log(&series, &[]).expect("a jump");
    assert!(device(&log, "md0").members.is_empty());
}

#[test]
fn two_arrays_get_their_own_drives() {
    let mut series = series_of(LOG, Some(KERNEL), of_the_day());
    // The same log with an array of three of its drives next to md0.
    for metric in ["kB_read/s", "kB_wrtn/s", "tps"] {
        let parts: Vec<Series> = series
            .iter()
            .filter(|one| {
                let mut parts = ["nvme1n1", "nvme4n1", "nvme6n1"].into_iter();
                one.labels["metric"] == metric && parts.any(|part| is_of(one, part))
            })
            .cloned()
            .collect();
        let mut own = parts[0].clone();
        own.labels.insert("device".to_owned(), "md1".to_owned());
        for (index, value) in own.values.iter_mut().enumerate() {
            *value = parts.iter().map(|part| part.values[index]).sum();
        }
        series.push(own);
    }
    let log = read_log(&series, &[]).expect("a jump");
    assert_eq!(
        device(&log, "md1").members,
        ["nvme1n1", "nvme4n1", "nvme6n1"]
    );
    assert_eq!(device(&log, "md0").members.len(), 8);
}

#[test]
fn weekly_cron_is_neither_confirmed_nor_excluded() {
    let log = the_log();
    let said = log.cannot_tell.join(" ");
    assert_says(&said, "dated Monday 2020-04-13, without times of day");
    assert_says(
        &said,
        "cron.weekly/fstrim was last due on Sunday 2020-04-12 06:47",
    );
    assert_says(&said, "neither confirms nor excludes");
    let without_jobs = read_log(&series_of(LOG, Some(KERNEL), of_the_day()), &[]).expect("a jump");
    let said = without_jobs.cannot_tell.join(" ");
    assert_says(&said, "neither confirm nor exclude a job");
    assert_never_says(&said, "Sunday");
}

#[test]
fn no_period_time_of_day_or_culprit_is_claimed() {
    let log = the_log();
    let claims = format!("{} {}", log.sentences.join(" "), log.because.join(" "));
    for never in [
        "fstrim", "cron", "Sunday", "06:47", "week", "every", "recur", "certain",
    ] {
        assert!(!claims.contains(never), "{never}: {claims}");
    }
    let said = log.cannot_tell.join(" ");
    assert_says(&said, "Who sent the discards");
    assert_says(&said, "Whether it recurs");
}

#[test]
fn double_trimming_and_missing_barriers_are_reported() {
    let log = the_log();
    assert_eq!(log.mounts.len(), 3, "{:?}", log.mounts);
    for (remark, place) in log
        .mounts
        .iter()
        .zip(["/ (/dev/xvda1)", "/mnt/data (/dev/md0)"])
    {
        assert!(remark.starts_with(place), "{remark}");
        assert_says(
            remark,
            "cron.weekly/fstrim trims it too: it is trimmed twice",
        );
    }
    assert!(log.mounts[2].starts_with("/mnt/data (/dev/md0) is mounted with `nobarrier`"));
    // Without the job, only the mount options are known.
    let alone = read_log(&series_of(LOG, Some(KERNEL), of_the_day()), &[]).expect("a jump");
    assert!(
        alone.mounts[1].contains("Where fstrim runs too"),
        "{:?}",
        alone.mounts
    );
}

#[test]
fn logs_without_a_jump_give_no_result() {
    let quiet: Vec<Series> = series_of(LOG, Some(KERNEL), of_the_day())
        .into_iter()
        .map(|mut one| {
            one.times_us.truncate(2);
            one.values.truncate(2);
            one
        })
        .collect();
    assert_quiet(&quiet);
    assert_eq!(read_log(&[], &[]), None);
    // Twenty drives that go from no writes to 60 kB/s each: the sum jumps, but no single drive does.
    let many: Vec<Series> = (0..20)
        .map(|number| {
            let mut one = series_of(LOG, Some(KERNEL), of_the_day())[0].clone();
            one.labels
                .insert("metric".to_owned(), "kB_wrtn/s".to_owned());
            one.labels
                .insert("device".to_owned(), format!("sd{number}"));
            one.times_us = vec![0, 1_000_000];
            one.values = vec![0.0, 60.0];
            one
        })
        .collect();
    assert_quiet(&many);
    // Nor is it a jump if a drive begins to write a little.
    let mut small = series_of(LOG, Some(KERNEL), of_the_day());
    small.retain(|one| is_of(one, "xvda"));
    assert_quiet(&small);
}

#[track_caller]
fn assert_quiet(series: &[Series]) {
    let log = read_log(series, &[]).expect("a log");
    assert_eq!(log.moved, Moved::Nothing, "{:?}", log.sentences);
    assert!(log.bursts.is_empty() && log.harm.is_empty());
    assert!(
        log.sentences[0].starts_with("Nothing stands out in "),
        "{:?}",
        log.sentences
    );
}

#[test]
fn extended_columns_and_other_units_give_the_same_result() {
    let mut series = series_of(LOG, Some(KERNEL), Dating::Undated);
    for one in &mut series {
        let (column, factor) = match one.labels["metric"].as_str() {
            "kB_read/s" => ("rsec/s", 2.0),
            "kB_wrtn/s" => ("wMB/s", 1.0 / 1024.0),
            "tps" => ("w/s", 1.0),
            _ => continue,
        };
        one.labels.insert("metric".to_owned(), column.to_owned());
        for value in &mut one.values {
            *value *= factor;
        }
    }
    let log = read_log(&series, &[]).expect("a jump");
    assert_near(device(&log, "nvme1n1").times, 13_465.0, 0.5);
    assert_near(device(&log, "md0").read_down_times[1], 202.9, 0.05);
    assert_eq!(log.moved, Moved::ProbablyDiscards);
    assert!(
        log.cannot_tell
            .join(" ")
            .contains("neither date nor times of day")
    );
}

#[test]
fn long_logs_are_rejected_as_histories() {
    let samples: i64 = 1_001;
    let mut series = series_of(LOG, Some(KERNEL), of_the_day());
    for one in &mut series {
        let last = *one.values.last().expect("a value");
        for at in 4..samples {
            one.times_us.push(at * 3_000_000);
            one.values.push(last);
        }
    }
    assert_eq!(read_log(&series, &[]), None);
}
