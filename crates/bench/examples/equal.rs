//! How often verdicts on sets of trials are wrong, beside the tests that others use, on the same data.
//!
//! ```text
//! equal [PAIRS [PART]]          prints Markdown; 2,000 pairs of sets for each line by default
//! ```
//!
//! Runs are of 300 s; a second's throughput varies by 5 % around the run's mean, with an autocorrelation of 0.5;
//! the runs' means vary by 1 or 2 %. Each share has its 95 % interval (Wilson 1927).
#![allow(clippy::cast_precision_loss)] // counts are small

mod simulate;

use bench::compare::batch_means::memory;
use bench::compare::distribution::student_two_sided;
use bench::compare::single::single_run_false_share;
use bench::compare::{
    Comparison, Metric, MetricKey, Options, Rank, Trial, TrialSet, Verdict, compare,
};
use facts::series::Better;
use rayon::prelude::*;
use simulate::{
    Effect, Machine, Random, System, compared, differs, is_worse, says_equal, trial_set,
};

const SEED: u64 = 20;
const MARGIN: f64 = 0.03;

/// A name and what prints it.
type Part = (&'static str, fn(u64));

/// The parts, in order.
const PARTS: [Part; 9] = [
    ("equal", equal_systems),
    ("unequal-sets", unequal_sets),
    ("first-200", first_200),
    ("slower", slower_systems),
    ("equivalence", equivalence),
    ("promised-trials", promised_trials),
    ("many-metrics", many_metrics),
    ("interleaved", interleaved),
    ("one-after-the-other", one_after_the_other),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let pairs: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    let only = arguments.next();
    println!("{pairs} pairs of sets for each line; runs of 300 s, noise 5 % a second, phi 0.5\n");
    for (name, run) in PARTS {
        if only.as_deref().is_none_or(|only| only == name) {
            run(pairs);
        }
    }
}

/// One pair of sets, as series of seconds.
struct Runs {
    baseline: Vec<Vec<f64>>,
    contender: Vec<Vec<f64>>,
}

fn simulate(system: &System, trials: usize, ratio: f64, number: u64) -> Runs {
    let mut random = Random::new(SEED, number + 1);
    Runs {
        baseline: runs(system, trials, 10_000.0, &mut random),
        contender: runs(system, trials, 10_000.0 * ratio, &mut random),
    }
}

fn runs(system: &System, trials: usize, mean: f64, random: &mut Random) -> Vec<Vec<f64>> {
    (0..trials).map(|_| system.trial(mean, random)).collect()
}

fn options() -> Options {
    Options {
        margin: MARGIN,
        ..Options::default()
    }
}

fn ours(runs: &Runs) -> Comparison {
    let sets = [
        trial_set("baseline", runs.baseline.clone()),
        trial_set("contender", runs.contender.clone()),
    ];
    compared(&sets, &options())
}

/// What each test says of each pair.
fn outcomes<T: Send>(pairs: u64, of_pair: impl Fn(u64) -> T + Send + Sync) -> Vec<T> {
    (0..pairs).into_par_iter().map(of_pair).collect()
}

/// Welch's t at 5 % on means with variances and numbers of independent values.
fn welch(a: (f64, f64, f64), b: (f64, f64, f64)) -> bool {
    let (of_a, of_b) = (a.1 / a.2, b.1 / b.2);
    let freedom = (of_a + of_b).powi(2) / (of_a.powi(2) / (a.2 - 1.0) + of_b.powi(2) / (b.2 - 1.0));
    student_two_sided((b.0 - a.0) / (of_a + of_b).sqrt(), freedom) < 0.05
}

fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0))
}

/// Latte's test: all values as one series, and as many independent ones as batch means say.
fn latte(a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
    let series = |runs: &[Vec<f64>]| {
        let values = runs.concat();
        let (mean, variance) = moments(&values);
        let independent = values.len() as f64 / memory(&values).autocorrelation_time;
        (mean, variance, independent.floor())
    };
    welch(series(a), series(b))
}

/// Welch's t on the means of trials.
fn welch_on_trials(runs: &Runs) -> bool {
    let set = |runs: &[Vec<f64>]| {
        let means: Vec<f64> = runs.iter().map(|run| moments(run).0).collect();
        let (mean, variance) = moments(&means);
        (mean, variance, means.len() as f64)
    };
    welch(set(&runs.baseline), set(&runs.contender))
}

/// `4.6 % (3.8 to 5.6)`.
fn share(hits: usize, of: usize) -> String {
    let (n, p, z) = (of as f64, hits as f64 / of as f64, 1.959_964);
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    format!(
        "{:.1} % ({:.1} to {:.1})",
        100.0 * p,
        100.0 * (centre - half).max(0.0),
        100.0 * (centre + half).min(1.0)
    )
}

fn shares<const N: usize>(outcomes: &[[bool; N]]) -> String {
    let columns: Vec<String> = (0..N)
        .map(|column| {
            let hits = outcomes.iter().filter(|outcome| outcome[column]).count();
            format!(" {} |", share(hits, outcomes.len()))
        })
        .collect();
    columns.concat()
}

fn false_verdicts(pairs: u64, system: &System, trials: usize) -> Vec<[bool; 4]> {
    outcomes(pairs, |pair| {
        let runs = simulate(system, trials, 1.0, pair);
        [
            differs(&ours(&runs)),
            welch_on_trials(&runs),
            latte(&runs.baseline[..1], &runs.contender[..1]),
            latte(&runs.baseline, &runs.contender),
        ]
    })
}

fn equal_systems(pairs: u64) {
    println!("Equal systems: share of false *differs*\n");
    println!(
        "| trials | run-to-run sd | run effect | ours (1 %) | Welch on trial means (5 %) | Latte, one run each (5 %) | \
         Latte, runs pooled (5 %) | one run each, computed |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for effect in [Effect::Normal, Effect::Heavy, Effect::Outliers] {
        for between in [0.01, 0.02] {
            for trials in [3, 5, 10] {
                let system = System {
                    between,
                    effect,
                    ..System::default()
                };
                let outcomes = false_verdicts(pairs, &system, trials);
                let within = system.within * (3.0 / system.seconds as f64).sqrt();
                println!(
                    "| {trials} and {trials} | {:.0} % | {effect:?} |{} {:.1} % |",
                    between * 100.0,
                    shares(&outcomes),
                    100.0 * single_run_false_share(between, within),
                );
            }
        }
    }
}

/// Sets of different size, and systems that spread differently.
fn unequal_sets(pairs: u64) {
    println!("\nEqual systems in sets of different size or spread: share of false *differs*\n");
    println!("| trials | run-to-run sd | ours (1 %) |");
    println!("|---|---|---|");
    for ((a, sd_a), (b, sd_b)) in [
        ((10, 0.02), (1, 0.02)),
        ((30, 0.02), (1, 0.02)),
        ((10, 0.02), (2, 0.02)),
        ((10, 0.02), (3, 0.02)),
        ((10, 0.01), (3, 0.03)),
        ((5, 0.01), (5, 0.03)),
    ] {
        let outcomes = outcomes(pairs, |pair| {
            let mut random = Random::new(SEED + 3, pair + 1);
            let runs = Runs {
                baseline: runs(&System::with_sd(sd_a), a, 10_000.0, &mut random),
                contender: runs(&System::with_sd(sd_b), b, 10_000.0, &mut random),
            };
            [differs(&ours(&runs))]
        });
        println!(
            "| {a} and {b} | {:.0} and {:.0} % |{}",
            sd_a * 100.0,
            sd_b * 100.0,
            shares(&outcomes)
        );
    }
}

fn first_200(_: u64) {
    println!("\nThe first 200 of these with 5 and 5 normal trials: number of false *differs*\n");
    println!(
        "| run-to-run sd | ours | Welch on trial means | Latte, one run each | Latte, runs pooled |"
    );
    println!("|---|---|---|---|---|");
    for between in [0.01, 0.02] {
        let system = System::with_sd(between);
        let outcomes = false_verdicts(200, &system, 5);
        let count = |column: usize| outcomes.iter().filter(|outcome| outcome[column]).count();
        println!(
            "| {:.0} % | {} | {} | {} | {} |",
            between * 100.0,
            count(0),
            count(1),
            count(2),
            count(3)
        );
    }
}

fn slower_systems(pairs: u64) {
    println!("\nA contender 5 % slower: share of *differs* and worse\n");
    println!("| trials | run-to-run sd | ours (1 %) | Welch on trial means (5 %) |");
    println!("|---|---|---|---|");
    for between in [0.01, 0.02] {
        for trials in [5, 10] {
            let system = System::with_sd(between);
            let outcomes = outcomes(pairs, |pair| {
                let runs = simulate(&system, trials, 0.95, pair);
                [is_worse(&ours(&runs)), welch_on_trials(&runs)]
            });
            let percent = between * 100.0;
            println!(
                "| {trials} and {trials} | {percent:.0} % |{}",
                shares(&outcomes)
            );
        }
    }
}

fn equivalence(pairs: u64) {
    println!(
        "\nVerdicts at a margin of 3 %: *no difference larger than 3 %* is wrong from a true difference of 3 % on\n"
    );
    println!(
        "| trials | run-to-run sd | true difference | no difference larger | cannot tell | differs |"
    );
    println!("|---|---|---|---|---|---|");
    for (trials, between) in [(5, 0.01), (5, 0.02), (10, 0.01), (10, 0.02), (20, 0.02)] {
        let system = System::with_sd(between);
        for ratio in [1.0, 0.99, 1.02, 1.03, 1.0 / 1.03, 0.97, 1.04] {
            let outcomes = outcomes(pairs, |pair| {
                let found = ours(&simulate(&system, trials, ratio, pair));
                let cannot_tell = matches!(found.verdict, Verdict::CannotTell { .. });
                [says_equal(&found), cannot_tell, differs(&found)]
            });
            println!(
                "| {trials} and {trials} | {:.0} % | {:+.2} % |{}",
                between * 100.0,
                (ratio - 1.0) * 100.0,
                shares(&outcomes)
            );
        }
    }
}

fn promised_trials(pairs: u64) {
    println!(
        "\n*Cannot tell* asks for more trials; with as many as it asks for, both answers must come in 90 %\n"
    );
    println!(
        "| run-to-run sd | trials asked for | equal systems: no difference larger than 3 % | 3 % faster: differs |"
    );
    println!("|---|---|---|---|");
    for between in [0.02, 0.04] {
        let system = System::with_sd(between);
        // The typical answer of sets of ten.
        let mut asked: Vec<u32> = (0..pairs.min(500))
            .into_par_iter()
            .filter_map(
                |pair| match ours(&simulate(&system, 10, 1.0, pair)).verdict {
                    Verdict::CannotTell {
                        more_pairs_needed, ..
                    } => Some(10 + more_pairs_needed),
                    _ => None,
                },
            )
            .collect();
        asked.sort_unstable();
        let Some(trials) = asked.get(asked.len() / 2).copied() else {
            continue;
        };
        let outcomes = outcomes(pairs.min(500), |pair| {
            let of = |ratio: f64| ours(&simulate(&system, trials as usize, ratio, pair));
            [says_equal(&of(1.0)), differs(&of(1.03))]
        });
        println!(
            "| {:.0} % | {trials} (median) |{}",
            between * 100.0,
            shares(&outcomes)
        );
    }
}

fn many_metrics(pairs: u64) {
    println!(
        "\nEqual systems with several metrics, 5 and 5 trials, 2 %: share of comparisons that find any difference\n"
    );
    println!("| metrics | independent | half of the run effect shared |");
    println!("|---|---|---|");
    for count in [2, 12, 40] {
        let outcomes = outcomes(pairs, |pair| {
            [0.0, 0.5].map(|shared| any_difference(count, shared, pair))
        });
        println!("| {count} |{}", shares(&outcomes));
    }
}

fn any_difference(count: usize, shared: f64, pair: u64) -> bool {
    let mut random = Random::new(SEED + 1, pair + 1);
    let mut set = |name: &str| TrialSet {
        name: name.to_owned(),
        trials: (0..5)
            .map(|_| {
                let common = random.normal();
                let metrics = (0..count).map(|index| {
                    let own = random.normal();
                    let effect = f64::sqrt(shared) * common + f64::sqrt(1.0 - shared) * own;
                    let value = 100.0 * (0.02 * effect).exp();
                    (
                        MetricKey::new("bulk", format!("metric {index}")),
                        Metric::scalar(value, None, Better::Higher, Rank::Primary),
                    )
                });
                Trial {
                    metrics: metrics.collect(),
                    ..Trial::default()
                }
            })
            .collect(),
    };
    let sets = [set("baseline"), set("contender")];
    let report = compare(&sets, &options()).expect("sets of trials");
    report.comparisons.iter().any(differs)
}

/// Trials in the order A B B A on a machine that drifts, with and without their times.
fn interleaved(pairs: u64) {
    println!(
        "\nTrials in the order A B B A, 10 and 10, 1 %, on a machine that slows down steadily or walks at random\n"
    );
    println!(
        "| drift | equal, in pairs: differs | equal, as sets: differs | 5 % slower, in pairs: worse | 5 % slower, as sets: worse | \
         equal, one after the other: differs | the same, order unknown |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, slope, step) in [
        ("2 % in all", 0.02 / 19.0, 0.0),
        ("5 % in all", 0.05 / 19.0, 0.0),
        ("10 % in all", 0.1 / 19.0, 0.0),
        ("3 % a trial, at random", 0.0, 0.03),
    ] {
        let machine = Machine {
            slow: 0.01,
            slope,
            step,
            ..Machine::default()
        };
        let (turns, halves) = ("ABBA".repeat(5), "A".repeat(10) + &"B".repeat(10));
        let outcomes = outcomes(pairs, |pair| {
            let of = |ratio: f64, timed: bool| in_order(&turns, machine, ratio, timed, pair);
            let after = |timed: bool| differs(&in_order(&halves, machine, 1.0, timed, pair));
            [
                differs(&of(1.0, true)),
                differs(&of(1.0, false)),
                is_worse(&of(0.95, true)),
                is_worse(&of(0.95, false)),
                after(true),
                after(false),
            ]
        });
        println!("| {name} |{}", shares(&outcomes));
    }
}

/// Compares sets of trials in an order, such as `ABBA`.
fn in_order(order: &str, machine: Machine, ratio: f64, timed: bool, pair: u64) -> Comparison {
    let mut random = Random::new(SEED + 2, pair + 1);
    let logs = machine.trials(order.len(), &mut random);
    compared(&simulate::in_order(order, logs, ratio, timed), &options())
}

/// Trials that resemble the one before, by the order in which the sets ran.
fn one_after_the_other(pairs: u64) {
    println!(
        "\nTrials that resemble the one before. In brackets: the order is not known. Equal systems and 5 % slower ones \
         at 2 %, systems that differ by 3 % and equal ones at 1 %\n"
    );
    println!(
        "| order | trials | correlation | equal: differs | 5 % slower: worse | 3 % apart: no difference larger | equal: \
         no difference larger |"
    );
    println!("|---|---|---|---|---|---|---|");
    let all = [0.0, 0.3, 0.6, 0.8, 0.9];
    for trials in [3, 5, 10, 20] {
        let order = "A".repeat(trials) + &"B".repeat(trials);
        lines(pairs, "A ... A B ... B", &order, &all, 1.0);
    }
    for trials in [10, 20] {
        let order = "A".repeat(trials) + &"B".repeat(trials);
        let name = "A ... A B ... B, half of the variance independent";
        lines(pairs, name, &order, &all[3..], 0.5);
    }
    let nights = "A".repeat(20) + "B";
    lines(pairs, "A ... A B", &nights, &all, 1.0);
    lines(pairs, "A B B A", &"ABBA".repeat(5), &all, 1.0);
    let name = "A B B A, half of the variance independent";
    lines(pairs, name, &"ABBA".repeat(5), &all[3..], 0.5);
    lines(pairs, "A B A B", &"AB".repeat(10), &all[2..4], 1.0);
    lines(pairs, "A A B B", &"AABB".repeat(5), &all[2..4], 1.0);
    lines(
        pairs,
        "5 A 5 B, twice",
        &"AAAAABBBBB".repeat(2),
        &all[2..4],
        1.0,
    );
}

/// One line for each coefficient, which `slow` of the variance has.
fn lines(pairs: u64, name: &str, order: &str, phis: &[f64], slow: f64) {
    let [a, b] = ['A', 'B'].map(|set| order.matches(set).count());
    for phi in phis {
        // The noise within a run of 300 s adds half a percent, as in the other parts.
        let [wide, narrow] = [0.02, 0.01].map(|between| {
            let sd = f64::hypot(between, 0.005);
            Machine {
                slow: sd * slow.sqrt(),
                phi: *phi,
                noise: sd * (1.0 - slow).sqrt(),
                ..Machine::default()
            }
        });
        let outcomes = outcomes(pairs, |pair| {
            [true, false].map(|timed| {
                let of = |machine, ratio| in_order(order, machine, ratio, timed, pair);
                [
                    differs(&of(wide, 1.0)),
                    is_worse(&of(wide, 0.95)),
                    says_equal(&of(narrow, 1.03)),
                    says_equal(&of(narrow, 1.0)),
                ]
            })
        });
        print!("| {name} | {a} and {b} | {phi} |");
        for column in 0..4 {
            let hits = [0, 1].map(|known: usize| {
                let outcomes = outcomes.iter();
                outcomes.filter(|outcome| outcome[known][column]).count()
            });
            let unknown = 100.0 * hits[1] as f64 / pairs as f64;
            print!(
                " {:.1} % ({unknown:.1}) |",
                100.0 * hits[0] as f64 / pairs as f64
            );
        }
        println!();
    }
}
