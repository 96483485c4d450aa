//! `trimtab shards cost`.

use super::{assert_fits_80_columns, document, shards, single_line};
use crate::support::{stderr, stdout};
use serde_json::{Value, json};

#[test]
fn cost_reports_reroutes_and_times() {
    let args = [
        "cost",
        "--shards",
        "50000",
        "--nodes",
        "12",
        "--closed",
        "90%",
        "--version",
        "7.4.0",
        "--primaries",
        "5",
    ];
    let answer = document(&args, 0);
    assert_eq!(answer["schema"], "trimtab.shards/1");
    let result = &answer["result"];
    assert_eq!(result["kind"], "cost");
    assert_eq!(
        (&result["closed_shards"], &result["routed_shards"]),
        (&json!(45_000), &json!(50_000))
    );
    // 5 primaries and 5 replicas on 12 nodes: one reroute in the task, one after all primaries have
    // started, one after all replicas have; at most one for each of the ten.
    let create = &result["operations"][0];
    assert_eq!(create["operation"], "create");
    assert_eq!(
        (&create["least"]["reroutes"], &create["most"]["reroutes"]),
        (&json!(3), &json!(11))
    );
    assert!(create["least"]["ms"].as_f64() < create["most"]["ms"].as_f64());
    // Before 7.2, nine tenths of the shards are not in the routing table; from 7.6 on nothing is
    // scanned.
    let versions = result["versions"].as_array().unwrap();
    let ms = |versions: &[Value], name: &str| {
        let row = versions.iter().find(|row| row["versions"] == name);
        row.unwrap_or_else(|| panic!("{name}"))["reroute_ms"]
            .as_f64()
            .unwrap()
    };
    assert!(ms(versions, "7.0 to 7.1") < ms(versions, "7.4 to 7.5") / 3.0);
    assert!(ms(versions, "7.17 and later") < ms(versions, "7.4 to 7.5") / 3.0);
    // One row is the requested version, with the time of the answer.
    let asked: Vec<&Value> = versions.iter().filter(|row| row["asked"] == true).collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["reroute_ms"], result["reroute"]["ms"]);

    // Without --indices, ten copies per index are assumed. Without relocations the scan is skipped.
    assert_eq!(result["indices"], 5_000);
    let without = result["without_relocations"]["reroute_ms"]
        .as_f64()
        .unwrap();
    assert!(without < asked[0]["reroute_ms"].as_f64().unwrap() / 3.0);
    for row in result["operations"].as_array().unwrap() {
        let factor = row["held_back_factor"].as_f64().unwrap();
        assert!((1.0..3.0).contains(&factor), "{row}");
    }

    let output = shards(&args);
    let text = stdout(&output);
    assert_fits_80_columns(&text);
    assert!(
        text.starts_with("Extrapolated, and perhaps far off: no more than 25,000 shards"),
        "{text}"
    );
    for part in [
        "A reroute takes the master about ",
        "Elasticsearch 7.4.0: 50,000 shards, 45,000 of them in closed indices, in 5,000 indices on 12 data nodes",
        "include_relocations: false",
        "closed indices stay in the routing table",
        "create an index",
        "3 to 11",
        "7.4 to 7.5 (this)",
    ] {
        assert!(
            single_line(&text).contains(part),
            "{part:?} is not in:\n{text}"
        );
    }
}

#[test]
fn cost_refuses_invalid_arguments() {
    for (args, expected) in [
        (
            &["--shards", "5", "--nodes", "2", "--version", "5.6.16"][..],
            "5.6.16 is not modelled",
        ),
        (
            &["--shards", "5", "--nodes", "2", "--version", "seven"],
            "expected a version",
        ),
        (
            &["--shards", "5", "--nodes", "2", "--closed", "90"],
            "write 90 % as 90%",
        ),
        (&["--shards", "0", "--nodes", "2"], "--shards"),
        (&["--shards", "5", "--nodes", "0"], "--nodes"),
    ] {
        let mut all = vec!["cost"];
        all.extend(args);
        let output = shards(&all);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(expected),
            "{expected:?}: {}",
            stderr(&output)
        );
    }
    // A version modelled as another one is reported.
    let extrapolated = document(
        &[
            "cost",
            "--shards",
            "5000",
            "--nodes",
            "3",
            "--version",
            "opensearch-2.19.1",
        ],
        0,
    );
    let warnings = extrapolated["warnings"].to_string();
    assert!(
        warnings.contains("OpenSearch 2.19.1 was not measured"),
        "{warnings}"
    );
    let desired = document(
        &[
            "cost",
            "--shards",
            "5000",
            "--nodes",
            "3",
            "--version",
            "8.11.0",
        ],
        0,
    );
    assert!(desired["warnings"].to_string().contains("desired balance"));
}

#[test]
fn without_a_scan_the_setting_saves_nothing() {
    let result = |more: &[&str]| {
        let mut args = vec!["cost", "--shards", "20000", "--indices", "150"];
        args.extend(more);
        document(&args, 0)["result"].take()
    };
    for args in [
        &["--nodes", "4", "--version", "7.17.28"][..],
        &["--nodes", "1", "--version", "7.4.0"],
        &[
            "--nodes",
            "4",
            "--version",
            "7.4.0",
            "--without-relocations",
        ],
    ] {
        let result = result(args);
        assert_eq!(result["without_relocations"], Value::Null, "{args:?}");
        assert_eq!(result["indices"], 150);
    }
    // The setting saves what the answer predicts.
    let old = ["--nodes", "4", "--version", "7.4.0"];
    let scanned = result(&old);
    let unscanned = result(&[&old[..], &["--without-relocations"]].concat());
    assert_eq!(
        scanned["without_relocations"]["reroute_ms"],
        unscanned["reroute"]["ms"]
    );
}

#[test]
fn counts_accept_suffixes_and_separators() {
    let result = |shards: &str| {
        let args = ["cost", "--shards", shards, "--nodes", "2"];
        document(&args, 0)["result"].take()
    };
    assert_eq!(result("25k")["shards"], 25_000);
    assert_eq!(result("25,000"), result("25k"));
    assert_eq!(result("1M")["shards"], 1_000_000);
}

#[test]
fn the_output_format_follows_the_file_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cost.html");
    let file = path.to_str().unwrap();
    let args = ["cost", "--shards", "25k", "--nodes", "2", "-o", file];
    let output = shards(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(&path).unwrap();
    for part in ["<!doctype html>", "A reroute takes the master", "<svg"] {
        assert!(page.contains(part), "{part:?}");
    }
}

#[test]
fn without_a_version_all_versions_are_compared() {
    let args = ["cost", "--shards", "20000", "--nodes", "4"];
    let result = document(&args, 0)["result"].take();
    assert_eq!(
        (&result["server"], &result["reroute"]),
        (&Value::Null, &Value::Null)
    );
    let versions = result["versions"].as_array().unwrap();
    assert!(versions.iter().all(|row| row["asked"] == false));
    // The default index of each version, as in `check`.
    assert_eq!(versions[0]["primaries"], 5);
    assert_eq!(versions[5]["primaries"], 1);
    let text = single_line(&stdout(&shards(&args)));
    assert!(text.contains("choose one with --version"), "{text}");
}

#[test]
fn the_size_can_be_read_from_a_state() {
    let files = super::files(&super::state(), 40);
    let args = with_state(&files, &["--version", "7.4.0"]);
    let result = document(&args, 0)["result"].take();
    assert_eq!(
        (&result["shards"], &result["data_nodes"]),
        (&json!(7), &json!(3))
    );
    assert_eq!(result["server"], "Elasticsearch 7.4.0");
    assert!(result["uneven_factor"].as_f64().unwrap() > 1.0, "{result}");
    // The state does not tell its version.
    let result = document(&with_state(&files, &[]), 0)["result"].take();
    assert_eq!(result["server"], Value::Null);
    let output = shards(&with_state(&files, &["--shards", "5"]));
    assert!(
        stderr(&output).contains("cannot be used with"),
        "{}",
        stderr(&output)
    );
}

fn with_state<'a>(files: &'a super::Files, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["cost", "--state", &files.state];
    args.extend(more);
    args
}
