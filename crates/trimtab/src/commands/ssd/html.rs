//! A page that loads nothing: sentences, pictures, tables.

use super::grid::Grid;
use report::{PAGE_END, escape_html as escaped, page_start, page_table};
use std::fmt::Write as _;

/// What a page shows.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its heading.
    pub title: String,
    /// What it is worth.
    pub label: String,
    /// All of it in words.
    pub sentence: String,
    /// What the reader should know.
    pub notes: Vec<String>,
    /// Pictures and tables, the most telling one first.
    pub parts: Vec<Part>,
    /// Labelled facts.
    pub rows: Vec<(String, String)>,
}

/// A picture or table.
#[derive(Debug, Clone)]
pub enum Part {
    /// Numbers by two settings, shaded.
    Grid(Grid),
    /// Names and cells.
    Table(Vec<String>, Vec<Vec<String>>),
}

/// The page.
pub fn page(content: &Content) -> String {
    let mut out = page_start(&content.title, include_str!("page.css"), false);
    let _ = writeln!(
        out,
        "<h1>{}</h1>\n<p class=\"label\">{}</p>\n<p class=\"sentence\">{}</p>",
        escaped(&content.title),
        escaped(&content.label),
        escaped(&content.sentence)
    );
    for note in &content.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
    for part in &content.parts {
        match part {
            Part::Grid(grid) => out += &grid.svg(),
            Part::Table(head, rows) => out += &page_table(head, rows),
        }
    }
    if !content.rows.is_empty() {
        out += "<dl>\n";
        for (label, words) in &content.rows {
            let _ = writeln!(
                out,
                "<dt>{}</dt><dd>{}</dd>",
                escaped(label),
                escaped(words)
            );
        }
        out += "</dl>\n";
    }
    out + PAGE_END
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ssd::grid::{Cell, GridPanel};

    /// One of everything, with the words wherever words can be.
    fn content(words: &str) -> Content {
        let text = words.to_owned();
        Content {
            title: text.clone(),
            label: text.clone(),
            sentence: text.clone(),
            rows: vec![(text.clone(), text.clone())],
            parts: vec![
                Part::Grid(Grid {
                    title: text.clone(),
                    legend: text.clone(),
                    columns_name: text.clone(),
                    columns: vec![text.clone()],
                    rows_name: text.clone(),
                    rows: vec![text.clone()],
                    panels: vec![GridPanel {
                        name: text.clone(),
                        cells: vec![vec![Some(Cell {
                            value: 2.0,
                            words: text.clone(),
                            below: text.clone(),
                        })]],
                    }],
                }),
                Part::Table(vec![text.clone()], vec![vec![text.clone(), text.clone()]]),
            ],
            notes: vec![text],
        }
    }

    #[test]
    fn words_stay_words() {
        let text = page(&content(
            "</script><img src=x onerror=\"alert(1)\">'&\u{202e}",
        ));
        assert!(!text.contains("<script") && !text.contains("</script>"));
        assert!(!text.contains("<img") && !text.contains('\u{202e}'));
        assert!(!text.contains("onerror=\""));
    }

    #[test]
    fn nothing_is_loaded() {
        let text = page(&content("plain"));
        for word in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!text.contains(word), "{word}");
        }
        assert!(text.contains("default-src 'none'"));
    }
}
