//! `trimtab ssd run --from-host`: drives' own write counters, shown beside the model.

use crate::support::{repository, run, stderr, stdout, trimtab};
use serde_json::Value;

/// Serial number in every smartctl answer of these hosts.
const SERIAL: &str = "S3R1ALNUMBER42";

fn host_tree(name: &str) -> String {
    let path = repository().join("crates/trimtab/tests/data/drive-logs");
    path.join(name).display().to_string()
}

/// Runs a small scenario of a stored host.
fn run_scenario(source: &[&str], more: &[&str]) -> std::process::Output {
    let args = [
        "ssd",
        "run",
        "--from-host",
        "/",
        "--fill",
        "50%",
        "--simulated-pages",
        "32K",
        "--days",
        "7",
        "--alone",
        "--quiet",
    ];
    run(&[&args[..], source, more].concat())
}

fn json(source: &[&str], more: &[&str]) -> Value {
    let output = run_scenario(source, &[more, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn media_writes_skipped(document: &Value) -> Vec<String> {
    let skipped = document["skipped"].as_array().unwrap().iter();
    skipped
        .filter(|row| row["what"] == "media writes")
        .map(|row| format!("{} / {}", row["why"], row["needs"]))
        .collect()
}

/// Returns bytes written by the host and to the flash; `None` if unknown.
fn measured(document: &Value) -> Option<(u64, u64)> {
    let row = &document["result"]["measured"];
    Some((
        row["host_written_bytes"].as_u64()?,
        row["media_written_bytes"].as_u64()?,
    ))
}

const TB: u64 = 1_000_000_000_000;

#[test]
fn drive_counters_are_shown_beside_the_model() {
    for (name, bytes, shown, sources) in [
        (
            "nvme",
            (20 * TB, 46 * TB),
            "2.30",
            &[
                "smartctl -A nvme0n1: data_units_written",
                "nvme ocp smart-add-log nvme0n1: Physical media units written",
            ][..],
        ),
        (
            "raid0",
            (30 * TB, 54 * TB),
            "1.80",
            &[
                "nvme smart-log nvme1n1: data_units_written",
                "nvme ocp smart-add-log nvme1n1: physical_media_units_written",
            ],
        ),
        (
            "sata",
            (20 * TB, 35 * TB),
            "1.75",
            &[
                "smartctl -A sda: Logical Sectors Written",
                "smartctl -A sda: attributes 247 and 248",
            ],
        ),
    ] {
        let root = host_tree(name);
        let document = json(&["--root", &root], &[]);
        assert_eq!(measured(&document), Some(bytes), "{name}");
        let result = &document["result"];
        assert_eq!(result["label"], "scenario, beside measured media writes");
        assert!(result["write_amplification"].as_f64().unwrap() >= 1.0);
        let evidence = result["evidence"].to_string();
        for source in sources {
            assert!(evidence.contains(source), "{name}: {source}: {evidence}");
        }
        assert!(evidence.contains("since it was new"), "{evidence}");
        assert!(media_writes_skipped(&document).is_empty());
        let text = stdout(&run_scenario(&["--root", &root], &[]));
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_shown = joined.contains(&format!("{shown} by the drive's own counters"));
        assert!(is_shown, "{name}: {text}");
        assert!(!text.contains("scenario, not prediction"), "{text}");
    }
}

#[test]
fn without_drive_counters_the_reason_is_given() {
    let root = host_tree("nvme-without-ocp");
    let document = json(&["--root", &root], &[]);
    assert_eq!(document["result"]["label"], "scenario, not prediction");
    assert!(document["result"]["measured"].is_null());
    let skipped = media_writes_skipped(&document);
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    for part in ["nvme ocp smart-add-log", "nvme-cli", "--media-written"] {
        assert!(skipped[0].contains(part), "{part}: {skipped:?}");
    }
    // One half of the ratio is not evidence.
    let evidence = document["result"]["evidence"].to_string();
    assert!(!evidence.contains("data_units_written"), "{evidence}");
}

#[test]
fn one_drive_without_counters_disables_them_for_the_stripe() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("host");
    copy(std::path::Path::new(&host_tree("raid0")), &root);
    std::fs::write(
        root.join("cmd/nvme_ocp_smart_add_log_nvme1n1"),
        "{\"physical_media_units_written\": \"S3R1ALNUMBER42\"}",
    )
    .unwrap();
    let document = json(&["--root", root.to_str().unwrap()], &[]);
    assert_eq!(measured(&document), None);
    let skipped = media_writes_skipped(&document);
    assert!(
        skipped.len() == 1 && skipped[0].contains("nvme1n1") && skipped[0].contains("whole number"),
        "{skipped:?}"
    );
    assert!(!document.to_string().contains(SERIAL));
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn flags_override_drive_counters() {
    let root = host_tree("nvme");
    let flags = ["--host-written", "10TB", "--media-written", "15TB"];
    let document = json(&["--root", &root], &flags);
    assert_eq!(measured(&document), Some((10 * TB, 15 * TB)));
    let evidence = document["result"]["evidence"].to_string();
    assert!(!evidence.contains("smart-add-log"), "{evidence}");
    assert!(media_writes_skipped(&document).is_empty());
}

/// A bundle contains the counters but not the serial number.
#[test]
fn a_bundle_holds_counters_without_serial_numbers() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["nvme", "raid0", "sata"] {
        let root = host_tree(name);
        let answers = std::fs::read_dir(format!("{root}/cmd")).unwrap();
        let with_serial = answers.filter(|answer| {
            let path = answer.as_ref().unwrap().path();
            std::fs::read_to_string(path).unwrap().contains(SERIAL)
        });
        assert!(
            with_serial.count() > 0,
            "{name}: the fixture has no serial number"
        );
        for anonymise in [false, true] {
            let bundle = directory.path().join(format!("{name}-{anonymise}.tar.zst"));
            let path = bundle.to_str().unwrap();
            let mut args = vec!["collect", "--root", &root, "-o", path];
            args.extend(anonymise.then_some("--anonymise"));
            let output = run(&args);
            assert!(output.status.success(), "{}", stderr(&output));
            let plain = zstd::decode_all(std::fs::read(&bundle).unwrap().as_slice()).unwrap();
            let plain = String::from_utf8_lossy(&plain);
            // In lower case too, and the drive's other identifiers: wwn and eui64.
            for secret in [SERIAL, "271828182845", "s3r1alnumber42"] {
                assert!(!plain.contains(secret), "{name}: {secret}");
            }
            let document = json(&["--bundle", path], &[]);
            let live = json(&["--root", &root], &[]);
            assert!(measured(&live).is_some());
            assert_eq!(measured(&document), measured(&live), "{name} {anonymise}");
        }
    }
}

/// Drive counters do not affect `check`.
#[test]
fn check_does_not_use_drive_counters() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("host");
    copy(std::path::Path::new(&host_tree("nvme")), &root);
    let check = || stdout(&run(&["check", "--root", root.to_str().unwrap()]));
    let with = check();
    std::fs::remove_dir_all(root.join("cmd")).unwrap();
    assert_eq!(check(), with);
}

/// On the machine that runs the test: drive counters, or the reason why there are none.
#[test]
fn a_live_host_has_counters_or_a_reason() {
    // The root of a container is not on a block device.
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap();
    let mounts = String::from_utf8_lossy(&mounts);
    let is_root = |line: &str| line.split(' ').nth(4) == Some("/") && line.contains(" /dev/");
    if !mounts.lines().any(is_root) {
        return;
    }
    let output = trimtab()
        .args(["ssd", "run", "--from-host", "/"])
        .args(["--capacity", "100GB", "--writes-per-day", "10GB"])
        .args(["--fill", "50%", "--simulated-pages", "32K", "--days", "7"])
        .args(["--alone", "--quiet", "--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let label = document["result"]["label"].as_str().unwrap();
    if measured(&document).is_some() {
        assert_eq!(label, "scenario, beside measured media writes");
    } else {
        assert_eq!(label, "scenario, not prediction");
        assert!(!media_writes_skipped(&document).is_empty(), "{document}");
    }
}
