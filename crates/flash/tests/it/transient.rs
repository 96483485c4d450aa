//! The transient, simulated and in closed form: after a trim, and on a fresh drive.

use flash::calibrate::{MODEL_ERROR, Policy};
use flash::ftl::{Collection, Ftl, PowerOn, Settings, Timeless};
use flash::geometry::Geometry;
use flash::random::Random;
use flash::theory::{self, Curve, Start};
use flash::workload::pages::Uniform;
use flash::workload::run;

pub(crate) const PAGES_PER_BLOCK: u32 = 128;
/// Drive writes between two points.
pub(crate) const STEP: f64 = 0.05;

/// Write amplification of a drive of 4,000 blocks, in steps of a fixed number of drive writes.
pub(crate) fn simulate(
    op: f64,
    collection: Collection,
    start: Start,
    points: u32,
    step: f64,
) -> Vec<f64> {
    let pages = 4000 * PAGES_PER_BLOCK;
    let geometry = Geometry::new(pages.into(), op, PAGES_PER_BLOCK, 4096).expect("a geometry");
    let settings = Settings {
        collection,
        separate_moved: false,
        ..Settings::new(geometry)
    };
    let power_on = match start {
        Start::Filled { .. } => PowerOn::Empty,
        Start::Trimmed { .. } => PowerOn::Aged { passes: 8 },
    };
    let mut ftl = Ftl::new(settings, power_on, Timeless).expect("a drive");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a u32
    let part = |share: f64| (f64::from(pages) * share).round() as u32;
    match start {
        Start::Filled { mapped_share } => ftl.write_run(0, part(mapped_share), 0),
        Start::Trimmed { mapped_share } => {
            let mut random = Random::new(2);
            for page in 0..pages {
                if random.unit() >= mapped_share {
                    ftl.discard(&[page]);
                }
            }
        }
    }
    let mut workload = Uniform::new(0..pages, 1);
    (0..points)
        .map(|_| {
            ftl.reset_counters();
            run(&mut ftl, &mut workload, part(step).into());
            let counters = ftl.counters();
            counters.write_amplification().expect("there were writes")
        })
        .collect()
}

/// The mean over a step.
fn mean(curve: &Curve, step: u32) -> f64 {
    let at = |part: u32| curve.at(STEP * (f64::from(step) + (f64::from(part) + 0.5) / 50.0));
    (0..50).map(at).sum::<f64>() / 50.0
}

/// Documented error of the closed form: `theory::over_writes`, and `calibrate::MODEL_ERROR` for
/// FIFO.
fn bound(policy: Policy, start: Start) -> f64 {
    match (policy, start) {
        (Policy::Fifo, _) => MODEL_ERROR,
        (Policy::Greedy { .. }, Start::Trimmed { .. }) => 0.02,
        (Policy::Greedy { .. }, Start::Filled { .. }) => 0.03,
    }
}

/// Compares the root mean square difference per step over five drive writes with its bound.
fn compare(op: f64, policy: Policy, start: Start) {
    let points = 100;
    let (collection, equilibrium) = match policy {
        Policy::Fifo => (Collection::Fifo, theory::fifo(op)),
        Policy::Greedy { pages_per_block } => {
            (Collection::Greedy, theory::greedy(op, pages_per_block))
        }
    };
    let curve = theory::over_writes(equilibrium, start, STEP * f64::from(points));
    let found = simulate(op, collection, start, points, STEP);
    let squares: f64 = (0..)
        .zip(&found)
        .map(|(step, a)| (a / mean(&curve, step) - 1.0).powi(2))
        .sum();
    let rms = (squares / f64::from(points)).sqrt();
    println!("{policy:?} {op} {start:?}: {:.2} %", 100.0 * rms);
    assert!(
        rms < bound(policy, start),
        "{policy:?} {op} {start:?}: {rms}"
    );
}

/// Both ends and the middle of the range for which the bounds were measured.
#[test]
fn simulations_stay_near_the_closed_form() {
    let greedy = Policy::Greedy {
        pages_per_block: PAGES_PER_BLOCK,
    };
    for policy in [Policy::Fifo, greedy] {
        for op in [0.07, 0.15, 0.5] {
            for start in [
                Start::Filled { mapped_share: 1.0 },
                Start::Filled { mapped_share: 0.4 },
                Start::Trimmed { mapped_share: 0.2 },
                Start::Trimmed { mapped_share: 0.6 },
            ] {
                compare(op, policy, start);
            }
        }
    }
}
