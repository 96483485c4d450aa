//! SIGINT, SIGTERM and SIGHUP end a pass in good order. Handlers are set in the parent only: a child
//! that is in FITRIM dies of a signal only while it has the default disposition.

use crate::error::{CommandError, Kind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::time::{Duration, Instant};
use trim::stop::{Stop, StopRequest};

/// A second signal that comes this long after the first is meant: somebody does not want to wait.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// Lets signals ask for a stop. A signal that the caller ignores (SIGHUP under nohup, SIGINT in a
/// shell's background) stays ignored; but not SIGTERM, with which `--cancel` wakes a pass.
///
/// # Errors
/// Where handlers cannot be set.
pub fn listen(stop: &Stop) -> Result<(), CommandError> {
    let ignored = ignored_signals();
    let wanted: Vec<i32> = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&number| number == SIGTERM || ignored & (1 << (number - 1)) == 0)
        .collect();
    let failed = |error: std::io::Error| {
        CommandError::new(Kind::Environment, format!("signal handlers: {error}"))
    };
    let mut signals = Signals::new(wanted).map_err(failed)?;
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // A mask comes from the caller too, and is an accident more often than a wish: this
            // thread hears what all others are deaf to.
            let _ = trim::child::unblock_signals();
            let mut first: Option<Instant> = None;
            for number in signals.forever() {
                if stop.requested().is_none() {
                    // An earlier one was meant for a pass that has ended.
                    first = None;
                }
                stop.request(StopRequest::Signal(number));
                let since = *first.get_or_insert_with(Instant::now);
                if since.elapsed() >= IMPATIENCE {
                    // The checkpoint stands, and the guardian puts limits back.
                    let _ = emulate_default_handler(number);
                }
            }
        })
        .map_err(failed)?;
    Ok(())
}

/// Asks for a stop when the time is over, even in the middle of a call to the kernel.
///
/// # Errors
/// Where no thread can be started.
pub fn end_after(stop: &Stop, left: Duration) -> Result<(), CommandError> {
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("deadline".to_owned())
        .spawn(move || {
            std::thread::sleep(left);
            stop.request(StopRequest::Deadline);
        })
        .map(|_| ())
        .map_err(|error| CommandError::new(Kind::Environment, format!("--deadline: {error}")))
}

/// The mask of ignored signals; none where it cannot be read.
fn ignored_signals() -> u64 {
    status_mask("SigIgn").unwrap_or(0)
}

/// Whether this process may trim: `CAP_SYS_ADMIN`, which root in a container often lacks.
pub fn may_trim() -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    status_mask("CapEff").map_or_else(
        || rustix::process::geteuid().is_root(),
        |capabilities| capabilities & CAP_SYS_ADMIN != 0,
    )
}

/// A mask of /proc/self/status (proc(5)).
fn status_mask(name: &str) -> Option<u64> {
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
