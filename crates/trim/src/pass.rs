//! One pass over one filesystem.

mod engine;
mod model;
#[cfg(test)]
mod tests;

pub use model::{
    ASSUMED_BYTES_PER_S, Closed, DEADLINE_PASSED, Ended, Event, Gate, Options, Outcome, Parts,
    Progress, Progressed, STALL_UNASKED, asked_to_end, describe_stop,
};

/// Makes a pass: measures the quiet level, then steps and waits until everything was visited or
/// something ends it. Whatever the end, the checkpoint tells how far it came (none is left by a
/// complete or cancelled pass).
pub fn run(parts: Parts<'_>, options: &Options, progress: &mut dyn Progress) -> Outcome {
    engine::run(parts, options, progress)
}
