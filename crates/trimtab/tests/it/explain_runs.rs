//! `trimtab explain` where logs and lists of events tell when jobs ran.

use crate::explain_support::{explain, json, sawtooth, write};
use crate::support::{stderr, stdout};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Sundays 06:47 in Berlin of the sawtooth's year, as seconds since 1970.
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
fn a_log_of_runs_outranks_the_crontab() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    // The crontab of today says Wednesday; last year it was Sunday.
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
    let words = [
        "--better",
        "higher",
        "--format",
        "json",
        "--jobs",
        crontab.to_str().unwrap(),
    ];
    let computed = json(&explain(&source, &words));
    let verdict = &computed["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "unattributed", "{}", verdict["sentence"]);
    let seen = json(&explain(
        &source,
        &[&words[..], &["--log", log.to_str().unwrap()]].concat(),
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

/// The files of a host: a crontab that trims daily, and what syslog tells of it.
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

/// A curve that falls for a week and recovers after Sunday 06:47 until September, and stays up after: fstrim
/// ran weekly, and daily from then on.
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
fn the_logs_of_a_host_outrank_its_schedule() {
    let directory = tempfile::tempdir().unwrap();
    let (source, log) = weekly_then_daily(directory.path());
    let root = host_with_log(directory.path(), &log, "2017-01-03T12:00:00Z");
    let words = ["--better", "higher", "--jobs", root.to_str().unwrap()];
    let told = json(&explain(
        &source,
        &[&words[..], &["--format", "json"]].concat(),
    ));
    let verdict = &told["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "periodic", "{}", verdict["sentence"]);
    let first = &verdict["classes"][0];
    assert_eq!(first["jobs"][0], "/etc/crontab:2 fstrim", "{first}");
    assert_eq!(first["role"], "heals");
    let evidence = first["evidence"].to_string();
    assert!(evidence.contains("var/log/syslog:"), "{evidence}");
    let from = told["result"]["jobs_from"].as_str().unwrap();
    assert!(
        from.ends_with("seen in var/log/syslog (2016-01-04 to 2017-01-02)"),
        "{from}"
    );
    let text = stdout(&explain(&source, &words));
    assert!(text.contains("var/log/syslog"), "{text}");
    // The schedule of today knows of daily runs alone, which tell no night from another.
    let computed = json(&explain(
        &source,
        &[&words[..], &["--format", "json", "--log", "none"]].concat(),
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
    // A log that is given by hand adds, and the same run in both is one.
    let copy = write(directory.path(), "cron.log", &log);
    let given = ["--format", "json", "--log", copy.to_str().unwrap()];
    let file = std::fs::File::options().write(true).open(&copy).unwrap();
    let written: jiff::Timestamp = "2017-01-03T12:00:00Z".parse().unwrap();
    file.set_modified(written.into()).unwrap();
    let both = json(&explain(&source, &[&words[..], &given].concat()));
    let runs = |document: &Value| document["result"]["jobs"][0]["runs"].clone();
    assert_eq!(runs(&both), runs(&told));
}

/// Everything that an answer says: as text, JSON and a page.
fn in_every_form(source: &Path, words: &[&str]) -> String {
    let forms = ["text", "json", "markdown", "html"].map(|form| {
        let output = explain(
            source,
            &[words, &["-v", "--all", "--format", form]].concat(),
        );
        assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
        stdout(&output) + &stderr(&output)
    });
    forms.concat()
}

#[test]
fn words_of_commands_in_logs_stay_secret() {
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
        let of_host = in_every_form(&source, &["--jobs", root.to_str().unwrap()]);
        assert!(
            of_host.contains("var/log/syslog:1: cron started pg_dump for root"),
            "{of_host}"
        );
        let copy = root.join("var/log/syslog");
        let given = ["--jobs", "none", "--log", copy.to_str().unwrap()];
        let alone = in_every_form(&source, &given);
        assert!(alone.contains("\"pg_dump\""), "{alone}");
        for told in [of_host, alone] {
            assert!(!told.contains("hunter2"), "{command}: {told}");
        }
    }
    // A log that is none is an error, and its lines are not told.
    let log = write(
        directory.path(),
        "none.log",
        "CRON (root) CMD (/bin/mysqldump -phunter2)\n",
    );
    let words = ["--jobs", "none", "--log", log.to_str().unwrap()];
    let output = explain(&source, &words);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("none.log:1: expected a line of syslog"),
        "{told}"
    );
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn a_hostile_log_is_told_among_the_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let endless = "hunter2 ".repeat(100_000);
    for (log, why) in [
        ("", "empty"),
        ("\0\u{1b}[31m\u{7}", "not one line"),
        (endless.as_str(), "not one line"),
    ] {
        let root = host_with_log(directory.path(), log, "2017-01-03T12:00:00Z");
        let words = ["--format", "json", "--jobs", root.to_str().unwrap()];
        let output = explain(&source, &words);
        let told = json(&output);
        assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
        let skipped = told["skipped"].as_array().unwrap();
        let of_log: Vec<&Value> = skipped
            .iter()
            .filter(|one| one["what"] == "var/log/syslog")
            .collect();
        assert_eq!(of_log.len(), 1, "{skipped:?}");
        let told_why = of_log[0]["why"].as_str().unwrap();
        assert!(told_why.contains(why), "{told_why}");
        assert!(!stdout(&output).contains("hunter2"));
    }
}

#[test]
fn events_given_by_hand_are_weighed() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let mut text = String::from("time,what\n");
    for at_s in sundays() {
        let _ = writeln!(text, "{at_s},trim by hand");
        // Whatever else happens, on another day of each week.
        let _ = writeln!(text, "{},deploy", at_s + 3 * 86_400 + at_s % 7 * 3_600);
    }
    let events = write(directory.path(), "events.csv", &text);
    let words = ["--jobs", "none", "--format", "json", "--events"];
    let output = explain(&source, &[&words[..], &[events.to_str().unwrap()]].concat());
    let document = json(&output);
    let verdict = &document["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "periodic", "{}", verdict["sentence"]);
    assert_eq!(verdict["classes"][0]["jobs"][0], "trim by hand");
    let wrong = write(directory.path(), "wrong.csv", "time,what\nnever,x\n");
    let output = explain(&source, &[&words[..], &[wrong.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("wrong.csv:2"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_host_that_gathers_logs_has_no_runs_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let (source, log) = weekly_then_daily(directory.path());
    let answer = |log: &str| {
        let root = host_with_log(directory.path(), log, "2017-01-03T12:00:00Z");
        std::fs::write(root.join("etc/hostname"), "es1.example.org\n").unwrap();
        let words = ["--better", "higher", "--format", "json", "--jobs"];
        let words = [&words[..], &[root.to_str().unwrap()]].concat();
        json(&explain(&source, &words))
    };
    // Another one trims every night, at the hour at which this one does on Sundays.
    let mut mixed = String::new();
    let mut nights = 0;
    for line in log.lines() {
        let _ = writeln!(mixed, "{line}");
        if line.contains("timers.target") {
            let day = &line[..6];
            let _ = writeln!(
                mixed,
                "{day} 06:47:01 web1 CRON[7]: (root) CMD (/sbin/fstrim -a)"
            );
            nights += 1;
        }
    }
    let (alone, gathered) = (answer(&log), answer(&mixed));
    assert_eq!(
        gathered["result"]["series"][0]["verdict"]["sentence"],
        alone["result"]["series"][0]["verdict"]["sentence"]
    );
    let of_jobs = |document: &Value| document["result"]["jobs"].clone();
    assert!(of_jobs(&alone)[0]["runs"].as_u64() > Some(100), "{alone}");
    assert_eq!(of_jobs(&gathered), of_jobs(&alone));
    let told = |document: &Value| -> Vec<String> {
        let skipped = document["skipped"].as_array().unwrap();
        let of_log = skipped.iter().filter(|one| one["what"] == "var/log/syslog");
        of_log
            .map(|one| one["why"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(told(&alone).is_empty());
    assert_eq!(
        told(&gathered),
        [format!("{nights} lines of another host (web1) left out")]
    );
}
