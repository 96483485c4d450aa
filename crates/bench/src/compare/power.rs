//! How many trials an answer needs.

use super::distribution::{chi_squared_quantile, student_quantile};
use super::shift::{Design, Shift, welch_freedom};

/// Number of pairs that is not exceeded; more would be no advice.
const PAIRS_MAX: u32 = 100_000;

/// What an answer is asked to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Demand {
    /// Logarithm of the smallest ratio that matters.
    pub log_margin: f64,
    /// Share of equal systems that may be called different.
    pub alpha: f64,
    /// Share of systems different by the margin that may be called equal.
    pub equivalence_alpha: f64,
    /// Share of cases that must get an answer.
    pub power: f64,
}

/// Returns how many trials of each set would answer the question: a difference as large as the margin is
/// called one, and equal systems are called equal within it, each with the power demanded. The first number
/// takes the spread as it was observed, the second its upper limit (80 %), as few trials may hide it.
///
/// A difference is found if the margin is at least (t(α/2) + t(β)) standard errors; equivalence if it is at
/// least (t(α) + t(β/2)), as both one-sided tests must succeed (Julious 2004, with t for z).
pub(crate) fn pairs_needed(shift: &Shift, demand: &Demand) -> (u32, u32) {
    // The upper limit of a variance: divided by the chi-squared quantile that 80 % exceed.
    let upper = shift.freedom / chi_squared_quantile(0.8, shift.freedom).max(1e-6);
    (
        fewest(shift, demand, 1.0),
        fewest(shift, demand, upper.max(1.0)),
    )
}

fn fewest(shift: &Shift, demand: &Demand, inflation: f64) -> u32 {
    let suffices = |pairs: u32| {
        let n = f64::from(pairs);
        let (of_a, of_b) = (
            inflation * shift.variances.0 / n,
            inflation * shift.variances.1 / n,
        );
        let freedom = match shift.design {
            Design::Pairs => n - 1.0,
            // They are to be run in turns, and then compared in pairs.
            _ if shift.drift.is_possible() => n - 1.0,
            Design::Sets | Design::CommonSpread => welch_freedom((of_a, n), (of_b, n)),
            // More trials of the other sets would add to it.
            Design::PooledSpread => welch_freedom((of_a, n), (of_b, n)).max(shift.freedom),
        };
        let missed = 1.0 - demand.power;
        let t = |tail: f64| student_quantile(tail, freedom);
        let differs = t(demand.alpha / 2.0) + t(missed);
        let equal = t(demand.equivalence_alpha) + t(missed / 2.0);
        demand.log_margin >= differs.max(equal) * (of_a + of_b).sqrt()
    };
    // The larger the number, the smaller the error and the larger the freedom.
    let (mut low, mut high) = (1, 2);
    while high < PAIRS_MAX && !suffices(high) {
        low = high;
        high = (high * 2).min(PAIRS_MAX);
    }
    while low + 1 < high {
        let middle = u32::midpoint(low, high);
        if suffices(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::drift::Drift;

    const DEMAND: Demand = Demand {
        log_margin: 0.03,
        alpha: 0.05,
        equivalence_alpha: 0.05,
        power: 0.9,
    };

    fn shift(sd: f64) -> Shift {
        Shift {
            design: Design::Sets,
            log_ratio: 0.0,
            trials: (5, 5),
            variances: (sd * sd, sd * sd),
            error: sd * (2.0_f64 / 5.0).sqrt(),
            freedom: 8.0,
            common: None,
            drift: Drift::NONE,
        }
    }

    #[test]
    fn as_the_normal_approximation_says_for_many_trials() {
        // A large spread needs many trials, where t is normal: n = 2 (z(0.05) + z(0.05))² sd² / margin² for
        // equivalence with 90 % power, which needs more than the difference's (1.960 + 1.282)².
        let expected = 2.0 * (1.6449_f64 + 1.6449).powi(2) * (0.3_f64 / 0.03).powi(2);
        let found = f64::from(fewest(&shift(0.3), &DEMAND, 1.0));
        assert!((found - expected).abs() <= 4.0, "{found} {expected}");
    }

    #[test]
    fn unknown_spreads_need_more_and_nothing_needs_endlessly_many() {
        let (typical, careful) = pairs_needed(&shift(0.02), &DEMAND);
        assert!(typical > 5 && careful > typical, "{typical} {careful}");
        assert_eq!(fewest(&shift(1e9), &DEMAND, 1.0), PAIRS_MAX);
        assert_eq!(fewest(&shift(0.0), &DEMAND, 1.0), 2);
    }
}
