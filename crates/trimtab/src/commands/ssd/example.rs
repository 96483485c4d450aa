//! The articles' stories.

mod five_pages;
mod schedules;
mod ten_runs;

use super::args::{Example, ExampleName};
use crate::config::SsdConfig;
use crate::error::CommandError;
pub use five_pages::FivePages;
pub use schedules::Schedules;
pub use ten_runs::TenRuns;

/// Where the JSON documents come from.
const SOURCE: &str = "example";

/// Runs `trimtab ssd example`.
///
/// # Errors
/// When it could not run.
pub fn run(arguments: &Example, config: &SsdConfig, quiet: bool) -> Result<(), CommandError> {
    let format = arguments.format.or(config.format).unwrap_or_default();
    match arguments.name {
        ExampleName::FivePages => five_pages::run(format),
        ExampleName::TenRuns => ten_runs::run(format, quiet),
        ExampleName::Schedules => schedules::run(format, quiet),
    }
}
