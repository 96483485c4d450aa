//! Many metrics, one promise: levels that keep the share of false findings among several tests.

/// Returns the level at which each test is judged, so that the expected share of false ones among those found
/// is at most `alpha` (Benjamini, Hochberg 1995), and so that interval and verdict agree: an interval at the
/// level of a test that is found excludes no difference, and one of a test that is not found includes it
/// (Benjamini, Yekutieli 2005).
///
/// If no system differs, every finding is false, so the probability of any finding is at most `alpha`.
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of metrics are below 2^52"
)]
pub(crate) fn levels(ps: &[f64], alpha: f64) -> Vec<f64> {
    let mut sorted = ps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = |rank: usize| alpha * rank as f64 / ps.len() as f64;
    let found = (1..=ps.len())
        .rev()
        .find(|rank| sorted[rank - 1] <= share(*rank))
        .unwrap_or(0);
    ps.iter()
        .map(|p| {
            if found > 0 && *p <= share(found) {
                share(found)
            } else {
                share(found + 1)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_paper() {
        // Benjamini, Hochberg 1995, section 4.1: 15 tests, of which the procedure rejects four at 0.05.
        let ps = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let found = ps
            .iter()
            .zip(levels(&ps, 0.05))
            .filter(|(p, level)| **p <= *level)
            .count();
        assert_eq!(found, 4);
    }

    #[test]
    fn a_single_test_is_judged_at_the_level_asked_for() {
        assert_eq!(levels(&[0.5], 0.01), [0.01]);
        assert_eq!(levels(&[0.001], 0.01), [0.01]);
        assert!(levels(&[], 0.01).is_empty());
    }

    proptest! {
        #[test]
        fn interval_and_verdict_agree(ps in prop::collection::vec(0.0_f64..0.2, 1..40)) {
            let levels = levels(&ps, 0.05);
            // Those found share one level, and it is that of their number.
            let found: Vec<f64> = ps.iter().zip(&levels).filter(|(p, level)| p <= level).map(|(_, level)| *level).collect();
            #[expect(clippy::cast_precision_loss, reason = "few")]
            let expected = 0.05 * found.len() as f64 / ps.len() as f64;
            prop_assert!(found.iter().all(|level| (level - expected).abs() < 1e-12));
        }
    }
}
