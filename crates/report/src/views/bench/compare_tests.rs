use super::super::{BenchAnswer, page as page_of};
use super::*;
use crate::envelope::Envelope;
use bench::compare::{Metric, MetricKey, Options, Trial, TrialSet, compare};
use page::{Terminal, terminal};

fn set(name: &str, values: &[(f64, f64)]) -> TrialSet {
    let trial = |(throughput, latency): &(f64, f64)| Trial {
        metrics: [
            (
                MetricKey::new("bulk", "throughput mean"),
                Metric::scalar(*throughput, Some("docs/s"), Better::Higher, Rank::Primary),
            ),
            (
                MetricKey::new("search", "latency p99"),
                Metric::scalar(*latency, Some("ms"), Better::Lower, Rank::Primary),
            ),
        ]
        .into(),
        environment: [("kernel".to_owned(), format!("6.{}", name.len()))].into(),
        ..Trial::default()
    };
    TrialSet {
        name: name.to_owned(),
        trials: values.iter().map(trial).collect(),
    }
}

fn text(sets: &[TrialSet], fail_on_regression: Option<f64>) -> String {
    let report = compare(sets, &Options::default()).expect("trials");
    let compared = Compared::new(report, fail_on_regression);
    let answer = BenchAnswer::Compare(Box::new(compared));
    let envelope = Envelope::new(
        "0.1.0",
        jiff::Timestamp::UNIX_EPOCH,
        "10 trials in 2 sets",
        answer,
    );
    terminal(&page_of(&envelope, true), &Terminal::default())
}

/// The same latency but for noise of 2 %, and a throughput that is a tenth lower.
fn slower() -> [TrialSet; 2] {
    [
        set(
            "old",
            &[
                (1000.0, 20.0),
                (1005.0, 20.4),
                (995.0, 19.6),
                (1002.0, 20.2),
                (998.0, 19.8),
            ],
        ),
        set(
            "newer",
            &[
                (900.0, 20.1),
                (905.0, 19.7),
                (895.0, 20.3),
                (902.0, 19.9),
                (898.0, 20.0),
            ],
        ),
    ]
}

/// As fast as the first of [`slower`].
fn again() -> TrialSet {
    set(
        "again",
        &[
            (1001.0, 20.1),
            (996.0, 19.9),
            (1004.0, 20.2),
            (999.0, 19.8),
            (1000.0, 20.0),
        ],
    )
}

#[test]
fn the_difference_comes_first_and_what_cannot_be_told_after_it() {
    let text = text(&slower(), None);
    assert!(
        text.starts_with("Bulk throughput mean of newer is 10 % lower"),
        "{text}"
    );
    assert!(text.contains("which is worse"), "{text}");
    assert!(
        text.contains("kernel: old has 6.3; newer has 6.5"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn errors_that_appear_come_first_and_hide_no_other_difference() {
    let mut sets = slower();
    for (set, share) in sets.iter_mut().zip([0.0, 0.02]) {
        for trial in &mut set.trials {
            let errors = Metric::scalar(share, None, Better::Lower, Rank::Primary);
            let key = MetricKey::new("bulk", "share of errors");
            trial.metrics.insert(key, errors);
        }
    }
    let text = text(&sets, None);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.starts_with(
            "Bulk share of errors of newer is above 0 in all trials, and was 0 in all before, which is worse. \
             Bulk throughput mean of newer is 10 % lower"
        ),
        "{text}"
    );
}

#[test]
fn a_regression_is_named_with_its_size() {
    let shown = text(&slower(), Some(0.05));
    assert!(
        shown.starts_with("Regression of 5 % or more: bulk throughput mean of newer"),
        "{shown}"
    );
    let [old, _] = slower();
    let text = text(&[old, again()], Some(0.1));
    assert!(text.contains("A regression of 10 % is ruled out"), "{text}");
}

#[test]
fn equal_sets_are_said_to_be_equal_within_the_margin() {
    let [old, _] = slower();
    let text = text(&[old, again()], None);
    assert!(
        text.starts_with("No difference larger than 3 % in"),
        "{text}"
    );
}

/// The sets with times, as if each ran after the one before.
fn one_after_the_other(mut sets: [TrialSet; 2]) -> [TrialSet; 2] {
    let trials = sets.iter_mut().flat_map(|set| &mut set.trials);
    for (hour, trial) in (0..).zip(trials) {
        trial.started_us = Some(hour * 3_600_000_000);
    }
    sets
}

#[test]
fn what_may_be_drift_says_first_how_to_find_out() {
    // Throughput falls from trial to trial, whichever set it is of; latency stays.
    let falling = one_after_the_other([
        set(
            "old",
            &[
                (1000.0, 20.0),
                (994.0, 20.1),
                (991.0, 19.9),
                (985.0, 20.0),
                (980.0, 20.0),
            ],
        ),
        set(
            "newer",
            &[
                (974.0, 20.0),
                (971.0, 19.9),
                (965.0, 20.1),
                (961.0, 20.0),
                (955.0, 20.0),
            ],
        ),
    ]);
    for share in [None, Some(0.01)] {
        let text = text(&falling, share);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.starts_with(
                "Cannot tell change from drift in 1 metric: run the sets in turns (A B B A), "
            ),
            "{text}"
        );
        assert!(
            words.contains("No difference larger than 3 % in 1 metric"),
            "{text}"
        );
        assert!(words.contains("trials in turns"), "{text}");
        assert!(
            words.contains("caution run old and newer in turns (A B B A): one ran after the other"),
            "{text}"
        );
    }
    // A tenth is more than drift of that size explains, and comes first.
    let text = text(&one_after_the_other(slower()), None);
    assert!(
        text.starts_with("Bulk throughput mean of newer is 10 % lower"),
        "{text}"
    );
}
