//! Windows of the week in which something starts although no job of the list does, as a timer with `RandomizedDelaySec=`
//! would.
//!
//! Whatever no fixed time explains is noise to the search for a period: the larger such events are, the more they look like
//! bursts, of which a few always coincide. So each window of a weekday is compared with the same hours of the other
//! days, as the windows of a listed job are ([`super::windows`]). This is a first look, for the window that
//! is worth a test.

use super::runs::Class;
use super::windows::{CONTROLS_MAX, RUNS_MIN, evidence_of_ranks};
use crate::calendar::offsets::UtcOffsets;
use crate::calendar::periods::{DAY_US, HOUR_US};
use crate::model::grid::Grid;
use crate::statistics::running_medians;
use schedule::Delays;

/// Lengths of the windows that are looked at, and how far apart they begin, in hours.
const WINDOWS_H: [(usize, usize); 2] = [(3, 1), (12, 4)];
const HOURS: usize = 168;
/// How many they are: as many trials.
pub(crate) const WINDOWS: usize = 168 + 42;
/// Half the number of bins whose median is what an event stands on.
const REACH: usize = 6;
/// Bins of an hour, at least.
const BINS_MIN: i64 = 2;
/// Evidence that is worth a test, in nats.
const WORTH_MIN: f64 = 10.0;

/// Returns the windows of a week that stand out most against the same hours of the other days, on each grid, as classes of
/// jobs that start anywhere in them; none if none does.
pub(crate) fn windows_of_week(grids: &[Grid], offsets: &UtcOffsets) -> Vec<Class> {
    let fine = |grid: &&Grid| grid.width_us * BINS_MIN <= HOUR_US;
    let mut found: Vec<(usize, usize)> = Vec::new();
    for tops in grids.iter().filter(fine).filter_map(Tops::new).flatten() {
        for (len, step) in WINDOWS_H {
            found.extend(tops.over(len).clearest(step).map(|from| (len, from)));
        }
    }
    found.sort_unstable();
    found.dedup();
    let class = |(len, from)| class(grids.first()?, offsets, from, len);
    found.into_iter().filter_map(class).collect()
}

/// For each hour, how far the bin that stands out most is above those around it.
struct Tops {
    /// In the order of time; `None` without samples.
    by_hour: Vec<Option<f64>>,
    /// Hour of the week of the first.
    first: usize,
}

impl Tops {
    /// Returns those of rises and of drops.
    fn new(grid: &Grid) -> Option<[Self; 2]> {
        let medians = running_medians(&grid.means, REACH);
        let hour = |wall: i64| wall.div_euclid(HOUR_US);
        let first = hour(*grid.wall_us.first()?);
        let count = usize::try_from(hour(*grid.wall_us.last()?) - first).ok()? + 1;
        let mut up = vec![None; count];
        let mut down = up.clone();
        for ((&wall, mean), median) in grid.wall_us.iter().zip(&grid.means).zip(medians) {
            let at = usize::try_from(hour(wall) - first).ok()?;
            let higher = |top: &mut Option<f64>, apart: f64| {
                *top = Some(top.map_or(apart, |top| if apart > top { apart } else { top }));
            };
            higher(up.get_mut(at)?, mean - median);
            higher(down.get_mut(at)?, median - mean);
        }
        let first = usize::try_from(first.rem_euclid(168)).ok()?;
        Some([up, down].map(|by_hour| Self { by_hour, first }))
    }

    /// Returns the highest of as many hours from each on.
    fn over(&self, len: usize) -> Self {
        let highest = |hours: &[Option<f64>]| {
            let first = *hours.first()?;
            let both = |a: Option<f64>, b: &Option<f64>| Some(a?.max((*b)?));
            hours.iter().fold(first, both)
        };
        Self {
            by_hour: self.by_hour.windows(len).map(highest).collect(),
            first: self.first,
        }
    }

    /// Returns the hour of the week that stands out most, of every so many, if one does.
    fn clearest(&self, step: usize) -> Option<usize> {
        let nats: Vec<f64> = (0..HOURS)
            .step_by(step)
            .map(|from| self.evidence(from))
            .collect();
        let count = nats.len();
        // Of windows that hold the same events, the one in the middle.
        let worth = |at: usize| {
            let beside = nats[(at + 1) % count].min(nats[(at + count - 1) % count]);
            nats[at] + beside.max(0.0) / 1e3
        };
        (0..count)
            .filter(|&at| nats[at] > WORTH_MIN)
            .max_by(|&a, &b| worth(a).total_cmp(&worth(b)))
            .map(|at| at * step)
    }

    /// Returns the evidence of an hour of the week, counted from that of 1970-01-01, a Thursday.
    fn evidence(&self, from: usize) -> f64 {
        // On either side; one in seven is the weekday itself.
        let days = CONTROLS_MAX * 7 / 12;
        let first = (from + HOURS - self.first) % HOURS;
        let ranks: Vec<(usize, usize)> = (first..self.by_hour.len())
            .step_by(HOURS)
            .filter_map(|run| {
                let own = self.by_hour[run]?;
                let before = (1..=days).filter_map(|day| run.checked_sub(day * 24));
                let after = (1..=days).map(|day| run + day * 24);
                let controls = (before.chain(after))
                    .filter(|at| at.abs_diff(run) % HOURS != 0)
                    .filter_map(|at| *self.by_hour.get(at)?);
                let (mut above, mut of) = (0, 0);
                for control in controls {
                    above += usize::from(control >= own);
                    of += 1;
                }
                (of > 0).then_some((above, of))
            })
            .collect();
        if ranks.len() < RUNS_MIN {
            return 0.0;
        }
        evidence_of_ranks(&ranks)
    }
}

/// Returns a job that starts in a window of each week while there are samples.
fn class(grid: &Grid, offsets: &UtcOffsets, from: usize, len: usize) -> Option<Class> {
    let hours = |count: usize| i64::try_from(count).unwrap_or(0) * HOUR_US;
    let week_us = 7 * DAY_US;
    let (&first, &last) = (grid.wall_us.first()?, grid.wall_us.last()?);
    let begin = first + (hours(from) - first).rem_euclid(week_us);
    let weeks = (last - begin).div_euclid(week_us) + 1;
    let starts_us: Vec<(i64, i64)> = (0..weeks)
        .map(|week| begin + week * week_us)
        .map(|at| (at, at + hours(len)))
        .collect();
    Some(Class {
        members: Vec::new(),
        windows_us: (starts_us.iter())
            .map(|(from, to)| (offsets.utc_us(*from), offsets.utc_us(*to)))
            .collect(),
        starts_us,
        period_us: week_us,
        longest_us: week_us,
        is_rescheduled: false,
        is_observed: false,
        delays: Delays::Either,
        is_regular: true,
    })
}
