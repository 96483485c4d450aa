//! # TRIM007: an unpaced trim on a store's data at a busy or unknown time
//!
//! ## What it finds
//! A job that runs and hands a filesystem with a store's data to fstrim in one go, in particular at
//! its distribution's time: weekly, Monday 00:00 with up to 100 minutes of random delay
//! (fstrim.timer), or whenever cron.weekly happens to run (Sunday 06:47 on Debian and Ubuntu).
//!
//! ## Why it hurts
//! fstrim asks the kernel to discard all free space in one call, as fast as the drives take it.
//! Meanwhile reads and writes queue up behind the discards: a MongoDB cluster on striped NVMe drives
//! stalled at weekends, and in the log of one stall reads fell to a two-hundredth; on a model of a slow
//! drive the 99th percentile of reads rose from 48 ms to 0.8 to 0.9 s. All nodes with the same default do
//! it in the same night. Starting fstrim with `ionice` or `nice` changes little: discards are not paced
//! by it.
//!
//! On XFS a pass over a whole filesystem also leaves things behind: with fragmented free space up to
//! 48 % of the free extents were skipped, the same ones at each pass, while fstrim printed the full
//! size as trimmed; ranges inside one allocation group trimmed everything. And until the discards
//! are through, the freed space is locked: writes that needed it waited for 4 and for 22 seconds.
//!
//! ## Evidence
//! The mount; the job with its command and its schedule; the next runs in the host's time zone.
//!
//! ## Remedy
//! `trimtab plan --apply /data` puts `trimtab trim` in its place: it discards in small steps, waits while the
//! drives are busy, and stops at the end of its window. With `--fstab` a fstrim.timer that trims other
//! filesystems as well goes on for these. Or move fstrim to a quiet period by an override of its timer (`OnCalendar=` reset first), another night on
//! each node. If there is no quiet period: `discard` in fstab, after a test, and `X-fstrim.notrim` beside
//! it.
//!
//! ## Risk
//! Without any trim the drives get slower: see TRIM002 and TRIM005 before it is switched off.
//!
//! ## When it is silent
//! On mounts without a store's data; where the mounted device takes no discards; for jobs that trim
//! range by range or pace themselves. Where somebody chose the time (a crontab line of its own, a timer
//! with another calendar than the default) it is a note: only the operator knows whether
//! that time is quiet. Confirm that it is by naming the crontab, the timer or its drop-in with `quiet-time`,
//! such as `/etc/systemd/system/fstrim.timer.d/quiet-time.conf`, which the commands write: it is then
//! not reported.
//!
//! ## References
//! fstrim(8), systemd.timer(5); util-linux#1929 (weekly freezes), util-linux#2211, MongoDB
//! SERVER-26131, scylla-operator#3013; Elastic: "in a quiet period or not at all" (2018).

use crate::context::Context;
use crate::outcome::Outcome;
use crate::quiet_slot::QuietTimes;
use crate::rule::{Check, Needs, Rule};
use crate::times::{self, HostClock};
use crate::trim_jobs::{TrimJob, TrimJobs};
use crate::volume::Volume;
use crate::{finding, trim_remedy, trim_state, wording};
use facts::Severity;
use std::fmt::Write as _;

pub(crate) const RULE: Rule = Rule {
    id: "TRIM007",
    title: "an unpaced trim on a store's data at a busy or unknown time",
    source: include_str!("trim007.rs"),
    check: Check::Host(Needs::Stores, check),
};

/// Number of runs listed.
const RUNS_SHOWN: usize = 3;

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(trims) = cx.trim_jobs_or_skip(RULE.id, out) else {
        return;
    };
    let clock = HostClock::of(cx.host);
    let quiet = QuietTimes::of(cx);
    for volume in cx.volumes_in_time() {
        if volume.stores.is_empty() || !trim_state::fstrim_works_here(volume) {
            continue;
        }
        let unpaced: Vec<&TrimJob<'_>> = trims
            .reaching(volume)
            .into_iter()
            .filter(|trim| trim.is_unpaced() && !trim_remedy::is_declared_quiet(trim.job))
            .collect();
        if !unpaced.is_empty() {
            report(cx, (trims, &quiet), &clock, volume, &unpaced, out);
        }
    }
}

fn report(
    cx: &Context<'_>,
    (trims, quiet): (&TrimJobs<'_>, &QuietTimes<'_, '_>),
    clock: &HostClock,
    volume: &Volume<'_>,
    unpaced: &[&TrimJob<'_>],
    out: &mut Outcome,
) {
    // Prefer the job with a default schedule, which is the one to fix.
    let by_default = unpaced
        .iter()
        .find_map(|trim| Some((trim, times::default_schedule(trim.job)?)));
    let (severity, trim) = match by_default {
        Some((trim, _)) => (Severity::Warning, trim),
        None => (Severity::Info, &unpaced[0]),
    };
    let job = wording::job_name(trim.job);
    let data = wording::data_of(volume);
    let title = if by_default.is_some() {
        format!("{job} trims {data} in one go, at a time that nobody chose")
    } else {
        format!("{job} trims {data} in one go")
    };
    let mut finding = finding::about_volume(&RULE, severity, volume, title);
    let mut why = "fstrim discards all free space in one call, as fast as the drives take it; \
                   the store's reads and writes wait behind it."
        .to_owned();
    if let Some((_, schedule)) = by_default {
        // Writing to a String cannot fail.
        let _ = write!(
            why,
            " It runs at the default time, {schedule}: nobody chose it for this load, and every \
             node with this default trims in the same night."
        );
        if times::random_delay_s(trim.job).is_some_and(|delay_s| delay_s == 0.0) {
            why.push_str(" It has no random delay, so they even start at the same minute.");
        }
    } else {
        why.push_str(" Somebody chose its time. Only you know whether the store is quiet then.");
    }
    if unpaced.iter().any(|trim| {
        trim.job
            .commands
            .iter()
            .any(|command| command.idle_io && command.program.starts_with("fstrim"))
    }) {
        why.push_str(" Idle I/O priority does not pace discards.");
    }
    if volume.mount.fs_type == "xfs" {
        why.push_str(
            " On XFS such a pass also leaves space untrimmed: with fragmented free space it skipped \
             up to 48 % of the free extents every time, and still printed the full size as trimmed. \
             Freed space stays locked until its discards are done.",
        );
    }
    finding.why = why;
    let zone = clock.label();
    for trim in unpaced.iter().take(wording::EVIDENCE_MAX) {
        finding.evidence.extend(trim.evidence());
        finding.evidence.extend(times::trigger_evidence(trim.job));
        let runs = clock.next_runs(trim.job, cx.now, RUNS_SHOWN);
        if !runs.is_empty() {
            finding.add_evidence(
                format!("next runs of {} ({zone})", trim.job.name),
                runs.join(", "),
            );
        }
    }
    if cx.host.platform.elastic_cloud_enterprise.is_some() {
        finding.add_remedy(trim_remedy::stop(
            trim.job,
            "Stop it: Elastic advises against trimming the volumes of Elastic Cloud Enterprise, \
             whose control plane can become unstable meanwhile.",
        ));
    } else {
        // Their wording is shared with other rules, in `trim_remedy`.
        let slot = quiet.weekly();
        finding.add_remedy(trim_remedy::replace_by_paced(cx, unpaced, volume));
        finding.add_remedy(trim_remedy::move_to_quiet_time(trim.job, slot));
        finding.remedy.extend(trim_remedy::discard_and_leave_out(
            cx,
            volume,
            &trims.reaching(volume),
        ));
    }
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, crypt, nvme, only};
    use crate::test_jobs::{LISTED_IN, cron_job, cron_weekly, fstrim_timer, jobs, timer};
    use facts::host::Job;

    fn host(fs_type: &str, job: Job) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", fs_type, "rw")
            .elasticsearch("/data")
            .with(jobs(vec![job]))
    }

    #[test]
    fn the_default_timer_on_xfs() {
        let outcome = host("xfs", fstrim_timer()).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "fstrim.timer trims Elasticsearch's data in one go, at a time that nobody chose"
        );
        assert!(finding.why.contains("48 %"), "{}", finding.why);
        assert!(finding.why.contains("Monday"), "{}", finding.why);
        assert!(!finding.why.contains("same minute"), "{}", finding.why);
        // 2026-11-18 is a Wednesday; these are the following Mondays.
        let runs = finding
            .evidence
            .iter()
            .find(|e| e.source == "next runs of fstrim.timer (UTC)")
            .expect("the runs");
        for monday in ["2026-11-23 00:00", "2026-11-30 00:00", "2026-12-07 00:00"] {
            assert!(runs.value.contains(monday), "{}", runs.value);
        }
        let command = |index: usize| finding.remedy[index].command.as_deref().expect("a command");
        assert_eq!(command(0), "trimtab plan --apply --fstab /data");
        assert!(command(1).contains("OnCalendar=Sun"), "{}", command(1));
        // fstab has no line for it.
        assert_eq!(finding.remedy[2].command, None);
    }

    #[test]
    fn ubuntu_1604_and_its_cron_weekly() {
        let outcome = host("ext4", cron_weekly("fstrim", "fstrim --all")).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(!finding.why.contains("XFS"));
        // The Sunday after the Wednesday, according to Ubuntu's crontab.
        assert!(
            finding
                .evidence
                .iter()
                .any(|e| e.value.contains("2026-11-22 06:47")),
            "{:#?}",
            finding.evidence
        );
        // fstrim --all does not go by fstab.
        let paced = finding.remedy[0].command.as_deref();
        assert_eq!(paced, Some("trimtab plan --apply /data"));
    }

    #[test]
    fn a_chosen_time_is_an_information() {
        for job in [
            cron_job("/etc/cron.d/trim:2", "0 3 * * 6", "fstrim /data"),
            timer("fstrim.timer", "Sat *-*-* 03:00:00", LISTED_IN),
        ] {
            let outcome = host("ext4", job).check(&RULE);
            assert_eq!(only(&outcome).severity, Severity::Info);
        }
    }

    #[test]
    fn a_time_that_is_declared_quiet_is_silent() {
        let mut timer = timer("fstrim.timer", "Sat *-*-* 03:00:00", LISTED_IN);
        let state = timer.timer.as_mut().expect("a timer");
        state.drop_ins = vec!["etc/systemd/system/fstrim.timer.d/quiet-time.conf".to_owned()];
        let line = cron_job(
            "/etc/cron.d/trim-at-quiet-time:1",
            "0 3 * * 6",
            "fstrim /data",
        );
        for job in [timer, line] {
            assert_eq!(host("xfs", job).check(&RULE), Outcome::default());
        }
        // A script of cron.weekly runs whenever that runs.
        let script = cron_weekly("quiet-time", "fstrim --all");
        assert_eq!(host("xfs", script).check(&RULE).findings.len(), 1);
    }

    #[test]
    fn without_a_random_delay_all_nodes_start_at_once() {
        let outcome = host("ext4", timer("fstrim.timer", "weekly", LISTED_IN)).check(&RULE);
        let why = &only(&outcome).why;
        assert!(why.contains("same minute"), "{why}");
    }

    #[test]
    fn elastic_cloud_enterprise_gets_one_advice() {
        let outcome = host("xfs", fstrim_timer())
            .with(|host| host.platform.elastic_cloud_enterprise = Some("/mnt/data/elastic".into()))
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.remedy.len(), 1);
        assert!(finding.remedy[0].text.contains("Elastic Cloud Enterprise"));
    }

    #[test]
    fn silent_for_paced_trims_other_mounts_and_lost_discards() {
        for line in [
            "trimtab trim /data",
            // The command created by the remedy.
            "/usr/bin/trimtab trim --window 03:00-05:00 --all --yes",
            "/usr/bin/trimtab trim --window 03:00-05:00 /data",
            "fstrim -o 0 -l 1G /data",
            "fstrim /srv",
        ] {
            let job = cron_job("/etc/cron.d/trim:2", "0 3 * * 6", line);
            assert_eq!(host("xfs", job).check(&RULE), Outcome::default(), "{line}");
        }
        let no_store = host("xfs", fstrim_timer()).with(|host| host.stores.clear());
        assert_eq!(no_store.check(&RULE), Outcome::default());
        let lost = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "data", "nvme0n1", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .elasticsearch("/data")
            .with(jobs(vec![fstrim_timer()]));
        assert_eq!(lost.check(&RULE), Outcome::default());
    }

    #[test]
    fn unknown_jobs_skip_the_rule() {
        let outcome = host("xfs", fstrim_timer())
            .with(|host| host.jobs = None)
            .check(&RULE);
        assert_eq!(outcome.skipped[0].what, "TRIM007");
    }
}
