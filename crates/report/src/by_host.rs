//! What a report holds about each of its hosts, found by name: reports have thousands of hosts.

use crate::coverage::Coverage;
use facts::{Finding, Host, Skipped};
use std::collections::{HashMap, HashSet};

/// Values by a host's name; `None` stands for the only host, and for the cluster.
type Places<'a, T> = HashMap<Option<&'a str>, T>;

/// A report's findings and skipped rules by host.
pub(crate) struct ByHost<'r, 'a> {
    hosts: HashMap<&'r str, &'a Host>,
    /// Without those about the cluster, in the report's order.
    findings: Places<'a, Vec<&'a Finding>>,
    skipped: Places<'a, HashSet<&'a str>>,
    /// The rules that ran on each host.
    pub host_rules: Vec<&'a str>,
    /// The rules that ran on the cluster.
    pub cluster_rules: Vec<&'a str>,
}

impl<'r, 'a> ByHost<'r, 'a> {
    /// Takes hosts by name, what was found and skipped on them, and the rules that ran on hosts and on the cluster.
    pub fn new(
        hosts: impl Iterator<Item = (&'r str, &'a Host)>,
        all_findings: &'a [Finding],
        all_skipped: &'a [Skipped],
        host_rules: Vec<&'a str>,
        cluster_rules: Vec<&'a str>,
    ) -> Self {
        let mut findings: Places<'_, Vec<&Finding>> = Places::new();
        for finding in all_findings {
            if finding.cluster.is_none() {
                let place = finding.host.as_deref();
                findings.entry(place).or_default().push(finding);
            }
        }
        let mut skipped: Places<'_, HashSet<&str>> = Places::new();
        for skip in all_skipped {
            let place = skip.host.as_deref();
            skipped.entry(place).or_default().insert(&skip.what);
        }
        Self {
            hosts: hosts.collect(),
            findings,
            skipped,
            host_rules,
            cluster_rules,
        }
    }

    /// Returns a host's name in findings and skipped checks, which only one of several has.
    pub fn place<'n>(&self, name: &'n str) -> Option<&'n str> {
        (self.hosts.len() > 1).then_some(name)
    }

    /// Returns the findings about a host.
    pub fn findings<'s>(&'s self, name: &'s str) -> &'s [&'a Finding] {
        self.findings
            .get(&self.place(name))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a rule had nothing to look at.
    pub fn is_undecided(&self, place: Option<&str>, rule: &str) -> bool {
        self.skipped
            .get(&place)
            .is_some_and(|skipped| skipped.contains(rule))
    }

    /// Counts the rules that ran on a host and on the cluster, and those that could not decide anything.
    pub fn coverage(&self, name: &str) -> Coverage {
        let mut coverage = self.coverage_of_cluster();
        self.add(&mut coverage, self.place(name), &self.host_rules);
        if let Some(host) = self.hosts.get(name) {
            coverage.add_filesystems(host);
        }
        coverage
    }

    /// Counts the rules that ran on the cluster.
    pub fn coverage_of_cluster(&self) -> Coverage {
        let mut coverage = Coverage::default();
        self.add(&mut coverage, None, &self.cluster_rules);
        coverage
    }

    /// Counts them on all hosts, and on the cluster once.
    pub fn coverage_of_all(&self) -> Coverage {
        let mut coverage = self.coverage_of_cluster();
        if self.hosts.is_empty() {
            self.add(&mut coverage, None, &self.host_rules);
        }
        for (name, host) in &self.hosts {
            self.add(&mut coverage, self.place(name), &self.host_rules);
            coverage.add_filesystems(host);
        }
        coverage
    }

    fn add(&self, coverage: &mut Coverage, place: Option<&str>, rules: &[&str]) {
        let undecided = rules.iter().filter(|rule| self.is_undecided(place, rule));
        coverage.rules += rules.len() as u64;
        coverage.undecided += undecided.count() as u64;
    }
}
