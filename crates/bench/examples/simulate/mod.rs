//! Simulated trials: run-to-run effects, noise within runs that has memory, and drift of the machine.
#![allow(dead_code, clippy::cast_precision_loss)] // each example uses its part; counts are small

use bench::compare::{
    Comparison, Metric, MetricKey, Observations, Options, Rank, Trial, TrialSet, Verdict, compare,
};
use facts::series::Better;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A set whose trials are series of seconds.
pub fn trial_set(name: &str, runs: Vec<Vec<f64>>) -> TrialSet {
    let trial = |values: Vec<f64>| {
        one_metric(Metric {
            unit: None,
            better: Better::Higher,
            rank: Rank::Primary,
            observations: Observations::Values(values),
        })
    };
    TrialSet {
        name: name.to_owned(),
        trials: runs.into_iter().map(trial).collect(),
    }
}

fn one_metric(metric: Metric) -> Trial {
    Trial {
        metrics: [(MetricKey::new("bulk", "throughput"), metric)].into(),
        ..Trial::default()
    }
}

/// Sets of trials in an order, such as `ABBA`; without their times, a comparison does not know it.
pub fn in_order(order: &str, logs: Vec<f64>, ratio: f64, timed: bool) -> [TrialSet; 2] {
    let mut sets = ["a", "b"].map(|name| trial_set(name, Vec::new()));
    for ((place, set), log) in (0..).zip(order.chars()).zip(logs) {
        let is_contender = set == 'B';
        let mean = if is_contender { 100.0 * ratio } else { 100.0 };
        let throughput = Metric::scalar(mean * log.exp(), None, Better::Higher, Rank::Primary);
        sets[usize::from(is_contender)].trials.push(Trial {
            started_us: timed.then_some(place),
            ..one_metric(throughput)
        });
    }
    sets
}

/// Compares the only metric of two sets.
pub fn compared(sets: &[TrialSet; 2], options: &Options) -> Comparison {
    let report = compare(sets, options).expect("sets of trials");
    let mut comparisons = report.comparisons;
    comparisons.remove(0)
}

pub fn differs(found: &Comparison) -> bool {
    matches!(found.verdict, Verdict::Differs { .. })
}

pub fn is_worse(found: &Comparison) -> bool {
    found.is_better() == Some(false)
}

pub fn says_equal(found: &Comparison) -> bool {
    matches!(
        found.verdict,
        Verdict::NoDifferenceLargerThan { .. }
            | Verdict::Differs {
                within_margin: true
            }
    )
}

/// A stream of random numbers that depends on its seed only.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64, number: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Uniform in (0, 1).
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, bound: usize) -> usize {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below the bound
        let index = (self.unit() * bound as f64) as usize;
        index.min(bound - 1)
    }

    /// Standard normal (Box, Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// How trials of the same system differ from each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// Normal.
    Normal,
    /// Student's t with three degrees of freedom, scaled to the same standard deviation.
    Heavy,
    /// One trial in ten is slower by five standard deviations.
    Outliers,
}

/// A machine on which trials differ: by a level that drifts, and by what each trial has of its own. In
/// logarithms.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    /// Standard deviation of an autoregressive process of the first order.
    pub slow: f64,
    /// Its correlation from trial to trial.
    pub phi: f64,
    /// Standard deviation of noise that is independent from trial to trial.
    pub noise: f64,
    /// By how much the level falls from trial to trial.
    pub slope: f64,
    /// Standard deviation of the level's random step from trial to trial.
    pub step: f64,
}

impl Machine {
    /// Returns the logarithms of the factors by which successive trials differ from the mean.
    pub fn trials(&self, count: usize, random: &mut Random) -> Vec<f64> {
        let (mut level, mut slow) = (0.0, None);
        let innovation = (1.0 - self.phi * self.phi).sqrt();
        (0..count)
            .map(|_| {
                level += self.slope + self.step * random.normal();
                let new = random.normal();
                let now = slow.map_or(new, |before: f64| self.phi * before + innovation * new);
                slow = Some(now);
                let own = if self.noise > 0.0 {
                    self.noise * random.normal()
                } else {
                    0.0
                };
                self.slow * now + own - level
            })
            .collect()
    }
}

/// A system under test.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// Standard deviation between runs, relative.
    pub between: f64,
    /// Standard deviation of a second's value, relative.
    pub within: f64,
    /// Autocorrelation of neighbouring seconds.
    pub phi: f64,
    pub seconds: usize,
    pub effect: Effect,
}

impl Default for System {
    fn default() -> Self {
        Self {
            between: 0.01,
            within: 0.05,
            phi: 0.5,
            seconds: 300,
            effect: Effect::Normal,
        }
    }
}

impl System {
    /// Returns a system with another standard deviation between runs.
    pub fn with_sd(between: f64) -> Self {
        Self {
            between,
            ..Self::default()
        }
    }

    /// Returns the logarithm of the factor by which one trial differs from the mean.
    fn run_effect(&self, random: &mut Random) -> f64 {
        match self.effect {
            Effect::Normal => self.between * random.normal(),
            Effect::Heavy => {
                let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                self.between * random.normal() / squares.sqrt()
            }
            Effect::Outliers => {
                let slow = if random.unit() < 0.1 { 5.0 } else { 0.0 };
                self.between * (random.normal() - slow)
            }
        }
    }

    /// Returns one trial's throughput, second by second.
    pub fn trial(&self, mean: f64, random: &mut Random) -> Vec<f64> {
        let level = mean * self.run_effect(random).exp();
        let innovation = (1.0 - self.phi * self.phi).sqrt();
        let mut now = random.normal();
        (0..self.seconds)
            .map(|_| {
                let value = level * (1.0 + self.within * now);
                now = self.phi * now + innovation * random.normal();
                value.max(level * 0.01)
            })
            .collect()
    }
}
