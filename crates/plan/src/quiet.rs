//! The quiet time of a week, from measured load.
//!
//! Of 168 hours of a week one is always the least busy by chance. So the hours of all days are looked at together first,
//! then those of weekends and of working days, and a single day of the week only if four of its weeks were seen.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use std::collections::BTreeMap;

/// Bins of a day: half an hour each, so that neighbours of a full hour do not blur it.
const DAY_BINS: usize = 48;
const BIN_S: u32 = 1800;
/// Samples that are further apart do not tell the hours.
const DISTANCE_MAX_US: i64 = 2 * 3_600_000_000;
/// A peak counts as this many times what is high for its curve, at most.
const PEAK_MAX: f64 = 3.0;
/// Samples are spread over the time that they are for in parts of this length at most.
const PART_US: i64 = 900_000_000;
/// Shortest history: a day, of which the last sample may be an hour before its end.
const SPAN_MIN_S: f64 = 23.0 * 3600.0;
/// From here on the days of the week are distinguished.
const WEEK_S: f64 = 7.0 * 86_400.0;
/// Share of the days on which a window is no busier than its level: one busy night in five or more is not quiet.
const LEVEL: f64 = 0.8;
/// A window is quiet up to this share of the mean load.
const QUIET_MAX: f64 = 0.5;
/// How often a day of the week has to be seen to count by itself.
const WEEKS_MIN: usize = 4;
const WEEKEND: [Weekday; 2] = [Weekday::Saturday, Weekday::Sunday];

/// A curve of load: higher is busier. Samples ascend.
#[derive(Debug, Clone, Copy)]
pub struct LoadCurve<'a> {
    /// When each sample was taken, in microseconds since the epoch.
    pub times_us: &'a [i64],
    /// The samples.
    pub values: &'a [f64],
}

/// Load by the half hours of each day, in local time.
#[derive(Debug, Clone, PartialEq)]
pub struct WeekLoad {
    /// Relative to the mean of all.
    days: BTreeMap<Date, [Option<f64>; DAY_BINS]>,
    /// Whether the history is too short to tell the days of the week apart.
    pub is_one_day: bool,
    /// Length of the history in seconds.
    pub span_s: f64,
}

/// The quietest window.
#[derive(Debug, Clone, PartialEq)]
pub struct QuietWindow {
    /// When it opens.
    pub from: Time,
    /// The days on which it does, in the order of preference.
    pub days: Vec<Weekday>,
    /// Its load as a share of the mean, which four of five days keep.
    pub share: f64,
}

impl QuietWindow {
    /// Whether it is so much below the mean that it counts as quiet.
    pub fn is_quiet(&self) -> bool {
        self.share <= QUIET_MAX
    }
}

impl WeekLoad {
    /// Folds curves, each relative to what is high for it; `None` if they cover less than a day, have no load, or samples
    /// more than two hours apart.
    #[allow(clippy::cast_precision_loss)] // microseconds of some years
    pub fn of(curves: &[LoadCurve<'_>], zone: &TimeZone) -> Option<Self> {
        let ends = |pick: fn(&[i64]) -> Option<&i64>| {
            curves.iter().filter_map(move |curve| pick(curve.times_us))
        };
        let first = ends(<[i64]>::first).min()?;
        let last = ends(<[i64]>::last).max()?;
        let span_s = (*last as f64 - *first as f64) / 1e6;
        if span_s < SPAN_MIN_S {
            return None;
        }
        // Sum and count.
        let mut sums: BTreeMap<Date, [(f64, f64); DAY_BINS]> = BTreeMap::new();
        for curve in curves {
            let usual_us = usual_distance_us(curve.times_us);
            let Some(scale) = high(curve.values).filter(|_| usual_us <= DISTANCE_MAX_US) else {
                continue;
            };
            let mut before_us = None;
            for (&at_us, value) in curve.times_us.iter().zip(curve.values) {
                let since_us =
                    before_us.map_or(usual_us, |before_us: i64| (at_us - before_us).min(usual_us));
                before_us = Some(at_us);
                // A sample is for the time since the one before it: an hourly one is for two bins.
                let parts = (since_us / PART_US).max(0) + 1;
                for part in 0..parts {
                    let Ok(at) = Timestamp::from_microsecond(at_us - part * since_us / parts)
                    else {
                        continue;
                    };
                    let local = zone.to_datetime(at);
                    let minute = i64::from(local.hour()) * 60 + i64::from(local.minute());
                    let bin = usize::try_from(minute / 30).ok()?;
                    let sum = &mut sums.entry(local.date()).or_insert([(0.0, 0.0); DAY_BINS])[bin];
                    *sum = (sum.0 + (value / scale).min(PEAK_MAX), sum.1 + 1.0);
                }
            }
        }
        let known = || sums.values().flatten().filter(|(_, count)| *count > 0.0);
        let mean =
            known().map(|(sum, count)| sum / count).sum::<f64>() / known().count().max(1) as f64;
        if mean <= 0.0 || !mean.is_finite() {
            return None;
        }
        let relative = |(sum, count): (f64, f64)| (count > 0.0).then(|| sum / count / mean);
        Some(Self {
            days: sums
                .into_iter()
                .map(|(date, bins)| (date, bins.map(relative)))
                .collect(),
            is_one_day: span_s < WEEK_S,
            span_s,
        })
    }

    /// Returns the quietest window of a length, which opens at a full hour; `None` if no window is known as a whole. `days`
    /// are those on which it may open, in the order of preference.
    pub fn quietest(&self, len_s: u32, days: &[Weekday]) -> Option<QuietWindow> {
        let bins = usize::try_from(len_s.div_ceil(BIN_S))
            .ok()?
            .clamp(1, DAY_BINS);
        let best = |days: &[Weekday], seen_min: usize| -> Option<QuietWindow> {
            let windows = (0..24).filter_map(|hour| {
                let level = self.level(days, hour, bins, seen_min)?;
                Some((hour, level))
            });
            let (hour, share) = windows.min_by(|a, b| a.1.total_cmp(&b.1))?;
            let busy = |day: &Weekday| {
                let level = self.level(&[*day], hour, bins, 2);
                !self.is_one_day && level.is_some_and(|level| level > QUIET_MAX.max(share))
            };
            let quiet: Vec<Weekday> = days.iter().copied().filter(|day| !busy(day)).collect();
            Some(QuietWindow {
                from: Time::constant(0, 0, 0, 0)
                    .wrapping_add(SignedDuration::from_hours(i64::from(hour))),
                days: if quiet.is_empty() {
                    days.to_vec()
                } else {
                    quiet
                },
                share,
            })
        };
        let all = best(days, 1)?;
        if all.is_quiet() || self.is_one_day {
            return Some(all);
        }
        let (weekend, working): (Vec<Weekday>, Vec<Weekday>) =
            days.iter().partition(|day| WEEKEND.contains(day));
        let mut pools: Vec<QuietWindow> = [weekend, working]
            .iter()
            .filter_map(|pool| best(pool, 2))
            .collect();
        if !pools.iter().any(QuietWindow::is_quiet) {
            pools = days
                .iter()
                .filter_map(|&day| best(&[day], WEEKS_MIN))
                .collect();
        }
        let quiet = pools.into_iter().filter(QuietWindow::is_quiet);
        Some(
            quiet
                .min_by(|a, b| a.share.total_cmp(&b.share))
                .unwrap_or(all),
        )
    }

    /// The level that a window keeps on most of these days of the week; `None` if it was not seen so often.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // counts of days
    fn level(&self, days: &[Weekday], hour: i8, bins: usize, seen_min: usize) -> Option<f64> {
        let dates = self
            .days
            .keys()
            .filter(|date| self.is_one_day || days.contains(&date.weekday()));
        let mut means: Vec<f64> = dates
            .filter_map(|date| self.mean(*date, hour, bins))
            .collect();
        if means.len() < seen_min.max(1) {
            return None;
        }
        means.sort_by(f64::total_cmp);
        let rank = (LEVEL * means.len() as f64).ceil() as usize;
        means.get(rank.saturating_sub(1)).copied()
    }

    /// The mean of a window that opens on a date, and may end on the next.
    #[allow(clippy::cast_precision_loss)] // 48 at most
    fn mean(&self, date: Date, hour: i8, bins: usize) -> Option<f64> {
        let next = date.checked_add(Span::new().days(1)).ok()?;
        let first = usize::try_from(hour).ok()? * 2;
        let levels = (first..first + bins).map(|bin| {
            let date = if bin < DAY_BINS { date } else { next };
            self.days.get(&date)?[bin % DAY_BINS]
        });
        let sum = levels.sum::<Option<f64>>()?;
        Some(sum / bins as f64)
    }
}

/// What a curve reaches in a tenth of its samples; `None` if that is nothing, as for an event that is rare: it says nothing
/// of load.
fn high(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let high = sorted.get(sorted.len() * 9 / 10)?;
    (*high > 0.0 && high.is_finite()).then_some(*high)
}

/// The median distance of samples.
fn usual_distance_us(times_us: &[i64]) -> i64 {
    let mut distances: Vec<i64> = times_us
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    distances.sort_unstable();
    distances
        .get(distances.len() / 2)
        .copied()
        .unwrap_or(i64::MAX)
}
