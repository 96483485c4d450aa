//! Workloads and trim schedules of the command line.

pub use flash::setup::{Mix, TrimWhen};

use units::ValueError;

/// A mix of workloads.
///
/// # Errors
/// If it is none.
pub fn mix(text: &str) -> Result<Mix, ValueError> {
    text.parse()
}

/// A trim schedule.
///
/// # Errors
/// If it is none.
pub fn trim_when(text: &str) -> Result<TrimWhen, ValueError> {
    text.parse()
}
