//! Red noise: a first-order autoregressive model, fitted, removed and simulated.
//!
//! x(i) = phi^g x(i-g) + e, where g is the distance to the previous filled bin, in bins. Regression in this
//! noise follows Cochrane and Orcutt (1949). Its bootstrap resamples blocks of innovations (Künsch 1989),
//! which preserves heavy tails and any remaining dependence.

use crate::numbers::count_f64;
use crate::statistics::{mean, robust_scale, scale_of_ties};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Maximum autocorrelation; 1 is a random walk.
const PHI_MAX: f64 = 1.0;
const PHI_MIN: f64 = -0.5;
/// Iterations of the regression; phi hardly changes after the second.
const ROUNDS: usize = 4;
/// Minimum length of the blocks of innovations that are resampled together.
const BLOCK_MIN: usize = 12;

/// A regression in red noise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    /// One per regressor, the constant last.
    pub coefficients: Vec<f64>,
    /// Autocorrelation of the noise at a lag of one bin.
    pub phi: f64,
    /// Variance of the innovations over one bin.
    pub variance: f64,
    /// Log-likelihood, without constants.
    pub log_likelihood: f64,
}

/// The noise of a series under the null hypothesis that nothing recurs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Null {
    /// Autocorrelation at lag one, bias-corrected.
    pub phi: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of the innovations.
    pub sigma: f64,
}

impl Null {
    /// Fits the noise model. `None` if the values do not vary or are too few.
    pub fn fit(index: &[i64], values: &[f64], scratch: &mut Vec<f64>) -> Option<Self> {
        if values.len() < 8 {
            return None;
        }
        let mean = mean(values);
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let phi = autocorrelation(index, &centred, true);
        whiten(index, &centred, phi, scratch);
        // Half of whole numbers may be equal. What whitening leaves of those differs by next to nothing, and is no scale.
        let robust = robust_scale(&scratch[1..]).max(scale_of_ties(values));
        // Residuals of a pattern must not look like heavy tails, nor a few huge outliers like noise.
        let limit = 6.0 * robust;
        let squares: f64 = scratch[1..]
            .iter()
            .map(|e| e.clamp(-limit, limit).powi(2))
            .sum();
        let sigma = (squares / count_f64(values.len() - 1)).sqrt();
        (sigma > 0.0 && sigma.is_finite()).then_some(Self { phi, mean, sigma })
    }
}

/// Returns the fraction of the noise that remains after `gap` bins, and the standard deviation of the
/// innovation relative to that of one bin.
pub(crate) fn step(phi: f64, gap: i64) -> (f64, f64) {
    if gap == 1 {
        return (phi, 1.0);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "beyond 2^31 bins nothing is left"
    )]
    let gap = gap.min(1 << 30) as i32;
    let kept = phi.powi(gap);
    let variance = if (1.0 - phi * phi).abs() < 1e-9 {
        f64::from(gap)
    } else {
        (1.0 - kept * kept) / (1.0 - phi * phi)
    };
    (kept, variance.sqrt())
}

/// Removes the noise's autocorrelation and divides each value by its expected size. The first, which has no
/// predecessor, becomes 0.
pub(crate) fn whiten(index: &[i64], values: &[f64], phi: f64, out: &mut Vec<f64>) {
    out.clear();
    out.push(0.0);
    out.extend((1..values.len()).map(|i| {
        let (kept, size) = step(phi, index[i] - index[i - 1]);
        (values[i] - kept * values[i - 1]) / size
    }));
    out.truncate(values.len());
}

/// Returns the autocorrelation of adjacent filled bins; bias-corrected (Marriott and Pope 1954) if
/// `corrected`.
pub(crate) fn autocorrelation(index: &[i64], residuals: &[f64], corrected: bool) -> f64 {
    let (mut products, mut before, mut after, mut pairs) = (0.0, 0.0, 0.0, 0usize);
    for i in 1..residuals.len() {
        if index[i] - index[i - 1] == 1 {
            products += residuals[i] * residuals[i - 1];
            before += residuals[i - 1] * residuals[i - 1];
            after += residuals[i] * residuals[i];
            pairs += 1;
        }
    }
    correlation(products, before, after, pairs, corrected)
}

/// The same from the sums over these pairs: of their products, of the squares of the first ones, and of the second ones.
fn correlation(products: f64, before: f64, after: f64, pairs: usize, corrected: bool) -> f64 {
    if pairs < 8 || before <= 0.0 || after <= 0.0 {
        return 0.0;
    }
    // Two roots: the product of tiny or huge squares is 0 or infinite, and the quotient no number.
    let phi = products / (before.sqrt() * after.sqrt());
    let bias = if corrected {
        (1.0 + 3.0 * phi) / count_f64(pairs)
    } else {
        0.0
    };
    (phi + bias).clamp(PHI_MIN, PHI_MAX)
}

/// Fits a constant and the regressors, each as long as `values`. `None` if there are too few values, or
/// they do not vary.
pub(crate) fn regress(index: &[i64], values: &[f64], regressors: &[&[f64]]) -> Option<Fit> {
    let count = regressors.len() + 1;
    if values.len() < count + 4 {
        return None;
    }
    Products::new(index, values, regressors).fit()
}

/// Does so for the first of the regressors, for each of these numbers of them.
pub(crate) fn regress_first(
    index: &[i64],
    values: &[f64],
    regressors: &[&[f64]],
    counts: impl Iterator<Item = usize>,
) -> Vec<Option<Fit>> {
    let products = Products::new(index, values, regressors);
    let of = |count: usize| {
        let is_enough = values.len() >= count + 5;
        is_enough.then(|| products.first(count).fit()).flatten()
    };
    counts.map(of).collect()
}

/// The columns of a regression (the regressors, the constant, the values) multiplied with each other, so that they need not
/// be read again for each autocorrelation: a whitened column is its step to the next bin plus `1 - phi` of the value before it.
struct Products<'a> {
    index: &'a [i64],
    values: &'a [f64],
    regressors: &'a [&'a [f64]],
    /// Matrices of the sums over all neighbouring bins, only their upper halves: of steps with steps, of steps with values before
    /// them and the reverse, of values before.
    sums: [Vec<f64>; 3],
    /// Values after a gap.
    apart: Vec<usize>,
    /// Number of neighbouring bins.
    pairs: usize,
}

impl<'a> Products<'a> {
    fn new(index: &'a [i64], values: &'a [f64], regressors: &'a [&'a [f64]]) -> Self {
        let wide = regressors.len() + 2;
        let mut own = Self {
            index,
            values,
            regressors,
            sums: std::array::from_fn(|_| vec![0.0; wide * wide]),
            apart: Vec::new(),
            pairs: 0,
        };
        // Nearly all fits have at most two regressors; with sizes known when compiled, their sums stay in registers.
        match *regressors {
            [] => own.add_up(&[], &mut [[0.0; 2]; 2], &mut [[0.0; 4]; 3]),
            [one] => own.add_up(&[one], &mut [[0.0; 3]; 2], &mut [[0.0; 9]; 3]),
            [one, two] => own.add_up(&[one, two], &mut [[0.0; 4]; 2], &mut [[0.0; 16]; 3]),
            _ => {
                let mut rows = [vec![0.0; wide], vec![0.0; wide]];
                let mut sums = own.sums.clone();
                own.add_up(regressors, &mut rows, &mut sums);
            }
        }
        own
    }

    /// Adds all neighbouring bins up in `sums`, of zeros; `rows` are as long as one of their rows.
    #[expect(
        clippy::inline_always,
        reason = "otherwise the sizes are not known when compiled"
    )]
    #[inline(always)]
    fn add_up<R: AsMut<[f64]>, M: AsMut<[f64]>>(
        &mut self,
        regressors: &[&[f64]],
        rows: &mut [R; 2],
        sums: &mut [M; 3],
    ) {
        let (level, wide) = (regressors.len(), regressors.len() + 2);
        let [steps, before] = rows.each_mut().map(AsMut::as_mut);
        let [of_steps, mixed, of_before] = sums.each_mut().map(AsMut::as_mut);
        (steps[level], before[level]) = (0.0, 1.0);
        for i in 1..self.values.len() {
            if self.index[i] - self.index[i - 1] != 1 {
                self.apart.push(i);
                continue;
            }
            for (a, regressor) in regressors.iter().enumerate() {
                before[a] = regressor[i - 1];
                steps[a] = regressor[i] - before[a];
            }
            before[level + 1] = self.values[i - 1];
            steps[level + 1] = self.values[i] - before[level + 1];
            for a in 0..wide {
                let (step, was) = (steps[a], before[a]);
                let row = a * wide + a..(a + 1) * wide;
                let sums = (of_steps[row.clone()].iter_mut())
                    .zip(&mut mixed[row.clone()])
                    .zip(&mut of_before[row]);
                for (((of_steps, mixed), of_before), (s, b)) in
                    sums.zip(steps[a..].iter().zip(&before[a..]))
                {
                    *of_steps += step * s;
                    *mixed += step * b + was * s;
                    *of_before += was * b;
                }
            }
        }
        self.pairs = self.values.len() - 1 - self.apart.len();
        for (own, added) in self.sums.iter_mut().zip([of_steps, mixed, of_before]) {
            own.copy_from_slice(added);
        }
    }

    /// Returns those of the first regressors.
    fn first(&self, count: usize) -> Self {
        let (level, wide) = (self.regressors.len(), self.regressors.len() + 2);
        let kept: Vec<usize> = (0..count).chain([level, level + 1]).collect();
        let of_kept = |sums: &Vec<f64>| {
            let rows = kept.iter().map(|a| &sums[a * wide..(a + 1) * wide]);
            rows.flat_map(|row| kept.iter().map(|b| row[*b])).collect()
        };
        Self {
            regressors: &self.regressors[..count],
            sums: self.sums.each_ref().map(of_kept),
            apart: self.apart.clone(),
            ..*self
        }
    }

    /// Fits the coefficients and the noise alternately.
    fn fit(&self) -> Option<Fit> {
        let (index, values, regressors) = (self.index, self.values, self.regressors);
        let mut coefficients = self.solve(0.0)?;
        let mut phi = 0.0;
        for _ in 0..ROUNDS {
            let next = self.autocorrelation(&coefficients);
            let settled = (next - phi).abs() < 1e-4;
            phi = next;
            if settled {
                break;
            }
            coefficients = self.solve(phi)?;
        }
        // Not from the products: what a close fit leaves is too small a difference of them.
        let residual = |i: usize| {
            let mut left = values[i] - coefficients[regressors.len()];
            for (regressor, coefficient) in regressors.iter().zip(&coefficients) {
                left -= coefficient * regressor[i];
            }
            left
        };
        let (mut squares, mut sizes, mut before) = (0.0, 0.0, residual(0));
        for i in 1..values.len() {
            let gap = index[i] - index[i - 1];
            let (kept, size) = step(phi, gap);
            let now = residual(i);
            let innovation = now - kept * before;
            before = now;
            if gap == 1 {
                squares += innovation * innovation;
            } else {
                squares += (innovation / size).powi(2);
                sizes += size.ln();
            }
        }
        let n = count_f64(values.len() - 1);
        let variance = squares / n;
        (variance > 0.0 && variance.is_finite()).then(|| Fit {
            coefficients,
            phi,
            variance,
            log_likelihood: -0.5 * n * variance.ln() - sizes,
        })
    }

    /// Solves the least-squares problem on columns without this autocorrelation.
    fn solve(&self, phi: f64) -> Option<Vec<f64>> {
        let (level, wide) = (self.regressors.len(), self.regressors.len() + 2);
        let [of_steps, mixed, of_before] = &self.sums;
        let rest = 1.0 - phi;
        let mut matrix: Vec<f64> = (of_steps.iter().zip(mixed).zip(of_before))
            .map(|((steps, mixed), before)| steps + rest * (mixed + rest * before))
            .collect();
        let mut row = vec![0.0; wide];
        for &i in &self.apart {
            let (kept, size) = step(phi, self.index[i] - self.index[i - 1]);
            let white = |column: &[f64]| (column[i] - kept * column[i - 1]) / size;
            for (cell, regressor) in row.iter_mut().zip(self.regressors) {
                *cell = white(regressor);
            }
            // A random walk has no level; the coefficient is its starting value instead.
            row[level] = (1.0 - kept) / size;
            row[level + 1] = white(self.values);
            for a in 0..wide {
                for b in a..wide {
                    matrix[a * wide + b] += row[a] * row[b];
                }
            }
        }
        eliminate(&mut matrix, level + 1)
    }

    /// Returns the autocorrelation of what these coefficients leave, in adjacent bins.
    fn autocorrelation(&self, coefficients: &[f64]) -> f64 {
        let wide = self.regressors.len() + 2;
        let of = |at: usize| coefficients.get(at).map_or(1.0, |one| -one);
        let [steps, mixed, before] = [0, 1, 2].map(|which| {
            let mut sum = 0.0;
            for a in 0..wide {
                let twice = (a + 1..wide).map(|b| 2.0 * of(b) * self.sums[which][a * wide + b]);
                sum += of(a) * (of(a) * self.sums[which][a * wide + a] + twice.sum::<f64>());
            }
            sum
        });
        let products = before + mixed / 2.0;
        correlation(products, before, steps + mixed + before, self.pairs, false)
    }
}

/// Solves symmetric equations whose upper half is filled; columns that add nothing get 0.
fn eliminate(matrix: &mut [f64], count: usize) -> Option<Vec<f64>> {
    let wide = count + 1;
    for a in 0..count {
        for b in 0..a {
            matrix[a * wide + b] = matrix[b * wide + a];
        }
    }
    let sizes: Vec<f64> = (0..count).map(|a| matrix[a * wide + a]).collect();
    let mut empty = vec![false; count];
    for a in 0..count {
        if matrix[a * wide + a] <= 1e-10 * sizes[a] || matrix[a * wide + a] <= f64::MIN_POSITIVE {
            empty[a] = true;
            continue;
        }
        for b in 0..count {
            if b == a {
                continue;
            }
            let factor = matrix[b * wide + a] / matrix[a * wide + a];
            for c in a..wide {
                matrix[b * wide + c] -= factor * matrix[a * wide + c];
            }
        }
    }
    let solution: Vec<f64> = (0..count)
        .map(|a| {
            if empty[a] {
                0.0
            } else {
                matrix[a * wide + count] / matrix[a * wide + a]
            }
        })
        .collect();
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

/// Returns a random number generator that depends only on a seed and a number.
pub(crate) fn stream(seed: u64, number: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Resamples observed innovations in blocks.
pub(crate) fn resample(innovations: &[f64], random: &mut Xoshiro256PlusPlus, out: &mut Vec<f64>) {
    out.clear();
    let n = innovations.len();
    if n == 0 {
        return;
    }
    // Block lengths grow with the cube root of the series' length (Hall, Horowitz, Jing 1995).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a root of a length"
    )]
    let block = ((n as f64).cbrt() as usize).max(BLOCK_MIN);
    while out.len() < n {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a multiply-shift stays below n (Lemire 2019)"
        )]
        let from = ((u128::from(random.next_u64()) * n as u128) >> 64) as usize;
        let len = block.min(n - out.len());
        let first = len.min(n - from);
        out.extend_from_slice(&innovations[from..from + first]);
        out.extend_from_slice(&innovations[..len - first]);
    }
}

/// Simulates red noise from innovations.
pub(crate) fn redden(index: &[i64], innovations: &[f64], phi: f64, out: &mut Vec<f64>) {
    out.clear();
    let mut last = innovations.first().copied().unwrap_or(0.0);
    // A stationary series starts anywhere within its distribution.
    if phi < 0.995 {
        last /= (1.0 - phi * phi).sqrt();
    }
    out.push(last);
    for i in 1..innovations.len() {
        let (kept, size) = step(phi, index[i] - index[i - 1]);
        last = kept * last + size * innovations[i];
        out.push(last);
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "small numbers, chosen here"
    )]

    use super::*;

    fn noise(n: usize, phi: f64, seed: u64) -> (Vec<i64>, Vec<f64>) {
        let mut random = stream(seed, 0);
        let innovations: Vec<f64> = (0..n)
            .map(|_| {
                // The sum of twelve uniform numbers is nearly normal.
                (0..12)
                    .map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64)
                    .sum::<f64>()
                    - 6.0
            })
            .collect();
        let index: Vec<i64> = (0..n as i64).map(|i| i + i / 50).collect();
        let mut values = Vec::new();
        redden(&index, &innovations, phi, &mut values);
        (index, values)
    }

    /// As a vmstat column of blocked processes is: next to no autocorrelation, but not none.
    #[test]
    fn whole_numbers_have_the_noise_that_they_show() {
        for (seed, values_of) in (0..200).flat_map(|seed| [(seed, 2), (seed, 3)]) {
            let mut random = stream(seed, 0);
            let values: Vec<f64> = (0..2000)
                .map(|_| (random.next_u64() % values_of) as f64)
                .collect();
            let index: Vec<i64> = (0..2000).collect();
            let null = Null::fit(&index, &values, &mut Vec::new()).expect("it varies");
            let sigma = (((values_of * values_of) as f64 - 1.0) / 12.0).sqrt();
            assert!(
                (null.sigma / sigma - 1.0).abs() < 0.1,
                "{values_of} values, seed {seed}: {null:?}"
            );
        }
    }

    #[test]
    fn regression_finds_coefficients_and_autocorrelation() {
        for phi in [0.0, 0.5, 0.9] {
            let (index, mut values) = noise(4000, phi, 3);
            let saw: Vec<f64> = index.iter().map(|&i| (i % 40) as f64 / 40.0).collect();
            for (value, saw) in values.iter_mut().zip(&saw) {
                *value += 3.0 * saw + 10.0;
            }
            let fit = regress(&index, &values, &[&saw]).expect("enough");
            assert!((fit.phi - phi).abs() < 0.05, "{phi} {fit:?}");
            assert!((fit.coefficients[0] - 3.0).abs() < 0.6, "{fit:?}");
            assert!((fit.variance - 1.0).abs() < 0.1, "{fit:?}");
        }
    }

    #[test]
    fn the_unit_of_the_values_does_not_matter() {
        let (index, values) = noise(60, 0.5, 11);
        let plain = Null::fit(&index, &values, &mut Vec::new()).expect("enough");
        for decade in -305..150 {
            let scale = 10.0_f64.powi(decade);
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let found = Null::fit(&index, &scaled, &mut Vec::new());
            // The squares of smaller values are subnormal, so that they have few digits or none.
            if decade > -145 {
                let found = found.expect("enough");
                assert!((found.phi - plain.phi).abs() < 1e-9, "{decade}: {found:?}");
                assert!((found.sigma / scale / plain.sigma - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn random_walks_are_recognised_and_constants_rejected() {
        let (index, values) = noise(1000, 1.0, 5);
        let fit = regress(&index, &values, &[]).expect("enough");
        assert!(fit.phi > 0.97);
        assert!(regress(&index, &vec![1.0; 1000], &[]).is_none());
        assert!(regress(&index[..3], &values[..3], &[]).is_none());
    }

    #[test]
    fn redundant_regressors_get_zero() {
        let (index, values) = noise(300, 0.3, 7);
        let flat = vec![2.0; 300];
        let plain = regress(&index, &values, &[]).expect("enough");
        let fit = regress(&index, &values, &[&flat, &flat]).expect("enough");
        assert!((fit.log_likelihood - plain.log_likelihood).abs() < 1e-6);
    }

    #[test]
    fn resampling_keeps_length_and_repeats() {
        let seen: Vec<f64> = (0..100).map(f64::from).collect();
        let (mut one, mut two) = (Vec::new(), Vec::new());
        resample(&seen, &mut stream(1, 2), &mut one);
        resample(&seen, &mut stream(1, 2), &mut two);
        assert_eq!(one, two);
        assert_eq!(one.len(), 100);
        resample(&seen, &mut stream(1, 3), &mut two);
        assert_ne!(one, two);
    }
}
