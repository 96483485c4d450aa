use super::*;
use crate::Reading;
use proptest::prelude::*;

const SECOND_US: i64 = 1_000_000;

/// The counters of a device, as /proc/diskstats shows them: milliseconds, cut.
#[derive(Debug, Clone, Copy, Default)]
struct Device {
    read_us: i64,
    write_us: i64,
    discard_us: i64,
    flush_us: i64,
    writes: i64,
}

impl Device {
    /// Does what takes so many microseconds for reads, writes, discards and flushes.
    fn did(&mut self, [read, write, discard, flush]: [i64; 4], writes: i64) {
        self.read_us += read;
        self.write_us += write;
        self.discard_us += discard;
        self.flush_us += flush;
        self.writes += writes;
    }

    fn shown(self) -> [i64; 4] {
        let all = self.read_us + self.write_us + self.discard_us + self.flush_us;
        [
            all / 1000,
            self.read_us / 1000,
            self.write_us / 1000,
            self.writes,
        ]
    }
}

/// The series of counters of MongoDB's names, one sample each ten seconds.
fn recorded(rows: &[[i64; 4]], times_us: &[i64]) -> Vec<Series> {
    ["io_queued_ms", "read_time_ms", "write_time_ms", "writes"]
        .iter()
        .enumerate()
        .map(|(column, name)| {
            #[expect(clippy::cast_precision_loss, reason = "counters of tests")]
            let values = rows.iter().map(|row| row[column] as f64).collect();
            series(name, times_us.to_vec(), values)
        })
        .collect()
}

fn series(metric: &str, times_us: Vec<i64>, values: Vec<f64>) -> Series {
    Series {
        name: metric.to_owned(),
        source: "f".to_owned(),
        labels: BTreeMap::from([
            ("metric".to_owned(), metric.to_owned()),
            ("device".to_owned(), "sda".to_owned()),
        ]),
        unit: None,
        better: None,
        dating: Dating::Absolute,
        sample_of: None,
        times_us,
        values,
        notes: Vec::new(),
        discard_time: None,
    }
}

fn each_ten_seconds(count: usize) -> Vec<i64> {
    (0..)
        .step_by(10)
        .map(|s| s * SECOND_US)
        .take(count)
        .collect()
}

fn derived(mut series: Vec<Series>) -> Option<Series> {
    let inputs = series.len();
    add(&mut series);
    assert!(series.len() <= inputs + 1);
    series.into_iter().nth(inputs)
}

/// Ten seconds of a store: reads and writes of some time, and discards or flushes of so many milliseconds.
fn store(discard_ms: &[i64], flush_us_per_write: i64) -> Series {
    let mut device = Device::default();
    let mut rows = vec![device.shown()];
    for (at, discard_ms) in discard_ms.iter().enumerate() {
        let at = i64::try_from(at).unwrap();
        let writes = 100 + at % 7 * 30;
        let load = [
            at * 37 % 900 * 1000,
            writes * 1_700,
            discard_ms * 1000,
            writes * flush_us_per_write,
        ];
        device.did(load, writes);
        rows.push(device.shown());
    }
    derived(recorded(&rows, &each_ten_seconds(rows.len()))).unwrap()
}

#[test]
fn what_reads_and_writes_leave_is_the_time_of_discards() {
    let discards: Vec<i64> = (0..100)
        .map(|at| if at % 20 == 3 { 800 } else { 0 })
        .collect();
    let series = store(&discards, 0);
    assert_eq!(series.name, "discard or flush time of sda");
    assert_eq!(series.unit.as_deref(), Some("ms/s"));
    for (value, discard_ms) in series.values.iter().zip(&discards) {
        #[expect(clippy::cast_precision_loss, reason = "hundreds")]
        let true_rate = *discard_ms as f64 / 10.0;
        // Three counters are cut to a millisecond, in ten seconds.
        assert!((value - true_rate).abs() <= 0.3, "{value} {true_rate}");
    }
    assert_eq!(series.notes.len(), 1, "{:?}", series.notes);
}

#[test]
fn flushes_that_follow_writes_are_taken_off() {
    let discards: Vec<i64> = (0..200)
        .map(|at| if at % 50 == 7 { 4_000 } else { 0 })
        .collect();
    // 600 us a write: at up to 28 writes a second, 6 to 17 ms/s.
    let series = store(&discards, 600);
    let about = series.discard_time.as_ref().unwrap();
    assert!((about.flush_ms_per_write - 0.6).abs() < 0.02, "{about:?}");
    let writes = about.writes_per_s.as_ref().unwrap();
    assert_eq!(writes.len(), series.values.len());
    assert!((writes[1] - 13.0).abs() < 1e-9);
    for (value, discard_ms) in series.values.iter().zip(&discards) {
        let wanted = if *discard_ms > 0 { 400.0 } else { 0.0 };
        assert!((value - wanted).abs() < 1.0, "{value} {wanted}");
    }
    assert!(
        series.notes[1].starts_with("0.6 ms a write"),
        "{:?}",
        series.notes
    );
}

/// Zeros for half of the samples would be a noise of zero, beside which nothing can be weighed.
#[test]
fn quiet_samples_keep_their_noise() {
    let mut device = Device::default();
    let mut rows = vec![device.shown()];
    for at in 0..200_i64 {
        // 0.3 to 0.7 ms a write.
        let flush_us = 300 + at * 173 % 400;
        device.did([400_000, 200_000, 0, 100 * flush_us], 100);
        rows.push(device.shown());
    }
    let series = derived(recorded(&rows, &each_ten_seconds(rows.len()))).unwrap();
    let is_below = |value: &&f64| **value < 0.0;
    assert!(series.values.iter().filter(is_below).count() > 80);
    let least = series.values.iter().copied().fold(0.0, f64::min);
    assert!((-3.0..-1.5).contains(&least), "{least}");
}

/// A night of writes that nothing flushes has no less than the flushes of other hours.
#[test]
fn many_writes_without_flushes_are_no_deep_drop() {
    let mut device = Device::default();
    let mut rows = vec![device.shown()];
    for at in 0..200_i64 {
        let is_backup = at % 50 < 5;
        let (writes, flush_us) = if is_backup {
            (50_000, 0)
        } else {
            (100, 50_000)
        };
        device.did([400_000, 200_000, 0, flush_us], writes);
        rows.push(device.shown());
    }
    let series = derived(recorded(&rows, &each_ten_seconds(rows.len()))).unwrap();
    assert!(
        series.values.iter().all(|value| *value > -5.0),
        "{:?}",
        series.values
    );
}

/// A kernel that adds up requests in flight counts them before they are done, and less or more than all of them.
#[test]
fn less_than_nothing_is_an_estimate() {
    let mut rows = Vec::new();
    for at in 0..100_i64 {
        rows.push([
            at * 5_000 + i64::from(at % 3 == 1) * 400,
            at * 2_500,
            at * 2_500,
            at * 100,
        ]);
    }
    let series = derived(recorded(&rows, &each_ten_seconds(100))).unwrap();
    // 3 ms in ten seconds, and a hundredth of 500 ms/s.
    assert!(series.values.iter().all(|value| *value >= -5.3 - 1e-9));
    let note = series
        .notes
        .iter()
        .find(|note| note.starts_with("an estimate"));
    assert!(note.is_some(), "{:?}", series.notes);
}

#[test]
fn counters_that_begin_anew_and_clocks_that_step_leave_no_time() {
    let row = |at: i64| [at * 100, at * 40, at * 60, at * 10];
    let mut rows: Vec<[i64; 4]> = (0..20).map(row).collect();
    rows.extend((0..20).map(row));
    // Between the 30th sample and the next, the clock was set an hour ahead.
    let times: Vec<i64> = (0..40)
        .map(|at| (at * 10 + if at >= 30 { 3600 } else { 0 }) * SECOND_US)
        .collect();
    let series = derived(recorded(&rows, &times)).unwrap();
    // The restart has no sample; nothing else is made up.
    assert_eq!(series.values, [0.0; 38]);
    assert!(!series.times_us.contains(&times[20]));
}

#[test]
fn only_samples_that_all_parts_share_count() {
    let rows: Vec<[i64; 4]> = (0..30).map(|at| [at * 150, at * 40, at * 60, 0]).collect();
    let times = each_ten_seconds(30);
    let mut all = recorded(&rows, &times);
    // One part is longer, another one begins late and ends early.
    all[0].times_us.push(900 * SECOND_US);
    all[0].values.push(5_000.0);
    all[1].times_us = times[10..20].to_vec();
    all[1].values = all[1].values[10..20].to_vec();
    let series = derived(all).unwrap();
    assert_eq!(series.times_us, times[11..20]);
    assert_eq!(series.values, [5.0; 9]);
    assert!(
        series
            .notes
            .iter()
            .any(|note| note.contains("21 samples left out")),
        "{:?}",
        series.notes
    );
}

#[test]
fn nothing_is_made_up_of_parts() {
    let rows: Vec<[i64; 4]> = (0..30).map(|at| [at * 150, at * 40, at * 60, at]).collect();
    let all = || recorded(&rows, &each_ten_seconds(30));
    for missing in 0..3 {
        let mut parts = all();
        parts.remove(missing);
        assert_eq!(derived(parts), None, "{missing}");
    }
    // Without the number of writes, no flushes are taken off.
    let mut parts = all();
    parts.remove(3);
    let about = derived(parts).unwrap().discard_time.unwrap();
    assert_eq!(about.writes_per_s, None);
    // Of two devices.
    let mut parts = all();
    parts[1]
        .labels
        .insert("device".to_owned(), "sdb".to_owned());
    assert_eq!(derived(parts), None);
    // The times of the others say nothing of these.
    let mut parts = all();
    for part in &mut parts {
        part.dating = Dating::Undated;
    }
    assert_eq!(derived(parts), None);
}

#[test]
fn discards_that_are_recorded_are_not_computed() {
    let rows: Vec<[i64; 4]> = (0..30).map(|at| [at * 150, at * 40, at * 60, at]).collect();
    for metric in ["discard_time_ms", "dkB/s", "discards"] {
        let mut all = recorded(&rows, &each_ten_seconds(30));
        all.push(series(metric, vec![0], vec![0.0]));
        assert_eq!(derived(all), None, "{metric}");
    }
}

/// Figures of `sar -d` of sysstat 11: rounded to hundredths, without discards.
#[test]
fn rounded_figures_of_sar_show_a_storm() {
    let times = each_ten_seconds(50);
    let hundredths = |value: f64| (value * 100.0).round() / 100.0;
    let (mut queue, mut tps, mut wait) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..50_u32 {
        let count = 200.0 + f64::from(at % 7) * 11.1;
        let each = 1.234 + f64::from(at % 5) * 0.321;
        let discards = if at == 30 { 80.0 } else { 0.0 };
        queue.push(hundredths((count * each + discards) / 1000.0));
        tps.push(hundredths(count));
        wait.push(hundredths(each));
    }
    let all = vec![
        series("disk.aqu-sz", times.clone(), queue),
        series("disk.tps", times.clone(), tps),
        series("disk.await", times, wait),
    ];
    let series = derived(all).unwrap();
    assert!(
        (series.values[30] - 80.0).abs() < 8.0,
        "{}",
        series.values[30]
    );
    let others = series.values.iter().enumerate().filter(|(at, _)| *at != 30);
    assert!(others.fold(0.0, |most: f64, (_, value)| most.max(*value)) < 8.0);
}

#[test]
fn hosts_are_named_where_there_are_several() {
    let rows: Vec<[i64; 4]> = (0..30).map(|at| [at * 150, at * 40, at * 60, at]).collect();
    let mut all = Vec::new();
    for host in ["a", "b"] {
        for mut one in recorded(&rows, &each_ten_seconds(30)) {
            one.labels.insert("host.name".to_owned(), host.to_owned());
            all.push(one);
        }
    }
    add(&mut all);
    let names: Vec<&str> = all[8..].iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "discard or flush time of sda on a",
            "discard or flush time of sda on b"
        ]
    );
}

/// A server's counters of a disk, in seconds, one sample each ten seconds: `(metric, direction)` and what it grows by in each.
fn of_server(host: &str, counters: &[(&str, &str, [f64; 3])]) -> Vec<Series> {
    counters
        .iter()
        .map(|(metric, direction, grown)| {
            let mut sum = 7.0;
            let grown = grown.iter().map(|grown| {
                sum += grown;
                sum
            });
            let values = [7.0].into_iter().chain(grown).collect();
            let mut one = series(metric, each_ten_seconds(4), values);
            one.labels.insert("instance".to_owned(), host.to_owned());
            if !direction.is_empty() {
                one.labels
                    .insert("direction".to_owned(), (*direction).to_owned());
            }
            one
        })
        .collect()
}

fn told(series: &[Series]) -> Result<Reading, SourceError> {
    let (series, skipped) = of_disks(series, "p")?;
    Ok(Reading {
        series,
        skipped,
        ..Reading::default()
    })
}

#[test]
fn names_of_opentelemetry_are_known_in_every_translation() {
    for [weighted, time, count] in [
        [
            "system_disk_weighted_io_time_seconds_total",
            "system_disk_operation_time_seconds_total",
            "system_disk_operations_total",
        ],
        [
            "otel_system_disk_weighted_io_time",
            "otel_system_disk_operation_time",
            "otel_system_disk_operations",
        ],
        [
            "system.disk.weighted_io_time",
            "system.disk.operation_time",
            "system.disk.operations",
        ],
    ] {
        let parts = [
            (weighted, "", [0.5, 1.3, 0.5]),
            (time, "read", [0.2, 0.2, 0.2]),
            (time, "write", [0.3, 0.3, 0.3]),
            (count, "read", [0.0, 0.0, 0.0]),
            (count, "write", [10.0, 10.0, 10.0]),
        ];
        let reading = told(&of_server("db1:8888", &parts)).unwrap();
        let [one] = &reading.series[..] else {
            panic!("{weighted}: {:?}", reading.series);
        };
        assert_eq!(one.name, "discard or flush time of sda");
        assert!((one.values[1] - 80.0).abs() < 1e-6, "{:?}", one.values);
        assert!(one.discard_time.as_ref().unwrap().writes_per_s.is_some());
        // Without what was written, nothing is left to subtract.
        let error = told(&of_server("db1:8888", &parts[..2]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is missing, of all disks"), "{error}");
    }
}

#[test]
fn discards_that_node_exporter_counts_are_told_as_they_are() {
    let weighted = (
        "node_disk_io_time_weighted_seconds_total",
        "",
        [0.5, 1.3, 0.5],
    );
    let parts = [
        weighted,
        ("node_disk_read_time_seconds_total", "", [0.2; 3]),
        ("node_disk_write_time_seconds_total", "", [0.3; 3]),
        ("node_disk_writes_completed_total", "", [10.0; 3]),
    ];
    let counted = |time: f64, sectors: f64| {
        [
            ("node_disk_discard_time_seconds_total", "", [0.0, time, 0.0]),
            ("node_disk_discarded_sectors_total", "", [0.0, sectors, 0.0]),
        ]
    };
    // Of flushes alone, db2 has as much.
    let mut all = of_server("db1", &[&parts[..], &counted(0.79, 2e4)].concat());
    all.extend(of_server("db2", &[&parts[..], &counted(0.0, 0.0)].concat()));
    all.extend(of_server("db3", &parts));
    all.extend(of_server("db4", &[weighted]));
    let reading = told(&all).unwrap();
    let found: Vec<(&str, Option<&str>, f64)> = (reading.series.iter())
        .map(|one| {
            (
                one.name.as_str(),
                one.unit.as_deref(),
                one.values[1].round(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("discard time of sda on db1", Some("ms/s"), 79.0),
            ("discards on sda on db1", Some("kB/s"), 1000.0),
            ("discard or flush time of sda on db3", Some("ms/s"), 80.0),
        ]
    );
    let skipped: Vec<(&str, &str)> = (reading.skipped.iter())
        .map(|one| (one.what.as_str(), one.why.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            (
                "1 disk",
                "no discards, and no flushes beyond what writes usually take"
            ),
            ("1 disk", WITHOUT_PARTS)
        ]
    );
    let error = told(&of_server(
        "db2",
        &[&parts[..], &counted(0.0, 0.0)].concat(),
    ))
    .unwrap_err();
    assert!(
        error.to_string().contains("no disk spent time on discards"),
        "{error}"
    );
}

proptest! {
    /// More time of discards is never less in the series, whatever else the device did.
    #[test]
    fn a_larger_storm_is_not_smaller(
        loads in prop::collection::vec((0..900_000_i64, 0..900_000_i64, 200..500_i64), 20..60),
        storm in 0..16_usize,
        len in 1..5_usize,
        discard_ms in 1..9_000_i64,
        flush_us in 0..900_i64,
    ) {
        let with = |discard_ms: i64| {
            let mut device = Device::default();
            let mut rows = vec![device.shown()];
            for (at, (read, write, writes)) in loads.iter().enumerate() {
                let is_storm = (storm..storm + len).contains(&at);
                let discard_us = if is_storm { discard_ms * 1000 } else { 0 };
                device.did([*read, *write, discard_us, writes * flush_us], *writes);
                rows.push(device.shown());
            }
            derived(recorded(&rows, &each_ten_seconds(rows.len()))).unwrap()
        };
        let (smaller, larger) = (with(discard_ms), with(discard_ms * 2));
        for at in storm..storm + len {
            // Counters are cut to a millisecond, so what a write's flushes take is known to about 0.02 ms.
            prop_assert!(larger.values[at] + 1.0 >= smaller.values[at]);
        }
    }
}
