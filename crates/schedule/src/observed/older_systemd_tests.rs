//! Lines of systemd before version 250, which describe units instead of naming them.

use super::*;

/// Ubuntu 20.04 (systemd 245).
const UBUNTU_20: &str = "\
Jun  3 00:00:00 db1 systemd[1]: Starting Discard unused blocks on filesystems from /etc/fstab...
Jun  3 00:00:00 db1 systemd[1]: Starting Rotate log files...
Jun  3 00:00:00 db1 systemd[1]: Starting Daily man-db regeneration...
Jun  3 00:00:01 db1 systemd[1]: logrotate.service: Succeeded.
Jun  3 00:00:01 db1 systemd[1]: Finished Rotate log files.
Jun  3 00:00:07 db1 fstrim[812]: /srv: 40 GiB (42949672960 bytes) trimmed on /dev/sdb1
Jun  3 00:01:40 db1 fstrim[812]: /: 2.1 GiB (2254857830 bytes) trimmed on /dev/sda2
Jun  3 00:01:40 db1 systemd[1]: fstrim.service: Succeeded.
Jun  3 00:01:40 db1 systemd[1]: Finished Discard unused blocks on filesystems from /etc/fstab.
Jun  5 12:00:00 db1 systemd[1]: Started Discard unused blocks once a week.
Jun  5 12:00:00 db1 systemd[1]: Started Daily apt download activities.
Jun 10 00:00:12 db1 systemd[1]: Starting Discard unused blocks on filesystems from /etc/fstab...
Jun 10 00:00:14 db1 systemd[1]: fstrim.service: Main process exited, code=exited, status=64/USAGE
Jun 10 00:00:14 db1 systemd[1]: fstrim.service: Failed with result 'exit-code'.
Jun 10 00:00:14 db1 systemd[1]: Failed to start Discard unused blocks on filesystems from /etc/fstab.
";

fn of(service: &str) -> Job {
    let mut job = fstrim_timer();
    if let Some(timer) = &mut job.timer {
        timer.activates = service.to_owned();
    }
    job
}

#[test]
fn well_known_descriptions_give_exact_starts() {
    // 00:00:00 in Berlin is 22:00:00 UTC the day before.
    let log = read(UBUNTU_20, "2024-06-11T00:00:00Z");
    let expected = [
        ("2024-06-02T22:00:00Z".to_owned(), Some(100.0)),
        ("2024-06-09T22:00:12Z".to_owned(), Some(2.0)),
    ];
    assert_eq!(seen(&log, &fstrim_timer()), expected);
    assert_eq!(
        &*log.sightings(&fstrim_timer())[0].run("x").evidence,
        "log:1: systemd started fstrim.service"
    );
    assert_eq!(
        seen(&log, &of("logrotate.service")),
        [("2024-06-02T22:00:00Z".to_owned(), Some(1.0))]
    );
    // It does not end in this log. A timer of the same description that is started is no run.
    assert_eq!(
        seen(&log, &of("man-db.service")),
        [("2024-06-02T22:00:00Z".to_owned(), None)]
    );
    assert_eq!(seen(&log, &of("apt-daily.service")), []);
}

/// Ubuntu 18.04 and RHEL 7 (systemd 237, 219) do not name the unit at all; RHEL 8 (239) does.
#[test]
fn a_oneshot_has_ended_when_it_has_started() {
    for succeeded in [
        "",
        "Jun  3 00:00:42 h systemd[1]: fstrim.service: Succeeded.\n",
    ] {
        let text = format!(
            "Jun  3 00:00:01 h systemd[1]: Starting Discard unused blocks...\n{succeeded}\
             Jun  3 00:00:42 h systemd[1]: Started Discard unused blocks.\n"
        );
        let log = read(&text, "2024-06-11T00:00:00Z");
        assert_eq!(
            seen(&log, &fstrim_timer()),
            [("2024-06-02T22:00:01Z".to_owned(), Some(41.0))],
            "{text}"
        );
    }
}

#[test]
fn other_descriptions_are_named_by_the_line_before_their_end() {
    let text = "\
Jun  3 02:00:00 db1 systemd[1]: Starting Nightly backup of hunter2...
Jun  3 02:00:00 db2 systemd[1]: Starting Nightly backup of hunter2...
Jun  3 02:00:05 db1 systemd[1]: Starting Something that never ends...
Jun  3 02:30:00 db1 systemd[1]: backup.service: Succeeded.
Jun  3 02:30:00 db2 systemd[1]: Started Session 7 of user root.
Jun  3 02:30:00 db1 systemd[1]: Started Nightly backup of hunter2.
Jun  4 02:00:02 db1 systemd[1]: Starting Nightly backup of hunter2...
";
    let log = read(text, "2024-06-11T00:00:00Z");
    assert_eq!(
        seen(&log, &of("backup.service")),
        [
            ("2024-06-03T00:00:00Z".to_owned(), Some(1_800.0)),
            ("2024-06-03T00:00:00Z".to_owned(), None),
            ("2024-06-04T00:00:02Z".to_owned(), None),
        ]
    );
    assert_eq!(log.events().len(), 1, "what has no name is left out");
    assert!(!format!("{log:?}").contains("hunter2"));
}

#[test]
fn a_description_that_seems_to_be_of_two_units_is_of_neither() {
    let text = "\
Jun  3 02:00:00 h systemd[1]: Starting Backup...
Jun  3 02:30:00 h systemd[1]: a.service: Succeeded.
Jun  3 02:30:00 h systemd[1]: Started Backup.
Jun  4 02:00:00 h systemd[1]: Starting Backup...
Jun  4 02:30:00 h systemd[1]: b.service: Succeeded.
Jun  4 02:30:00 h systemd[1]: Started Backup.
";
    let log = read(text, "2024-06-11T00:00:00Z");
    assert_eq!(log.count(), 0);
}
