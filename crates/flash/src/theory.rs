//! Write amplification in closed form: a quick estimate where it need not be exact.
//!
//! Terms: *over-provisioning* (`over_provisioning`, 0.07 is 7 %) is defined in [`crate::geometry`];
//! *alpha* = 1 + over-provisioning is physical pages per logical page; *write amplification* is
//! pages programmed per page the host wrote, at best 1. The formula describes a page-mapped drive in
//! equilibrium under random single-page writes, without time.

mod lambert;

use lambert::lambert_w0;

/// Write amplification of greedy collection with `pages_per_block` pages per block (Desnoyers 2012,
/// "Analytic modeling of SSD write performance", SYSTOR): with `k = 1 + 1/(2 Np)` and
/// `X0 = 1/2 - (Np / alpha) W(-k alpha e^(-k alpha))`, `Np / (Np - (X0 - 1))`.
///
/// `X0 - 1` is the number of valid pages of a victim. If there is so much spare area that it
/// becomes negative, the formula no longer applies, and the result is 1. Without spare area nothing
/// can be collected: an over-provisioning of 0 or less gives infinity. NaN gives NaN.
pub fn greedy(over_provisioning: f64, pages_per_block: u32) -> f64 {
    if over_provisioning <= 0.0 {
        return f64::INFINITY;
    }
    if over_provisioning.is_infinite() {
        return 1.0;
    }
    let alpha = 1.0 + over_provisioning;
    let np = f64::from(pages_per_block);
    let k = 1.0 + 1.0 / (2.0 * np);
    let x0 = 0.5 - np / alpha * lambert_w0(-k * alpha * (-k * alpha).exp());
    let valid = x0 - 1.0;
    if valid < 0.0 {
        return 1.0;
    }
    np / (np - valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over-provisioning; 32, 64 and 256 pages per block. Each was verified by an independent
    /// simulation.
    const TABLE: [(f64, [f64; 3]); 6] = [
        (0.07, [6.343, 7.001, 7.596]),
        (0.15, [3.605, 3.799, 3.959]),
        (0.25, [2.511, 2.598, 2.668]),
        (0.28, [2.328, 2.402, 2.461]),
        (0.50, [1.647, 1.681, 1.707]),
        (1.00, [1.223, 1.239, 1.251]),
    ];

    #[test]
    fn published_values() {
        for (op, expected) in TABLE {
            for (np, expected) in [32, 64, 256].into_iter().zip(expected) {
                let found = greedy(op, np);
                assert!((found - expected).abs() < 0.001, "{op} {np}: {found}");
            }
        }
    }

    #[test]
    fn no_spare_area_is_infinite() {
        for op in [0.0, -0.1] {
            assert!(greedy(op, 64).is_infinite());
        }
        assert!(greedy(f64::NAN, 64).is_nan());
        assert!((greedy(f64::INFINITY, 64) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn never_below_one_and_falling_with_spare() {
        for np in [1, 2, 32, 1024, 65_535] {
            let mut last = f64::INFINITY;
            for percent in 1..5000u32 {
                let found = greedy(f64::from(percent) / 100.0, np);
                assert!(
                    (1.0..=last).contains(&found),
                    "{np} {percent} %: {found}, {last}"
                );
                last = found;
            }
        }
    }
}
