//! `trimtab explain`: its schema, and what it refuses with a way out.

use crate::support::{run, stderr, stdout, trimtab};
use serde_json::Value;

/// Words, and what the complaint names. No host is read for any of them.
const REFUSED: &[(&[&str], &str)] = &[
    (&["x.csv", "--tz", "Mars/Olympus"], "Mars/Olympus"),
    (
        &["x.csv", "--jobs", "none", "--data-tz", "CEST"],
        "--data-tz",
    ),
    (
        &["x.csv", "--jobs", "none", "--since", "yesterday"],
        "--since",
    ),
    (
        &[
            "x.csv",
            "--jobs",
            "none",
            "--since",
            "2026-11-02",
            "--until",
            "2026-11-01",
        ],
        "is not before",
    ),
    (
        &["http://u:hunter2@127.0.0.1:1", "--jobs", "none"],
        "without user and password",
    ),
    (
        &["http://127.0.0.1:1", "--jobs", "none"],
        "nothing is asked for",
    ),
    (
        &["x.csv", "--jobs", "none", "--query", "up"],
        "no SOURCE is a server",
    ),
    (&["x.csv", "--jobs", "/nowhere/crontab"], "/nowhere/crontab"),
    (&["x.csv", "--index", "m-*"], "--field"),
    (&["x.csv", "--better", "both"], "--better"),
    (&["/nowhere/x.csv", "--jobs", "none"], "/nowhere/x.csv"),
];

#[test]
fn what_does_not_fit_is_refused_with_a_way_out() {
    for (words, named) in REFUSED {
        let words: Vec<&str> = ["explain"].iter().chain(*words).copied().collect();
        let output = run(&words);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains(named), "{words:?}: {told}");
        assert!(!told.contains("hunter2"), "{words:?}: {told}");
        assert!(stdout(&output).is_empty(), "{words:?}");
    }
}

#[test]
fn a_crontab_that_is_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine");
    for (text, named) in [
        ("", "lines of five fields and a command"),
        ("61 * * * * x\n", "a minute from 0 to 59"),
    ] {
        std::fs::write(&path, text).unwrap();
        let output = run(&["explain", "x.csv", "--jobs", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(named), "{}", stderr(&output));
    }
}

#[test]
fn the_schema_stands_alone() {
    let output = run(&["explain", "--schema"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["properties"]["schema"]["const"], "trimtab.explain/1");
}

#[test]
fn help_tells_the_exit_codes() {
    let output = trimtab().args(["explain", "--help"]).output().unwrap();
    let help = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    for words in ["Exit codes:", "--jobs", "--events", "Examples:", "--better"] {
        assert!(help.contains(words), "{words}");
    }
}
