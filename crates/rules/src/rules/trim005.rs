//! # TRIM005: trimmed by online discard only
//!
//! ## What it finds
//! A filesystem that is mounted with `discard` and that no periodic job trims.
//!
//! ## Why it hurts
//! The drive is told of free space at once, so nothing decays. But each deletion of much data, a
//! merged segment or a dropped index, sends its discards in the middle of the load. Recent ext4 and
//! XFS send them after the commit rather than within it, and drives with queued TRIM handle them alongside
//! reads and writes; there it is usually fine. SATA before 3.1 has no queued TRIM, and libata's list
//! takes it away from drives that claim it falsely: each discard waits until the drive's queue is
//! empty and holds up all that comes after. There a periodic trim in a quiet period is better.
//!
//! ## Evidence
//! The mount's options; libata's `trim` attribute of each SATA drive below.
//!
//! ## Remedy
//! Where TRIM is not queued: `mount -o remount,nodiscard` (XFS: at the next mount), and a paced trim by
//! `trimtab plan --apply /data`. Else nothing has to be done.
//!
//! ## Risk
//! Use exactly one of the two: not both (TRIM004), not neither (TRIM002).
//!
//! ## When it is silent
//! Btrfs' `discard=async` and F2FS, which discard in the background, unless a drive's TRIM is not
//! queued; where fstab says `discard`, so that somebody chose it, and every drive's TRIM is queued;
//! where discards are lost on the way (TRIM001); where a job trims the mount, too (TRIM004).
//! A warning only where a store's data lies on drives whose TRIM is not queued.
//!
//! ## References
//! ext4(5), xfs(5), btrfs(5); Linux, drivers/ata/libata-core.c (`ATA_QUIRK_NO_NCQ_TRIM`);
//! Documentation/ABI/testing/sysfs-ata (`trim`).

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::trim_jobs::{TrimJobs, has_option};
use crate::trim_state::{OnlineDiscard, online_discard, unqueued_trim};
use crate::volume::Volume;
use crate::{discard_path, finding, fstab_edit, shell, trim_remedy, wording};
use facts::host::{BlockDevice, DeviceKind};
use facts::{Evidence, Remedy};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM005",
    title: "trimmed by online discard only",
    source: include_str!("trim005.rs"),
    check: Check::Host(Needs::Mounts, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    // Unknown jobs do not prevent a finding: online discard is certain, and the text states what is
    // unknown.
    let trims = cx.trim_jobs();
    for volume in cx.volumes_in_time() {
        let online = online_discard(volume.mount);
        if online == OnlineDiscard::Off
            || volume.mount.is_read_only()
            || volume.discards.reaches_drives() == Some(false)
        {
            continue;
        }
        let is_trimmed = trims.is_some_and(|trims| !trims.reaching(volume).is_empty());
        let unqueued: Vec<(&BlockDevice, &'static str)> = volume
            .stack
            .data_drives()
            .filter_map(|drive| Some((drive, unqueued_trim(drive)?)))
            .collect();
        let is_chosen = fstab_edit::entry_of(cx.host, volume.mount)
            .is_some_and(|entry| has_option(entry, "discard"));
        let is_harmless = online == OnlineDiscard::Background || is_chosen;
        if is_trimmed || (is_harmless && unqueued.is_empty()) {
            continue;
        }
        report(cx, trims, volume, &unqueued, out);
    }
}

fn trim_attribute(drive: &BlockDevice) -> String {
    let ata_device = match &drive.kind {
        DeviceKind::Scsi { ata_device, .. } => ata_device.as_deref(),
        _ => None,
    };
    discard_path::trim_attribute(ata_device)
}

fn report(
    cx: &Context<'_>,
    trims: Option<&TrimJobs<'_>>,
    volume: &Volume<'_>,
    unqueued: &[(&BlockDevice, &'static str)],
    out: &mut Outcome,
) {
    let severity = finding::warning_if(!unqueued.is_empty() && !volume.stores.is_empty());
    let title = match (unqueued.is_empty(), trims) {
        (false, _) => "mounted with `discard` on drives whose TRIM is not queued",
        (true, Some(_)) => "trimmed by online discard only",
        (true, None) => "mounted with `discard`",
    };
    let mut finding = finding::about_volume(&RULE, severity, volume, title);
    if let [(drive, _), ..] = unqueued {
        finding.device = Some(drive.name.clone());
    }
    finding.why = why(volume, trims, unqueued);
    finding.evidence.extend(
        unqueued
            .iter()
            .take(wording::EVIDENCE_MAX)
            .map(|(drive, word)| {
                Evidence::new(trim_attribute(drive), format!("{word} ({})", drive.name))
            }),
    );
    if unqueued.is_empty() {
        finding.add_remedy(Remedy::advice(
            "Nothing to do while latencies are good. If large deletions show up as latency spikes, \
             a periodic trim in a quiet period is better; then mount without `discard`.",
        ));
    } else {
        finding.add_remedy(trim_remedy::paced_without_discard(cx, volume.mount, false));
    }
    out.findings.push(finding);
}

fn why(
    volume: &Volume<'_>,
    trims: Option<&TrimJobs<'_>>,
    unqueued: &[(&BlockDevice, &'static str)],
) -> String {
    let mut why = if unqueued.is_empty() {
        match volume.mount.fs_type.as_str() {
            "xfs" => {
                "Recent XFS sends discards after its log commit, so deletions do not wait for \
                 them, but the freed space stays locked until they are done. "
            }
            "btrfs" => {
                "Plain `discard` makes Btrfs discard with each transaction; `discard=async` gathers \
                 them and limits their rate. "
            }
            _ => {
                "The filesystem sends its discards after each commit: large deletions send many at \
                 once, in the middle of the load. "
            }
        }
        .to_owned()
            + "This is usually fine on drives with queued TRIM."
    } else {
        let drives: Vec<String> = unqueued
            .iter()
            .map(|(drive, _)| shell::printable(&drive.dev_path()))
            .collect();
        let listed = if unqueued.iter().any(|(_, word)| *word == "forced_unqueued") {
            " (libata's list takes queued TRIM away from drives that claim it falsely)"
        } else {
            ""
        };
        format!(
            "{} cannot queue TRIM{listed}: each discard waits until the drive's queue is empty, and \
             all reads and writes behind it wait, too. With `discard` that happens at every \
             deletion.",
            wording::list(&drives)
        )
    };
    let may = trims.is_some_and(|trims| trims.may_be_trimmed(volume));
    if trims.is_none() {
        why.push_str(
            " Make sure that no periodic trim runs as well: the jobs of this host are not known, so \
             trimtab could not check.",
        );
    } else if may {
        why.push_str(" A job may trim it as well: make sure that none does.");
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, crypt, md, nvme, only, sata};
    use crate::test_jobs::{fstrim_timer, jobs};
    use facts::Severity;
    use facts::host::AtaTrim;

    fn sata_with(trim: AtaTrim) -> BlockDevice {
        let mut drive = sata("sda");
        if let DeviceKind::Scsi { ata_trim, .. } = &mut drive.kind {
            *ata_trim = Some(trim);
        }
        drive
    }

    fn on_sata(trim: AtaTrim, fs_type: &str, options: &str) -> TestHost {
        TestHost::new()
            .device(sata_with(trim))
            .mount("/data", "sda", fs_type, options)
            .elasticsearch("/data")
    }

    #[test]
    fn xfs_on_striped_nvme_with_unknown_jobs() {
        let outcome = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md0", "raid0", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md0", "xfs", "rw,discard")
            .with(|host| host.jobs = None)
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.title, "mounted with `discard`");
        assert!(finding.why.contains("are not known"), "{}", finding.why);
        assert_eq!(outcome.skipped, []);
    }

    #[test]
    fn unqueued_trim_is_a_warning() {
        for (trim, word) in [
            (AtaTrim::Unqueued, "unqueued (sda)"),
            (AtaTrim::ForcedUnqueued, "forced_unqueued (sda)"),
        ] {
            let outcome = on_sata(trim, "ext4", "rw,discard").check(&RULE);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Warning);
            assert_eq!(finding.device.as_deref(), Some("sda"));
            assert!(finding.evidence.iter().any(|e| e.value == word));
        }
        // Btrfs in the background waits for the same queue.
        let outcome = on_sata(AtaTrim::Unqueued, "btrfs", "rw,discard=async").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Warning);
        let no_store = on_sata(AtaTrim::Unqueued, "ext4", "rw,discard")
            .with(|host| host.stores.clear())
            .check(&RULE);
        assert_eq!(only(&no_store).severity, Severity::Info);
    }

    #[test]
    fn queued_trim_is_an_information_and_btrfs_async_is_fine() {
        let outcome = on_sata(AtaTrim::Queued, "ext4", "rw,discard").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        let outcome = on_sata(AtaTrim::Queued, "btrfs", "rw,discard=async").check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn silent_if_another_rule_applies() {
        let both =
            on_sata(AtaTrim::Unqueued, "ext4", "rw,discard").with(jobs(vec![fstrim_timer()]));
        assert_eq!(both.check(&RULE), Outcome::default(), "TRIM004");
        let lost = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "data", "nvme0n1", false))
            .mount("/data", "dm-0", "ext4", "rw,discard");
        assert_eq!(lost.check(&RULE), Outcome::default(), "TRIM001");
        let off = on_sata(AtaTrim::Unqueued, "ext4", "rw");
        assert_eq!(off.check(&RULE), Outcome::default());
    }
}
