//! What comparisons promise, on simulated trials. `examples/equal.rs` measures the same with more of them.

#[path = "../examples/simulate/mod.rs"]
mod simulate;

use bench::compare::{Comparison, Options};
use rayon::prelude::*;
use simulate::{
    Effect, Machine, Random, System, compared, differs, in_order, is_worse, says_equal, trial_set,
};

/// A test that is right fails this rarely by chance.
const CHANCE: f64 = 1e-6;

fn found(system: &System, trials: usize, ratio: f64, number: u64) -> Comparison {
    let mut random = Random::new(77, number + 1);
    let mut set = |name: &str, mean: f64| {
        let runs = (0..trials).map(|_| system.trial(mean, &mut random));
        trial_set(name, runs.collect())
    };
    let sets = [set("a", 100.0), set("b", 100.0 * ratio)];
    compared(&sets, &Options::default())
}

/// How many of `pairs` comparisons are so.
fn count(
    pairs: u32,
    compare: impl Fn(u64) -> Comparison + Sync,
    is_so: fn(&Comparison) -> bool,
) -> u32 {
    let all = (0..pairs).into_par_iter();
    let hits = all.filter(|pair| is_so(&compare(u64::from(*pair))));
    u32::try_from(hits.count()).unwrap()
}

/// The least number of hits that `of` trials with probability `p` exceed at most with [`CHANCE`].
fn at_most(p: f64, of: u32) -> u32 {
    let mut probability = (1.0 - p).powi(i32::try_from(of).unwrap());
    let (mut hits, mut up_to) = (0, probability);
    while 1.0 - up_to > CHANCE {
        probability *= f64::from(of - hits) / f64::from(hits + 1) * p / (1.0 - p);
        hits += 1;
        up_to += probability;
    }
    hits
}

#[test]
fn binomial_bounds() {
    // P(X > 1) of two is p², P(X > 2) of three is p³, P(X > 1) of three is about 3 p².
    assert_eq!(at_most(0.000_5, 2), 1);
    assert_eq!(at_most(0.005, 3), 2);
    assert_eq!(at_most(0.000_5, 3), 1);
    assert_eq!(at_most(0.5, 1), 1);
}

#[test]
fn equal_systems_are_rarely_called_different() {
    for (between, effect) in [
        (0.01, Effect::Normal),
        (0.02, Effect::Normal),
        (0.02, Effect::Outliers),
    ] {
        let system = System {
            between,
            effect,
            ..System::default()
        };
        let wrong = count(400, |pair| found(&system, 5, 1.0, pair), differs);
        let bound = at_most(0.01, 400);
        // Which is below the 5 % that are asked for.
        assert!(
            wrong <= bound && bound <= 20,
            "{between} {effect:?}: {wrong} of 400, at most {bound}"
        );
    }
}

#[test]
fn five_percent_are_found_with_ten_trials() {
    let system = System::with_sd(0.02);
    let missed = 200 - count(200, |pair| found(&system, 10, 0.95, pair), is_worse);
    // The difference is δ = 0.0513 / (0.0206 √0.2) = 5.57 standard errors, t(0.005, 18) = 2.88, and the power by
    // the normal approximation of the noncentral t, Φ((δ - t (1 - 1/72)) / √(1 + t²/36)), 99.3 %.
    let bound = at_most(0.007, 200);
    assert!(
        missed <= bound && bound <= 20,
        "{missed} of 200, at most {bound}"
    );
}

#[test]
fn no_difference_is_said_of_equal_systems_and_not_of_others() {
    let system = System::with_sd(0.01);
    let silent = 200 - count(200, |pair| found(&system, 10, 1.0, pair), says_equal);
    // Only a difference beyond 2.96 % - 2.10 standard errors of 0.5 %, so 3.8 of them, is not called small.
    assert!(silent <= at_most(0.001, 200), "{silent} of 200");
    for ratio in [1.03, 1.0 / 1.03] {
        let wrong = count(200, |pair| found(&system, 10, ratio, pair), says_equal);
        let bound = at_most(0.025, 200);
        assert!(wrong <= bound, "{ratio}: {wrong} of 200, at most {bound}");
    }
}

/// Sets in an order such as `ABBA`, on a machine on which trials resemble the one before.
fn found_in_order(order: &str, phi: f64, ratio: f64, number: u64) -> Comparison {
    let machine = Machine {
        slow: 0.02,
        phi,
        ..Machine::default()
    };
    let mut random = Random::new(78, number + 1);
    let logs = machine.trials(order.len(), &mut random);
    compared(&in_order(order, logs, ratio, true), &Options::default())
}

#[test]
fn sets_one_after_the_other_are_rarely_called_different_on_a_machine_that_drifts() {
    for trials in [5, 10] {
        let order = "A".repeat(trials) + &"B".repeat(trials);
        for phi in [0.6, 0.8] {
            let wrong = count(400, |pair| found_in_order(&order, phi, 1.0, pair), differs);
            // Without the times it is 8 % (5 trials, 0.6) to 30 % (10 trials, 0.8).
            let bound = at_most(0.05, 400);
            assert!(
                wrong <= bound,
                "{trials} {phi}: {wrong} of 400, at most {bound}"
            );
        }
    }
}

#[test]
fn five_percent_are_found_in_turns_on_a_machine_that_drifts() {
    let order = "ABBA".repeat(5);
    for phi in [0.0, 0.6] {
        let missed = 200
            - count(
                200,
                |pair| found_in_order(&order, phi, 0.95, pair),
                is_worse,
            );
        let bound = at_most(0.1, 200);
        assert!(missed <= bound, "{phi}: {missed} of 200, at most {bound}");
    }
}
