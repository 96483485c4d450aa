//! Which jobs may be behind a pattern.
//!
//! Whether something recurs, and what does it, are separate questions. Here every class of jobs, an
//! unknown cause with a period and a phase of its own, and nothing at all are weighed by how likely
//! they make the same values, less a charge for what each may choose. All are taken for equally
//! likely before. A weekday that fits is not much: of seven, one fits by chance.

use crate::find::Found;
use crate::grid::Grid;
use crate::noise::{regress, step};
use crate::numbers::{as_count, as_f64, count_f64};
use crate::pattern::{Clock, Pattern};
use crate::runs::{Class, Forms, RunsFit, RunsTask, ages, box_places, prefix_sums};
use crate::shape::{BOX_BINS, Form, width_of};

/// What is weighed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cause {
    /// Chance alone.
    Nothing,
    /// Something else, with the pattern's own period and phase.
    Unknown,
    /// A class of jobs, and how it fits.
    Class(usize, RunsFit),
}

/// A cause with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weighed {
    /// Which.
    pub cause: Cause,
    /// Probability beside all others.
    pub score: f64,
    /// Likelihood over that of nothing, less the charge, in nats.
    pub gain: f64,
}

/// Classes that are fitted exactly, the best of the first look.
const EXACT_MAX: usize = 6;

/// Weighs all causes of a pattern in `grid`, the series without its other patterns; the likeliest
/// comes first.
///
/// A first look takes the noise from the pattern's own fit; the best classes are then fitted with a
/// noise of their own, as the pattern was, so that neither has an advantage.
pub(crate) fn weigh(found: &Found, grid: &Grid, classes: &[Class]) -> Vec<Weighed> {
    let pattern = &found.pattern;
    let values = grid.values(pattern.variant);
    let Some(alone) = regress(&grid.index, values, &[]) else {
        return Vec::new();
    };
    let count = count_f64(grid.len()).ln();
    let mut weighed = vec![Weighed {
        cause: Cause::Nothing,
        score: 0.0,
        gain: 0.0,
    }];
    let ends = usize::from(found.on.start > 0) + usize::from(found.on.end < found.beginnings.len());
    let bounds = count_f64(ends) * (count_f64(found.beginnings.len().max(1)).ln() + 0.5 * count);
    // Where the pattern is not on, the level may be another.
    let on: Vec<f64> = grid
        .wall_us
        .iter()
        .map(|wall| f64::from(u8::from((pattern.on_us.0..=pattern.on_us.1).contains(wall))))
        .collect();
    for (number, fit, charge) in looked_at(found, grid, classes) {
        let cells = form_of_runs(&classes[number], &fit, grid);
        let throughout = regress(&grid.index, values, &[&cells]).map(|exact| (exact, 0.0));
        // What it does may have begun or ended, although it goes on running.
        let meanwhile = (ends > 0)
            .then(|| {
                let cells: Vec<f64> = cells.iter().zip(&on).map(|(cell, on)| cell * on).collect();
                regress(&grid.index, values, &[&cells, &on])
            })
            .flatten()
            .map(|exact| (exact, bounds));
        let best = throughout
            .into_iter()
            .chain(meanwhile)
            .max_by(|a, b| (a.0.log_likelihood - a.1).total_cmp(&(b.0.log_likelihood - b.1)));
        if let Some((exact, bounds)) = best {
            let fit = RunsFit {
                amplitude: exact.coefficients[0],
                ..fit
            };
            weighed.push(Weighed {
                cause: Cause::Class(number, fit),
                score: 0.0,
                gain: exact.log_likelihood - alone.log_likelihood - charge - bounds - 0.5 * count,
            });
        }
    }
    let unknown = match pattern.clock {
        Clock::Fixed { .. } => Some(pattern),
        Clock::Runs { .. } => found.rival.as_ref(),
    };
    if let Some(unknown) = unknown {
        let own = unknown.class == pattern.class;
        let bounds = if own { bounds } else { 0.0 };
        let gain = weigh_unknown(unknown, (own && ends > 0).then_some(&on), grid, values);
        weighed.extend(gain.map(|gain| Weighed {
            cause: Cause::Unknown,
            score: 0.0,
            gain: gain - alone.log_likelihood - bounds,
        }));
    }
    // The better form of each class.
    weighed.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut known = Vec::new();
    weighed.retain(|one| match one.cause {
        Cause::Class(number, _) if known.contains(&number) => false,
        Cause::Class(number, _) => {
            known.push(number);
            true
        }
        _ => true,
    });
    let top = weighed.iter().map(|one| one.gain).fold(f64::MIN, f64::max);
    let total: f64 = weighed.iter().map(|one| (one.gain - top).exp()).sum();
    for one in &mut weighed {
        one.score = (one.gain - top).exp() / total;
    }
    weighed
}

/// The likelihood of a pattern with a period of its own, less what it is charged but for its ends.
fn weigh_unknown(
    pattern: &Pattern,
    on: Option<&Vec<f64>>,
    grid: &Grid,
    values: &[f64],
) -> Option<f64> {
    let count = count_f64(grid.len()).ln();
    let shape = pattern.values(&grid.wall_us);
    let exact = match on {
        None => regress(&grid.index, values, &[&shape]),
        Some(on) => regress(&grid.index, values, &[&shape, on]),
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "widths are below 2^53 microseconds"
    )]
    let phases = (pattern.clock.period_us() / grid.width_us as f64).max(1.0);
    // A wave of h harmonics has 2h coefficients, the other forms one.
    let coefficients = match pattern.form {
        Form::Wave => count_f64(pattern.coefficients.len()),
        _ => 1.0,
    };
    // As classes are: one form in two is a sawtooth, the others are boxes of some widths.
    let forms = match pattern.form {
        Form::Box { .. } => count_f64(2 * BOX_BINS.len()).ln(),
        _ => std::f64::consts::LN_2,
    };
    let charge = phases.ln() + forms + 0.5 * coefficients * count;
    Some(exact?.log_likelihood - charge)
}

/// The best form of the best classes, with what each is charged.
fn looked_at(found: &Found, grid: &Grid, classes: &[Class]) -> Vec<(usize, RunsFit, f64)> {
    let pattern = &found.pattern;
    let fit = &pattern.fit;
    let values = grid.values(pattern.variant);
    // Not the fit's: the pattern may be on in a part of the time only.
    let level = values.iter().sum::<f64>() / count_f64(values.len().max(1));
    let sigma = fit.variance.sqrt();
    let mut white = vec![0.0];
    white.extend((1..grid.len()).map(|i| {
        let (kept, size) = step(fit.phi, grid.index[i] - grid.index[i - 1]);
        ((values[i] - level) - kept * (values[i - 1] - level)) / size / sigma
    }));
    let mut prefix = Vec::new();
    prefix_sums(&white, &mut prefix);
    // A job with this period fits by chance the more easily the more there are of them.
    let period_us = pattern.clock.period_us();
    #[expect(
        clippy::cast_precision_loss,
        reason = "periods are below 2^53 microseconds"
    )]
    let rivals = |class: &Class| {
        let near = |distance_us: i64| (distance_us as f64 / period_us - 1.0).abs() < 0.2;
        near(class.period_us) || near(class.longest_us)
    };
    let alike = count_f64(classes.iter().filter(|class| rivals(class)).count().max(1)).ln();
    let others = count_f64(classes.len().max(1)).ln();
    let forms = Forms::All {
        width: match pattern.form {
            Form::Box { duty } => Some(width_of(duty, as_count(period_us / as_f64(grid.width_us)))),
            _ => None,
        },
    };
    let mut looked: Vec<(usize, RunsFit, f64)> = classes
        .iter()
        .enumerate()
        .flat_map(|(number, class)| {
            let task = RunsTask::new(number, class, pattern.grid, grid, forms, fit.phi);
            let charge = if rivals(class) { alike } else { others };
            task.search_each(&white, fit.phi, &prefix)
                .into_iter()
                .map(|found| {
                    (
                        number,
                        found,
                        charge + task.charge_of(found.form, found.shift),
                    )
                })
                .collect::<Vec<_>>()
        })
        .collect();
    looked.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
    // Jobs with the pattern's own period are never left out: a first look over all of the time
    // does not show what they did in a part of it.
    let rest = looked.split_off(looked.len().min(EXACT_MAX));
    looked.extend(
        rest.into_iter()
            .filter(|one| rivals(&classes[one.0]))
            .take(EXACT_MAX),
    );
    looked
}

/// The form that a class's runs give the values of a grid.
fn form_of_runs(class: &Class, fit: &RunsFit, grid: &Grid) -> Vec<f64> {
    let starts: Vec<i64> = class
        .starts_us
        .iter()
        .map(|&start| fit.at.of(start))
        .collect();
    let period_us = class.period_of(fit.form);
    let Form::Box { duty } = fit.form else {
        return ages(&starts, period_us, &grid.wall_us)
            .into_iter()
            .map(|age| fit.form.at(age))
            .collect();
    };
    let width = as_count(duty * as_f64(period_us) / as_f64(grid.width_us)).max(1);
    let mut cells = vec![0.0; grid.len()];
    for (from, until) in box_places(&starts, width, fit.shift, grid) {
        cells[from..until].fill(1.0);
    }
    cells
}
