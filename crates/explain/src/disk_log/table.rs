//! The series of a log as a table by device, metric and sample.

use facts::series::{Dating, Series};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A metric of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    /// kB (1,024 bytes) read per second.
    Read,
    /// kB written per second.
    Write,
    /// kB discarded per second.
    Discard,
    /// Requests per second.
    Requests,
    /// Milliseconds that a read takes.
    ReadTime,
    /// Milliseconds that a request takes.
    RequestTime,
    /// Milliseconds that a flush of the drive's cache takes.
    FlushTime,
    /// Percent of the time in which the device was busy.
    Utilization,
}

/// Returns the metric of a column of iostat with and without `-x`, of all versions, of `sar -d` and `-b`, as text and as
/// `sadf` names them, and of vmstat, with its conversion factor. Blocks and sectors have 512 bytes.
fn metric_of(column: &str) -> Option<(Metric, f64)> {
    Some(match column {
        "kB_read/s" | "rkB/s" | "rkB" | "bi" => (Metric::Read, 1.0),
        "MB_read/s" | "rMB/s" => (Metric::Read, 1024.0),
        "Blk_read/s" | "rsec/s" | "rd_sec/s" | "rd_sec" | "bread/s" => (Metric::Read, 0.5),
        "kB_wrtn/s" | "wkB/s" | "wkB" | "bo" => (Metric::Write, 1.0),
        "MB_wrtn/s" | "wMB/s" => (Metric::Write, 1024.0),
        "Blk_wrtn/s" | "wsec/s" | "wr_sec/s" | "wr_sec" | "bwrtn/s" => (Metric::Write, 0.5),
        "kB_dscd/s" | "dkB/s" | "dkB" => (Metric::Discard, 1.0),
        "MB_dscd/s" | "dMB/s" => (Metric::Discard, 1024.0),
        "Blk_dscd/s" | "dsec/s" | "bdscd/s" => (Metric::Discard, 0.5),
        "tps" | "r/s" | "w/s" | "d/s" => (Metric::Requests, 1.0),
        "r_await" => (Metric::ReadTime, 1.0),
        "await" => (Metric::RequestTime, 1.0),
        "f_await" => (Metric::FlushTime, 1.0),
        "%util" | "util" | "util-percent" => (Metric::Utilization, 1.0),
        _ => return None,
    })
}

/// Columns of the CPU time spent waiting for disks.
const IOWAIT: [&str; 3] = ["%iowait", "iowait", "wa"];

/// Returns the column that a series is of; `sadf` names the section before it: `disk.rkB`.
fn column(series: &Series) -> Option<&str> {
    let metric = series.labels.get("metric")?;
    Some(
        metric
            .rsplit_once('.')
            .map_or(metric.as_str(), |(_, column)| column),
    )
}

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
                let (metric, factor) = metric_of(column(one)?)?;
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
                let is_of_all = one.labels.get("cpu").is_none_or(|cpu| cpu == "all");
                let of_all = is_of_all && !one.labels.contains_key("device");
                of_all && column(one).is_some_and(|name| IOWAIT.contains(&name))
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

    /// Returns the usual time between samples; `None` if there is only one.
    pub(super) fn gap_us(&self) -> Option<i64> {
        let pairs = self.times_us.windows(2);
        let mut gaps: Vec<i64> = pairs.map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }

    pub(super) fn source(&self) -> &str {
        &self.first.source
    }

    pub(super) fn dating(&self) -> Dating {
        self.first.dating
    }

    /// Returns when a sample was made, if the log is dated.
    pub(super) fn at(&self, sample: usize) -> Option<Timestamp> {
        let is_dated = self.first.dating == Dating::Absolute;
        let at_us = self.times_us.get(sample).filter(|_| is_dated)?;
        Timestamp::from_microsecond(*at_us).ok()
    }

    /// Returns whether discards are counted by themselves.
    pub(super) fn has_discards(&self) -> bool {
        let mut metrics = self.cells.keys().map(|(_, metric)| *metric);
        metrics.any(|metric| metric == Metric::Discard)
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
