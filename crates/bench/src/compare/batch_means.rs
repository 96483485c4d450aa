//! How long values that follow each other remember: autocorrelation time and block length by batch means.
//!
//! The variance of means of batches falls with the batch's length as that of independent values does once
//! batches are longer than the memory; by how much it lies above that is the autocorrelation time. Latte
//! estimates it in the same way (`src/stats/timeseries.rs`), with batches of 1, 2, 4, ... values.

/// The memory of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Number of successive values that tell as much about the mean as one independent value does; at least 1.
    pub autocorrelation_time: f64,
    /// Length of the batches, in values, at which the variance was largest: blocks of this length are
    /// independent enough to be resampled.
    pub block_len: usize,
}

/// Batches that are longer than this many autocorrelation times are too few to estimate more from (Latte).
const BATCH_TIMES_MAX: f64 = 5.0;

/// Number of blocks that a series is cut into at least, if it has as many values.
const BLOCKS_MIN: usize = 8;

/// Estimates the memory of a series.
pub fn memory(values: &[f64]) -> Memory {
    let mut found = Memory {
        autocorrelation_time: 1.0,
        block_len: 1,
    };
    let mut batches = values.to_vec();
    let Some(single) = variance(&batches).filter(|variance| *variance > 0.0) else {
        return found;
    };
    let mut len = 1;
    while let Some(of_means) = variance(&batches) {
        let time = as_f64(len) * of_means / single;
        if time * BATCH_TIMES_MAX <= as_f64(len) {
            break;
        }
        if time > found.autocorrelation_time {
            found.autocorrelation_time = time;
            found.block_len = len;
        }
        batches = batches
            .chunks_exact(2)
            .map(|two| f64::midpoint(two[0], two[1]))
            .collect();
        len *= 2;
    }
    found.block_len = found.block_len.min((values.len() / BLOCKS_MIN).max(1));
    found
}

/// Returns the mean; `None` without values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    // A running mean: sums of huge values would overflow.
    let mut mean = 0.0;
    for (count, value) in values.iter().enumerate() {
        mean += (value - mean) / (as_f64(count) + 1.0);
    }
    (!values.is_empty()).then_some(mean)
}

/// Returns the unbiased variance; `None` below two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (values.len() > 1).then(|| squares / (as_f64(values.len()) - 1.0))
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^52")]
pub(super) fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn ar1(phi: f64, len: usize, random: &mut Random) -> Vec<f64> {
        let mut now = random.open_normal() / (1.0 - phi * phi).sqrt();
        (0..len)
            .map(|_| {
                let value = now;
                now = phi * now + random.open_normal();
                value
            })
            .collect()
    }

    #[test]
    fn the_autocorrelation_time_of_an_ar1() {
        // (1 + phi) / (1 - phi); batches of finite length see a little less of it, and the maximum over
        // batches of noise a little more.
        for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let times: Vec<f64> = (0..200)
                .map(|seed| {
                    memory(&ar1(phi, 4_096, &mut Random::numbered(seed, 1))).autocorrelation_time
                })
                .collect();
            let found = mean(&times).unwrap();
            assert!((0.8..1.25).contains(&(found / expected)), "{phi}: {found}");
        }
    }

    #[test]
    fn constants_and_short_series_have_no_memory() {
        for values in [vec![], vec![1.0], vec![2.0; 100], vec![1.0, 2.0]] {
            assert_eq!(memory(&values).block_len, 1, "{values:?}");
        }
        // Ten thousand values in clusters of 100 are 100 independent ones.
        let mut random = Random::numbered(3, 1);
        let clusters: Vec<f64> = (0..100)
            .flat_map(|_| {
                let level = random.open_normal();
                std::iter::repeat_n(level, 100)
            })
            .collect();
        let found = memory(&clusters);
        assert!(
            (50.0..200.0).contains(&found.autocorrelation_time),
            "{found:?}"
        );
        assert!(found.block_len >= 64, "{found:?}");
    }
}
