//! Lasting changes of a series after its patterns are removed.

use super::find::find;
use super::found::Findings;
use crate::change::{Segments, segments};
use crate::model::input::Options;
use crate::model::samples::Samples;
use crate::search::runs::Class;
use crate::statistics::difference;

/// Finds the patterns of a series, and the changes in the residual. Steps may hide a pattern: if there are
/// some and no pattern is found, the search is repeated without them.
pub(crate) fn find_patterns_and_changes(
    samples: &Samples,
    classes: &[Class],
    options: &Options,
) -> (Findings, Segments) {
    let findings = find(samples, classes, options.alpha, options.seed);
    let segmentation = segments(&samples.times_us, &findings.rest);
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
            difference(&left, &found.values(&samples.wall_us))
        });
    let segmentation = segments(&samples.times_us, &left);
    (below, segmentation)
}
