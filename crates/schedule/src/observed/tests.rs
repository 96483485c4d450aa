use super::*;
use crate::conditions::{Conditions, rhythm_changes};
use crate::forecast::tests::{cron_job, timer_job};
use crate::run::{Forecast, Seen};
use crate::{known_runs, parse_zone};
use facts::host::{JobCommand, TimerState, Trigger};
use host::parse::shell::script::commands;
use jiff::SignedDuration;
use proptest::prelude::*;

#[path = "command_tests.rs"]
mod command_tests;
#[path = "host_tests.rs"]
mod host_tests;
#[path = "join_tests.rs"]
mod join_tests;
#[path = "older_systemd_tests.rs"]
mod older_systemd_tests;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn berlin() -> TimeZone {
    parse_zone("Europe/Berlin").expect("known")
}

fn read(text: &str, ended: &str) -> Log {
    Log::parse("log", text, &berlin(), at(ended), &commands).expect("readable")
}

/// Returns the start and duration of each run of a job.
fn seen(log: &Log, job: &Job) -> Vec<(String, Option<f64>)> {
    let pair = |seen: &Sighting<'_>| (seen.start.to_string(), seen.len_s);
    log.sightings(job).iter().map(pair).collect()
}

fn fstrim_timer() -> Job {
    let mut job = timer_job("fstrim.timer", "weekly", 0.0);
    job.timer = Some(TimerState {
        unit: "fstrim.timer".to_owned(),
        activates: "fstrim.service".to_owned(),
        enabled: None,
        active: None,
        drop_ins: Vec::new(),
    });
    job
}

/// A script in cron.weekly that cron itself starts.
fn weekly_script(name: &str) -> Job {
    let mut job = cron_job(&format!("cron.weekly/{name}"), "47 6 * * 7");
    job.defined_in = format!("etc/cron.weekly/{name}");
    job.user = Some("root".to_owned());
    job
}

fn line_job(line: usize, spec: &str, program: &str) -> Job {
    let place = format!("etc/crontab:{line}");
    let mut job = cron_job(&format!("/{place}"), spec);
    job.user = Some("root".to_owned());
    job.defined_in.clone_from(&place);
    job.commands = vec![JobCommand {
        program: program.to_owned(),
        arguments: Vec::new(),
        idle_io: false,
        source: place,
    }];
    job
}

/// Written by Debian 12: a oneshot service that ends, one that fails, and one of type simple.
#[test]
fn entries_that_users_wrote_do_not_count() {
    let entry = |second: u32, user: &str, rest: &str| {
        format!("{{\"__REALTIME_TIMESTAMP\":\"17173728{second:02}100000\",{user}{rest}}}\n")
    };
    let cron = "\"SYSLOG_IDENTIFIER\":\"CRON\",\"MESSAGE\":\"(root) CMD (/sbin/fstrim -a)\"";
    let unit = "\"MESSAGE_ID\":\"7d4958e842da4a758f6c1cdc7b36dcc5\",\"UNIT\":\"fstrim.service\"";
    let (root, user) = ("\"_UID\":\"0\",", "\"_UID\":\"1000\",");
    let text = [
        entry(0, root, cron),
        entry(1, user, cron),
        entry(2, user, unit),
        entry(3, root, unit),
        entry(
            4,
            user,
            "\"SYSLOG_IDENTIFIER\":\"app\",\"MESSAGE\":\"hello\"",
        ),
    ]
    .concat();
    let log = read(&text, "2024-06-11T00:00:00Z");
    assert_eq!(log.count(), 2);
    assert!(!log.is_of_anybody);
    assert_eq!(
        log.notes,
        [
            "2 entries about jobs were not written by root, and do not count: every user may write such"
        ]
    );
    // Without the field nobody knows who wrote them; a file of syslog never tells.
    let log = read(&entry(0, "", cron), "2024-06-11T00:00:00Z");
    assert_eq!((log.count(), log.is_of_anybody), (1, true));
    let line = "Jun  3 00:00:00 h CRON[2]: (root) CMD (/sbin/fstrim -a)\n";
    assert!(read(line, "2024-06-11T00:00:00Z").is_of_anybody);
}

const JOURNAL: &str = r#"{"__REALTIME_TIMESTAMP":"1717372800100000","_BOOT_ID":"a","MESSAGE_ID":"7d4958e842da4a758f6c1cdc7b36dcc5","UNIT":"fstrim.service","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Starting fstrim.service - Discard unused blocks..."}
{"__REALTIME_TIMESTAMP":"1717372842100000","MESSAGE_ID":"7ad2d189f7e94e70a38c781354912448","UNIT":"fstrim.service","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"fstrim.service: Deactivated successfully."}
{"__REALTIME_TIMESTAMP":"1717372842200000","MESSAGE_ID":"39f53479d3a045ac8e11786248231fbf","UNIT":"fstrim.service","JOB_RESULT":"done","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Finished fstrim.service."}
{"__REALTIME_TIMESTAMP":"1717380000000000","SYSLOG_IDENTIFIER":"CRON","_PID":"77","MESSAGE":"(root) CMD (   cd / && run-parts --report /etc/cron.hourly)"}
{"__REALTIME_TIMESTAMP":"1717390000000000","SYSLOG_IDENTIFIER":"binary","MESSAGE":[255,1,2]}
{"__REALTIME_TIMESTAMP":"1717977600000000","MESSAGE_ID":"7d4958e842da4a758f6c1cdc7b36dcc5","UNIT":"fstrim.service","MESSAGE":"Starting"}
{"__REALTIME_TIMESTAMP":"1717977601500000","MESSAGE_ID":"be02cf6855d2428ba40df7e9d022f03d","UNIT":"fstrim.service","MESSAGE":"Failed"}
{"__REALTIME_TIMESTAMP":"1717977700000000","MESSAGE_ID":"39f53479d3a045ac8e11786248231fbf","UNIT":"backup.service","MESSAGE":"Started backup.service."}
{"__REALTIME_TIMESTAMP":"1717977760000000","MESSAGE_ID":"7ad2d189f7e94e70a38c781354912448","UNIT":"backup.service","MESSAGE":"x"}
"#;

#[test]
fn the_journal_gives_starts_and_durations_of_units() {
    let log = read(JOURNAL, "2024-06-11T00:00:00Z");
    assert_eq!(
        (log.seen, log.count(), log.notes.len()),
        (Seen::Journal, 4, 0)
    );
    assert_eq!(
        (log.from, log.until),
        (at("2024-06-03T00:00:00.1Z"), at("2024-06-10T00:02:40Z"))
    );
    assert_eq!(
        seen(&log, &fstrim_timer()),
        [
            ("2024-06-03T00:00:00.1Z".to_owned(), Some(42.0)),
            ("2024-06-10T00:00:00Z".to_owned(), Some(1.5))
        ]
    );
    let mut backup = fstrim_timer();
    if let Some(timer) = &mut backup.timer {
        timer.activates = "backup.service".to_owned();
    }
    assert_eq!(
        seen(&log, &backup),
        [("2024-06-10T00:01:40Z".to_owned(), Some(60.0))]
    );
    // The order does not matter.
    let reversed: Vec<&str> = JOURNAL.lines().rev().collect();
    let reversed = read(&reversed.join("\n"), "2024-06-11T00:00:00Z");
    assert_eq!(
        seen(&reversed, &fstrim_timer()),
        seen(&log, &fstrim_timer())
    );
    // Before version 246, a oneshot service was "started" when it had ended.
    let older = JOURNAL
        .lines()
        .take(3)
        .filter(|line| !line.contains("Deactivated"));
    let older = read(
        &older.collect::<Vec<_>>().join("\n"),
        "2024-06-11T00:00:00Z",
    );
    assert_eq!(
        seen(&older, &fstrim_timer()),
        [("2024-06-03T00:00:00.1Z".to_owned(), Some(42.1))]
    );
}

#[test]
fn a_directory_run_counts_for_all_its_scripts() {
    let text = "Jun  9 06:47:01 db1 CRON[811]: (root) CMD (test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly ))\nJun  9 07:17:01 db1 CRON[900]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    for name in ["fstrim", "man-db"] {
        assert_eq!(
            seen(&log, &weekly_script(name)),
            [("2024-06-09T04:47:01Z".to_owned(), None)]
        );
    }
    let run = log.sightings(&weekly_script("fstrim"))[0].run("x");
    assert_eq!(&*run.evidence, "log:1: cron started cron.weekly for root");
    // If anacron starts the scripts, the crontab line only checks for anacron.
    let mut by_anacron = weekly_script("fstrim");
    by_anacron.triggers = vec![Trigger::Anacron {
        period: "7".to_owned(),
        delay_min: 10,
        random_delay_min: None,
        start_hours: None,
        started_by: Vec::new(),
        identifier: "cron.weekly".to_owned(),
        source: "etc/anacrontab:12".to_owned(),
    }];
    assert_eq!(seen(&log, &by_anacron), []);
    let text = "2024-06-09T07:30:12.000001+02:00 db1 anacron[5]: Job `cron.weekly' started\n2024-06-09T07:31:42.000001+02:00 db1 anacron[5]: Job `cron.weekly' terminated (mailing output)\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    assert_eq!(
        seen(&log, &by_anacron),
        [("2024-06-09T05:30:12.000001Z".to_owned(), Some(90.0))]
    );
}

#[test]
fn red_hat_run_parts_logs_each_script() {
    let text = "Jun  9 03:20:01 db1 CROND[811]: (root) CMD (run-parts /etc/cron.weekly)\nJun  9 03:20:01 db1 run-parts[812]: (/etc/cron.weekly) starting fstrim\nJun  9 03:24:01 db1 run-parts[815]: (/etc/cron.weekly) finished fstrim\nJun  9 03:24:01 db1 run-parts(/etc/cron.weekly)[812]: starting man-db\nJun  9 03:24:11 db1 run-parts(/etc/cron.weekly)[815]: finished man-db\nJun  9 03:24:11 db1 CROND[810]: (root) CMDEND (run-parts /etc/cron.weekly)\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    assert_eq!(
        seen(&log, &weekly_script("fstrim")),
        [("2024-06-09T01:20:01Z".to_owned(), Some(240.0))]
    );
    assert_eq!(
        seen(&log, &weekly_script("man-db")),
        [("2024-06-09T01:24:01Z".to_owned(), Some(10.0))]
    );
    // A script that is not named gets the runs of the whole directory.
    assert_eq!(
        seen(&log, &weekly_script("other")),
        [("2024-06-09T01:20:01Z".to_owned(), Some(250.0))]
    );
}

#[test]
fn years_are_found_from_the_end_of_the_file() {
    let text = "Dec 30 06:00:01 h cron[1]: (root) CMD (backup)\nJan  1 06:00:01 h cron[1]: (root) CMD (backup)\nFeb 29 06:00:01 h cron[1]: (root) CMD (backup)\nDec 31 06:00:01 h cron[1]: (root) CMD (backup)\nJan  2 06:00:01 h cron[1]: (root) CMD (backup)\n";
    let job = line_job(1, "0 6 * * *", "backup");
    let expected = [
        "2023-12-30",
        "2024-01-01",
        "2024-02-29",
        "2024-12-31",
        "2025-01-02",
    ]
    .map(|day| (format!("{day}T05:00:01Z"), None));
    // Last written on that day, or months later.
    for ended in ["2025-01-02T06:00:00Z", "2025-11-30T00:00:00Z"] {
        assert_eq!(seen(&read(text, ended), &job), expected, "{ended}");
    }
    // A file last written before the date of its last line is from the previous year.
    let earlier = read(
        "Dec 31 06:00:01 h cron[1]: (root) CMD (backup)\n",
        "2025-06-01T00:00:00Z",
    );
    assert_eq!(earlier.from, at("2024-12-31T05:00:01Z"));
    // 29 February requires a leap year.
    let leap = read(
        "Feb 29 06:00:01 h cron[1]: (root) CMD (backup)\n",
        "2027-06-01T00:00:00Z",
    );
    assert_eq!(leap.from, at("2024-02-29T05:00:01Z"));
}

#[test]
fn repeated_hours_are_resolved_by_line_order() {
    let text = "Oct 27 02:30:01 h cron[1]: (root) CMD (backup)\nOct 27 02:59:01 h x[1]: y\nOct 27 02:30:01 h cron[1]: (root) CMD (backup)\n";
    let log = read(text, "2024-10-28T00:00:00Z");
    assert_eq!(
        seen(&log, &line_job(1, "30 2 * * *", "backup")),
        [
            ("2024-10-27T00:30:01Z".to_owned(), None),
            ("2024-10-27T01:30:01Z".to_owned(), None)
        ]
    );
}

#[test]
fn rfc_5424_and_priorities() {
    let text = "<78>1 2024-06-09T06:00:01.003Z db1 CRON 811 - [origin ip=\"1]\\\"\"][x y=\"z\"] (root) CMD (backup)\n<78>1 2024-06-10T06:00:01Z db1 CRON 811 - - \u{feff}(root) CMD (backup)\n<78>Jun 11 08:00:01 db1 CRON[1]: (root) CMD (backup)\n";
    let log = read(text, "2024-06-12T00:00:00Z");
    assert_eq!(log.notes, [""; 0]);
    assert_eq!(
        seen(&log, &line_job(1, "0 8 * * *", "backup")),
        [
            ("2024-06-09T06:00:01.003Z".to_owned(), None),
            ("2024-06-10T06:00:01Z".to_owned(), None),
            ("2024-06-11T06:00:01Z".to_owned(), None)
        ]
    );
}

#[test]
fn boots_of_the_host() {
    let text = "Jun  3 10:00:00 h x[1]: y\nJun  5 22:00:00 h x[1]: y\nJun  6 08:00:00 h kernel: [    0.000000] Linux version 6.1.0-21-amd64 (a@b)\nJun  9 10:00:00 h x[1]: y\nJun  9 12:00:00 h kernel: Linux version 6.1.0-22-amd64 (a@b)\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    let spans: Vec<(Timestamp, Option<Timestamp>)> =
        log.uptimes.iter().map(|up| (up.from, up.until)).collect();
    assert_eq!(
        spans,
        [
            (Timestamp::MIN, Some(at("2024-06-05T20:00:00Z"))),
            (at("2024-06-06T06:00:00Z"), Some(at("2024-06-09T08:00:00Z"))),
            (at("2024-06-09T10:00:00Z"), None)
        ]
    );
    // Nothing runs while it is down.
    let daily = line_job(1, "0 3 * * *", "backup");
    let found = known(
        &daily,
        &[],
        &[log],
        "2024-06-05T00:00:00Z",
        "2024-06-08T00:00:00Z",
    );
    let days: Vec<String> = found
        .runs
        .iter()
        .map(|run| run.earliest.to_string())
        .collect();
    assert_eq!(days, ["2024-06-05T01:00:00Z", "2024-06-07T01:00:00Z"]);
}

fn known(job: &Job, jobs: &[Job], logs: &[Log], from: &str, until: &str) -> Forecast {
    let conditions = Conditions::in_zone(&berlin());
    known_runs(job, jobs, logs, at(from), at(until), &conditions).expect("readable")
}

#[test]
fn observed_runs_replace_computed_ones() {
    let log = read(JOURNAL, "2024-06-11T00:00:00Z");
    let mut job = fstrim_timer();
    // The current schedule is daily; the log has two weekly runs.
    if let Trigger::Calendar(calendars) = &mut job.triggers[0] {
        calendars.expressions = vec!["04:00 UTC".to_owned()];
        calendars.accuracy_s = Some(0.0);
    }
    let found = known(
        &job,
        &[],
        &[log],
        "2024-06-01T00:00:00Z",
        "2024-06-12T12:00:00Z",
    );
    let shown: Vec<(String, Seen)> = found
        .runs
        .iter()
        .map(|run| (run.earliest.to_string(), run.seen))
        .collect();
    let computed = |day: &str| (format!("2024-06-{day}T04:00:00Z"), Seen::Computed);
    assert_eq!(
        shown,
        [
            computed("01"),
            computed("02"),
            ("2024-06-03T00:00:00.1Z".to_owned(), Seen::Journal),
            ("2024-06-10T00:00:00Z".to_owned(), Seen::Journal),
            computed("10"),
            computed("11"),
            computed("12"),
        ]
    );
    assert_eq!(
        &*found.runs[2].evidence,
        "log:1: systemd started fstrim.service"
    );
    assert!(found.runs[0].evidence.contains("OnCalendar=04:00 UTC"));
}

#[test]
fn a_schedule_change_is_detected() {
    // Sundays until 2016-10-16, then every day, according to the log; the current crontab is daily.
    let mut lines: Vec<String> = Vec::new();
    let mut day = at("2016-08-28T04:47:01Z");
    while day < at("2016-11-10T00:00:00Z") {
        let is_sunday = (day.as_second() - at("2016-08-28T04:47:01Z").as_second()) % 604_800 == 0;
        if is_sunday || day >= at("2016-10-17T00:00:00Z") {
            lines.push(format!("{day} h CRON[1]: (root) CMD (/usr/sbin/fstrim -a)"));
        }
        day = day
            .checked_add(SignedDuration::from_hours(24))
            .expect("in range");
    }
    let job = line_job(7, "47 6 * * *", "fstrim");
    let log = read(&lines.join("\n"), "2016-11-10T00:00:00Z");
    let found = known(
        &job,
        &[],
        &[log],
        "2016-08-28T00:00:00Z",
        "2016-11-09T00:00:00Z",
    );
    let changes = rhythm_changes(&found.runs);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].last_before, at("2016-10-16T04:47:01Z"));
    assert_eq!(changes[0].first_after, at("2016-10-17T04:47:01Z"));
}

#[test]
fn jobs_with_one_program_are_distinguished_by_time() {
    let text = "Jun  9 06:00:01 h CRON[1]: (root) CMD (/usr/local/bin/backup --full)\nJun 10 03:00:01 h CRON[1]: (root) CMD (/usr/local/bin/backup)\nJun 11 12:34:01 h CRON[1]: (root) CMD (/usr/local/bin/backup)\n";
    let log = [read(text, "2024-06-12T00:00:00Z")];
    let jobs = [
        line_job(1, "0 6 * * 0", "backup"),
        line_job(2, "0 3 * * *", "backup"),
    ];
    let starts = |job: &Job| -> Vec<String> {
        let found = known(
            job,
            &jobs,
            &log,
            "2024-06-09T00:00:00Z",
            "2024-06-11T18:00:00Z",
        );
        let observed = found.runs.iter().filter(|run| run.seen == Seen::Syslog);
        observed.map(|run| run.earliest.to_string()).collect()
    };
    // The one at noon fits neither schedule: it may belong to either.
    let noon = "2024-06-11T10:34:01Z";
    assert_eq!(starts(&jobs[0]), ["2024-06-09T04:00:01Z", noon]);
    assert_eq!(starts(&jobs[1]), ["2024-06-10T01:00:01Z", noon]);
}

#[test]
fn the_same_run_in_two_logs_counts_once() {
    let journal = read(JOURNAL, "2024-06-11T00:00:00Z");
    let syslog = read(
        "2024-06-03T02:00:00.400+02:00 h systemd[1]: Starting fstrim.service - Discard unused blocks...\n2024-06-03T02:00:42.300+02:00 h systemd[1]: fstrim.service: Deactivated successfully.\n2024-06-03T02:00:42.300+02:00 h systemd[1]: Finished fstrim.service - Discard unused blocks.\n",
        "2024-06-11T00:00:00Z",
    );
    assert_eq!(syslog.count(), 1);
    for logs in [[journal.clone(), syslog.clone()], [syslog, journal]] {
        let found = known(
            &fstrim_timer(),
            &[],
            &logs,
            "2024-06-03T00:00:00Z",
            "2024-06-10T00:00:00Z",
        );
        assert_eq!(found.runs.len(), 1);
        assert_eq!(
            (found.runs[0].seen, found.runs[0].len_s),
            (Seen::Journal, Some(42.0))
        );
    }
}

#[test]
fn a_log_without_the_job_is_ignored() {
    let log = read(
        "Jun  9 06:00:01 h CRON[1]: (root) CMD (other)\n",
        "2024-06-10T00:00:00Z",
    );
    let job = line_job(1, "0 6 * * *", "backup");
    let found = known(
        &job,
        &[],
        &[log],
        "2024-06-09T00:00:00Z",
        "2024-06-10T00:00:00Z",
    );
    assert_eq!(found.runs.len(), 1);
    assert_eq!(found.runs[0].seen, Seen::Computed);
    assert!(
        found.unknown[0].starts_with("not mentioned in log:"),
        "{:?}",
        found.unknown
    );
}

#[test]
fn a_run_in_two_files_counts_once() {
    let text = "Jun  9 06:00:01 h CRON[1]: (root) CMD (backup)\nJun  9 06:00:02 h CRON[2]: (root) CMD (backup)\n";
    let mut cron = read(text, "2024-06-10T00:00:00Z");
    cron.source = "cron.log".to_owned();
    let logs = [read(text, "2024-06-10T00:00:00Z"), cron];
    let lists = observed_runs(&logs, &[], Timestamp::MIN, Timestamp::MAX, 10);
    assert_eq!(lists.len(), 1);
    // The log itself distinguishes the two.
    assert_eq!(lists[0].1.runs.len(), 2);
    let job = line_job(1, "0 6 * * *", "backup");
    let found = known(
        &job,
        &[],
        &logs,
        "2024-06-09T00:00:00Z",
        "2024-06-09T12:00:00Z",
    );
    assert_eq!(found.runs.len(), 2);
}

#[test]
fn bad_lines_are_counted_and_all_bad_is_an_error() {
    let text = "Jun  9 06:00:01 h CRON[1]: (root) CMD (backup)\n-- Boot 0a --\nFoo 40 x\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    assert_eq!(log.notes.len(), 1);
    assert_eq!(
        log.notes[0],
        "2 lines could not be read, the first is log:2"
    );
    let refuse = |text: &str| {
        let error = Log::parse(
            "log",
            text,
            &berlin(),
            at("2024-06-10T00:00:00Z"),
            &commands,
        );
        error.expect_err("unreadable").to_string()
    };
    assert!(refuse("a\nb\n").starts_with("log:1: expected a line of syslog"));
    assert!(refuse("").ends_with("found \"an empty file\""));
    assert!(refuse("{\"MESSAGE\":\"x\"}").starts_with("log:1:"));
    assert!(refuse("{\"__REALTIME_TIMESTAMP\":\"x\"}").contains("__REALTIME_TIMESTAMP"));
    // The text may be a command with a password.
    for line in [
        "CRON (root) CMD (/bin/mysqldump -phunter2)\n",
        "{\"MESSAGE\":\"(root) CMD (mysqldump -phunter2)\"}\n",
        "{\"MESSAGE\":\"(root) CMD (mysqldump -phunter2)\n",
        "{\"__REALTIME_TIMESTAMP\":\"hunter2\"}\n",
    ] {
        let error = refuse(line);
        assert!(!error.contains("hunter2"), "{error}");
        assert!(
            error.starts_with("log:1") && error.contains("expected"),
            "{error}"
        );
    }
}

proptest! {
    /// Parsing any log terminates and returns no more runs than there are lines, each within the
    /// log's time span.
    #[test]
    fn total(
        lines in proptest::collection::vec(prop_oneof![
            "(Jun|Feb|Dec) [ 0-9][0-9] 0[0-9]:3[0-9]:01 h (CRON|anacron|kernel|systemd|run-parts)(\\[1\\])?: (\\(root\\) CMD \\(a\\)|Job `x' (started|terminated)|Linux version 6|(Starting|Started) x.service - y|x.service: Succeeded.|\\(/etc/cron.daily\\) (starting|finished) z)",
            "<78>1 2024-0[1-9]-1[0-9]T00:00:00Z h CRON 1 - (-|\\[a b=\"c\"\\]) \\(root\\) (CMD|END) \\(a\\)",
            "\\{\"__REALTIME_TIMESTAMP\":\"17173728[0-9]{8}\",\"MESSAGE_ID\":\"7d4958e842da4a758f6c1cdc7b36dcc5\",\"UNIT\":\"x.service\"\\}",
            "\\PC{0,40}",
        ], 0..40),
        ended_s in -100_000_000_000i64..100_000_000_000,
        cut in 0usize..40,
    ) {
        let ended = Timestamp::from_second(ended_s).expect("in range");
        let (older, newer) = lines.split_at(cut.min(lines.len()));
        let files: Vec<Log> = [older, newer]
            .iter()
            .filter_map(|lines| Log::parse("log", &lines.join("\n"), &berlin(), ended, &commands).ok())
            .collect();
        let count: usize = files.iter().map(Log::count).sum();
        let most = files.iter().map(Log::count).max();
        if let Some(log) = Log::joined(files) {
            let runs: Vec<Run> = log.events().into_iter().flat_map(|events| events.runs).collect();
            // Runs in both logs count once.
            prop_assert!(most <= Some(log.count()) && log.count() <= count);
            prop_assert_eq!(runs.len(), log.count());
            for run in runs {
                prop_assert!(log.from <= run.earliest && run.earliest <= log.until);
            }
        }
        if let Ok(log) = Log::parse("log", &lines.join("\n"), &berlin(), ended, &commands) {
            prop_assert!(log.from <= log.until);
            prop_assert!(log.count() <= lines.len());
            let runs: Vec<Run> = log.events().into_iter().flat_map(|events| events.runs).collect();
            prop_assert_eq!(runs.len(), log.count());
            for run in runs {
                prop_assert!(log.from <= run.earliest && run.earliest <= log.until);
                prop_assert!(run.len_s.is_none_or(|len_s| len_s >= 0.0));
            }
        }
    }

    /// Lines without a year, written over up to three years, are parsed to the times at which they
    /// were written.
    #[test]
    fn years_are_inferred(
        first_s in 946_684_800i64..2_000_000_000,
        steps in proptest::collection::vec(1i64..25_000_000, 1..5),
        later_s in 0i64..20_000_000,
    ) {
        let zone = TimeZone::UTC;
        let mut moments = vec![first_s];
        for step in steps {
            moments.push(moments[moments.len() - 1] + step);
        }
        let lines: Vec<String> = moments
            .iter()
            .map(|&moment_s| {
                let at = Timestamp::from_second(moment_s).expect("in range");
                format!("{} h CRON[1]: (root) CMD (a)", at.strftime("%b %e %H:%M:%S"))
            })
            .collect();
        let ended = Timestamp::from_second(moments[moments.len() - 1] + later_s).expect("in range");
        let log = Log::parse("log", &lines.join("\n"), &zone, ended, &commands).expect("readable");
        let read: Vec<i64> = log.events()[0].runs.iter().map(|run| run.earliest.as_second()).collect();
        prop_assert_eq!(read, moments);
    }
}

#[test]
fn what_a_monitoring_system_recorded_of_jobs_is_a_log() {
    let starts = [at("2026-06-01T00:42:10Z"), at("2026-06-08T01:13:55Z")];
    let timers = [
        ("fstrim.timer".to_owned(), starts.to_vec()),
        ("before.timer".to_owned(), vec![at("2026-05-01T00:00:00Z")]),
        ("cron.weekly/fstrim".to_owned(), vec![starts[0]]),
    ];
    let recorded = (at("2026-05-30T00:00:00Z"), at("2026-06-10T00:00:00Z"));
    let log = Log::of_metrics("prometheus", "db1", recorded, &timers).unwrap();
    assert_eq!(
        (log.from, log.until, log.count()),
        (recorded.0, recorded.1, 3)
    );
    let runs: Vec<_> = (log.sightings(&fstrim_timer()).iter())
        .map(|sighting| sighting.run("fstrim.timer"))
        .collect();
    let told: Vec<_> = runs.iter().map(|run| run.earliest).collect();
    assert_eq!(told, starts);
    assert!(runs.iter().all(|run| run.seen == Seen::Metric));
    // There are no lines to point at.
    assert_eq!(
        &*runs[0].evidence,
        "prometheus: systemd started fstrim.service"
    );
    let script = "cron.weekly/fstrim".to_owned();
    let script = Job::new(script, "etc/cron.weekly/fstrim".to_owned());
    assert_eq!(log.sightings(&script).len(), 1);
    assert!(Log::of_metrics("prometheus", "db1", recorded, &timers[1..2]).is_none());
}
