//! `trimtab explain` on files, directories and stores: text, JSON and HTML, and exit codes.

use crate::explain_support::{explain, json, sawtooth, write};
use crate::support::{repository, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

#[test]
fn a_sawtooth_is_attributed_to_a_crontab_job() {
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
fn html_is_written_to_a_file() {
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
fn an_invalid_csv_file_is_named() {
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
fn too_few_samples_are_not_an_error() {
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
fn an_empty_selection_lists_the_series_names() {
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

/// Returns the MongoDB article's log, and the directory of its host's files.
fn mongo() -> (PathBuf, String) {
    let cases = repository().join("lab/explain-cases");
    let host = cases.join("mongo-03").display().to_string();
    (cases.join("mongo-03.iostat.txt"), host)
}

#[test]
fn an_iostat_log_is_summarised_as_a_whole() {
    let (log, host) = mongo();
    let output = explain(&log, &["--jobs", &host]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "nvme1n1 13,465x",
        "17,429x",
        "probably discards",
        "How filesystems are mounted",
        "What this log cannot tell",
        "cron.weekly/fstrim was last due",
        "45 series: 45 without enough data",
    ] {
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(part), "{part}: {text}");
    }
    // No chart, and no explanation for any single series.
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
    assert_eq!(logs[0]["moved"], "probably_discards");
    // Mounts come from the host given by --jobs.
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
fn an_iostat_log_of_quiet_disks_has_no_findings() {
    let (log, _) = mongo();
    let text = std::fs::read_to_string(log).unwrap();
    let quiet = text.split_once("# after fstrim").unwrap().0;
    let directory = tempfile::tempdir().unwrap();
    let source = write(directory.path(), "quiet.txt", quiet);
    let output = explain(&source, &["--jobs", "none"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).starts_with("Nothing stands out in 2 samples"),
        "{}",
        stdout(&output)
    );
    let document = json(&explain(&source, &["--jobs", "none", "--format", "json"]));
    assert_eq!(document["result"]["disk_logs"][0]["moved"], "nothing");
}

/// As sar keeps them: a file for each day.
#[test]
fn files_that_follow_each_other_are_one_history() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let args = ["--jobs", "none", "--format", "json", "--better", "higher"];
    let whole = json(&explain(&source, &args));
    let text = std::fs::read_to_string(&source).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let mut parts: Vec<PathBuf> = rows
        .chunks(30)
        .enumerate()
        .map(|(number, rows)| {
            let text = format!("{head}\n{}\n", rows.join("\n"));
            write(directory.path(), &format!("part{number:02}.csv"), &text)
        })
        .collect();
    // As a shell's pattern gives them, or in another order.
    parts.rotate_left(5);
    let more: Vec<&str> = parts[1..]
        .iter()
        .map(|part| part.to_str().unwrap())
        .collect();
    let joined = json(&explain(&parts[0], &[&more[..], &args].concat()));
    let without_source = |document: &Value| {
        let mut series = document["result"]["series"].clone();
        for one in series.as_array_mut().unwrap() {
            one.as_object_mut().unwrap().remove("source");
        }
        series
    };
    assert_eq!(without_source(&joined), without_source(&whole));
    assert_eq!(whole["result"]["series"][0]["samples"], 365);
}

/// Encodes a BSON document (bsonspec.org) from encoded elements.
fn bson(elements: &[Vec<u8>]) -> Vec<u8> {
    let body = elements.concat();
    let length = u32::try_from(body.len() + 5).unwrap().to_le_bytes();
    [&length[..], &body, &[0]].concat()
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind], name.as_bytes(), &[0], value].concat()
}

/// Encodes a file of MongoDB diagnostic data (src/mongo/db/ftdc/README.md): one chunk with a
/// timestamp per second and the number of connections. Its zlib stream (RFC 1950) holds one stored
/// block.
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
    // Zero deltas would have to be run-length encoded; there are none.
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
fn a_diagnostic_data_directory_is_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("diagnostic.data");
    std::fs::create_dir(&data).unwrap();
    let connections: Vec<i64> = (0..60).map(|second| 40 + second % 2 * 3).collect();
    let bytes = diagnostic_data(1_767_225_600_000, &connections);
    std::fs::write(data.join("metrics.2026-01-01T00-00-00Z-00000"), &bytes).unwrap();
    let args = [
        "--jobs",
        "none",
        "--format",
        "json",
        "--step",
        "1s",
        "--select",
        "serverStatus.connections.*",
    ];
    let output = explain(&data, &args);
    let series = &json(&output)["result"]["series"];
    assert_eq!(series.as_array().unwrap().len(), 1, "{series}");
    assert!(series[0]["name"].as_str().unwrap().contains("connections"));
    assert_eq!(series[0]["samples"], 60);
    assert_eq!(series[0]["from"], "2026-01-01T00:00:00Z");
    // A single file works too, whatever its name.
    let file = directory.path().join("x");
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(
        json(&explain(&file, &args))["result"]["series"][0]["samples"],
        60
    );
}

#[test]
fn a_log_without_timestamps_counts_its_samples_unless_step_tells_more() {
    let log = repository().join("crates/sources/tests/data/iostat-x.txt");
    let gap_s = |arguments: &[&str]| {
        let document = json(&explain(
            &log,
            &[arguments, &["--jobs", "none", "--format", "json"]].concat(),
        ));
        document["result"]["series"][0]["gap_s"].as_f64()
    };
    assert_eq!(gap_s(&[]), Some(1.0));
    assert_eq!(gap_s(&["--step", "5s"]), Some(5.0));
}

#[test]
fn long_gaps_are_noted_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let source = sawtooth(directory.path());
    let text = std::fs::read_to_string(&source).unwrap();
    // 365 nights without 60 of them: a gap of 61 days out of 364.
    let kept: Vec<&str> = text
        .lines()
        .enumerate()
        .filter(|(line, _)| !(101..161).contains(line))
        .map(|(_, line)| line)
        .collect();
    let gappy = write(directory.path(), "gaps.csv", &kept.join("\n"));
    let note =
        "1 gap: 16 % of the time has no sample, 61 days, from 2016-04-12 05:40 to 2016-06-12 05:40";
    let text = stdout(&explain(&gappy, &["--jobs", "none"]));
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(note), "{text}");
    let document = json(&explain(&gappy, &["--jobs", "none", "--format", "json"]));
    assert_eq!(document["result"]["series"][0]["notes"][0], note);
    let page = stdout(&explain(&gappy, &["--jobs", "none", "--format", "html"]));
    assert!(page.contains(note));
}
