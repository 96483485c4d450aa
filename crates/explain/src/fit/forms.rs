//! Selects the form of a pattern.
//!
//! The search starts on wide bins, where a sawtooth may look like a box, and a wave has one harmonic. Here
//! each form with a given period gets an exact fit.

use super::extent::is_supported;
use super::likelihood::likeliest;
use super::refine::refine;
use super::size::{fit, widest_for};
use super::weekdays::restricted_to_weekdays;
use crate::calendar::other_zone::OtherZone;
use crate::calendar::periods::{DAY_US, is_period};
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::pattern::Pattern;
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, count_f64};
use crate::search::fold::SPIKE_BINS_MAX;
use crate::search::periods::{Candidate, Task};
use crate::search::scratch::Scratch;
use crate::statistics::median;
use rayon::prelude::*;
use std::sync::Arc;

/// The largest part of a wave's period at which it is high if it consists of events.
const BURST_DUTY_MAX: f64 = 0.2;
/// The same of a sawtooth, of which a straight line has half; in so many parts.
const EVENT_DUTY_MAX: f64 = 0.3;
const FOLDED: usize = 48;

/// Returns the pattern with the same period and the form that fits best, on the weekdays that show it.
pub(crate) fn with_best_form(grids: &[Grid], pattern: Pattern) -> Pattern {
    let period_us = pattern.clock.period_us();
    let mut all = vec![pattern.clone()];
    all.extend(each_form(grids, period_us, |_| true));
    // A weekly pattern may occur on more days than the one that shows it best.
    let daily = if is_period(period_us, 7 * DAY_US) {
        exact_forms(grids, as_f64(DAY_US), |form| {
            matches!(form, Form::Box { .. })
        })
    } else {
        all.clone()
    };
    let on_days = |daily: &Pattern| {
        let some = restricted_to_weekdays(daily, &grids[daily.grid])?;
        is_supported(&some, grids).then_some(some)
    };
    let some: Vec<Pattern> = daily.par_iter().filter_map(on_days).collect();
    all.extend(some);
    let best = likeliest(grids, all.clone()).unwrap_or(pattern);
    if !is_burst(&best) && !is_of_events(&best, &grids[best.grid]) {
        return best;
    }
    all.retain(|pattern| matches!(pattern.form, Form::Box { .. }));
    likeliest(grids, all).unwrap_or(best)
}

/// Whether a sawtooth is high in a short part of its period only, as events are that begin at the same time and last as long
/// as they do: then nothing but their beginning recurs exactly.
fn is_of_events(pattern: &Pattern, grid: &Grid) -> bool {
    if pattern.form != Form::Sawtooth {
        return false;
    }
    let mut by_phase: Vec<Vec<f64>> = vec![Vec::new(); FOLDED];
    for (phase, value) in pattern.clock.phases(&grid.wall_us).iter().zip(&grid.means) {
        let place = as_count((phase.fract() * count_f64(FOLDED)).floor());
        by_phase[place.min(FOLDED - 1)].push(*value);
    }
    by_phase.retain(|values| !values.is_empty());
    let folded: Vec<f64> = by_phase.into_iter().map(median).collect();
    high_share(&folded) <= EVENT_DUTY_MAX
}

/// The share of values that are further from their median than half of the one that is furthest.
fn high_share(values: &[f64]) -> f64 {
    let level = median(values.to_vec());
    let apart = |value: &f64| (value - level).abs();
    let highest = values.iter().map(apart).fold(0.0, f64::max);
    let high = values.iter().filter(|value| apart(value) > highest / 2.0);
    count_f64(high.count()) / count_f64(values.len().max(1))
}

/// Whether a wave is flat but for a short part of its period, and comes more often than people's load does: it consists of
/// events whose lengths differ, so that no box fits exactly.
fn is_burst(pattern: &Pattern) -> bool {
    if pattern.form != Form::Wave || pattern.clock.period_us() > as_f64(DAY_US) / 2.0 {
        return false;
    }
    high_share(&pattern.over_a_period()) <= BURST_DUTY_MAX
}

/// The same for a pattern that may follow the clocks of another zone: `grids` and `values` are those of the
/// samples.
pub(crate) fn with_best_form_in_zone(
    samples: &Samples,
    values: &[f64],
    grids: &[Grid],
    pattern: Pattern,
) -> Pattern {
    let Some(zone) = pattern.clock.zone().cloned() else {
        return with_best_form(grids, pattern);
    };
    let there = samples.grids_in(Some(&zone), values);
    let mut own = pattern.clone();
    own.clock = own.clock.in_zone(None);
    own.grid = own.grid.min(there.len() - 1);
    from_zone(with_best_form(&there, own), zone, grids).unwrap_or(pattern)
}

/// Takes a pattern that was fitted in the local time of another zone to grids of the analysis' own.
pub(crate) fn from_zone(
    mut pattern: Pattern,
    zone: Arc<OtherZone>,
    grids: &[Grid],
) -> Option<Pattern> {
    pattern.clock = pattern.clock.in_zone(Some(zone));
    pattern.grid = pattern.grid.min(grids.len() - 1);
    let grid = &grids[pattern.grid];
    fit(&mut pattern, grid)?;
    Some(pattern)
}

/// Returns the best fit of each wanted form with a given period, if supported.
pub(crate) fn each_form(
    grids: &[Grid],
    period_us: f64,
    is_wanted: impl Fn(Form) -> bool,
) -> Vec<Pattern> {
    let mut all = exact_forms(grids, period_us, is_wanted);
    all.retain(|pattern| is_supported(pattern, grids));
    all
}

/// Returns the best fit of each wanted form with a given period.
fn exact_forms(grids: &[Grid], period_us: f64, is_wanted: impl Fn(Form) -> bool) -> Vec<Pattern> {
    let bins = |grid: &Grid| period_us / as_f64(grid.width_us);
    let number = widest_for(grids, period_us);
    let grid = &grids[number];
    let period_bins = bins(grid);
    // A short box is not part of slow values, so its size there would be wrong.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::weekdays::Weekdays;
    use crate::model::pattern::Clock;

    fn wave(period_us: f64, coefficients: Vec<f64>) -> Pattern {
        let clock = Clock::Fixed {
            period_us,
            origin_us: 0.0,
            days: Weekdays::ALL,
            zone: None,
        };
        Pattern {
            coefficients,
            ..Pattern::unfitted(clock, Form::Wave, 0, Variant::Slow, (0, 0))
        }
    }

    #[test]
    fn a_wave_of_short_events_is_a_burst_and_load_is_not() {
        let every_four_hours = as_f64(DAY_US) / 6.0;
        // Six harmonics in phase are high for a seventh of the period.
        let narrow = [1.0, 0.0].repeat(6);
        assert!(is_burst(&wave(every_four_hours, narrow.clone())));
        let dips: Vec<f64> = narrow.iter().map(|one| -one).collect();
        assert!(is_burst(&wave(every_four_hours, dips)));
        assert!(!is_burst(&wave(every_four_hours, vec![1.0, 0.0])));
        assert!(!is_burst(&wave(every_four_hours, vec![1.0, 0.0, 0.3, 0.0])));
        // People may come at noon only.
        assert!(!is_burst(&wave(as_f64(DAY_US), narrow)));
    }
}
