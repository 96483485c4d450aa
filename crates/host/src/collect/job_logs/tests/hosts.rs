//! Logs with the lines of several hosts, and duplicate rotations.

use super::*;

/// A line of the given host.
fn line_of(day: u32, host: &str) -> String {
    line(day).replace(" h CRON", &format!(" {host} CRON"))
}

#[test]
fn lines_of_other_hosts_are_ignored() {
    let central = || {
        Fake::new()
            .file(
                "syslog",
                20,
                line_of(18, "web1") + &line_of(19, "db1") + &line_of(20, "web1"),
            )
            .file(
                "syslog.1",
                16,
                line_of(9, "db1.example.org") + &line_of(12, "web2") + &line_of(16, "web1"),
            )
            .file("cron", 20, line_of(18, "web1") + &line_of(20, "web1"))
    };
    let mut of_db1 = found(central());
    of_db1.host_name = Some("db1".to_owned());
    let mut skipped = Vec::new();
    let logs = of_host(&of_db1, november(), &TimeZone::UTC, &mut skipped);
    assert_eq!(logs.len(), 1);
    let days = |at: Timestamp| at.strftime("%d").to_string();
    assert_eq!(
        (
            logs[0].count(),
            days(logs[0].from),
            days(logs[0].until),
            &logs[0].notes
        ),
        (
            2,
            "09".to_owned(),
            "19".to_owned(),
            &vec!["4 lines of 2 other hosts (web1, web2) left out".to_owned()]
        )
    );
    let told: Vec<String> = skipped
        .iter()
        .map(|one| format!("{}: {}", one.what, one.why))
        .collect();
    assert_eq!(told, ["var/log/cron: all of its lines are of other hosts"]);
    assert!(skipped[0].needs.is_some());
    // If all lines are from other hosts, the journal is queried, and the report says that it is
    // empty.
    let mut of_db9 = found(
        Fake::new()
            .file(
                "syslog",
                20,
                line_of(18, "web1") + &line_of(19, "web2") + &line_of(20, "web1"),
            )
            .journal(Ok("-- No entries --\n")),
    );
    of_db9.host_name = Some("db9".to_owned());
    let mut skipped = Vec::new();
    let logs = of_host(&of_db9, november(), &TimeZone::UTC, &mut skipped);
    assert!(logs.is_empty(), "{logs:?}");
    let told: Vec<&str> = skipped.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(told, ["var/log/syslog", "systemd's journal"]);
    assert!(skipped[1].why.ends_with("runs are computed"), "{skipped:?}");
    // If the host's name is unknown, none of the lines is attributed to it.
    let (logs, skipped) = read(central());
    assert!(logs.is_empty(), "{logs:?}");
    let why = "lines of 3 hosts at a time (db1.example.org, web1, web2), and which of them has the \
               jobs is not known: none is used";
    assert_eq!(
        skipped,
        [
            format!("var/log/cron: {why}"),
            format!("var/log/syslog: {why}"),
            "systemd's journal: neither it nor a file of syslog that tells of this host is there: runs \
             are computed"
                .to_owned()
        ]
    );
}

#[test]
fn a_duplicate_rotation_counts_once() {
    let twice = |name: &'static str, written: i64, bytes: &[u8]| {
        let (logs, skipped) = read(
            Fake::new()
                .file("syslog", 20, line(18) + &line(19))
                .file("syslog.1", 16, line(2) + &line(3))
                .file(name, written, bytes),
        );
        assert!(skipped.is_empty(), "{skipped:?}");
        logs
    };
    // Only the run of November 2, and everything in the current file.
    assert_eq!(
        twice("syslog.1.gz", 16, PACKED),
        ["var/log/syslog 02-19 4 of 3"]
    );
    let copy = line(18) + &line(19);
    assert_eq!(
        twice("syslog-20261120", 20, copy.as_bytes()),
        ["var/log/syslog 02-19 4 of 3"]
    );
    // A file name that logrotate does not produce is ignored.
    assert_eq!(
        twice("syslog.old", 20, copy.as_bytes()),
        ["var/log/syslog 02-19 4 of 2"]
    );
    // In contrast, duplicate lines within one file count twice.
    let (logs, _) = read(Fake::new().file("syslog", 20, line(18) + &line(18)).file(
        "syslog.1",
        19,
        line(18),
    ));
    assert_eq!(logs, ["var/log/syslog 18-18 2 of 2"]);
}
