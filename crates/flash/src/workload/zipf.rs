//! Zipf's distribution, sampled exactly in constant time, and pages for its ranks.

use crate::random::Random;

/// Zipf's distribution: ranks 1 to n, rank k with a probability proportional to `k^-exponent`.
///
/// Rejection sampling from a step function: ranks are grouped into bins whose ends differ by a 64th
/// (below rank 128 each bin is one rank). A bin is drawn by the alias method (Walker 1977, Vose
/// 1991) as if all of its ranks were as likely as its first, and a rank in it is accepted with its
/// weight relative to the first. So the result is exact for any binning. With an exponent of 1,
/// fewer than one draw in 100 needs the exact weight; the tables, with at most 1800 bins, stay in
/// the cache along with those of a drive.
#[derive(Debug, Clone)]
pub struct Zipf {
    exponent: f64,
    bins: Vec<Bin>,
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    /// Of 2^64 draws of this bin, how many are its own; the others belong to the alias.
    own: u64,
    alias: u32,
    first: u32,
    ranks: u32,
    /// Of 2^64 draws of a rank, how many are accepted without computing its weight: the weight of
    /// the bin's last rank relative to its first.
    sure: u64,
}

impl Zipf {
    /// Creates the distribution over ranks 1 to `ranks` (above 0), with an exponent of 0 (uniform)
    /// to 30.
    ///
    /// # Panics
    /// If `ranks` is 0 or the exponent out of range.
    pub fn new(ranks: u32, exponent: f64) -> Self {
        assert!(ranks > 0 && (0.0..=30.0).contains(&exponent));
        let mut bins = Vec::new();
        let mut areas = Vec::new();
        let mut first = 1;
        loop {
            let count = (first / 64).max(1).min(ranks - first + 1);
            let last = f64::from(first + (count - 1));
            bins.push(Bin {
                own: u64::MAX,
                alias: 0,
                first,
                ranks: count,
                sure: of_2_64((last / f64::from(first)).powf(-exponent)),
            });
            areas.push(f64::from(count) * f64::from(first).powf(-exponent));
            if ranks - first < count {
                break;
            }
            first += count;
        }
        let mut zipf = Self { exponent, bins };
        zipf.build_alias_table(areas);
        zipf
    }

    /// Builds Vose's alias table: bins below their share are filled up from bins above it.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // at most 1800
    fn build_alias_table(&mut self, mut areas: Vec<f64>) {
        // Sum from the smallest up, to limit rounding errors.
        let mean = areas.iter().rev().sum::<f64>() / areas.len() as f64;
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..areas.len()).partition(|&bin| areas[bin] < mean);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            self.bins[poor].own = of_2_64(areas[poor] / mean);
            self.bins[poor].alias = rich as u32;
            areas[rich] -= mean - areas[poor];
            if areas[rich] < mean {
                large.pop();
                small.push(rich);
            }
        }
        // The remaining bins have exactly their share, except for rounding.
        for bin in small.into_iter().chain(large) {
            self.bins[bin].own = u64::MAX;
            self.bins[bin].alias = bin as u32;
        }
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        loop {
            #[allow(clippy::cast_possible_truncation)] // at most 1800
            let (index, rest) = split(random.bits(), self.bins.len() as u32);
            let mut bin = &self.bins[index as usize];
            if rest > bin.own {
                bin = &self.bins[bin.alias as usize];
            }
            if bin.ranks == 1 {
                return bin.first;
            }
            let (place, rest) = split(random.bits(), bin.ranks);
            let rank = bin.first + place;
            if rest < bin.sure || rest < self.weight(rank, bin.first) {
                return rank;
            }
        }
    }

    /// A rank's weight relative to the first of its bin, scaled to 2^64.
    #[cold]
    fn weight(&self, rank: u32, first: u32) -> u64 {
        of_2_64((f64::from(rank) / f64::from(first)).powf(-self.exponent))
    }
}

/// Maps ranks to pages so that frequent pages are scattered.
#[derive(Debug, Clone)]
pub struct Scattered {
    pages: u64,
    step: u64,
}

impl Scattered {
    /// Creates the mapping for a number of pages (above 0).
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share of a u32
    pub fn new(pages: u32) -> Self {
        let pages = u64::from(pages);
        // Golden-section steps that are coprime to the number of pages visit each page once.
        let mut step = ((pages as f64 * 0.618_033_988_749_894_9) as u64).max(1);
        while divisor(step, pages) > 1 {
            step += 1;
        }
        Self { pages, step }
    }

    /// The page of a rank (from 0, below the number of pages); different ranks have different
    /// pages.
    #[allow(clippy::cast_possible_truncation)] // below the number of pages
    #[inline]
    pub fn page(&self, rank: u32) -> u32 {
        (u64::from(rank) * self.step % self.pages) as u32
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Splits random bits into a number below `bound` and a fraction scaled to 2^64.
#[inline]
#[allow(clippy::cast_possible_truncation)] // both halves of a product
fn split(bits: u64, bound: u32) -> (u32, u64) {
    let product = u128::from(bits) * u128::from(bound);
    ((product >> 64) as u32, product as u64)
}

/// A share scaled to 2^64, saturating from 1 on.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn of_2_64(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}
