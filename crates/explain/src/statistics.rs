//! Medians, running ones too, robust scales, and samples of many.

use crate::numbers::{as_count, count_f64};
use rayon::prelude::*;
use std::ops::Range;

/// Windows over more values than this are looked at in parallel, in parts of as many.
const CHUNK: usize = 32_768;

/// The inverse of the golden ratio: its multiples fill an interval evenly, and with them those of every second or third.
const EVENLY: f64 = 0.618_033_988_749_895;

/// Returns the sums of two lists, item by item.
pub(crate) fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Returns the differences of two lists, item by item.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Returns the quotients of two lists, item by item.
pub(crate) fn quotient(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

/// Adds a list to another one, item by item.
#[inline]
pub(crate) fn add(sums: &mut [f64], values: &[f64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Subtracts a list from another one, item by item.
pub(crate) fn subtract(from: &mut [f64], values: &[f64]) {
    for (from, value) in from.iter_mut().zip(values) {
        *from -= value;
    }
}

/// Computes the sums of the values before each, and of all.
pub(crate) fn prefix_sums(values: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.push(0.0);
    let mut sum = 0.0;
    out.extend(values.iter().map(|value| {
        sum += value;
        sum
    }));
}

/// Returns the mean; not a number if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count_f64(values.len())
}

/// Returns the median; 0 if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    quantile(&mut values, 0.5)
}

/// Returns a quantile (0 to 1) without interpolation; reorders its argument. 0 if there are no values.
pub(crate) fn quantile(values: &mut [f64], at: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let rank = as_count(count_f64(values.len() - 1) * at);
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

/// Returns the standard deviation of the bulk of the values, from the median absolute deviation. If more
/// than half of the values are equal, it is computed from the middle 95 %, and if those are equal too, as
/// the root mean square, so that it is 0 for constants only.
pub(crate) fn robust_scale(values: &[f64]) -> f64 {
    let mut apart = distances(values);
    let mad = quantile(&mut apart, 0.5) * 1.4826;
    if mad > 0.0 { mad } else { outer_scale(apart) }
}

/// Returns the scale from the middle 95 % if about half of the values are equal or more, and 0 otherwise.
pub(crate) fn scale_of_ties(values: &[f64]) -> f64 {
    const SHARE: f64 = 0.45;
    let apart = distances(values);
    let ties = apart.iter().filter(|apart| **apart <= 0.0).count();
    if count_f64(ties) < count_f64(values.len()) * SHARE {
        return 0.0;
    }
    outer_scale(apart)
}

fn distances(values: &[f64]) -> Vec<f64> {
    let centre = median(values.to_vec());
    values.iter().map(|value| (value - centre).abs()).collect()
}

fn outer_scale(mut apart: Vec<f64>) -> f64 {
    let wide = quantile(&mut apart, 0.95) / 1.96;
    if wide > 0.0 {
        return wide;
    }
    let squares: f64 = apart.iter().map(|apart| apart * apart).sum();
    (squares / count_f64(apart.len().max(1))).sqrt()
}

/// Returns the median of the values around each: of itself and up to `reach` on either side, fewer at the ends.
pub(crate) fn running_medians(values: &[f64], reach: usize) -> Vec<f64> {
    over_sorted_windows(values, reach, |window| window[window.len() / 2])
}

/// Returns what `of` makes of the sorted window around each value: of itself and up to `reach` on either side, fewer at the
/// ends. One value enters the window and one leaves it at each step.
pub(crate) fn over_sorted_windows(
    values: &[f64],
    reach: usize,
    of: impl Fn(&[f64]) -> f64 + Sync,
) -> Vec<f64> {
    let chunks = values.len().div_ceil(CHUNK);
    let of_chunk = |chunk: usize| {
        let within = chunk * CHUNK..((chunk + 1) * CHUNK).min(values.len());
        over_sorted_windows_of(values, within, reach, &of)
    };
    if chunks < 2 {
        return over_sorted_windows_of(values, 0..values.len(), reach, &of);
    }
    let all: Vec<Vec<f64>> = (0..chunks).into_par_iter().map(of_chunk).collect();
    all.concat()
}

/// The same for some of the values.
fn over_sorted_windows_of(
    values: &[f64],
    within: Range<usize>,
    reach: usize,
    mut of: impl FnMut(&[f64]) -> f64,
) -> Vec<f64> {
    let first = within.start.saturating_sub(reach);
    let mut window: Vec<f64> = Vec::with_capacity(2 * reach + 2);
    let place =
        |window: &[f64], value: f64| window.partition_point(|one| one.total_cmp(&value).is_lt());
    for &value in &values[first..(within.start + reach).min(values.len())] {
        window.insert(place(&window, value), value);
    }
    (within)
        .map(|at| {
            if let Some(&value) = values.get(at + reach) {
                window.insert(place(&window, value), value);
            }
            if let Some(left) = at.checked_sub(reach + 1).filter(|left| *left >= first) {
                window.remove(place(&window, values[left]));
            }
            of(&window)
        })
        .collect()
}

/// Returns the numbers of about `wanted` of so many, evenly, but at no distance that recurs.
pub(crate) fn spread(count: usize, wanted: usize) -> Vec<usize> {
    let share = count_f64(wanted) / count_f64(count.max(1));
    (0..count)
        .filter(|at| (count_f64(*at) * EVENLY).fract() < share)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scale_of_the_bulk() {
        let normal: Vec<f64> = (1..1000)
            .map(|i| (f64::from(i) / 1000.0 - 0.5) * 2.0)
            .collect();
        assert!((robust_scale(&normal) - 0.74).abs() < 0.01);
        assert!(robust_scale(&[5.0; 100]).abs() < f64::EPSILON);
        let mut mostly = vec![0.0; 1000];
        mostly[3] = 100.0;
        assert!(robust_scale(&mostly) > 0.0);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }

    #[test]
    fn some_of_many_are_as_many_of_every_second_or_seventh() {
        for every in 1..8 {
            let some = spread(3_000, 300);
            let among = some.iter().filter(|at| **at % every == 0).count();
            let expected = 300 / every;
            assert!(among.abs_diff(expected) <= 4, "{among} of {expected}");
        }
        assert_eq!(spread(3, 5), [0, 1, 2]);
        assert!(spread(0, 5).is_empty());
    }

    proptest! {
        #[test]
        fn windows_hold_the_neighbours_in_order(
            values in prop::collection::vec(-3i8..3, 0..60),
            reach in 0usize..8,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut told = Vec::new();
            let firsts = over_sorted_windows_of(&values, 0..values.len(), reach, |window| {
                told.push(window.to_vec());
                window[0]
            });
            prop_assert_eq!(told.len(), values.len());
            for (at, (window, first)) in told.into_iter().zip(firsts).enumerate() {
                let until = (at + reach + 1).min(values.len());
                let mut expected = values[at.saturating_sub(reach)..until].to_vec();
                expected.sort_by(f64::total_cmp);
                prop_assert_eq!(first.to_bits(), expected[0].to_bits());
                prop_assert_eq!(window, expected);
            }
            let cut = values.len() / 3;
            let median = |window: &[f64]| window[window.len() / 2];
            let parts = [0..cut, cut..values.len()]
                .map(|part| over_sorted_windows_of(&values, part, reach, median));
            prop_assert_eq!(parts.concat(), over_sorted_windows(&values, reach, median));
        }
    }
}
