//! `trimtab ssd sweep` and `example`.

use crate::ssd::{assert_fits_80_columns, json, number, ssd};
use crate::support::{stdout, trimtab};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_sweep_is_a_table() {
    let common = [
        "--capacity",
        "1TB",
        "--writes-per-day",
        "250GB",
        "--simulated-pages",
        "32Ki",
        "--days",
        "14",
    ];
    let lists = ["sweep", "--op", "7%,15%,28%", "--trim", "weekly,daily"];
    let args = [&lists[..], &common].concat();
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
        (rows[0]["trim"].as_str(), rows[1]["trim"].as_str()),
        (Some("weekly"), Some("daily"))
    );
    // Equal to a single run with the same settings.
    let one = ["run", "--alone", "--op", "15%", "--trim", "daily"];
    let single = json(&ssd(&[&one[..], &common, &["--format", "json"]].concat()));
    assert_eq!(
        rows[3]["write_amplification"],
        single["result"]["write_amplification"]
    );
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

#[test]
fn help_has_examples() {
    for args in [&["--help"][..], &["run", "--help"], &["sweep", "--help"]] {
        let output = ssd(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("Examples:"), "{args:?}");
    }
}

#[test]
fn sigint_ends_a_run() {
    let mut child = trimtab()
        .args(["ssd", "run", "--capacity", "1TB", "--days", "3660"])
        .args(["--writes-per-day", "100TB", "--simulated-pages", "1Mi"])
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
