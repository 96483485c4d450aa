//! The discards of each disk: as `node_exporter` records them where the kernel counts them, else computed from the times of
//! `node_exporter`, OpenTelemetry's host metrics or Telegraf.

use super::{Query, read};
use crate::collector::make_names_unique;
use crate::{Limits, Reading, SourceError, Times, discard_time};
use bounded_http::{Client, Endpoint};

/// The metrics that are read, as a regular expression. Those of OpenTelemetry may have a namespace, and suffixes for
/// unit and kind.
const METRICS: &str = "node_disk_(io_time_weighted|read_time|write_time|discard_time)_seconds_total\
    |node_disk_(writes_completed|discarded_sectors)_total\
    |(.+_)?system[._]disk[._](weighted_io_time|operation_time|operations)(_seconds)?(_total)?\
    |diskio_(weighted_io_time|read_time|write_time|writes)";

/// A query for the disks of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskQuery {
    /// Seconds per point, at least 1.
    pub step_s: u32,
    /// Restricts the series by their labels: `instance=~"db.+"`.
    pub filter: Option<String>,
}

/// Reads the time of discards of each disk of each host, in milliseconds per second, and where it is recorded how much was
/// discarded. Where no discards are recorded, the time is computed, and that of flushes is in it.
///
/// The counters are read as they are, since what a window of `rate()` takes of each of several scrapes does not add up.
///
/// # Errors
/// As [`read`], and when no disk spent any time.
pub fn read_disks(
    client: &Client,
    endpoint: &Endpoint,
    asked: &DiskQuery,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let filter = asked.filter.as_deref().unwrap_or_default();
    let query = Query {
        promql: format!("{{__name__=~{METRICS:?},{filter}}}"),
        step_s: asked.step_s,
    };
    let outcome = read(client, endpoint, &query, times, limits);
    let mut reading = outcome.map_err(|error| match error {
        SourceError::Empty { source_name, .. } => SourceError::empty(
            source_name,
            "no times of disks within the times: neither node_exporter's \
             (node_disk_read_time_seconds_total), OpenTelemetry's (system_disk_operation_time) nor \
             Telegraf's",
        ),
        other => other,
    })?;
    let parts = std::mem::take(&mut reading.series);
    let (series, skipped) = discard_time::of_disks(&parts, &endpoint.to_string())?;
    reading.series = series;
    make_names_unique(&mut reading.series);
    reading.skipped.extend(skipped);
    Ok(reading)
}
