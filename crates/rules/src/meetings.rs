//! Which hosts of a fleet have their disks kept busy at the same time.

use crate::budget::Budget;
use crate::context::Context;
use crate::disk_jobs::{self, DiskJob, DiskWork};
use crate::times::{EVENT_PERIOD_MIN_S, HostClock, MEETINGS_AHEAD, TOGETHER_S};
use crate::{NamedHost, wording};
use facts::host::Job;
use jiff::Timestamp;
use schedule::Run;
use std::collections::BTreeMap;

/// Hosts on which jobs of one kind start at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Meeting {
    /// `trim`, `RAID check`, `scrub`, `backup`, `drive self-test`.
    pub work: &'static str,
    /// The hosts.
    pub hosts: Vec<String>,
    /// The names of the jobs, each once.
    pub jobs: Vec<String>,
    /// Start of the first meeting.
    pub earliest: Timestamp,
    /// End of the first meeting: none of its runs starts later.
    pub latest: Timestamp,
    /// That time on the first host's clock.
    pub when: String,
    /// Whether they certainly meet, whatever random delays they have.
    pub is_certain: bool,
}

/// What [`meetings`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meetings {
    /// The largest meeting of each kind of work.
    pub meetings: Vec<Meeting>,
    /// The hosts that were compared.
    pub hosts_compared: usize,
    /// Whether they were chosen because a store is on them; else none has one.
    pub have_stores: bool,
    /// Those of them of which not all jobs, or not all of their starts, are known.
    pub hosts_unknown: usize,
    /// The time after which starts were not compared, because there are too many.
    pub compared_until: Option<Timestamp>,
}

/// Heavy jobs of one kind.
#[derive(Default)]
struct Known<'a> {
    /// The host of each.
    hosts: Vec<usize>,
    /// Each with its runs.
    runs: Vec<(&'a Job, Vec<Run>)>,
}

/// Returns on which hosts jobs that keep the disks busy start together within the next five weeks: of hosts with a store,
/// trims of its data and all other heavy jobs; if no host has one, all of them.
pub fn meetings(hosts: &[NamedHost<'_>], budget: Budget<'_>) -> Meetings {
    let have_stores = hosts.iter().any(|named| !named.host.stores.is_empty());
    let is_compared = |named: &&NamedHost<'_>| !have_stores || !named.host.stores.is_empty();
    let compared: Vec<&NamedHost<'_>> = hosts.iter().filter(is_compared).collect();
    let mut found = Meetings {
        hosts_compared: compared.len(),
        have_stores,
        ..Meetings::default()
    };
    // Bundles are collected one after the other.
    let Some(now) = compared.iter().map(|named| named.host.read_at).max() else {
        return found;
    };
    let mut by_work: BTreeMap<DiskWork, Known<'_>> = BTreeMap::new();
    for (index, named) in compared.iter().enumerate() {
        let cx = Context::within(budget.restarted(), named.host);
        let jobs = disk_jobs::active(&cx);
        let mut is_known = jobs.is_some() && !named.host.timers_unknown;
        let clock = HostClock::of(named.host);
        for heavy in jobs.into_iter().flatten() {
            let period_s = clock.period_s(heavy.job, now);
            let is_frequent = period_s.is_some_and(|period_s| period_s < EVENT_PERIOD_MIN_S);
            if !heavy.work.is_heavy() || is_frequent || !concerns_stores(&cx, heavy, have_stores) {
                continue;
            }
            let until = now.checked_add(MEETINGS_AHEAD).unwrap_or(now);
            match clock.runs(heavy.job, now, until) {
                Ok(forecast) => {
                    is_known &= forecast.unknown.is_empty();
                    let known = by_work.entry(heavy.work).or_default();
                    known.hosts.push(index);
                    known.runs.push((heavy.job, forecast.runs));
                }
                Err(_) => is_known = false,
            }
        }
        is_known &= !cx.budget.is_used_up();
        found.hosts_unknown += usize::from(!is_known);
    }
    for (work, known) in &by_work {
        let (meeting, truncated_at) = largest(*work, known, &compared);
        found.meetings.extend(meeting);
        let earlier = [found.compared_until, truncated_at];
        found.compared_until = earlier.into_iter().flatten().min();
    }
    found
        .meetings
        .sort_by_key(|meeting| std::cmp::Reverse(meeting.hosts.len()));
    found
}

fn concerns_stores(cx: &Context<'_>, heavy: DiskJob<'_>, have_stores: bool) -> bool {
    if !have_stores || heavy.work != DiskWork::Trim {
        return true;
    }
    let Some(trims) = cx.trim_jobs() else {
        return true;
    };
    let Some(trim) = trims.find(heavy.job) else {
        return false;
    };
    let mut with_store = cx.volumes.iter().filter(|volume| !volume.stores.is_empty());
    with_store.any(|volume| trims.reaches(trim, volume))
}

/// Returns the meeting of the most hosts, and the time after which none were looked for.
fn largest(
    work: DiskWork,
    known: &Known<'_>,
    hosts: &[&NamedHost<'_>],
) -> (Option<Meeting>, Option<Timestamp>) {
    let collisions = schedule::collisions(&known.runs, TOGETHER_S);
    let hosts_of = |jobs: &[usize]| {
        let mut met: Vec<usize> = jobs.iter().map(|&job| known.hosts[job]).collect();
        met.dedup();
        met
    };
    let most = collisions
        .groups
        .iter()
        .map(|collision| (hosts_of(&collision.jobs), collision))
        .filter(|(met, _)| met.len() > 1)
        .max_by_key(|(met, collision)| (met.len(), collision.is_certain()));
    let Some((met, collision)) = most else {
        return (None, collisions.truncated_at);
    };
    let mut jobs: Vec<String> = collision
        .jobs
        .iter()
        .map(|&job| wording::job_name(known.runs[job].0))
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    let clock = HostClock::of(hosts[met[0]].host);
    let meeting = Meeting {
        work: work.label(),
        hosts: met
            .iter()
            .map(|&host| hosts[host].name.to_owned())
            .collect(),
        jobs,
        earliest: collision.earliest,
        latest: collision.latest,
        when: format!(
            "{} ({})",
            clock.show_window(collision.earliest, collision.latest),
            clock.label()
        ),
        is_certain: collision.is_certain(),
    };
    (Some(meeting), collisions.truncated_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, nvme};
    use crate::test_jobs::{cron_job, cron_weekly, fstrim_timer, jobs};
    use facts::Host;
    use facts::host::StoreEngine;

    fn node(all: Vec<Job>, with_store: bool) -> Host {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .with(jobs(all));
        if with_store {
            host.store(StoreEngine::Mongodb, "7.0.0", "/data").build()
        } else {
            host.build()
        }
    }

    fn of(hosts: &[Host]) -> Meetings {
        let names: Vec<String> = (0..hosts.len()).map(|index| format!("db{index}")).collect();
        let all: Vec<NamedHost<'_>> = names
            .iter()
            .zip(hosts)
            .map(|(name, host)| NamedHost { name, host })
            .collect();
        meetings(&all, Budget::unlimited())
    }

    #[test]
    fn hosts_with_one_default_timer_meet_and_one_of_its_own_does_not() {
        let own = cron_job("/etc/cron.d/trim:1", "0 3 * * 3", "fstrim /data");
        let mut hosts: Vec<Host> = (0..5).map(|_| node(vec![fstrim_timer()], true)).collect();
        hosts.push(node(vec![own.clone()], true));
        // Without a store, it is not compared.
        hosts.push(node(vec![fstrim_timer()], false));
        let found = of(&hosts);
        assert_eq!(found.hosts_compared, 6);
        assert_eq!(found.meetings.len(), 1, "{found:#?}");
        let meeting = &found.meetings[0];
        assert_eq!(meeting.work, "trim");
        assert_eq!(meeting.hosts, ["db0", "db1", "db2", "db3", "db4"]);
        assert_eq!(meeting.jobs, ["fstrim.timer"]);
        assert!(meeting.when.starts_with("Mon "), "{}", meeting.when);
        // Those that are apart do not meet.
        let apart = |minute: u32| {
            let spec = format!("0 {minute} * * 3");
            node(
                vec![cron_job("/etc/cron.d/trim:1", &spec, "fstrim /data")],
                true,
            )
        };
        assert_eq!(of(&[apart(1), apart(3), apart(5)]).meetings, []);
    }

    #[test]
    fn a_trim_beside_the_store_is_left_out_and_unknown_jobs_are_counted() {
        let beside = || node(vec![cron_weekly("fstrim", "fstrim /other")], true);
        let mut blind = node(Vec::new(), true);
        blind.jobs = None;
        let found = of(&[beside(), beside(), blind]);
        assert_eq!(found.meetings, []);
        assert_eq!(found.hosts_unknown, 1);
        let copies = || {
            let rsync = cron_job("/etc/cron.d/copy:1", "30 2 * * *", "rsync -a /data /copy");
            node(vec![rsync], true)
        };
        let found = of(&[copies(), copies()]);
        assert_eq!(found.meetings[0].work, "backup");
        assert!(found.meetings[0].is_certain);
    }
}
