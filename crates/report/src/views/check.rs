//! Page of `trimtab check`: the verdict, the filesystems with their stacks and findings, skipped
//! checks, and the verdict once more at the end of a long output.

use super::finding::{evidence, fix, level, prose, severity_word};
use super::fleet::{self, Fleet};
use super::groups::{Group, Groups, describe_store};
use super::phrases::words_if;
use super::{cluster, stack};
use crate::by_host::ByHost;
use crate::check::{
    CheckReport, CheckedHost, Counts, Suppressed, describe_absence, describe_findings, sorted,
};
use crate::shared::{self, HOSTS_MIN, Shared};
use facts::{Finding, Remedy, Severity, Skipped};
use page::{Block, Facts, Fix, Level, List, Page, Section, Table, Tone};
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
    let by_host = report.by_host();
    let mut view = View {
        report,
        by_host: &by_host,
        detail,
        shown_texts: Vec::new(),
        shortened: false,
        page: Page {
            title: format!("trimtab check: {}", report.name()),
            lead: report.verdict(),
            tone: report
                .worst()
                .map_or(Tone::Strong, |severity| Tone::Level(level(severity))),
            about: vec![origin(report, detail)],
            cautions: report.warnings.to_vec(),
            blocks: Vec::new(),
        },
    };
    if !detail.brief && report.hosts.len() < HOSTS_MIN {
        view.summary();
    }
    view.clusters();
    match report.hosts.as_slice() {
        [] => {}
        [host] => {
            let blocks = view.host(host);
            view.page.blocks.extend(blocks);
        }
        several => {
            let is_fleet = several.len() >= HOSTS_MIN;
            if is_fleet {
                view.fleet();
            }
            if !is_fleet || detail.verbose {
                for host in several {
                    view.one_of_several(host);
                }
            }
        }
    }
    view.suppressed();
    view.skipped();
    view.close();
    view.page
}

/// Formats names in one line; of many, the first.
fn short_list(names: &[&str]) -> String {
    let max = if names.len() > WHATS_MAX {
        WHATS_MAX - 1
    } else {
        WHATS_MAX
    };
    units::list::list_up_to(names, max)
}

/// Returns what something is about; of several hosts, after the name of its host.
fn on_host(host: Option<&str>, what: &str) -> String {
    host.map_or_else(|| what.to_owned(), |host| format!("{host}: {what}"))
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
    host: Option<&'a str>,
    rule: &'a str,
    subject: &'a str,
    why: &'a str,
    remedy: &'a [Remedy],
}

struct View<'r, 'a> {
    report: &'r CheckReport<'a>,
    by_host: &'r ByHost<'r, 'a>,
    detail: Detail,
    shown_texts: Vec<ShownText<'a>>,
    /// Whether a note was shown without its evidence and commands.
    shortened: bool,
    page: Page,
}

impl<'a> View<'_, 'a> {
    /// Adds a table of all findings, the worst first.
    fn summary(&mut self) {
        if self.report.findings.is_empty() {
            return;
        }
        let mut table = Table::new(&["<severity", "<rule", "<subject", "<finding"]);
        for finding in sorted(self.report.findings) {
            let subject = on_host(finding.host.as_deref(), &finding.subject);
            table.row([
                severity_word(finding.severity),
                &finding.rule,
                &subject,
                &finding.title,
            ]);
        }
        self.page.push(table);
    }

    fn clusters(&mut self) {
        let known = self.report.cluster;
        let findings = sorted(self.report.findings);
        for (name, about, findings) in cluster::sections(known, findings) {
            let title = format!("cluster {name}");
            let mut section = Section::with_aside(&title, about);
            let checked = known.filter(|known| cluster::name(known) == name);
            if let Some(nodes) = checked.and_then(cluster::node_names) {
                section.push(Facts::of([("nodes", nodes)]));
            }
            self.findings(&mut section, &findings, &[&title]);
            self.page.push(section);
        }
    }

    /// Adds what many hosts share, which are alike, and what differs.
    fn fleet(&mut self) {
        let fleet = Fleet::of(self.report, self.by_host, self.detail.brief);
        let groups = shared::groups(self.report.findings);
        let (common, others): (Vec<_>, Vec<_>) =
            groups.iter().partition(|group| fleet.is_common(group));
        let mut section = Section::new("on most hosts");
        self.shared(&mut section, &fleet, &common);
        self.page.push(section);
        let together = fleet::together(&self.report.meetings);
        self.page.extend(together);
        self.page.push(fleet.kinds(&groups));
        if !others.is_empty() {
            let mut section = Section::new("on some hosts");
            self.shared(&mut section, &fleet, &others);
            self.page.push(section);
        }
        if !self.detail.brief {
            self.page.push(fleet.matrix(&groups));
        }
    }

    fn shared(&mut self, section: &mut Section, fleet: &Fleet<'_>, groups: &[&Shared<'a>]) {
        for group in groups {
            let mut shown = self.finding(group.first, &[]);
            shown.subject = fleet.on(group);
            // They are those of one host.
            if self.detail.brief && !self.detail.verbose {
                shown.fixes.truncate(1);
                shown.evidence.clear();
                self.shortened = true;
            }
            section.push(shown);
            section.blocks.extend(fleet.where_it_is(group));
        }
        if groups.is_empty() {
            section.push(Block::text("No finding is shared by most of them."));
        }
    }

    /// Adds the section of one of several hosts.
    fn one_of_several(&mut self, host: &CheckedHost<'a>) {
        let counts = Counts::of(self.by_host.findings(&host.name).iter().copied());
        let coverage = self.by_host.coverage(&host.name);
        let found = describe_findings(counts).unwrap_or_else(|| describe_absence(coverage));
        let mut section = Section::new(&host.name);
        section.aside = format!("{found}; {}", host.about());
        section.blocks = self.host(host);
        for block in &mut section.blocks {
            if let Block::Section(inner) = block {
                inner.title = format!("{} ({})", inner.title, inner.aside);
                inner.aside.clear();
            }
        }
        self.page.push(section);
    }

    /// Builds the sections of a host's filesystems and jobs.
    fn host(&mut self, host: &CheckedHost<'a>) -> Vec<Block> {
        let findings = self.by_host.findings(&host.name).iter().copied();
        let groups = Groups::of(host.host, findings, self.detail.verbose);
        let mut blocks = Vec::new();
        for group in &groups.troubled {
            blocks.push(self.group(host, group, &groups.host_wide));
        }
        if !groups.host_wide.is_empty() {
            let mut section = Section::with_aside(&host.name, "not tied to one mount");
            self.findings(&mut section, &groups.host_wide, &[]);
            blocks.push(section.into());
        }
        for group in &groups.clean {
            blocks.push(self.group(host, group, &groups.host_wide));
        }
        blocks.extend(self.rest(host, &groups));
        blocks
    }

    fn group(
        &mut self,
        host: &CheckedHost<'a>,
        group: &Group<'a>,
        host_wide: &[&'a Finding],
    ) -> Block {
        let mut section = Section::with_aside(group.title(), group.filesystem());
        let stores = group.stores.iter();
        let stores = Facts::of(stores.map(|store| ("store", describe_store(store))));
        if !stores.is_empty() {
            section.push(stores);
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
        if group.is_unread && group.findings.is_empty() {
            let why = self.why_unread(host);
            section.push(Block::text(format!("Not looked at: its devices ({why}).")));
        } else {
            self.findings(&mut section, &group.findings, &group.mount_points());
        }
        section.into()
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
            Some(shown) => format!("as for {} above", on_host(shown.host, shown.subject)),
            None => prose(&finding.why),
        };
        let mut shown_texts = shown_texts.filter(same_rule);
        let fix_above = shown_texts.find(|shown| shown.remedy == finding.remedy);
        let fixes = match fix_above {
            Some(shown) if !finding.remedy.is_empty() => vec![Fix {
                text: format!("as for {} above", on_host(shown.host, shown.subject)),
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
            host: finding.host.as_deref(),
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

    /// Returns why a host's block devices were not read.
    fn why_unread(&self, host: &CheckedHost<'a>) -> String {
        let is_here = |skip: &&Skipped| skip.host.as_ref().is_none_or(|name| *name == host.name);
        let mut skipped = self.report.skipped.iter().filter(is_here);
        // The reader's own reason, else that of the rules.
        let reason = skipped
            .clone()
            .find(|skip| skip.what == "block devices")
            .or_else(|| skipped.find(|skip| skip.needs.as_deref() == Some("sys/block")));
        match reason {
            Some(Skipped {
                why,
                needs: Some(needs),
                ..
            }) => format!("{why}; needs {}", prose(needs)),
            Some(Skipped { why, .. }) => why.clone(),
            None => "sysfs does not show all of them".to_owned(),
        }
    }

    /// Returns stores without a mount, and mounts without a finding.
    fn rest(&self, host: &CheckedHost<'a>, groups: &Groups<'_>) -> Option<Block> {
        let mut facts = Facts::default();
        for store in &groups.unplaced {
            let words = format!("{}; on no mount that is known", describe_store(store));
            facts.push("store", words);
        }
        let other = if groups.troubled.is_empty() && groups.clean.is_empty() {
            "mount"
        } else {
            "other mount"
        };
        if groups.others_unread > 0 {
            let mounts = units::count(groups.others_unread, other);
            let words = format!(
                "{mounts}: devices not looked at ({})",
                self.why_unread(host)
            );
            facts.push("mounts", words);
        }
        if groups.others > 0 {
            let how = words_if(self.detail.brief, " (-v draws their stacks)");
            let words = format!("{}: nothing found{how}", units::count(groups.others, other));
            facts.push("mounts", words);
        }
        (!facts.is_empty()).then(|| facts.into())
    }

    fn suppressed(&mut self) {
        if self.report.suppressed.is_empty() {
            return;
        }
        let mut section =
            Section::with_aside("suppressed", "found, and accepted in the configuration");
        let row = |Suppressed { finding, reason }: &Suppressed| {
            format!(
                "{} {}: {}: {}; reason: {reason}",
                severity_word(finding.severity),
                finding.rule,
                on_host(finding.host.as_deref(), &finding.subject),
                prose(&finding.title),
            )
        };
        section.push(List::new("", self.report.suppressed.iter().map(row)));
        self.page.push(section);
    }

    fn skipped(&mut self) {
        if self.report.skipped.is_empty() {
            return;
        }
        let mut section = Section::with_aside("skipped", "skipped does not mean passed");
        let row = |(whats, skip): (String, &Skipped)| match &skip.needs {
            Some(needs) => format!("{whats}: {} (needs {})", skip.why, prose(needs)),
            None => format!("{whats}: {}", skip.why),
        };
        section.push(List::new("", self.by_reason().into_iter().map(row)));
        self.page.push(section);
    }

    /// Groups skipped checks that share reason and remedy, of several hosts those that the same
    /// hosts skip: `FS001 and FS002 on db1 and db2`.
    fn by_reason(&self) -> Vec<(String, &'a Skipped)> {
        let mut reasons: Vec<(Vec<&str>, Vec<&str>, &Skipped)> = Vec::new();
        let mut known = HashMap::new();
        for (hosts, skip) in self.by_check() {
            let reason = (&skip.why, &skip.needs, hosts.clone());
            match known.get(&reason) {
                Some(&index) if !self.detail.verbose => {
                    let (whats, ..): &mut (Vec<&str>, _, _) = &mut reasons[index];
                    whats.push(&skip.what);
                }
                _ => {
                    known.insert(reason, reasons.len());
                    reasons.push((vec![&skip.what], hosts, skip));
                }
            }
        }
        reasons
            .into_iter()
            .map(|(whats, hosts, skip)| {
                let whats = short_list(&whats);
                if hosts.is_empty() {
                    (whats, skip)
                } else {
                    (format!("{whats} on {}", short_list(&hosts)), skip)
                }
            })
            .collect()
    }

    /// Returns each skipped check once, after the names of the hosts that it was skipped on.
    fn by_check(&self) -> Vec<(Vec<&'a str>, &'a Skipped)> {
        let mut checks: Vec<(Vec<&str>, &Skipped)> = Vec::new();
        let mut known = HashMap::new();
        for skip in self.report.skipped {
            let Some(host) = skip.host.as_deref() else {
                checks.push((Vec::new(), skip));
                continue;
            };
            let index = *known
                .entry((&skip.what, &skip.why, &skip.needs))
                .or_insert(checks.len());
            match checks.get_mut(index) {
                Some((hosts, _)) => hosts.push(host),
                None => checks.push((vec![host], skip)),
            }
        }
        checks
    }

    /// Adds the scope and repeats the verdict: at the end of a long output its beginning has
    /// scrolled away.
    fn close(&mut self) {
        let report = self.report;
        let mut facts = Facts::of([("checked", report.scope())]);
        if self.detail.verbose && !report.rules_run.is_empty() {
            facts.push("rules", report.rules_run.join(", "));
        }
        let worst = report
            .findings
            .iter()
            .max_by_key(|finding| finding.severity);
        if let Some(worst) = worst {
            facts.push("found", report.describe_counts());
            let mut hint = format!("`trimtab rule {}` explains that rule", worst.rule);
            if self.shortened {
                hint.push_str(if report.hosts.len() < HOSTS_MIN {
                    "; -v shows evidence and commands of notes"
                } else {
                    "; -v shows evidence, further fixes and each host"
                });
            }
            facts.push("more", hint);
        }
        self.page.push(facts);
    }
}
