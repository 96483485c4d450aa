//! What a search goes through, and what it finds.

use crate::numbers::count_f64;
use crate::pattern::Pattern;
use crate::search::CYCLES_MIN;
use crate::shape::Form;
use crate::wall::Wall;

/// Of fewer occurrences of a box, each has to show it.
const BURSTS: usize = 6;

/// A series, ready to be searched.
#[derive(Debug, Clone)]
pub(crate) struct Samples {
    /// When they were taken, ascending.
    pub times_us: Vec<i64>,
    /// The same as wall times.
    pub wall_us: Vec<i64>,
    /// What they are, finite.
    pub values: Vec<f64>,
    /// Usual distance.
    pub gap_us: i64,
    /// The clock.
    pub wall: Wall,
}

/// A pattern and how sure it is.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The pattern.
    pub pattern: Pattern,
    /// Probability of one as clear by chance.
    pub p: f64,
    /// The same, below what the bootstrap can show.
    pub tail: f64,
    /// Where jobs' runs are its clock: the best pattern without them.
    pub rival: Option<Pattern>,
    /// Where a job's schedule changed, and the pattern with it: all that its runs do, before and
    /// after.
    pub whole: Option<Pattern>,
    /// Its beginnings that have samples, and how much each speaks for it, in nats.
    pub beginnings: Vec<(i64, f64)>,
    /// Those between which it is on.
    pub on: std::ops::Range<usize>,
}

impl Found {
    /// What is taken out of the series with it.
    pub fn values(&self, wall_us: &[i64]) -> Vec<f64> {
        self.whole.as_ref().unwrap_or(&self.pattern).values(wall_us)
    }

    /// The beginnings that have samples before and after them, while it is on.
    pub fn among(&self, samples: &Samples) -> Vec<(i64, f64)> {
        let middle = self.pattern.middle_us();
        let (Some(&first), Some(&last)) = (samples.wall_us.first(), samples.wall_us.last()) else {
            return Vec::new();
        };
        let is_among = |(at, _): &(i64, f64)| (first..last).contains(&(at + middle));
        let on = self.beginnings[self.on.clone()].iter().copied();
        on.filter(is_among).collect()
    }

    /// Whether enough of its occurrences speak for it: three, and of a few bursts all.
    pub fn is_seen(&self, samples: &Samples) -> bool {
        let on = self.among(samples);
        let shown = on.iter().filter(|(_, gain)| *gain > 0.0).count();
        let is_box = matches!(self.pattern.form, Form::Box { .. });
        count_f64(shown) >= CYCLES_MIN && !(is_box && on.len() < BURSTS && shown < on.len())
    }
}

/// What a search has found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    /// The patterns, in the order of finding.
    pub patterns: Vec<Found>,
    /// Where there is none: one that was seen too rarely.
    pub few: Option<Found>,
    /// The smallest probability of chance of a search that found nothing.
    pub p_none: f64,
    /// What is left without the patterns.
    pub rest: Vec<f64>,
}

/// Whether it is smooth, as load is.
pub(crate) fn is_wave(found: &Found) -> bool {
    found.pattern.form == Form::Wave
}
