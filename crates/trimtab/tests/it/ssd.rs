//! `trimtab ssd run`: scenarios, output formats, custom drives, hosts.

use crate::support::{recorded, run, stderr, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A small scenario that takes a few tenths of a second.
const SCENARIO: &[&str] = &[
    "ssd",
    "run",
    "--capacity",
    "1TB",
    "--writes-per-day",
    "250GB",
    "--fill",
    "62%",
    "--simulated-pages",
    "64Ki",
    "--days",
    "21",
];

/// A smaller one, without variants.
const SMALL: &[&str] = &[
    "run",
    "--capacity",
    "1TB",
    "--writes-per-day",
    "250GB",
    "--simulated-pages",
    "32Ki",
    "--days",
    "7",
    "--alone",
];

pub fn ssd(arguments: &[&str]) -> Output {
    let mut all = vec!["ssd"];
    all.extend(arguments);
    run(&all)
}

pub fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn scenario(more: &[&str]) -> Output {
    let mut all = SCENARIO.to_vec();
    all.extend(more);
    run(&all)
}

pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("a number, found {value}"))
}

pub fn amplification(document: &Value) -> f64 {
    number(&document["result"]["write_amplification"])
}

pub fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

pub fn assert_fits_80_columns(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_output() {
    let output = |seed| {
        let random = ["--workload", "uniform", "--seed", seed, "--format", "json"];
        json(&ssd(&[SMALL, &random].concat()))["result"].clone()
    };
    assert_eq!(output("7"), output("7"));
    assert_ne!(output("7")["series"], output("8")["series"]);
    assert_eq!(
        scenario(&["--format", "json"]).stdout,
        scenario(&["--format", "json"]).stdout
    );
}

#[test]
fn a_scenario_in_text() {
    let output = scenario(&["--op", "7%", "--trim", "weekly"]);
    let text = stdout(&output);
    assert_fits_80_columns(&text);
    assert!(stderr(&output).is_empty());
    insta::with_settings!({snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("ssd-scenario.text", text);
    });
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.starts_with("Write amplification climbs from "));
    for part in [
        "A host writes 250 GB a day onto a 1 TB drive with 7 % spare, 62 % full, trimmed weekly; ",
        "Trimmed daily: ",
        "At 28 % spare: ",
        "scenario, not prediction",
    ] {
        assert!(flat.contains(part), "{part}");
    }
}

#[test]
fn trims_and_spare_area_lower_write_amplification() {
    let document = json(&scenario(&[
        "--op", "7%", "--trim", "weekly", "--format", "json",
    ]));
    let result = &document["result"];
    assert_eq!(result["label"], "scenario, not prediction");
    let after = number(&result["summary"]["after_trim"]["write_amplification"]);
    let before = number(&result["summary"]["before_next_trim"]["write_amplification"]);
    assert!(after < before, "{after} {before}");
    assert!(number(&result["summary"]["throughput_fall"]) > 0.0);
    for variant in result["variants"].as_array().unwrap() {
        let mean = number(&variant["summary"]["mean"]["write_amplification"]);
        assert!(mean < amplification(&document), "{variant}");
    }
    assert_eq!(result["variants"][0]["name"], "trimmed daily");
    assert_eq!(result["variants"][1]["name"], "at 28 % spare");
    assert_eq!(result["series"].as_array().unwrap().len(), 21 * 4);
    // A trim that never reaches the drive has the same effect as no trim.
    let alone = |trim| {
        amplification(&json(&scenario(&[
            "--trim", trim, "--alone", "--format", "json",
        ])))
    };
    let (never, swallowed, online) = (alone("never"), alone("swallowed"), alone("online"));
    assert!((never - swallowed).abs() < 1e-9, "{never} {swallowed}");
    assert!(online < after.max(1.3) && online < never);
}

#[test]
fn raid_0_and_mixed_workloads_run() {
    let document = json(&scenario(&[
        "--drives",
        "2",
        "--chunk",
        "512KiB",
        "--workload",
        "lsm@70,circular-log@30/5",
        "--preset",
        "tlc-slc-cache",
        "--rhythm",
        "daily:14/20%",
        "--reads",
        "0.5",
        "--history",
        "used:1",
        "--policy",
        "d-choices:8",
        "--alone",
        "--format",
        "json",
    ]));
    let asked = &document["result"]["asked"];
    assert_eq!(asked["drives"], 2);
    assert_eq!(asked["workload"], "lsm@70/95,circular-log@30/5");
    assert!(amplification(&document) >= 1.0);
    assert!(document["result"]["series"][8]["read_latency"]["mean_us"].is_number());
}

#[test]
fn measured_media_writes_are_shown_beside_the_model() {
    let output = scenario(&[
        "--host-written",
        "40TB",
        "--media-written",
        "360TB",
        "--alone",
        "--format",
        "json",
    ]);
    let document = json(&output);
    assert_eq!(
        document["result"]["label"],
        "scenario, beside measured media writes"
    );
    assert!((number(&document["result"]["measured"]["write_amplification"]) - 9.0).abs() < 1e-9);
    assert!(
        document["warnings"][0]
            .as_str()
            .unwrap()
            .contains("far apart")
    );
    // One value without the other is refused.
    assert_eq!(scenario(&["--host-written", "40TB"]).status.code(), Some(2));
}

#[test]
fn html_loads_nothing_and_has_no_scripts() {
    let output = scenario(&["--format", "html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    for word in [
        "http://", "https://", "src=", "@import", "url(", "<link", "<script",
    ] {
        assert!(!text.contains(word), "{word}");
    }
    // Charts, and the table with their values.
    assert!(text.contains("<svg") && text.contains("<table"));
}

#[test]
fn the_output_format_follows_the_file_name() {
    let directory = tempfile::tempdir().unwrap();
    for (name, begin) in [
        ("drive.html", "<!doctype html>"),
        ("drive.md", "# "),
        ("drive.json", "{"),
        ("drive.txt", "Write amplification is "),
    ] {
        let path = directory.path().join(name);
        let output = ssd(&[SMALL, &["-o", path.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).is_empty());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(begin), "{name}: {text}");
    }
    let other = directory.path().join("drive.json");
    let refused = ["--format", "html", "-o", other.to_str().unwrap()];
    let output = ssd(&[SMALL, &refused].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("disagree"), "{}", stderr(&output));
}

#[test]
fn a_custom_drive_file() {
    let directory = tempfile::tempdir().unwrap();
    let drive = file(
        directory.path(),
        "drive.toml",
        "name = \"Own <1>\"\npreset = \"mlc\"\ncapacity = \"500GB\"\nover_provisioning = \"28%\"\n\
         pages_per_block = 128\n[timing]\ndies = 16\nchannels = 4\n[timing.discard]\nhandling = \"ignored\"\n",
    );
    let drive = drive.to_str().unwrap();
    let args = [
        "run",
        "--drive",
        drive,
        "--writes-per-day",
        "100GB",
        "--simulated-pages",
        "32Ki",
        "--alone",
        "--days",
        "14",
    ];
    let document = json(&ssd(&[&args[..], &["--format", "json"]].concat()));
    let asked = &document["result"]["asked"];
    assert_eq!(asked["capacity_bytes"], 500_000_000_000_u64);
    assert_eq!(
        (asked["dies"].as_u64(), asked["channels"].as_u64()),
        (Some(16), Some(4))
    );
    assert!((number(&asked["over_provisioning"]) - 0.28).abs() < 1e-9);
    // A flag overrides the file.
    let flagged = json(&ssd(
        &[&args[..], &["--op", "10%", "--format", "json"]].concat()
    ));
    assert!((number(&flagged["result"]["asked"]["over_provisioning"]) - 0.1).abs() < 1e-9);
    // Names are escaped in HTML.
    let page = stdout(&ssd(&[&args[..], &["--format", "html"]].concat()));
    assert!(page.contains("Own &lt;1&gt;") && !page.contains("Own <1>"));
    let wrong = file(directory.path(), "wrong.toml", "[timing]\nreed_us = 3\n");
    let output = ssd(&[
        "run",
        "--drive",
        wrong.to_str().unwrap(),
        "--writes-per-day",
        "1GB",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("reed_us"), "{}", stderr(&output));
}

#[test]
fn drive_defaults_come_from_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let config = file(
        directory.path(),
        "trimtab.toml",
        "[ssd]\nformat = \"json\"\npolicy = \"fifo\"\nover_provisioning = \"28%\"\n",
    );
    let config = config.to_str().unwrap();
    let document = json(&ssd(&[SMALL, &["--config", config]].concat()));
    assert_eq!(document["result"]["asked"]["policy"], "fifo");
    assert!((number(&document["result"]["asked"]["over_provisioning"]) - 0.28).abs() < 1e-9);
    let wrong = file(directory.path(), "wrong.toml", "[ssd]\nspare = \"28%\"\n");
    let output = ssd(&[SMALL, &["--config", wrong.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("spare"));
}

/// Creates a host with one 512 GB NVMe drive, up for ten days, with 2 TB written, trimmed every
/// night.
pub fn host(root: &Path) {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("proc/uptime", "864000.00 800000.00\n");
    put("proc/version", "Linux version 6.1.0-13-amd64\n");
    put("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
    put(
        "proc/self/mountinfo",
        "21 1 259:0 / / rw,relatime shared:1 - ext4 /dev/nvme0n1 rw\n",
    );
    put("etc/fstab", "/dev/nvme0n1 / ext4 defaults 0 1\n");
    put(
        "etc/crontab",
        "SHELL=/bin/sh\n0 3 * * * root /sbin/fstrim /\n",
    );
    let block = "sys/block/nvme0n1";
    put(&format!("{block}/dev"), "259:0\n");
    put(&format!("{block}/size"), "1000000000\n");
    // Fields 5 to 8 are writes, field 7 sectors written; discards follow.
    put(
        &format!("{block}/stat"),
        "100 0 1000 10 1000 0 3906250000 10 0 10 20 5 0 500 1 0 0\n",
    );
    put(&format!("{block}/queue/rotational"), "0\n");
    put(&format!("{block}/queue/discard_granularity"), "512\n");
    put(
        &format!("{block}/queue/discard_max_bytes"),
        "2199023255040\n",
    );
    put(
        &format!("{block}/queue/discard_max_hw_bytes"),
        "2199023255040\n",
    );
}

/// Returns arguments for a short scenario of the host in a directory.
pub fn host_args(root: &str) -> [&str; 10] {
    [
        "run",
        "--from-host",
        "/",
        "--root",
        root,
        "--simulated-pages",
        "64Ki",
        "--days",
        "14",
        "--alone",
    ]
}

#[test]
fn from_host_reads_load_drives_and_schedule() {
    let directory = tempfile::tempdir().unwrap();
    host(directory.path());
    let root = directory.path().to_str().unwrap();
    let args = host_args(root);
    let document = json(&ssd(&[&args[..], &["--format", "json"]].concat()));
    let asked = &document["result"]["asked"];
    assert_eq!(asked["capacity_bytes"], 512_000_000_000_u64);
    // 3,906,250,000 sectors in ten days.
    assert_eq!(asked["bytes_per_day"], 200_000_000_000_u64);
    assert_eq!(asked["trim"], "daily");
    assert_eq!(asked["drives"], 1);
    let evidence = document["result"]["evidence"].to_string();
    for source in ["sys/block/nvme0n1/stat", "proc/uptime", "etc/crontab"] {
        assert!(evidence.contains(source), "{source}: {evidence}");
    }
    let skipped: Vec<&str> = document["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["what"].as_str())
        .collect();
    assert!(
        skipped.contains(&"media writes") && skipped.contains(&"the fill"),
        "{skipped:?}"
    );
    let text = stdout(&ssd(&args));
    assert_fits_80_columns(&text);
    assert!(
        text.contains("This host writes 200 GB a day onto a 512 GB drive"),
        "{text}"
    );
    // A flag overrides the host.
    let other = json(&ssd(&[
        &args[..],
        &["--trim", "weekly", "--format", "json"],
    ]
    .concat()));
    assert_eq!(other["result"]["asked"]["trim"], "weekly");
    // A path that is not a mount point.
    let output = ssd(&["run", "--from-host", "/data", "--root", root]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("nothing is mounted there")
            && stderr(&output).contains("block devices: /")
    );
}

#[test]
fn a_recorded_host_reports_missing_inputs() {
    let bundle = recorded("nvme-xfs");
    let output = ssd(&["run", "--from-host", "/mnt/x", "--bundle", &bundle]);
    // The guest was up for minutes only: too short to derive a daily load.
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("writes per day"),
        "{}",
        stderr(&output)
    );
    let args = [
        "run",
        "--from-host",
        "/mnt/x",
        "--bundle",
        &bundle,
        "--capacity",
        "400GB",
        "--writes-per-day",
        "100GB",
    ];
    let more = [
        "--simulated-pages",
        "32Ki",
        "--days",
        "14",
        "--alone",
        "--format",
        "json",
    ];
    let document = json(&ssd(&[&args[..], &more].concat()));
    assert!(document["source"].as_str().unwrap().starts_with("bundle "));
}
