//! How values respond to events: by a rise that begins with each start and lasts about as long as the pattern does.
//!
//! A sample is the mean of the time since the one before it, so that an event that begins between two samples fills the
//! first in part, or the value at its moment, as gauges are read ([`SampleOf`]): the model is the share of the sample's
//! time that lies within the event, in noise that remembers, above a baseline that follows slow changes. Length, course
//! of the end and size are not known beforehand and are averaged over, with the same prior for every cause, so that
//! causes differ by when their starts are and by nothing else. A start without an effect costs [`IDLE_SHARE`]; one that
//! is only known to lie within an interval, as with `RandomizedDelaySec=`, is averaged over that.
//!
//! The same computation for starts at any other phase of the pattern's period says how well an unknown cause does.

use super::baseline::{baseline, level_of_noise, quiet};
use super::course::{Course, PARTS, courses, lengths};
use super::sums::{Sums, common_lengths, gain, sum_of};
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::noise::{autocorrelation, step};
use crate::model::samples::Samples;
use crate::numbers::{as_f64, as_i64, count_f64, later, widest_us};
use crate::statistics::{difference, quotient, robust_scale, spread};
use facts::series::SampleOf;
use schedule::Delays;
use std::ops::Range;

/// The smallest and the largest size of an event, in sizes of the pattern; the largest if starts are uncertain, since a
/// pattern shows what is delayed at random as longer and smaller; the factor from one size to the next that is tried first;
/// and how often the distance to the next is then halved.
const SIZES: (f64, f64) = (0.3, 3.3);
const SIZE_IF_DELAYED: f64 = 10.0;
const SIZE_FACTOR: f64 = 1.35;
const SIZE_STEPS: usize = 5;
/// How often the distance to the next length is halved.
const LENGTH_STEPS: usize = 3;
/// Sizes that tell which courses are tried exactly, in sizes of the pattern, and how many are.
const SIZES_ROUGHLY: [f64; 4] = [0.6, 1.0, 1.6, 2.7];
const TRIED_EXACTLY: usize = 3;
/// Up to about this much evidence, in nats, an event is as the model says.
const EVIDENCE_NATS: f64 = 400.0;
/// What another size adds once the shares of lengths are fitted, in nats, about at most.
const SIZE_NATS: f64 = 20.0;
/// What two free numbers explain by themselves, in nats.
const FREE_NATS: f64 = 3.0;
/// Deviations from baseline and pattern count up to this many robust standard deviations (Huber 1964).
const DEVIATIONS_MAX: f64 = 4.0;
/// The baseline follows changes that take longer than this, and this many samples.
const BASELINE_US: i64 = 7_200_000_000;
const BASELINE_SAMPLES: i64 = 8;
/// What events do may vary from one to the next by so many times the noise.
const LOUDER_MAX: f64 = 4.0;
/// A sample stands for the time since the one before it, up to this many usual intervals.
const COVERED_MAX: f64 = 1.5;
/// An event counts as at most so many standard deviations: what it does is not constant, nor is its length.
const EXACTNESS: f64 = 4.0;
/// A pattern is narrow if windows of starts are this many times as wide.
const NARROW: i64 = 3;
/// Places within the interval of an uncertain start: so many in the time of a sample, and at most.
const PLACES_IN_SAMPLE: i64 = 6;
const PLACES_MAX: i64 = 40;
/// Starts that tell whether all are worth a look.
const STARTS_AT_FIRST: usize = 32;
/// From so many samples on, those that an event fills are added up at once.
const WHOLE_MIN: i64 = 4;
/// How far from where it would be without gaps a sample is looked for first.
const NEAR: usize = 32;

/// A series around a pattern of events, whitened.
pub(crate) struct Response {
    /// End of the time that each sample stands for, in microseconds of UTC.
    until_us: Vec<i64>,
    /// Its beginning.
    from_us: Vec<i64>,
    /// Values above the baseline without what the sample before tells, in standard deviations.
    white: Vec<f64>,
    /// What a value keeps of the one before it, and the factor to standard deviations.
    steps: Vec<(f64, f64)>,
    /// Sums over all samples before each, as if an effect of one unit filled them and those before: of its products with the
    /// values, and of its squares.
    whole: Vec<(f64, f64)>,
    /// The courses that events may take, all the same.
    courses: Vec<Course>,
    /// Those that each may take by itself, in the order of their lengths.
    lengths: Vec<Course>,
    /// Usual distance of samples.
    gap_us: i64,
    /// The time that a sample shows.
    shown_us: i64,
    /// The pattern's length.
    len_us: i64,
    /// The pattern's size.
    size: f64,
}

/// How well starts explain the values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Explained {
    /// Logarithm of the evidence relative to no effect, in nats.
    pub evidence: f64,
    /// The size of the event that explains them best, in the values' unit.
    pub amplitude: f64,
    /// Its length, in microseconds.
    pub len_us: i64,
    /// What each start adds, in nats, in the order of the starts; 0 without samples.
    pub by_start: Vec<f64>,
}

/// The course that explains values best after some starts.
struct Fitted {
    evidence: f64,
    size: f64,
    course: Course,
    by_start: Vec<f64>,
}

impl Response {
    /// Prepares the values of a series without its other patterns. `None` if the pattern consists of no events, or
    /// nothing else varies. `is_in_place` says that no cause moves its events within the pattern, so that what varies there
    /// are the events themselves.
    pub fn new(
        found: &Found,
        samples: &Samples,
        values: &[f64],
        is_in_place: bool,
        sample_of: SampleOf,
    ) -> Option<Self> {
        let Form::Box { duty } = found.pattern.form else {
            return None;
        };
        let size = found.pattern.size();
        let own = found.pattern.values(&samples.wall_us);
        // The form has mean 0; events have baseline 0.
        let own: Vec<f64> = own
            .into_iter()
            .map(|own| {
                let above = if own == 0.0 { 0.0 } else { own + size * duty };
                if above.abs() < size.abs() / 2.0 {
                    0.0
                } else {
                    above
                }
            })
            .collect();
        let rest = difference(values, &own);
        let gap_us = samples.gap_us.max(1);
        let period_us = as_i64(found.pattern.clock.period_us());
        let block_us = (period_us / 3)
            .min(BASELINE_US)
            .max(gap_us * BASELINE_SAMPLES);
        let len_us = as_i64(duty * found.pattern.clock.period_us()).max(1);
        let quiet = quiet(&own, &samples.times_us, gap_us, len_us);
        let baseline = baseline(&samples.times_us, &rest, &quiet, block_us);
        let left = difference(&rest, &baseline);
        let level = level_of_noise(&left, baseline)?;
        let mut left = quotient(&left, &level);
        let own = quotient(&own, &level);
        let scale = robust_scale(&left);
        let of_events = left.iter().zip(&own).filter(|(_, own)| **own != 0.0);
        let scale_of_events = robust_scale(&of_events.map(|(left, _)| *left).collect::<Vec<_>>());
        // A day without an event is as far from the pattern as an event is large.
        let limit = DEVIATIONS_MAX * scale.max(size.abs() / EXACTNESS);
        let seen: Vec<f64> = own
            .iter()
            .zip(&left)
            .map(|(own, left)| own + left.clamp(-limit, limit))
            .collect();
        for left in &mut left {
            *left = left.clamp(-DEVIATIONS_MAX * scale, DEVIATIONS_MAX * scale);
        }
        let (apart, index) = places(&samples.times_us, gap_us);
        let phi = autocorrelation(&index, &left, true).clamp(0.0, 0.99);
        let mut squares = 0.0;
        for (at, apart) in apart.iter().enumerate() {
            let (kept, width) = step(phi, *apart);
            squares += ((left[at + 1] - kept * left[at]) / width).powi(2);
        }
        let sigma = (squares / count_f64(apart.len().max(1))).sqrt();
        if sigma <= 0.0 || !sigma.is_finite() {
            return None;
        }
        // No event is as exactly a share of its samples' time as noise this low would show.
        let sigma = sigma.max(size.abs() / EXACTNESS);
        let louder_max = if is_in_place { LOUDER_MAX } else { 1.0 };
        let louder = (scale_of_events / sigma).clamp(1.0, louder_max);
        let mut steps = vec![(0.0, (1.0 - phi * phi).sqrt() / sigma)];
        steps.extend(apart.iter().map(|apart| {
            let (kept, width) = step(phi, *apart);
            (kept, 1.0 / (sigma * width))
        }));
        for (step, _) in steps.iter_mut().zip(&own).filter(|(_, own)| **own != 0.0) {
            step.1 /= louder;
        }
        let white: Vec<f64> = (0..seen.len())
            .map(|at| {
                let before = if at == 0 { 0.0 } else { seen[at - 1] };
                (seen[at] - steps[at].0 * before) * steps[at].1
            })
            .collect();
        let (shown_us, from_us) = match sample_of {
            SampleOf::Interval => (gap_us, covered_from(&samples.times_us, gap_us)),
            // The largest since the sample before is the same with events that are longer by that.
            SampleOf::Moment => (1, samples.times_us.iter().map(|at| at - 1).collect()),
        };
        Some(Self {
            until_us: samples.times_us.clone(),
            from_us,
            whole: whole_sums(&white, &steps),
            white,
            steps,
            courses: courses(len_us, gap_us, shown_us),
            lengths: lengths(len_us, gap_us, shown_us),
            gap_us,
            shown_us,
            len_us,
            size,
        })
    }

    /// Returns the length of the longest course of an event, in microseconds.
    pub fn longest_us(&self) -> i64 {
        let ends = self.courses.iter().map(|course| course.end_us);
        as_i64(ends.fold(0.0, f64::max))
    }

    /// Returns the pattern's length, in microseconds.
    pub fn len_us(&self) -> i64 {
        self.len_us
    }

    /// Returns how well an effect after each of these starts, from earliest to latest in microseconds of UTC, explains
    /// the values, at the size and course that explain them best. `delays` tells where between earliest and latest they are.
    pub fn to(&self, starts: &[(i64, i64)], delays: Delays) -> Explained {
        let mut best = self.alike(starts, &self.courses, delays);
        let mut step_us = as_f64(self.gap_us) / as_f64(PARTS);
        for _ in 0..LENGTH_STEPS {
            step_us /= 2.0;
            let near: Vec<Course> = [-step_us, step_us]
                .iter()
                .filter_map(|by_us| best.course.longer(*by_us, self.gap_us, self.shown_us))
                .collect();
            if near.is_empty() {
                break;
            }
            let better = self.alike(starts, &near, delays);
            if better.evidence > best.evidence {
                best = better;
            }
        }
        if !self.is_narrow(starts)
            && let Some(varying) = self.varying(starts, best.evidence)
        {
            best = varying;
        }
        Explained {
            evidence: best.evidence - FREE_NATS,
            amplitude: best.size,
            len_us: best.course.mean_us(),
            by_start: best.by_start,
        }
    }

    /// Returns how well starts at about these times explain the values.
    pub fn near(&self, starts: &[i64]) -> f64 {
        let starts: Vec<(i64, i64)> = starts.iter().map(|&at| (at, at)).collect();
        let moved = |part: i64| later(&starts, self.gap_us * part / PARTS);
        let (best, _) = (-PARTS..=PARTS)
            .map(|part| (part, self.quickly(&moved(part))))
            .fold((0, f64::MIN), |a, b| if b.1 > a.1 { b } else { a });
        self.to(&moved(best), Delays::Either).evidence
    }

    /// Moves starts as far ahead as samples cannot tell: no value is read between one and the sample before it.
    pub fn as_seen(&self, starts: &mut [(i64, i64)]) {
        if self.shown_us >= self.gap_us {
            return;
        }
        for start in starts {
            let before = self.first_after(start.0).checked_sub(1);
            let Some(seen_us) = before.and_then(|at| self.until_us.get(at)) else {
                continue;
            };
            let unseen = seen_us + 1..seen_us + self.gap_us;
            if unseen.contains(&start.0) && unseen.contains(&start.1) {
                *start = (unseen.start, unseen.start);
            }
        }
    }

    /// Returns about how well these starts explain the values.
    pub fn quickly(&self, starts: &[(i64, i64)]) -> f64 {
        let places = self.places(starts, &self.courses);
        let places: Vec<&[Vec<Sums>]> = places.iter().map(Vec::as_slice).collect();
        let best = (0..self.courses.len())
            .map(|course| self.best_roughly(&places, course))
            .fold(f64::MIN, f64::max);
        best - FREE_NATS
    }

    /// Returns about how well many starts explain the values, from some of them; as well as [`Response::to`] finds, if they are
    /// delayed. `None` if there are not many.
    pub fn by_some(&self, starts: &[(i64, i64)], delays: Option<Delays>) -> Option<f64> {
        let some: Vec<(i64, i64)> = (spread(starts.len(), STARTS_AT_FIRST).into_iter())
            .map(|at| starts[at])
            .collect();
        if some.len() * 2 > starts.len() {
            return None;
        }
        let mut evidence = self.quickly(&some);
        if let Some(delays) = delays {
            evidence = evidence.max(self.to(&some, delays).evidence);
        }
        let weight = count_f64(starts.len()) / count_f64(some.len());
        Some((evidence + FREE_NATS) * weight - FREE_NATS)
    }

    /// The largest likelihood at a few sizes of an effect of one course.
    fn best_roughly(&self, places: &[&[Vec<Sums>]], course: usize) -> f64 {
        let of_size = |size: f64| sum_of(places, &(course..course + 1), &[0.0], size * self.size);
        SIZES_ROUGHLY
            .map(of_size)
            .into_iter()
            .fold(f64::MIN, f64::max)
    }

    /// Whether the pattern is narrow for what starts anywhere in these windows would make.
    pub fn is_narrow(&self, starts: &[(i64, i64)]) -> bool {
        widest_us(starts) > (self.len_us + self.gap_us) * NARROW
    }

    /// The best of some courses that all events take.
    fn alike(&self, starts: &[(i64, i64)], courses: &[Course], delays: Delays) -> Fitted {
        let places = self.places(starts, courses);
        // A timer's accuracy puts every run at the same place of its interval, unless something else wakes the host up.
        let most = places.iter().map(Vec::len).max().unwrap_or(1);
        let common = if delays == Delays::Anew { 1 } else { most };
        let mut hypotheses: Vec<Vec<&[Vec<Sums>]>> =
            vec![places.iter().map(Vec::as_slice).collect()];
        for place in 0..if common > 1 { common } else { 0 } {
            let there = places.iter().map(|places| {
                let place = place * places.len() / common;
                &places[place..=place]
            });
            hypotheses.push(there.collect());
        }
        // As many places as phases of an unknown cause: a window as wide as the period proves nothing.
        let phases = count_f64(common).max(as_f64(widest_us(starts)) / as_f64(self.phase_us()));
        let mut tried: Vec<(usize, usize, f64, f64)> = Vec::new();
        // Starts anywhere in windows that are far wider than the pattern would not make a pattern this narrow.
        let wide = usize::from(self.is_narrow(starts) && hypotheses.len() > 1);
        for (number, places) in hypotheses.iter().enumerate().skip(wide) {
            // Anywhere, or all at the same place: each has the same weight.
            let share = match (common, number) {
                (1, _) => 1.0,
                (_, 0) => 0.5,
                _ => 0.5 / phases,
            };
            for course in 0..courses.len() {
                let roughly = self.best_roughly(places, course);
                tried.push((number, course, roughly, f64::ln(share)));
            }
        }
        tried.sort_by(|a, b| (b.2 + b.3).total_cmp(&(a.2 + a.3)));
        tried.truncate(TRIED_EXACTLY);
        let best = tried
            .into_iter()
            .map(|(number, course, _, share)| {
                let (peak, size) =
                    self.best_size(&hypotheses[number], &(course..course + 1), &[0.0]);
                (number, course, peak + share, size)
            })
            .max_by(|a, b| a.2.total_cmp(&b.2));
        let (number, course, evidence, size) = best.unwrap_or((0, 0, 0.0, 0.0));
        Fitted {
            evidence,
            size,
            course: courses[course],
            by_start: hypotheses[number]
                .iter()
                .map(|places| gain(places, course..course + 1, &[0.0], size))
                .collect(),
        }
    }

    /// Events of which each lasts as long as it does, because jobs grow, and work differs: any length as likely as any other,
    /// or how common each is fitted as well, where each of these numbers costs half the logarithm of the number of events
    /// (Schwarz 1978). `None` if that does not explain more than `least`.
    fn varying(&self, starts: &[(i64, i64)], least: f64) -> Option<Fitted> {
        let places = self.places(starts, &self.lengths);
        let places: Vec<&[Vec<Sums>]> = places.iter().map(Vec::as_slice).collect();
        let all = 0..self.lengths.len();
        let logs = |shares: &[f64]| shares.iter().map(|share| share.ln()).collect::<Vec<_>>();
        let mut shares = vec![1.0 / count_f64(all.len()); all.len()];
        let (mut evidence, mut size) = self.best_size(&places, &all, &logs(&shares));
        let fitted = common_lengths(&places, &shares, size);
        let cost = 0.5 * count_f64(all.len() - 1) * count_f64(starts.len().max(1)).ln();
        let near = sum_of(&places, &all, &logs(&fitted), size) - cost;
        if near > evidence.max(least) - SIZE_NATS {
            let (better, size_then) = self.best_size(&places, &all, &logs(&fitted));
            if better - cost > evidence {
                (evidence, size) = (better - cost, size_then);
                shares.clone_from(&fitted);
            }
        }
        if evidence <= least {
            return None;
        }
        let mut below = 0.0;
        let is_half = |share: &f64| {
            below += share;
            below >= 0.5
        };
        let usual = fitted.iter().position(is_half).unwrap_or(0);
        Some(Fitted {
            evidence,
            size,
            course: self.lengths[usual],
            by_start: places
                .iter()
                .map(|places| gain(places, all.clone(), &logs(&shares), size))
                .collect(),
        })
    }

    /// The largest likelihood of starts with an effect of some courses, at any size, in nats, and that size. `shares` are the
    /// logarithms of how common each course is.
    fn best_size(
        &self,
        places: &[&[Vec<Sums>]],
        courses: &Range<usize>,
        shares: &[f64],
    ) -> (f64, f64) {
        let at = |log_size: f64| sum_of(places, courses, shares, log_size.exp() * self.size);
        let is_delayed = places.iter().any(|places| places.len() > 1);
        let largest = if is_delayed { SIZE_IF_DELAYED } else { SIZES.1 };
        let mut width = SIZE_FACTOR.ln();
        let mut best = std::iter::successors(Some(SIZES.0.ln()), |last| Some(last + width))
            .take_while(|log_size| *log_size < largest.ln())
            .map(|log_size| (at(log_size), log_size))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 0.0));
        for _ in 0..SIZE_STEPS {
            width /= 2.0;
            for log_size in [best.1 - width, best.1 + width] {
                let there = at(log_size);
                if there > best.0 {
                    best = (there, log_size);
                }
            }
        }
        (best.0, best.1.exp() * self.size)
    }

    /// The sums of each course at each place of each start.
    fn places(&self, starts: &[(i64, i64)], courses: &[Course]) -> Vec<Vec<Vec<Sums>>> {
        (0..starts.len())
            .map(|at| {
                let next_us = starts.get(at + 1).map(|next| next.0);
                self.at_places(starts[at], next_us, courses)
            })
            .collect()
    }

    /// The sums of each course at each place within the interval of a start.
    fn at_places(
        &self,
        start: (i64, i64),
        next_us: Option<i64>,
        courses: &[Course],
    ) -> Vec<Vec<Sums>> {
        let apart_us = (self.gap_us.min(self.len_us) / PLACES_IN_SAMPLE).max(1);
        let places = (start.1.saturating_sub(start.0) / apart_us + 1).clamp(1, PLACES_MAX);
        (0..places)
            .map(|place| {
                let begun = start.0 + (start.1 - start.0) / (2 * places) * (2 * place + 1);
                let mut sums = vec![Sums::default(); courses.len()];
                let next_us = next_us.filter(|next| *next > begun);
                self.add(begun, next_us, courses, &mut sums);
                sums
            })
            .collect()
    }

    /// Adds what the samples after a start say of each course, which the next start ends.
    fn add(&self, start_us: i64, next_us: Option<i64>, courses: &[Course], sums: &mut [Sums]) {
        let until_next =
            next_us.map_or(f64::INFINITY, |next| as_f64(next.saturating_sub(start_us)));
        let first = self.first_after(start_us);
        for (course, sums) in courses.iter().zip(sums) {
            self.add_course(first, (start_us, until_next), *course, sums);
        }
    }

    /// The same for one course, from the first sample after the start on.
    fn add_course(
        &self,
        first: usize,
        (start_us, until_next): (i64, f64),
        course: Course,
        sums: &mut Sums,
    ) {
        let (whole_us, end_us) = (
            course.whole_us.min(until_next),
            course.end_us.min(until_next),
        );
        let mut whole = first..first;
        if whole_us > as_f64(self.gap_us * WHOLE_MIN) {
            // Of these and of the one before each, all the time is within the event.
            whole = first + 2..self.first_after(start_us.saturating_add(as_i64(whole_us)));
        }
        // Its share of the sample before, and its integral until the end of that.
        let (mut before, mut reached) = (0.0, 0.0);
        let mut reached_us = None;
        let mut at = first;
        while at < self.until_us.len() {
            if at == whole.start && !whole.is_empty() {
                let of = |prefix: &[(f64, f64)]| {
                    let (from, to) = (prefix[whole.start], prefix[whole.end]);
                    (to.0 - from.0, to.1 - from.1)
                };
                let (product, square) = of(&self.whole);
                sums.product += product * course.scale;
                sums.square += square * course.scale * course.scale;
                at = whole.end;
                reached_us = Some(self.until_us[at - 1]);
                reached = course.until(as_f64(self.until_us[at - 1] - start_us));
                before = course.scale;
                continue;
            }
            let from = as_f64(self.from_us[at] - start_us);
            let until = as_f64(self.until_us[at] - start_us);
            let (kept, factor) = self.steps[at];
            if reached_us != Some(self.from_us[at]) {
                reached = course.until(from.min(until_next));
            }
            let now = course.until(until.min(until_next));
            let share = (now - reached) / (until - from).max(1.0);
            let seen = (share - kept * before) * factor;
            sums.product += seen * self.white[at];
            sums.square += seen * seen;
            (before, reached) = (share, now);
            reached_us = Some(self.until_us[at]);
            // The sample after the last shows what noise that remembers leaves of it.
            if from >= end_us {
                break;
            }
            at += 1;
        }
    }

    /// The index of the first sample that stands for a time after this one.
    fn first_after(&self, at_us: i64) -> usize {
        let until_us = &self.until_us;
        let first_us = until_us.first().copied().unwrap_or(0);
        let samples = at_us.saturating_sub(first_us) / self.gap_us;
        let guess = usize::try_from(samples).unwrap_or(0).min(until_us.len());
        let near = guess.saturating_sub(NEAR)..(guess + NEAR).min(until_us.len());
        let is_before = |at: usize| until_us[at] <= at_us;
        let within = if near.start > 0 && !is_before(near.start - 1) {
            0..near.start
        } else if near.end < until_us.len() && is_before(near.end) {
            near.end..until_us.len()
        } else {
            near
        };
        within.start + until_us[within].partition_point(|&until| until <= at_us)
    }
}

/// Sums over all samples before each, as if an effect of one unit filled them and those before.
fn whole_sums(white: &[f64], steps: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0)];
    let (mut product, mut square) = (0.0, 0.0);
    for (white, (kept, factor)) in white.iter().zip(steps) {
        let seen = (1.0 - kept) * factor;
        product += seen * white;
        square += seen * seen;
        sums.push((product, square));
    }
    sums
}

/// How many samples apart each is from the one before it, and their places on a grid.
fn places(times_us: &[i64], gap_us: i64) -> (Vec<i64>, Vec<i64>) {
    let apart: Vec<i64> = times_us
        .windows(2)
        .map(|pair| as_i64(as_f64(pair[1] - pair[0]) / as_f64(gap_us)).max(1))
        .collect();
    let mut index = vec![0];
    for apart in &apart {
        index.push(index[index.len() - 1] + apart);
    }
    (apart, index)
}

/// Since when each sample stands for the time: since the one before it, unless that is too far.
fn covered_from(times_us: &[i64], gap_us: i64) -> Vec<i64> {
    let longest_us = as_i64(as_f64(gap_us) * COVERED_MAX);
    let since = |at: usize| match at.checked_sub(1).map(|before| times_us[before]) {
        Some(before) if times_us[at] - before <= longest_us => before,
        _ => times_us[at] - gap_us,
    };
    (0..times_us.len()).map(since).collect()
}

/// The power of the likelihood that a model deserves that is not exactly right: with more evidence than
/// [`EVIDENCE_NATS`], differences between causes are differences between ways in which it is wrong (Miller and Dunson
/// 2019, "Robust Bayesian inference via coarsening").
pub(crate) fn power(evidence: f64) -> f64 {
    EVIDENCE_NATS / (EVIDENCE_NATS + evidence.max(0.0))
}

mod phases;
#[cfg(test)]
mod tests;
