//! How probable it is that passes overlap.

/// Returns the probability that at least two passes overlap, if all start at random in the same window, independently of
/// each other: with systemd's `RandomizedDelaySec=`, for example. `window_s` is the length of the window of starts; 0 for one and the same moment.
///
/// In a given order, passes are apart in a share (1 - (D - last) / W)^n / n! of all n starts, where D is the sum of the
/// lengths, since the last one may end after the window: shortening the window by what comes before each start leaves n
/// ascending points. Of the n! orders, (n - 1)! end with each pass. Equal lengths give 1 - (1 - (n - 1) d / W)^n, as for
/// random points at a minimum distance (Feller, An Introduction to Probability Theory, vol. 2, I.9).
pub fn overlap_probability(lens_s: &[f64], window_s: f64) -> f64 {
    if lens_s.len() < 2 {
        return 0.0;
    }
    if window_s <= 0.0 {
        return 1.0;
    }
    let all_s: f64 = lens_s.iter().sum();
    let apart: f64 = lens_s
        .iter()
        .map(|last_s| {
            let left = (1.0 - (all_s - last_s) / window_s).max(0.0);
            lens_s.iter().fold(1.0, |share, _| share * left)
        })
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "numbers of nodes")]
    let count = lens_s.len() as f64;
    (1.0 - apart / count).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Length of a week in seconds.
    const WEEK_S: f64 = 7.0 * 24.0 * 3600.0;

    /// A pass that runs every week.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct WeeklyPass {
        /// Earliest start, in seconds from the beginning of the week.
        earliest_s: f64,
        /// How much later it may start, all delays alike, in seconds: systemd's `RandomizedDelaySec=` and `AccuracySec=`.
        delay_s: f64,
        /// How long it takes, in seconds.
        len_s: f64,
    }

    /// Returns the share of `weeks` weeks in which at least two passes overlap, wherever their windows are. `uniform` draws
    /// from 0 to 1. The week is a circle: a pass of Sunday night can meet one of Monday morning.
    fn simulated_overlap(
        passes: &[WeeklyPass],
        weeks: u32,
        mut uniform: impl FnMut() -> f64,
    ) -> f64 {
        let mut starts: Vec<(f64, f64)> = Vec::with_capacity(passes.len());
        let mut with_overlap = 0u32;
        for _ in 0..weeks {
            starts.clear();
            starts.extend(passes.iter().map(|pass| {
                let start_s = (pass.earliest_s + pass.delay_s * uniform()).rem_euclid(WEEK_S);
                (start_s, pass.len_s)
            }));
            with_overlap += u32::from(has_overlap(&mut starts));
        }
        f64::from(with_overlap) / f64::from(weeks.max(1))
    }

    /// Whether passes, as starts and lengths on the circle of the week, overlap; one may begin where another one ends.
    fn has_overlap(starts: &mut [(f64, f64)]) -> bool {
        starts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(first_s, _)) = starts.first() else {
            return false;
        };
        let following = starts.iter().skip(1).map(|&(start_s, _)| start_s);
        // The first one of the next week comes after the last one.
        let following = following.chain((starts.len() > 1).then_some(first_s + WEEK_S));
        // If none overlaps the next one, none overlaps any.
        starts
            .iter()
            .zip(following)
            .any(|(&(start_s, len_s), next_s)| start_s + len_s > next_s)
    }

    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// fstrim.timer: Monday 00:00, `RandomizedDelaySec=100min`.
    fn by_default(lens_s: &[f64]) -> Vec<WeeklyPass> {
        let pass = |&len_s| WeeklyPass {
            earliest_s: 0.0,
            delay_s: 6000.0,
            len_s,
        };
        lens_s.iter().map(pass).collect()
    }

    #[test]
    fn three_nodes_of_20_minutes_meet_in_78_of_100_weeks() {
        let at = |minutes: f64| overlap_probability(&[minutes * 60.0; 3], 6000.0);
        let shown = [10.0, 20.0, 30.0].map(|minutes| (at(minutes) * 1000.0).round() / 10.0);
        assert_eq!(shown, [48.8, 78.4, 93.6]);
    }

    #[test]
    fn one_node_never_meets_itself_and_one_moment_is_always_the_same() {
        assert_eq!(overlap_probability(&[600.0], 6000.0), 0.0);
        assert_eq!(overlap_probability(&[], 6000.0), 0.0);
        assert_eq!(overlap_probability(&[1.0, 1.0], 0.0), 1.0);
        assert_eq!(
            simulated_overlap(&by_default(&[600.0]), 100, random(1)),
            0.0
        );
        assert_eq!(simulated_overlap(&[], 100, random(1)), 0.0);
    }

    /// A million weeks each: four standard deviations are at most 0.002.
    #[test]
    fn the_formula_is_what_a_simulation_shows() {
        let hundred: Vec<f64> = vec![2.0; 100];
        for lens_s in [
            &[1200.0; 3][..],
            &[300.0; 10],
            &hundred,
            // Of different lengths.
            &[60.0, 600.0, 1800.0],
            &[5900.0, 10.0],
        ] {
            let computed = overlap_probability(lens_s, 6000.0);
            let shown = simulated_overlap(&by_default(lens_s), 1_000_000, random(7));
            assert!(
                (computed - shown).abs() < 0.002,
                "{} nodes: {computed} and {shown}",
                lens_s.len()
            );
        }
    }

    #[test]
    fn a_pass_of_sunday_night_meets_one_of_monday() {
        let pass = |earliest_s, len_s| WeeklyPass {
            earliest_s,
            delay_s: 0.0,
            len_s,
        };
        let both = |len_s| [pass(WEEK_S - 600.0, len_s), pass(0.0, 60.0)];
        assert_eq!(simulated_overlap(&both(601.0), 1, random(1)), 1.0);
        assert_eq!(simulated_overlap(&both(600.0), 1, random(1)), 0.0);
    }
}
