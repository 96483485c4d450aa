//! Results of other tools, as they lie in files.

use bench::compare::{
    CompareError, MetricKey, Observations, Options, Place, Rank, Trial, TrialSet, Verdict, compare,
};
use bench::results::{Format, ResultsError, read_bytes, read_path, read_race};
use facts::series::Better;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn read(name: &str) -> Vec<Trial> {
    let reading = read_path(&data(name)).unwrap();
    assert!(reading.skipped.is_empty());
    reading.trials
}

fn scalar(trial: &Trial, operation: &str, metric: &str) -> f64 {
    let key = MetricKey::new(operation, metric);
    match &trial.metrics[&key].observations {
        Observations::Scalar(value) => *value,
        other => panic!("{other:?}"),
    }
}

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-12, "{value} {expected}");
}

#[test]
fn a_race_of_rally() {
    let trial = read("rally-race.json").remove(0);
    assert_eq!(
        trial.id.as_deref(),
        Some("7879e8e2-f598-445a-a7a7-dc448ffd8a2b")
    );
    // 2026-11-21T03:08:05Z.
    assert_eq!(trial.started_us, Some(1_795_230_485_000_000));
    assert_eq!(trial.environment["cluster.distribution-version"], "6.8.23");
    assert_eq!(trial.environment["rally-version"], "2.13.0");
    assert_eq!(trial.environment["car"], "external");
    near(
        scalar(&trial, "root-8", "latency p99.99"),
        200.811_087_330_599_97,
    );
    near(
        scalar(&trial, "root", "throughput mean"),
        2_016.578_957_569_390_7,
    );
    near(
        scalar(&trial, "daily-avg", "processing time mean"),
        13.609_972_625_000_001,
    );
    near(scalar(&trial, "servers", "refresh count"), 100.0);
    let metric = &trial.metrics[&MetricKey::new("root", "latency p99")];
    assert_eq!(
        (metric.unit.as_deref(), metric.better, metric.rank),
        (Some("ms"), Better::Lower, Rank::Primary)
    );
    assert!(trial.notes.is_empty());
}

#[test]
fn a_race_on_two_clusters() {
    let trial = read("rally-race-multi-cluster.json").remove(0);
    near(scalar(&trial, "default: term", "throughput mean"), 100.0);
    near(scalar(&trial, "remote: term", "throughput mean"), 50.0);
    near(scalar(&trial, "remote: servers", "store size"), 1_048_576.0);
    for (key, value) in [
        ("track-params.number_of_replicas", "1"),
        ("car-params.heap_size", "4g"),
        ("user-tags.commit", "cfe3585"),
        ("track-revision", "b8c9d1e"),
        ("challenge", "append-no-conflicts"),
    ] {
        assert_eq!(trial.environment[key], value);
    }
}

#[test]
fn a_race_is_written_as_it_was_read() {
    for name in ["rally-race.json", "rally-race-multi-cluster.json"] {
        let text = fs::read(data(name)).unwrap();
        let race = read_race(name, &text).unwrap();
        let mut written = Vec::new();
        race.write(&mut written).unwrap();
        assert_eq!(read_race(name, &written).unwrap(), race, "{name}");
        // Every key that Rally's `Race.from_dict` and `GlobalStats` ask for is there, and the tasks are the same.
        let (old, new): (Value, Value) = (
            serde_json::from_slice(&text).unwrap(),
            serde_json::from_slice(&written).unwrap(),
        );
        for key in [
            "rally-version",
            "environment",
            "race-id",
            "race-timestamp",
            "pipeline",
            "track",
            "car",
            "challenge",
        ] {
            assert_eq!(old.get(key), new.get(key), "{name}: {key}");
        }
        assert_eq!(old["cluster"], new["cluster"]);
        let tasks = |race: &Value| {
            let results = &race["results"];
            let clusters = results
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![results.clone()]);
            let mut tasks: Vec<Value> = clusters
                .iter()
                .flat_map(|cluster| cluster["op_metrics"].as_array().unwrap().clone())
                .collect();
            for task in &mut tasks {
                task.as_object_mut().unwrap().remove("meta");
            }
            tasks
        };
        assert_eq!(tasks(&old), tasks(&new), "{name}");
    }
}

#[test]
fn runs_of_opensearch_benchmark() {
    for (name, version, id) in [
        (
            "osb-test-run.json",
            "2.4.0",
            "0d3b7b26-5b38-4b57-a1c6-7a4f7b1c9a10",
        ),
        (
            "osb-test-execution.json",
            "1.1.0",
            "8c43ee4c-cb34-494b-81b2-181be244f832",
        ),
    ] {
        let reading = read_path(&data(name)).unwrap();
        assert!(reading.formats.contains(&Format::OpenSearchBenchmark));
        let trial = &reading.trials[0];
        assert_eq!(trial.id.as_deref(), Some(id));
        assert_eq!(trial.environment["benchmark-version"], version);
        assert_eq!(trial.environment["test_procedure"], "append-no-conflicts");
        near(scalar(trial, "index-append", "throughput mean"), 41_250.5);
        near(scalar(trial, "term", "latency p99"), 9.25);
        near(scalar(trial, "servers", "store size"), 2_147_483_648.0);
        assert!(
            !trial
                .metrics
                .contains_key(&MetricKey::new("refresh", "latency mean"))
        );
        assert_eq!(trial.notes.len(), 1, "{:?}", trial.notes);
        assert!(trial.notes[0].starts_with("12.5 % of the requests of term failed"));
    }
    let trial = read("osb-test-run.json").remove(0);
    assert_eq!(trial.environment["workload-params.bulk_size"], "5000");
    assert_eq!(trial.environment["cluster-config-instance"], "external");
    near(scalar(&trial, "term", "client processing time p99"), 7.75);
}

#[test]
fn exports_of_hyperfine() {
    let trials = read("hyperfine-one.json");
    assert_eq!(trials.len(), 1);
    assert_eq!(trials[0].environment["command"], "grep -c x /etc/services");
    let key = MetricKey::new("command", "time mean");
    let Observations::Values(values) = &trials[0].metrics[&key].observations else {
        panic!();
    };
    assert_eq!(values.len(), 6);
    near(
        scalar(&trials[0], "command", "time median"),
        0.001_695_757_96,
    );

    let trials = read("hyperfine-two.json");
    assert_eq!(trials.len(), 1);
    assert_eq!(
        trials[0].notes[0],
        "3 runs of seq 10 x ended with an exit code other than 0 (1)"
    );
}

#[test]
fn results_of_oha() {
    let trial = read("oha.json").remove(0);
    near(scalar(&trial, "requests", "throughput mean"), 8_032.25);
    near(scalar(&trial, "requests", "latency p99.9"), 0.0155);
    assert_eq!(trial.notes, ["25 requests were answered with status 503"]);
}

/// Writes races that differ by a factor, and a file that is no result.
fn folder(of: &Path, name: &str, factor: f64, count: u32) -> PathBuf {
    let race = fs::read(data("rally-race.json")).unwrap();
    let mut race: Value = serde_json::from_slice(&race).unwrap();
    let top = of.join(name);
    for run in 0..count {
        let jitter = 1.0 + f64::from(run % 3) / 1_000.0;
        let id = format!("{name}-{run}");
        race["race-id"] = Value::from(id.clone());
        race["race-timestamp"] = Value::from(format!("20261121T03{run:02}00Z"));
        race["cluster"]["distribution-version"] =
            Value::from(if factor < 1.0 { "6.8.1" } else { "6.8.23" });
        for task in race["results"]["op_metrics"].as_array_mut().unwrap() {
            task["throughput"]["mean"] = Value::from(1_000.0 * factor * jitter);
        }
        let folder = top.join("races").join(id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("race.json"), race.to_string()).unwrap();
    }
    fs::write(top.join("other.json"), "{\"logging\": {}}").unwrap();
    fs::write(top.join("notes.txt"), "no results").unwrap();
    top
}

#[test]
fn folders_of_races_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let sets: Vec<TrialSet> = [("old", 1.0), ("new", 0.9)]
        .into_iter()
        .map(|(name, factor)| {
            let path = folder(dir.path(), name, factor, 5);
            let reading = read_path(&path).unwrap();
            assert_eq!(reading.trials.len(), 5);
            assert_eq!(reading.skipped.len(), 1);
            assert!(
                reading.skipped[0].why.contains("an object with logging"),
                "{:?}",
                reading.skipped
            );
            TrialSet {
                name: name.to_owned(),
                trials: reading.trials,
            }
        })
        .collect();
    let report = compare(&sets, &Options::default()).unwrap();
    let found = report
        .comparisons
        .iter()
        .find(|found| found.operation == "root" && found.metric == "throughput mean")
        .unwrap();
    assert!((found.ratio - 0.9).abs() < 1e-3);
    assert!(matches!(found.verdict, Verdict::Differs { .. }));
    let worse: Vec<&str> = report
        .regressions(0.05)
        .map(|found| found.metric.as_str())
        .collect();
    assert_eq!(worse, ["throughput mean"; 3]);
    assert_eq!(report.regressions(0.2).count(), 0);
    let different: Vec<(&str, Place)> = report
        .environment
        .iter()
        .map(|difference| (difference.key.as_str(), difference.place))
        .collect();
    assert_eq!(
        different,
        [("cluster.distribution-version", Place::Between)]
    );
}

#[test]
fn a_race_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json"] {
        fs::copy(data("rally-race.json"), dir.path().join(name)).unwrap();
    }
    let trials = read_path(dir.path()).unwrap().trials;
    let sets = ["a", "b"].map(|name| TrialSet {
        name: name.to_owned(),
        trials: trials.clone(),
    });
    assert!(matches!(
        compare(&sets, &Options::default()),
        Err(CompareError::SameTrial { .. })
    ));
}

#[test]
fn what_is_no_result_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &[u8]| -> String {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        let error = read_path(&path).unwrap_err().to_string();
        error.replace(&format!("{}/", dir.path().display()), "")
    };
    let formats = "race.json of Rally, test_run.json or test_execution.json of OpenSearch Benchmark, or the JSON \
                   of hyperfine (--export-json) or oha (--output-format json)";
    assert_eq!(
        read("a.json", b"{\"x\": 1, \"y\": 2}"),
        format!("a.json: expected {formats}, found \"an object with x, y\"")
    );
    assert_eq!(
        read("b\u{202e}.json", b"[1]"),
        format!("b\\u{{202e}}.json: expected {formats}, found \"JSON that is no object\"")
    );
    assert_eq!(
        read("c.json", b"{\"x\": \n tru}"),
        "c.json:2:5: expected JSON, found \"text that is not JSON\""
    );
    assert_eq!(
        read("cut.json", b"{\"x\": [1,"),
        "cut.json:1:9: expected JSON, found \"the end of the file\""
    );
    assert_eq!(
        read(
            "d.json",
            b"{\"race-timestamp\": \"yesterday\", \"race-id\": \"1\"}"
        ),
        "d.json: expected a time such as 20161003T013000Z at race-timestamp, found \"yesterday\""
    );
    assert!(
        read(
            "e.json",
            b"{\"race-timestamp\": \"20161003T013000Z\", \"race-id\": \"1\"}"
        )
        .contains("the race has no results: it was not finished")
    );
    let deep = [b"{\"x\":".repeat(200_000), b"1".to_vec()].concat();
    // Levels of five characters: the 128th begins at 636.
    assert_eq!(
        read("f.json", &deep),
        "f.json:1:636: expected JSON, found \"more than 128 levels\""
    );
    let long = [
        b"{\"x\": \"".to_vec(),
        vec![b'a'; 17 << 20],
        b"\"}".to_vec(),
    ]
    .concat();
    assert_eq!(
        read("g.json", &long),
        "g.json: expected results of 16 MiB at most, found \"a longer file\""
    );
    let empty = tempfile::tempdir().unwrap();
    let error = read_path(empty.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Empty { .. }));
    let missing = read_path(&empty.path().join("x")).unwrap_err();
    assert!(matches!(missing, ResultsError::File { .. }));
}

mod hostile {
    use super::*;
    use proptest::prelude::*;

    const SAMPLES: [&str; 6] = [
        "rally-race.json",
        "rally-race-multi-cluster.json",
        "osb-test-run.json",
        "osb-test-execution.json",
        "hyperfine-two.json",
        "oha.json",
    ];

    /// Replaces the value at the `index`th place of a document.
    fn replace(value: &mut Value, index: &mut usize, by: &Value) -> bool {
        if *index == 0 {
            *value = by.clone();
            return true;
        }
        *index -= 1;
        match value {
            Value::Array(values) => values.iter_mut().any(|value| replace(value, index, by)),
            Value::Object(values) => values
                .iter_mut()
                .any(|(_, value)| replace(value, index, by)),
            _ => false,
        }
    }

    fn odd() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(Value::from(-1)),
            Just(Value::from(1e308)),
            Just(Value::from(5e-324)),
            Just(Value::from("\u{1b}[31m\u{202e}")),
            Just(serde_json::json!([[[1]]])),
            Just(serde_json::json!({"50_0": 1, "x": {}})),
            Just(serde_json::json!([])),
            Just(serde_json::json!({})),
            Just(Value::from(true)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Any value in any place gives trials that can be compared, or an error without control characters.
        #[test]
        fn odd_values_neither_panic_nor_control_the_terminal(
            sample in 0..SAMPLES.len(), places in prop::collection::vec((0_usize..400, odd()), 1..4),
        ) {
            let text = fs::read(data(SAMPLES[sample])).unwrap();
            let mut document: Value = serde_json::from_slice(&text).unwrap();
            for (index, by) in &places {
                replace(&mut document, &mut index.clone(), by);
            }
            match read_bytes("x\u{1b}", document.to_string().as_bytes()) {
                Ok((_, trial)) => {
                    let original = read_bytes("y", &text).unwrap().1;
                    let set = |name: &str, id: &str, trial: Trial| TrialSet {
                        name: name.to_owned(),
                        trials: (0..3).map(|index| Trial {
                            id: Some(format!("{id}{index}")),
                            ..trial.clone()
                        }).collect(),
                    };
                    let outcome = compare(&[set("a", "a", original), set("b", "b", trial)], &Options::default());
                    let texts: Vec<String> = match &outcome {
                        Ok(report) => report.notes.iter().cloned().chain(report.skipped.iter().map(|skipped| skipped.reason.clone())).collect(),
                        Err(error) => vec![error.to_string()],
                    };
                    for text in texts {
                        prop_assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
                    }
                    if let Ok(report) = outcome {
                        for found in &report.comparisons {
                            prop_assert!(found.ratio.is_finite() && found.interval.low.is_finite() && found.interval.high.is_finite(), "{found:?}");
                            prop_assert!((0.0..=1.0).contains(&found.p), "{found:?}");
                        }
                    }
                }
                Err(error) => prop_assert!(!error.to_string().contains(['\u{1b}', '\u{202e}']), "{error}"),
            }
        }

        #[test]
        fn cut_files_are_errors_or_results(sample in 0..SAMPLES.len(), share in 0.0_f64..1.0) {
            let text = fs::read(data(SAMPLES[sample])).unwrap();
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "an index")]
            let end = (text.len() as f64 * share) as usize;
            prop_assert!(read_bytes("x", &text[..end]).is_err() || text[end..].trim_ascii().is_empty());
        }
    }
}
