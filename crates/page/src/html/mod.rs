//! HTML pages: a single file that loads nothing, runs no script and is complete without styles.

mod bars;
mod drawing;
mod heat;
mod lines;
mod table;
mod text;

use crate::block::{
    Block, Commands, Evidence, Facts, Finding, Fix, List, Node, Page, Section, Text, Tone, Tree,
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
    let mut writer = Writer { out, charts: 0 };
    if !page.lead.is_empty() {
        let class = tone_class(page.tone);
        writer.element(&format!("p class=\"lead{class}\""), &words(&page.lead));
    }
    if !page.about.is_empty() {
        writer.element("p class=\"about\"", &words(&page.about.join("; ")));
    }
    for caution in &page.cautions {
        writer.labelled("p class=\"caution\"", "Caution", caution);
    }
    writer.out += "</header>\n";
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
                Block::Facts(facts) => self.facts(facts),
                Block::Table(content) => self.out += &table::table(content),
                Block::Lines(chart) => self.chart(|id| lines::lines(chart, id)),
                Block::Bars(chart) => self.chart(|id| bars::bars(chart, id)),
                Block::Heat(grid) => self.chart(|id| heat::heat(grid, id)),
                Block::Tree(tree) => self.tree(tree),
                Block::Finding(finding) => self.finding(finding, level),
                Block::Commands(commands) => self.commands(commands),
                Block::Section(section) => self.section(section, level),
            }
        }
    }

    /// Draws a chart under an id that is unique within the page.
    fn chart(&mut self, drawn: impl FnOnce(&str) -> String) {
        self.charts += 1;
        self.out += &drawn(&format!("chart{}", self.charts));
    }

    /// Writes an element on a line of its own. `opening` is its name and attributes.
    fn element(&mut self, opening: &str, content: &str) {
        let name = opening.split(' ').next().unwrap_or(opening);
        let _ = writeln!(self.out, "<{opening}>{content}</{name}>");
    }

    /// Writes an element whose words follow an emphasised label.
    fn labelled(&mut self, opening: &str, label: &str, text: &str) {
        let content = format!("<strong>{label}:</strong> {}", words(text));
        self.element(opening, &content);
    }

    fn title(&mut self, title: &str) {
        if !title.is_empty() {
            self.element("p class=\"title\"", &words(title));
        }
    }

    fn text(&mut self, text: &Text) {
        let class = tone_class(text.tone);
        let opening = format!("p class=\"{}\"", class.trim_start());
        self.element(&opening, &words(&text.text));
    }

    fn list(&mut self, list: &List) {
        self.title(&list.title);
        self.out += "<ul>\n";
        for item in &list.items {
            self.element("li", &words(item));
        }
        self.out += "</ul>\n";
    }

    fn facts(&mut self, facts: &Facts) {
        self.out += "<dl>\n";
        for (label, text) in &facts.rows {
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
        self.title(&tree.title);
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
                self.span("dim", &escaped(&node.note));
            }
            if !node.mark.is_empty() {
                let word = node.level.map_or("", |level| level.word());
                self.span(&format!("mark {word}"), &escaped(&node.mark));
            }
            self.nodes(&node.below, "");
            self.out += "</li>\n";
        }
        self.out += "</ul>\n";
    }

    /// Writes words behind others.
    fn span(&mut self, class: &str, content: &str) {
        let _ = write!(self.out, " <span class=\"{class}\">{content}</span>");
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
            self.element("p class=\"dim\"", &escaped(&finding.subject));
        }
        self.element("p", &words(&finding.why));
        for (index, fix) in finding.fixes.iter().enumerate() {
            self.fix(if index == 0 { "Fix" } else { "Or" }, fix);
        }
        self.evidence(&finding.evidence);
        self.out += "</article>\n";
    }

    fn fix(&mut self, label: &str, fix: &Fix) {
        self.labelled("p", label, &fix.text);
        if let Some(command) = &fix.command {
            self.code(command);
        }
        if let Some(risk) = &fix.risk {
            self.labelled("p class=\"dim\"", "Risk", risk);
        }
        if fix.undo.is_some() || fix.undo_command.is_some() {
            let undo = fix.undo.as_deref().unwrap_or_default();
            self.labelled("p class=\"dim\"", "Undo", undo);
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
            self.element("p", &words(&commands.title));
        }
        self.code(&commands.lines);
    }

    /// Renders lines to copy. The box scrolls, so it needs to be focusable by keyboard.
    fn code(&mut self, lines: &str) {
        let lines: Vec<String> = lines.lines().map(escaped).collect();
        let code = format!("<code>{}</code>", lines.join("\n"));
        self.element("pre tabindex=\"0\"", &code);
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
            self.span("dim", &words(&section.aside));
        }
        let _ = writeln!(self.out, "</h{heading}>{shown}");
        self.blocks(&section.blocks, level + 1);
        let _ = writeln!(self.out, "{close}</section>");
    }
}

#[cfg(test)]
mod tests;
