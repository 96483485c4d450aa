//! Human-readable renderings of a check.

use crate::check::CheckReport;
use crate::views::check::{Detail, page};
use page::Terminal;

/// Options of the text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Line width in columns, at least 40. Commands and paths of evidence are never wrapped and may
    /// exceed it.
    pub width: usize,
    /// Whether to use colours (ANSI SGR sequences).
    pub color: bool,
    /// Whether to show every mount with its stack, every skipped check on its own, and the rules
    /// that ran.
    pub verbose: bool,
    /// Whether to use box-drawing characters; otherwise trees and rules are ASCII.
    pub unicode: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            verbose: false,
            unicode: true,
        }
    }
}

/// Renders a report for a terminal.
pub fn text(report: &CheckReport<'_>, options: &TextOptions) -> String {
    let detail = Detail {
        verbose: options.verbose,
        brief: true,
    };
    let terminal = Terminal {
        width: options.width,
        color: options.color,
        unicode: options.unicode,
    };
    page::terminal(&page(report, detail), &terminal)
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
