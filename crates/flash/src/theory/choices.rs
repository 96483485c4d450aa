//! The best of several blocks drawn at random.

/// Write amplification if the victim is the block with the fewest valid pages among `choices`
/// blocks drawn at random, of `pages_per_block` pages each; host writes and moved pages share a
/// frontier (Van Houdt 2013, "A mean field model for a class of garbage collection algorithms in
/// flash-based solid state drives", SIGMETRICS).
///
/// With `S_i` the share of blocks that hold at least `i` valid pages, and `c` the rate of
/// invalidations per collected block, equilibrium is `c i (S_i - S_(i+1)) = 1 - S_i^d` with
/// `sum S_i = Np / alpha`; the victim holds `sum S_i^d` pages. Solved from `i = Np` down for a
/// given `c` (Newton's method), and for `c` by bisection: the sum falls as `c` grows.
///
/// One choice gives `(1 + OP) / OP`; many choices approach [`super::greedy`]. Zero choices give
/// NaN.
pub fn d_choices(over_provisioning: f64, pages_per_block: u32, choices: u32) -> f64 {
    if choices == 0 || over_provisioning.is_nan() {
        return f64::NAN;
    }
    if over_provisioning <= 0.0 {
        return f64::INFINITY;
    }
    let np = f64::from(pages_per_block);
    let valid = np / (1.0 + over_provisioning);
    let (mut low, mut high) = (-50.0_f64, 50.0_f64);
    // 70 bisections reach the precision of `f64`.
    for _ in 0..70 {
        let middle = 0.5 * (low + high);
        if sums(middle.exp(), pages_per_block, choices).0 > valid {
            low = middle;
        } else {
            high = middle;
        }
    }
    let moved = sums((0.5 * (low + high)).exp(), pages_per_block, choices).1;
    np / (np - moved)
}

/// `sum S_i` and `sum S_i^d` for a given rate.
fn sums(rate: f64, pages_per_block: u32, choices: u32) -> (f64, f64) {
    let power = |s: f64, n: u32| s.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let d = f64::from(choices);
    let (mut share, mut sum, mut sum_of_powers) = (0.0, 0.0, 0.0);
    for i in (1..=pages_per_block).rev() {
        let slope = rate * f64::from(i);
        let goal = 1.0 + slope * share;
        // slope s + s^d = goal is convex and increasing, so Newton's method from above descends to
        // the root.
        let mut s = 1.0_f64;
        for _ in 0..200 {
            let step = (slope * s + power(s, choices) - goal) / (slope + d * power(s, choices - 1));
            s -= step;
            if step <= 1e-16 * s {
                break;
            }
        }
        share = s;
        sum += share;
        sum_of_powers += power(share, choices);
    }
    (sum, sum_of_powers)
}

#[cfg(test)]
mod tests {
    use super::super::greedy;
    use super::d_choices;

    #[test]
    fn published_values() {
        for (op, one, two, ten) in [
            (0.07, 15.286, 10.277, 7.323),
            (0.15, 7.667, 5.312, 3.930),
            (0.25, 5.000, 3.533, 2.675),
            (0.28, 4.571, 3.245, 2.471),
            (0.50, 3.000, 2.190, 1.721),
        ] {
            for (d, expected) in [(1, one), (2, two), (10, ten)] {
                let found = d_choices(op, 64, d);
                assert!((found - expected).abs() < 0.001, "{op} d {d}: {found}");
            }
        }
    }

    #[test]
    fn one_choice_is_the_closed_form_for_any_block() {
        for np in [1, 7, 64, 512] {
            for op in [0.05, 0.25, 2.0] {
                assert!((d_choices(op, np, 1) * op / (1.0 + op) - 1.0).abs() < 1e-9);
            }
        }
    }

    /// Two independent derivations: many choices, and Desnoyers' greedy.
    #[test]
    fn many_choices_come_close_to_greedy() {
        for op in [0.07, 0.28, 1.0] {
            let ratio = d_choices(op, 64, 2000) / greedy(op, 64);
            assert!((ratio - 1.0).abs() < 0.01, "{op}: {ratio}");
        }
    }

    #[test]
    fn out_of_bounds() {
        assert!(d_choices(0.1, 64, 0).is_nan());
        assert!(d_choices(0.0, 64, 2).is_infinite());
        assert!(d_choices(f64::NAN, 64, 2).is_nan());
    }
}
