//! How well starts at any phase of a period explain the values.

use super::{Explained, LENGTH_STEPS, Response, STARTS_AT_FIRST};
use crate::causes::course::PARTS;
use crate::causes::sums::{Sums, log_mean};
use crate::numbers::{as_count, as_f64, as_i64, count_f64};
use crate::statistics::spread;
use rayon::prelude::*;
use schedule::Delays;

/// Phases of a period that are compared, for each length of an event.
const STEPS_IN_EVENT: i64 = 24;
/// The prior of the size where it is integrated out, in sizes of the pattern.
const PRIOR_SIZES: f64 = 1.5;
/// Phases are compared by all starts that do not explain so much less by some, as a share and in nats.
const UNCERTAIN: f64 = 0.3;
const LIKELY_NATS: f64 = 40.0;

impl Response {
    /// Returns the logarithm of the mean evidence of starts at all phases of a period from these on, to a power, and the best
    /// of them with what they explain.
    pub fn to_any_phase(
        &self,
        starts: &[i64],
        period_us: i64,
        phases_max: i64,
        power: f64,
    ) -> (f64, Vec<i64>, Explained) {
        let step_us = self.phase_us();
        let phases = as_count(as_f64((period_us / step_us).clamp(1, phases_max)));
        // From half a period before to half a period after.
        let by_us = |phase: usize| {
            as_i64(
                as_f64(period_us) * (count_f64(phase) - count_f64(phases / 2)) / count_f64(phases),
            )
        };
        let few = spread(starts.len(), STARTS_AT_FIRST);
        let mut all: Vec<f64> = (0..phases)
            .into_par_iter()
            .map(|phase| self.roughly(starts, &few, by_us(phase)))
            .collect();
        if few.len() < starts.len() {
            let top = all.iter().copied().fold(0.0, f64::max);
            let least = top * (1.0 - UNCERTAIN) - LIKELY_NATS / power;
            let each: Vec<usize> = (0..starts.len()).collect();
            let again = (0..phases).into_par_iter().map(|phase| {
                let first = all[phase];
                if first > least {
                    self.roughly(starts, &each, by_us(phase))
                } else {
                    first
                }
            });
            all = again.collect();
        }
        let best = (0..phases)
            .zip(&all)
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map_or(0, |(phase, _)| phase);
        let mut there: Vec<i64> = starts.iter().map(|start| start + by_us(best)).collect();
        let exactly = |starts: &[i64]| {
            let exact: Vec<(i64, i64)> = starts.iter().map(|&at| (at, at)).collect();
            self.to(&exact, Delays::Either)
        };
        let mut exact = exactly(&there);
        let mut by_us = step_us;
        for _ in 0..LENGTH_STEPS {
            by_us /= 2;
            for by_us in [-by_us, by_us] {
                let near: Vec<i64> = there.iter().map(|at| at + by_us).collect();
                let better = exactly(&near);
                if better.evidence > exact.evidence {
                    (there, exact) = (near, better);
                    break;
                }
            }
        }
        // How much the phase matters is known well enough from starts that all have an effect.
        let rough = all.iter().copied().fold(f64::MIN, f64::max);
        let left = log_mean(all.iter().map(|one| (one - rough) * power));
        (exact.evidence * power + left, there, exact)
    }

    /// How far the phases are apart that are compared.
    pub(super) fn phase_us(&self) -> i64 {
        (self.gap_us / PARTS)
            .max(self.len_us / STEPS_IN_EVENT)
            .max(1)
    }

    /// The evidence of starts, so much later, that all have an effect, with its size integrated out, or with a length of its
    /// own for each; `some` of them stand for all.
    fn roughly(&self, starts: &[i64], some: &[usize], by_us: i64) -> f64 {
        let mut sums = vec![Sums::default(); self.courses.len()];
        let mut varying = 0.0;
        for &at in some {
            let start = starts[at] + by_us;
            let next_us = starts.get(at + 1).map(|next| next + by_us);
            self.add(start, next_us, &self.courses, &mut sums);
            let mut own = vec![Sums::default(); self.lengths.len()];
            self.add(start, next_us, &self.lengths, &mut own);
            varying += log_mean(own.iter().map(|sums| sums.gain(self.size)));
        }
        let weight = count_f64(starts.len()) / count_f64(some.len().max(1));
        varying *= weight;
        for sums in &mut sums {
            sums.product *= weight;
            sums.square *= weight;
        }
        let prior = (PRIOR_SIZES * self.size).powi(2);
        let alike = log_mean(sums.iter().map(|sums| {
            let along = if sums.product * self.size > 0.0 {
                sums.product
            } else {
                0.0
            };
            0.5 * along * along / (sums.square + 1.0 / prior)
                - 0.5 * (1.0 + prior * sums.square).ln()
        }));
        alike.max(varying)
    }
}
