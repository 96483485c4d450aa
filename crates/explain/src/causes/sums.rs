//! What samples after starts say of an effect, and sums of that.

use crate::numbers::count_f64;
use std::ops::Range;

/// One run in twenty finds nothing to do.
const IDLE_SHARE: f64 = 0.05;
/// In how many steps the shares of lengths are fitted, and what each length is given beforehand, in events.
const SHARE_STEPS: usize = 20;
const SHARE_PRIOR: f64 = 0.05;

/// What samples after starts say of an effect of one unit that takes a course: its product with the values, and its
/// square. An effect of size `a` adds `a product - a^2 square / 2` to the log-likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sums {
    pub product: f64,
    pub square: f64,
}

impl Sums {
    /// What an effect of this size adds to the log-likelihood.
    pub fn gain(self, size: f64) -> f64 {
        size * self.product - 0.5 * size * size * self.square
    }
}

/// What all starts add, with an effect of this size.
pub(crate) fn sum_of(
    places: &[&[Vec<Sums>]],
    courses: &Range<usize>,
    shares: &[f64],
    size: f64,
) -> f64 {
    let gains = places
        .iter()
        .map(|places| gain(places, courses.clone(), shares, size));
    gains.sum()
}

/// What one start adds, anywhere among its places, with any of some courses, or without an effect. `shares` are the logarithms
/// of how common each course is.
pub(crate) fn gain(places: &[Vec<Sums>], courses: Range<usize>, shares: &[f64], size: f64) -> f64 {
    let of_place = |sums: &'_ Vec<Sums>| {
        let gains = sums[courses.clone()].iter().zip(shares);
        let mut gains = gains.map(|(sums, share)| sums.gain(size) + share);
        if shares.len() == 1 {
            gains.next().unwrap_or(0.0)
        } else {
            log_sum(gains)
        }
    };
    let anywhere = match places {
        [place] => of_place(place),
        _ => log_mean(places.iter().map(of_place)),
    };
    let works = (1.0 - IDLE_SHARE).ln() + anywhere;
    log_sum([works, IDLE_SHARE.ln()].into_iter())
}

/// How common each course is among the starts, by expectation and maximisation (Dempster, Laird and Rubin 1977).
pub(crate) fn common_lengths(places: &[&[Vec<Sums>]], shares: &[f64], size: f64) -> Vec<f64> {
    let mut shares = shares.to_vec();
    let of_start = |places: &&[Vec<Sums>]| {
        let of_course = |course: usize| log_mean(places.iter().map(|at| at[course].gain(size)));
        let gains: Vec<f64> = (0..shares.len()).map(of_course).collect();
        let top = gains.iter().copied().fold(0.0, f64::max);
        let likely: Vec<f64> = gains.iter().map(|gain| (gain - top).exp()).collect();
        (likely, (-top).exp() * IDLE_SHARE / (1.0 - IDLE_SHARE))
    };
    let starts: Vec<(Vec<f64>, f64)> = places.iter().map(of_start).collect();
    for _ in 0..SHARE_STEPS {
        let mut sums = vec![SHARE_PRIOR; shares.len()];
        for (likely, idle) in &starts {
            let each = || {
                likely
                    .iter()
                    .zip(&shares)
                    .map(|(likely, share)| likely * share)
            };
            let all = idle + each().sum::<f64>();
            for (sum, one) in sums.iter_mut().zip(each()) {
                *sum += one / all;
            }
        }
        let all: f64 = sums.iter().sum();
        shares = sums.into_iter().map(|sum| sum / all).collect();
    }
    shares
}

/// Returns the logarithm of the sum of exponentials.
pub(crate) fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    log_sum_and_count(logs).0
}

/// Returns the logarithm of the mean of exponentials.
pub(crate) fn log_mean(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let (sum, count) = log_sum_and_count(logs);
    sum - count_f64(count.max(1)).ln()
}

/// The terms are computed twice: for the largest, and for the sum.
fn log_sum_and_count(logs: impl Iterator<Item = f64> + Clone) -> (f64, usize) {
    let top = logs.clone().fold(f64::MIN, f64::max);
    let (sum, count) = logs.fold((0.0, 0usize), |(sum, count), log| {
        (sum + (log - top).exp(), count + 1)
    });
    (top + sum.ln(), count)
}
