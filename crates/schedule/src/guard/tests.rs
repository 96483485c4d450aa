use super::*;
use crate::{Forecast, Log, known_runs, parse_zone, runs};
use facts::host::{Calendars, ClockSum, JobCommand, SumOperator, Trigger};
use host::parse::crontab_jobs::from_crontab;
use host::parse::shell::script::commands;
use jiff::Timestamp;
use proptest::prelude::*;

fn berlin() -> Conditions {
    Conditions::in_zone(&parse_zone("Europe/Berlin").expect("known"))
}

fn job(line: &str) -> Job {
    let mut jobs = from_crontab("etc/cron.d/x", &format!("{line}\n")).expect(line);
    jobs.swap_remove(0)
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

/// Returns the runs of a line from 1 January 2024 until before a date.
fn found(line: &str, until: &str) -> Forecast {
    let until = at(&format!("{until}T00:00:00+01:00"));
    let from = at("2024-01-01T00:00:00+01:00");
    runs(&job(line), from, until, &berlin()).expect(line)
}

fn days(forecast: &Forecast) -> String {
    let zone = berlin().zone;
    let day = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%m-%d").to_string();
    let days: Vec<String> = forecast.runs.iter().map(|run| day(run.earliest)).collect();
    days.join(" ")
}

const ODD_SUNDAYS: &str = "01-07 01-21 02-04 02-18 03-03 03-17 03-31";
const SECOND_FRIDAYS: &str = "01-12 02-09 03-08";

/// Lines, with the days from 1 January 2024 until before a date on which bash and GNU's date, given
/// these times, run the command.
const LINES: &[(&str, &str, &str)] = &[
    // Debian's mdadm, and an older one.
    (
        r"57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi",
        "2025-01-01",
        "01-07 02-04 03-03 04-07 05-05 06-02 07-07 08-04 09-01 10-06 11-03 12-01",
    ),
    (
        r"6 1 * * 0 root [ -x /usr/share/mdadm/checkarray ] && [ $(date +\%d) -le 7 ] && /usr/share/mdadm/checkarray --cron --all --quiet",
        "2024-04-01",
        "01-07 02-04 03-03",
    ),
    // Debian's zfsutils-linux: the second Sunday.
    (
        r"24 0 8-14 * * root if [ $(date +\%w) -eq 0 ] && [ -x /usr/lib/zfs-linux/scrub ]; then /usr/lib/zfs-linux/scrub; fi",
        "2024-04-01",
        "01-14 02-11 03-10",
    ),
    // Every other week.
    (
        r"0 6 * * Tue root expr `date +\%s` / 604800 \% 2 >/dev/null || /scripts/fortnightly.sh",
        "2024-04-01",
        "01-09 01-23 02-06 02-20 03-05 03-19",
    ),
    (
        r"0 6 * * Tue root expr \( `date +\%s` + 302400 \) / 604800 \% 2 >/dev/null || /x",
        "2024-04-01",
        "01-02 01-16 01-30 02-13 02-27 03-12 03-26",
    ),
    (
        r"0 14 * * 6 root [ $(($(date +\%s) / 604800 \% 2)) -eq 0 ] && /x",
        "2024-04-01",
        "01-06 01-20 02-03 02-17 03-02 03-16 03-30",
    ),
    (
        r"0 3 * * 0 root [ $(( ($(date +\%s) - 1704585600) / 604800 \% 2 )) -eq 0 ] && /x",
        "2024-04-01",
        ODD_SUNDAYS,
    ),
    (
        r"0 3 * * 0 root [ $(expr $(date +\%s) / 604800 \% 2) -eq 0 ] && /x",
        "2024-04-01",
        ODD_SUNDAYS,
    ),
    (
        r"0 3 * * 0 root test $((10#$(date +\%V) \% 2)) -eq 1 && /x",
        "2024-04-01",
        ODD_SUNDAYS,
    ),
    // Week 08 is no number to the shell: it does not run on 25 February either.
    (
        r"0 3 * * 0 root [ $(( $(date +\%V) \% 2 )) -eq 0 ] && /x",
        "2024-04-01",
        "01-14 01-28 02-11 03-10 03-24",
    ),
    (
        r"0 3 * * 0 root (( 10#$(date +\%W) \% 2 )) || /x",
        "2024-04-01",
        "01-14 01-28 02-11 02-25 03-10 03-24",
    ),
    (
        r"0 3 * * 0 root expr `date +\%W` \% 2 > /dev/null || /x",
        "2024-04-01",
        "01-14 01-28 02-11 02-25 03-10 03-24",
    ),
    // Days of the week and of the month.
    (
        r#"45 11 * * * root test "$(date +\%u)" -ne 3 && cd /srv && /srv/run_job.sh"#,
        "2024-01-12",
        "01-01 01-02 01-04 01-05 01-06 01-07 01-08 01-09 01-11",
    ),
    (
        r#"0 10 1-7 * * root [ "$(date '+\%a')" = "Sun" ] && /x"#,
        "2024-03-01",
        "01-07 02-04",
    ),
    (
        r#"0 23 28-31 * * root [ "$(/bin/date +\%d -d tomorrow)" = "01" ] && /x"#,
        "2024-06-02",
        "01-31 02-29 03-31 04-30 05-31",
    ),
    (
        r"0 22 * * 5 root [ $(date -d +7days +\%m) != $(date +\%m) ] && /x",
        "2024-06-02",
        "01-26 02-23 03-29 04-26 05-31",
    ),
    (
        r"0 22 * * 5 root [ $(date +\%d) -ge 8 -a $(date +\%d) -le 14 ] && /x",
        "2024-04-01",
        SECOND_FRIDAYS,
    ),
    (
        r"0 22 * * 5 root [ \( $(date +\%d) -gt 7 \) -a ! $(date +\%d) -gt 14 ] && /x",
        "2024-04-01",
        SECOND_FRIDAYS,
    ),
    // Numbers in `[[ ]]` are those of arithmetic: 08 and 09 are none.
    (
        r"0 22 * * 5 root [[ $(date +\%d) -gt 7 && $(date +\%d) -le 14 ]] && /x",
        "2024-06-02",
        "01-12 04-12 05-10",
    ),
    (
        r"0 22 * * 5 root test $(date +\%d) -gt 7 || /x",
        "2024-04-01",
        "01-05 02-02 03-01",
    ),
    (
        r"0 22 * * 5 root DAY=$(date +\%e); if [ $DAY -gt 7 ]; then exit 0; fi; /x",
        "2024-04-01",
        "01-05 02-02 03-01",
    ),
    (
        r#"0 22 * * * root [ "$(date +\%a)" = Sun ] || [ `date +\%w` -eq 3 ] && /x"#,
        "2024-01-15",
        "01-03 01-07 01-10 01-14",
    ),
    (
        r"0 22 * * * root [[ $(date +\%u) == 7 || $(date +\%u) == 3 ]] && /x",
        "2024-01-15",
        "01-03 01-07 01-10 01-14",
    ),
    (
        r"0 22 * * * root [ $(( $(date +\%j) \% 3 )) -eq 0 ] && /x",
        "2024-01-15",
        "01-03 01-06 01-11 01-14",
    ),
    (
        r"0 22 * * * root ! [ $(date +\%-j) -lt 12 ] && /x",
        "2024-01-15",
        "01-12 01-13 01-14",
    ),
    (
        r"0 22 * * * root [ $(date +\%m\%d) = 0229 ] && /x",
        "2024-07-15",
        "02-29",
    ),
    (
        r#"0 22 * * * root [ "x$(date +\%w)" = x0 ] && /x"#,
        "2024-01-15",
        "01-07 01-14",
    ),
    (
        r"0 22 * * * root sh -c '[ $(date +\%u) -gt 5 ] && exit 0; /x'",
        "2024-01-10",
        "01-01 01-02 01-03 01-04 01-05 01-08 01-09",
    ),
    // Both branches, of which one always runs.
    (
        r"0 22 * * * root if [ $(date +\%u) -eq 7 ]; then /full; else /partial; fi",
        "2024-01-04",
        "01-01 01-02 01-03",
    ),
    (
        r"0 22 * * * root if [ $(date +\%u) -eq 7 ]; then /a; elif [ $(date +\%u) = 3 ]; then /b; fi",
        "2024-01-15",
        "01-03 01-07 01-10 01-14",
    ),
];

#[test]
fn lines_of_crontabs_run_on_the_days_that_they_ask_for() {
    for (line, until, expected) in LINES {
        let found = found(line, until);
        assert_eq!(days(&found), *expected, "{line}");
        assert!(!found.some_may_not_run, "{line}");
        assert_eq!(found.unknown, [""; 0], "{line}");
    }
}

#[test]
fn hours_are_those_of_the_clock_that_date_shows() {
    let hours = |line: &str, (from, until): (&str, &str)| -> Vec<String> {
        let text = |at: Timestamp| at.strftime("%d %H:%M").to_string();
        let found = runs(&job(line), at(from), at(until), &berlin()).expect(line);
        found.runs.iter().map(|run| text(run.earliest)).collect()
    };
    let march = ("2024-03-30T00:00:00Z", "2024-04-01T00:00:00Z");
    // 03:00 in Berlin, before and after the clocks change on the 31st.
    let line = r"0 * * * * root [ $(date +\%H) = 03 ] && /x";
    assert_eq!(hours(line, march), ["30 02:00", "31 01:00"]);
    // Nine in New York, by the line's own zone, and UTC.
    let line = r#"0 * * * * root [ "$(TZ=America/New_York date +\%H)" = 09 ] && /x"#;
    assert_eq!(hours(line, march), ["30 13:00", "31 13:00"]);
    let line = r"0 * * * * root [ `date -u +\%k` -eq 5 ] && /x";
    assert_eq!(hours(line, march), ["30 05:00", "31 05:00"]);
    // The crontab's TZ is that of its commands; CRON_TZ is not.
    let line = "TZ=America/New_York\n0 * * * * root [ $(date +\\%H) -eq 9 ] && /x";
    assert_eq!(hours(line, march), ["30 13:00", "31 13:00"]);
    let line = "CRON_TZ=America/New_York\n0 12 * * * root [ $(date +\\%H) -eq 17 ] && /x";
    assert_eq!(hours(line, march), ["30 16:00"]);
}

#[test]
fn what_cannot_be_evaluated_leaves_the_runs_in_doubt() {
    for line in [
        r"0 3 * * 0 root [ $(cat /var/lib/x/last) != $(date +\%V) ] && /x",
        r"0 3 * * 0 root date +\%d | grep -q '^0' && /x",
        r"0 3 * * 0 root [ $(date +\%d) -le $DAYS ] && /x",
        r#"0 3 * * 0 root [ "$(date +\%N)" -gt 5 ] && /x"#,
        r"0 3 * * 0 root [ $(date -d 'last friday' +\%d) -gt 20 ] || exit 1; /x",
        r"0 3 * * 0 root [ $(( $(date +\%V | sed 's/^0//') \% 2 )) -eq 0 ] && /x",
        r"0 3 * * 0 root TODAY=$(date +\%F | tr -d -); [ $TODAY = 20240101 ] && /x",
    ] {
        let found = found(line, "2024-02-01");
        assert_eq!(days(&found), "01-07 01-14 01-21 01-28", "{line}");
        assert!(found.some_may_not_run, "{line}");
        assert_eq!(found.unknown.len(), 1, "{line}: {:?}", found.unknown);
        assert!(
            found.unknown[0]
                .starts_with("etc/cron.d/x:1: whether each of these runs does its work"),
            "{:?}",
            found.unknown
        );
    }
    // Certain on first Sundays, in doubt on the others.
    let line = r#"0 3 * * 0 root [ "$1" = force ] || [ $(date +\%d) -le 7 ] && /x"#;
    let found = found(line, "2024-02-01");
    assert_eq!(days(&found), "01-07 01-14 01-21 01-28");
    assert!(found.some_may_not_run);
}

#[test]
fn what_is_no_guard_changes_nothing() {
    for line in [
        r"0 3 * * 0 root pg_dump db > /backup/db-$(date +\%F).sql && aws s3 sync /backup s3://b",
        r"0 3 * * 0 root mkdir -p /backup/$(date +\%Y); /x",
        r"0 3 * * 0 root [ -d /backup/$(date +\%Y) ] || /x",
        r"0 3 * * 0 root /x; [ $(date +\%d) -le 7 ] && /y",
        r#"0 3 * * 0 root [ "$A" = b ] && /x"#,
    ] {
        let found = found(line, "2024-02-01");
        assert_eq!(days(&found), "01-07 01-14 01-21 01-28", "{line}");
        assert_eq!(
            (found.some_may_not_run, found.unknown),
            (false, vec![]),
            "{line}"
        );
    }
}

#[test]
fn periods_are_those_of_the_runs_that_do_their_work() {
    const DAY_S: f64 = 86_400.0;
    let period = |line: &str| {
        let near = at("2024-01-01T00:00:00Z");
        crate::job_period_s(&job(line), near, &jiff::tz::TimeZone::UTC)
    };
    assert_eq!(period("0 3 * * 0 root /x"), Some(7.0 * DAY_S));
    let line = r"0 3 * * 0 root [ $(($(date +\%s) / 604800 \% 2)) -eq 0 ] && /x";
    assert_eq!(period(line), Some(14.0 * DAY_S));
    // First Sundays are four or five weeks apart, more often four.
    let line = r"0 3 * * 0 root [ $(date +\%d) -le 7 ] && /x";
    assert_eq!(period(line), Some(28.0 * DAY_S));
    let line = r"0 3 * * * root [ $(date +\%m\%d) -eq 101 ] && /x";
    assert_eq!(period(line), Some(365.0 * DAY_S));
    let line = r"0 3 * * * root [ $(date +\%d) -eq 32 ] && /x";
    assert_eq!(period(line), None);
}

#[test]
fn a_guard_that_never_holds_ends_the_search() {
    let line = r"* * * * * root [ $(date +\%d) -eq 32 ] && /x";
    assert_eq!(days(&found(line, "2024-03-01")), "");
}

fn weekday_is(weekday: &str) -> ClockCondition {
    let date = ClockText::Date {
        format: "%u".to_owned(),
        days: 0,
        seconds: 0,
        zone: None,
    };
    ClockCondition::Same(date, ClockText::Literal(weekday.to_owned()))
}

#[test]
fn a_start_that_may_be_on_either_side_of_midnight_is_in_doubt() {
    let mut job = Job::new("x.timer".to_owned(), "x.timer".to_owned());
    job.triggers = vec![Trigger::Calendar(Calendars {
        expressions: vec!["*-*-* 23:30".to_owned()],
        accuracy_s: Some(0.0),
        randomized_delay_s: Some(3_600.0),
        source: "x.timer".to_owned(),
        ..Calendars::default()
    })];
    job.guards = vec![Guard::of_all(weekday_is("7"))];
    let (from, until) = (at("2024-06-03T01:00:00Z"), at("2024-06-17T00:00:00Z"));
    let conditions = Conditions::in_zone(&jiff::tz::TimeZone::UTC);
    let found = runs(&job, from, until, &conditions).expect("readable");
    // Saturdays and Sundays, 23:30 to 00:30.
    assert_eq!(days(&found), "06-09 06-10 06-16 06-17");
    assert!(found.some_may_not_run);
    // With an exact start, Sundays only; the last run that systemd reports, on a Monday, did nothing.
    if let Trigger::Calendar(calendars) = &mut job.triggers[0] {
        calendars.randomized_delay_s = None;
    }
    job.last_run = Some(at("2024-06-10T23:30:00Z"));
    let found = runs(&job, from, until, &conditions).expect("readable");
    assert_eq!(days(&found), "06-10 06-17", "in Berlin");
    assert!(!found.some_may_not_run);
}

#[test]
fn a_guard_of_one_trigger_leaves_the_others_alone() {
    let mut job = job("0 3 * * * root /x");
    job.triggers.push(Trigger::Cron {
        spec: "0 5 * * *".to_owned(),
        time_zone: None,
        source: "etc/crontab:9".to_owned(),
    });
    job.guards = vec![Guard {
        trigger: Some("etc/crontab:9".to_owned()),
        ..Guard::of_all(weekday_is("7"))
    }];
    let (from, until) = (at("2024-01-06T00:00:00Z"), at("2024-01-08T00:00:00Z"));
    let found = runs(&job, from, until, &berlin()).expect("readable");
    let hours: Vec<String> = (found.runs.iter())
        .map(|run| run.earliest.strftime("%d %H").to_string())
        .collect();
    assert_eq!(hours, ["06 02", "07 02", "07 04"]);
}

#[test]
fn lines_of_a_log_at_which_the_job_did_nothing_are_no_runs() {
    let line = r"57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi";
    let (_, command) = line.split_once("root ").expect("a user");
    let command = command.replace("\\%", "%");
    let lines: Vec<String> = ["Jan  7", "Jan 14", "Jan 21", "Feb  4"]
        .iter()
        .map(|day| format!("{day} 00:57:01 db1 CRON[9]: (root) CMD ({command})\n"))
        .collect();
    let read = |text: &str| -> Vec<JobCommand> { commands(text) };
    let ended = at("2024-02-05T00:00:00Z");
    let log = Log::parse("syslog", &lines.concat(), &berlin().zone, ended, &read).expect("a log");
    let job = job(line);
    let (from, until) = (at("2024-01-06T00:00:00Z"), at("2024-03-10T00:00:00Z"));
    let jobs = std::slice::from_ref(&job);
    let found = known_runs(&job, jobs, &[log], from, until, &berlin()).expect("readable");
    assert_eq!(days(&found), "01-07 02-04 03-03");
    assert_eq!((found.some_may_not_run, found.unknown.len()), (false, 0));
}

/// `date -d @TIME +FORMAT` of GNU coreutils 9.1 in Berlin.
#[test]
fn formats_are_those_of_gnus_date() {
    let shown = |text: &str, format: &str| {
        let mut clock = Clock::new(berlin().zone);
        date::text(format, at(text).as_second(), 0, 0, &mut clock)
    };
    let all = "%a %A %b %B %C %d %D %e %F %g %G %H %I %j %k %l %m %M %p %q %R %s %S %T %u %U %V %w %W %y %Y %%";
    for (at, expected) in [
        (
            "2024-12-30T00:05:09Z",
            "Mon Monday Dec December 20 30 12/30/24 30 2024-12-30 25 2025 01 01 365  1  1 12 05 AM 4 01:05 1735517109 09 01:05:09 1 52 01 1 53 24 2024 %",
        ),
        (
            "2022-12-31T23:30:00Z",
            "Sun Sunday Jan January 20 01 01/01/23  1 2023-01-01 22 2022 00 12 001  0 12 01 30 AM 1 00:30 1672529400 00 00:30:00 7 01 52 0 00 23 2023 %",
        ),
        (
            "2021-07-04T11:00:00Z",
            "Sun Sunday Jul July 20 04 07/04/21  4 2021-07-04 21 2021 13 01 185 13  1 07 00 PM 3 13:00 1625396400 00 13:00:00 7 27 26 0 26 21 2021 %",
        ),
    ] {
        assert_eq!(shown(at, all).as_deref(), Some(expected));
    }
    let at = "2021-07-04T06:00:00Z";
    assert_eq!(
        shown(at, "%-d %_d %-H %^a %03d %k").as_deref(),
        Some("4  4 8 SUN 004  8")
    );
    for unknown in ["%N", "%Z", "%x", "%", "%5A", "%99999d"] {
        assert_eq!(shown(at, unknown), None, "{unknown}");
    }
}

fn number(value: i64) -> ClockSum {
    ClockSum::Number(ClockText::Literal(value.to_string()))
}

proptest! {
    /// A guard drops runs and adds none, and its opposite keeps the others.
    #[test]
    fn a_guard_and_its_opposite_share_the_runs(
        spec in prop::sample::select(vec!["0 3 * * *", "*/20 * * * *", "7 1 * * 1", "0 0 1 * *"]),
        format in prop::sample::select(vec!["%d", "%u", "%V", "%j", "%s", "%H"]),
        divisor in 1i64..40,
        rest in 0i64..8,
    ) {
        let date = ClockText::Date {
            format: format.replace('%', "%-"),
            days: 0,
            seconds: 0,
            zone: None,
        };
        let of = |left, operator, right| ClockSum::Of(Box::new(left), operator, Box::new(right));
        let sum = of(ClockSum::Decimal(date), SumOperator::Remainder, number(divisor));
        let guard = ClockCondition::Nonzero(of(sum, SumOperator::Equal, number(rest)));
        let count = |guards: Vec<Guard>| {
            let mut job = job(&format!("{spec} root /x"));
            job.guards = guards;
            let (from, until) = (at("2024-03-01T00:00:00Z"), at("2024-05-01T00:00:00Z"));
            runs(&job, from, until, &berlin()).expect("readable").runs.len()
        };
        let held = count(vec![Guard::of_all(guard.clone())]);
        let not_held = count(vec![Guard::of_all(ClockCondition::Not(Box::new(guard)))]);
        prop_assert_eq!(held + not_held, count(Vec::new()));
    }
}
