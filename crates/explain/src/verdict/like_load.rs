//! What may be load of people rather than the effect of a job.

use super::recurrence::{Recurrence, Rhythm};
use super::result::{Cycle, Effect, Shape};
use super::unlike_load;
use crate::causes::attribution::Attribution;
use crate::causes::likelihood::Cause;
use crate::fit::found::{Findings, Found, is_wave};
use crate::model::samples::Samples;
use crate::numbers::seconds;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

/// Daily or weekly events that last at least this many seconds may be load.
const LOAD_S: f64 = 5_700.0;
/// A step that lasts at least this many hours a day may be load.
const STEP_HOURS: f64 = 5.0;
/// The same next to a wave of load: half of what the highest harmonic of a daily wave resolves.
const NEXT_TO_WAVE_HOURS: f64 = 1.0;
/// Rest on one day of the week is shorter than this many hours.
const REST_HOURS: f64 = 16.0;
/// Hours in which people have breaks.
const DAYTIME: std::ops::Range<i8> = 7..20;
/// Minimum interval of samples that are too far apart to show an edge.
const COARSE_US: i64 = 1_800_000_000;

/// Kinds of load that look the same as a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LikeLoad {
    /// Working hours.
    WorkingHours,
    /// Load on certain days.
    TheseDays,
    /// Day and night load.
    DayAndNight,
    /// A part of a larger wave of load.
    PartOfWave,
    /// Load of each hour of the day.
    TimesOfDay,
    /// A break in the load of certain days.
    Break,
    /// A day of rest.
    DayOfRest,
    /// The weekend.
    Weekend,
}

/// The waves found next to a pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waves {
    /// Whether there is a daily one.
    is_daily: bool,
    /// Whether one with the pattern's period is larger than it.
    is_larger: bool,
}

impl Waves {
    pub fn new(findings: &Findings, found: &Found) -> Self {
        let size = |found: &Found| found.pattern.size().abs();
        let waves = || findings.patterns.iter().filter(|other| is_wave(other));
        let is_larger = |wave: &Found| {
            wave.pattern.shares_period_with(&found.pattern) && size(wave) > size(found)
        };
        Self {
            is_daily: waves().any(|wave| Rhythm::of(&wave.pattern).cycle == Cycle::Day),
            is_larger: waves().any(is_larger),
        }
    }
}

/// Returns whether load comes as often, and lasts as long as the events after the first class's runs do, as far as samples
/// can tell. Those of once a night show no length, and are of benchmarks rather than of people's load.
pub(super) fn is_as_long_as_load(
    recurrence: &Recurrence,
    main: &Attribution,
    samples: &Samples,
) -> bool {
    let near = |period_s: f64| (recurrence.rhythm.period_s / period_s - 1.0).abs() < 0.05;
    let is_weekly = near(604_800.0);
    let is_of_people = near(86_400.0) || is_weekly;
    let is_burst = matches!(recurrence.shape, Shape::Spike | Shape::Dip | Shape::Step);
    let of_jobs = main.causes.iter().find_map(|one| match one.cause {
        Cause::Class(_, fit) => Some(seconds(fit.event?.len_us)),
        _ => None,
    });
    // A gauge shows an event for up to a sample less than it lasts.
    let seen_s = recurrence.effect.len_s.unwrap_or(0.0);
    let len_s = of_jobs.map_or(seen_s, |len_s| len_s.min(seen_s));
    let gap_s = seconds(samples.gap_us);
    let is_long = is_of_people && is_burst && gap_s < LOAD_S && len_s + gap_s / 2.0 >= LOAD_S;
    let is_unlike_load = || {
        is_weekly && unlike_load::is_of_one_day(main.found, samples)
            || unlike_load::is_abrupt(main.found, samples)
            || unlike_load::is_clockwork(main.found, samples)
            || unlike_load::is_scattered(main.found, samples)
    };
    is_long && !is_unlike_load()
}

/// Returns whether a daily event is a drop in the daytime of some days of the week only, although the most likely job runs on
/// others, too (`runs_on_others`): more often, that is a break in people's work than a job that has less to do on some days.
pub(super) fn is_break(recurrence: &Recurrence, runs_on_others: bool, zone: &TimeZone) -> bool {
    let is_in_the_day = recurrence
        .place
        .is_some_and(|place| DAYTIME.contains(&place.from.to_zoned(zone.clone()).hour()));
    let is_of_some_days = recurrence.rhythm.weekdays.is_some();
    recurrence.effect.size < 0.0 && is_of_some_days && is_in_the_day && runs_on_others
}

/// Returns whether samples are too far apart to show an edge.
pub(super) fn is_coarse(samples: &Samples) -> bool {
    samples.gap_us >= COARSE_US
}

/// Returns the kind of load that may look like the pattern: some hours of every day, or the weekend. Next
/// to a larger daily wave, a pattern of some hours may be part of it if samples are too far apart to
/// distinguish a bend from an edge.
pub(super) fn like_load(
    recurrence: &Recurrence,
    waves: Waves,
    samples: &Samples,
    zone: &TimeZone,
) -> Option<LikeLoad> {
    let Effect { size, len_s, .. } = recurrence.effect;
    let hours = len_s? / 3_600.0;
    let from = recurrence.place?.from.to_zoned(zone.clone());
    let is_down = size < 0.0;
    let is_morning = (5..12).contains(&from.hour());
    let is_weekend = matches!(from.weekday(), Weekday::Saturday | Weekday::Sunday);
    match (recurrence.shape, recurrence.rhythm.cycle) {
        (Shape::Step, Cycle::Day) if hours >= STEP_HOURS => {
            Some(match &recurrence.rhythm.weekdays {
                Some(_) if is_morning && !is_down => LikeLoad::WorkingHours,
                Some(_) => LikeLoad::TheseDays,
                None => LikeLoad::DayAndNight,
            })
        }
        (_, Cycle::Day) if waves.is_larger && hours >= NEXT_TO_WAVE_HOURS && is_coarse(samples) => {
            Some(LikeLoad::PartOfWave)
        }
        (_, Cycle::Week)
            if waves.is_daily
                && is_weekend
                && is_down
                && (STEP_HOURS..REST_HOURS).contains(&hours) =>
        {
            Some(LikeLoad::DayOfRest)
        }
        (Shape::Step, Cycle::Week)
            if (24.0..=72.0).contains(&hours)
                && (from.weekday() == Weekday::Friday && from.hour() >= 12
                    || from.weekday() == Weekday::Saturday && from.hour() < 14) =>
        {
            Some(LikeLoad::Weekend)
        }
        _ => None,
    }
}
