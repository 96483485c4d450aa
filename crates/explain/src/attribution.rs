//! Which jobs may be behind a pattern.
//!
//! Whether something recurs, and what does it, are separate questions. Here every class of jobs, an
//! unknown cause with a period and a phase of its own, and nothing at all are weighed by how likely
//! they make the same values, less a charge for what each may choose. All are taken for equally
//! likely before. A weekday that fits is not much: of seven, one fits by chance.

use crate::find::Found;
use crate::grid::Grid;
use crate::noise::step;
use crate::pattern::Clock;
use crate::runs::{Class, RunsFit, RunsTask, prefix_sums};
use crate::shape::Form;

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

/// Weighs all causes of a pattern in `grid`, the series without its other patterns; the likeliest
/// comes first.
pub(crate) fn weigh(found: &Found, grid: &Grid, classes: &[Class]) -> Vec<Weighed> {
    let pattern = &found.pattern;
    let fit = &pattern.fit;
    let level = fit.coefficients.last().copied().unwrap_or(0.0);
    let values = grid.values(pattern.variant);
    let sigma = fit.variance.sqrt();
    let mut white = vec![0.0];
    white.extend((1..grid.len()).map(|i| {
        let (kept, size) = step(fit.phi, grid.index[i] - grid.index[i - 1]);
        ((values[i] - level) - kept * (values[i - 1] - level)) / size / sigma
    }));
    let mut prefix = Vec::new();
    prefix_sums(&white, &mut prefix);
    let count = as_f64(grid.len()).ln();
    let mut weighed = vec![Weighed {
        cause: Cause::Nothing,
        score: 0.0,
        gain: 0.0,
    }];
    // A job with this period fits by chance the more easily the more there are of them.
    let period_us = pattern.clock.period_us();
    #[expect(clippy::cast_precision_loss, reason = "periods are below 2^53 microseconds")]
    let rivals = |class: &Class| (class.period_us as f64 / period_us - 1.0).abs() < 0.2;
    let alike = as_f64(classes.iter().filter(|class| rivals(class)).count().max(1)).ln();
    let others = as_f64(classes.len().max(1)).ln();
    for (number, class) in classes.iter().enumerate() {
        let task = RunsTask::new(number, class, pattern.grid, grid, None, fit.phi);
        if let Some(fit) = task.search(&white, fit.phi, &prefix) {
            weighed.push(Weighed {
                cause: Cause::Class(number, fit),
                score: 0.0,
                gain: fit.gain
                    - task.charge
                    - 0.5 * count
                    - if rivals(class) { alike } else { others },
            });
        }
    }
    if let Clock::Fixed { period_us, .. } = pattern.clock {
        let seen: f64 = found.beginnings[found.on.clone()].iter().map(|(_, gain)| gain).sum();
        #[expect(clippy::cast_precision_loss, reason = "widths are below 2^53 microseconds")]
        let phases = (period_us / grid.width_us as f64).max(1.0);
        // A wave of h harmonics has 2h coefficients, the other forms one and a width.
        let coefficients = match pattern.form {
            Form::Wave => as_f64(pattern.coefficients.len()),
            _ => 1.0,
        };
        let ends = usize::from(found.on.start > 0)
            + usize::from(found.on.end < found.beginnings.len());
        let charge = phases.ln()
            + 0.5 * coefficients * count
            + as_f64(ends) * as_f64(found.beginnings.len().max(1)).ln();
        weighed.push(Weighed {
            cause: Cause::Unknown,
            score: 0.0,
            gain: seen - charge,
        });
    }
    let top = weighed.iter().map(|one| one.gain).fold(f64::MIN, f64::max);
    let total: f64 = weighed.iter().map(|one| (one.gain - top).exp()).sum();
    for one in &mut weighed {
        one.score = (one.gain - top).exp() / total;
    }
    weighed.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    weighed
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^52")]
fn as_f64(value: usize) -> f64 {
    value as f64
}
