//! What `trimtab ssd` answers, and how each answer is shown.

mod calibrate;
mod counters;
mod csv;
mod replay;
mod words;

pub use calibrate::{CalibrationAnswer, Fitted, calibration};
pub use counters::DriveCounters;
pub use replay::{ReplayAnswer, ReplayRun, replay, replay_warnings};
