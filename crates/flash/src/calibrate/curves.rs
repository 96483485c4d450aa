//! Write amplification over drive writes, for any over-provisioning: the curves a slowdown is
//! compared with.
//!
//! FIFO has a closed form ([`over_writes`]). Greedy collection has none for the transient, so
//! drives are simulated instead: for over-provisionings on a grid, each when first needed, with
//! linear interpolation over the logarithm of the over-provisioning.

use std::cell::OnceCell;

use super::{OVER_PROVISIONING, Policy};
use crate::ftl::{Ftl, PowerOn, Settings, Timeless};
use crate::geometry::Geometry;
use crate::random::Random;
use crate::theory::{Curve, Start, over_writes};

/// Minimum over-provisioning to simulate. Below it collection takes too long, and the closed form
/// of a FIFO drive with the same equilibrium is used.
const SIMULATED_MIN: f64 = 0.02;
/// Grid step in the logarithm of the over-provisioning: interpolating `A ~ 1 / (2 OP)` is off by
/// 0.1 %.
const STEP: f64 = 0.1;
/// Blocks per simulated drive.
const BLOCKS: u32 = 1024;
/// Maximum simulated pages per block: greedy's write amplification hardly changes above.
const PAGES_PER_BLOCK_MAX: u32 = 1024;
/// Number of means per drive write, and number of drive writes simulated, after which the drive is
/// in equilibrium.
const BINS_OF_WRITE: u32 = 32;
const WRITES: u32 = 8;
/// Overwrites of the whole drive that bring it into equilibrium before a trim.
const AGED_PASSES: u32 = 4;

/// The curves of one policy and one start.
pub(super) struct Curves {
    policy: Policy,
    start: Start,
    /// By grid step: mean write amplifications from when the drive begins to collect.
    grid: Vec<OnceCell<Vec<f64>>>,
}

impl Curves {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some dozens
    pub(super) fn new(policy: Policy, start: Start) -> Self {
        let steps = ((OVER_PROVISIONING.1 / SIMULATED_MIN).ln() / STEP).ceil() as usize;
        Self {
            policy,
            start,
            grid: vec![OnceCell::new(); steps + 1],
        }
    }

    /// The curve for an over-provisioning, covering at least `writes_max` drive writes. A fresh
    /// drive begins to collect `later` drive writes later than it otherwise would.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // some dozens
    pub(super) fn of(&self, over_provisioning: f64, writes_max: f64, later: f64) -> Curve {
        let Policy::Greedy { pages_per_block } = self.policy else {
            return over_writes(
                self.policy.equilibrium(over_provisioning),
                self.start,
                writes_max,
            );
        };
        let at = (over_provisioning / SIMULATED_MIN).ln() / STEP;
        if at < 0.0 {
            return over_writes(
                self.policy.equilibrium(over_provisioning),
                self.start,
                writes_max,
            );
        }
        let below = (at as usize).min(self.grid.len() - 2);
        let share = (at - below as f64).min(1.0);
        let means = |step: usize| {
            self.grid[step].get_or_init(|| {
                let over_provisioning = SIMULATED_MIN * (step as f64 * STEP).exp();
                simulated(over_provisioning, pages_per_block, self.start)
            })
        };
        let mut begins = begins(over_provisioning, self.start);
        if begins > 0.0 {
            begins += later;
        }
        let mut curve = Curve {
            writes: vec![0.0],
            write_amplification: vec![1.0],
        };
        let first = means(below)[0] + (means(below + 1)[0] - means(below)[0]) * share;
        if begins > 0.0 {
            // A jump, since collection begins abruptly.
            curve.writes.extend([begins, begins]);
            curve.write_amplification.extend([1.0, first]);
        } else {
            curve.write_amplification[0] = first;
        }
        for (bin, (low, high)) in means(below).iter().zip(means(below + 1)).enumerate() {
            let middle = (bin as f64 + 0.5) / f64::from(BINS_OF_WRITE);
            curve.writes.push(begins + middle);
            curve.write_amplification.push(low + (high - low) * share);
        }
        curve
    }
}

/// Drive writes before collection begins: the amount of erased pages on a fresh drive.
fn begins(over_provisioning: f64, start: Start) -> f64 {
    match start {
        Start::Filled { mapped_share } => 1.0 + over_provisioning - mapped_share,
        Start::Trimmed { .. } => 0.0,
    }
}

/// Simulates random writes, and returns mean write amplifications from when collection begins, for
/// parts of a drive write.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // shares of a u32
fn simulated(over_provisioning: f64, pages_per_block: u32, start: Start) -> Vec<f64> {
    let pages_per_block = pages_per_block.clamp(1, PAGES_PER_BLOCK_MAX);
    let pages = BLOCKS * pages_per_block.max(16);
    let geometry = Geometry::new(pages.into(), over_provisioning, pages_per_block, 4096)
        .expect("a drive of some thousand blocks");
    let settings = Settings {
        separate_moved: false,
        ..Settings::new(geometry)
    };
    let mut random = Random::new(1);
    let power_on = match start {
        Start::Filled { .. } => PowerOn::Empty,
        Start::Trimmed { .. } => PowerOn::Aged {
            passes: AGED_PASSES,
        },
    };
    let mut drive = Ftl::new(settings, power_on, Timeless).expect("as checked");
    match start {
        Start::Filled { mapped_share } => {
            drive.write_run(0, share_of(pages, mapped_share), 0);
        }
        Start::Trimmed { mapped_share } => {
            let trimmed: Vec<u32> = (0..pages)
                .filter(|_| random.unit() >= mapped_share)
                .collect();
            drive.discard(&trimmed);
        }
    }
    let mut write = |drive: &mut Ftl<Timeless>, count: u32| {
        let pages: Vec<u32> = (0..count).map(|_| random.below_u32(pages)).collect();
        drive.write(&pages, 0);
    };
    write(
        &mut drive,
        share_of(pages, begins(over_provisioning, start)),
    );
    (0..BINS_OF_WRITE * WRITES)
        .map(|_| {
            drive.reset_counters();
            write(&mut drive, pages / BINS_OF_WRITE);
            drive.counters().write_amplification().unwrap_or(1.0)
        })
        .collect()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // below 2^32: at most four times a million pages
fn share_of(pages: u32, share: f64) -> u32 {
    (f64::from(pages) * share).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::greedy;

    #[test]
    fn a_curve_ends_at_the_equilibrium() {
        for start in [
            Start::Filled { mapped_share: 0.5 },
            Start::Trimmed { mapped_share: 0.5 },
        ] {
            let curves = Curves::new(
                Policy::Greedy {
                    pages_per_block: 64,
                },
                start,
            );
            // None of these is on the grid.
            for over_provisioning in [0.07, 0.15, 0.28, 1.0] {
                let found = curves.of(over_provisioning, 10.0, 0.0).at(10.0);
                let expected = greedy(over_provisioning, 64);
                assert!(
                    (found / expected - 1.0).abs() < 0.02,
                    "{start:?} {over_provisioning}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_fresh_drive_collects_nothing_until_it_is_full() {
        let curves = Curves::new(
            Policy::Greedy {
                pages_per_block: 64,
            },
            Start::Filled { mapped_share: 0.4 },
        );
        let curve = curves.of(0.15, 3.0, 0.0);
        // It is full after 0.75 drive writes.
        assert!((curve.at(0.74) - 1.0).abs() < 1e-9);
        assert!(curve.at(0.85) > 1.5, "{}", curve.at(0.85));
    }
}
