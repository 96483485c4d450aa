//! The level that events stand on: what changes slowly.

use crate::numbers::{as_f64, count_f64};
use crate::statistics::{median, quotient, robust_scale};

/// Noise is in proportion to the level if it is more likely by so many nats, and if the level never falls below this part of
/// its median.
const LEVEL_NATS: f64 = 5.0;
const LEVEL_MIN: f64 = 0.1;

/// Which samples show nothing of any event: all from before it to well after it do, if that leaves enough.
pub(crate) fn quiet(own: &[f64], times_us: &[i64], gap_us: i64, len_us: i64) -> Vec<bool> {
    let after_us = (len_us / 2).max(gap_us * 2);
    let mut quiet = vec![true; own.len()];
    let mut last = i64::MIN;
    for at in 0..own.len() {
        if own[at] != 0.0 {
            last = times_us[at];
            for before in &mut quiet[at.saturating_sub(1)..=at] {
                *before = false;
            }
        } else if times_us[at].saturating_sub(last) <= after_us {
            quiet[at] = false;
        }
    }
    if quiet.iter().filter(|quiet| **quiet).count() * 3 < quiet.len() {
        quiet.fill(true);
    }
    quiet
}

/// Medians of blocks of time without events, with straight lines between their centres.
pub(crate) fn baseline(
    times_us: &[i64],
    values: &[f64],
    quiet: &[bool],
    block_us: i64,
) -> Vec<f64> {
    let Some(&first) = times_us.first() else {
        return Vec::new();
    };
    let mut centres: Vec<(f64, f64)> = Vec::new();
    let mut at = 0;
    while at < times_us.len() {
        let block = (times_us[at] - first).div_euclid(block_us);
        let end = at
            + times_us[at..].partition_point(|&time| (time - first).div_euclid(block_us) == block);
        let within = || (at..end).filter(|&at| quiet[at]);
        let count = within().count();
        if count > 0 {
            let middle = within().map(|at| as_f64(times_us[at] - first)).sum::<f64>();
            centres.push((
                as_f64(first) + middle / count_f64(count),
                median(within().map(|at| values[at]).collect()),
            ));
        }
        at = end;
    }
    if centres.is_empty() {
        return vec![0.0; values.len()];
    }
    let mut next = 0;
    times_us
        .iter()
        .map(|&time| {
            let time = as_f64(time);
            while next < centres.len() && centres[next].0 < time {
                next += 1;
            }
            match next {
                0 => centres[0].1,
                _ if next == centres.len() => centres[next - 1].1,
                _ => {
                    let (left, right) = (centres[next - 1], centres[next]);
                    left.1 + (right.1 - left.1) * (time - left.0) / (right.0 - left.0)
                }
            }
        })
        .collect()
}

/// What noise and events are proportional to, around 1: the level, if that makes what is left more likely, as with
/// latencies; otherwise nothing. `None` if nothing is left.
pub(crate) fn level_of_noise(left: &[f64], mut level: Vec<f64>) -> Option<Vec<f64>> {
    let scale = robust_scale(left);
    if scale <= 0.0 {
        return None;
    }
    let usual = median(level.clone());
    let is_positive = usual > 0.0 && level.iter().all(|&at| at > usual * LEVEL_MIN);
    if is_positive {
        for at in &mut level {
            *at /= usual;
        }
        let relative = quotient(left, &level);
        // Laplace's distribution has tails, and its scale is the mean distance: both are densities of the same values.
        let mean = |values: &[f64]| values.iter().map(|one| one.abs()).sum::<f64>();
        let jacobian: f64 = level.iter().map(|at| at.ln()).sum();
        let gain = count_f64(left.len()) * (mean(left) / mean(&relative)).ln() - jacobian;
        if gain > LEVEL_NATS {
            return Some(level);
        }
    }
    level.fill(1.0);
    Some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_US: i64 = 60_000_000;

    #[test]
    fn events_do_not_lift_the_level() {
        // An hour of 30 above a level of 100 that rises by 1 an hour, every four hours, of which a sample more
        // than the pattern knows is filled in part.
        let times_us: Vec<i64> = (0..24 * 60).map(|at| at * 5 * MINUTE_US).collect();
        let hours = |at: i64| as_f64(at) / as_f64(60 * MINUTE_US);
        let is_event = |at: &i64| at.rem_euclid(240 * MINUTE_US) < 60 * MINUTE_US;
        let own: Vec<f64> = times_us
            .iter()
            .map(|at| f64::from(u8::from(is_event(at))) * 30.0)
            .collect();
        let rest: Vec<f64> = times_us
            .iter()
            .map(|&at| {
                let is_edge = at.rem_euclid(240 * MINUTE_US) == 60 * MINUTE_US;
                100.0 + hours(at) + if is_edge { 20.0 } else { 0.0 }
            })
            .collect();
        let quiet = quiet(&own, &times_us, 5 * MINUTE_US, 60 * MINUTE_US);
        assert!(
            own.iter()
                .zip(&quiet)
                .all(|(own, quiet)| *own == 0.0 || !quiet)
        );
        let level = baseline(&times_us, &rest, &quiet, 80 * MINUTE_US);
        for (at, level) in times_us.iter().zip(level).skip(60).take(24 * 60 - 120) {
            assert!(
                (level - 100.0 - hours(*at)).abs() < 0.6,
                "{level} at {}",
                hours(*at)
            );
        }
    }

    #[test]
    fn a_series_of_nothing_but_events_has_a_level() {
        let times_us: Vec<i64> = (0..10).map(|at| at * MINUTE_US).collect();
        let quiet = quiet(&[5.0; 10], &times_us, MINUTE_US, MINUTE_US);
        assert_eq!(quiet, [true; 10]);
        assert!(baseline(&[], &[], &[], MINUTE_US).is_empty());
        assert_eq!(
            baseline(&times_us, &[3.0; 10], &[false; 10], MINUTE_US),
            [0.0; 10]
        );
    }

    #[test]
    fn noise_is_in_proportion_to_the_level_only_if_that_fits() {
        let level: Vec<f64> = (0..2_000).map(|at| 100.0 + count_f64(at) / 10.0).collect();
        let noise: Vec<f64> = (0..2_000).map(|at| f64::sin(count_f64(at * at))).collect();
        let usual = median(level.clone());
        let relative: Vec<f64> = noise.iter().zip(&level).map(|(n, at)| n * at).collect();
        let found = level_of_noise(&relative, level.clone()).unwrap();
        assert!((found[0] - 100.0 / usual).abs() < 1e-9);
        assert_eq!(
            level_of_noise(&noise, level.clone()),
            Some(vec![1.0; 2_000])
        );
        // A level around zero is no scale.
        let around: Vec<f64> = level.iter().map(|at| at - 150.0).collect();
        assert_eq!(level_of_noise(&relative, around), Some(vec![1.0; 2_000]));
        assert_eq!(level_of_noise(&[0.0; 2_000], level), None);
    }
}
