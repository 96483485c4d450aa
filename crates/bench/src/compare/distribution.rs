//! The distributions that intervals and power need: normal, Student's t, chi-squared.

use std::f64::consts::{PI, SQRT_2};

/// Relative accuracy at which series and continued fractions stop.
const ACCURACY: f64 = 1e-15;
/// Terms after which they stop in any case.
const TERMS_MAX: u32 = 10_000;

/// Returns the natural logarithm of the gamma function of a positive number (Lanczos 1964, with the
/// coefficients for g = 7 and nine terms).
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut index = 0.0;
    let mut sum = COEFFICIENTS[0];
    for coefficient in &COEFFICIENTS[1..] {
        index += 1.0;
        sum += coefficient / (x + index);
    }
    let t = x + G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Returns the regularised incomplete beta function `I_x(a, b)` by its continued fraction (NIST DLMF 8.17.22),
/// evaluated with Lentz's method.
#[expect(clippy::many_single_char_names, reason = "the formula's")]
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let ln_factor =
        a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) - a.ln();
    let tiny = f64::MIN_POSITIVE / ACCURACY;
    let away = |value: f64| if value.abs() < tiny { tiny } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let factor = d * c;
        fraction *= factor;
        if (factor - 1.0).abs() < ACCURACY {
            break;
        }
    }
    ln_factor.exp() * fraction
}

/// Returns the probability that a standard normal variable exceeds `z`: half the complementary error function
/// (NIST DLMF 7.6.2 near 0, the continued fraction 7.9.1 in the tail).
pub fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let x = z / SQRT_2;
    if x < 2.5 {
        // erf x = 2/√π e^(-x²) Σ 2^n x^(2n+1) / (1·3·…·(2n+1)); all terms are positive.
        let (mut term, mut sum) = (x, x);
        for n in 1..TERMS_MAX {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
            if term < sum * ACCURACY {
                break;
            }
        }
        return 0.5 - sum * (-x * x).exp() / PI.sqrt();
    }
    let fraction = (1_u32..200)
        .rev()
        .fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    0.5 * (-x * x).exp() / (PI.sqrt() * fraction)
}

/// Returns the probability that |t| is at least `t.abs()` for Student's t with `freedom` degrees of freedom.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// Returns the probability that Student's t exceeds `t`.
pub fn student_tail(t: f64, freedom: f64) -> f64 {
    let half = 0.5 * student_two_sided(t, freedom);
    if t < 0.0 { 1.0 - half } else { half }
}

/// Returns the value that Student's t exceeds with probability `tail`, which lies between 0 and 1/2.
pub fn student_quantile(tail: f64, freedom: f64) -> f64 {
    descend(|t| student_tail(t, freedom), tail)
}

/// Returns the value that a standard normal variable exceeds with probability `tail`, between 0 and 1/2.
pub fn normal_quantile(tail: f64) -> f64 {
    descend(normal_tail, tail)
}

/// Returns the value that a chi-squared variable exceeds with probability `tail` (Wilson, Hilferty 1931). The
/// error is below 2 % from three degrees of freedom on for tails between 0.1 and 0.9; with one, a tail of 0.8 is
/// 14 % too low.
pub fn chi_squared_quantile(tail: f64, freedom: f64) -> f64 {
    let z = if tail > 0.5 {
        -normal_quantile(1.0 - tail)
    } else {
        normal_quantile(tail)
    };
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + z * spread.sqrt()).max(0.0).powi(3)
}

/// Returns the non-negative argument at which a falling tail has a value of at most 1/2, by false position
/// (Illinois, Dowell and Jarratt 1971) on its logarithm.
pub(crate) fn descend(tail_at: impl Fn(f64) -> f64, tail: f64) -> f64 {
    let tail = tail.clamp(1e-300, 0.5);
    let above = |x: f64| (tail_at(x) / tail).max(f64::MIN_POSITIVE).ln();
    let (mut low, mut above_low) = (0.0, above(0.0));
    let (mut high, mut above_high) = (1.0, above(1.0));
    while above_high > 0.0 && high < 1e150 {
        (low, above_low) = (high, above_high);
        high *= 2.0;
        above_high = above(high);
    }
    let mut moved_low = None;
    for _ in 0..200 {
        if high - low <= ACCURACY * high || above_low <= 0.0 {
            break;
        }
        let middle = low + (high - low) * above_low / (above_low - above_high);
        let at_middle = above(middle);
        if at_middle == 0.0 || !(low < middle && middle < high) {
            return middle;
        }
        // An end that stays twice counts half, so that both move.
        let is_above = at_middle > 0.0;
        let stays = moved_low == Some(is_above);
        if is_above {
            (low, above_low) = (middle, at_middle);
            above_high /= if stays { 2.0 } else { 1.0 };
        } else {
            (high, above_high) = (middle, at_middle);
            above_low /= if stays { 2.0 } else { 1.0 };
        }
        moved_low = Some(is_above);
    }
    if above_low <= 0.0 {
        low
    } else {
        f64::midpoint(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, relative: f64) {
        assert!(
            (value / expected - 1.0).abs() < relative,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        // Γ(n) = (n - 1)!, Γ(1/2) = √π.
        near(ln_gamma(6.0), 120.0_f64.ln(), 1e-13);
        near(ln_gamma(0.5), PI.sqrt().ln(), 1e-12);
    }

    #[test]
    fn t_with_one_and_two_degrees_has_closed_forms() {
        for t in [0.1, 0.7, 1.0, 3.0, 40.0_f64] {
            near(student_tail(t, 1.0), 0.5 - t.atan() / PI, 1e-10);
            // 1/2 - t / (2 √(2 + t²)), without the cancellation.
            let root = (2.0 + t * t).sqrt();
            near(student_tail(t, 2.0), 1.0 / (root * (root + t)), 1e-12);
        }
    }

    #[test]
    fn quantiles_as_in_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2 and 1.3.6.7.1.
        for (tail, freedom, expected) in [
            (0.025, 1.0, 12.706),
            (0.025, 4.0, 2.776),
            (0.05, 8.0, 1.860),
            (0.005, 8.0, 3.355),
            (0.001, 18.0, 3.610),
        ] {
            near(student_quantile(tail, freedom), expected, 4e-4);
        }
        near(normal_quantile(0.025), 1.959_964, 1e-6);
        near(normal_tail(4.0), 3.167_124e-5, 1e-6);
        // Table 1.3.6.7.4, tails of 0.9 and 0.1.
        near(chi_squared_quantile(0.9, 3.0), 0.584, 0.02);
        near(chi_squared_quantile(0.9, 4.0), 1.064, 0.02);
        near(chi_squared_quantile(0.1, 9.0), 14.684, 0.01);
    }

    #[test]
    fn quantiles_invert_tails() {
        for freedom in [1.0, 1.7, 4.0, 30.0, 1e6] {
            for tail in [0.5, 0.4, 0.025, 1e-4, 1e-9] {
                let t = student_quantile(tail, freedom);
                near(student_tail(t, freedom), tail, 1e-9);
            }
        }
        near(normal_tail(normal_quantile(1e-12)), 1e-12, 1e-9);
    }

    #[test]
    fn many_degrees_of_freedom_are_the_normal_distribution() {
        near(student_tail(2.0, 1e9), normal_tail(2.0), 1e-6);
        near(normal_tail(3.535), normal_tail(3.536), 5e-3);
    }
}
