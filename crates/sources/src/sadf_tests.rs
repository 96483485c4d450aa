use crate::detect::read_text;
use crate::testing::{in_format, series, times, warns};
use crate::{FileOptions, Format};
use facts::series::{Better, Dating};
use proptest::prelude::*;

const SADF: &str = include_str!("../tests/data/sadf.json");

fn options() -> FileOptions {
    in_format(Format::Sadf)
}

#[test]
fn every_number_is_a_series_with_its_labels() {
    let reading = read_text(SADF, &FileOptions::default()).unwrap();
    // Processors 6, disk 13, network 8, pressure 4 + 8 + 8.
    assert_eq!(reading.series.len(), 6 + 13 + 8 + 20);
    let wait = series(&reading, "disk vda await");
    assert_eq!(wait.values, [0.0, 0.0, 3.81, 0.0]);
    let times = times(wait);
    assert_eq!(times[0], "2026-11-22T01:42:44Z");
    assert_eq!(times[3], "2026-11-22T01:42:48Z");
    assert_eq!(wait.unit.as_deref(), Some("ms"));
    assert_eq!(wait.better, Some(Better::Lower));
    assert_eq!(wait.labels["device"], "vda");
    assert_eq!(wait.labels["host"], "vm");
    assert_eq!(wait.labels["metric"], "disk.await");
    assert_eq!(
        series(&reading, "cpu-load all iowait").better,
        Some(Better::Lower)
    );
    assert_eq!(
        series(&reading, "cpu-load all user").values,
        [100.0, 95.5, 98.51, 99.5]
    );
    assert_eq!(
        series(&reading, "net-dev eth0 rxkB").labels["interface"],
        "eth0"
    );
    assert_eq!(
        series(&reading, "psi-cpu some_avg10").values[..2],
        [46.52, 46.52]
    );
    assert_eq!(
        reading.warnings,
        ["vm was restarted at 2026-11-22 01:42:45 UTC"]
    );
}

#[test]
fn local_times_are_noted() {
    let text = include_str!("../tests/data/sadf-local.json");
    let mut zoned = options();
    zoned.times.zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let reading = read_text(text, &zoned).unwrap();
    let one = series(&reading, "io-writes bwrtn");
    assert_eq!(times(one)[0], "2026-11-22T00:42:44Z");
    assert!(warns(&reading, |text| text.contains("the file's zone: UTC")));
}

#[test]
fn errors_name_their_line() {
    let error = |text: &str| read_text(text, &options()).unwrap_err().to_string();
    assert_eq!(
        error(&SADF.replacen("\"01:42:47\"", "\"soon\"", 1)),
        "f:69: expected a timestamp with date and time in the record that ends here, as sadf -j \
         writes it; of iostat, one whose day and month can be told apart (S_TIME_FORMAT=ISO), found \"{\\\"date\\\":\\\"2026-11-22\\\",\\\"interval\\\":1,\\\"time\\\":\\\"soon\\\",\\\"utc\\\":1}\""
    );
    assert!(error(&SADF.replacen("\"iowait\": 0.00", "\"iowait\": x", 1)).starts_with("f:16:"));
    assert!(error(&SADF[..SADF.len() / 2]).contains("expected JSON"));
    assert_eq!(
        error("{\"sysstat\": {\"hosts\": 7}}"),
        "f:1:24: expected JSON, found \"invalid type: integer `7`, expected a list of hosts\""
    );
    assert_eq!(error("{\"sysstat\": {}}"), "f: it holds no statistics");
    // iostat's first record is about the time since boot.
    let iostat = |records: &str| {
        format!("{{\"sysstat\": {{\"hosts\": [{{\"statistics\": [{records}]}}]}}}}")
    };
    let record = "{\"avg-cpu\": {\"user\": 1}}";
    assert!(error(&iostat(record)).contains("one report only, about the time since boot"));
    let reading = read_text(&iostat(&[record; 3].join(",")), &options()).unwrap();
    assert_eq!(reading.series[0].values, [1.0, 1.0]);
    assert_eq!(reading.series[0].dating, Dating::Undated);
    assert!(warns(&reading, |text| text.starts_with("1 first record left out")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn corrupt_documents_parse_or_fail(at in 0..SADF.len(), byte in 0_u8..128) {
        let mut bytes = SADF.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = crate::read_bytes("f", &bytes[..], &options());
        let _ = crate::read_bytes("f", &bytes[..at], &options());
    }
}
