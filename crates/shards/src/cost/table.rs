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
    fit: [f64; 6],
    held_back_factor: f64,
) -> Coefficients {
    Coefficients {
        version,
        step,
        fit: Fit {
            fixed_ms: fit[0],
            per_thousand_ms: fit[1],
            per_thousand_far_ms: fit[2],
            per_thousand_pairs_ms: fit[3],
            walk_ms: fit[4],
            walk_far_ms: fit[5],
        },
        held_back_factor,
    }
}

/// Fewest copies that were measured.
pub(super) const COPIES_MIN: u64 = 1000;
/// Most copies that were measured.
pub(super) const COPIES_MAX: u64 = 25_000;
/// Fewest data nodes that were measured.
pub(super) const NODES_MIN: u32 = 2;
/// Most data nodes that were measured.
pub(super) const NODES_MAX: u32 = 40;

/// All coefficients.
#[rustfmt::skip]
pub(crate) const COEFFICIENTS: &[Coefficients] = &[
    row("6.8.23", Step::Reroute, [0.0000, 0.3804, 0.7968, 0.1640, 7.2174, 23.3096], 1.34),
    row("6.8.23", Step::Create, [0.0000, 0.8273, 1.6466, 0.0304, 7.5975, 23.1249], 1.34),
    row("6.8.23", Step::Start, [0.0000, 0.8312, 1.9151, 0.1873, 7.9427, 18.5393], 1.39),
    row("6.8.23", Step::Delete, [0.0000, 0.3700, 0.7972, 0.1756, 7.2740, 22.5117], 1.33),
    row("7.1.1", Step::Reroute, [0.0000, 0.3804, 0.7968, 0.1640, 3.9618, 13.1067], 1.56),
    row("7.1.1", Step::Create, [0.0000, 0.8273, 1.6466, 0.0304, 4.6872, 13.0835], 1.44),
    row("7.1.1", Step::Start, [0.0000, 0.8312, 1.9151, 0.1873, 4.6086, 10.4952], 1.49),
    row("7.1.1", Step::Delete, [0.0000, 0.3700, 0.7972, 0.1756, 4.1025, 13.0989], 1.47),
    row("7.4.0", Step::Reroute, [0.0000, 0.3804, 0.7968, 0.1640, 6.9251, 24.0470], 1.51),
    row("7.4.0", Step::Create, [0.0000, 0.8273, 1.6466, 0.0304, 7.4915, 23.7606], 1.33),
    row("7.4.0", Step::Start, [0.0000, 0.4593, 1.2732, 0.0230, 0.0000, 0.0000], 1.50),
    row("7.4.0", Step::Delete, [0.0000, 0.3700, 0.7972, 0.1756, 7.5323, 20.5802], 1.38),
    row("7.6.0", Step::Reroute, [0.0000, 0.3804, 0.7968, 0.1640, 0.0000, 0.0000], 1.51),
    row("7.6.0", Step::Create, [0.0000, 0.8273, 1.6466, 0.0304, 0.0000, 0.0000], 1.55),
    row("7.6.0", Step::Start, [0.0000, 0.4508, 1.1183, 0.0233, 0.0000, 0.0000], 1.52),
    row("7.6.0", Step::Delete, [0.0000, 0.3700, 0.7972, 0.1756, 0.0000, 0.0000], 1.54),
    row("7.17.28", Step::Reroute, [0.0000, 0.3369, 0.6431, 0.2549, 0.0000, 0.0000], 1.38),
    row("7.17.28", Step::Create, [0.0000, 0.8624, 2.3031, 0.1093, 0.0000, 0.0000], 1.36),
    row("7.17.28", Step::Start, [0.0000, 0.4772, 1.4829, 0.0602, 0.0000, 0.0000], 1.65),
    row("7.17.28", Step::Delete, [0.0000, 0.3366, 0.8674, 0.2412, 0.0000, 0.0000], 1.41),
];
