//! `trimtab explain` with job runs from logs and event lists.

use crate::explain_support::{explain, json, sawtooth, write};
use crate::support::{stderr, stdout};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Returns every Sunday 06:47 in Berlin during the sawtooth's year, as Unix time.
fn sundays() -> Vec<i64> {
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let first = jiff::civil::date(2016, 1, 3).at(6, 47, 0, 0);
    (0..53)
        .map(|week| {
            let day = first.checked_add(jiff::Span::new().weeks(week)).unwrap();
            day.to_zoned(zone.clone()).unwrap().timestamp().as_second()
        })
        .collect()
}

#[test]
fn logged_runs_override_the_crontab() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    // The current crontab says Wednesday; last year the job ran on Sundays.
    let crontab = write(directory.path(), "mine", "0 3 * * 3 /sbin/fstrim -a\n");
    let mut text = String::new();
    for at_s in sundays() {
        let _ = writeln!(
            text,
            "{{\"__REALTIME_TIMESTAMP\":\"{at_s}000000\",\"SYSLOG_IDENTIFIER\":\"CRON\",\
             \"_PID\":\"77\",\"MESSAGE\":\"(root) CMD (/sbin/fstrim -a)\"}}"
        );
    }
    let log = write(directory.path(), "journal.json", &text);
    let args = [
        "--better",
        "higher",
        "--format",
        "json",
        "--jobs",
        crontab.to_str().unwrap(),
    ];
    let computed = json(&explain(&source, &args));
    let verdict = &computed["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "unattributed", "{}", verdict["sentence"]);
    let seen = json(&explain(
        &source,
        &[&args[..], &["--log", log.to_str().unwrap()]].concat(),
    ));
    let verdict = &seen["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "periodic", "{}", verdict["sentence"]);
    let first = &verdict["classes"][0];
    assert!(
        first["jobs"][0]
            .as_str()
            .unwrap()
            .ends_with("mine:1 fstrim")
    );
    assert_eq!(first["role"], "heals");
    let evidence = first["evidence"].to_string();
    assert!(evidence.contains("journal.json"), "{evidence}");
}

/// Creates a host with a crontab that trims daily, and a syslog last modified at `written`.
fn host_with_log(directory: &Path, log: &str, written: &str) -> PathBuf {
    let root = directory.join("root-of-es1");
    std::fs::create_dir_all(root.join("etc")).unwrap();
    std::fs::create_dir_all(root.join("var/log")).unwrap();
    std::fs::write(
        root.join("etc/crontab"),
        "SHELL=/bin/sh\n47 6 * * * root /sbin/fstrim -a\n0 3 * * 3 root /usr/bin/backup\n",
    )
    .unwrap();
    std::fs::write(root.join("etc/timezone"), "Europe/Berlin\n").unwrap();
    let path = root.join("var/log/syslog");
    std::fs::write(&path, log).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let written: jiff::Timestamp = written.parse().unwrap();
    file.set_modified(written.into()).unwrap();
    root
}

/// Creates a curve that falls during each week and recovers after Sunday 06:47 until September, and
/// then stays up, with the log: fstrim ran weekly, and daily from then on.
fn weekly_then_daily(directory: &Path) -> (PathBuf, String) {
    let mut text = String::from("time,throughput\n");
    let mut log = String::new();
    let mut day = jiff::civil::date(2016, 1, 4);
    for night in 0..365_i32 {
        let is_weekly = night < 245;
        let lost = if is_weekly { f64::from(night % 7) } else { 0.0 };
        let noise = f64::from(night * 37 % 11 - 5) * 60.0;
        let value = 51_000.0 * (1.0 - 0.12 * lost / 7.0) + noise;
        let _ = writeln!(text, "{day}T05:40:00,{value}");
        let at = |time: &str| format!("{} {time} es1", day.strftime("%b %e"));
        let _ = writeln!(
            log,
            "{} systemd[1]: Reached target timers.target.",
            at("00:00:03")
        );
        if !is_weekly || day.weekday() == jiff::civil::Weekday::Sunday {
            let _ = writeln!(
                log,
                "{} CRON[411]: (root) CMD (/sbin/fstrim -a)",
                at("06:47:01")
            );
        }
        day = day.tomorrow().unwrap();
    }
    (write(directory, "nightly.csv", &text), log)
}

#[test]
fn host_logs_override_the_host_schedule() {
    let directory = tempfile::tempdir().unwrap();
    let (source, log) = weekly_then_daily(directory.path());
    let root = host_with_log(directory.path(), &log, "2017-01-03T12:00:00Z");
    let args = ["--better", "higher", "--jobs", root.to_str().unwrap()];
    let observed = json(&explain(
        &source,
        &[&args[..], &["--format", "json"]].concat(),
    ));
    let verdict = &observed["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "periodic", "{}", verdict["sentence"]);
    let first = &verdict["classes"][0];
    assert_eq!(first["jobs"][0], "/etc/crontab:2 fstrim", "{first}");
    assert_eq!(first["role"], "heals");
    let evidence = first["evidence"].to_string();
    assert!(evidence.contains("var/log/syslog:"), "{evidence}");
    let from = observed["result"]["jobs_from"].as_str().unwrap();
    assert!(
        from.ends_with("seen in var/log/syslog (2016-01-04 to 2017-01-02)"),
        "{from}"
    );
    let text = stdout(&explain(&source, &args));
    assert!(text.contains("var/log/syslog"), "{text}");
    // The current schedule has daily runs only, which cannot explain a weekly pattern.
    let computed = json(&explain(
        &source,
        &[&args[..], &["--format", "json", "--log", "none"]].concat(),
    ));
    let verdict = &computed["result"]["series"][0]["verdict"];
    let classes = verdict["classes"].to_string();
    assert!(
        verdict["kind"] == "unattributed" && !classes.contains("fstrim"),
        "{} {classes}",
        verdict["sentence"]
    );
    let from = computed["result"]["jobs_from"].as_str().unwrap();
    assert!(from.ends_with("root-of-es1"), "{from}");
    // A log given with --log is added; a run in both logs counts once.
    let copy = write(directory.path(), "cron.log", &log);
    let given = ["--format", "json", "--log", copy.to_str().unwrap()];
    let file = std::fs::File::options().write(true).open(&copy).unwrap();
    let written: jiff::Timestamp = "2017-01-03T12:00:00Z".parse().unwrap();
    file.set_modified(written.into()).unwrap();
    let both = json(&explain(&source, &[&args[..], &given].concat()));
    let runs = |document: &Value| document["result"]["jobs"][0]["runs"].clone();
    assert_eq!(runs(&both), runs(&observed));
}

/// Returns stdout and stderr of every format.
fn in_every_format(source: &Path, args: &[&str]) -> String {
    let outputs = ["text", "json", "markdown", "html"].map(|format| {
        let output = explain(
            source,
            &[args, &["-v", "--all", "--format", format]].concat(),
        );
        assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
        stdout(&output) + &stderr(&output)
    });
    outputs.concat()
}

#[test]
fn command_arguments_in_logs_stay_secret() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    for command in [
        "PGPASSWORD='hunter2' /usr/bin/pg_dump db",
        "PGPASSWORD=\"the hunter2\" pg_dump db",
        "X=foo\\ hunter2 pg_dump",
        "pg_dump --password hunter2 -phunter2 db",
    ] {
        let mut log = String::new();
        for at_s in sundays() {
            let at = jiff::Timestamp::from_second(at_s).unwrap();
            let _ = writeln!(log, "{at} es1 CRON[411]: (root) CMD ({command})");
        }
        let root = host_with_log(directory.path(), &log, "2017-01-03T12:00:00Z");
        let crontab = format!("47 6 * * 7 root {command}\n0 3 * * 3 root /usr/bin/backup\n");
        std::fs::write(root.join("etc/crontab"), crontab).unwrap();
        let of_host = in_every_format(&source, &["--jobs", root.to_str().unwrap()]);
        assert!(
            of_host.contains("var/log/syslog:1: cron started pg_dump for root"),
            "{of_host}"
        );
        let copy = root.join("var/log/syslog");
        let given = ["--jobs", "none", "--log", copy.to_str().unwrap()];
        let alone = in_every_format(&source, &given);
        assert!(alone.contains("\"pg_dump\""), "{alone}");
        for text in [of_host, alone] {
            assert!(!text.contains("hunter2"), "{command}: {text}");
        }
    }
    // An invalid log is an error that does not quote its lines.
    let log = write(
        directory.path(),
        "none.log",
        "CRON (root) CMD (/bin/mysqldump -phunter2)\n",
    );
    let args = ["--jobs", "none", "--log", log.to_str().unwrap()];
    let output = explain(&source, &args);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("none.log:1: expected a line of syslog"),
        "{error}"
    );
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_malformed_log_is_listed_as_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let endless = "hunter2 ".repeat(100_000);
    for (log, why) in [
        ("", "empty"),
        ("\0\u{1b}[31m\u{7}", "not one line"),
        (endless.as_str(), "not one line"),
    ] {
        let root = host_with_log(directory.path(), log, "2017-01-03T12:00:00Z");
        let args = ["--format", "json", "--jobs", root.to_str().unwrap()];
        let output = explain(&source, &args);
        let document = json(&output);
        assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
        let skipped = document["skipped"].as_array().unwrap();
        let of_log: Vec<&Value> = skipped
            .iter()
            .filter(|entry| entry["what"] == "var/log/syslog")
            .collect();
        assert_eq!(of_log.len(), 1, "{skipped:?}");
        let actual = of_log[0]["why"].as_str().unwrap();
        assert!(actual.contains(why), "{actual}");
        assert!(!stdout(&output).contains("hunter2"));
    }
}

#[test]
fn events_from_a_file_are_considered() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let mut text = String::from("time,what\n");
    for at_s in sundays() {
        let _ = writeln!(text, "{at_s},trim by hand");
        // An unrelated event on another day of each week.
        let _ = writeln!(text, "{},deploy", at_s + 3 * 86_400 + at_s % 7 * 3_600);
    }
    let events = write(directory.path(), "events.csv", &text);
    let args = ["--jobs", "none", "--format", "json", "--events"];
    let output = explain(&source, &[&args[..], &[events.to_str().unwrap()]].concat());
    let document = json(&output);
    let verdict = &document["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "periodic", "{}", verdict["sentence"]);
    assert_eq!(verdict["classes"][0]["jobs"][0], "trim by hand");
    let wrong = write(directory.path(), "wrong.csv", "time,what\nnever,x\n");
    let output = explain(&source, &[&args[..], &[wrong.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("wrong.csv:2"),
        "{}",
        stderr(&output)
    );
}

/// The lines of a log with more lines after those of each day, and the number of days.
fn each_day(log: &str, more: impl Fn(&str) -> String) -> (String, usize) {
    let (mut lines, mut days) = (String::new(), 0);
    for line in log.lines() {
        let _ = writeln!(lines, "{line}");
        if line.contains("timers.target") {
            lines.push_str(&more(&line[..6]));
            days += 1;
        }
    }
    (lines, days)
}

#[test]
fn what_only_a_log_knows_is_compared_with_the_jobs() {
    let directory = tempfile::tempdir().unwrap();
    let (source, log) = weekly_then_daily(directory.path());
    // The host's jobs do not contain what its log says was started; a login is no job.
    let (more, _) = each_day(&log, |day| {
        format!(
            "{day} 03:00:01 es1 CRON[9]: (root) CMD (/usr/local/bin/forgotten)\n\
             {day} 04:00:00 es1 systemd[1]: Starting User Manager for UID 0...\n\
             {day} 04:00:01 es1 systemd[1]: Started user@0.service - User Manager for UID 0.\n"
        )
    });
    let root = host_with_log(directory.path(), &more, "2017-01-03T12:00:00Z");
    let args = ["--better", "higher", "--format", "json", "--jobs"];
    let args = [&args[..], &[root.to_str().unwrap()]].concat();
    let document = json(&explain(&source, &args));
    let jobs = document["result"]["jobs"].as_array().unwrap();
    let runs = |name: &str| {
        let of_name = |job: &&Value| job["name"].as_str().unwrap().contains(name);
        jobs.iter()
            .find(of_name)
            .map(|job| job["runs"].as_u64().unwrap())
    };
    assert!(runs("forgotten") > Some(360), "{jobs:?}");
    assert_eq!(runs("user@0"), None, "{jobs:?}");
}

#[test]
fn runs_of_other_hosts_in_a_central_log_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let (source, log) = weekly_then_daily(directory.path());
    let answer = |log: &str| {
        let root = host_with_log(directory.path(), log, "2017-01-03T12:00:00Z");
        std::fs::write(root.join("etc/hostname"), "es1.example.org\n").unwrap();
        let args = ["--better", "higher", "--format", "json", "--jobs"];
        let args = [&args[..], &[root.to_str().unwrap()]].concat();
        json(&explain(&source, &args))
    };
    // Another host trims every night at the time when this one trims on Sundays.
    let (mixed, nights) = each_day(&log, |day| {
        format!("{day} 06:47:01 web1 CRON[7]: (root) CMD (/sbin/fstrim -a)\n")
    });
    let (alone, gathered) = (answer(&log), answer(&mixed));
    assert_eq!(
        gathered["result"]["series"][0]["verdict"]["sentence"],
        alone["result"]["series"][0]["verdict"]["sentence"]
    );
    let of_jobs = |document: &Value| document["result"]["jobs"].clone();
    assert!(of_jobs(&alone)[0]["runs"].as_u64() > Some(100), "{alone}");
    assert_eq!(of_jobs(&gathered), of_jobs(&alone));
    let skip_reasons = |document: &Value| -> Vec<String> {
        let skipped = document["skipped"].as_array().unwrap();
        let of_log = skipped
            .iter()
            .filter(|entry| entry["what"] == "var/log/syslog");
        of_log
            .map(|entry| entry["why"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(skip_reasons(&alone).is_empty());
    assert_eq!(
        skip_reasons(&gathered),
        [format!("{nights} lines of another host (web1) left out")]
    );
}
