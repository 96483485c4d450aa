//! Determines the time range in which a pattern is active.

use super::found::Found;
use super::size::{Baseline, box_size, fit};
use crate::model::form::Form;
use crate::model::grid::Grid;
use crate::model::noise::step;
use crate::model::pattern::Pattern;
use crate::numbers::{as_f64, as_i64, count_f64};
use crate::search::periods::is_near_calendar;
use crate::statistics::median;
use std::ops::Range;

/// Events are plain to see if capped values show them this many times smaller; what each such occurrence says, in nats.
const CAPPED: f64 = 5.0;
const PLAIN_NATS: f64 = 5.0;
/// Minimum ratio of the typical to the fitted size of a box.
const TYPICAL_MIN: f64 = 0.5;
/// Minimum ratio of the typical to the fitted slope of a sawtooth.
const SLOPE_MIN: f64 = 0.25;
/// Minimum number of samples per half period to determine a slope.
const HALF_MIN: usize = 2;
/// Minimum number of periods of a pattern that is active only part of the time.
const ON_MIN: usize = 3;
/// The same if most periods do not show it.
const ON_RARE: usize = 6;
/// Minimum number of cycles of a wave whose period is not a calendar's.
const WAVE_CYCLES_MIN: f64 = 6.0;

/// Returns the evidence of each filled bin but the first for the pattern, in nats, as if it were always
/// active.
fn evidence_of_bins(pattern: &Pattern, grid: &Grid) -> Vec<f64> {
    // Use the size in the variant that was searched, whose peaks are capped.
    let all = Pattern {
        active_us: (i64::MIN, i64::MAX),
        coefficients: pattern.fit.coefficients[..pattern.coefficients.len()].to_vec(),
        ..pattern.clone()
    };
    let form = all.values(&grid.wall_us);
    let values = grid.values(pattern.variant);
    let level = pattern.fit.coefficients.last().copied().unwrap_or(0.0);
    (1..grid.len())
        .map(|i| {
            let (kept, size) = step(pattern.fit.phi, grid.index[i] - grid.index[i - 1]);
            let seen = ((values[i] - level) - kept * (values[i - 1] - level)) / size;
            let meant = (form[i] - kept * form[i - 1]) / size;
            (meant * seen - 0.5 * meant * meant) / pattern.fit.variance
        })
        .collect()
}

/// Returns the evidence for the pattern around each onset, in nats.
fn evidence(pattern: &Pattern, grid: &Grid) -> Vec<(i64, f64)> {
    let (Some(&first), Some(&last)) = (grid.wall_us.first(), grid.wall_us.last()) else {
        return Vec::new();
    };
    let half = as_i64(pattern.clock.period_us() / 2.0);
    let onsets = pattern.clock.onsets(first - half, last + half);
    if onsets.is_empty() {
        return Vec::new();
    }
    if let Some(plain) = plain_evidence(pattern, grid, &onsets) {
        return plain;
    }
    let mut gains: Vec<(i64, f64)> = onsets.iter().map(|&at| (at, f64::NAN)).collect();
    for (gain, &wall) in evidence_of_bins(pattern, grid)
        .into_iter()
        .zip(&grid.wall_us[1..])
    {
        let near = nearest_onset(&onsets, wall);
        let sum = &mut gains[near].1;
        *sum = if sum.is_nan() { gain } else { *sum + gain };
    }
    // Onsets without samples around them carry no evidence.
    gains.retain(|(_, gain)| !gain.is_nan());
    gains
}

/// The same of events of which capped values show hardly anything, because they are so large: whether each occurrence is.
fn plain_evidence(pattern: &Pattern, grid: &Grid, onsets: &[i64]) -> Option<Vec<(i64, f64)>> {
    let Form::Box { duty } = pattern.form else {
        return None;
    };
    let (size, capped) = (
        pattern.coefficients.first()?,
        pattern.fit.coefficients.first()?,
    );
    if *size == 0.0 || size.abs() < capped.abs() * CAPPED {
        return None;
    }
    let mut inside: Vec<Vec<f64>> = vec![Vec::new(); onsets.len()];
    let mut outside = inside.clone();
    let phases = pattern.clock.phases(&grid.wall_us);
    for ((&wall, &value), phase) in grid.wall_us.iter().zip(&grid.means).zip(phases) {
        let of = if phase < duty {
            &mut inside
        } else {
            &mut outside
        };
        of[nearest_onset(onsets, wall)].push(value);
    }
    let shown = onsets
        .iter()
        .zip(inside.into_iter().zip(outside))
        .filter_map(|(&at, (on, off))| {
            let contrast = (!on.is_empty() && !off.is_empty()).then(|| median(on) - median(off))?;
            let sign = if contrast / size > 0.5 { 1.0 } else { -1.0 };
            Some((at, sign * PLAIN_NATS))
        });
    Some(shown.collect())
}

/// Returns the index of the nearest onset; 0 if there is none.
pub(crate) fn nearest_onset(onsets: &[i64], wall: i64) -> usize {
    let next = onsets.partition_point(|&at| at <= wall);
    match next {
        0 => 0,
        _ if next == onsets.len() => next - 1,
        _ if onsets[next] - wall < wall - onsets[next - 1] => next,
        _ => next - 1,
    }
}

/// Whether a pattern begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    On,
    Off,
}

/// Returns the local time within a range at which the bins begin to support the pattern, or cease to.
fn turning_point(pattern: &Pattern, grid: &Grid, range: (i64, i64), turn: Turn) -> i64 {
    let gains = evidence_of_bins(pattern, grid);
    let (mut sum, mut best, mut at) = (0.0, 0.0, None);
    for (gain, &wall) in gains.iter().zip(&grid.wall_us[1..]) {
        if wall < range.0 || wall > range.1 {
            continue;
        }
        // The sum up to the point is largest for an end, and smallest for a beginning.
        sum += match turn {
            Turn::Off => *gain,
            Turn::On => -*gain,
        };
        if at.is_none() || sum > best {
            (best, at) = (sum, Some(wall));
        }
    }
    match turn {
        Turn::Off => at.unwrap_or(range.1),
        Turn::On => at.map_or(range.0, |wall| wall + 1),
    }
}

/// Returns the range of onsets in which the pattern is active: the one with the most evidence, or all if
/// leaving some out gains no more than chance would.
fn active_range(gains: &[(i64, f64)]) -> Range<usize> {
    let (mut best, mut sum, mut start) = ((0.0, 0..gains.len()), 0.0, 0);
    let total: f64 = gains.iter().map(|(_, gain)| gain).sum();
    best.0 = f64::MIN;
    for (i, (_, gain)) in gains.iter().enumerate() {
        if sum <= 0.0 {
            sum = 0.0;
            start = i;
        }
        sum += gain;
        if sum > best.0 {
            best = (sum, start..i + 1);
        }
    }
    // A few inactive days at either end do not bound the pattern if it was inactive for as long twice
    // before; the outermost days may also lack samples.
    let is_quiet = |&(_, gain): &(i64, f64)| gain <= 0.0;
    let mut quiets: Vec<usize> = gains[best.1.clone()]
        .chunk_by(|a, b| is_quiet(a) == is_quiet(b))
        .filter(|chunk| chunk.first().is_some_and(is_quiet))
        .map(<[_]>::len)
        .collect();
    quiets.sort_unstable_by_key(|&len| std::cmp::Reverse(len));
    let quiet = quiets.get(1).copied().unwrap_or(0).max(1) + 1;
    if best.1.start <= quiet {
        best.1.start = 0;
    }
    if gains.len() - best.1.end <= quiet {
        best.1.end = gains.len();
    }
    best.0 = gains[best.1.clone()].iter().map(|(_, gain)| gain).sum();
    let ends = usize::from(best.1.start > 0) + usize::from(best.1.end < gains.len());
    // Each end was selected among as many positions as there are onsets, and has to be clear.
    let penalty = count_f64(ends) * (count_f64(gains.len().max(1)).ln() + 3.0);
    if best.0 - total > penalty {
        best.1
    } else {
        0..gains.len()
    }
}

/// Returns whether a few large occurrences make up a pattern that most periods do not show: the typical
/// size is much smaller than the fitted one, or has the opposite sign.
fn is_dominated_by_few(pattern: &Pattern, grid: &Grid) -> bool {
    // A sawtooth with its own period may be a dip next to load; that is separated later.
    if pattern.form == Form::Sawtooth && pattern.class.is_some() {
        return typical_slope(pattern, grid).is_some_and(|typical| typical < SLOPE_MIN);
    }
    let Form::Box { duty } = pattern.form else {
        return false;
    };
    let fitted = pattern.fit.coefficients.first();
    let is_typical = |typical: &f64| fitted.is_some_and(|fitted| typical / fitted >= TYPICAL_MIN);
    if pattern.coefficients.first().is_some_and(is_typical) {
        return false;
    }
    let phases = pattern.clock.phases(&grid.wall_us);
    let bins = grid.means.iter().zip(phases).zip(&grid.wall_us);
    let on = bins.filter(|(_, wall)| pattern.is_active(**wall));
    let on = on.map(|(bin, _)| bin);
    let (means, phases): (Vec<f64>, Vec<f64>) = on.unzip();
    !box_size(&means, &phases, duty, Baseline::BothSides, grid.is_wide)
        .is_some_and(|typical| is_typical(&typical))
}

/// Returns the typical change from one half of a period to the other, relative to that of the fitted
/// sawtooth. `None` if periods have too few samples.
fn typical_slope(pattern: &Pattern, grid: &Grid) -> Option<f64> {
    let phases = pattern.clock.phases(&grid.wall_us);
    let is_on = |i: &usize| pattern.is_active(grid.wall_us[*i]);
    let on: Vec<usize> = (0..grid.len()).filter(is_on).collect();
    let moved: Vec<f64> = on
        .chunk_by(|&a, &b| phases[a] <= phases[b])
        .filter_map(|period| {
            let half = |wanted: bool| -> Option<f64> {
                let values = period.iter().filter(|&&i| (phases[i] < 0.5) == wanted);
                let values: Vec<f64> = values.map(|&i| grid.means[i]).collect();
                (values.len() >= HALF_MIN).then(|| median(values))
            };
            Some(half(false)? - half(true)?)
        })
        .collect();
    // The centres of the halves are half a period apart.
    let fitted = 0.5 * pattern.coefficients.first()?;
    (moved.len() >= ON_MIN).then(|| median(moved) / fitted)
}

/// Returns whether a wave that follows no calendar has so few cycles that it may be a slow bend.
fn is_slow_bend(pattern: &Pattern, grid: &Grid) -> bool {
    let period_us = pattern.clock.period_us();
    let span_us = as_f64(grid.span_bins()) * as_f64(grid.width_us);
    pattern.form == Form::Wave
        && !is_near_calendar(period_us)
        && span_us < period_us * WAVE_CYCLES_MIN
}

/// Returns whether most of its occurrences support a pattern, always or while it is active.
pub(crate) fn is_supported(pattern: &Pattern, grids: &[Grid]) -> bool {
    if is_slow_bend(pattern, &grids[pattern.grid]) {
        return false;
    }
    !is_dominated_by_few(pattern, &grids[pattern.grid]) || {
        let found = bounded(pattern.clone(), grids);
        found.active.len() >= ON_RARE
            && !is_dominated_by_few(&found.pattern, &grids[found.pattern.grid])
    }
}

/// Determines when a pattern is active, and fits it there.
pub(crate) fn bounded(mut pattern: Pattern, grids: &[Grid]) -> Found {
    let grid = &grids[pattern.grid];
    let mut onsets = evidence(&pattern, grid);
    let mut active = active_range(&onsets);
    let whole = pattern.clone();
    if active.len() < onsets.len() && active.len() >= ON_MIN {
        let period_us = as_i64(pattern.clock.period_us());
        if active.start > 0 {
            let first = onsets[active.start].0;
            let range = (first - period_us * 3 / 2, first + period_us / 2);
            pattern.active_us.0 = turning_point(&whole, grid, range, Turn::On);
        }
        if active.end < onsets.len() {
            let last = onsets[active.end - 1].0;
            let range = (last - period_us / 2, last + period_us * 3 / 2);
            pattern.active_us.1 = turning_point(&whole, grid, range, Turn::Off);
        }
    }
    if pattern.active_us != whole.active_us && fit(&mut pattern, grid).is_some() {
        (onsets, active) = onsets_of(&pattern, grid);
    } else {
        pattern = whole;
        active = 0..onsets.len();
    }
    Found {
        pattern,
        p: 1.0,
        p_extrapolated: 1.0,
        best_without_jobs: None,
        across_schedule_change: None,
        zones: Vec::new(),
        onsets,
        active,
        located: None,
    }
}

/// Returns the onsets of a pattern with the evidence of each, and the range of onsets in which it is
/// active.
pub(crate) fn onsets_of(pattern: &Pattern, grid: &Grid) -> (Vec<(i64, f64)>, Range<usize>) {
    let onsets = evidence(pattern, grid);
    let inside = |at: &(i64, f64)| pattern.is_active(at.0);
    let start = onsets.iter().position(inside).unwrap_or(0);
    let end = start + onsets.iter().filter(|at| inside(at)).count();
    (onsets, start..end)
}
