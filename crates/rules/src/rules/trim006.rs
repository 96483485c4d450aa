//! # TRIM006: a data mount that the trim job does not reach
//!
//! ## What it finds
//! A job that is meant to trim every filesystem runs, and passes this one by: it goes by fstab, and
//! the mount is not in fstab; fstab says `X-fstrim.notrim` or `ro`; the mount is currently read-only;
//! the arguments leave it out, or make fstrim refuse to do anything.
//!
//! ## Why it hurts
//! Everybody believes that the host is trimmed. fstrim.service runs
//! `fstrim --listed-in /etc/fstab:/proc/self/mountinfo`, which reads the first of the two files that
//! is not empty, and that is fstab: data volumes mounted by a unit, a script, an orchestrator or
//! cloud-init without an fstab line are silently skipped. Their drives are never told what
//! is free, and get slower.
//!
//! ## Evidence
//! The job's command; the mount as mountinfo has it; fstab's line, or that there is none.
//!
//! ## Remedy
//! `trimtab plan --apply /data` gives it a job for `trimtab trim`, which discards in small steps and waits
//! while the drives are busy. Or let fstrim reach it, and move its timer to a quiet time: not in
//! fstab, a drop-in for the service with `ExecStart=-/sbin/fstrim --verbose /data`, or an fstab line;
//! `X-fstrim.notrim`, take it out; arguments, change them. A mount that is read-only by mistake has to
//! become writable first.
//!
//! ## Risk
//! The first pass after a long time takes long. With fstrim it stalls reads and writes: let it run in
//! a quiet period.
//!
//! ## When it is silent
//! Where no job for all mounts runs (TRIM002, TRIM003); where another job trims the mount, or one
//! whose targets are unknown may; with online discard; where discards are lost on the way; on
//! filesystems that are read-only on purpose, vfat and swap; without a store where nothing says that
//! flash is below; on Elastic Cloud Enterprise hosts.
//!
//! ## References
//! fstrim(8) and util-linux, sys-utils/fstrim.c (`fstrim_all`, `is_unwanted_fs`); `X-fstrim.notrim`
//! since 2.38.

use crate::context::Context;
use crate::outcome::Outcome;
use crate::quiet_slot::QuietTimes;
use crate::rule::{Check, Needs, Rule};
use crate::trim_jobs::{Miss, Reach, TrimJob};
use crate::volumes::{self, Group};
use crate::{finding, trim_remedy, trim_state, wording};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM006",
    title: "a data mount that the trim job does not reach",
    source: include_str!("trim006.rs"),
    check: Check::Host(Needs::Devices, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(trims) = cx.trim_jobs_or_skip(RULE.id, out) else {
        return;
    };
    let Some(for_all) = trims.active().find(|trim| trim.is_for_all()) else {
        return;
    };
    let mut missed = Vec::new();
    for volume in cx.volumes_in_time() {
        let concerns = trim_state::is_worth_a_trim(cx, volume)
            && (!volume.stores.is_empty() || trim_state::is_on_flash(cx, volume));
        if !concerns || trims.may_be_trimmed(volume) {
            continue;
        }
        if let Reach::Missed(miss) = trims.reach(for_all, volume) {
            // A store's mount gets its own finding; others missed for the same reason are grouped.
            let own = (!volume.stores.is_empty()).then_some(volume.mount.id);
            missed.push((volume, (own, miss.clone()), miss));
        }
    }
    let times = QuietTimes::of(cx);
    for group in volumes::grouped(missed) {
        report(cx, &times, &group, for_all, out);
    }
}

fn report(
    cx: &Context<'_>,
    times: &QuietTimes<'_, '_>,
    group: &Group<'_, '_, Miss>,
    trim: &TrimJob<'_>,
    out: &mut Outcome,
) {
    let (volume, miss) = (group.volume, &group.item);
    let severity = finding::warning_if(!volume.stores.is_empty());
    let job = wording::job_name(trim.job);
    let mount_point = wording::mount_point(volume);
    let mut finding = finding::about_volume(
        &RULE,
        severity,
        volume,
        match group.others.len() {
            0 => format!("{job} does not trim {mount_point}"),
            1 => format!("{job} does not trim {mount_point} and another mount"),
            more => format!("{job} does not trim {mount_point} and {more} other mounts"),
        },
    );
    let reason = match miss {
        Miss::NotInFstab => format!(
            "{job} trims what is in /etc/fstab, and {mount_point} is not: it is skipped silently."
        ),
        Miss::NoTrim { line } => {
            format!("fstab's line {line} tells fstrim to leave it out (X-fstrim.notrim).")
        }
        Miss::FstabReadOnly { line } => format!(
            "fstab's line {line} says `ro`, which makes fstrim skip it, although it is mounted \
             writable."
        ),
        Miss::ReadOnly => {
            "It is mounted read-only just now, although fstab does not say so, and fstrim skips \
             what is read-only."
                .to_owned()
        }
        Miss::FstabTypeNone { .. } | Miss::TypeLeftOut | Miss::NotNamed | Miss::Refused(_) => {
            units::list::capitalised(&format!("{}.", miss.reason()))
        }
    };
    finding.why = format!(
        "{reason} No other job trims it, so its drives never learn what is free, and writes get \
         slower from day to day."
    );
    finding
        .evidence
        .extend(trim.evidence().take(wording::EVIDENCE_MAX));
    match miss {
        Miss::NotInFstab => finding.add_evidence("etc/fstab", format!("no line for {mount_point}")),
        Miss::NoTrim { line } | Miss::FstabReadOnly { line } => {
            let options = cx
                .host
                .fstab
                .iter()
                .flatten()
                .find(|entry| entry.line == *line)
                .map(|entry| entry.options.join(","));
            finding.add_evidence(format!("etc/fstab:{line}"), options.unwrap_or_default());
        }
        Miss::FstabTypeNone { line } => {
            finding.add_evidence(format!("etc/fstab:{line}"), format!("{mount_point} none"));
        }
        _ => {}
    }
    let others = group.others.iter().take(wording::EVIDENCE_MAX);
    finding
        .evidence
        .extend(others.map(|other| wording::mount_evidence(other.mount)));
    finding.evidence.extend(wording::medium_evidence(volume));
    let slot = times.weekly();
    if *miss != Miss::ReadOnly {
        let all = std::iter::once(&group.volume).chain(&group.others);
        let mounts: Vec<&str> = all
            .map(|volume| volume.mount.mount_point.as_str())
            .collect();
        finding.add_remedy(trim_remedy::trim_mounts(cx, &mounts));
    }
    finding.add_remedy(trim_remedy::add_to_trim(
        cx.host,
        volume.mount,
        trim,
        miss,
        slot,
    ));
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, nvme, only, virtio};
    use crate::test_jobs::{cron_job, cron_weekly, fstab, fstrim_timer, jobs, with_state};
    use facts::host::EnabledState;
    use facts::{Evidence, Severity};

    fn host() -> TestHost {
        TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .mount("/", "nvme0n1", "ext4", "rw")
            .mount("/data", "nvme1n1", "xfs", "rw")
            .elasticsearch("/data")
            .with(fstab(&[("/", "defaults")]))
            .with(jobs(vec![fstrim_timer()]))
    }

    #[test]
    fn not_in_fstab() {
        let outcome = host().check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.subject, "/data");
        assert_eq!(finding.title, "fstrim.timer does not trim /data");
        assert!(
            finding
                .evidence
                .contains(&Evidence::new("etc/fstab", "no line for /data"))
        );
        let command = |at: usize| finding.remedy[at].command.as_deref().expect("a command");
        assert_eq!(command(0), "trimtab plan --apply /data");
        assert!(command(1).contains("/etc/systemd/system/fstrim.service.d"));
        assert!(command(1).contains("'ExecStart=-/sbin/fstrim --verbose /data'"));
        assert!(command(1).contains("/etc/systemd/system/fstrim.timer.d/quiet-time.conf"));
    }

    #[test]
    fn notrim_names_its_line() {
        let outcome = host()
            .with(fstab(&[("/", "defaults"), ("/data", "X-fstrim.notrim")]))
            .check(&RULE);
        let finding = only(&outcome);
        assert!(
            finding
                .evidence
                .contains(&Evidence::new("etc/fstab:2", "X-fstrim.notrim"))
        );
    }

    #[test]
    fn read_only_by_accident_and_on_purpose() {
        let read_only = |options: &'static str| {
            host()
                .with(fstab(&[("/", "defaults"), ("/data", options)]))
                .with(|host| host.mounts[1].options = vec!["ro".to_owned()])
                .check(&RULE)
        };
        let outcome = read_only("defaults");
        assert!(only(&outcome).why.contains("read-only just now"));
        assert_eq!(read_only("ro"), Outcome::default());
    }

    #[test]
    fn without_a_store_it_is_an_information_on_flash_only() {
        let outcome = host().with(|host| host.stores.clear()).check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        let outcome = TestHost::new()
            .devices([virtio("vda"), virtio("vdb")])
            .mount("/", "vda", "ext4", "rw")
            .mount("/srv", "vdb", "ext4", "rw")
            .with(fstab(&[("/", "defaults")]))
            .with(jobs(vec![fstrim_timer()]))
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn mounts_without_a_store_are_grouped() {
        let outcome = host()
            .device(nvme("nvme2n1"))
            .device(nvme("nvme3n1"))
            .mount("/a", "nvme2n1", "xfs", "rw")
            .mount("/b", "nvme3n1", "xfs", "rw")
            .check(&RULE);
        let titles: Vec<&str> = outcome.findings.iter().map(|f| f.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "fstrim.timer does not trim /data",
                "fstrim.timer does not trim /a and another mount"
            ]
        );
    }

    #[test]
    fn two_mount_points_make_fstrim_refuse() {
        let outcome = host()
            .with(jobs(vec![cron_weekly("fstrim", "fstrim --all /data")]))
            .check(&RULE);
        // A refused command is for no mount at all, which TRIM002 covers.
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn silent_where_it_is_trimmed_or_no_job_is_for_all() {
        let in_fstab = host().with(fstab(&[("/", "defaults"), ("/data", "defaults")]));
        assert_eq!(in_fstab.check(&RULE), Outcome::default());
        let by_another = host().with(|host| {
            let own = cron_job("/etc/cron.d/x:1", "0 3 * * *", "fstrim /data");
            host.jobs.as_mut().expect("jobs").push(own);
        });
        assert_eq!(by_another.check(&RULE), Outcome::default());
        let all = host().with(jobs(vec![cron_weekly("fstrim", "fstrim --all")]));
        assert_eq!(all.check(&RULE), Outcome::default());
        let off = with_state(fstrim_timer(), EnabledState::Disabled, Some(false));
        assert_eq!(
            host().with(jobs(vec![off])).check(&RULE),
            Outcome::default()
        );
        let efi = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/boot/efi", "nvme0n1", "vfat", "rw")
            .with(fstab(&[("/", "defaults")]))
            .with(jobs(vec![fstrim_timer()]));
        assert_eq!(efi.check(&RULE), Outcome::default());
    }

    #[test]
    fn unknown_jobs_skip_the_rule() {
        let outcome = host().with(|host| host.jobs = None).check(&RULE);
        assert_eq!(outcome.skipped[0].what, "TRIM006");
    }
}
