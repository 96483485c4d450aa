//! Rates between two readings, as columns of a table that `explain` reads.

use super::reading::Reading;
use linux::counters::{DeviceCounters, ms_between};
use linux::cpu::{CpuTicks, ProcessTicks};

/// The columns, with their names fixed for a trial, so that each row fits one header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    drives: Vec<String>,
}

/// Columns of the host.
const HOST: [&str; 13] = [
    "cpu_user",
    "cpu_system",
    "cpu_io_wait",
    "cpu_steal",
    "cpu_server",
    "cpu_driver",
    "throttled",
    "pressure_cpu",
    "pressure_memory",
    "pressure_io",
    "page_cache_bytes",
    "dirty_bytes",
    "frequency",
];
/// Columns of each drive.
const DRIVE: [&str; 8] = [
    "reads_per_s",
    "writes_per_s",
    "discards_per_s",
    "read_bytes_per_s",
    "written_bytes_per_s",
    "discarded_bytes_per_s",
    "request_ms",
    "in_flight",
];

impl Columns {
    /// Columns for these drives.
    pub fn new(drives: Vec<String>) -> Self {
        Self { drives }
    }

    /// The names: shares of the host's CPU time (`cpu_...`) and of the time that passed (`throttled`,
    /// `pressure_...`) between 0 and 1; of each drive, rates, the mean time of a request, and how many are in
    /// flight.
    pub fn names(&self) -> Vec<String> {
        let host = HOST.iter().map(|&name| name.to_owned());
        let drives = self
            .drives
            .iter()
            .flat_map(|drive| DRIVE.iter().map(move |name| format!("{drive}_{name}")));
        host.chain(drives).collect()
    }

    /// One value for each name; `None` where it was not measured.
    #[allow(clippy::cast_precision_loss)] // rates
    pub fn values(&self, before: &Reading, after: &Reading) -> Vec<Option<f64>> {
        let passed_s = after.at.saturating_sub(before.at).as_secs_f64();
        let elapsed_us = passed_s * 1e6;
        let cpu = |part: fn(&CpuTicks) -> u64| cpu_share(before, after, part);
        let of_time = |before: Option<u64>, after: Option<u64>| {
            let waited = after?.checked_sub(before?)?;
            (elapsed_us > 0.0).then(|| waited as f64 / elapsed_us)
        };
        let (waited, waits) = (&before.pressure_us, &after.pressure_us);
        let mut values = vec![
            cpu(|ticks| ticks.user),
            cpu(|ticks| ticks.system),
            cpu(|ticks| ticks.io_wait),
            cpu(|ticks| ticks.steal),
            server_share(before, after),
            driver_share(before, after),
            of_time(before.throttled_us, after.throttled_us),
            of_time(waited.cpu, waits.cpu),
            of_time(waited.memory, waits.memory),
            of_time(waited.io, waits.io),
            after.page_cache_bytes.map(|bytes| bytes as f64),
            after.dirty_bytes.map(|bytes| bytes as f64),
            after.frequency_share,
        ];
        for drive in &self.drives {
            let pair = before.drives.get(drive).zip(after.drives.get(drive));
            match pair.filter(|_| passed_s > 0.0) {
                Some((before, after)) => values.extend(of_drive(before, after, passed_s)),
                None => values.extend([None; DRIVE.len()]),
            }
        }
        values
    }
}

/// Ticks of the host between two readings.
pub(super) fn total(before: &Reading, after: &Reading) -> Option<u64> {
    let total = after.cpu?.total().checked_sub(before.cpu?.total())?;
    (total > 0).then_some(total)
}

#[allow(clippy::cast_precision_loss)] // a share
fn cpu_share(before: &Reading, after: &Reading, part: fn(&CpuTicks) -> u64) -> Option<f64> {
    let total = total(before, after)?;
    let part = part(&after.cpu?).saturating_sub(part(&before.cpu?));
    Some(part as f64 / total as f64)
}

/// CPU time of the server's processes, as a share of the host's. A process that another one has replaced
/// counts from its start.
#[allow(clippy::cast_precision_loss)] // a share
fn server_share(before: &Reading, after: &Reading) -> Option<f64> {
    if after.server.is_empty() {
        return None;
    }
    let total = total(before, after)?;
    let used = after
        .server
        .iter()
        .map(|(pid, now)| used(before.server.get(pid), now));
    Some(used.sum::<u64>() as f64 / total as f64)
}

#[allow(clippy::cast_precision_loss)] // a share
fn driver_share(before: &Reading, after: &Reading) -> Option<f64> {
    let total = total(before, after)?;
    Some(used(before.driver.as_ref(), &after.driver?) as f64 / total as f64)
}

/// Ticks that a process used since an earlier reading, or since its start.
pub(super) fn used(before: Option<&ProcessTicks>, after: &ProcessTicks) -> u64 {
    let now = after.user.saturating_add(after.system);
    match before {
        Some(before) if before.started == after.started => {
            now.saturating_sub(before.user.saturating_add(before.system))
        }
        _ => now,
    }
}

#[allow(clippy::cast_precision_loss)] // rates
fn of_drive(before: &DeviceCounters, after: &DeviceCounters, passed_s: f64) -> [Option<f64>; 8] {
    let rate = |before: u64, after: u64| Some(after.checked_sub(before)? as f64 / passed_s);
    let both = |before: Option<u64>, after: Option<u64>| rate(before?, after?);
    let requests = (after.reads.saturating_sub(before.reads))
        .saturating_add(after.writes.saturating_sub(before.writes));
    let waited_ms =
        ms_between(before.read_ms, after.read_ms) + ms_between(before.write_ms, after.write_ms);
    [
        rate(before.reads, after.reads),
        rate(before.writes, after.writes),
        both(before.discards, after.discards),
        rate(before.read_bytes, after.read_bytes),
        rate(before.written_bytes, after.written_bytes),
        both(before.discarded_bytes, after.discarded_bytes),
        (requests > 0).then(|| waited_ms as f64 / requests as f64),
        Some(after.in_flight as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::reading::Pressure;
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn reading(at_s: u64, change: impl FnOnce(&mut Reading)) -> Reading {
        let mut reading = Reading {
            at: Duration::from_secs(at_s),
            cpu: Some(CpuTicks {
                user: 100,
                system: 50,
                idle: 800,
                io_wait: 40,
                steal: 10,
            }),
            drives: BTreeMap::from([("sda".to_owned(), DeviceCounters::default())]),
            pressure_us: Pressure {
                io: Some(5),
                ..Pressure::default()
            },
            ..Reading::default()
        };
        change(&mut reading);
        reading
    }

    fn ticks(user: u64, started: u64) -> ProcessTicks {
        ProcessTicks {
            user,
            system: 0,
            started,
        }
    }

    #[test]
    fn rates_over_two_seconds() {
        let columns = Columns::new(vec!["sda".to_owned(), "sdb".to_owned()]);
        let before = reading(10, |before| {
            before.server.insert(7, ticks(30, 1));
            before.driver = Some(ticks(10, 2));
        });
        let after = reading(12, |after| {
            after.cpu = Some(CpuTicks {
                user: 200,
                system: 100,
                idle: 820,
                io_wait: 60,
                steal: 20,
            });
            after.server.insert(7, ticks(80, 1));
            // Another process with the id of one that was not watched before.
            after.server.insert(8, ticks(10, 99));
            after.driver = Some(ticks(30, 2));
            after.pressure_us.io = Some(1_000_005);
            after.drives.insert(
                "sda".to_owned(),
                DeviceCounters {
                    reads: 10,
                    read_bytes: 8192,
                    read_ms: 30,
                    writes: 10,
                    written_bytes: 4096,
                    write_ms: 10,
                    in_flight: 3,
                    discards: Some(4),
                    discarded_bytes: Some(1 << 20),
                    discard_ms: Some(1),
                    ..DeviceCounters::default()
                },
            );
        });
        let values = columns.values(&before, &after);
        let names = columns.names();
        assert_eq!(names.len(), values.len());
        let value = |name: &str| values[names.iter().position(|other| other == name).unwrap()];
        // 200 ticks passed: 100 user, 50 system, 20 idle, 20 I/O wait, 10 steal.
        assert_eq!(value("cpu_user"), Some(0.5));
        assert_eq!(value("cpu_system"), Some(0.25));
        assert_eq!(value("cpu_io_wait"), Some(0.1));
        assert_eq!(value("cpu_steal"), Some(0.05));
        assert_eq!(value("cpu_server"), Some(0.3));
        assert_eq!(value("cpu_driver"), Some(0.1));
        assert_eq!(value("pressure_io"), Some(0.5));
        assert_eq!(value("pressure_cpu"), None);
        assert_eq!(value("throttled"), None);
        assert_eq!(value("sda_reads_per_s"), Some(5.0));
        assert_eq!(value("sda_read_bytes_per_s"), Some(4096.0));
        assert_eq!(value("sda_request_ms"), Some(2.0));
        assert_eq!(value("sda_in_flight"), Some(3.0));
        // The kernel did not count discards before.
        assert_eq!(value("sda_discards_per_s"), None);
        assert_eq!(value("sdb_reads_per_s"), None);
    }

    #[test]
    fn nothing_passed_is_nothing_known() {
        let columns = Columns::new(vec!["sda".to_owned()]);
        let same = reading(10, |_| ());
        let values = columns.values(&same, &same);
        assert_eq!(values.len(), columns.names().len());
        assert!(values.iter().all(Option::is_none), "{values:?}");
    }
}
