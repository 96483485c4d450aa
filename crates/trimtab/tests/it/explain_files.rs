//! `trimtab explain` on files: text, JSON and a page, and what their exit codes say.

use crate::support::{run, stderr, stdout};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A year of nights that decline by 12 % within a week and recover after Sunday 06:47, with a little noise
/// that repeats after 11 nights.
fn sawtooth(directory: &Path) -> PathBuf {
    let mut text = String::from("time,throughput\n");
    let mut day = jiff::civil::date(2016, 1, 4).at(5, 40, 0, 0);
    for night in 0..365_i32 {
        let value = 51_000.0 * (1.0 - 0.12 * f64::from(night % 7) / 7.0);
        let noise = f64::from(night * 37 % 11 - 5) * 60.0;
        let _ = writeln!(text, "{day},{}", value + noise);
        day = day.checked_add(jiff::Span::new().days(1)).unwrap();
    }
    write(directory, "nightly.csv", &text)
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn explain(source: &Path, more: &[&str]) -> std::process::Output {
    let mut words = vec!["explain", source.to_str().unwrap(), "--tz", "Europe/Berlin"];
    words.extend(more);
    run(&words)
}

#[test]
fn a_sawtooth_is_blamed_on_the_crontab() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let crontab = write(
        directory.path(),
        "mine",
        "47 6 * * 7 /sbin/fstrim -a\n25 6 * * * logrotate\n17 * * * * hourly\n0 3 1 * * monthly\n",
    );
    let jobs = ["--jobs", crontab.to_str().unwrap()];
    let output = explain(&source, &[&jobs[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "trimtab.explain/1");
    let verdict = &document["result"]["series"][0]["verdict"];
    assert_eq!(verdict["kind"], "periodic", "{verdict}");
    let first = verdict["classes"][0]["jobs"][0].as_str().unwrap();
    assert!(first.ends_with("mine:1 fstrim"), "{first}");
    let output = explain(&source, &[&jobs[..], &["--exit-zero"]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("fstrim"));
    for line in stdout(&output).lines().filter(|line| !line.contains('/')) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_page_is_written_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let page = directory.path().join("why.html");
    let output = explain(
        &source,
        &[
            "--jobs",
            "none",
            "--format",
            "html",
            "-o",
            page.to_str().unwrap(),
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).is_empty());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg class=\"series\"") && page.ends_with("</html>\n"));
    assert!(!page.contains("http:") && !page.contains("https:"));
}

#[test]
fn a_line_that_is_none_is_named_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let source = write(
        directory.path(),
        "x.csv",
        "time,a\nnever,1\nnor,2\nthen,3\n",
    );
    let output = explain(&source, &["--jobs", "none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("x.csv"), "{}", stderr(&output));
}

#[test]
fn too_little_is_no_trouble() {
    let directory = tempfile::tempdir().unwrap();
    let source = write(
        directory.path(),
        "few.csv",
        "time,a\n2026-01-01 00:00:00,1\n2026-01-02 00:00:00,2\n2026-01-03 00:00:00,1\n",
    );
    let output = explain(&source, &["--jobs", "none", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        document["result"]["series"][0]["verdict"]["kind"],
        "undecided"
    );
}

#[test]
fn a_selection_of_nothing_tells_the_names() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let output = explain(&source, &["--jobs", "none", "--select", "latency*"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("throughput"),
        "{}",
        stderr(&output)
    );
}
