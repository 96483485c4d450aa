//! Exit statuses of child processes.

use signal_hook::consts::SIGCHLD;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Undoes an inherited `SIG_IGN` for SIGCHLD. While it is ignored, the kernel discards exit statuses and
/// `wait()` fails with ECHILD (wait(2), notes). A no-op handler is enough; exec resets it to the default in
/// every child.
pub fn reset_sigchld() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ignores_child(&status) {
        // A failure leaves things as they were.
        let _ = signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)));
    }
}

/// Reads the `SigIgn` mask of /proc/PID/status (proc(5)); bit n-1 is signal n.
fn ignores_child(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 << (SIGCHLD - 1) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read() {
        assert!(ignores_child("SigBlk:\t0\nSigIgn:\t0000000000010000\n"));
        assert!(!ignores_child(
            "SigIgn:\t0000000000001000\nSigCgt:\t0000000000010000\n"
        ));
        assert!(!ignores_child("SigIgn:\tx\n") && !ignores_child(""));
    }
}
