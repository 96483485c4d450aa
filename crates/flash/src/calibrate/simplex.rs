//! Minimizing the sum of squares.

use super::model::{Model, Point};

/// Parameters and their sum of squares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) point: Point,
    pub(super) squares: f64,
}

/// Number of simplex starts, the best points of the grid.
const STARTS: usize = 4;

/// Evaluates a grid over the fitted parameters, then runs the simplex method from its best points.
pub(super) fn from_grid(model: &Model) -> Best {
    let squares = |point: &Point| model.fit(point).squares;
    let middle = Point(model.bounds.map(|(low, high)| 0.5 * (low + high)));
    let mut starts = grid(model, middle, model.free(), 10, &squares);
    starts.truncate(STARTS);
    let mut best = starts[0];
    for start in starts {
        // Twice, because a simplex that collapsed too early opens up again.
        let mut found = search(model, start, model.free(), 0.5, &squares);
        found = search(model, found, model.free(), 0.1, &squares);
        if found.squares < best.squares {
            best = found;
        }
    }
    best
}

/// Evaluates all combinations of evenly spaced values of some parameters; returns the best first.
pub(super) fn grid(
    model: &Model,
    point: Point,
    numbers: &[usize],
    values: u32,
    squares: &dyn Fn(&Point) -> f64,
) -> Vec<Best> {
    let mut points = vec![point];
    for &number in numbers {
        let (low, high) = model.bounds[number];
        let value = |step| low + (high - low) * (f64::from(step) + 0.5) / f64::from(values);
        let with = |point: &Point, step| {
            let mut at = *point;
            at.0[number] = value(step);
            at
        };
        points = (points.iter())
            .flat_map(|point| (0..values).map(move |step| with(point, step)))
            .collect();
    }
    let mut grid: Vec<Best> = points
        .into_iter()
        .map(|point| Best {
            point,
            squares: squares(&point),
        })
        .collect();
    grid.sort_by(|a, b| a.squares.total_cmp(&b.squares));
    grid
}

/// Nelder and Mead's simplex method (1965) over some parameters, with the others fixed; points out
/// of bounds are moved to the border.
pub(super) fn search(
    model: &Model,
    start: Best,
    free: &[usize],
    size: f64,
    squares: &dyn Fn(&Point) -> f64,
) -> Best {
    if free.is_empty() {
        return Best {
            squares: squares(&start.point),
            ..start
        };
    }
    let evaluate = |mut point: Point| {
        for (number, bounds) in point.0.iter_mut().zip(&model.bounds) {
            *number = number.clamp(bounds.0, bounds.1);
        }
        Best {
            point,
            squares: squares(&point),
        }
    };
    let mut corners = vec![evaluate(start.point)];
    for &number in free {
        let mut point = start.point;
        let (_, high) = model.bounds[number];
        point.0[number] += if point.0[number] + size > high {
            -size
        } else {
            size
        };
        corners.push(evaluate(point));
    }
    let last = corners.len() - 1;
    for _ in 0..200 {
        corners.sort_by(|a, b| a.squares.total_cmp(&b.squares));
        let (best, worst) = (corners[0], corners[last]);
        let spread = |number: &usize| (worst.point.0[*number] - best.point.0[*number]).abs();
        let flat = worst.squares - best.squares <= 1e-9 * best.squares.abs();
        if flat || free.iter().map(spread).fold(0.0, f64::max) < 1e-5 {
            break;
        }
        // A point on the line from the worst corner through the center of the others.
        let along = |factor: f64| {
            let mut point = worst.point;
            for &number in free {
                #[allow(clippy::cast_precision_loss)] // at most three
                let middle = corners[..last]
                    .iter()
                    .map(|c| c.point.0[number])
                    .sum::<f64>()
                    / last as f64;
                point.0[number] = middle + factor * (middle - worst.point.0[number]);
            }
            evaluate(point)
        };
        let reflected = along(1.0);
        let next = if reflected.squares < best.squares {
            let expanded = along(2.0);
            if expanded.squares < reflected.squares {
                expanded
            } else {
                reflected
            }
        } else if reflected.squares < corners[last - 1].squares {
            reflected
        } else {
            let inside = along(if reflected.squares < worst.squares {
                0.5
            } else {
                -0.5
            });
            if inside.squares < worst.squares.min(reflected.squares) {
                inside
            } else {
                // Shrink towards the best corner.
                for corner in &mut corners[1..] {
                    let mut point = corner.point;
                    for &number in free {
                        point.0[number] = 0.5 * (point.0[number] + best.point.0[number]);
                    }
                    *corner = evaluate(point);
                }
                continue;
            }
        };
        corners[last] = next;
    }
    corners.sort_by(|a, b| a.squares.total_cmp(&b.squares));
    corners[0]
}
