//! Changes of level and slope that stay.
//!
//! 1. [`robust`]: spikes are cut back; series of more than 16,384 samples become blocks.
//! 2. [`propose`]: seeded binary segmentation names some places, near-linear in the number of blocks.
//! 3. [`decide`]: dynamic programming picks the changes among them, weighed against noise that
//!    remembers, random walks included.
//! 4. [`confirm`]: what large innovations, or longer memory, explain as well is dropped.
//! 5. [`place`]: back to the samples: where exactly, and what it is that changed.
//!
//! Nothing in it is drawn at random. Memory goes by the order of samples; slopes by their times.
#![allow(clippy::cast_precision_loss)] // counts of samples, microseconds of some years

mod confirm;
mod decide;
mod grid;
mod place;
mod propose;
mod robust;
#[cfg(test)]
mod tests;

use crate::verdict::ChangeKind;
use decide::{Charges, Stretch};
use grid::{BLOCKS_MAX, Grid};

/// Samples, or blocks, of the shortest stretch between two changes.
const SHORTEST: usize = 6;

/// Fewer samples say nothing about changes.
const SAMPLES_MIN: usize = 16;

/// A change worth less than this above its cost is provisional: what one more sample may take away.
const FIRM_NATS: f64 = 4.0;

/// How many times as old as its place is uncertain what may be a bend has to be, not to be provisional.
const BEND_AGE: usize = 3;

/// Where values move less often than once in so many blocks, they are still.
const STILL_BLOCKS: usize = 30;

/// Microseconds of a day.
const DAY_US: f64 = 86_400e6;

/// What changes are looked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeOptions {
    /// A change with fewer samples after it is provisional; in series of more than 16,384 samples,
    /// which are looked at in blocks, with fewer blocks. What may be a bend has to be three times as old as
    /// its place is uncertain, too.
    pub lag_samples: usize,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self { lag_samples: 14 }
    }
}

/// A change of level or slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first sample after it.
    pub index: usize,
    /// [`ChangeKind::Level`]: it jumped, whatever the slopes. [`ChangeKind::Slope`]: it bent.
    pub kind: ChangeKind,
    /// Level just before, in the unit of the values: that of the stretch's line at `index`.
    pub level_before: f64,
    /// Level just after.
    pub level_after: f64,
    /// Slope before, in units a day; 0 where a level alone explains the stretch.
    pub slope_before_per_day: f64,
    /// Slope after.
    pub slope_after_per_day: f64,
    /// More samples may move or end it: few came after it, or it is worth little more than it costs.
    pub provisional: bool,
    /// How much likelier the series is with it than without, in nats, less what it costs.
    pub gain_nats: f64,
}

/// A stretch between two changes, and its line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Index of its first sample.
    pub from: usize,
    /// Index after its last one.
    pub to: usize,
    /// Time of its first sample, in microseconds since the epoch.
    pub start_us: i64,
    /// Level at that time, in the unit of the values.
    pub level: f64,
    /// Slope in units a day; 0 where a level alone explains it.
    pub slope_per_day: f64,
}

impl Segment {
    /// The line's value at a time in microseconds since the epoch.
    pub fn at(&self, time_us: i64) -> f64 {
        self.level + self.slope_per_day * (time_us as f64 - self.start_us as f64) / DAY_US
    }
}

/// A series as stretches.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// Where one ends and the next begins, oldest first.
    pub changes: Vec<ChangePoint>,
    /// One more than changes; empty without samples.
    pub segments: Vec<Segment>,
    /// Coefficient of AR(1) of what remains, from one sample to the next, or from one block to the
    /// next; 0 where nothing was to be fitted.
    pub phi: f64,
}

/// The changes of a series. `times_us` are microseconds since the epoch, ascending; `values` are
/// finite and as many. See [`segments`].
pub fn change_points(
    times_us: &[i64],
    values: &[f64],
    options: &ChangeOptions,
) -> Vec<ChangePoint> {
    segments(times_us, values, options).changes
}

/// The stretches of a series, as [`change_points`]. No change is told of fewer than 16 samples, of
/// values that are all the same but for spikes, or of stretches of fewer than 6 samples.
pub fn segments(times_us: &[i64], values: &[f64], options: &ChangeOptions) -> Segments {
    let len = times_us.len().min(values.len());
    let (times_us, values) = (&times_us[..len], &values[..len]);
    let Some(scaled) = Scaled::new(times_us, values) else {
        return unchanged(times_us, values);
    };
    let per_block = len.div_ceil(BLOCKS_MAX).next_power_of_two();
    let mut grid = Grid::new(&scaled.x, &scaled.y, per_block);
    if per_block > 1 {
        // A block with a jump in it belongs to neither side.
        let clipped = robust::winsorise(&grid.y);
        grid = Grid::of(grid.x, clipped);
    }
    let floor_variance = scaled.rounding_variance / per_block as f64;
    let places = propose::places(&grid, SHORTEST);
    let charges = Charges::new(&grid, floor_variance);
    let (cut, gains) = still(&grid, charges).unwrap_or_else(|| {
        let cut = decide::cut(&grid, &places, SHORTEST, charges);
        let cut = decide::settle(&grid, cut, SHORTEST, charges);
        confirm::confirm(&grid, cut, SHORTEST, floor_variance)
    });
    let lined = place::place(&grid, &cut.stretches, cut.phi, &scaled, per_block);

    let line = |index: usize| {
        let (line, from) = (&lined.lines[index], lined.from[index]);
        Segment {
            from,
            to: lined.from.get(index + 1).copied().unwrap_or(len),
            start_us: times_us[from],
            level: scaled.value(line.at(scaled.x[from])),
            slope_per_day: scaled.per_day(line.slope),
        }
    };
    let segments: Vec<Segment> = (0..lined.from.len()).map(line).collect();
    let told = segments
        .windows(2)
        .zip(gains)
        .zip(lined.kinds)
        .zip(lined.widths)
        .map(|(((pair, gain_nats), kind), width)| {
            let (before, after) = (pair[0], pair[1]);
            ChangePoint {
                index: after.from,
                kind,
                level_before: before.at(after.start_us),
                level_after: after.level,
                slope_before_per_day: before.slope_per_day,
                slope_after_per_day: after.slope_per_day,
                provisional: (len - after.from) / per_block
                    < options.lag_samples.max(BEND_AGE * width)
                    || gain_nats < FIRM_NATS,
                gain_nats,
            }
        })
        .collect();
    Segments {
        changes: told,
        segments,
        phi: cut.phi,
    }
}

/// Stretches of values without any noise, where there are some and nothing else: a random walk with
/// rare steps explains them as well, but each step is as plain as can be. And what each is worth.
fn still(grid: &Grid, charges: Charges) -> Option<(decide::Cut, Vec<f64>)> {
    let mut ends: Vec<usize> = (1..grid.len())
        .filter(|&block| (grid.y[block] - grid.y[block - 1]).abs() > 1e-9)
        .collect();
    if ends.is_empty() || ends.len() > grid.len() / STILL_BLOCKS {
        return None;
    }
    ends.push(grid.len());
    let mut from = 0;
    let mut stretches = Vec::new();
    for to in ends {
        if to - from < SHORTEST {
            return None;
        }
        stretches.push(Stretch {
            from,
            to,
            sloped: false,
        });
        from = to;
    }
    let gain = |pair: &[Stretch]| {
        let (jump, _) = grid.fit_plain(pair[0].from, pair[1].to);
        charges.misfit(jump) - charges.misfit(0.0) - charges.change()
    };
    let gains: Vec<f64> = stretches.windows(2).map(gain).collect();
    if gains.iter().any(|gain| *gain <= 0.0) {
        return None;
    }
    let criterion = charges.misfit(0.0) + charges.of(&stretches);
    let cut = decide::Cut {
        stretches,
        phi: 0.0,
        criterion,
    };
    Some((cut, gains))
}

/// One stretch at the median.
fn unchanged(times_us: &[i64], values: &[f64]) -> Segments {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Segments {
        changes: Vec::new(),
        segments: times_us
            .first()
            .map(|&start_us| Segment {
                from: 0,
                to: values.len(),
                start_us,
                level: sorted[sorted.len() / 2],
                slope_per_day: 0.0,
            })
            .into_iter()
            .collect(),
        phi: 0.0,
    }
}

/// A series without units and spikes.
struct Scaled {
    /// Times from -1 to 1.
    x: Vec<f64>,
    /// Values about their mean, in units of the noise from sample to sample.
    y: Vec<f64>,
    /// Variance of rounding to the values' smallest step, in those units.
    rounding_variance: f64,
    centre: f64,
    unit: f64,
    half_span_days: f64,
}

impl Scaled {
    /// None where there is nothing to look at: too few samples, no time between them, all the same,
    /// or numbers that are none.
    fn new(times_us: &[i64], values: &[f64]) -> Option<Self> {
        let (first, last) = (*times_us.first()? as f64, *times_us.last()? as f64);
        let largest = values
            .iter()
            .fold(0.0, |most: f64, value| most.max(value.abs()));
        let finite = values.iter().all(|value| value.is_finite());
        if values.len() < SAMPLES_MIN || last <= first || largest <= 0.0 || !finite {
            return None;
        }
        // Squares of the largest numbers would overflow.
        let y: Vec<f64> = values.iter().map(|value| value / largest).collect();
        let y = robust::winsorise(&y);
        let mut steps: Vec<f64> = y.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let rounding = steps
            .iter()
            .filter(|step| **step > 1e-12)
            .fold(f64::INFINITY, |least, step| least.min(*step));
        let noise = robust::sigma(&mut steps) / std::f64::consts::SQRT_2;
        if noise <= 1e-13 {
            return None;
        }
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let y = y.into_iter().map(|value| (value - mean) / noise).collect();
        let middle = f64::midpoint(first, last);
        let half_span = (last - first) / 2.0;
        Some(Self {
            x: times_us
                .iter()
                .map(|time| (*time as f64 - middle) / half_span)
                .collect(),
            y,
            rounding_variance: (rounding / noise).powi(2) / 12.0,
            centre: mean * largest,
            unit: noise * largest,
            half_span_days: half_span / DAY_US,
        })
    }

    fn value(&self, y: f64) -> f64 {
        self.centre + self.unit * y
    }

    fn per_day(&self, slope: f64) -> f64 {
        slope * self.unit / self.half_span_days
    }
}
