//! Logs that hold the lines of several hosts.

use super::host_lines::host_name;
use super::*;

/// A log with one cron line for each `(hour, host)`, with hours counted from the start of the log
/// in June 2024.
fn of_hours(lines: &[(i64, &str)]) -> Log {
    let begin = at("2024-06-01T00:00:00Z");
    let line = |(hour, host): &(i64, &str)| {
        let at = begin.checked_add(SignedDuration::from_hours(*hour));
        let at = at.expect("in range");
        format!("{at} {host} CRON[1]: (root) CMD (backup)")
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    read(&lines.join("\n"), "2024-07-01T00:00:00Z")
}

/// Returns how many runs remain of a single log, the first and last hour, and its notes.
fn left(log: &Log, own: Option<&str>) -> Option<(usize, i64, i64, Vec<String>)> {
    let identity = HostIdentity::of(std::slice::from_ref(log), own);
    let log = log.clone().restrict_to(&identity)?;
    let hour = |moment: Timestamp| {
        let since = moment.duration_since(at("2024-06-01T00:00:00Z"));
        since.as_hours()
    };
    Some((log.count(), hour(log.from), hour(log.until), log.notes))
}

/// The same for a log with a single note.
fn single_note(log: &Log, own: Option<&str>) -> (usize, String) {
    let (count, _, _, notes) = left(log, own).expect("lines are left");
    assert_eq!(notes.len(), 1, "{notes:?}");
    (count, notes[0].clone())
}

fn alone(log: &Log, own: Option<&str>) -> usize {
    let (count, _, _, notes) = left(log, own).expect("lines are left");
    assert!(notes.is_empty(), "{notes:?}");
    count
}

#[test]
fn lines_of_other_hosts_are_left_out_and_noted() {
    let log = of_hours(&[(0, "db2"), (1, "db1"), (2, "web1"), (9, "db1"), (12, "db2")]);
    let (count, from, until, notes) = left(&log, Some("db1")).expect("lines are left");
    // The log only covers what its own host wrote.
    assert_eq!((count, from, until), (2, 1, 9));
    assert_eq!(notes, ["3 lines of 2 other hosts (db2, web1) left out"]);
    assert_eq!(
        single_note(&log, Some("web1")),
        (1, "4 lines of 2 other hosts (db1, db2) left out".to_owned())
    );
    let log = of_hours(&[(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "e"), (5, "a")]);
    assert_eq!(
        single_note(&log, Some("a")),
        (
            2,
            "4 lines of 4 other hosts (b, c, d and others) left out".to_owned()
        )
    );
}

#[test]
fn a_name_with_and_without_its_domain_is_one_host() {
    let log = of_hours(&[(0, "db1"), (1, "DB1.example.org"), (2, "db2"), (3, "db1")]);
    for own in ["db1", "Db1", "db1.example.org", "DB1.EXAMPLE.ORG"] {
        let (count, note) = single_note(&log, Some(own));
        assert_eq!(count, 3, "{own}");
        assert_eq!(note, "1 line of another host (db2) left out");
    }
    // No other host has this name.
    let log = of_hours(&[(0, "db1"), (1, "db1.example.org")]);
    assert_eq!(alone(&log, Some("db1")), 2);
    assert_eq!(alone(&log, None), 2);
    // Two domains are two hosts; the short name belongs to the one known by it.
    let log = of_hours(&[
        (0, "db1.a.org"),
        (1, "db1.b.org"),
        (2, "db1"),
        (3, "db1.a.org"),
    ]);
    assert_eq!(single_note(&log, Some("db1")).0, 1);
    assert_eq!(single_note(&log, Some("db1.b.org")).0, 1);
    let log = of_hours(&[(0, "db1"), (1, "db1.b.org"), (2, "db1"), (3, "db1.b.org")]);
    assert_eq!(single_note(&log, Some("db1.a.org")).0, 2);
    // It is not known which of the two is called db1.
    let log = of_hours(&[(0, "db1.a.org"), (1, "db1.b.org"), (2, "db1.a.org")]);
    assert_eq!(left(&log, Some("db1")), None);
    // Addresses have no domain to strip.
    let log = of_hours(&[(0, "10.0.0.1"), (1, "10.0.0.2"), (2, "10.0.0.1")]);
    assert_eq!(single_note(&log, Some("10.0.0.1")).0, 2);
    assert_eq!(left(&log, Some("10")), None);
}

#[test]
fn a_host_that_was_renamed_keeps_its_lines() {
    // It was called old-1 until the fifth hour, and collects the lines of web1 all the time.
    let log = of_hours(&[
        (0, "old-1"),
        (1, "web1"),
        (4, "old-1"),
        (5, "db1"),
        (6, "web1"),
        (9, "db1"),
    ]);
    let (count, from, until, notes) = left(&log, Some("db1")).expect("lines are left");
    assert_eq!((count, from, until), (4, 0, 9));
    assert_eq!(
        notes,
        [
            "2 lines of another name (old-1) taken for this host's",
            "2 lines of another host (web1) left out"
        ]
    );
    // Renamed twice.
    let twice = of_hours(&[(0, "a"), (3, "a"), (4, "b"), (8, "b"), (9, "c"), (12, "c")]);
    assert_eq!(
        single_note(&twice, Some("c")),
        (
            6,
            "4 lines of 2 other names (a, b) taken for this host's".to_owned()
        )
    );
    // Two hosts fell silent before the name appeared: it is not known which of them it was.
    let two = of_hours(&[(0, "a"), (1, "b"), (3, "a"), (4, "b"), (5, "c"), (9, "c")]);
    assert_eq!(
        single_note(&two, Some("c")),
        (2, "4 lines of 2 other hosts (a, b) left out".to_owned())
    );
    // A host that wrote a line before this host's first one is another host.
    let first = of_hours(&[(0, "web1"), (1, "db1"), (9, "db1")]);
    assert_eq!(single_note(&first, Some("db1")).0, 2);
    // A host that appears afterwards is another host.
    let after = of_hours(&[(0, "db1"), (9, "db1"), (10, "web1"), (20, "web1")]);
    assert_eq!(single_note(&after, Some("db1")).0, 2);
}

#[test]
fn own_name_missing_from_all_lines() {
    // The only host must be this one.
    let single = of_hours(&[(0, "es2"), (1, "es2")]);
    assert_eq!(
        single_note(&single, Some("host0")),
        (
            2,
            "2 lines of another name (es2) taken for this host's".to_owned()
        )
    );
    assert_eq!(alone(&single, None), 2);
    // One after another.
    let chain = of_hours(&[(0, "a"), (1, "a"), (2, "b"), (3, "b")]);
    assert_eq!(
        single_note(&chain, None),
        (
            4,
            "2 lines of another name (a) taken for this host's".to_owned()
        )
    );
    // Two at a time.
    let mixed = of_hours(&[(0, "a"), (1, "b"), (2, "a")]);
    for own in [None, Some("host0")] {
        assert_eq!(left(&mixed, own), None);
        assert_eq!(
            HostIdentity::of(std::slice::from_ref(&mixed), own),
            HostIdentity::Unknown {
                some: vec!["a".to_owned(), "b".to_owned()],
                count: 2
            }
        );
    }
}

#[test]
fn all_logs_of_a_host_decide_together() {
    // The older log has only the old name, and the other log shows whose it was.
    let logs = [
        of_hours(&[(0, "old-1"), (5, "old-1")]),
        of_hours(&[(3, "web1"), (6, "db1"), (9, "web1")]),
    ];
    let identity = HostIdentity::of(&logs, Some("db1"));
    let counts = logs.map(|log| log.restrict_to(&identity).map(|log| log.count()));
    assert_eq!(counts, [Some(2), Some(1)]);
    // A log that only has lines of other hosts.
    let logs = [
        of_hours(&[(0, "web1"), (9, "web1")]),
        of_hours(&[(3, "db1"), (6, "db1")]),
    ];
    let identity = HostIdentity::of(&logs, Some("db1"));
    let counts = logs.map(|log| log.restrict_to(&identity).map(|log| log.count()));
    assert_eq!(counts, [None, Some(2)]);
}

#[test]
fn lines_without_a_host_belong_to_every_host() {
    let text = "2024-06-01T00:00:00Z localhost kernel: Linux version 6.1\n\
                2024-06-01T01:00:00Z db1 CRON[1]: (root) CMD (backup)\n\
                2024-06-01T02:00:00Z web1 CRON[1]: (root) CMD (backup)\n\
                <78>1 2024-06-01T03:00:00Z - CRON 811 - - (root) CMD (backup)\n\
                Jun  1 06:00:00 sshd[7]: Failed: none\n\
                2024-06-01T05:00:00Z db1 CRON[1]: (root) CMD (backup)\n";
    let log = read(text, "2024-07-01T00:00:00Z");
    let (count, from, until, notes) = left(&log, Some("db1")).expect("lines are left");
    assert_eq!((count, from, until), (3, 0, 5));
    assert_eq!(notes, ["1 line of another host (web1) left out"]);
    for (field, name) in [
        ("db1", Some("db1")),
        ("db1.example.org.", Some("db1.example.org")),
        ("src@db1/10.0.0.9", Some("db1")),
        ("fe80::1", Some("fe80::1")),
        ("10.0.0.7", Some("10.0.0.7")),
        ("localhost", None),
        ("LocalHost.localdomain", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("(none)", None),
        ("-", None),
        ("", None),
        ("sshd[7]:", None),
        ("kernel:", None),
        ("\u{1b}[31m", None),
    ] {
        assert_eq!(host_name(field), name, "{field}");
    }
}

#[test]
fn runs_are_paired_per_host() {
    let text = "2024-06-01T00:00:00Z a systemd[1]: Starting x.service - X\n\
                2024-06-01T00:01:00Z b systemd[1]: Starting x.service - X\n\
                2024-06-01T00:05:00Z b systemd[1]: x.service: Succeeded.\n\
                2024-06-01T00:09:00Z a systemd[1]: x.service: Succeeded.\n";
    let log = read(text, "2024-07-01T00:00:00Z");
    let mut job = fstrim_timer();
    if let Some(timer) = &mut job.timer {
        timer.activates = "x.service".to_owned();
    }
    for (own, len_s) in [("a", 540.0), ("b", 240.0)] {
        let identity = HostIdentity::of(std::slice::from_ref(&log), Some(own));
        let log = log.clone().restrict_to(&identity).expect("lines are left");
        let lens: Vec<Option<f64>> = seen(&log, &job).iter().map(|run| run.1).collect();
        assert_eq!(lens, [Some(len_s)], "{own}");
    }
}

#[test]
fn boots_of_other_hosts_are_ignored() {
    let text = "2024-06-01T00:00:00Z db1 x[1]: y\n\
                2024-06-01T08:00:00Z web1 x[1]: y\n\
                2024-06-01T09:00:00Z db1 kernel: Linux version 6.1\n\
                2024-06-01T10:00:00Z web1 kernel: Linux version 6.1\n\
                2024-06-01T11:00:00Z db1 x[1]: y\n";
    let log = read(text, "2024-07-01T00:00:00Z");
    let identity = HostIdentity::of(std::slice::from_ref(&log), Some("db1"));
    let log = log.restrict_to(&identity).expect("lines are left");
    let spans: Vec<_> = log.uptimes.iter().map(|up| (up.from, up.until)).collect();
    assert_eq!(
        spans,
        [
            (Timestamp::MIN, Some(at("2024-06-01T00:00:00Z"))),
            (at("2024-06-01T09:00:00Z"), None)
        ]
    );
}

#[test]
fn entries_of_a_gathered_journal_have_their_hosts() {
    let entry = |second: i64, host: &str| {
        format!(
            "{{\"__REALTIME_TIMESTAMP\":\"{second}000000\",\"_HOSTNAME\":\"{host}\",\
             \"SYSLOG_IDENTIFIER\":\"CRON\",\"MESSAGE\":\"(root) CMD (backup)\"}}\n"
        )
    };
    let text = entry(1_717_380_000, "db1") + &entry(1_717_380_001, "web1");
    let text = text + &entry(1_717_390_000, "db1");
    let log = read(&text, "2024-07-01T00:00:00Z");
    assert_eq!(log.seen, Seen::Journal);
    assert_eq!(single_note(&log, Some("db1")).0, 2);
}

#[test]
fn the_runs_of_another_host_leave_those_of_this_one() {
    // db1 only logs the start of the directory, web1 logs the script; db1's log also has the end of
    // one.
    let mut job = weekly_script("logrotate");
    job.name = "cron.daily/logrotate".to_owned();
    job.defined_in = "etc/cron.daily/logrotate".to_owned();
    let text = "2024-06-03T06:25:01Z db1 CRON[1]: (root) CMD (run-parts /etc/cron.daily)\n\
                2024-06-03T06:30:01Z web1 run-parts[2]: (/etc/cron.daily) starting logrotate\n\
                2024-06-04T03:00:00Z db1 run-parts[3]: (/etc/cron.daily) finished logrotate\n\
                2024-06-04T06:25:01Z db1 CRON[4]: (root) CMD (run-parts /etc/cron.daily)\n\
                2024-06-04T06:30:01Z web1 run-parts[5]: (/etc/cron.daily) starting logrotate\n";
    let log = read(text, "2024-07-01T00:00:00Z");
    let starts = |own: &str| -> Vec<String> {
        let identity = HostIdentity::of(std::slice::from_ref(&log), Some(own));
        let log = log.clone().restrict_to(&identity).expect("lines are left");
        seen(&log, &job).into_iter().map(|run| run.0).collect()
    };
    assert_eq!(
        starts("db1"),
        ["2024-06-03T06:25:01Z", "2024-06-04T06:25:01Z"]
    );
    assert_eq!(
        starts("web1"),
        ["2024-06-03T06:30:01Z", "2024-06-04T06:30:01Z"]
    );
}

#[test]
fn a_host_called_localhost_gets_no_lines_of_other_hosts() {
    let log = of_hours(&[(0, "localhost"), (1, "web1"), (4, "web1"), (5, "localhost")]);
    for own in ["localhost.localdomain", "LOCALHOST", "127.0.0.1"] {
        let (count, from, until, notes) = left(&log, Some(own)).expect("lines are left");
        assert_eq!((count, from, until), (2, 0, 5), "{own}");
        assert_eq!(notes, ["2 lines of another host (web1) left out"], "{own}");
    }
    // With several other hosts as with one.
    let log = of_hours(&[(0, "localhost"), (1, "a"), (2, "b"), (3, "a"), (4, "-")]);
    assert_eq!(single_note(&log, Some("localhost")).0, 2);
    // It got its name from the network after it had started to write.
    let log = of_hours(&[(0, "localhost"), (1, "localhost"), (2, "db1"), (9, "db1")]);
    assert_eq!(single_note(&log, Some("localhost")).0, 4);
    // This does not apply to a host with a name of its own.
    let log = of_hours(&[(0, "localhost"), (1, "web1"), (4, "web1"), (5, "localhost")]);
    assert_eq!(single_note(&log, Some("host0")).0, 4);
}
