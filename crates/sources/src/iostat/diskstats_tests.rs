use super::*;
use crate::testing::series;
use crate::{FileOptions, detect::read_text};
use proptest::prelude::*;
use std::fmt::Write as _;

fn read_log(text: &str) -> Result<Reading, SourceError> {
    read_text(text, &FileOptions::default())
}

fn values<'r>(reading: &'r Reading, name: &str) -> &'r [f64] {
    &series(reading, name).values
}

/// Two copies, two seconds apart, of a kernel that counts discards and flushes. Columns are those of
/// Documentation/admin-guide/iostats.rst.
const STALKED: &str = "\
TS 1795862638.500000000 2026-11-28 10:43:58
   8       0 sda 100 5 2000 300 400 6 8000 900 0 1000 1500 10 0 4096 50 20 30
   8       1 sda1 90 5 1800 280 400 6 8000 900 0 1000 1500 10 0 4096 50 20 30
 259       0 nvme0n1 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0
 259       1 nvme0n1p1 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0
 253       1 dm-1 100 0 2000 300 0 0 0 0 0 0 300 0 0 0 0 0 0
TS 1795862640.500000000 2026-11-28 10:44:00
   8       0 sda 104 5 2016 308 410 6 8200 1000 1 2500 1722 14 0 206848 150 22 44
   8       1 sda1 94 5 1816 288 410 6 8200 1000 1 2500 1722 14 0 206848 150 22 44
 259       0 nvme0n1 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0
 259       1 nvme0n1p1 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0
 253       1 dm-1 100 0 2000 300 20 0 160 80 0 0 380 0 0 0 0 0 0
";

#[test]
fn counters_become_the_columns_of_iostat() {
    let reading = read_log(STALKED).unwrap();
    for (column, value) in [
        ("r/s", 2.0),
        ("r_await", 2.0),
        ("rkB/s", 4.0),
        ("w/s", 5.0),
        ("w_await", 10.0),
        ("wkB/s", 50.0),
        ("d/s", 2.0),
        ("d_await", 25.0),
        // 202,752 sectors of 512 bytes.
        ("dkB/s", 50_688.0),
        ("f/s", 1.0),
        ("f_await", 7.0),
        ("aqu-sz", 0.111),
        ("%util", 75.0),
    ] {
        assert_eq!(
            values(&reading, &format!("sda {column}")),
            [value],
            "{column}"
        );
    }
    assert_eq!(reading.series[0].times_us, [1_795_862_640_500_000]);
    assert_eq!(values(&reading, "dm-1 w/s"), [10.0]);
    let without = |name: &str| reading.series.iter().all(|one| !one.name.starts_with(name));
    assert!(without("dm-1 r_await") && without("nvme0n1") && without("sda1"));
    // The kernel counts its discards, so nothing is computed.
    assert!(without("discard or flush time"));
    let skipped: Vec<(&str, &str)> = (reading.skipped.iter())
        .map(|one| (one.what.as_str(), one.why.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            ("nvme0n1p1 and sda1", "parts of devices that are read"),
            (
                "nvme0n1",
                "did nothing in this time, or is in one copy only"
            ),
        ]
    );
}

/// Lines of Linux before 4.18, in copies below times of another form.
#[test]
fn discards_that_the_kernel_does_not_count_are_computed() {
    let mut text = String::new();
    let (mut weighted_ms, mut read_ms) = (0, 0);
    for second in 0..20 {
        let discard_ms = if second == 11 { 400 } else { 0 };
        read_ms += 70;
        weighted_ms += 70 + discard_ms;
        let counters = format!("{second} 0 8 {read_ms} 5 0 40 50 0 90 {weighted_ms}");
        writeln!(
            text,
            "2014-01-30 14:01:{second:02}\n 202 1 xvda1 {counters}"
        )
        .unwrap();
    }
    let reading = read_log(&text).unwrap();
    let found = values(&reading, "discard or flush time of xvda1");
    assert_eq!(found.len(), 19);
    for (at, value) in found.iter().enumerate() {
        let wanted = if at == 10 { 400.0 } else { 0.0 };
        assert!((value - wanted).abs() < 1e-6, "{at}: {value}");
    }
}

#[test]
fn what_began_anew_or_stands_still_makes_no_sample() {
    let copy = |second: u32, reads: u64, weighted_ms: u64| {
        format!("TS {second}.5 x y\n 8 0 sda {reads} 0 0 0 0 0 0 0 0 0 {weighted_ms}\n")
    };
    let at = 1_795_862_600;
    // Milliseconds wrap at 32 bits.
    let text = [
        copy(at, 10, u64::from(u32::MAX) - 99),
        copy(at + 1, 20, 900),
        copy(at + 2, 5, 0),
        copy(at + 2, 6, 0),
        copy(at + 4, 26, 100),
    ];
    let reading = read_log(&text.concat()).unwrap();
    assert_eq!(values(&reading, "sda aqu-sz"), [1.0, 0.05]);
    assert_eq!(values(&reading, "sda r/s"), [10.0, 10.0]);
    assert_eq!(
        reading.warnings,
        [
            "the counter began anew 1 time: the samples across are left out",
            "1 line left out: not later than the one before"
        ]
    );
}

#[test]
fn a_text_that_is_cut_says_so() {
    // In the middle of a line, at the end of a number that would do, and within the last one.
    let end = STALKED.len();
    for cut in [end - 40, end - 9, end - 1] {
        let reading = read_log(&STALKED[..cut]).unwrap();
        let warning = &reading.warnings[0];
        assert!(
            warning.starts_with("the last line is not whole: f:12: "),
            "{warning}"
        );
        assert!(
            reading
                .series
                .iter()
                .all(|one| !one.name.starts_with("dm-1"))
        );
        assert_eq!(values(&reading, "sda r/s"), [2.0]);
    }
    let once: String = STALKED.split_inclusive('\n').take(6).collect();
    let error = read_log(&once).unwrap_err().to_string();
    assert!(error.contains("one copy of /proc/diskstats"), "{error}");
}

#[test]
fn a_line_that_is_neither_is_an_error() {
    let counters = "90 5 1800 280 400 6 8000 900 0 1000 1500";
    for (number, line, says) in [
        (
            3,
            format!("8 1 sda1 {counters} x 0 0 0"),
            "a line of /proc/diskstats (column 15: \"x\" is no count)",
        ),
        (
            3,
            "8 1 sda1 90 5 1800".to_owned(),
            "a line of /proc/diskstats (6 columns, expected 14 or more)",
        ),
        (
            3,
            format!("sda1 {counters}"),
            "seconds since 1970, or a line of /proc/diskstats",
        ),
        (
            7,
            "TS yesterday".to_owned(),
            "seconds since 1970, or a line of /proc/diskstats",
        ),
        (8, format!("8 0 sda {counters}"), "20 columns, as before"),
    ] {
        let mut lines: Vec<&str> = STALKED.lines().collect();
        lines[number - 1] = &line;
        let error = read_log(&(lines.join("\n") + "\n"))
            .unwrap_err()
            .to_string();
        let says = format!("f:{number}: expected {says}, found");
        assert!(error.starts_with(&says), "{error}");
    }
}

proptest! {
    /// What the rates add up to is what the counters grew by, and the same for the time of discards where it is computed.
    #[test]
    fn rates_add_up_to_the_counters(
        rows in prop::collection::vec((1..900_u64, prop::array::uniform4(0..10_000_u64)), 2..40),
    ) {
        let mut text = String::new();
        let (mut at_s, mut sums) = (1_795_862_600, [0_u64; 4]);
        for (gap_s, grown) in &rows {
            at_s += gap_s;
            for (sum, grown) in sums.iter_mut().zip(grown) {
                *sum += grown;
            }
            let [ops, read, write, discard] = sums;
            let all = read + write + discard;
            let counters = format!("{ops} 0 {ops} {read} {ops} 0 {ops} {write} 0 {all} {all}");
            writeln!(text, "TS {at_s} x\n 8 0 sdb {counters}").unwrap();
        }
        let reading = read_log(&text).unwrap();
        let total = |name: &str| {
            let series = reading.series.iter().find(|one| one.name == name);
            let pairs = series.into_iter().flat_map(|one| one.times_us.iter().zip(&one.values));
            let mut sum = 0.0;
            for (time_us, value) in pairs {
                let mut end_s = 1_795_862_600;
                let gap_s = rows.iter().find_map(|(gap_s, _)| {
                    end_s += gap_s;
                    (i64::try_from(end_s).unwrap() * 1_000_000 == *time_us).then_some(*gap_s)
                });
                sum += value * f64::from(u32::try_from(gap_s.unwrap()).unwrap());
            }
            sum
        };
        let grown = |at: usize| rows[1..].iter().map(|(_, grown)| f64::from(u32::try_from(grown[at]).unwrap())).sum::<f64>();
        if grown(0) + grown(1) + grown(2) + grown(3) > 0.0 {
            prop_assert!((total("sdb r/s") - grown(0)).abs() < 1e-3);
            prop_assert!((total("sdb wkB/s") * 2.0 - grown(0)).abs() < 1e-3);
            prop_assert!((total("sdb aqu-sz") * 1e3 - grown(1) - grown(2) - grown(3)).abs() < 1e-3);
        }
    }

    #[test]
    fn any_text_reads_or_fails(text in "(TS [0-9]{1,12}[. ]?[0-9]{0,9} x\n|[ 0-9]{1,12} sd[ab][0-9 ]{0,60}\n|.{0,20}\n){0,12}") {
        let options = FileOptions {
            format: Some(crate::Format::Diskstats),
            ..FileOptions::default()
        };
        let _ = read_text(&text, &options);
    }
}
