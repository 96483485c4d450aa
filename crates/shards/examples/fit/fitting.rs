//! Fits the coefficients of the cost model ([`shards::cost::Fit`]) to measured times.
//!
//! For every version that walks, the first four coefficients are those of [`BASE`], which does the same
//! work without the walk. Coefficients are never negative. The fit minimizes the sum of squared
//! *relative* errors, so that small and large clusters count equally.

use shards::cost::{Fit, Size, Step, TERMS, terms};
use shards::profile::PROFILES;

/// The version whose coefficients are used for versions that walk, apart from the walk itself.
pub const BASE: &str = "7.6.0";

/// Positions of the walk's coefficients, the last ones.
const WALK: [usize; 2] = [4, 5];

/// One row of the measurements: the time of one step on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Version of the server.
    pub version: String,
    /// The measured step.
    pub step: Step,
    /// The cluster.
    pub size: Size,
    /// Closed indices of the cluster, in the routing table or not.
    pub closed_indices: u64,
    /// CPU time of the master's thread, milliseconds, median.
    pub cpu_ms: f64,
}

/// A measurement file cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found:?}")]
pub struct MeasuredError {
    /// Line, from 1.
    pub line: usize,
    /// The expected content.
    pub expected: String,
    /// The content found, truncated.
    pub found: String,
}

const COLUMNS: [&str; 8] = [
    "version",
    "operation",
    "nodes",
    "closed_indices",
    "primaries",
    "replicas",
    "routed_copies",
    "cpu_ms_median",
];

/// Parses the CSV that `benches/shards/measure.sh` prints. Lines that begin with `#` are skipped.
///
/// # Errors
/// If a column is missing or a value is not valid for its column.
pub fn read_csv(text: &str) -> Result<Vec<Measured>, MeasuredError> {
    let error = |line: usize, expected: &str, found: &str| MeasuredError {
        line: line + 1,
        expected: expected.to_owned(),
        found: found.chars().take(60).collect(),
    };
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    let Some((at, head)) = lines.next() else {
        return Err(error(0, "a line of column names", ""));
    };
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let mut columns = [0; COLUMNS.len()];
    for (column, name) in columns.iter_mut().zip(COLUMNS) {
        let found = names.iter().position(|&other| other == name);
        *column = found.ok_or_else(|| error(at, &format!("a column {name}"), head))?;
    }
    let mut rows = Vec::new();
    for (at, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            return Err(error(at, &format!("{} values", names.len()), line));
        }
        let [
            version,
            step,
            nodes,
            closed,
            primaries,
            replicas,
            copies,
            cpu_ms,
        ] = columns.map(|column| cells[column]);
        let number = |text: &str, least: u32, expected: &str| {
            let number = text.parse::<u32>().ok().filter(|&number| number >= least);
            number.ok_or_else(|| error(at, expected, text))
        };
        let copies = u64::from(number(copies, 1, "copies, at least 1")?);
        let by_shard = 1 + u64::from(number(replicas, 0, "replicas, at least 0")?);
        let by_index = u64::from(number(primaries, 1, "primaries, at least 1")?) * by_shard;
        rows.push(Measured {
            version: version.to_owned(),
            step: Step::ALL
                .into_iter()
                .find(|known| known.name() == step)
                .ok_or_else(|| error(at, "reroute, create, start or delete", step))?,
            size: Size {
                copies,
                shards: copies / by_shard,
                indices: copies / by_index,
                nodes: number(nodes, 1, "nodes, at least 1")?,
            },
            closed_indices: number(closed, 0, "closed indices, at least 0")?.into(),
            cpu_ms: cpu_ms
                .parse()
                .ok()
                .filter(|&ms: &f64| ms.is_finite() && ms > 0.0)
                .ok_or_else(|| error(at, "milliseconds above 0", cpu_ms))?,
        });
    }
    Ok(rows)
}

/// Merges repeated measurements into one row with the shortest time: other load on the machine and code
/// that is not compiled yet make a time longer, never shorter. Rows keep the order of their first
/// occurrence.
pub fn shortest(rows: &[Measured]) -> Vec<Measured> {
    let same = |a: &Measured, b: &Measured| {
        (&a.version, a.step, a.size, a.closed_indices)
            == (&b.version, b.step, b.size, b.closed_indices)
    };
    let mut found: Vec<Measured> = Vec::new();
    for row in rows {
        match found.iter_mut().find(|other| same(other, row)) {
            Some(other) => other.cpu_ms = other.cpu_ms.min(row.cpu_ms),
            None => found.push(row.clone()),
        }
    }
    found
}

/// Fitted coefficients for one step of one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The version.
    pub version: String,
    /// The step.
    pub step: Step,
    /// The coefficients.
    pub fit: Fit,
}

/// Fits the coefficients for each version and step, in order of their first rows; omits those that the
/// rows do not determine. Repeated measurements must have been merged ([`shortest`]).
pub fn fit_all(rows: &[Measured]) -> Vec<Fitted> {
    let mut fitted: Vec<Fitted> = Vec::new();
    for row in rows {
        let is_done = |done: &Fitted| done.version == row.version && done.step == row.step;
        if !fitted.iter().any(is_done)
            && let Some(fit) = fit_one(rows, &row.version, row.step)
        {
            fitted.push(Fitted {
                version: row.version.clone(),
                step: row.step,
                fit,
            });
        }
    }
    fitted
}

fn fit_one(rows: &[Measured], version: &str, step: Step) -> Option<Fit> {
    let of: Vec<&Measured> = rows
        .iter()
        .filter(|row| row.version == version && row.step == step)
        .collect();
    if !scans(version, step) {
        return best(&of, &Fit::default(), &[0, 1, 2, 3]);
    }
    let mut base = fit_one(rows, BASE, step)?;
    if step == Step::Start {
        // If a version walks when copies start, the reroute is part of that step.
        base = then(&base, &fit_one(rows, BASE, Step::Reroute)?);
    }
    best(&of, &base, &WALK)
}

/// The sum of two steps executed one after the other.
fn then(one: &Fit, other: &Fit) -> Fit {
    let (mut sum, other) = (one.coefficients(), other.coefficients());
    for (term, more) in sum.iter_mut().zip(other) {
        *term += more;
    }
    Fit::of(sum)
}

/// Whether a step of a measured version walks the nodes' copies, so that its time includes these terms.
fn scans(measured: &str, step: Step) -> bool {
    let mut standing_on = PROFILES
        .iter()
        .filter(|profile| profile.measured == measured);
    standing_on.clone().any(|profile| profile.scans)
        // If the reroute is a separate task, starting copies does not consult any decider.
        && (step != Step::Start || standing_on.all(|profile| !profile.follow_up_reroute))
}

/// Best coefficients for the `free` terms, with the `known` ones held fixed. `None` without rows.
///
/// With at most four free terms, every subset of nonzero terms is tried: the best fit without negative
/// coefficients is the constrained optimum.
fn best(rows: &[&Measured], known: &Fit, free: &[usize]) -> Option<Fit> {
    if rows.is_empty() {
        return None;
    }
    let mut best: Option<(f64, Fit)> = None;
    for chosen in 0..1_usize << free.len() {
        let choice: Vec<usize> = (0..free.len())
            .filter(|bit| chosen >> bit & 1 == 1)
            .map(|bit| free[bit])
            .collect();
        let Some(more) = least_squares(rows, known, &choice) else {
            continue;
        };
        let fit = then(known, &more);
        let error: f64 = rows
            .iter()
            .map(|row| (fit.ms(row.size) / row.cpu_ms - 1.0).powi(2))
            .sum();
        if best.is_none_or(|(least, _)| error < least) {
            best = Some((error, fit));
        }
    }
    best.map(|(_, fit)| fit)
}

/// Least squares on relative errors using only the chosen terms. `None` if the solution is not unique or
/// a coefficient is negative.
fn least_squares(rows: &[&Measured], known: &Fit, choice: &[usize]) -> Option<Fit> {
    let size = choice.len();
    // Normal equations, with the right-hand side as the last column.
    let mut system = vec![vec![0.0; size + 1]; size];
    for row in rows {
        let all = terms(row.size);
        let rest = 1.0 - known.ms(row.size) / row.cpu_ms;
        let weighted: Vec<f64> = choice.iter().map(|&term| all[term] / row.cpu_ms).collect();
        for (line, &factor) in system.iter_mut().zip(&weighted) {
            for (cell, &other) in line.iter_mut().zip(&weighted) {
                *cell += factor * other;
            }
            line[size] += factor * rest;
        }
    }
    for pivot in 0..size {
        let swap = (pivot..size).max_by(|&a, &b| {
            let (a, b): (f64, f64) = (system[a][pivot], system[b][pivot]);
            a.abs().total_cmp(&b.abs())
        })?;
        system.swap(pivot, swap);
        let line = system[pivot].clone();
        if line[pivot].abs() < 1e-12 {
            return None;
        }
        for (at, other) in system.iter_mut().enumerate() {
            if at != pivot {
                let factor = other[pivot] / line[pivot];
                for (cell, value) in other.iter_mut().zip(&line) {
                    *cell -= factor * value;
                }
            }
        }
    }
    let mut coefficients = [0.0; TERMS];
    for (at, &term) in choice.iter().enumerate() {
        let value = system[at][size] / system[at][at];
        if !value.is_finite() || value < 0.0 {
            return None;
        }
        coefficients[term] = value;
    }
    Some(Fit::of(coefficients))
}

/// A held-out row and its prediction from the other sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldBack {
    /// Version of the server.
    pub version: String,
    /// The measured step.
    pub step: Step,
    /// The cluster.
    pub size: Size,
    /// Predicted time divided by measured time.
    pub ratio: f64,
}

impl HeldBack {
    /// Factor by which the prediction is off, in either direction; 1 is exact.
    pub fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

/// Cross-validation: holds out each size (number of copies) in turn, for all versions and steps, fits the
/// remaining rows and predicts the held-out ones.
pub fn hold_back(rows: &[Measured]) -> Vec<HeldBack> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.size.copies).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut found = Vec::new();
    for size in sizes {
        let (held, kept): (Vec<Measured>, Vec<Measured>) = rows
            .iter()
            .cloned()
            .partition(|row| row.size.copies == size);
        let fitted = fit_all(&kept);
        for row in held {
            let of = |fitted: &&Fitted| fitted.version == row.version && fitted.step == row.step;
            if let Some(Fitted { fit, .. }) = fitted.iter().find(of) {
                found.push(HeldBack {
                    ratio: fit.ms(row.size) / row.cpu_ms,
                    version: row.version,
                    step: row.step,
                    size: row.size,
                });
            }
        }
    }
    found
}

/// Largest factor by which these predictions are off, in either direction; 1 is exact. `None` if there
/// are none.
pub fn worst_factor<'a>(held: impl IntoIterator<Item = &'a HeldBack>) -> Option<f64> {
    held.into_iter().map(HeldBack::factor).reduce(f64::max)
}
