//! Joint fits of several patterns.
//!
//! Each pattern was found while the others were still in the values. Here each is fitted again without the
//! others, and a dip on top of a wave of load is separated from it.

use super::extent::bounded;
use super::forms::{each_form, with_best_form_in_zone};
use super::found::{Findings, Found};
use super::likelihood::{common_grid, likeliest, likelihood};
use super::size::{fit, grid_to_fit};
use crate::calendar::periods::DAY_US;
use crate::calendar::weekdays::Weekdays;
use crate::model::form::Form;
use crate::model::grid::{Grid, grids};
use crate::model::noise::regress;
use crate::model::pattern::{Clock, Pattern};
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, count_f64};
use crate::statistics::{difference, sum};
use rayon::prelude::*;

/// Minimum gain of two patterns in place of one, in nats, on top of their penalty.
const TWO_MIN: f64 = 10.0;
/// Minimum size of a part of a pattern, relative to the largest part.
const PART_MIN: f64 = 0.25;
/// Parts of at least this fraction of the largest are considered equal.
const ALIKE_MIN: f64 = 0.7;
/// Maximum number of parts of a pattern.
const PARTS_MAX: usize = 3;
/// Numbers of harmonics that are tried for a wave next to something sudden.
const HARMONICS: [usize; 3] = [1, 2, 4];
/// What the edges of an event leave beside it is this many times smaller.
const EDGES: f64 = 3.0;
/// Rounds of fitting a wave and something sudden alternately.
const TURNS: usize = 3;

/// Fits all patterns jointly: a pattern that may be a wave plus something sudden of the same period is
/// tried as both, and each is fitted again without the others.
pub(crate) fn fit_together(samples: &Samples, findings: &mut Findings) {
    split_into_parts(samples, findings);
    let mut number = 0;
    while number < findings.patterns.len() {
        // A wave that was separated is not tried again.
        let is_apart =
            has_own_period(&findings.patterns[number]) && separate_wave(samples, findings, number);
        number += 1 + usize::from(is_apart);
    }
    for _ in 0..TURNS {
        if findings.patterns.len() < 2 {
            break;
        }
        refit_waves(samples, findings);
        for number in 0..findings.patterns.len() {
            if findings.patterns[number].pattern.form != Form::Wave {
                fit_again(samples, findings, number);
            }
        }
        drop_absorbed_patterns(samples, findings);
    }
}

/// Fits waves to a grid's values together with other shapes, whose sizes are fitted as well.
fn fit_waves(waves: &mut [&mut Pattern], others: Vec<Vec<f64>>, grid: &Grid) {
    let mut columns = others;
    let first = columns.len();
    for wave in &*waves {
        let count = wave.coefficients.len();
        for place in 0..count {
            let alone = (0..count).map(|at| f64::from(u8::from(at == place)));
            let one = Pattern {
                coefficients: alone.collect(),
                ..(*wave).clone()
            };
            columns.push(one.values(&grid.wall_us));
        }
    }
    let shapes: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let Some(fit) = regress(&grid.index, &grid.sharp, &shapes) else {
        return;
    };
    if fit.coefficients.iter().any(|one| !one.is_finite()) {
        return;
    }
    let mut fitted = fit.coefficients[first..].iter();
    for wave in waves {
        for (coefficient, new) in wave.coefficients.iter_mut().zip(&mut fitted) {
            *coefficient = *new;
        }
    }
}

/// Drops patterns that have become part of another one; the next round fits that one to their values.
fn drop_absorbed_patterns(samples: &Samples, findings: &mut Findings) {
    let mut number = 0;
    while number < findings.patterns.len() {
        let found = &findings.patterns[number].pattern;
        let mut others = findings.patterns.iter().enumerate();
        if others.any(|(other, known)| other != number && found.is_part_of(&known.pattern)) {
            let absorbed = findings.patterns.remove(number);
            findings.rest = sum(&findings.rest, &absorbed.values(&samples.wall_us));
        } else {
            number += 1;
        }
    }
}

/// Splits patterns that consist of parts: two jobs half a day apart look like something every twelve hours
/// plus a daily correction. If a pattern coincides with one whose period is a fraction of its own, they are
/// replaced by several of the longer period.
fn split_into_parts(samples: &Samples, findings: &mut Findings) {
    let mut pairs = (0..findings.patterns.len())
        .flat_map(|part| (0..findings.patterns.len()).map(move |whole| (part, whole)));
    let Some((part, whole, count)) = pairs.find_map(|(part, whole)| {
        let count = part_count(&findings.patterns[part], &findings.patterns[whole])?;
        Some((part, whole, count))
    }) else {
        return;
    };
    let (short, long) = (&findings.patterns[part], &findings.patterns[whole]);
    let (
        Clock::Fixed {
            period_us: short_us,
            origin_us,
            zone,
            ..
        },
        Form::Box { duty },
    ) = (&short.pattern.clock, short.pattern.form)
    else {
        return;
    };
    let period_us = long.pattern.clock.period_us();
    let values = [short, long]
        .iter()
        .fold(findings.rest.clone(), |values, found| {
            sum(&values, &found.pattern.values(&samples.wall_us))
        });
    let on_grids = grids(&samples.wall_us, &values, samples.gap_us);
    let mut all: Vec<Pattern> = (0..count)
        .filter_map(|number| {
            let mut one = Pattern {
                clock: Clock::Fixed {
                    period_us,
                    origin_us: origin_us + count_f64(number) * short_us,
                    days: Weekdays::ALL,
                    zone: zone.clone(),
                },
                form: Form::Box {
                    duty: duty * short_us / period_us,
                },
                active_us: (i64::MIN, i64::MAX),
                ..short.pattern.clone()
            };
            let grid = &on_grids[one.grid];
            fit(&mut one, grid)?;
            Some(one)
        })
        .collect();
    let largest = all.iter().map(|one| one.size().abs()).fold(0.0, f64::max);
    all.retain(|one| one.size().abs() >= largest * PART_MIN);
    let is_alike = |one: &Pattern| one.size().abs() >= largest * ALIKE_MIN;
    let is_by_day = (period_us / as_f64(DAY_US) - 1.0).abs() < 0.01;
    if !is_by_day && all.len() == count && all.iter().all(is_alike) {
        // A single pattern, larger on some days than on others; within a day, several are more likely.
        let correction = findings.patterns.remove(whole);
        findings.rest = sum(&findings.rest, &correction.values(&samples.wall_us));
        return;
    }
    if all.is_empty() || all.len() > PARTS_MAX {
        return;
    }
    let (p, p_extrapolated) = (
        short.p.max(long.p),
        short.p_extrapolated.max(long.p_extrapolated),
    );
    let zones = short.zones.clone();
    let new: Vec<Found> = all
        .into_iter()
        .map(|pattern| Found {
            p,
            p_extrapolated,
            zones: zones.clone(),
            ..bounded(pattern, &on_grids)
        })
        .collect();
    findings.rest = new.iter().fold(values, |left, found| {
        difference(&left, &found.pattern.values(&samples.wall_us))
    });
    findings.patterns.remove(part.max(whole));
    findings.patterns.remove(part.min(whole));
    findings.patterns.splice(0..0, new);
}

/// Returns how many periods of `part` fit into one of `whole`, if both are boxes that coincide.
fn part_count(part: &Found, whole: &Found) -> Option<usize> {
    let is_box =
        |found: &Found| has_own_period(found) && matches!(found.pattern.form, Form::Box { .. });
    let short_us = part.pattern.clock.period_us();
    let ratio = whole.pattern.clock.period_us() / short_us;
    let count = ratio.round();
    let is_whole = (2.0..=7.0).contains(&count) && (ratio / count - 1.0).abs() < 1e-3;
    if !(is_whole && is_box(part) && is_box(whole)) {
        return None;
    }
    let begins_with = (0..as_count(count)).any(|number| {
        let mut one = part.pattern.clone();
        if let Clock::Fixed { origin_us, .. } = &mut one.clock {
            *origin_us += count_f64(number) * short_us;
        }
        whole.pattern.coincides_with(&one)
    });
    begins_with.then_some(as_count(count))
}

/// Fits the waves again jointly with all patterns, because a wave alone absorbs part of a dip.
fn refit_waves(samples: &Samples, findings: &mut Findings) {
    let is_wave = |found: &Found| found.pattern.form == Form::Wave && has_own_period(found);
    if !findings.patterns.iter().any(is_wave) {
        return;
    }
    let values = findings
        .patterns
        .iter()
        .fold(findings.rest.clone(), |values, found| {
            sum(&values, &found.values(&samples.wall_us))
        });
    let grids = grids(&samples.wall_us, &values, samples.gap_us);
    let patterns = findings.patterns.iter().map(|found| &found.pattern);
    let grid = &grids[common_grid(&grids, patterns).unwrap_or(0)];
    let mut waves: Vec<&mut Pattern> = Vec::new();
    let mut others: Vec<Vec<f64>> = Vec::new();
    for found in &mut findings.patterns {
        if is_wave(found) {
            waves.push(&mut found.pattern);
        } else {
            others.push(found.values(&grid.wall_us));
        }
    }
    fit_waves(&mut waves, others, grid);
    findings.rest = findings.patterns.iter().fold(values, |left, found| {
        difference(&left, &found.values(&samples.wall_us))
    });
}

/// Returns whether its clock is a period rather than the runs of jobs.
fn has_own_period(found: &Found) -> bool {
    matches!(found.pattern.clock, Clock::Fixed { .. }) && found.across_schedule_change.is_none()
}

/// Returns a pattern that takes the place of one that was found, where it is active.
fn in_place_of(found: &Found, pattern: Pattern, grids: &[Grid]) -> Found {
    Found {
        p: found.p,
        p_extrapolated: found.p_extrapolated,
        best_without_jobs: found.best_without_jobs.clone(),
        zones: found.zones.clone(),
        ..bounded(pattern, grids)
    }
}

/// Fits one pattern again to the values without the others: its form, or only its size if its clock is the
/// runs of jobs.
fn fit_again(samples: &Samples, findings: &mut Findings, number: usize) {
    let found = &findings.patterns[number];
    if found.across_schedule_change.is_some() || found.located.is_some() {
        return;
    }
    let values = sum(&findings.rest, &found.pattern.values(&samples.wall_us));
    let grids = grids(&samples.wall_us, &values, samples.gap_us);
    let mut pattern = found.pattern.clone();
    pattern.grid = pattern.grid.min(grids.len() - 1);
    if has_own_period(found) {
        pattern.active_us = (i64::MIN, i64::MAX);
    }
    let grid = &grids[pattern.grid];
    if fit(&mut pattern, grid).is_none() {
        return;
    }
    if !has_own_period(found) {
        findings.rest = difference(&values, &pattern.values(&samples.wall_us));
        findings.patterns[number].pattern = pattern;
        return;
    }
    let pattern = with_best_form_in_zone(samples, &values, &grids, pattern);
    let again = in_place_of(found, pattern, &grids);
    findings.rest = difference(&values, &again.pattern.values(&samples.wall_us));
    findings.patterns[number] = again;
}

/// Separates a dip on top of a wave, which may look like one sawtooth: if a wave plus something sudden of
/// the same period explains clearly more, the two replace it, and any wave found next to it. Returns
/// whether they do.
fn separate_wave(samples: &Samples, findings: &mut Findings, number: usize) -> bool {
    let found = &findings.patterns[number];
    let period_us = found.pattern.clock.period_us();
    // Load follows the clocks of the analysis.
    if found.pattern.clock.zone().is_some() {
        return false;
    }
    let is_alike = |other: &Found| {
        has_own_period(other)
            && other.pattern.clock.zone().is_none()
            && other.pattern.shares_period_with(&found.pattern)
    };
    let others: Vec<usize> = (number + 1..findings.patterns.len())
        .filter(|&other| is_alike(&findings.patterns[other]))
        .collect();
    // Short patterns are not a mixture, with what their edges leave.
    let size = |found: &Found| found.pattern.size().abs();
    let is_small = |other: &usize| size(&findings.patterns[*other]) * EDGES < size(found);
    if found.pattern.form.duty() <= 0.2 && others.iter().all(is_small) {
        return false;
    }
    let alike: Vec<&Found> = std::iter::once(found)
        .chain(others.iter().map(|&other| &findings.patterns[other]))
        .collect();
    let values = alike.iter().fold(findings.rest.clone(), |values, found| {
        sum(&values, &found.pattern.values(&samples.wall_us))
    });
    let Some([sudden, wave]) = fit_wave_and_event(samples, &values, period_us) else {
        return false;
    };
    let on_grids = grids(&samples.wall_us, &values, samples.gap_us);
    let grid = &on_grids[grid_to_fit(&on_grids, period_us)];
    let known: Vec<&Pattern> = alike.iter().map(|found| &found.pattern).collect();
    if likelihood(grid, &[&sudden, &wave]) < likelihood(grid, &known) + TWO_MIN {
        return false;
    }
    let new = |pattern: &Pattern, beside: &Pattern| {
        let left = difference(&values, &beside.values(&samples.wall_us));
        let own = grids(&samples.wall_us, &left, samples.gap_us);
        in_place_of(found, pattern.clone(), &own)
    };
    let new = [new(&sudden, &wave), new(&wave, &sudden)];
    findings.rest = new.iter().fold(values.clone(), |left, found| {
        difference(&left, &found.pattern.values(&samples.wall_us))
    });
    for other in others.into_iter().rev() {
        findings.patterns.remove(other);
    }
    let [sudden, wave] = new;
    findings.patterns[number] = sudden;
    findings.patterns.insert(number + 1, wave);
    true
}

/// Fits a wave and something sudden with the same period alternately. With all its harmonics a wave absorbs
/// a dip of some hours, so the fewest that suffice are used.
fn fit_wave_and_event(samples: &Samples, values: &[f64], period_us: f64) -> Option<[Pattern; 2]> {
    let all = grids(&samples.wall_us, values, samples.gap_us);
    let grid = &all[grid_to_fit(&all, period_us)];
    let whole = each_form(&all, period_us, |form| form == Form::Wave)
        .into_iter()
        .next()?;
    let pairs = HARMONICS.par_iter().filter_map(|&harmonics| {
        let mut wave = whole.clone();
        wave.coefficients.truncate(2 * harmonics);
        wave.fit.coefficients.truncate(2 * harmonics + 1);
        fit_waves(&mut [&mut wave], Vec::new(), grid);
        let mut sudden: Option<Pattern> = None;
        for _ in 0..TURNS {
            let left = difference(values, &wave.values(&samples.wall_us));
            let grids = grids(&samples.wall_us, &left, samples.gap_us);
            let others = each_form(&grids, period_us, |form| form != Form::Wave);
            let found = likeliest(&grids, others)?;
            // A wave alone absorbs part of a dip.
            fit_waves(&mut [&mut wave], vec![found.values(&grid.wall_us)], grid);
            // With the same shape, the wave is the same as well.
            let is_same =
                |known: &Pattern| (&known.clock, known.form) == (&found.clock, found.form);
            let is_settled = sudden.as_ref().is_some_and(is_same);
            sudden = Some(found);
            if is_settled {
                break;
            }
        }
        let pair = [sudden?, wave];
        Some((likelihood(grid, &[&pair[0], &pair[1]]), pair))
    });
    pairs
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, pair)| pair)
}
