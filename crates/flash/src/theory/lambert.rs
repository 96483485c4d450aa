//! Lambert's W function, the inverse of `w e^w`.

use std::f64::consts::E;

/// The principal branch of Lambert's W: the `w` of at least -1 with `w e^w = x`. NaN below -1/e,
/// where there is none.
///
/// Starts from the series at the branch point (Corless et al. 1996, "On the Lambert W function",
/// 4.22) or a logarithm, followed by Halley's method (5.9). Accurate to a few units in the last
/// place, except close to -1/e, where half of the digits of `x` are lost in `1 + e x`; an
/// over-provisioning of 0.1 % keeps ten digits.
pub(super) fn lambert_w0(x: f64) -> f64 {
    let above = 1.0 + E * x;
    // -1/e itself, after rounding.
    if (-1e-15..=0.0).contains(&above) {
        return -1.0;
    }
    if above.is_nan() || above < 0.0 {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return x;
    }
    let mut w = if x < 1.0 {
        let p = (2.0 * above).sqrt();
        -1.0 + p - p * p / 3.0 + 11.0 / 72.0 * p * p * p
    } else {
        let log = x.ln();
        log - log.max(1.0).ln()
    };
    // A search over all magnitudes never needed more than four steps.
    for _ in 0..20 {
        let exp = w.exp();
        let error = w * exp - x;
        let step = error / (exp * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0));
        if !step.is_finite() {
            break;
        }
        w -= step;
        if step.abs() <= 1e-15 * w.abs() {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::lambert_w0;

    #[test]
    fn known_values() {
        // OEIS A030178 (the omega constant), W(e) = 1, W(-ln 2 / 2) = -ln 2, W(0) = 0.
        for (x, w) in [
            (1.0, 0.567_143_290_409_784),
            (std::f64::consts::E, 1.0),
            (-std::f64::consts::LN_2 / 2.0, -std::f64::consts::LN_2),
            (0.0, 0.0),
        ] {
            assert!((lambert_w0(x) - w).abs() < 1e-14, "W({x})");
        }
    }

    #[test]
    fn is_the_inverse_over_all_magnitudes() {
        for exponent in -300..300 {
            let x = 10f64.powi(exponent);
            let w = lambert_w0(x);
            assert!(
                ((w.ln() + w) - x.ln()).abs() < 1e-12 * x.ln().abs().max(1.0),
                "W({x}) = {w}"
            );
        }
        // On (-1, 0), `x` is computed from the expected `w`.
        for step in 1..1000 {
            let w = -f64::from(step) / 1000.0;
            let found = lambert_w0(w * w.exp());
            assert!((found - w).abs() < 1e-12, "{w}: {found}");
        }
    }

    #[test]
    fn values_at_the_branch_point() {
        assert!((lambert_w0(-(-1f64).exp()) + 1.0).abs() < 1e-7);
        assert!(lambert_w0(-0.4).is_nan());
        assert!(lambert_w0(f64::NAN).is_nan());
        assert!(lambert_w0(f64::INFINITY).is_infinite());
    }
}
