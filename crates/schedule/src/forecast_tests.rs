use super::*;
use crate::conditions::RUNS_MAX;
use crate::parse_zone;
use facts::host::Calendars;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn job(name: &str, triggers: Vec<Trigger>) -> Job {
    Job {
        triggers,
        ..Job::new(name.to_owned(), "etc/crontab:18".to_owned())
    }
}

fn cron(spec: &str, time_zone: Option<&str>) -> Trigger {
    Trigger::Cron {
        spec: spec.to_owned(),
        time_zone: time_zone.map(str::to_owned),
        source: "etc/crontab:18".to_owned(),
    }
}

fn calendars(expressions: &[&str], randomized_delay_s: f64) -> Trigger {
    Trigger::Calendar(Calendars {
        expressions: expressions.iter().map(ToString::to_string).collect(),
        accuracy_s: None,
        randomized_delay_s: Some(randomized_delay_s),
        persistent: true,
        source: "lib/systemd/system/fstrim.timer".to_owned(),
        ..Calendars::default()
    })
}

fn monotonic(base: &str, span_s: f64) -> Trigger {
    Trigger::Monotonic {
        base: base.to_owned(),
        span_s,
        accuracy_s: None,
        randomized_delay_s: None,
        source: "lib/systemd/system/systemd-tmpfiles-clean.timer".to_owned(),
    }
}

fn anacron(period: &str) -> Trigger {
    Trigger::Anacron {
        period: period.to_owned(),
        delay_min: 10,
        random_delay_min: None,
        start_hours: None,
        started_by: Vec::new(),
        identifier: "cron.weekly".to_owned(),
        source: "etc/anacrontab:12".to_owned(),
    }
}

pub(crate) fn cron_job(name: &str, spec: &str) -> Job {
    job(name, vec![cron(spec, None)])
}

pub(crate) fn timer_job(name: &str, expression: &str, randomized_delay_s: f64) -> Job {
    job(name, vec![calendars(&[expression], randomized_delay_s)])
}

fn forecast(job: &Job, from: &str, until: &str, zone: &str) -> Forecast {
    let conditions = Conditions::in_zone(&parse_zone(zone).expect(zone));
    runs(job, at(from), at(until), &conditions).expect("readable")
}

/// Returns the earliest and latest starts.
fn starts(forecast: &Forecast) -> Vec<(String, String)> {
    let pair = |run: &Run| (run.earliest.to_string(), run.latest.to_string());
    forecast.runs.iter().map(pair).collect()
}

fn exactly(moments: &[&str]) -> Vec<(String, String)> {
    let pair = |text: &&str| ((*text).to_owned(), (*text).to_owned());
    moments.iter().map(pair).collect()
}

#[test]
fn a_crontab_line_starts_at_the_minute() {
    let job = cron_job("/etc/crontab:18", "47 6 * * 7");
    // 06:47 in Berlin in summer is 04:47 UTC. `from` is inclusive, `until` is exclusive.
    let found = forecast(
        &job,
        "2024-06-02T04:47:00Z",
        "2024-06-16T04:47:00Z",
        "Europe/Berlin",
    );
    assert_eq!(
        starts(&found),
        exactly(&["2024-06-02T04:47:00Z", "2024-06-09T04:47:00Z"])
    );
    assert_eq!(found.runs[0].job, "/etc/crontab:18");
    assert_eq!(&*found.runs[0].evidence, "etc/crontab:18: 47 6 * * 7");
    assert_eq!(found.runs[0].len_s, None);
    assert_eq!((found.unknown.len(), found.truncated_at), (0, None));
    assert_eq!(
        forecast(&job, "2024-06-16T00:00:00Z", "2024-06-02T00:00:00Z", "UTC"),
        Forecast::default()
    );
}

#[test]
fn cron_tz_follows_its_own_wall_clock() {
    // cronie checks the job's zone minute by minute: 02:30 in Berlin does not occur on 31 March,
    // and occurs twice on 27 October.
    let tokyo = job("x", vec![cron("30 2 * * *", Some("Europe/Berlin"))]);
    let found = forecast(
        &tokyo,
        "2024-03-30T12:00:00Z",
        "2024-04-01T12:00:00Z",
        "Asia/Tokyo",
    );
    assert_eq!(starts(&found), exactly(&["2024-04-01T00:30:00Z"]));
    assert_eq!(
        &*found.runs[0].evidence,
        "etc/crontab:18: 30 2 * * * in Europe/Berlin"
    );
    let found = forecast(
        &tokyo,
        "2024-10-27T00:00:00Z",
        "2024-10-27T12:00:00Z",
        "Asia/Tokyo",
    );
    assert_eq!(
        starts(&found),
        exactly(&["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z"])
    );
    // CRON_TZ names the zone that cron runs in anyway.
    let found = forecast(
        &tokyo,
        "2024-03-30T12:00:00Z",
        "2024-03-31T12:00:00Z",
        "Europe/Berlin",
    );
    assert_eq!(starts(&found), exactly(&["2024-03-31T01:00:00Z"]));
}

#[test]
fn a_timer_may_be_late_by_delay_and_accuracy() {
    // 100 minutes of random delay and systemd's default accuracy of one.
    let mut job = timer_job("fstrim.timer", "weekly", 6_000.0);
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-06-15T00:00:00Z", "UTC");
    let window = |day: &str| {
        (
            format!("2024-06-{day}T00:00:00Z"),
            format!("2024-06-{day}T01:41:00Z"),
        )
    };
    assert_eq!(starts(&found), [window("03"), window("10")]);
    assert_eq!(
        &*found.runs[0].evidence,
        "lib/systemd/system/fstrim.timer: OnCalendar=weekly, up to 1h 41min later"
    );
    // A run that was due earlier may still start.
    let found = forecast(&job, "2024-06-03T01:41:00Z", "2024-06-04T00:00:00Z", "UTC");
    assert_eq!(starts(&found), [window("03")]);
    let found = forecast(&job, "2024-06-03T01:42:00Z", "2024-06-04T00:00:00Z", "UTC");
    assert!(found.runs.is_empty());
    // Runs reported by systemd replace computed ones; the accuracy still applies to later runs.
    job.last_run = Some(at("2024-06-03T00:20:30Z"));
    job.next_run = Some(at("2024-06-10T01:10:00Z"));
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-06-18T00:00:00Z", "UTC");
    assert_eq!(
        starts(&found),
        [
            (
                "2024-06-03T00:20:30Z".to_owned(),
                "2024-06-03T00:20:30Z".to_owned()
            ),
            (
                "2024-06-10T01:10:00Z".to_owned(),
                "2024-06-10T01:11:00Z".to_owned()
            ),
            window("17"),
        ]
    );
    // A missed run that is made up fits no window and still counts.
    job.next_run = Some(at("2024-06-05T08:00:00Z"));
    let found = forecast(&job, "2024-06-04T00:00:00Z", "2024-06-11T00:00:00Z", "UTC");
    assert_eq!(starts(&found)[0].0, "2024-06-05T08:00:00Z");
    assert_eq!(found.runs.len(), 2);
}

#[test]
fn several_triggers_make_one_list() {
    let job = job(
        "x",
        vec![
            calendars(&["*-*-* 18:00", "*-*-* 06:00", "06:00"], 0.0),
            cron("0 12 * * *", None),
        ],
    );
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-06-02T00:00:00Z", "UTC");
    let hours: Vec<i8> = found
        .runs
        .iter()
        .map(|run| run.earliest.to_zoned(TimeZone::UTC).hour())
        .collect();
    assert_eq!(hours, [6, 12, 18], "06:00 stands there twice and runs once");
}

#[test]
fn monotonic_timers_count_from_what_is_known() {
    let mut job = job(
        "clean",
        vec![
            monotonic("OnBootSec", 900.0),
            monotonic("OnUnitActiveSec", 86_400.0),
        ],
    );
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-06-04T00:00:00Z", "UTC");
    assert!(found.runs.is_empty());
    assert_eq!(found.unknown.len(), 2, "{:?}", found.unknown);
    assert!(found.unknown[0].contains("OnBootSec=15min, counted from an event"));
    // A day after the last run, at most a minute later each time.
    job.triggers.remove(0);
    job.last_run = Some(at("2024-06-01T10:00:00Z"));
    let found = forecast(&job, "2024-06-02T00:00:00Z", "2024-06-04T00:00:00Z", "UTC");
    assert_eq!(
        starts(&found),
        [
            (
                "2024-06-02T10:00:00Z".to_owned(),
                "2024-06-02T10:01:00Z".to_owned()
            ),
            (
                "2024-06-03T10:00:00Z".to_owned(),
                "2024-06-03T10:02:00Z".to_owned()
            ),
        ]
    );
    // 1,440 minutes of drift make a day: four years later, nothing is known.
    let found = forecast(&job, "2030-06-02T00:00:00Z", "2030-06-04T00:00:00Z", "UTC");
    assert!(found.runs.is_empty());
    assert!(found.unknown[0].contains("drifted by a whole period"));
    // The unit's end is not known beyond the next run.
    job.triggers = vec![monotonic("OnUnitInactiveSec", 3_600.0)];
    job.next_run = Some(at("2024-06-02T10:00:00Z"));
    let found = forecast(&job, "2024-06-02T00:00:00Z", "2024-06-03T00:00:00Z", "UTC");
    assert_eq!(
        starts(&found),
        [(
            "2024-06-02T10:00:00Z".to_owned(),
            "2024-06-02T10:01:00Z".to_owned()
        )]
    );
    assert_eq!(found.unknown.len(), 1);
}

#[test]
fn anacron_and_reboot() {
    let mut job = job(
        "cron.weekly/fstrim",
        vec![
            anacron("7"),
            Trigger::Boot {
                source: "etc/crontab:1".to_owned(),
            },
        ],
    );
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-06-15T00:00:00Z", "UTC");
    assert!(found.runs.is_empty());
    assert!(found.unknown[0].contains("last run is not known"));
    assert_eq!(found.unknown[1], "etc/crontab:1: @reboot, when cron starts");
    job.last_run = Some(at("2024-05-30T07:41:00Z"));
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-06-15T00:00:00Z", "UTC");
    assert_eq!(
        starts(&found),
        [
            (
                "2024-06-06T07:40:00Z".to_owned(),
                "2024-06-06T07:46:00Z".to_owned()
            ),
            (
                "2024-06-13T07:40:00Z".to_owned(),
                "2024-06-13T07:46:00Z".to_owned()
            ),
        ]
    );
}

#[test]
fn long_forecasts_are_truncated() {
    let job = cron_job("x", "* * * * *");
    let found = forecast(&job, "2024-06-01T00:00:00Z", "2024-07-06T00:00:00Z", "UTC");
    assert_eq!(found.runs.len(), RUNS_MAX);
    // 10,000 minutes are 6 days, 22 hours and 40 minutes.
    assert_eq!(found.truncated_at, Some(at("2024-06-07T22:40:00Z")));
    let seconds = timer_job("x", "*:*:*", 0.0);
    assert!(
        forecast(
            &seconds,
            "2024-06-01T00:00:00Z",
            "9999-01-01T00:00:00Z",
            "UTC"
        )
        .truncated_at
        .is_some()
    );
}

#[test]
fn errors_name_the_trigger() {
    let zone = TimeZone::UTC;
    let refuse = |trigger: Trigger| {
        let job = job("x", vec![trigger]);
        runs(
            &job,
            at("2024-06-01T00:00:00Z"),
            at("2024-06-02T00:00:00Z"),
            &Conditions::in_zone(&zone),
        )
        .expect_err("malformed")
        .to_string()
    };
    assert!(refuse(cron("61 * * * *", None)).starts_with("etc/crontab:18: expected a minute"));
    assert!(
        refuse(cron("1 * * * *", Some("Mars"))).starts_with("etc/crontab:18: expected an IANA")
    );
    assert!(
        refuse(calendars(&["Funday"], 0.0))
            .starts_with("lib/systemd/system/fstrim.timer: expected")
    );
    assert!(refuse(calendars(&["daily"], f64::NAN)).contains("a span of 0 seconds or more"));
    assert!(refuse(calendars(&["daily"], -1.0)).contains("a span of 0 seconds or more"));
    assert!(refuse(monotonic("OnUnitActiveSec", f64::NAN)).contains("a span of 0 seconds or more"));
    assert!(refuse(anacron("weekly")).starts_with("etc/anacrontab:12: expected a period"));
}

#[test]
fn hostile_spans_and_times_terminate() {
    let zone = parse_zone("Europe/Berlin").expect("known");
    let mut all = job(
        "x",
        vec![
            calendars(&["*:*:*", "*-02-30", "daily"], f64::INFINITY),
            monotonic("OnUnitActiveSec", 1e-9),
            monotonic("OnUnitActiveSec", f64::INFINITY),
            monotonic("OnUnitActiveSec=", 300.0),
            anacron("2147483647"),
            anacron("@monthly"),
            cron("0 0 30 2 *", None),
        ],
    );
    for known in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
        all.last_run = Some(known);
        all.next_run = Some(known);
        for (from, until) in [
            (Timestamp::MIN, Timestamp::MAX),
            (Timestamp::UNIX_EPOCH, Timestamp::MAX),
            (Timestamp::MIN, Timestamp::UNIX_EPOCH),
        ] {
            let found = runs(&all, from, until, &Conditions::in_zone(&zone)).expect("readable");
            assert!(found.runs.len() <= RUNS_MAX + 2);
        }
    }
}

const DAY: f64 = 86_400.0;

#[test]
fn periods_are_median_intervals() {
    let zone = parse_zone("Europe/Berlin").expect("known");
    let period = |trigger: &Trigger| period_s(trigger, at("2024-06-01T00:00:00Z"), &zone);
    assert_eq!(period(&cron("47 6 * * 7", None)), Some(7.0 * DAY));
    assert_eq!(
        period(&cron("0 3 * * 1-5", None)),
        Some(DAY),
        "the weekend is not typical"
    );
    assert_eq!(period(&cron("*/10 * * * *", None)), Some(600.0));
    // From July to October of the next year: one month of 28 days, five of 30, ten of 31, of which
    // one is an hour short and two an hour long. The eighth and ninth shortest have 31.
    assert_eq!(period(&cron("@monthly", None)), Some(31.0 * DAY));
    assert_eq!(period(&calendars(&["weekly"], 6_000.0)), Some(7.0 * DAY));
    assert_eq!(
        period(&calendars(&["06:00", "18:00", "06:00"], 0.0)),
        Some(DAY / 2.0)
    );
    assert_eq!(
        period(&calendars(&["2024-12-24"], 0.0)),
        None,
        "it comes once"
    );
    assert_eq!(period(&calendars(&["*-02-30"], 0.0)), None);
    assert_eq!(period(&calendars(&[], 0.0)), None);
    assert_eq!(period(&anacron("7")), Some(7.0 * DAY));
    assert_eq!(period(&anacron("@daily")), Some(DAY));
    assert_eq!(period(&monotonic("OnUnitActiveSec", DAY)), Some(DAY));
    assert_eq!(period(&monotonic("OnBootSec", 900.0)), None);
    assert_eq!(period(&monotonic("OnUnitActiveSec", f64::NAN)), None);
    assert_eq!(
        period(&Trigger::Boot {
            source: String::new()
        }),
        None
    );
    assert_eq!(period(&cron("bad", None)), None);
}

#[test]
fn timers_with_thousands_of_events_are_refused() {
    let expressions = vec!["Mon 03:00"; 9_990];
    let job = job("x", vec![calendars(&expressions, 0.0)]);
    let conditions = Conditions::in_zone(&parse_zone("UTC").unwrap());
    let until = at("2026-12-01T00:00:00Z");
    let error = runs(&job, at("2026-11-01T00:00:00Z"), until, &conditions).expect_err("too many");
    assert!(
        error.to_string().contains("at most 96 calendar events"),
        "{error}"
    );
}
