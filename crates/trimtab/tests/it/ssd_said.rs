//! `trimtab ssd`: what differs from what was asked is said, and what was not used is not.

use crate::ssd::{file, fits, host, json, number, of_host, ssd};
use crate::support::{stderr, stdout};
use std::fmt::Write as _;

/// A text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A small scenario.
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
fn reads_that_are_asked_for_are_told() {
    let said = |more: &[&str]| stdout(&ssd(&[SCENARIO, more].concat()));
    let text = said(&["--reads", "1"]);
    fits(&text);
    // A heading of two lines may be broken.
    let has_reads = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.ends_with(" read") || line.ends_with("read p99"))
    };
    assert!(has_reads(&text), "{text}");
    assert!(text.contains("A host writes 250 GB a day onto an 819 GB drive"));
    assert!(!has_reads(&said(&[])));
    let csv = said(&["--reads", "1", "--format", "csv"]);
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = head.iter().position(|name| *name == "read_p99_us").unwrap();
    let last: Vec<&str> = csv.lines().last().unwrap().split(',').collect();
    assert!(last[column].parse::<f64>().unwrap() > 0.0, "{last:?}");
    let page = said(&["--reads", "1", "--format", "html"]);
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
    fits(&stdout(&ssd(&sweep)));
    let text = stdout(&ssd(&[&sweep[..], &["--format", "markdown"]].concat()));
    assert!(text.contains("| read p99 |"), "{text}");
}

#[test]
fn what_whole_blocks_make_of_the_spare_area_is_said() {
    let words = ["run", "--logical-pages", "10Ki"];
    let text = flat(&stdout(&ssd(&words)));
    assert!(
        text.contains("with 7.5 % spare (7 % asked: whole blocks), 256 pages a block"),
        "{text}"
    );
    let words = ["run", "--logical-pages", "1Ki", "--op", "0.01%"];
    let text = flat(&stdout(&ssd(&words)));
    assert!(
        text.contains("with 25 % spare (0.01 % asked: whole blocks)"),
        "{text}"
    );
    let words = ["sweep", "--logical-pages", "10Ki", "--op", "7%,25%"];
    let text = flat(&stdout(&ssd(&words)));
    assert!(
        text.contains("note 7.5 % spare (7 % asked: whole blocks)"),
        "{text}"
    );
    assert!(!text.contains("25 % asked"), "{text}");
    // Few pages to a block are what is simulated.
    let words = [SCENARIO, &["--pages-per-block", "3"]].concat();
    let text = flat(&stdout(&ssd(&words)));
    assert!(text.contains("pages of 16 KiB, 3 to a block"), "{text}");
    assert!(
        text.contains("65,536 simulated pages, 3 to a block, stand for"),
        "{text}"
    );
}

#[test]
fn theory_stands_in_the_steady_state_only() {
    let words = |more: &[&'static str]| [&["run", "--logical-pages", "200Ki"][..], more].concat();
    let young = words(&["--power-on", "empty", "--warm-up", "1"]);
    let text = flat(&stdout(&ssd(&young)));
    assert!(
        text.contains("theory left out: it is for the steady state"),
        "{text}"
    );
    assert!(text.contains("after 1 drive write of warm-up") && !text.contains("in the long run"));
    let document = json(&ssd(&[&young[..], &["--format", "json"]].concat()));
    assert!(document["result"]["theory"].is_null());
    assert!(document["result"]["no_theory"].is_string());
    let single = flat(&stdout(&ssd(&words(&["--pages-per-block", "1"]))));
    assert!(single.contains("1 page a block") && single.contains("from 8 pages a block on"));
}

/// 50 requests a second for a minute; the last of them is a read.
fn steady_trace() -> String {
    (0..3050_u64).fold(String::new(), |mut text, index| {
        let kind = if index % 3 == 0 || index == 3049 {
            "Read"
        } else {
            "Write"
        };
        let ticks = 128_166_372_003_061_629 + index * 200_000;
        let offset = index * 7919 % 1024 * 65_536;
        let _ = writeln!(text, "{ticks},usr,0,{kind},{offset},8192,1331");
        text
    })
}

#[test]
fn a_last_read_is_no_peak() {
    let directory = tempfile::tempdir().unwrap();
    let trace = file(directory.path(), "usr_0.csv", &steady_trace());
    let trace = trace.to_str().unwrap();
    for more in [&[][..], &["--interval", "1s"], &["--interval", "999ms"]] {
        let words = [&["replay", trace, "--format", "json"][..], more].concat();
        let document = json(&ssd(&words));
        let series = document["result"]["series"].as_array().unwrap();
        assert!(series.len() > 50, "{}", series.len());
        let length =
            |point: usize| number(&series[point]["end_s"]) - number(&series[point]["start_s"]);
        assert!(length(series.len() - 1) > 0.5 * length(0), "{more:?}");
        for point in series {
            let rate = number(&point["read_mb_s"]);
            assert!((0.1..0.2).contains(&rate), "{more:?}: {rate}");
        }
    }
    let one = "128166372003061629,usr,0,Read,0,4096,1331\n";
    let one = file(directory.path(), "one.csv", one);
    let text = flat(&stdout(&ssd(&["replay", one.to_str().unwrap()])));
    assert!(text.starts_with("1 request on a 64 MiB drive"), "{text}");
    assert!(
        text.contains("nothing was written") && text.contains("1 read (4 KiB)"),
        "{text}"
    );
}

#[test]
fn devices_of_a_trace_are_listed_and_compressed_traces_known() {
    let directory = tempfile::tempdir().unwrap();
    let text = steady_trace().replacen("usr,0", "usr,1", 1);
    let trace = file(directory.path(), "usr.csv", &text);
    let trace = trace.to_str().unwrap();
    for more in [&[][..], &["--capacity", "64MiB", "--interval", "1s"]] {
        let output = ssd(&[&["replay", trace, "--devices", "foo"][..], more].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("they have usr_1, usr_0;"),
            "{}",
            stderr(&output)
        );
    }
    for (first, tool) in [
        (&[0x1f, 0x8b, 8, 8][..], "zcat"),
        (&[0x28, 0xb5, 0x2f, 0xfd, 4], "zstdcat"),
    ] {
        let path = directory.path().join("trace.bin");
        std::fs::write(&path, [first, &[7; 200]].concat()).unwrap();
        let output = ssd(&["replay", path.to_str().unwrap()]);
        let complaint = stderr(&output);
        let hint = complaint
            .lines()
            .find(|line| line.contains("hint:"))
            .unwrap();
        assert!(hint.contains(&format!("input: {tool} ")), "{complaint}");
    }
}

#[test]
fn what_flags_outrank_is_no_evidence() {
    let directory = tempfile::tempdir().unwrap();
    host(directory.path());
    let root = directory.path().to_str().unwrap();
    let words = of_host(root);
    let said = |more: &[&str]| stdout(&ssd(&[&words[..], more].concat()));
    let text = said(&[
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
    let text = said(&["--trim", "weekly"]);
    assert!(
        text.contains("/size") && text.contains("the fill"),
        "{text}"
    );
    assert!(!text.contains("etc/crontab"), "{text}");
}
