//! Folds by many periods: buffers that are reused from one to the next.

use super::fold::{Counts, Fold};
use crate::model::grid::{Grid, Variant};
use crate::model::noise::{Null, whiten};
use crate::numbers::{as_count, as_f64, count_f64};
use crate::statistics::add;

/// Caps on innovations in standard deviations, for slow and for sharp values.
const INNOVATION_SIGMAS: [f64; 2] = [4.0, 12.0];

/// Returns the cap on innovations of a variant, in standard deviations.
fn limit_of(variant: Variant) -> f64 {
    INNOVATION_SIGMAS[usize::from(variant == Variant::Sharp)]
}

/// Returns the noise of one variant of a grid's values, and the innovations of these in its standard deviations, capped;
/// `None` if they do not vary or are too few.
pub(crate) fn innovations_of(grid: &Grid, variant: Variant) -> Option<(Null, Vec<f64>)> {
    let null = grid.null(variant)?;
    let centred: Vec<f64> = grid.values(variant).iter().map(|v| v - null.mean).collect();
    let mut white = Vec::new();
    whiten(&grid.index, &centred, null.phi, &mut white);
    let limit = limit_of(variant);
    for value in &mut white {
        *value = (*value / null.sigma).clamp(-limit, limit);
    }
    Some((null, white))
}

/// Number of parts whose folds serve many periods.
const PARTS: u64 = 8;
/// A whole turn of a phase, and one of the upper half of its bits.
const TURN: f64 = 18_446_744_073_709_551_616.0;
const HALF_TURN: f64 = 4_294_967_296.0;

/// Phases of bins for a period, as fractions of 2^64, so that integer overflow corresponds to whole
/// periods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase {
    step: u64,
    pub bins: usize,
}

impl Phase {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a period is 2 at least, and has few bins"
    )]
    pub fn new(period: f64) -> Self {
        Self {
            step: (TURN / period) as u64,
            bins: (period.round() as usize).max(3),
        }
    }

    /// Returns the bin of the fold for the middle of a bin of the grid.
    pub fn bin(self, at: u64) -> usize {
        let turn = at.wrapping_mul(self.step).wrapping_add(self.step / 2);
        (((turn >> 32) * self.bins as u64) >> 32) as usize
    }

    /// Returns the bin of the fold for a bin of the grid, and how many from there on map to consecutive ones.
    fn run(self, at: u64) -> (usize, usize) {
        let turn = at.wrapping_mul(self.step).wrapping_add(self.step / 2);
        let place = (turn >> 32) * self.bins as u64;
        let bin = (place >> 32) as usize;
        let within = as_f64((place & u64::from(u32::MAX)).cast_signed()) / HALF_TURN;
        // From one bin to the next, the place in a bin of the fold moves by this.
        let drift = as_f64(self.step.cast_signed()) * count_f64(self.bins) / TURN - 1.0;
        let len = if drift > 0.0 {
            ((1.0 - within) / drift).ceil()
        } else {
            (within / -drift).floor() + 1.0
        };
        let whole = self.bins - bin;
        if len < count_f64(whole) {
            (bin, as_count(len))
        } else {
            (bin, whole)
        }
    }

    /// Returns the edge of the fold's bins that is nearest to the beginning of a bin of the grid.
    fn edge(self, at: u64) -> usize {
        let turn = at.wrapping_mul(self.step) >> 32;
        let edge = (turn * self.bins as u64 + (1 << 31)) >> 32;
        edge as usize % self.bins
    }
}

/// Reusable search buffers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) fold: Fold,
    /// What each filled bin tells of a form, and its number, counted from the first.
    told: Vec<f64>,
    at: Vec<u64>,
    counts: Counts,
    /// The likelihood of the values without any form, if forms are fitted exactly.
    pub(super) alone: Option<f64>,
    parts: Parts,
    pub(super) regressors: [Vec<f64>; 2],
}

/// Folds of consecutive parts of the values. Periods that hardly differ fold a part alike: each only turns the parts to its own
/// phases, and adds them up.
#[derive(Debug, Default)]
struct Parts {
    /// The first bin of each.
    firsts: Vec<u64>,
    /// Their folds one after the other.
    sums: Vec<f64>,
    /// Number of bins of a fold.
    bins: usize,
    /// The shortest period that they serve.
    shortest: f64,
    /// A fold over two periods, so that none of the parts has to be divided.
    twice: Vec<f64>,
}

impl Scratch {
    /// Whitens values.
    #[expect(clippy::cast_sign_loss, reason = "indices ascend")]
    pub fn whiten(&mut self, variant: Variant, index: &[i64], values: &[f64], null: &Null) {
        let limit = limit_of(variant);
        let fresh = (1.0 - null.phi * null.phi).max(0.0).sqrt();
        self.at.clear();
        self.told.clear();
        self.parts.bins = 0;
        let follows = |i: usize| i > 0 && index[i] == index[i - 1] + 1;
        let (mut before, mut pairs) = (0.0, 0);
        for (i, (&bin, value)) in index.iter().zip(values).enumerate() {
            let value = value - null.mean;
            let innovation = if follows(i) {
                pairs += 1;
                value - null.phi * before
            } else {
                value * fresh
            };
            self.at.push((bin - index[0]) as u64);
            self.told
                .push((innovation / null.sigma).clamp(-limit, limit));
            before = value;
        }
        self.counts = Counts {
            pairs,
            fresh: values.len() - pairs,
            phi: null.phi,
        };
        self.counts.tell(&mut self.told, follows);
    }

    /// Folds the whitened values by a period.
    pub fn fold(&mut self, period: f64) -> &mut Fold {
        let phase = Phase::new(period);
        self.fold.clear(phase.bins, self.counts);
        for (&at, value) in self.at.iter().zip(&self.told) {
            self.fold.sums[phase.bin(at)] += value;
        }
        self.fold.sum_up();
        &mut self.fold
    }

    /// Does so for one of many periods, which are asked for from the longest to the shortest: to within about as many bins
    /// as one differs from the next over all samples.
    pub(super) fn fold_next(&mut self, period: f64, slip: f64) -> &mut Fold {
        let phase = Phase::new(period);
        if self.parts.bins != phase.bins || period < self.parts.shortest {
            self.fold_parts(period, slip);
        }
        let Parts {
            firsts,
            sums,
            bins,
            twice,
            ..
        } = &mut self.parts;
        twice.clear();
        twice.resize(*bins * 2, 0.0);
        for (&first, part) in firsts.iter().zip(sums.chunks_exact(*bins)) {
            add(&mut twice[phase.edge(first)..], part);
        }
        self.fold.clear(phase.bins, self.counts);
        let (one, other) = twice.split_at(*bins);
        for (sum, (one, other)) in self.fold.sums.iter_mut().zip(one.iter().zip(other)) {
            *sum = one + other;
        }
        self.fold.sum_up();
        &mut self.fold
    }

    /// Folds each part by a period that differs from this one, and from some shorter ones, by at most half of these bins over a
    /// part.
    fn fold_parts(&mut self, period: f64, slip: f64) {
        let span = self.at.last().map_or(0, |last| last + 1);
        let len = span.div_ceil(PARTS).max(1);
        let slip = 0.5 * slip / as_f64(len.cast_signed());
        let bins = Phase::new(period).bins;
        let phase = Phase {
            bins,
            ..Phase::new(period / (1.0 + slip))
        };
        let parts = &mut self.parts;
        (parts.bins, parts.shortest) = (bins, period / (1.0 + 2.0 * slip));
        parts.firsts.clear();
        parts.sums.clear();
        let mut until = 0;
        let mut number = 0;
        while let Some(&at) = self.at.get(number) {
            if at >= until {
                parts.firsts.push(at);
                parts.sums.resize(parts.firsts.len() * bins, 0.0);
                until = (at / len + 1) * len;
            }
            let part = parts.firsts.len() - 1;
            let sums = &mut parts.sums[part * bins..];
            let first = parts.firsts[part];
            let (bin, run) = phase.run(at - first);
            let end = (number + run).min(self.at.len());
            let last = self.at[end - 1];
            if last - at == (end - 1 - number) as u64 && last < until {
                let values = &self.told[number..end];
                add(&mut sums[bin..bin + values.len()], values);
                number = end;
                continue;
            }
            // Bins are missing, or the part ends here.
            let some = self.at[number..end].iter().zip(&self.told[number..end]);
            for (&at, value) in some.take_while(|(at, _)| **at < until) {
                sums[phase.bin(at - first)] += value;
                number += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A place may be rounded to the other side of an edge, by the last bits of a phase.
        #[test]
        fn a_run_maps_to_consecutive_bins_and_ends_where_they_do(period in 2.5..2_000.0f64, at in 0u64..100_000) {
            let phase = Phase::new(period);
            let (bin, len) = phase.run(at);
            prop_assert_eq!(bin, phase.bin(at));
            prop_assert!(len >= 1 && bin + len <= phase.bins);
            for further in 1..len - 1 {
                prop_assert_eq!(phase.bin(at + further as u64), bin + further);
            }
            prop_assert!(bin + len == phase.bins || phase.bin(at + len as u64 + 1) != bin + len + 1);
        }

        /// As each bin on its own, but for bins that are missing.
        #[test]
        fn parts_are_folded_alike_with_and_without_gaps(
            period in 4.0..200.0f64,
            gaps in proptest::collection::vec(prop_oneof![9 => Just(1u64), 1 => 2u64..30], 20..600),
        ) {
            let at: Vec<u64> = gaps.iter().scan(0, |at, gap| { let now = *at; *at += gap; Some(now) }).collect();
            let mut scratch = Scratch { told: at.iter().map(|&at| 1.0 + as_f64((at % 7).cast_signed())).collect(), at, ..Scratch::default() };
            scratch.fold_parts(period, 1.0);
            let parts = &scratch.parts;
            let (all, folded): (f64, f64) = (scratch.told.iter().sum(), parts.sums.iter().sum());
            prop_assert!((all - folded).abs() < 1e-9 * all);
            let span = scratch.at[scratch.at.len() - 1] + 1;
            let slip = 0.5 / as_f64(span.div_ceil(PARTS).max(1).cast_signed());
            let phase = Phase { bins: parts.bins, ..Phase::new(period / (1.0 + slip)) };
            let mut alone = vec![0.0; parts.sums.len()];
            for (at, value) in scratch.at.iter().zip(&scratch.told) {
                let part = parts.firsts.partition_point(|first| first <= at) - 1;
                alone[part * parts.bins + phase.bin(at - parts.firsts[part])] += value;
            }
            prop_assert_eq!(&alone, &parts.sums);
        }
    }
}
