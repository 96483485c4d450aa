//! Page that lists the rules, and the rule reference in Markdown.

use page::{Block, Page};
use rules::Rule;
use std::fmt::Write;

/// Builds the page that lists every rule in one line.
pub fn list(rules: &[Rule]) -> Page {
    let line = |rule: &Rule| (rule.id.to_owned(), rule.title.to_owned());
    let mut page = Page::default();
    page.push(Block::Facts(rules.iter().map(line).collect()));
    page.push(Block::text("`trimtab rule ID` explains one."));
    page
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
    fn anchors_match_those_of_renderers() {
        assert_eq!(anchor("# FS001: Btrfs, and more\n"), "fs001-btrfs-and-more");
    }
}
