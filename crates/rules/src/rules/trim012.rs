//! # TRIM012: discards are accepted, and nothing here proves that they arrive
//!
//! ## What it finds
//! A filesystem whose every layer takes discards, down to a disk that a hypervisor makes
//! (virtio-blk, virtio-scsi, a QEMU, VMware, Hyper-V or Xen disk), that an array or another host serves
//! (NVMe over TCP, RDMA or Fibre Channel, iSCSI), or a file behind a loop device.
//!
//! ## Why it hurts
//! A virtual disk may take discards and ignore them. Measured: virtio-scsi and AHCI disks of a host
//! with `discard=ignore` show `provisioning_mode` unmap, `fstrim` "trims" 447 MiB, and the host
//! frees nothing. Then the image grows to its full size, and the flash below it is never trimmed.
//!
//! ## Evidence
//! The drive's kind and model. sysfs ends there: its discard counters show that requests were sent,
//! not that they did anything.
//!
//! ## Remedy
//! Prove it once: write a file, delete it, trim, and let the host's administrator compare what the
//! image occupies before and after (`stat -c %b IMAGE`, `lvs`, the provider's figures).
//! In WSL the file on Windows shrinks when it is compacted.
//!
//! ## Risk
//! The proof writes 512 MiB and trims the whole filesystem: do it in a quiet period.
//!
//! ## When it is silent
//! On bare metal, on instance-store drives and drives passed through, on a cloud's network disks
//! (TRIM010), and where a layer refuses or swallows discards (TRIM001, TRIM008, TRIM009).
//!
//! ## References
//! - QEMU block drivers: the `discard` option; Documentation/ABI/stable/sysfs-block, `stat`
//! - util-linux issue "fstrim: does it reach the disk?"

use crate::context::Context;
use crate::medium::{self, Place};
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::{operand, quote};
use crate::volumes::{self, Group};
use crate::{discard_path, discard_remedy, finding, trim_remedy, wording};
use facts::host::{BlockDevice, DeviceKind, ScsiTransport};
use facts::{Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM012",
    title: "discards are accepted, and nothing here proves that they arrive",
    source: include_str!("trim012.rs"),
    check: Check::Host(Needs::Devices, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let mut unproven = Vec::new();
    for volume in volumes::trimmable(cx) {
        let path = &volume.discards;
        if path.reaches_drives().is_none() {
            out.skipped
                .extend(path.skipped(RULE.id, &volume.mount.mount_point));
        }
        if path.reaches_drives() != Some(true) {
            continue;
        }
        let mut drives: Vec<&BlockDevice> = volume
            .stack
            .data_drives()
            .filter(|leaf| {
                medium::of_drive(&cx.host.platform, leaf).place == Place::Virtual
                    || is_behind_a_fabric(leaf)
            })
            .collect();
        drives.sort_by(|a, b| a.name.cmp(&b.name));
        if !drives.is_empty() {
            let key: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
            unproven.push((volume, key, drives));
        }
    }
    for group in volumes::grouped(unproven) {
        let mut finding = finding(&group);
        if trim_remedy::is_wsl(&cx.host.platform) {
            "Discards mark blocks of the file behind the disk as free, and the file keeps its size until \
             Windows compacts it."
                .clone_into(&mut finding.why);
            finding.remedy = vec![trim_remedy::compact_vhdx()];
        }
        out.findings.push(finding);
    }
}

/// Whether an array or another host makes the drive, and the block layer sees only the way to it: NVMe over
/// fabrics, iSCSI, Fibre Channel.
fn is_behind_a_fabric(drive: &BlockDevice) -> bool {
    match &drive.kind {
        DeviceKind::Nvme { transport, .. } => {
            matches!(transport.as_deref(), Some("tcp" | "rdma" | "fc"))
        }
        DeviceKind::Scsi { transport, .. } => *transport == ScsiTransport::Network,
        _ => false,
    }
}

fn finding(group: &Group<'_, '_, Vec<&BlockDevice>>) -> Finding {
    let drives = &group.item;
    let first = drives[0];
    let names: Vec<String> = drives
        .iter()
        .map(|drive| discard_remedy::name_of(drive))
        .collect();
    let verb = if names.len() == 1 { "takes" } else { "take" };
    let is_loop = matches!(first.kind, DeviceKind::Loop { .. });
    let is_remote = is_behind_a_fabric(first);
    let what = match (is_loop, is_remote, names.len()) {
        (true, _, 1) => "loop device",
        (true, _, _) => "loop devices",
        (_, true, 1) => "remote disk",
        (_, true, _) => "remote disks",
        (false, false, 1) => "virtual disk",
        (false, false, _) => "virtual disks",
    };
    let mut finding = finding::about_layer(
        &RULE,
        Severity::Info,
        group.volume,
        first,
        format!(
            "{what} {} {verb} discards; whether they free anything cannot be seen from here",
            wording::list(&names)
        ),
    );
    finding.why = if is_loop {
        "A discard punches a hole into the file behind the loop device, if its filesystem can do \
         that. Whether the drive below that file learns of it is another question."
            .to_owned()
    } else if is_remote {
        "The array or target behind the network may accept discards and ignore them. The disk's \
         discard counters show that requests were sent, not that anything was freed."
            .to_owned()
    } else {
        "The hypervisor may ignore discards that a virtual disk accepts. The disk's discard \
         counters show that requests were sent, not that anything was freed."
            .to_owned()
    };
    for drive in drives.iter().take(4) {
        finding.evidence.push(medium::evidence(drive));
        finding
            .evidence
            .extend(discard_path::limits_of(drive).into_iter().take(1));
    }
    finding.evidence.extend(group.others_as_evidence());
    finding.add_remedy(proof(group, first));
    finding
}

/// Maximum and minimum size of the probe file that shows an effect on the host. It is never more
/// than a quarter of the free space.
const PROBE_MIB_MAX: u64 = 512;
const PROBE_MIB_MIN: u64 = 16;

fn proof(group: &Group<'_, '_, Vec<&BlockDevice>>, drive: &BlockDevice) -> Remedy {
    let mount_point = &group.volume.mount.mount_point;
    // The mount's root may belong to somebody else, who could plant a link under a known name.
    let directory = quote(&format!(
        "{}/trim-probe.XXXXXX",
        mount_point.trim_end_matches('/')
    ));
    let occupied = match &drive.kind {
        DeviceKind::Loop {
            backing_file: Some(file),
        } => format!("stat -c %b {}", operand(file)),
        _ => {
            "# on the host: stat -c %b IMAGE, or the allocation that the provider shows".to_owned()
        }
    };
    let text = match drive.kind {
        DeviceKind::Loop { .. } => {
            "Prove it: write a probe file, delete it and trim. The space that the file below \
             occupies must grow and shrink again."
        }
        _ if is_behind_a_fabric(drive) => {
            "Prove it together with the storage's administrator: write a probe file, delete it and \
             trim. The space that the volume occupies there must grow and shrink again."
        }
        _ => {
            "Prove it together with the hypervisor's administrator: write a probe file, delete it \
             and trim. The space that the image or volume occupies there must grow and shrink \
             again."
        }
    };
    let available_bytes = group.volume.mount.usage.map(|usage| usage.available_bytes);
    let probe_mib = available_bytes
        .map_or(PROBE_MIB_MAX, |bytes| bytes >> 22)
        .min(PROBE_MIB_MAX);
    if probe_mib < PROBE_MIB_MIN {
        return Remedy::advice(format!(
            "{text} There is too little free space for that now."
        ));
    }
    Remedy::command(
        text,
        format!(
            "probe=$(mktemp -d {directory})\n\
             dd if=/dev/urandom of=\"$probe/data\" bs=1M count={probe_mib} conv=excl,fsync\n\
             {occupied}\nrm -r \"$probe\"\nsync\ntrimtab trim --now {}\n{occupied}",
            operand(mount_point)
        ),
    )
    .risk(format!(
        "It writes {}, for which there must be room, and trims the whole filesystem: choose a quiet \
         period.",
        units::bytes(probe_mib << 20)
    ))
    .undo("rm -r \"$probe\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use facts::host::DiscardLimits;

    #[test]
    fn a_disk_of_wsl_is_a_file_of_windows() {
        let outcome = TestHost::new()
            .device(scsi(
                "sdc",
                "Msft",
                "Virtual Disk",
                ScsiTransport::Hypervisor,
            ))
            .mount("/", "sdc", "ext4", "rw,discard")
            .with(|host| host.platform.container = Some("wsl".to_owned()))
            .check(&RULE);
        let remedy = &only(&outcome).remedy;
        assert!(
            remedy.len() == 1 && remedy[0].text.contains("Optimize-VHD"),
            "{remedy:?}"
        );
    }

    #[test]
    fn virtual_disks_are_unproven() {
        for disk in [
            virtio("vda"),
            scsi("sda", "QEMU", "QEMU HARDDISK", ScsiTransport::Virtio),
            scsi("sda", "VMware", "Virtual disk", ScsiTransport::Hypervisor),
            nvme_model("nvme0n1", "QEMU NVMe Ctrl"),
        ] {
            let name = disk.name.clone();
            let outcome = TestHost::new()
                .device(disk)
                .mount("/mnt/x", &name, "xfs", "rw")
                .check(&RULE);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Info);
            assert_eq!(finding.device.as_deref(), Some(name.as_str()));
        }
    }

    #[test]
    fn disks_behind_a_fabric_are_unproven() {
        let mut remote = nvme_model("nvme0n1", "Linux");
        let DeviceKind::Nvme { transport, .. } = &mut remote.kind else {
            panic!("{remote:?}");
        };
        *transport = Some("tcp".to_owned());
        let array = scsi("sda", "NETAPP", "LUN C-Mode", ScsiTransport::Network);
        for (disk, name) in [(remote, "nvme0n1"), (array, "sda")] {
            let outcome = TestHost::new()
                .device(disk)
                .mount("/mnt/x", name, "xfs", "rw")
                .check(&RULE);
            let finding = only(&outcome);
            assert!(
                finding.title.starts_with("remote disk"),
                "{}",
                finding.title
            );
            assert!(
                finding.remedy[0]
                    .text
                    .contains("the storage's administrator")
            );
        }
    }

    /// In a mount that belongs to another user, a known name could be a link of theirs.
    #[test]
    fn the_probe_is_a_new_file_in_a_new_directory() {
        let outcome = TestHost::new()
            .device(virtio("vda"))
            .mount("/srv/a b", "vda", "xfs", "rw")
            .check(&RULE);
        let command = only(&outcome).remedy[0].command.as_deref().unwrap();
        assert!(
            command.starts_with("probe=$(mktemp -d '/srv/a b/trim-probe.XXXXXX')\n"),
            "{command}"
        );
        assert!(
            command.contains("of=\"$probe/data\" bs=1M count=512 conv=excl,fsync"),
            "{command}"
        );
    }

    #[test]
    fn real_drives_and_instance_stores_are_silent() {
        for model in [
            "SAMSUNG MZQL21T9HCJR-00A07",
            "Amazon EC2 NVMe Instance Storage",
            "Amazon Elastic Block Store",
        ] {
            let outcome = TestHost::new()
                .device(nvme_model("nvme0n1", model))
                .mount("/data", "nvme0n1", "xfs", "rw")
                .with(|host| host.platform.hypervisor = Some("kvm".to_owned()))
                .check(&RULE);
            assert_eq!(outcome, Outcome::default(), "{model}");
        }
    }

    #[test]
    fn an_array_of_virtual_disks_is_one_finding() {
        let outcome = TestHost::new()
            .devices([
                nvme_model("nvme0n1", "QEMU NVMe Ctrl"),
                nvme_model("nvme1n1", "QEMU NVMe Ctrl"),
            ])
            .device(md("md0", "raid0", &["nvme0n1", "nvme1n1"]))
            .mount("/mnt/x", "md0", "xfs", "rw")
            .check(&RULE);
        assert!(
            only(&outcome)
                .title
                .starts_with("virtual disks /dev/nvme0n1 and /dev/nvme1n1 take discards")
        );
    }

    #[test]
    fn where_discards_are_lost_there_is_nothing_to_prove() {
        let outcome = TestHost::new()
            .device(with_discard(virtio("vda"), no_discards()))
            .mount("/", "vda", "ext4", "rw")
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
        let outcome = TestHost::new()
            .device(with_discard(virtio("vda"), DiscardLimits::default()))
            .mount("/", "vda", "ext4", "rw")
            .check(&RULE);
        assert_eq!(outcome.skipped.len(), 1);
    }

    #[test]
    fn a_loop_device_is_proven_on_this_machine() {
        let kind = DeviceKind::Loop {
            backing_file: Some("/var/lib/images/a b.img".to_owned()),
        };
        let outcome = TestHost::new()
            .device(device("loop0", kind, &[]))
            .mount("/mnt/l", "loop0", "ext4", "rw")
            .check(&RULE);
        let command = only(&outcome).remedy[0].command.as_deref();
        assert!(command.is_some_and(|c| c.contains("stat -c %b '/var/lib/images/a b.img'")));
    }
}
