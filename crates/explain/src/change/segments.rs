//! Change detection for a series of samples.

use super::confirm;
use super::decide::{self, Penalties, Stretch};
use super::grid::{BLOCKS_MAX, Grid};
use super::place::{self, SHORTEST};
use super::point::{ChangePoint, Segment, Segments};
use super::propose;
use super::robust;
use super::scaled::Scaled;
use crate::statistics::median;

/// A change with fewer samples after it is provisional; in series of more than 16,384 samples, with fewer
/// blocks.
const LAG_SAMPLES: usize = 14;

/// A change whose gain exceeds its cost by less than this is provisional; one more sample may remove it.
const FIRM_NATS: f64 = 4.0;

/// A possible bend is provisional unless it is at least this many times as old as its position is
/// uncertain.
const BEND_AGE: usize = 3;

/// Values that change less often than once in this many blocks are considered noise-free.
const STILL_BLOCKS: usize = 30;

/// Splits a series into straight segments. `times_us` are microseconds since the epoch in ascending order;
/// `values` are finite and as many. No change is reported if there are fewer than 16 samples, if all values
/// are equal except for spikes, or for stretches of fewer than 6 samples.
pub fn segments(times_us: &[i64], values: &[f64]) -> Segments {
    let len = times_us.len().min(values.len());
    let (times_us, values) = (&times_us[..len], &values[..len]);
    let Some(scaled) = Scaled::new(times_us, values) else {
        return unchanged(times_us, values);
    };
    let per_block = len.div_ceil(BLOCKS_MAX).next_power_of_two();
    let mut grid = Grid::new(&scaled.x, &scaled.y, per_block);
    if per_block > 1 {
        // A block that contains a jump belongs to neither side.
        let clipped = robust::winsorise(&grid.y);
        grid = Grid::of(grid.x, clipped);
    }
    let floor_variance = scaled.rounding_variance / per_block as f64;
    let places = propose::places(&grid, SHORTEST);
    let penalties = Penalties::new(&grid, floor_variance);
    let (cut, gains) = noise_free(&grid, penalties).unwrap_or_else(|| {
        let cut = decide::cut(&grid, &places, SHORTEST, penalties);
        let cut = decide::refine_positions(&grid, cut, SHORTEST, penalties);
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
                provisional: (len - after.from) / per_block < LAG_SAMPLES.max(BEND_AGE * width)
                    || gain_nats < FIRM_NATS,
                gain_nats,
            }
        })
        .collect();
    Segments {
        changes: told,
        segments,
    }
}

/// Returns the segmentation of values without any noise, and the gain of each change, if the series
/// consists of nothing else. A random walk with rare steps would explain it as well, but each step is
/// unmistakable.
fn noise_free(grid: &Grid, penalties: Penalties) -> Option<(decide::Cut, Vec<f64>)> {
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
        penalties.misfit(jump) - penalties.misfit(0.0) - penalties.change()
    };
    let gains: Vec<f64> = stretches.windows(2).map(gain).collect();
    if gains.iter().any(|gain| *gain <= 0.0) {
        return None;
    }
    let criterion = penalties.misfit(0.0) + penalties.of(&stretches);
    let cut = decide::Cut {
        stretches,
        phi: 0.0,
        criterion,
    };
    Some((cut, gains))
}

/// Returns a single segment at the median.
fn unchanged(times_us: &[i64], values: &[f64]) -> Segments {
    Segments {
        changes: Vec::new(),
        segments: times_us
            .first()
            .map(|&start_us| Segment {
                from: 0,
                to: values.len(),
                start_us,
                level: median(values.to_vec()),
                slope_per_day: 0.0,
            })
            .into_iter()
            .collect(),
    }
}
