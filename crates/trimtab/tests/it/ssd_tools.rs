//! `trimtab ssd sweep`, `replay`, `example` and `calibrate`.

use crate::ssd::{amplification, assert_fits_80_columns, file, json, number, ssd};
use crate::support::{stderr, stdout, trimtab};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_sweep_is_a_table() {
    let args = [
        "sweep",
        "--logical-pages",
        "64Ki",
        "--pages-per-block",
        "32",
        "--op",
        "15%,25%,28%",
        "--policy",
        "greedy,fifo",
    ];
    let text = stdout(&ssd(&args));
    assert_fits_80_columns(&text);
    insta::with_settings!({snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("ssd-sweep.text", text);
    });
    let document = json(&ssd(
        &[&args[..], &["--format", "json", "--jobs", "1"]].concat()
    ));
    let rows = document["result"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!(
        (rows[0]["policy"].as_str(), rows[1]["policy"].as_str()),
        (Some("greedy"), Some("fifo"))
    );
    // Equal to a single run with the same settings.
    let single = json(&ssd(&[
        "run",
        "--logical-pages",
        "64Ki",
        "--pages-per-block",
        "32",
        "--op",
        "25%",
        "--policy",
        "fifo",
        "--format",
        "json",
    ]));
    assert_eq!(
        rows[3]["write_amplification"],
        single["result"]["write_amplification"]
    );
    let csv = stdout(&ssd(&[&args[..], &["--format", "csv"]].concat()));
    assert_eq!(csv.lines().count(), 7);
}

#[test]
fn a_sweep_over_schedules() {
    let args = [
        "sweep",
        "--capacity",
        "1TB",
        "--writes-per-day",
        "250GB",
        "--op",
        "7%,28%",
        "--fill",
        "50%,80%",
        "--trim",
        "weekly,Sun 06:47,daily",
        "--simulated-pages",
        "32Ki",
        "--days",
        "14",
    ];
    let document = json(&ssd(&[&args[..], &["--format", "json"]].concat()));
    let rows = document["result"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    let of = |row: usize| number(&rows[row]["write_amplification"]);
    // `weekly` means Sunday morning.
    assert!((of(0) - of(1)).abs() < 1e-12);
    // A higher fill is worse, at 7 % spare and weekly trims.
    assert!(of(3) > of(0), "{} {}", of(3), of(0));
    let text = ssd(&args);
    assert_fits_80_columns(&stdout(&text));
    // A combination that cannot be simulated is named, and the exit code is 1.
    let output = ssd(&[
        "sweep",
        "--capacity",
        "1TB",
        "--writes-per-day",
        "250GB",
        "--fill",
        "50%,99.5%",
        "--simulated-pages",
        "32Ki",
        "--days",
        "7",
        "--workload",
        "lsm",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let text = stdout(&output);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("lower the fill"), "{text}");
}

/// Returns a trace in MSR's format: writes of 64 KiB over 64 MiB, and every tenth request a read.
pub fn msr_trace(requests: u64) -> String {
    let mut text = String::new();
    for index in 0..requests {
        let offset = index * 7_919 % 1024 * 65_536;
        let kind = if index % 10 == 9 { "Read" } else { "Write" };
        let ticks = 128_166_372_003_061_629 + index * 20_000;
        let _ = writeln!(text, "{ticks},usr,0,{kind},{offset},65536,1331");
    }
    text
}

#[test]
fn a_trace_is_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let trace = file(directory.path(), "usr_0.csv", &msr_trace(5000));
    let trace = trace.to_str().unwrap();
    let document = json(&ssd(&["replay", trace, "--format", "json"]));
    let result = &document["result"];
    assert_eq!(
        (
            result["writes"]["requests"].as_u64(),
            result["reads"]["requests"].as_u64()
        ),
        (Some(4500), Some(500))
    );
    assert_eq!(result["writes"]["bytes"], 4500 * 65_536);
    assert_eq!(result["drive"]["capacity_bytes"], 64 << 20);
    assert!(amplification(&document) >= 1.0);
    assert!(number(&result["latency"]["writes"]["p99_us"]) > 0.0);
    let bytes: f64 = result["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| {
            number(&point["write_mb_s"]) * (number(&point["end_s"]) - number(&point["start_s"]))
        })
        .sum();
    assert!(
        (bytes * 1e6 / (4500.0 * 65_536.0) - 1.0).abs() < 1e-6,
        "{bytes}"
    );
    // Two rounds, at a fixed queue depth.
    let twice = json(&ssd(&[
        "replay",
        trace,
        "--rounds",
        "2",
        "--queue-depth",
        "8",
        "--format",
        "json",
    ]));
    assert_eq!(twice["result"]["records"], 10_000);
    let raid = json(&ssd(&[
        "replay", trace, "--drives", "2", "--chunk", "64KiB", "--format", "json",
    ]));
    assert_eq!(
        raid["result"]["counters"]["host_pages"],
        result["counters"]["host_pages"]
    );
    let text = stdout(&ssd(&["replay", trace]));
    assert_fits_80_columns(&text);
    assert!(text.contains("5,000 requests on a 64 MiB drive"), "{text}");
    assert!(stdout(&ssd(&["replay", trace, "--format", "csv"])).starts_with("start_s,"));
}

#[test]
fn a_bad_line_is_reported_or_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = msr_trace(10);
    text.push_str("128166372003061629,usr,0,Wrote,0,4096,1\n");
    text.push_str(&msr_trace(10));
    let trace = file(directory.path(), "bad.csv", &text);
    let trace = trace.to_str().unwrap();
    let output = ssd(&["replay", trace]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("line 11, column 26"),
        "{}",
        stderr(&output)
    );
    let document = json(&ssd(&[
        "replay",
        trace,
        "--skip-bad-lines",
        "5",
        "--format",
        "json",
    ]));
    assert_eq!(document["result"]["lines"]["bad"], 1);
    assert_eq!(document["result"]["records"], 20);
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("line 11"), "{warnings}");
}

#[test]
fn traces_are_read_from_standard_input() {
    let feed = |arguments: &[&str]| {
        let mut child = trimtab()
            .args(["ssd", "replay"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A child that refuses its arguments does not read its input.
        let _ = child
            .stdin
            .take()
            .unwrap()
            .write_all(msr_trace(100).as_bytes());
        child.wait_with_output().unwrap()
    };
    let output = feed(&["-", "--capacity", "100MB", "--format", "json"]);
    assert_eq!(json(&output)["result"]["records"], 100);
    let output = feed(&["-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--capacity"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        feed(&["-", "-", "--capacity", "100MB"]).status.code(),
        Some(2)
    );
}

/// A pipe cannot be read twice, so its capacity must be given, as for standard input.
#[test]
fn a_pipe_is_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("trace");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let name = pipe.to_str().unwrap();
    let output = ssd(&["replay", name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--capacity SIZE"));
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, msr_trace(100)).unwrap())
    };
    let document = json(&ssd(&[
        "replay",
        name,
        "--capacity",
        "64MiB",
        "--format",
        "json",
    ]));
    writer.join().unwrap();
    assert_eq!(document["result"]["writes"]["requests"], 90);
}

/// A request that ends at the last 64-bit address needs a larger drive than can be simulated.
#[test]
fn a_request_at_the_last_64_bit_address() {
    let directory = tempfile::tempdir().unwrap();
    let text = "1,usr,0,Write,0,4096,1\n2,usr,0,Write,18446744073709547519,4096,1\n";
    let trace = file(directory.path(), "usr_0.csv", text);
    let trace = trace.to_str().unwrap();
    let output = ssd(&["replay", trace]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("the trace reaches to byte 18446744073709551615"));
    let document = json(&ssd(&[
        "replay",
        trace,
        "--capacity",
        "64MiB",
        "--format",
        "json",
    ]));
    assert_eq!(document["result"]["writes"]["requests"], 1);
    let warnings = document["warnings"].as_array().unwrap();
    assert!(
        warnings
            .iter()
            .any(|warning| warning.as_str().unwrap().contains("in line 2")),
        "{warnings:?}"
    );
}

#[test]
fn requests_beyond_the_drive() {
    let directory = tempfile::tempdir().unwrap();
    let trace = file(directory.path(), "usr_0.csv", &msr_trace(2000));
    let trace = trace.to_str().unwrap();
    let args = ["replay", trace, "--capacity", "32MiB", "--format", "json"];
    let refused = json(&ssd(&args));
    assert!(
        refused["result"]["out_of_range"]["requests"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert!(refused["warnings"].to_string().contains("beyond the drive"));
    for how in ["wrap", "scale"] {
        let document = json(&ssd(&[&args[..], &["--beyond", how]].concat()));
        assert_eq!(document["result"]["out_of_range"]["requests"], 0, "{how}");
    }
    let output = ssd(&["replay", trace, "--devices", "web_1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("web_1"));
}

#[test]
fn example_five_pages() {
    let text = stdout(&ssd(&["example", "five-pages"]));
    assert_fits_80_columns(&text);
    insta::with_settings!({snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("ssd-five-pages.text", text);
    });
    let document = json(&ssd(&["example", "five-pages", "--format", "json"]));
    let drives = document["result"]["drives"].as_array().unwrap();
    let kib = |drive: usize, field: &str| drives[drive][field].as_u64().unwrap() / 1024;
    assert_eq!(
        (
            kib(0, "stored_bytes"),
            kib(0, "read_bytes"),
            kib(0, "written_bytes")
        ),
        (12, 12, 20)
    );
    assert_eq!((kib(1, "stored_bytes"), kib(1, "read_bytes")), (12, 8));
    assert!(
        stdout(&ssd(&["example", "five-pages", "--format", "csv"]))
            .lines()
            .count()
            > 10
    );
}

#[test]
fn ten_runs_decay_only_without_trims() {
    let document = json(&ssd(&["example", "ten-runs", "--format", "json"]));
    let cases = document["result"]["cases"].as_array().unwrap();
    let last = |case: usize| number(&cases[case]["last_by_first"]);
    assert!(last(0) < 0.9 && last(1) > 0.95, "{} {}", last(0), last(1));
    // A trim that never reaches the drive has no effect.
    assert!((last(0) - last(2)).abs() < 0.02);
    assert!(
        cases
            .iter()
            .all(|case| case["runs"].as_array().unwrap().len() == 10)
    );
    assert_fits_80_columns(&stdout(&ssd(&["example", "ten-runs"])));
}

#[test]
fn example_schedules() {
    let document = json(&ssd(&["example", "schedules", "--format", "json"]));
    let cases = document["result"]["cases"].as_array().unwrap();
    let fall = |case: usize| number(&cases[case]["throughput_fall"]);
    assert_eq!(
        (cases[0]["name"].as_str(), cases[1]["name"].as_str()),
        (Some("weekly"), Some("daily"))
    );
    assert!(fall(0) > 0.4 && fall(1) < 0.3, "{} {}", fall(0), fall(1));
    assert_eq!(cases[2]["throughput_fall"], Value::Null);
    assert_fits_80_columns(&stdout(&ssd(&["example", "schedules"])));
}

/// The fit's closed-form curve recovers the spare area from a simulated decay.
#[test]
fn calibration_recovers_a_simulated_spare_area() {
    let directory = tempfile::tempdir().unwrap();
    let csv = stdout(&ssd(&[
        "run",
        "--logical-pages",
        "256Ki",
        "--pages-per-block",
        "64",
        "--op",
        "15%",
        "--warm-up",
        "0",
        "--passes",
        "4",
        "--format",
        "csv",
    ]));
    // 1 GiB per drive write, at 1 MiB per second.
    let mut series = String::from("time_s,write_amplification\n");
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let drive_writes: f64 = fields[0].parse().unwrap();
        // The value is the mean over the preceding 1/24 of a drive write: use its midpoint.
        let seconds = (drive_writes - 0.5 / 24.0) * 1024.0;
        let _ = writeln!(series, "{seconds},{}", fields[2]);
    }
    let series = file(directory.path(), "decay.csv", &series);
    let args = [
        "calibrate",
        series.to_str().unwrap(),
        "--value",
        "write-amplification",
        "--written-per-second",
        "1MiB",
        "--capacity",
        "1GiB",
        "--pages-per-block",
        "64",
    ];
    let document = json(&ssd(&[&args[..], &["--format", "json"]].concat()));
    let spare = &document["result"]["over_provisioning"];
    assert!((number(&spare["value"]) - 0.15).abs() < 0.01, "{spare}");
    // The fitted curve assumes FIFO, which climbs higher before it settles.
    assert!(number(&document["result"]["r_squared"]) > 0.8);
    let text = stdout(&ssd(&args));
    assert_fits_80_columns(&text);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("explains the series; every fitted value has a 95 % range"),
        "{text}"
    );
    assert!(
        stdout(&ssd(&[&args[..], &["--format", "csv"]].concat()))
            .starts_with("time_s,measured,fitted\n")
    );
}

#[test]
fn a_constant_series_is_a_negative_answer() {
    let directory = tempfile::tempdir().unwrap();
    let flat: String = (0..40).fold(String::new(), |mut text, second| {
        let _ = writeln!(text, "{second},500");
        text
    });
    let series = file(directory.path(), "flat.csv", &flat);
    let output = ssd(&["calibrate", series.to_str().unwrap()]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    assert!(stdout(&output).contains("does not determine"));
}

#[test]
fn help_has_examples() {
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["sweep", "--help"],
        &["replay", "--help"],
        &["calibrate", "--help"],
    ] {
        let output = ssd(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("Examples:"), "{args:?}");
    }
}

#[test]
fn sigint_ends_a_run() {
    let mut child = trimtab()
        .args(["ssd", "run", "--logical-pages", "1M", "--passes", "100000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = (0..600).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        child.try_wait().unwrap()
    });
    let Some(status) = status else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("still running after SIGINT");
    };
    assert_eq!(status.signal(), Some(2), "{status}");
}
