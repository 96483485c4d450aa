//! Finds the samples in which discards, or writes, jump.

use super::table::{Metric, Table};

/// Minimum factor by which a rate jumps.
pub(super) const JUMP_TIMES: f64 = 10.0;

/// Lower rates, summed over all drives, count as this rate, in kB/s, so that starting from zero is not a jump.
pub(super) const QUIET_KB_S: f64 = 64.0;

/// With at least so many samples outside of bursts, their median is what was before; else the first sample.
const BEFORE_MIN: usize = 5;

/// What is usual is what one sample in so many does not exceed.
const USUAL: usize = 10;

/// Runs of samples, as `(first, number)`, and the clearest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bursts {
    pub runs: Vec<(usize, usize)>,
    pub clearest: usize,
}

impl Bursts {
    /// Returns the runs in which much more is discarded than usually.
    pub(super) fn of_discards(table: &Table<'_>, drives: &[&str]) -> Option<Self> {
        let rates: Vec<f64> = (0..table.samples())
            .map(|sample| moved(table, drives, Metric::Discard, sample))
            .collect();
        let mut sorted = rates.clone();
        sorted.sort_by(f64::total_cmp);
        // Bursts may take most of a short log.
        let usual = sorted.get(sorted.len() / USUAL)?.max(QUIET_KB_S);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (sample, rate) in rates.iter().enumerate() {
            if *rate < usual * JUMP_TIMES {
                continue;
            }
            match runs.last_mut() {
                Some((first, number)) if *first + *number == sample => *number += 1,
                _ => runs.push((sample, 1)),
            }
        }
        let all = |run: &(usize, usize)| rates[run.0..run.0 + run.1].iter().sum::<f64>();
        let numbers = (0..runs.len()).rev();
        let clearest = numbers.max_by(|&a, &b| all(&runs[a]).total_cmp(&all(&runs[b])))?;
        Some(Self { runs, clearest })
    }

    /// Returns the samples from the largest jump of writes on.
    pub(super) fn of_writes(table: &Table<'_>, drives: &[&str]) -> Option<Self> {
        let at = |sample| moved(table, drives, Metric::Write, sample).max(QUIET_KB_S);
        let jump = (1..table.samples())
            .map(|sample| (sample, at(sample) / at(sample - 1)))
            .filter(|(_, times)| *times >= JUMP_TIMES)
            // The earliest one wins a tie.
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?
            .0;
        Some(Self {
            runs: vec![(jump, table.samples() - jump)],
            clearest: 0,
        })
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
        let is_in = |sample: usize| {
            let mut runs = self.runs.iter();
            runs.any(|(first, number)| (*first..first + number).contains(&sample))
        };
        let quiet: Vec<usize> = (0..table.samples())
            .filter(|&sample| !is_in(sample))
            .collect();
        if quiet.len() < BEFORE_MIN {
            return get(*quiet.first()?);
        }
        median(quiet.into_iter().filter_map(get).collect())
    }
}

/// Returns what moved on all drives in one sample, in kB/s.
pub(super) fn moved(table: &Table<'_>, drives: &[&str], metric: Metric, sample: usize) -> f64 {
    drives
        .iter()
        .filter_map(|drive| table.get(drive, metric, sample))
        .sum()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
