//! HTML pages: a single file that loads nothing, runs no script and is complete without styles.

mod bars;
mod drawing;
mod heat;
mod lines;
mod table;
mod text;

use crate::block::{
    Block, Commands, Evidence, Finding, Fix, List, Node, Page, Section, Text, Tone, Tree,
};
use std::fmt::Write as _;
use text::{escaped, words};

/// Renders a page as HTML.
pub fn html(page: &Page) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
         http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; \
         form-action 'none'; style-src 'unsafe-inline'\">\n<meta name=\"color-scheme\" \
         content=\"light dark\">\n",
    );
    let _ = write!(
        out,
        "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{}</h1>\n",
        escaped(&page.title),
        include_str!("page.css"),
        include_str!("chart.css"),
        words(&page.title),
    );
    if !page.lead.is_empty() {
        let class = tone_class(page.tone);
        let _ = writeln!(out, "<p class=\"lead{class}\">{}</p>", words(&page.lead));
    }
    if !page.about.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"about\">{}</p>",
            words(&page.about.join("; "))
        );
    }
    for caution in &page.cautions {
        let _ = writeln!(
            out,
            "<p class=\"caution\"><strong>Caution:</strong> {}</p>",
            words(caution)
        );
    }
    out += "</header>\n";
    let mut writer = Writer { out, charts: 0 };
    writer.blocks(&page.blocks, 2);
    writer.out + "</main>\n</body>\n</html>\n"
}

/// Returns the CSS class of a tone, with a leading blank.
fn tone_class(tone: Tone) -> String {
    match tone {
        Tone::Plain => String::new(),
        Tone::Strong => " strong".to_owned(),
        Tone::Dim => " dim".to_owned(),
        Tone::Level(level) => format!(" {}", level.word()),
    }
}

struct Writer {
    out: String,
    /// Number of charts so far, which makes their ids unique.
    charts: usize,
}

impl Writer {
    /// Renders blocks with headings of a given level.
    fn blocks(&mut self, blocks: &[Block], level: usize) {
        for block in blocks {
            match block {
                Block::Text(text) => self.text(text),
                Block::List(list) => self.list(list),
                Block::Facts(rows) => self.facts(rows),
                Block::Table(content) => self.out += &table::table(content),
                Block::Lines(chart) => {
                    let id = self.chart_id();
                    self.out += &lines::lines(chart, &id);
                }
                Block::Bars(chart) => {
                    let id = self.chart_id();
                    self.out += &bars::bars(chart, &id);
                }
                Block::Heat(grid) => {
                    let id = self.chart_id();
                    self.out += &heat::heat(grid, &id);
                }
                Block::Tree(tree) => self.tree(tree),
                Block::Finding(finding) => self.finding(finding, level),
                Block::Commands(commands) => self.commands(commands),
                Block::Section(section) => self.section(section, level),
            }
        }
    }

    /// Returns an id for a chart that is unique within the page.
    fn chart_id(&mut self) -> String {
        self.charts += 1;
        format!("chart{}", self.charts)
    }

    fn text(&mut self, text: &Text) {
        let class = tone_class(text.tone);
        let _ = writeln!(
            self.out,
            "<p class=\"{}\">{}</p>",
            class.trim_start(),
            words(&text.text)
        );
    }

    fn list(&mut self, list: &List) {
        if !list.title.is_empty() {
            let _ = writeln!(self.out, "<p class=\"title\">{}</p>", words(&list.title));
        }
        self.out += "<ul>\n";
        for item in &list.items {
            let _ = writeln!(self.out, "<li>{}</li>", words(item));
        }
        self.out += "</ul>\n";
    }

    fn facts(&mut self, rows: &[(String, String)]) {
        self.out += "<dl>\n";
        for (label, text) in rows {
            let _ = writeln!(
                self.out,
                "<dt>{}</dt><dd>{}</dd>",
                words(label),
                words(text)
            );
        }
        self.out += "</dl>\n";
    }

    fn tree(&mut self, tree: &Tree) {
        if !tree.title.is_empty() {
            let _ = writeln!(self.out, "<p class=\"title\">{}</p>", words(&tree.title));
        }
        self.nodes(&tree.nodes, "tree");
    }

    fn nodes(&mut self, nodes: &[Node], class: &str) {
        if nodes.is_empty() {
            return;
        }
        let _ = writeln!(self.out, "<ul class=\"{class}\">");
        for node in nodes {
            let _ = write!(self.out, "<li>{}", escaped(&node.text));
            if !node.note.is_empty() {
                let _ = write!(
                    self.out,
                    " <span class=\"dim\">{}</span>",
                    escaped(&node.note)
                );
            }
            if !node.mark.is_empty() {
                let class = node.level.map_or("", |level| level.word());
                let _ = write!(
                    self.out,
                    " <span class=\"mark {class}\">{}</span>",
                    escaped(&node.mark)
                );
            }
            self.nodes(&node.below, "");
            self.out += "</li>\n";
        }
        self.out += "</ul>\n";
    }

    fn finding(&mut self, finding: &Finding, level: usize) {
        let word = finding.level.word();
        let heading = level.min(6);
        let _ = writeln!(
            self.out,
            "<article class=\"finding {word}\">\n<h{heading}><span class=\"badge {word}\">{word} \
             {}</span> {}</h{heading}>",
            escaped(&finding.rule),
            words(&finding.title)
        );
        if !finding.subject.is_empty() {
            let _ = writeln!(
                self.out,
                "<p class=\"dim\">{}</p>",
                escaped(&finding.subject)
            );
        }
        let _ = writeln!(self.out, "<p>{}</p>", words(&finding.why));
        for (index, fix) in finding.fixes.iter().enumerate() {
            self.fix(if index == 0 { "Fix" } else { "Or" }, fix);
        }
        self.evidence(&finding.evidence);
        self.out += "</article>\n";
    }

    fn fix(&mut self, label: &str, fix: &Fix) {
        let _ = writeln!(
            self.out,
            "<p><strong>{label}:</strong> {}</p>",
            words(&fix.text)
        );
        if let Some(command) = &fix.command {
            self.code(command);
        }
        if let Some(risk) = &fix.risk {
            let _ = writeln!(
                self.out,
                "<p class=\"dim\"><strong>Risk:</strong> {}</p>",
                words(risk)
            );
        }
        if fix.undo.is_some() || fix.undo_command.is_some() {
            let undo = fix.undo.as_deref().unwrap_or_default();
            let _ = writeln!(
                self.out,
                "<p class=\"dim\"><strong>Undo:</strong> {}</p>",
                words(undo)
            );
        }
        if let Some(command) = &fix.undo_command {
            self.code(command);
        }
    }

    fn evidence(&mut self, evidence: &[Evidence]) {
        if evidence.is_empty() {
            return;
        }
        self.out += "<details><summary>Evidence</summary>\n<dl class=\"evidence\">\n";
        for piece in evidence {
            let _ = writeln!(
                self.out,
                "<dt><code>{}</code></dt><dd><code>{}</code></dd>",
                escaped(&piece.source),
                escaped(&piece.value)
            );
        }
        self.out += "</dl>\n</details>\n";
    }

    fn commands(&mut self, commands: &Commands) {
        if !commands.title.is_empty() {
            let _ = writeln!(self.out, "<p>{}</p>", words(&commands.title));
        }
        self.code(&commands.lines);
    }

    /// Renders lines to copy. The box scrolls, so it needs to be focusable by keyboard.
    fn code(&mut self, lines: &str) {
        let lines: Vec<String> = lines.lines().map(escaped).collect();
        let _ = writeln!(
            self.out,
            "<pre tabindex=\"0\"><code>{}</code></pre>",
            lines.join("\n")
        );
    }

    fn section(&mut self, section: &Section, level: usize) {
        let id = if section.id.is_empty() {
            String::new()
        } else {
            format!(" id=\"{}\"", escaped(&section.id))
        };
        let heading = level.min(6);
        let (open, shown, close) = if section.is_folded {
            ("<details><summary>", "</summary>", "</details>\n")
        } else {
            ("", "", "")
        };
        let _ = write!(
            self.out,
            "<section{id}>\n{open}<h{heading}>{}",
            words(&section.title)
        );
        if !section.aside.is_empty() {
            let _ = write!(
                self.out,
                " <span class=\"dim\">{}</span>",
                words(&section.aside)
            );
        }
        let _ = writeln!(self.out, "</h{heading}>{shown}");
        self.blocks(&section.blocks, level + 1);
        let _ = writeln!(self.out, "{close}</section>");
    }
}

#[cfg(test)]
mod tests;
