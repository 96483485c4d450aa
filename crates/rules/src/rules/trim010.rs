//! # TRIM010: do not trim here by hand, or do it gently
//!
//! ## What it finds
//! - an Elastic Cloud Enterprise (ECE) host whose disks take discards: do not trim by hand (warning)
//! - a SATA drive whose TRIM the kernel's list of faulty firmware forbids: do not force it
//! - a network disk, a VDO volume or a thin volume that takes discards: a trim gives capacity back
//!   to the pool or the provider, and should be paced (note)
//!
//! ## Why it hurts
//! On ECE a long trim can make the control plane unstable, with effects on the whole installation.
//! Blocklisted firmware loses or corrupts data on TRIM. On network disks and pools every discard is
//! work for a shared system: an unpaced trim floods it, and VDO hosts were seen at a load over 180.
//!
//! ## Evidence
//! Files of the ECE runner; `ata_device/*/trim` saying `forced_unsupported`; the drive's model; the
//! device-mapper table.
//!
//! ## Remedy
//! Trim piece by piece in a quiet period: `fstrim --offset N --length M MOUNT` in steps of whole
//! block groups (ext4) or allocation groups (XFS). On ECE: none by hand. On blocklisted firmware: a
//! firmware update or another drive.
//!
//! ## Risk
//! Not trimming a thin pool lets it fill up with blocks that no filesystem uses any more.
//!
//! ## When it is silent
//! Devices that take no discards: nothing to trim. `rotational` decides nothing here, since loop,
//! virtio and SCSI disks report 1 regardless of their medium.
//!
//! ## References
//! - Elastic blog: `Is your Elasticsearch TRIMmed?`
//! - Linux kernel: `drivers/ata/libata-core.c`, `Documentation/ABI/testing/sysfs-ata`
//! - lvmthin(7), section "Using fstrim to increase free space in a thin pool LV"; lvmvdo(7)

use crate::context::Context;
use crate::discard_path::{self, Cause};
use crate::discard_remedy::name_of;
use crate::medium::{self, Place};
use crate::outcome::Outcome;
use crate::quiet_slot::QuietTimes;
use crate::rule::{Check, Needs, Rule};
use crate::volume::Volume;
use crate::{finding, trim_remedy, volumes, wording};
use facts::host::BlockDevice;
use facts::{Evidence, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM010",
    title: "do not trim here by hand, or do it gently",
    source: include_str!("trim010.rs"),
    check: Check::Host(Needs::Devices, check),
};

pub(crate) fn check(cx: &Context<'_>, out: &mut Outcome) {
    elastic_cloud_enterprise(cx, out);
    blocklisted(cx, out);
    shared_capacity(cx, out);
}

fn elastic_cloud_enterprise(cx: &Context<'_>, out: &mut Outcome) {
    let Some(seen) = &cx.host.platform.elastic_cloud_enterprise else {
        return;
    };
    let can_be_trimmed =
        volumes::trimmable(cx).any(|volume| volume.discards.top_accepts != Some(false));
    if !can_be_trimmed {
        return;
    }
    let mut finding = finding::about_host(
        &RULE,
        Severity::Warning,
        "Elastic Cloud Enterprise",
        "do not trim the disks of an Elastic Cloud Enterprise host by hand",
    );
    finding.why = "A long trim can make the control plane unstable and affect the whole \
        installation: Elastic recommends not trimming ECE disks by hand."
        .into();
    finding.add_evidence("Elastic Cloud Enterprise seen by", seen);
    finding.add_remedy(Remedy::advice(
        "Run no fstrim here. If the disks have to be trimmed, move the instances off this host \
         first (maintenance mode), and do one host after the other.",
    ));
    out.findings.push(finding);
}

fn blocklisted(cx: &Context<'_>, out: &mut Outcome) {
    let mut found = Vec::new();
    for volume in volumes::trimmable(cx) {
        let drives: Vec<&BlockDevice> = volume
            .stack
            .leaves()
            .filter(|drive| discard_path::is_blocklisted(drive))
            .collect();
        if !drives.is_empty() {
            let key: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
            found.push((volume, key, drives));
        }
    }
    for group in volumes::grouped(found) {
        let names: Vec<String> = group.item.iter().map(|drive| name_of(drive)).collect();
        let mut finding = finding::about_layer(
            &RULE,
            finding::warning_if(group.has_store()),
            group.volume,
            group.item[0],
            format!("the kernel forbids TRIM on {}", wording::list(&names)),
        );
        finding.why = "The firmware is on the kernel's list of those that lose or corrupt data on \
                       TRIM. Not trimming is right here; forcing it through provisioning_mode is \
                       not."
            .into();
        for &drive in &group.item {
            finding
                .evidence
                .extend(discard_path::evidence_of(&discard_path::Fault {
                    device: drive,
                    is_drive: true,
                    swallows: false,
                    cause: Cause::Blocklisted,
                }));
        }
        finding.evidence.extend(group.others_as_evidence());
        finding.add_remedy(Remedy::advice(
            "Do not force it. Update the firmware if the vendor offers a fixed version that the \
             kernel's list knows, or replace the drive; until then leave part of it unpartitioned.",
        ));
        out.findings.push(finding);
    }
}

/// A layer that takes discards and gives the capacity to others.
struct Sharer<'a> {
    device: &'a BlockDevice,
    kind: &'static str,
    why: &'static str,
}

fn shared_capacity(cx: &Context<'_>, out: &mut Outcome) {
    let quiet = QuietTimes::of(cx);
    let mut found = Vec::new();
    for volume in volumes::trimmable(cx) {
        let path = &volume.discards;
        if path.top_accepts != Some(true) {
            continue;
        }
        let pool = volume
            .stack
            .layers
            .iter()
            .find(|layer| discard_path::is_thin_pool(layer.device));
        let sharer = pool
            .and_then(|pool| thin_volume(volume, pool.above))
            .or_else(|| vdo(volume))
            .or_else(|| network_disk(cx, volume, path.reaches_drives()));
        if let Some(sharer) = sharer {
            // Thin volumes of one pool are reported together.
            let key = pool.map_or(sharer.device, |pool| pool.device).name.as_str();
            found.push((volume, key, sharer));
        }
    }
    for group in volumes::grouped(found) {
        let sharer = &group.item;
        let mut finding = finding::about_layer(
            &RULE,
            Severity::Info,
            group.volume,
            sharer.device,
            format!(
                "{} {} takes discards: a trim gives capacity back, but must be paced",
                sharer.kind,
                name_of(sharer.device)
            ),
        );
        sharer.why.clone_into(&mut finding.why);
        finding
            .evidence
            .extend(discard_path::limits_of(sharer.device));
        finding.evidence.push(match sharer.device.dm_targets() {
            Some([target, ..]) => Evidence::new(
                format!(
                    "dmsetup table {}",
                    sharer.device.dev_path().trim_start_matches("/dev/mapper/")
                ),
                &target.target_type,
            ),
            _ => medium::evidence(sharer.device),
        });
        finding.evidence.extend(group.others_as_evidence());
        finding.add_remedy(trim_remedy::trim_paced(group.volume, quiet.weekly()));
        out.findings.push(finding);
    }
}

fn thin_volume<'a>(volume: &Volume<'a>, above_pool: Option<usize>) -> Option<Sharer<'a>> {
    // A pool that is mounted directly has nothing above it.
    let device = volume.stack.layers[above_pool?].device;
    Some(Sharer {
        device,
        kind: "thin volume",
        why: "What a trim frees goes back to the pool, where other volumes and snapshots can use \
              it. A pool that gets nothing back fills up. Each discard changes the pool's \
              metadata, so an unpaced trim slows all its volumes.",
    })
}

fn vdo<'a>(volume: &Volume<'a>) -> Option<Sharer<'a>> {
    let layer = volume
        .stack
        .layers
        .iter()
        .find(|layer| discard_path::is_vdo(layer.device))?;
    Some(Sharer {
        device: layer.device,
        kind: "VDO volume",
        why: "What a trim frees goes back to VDO's physical space; without trims VDO fills up. VDO \
              handles each freed 4 KiB block separately, so an unpaced trim loads the host heavily \
              for a long time. The drives below never learn of it.",
    })
}

fn network_disk<'a>(
    cx: &Context<'_>,
    volume: &Volume<'a>,
    reaches: Option<bool>,
) -> Option<Sharer<'a>> {
    if reaches != Some(true) {
        return None;
    }
    let device = volume
        .stack
        .leaves()
        .find(|leaf| medium::of_drive(&cx.host.platform, leaf).place == Place::Network)?;
    Some(Sharer {
        device,
        kind: "network disk",
        why: "What a trim frees may reduce the capacity in use on the provider's side, who also \
              looks after the medium. Discards share the disk's request limits with reads and \
              writes, so an unpaced trim throttles the store.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use facts::host::{AtaTrim, Cloud, DeviceKind, ProvisioningMode, ScsiTransport};

    fn thin_host(pool_words: &[&str], volume_limits: facts::host::DiscardLimits) -> TestHost {
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
            .device(with_discard(thin("dm-5", "vg-thin", "dm-3"), volume_limits))
            .mount("/mnt/t", "dm-5", "ext4", "rw")
    }

    #[test]
    fn a_thin_volume_gives_capacity_back() {
        let takes = limits(65536, 17_179_869_184, NVME_MAX_BYTES);
        let outcome = thin_host(&[], takes).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.device.as_deref(), Some("dm-5"));
        assert!(
            finding
                .evidence
                .contains(&Evidence::new("dmsetup table vg-thin", "thin"))
        );
        // Without passdown, the pool gets its blocks back as well.
        let takes = limits(65536, 17_179_869_184, 0);
        only(&thin_host(&["no_discard_passdown"], takes).check(&RULE));
        // An ignoring pool takes nothing, so there is nothing to trim.
        let outcome = thin_host(&["ignore_discard"], no_discards()).check(&RULE);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn network_disks_are_an_information_only_if_they_take_discards() {
        let disk = scsi("sdb", "Google", "PersistentDisk", ScsiTransport::Virtio);
        let on = |disk| {
            TestHost::new()
                .device(disk)
                .mount("/data", "sdb", "ext4", "rw")
                .with(|host| host.platform.cloud = Some(Cloud::Gcp))
                .check(&RULE)
        };
        let outcome = on(disk.clone());
        assert_eq!(only(&outcome).severity, Severity::Info);
        assert_eq!(only(&outcome).subject, "/dev/sdb");
        assert_eq!(on(with_discard(disk, no_discards())).findings, []);
        let ebs = with_discard(
            nvme_model("sdb", "Amazon Elastic Block Store"),
            no_discards(),
        );
        assert_eq!(on(ebs).findings, []);
    }

    #[test]
    fn blocklisted_firmware_is_left_alone() {
        let mut drive = with_discard(sata("sda"), no_discards());
        if let DeviceKind::Scsi { ata_trim, .. } = &mut drive.kind {
            *ata_trim = Some(AtaTrim::ForcedUnsupported);
        }
        let host = || {
            TestHost::new()
                .device(drive.clone())
                .mount("/data", "sda", "xfs", "rw")
        };
        let outcome = host().check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
        assert!(only(&outcome).remedy[0].text.starts_with("Do not force it"));
        let outcome = host().elasticsearch("/data/es").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Warning);
    }

    #[test]
    fn a_disabled_drive_counts_only_with_a_listed_model() {
        let with_model = |name: &str| {
            let mut drive = provisioning(sata("sda"), ProvisioningMode::Disabled);
            if let DeviceKind::Scsi { model, .. } = &mut drive.kind {
                *model = Some(name.to_owned());
            }
            TestHost::new()
                .device(drive)
                .mount("/data", "sda", "xfs", "rw")
                .check(&RULE)
                .findings
                .len()
        };
        assert_eq!(with_model("SuperSSpeed S238"), 1);
        assert_eq!(with_model("INTEL SSDSC2KB01"), 0);
    }

    #[test]
    fn elastic_cloud_enterprise_is_not_trimmed_by_hand() {
        let host = |drive| {
            TestHost::new()
                .device(drive)
                .mount("/data", "nvme0n1", "xfs", "rw")
                .with(|host| {
                    host.platform.elastic_cloud_enterprise =
                        Some("mnt/data/elastic/bootstrap-state".to_owned());
                })
                .check(&RULE)
        };
        let outcome = host(nvme("nvme0n1"));
        assert_eq!(only(&outcome).severity, Severity::Warning);
        assert_eq!(only(&outcome).mount_point, None);
        // A disk that takes no discards cannot be trimmed by hand either.
        assert_eq!(
            host(with_discard(nvme("nvme0n1"), no_discards())).findings,
            []
        );
    }
}
