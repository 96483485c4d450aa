use super::*;
use crate::parse_zone;
use facts::host::Calendars;

fn line(period: &str, start_hours: Option<(u8, u8)>) -> Line<'_> {
    Line {
        period,
        delay_min: 10,
        random_delay_min: 0,
        start_hours,
        started_by: &[],
        identifier: "cron.weekly",
        source: "etc/anacrontab:12",
    }
}

fn windows(line: &Line<'_>, last_run: Option<&str>, from: &str, count: usize) -> Vec<String> {
    let zone = parse_zone("Europe/Berlin").expect("known");
    let at = |text: &str| text.parse::<Timestamp>().expect("a timestamp");
    let found = line
        .windows(
            last_run.map(at),
            at(from).as_microsecond(),
            &Conditions::in_zone(&zone),
        )
        .expect("readable");
    let Ok(found) = found else {
        return vec!["never".to_owned()];
    };
    found
        .filter(|window| window.latest_us >= at(from).as_microsecond())
        .take(count)
        .map(|window| {
            let text = |us| {
                Timestamp::from_microsecond(us)
                    .expect("in range")
                    .to_zoned(zone.clone())
            };
            format!(
                "{} {}",
                text(window.earliest_us).strftime("%a %F %H:%M"),
                text(window.latest_us).strftime("%H:%M")
            )
        })
        .collect()
}

#[test]
fn weekly_counts_from_the_last_run() {
    // Last run on Wednesday 2024-06-05; delay 10: 07:30 + 10 to 07:36 + 10.
    let weekly = line("7", None);
    let expected = ["Wed 2024-06-12 07:40 07:46", "Wed 2024-06-19 07:40 07:46"];
    assert_eq!(
        windows(
            &weekly,
            Some("2024-06-05T05:41:00Z"),
            "2024-06-06T00:00:00Z",
            2
        ),
        expected
    );
    assert_eq!(
        windows(
            &line("@weekly", None),
            Some("2024-06-05T05:41:00Z"),
            "2024-06-06T00:00:00Z",
            2
        ),
        expected
    );
    // Weeks before and long after the last run keep its weekday.
    assert_eq!(
        windows(
            &weekly,
            Some("2024-06-05T05:41:00Z"),
            "2024-05-01T12:00:00Z",
            1
        ),
        ["Wed 2024-05-08 07:40 07:46"]
    );
    // The stamp is a local date: 23:30 on the 5th in Berlin is 21:30 UTC.
    assert_eq!(
        windows(
            &weekly,
            Some("2024-06-05T21:30:00Z"),
            "2024-06-06T00:00:00Z",
            1
        ),
        ["Wed 2024-06-12 07:40 07:46"]
    );
    // Winter time: the wall-clock time stays the same.
    assert_eq!(
        windows(
            &weekly,
            Some("2024-10-23T05:41:00Z"),
            "2024-10-24T00:00:00Z",
            1
        ),
        ["Wed 2024-10-30 07:40 07:46"]
    );
}

#[test]
fn daily_needs_no_last_run() {
    assert_eq!(
        windows(&line("1", None), None, "2024-06-06T00:00:00Z", 2),
        ["Thu 2024-06-06 07:40 07:46", "Fri 2024-06-07 07:40 07:46"]
    );
    let zone = parse_zone("UTC").expect("known");
    let reason = line("7", None)
        .windows(None, 0, &Conditions::in_zone(&zone))
        .expect("readable")
        .err();
    assert!(reason.expect("unknown").contains("last run is not known"));
    let reason = line("0", None)
        .windows(None, 0, &Conditions::in_zone(&zone))
        .expect("readable")
        .err();
    assert!(
        reason
            .expect("unknown")
            .contains("whenever anacron is started")
    );
}

#[test]
fn months_follow_anacron() {
    // 31 January: 28 days later it is 28 February, which has 28 days. From there, 28 days (the
    // length of February) lead to 28 March, and 30 days (the length of April) to 27 April.
    assert_eq!(
        windows(
            &line("@monthly", None),
            Some("2023-01-31T08:00:00Z"),
            "2023-02-01T00:00:00Z",
            3
        ),
        [
            "Tue 2023-02-28 07:40 07:46",
            "Tue 2023-03-28 07:40 07:46",
            "Thu 2023-04-27 07:40 07:46"
        ]
    );
    assert_eq!(
        windows(
            &line("@yearly", None),
            Some("2023-03-01T08:00:00Z"),
            "2023-03-02T00:00:00Z",
            1
        ),
        ["Thu 2024-02-29 07:40 07:46"],
        "365 days, as many as 2023 had"
    );
}

#[test]
fn cronie_respects_start_hours() {
    // RHEL: START_HOURS_RANGE=3-22, RANDOM_DELAY=45. Daily, delay 5: 02:01 + 50 minutes is
    // before 3:00, so anacron starts it at 03:01: 03:06 to 03:51.
    let first = |line: &Line<'_>| windows(line, None, "2024-06-06T00:00:00Z", 1);
    let mut rhel = line("1", Some((3, 22)));
    (rhel.delay_min, rhel.random_delay_min) = (5, 45);
    assert_eq!(first(&rhel), ["Thu 2024-06-06 03:06 03:51"]);
    // Delay 25: 02:01 + 70 minutes is 03:11, so it may start as early as 03:00; if not, 03:01 +
    // 25 to 70 minutes: 04:11 at the latest.
    rhel.delay_min = 25;
    assert_eq!(first(&rhel), ["Thu 2024-06-06 03:00 04:11"]);
    // The allowed range ends before the delay elapses.
    let never = |line: &Line<'_>| {
        let conditions = Conditions::in_zone(&parse_zone("UTC").expect("known"));
        let found = line.windows(None, 0, &conditions).expect("readable");
        found.err().expect("no time is left")
    };
    rhel.start_hours = Some((3, 3));
    assert!(never(&rhel).contains("no time on any day"));
    rhel.start_hours = None;
    rhel.delay_min = u32::MAX;
    assert!(never(&rhel).contains("no time on any day"));
}

#[test]
fn the_hosts_own_timer_or_line_starts_anacron() {
    let timer = |expression: &str| {
        [Trigger::Calendar(Calendars {
            expressions: vec![expression.to_owned()],
            randomized_delay_s: Some(300.0),
            persistent: true,
            source: "lib/systemd/system/anacron.timer".to_owned(),
            ..Calendars::default()
        })]
    };
    let first = |by: &[Trigger], start_hours| {
        let mut daily = line("1", start_hours);
        (daily.delay_min, daily.started_by) = (5, by);
        (
            windows(&daily, None, "2024-06-06T00:00:00Z", 1).join(""),
            daily.evidence(),
        )
    };
    // Ubuntu: hourly, 5 min of random delay, the default accuracy of 1 min, the line's 5 min.
    let (window, evidence) = first(&timer("hourly"), None);
    assert_eq!(window, "Fri 2024-06-07 00:05 00:11");
    assert!(
        evidence.contains("by lib/systemd/system/anacron.timer (OnCalendar=hourly)"),
        "{evidence}"
    );
    // Debian 12.
    let (window, _) = first(&timer("*-*-* 07..23:30"), None);
    assert_eq!(window, "Thu 2024-06-06 07:35 07:41");
    // A timer that is not started on Thursdays.
    let (window, _) = first(&timer("Fri *-*-* 09:00"), None);
    assert_eq!(window, "Fri 2024-06-07 09:05 09:11");
    let (window, _) = first(&timer("2020-01-01 09:00"), None);
    assert_eq!(window, "never");
    // Debian without systemd: /etc/cron.d/anacron; a change of it by the administrator; RHEL's
    // /etc/cron.d/0hourly within the hours allowed.
    let cron = |spec: &str| {
        [Trigger::Cron {
            spec: spec.to_owned(),
            time_zone: None,
            source: "etc/cron.d/anacron:6".to_owned(),
        }]
    };
    let (window, evidence) = first(&cron("30 7-23 * * *"), None);
    assert_eq!(window, "Thu 2024-06-06 07:35 07:35");
    assert!(
        evidence.contains("by etc/cron.d/anacron:6 (30 7-23 * * *)"),
        "{evidence}"
    );
    let (window, _) = first(&cron("0 4 * * *"), None);
    assert_eq!(window, "Thu 2024-06-06 04:05 04:05");
    let (window, _) = first(&cron("17 * * * *"), Some((3, 22)));
    assert_eq!(window, "Thu 2024-06-06 03:22 03:22");
}

#[test]
fn periods() {
    assert_eq!(period_text_s("7"), Some(604_800.0));
    assert_eq!(period_text_s("@daily"), Some(86_400.0));
    assert_eq!(period_text_s("@monthly"), Some(2_629_746.0));
    for text in ["", "0", "-1", "+1", "weekly", "@hourly", "99999999999"] {
        assert_eq!(period_text_s(text), None, "{text}");
    }
    let zone = parse_zone("UTC").expect("known");
    let Err(error) = line("weekly", None).windows(None, 0, &Conditions::in_zone(&zone)) else {
        panic!("`weekly` without @ is no period");
    };
    assert!(
        error
            .to_string()
            .starts_with("etc/anacrontab:12: expected a period in days")
    );
}
