//! The forms of `check`'s answer for people.

use crate::check::CheckReport;
use crate::views::check::{Detail, page};
use page::Terminal;

/// How the text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns to fill; less than 40 counts as 40. Commands and the paths of evidence are never
    /// broken and may exceed it.
    pub width: usize,
    /// Colours, by ANSI SGR sequences.
    pub color: bool,
    /// Every mount with its stack, every skipped check by itself, the rules that ran.
    pub verbose: bool,
    /// Box-drawing characters; otherwise trees and rules are ASCII.
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

/// What is shown where nothing scrolls by.
const IN_FULL: Detail = Detail {
    verbose: false,
    brief: false,
};

/// Renders a report for a ticket.
pub fn markdown(report: &CheckReport<'_>) -> String {
    page::markdown(&page(report, IN_FULL))
}

/// Renders a report for a browser: a page that loads nothing.
pub fn html(report: &CheckReport<'_>) -> String {
    page::html(&page(report, IN_FULL))
}
