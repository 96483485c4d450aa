//! # TRIM002: a store's data on flash that nothing ever trims
//!
//! ## What it finds
//! A filesystem that holds a store's data, lies on flash and takes discards, but is mounted without
//! `discard`, and no job of this host trims it.
//!
//! ## Why it hurts
//! A filesystem that deletes a file only notes that its blocks are free; the drive is not told.
//! Every merged segment and every dropped collection stays valid data for the drive, and its garbage
//! collection goes on copying it. The less the drive believes to be free, the more it copies for
//! each write: throughput falls from day to day, and the flash wears faster. Nightly benchmarks of
//! Elasticsearch on two striped SSDs showed this as a sawtooth that recovered with each weekly trim,
//! and as a flat line once the trim ran daily.
//!
//! ## Evidence
//! The mount's options without `discard`; the drives' models; each trim job with the reason why it
//! does not count here.
//!
//! ## Remedy
//! `trimtab plan --apply /data` gives it a job for `trimtab trim`, which discards in small steps and waits
//! while the drives are busy: a timer of systemd, or a line of cron. Its slot is away from other heavy jobs
//! of the host. Or fstrim at a quiet time, in a file or a timer with `quiet-time` in its name (TRIM007).
//! Without a quiet period, `discard` in fstab, after a test. In a container, have the host's administrator trim;
//! for a Kubernetes volume, the storage system; in WSL, trim by hand; on NixOS, add the job to the configuration.
//!
//! ## Risk
//! The first pass after a long time has all free space to discard. With `trimtab trim`, what does not
//! fit into one window is resumed in the next; with fstrim, reads and writes stall meanwhile.
//!
//! ## When it is silent
//! Where discards are lost on the way (TRIM001, TRIM008); where a trim timer is only switched off
//! (TRIM003), or one that runs passes this mount by (TRIM006); where it is unknown whether flash is
//! below (of a cached device, the drives that hold the data count); on read-only mounts; on VDO; on Elastic Cloud Enterprise hosts (TRIM010). Where a job's
//! script computes what it trims, this rule is skipped for what it may trim. A timer that is masked
//! does not silence it: whoever masked it did not want that timer, but the drives decay all the
//! same. TRIM003 then reports the mask as a note.
//!
//! ## References
//! fstrim(8); Elastic, "Is your Elasticsearch trimmed?" (2016).

use crate::context::Context;
use crate::outcome::Outcome;
use crate::quiet_slot::QuietTimes;
use crate::rule::{Check, Needs, Rule};
use crate::trim_jobs::{Reach, TrimJobs};
use crate::volume::Volume;
use crate::{finding, trim_remedy, trim_state, wording};
use facts::{Evidence, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM002",
    title: "a store's data on flash that nothing ever trims",
    source: include_str!("trim002.rs"),
    check: Check::Host(Needs::Devices, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(trims) = cx.trim_jobs_or_skip(RULE.id, out) else {
        return;
    };
    let times = QuietTimes::of(cx);
    for volume in cx.volumes_in_time() {
        if !trims.may_be_trimmed(volume) {
            out.skipped
                .extend(trim_state::decay_unknown(cx, volume, RULE.id));
        }
        if volume.stores.is_empty() || !trim_state::decays_without_trim(cx, volume) {
            continue;
        }
        check_volume(cx, trims, &times, volume, out);
    }
}

fn check_volume(
    cx: &Context<'_>,
    trims: &TrimJobs<'_>,
    times: &QuietTimes<'_, '_>,
    volume: &Volume<'_>,
    out: &mut Outcome,
) {
    let mut misses: Vec<Evidence> = Vec::new();
    let mut is_trim006 = false;
    for trim in &trims.jobs {
        let active = trim.job.is_active();
        match trims.reach(trim, volume) {
            Reach::Reached if active => return,
            // TRIM003 describes the remedy.
            Reach::Reached if trim_state::is_switched_off(cx, trim.job) => return,
            Reach::Reached => misses.push(Evidence::new(
                &trim.job.defined_in,
                format!(
                    "does not run here: {}",
                    trim_state::why_inactive(cx, trim.job)
                ),
            )),
            Reach::Unknown(_) => {}
            // TRIM006 explains why the job for all mounts misses this one.
            Reach::Missed(_) if active && trim.is_for_all() => is_trim006 = true,
            Reach::Missed(miss) => misses.push(Evidence::new(
                &trim.job.defined_in,
                format!("does not trim it: {}", miss.reason()),
            )),
        }
    }
    if let Some(undecided) = trims.undecided(RULE.id, volume) {
        out.skipped.push(undecided);
        return;
    }
    if is_trim006 {
        return;
    }
    let mount_point = wording::mount_point(volume);
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Warning,
        volume,
        format!(
            "{} is on flash that nothing trims",
            wording::data_of(volume)
        ),
    );
    finding.why = format!(
        "{mount_point} takes discards, but it is mounted without `discard`, and no job of this \
         host trims it. For the drives, what the store deletes is still valid data, and their \
         garbage collection keeps copying it: writes get slower from day to day."
    );
    finding.evidence.extend(wording::medium_evidence(volume));
    if misses.is_empty() {
        misses.push(Evidence::new("trim jobs of this host", "none"));
    }
    misses.truncate(wording::EVIDENCE_MAX);
    finding.evidence.extend(misses);
    let slot = times.weekly();
    let own = [volume.mount.mount_point.as_str()];
    if let Some(remedy) = trim_remedy::elsewhere(&cx.host.platform, &own, slot) {
        finding.add_remedy(remedy);
        out.findings.push(finding);
        return;
    }
    finding.add_remedy(if trim_state::discards_online(cx.host, volume.mount) {
        // fstab says it, and the next mount does it.
        trim_remedy::paced_without_discard(cx, volume.mount, false)
    } else {
        trim_remedy::trim_mounts(cx, &[&volume.mount.mount_point])
    });
    finding.add_remedy(trim_remedy::fstrim_at_quiet_time(cx, volume.mount, slot));
    finding
        .remedy
        .extend(trim_remedy::mount_with_discard(cx, volume));
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, crypt, md, nvme, only, sata, virtio};
    use crate::test_jobs::{cron_job, cron_weekly, fstab, fstrim_timer, jobs, with_state};
    use facts::host::{DeviceKind, EnabledState};

    /// A drive of which nothing tells whether it is flash is neither found nor passed over.
    #[test]
    fn a_drive_of_unknown_kind_is_told() {
        let skipped = |rotational, list: Vec<facts::host::Job>| {
            let mut drive = sata("sda");
            drive.rotational = rotational;
            if let DeviceKind::Scsi { model, .. } = &mut drive.kind {
                *model = Some("MZ7LH960".to_owned());
            }
            let host = TestHost::new()
                .device(drive)
                .mount("/data", "sda", "xfs", "rw,noatime")
                .elasticsearch("/data/es")
                .with(jobs(list));
            let outcome = host.check(&RULE);
            let skipped = outcome.skipped.iter();
            let skipped: Vec<String> = skipped
                .map(|skip| format!("{}: {}", skip.what, skip.why))
                .collect();
            (skipped, outcome.findings.len())
        };
        let told = "TRIM002 on /data: whether sda is flash is unknown".to_owned();
        assert_eq!(skipped(None, Vec::new()), (vec![told], 0));
        assert_eq!(skipped(Some(false), Vec::new()), (Vec::new(), 1));
        // A job trims it, whatever it is.
        assert_eq!(skipped(None, vec![fstrim_timer()]), (Vec::new(), 0));
    }

    fn untrimmed() -> TestHost {
        TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md0", "raid0", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md0", "xfs", "rw,noatime")
            .elasticsearch("/data/es")
    }

    #[test]
    fn without_any_trim_job_it_decays() {
        let outcome = untrimmed().check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.mount_point.as_deref(), Some("/data"));
        assert_eq!(finding.device.as_deref(), Some("md0"));
        assert_eq!(
            finding.title,
            "Elasticsearch's data is on flash that nothing trims"
        );
        let command = finding.remedy[0].command.as_deref();
        assert_eq!(command, Some("trimtab plan --apply /data"));
    }

    #[test]
    fn a_job_that_reaches_it_is_enough() {
        for job in [
            fstrim_timer(),
            cron_weekly("fstrim", "fstrim --all"),
            cron_job("/etc/cron.d/x:1", "0 3 * * *", "fstrim /data/es"),
            cron_job("/etc/cron.d/x:1", "0 3 * * *", "trimtab trim /data"),
        ] {
            let outcome = untrimmed().with(jobs(vec![job])).check(&RULE);
            assert_eq!(outcome, Outcome::default());
        }
    }

    #[test]
    fn a_job_for_another_mount_is_none() {
        let outcome = untrimmed()
            .with(jobs(vec![cron_job(
                "/etc/cron.d/x:1",
                "0 3 * * *",
                "fstrim /srv",
            )]))
            .check(&RULE);
        let finding = only(&outcome);
        assert!(
            finding
                .evidence
                .iter()
                .any(|e| e.source == "etc/cron.d/x:1" && e.value.contains("other mount points"))
        );
    }

    #[test]
    fn cases_of_other_rules_are_left_to_them() {
        let off = with_state(fstrim_timer(), EnabledState::Disabled, Some(false));
        assert_eq!(
            untrimmed().with(jobs(vec![off])).check(&RULE),
            Outcome::default(),
            "TRIM003"
        );
        let outcome = untrimmed()
            .with(fstab(&[("/", "defaults")]))
            .with(jobs(vec![fstrim_timer()]))
            .check(&RULE);
        assert_eq!(outcome, Outcome::default(), "TRIM006");
        let lost = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "data", "nvme0n1", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .elasticsearch("/data");
        assert_eq!(lost.check(&RULE), Outcome::default(), "TRIM001");
        let cloud = untrimmed()
            .with(|host| host.platform.elastic_cloud_enterprise = Some("/mnt/data/elastic".into()));
        assert_eq!(cloud.check(&RULE), Outcome::default(), "TRIM010");
    }

    #[test]
    fn a_masked_timer_does_not_count_as_a_trim() {
        let masked = with_state(fstrim_timer(), EnabledState::Masked, Some(false));
        let outcome = untrimmed().with(jobs(vec![masked.clone()])).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding
                .evidence
                .iter()
                .any(|e| e.value == "does not run here: the timer is masked")
        );
        // The mask hides what it would run.
        let mut empty = masked;
        empty.commands.clear();
        let outcome = untrimmed().with(jobs(vec![empty])).check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Warning);
    }

    #[test]
    fn a_disabled_timer_that_would_not_reach_it_explains_nothing() {
        let off = with_state(fstrim_timer(), EnabledState::Disabled, Some(false));
        let outcome = untrimmed()
            .with(fstab(&[("/", "defaults")]))
            .with(jobs(vec![off]))
            .check(&RULE);
        let finding = only(&outcome);
        assert!(finding.evidence.iter().any(|e| e.value.contains("fstab")));
    }

    #[test]
    fn silent_without_a_store_without_flash_and_with_online_discard() {
        let no_store = untrimmed().with(|host| host.stores.clear());
        assert_eq!(no_store.check(&RULE), Outcome::default());
        let virtual_disk = TestHost::new()
            .device(virtio("vda"))
            .mount("/data", "vda", "xfs", "rw")
            .elasticsearch("/data");
        assert_eq!(virtual_disk.check(&RULE), Outcome::default());
        let online = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "btrfs", "rw,discard=async")
            .elasticsearch("/data");
        assert_eq!(online.check(&RULE), Outcome::default());
    }

    #[test]
    fn unknown_jobs_skip_the_rule_and_a_computed_target_skips_the_mount() {
        let outcome = untrimmed().with(|host| host.jobs = None).check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped[0].what, "TRIM002");
        let script = cron_weekly("trim", "fstrim $fs");
        let outcome = untrimmed().with(jobs(vec![script])).check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped[0].what, "TRIM002 on /data");
        // Also next to a job for all mounts that misses it: TRIM006 is silent then.
        let script = cron_weekly("trim", "fstrim $fs");
        let outcome = untrimmed()
            .with(fstab(&[("/", "defaults")]))
            .with(jobs(vec![fstrim_timer(), script]))
            .check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped[0].what, "TRIM002 on /data");
    }
}
