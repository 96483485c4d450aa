//! Findings as documents of Elasticsearch and OpenSearch: lines for `_bulk`, with the field names of the Elastic Common
//! Schema (ECS 8.11) where it has one, else below `trimtab`.
//!
//! The two indices hold the present state, not its history: a document for each host and for each rule that found
//! something on it. Their ids are made of the names, so that the same results sent twice change nothing, and newer
//! ones replace older ones. A finding keeps the time at which it was first sent (`event.start`). Where a rule
//! finds nothing any more its document is deleted; where it could not look, the document stays as it is.

use crate::by_host::ByHost;
use crate::check::{CheckReport, CheckedHost, Counts, Suppressed, distribution};
use crate::coverage::Coverage;
use crate::sarif::fnv1a_64;
use crate::views::cluster;
use facts::{Cluster, Finding, Severity, Skipped};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use units::escape::escape_json;

/// The index of what rules found, by host.
pub const FINDINGS_INDEX: &str = "trimtab-findings";
/// The index of the hosts and clusters that were checked.
pub const HOSTS_INDEX: &str = "trimtab-hosts";
/// The template of both indices, for `PUT /_index_template/trimtab`: Elasticsearch 7.8, OpenSearch 1 and later.
pub const INDEX_TEMPLATE: &str =
    include_str!("../../../packaging/elasticsearch/index-template.json");

/// Maximum length of a name in an id, in bytes; the server's limit for ids is 512.
const NAME_BYTES_MAX: usize = 400;
/// Maximum number of subjects, titles and pieces of evidence of a document.
const LIST_MAX: usize = 100;
const ECS_VERSION: &str = "8.11.0";

/// Renders a report as the body of a `_bulk` request: actions and documents, a line each.
pub fn bulk(report: &CheckReport<'_>) -> String {
    let mut text = String::new();
    let Ok(()) = actions(report, |action| {
        text.push_str(action);
        Ok::<(), Infallible>(())
    });
    text
}

/// Hands on each action with its document: whole lines, that belong into the same request.
///
/// # Errors
/// The first of `take`.
pub fn actions<E>(
    report: &CheckReport<'_>,
    take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut lines = Actions { take };
    let by_host = report.by_host();
    let mut suppressed: HashMap<(Option<&str>, bool), usize> = HashMap::new();
    for Suppressed { finding, .. } in report.suppressed {
        let place = (finding.host.as_deref(), finding.cluster.is_some());
        *suppressed.entry(place).or_default() += 1;
    }
    let suppressed = |place, of_cluster| suppressed.get(&(place, of_cluster)).copied().unwrap_or(0);
    for checked in &report.hosts {
        let place = Place {
            id: id_of("host", &checked.name),
            name: by_host.place(&checked.name),
            about: about_host(checked),
            read_at: checked.host.read_at,
            source: &checked.source,
            unread: &checked.host.skipped,
            rules: &by_host.host_rules,
            by_host: &by_host,
            suppressed: suppressed(by_host.place(&checked.name), false),
        };
        let findings = by_host.findings(&checked.name);
        let coverage = by_host.coverage(&checked.name);
        let mut document = place.document(report, findings, coverage);
        document["trimtab"]["stores"] = stores(checked);
        lines.update(HOSTS_INDEX, &place.id, &document, None)?;
        place.findings(report, findings, &mut lines)?;
    }
    if let Some(cluster) = report.cluster {
        let name = cluster::name(cluster);
        let place = Place {
            id: id_of("cluster", name),
            name: None,
            about: about_cluster_of(cluster),
            read_at: cluster.read_at,
            source: &cluster.endpoint,
            unread: &cluster.skipped,
            rules: &by_host.cluster_rules,
            by_host: &by_host,
            suppressed: suppressed(None, true),
        };
        let mut findings: Vec<&Finding> = report.findings.iter().collect();
        findings.retain(|finding| finding.cluster.is_some());
        let coverage = by_host.coverage_of_cluster();
        let document = place.document(report, &findings, coverage);
        lines.update(HOSTS_INDEX, &place.id, &document, None)?;
        place.findings(report, &findings, &mut lines)?;
    }
    Ok(())
}

/// A host or a cluster.
struct Place<'a> {
    /// Begins the ids of its documents.
    id: String,
    /// Its name in findings and skipped checks of several hosts.
    name: Option<&'a str>,
    /// What its documents have in common.
    about: Value,
    read_at: Timestamp,
    source: &'a str,
    /// What of it could not be read.
    unread: &'a [Skipped],
    /// The rules that ran on it.
    rules: &'a [&'a str],
    by_host: &'a ByHost<'a, 'a>,
    /// Number of findings about it that the configuration accepts.
    suppressed: usize,
}

impl Place<'_> {
    /// The rules that could not decide anything here.
    fn undecided(&self) -> impl Iterator<Item = &str> {
        let rules = self.rules.iter().copied();
        rules.filter(|rule| self.by_host.is_undecided(self.name, rule))
    }

    fn common(&self, report: &CheckReport<'_>, dataset: &str) -> Value {
        let mut document = self.about.clone();
        document["@timestamp"] = json!(self.read_at);
        document["ecs"] = json!({"version": ECS_VERSION});
        document["event"] = json!({"kind": "state", "module": "trimtab", "dataset": dataset});
        document["observer"] = json!({"product": "trimtab", "version": report.tool_version});
        document
    }

    fn document(
        &self,
        report: &CheckReport<'_>,
        findings: &[&Finding],
        coverage: Coverage,
    ) -> Value {
        let mut document = self.common(report, "trimtab.hosts");
        let unread = self.unread.iter().map(|skipped| skipped.what.as_str());
        let mut skipped: Vec<&str> = unread.chain(self.undecided()).collect();
        skipped.sort_unstable();
        skipped.dedup();
        skipped.truncate(LIST_MAX);
        let counts = Counts::of(findings.iter().copied());
        let worst = findings.iter().map(|finding| finding.severity).max();
        document["event"]["severity"] = json!(worst.map_or(0, severity_number));
        document["trimtab"] = json!({
            "source": self.source,
            "severity": worst.map(Severity::as_str),
            "findings": counts,
            "suppressed": self.suppressed,
            "could_tell": !coverage.is_mostly_blind(),
            "rules": {"run": coverage.rules, "undecided": coverage.undecided},
            "filesystems": {"seen": coverage.filesystems, "unread": coverage.filesystems_unread},
            "skipped": skipped,
        });
        document
    }

    fn findings<E>(
        &self,
        report: &CheckReport<'_>,
        findings: &[&Finding],
        lines: &mut Actions<impl FnMut(&str) -> Result<(), E>>,
    ) -> Result<(), E> {
        for rule in self.rules {
            let id = format!("{}/{rule}", self.id);
            let of_rule = findings.iter().filter(|finding| finding.rule == *rule);
            let of_rule: Vec<&Finding> = of_rule.copied().collect();
            if let Some(document) = self.finding(report, &of_rule) {
                let mut first = document.clone();
                first["event"]["start"] = json!(self.read_at);
                lines.update(FINDINGS_INDEX, &id, &document, Some(&first))?;
            } else if !self.by_host.is_undecided(self.name, rule) {
                lines.delete(FINDINGS_INDEX, &id)?;
            }
        }
        Ok(())
    }

    /// Describes what a rule found here, the worst first; `None` if it found nothing. Every field is always there,
    /// since an update leaves alone what it does not name.
    fn finding(&self, report: &CheckReport<'_>, findings: &[&Finding]) -> Option<Value> {
        let mut findings = findings.to_vec();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let worst = findings.first()?;
        let docs = report.rule_docs.iter();
        let name = docs
            .filter(|rule| rule.id == worst.rule)
            .map(|rule| &rule.title)
            .next();
        let remedy = worst.remedy.first();
        let list = |of: fn(&Finding) -> &String| -> Vec<&String> {
            let mut list: Vec<&String> = findings.iter().map(|finding| of(finding)).collect();
            list.dedup();
            list.truncate(LIST_MAX);
            list
        };
        let evidence = worst.evidence.iter().take(LIST_MAX);
        let evidence = evidence.map(|evidence| format!("{}: {}", evidence.source, evidence.value));
        let mut document = self.common(report, "trimtab.findings");
        document["event"]["severity"] = json!(severity_number(worst.severity));
        document["message"] = json!(worst.title);
        document["rule"] = json!({"id": worst.rule, "name": name});
        document["trimtab"] = json!({
            "source": self.source,
            "severity": worst.severity.as_str(),
            "count": findings.len(),
            "subjects": list(|finding| &finding.subject),
            "titles": list(|finding| &finding.title),
            "why": worst.why,
            "evidence": evidence.collect::<Vec<_>>(),
            "remedy": {
                "text": remedy.map(|remedy| &remedy.text),
                "command": remedy.and_then(|remedy| remedy.command.as_ref()),
                "risk": remedy.and_then(|remedy| remedy.risk.as_ref()),
                "undo": remedy.and_then(|remedy| remedy.undo.as_ref()),
            },
        });
        Some(document)
    }
}

fn about_host(checked: &CheckedHost<'_>) -> Value {
    let platform = &checked.host.platform;
    json!({"host": {
        "name": checked.name,
        "hostname": platform.host_name,
        "os": {
            "type": "linux",
            "platform": platform.distribution,
            "version": platform.distribution_version,
            "full": distribution(platform),
            "kernel": platform.kernel_release,
        },
    }})
}

fn about_cluster_of(cluster: &Cluster) -> Value {
    json!({"orchestrator": {"cluster": {
        "name": cluster::name(cluster),
        "version": cluster.version.to_string(),
    }}})
}

fn stores(checked: &CheckedHost<'_>) -> Value {
    let stores = checked.host.stores.iter().map(|store| store.engine.label());
    let mut stores: Vec<&str> = stores.collect();
    stores.sort_unstable();
    stores.dedup();
    json!(stores)
}

/// `event.severity`: higher is worse.
fn severity_number(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 1,
        Severity::Warning => 2,
        Severity::Error => 3,
    }
}

/// Returns `host:db1`. The end of a name that is too long is replaced by its FNV-1a hash.
fn id_of(kind: &str, name: &str) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return format!("{kind}:{name}");
    }
    let hash = fnv1a_64(name.bytes());
    let cut = name.floor_char_boundary(NAME_BYTES_MAX);
    format!("{kind}:{}~{hash:016x}", &name[..cut])
}

struct Actions<F> {
    take: F,
}

impl<E, F: FnMut(&str) -> Result<(), E>> Actions<F> {
    /// Changes a document, or makes it: with the members of `first` as well, if there are any. An update with what is
    /// there leaves it alone.
    fn update(
        &mut self,
        index: &str,
        id: &str,
        document: &Value,
        first: Option<&Value>,
    ) -> Result<(), E> {
        let action = json!({"update": {"_index": index, "_id": id, "retry_on_conflict": 3}});
        let change = match first {
            Some(first) => json!({"doc": document, "upsert": first}),
            None => json!({"doc": document, "doc_as_upsert": true}),
        };
        self.write(&[&action, &change])
    }

    fn delete(&mut self, index: &str, id: &str) -> Result<(), E> {
        self.write(&[&json!({"delete": {"_index": index, "_id": id}})])
    }

    fn write(&mut self, lines: &[&Value]) -> Result<(), E> {
        let mut text = String::new();
        for line in lines {
            text.push_str(&escape_json(&line.to_string()));
            text.push('\n');
        }
        (self.take)(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_differ() {
        assert_eq!(id_of("host", "db1"), "host:db1");
        let long = |end: &str| id_of("host", &("ä".repeat(300) + end));
        assert!(long("a").len() <= 450 && long("a") != long("b"));
        assert_eq!(long("a"), long("a"));
    }
}
