//! What tells long events from load, which comes on most days of the week, and comes and goes slowly.

use crate::calendar::periods::DAY_US;
use crate::fit::found::Found;
use crate::fit::located::spread_us;
use crate::model::form::Form;
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, as_i64, count_f64};
use crate::statistics::{self, median, robust_scale};
use std::ops::Range;

/// Time beside an event with which it is compared, at most.
const BESIDE_US: i64 = 3 * 3_600_000_000;
/// Other days show nothing of an event if less than this part of it.
const NOTHING: f64 = 0.3;
/// An event is abrupt if it begins within some minutes, or so many samples on either side, by at least so many times the usual
/// level: the longer the time, the more. What changed as long before is at most a part of that.
const ABRUPT: [(i64, f64); 3] = [(10, 1.0), (30, 3.0), (120, 12.0)];
const MINUTE_US: i64 = 60_000_000;
const EDGE_SAMPLES: std::ops::RangeInclusive<usize> = 2..=4;
const BESIDE_SAMPLES: usize = 3;
const SLOW_MAX: f64 = 0.25;
/// Events begin like clockwork if their beginnings vary by less than this part of a sample, and their ends by more than these
/// many samples, so many times the former, and this part of their length. Beginnings are not known better than to a part of a
/// sample; samples farther apart than this do not show that.
const STEADY_MAX: f64 = 0.6;
const ENDS_MIN_SAMPLES: f64 = 1.2;
const ENDS_MIN_TIMES: f64 = 4.0;
const ENDS_MIN_SHARE: f64 = 0.05;
const KNOWN_MIN: f64 = 0.3;
const CLOCKWORK_GAP_US: i64 = 900_000_000;
const CLOCKWORK_MIN: usize = 10;
/// Most events of load begin within this time of the day.
const SCATTERED_US: i64 = 3 * 3_600_000_000;
/// Minimum number of days to tell.
const DAYS_MIN: usize = 3;

/// Returns whether none of the other six days shows a part of a weekly event at the same time of the day.
pub(super) fn is_of_one_day(found: &Found, samples: &Samples) -> bool {
    let Some(len_us) = found.pattern.len_us() else {
        return false;
    };
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
/// samples.
pub(super) fn is_abrupt(found: &Found, samples: &Samples) -> bool {
    let gap_us = samples.gap_us.max(1);
    let edge = usize::try_from(ABRUPT[0].0 * MINUTE_US / gap_us).unwrap_or(0);
    let edge = edge.clamp(*EDGE_SAMPLES.start(), *EDGE_SAMPLES.end());
    let edge_us = as_f64(gap_us) * count_f64(edge);
    let Some(&(_, least)) =
        (ABRUPT.iter()).find(|(minutes, _)| edge_us <= as_f64(minutes * MINUTE_US))
    else {
        return false;
    };
    let Form::Box { duty } = found.pattern.form else {
        return false;
    };
    // What is looked at after the edge is still the event.
    let len = as_count(duty * found.pattern.clock.period_us() / as_f64(gap_us));
    let after_edge = edge.min(len / 2);
    let after_edge = after_edge..(after_edge + BESIDE_SAMPLES).min(len.max(after_edge + 1));
    let middle = found.pattern.middle_us();
    let on: Vec<usize> = (found.shown_onsets(samples).iter())
        .map(|(at, _)| samples.offsets.utc_us(at + middle))
        .map(|at| samples.times_us.partition_point(|&time| time <= at))
        .collect();
    let level = median(samples.values.clone()).abs();
    let of = |range: Range<usize>| median_of(samples, range);
    let is_edge = |at: &&usize| {
        let before = at
            .checked_sub(edge + BESIDE_SAMPLES)
            .and_then(|from| of(from..**at - edge));
        let after = of(**at + after_edge.start..**at + after_edge.end);
        let Some((before, after)) = before.zip(after) else {
            return false;
        };
        // The change around the onset is most of what lies between, not a part of a longer rise.
        let earlier = at.checked_sub(2 * edge + 2 * BESIDE_SAMPLES);
        let earlier = earlier.and_then(|from| of(from..from + BESIDE_SAMPLES));
        let size = (after - before).abs();
        size > level * least
            && earlier.is_some_and(|earlier| (before - earlier).abs() < size * SLOW_MAX)
    };
    let edges = on.iter().filter(is_edge).count();
    on.len() >= DAYS_MIN && edges * 10 >= on.len() * 8
}

/// Returns whether events begin hours apart from one period to the next: people's load comes at about the same time.
pub(super) fn is_scattered(found: &Found, samples: &Samples) -> bool {
    if found.located.is_none() {
        return false;
    }
    let on: Vec<i64> = (found.shown_onsets(samples).iter())
        .map(|(at, _)| *at)
        .collect();
    let period_us = as_i64(found.pattern.clock.period_us()).max(1);
    spread_us(&on, period_us) > as_f64(SCATTERED_US)
}

/// Returns whether events begin at the same moment each time, while how long they last varies: a job starts by the clock and ends
/// when it is done; people's load comes and goes.
pub(super) fn is_clockwork(found: &Found, samples: &Samples) -> bool {
    let len_us = found.pattern.len_us();
    let Some(len_us) = len_us.filter(|_| samples.gap_us <= CLOCKWORK_GAP_US) else {
        return false;
    };
    let middle = found.pattern.middle_us();
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    for (at, _) in found.shown_onsets(samples) {
        let at = samples.offsets.utc_us(at + middle);
        if let Some((begin, end)) = edges(samples, at, len_us) {
            begins.push(begin - as_f64(at));
            ends.push(end - as_f64(at));
        }
    }
    let gap = as_f64(samples.gap_us);
    let (of_begins, of_ends) = (robust_scale(&begins), robust_scale(&ends));
    let least = (gap * ENDS_MIN_SAMPLES)
        .max(of_begins.max(gap * KNOWN_MIN) * ENDS_MIN_TIMES)
        .max(as_f64(len_us) * ENDS_MIN_SHARE);
    begins.len() >= CLOCKWORK_MIN && of_begins < gap * STEADY_MAX && of_ends > least
}

/// When an event of about this place and length rises through half its height and falls through it again, in microseconds of UTC,
/// between two samples each. `None` where samples are missing.
fn edges(samples: &Samples, from_us: i64, len_us: i64) -> Option<(f64, f64)> {
    let index = |us: i64| samples.times_us.partition_point(|&at| at <= us);
    let of = |range: Range<usize>| median_of(samples, range);
    let first = index(from_us);
    let (earliest, latest) = (
        first.checked_sub(2 + BESIDE_SAMPLES)?,
        index(from_us + len_us * 3 / 2),
    );
    let part = |from: i64, to: i64| {
        let from = index(from_us + len_us * from / 8);
        of(from..index(from_us + len_us * to / 8).max(from + 1))
    };
    // Load below the event changes meanwhile.
    let begins = (of(earliest..earliest + BESIDE_SAMPLES)?, part(1, 4)?);
    let ends = (of(latest..latest + BESIDE_SAMPLES)?, part(4, 6)?);
    let is_out = |at: usize, (outside, inside): (f64, f64)| {
        let half = f64::midpoint(outside, inside);
        let value = samples.values.get(at)?;
        Some((*value - half) * (inside - outside) <= 0.0)
    };
    let between = |low: usize, high: usize, (outside, inside): (f64, f64)| {
        let (a, b) = (samples.values[low], samples.values[high]);
        let part = ((f64::midpoint(outside, inside) - a) / (b - a)).clamp(0.0, 1.0);
        let (from, to) = (
            as_f64(samples.times_us[low]),
            as_f64(samples.times_us[high]),
        );
        from + part * (to - from)
    };
    // From the middle outwards, over single samples that noise moved to the other side.
    let middle = index(from_us + len_us / 2);
    let both = |a: usize, b: usize, levels| {
        is_out(a, levels) == Some(true) && is_out(b, levels) == Some(true)
    };
    let low = (earliest + 1..=middle)
        .rev()
        .find(|&at| both(at, at - 1, begins))?;
    let high = (middle..latest + BESIDE_SAMPLES).find(|&at| both(at, at + 1, ends))?;
    let is_whole = as_f64(samples.times_us[high] - samples.times_us[low])
        <= as_f64(samples.gap_us) * (count_f64(high - low) + 0.5);
    (is_whole && low < middle && high > middle)
        .then(|| (between(low, low + 1, begins), between(high, high - 1, ends)))
}

/// The median of some samples; `None` if there are none, or not all of them.
fn median_of(samples: &Samples, range: Range<usize>) -> Option<f64> {
    let values = samples.values.get(range)?;
    (!values.is_empty()).then(|| median(values.to_vec()))
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
        is_enough.then(|| statistics::mean(values))
    };
    let until_us = from_us + len_us;
    let (left, right) = (
        mean(from_us - beside_us, from_us)?,
        mean(until_us, until_us + beside_us)?,
    );
    Some(mean(from_us, until_us)? - f64::midpoint(left, right))
}
