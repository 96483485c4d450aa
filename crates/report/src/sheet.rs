//! What is written on for a terminal: lines, paragraphs and colours, of every report alike.

use crate::render::TextOptions;
use ::page::wrap;

/// Fewer columns count as these.
const WIDTH_MIN: usize = 40;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    /// What wants to be looked at.
    Warning,
    /// What is good to know.
    Note,
}

/// The text so far.
pub(crate) struct Sheet {
    pub out: String,
    pub options: TextOptions,
    /// Columns to fill.
    pub width: usize,
}

impl Sheet {
    pub fn new(options: &TextOptions) -> Self {
        Self {
            out: String::new(),
            options: *options,
            width: options.width.max(WIDTH_MIN),
        }
    }

    /// Wrapped text at a column.
    pub fn paragraph(&mut self, indent: usize, text: &str, style: Style) {
        for line in wrap(text, self.width - indent) {
            let line = self.paint(&line, style);
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// The text with the codes of its style around it, where colours are wanted.
    pub fn paint(&self, text: &str, style: Style) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Warning => "1;33",
            Style::Note => "36",
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
