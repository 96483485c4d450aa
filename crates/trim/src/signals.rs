//! SIGINT, SIGTERM and SIGHUP end a pass in an orderly way. Handlers are set in the parent only: a
//! child inside FITRIM dies of a signal only while the signal has its default disposition.

use crate::privilege::status_mask;
use crate::stop::{Stop, StopRequest};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::time::{Duration, Instant};

/// A second signal at least this long after the first is deliberate: the user does not want to
/// wait.
const REPEAT_AFTER_MIN: Duration = Duration::from_secs(1);

/// Makes signals request a stop.
///
/// # Errors
/// As [`on_end`].
pub fn listen(stop: &Stop) -> io::Result<()> {
    let (requested, stop) = (stop.clone(), stop.clone());
    on_end(
        move || requested.requested().is_some(),
        move |number| stop.request(StopRequest::Signal(number)),
    )
}

/// Calls `stop` with the number of each signal that asks for an end. One that comes a second or more after the first
/// ends the process at once; one that comes sooner is the same wish, sent to the process and again to its group, as
/// timeout(1) does. `is_stopping` tells whether the first was heeded, or belongs to work that is over.
///
/// A signal that the caller ignores (SIGHUP under nohup, SIGINT in a
/// shell's background) stays ignored, except SIGTERM, which `--cancel` uses to wake a pass.
///
/// # Errors
/// If handlers cannot be set.
pub fn on_end(
    is_stopping: impl Fn() -> bool + Send + 'static,
    stop: impl Fn(i32) + Send + 'static,
) -> io::Result<()> {
    let ignored = ignored_signals();
    let wanted: Vec<i32> = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&number| number == SIGTERM || ignored & (1 << (number - 1)) == 0)
        .collect();
    let mut signals = Signals::new(wanted)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // The mask is inherited from the caller too, more often by accident than on purpose, so
            // this thread unblocks the signals that may be blocked for all others.
            let _ = crate::child::unblock_signals();
            let mut first: Option<Instant> = None;
            for number in signals.forever() {
                if !is_stopping() {
                    // An earlier signal was meant for a pass that has ended.
                    first = None;
                }
                stop(number);
                let since = *first.get_or_insert_with(Instant::now);
                if since.elapsed() >= REPEAT_AFTER_MIN {
                    // The checkpoint is saved.
                    let _ = emulate_default_handler(number);
                }
            }
        })
        .map(|_| ())
}

/// Requests a stop when the time is over, even in the middle of a system call.
///
/// # Errors
/// If no thread can be started.
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

/// Returns the mask of ignored signals; empty if it cannot be read.
fn ignored_signals() -> u64 {
    status_mask("SigIgn").unwrap_or(0)
}
