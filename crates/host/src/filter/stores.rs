//! Filters the files of stores and the platform: command lines, configurations, os-release, DMI.

mod config;
mod platform;
mod process;

use crate::unread::Unread;

/// Filters the files of stores and the platform.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Unread>> {
    // A container's files are filtered like a host's; they are seen through proc/PID/root.
    let inside = process::in_root_of_process(path).unwrap_or(path);
    if inside == "var/lib/dpkg/status" {
        return Some(Ok(config::keep_dpkg_status(bytes)));
    }
    if config::is_config(inside) {
        return Some(config::keep(inside, bytes));
    }
    process::keep(path, bytes)
        .or_else(|| platform::keep(path, bytes))
        .map(Ok)
}

/// Filters a file, and asserts that filtering the result again changes nothing.
#[cfg(test)]
fn kept(path: &str, text: &str) -> String {
    let bytes = keep(path, text.as_bytes()).unwrap().unwrap();
    assert_eq!(
        keep(path, &bytes),
        Some(Ok(bytes.clone())),
        "{path}: not stable"
    );
    String::from_utf8(bytes).unwrap()
}
