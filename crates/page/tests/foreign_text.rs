//! Foreign text in every place of a page: no renderer lets it control a terminal, forge a line or add
//! markup.

use page::chart::{
    Annotation, Axis, Bar, BarChart, BarPanel, Curve, HeatCell, HeatGrid, HeatPanel, LineChart,
    Spans,
};
use page::{
    Block, Cell, Commands, Evidence, Facts, Finding, Fix, Level, List, Node, Page, Section, Table,
    Terminal, Tree,
};
use proptest::prelude::*;

/// A page with `text` in each place that takes text, except commands, whose lines are kept.
#[allow(clippy::too_many_lines)] // every kind of block once
fn page_of(text: &str) -> Page {
    let own = || text.to_owned();
    let mut table = Table::new(&[text, "<b"]);
    table.title = own();
    table.row([text, text]);
    table.rows[0][1].section = Some("id".to_owned());
    table.row([text, text]);
    table.rows[1][0].file = Some(own());
    let node = Node {
        text: own(),
        note: own(),
        mark: own(),
        level: Some(Level::Error),
        below: vec![Node {
            text: own(),
            note: own(),
            ..Node::default()
        }],
    };
    let lines = LineChart {
        title: own(),
        x: Axis {
            label: own(),
            ..Axis::default()
        },
        y_label: own(),
        curves: vec![Curve {
            range_name: own(),
            ..Curve::line(text, (0..50).map(|x| (f64::from(x), f64::from(x % 7))))
        }],
        marks: vec![Spans::new(own(), [(3.0, 3.0), (5.0, 9.0)])],
        runs: vec![Spans::new(own(), [(2.0, 4.0)])],
        annotations: vec![Annotation {
            at: 4.0,
            text: own(),
        }],
        ..LineChart::default()
    };
    let bars = BarChart {
        title: own(),
        x_label: own(),
        mark_label: own(),
        panels: vec![BarPanel {
            name: own(),
            bars: vec![Bar {
                label: own(),
                value: 3.0,
                text: own(),
                marked: true,
            }],
        }],
        ..BarChart::default()
    };
    let heat = HeatGrid {
        title: own(),
        legend: own(),
        columns_name: own(),
        columns: vec![own()],
        rows_name: own(),
        rows: vec![own()],
        base: 1.0,
        panels: vec![HeatPanel {
            name: own(),
            cells: vec![vec![Some(HeatCell {
                value: 2.0,
                below: own(),
            })]],
        }],
        ..HeatGrid::default()
    };
    let finding = Finding {
        level: Level::Error,
        rule: own(),
        title: own(),
        subject: own(),
        why: own(),
        fixes: vec![Fix {
            text: own(),
            command: Some("true".to_owned()),
            risk: Some(own()),
            undo: Some(own()),
            undo_command: Some("false".to_owned()),
        }],
        evidence: vec![Evidence {
            source: own(),
            value: own(),
        }],
    };
    let blocks: Vec<Block> = vec![
        Block::text(text),
        Block::aside(text),
        Facts::of([(text, text)]).into(),
        List::new(text, [text]).into(),
        table.into(),
        Tree {
            title: own(),
            nodes: vec![node],
        }
        .into(),
        lines.into(),
        bars.into(),
        heat.into(),
        finding.into(),
        Commands::new(text, "true").into(),
    ];
    Page {
        title: own(),
        lead: own(),
        about: vec![own()],
        cautions: vec![own()],
        blocks: vec![
            Section {
                id: "id".to_owned(),
                title: own(),
                aside: own(),
                is_folded: true,
                blocks,
            }
            .into(),
        ],
        ..Page::default()
    }
}

/// A line break that forges a finding, and sequences that set the title, colour and direction.
const FORGED: &str = "x\n\nerror    TRIM001  forged\r\n# forged\u{1b}]0;t\u{7}\u{9b}31m\u{202e}<script>alert(1)</script>|`a";

fn is_harmless(shown: &str) -> bool {
    !shown
        .chars()
        .any(|c| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c))
}

#[test]
fn a_terminal_shows_foreign_text_on_its_own_lines() {
    for (unicode, width) in [(true, 80), (false, 80), (true, 40)] {
        let options = Terminal {
            unicode,
            width,
            ..Terminal::default()
        };
        let shown = page::terminal(&page_of(FORGED), &options);
        assert!(is_harmless(&shown), "{shown}");
        for line in shown.lines() {
            assert!(!line.starts_with("error    TRIM001"), "{shown}");
        }
    }
}

#[test]
fn a_document_keeps_foreign_text_in_its_place() {
    let page = page_of(FORGED);
    let html = page::html(&page);
    assert!(
        is_harmless(&html) && !html.contains("<script>alert"),
        "{html}"
    );
    let markdown = page::markdown(&page);
    assert!(is_harmless(&markdown), "{markdown}");
    for line in markdown.lines() {
        assert!(
            !line.starts_with("error    TRIM001") && line != "# forged",
            "{markdown}"
        );
    }
}

/// A cell made of foreign text cannot end its row.
#[test]
fn a_cell_is_one_cell() {
    let mut table = Table::new(&["<a", "<b"]);
    table
        .rows
        .push(vec![Cell::from("x | y\nz"), Cell::from("`|`")]);
    let mut page = Page::default();
    page.push(table);
    let markdown = page::markdown(&page);
    let rows: Vec<&str> = markdown
        .lines()
        .filter(|line| line.starts_with('|'))
        .collect();
    assert_eq!(rows.len(), 3, "{markdown}");
    let bars = rows[2].replace("\\|", "").matches('|').count();
    assert_eq!(bars, 3, "{markdown}");
}

proptest! {
    #[test]
    fn no_text_controls_a_terminal(text in "(\\PC|[\\x00-\\x1f\\x7f-\\x9f\u{202a}-\u{202e}]|\n){0,60}") {
        let page = page_of(&text);
        prop_assert!(is_harmless(&page::terminal(&page, &Terminal::default())));
        prop_assert!(is_harmless(&page::html(&page)));
        prop_assert!(is_harmless(&page::markdown(&page)));
    }
}
