use crate::by_host::ByHost;
use crate::coverage::Coverage;
use crate::shared::{self, HOSTS_MIN};
use crate::views::cluster;
use facts::host::{BlockDevice, DeviceKind, Platform};
use facts::{Cluster, Finding, Host, Severity, Skipped};
use jiff::Timestamp;
use rules::Meetings;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::LazyLock;
use units::{count, list};

/// Used if no host was checked: it has no mounts, so nothing of it is shown.
static NO_HOST: LazyLock<Host> = LazyLock::new(Host::default);

/// Input of every rendering of `trimtab check`.
#[derive(Debug, Clone)]
pub struct CheckReport<'a> {
    /// The hosts that were checked; empty if only a cluster was.
    pub hosts: Vec<CheckedHost<'a>>,
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
    /// On which of several hosts jobs keep the disks busy at the same time.
    pub meetings: Meetings,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the report was made.
    pub generated_at: Timestamp,
    /// Warnings about this run: an old bundle, an unknown suppression.
    pub warnings: &'a [String],
}

/// A host that was checked.
#[derive(Debug, Clone)]
pub struct CheckedHost<'a> {
    /// Its name, different from those of the other hosts: findings of several hosts carry it.
    pub name: String,
    /// Source of its facts: `live`, `bundle host.tar.zst`, `directory /mnt/root`.
    pub source: String,
    /// Its facts.
    pub host: &'a Host,
}

/// What a check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckAnswer {
    /// There are findings.
    Found,
    /// There are none, and most rules could look, at most filesystems and at those of stores.
    NothingFound,
    /// There are none, but most rules or filesystems, or those of stores, were not looked at.
    CouldNotTell,
}

/// Description of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Stable ID.
    pub id: String,
    /// What it finds, in one line.
    pub title: String,
    /// Whether it is about a cluster rather than a host.
    pub is_about_cluster: bool,
    /// Documentation in Markdown.
    pub help_markdown: String,
}

/// A finding that the configuration accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SuppressedRow")]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// Why it is accepted.
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

impl Counts {
    pub(crate) fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        let mut counts = Self::default();
        for finding in findings {
            match finding.severity {
                Severity::Error => counts.error += 1,
                Severity::Warning => counts.warning += 1,
                Severity::Info => counts.info += 1,
            }
        }
        counts
    }
}

/// Maximum number of hosts named in one line.
const NAMES_MAX: usize = 6;

impl<'a> CheckReport<'a> {
    /// Returns the host if exactly one was checked.
    pub(crate) fn only_host(&self) -> Option<&CheckedHost<'a>> {
        match self.hosts.as_slice() {
            [host] => Some(host),
            _ => None,
        }
    }

    /// Returns the host if exactly one was checked, else an empty one.
    pub(crate) fn host_or_none(&self) -> &'a Host {
        self.only_host().map_or(&NO_HOST, |checked| checked.host)
    }

    /// Returns the severity of the worst finding.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Counts findings by severity; suppressed ones do not count.
    pub fn counts(&self) -> Counts {
        Counts::of(self.findings)
    }

    /// Counts the rules that ran, and those that could not decide anything.
    pub fn coverage(&self) -> Coverage {
        self.by_host().coverage_of_all()
    }

    /// Returns what it holds about each host.
    pub(crate) fn by_host(&self) -> ByHost<'_, 'a> {
        let docs = self.rule_docs.iter();
        let about_cluster: HashSet<&str> = docs
            .filter(|rule| rule.is_about_cluster)
            .map(|rule| rule.id.as_str())
            .collect();
        let rules = self.rules_run.iter().copied();
        let (cluster_rules, host_rules) = rules.partition(|rule| about_cluster.contains(rule));
        let hosts = self.hosts.iter();
        ByHost::new(
            hosts.map(|checked| (checked.name.as_str(), checked.host)),
            self.findings,
            self.skipped,
            host_rules,
            cluster_rules,
        )
    }

    /// Returns what the check comes to.
    pub fn answer(&self) -> CheckAnswer {
        if !self.findings.is_empty() {
            CheckAnswer::Found
        } else if self.coverage().is_mostly_blind() {
            CheckAnswer::CouldNotTell
        } else {
            CheckAnswer::NothingFound
        }
    }

    /// Summarises the counts: `1 error, 2 notes`, `Nothing found`, or
    /// `Could not tell: 18 of 20 rules had nothing to look at`.
    pub(crate) fn describe_counts(&self) -> String {
        describe_findings(self.counts()).unwrap_or_else(|| describe_absence(self.coverage()))
    }

    /// Summarises the report in one line:
    /// `2 errors, 1 note on db1 (Debian 12, 4 drives); 3 checks skipped`.
    pub(crate) fn verdict(&self) -> String {
        let found = self.describe_counts();
        let hosts = match self.hosts.as_slice() {
            [] => None,
            [host] => Some(host.describe()),
            several => {
                let names: Vec<&str> = several.iter().map(|host| &*host.name).collect();
                let names = list::list_up_to(&names, NAMES_MAX);
                let number = count(several.len(), "host");
                let worst = shared::worst(self.findings);
                Some(match worst.filter(|_| several.len() >= HOSTS_MIN) {
                    Some(worst) => format!("{number} (worst: {worst})"),
                    None => format!("{number} ({names})"),
                })
            }
        };
        let on: Vec<String> = hosts
            .into_iter()
            .chain(self.cluster.map(cluster::words))
            .collect();
        let mut verdict = format!("{found} on {}", list(&on));
        let mut aside = Vec::new();
        let coverage = self.coverage();
        let is_partial = coverage.is_mostly_blind() || coverage.filesystems_unread > 0;
        if is_partial && self.answer() != CheckAnswer::CouldNotTell {
            aside.push(coverage.to_string());
        }
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
        match (self.hosts.as_slice(), self.cluster) {
            ([] | [_, _, ..], Some(cluster)) => {
                format!("cluster {}", cluster::name(cluster))
            }
            ([], None) => "nothing".to_owned(),
            ([host], _) => host.name.clone(),
            (several, None) => count(several.len(), "host"),
        }
    }

    /// Describes what was examined: `27 rules on 4 drives, 6 mounts, 1 store and 12 jobs`.
    pub(crate) fn scope(&self) -> String {
        let mut seen = Vec::new();
        let hosts = || self.hosts.iter().map(|checked| checked.host);
        if !self.hosts.is_empty() {
            if self.hosts.len() > 1 {
                seen.push(count(self.hosts.len(), "host"));
            }
            seen.push(describe_drives(hosts()));
            let mounts: usize = hosts().map(|host| host.mounts.len()).sum();
            let of_fstab = hosts()
                .flat_map(|host| &host.mounts)
                .all(|mount| mount.fstab_line.is_some());
            seen.push(if of_fstab && mounts > 0 {
                format!("{} of /etc/fstab", count(mounts, "line"))
            } else {
                count(mounts, "mount")
            });
            let stores: usize = hosts().map(|host| host.stores.len()).sum();
            seen.push(count(stores, "store"));
            if hosts().all(|host| host.jobs.is_some()) {
                let jobs: usize = hosts().flat_map(|host| &host.jobs).map(Vec::len).sum();
                seen.push(count(jobs, "job"));
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
        if hosts().any(|host| host.jobs.is_none()) {
            scope.push_str("; jobs are not known");
        }
        scope
    }

    /// Returns `20 rules`, or `3 of 20 rules` if the others were skipped entirely.
    fn describe_rules(&self) -> String {
        let Coverage {
            rules, undecided, ..
        } = self.coverage();
        // Of several hosts, a rule is counted once.
        if self.hosts.len() > 1 {
            return count(self.rules_run.len(), "rule");
        }
        if undecided == 0 {
            count(rules, "rule")
        } else {
            format!("{} of {}", rules - undecided, count(rules, "rule"))
        }
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

impl CheckedHost<'_> {
    /// Describes the host: `db1 (Debian 12, kernel 6.1.0-13-amd64, 4 drives)`.
    pub(crate) fn describe(&self) -> String {
        format!("{} ({})", self.name, self.about())
    }

    /// Describes the host without its name: `Debian 12, kernel 6.1.0-13-amd64, 4 drives`.
    pub(crate) fn about(&self) -> String {
        let platform = &self.host.platform;
        let mut words = Vec::new();
        words.extend(distribution(platform));
        if let Some(release) = &platform.kernel_release {
            words.push(format!("kernel {release}"));
        }
        words.extend(platform.container.iter().map(|kind| format!("in {kind}")));
        words.push(describe_drives([self.host]));
        words.join(", ")
    }
}

/// Summarises counts: `1 error, 2 notes`; `None` if there are none.
pub(crate) fn describe_findings(counts: Counts) -> Option<String> {
    let found: Vec<String> = [
        (counts.error, "error"),
        (counts.warning, "warning"),
        (counts.info, "note"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, noun)| count(number, noun))
    .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Says what it means that nothing was found.
pub(crate) fn describe_absence(coverage: Coverage) -> String {
    if coverage.is_mostly_blind() {
        format!("Could not tell: {coverage}")
    } else if coverage.filesystems_unread > 0 {
        "Nothing found in what could be read".to_owned()
    } else {
        "Nothing found".to_owned()
    }
}

/// Whether the kernel presents it as a drive, rather than a loop device or zram.
pub(crate) fn is_drive(device: &BlockDevice) -> bool {
    matches!(
        device.kind,
        DeviceKind::Nvme { .. }
            | DeviceKind::Scsi { .. }
            | DeviceKind::VirtioBlk { .. }
            | DeviceKind::Xen
            | DeviceKind::Mmc
            | DeviceKind::Network { .. }
    )
}

/// Returns the number of drives that the kernels see.
fn describe_drives<'a>(hosts: impl IntoIterator<Item = &'a Host>) -> String {
    let mut drives = 0;
    let mut is_known = false;
    for host in hosts {
        is_known |= host.knows_devices();
        drives += host
            .devices
            .iter()
            .filter(|device| is_drive(device))
            .count();
    }
    if is_known {
        count(drives, "drive")
    } else {
        "unknown drives".to_owned()
    }
}

/// Returns the distribution's common name, such as `Debian 12`, if its ID is a known one; else
/// `PRETTY_NAME` without the code name in parentheses.
pub(crate) fn distribution(platform: &Platform) -> Option<String> {
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

/// Returns findings in the order of every format: most severe first, then by rule and subject.
pub(crate) fn sorted<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<&'f Finding> {
    let mut findings: Vec<&Finding> = findings.into_iter().collect();
    findings.sort_by_key(|finding| (Reverse(finding.severity), &finding.rule, &finding.subject));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::tests::host_with;

    fn checked(host: &Host) -> [CheckedHost<'_>; 1] {
        [CheckedHost {
            name: "this host".to_owned(),
            source: "live".to_owned(),
            host,
        }]
    }

    fn report<'a>(
        hosts: &[CheckedHost<'a>],
        skipped: &'a [Skipped],
        rules_run: &'a [&'a str],
    ) -> CheckReport<'a> {
        CheckReport {
            meetings: Meetings::default(),
            hosts: hosts.to_vec(),
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
        let hosts = checked(&host);
        let answer = |rules: &[&str]| {
            let report = report(&hosts, &skipped, rules);
            (report.answer(), report.verdict())
        };
        assert_eq!(answer(&[]).0, CheckAnswer::CouldNotTell);
        assert_eq!(answer(&["TRIM001"]).0, CheckAnswer::CouldNotTell);
        assert_eq!(
            answer(&["TRIM001", "TRIM002"]),
            (
                CheckAnswer::NothingFound,
                "Nothing found on this host (unknown drives); 2 checks skipped".to_owned()
            )
        );
    }

    #[test]
    fn a_report_in_which_most_rules_were_blind_says_so_first() {
        let host = Host::default();
        let hosts = checked(&host);
        let skipped = ["FS001", "FS002"].map(|rule| Skipped::new(rule, "no mounts", None));
        assert_eq!(
            report(&hosts, &skipped, &["FS001", "FS002", "FS003"]).verdict(),
            "Could not tell: 2 of 3 rules had nothing to look at on this host (unknown drives); 2 \
             checks skipped"
        );
    }

    #[test]
    fn filesystems_that_were_not_looked_at_are_told_first() {
        let verdict = |mounts: &[(&str, &str)], mounts_unread| {
            let host = Host {
                mounts_unread,
                ..host_with(mounts)
            };
            let hosts = checked(&host);
            let report = report(&hosts, &[], &["FS001"]);
            let verdict = report.verdict();
            let (found, _) = verdict.split_once(" on this host").expect("the host");
            let aside = verdict.split_once("; ").map(|(_, aside)| aside.to_owned());
            (report.answer(), found.to_owned(), aside)
        };
        let (root, other) = (("/", "/dev/sda1"), ("/srv", "/dev/sdb1"));
        let untold = |found: &str| (CheckAnswer::CouldNotTell, found.to_owned(), None);
        let nothing = |found: &str, aside: Option<&str>| {
            let aside = aside.map(str::to_owned);
            (CheckAnswer::NothingFound, found.to_owned(), aside)
        };
        let all = nothing("Nothing found", None);
        assert_eq!(verdict(&[root], 0), all);
        // Mounts of one filesystem, and mounts without a device, do not count.
        let bind = ("/home", "/dev/sda1");
        assert_eq!(verdict(&[root, bind, ("/net", "filer:/x")], 0), all);
        let half = nothing(
            "Nothing found in what could be read",
            Some("1 of 2 filesystems could not be looked at"),
        );
        assert_eq!(verdict(&[root, bind, other], 0), half);
        assert_eq!(verdict(&[root], 1), half);
        let most = "Could not tell: 2 of 3 filesystems could not be looked at";
        assert_eq!(
            verdict(&[root, other, ("/opt", "/dev/sdc1")], 0),
            untold(most)
        );
        assert_eq!(verdict(&[root], 2), untold(most));
        let store =
            "Could not tell: 1 of 2 filesystems, including a store's, could not be looked at";
        assert_eq!(verdict(&[root, ("/data", "/dev/sdb1")], 0), untold(store));
    }

    #[test]
    fn a_rule_counts_once_for_each_host() {
        let host = Host::default();
        let hosts = ["db1", "db2"].map(|name| CheckedHost {
            name: name.to_owned(),
            source: format!("bundle {name}.tar"),
            host: &host,
        });
        let skipped = [Skipped::new("FS001", "no mounts", None).on("db1")];
        let report = report(&hosts, &skipped, &["FS001", "FS002"]);
        let coverage = |rules, undecided| Coverage {
            rules,
            undecided,
            ..Coverage::default()
        };
        assert_eq!(report.coverage(), coverage(4, 1));
        let by_host = report.by_host();
        assert_eq!(by_host.coverage("db1"), coverage(2, 1));
        assert_eq!(by_host.coverage("db2"), coverage(2, 0));
        assert_eq!(
            report.verdict(),
            "Nothing found on 2 hosts (db1 and db2); 1 check skipped"
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
}
