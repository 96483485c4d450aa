//! A trial's folder, as `compare` wants it.

use super::document::TrialDocument;
use super::folder::read_document;
use crate::compare::{Metric, MetricKey, Observations, Rank, Trial};
use crate::driver::{
    ClassInterval, Ending, Interval, JournalError, PhaseStart, Reader, TrialSummary,
};
use crate::path_error::at;
use crate::validity::samples_needed;
use facts::series::Better;
use std::collections::BTreeMap;
use std::path::Path;

/// Blocks of latencies that are compared: enough to see how neighbours resemble each other.
const BLOCKS_MAX: usize = 300;

/// One operation in one second of the measured phases, all threads together.
///
/// An HDR histogram takes 200 KB whatever it holds, and a trial may have thousands of seconds: only counts that are
/// not zero are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SecondOf {
    /// Latencies of successful requests in nanoseconds, each with its count.
    latencies: BTreeMap<u64, u64>,
    /// Documents written.
    documents: u64,
    /// Where its intervals begin and end: longer than a second, if the driver could not write in time.
    from_ns: u64,
    to_ns: u64,
}

impl SecondOf {
    fn add(&mut self, class: &ClassInterval, (from_ns, to_ns): (u64, u64)) {
        self.extend(from_ns, to_ns);
        for (ns, count) in class.latency.counts() {
            *self.latencies.entry(ns).or_insert(0) += count;
        }
        self.documents += class.documents_written;
    }

    fn extend(&mut self, from_ns: u64, to_ns: u64) {
        self.from_ns = if self.to_ns == 0 {
            from_ns
        } else {
            self.from_ns.min(from_ns)
        };
        self.to_ns = self.to_ns.max(to_ns);
    }

    /// Its length in seconds.
    #[allow(clippy::cast_precision_loss)] // a time
    fn len_s(&self) -> f64 {
        (self.to_ns.saturating_sub(self.from_ns)) as f64 / 1e9
    }

    fn add_all(&mut self, other: &Self) {
        self.extend(other.from_ns, other.to_ns);
        for (ns, count) in &other.latencies {
            *self.latencies.entry(*ns).or_insert(0) += count;
        }
        self.documents += other.documents;
    }

    /// Number of successful requests.
    fn count(&self) -> u64 {
        self.latencies.values().sum()
    }

    /// Mean of the latencies; `None` without any.
    #[allow(clippy::cast_precision_loss)] // times and counts
    pub(super) fn mean_ns(&self) -> Option<f64> {
        let each = self.latencies.iter();
        let sum: f64 = each.map(|(ns, count)| *ns as f64 * *count as f64).sum();
        let count = self.count();
        (count > 0).then(|| sum / count as f64)
    }
}

/// Adds up neighbouring seconds until there are no more than `max` blocks.
pub(super) fn blocks_of(seconds: &[SecondOf], max: usize) -> Vec<SecondOf> {
    let size = seconds.len().div_ceil(max).max(1);
    let chunks = seconds.chunks(size);
    chunks
        .map(|chunk| {
            let mut block = SecondOf::default();
            for second in chunk {
                block.add_all(second);
            }
            block
        })
        .collect()
}

/// An operation of a measured phase, second by second.
pub(super) struct OfPhase {
    /// Number of the phase.
    pub phase: u32,
    /// The operation.
    pub operation: String,
    /// Its name in comparisons: with the phase's, if several measured phases have it.
    name: String,
    open: bool,
    /// Its seconds, in order.
    pub seconds: Vec<SecondOf>,
}

/// Reads each second of the measured phases from the trial's file.
pub(super) fn seconds(folder: &Path) -> Result<Vec<OfPhase>, JournalError> {
    Ok(read(folder)?.1)
}

fn read(folder: &Path) -> Result<(Option<TrialSummary>, Vec<OfPhase>), JournalError> {
    let mut reader = Reader::open(folder)?;
    let path = folder.join(crate::driver::FILE_NAME);
    let mut by_phase: BTreeMap<u32, Vec<BTreeMap<u64, SecondOf>>> = BTreeMap::new();
    let summary = TrialSummary::of(&mut reader, |interval| add(&mut by_phase, interval))
        .map_err(at(&path))?;
    let mut found = Vec::new();
    let phases: Vec<&PhaseStart> = summary
        .iter()
        .flat_map(TrialSummary::measured)
        .map(|phase| &phase.start)
        .collect();
    for phase in &phases {
        let Some(classes) = by_phase.remove(&phase.phase) else {
            continue;
        };
        let operations = phase.operations.iter().zip(&phase.open);
        for ((operation, open), seconds) in operations.zip(classes) {
            let has = |other: &&&PhaseStart| other.operations.contains(operation);
            let name = if phases.iter().filter(has).count() > 1 {
                format!("{operation} in {}", phase.name)
            } else {
                operation.clone()
            };
            found.push(OfPhase {
                phase: phase.phase,
                operation: operation.clone(),
                name,
                open: *open,
                seconds: seconds.into_values().collect(),
            });
        }
    }
    Ok((summary, found))
}

fn add(by_phase: &mut BTreeMap<u32, Vec<BTreeMap<u64, SecondOf>>>, interval: &Interval) {
    let classes = by_phase.entry(interval.phase).or_default();
    classes.resize_with(classes.len().max(interval.classes.len()), BTreeMap::new);
    // An interval belongs to the second in which most of it lies.
    let second = (interval.from_ns / 2 + interval.to_ns / 2) / 1_000_000_000;
    for (seconds, class) in classes.iter_mut().zip(&interval.classes) {
        seconds
            .entry(second)
            .or_default()
            .add(class, (interval.from_ns, interval.to_ns));
    }
}

/// Reads a trial for a comparison. An INVALID one says so in its notes.
///
/// # Errors
/// When its file cannot be read. A document that is missing or damaged is a note.
pub fn read_trial(folder: &Path) -> Result<Trial, JournalError> {
    let (summary, seconds) = read(folder)?;
    let document = read_document(folder);
    let mut trial = Trial {
        name: folder.display().to_string(),
        ..Trial::default()
    };
    match &document {
        Ok(document) => describe(&mut trial, document),
        Err(error) => trial
            .invalid
            .push(format!("its verdict is not known: {error}")),
    }
    let Some(summary) = summary else {
        trial
            .invalid
            .push("it was cut off before it began".to_owned());
        return Ok(trial);
    };
    if summary.ending != Ending::Whole {
        trial
            .notes
            .push("it was cut off: its file holds what was measured until then".to_owned());
    }
    trial
        .started_us
        .get_or_insert(summary.start.started_at.as_microsecond());
    for one in &seconds {
        metrics(&one.name, &one.seconds, one.open, &mut trial);
    }
    Ok(trial)
}

fn describe(trial: &mut Trial, document: &TrialDocument) {
    trial.id = Some(document.id.clone());
    trial.started_us = Some(document.started_at.as_microsecond());
    trial.environment = document.environment.clone();
    let track = format!("{} ({})", document.track, document.track_crc32);
    trial.environment.insert("track".to_owned(), track);
    match &document.judgement {
        Some(judgement) => {
            let reasons = judgement.reasons.iter();
            trial
                .invalid
                .extend(reasons.map(|reason| reason.found.clone()));
        }
        None => trial.invalid.push("it did not end".to_owned()),
    }
}

#[allow(clippy::cast_precision_loss)] // counts
fn metrics(operation: &str, seconds: &[SecondOf], open: bool, trial: &mut Trial) {
    let mut add = |name: &str, unit: &str, better, rank, observations| {
        trial.metrics.insert(
            MetricKey::new(operation, name),
            Metric {
                unit: Some(unit.to_owned()),
                better,
                rank,
                observations,
            },
        );
    };
    let documents: u64 = seconds.iter().map(|second| second.documents).sum();
    let samples: u64 = seconds.iter().map(SecondOf::count).sum();
    if samples == 0 {
        return;
    }
    let count = |second: &SecondOf| {
        if documents > 0 {
            second.documents as f64
        } else {
            second.count() as f64
        }
    };
    // The last second is rarely a whole one, and says little.
    let blocks = seconds.iter().filter(|second| second.len_s() > 0.5);
    let (rates, lengths): (Vec<f64>, Vec<f64>) = blocks
        .map(|second| (count(second) / second.len_s(), second.len_s()))
        .unzip();
    let rates_are_missing = rates.is_empty();
    let throughput = Observations::Blocks {
        values: rates,
        weights: lengths,
    };
    let unit = if documents > 0 { "docs/s" } else { "ops/s" };
    // The rate of an open loop is given.
    let rank = if open { Rank::Secondary } else { Rank::Primary };
    if !rates_are_missing {
        add("throughput mean", unit, Better::Higher, rank, throughput);
    }
    let of_block = |block: SecondOf| -> Vec<(f64, u64)> {
        let each = block.latencies.into_iter();
        each.map(|(ns, count)| (ns as f64 / 1e6, count)).collect()
    };
    let blocks: Vec<Vec<(f64, u64)>> = blocks_of(seconds, BLOCKS_MAX)
        .into_iter()
        .map(of_block)
        .collect();
    for (name, share, rank) in [
        ("latency p50", 0.5, Rank::Primary),
        ("latency p90", 0.9, Rank::Secondary),
        ("latency p99", 0.99, Rank::Primary),
        ("latency p99.9", 0.999, Rank::Secondary),
    ] {
        if samples >= samples_needed(100.0 * share) {
            let observations = Observations::Histograms {
                blocks: blocks.clone(),
                share,
            };
            add(name, "ms", Better::Lower, rank, observations);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(ns: u64, count: u64) -> SecondOf {
        SecondOf {
            latencies: [(ns, count), (2 * ns, count)].into(),
            documents: 3,
            from_ns: 0,
            to_ns: 1_000_000_000,
        }
    }

    #[test]
    fn blocks_hold_what_their_seconds_do() {
        let seconds: Vec<SecondOf> = (1..=7).map(|at| second(1_000 * at, at)).collect();
        let blocks = blocks_of(&seconds, 3);
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks.iter().map(SecondOf::count).sum::<u64>(), 2 * 28);
        assert_eq!(blocks.iter().map(|block| block.documents).sum::<u64>(), 21);
        assert_eq!(blocks_of(&seconds, 100), seconds);
        assert!(blocks_of(&[], 3).is_empty());
        // 1,000 and 2,000 once each.
        assert_eq!(seconds[0].mean_ns(), Some(1_500.0));
        assert_eq!(SecondOf::default().mean_ns(), None);
    }
}
