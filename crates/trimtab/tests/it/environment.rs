//! Unusual process environments: a full disk behind stderr, a non-UTF-8 variable.

use crate::disk::{Disk, needs_root, of_type, parse};
use crate::support::stdout;
use std::fs::File;
use std::process::{Command, Stdio};

/// Returns /dev/full: writes fail as on a full disk.
fn dev_full() -> Stdio {
    Stdio::from(File::options().write(true).open("/dev/full").unwrap())
}

#[test]
fn an_unwritable_stderr_keeps_the_exit_code() {
    for (variable, value) in [("TRIMTAB_LOG", ""), ("TRIMTAB_LOG", "=nonsense=")] {
        let status = Command::new(env!("CARGO_BIN_EXE_trimtab"))
            .args(["trim", "/no/such/place"])
            .env(variable, value)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(dev_full())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(2), "{variable}={value}");
    }
}

#[test]
fn an_unwritable_stderr_does_not_stop_later_passes() {
    needs_root!();
    let disks = [64, 65].map(|mib| Disk::new("ext4", mib, "rw"));
    // Nothing listens on port 1.
    let green = ["--require-green", "http://127.0.0.1:1/"];
    let paths = disks.each_ref().map(Disk::path);
    let output = disks[0]
        .trim(&[&paths[0], &paths[1], green[0], green[1], "--format", "json"])
        .stderr(dev_full())
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
fn a_non_utf8_log_filter_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let output = Command::new(env!("CARGO_BIN_EXE_trimtab"))
        .args(["trim", "/no/such/place"])
        .env("TRIMTAB_LOG", std::ffi::OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("TRIMTAB_LOG is ignored: it is not UTF-8"),
        "{text}"
    );
}
