//! The series of a log as a table by device, metric and sample.

use facts::series::{Dating, Series};
use std::collections::{BTreeMap, BTreeSet};

/// A metric of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    /// kB (1,024 bytes) read per second.
    Read,
    /// kB written per second.
    Write,
    /// Requests per second.
    Requests,
}

/// iostat's columns with and without `-x`, of all versions, with conversion factors. Blocks and sectors
/// have 512 bytes.
const COLUMNS: [(&str, Metric, f64); 15] = [
    ("kB_read/s", Metric::Read, 1.0),
    ("MB_read/s", Metric::Read, 1024.0),
    ("Blk_read/s", Metric::Read, 0.5),
    ("rkB/s", Metric::Read, 1.0),
    ("rMB/s", Metric::Read, 1024.0),
    ("rsec/s", Metric::Read, 0.5),
    ("kB_wrtn/s", Metric::Write, 1.0),
    ("MB_wrtn/s", Metric::Write, 1024.0),
    ("Blk_wrtn/s", Metric::Write, 0.5),
    ("wkB/s", Metric::Write, 1.0),
    ("wMB/s", Metric::Write, 1024.0),
    ("wsec/s", Metric::Write, 0.5),
    ("tps", Metric::Requests, 1.0),
    ("r/s", Metric::Requests, 1.0),
    ("w/s", Metric::Requests, 1.0),
];

/// One log.
pub(super) struct Table<'a> {
    first: &'a Series,
    times_us: Vec<i64>,
    /// Values by sample for each device and metric.
    cells: BTreeMap<(&'a str, Metric), Vec<Option<f64>>>,
    iowait: Option<Vec<Option<f64>>>,
}

impl<'a> Table<'a> {
    /// Groups series into logs: those of the same source and host belong together.
    pub(super) fn all(series: &'a [Series]) -> Vec<Self> {
        let mut logs: Vec<Vec<&Series>> = Vec::new();
        for one in series {
            let same = |other: &Series| {
                other.source == one.source && other.labels.get("host") == one.labels.get("host")
            };
            match logs.iter_mut().find(|members| same(members[0])) {
                Some(members) => members.push(one),
                None => logs.push(vec![one]),
            }
        }
        logs.iter()
            .filter_map(|members| Self::new(members))
            .collect()
    }

    fn new(series: &[&'a Series]) -> Option<Self> {
        let columns: Vec<(&'a Series, &'a str, Metric, f64)> = series
            .iter()
            .filter_map(|&one| {
                let device = one.labels.get("device")?;
                let metric = one.labels.get("metric")?;
                let &(_, metric, factor) = COLUMNS.iter().find(|(name, ..)| name == metric)?;
                Some((one, device.as_str(), metric, factor))
            })
            .collect();
        let (first, ..) = *columns.first()?;
        let times: BTreeSet<i64> = columns
            .iter()
            .flat_map(|(one, ..)| one.times_us.iter().copied())
            .collect();
        let times_us: Vec<i64> = times.into_iter().collect();
        let place = |one: &Series, factor: f64, row: &mut [Option<f64>]| {
            for (at, value) in one.times_us.iter().zip(&one.values) {
                if let Ok(sample) = times_us.binary_search(at) {
                    // Add up reads and writes if they are counted separately.
                    row[sample] = Some(row[sample].unwrap_or(0.0) + value * factor);
                }
            }
        };
        let empty = || vec![None; times_us.len()];
        let mut cells: BTreeMap<(&str, Metric), Vec<Option<f64>>> = BTreeMap::new();
        for (one, device, metric, factor) in columns {
            place(
                one,
                factor,
                cells.entry((device, metric)).or_insert_with(empty),
            );
        }
        let iowait = series
            .iter()
            .find(|one| {
                one.labels
                    .get("metric")
                    .is_some_and(|metric| metric == "%iowait")
            })
            .map(|one| {
                let mut row = empty();
                place(one, 1.0, &mut row);
                row
            });
        Some(Self {
            first,
            times_us,
            cells,
            iowait,
        })
    }

    pub(super) fn samples(&self) -> usize {
        self.times_us.len()
    }

    pub(super) fn source(&self) -> &str {
        &self.first.source
    }

    pub(super) fn dating(&self) -> Dating {
        self.first.dating
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.first.labels.get(name).map(String::as_str)
    }

    /// Returns the devices whose writes are known, by name.
    pub(super) fn devices(&self) -> impl Iterator<Item = &'a str> {
        self.cells
            .keys()
            .filter(|(_, metric)| *metric == Metric::Write)
            .map(|(device, _)| *device)
    }

    pub(super) fn get(&self, device: &str, metric: Metric, sample: usize) -> Option<f64> {
        *self.cells.get(&(device, metric))?.get(sample)?
    }

    /// Returns the largest value; 0 if there are none.
    pub(super) fn max(&self, device: &str, metric: Metric) -> f64 {
        let row = self.cells.get(&(device, metric));
        row.into_iter()
            .flatten()
            .flatten()
            .copied()
            .fold(0.0, f64::max)
    }

    pub(super) fn iowait(&self, sample: usize) -> Option<f64> {
        *self.iowait.as_ref()?.get(sample)?
    }
}
