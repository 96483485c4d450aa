//! Page of `trimtab check`: the verdict, the filesystems with their stacks and findings, skipped
//! checks, and the verdict once more at the end of a long output.

use super::finding::{evidence, fix, level, prose};
use super::groups::{Group, Groups, describe_store};
use super::{cluster, stack};
use crate::check::{CheckReport, Suppressed, severity_word};
use facts::{Finding, Remedy, Severity, Skipped};
use page::{Block, Fix, Level, List, Page, Section, Table, Tone};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Whether to show every mount with its stack, every skipped check on its own, and the rules
    /// that ran.
    pub verbose: bool,
    /// Whether to shorten notes and avoid repetition: for a terminal, where everything scrolls by.
    pub brief: bool,
}

/// Maximum number of skipped checks named in one line if they share their reason.
const WHATS_MAX: usize = 6;

/// Builds the page of a report.
pub fn page(report: &CheckReport<'_>, detail: Detail) -> Page {
    let groups = Groups::of(report, detail.verbose);
    let mut view = View {
        report,
        detail,
        shown_texts: Vec::new(),
        shortened: false,
        page: Page {
            title: format!("trimtab check: {}", report.name()),
            lead: report.verdict(),
            tone: worst(report).map_or(Tone::Strong, |severity| Tone::Level(level(severity))),
            about: vec![origin(report, detail)],
            cautions: report.warnings.to_vec(),
            blocks: Vec::new(),
        },
    };
    if !detail.brief {
        view.summary(&groups);
    }
    view.clusters(&groups);
    for group in &groups.troubled {
        view.group(group, &groups.host_wide);
    }
    view.host_wide(&groups);
    for group in &groups.clean {
        view.group(group, &groups.host_wide);
    }
    view.rest(&groups);
    view.suppressed();
    view.skipped();
    view.close();
    view.page
}

fn worst(report: &CheckReport<'_>) -> Option<Severity> {
    report.findings.iter().map(|finding| finding.severity).max()
}

fn origin(report: &CheckReport<'_>, detail: Detail) -> String {
    let mut origin = report.origin();
    if detail.verbose
        && let Some(uptime_s) = report.host_or_none().platform.uptime_s
    {
        let _ = write!(origin, ", up {}", units::seconds(uptime_s));
    }
    origin
}

/// A finding's text that was shown in full, so that it is not repeated.
struct ShownText<'a> {
    rule: &'a str,
    subject: &'a str,
    why: &'a str,
    remedy: &'a [Remedy],
}

struct View<'r, 'a> {
    report: &'r CheckReport<'a>,
    detail: Detail,
    shown_texts: Vec<ShownText<'a>>,
    /// Whether a note was shown without its evidence and commands.
    shortened: bool,
    page: Page,
}

impl<'a> View<'_, 'a> {
    /// Adds a table of all findings, the worst first.
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
        let mut table = Table::new(&["<severity", "<rule", "<subject", "<finding"]);
        for finding in findings {
            table.row([
                severity_word(finding.severity),
                &finding.rule,
                &finding.subject,
                &finding.title,
            ]);
        }
        self.page.push(table);
    }

    fn clusters(&mut self, groups: &Groups<'a>) {
        let known = self.report.cluster;
        for (name, about, findings) in cluster::sections(known, &groups.cluster_wide) {
            let title = format!("cluster {name}");
            let mut section = Section::new(&title);
            section.aside = about;
            let checked = known.filter(|known| cluster::name(known) == name);
            if let Some(nodes) = checked.and_then(cluster::node_names) {
                section.push(Block::Facts(vec![("nodes".to_owned(), nodes)]));
            }
            self.findings(&mut section, &findings, &[&title]);
            self.page.push(section);
        }
    }

    fn group(&mut self, group: &Group<'a>, host_wide: &[&'a Finding]) {
        let mut section = Section::new(group.title());
        section.aside = group.filesystem();
        let stores = group.stores.iter();
        let stores: Vec<_> = stores
            .map(|store| ("store".to_owned(), describe_store(store)))
            .collect();
        if !stores.is_empty() {
            section.push(Block::Facts(stores));
        }
        if let Some(stack) = &group.stack {
            let worst = group
                .findings
                .first()
                .map(|finding| level(finding.severity));
            section.push(stack::tree(stack, |device| {
                let rules = group.blamed_by(device, host_wide);
                let level = worst.or(Some(Level::Note)).filter(|_| !rules.is_empty());
                (rules, level)
            }));
        }
        self.findings(&mut section, &group.findings, &group.mount_points());
        self.page.push(section);
    }

    fn host_wide(&mut self, groups: &Groups<'a>) {
        if groups.host_wide.is_empty() {
            return;
        }
        let mut section = Section::new("this host");
        "not tied to one mount".clone_into(&mut section.aside);
        self.findings(&mut section, &groups.host_wide, &[]);
        self.page.push(section);
    }

    fn findings(&mut self, section: &mut Section, findings: &[&'a Finding], places: &[&str]) {
        for finding in findings {
            let shown = self.finding(finding, places);
            section.push(shown);
        }
        if findings.is_empty() {
            section.push(Block::text("Nothing found here."));
        }
    }

    /// Builds a finding for a section whose heading names `places`.
    fn finding(&mut self, finding: &'a Finding, places: &[&str]) -> page::Finding {
        let is_brief = self.is_brief(finding);
        let subject = if places == [finding.subject.as_str()] {
            String::new()
        } else {
            finding.subject.clone()
        };
        let same_rule = |shown: &&ShownText<'_>| shown.rule == finding.rule && self.detail.brief;
        let shown_texts = self.shown_texts.iter();
        let why_above = shown_texts
            .clone()
            .filter(same_rule)
            .find(|shown| shown.why == finding.why);
        let why = match why_above {
            Some(shown) => format!("as for {} above", shown.subject),
            None => prose(&finding.why),
        };
        let mut shown_texts = shown_texts.filter(same_rule);
        let fix_above = shown_texts.find(|shown| shown.remedy == finding.remedy);
        let fixes = match fix_above {
            Some(shown) if !finding.remedy.is_empty() => vec![Fix {
                text: format!("as for {} above", shown.subject),
                ..Fix::default()
            }],
            _ if is_brief => {
                let first = finding.remedy.iter().take(1);
                first
                    .map(|remedy| Fix {
                        text: prose(&remedy.text),
                        ..Fix::default()
                    })
                    .collect()
            }
            _ => finding.remedy.iter().map(fix).collect(),
        };
        let evidence = if is_brief {
            Vec::new()
        } else {
            evidence(finding)
        };
        self.shortened |= is_brief;
        self.shown_texts.push(ShownText {
            rule: &finding.rule,
            subject: &finding.subject,
            why: &finding.why,
            remedy: &finding.remedy,
        });
        page::Finding {
            level: level(finding.severity),
            rule: finding.rule.clone(),
            title: prose(&finding.title),
            subject,
            why,
            fixes,
            evidence,
        }
    }

    /// Returns whether to shorten a finding: notes are many and need no action, so their evidence
    /// and commands would bury the real problems.
    fn is_brief(&self, finding: &Finding) -> bool {
        self.detail.brief && !self.detail.verbose && finding.severity == Severity::Info
    }

    /// Adds stores without a mount, and mounts without a finding.
    fn rest(&mut self, groups: &Groups<'_>) {
        let mut rows = Vec::new();
        for store in &groups.unplaced {
            let words = format!("{}; on no mount that is known", describe_store(store));
            rows.push(("store".to_owned(), words));
        }
        if groups.others > 0 {
            let other = if groups.troubled.is_empty() && groups.clean.is_empty() {
                "mount"
            } else {
                "other mount"
            };
            let how = if self.detail.brief {
                " (-v draws their stacks)"
            } else {
                ""
            };
            let words = format!("{}: nothing found{how}", units::count(groups.others, other));
            rows.push(("mounts".to_owned(), words));
        }
        if !rows.is_empty() {
            self.page.push(Block::Facts(rows));
        }
    }

    fn suppressed(&mut self) {
        if self.report.suppressed.is_empty() {
            return;
        }
        let mut section = Section::new("suppressed");
        "found, and accepted in the configuration".clone_into(&mut section.aside);
        let row = |Suppressed { finding, reason }: &Suppressed| {
            format!(
                "{} {}: {}: {}; reason: {reason}",
                severity_word(finding.severity),
                finding.rule,
                finding.subject,
                prose(&finding.title),
            )
        };
        section.push(List {
            title: String::new(),
            items: self.report.suppressed.iter().map(row).collect(),
        });
        self.page.push(section);
    }

    fn skipped(&mut self) {
        if self.report.skipped.is_empty() {
            return;
        }
        let mut section = Section::new("skipped");
        "skipped does not mean passed".clone_into(&mut section.aside);
        let row = |(whats, skip): (String, &Skipped)| match &skip.needs {
            Some(needs) => format!("{whats}: {} (needs {})", skip.why, prose(needs)),
            None => format!("{whats}: {}", skip.why),
        };
        section.push(List {
            title: String::new(),
            items: self.by_reason().into_iter().map(row).collect(),
        });
        self.page.push(section);
    }

    /// Groups skipped checks that share reason and remedy.
    fn by_reason(&self) -> Vec<(String, &'a Skipped)> {
        let mut reasons: Vec<(Vec<&str>, &Skipped)> = Vec::new();
        let mut known = HashMap::new();
        for skip in self.report.skipped {
            let reason = (&skip.why, &skip.needs);
            match known.get(&reason) {
                Some(&index) if !self.detail.verbose => {
                    let (whats, _): &mut (Vec<&str>, _) = &mut reasons[index];
                    whats.push(&skip.what);
                }
                _ => {
                    known.insert(reason, reasons.len());
                    reasons.push((vec![&skip.what], skip));
                }
            }
        }
        reasons
            .into_iter()
            .map(|(whats, skip)| {
                let max = if whats.len() > WHATS_MAX {
                    WHATS_MAX - 1
                } else {
                    WHATS_MAX
                };
                (units::list::list_up_to(&whats, max), skip)
            })
            .collect()
    }

    /// Adds the scope and repeats the verdict: at the end of a long output its beginning has
    /// scrolled away.
    fn close(&mut self) {
        let report = self.report;
        let mut rows = vec![("checked".to_owned(), report.scope())];
        if self.detail.verbose && !report.rules_run.is_empty() {
            rows.push(("rules".to_owned(), report.rules_run.join(", ")));
        }
        let worst = report
            .findings
            .iter()
            .max_by_key(|finding| finding.severity);
        if let Some(worst) = worst {
            rows.push(("found".to_owned(), report.describe_counts()));
            let mut hint = format!("`trimtab rule {}` explains that rule", worst.rule);
            if self.shortened {
                hint.push_str("; -v shows evidence and commands of notes");
            }
            rows.push(("more".to_owned(), hint));
        }
        self.page.push(Block::Facts(rows));
    }
}
