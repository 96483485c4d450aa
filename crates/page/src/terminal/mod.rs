//! Plain-text pages for a terminal.

mod bars;
mod finding;
mod heat;
mod lines;
mod options;
mod sheet;
mod table;
mod tree;
mod wrap;

use crate::block::{Block, List, Page, Section, Tone};
use sheet::Sheet;
use units::escape::{display_width, escape};

pub use options::Terminal;
pub use wrap::wrap;

/// Renders a page for a terminal.
pub fn terminal(page: &Page, options: &Terminal) -> String {
    let mut sheet = Sheet::new(options);
    sheet.paragraph(0, &page.lead, page.tone);
    sheet.paragraph(0, &page.about.join("; "), Tone::Dim);
    for caution in &page.cautions {
        sheet.labelled(0, sheet::MIDDLE, "caution", caution, Tone::Strong);
    }
    blocks(&mut sheet, &page.blocks);
    sheet.out
}

fn blocks(sheet: &mut Sheet, list: &[Block]) {
    let mut before: Option<&Block> = None;
    for (index, block) in list.iter().enumerate() {
        if !before.is_some_and(is_labelled) {
            sheet.label_at = label_columns(&list[index..]);
        }
        // No blank line between consecutive paragraphs or facts.
        let close = before.is_some_and(|before| belong_together(before, block));
        if !close && !sheet.out.is_empty() && !sheet.is_below_heading {
            sheet.blank();
        }
        sheet.is_below_heading = false;
        one(sheet, block);
        before = Some(block);
    }
}

/// Returns whether two blocks follow each other without a blank line: paragraphs, facts and trees.
fn belong_together(before: &Block, block: &Block) -> bool {
    match before {
        Block::Facts(_) => matches!(block, Block::Facts(_) | Block::Tree(_)),
        Block::Text(_) => matches!(block, Block::Text(_) | Block::Tree(_)),
        Block::Tree(_) => matches!(block, Block::Text(_) | Block::Facts(_)),
        _ => false,
    }
}

fn one(sheet: &mut Sheet, block: &Block) {
    let (width, unicode) = (sheet.width, sheet.options.unicode);
    match block {
        Block::Text(text) => sheet.paragraph(0, &text.text, text.tone),
        Block::List(content) => list(sheet, content),
        Block::Facts(facts) => {
            for (label, value) in &facts.rows {
                sheet.labelled(0, sheet.label_at, label, value, Tone::Dim);
            }
        }
        Block::Table(table) => table::table(sheet, table),
        Block::Lines(content) => {
            let drawn = lines::lines(content, width, unicode);
            chart(sheet, &content.title, &drawn);
        }
        Block::Bars(content) => chart(sheet, &content.title, &bars::bars(content, width, unicode)),
        Block::Heat(grid) => chart(sheet, &grid.title, &heat::heat(grid, width, unicode)),
        Block::Tree(tree) => tree::tree(sheet, tree),
        Block::Finding(finding) => finding::finding(sheet, finding),
        Block::Commands(commands) => {
            sheet.paragraph(0, &commands.title, Tone::Plain);
            sheet.command(2, &commands.lines);
        }
        Block::Section(section) => show_section(sheet, section),
    }
}

/// Renders a chart under its title, or nothing if there is nothing to draw.
fn chart(sheet: &mut Sheet, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    sheet.paragraph(0, title, Tone::Strong);
    for line in lines {
        sheet.line(line);
    }
}

fn list(sheet: &mut Sheet, list: &List) {
    sheet.paragraph(0, &list.title, Tone::Strong);
    for item in &list.items {
        sheet.hanging("- ", item);
    }
}

/// Maximum width of the label column; a longer label goes on a line of its own.
const LABEL_COLUMNS_MAX: usize = 16;

/// Returns whether a block has labels on its left; the labels of adjacent blocks share a column.
fn is_labelled(block: &Block) -> bool {
    matches!(block, Block::Facts(_) | Block::Tree(_))
}

/// Returns the column after the labels of the facts and trees at the start of `list`.
fn label_columns(list: &[Block]) -> usize {
    let together = list.iter().take_while(|block| is_labelled(block));
    let widest = together
        .flat_map(|block| match block {
            Block::Facts(facts) => facts.rows.iter().map(|(label, _)| label.as_str()).collect(),
            Block::Tree(tree) => vec![tree.title.as_str()],
            _ => Vec::new(),
        })
        .map(|label| display_width(&escape(label)))
        .filter(|&columns| columns <= LABEL_COLUMNS_MAX)
        .max()
        .unwrap_or(0);
    (widest + 2).max(sheet::MIDDLE)
}

fn show_section(sheet: &mut Sheet, section: &Section) {
    if sheet.depth == 0 {
        sheet.heading(&section.title, &section.aside);
    } else {
        sheet.paragraph(0, &section.title, Tone::Strong);
        sheet.paragraph(0, &section.aside, Tone::Dim);
    }
    sheet.depth += 1;
    sheet.is_below_heading = true;
    blocks(sheet, &section.blocks);
    sheet.is_below_heading = false;
    sheet.depth -= 1;
}

#[cfg(test)]
mod tests;
