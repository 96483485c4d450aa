//! Metrics of a check, for Prometheus: `node_exporter`'s textfile collector and other scrapers.
//!
//! The text is what the formats of Prometheus (text 0.0.4) and `OpenMetrics` 1.0 have in common: gauges with their type,
//! and counters without one, since the two name a counter's family differently. It has no timestamps, which the
//! textfile collector refuses. Times are Unix times in seconds, as Prometheus' own metrics have them, rather than ages,
//! which would be wrong between two checks.

use crate::check::{CheckReport, CheckedHost, is_drive};
use crate::views::cluster;
use facts::{Finding, Severity};
use jiff::Timestamp;
use rules::DiskCalendar;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::escape::escape;

/// Maximum number of series of one name; further ones are counted in [`LEFT_OUT`].
const SERIES_MAX: usize = 500;
const LEFT_OUT: &str = "trimtab_check_series_left_out";

/// Renders a report as metrics. `calendars` are those of the report's hosts, in the same order.
pub fn openmetrics(report: &CheckReport<'_>, calendars: &[DiskCalendar]) -> String {
    let mut metrics = Metrics::default();
    let version = [("version", report.tool_version.as_str())];
    metrics.set("trimtab_build_info", &version, 1.0);
    of_check(report, &mut metrics);
    for finding in report.findings {
        metrics.add("trimtab_finding", &labels_of(finding), 1.0);
    }
    if let Some(cluster) = report.cluster {
        let labels = [("cluster", cluster::name(cluster))];
        let name = "trimtab_check_timestamp_seconds";
        metrics.set(name, &labels, seconds(cluster.read_at));
    }
    let several = report.hosts.len() > 1;
    for (index, checked) in report.hosts.iter().enumerate() {
        let mut on_host = OnHost {
            metrics: &mut metrics,
            host: several.then_some(checked.name.as_str()),
        };
        of_host(checked, &mut on_host);
        if let Some(calendar) = calendars.get(index) {
            of_calendar(calendar, &mut on_host);
        }
    }
    metrics.render()
}

fn of_check(report: &CheckReport<'_>, metrics: &mut Metrics) {
    let counts = report.counts();
    for (severity, number) in [
        (Severity::Error, counts.error),
        (Severity::Warning, counts.warning),
        (Severity::Info, counts.info),
    ] {
        let severity = [("severity", severity.as_str())];
        metrics.set("trimtab_check_findings", &severity, float(number));
    }
    let suppressed = report.suppressed.len() as u64;
    metrics.set("trimtab_check_findings_suppressed", &[], float(suppressed));
    for skipped in report.skipped {
        let host = skipped.host.iter().map(|host| ("host", host.as_str()));
        let labels: Vec<_> = host.chain([("what", skipped.what.as_str())]).collect();
        metrics.set("trimtab_check_skipped", &labels, 1.0);
    }
    let coverage = report.coverage();
    for (name, number) in [
        ("trimtab_check_rules", coverage.rules),
        ("trimtab_check_rules_undecided", coverage.undecided),
        ("trimtab_check_filesystems", coverage.filesystems),
        (
            "trimtab_check_filesystems_unread",
            coverage.filesystems_unread,
        ),
        (
            "trimtab_check_could_tell",
            u64::from(!coverage.is_mostly_blind()),
        ),
    ] {
        metrics.set(name, &[], float(number));
    }
}

fn labels_of(finding: &Finding) -> Vec<(&'static str, &str)> {
    let host = finding.host.iter().map(|host| ("host", host.as_str()));
    let cluster = finding.cluster.iter();
    let cluster = cluster.map(|cluster| ("cluster", cluster.as_str()));
    host.chain(cluster)
        .chain([
            ("rule", finding.rule.as_str()),
            ("severity", finding.severity.as_str()),
            ("subject", finding.subject.as_str()),
        ])
        .collect()
}

fn of_host(checked: &CheckedHost<'_>, metrics: &mut OnHost<'_>) {
    let host = checked.host;
    metrics.set_time("trimtab_check_timestamp_seconds", &[], host.read_at);
    for device in host.devices.iter().filter(|device| is_drive(device)) {
        let counters = device.counters.as_ref();
        if let Some(bytes) = counters.and_then(|counters| counters.discarded_bytes) {
            let labels = [("device", device.name.as_str())];
            let name = "trimtab_drive_discarded_bytes_total";
            metrics.set(name, &labels, float(bytes));
        }
    }
    if let Some(plan) = &host.trim_plan {
        let number = |list: &[String]| float(list.len() as u64);
        let filesystems = number(&plan.mount_points);
        metrics.set("trimtab_plan_filesystems", &[], filesystems);
        metrics.set("trimtab_plan_differences", &[], number(&plan.drift));
    }
    for passes in &host.trim_passes {
        let labels = [("mountpoint", passes.mount_point.as_str())];
        let at = passes.ended_at;
        metrics.set_time("trimtab_trim_pass_end_timestamp_seconds", &labels, at);
        let is_complete = passes.completed_at == Some(at);
        let is_complete = float(u64::from(is_complete));
        metrics.set("trimtab_trim_pass_complete", &labels, is_complete);
        metrics.set("trimtab_trim_pass_seconds", &labels, passes.active_s);
        if let Some(bytes) = passes.discarded_bytes {
            metrics.set("trimtab_trim_pass_discarded_bytes", &labels, float(bytes));
        }
    }
}

fn of_calendar(calendar: &DiskCalendar, metrics: &mut OnHost<'_>) {
    for job in calendar.jobs.iter().flatten() {
        let labels = [("name", job.name.as_str()), ("work", job.work)];
        for (name, at) in [
            ("trimtab_job_last_start_timestamp_seconds", job.last_start),
            ("trimtab_job_next_start_timestamp_seconds", job.next_start),
        ] {
            if let Some(at) = at {
                metrics.set_time(name, &labels, at);
            }
        }
    }
    for filesystem in &calendar.filesystems {
        let labels = [
            ("device", filesystem.device.as_str()),
            ("fstype", filesystem.fs_type.as_str()),
            ("mountpoint", filesystem.mount_point.as_str()),
        ];
        let has_store = float(u64::from(filesystem.has_store));
        metrics.set("trimtab_filesystem_has_store", &labels, has_store);
        if let Some(reach) = filesystem.discards_reach_drives {
            let name = "trimtab_filesystem_discards_reach_drives";
            metrics.set(name, &labels, float(u64::from(reach)));
        }
        if let Some(at) = filesystem.last_trim {
            let name = "trimtab_filesystem_last_trim_timestamp_seconds";
            metrics.set_time(name, &labels, at);
        }
    }
    if calendar.jobs.is_none() || !calendar.is_complete {
        let what = [("what", "starts of heavy jobs")];
        metrics.set("trimtab_check_skipped", &what, 1.0);
    }
}

/// Numbers above 2^53 bytes lose their last digits, as they do in Prometheus.
#[allow(clippy::cast_precision_loss)]
fn float(number: u64) -> f64 {
    number as f64
}

/// A Unix time in whole seconds.
fn seconds(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64().trunc()
}

/// Each metric's help; no other can be written. Those that end in `_total` are counters, the others gauges.
const HELP: &[(&str, &str)] = &[
    ("trimtab_build_info", "The version of trimtab that checked."),
    (
        "trimtab_check_could_tell",
        "Whether enough could be looked at for no finding to mean that nothing is wrong.",
    ),
    ("trimtab_check_filesystems", "Filesystems on block devices."),
    (
        "trimtab_check_filesystems_unread",
        "Filesystems of which a device could not be looked at.",
    ),
    ("trimtab_check_findings", "Findings by severity."),
    (
        "trimtab_check_findings_suppressed",
        "Findings that the configuration accepts.",
    ),
    ("trimtab_check_rules", "Rules that ran."),
    (
        "trimtab_check_rules_undecided",
        "Rules that had nothing to look at.",
    ),
    (
        LEFT_OUT,
        "Series of a metric that were left out, because there are too many.",
    ),
    (
        "trimtab_check_skipped",
        "What was not looked at; trimtab check tells why.",
    ),
    (
        "trimtab_check_timestamp_seconds",
        "When the host was looked at, or the cluster was asked.",
    ),
    (
        "trimtab_drive_discarded_bytes_total",
        "Bytes that the drive was told to discard since boot.",
    ),
    (
        "trimtab_filesystem_discards_reach_drives",
        "Whether discards get through all layers to the drives.",
    ),
    (
        "trimtab_filesystem_has_store",
        "Whether a data store keeps its data there.",
    ),
    (
        "trimtab_filesystem_last_trim_timestamp_seconds",
        "The last start of a job that trims it, or the end of the last complete pass of trimtab trim.",
    ),
    (
        "trimtab_finding",
        "Findings of a rule about a subject; trimtab rule explains each.",
    ),
    (
        "trimtab_job_last_start_timestamp_seconds",
        "The last start of a job that keeps the disks busy: recorded, or by the schedule if cron starts it.",
    ),
    (
        "trimtab_job_next_start_timestamp_seconds",
        "The next start of a job that keeps the disks busy.",
    ),
    (
        "trimtab_plan_differences",
        "Differences between this host and what trimtab plan wrote.",
    ),
    (
        "trimtab_plan_filesystems",
        "Filesystems that the plan of trimtab plan trims.",
    ),
    (
        "trimtab_trim_pass_complete",
        "Whether the last pass of trimtab trim was complete.",
    ),
    (
        "trimtab_trim_pass_discarded_bytes",
        "Bytes that the last pass discarded on the drives.",
    ),
    (
        "trimtab_trim_pass_end_timestamp_seconds",
        "When the last pass of trimtab trim ended.",
    ),
    (
        "trimtab_trim_pass_seconds",
        "How long the last pass of trimtab trim ran, with its pauses.",
    ),
];

/// Metrics of one host among several, or of the only one.
struct OnHost<'m> {
    metrics: &'m mut Metrics,
    host: Option<&'m str>,
}

impl OnHost<'_> {
    fn set(&mut self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        let host = self.host.map(|host| ("host", host));
        let labels: Vec<_> = host.into_iter().chain(labels.iter().copied()).collect();
        self.metrics.set(name, &labels, value);
    }

    fn set_time(&mut self, name: &'static str, labels: &[(&str, &str)], at: Timestamp) {
        self.set(name, labels, seconds(at));
    }
}

/// The series of each metric by their labels as they are written. Each is there once, else a scrape would be refused.
#[derive(Default)]
struct Metrics(BTreeMap<&'static str, BTreeMap<String, f64>>);

impl Metrics {
    /// Sets a value, unless there is one of the same labels.
    fn set(&mut self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        let series = self.0.entry(name).or_default();
        series.entry(written(labels)).or_insert(value);
    }

    /// Adds to the value of these labels.
    fn add(&mut self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        let series = self.0.entry(name).or_default();
        *series.entry(written(labels)).or_default() += value;
    }

    fn render(mut self) -> String {
        let numbers = self.0.iter();
        let left_out: Vec<_> = numbers
            .map(|(name, series)| (*name, series.len().saturating_sub(SERIES_MAX)))
            .filter(|(_, number)| *number > 0)
            .collect();
        for (name, number) in left_out {
            self.set(LEFT_OUT, &[("metric", name)], float(number as u64));
        }
        let mut text = String::new();
        for (name, help) in HELP {
            let Some(series) = self.0.get(name) else {
                continue;
            };
            let _ = writeln!(text, "# HELP {name} {help}");
            if !name.ends_with("_total") {
                let _ = writeln!(text, "# TYPE {name} gauge");
            }
            for (labels, value) in series.iter().take(SERIES_MAX) {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        }
        text.push_str("# EOF\n");
        text
    }
}

/// Writes labels: `{device="/dev/md0",fstype="xfs"}`; nothing if there are none.
fn written(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let mut text = String::from("{");
    for (index, (name, value)) in labels.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Control characters are shown as everywhere, the backslashes that come of it are then data.
        let value = escape(value).replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(text, "{comma}{name}=\"{value}\"");
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_is_there_once_and_labels_are_escaped() {
        let mut metrics = Metrics::default();
        let hostile = [("subject", "a\"b\\c\nd\u{1b}[31m}")];
        metrics.add("trimtab_finding", &hostile, 1.0);
        metrics.add("trimtab_finding", &hostile, 1.0);
        metrics.set("trimtab_check_rules", &[], 3.0);
        metrics.set("trimtab_check_rules", &[], 4.0);
        let text = metrics.render();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                "trimtab_check_rules 3",
                r#"trimtab_finding{subject="a\"b\\c\\nd\\u{1b}[31m}"} 2"#
            ]
        );
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn too_many_series_are_counted() {
        let mut metrics = Metrics::default();
        for number in 0..SERIES_MAX + 7 {
            let what = number.to_string();
            metrics.set("trimtab_check_skipped", &[("what", &what)], 1.0);
        }
        let text = metrics.render();
        assert!(text.contains(&format!(
            "{LEFT_OUT}{{metric=\"trimtab_check_skipped\"}} 7\n"
        )));
        let written = text
            .lines()
            .filter(|line| line.starts_with("trimtab_check_skipped{"));
        assert_eq!(written.count(), SERIES_MAX);
    }

    #[test]
    fn every_metric_has_its_help_once_in_order() {
        let names: Vec<&str> = HELP.iter().map(|(name, _)| *name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        let is_name = |text: &&str| {
            text.strip_prefix("trimtab_").is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
            })
        };
        let source = include_str!("openmetrics.rs");
        for name in source.split('"').filter(is_name) {
            assert!(names.contains(&name), "{name}");
        }
    }

    #[test]
    fn alerts_and_the_dashboard_ask_for_what_is_written() {
        let mut asked = 0;
        for text in [
            include_str!("../../../packaging/prometheus/trimtab.rules.yml"),
            include_str!("../../../packaging/grafana/trimtab.json"),
        ] {
            let is_other = |c: char| !c.is_ascii_lowercase() && c != '_';
            for name in text
                .split(is_other)
                .filter(|word| word.starts_with("trimtab_"))
            {
                assert!(HELP.iter().any(|(known, _)| *known == name), "{name}");
                asked += 1;
            }
        }
        assert!(asked > 15, "{asked}");
    }
}
