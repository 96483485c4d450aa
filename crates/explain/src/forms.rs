//! Which form a pattern has, beside the other patterns.
//!
//! The search takes its first look on wide bins, where a sawtooth may look like a box, and a wave has one
//! harmonic; and while other patterns are still in the values. Here each form of a period gets an exact
//! fit, and a dip beside a wave of load is told apart from it.

use crate::evidence::{bounded, stands};
use crate::found::{Findings, Found, Samples};
use crate::grid::{Grid, Variant, grids};
use crate::noise::regress;
use crate::numbers::{as_count, as_f64, count_f64};
use crate::pattern::{Clock, Pattern, fit, grid_to_fit, widest_for};
use crate::refine::refine;
use crate::search::{Candidate, Scratch, Task};
use crate::shape::{Form, SPIKE_BINS_MAX};
use crate::wall::{DAY_US, is_of};
use crate::weekdays::{Weekdays, on_its_days};
use rayon::prelude::*;

/// Two patterns in place of one have to gain so many nats more than their charge.
const TWO_MIN: f64 = 10.0;
/// One of several that were taken for one is at least this part of the largest.
const PART_MIN: f64 = 0.25;
/// Parts that are as large as this part of the largest are no different ones.
const ALIKE_MIN: f64 = 0.7;
/// So many are told at most.
const PARTS_MAX: usize = 3;
/// Harmonics that a wave is tried with beside something sudden.
const HARMONICS: [usize; 3] = [1, 2, 4];
/// Turns of fitting a wave and something sudden beside each other.
const TURNS: usize = 3;

/// The one that makes the values likeliest, on bins that hide none of them; of equals the first.
pub(crate) fn likeliest(grids: &[Grid], mut patterns: Vec<Pattern>) -> Option<Pattern> {
    let grid = &grids[common_grid(grids, patterns.iter())?];
    let judged: Vec<f64> = patterns
        .par_iter()
        .map(|pattern| likelihood(grid, &[pattern]))
        .collect();
    let best = (0..judged.len())
        .rev()
        .max_by(|&a, &b| judged[a].total_cmp(&judged[b]))?;
    Some(patterns.swap_remove(best))
}

/// The grid on which all of these patterns can be fitted.
fn common_grid<'a>(grids: &[Grid], patterns: impl Iterator<Item = &'a Pattern>) -> Option<usize> {
    patterns
        .map(|pattern| {
            pattern
                .grid
                .min(grid_to_fit(grids, pattern.clock.period_us()))
        })
        .min()
}

/// Logarithm of the likelihood of a grid's values with these patterns in them, less Schwarz's charge: a
/// wave has more coefficients than the others.
pub(crate) fn likelihood(grid: &Grid, patterns: &[&Pattern]) -> f64 {
    let shapes: Vec<Vec<f64>> = patterns
        .iter()
        .map(|pattern| pattern.values(&grid.wall_us))
        .collect();
    let shapes: Vec<&[f64]> = shapes.iter().map(Vec::as_slice).collect();
    let coefficients: usize = patterns
        .iter()
        .map(|pattern| pattern.fit.coefficients.len())
        .sum();
    let days = patterns
        .iter()
        .map(|pattern| pattern.clock.weekdays().charge());
    let charge = 0.5 * count_f64(coefficients) * count_f64(grid.len()).ln() + days.sum::<f64>();
    regress(&grid.index, &grid.sharp, &shapes).map_or(f64::MIN, |fit| fit.log_likelihood - charge)
}

/// The same period with the form that suits it best, and the days of the week that show it.
pub(crate) fn of_any_form(grids: &[Grid], pattern: Pattern) -> Pattern {
    let period_us = pattern.clock.period_us();
    let mut all = vec![pattern.clone()];
    all.extend(each_form(grids, period_us, |_| true));
    // Of a week: on more days than the one that shows it best, perhaps.
    let daily = if is_of(period_us, 7 * DAY_US) {
        exact_forms(grids, as_f64(DAY_US), |form| {
            matches!(form, Form::Box { .. })
        })
    } else {
        all.clone()
    };
    let on_days = |daily: &Pattern| {
        let some = on_its_days(daily, &grids[daily.grid])?;
        stands(&some, grids).then_some(some)
    };
    let some: Vec<Pattern> = daily.par_iter().filter_map(on_days).collect();
    all.extend(some);
    likeliest(grids, all).unwrap_or(pattern)
}

/// The best of each wanted form with a period, as far as they stand.
pub(crate) fn each_form(
    grids: &[Grid],
    period_us: f64,
    is_wanted: impl Fn(Form) -> bool,
) -> Vec<Pattern> {
    let mut all = exact_forms(grids, period_us, is_wanted);
    all.retain(|pattern| stands(pattern, grids));
    all
}

/// The best of each wanted form with a period.
fn exact_forms(grids: &[Grid], period_us: f64, is_wanted: impl Fn(Form) -> bool) -> Vec<Pattern> {
    let bins = |grid: &Grid| period_us / as_f64(grid.width_us);
    let number = widest_for(grids, period_us);
    let grid = &grids[number];
    let period_bins = bins(grid);
    // A short box is no part of slow values: its size would be wrong.
    let is_short = |form: Form| match form {
        Form::Box { duty } => duty * period_bins <= count_f64(SPIKE_BINS_MAX),
        _ => false,
    };
    let mut forms: Vec<(Task, Candidate)> = Vec::new();
    let mut scratch = Scratch::default();
    for variant in [Variant::Slow, Variant::Sharp] {
        let values = grid.values(variant);
        if let Some(null) = grid.null(variant) {
            let task = Task::of_period(number, grid, variant, period_bins);
            let found = task.each_form(&grid.index, values, &null, &mut scratch);
            forms.extend(found.into_iter().map(|found| (task.clone(), found)));
        }
    }
    forms.retain(|(_, found)| is_wanted(found.form));
    let exact = |scratch: &mut Scratch, (task, found): &(Task, Candidate)| {
        refine(grids, task, found, scratch).filter(|pattern| {
            let is_slow = pattern.variant == Variant::Slow;
            !(is_slow && is_short(pattern.form))
        })
    };
    let refined: Vec<Option<Pattern>> =
        forms.par_iter().map_init(Scratch::default, exact).collect();
    refined.into_iter().flatten().collect()
}

/// Each pattern took its form while the others were still in the values: what may be a wave and something
/// sudden of one period is tried as both, and each is fitted once more without the others.
pub(crate) fn beside_each_other(samples: &Samples, findings: &mut Findings) {
    tell_parts_apart(samples, findings);
    let mut number = 0;
    while number < findings.patterns.len() {
        // The wave that was told apart is no mixture again.
        let is_apart = is_free(&findings.patterns[number]) && tell_apart(samples, findings, number);
        number += 1 + usize::from(is_apart);
    }
    for _ in 0..TURNS {
        if findings.patterns.len() < 2 {
            break;
        }
        waves_beside_others(samples, findings);
        for number in 0..findings.patterns.len() {
            if findings.patterns[number].pattern.form != Form::Wave {
                fit_again(samples, findings, number);
            }
        }
        give_back_ghosts(samples, findings);
    }
}

/// Fits waves to a grid's values with other shapes beside them, whose sizes are fitted, too.
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

/// What has become part of another pattern is none of its own: the next turn fits that one to it.
fn give_back_ghosts(samples: &Samples, findings: &mut Findings) {
    let mut number = 0;
    while number < findings.patterns.len() {
        let found = &findings.patterns[number].pattern;
        let mut others = findings.patterns.iter().enumerate();
        if others.any(|(other, known)| other != number && found.is_part_of(&known.pattern)) {
            let ghost = findings.patterns.remove(number);
            findings.rest = sum(&findings.rest, &ghost.values(&samples.wall_us));
        } else {
            number += 1;
        }
    }
}

/// Two jobs half a day apart look like something every twelve hours, and a correction once a day: where a
/// pattern coincides with one of a part of its period, these are as many of its own period.
fn tell_parts_apart(samples: &Samples, findings: &mut Findings) {
    let mut pairs = (0..findings.patterns.len())
        .flat_map(|part| (0..findings.patterns.len()).map(move |whole| (part, whole)));
    let Some((part, whole, count)) = pairs.find_map(|(part, whole)| {
        let count = parts_of(&findings.patterns[part], &findings.patterns[whole])?;
        Some((part, whole, count))
    }) else {
        return;
    };
    let (short, long) = (&findings.patterns[part], &findings.patterns[whole]);
    let (
        Clock::Fixed {
            period_us: short_us,
            origin_us,
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
                },
                form: Form::Box {
                    duty: duty * short_us / period_us,
                },
                on_us: (i64::MIN, i64::MAX),
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
        // One after all, larger on some days than on others. Of one day, more likely several.
        let correction = findings.patterns.remove(whole);
        findings.rest = sum(&findings.rest, &correction.values(&samples.wall_us));
        return;
    }
    if all.is_empty() || all.len() > PARTS_MAX {
        return;
    }
    let (p, tail) = (short.p.max(long.p), short.tail.max(long.tail));
    let new: Vec<Found> = all
        .into_iter()
        .map(|pattern| Found {
            p,
            tail,
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

/// How many periods of `part` one of `whole` has, where both are boxes that coincide.
fn parts_of(part: &Found, whole: &Found) -> Option<usize> {
    let is_box = |found: &Found| is_free(found) && matches!(found.pattern.form, Form::Box { .. });
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
        whole.pattern.is_at(&one)
    });
    begins_with.then_some(as_count(count))
}

/// Fits the waves anew, all patterns at once: a wave alone takes its part of a dip.
fn waves_beside_others(samples: &Samples, findings: &mut Findings) {
    let is_wave = |found: &Found| found.pattern.form == Form::Wave && is_free(found);
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

/// Whether its clock is its own, and not that of jobs.
fn is_free(found: &Found) -> bool {
    matches!(found.pattern.clock, Clock::Fixed { .. }) && found.whole.is_none()
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Finds the form of one pattern once more, in the values without the others; of what jobs do the size.
fn fit_again(samples: &Samples, findings: &mut Findings, number: usize) {
    let found = &findings.patterns[number];
    if found.whole.is_some() {
        return;
    }
    let values = sum(&findings.rest, &found.pattern.values(&samples.wall_us));
    let grids = grids(&samples.wall_us, &values, samples.gap_us);
    let mut pattern = found.pattern.clone();
    if is_free(found) {
        pattern.on_us = (i64::MIN, i64::MAX);
    }
    let grid = &grids[pattern.grid];
    if fit(&mut pattern, grid).is_none() {
        return;
    }
    if !is_free(found) {
        findings.rest = difference(&values, &pattern.values(&samples.wall_us));
        findings.patterns[number].pattern = pattern;
        return;
    }
    let again = Found {
        p: found.p,
        tail: found.tail,
        rival: found.rival.clone(),
        ..bounded(of_any_form(&grids, pattern), &grids)
    };
    findings.rest = difference(&values, &again.pattern.values(&samples.wall_us));
    findings.patterns[number] = again;
}

/// A dip beside a wave may look like one sawtooth: where a wave and something sudden of the same period
/// explain clearly more, they take its place, and that of a wave that was found beside it. Says whether they do.
fn tell_apart(samples: &Samples, findings: &mut Findings, number: usize) -> bool {
    let found = &findings.patterns[number];
    let period_us = found.pattern.clock.period_us();
    let is_alike = |other: &Found| is_free(other) && other.pattern.is_of_period(&found.pattern);
    let others: Vec<usize> = (number + 1..findings.patterns.len())
        .filter(|&other| is_alike(&findings.patterns[other]))
        .collect();
    // What is short is no mixture.
    if found.pattern.form.duty() <= 0.2 && others.is_empty() {
        return false;
    }
    let alike: Vec<&Found> = std::iter::once(found)
        .chain(others.iter().map(|&other| &findings.patterns[other]))
        .collect();
    let values = alike.iter().fold(findings.rest.clone(), |values, found| {
        sum(&values, &found.pattern.values(&samples.wall_us))
    });
    let Some([sudden, wave]) = apart(samples, &values, period_us) else {
        return false;
    };
    let on_grids = grids(&samples.wall_us, &values, samples.gap_us);
    let grid = &on_grids[grid_to_fit(&on_grids, period_us)];
    let known: Vec<&Pattern> = alike.iter().map(|found| &found.pattern).collect();
    if likelihood(grid, &[&sudden, &wave]) < likelihood(grid, &known) + TWO_MIN {
        return false;
    }
    let (p, tail, rival) = (found.p, found.tail, found.rival.clone());
    let own = |other: &Pattern| {
        let left = difference(&values, &other.values(&samples.wall_us));
        grids(&samples.wall_us, &left, samples.gap_us)
    };
    let new = |pattern: &Pattern, beside: &Pattern| Found {
        p,
        tail,
        rival: rival.clone(),
        ..bounded(pattern.clone(), &own(beside))
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

/// A wave and something sudden of one period, fitted in turn. With all its harmonics a wave takes a dip of some
/// hours for its own: the fewest that do are what load is.
fn apart(samples: &Samples, values: &[f64], period_us: f64) -> Option<[Pattern; 2]> {
    let all = grids(&samples.wall_us, values, samples.gap_us);
    let grid = &all[grid_to_fit(&all, period_us)];
    let whole = each_form(&all, period_us, |form| form == Form::Wave)
        .into_iter()
        .next()?;
    let pairs = HARMONICS.iter().filter_map(|&harmonics| {
        let mut wave = whole.clone();
        wave.coefficients.truncate(2 * harmonics);
        wave.fit.coefficients.truncate(2 * harmonics + 1);
        fit_waves(&mut [&mut wave], Vec::new(), grid);
        let mut sudden = None;
        for _ in 0..TURNS {
            let left = difference(values, &wave.values(&samples.wall_us));
            let grids = grids(&samples.wall_us, &left, samples.gap_us);
            let others = each_form(&grids, period_us, |form| form != Form::Wave);
            let found = likeliest(&grids, others)?;
            // A wave alone takes its part of a dip.
            fit_waves(&mut [&mut wave], vec![found.values(&grid.wall_us)], grid);
            sudden = Some(found);
        }
        let pair = [sudden?, wave];
        Some((likelihood(grid, &[&pair[0], &pair[1]]), pair))
    });
    pairs
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, pair)| pair)
}

#[cfg(test)]
#[path = "forms_tests.rs"]
mod tests;
