//! # TRIM008: discards are accepted above and dropped below
//!
//! ## What it finds
//! A filesystem whose device takes discards while a layer further down does not pass them on: a thin
//! pool with `no_discard_passdown`, a cache with the same word, a linear or RAID device of which one
//! leg refuses discards.
//!
//! ## Why it hurts
//! Everything looks right. `fstrim` reports gigabytes trimmed and exits with 0, and the drives learn
//! nothing: measured on a thin pool without passdown, 573 MiB reported, none freed below. An SSD
//! below decays as if it were never trimmed.
//!
//! ## Evidence
//! `queue/discard_max_bytes` is above 0 at the mounted device and 0 at a layer below; or the
//! device-mapper table says `no_discard_passdown`; or, before Linux 6.10, a thin volume shows
//! `discard_max_hw_bytes` 0 under a `discard_max_bytes` above 0, and its pool takes no discards.
//!
//! ## Remedy
//! - thin pool: `lvchange --discards passdown VG/POOL`, also while it is active
//! - mismatched legs: replace the leg, or make it pass discards as TRIM001 says for its kind
//!
//! ## Risk
//! A trim that used to be quick now reaches the drives: run the first one in a quiet period.
//! Blocks that the pool freed earlier are not discarded retroactively.
//!
//! ## When it is silent
//! Where the leg that refuses is a hard disk or a network disk: there is nothing to trim. Below VDO,
//! which keeps its own map. Where discards were switched off by hand (TRIM009).
//!
//! ## References
//! - lvmthin(7), section Discard; lvchange(8)
//! - Linux kernel: Documentation/admin-guide/device-mapper/thin-provisioning.rst, drivers/md/dm-thin.c

use crate::context::Context;
use crate::discard_path::{self, Cause, Fault};
use crate::discard_remedy::{self, FAULTS_MAX};
use crate::medium;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::volumes::{self, Group};
use crate::{finding, wording};
use facts::{Finding, Host};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM008",
    title: "discards are accepted above and dropped below",
    source: include_str!("trim008.rs"),
    check: Check::Host(Needs::Devices, check),
};

pub(crate) fn check(cx: &Context<'_>, out: &mut Outcome) {
    let mut swallowed = Vec::new();
    for volume in volumes::trimmable(cx) {
        let path = &volume.discards;
        if path.top_accepts == Some(true) && path.faults.is_empty() {
            out.skipped
                .extend(path.skipped(RULE.id, &volume.mount.mount_point));
        }
        let faults: Vec<Fault<'_>> = path
            .faults
            .iter()
            .filter(|fault| fault.swallows && is_reportable(cx.host, fault))
            .cloned()
            .collect();
        swallowed.push((volume, faults));
    }
    for group in volumes::grouped_by_faults(swallowed) {
        out.findings.push(finding(cx.host, &group));
    }
}

fn is_reportable(host: &Host, fault: &Fault<'_>) -> bool {
    match fault.cause {
        Cause::SwitchedOff { .. } | Cause::Blocklisted => false,
        _ => !fault.is_drive || medium::of_drive(&host.platform, fault.device).is_flash(),
    }
}

fn finding(host: &Host, group: &Group<'_, '_, Vec<Fault<'_>>>) -> Finding {
    let volume = group.volume;
    let faults = &group.item;
    let first = &faults[0];
    let severity = medium::severity_of_lost_discards(
        medium::of_stack(&host.platform, &volume.stack),
        group.has_store(),
    );
    let title = discard_remedy::title(faults);
    let mut finding = finding::about_layer(&RULE, severity, volume, first.device, title);
    finding.why = format!(
        "{} `fstrim {}` reports success, so nobody notices that the drives never learn what was \
         freed.",
        discard_remedy::reason(first),
        wording::mount_point(volume)
    );
    finding
        .evidence
        .extend(discard_path::limits_of(volume.stack.top()));
    let listed = || faults.iter().take(FAULTS_MAX);
    let causes = listed().flat_map(discard_path::evidence_of);
    finding.evidence.extend(causes);
    finding.remedy = discard_remedy::of_all(host, volume, listed());
    finding.evidence.extend(wording::medium_evidence(volume));
    finding.evidence.extend(group.others_as_evidence());
    finding.evidence.dedup();
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use facts::Severity;

    fn thin_host(pool_words: &[&str]) -> TestHost {
        let volume = thin("dm-4", "vg-thin", "dm-3");
        let volume = if pool_words.is_empty() {
            volume
        } else {
            with_discard(volume, limits(65536, 17_179_869_184, 0))
        };
        TestHost::new()
            .device(nvme("nvme1n1"))
            .device(lvm_linear("dm-1", "vg-pool_tmeta", &["nvme1n1"]))
            .device(lvm_linear("dm-2", "vg-pool_tdata", &["nvme1n1"]))
            .device(thin_pool(
                "dm-3",
                "vg-pool-tpool",
                "dm-1",
                "dm-2",
                pool_words,
            ))
            .device(volume)
            .mount("/mnt/t", "dm-4", "ext4", "rw")
    }

    #[test]
    fn a_pool_without_passdown_is_named() {
        let outcome = thin_host(&["no_discard_passdown"]).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.device.as_deref(), Some("dm-3"));
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("lvchange --discards passdown vg/pool")
        );
        assert!(finding.evidence.iter().any(|e| {
            e.source == "sys/block/dm-4/queue/discard_max_hw_bytes" && e.value == "0"
        }));
    }

    #[test]
    fn a_healthy_pool_is_silent() {
        assert_eq!(thin_host(&[]).check(&RULE), Outcome::default());
    }

    #[test]
    fn a_flash_member_that_refuses_is_named_and_a_hard_disk_is_not() {
        let array = |member: facts::host::BlockDevice| {
            TestHost::new()
                .devices([nvme("nvme0n1"), member])
                .device(md("md1", "raid1", &["nvme0n1", "sda"]))
                .mount("/data", "md1", "xfs", "rw")
                .elasticsearch("/data/es")
                .check(&RULE)
        };
        let outcome = array(with_discard(sata("sda"), no_discards()));
        assert_eq!(only(&outcome).device.as_deref(), Some("sda"));
        assert_eq!(only(&outcome).severity, Severity::Error);
        assert_eq!(array(hard_disk("sda")).findings, []);
    }

    #[test]
    fn a_member_switched_off_by_hand_is_left_to_trim009() {
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(with_discard(
                nvme("nvme1n1"),
                limits(512, 0, NVME_MAX_BYTES),
            ))
            .device(md("md0", "raid0", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md0", "xfs", "rw")
            .check(&RULE);
        assert_eq!(outcome.findings, []);
    }
}
