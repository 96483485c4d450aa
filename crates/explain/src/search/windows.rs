//! Jobs that start anywhere in a window, such as timers with `RandomizedDelaySec=`, and jobs whose runs follow no period.
//!
//! Each run is looked at in its own window: whether something stands out there, wherever in it, as it does in none of
//! its control windows. These are as wide and lie at the same time on days without a run, so that load is its own control;
//! a job of every day is compared with the rest of the day. Only the rank of a window among its controls counts. So bursts
//! are noise where they come at other times, too, and a larger effect can never be worse evidence.
//!
//! Under the null hypothesis, a window and its controls are exchangeable, and any rank is as likely as another. Then the
//! likelihood ratio of a rank that is high on a share of the runs exceeds `e^x` with a probability of at most `e^-x`
//! (Markov's inequality, as for e-values: Vovk and Wang 2021).

use super::runs::Class;
use crate::calendar::periods::DAY_US;
use crate::numbers::{as_f64, as_i64, count_f64};
use crate::statistics::{difference, median, prefix_sums, quantile, robust_scale, running_medians};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// Minimum number of runs with samples and controls.
pub(super) const RUNS_MIN: usize = 4;
/// Runs of a class that are compared, and controls of each, at most.
const RUNS_MAX: usize = 150;
pub(super) const CONTROLS_MAX: usize = 40;
/// The nearest ones, of a job of every day: noise grows with load.
const CONTROLS_OF_DAY: usize = 12;
/// A job that runs at least this often is compared with the rest of the day.
const OFTEN_US: i64 = DAY_US * 3 / 2;
/// An event begins at most so long after a start, beyond what samples show: programs take time to start.
pub(crate) const LATE_US: i64 = 120_000_000;
/// The first of so many parts of an event of hours is at least this high, relative to the whole.
const HEAD_FROM_US: i64 = 3 * 3_600_000_000;
const HEAD: usize = 4;
const HEAD_MIN: f64 = 0.15;
/// Events last at most so long, and at most this share of a period.
const LEN_MAX_US: i64 = 9 * 3_600_000_000;
const LEN_SHARE_MAX: f64 = 0.3;
/// Where windows take so much of a day that what is left between them is night, humps are as long as these.
const LEN_SHARE_BETWEEN: f64 = 0.17;
/// The length of what an event stands above, on either side of it, in time and in samples.
const SIDE_US: i64 = 1_800_000_000;
const SIDE_SAMPLES: (usize, usize) = (3, 121);
/// Probability of the highest rank, and of each next one relative to that before it, on a run that has an effect.
const TOP: f64 = 0.7;
/// Shares of the runs that may have an effect.
const SHARES: [f64; 5] = [1.0, 0.7, 0.5, 0.34, 0.25];
/// Events stand out of what controls show by this many of their robust standard deviations, and by this factor of what nine
/// in ten show at most. Windows at other times of the day are no more than alike.
const CLEAR: f64 = 4.0;
const LARGER: f64 = 1.2;
const LARGER_OF_DAY: f64 = 1.6;
const LARGER_BETWEEN: f64 = 2.0;
/// Samples between windows, at least, if these leave no room for others.
const BETWEEN_SAMPLES: i64 = 8;
/// Times of the day that are distinguished.
const TIME_OF_DAY_US: i64 = 300_000_000;
/// An event is seen if it is at least this large, relative to the others.
const SEEN_MIN: f64 = 0.3;
/// Noise can be in proportion to levels that are never below this part of their median.
const LEVEL_MIN: f64 = 0.1;
/// What counts least of an event that is hardly larger than what other windows show.
const CLARITY_MIN: f64 = 0.05;
/// How inexact an event's begin is, in squares of the ratio of noise and size, and at most, in samples.
const UNCLEAR: f64 = 8.0;
const UNCLEAR_MAX: f64 = 3.0;
/// Events of every day begin by rising by this part of their size, within this part of their length.
const ABRUPT: f64 = 0.65;
const EDGE_PART: usize = 6;
/// Minimum number of them.
const SEEN_LEAST: usize = 3;

/// The window of a run, in microseconds of UTC, and the event in it.
pub(crate) type RunEvent = ((i64, i64), Option<Event>);

/// A job's events, each found in the window of its own run.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// The class whose windows they are in.
    pub class: usize,
    /// Logarithm of the evidence that its runs matter, after all that were tried, in nats: the probability of more by
    /// chance is at most `e^-nats`.
    pub nats: f64,
    /// How inexactly the samples tell when an event begins, in microseconds.
    pub unclear_us: i64,
    /// For each run with samples: its window, in microseconds of UTC, and the event in it.
    pub runs: Vec<RunEvent>,
}

/// An event: the samples that it fills, how far it stands above what is around it, and that level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Indices of its samples.
    pub samples: Range<usize>,
    /// Mean distance from the level, negative for a drop.
    pub size: f64,
    /// What it stands on.
    pub level: f64,
    /// Above 0, and 1 if it is at least twice as large as what most windows without a run show.
    pub clarity: f64,
}

/// A series to look for events in.
struct Scan<'a> {
    times_us: &'a [i64],
    gap_us: i64,
    /// Values, with their sign changed for drops.
    values: Vec<f64>,
    /// Sums of the values before each.
    sums: Vec<f64>,
    /// Median of the values around each, of `2 reach + 1` of them.
    medians: Vec<f64>,
    reach: usize,
    /// Robust standard deviation of the values from these.
    noise: f64,
    /// Lengths that are tried, in samples.
    lengths: Vec<usize>,
}

/// What the windows of some runs and of their controls show: for each run, for each length, how far the highest stands out, and
/// the same of each of its controls.
struct Shown(Vec<(Vec<f64>, Vec<Vec<f64>>)>);

/// Which events a class's windows have.
struct Kind {
    nats: f64,
    /// What controls reach in one case of ten.
    usual_max: f64,
    /// The median of what stands out on runs with an effect.
    clear: f64,
    /// Whether that was compared with what is left between windows.
    is_between: bool,
}

/// Returns the class whose windows have the clearest events. `alpha` is the probability of finding some by chance.
pub(crate) fn locate(
    times_us: &[i64],
    values: &[f64],
    gap_us: i64,
    classes: &[Class],
    alpha: f64,
) -> Option<Located> {
    let wanted: Vec<(usize, &Class)> = (classes.iter().enumerate())
        .filter(|(_, class)| class.is_moving(gap_us))
        .collect();
    if wanted.is_empty() || times_us.len() < 4 * SIDE_SAMPLES.0 {
        return None;
    }
    // Noise in proportion to the level is the same everywhere in its logarithm.
    let is_relative = is_in_proportion(values, side_reach(gap_us));
    let seen: Vec<f64> = if is_relative {
        values.iter().map(|value| value.ln()).collect()
    } else {
        values.to_vec()
    };
    let opposite = seen.iter().map(|value| -value).collect();
    let (down, up) = rayon::join(
        || Scan::new(times_us, opposite, gap_us),
        || Scan::new(times_us, seen, gap_us),
    );
    // Where there is no room for other windows as wide, each time of the day is compared with itself.
    let is_full = |class: &Class| leaves_no_room(class, gap_us);
    let of_day = (wanted.iter().any(|(_, class)| is_full(class)))
        .then(|| at_time_of_day(times_us, &up.values, gap_us));
    let flat =
        (of_day.as_ref()).map(|of_day| Scan::new(times_us, difference(&up.values, of_day), gap_us));
    let scan_of = |class: &Class, is_drop: bool| match (&flat, is_drop) {
        (Some(flat), _) if is_full(class) => flat,
        (_, true) => &down,
        _ => &up,
    };
    let tried: Vec<(Kind, usize, bool)> = (wanted.iter())
        .flat_map(|&(number, class)| [(number, class, false), (number, class, true)])
        .collect::<Vec<_>>()
        .into_par_iter()
        .filter_map(|(number, class, is_drop)| {
            // Next to windows of half the day, the trough of a daily wave looks like an improvement.
            if is_drop && is_full(class) {
                return None;
            }
            Some((scan_of(class, is_drop).kind(class)?, number, is_drop))
        })
        .collect();
    let trials = count_f64(wanted.len() * 2 * SHARES.len()).ln();
    let (kind, number, is_drop) = (tried.into_iter())
        .filter(|one| one.0.nats - trials >= -alpha.ln())
        .min_by(|a, b| {
            // What is left between windows is another time of the day.
            let order = a.0.is_between.cmp(&b.0.is_between);
            order.then(b.0.nats.total_cmp(&a.0.nats))
        })?;
    let scan = scan_of(&classes[number], is_drop);
    let mut runs = scan.events(&classes[number], &kind)?;
    let unclear_us = scan.unclear_us(&runs);
    for event in runs.iter_mut().filter_map(|run| run.1.as_mut()) {
        if is_drop {
            (event.size, event.level) = (-event.size, -event.level);
        }
        if let Some(of_day) = of_day.as_ref().filter(|_| kind.is_between) {
            event.level += of_day[event.samples.start];
        }
        if is_relative {
            let level = event.level.exp();
            (event.size, event.level) = (level * event.size.exp_m1(), level);
        }
    }
    Some(Located {
        class: number,
        nats: kind.nats - trials,
        unclear_us,
        runs,
    })
}

/// Whether between the windows of a job of every day there is no room for others as wide.
fn leaves_no_room(class: &Class, gap_us: i64) -> bool {
    class.period_us < OFTEN_US && (class.width_us() + LATE_US + gap_us) * 2 > class.period_us
}

/// The median of the values at each one's time of the day: what comes at any time of half the day is at each on few days.
fn at_time_of_day(times_us: &[i64], values: &[f64], gap_us: i64) -> Vec<f64> {
    let width_us = gap_us.max(TIME_OF_DAY_US);
    let of = |at_us: i64| at_us.rem_euclid(DAY_US) / width_us;
    let mut by_time: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (&at_us, &value) in times_us.iter().zip(values) {
        by_time.entry(of(at_us)).or_default().push(value);
    }
    let medians: BTreeMap<i64, f64> = (by_time.into_iter())
        .map(|(time, values)| (time, median(values)))
        .collect();
    times_us.iter().map(|&at_us| medians[&of(at_us)]).collect()
}

/// Half the number of samples whose median is what events stand on.
fn side_reach(gap_us: i64) -> usize {
    let side = usize::try_from(SIDE_US / gap_us.max(1)).unwrap_or(0);
    side.clamp(SIDE_SAMPLES.0, SIDE_SAMPLES.1) / 2
}

/// Returns whether noise is larger where values are, in proportion: none of them is near zero, and the half of them on a
/// higher level varies more than the other by at least the root of how much higher it is. Unlike the likelihood in
/// `causes::baseline`, which is asked of what is left, this bears events of any size.
fn is_in_proportion(values: &[f64], reach: usize) -> bool {
    if values.iter().any(|value| *value <= 0.0) {
        return false;
    }
    let medians = running_medians(values, reach);
    let middle = median(medians.clone());
    if medians.iter().any(|at| *at < middle * LEVEL_MIN) {
        return false;
    }
    let of = |is_high: bool| {
        let within = || {
            let both = values.iter().zip(&medians);
            both.filter(move |(_, at)| (**at > middle) == is_high)
        };
        let apart: Vec<f64> = within().map(|(value, at)| value - at).collect();
        (
            median(within().map(|(_, at)| *at).collect()),
            robust_scale(&apart),
        )
    };
    let ((low, quiet), (high, loud)) = (of(false), of(true));
    low > 0.0 && quiet > 0.0 && loud / quiet > (high / low).sqrt()
}

impl<'a> Scan<'a> {
    fn new(times_us: &'a [i64], values: Vec<f64>, gap_us: i64) -> Self {
        let gap_us = gap_us.max(1);
        let reach = side_reach(gap_us);
        let medians = running_medians(&values, reach);
        let mut sums = Vec::with_capacity(values.len() + 1);
        prefix_sums(&values, &mut sums);
        let longest = usize::try_from(LEN_MAX_US / gap_us).unwrap_or(0).max(1);
        let next = |len: &usize| Some((len * 4 / 3).max(len + 1));
        let lengths = std::iter::successors(Some(1), next).take_while(|len| *len <= longest);
        Self {
            noise: robust_scale(&difference(&values, &medians)),
            times_us,
            gap_us,
            values,
            sums,
            medians,
            reach,
            lengths: lengths.collect(),
        }
    }

    /// The level on which samples stand: the higher one of either side, so that an edge of load is no event. `None` next to
    /// gaps and at the ends.
    fn level(&self, from: usize, until: usize) -> Option<f64> {
        let side = 2 * self.reach + 1;
        // The sample after the last may still be filled in part.
        let (first, last) = (from.checked_sub(side)?, until + side);
        let times = (self.times_us[first], *self.times_us.get(last)?);
        let usual = as_f64(self.gap_us) * count_f64(last - first);
        if as_f64(times.1 - times.0) > usual * 1.3 + as_f64(self.gap_us) {
            return None;
        }
        let left = self.medians[from - 1 - self.reach];
        Some(left.max(self.medians[until + 1 + self.reach]))
    }

    fn mean(&self, from: usize, until: usize) -> f64 {
        (self.sums[until] - self.sums[from]) / count_f64(until - from)
    }

    /// The indices at which an event may begin that starts in a window: timestamps may also mark the start of an interval.
    fn begins(&self, window: (i64, i64)) -> Range<usize> {
        let from = self.times_us.partition_point(|&at| at <= window.0);
        let to = self
            .times_us
            .partition_point(|&at| at <= window.1 + LATE_US);
        from.saturating_sub(1)..to + 1
    }

    /// For each length, how far the samples that stand out most stand out, and where. `None` if most have no samples around.
    fn highest(&self, window: (i64, i64), lengths: &[usize]) -> Option<Vec<(f64, usize)>> {
        let begins = self.begins(window);
        let mut found = Vec::with_capacity(lengths.len());
        for &len in lengths {
            let step = (len / 4).max(1);
            let mut best: Option<(f64, usize)> = None;
            let (mut looked, mut seen) = (0, 0);
            for from in begins.clone().step_by(step) {
                looked += 1;
                if from + len >= self.values.len() {
                    continue;
                }
                let Some(level) = self.level(from, from + len) else {
                    continue;
                };
                seen += 1;
                let above = self.mean(from, from + len) - level;
                // A shorter event later on is not one that begins here.
                let above = if as_f64(self.gap_us) * count_f64(len) < as_f64(HEAD_FROM_US) {
                    above
                } else {
                    let head = self.mean(from, from + len / HEAD) - level;
                    above.min(head.max(0.0) / HEAD_MIN)
                };
                if best.is_none_or(|(most, _)| above > most) {
                    best = Some((above, from));
                }
            }
            if seen * 2 < looked {
                return None;
            }
            found.push(best?);
        }
        Some(found)
    }

    /// The lengths that events of a class may have.
    fn lengths_of(&self, class: &Class) -> &[usize] {
        let share = if leaves_no_room(class, self.gap_us) {
            LEN_SHARE_BETWEEN
        } else {
            LEN_SHARE_MAX
        };
        let longest = as_f64(class.period_us) * share / as_f64(self.gap_us);
        let count = self
            .lengths
            .partition_point(|&len| count_f64(len) <= longest);
        &self.lengths[..count.max(1)]
    }

    /// The middle of the time between a window and that of the run before it, and of the one after it, if there is as much as half
    /// a window.
    fn between(&self, run: usize, class: &Class) -> Vec<(i64, i64)> {
        let windows = &class.windows_us;
        let (Some(&first), Some(&last)) = (self.times_us.first(), self.times_us.last()) else {
            return Vec::new();
        };
        let narrowest = (class.width_us() / 2).max(self.gap_us * BETWEEN_SAMPLES);
        [run.checked_sub(1), Some(run)]
            .into_iter()
            .flatten()
            .filter_map(|before| Some((windows.get(before)?.1, windows.get(before + 1)?.0)))
            .filter(|(from, to)| to - from >= narrowest && *from > first && *to < last)
            .map(|(from, to)| (from + (to - from) / 4, to - (to - from) / 4))
            .collect()
    }

    /// The windows with which a run's is compared.
    fn controls(&self, run: usize, class: &Class) -> Vec<(i64, i64)> {
        let windows = &class.windows_us;
        let (from, to) = windows[run];
        let (Some(&first), Some(&last)) = (self.times_us.first(), self.times_us.last()) else {
            return Vec::new();
        };
        let (len, beside) = (to - from, LATE_US + self.gap_us);
        let is_free = |at: i64| {
            let next = windows.partition_point(|own| own.1 + beside < at);
            windows
                .get(next)
                .is_none_or(|own| own.0 - beside > at + len)
        };
        let most = i64::try_from(CONTROLS_MAX).unwrap_or(1);
        let (step, most, kept) = if class.period_us >= OFTEN_US {
            (DAY_US, most * 2, CONTROLS_MAX)
        } else {
            // They may overlap each other where there is little room.
            let step = i64::midpoint(len, beside)
                .max(class.period_us / most)
                .max(1);
            (step, class.period_us * 3 / 2 / step, CONTROLS_OF_DAY)
        };
        (1..=most)
            .flat_map(|number| [-number * step, number * step])
            .map(|by_us| from + by_us)
            .filter(|&at| at > first && at + len < last && is_free(at))
            .map(|at| (at, at + len))
            .take(kept)
            .collect()
    }

    fn shown(&self, class: &Class, lengths: &[usize]) -> Shown {
        let of = |window: (i64, i64)| {
            let found = self.highest(window, lengths)?.into_iter();
            Some(found.map(|(above, _)| above).collect::<Vec<f64>>())
        };
        let all = class.windows_us.len();
        let every = all.div_ceil(RUNS_MAX).max(1);
        let mut shown = Vec::new();
        for run in (0..all).step_by(every) {
            let Some(own) = of(class.windows_us[run]) else {
                continue;
            };
            let controls = if leaves_no_room(class, self.gap_us) {
                self.between(run, class)
            } else {
                self.controls(run, class)
            };
            let controls: Vec<Vec<f64>> = controls.into_iter().filter_map(of).collect();
            if !controls.is_empty() {
                shown.push((own, controls));
            }
        }
        Shown(shown)
    }

    /// How far the highest of some samples in a window is above the level in white noise, about (the mean of the largest of `n`
    /// normal values is at most `sqrt(2 ln n)`).
    fn highest_of_noise(&self, class: &Class, len: usize) -> f64 {
        let places = as_f64(class.width_us()) / (as_f64(self.gap_us) * count_f64(len)) + 1.0;
        self.noise * (2.0 * places.ln()).sqrt() / count_f64(len).sqrt()
    }

    /// The evidence of a class, at the length that tells most.
    fn kind(&self, class: &Class) -> Option<Kind> {
        let lengths = self.lengths_of(class);
        let shown = self.shown(class, lengths);
        if shown.0.len() < RUNS_MIN {
            return None;
        }
        let trials = count_f64(lengths.len()).ln();
        let larger = if class.period_us >= OFTEN_US {
            LARGER
        } else if leaves_no_room(class, self.gap_us) {
            LARGER_BETWEEN
        } else {
            LARGER_OF_DAY
        };
        (0..lengths.len())
            .filter_map(|length| {
                shown.kind(
                    length,
                    larger,
                    self.highest_of_noise(class, lengths[length]),
                )
            })
            .map(|kind| Kind {
                nats: kind.nats - trials,
                is_between: leaves_no_room(class, self.gap_us),
                ..kind
            })
            .max_by(|a, b| {
                (a.nats, a.clear)
                    .partial_cmp(&(b.nats, b.clear))
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
    }

    /// The event in each window of a class.
    fn events(&self, class: &Class, kind: &Kind) -> Option<Vec<RunEvent>> {
        let lengths = self.lengths_of(class);
        let found: Vec<((i64, i64), Event)> = (class.windows_us.iter())
            .filter_map(|&window| {
                let highest = self.highest(window, lengths)?;
                let worth = |(at, highest): &(usize, &(f64, usize))| {
                    highest.0 * count_f64(lengths[*at]).sqrt()
                };
                let (at, &(_, from)) =
                    (highest.iter().enumerate()).max_by(|a, b| worth(a).total_cmp(&worth(b)))?;
                Some((window, self.whole(from, lengths[at], &self.begins(window))?))
            })
            .collect();
        let is_high = |event: &Event| event.size >= kind.usual_max;
        let high = || {
            found
                .iter()
                .map(|(_, event)| event)
                .filter(|event| is_high(event))
        };
        let sizes: Vec<f64> = high().map(|event| event.size).collect();
        if sizes.len() < SEEN_LEAST {
            return None;
        }
        // Noise that remembers, and the top of a hump, rise slowly.
        let near_min = usize::from(kind.is_between);
        let edges: Vec<f64> = high()
            .filter_map(|event| self.edge(event, near_min))
            .collect();
        if class.period_us < OFTEN_US && !edges.is_empty() && median(edges) < ABRUPT {
            return None;
        }
        let usual = median(sizes);
        let runs = found.into_iter().map(|(window, event)| {
            let is_seen = is_high(&event) && event.size >= usual * SEEN_MIN;
            let clarity =
                (event.size / kind.usual_max.max(f64::MIN_POSITIVE) - 1.0).clamp(CLARITY_MIN, 1.0);
            (window, is_seen.then_some(Event { clarity, ..event }))
        });
        Some(runs.collect())
    }

    /// The part of an event's size that values rise by at its beginning. `None` if it is too short to have one.
    fn edge(&self, event: &Event, near_min: usize) -> Option<f64> {
        let (start, len) = (event.samples.start, event.samples.len());
        let near = (len / EDGE_PART).max(near_min);
        if near == 0 || len < near + 2 || start < near + 2 {
            return None;
        }
        // The sample in between may be filled in part.
        let before = self.mean(start - 1 - near, start - 1);
        let after = self.mean(start + 1, start + 1 + near);
        Some((after - before) / event.size)
    }

    /// How far the edge of an event may be from where it seems to be: the larger the noise next to it, the farther (the place
    /// of a step is known to some squares of their ratio: Hinkley 1970, "Inference about the change-point").
    fn unclear_us(&self, runs: &[RunEvent]) -> i64 {
        let sizes = runs
            .iter()
            .filter_map(|run| Some(run.1.as_ref()?.size.abs()));
        let usual = median(sizes.collect());
        let ratio = (self.noise / usual.max(f64::MIN_POSITIVE)).min(1.0);
        as_i64(as_f64(self.gap_us) * (UNCLEAR * ratio * ratio).min(UNCLEAR_MAX))
    }

    /// The samples of an event that some of its samples belong to: those between which the mean stands out most for its
    /// length.
    fn whole(&self, from: usize, len: usize, begins: &Range<usize>) -> Option<Event> {
        let (mut from, mut until) = (from, from + len);
        let level = self.level(from, until)?;
        // One sample that is far higher than the others does not make the event.
        let high = self.mean(from, until) - level;
        let worth = |from: usize, until: usize| {
            let sum: f64 = (self.values[from..until].iter())
                .map(|value| (value - level).min(2.0 * high))
                .sum();
            if sum > 0.0 {
                sum * sum / count_f64(until - from)
            } else {
                0.0
            }
        };
        let mut best = worth(from, until);
        let mut step = (len / 4).max(1);
        loop {
            let mut better = None;
            for (a, b) in [
                (from.saturating_sub(step), until),
                (from + step, until),
                (from, until + step),
                (from, until.saturating_sub(step)),
            ] {
                if a < b && b <= self.values.len() && begins.contains(&a) && worth(a, b) > best {
                    best = worth(a, b);
                    better = Some((a, b));
                }
            }
            match better {
                Some(span) => (from, until) = span,
                None if step > 1 => step /= 2,
                None => break,
            }
        }
        let level = self.level(from, until).unwrap_or(level);
        Some(Event {
            samples: from..until,
            size: self.mean(from, until) - level,
            level,
            clarity: 1.0,
        })
    }
}

/// Returns the evidence of runs of which each has so many controls, so many of them as high as it, in nats, before trials: at
/// the share of runs with an effect that fits best.
pub(super) fn evidence_of_ranks(ranks: &[(usize, usize)]) -> f64 {
    let ratio = |&(above, of): &(usize, usize)| {
        TOP * (1.0 - TOP).powi(i32::try_from(above).unwrap_or(i32::MAX)) * count_f64(of + 1)
    };
    let ratios: Vec<f64> = ranks.iter().map(ratio).collect();
    let with = |share: &f64| {
        let of_run = |ratio: &f64| (1.0 - share + share * ratio).max(1e-9).ln();
        ratios.iter().map(of_run).sum::<f64>()
    };
    SHARES.iter().map(with).fold(f64::MIN, f64::max)
}

impl Shown {
    /// The evidence at one length. `None` if nothing is clear. `noise` is what noise alone reaches in a window: on the slopes of
    /// load, windows show less than that.
    fn kind(&self, length: usize, larger: f64, noise: f64) -> Option<Kind> {
        let mut ranks = Vec::with_capacity(self.0.len());
        let mut all = Vec::new();
        let mut high = Vec::new();
        for (own, controls) in &self.0 {
            let own = own[length];
            let above = controls
                .iter()
                .filter(|control| control[length] >= own)
                .count();
            ranks.push((above, controls.len()));
            if above == 0 {
                high.push(own);
            }
            all.extend(controls.iter().map(|control| control[length]));
        }
        if high.len() < SEEN_LEAST {
            return None;
        }
        let nats = evidence_of_ranks(&ranks);
        let scale = robust_scale(&all);
        let usual_max = quantile(&mut all, 0.9).max(noise);
        let middle = quantile(&mut all, 0.5);
        let usual = median(high);
        let clear = (usual - middle) / scale.max(f64::MIN_POSITIVE);
        (clear >= CLEAR && usual >= usual_max * larger).then_some(Kind {
            nats,
            usual_max,
            clear,
            is_between: false,
        })
    }
}
