//! A curve in blocks of samples, with prefix sums from which any stretch is fitted in constant time.

/// Maximum number of blocks; in longer series neighbouring samples are averaged.
pub(super) const BLOCKS_MAX: usize = 1 << 14;

/// Differences below this fraction of their minuend are treated as rounding errors.
const ROUNDING: f64 = 1e-9;

/// The same for absolute differences of x, which ranges from -1 to 1 and is summed over thousands of
/// blocks.
const ROUNDING_X: f64 = 1e-11;

/// Sums over all blocks before a position.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    /// Products with the previous block: `x[t] x[t-1]`.
    xx_lag: f64,
    /// `x[t] y[t-1] + x[t-1] y[t]`.
    xy_lag: f64,
    /// `y[t] y[t-1]`.
    yy_lag: f64,
}

/// Blocks of equally many samples, except for the last one.
#[derive(Debug)]
pub(super) struct Grid {
    /// Mean time of each block, scaled so that the series spans -1 to 1.
    pub x: Vec<f64>,
    /// Mean value of each block.
    pub y: Vec<f64>,
    sums: Vec<Sums>,
}

/// Count, means, and sums of squares and products about the means.
struct Moments {
    n: f64,
    x_mean: f64,
    y_mean: f64,
    x_x: f64,
    x_y: f64,
    y_y: f64,
}

/// A line fitted to a stretch, with its residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    /// Value at x = 0.
    pub intercept: f64,
    /// Change per unit of x.
    pub slope: f64,
    /// Sum of squares of the residual innovations.
    pub rss: f64,
}

impl Line {
    /// Returns the value of the line.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

impl Grid {
    /// Averages every `per_block` samples. A last block of less than half that size is merged into the one
    /// before.
    pub fn new(x: &[f64], y: &[f64], per_block: usize) -> Self {
        if per_block == 1 {
            return Self::of(x.to_vec(), y.to_vec());
        }
        let blocks = ((x.len() + per_block / 2) / per_block).max(1);
        let starts: Vec<usize> = (0..blocks).map(|block| block * per_block).collect();
        Self::averaged(x, y, &starts)
    }

    /// Averages the samples from each start up to the next; the last block extends to the end.
    pub fn averaged(x: &[f64], y: &[f64], starts: &[usize]) -> Self {
        let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
        let ends = starts.iter().skip(1).copied().chain([x.len()]);
        let (x, y) = starts
            .iter()
            .zip(ends)
            .map(|(&from, to)| (mean(&x[from..to]), mean(&y[from..to])))
            .unzip();
        Self::of(x, y)
    }

    /// Creates a grid with a block per sample.
    pub fn of(x: Vec<f64>, y: Vec<f64>) -> Self {
        let sums = prefix_sums(&x, &y);
        Self { x, y, sums }
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Fits the best level and the best line to blocks `from` up to but excluding `to`, with residuals that
    /// follow an AR(1) process of coefficient `phi`: generalised least squares after Prais and Winsten
    /// (1954). Each stretch starts afresh, independent of what precedes it.
    ///
    /// At `phi` = 1 only differences count, and a level explains nothing.
    pub fn fit(&self, from: usize, to: usize, phi: f64) -> (Line, Line) {
        let first = 1.0 - phi * phi;
        let (x0, y0) = (self.x[from], self.y[from]);
        // Sums over t in from+1..to, of values at t (now) and at t-1 (then).
        let (a, b) = (&self.sums[from + 1], &self.sums[to]);
        let (c, d) = (&self.sums[from], &self.sums[to - 1]);
        let differenced = |now: f64, then: f64| now - phi * then;
        let squared = |now: f64, lag: f64, then: f64| now - phi * lag + phi * phi * then;
        let sx = differenced(b.x - a.x, d.x - c.x);
        let sy = differenced(b.y - a.y, d.y - c.y);
        let x_x = squared(b.xx - a.xx, 2.0 * (b.xx_lag - a.xx_lag), d.xx - c.xx) + first * x0 * x0;
        let x_y = squared(b.xy - a.xy, b.xy_lag - a.xy_lag, d.xy - c.xy) + first * x0 * y0;
        let y_y = squared(b.yy - a.yy, 2.0 * (b.yy_lag - a.yy_lag), d.yy - c.yy) + first * y0 * y0;
        let kept = 1.0 - phi;
        let one_one = kept * kept * (to - from - 1) as f64 + first;
        let one_x = kept * sx + first * x0;
        let one_y = kept * sy + first * y0;

        let no_level = one_one < ROUNDING;
        let share = |sum: f64| if no_level { 0.0 } else { sum / one_one };
        let level = Line {
            intercept: share(one_y),
            slope: 0.0,
            rss: (y_y - one_y * share(one_y)).max(0.0),
        };
        let spread = x_x - one_x * share(one_x);
        if spread <= ROUNDING_X.max(ROUNDING * x_x) {
            return (level, level);
        }
        let together = x_y - one_x * share(one_y);
        let slope = together / spread;
        let line = Line {
            intercept: share(one_y) - slope * share(one_x),
            slope,
            rss: (level.rss - slope * together).max(0.0),
        };
        (level, line)
    }

    /// Returns the residual sums of squares of a level and of a line by ordinary least squares:
    /// [`Grid::fit`] at `phi` = 0, but cheaper.
    pub fn fit_plain(&self, from: usize, to: usize) -> (f64, f64) {
        let (a, b) = (&self.sums[from], &self.sums[to]);
        let weight = 1.0 / (to - from) as f64;
        let (sx, sy) = (b.x - a.x, b.y - a.y);
        let x_x_raw = b.xx - a.xx;
        let x_x = x_x_raw - sx * sx * weight;
        let x_y = b.xy - a.xy - sx * sy * weight;
        let y_y = (b.yy - a.yy - sy * sy * weight).max(0.0);
        if x_x <= ROUNDING_X.max(ROUNDING * x_x_raw) {
            return (y_y, y_y);
        }
        (y_y, (y_y - x_y * x_y / x_x).max(0.0))
    }

    /// Returns the residual sum of squares of two levels with a common slope, by ordinary least squares: a
    /// jump at `at`.
    pub fn jump(&self, from: usize, at: usize, to: usize) -> f64 {
        let (left, right) = (self.moments(from, at), self.moments(at, to));
        let x_x = left.x_x + right.x_x;
        let x_y = left.x_y + right.x_y;
        let explained = if x_x > ROUNDING_X {
            x_y * x_y / x_x
        } else {
            0.0
        };
        left.y_y + right.y_y - explained
    }

    /// Returns the residual sum of squares of a line that bends at `at`, likewise.
    pub fn bend(&self, from: usize, at: usize, to: usize) -> f64 {
        let (whole, right) = (self.moments(from, to), self.moments(at, to));
        // The third regressor: 0 before the bend, and the distance from it after.
        let bend = self.x[at];
        let distance = right.x_mean - bend;
        let share = right.n / whole.n;
        let mean = distance * share;
        let h_h = right.x_x + right.n * distance * distance - whole.n * mean * mean;
        let h_x = right.x_x + right.n * distance * (right.x_mean - whole.x_mean);
        let h_y = right.x_y + right.n * distance * (right.y_mean - whole.y_mean);
        if whole.x_x <= ROUNDING_X {
            return whole.y_y;
        }
        let straight = whole.y_y - whole.x_y * whole.x_y / whole.x_x;
        let own = h_h - h_x * h_x / whole.x_x;
        if own <= ROUNDING_X.max(ROUNDING * h_h) {
            return straight;
        }
        let left_over = h_y - h_x * whole.x_y / whole.x_x;
        straight - left_over * left_over / own
    }

    fn moments(&self, from: usize, to: usize) -> Moments {
        let (a, b) = (&self.sums[from], &self.sums[to]);
        let n = (to - from) as f64;
        let (x_mean, y_mean) = ((b.x - a.x) / n, (b.y - a.y) / n);
        Moments {
            n,
            x_mean,
            y_mean,
            x_x: (b.xx - a.xx - n * x_mean * x_mean).max(0.0),
            x_y: b.xy - a.xy - n * x_mean * y_mean,
            y_y: (b.yy - a.yy - n * y_mean * y_mean).max(0.0),
        }
    }
}

fn prefix_sums(x: &[f64], y: &[f64]) -> Vec<Sums> {
    let mut sums = Vec::with_capacity(x.len() + 1);
    let mut so_far = Sums::default();
    sums.push(so_far);
    for index in 0..x.len() {
        let (now_x, now_y) = (x[index], y[index]);
        so_far.x += now_x;
        so_far.y += now_y;
        so_far.xx += now_x * now_x;
        so_far.xy += now_x * now_y;
        so_far.yy += now_y * now_y;
        if index > 0 {
            let (then_x, then_y) = (x[index - 1], y[index - 1]);
            so_far.xx_lag += now_x * then_x;
            so_far.xy_lag += now_x * then_y + then_x * now_y;
            so_far.yy_lag += now_y * then_y;
        }
        sums.push(so_far);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fits `y` to the given columns by least squares, with normal equations for at most two.
    fn least_squares(rows: &[(f64, f64, f64)], with_slope: bool) -> f64 {
        let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| rows.iter().map(f).sum::<f64>();
        let (aa, ay) = (sum(&|r| r.0 * r.0), sum(&|r| r.0 * r.2));
        if !with_slope {
            let level = ay / aa;
            return sum(&|r| (r.2 - level * r.0).powi(2));
        }
        let (ab, bb, by) = (
            sum(&|r| r.0 * r.1),
            sum(&|r| r.1 * r.1),
            sum(&|r| r.1 * r.2),
        );
        let det = aa * bb - ab * ab;
        let level = (ay * bb - by * ab) / det;
        let slope = (by * aa - ay * ab) / det;
        sum(&|r| (r.2 - level * r.0 - slope * r.1).powi(2))
    }

    proptest! {
        #[test]
        fn prefix_sums_fit_like_direct_least_squares(
            y in prop::collection::vec(-5.0..5.0f64, 12..40),
            phi in 0.0..0.95f64,
            from in 0usize..4,
        ) {
            let x: Vec<f64> = (0..y.len())
                .map(|i| (i as f64 + 0.3 * (i % 3) as f64) / y.len() as f64)
                .collect();
            let grid = Grid::new(&x, &y, 1);
            let to = y.len() - 2;
            let mut rows = vec![];
            let first = (1.0 - phi * phi).sqrt();
            rows.push((first, first * x[from], first * y[from]));
            for t in from + 1..to {
                rows.push((1.0 - phi, x[t] - phi * x[t - 1], y[t] - phi * y[t - 1]));
            }
            let (level, line) = grid.fit(from, to, phi);
            prop_assert!((level.rss - least_squares(&rows, false)).abs() < 1e-6);
            prop_assert!((line.rss - least_squares(&rows, true)).abs() < 1e-6);
            let at = usize::midpoint(from, to);
            let residual = |column: &dyn Fn(usize) -> f64| {
                // By projection: what the column adds to a level and a line.
                let project = |value: &dyn Fn(usize) -> f64| {
                    let values: Vec<f64> = (from..to).map(value).collect();
                    let part = Grid::new(&x[from..to], &values, 1);
                    let line = part.fit(0, to - from, 0.0).1;
                    (from..to).map(|t| values[t - from] - line.at(x[t])).collect::<Vec<f64>>()
                };
                let (h, r) = (project(column), project(&|t| y[t]));
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                dot(&r, &r) - dot(&h, &r).powi(2) / dot(&h, &h)
            };
            let jump = residual(&|t| f64::from(u8::from(t >= at)));
            prop_assert!((grid.jump(from, at, to) - jump).abs() < 1e-6);
            let bend = residual(&|t| (x[t] - x[at]).max(0.0));
            prop_assert!((grid.bend(from, at, to) - bend).abs() < 1e-6);
            let (plain_level, plain_line) = grid.fit_plain(from, to);
            let (level, line) = grid.fit(from, to, 0.0);
            prop_assert!((plain_level - level.rss).abs() < 1e-6);
            prop_assert!((plain_line - line.rss).abs() < 1e-6);
        }
    }

    #[test]
    fn blocks_hold_all_samples() {
        let y: Vec<f64> = (0..23).map(f64::from).collect();
        let grid = Grid::new(&y, &y, 4);
        assert_eq!(grid.y, [1.5, 5.5, 9.5, 13.5, 17.5, 21.0]);
        assert_eq!(Grid::new(&y[..21], &y[..21], 4).y.last(), Some(&18.0));
    }

    #[test]
    fn at_a_unit_root_levels_explain_nothing() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 3.0 * x + 100.0).collect();
        let (level, line) = Grid::new(&x, &y, 1).fit(0, 10, 1.0);
        assert!((level.rss - 9.0 * 9.0).abs() < 1e-9);
        assert!(line.rss < 1e-9 && (line.slope - 3.0).abs() < 1e-9);
    }
}
