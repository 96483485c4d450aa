//! SARIF 2.1.0 (OASIS Standard, with Errata 01), for code-scanning services and ticket systems.

use crate::check::{CheckAnswer, CheckReport, RuleInfo, sorted};
use crate::envelope::to_json;
use crate::views::finding::severity_word;
use facts::{Evidence, Finding};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use units::escape::percent_encoded;

const SCHEMA_URI: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Base of all artifact URIs: the root directory of the checked host.
const HOST_ROOT: &str = "HOSTROOT";
/// Name and version of the fingerprint, see [`fingerprint`].
const FINGERPRINT: &str = "trimtabRuleSubject/v1";

/// Renders a report as a SARIF log with one run.
pub fn sarif(report: &CheckReport<'_>) -> String {
    let found = sorted(report.findings).into_iter();
    let accepted = report.suppressed.iter();
    let accepted = accepted.map(|one| (&one.finding, Some(one.reason.as_str())));
    let findings: Vec<(&Finding, Option<&str>)> = found
        .map(|finding| (finding, None))
        .chain(accepted)
        .collect();
    let rules = Rules::of(report, findings.iter().map(|(finding, _)| *finding));
    let results: Vec<Value> = findings
        .iter()
        .map(|(finding, reason)| result(finding, *reason, &rules))
        .collect();
    let log = json!({
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "trimtab",
                "version": report.tool_version,
                "rules": rules.descriptors,
            }},
            "invocations": [invocation(report)],
            "originalUriBaseIds": {HOST_ROOT: {
                "description": {"text": "The root directory of the host that was checked."},
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {"source": report.source},
        }],
    });
    to_json(&log)
}

/// The rules of the run, and the index of each.
struct Rules {
    descriptors: Vec<Value>,
    index: HashMap<String, usize>,
}

impl Rules {
    /// Collects the rules that ran or found something, each once, sorted by ID.
    fn of<'a>(report: &'a CheckReport<'_>, findings: impl Iterator<Item = &'a Finding>) -> Self {
        let found = findings.map(|finding| finding.rule.as_str());
        let mut ids: Vec<&str> = report.rules_run.iter().copied().chain(found).collect();
        ids.sort_unstable();
        ids.dedup();
        let docs: HashMap<&str, &RuleInfo> = report
            .rule_docs
            .iter()
            .map(|info| (info.id.as_str(), info))
            .collect();
        let descriptors = ids
            .iter()
            .map(|id| match docs.get(id) {
                Some(info) => json!({
                    "id": id,
                    "shortDescription": {"text": literal(&info.title)},
                    // The text is for viewers without Markdown support; Markdown is readable as it
                    // is.
                    "help": {
                        "text": literal(&info.help_markdown),
                        "markdown": info.help_markdown.replace('{', "{{").replace('}', "}}"),
                    },
                }),
                None => json!({"id": id}),
            })
            .collect();
        let index = (0..).zip(ids).map(|(index, id)| (id.to_owned(), index));
        Self {
            descriptors,
            index: index.collect(),
        }
    }
}

fn result(finding: &Finding, accepted: Option<&str>, rules: &Rules) -> Value {
    let message = if finding.why.is_empty() {
        finding.title.clone()
    } else {
        format!("{}: {}. {}", finding.subject, finding.title, finding.why)
    };
    let files: Vec<(&Evidence, Value)> = finding
        .evidence
        .iter()
        .filter_map(|evidence| Some((evidence, physical_location(&evidence.source)?)))
        .collect();
    let mut location = Map::new();
    location.insert("logicalLocations".to_owned(), logical_locations(finding));
    if let Some((_, physical)) = files.first() {
        location.insert("physicalLocation".to_owned(), physical.clone());
    }
    let related: Vec<Value> = files
        .iter()
        .map(|(evidence, physical)| {
            json!({
                "physicalLocation": physical,
                "message": {"text": literal(&format!("{} = {}", evidence.source, evidence.value))},
            })
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.rule,
        "level": severity_word(finding.severity),
        "message": {"text": literal(&message)},
        "locations": [location],
        "relatedLocations": related,
        "partialFingerprints": {FINGERPRINT: fingerprint(finding)},
        "properties": {
            "subject": finding.subject,
            "mountPoint": finding.mount_point,
            "device": finding.device,
            "evidence": finding.evidence,
            "remedy": finding.remedy,
        },
    });
    if let Some(cluster) = &finding.cluster {
        result["properties"]["cluster"] = json!(cluster);
    }
    if let Some(host) = &finding.host {
        result["properties"]["host"] = json!(host);
    }
    if let Some(index) = rules.index.get(&finding.rule) {
        result["ruleIndex"] = json!(index);
    }
    if let Some(reason) = accepted {
        result["suppressions"] = json!([{"kind": "external", "justification": reason}]);
    }
    result
}

/// Returns a plain-text message in which nothing is a placeholder or a link: braces doubled
/// (section 3.11.5), and no closing bracket directly before a parenthesis (section 3.11.6).
fn literal(text: &str) -> String {
    text.replace('{', "{{")
        .replace('}', "}}")
        .replace("](", "] (")
}

/// Returns the subject, the mount point and device if they differ from it, the cluster, and the host
/// if several were checked.
fn logical_locations(finding: &Finding) -> Value {
    let differs = |name: &String| *name != finding.subject;
    let device = finding
        .device
        .as_ref()
        .map(|device| format!("/dev/{device}"));
    let names = [
        (Some(finding.subject.clone()), "subject"),
        (finding.mount_point.clone().filter(differs), "mount point"),
        (device.filter(differs), "device"),
        (finding.cluster.clone(), "cluster"),
        (finding.host.clone(), "host"),
    ];
    names
        .into_iter()
        .filter_map(|(name, kind)| Some(json!({"fullyQualifiedName": name?, "kind": kind})))
        .collect()
}

/// Returns the file that an evidence names, relative to the host's root; `None` if it names a
/// command.
fn physical_location(source: &str) -> Option<Value> {
    let (path, line) = file_of(source)?;
    let mut physical = json!({
        "artifactLocation": {"uri": percent_encoded(path), "uriBaseId": HOST_ROOT},
    });
    if let Some(line) = line {
        physical["region"] = json!({"startLine": line});
    }
    Some(physical)
}

/// Returns path and line of an evidence that names a file: `etc/crontab:18`,
/// `proc/mounts: options`. Commands (`systemctl show x: Field`) have a blank before their first
/// slash, or no slash.
fn file_of(source: &str) -> Option<(&str, Option<u64>)> {
    let path = source.split(": ").next().unwrap_or(source);
    let path = path.strip_prefix('/').unwrap_or(path);
    let (path, line) = match path.rsplit_once(':') {
        Some((path, digits)) => match digits.parse::<u64>() {
            Ok(line) if line > 0 && digits.bytes().all(|c| c.is_ascii_digit()) => {
                (path, Some(line))
            }
            _ => return None,
        },
        None => (path, None),
    };
    let (top, _) = path.split_once('/')?;
    let is_file = !top.contains(char::is_whitespace)
        // Dot segments could lead out of the host's root.
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    is_file.then_some((path, line))
}

/// Returns a fingerprint that is the same for the same rule and subject in every run and version:
/// FNV-1a, 64 bits, of the rule's ID, a NUL, and the subject, in 16 hexadecimal digits (Fowler,
/// Noll, Vo; RFC 9923). Nodes of two clusters may have the same name, so for those a NUL and the
/// cluster's name follow; of several hosts, the host's.
fn fingerprint(finding: &Finding) -> String {
    let cluster = finding.cluster.iter().chain(&finding.host);
    let bytes = finding
        .rule
        .bytes()
        .chain([0])
        .chain(finding.subject.bytes())
        .chain(cluster.flat_map(|name| [0].into_iter().chain(name.bytes())));
    format!("{:016x}", fnv1a_64(bytes))
}

pub(crate) fn fnv1a_64(bytes: impl Iterator<Item = u8>) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

/// Returns skipped checks and warnings as tool notifications.
fn invocation(report: &CheckReport<'_>) -> Value {
    let skipped = report.skipped.iter().map(|skip| {
        let mut text = match &skip.host {
            Some(host) => format!("skipped {host}: {}: {}", skip.what, skip.why),
            None => format!("skipped {}: {}", skip.what, skip.why),
        };
        if let Some(needs) = &skip.needs {
            let _ = write!(text, " (needs {needs})");
        }
        json!({
            "level": "note",
            "message": {"text": literal(&text)},
            "properties": {"what": skip.what, "why": skip.why, "needs": skip.needs},
        })
    });
    let warnings = report
        .warnings
        .iter()
        .map(|warning| json!({"level": "warning", "message": {"text": literal(warning)}}));
    let notifications: Vec<Value> = skipped.chain(warnings).collect();
    json!({
        "executionSuccessful": report.answer() != CheckAnswer::CouldNotTell,
        "endTimeUtc": report.generated_at.to_string(),
        "toolExecutionNotifications": notifications,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_are_distinguished_from_commands() {
        for (source, file) in [
            (
                "sys/block/dm-0/queue/discard_max_bytes",
                Some(("sys/block/dm-0/queue/discard_max_bytes", None)),
            ),
            ("etc/crontab:18", Some(("etc/crontab", Some(18)))),
            ("/etc/fstab", Some(("etc/fstab", None))),
            (
                "proc/self/mountinfo: /mnt/data",
                Some(("proc/self/mountinfo", None)),
            ),
            ("etc/crontab:18: command", Some(("etc/crontab", Some(18)))),
            ("systemctl show fstrim.timer: UnitFileState", None),
            ("GET /_cluster/settings: cluster.max_shards_per_node", None),
            ("host es-1: sys/block/sda/queue/rotational", None),
            ("dmsetup table /dev/mapper/c0", None),
            ("etc/../../secret", None),
            ("etc//passwd", None),
            ("etc/crontab:0", None),
            ("uname", None),
            ("", None),
        ] {
            assert_eq!(file_of(source), file, "{source}");
        }
    }

    #[test]
    fn messages_contain_no_placeholders_or_links() {
        assert_eq!(
            literal("{0} [x](http://y) a[1]"),
            "{{0}} [x] (http://y) a[1]"
        );
    }

    #[test]
    fn uris_are_encoded() {
        assert_eq!(
            percent_encoded("etc/a b#c%d:é"),
            "etc/a%20b%23c%25d%3A%C3%A9"
        );
    }

    #[test]
    fn hash_is_fnv_1a() {
        // The authors' test vectors: the empty string, "a", "foobar".
        assert_eq!(fnv1a_64("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64("a".bytes()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64("foobar".bytes()), 0x8594_4171_f739_67e8);
    }

    proptest! {
        #[test]
        fn percent_encoding_is_lossless(path in "\\PC*|.*") {
            let uri = percent_encoded(&path);
            prop_assert!(uri.is_ascii());
            let mut bytes = Vec::new();
            let mut rest = uri.bytes();
            while let Some(byte) = rest.next() {
                bytes.push(if byte == b'%' {
                    let digit = |c: Option<u8>| char::from(c.unwrap()).to_digit(16).unwrap();
                    u8::try_from(digit(rest.next()) * 16 + digit(rest.next())).unwrap()
                } else {
                    byte
                });
            }
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), path);
        }
    }
}
