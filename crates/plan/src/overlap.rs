//! How probable it is that passes overlap.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Weeks that are drawn: a probability is within 0.005 of the true one in all but a few of a million cases.
const DRAWS: usize = 200_000;
/// Fewer draws from 100 starts on: with 10,000 it may be off by 0.05.
const STARTS_MAX: usize = 20_000_000;

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

/// Returns the probability that passes of two hosts overlap. Each host has runs that start at random between two times, in
/// seconds; all passes take `len_s`. Runs of one host do not count as an overlap. Drawn, not computed: hosts' windows
/// differ.
pub fn overlap_of_windows(hosts: &[Vec<(f64, f64)>], len_s: f64, seed: u64) -> f64 {
    let count: usize = hosts.iter().map(Vec::len).sum();
    if count < 2 {
        return 0.0;
    }
    let draws = DRAWS.min(STARTS_MAX / count).max(1);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut starts: Vec<(f64, usize)> = Vec::with_capacity(count);
    let mut met = 0usize;
    for _ in 0..draws {
        starts.clear();
        for (host, runs) in hosts.iter().enumerate() {
            starts.extend(
                runs.iter()
                    .map(|&(earliest, latest)| (earliest + (latest - earliest) * uniform(), host)),
            );
        }
        starts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        met += usize::from(has_overlap(&starts, len_s));
    }
    #[expect(clippy::cast_precision_loss, reason = "at most a million")]
    let share = met as f64 / draws as f64;
    share
}

/// Whether passes of two hosts overlap; starts are in order. Passes have one length, so that neighbours tell: between two
/// starts that are near, of different hosts, the host changes from one start to the next somewhere.
fn has_overlap(starts: &[(f64, usize)], len_s: f64) -> bool {
    starts.windows(2).any(|pair| {
        let ((first, host), (second, other)) = (pair[0], pair[1]);
        host != other && second < first + len_s
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW_S: f64 = 6000.0;

    /// The share of weeks in which at least two passes overlap that start at random within the window.
    fn simulated(lens_s: &[f64], weeks: u32, seed: u64) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut passes: Vec<(f64, f64)> = Vec::new();
        let mut met = 0u32;
        for _ in 0..weeks {
            passes.clear();
            passes.extend(lens_s.iter().map(|&len_s| (WINDOW_S * uniform(), len_s)));
            passes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            // If none overlaps the next one, none overlaps any.
            let overlaps = |pair: &[(f64, f64)]| pair[0].0 + pair[0].1 > pair[1].0;
            met += u32::from(passes.windows(2).any(overlaps));
        }
        f64::from(met) / f64::from(weeks)
    }

    fn assert_close(found: f64, expected: f64, within: f64, what: &str) {
        assert!(
            (found - expected).abs() <= within,
            "{what}: {found} and {expected}"
        );
    }

    /// fstrim.timer has `RandomizedDelaySec=100min`.
    #[test]
    fn three_nodes_of_20_minutes_meet_in_78_of_100_weeks() {
        for (minutes, expected) in [(10.0, 0.488), (20.0, 0.784), (30.0, 0.936)] {
            let found = overlap_probability(&[minutes * 60.0; 3], WINDOW_S);
            assert_close(found, expected, 1e-3, &format!("{minutes} min"));
        }
    }

    #[test]
    fn one_node_meets_nobody_and_one_moment_is_always_the_same() {
        for (lens_s, window_s, expected) in [
            (&[600.0][..], WINDOW_S, 0.0),
            (&[], WINDOW_S, 0.0),
            (&[1.0, 1.0], 0.0, 1.0),
            // They fill more than the window.
            (&[3000.0; 4], WINDOW_S, 1.0),
        ] {
            let found = overlap_probability(lens_s, window_s);
            assert_close(found, expected, 0.0, &format!("{lens_s:?}"));
        }
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
            let found = overlap_probability(lens_s, WINDOW_S);
            let shown = simulated(lens_s, 1_000_000, 7);
            assert_close(found, shown, 0.002, &format!("{} nodes", lens_s.len()));
        }
    }

    #[test]
    fn drawn_windows_agree_with_the_formula_and_with_what_is_certain() {
        for count in [2usize, 3, 10] {
            let hosts = vec![vec![(0.0, WINDOW_S)]; count];
            let expected = overlap_probability(&vec![600.0; count], WINDOW_S);
            let drawn = overlap_of_windows(&hosts, 600.0, 1);
            assert_close(drawn, expected, 0.005, &format!("{count} hosts"));
        }
        let exact = |starts: &[f64]| {
            let hosts: Vec<Vec<(f64, f64)>> =
                starts.iter().map(|&start| vec![(start, start)]).collect();
            overlap_of_windows(&hosts, 600.0, 1)
        };
        for (starts, expected) in [
            (&[0.0, 599.0][..], 1.0),
            (&[0.0, 600.0], 0.0),
            (&[5.0], 0.0),
            (&[], 0.0),
        ] {
            assert_close(exact(starts), expected, 0.0, &format!("{starts:?}"));
        }
        // Two runs of one host, and another between them that is near to the first.
        let one = vec![vec![(0.0, 0.0), (100.0, 100.0)]];
        assert_close(overlap_of_windows(&one, 600.0, 1), 0.0, 0.0, "one host");
        let two = vec![one[0].clone(), vec![(650.0, 650.0)]];
        assert_close(
            overlap_of_windows(&two, 600.0, 1),
            1.0,
            0.0,
            "the second run",
        );
    }
}
