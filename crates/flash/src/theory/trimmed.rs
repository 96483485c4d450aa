//! Trim requests: pages the drive knows to be unused act as spare area.

/// The share of logical pages in use in equilibrium, if a share `trim_share` of all requests trims
/// a page drawn at random from those in use, and every other request writes a page drawn at random
/// from all: `(1 - 2q) / (1 - q)` (Frankie, Hughes, Kreutz-Delgado 2012, "A mathematical model of
/// the trim command in NAND-flash SSDs", ACM Southeast).
///
/// A write takes a page not in use with probability `1 - s`, which must happen as often as a trim:
/// `(1 - q)(1 - s) = q`. From one half on nothing stays in use, and the result is 0; below 0 it is
/// NaN.
pub fn in_use_share(trim_share: f64) -> f64 {
    if trim_share < 0.0 {
        return f64::NAN;
    }
    if trim_share >= 0.5 {
        return 0.0;
    }
    (1.0 - 2.0 * trim_share) / (1.0 - trim_share)
}

/// The effective over-provisioning under [`in_use_share`], for use in the uniform formulas:
/// `alpha / s - 1`. Infinite if nothing stays in use.
pub fn trimmed_over_provisioning(over_provisioning: f64, trim_share: f64) -> f64 {
    (1.0 + over_provisioning) / in_use_share(trim_share) - 1.0
}

#[cfg(test)]
mod tests {
    use super::super::{fifo, greedy};
    use super::*;

    #[test]
    fn published_values() {
        for (q, by_greedy, by_fifo) in [
            (0.1, 2.380, 2.399),
            (0.2, 1.648, 1.656),
            (0.3, 1.246, 1.250),
            (0.4, 1.035, 1.037),
        ] {
            let op = trimmed_over_provisioning(0.15, q);
            assert!((greedy(op, 256) - by_greedy).abs() < 0.001, "greedy {q}");
            assert!((fifo(op) - by_fifo).abs() < 0.001, "FIFO {q}");
        }
    }

    #[test]
    fn the_ends() {
        assert!((in_use_share(0.0) - 1.0).abs() < f64::EPSILON);
        assert!((trimmed_over_provisioning(0.07, 0.0) - 0.07).abs() < 1e-12);
        assert!(trimmed_over_provisioning(0.07, 0.5).is_infinite());
        assert!((fifo(trimmed_over_provisioning(0.07, 0.6)) - 1.0).abs() < 1e-12);
        assert!(in_use_share(-0.1).is_nan());
    }
}
