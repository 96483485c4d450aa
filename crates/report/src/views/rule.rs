//! Page that lists the rules, the page of one, and the rule reference in Markdown.

use page::{Block, Commands, Facts, List, Page, Section, Table, Tone};
use rules::Rule;
use std::fmt::Write;

/// Builds the page that lists every rule in one line.
pub fn list(rules: &[Rule]) -> Page {
    let mut page = Page::default();
    page.push(Facts::of(rules.iter().map(|rule| (rule.id, rule.title))));
    page.push(Block::text("`trimtab rule ID` explains one."));
    page
}

/// Builds the page of a rule from its documentation: headings, paragraphs, lists, tables and commands.
pub fn explained(rule: &Rule) -> Page {
    of_markdown(&rule.documentation())
}

fn of_markdown(markdown: &str) -> Page {
    let mut page = Page {
        tone: Tone::Strong,
        ..Page::default()
    };
    let mut sections: Vec<Section> = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(title) = line.strip_prefix("# ") {
            title.clone_into(&mut page.lead);
            continue;
        }
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section::new(title));
            continue;
        }
        let block = if line.starts_with("```") {
            let commands: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !line.starts_with("```"))
                .collect();
            Commands::new("", commands.join("\n")).into()
        } else {
            let mut block = vec![line];
            while let Some(next) = lines.next_if(|next| continues(line, next)) {
                block.push(next);
            }
            of_lines(&block)
        };
        match sections.last_mut() {
            Some(section) => section.push(block),
            None => page.push(block),
        }
    }
    page.extend(sections);
    page
}

/// Whether a line belongs to the block that `first` begins.
fn continues(first: &str, line: &str) -> bool {
    let is_table = |line: &str| line.starts_with('|');
    let is_item = |line: &str| line.starts_with("- ");
    !line.trim().is_empty()
        && !line.starts_with('#')
        && !line.starts_with("```")
        && is_table(first) == is_table(line)
        && (is_item(first) || !is_item(line))
}

/// Builds a table, a list or a paragraph.
fn of_lines(lines: &[&str]) -> Block {
    if lines[0].starts_with('|') {
        return of_table(lines).into();
    }
    if !lines[0].starts_with("- ") {
        return Block::text(lines.join(" "));
    }
    let mut items: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix("- "), items.last_mut()) {
            (None, Some(item)) => {
                item.push(' ');
                item.push_str(line.trim());
            }
            (item, _) => items.push(item.unwrap_or(line).to_owned()),
        }
    }
    List::new("", items).into()
}

/// Builds a table. Columns of numbers are aligned to the right.
fn of_table(lines: &[&str]) -> Table {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    // The second line only separates the heading.
    let rows: Vec<Vec<String>> = lines.iter().skip(2).map(|line| cells(line)).collect();
    let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit());
    let names: Vec<String> = cells(lines[0])
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let is_right = index > 0 && rows.iter().filter_map(|row| row.get(index)).all(is_number);
            if is_right { name } else { format!("<{name}") }
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new(&names);
    for row in rows {
        table.row(row);
    }
    table
}

/// Returns the documentation of every rule in Markdown, after a table of contents.
pub fn reference(rules: &[Rule]) -> String {
    let mut text =
        "# Rules\n\nMade by `make docs` from the rules' own doc comments: do not edit.\n\n"
            .to_owned();
    for rule in rules {
        let anchor = anchor(&rule.documentation());
        let _ = writeln!(text, "- [{}](#{anchor}) {}", rule.id, rule.title);
    }
    for rule in rules {
        let _ = write!(text, "\n{}", demote_headings(&rule.documentation()));
    }
    text
}

/// Moves headings one level down, for a page with all rules. Lines in fenced code are kept.
fn demote_headings(markdown: &str) -> String {
    let mut fenced = false;
    let mut text = String::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if line.starts_with('#') && !fenced {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns the anchor that Markdown renderers give the page's first heading.
fn anchor(markdown: &str) -> String {
    let heading = markdown
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches('#')
        .trim();
    heading
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_code_is_unchanged() {
        assert_eq!(
            demote_headings("# A\n```\n# b\n```\n"),
            "## A\n```\n# b\n```\n"
        );
    }

    #[test]
    fn every_kind_of_block_fits_80_columns() {
        let long = "word ".repeat(30);
        let text = format!(
            "# T001: a title\n\n## What it finds\n{long}\n{long}\n\n- an item\n  of two lines\n- another\n\n\
             | | 10 shards |\n|---|---|\n| 6.8 | 29 |\n\n```\nrm x\n```\nThe end.\n"
        );
        let shown = page::terminal(&of_markdown(&text), &page::Terminal::default());
        assert!(shown.starts_with("T001: a title\n"), "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
        for expected in [
            "What it finds ",
            "- an item of two lines\n- another\n",
            "\n  rm x\n",
            "29",
        ] {
            assert!(shown.contains(expected), "{expected:?} in {shown}");
        }
        assert!(!shown.contains("##") && !shown.contains("|---"), "{shown}");
    }

    #[test]
    fn no_rule_exceeds_80_columns() {
        for rule in rules::all() {
            let shown = page::terminal(&explained(rule), &page::Terminal::default());
            let long: Vec<&str> = shown
                .lines()
                .filter(|line| line.chars().count() > 80)
                .collect();
            assert!(long.is_empty(), "{}: {long:#?}", rule.id);
        }
    }

    #[test]
    fn anchors_match_those_of_renderers() {
        assert_eq!(anchor("# FS001: Btrfs, and more\n"), "fs001-btrfs-and-more");
    }
}
