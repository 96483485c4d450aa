//! What tells long events from load, which comes on most days of the week, and comes and goes slowly.

use crate::calendar::periods::DAY_US;
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::samples::Samples;
use crate::numbers::{as_f64, as_i64, count_f64};
use crate::statistics::median;

/// Time beside an event with which it is compared, at most.
const BESIDE_US: i64 = 3 * 3_600_000_000;
/// Other days show nothing of an event if less than this part of it.
const NOTHING: f64 = 0.3;
/// An event begins within this time and so many samples, by at least this part of the usual level; what changed as long before
/// is at most this part of it.
const EDGE_US: i64 = 600_000_000;
const EDGE_SAMPLES: usize = 4;
const BESIDE_SAMPLES: usize = 3;
const ABRUPT_MIN: f64 = 1.0;
const SLOW_MAX: f64 = 0.25;
/// Minimum number of days to tell.
const DAYS_MIN: usize = 3;

/// Returns whether none of the other six days shows a part of a weekly event at the same time of the day.
pub(super) fn is_of_one_day(found: &Found, samples: &Samples) -> bool {
    let Form::Box { duty } = found.pattern.form else {
        return false;
    };
    let len_us = as_i64(duty * found.pattern.clock.period_us());
    let middle = found.pattern.middle_us();
    let on: Vec<i64> = (found.shown_onsets(samples).iter())
        .map(|(at, _)| samples.offsets.utc_us(at + middle))
        .collect();
    let of_day = |day: i64| {
        let all = on
            .iter()
            .filter_map(|at| contrast(samples, at + day * DAY_US, len_us));
        let all: Vec<f64> = all.collect();
        (all.len() >= DAYS_MIN).then(|| median(all))
    };
    let Some(own) = of_day(0) else {
        return false;
    };
    (1..7).all(|day| of_day(day).is_some_and(|other| other / own < NOTHING))
}

/// Returns whether nearly all events begin at once, by much: from the level before to nearly their size within a few
/// samples, and no more than some minutes.
pub(super) fn is_abrupt(found: &Found, samples: &Samples) -> bool {
    let edge = usize::try_from(EDGE_US / samples.gap_us.max(1)).unwrap_or(0);
    let edge = edge.min(EDGE_SAMPLES);
    if edge < 2 {
        return false;
    }
    let middle = found.pattern.middle_us();
    let on: Vec<usize> = (found.shown_onsets(samples).iter())
        .map(|(at, _)| samples.offsets.utc_us(at + middle))
        .map(|at| samples.times_us.partition_point(|&time| time <= at))
        .collect();
    let level = median(samples.values.clone()).abs();
    let of = |range: std::ops::Range<usize>| {
        samples
            .values
            .get(range)
            .map(|values| median(values.to_vec()))
    };
    let is_edge = |at: &&usize| {
        let before = at
            .checked_sub(edge + BESIDE_SAMPLES)
            .and_then(|from| of(from..**at - edge));
        let Some((before, after)) = before.zip(of(**at + edge..**at + edge + BESIDE_SAMPLES))
        else {
            return false;
        };
        // The change around the onset is most of what lies between, not a part of a longer rise.
        let earlier = at.checked_sub(2 * edge + 2 * BESIDE_SAMPLES);
        let earlier = earlier.and_then(|from| of(from..from + BESIDE_SAMPLES));
        let size = (after - before).abs();
        size > level * ABRUPT_MIN
            && earlier.is_some_and(|earlier| (before - earlier).abs() < size * SLOW_MAX)
    };
    let edges = on.iter().filter(is_edge).count();
    on.len() >= DAYS_MIN && edges * 10 >= on.len() * 8
}

/// How far the samples of some time are above those on either side. `None` where samples are missing.
fn contrast(samples: &Samples, from_us: i64, len_us: i64) -> Option<f64> {
    let beside_us = len_us.min(BESIDE_US).max(samples.gap_us);
    let mean = |from: i64, until: i64| {
        let first = samples.times_us.partition_point(|&at| at <= from);
        let last = samples.times_us.partition_point(|&at| at <= until);
        let due = as_f64(until - from) / as_f64(samples.gap_us);
        let values = &samples.values[first..last];
        let is_enough = count_f64(values.len()) * 2.0 >= due && !values.is_empty();
        is_enough.then(|| values.iter().sum::<f64>() / count_f64(values.len()))
    };
    let until_us = from_us + len_us;
    let (left, right) = (
        mean(from_us - beside_us, from_us)?,
        mean(until_us, until_us + beside_us)?,
    );
    Some(mean(from_us, until_us)? - f64::midpoint(left, right))
}
