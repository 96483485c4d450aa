//! Lasting changes of a series after its patterns are removed.

use super::find::find;
use super::found::Findings;
use crate::change::point::{ChangeOptions, ChangePoint, Segment, Segments};
use crate::change::segments::segments;
use crate::model::input::Options;
use crate::model::samples::Samples;
use crate::search::runs::Class;

/// A series without its patterns, split into straight segments.
#[derive(Debug, Clone)]
pub(crate) struct Segmentation {
    /// The changes between segments.
    pub changes: Vec<ChangePoint>,
    /// One more than there are changes.
    pub segments: Vec<Segment>,
}

impl Segmentation {
    /// Detects changes in `values`.
    pub fn new(times_us: &[i64], values: &[f64]) -> Self {
        let Segments {
            changes, segments, ..
        } = segments(times_us, values, &ChangeOptions::default());
        Self { changes, segments }
    }

    /// Returns the values minus the line of their segment.
    fn without(&self, times_us: &[i64], values: &[f64]) -> Vec<f64> {
        let mut level = values.to_vec();
        for segment in &self.segments {
            for i in segment.from..segment.to {
                level[i] -= segment.at(times_us[i]);
            }
        }
        level
    }

    /// Returns the only segment, if it has a slope.
    pub fn trend(&self) -> Option<&Segment> {
        match &self.segments[..] {
            [only] => Some(only).filter(|only| only.slope_per_day != 0.0),
            _ => None,
        }
    }
}

/// Finds the patterns of a series, and the changes in the residual. Steps may hide a pattern: if there are
/// some and no pattern is found, the search is repeated without them.
pub(crate) fn find_patterns_and_changes(
    samples: &Samples,
    classes: &[Class],
    options: &Options,
) -> (Findings, Segmentation) {
    let findings = find(samples, classes, options.alpha, options.seed);
    let segmentation = Segmentation::new(&samples.times_us, &findings.rest);
    if !findings.patterns.is_empty() || segmentation.changes.is_empty() {
        return (findings, segmentation);
    }
    let level = Samples {
        values: segmentation.without(&samples.times_us, &samples.values),
        ..samples.clone()
    };
    let below = find(&level, classes, options.alpha, options.seed);
    if below.patterns.is_empty() {
        return (findings, segmentation);
    }
    let left: Vec<f64> = below
        .patterns
        .iter()
        .fold(samples.values.clone(), |left, found| {
            let own = found.values(&samples.wall_us);
            left.iter().zip(own).map(|(a, b)| a - b).collect()
        });
    let segmentation = Segmentation::new(&samples.times_us, &left);
    (below, segmentation)
}
