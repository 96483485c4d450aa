use super::*;
use crate::Format;
use crate::detect::{read_path, read_text};
use crate::testing::in_format;
use facts::series::Better;
use proptest::prelude::*;

const RACE: &str = include_str!("../tests/data/rally-race.json");

fn race_at(time: &str, throughput: f64) -> String {
    RACE.replace("20261121T030805Z", time)
        .replace("2016.5789575693907", &throughput.to_string())
}

fn options() -> FileOptions {
    in_format(Format::RallyRace)
}

#[test]
fn a_race_has_a_sample_per_metric() {
    let reading = read_text(RACE, &FileOptions::default()).unwrap();
    // Three tasks with two throughput values, the error rate and the duration each; and for the three
    // metrics with percentiles, the mean and 3, 5 and 6 percentiles.
    assert_eq!(reading.series.len(), 3 * 4 + 3 * (4 + 6 + 7));
    let find = |name: &str| {
        let found = reading.series.iter().find(|one| one.name == name);
        found.unwrap_or_else(|| panic!("{name}"))
    };
    let throughput = find("root throughput mean");
    assert_eq!(throughput.values, [2_016.578_957_569_390_7]);
    assert_eq!(throughput.unit.as_deref(), Some("ops/s"));
    assert_eq!(throughput.better, Some(Better::Higher));
    assert_eq!(throughput.labels["task"], "root");
    assert_eq!(throughput.labels["track"], "track");
    assert_eq!(throughput.labels["car"], "external");
    let at: jiff::Timestamp = "2026-11-21T03:08:05Z".parse().unwrap();
    assert_eq!(throughput.times_us, [at.as_microsecond()]);
    let slowest = find("root-8 latency p99.99");
    // The JSON parser may be off by the last bit.
    assert!((slowest.values[0] / 200.811_087_330_599_97 - 1.0).abs() < 1e-15);
    assert_eq!(slowest.better, Some(Better::Lower));
    assert_eq!(slowest.unit.as_deref(), Some("ms"));
    assert_eq!(find("daily-avg service_time p100").values, [42.998_712]);
    assert_eq!(find("root error_rate").better, Some(Better::Lower));
    assert_eq!(find("root duration").values, [791.747_842]);
}

#[test]
fn a_directory_of_races_is_a_history() {
    let directory = tempfile::tempdir().unwrap();
    let write = |id: &str, text: &str| {
        let path = directory.path().join("races").join(id);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("race.json"), text).unwrap();
    };
    write("b", &race_at("20261120T030805Z", 1990.5));
    write("a", &race_at("20261121T030805Z", 1980.25));
    write(
        "c",
        &race_at("20261119T030805Z", 2000.0).replace("\"results\": {", "\"unused\": {"),
    );
    write("d", "{\n \"race-timestamp\": \n");
    write("e", &race_at("yesterday", 1.0));
    write(
        "f",
        &RACE.replace("\"track\": \"track\"", "\"track\": \"other\""),
    );
    fs::write(directory.path().join("races/a/rally.log"), "x").unwrap();
    let reading = read_path(directory.path(), &FileOptions::default()).unwrap();
    let curves: Vec<_> = reading
        .series
        .iter()
        .filter(|one| one.name.starts_with("root throughput mean"))
        .collect();
    // The other track is a separate curve.
    assert_eq!(curves.len(), 2);
    assert_eq!(curves[0].name, "root throughput mean track");
    assert_eq!(curves[0].values, [1990.5, 1980.25]);
    assert_eq!(curves[0].notes, ["1 sample out of order: sorted"]);
    assert_eq!(curves[1].name, "root throughput mean other");
    let why: Vec<&str> = reading.skipped.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(why[0], "the race has no results: it was not finished");
    assert!(
        why[1].contains("races/d/race.json:3:0: expected JSON"),
        "{}",
        why[1]
    );
    assert!(
        why[2].ends_with(
            "races/e/race.json:6: expected a race-timestamp like 20161003T013000Z, found \
             \"\\\"yesterday\\\"\""
        ),
        "{}",
        why[2]
    );
}

#[test]
fn invalid_races_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let error = read_path(directory.path(), &FileOptions::default()).unwrap_err();
    for words in [
        "no race.json of Rally",
        "MongoDB's diagnostic data (metrics.*)",
    ] {
        assert!(error.to_string().contains(words), "{error}");
    }
    fs::write(directory.path().join("x.json"), "{").unwrap();
    let error = read_path(directory.path(), &FileOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("x.json:1:1: expected JSON"),
        "{error}"
    );
    let error = read_text("{}", &options()).unwrap_err();
    assert!(error.to_string().contains("it is no race"), "{error}");
    let empty = RACE.replace("\"op_metrics\": [", "\"op_metrics\": null, \"x\": [");
    let error = read_text(&empty, &options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f: the race has no results: it was not finished"
    );
}

#[test]
fn null_values_are_skipped() {
    let text = RACE.replace("2016.5789575693907", "null");
    let reading = read_text(&text, &FileOptions::default()).unwrap();
    assert!(
        !reading
            .series
            .iter()
            .any(|one| one.name == "root throughput mean")
    );
    assert!(
        reading
            .series
            .iter()
            .any(|one| one.name == "root-8 throughput mean")
    );
}

#[test]
fn percentiles_have_names() {
    for (key, name) in [
        ("50_0", "p50"),
        ("99_9", "p99.9"),
        ("100_0", "p100"),
        ("99", "p99"),
    ] {
        assert_eq!(percentile(key), name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn corrupt_races_parse_or_fail(at in 0..RACE.len(), byte: u8) {
        let mut bytes = RACE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = read_file("f", &bytes[..], &options());
        let _ = read_file("f", &bytes[..at], &options());
    }
}

#[test]
fn runs_of_opensearch_benchmark_are_races() {
    for (name, time) in [
        ("test_run.json", "test-run-timestamp"),
        ("test_execution.json", "test-execution-timestamp"),
    ] {
        let race = format!(
            r#"{{"{time}":"20230810T212711Z","workload":"geonames","test_procedure":"append",
            "results":{{"op_metrics":[{{"task":"term","throughput":{{"mean":50.0,"unit":"ops/s"}}}}]}}}}"#
        );
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("1");
        std::fs::create_dir(&below).unwrap();
        std::fs::write(below.join(name), &race).unwrap();
        for path in [directory.path().to_path_buf(), below.join(name)] {
            let reading = crate::read_path(&path, &FileOptions::default()).unwrap();
            assert_eq!(reading.series[0].name, "term throughput mean", "{name}");
            assert_eq!(reading.series[0].labels["workload"], "geonames");
            assert_eq!(reading.series[0].times_us, [1_691_702_831_000_000]);
        }
    }
}

#[test]
fn a_summary_of_a_race_names_the_race() {
    for text in [
        "|   Metric |   Task |   Value |   Unit |\n|---:|---:|---:|---:|\n| Median cumulative | | 1 | min |\n",
        "Metric,Task,Value,Unit\nMean Throughput,term,50,ops/s\n",
    ] {
        let error = crate::read_bytes("x.csv", text.as_bytes(), &FileOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("race.json") && error.contains("~/.rally"),
            "{error}"
        );
    }
}

#[test]
fn of_a_directory_in_which_nothing_is_understood_the_first_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let read = || {
        crate::read_path(directory.path(), &FileOptions::default())
            .unwrap_err()
            .to_string()
    };
    assert!(read().contains("it is empty"), "{}", read());
    for name in ["b.txt", "a.log", "c", "d"] {
        std::fs::write(directory.path().join(name), "x").unwrap();
    }
    assert!(read().contains("a.log, b.txt, c"), "{}", read());
    for name in ["1.json", "2.json"] {
        std::fs::write(directory.path().join(name), "{}").unwrap();
    }
    assert!(
        read().contains("none of its 2 files was understood: 1.json"),
        "{}",
        read()
    );
}
