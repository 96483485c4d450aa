//! Labelled rows that fit a terminal: pages of `ssd` that have no view yet.

use report::wrap;

/// Where labels and texts start.
const LABEL: usize = 2;
const TEXT: usize = 14;

/// A page of labelled rows.
#[derive(Debug)]
pub struct Page {
    out: String,
    width: usize,
}

impl Page {
    /// An empty page.
    pub fn new(width: usize) -> Self {
        Self {
            out: String::new(),
            width: width.max(40),
        }
    }

    /// Columns that a row's text may take.
    pub fn room(&self) -> usize {
        self.width - TEXT
    }

    /// A line from the left edge, wrapped.
    pub fn head(&mut self, text: &str) {
        for (index, line) in wrap(text, self.width - LABEL).into_iter().enumerate() {
            if index > 0 {
                self.out.push_str("  ");
            }
            self.line(&line);
        }
    }

    /// A labelled text, wrapped.
    pub fn row(&mut self, label: &str, text: &str) {
        let lines = wrap(text, self.room());
        self.rows(label, &lines);
    }

    /// A labelled text in lines of its own.
    pub fn rows(&mut self, label: &str, lines: &[String]) {
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let head = format!("{:LABEL$}{label}", "");
            self.line(&format!("{head:TEXT$}{line}"));
        }
    }

    /// A blank line between blocks.
    pub fn blank(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// What stands on it.
    pub fn finish(self) -> String {
        self.out
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_the_page() {
        let mut page = Page::new(40);
        page.head("/data: something that takes more than one line here");
        page.row("time", "about three hours and more than one line");
        page.rows("stack", &["a".to_owned(), "b".to_owned()]);
        let text = page.finish();
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(text.contains("  time        about three hours"), "{text}");
        assert!(
            text.contains("  stack       a\n              b\n"),
            "{text}"
        );
    }
}
