//! What recurs: its size, length, shape, and when.

use super::SentenceContext;
use super::cause;
use crate::numbers::seconds;
use crate::verdict::clocks::place;
use crate::verdict::decision::Recurs;
use crate::verdict::like_load::LikeLoad;
use crate::verdict::phrases::{how_often, in_periods, names, percent, periods};
use crate::verdict::recurrence::{Place, Recurrence, Rhythm, Secondary, is_event};
use crate::verdict::result::{Cycle, LocalTime, Requests, Shape};
use facts::series::Better;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use units::date;

/// What is larger, relative to the usual level, is given in its unit: that level is near zero.
const RELATIVE_MAX: f64 = 1_000.0;
/// A rise by more than this, relative to the usual level, is given as a multiple of it.
const PERCENT_MAX: f64 = 2.0;
/// Another pattern is mentioned in the sentence if it is at least this large, relative to the main one; all are listed.
const OTHER_MIN: f64 = 0.25;
const DAY_S: f64 = 86_400.0;
const MINUTE_US: i64 = 60_000_000;

/// How a pattern lies in the interval in which it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// It starts there, and is longer.
    Starts,
    /// It lies there, earlier or later each time.
    Varies,
    /// It lies there.
    Lies,
}

impl SentenceContext<'_> {
    /// The sentences for a pattern: its cause if there is one, what recurs, the evidence, and what else recurs.
    pub(super) fn recurring(&self, recurs: &Recurs, experiment: Option<&str>) -> String {
        let recurrence = &recurs.recurrence;
        let mut text = cause::lead(recurs, self.gap_us);
        let since_until = self.since_until(recurrence);
        if self.requests == Some(Requests::Discards) {
            let end = if since_until.is_empty() { ':' } else { '.' };
            let _ = write!(text, "Probably discards{end} ");
        }
        text.push_str(&since_until);
        text.push_str(&self.what_recurs(recurs));
        text.push('.');
        text.push_str(&self.clocks(recurrence));
        text.push_str(match self.requests {
            None | Some(Requests::DiscardsOrFlushes) => "",
            Some(Requests::Discards) => " Writes do not rise then, as they would with flushes.",
            Some(Requests::WithWrites) => " Writes rise then, too: these may be flushes.",
        });
        text.push_str(&cause::evidence(recurs, self.name));
        text.push_str(match recurs.like_load {
            None => "",
            Some(LikeLoad::WorkingHours) => " Load during working hours looks like this.",
            Some(LikeLoad::TheseDays) => " The usual load of these days looks like this.",
            Some(LikeLoad::DayAndNight) => " The usual load by day and night looks like this.",
            Some(LikeLoad::PartOfWave) => " It may be part of the larger wave of load.",
            Some(LikeLoad::TimesOfDay) => {
                " Other times of the day vary by a comparable amount, so this may be ordinary load."
            }
            Some(LikeLoad::Break) => {
                " A break in the work of these days looks like this, so it may be ordinary load."
            }
            Some(LikeLoad::DayOfRest) => " Lower load on a day of rest looks like this.",
            Some(LikeLoad::Weekend) => " Weekend load looks like this.",
        });
        text.push_str(&cause::experiment(recurs, experiment));
        let least = recurrence.effect.size.abs() * OTHER_MIN;
        let first = recurs.classes.first();
        let is_told = |other: &&Secondary| {
            // What the same jobs do beside is a part of the same event.
            let is_same = first.is_some_and(|first| first.jobs == other.jobs);
            is_event(other.shape) && other.size.abs() >= least && !is_same
        };
        for other in recurs.others.iter().filter(is_told) {
            text.push(' ');
            text.push_str(&self.also(other));
        }
        text.push_str(cause::condition(recurs));
        text
    }

    /// Describes when the pattern began and ended, unless it covers the whole time: `Until 2016-10-17: `.
    fn since_until(&self, recurrence: &Recurrence) -> String {
        let late = recurrence.since.zip(self.first).filter(|(since, first)| {
            since.duration_since(*first).as_secs_f64() > recurrence.rhythm.period_s
        });
        let day = |at: Timestamp| date::day(at, &TimeZone::UTC);
        match (late, recurrence.until) {
            (None, None) => String::new(),
            (Some((since, _)), None) => format!("Since {}: ", day(since)),
            (None, Some(until)) => format!("Until {}: ", day(until)),
            (Some((since, _)), Some(until)) => {
                format!("From {} until {}: ", day(since), day(until))
            }
        }
    }

    fn what_recurs(&self, recurs: &Recurs) -> String {
        let recurrence = &recurs.recurrence;
        let (name, effect) = (self.name, recurrence.effect);
        let size = match effect.relative {
            // Nothing falls by more than all of its usual level, nor rises this often above it: that is near zero.
            Some(relative) if (-1.0..=RELATIVE_MAX).contains(&relative) => percent(relative),
            _ => self.amount(effect.size.abs()),
        };
        let times = (effect.relative)
            .filter(|relative| (PERCENT_MAX..=RELATIVE_MAX).contains(relative))
            .map(|relative| format!("about {} times its usual level", (1.0 + relative).round()));
        let lasting = effect.len_s.map_or(String::new(), |len_s| {
            format!(" for about {}", units::seconds(len_s))
        });
        let when = self.when(recurs, self.within(recurrence));
        match recurrence.shape {
            Shape::Sawtooth => {
                let rises = effect.size > 0.0;
                let worsens = match self.better {
                    Some(Better::Lower) => rises,
                    Some(Better::Higher) | None => !rises,
                };
                let known = self.better.is_some();
                // Nothing decays by more than all of it: what is lost in less than a day is given as a whole.
                let a_day = effect.relative_per_day.filter(|a_day| a_day.abs() < 1.0);
                let drift = match (rises, a_day) {
                    (true, Some(a_day)) => format!("rises {} a day", percent(a_day)),
                    (false, Some(a_day)) => format!("decays {} a day", percent(a_day)),
                    (true, None) => format!("rises by {size}"),
                    (false, None) => format!("decays by {size}"),
                };
                let back = match (known && worsens, rises) {
                    (true, _) => "recovers",
                    (false, true) => "falls back",
                    (false, false) => "jumps back up",
                };
                format!("{name} {drift} and {back} {when}")
            }
            Shape::Spike => match times {
                Some(times) => format!("{name} jumps to {times}{lasting} {when}"),
                None => format!("{name} jumps up by {size}{lasting} {when}"),
            },
            Shape::Dip => format!("{name} drops by {size}{lasting} {when}"),
            Shape::Step => {
                let level = times.unwrap_or_else(|| {
                    let way = if effect.size > 0.0 { "higher" } else { "lower" };
                    format!("{size} {way}")
                });
                format!("{name} is {level}{lasting} {when}")
            }
            Shape::Wave => format!("{name} rises and falls smoothly by {size}, highest {when}"),
        }
    }

    /// Returns how a pattern lies in its interval. One that is shorter than the pattern is where it starts; one that is
    /// wider than samples leave it is wide because it varies.
    fn within(&self, recurrence: &Recurrence) -> Within {
        let width_us = recurrence
            .place
            .map_or(0, |at| at.to_wall_us - at.from_wall_us);
        let is_longer = (recurrence.effect.len_s).is_some_and(|len_s| len_s > seconds(width_us));
        let is_step = recurrence.shape == Shape::Step;
        let is_spike = matches!(recurrence.shape, Shape::Spike | Shape::Dip);
        match recurrence.place {
            Some(_) if is_longer || is_step => Within::Starts,
            Some(_) if is_spike && width_us > self.gap_us * 2 => Within::Varies,
            _ => Within::Lies,
        }
    }

    /// Describes how often, and where in each period: `every week (8 of 8 weeks) between Sunday 06:00 and 07:00 UTC`.
    fn when(&self, recurs: &Recurs, within: Within) -> String {
        let recurrence = &recurs.recurrence;
        let cycle = recurrence.rhythm.cycle;
        let (seen, all) = (recurrence.cycles_seen, recurrence.cycles);
        let often = match cycle {
            Cycle::Runs => cause::starts(recurs, seen == all),
            // Not every day what is seen on few.
            Cycle::Day | Cycle::Week if seen * 2 < all => String::new(),
            _ => how_often(&recurrence.rhythm),
        };
        let often = if often.is_empty() {
            format!("{}{seen} of {all} {}", in_periods(cycle), periods(cycle))
        } else {
            format!("{often} ({seen} of {all} {})", periods(cycle))
        };
        let Some(at) = recurrence.place else {
            return often;
        };
        let place = self.place_between(cycle, (at.from_wall_us, at.to_wall_us));
        let zone = match cycle {
            Cycle::Hour => String::new(),
            _ => format!(" {}", self.zone_of(recurrence)),
        };
        let starting = match within {
            Within::Starts => " starting",
            Within::Varies | Within::Lies => "",
        };
        match (cycle, within) {
            // A single date does not describe all the others.
            (Cycle::Runs | Cycle::Fixed, _) => {
                let next = self.next(recurrence, at);
                format!("{often}, last{starting} {place}{zone}{next}")
            }
            (_, Within::Starts) => format!("{often}, starting {place}{zone}"),
            (_, Within::Varies) => format!("{often}, at varying times {place}{zone}"),
            (_, Within::Lies) if recurrence.shape == Shape::Wave => {
                format!("{place}{zone} {often}")
            }
            (_, Within::Lies) => format!("{often} {place}{zone}"),
        }
    }

    /// Describes the day on which a pattern without a calendar is due next.
    fn next(&self, recurrence: &Recurrence, last: Place) -> String {
        let Rhythm {
            cycle, period_s, ..
        } = recurrence.rhythm;
        if cycle != Cycle::Fixed || period_s < DAY_S || recurrence.until.is_some() {
            return String::new();
        }
        let day = TimeZone::get(self.zone).ok().and_then(|zone| {
            let at = last.from + jiff::SignedDuration::try_from_secs_f64(period_s).ok()?;
            Some(date::day(at, &zone))
        });
        day.map_or(String::new(), |day| format!(", next about {day}"))
    }

    /// Returns the zone whose clocks a pattern follows.
    fn zone_of<'a>(&'a self, recurrence: &'a Recurrence) -> &'a str {
        let clocks = recurrence.clocks.as_ref();
        clocks
            .and_then(|clocks| clocks.other.as_deref())
            .unwrap_or(self.zone)
    }

    /// Describes where a pattern that follows the clocks of another zone is by those of the analysis.
    fn clocks(&self, recurrence: &Recurrence) -> String {
        let Some(clocks) = &recurrence.clocks else {
            return String::new();
        };
        let Some(other) = &clocks.other else {
            return String::new();
        };
        let of = |local: &LocalTime| {
            let (from, to) = (&local.from_text, &local.to_text);
            if from == to {
                from.clone()
            } else {
                format!("{from} to {to}")
            }
        };
        let follows = format!(" It follows {other}, not {}", self.zone);
        match &clocks.places[..] {
            [] | [_] => format!("{follows}."),
            [before, after] if !clocks.alternate() => {
                let change = before.until.or(after.since);
                let day = change.map_or(String::new(), |at| date::day(at, &TimeZone::UTC));
                format!(
                    "{follows}, where it is {} until {day} and {} after.",
                    of(before),
                    of(after)
                )
            }
            [before, after, ..] => {
                format!(
                    "{follows}, where it is {} or {}, by the season.",
                    of(before),
                    of(after)
                )
            }
        }
    }

    /// Describes an interval within a cycle: `between Sunday 06:00 and 07:00`, `at 06:47`.
    fn place_between(&self, cycle: Cycle, wall_us: (i64, i64)) -> String {
        // Seconds mean nothing at the ends of a long interval; it does not become shorter without.
        let is_long = self.gap_us < MINUTE_US && wall_us.1 - wall_us.0 >= 10 * MINUTE_US;
        let gap_us = if is_long { MINUTE_US } else { self.gap_us };
        let up_us = if is_long { MINUTE_US - 1 } else { 0 };
        let from = place(cycle, wall_us.0, gap_us);
        let to = place(cycle, wall_us.1.saturating_add(up_us), gap_us);
        if from == to {
            return format!("at {from}");
        }
        // The same day, or `minute`, is said once.
        let to_told = match (from.rsplit_once(' '), to.rsplit_once(' ')) {
            (Some((first, _)), Some((second, rest))) if first == second => rest,
            _ => to.as_str(),
        };
        format!("between {from} and {to_told}")
    }

    /// Describes another pattern in a sentence.
    pub fn also(&self, pattern: &Secondary) -> String {
        let what = self.secondary(pattern);
        match &pattern.jobs[..] {
            [] => format!("There is also {what}."),
            [job] => format!(
                "There is also {what}, when {} runs.",
                names(std::slice::from_ref(job))
            ),
            jobs => format!("There is also {what}, when {} run.", names(jobs)),
        }
    }

    /// Describes another pattern: `a short rise of 14.6 ms every week between Sunday 06:00 and 07:00`.
    pub(super) fn secondary(&self, pattern: &Secondary) -> String {
        let place = pattern.place_wall_us.map_or(String::new(), |wall_us| {
            let place = self.place_between(pattern.rhythm.cycle, wall_us);
            let zone = pattern.zone.as_ref();
            let zone = zone.map_or(String::new(), |zone| format!(" {zone}"));
            format!(" {place}{zone}")
        });
        let what = match pattern.shape {
            Shape::Sawtooth => "a sawtooth",
            Shape::Spike => "a short rise",
            Shape::Dip => "a short drop",
            Shape::Step if pattern.size > 0.0 => "a longer rise",
            Shape::Step => "a longer drop",
            Shape::Wave => "a smooth wave",
        };
        format!(
            "{what} of {} {}{place}",
            self.amount(pattern.size.abs()),
            how_often(&pattern.rhythm)
        )
    }
}
