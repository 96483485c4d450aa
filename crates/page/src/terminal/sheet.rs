//! Lines, paragraphs, labels and colours.

use super::options::Terminal;
use super::wrap::wrap;
use crate::block::{Level, Tone};
use std::fmt::Write as _;
use units::escape::{display_width, escape};

/// Fewer columns count as these.
const WIDTH_MIN: usize = 40;
/// Where labelled text starts.
pub(super) const MIDDLE: usize = 9;

/// The text so far.
pub(super) struct Sheet {
    pub out: String,
    pub options: Terminal,
    /// Columns to fill.
    pub width: usize,
    /// How many sections are open.
    pub depth: usize,
    /// The last line is a heading.
    pub is_below_heading: bool,
    /// The column behind the labels of the facts and trees that are shown.
    pub label_at: usize,
}

impl Sheet {
    pub fn new(options: &Terminal) -> Self {
        Self {
            out: String::new(),
            options: *options,
            width: options.width.max(WIDTH_MIN),
            depth: 0,
            is_below_heading: false,
            label_at: MIDDLE,
        }
    }

    /// Wrapped text at a column.
    pub fn paragraph(&mut self, indent: usize, text: &str, tone: Tone) {
        for line in wrap(text.trim(), self.width - indent) {
            let line = self.paint(&line, tone);
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// A label at a column, and wrapped text beside it at column `at`, or below where the label is longer.
    pub fn labelled(&mut self, indent: usize, at: usize, label: &str, text: &str, tone: Tone) {
        let label = escape(label).into_owned();
        let mut head = Some(label.as_str());
        if indent + display_width(&label) + 1 > at {
            let label = self.paint(&label, tone);
            self.line(&format!("{}{label}", " ".repeat(indent)));
            head = None;
        }
        for line in wrap(text.trim(), self.width - at) {
            let label = head.take().unwrap_or_default();
            let label = self.filled(label, at - indent, tone);
            self.line(&format!("{}{label}{line}", " ".repeat(indent)));
        }
    }

    /// A label, filled up to `columns`, at least one blank behind it.
    pub fn filled(&self, label: &str, columns: usize, tone: Tone) -> String {
        if label.is_empty() {
            return " ".repeat(columns);
        }
        let fill = columns.saturating_sub(display_width(label)).max(1);
        format!("{}{}", self.paint(label, tone), " ".repeat(fill))
    }

    /// Wrapped text behind a bullet.
    pub fn hanging(&mut self, bullet: &str, text: &str) {
        let columns = display_width(bullet);
        for (index, line) in wrap(text.trim(), self.width - columns).iter().enumerate() {
            let lead = if index == 0 {
                bullet.to_owned()
            } else {
                " ".repeat(columns)
            };
            self.line(&format!("{lead}{line}"));
        }
    }

    /// A command as it is to be pasted: never broken. One whose lines depend on each other (a here
    /// document, a quoted line break) stands at the left margin, so that no blank is added to it.
    pub fn command(&mut self, indent: usize, command: &str) {
        let is_balanced = |line: &str| {
            ['\'', '"']
                .iter()
                .all(|quote| line.matches(*quote).count() % 2 == 0)
        };
        let indent = if command.contains("<<") || !command.lines().all(is_balanced) {
            0
        } else {
            indent
        };
        for line in command.lines() {
            // Not through `line`, which trims.
            let _ = writeln!(self.out, "{}{}", " ".repeat(indent), escape(line));
        }
    }

    /// `title ------- aside`.
    pub fn heading(&mut self, title: &str, aside: &str) {
        let title = escape(title).into_owned();
        let aside = escape(aside).into_owned();
        let columns = display_width(&title) + display_width(&aside) + 2;
        if columns + 3 > self.width {
            self.paragraph(0, &title, Tone::Strong);
            self.paragraph(2, &aside, Tone::Dim);
            return;
        }
        let rule = if self.options.unicode { "─" } else { "-" };
        let line = format!(
            "{} {} {aside}",
            self.paint(&title, Tone::Strong),
            self.paint(&rule.repeat(self.width - columns), Tone::Dim)
        );
        self.line(&line);
    }

    /// The text with the codes of its tone around it, where colours are wanted.
    pub fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Dim => "2",
            Tone::Level(Level::Error) => "1;31",
            Tone::Level(Level::Warning) => "1;33",
            Tone::Level(Level::Note) => "36",
        };
        if self.options.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// A line as it is, without blanks at its end.
    pub fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    pub fn blank(&mut self) {
        self.out.push('\n');
    }
}
