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
pub const COEFFICIENTS: &[Coefficients] = &[
    row("6.8.23", Step::Reroute, [0.0000, 0.3678, 1.3062, 0.2286, 8.4017, 24.7474], 1.39),
    row("6.8.23", Step::Create, [0.0000, 0.8544, 2.5278, 0.0665, 7.8631, 23.9323], 1.38),
    row("6.8.23", Step::Start, [0.0000, 0.8577, 3.1503, 0.2429, 7.7201, 19.2035], 1.58),
    row("6.8.23", Step::Delete, [0.0000, 0.3573, 1.1792, 0.2152, 7.8034, 22.2775], 1.31),
    row("7.1.1", Step::Reroute, [0.0000, 0.3678, 1.3062, 0.2286, 5.0158, 14.8351], 1.50),
    row("7.1.1", Step::Create, [0.0000, 0.8544, 2.5278, 0.0665, 6.2686, 14.3784], 1.57),
    row("7.1.1", Step::Start, [0.0000, 0.8577, 3.1503, 0.2429, 4.6402, 11.5990], 1.59),
    row("7.1.1", Step::Delete, [0.0000, 0.3573, 1.1792, 0.2152, 4.3945, 14.3025], 1.41),
    row("7.4.0", Step::Reroute, [0.0000, 0.3678, 1.3062, 0.2286, 7.3010, 27.9115], 1.61),
    row("7.4.0", Step::Create, [0.0000, 0.8544, 2.5278, 0.0665, 7.2546, 26.4992], 1.93),
    row("7.4.0", Step::Start, [0.0000, 0.4784, 1.7584, 0.0080, 0.0000, 0.0000], 1.61),
    row("7.4.0", Step::Delete, [0.0000, 0.3573, 1.1792, 0.2152, 7.6818, 20.3542], 1.35),
    row("7.6.0", Step::Reroute, [0.0000, 0.3678, 1.3062, 0.2286, 0.0000, 0.0000], 2.01),
    row("7.6.0", Step::Create, [0.0000, 0.8544, 2.5278, 0.0665, 0.0000, 0.0000], 1.56),
    row("7.6.0", Step::Start, [0.0000, 0.4899, 1.8441, 0.0142, 0.0000, 0.0000], 1.35),
    row("7.6.0", Step::Delete, [0.0000, 0.3573, 1.1792, 0.2152, 0.0000, 0.0000], 1.48),
    row("7.17.28", Step::Reroute, [0.0000, 0.4340, 1.4653, 0.2309, 0.0000, 0.0000], 1.86),
    row("7.17.28", Step::Create, [0.0000, 1.1894, 2.7685, 0.0386, 0.0000, 0.0000], 1.74),
    row("7.17.28", Step::Start, [0.0000, 0.5837, 1.6611, 0.0247, 0.0000, 0.0000], 1.49),
    row("7.17.28", Step::Delete, [0.0000, 0.4229, 1.3791, 0.2023, 0.0000, 0.0000], 1.40),
];
