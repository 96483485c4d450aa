//! What a program may be started with.

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
