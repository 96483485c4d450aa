//! # TRIM001: discards are lost in the stack
//!
//! ## What it finds
//! A mounted filesystem whose discards end before they reach the drives, because a layer refuses
//! them: dm-crypt opened without `allow_discards`, RAID 4/5/6, a thin pool that ignores discards, a
//! SCSI disk whose `provisioning_mode` is `full` or `disabled`, a USB bridge, virtio-blk without
//! discard. The layer at fault is named: the one that refuses although everything below it takes
//! discards, or the drive itself.
//!
//! ## Why it hurts
//! An SSD that never learns what is free keeps moving dead data along. Its spare space shrinks to
//! what the maker reserved, write amplification rises, and throughput sinks for
//! weeks without any query to blame. Nothing complains: `fstrim --all` and fstrim.timer pass over
//! such filesystems in silence, and `mount -o discard` succeeds without effect.
//!
//! It is an error where a store's data lies on drives that are certainly flash, a warning where the
//! medium or the use is not certain, a note for virtual disks, USB disks and memory cards
//! without a store.
//!
//! ## Evidence
//! `queue/discard_max_bytes` is 0 at that layer and above 0 below it. `discard_granularity` proves
//! nothing: RAID 5 shows 262144 and takes no discards. The reason comes from the device-mapper table
//! (root only), the md level, `provisioning_mode`, or `ata_device/*/trim`.
//!
//! ## Remedy
//! - dm-crypt, LUKS2: `cryptsetup refresh --allow-discards --persistent NAME`
//! - dm-crypt, LUKS1: `cryptsetup refresh --allow-discards NAME`, and `discard` in /etc/crypttab
//! - RAID 4/5/6: `options raid456 devices_handle_discard_safely=Y` in /etc/modprobe.d, and assemble
//!   the array again; only if every drive returns zeroes from discarded blocks
//! - thin pool: `lvchange --discards passdown VG/POOL` while the pool is inactive
//! - SCSI and USB: `echo unmap | tee /sys/block/DISK/device/scsi_disk/*/provisioning_mode`, only if
//!   `sg_vpd --page=lbpv` shows LBPU=1, and a udev rule for the next boot
//! - virtual disk: the host's administrator sets `discard=unmap`
//!
//! Layers above compute their limits when they are set up: refresh or activate them again.
//!
//! ## Risk
//! Discards through dm-crypt show which blocks are free. Parity RAID over drives that do not return
//! zeroes corrupts data at the next rebuild. The first trim afterwards is long: run it in a quiet
//! period.
//!
//! ## When it is silent
//! Where there is nothing to trim: hard disks, network disks and a cloud's virtual disks that take no
//! discards, read-only filesystems. Where discards were switched off by hand (TRIM009), where the kernel
//! blocklists the drive's firmware (TRIM010), where a layer takes discards and swallows them (TRIM008).
//!
//! ## References
//! - cryptsetup-refresh(8), crypttab(5), lvmthin(7), fstrim(8), `sg_vpd`(8)
//! - Linux kernel: `Documentation/ABI/stable/sysfs-block`, `drivers/md/raid5.c`, `drivers/scsi/sd.c`
//! - Arch Linux wiki: Solid state drive; dm-crypt/Specialties, discard/TRIM support

use crate::context::Context;
use crate::discard_path::{self, Cause, Fault};
use crate::discard_remedy::{self, FAULTS_MAX};
use crate::medium::{self, Drive, Place};
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::volume::Volume;
use crate::volumes::{self, Group};
use crate::{finding, wording};
use facts::host::{BlockDevice, DeviceKind};
use facts::{Evidence, Finding, Host, Severity, Stack};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM001",
    title: "discards are lost in the stack",
    source: include_str!("trim001.rs"),
    check: Check::Host(Needs::Devices, check),
};

pub(crate) fn check(cx: &Context<'_>, out: &mut Outcome) {
    let mut refused = Vec::new();
    for volume in volumes::trimmable(cx) {
        let path = &volume.discards;
        if path.faults.is_empty() {
            out.skipped
                .extend(path.skipped(RULE.id, &volume.mount.mount_point));
            continue;
        }
        let faults: Vec<Fault<'_>> = path
            .faults
            .iter()
            .filter(|fault| !fault.swallows && is_reportable(cx.host, &volume.stack, fault))
            .cloned()
            .collect();
        refused.push((volume, faults));
    }
    for group in volumes::grouped_by_faults(refused) {
        out.findings.push(finding(cx.host, &group));
    }
}

/// Whether there is something to trim behind this fault, and no other rule covers it.
fn is_reportable(host: &Host, stack: &Stack<'_>, fault: &Fault<'_>) -> bool {
    match fault.cause {
        Cause::SwitchedOff { .. } | Cause::Blocklisted => return false,
        _ if !fault.is_drive => return true,
        _ => {}
    }
    let platform = &host.platform;
    let drive = medium::of_drive(platform, fault.device);
    drive.is_flash()
        || match drive.place {
            // A cloud's virtual disks are the provider's responsibility.
            Place::Virtual => platform.cloud.is_none(),
            Place::Usb => true,
            Place::Network => false,
            // A single hard disk below dm makes the whole volume refuse, including any flash next
            // to it.
            Place::Local | Place::InstanceStore => has_flash_that_takes(host, stack),
        }
}

fn has_flash_that_takes(host: &Host, stack: &Stack<'_>) -> bool {
    stack.data_drives().any(|leaf| {
        medium::of_drive(&host.platform, leaf).is_flash()
            && discard_path::takes_discards(leaf) == Some(true)
    })
}

fn finding(host: &Host, group: &Group<'_, '_, Vec<Fault<'_>>>) -> Finding {
    let volume = group.volume;
    let faults = &group.item;
    let masked = &volume.discards.masked_faults;
    let first = &faults[0];
    // Backup disks and memory cards: usually nothing can be done about them.
    let is_pluggable = |leaf: &BlockDevice| {
        leaf.kind == DeviceKind::Mmc || medium::of_drive(&host.platform, leaf).place == Place::Usb
    };
    let severity = if !group.has_store() && volume.stack.data_drives().all(is_pluggable) {
        Severity::Info
    } else {
        medium::severity_of_lost_discards(
            medium::of_stack(&host.platform, &volume.stack),
            group.has_store(),
        )
    };
    let title = discard_remedy::title(faults);
    let mut finding = finding::about_layer(&RULE, severity, volume, first.device, title);
    finding.why = why(host, volume, first, masked);
    for fault in faults.iter().take(FAULTS_MAX) {
        finding.evidence.extend(discard_path::evidence_of(fault));
    }
    if first.cause == Cause::ParityRaid || first.cause == Cause::DmParityRaid {
        finding
            .evidence
            .extend(host.raid456_discards_safe.map(|safe| {
                Evidence::new(
                    "sys/module/raid456/parameters/devices_handle_discard_safely",
                    if safe { "Y" } else { "N" },
                )
            }));
    }
    finding.evidence.extend(taking_below(volume, first));
    finding.evidence.extend(wording::medium_evidence(volume));
    finding.evidence.extend(group.others_as_evidence());
    finding.evidence.dedup();
    let both = faults.iter().take(FAULTS_MAX);
    let both = both.chain(masked.iter().take(FAULTS_MAX));
    finding.remedy = discard_remedy::of_all(host, volume, both);
    finding
}

/// Explains what is below the layer at fault, and the consequences.
fn why(host: &Host, volume: &Volume<'_>, fault: &Fault<'_>, masked: &[Fault<'_>]) -> String {
    let platform = &host.platform;
    let drives: Vec<Drive> = volume
        .stack
        .data_drives()
        .map(|leaf| medium::of_drive(platform, leaf))
        .collect();
    let effect = if drives.iter().any(|drive| drive.is_flash()) {
        format!(
            "The drives below {} never learn what was freed: their garbage collection keeps \
             copying dead data, so they wear faster and write slower.",
            wording::data_of(volume)
        )
    } else {
        "What is freed stays allocated below; if the storage behind is flash, it gets slower as \
         well."
            .to_owned()
    };
    let mut why = format!(
        "{} {effect} `fstrim --all` and fstrim.timer skip it silently.",
        discard_remedy::reason(fault)
    );
    if !masked.is_empty() {
        let names: Vec<String> = masked
            .iter()
            .map(|fault| discard_remedy::name_of(fault.device))
            .collect();
        why.push_str(" Other layers above it also refuse discards, for their own reasons: ");
        why.push_str(&wording::list(&names));
        why.push_str(" too.");
    }
    why
}

/// Returns evidence that the layers below take discards, which is half of the proof.
fn taking_below(volume: &Volume<'_>, fault: &Fault<'_>) -> Vec<Evidence> {
    const SHOWN_MAX: usize = 4;
    let layers = &volume.stack.layers;
    let Some(at) = layers
        .iter()
        .position(|layer| layer.device.name == fault.device.name)
    else {
        return Vec::new();
    };
    let depth = layers[at].depth;
    layers[at + 1..]
        .iter()
        .take_while(|layer| layer.depth > depth)
        .filter(|layer| layer.is_leaf)
        .take(SHOWN_MAX)
        .flat_map(|layer| discard_path::limits_of(layer.device).into_iter().take(1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use facts::host::{Cloud, DiscardLimits, ProvisioningMode, ScsiTransport};

    fn encrypted() -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .device(partition("nvme0n1p2", "nvme0n1"))
            .device(crypt("dm-0", "c0", "nvme0n1p2", false))
            .mount("/data", "dm-0", "xfs", "rw,relatime")
    }

    #[test]
    fn dm_crypt_is_named_with_its_fix() {
        let outcome = encrypted().check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.device.as_deref(), Some("dm-0"));
        assert_eq!(finding.subject, "/dev/mapper/c0");
        assert_eq!(finding.mount_point.as_deref(), Some("/data"));
        assert_eq!(
            finding.title,
            "dm-crypt volume /dev/mapper/c0 (dm-0) drops every discard"
        );
        let has = |source: &str, value: &str| {
            finding
                .evidence
                .iter()
                .any(|e| e.source == source && e.value == value)
        };
        assert!(has("sys/block/dm-0/queue/discard_max_bytes", "0"));
        assert!(has(
            "sys/block/nvme0n1/queue/discard_max_bytes",
            "2147483136"
        ));
        assert!(has("dmsetup table c0", "crypt, without allow_discards"));
        assert!(
            finding.remedy[0]
                .command
                .as_deref()
                .is_some_and(|c| c.starts_with("cryptsetup refresh"))
        );
    }

    #[test]
    fn a_store_on_certain_flash_makes_it_an_error() {
        let outcome = encrypted().elasticsearch("/data/es").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Error);
        // The same above a virtual disk, where the medium is not certain.
        let outcome = TestHost::new()
            .device(virtio("vda"))
            .device(crypt("dm-0", "c0", "vda", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .elasticsearch("/data/es")
            .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Warning);
    }

    #[test]
    fn without_root_the_limits_are_enough() {
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(without_table(crypt("dm-0", "c0", "nvme0n1", false)))
            .mount("/data", "dm-0", "xfs", "rw")
            .check(&RULE);
        let finding = only(&outcome);
        assert!(finding.why.contains("needs root"), "{}", finding.why);
        assert!(
            !finding
                .evidence
                .iter()
                .any(|e| e.source.starts_with("dmsetup"))
        );
    }

    #[test]
    fn raid5_is_named() {
        let outcome = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1"), nvme("nvme2n1")])
            .device(md("md5", "raid5", &["nvme0n1", "nvme1n1", "nvme2n1"]))
            .mount("/mnt/x", "md5", "xfs", "rw,relatime")
            .with(|host| host.raid456_discards_safe = Some(false))
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.device.as_deref(), Some("md5"));
        assert_eq!(finding.title, "RAID5 /dev/md5 drops every discard");
        assert!(finding.evidence.contains(&Evidence::new(
            "sys/module/raid456/parameters/devices_handle_discard_safely",
            "N"
        )));
    }

    #[test]
    fn one_faulty_layer_below_many_mounts_is_one_finding() {
        let lv = |name, dm_name| with_discard(lvm_linear(name, dm_name, &["dm-0"]), no_discards());
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "c0", "nvme0n1", false))
            .device(lv("dm-1", "vg-root"))
            .device(lv("dm-2", "vg-data"))
            .mount("/", "dm-1", "ext4", "rw")
            .mount("/data", "dm-2", "xfs", "rw")
            .elasticsearch("/data/es")
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.mount_point.as_deref(), Some("/data"));
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.evidence.iter().any(|e| e.value == "/"));
    }

    #[test]
    fn nothing_to_trim_is_no_finding() {
        let ebs = with_discard(
            nvme_model("nvme1n1", "Amazon Elastic Block Store"),
            no_discards(),
        );
        let outcome = TestHost::new()
            .devices([hard_disk("sda"), ebs])
            .device(with_discard(
                crypt("dm-0", "c0", "sda", false),
                no_discards(),
            ))
            .mount("/data", "dm-0", "xfs", "rw")
            .mount("/ebs", "nvme1n1", "xfs", "rw")
            .elasticsearch("/data/es")
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn virtual_and_usb_disks_are_an_information() {
        let usb = provisioning(
            scsi("sde", "QEMU", "Portable", ScsiTransport::Usb),
            ProvisioningMode::Full,
        );
        let disks = || TestHost::new().devices([with_discard(virtio("vda"), no_discards())]);
        let outcome = disks().mount("/", "vda", "ext4", "rw").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        let outcome = TestHost::new()
            .device(usb)
            .mount("/backup", "sde", "ext4", "rw")
            .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        // An SSD used for backups is no reason to fail a check either.
        let mut ssd = provisioning(
            scsi("sdf", "Samsung", "Portable SSD T5", ScsiTransport::Usb),
            ProvisioningMode::Full,
        );
        ssd.rotational = Some(false);
        let outcome = TestHost::new()
            .device(ssd)
            .mount("/backup", "sdf", "ext4", "rw")
            .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        // In a cloud, the disk is the provider's.
        let outcome = disks()
            .mount("/", "vda", "ext4", "rw")
            .with(|host| host.platform.cloud = Some(Cloud::Gcp))
            .check(&RULE);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn switched_off_or_blocklisted_is_left_to_other_rules() {
        let mut drive = with_discard(sata("sda"), no_discards());
        if let DeviceKind::Scsi { ata_trim, .. } = &mut drive.kind {
            *ata_trim = Some(facts::host::AtaTrim::ForcedUnsupported);
        }
        let off = with_discard(nvme("nvme0n1"), limits(512, 0, NVME_MAX_BYTES));
        let mut listed = provisioning(sata("sdb"), ProvisioningMode::Disabled);
        if let DeviceKind::Scsi { model, .. } = &mut listed.kind {
            *model = Some("SuperSSpeed S238".to_owned());
        }
        let outcome = TestHost::new()
            .devices([drive, listed, off])
            .mount("/a", "sda", "xfs", "rw")
            .mount("/b", "nvme0n1", "xfs", "rw")
            .mount("/c", "sdb", "xfs", "rw")
            .check(&RULE);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn a_hard_disk_in_a_volume_costs_the_flash_its_discards() {
        let outcome = TestHost::new()
            .devices([hard_disk("sda"), nvme("nvme0n1")])
            .device(with_discard(
                lvm_linear("dm-0", "vg-data", &["nvme0n1", "sda"]),
                no_discards(),
            ))
            .mount("/data", "dm-0", "xfs", "rw")
            .check(&RULE);
        assert_eq!(only(&outcome).device.as_deref(), Some("sda"));
    }

    #[test]
    fn unknown_limits_are_reported_as_skipped() {
        let outcome = TestHost::new()
            .device(with_discard(nvme("nvme0n1"), DiscardLimits::default()))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped[0].what, "TRIM001 on /data");
    }
}
