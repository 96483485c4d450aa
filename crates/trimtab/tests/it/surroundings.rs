//! What a program may be started with.

use crate::disk::{Disk, needs_root, of_type, parse};
use crate::support::stdout;
use std::fs::File;
use std::process::{Command, Stdio};

/// As where a log's disk is full.
fn full() -> Stdio {
    Stdio::from(File::options().write(true).open("/dev/full").unwrap())
}

#[test]
fn an_error_that_nobody_can_be_told_of_ends_as_usual() {
    for (variable, value) in [("TRIMTAB_LOG", ""), ("TRIMTAB_LOG", "=nonsense=")] {
        let status = Command::new(env!("CARGO_BIN_EXE_trimtab"))
            .args(["trim", "/no/such/place"])
            .env(variable, value)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(full())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(2), "{variable}={value}");
    }
}

#[test]
fn an_error_that_nobody_can_be_told_of_does_not_end_the_passes_that_follow() {
    needs_root!();
    let disks = [64, 65].map(|mib| Disk::new("ext4", mib, "rw"));
    // Nobody listens at port 1.
    let green = ["--require-green", "http://127.0.0.1:1/"];
    let paths = disks.each_ref().map(Disk::path);
    let output = disks[0]
        .trim(&[&paths[0], &paths[1], green[0], green[1], "--format", "json"])
        .stderr(full())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let lines = parse(&stdout(&output));
    let refused: Vec<_> = of_type(&lines, "ended")
        .iter()
        .map(|ended| (&ended["mount_point"], &ended["outcome"]))
        .collect();
    let expected = paths.map(|path| (path.into(), "refused".into()));
    assert_eq!(
        refused,
        expected.each_ref().map(|(path, word)| (path, word))
    );
}

#[test]
fn a_log_filter_that_is_no_text_is_told() {
    use std::os::unix::ffi::OsStrExt;
    let output = Command::new(env!("CARGO_BIN_EXE_trimtab"))
        .args(["trim", "/no/such/place"])
        .env("TRIMTAB_LOG", std::ffi::OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("TRIMTAB_LOG is ignored: it is not UTF-8"),
        "{told}"
    );
}
