//! Jobs as explanations: classes that the samples can tell apart, and how well the runs of each fit.

use crate::JobRuns;
use crate::grid::{Grid, Variant};
use crate::numbers::{as_f64, count_f64};
use crate::shape::{BOX_BINS, Form, SPIKE_BINS_MAX};
use crate::wall::Wall;
use schedule::{Run, Seen};
use std::collections::BTreeMap;

/// Bins of a period that slow forms are looked at with.
const PERIOD_BINS: f64 = 12.0;
/// A job's doing is over after this part of its period.
const DUTY_MAX: f64 = 0.25;
/// Where a box may begin, counted in samples from the first one after a run.
pub(crate) const SHIFTS: [i64; 3] = [0, 1, -1];
/// Up to so many samples a bin, it matters which of them shows a run first.
const WIDE_SHIFTED: i64 = 4;
/// What the usual place is charged, in nats: seven of ten.
const USUAL_NATS: f64 = 0.36;
/// What each of the others is: three of twenty. Of the earlier one, samples are dated by the start of what they
/// stand for, as many exports are.
const UNUSUAL_NATS: f64 = 1.9;
/// A run shows once this part of the samples' distance has passed, and this time at most: those who collect samples
/// on the minute do so some seconds late, as cron starts its jobs.
const SHOWS_PART: i64 = 15;
const SHOWS_MAX_US: i64 = 30_000_000;
/// A run is believed to be the last for this many periods.
const AGE_MAX: f64 = 2.0;

/// Jobs whose runs fall between the same samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Class {
    /// Their numbers in the list that was handed in.
    pub members: Vec<usize>,
    /// When the runs start to show, earliest and latest, in wall time, of the first member.
    pub starts_us: Vec<(i64, i64)>,
    /// Median distance between runs.
    pub period_us: i64,
    /// The distance that nine of ten runs keep to: longer than the median where the schedule has
    /// changed, or leaves days out.
    pub longest_us: i64,
    /// Whether its runs come at other distances later than at first.
    pub is_rescheduled: bool,
    /// Whether logs tell of most of its runs.
    pub is_observed: bool,
    /// Whether nearly all runs are where a period puts them, to the samples' distance: that says as much.
    pub is_regular: bool,
}

/// The classes of jobs, and the numbers of those that are no use: with fewer than `runs_min` runs
/// among the samples, or too many for the samples to show one.
pub(crate) fn classes(
    jobs: &[JobRuns],
    times_us: &[i64],
    gap_us: i64,
    wall: &Wall,
    runs_min: usize,
) -> (Vec<Class>, Vec<usize>) {
    // A sample that ends right after a start stands for the time before it.
    let shows_us = (gap_us / SHOWS_PART).min(SHOWS_MAX_US);
    let mut by_gaps: BTreeMap<Vec<(usize, usize)>, Class> = BTreeMap::new();
    let mut useless = Vec::new();
    let (Some(&first), Some(&last)) = (times_us.first(), times_us.last()) else {
        return (Vec::new(), (0..jobs.len()).collect());
    };
    for (number, job) in jobs.iter().enumerate() {
        let starts: Vec<(i64, i64)> = job
            .runs
            .iter()
            .map(|run| (run.earliest.as_microsecond(), run.latest.as_microsecond()))
            .collect();
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
        // A job that runs between nearly all samples tells them nothing.
        if gaps.len() < runs_min || gaps.len() * 20 > times_us.len() * 19 {
            useless.push(number);
            continue;
        }
        by_gaps
            .entry(gaps)
            .or_insert_with(|| {
                let at = |us: i64| wall.of(us) + shows_us;
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
                    is_regular: is_regular(&starts_us, period_us, gap_us),
                    starts_us,
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
    let is_logged = |run: &&Run| matches!(run.seen, Seen::Journal | Seen::Syslog);
    runs.iter().filter(is_logged).count() * 2 > runs.len()
}

/// Whether the distances of the later half of the runs are other ones than those of the first half.
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

/// A quantile of the distances between runs.
fn distance(starts: &[(i64, i64)], at: f64) -> i64 {
    let mut distances: Vec<i64> = starts
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    if distances.is_empty() {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below the number of distances"
    )]
    let rank = (count_f64(distances.len() - 1) * at).round() as usize;
    *distances.select_nth_unstable(rank).1
}

/// Where in the interval of a run's start it is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Earliest,
    Middle,
    Latest,
}

impl At {
    /// The moment within the interval.
    pub fn of(self, start: (i64, i64)) -> i64 {
        match self {
            Self::Earliest => start.0,
            Self::Middle => start.0 + (start.1 - start.0) / 2,
            Self::Latest => start.1,
        }
    }
}

impl Class {
    /// The length of a form's period.
    pub fn period_of(&self, form: Form) -> i64 {
        match form {
            Form::Sawtooth => self.longest_us,
            _ => self.period_us,
        }
    }
}

/// How a class fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RunsFit {
    /// Gain in nats, taking the innovations' variance as 1, less the charge for the forms tried.
    pub gain: f64,
    /// Sawtooth or box; the duty is a part of the typical distance between runs.
    pub form: Form,
    /// Where in the intervals of the starts.
    pub at: At,
    /// Of a box: from the first sample after a run (0), from the next one on (1: what is sampled is
    /// the time before), or from the one before (-1: samples are dated by the start of what they
    /// stand for).
    pub shift: i64,
    /// In the values' unit: from right after a run to right before the next (sawtooth), or above
    /// the level outside (box).
    pub amplitude: f64,
}

/// Which forms a class is looked at with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    /// Those that suit one variant of the values.
    Of(Variant),
    /// All, and a box of so many bins besides.
    All {
        /// Of the pattern that is to be explained.
        width: Option<usize>,
    },
    /// Boxes of these widths alone, in bins; 0 is none.
    Boxes(Variant, [usize; 5]),
}

impl Forms {
    /// Whether a form that suits a variant is wanted.
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

/// One class on one grid, ready to be put beside any innovations.
#[derive(Debug)]
pub(crate) struct RunsTask {
    /// Which class.
    pub class: usize,
    /// Which grid.
    pub grid: usize,
    /// Which values.
    pub variant: Variant,
    /// What is taken off for the classes tried, in nats.
    pub charge: f64,
    /// Whitened forms, sparse, with their sizes.
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
    /// Which grids a class is looked at on.
    pub fn grids_of(class: &Class, grids: &[Grid]) -> Vec<(usize, Variant)> {
        let wide = grids
            .iter()
            .rposition(|grid| as_f64(class.longest_us) / as_f64(grid.width_us) >= PERIOD_BINS)
            .unwrap_or(0);
        vec![
            (wide, Variant::Slow),
            (wide, Variant::Sharp),
            (0, Variant::Sharp),
        ]
        .into_iter()
        .enumerate()
        .filter(|&(number, (grid, _))| number < 2 || grid != wide)
        .map(|(_, task)| task)
        .collect()
    }

    /// Prepares a class for a grid, in noise of correlation `phi`: the forms that suit a variant,
    /// or all.
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
                    // A first look needs no more of wide bins, and in the widest the next sample is in the same one.
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
            charge: 0.0,
            forms,
        }
    }

    /// The best form for these innovations of variance 1.
    pub fn search(&self, white: &[f64], phi: f64, prefix: &[f64]) -> Option<RunsFit> {
        self.fits(white, phi, prefix)
            .max_by(|a, b| a.gain.total_cmp(&b.gain))
    }

    /// The best sawtooth and the best box, of those shifts that may be.
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

    /// What a form is charged for those tried beside it: one in two is a sawtooth.
    pub fn charge_of(&self, form: Form, shift: i64) -> f64 {
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
                        - self.charge_of(prepared.form, prepared.shift),
                    form: prepared.form,
                    at: prepared.at,
                    shift: prepared.shift,
                    amplitude: sum / prepared.norm,
                }
            })
    }
}

/// Sums up to each innovation.
pub(crate) fn prefix_sums(white: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.push(0.0);
    let mut sum = 0.0;
    out.extend(white.iter().map(|value| {
        sum += value;
        sum
    }));
}

/// How many periods ago the last of the ascending `starts` was, for each of the ascending times. A sample of
/// the same moment stands for the time before it: it begins a microsecond later.
pub(crate) fn ages(starts: &[i64], period_us: i64, wall_us: &[i64]) -> Vec<f64> {
    let mut next = 0;
    wall_us
        .iter()
        .map(|&wall| {
            while next < starts.len() && starts[next] < wall {
                next += 1;
            }
            let begun = match next {
                // Before the first that is known, as if the one before was due as usual.
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

fn sawtooth(starts: &[i64], period_us: i64, grid: &Grid, phi: f64, at: At) -> Option<Prepared> {
    let ages = ages(starts, period_us, &grid.wall_us);
    let mean = ages.iter().sum::<f64>() / count_f64(ages.len().max(1));
    let fresh = (1.0 - phi * phi).max(0.0).sqrt();
    let mut cells = Vec::with_capacity(ages.len());
    let (mut of_level, mut level) = (0.0, 0.0);
    let one = |i: usize| {
        let follows = i > 0 && grid.index[i] == grid.index[i - 1] + 1;
        if follows { 1.0 - phi } else { fresh }
    };
    for i in 0..ages.len() {
        let follows = i > 0 && grid.index[i] == grid.index[i - 1] + 1;
        let cell = if follows {
            (ages[i] - mean) - phi * (ages[i - 1] - mean)
        } else {
            fresh * (ages[i] - mean)
        };
        of_level += cell * one(i);
        level += one(i) * one(i);
        cells.push(cell);
    }
    // What a constant level explains is no merit of the form.
    let mut norm = 0.0;
    for (i, cell) in cells.iter_mut().enumerate() {
        if level > 0.0 {
            *cell -= of_level / level * one(i);
        }
        norm += *cell * *cell;
    }
    // A form that does not vary beside the samples says nothing.
    (norm > 1e-9 * count_f64(cells.len())).then_some(Prepared {
        form: Form::Sawtooth,
        at,
        shift: 0,
        cells: Cells::Dense(cells),
        norm,
    })
}

/// The filled bins that a box of so many bins after each start takes: the first and the one after
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
        // The first sample after the start shows it, and none of the same moment: it stands for the time
        // before.
        let from_bin = if grid.is_wide {
            grid.bin_after(start, shift)
        } else {
            let first = grid.wall_us.partition_point(|&wall| wall <= start);
            let Some(&first) = grid.index.get(first) else {
                continue;
            };
            let bin = (start - grid.start_us).div_euclid(grid.width_us);
            // Where samples are missing, what is left of the box.
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
    // What the level outside takes up.
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

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
