//! Attributes each pattern to possible causes and orders patterns by relevance.

use super::events::{Scored, score_events};
use super::likelihood::{Cause, ScoredCause, score_causes};
use super::located::score_located;
use super::matches::{Reach, gaps, matches};
use crate::fit::found::{Findings, Found, is_wave};
use crate::model::grid::grid;
use crate::model::input::JobRuns;
use crate::model::samples::{SampleTaken, Samples};
use crate::search::runs::Class;
use crate::statistics::{subtract, sum};

/// Minimum probability at which jobs are reported as the cause.
const SCORE_MIN: f64 = 0.5;
/// A pattern that another one exceeds this many times does not come before it.
const TRIFLE: f64 = 20.0;

/// A pattern that passed an exact fit, with its possible causes.
#[derive(Debug, Clone)]
pub(crate) struct Attribution<'a> {
    /// The pattern.
    pub found: &'a Found,
    /// The interval in microseconds within which each occurrence lies.
    pub gaps: Vec<(i64, i64)>,
    /// All explanations, most likely first.
    pub causes: Vec<ScoredCause>,
    /// What a sample was taken for, where that matters.
    pub sample: Option<SampleTaken>,
    /// Whether jobs, over all classes, are the most likely explanation.
    pub is_explained: bool,
}

/// Returns the patterns that pass an exact fit, with their causes, in the order in which they are reported:
/// first those that jobs explain, then those that are sudden and not small compared with a wave, then the
/// others, and the larger ones of each before the smaller.
pub(crate) fn attribute<'a>(
    samples: &Samples,
    findings: &'a Findings,
    classes: &[Class],
    jobs: &[JobRuns],
) -> Vec<Attribution<'a>> {
    let mut attributions: Vec<Attribution> = Vec::new();
    // What an event's first and last samples show beside it is no pattern of its own.
    let is_edge = |found: &Found| {
        let mut others = findings.patterns.iter();
        others.any(|other| found.pattern.is_edge_of(&other.pattern, samples.gap_us))
    };
    for found in findings.patterns.iter().filter(|found| !is_edge(found)) {
        let values = sum(&findings.rest, &found.values(&samples.wall_us));
        let grid = grid(
            &samples.wall_us,
            &values,
            samples.gap_us,
            found.pattern.grid,
        );
        let gaps = gaps(found, samples);
        let in_gaps = |class: usize, shift| {
            let reach = Reach::shifted(shift, samples);
            matches(&gaps, &classes[class], jobs, samples, reach)
        };
        // An event with its edges, and without the other patterns.
        let mut whole = samples.values.clone();
        for other in &findings.patterns {
            let is_other = !std::ptr::eq(other, found);
            if is_other && !other.pattern.is_edge_of(&found.pattern, samples.gap_us) {
                subtract(&mut whole, &other.values(&samples.wall_us));
            }
        }
        let located = || {
            let causes = score_located(found, samples, classes, jobs)?;
            let sample = None;
            Some(Scored { causes, sample })
        };
        let Scored { causes, sample } = located()
            .or_else(|| score_events(found, samples, &whole, classes, jobs, &in_gaps))
            .unwrap_or_else(|| Scored {
                causes: score_causes(found, &grid, classes, &in_gaps),
                sample: None,
            });
        let known = |other: &Found| found.pattern.reverses(&other.pattern);
        let p_jobs: f64 = if findings.patterns.iter().any(known) {
            0.0
        } else {
            let of_class = |one: &&ScoredCause| matches!(one.cause, Cause::Class(..));
            causes.iter().filter(of_class).map(|one| one.score).sum()
        };
        // A pattern that looked like more than noise may still fail the exact fit.
        let is_nothing = causes.first().is_none_or(|one| one.cause == Cause::Nothing);
        if !is_nothing && found.is_well_supported(samples) {
            attributions.push(Attribution {
                found,
                gaps,
                causes,
                sample,
                is_explained: p_jobs >= SCORE_MIN,
            });
        }
    }
    let size = |one: &Attribution| one.found.pattern.size().abs();
    let wave = attributions
        .iter()
        .filter(|one| is_wave(one.found))
        .map(size)
        .fold(0.0, f64::max);
    let worth = |one: &Attribution| {
        // A pattern that no job explains may be an artefact of load next to a wave.
        let is_sudden = !is_wave(one.found) && (one.is_explained || size(one) * 2.0 > wave);
        // Beside an event or a wave of its period that is this much larger, what else recurs is a trifle, whoever does it.
        let is_trifle = attributions.iter().any(|other| {
            let is_beside =
                !is_wave(other.found) || other.found.pattern.shares_period_with(&one.found.pattern);
            is_beside && size(one) * TRIFLE < size(other)
        });
        (!is_trifle, one.is_explained, is_sudden)
    };
    let worths: Vec<_> = attributions.iter().map(worth).collect();
    let mut ranked: Vec<_> = worths.into_iter().zip(attributions).collect();
    // A stable sort keeps the order in which equals were found.
    ranked.sort_by(|(a_worth, a), (b_worth, b)| {
        b_worth.cmp(a_worth).then(size(b).total_cmp(&size(a)))
    });
    ranked.into_iter().map(|(_, one)| one).collect()
}
