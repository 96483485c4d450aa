//! Many hosts in one answer: what most of them share, once; which hosts are alike; then what differs.

use super::finding::severity_word;
use super::phrases::words_if;
use crate::by_host::ByHost;
use crate::check::CheckReport;
use crate::shared::Shared;
use facts::Severity;
use page::{Block, Facts, Section, Table};
use rules::Meetings;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use units::{count, list};

/// Maximum number of hosts named in one line of a terminal.
const NAMES_MAX: usize = 6;
/// Maximum number of hosts named in one line of a page, which has a table of all.
const PAGE_NAMES_MAX: usize = 20;
/// Hosts that lack a finding are named instead of those that have it, if they are as few.
const EXCEPT_MAX: usize = 3;
/// Maximum number of kinds of hosts in a terminal's table.
const KINDS_MAX: usize = 20;

/// Names hosts: `all 100`, `all 100 but db3 and db7`, `db1, db2 and 7 more`. `max` is how many are named at most.
fn names(some: &[&str], all: &[&str], max: usize) -> String {
    if some.len() == all.len() {
        return format!("all {}", all.len());
    }
    let missing = all.len() - some.len();
    if missing <= EXCEPT_MAX && some.len() > max.min(NAMES_MAX) {
        let some: BTreeSet<&str> = some.iter().copied().collect();
        let others: Vec<&str> = all
            .iter()
            .copied()
            .filter(|name| !some.contains(name))
            .collect();
        return format!("all {} but {}", all.len(), list::list(&others));
    }
    list::list_up_to(some, max)
}

/// What was found on hosts that are alike, and how many rules had nothing to look at.
type Kind<'k> = (Vec<(Reverse<Severity>, &'k str)>, String);

/// The parts of a fleet's page that hold no finding.
pub(crate) struct Fleet<'a> {
    by_host: &'a ByHost<'a, 'a>,
    /// The hosts' names, as they were given.
    all: Vec<&'a str>,
    /// Maximum number of hosts named in one line.
    names_max: usize,
    is_brief: bool,
}

impl<'a> Fleet<'a> {
    pub fn of(report: &'a CheckReport<'a>, by_host: &'a ByHost<'a, 'a>, is_brief: bool) -> Self {
        Self {
            by_host,
            all: report.hosts.iter().map(|host| host.name.as_str()).collect(),
            names_max: if is_brief { NAMES_MAX } else { PAGE_NAMES_MAX },
            is_brief,
        }
    }

    /// Whether most hosts have it.
    pub fn is_common(&self, group: &Shared<'_>) -> bool {
        group.hosts.len() * 2 > self.all.len()
    }

    /// Returns on how many hosts it is: `on 97 of 100 hosts`.
    pub fn on(&self, group: &Shared<'_>) -> String {
        let all = self.all.len();
        match group.hosts.as_slice() {
            [only] => format!("on {only}"),
            hosts if hosts.len() == all => format!("on all {}", count(all, "host")),
            hosts => format!("on {} of {}", hosts.len(), count(all, "host")),
        }
    }

    /// Returns the hosts that have it, and whose names and figures are shown.
    pub fn where_it_is(&self, group: &Shared<'_>) -> Option<Block> {
        if group.hosts.len() < 2 && group.findings < 2 {
            return None;
        }
        let mut facts = Facts::default();
        if group.hosts.len() > 1 {
            facts.push("hosts", names(&group.hosts, &self.all, self.names_max));
        }
        let first = group.first;
        let host = first.host.as_deref().unwrap_or_default();
        let others = if group.findings > group.hosts.len() {
            format!("; {} in all", count(group.findings, "such finding"))
        } else {
            String::new()
        };
        let shown = format!("as on {host} for {}{others}", first.subject);
        facts.push("shown", shown);
        Some(facts.into())
    }

    /// Returns how many rules had nothing to look at on a host.
    fn undecided(&self, host: &str) -> String {
        let coverage = self.by_host.coverage(host);
        if coverage.is_mostly_blind() {
            format!("{}: could not tell", coverage.undecided)
        } else {
            coverage.undecided.to_string()
        }
    }

    /// Returns the hosts that are alike, the worst first.
    pub fn kinds(&self, groups: &[Shared<'_>]) -> Section {
        let mut rules_of: HashMap<&str, BTreeSet<(Reverse<Severity>, &str)>> = HashMap::new();
        for group in groups {
            for host in &group.hosts {
                let rules = rules_of.entry(host).or_default();
                rules.insert((Reverse(group.first.severity), group.first.rule.as_str()));
            }
        }
        let mut kinds: BTreeMap<Kind<'_>, Vec<&str>> = BTreeMap::new();
        for host in &self.all {
            let rules = rules_of.get(host).into_iter().flatten().copied().collect();
            let undecided = self.undecided(host);
            kinds.entry((rules, undecided)).or_default().push(host);
        }
        let mut kinds: Vec<(Kind<'_>, Vec<&str>)> = kinds.into_iter().collect();
        let number = |rules: &[(Reverse<Severity>, &str)], severity| {
            rules.iter().filter(|(rule, _)| rule.0 == severity).count()
        };
        kinds.sort_by_key(|((rules, undecided), hosts)| {
            let of = |severity| Reverse(number(rules, severity));
            let severe = (of(Severity::Error), of(Severity::Warning));
            (
                severe,
                of(Severity::Info),
                Reverse(hosts.len()),
                undecided.clone(),
            )
        });
        let rows = if self.is_brief {
            kinds.len().min(KINDS_MAX)
        } else {
            kinds.len()
        };
        let mut table = Table::new(&[
            "<hosts",
            "number",
            "<error",
            "<warning",
            "<note",
            "rules undecided",
        ]);
        for ((rules, undecided), hosts) in &kinds[..rows] {
            let cell = |severity| {
                let rules = rules.iter().filter(|(rule, _)| rule.0 == severity);
                rules.map(|(_, rule)| *rule).collect::<Vec<_>>().join(" ")
            };
            table.row([
                // A cell is narrow.
                list::list_up_to(hosts, self.names_max.min(3)),
                hosts.len().to_string(),
                cell(Severity::Error),
                cell(Severity::Warning),
                cell(Severity::Info),
                undecided.clone(),
            ]);
        }
        let mut section = Section::with_aside("hosts that are alike", "the worst first");
        section.push(table);
        if rows < kinds.len() {
            let more: usize = kinds[rows..].iter().map(|(_, hosts)| hosts.len()).sum();
            let more = format!(
                "and {} of other kinds; --format html names all",
                count(more, "host")
            );
            section.push(Block::text(more));
        }
        section
    }

    /// Returns each host with each rule that found something, for a page.
    pub fn matrix(&self, groups: &[Shared<'_>]) -> Section {
        let rules: BTreeSet<&str> = groups
            .iter()
            .map(|group| group.first.rule.as_str())
            .collect();
        let mut worst: HashMap<(&str, &str), Severity> = HashMap::new();
        for group in groups {
            for host in &group.hosts {
                let severity = worst
                    .entry((host, &group.first.rule))
                    .or_insert(Severity::Info);
                *severity = (*severity).max(group.first.severity);
            }
        }
        let columns: Vec<String> = std::iter::once("host")
            .chain(rules.iter().copied())
            .chain(["rules undecided"])
            .map(|name| format!("<{name}"))
            .collect();
        let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
        for host in &self.all {
            let cells = rules.iter().map(|rule| {
                let severity = worst.get(&(*host, *rule));
                severity
                    .map_or("-", |severity| severity_word(*severity))
                    .to_owned()
            });
            let undecided = self.undecided(host);
            let first = std::iter::once((*host).to_owned());
            table.row(first.chain(cells).chain([undecided]));
        }
        let mut section = Section::with_aside("each host", count(self.all.len(), "host"));
        section.is_folded = true;
        section.push(table);
        section
    }
}

/// Returns when jobs of several hosts start together; `None` if they do not, and all jobs are known.
pub(crate) fn together(meetings: &Meetings) -> Option<Section> {
    let compared = meetings.hosts_compared;
    if compared < 2 || meetings.meetings.is_empty() && meetings.hosts_unknown == 0 {
        return None;
    }
    let mut section = Section::new("busy at the same time");
    let with = words_if(meetings.have_stores, " with a store");
    section.aside = format!("{}{with} compared", count(compared, "host"));
    for meeting in &meetings.meetings {
        let may = if meeting.is_certain { "" } else { "may " };
        let hosts = if meeting.hosts.len() == compared {
            format!("all {compared}")
        } else {
            format!("{} of {compared}", meeting.hosts.len())
        };
        let when = format!("{hosts} {may}start together, first {}", meeting.when);
        section.push(Facts::of([
            (meeting.work, when),
            ("by", list::list_up_to(&meeting.jobs, NAMES_MAX)),
            ("hosts", list::list_up_to(&meeting.hosts, NAMES_MAX)),
        ]));
    }
    let mut works = meetings.meetings.iter().map(|meeting| meeting.work);
    if works.any(|work| work == "trim") {
        section.push(Block::text(
            "Where these hosts hold copies of the same data, all copies are slow at once. With the bundles of one \
             cluster, `trimtab plan --bundle DIRECTORY` gives each host a slot of its own.",
        ));
    }
    if meetings.hosts_unknown > 0 {
        let unknown = count(meetings.hosts_unknown, "host");
        section.push(Block::text(format!(
            "Not fully compared: {unknown} whose jobs or start times are not all known."
        )));
    }
    if let Some(until) = meetings.compared_until {
        section.push(Block::text(format!(
            "Starts after {} were not compared: there are too many.",
            until.strftime("%Y-%m-%d %H:%M UTC")
        )));
    }
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_exceptions_are_named_instead_of_many_hosts() {
        let all: Vec<String> = (0..100).map(|n| format!("db{n:02}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(names(&all, &all, 6), "all 100");
        assert_eq!(names(&all[2..], &all, 6), "all 100 but db00 and db01");
        assert_eq!(names(&all[..2], &all, 6), "db00 and db01");
        assert_eq!(names(&all[..60], &all, 2), "db00, db01 and 58 more");
        assert_eq!(names(&all[..3], &all[..4], 6), "db00, db01 and db02");
    }
}
