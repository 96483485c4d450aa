//! Zipf's distribution, exactly and in constant time.

use crate::random::Random;

/// Ranks 1 to n, rank k with a probability in proportion to `k^-exponent`.
///
/// Rejection from a staircase: ranks are put into bins whose ends differ by a 64th (below rank 128 each is a bin
/// of its own); a bin is drawn by the alias method (Walker 1977, Vose 1991) as if all of its ranks were
/// as likely as its first, and a rank in it is accepted with its own weight by that of the first. So
/// what comes out is exact, whatever the bins. At an exponent of 1 hardly one draw in 100 is looked at twice;
/// the tables, of at most 1800 bins, stay in the cache beside a drive's own.
#[derive(Debug, Clone)]
pub struct Zipf {
    exponent: f64,
    bins: Vec<Bin>,
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    /// Of 2^64 draws of this bin so many are its own; the others are the alias's.
    own: u64,
    alias: u32,
    first: u32,
    ranks: u32,
    /// Of 2^64 draws of a rank so many are accepted unseen: the weight of the last rank by the first's.
    sure: u64,
}

impl Zipf {
    /// Ranks 1 to `ranks` (above 0), with an exponent of 0 (uniform) to 30.
    ///
    /// # Panics
    /// Without ranks; with another exponent.
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
        zipf.share_out(areas);
        zipf
    }

    /// Vose's alias table: bins with less than their share get the rest from one with more.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // at most 1800
    fn share_out(&mut self, mut areas: Vec<f64>) {
        // From the small ones up, so that nothing is lost.
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
        // What is left has its share but for the last digits.
        for bin in small.into_iter().chain(large) {
            self.bins[bin].own = u64::MAX;
            self.bins[bin].alias = bin as u32;
        }
    }

    /// A rank.
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

    /// Of 2^64: a rank's weight by that of the first in its bin.
    #[cold]
    fn weight(&self, rank: u32, first: u32) -> u64 {
        of_2_64((f64::from(rank) / f64::from(first)).powf(-self.exponent))
    }
}

/// A number below `bound`, and how far on its way to the next it is, of 2^64.
#[inline]
#[allow(clippy::cast_possible_truncation)] // both halves of a product
fn split(bits: u64, bound: u32) -> (u32, u64) {
    let product = u128::from(bits) * u128::from(bound);
    ((product >> 64) as u32, product as u64)
}

/// A share of 2^64; all of it from 1 on.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn of_2_64(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}
