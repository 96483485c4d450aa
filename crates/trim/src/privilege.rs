//! Privileges of this process, from /proc/self/status.

/// Returns whether this process may trim: `CAP_SYS_ADMIN`, which root in a container often lacks.
pub fn may_trim() -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    status_mask("CapEff").map_or_else(
        || rustix::process::geteuid().is_root(),
        |capabilities| capabilities & CAP_SYS_ADMIN != 0,
    )
}

/// Reads a mask from /proc/self/status (proc(5)).
pub(crate) fn status_mask(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    mask_in(&status, name)
}

fn mask_in(status: &str, name: &str) -> Option<u64> {
    status
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| u64::from_str_radix(value.trim(), 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_found_by_name() {
        let status =
            "SigIgn:\t0000000000000001\nSigCgt:\t0000000000004002\nCapEff:\t000001ffffffffff\n";
        assert_eq!(mask_in(status, "SigIgn"), Some(1));
        assert_eq!(mask_in(status, "CapEff"), Some(0x1ff_ffff_ffff));
        assert_eq!(mask_in(status, "CapPrm"), None);
        assert_eq!(mask_in("CapEff: xyz\n", "CapEff"), None);
    }
}
