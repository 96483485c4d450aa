//! Cost model of a step: `locked = a * extents + b * bytes`, fitted to the steps of this pass.
//!
//! Least squares with exponential forgetting, weighted by `1 / (extents + MiB)^2` (small steps
//! teach as much as large ones, and a drive that has become slow weighs as much as when it was
//! quick), with both coefficients at least 0. A single outlier is down-weighted (Huber): a step
//! that waited behind the work of others says little about the drive. Three in a row are accepted
//! as the new normal.

use std::time::Duration;

/// Bytes are summed in MiB, so that both columns are of similar magnitude.
const MIB: f64 = 1_048_576.0;
/// Forgetting factor: a memory of about 30 steps.
const FORGETTING: f64 = 0.97;
/// This many consecutive outliers are accepted as normal.
const OUTLIERS_MAX: u32 = 3;
/// A residual beyond this many predictions is down-weighted.
const HUBER: f64 = 1.0;
/// Lower bound of a step's time: below this, clock and system overhead dominate.
const LOCKED_MIN_S: f64 = 50e-6;

/// The fitted cost model.
#[derive(Debug, Clone, Default)]
pub(super) struct Cost {
    ee: f64,
    eb: f64,
    bb: f64,
    et: f64,
    bt: f64,
    steps: u64,
    outliers: u32,
    /// Running means of the fitted steps.
    typical_extents: f64,
    typical_mib: f64,
    locked_s: f64,
    bytes: f64,
    /// Bytes of the largest step.
    bytes_max: f64,
}

/// The fitted coefficients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fitted {
    pub(super) extent_s: f64,
    pub(super) mib_s: f64,
}

impl Fitted {
    pub(super) fn seconds(self, extents: f64, bytes: f64) -> f64 {
        self.extent_s * extents + self.mib_s * bytes / MIB
    }

    /// Converts the cost per MiB to the cost per byte.
    pub(super) fn byte_s(self) -> f64 {
        self.mib_s / MIB
    }
}

impl Cost {
    /// Adds a step to the fit.
    pub(super) fn add(&mut self, extents: f64, bytes: f64, locked: Duration) {
        let locked_s = locked.as_secs_f64().clamp(LOCKED_MIN_S, 1e6);
        let mib = bytes / MIB;
        if !(extents + mib).is_normal() || extents < 0.0 || mib < 0.0 {
            return;
        }
        let mut weight = 1.0 / ((extents + mib) * (extents + mib));
        // A step larger than all before is not an outlier, whatever it took: it is news.
        let known = extents <= 2.0 * self.typical_extents && mib <= 2.0 * self.typical_mib;
        if self.steps >= 5
            && known
            && let Some(fitted) = self.fitted()
        {
            let predicted_s = fitted.seconds(extents, bytes).max(LOCKED_MIN_S);
            let residual = (locked_s - predicted_s).abs() / predicted_s;
            if residual <= HUBER {
                self.outliers = 0;
            } else {
                self.outliers += 1;
                if self.outliers < OUTLIERS_MAX {
                    weight *= HUBER / residual / residual;
                }
            }
        }
        self.typical_extents += (extents - self.typical_extents) * (1.0 - FORGETTING);
        self.typical_mib += (mib - self.typical_mib) * (1.0 - FORGETTING);
        for sum in [
            &mut self.ee,
            &mut self.eb,
            &mut self.bb,
            &mut self.et,
            &mut self.bt,
        ] {
            *sum *= FORGETTING;
        }
        self.ee += weight * extents * extents;
        self.eb += weight * extents * mib;
        self.bb += weight * mib * mib;
        self.et += weight * extents * locked_s;
        self.bt += weight * mib * locked_s;
        self.locked_s = self.locked_s * FORGETTING + locked_s;
        self.bytes = self.bytes * FORGETTING + bytes;
        self.bytes_max = self.bytes_max.max(bytes);
        self.steps += 1;
    }

    /// Returns a lower bound of the cost per byte: a tenth of what it would be if commands cost
    /// nothing. With steps of one small extent each, the fit may lose track of the bytes.
    pub(super) fn byte_s_min(&self) -> f64 {
        if self.bytes > 0.0 {
            0.1 * self.locked_s / self.bytes
        } else {
            0.0
        }
    }

    /// Returns `None` before the first step.
    pub(super) fn fitted(&self) -> Option<Fitted> {
        if self.steps == 0 {
            return None;
        }
        let only_extents = Fitted {
            extent_s: self.et / self.ee.max(f64::MIN_POSITIVE),
            mib_s: 0.0,
        };
        let only_bytes = Fitted {
            extent_s: 0.0,
            mib_s: self.bt / self.bb.max(f64::MIN_POSITIVE),
        };
        // Add a small ridge (0.01 %) to both: if all steps are alike, extents and bytes cannot be
        // separated and each gets half of the cost.
        let (ee, bb) = (self.ee * 1.0001, self.bb * 1.0001);
        let determinant = ee * bb - self.eb * self.eb;
        if determinant > 0.0 && determinant.is_finite() {
            let extent_s = (self.et * bb - self.bt * self.eb) / determinant;
            let mib_s = (self.bt * ee - self.et * self.eb) / determinant;
            if extent_s >= 0.0 && mib_s >= 0.0 {
                return Some(Fitted { extent_s, mib_s });
            }
            // The best fit lies on the boundary where the negative coefficient is 0.
            return Some(if extent_s < 0.0 && self.bb > 0.0 {
                only_bytes
            } else {
                only_extents
            });
        }
        Some(if self.ee > 0.0 {
            only_extents
        } else {
            only_bytes
        })
    }

    /// Returns the bytes of the largest step that was fitted.
    pub(super) fn bytes_max(&self) -> f64 {
        self.bytes_max
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(steps: &[(f64, f64)], a_s: f64, mib_s: f64) -> Fitted {
        let mut cost = Cost::default();
        for &(extents, mib) in steps {
            let locked = Duration::from_secs_f64(a_s * extents + mib_s * mib);
            cost.add(extents, mib * MIB, locked);
        }
        cost.fitted().unwrap()
    }

    const MIXED: &[(f64, f64)] = &[
        (1.0, 4.0),
        (2.0, 3.0),
        (4.0, 40.0),
        (9.0, 10.0),
        (3.0, 64.0),
    ];

    #[test]
    fn fit_recovers_the_true_costs() {
        for (a_s, mib_s) in [(1e-3, 1e-3), (50e-3, 0.0), (0.0, 2e-3), (1e-3, 1e-5)] {
            let fitted = fit(MIXED, a_s, mib_s);
            for (extents, mib) in [(1.0, 1.0), (20.0, 5.0), (2.0, 200.0)] {
                let truth = a_s * extents + mib_s * mib;
                let predicted = fitted.seconds(extents, mib * MIB);
                // Only the ridge of 0.01 % makes a difference.
                assert!(
                    (predicted - truth).abs() < 0.03 * truth,
                    "{predicted} {truth}"
                );
            }
        }
    }

    #[test]
    fn identical_steps_are_still_predicted() {
        let fitted = fit(&[(1.0, 4.0); 8], 1e-3, 1e-3);
        let predicted = fitted.seconds(2.0, 8.0 * MIB);
        assert!((predicted - 10e-3).abs() < 0.2e-3, "{predicted}");
    }

    #[test]
    fn one_outlier_has_little_effect_and_many_become_normal() {
        let mut cost = Cost::default();
        for &(extents, mib) in MIXED.iter().cycle().take(40) {
            cost.add(
                extents,
                mib * MIB,
                Duration::from_secs_f64(1e-3 * (extents + mib)),
            );
        }
        let predicted = |cost: &Cost| cost.fitted().unwrap().seconds(5.0, 20.0 * MIB);
        cost.add(5.0, 20.0 * MIB, Duration::from_secs(3));
        assert!(predicted(&cost) < 2.0 * 25e-3, "{}", predicted(&cost));
        for &(extents, mib) in MIXED.iter().cycle().take(150) {
            cost.add(
                extents,
                mib * MIB,
                Duration::from_secs_f64(1e-2 * (extents + mib)),
            );
        }
        assert!((predicted(&cost) - 250e-3).abs() < 25e-3);
    }
}
