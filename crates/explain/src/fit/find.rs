//! Finds the patterns of a series one by one: the best is tested and removed, then the residual is searched
//! again.

use super::best::Search;
use super::found::{Findings, Found};
use super::located::{Fixed, located, unlisted};
use super::size::HARMONICS_MAX;
use super::together::fit_together;
use crate::calendar::periods::{DAY_US, is_period};
use crate::model::form::Form;
use crate::model::pattern::Pattern;
use crate::model::samples::Samples;
use crate::numbers::count_f64;
use crate::search::periods::{CALENDARS_US, CYCLES_MIN, is_near_calendar};
use crate::search::runs::Class;
use crate::statistics::{add, subtract};

/// Maximum number of patterns per series.
const PATTERNS_MAX: usize = 3;
/// What is smaller than this fraction of the values' range is a rounding error.
pub(crate) const ROUNDING: f64 = 1e-6;
/// Minimum number of cycles for a pattern to be mentioned as undecided.
const CYCLES_FEW: f64 = 2.0;

/// Finds the patterns of a series.
pub(crate) fn find(samples: &Samples, classes: &[Class], alpha: f64, seed: u64) -> Findings {
    let mut findings = Findings {
        rest: samples.values.clone(),
        p_none: 1.0,
        ..Findings::default()
    };
    let (mut residual, mut unseen): (Vec<Found>, Vec<Found>) = (Vec::new(), Vec::new());
    let lowest = samples.values.iter().copied().fold(f64::MAX, f64::min);
    let range = samples.values.iter().copied().fold(f64::MIN, f64::max) - lowest;
    for number in 0..PATTERNS_MAX {
        // What no fixed period explains would be noise with bursts to the search for one, in which nothing else is found.
        let is_known = findings
            .patterns
            .iter()
            .any(|found| found.located.is_some());
        if !is_known && let Some(found) = located(samples, &findings.rest, classes, alpha) {
            findings.add(samples, found);
            continue;
        }
        let search = Search::new(samples, &findings.rest, classes, CYCLES_MIN..f64::INFINITY);
        let best = search.best(samples, classes, alpha, seed.wrapping_add(number as u64));
        // A fixed time of the calendar is simpler, but for windows of the week in which hardly any two events are at the same
        // time. Nothing else is: of large events anywhere in a window, some are at the same time, and others every other week.
        let is_weekly = |found: &Found| is_period(found.pattern.clock.period_us(), 7 * DAY_US);
        // By the clocks of another zone, a fixed time is not the same in each week.
        let is_plainly_weekly = |found: &Found| {
            is_weekly(found) && found.zones.is_empty() && found.pattern.clock.zone().is_none()
        };
        let simple =
            (best.as_ref()).filter(|found| found.p <= alpha && is_of_calendar(&found.pattern));
        let fixed = simple.map_or(Fixed::AsSamplesTell, |_| Fixed::MostOfEach);
        if !is_known
            && !findings.patterns.iter().any(is_weekly)
            && simple.is_none_or(is_plainly_weekly)
            && let Some(found) = unlisted(samples, &findings.rest, &search.grids, fixed, alpha)
        {
            findings.add(samples, found);
            continue;
        }
        let Some(found) = best else {
            break;
        };
        if found.p > alpha {
            findings.p_none = found.p;
            break;
        }
        if found.pattern.size().abs() < range * ROUNDING {
            break;
        }
        subtract(&mut findings.rest, &found.values(&samples.wall_us));
        // A piecewise linear form leaves residuals of a real curve, which recur with it.
        let is_residual = findings
            .patterns
            .iter()
            .any(|known| is_residual_of(&found.pattern, known));
        if !found.is_well_supported(samples) {
            unseen.push(found);
        } else if is_residual {
            residual.push(found);
        } else {
            findings.patterns.push(found);
        }
    }
    if findings.patterns.len() > 1 {
        // Sizes are fitted again: the residuals of the first patterns belong to them.
        unseen.append(&mut residual);
    }
    for found in unseen {
        add(&mut findings.rest, &found.values(&samples.wall_us));
    }
    fit_together(samples, &mut findings);
    if findings.patterns.is_empty() {
        let search = Search::new(samples, &findings.rest, &[], CYCLES_FEW..CYCLES_MIN);
        findings.too_few_cycles = search
            .best(samples, classes, alpha, seed)
            .filter(|found| found.p <= alpha)
            // Two large values are not a recurring spike, whatever lies between them.
            .filter(|found| found.pattern.form.duty() > 0.2);
    }
    findings
}

/// Returns whether a pattern is an event at a fixed time of a calendar, or after a job's runs.
fn is_of_calendar(pattern: &Pattern) -> bool {
    let is_one = |calendar: &i64| is_period(pattern.clock.period_us(), *calendar);
    pattern.class.is_some()
        || matches!(pattern.form, Form::Box { .. }) && CALENDARS_US.iter().any(is_one)
}

/// Returns whether a pattern is the residual of one found before, because no form fits exactly. What the
/// runs of other jobs explain is never a residual.
fn is_residual_of(pattern: &Pattern, known: &Found) -> bool {
    let of = |other: &Pattern| {
        if pattern.class.is_some() && pattern.class != other.class {
            return false;
        }
        let is_smaller = |part: f64| pattern.size().abs() < other.size().abs() * part;
        let duty = pattern.form.duty();
        let period_us = pattern.clock.period_us();
        let ratio = other.clock.period_us() / period_us;
        if pattern.shares_period_with(other) || pattern.class.is_some() {
            // Half a period of the highest harmonic is the narrowest feature of a wave.
            let narrowest = 0.5 / count_f64(HARMONICS_MAX);
            return match other.form {
                _ if pattern.is_part_of(other) => true,
                Form::Wave => duty > narrowest && is_smaller(1.0),
                // A short box leaves no residuals elsewhere.
                _ if other.form.duty() <= 0.2 && pattern.class.is_none() => false,
                _ => is_smaller(0.5),
            };
        }
        let is_part = (1.5..=24.5).contains(&ratio) && (ratio - ratio.round()).abs() < 0.02;
        // A short box leaves no residuals.
        let is_rough = other.form.duty() > 0.2;
        is_part && is_rough && is_smaller(0.5) && (!is_near_calendar(period_us) || duty > 0.2)
    };
    of(&known.pattern) || known.across_schedule_change.as_ref().is_some_and(of)
}
