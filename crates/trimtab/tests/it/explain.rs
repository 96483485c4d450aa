//! `trimtab explain`: its schema, and what it refuses.

use crate::explain_support::{explain, sawtooth, write};
use crate::support::{run, stderr, stdout, trimtab};
use serde_json::Value;

/// Arguments, and a part of the expected error. None of them reads a host.
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
        &["x.csv", "--jobs", "none", "--time-format", "%Y-%m-%d %K"],
        "--time-format %Y-%m-%d %K: \"%K\" is no directive",
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
fn invalid_arguments_are_refused_with_a_hint() {
    for (args, expected) in REFUSED {
        let args: Vec<&str> = ["explain"].iter().chain(*args).copied().collect();
        let output = run(&args);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
        assert!(!error.contains("hunter2"), "{args:?}: {error}");
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn an_invalid_crontab_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine");
    for (text, expected) in [
        (
            "",
            "lines of five fields and a command, found an empty file",
        ),
        (
            "\0\0x",
            "lines of five fields and a command, found a binary file",
        ),
        ("61 * * * * x\n", "a minute from 0 to 59"),
    ] {
        std::fs::write(&path, text).unwrap();
        let output = run(&["explain", "x.csv", "--jobs", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn inputs_are_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let history = sawtooth(root);
    std::os::unix::fs::symlink(&history, root.join("link.csv")).unwrap();
    std::fs::create_dir_all(root.join("host/etc")).unwrap();
    write(
        &root.join("host/etc"),
        "crontab",
        "47 6 * * 7 root fstrim -a\n",
    );
    let crontab = root.join("host/etc/crontab");
    let cases = [
        ("none", history.clone()),
        ("none", root.join("link.csv")),
        (crontab.to_str().unwrap(), crontab.clone()),
        (root.join("host").to_str().unwrap(), crontab.clone()),
    ]
    .map(|(jobs, target)| (jobs.to_owned(), target));
    for (jobs, target) in cases {
        let before = std::fs::read(&target).unwrap();
        let output = explain(&history, &["--jobs", &jobs, "-o", target.to_str().unwrap()]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("error (refused)"), "{error}");
        assert!(error.contains(target.to_str().unwrap()), "{error}");
        assert!(error.contains("name another file with -o"), "{error}");
        assert_eq!(std::fs::read(&target).unwrap(), before);
    }
    // Earlier output is not an input and may be overwritten.
    let page = write(root, "why.txt", "before");
    let output = explain(&history, &["--jobs", "none", "-o", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .contains("throughput")
    );
}

#[test]
fn a_failure_keeps_earlier_output() {
    let directory = tempfile::tempdir().unwrap();
    let page = write(directory.path(), "why.txt", "before");
    let history = write(directory.path(), "broken.csv", "time,value\n1,x\n");
    for history in [history, directory.path().join("missing.csv")] {
        let output = explain(&history, &["--jobs", "none", "-o", page.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_eq!(std::fs::read(&page).unwrap(), b"before");
    }
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2, "only the page and the history, no temporary file");
}

#[test]
fn a_host_without_jobs_is_noted_after_the_verdict() {
    let directory = tempfile::tempdir().unwrap();
    let history = sawtooth(directory.path());
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let output = explain(&history, &["--jobs", empty.to_str().unwrap()]);
    let joined = stdout(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let sentence = joined.find("There are no jobs to compare it with").unwrap();
    let caution = joined.find("caution no job of directory").unwrap();
    let why = joined.find("no cron or systemd files found").unwrap();
    let explanations = joined.find("Explanations, most likely first").unwrap();
    assert!(
        sentence < caution && caution < why && why < explanations,
        "{joined}"
    );
}

#[test]
fn time_zone_names_are_case_insensitive() {
    let directory = tempfile::tempdir().unwrap();
    let history = sawtooth(directory.path());
    let args = [
        "--jobs",
        "none",
        "--tz",
        "europe/berlin",
        "--data-tz",
        "utc",
    ];
    let args = [&["explain", history.to_str().unwrap()], &args[..]].concat();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("times in Europe/Berlin (--tz)"));
}

#[test]
fn the_output_format_follows_the_file_name() {
    let directory = tempfile::tempdir().unwrap();
    let history = sawtooth(directory.path());
    for (name, starts_with) in [
        ("why.html", "<!doctype html>"),
        ("why.md", "# throughput"),
        ("why.json", "{"),
        ("why.txt", "throughput decays"),
    ] {
        let path = directory.path().join(name);
        let output = explain(&history, &["--jobs", "none", "-o", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let answer = std::fs::read_to_string(path).unwrap();
        assert!(answer.starts_with(starts_with), "{name}: {answer}");
    }
    let page = directory.path().join("why.html");
    let args = ["--format", "json", "-o", page.to_str().unwrap()];
    let output = explain(&history, &[&["--jobs", "none"], &args[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("disagree"), "{}", stderr(&output));
}

#[test]
fn the_schema_needs_no_source() {
    let output = run(&["explain", "--schema"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["properties"]["schema"]["const"], "trimtab.explain/1");
}

#[test]
fn help_lists_the_exit_codes() {
    let output = trimtab().args(["explain", "--help"]).output().unwrap();
    let help = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    for part in ["Exit codes:", "--jobs", "--events", "Examples:", "--better"] {
        assert!(help.contains(part), "{part}");
    }
}
