use super::*;
use crate::compare::comparison::Regression;
use crate::compare::shift::Design;
use crate::compare::trial::{Observations, Trial};
use facts::series::Better;

fn throughput(values: &[f64]) -> Vec<Trial> {
    values
        .iter()
        .map(|value| {
            let metric = Metric::scalar(*value, Some("docs/s"), Better::Higher, Rank::Primary);
            trial(vec![("bulk", "throughput", metric)])
        })
        .collect()
}

fn trial(metrics: Vec<(&str, &str, Metric)>) -> Trial {
    Trial {
        metrics: metrics
            .into_iter()
            .map(|(operation, name, metric)| (MetricKey::new(operation, name), metric))
            .collect(),
        ..Trial::default()
    }
}

fn set(name: &str, trials: Vec<Trial>) -> TrialSet {
    TrialSet {
        name: name.to_owned(),
        trials,
    }
}

fn compared(a: &[f64], b: &[f64]) -> Comparison {
    let sets = [set("old", throughput(a)), set("new", throughput(b))];
    compare(&sets, &Options::default())
        .unwrap()
        .comparisons
        .remove(0)
}

#[test]
fn a_clear_difference() {
    let found = compared(
        &[100.0, 101.0, 99.0, 100.5, 99.5],
        &[90.0, 91.0, 89.0, 90.5, 89.5],
    );
    assert_eq!(
        found.verdict,
        Verdict::Differs {
            within_margin: false
        }
    );
    // Geometric means of 100 and 90 within rounding, and 3.355 standard errors of about 0.0053 each way.
    assert!((found.ratio - 0.9).abs() < 1e-3, "{found:?}");
    assert!((found.interval.low - 0.884).abs() < 2e-3, "{found:?}");
    assert!((found.interval.high - 0.916).abs() < 2e-3, "{found:?}");
    assert_eq!(found.is_better(), Some(false));
    assert_eq!(found.regression(0.05), Regression::Shown);
    assert_eq!(found.regression(0.20), Regression::RuledOut);
}

#[test]
fn no_difference_and_too_few_trials() {
    let found = compared(
        &[100.0, 100.4, 99.6, 100.2, 99.8],
        &[100.1, 100.3, 99.7, 100.2, 99.9],
    );
    assert_eq!(
        found.verdict,
        Verdict::NoDifferenceLargerThan { margin: 0.03 }
    );
    let found = compared(&[100.0, 96.0, 104.0], &[101.0, 97.0, 103.0]);
    let Verdict::CannotTell {
        more_pairs_needed, ..
    } = found.verdict
    else {
        panic!("{found:?}");
    };
    // 2 (2.576 + 1.282)² (3.5 / 2.96)² = 42 trials by the normal approximation; t needs a few more.
    assert!((35..60).contains(&more_pairs_needed), "{found:?}");
}

#[test]
fn a_small_difference_that_is_sure_is_both() {
    let found = compared(
        &[100.0, 100.1, 99.9, 100.05, 99.95],
        &[101.0, 101.1, 100.9, 101.05, 100.95],
    );
    assert_eq!(
        found.verdict,
        Verdict::Differs {
            within_margin: true
        }
    );
}

#[test]
fn one_against_one_is_refused_with_its_figure() {
    let sets = [
        set("old", throughput(&[100.0])),
        set("new", throughput(&[90.0])),
    ];
    let error = compare(&sets, &Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("38.1 % of equal systems whose runs differ by 1 %"),
        "{text}"
    );
    assert!(text.contains("A B B A"), "{text}");
    // Trials with seconds in them are judged by their own noise: 1,000 values of sd 5 %, so 0.16 %.
    let noisy = |seed: u64| {
        let mut random = Random::numbered(seed, 1);
        let metric = Metric {
            unit: None,
            better: Better::Higher,
            rank: Rank::Primary,
            observations: Observations::Values(
                (0..1_000)
                    .map(|_| 100.0 + 5.0 * random.open_normal())
                    .collect(),
            ),
        };
        vec![trial(vec![("bulk", "throughput", metric)])]
    };
    let sets = [set("old", noisy(1)), set("new", noisy(2))];
    let Err(CompareError::OneAgainstOne {
        within_error,
        is_measured: true,
        ..
    }) = compare(&sets, &Options::default())
    else {
        panic!();
    };
    assert!((0.0012..0.0020).contains(&within_error), "{within_error}");
}

#[test]
fn tonight_against_many_nights() {
    let nights = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.7];
    let found = compared(&nights, &[90.0]);
    assert_eq!(found.design, Design::CommonSpread);
    assert!(matches!(found.verdict, Verdict::Differs { .. }));
    assert!(!matches!(
        compared(&nights, &[99.0]).verdict,
        Verdict::Differs { .. }
    ));
}

#[test]
fn a_spread_of_many_sets_shows_what_few_trials_of_two_do_not() {
    let values = [[100.0, 101.0, 99.0], [95.0, 96.0, 94.0]];
    let mut sets: Vec<TrialSet> = (0..6_u32)
        .map(|variant| {
            let values = values[usize::from(variant == 1)];
            set(&variant.to_string(), throughput(&values))
        })
        .collect();
    let found = |sets: &[TrialSet], pools_spread: bool| {
        let options = Options {
            pools_spread,
            ..Options::default()
        };
        compare(sets, &options).unwrap().comparisons
    };
    let differs = |one: &Comparison| matches!(one.verdict, Verdict::Differs { .. });
    assert!(!found(&sets, false).iter().any(differs));
    let pooled = found(&sets, true);
    assert!(pooled.iter().all(|one| one.design == Design::PooledSpread));
    let which: Vec<bool> = pooled.iter().map(differs).collect();
    assert_eq!(which, [true, false, false, false, false]);
    // A variant whose trials differ much makes all of them uncertain.
    sets.push(set("wild", throughput(&[70.0, 100.0, 130.0])));
    assert!(!found(&sets, true).iter().any(differs));
}

#[test]
fn drift_is_removed_from_alternating_trials() {
    // 2 % drift from trial to trial, a contender 3 % slower, in the order A B B A A B B A A B.
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for place in 0..10_u32 {
        let is_contender = matches!(place % 4, 1 | 2);
        let jitter = [0.1, -0.2, 0.15, 0.05, -0.1][place as usize % 5] / 100.0;
        let level = 1_000.0 * (1.0 - 0.02 * f64::from(place));
        let value = level * if is_contender { 0.97 } else { 1.0 } * (1.0 + jitter);
        let mut made = throughput(&[value]).remove(0);
        made.started_us = Some(i64::from(place) * 60_000_000);
        if is_contender { &mut b } else { &mut a }.push(made);
    }
    let report = |a: Vec<Trial>, b: Vec<Trial>| {
        compare(&[set("old", a), set("new", b)], &Options::default()).unwrap()
    };
    let paired = report(a.clone(), b.clone()).comparisons.remove(0);
    assert_eq!(paired.design, Design::Pairs);
    let unknown = |set: Vec<Trial>| {
        set.into_iter()
            .map(|trial| Trial {
                started_us: None,
                ..trial
            })
            .collect()
    };
    let sets = report(unknown(a.clone()), unknown(b.clone()))
        .comparisons
        .remove(0);
    assert_eq!(sets.design, Design::Sets);
    let width = |one: &Comparison| one.interval.high - one.interval.low;
    assert!(width(&paired) < width(&sets) * 0.7, "{paired:?} {sets:?}");
}

/// Throughputs that fall by half a percent an hour, the sets one after the other, with as many hours between them.
fn falling(trials: u32, hours_between: u32) -> [TrialSet; 2] {
    let mut all = throughput(
        &(0..2 * trials)
            .map(|place| 1_000.0 - 5.0 * f64::from(place) + f64::from(place * 5 % 3))
            .collect::<Vec<_>>(),
    );
    for (place, trial) in (0..).zip(&mut all) {
        let hour = place + if place < trials { 0 } else { hours_between };
        trial.started_us = Some(i64::from(hour) * 3_600_000_000);
    }
    let later = all.split_off(trials as usize);
    [set("old", all), set("new", later)]
}

#[test]
fn drift_from_one_set_to_the_next_is_no_difference() {
    let sets = falling(5, 0);
    let report = compare(&sets, &Options::default()).unwrap();
    let found = &report.comparisons[0];
    let Verdict::CannotTell {
        more_pairs_needed,
        in_turns: true,
        ..
    } = found.verdict
    else {
        panic!("{found:?}");
    };
    // Fewer than four pairs are not compared as pairs.
    assert!(more_pairs_needed >= 4, "{found:?}");
    assert!(found.widening > 1.5, "{found:?}");
    assert!(
        report.notes[0].starts_with("run old and new in turns (A B B A): one ran after the other"),
        "{:?}",
        report.notes
    );
    // The same trials without their times.
    let unknown = sets.map(|mut set| {
        for trial in &mut set.trials {
            trial.started_us = None;
        }
        set
    });
    let report = compare(&unknown, &Options::default()).unwrap();
    let found = &report.comparisons[0];
    assert!(
        matches!(found.verdict, Verdict::Differs { .. }),
        "{found:?}"
    );
    assert!((found.widening - 1.0).abs() < 1e-12, "{found:?}");
    assert!(
        report.notes[0].contains("not known in which order"),
        "{:?}",
        report.notes
    );
}

#[test]
fn sets_of_different_days_are_told() {
    for (hours_between, days) in [(0, None), (168, Some("they ran 7 days 1 h apart"))] {
        let report = compare(&falling(5, hours_between), &Options::default()).unwrap();
        let told = days.map_or(!report.notes[0].contains("apart"), |days| {
            report.notes[0].contains(days)
        });
        assert!(told, "{:?}", report.notes);
    }
}

#[test]
fn a_large_difference_is_found_one_set_after_the_other() {
    let [old, mut new] = falling(10, 0);
    for metric in new
        .trials
        .iter_mut()
        .flat_map(|trial| trial.metrics.values_mut())
    {
        if let Observations::Scalar(value) = &mut metric.observations {
            *value /= 2.0;
        }
    }
    let report = compare(&[old, new], &Options::default()).unwrap();
    assert_eq!(report.regressions(0.3).count(), 1, "{report:?}");
    assert_eq!(report.notes.len(), 1);
}

#[test]
fn what_cannot_be_compared_is_told() {
    let metric =
        |value: f64, unit: &str| Metric::scalar(value, Some(unit), Better::Lower, Rank::Secondary);
    let mut a = throughput(&[100.0, 101.0]);
    let mut b = throughput(&[100.0, 102.0]);
    for (index, trial) in a.iter_mut().enumerate() {
        trial
            .metrics
            .insert(MetricKey::new("bulk", "errors"), metric(0.0, "share"));
        trial
            .metrics
            .insert(MetricKey::new("bulk", "merges"), metric(0.0, "1"));
        trial
            .metrics
            .insert(MetricKey::new("bulk", "latency"), metric(5.0, "ms"));
        trial
            .metrics
            .insert(MetricKey::new("only", "here"), metric(5.0, "ms"));
        if index == 0 {
            trial
                .metrics
                .insert(MetricKey::new("bulk", "once"), metric(5.0, "ms"));
        }
    }
    for (index, trial) in b.iter_mut().enumerate() {
        let errors = if index == 0 { 0.0 } else { 0.5 };
        trial
            .metrics
            .insert(MetricKey::new("bulk", "errors"), metric(errors, "share"));
        trial
            .metrics
            .insert(MetricKey::new("bulk", "merges"), metric(0.0, "1"));
        trial
            .metrics
            .insert(MetricKey::new("bulk", "latency"), metric(0.005, "s"));
        if index == 0 {
            trial
                .metrics
                .insert(MetricKey::new("bulk", "once"), metric(5.0, "ms"));
        }
    }
    let report = compare(&[set("old", a), set("new", b)], &Options::default()).unwrap();
    assert_eq!(report.comparisons.len(), 1);
    let reasons: Vec<(&str, &str)> = report
        .skipped
        .iter()
        .map(|skipped| (skipped.metric.as_str(), skipped.reason.as_str()))
        .collect();
    assert_eq!(
        reasons,
        [
            (
                "errors",
                "a ratio takes values above 0: 0 to 0 before, 0 to 0.5 after"
            ),
            (
                "latency",
                "trials disagree on its unit or on what is better: ms and s"
            ),
            ("merges", "it is 0 in all trials"),
            ("once", "one trial of each set has it, which shows nothing"),
            ("here", "only old has it, new does not"),
        ]
    );
}

#[test]
fn errors_that_appear_are_a_regression_if_the_trials_are_enough() {
    let errors = |count: usize, share: f64| {
        let mut trials = throughput(&vec![1.0; count]);
        for (number, trial) in (1..).zip(&mut trials) {
            trial.metrics.insert(
                MetricKey::new("bulk", "errors"),
                Metric::scalar(
                    share * f64::from(number),
                    Some("share"),
                    Better::Lower,
                    Rank::Primary,
                ),
            );
        }
        trials
    };
    // Of two sets of 5, chance separates 2 of 252; of two sets of 4, 2 of 70.
    for (count, before, after, expected) in [
        (5, 0.0, 0.1, 1),
        (5, 0.1, 0.0, 0),
        (5, 0.0, 0.0, 0),
        (4, 0.0, 0.1, 0),
    ] {
        let sets = [
            set("a", errors(count, before)),
            set("b", errors(count, after)),
        ];
        let report = compare(&sets, &Options::default()).unwrap();
        let found = report.appeared().count();
        assert_eq!(found, expected, "{count}: {before} to {after}");
    }
}

#[test]
fn unusable_sets_are_refused() {
    let options = Options::default();
    let two = || throughput(&[1.0, 2.0]);
    assert_eq!(
        compare(&[set("a", two())], &options),
        Err(CompareError::TooFewSets { found: 1 })
    );
    let empty = compare(&[set("a", two()), set("b\u{1b}", vec![])], &options).unwrap_err();
    assert!(
        empty.to_string().starts_with("b\\u{1b}: no trials"),
        "{empty}"
    );
    let mut twice = two();
    for (index, trial) in twice.iter_mut().enumerate() {
        trial.id = Some("7879e8e2".to_owned());
        trial.name = format!("race {index}");
    }
    let error = compare(&[set("a", twice), set("b", two())], &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "race 0 and race 1 are the same trial (7879e8e2); each trial counts once"
    );
    let error = compare(
        &[set("a", two()), set("b", two())],
        &Options {
            margin: 0.0,
            ..options
        },
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "margin must lie above 0 and below 10, found 0"
    );
    let nothing = vec![Trial::default(), Trial::default()];
    let error = compare(&[set("a", two()), set("b", nothing)], &options).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("throughput of bulk: only a has it"),
        "{error}"
    );
}

#[test]
fn the_same_input_gives_the_same_result() {
    let noisy = |seed: u64| {
        let mut random = Random::numbered(seed, 1);
        let values = (0..300).map(|_| 100.0 + random.open_normal()).collect();
        let metric = Metric {
            unit: None,
            better: Better::Lower,
            rank: Rank::Primary,
            observations: Observations::Values(values),
        };
        trial(vec![
            ("q", "latency", metric.clone()),
            ("r", "latency", metric),
        ])
    };
    let sets: Vec<TrialSet> = (0..3)
        .map(|at| set("s", (0..4).map(|run| noisy(at * 10 + run)).collect()))
        .collect();
    let one = compare(&sets, &Options::default()).unwrap();
    assert_eq!(one, compare(&sets, &Options::default()).unwrap());
    assert_eq!(one.comparisons.len(), 4);
    assert!(
        one.comparisons
            .iter()
            .all(|found| found.within_run_error.is_some())
    );
}
