use super::*;
use crate::verdict::decision::Recurs;
use crate::verdict::lasting::ran;
use crate::verdict::recurrence::{Place, Recurrence, Rhythm, Secondary};
use crate::verdict::result::{Cycle, Effect, Folded, JobClass, Role, Shape};
use schedule::Seen;

const CONTEXT: SentenceContext = SentenceContext {
    name: "latency",
    unit: Some("ms"),
    better: Some(Better::Lower),
    zone: "UTC",
    gap_us: 300_000_000,
    first: None,
    jobs: 3,
    requests: None,
};

/// A daily spike at 03:10, seen on 28 of 30 days.
fn spike(cause: CauseFound, classes: Vec<JobClass>) -> Decision {
    let at_us = (3 * 60 + 10) * 60_000_000;
    let recurrence = Recurrence {
        rhythm: Rhythm {
            cycle: Cycle::Day,
            weekdays: None,
            period_s: 86_400.0,
        },
        clocks: None,
        shape: Shape::Spike,
        place: Some(Place {
            from_wall_us: at_us,
            to_wall_us: at_us + 300_000_000,
            from: Timestamp::UNIX_EPOCH,
            to: Timestamp::UNIX_EPOCH,
        }),
        p: 0.01,
        since: None,
        until: None,
        cycles: 30,
        cycles_seen: 28,
        effect: Effect {
            size: 8.0,
            relative: Some(0.4),
            relative_per_day: None,
            len_s: Some(600.0),
        },
        events: Vec::new(),
        folded: Folded {
            period_s: 86_400.0,
            anchor: Timestamp::UNIX_EPOCH,
            median: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
        },
    };
    Decision {
        kind: Kind::Periodic,
        outcome: Outcome::Recurs(Box::new(Recurs {
            recurrence,
            cause,
            classes,
            like_load: None,
            depends_on_dating: None,
            may_be_load: false,
            sample: None,
            others: Vec::new(),
        })),
        candidates: Vec::new(),
        chance: None,
        lasting: None,
        jobs_left_out: 0,
    }
}

fn job(matched: usize, missed: usize) -> JobClass {
    JobClass {
        jobs: vec!["backup".to_owned()],
        role: Role::Hurts,
        matched,
        missed,
        idle_runs: 0,
        lag_s: None,
        dated_by_start: false,
        score: 0.9,
        evidence: Vec::new(),
        separate_by: None,
    }
}

fn told(decision: &Decision, likely_chance: Option<f64>) -> String {
    let significance = Significance {
        kind: decision.kind,
        q: likely_chance,
        likely_chance,
    };
    sentence(decision, &significance, None, &CONTEXT)
}

const WHAT: &str = "latency jumps up by 40 % for about 10 min every day (28 of 30 days), starting between 03:10 and 03:15 UTC.";

/// The decision on the spike, changed.
fn changed(cause: CauseFound, class: JobClass, change: impl FnOnce(&mut Recurs)) -> Decision {
    let mut decision = spike(cause, vec![class]);
    match &mut decision.outcome {
        Outcome::Recurs(recurs) => change(recurs),
        _ => unreachable!("a spike recurs"),
    }
    decision
}

#[test]
fn the_cause_comes_first_then_what_recurs_then_how_often_jobs_run() {
    let of = |class: JobClass| told(&spike(CauseFound::Jobs, vec![class]), None);
    assert_eq!(
        of(job(30, 0)),
        format!("Likely cause: backup. {WHAT} The job runs then on all 30 days.")
    );
    assert_eq!(
        of(JobClass {
            role: Role::Unknown,
            ..job(29, 1)
        }),
        format!("Likely cause: backup. {WHAT} The job runs then on 29 of 30 days.")
    );
    assert_eq!(
        of(JobClass {
            dated_by_start: true,
            ..job(30, 0)
        }),
        format!(
            "Likely cause: backup. {WHAT} The job runs then on all 30 days. Likely only if your timestamps mark the start of each interval."
        )
    );
    assert_eq!(
        of(JobClass {
            lag_s: Some(90.0),
            role: Role::Heals,
            jobs: vec!["cron.daily/a".to_owned(), "cron.daily/b".to_owned()],
            ..job(30, 0)
        }),
        format!(
            "Likely cause of the improvement: cron.daily (a, b); samples every 5 min cannot tell which. {WHAT} These jobs run then, or up to 1 min 30 s before, on all 30 days."
        )
    );
}

#[test]
fn a_pattern_that_varies_within_its_window_is_not_said_to_start_there() {
    let of = |width_us: i64, len_s: f64| {
        let decision = changed(CauseFound::Jobs, job(30, 0), |recurs| {
            let place = recurs.recurrence.place.as_mut().expect("it has one");
            place.to_wall_us = place.from_wall_us + width_us;
            recurs.recurrence.effect.len_s = Some(len_s);
        });
        let text = told(&decision, None);
        let (_, when) = text.split_once("every day (28 of 30 days)").expect(&text);
        when.split(" UTC").next().expect("text").to_owned()
    };
    let hours = |hours: i64| hours * 3_600_000_000;
    assert_eq!(
        of(hours(6), 900.0),
        ", at varying times between 03:10 and 09:10"
    );
    assert_eq!(of(hours(6), 25_200.0), ", starting between 03:10 and 09:10");
    // As wide as samples are apart: nothing varies.
    assert_eq!(of(300_000_000, 60.0), " between 03:10 and 03:15");
}

#[test]
fn a_pattern_that_follows_runs_has_a_date_and_its_job() {
    let of = |cause: CauseFound, seen: usize| {
        let decision = changed(cause, job(30, 0), |recurs| {
            recurs.recurrence.rhythm.cycle = Cycle::Runs;
            recurs.recurrence.cycles_seen = seen;
        });
        told(&decision, None)
    };
    let date = "last starting between 1970-01-01 03:10 and 03:15 UTC";
    assert_eq!(
        of(CauseFound::Jobs, 30),
        format!(
            "Likely cause: backup. latency jumps up by 40 % for about 10 min each time the job starts (30 of 30 runs), {date}."
        )
    );
    assert_eq!(
        of(CauseFound::Fits, 28),
        format!(
            "latency jumps up by 40 % for about 10 min on some runs of backup (28 of 30 runs), {date}. Possible cause, not proven: backup (90 % likely, 95 % needed), or something else (10 %)."
        )
    );
}

#[test]
fn a_pattern_without_a_calendar_has_a_last_and_a_next_time() {
    let decision = changed(CauseFound::NotTheJobs, job(30, 0), |recurs| {
        recurs.classes.clear();
        recurs.recurrence.rhythm.cycle = Cycle::Fixed;
        recurs.recurrence.rhythm.period_s = 21.0 * 86_400.0;
    });
    assert_eq!(
        told(&decision, None),
        "latency jumps up by 40 % for about 10 min every 21 days (28 of 30 times), last starting between 1970-01-01 03:10 and 03:15 UTC, next about 1970-01-22. No known job explains it."
    );
}

#[test]
fn what_is_seen_on_few_days_is_not_said_to_come_every_day() {
    let decision = changed(CauseFound::NoJobRuns, job(30, 0), |recurs| {
        recurs.recurrence.cycles_seen = 9;
        recurs.recurrence.since = Some(Timestamp::UNIX_EPOCH);
        recurs.recurrence.until = Timestamp::from_second(30 * 86_400).ok();
    });
    assert_eq!(
        told(&decision, None),
        "Until 1970-01-31: latency jumps up by 40 % for about 10 min on 9 of 30 days, starting between 03:10 and 03:15 UTC. No known job on this host runs at that time."
    );
}

#[test]
fn large_rises_are_multiples_of_the_usual_level() {
    let of = |relative: f64| {
        let decision = changed(CauseFound::Jobs, job(30, 0), |recurs| {
            recurs.recurrence.effect.relative = Some(relative);
        });
        let text = told(&decision, None);
        let (_, size) = text.split_once("latency ").expect(&text);
        size.split(" for about").next().expect("text").to_owned()
    };
    assert_eq!(of(1.99), "jumps up by 199 %");
    assert_eq!(of(46.57), "jumps to about 48 times its usual level");
    // The usual level is near zero.
    assert_eq!(of(2_000.0), "jumps up by 8 ms");
}

#[test]
fn small_patterns_are_left_to_the_list() {
    let other = |size: f64| Secondary {
        rhythm: Rhythm {
            cycle: Cycle::Hour,
            weekdays: None,
            period_s: 3_600.0,
        },
        shape: Shape::Step,
        size,
        zone: None,
        place_wall_us: None,
        p: 0.001,
        jobs: vec!["/etc/crontab:2 hourly".to_owned()],
    };
    let decision = changed(CauseFound::Jobs, job(30, 0), |recurs| {
        recurs.others = vec![other(-4.0), other(1.0)];
    });
    assert_eq!(
        told(&decision, None),
        format!(
            "Likely cause: backup. {WHAT} The job runs then on all 30 days. There is also a longer drop of 4 ms every hour, when hourly (/etc/crontab, line 2) runs."
        )
    );
}

#[test]
fn unexplained_patterns_blame_no_job() {
    let of = |cause, classes| told(&spike(cause, classes), None);
    assert_eq!(
        of(CauseFound::NoJobRuns, Vec::new()),
        format!("{WHAT} No known job on this host runs at that time.")
    );
    assert_eq!(
        of(
            CauseFound::LessLoad,
            vec![JobClass {
                dated_by_start: true,
                ..job(29, 1)
            }]
        ),
        format!(
            "{WHAT} If your timestamps mark the start of each interval, backup runs then on 29 of 30 days, but an improvement this long is more likely reduced load than an effect of the job."
        )
    );
    assert_eq!(
        of(
            CauseFound::Fits,
            vec![
                JobClass {
                    score: 0.81,
                    ..job(30, 0)
                },
                JobClass {
                    score: 0.12,
                    jobs: vec!["report".to_owned()],
                    ..job(30, 0)
                },
            ]
        ),
        format!(
            "{WHAT} Possible causes, none proven: backup (81 % likely, 95 % needed), report (12 %), or something else (7 %)."
        )
    );
    assert_eq!(
        of(
            CauseFound::Fits,
            vec![JobClass {
                score: 0.4,
                ..job(30, 0)
            }]
        ),
        format!(
            "{WHAT} Cause unclear: something else (60 %), or backup (40 % likely, 95 % needed)."
        )
    );
}

#[test]
fn likely_chance_patterns_are_not_reported() {
    let text = told(&spike(CauseFound::NoJobsGiven, Vec::new()), Some(0.081));
    assert_eq!(
        text,
        format!(
            "Cannot tell: not significant among this many series (q = 0.081). {WHAT} There are no jobs to compare it with."
        )
    );
}

#[test]
fn no_pattern_sentence() {
    let nothing = |p| Decision {
        kind: Kind::None,
        outcome: Outcome::Nothing { p },
        candidates: Vec::new(),
        chance: None,
        lasting: None,
        jobs_left_out: 0,
    };
    assert_eq!(
        told(&nothing(None), None),
        "latency: no recurring pattern found."
    );
    assert_eq!(
        told(&nothing(Some(0.42)), None),
        "latency: no recurring pattern found; noise alone would look as regular in 42 % of cases."
    );
    assert_eq!(
        told(&nothing(Some(0.02)), None),
        "latency: no recurring pattern proven; noise alone looks as regular in 2 % of cases, too often to rule it out."
    );
    assert_eq!(
        told(&Decision::unusable(Unusable::TooFew(5)), None),
        "Cannot tell: 5 samples; at least 16 are needed."
    );
}

#[test]
fn a_noted_event_is_not_said_to_run() {
    assert_eq!(
        ran("kernel 6.2 (before: 6.1)", Seen::Given),
        "\"kernel 6.2 (before: 6.1)\" is noted"
    );
    assert_eq!(ran("apt-daily", Seen::Computed), "apt-daily ran");
}
