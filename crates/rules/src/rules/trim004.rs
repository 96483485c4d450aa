//! # TRIM004: mounted with `discard` and trimmed periodically as well
//!
//! ## What it finds
//! A filesystem that is mounted with `discard` and also trimmed by a job that runs.
//!
//! ## Why it hurts
//! The work is done twice. Online discard already told the drive what is free; the periodic trim
//! sends all of it again, in one go: XFS and Btrfs keep no record of what was discarded before, ext4
//! keeps one in memory until it is unmounted. So a host that pays for online discard with every
//! deletion still gets the weekly stall. "Never both" is the advice of all who measured it.
//!
//! ## Evidence
//! The mount's options; the job that reaches it, with its command.
//!
//! ## Remedy
//! Keep one. On ext4 and XFS take `discard` out of the mount options (`mount -o remount,nodiscard`
//! on ext4; XFS takes it at the next mount only) and keep the periodic trim at a quiet time. Without
//! a quiet period keep `discard` and give the mount `X-fstrim.notrim` in fstab. On Btrfs keep
//! `discard=async` and leave the mount out of the periodic trim.
//!
//! ## Risk
//! After a change make sure that one of the two remains: TRIM002 reports if neither does.
//!
//! ## When it is silent
//! Where discards are refused by the mounted device; where no active job reaches the mount. Btrfs'
//! `discard=async` (default since 6.2) and F2FS' default discard next to a weekly fstrim are
//! notes, as is any mount without a store's data.
//!
//! ## References
//! fstrim(8), ext4(5), xfs(5), btrfs(5); nixos-hardware#1199, scylla-machine-image#341.

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::trim_jobs::TrimJob;
use crate::trim_state::{OnlineDiscard, online_discard};
use crate::volume::Volume;
use crate::{finding, trim_remedy, trim_state, wording};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM004",
    title: "mounted with `discard` and trimmed periodically as well",
    source: include_str!("trim004.rs"),
    check: Check::Host(Needs::Mounts, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(trims) = cx.trim_jobs_or_skip(RULE.id, out) else {
        return;
    };
    for volume in cx.volumes_in_time() {
        let online = online_discard(volume.mount);
        if online == OnlineDiscard::Off
            || volume.mount.is_read_only()
            || !trim_state::fstrim_works_here(volume)
        {
            continue;
        }
        let reaching = trims.reaching(volume);
        if reaching.is_empty() {
            out.skipped.extend(trims.undecided(RULE.id, volume));
        } else {
            report(cx, volume, online, &reaching, out);
        }
    }
}

fn report(
    cx: &Context<'_>,
    volume: &Volume<'_>,
    online: OnlineDiscard,
    reaching: &[&TrimJob<'_>],
    out: &mut Outcome,
) {
    let severity =
        finding::warning_if(!volume.stores.is_empty() && online != OnlineDiscard::Background);
    let names: Vec<String> = reaching
        .iter()
        .map(|trim| wording::job_name(trim.job))
        .collect();
    let names = wording::list(&names);
    let mut finding = finding::about_volume(
        &RULE,
        severity,
        volume,
        format!("discarded online, and trimmed by {names} as well"),
    );
    finding.why = match (online, volume.mount.fs_type.as_str()) {
        (OnlineDiscard::Background, "btrfs") => format!(
            "Btrfs discards freed space in the background (`discard=async`, the default since 6.2 \
             where a device takes discards). All free space that is allocated to block groups is \
             discarded again at every pass of {names}."
        ),
        (OnlineDiscard::Background, _) => {
            format!(
                "The filesystem discards what it frees by itself, and all free space is \
                discarded again by {names}."
            )
        }
        (_, "ext4") => format!(
            "The mount discards freed space at once, and all free space is discarded once more by \
             {names}: ext4 remembers what was trimmed only until it is unmounted. The work is done \
             twice, and the periodic stall comes on top of the cost of every deletion."
        ),
        _ => format!(
            "The mount discards freed space at once, and every pass of {names} discards all free \
             space again. The work is done twice, and the periodic stall comes on top of the cost \
             of every deletion."
        ),
    };
    finding.evidence.extend(
        reaching
            .iter()
            .flat_map(|trim| trim.evidence())
            .take(wording::EVIDENCE_MAX),
    );
    // WSL mounts its root with `discard` at each start.
    let comes_back = trim_remedy::is_wsl(&cx.host.platform) && volume.mount.mount_point == "/";
    if online != OnlineDiscard::Background && !comes_back {
        finding.add_remedy(trim_remedy::mount_without_discard(cx, volume.mount));
    }
    finding
        .remedy
        .extend(trim_remedy::discard_and_leave_out(cx, volume, reaching));
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, nvme, only, virtio};
    use crate::test_jobs::{LISTED_IN, cron_job, cron_weekly, fstab, fstrim_timer, jobs};
    use facts::Severity;

    fn host(fs_type: &str, options: &str) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", fs_type, options)
            .elasticsearch("/data")
            .with(fstab(&[("/data", "noatime,discard")]))
            .with(jobs(vec![fstrim_timer()]))
    }

    #[test]
    fn both_on_a_stores_mount() {
        let outcome = host("xfs", "rw,discard").check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "discarded online, and trimmed by fstrim.timer as well"
        );
        assert!(finding.evidence.iter().any(|e| e.value == LISTED_IN));
        // XFS does not accept nodiscard in a remount.
        let drop = &finding.remedy[0];
        assert!(!drop.command.as_deref().unwrap_or("").contains("remount"));
        let outcome = host("ext4", "rw,discard").check(&RULE);
        let command = only(&outcome).remedy[0].command.as_deref().expect("one");
        assert!(
            command.contains("mount -o remount,nodiscard /data"),
            "{command}"
        );
        assert!(
            command.contains("1s/,discard[=a-z]*"),
            "fstab's line 1: {command}"
        );
    }

    #[test]
    fn btrfs_async_and_mounts_without_a_store_are_informations() {
        let outcome = host("btrfs", "rw,discard=async").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        let outcome = TestHost::new()
            .device(virtio("vda"))
            .mount("/", "vda", "ext4", "rw,discard")
            .with(jobs(vec![fstrim_timer()]))
            .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn one_of_the_two_is_silent() {
        assert_eq!(host("xfs", "rw").check(&RULE), Outcome::default());
        let no_job = host("xfs", "rw,discard").with(jobs(Vec::new()));
        assert_eq!(no_job.check(&RULE), Outcome::default());
        let left_out =
            host("xfs", "rw,discard").with(fstab(&[("/data", "discard,X-fstrim.notrim")]));
        assert_eq!(left_out.check(&RULE), Outcome::default());
        let elsewhere = host("xfs", "rw,discard").with(jobs(vec![cron_job(
            "/etc/cron.d/x:1",
            "0 3 * * *",
            "fstrim /srv",
        )]));
        assert_eq!(elsewhere.check(&RULE), Outcome::default());
    }

    #[test]
    fn unknown_targets_are_skipped() {
        let outcome = host("xfs", "rw,discard")
            .with(|host| host.jobs = None)
            .check(&RULE);
        assert_eq!(outcome.skipped[0].what, "TRIM004");
        let outcome = host("xfs", "rw,discard")
            .with(jobs(vec![cron_weekly("trim", "fstrim $fs")]))
            .check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped[0].what, "TRIM004 on /data");
    }
}
