//! Pages of `trimtab trim`: the dry run, how passes ended, and which are running or can be resumed.

mod dry_run;
mod status;
mod summary;

pub use dry_run::{dry_run, refused};
pub use status::{cancelled, status};
pub use summary::summary;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats time and version for a saved page: `2026-11-03 07:12:00 UTC, trimtab 0.1.0`.
pub fn origin(at: Timestamp, tool_version: &str) -> String {
    let at = units::date::second(at, &TimeZone::UTC);
    format!("{at} UTC, trimtab {tool_version}")
}
