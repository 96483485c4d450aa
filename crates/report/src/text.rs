//! The report as it stands on a terminal: a verdict, the filesystems with their stacks and findings,
//! what was skipped. Three columns, at 0, 9 and 18, carry severity, rule and everything else.

use crate::check::{CheckReport, is_command, severity_word};
use crate::cluster;
use crate::escape::{cut, display_width, escape};
use crate::groups::{Group, Groups, store_words};
use crate::sheet::{Sheet, Style};
use crate::tree;
use crate::units::{count, human_duration, listed};
use crate::wrap::wrap;
use facts::{Evidence, Finding, Remedy, Severity, Skipped};
use std::collections::HashMap;
use std::fmt::Write as _;

/// How the text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns to fill; less than 40 counts as 40. Commands and the paths of evidence are never
    /// broken and may exceed it.
    pub width: usize,
    /// Colours, by ANSI SGR sequences.
    pub color: bool,
    /// Every mount with its stack, every skipped check by itself, the rules that ran.
    pub verbose: bool,
    /// Box-drawing characters; otherwise trees and rules are ASCII.
    pub unicode: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            verbose: false,
            unicode: true,
        }
    }
}

/// Where rule ids, stacks and labels start.
const MIDDLE: usize = 9;
/// Where titles and labelled text start.
const RIGHT: usize = 18;
/// Columns of a rule's id; the longest of today take 8.
const RULE_COLUMNS_MAX: usize = 16;
/// Columns of an evidence's value; JSON has all of it.
const VALUE_COLUMNS_MAX: usize = 240;
/// Skipped checks that one line names when they share their reason.
const WHATS_MAX: usize = 6;

/// A value in lines: broken at blanks, and in option lists after commas.
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

/// Renders a report for a terminal.
pub fn text(report: &CheckReport<'_>, options: &TextOptions) -> String {
    let mut page = Page {
        sheet: Sheet::new(options),
        told: Vec::new(),
        shortened: false,
    };
    let groups = Groups::of(report, options.verbose);
    page.verdict(report);
    page.clusters(report, &groups);
    for group in &groups.troubled {
        page.group(group, &groups.host_wide);
    }
    if !groups.host_wide.is_empty() {
        page.heading("this host", "not tied to one mount");
        for (index, finding) in groups.host_wide.iter().enumerate() {
            if index > 0 {
                page.sheet.blank();
            }
            page.finding(finding, &[]);
        }
    }
    for group in &groups.clean {
        page.group(group, &groups.host_wide);
    }
    page.unplaced(&groups);
    page.others(&groups);
    page.suppressed(report);
    page.skipped(report.skipped);
    page.close(report);
    page.sheet.out
}

fn style_of(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Error,
        Severity::Warning => Style::Warning,
        Severity::Info => Style::Note,
    }
}

/// A finding's text that was printed in full, so that it is not printed again.
struct Told<'a> {
    rule: &'a str,
    subject: &'a str,
    why: &'a str,
    remedy: &'a [Remedy],
}

struct Page<'a> {
    sheet: Sheet,
    told: Vec<Told<'a>>,
    /// A note was printed without its evidence and commands.
    shortened: bool,
}

impl<'a> Page<'a> {
    fn verdict(&mut self, report: &CheckReport<'_>) {
        let worst = report.findings.iter().map(|finding| finding.severity).max();
        let style = worst.map_or(Style::Bold, style_of);
        self.sheet.paragraph(0, &report.verdict(), style);
        let mut origin = report.origin();
        if self.sheet.options.verbose
            && let Some(uptime_s) = report.host_or_none().platform.uptime_s
        {
            // A bundle may hold any number here; one that is no duration counts as 0.
            let seconds = std::time::Duration::try_from_secs_f64(uptime_s).unwrap_or_default();
            let _ = write!(origin, ", up {}", human_duration(seconds.as_secs()));
        }
        self.sheet.paragraph(0, &origin, Style::Dim);
        for warning in report.warnings {
            self.labelled(0, "caution", warning, Style::Bold);
        }
    }

    fn clusters(&mut self, report: &CheckReport<'a>, groups: &Groups<'a>) {
        for (name, about, findings) in cluster::sections(report.cluster, &groups.cluster_wide) {
            let title = format!("cluster {name}");
            self.heading(&title, &about);
            let is_checked = report
                .cluster
                .is_some_and(|known| cluster::name(known) == name);
            if let Some(nodes) = report
                .cluster
                .filter(|_| is_checked)
                .and_then(cluster::node_names)
            {
                self.labelled(0, "nodes", &escape(&nodes), Style::Dim);
            }
            for finding in &findings {
                self.sheet.blank();
                self.finding(finding, &[&title]);
            }
            if findings.is_empty() {
                self.sheet
                    .paragraph(MIDDLE, "nothing found here", Style::Plain);
            }
        }
    }

    fn group(&mut self, group: &Group<'a>, host_wide: &[&'a Finding]) {
        self.heading(&group.title(), &group.filesystem());
        for store in &group.stores {
            self.labelled(0, "store", &store_words(store), Style::Dim);
        }
        if let Some(stack) = &group.stack {
            let blamed_by = |device: &str| group.blamed_by(device, host_wide);
            let room = self.sheet.width - MIDDLE;
            let lines = tree::draw(stack, blamed_by, room, self.sheet.options.unicode);
            for (index, line) in lines.into_iter().enumerate() {
                let label = if index == 0 { "stack" } else { "" };
                let mut drawn = self.label(label, MIDDLE, Style::Dim);
                drawn.push_str(&line.body);
                if !line.mark.is_empty() {
                    drawn.push_str("  ");
                    let worst = group
                        .findings
                        .first()
                        .map_or(Severity::Info, |f| f.severity);
                    drawn.push_str(&self.sheet.paint(&line.mark, style_of(worst)));
                }
                self.sheet.line(&drawn);
            }
        }
        let mount_points = group.mount_points();
        for finding in &group.findings {
            self.sheet.blank();
            self.finding(finding, &mount_points);
        }
        if group.findings.is_empty() {
            self.sheet
                .paragraph(MIDDLE, "nothing found here", Style::Plain);
        }
    }

    fn finding(&mut self, finding: &'a Finding, mount_points: &[&str]) {
        let style = style_of(finding.severity);
        let mut head = self.label(severity_word(finding.severity), MIDDLE, style);
        let rule = escape(&finding.rule);
        let rule = cut(&rule, RULE_COLUMNS_MAX);
        head.push_str(&self.label(&rule, RIGHT - MIDDLE, Style::Bold));
        // An id that fills its column stands alone.
        let at = RIGHT.max(MIDDLE + display_width(&rule) + 1);
        let one_mount_point = [finding.subject.as_str()];
        let subject = if mount_points == one_mount_point {
            "".into()
        } else {
            escape(&finding.subject)
        };
        let titles = wrap(&escape(&finding.title), self.sheet.width - at);
        let last = titles.len().saturating_sub(1);
        for (index, title) in titles.iter().enumerate() {
            let mut line = if index == 0 {
                head.clone()
            } else {
                " ".repeat(RIGHT)
            };
            line.push_str(&self.sheet.paint(title, Style::Bold));
            let start = if index == 0 { at } else { RIGHT };
            let used = start + display_width(title);
            let subject_columns = display_width(&subject);
            if index == last
                && !subject.is_empty()
                && used + 2 + subject_columns <= self.sheet.width
            {
                line.push_str(&" ".repeat(self.sheet.width - used - subject_columns));
                line.push_str(&subject);
                self.sheet.line(&line);
            } else {
                self.sheet.line(&line);
                if index == last && !subject.is_empty() {
                    self.sheet
                        .paragraph(RIGHT, &format!("({subject})"), Style::Plain);
                }
            }
        }
        if titles.is_empty() {
            self.sheet.line(&head);
            self.sheet.paragraph(RIGHT, &subject, Style::Plain);
        }

        let before = |told: &&Told<'_>| told.rule == finding.rule && told.why == finding.why;
        match self.told.iter().find(before).map(|told| told.subject) {
            Some(subject) => self.field("why", &format!("as for {subject} above")),
            None => self.field("why", &finding.why),
        }
        if !self.is_brief(finding) {
            for (index, evidence) in finding.evidence.iter().enumerate() {
                self.evidence(if index == 0 { "evidence" } else { "" }, evidence);
            }
        }
        let before = |told: &&Told<'_>| told.rule == finding.rule && told.remedy == finding.remedy;
        match self.told.iter().find(before).map(|told| told.subject) {
            Some(subject) if !finding.remedy.is_empty() => {
                self.field("fix", &format!("as for {subject} above"));
            }
            _ if self.is_brief(finding) => {
                self.shortened = true;
                if let Some(remedy) = finding.remedy.first() {
                    self.field("fix", &remedy.text);
                }
            }
            _ => {
                for (index, remedy) in finding.remedy.iter().enumerate() {
                    self.remedy(if index == 0 { "fix" } else { "or" }, remedy);
                }
            }
        }
        self.told.push(Told {
            rule: &finding.rule,
            subject: &finding.subject,
            why: &finding.why,
            remedy: &finding.remedy,
        });
    }

    /// Notes are many and nothing has to be done about them: their evidence and commands would bury
    /// what hurts.
    fn is_brief(&self, finding: &Finding) -> bool {
        finding.severity == Severity::Info && !self.sheet.options.verbose
    }

    fn remedy(&mut self, label: &str, remedy: &Remedy) {
        self.field(label, &remedy.text);
        if let Some(command) = &remedy.command {
            self.command(command);
        }
        if let Some(risk) = &remedy.risk {
            self.field("risk", risk);
        }
        if let Some(undo) = &remedy.undo {
            if is_command(undo) && undo.contains('\n') {
                let label = self.label("undo", RIGHT - MIDDLE, Style::Dim);
                self.sheet.line(&format!("{}{label}", " ".repeat(MIDDLE)));
                self.command(undo);
            } else if is_command(undo) {
                let label = self.label("undo", RIGHT - MIDDLE, Style::Dim);
                self.sheet
                    .line(&format!("{}{label}{}", " ".repeat(MIDDLE), escape(undo)));
            } else {
                self.field("undo", undo);
            }
        }
    }

    /// A command as it is to be pasted: never broken. One whose lines depend on each other (a here
    /// document, a quoted line break) stands at the left margin, so that no blank is added to it.
    fn command(&mut self, command: &str) {
        let balanced = |line: &str| {
            ['\'', '"']
                .iter()
                .all(|q| line.matches(*q).count() % 2 == 0)
        };
        let indent = if command.contains("<<") || !command.lines().all(balanced) {
            0
        } else {
            RIGHT
        };
        for line in command.lines() {
            // Not through `line`, which trims.
            let _ = writeln!(self.sheet.out, "{}{}", " ".repeat(indent), escape(line));
        }
    }

    /// `source = value`, on one line where it fits.
    fn evidence(&mut self, label: &str, evidence: &Evidence) {
        let source = escape(&evidence.source);
        let value = escape(&evidence.value);
        let value = cut(&value, VALUE_COLUMNS_MAX);
        let head = format!(
            "{}{}",
            " ".repeat(MIDDLE),
            self.label(label, RIGHT - MIDDLE, Style::Dim)
        );
        if RIGHT + display_width(&source) + 3 + display_width(&value) <= self.sheet.width {
            self.sheet.line(&format!("{head}{source} = {value}"));
            return;
        }
        match source.split_once(": ") {
            // A command or a cluster's answer and its field; a path is never broken.
            Some((answer, field)) if RIGHT + display_width(&source) > self.sheet.width => {
                self.sheet.line(&format!("{head}{answer}:"));
                self.sheet
                    .line(&format!("{}{field}", " ".repeat(RIGHT + 2)));
            }
            _ => self.sheet.line(&format!("{head}{source}")),
        }
        let room = self.sheet.width - RIGHT - 4;
        for (index, piece) in wrap_value(&value, room).iter().enumerate() {
            let sign = if index == 0 { "= " } else { "  " };
            self.sheet
                .line(&format!("{}{sign}{piece}", " ".repeat(RIGHT + 2)));
        }
    }

    fn unplaced(&mut self, groups: &Groups<'_>) {
        for store in &groups.unplaced {
            self.sheet.blank();
            let words = format!("{}; on no mount that is known", store_words(store));
            self.labelled(0, "store", &words, Style::Dim);
        }
    }

    fn others(&mut self, groups: &Groups<'_>) {
        if groups.others == 0 {
            return;
        }
        self.sheet.blank();
        let other = if groups.troubled.is_empty() && groups.clean.is_empty() {
            ""
        } else {
            "other "
        };
        let mounts = count(groups.others, &format!("{other}mount"));
        self.labelled(
            0,
            "mounts",
            &format!("{mounts}: nothing found (-v draws their stacks)"),
            Style::Dim,
        );
    }

    fn suppressed(&mut self, report: &CheckReport<'_>) {
        if report.suppressed.is_empty() {
            return;
        }
        self.heading("suppressed", "found, and accepted in the configuration");
        for suppressed in report.suppressed {
            let finding = &suppressed.finding;
            let words = format!(
                "{}  {}: {}; reason: {}",
                finding.rule,
                escape(&finding.subject),
                escape(&finding.title),
                escape(&suppressed.reason)
            );
            self.labelled(0, severity_word(finding.severity), &words, Style::Dim);
        }
    }

    fn skipped(&mut self, skipped: &[Skipped]) {
        if skipped.is_empty() {
            return;
        }
        self.heading("skipped", "not looked at is not passed");
        for (whats, skip) in self.by_reason(skipped) {
            let words = format!("{whats}: {}", escape(&skip.why));
            self.hanging(&words, Style::Plain);
            if let Some(needs) = &skip.needs {
                self.sheet
                    .paragraph(MIDDLE, &format!("needs {}", escape(needs)), Style::Dim);
            }
        }
    }

    /// Skipped checks that share reason and remedy, named together.
    fn by_reason<'s>(&self, skipped: &'s [Skipped]) -> Vec<(String, &'s Skipped)> {
        let mut reasons: Vec<(Vec<String>, &Skipped)> = Vec::new();
        let mut known = HashMap::new();
        for skip in skipped {
            let what = escape(&skip.what).into_owned();
            let reason = (&skip.why, &skip.needs);
            match known.get(&reason) {
                Some(&index) if !self.sheet.options.verbose => {
                    let (whats, _): &mut (Vec<String>, _) = &mut reasons[index];
                    whats.push(what);
                }
                _ => {
                    known.insert(reason, reasons.len());
                    reasons.push((vec![what], skip));
                }
            }
        }
        reasons
            .into_iter()
            .map(|(mut whats, skip)| {
                if whats.len() > WHATS_MAX {
                    let more = whats.len() - (WHATS_MAX - 1);
                    whats.truncate(WHATS_MAX - 1);
                    whats.push(format!("{more} more"));
                }
                (listed(&whats), skip)
            })
            .collect()
    }

    fn close(&mut self, report: &CheckReport<'_>) {
        self.sheet.blank();
        self.labelled(0, "checked", &report.scope(), Style::Dim);
        if self.sheet.options.verbose && !report.rules_run.is_empty() {
            self.labelled(0, "rules", &report.rules_run.join(", "), Style::Dim);
        }
        if let Some(worst) = report
            .findings
            .iter()
            .max_by_key(|finding| finding.severity)
        {
            let mut hint = format!("`trimtab rule {}` explains that rule", escape(&worst.rule));
            if self.shortened {
                hint.push_str("; -v shows evidence and commands of notes");
            }
            self.labelled(0, "more", &hint, Style::Dim);
        }
    }

    /// A blank line, then `title ------- aside`.
    fn heading(&mut self, title: &str, aside: &str) {
        self.sheet.blank();
        let shown = escape(title);
        let aside = escape(aside);
        let columns = display_width(&shown) + display_width(&aside) + 2;
        if columns + 3 > self.sheet.width {
            self.sheet.paragraph(0, title, Style::Bold);
            self.sheet.paragraph(2, &aside, Style::Dim);
            return;
        }
        let rule = if self.sheet.options.unicode {
            "─"
        } else {
            "-"
        };
        let line = format!(
            "{} {} {aside}",
            self.sheet.paint(&shown, Style::Bold),
            self.sheet
                .paint(&rule.repeat(self.sheet.width - columns), Style::Dim)
        );
        self.sheet.line(&line);
    }

    /// Label and text of a finding.
    fn field(&mut self, label: &str, text: &str) {
        self.labelled(MIDDLE, label, text, Style::Dim);
    }

    /// A label at a column, and wrapped text beside it.
    fn labelled(&mut self, indent: usize, label: &str, text: &str, style: Style) {
        let at = if indent == 0 { MIDDLE } else { RIGHT };
        for (index, line) in wrap(text, self.sheet.width - at).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let label = self.label(label, at - indent, style);
            self.sheet
                .line(&format!("{}{label}{line}", " ".repeat(indent)));
        }
    }

    /// Wrapped text at the margin whose further lines are indented.
    fn hanging(&mut self, text: &str, style: Style) {
        for (index, line) in wrap(text, self.sheet.width - 2).iter().enumerate() {
            let indent = if index == 0 { "" } else { "  " };
            let line = self.sheet.paint(line, style);
            self.sheet.line(&format!("{indent}{line}"));
        }
    }

    /// A label, filled up to `columns` and at least one blank.
    fn label(&self, label: &str, columns: usize, style: Style) -> String {
        let fill = columns.saturating_sub(display_width(label)).max(1);
        if label.is_empty() {
            return " ".repeat(columns);
        }
        format!("{}{}", self.sheet.paint(label, style), " ".repeat(fill))
    }
}
