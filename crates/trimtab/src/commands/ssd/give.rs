//! An answer in the form that was asked for.

use super::args::SsdFormat;
use crate::error::CommandError;
use crate::output;
use page::{Page, Terminal};

/// Prints an answer.
///
/// # Errors
/// When it cannot be written.
pub fn give<T>(
    format: SsdFormat,
    answer: T,
    page: impl FnOnce(&T) -> Page,
    csv: impl FnOnce(&T) -> String,
    json: impl FnOnce(T) -> Result<String, CommandError>,
) -> Result<(), CommandError> {
    output::print(&match format {
        SsdFormat::Text => {
            let terminal = Terminal {
                width: usize::from(output::terminal_columns()),
                color: output::use_color(),
                unicode: output::use_unicode(),
            };
            page::terminal(&page(&answer), &terminal)
        }
        SsdFormat::Html => page::html(&page(&answer)),
        SsdFormat::Markdown => page::markdown(&page(&answer)),
        SsdFormat::Csv => csv(&answer),
        SsdFormat::Json => json(answer)?,
    })
}
