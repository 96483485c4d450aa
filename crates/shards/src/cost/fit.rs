//! Measured times to coefficients.
//!
//! `t = a + b x + b' max(0, x - 6,000) + d i m + (c near + c' far) n^2 / m`, with n copies of s shards in
//! the routing table, x = (n + s) / 2, i indices and m data nodes:
//! - `a + b x`: routing nodes and tables are made anew of all copies, each an object, and each shard's
//!   table of them another one. Those beyond [`COPIES_NEAR`] do not fit into the processor's second-level
//!   cache and cost more (`b'`). Without replicas x is n.
//! - `d i m`: for each index the balancer weighs each node, and asks the deciders of it.
//! - `n^2 / m`, up to 7.5: for each copy its node's list of n/m copies is walked. A step of the walk costs
//!   `c` where the next copy is near, and `c'` where it is not: [`far_share`].
//!
//! The first four are those of [`BASE`] for every version that walks: it does the same work without
//! the walk. Coefficients are never negative; what is made small is the sum of the squares of the
//! *relative* errors, so that a small cluster counts as much as a large one.

use super::{Step, scans};

/// The version whose times are those of the versions that walk, but for the walk.
pub const BASE: &str = "7.6.0";

/// Copies, with their shards' tables, that the second-level cache (1 MiB) holds.
const COPIES_NEAR: f64 = 6_000.0;
/// The longest list of a node that stays in it from one walk to the next; twice as long, nothing does.
const LIST_NEAR: f64 = 1_500.0;
/// Lists are made in the order of the indices, so that with so many nodes the next copy of the same node
/// lies a page of memory (4 KiB) further, and is not fetched ahead.
const NODES_FAR: f64 = 60.0;

/// What times depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Copies in the routing table.
    pub copies: u64,
    /// Shards in it: a primary and its replicas are one.
    pub shards: u64,
    /// Indices in it.
    pub indices: u64,
    /// Data nodes.
    pub nodes: u32,
}

/// One line of the measurements: what one step took on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Version of the server.
    pub version: String,
    /// What was measured.
    pub step: Step,
    /// The cluster.
    pub size: Size,
    /// Its closed indices, in the routing table or not.
    pub closed_indices: u64,
    /// Processor time of the master's thread, milliseconds, median.
    pub cpu_ms: f64,
}

/// A file of measurements that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found:?}")]
pub struct MeasuredError {
    /// 1-based line.
    pub line: usize,
    /// What would have been right.
    pub expected: String,
    /// What stood there, cut.
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

/// Reads the CSV that `benches/shards/measure.sh` prints. Lines that begin with `#` are passed over.
///
/// # Errors
/// If a column is missing, or a value is not what its column says.
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
            step: Step::from_name(step)
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

/// What was measured more than once becomes one line with the shortest time: what else the machine does,
/// and code that is not compiled yet, make a figure longer, never shorter. The order is that of the first
/// time.
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

/// Coefficients of one step of one version.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fit {
    /// Milliseconds, whatever the size.
    pub fixed_ms: f64,
    /// Milliseconds by thousand copies, or shards: half by the ones, half by the others.
    pub per_thousand_ms: f64,
    /// Milliseconds more by thousand beyond those that the cache holds.
    pub per_thousand_far_ms: f64,
    /// Milliseconds by thousand pairs of an index and a node.
    pub per_thousand_pairs_ms: f64,
    /// Milliseconds by million of copies squared over nodes, lists near by.
    pub walk_ms: f64,
    /// The same, lists not near by.
    pub walk_far_ms: f64,
}

/// Coefficients, as many as there are terms.
const TERMS: usize = 6;
/// Those of the walk are the last ones.
const WALK: [usize; 2] = [4, 5];

impl Fit {
    fn of(coefficients: [f64; TERMS]) -> Self {
        let [fixed, near, far, pairs, walk, walk_far] = coefficients;
        Self {
            fixed_ms: fixed,
            per_thousand_ms: near,
            per_thousand_far_ms: far,
            per_thousand_pairs_ms: pairs,
            walk_ms: walk,
            walk_far_ms: walk_far,
        }
    }

    /// All of them, in the order of the formula.
    pub fn coefficients(&self) -> [f64; TERMS] {
        [
            self.fixed_ms,
            self.per_thousand_ms,
            self.per_thousand_far_ms,
            self.per_thousand_pairs_ms,
            self.walk_ms,
            self.walk_far_ms,
        ]
    }

    /// Without the walk.
    #[must_use]
    pub(crate) fn without_walk(&self) -> Self {
        Self {
            walk_ms: 0.0,
            walk_far_ms: 0.0,
            ..*self
        }
    }

    /// One after the other.
    #[must_use]
    fn then(&self, other: &Self) -> Self {
        let (mut sum, other) = (self.coefficients(), other.coefficients());
        for (term, more) in sum.iter_mut().zip(other) {
            *term += more;
        }
        Self::of(sum)
    }

    /// The time on a cluster of that size, milliseconds.
    pub fn ms(&self, size: Size) -> f64 {
        let terms = terms(size);
        let products = terms.iter().zip(self.coefficients());
        products.map(|(term, coefficient)| term * coefficient).sum()
    }
}

/// What share of a walk's steps goes to copies that are not near by, from 0 to 1: none for short lists
/// on few nodes, all where a list is twice [`LIST_NEAR`] long or copies lie a page apart ([`NODES_FAR`]).
fn far_share(copies: f64, nodes: f64) -> f64 {
    let long = (copies / nodes / LIST_NEAR - 1.0).clamp(0.0, 1.0);
    let apart = (nodes / NODES_FAR).min(1.0);
    1.0 - (1.0 - long) * (1.0 - apart)
}

/// What the coefficients are multiplied with.
#[expect(
    clippy::cast_precision_loss,
    reason = "copies and indices are far below 2^53"
)]
fn terms(size: Size) -> [f64; TERMS] {
    let (copies, indices) = (size.copies as f64, size.indices as f64);
    let nodes = f64::from(size.nodes.max(1));
    // With one data node the disk decider has nothing to decide: it says yes before it looks.
    let walk = if size.nodes < 2 {
        0.0
    } else {
        copies / 1e3 * (copies / 1e3) / nodes
    };
    let far = far_share(copies, nodes);
    let objects = f64::midpoint(copies, size.shards as f64);
    [
        1.0,
        objects / 1e3,
        (objects - COPIES_NEAR).max(0.0) / 1e3,
        indices * nodes / 1e3,
        walk * (1.0 - far),
        walk * far,
    ]
}

/// Coefficients of one step of one version, fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The version.
    pub version: String,
    /// The step.
    pub step: Step,
    /// The coefficients.
    pub fit: Fit,
}

/// The coefficients of each version and step, in the order of their first lines; without those that these
/// lines do not determine. Repeated lines have to be one ([`shortest`]).
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
        // Where a version walks when copies start, it is because the reroute is part of it.
        base = base.then(&fit_one(rows, BASE, Step::Reroute)?);
    }
    best(&of, &base, &WALK)
}

/// The best coefficients of these terms beside those that are known already. `None` without rows.
///
/// With four terms at most, every choice of those that are not 0 is tried: the best of those without
/// a negative one is the best there is.
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
        let fit = known.then(&more);
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

/// Least squares on relative errors with the chosen terms alone; `None` if it is not determined or a
/// coefficient is negative.
fn least_squares(rows: &[&Measured], known: &Fit, choice: &[usize]) -> Option<Fit> {
    let size = choice.len();
    // Normal equations, the right side as the last column.
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

/// A line that was held back: what the other sizes predict for it.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldBack {
    /// Version of the server.
    pub version: String,
    /// What was measured.
    pub step: Step,
    /// The cluster.
    pub size: Size,
    /// Predicted over measured.
    pub ratio: f64,
}

impl HeldBack {
    /// By which factor it is off, in either direction; 1 is exact.
    pub fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

/// Holds back each size (number of copies) in turn, of all versions and steps, fits the others, and
/// predicts it.
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

/// By which factor the worst of these is off, in either direction; 1 is exact. `None` without any.
pub fn worst_factor<'a>(held: impl IntoIterator<Item = &'a HeldBack>) -> Option<f64> {
    held.into_iter().map(HeldBack::factor).reduce(f64::max)
}

#[cfg(test)]
mod tests;
