//! A pattern: its clock, its form and its size.

use crate::calendar::other_zone::OtherZone;
use crate::calendar::periods::{DAY_US, is_period};
use crate::calendar::weekdays::Weekdays;
use crate::model::form::Form;
use crate::model::grid::Variant;
use crate::model::noise::Fit;
use crate::numbers::{as_f64, as_i64, count_f64, widest_us};
use std::sync::Arc;

/// A correction of a box's length is at most this many times as large as the box.
const PATCH_MAX: f64 = 1.3;
/// Lengths or sizes that differ by less than this factor may be equal.
const ALIKE_MAX: f64 = 1.25;
/// A run counts as the latest one for this many periods.
const AGE_MAX: f64 = 2.0;
/// Phases of a period at which a wave is looked at.
const PHASES: usize = 64;

/// The onsets of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Clock {
    /// Periodic in the local time of a zone.
    Fixed {
        /// Period in microseconds.
        period_us: f64,
        /// Local time of one onset, there.
        origin_us: f64,
        /// The days of the week with an onset, there.
        days: Weekdays,
        /// The zone; `None` for the analysis' own.
        zone: Option<Arc<OtherZone>>,
    },
    /// The runs of a job.
    Runs {
        /// Local times of the runs, ascending.
        starts_us: Vec<i64>,
        /// Median interval between runs.
        period_us: i64,
        /// If each starts anywhere in a window that recurs: that.
        window: Option<Window>,
    },
}

/// Where in each period of a calendar something may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// A day or a week, in microseconds.
    pub period_us: i64,
    /// The last one in local time, in microseconds.
    pub last_us: (i64, i64),
}

/// A pattern.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    /// Its onsets.
    pub clock: Clock,
    /// The class of jobs whose runs are the clock.
    pub class: Option<usize>,
    /// The grid on which it was found.
    pub grid: usize,
    /// The variant of the values in which it was found.
    pub variant: Variant,
    /// Its form; phase 0 is the reset or the onset.
    pub form: Form,
    /// The amplitude of the form; for a wave, the cosine and sine coefficients of each harmonic.
    pub coefficients: Vec<f64>,
    /// The interval of each occurrence relative to its onset: earliest and latest, in microseconds.
    pub interval_us: (i64, i64),
    /// Local times between which it is active.
    pub active_us: (i64, i64),
    /// Its fit on its grid.
    pub fit: Fit,
    /// Log-likelihood gain, in nats.
    pub gain: f64,
}

impl Clock {
    /// Returns the interval between onsets in microseconds.
    pub fn period_us(&self) -> f64 {
        match self {
            Self::Fixed { period_us, .. } => *period_us,
            Self::Runs { period_us, .. } => as_f64(*period_us),
        }
    }

    /// Returns the period and the local time of one onset, if it is periodic.
    fn fixed(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Fixed {
                period_us,
                origin_us,
                ..
            } => Some((period_us, origin_us)),
            Self::Runs { .. } => None,
        }
    }

    /// Returns the days of the week with an onset.
    pub fn weekdays(&self) -> Weekdays {
        match self {
            Self::Fixed { days, .. } => *days,
            Self::Runs { .. } => Weekdays::ALL,
        }
    }

    /// Returns whether the daily onset nearest to a local time is on one of its days.
    pub fn is_on_its_days(&self, wall_us: i64) -> bool {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
                days,
                zone,
            } => {
                let turns =
                    ((as_f64(there(zone.as_ref(), wall_us)) - origin_us) / period_us).round();
                days.has(as_i64(origin_us + turns * period_us))
            }
            Self::Runs { .. } => true,
        }
    }

    /// Returns the phases of ascending local times; above 1 if a run is overdue, or on days without an
    /// onset.
    pub fn phases(&self, wall_us: &[i64]) -> Vec<f64> {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
                days,
                zone,
            } => wall_us
                .iter()
                .map(|&wall| {
                    // Faster than a remainder.
                    let turns = (as_f64(there(zone.as_ref(), wall)) - origin_us) / period_us;
                    let whole = turns.floor();
                    let phase = turns - whole;
                    if *days == Weekdays::ALL || days.has(as_i64(origin_us + whole * period_us)) {
                        phase
                    } else {
                        1.0 + phase
                    }
                })
                .collect(),
            Self::Runs {
                starts_us,
                period_us,
                ..
            } => ages(starts_us, *period_us, wall_us),
        }
    }

    /// Returns the zone whose local time it follows, if it is not the analysis' own.
    pub fn zone(&self) -> Option<&Arc<OtherZone>> {
        match self {
            Self::Fixed { zone, .. } => zone.as_ref(),
            Self::Runs { .. } => None,
        }
    }

    /// Returns it with the same local times in another zone.
    pub fn in_zone(mut self, other: Option<Arc<OtherZone>>) -> Self {
        if let Self::Fixed { zone, .. } = &mut self {
            *zone = other;
        }
        self
    }

    /// Returns the onsets between two local times.
    pub fn onsets(&self, from_us: i64, until_us: i64) -> Vec<i64> {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
                days,
                zone,
            } => {
                let (from_us, until_us) = (
                    there(zone.as_ref(), from_us),
                    there(zone.as_ref(), until_us),
                );
                let first = ((as_f64(from_us) - origin_us) / period_us).ceil();
                let count = (as_f64(until_us - from_us) / period_us)
                    .floor()
                    .clamp(0.0, 1e7)
                    + 2.0;
                let mut number = 0.0;
                std::iter::from_fn(|| {
                    let at = origin_us + (first + number) * period_us;
                    number += 1.0;
                    (number <= count).then_some(at.round())
                })
                .map(as_i64)
                .filter(|&at| (from_us..=until_us).contains(&at) && days.has(at))
                .map(|at| zone.as_ref().map_or(at, |zone| zone.here_us(at)))
                .collect()
            }
            Self::Runs { starts_us, .. } => starts_us
                .iter()
                .copied()
                .filter(|at| (from_us..=until_us).contains(at))
                .collect(),
        }
    }
}

/// Converts the analysis' local time to that of a zone.
fn there(zone: Option<&Arc<OtherZone>>, wall_us: i64) -> i64 {
    zone.map_or(wall_us, |zone| zone.there_us(wall_us))
}

impl Pattern {
    /// Creates a pattern that is always active, of no size before it is fitted.
    pub fn unfitted(
        clock: Clock,
        form: Form,
        grid: usize,
        variant: Variant,
        interval_us: (i64, i64),
    ) -> Self {
        Self {
            clock,
            class: None,
            grid,
            variant,
            form,
            coefficients: Vec::new(),
            interval_us,
            active_us: (i64::MIN, i64::MAX),
            fit: Fit {
                coefficients: Vec::new(),
                phi: 0.0,
                variance: 1.0,
                log_likelihood: 0.0,
            },
            gain: 0.0,
        }
    }

    /// Returns whether it is active at a local time.
    pub fn is_active(&self, wall_us: i64) -> bool {
        (self.active_us.0..=self.active_us.1).contains(&wall_us)
    }

    /// Returns how long its events last, in microseconds; `None` if it does not consist of events.
    pub fn len_us(&self) -> Option<i64> {
        match self.form {
            Form::Box { duty } => Some(as_i64(duty * self.clock.period_us())),
            Form::Sawtooth | Form::Wave => None,
        }
    }

    /// Returns its contribution at each of ascending local times.
    pub fn values(&self, wall_us: &[i64]) -> Vec<f64> {
        let phases = self.clock.phases(wall_us);
        wall_us
            .iter()
            .zip(phases)
            .map(|(&wall, phase)| {
                if self.is_active(wall) {
                    contribution(self.form, &self.coefficients, phase)
                } else {
                    0.0
                }
            })
            .collect()
    }

    /// Returns whether it has become part of another pattern with the same period: a smaller one with the
    /// same onset, or a box within that one with the opposite sign, which corrects its length.
    pub fn is_part_of(&self, other: &Self) -> bool {
        let ratio = self.size().abs() / other.size().abs();
        let is_patch = match (self.form, other.form) {
            (Form::Box { .. }, Form::Box { duty }) => {
                self.after(other)
                    .is_some_and(|after| after <= duty * other.clock.period_us())
                    && self.size() * other.size() < 0.0
            }
            _ => false,
        };
        self.shares_period_with(other)
            && (self.coincides_with(other) && ratio < 1.0 || is_patch && ratio < PATCH_MAX)
    }

    /// Returns whether it corrects what another event shows in its first or last samples, which it fills in part: a smaller
    /// event of at most two of them, with the same period.
    pub fn is_edge_of(&self, other: &Self, gap_us: i64) -> bool {
        let (Form::Box { duty }, Form::Box { duty: whole }) = (self.form, other.form) else {
            return false;
        };
        let (gap, period_us) = (as_f64(gap_us), self.clock.period_us());
        let len = duty * period_us;
        // Intervals of onsets are as wide as samples are apart.
        let is_beside = self.after(other).is_some_and(|after| {
            after <= whole * other.clock.period_us() + gap || period_us - after <= len + gap
        });
        self.shares_period_with(other)
            && len <= gap * 2.5
            && self.size().abs() < other.size().abs()
            && is_beside
    }

    /// Returns whether it shares its period, and some days of the week, with another one.
    pub fn shares_period_with(&self, other: &Self) -> bool {
        let (days, known) = (self.clock.weekdays(), other.clock.weekdays());
        days.intersects(known)
            && (self.clock.period_us() / other.clock.period_us() - 1.0).abs() < 0.01
    }

    /// Returns whether its onset coincides with that of another one with the same period, within their
    /// intervals.
    pub fn coincides_with(&self, other: &Self) -> bool {
        self.after(other)
            .is_some_and(|after| after.min(self.clock.period_us() - after) <= self.slack_us(other))
    }

    /// Returns whether it reverses a daily pattern on some days of the week: it starts at the same time of
    /// day, lasts as long, and has the opposite sign, because people rest then or work less.
    pub fn reverses(&self, daily: &Self) -> bool {
        let (Form::Box { duty }, Form::Box { duty: known }) = (self.form, daily.form) else {
            return false;
        };
        let (Some((period_us, origin_us)), Some((day_us, first_us))) =
            (self.clock.fixed(), daily.clock.fixed())
        else {
            return false;
        };
        let is_of_some = is_period(period_us, 7 * DAY_US)
            || is_period(period_us, DAY_US) && self.clock.weekdays() != Weekdays::ALL;
        let is_less =
            self.size() * daily.size() < 0.0 && self.size().abs() < daily.size().abs() * ALIKE_MAX;
        let len = duty * period_us / (known * day_us);
        let apart = (origin_us - first_us).rem_euclid(day_us);
        is_of_some
            && self.clock.zone() == daily.clock.zone()
            && is_period(day_us, DAY_US)
            && is_less
            && (1.0 / ALIKE_MAX..ALIKE_MAX).contains(&len)
            && apart.min(day_us - apart) <= self.slack_us(daily)
    }

    /// Returns the width of the wider one of its interval and of another pattern's.
    fn slack_us(&self, other: &Self) -> f64 {
        as_f64(widest_us(&[self.interval_us, other.interval_us]))
    }

    /// Returns how long after another pattern it begins, modulo its own period, in microseconds; `None` if
    /// jobs are the clock of either.
    fn after(&self, other: &Self) -> Option<f64> {
        let (period_us, origin_us) = self.clock.fixed()?;
        let (_, first_us) = other.clock.fixed()?;
        // Onsets by the clocks of two zones are not equally far apart.
        let is_same_zone = self.clock.zone() == other.clock.zone();
        is_same_zone.then(|| (origin_us - first_us).rem_euclid(period_us))
    }

    /// Returns the middle of an occurrence's interval, relative to its onset.
    pub fn middle_us(&self) -> i64 {
        let (from, to) = self.interval_us;
        from + (to - from) / 2
    }

    /// Returns its values at [`PHASES`] phases of a period.
    pub fn over_a_period(&self) -> [f64; PHASES] {
        std::array::from_fn(|phase| {
            let phase = count_f64(phase) / count_f64(PHASES);
            contribution(self.form, &self.coefficients, phase)
        })
    }

    /// Returns the difference between its highest and lowest value, with the sign of its form.
    pub fn size(&self) -> f64 {
        match self.form {
            Form::Wave => {
                let values = self.over_a_period();
                let top = values.iter().copied().fold(f64::MIN, f64::max);
                top - values.iter().copied().fold(f64::MAX, f64::min)
            }
            _ => self.coefficients[0],
        }
    }
}

fn contribution(form: Form, coefficients: &[f64], phase: f64) -> f64 {
    match form {
        Form::Wave => {
            // Each harmonic is turned from the one before it: sines and cosines are slow.
            let (sin_turn, cos_turn) = (std::f64::consts::TAU * phase).sin_cos();
            let (mut sin, mut cos, mut sum) = (sin_turn, cos_turn, 0.0);
            for pair in coefficients.chunks(2) {
                sum += pair[0] * cos + pair.get(1).copied().unwrap_or(0.0) * sin;
                (sin, cos) = (
                    sin * cos_turn + cos * sin_turn,
                    cos * cos_turn - sin * sin_turn,
                );
            }
            sum
        }
        _ => coefficients[0] * form.at(phase.min(1.0)),
    }
}

/// Returns the number of periods since the latest of the ascending `starts`, for each of the ascending
/// times. A sample at the exact time of a start covers the time before it, so a start takes effect a
/// microsecond later.
pub(crate) fn ages(starts: &[i64], period_us: i64, wall_us: &[i64]) -> Vec<f64> {
    let mut next = 0;
    wall_us
        .iter()
        .map(|&wall| {
            while next < starts.len() && starts[next] < wall {
                next += 1;
            }
            let begun = match next {
                // Before the first known start, assume that the one before it was on schedule.
                0 => {
                    let ahead = starts.first().map_or(0, |&first| first + 1 - wall);
                    wall - (period_us - ahead.rem_euclid(period_us)).rem_euclid(period_us)
                }
                _ => starts[next - 1] + 1,
            };
            (as_f64(wall - begun) / as_f64(period_us)).min(AGE_MAX)
        })
        .collect()
}
