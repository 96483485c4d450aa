//! Jobs as explanations: classes of jobs that the samples can distinguish, and how well each one's runs
//! fit.

use super::fold::{BOX_BINS, SPIKE_BINS_MAX};
use crate::calendar::offsets::UtcOffsets;
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::input::JobRuns;
use crate::model::pattern::ages;
use crate::numbers::{as_count, as_f64, count_f64};
use schedule::{Delays, Run};
use std::collections::BTreeMap;

/// Minimum number of runs among the samples for a job to be considered.
pub(crate) const RUNS_MIN: usize = 3;
/// Starts that may be at more than this share of the time say nothing.
const COVERED_MAX: f64 = 0.6;
/// Bins per period for slow forms.
const PERIOD_BINS: f64 = 12.0;
/// The effect of a job lasts at most this fraction of its period.
const DUTY_MAX: f64 = 0.25;
/// Start of a box, in samples from the first one after a run.
pub(crate) const SHIFTS: [i64; 3] = [0, 1, -1];
/// Up to this many samples per bin, it matters which one shows a run first.
const WIDE_SHIFTED: i64 = 4;
/// Penalty for the usual start, in nats: a probability of seven in ten.
const USUAL_NATS: f64 = 0.36;
/// Penalty for each of the others: three in twenty. With the earlier one, timestamps mark the start of each
/// interval, as in many exports.
const UNUSUAL_NATS: f64 = 1.9;
/// A run shows after this fraction of the sampling interval, up to a maximum: collectors that sample on the
/// minute do so some seconds late, just as cron starts its jobs.
const SHOWS_PART: i64 = 15;
const SHOWS_MAX_US: i64 = 30_000_000;

/// Jobs whose runs fall between the same samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Class {
    /// Their indices in the list of jobs.
    pub members: Vec<usize>,
    /// When the first member's runs start to show, earliest and latest, in local time.
    pub starts_us: Vec<(i64, i64)>,
    /// When the first member's runs start, earliest and latest, in UTC.
    pub windows_us: Vec<(i64, i64)>,
    /// Median interval between runs.
    pub period_us: i64,
    /// The 90 % quantile of the interval between runs: longer than the median if the schedule has changed,
    /// or skips days.
    pub longest_us: i64,
    /// Whether the interval between its runs changed over time.
    pub is_rescheduled: bool,
    /// Whether most of its runs are known from logs.
    pub is_observed: bool,
    /// Where in their windows runs start.
    pub delays: Delays,
    /// Whether nearly all runs are periodic to within the sampling interval, so that they carry no more
    /// information than a period does.
    pub is_regular: bool,
}

/// Returns the classes of jobs, and the indices of jobs that cannot be compared: those with fewer than
/// [`RUNS_MIN`] runs among the samples, or with too many to be distinguishable.
pub(crate) fn classes(
    jobs: &[JobRuns],
    times_us: &[i64],
    gap_us: i64,
    offsets: &UtcOffsets,
) -> (Vec<Class>, Vec<usize>) {
    // A sample that ends right after a start covers the time before it.
    let shows_us = (gap_us / SHOWS_PART).min(SHOWS_MAX_US);
    let mut by_gaps: BTreeMap<(Vec<(usize, usize)>, Delays), Class> = BTreeMap::new();
    let mut useless = Vec::new();
    let (Some(&first), Some(&last)) = (times_us.first(), times_us.last()) else {
        return (Vec::new(), (0..jobs.len()).collect());
    };
    for (number, job) in jobs.iter().enumerate() {
        let starts = job.starts_us();
        let within: Vec<(usize, usize)> = starts
            .iter()
            .filter(|start| start.1 > first && start.0 < last)
            .map(|start| {
                (
                    times_us.partition_point(|&time| time <= start.0),
                    times_us.partition_point(|&time| time <= start.1),
                )
            })
            .collect();
        let mut gaps = within.clone();
        gaps.dedup();
        // A job that runs between nearly all samples leaves no trace in them, and one that may start at most times proves
        // nothing.
        let is_everywhere = gaps.len() * 20 > times_us.len() * 19 || cover_most(&starts);
        if gaps.len() < RUNS_MIN || is_everywhere {
            useless.push(number);
            continue;
        }
        let delays = delays(&job.runs);
        by_gaps
            .entry((gaps, delays))
            .or_insert_with(|| {
                let at = |us: i64| offsets.wall_us(us) + shows_us;
                let starts_us: Vec<(i64, i64)> = (starts.iter())
                    .map(|&(earliest, latest)| (at(earliest), at(latest)))
                    .collect();
                let period_us = distance(&starts, 0.5);
                Class {
                    members: Vec::new(),
                    period_us,
                    longest_us: distance(&starts, 0.9),
                    is_rescheduled: is_rescheduled(&starts),
                    is_observed: is_observed(&job.runs),
                    delays,
                    is_regular: is_regular(&starts_us, period_us, gap_us),
                    starts_us,
                    windows_us: starts.clone(),
                }
            })
            .members
            .push(number);
    }
    let mut classes: Vec<Class> = by_gaps.into_values().collect();
    classes.retain(|class| class.period_us > 0);
    classes.sort_by(|a, b| a.members.cmp(&b.members));
    (classes, useless)
}

/// Returns where most runs lie in their windows.
fn delays(runs: &[Run]) -> Delays {
    let is_most = |wanted| runs.iter().filter(|run| run.delays == wanted).count() * 2 > runs.len();
    let known = [Delays::Shared, Delays::Anew];
    known
        .into_iter()
        .find(|one| is_most(*one))
        .unwrap_or(Delays::Either)
}

/// Returns whether starts from earliest to latest cover most of the time.
fn cover_most(starts: &[(i64, i64)]) -> bool {
    let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
        return false;
    };
    let covered: i64 = starts.iter().map(|start| start.1 - start.0).sum();
    as_f64(covered) > as_f64(last.1 - first.0) * COVERED_MAX
}

fn is_regular(starts_us: &[(i64, i64)], period_us: i64, gap_us: i64) -> bool {
    let Some(&(first, _)) = starts_us.first() else {
        return false;
    };
    let due = (0..).map(|number: i64| first.saturating_add(period_us.saturating_mul(number)));
    let off = starts_us
        .iter()
        .zip(due)
        .filter(|((start, _), due)| (start - due).abs() > gap_us);
    off.count() * 20 <= starts_us.len()
}

fn is_observed(runs: &[Run]) -> bool {
    let is_logged = |run: &&Run| run.seen.is_recorded();
    runs.iter().filter(is_logged).count() * 2 > runs.len()
}

/// Returns whether the intervals in the second half of the runs differ from those in the first half.
fn is_rescheduled(starts: &[(i64, i64)]) -> bool {
    let middle = starts.len() / 2;
    [0.5, 0.9].into_iter().any(|at| {
        let (before, after) = (
            distance(&starts[..middle], at),
            distance(&starts[middle..], at),
        );
        before.min(after) > 0 && before.max(after) * 5 > before.min(after) * 9
    })
}

/// Returns a quantile of the intervals between runs.
fn distance(starts: &[(i64, i64)], at: f64) -> i64 {
    let mut distances: Vec<i64> = starts
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    if distances.is_empty() {
        return 0;
    }
    let rank = as_count(count_f64(distances.len() - 1) * at);
    *distances.select_nth_unstable(rank).1
}

/// The position assumed within the interval of a run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Earliest,
    Middle,
    Latest,
}

impl At {
    /// Returns the time at that position.
    pub fn of(self, start: (i64, i64)) -> i64 {
        match self {
            Self::Earliest => start.0,
            Self::Middle => start.0 + (start.1 - start.0) / 2,
            Self::Latest => start.1,
        }
    }
}

impl Class {
    /// Returns the length of a form's period.
    pub fn period_of(&self, form: Form) -> i64 {
        match form {
            Form::Sawtooth => self.longest_us,
            _ => self.period_us,
        }
    }
}

/// The fit of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RunsFit {
    /// Log-likelihood gain, assuming innovations of variance 1, minus the penalty for the forms tried.
    pub gain: f64,
    /// Sawtooth or box; the duty is a fraction of the typical interval between runs.
    pub form: Form,
    /// Position within the intervals of the starts.
    pub at: At,
    /// Start of a box: the first sample after a run (0); the next one (1: samples cover the time before
    /// them); or the previous one (-1: timestamps mark the start of each interval).
    pub shift: i64,
    /// In the values' unit: from right after a run to right before the next (sawtooth), or above the level
    /// outside (box).
    pub amplitude: f64,
    /// How events follow the runs, if they were compared by that.
    pub event: Option<AfterRun>,
}

/// How an event follows a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AfterRun {
    /// When it begins, after the run, in microseconds.
    pub lag_us: i64,
    /// How long it usually lasts, in microseconds.
    pub len_us: i64,
}

/// The forms with which a class is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    /// Those that suit one variant of the values.
    Of(Variant),
    /// All, plus a box of this many bins.
    All {
        /// Width of the pattern to be explained.
        width: Option<usize>,
    },
    /// Only boxes of these widths, in bins; 0 means none.
    Boxes(Variant, [usize; 5]),
}

impl Forms {
    /// Returns whether a form that suits a variant is included.
    fn suits(self, variant: Variant) -> bool {
        match self {
            Self::Of(wanted) => wanted == variant,
            Self::All { .. } => true,
            Self::Boxes(..) => false,
        }
    }

    fn widths(self) -> Vec<usize> {
        let suits = |width: usize| {
            self.suits(if width <= SPIKE_BINS_MAX {
                Variant::Sharp
            } else {
                Variant::Slow
            })
        };
        let mut widths: Vec<usize> = BOX_BINS.into_iter().filter(|&w| suits(w)).collect();
        match self {
            Self::Of(_) | Self::All { width: None } => {}
            Self::All { width: Some(width) } => widths.push(width),
            Self::Boxes(_, given) => widths.extend(given.iter().filter(|&&width| width > 0)),
        }
        widths.sort_unstable();
        widths.dedup();
        widths
    }
}

/// One class on one grid, ready to be compared with any innovations.
#[derive(Debug)]
pub(crate) struct RunsTask {
    /// The class.
    pub class: usize,
    /// The grid.
    pub grid: usize,
    /// The variant of the values.
    pub variant: Variant,
    /// Penalty for the number of classes tried, in nats.
    pub penalty: f64,
    /// Whitened forms, sparse, with their norms.
    forms: Vec<Prepared>,
}

#[derive(Debug)]
struct Prepared {
    form: Form,
    at: At,
    shift: i64,
    /// Position among the filled bins, and value.
    cells: Cells,
    norm: f64,
}

#[derive(Debug)]
enum Cells {
    Dense(Vec<f64>),
    Boxes(Vec<(usize, usize)>),
}

impl RunsTask {
    /// Returns the grids on which a class is searched.
    pub fn grids_of(class: &Class, grids: &[Grid]) -> Vec<(usize, Variant)> {
        let wide = grids
            .iter()
            .rposition(|grid| as_f64(class.longest_us) / as_f64(grid.width_us) >= PERIOD_BINS)
            .unwrap_or(0);
        let mut tasks = vec![(wide, Variant::Slow), (wide, Variant::Sharp)];
        if wide > 0 {
            tasks.push((0, Variant::Sharp));
        }
        tasks
    }

    /// Prepares a class for a grid, in noise with autocorrelation `phi`.
    pub fn new(
        number: usize,
        class: &Class,
        grid_number: usize,
        grid: &Grid,
        forms_wanted: Forms,
        phi: f64,
    ) -> Self {
        let uncertain = class
            .starts_us
            .iter()
            .any(|start| start.1 - start.0 > grid.width_us);
        let places: &[At] = if uncertain {
            &[At::Earliest, At::Middle, At::Latest]
        } else {
            &[At::Middle]
        };
        let period_bins = as_f64(class.period_us) / as_f64(grid.width_us);
        let mut forms = Vec::new();
        for &at in places {
            let starts: Vec<i64> = class.starts_us.iter().map(|&start| at.of(start)).collect();
            let longest_bins = as_f64(class.longest_us) / as_f64(grid.width_us);
            if forms_wanted.suits(Variant::Slow) && longest_bins >= 2.5 {
                forms.extend(sawtooth(&starts, class.longest_us, grid, phi, at));
            }
            for width in forms_wanted.widths() {
                if count_f64(width) <= (period_bins * DUTY_MAX).max(1.0) {
                    // Prescreening on wide bins needs no more, and on the widest the next sample is in the
                    // same bin.
                    let is_first = matches!(forms_wanted, Forms::Of(_));
                    let is_widest = grid.width_us > grid.gap_us * WIDE_SHIFTED;
                    let is_one = is_widest || is_first && grid.is_wide;
                    let shifts = if is_one { &SHIFTS[..1] } else { &SHIFTS };
                    for &shift in shifts {
                        forms.extend(boxes(&starts, class.period_us, width, shift, grid, phi, at));
                    }
                }
            }
        }
        Self {
            class: number,
            grid: grid_number,
            variant: match forms_wanted {
                Forms::Of(variant) | Forms::Boxes(variant, _) => variant,
                Forms::All { .. } => Variant::Slow,
            },
            penalty: 0.0,
            forms,
        }
    }

    /// Returns the best form for these innovations of variance 1.
    pub fn search(&self, white: &[f64], phi: f64, prefix: &[f64]) -> Option<RunsFit> {
        self.fits(white, phi, prefix)
            .max_by(|a, b| a.gain.total_cmp(&b.gain))
    }

    /// Returns the best sawtooth and the best box among the allowed shifts.
    pub fn search_each(
        &self,
        white: &[f64],
        phi: f64,
        prefix: &[f64],
        may_be: impl Fn(i64) -> bool,
    ) -> Vec<RunsFit> {
        let (saws, boxes): (Vec<RunsFit>, Vec<RunsFit>) = self
            .fits(white, phi, prefix)
            .filter(|fit| may_be(fit.shift))
            .partition(|fit| fit.form == Form::Sawtooth);
        [saws, boxes]
            .into_iter()
            .filter_map(|fits| fits.into_iter().max_by(|a, b| a.gain.total_cmp(&b.gain)))
            .collect()
    }

    /// Returns the penalty for the forms tried: one in two is a sawtooth.
    pub fn penalty_of(&self, form: Form, shift: i64) -> f64 {
        let boxes = self
            .forms
            .iter()
            .filter(|prepared| matches!(prepared.form, Form::Box { .. }) && prepared.shift == 0)
            .count();
        let place = if shift == 0 { USUAL_NATS } else { UNUSUAL_NATS };
        match form {
            Form::Box { .. } => count_f64(2 * boxes.max(1)).ln() + place,
            _ => std::f64::consts::LN_2,
        }
    }

    fn fits<'a>(
        &'a self,
        white: &'a [f64],
        phi: f64,
        prefix: &'a [f64],
    ) -> impl Iterator<Item = RunsFit> + 'a {
        self.forms
            .iter()
            .filter(|prepared| prepared.norm > 0.0)
            .map(move |prepared| {
                let sum = match &prepared.cells {
                    Cells::Dense(cells) => cells.iter().zip(white).map(|(a, b)| a * b).sum::<f64>(),
                    Cells::Boxes(boxes) => boxes
                        .iter()
                        .map(|&(from, until)| {
                            let after = white.get(until).copied().unwrap_or(0.0);
                            white[from] + (1.0 - phi) * (prefix[until] - prefix[from + 1])
                                - phi * after
                        })
                        .sum(),
                };
                RunsFit {
                    gain: 0.5 * sum * sum / prepared.norm
                        - self.penalty_of(prepared.form, prepared.shift),
                    form: prepared.form,
                    at: prepared.at,
                    shift: prepared.shift,
                    amplitude: sum / prepared.norm,
                    event: None,
                }
            })
    }
}

fn sawtooth(starts: &[i64], period_us: i64, grid: &Grid, phi: f64, at: At) -> Option<Prepared> {
    let ages = ages(starts, period_us, &grid.wall_us);
    let mean = ages.iter().sum::<f64>() / count_f64(ages.len().max(1));
    let fresh = (1.0 - phi * phi).max(0.0).sqrt();
    let mut cells = Vec::with_capacity(ages.len());
    let (mut of_level, mut level) = (0.0, 0.0);
    let follows = |i: usize| i > 0 && grid.index[i] == grid.index[i - 1] + 1;
    let one = |i: usize| if follows(i) { 1.0 - phi } else { fresh };
    for i in 0..ages.len() {
        let cell = if follows(i) {
            (ages[i] - mean) - phi * (ages[i - 1] - mean)
        } else {
            fresh * (ages[i] - mean)
        };
        of_level += cell * one(i);
        level += one(i) * one(i);
        cells.push(cell);
    }
    // Remove the part that a constant level explains.
    let mut norm = 0.0;
    for (i, cell) in cells.iter_mut().enumerate() {
        if level > 0.0 {
            *cell -= of_level / level * one(i);
        }
        norm += *cell * *cell;
    }
    // A form that does not vary over the samples cannot be fitted.
    (norm > 1e-9 * count_f64(cells.len())).then_some(Prepared {
        form: Form::Sawtooth,
        at,
        shift: 0,
        cells: Cells::Dense(cells),
        norm,
    })
}

/// Returns the filled bins covered by a box of `width` bins after each start: the first, and the one after
/// the last.
pub(crate) fn box_places(
    starts: &[i64],
    width: usize,
    shift: i64,
    grid: &Grid,
) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    let wide = i64::try_from(width).unwrap_or(i64::MAX);
    for &start in starts {
        // The first sample after the start shows it; one at the exact time of the start covers the time
        // before it.
        let from_bin = if grid.is_wide {
            grid.bin_after(start, shift)
        } else {
            let first = grid.wall_us.partition_point(|&wall| wall <= start);
            let Some(&first) = grid.index.get(first) else {
                continue;
            };
            let bin = (start - grid.start_us).div_euclid(grid.width_us);
            // If samples are missing, use the rest of the box.
            first.min(bin + 1) + shift
        };
        let from = grid.index.partition_point(|&index| index < from_bin);
        let until = from
            + grid.index[from..]
                .iter()
                .take(width)
                .take_while(|&&index| index < from_bin + wide)
                .count();
        let free = places.last().is_none_or(|&(_, last)| last <= from);
        if until > from && free {
            places.push((from, until));
        }
    }
    places
}

fn boxes(
    starts: &[i64],
    period_us: i64,
    width: usize,
    shift: i64,
    grid: &Grid,
    phi: f64,
    at: At,
) -> Option<Prepared> {
    let places = box_places(starts, width, shift, grid);
    let inside: usize = places.iter().map(|(from, until)| until - from).sum();
    let runs = count_f64(places.len());
    let norm = runs * (1.0 + phi * phi) + (1.0 - phi).powi(2) * (count_f64(inside) - runs);
    // The fraction that the level outside explains.
    let share = count_f64(inside) / count_f64(grid.len().max(1));
    (!places.is_empty() && share < 0.5).then_some(Prepared {
        form: Form::Box {
            duty: count_f64(width) * as_f64(grid.width_us) / as_f64(period_us),
        },
        at,
        shift,
        cells: Cells::Boxes(places),
        norm: norm * (1.0 - share),
    })
}
