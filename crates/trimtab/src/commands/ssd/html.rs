//! A page that loads nothing: sentences, pictures, tables, and a film of a small drive.

use super::bars::Bars;
use super::blockmap::Film;
use super::chart::Chart;
use super::grid::Grid;
use super::pages::Steps;
use super::ranges::Ranges;
use super::svg;
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
    /// Numbers with their ranges.
    Ranges(Ranges),
    /// Names and cells.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A drive's pages, step by step.
    Steps(Steps),
    /// A small drive's blocks over time.
    Film(Film),
}

/// Text that cannot be taken for markup; what would steer a terminal or disguise text is shown.
pub fn escaped(text: &str) -> String {
    let shown = report::escape(text);
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The page.
pub fn page(content: &Content) -> String {
    let title = escaped(&content.title);
    // A film is played by the page's own script; a page without one runs none.
    let scripts = if content.parts.iter().any(is_played) {
        "; script-src 'unsafe-inline'"
    } else {
        ""
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
         http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; \
         form-action 'none'; style-src 'unsafe-inline'{scripts}\">\n<meta name=\"generator\" \
         content=\"trimtab {}\">\n<title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <main>\n<h1>{title}</h1>\n<p class=\"label\">{}</p>\n<p class=\"sentence\">{}</p>\n",
        env!("CARGO_PKG_VERSION"),
        include_str!("page.css"),
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
            Part::Ranges(ranges) => out += &ranges.svg(),
            Part::Table(head, rows) => table(&mut out, head, rows),
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
    out + "</main>\n</body>\n</html>\n"
}

/// Whether it is a film with pictures.
fn is_played(part: &Part) -> bool {
    matches!(part, Part::Film(film) if !film.frames.is_empty())
}

fn table(out: &mut String, head: &[String], rows: &[Vec<String>]) {
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for name in head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            if index == 0 {
                let _ = write!(out, "<th scope=\"row\">{cell}</th>");
            } else {
                let _ = write!(out, "<td>{cell}</td>");
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
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
    use crate::commands::ssd::ranges::Range;
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
                Part::Ranges(Ranges {
                    title: text.clone(),
                    ranges: vec![Range {
                        name: text.clone(),
                        words: text.clone(),
                        value: 1.0,
                        low: Some(0.5),
                        high: None,
                        given: false,
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
