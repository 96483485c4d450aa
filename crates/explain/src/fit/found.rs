//! Patterns that were found, and their significance.

use crate::calendar::other_zone::OtherZone;
use crate::model::form::Form;
use crate::model::pattern::Pattern;
use crate::model::samples::Samples;
use crate::numbers::count_f64;
use crate::search::periods::CYCLES_MIN;
use crate::statistics::subtract;
use std::sync::Arc;

/// A box with fewer occurrences must be visible in each of them.
const BURSTS: usize = 6;

/// A pattern that was found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The pattern.
    pub pattern: Pattern,
    /// Bootstrap probability of a pattern this clear by chance.
    pub p: f64,
    /// The same, extrapolated below the smallest p that the bootstrap can resolve.
    pub p_extrapolated: f64,
    /// If job runs are its clock: the best pattern without them.
    pub best_without_jobs: Option<Pattern>,
    /// If a job's schedule changed, and the pattern with it: everything its runs do, before and after the
    /// change.
    pub across_schedule_change: Option<Pattern>,
    /// How much worse the best pattern by the clocks of each other zone fits; empty if the clocks of no
    /// other zone differ from those that it follows.
    pub zones: Vec<ZoneFit>,
    /// Its onsets with samples around them, and the evidence of each for the pattern, in nats.
    pub onsets: Vec<(i64, f64)>,
    /// The range of onsets in which it is active.
    pub active: std::ops::Range<usize>,
    /// If its events were located one by one: what they add to each sample, by local time.
    pub located: Option<Arc<Vec<(i64, f64)>>>,
}

/// How well a pattern by another zone's clocks fits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ZoneFit {
    /// The zone; `None` for the analysis' own.
    pub zone: Option<Arc<OtherZone>>,
    /// Log-likelihood of the pattern that was found minus that of the best one by this zone's clocks, in
    /// nats.
    pub loss: f64,
}

impl Found {
    /// Returns the values to subtract from the series.
    pub fn values(&self, wall_us: &[i64]) -> Vec<f64> {
        if let Some(located) = &self.located {
            let at = |wall: &i64| {
                let found = located.binary_search_by_key(wall, |(at, _)| *at);
                found.map_or(0.0, |number| located[number].1)
            };
            return wall_us.iter().map(at).collect();
        }
        self.across_schedule_change
            .as_ref()
            .unwrap_or(&self.pattern)
            .values(wall_us)
    }

    /// Returns the onsets while it is active that have samples before and after them.
    pub fn active_onsets(&self, samples: &Samples) -> Vec<(i64, f64)> {
        let middle = self.pattern.middle_us();
        let (Some(&first), Some(&last)) = (samples.wall_us.first(), samples.wall_us.last()) else {
            return Vec::new();
        };
        let is_among = |(at, _): &(i64, f64)| (first..last).contains(&(at + middle));
        let on = self.onsets[self.active.clone()].iter().copied();
        on.filter(is_among).collect()
    }

    /// Returns those of the active onsets at which there is an event, as far as that is known of each.
    pub fn shown_onsets(&self, samples: &Samples) -> Vec<(i64, f64)> {
        let mut on = self.active_onsets(samples);
        if self.located.is_some() {
            on.retain(|(_, gain)| *gain > 0.0);
        }
        on
    }

    /// Returns how many ends it has within the samples: that it begins late, and that it ends early.
    pub fn ends(&self) -> usize {
        usize::from(self.active.start > 0) + usize::from(self.active.end < self.onsets.len())
    }

    /// Returns whether enough occurrences support it: three, and all of them if there are only a few
    /// bursts.
    pub fn is_well_supported(&self, samples: &Samples) -> bool {
        let on = self.active_onsets(samples);
        let shown = on.iter().filter(|(_, gain)| *gain > 0.0).count();
        let is_box = matches!(self.pattern.form, Form::Box { .. });
        count_f64(shown) >= CYCLES_MIN && !(is_box && on.len() < BURSTS && shown < on.len())
    }
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    /// The patterns, in the order in which they were found.
    pub patterns: Vec<Found>,
    /// If there is none: a pattern with too few cycles to decide.
    pub too_few_cycles: Option<Found>,
    /// The smallest probability by chance among searches that found nothing.
    pub p_none: f64,
    /// The series minus the patterns.
    pub rest: Vec<f64>,
}

impl Findings {
    /// Adds a pattern, and removes it from the rest.
    pub fn add(&mut self, samples: &Samples, found: Found) {
        subtract(&mut self.rest, &found.values(&samples.wall_us));
        self.patterns.push(found);
    }
}

/// Returns whether it is smooth, as load is.
pub(crate) fn is_wave(found: &Found) -> bool {
    found.pattern.form == Form::Wave
}
