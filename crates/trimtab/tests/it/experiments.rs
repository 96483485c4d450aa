//! `trimtab bench trim` and `bench filesystems`: on the simulated drive, on loop devices, and on what they must not
//! touch. A real server is in lab/servers/test-filesystems.sh.

use crate::disk::{Disk, needs_root, tool};
use crate::support::{run, stderr, stdout, trimtab};
use serde_json::Value;
use std::fs;

/// What a command answers, which fits the schema.
fn answer(output: &std::process::Output) -> Value {
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)));
    let schema: Value = serde_json::from_slice(&run(&["bench", "--schema"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&answer), "{answer}");
    answer["result"].clone()
}

#[test]
fn the_simulated_drive_slows_down_without_trims() {
    let output = run(&[
        "bench", "trim", "--model", "--runs", "4", "--format", "json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = answer(&output);
    assert_eq!(result["drive"]["kind"], "model");
    assert!(result["effect"]["high"].as_f64().unwrap() < 0.9, "{result}");
    for arm in result["arms"].as_array().unwrap() {
        assert_eq!(arm["runs"].as_array().unwrap().len(), 4);
    }
    // What it is not is said with it.
    let text = stdout(&run(&["bench", "trim", "--model", "--runs", "3"]));
    assert!(text.contains("scenario, not prediction"), "{text}");
}

#[test]
fn trims_are_measured_on_a_loop_device_and_nothing_stays() {
    needs_root!();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let output = trimtab()
        .args([
            "bench",
            "trim",
            "--size",
            "320MiB",
            "--runs",
            "3",
            "--threads",
            "2",
        ])
        .args(["--trimmer", "trimtab", "--format", "json", "--loop-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    // What ended it early is in the answer.
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}{told}", stderr(&output));
    let result = answer(&output);
    assert_eq!(result["trimmer"], "trimtab trim");
    let [once, each] = &result["arms"].as_array().unwrap()[..] else {
        panic!("{result}");
    };
    let trimmed = |arm: &Value| -> Vec<bool> {
        let runs = arm["runs"].as_array().unwrap();
        runs.iter().map(|run| !run["trim_s"].is_null()).collect()
    };
    assert_eq!(trimmed(once), [true, false, false]);
    assert_eq!(trimmed(each), [true, true, true]);
    // The files of the run before are what there is to discard.
    let written = each["runs"][0]["measured"]["written_bytes"]
        .as_u64()
        .unwrap();
    let discarded = each["runs"][1]["trimmed_bytes"].as_u64().unwrap();
    assert!(discarded >= written / 2, "{discarded} of {written}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let devices = tool("losetup", &["--noheadings", "--output", "BACK-FILE"]);
    assert!(
        !devices.contains(folder.path().to_str().unwrap()),
        "{devices}"
    );
}

#[test]
fn what_is_not_theirs_is_refused() {
    needs_root!();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let disk = Disk::new("ext4", 64, "rw");
    fs::write(disk.path() + "/data", "precious").unwrap();
    let device = disk.device.clone();
    let refused = |arguments: &[&str], expected: &str| {
        let output = trimtab()
            .current_dir(folder.path())
            .arg("bench")
            .args(arguments)
            .output()
            .unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    };
    // In use, whatever the user says.
    refused(&["trim", "--device", &device, "--overwrite"], "is in use");
    refused(
        &["filesystems", "--device", &device, "--overwrite"],
        "is in use",
    );
    tool("umount", &[&disk.path()]);
    refused(
        &["trim", "--device", &device],
        "holds ext4; nothing was changed",
    );
    refused(
        &["filesystems", "--variants", "xfs,ext4,xfs"],
        "expected each of --variants once, found xfs twice",
    );
    refused(&["filesystems", "--device", &device], "--overwrite");
    refused(
        &["trim", "--device", "/dev/null"],
        "expected a block device",
    );
    refused(&["trim", "--device", "/no/such"], "/no/such");
    refused(
        &["filesystems", "--variants", "xfs"],
        "expected two or more --variants, found xfs",
    );
    refused(&["filesystems", "--variants", "xfs,zfs"], "zfs");
    refused(
        &[
            "filesystems",
            "--server",
            "mongodb-8.0.1",
            "--loop-dir",
            ".",
        ],
        "elasticsearch-VERSION",
    );
    refused(&["trim"], "--model");
    refused(
        &["trim", "--loop-dir", "/no/such"],
        "--loop-dir: /no/such: No such file",
    );
    tool("mount", &[&device, &disk.path()]);
    assert_eq!(
        fs::read_to_string(disk.path() + "/data").unwrap(),
        "precious"
    );
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert!(
        left.iter().all(|entry| entry.file_name() == "trials"),
        "{left:?}"
    );
}
