//! Incremental construction of series: counters become rates, and samples are averaged over steps.

use crate::clean::reset_note;
use facts::series::{Better, Dating, SampleOf, Series};
use std::collections::BTreeMap;

/// Maximum distance of two samples between which a rate is computed; over a longer time it would not
/// describe any particular moment.
const RATE_GAP_US: i64 = 600 * 1_000_000;

/// How a series is computed from the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The value itself.
    Gauge,
    /// The increase per second.
    Rate,
    /// The increase of one counter divided by the increase of a second one.
    Mean,
}

/// Sums over one step.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    numerator: f64,
    denominator: f64,
    /// Sum of the samples' offsets from the first in the step, in microseconds.
    time_us: f64,
    samples: u32,
}

/// A series under construction.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) unit: Option<String>,
    pub(super) better: Option<Better>,
    kind: Kind,
    /// The last sample: time in microseconds, and the values.
    last: Option<(i64, i64, i64)>,
    /// The current step, and the time of its first sample.
    step: Option<(i64, i64)>,
    sums: Sums,
    times_us: Vec<i64>,
    values: Vec<f64>,
    resets: usize,
    gaps: u64,
}

impl Track {
    pub(super) fn new(kind: Kind, name: String) -> Self {
        Self {
            name,
            labels: BTreeMap::new(),
            unit: None,
            better: None,
            kind,
            last: None,
            step: None,
            sums: Sums::default(),
            times_us: Vec::new(),
            values: Vec::new(),
            resets: 0,
            gaps: 0,
        }
    }

    /// Returns the number of samples so far.
    pub(super) fn len(&self) -> usize {
        self.times_us.len()
    }

    /// Adds a sample, which must be later than all before it. `second` is the denominator of a mean.
    /// `step_us` of 0 keeps each sample.
    pub(super) fn push(&mut self, time_us: i64, first: i64, second: i64, step_us: i64) {
        let before = self.last.replace((time_us, first, second));
        let (numerator, denominator) = if self.kind == Kind::Gauge {
            (as_float(first), 1.0)
        } else {
            let Some((last_us, last_first, last_second)) = before else {
                return;
            };
            let elapsed_us = time_us.saturating_sub(last_us);
            if elapsed_us > RATE_GAP_US {
                self.gaps += 1;
                return;
            }
            if first < last_first || (self.kind == Kind::Mean && second < last_second) {
                self.resets += 1;
                return;
            }
            let grown = as_float(first.saturating_sub(last_first));
            if self.kind == Kind::Rate {
                (grown, as_float(elapsed_us) / 1e6)
            } else if second == last_second {
                // No operations, so there is no time per operation.
                return;
            } else {
                (grown, as_float(second.saturating_sub(last_second)))
            }
        };
        let step = if step_us == 0 {
            time_us
        } else {
            time_us.div_euclid(step_us)
        };
        if self.step.is_none_or(|(current, _)| current != step) {
            self.close();
            self.step = Some((step, time_us));
        }
        let start_us = self.step.map_or(time_us, |(_, start_us)| start_us);
        self.sums.numerator += numerator;
        self.sums.denominator += denominator;
        self.sums.time_us += as_float(time_us.saturating_sub(start_us));
        self.sums.samples += 1;
    }

    /// Closes the current step.
    fn close(&mut self) {
        let sums = std::mem::take(&mut self.sums);
        if let Some((_, start_us)) = self.step.take()
            && sums.samples > 0
        {
            #[allow(clippy::cast_possible_truncation)]
            let middle_us = (sums.time_us / f64::from(sums.samples)).round() as i64;
            self.times_us.push(start_us.saturating_add(middle_us));
            self.values.push(sums.numerator / sums.denominator);
        }
    }

    pub(super) fn finish(mut self, source: &str) -> Series {
        self.close();
        let mut notes = Vec::new();
        if self.resets > 0 {
            notes.push(reset_note(self.resets));
        }
        if self.gaps > 0 {
            notes.push(format!(
                "gaps of more than 10 minutes: {}; no rate over them",
                self.gaps
            ));
        }
        Series {
            name: self.name,
            source: source.to_owned(),
            labels: self.labels,
            unit: self.unit,
            better: self.better,
            dating: Dating::Absolute,
            // A mean of many samples, or a rate.
            sample_of: Some(SampleOf::Interval),
            times_us: self.times_us,
            values: self.values,
            notes,
            discard_time: None,
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn as_float(number: i64) -> f64 {
    number as f64
}
