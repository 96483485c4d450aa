use super::*;
use proptest::prelude::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

// Recorded lines: kernel 6.1 (20 columns), 4.18's layout (18), CentOS 7's 3.10 (14). The meaning of
// the columns is from Documentation/admin-guide/iostats.rst.
const NEW: &str =
    " 259       0 nvme2n1 101 190 2780 360 406 27179 220598 2999 3 2700 3364 7 1 4096 9 11 4\n";
const WITH_DISCARDS: &str =
    "   8      16 sdb 101 190 2780 360 406 27179 220598 2999 0 2700 3364 7 1 4096 9\n";
const OLD: &str = "   8       0 sda 101 190 2780 360 406 27179 220598 2999 4 2700 3364\n   8       1 sda1 1 0 8 4 0 0 0 0 0 4 4\n";

#[test]
fn diskstats_columns_by_kernel_generation() {
    let text = format!("{NEW}{WITH_DISCARDS}{OLD}");
    let found = parse_diskstats(&text, &names(&["nvme2n1", "sdb", "sda", "sda1"])).unwrap();
    let expected = DeviceCounters {
        reads: 101,
        read_bytes: 2780 * 512,
        read_ms: 360,
        writes: 406,
        written_bytes: 220_598 * 512,
        write_ms: 2999,
        in_flight: 3,
        busy_ms: 2700,
        weighted_ms: 3364,
        discards: Some(7),
        discarded_bytes: Some(4096 * 512),
        discard_ms: Some(9),
        flushes: Some(11),
        flush_ms: Some(4),
    };
    assert_eq!(found["nvme2n1"], expected);
    assert_eq!(
        found["sdb"],
        DeviceCounters {
            in_flight: 0,
            flushes: None,
            flush_ms: None,
            ..expected
        }
    );
    assert_eq!(
        found["sda"],
        DeviceCounters {
            in_flight: 4,
            discards: None,
            discarded_bytes: None,
            discard_ms: None,
            flushes: None,
            flush_ms: None,
            ..expected
        }
    );
    assert_eq!(found["sda1"].reads, 1);
}

#[test]
fn names_match_entirely_and_slashes_are_bangs() {
    let text =
        " 104 0 cciss/c0d0 1 0 0 0 0 0 0 0 0 0 0\n 104 1 cciss/c0d0p1 2 0 0 0 0 0 0 0 0 0 0\n";
    let found = parse_diskstats(text, &names(&["cciss!c0d0", "c0d0"])).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found["cciss!c0d0"].reads, 1);
}

#[test]
fn errors_name_the_problem() {
    let short = parse_diskstats("8 1 sda1 3 4 5 6\n", &names(&["sda1"])).unwrap_err();
    assert_eq!(
        short.to_string(),
        "diskstats: line 1, sda1: 7 columns, expected 14 or more"
    );
    let text = OLD.replace(" 2780 360", " 2780 -5");
    let negative = parse_diskstats(&text, &names(&["sda"])).unwrap_err();
    assert_eq!(
        negative.to_string(),
        "diskstats: line 1, sda: column 7: \"-5\" is no count"
    );
    // This device was not requested.
    assert!(parse_diskstats(&text, &names(&["sda1"])).is_ok());
}

#[test]
fn underflow_means_nothing_in_flight() {
    let text = OLD.replace(" 2999 4 ", " 2999 4294967295 ");
    let found = parse_diskstats(&text, &names(&["sda"])).unwrap();
    assert_eq!(found["sda"].in_flight, 0);
}

#[test]
fn time_counters_wrap_at_32_bits() {
    assert_eq!(ms_between(5, 12), 7);
    assert_eq!(ms_between(u64::from(u32::MAX), 6), 7);
    assert_eq!(ms_between(u64::MAX, 6), 0);
}

#[test]
fn pressure() {
    let text = "some avg10=0.00 avg60=1.20 avg300=0.10 total=183277\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n";
    assert_eq!(parse_pressure(text).unwrap(), 183_277);
    assert!(parse_pressure("full total=9\n").is_err());
    assert!(parse_pressure("some total=-9\n").is_err());
}

#[test]
fn this_host() {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap();
    let devices: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(2))
        .map(|name| name.replace('/', "!"))
        .collect();
    assert_eq!(
        parse_diskstats(&text, &devices).unwrap().len(),
        devices.len()
    );
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(text in "\\PC*|([ 0-9]{0,9}(sda|nvme0n1)?[ 0-9]{0,80}\n){0,5}") {
        let devices = names(&["sda", "nvme0n1", ""]);
        if let Ok(found) = parse_diskstats(&text, &devices) {
            prop_assert!(found.keys().all(|name| devices.contains(name)));
        }
        let _ = parse_pressure(&text);
    }

    #[test]
    fn counts_of_any_size_round_trip(
        counts in prop::collection::vec(any::<u64>(), 11..24),
    ) {
        let columns: Vec<String> = counts.iter().map(u64::to_string).collect();
        let text = format!("8 0 sda {}\n", columns.join(" "));
        let sda = parse_diskstats(&text, &names(&["sda"])).unwrap()["sda"];
        prop_assert_eq!(sda.reads, counts[0]);
        prop_assert_eq!(sda.read_bytes, counts[2].saturating_mul(512));
        prop_assert_eq!(sda.read_ms, counts[3]);
        prop_assert_eq!(sda.writes, counts[4]);
        prop_assert_eq!(sda.written_bytes, counts[6].saturating_mul(512));
        prop_assert_eq!(sda.write_ms, counts[7]);
        let discards = (counts.len() >= 15).then(|| counts[11]);
        prop_assert_eq!(sda.discards, discards);
        let bytes = (counts.len() >= 15).then(|| counts[13].saturating_mul(512));
        prop_assert_eq!(sda.discarded_bytes, bytes);
    }
}
