//! Selects changes among the proposed positions: exact dynamic programming in AR(1) noise.

use super::grid::{Grid, Line};

/// Cost of a change beyond its position (ln n) and its level (half of that), in nats. Separate levels lower
/// both the residual variance and its autocorrelation, so random walks benefit from them. Determined by
/// simulation: `crates/explain/examples/changes.rs`, docs/explain-bench.md.
const CHANGE_NATS: f64 = 1.0;

/// Cost of a slope beyond half of ln n, determined likewise.
const SLOPE_NATS: f64 = 3.0;

/// AR(1) coefficients at which the search starts.
const PHI_STARTS: [f64; 9] = [0.0, 0.25, 0.5, 0.7, 0.82, 0.9, 0.95, 0.98, 1.0];

/// Number of variances at which it starts for each, between that without changes and that with a change at
/// every position.
const VARIANCE_STARTS: usize = 4;

/// Maximum number of steps of a descent. Each step lowers the criterion, so it terminates anyway.
const DESCENT_MAX: usize = 8;

/// A stretch without changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    /// First block.
    pub from: usize,
    /// The block after the last.
    pub to: usize,
    /// Whether it is a line with its own slope rather than a level.
    pub sloped: bool,
}

/// A segmentation of the whole series, with its noise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cut {
    /// Consecutive stretches.
    pub stretches: Vec<Stretch>,
    /// Coefficient of AR(1).
    pub phi: f64,
    /// Half of n times the logarithm of the innovations' variance, plus the cost of the stretches.
    pub criterion: f64,
}

/// Costs of the parts of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Penalties {
    blocks: f64,
    /// Added to the residual sum of squares, for rounding of the samples.
    floor: f64,
}

impl Penalties {
    /// `floor_variance`: the minimum variance of each block.
    pub fn new(grid: &Grid, floor_variance: f64) -> Self {
        let blocks = grid.len() as f64;
        Self {
            blocks,
            floor: blocks * floor_variance.max(1e-12),
        }
    }

    /// Cost of a change of level.
    pub fn change(self) -> f64 {
        1.5 * self.blocks.ln() + CHANGE_NATS
    }

    /// Cost of a slope.
    pub fn slope(self) -> f64 {
        0.5 * self.blocks.ln() + SLOPE_NATS
    }

    /// Cost of a segmentation.
    pub fn of(self, stretches: &[Stretch]) -> f64 {
        let sloped = stretches.iter().filter(|stretch| stretch.sloped).count();
        self.change() * (stretches.len() - 1) as f64 + self.slope() * sloped as f64
    }

    /// Negative log-likelihood, up to a constant.
    pub fn misfit(self, rss: f64) -> f64 {
        0.5 * self.blocks * ((rss + self.floor) / self.blocks).ln()
    }

    fn variance(self, rss: f64) -> f64 {
        (rss + self.floor) / self.blocks
    }
}

/// Fits of all stretches between two positions, for one phi.
struct Fits {
    /// Positions, including both ends of the series.
    ends: Vec<usize>,
    /// Residual sums of squares of a level and of a line between ends i < j, at `j (j-1) / 2 + i`.
    rss: Vec<(f64, f64)>,
}

impl Fits {
    fn new(grid: &Grid, ends: &[usize], shortest: usize, phi: f64) -> Self {
        let mut rss = Vec::with_capacity(ends.len() * (ends.len() - 1) / 2);
        for (index, &to) in ends.iter().enumerate() {
            for &from in &ends[..index] {
                rss.push(if to - from < shortest {
                    (f64::INFINITY, f64::INFINITY)
                } else {
                    let (level, line) = grid.fit(from, to, phi);
                    (level.rss, line.rss)
                });
            }
        }
        Self {
            ends: ends.to_vec(),
            rss,
        }
    }

    fn between(&self, i: usize, j: usize) -> (f64, f64) {
        self.rss[j * (j - 1) / 2 + i]
    }

    /// Returns the segmentation of least cost for a given innovation variance, and its residual sum of
    /// squares.
    fn cheapest(&self, penalties: Penalties, variance: f64) -> (Vec<Stretch>, f64) {
        let by_nats = 0.5 / variance;
        let (change, slope) = (penalties.change(), penalties.slope());
        let mut least = vec![(0.0, 0, false); self.ends.len()];
        for j in 1..self.ends.len() {
            let mut best = (f64::INFINITY, 0, false);
            for (i, before) in least.iter().enumerate().take(j) {
                let (level, line) = self.between(i, j);
                let (level, line) = (level * by_nats, line * by_nats + slope);
                let cost = before.0 + level.min(line);
                if cost < best.0 {
                    best = (cost, i, line < level);
                }
            }
            best.0 += change;
            least[j] = best;
        }
        let mut stretches = Vec::new();
        let mut rss = 0.0;
        let mut j = self.ends.len() - 1;
        while j > 0 {
            let (_, i, sloped) = least[j];
            let (level, line) = self.between(i, j);
            rss += if sloped { line } else { level };
            stretches.push(Stretch {
                from: self.ends[i],
                to: self.ends[j],
                sloped,
            });
            j = i;
        }
        stretches.reverse();
        (stretches, rss)
    }
}

/// Fits the line of a stretch.
pub(super) fn line_of(grid: &Grid, stretch: &Stretch, phi: f64) -> Line {
    let (level, line) = grid.fit(stretch.from, stretch.to, phi);
    if stretch.sloped { line } else { level }
}

/// Returns the best AR(1) coefficient for a given segmentation, and its residual sum of squares.
pub(super) fn best_phi(grid: &Grid, stretches: &[Stretch]) -> (f64, f64) {
    minimise(|phi| rss_of(grid, stretches, phi))
}

/// Minimises a function on 0 to 1: a coarse scan, then golden-section search.
fn minimise(f: impl Fn(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    const LOOKS: u32 = 12;
    let mut best = (0, f64::INFINITY);
    for look in 0..=LOOKS {
        let value = f(f64::from(look) / f64::from(LOOKS));
        if value < best.1 {
            best = (look, value);
        }
    }
    let mut low = f64::from(best.0.saturating_sub(1)) / f64::from(LOOKS);
    let mut high = f64::from((best.0 + 1).min(LOOKS)) / f64::from(LOOKS);
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > 1e-5 {
        if at_left < at_right {
            high = right;
            (right, at_right) = (left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = f(left);
        } else {
            low = left;
            (left, at_left) = (right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = f(right);
        }
    }
    let (phi, value) = if at_left < at_right {
        (left, at_left)
    } else {
        (right, at_right)
    };
    // The ends are special: at 1 a level explains nothing.
    let end = f64::from(best.0) / f64::from(LOOKS);
    if best.1 < value {
        (end, best.1)
    } else {
        (phi, value)
    }
}

/// Returns the segmentation that minimises n/2 ln(variance of the innovations) plus the cost of the
/// stretches, over all subsets of the positions and all AR(1) coefficients from 0 to 1.
///
/// The penalty is that of the gappy Schwarz criterion of Cho and Fryzlewicz (2024), with ln n for a
/// position; the autocorrelation is fitted together with the changes, as in Chakar, Lebarbier, Lévy-Leduc
/// and Robin (2017). For given phi and variance the dynamic program is exact. A minimum of the whole
/// criterion also minimises the program at its own variance (because the logarithm is concave), so descents
/// from several variances and coefficients find it.
pub(super) fn cut(grid: &Grid, places: &[usize], shortest: usize, penalties: Penalties) -> Cut {
    let mut ends = vec![0];
    ends.extend(places);
    ends.push(grid.len());
    ends.dedup();
    let whole = Stretch {
        from: 0,
        to: grid.len(),
        sloped: false,
    };
    let mut best = evaluate(grid, vec![whole], penalties);
    let mut offer = |cut: Cut| {
        if cut.criterion < best.criterion {
            best = cut;
        }
    };
    offer(evaluate(
        grid,
        vec![Stretch {
            sloped: true,
            ..whole
        }],
        penalties,
    ));
    for phi in PHI_STARTS {
        let fits = Fits::new(grid, &ends, shortest, phi);
        let none = penalties.variance(fits.between(0, ends.len() - 1).0);
        let all = penalties.variance(
            fits.cheapest(penalties, penalties.floor / penalties.blocks)
                .1,
        );
        let mut seen: Vec<Vec<Stretch>> = Vec::new();
        for start in 0..VARIANCE_STARTS {
            let share = f64::from(u32::try_from(start).unwrap_or(0)) / (VARIANCE_STARTS - 1) as f64;
            let mut variance = all * (none / all).powf(share);
            for _ in 0..DESCENT_MAX {
                let (stretches, rss) = fits.cheapest(penalties, variance);
                variance = penalties.variance(rss);
                if seen.contains(&stretches) {
                    break;
                }
                seen.push(stretches);
            }
        }
        for stretches in seen {
            offer(evaluate(grid, stretches, penalties));
        }
    }
    // Once more with the coefficient that was found.
    for _ in 0..DESCENT_MAX {
        let fits = Fits::new(grid, &ends, shortest, best.phi);
        let rss = rss_of(grid, &best.stretches, best.phi);
        let (stretches, _) = fits.cheapest(penalties, penalties.variance(rss));
        let next = evaluate(grid, stretches, penalties);
        if next.criterion >= best.criterion {
            break;
        }
        best = next;
    }
    best
}

/// Moves changes to where they fit best between their neighbours: a proposed position comes from an
/// interval that may contain two changes.
pub(super) fn refine_positions(
    grid: &Grid,
    mut cut: Cut,
    shortest: usize,
    penalties: Penalties,
) -> Cut {
    for _ in 0..DESCENT_MAX {
        let next = evaluate(grid, moved(grid, &cut, shortest), penalties);
        if next.criterion >= cut.criterion {
            break;
        }
        cut = next;
    }
    cut
}

fn rss_of(grid: &Grid, stretches: &[Stretch], phi: f64) -> f64 {
    stretches
        .iter()
        .map(|stretch| line_of(grid, stretch, phi).rss)
        .sum()
}

/// Moves each change to where the residual is smallest, with its neighbours fixed.
fn moved(grid: &Grid, cut: &Cut, shortest: usize) -> Vec<Stretch> {
    let mut stretches = cut.stretches.clone();
    for change in 1..stretches.len() {
        let (before, after) = (stretches[change - 1], stretches[change]);
        let rss = |at: usize| {
            line_of(grid, &Stretch { to: at, ..before }, cut.phi).rss
                + line_of(grid, &Stretch { from: at, ..after }, cut.phi).rss
        };
        let mut best = (after.from, rss(after.from));
        for at in before.from + shortest..=after.to.saturating_sub(shortest) {
            let rss = rss(at);
            if rss < best.1 {
                best = (at, rss);
            }
        }
        stretches[change - 1].to = best.0;
        stretches[change].from = best.0;
    }
    stretches
}

/// Evaluates a segmentation with its best AR(1) coefficient.
pub(super) fn evaluate(grid: &Grid, stretches: Vec<Stretch>, penalties: Penalties) -> Cut {
    let (phi, rss) = best_phi(grid, &stretches);
    Cut {
        criterion: penalties.misfit(rss) + penalties.of(&stretches),
        stretches,
        phi,
    }
}
