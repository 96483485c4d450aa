//! What `trimtab trim` answers: the dry run, how passes ended, which run or can be resumed.

mod dry_run;
mod status;
mod summary;

pub use dry_run::{dry_run, refused};
pub use status::{cancelled, status};
pub use summary::summary;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// When an answer that is kept was made, and by which version: `2026-11-03 07:12:00 UTC, trimtab 0.1.0`.
pub fn origin(at: Timestamp, tool_version: &str) -> String {
    let at = units::date::second(at, &TimeZone::UTC);
    format!("{at} UTC, trimtab {tool_version}")
}
