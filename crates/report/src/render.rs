//! Human-readable renderings of a check.

use crate::check::CheckReport;
use crate::views::check::{Detail, page};
use page::Terminal;

/// Options of the text format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// The terminal that it is shown on.
    pub terminal: Terminal,
    /// Whether to show every mount with its stack, every skipped check on its own, and the rules
    /// that ran.
    pub verbose: bool,
}

/// Renders a report for a terminal.
pub fn text(report: &CheckReport<'_>, options: &TextOptions) -> String {
    let detail = Detail {
        verbose: options.verbose,
        brief: true,
    };
    page::terminal(&page(report, detail), &options.terminal)
}

/// Detail for formats that do not scroll by.
const IN_FULL: Detail = Detail {
    verbose: false,
    brief: false,
};

/// Renders a report as Markdown, for a ticket.
pub fn markdown(report: &CheckReport<'_>) -> String {
    page::markdown(&page(report, IN_FULL))
}

/// Renders a report as a self-contained HTML page.
pub fn html(report: &CheckReport<'_>) -> String {
    page::html(&page(report, IN_FULL))
}
