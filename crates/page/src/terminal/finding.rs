//! Findings: title and reason, then how to fix it, then the evidence.

use super::sheet::{MIDDLE, Sheet};
use super::wrap::wrap;
use crate::block::{Evidence, Finding, Fix, Tone};
use units::escape::{cut, display_width, escape};

/// Column at which titles and labelled text start.
const RIGHT: usize = 18;
/// Maximum width of a rule's id; the longest ones in use take 8.
const RULE_COLUMNS_MAX: usize = 16;
/// Maximum width of a value of evidence; the JSON output has all of it.
const VALUE_COLUMNS_MAX: usize = 240;

pub(super) fn finding(sheet: &mut Sheet, finding: &Finding) {
    headline(sheet, finding);
    field(sheet, "why", &finding.why);
    for (index, fix) in finding.fixes.iter().enumerate() {
        show_fix(sheet, if index == 0 { "fix" } else { "or" }, fix);
    }
    for (index, evidence) in finding.evidence.iter().enumerate() {
        show_evidence(sheet, if index == 0 { "evidence" } else { "" }, evidence);
    }
}

/// `warning  TRIM001  title                subject`.
fn headline(sheet: &mut Sheet, finding: &Finding) {
    let tone = Tone::Level(finding.level);
    let mut head = sheet.filled(finding.level.word(), MIDDLE, tone);
    let rule = escape(&finding.rule);
    let rule = cut(&rule, RULE_COLUMNS_MAX);
    head.push_str(&sheet.filled(&rule, RIGHT - MIDDLE, Tone::Strong));
    // An id that fills its column gets a line of its own.
    let at = RIGHT.max(MIDDLE + display_width(&rule) + 1);
    let subject = escape(&finding.subject);
    let titles = wrap(&finding.title, sheet.width - at);
    let last = titles.len().saturating_sub(1);
    for (index, title) in titles.iter().enumerate() {
        let (mut line, start) = if index == 0 {
            (head.clone(), at)
        } else {
            (" ".repeat(RIGHT), RIGHT)
        };
        line.push_str(&sheet.paint(title, Tone::Strong));
        let used = start + display_width(title);
        let columns = display_width(&subject);
        let fits = used + 2 + columns <= sheet.width;
        if index == last && columns > 0 && fits {
            line.push_str(&" ".repeat(sheet.width - used - columns));
            line.push_str(&subject);
        }
        sheet.line(&line);
        if index == last && columns > 0 && !fits {
            sheet.paragraph(RIGHT, &format!("({subject})"), Tone::Plain);
        }
    }
    if titles.is_empty() {
        sheet.line(&head);
        sheet.paragraph(RIGHT, &subject, Tone::Plain);
    }
}

fn show_fix(sheet: &mut Sheet, label: &str, fix: &Fix) {
    field(sheet, label, &fix.text);
    if let Some(command) = &fix.command {
        sheet.command(RIGHT, command);
    }
    if let Some(risk) = &fix.risk {
        field(sheet, "risk", risk);
    }
    if let Some(undo) = &fix.undo {
        field(sheet, "undo", undo);
    }
    if let Some(command) = &fix.undo_command {
        if command.contains('\n') {
            field(sheet, "undo", "run:");
            sheet.command(RIGHT, command);
        } else {
            let label = sheet.filled("undo", RIGHT - MIDDLE, Tone::Dim);
            sheet.line(&format!("{}{label}{}", " ".repeat(MIDDLE), escape(command)));
        }
    }
}

/// `source = value`, on one line where it fits.
fn show_evidence(sheet: &mut Sheet, label: &str, evidence: &Evidence) {
    let source = escape(&evidence.source);
    let value = escape(&evidence.value);
    let value = cut(&value, VALUE_COLUMNS_MAX);
    let head = format!(
        "{}{}",
        " ".repeat(MIDDLE),
        sheet.filled(label, RIGHT - MIDDLE, Tone::Dim)
    );
    if RIGHT + display_width(&source) + 3 + display_width(&value) <= sheet.width {
        sheet.line(&format!("{head}{source} = {value}"));
        return;
    }
    match source.split_once(": ") {
        // The source is a command or a cluster's response, followed by a field name; paths are never
        // broken.
        Some((answer, field)) if RIGHT + display_width(&source) > sheet.width => {
            sheet.line(&format!("{head}{answer}:"));
            sheet.line(&format!("{}{field}", " ".repeat(RIGHT + 2)));
        }
        _ => sheet.line(&format!("{head}{source}")),
    }
    for (index, piece) in wrap_value(&value, sheet.width - RIGHT - 4)
        .iter()
        .enumerate()
    {
        let sign = if index == 0 { "= " } else { "  " };
        sheet.line(&format!("{}{sign}{piece}", " ".repeat(RIGHT + 2)));
    }
}

/// Splits a value into lines: at blanks, and in option lists after commas.
fn wrap_value(value: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in value.replace('`', "'").split(' ') {
        for (index, piece) in word.split_inclusive(',').enumerate() {
            let glue = if index == 0 { " " } else { "" };
            match lines.last_mut() {
                Some(line) if display_width(line) + glue.len() + display_width(piece) <= room => {
                    line.push_str(glue);
                    line.push_str(piece);
                }
                _ => lines.extend(wrap(piece, room)),
            }
        }
    }
    lines
}

fn field(sheet: &mut Sheet, label: &str, text: &str) {
    sheet.labelled(MIDDLE, RIGHT, label, text, Tone::Dim);
}
