//! # TRIM009: discards are switched off by hand
//!
//! ## What it finds
//! A queue below a mounted filesystem whose `discard_max_bytes` is 0 although
//! `discard_max_hw_bytes`, what the device could take, is above 0.
//!
//! ## Why it hurts
//! Somebody, or a udev rule, a tuned profile or rc.local, wrote the 0. Often it was meant for an
//! hour, to end the stalls of a trim. Since then the drive has learned of nothing that was freed.
//! Only device-mapper and Xen disks can get into this state on their own, after a discard has failed.
//!
//! ## Evidence
//! `queue/discard_max_bytes` and `queue/discard_max_hw_bytes` (kernel 4.3 and later).
//!
//! ## Remedy
//! `echo HW_MAX > /sys/block/DEVICE/queue/discard_max_bytes`, and find what writes the 0 at boot:
//! `grep -rs discard_max_bytes /etc /usr/lib/udev /usr/lib/tuned /usr/lib/sysctl.d`
//!
//! Where the granularity reads 0 as well (seen on Linux 6.18), the kernel no longer accepts any
//! other limit: then only a restart, or detaching the drive, helps.
//!
//! ## Risk
//! The reason may still hold. A smaller limit than the hardware's, for example 16777216, keeps
//! single requests short instead of forbidding them.
//!
//! ## When it is silent
//! Before kernel 4.3, which shows no hardware limit. For limits above 0, which only pace.
//!
//! ## References
//! - Linux kernel: `Documentation/ABI/stable/sysfs-block`, `discard_max_bytes` and `discard_max_hw_bytes`

use crate::context::Context;
use crate::discard_path::{self, Cause, Fault};
use crate::medium;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::volumes::{self, Group};
use crate::{discard_remedy, finding, wording};
use facts::{Finding, Host, Remedy};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM009",
    title: "discards are switched off by hand",
    source: include_str!("trim009.rs"),
    check: Check::Host(Needs::Devices, check),
};

pub(crate) fn check(cx: &Context<'_>, out: &mut Outcome) {
    let mut switched_off = Vec::new();
    for volume in volumes::trimmable(cx) {
        let path = &volume.discards;
        let is_switched_off = |fault: &&Fault<'_>| matches!(fault.cause, Cause::SwitchedOff { .. });
        let at_fault = path.faults.iter().filter(is_switched_off);
        let mut faults: Vec<Fault<'_>> = at_fault.cloned().collect();
        if !faults.is_empty() {
            // Layers above show the same if they were set up on top of it. Alone they are no proof:
            // device-mapper sets 0 itself once the drive has refused a discard.
            faults.extend(path.masked_faults.iter().filter(is_switched_off).cloned());
            switched_off.push((volume, faults));
        }
    }
    for group in volumes::grouped_by_faults(switched_off) {
        out.findings.push(finding(cx.host, &group));
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
    let names: Vec<String> = faults
        .iter()
        .map(|fault| discard_remedy::name_of(fault.device))
        .collect();
    let title = format!(
        "discards are switched off by hand on {}",
        wording::list(&names)
    );
    let mut finding = finding::about_layer(&RULE, severity, volume, first.device, title);
    finding.why = format!(
        "{} Until that is undone, what is freed below {} is never discarded, and a trim fails or \
         skips it silently.",
        discard_remedy::reason(first),
        wording::mount_point(volume)
    );
    for fault in faults {
        finding
            .evidence
            .extend(discard_path::limits_of(fault.device));
        if let Cause::SwitchedOff { max_hw_bytes } = fault.cause {
            finding.add_remedy(discard_remedy::switch_on(fault.device, max_hw_bytes));
        }
    }
    discard_remedy::announce_next(&mut finding.remedy);
    finding.evidence.extend(wording::medium_evidence(volume));
    finding.evidence.extend(group.others_as_evidence());
    finding.add_remedy(Remedy::command(
        "Find what writes the 0 at boot, and remove it or set a limit above 0.",
        "grep -rs discard_max_bytes /etc /usr/lib/udev /usr/lib/tuned /usr/lib/sysctl.d",
    ));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use facts::Severity;
    use facts::host::DiscardLimits;

    fn switched_off(name: &str) -> facts::host::BlockDevice {
        with_discard(nvme(name), limits(512, 0, NVME_MAX_BYTES))
    }

    #[test]
    fn the_number_to_write_back_is_given() {
        let outcome = TestHost::new()
            .device(switched_off("nvme0n1"))
            .mount("/mnt/x", "nvme0n1", "xfs", "rw,discard")
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.subject, "/dev/nvme0n1");
        assert_eq!(finding.device.as_deref(), Some("nvme0n1"));
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("echo 2147483136 > /sys/block/nvme0n1/queue/discard_max_bytes")
        );
        assert_eq!(
            finding.remedy[0].undo.as_deref(),
            Some("echo 0 > /sys/block/nvme0n1/queue/discard_max_bytes")
        );
    }

    #[test]
    fn a_member_of_an_array_counts_and_a_store_makes_it_an_error() {
        let outcome = TestHost::new()
            .devices([nvme("nvme0n1"), switched_off("nvme1n1")])
            .device(md("md0", "raid0", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md0", "xfs", "rw")
            .elasticsearch("/data/es")
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.device.as_deref(), Some("nvme1n1"));
    }

    #[test]
    fn layers_set_up_over_it_belong_to_the_same_finding() {
        let outcome = TestHost::new()
            .device(switched_off("nvme0n1"))
            .device(with_discard(
                lvm_linear("dm-0", "vg-lv", &["nvme0n1"]),
                limits(512, 0, NVME_MAX_BYTES),
            ))
            .mount("/data", "dm-0", "xfs", "rw")
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.device.as_deref(), Some("nvme0n1"));
        assert!(
            finding
                .evidence
                .iter()
                .any(|e| e.source == "sys/block/dm-0/queue/discard_max_bytes")
        );
    }

    #[test]
    fn zeros_written_by_drivers_are_not_reported() {
        use facts::host::ProvisioningMode;
        // sd from Linux 6.10 on, after UNMAP failed.
        let disabled = with_discard(
            provisioning(sata("sda"), ProvisioningMode::Disabled),
            limits(512, 0, 2_147_450_880),
        );
        // device-mapper above it, after a discard failed there.
        let outcome = TestHost::new()
            .device(disabled)
            .device(with_discard(
                lvm_linear("dm-0", "vg-lv", &["sda"]),
                limits(512, 0, 2_147_450_880),
            ))
            .mount("/data", "dm-0", "xfs", "rw")
            .check(&RULE);
        assert_eq!(outcome.findings, []);
        // A pool whose data device only takes discards smaller than a block.
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(with_discard(
                thin_pool("dm-3", "vg-pool-tpool", "nvme0n1", "nvme0n1", &[]),
                limits(512, 0, NVME_MAX_BYTES),
            ))
            .device(thin("dm-4", "vg-thin", "dm-3"))
            .mount("/data", "dm-4", "xfs", "rw")
            .check(&RULE);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn the_limit_written_back_is_one_that_kernels_take() {
        let remedy_of = |granularity_bytes, max_hw_bytes| {
            let outcome = TestHost::new()
                .device(with_discard(
                    nvme("nvme0n1"),
                    limits(granularity_bytes, 0, max_hw_bytes),
                ))
                .mount("/data", "nvme0n1", "xfs", "rw")
                .check(&RULE);
            outcome.findings[0].remedy[0].clone()
        };
        let command = |granularity, hw| remedy_of(granularity, hw).command.unwrap_or_default();
        let written = |command: String| -> u64 {
            let word = command.split(' ').nth(1).unwrap_or_default().to_owned();
            word.parse().unwrap()
        };
        // A multiple of the granularity that fits in 32 bits.
        assert_eq!(written(command(512, 2_147_483_136)), 2_147_483_136);
        assert_eq!(written(command(4096, 4_294_966_784)), 4_294_963_200);
        assert_eq!(written(command(512, 2 << 40)), 4_294_966_784);
        // No command if no value is accepted.
        let forgotten = remedy_of(0, 4_294_966_784);
        assert_eq!(forgotten.command, None);
        assert!(forgotten.text.contains("restart the host"));
    }

    #[test]
    fn without_a_hardware_limit_there_is_no_evidence() {
        let old = DiscardLimits {
            max_bytes: Some(0),
            max_hw_bytes: None,
            granularity_bytes: Some(512),
        };
        for limits in [old, no_discards(), limits(512, 16 << 20, NVME_MAX_BYTES)] {
            let outcome = TestHost::new()
                .device(with_discard(nvme("nvme0n1"), limits))
                .mount("/data", "nvme0n1", "xfs", "rw")
                .check(&RULE);
            assert_eq!(outcome.findings, []);
        }
    }
}
