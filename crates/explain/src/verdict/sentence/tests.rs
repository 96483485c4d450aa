use super::*;
use crate::verdict::recurrence::Rhythm;
use crate::verdict::result::{Effect, Folded};

const CONTEXT: SentenceContext = SentenceContext {
    name: "latency",
    unit: Some("ms"),
    better: Some(Better::Lower),
    zone: "UTC",
    gap_us: 300_000_000,
    first: None,
    jobs: 3,
};

/// A daily spike at 03:10, seen on 28 of 30 days.
fn spike(cause: CauseFound, classes: Vec<JobMatch>) -> Decision {
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

fn job(matched: usize, missed: usize) -> JobMatch {
    JobMatch {
        jobs: vec!["backup".to_owned()],
        role: Role::Hurts,
        matched,
        missed,
        idle_runs: 0,
        lag_s: None,
        dated_by_start: false,
        score: 0.9,
        evidence: Vec::new(),
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

const WHAT: &str = "latency jumps up by 40 % for about 10 min, starting between 03:10 and 03:15 UTC every day (28 of 30 days).";

#[test]
fn sentences_depend_on_how_runs_match() {
    let of = |class: JobMatch| {
        let text = told(&spike(CauseFound::Jobs, vec![class]), None);
        text.strip_prefix(WHAT).map(str::to_owned).expect(&text)
    };
    assert_eq!(
        of(job(30, 0)),
        " One job always runs at that time: backup. latency is worse while the job runs."
    );
    assert_eq!(
        of(JobMatch {
            role: Role::Unknown,
            ..job(29, 1)
        }),
        " In 29 of 30 cases one job runs at that time: backup. Pass --better to say whether higher or lower is better."
    );
    assert_eq!(
        of(JobMatch {
            dated_by_start: true,
            ..job(30, 0)
        }),
        " One job always runs at that time, if your timestamps mark the start of each interval: backup. latency is worse while the job runs."
    );
    assert_eq!(
        of(JobMatch {
            lag_s: Some(90.0),
            role: Role::Heals,
            jobs: vec!["cron.daily/a".to_owned(), "cron.daily/b".to_owned()],
            ..job(30, 0)
        }),
        " These jobs always run at that time or up to 1 min 30 s before: cron.daily (a, b); samples every 5 min cannot tell them apart. latency is better while they run."
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
            vec![JobMatch {
                dated_by_start: true,
                ..job(29, 1)
            }]
        ),
        format!(
            "{WHAT} If your timestamps mark the start of each interval, backup runs at that time in 29 of 30 cases, but an improvement this long is more likely reduced load than an effect of the job."
        )
    );
    assert_eq!(
        of(
            CauseFound::Fits,
            vec![
                JobMatch {
                    score: 0.81,
                    ..job(30, 0)
                },
                JobMatch {
                    score: 0.12,
                    jobs: vec!["report".to_owned()],
                    ..job(30, 0)
                },
            ]
        ),
        format!(
            "{WHAT} Suspected, not proven: backup (81 %), report (12 %), or something else (7 %)."
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
        "latency: no recurring pattern found; noise alone looks as regular 42 % of the time."
    );
    assert_eq!(
        told(&Decision::unusable(Unusable::TooFew(5)), None),
        "Cannot tell: 5 samples; at least 16 are needed."
    );
}

#[test]
fn a_noted_event_is_not_said_to_run() {
    let event = "kernel 6.2 (before: 6.1)".to_owned();
    assert_eq!(
        coincidence(&Coincidence::Noted { event }),
        "\"kernel 6.2 (before: 6.1)\" is noted"
    );
    let job = "apt-daily".to_owned();
    assert_eq!(coincidence(&Coincidence::Ran { job }), "apt-daily ran");
}
