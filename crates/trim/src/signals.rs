//! SIGINT, SIGTERM and SIGHUP end a pass in good order. Handlers are set in the parent only: a child
//! that is in FITRIM dies of a signal only while it has the default disposition.

use crate::privilege::status_mask;
use crate::stop::{Stop, StopRequest};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::time::{Duration, Instant};

/// A second signal that comes this long after the first is meant: somebody does not want to wait.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// Lets signals ask for a stop. A signal that the caller ignores (SIGHUP under nohup, SIGINT in a
/// shell's background) stays ignored; but not SIGTERM, with which `--cancel` wakes a pass.
///
/// # Errors
/// Where handlers cannot be set.
pub fn listen(stop: &Stop) -> io::Result<()> {
    let ignored = ignored_signals();
    let wanted: Vec<i32> = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&number| number == SIGTERM || ignored & (1 << (number - 1)) == 0)
        .collect();
    let mut signals = Signals::new(wanted)?;
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // A mask comes from the caller too, and is an accident more often than a wish: this
            // thread hears what all others are deaf to.
            let _ = crate::child::unblock_signals();
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
        .map(|_| ())
}

/// Asks for a stop when the time is over, even in the middle of a call to the kernel.
///
/// # Errors
/// Where no thread can be started.
pub fn end_after(stop: &Stop, left: Duration) -> io::Result<()> {
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("deadline".to_owned())
        .spawn(move || {
            std::thread::sleep(left);
            stop.request(StopRequest::Deadline);
        })
        .map(|_| ())
}

/// The mask of ignored signals; none where it cannot be read.
fn ignored_signals() -> u64 {
    status_mask("SigIgn").unwrap_or(0)
}
