//! Finds the samples in which discards, or writes, jump.

use super::table::{Metric, Table};
use crate::statistics::median;

/// Minimum factor by which a rate jumps.
pub(super) const JUMP_TIMES: f64 = 10.0;

/// Minimum factor by which reads fall if nothing else tells of a burst.
pub(super) const FALL_TIMES: f64 = 4.0;

/// Lower rates, summed over all drives, count as this rate, in kB/s, so that starting from zero is not a jump.
pub(super) const QUIET_KB_S: f64 = 64.0;

/// With at least so many samples outside of bursts, their median is what was before; else the first sample.
const BEFORE_MIN: usize = 5;

/// What is usual is what one sample in so many does not exceed: bursts may take most of a log.
const USUAL: usize = 30;

/// Runs of samples, as `(first, number)`, and the clearest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bursts {
    pub runs: Vec<(usize, usize)>,
    pub clearest: usize,
}

impl Bursts {
    /// Returns the runs in which much more is discarded than usually.
    pub(super) fn of_discards(table: &Table<'_>, drives: &[&str]) -> Option<Self> {
        let rates = rates(table, drives, Metric::Discard);
        let mut sorted = rates.clone();
        sorted.sort_by(f64::total_cmp);
        let usual = sorted.get(sorted.len() / USUAL)?.max(QUIET_KB_S);
        let runs = runs(&rates, usual * JUMP_TIMES);
        let all = |run: &(usize, usize)| rates[run.0..run.0 + run.1].iter().sum::<f64>();
        // The earliest one wins a tie.
        let numbers = (0..runs.len()).rev();
        let clearest = numbers.max_by(|&a, &b| all(&runs[a]).total_cmp(&all(&runs[b])))?;
        Some(Self { runs, clearest })
    }

    /// Returns the runs in which as much is written as after the largest jump of writes; that one is the clearest.
    pub(super) fn of_writes(table: &Table<'_>, drives: &[&str]) -> Option<Self> {
        let rates = busy_rates(table, drives, Metric::Write);
        let times = |sample: usize| rates[sample] / rates[sample - 1];
        let jump = largest(rates.len(), times, JUMP_TIMES)?;
        let runs = runs(&rates, rates[jump - 1] * JUMP_TIMES);
        let clearest = runs.iter().position(|(first, _)| *first == jump)?;
        Some(Self { runs, clearest })
    }

    /// Returns the run of samples in which as little is read as after the largest fall of reads.
    pub(super) fn of_fewer_reads(table: &Table<'_>, drives: &[&str]) -> Option<Self> {
        // How little is read does not matter below what counts as quiet, and neither does a fall to it from little more.
        let rates = busy_rates(table, drives, Metric::Read);
        let times = |sample: usize| rates[sample - 1] / rates[sample];
        let fall = largest(rates.len(), times, FALL_TIMES)?;
        // Reads that fall in several steps fall from the first of them on.
        let falls = |sample: &usize| rates[sample - 1] >= rates[*sample] * FALL_TIMES;
        let fall = (1..=fall).rev().take_while(falls).last()?;
        let most = rates[fall - 1] / FALL_TIMES;
        let is_low = |sample: &usize| rates[*sample] <= most;
        let number = (fall..rates.len()).take_while(is_low).count();
        Some(Self {
            runs: vec![(fall, number)],
            clearest: 0,
        })
    }

    /// Returns the samples of all bursts.
    pub(super) fn all_samples(&self) -> Vec<usize> {
        let runs = self.runs.iter();
        runs.flat_map(|(first, number)| *first..first + number)
            .collect()
    }

    /// Returns the samples of the clearest burst.
    pub(super) fn samples(&self) -> std::ops::Range<usize> {
        let (first, number) = self.runs[self.clearest];
        first..first + number
    }

    /// Returns what a metric was outside of bursts: of some samples the median, of few the first one.
    pub(super) fn before(
        &self,
        table: &Table<'_>,
        get: impl Fn(usize) -> Option<f64>,
    ) -> Option<f64> {
        let quiet = self.quiet(table);
        if quiet.len() < BEFORE_MIN {
            return get(*quiet.first()?);
        }
        let values: Vec<f64> = quiet.into_iter().filter_map(get).collect();
        (!values.is_empty()).then(|| median(values))
    }

    /// Returns the samples outside of bursts.
    pub(super) fn quiet(&self, table: &Table<'_>) -> Vec<usize> {
        let within = self.all_samples();
        (0..table.samples())
            .filter(|sample| within.binary_search(sample).is_err())
            .collect()
    }
}

/// Returns what moved on all drives in each sample, in kB/s.
pub(super) fn rates(table: &Table<'_>, drives: &[&str], metric: Metric) -> Vec<f64> {
    let samples = 0..table.samples();
    samples
        .map(|sample| moved(table, drives, metric, sample))
        .collect()
}

/// The same, at least [`QUIET_KB_S`].
fn busy_rates(table: &Table<'_>, drives: &[&str], metric: Metric) -> Vec<f64> {
    let rates = rates(table, drives, metric).into_iter();
    rates.map(|rate| rate.max(QUIET_KB_S)).collect()
}

/// Returns the sample with the largest change from the one before it, if that is at least so large; the earliest of equals.
fn largest(samples: usize, times: impl Fn(usize) -> f64, least: f64) -> Option<usize> {
    (1..samples)
        .filter(|&sample| times(sample) >= least)
        .max_by(|&a, &b| times(a).total_cmp(&times(b)).then(b.cmp(&a)))
}

/// Returns the maximal runs of rates that are at least so high.
fn runs(rates: &[f64], least: f64) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (sample, rate) in rates.iter().enumerate() {
        match runs.last_mut() {
            _ if *rate < least => {}
            Some((first, number)) if *first + *number == sample => *number += 1,
            _ => runs.push((sample, 1)),
        }
    }
    runs
}

/// Returns what moved on all drives in one sample, in kB/s.
pub(super) fn moved(table: &Table<'_>, drives: &[&str], metric: Metric, sample: usize) -> f64 {
    drives
        .iter()
        .filter_map(|drive| table.get(drive, metric, sample))
        .sum()
}
