//! Turns facts into findings; one file per rule. Rules only look at facts and never read the host.

mod catalogue;
mod cluster;
mod context;
mod discard_path;
mod discard_remedy;
mod disk_jobs;
mod drive_load;
mod fstab_edit;
#[cfg(test)]
mod hostile_clusters;
#[cfg(test)]
mod hostile_hosts;
mod medium;
#[cfg(test)]
mod ordinary_hosts;
#[cfg(test)]
mod quiet_hosts;
mod quiet_slot;
mod rule;
mod rules;
pub mod shell;
#[cfg(test)]
mod test_cluster;
#[cfg(test)]
mod test_host;
#[cfg(test)]
mod test_jobs;
mod times;
mod trim_jobs;
mod trim_remedy;
mod trim_state;
mod trim_verdict;
mod trimming;
mod volumes;
mod wording;

pub use catalogue::{all, find};
pub use cluster::{ClusterContext, NodeHost};
pub use context::{Context, Outcome};
pub use drive_load::{DriveLoad, LoadFact, NoMount, TrimTimes, loaded_mount};
pub use rule::{Check, Rule};
pub use trim_jobs::TRIM_OPTIONS_WITH_VALUE;
pub use trim_verdict::{
    RefusalKind, TrimRefusal, TrimRequest, TrimVerdict, lost_discards, trim_verdict,
};

use facts::{Cluster, Host, Remedy, Skipped};

/// Selects the rules to run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Rule ids or prefixes (`TRIM`); empty selects all.
    pub select: Vec<String>,
    /// Rule ids or prefixes to leave out.
    pub ignore: Vec<String>,
}

impl Selection {
    /// Whether a rule is selected.
    pub fn includes(&self, id: &str) -> bool {
        let named = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| id.starts_with(pattern.as_str()))
        };
        (self.select.is_empty() || named(&self.select)) && !named(&self.ignore)
    }
}

/// What to check: a host, a cluster, or both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    /// The host.
    pub host: Option<&'a Host>,
    /// The cluster.
    pub cluster: Option<&'a Cluster>,
    /// Hosts of the cluster's nodes, each read separately (from its bundle). Rules that compare
    /// nodes need several.
    pub node_hosts: &'a [&'a Host],
}

/// Runs the selected rules on a host. Findings are sorted by descending severity, then by rule and
/// subject.
///
/// Rules about clusters do not run; they are reported as skipped if the selection names them.
pub fn run(host: &Host, selection: &Selection) -> Outcome {
    run_on(
        Subject {
            host: Some(host),
            ..Subject::default()
        },
        selection,
    )
}

/// Runs the selected rules on a host, a cluster, or both; see [`run`]. Rules about a missing
/// subject do not run; they are reported as skipped if the selection names them.
pub fn run_on(subject: Subject<'_>, selection: &Selection) -> Outcome {
    let host = subject.host.map(Context::new);
    let cluster = subject
        .cluster
        .map(|cluster| ClusterContext::new(cluster, subject.node_hosts));
    let is_named = !selection.select.is_empty();
    let mut outcome = Outcome::default();
    for rule in all().iter().filter(|rule| selection.includes(rule.id)) {
        let mut skip = |why: &str, needs: &str| {
            outcome
                .skipped
                .push(Skipped::new(rule.id, why, Some(needs)));
        };
        match (rule.check, &host, &cluster) {
            (Check::Host(check), Some(context), _) => {
                // Without mounts, a rule about mounts finds nothing, which would look like health.
                if context.host.mounts.is_empty() && !rule.id.starts_with("SCHED") {
                    skip("no mounts are known", "proc/self/mountinfo and sys/block");
                } else {
                    check(context, &mut outcome);
                }
            }
            (Check::Cluster(check), _, Some(context)) => check(context, &mut outcome),
            (Check::Host(_), None, _) if is_named => {
                skip("no host was looked at", "a host, its tree or its bundle");
            }
            (Check::Cluster(_), _, None) if is_named => {
                skip("no cluster was asked", "the address of a cluster");
            }
            _ => continue,
        }
        outcome.rules_run.push(rule.id);
    }
    for finding in &mut outcome.findings {
        finding.remedy.iter_mut().for_each(drop_unusable_command);
    }
    outcome
        .findings
        .sort_by(|a, b| (b.severity, &a.rule, &a.subject).cmp(&(a.severity, &b.rule, &b.subject)));
    outcome
}

/// Removes a command for a name that is not UTF-8: the facts hold U+FFFD in its place, so the command would
/// act on another path.
fn drop_unusable_command(remedy: &mut Remedy) {
    let is_unusable = |text: &Option<String>| {
        text.as_ref()
            .is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER))
    };
    if is_unusable(&remedy.command) || is_unusable(&remedy.undo) {
        remedy.command = None;
        remedy.undo = None;
        remedy
            .text
            .push_str(" No command is given, because a name in it is not UTF-8.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::TestCluster;
    use crate::test_host::{TestHost, nvme, virtio};

    fn selection(ids: &[&str]) -> Selection {
        Selection {
            select: ids.iter().map(|&id| id.to_owned()).collect(),
            ignore: Vec::new(),
        }
    }

    fn host() -> Host {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .build()
    }

    #[test]
    fn rules_run_on_the_given_subjects() {
        let cluster = TestCluster::new().build();
        let host = host();
        let ids = |host: Option<&Host>, cluster: Option<&Cluster>| {
            let subject = Subject {
                host,
                cluster,
                node_hosts: &[],
            };
            let outcome = run_on(subject, &Selection::default());
            let about_clusters = outcome
                .rules_run
                .iter()
                .filter(|id| id.starts_with("ES"))
                .count();
            (about_clusters, outcome.rules_run.len() - about_clusters)
        };
        let (clusters, hosts): (Vec<&Rule>, Vec<&Rule>) =
            all().iter().partition(|rule| rule.is_about_cluster());
        assert_eq!(ids(Some(&host), None), (0, hosts.len()));
        assert_eq!(ids(None, Some(&cluster)), (clusters.len(), 0));
        assert_eq!(
            ids(Some(&host), Some(&cluster)),
            (clusters.len(), hosts.len())
        );
        assert_eq!(ids(None, None), (0, 0));
    }

    #[test]
    fn names_that_are_not_utf8_get_no_command() {
        let commands = |mount_point: &str| -> Vec<Option<String>> {
            let host = TestHost::new()
                .device(virtio("vda"))
                .mount(mount_point, "vda", "xfs", "rw")
                .build();
            let findings = run(&host, &selection(&["TRIM012"])).findings;
            assert_eq!(findings.len(), 1);
            let remedies = findings.into_iter().flat_map(|finding| finding.remedy);
            remedies.map(|remedy| remedy.command).collect()
        };
        assert!(commands("/mnt/x")[0].is_some());
        assert_eq!(commands("/mnt/x\u{fffd}"), [None]);
    }

    #[test]
    fn selected_rules_without_a_subject_are_skipped() {
        let outcome = run(&host(), &selection(&["ES"]));
        assert_eq!(outcome.rules_run.len(), 10);
        assert_eq!(outcome.skipped.len(), 10);
        assert!(outcome.findings.is_empty());
        let cluster = TestCluster::new().build();
        let subject = Subject {
            cluster: Some(&cluster),
            ..Subject::default()
        };
        let outcome = run_on(subject, &selection(&["TRIM001"]));
        assert_eq!(outcome.skipped.len(), 1);
        assert_eq!(outcome.skipped[0].why, "no host was looked at");
    }
}
