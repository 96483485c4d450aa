//! One trial's value, and how well that trial alone determines it.
//!
//! The second level of the hierarchy: blocks of successive values are resampled within the trial (circular block
//! bootstrap, Politis and Romano 1992), their length by [batch means](super::batch_means). What that yields says
//! nothing about the next trial; it is the floor below which the spread between trials cannot lie, and tells
//! whether longer trials or more of them would help.

use super::batch_means::{memory, variance};
use super::trial::Observations;
use crate::random::Random;

/// Number of resamples: the standard error is known to about 5 %.
const DRAWS: usize = 200;

/// Most pieces of a trial that are resampled.
const PIECES_MAX: usize = 4_096;

/// A trial's value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrialValue {
    pub value: f64,
    /// Standard error of the value as far as this trial tells, relative to the value: 0.01 is 1 %. `None` if the
    /// trial has a single value.
    pub within_error: Option<f64>,
}

/// Why observations have no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoValue {
    #[error("it has no values")]
    Empty,
    #[error("a value is not finite")]
    NotFinite,
    #[error("weights must be finite, not negative, not all 0, and as many as values")]
    Weights,
    #[error("a quantile is a share above 0, and up to 1")]
    Quantile,
}

/// Returns a trial's value and its error.
pub(crate) fn trial_value(
    observations: &Observations,
    random: &mut Random,
) -> Result<TrialValue, NoValue> {
    match observations {
        Observations::Scalar(value) => {
            finite(std::slice::from_ref(value))?;
            Ok(TrialValue {
                value: *value,
                within_error: None,
            })
        }
        Observations::Values(values) => {
            finite(values)?;
            Ok(mean_value(values, None, random))
        }
        Observations::Blocks { values, weights } => {
            finite(values)?;
            let usable = weights.len() == values.len()
                && weights
                    .iter()
                    .all(|weight| weight.is_finite() && *weight >= 0.0)
                && weights.iter().any(|weight| *weight > 0.0);
            if !usable {
                return Err(NoValue::Weights);
            }
            Ok(mean_value(values, Some(weights), random))
        }
        Observations::Histograms { blocks, share } => {
            let values = blocks.iter().flatten();
            if !values.clone().all(|(value, _)| value.is_finite()) {
                return Err(NoValue::NotFinite);
            }
            if values.clone().all(|(_, count)| *count == 0) {
                return Err(NoValue::Empty);
            }
            quantile_value(blocks, *share, random)
        }
    }
}

fn finite(values: &[f64]) -> Result<(), NoValue> {
    if values.is_empty() {
        return Err(NoValue::Empty);
    }
    if values.iter().all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(NoValue::NotFinite)
    }
}

fn mean_value(values: &[f64], weights: Option<&[f64]>, random: &mut Random) -> TrialValue {
    // Scaled by the largest magnitudes, so that no sum overflows.
    let scale = largest(values);
    let weight_scale = weights.map_or(1.0, largest);
    let parts = values.iter().enumerate().map(|(at, value)| {
        let weight = weights.map_or(1.0, |weights| weights[at] / weight_scale);
        (value / scale * weight, weight)
    });
    let sums = RunningSums::new(&parts.collect::<Vec<_>>());
    let mean = sums.all();
    TrialValue {
        value: mean * scale,
        within_error: sums.error(random).map(|error| error / mean.abs()),
    }
}

/// A quantile of values with counts in blocks: the interval for the share below it, mapped to values (Woodruff
/// 1952).
fn quantile_value(
    blocks: &[Vec<(f64, u64)>],
    share: f64,
    random: &mut Random,
) -> Result<TrialValue, NoValue> {
    if !(share > 0.0 && share <= 1.0) {
        return Err(NoValue::Quantile);
    }
    let mut sorted: Vec<(f64, u64)> = Vec::new();
    for block in blocks {
        sorted.extend(block.iter().filter(|(_, count)| *count > 0));
    }
    sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let ranked = Ranked::new(sorted);
    let value = ranked.at_share(share);
    let counts: Vec<(f64, f64)> = blocks
        .iter()
        .map(|block| {
            let count = |below: bool| {
                let counts = block.iter();
                let counts = counts.filter(|(sample, _)| !below || *sample <= value);
                counts.map(|(_, count)| as_f64(*count)).sum::<f64>()
            };
            (count(true), count(false))
        })
        .collect();
    let error = RunningSums::new(&counts).error(random);
    Ok(TrialValue {
        value,
        within_error: error.map(|error| {
            let (low, high) = (
                ranked.at_share(share - error),
                ranked.at_share(share + error),
            );
            (high / value - low / value).abs() / 2.0
        }),
    })
}

/// Sorted values, each with the number of values up to it.
struct Ranked(Vec<(f64, f64)>);

impl Ranked {
    /// Takes sorted values with counts above 0.
    fn new(sorted: Vec<(f64, u64)>) -> Self {
        let mut rank = 0.0;
        let ranked = sorted.into_iter().map(|(value, count)| {
            rank += as_f64(count);
            (value, rank)
        });
        Self(ranked.collect())
    }

    /// Returns the smallest value that at least a share of the values does not exceed.
    fn at_share(&self, share: f64) -> f64 {
        let all = self.0.last().map_or(0.0, |(_, rank)| *rank);
        // 0.99 * 100 is 99.00000000000001 in floating point, and means the 99th.
        let rank = (share * all * (1.0 - 1e-12)).ceil().max(1.0);
        let at = self.0.partition_point(|(_, up_to)| *up_to < rank);
        self.0[at.min(self.0.len() - 1)].0
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of samples are below 2^52"
)]
fn as_f64(count: u64) -> f64 {
    count as f64
}

fn largest(values: &[f64]) -> f64 {
    let largest = values
        .iter()
        .fold(0.0, |most, value| f64::max(most, value.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

/// Sums of numerators and denominators from the start, to take those of any block at once.
struct RunningSums {
    above: Vec<f64>,
    below: Vec<f64>,
    /// Length of the blocks that are independent enough to be resampled.
    block_len: usize,
}

impl RunningSums {
    /// Takes numerators and denominators in order. Of very many, successive ones are added up first: the error
    /// is that of as many pieces as [`PIECES_MAX`] all the same, and costs no more.
    fn new(parts: &[(f64, f64)]) -> Self {
        let piece_len = parts.len().div_ceil(PIECES_MAX).max(1);
        let (mut above, mut below) = (vec![0.0], vec![0.0]);
        let (mut all_above, mut all_below) = (0.0, 0.0);
        let mut ratios = Vec::new();
        for piece in parts.chunks(piece_len) {
            let of_piece = piece
                .iter()
                .fold((0.0, 0.0), |sums, part| (sums.0 + part.0, sums.1 + part.1));
            all_above += of_piece.0;
            all_below += of_piece.1;
            above.push(all_above);
            below.push(all_below);
            if of_piece.1 > 0.0 {
                ratios.push(of_piece.0 / of_piece.1);
            }
        }
        Self {
            above,
            below,
            block_len: memory(&ratios).block_len,
        }
    }

    fn len(&self) -> usize {
        self.above.len() - 1
    }

    fn all(&self) -> f64 {
        self.above[self.len()] / self.below[self.len()]
    }

    /// Returns the sums of a block that continues at the start when it reaches the end.
    fn block(&self, start: usize, len: usize) -> (f64, f64) {
        let of = |sums: &[f64]| {
            let end = start + len;
            if end <= self.len() {
                sums[end] - sums[start]
            } else {
                sums[self.len()] - sums[start] + sums[end - self.len()]
            }
        };
        (of(&self.above), of(&self.below))
    }

    /// Returns the standard deviation of the ratio of sums over resampled blocks; `None` below two values.
    fn error(&self, random: &mut Random) -> Option<f64> {
        let (len, block_len) = (self.len(), self.block_len);
        if len < 2 {
            return None;
        }
        let blocks = len.div_ceil(block_len);
        let mut draws = Vec::with_capacity(DRAWS);
        while draws.len() < DRAWS {
            let (mut above, mut below) = (0.0, 0.0);
            for _ in 0..blocks {
                let (one, other) = self.block(random.index(len), block_len);
                above += one;
                below += other;
            }
            // All weights of a draw may be 0; the mean then is that of everything.
            draws.push(if below > 0.0 {
                above / below
            } else {
                self.all()
            });
        }
        variance(&draws).map(f64::sqrt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::batch_means::mean;

    fn random() -> Random {
        Random::numbered(7, 1)
    }

    /// A quantile of single samples.
    fn quantile(samples: impl Iterator<Item = f64>, share: f64) -> Observations {
        Observations::Histograms {
            blocks: samples.map(|value| vec![(value, 1)]).collect(),
            share,
        }
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_the_theory() {
        // AR(1) with phi 0.5 and unit innovations has variance 4/3 and autocorrelation time 3, so the mean of
        // 600 values around 100 has a standard error of √(4/3 · 3 / 600) = 0.0816.
        let mut noise = Random::numbered(5, 1);
        let errors: Vec<f64> = (0..100)
            .map(|_| {
                let mut now = 0.0;
                let values: Vec<f64> = (0..600)
                    .map(|_| {
                        now = 0.5 * now + noise.open_normal();
                        100.0 + now
                    })
                    .collect();
                let observations = Observations::Values(values);
                let found = trial_value(&observations, &mut random()).unwrap();
                found.within_error.unwrap() * found.value
            })
            .collect();
        let typical = mean(&errors).unwrap();
        assert!((0.065..0.09).contains(&typical), "{typical}");
    }

    #[test]
    fn weights_count() {
        let observations = Observations::Blocks {
            values: vec![1.0, 3.0],
            weights: vec![3.0, 1.0],
        };
        let found = trial_value(&observations, &mut random()).unwrap();
        assert!((found.value - 1.5).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_samples_and_their_errors_those_of_the_theory() {
        let hundred = quantile((1..=100).map(f64::from), 0.99);
        let found = trial_value(&hundred, &mut random()).unwrap();
        assert!((found.value - 99.0).abs() < 1e-12);
        // Exponential samples: the error of the quantile at share p is √(p/(1-p)/n), the quantile -ln(1-p).
        let mut noise = Random::numbered(9, 1);
        let samples = quantile((0..20_000).map(|_| -noise.open_unit().ln()), 0.99);
        let found = trial_value(&samples, &mut random()).unwrap();
        let (value, error) = (-(0.01_f64.ln()), (99.0_f64 / 20_000.0).sqrt());
        assert!((found.value / value - 1.0).abs() < 4.0 * error / value);
        let relative = found.within_error.unwrap() / (error / value);
        assert!((0.7..1.4).contains(&relative), "{relative}");
    }

    #[test]
    fn histograms_of_seconds_are_the_samples() {
        let mut noise = Random::numbered(4, 1);
        let seconds: Vec<Vec<f64>> = (0..60)
            .map(|_| {
                (0..500)
                    .map(|_| (-noise.open_unit().ln() * 100.0).ceil())
                    .collect()
            })
            .collect();
        let of = |share: f64| {
            let samples = quantile(seconds.concat().into_iter(), share);
            let histograms = Observations::Histograms {
                blocks: seconds
                    .iter()
                    .map(|second| second.iter().map(|value| (*value, 1)).collect())
                    .collect(),
                share,
            };
            [samples, histograms].map(|one| trial_value(&one, &mut random()).unwrap())
        };
        for share in [0.5, 0.99, 1.0] {
            let [samples, histograms] = of(share);
            assert!((samples.value - histograms.value).abs() < 1e-9, "{share}");
        }
        // Independent samples tell as much in seconds as one by one.
        let [samples, histograms] = of(0.9);
        let relative = samples.within_error.unwrap() / histograms.within_error.unwrap();
        assert!((0.6..1.6).contains(&relative), "{relative}");
    }

    #[test]
    fn unusable_observations_are_named() {
        let blocks = |values: &[f64], weights: &[f64]| Observations::Blocks {
            values: values.to_vec(),
            weights: weights.to_vec(),
        };
        for (observations, why) in [
            (Observations::Values(Vec::new()), NoValue::Empty),
            (blocks(&[], &[]), NoValue::Empty),
            (Observations::Scalar(f64::NAN), NoValue::NotFinite),
            (blocks(&[1.0, 2.0], &[1.0]), NoValue::Weights),
            (blocks(&[1.0], &[0.0]), NoValue::Weights),
            (blocks(&[1.0], &[-1.0]), NoValue::Weights),
            (
                Observations::Histograms {
                    blocks: vec![vec![], vec![(1.0, 0)]],
                    share: 0.5,
                },
                NoValue::Empty,
            ),
            (
                Observations::Histograms {
                    blocks: vec![vec![(f64::INFINITY, 1)]],
                    share: 0.5,
                },
                NoValue::NotFinite,
            ),
            (quantile([1.0].into_iter(), 99.0), NoValue::Quantile),
        ] {
            assert_eq!(trial_value(&observations, &mut random()), Err(why));
        }
    }

    #[test]
    fn huge_values_do_not_overflow() {
        let observations = Observations::Blocks {
            values: vec![f64::MAX, f64::MAX / 2.0, f64::MAX],
            weights: vec![f64::MAX; 3],
        };
        let found = trial_value(&observations, &mut random()).unwrap();
        assert!(found.value.is_finite() && found.within_error.unwrap().is_finite());
    }
}
