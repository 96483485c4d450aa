use crate::views::cluster;
use facts::host::{DeviceKind, Platform};
use facts::{Cluster, Finding, Host, Severity, Skipped};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::LazyLock;
use units::{count, list};

/// Used if no host was checked: it has no mounts, so nothing of it is shown.
static NO_HOST: LazyLock<Host> = LazyLock::new(Host::default);

/// Input of every rendering of `trimtab check`.
#[derive(Debug, Clone)]
pub struct CheckReport<'a> {
    /// The host that was checked; `None` if only a cluster was.
    pub host: Option<&'a Host>,
    /// The cluster that was checked, if one was.
    pub cluster: Option<&'a Cluster>,
    /// Findings, without suppressed ones.
    pub findings: &'a [Finding],
    /// Findings that the configuration accepts, with the reason given.
    pub suppressed: &'a [Suppressed],
    /// Checks that were skipped, by the host's collection and by the rules.
    pub skipped: &'a [Skipped],
    /// IDs of the rules that ran.
    pub rules_run: &'a [&'a str],
    /// Documentation of the rules, which SARIF includes.
    pub rule_docs: &'a [RuleInfo],
    /// Source of the facts: `live`, `bundle host.tar.zst`, `directory /mnt/root`.
    pub source: String,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the report was made.
    pub generated_at: Timestamp,
    /// Warnings about this run: an old bundle, an unknown suppression.
    pub warnings: &'a [String],
}

/// Description of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Stable ID.
    pub id: String,
    /// What it finds, in one line.
    pub title: String,
    /// Documentation in Markdown.
    pub help_markdown: String,
}

/// A finding that the configuration accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// Why it is accepted here.
    pub reason: String,
}

/// Number of findings by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Findings of severity `error`.
    pub error: u64,
    /// Findings of severity `warning`.
    pub warning: u64,
    /// Findings of severity `info`.
    pub info: u64,
}

impl<'a> CheckReport<'a> {
    /// Returns the host; an empty one if none was checked.
    pub(crate) fn host_or_none(&self) -> &'a Host {
        self.host.unwrap_or(&NO_HOST)
    }

    /// Counts findings by severity; suppressed ones do not count.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for finding in self.findings {
            match finding.severity {
                Severity::Error => counts.error += 1,
                Severity::Warning => counts.warning += 1,
                Severity::Info => counts.info += 1,
            }
        }
        counts
    }

    /// Returns whether the report is empty because no rule could decide anything: none ran, or
    /// every one that ran was skipped, and nothing was found. An empty report does not mean a
    /// healthy host then.
    pub fn nothing_checked(&self) -> bool {
        let skipped: HashSet<&str> = self.skipped.iter().map(|skip| skip.what.as_str()).collect();
        self.findings.is_empty()
            && self.suppressed.is_empty()
            && self.rules_run.iter().all(|rule| skipped.contains(rule))
    }

    /// Summarises the counts: `1 error, 2 notes`.
    pub(crate) fn describe_counts(&self) -> String {
        let counts = self.counts();
        let found: Vec<String> = [
            (counts.error, "error"),
            (counts.warning, "warning"),
            (counts.info, "note"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
        if self.nothing_checked() {
            "Nothing could be checked".to_owned()
        } else if found.is_empty() {
            "Nothing found".to_owned()
        } else {
            found.join(", ")
        }
    }

    /// Summarises the report in one line:
    /// `2 errors, 1 note on db1 (Debian 12, 4 drives); 3 checks skipped`.
    pub(crate) fn verdict(&self) -> String {
        let found = self.describe_counts();
        let on: Vec<String> = self
            .host
            .map(|host| self.describe_host(host))
            .into_iter()
            .chain(self.cluster.map(cluster::words))
            .collect();
        let mut verdict = format!("{found} on {}", list(&on));
        let mut aside = Vec::new();
        if !self.skipped.is_empty() {
            aside.push(format!("{} skipped", count(self.skipped.len(), "check")));
        }
        if !self.suppressed.is_empty() {
            aside.push(format!(
                "{} suppressed",
                count(self.suppressed.len(), "finding")
            ));
        }
        if !aside.is_empty() {
            verdict.push_str("; ");
            verdict.push_str(&aside.join(", "));
        }
        verdict
    }

    /// Returns what was checked, for a heading: the host's name, else the cluster's.
    pub(crate) fn name(&self) -> String {
        match (self.host, self.cluster) {
            (None, Some(cluster)) => format!("cluster {}", cluster::name(cluster)),
            (host, _) => host
                .and_then(|host| host.platform.host_name.clone())
                .unwrap_or_else(|| "this host".to_owned()),
        }
    }

    /// Describes the host: `db1 (Debian 12, kernel 6.1.0-13-amd64, 4 drives)`.
    fn describe_host(&self, host: &Host) -> String {
        let platform = &host.platform;
        let mut words = Vec::new();
        words.extend(distribution(platform));
        if let Some(release) = &platform.kernel_release {
            words.push(format!("kernel {release}"));
        }
        words.extend(platform.container.iter().map(|kind| format!("in {kind}")));
        words.push(count(self.drives(), "drive"));
        let name = platform.host_name.as_deref().unwrap_or("this host");
        format!("{name} ({})", words.join(", "))
    }

    /// Describes what was examined: `27 rules on 4 drives, 6 mounts, 1 store and 12 jobs`.
    pub(crate) fn scope(&self) -> String {
        let mut seen = Vec::new();
        if let Some(host) = self.host {
            seen.push(count(self.drives(), "drive"));
            seen.push(count(host.mounts.len(), "mount"));
            seen.push(count(host.stores.len(), "store"));
            if let Some(jobs) = &host.jobs {
                seen.push(count(jobs.len(), "job"));
            }
        }
        if let Some(cluster) = self.cluster {
            seen.extend(cluster::scope(cluster));
        }
        let mut scope = self.describe_rules();
        if !seen.is_empty() {
            scope.push_str(" on ");
            scope.push_str(&list(&seen));
        }
        if self.host.is_some_and(|host| host.jobs.is_none()) {
            scope.push_str("; jobs are not known");
        }
        scope
    }

    /// Returns `20 rules`, or `3 of 20 rules` if the others were skipped entirely.
    fn describe_rules(&self) -> String {
        let skipped: HashSet<&str> = self.skipped.iter().map(|skip| skip.what.as_str()).collect();
        let all = self.rules_run.len();
        let decided = self
            .rules_run
            .iter()
            .filter(|rule| !skipped.contains(**rule))
            .count();
        if decided == all {
            count(all, "rule")
        } else {
            format!("{decided} of {}", count(all, "rule"))
        }
    }

    /// Returns the number of drives that this kernel sees, without loop devices and zram.
    fn drives(&self) -> usize {
        let drives = self.host_or_none().devices.iter().filter(|device| {
            matches!(
                device.kind,
                DeviceKind::Nvme { .. }
                    | DeviceKind::Scsi { .. }
                    | DeviceKind::VirtioBlk { .. }
                    | DeviceKind::Xen
                    | DeviceKind::Mmc
                    | DeviceKind::Network { .. }
            )
        });
        drives.count()
    }

    /// Describes when and from what the report was made:
    /// `live; checked 2026-11-03 07:12:00 UTC by trimtab 0.1.0`.
    pub(crate) fn origin(&self) -> String {
        format!(
            "{}; checked {} by trimtab {}",
            self.source,
            self.generated_at.strftime("%Y-%m-%d %H:%M:%S UTC"),
            self.tool_version
        )
    }
}

/// Returns the distribution's common name, such as `Debian 12`, if its ID is a known one; else
/// `PRETTY_NAME` without the code name in parentheses.
fn distribution(platform: &Platform) -> Option<String> {
    let known = match platform.distribution.as_deref() {
        Some("debian") => Some("Debian"),
        Some("ubuntu") => Some("Ubuntu"),
        Some("centos") => Some("CentOS"),
        Some("rhel") => Some("RHEL"),
        Some("rocky") => Some("Rocky Linux"),
        Some("almalinux") => Some("AlmaLinux"),
        Some("fedora") => Some("Fedora"),
        Some("amzn") => Some("Amazon Linux"),
        Some("ol") => Some("Oracle Linux"),
        Some("sles") => Some("SLES"),
        _ => None,
    };
    match (known, &platform.distribution_version) {
        (Some(name), Some(version)) => Some(format!("{name} {version}")),
        (Some(name), None) => Some(name.to_owned()),
        (None, version) => platform
            .distribution_name
            .as_deref()
            .map(|name| name.split(" (").next().unwrap_or(name).to_owned())
            .or_else(|| {
                let id = platform.distribution.as_ref()?;
                Some(match version {
                    Some(version) => format!("{id} {version}"),
                    None => id.clone(),
                })
            }),
    }
}

/// Order of findings in every format: most severe first, then by rule and subject.
pub(crate) fn by_severity(a: &Finding, b: &Finding) -> Ordering {
    (b.severity, &a.rule, &a.subject).cmp(&(a.severity, &b.rule, &b.subject))
}

/// Returns the word for a severity in human-readable formats: an `info` is a note.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// Returns whether an undo is a bare command of one or more lines, which must not be wrapped. Prose
/// starts with a capital letter or ends with a full stop.
pub(crate) fn is_command(undo: &str) -> bool {
    !undo.ends_with('.') && !undo.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report<'a>(
        host: &'a Host,
        skipped: &'a [Skipped],
        rules_run: &'a [&'a str],
    ) -> CheckReport<'a> {
        CheckReport {
            host: Some(host),
            cluster: None,
            findings: &[],
            suppressed: &[],
            skipped,
            rules_run,
            rule_docs: &[],
            source: "live".to_owned(),
            tool_version: "0.1.0".to_owned(),
            generated_at: Timestamp::UNIX_EPOCH,
            warnings: &[],
        }
    }

    #[test]
    fn empty_report_means_healthy_only_if_a_rule_was_decided() {
        let host = Host::default();
        let skipped = [
            Skipped::new("TRIM001", "no sysfs", None),
            Skipped::new("dm table of dm-0", "not root", Some("root")),
        ];
        assert!(report(&host, &[], &[]).nothing_checked());
        assert!(report(&host, &skipped, &["TRIM001"]).nothing_checked());
        let partly = report(&host, &skipped, &["TRIM001", "TRIM002"]);
        assert!(!partly.nothing_checked());
        assert_eq!(
            partly.verdict(),
            "Nothing found on this host (0 drives); 2 checks skipped"
        );
    }

    #[test]
    fn distributions_have_common_names() {
        let named = |id: &str, version: Option<&str>, pretty: Option<&str>| {
            distribution(&Platform {
                distribution: Some(id.to_owned()),
                distribution_version: version.map(str::to_owned),
                distribution_name: pretty.map(str::to_owned),
                ..Platform::default()
            })
            .unwrap()
        };
        assert_eq!(
            named("debian", Some("12"), Some("Debian GNU/Linux 12 (bookworm)")),
            "Debian 12"
        );
        assert_eq!(named("arch", None, Some("Arch Linux")), "Arch Linux");
        assert_eq!(named("nixos", Some("23.11"), None), "nixos 23.11");
        assert_eq!(distribution(&Platform::default()), None);
    }

    #[test]
    fn prose_and_commands_are_distinguished() {
        assert!(is_command("cryptsetup refresh --persistent c0"));
        assert!(is_command("/sbin/fstrim -v /"));
        assert!(is_command("mv a b &&\nmv c d"));
        assert!(!is_command("Remove the line again"));
        assert!(!is_command("remove the line again."));
    }
}
