//! `trimtab ssd`: deviations from the requested settings are reported, unused inputs are not.

use crate::ssd::{assert_fits_80_columns, host, host_args, json, number, ssd};
use crate::support::stdout;

/// Joins wrapped lines.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const SCENARIO: &[&str] = &[
    "run",
    "--capacity",
    "819GB",
    "--writes-per-day",
    "250GB",
    "--simulated-pages",
    "64Ki",
    "--days",
    "14",
    "--alone",
];

#[test]
fn requested_reads_are_reported() {
    let output = |more: &[&str]| stdout(&ssd(&[SCENARIO, more].concat()));
    let text = output(&["--reads", "1"]);
    assert_fits_80_columns(&text);
    // A two-line heading may be wrapped.
    let has_reads = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.ends_with(" read") || line.ends_with("read p99"))
    };
    assert!(has_reads(&text), "{text}");
    assert!(text.contains("A host writes 250 GB a day onto an 819 GB drive"));
    assert!(!has_reads(&output(&[])));
    let page = output(&["--reads", "1", "--format", "html"]);
    assert!(page.contains("99th percentile of read latency") && page.contains("read p99"));
    let document = json(&ssd(
        &[SCENARIO, &["--reads", "1", "--format", "json"]].concat()
    ));
    assert!(number(&document["result"]["summary"]["read_latency"]["p99_us"]) > 0.0);
    let sweep = [
        "sweep",
        "--capacity",
        "1TB",
        "--writes-per-day",
        "250GB",
        "--op",
        "7%,28%",
        "--reads",
        "1",
        "--simulated-pages",
        "32Ki",
        "--days",
        "7",
    ];
    assert_fits_80_columns(&stdout(&ssd(&sweep)));
    let text = stdout(&ssd(&[&sweep[..], &["--format", "markdown"]].concat()));
    assert!(text.contains("| read p99 |"), "{text}");
}

#[test]
fn spare_area_rounded_to_whole_blocks_is_reported() {
    let small = [
        "--capacity",
        "10GB",
        "--writes-per-day",
        "10GB",
        "--simulated-pages",
        "64Ki",
        "--days",
        "7",
    ];
    let text = single_line(&stdout(&ssd(&[&["run", "--alone"][..], &small].concat())));
    assert!(
        text.contains("with 7.1 % spare (7 % asked: whole blocks), 62 % full"),
        "{text}"
    );
    let args = [&["sweep", "--op", "7%,25%"][..], &small].concat();
    let text = single_line(&stdout(&ssd(&args)));
    assert!(
        text.contains("note 7.1 % spare (7 % asked: whole blocks)"),
        "{text}"
    );
    assert!(!text.contains("25 % asked"), "{text}");
    // A small number of pages per block is simulated as such.
    let args = [SCENARIO, &["--pages-per-block", "3"]].concat();
    let text = single_line(&stdout(&ssd(&args)));
    assert!(text.contains("pages of 16 KiB, 3 to a block"), "{text}");
    assert!(
        text.contains("65,536 simulated pages, 3 to a block, stand for"),
        "{text}"
    );
}

#[test]
fn overridden_host_values_are_not_evidence() {
    let directory = tempfile::tempdir().unwrap();
    host(directory.path());
    let root = directory.path().to_str().unwrap();
    let args = host_args(root);
    let output = |more: &[&str]| stdout(&ssd(&[&args[..], more].concat()));
    let text = output(&[
        "--capacity",
        "400GB",
        "--writes-per-day",
        "100GB",
        "--fill",
        "50%",
    ]);
    for source in ["/size", "/stat", "proc/uptime", "statfs", "the fill"] {
        assert!(!text.contains(source), "{source}: {text}");
    }
    assert!(text.contains("etc/crontab"), "{text}");
    let text = output(&["--trim", "weekly"]);
    assert!(
        text.contains("/size") && text.contains("the fill"),
        "{text}"
    );
    assert!(!text.contains("etc/crontab"), "{text}");
}
