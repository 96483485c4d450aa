//! # SCHED001: jobs that touch every disk start at the same moment
//!
//! ## What it finds
//! Two or more heavy jobs (a trim, a scrub, a RAID check, a backup, a drive's long self-test) whose
//! starts fall together within the next five weeks, a quarter of an hour apart at most, or that
//! are in the same cron directory and therefore run back to back.
//!
//! ## Why it hurts
//! Each of them alone is hard on the drives; together they take longer than one after the other, and
//! the store beneath them waits longest. Defaults coincide: Sunday night and Monday 00:00 are common
//! choices. And when throughput drops every Sunday, nobody can tell which of the jobs that start
//! together does it: move them apart first.
//!
//! ## Evidence
//! Each job with its schedule and program; the first moment at which they meet, in the host's time
//! zone.
//!
//! ## Remedy
//! Give each a night of its own: by an override of the timer (`systemctl edit fstrim.timer`), or by
//! a crontab line of its own instead of a script in cron.weekly.
//!
//! ## Risk
//! A job that is moved may meet another one: run the check again.
//!
//! ## When it is silent
//! With fewer than two heavy jobs: updatedb, man-db and logrotate alone are light. For jobs that run
//! more often than twice a day; for work that finds nothing to do here (a RAID check without a RAID).
//! It is a warning on a host with a store and a note elsewhere, or where a timer's random
//! delay decides whether they meet.
//!
//! ## References
//! cron(8), run-parts(8), systemd.timer(5) (`RandomizedDelaySec=`, `AccuracySec=`).

use crate::context::Context;
use crate::disk_jobs::{self, DiskJob};
use crate::outcome::Outcome;
use crate::quiet_slot::{Busy, QuietSlot};
use crate::rule::{Check, Needs, Rule};
use crate::times::{self, EVENT_PERIOD_MIN_S, HostClock, MEETINGS_AHEAD, TOGETHER_S};
use crate::trim_jobs::{JOBS_NEED, JOBS_UNKNOWN};
use crate::{finding, shell, trim_remedy, wording};
use facts::host::Job;
use facts::{Evidence, Remedy, Severity};
use schedule::{Collision, Run};
use std::collections::HashMap;

pub(crate) const RULE: Rule = Rule {
    id: "SCHED001",
    title: "jobs that touch every disk start at the same moment",
    source: include_str!("sched001.rs"),
    check: Check::Host(Needs::Nothing, check),
};

/// Maximum number of groups compared with each other, and of meetings reported.
const GROUPS_MAX: usize = 100;

/// Jobs started together by one crontab line, or a single job.
struct Group<'a> {
    /// `cron.weekly`, or the job's name.
    name: &'a str,
    jobs: Vec<DiskJob<'a>>,
}

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(all) = disk_jobs::active(cx) else {
        out.skip(RULE.id, JOBS_UNKNOWN, Some(JOBS_NEED));
        return;
    };
    let clock = HostClock::of(cx.host);
    let mut groups = group(&all);
    groups.retain(|group| {
        if cx.budget.is_used_up() {
            return false;
        }
        let period_s = clock.period_s(group.jobs[0].job, cx.now);
        period_s.is_none_or(|period_s| period_s >= EVENT_PERIOD_MIN_S)
    });
    if groups.len() > GROUPS_MAX {
        out.skip(
            RULE.id,
            format!(
                "only {GROUPS_MAX} of {} jobs that touch every disk were compared",
                groups.len()
            ),
            None,
        );
        groups.truncate(GROUPS_MAX);
    }
    let runs: Vec<(&Job, Vec<Run>)> = groups
        .iter()
        .take_while(|_| !cx.budget.is_used_up())
        .map(|group| (group.jobs[0].job, runs_of(cx, &clock, group, out)))
        .collect();
    let collisions = schedule::collisions(&runs, TOGETHER_S);
    if let Some(at) = collisions.truncated_at {
        out.skip(
            RULE.id,
            format!(
                "too many runs to compare: after {} none were",
                clock.show(at)
            ),
            None,
        );
    }
    let mut reported: Vec<Vec<usize>> = Vec::new();
    for collision in collisions.groups {
        // Larger groups come first; a pair that also meets separately adds nothing.
        let is_part = reported
            .iter()
            .any(|known| collision.jobs.iter().all(|index| known.contains(index)));
        if is_part || reported.len() >= GROUPS_MAX {
            continue;
        }
        let met: Vec<&Group<'_>> = collision.jobs.iter().map(|&index| &groups[index]).collect();
        let jobs: Vec<DiskJob<'_>> = met.iter().flat_map(|g| g.jobs.iter().copied()).collect();
        // The same trim by two jobs is covered by SCHED002.
        if different_work(&jobs) {
            report_meeting(cx, (&clock, &runs), &collision, &met, out);
            reported.push(collision.jobs);
        }
    }
    for (index, group) in groups.iter().enumerate() {
        let meets_others = reported.iter().any(|known| known.contains(&index));
        if !meets_others && different_work(&group.jobs) {
            report_directory(cx, (&clock, &runs), group, out);
        }
    }
}

/// Returns the runs of a group in the coming weeks.
fn runs_of(cx: &Context<'_>, clock: &HostClock, group: &Group<'_>, out: &mut Outcome) -> Vec<Run> {
    let job = group.jobs[0].job;
    let until = cx.now.checked_add(MEETINGS_AHEAD).unwrap_or(cx.now);
    let mut skip = |why: String| {
        let name = wording::job_name(job);
        out.skip(format!("{} for {name}", RULE.id), why, None);
    };
    match clock.runs(job, cx.now, until) {
        Ok(forecast) => {
            if let Some(why) = forecast.unknown.first() {
                skip(format!("when it runs cannot be told: {why}"));
            }
            forecast.runs
        }
        Err(error) => {
            skip(error.to_string());
            Vec::new()
        }
    }
}

/// Whether these jobs do at least two kinds of heavy work.
fn different_work(jobs: &[DiskJob<'_>]) -> bool {
    let mut heavy = jobs.iter().filter(|disk| disk.work.is_heavy());
    let Some(first) = heavy.next() else {
        return false;
    };
    heavy.any(|other| (other.work, other.program) != (first.work, first.program))
}

/// Groups scripts in the same directory and drops groups without heavy work.
fn group<'a>(all: &[DiskJob<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut by_directory: HashMap<&str, usize> = HashMap::new();
    for disk in all {
        let directory = disk_jobs::run_parts_directory(disk.job);
        let name = directory.unwrap_or(&disk.job.name);
        let known = directory.and_then(|_| {
            let known = *by_directory.entry(name).or_insert(groups.len());
            groups.get_mut(known)
        });
        match known {
            Some(group) => group.jobs.push(*disk),
            None => groups.push(Group {
                name,
                jobs: vec![*disk],
            }),
        }
    }
    groups.retain(|group| group.jobs.iter().any(|disk| disk.work.is_heavy()));
    groups
}

fn names(jobs: &[DiskJob<'_>]) -> String {
    let names: Vec<String> = jobs
        .iter()
        .map(|disk| format!("{} ({})", wording::job_name(disk.job), disk.work.label()))
        .collect();
    wording::list(&names)
}

fn job_evidence(jobs: &[DiskJob<'_>]) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = Vec::new();
    for disk in jobs.iter().take(wording::EVIDENCE_MAX) {
        let command = disk
            .job
            .commands
            .iter()
            .find(|command| command.program == disk.program);
        if let Some(command) = command {
            evidence.push(Evidence::new(&command.source, &command.program));
        }
        for trigger in times::trigger_evidence(disk.job) {
            if !evidence.contains(&trigger) {
                evidence.push(trigger);
            }
        }
    }
    evidence
}

fn severity(cx: &Context<'_>, certain: bool) -> Severity {
    finding::warning_if(certain && !cx.host.stores.is_empty())
}

/// Reports heavy scripts in one directory.
fn report_directory(
    cx: &Context<'_>,
    (clock, runs): (&HostClock, &[(&Job, Vec<Run>)]),
    group: &Group<'_>,
    out: &mut Outcome,
) {
    let mut finding = finding::about_host(
        &RULE,
        severity(cx, true),
        group.name,
        format!("{} runs several heavy jobs in one go", group.name),
    );
    finding.why = format!(
        "run-parts starts its scripts one after the other: {}. The drives get no rest in between, \
         and when throughput drops at that time, nobody can tell which script is to blame.",
        names(&group.jobs)
    );
    finding.evidence = job_evidence(&group.jobs);
    if let Some(first) = group.jobs.iter().find(|disk| disk.work.is_heavy()) {
        finding.add_remedy(apart(clock, first.job, runs));
    }
    out.findings.push(finding);
}

/// Moves a job to a night on which no other heavy job of the host runs.
fn apart(clock: &HostClock, moved: &Job, runs: &[(&Job, Vec<Run>)]) -> Remedy {
    let others = runs.iter().filter(|(job, _)| !std::ptr::eq(*job, moved));
    let busy = Busy::of(clock, others.flat_map(|(_, runs)| runs));
    trim_remedy::move_apart(moved, QuietSlot::weekly_beside(&busy))
}

fn report_meeting(
    cx: &Context<'_>,
    (clock, runs): (&HostClock, &[(&Job, Vec<Run>)]),
    collision: &Collision,
    met: &[&Group<'_>],
    out: &mut Outcome,
) {
    let group_names: Vec<String> = met
        .iter()
        .map(|group| shell::printable(group.name))
        .collect();
    let verb = if collision.is_certain() {
        "start"
    } else {
        "may start"
    };
    let mut finding = finding::about_host(
        &RULE,
        severity(cx, collision.is_certain()),
        met[0].name,
        format!("{} {verb} at the same time", wording::list(&group_names)),
    );
    let jobs: Vec<DiskJob<'_>> = met.iter().flat_map(|g| g.jobs.iter().copied()).collect();
    let in_one_go = met.iter().any(|group| group.jobs.len() > 1);
    finding.why = format!(
        "They touch every disk and start together: {}.{} Together they take longer than one after \
         the other, and when throughput drops at that time, nobody can tell which job is to blame.",
        names(&jobs),
        if in_one_go {
            " The scripts of a cron directory run one after the other, as one job."
        } else {
            ""
        }
    );
    finding.evidence = job_evidence(&jobs);
    finding.add_evidence(
        format!("first time that they meet ({})", clock.label()),
        clock.show_window(collision.earliest, collision.latest),
    );
    let movable = met
        .iter()
        .find(|group| group.jobs[0].job.timer.is_some())
        .unwrap_or(&met[0]);
    let heavy = movable.jobs.iter().find(|disk| disk.work.is_heavy());
    if let Some(heavy) = heavy {
        finding.add_remedy(apart(clock, heavy.job, runs));
    }
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, md, nvme, only};
    use crate::test_jobs::{LISTED_IN, anacron, cron_job, cron_weekly, fstrim_timer, jobs, timer};

    /// A mirror with Btrfs, so that a trim, a RAID check and a scrub have something to work on.
    fn host(list: Vec<Job>) -> TestHost {
        TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md0", "raid1", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md0", "btrfs", "rw")
            .elasticsearch("/data")
            .with(jobs(list))
    }

    fn trim_at(calendar: &str) -> Job {
        timer("fstrim.timer", calendar, LISTED_IN)
    }

    #[test]
    fn a_trim_and_a_raid_check_on_sunday_night() {
        let outcome = host(vec![
            cron_job("/etc/cron.d/mdadm:12", "57 0 * * 0", "checkarray --all"),
            trim_at("Sun *-*-* 01:00:00"),
        ])
        .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "/etc/cron.d/mdadm:12 and fstrim.timer start at the same time"
        );
        // The Sunday after Wednesday 2026-11-18.
        let meeting = finding.evidence.last().expect("evidence");
        assert_eq!(meeting.source, "first time that they meet (UTC)");
        assert!(
            meeting.value.contains("2026-11-22 00:57"),
            "{}",
            meeting.value
        );
        let command = finding.remedy[0].command.as_deref().expect("a command");
        assert!(command.contains("fstrim.timer.d"));
    }

    #[test]
    fn times_apart_do_not_meet() {
        let outcome = host(vec![
            cron_job("/etc/cron.d/mdadm:12", "57 0 * * 0", "checkarray --all"),
            trim_at("Sun *-*-* 03:00:00"),
            cron_job("/etc/cron.d/b:1", "0 5 * * 2", "restic backup"),
        ])
        .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn a_random_delay_makes_it_possible_not_certain() {
        let outcome = host(vec![
            fstrim_timer(),
            cron_job("/etc/cron.d/b:1", "30 1 * * *", "restic backup"),
        ])
        .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.title.contains("may start"), "{}", finding.title);
    }

    #[test]
    fn heavy_scripts_of_one_directory_are_one_finding_and_light_ones_none() {
        let outcome = host(vec![
            cron_weekly("btrfs", "btrfs scrub start /data"),
            cron_weekly("fstrim", "fstrim --all"),
            cron_weekly("man-db", "mandb --quiet"),
        ])
        .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.subject, "cron.weekly");
        assert!(finding.why.contains("one after the other"));
        let outcome = host(vec![
            cron_weekly("fstrim", "fstrim --all"),
            cron_weekly("man-db", "mandb --quiet"),
        ])
        .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn a_directory_meets_another_job_once() {
        let outcome = host(vec![
            cron_weekly("fstrim", "fstrim --all"),
            cron_weekly("man-db", "mandb --quiet"),
            cron_job("/etc/cron.d/b:1", "45 6 * * 0", "borg create"),
        ])
        .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(
            finding.title,
            "cron.weekly and /etc/cron.d/b:1 start at the same time"
        );
        assert!(finding.why.contains("cron.weekly/man-db (file index)"));
    }

    #[test]
    fn frequent_jobs_are_ignored() {
        let outcome = host(vec![
            trim_at("Sun *-*-* 03:00:00"),
            cron_job("/etc/cron.d/b:1", "*/10 * * * *", "rsync"),
        ])
        .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn the_same_trim_twice_is_left_to_the_other_rule() {
        let outcome = host(vec![
            trim_at("Sun *-*-* 06:47:00"),
            cron_weekly("fstrim", "fstrim --all"),
        ])
        .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn without_a_store_it_is_an_information() {
        let outcome = host(vec![
            cron_job("/etc/cron.d/mdadm:12", "57 0 * * 0", "checkarray --all"),
            trim_at("Sun *-*-* 01:00:00"),
        ])
        .with(|host| host.stores.clear())
        .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn anacron_times_are_too_imprecise_to_meet() {
        let mut weekly = cron_weekly("fstrim", "fstrim --all");
        weekly.triggers = vec![anacron("7", "cron.weekly")];
        let outcome = host(vec![
            weekly,
            cron_job("/etc/cron.d/b:1", "45 6 * * 0", "borg create"),
        ])
        .check(&RULE);
        assert!(
            outcome
                .findings
                .iter()
                .all(|f| f.severity == Severity::Info)
        );
    }

    #[test]
    fn stock_debian_12_is_silent() {
        let outcome = host(vec![
            fstrim_timer(),
            timer("e2scrub_all.timer", "Sun *-*-* 03:10:00", "e2scrub_all"),
            cron_job("/etc/cron.d/mdadm:12", "57 0 * * 0", "checkarray --all"),
            timer("man-db.timer", "daily", "mandb --quiet"),
        ])
        .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn unknown_jobs_skip_the_rule() {
        let outcome = host(Vec::new()).with(|host| host.jobs = None).check(&RULE);
        assert_eq!(outcome.skipped[0].what, "SCHED001");
    }
}
