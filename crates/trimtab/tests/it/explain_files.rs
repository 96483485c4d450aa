//! `trimtab explain` on files, directories and stores: text, JSON and a page, and what their exit codes
//! say.

use crate::explain_support::{explain, json, sawtooth, write};
use crate::support::{repository, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

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
    assert!(page.contains("<svg class=\"wide\"") && page.ends_with("</html>\n"));
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

/// The MongoDB article's log, and what is known of its host.
fn mongo() -> (PathBuf, String) {
    let cases = repository().join("lab/explain-cases");
    let host = cases.join("mongo-03").display().to_string();
    (cases.join("mongo-03.iostat.txt"), host)
}

#[test]
fn a_log_of_disks_is_told_as_a_whole() {
    let (log, host) = mongo();
    let output = explain(&log, &["--jobs", &host]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    for words in [
        "nvme1n1 13,465x",
        "17,429x",
        "probably discards",
        "How filesystems are mounted",
        "What this log cannot tell",
        "cron.weekly/fstrim was last due",
        "45 series: 45 without enough data",
    ] {
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(words), "{words}: {text}");
    }
    // No chart, and no explanations of any of them.
    assert!(!text.contains("xplanation"), "{text}");
    for line in text
        .lines()
        .filter(|line| !line.contains("lab/explain-cases"))
    {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let all = stdout(&explain(&log, &["--jobs", &host, "--all"]));
    assert_eq!(all.matches("\nexplanation ").count(), 45);
    let document = json(&explain(&log, &["--jobs", &host, "--format", "json"]));
    assert_eq!(document["result"]["series"].as_array().unwrap().len(), 45);
    let logs = document["result"]["disk_logs"].as_array().unwrap();
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0]["writes_are"], "probably_discards");
    // Mounts are the host's of --jobs, so none without one.
    let none = json(&explain(&log, &["--jobs", "none", "--format", "json"]));
    assert_eq!(logs[0]["mounts"].as_array().unwrap().len(), 3);
    assert_eq!(
        none["result"]["disk_logs"][0]["mounts"],
        Value::Array(Vec::new())
    );
    let page = stdout(&explain(&log, &["--jobs", &host, "--format", "html"]));
    assert!(page.contains("17,429x") && !page.contains("<svg "));
}

#[test]
fn a_log_of_quiet_disks_has_nothing_to_tell() {
    let (log, _) = mongo();
    let text = std::fs::read_to_string(log).unwrap();
    let quiet = text.split_once("# after fstrim").unwrap().0;
    let directory = tempfile::tempdir().unwrap();
    let source = write(directory.path(), "quiet.txt", quiet);
    let output = explain(&source, &["--jobs", "none"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("without enough data") && !stdout(&output).contains("Writes jump")
    );
    let document = json(&explain(&source, &["--jobs", "none", "--format", "json"]));
    assert_eq!(document["result"]["disk_logs"], Value::Array(Vec::new()));
}

#[test]
fn a_store_gives_back_what_was_saved() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let store = directory.path().join("kept.trimtab");
    let words = ["--jobs", "none", "--format", "json", "--better", "higher"];
    let save = ["--save", store.to_str().unwrap()];
    let first = json(&explain(&source, &[&words[..], &save].concat()));
    // The second time it is known.
    let again = json(&explain(&source, &[&words[..], &save].concat()));
    let kept = json(&explain(&store, &words));
    for document in [&again, &kept] {
        assert_eq!(document["result"]["series"], first["result"]["series"]);
    }
    assert_eq!(first["result"]["series"][0]["samples"], 365);
    // What is no store of ours is left alone.
    let other = write(
        directory.path(),
        "other",
        "SQLite format 3\0 and something else",
    );
    let output = explain(
        &source,
        &["--jobs", "none", "--save", other.to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(
        std::fs::read_to_string(other).unwrap(),
        "SQLite format 3\0 and something else"
    );
}

/// A BSON document (bsonspec.org) of elements that are already encoded.
fn bson(elements: &[Vec<u8>]) -> Vec<u8> {
    let body = elements.concat();
    let length = u32::try_from(body.len() + 5).unwrap().to_le_bytes();
    [&length[..], &body, &[0]].concat()
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind], name.as_bytes(), &[0], value].concat()
}

/// A file of MongoDB's diagnostic data (src/mongo/db/ftdc/README.md): one chunk with the time of each
/// second, and the number of connections. Its zlib stream (RFC 1950) holds one stored block.
fn diagnostic_data(start_ms: i64, connections: &[i64]) -> Vec<u8> {
    const DATE: u8 = 9;
    const LONG: u8 = 0x12;
    let current = bson(&[element(LONG, "current", &connections[0].to_le_bytes())]);
    let status = bson(&[element(3, "connections", &current)]);
    let mut unpacked = bson(&[
        element(DATE, "start", &start_ms.to_le_bytes()),
        element(3, "serverStatus", &status),
    ]);
    let further = u32::try_from(connections.len() - 1).unwrap();
    unpacked.extend(2_u32.to_le_bytes());
    unpacked.extend(further.to_le_bytes());
    let mut varint = |mut value: u64| {
        while value >= 0x80 {
            unpacked.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        unpacked.push(u8::try_from(value).unwrap());
    };
    (0..further).for_each(|_| varint(1_000));
    // None of these differences is 0: those are written as runs.
    for pair in connections.windows(2) {
        assert_ne!(pair[0], pair[1]);
        varint((pair[1] - pair[0]).cast_unsigned());
    }
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in &unpacked {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    let length = u16::try_from(unpacked.len()).unwrap();
    let packed = [
        &u32::from(length).to_le_bytes()[..],
        &[0x78, 0x01, 0x01],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        &unpacked,
        &(high << 16 | low).to_be_bytes(),
    ]
    .concat();
    let binary = [
        &u32::try_from(packed.len()).unwrap().to_le_bytes()[..],
        &[0],
        &packed,
    ]
    .concat();
    bson(&[
        element(DATE, "_id", &start_ms.to_le_bytes()),
        element(0x10, "type", &1_i32.to_le_bytes()),
        element(5, "data", &binary),
    ])
}

#[test]
fn a_directory_of_diagnostic_data_is_mongodbs() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("diagnostic.data");
    std::fs::create_dir(&data).unwrap();
    let connections: Vec<i64> = (0..60).map(|second| 40 + second % 2 * 3).collect();
    let bytes = diagnostic_data(1_767_225_600_000, &connections);
    std::fs::write(data.join("metrics.2026-01-01T00-00-00Z-00000"), &bytes).unwrap();
    let words = [
        "--jobs",
        "none",
        "--format",
        "json",
        "--step",
        "1s",
        "--select",
        "serverStatus.connections.*",
    ];
    let output = explain(&data, &words);
    let series = &json(&output)["result"]["series"];
    assert_eq!(series.as_array().unwrap().len(), 1, "{series}");
    assert!(series[0]["name"].as_str().unwrap().contains("connections"));
    assert_eq!(series[0]["samples"], 60);
    assert_eq!(series[0]["from"], "2026-01-01T00:00:00Z");
    // One file of it by itself, whatever its name.
    let file = directory.path().join("x");
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(
        json(&explain(&file, &words))["result"]["series"][0]["samples"],
        60
    );
}

#[test]
fn a_log_without_times_is_told_the_option_that_helps() {
    let log = repository().join("crates/sources/tests/data/iostat-x.txt");
    let output = explain(&log, &["--jobs", "none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("hint: `--step 5s`"),
        "{}",
        stderr(&output)
    );
    let output = explain(&log, &["--jobs", "none", "--step", "5s"]);
    assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn long_gaps_are_noted_in_every_form() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let text = std::fs::read_to_string(&source).unwrap();
    // 365 nights without those of 60 days: 61 days between two samples, of 364.
    let kept: Vec<&str> = text
        .lines()
        .enumerate()
        .filter(|(line, _)| !(101..161).contains(line))
        .map(|(_, line)| line)
        .collect();
    let gappy = write(directory.path(), "gaps.csv", &kept.join("\n"));
    let told =
        "1 gap: 16 % of the time has no sample, 61 days, from 2016-04-12 05:40 to 2016-06-12 05:40";
    let text = stdout(&explain(&gappy, &["--jobs", "none"]));
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(told), "{text}");
    let document = json(&explain(&gappy, &["--jobs", "none", "--format", "json"]));
    assert_eq!(document["result"]["series"][0]["notes"][0], told);
    let page = stdout(&explain(&gappy, &["--jobs", "none", "--format", "html"]));
    assert!(page.contains(told));
    // What a store keeps may be filled later, so that it keeps no such note.
    let store = directory.path().join("h.db");
    explain(
        &gappy,
        &["--jobs", "none", "--save", store.to_str().unwrap()],
    );
    explain(
        &source,
        &["--jobs", "none", "--save", store.to_str().unwrap()],
    );
    let whole = json(&explain(&store, &["--jobs", "none", "--format", "json"]));
    for one in whole["result"]["series"].as_array().unwrap() {
        let gaps = one["source"].as_str().unwrap().contains("gaps.csv");
        assert_eq!(
            one["notes"].as_array().unwrap().len(),
            usize::from(gaps),
            "{one}"
        );
    }
}
