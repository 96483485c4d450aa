//! Measured times to coefficients.
//!
//! `t = a + b n + c n^2 / m`, with n copies in the routing table and m data nodes: the last term is
//! that of a round which, for each copy, looks through all copies of its node. Coefficients are never
//! negative; what is made small is the sum of the squares of the *relative* errors, so that a small
//! cluster counts as much as a large one.

use super::Step;

/// One line of the measurements: what one step took on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Version of the server.
    pub version: String,
    /// What was measured.
    pub step: Step,
    /// Data nodes.
    pub nodes: u32,
    /// Copies in the routing table.
    pub routed_copies: u64,
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
    let column = |name: &str| {
        let found = names.iter().position(|&other| other == name);
        found.ok_or_else(|| error(at, &format!("a column {name}"), head))
    };
    let columns = [
        column("version")?,
        column("operation")?,
        column("nodes")?,
        column("routed_copies")?,
        column("cpu_ms_median")?,
    ];
    let mut rows = Vec::new();
    for (at, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            return Err(error(at, &format!("{} values", names.len()), line));
        }
        let [version, step, nodes, copies, cpu_ms] = columns.map(|column| cells[column]);
        let number = |text: &str| text.parse::<u32>().ok().filter(|&number| number > 0);
        rows.push(Measured {
            version: version.to_owned(),
            step: Step::from_name(step)
                .ok_or_else(|| error(at, "reroute, create, start or delete", step))?,
            nodes: number(nodes).ok_or_else(|| error(at, "nodes, at least 1", nodes))?,
            routed_copies: number(copies)
                .ok_or_else(|| error(at, "copies, at least 1", copies))?
                .into(),
            cpu_ms: cpu_ms
                .parse()
                .ok()
                .filter(|&ms: &f64| ms.is_finite() && ms > 0.0)
                .ok_or_else(|| error(at, "milliseconds above 0", cpu_ms))?,
        });
    }
    Ok(rows)
}

/// Coefficients of one step of one version.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fit {
    /// Milliseconds, whatever the size.
    pub fixed_ms: f64,
    /// Milliseconds by thousand copies.
    pub per_thousand_ms: f64,
    /// Milliseconds by million of copies squared over nodes.
    pub scan_ms: f64,
}

impl Fit {
    /// The time for that many copies on that many nodes, milliseconds.
    pub fn ms(&self, copies: u64, nodes: u32) -> f64 {
        let [fixed, linear, scan] = terms(copies, nodes);
        self.fixed_ms * fixed + self.per_thousand_ms * linear + self.scan_ms * scan
    }
}

/// What the coefficients are multiplied with.
#[expect(clippy::cast_precision_loss, reason = "copies are far below 2^53")]
fn terms(copies: u64, nodes: u32) -> [f64; 3] {
    let thousands = copies as f64 / 1e3;
    // With one data node the disk decider has nothing to decide: it says yes before it looks.
    let scan = if nodes < 2 {
        0.0
    } else {
        thousands * thousands / f64::from(nodes)
    };
    [1.0, thousands, scan]
}

/// The best coefficients for these rows; with `scan` the square term is allowed. `None` without rows.
///
/// With three coefficients at most, every choice of those that are not 0 is tried: the best of those
/// without a negative one is the best there is.
pub fn fit(rows: &[&Measured], scan: bool) -> Option<Fit> {
    if rows.is_empty() {
        return None;
    }
    let choices: &[&[usize]] = if scan {
        &[&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]]
    } else {
        &[&[0], &[1], &[0, 1]]
    };
    let mut best: Option<(f64, Fit)> = None;
    for choice in choices {
        let Some(fit) = least_squares(rows, choice) else {
            continue;
        };
        let error: f64 = rows
            .iter()
            .map(|row| (fit.ms(row.routed_copies, row.nodes) / row.cpu_ms - 1.0).powi(2))
            .sum();
        if best.is_none_or(|(least, _)| error < least) {
            best = Some((error, fit));
        }
    }
    best.map(|(_, fit)| fit)
}

/// Least squares on relative errors with the chosen terms alone; `None` if it is not determined or a
/// coefficient is negative.
fn least_squares(rows: &[&Measured], choice: &[usize]) -> Option<Fit> {
    let size = choice.len();
    // Normal equations, the right side as the last column.
    let mut system = vec![vec![0.0; size + 1]; size];
    for row in rows {
        let all = terms(row.routed_copies, row.nodes);
        let weighted: Vec<f64> = choice.iter().map(|&term| all[term] / row.cpu_ms).collect();
        for (line, &factor) in system.iter_mut().zip(&weighted) {
            for (cell, &other) in line.iter_mut().zip(&weighted) {
                *cell += factor * other;
            }
            line[size] += factor;
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
    let mut coefficients = [0.0; 3];
    for (at, &term) in choice.iter().enumerate() {
        let value = system[at][size] / system[at][at];
        if !value.is_finite() || value < 0.0 {
            return None;
        }
        coefficients[term] = value;
    }
    let [fixed_ms, per_thousand_ms, scan_ms] = coefficients;
    Some(Fit {
        fixed_ms,
        per_thousand_ms,
        scan_ms,
    })
}

/// A size that was held back: what the other sizes predict for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldBack {
    /// Copies in the routing table.
    pub copies: u64,
    /// Data nodes.
    pub nodes: u32,
    /// Predicted over measured.
    pub ratio: f64,
}

/// Holds back each size (number of copies) in turn, fits the others, and predicts it.
pub fn hold_back(rows: &[&Measured], scan: bool) -> Vec<HeldBack> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.routed_copies).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut found = Vec::new();
    for size in sizes {
        let (held, kept): (Vec<&Measured>, Vec<&Measured>) =
            rows.iter().partition(|row| row.routed_copies == size);
        if let Some(fit) = fit(&kept, scan) {
            found.extend(held.iter().map(|row| HeldBack {
                copies: size,
                nodes: row.nodes,
                ratio: fit.ms(size, row.nodes) / row.cpu_ms,
            }));
        }
    }
    found
}

/// By which factor the worst of these is off, in either direction; 1 is exact. `None` without any.
pub fn worst_factor(held: &[HeldBack]) -> Option<f64> {
    held.iter()
        .map(|held| held.ratio.max(1.0 / held.ratio))
        .reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(copies: u64, nodes: u32, cpu_ms: f64) -> Measured {
        Measured {
            version: "7.4.0".to_owned(),
            step: Step::Reroute,
            nodes,
            routed_copies: copies,
            cpu_ms,
        }
    }

    const SHAPES: [(u64, u32); 6] = [
        (1000, 2),
        (2000, 2),
        (4000, 2),
        (2000, 10),
        (4000, 10),
        (25_000, 10),
    ];

    fn rows(truth: Fit) -> Vec<Measured> {
        let time = |&(copies, nodes): &(u64, u32)| row(copies, nodes, truth.ms(copies, nodes));
        SHAPES.iter().map(time).collect()
    }

    #[test]
    fn units_of_the_coefficients() {
        let fit = Fit {
            fixed_ms: 1.0,
            per_thousand_ms: 2.0,
            scan_ms: 3.0,
        };
        // 1 + 2 * 10 + 3 * 10,000^2 / 5 / 10^6
        assert!((fit.ms(10_000, 5) - 81.0).abs() < 1e-9);
        // One data node: nothing is scanned.
        assert!((fit.ms(10_000, 1) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn a_negative_slope_becomes_none() {
        // Times that fall with the size: the best that is not negative is a constant.
        let rows = [row(1000, 2, 10.0), row(2000, 2, 5.0), row(4000, 2, 2.5)];
        let fit = fit(&rows.iter().collect::<Vec<_>>(), true).unwrap();
        assert!(fit.per_thousand_ms.abs() < 1e-12 && fit.scan_ms.abs() < 1e-12);
        // Minimises (x/10-1)^2 + (x/5-1)^2 + (x/2.5-1)^2: x = (.1+.2+.4)/(.01+.04+.16).
        assert!((fit.fixed_ms - 0.7 / 0.21).abs() < 1e-9);
    }

    #[test]
    fn a_held_back_size_does_not_help_itself() {
        // Exact for a line, but for one size that took twice as long.
        let line = |n: u64| 1.0 + f64::from(u32::try_from(n).unwrap()) / 1000.0;
        let mut rows: Vec<Measured> = [1000, 2000, 4000, 8000].map(|n| row(n, 2, line(n))).into();
        rows[3].cpu_ms *= 2.0;
        let held = hold_back(&rows.iter().collect::<Vec<_>>(), false);
        let last = held.iter().find(|held| held.copies == 8000).unwrap();
        assert!((last.ratio - 0.5).abs() < 1e-9, "{held:?}");
        assert!((worst_factor(&held).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(worst_factor(&[]), None);
    }

    #[test]
    fn broken_measurements_name_their_line() {
        let head = "version,operation,nodes,routed_copies,cpu_ms_median\n";
        let one = |line: &str| read_csv(&format!("# head\n{head}{line}\n"));
        assert_eq!(one("7.4.0,start,2,1000,1.5").unwrap()[0].step, Step::Start);
        for (line, expected) in [
            ("7.4.0,reroute,2,1000", "5 values"),
            ("7.4.0,open,2,1000,1", "reroute, create"),
            ("7.4.0,reroute,0,1000,1", "nodes"),
            ("7.4.0,reroute,2,-5,1", "copies"),
            ("7.4.0,reroute,2,1000,inf", "milliseconds"),
            ("7.4.0,reroute,2,1000,0", "milliseconds"),
        ] {
            let error = one(line).unwrap_err();
            assert_eq!(error.line, 3, "{error}");
            assert!(error.expected.contains(expected), "{error}");
        }
        let missing = read_csv("version,operation\n").unwrap_err();
        assert!(missing.expected.contains("nodes"), "{missing}");
        assert!(read_csv("").is_err());
    }

    proptest! {
        #[test]
        fn coefficients_come_back(
            fixed_ms in 0.0..10.0f64, per_thousand_ms in 0.01..10.0f64, scan_ms in 0.01..100.0f64,
        ) {
            let truth = Fit { fixed_ms, per_thousand_ms, scan_ms };
            let rows = rows(truth);
            let rows: Vec<&Measured> = rows.iter().collect();
            let found = fit(&rows, true).unwrap();
            for (copies, nodes) in [(500, 2), (100_000, 3)] {
                let ratio = found.ms(copies, nodes) / truth.ms(copies, nodes);
                prop_assert!((ratio - 1.0).abs() < 1e-3, "{found:?} {truth:?}");
            }
            prop_assert!(worst_factor(&hold_back(&rows, true)).unwrap() < 1.001);
        }

        #[test]
        fn never_negative_whatever_was_measured(times in proptest::collection::vec(0.001..1e6f64, 6)) {
            let rows: Vec<Measured> =
                SHAPES.iter().zip(times).map(|(&(n, m), ms)| row(n, m, ms)).collect();
            let found = fit(&rows.iter().collect::<Vec<_>>(), true).unwrap();
            prop_assert!(found.fixed_ms >= 0.0 && found.per_thousand_ms >= 0.0 && found.scan_ms >= 0.0);
            prop_assert!(found.ms(7000, 4).is_finite());
        }
    }
}
