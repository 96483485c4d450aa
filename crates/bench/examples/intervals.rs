//! Which interval for the ratio of two sets of trials keeps its promise with few trials? Compares bootstraps of
//! the hierarchy (trials, then blocks within) with t intervals on the trials' logarithms, and ways to analyse
//! interleaved trials.
//!
//! ```text
//! intervals [PAIRS]             prints Markdown; 2,000 pairs of sets for each line by default
//! ```
#![allow(clippy::cast_precision_loss, clippy::many_single_char_names)] // counts are small; formulas

mod simulate;

use bench::compare::distribution::{normal_quantile, normal_tail, student_quantile};
use rayon::prelude::*;
use simulate::{Effect, Random, System};
use std::fmt::Write as _;

const DRAWS: usize = 999;
/// Seconds of a block: five times the autocorrelation time of phi 0.5.
const BLOCK: usize = 15;
const ALPHA: f64 = 0.05;

fn main() {
    let pairs: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    println!(
        "Share of 95 % intervals that miss a ratio of 1 (promise: 5 %), {pairs} pairs of sets of equal systems,"
    );
    println!(
        "and in brackets their mean width in %; runs of 300 s, noise 5 % a second, phi 0.5, run-to-run sd 1 %\n"
    );
    println!("| trials | run effect | percentile | BCa | bootstrap-t | Welch's t on log means |");
    println!("|---|---|---|---|---|---|");
    for effect in [Effect::Normal, Effect::Heavy, Effect::Outliers] {
        for (a, b) in [(3, 3), (5, 5), (10, 10), (3, 10)] {
            candidates(pairs, effect, a, b);
        }
    }
    println!(
        "\nInterleaved A B B A, {pairs} pairs of sets: misses of 1, and in brackets the mean width in %\n"
    );
    println!(
        "| trials | drift | Welch | paired t | paired t, order as covariate | regression on time |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, drift) in [
        ("none", Drift::None),
        ("linear, 10 % in all", Drift::Linear(0.1)),
        ("random walk, 1 % a trial", Drift::Walk(0.01)),
        ("random walk, 3 % a trial", Drift::Walk(0.03)),
    ] {
        for n in [4, 5, 10] {
            interleaved(pairs, name, drift, n);
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

type Interval = (f64, f64);

/// A trial's block means.
fn blocks(series: &[f64]) -> Vec<f64> {
    series.chunks_exact(BLOCK).map(mean).collect()
}

fn log_means(trials: &[Vec<f64>]) -> Vec<f64> {
    trials.iter().map(|blocks| mean(blocks).ln()).collect()
}

fn resample(trials: &[Vec<f64>], random: &mut Random) -> Vec<f64> {
    (0..trials.len())
        .map(|_| {
            let blocks = &trials[random.below(trials.len())];
            let sum: f64 = (0..blocks.len())
                .map(|_| blocks[random.below(blocks.len())])
                .sum();
            (sum / blocks.len() as f64).ln()
        })
        .collect()
}

fn standard_error(a: &[f64], b: &[f64]) -> f64 {
    (variance(a) / a.len() as f64 + variance(b) / b.len() as f64).sqrt()
}

fn welch(a: &[f64], b: &[f64]) -> Interval {
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    let freedom =
        (va + vb).powi(2) / (va * va / (a.len() as f64 - 1.0) + vb * vb / (b.len() as f64 - 1.0));
    let half = student_quantile(ALPHA / 2.0, freedom) * (va + vb).sqrt();
    let shift = mean(b) - mean(a);
    (shift - half, shift + half)
}

fn at(sorted: &[f64], share: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
    let rank = (share * (sorted.len() as f64 + 1.0)).round().max(1.0) as usize - 1;
    sorted[rank.min(sorted.len() - 1)]
}

/// Percentile, `BCa` and bootstrap-t (Efron, Tibshirani 1993, chapters 12 to 14) of the same draws.
fn bootstraps(a: &[Vec<f64>], b: &[Vec<f64>], random: &mut Random) -> [Interval; 3] {
    let (la, lb) = (log_means(a), log_means(b));
    let shift = mean(&lb) - mean(&la);
    let error = standard_error(&la, &lb);
    let mut shifts = Vec::with_capacity(DRAWS);
    let mut ts = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let (ra, rb) = (resample(a, random), resample(b, random));
        let drawn = mean(&rb) - mean(&ra);
        shifts.push(drawn);
        ts.push((drawn - shift) / standard_error(&ra, &rb).max(error * 1e-3));
    }
    shifts.sort_by(f64::total_cmp);
    ts.sort_by(f64::total_cmp);
    let percentile = (at(&shifts, ALPHA / 2.0), at(&shifts, 1.0 - ALPHA / 2.0));
    let studentised = (
        shift - at(&ts, 1.0 - ALPHA / 2.0) * error,
        shift - at(&ts, ALPHA / 2.0) * error,
    );
    let below = shifts.iter().filter(|drawn| **drawn < shift).count() as f64;
    let quantile = |share: f64| {
        if share > 0.5 {
            normal_quantile(1.0 - share)
        } else {
            -normal_quantile(share)
        }
    };
    let bias = quantile((below / DRAWS as f64).clamp(0.001, 0.999));
    // Jackknife over trials of both sets: leaving one out moves the mean by (mean - value) / (n - 1).
    let left: Vec<f64> = la
        .iter()
        .map(|value| -(value - mean(&la)) / (la.len() as f64 - 1.0))
        .chain(
            lb.iter()
                .map(|value| (value - mean(&lb)) / (lb.len() as f64 - 1.0)),
        )
        .collect();
    let cubes: f64 = left.iter().map(|value| value.powi(3)).sum();
    let squares: f64 = left.iter().map(|value| value.powi(2)).sum();
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let corrected = |z: f64| {
        let z = bias + (bias + z) / (1.0 - acceleration * (bias + z));
        at(&shifts, 1.0 - normal_tail(z))
    };
    let z = normal_quantile(ALPHA / 2.0);
    [percentile, (corrected(-z), corrected(z)), studentised]
}

fn table(name: &str, outcomes: &[Vec<Interval>]) {
    let mut line = name.to_owned();
    for column in 0..outcomes[0].len() {
        let missed = outcomes
            .iter()
            .filter(|found| found[column].0 > 0.0 || found[column].1 < 0.0)
            .count();
        let width: f64 = outcomes
            .iter()
            .map(|found| (found[column].1 - found[column].0).min(10.0))
            .sum();
        let count = outcomes.len() as f64;
        let _ = write!(
            line,
            " {:.1} % ({:.1}) |",
            100.0 * missed as f64 / count,
            100.0 * width / count
        );
    }
    println!("{line}");
}

fn candidates(pairs: u64, effect: Effect, a: usize, b: usize) {
    let system = System {
        effect,
        ..System::default()
    };
    let outcomes: Vec<Vec<Interval>> = (0..pairs)
        .into_par_iter()
        .map(|pair| {
            let mut random = Random::new(11, pair + 1);
            let mut set = |count: usize| -> Vec<Vec<f64>> {
                (0..count)
                    .map(|_| blocks(&system.trial(1_000.0, &mut random)))
                    .collect()
            };
            let (a, b) = (set(a), set(b));
            let mut found = bootstraps(&a, &b, &mut random).to_vec();
            found.push(welch(&log_means(&a), &log_means(&b)));
            found
        })
        .collect();
    table(&format!("| {a} and {b} | {effect:?} |"), &outcomes);
}

#[derive(Clone, Copy)]
enum Drift {
    None,
    Linear(f64),
    Walk(f64),
}

/// Least squares of `y` on `columns`; returns the first coefficient's interval.
fn regression(y: &[f64], columns: &[Vec<f64>]) -> Interval {
    let k = columns.len();
    let mut matrix = vec![vec![0.0; k + 2]; k];
    for i in 0..k {
        for j in 0..k {
            matrix[i][j] = columns[i].iter().zip(&columns[j]).map(|(x, y)| x * y).sum();
        }
        matrix[i][k] = columns[i].iter().zip(y).map(|(x, y)| x * y).sum();
        matrix[i][k + 1] = f64::from(u8::from(i == 0));
    }
    for pivot in 0..k {
        let scale = matrix[pivot][pivot];
        for value in &mut matrix[pivot] {
            *value /= scale;
        }
        let pivot_row = matrix[pivot].clone();
        for (row, values) in matrix.iter_mut().enumerate() {
            if row != pivot {
                let factor = values[pivot];
                for (value, of_pivot) in values.iter_mut().zip(&pivot_row) {
                    *value -= factor * of_pivot;
                }
            }
        }
    }
    let rest: f64 = (0..y.len())
        .map(|row| {
            let fit: f64 = (0..k).map(|j| matrix[j][k] * columns[j][row]).sum();
            (y[row] - fit).powi(2)
        })
        .sum();
    let freedom = y.len() as f64 - k as f64;
    let error = (rest / freedom * matrix[0][k + 1]).sqrt();
    let half = student_quantile(ALPHA / 2.0, freedom) * error;
    (matrix[0][k] - half, matrix[0][k] + half)
}

fn interleaved(pairs: u64, name: &str, drift: Drift, n: usize) {
    let outcomes: Vec<Vec<Interval>> = (0..pairs)
        .into_par_iter()
        .map(|pair| {
            let mut random = Random::new(12, pair + 1);
            let mut walk = 0.0;
            let ys: Vec<f64> = (0..2 * n)
                .map(|place| {
                    let level = match drift {
                        Drift::None => 0.0,
                        Drift::Linear(all) => all * place as f64 / (2 * n - 1) as f64,
                        Drift::Walk(step) => {
                            walk += step * random.normal();
                            walk
                        }
                    };
                    level + 0.01 * random.normal()
                })
                .collect();
            let is_b: Vec<bool> = (0..2 * n).map(|place| matches!(place % 4, 1 | 2)).collect();
            let of = |b: bool| -> Vec<f64> {
                ys.iter()
                    .zip(&is_b)
                    .filter(|(_, is_b)| **is_b == b)
                    .map(|(y, _)| *y)
                    .collect()
            };
            let (a, b) = (of(false), of(true));
            let differences: Vec<f64> = (0..n).map(|k| b[k] - a[k]).collect();
            let ones = vec![1.0; n];
            let order: Vec<f64> = (0..n)
                .map(|k| if k % 2 == 0 { 1.0 } else { -1.0 })
                .collect();
            let treatment: Vec<f64> = is_b.iter().map(|b| f64::from(u8::from(*b))).collect();
            let time: Vec<f64> = (0..2 * n).map(|place| place as f64).collect();
            vec![
                welch(&a, &b),
                regression(&differences, std::slice::from_ref(&ones)),
                regression(&differences, &[ones, order]),
                regression(&ys, &[treatment, vec![1.0; 2 * n], time]),
            ]
        })
        .collect();
    table(&format!("| {n} and {n} | {name} |"), &outcomes);
}
