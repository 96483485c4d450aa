//! Markdown pages in GitHub's flavour, for a ticket or a chat.

use crate::block::{
    Align, Block, Evidence, Finding, Fix, List, Node, Page, Section, Table, Text, Tone,
};
use crate::prose::rendered;
use std::fmt::Write as _;
use units::escape::escape;

/// Renders a page as Markdown. A chart becomes its table.
pub fn markdown(page: &Page) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n\n{}", words(&page.title), words(&page.lead));
    if !page.about.is_empty() {
        let _ = writeln!(out, "\n_{}_", words(&page.about.join("; ")));
    }
    for caution in &page.cautions {
        let _ = writeln!(out, "\n> **Caution:** {}", words(caution));
    }
    blocks(&mut out, &page.blocks, 2);
    out
}

fn blocks(out: &mut String, list: &[Block], level: usize) {
    for block in list {
        out.push('\n');
        match block {
            Block::Text(text) => paragraph(out, text),
            Block::List(list) => show_list(out, list),
            Block::Facts(facts) => {
                for (label, text) in &facts.rows {
                    let _ = writeln!(out, "- **{}:** {}", words(label), words(text));
                }
            }
            Block::Table(table) => show_table(out, table),
            Block::Lines(content) => {
                chart(out, &content.title, &content.table());
                if let Some(events) = content.events() {
                    out.push('\n');
                    show_table(out, &events);
                }
            }
            Block::Bars(content) => chart(out, &content.title, &content.table()),
            Block::Heat(grid) => chart(out, &grid.title, &grid.table()),
            Block::Tree(tree) => {
                show_title(out, &tree.title);
                nodes(out, &tree.nodes, 0);
            }
            Block::Finding(finding) => show_finding(out, finding, level),
            Block::Commands(commands) => {
                if !commands.title.is_empty() {
                    let _ = writeln!(out, "{}\n", words(&commands.title));
                }
                fence(out, &commands.lines, "");
            }
            Block::Section(section) => show_section(out, section, level),
        }
    }
}

fn chart(out: &mut String, title: &str, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    show_title(out, title);
    show_table(out, table);
}

fn paragraph(out: &mut String, text: &Text) {
    let words = words(&text.text);
    let _ = match text.tone {
        Tone::Plain => writeln!(out, "{words}"),
        Tone::Dim => writeln!(out, "_{words}_"),
        Tone::Strong | Tone::Level(_) => writeln!(out, "**{words}**"),
    };
}

fn show_list(out: &mut String, list: &List) {
    show_title(out, &list.title);
    for item in &list.items {
        let _ = writeln!(out, "- {}", words(item));
    }
}

fn show_table(out: &mut String, table: &Table) {
    show_title(out, &table.title);
    out.push('|');
    for column in &table.columns {
        let _ = write!(out, " {} |", words(&column.name));
    }
    out.push_str("\n|");
    for column in &table.columns {
        out.push_str(match column.align {
            Align::Left => " --- |",
            Align::Right => " ---: |",
        });
    }
    out.push('\n');
    for row in &table.rows {
        out.push('|');
        for cell in row {
            let _ = write!(out, " {} |", words(&cell.text));
        }
        out.push('\n');
    }
}

fn nodes(out: &mut String, list: &[Node], depth: usize) {
    for node in list {
        let _ = write!(out, "{}- {}", "  ".repeat(depth), words(&node.text));
        if !node.note.is_empty() {
            let _ = write!(out, " ({})", words(&node.note));
        }
        if !node.mark.is_empty() {
            let _ = write!(out, " **{}**", words(&node.mark));
        }
        out.push('\n');
        nodes(out, &node.below, depth + 1);
    }
}

fn show_finding(out: &mut String, finding: &Finding, level: usize) {
    let _ = writeln!(
        out,
        "{} {} {}: {}",
        "#".repeat(level.min(6)),
        finding.level.word(),
        words(&finding.rule),
        words(&finding.title)
    );
    if !finding.subject.is_empty() {
        let _ = writeln!(out, "\n_{}_", words(&finding.subject));
    }
    if !finding.why.is_empty() {
        let _ = writeln!(out, "\n{}", words(&finding.why));
    }
    for (index, fix) in finding.fixes.iter().enumerate() {
        show_fix(out, if index == 0 { "Fix" } else { "Or" }, fix);
    }
    if !finding.evidence.is_empty() {
        out.push_str("\n**Evidence:**\n\n");
        for Evidence { source, value } in &finding.evidence {
            let _ = writeln!(out, "- {} = {}", code(source), code(value));
        }
    }
}

fn show_fix(out: &mut String, label: &str, fix: &Fix) {
    let _ = writeln!(out, "\n**{label}:** {}", words(&fix.text));
    if let Some(command) = &fix.command {
        out.push('\n');
        fence(out, command, "sh");
    }
    if let Some(risk) = &fix.risk {
        let _ = writeln!(out, "\nRisk: {}", words(risk));
    }
    if let Some(undo) = &fix.undo {
        let _ = writeln!(out, "\nUndo: {}", words(undo));
    }
    if let Some(command) = &fix.undo_command {
        out.push_str("\nUndo:\n\n");
        fence(out, command, "sh");
    }
}

fn show_section(out: &mut String, section: &Section, level: usize) {
    let _ = writeln!(
        out,
        "{} {}",
        "#".repeat(level.min(6)),
        words(&section.title)
    );
    if !section.aside.is_empty() {
        let _ = writeln!(out, "\n_{}_", words(&section.aside));
    }
    blocks(out, &section.blocks, level + 1);
}

/// Renders lines verbatim, between fences that are longer than any run of backticks in them.
fn fence(out: &mut String, lines: &str, language: &str) {
    let fence = "`".repeat(longest_run(lines).max(2) + 1);
    let _ = writeln!(out, "{fence}{language}");
    for line in lines.lines() {
        let _ = writeln!(out, "{}", escape(line));
    }
    let _ = writeln!(out, "{fence}");
}

/// Renders a code span, delimited by more backticks than occur in it.
fn code(text: &str) -> String {
    let shown = escape(text);
    let ticks = "`".repeat(longest_run(&shown) + 1);
    // A span may neither be empty nor begin or end with a backtick.
    let gap = if shown.is_empty() || shown.starts_with('`') || shown.ends_with('`') {
        " "
    } else {
        ""
    };
    // A bar ends a table cell even inside code.
    format!("{ticks}{gap}{}{gap}{ticks}", shown.replace('|', "\\|"))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Renders prose on one line.
fn words(text: &str) -> String {
    rendered(text, plain, code)
}

/// Writes a title, if there is one.
fn show_title(out: &mut String, title: &str) {
    if !title.is_empty() {
        let _ = writeln!(out, "**{}**\n", words(title));
    }
}

/// Escapes text so that nothing in it is markup, a mention or a ticket reference.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in escape(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            c => out.push(c),
        }
    }
    // Prevents automatic links.
    out.replace("://", "\\://").replace("www.", "www\\.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Facts;

    #[test]
    fn untrusted_text_is_not_markup() {
        assert_eq!(
            words("<img> [a](b) *x* @you #1 | `a|b`"),
            "&lt;img&gt; \\[a\\](b) \\*x\\* &#64;you &#35;1 \\| `a\\|b`"
        );
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(words("https://evil www.evil"), r"https\://evil www\.evil");
        let mut out = String::new();
        fence(&mut out, "```\nx\u{1b}", "sh");
        assert_eq!(out, "````sh\n```\nx\\u{1b}\n````\n");
    }

    #[test]
    fn a_complete_page() {
        let mut table = Table::new(&["<name", "value"]);
        table.row(["a_b", "1 TiB"]);
        let page = Page {
            title: "Title".to_owned(),
            lead: "Run `x`.".to_owned(),
            about: vec!["here".to_owned(), "now".to_owned()],
            cautions: vec!["careful".to_owned()],
            blocks: vec![table.into(), Facts::of([("k", "v")]).into()],
            ..Page::default()
        };
        assert_eq!(
            markdown(&page),
            "# Title\n\nRun `x`.\n\n_here; now_\n\n> **Caution:** careful\n\n| name | value |\n| --- | \
             ---: |\n| a\\_b | 1 TiB |\n\n- **k:** v\n"
        );
    }
}
