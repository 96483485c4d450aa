//! What each recorder calls the parts of which the time of discards is computed.

use std::borrow::Cow;

/// How a recorder tells the time that a device spent on something.
pub(super) enum Spent {
    /// As such.
    Time(&'static str),
    /// As a number of requests per second, and the milliseconds that each takes.
    Each(&'static str, &'static str),
}

/// The metrics of a recorder, by the ends of their names.
pub(super) struct Recorder {
    /// The weighted time.
    pub(super) weighted: &'static str,
    /// What to multiply it by for milliseconds per second.
    pub(super) factor: f64,
    /// The time of reads and writes.
    pub(super) spent: &'static [Spent],
    /// What to multiply a time of them by.
    pub(super) spent_factor: f64,
    /// The number of writes.
    pub(super) writes: Option<&'static str>,
}

pub(super) const RECORDERS: &[Recorder] = &[
    // MongoDB's diagnostic data.
    Recorder {
        weighted: "io_queued_ms",
        factor: 1.0,
        spent: &[Spent::Time("read_time_ms"), Spent::Time("write_time_ms")],
        spent_factor: 1.0,
        writes: Some("writes"),
    },
    // Metricbeat and Elastic Agent.
    Recorder {
        weighted: "system.diskio.iostat.queue.avg_size",
        factor: 1e3,
        spent: &[
            Spent::Time("system.diskio.read.time"),
            Spent::Time("system.diskio.write.time"),
        ],
        spent_factor: 1.0,
        writes: Some("system.diskio.write.count"),
    },
    // OpenTelemetry's host metrics, as `otel_name` writes them. Before Telegraf's, whose names theirs end with.
    Recorder {
        weighted: "system_disk_weighted_io_time",
        factor: 1e3,
        spent: &[
            Spent::Time("system_disk_operation_time read"),
            Spent::Time("system_disk_operation_time write"),
        ],
        spent_factor: 1e3,
        writes: Some("system_disk_operations write"),
    },
    // Telegraf.
    Recorder {
        weighted: "weighted_io_time",
        factor: 1.0,
        spent: &[Spent::Time("read_time"), Spent::Time("write_time")],
        spent_factor: 1.0,
        writes: Some("writes"),
    },
    // node_exporter, on kernels that do not count discards.
    Recorder {
        weighted: "node_disk_io_time_weighted_seconds_total",
        factor: 1e3,
        spent: &[
            Spent::Time("node_disk_read_time_seconds_total"),
            Spent::Time("node_disk_write_time_seconds_total"),
        ],
        spent_factor: 1e3,
        writes: Some("node_disk_writes_completed_total"),
    },
    // iostat before sysstat 12, which counts discards apart.
    Recorder {
        weighted: "aqu-sz",
        factor: 1e3,
        spent: &[Spent::Each("r/s", "r_await"), Spent::Each("w/s", "w_await")],
        spent_factor: 1.0,
        writes: Some("w/s"),
    },
    Recorder {
        weighted: "avgqu-sz",
        factor: 1e3,
        spent: &[Spent::Each("r/s", "r_await"), Spent::Each("w/s", "w_await")],
        spent_factor: 1.0,
        writes: Some("w/s"),
    },
    // sar before sysstat 12. Later its `await` and `tps` include discards (compute_ext_disk_stats in rd_stats.c).
    Recorder {
        weighted: "aqu-sz",
        factor: 1e3,
        spent: &[Spent::Each("tps", "await")],
        spent_factor: 1.0,
        writes: None,
    },
    Recorder {
        weighted: "avgqu-sz",
        factor: 1e3,
        spent: &[Spent::Each("tps", "await")],
        spent_factor: 1.0,
        writes: None,
    },
];

/// Metrics of discards, besides those whose names say so.
pub(super) const DISCARDS: &[&str] = &[
    "d/s",
    "dkB/s",
    "dMB/s",
    "dsec/s",
    "dkB",
    "drqm/s",
    "d_await",
    RECORDED[0].0,
    RECORDED[1].0,
];

/// Counters of discards of `node_exporter`: what their rates are called, the unit of these, and what to multiply them by
/// for it.
pub(super) const RECORDED: [(&str, &str, &str, f64); 2] = [
    (
        "node_disk_discard_time_seconds_total",
        "discard time of ",
        "ms/s",
        1e3,
    ),
    (
        "node_disk_discarded_sectors_total",
        "discards on ",
        "kB/s",
        0.5,
    ),
];

/// Inputs that recorders keep as the kernel's counters.
pub(super) const COUNTERS: &[&str] = &[
    "io_queued_ms",
    "read_time_ms",
    "write_time_ms",
    "writes",
    "system.diskio.read.time",
    "system.diskio.write.time",
    "system.diskio.write.count",
    "system_disk_weighted_io_time",
    "system_disk_operation_time read",
    "system_disk_operation_time write",
    "system_disk_operations write",
    "weighted_io_time",
    "read_time",
    "write_time",
    "node_disk_io_time_weighted_seconds_total",
    "node_disk_read_time_seconds_total",
    "node_disk_write_time_seconds_total",
    "node_disk_writes_completed_total",
    RECORDED[0].0,
    RECORDED[1].0,
];

impl Recorder {
    pub(super) fn inputs(&self) -> impl Iterator<Item = &'static str> {
        let spent = self.spent.iter().flat_map(|spent| match spent {
            Spent::Time(name) => [Some(*name), None],
            Spent::Each(count, each) => [Some(*count), Some(*each)],
        });
        std::iter::once(self.weighted)
            .chain(spent.flatten())
            .chain(self.writes)
    }
}

/// Returns a metric's name; of OpenTelemetry's, one for each that Prometheus' translations make of it: without unit and kind,
/// and with the direction.
pub(super) fn otel_name<'m>(metric: &'m str, direction: Option<&String>) -> Cow<'m, str> {
    let name = metric.replacen("system.disk.", "system_disk_", 1);
    if !name.contains("system_disk_") {
        return Cow::Borrowed(metric);
    }
    let name = name.trim_end_matches("_total").trim_end_matches("_seconds");
    Cow::Owned(direction.map_or_else(|| name.to_owned(), |way| format!("{name} {way}")))
}
