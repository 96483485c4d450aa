//! The best pattern of a series, of all periods, calendars, clocks and jobs, with its probability by chance.

use super::clear_box::clear_box;
use super::extent::{bounded, is_supported, onsets_of};
use super::forms::{each_form, from_zone, with_best_form, with_best_form_in_zone};
use super::found::{Found, ZoneFit};
use super::likelihood::{common_grid, likeliest, likelihood};
use super::refine::refine;
use super::size::{fit, grid_to_fit};
use super::weekdays::weekday_gain;
use crate::calendar::other_zone::OtherZone;
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant, grids};
use crate::model::noise::Null;
use crate::model::pattern::{Clock, Pattern};
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, count_f64, widest_us};
use crate::search::bootstrap::probability;
use crate::search::periods::{CYCLES_MIN, Candidate, Task, tasks};
use crate::search::runs::{At, Class, Forms, RunsFit, RunsTask};
use crate::search::scratch::{Scratch, innovations_of};
use crate::statistics::{difference, prefix_sums};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A statistic below this, in nats, counts as noise without a test.
const STATISTIC_MIN: f64 = 1.0;
/// A job's runs must explain this much more than a fixed period does, in nats, or a fifth more.
const RUNS_BONUS: f64 = 30.0;
/// Minimum gain of a multiple or fraction of a period, in nats.
const MULTIPLE_MIN: f64 = 10.0;
/// With fewer occurrences than this, a box may consist of bursts without a period.
const FEW: usize = 12;
/// A form that takes this share of its period may be a bad fit of a shorter one.
const WIDE: f64 = 0.3;
/// Minimum number of bins in a fraction of a period.
const PART_BINS_MIN: f64 = 6.0;
/// Candidates with at least this fraction of the best statistic are compared with it.
const RIVAL_MIN: f64 = 0.2;
/// Maximum number of candidates fitted exactly.
const TRIES: usize = 4;
/// Maximum number of changes of a box's width.
const WIDTH_TURNS: usize = 64;
/// A pattern follows the clocks of the analysis' own zone unless those of another one fit better by more
/// than this, in nats.
pub(crate) const ZONE_BONUS: f64 = 3.0;

/// The noise of one variant of a grid's values, and the innovations with their prefix sums.
struct Whitened {
    null: Null,
    white: Vec<f64>,
    prefix: Vec<f64>,
}

impl Whitened {
    fn new(grid: &Grid, variant: Variant) -> Option<Self> {
        let (null, white) = innovations_of(grid, variant)?;
        let mut prefix = Vec::new();
        prefix_sums(&white, &mut prefix);
        Some(Self {
            null,
            white,
            prefix,
        })
    }
}

/// A search of values for the pattern that explains them best.
pub(super) struct Search<'a> {
    values: &'a [f64],
    pub grids: Vec<Grid>,
    whitened: BTreeMap<(usize, Variant), Option<Whitened>>,
    tasks: Vec<Task>,
    runs: Vec<RunsTask>,
    cycles: std::ops::Range<f64>,
}

impl<'a> Search<'a> {
    /// Prepares the search for patterns of so many cycles, and those of jobs.
    pub fn new(
        samples: &Samples,
        values: &'a [f64],
        classes: &[Class],
        cycles: std::ops::Range<f64>,
    ) -> Self {
        let grids = grids(&samples.wall_us, values, samples.gap_us);
        let tasks = tasks(&grids, cycles.clone());
        let wanted: Vec<(usize, (usize, Variant))> = (classes.iter().enumerate())
            .flat_map(|(number, class)| {
                let of_class = RunsTask::grids_of(class, &grids).into_iter();
                of_class.map(move |task| (number, task))
            })
            .collect();
        let mut whitened = BTreeMap::new();
        for &(_, (grid, variant)) in &wanted {
            whitened
                .entry((grid, variant))
                .or_insert_with(|| Whitened::new(&grids[grid], variant));
        }
        let prepared = |&(number, key): &(usize, (usize, Variant))| {
            let phi = whitened.get(&key)?.as_ref()?.null.phi;
            let (class, grid, forms) = (&classes[number], &grids[key.0], Forms::Of(key.1));
            Some(RunsTask::new(number, class, key.0, grid, forms, phi))
        };
        let mut runs: Vec<RunsTask> = wanted.par_iter().filter_map(prepared).collect();
        // More classes mean more trials.
        let more = count_f64(classes.len().max(1)).ln();
        for task in &mut runs {
            task.penalty += more;
        }
        Self {
            values,
            grids,
            whitened,
            tasks,
            runs,
            cycles,
        }
    }

    /// Returns the best pattern, with its probability by chance; above `alpha`, that is a rough one.
    pub fn best(
        &self,
        samples: &Samples,
        classes: &[Class],
        alpha: f64,
        seed: u64,
    ) -> Option<Found> {
        let (own, others) =
            rayon::join(|| self.best_period(), || self.best_of_other_zones(samples));
        let (own, zones) = self.best_in_any_zone(samples, own, others);
        let (least, by_period) = match own {
            Some((statistic, pattern)) => (statistic, Some(pattern)),
            None => (STATISTIC_MIN, None),
        };
        // The search treats all days alike.
        let of_days = by_period
            .as_ref()
            .map_or(0.0, |some| weekday_gain(some, &self.grids[some.grid]));
        // Users understand a calendar better than "after each run", so runs have to explain clearly more.
        let enough = least + of_days + least.max(RUNS_BONUS) * 0.2;
        let (statistic, by_runs) = match self.best_runs(classes, enough) {
            Some((statistic, pattern)) => (statistic, Some(pattern)),
            None => (least, None),
        };
        let is_rescheduled = |class: usize| classes[class].is_rescheduled;
        let chosen = match (by_runs, by_period) {
            // The schedule has changed: report the pattern before the change, and compare the runs with it.
            (Some(by_runs), Some(by_period)) if by_runs.class.is_some_and(is_rescheduled) => {
                Some((by_period, Some(by_runs)))
            }
            (Some(by_runs), by_period) => {
                match self.best_for_regular_class(classes, &by_runs, by_period.as_ref()) {
                    Some(regular) => Some((regular, None)),
                    None => Some((by_runs, by_period)),
                }
            }
            (None, by_period) => by_period.map(|by_period| (by_period, None)),
        };
        // What is plain to see, unless the search has found it.
        let plain = clear_box(&self.grids).filter(|(plain, _)| {
            let is_it = |(pattern, _): &(Pattern, _)| {
                matches!(pattern.form, Form::Box { duty } if duty < WIDE)
                    && pattern.size() / plain.size() > 0.5
                    && pattern.shares_period_with(plain)
            };
            !chosen.as_ref().is_some_and(is_it)
        });
        let p_plain = plain.as_ref().map(|(_, p)| *p);
        let (pattern, rival) = plain.map(|(plain, _)| (plain, None)).or(chosen)?;
        let mut found = bounded(pattern, &self.grids);
        match rival {
            Some(rival) if rival.class.is_some() => found.across_schedule_change = Some(rival),
            other => found.best_without_jobs = other,
        }
        if found.pattern.class.is_none() {
            found.zones = zones;
        }
        if found.across_schedule_change.is_none() {
            self.refit_while_active(samples, classes, &mut found);
        }
        let rest = difference(self.values, &found.values(&samples.wall_us));
        let rest = grids(&samples.wall_us, &rest, samples.gap_us);
        let mut chance = probability(&rest, &self.tasks, &self.runs, statistic, alpha, seed);
        let is_box = matches!(found.pattern.form, Form::Box { .. });
        if is_box && found.onsets.len() < FEW && chance.p <= alpha {
            // Bursts at random times: a few may share a phase by chance, and are then missing from the
            // residual.
            let all = probability(&self.grids, &self.tasks, &self.runs, statistic, alpha, seed);
            (chance.p, chance.p_extrapolated) = (
                chance.p.max(all.p),
                chance.p_extrapolated.max(all.p_extrapolated),
            );
        }
        (found.p, found.p_extrapolated) = match p_plain {
            Some(p) => (p.min(chance.p), p.min(chance.p_extrapolated)),
            None => (chance.p, chance.p_extrapolated),
        };
        Some(found)
    }

    /// The runs of a periodic job carry no more information than their period. Returns the most likely of
    /// these: the same form with that period, any other form with it, and `by_period`.
    fn best_for_regular_class(
        &self,
        classes: &[Class],
        by_runs: &Pattern,
        by_period: Option<&Pattern>,
    ) -> Option<Pattern> {
        let class = &classes[by_runs.class?];
        if !class.is_regular {
            return None;
        }
        let period_us = as_f64(class.period_us);
        let grid = &self.grids[by_runs.grid];
        let bins = period_us / as_f64(grid.width_us);
        let task = Task::of_period(by_runs.grid, grid, by_runs.variant, bins);
        let first = by_runs.clock.onsets(i64::MIN / 2, i64::MAX / 2);
        let same = Candidate {
            statistic: 0.0,
            period_bins: bins,
            phase_bins: as_f64(first.first()? - grid.start_us) / as_f64(grid.width_us)
                - as_f64(grid.index[0]),
            form: by_runs.form,
        };
        let same = refine(&self.grids, &task, &same, &mut Scratch::default());
        let mut all: Vec<Pattern> = same.into_iter().collect();
        all.retain(|pattern| is_supported(pattern, &self.grids));
        all.extend(each_form(&self.grids, period_us, |_| true));
        all.extend(by_period.cloned());
        likeliest(&self.grids, all)
    }

    /// Fits the form of a pattern that began late or ended early again where it is active; it was fitted to
    /// the whole series.
    fn refit_while_active(&self, samples: &Samples, classes: &[Class], found: &mut Found) {
        let active_us = found.pattern.active_us;
        if active_us == (i64::MIN, i64::MAX) {
            return;
        }
        let on: Vec<usize> = (0..samples.wall_us.len())
            .filter(|&i| found.pattern.is_active(samples.wall_us[i]))
            .collect();
        let wall_us: Vec<i64> = on.iter().map(|&i| samples.wall_us[i]).collect();
        let values: Vec<f64> = on.iter().map(|&i| self.values[i]).collect();
        let part = || Samples {
            wall_us: wall_us.clone(),
            times_us: on.iter().map(|&i| samples.times_us[i]).collect(),
            values: values.clone(),
            gap_us: samples.gap_us,
            sample_of: samples.sample_of,
            offsets: samples.offsets.clone(),
            other_zones: samples.other_zones.clone(),
        };
        let again = match found.pattern.class {
            None => {
                let mut pattern = found.pattern.clone();
                pattern.active_us = (i64::MIN, i64::MAX);
                let grids = grids(&wall_us, &values, samples.gap_us);
                // A part may be too short for the wider ones.
                pattern.grid = pattern.grid.min(grids.len() - 1);
                Some(with_best_form_in_zone(&part(), &values, &grids, pattern))
            }
            Some(class) => {
                let part = part();
                let one = [classes[class].clone()];
                let search = Search::new(&part, &values, &one, CYCLES_MIN..f64::INFINITY);
                let best = search.best_runs(&one, f64::MIN);
                best.map(|(_, pattern)| Pattern {
                    class: Some(class),
                    ..pattern
                })
            }
        };
        let Some(mut again) = again else {
            return;
        };
        again.active_us = active_us;
        again.grid = again.grid.min(self.grids.len() - 1);
        let both = |again| likeliest(&self.grids, vec![found.pattern.clone(), again]);
        let grid = &self.grids[again.grid];
        if fit(&mut again, grid).is_some()
            && let Some(pattern) = both(again)
        {
            (found.onsets, found.active) = onsets_of(&pattern, &self.grids[pattern.grid]);
            found.pattern = pattern;
        }
    }

    /// Returns the best period in the local time of each other zone, if there is one.
    fn best_of_other_zones(&self, samples: &Samples) -> Vec<(f64, Pattern)> {
        let best_of = |zone: &Arc<OtherZone>| {
            let grids = samples.grids_in(Some(zone), self.values);
            let there = Search {
                values: self.values,
                tasks: tasks(&grids, self.cycles.clone()),
                cycles: self.cycles.clone(),
                grids,
                whitened: BTreeMap::new(),
                runs: Vec::new(),
            };
            let (statistic, pattern) = there.best_period()?;
            Some((statistic, from_zone(pattern, zone.clone(), &self.grids)?))
        };
        samples.other_zones.iter().filter_map(best_of).collect()
    }

    /// Returns the best period by the clocks that fit best, and how much worse the other clocks fit.
    fn best_in_any_zone(
        &self,
        samples: &Samples,
        own: Option<(f64, Pattern)>,
        others: Vec<(f64, Pattern)>,
    ) -> (Option<(f64, Pattern)>, Vec<ZoneFit>) {
        if samples.other_zones.is_empty() {
            return (own, Vec::new());
        }
        let mut all: Vec<(f64, Pattern)> = own.into_iter().chain(others).collect();
        let patterns = || all.iter().map(|(_, pattern)| pattern);
        let Some(grid) = common_grid(&self.grids, patterns()) else {
            return (None, Vec::new());
        };
        // The clocks matter also where only part of the time is explained.
        let judged: Vec<f64> = patterns()
            .map(|pattern| {
                let pattern = bounded(pattern.clone(), &self.grids).pattern;
                likelihood(&self.grids[grid], &[&pattern])
            })
            .collect();
        let worth = |at: usize| {
            let is_own = all[at].1.clock.zone().is_none();
            judged[at] + if is_own { ZONE_BONUS } else { 0.0 }
        };
        let best = (0..all.len())
            .rev()
            .max_by(|&a, &b| worth(a).total_cmp(&worth(b)));
        let Some(best) = best else {
            return (None, Vec::new());
        };
        let zones = (0..all.len())
            .filter(|at| *at != best)
            .map(|at| ZoneFit {
                zone: all[at].1.clock.zone().cloned(),
                loss: judged[best] - judged[at],
            })
            .collect();
        // Several zones mean more trials.
        let trials = count_f64(samples.other_zones.len() + 1).ln();
        let (statistic, pattern) = all.swap_remove(best);
        (Some((statistic - trials, pattern)), zones)
    }

    /// Returns the best period that passes an exact fit, with its statistic.
    fn best_period(&self) -> Option<(f64, Pattern)> {
        let grids = &self.grids;
        let look = |scratch: &mut Scratch, task: &Task| task.look_at(&grids[task.grid], scratch);
        let looked = self.tasks.par_iter().map_init(Scratch::default, look);
        let looked: Vec<Option<Candidate>> = looked.collect();
        let mut found: Vec<(&Task, Candidate)> = (self.tasks.iter().zip(looked))
            .filter_map(|(task, found)| Some((task, found?)))
            .filter(|(_, found)| found.statistic >= STATISTIC_MIN)
            .collect();
        found.sort_by(|a, b| b.1.statistic.total_cmp(&a.1.statistic));
        // Statistics of different grids are not quite comparable, so close competitors are compared with
        // the best on a common grid.
        let best = found.first().map_or(0.0, |(_, found)| found.statistic);
        let mut refined: Vec<(f64, Pattern)> = Vec::new();
        let mut scratch = Scratch::default();
        let mut tries = 0;
        for (task, found) in found {
            let period_us = found.period_bins * as_f64(self.grids[task.grid].width_us);
            let is_known = refined
                .iter()
                .any(|(_, known)| (known.clock.period_us() / period_us - 1.0).abs() < 0.01);
            if tries == TRIES
                || (is_known || found.statistic < best * RIVAL_MIN) && !refined.is_empty()
            {
                continue;
            }
            tries += 1;
            refined.extend(
                refine(&self.grids, task, &found, &mut scratch)
                    .filter(|pattern| is_supported(pattern, &self.grids))
                    .map(|pattern| (found.statistic, pattern)),
            );
        }
        // The best statistic is tested, whichever pattern is reported.
        let statistic = refined.first()?.0;
        let refined = refined.into_iter().map(|(_, pattern)| pattern).collect();
        let pattern = likeliest(&self.grids, refined)?;
        let multiple = self.multiple(&pattern);
        let mut patterns = vec![with_best_form(&self.grids, pattern)];
        patterns.extend(multiple.map(|multiple| with_best_form(&self.grids, multiple)));
        Some((statistic, likeliest(&self.grids, patterns)?))
    }

    /// A reset every three days looks like something smaller when folded by one and a half, and a reset
    /// every 20 minutes when folded by the hour. Returns the multiple or fraction of a period that explains
    /// clearly more, if there is one.
    fn multiple(&self, pattern: &Pattern) -> Option<Pattern> {
        let mut scratch = Scratch::default();
        let grid = &self.grids[pattern.grid];
        let bins = pattern.clock.period_us() / as_f64(grid.width_us);
        let mut best: Option<(f64, Task, Candidate)> = None;
        let parts = (2..=6).map(|part| 1.0 / f64::from(part));
        for factor in [1.0].into_iter().chain(parts).chain([2.0, 3.0, 4.0, 7.0]) {
            let is_short = factor < 1.0 && bins * factor < PART_BINS_MIN;
            let is_long = factor > 1.0 && bins * factor * CYCLES_MIN > as_f64(grid.span_bins());
            if is_short || is_long {
                continue;
            }
            let task = Task::of_period(pattern.grid, grid, pattern.variant, bins * factor);
            let found = task.look_at(grid, &mut scratch)?;
            // The first is the period itself, which the others must surpass.
            let least = best.as_ref().map_or(f64::MIN, |(least, ..)| *least);
            if best.is_none() || found.statistic > least + MULTIPLE_MIN {
                best = Some((found.statistic, task, found));
            }
        }
        let (_, task, found) = best?;
        if (0.75..1.5).contains(&(found.period_bins / bins)) {
            return None;
        }
        refine(&self.grids, &task, &found, &mut scratch)
            .filter(|pattern| is_supported(pattern, &self.grids))
    }

    /// Returns the best runs that pass an exact fit, if better than `enough`.
    fn best_runs(&self, classes: &[Class], enough: f64) -> Option<(f64, Pattern)> {
        let mut found: Vec<(f64, &RunsTask, RunsFit)> = self
            .runs
            .iter()
            .filter_map(|task| {
                let noise = self.whitened.get(&(task.grid, task.variant))?.as_ref()?;
                let fit = task.search(&noise.white, noise.null.phi, &noise.prefix)?;
                Some((fit.gain - task.penalty, task, fit))
            })
            .filter(|(statistic, ..)| *statistic > enough)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found
            .into_iter()
            .take(TRIES)
            .find_map(|(statistic, task, fit)| {
                self.of_runs(&classes[task.class], task, fit)
                    .filter(|pattern| is_supported(pattern, &self.grids))
                    .map(|pattern| (statistic, pattern))
            })
    }

    /// Builds a pattern whose clock is a class of jobs; a box found on wide bins gets its length from
    /// narrow ones.
    fn of_runs(&self, class: &Class, task: &RunsTask, fit: RunsFit) -> Option<Pattern> {
        let narrow = grid_to_fit(&self.grids, as_f64(class.period_us));
        let Form::Box { .. } = fit.form else {
            return of_runs(class, task, fit, &self.grids[task.grid]);
        };
        let mut patterns: Vec<Pattern> = self.box_of_runs(class, task, fit).into_iter().collect();
        // A reset has an edge at the run, as a box has: on the same bins the sawtooth may fit better.
        let grid = &self.grids[narrow];
        if let Some(noise) = Whitened::new(grid, Variant::Slow) {
            let forms = Forms::Of(Variant::Slow);
            let slow = RunsTask::new(task.class, class, narrow, grid, forms, noise.null.phi);
            let fits = slow.search_each(&noise.white, noise.null.phi, &noise.prefix, |_| true);
            let sawtooth = fits.into_iter().find(|fit| fit.form == Form::Sawtooth);
            patterns.extend(sawtooth.and_then(|fit| of_runs(class, &slow, fit, grid)));
        }
        likeliest(&self.grids, patterns)
    }

    /// Fits a box at the runs of a class, on bins that resolve its length.
    fn box_of_runs(&self, class: &Class, task: &RunsTask, fit: RunsFit) -> Option<Pattern> {
        let narrow = grid_to_fit(&self.grids, as_f64(class.period_us));
        let Form::Box { duty } = fit.form else {
            return None;
        };
        if narrow >= task.grid {
            return of_runs(class, task, fit, &self.grids[task.grid]);
        }
        let grid = &self.grids[narrow];
        let noise = Whitened::new(grid, task.variant)?;
        let mut width = width_in(duty, class.period_us, grid);
        let mut widths = [width / 4, width / 2, width * 3 / 4, width, width * 5 / 4];
        let mut best: Option<(RunsTask, RunsFit)> = None;
        for _ in 0..WIDTH_TURNS {
            let forms = Forms::Boxes(task.variant, widths);
            let again = RunsTask::new(task.class, class, narrow, grid, forms, noise.null.phi);
            let Some(fit) = again.search(&noise.white, noise.null.phi, &noise.prefix) else {
                break;
            };
            if best.as_ref().is_some_and(|(_, best)| best.gain >= fit.gain) {
                break;
            }
            if let Form::Box { duty } = fit.form {
                width = width_in(duty, class.period_us, grid);
            }
            best = Some((again, fit));
            widths = [
                width.saturating_sub(2),
                width.saturating_sub(1),
                width + 1,
                width + 2,
                0,
            ];
        }
        let (task, fit) = best?;
        of_runs(class, &task, fit, grid)
    }
}

/// Returns the width of a box in bins.
fn width_in(duty: f64, period_us: i64, grid: &Grid) -> usize {
    as_count(duty * as_f64(period_us) / as_f64(grid.width_us)).max(1)
}

/// Builds a pattern whose clock is a class of jobs.
fn of_runs(class: &Class, task: &RunsTask, found: RunsFit, grid: &Grid) -> Option<Pattern> {
    let starts_us = class
        .starts_us
        .iter()
        .map(|&start| found.at.of(start) + found.shift * grid.gap_us)
        .collect();
    let spread = widest_us(&class.starts_us);
    let interval_us = match found.at {
        At::Earliest => (0, spread),
        At::Middle => (-spread / 2, spread / 2),
        At::Latest => (-spread, 0),
    };
    // The clock starts where the form does; the event is the run itself.
    let shift_us = found.shift * grid.gap_us;
    let interval_us = (interval_us.0 - shift_us, interval_us.1 - shift_us);
    let clock = Clock::Runs {
        starts_us,
        period_us: class.period_of(found.form),
        window: None,
    };
    let mut pattern = Pattern::unfitted(clock, found.form, task.grid, task.variant, interval_us);
    pattern.class = Some(task.class);
    fit(&mut pattern, grid)?;
    Some(pattern)
}
