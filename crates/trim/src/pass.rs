//! One pass over one filesystem.

mod engine;
mod model;
#[cfg(test)]
mod tests;

pub use model::{
    ASSUMED_BYTES_PER_S, Closed, DEADLINE_PASSED, Ended, Event, Gate, Options, Outcome, Parts,
    Progress, Progressed, STALL_MAX_DEFAULT, describe_stop, requested_end,
};

/// Runs a pass: measures the quiet level, then makes steps and waits until everything was visited
/// or something ends it. Whatever the end, the checkpoint records how far it came (a complete or
/// cancelled pass leaves none).
pub fn run(parts: Parts<'_>, options: &Options, progress: &mut dyn Progress) -> Outcome {
    engine::run(parts, options, progress)
}
