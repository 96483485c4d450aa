use super::*;
use crate::block::{Commands, Evidence, Facts, Finding, Fix, Level, Node, Table, Tree};
use proptest::prelude::*;

fn narrow() -> Terminal {
    Terminal {
        width: 40,
        ..Terminal::default()
    }
}

fn terminal_blocks(list: &[Block], options: &Terminal) -> String {
    let mut sheet = Sheet::new(options);
    blocks(&mut sheet, list);
    sheet.out
}

fn shown(block: impl Into<Block>) -> String {
    terminal_blocks(&[block.into()], &narrow())
}

#[test]
fn a_page_begins_with_its_answer() {
    let page = Page {
        title: "not on a terminal".to_owned(),
        lead: "One thing was found.".to_owned(),
        about: vec!["host a".to_owned(), "now".to_owned()],
        cautions: vec!["Half of it could not be read.".to_owned()],
        blocks: vec![Block::text("Text.")],
        ..Page::default()
    };
    assert_eq!(
        terminal(&page, &narrow()),
        "One thing was found.\nhost a; now\ncaution  Half of it could not be read.\n\nText.\n"
    );
}

#[test]
fn fact_labels_have_a_common_width() {
    let rows = |pairs: &[(&str, &str)]| Facts::of(pairs.iter().copied());
    assert_eq!(
        shown(rows(&[("time", "3 h"), ("stack", "a")])),
        "time     3 h\nstack    a\n"
    );
    assert_eq!(
        shown(rows(&[
            ("write amplification at rest", "3"),
            ("longer than nine", "4")
        ])),
        "write amplification at rest\n                  3\nlonger than nine  4\n"
    );
}

#[test]
fn adjacent_facts_and_trees_share_a_label_column() {
    let fact = |label: &str| Block::from(Facts::of([(label, "x")]));
    let tree = Tree {
        title: "stack".to_owned(),
        nodes: vec![Node {
            text: "sda".to_owned(),
            ..Node::default()
        }],
    };
    let list = [
        fact("mounts"),
        tree.into(),
        fact("discarded"),
        Block::text("y"),
        fact("note"),
    ];
    assert_eq!(
        terminal_blocks(&list, &narrow()),
        "mounts     x\nstack      sda\ndiscarded  x\n\ny\n\nnote     x\n"
    );
}

#[test]
fn columns_are_aligned() {
    let mut table = Table::new(&["<name", "write amplification"]);
    table.row(["a", "1.25"]);
    table.row(["longer", "12"]);
    assert_eq!(
        shown(table),
        "name    write amplification\na                      1.25\nlonger                   12\n"
    );
}

#[test]
fn headings_are_broken_before_cells_are() {
    let mut table = Table::new(&["<name", "write amplification", "sustained rate"]);
    table.row(["a longer name", "1.25", "9"]);
    assert_eq!(
        shown(table),
        concat!(
            // Widths of 13, 13 and 9 columns.
            "                       write  sustained\n",
            "name           amplification       rate\n",
            "a longer name           1.25          9\n",
        )
    );
}

#[test]
fn narrow_tables_are_stacked() {
    let mut table = Table::new(&[
        "<name",
        "first number",
        "second number",
        "third number",
        "fourth",
    ]);
    table.row(["a", "1234567890", "1234567890", "1234567890", "9"]);
    assert_eq!(
        shown(table),
        "a\n  first number   1234567890\n  second number  1234567890\n  third number   1234567890\n  \
         fourth         9\n"
    );
}

#[test]
fn fixes_come_before_evidence() {
    let finding = Finding {
        level: Level::Warning,
        rule: "TRIM001".to_owned(),
        title: "Discards stop".to_owned(),
        subject: "/dev/x".to_owned(),
        why: "It hurts.".to_owned(),
        fixes: vec![Fix {
            text: "Do this.".to_owned(),
            command: Some("a --very-long-option-that-is-never-broken x".to_owned()),
            risk: Some("None.".to_owned()),
            undo: None,
            undo_command: Some("b".to_owned()),
        }],
        evidence: vec![Evidence {
            source: "sys/x".to_owned(),
            value: "0".to_owned(),
        }],
    };
    assert_eq!(
        shown(finding),
        concat!(
            "warning  TRIM001  Discards stop   /dev/x\n",
            "         why      It hurts.\n",
            "         fix      Do this.\n",
            "                  a --very-long-option-that-is-never-broken x\n",
            "         risk     None.\n",
            "         undo     b\n",
            "         evidence sys/x = 0\n",
        )
    );
}

#[test]
fn trees_have_guides_and_marks() {
    let leaf = |text: &str, mark: &str| Node {
        text: text.to_owned(),
        note: "takes it".to_owned(),
        mark: mark.to_owned(),
        level: Some(Level::Error),
        below: Vec::new(),
    };
    let tree = Tree {
        title: "stack".to_owned(),
        nodes: vec![Node {
            below: vec![leaf("a", ""), leaf("b", "")],
            ..leaf("top", "R1")
        }],
    };
    assert_eq!(
        shown(tree.clone()),
        "stack    top   takes it  <-- R1\n         ├─ a  takes it\n         └─ b  takes it\n"
    );
    let ascii = Terminal {
        unicode: false,
        ..narrow()
    };
    assert!(terminal_blocks(&[tree.into()], &ascii).is_ascii());
}

#[test]
fn only_top_level_sections_have_rules() {
    let mut inner = Section::new("inner");
    inner.push(Block::text("text"));
    let mut outer = Section::new("/data");
    outer.aside = "xfs".to_owned();
    outer.push(Block::text("first"));
    outer.push(inner);
    assert_eq!(
        shown(outer),
        format!("/data {} xfs\nfirst\n\ninner\ntext\n", "─".repeat(30))
    );
}

#[test]
fn here_documents_start_at_the_margin() {
    let commands = |lines: &str| Commands {
        title: String::new(),
        lines: lines.to_owned(),
    };
    assert_eq!(shown(commands("a\nb")), "  a\n  b\n");
    assert_eq!(shown(commands("cat <<E\nx\nE")), "cat <<E\nx\nE\n");
    assert_eq!(shown(commands("echo 'a\nb'")), "echo 'a\nb'\n");
}

#[test]
fn the_lines_of_a_json_body_are_indented() {
    let finding = |command: &str| Finding {
        level: Level::Note,
        rule: "ES004".to_owned(),
        title: "title".to_owned(),
        subject: String::new(),
        why: String::new(),
        fixes: vec![Fix {
            text: "Do it.".to_owned(),
            command: Some(command.to_owned()),
            undo_command: Some(command.to_owned()),
            ..Fix::default()
        }],
        evidence: Vec::new(),
    };
    let indented = |columns: usize, command: &str| {
        let margin = " ".repeat(columns);
        let lines: Vec<String> = command.lines().map(|line| margin.clone() + line).collect();
        lines.join("\n")
    };
    for (columns, body) in [
        (18, "\"a\": null"),
        (9, &*format!("\"{}\": 1", "a".repeat(60))),
    ] {
        let command = format!("curl -X PUT x \\\n  -d '{{\"transient\": {{\n  {body}}}}}'");
        let shown = terminal(
            &Page {
                blocks: vec![finding(&command).into()],
                ..Page::default()
            },
            &Terminal::default(),
        );
        assert_eq!(
            shown.matches(&indented(columns, &command)).count(),
            2,
            "{shown}"
        );
    }
}

#[test]
fn untrusted_text_is_escaped() {
    let text = "x\n\nerror    TRIM001  forged\u{1b}]0;t\u{7}";
    for block in [
        Block::text(text),
        Facts::of([(text, text)]).into(),
        Section::new(text).into(),
        List::new(text, [text]).into(),
    ] {
        let shown = terminal_blocks(&[block], &Terminal::default());
        assert!(
            !shown.contains('\u{1b}') && !shown.contains("\nerror"),
            "{shown}"
        );
    }
}

proptest! {
    #[test]
    fn tables_fit(names in prop::collection::vec("[a-z ]{0,20}", 1..6), cells in prop::collection::vec("[a-z0-9 ]{0,30}", 0..30), width in 40_usize..120) {
        let columns: Vec<String> = names.iter().enumerate().map(|(i, name)| if i % 2 == 0 { format!("<{name}") } else { name.clone() }).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut table = Table::new(&columns);
        for row in cells.chunks_exact(columns.len()) {
            table.row(row.iter().map(String::as_str));
        }
        let options = Terminal { width, ..Terminal::default() };
        for line in terminal_blocks(&[table.into()], &options).lines() {
            prop_assert!(display_width(line) <= width, "{line:?}");
        }
    }
}
