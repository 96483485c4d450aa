//! Keeps only changes that are robust to deviations from the noise model.

use super::decide::{self, Cut, Penalties, Stretch};
use super::grid::Grid;
use super::robust;

/// Cap on innovations, in standard deviations.
const CAP_SIGMAS: f64 = 3.0;

/// Ratio of block lengths from one scale to the next.
const COARSER: usize = 2;

/// Minimum number of blocks at the coarsest scale.
const COARSE_BLOCKS_MIN: usize = 24;

/// The same per stretch, on average: if each stretch were a single block, levels would look like noise.
const COARSE_BLOCKS_PER_STRETCH: usize = 8;

/// Keeps the changes that two further models do not explain better, and returns the gain of each of them
/// under all models, in nats, minus its cost.
///
/// 1. Noise with rare large innovations. A random walk that jumps once gains as much from a change there as
///    a shifted level does, but all of it from a single innovation. So innovations are capped, as in the
///    biweight loss of Fearnhead and Rigaill (2019), and a change has to earn its cost by what follows it.
/// 2. Noise with longer memory than AR(1): a slow drift beneath white noise looks like white noise from one
///    sample to the next. So the changes are tested again in blocks twice as long, and so on, none of which
///    spans a change: at coarse scales the drift dominates.
pub(super) fn confirm(
    grid: &Grid,
    mut cut: Cut,
    shortest: usize,
    floor_variance: f64,
) -> (Cut, Vec<f64>) {
    let penalties = Penalties::new(grid, floor_variance);
    // Each round but the last removes at least one change.
    'rounds: loop {
        let mut gains;
        (cut, gains) = eliminate(grid, cut, penalties);
        let mut longer = COARSER;
        let coarsest = COARSE_BLOCKS_MIN.max(COARSE_BLOCKS_PER_STRETCH * cut.stretches.len());
        while cut.stretches.len() > 1 && grid.len() / longer >= coarsest {
            let (starts, places) = blocks_within(&cut.stretches, longer);
            let coarse = Grid::averaged(&grid.x, &grid.y, &starts);
            let coarse_penalties = Penalties::new(&coarse, floor_variance / longer as f64);
            let kept = decide::cut(&coarse, &places, 1, coarse_penalties);
            if kept.stretches.len() < cut.stretches.len() {
                let kept: Vec<usize> = kept.stretches[1..]
                    .iter()
                    .map(|stretch| starts[stretch.from])
                    .collect();
                cut = decide::cut(grid, &kept, shortest, penalties);
                continue 'rounds;
            }
            for (change, gain) in gains.iter_mut().enumerate() {
                let without = merged(&kept.stretches, change).map(|stretches| {
                    decide::evaluate(&coarse, stretches, coarse_penalties).criterion
                });
                *gain = gain.min(without[0].min(without[1]) - kept.criterion);
            }
            longer *= COARSER;
        }
        return (cut, gains);
    }
}

/// Returns the starts of blocks of about `longer` within the stretches, and which of them begin a stretch.
fn blocks_within(stretches: &[Stretch], longer: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut starts, mut places) = (Vec::new(), Vec::new());
    for stretch in stretches {
        if stretch.from > 0 {
            places.push(starts.len());
        }
        let blocks = ((stretch.to - stretch.from) / longer).max(1);
        starts.extend((0..blocks).map(|block| stretch.from + block * longer));
    }
    (starts, places)
}

/// Removes changes that are not worth their cost once innovations are capped, the least valuable first;
/// removes all of them if no change at all explains more. Returns the gain of each remaining one.
fn eliminate(grid: &Grid, mut cut: Cut, penalties: Penalties) -> (Cut, Vec<f64>) {
    let capped = Capped::new(grid, &cut, penalties);
    let mut now = capped.criterion(&cut.stretches);
    let none = capped.better([false, true].map(|sloped| {
        vec![Stretch {
            from: 0,
            to: grid.len(),
            sloped,
        }]
    }));
    loop {
        if none.0 <= now {
            return (decide::evaluate(grid, none.1, penalties), Vec::new());
        }
        let without: Vec<(f64, Vec<Stretch>)> = (0..cut.stretches.len() - 1)
            .map(|change| capped.better(merged(&cut.stretches, change)))
            .collect();
        let least = without.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        match least {
            Some((criterion, stretches)) if *criterion <= now => {
                now = *criterion;
                cut = decide::evaluate(grid, stretches.clone(), penalties);
            }
            _ => {
                let gains = without
                    .iter()
                    .map(|(criterion, _)| criterion.min(none.0) - now)
                    .collect();
                return (cut, gains);
            }
        }
    }
}

/// Returns the stretches without one of the changes: merged into a level, and merged into a line.
fn merged(stretches: &[Stretch], change: usize) -> [Vec<Stretch>; 2] {
    [false, true].map(|sloped| {
        let mut merged = stretches.to_vec();
        let after = merged.remove(change + 1);
        merged[change].to = after.to;
        merged[change].sloped = sloped;
        merged
    })
}

/// The criterion with capped innovations.
struct Capped<'a> {
    grid: &'a Grid,
    penalties: Penalties,
    cap: f64,
}

impl<'a> Capped<'a> {
    /// The cap is relative to a model's own innovations.
    fn new(grid: &'a Grid, cut: &Cut, penalties: Penalties) -> Self {
        let mut capped = Self {
            grid,
            penalties,
            cap: f64::INFINITY,
        };
        let mut innovations = Vec::with_capacity(grid.len());
        capped.innovations(&cut.stretches, cut.phi, |e| innovations.push(e.abs()));
        capped.cap = (CAP_SIGMAS * robust::sigma(&mut innovations)).powi(2);
        capped
    }

    /// Returns the criterion of a segmentation.
    fn criterion(&self, stretches: &[Stretch]) -> f64 {
        let (phi, _) = decide::best_phi(self.grid, stretches);
        let mut rss = 0.0;
        self.innovations(stretches, phi, |e| rss += (e * e).min(self.cap));
        self.penalties.misfit(rss) + self.penalties.of(stretches)
    }

    /// Returns the better of two segmentations, with its criterion.
    fn better(&self, both: [Vec<Stretch>; 2]) -> (f64, Vec<Stretch>) {
        both.map(|stretches| (self.criterion(&stretches), stretches))
            .into_iter()
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("there are two")
    }

    fn innovations(&self, stretches: &[Stretch], phi: f64, mut each: impl FnMut(f64)) {
        let first = (1.0 - phi * phi).sqrt();
        for stretch in stretches {
            let line = decide::line_of(self.grid, stretch, phi);
            let mut before = None;
            for block in stretch.from..stretch.to {
                let residual = self.grid.y[block] - line.at(self.grid.x[block]);
                each(before.map_or(first * residual, |before: f64| residual - phi * before));
                before = Some(residual);
            }
        }
    }
}
