//! Validated series, ready to be searched.

use crate::calendar::offsets::UtcOffsets;
use crate::calendar::other_zone::OtherZone;
use crate::model::grid::{Grid, grids};
use facts::series::{Dating, SampleOf, Series};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Minimum number of samples.
pub(crate) const SAMPLES_MIN: usize = 16;
/// Maximum magnitude of a value; larger ones are not measurements, and their squares overflow.
const VALUE_MAX: f64 = 1e150;
/// Samples beyond a gap this many times as long as all the rest are unrelated to them.
const FAR_FACTOR: i64 = 100;
/// Common sampling intervals, in seconds, to which a nearby measured one is rounded.
const USUAL_GAPS_S: [i64; 22] = [
    1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400,
    21_600, 43_200, 86_400, 604_800,
];

/// A series, ready to be searched.
#[derive(Debug, Clone)]
pub(crate) struct Samples {
    /// Timestamps in UTC, ascending.
    pub times_us: Vec<i64>,
    /// The same in local time.
    pub wall_us: Vec<i64>,
    /// The values, all finite.
    pub values: Vec<f64>,
    /// Usual sampling interval.
    pub gap_us: i64,
    /// What a sample says, if the source tells.
    pub sample_of: Option<SampleOf>,
    /// UTC offsets at that time.
    pub offsets: UtcOffsets,
    /// Other zones whose clocks a job may follow, if these samples can tell.
    pub other_zones: Vec<Arc<OtherZone>>,
}

impl Samples {
    /// Returns the grids of some values, one for each sample, in the local time of a zone.
    pub fn grids_in(&self, zone: Option<&OtherZone>, values: &[f64]) -> Vec<Grid> {
        match zone {
            None => grids(&self.wall_us, values, self.gap_us),
            Some(zone) => {
                let of = |&us: &i64| zone.of_utc_us(us);
                let there_us: Vec<i64> = self.times_us.iter().map(of).collect();
                grids(&there_us, values, self.gap_us)
            }
        }
    }
}

/// What a sample was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SampleTaken {
    /// The mean of the time since the one before it, or the value at its moment.
    pub sample_of: SampleOf,
    /// Whether the source says so; else the values do.
    pub by_source: bool,
}

/// A series, as far as it is usable.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// Usual sampling interval; `None` if there are fewer than two samples.
    pub gap_us: Option<i64>,
    /// What was left out, one sentence each.
    pub notes: Vec<String>,
    /// The samples, or why they cannot be used.
    pub samples: Result<Samples, Unusable>,
}

/// Why a series cannot be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Its times are not absolute.
    NotDated(Dating),
    /// It has too few samples, namely this many.
    TooFew(usize),
    /// It only increases, like a counter.
    Counter,
}

/// Validates a series and prepares it for a search.
pub(crate) fn prepare(series: &Series, zone: &TimeZone, other_zones: &[TimeZone]) -> Prepared {
    let mut notes = Vec::new();
    let (times_us, values) = valid(series, &mut notes);
    let gap_us = usual_gap(&times_us);
    let is_spaced = times_us.len() > 1;
    let samples = if series.dating != Dating::Absolute {
        Err(Unusable::NotDated(series.dating))
    } else if times_us.len() < SAMPLES_MIN {
        Err(Unusable::TooFew(times_us.len()))
    } else if looks_like_counter(&values) {
        Err(Unusable::Counter)
    } else {
        let (first, last) = (times_us[0], times_us[times_us.len() - 1]);
        let offsets = UtcOffsets::new(zone, first, last);
        let of_zone = |zone: &TimeZone| OtherZone::new(zone, &offsets, first, last).map(Arc::new);
        let other_zones = other_zones.iter().filter_map(of_zone).collect();
        Ok(Samples {
            wall_us: times_us.iter().map(|&us| offsets.wall_us(us)).collect(),
            times_us,
            values,
            gap_us,
            sample_of: series.sample_of,
            offsets,
            other_zones,
        })
    };
    Prepared {
        gap_us: is_spaced.then_some(gap_us),
        notes,
        samples,
    }
}

/// Returns the usual sampling interval in microseconds, rounded to a common one if close.
fn usual_gap(times_us: &[i64]) -> i64 {
    let mut gaps: Vec<i64> = times_us.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if gaps.is_empty() {
        return 1;
    }
    let middle = gaps.len() / 2;
    let gap = (*gaps.select_nth_unstable(middle).1).max(1);
    USUAL_GAPS_S
        .iter()
        .map(|gap_s| gap_s * 1_000_000)
        .find(|usual| (gap - usual).abs() <= *usual / 20)
        .unwrap_or(gap)
}

/// Returns whether the values look like a counter: whole numbers from 0 on, of which more than half of at
/// least 50 steps increase and at most one in 200 decreases.
fn looks_like_counter(values: &[f64]) -> bool {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let falls = steps.iter().filter(|step| **step < 0.0).count();
    let rises = steps.iter().filter(|step| **step > 0.0).count();
    let is_whole = values
        .iter()
        .all(|value| value.fract() == 0.0 && *value >= 0.0);
    is_whole && falls * 200 <= steps.len() && rises * 2 > steps.len() && steps.len() >= 50
}

/// Returns ascending times and finite values, whatever the input, without samples that are far away from
/// the others; notes what was left out.
fn valid(series: &Series, notes: &mut Vec<String>) -> (Vec<i64>, Vec<f64>) {
    let mut times_us = Vec::with_capacity(series.times_us.len());
    let mut values = Vec::with_capacity(series.values.len());
    for (&time, &value) in series.times_us.iter().zip(&series.values) {
        let ascends = times_us.last().is_none_or(|&last| time > last);
        if ascends && value.is_finite() && value.abs() < VALUE_MAX {
            times_us.push(time);
            values.push(value);
        }
    }
    let left_out = series.values.len().min(series.times_us.len()) - times_us.len();
    if left_out > 0 {
        notes.push(format!(
            "{} skipped: no number below 1e150, or not later than the sample before",
            samples_were(left_out)
        ));
    }
    let main = main_part(&times_us);
    let far = times_us.len() - main.len();
    if far > 0 {
        notes.push(format!(
            "{} skipped: too far from the others (more than {FAR_FACTOR} times the time that these span)",
            samples_were(far)
        ));
    }
    (times_us[main.clone()].to_vec(), values[main].to_vec())
}

/// `1 sample was`, `7 samples were`.
fn samples_were(count: usize) -> String {
    match count {
        1 => "1 sample was".to_owned(),
        _ => format!("{count} samples were"),
    }
}

/// Returns the range of samples without those beyond a gap that is much longer than all the rest.
fn main_part(times_us: &[i64]) -> std::ops::Range<usize> {
    let mut part = 0..times_us.len();
    while part.len() > 2 {
        let times = &times_us[part.clone()];
        let span = times[times.len() - 1].saturating_sub(times[0]);
        let gaps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let Some((gap, after)) = gaps.zip(1..).max_by_key(|(gap, _)| *gap) else {
            break;
        };
        if gap / FAR_FACTOR <= span - gap {
            break;
        }
        part = if after * 2 > times.len() {
            part.start..part.start + after
        } else {
            part.start + after..part.end
        };
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::periods::{DAY_US, HOUR_US};

    #[test]
    fn a_month_long_gap_between_two_days_is_kept() {
        let two: Vec<i64> = (0..20)
            .map(|i| i * HOUR_US + i / 10 * 30 * DAY_US)
            .collect();
        assert_eq!(main_part(&two), 0..20);
    }
}
