//! Turns facts into findings; one file per rule. Rules only look at facts and never read the host.

mod budget;
mod catalogue;
mod cluster;
mod context;
mod discard_path;
mod discard_remedy;
mod disk_calendar;
mod disk_jobs;
mod drive_load;
mod finding;
mod fstab_edit;
#[cfg(test)]
mod hostile_clusters;
#[cfg(test)]
mod hostile_hosts;
mod job_places;
mod medium;
mod meetings;
#[cfg(test)]
mod ordinary_hosts;
mod outcome;
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
mod trim_plan;
mod trim_remedy;
mod trim_room;
mod trim_state;
mod trim_verdict;
mod trimming;
mod trims_ahead;
mod volume;
mod volumes;
mod wording;

pub use budget::Budget;
pub use catalogue::{all, find, is_retired};
pub use cluster::{ClusterContext, FoundOnHost, NodeHost, RerouteCost, scan_cost};
pub use context::Context;
pub use disk_calendar::{DiskCalendar, HeavyJob, TrimmedFilesystem, disk_calendar};
pub use drive_load::{DriveLoad, LoadFact, NoMount, TrimTimes, loaded_mount};
pub use meetings::{Meeting, Meetings, meetings};
pub use outcome::Outcome;
pub use rule::{Check, Needs, Rule};
pub use trim_jobs::TRIM_OPTIONS_WITH_VALUE;
pub use trim_plan::{
    Blocked, OtherDropIn, PACKAGED_PROGRAM, PLAN_DROP_IN, PlanRefusal, PlannedMount, Schedule,
    Scheduler, TIMER_TEMPLATE, Takeover, TakeoverRequest, UnitOptions, busy_times, may_end,
    other_drop_in, takeover, timer_name, trim_edits, worth_a_plan,
};
pub use trim_room::{Room, trim_room};
pub use trim_verdict::{
    RefusalKind, TrimRefusal, TrimRequest, TrimVerdict, lost_discards, trim_verdict,
};
pub use trims_ahead::{TrimsAhead, trims_ahead};

use facts::{Cluster, Host, Remedy};
use std::cmp::Reverse;

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

/// What to check: hosts, a cluster, or both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    /// The hosts; with a cluster, those of its nodes.
    pub hosts: &'a [NamedHost<'a>],
    /// The cluster.
    pub cluster: Option<&'a Cluster>,
}

/// A host with the name that tells it apart from the others.
#[derive(Debug, Clone, Copy)]
pub struct NamedHost<'a> {
    /// The name in findings.
    pub name: &'a str,
    /// Its facts.
    pub host: &'a Host,
}

/// Runs the selected rules on a host. Findings are sorted by descending severity, then by rule and
/// subject.
///
/// Rules about clusters do not run; they are reported as skipped if the selection names them.
pub fn run(host: &Host, selection: &Selection) -> Outcome {
    let hosts = [NamedHost { name: "", host }];
    let subject = Subject {
        hosts: &hosts,
        cluster: None,
    };
    run_on(subject, selection, Budget::unlimited())
}

/// Runs the selected rules on hosts, a cluster, or both; see [`run`]. Of several hosts, findings and
/// skipped rules carry the name. Rules about a missing subject do not run; they are reported as
/// skipped if the selection names them.
///
/// The budget is for each host, and for the cluster; rules for which no time is left are skipped.
pub fn run_on(subject: Subject<'_>, selection: &Selection, budget: Budget<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut contexts = Vec::new();
    for host in subject.hosts {
        let budget = budget.restarted();
        let context = Context::within(budget, host.host);
        let mut of_host = Outcome::default();
        for rule in selected(selection) {
            if let Check::Host(needs, check) = rule.check {
                let missing = needs.missing(host.host);
                run_rule(rule, missing, budget, &mut of_host, |out| {
                    check(&context, out);
                });
            }
        }
        if context.left_out > 0 {
            let what = format!("{} filesystems", context.left_out);
            let why = if budget.is_used_up() {
                budget.reason()
            } else {
                "too many layers are below all filesystems together".to_owned()
            };
            of_host.skip(what, why, None);
        }
        if subject.hosts.len() > 1 {
            of_host.set_host(host.name);
        }
        let found = FoundOnHost::of(&of_host.findings);
        outcome.findings.append(&mut of_host.findings);
        outcome.skipped.append(&mut of_host.skipped);
        outcome.rules_run = of_host.rules_run;
        contexts.push((context, found));
    }
    if let Some(cluster) = subject.cluster {
        let budget = budget.restarted();
        let context = ClusterContext::of_contexts(cluster, contexts);
        for rule in selected(selection) {
            if let Check::Cluster(check) = rule.check {
                run_rule(rule, None, budget, &mut outcome, |out| check(&context, out));
            }
        }
    }
    skip_without_subject(subject, selection, &mut outcome);
    outcome.rules_run.sort_unstable();
    for finding in &mut outcome.findings {
        finding.remedy.iter_mut().for_each(drop_unusable_command);
    }
    finding::sort(&mut outcome.findings);
    outcome
}

/// Maximum number of findings of a rule on one host. Nobody reads more; a hostile bundle could have
/// tens of thousands.
const FINDINGS_MAX: usize = 1000;

fn selected(selection: &Selection) -> impl Iterator<Item = &'static Rule> {
    all().iter().filter(|rule| selection.includes(rule.id))
}

/// Runs one rule. A rule that lacks what it needs is reported as skipped unless it finds something
/// all the same: its silence would look like health.
fn run_rule(
    rule: &'static Rule,
    missing: Option<(&str, &str)>,
    budget: Budget<'_>,
    outcome: &mut Outcome,
    check: impl FnOnce(&mut Outcome),
) {
    outcome.rules_run.push(rule.id);
    if budget.is_used_up() {
        outcome.skip(rule.id, budget.reason(), None);
        return;
    }
    let (findings, skipped) = (outcome.findings.len(), outcome.skipped.len());
    check(outcome);
    let found = &mut outcome.findings[findings..];
    if found.len() > FINDINGS_MAX {
        found.sort_by_key(|finding| Reverse(finding.severity));
        let why = format!(
            "it has {} findings; only the first {FINDINGS_MAX} are listed",
            units::grouped(found.len() as u64)
        );
        let what = format!("further findings of {}", rule.id);
        outcome.skip(what, why, None);
        outcome.findings.truncate(findings + FINDINGS_MAX);
    }
    if budget.is_used_up() {
        let why = format!(
            "{} while it ran: its answer is not complete",
            budget.reason()
        );
        outcome.skip(rule.id, why, None);
    }
    if let Some((why, needs)) = missing
        && outcome.findings.len() == findings
    {
        outcome.skipped.truncate(skipped);
        outcome.skip(rule.id, why, Some(needs));
    }
}

/// Reports the rules that the selection names although there is nothing that they are about.
fn skip_without_subject(subject: Subject<'_>, selection: &Selection, outcome: &mut Outcome) {
    if selection.select.is_empty() {
        return;
    }
    for rule in selected(selection) {
        let (why, needs) = match rule.check {
            Check::Host(..) if subject.hosts.is_empty() => {
                ("no host was looked at", "a host, its tree or its bundle")
            }
            Check::Cluster(_) if subject.cluster.is_none() => {
                ("no cluster was asked", "the address of a cluster")
            }
            _ => continue,
        };
        outcome.rules_run.push(rule.id);
        outcome.skip(rule.id, why, Some(needs));
    }
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
    use facts::Skipped;
    use std::cell::Cell;
    use std::time::Duration;

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
            let hosts: Vec<NamedHost<'_>> = host
                .iter()
                .map(|host| NamedHost { name: "db1", host })
                .collect();
            let subject = Subject {
                hosts: &hosts,
                cluster,
            };
            let outcome = run_on(subject, &Selection::default(), Budget::unlimited());
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
        let rules = all().iter().filter(|rule| rule.id.starts_with("ES"));
        let number = rules.count();
        assert_eq!(outcome.rules_run.len(), number);
        assert_eq!(outcome.skipped.len(), number);
        assert!(outcome.findings.is_empty());
        let cluster = TestCluster::new().build();
        let subject = Subject {
            cluster: Some(&cluster),
            ..Subject::default()
        };
        let outcome = run_on(subject, &selection(&["TRIM001"]), Budget::unlimited());
        assert_eq!(outcome.skipped.len(), 1);
        assert_eq!(outcome.skipped[0].why, "no host was looked at");
    }

    #[test]
    fn rules_stop_when_their_time_is_used_up() {
        let host = host();
        let hosts = [NamedHost {
            name: "db1",
            host: &host,
        }];
        let subject = Subject {
            hosts: &hosts,
            cluster: None,
        };
        // A clock that goes on by one second whenever it is looked at.
        let looks = Cell::new(0);
        let clock = || {
            looks.set(looks.get() + 1);
            Duration::from_secs(looks.get())
        };
        let budget = Budget::new(&clock, Duration::from_secs(20));
        let outcome = run_on(subject, &Selection::default(), budget);
        let reason = "the time for rules, 20 s, was used up";
        let late: Vec<&Skipped> = outcome
            .skipped
            .iter()
            .filter(|skipped| skipped.why.starts_with(reason))
            .collect();
        // The first rules ran, one was interrupted, the others did not run; all are accounted for.
        assert_eq!(outcome.rules_run.len(), 21);
        assert!(!late.iter().any(|skipped| skipped.what == "FS001"));
        let interrupted = late.iter().filter(|skipped| skipped.why != reason);
        assert!(interrupted.count() <= 1, "{late:?}");
        assert!(late.iter().any(|skipped| skipped.what == "TRIM013"));
        assert!(late.windows(2).all(|pair| pair[0].what < pair[1].what));
        // Afterwards the clock is looked at once for each rule: nothing goes on in the background.
        assert!(looks.get() < 60, "{}", looks.get());
        let unlimited = run_on(subject, &Selection::default(), Budget::unlimited());
        assert!(
            unlimited
                .skipped
                .iter()
                .all(|skipped| !skipped.why.contains("time for rules"))
        );
    }

    #[test]
    fn long_loops_end_when_the_time_is_used_up() {
        let mut many = TestHost::new();
        for at in 0..200 {
            let (device, point) = (format!("nvme{at}n1"), format!("/m{at}"));
            many = many
                .device(nvme(&device))
                .mount(&point, &device, "xfs", "rw,nobarrier");
        }
        let host = many.build();
        let hosts = [NamedHost {
            name: "db1",
            host: &host,
        }];
        let subject = Subject {
            hosts: &hosts,
            cluster: None,
        };
        let looks = Cell::new(0);
        let clock = || {
            looks.set(looks.get() + 1);
            Duration::from_secs(looks.get())
        };
        // Enough to see all mounts once, and not enough for the rule.
        let budget = Budget::new(&clock, Duration::from_mins(5));
        let outcome = run_on(subject, &selection(&["FS005"]), budget);
        assert!(
            (1..200).contains(&outcome.findings.len()),
            "{}",
            outcome.findings.len()
        );
        let [skipped] = outcome.skipped.as_slice() else {
            panic!("{:?}", outcome.skipped);
        };
        assert_eq!(skipped.what, "FS005");
        assert!(skipped.why.ends_with("its answer is not complete"));
        // Too little even for the mounts: the rest of them is reported as well.
        looks.set(0);
        let budget = Budget::new(&clock, Duration::from_secs(50));
        let outcome = run_on(subject, &selection(&["FS005"]), budget);
        let whats: Vec<&str> = outcome
            .skipped
            .iter()
            .map(|skip| skip.what.as_str())
            .collect();
        assert!(
            whats.iter().any(|what| what.ends_with("filesystems")),
            "{whats:?}"
        );
        assert!(whats.contains(&"FS005"), "{whats:?}");
    }

    #[test]
    fn findings_of_a_rule_are_limited_and_the_rest_is_told() {
        let mut many = TestHost::new();
        for at in 0..FINDINGS_MAX + 7 {
            let (device, point) = (format!("nvme{at}n1"), format!("/m{at}"));
            many = many
                .device(nvme(&device))
                .mount(&point, &device, "xfs", "rw,nobarrier");
        }
        let outcome = run(&many.build(), &selection(&["FS005"]));
        assert_eq!(outcome.findings.len(), FINDINGS_MAX);
        assert_eq!(outcome.skipped[0].what, "further findings of FS005");
        assert!(outcome.skipped[0].why.starts_with("it has 1,007 findings"));
    }

    #[test]
    fn findings_of_several_hosts_carry_their_names() {
        let barriers_off = |name: &str| {
            TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", "xfs", "rw,nobarrier")
                .with(|host| host.platform.host_name = Some(name.to_owned()))
                .build()
        };
        let (first, second) = (barriers_off("db1"), barriers_off("db2"));
        let hosts =
            [("db1", &first), ("db2", &second)].map(|(name, host)| NamedHost { name, host });
        let subject = Subject {
            hosts: &hosts,
            cluster: None,
        };
        let outcome = run_on(subject, &selection(&["FS005"]), Budget::unlimited());
        let names: Vec<Option<&str>> = outcome
            .findings
            .iter()
            .map(|finding| finding.host.as_deref())
            .collect();
        assert_eq!(names, [Some("db1"), Some("db2")]);
        assert_eq!(outcome.rules_run, ["FS005"]);
        // A single host needs no name.
        assert_eq!(run(&first, &selection(&["FS005"])).findings[0].host, None);
    }

    #[test]
    fn rules_that_lack_what_they_need_are_skipped_unless_they_find_something() {
        let mut host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw,nobarrier")
            .build();
        host.unseen_devices = std::mem::take(&mut host.devices);
        host.unseen_devices[0].discard = None;
        host.running_stores_unknown = true;
        let outcome = run(&host, &Selection::default());
        assert!(
            outcome
                .findings
                .iter()
                .any(|finding| finding.rule == "FS005")
        );
        let why = |rule: &str| {
            let mut of_rule = outcome.skipped.iter().filter(|skip| skip.what == rule);
            of_rule.next().map(|skip| skip.why.as_str())
        };
        assert_eq!(why("TRIM001"), Some("no block devices are known"));
        assert!(why("FS001").is_some_and(|why| why.starts_with("no store was found")));
        assert_eq!(why("FS005"), None);
    }
}
