//! The text being rendered: lines, paragraphs, labels and colours.

use super::options::Terminal;
use super::wrap::wrap;
use crate::block::{Level, Tone};
use std::fmt::Write as _;
use units::escape::{display_width, escape};

/// Minimum width; a narrower terminal is treated as this wide.
const WIDTH_MIN: usize = 40;
/// Column at which labelled text starts.
pub(super) const MIDDLE: usize = 9;

/// The output buffer.
pub(super) struct Sheet {
    pub out: String,
    pub options: Terminal,
    /// Width in columns.
    pub width: usize,
    /// Number of open sections.
    pub depth: usize,
    /// Whether the last line is a heading.
    pub is_below_heading: bool,
    /// The column after the labels of the current facts and trees.
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

    /// Writes wrapped text at an indentation.
    pub fn paragraph(&mut self, indent: usize, text: &str, tone: Tone) {
        for line in wrap(text.trim(), self.width - indent) {
            let line = self.paint(&line, tone);
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// Writes a label at an indentation, and wrapped text beside it from column `at`, or below it if the
    /// label is too long.
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

    /// Pads a label to `columns`, with at least one blank after it.
    pub fn filled(&self, label: &str, columns: usize, tone: Tone) -> String {
        if label.is_empty() {
            return " ".repeat(columns);
        }
        let fill = columns.saturating_sub(display_width(label)).max(1);
        format!("{}{}", self.paint(label, tone), " ".repeat(fill))
    }

    /// Writes wrapped text after a bullet, with a hanging indent.
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

    /// Writes a command verbatim, to be pasted; never broken. If blanks would change it (in a here
    /// document, or after a quoted line break), it starts at the left margin. One that is too wide at its
    /// indentation moves to the left if it fits there.
    pub fn command(&mut self, indent: usize, command: &str) {
        let indent = if may_be_indented(command) {
            let widest = command.lines().map(display_width).max().unwrap_or(0);
            [indent, MIDDLE.min(indent), 2.min(indent)]
                .into_iter()
                .find(|indent| indent + widest <= self.width)
                .unwrap_or(indent)
        } else {
            0
        };
        for line in command.lines() {
            // Not with `line`, which trims.
            let _ = writeln!(self.out, "{}{}", " ".repeat(indent), escape(line));
        }
    }

    /// Writes `title ------- aside`.
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

    /// Returns the text in the colour of its tone, if colours are enabled.
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

    /// Writes a line, without trailing blanks.
    pub fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    pub fn blank(&mut self) {
        self.out.push('\n');
    }
}

/// Whether a command stays the same with blanks before each of its lines.
fn may_be_indented(command: &str) -> bool {
    let is_balanced = |text: &str| {
        ['\'', '"']
            .iter()
            .all(|quote| text.matches(*quote).count() % 2 == 0)
    };
    if command.contains("<<") {
        return false;
    }
    if command.lines().all(is_balanced) {
        return true;
    }
    // Blanks between the members of a JSON object, the last argument, mean nothing.
    match command.split_once("'{") {
        Some((before, json)) => {
            before.lines().all(is_balanced)
                && json.strip_suffix("}'").is_some_and(|members| {
                    !members.contains('\'') && members.lines().all(is_balanced)
                })
        }
        None => false,
    }
}
