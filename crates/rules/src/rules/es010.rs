//! # ES010: nodes trim their drives at the same time
//!
//! ## What it finds
//! Nodes of one cluster whose hosts start a trim of the data's filesystem within a quarter of an hour
//! of each other, in the next five weeks.
//!
//! ## Why it hurts
//! A trim slows the drives below it. One slow node is what replicas are for: searches and writes go on
//! with the others. When all nodes trim at once, every copy of a shard is slow at the same time, and the
//! whole cluster stands still. Distributions ship the same schedule to every host: Monday at 00:00, or
//! Sunday with cron.weekly.
//!
//! ## Evidence
//! For each host the job and its schedule, and the first moment at which they meet.
//!
//! ## Remedy
//! A slot of its own for each node: `trimtab plan --apply /data --peers es-1,es-2,es-3`, the same on each of
//! them, gives them different days, then different hours, and puts a paced trim in place of the job. Or, by
//! hand, move the job of one node to a time when no other node trims.
//!
//! ## Risk
//! A trim that is moved may meet another job: run the check on that host again.
//!
//! ## When it is silent
//! Where schedules are apart. It needs the facts of several hosts, that is a bundle of each: with fewer
//! than two it is reported as skipped, as are hosts whose jobs are not known. It is a warning where they
//! are bound to meet, or where all have the same calendar and random delay and meet more often than not;
//! otherwise a note. A random delay is no staggering: three nodes whose trims take 20 minutes,
//! within the 100 minutes of fstrim.timer, meet 78 times of 100.
//!
//! ## References
//! TRIM007 on unpaced trims, SCHED001 on jobs that meet on one host; systemd.timer(5),
//! `RandomizedDelaySec=`, `FixedRandomDelay=` and `RandomizedOffsetSec=`.

use crate::cluster::{ClusterContext, NodeHost};
use crate::outcome::Outcome;
use crate::quiet_slot::{self, Busy, QuietSlot};
use crate::rule::{Check, Rule};
use crate::shell::printable;
use crate::times::{self, EVENT_PERIOD_MIN_S, HostClock, MEETINGS_AHEAD, TOGETHER_S};
use crate::trim_jobs::TIMERS_UNKNOWN;
use crate::{finding, trim_remedy, wording};
use facts::Remedy;
use facts::host::{Job, Trigger};
use schedule::{Collision, Run};

pub(crate) const RULE: Rule = Rule {
    id: "ES010",
    title: "nodes trim their drives at the same time",
    source: include_str!("es010.rs"),
    check: Check::Cluster(check),
};

/// Maximum number of hosts compared.
const HOSTS_MAX: usize = 1_000;
/// How long a trim is taken to last, to compute how often random delays let some meet.
const PASS_S: f64 = 20.0 * 60.0;
/// From this probability on, they meet rather than not.
const LIKELY: f64 = 0.5;

/// A trim of a node's data.
struct Trim<'a, 'c> {
    host: &'c NodeHost<'a>,
    /// Index of the host.
    host_index: usize,
    job: &'a Job,
}

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    const NEEDS: &str = "bundles of the nodes' hosts";
    let mut skip = |why: String| {
        out.skip(RULE.id, why, Some(NEEDS));
    };
    if cx.hosts.len() < 2 {
        let known = match cx.hosts.first() {
            None => "no host of the cluster was read".to_owned(),
            Some(host) => format!("only one host of the cluster was read ({})", host.name()),
        };
        skip(format!("{known}; the rule compares the trims of several"));
        return;
    }
    let hosts = &cx.hosts[..cx.hosts.len().min(HOSTS_MAX)];
    if hosts.len() < cx.hosts.len() {
        skip(format!(
            "only {HOSTS_MAX} of {} were compared",
            units::count(cx.hosts.len() as u64, "host")
        ));
    }
    if let Some(nodes) = &cx.cluster.nodes {
        let read = |id: &str| {
            hosts
                .iter()
                .any(|host| host.nodes.iter().any(|node| node.id == id))
        };
        let missing = cx
            .cluster
            .data_nodes()
            .filter(|node| !read(&node.id))
            .count();
        if missing > 0 {
            skip(format!(
                "the hosts of {missing} of {} were not read, or not recognised by their names",
                units::count(
                    nodes.iter().filter(|node| node.data).count() as u64,
                    "data node"
                )
            ));
        }
    }
    let trims = trims(hosts, out);
    let runs: Vec<(&Job, Vec<Run>)> = trims
        .iter()
        .map(|trim| (trim.job, runs_of(cx, trim, out)))
        .collect();
    let collisions = schedule::collisions(&runs, TOGETHER_S);
    if let Some(at) = collisions.truncated_at {
        out.skip(
            RULE.id,
            format!("too many trims to compare: after {at} none were"),
            None,
        );
    }
    // The largest number of simultaneous hosts says it all; groups are sorted by size.
    let worst = collisions
        .groups
        .iter()
        .map(|collision| (hosts_of(&trims, collision), collision))
        .filter(|(hosts, _)| hosts.len() > 1)
        .max_by_key(|(hosts, collision)| (collision.is_certain(), hosts.len()));
    if let Some((met, collision)) = worst {
        report(cx, &trims, &met, collision, out);
    }
}

/// Returns the active jobs that trim a filesystem with the cluster's data, on every host.
fn trims<'a, 'c>(hosts: &'c [NodeHost<'a>], out: &mut Outcome) -> Vec<Trim<'a, 'c>> {
    let mut found: Vec<Trim<'a, 'c>> = Vec::new();
    for (host_index, host) in hosts.iter().enumerate() {
        let mut skip = |why: &str| {
            out.skip(format!("{} for host {}", RULE.id, host.name()), why, None);
        };
        let Some(jobs) = host.context.trim_jobs() else {
            skip("its jobs are not known");
            continue;
        };
        if host.context.host.timers_unknown {
            skip(TIMERS_UNKNOWN);
        }
        let clock = HostClock::of(host.context.host);
        let mut volumes = host.volumes().peekable();
        if volumes.peek().is_none() {
            skip("no filesystem with the cluster's data was found on it");
        }
        for volume in volumes {
            for trim in jobs.reaching(volume) {
                let is_known = found.iter().any(|known| {
                    known.host_index == host_index && std::ptr::eq(known.job, trim.job)
                });
                let period_s = clock.period_s(trim.job, host.context.now);
                if !is_known && period_s.is_none_or(|period_s| period_s >= EVENT_PERIOD_MIN_S) {
                    found.push(Trim {
                        host,
                        host_index,
                        job: trim.job,
                    });
                }
            }
        }
    }
    found
}

/// Returns the runs of a trim after the cluster was queried, in its host's time zone.
fn runs_of(cx: &ClusterContext<'_>, trim: &Trim<'_, '_>, out: &mut Outcome) -> Vec<Run> {
    let clock = HostClock::of(trim.host.context.host);
    let until = cx.now.checked_add(MEETINGS_AHEAD).unwrap_or(cx.now);
    let mut skip = |why: String| {
        out.skip(
            format!(
                "{} for {} on host {}",
                RULE.id,
                wording::job_name(trim.job),
                trim.host.name()
            ),
            why,
            None,
        );
    };
    match clock.runs(trim.job, cx.now, until) {
        Ok(forecast) => {
            if let Some(why) = forecast.unknown.first() {
                skip(format!("when it runs cannot be told: {}", printable(why)));
            }
            forecast.runs
        }
        Err(error) => {
            skip(printable(&error.to_string()));
            Vec::new()
        }
    }
}

/// Returns the trims of a collision, one per host.
fn hosts_of<'a, 'c, 't>(trims: &'t [Trim<'a, 'c>], collision: &Collision) -> Vec<&'t Trim<'a, 'c>> {
    let mut met: Vec<&Trim<'a, 'c>> = Vec::new();
    for trim in collision.jobs.iter().filter_map(|&index| trims.get(index)) {
        if met.iter().all(|known| known.host_index != trim.host_index) {
            met.push(trim);
        }
    }
    met
}

/// Returns the probability that at least two of these trims overlap, if all have the same calendar and each run of
/// each is delayed anew by a random time of the same range. systemd defers them by about the same `AccuracySec=`.
fn overlap(met: &[&Trim<'_, '_>]) -> Option<f64> {
    fn delayed(job: &Job) -> Option<(&[String], f64)> {
        match job.triggers.as_slice() {
            [Trigger::Calendar(calendars)] if !calendars.fixed_random_delay => {
                let delay_s = calendars
                    .randomized_delay_s
                    .filter(|&delay_s| delay_s > 0.0);
                let offset_s = calendars.randomized_offset_s.unwrap_or(0.0);
                delay_s
                    .filter(|_| offset_s <= 0.0)
                    .map(|delay_s| (calendars.expressions.as_slice(), delay_s))
            }
            _ => None,
        }
    }
    let first = delayed(met.first()?.job)?;
    let zone = &met[0].host.context.host.time_zone;
    let is_alike = |trim: &&Trim<'_, '_>| {
        delayed(trim.job) == Some(first)
            && zone.is_some()
            && trim.host.context.host.time_zone == *zone
    };
    let (_, delay_s) = first;
    met.iter()
        .all(is_alike)
        .then(|| plan::overlap_probability(&vec![PASS_S; met.len()], delay_s))
}

fn report(
    cx: &ClusterContext<'_>,
    trims: &[Trim<'_, '_>],
    met: &[&Trim<'_, '_>],
    collision: &Collision,
    out: &mut Outcome,
) {
    let is_certain = collision.is_certain();
    let overlap = overlap(met);
    let is_likely = overlap.is_some_and(|probability| probability >= LIKELY);
    let severity = finding::warning_if(is_certain || is_likely);
    let mut finding = cx.about_cluster(
        &RULE,
        severity,
        format!(
            "{} of {} {} their drives at the same time",
            met.len(),
            units::count(cx.hosts.len() as u64, "host"),
            if is_certain { "trim" } else { "may trim" }
        ),
    );
    let names: Vec<String> = met.iter().map(|trim| trim.host.name()).collect();
    let clock = HostClock::of(met[0].host.context.host);
    let starts = if is_certain {
        "it starts within a quarter of an hour"
    } else {
        "it may start at the same time"
    };
    finding.why = format!(
        "A trim slows down its drives. On {} {starts}: every copy of a shard may be slow at the \
         same time, so replicas do not help.{}",
        wording::list(&names),
        match overlap {
            _ if is_certain => String::new(),
            Some(probability) => format!(
                " Their random delay is no staggering: if a trim takes {}, at least two of them \
                 overlap with a probability of {} each time.",
                units::seconds(PASS_S),
                units::share::score(probability)
            ),
            None => " Random delays keep them apart only by luck.".to_owned(),
        }
    );
    for trim in met.iter().take(wording::EVIDENCE_MAX) {
        let schedule: Vec<String> = times::trigger_evidence(trim.job)
            .into_iter()
            .map(|evidence| evidence.value)
            .collect();
        finding.add_evidence(
            format!("host {}: {}", trim.host.name(), wording::job_name(trim.job)),
            wording::list(&schedule),
        );
    }
    finding.add_evidence(
        format!("first time that they meet ({})", clock.label()),
        clock.show_window(collision.earliest, collision.latest),
    );
    finding.add_evidence(
        "trims of the cluster's data that were compared",
        trims.len(),
    );
    finding.remedy = remedies(cx, trims, met[0]);
    out.findings.push(finding);
}

/// Gives one host a time of its own, by a paced trim first.
fn remedies(cx: &ClusterContext<'_>, trims: &[Trim<'_, '_>], moved: &Trim<'_, '_>) -> Vec<Remedy> {
    let context = &moved.host.context;
    let clock = HostClock::of(context.host);
    // Apart from the trims of the other nodes, and from other heavy jobs of this host.
    let others = trims
        .iter()
        .filter(|trim| trim.host_index != moved.host_index)
        .flat_map(|trim| {
            quiet_slot::runs_of(&HostClock::of(trim.host.context.host), &[trim.job], cx.now)
        });
    let mut runs = quiet_slot::heavy_runs(context);
    runs.extend(others);
    let slot = QuietSlot::weekly_beside(&Busy::of(&clock, &runs));
    let mut remedies = Vec::new();
    let paced = context.trim_jobs().and_then(|jobs| {
        let trim = jobs.find(moved.job)?;
        let mut volumes = moved.host.volumes();
        let volume = volumes.find(|volume| jobs.reaches(trim, volume))?;
        Some(trim_remedy::replace_by_paced(context, &[trim], volume))
    });
    if let Some(mut paced) = paced {
        let mut nodes: Vec<String> = trims.iter().map(|trim| trim.host.name()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let peers = crate::shell::quote(&nodes.join(","));
        if let Some(command) = &mut paced.command {
            command.push_str(" --peers ");
            command.push_str(&peers);
        }
        paced.text = format!(
            "Give each node a slot of its own, by the same command on each: {}",
            paced.text
        );
        remedies.push(paced);
    }
    let mut apart = trim_remedy::move_apart(moved.job, slot);
    let here = format!(
        "Or by hand on {}, and likewise with other days on the other nodes: ",
        moved.host.name()
    );
    apart.text.insert_str(0, &here);
    remedies.push(apart);
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::{TestHost, nvme, only};
    use crate::test_jobs::{LISTED_IN, cron_weekly, fstrim_timer, jobs, timer};
    use facts::Host;
    use facts::Severity;
    use facts::host::Calendars;

    fn host(name: &str, list: Vec<Job>) -> Host {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .elasticsearch("/data/es")
            .with(jobs(list))
            .with(|host| {
                host.platform.host_name = Some(name.to_owned());
                host.time_zone = Some("UTC".to_owned());
            })
            .build()
    }

    fn at(name: &str, calendar: &str) -> Host {
        host(name, vec![timer("fstrim.timer", calendar, LISTED_IN)])
    }

    fn check_of(hosts: &[Host]) -> Outcome {
        let hosts: Vec<&Host> = hosts.iter().collect();
        let outcome = TestCluster::new().check_with(&RULE, &hosts);
        assert_well_formed(&outcome);
        outcome
    }

    #[test]
    fn the_same_hour_on_all_nodes_is_a_warning() {
        let outcome = check_of(&[
            at("es-1", "Sun *-*-* 03:00"),
            at("es-2", "Sun *-*-* 03:10"),
            at("es-3", "Sun *-*-* 03:05"),
        ]);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "3 of 3 hosts trim their drives at the same time"
        );
        assert!(finding.why.contains("es-1, es-2 and es-3"));
        let source = "first time that they meet (UTC)";
        let meeting = finding
            .evidence
            .iter()
            .find(|evidence| evidence.source == source);
        // The Sunday after Wednesday 2026-11-18.
        let meeting = &meeting.expect("a meeting").value;
        assert!(meeting.contains("2026-11-22 03:00"), "{meeting}");
        assert!(outcome.skipped.is_empty());
    }

    #[test]
    fn the_fix_is_a_paced_trim_at_a_time_of_its_own() {
        let others = || [at("es-2", "Sun *-*-* 03:00"), at("es-3", "Sat *-*-* 03:00")];
        let with = |first: Host| {
            let [second, third] = others();
            check_of(&[first, second, third])
        };
        let outcome = with(at("es-1", "Sun *-*-* 03:00"));
        let remedy = &only(&outcome).remedy;
        let command = |index: usize| remedy[index].command.as_deref().expect("a command");
        let planned = "trimtab plan --apply --fstab /data --peers es-1,es-2,es-3";
        assert_eq!(command(0), planned);
        let calendar = "OnCalendar=Wed *-*-* 03:00:00";
        assert!(command(1).contains(calendar), "{}", command(1));
        assert_eq!(with(at("es-1", "Wed *-*-* 03:00")).findings, []);
    }

    #[test]
    fn each_host_uses_its_own_zone() {
        // Both are at 02:00 UTC.
        let mut berlin = at("es-2", "Sun *-*-* 03:00");
        berlin.time_zone = Some("Europe/Berlin".to_owned());
        let utc = at("es-1", "Sun *-*-* 02:00");
        let outcome = check_of(&[utc, berlin, at("es-3", "Wed *-*-* 02:00")]);
        assert!(only(&outcome).title.starts_with("2 of 3 hosts trim"));
    }

    /// The default of today's distributions.
    #[test]
    fn a_random_delay_is_no_staggering() {
        let of = |names: &[&str]| {
            let hosts: Vec<Host> = names
                .iter()
                .map(|name| host(name, vec![fstrim_timer()]))
                .collect();
            let outcome = check_of(&hosts);
            let finding = only(&outcome);
            assert!(finding.title.contains("may trim"), "{}", finding.title);
            (finding.severity, finding.why.clone())
        };
        let (severity, why) = of(&["es-1", "es-2", "es-3"]);
        assert_eq!(severity, Severity::Warning);
        assert!(
            why.contains(
                "if a trim takes 20 min, at least two of them overlap with a probability of 78 %"
            ),
            "{why}"
        );
        let (severity, why) = of(&["es-1", "es-2"]);
        assert_eq!(severity, Severity::Info);
        assert!(why.contains("a probability of 36 % each time"), "{why}");
    }

    #[test]
    fn timers_that_were_not_read_are_told() {
        let mut unread = at("es-2", "Wed *-*-* 03:00");
        unread.timers_unknown = true;
        let hosts = [
            at("es-1", "Mon *-*-* 03:00"),
            unread,
            at("es-3", "Fri *-*-* 03:00"),
        ];
        let outcome = check_of(&hosts);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped.len(), 1, "{:?}", outcome.skipped);
        assert_eq!(outcome.skipped[0].what, "ES010 for host es-2");
    }

    /// `trimtab plan` gives slots of 20 minutes and more.
    #[test]
    fn planned_slots_are_apart() {
        let outcome = check_of(&[
            at("es-1", "Tue *-*-* 01:00:00 UTC"),
            at("es-2", "Wed *-*-* 01:00:00 UTC"),
            at("es-3", "Tue *-*-* 01:20:00 UTC"),
        ]);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn delays_of_several_kinds_have_no_probability() {
        let other = |change: fn(&mut Calendars)| {
            let mut job = fstrim_timer();
            if let Trigger::Calendar(calendars) = &mut job.triggers[0] {
                change(calendars);
            }
            let outcome = check_of(&[host("es-1", vec![fstrim_timer()]), host("es-2", vec![job])]);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Info);
            assert!(
                finding
                    .why
                    .ends_with("Random delays keep them apart only by luck."),
                "{}",
                finding.why
            );
        };
        other(|calendars| calendars.randomized_delay_s = Some(1800.0));
        other(|calendars| calendars.fixed_random_delay = true);
        other(|calendars| calendars.randomized_offset_s = Some(600.0));
    }

    #[test]
    fn days_apart_are_silent() {
        let outcome = check_of(&[
            at("es-1", "Mon *-*-* 03:00"),
            at("es-2", "Tue *-*-* 03:00"),
            at("es-3", "Wed *-*-* 03:00"),
        ]);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn two_trims_of_one_host_are_not_two_nodes() {
        let twice = vec![
            timer("fstrim.timer", "Sun *-*-* 06:47", LISTED_IN),
            cron_weekly("fstrim", "fstrim --all"),
        ];
        let outcome = check_of(&[
            host("es-1", twice),
            at("es-2", "Tue *-*-* 03:00"),
            at("es-3", "Wed *-*-* 03:00"),
        ]);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn fewer_than_two_hosts_are_skipped() {
        for hosts in [vec![], vec![at("es-1", "Sun *-*-* 03:00")]] {
            let outcome = check_of(&hosts);
            assert!(outcome.findings.is_empty());
            assert_eq!(outcome.skipped.len(), 1);
            assert!(outcome.skipped[0].needs.is_some());
        }
    }

    #[test]
    fn hosts_without_jobs_or_of_other_names_are_named() {
        let mut blind = at("es-1", "Sun *-*-* 03:00");
        blind.jobs = None;
        let outcome = check_of(&[blind, at("other", "Sun *-*-* 03:00")]);
        assert!(outcome.findings.is_empty());
        let whats: Vec<&str> = outcome
            .skipped
            .iter()
            .map(|skip| skip.what.as_str())
            .collect();
        assert_eq!(whats, ["ES010", "ES010 for host es-1"]);
        assert!(
            outcome.skipped[0]
                .why
                .starts_with("the hosts of 2 of 3 data nodes")
        );
    }
}
