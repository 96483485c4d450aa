//! Maps changes from blocks back to samples: exact position and kind.

use super::decide::{self, Stretch};
use super::grid::{Grid, Line};
use super::point::BreakKind;
use super::scaled::Scaled;

/// Minimum length of a stretch between two changes, in samples or blocks.
pub(super) const SHORTEST: usize = 6;

/// A segmentation in samples.
pub(super) struct Placed {
    /// Index of the first sample of each stretch.
    pub from: Vec<usize>,
    /// The line of each stretch, by ordinary least squares.
    pub lines: Vec<Line>,
    /// What changed between each stretch and the next.
    pub kinds: Vec<BreakKind>,
    /// Uncertainty of each change's position, in blocks; 1 if it can only be a jump.
    pub widths: Vec<usize>,
}

/// Fits worse by less than this, in nats, are considered equally good: other positions of a bend, or a bend
/// instead of a jump.
const AS_GOOD_NATS: f64 = 3.0;

/// Locates each change among the samples.
///
/// It is a bend if one line that bends somewhere in both stretches fits as well as two lines of equal slope
/// with a jump between them; it is then located where that line bends best. Otherwise it is a jump, located
/// where the samples around it best fit the lines on their sides.
pub(super) fn place(
    grid: &Grid,
    stretches: &[Stretch],
    phi: f64,
    scaled: &Scaled,
    per_block: usize,
) -> Placed {
    let mut stretches = stretches.to_vec();
    let (mut kinds, mut widths) = (Vec::new(), Vec::new());
    for change in 1..stretches.len() {
        let (before, after) = (stretches[change - 1], stretches[change]);
        let bend = best_bend(grid, before.from, after.to, phi);
        let jump = grid.jump(before.from, after.from, after.to);
        let mut width = 1;
        if bend.rss <= as_good(jump, after.to - before.from, phi) {
            // Whether it is a jump or a bend is uncertain too.
            width = bend.width.max(bend.at.abs_diff(after.from));
        }
        widths.push(width);
        kinds.push(if (before.sloped || after.sloped) && bend.rss <= jump {
            stretches[change - 1].to = bend.at;
            stretches[change].from = bend.at;
            BreakKind::Slope
        } else {
            BreakKind::Level
        });
    }
    let lines: Vec<Line> = stretches
        .iter()
        .map(|stretch| decide::line_of(grid, stretch, 0.0))
        .collect();
    let mut from = vec![0];
    for (change, kind) in kinds.iter().enumerate() {
        let found = stretches[change + 1].from * per_block;
        from.push(match kind {
            BreakKind::Level => {
                // Two changes cannot pass each other, because stretches have at least six blocks.
                let reach = 2 * per_block;
                let low = found - reach;
                let high = (found + reach).min(scaled.y.len());
                jump(scaled, low, high, &lines[change], &lines[change + 1])
            }
            BreakKind::Slope => found,
        });
    }
    Placed {
        from,
        lines,
        kinds,
        widths,
    }
}

/// Returns the largest residual sum of squares that is as good as the best one, for this many blocks.
fn as_good(rss: f64, blocks: usize, phi: f64) -> f64 {
    // Autocorrelated noise carries less information: the variance of its sums is larger by this factor.
    let memory = (1.0 + phi) / (1.0 - phi).max(1e-3);
    rss + 2.0 * AS_GOOD_NATS * memory * rss / blocks as f64
}

struct Bend {
    at: usize,
    rss: f64,
    /// Number of blocks between the first and the last position that are equally good.
    width: usize,
}

fn best_bend(grid: &Grid, from: usize, to: usize, phi: f64) -> Bend {
    let bends: Vec<(usize, f64)> = (from + SHORTEST..=to - SHORTEST)
        .map(|at| (at, grid.bend(from, at, to)))
        .collect();
    let &(at, rss) = bends
        .iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("two stretches have room for a bend");
    let limit = as_good(rss, to - from, phi);
    let near = || bends.iter().filter(|bend| bend.1 <= limit);
    let width = match (near().next(), near().next_back()) {
        (Some(first), Some(last)) => last.0 - first.0 + 1,
        _ => 1,
    };
    Bend { at, rss, width }
}

/// Returns the first sample that fits the line after the jump better than the one before.
fn jump(scaled: &Scaled, low: usize, high: usize, before: &Line, after: &Line) -> usize {
    let mut best = (low, 0.0);
    let mut cost = 0.0;
    for index in low..high {
        let (x, y) = (scaled.x[index], scaled.y[index]);
        cost += (y - before.at(x)).powi(2) - (y - after.at(x)).powi(2);
        if cost < best.1 {
            best = (index + 1, cost);
        }
    }
    best.0
}
