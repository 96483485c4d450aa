//! Memory check: rejects simulations whose tables do not fit into memory.

use crate::error::CommandError;

/// Checks that `bytes` fit into available memory.
///
/// # Errors
/// When they do not fit. If available memory is unknown, the check passes.
pub fn require(bytes: u64) -> Result<(), CommandError> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match available(&meminfo) {
        Some(available) if bytes > available => Err(CommandError::environment(format!(
            "the tables take {}, and {} of memory are left",
            units::bytes(bytes),
            units::bytes(available)
        ))
        .hint("fewer or larger pages need less: --page-bytes, --simulated-pages")),
        _ => Ok(()),
    }
}

/// `MemAvailable` of /proc/meminfo (proc(5)).
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_read() {
        let text = "MemTotal:       24576000 kB\nMemAvailable:   12288 kB\n";
        assert_eq!(available(text), Some(12288 << 10));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert_eq!(available("MemAvailable: much\n"), None);
        let error = require(u64::MAX / 2).err();
        // Without /proc the check passes.
        if std::path::Path::new("/proc/meminfo").exists() {
            assert!(error.unwrap().message.contains("memory are left"));
        }
    }
}
