use super::*;
use crate::block::{Level, Table, Tone};

/// Returns a page with `words` in every text field.
fn page(words: &str) -> Page {
    let text = words.to_owned();
    let mut table = Table::new(&["<name", "value"]);
    table.title.clone_from(&text);
    table.row([text.clone(), text.clone()]);
    let mut section = Section::new(words);
    section.aside.clone_from(&text);
    section.push(table);
    Page {
        title: text.clone(),
        lead: text.clone(),
        tone: Tone::Level(Level::Error),
        about: vec![text.clone()],
        cautions: vec![text.clone()],
        blocks: vec![
            Block::text(words),
            Facts::of([(words, words)]).into(),
            List::new(words, [words]).into(),
            Tree {
                title: text.clone(),
                nodes: vec![Node {
                    text: text.clone(),
                    note: text.clone(),
                    mark: text.clone(),
                    level: Some(Level::Warning),
                    below: vec![Node::default()],
                }],
            }
            .into(),
            Finding {
                level: Level::Error,
                rule: text.clone(),
                title: text.clone(),
                subject: text.clone(),
                why: text.clone(),
                fixes: vec![Fix {
                    text: text.clone(),
                    command: Some(text.clone()),
                    risk: Some(text.clone()),
                    undo: Some(text.clone()),
                    undo_command: Some(text.clone()),
                }],
                evidence: vec![Evidence {
                    source: text.clone(),
                    value: text.clone(),
                }],
            }
            .into(),
            Commands::new(words, text).into(),
            section.into(),
        ],
    }
}

#[test]
fn untrusted_text_is_not_markup() {
    let text = html(&page(
        "</p><script>alert(1)</script>\"><img src=x onerror='a'>&\u{202e}",
    ));
    for markup in ["<script", "<img", "\u{202e}", "\"><img", "onerror='"] {
        assert!(!text.contains(markup), "{markup}");
    }
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let text = html(&page("plain"));
    for word in [
        "http://", "https://", "src=", "@import", "url(", "<script", "onclick",
    ] {
        assert!(!text.contains(word), "{word}");
    }
    assert!(text.contains("default-src 'none'"));
}

#[test]
fn code_is_code() {
    assert_eq!(words("run `a<b` now"), "run <code>a&lt;b</code> now");
    assert_eq!(words("a ` b"), "a ` b");
    assert_eq!(words("`a``b`"), "<code>a</code><code>b</code>");
}

#[test]
fn cells_know_their_column() {
    let text = html(&page("x"));
    assert!(
        text.contains("<td role=\"cell\" data-column=\"value\">x</td>"),
        "{text}"
    );
    assert!(text.contains(
        "<th role=\"rowheader\" scope=\"row\" class=\"words\" data-column=\"name\">x</th>"
    ));
}
