//! A page that loads nothing: sentences, pictures, tables, and a film of a small drive.

use super::bars::Bars;
use super::blockmap::Film;
use super::chart::Chart;
use super::grid::Grid;
use super::pages::Steps;
use super::svg;
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
    /// Words above what follows.
    Heading(String),
    /// Curves.
    Chart(Chart),
    /// Bars.
    Bars(Bars),
    /// Numbers by two settings, shaded.
    Grid(Grid),
    /// Names and cells.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A drive's pages, step by step.
    Steps(Steps),
    /// A small drive's blocks over time.
    Film(Film),
}

/// The page.
pub fn page(content: &Content) -> String {
    // A film is played by the page's own script; a page without one runs none.
    let runs_scripts = content.parts.iter().any(is_played);
    let mut out = page_start(&content.title, include_str!("page.css"), runs_scripts);
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
            Part::Heading(words) => {
                let _ = writeln!(out, "<h2>{}</h2>", escaped(words));
            }
            Part::Chart(chart) => out += &svg::chart(chart),
            Part::Bars(bars) => out += &bars.svg(),
            Part::Grid(grid) => out += &grid.svg(),
            Part::Table(head, rows) => out += &page_table(head, rows),
            Part::Steps(steps) => out += &steps.html(),
            Part::Film(film) if is_played(part) => show(&mut out, film),
            Part::Film(_) => {}
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

/// Whether it is a film with pictures.
fn is_played(part: &Part) -> bool {
    matches!(part, Part::Film(film) if !film.frames.is_empty())
}

/// The film, with what it needs to be played.
fn show(out: &mut String, film: &Film) {
    let last = film.frames.len() - 1;
    let stale = if film.has_stale {
        "<span><i class=\"stale\"></i> deleted, but the drive takes it for data</span> "
    } else {
        ""
    };
    let _ = write!(
        out,
        "<section id=\"film\">\n<h2>What collection does</h2>\n<p>{} Each square is a block, each \
         dot a page. A block is erased as a whole: what is valid in it is moved first.</p>\n<p \
         class=\"legend\"><span><i class=\"live\"></i> valid</span> {stale}<span><i \
         class=\"invalid\"></i> invalid</span> <span><i class=\"free\"></i> free</span></p>\n<canvas \
         role=\"img\" aria-label=\"Blocks of a drive and the state of their pages\"></canvas>\n<p \
         class=\"controls\"><button type=\"button\" id=\"play\">Play</button> <label>Picture <input \
         type=\"range\" id=\"frame\" min=\"0\" max=\"{last}\" value=\"{last}\"></label></p>\n<p \
         id=\"caption\" aria-live=\"polite\">{}</p>\n<noscript><p>The film needs scripts; the page \
         loads none from elsewhere.</p></noscript>\n</section>\n",
        escaped(&film.caption),
        escaped(&film.frames[last].caption)
    );
    // Digits and captions of our own: nothing in them ends a script.
    let frames: Vec<[&str; 2]> = film
        .frames
        .iter()
        .map(|frame| [frame.caption.as_str(), frame.pages.as_str()])
        .collect();
    let json = serde_json::to_string(&frames).expect("strings");
    let json = report::escape_json(&json).replace('<', "\\u003c");
    let _ = write!(
        out,
        "<script>\nconst FRAMES = {json};\nconst PAGES = {}, BLOCKS = {};\n{}</script>\n",
        film.pages_per_block,
        film.blocks,
        include_str!("page.js")
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ssd::bars::{Bar, Panel};
    use crate::commands::ssd::blockmap::Frame;
    use crate::commands::ssd::chart::Curve;
    use crate::commands::ssd::grid::{Cell, GridPanel};
    use crate::commands::ssd::pages::Step;
    use flash::block_mapped::Cell as PageCell;

    /// One of everything, with the words wherever words can be.
    fn content(words: &str) -> Content {
        let text = words.to_owned();
        let cell = || {
            vec![
                PageCell::Data(text.clone()),
                PageCell::Deleted(text.clone()),
            ]
        };
        Content {
            title: text.clone(),
            label: text.clone(),
            sentence: text.clone(),
            rows: vec![(text.clone(), text.clone())],
            parts: vec![
                Part::Heading(text.clone()),
                Part::Chart(Chart {
                    title: text.clone(),
                    x_label: text.clone(),
                    curves: vec![
                        Curve::line(words, vec![(0.0, 1.0), (1.0, 2.0)]),
                        Curve::dots(words, vec![(0.0, 1.0), (1.0, 2.0)]),
                    ],
                    ticks: vec![0.5],
                    tick_label: text.clone(),
                    ..Chart::default()
                }),
                Part::Bars(Bars {
                    title: text.clone(),
                    x_label: text.clone(),
                    mark_label: text.clone(),
                    panels: vec![Panel {
                        name: text.clone(),
                        bars: vec![Bar {
                            label: text.clone(),
                            value: 1.0,
                            marked: true,
                        }],
                    }],
                }),
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
                Part::Steps(Steps {
                    caption: text.clone(),
                    rows: vec![Step {
                        operation: text.clone(),
                        words: text.clone(),
                        flash: cell(),
                        buffer: Some(cell()),
                        counters: vec![text.clone()],
                    }],
                    counters: vec![text.clone()],
                }),
                Part::Film(Film {
                    pages_per_block: 64,
                    blocks: 1,
                    caption: text.clone(),
                    has_stale: true,
                    frames: vec![Frame {
                        caption: text.clone(),
                        pages: "0f".to_owned(),
                    }],
                }),
            ],
            notes: vec![text],
        }
    }

    #[test]
    fn words_stay_words() {
        let text = page(&content(
            "</script><img src=x onerror=\"alert(1)\">'&\u{202e}",
        ));
        assert_eq!(text.matches("<script>").count(), 1);
        assert_eq!(text.matches("</script>").count(), 1);
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

    #[test]
    fn a_page_without_a_film_runs_no_script() {
        let mut content = content("plain");
        content.parts.retain(|part| !matches!(part, Part::Film(_)));
        let text = page(&content);
        assert!(!text.contains("script"));
    }
}
