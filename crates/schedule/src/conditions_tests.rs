use super::*;
use crate::forecast::tests::{cron_job, timer_job};
use crate::run::{Delays, Seen};
use crate::{parse_zone, runs};
use facts::host::{Calendars, Platform, TimerState, Trigger};
use proptest::prelude::*;

const TIMER: &str = "lib/systemd/system/x.timer";

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn up(from: &str, until: &str) -> Uptime {
    Uptime {
        from: at(from),
        until: (!until.is_empty()).then(|| at(until)),
    }
}

/// Returns the runs in June 2024 (UTC) with these uptimes.
fn june(job: &Job, uptimes: &[Uptime]) -> Vec<String> {
    june_with(job, uptimes, None)
}

fn june_with(job: &Job, uptimes: &[Uptime], run_len_s: Option<(f64, f64)>) -> Vec<String> {
    let conditions = Conditions {
        uptimes: Uptimes::new(uptimes.to_vec()),
        run_len_s,
        ..Conditions::in_zone(&TimeZone::UTC)
    };
    let (from, until) = (at("2024-06-01T00:00:00Z"), at("2024-07-01T00:00:00Z"));
    let found = runs(job, from, until, &conditions).expect("readable").runs;
    let text = |at: Timestamp| at.to_zoned(TimeZone::UTC).strftime("%d %H:%M").to_string();
    found
        .iter()
        .map(|run| {
            if run.earliest == run.latest {
                text(run.earliest)
            } else {
                format!("{} - {}", text(run.earliest), text(run.latest))
            }
        })
        .collect()
}

fn relative(base: &str, span_s: f64) -> Trigger {
    Trigger::Monotonic {
        base: base.to_owned(),
        span_s,
        accuracy_s: Some(0.0),
        randomized_delay_s: None,
        source: TIMER.to_owned(),
    }
}

fn job_of(triggers: Vec<Trigger>) -> Job {
    Job {
        triggers,
        ..cron_job("x.timer", "@daily")
    }
}

fn calendar(expression: &str, delay_s: f64, persistent: bool) -> Calendars {
    Calendars {
        expressions: vec![expression.to_owned()],
        accuracy_s: Some(0.0),
        randomized_delay_s: Some(delay_s),
        persistent,
        source: TIMER.to_owned(),
        ..Calendars::default()
    }
}

#[test]
fn cron_does_not_run_while_the_host_is_down() {
    let daily = cron_job("x", "0 3 28-30 * *");
    let down_on_the_29th = [
        up("2024-05-01T00:00:00Z", "2024-06-29T02:00:00Z"),
        up("2024-06-29T04:00:00Z", ""),
    ];
    assert_eq!(june(&daily, &down_on_the_29th), ["28 03:00", "30 03:00"]);
    // If it is not known when it went down, it was up until the next boot.
    let starts = [
        up("2024-05-01T00:00:00Z", ""),
        up("2024-06-29T04:00:00Z", ""),
    ];
    assert_eq!(june(&daily, &starts), ["28 03:00", "29 03:00", "30 03:00"]);
}

#[test]
fn reboot_jobs_run_after_each_start() {
    let job = job_of(vec![Trigger::Boot {
        source: "etc/crontab:1".to_owned(),
    }]);
    assert_eq!(
        june(
            &job,
            &[
                up("2024-06-03T10:00:00Z", ""),
                up("2024-06-20T11:00:00Z", "")
            ]
        ),
        ["03 10:00 - 03 10:10", "20 11:00 - 20 11:10"]
    );
}

#[test]
fn only_persistent_timers_catch_up() {
    // Mondays: 3, 10, 17 and 24 June. Down over the 10th, and from the 16th to the 26th.
    let uptimes = [
        up("2024-05-01T00:00:00Z", "2024-06-09T20:00:00Z"),
        up("2024-06-11T08:00:00Z", "2024-06-16T20:00:00Z"),
        up("2024-06-26T09:00:00Z", ""),
    ];
    let persistent = job_of(vec![Trigger::Calendar(calendar("weekly", 0.0, true))]);
    assert_eq!(
        june(&persistent, &uptimes),
        ["03 00:00", "11 08:00 - 11 08:10", "26 09:00 - 26 09:10"],
        "two that were missed are made up for once"
    );
    let forgetful = job_of(vec![Trigger::Calendar(calendar("weekly", 0.0, false))]);
    assert_eq!(june(&forgetful, &uptimes), ["03 00:00"]);
    // The random delay also applies to runs that are made up.
    let delayed = job_of(vec![Trigger::Calendar(calendar("weekly", 3_600.0, true))]);
    assert_eq!(
        june(&delayed, &uptimes),
        [
            "03 00:00 - 03 01:00",
            "11 08:00 - 11 09:10",
            "26 09:00 - 26 10:10"
        ]
    );
}

#[test]
fn a_run_missed_before_the_range_is_caught_up_within_it() {
    let persistent = job_of(vec![Trigger::Calendar(calendar("Mon 03:00", 0.0, true))]);
    let uptimes = [
        up("2024-05-01T00:00:00Z", "2024-05-20T00:00:00Z"),
        up("2024-06-01T12:00:00Z", "2024-06-02T00:00:00Z"),
    ];
    assert_eq!(june(&persistent, &uptimes), ["01 12:00 - 01 12:10"]);
}

#[test]
fn a_delay_past_shutdown_is_cut_or_caught_up() {
    let uptimes = [
        up("2024-05-01T00:00:00Z", "2024-06-03T00:30:00Z"),
        up("2024-06-03T06:00:00Z", "2024-06-05T00:00:00Z"),
    ];
    let forgetful = job_of(vec![Trigger::Calendar(calendar("weekly", 3_600.0, false))]);
    assert_eq!(june(&forgetful, &uptimes), ["03 00:00 - 03 00:29"]);
    let persistent = job_of(vec![Trigger::Calendar(calendar("weekly", 3_600.0, true))]);
    assert_eq!(june(&persistent, &uptimes), ["03 00:00 - 03 07:10"]);
}

#[test]
fn a_fixed_delay_is_known_from_one_run() {
    let fixed = Calendars {
        fixed_random_delay: true,
        accuracy_s: Some(60.0),
        ..calendar("Mon 03:00", 7_200.0, false)
    };
    let mut job = job_of(vec![Trigger::Calendar(fixed)]);
    assert_eq!(june(&job, &[])[0], "03 03:00 - 03 05:01");
    // It ran 45 minutes after its time, one of which may be due to the accuracy.
    job.last_run = Some(at("2024-05-27T03:45:00Z"));
    assert_eq!(june(&job, &[])[0], "03 03:44 - 03 03:46");
    // If the delay is drawn anew each time, it says nothing about other runs.
    if let Trigger::Calendar(calendars) = &mut job.triggers[0] {
        calendars.fixed_random_delay = false;
    }
    assert_eq!(june(&job, &[])[0], "03 03:00 - 03 05:01");
}

#[test]
fn a_random_offset_is_the_same_for_all_runs() {
    let offset = Calendars {
        randomized_offset_s: Some(7_200.0),
        accuracy_s: Some(60.0),
        ..calendar("Mon 03:00", 600.0, false)
    };
    let is_shared = |job: &Job| {
        let (from, until) = (at("2024-06-01T00:00:00Z"), at("2024-07-01T00:00:00Z"));
        let found = runs(job, from, until, &Conditions::in_zone(&TimeZone::UTC)).expect("readable");
        found.runs.iter().all(|run| run.delays == Delays::Shared)
    };
    let mut job = job_of(vec![Trigger::Calendar(offset)]);
    // 2 h of offset, 10 min of delay, 1 min of accuracy.
    assert_eq!(june(&job, &[])[0], "03 03:00 - 03 05:11");
    assert!(is_shared(&job));
    // 45 minutes after its time, of which up to 11 are the run's own.
    job.last_run = Some(at("2024-05-27T03:45:00Z"));
    assert_eq!(june(&job, &[])[0], "03 03:34 - 03 03:56");
    // The next run that systemd announces has no delay for accuracy in it.
    job.next_run = Some(at("2024-06-03T03:40:00Z"));
    assert_eq!(
        june(&job, &[])[..2],
        ["03 03:40 - 03 03:41", "10 03:30 - 10 03:51"]
    );
    // A run of its own delay says nothing of the others.
    if let Trigger::Calendar(calendars) = &mut job.triggers[0] {
        calendars.randomized_delay_s = calendars.randomized_offset_s.take();
    }
    assert_eq!(june(&job, &[])[1], "10 03:00 - 10 05:01");
    assert!(!is_shared(&job));
}

#[test]
fn an_offset_counts_whether_the_host_is_up_at_the_event_or_not() {
    // Down from 02:00 to 04:00 on the 3rd: the offset of up to 5 h may end before, within or after.
    let uptimes = [
        up("2024-06-01T00:00:00Z", "2024-06-03T02:00:00Z"),
        up("2024-06-03T04:00:00Z", ""),
    ];
    let job = |persistent| {
        job_of(vec![Trigger::Calendar(Calendars {
            randomized_offset_s: Some(18_000.0),
            ..calendar("Mon 03:00", 0.0, persistent)
        })])
    };
    assert_eq!(june(&job(false), &uptimes)[0], "03 04:00 - 03 08:00");
    // Caught up after the boot, it has no offset.
    assert_eq!(june(&job(true), &uptimes)[0], "03 04:00 - 03 08:00");
}

#[test]
fn spans_count_from_the_start_of_the_host() {
    let uptimes = [
        up("2024-06-03T10:00:00Z", ""),
        up("2024-06-20T11:00:00Z", ""),
    ];
    let boot = job_of(vec![relative("OnBootSec", 900.0)]);
    assert_eq!(june(&boot, &uptimes), ["03 10:15", "20 11:15"]);
    // The kernel may have been up for longer than that when timers start.
    let boot = job_of(vec![relative("OnBootSec", 60.0)]);
    assert_eq!(
        june(&boot, &uptimes),
        ["03 10:01 - 03 10:10", "20 11:01 - 20 11:10"]
    );
    for base in ["OnStartupSec", "OnActiveSec"] {
        let job = job_of(vec![relative(base, 900.0)]);
        assert_eq!(
            june(&job, &uptimes),
            ["03 10:15 - 03 10:25", "20 11:15 - 20 11:25"]
        );
    }
    // The host goes down too early.
    let short = [up("2024-06-03T10:00:00Z", "2024-06-03T10:05:00Z")];
    let job = job_of(vec![relative("OnBootSec", 900.0)]);
    assert_eq!(june(&job, &short), [""; 0]);
}

#[test]
fn repetitions_count_from_the_first_run_after_each_start() {
    // systemd-tmpfiles-clean.timer: OnBootSec=15min, OnUnitActiveSec=1d.
    let mut job = job_of(vec![
        relative("OnBootSec", 900.0),
        relative("OnUnitActiveSec", 86_400.0),
    ]);
    let uptimes = [
        up("2024-06-03T10:00:00Z", "2024-06-05T10:10:00Z"),
        up("2024-06-28T11:00:00Z", ""),
    ];
    assert_eq!(
        june(&job, &uptimes),
        ["03 10:15", "04 10:15", "28 11:15", "29 11:15", "30 11:15"]
    );
    // The last run reported by systemd takes precedence.
    job.last_run = Some(at("2024-06-29T20:00:00Z"));
    let known = june(&job, &uptimes);
    assert_eq!(known.last().map(String::as_str), Some("30 20:00"));
    assert!(known.contains(&"29 20:00".to_owned()), "{known:?}");
}

#[test]
fn repetitions_after_the_end_of_a_run_need_its_length() {
    let job = job_of(vec![
        relative("OnBootSec", 900.0),
        relative("OnUnitInactiveSec", 86_400.0),
    ]);
    let uptimes = [up("2024-06-28T11:00:00Z", "")];
    assert_eq!(june(&job, &uptimes), ["28 11:15"]);
    assert_eq!(
        june_with(&job, &uptimes, Some((600.0, 1_200.0))),
        ["28 11:15", "29 11:25 - 29 11:35", "30 11:35 - 30 11:55"]
    );
}

#[test]
fn anacron_catches_up() {
    let trigger = |start_hours| Trigger::Anacron {
        period: "7".to_owned(),
        delay_min: 10,
        random_delay_min: None,
        start_hours,
        started_by: Vec::new(),
        identifier: "cron.weekly".to_owned(),
        source: "etc/anacrontab:12".to_owned(),
    };
    let mut job = job_of(vec![trigger(None)]);
    job.last_run = Some(at("2024-05-30T07:41:00Z"));
    let uptimes = [
        up("2024-05-01T00:00:00Z", "2024-06-12T18:00:00Z"),
        up("2024-06-15T09:00:00Z", ""),
    ];
    // Due on the 6th, and on the 13th when the host is down; then a week after the run was made up.
    assert_eq!(
        june(&job, &uptimes),
        [
            "06 07:40 - 06 07:46",
            "15 09:10 - 15 09:26",
            "22 07:40 - 22 07:46",
            "29 07:40 - 29 07:46"
        ]
    );
    // cronie starts anacron at one past the next hour, 09:01, or an hour later if it is not up by
    // then. Without a random delay, 03:01 is the first start that ends up past 03:00.
    job.triggers = vec![trigger(Some((3, 22)))];
    assert_eq!(
        june(&job, &uptimes)[1..3],
        ["15 09:11 - 15 10:11", "22 03:11"]
    );
    // A boot early on the due day does not wait for Debian's 07:30.
    job.triggers = vec![trigger(None)];
    let early = [up("2024-06-06T05:00:00Z", "")];
    assert_eq!(june(&job, &early)[0], "06 05:10 - 06 05:26");
}

#[test]
fn uptimes_are_sorted_and_disjoint() {
    let uptimes = Uptimes::new(vec![
        up("2024-06-10T00:00:00Z", ""),
        up("2024-06-01T00:00:00Z", "2024-06-20T00:00:00Z"),
        up("2024-06-15T00:00:00Z", "2024-06-14T00:00:00Z"),
    ]);
    let is_up = |text| uptimes.at(at(text).as_microsecond()).is_some();
    assert!(is_up("1999-01-01T00:00:00Z"), "nothing is known of it");
    assert!(is_up("2024-06-05T00:00:00Z"));
    assert!(is_up("2024-06-14T23:59:59Z"));
    assert!(!is_up("2024-06-15T00:00:00Z"), "it ends before it begins");
    assert!(!is_up("2030-01-01T00:00:00Z"));
    assert!(!Uptimes::default().is_known());
}

#[test]
fn runs_max_is_respected() {
    let conditions = Conditions {
        runs_max: RUNS_OF_MINUTES_MAX,
        ..Conditions::in_zone(&parse_zone("Europe/Berlin").expect("known"))
    };
    let (from, until) = (at("2023-01-01T00:00:00Z"), at("2024-01-01T00:00:00Z"));
    let found = runs(&cron_job("x", "* * * * *"), from, until, &conditions).expect("readable");
    assert_eq!((found.runs.len(), found.truncated_at), (525_600, None));
    let found = runs(
        &cron_job("x", "0 * * * *"),
        at("2014-01-01T00:00:00Z"),
        until,
        &conditions,
    );
    assert_eq!(found.expect("readable").runs.len(), 3_652 * 24);
}

#[test]
fn cron_flavor_is_detected_from_the_host() {
    let of = |id: &str, version: &str| {
        let host = Host {
            platform: Platform {
                distribution: (!id.is_empty()).then(|| id.to_owned()),
                distribution_version: (!version.is_empty()).then(|| version.to_owned()),
                ..Platform::default()
            },
            ..Host::default()
        };
        CronFlavor::of_host(&host)
    };
    assert_eq!(
        of("debian", "12"),
        (CronFlavor::Vixie, "debian 12 has Debian's cron".to_owned())
    );
    assert_eq!(of("debian", "11").0, CronFlavor::Cronie);
    assert_eq!(
        of("debian", "").0,
        CronFlavor::Vixie,
        "testing has no version"
    );
    assert_eq!(of("ubuntu", "22.04").0, CronFlavor::Cronie);
    assert_eq!(of("ubuntu", "24.04").0, CronFlavor::Vixie);
    for id in ["centos", "rhel", "fedora", "arch", "opensuse-leap", "sles"] {
        assert_eq!(
            of(id, "7"),
            (CronFlavor::Cronie, format!("{id} 7 has cronie"))
        );
    }
    assert_eq!(of("alpine", "3.20.1").0, CronFlavor::WallClock);
    assert!(of("", "").1.contains("not known"));
    assert!(of("plan9", "").1.contains("not known"));
    let mut timer = timer_job("cron-root-root-0.timer", "daily", 0.0);
    timer.timer = Some(TimerState {
        unit: "cron-root-root-0.timer".to_owned(),
        activates: "cron-root-root-0.service".to_owned(),
        enabled: Some(EnabledState::Generated),
        active: Some(true),
        drop_ins: Vec::new(),
    });
    let host = Host {
        jobs: Some(vec![timer]),
        ..Host::default()
    };
    assert_eq!(CronFlavor::of_host(&host).0, CronFlavor::Systemd);
}

fn given(moments_s: &[i64]) -> Vec<Run> {
    let run = |&moment_s| {
        let at = Timestamp::from_second(moment_s).expect("in range");
        Run {
            job: "x".to_owned(),
            earliest: at,
            latest: at,
            delays: Delays::Either,
            len_s: None,
            seen: Seen::Given,
            evidence: "".into(),
        }
    };
    moments_s.iter().map(run).collect()
}

#[test]
fn weekly_until_a_day_and_daily_from_then_on() {
    const DAY: i64 = 86_400;
    let moments: Vec<i64> = (0..5)
        .map(|week| week * 7 * DAY)
        .chain((29..40).map(|day| day * DAY))
        .collect();
    let changes = rhythm_changes(&given(&moments));
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].last_before.as_second(), 28 * DAY);
    assert_eq!(changes[0].first_after.as_second(), 29 * DAY);
    assert!((changes[0].before_s - 604_800.0).abs() < 1.0);
    assert!((changes[0].after_s - 86_400.0).abs() < 1.0);
    // A skipped run is not a change.
    let moments: Vec<i64> = (0..40)
        .filter(|day| *day != 20)
        .map(|day| day * DAY)
        .collect();
    assert_eq!(rhythm_changes(&given(&moments)), []);
    assert_eq!(rhythm_changes(&[]), []);
    assert_eq!(rhythm_changes(&given(&[1, 2, 9])), []);
}

proptest! {
    /// Whatever the uptimes, runs stay sorted and start while the host is up or right after it
    /// booted, and a persistent timer has at least as many runs as a non-persistent one.
    #[test]
    fn runs_fit_the_uptimes(
        spans in proptest::collection::vec((0i64..3_000_000, 0i64..400_000), 1..12),
        expression in prop::sample::select(vec!["daily", "hourly", "Mon 03:00", "*:0/20", "*-*-1"]),
        delay_s in prop::sample::select(vec![0.0, 60.0, 7_200.0]),
    ) {
        let base_s = 1_717_200_000;
        let moment = |s: i64| Timestamp::from_second(base_s + s).expect("in range");
        let known: Vec<Uptime> = spans
            .iter()
            .map(|&(from, len)| Uptime { from: moment(from), until: Some(moment(from + len)) })
            .collect();
        let uptimes = Uptimes::new(known);
        let conditions = Conditions {
            uptimes: uptimes.clone(),
            runs_max: 100_000,
            ..Conditions::in_zone(&TimeZone::UTC)
        };
        let count = |persistent| {
            let job = job_of(vec![
                Trigger::Calendar(calendar(expression, delay_s, persistent)),
                relative("OnBootSec", 900.0),
                relative("OnUnitActiveSec", 3_600.0),
            ]);
            let (from, until) = (moment(0), moment(3_600_000));
            let found = runs(&job, from, until, &conditions).expect("readable").runs;
            for pair in found.windows(2) {
                assert!(pair[0].earliest <= pair[1].earliest);
            }
            for run in &found {
                assert!(run.earliest <= run.latest);
                assert!(uptimes.at(run.earliest.as_microsecond()).is_some(), "{run:?}");
            }
            found.len()
        };
        prop_assert!(count(true) >= count(false));
    }
}
