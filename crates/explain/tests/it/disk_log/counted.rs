//! Logs of kernels that count discards apart from writes, and what is harm in them.

use super::*;

/// The log as a kernel that counts discards prints it: what it counted as writes from the third sample on are discards, and
/// writes stay as they were.
fn counted_apart(dating: Dating) -> Vec<Series> {
    let mut series = series_of(LOG, Some("5.15.0-1105-aws"), dating);
    let mut discards = Vec::new();
    for one in &mut series {
        if one.labels["metric"] == "kB_wrtn/s" {
            let mut discarded = one.clone();
            (discarded.labels).insert("metric".to_owned(), "kB_dscd/s".to_owned());
            for (index, value) in discarded.values.iter_mut().enumerate() {
                if index < 2 {
                    *value = 0.0;
                } else {
                    one.values[index] = one.values[0];
                }
            }
            discards.push(discarded);
        }
    }
    series.extend(discards);
    series
}

#[test]
fn discards_that_are_counted_tell_the_same_story() {
    let log = read_log(&counted_apart(of_the_day()), &cron_weekly()).expect("a log");
    assert_eq!(log.moved, Moved::Discards);
    let [burst] = log.bursts[..] else {
        panic!("{:?}", log.bursts)
    };
    assert_eq!((burst.first_sample, burst.samples, burst.at), (3, 2, None));
    // 8689493.33 kB/s in the fourth sample.
    assert_near(
        Some(device(&log, "nvme7n1").largest_kb_s()),
        8_689_493.33,
        100_000.0,
    );
    assert_near(device(&log, "md0").read_down_times[1], 202.9, 0.05);
    assert_eq!(device(&log, "md0").members.len(), 8);
    let iowait = log.harm.iter().find(|harm| harm.what == HarmTo::Iowait);
    assert_eq!(iowait.map(|harm| harm.to), Some(9.8));
    let said = log.sentences.join(" ");
    assert!(
        said.starts_with("Discards come in one burst, in samples 3 to 4 of 4: "),
        "{said}"
    );
    assert!(
        !said.contains("probably") && !said.contains("Writes"),
        "{said}"
    );
}

#[test]
fn reads_that_fall_while_nothing_counted_rises_are_told() {
    // A kernel that counts discards apart, and an iostat that does not print them.
    let mut series = counted_apart(of_the_day());
    series.retain(|one| one.labels["metric"] != "kB_dscd/s");
    // Its requests are those of reads and writes. As long as there are as many, they are only shorter.
    assert_quiet(&series);
    for one in series
        .iter_mut()
        .filter(|one| one.labels["metric"] == "tps")
    {
        one.values[2..].fill(1.0);
    }
    let log = read_log(&series, &[]).expect("a log");
    assert_eq!(
        (log.moved, log.bursts[0].first_sample),
        (Moved::NotCounted, 3)
    );
    assert_near(device(&log, "md0").read_down_times[1], 202.9, 0.05);
    let said = log.sentences.join(" ");
    assert!(
        said.starts_with("Reads fall between sample 2 and sample 3 of 4, while writes do not rise: md0 down 7.37x, then 203x.")
            && said.contains("(%iowait) goes from 0.2 % to 9.8 %")
            && said.contains("Discards may be the cause: since 4.18 Linux counts them apart"),
        "{said}"
    );
    // A kernel that counts them as writes has none: it is something else.
    for one in &mut series {
        one.labels.insert("kernel".to_owned(), KERNEL.to_owned());
    }
    let said = read_log(&series, &[]).expect("a log").sentences.join(" ");
    assert!(
        said.contains("so discards are not the cause") && !said.contains("sysstat"),
        "{said}"
    );
    // If nobody waits meanwhile, there is less to read.
    for one in &mut series {
        if one.labels["metric"].starts_with('%') {
            let before = one.values[0];
            one.values.fill(before);
        }
    }
    assert_quiet(&series);
}

#[test]
fn a_large_write_is_a_finding_only_where_somebody_waits() {
    // A drive that is written to for two samples, too slowly and in requests too short for discards.
    let large = |kernel: &str, reads: f64, reads_during: f64, written: f64| {
        let mut series = series_of(LOG, Some(kernel), of_the_day());
        series.retain(|one| !one.labels.contains_key("device") || is_of(one, "nvme0n1"));
        for one in &mut series {
            match one.labels["metric"].as_str() {
                "tps" => one.values = vec![100.0, 100.0, 1_000.0, 1_000.0],
                "kB_read/s" => one.values = vec![reads, reads, reads_during, reads_during],
                "kB_wrtn/s" => one.values = vec![written, written, 80_000.0, 80_000.0],
                _ => {}
            }
        }
        series
    };
    // Reads go on, or there are none and nobody wrote before: nobody waits, although %iowait rises.
    for kernel in ["3.10.0-1160.el7.x86_64", "6.1.0"] {
        assert_quiet(&large(kernel, 2_000.0, 2_000.0, 500.0));
        assert_quiet(&large(kernel, 0.0, 0.0, 6.0));
        let log = read_log(&large(kernel, 2_000.0, 20.0, 500.0), &[]).expect("a log");
        assert!(log.harm.iter().any(|harm| harm.what == HarmTo::Reads));
    }
    // On an old kernel these may be discards, for which a store that writes has to wait.
    let log = read_log(&large("3.10.0-1160.el7.x86_64", 0.0, 0.0, 500.0), &[]).expect("a log");
    assert_eq!(log.moved, Moved::WritesOrDiscards);
    assert_quiet(&large("6.1.0", 0.0, 0.0, 500.0));
}

#[test]
fn a_dated_log_tells_when_and_which_jobs_were_due() {
    let dated = |minute: i64| -> Vec<Series> {
        let start_us = date(2020, 4, 12)
            .at(6, 0, 0, 0)
            .to_zoned(TimeZone::UTC)
            .expect("a time")
            .timestamp()
            .as_microsecond();
        let mut series = counted_apart(Dating::Absolute);
        for one in &mut series {
            for at in &mut one.times_us {
                *at += start_us + minute * 60_000_000;
            }
        }
        series
    };
    let log = read_log(&dated(48), &cron_weekly()).expect("a log");
    let said = format!("{} {}", log.sentences.join(" "), log.cannot_tell.join(" "));
    assert_says(&said, "(from Sunday 2020-04-12 06:48:06)");
    assert_says(
        &said,
        "due then, or in the ten minutes before: cron.weekly/fstrim at 06:47",
    );
    // An hour later it was not, and an hour before neither.
    for minute in [108, 0] {
        let log = read_log(&dated(minute), &cron_weekly()).expect("a log");
        let said = log.cannot_tell.join(" ");
        assert_says(&said, "no known job was due then");
    }
}

#[test]
fn a_larger_burst_is_told_no_worse_and_one_without_harm_is_no_harm() {
    for times in [0.001, 0.1, 1.0, 10.0, 1_000.0] {
        let mut series = counted_apart(of_the_day());
        for one in &mut series {
            let of_discards = one.labels["metric"] == "kB_dscd/s";
            for value in one.values.iter_mut().filter(|_| of_discards) {
                *value *= times;
            }
        }
        let log = read_log(&series, &[]).expect("a log");
        assert_eq!(
            (log.moved, log.bursts[0].samples),
            (Moved::Discards, 2),
            "{times}"
        );
        assert!(!log.harm.is_empty(), "{times}");
    }
    // The same discards beside reads and waiting times that stay as they were.
    let mut series = counted_apart(of_the_day());
    for one in &mut series {
        if one.labels["metric"] != "kB_dscd/s" {
            let before = one.values[0];
            one.values.fill(before);
        }
    }
    let log = read_log(&series, &[]).expect("a log");
    assert_eq!((log.moved, log.harm.len()), (Moved::Discards, 0));
    assert!(
        log.sentences.join(" ").contains("No harm is visible"),
        "{:?}",
        log.sentences
    );
}

#[test]
fn a_longer_burst_is_told_no_worse_and_one_without_an_end_is_told_as_such() {
    for length in 1..=12 {
        let mut series = counted_apart(of_the_day());
        for one in &mut series {
            let (quiet, busy) = (one.values[0], one.values[2]);
            one.times_us = (0..12).map(|at| at * 3_000_000).collect();
            one.values = (0..12)
                .map(|at| if at < 12 - length { quiet } else { busy })
                .collect();
        }
        let log = read_log(&series, &[]).expect("a log");
        if length == 12 {
            assert_eq!(log.moved, Moved::Nothing, "{length}");
            assert!(
                log.sentences[0].starts_with("Discards run through all 12 samples, 57"),
                "{:?}",
                log.sentences
            );
            continue;
        }
        let burst = log.bursts.first().map(|burst| burst.samples);
        assert_eq!(
            (log.moved, burst),
            (Moved::Discards, Some(length)),
            "{length}"
        );
        assert!(!log.harm.is_empty(), "{length}");
    }
}

/// Five minutes of a drive, second by second: reads and waiting times that vary by a factor, and what `written` says.
fn varying(seed: u64, spread: f64, written: impl Fn(usize, f64) -> f64) -> Vec<Series> {
    let samples: u16 = 300;
    let mut drawn = noise(usize::from(samples) * 5, seed).into_iter();
    let mut column = |metric: &str, level: f64| {
        let mut one = series_of(LOG, Some("6.1.0"), of_the_day())[0].clone();
        one.labels.insert("metric".to_owned(), metric.to_owned());
        one.labels.insert("device".to_owned(), "sda".to_owned());
        one.times_us = (0..i64::from(samples)).map(|at| at * 1_000_000).collect();
        one.values = drawn
            .by_ref()
            .take(usize::from(samples))
            .map(|z| level * (spread * z).exp())
            .collect();
        one
    };
    let (reads, waits, mut writes, mut util, mut iowait) = (
        column("rkB/s", 2_000.0),
        column("r_await", 2.0),
        column("wkB/s", 100.0),
        column("%util", 20.0),
        column("%iowait", 2.0),
    );
    for (at, value) in writes.values.iter_mut().enumerate() {
        *value = written(at, *value);
    }
    for one in [&mut util, &mut iowait] {
        one.values
            .iter_mut()
            .for_each(|value| *value = value.min(100.0));
    }
    iowait.labels.remove("device");
    vec![reads, waits, writes, util, iowait]
}

#[test]
fn machines_that_flush_their_page_cache_are_no_finding_and_a_trim_among_them_is() {
    for seed in 1..=60 {
        // Every half a minute, once, or fsyncs all the time; idle reads, and busy ones.
        let every = |at: usize, value: f64| if at % 30 == 7 { 80_000.0 } else { value };
        let once = |at: usize, value: f64| if at == 140 { 300_000.0 } else { value };
        let fsyncs = |_: usize, value: f64| value * 50.0;
        for (spread, series) in [
            (0.3, varying(seed, 0.3, every)),
            (0.8, varying(seed, 0.8, once)),
            (1.2, varying(seed, 1.2, once)),
            (0.8, varying(seed, 0.8, fsyncs)),
        ] {
            let log = read_log(&series, &[]).expect("a log");
            assert!(log.harm.is_empty(), "{seed} {spread}: {:?}", log.sentences);
        }
        // Discards for eight seconds, in which reads take 95 ms instead of 2.
        let mut series = varying(seed, 0.5, every);
        let mut discards = series[2].clone();
        (discards.labels).insert("metric".to_owned(), "dkB/s".to_owned());
        discards.values.fill(0.0);
        discards.values[200..208].fill(5e6);
        series[1].values[200..208].fill(95.0);
        series.push(discards);
        let log = read_log(&series, &[]).expect("a log");
        let [burst] = log.bursts[..] else {
            panic!("{:?}", log.bursts)
        };
        assert_eq!(
            (log.moved, burst.first_sample, burst.samples),
            (Moved::Discards, 201, 8)
        );
        assert!(
            log.harm.iter().any(|harm| harm.what == HarmTo::ReadTime),
            "{seed}"
        );
    }
}

#[test]
fn a_page_cache_that_is_flushed_once_is_no_finding() {
    // Five seconds of an idle disk, with 960 kB/s in the fourth; then the same with 500 MB/s.
    for written in [960.0, 500_000.0] {
        let mut series = series_of(LOG, Some("6.1.0"), of_the_day());
        series.retain(|one| is_of(one, "xvda"));
        for one in &mut series {
            let is_written = one.labels["metric"] == "kB_wrtn/s";
            one.times_us = (0..5).map(|at| at * 1_000_000).collect();
            one.values = vec![0.0; 5];
            if is_written {
                one.values[3] = written;
            }
        }
        assert_quiet(&series);
    }
}

#[test]
fn a_report_since_boot_tells_whether_anything_was_discarded() {
    let of = |discarded: f64| {
        let mut series = counted_apart(Dating::Undated);
        for one in &mut series {
            one.times_us.truncate(1);
            one.values.truncate(1);
            one.labels.insert("since".to_owned(), "boot".to_owned());
            if one.labels["metric"] == "kB_dscd/s" {
                one.values[0] = discarded;
            }
        }
        let log = read_log(&series, &[]).expect("a log");
        assert_eq!((log.moved, log.harm.len()), (Moved::SinceBoot, 0));
        log.sentences.join(" ")
    };
    assert!(
        of(0.0).starts_with("Nothing has been discarded on "),
        "{}",
        of(0.0)
    );
    assert!(of(0.0).contains("nvme7n1 since boot"), "{}", of(0.0));
    assert!(
        of(56.0).contains("nvme1n1: 56 KiB/s discarded, 560 KiB/s written"),
        "{}",
        of(56.0)
    );
}

#[test]
fn what_sadf_and_vmstat_call_them_is_the_same() {
    let renamed = |names: &[(&str, &str, f64)]| {
        let mut series = counted_apart(of_the_day());
        series.retain_mut(|one| {
            let Some((_, name, factor)) =
                names.iter().find(|(old, ..)| *old == one.labels["metric"])
            else {
                return false;
            };
            one.labels.insert("metric".to_owned(), (*name).to_owned());
            one.values.iter_mut().for_each(|value| *value *= factor);
            true
        });
        read_log(&series, &[]).expect("a log")
    };
    let sadf = renamed(&[
        ("kB_read/s", "disk.rkB", 1.0),
        ("kB_wrtn/s", "disk.wkB", 1.0),
        ("kB_dscd/s", "disk.dkB", 1.0),
        ("%iowait", "cpu-load.iowait", 1.0),
    ]);
    assert_eq!(sadf.moved, Moved::Discards);
    assert!(sadf.harm.iter().any(|harm| harm.what == HarmTo::Iowait));
    let blocks = renamed(&[
        ("kB_read/s", "bread/s", 2.0),
        ("kB_wrtn/s", "bwrtn/s", 2.0),
        ("kB_dscd/s", "bdscd/s", 2.0),
    ]);
    assert_near(
        Some(device(&blocks, "nvme1n1").largest_kb_s()),
        device(&sadf, "nvme1n1").largest_kb_s(),
        0.01,
    );
}
