//! Findings that several hosts share.

use facts::{Finding, Severity};
use std::cmp::Reverse;
use std::collections::HashMap;
use units::count;

/// From so many hosts on, what they share is shown instead of a section for each.
pub(crate) const HOSTS_MIN: usize = 4;
/// Findings of one rule about several hosts that say the same apart from names and figures.
pub(crate) struct Shared<'a> {
    /// The first of them.
    pub first: &'a Finding,
    /// The hosts, each once.
    pub hosts: Vec<&'a str>,
    /// The number of findings.
    pub findings: usize,
}

/// Groups the findings about hosts, the most severe first, then those of most hosts.
pub(crate) fn groups<'a>(findings: &'a [Finding]) -> Vec<Shared<'a>> {
    let mut groups: Vec<Shared<'a>> = Vec::new();
    let mut known: HashMap<(Severity, &str, String), usize> = HashMap::new();
    for finding in findings {
        let (Some(host), None) = (&finding.host, &finding.cluster) else {
            continue;
        };
        let key = (
            finding.severity,
            finding.rule.as_str(),
            outline(&finding.title),
        );
        let index = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => {
                group.findings += 1;
                // Findings of one host follow each other.
                if group.hosts.last() != Some(&host.as_str()) {
                    group.hosts.push(host);
                }
            }
            None => groups.push(Shared {
                first: finding,
                hosts: vec![host],
                findings: 1,
            }),
        }
    }
    for group in &mut groups {
        group.hosts.sort_unstable();
        group.hosts.dedup();
    }
    groups.sort_by_key(|group| {
        let first = group.first;
        (
            Reverse(first.severity),
            Reverse(group.hosts.len()),
            &first.rule,
        )
    });
    groups
}

/// Names the worst finding: `TRIM001 on 3 hosts`. `None` if there is none about a host.
pub(crate) fn worst(findings: &[Finding]) -> Option<String> {
    let groups = groups(findings);
    let worst = groups.first()?;
    let on = match worst.hosts.as_slice() {
        [only] => (*only).to_owned(),
        hosts => count(hosts.len(), "host"),
    };
    Some(format!("{} on {on}", worst.first.rule))
}

/// A title without the names and figures in it.
fn outline(title: &str) -> String {
    let is_name = |word: &&str| {
        let is_marked = |byte: u8| byte.is_ascii_digit() || b"/`()@".contains(&byte);
        !word.bytes().any(is_marked)
    };
    let words: Vec<&str> = title.split_whitespace().filter(is_name).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(host: &str, rule: &str, title: &str) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity: Severity::Warning,
            subject: "/data".to_owned(),
            mount_point: None,
            host: Some(host.to_owned()),
            cluster: None,
            device: None,
            title: title.to_owned(),
            why: String::new(),
            evidence: Vec::new(),
            remedy: Vec::new(),
        }
    }

    #[test]
    fn findings_that_differ_in_names_and_figures_are_one() {
        let all = [
            finding(
                "a",
                "TRIM001",
                "dm-crypt volume /dev/mapper/x (dm-0) drops every discard",
            ),
            finding(
                "a",
                "TRIM001",
                "dm-crypt volume /dev/mapper/y (dm-1) drops every discard",
            ),
            finding(
                "b",
                "TRIM001",
                "dm-crypt volume /dev/mapper/z (dm-7) drops every discard",
            ),
            finding(
                "b",
                "TRIM001",
                "thin pool /dev/mapper/p (dm-3) ignores discards",
            ),
            finding("c", "FS005", "nobarrier"),
        ];
        let groups = groups(&all);
        let told: Vec<(&str, &[&str], usize)> = groups
            .iter()
            .map(|group| {
                (
                    group.first.rule.as_str(),
                    group.hosts.as_slice(),
                    group.findings,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("TRIM001", &["a", "b"][..], 3),
                ("FS005", &["c"], 1),
                ("TRIM001", &["b"], 1)
            ]
        );
    }
}
