//! Simulated curves with a known truth, for tests, benchmarks and the cases.
//!
//! Everything depends on the seed only. Calendars are local, so that clock changes are part of the curves.
//! Noise is Gaussian (Marsaglia and Bray's polar method, 1964).
//!
//! Shared by tests and examples through `#[path]`.
#![allow(dead_code, reason = "each user takes a part of it")]
#![allow(unused_imports, reason = "each user takes a part of it")]

mod jobs;
mod random;

pub use jobs::{RIGHT_CLASS, fifty_jobs, four_jobs, job, runs_of, with_timers};

use facts::series::{Better, Dating, Series};
use jiff::civil::{Date, Time, Weekday, date, time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use random::Random;
use std::collections::BTreeMap;

/// Microseconds per second.
const SECOND_US: i64 = 1_000_000;
const DAY_S: f64 = 86_400.0;
/// Microseconds per day.
const DAY_US: i64 = 86_400 * SECOND_US;
const DAYS_OF_WEEK: i32 = 7;

/// A curve with its truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The curve.
    pub series: Series,
    /// How it was made.
    pub truth: Truth,
}

/// The truth about a simulated curve. Lists are empty if there is nothing of the kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Truth {
    /// Period in seconds, ignoring clock changes.
    pub period_s: Option<f64>,
    /// Times of the resets that have samples before and after them, in microseconds.
    pub resets_us: Vec<i64>,
    /// Times of the samples that contain a spike, in microseconds.
    pub spikes_us: Vec<i64>,
}

/// Nightly runs of a benchmark whose throughput declines until it is reset once a week.
#[derive(Debug, Clone, PartialEq)]
pub struct Sawtooth {
    /// Local date of the first night.
    pub first_day: Date,
    /// Number of nights, including missing ones.
    pub days: u32,
    /// The zone of its calendar.
    pub zone: TimeZone,
    /// Local time at which a night's run is sampled, plus up to `jitter_s`.
    pub run_at: Time,
    /// Upper bound of the delay of a run in seconds, uniform.
    pub jitter_s: f64,
    /// Level right after a reset.
    pub level: f64,
    /// Fraction of the level that is lost over a full week, linearly.
    pub decline: f64,
    /// Standard deviation of the noise, as a fraction of the level.
    pub noise: f64,
    /// Fraction of nights without a sample.
    pub missing: f64,
    /// Weekday of the reset.
    pub reset_day: Weekday,
    /// Local time of the reset.
    pub reset_at: Time,
    /// Local date from which the reset is daily, if ever.
    pub daily_from: Option<Date>,
    /// Local time of the daily reset.
    pub daily_at: Time,
}

impl Default for Sawtooth {
    /// A year of nights in Berlin, resets by Debian's cron.weekly, 12 % a week, one night in ten missing,
    /// noise of 1 %.
    fn default() -> Self {
        Self {
            first_day: date(2025, 1, 1),
            days: 365,
            zone: zone("Europe/Berlin"),
            run_at: time(1, 0, 0, 0),
            jitter_s: 7_200.0,
            level: 1_000.0,
            decline: 0.12,
            noise: 0.01,
            missing: 0.1,
            reset_day: Weekday::Sunday,
            reset_at: time(6, 47, 0, 0),
            daily_from: None,
            daily_at: time(6, 25, 0, 0),
        }
    }
}

impl Sawtooth {
    /// The nightly benchmarks of Elasticsearch in the second half of 2016, following their authors'
    /// description of the curve ("Habt ihr Elasticsearch schon „getrimmt“?", Elastic), which is shown as a
    /// picture.
    ///
    /// From the article: nightly runs; a peak on Monday 2016-09-26 and recoveries on Monday 2016-10-03 and
    /// 2016-10-10, a steady decline between them; Ubuntu 16.04 with its crontab, which starts cron.weekly
    /// (fstrim and man-db) on Sundays at 06:47; fstrim every day from 2016-10-17 on, after which the curve
    /// is level. Assumed here: the same pattern from July to December; 12 % a week, noise of 1 %, one night
    /// in ten missing, runs between 04:00 and 06:00, UTC, cron.daily at Ubuntu's 06:25.
    pub fn of_2016() -> Self {
        Self {
            first_day: date(2016, 7, 1),
            days: 184,
            zone: TimeZone::UTC,
            run_at: time(4, 0, 0, 0),
            daily_from: Some(date(2016, 10, 17)),
            ..Self::default()
        }
    }

    /// Simulates the curve of a seed.
    pub fn simulate(&self, seed: u64) -> Simulated {
        let mut random = Random::new(seed);
        let resets_us = self.resets_us();
        let mut times_us = Vec::new();
        let mut values = Vec::new();
        for index in 0..self.days {
            let day = plus_days(self.first_day, i64::from(index));
            // Drawn for missing nights too, so that the others do not depend on the fraction missing.
            let delay_us = us(random.unit() * self.jitter_s);
            let noise = random.normal();
            if random.unit() < self.missing {
                continue;
            }
            let at_us = moment_us(day, self.run_at, &self.zone) + delay_us;
            // The first reset is more than a week before the first night.
            let reset = resets_us.partition_point(|&reset_us| reset_us <= at_us) - 1;
            let age_weeks = seconds(at_us - resets_us[reset]) / (f64::from(DAYS_OF_WEEK) * DAY_S);
            times_us.push(at_us);
            values.push(self.level * (1.0 - self.decline * age_weeks + self.noise * noise));
        }
        let (first, last) = (times_us.first().copied(), times_us.last().copied());
        let within =
            |at: i64| first.is_some_and(|from| at > from) && last.is_some_and(|to| at <= to);
        Simulated {
            series: series(
                "throughput",
                Some(("ops/s", Better::Higher)),
                times_us,
                values,
            ),
            truth: Truth {
                period_s: Some(f64::from(DAYS_OF_WEEK) * DAY_S),
                resets_us: resets_us.into_iter().filter(|&at| within(at)).collect(),
                ..Truth::default()
            },
        }
    }

    /// Returns all resets from more than a week before the first night until after the last one.
    fn resets_us(&self) -> Vec<i64> {
        let lead = i64::from(2 * DAYS_OF_WEEK);
        (-lead..i64::from(self.days) + 2)
            .map(|index| plus_days(self.first_day, index))
            .filter_map(|day| {
                if self.daily_from.is_some_and(|from| day >= from) {
                    return Some(moment_us(day, self.daily_at, &self.zone));
                }
                (day.weekday() == self.reset_day).then(|| moment_us(day, self.reset_at, &self.zone))
            })
            .collect()
    }
}

/// A metric with one raised sample per local day.
#[derive(Debug, Clone, PartialEq)]
pub struct SpikeTrain {
    /// Local date of the first sample, which is taken at midnight.
    pub first_day: Date,
    /// Number of days.
    pub days: u32,
    /// The zone of its calendar.
    pub zone: TimeZone,
    /// Sampling interval in seconds.
    pub step_s: u32,
    /// Local time whose sample is raised.
    pub spike_at: Time,
    /// Size of the spike in standard deviations of the noise.
    pub amplitude_sigmas: f64,
    /// The underlying noise.
    pub noise: Noise,
}

impl Default for SpikeTrain {
    /// A year in Berlin, sampled every five minutes, a spike of 5 sigma in white noise at 03:10.
    fn default() -> Self {
        Self {
            first_day: date(2025, 1, 1),
            days: 365,
            zone: zone("Europe/Berlin"),
            step_s: 300,
            spike_at: time(3, 10, 0, 0),
            amplitude_sigmas: 5.0,
            noise: Noise::White,
        }
    }
}

impl SpikeTrain {
    /// Simulates the curve of a seed, with a mean of 20 and a standard deviation of 1 outside of the
    /// spikes.
    pub fn simulate(&self, seed: u64) -> Simulated {
        const MEAN: f64 = 20.0;
        let mut random = Random::new(seed);
        let start_us = moment_us(self.first_day, Time::midnight(), &self.zone);
        let end_day = plus_days(self.first_day, i64::from(self.days));
        let end_us = moment_us(end_day, Time::midnight(), &self.zone);
        let step_us = i64::from(self.step_s) * SECOND_US;
        let times_us: Vec<i64> = (0..(end_us - start_us).div_euclid(step_us))
            .map(|index| start_us + index * step_us)
            .collect();
        let mut values = self.noise.draw(times_us.len(), &mut random);
        let mut spikes_us = Vec::new();
        for value in &mut values {
            *value += MEAN;
        }
        for day in 0..self.days {
            let day = plus_days(self.first_day, i64::from(day));
            let at_us = moment_us(day, self.spike_at, &self.zone);
            let after = times_us.partition_point(|&sample_us| sample_us <= at_us);
            if let Some(index) = after.checked_sub(1) {
                values[index] += self.amplitude_sigmas;
                spikes_us.push(times_us[index]);
            }
        }
        Simulated {
            series: series("await", Some(("ms", Better::Lower)), times_us, values),
            truth: Truth {
                period_s: Some(DAY_S),
                spikes_us,
                ..Truth::default()
            },
        }
    }
}

/// Noise with mean 0 and, except for the random walk, a standard deviation of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Independent samples.
    White,
    /// Each sample is `phi` times the previous one plus an innovation; stationary from the first on.
    Ar1 {
        /// Between 0 and 1, both excluded.
        phi: f64,
    },
    /// Each sample is the previous one plus a step of standard deviation 1.
    RandomWalk,
}

impl Noise {
    fn draw(self, count: usize, random: &mut Random) -> Vec<f64> {
        let (phi, sigma) = match self {
            Self::White => (0.0, 1.0),
            Self::Ar1 { phi } => (phi, (1.0 - phi * phi).sqrt()),
            Self::RandomWalk => (1.0, 1.0),
        };
        let mut last = if phi < 1.0 { random.normal() } else { 0.0 };
        (0..count)
            .map(|_| {
                let value = last;
                last = phi * last + sigma * random.normal();
                value
            })
            .collect()
    }
}

/// A curve unaffected by any job.
#[derive(Debug, Clone, PartialEq)]
pub struct Null {
    /// Local date of the first sample, which is taken at midnight.
    pub first_day: Date,
    /// The zone of its calendar.
    pub zone: TimeZone,
    /// Number of samples.
    pub samples: u32,
    /// Sampling interval in seconds.
    pub step_s: u32,
    /// The noise.
    pub noise: Noise,
    /// Amplitude of a smooth daily wave with a harmonic, in standard deviations of the noise, if there is
    /// one. Its phases are random.
    pub daily_wave_sigmas: Option<f64>,
}

impl Null {
    /// Simulates the curve of a seed, with a mean of 100.
    pub fn simulate(&self, seed: u64) -> Simulated {
        const MEAN: f64 = 100.0;
        let mut random = Random::new(seed);
        let start_us = moment_us(self.first_day, Time::midnight(), &self.zone);
        let step_us = i64::from(self.step_s) * SECOND_US;
        let times_us: Vec<i64> = (0..i64::from(self.samples))
            .map(|index| start_us + index * step_us)
            .collect();
        let count = times_us.len();
        let mut values = self.noise.draw(count, &mut random);
        for value in &mut values {
            *value += MEAN;
        }
        if let Some(amplitude) = self.daily_wave_sigmas {
            let turn = std::f64::consts::TAU;
            let (phase, phase_of_second) = (random.unit() * turn, random.unit() * turn);
            let mut clock = LocalClock::new(self.zone.clone());
            for (value, &at_us) in values.iter_mut().zip(&times_us) {
                let angle = turn * clock.seconds_of_day(at_us) / DAY_S;
                let wave = (angle + phase).sin() + 0.3 * (2.0 * angle + phase_of_second).sin();
                *value += amplitude * wave;
            }
        }
        Simulated {
            series: series("load", None, times_us, values),
            truth: Truth {
                period_s: self.daily_wave_sigmas.map(|_| DAY_S),
                ..Truth::default()
            },
        }
    }
}

/// Returns a zone of the bundled database.
///
/// # Panics
/// When there is no such zone; names here are hard-coded.
pub fn zone(name: &str) -> TimeZone {
    schedule::parse_zone(name).unwrap_or_else(|error| panic!("{error}"))
}

fn series(
    name: &str,
    unit: Option<(&str, Better)>,
    times_us: Vec<i64>,
    values: Vec<f64>,
) -> Series {
    Series {
        name: name.to_owned(),
        source: "simulated".to_owned(),
        labels: BTreeMap::new(),
        unit: unit.map(|(unit, _)| unit.to_owned()),
        better: unit.map(|(_, better)| better),
        dating: Dating::Absolute,
        sample_of: None,
        times_us,
        values,
        notes: Vec::new(),
        discard_time: None,
    }
}

fn plus_days(day: Date, days: i64) -> Date {
    day.saturating_add(Span::new().days(days))
}

/// Returns the timestamp of a local time; within a gap of the clock, the time after it, as in jiff.
fn moment_us(day: Date, at: Time, zone: &TimeZone) -> i64 {
    zone.to_ambiguous_zoned(day.to_datetime(at))
        .compatible()
        .expect("days of simulations lie within jiff's range")
        .timestamp()
        .as_microsecond()
}

/// Converts ascending timestamps to local time without a database lookup for each.
struct LocalClock {
    zone: TimeZone,
    offset_us: i64,
    valid_until_us: i64,
}

impl LocalClock {
    fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            offset_us: 0,
            valid_until_us: i64::MIN,
        }
    }

    fn seconds_of_day(&mut self, at_us: i64) -> f64 {
        if at_us >= self.valid_until_us
            && let Ok(at) = Timestamp::from_microsecond(at_us)
        {
            self.offset_us = i64::from(self.zone.to_offset(at).seconds()) * SECOND_US;
            self.valid_until_us = self
                .zone
                .following(at)
                .next()
                .map_or(i64::MAX, |change| change.timestamp().as_microsecond());
        }
        seconds((at_us + self.offset_us).rem_euclid(DAY_US))
    }
}

/// Seconds of a span in microseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "spans here are far below 2^53 microseconds"
)]
pub fn seconds(span_us: i64) -> f64 {
    span_us as f64 / 1e6
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "delays of hours; parts of a microsecond do not matter"
)]
fn us(span_s: f64) -> i64 {
    (span_s * 1e6) as i64
}
