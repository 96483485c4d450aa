//! Joining several files into one log, and the runs that logs record on their own.

use super::*;
use crate::conditions::Uptime;

/// Two days of a daily job that was weekly before, in two files.
fn rotated() -> [Log; 2] {
    let file = |name: &str, text: &str, ended: &str| {
        Log::parse(name, text, &TimeZone::UTC, at(ended), &commands).expect("readable")
    };
    [
        file(
            "syslog",
            "Jun 17 00:00:05 h rsyslogd: rotated\nJun 17 06:00:01 h CRON[3]: (root) CMD (backup)\nJun 18 06:00:01 h CRON[4]: (root) CMD (backup)\n",
            "2024-06-18T07:00:00Z",
        ),
        file(
            "syslog.1",
            "Jun 10 00:00:01 h kernel: Linux version 6.1\nJun 16 23:59:00 h CRON[2]: (root) CMD (other)\n",
            "2024-06-17T00:00:00Z",
        ),
    ]
}

#[test]
fn consecutive_files_form_one_log() {
    let job = line_job(1, "0 6 * * *", "backup");
    let stretch = ("2024-06-10T00:00:00Z", "2024-06-19T00:00:00Z");
    // The older file alone has no record of the job: five days of it are computed.
    let apart = known(&job, &[], &rotated(), stretch.0, stretch.1);
    assert_eq!(apart.runs.len(), 9);
    let log = Log::joined(rotated().into()).expect("two files");
    assert_eq!(
        (log.source.as_str(), log.files(), log.count()),
        ("syslog", 2, 3)
    );
    assert_eq!(
        (log.from, log.until),
        (at("2024-06-10T00:00:01Z"), at("2024-06-18T06:00:01Z"))
    );
    let joined = known(&job, &[], std::slice::from_ref(&log), stretch.0, stretch.1);
    let evidence: Vec<&str> = joined.runs.iter().map(|run| &*run.evidence).collect();
    assert_eq!(
        evidence,
        [
            "syslog:2: cron started backup for root",
            "syslog:3: cron started backup for root"
        ]
    );
    let other = line_job(1, "0 6 * * *", "other");
    assert_eq!(
        &*log.sightings(&other)[0].run("x").evidence,
        "syslog.1:2: cron started other for root"
    );
    let unnumbered = log.without_line_numbers();
    assert_eq!(
        &*unnumbered.sightings(&other)[0].run("x").evidence,
        "syslog.1: cron started other for root"
    );
    assert_eq!(Log::joined(Vec::new()), None);
}

#[test]
fn a_boot_ends_the_uptime_of_the_previous_file() {
    let [_, older] = rotated();
    let text = "Jun 17 09:00:00 h kernel: Linux version 6.1\n";
    let ended = at("2024-06-18T00:00:00Z");
    let newer = Log::parse("syslog", text, &TimeZone::UTC, ended, &commands);
    let log = Log::joined(vec![newer.expect("readable"), older]).expect("two files");
    assert_eq!(
        log.uptimes,
        [
            Uptime {
                from: at("2024-06-10T00:00:01Z"),
                until: Some(at("2024-06-16T23:59:00Z"))
            },
            Uptime {
                from: at("2024-06-17T09:00:00Z"),
                until: None
            }
        ]
    );
}

#[test]
fn the_newest_files_are_joined_within_the_limits() {
    let file = |day: u32| {
        let text = format!(
            "Jun {day:2} 06:00:01 h CRON[1]: (root) CMD (job{day})\nJun {day:2} 07:00:01 h CRON[1]: (root) CMD (job)\n"
        );
        let name = format!("syslog.{}", 20 - day);
        let ended = at("2024-06-20T00:00:00Z");
        Log::parse(&name, &text, &TimeZone::UTC, ended, &commands).expect("readable")
    };
    let of = |subjects_max, observed_max| {
        // The file of the 13th records only one job, and would fit on its own.
        let text = "Jun 13 07:00:01 h CRON[1]: (root) CMD (job)\n";
        let ended = at("2024-06-20T00:00:00Z");
        let small = Log::parse("syslog.7", text, &TimeZone::UTC, ended, &commands);
        let files = vec![file(14), small.expect("readable"), file(16), file(15)];
        let log = Log::joined_within(files, subjects_max, observed_max).expect("files");
        let day = |at: Timestamp| at.strftime("%d").to_string();
        (day(log.from), day(log.until), log.count(), log.notes)
    };
    let days = |from: &str, until: &str| (from.to_owned(), until.to_owned());
    let left_out = |file: &str| {
        format!("{file} and what is older are not read: with them syslog.4 tells of too much")
    };
    let (from, until, count, notes) = of(100, 100);
    assert_eq!((from, until), days("13", "16"));
    assert_eq!((count, notes.len()), (7, 0));
    // Subjects in both files count once: `job` and those of two days.
    let (from, until, count, notes) = of(3, 100);
    assert_eq!((from, until), days("15", "16"));
    assert_eq!((count, notes), (4, vec![left_out("syslog.6")]));
    let (from, until, count, notes) = of(100, 3);
    assert_eq!((from, until), days("16", "16"));
    assert_eq!((count, notes), (2, vec![left_out("syslog.5")]));
    assert_eq!(of(0, 0).2, 2);
}

#[test]
fn observed_runs_are_bounded() {
    let line = |day: u32| format!("Jun  {day} 06:00:01 h CRON[1]: (root) CMD (backup)\n");
    let mut text: String = (1..=9).map(line).collect();
    text += "Jun  9 07:00:01 h CRON[1]: (root) CMD (other)\n";
    let log = [read(&text, "2024-06-10T00:00:00Z")];
    let of = |from: &str, until: &str, runs_max| {
        let summary = |(name, found): (String, Forecast)| {
            let cut = found.truncated_at.map(|at| at.strftime("%d").to_string());
            (name, found.runs.len(), cut)
        };
        let found = observed_runs(&log, &[], at(from), at(until), runs_max);
        found.into_iter().map(summary).collect::<Vec<_>>()
    };
    let (first, last) = ("2024-06-01T00:00:00Z", "2024-06-30T00:00:00Z");
    assert_eq!(
        of(first, last, 100),
        [
            ("backup".to_owned(), 9, None),
            ("other".to_owned(), 1, None)
        ]
    );
    assert_eq!(
        of("2024-06-03T04:00:01Z", "2024-06-07T04:00:01Z", 100),
        [("backup".to_owned(), 4, None)]
    );
    assert_eq!(
        of(first, last, 5),
        [
            ("backup".to_owned(), 5, Some("06".to_owned())),
            ("other".to_owned(), 1, None)
        ]
    );
}

/// Returns a file of June 2024 with one cron line for each `(day, command)`.
fn of_days(name: &str, lines: &[(u32, &str)]) -> Log {
    let line = |(day, command): &(u32, &str)| {
        format!("Jun {day:2} 06:00:01 h CRON[1]: (root) CMD ({command})")
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    let ended = at("2024-06-20T00:00:00Z");
    Log::parse(name, &lines.join("\n"), &TimeZone::UTC, ended, &commands).expect("readable")
}

#[test]
fn duplicates_in_two_files_count_once() {
    let newer = of_days("syslog", &[(14, "backup"), (15, "backup")]);
    let older = |name: &str| of_days(name, &[(10, "backup"), (11, "backup"), (11, "other")]);
    // Compressed without deleting the plain file.
    let log = Log::joined(vec![newer.clone(), older("syslog.1"), older("syslog.1.gz")]);
    let log = log.expect("files");
    assert_eq!((log.count(), log.files()), (5, 3));
    assert_eq!(
        log.notes,
        ["3 of its runs stand in a second file as well, and count once"]
    );
    let job = line_job(1, "0 6 * * *", "backup");
    let days: Vec<String> = log
        .sightings(&job)
        .iter()
        .map(|seen| seen.start.strftime("%d").to_string())
        .collect();
    assert_eq!(days, ["10", "11", "14", "15"]);
    // A copy of a file that has grown since has only part of it.
    let copy = of_days("syslog-20240614", &[(14, "backup")]);
    let log = Log::joined(vec![newer.clone(), older("syslog.1"), copy]).expect("files");
    assert_eq!(log.count(), 5);
    // The same time but another command: not a copy.
    let cron = of_days("syslog.1", &[(14, "other"), (13, "backup")]);
    let log = Log::joined(vec![newer, cron]).expect("files");
    assert_eq!((log.count(), log.notes.len()), (4, 0));
}

#[test]
fn repeated_runs_in_one_file_are_kept() {
    let twice = || {
        of_days(
            "syslog.1",
            &[(10, "backup"), (10, "backup"), (11, "backup")],
        )
    };
    let log = Log::joined(vec![of_days("syslog", &[(14, "backup")]), twice()]);
    assert_eq!(log.expect("files").count(), 4);
    // As often as in the file that has it most often.
    let once = of_days("syslog.2", &[(10, "backup")]);
    for files in [vec![twice(), once.clone()], vec![once, twice(), twice()]] {
        let log = Log::joined(files).expect("files");
        assert_eq!(log.count(), 3);
    }
}

#[test]
fn the_copy_with_a_duration_wins() {
    let file = |name: &str, lines: &[&str]| {
        let ended = at("2024-06-20T00:00:00Z");
        Log::parse(name, &lines.join("\n"), &TimeZone::UTC, ended, &commands).expect("readable")
    };
    let begin = "Jun 10 23:59:00 h systemd[1]: Starting fstrim.service - x";
    let end = "Jun 11 00:01:00 h systemd[1]: fstrim.service: Succeeded.";
    let cut = file("syslog.1", &["Jun 10 00:00:00 h x: y", begin]);
    let whole = file("syslog.1.bak", &[begin, end]);
    let log = Log::joined(vec![whole, cut]).expect("files");
    let lens: Vec<Option<f64>> = seen(&log, &fstrim_timer())
        .iter()
        .map(|run| run.1)
        .collect();
    assert_eq!(lens, [Some(120.0)]);
}

#[test]
fn duplicate_boots_count_once() {
    let text = "Jun 10 22:00:00 h x: y\nJun 11 08:00:00 h kernel: Linux version 6.1\n";
    let file = |name: &str, text: &str| {
        let ended = at("2024-06-20T00:00:00Z");
        Log::parse(name, text, &TimeZone::UTC, ended, &commands).expect("readable")
    };
    // The second copy lacks the preceding line.
    let files = vec![
        file("syslog.1", text),
        file("syslog.1.gz", text),
        file("syslog.2", text.split_once('\n').expect("two lines").1),
    ];
    let log = Log::joined(files).expect("files");
    let spans: Vec<_> = log.uptimes.iter().map(|up| (up.from, up.until)).collect();
    assert_eq!(
        spans,
        [
            (Timestamp::MIN, Some(at("2024-06-10T22:00:00Z"))),
            (at("2024-06-11T08:00:00Z"), None)
        ]
    );
}

#[test]
fn hosts_are_merged_across_files() {
    let file = |name: &str, day: u32, hosts: &[&str]| {
        let line = |(host, hour): (&&str, u32)| {
            format!("Jun {day:2} 0{hour}:00:01 {host} CRON[1]: (root) CMD (backup)")
        };
        let lines: Vec<String> = hosts.iter().zip(0..).map(line).collect();
        let ended = at("2024-06-20T00:00:00Z");
        Log::parse(name, &lines.join("\n"), &TimeZone::UTC, ended, &commands).expect("readable")
    };
    let log = Log::joined(vec![
        file("syslog.1", 10, &["web1", "db1", "web1"]),
        file("syslog", 11, &["db1", "web2", "web1", "db1"]),
    ]);
    let log = log.expect("files");
    let identity = HostIdentity::of(std::slice::from_ref(&log), Some("db1"));
    let log = log.restrict_to(&identity).expect("lines are left");
    assert_eq!(log.count(), 3);
    assert_eq!(
        log.notes,
        ["4 lines of 2 other hosts (web1, web2) left out"]
    );
    assert_eq!(
        (log.from, log.until),
        (at("2024-06-10T01:00:01Z"), at("2024-06-11T03:00:01Z"))
    );
}

#[test]
fn repeated_times_take_linear_time() {
    // Hundreds of thousands of runs at the same time without a duration; also a copy, and a shorter
    // one that has the duration.
    let line = "Jun 17 06:00:01 h CRON[3]: (root) CMD (backup)\n";
    let file = |name: &str, text: &str| {
        let ended = at("2024-06-18T00:00:00Z");
        Log::parse(name, text, &TimeZone::UTC, ended, &commands).expect("readable")
    };
    let many = line.repeat(100_000);
    let ended = format!("{line}Jun 17 06:00:08 h CRON[3]: (root) END (backup)\n");
    let files = vec![
        file("syslog", &many),
        file("syslog.1", &many),
        file("syslog.2", &ended),
    ];
    let log = Log::joined(files).expect("three files");
    assert_eq!(log.count(), 100_000);
    let job = line_job(1, "0 6 * * *", "backup");
    let lens: Vec<Option<f64>> = log.sightings(&job).iter().map(|run| run.len_s).collect();
    assert_eq!(lens.len(), 100_000);
    assert_eq!(lens[..2], [Some(7.0), None]);
}
