//! Proposes candidate positions for changes: seeded binary segmentation.

use super::grid::Grid;

/// Length of the shortest interval.
const SHORTEST: usize = 12;

/// Maximum number of positions proposed by each of the two searches.
const PLACES_MAX: usize = 90;

/// The best split of an interval.
#[derive(Debug, Clone, Copy)]
struct Split {
    from: usize,
    to: usize,
    at: usize,
    gain: f64,
}

/// Returns candidate positions for changes in ascending order: `at` is the first block after the change.
///
/// The intervals are those of Kovács, Bühlmann, Li and Munk (2023): lengths that grow by the square root of
/// two, each shifted by half its length, so that their total is near-linear in the number of blocks. They
/// begin at fixed positions, so that an additional sample does not move any. Each interval is split into
/// two levels and, separately, into two lines; splits are accepted greedily, best first, and intervals that
/// contain an accepted position are discarded.
pub(super) fn places(grid: &Grid, shortest_segment: usize) -> Vec<usize> {
    let (mut levels, mut lines) = (Vec::new(), Vec::new());
    for (from, to) in intervals(grid.len()) {
        let (level, line) = best_splits(grid, from, to, shortest_segment);
        levels.extend(level);
        lines.extend(line);
    }
    let mut places = greedy(levels);
    places.append(&mut greedy(lines));
    places.sort_unstable();
    places.dedup();
    places
}

fn intervals(len: usize) -> Vec<(usize, usize)> {
    let mut intervals = Vec::new();
    let mut exact = SHORTEST as f64;
    loop {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rounded, at most len
        let length = exact.round() as usize;
        let shift = length / 2;
        let mut from = 0;
        loop {
            let to = (from + length).min(len);
            if to >= from + SHORTEST {
                intervals.push((from, to));
            }
            if to == len {
                break;
            }
            from += shift;
        }
        if length >= len {
            return intervals;
        }
        exact *= std::f64::consts::SQRT_2;
    }
}

fn best_splits(
    grid: &Grid,
    from: usize,
    to: usize,
    shortest_segment: usize,
) -> (Option<Split>, Option<Split>) {
    let (whole_level, whole_line) = grid.fit_plain(from, to);
    let (mut level, mut line): (Option<Split>, Option<Split>) = (None, None);
    let offer = |best: &mut Option<Split>, at: usize, gain: f64| {
        if gain > best.map_or(0.0, |best| best.gain) {
            *best = Some(Split { from, to, at, gain });
        }
    };
    for at in from + shortest_segment..=to.saturating_sub(shortest_segment) {
        let (left_level, left_line) = grid.fit_plain(from, at);
        let (right_level, right_line) = grid.fit_plain(at, to);
        offer(&mut level, at, whole_level - left_level - right_level);
        offer(&mut line, at, whole_line - left_line - right_line);
    }
    (level, line)
}

fn greedy(mut splits: Vec<Split>) -> Vec<usize> {
    splits.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.at.cmp(&b.at)));
    let mut places: Vec<usize> = Vec::new();
    for split in splits {
        if places.len() == PLACES_MAX {
            break;
        }
        if !places
            .iter()
            .any(|place| split.from < *place && *place < split.to)
        {
            places.push(split.at);
        }
    }
    places
}
