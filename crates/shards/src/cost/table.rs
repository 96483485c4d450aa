//! The coefficients. Made by `cargo run -p shards --example fit -- crates/shards/data/measured.csv`; a
//! test makes them anew.

use super::{Fit, Step};

/// Coefficients of one step of one version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// The version that was measured.
    pub version: &'static str,
    /// The step.
    pub step: Step,
    /// The coefficients.
    pub fit: Fit,
    /// By which factor the worst held-back size was off.
    pub held_back_factor: f64,
}

const fn row(
    version: &'static str,
    step: Step,
    fit: [f64; 3],
    held_back_factor: f64,
) -> Coefficients {
    Coefficients {
        version,
        step,
        fit: Fit {
            fixed_ms: fit[0],
            per_thousand_ms: fit[1],
            scan_ms: fit[2],
        },
        held_back_factor,
    }
}

/// Fewest copies that were measured.
pub(super) const COPIES_MIN: u64 = 1000;
/// Most copies that were measured.
pub(super) const COPIES_MAX: u64 = 4000;
/// Fewest data nodes that were measured.
pub(super) const NODES_MIN: u32 = 2;
/// Most data nodes that were measured.
pub(super) const NODES_MAX: u32 = 10;

/// All coefficients.
#[rustfmt::skip]
pub const COEFFICIENTS: &[Coefficients] = &[
    row("6.8.23", Step::Reroute, [0.1405, 0.73975, 11.66498], 1.70),
    row("6.8.23", Step::Create, [2.5189, 0.00000, 13.96605], 2.41),
    row("6.8.23", Step::Start, [0.0000, 1.66039, 15.12427], 2.49),
    row("6.8.23", Step::Delete, [0.0000, 0.86949, 12.30880], 1.89),
    row("7.1.1", Step::Reroute, [0.0008, 4.32879, 3.96936], 3.92),
    row("7.1.1", Step::Create, [0.2237, 1.79760, 7.95492], 2.96),
    row("7.1.1", Step::Start, [0.0000, 2.18667, 6.92023], 2.67),
    row("7.1.1", Step::Delete, [0.0000, 1.26614, 5.01102], 3.09),
    row("7.4.0", Step::Reroute, [0.0000, 5.72604, 7.92770], 2.73),
    row("7.4.0", Step::Create, [3.2374, 0.00000, 12.82996], 2.01),
    row("7.4.0", Step::Start, [0.0000, 0.86797, 0.00000], 5.21),
    row("7.4.0", Step::Delete, [0.0000, 0.82095, 11.27064], 1.63),
    row("7.6.0", Step::Reroute, [0.0000, 0.85421, 0.00000], 7.05),
    row("7.6.0", Step::Create, [2.9478, 0.83602, 0.00000], 1.20),
    row("7.6.0", Step::Start, [0.0000, 0.75080, 0.00000], 11.56),
    row("7.6.0", Step::Delete, [0.0000, 0.71113, 0.00000], 2.22),
    row("7.17.28", Step::Reroute, [0.2566, 0.88310, 0.00000], 14.24),
    row("7.17.28", Step::Create, [2.7685, 1.08315, 0.00000], 2.73),
    row("7.17.28", Step::Start, [0.3576, 0.67856, 0.00000], 4.35),
    row("7.17.28", Step::Delete, [0.0000, 0.85188, 0.00000], 7.86),
];
