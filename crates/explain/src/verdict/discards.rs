//! Whether the time of discards and flushes that rises again and again is that of discards. Flushes come with writes; a
//! trim sends discards without any.

use super::recurrence::{Recurrence, is_event};
use super::result::{Interval, Requests};
use crate::numbers::{as_i64, count_f64};
use crate::statistics::median;
use facts::series::Series;

/// Writes rise by more than this if flushes are to have come with them.
const WRITES_RISE: f64 = 1.5;
/// Flushes that take longer than usual, as on a drive that is busy with something else, are distinguished from discards by less
/// than this many times their usual time.
const FLUSHES_RISE: f64 = 3.0;
/// Minimum number of events that have samples on either side.
const EVENTS_MIN: usize = 3;
const SECOND_US: f64 = 1e6;

/// What a series with the time of discards and flushes shows; `None` for any other series.
pub(super) fn requests(series: &Series, recurrence: Option<&Recurrence>) -> Option<Requests> {
    let about = series.discard_time.as_ref()?;
    let recurrence = recurrence?;
    let rises = is_event(recurrence.shape) && recurrence.effect.size > 0.0;
    let (Some(seconds), true) = (recurrence.effect.len_s, rises) else {
        return Some(Requests::DiscardsOrFlushes);
    };
    let Some(writes) = &about.writes_per_s else {
        return Some(Requests::DiscardsOrFlushes);
    };
    let len_us = as_i64(seconds * SECOND_US);
    let (mut within, mut beside) = (Sides::default(), Sides::default());
    for event in &recurrence.events {
        if let Some([inside, around]) = means(series, writes, *event, len_us) {
            within.push(inside);
            beside.push(around);
        }
    }
    if within.writes.len() < EVENTS_MIN {
        return Some(Requests::DiscardsOrFlushes);
    }
    let flushes = about.flush_ms_per_write * beside.writes();
    let is_more = within.time() - beside.time() > flushes * FLUSHES_RISE;
    Some(if within.writes() > beside.writes() * WRITES_RISE {
        Requests::WithWrites
    } else if is_more {
        Requests::Discards
    } else {
        Requests::DiscardsOrFlushes
    })
}

/// Means of many events.
#[derive(Default)]
struct Sides {
    time: Vec<f64>,
    writes: Vec<f64>,
}

impl Sides {
    fn push(&mut self, (time, writes): (f64, f64)) {
        self.time.push(time);
        self.writes.push(writes);
    }

    fn time(&self) -> f64 {
        median(self.time.clone())
    }

    fn writes(&self) -> f64 {
        median(self.writes.clone())
    }
}

/// The mean time of discards and flushes, and the mean number of writes, within an event that begins in an interval, and on
/// either side; `None` without samples.
fn means(series: &Series, writes: &[f64], begin: Interval, len_us: i64) -> Option<[(f64, f64); 2]> {
    let (from, to) = (begin.from.as_microsecond(), begin.to.as_microsecond());
    // The interval is about a sample long, and so is what is seen of a shorter event.
    let begins_us = (to - from).max(1);
    let until = from.saturating_add(len_us).max(to);
    let beside_us = len_us.max(begins_us.saturating_mul(3));
    let means = |ranges: &[(i64, i64)]| {
        let index = |us: i64| series.times_us.partition_point(|&at| at <= us);
        let samples = ranges
            .iter()
            .flat_map(|&(after, until)| index(after)..index(until));
        let samples: Vec<usize> = samples.collect();
        let mean = |values: &[f64]| {
            let all = samples.iter().filter_map(|&at| values.get(at));
            all.sum::<f64>() / count_f64(samples.len())
        };
        (!samples.is_empty()).then(|| (mean(&series.values), mean(writes)))
    };
    // What ends within a sample shows in the next one.
    let after = until.saturating_add(begins_us);
    let beside = [
        (from.saturating_sub(beside_us), from),
        (after, after.saturating_add(beside_us)),
    ];
    Some([means(&[(from, until)])?, means(&beside)?])
}
