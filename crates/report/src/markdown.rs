//! The report for a ticket: GitHub-flavoured Markdown that stays readable as plain text.

use crate::check::{CheckReport, is_command, severity_word};
use crate::cluster;
use crate::escape::escape;
use crate::groups::{Group, Groups, store_words};
use crate::tree;
use facts::{Finding, Remedy};
use std::fmt::Write as _;

/// Columns of a stack's drawing.
const TREE_COLUMNS: usize = 100;

/// Renders a report as Markdown.
pub fn markdown(report: &CheckReport<'_>) -> String {
    let groups = Groups::of(report, false);
    let mut page = Page { out: String::new() };
    page.block(&format!("# trimtab check: {}", inline(&report.name())));
    page.block(&format!("**{}**", inline(&report.verdict())));
    page.block(&inline(&report.origin()));
    for warning in report.warnings {
        page.block(&format!("> Caution: {}", inline(warning)));
    }
    page.summary(&groups);
    page.clusters(report, &groups);
    for group in &groups.troubled {
        page.group(group, &groups.host_wide);
    }
    if !groups.host_wide.is_empty() {
        page.block("## This host, not tied to one mount");
        for finding in &groups.host_wide {
            page.finding(finding);
        }
    }
    for group in &groups.clean {
        page.group(group, &groups.host_wide);
    }
    for store in &groups.unplaced {
        page.block(&format!(
            "Store: {}; on no mount that is known.",
            inline(&store_words(store))
        ));
    }
    page.suppressed(report);
    page.skipped(report);
    page.block(&format!("Checked: {}.", inline(&report.scope())));
    page.out
}

struct Page {
    out: String,
}

impl Page {
    /// A block, with a blank line before it.
    fn block(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn table<const N: usize>(&mut self, heads: [&str; N], rows: impl Iterator<Item = [String; N]>) {
        let mut table = format!("| {} |\n|{}", heads.join(" | "), " --- |".repeat(N));
        for row in rows {
            let _ = write!(table, "\n| {} |", row.join(" | "));
        }
        self.block(&table);
    }

    fn summary(&mut self, groups: &Groups<'_>) {
        let mut findings: Vec<&Finding> = groups
            .troubled
            .iter()
            .flat_map(|group| &group.findings)
            .chain(&groups.host_wide)
            .chain(&groups.cluster_wide)
            .copied()
            .collect();
        if findings.is_empty() {
            return;
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let rows = findings.into_iter().map(|finding| {
            [
                severity_word(finding.severity).to_owned(),
                cell(&finding.rule),
                code_cell(&finding.subject),
                cell(&finding.title),
            ]
        });
        self.table(["Severity", "Rule", "Subject", "Finding"], rows);
    }

    fn clusters(&mut self, report: &CheckReport<'_>, groups: &Groups<'_>) {
        for (name, about, findings) in cluster::sections(report.cluster, &groups.cluster_wide) {
            self.block(&format!("## Cluster {}", code(&name)));
            if !about.is_empty() {
                self.block(&inline(&about));
            }
            if findings.is_empty() {
                self.block("Nothing found here.");
            }
            for finding in findings {
                self.finding(finding);
            }
        }
    }

    fn group(&mut self, group: &Group<'_>, host_wide: &[&Finding]) {
        let points: Vec<String> = group.mount_points().into_iter().map(code).collect();
        self.block(&format!("## {}", points.join(", ")));
        let mut about = inline(&group.filesystem());
        for store in &group.stores {
            let _ = write!(about, "  \n{}", inline(&store_words(store)));
        }
        self.block(&about);
        if let Some(stack) = &group.stack {
            let blamed_by = |device: &str| group.blamed_by(device, host_wide);
            let lines = tree::draw(stack, blamed_by, TREE_COLUMNS, true);
            let lines: Vec<String> = lines
                .iter()
                .map(|line| {
                    format!("{}  {}", line.body, line.mark)
                        .trim_end()
                        .to_owned()
                })
                .collect();
            self.fenced("text", &lines.join("\n"));
        }
        if group.findings.is_empty() {
            self.block("Nothing found here.");
        }
        for finding in &group.findings {
            self.finding(finding);
        }
    }

    fn finding(&mut self, finding: &Finding) {
        self.block(&format!(
            "### {} {}: {}",
            severity_word(finding.severity),
            inline(&finding.rule),
            inline(&finding.title)
        ));
        self.block(&format!("Subject: {}", code(&finding.subject)));
        self.prose("", &finding.why);
        if !finding.evidence.is_empty() {
            let rows = finding
                .evidence
                .iter()
                .map(|evidence| [code_cell(&evidence.source), code_cell(&evidence.value)]);
            self.table(["Evidence", "Value"], rows);
        }
        for (index, remedy) in finding.remedy.iter().enumerate() {
            self.remedy(if index == 0 { "Fix" } else { "Or" }, remedy);
        }
    }

    fn remedy(&mut self, label: &str, remedy: &Remedy) {
        self.prose(&format!("**{label}:** "), &remedy.text);
        if let Some(command) = &remedy.command {
            let lines: Vec<_> = command.lines().map(escape).collect();
            self.fenced("sh", &lines.join("\n"));
        }
        if let Some(risk) = &remedy.risk {
            self.prose("**Risk:** ", risk);
        }
        if let Some(undo) = &remedy.undo {
            if is_command(undo) && undo.contains('\n') {
                self.block("**Undo:**");
                let lines: Vec<_> = undo.lines().map(escape).collect();
                self.fenced("sh", &lines.join("\n"));
            } else if is_command(undo) {
                self.block(&format!("**Undo:** {}", code(undo)));
            } else {
                self.prose("**Undo:** ", undo);
            }
        }
    }

    /// Paragraphs, one for each line of the text.
    fn prose(&mut self, label: &str, text: &str) {
        let lines = text
            .split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty());
        for (index, line) in lines.enumerate() {
            let label = if index == 0 { label } else { "" };
            self.block(&format!("{label}{}", inline(line)));
        }
    }

    /// A fenced block; `text` has its control characters escaped already. The fence is longer than
    /// any run of backticks inside.
    fn fenced(&mut self, language: &str, text: &str) {
        let fence = "`".repeat((longest_run(text) + 1).max(3));
        self.block(&format!("{fence}{language}\n{text}\n{fence}"));
    }

    fn suppressed(&mut self, report: &CheckReport<'_>) {
        if report.suppressed.is_empty() {
            return;
        }
        self.block("## Suppressed");
        let rows = report.suppressed.iter().map(|suppressed| {
            let finding = &suppressed.finding;
            [
                severity_word(finding.severity).to_owned(),
                cell(&finding.rule),
                code_cell(&finding.subject),
                cell(&finding.title),
                cell(&suppressed.reason),
            ]
        });
        self.table(["Severity", "Rule", "Subject", "Finding", "Reason"], rows);
    }

    fn skipped(&mut self, report: &CheckReport<'_>) {
        if report.skipped.is_empty() {
            return;
        }
        self.block("## Skipped");
        self.block("Not looked at is not passed.");
        let rows = report.skipped.iter().map(|skip| {
            [
                cell(&skip.what),
                cell(&skip.why),
                cell(skip.needs.as_deref().unwrap_or("")),
            ]
        });
        self.table(["What", "Why", "Needs"], rows);
    }
}

/// Text on one line in which no character has a meaning to Markdown; `code spans` stay code spans.
fn inline(text: &str) -> String {
    spans(text, code)
}

/// The same for a table, whose cells end at every bar without a backslash, code span or not.
fn cell(text: &str) -> String {
    spans(text, code_cell)
}

fn spans(text: &str, code: fn(&str) -> String) -> String {
    let shown = escape(text.trim());
    let mut out = String::new();
    let mut rest = shown.as_ref();
    while let Some((before, after)) = rest.split_once('`') {
        out.push_str(&plain(before, out.is_empty()));
        match after.split_once('`') {
            Some((content, behind)) if !content.trim().is_empty() => {
                out.push_str(&code(content));
                rest = behind;
            }
            _ => {
                out.push_str("\\`");
                rest = after;
            }
        }
    }
    let at_start = out.is_empty();
    out.push_str(&plain(rest, at_start));
    out
}

/// Escapes with backslashes. What means something at the start of a line only (headings, lists,
/// quotes, rules) is escaped there only, so that the source stays readable.
fn plain(text: &str, at_start: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    for (at, c) in text.char_indices() {
        let special = match c {
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' => true,
            // Bare addresses become links.
            ':' => text[at + 1..].starts_with("//"),
            '.' => {
                text[..at].to_ascii_lowercase().ends_with("www")
                    || (at_start && digits > 0 && at == digits)
            }
            ')' => at_start && digits > 0 && at == digits,
            '#' | '+' | '-' | '=' => at_start && at == 0,
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A code span, delimited by more backticks than stand inside (`CommonMark`, "Code spans").
fn code(text: &str) -> String {
    let shown = escape(text);
    if shown.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let run = longest_run(&shown);
    let fence = "`".repeat(run + 1);
    let blank = if run > 0 { " " } else { "" };
    format!("{fence}{blank}{shown}{blank}{fence}")
}

/// A code span in a table.
fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_has_no_meaning() {
        assert_eq!(
            inline("*a* <b> [c](d) e_f | g"),
            r"\*a\* \<b\> \[c\](d) e\_f \| g"
        );
        assert_eq!(inline("# x # y"), r"\# x # y");
        assert_eq!(inline("1. x"), r"1\. x");
        assert_eq!(
            inline("see http://x.y and www.z"),
            r"see http\://x.y and www\.z"
        );
        assert_eq!(inline("a\nb\u{1b}"), r"a\\nb\\u{1b}");
    }

    #[test]
    fn code_stays_code() {
        assert_eq!(inline("run `a_b | c` now_"), "run `a_b | c` now\\_");
        assert_eq!(cell("run `a_b | c`"), "run `a_b \\| c`");
        assert_eq!(inline("one ` only *"), r"one \` only \*");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code_cell("a|b"), r"`a\|b`");
    }
}
