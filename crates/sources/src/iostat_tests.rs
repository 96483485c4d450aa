use super::*;
use crate::detect::read_text;
use crate::testing::{in_format, series, times, warns};
use crate::{Format, read_bytes};
use facts::series::{Better, Dating, Series};
use jiff::civil::date;
use proptest::prelude::*;
use std::fmt::Write as _;

const MONGO: &str = include_str!("../tests/data/mongo-iostat.txt");

/// sysstat 11 with `-x`, as CentOS 7 prints it.
const OLD: &str = "\
Linux 3.10.0-862.el7.x86_64 (box0) \t11/18/2018 \t_x86_64_\t(24 CPU)

11/18/2018 11:59:50 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.56    0.00    0.43    0.05    0.00   98.96

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.01     1.88    0.92    9.29    96.35   172.04    52.58     0.01    0.60    0.69    0.59   0.13   0.13

11/18/2018 11:59:55 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    2.50    0.00   95.50

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.00     2.00    1.00   10.00     8.00    48.00    10.18     0.02    1.50    1.00    1.55   0.20   0.22

11/19/2018 12:00:00 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    3.50    0.00   94.50

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.00     3.00    1.00   11.00     8.00    52.00    10.00     0.02    1.60    1.00    1.65   0.20   0.24
";

fn options() -> FileOptions {
    in_format(Format::Iostat)
}

fn read(text: &str) -> Reading {
    read_text(text, &options()).unwrap()
}

fn error(text: &str) -> String {
    read_text(text, &options()).unwrap_err().to_string()
}

#[test]
fn the_log_of_the_article() {
    let reading = read(MONGO);
    // 13 devices with three rates each, and six columns of the processors.
    assert_eq!(reading.series.len(), 13 * 3 + 6);
    let writes = series(&reading, "nvme1n1 kB_wrtn/s");
    assert_eq!(writes.values, [560.0, 544.0, 7_540_296.0, 8_663_381.33]);
    assert_eq!(
        times(writes),
        [
            "2020-04-13T00:00:00Z",
            "2020-04-13T00:00:03Z",
            "2020-04-13T00:00:06Z",
            "2020-04-13T00:00:09Z",
        ]
    );
    assert_eq!(writes.dating, Dating::Day(date(2020, 4, 13)));
    assert_eq!(writes.unit.as_deref(), Some("kB/s"));
    assert_eq!(writes.better, None);
    assert_eq!(writes.labels["device"], "nvme1n1");
    assert_eq!(writes.labels["metric"], "kB_wrtn/s");
    assert_eq!(writes.labels["kernel"], "4.4.0-1105-aws");
    assert_eq!(writes.labels["host"], "mongo-03");
    assert_eq!(
        writes.notes,
        ["no times: counted in steps of 3 s, from what was moved in all and in a second"]
    );
    let waiting = series(&reading, "avg-cpu %iowait");
    assert_eq!(waiting.values, [0.18, 0.14, 9.80, 4.84]);
    assert_eq!(waiting.better, Some(Better::Lower));
    assert_eq!(
        series(&reading, "md0 kB_read/s").values,
        [19478.67, 20408.0, 2641.33, 96.0]
    );
    assert_eq!(
        reading.warnings,
        [
            "line 40 is not part of a report: \"# after fstrim is called\": time may be missing there"
        ]
    );
    assert_eq!(reading.skipped[0].what, "columns kB_read, kB_wrtn");
}

#[test]
fn excerpts_without_a_header_are_parsed() {
    let piece = &MONGO[MONGO.find("# after").unwrap()..];
    let reading = read(piece);
    let writes = series(&reading, "md0 kB_wrtn/s");
    assert_eq!(writes.values, [80_663_394.5, 40_321_945.83]);
    assert_eq!(writes.dating, Dating::Undated);
    assert_eq!(writes.times_us, [0, 3_000_000]);
}

#[test]
fn the_report_since_boot_is_skipped() {
    let reading = read(include_str!("../tests/data/iostat-t-c.txt"));
    let one = series(&reading, "vda kB_wrtn/s");
    assert_eq!(one.values, [61440.0, 61464.0]);
    assert_eq!(times(one), ["2026-11-22T01:43:22Z", "2026-11-22T01:43:23Z"]);
    assert_eq!(one.dating, Dating::Absolute);
    assert_eq!(
        one.notes,
        ["1 first report left out: since boot, not since the one before"]
    );
}

#[test]
fn iso_times_and_the_new_columns() {
    let reading = read(include_str!("../tests/data/iostat-x-iso.txt"));
    let one = series(&reading, "vda dkB/s");
    assert_eq!(one.values, [30720.0, 61440.0]);
    assert_eq!(times(one), ["2026-11-22T01:43:20Z", "2026-11-22T01:43:21Z"]);
    let wait = series(&reading, "vda r_await");
    assert_eq!(wait.unit.as_deref(), Some("ms"));
    assert_eq!(wait.better, Some(Better::Lower));
    assert_eq!(wait.values, [4.31, 0.34]);
    assert_eq!(
        one.notes,
        ["1 first report left out: since boot, not since the one before, or may do so"]
    );
}

#[test]
fn old_columns_and_am_pm_times() {
    let reading = read(OLD);
    let one = series(&reading, "sda await");
    assert_eq!(one.values, [1.50, 1.60]);
    assert_eq!(times(one), ["2018-11-18T23:59:55Z", "2018-11-19T00:00:00Z"]);
    assert_eq!(series(&reading, "sda avgqu-sz").values, [0.02, 0.02]);
}

#[test]
fn human_readable_numbers_are_parsed() {
    let reading = read(include_str!("../tests/data/iostat-h.txt"));
    let one = series(&reading, "vda kB_wrtn/s");
    assert_eq!(one.values, [59.4 * 1024.0, 40.0 * 1024.0]);
    assert_eq!(one.times_us[1] - one.times_us[0], 1_000_000);
    assert_eq!(series(&reading, "avg-cpu %user").values, [90.1, 70.1]);
}

#[test]
fn a_first_report_that_covers_an_interval_is_kept() {
    // With -y, iostat itself omits the report since boot.
    let reading = read(include_str!("../tests/data/iostat-y-m.txt"));
    let one = series(&reading, "vda MB_read/s");
    assert_eq!(one.values, [9.17, 36.53]);
    assert_eq!(one.unit.as_deref(), Some("MB/s"));
}

#[test]
fn without_times_and_totals_samples_are_counted() {
    let text = include_str!("../tests/data/iostat-x.txt");
    let text = text.replace("11/22/26", "11/22/2026");
    let reading = read(&text);
    let one = series(&reading, "vda r/s");
    assert_eq!(one.times_us[1] - one.times_us[0], 1_000_000);
    assert!(
        one.notes.iter().any(|note| note.contains("--step")),
        "{:?}",
        one.notes
    );
    let named = FileOptions {
        step_s: Some(5.0),
        ..options()
    };
    let reading = read_text(&text, &named).unwrap();
    let one = series(&reading, "vda r/s");
    assert_eq!(one.times_us[1] - one.times_us[0], 5_000_000);
    assert_eq!(one.dating, Dating::Day(date(2026, 11, 22)));
    // The command above the log gives the interval as well.
    let reading = read(&format!("$ iostat -x vda 7\n{text}"));
    let one = series(&reading, "vda r/s");
    assert_eq!(one.times_us[1] - one.times_us[0], 7_000_000);
}

#[test]
fn ambiguous_dates() {
    let dated = MONGO.replace("04/13/2020", "04/05/20");
    let reading = read(&dated);
    assert_eq!(reading.series[0].dating, Dating::Undated);
    assert!(
        reading.series[0]
            .notes
            .iter()
            .any(|note| note.contains("not dated"))
    );
    let named = FileOptions {
        time_format: Some("%d/%m/%y".to_owned()),
        ..options()
    };
    let reading = read_text(&dated, &named).unwrap();
    assert_eq!(reading.series[0].dating, Dating::Day(date(2020, 5, 4)));
    let stamped = include_str!("../tests/data/iostat-t-c.txt").replace("11/22/26", "11/02/26");
    assert_eq!(
        error(&stamped),
        "f:3: expected a time whose day and month can be told apart; name its format, like \
         %m/%d/%y %H:%M:%S, found \"11/02/26 01:43:21\""
    );
    let named = FileOptions {
        time_format: Some("%d/%m/%y %H:%M:%S".to_owned()),
        ..options()
    };
    let reading = read_text(&stamped, &named).unwrap();
    assert_eq!(times(&reading.series[0])[0], "2026-02-11T01:43:22Z");
    let german = include_str!("../tests/data/iostat-t-c.txt")
        .replace("11/22/26", "02.11.2026")
        .replace("Device", "Gerät:")
        .replace("440.00", "440,00");
    let reading = read(&german);
    assert_eq!(times(&reading.series[0])[0], "2026-11-02T01:43:22Z");
}

#[test]
fn times_of_day_take_their_date_from_the_header() {
    let text = OLD
        .replace("11/18/2018 11", "Time: 11")
        .replace("11/19/2018 12", "Time: 12");
    let reading = read(&text);
    assert_eq!(
        times(series(&reading, "sda await")),
        ["2018-11-18T23:59:55Z", "2018-11-19T00:00:00Z"]
    );
}

#[test]
fn several_logs_in_one_file() {
    // With times, they are one history; without, only the longest section can be dated.
    let log = include_str!("../tests/data/iostat-x-iso.txt");
    let later = log.replace("2026-11-22T01", "2026-11-22T02");
    let reading = read(&format!("{log}{later}"));
    assert_eq!(series(&reading, "vda r/s").values.len(), 4);
    assert_eq!(
        series(&reading, "vda r/s").notes,
        ["2 first reports left out: since boot, not since the one before, or may do so"]
    );
    let reading = read(&format!(
        "{}\n{MONGO}",
        include_str!("../tests/data/iostat-y-m.txt")
    ));
    // Of each host, the longest.
    assert_eq!(series(&reading, "md0 tps").values.len(), 4);
    assert_eq!(series(&reading, "vda tps").values.len(), 2);
    let text = include_str!("../tests/data/iostat-y-m.txt");
    let reading = read(&format!("{text}\n{text}"));
    assert_eq!(series(&reading, "vda tps").values.len(), 2);
    assert!(warns(&reading, |text| text.starts_with("2 reports left out")));
}

#[test]
fn omitted_idle_devices_are_reported() {
    // With -z, an idle device has no row.
    let text = OLD.replacen(
        "sda               0.00     2.00",
        "sdb               0.00     2.00",
        1,
    );
    let reading = read(&text);
    let note = "not in 1 report: with -z, iostat leaves out devices that did nothing";
    assert!(series(&reading, "sda r/s").notes.contains(&note.to_owned()));
    assert_eq!(series(&reading, "sdb r/s").values, [1.0]);
    assert!(
        !series(&reading, "avg-cpu %user")
            .notes
            .contains(&note.to_owned())
    );
}

#[test]
fn a_day_that_is_named_dates_a_log_without_one() {
    let options = FileOptions {
        date: Some("2024-02-28".parse().unwrap()),
        ..options()
    };
    // sar's tables without their first line, over midnight.
    let text = "11:55:01 PM  DEV  tps  rkB/s\n11:58:01 PM  sda  1.00  8.00\n12:03:01 AM  sda  2.00  16.00\n";
    let reading = read_text(text, &options).unwrap();
    let one = series(&reading, "sda rkB/s");
    assert_eq!(one.dating, Dating::Absolute);
    assert_eq!(times(one), ["2024-02-28T23:58:01Z", "2024-02-29T00:03:01Z"]);
    // A date of its own counts, and it is said that the other one does not.
    let dated = format!("Linux 5.4.0 (db1) \t2026-11-22 \t_x86_64_\t(8 CPU)\n\n{text}");
    let reading = read_text(&dated, &options).unwrap();
    assert_eq!(
        times(series(&reading, "sda rkB/s"))[0],
        "2026-11-22T23:58:01Z"
    );
    assert!(reading.warnings[0].starts_with("the date that was named is not used"));
}

#[test]
fn vmstat_is_read_without_its_heading() {
    let whole = include_str!("../tests/data/vmstat-t.txt");
    let heading = |line: &&str| !line.starts_with("procs") && !line.trim_start().starts_with("r ");
    let rows: Vec<&str> = whole.lines().filter(heading).collect();
    let (bare, with_heading) = (read(&rows.join("\n")), read(whole));
    for name in ["all disks bo", "host wa", "host b"] {
        let (bare, whole) = (series(&bare, name), series(&with_heading, name));
        // The first row below a heading may be about the time since boot.
        assert_eq!(bare.values[1..], whole.values, "{name}");
        assert_eq!(bare.labels, whole.labels);
    }
    // Numbers of something else: the shares of the processors' time do not add up.
    let other = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n".repeat(3);
    let error = read_bytes("f", other.as_bytes(), &FileOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("text in another format"),
        "{error}"
    );
}

#[test]
fn times_outside_the_range_are_skipped() {
    let mut options = options();
    options.times.since = Some("2018-11-19T00:00:00Z".parse().unwrap());
    let reading = read_text(OLD, &options).unwrap();
    assert_eq!(series(&reading, "sda await").values, [1.60]);
    options.times.since = Some("2019-11-19T00:00:00Z".parse().unwrap());
    let error = read_text(OLD, &options).unwrap_err().to_string();
    assert_eq!(error, "f: no report lies between the times that are wanted");
    let piece = &MONGO[MONGO.find("# after").unwrap()..];
    let reading = read_text(piece, &options).unwrap();
    assert!(warns(&reading, |text| text.contains("the log is not dated")));
}

#[test]
fn errors_name_their_line() {
    let broken = |from: &str, to: &str| error(&MONGO.replacen(from, to, 1));
    assert_eq!(
        broken("2488.00", "24x8.00"),
        "f:12:29: expected a number in column kB_read/s, found \"24x8.00\""
    );
    assert_eq!(
        broken("2488.00       560.00       7464       1680", "2488.00"),
        "f:12: expected 5 numbers, as many as columns, found \"2 in nvme1n1         231.67      2488.00\""
    );
    assert_eq!(
        error("Linux 4.4.0 (h) 04/13/2020 _x86_64_ (64 CPU)\n"),
        "f: expected reports of iostat: tables with a head, found \"none\""
    );
    let half = OLD.replacen("11/18/2018 11:59:55 PM\n", "", 1);
    assert!(
        error(&half).starts_with("f:10: expected a time above the report"),
        "{}",
        error(&half)
    );
}

#[test]
fn a_single_report_is_about_the_time_since_boot() {
    let since_boot = &OLD[..OLD.find("11/18/2018 11:59:55").unwrap()];
    let reading = read(since_boot);
    let one = series(&reading, "sda wkB/s");
    assert_eq!(
        (one.values.as_slice(), one.dating),
        (&[172.04][..], Dating::Undated)
    );
    assert_eq!(one.labels["since"], "boot");
    assert!(!series(&read(OLD), "sda wkB/s").labels.contains_key("since"));
}

#[test]
fn a_truncated_last_line_is_reported() {
    let cut = &MONGO[..MONGO.len() - 30];
    let reading = read(cut);
    assert_eq!(series(&reading, "nvme1n1 tps").values.len(), 4);
    assert_eq!(series(&reading, "md0 tps").values.len(), 3);
    assert!(warns(&reading, |text| text
        .starts_with("the last line is not whole")));
}

/// Lines of every layout.
const LOGS: [&str; 7] = [
    MONGO,
    OLD,
    include_str!("../tests/data/iostat-xt-ko_KR.txt"),
    include_str!("../tests/data/iostat-xh.txt"),
    include_str!("../tests/data/sar-d-en_US.txt"),
    include_str!("../tests/data/sar-buq.txt"),
    include_str!("../tests/data/vmstat-t.txt"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any numbers are read as printed, at the times above them.
    #[test]
    fn reports_parse_as_printed(rows in prop::collection::vec((0_u32..1_000_000, 0_u32..10_000), 2..20)) {
        let mut text = String::from("Linux 6.1.0 (h) \t2026-01-31 \t_x86_64_\t(2 CPU)\n\n");
        for (index, (reads, wait)) in rows.iter().enumerate() {
            write!(text, "2026-01-31T00:{index:02}:00+0000\nDevice   r/s   w/s  r_await\nsda {reads}.00 0.00 {wait}.25\n\n").unwrap();
        }
        let reading = read(&text);
        let expected: Vec<f64> = rows[1..].iter().map(|row| f64::from(row.0)).collect();
        let waits: Vec<f64> = rows[1..].iter().map(|row| f64::from(row.1) + 0.25).collect();
        prop_assert_eq!(&series(&reading, "sda r/s").values, &expected);
        prop_assert_eq!(&series(&reading, "sda r_await").values, &waits);
    }

    #[test]
    fn any_lines_parse_or_fail(lines in prop::collection::vec(
        prop::sample::select(LOGS.iter().flat_map(|log| log.lines()).collect::<Vec<_>>()), 0..60,
    ), cut in 0_usize..200) {
        let text = lines.join("\n");
        let cut = text.floor_char_boundary(text.len().saturating_sub(cut));
        let text = &text[..cut];
        let _ = read_text(text, &options());
    }
}

// --- What the programs of sysstat 12.6.1 and procps 4.0.2 printed at the same time, while `fstrim` trimmed a loop device at
// 07:54:43, in several layouts and locales. All but `vda` and `loop0` was left out.

/// Returns the times of a series, and the one of its largest value.
fn largest(reading: &Reading, name: &str) -> (Dating, usize, String, f64) {
    let one = series(reading, name);
    let place = (0..one.values.len()).max_by(|&a, &b| one.values[a].total_cmp(&one.values[b]));
    let place = place.unwrap();
    (
        one.dating,
        one.values.len(),
        times(one)[place].clone(),
        one.values[place],
    )
}

#[test]
fn the_same_burst_in_each_locale_of_iostat() {
    for (locale, text, is_dated) in [
        (
            "zh_CN",
            include_str!("../tests/data/iostat-xt-zh_CN.txt"),
            true,
        ),
        (
            "ko_KR",
            include_str!("../tests/data/iostat-xt-ko_KR.txt"),
            true,
        ),
        (
            "en_IN",
            include_str!("../tests/data/iostat-xt-en_IN.txt"),
            true,
        ),
        (
            "th_TH",
            include_str!("../tests/data/iostat-xt-th_TH.txt"),
            true,
        ),
        (
            "de_DE",
            include_str!("../tests/data/iostat-xt-de_DE.txt"),
            true,
        ),
        // Its names of months and its digits are not read: only distances are known.
        (
            "ar_EG",
            include_str!("../tests/data/iostat-xt-ar_EG.txt"),
            false,
        ),
    ] {
        let reading = read(text);
        let (dating, number, at, value) = largest(&reading, "loop0 dkB/s");
        // The report since boot is no sample.
        assert_eq!(number, 5, "{locale}");
        assert!(
            (value / 3_000_000.0 - 1.0).abs() < 0.05,
            "{locale}: {value}"
        );
        assert_eq!(
            series(&reading, "vda %util").labels["host"],
            "vm",
            "{locale}"
        );
        assert_eq!(dating == Dating::Absolute, is_dated, "{locale}");
        if is_dated {
            assert_eq!(at, "2026-11-28T07:54:43Z", "{locale}");
        }
    }
}

#[test]
fn the_same_burst_in_each_layout() {
    for (name, text, series, expected, number) in [
        (
            "iostat -o JSON",
            include_str!("../tests/data/iostat-xt.json"),
            "disk loop0 dkB/s",
            3e6,
            5,
        ),
        (
            "sar -d, 12 hours",
            include_str!("../tests/data/sar-d-en_US.txt"),
            "loop0 dkB/s",
            3e6,
            6,
        ),
        (
            "sar -d, zh_CN",
            include_str!("../tests/data/sar-d-zh_CN.txt"),
            "loop0 dkB/s",
            3e6,
            14,
        ),
        // In blocks of 512 bytes, of the disk below the loop device.
        (
            "sar -b",
            include_str!("../tests/data/sar-buq.txt"),
            "all disks bdscd/s",
            3.07e6,
            7,
        ),
        (
            "vmstat -t",
            include_str!("../tests/data/vmstat-t.txt"),
            "all disks bo",
            915_000.0,
            13,
        ),
    ] {
        let any = FileOptions {
            format: None,
            ..options()
        };
        let reading = read_text(text, &any).unwrap();
        let (dating, samples, at, value) = largest(&reading, series);
        assert_eq!((dating, samples), (Dating::Absolute, number), "{name}");
        assert!((value / expected - 1.0).abs() < 0.06, "{name}: {value}");
        // What was written since the file was trimmed is vmstat's largest.
        let expected = if name.starts_with("vmstat") {
            "46"
        } else {
            "43"
        };
        assert_eq!(at, format!("2026-11-28T07:54:{expected}Z"), "{name}");
    }
    // A table each for reads, writes and discards.
    let reading = read(include_str!("../tests/data/iostat-xh.txt"));
    let (dating, samples, _, value) = largest(&reading, "loop0 dkB/s");
    assert_eq!((dating, samples), (Dating::Day(date(2026, 11, 28)), 5));
    assert!((value / 3e6 - 1.0).abs() < 0.06, "{value}");
    assert_eq!(series(&reading, "vda wkB/s").values.len(), 5);
    assert_eq!(series(&reading, "vda %util").values.len(), 5);
    let reading = read(include_str!("../tests/data/sar-buq.txt"));
    assert_eq!(series(&reading, "avg-cpu %iowait").values[..1], [0.5]);
    assert_eq!(series(&reading, "host ldavg-1").values[..1], [3.29]);
}

#[test]
fn other_output_below_sars_or_vmstats_is_read_as_such() {
    let sar = include_str!("../tests/data/sar-d-en_US.txt");
    let vmstat = include_str!("../tests/data/vmstat-t.txt");
    let iostat = include_str!("../tests/data/iostat-xt-en_IN.txt");
    for above in [sar, vmstat] {
        let reading = read(&format!("{above}\n{iostat}"));
        assert_eq!(series(&reading, "avg-cpu %idle").values.len(), 5);
    }
    // What belongs to neither is reported.
    let reading = read(&sar.replacen("\n\n", "\n\nsome words of somebody\n", 2));
    assert!(warns(&reading, |text| text.contains("some words")));
    // An empty line ends no table of vmstat.
    let parted = read(&vmstat.replacen("54:43", "54:43\n", 1));
    assert_eq!(series(&parted, "all disks bo").values.len(), 13);
}

#[test]
fn everything_that_sar_collects_is_read_or_named() {
    let reading = read(include_str!("../tests/data/sar-all.txt"));
    for (name, label, value) in [
        ("eth0 rxpck/s", "interface", "eth0"),
        ("NMI CPU0", "interrupt", "NMI"),
        ("cpu 1 %idle", "cpu", "1"),
        ("loop0 dkB/s", "device", "loop0"),
    ] {
        let one = series(&reading, name);
        assert_eq!(
            (one.labels[label].as_str(), one.values.len()),
            (value, 2),
            "{name}"
        );
    }
    // NFS and TCP both have a column of this name.
    let both = reading
        .series
        .iter()
        .filter(|one| one.labels["metric"] == "retrans/s");
    let tables: Vec<&str> = both.map(|one| one.labels["table"].as_str()).collect();
    assert_eq!(tables, ["call/s", "atmptf/s"]);
    let filesystem = |one: &&Series| one.labels.contains_key("filesystem");
    assert!(reading.series.iter().any(|one| filesystem(&one)));
    // Hosts with sensors have tables with text.
    let text = "00:00:01 BUS idvendor product\n00:10:01 1 8087 Some hub\n\n00:00:01 DEV tps rkB/s\n00:10:01 sda 1.00 2.00\n";
    let reading = read(text);
    assert_eq!(series(&reading, "sda tps").values, [1.0]);
    assert_eq!(reading.skipped[0].what, "sar's tables BUS");
}

#[test]
fn tables_of_sar_that_follow_each_other_share_their_times() {
    // `sar -A` prints each table for the whole day before the next.
    let text = "Linux 5.4.0 (db1) \t2026-11-22 \t_x86_64_\t(8 CPU)\n\n\
        23:50:01        CPU     %user   %iowait     %idle\n\
        23:55:01        all      1.00      0.10     98.90\n\
        00:00:01        all      2.00      0.20     97.80\n\
        Average:        all      1.50      0.15     98.35\n\n\
        00:00:02     LINUX RESTART\t(8 CPU)\n\n\
        23:50:01          DEV       tps     rkB/s     wkB/s     %util\n\
        23:55:01         dm-0      4.00      0.00     10.00      1.00\n\
        00:00:01         dm-0      8.00      0.00     20.00      2.00\n";
    let reading = read(text);
    let expected = ["2026-11-22T23:55:01Z", "2026-11-23T00:00:01Z"];
    assert_eq!(times(series(&reading, "avg-cpu %iowait")), expected);
    assert_eq!(times(series(&reading, "dm-0 wkB/s")), expected);
    assert_eq!(series(&reading, "dm-0 wkB/s").values, [10.0, 20.0]);
    // A line that holds nothing but its time is none of a table.
    let cut = read(&format!("{text}00:05:01\n"));
    assert_eq!(series(&cut, "dm-0 wkB/s").values, [10.0, 20.0]);
    // Without the first line, only the distances are known.
    let (_, tables) = text.split_once("\n\n").unwrap();
    let reading = read(tables);
    let one = series(&reading, "dm-0 wkB/s");
    assert_eq!(one.dating, Dating::Undated);
    assert_eq!(one.times_us[1] - one.times_us[0], 300_000_000);
}
