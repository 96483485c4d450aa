//! Remedies for drives, adapters and virtual disks.

use crate::shell::quote;
use facts::host::{BlockDevice, DeviceKind, ProvisioningMode, ScsiTransport};
use facts::{Host, Remedy};

/// Whether this is a disk of a hypervisor whose host can be asked to change it.
pub(super) fn is_made_by_a_host(device: &BlockDevice) -> bool {
    matches!(
        device.kind,
        DeviceKind::VirtioBlk { .. }
            | DeviceKind::Xen
            | DeviceKind::Scsi {
                transport: ScsiTransport::Virtio | ScsiTransport::Hypervisor,
                ..
            }
    ) || device
        .model()
        .is_some_and(|model| model.starts_with("QEMU ") || model.starts_with("VBOX "))
}

/// Largest limit that every kernel accepts: newer ones reject values that do not fit in 32 bits
/// (`queue_max_discard_sectors_store` in block/blk-sysfs.c).
const WRITABLE_BYTES_MAX: u64 = u32::MAX as u64;

/// Restores a limit to the hardware's, or to the largest one that the kernel accepts.
pub(crate) fn switch_on(device: &BlockDevice, max_hw_bytes: u64) -> Remedy {
    let granularity_bytes = device.discard.and_then(|limits| limits.granularity_bytes);
    if granularity_bytes == Some(0) {
        // Seen on 6.18: together with the limit, the kernel loses the granularity, and then rejects
        // every value that is not a multiple of it.
        return Remedy::advice(
            "This kernel takes no other limit once 0 was written, and says \"invalid argument\": \
             take out what writes the 0, then restart the host (or detach the drive and attach it \
             again).",
        );
    }
    let granularity_bytes = granularity_bytes.unwrap_or(512);
    let writable_bytes = max_hw_bytes.min(WRITABLE_BYTES_MAX);
    let limit_bytes = match writable_bytes - writable_bytes % granularity_bytes {
        0 => writable_bytes,
        multiple => multiple,
    };
    let file = quote(&format!("/{}/queue/discard_max_bytes", device.sysfs_path));
    Remedy::command(
        "Switch discards on again.",
        format!("echo {limit_bytes} > {file}"),
    )
    .risk(
        "Somebody may have had a reason, such as stalls during discards: a smaller limit, for \
         example 16777216, keeps single requests short.",
    )
    .undo(format!("echo 0 > {file}"))
}

pub(super) fn ask_the_host(host: &Host, disk: &BlockDevice) -> Remedy {
    let too_old = matches!(disk.kind, DeviceKind::VirtioBlk { .. })
        && host
            .platform
            .kernel_version()
            .is_some_and(|version| version < (5, 0));
    if too_old {
        return Remedy::advice(
            "virtio-blk supports discards from Linux 5.0 on, and this kernel is older: attach the disk \
             through virtio-scsi with `discard=unmap`, or run a newer kernel.",
        );
    }
    Remedy::advice(
        "Ask the host's administrator to offer discards: QEMU `-drive ...,discard=unmap`, libvirt \
         `<driver ... discard='unmap'/>`, Proxmox `discard=on`, Xen `discard` in the disk's line, \
         VMware a thin-provisioned disk; the guest must be stopped and started. Only worth it if \
         the host's storage is flash or thin.",
    )
    .risk(
        "A preallocated image becomes sparse: what was discarded has to be allocated again, and \
         the host may run out of space.",
    )
}

pub(super) fn scsi_unmap(drive: &BlockDevice) -> Vec<Remedy> {
    let path = quote(&drive.dev_path());
    let attribute = format!(
        "/sys/block/{}/device/scsi_disk/*/provisioning_mode",
        quote(&drive.name)
    );
    let before = match &drive.kind {
        DeviceKind::Scsi {
            provisioning_mode: Some(ProvisioningMode::Disabled),
            ..
        } => "disabled",
        _ => "full",
    };
    let mut remedies = vec![
        Remedy::command(
            "First ask the device (package sg3-utils): LBPU=1 means that it takes UNMAP, although \
             it does not announce thin provisioning.",
            format!("sg_vpd --page=lbpv {path}"),
        ),
        Remedy::command(
            "Only if it does: tell the kernel to send UNMAP. It lasts until the device is plugged \
             in again.",
            format!("echo unmap | tee {attribute}"),
        )
        .risk(
            "Firmware that does not know UNMAP may answer with errors or lose data: try it on a \
             disk without data first.",
        )
        .undo(format!("echo {before} | tee {attribute}")),
    ];
    if let Some(rule) = udev_rule(drive) {
        let file = "/etc/udev/rules.d/60-scsi-unmap.rules";
        remedies.push(
            Remedy::command(
                "For every boot: the same by a udev rule for this model.",
                format!(
                    "printf '%s\\n' {} > {file}\nudevadm control --reload",
                    quote(&rule)
                ),
            )
            .undo(format!("rm {file}\nudevadm control --reload")),
        );
    }
    remedies
}

/// Returns a udev rule for the drive's model; `None` if the model contains characters with a
/// special meaning in udev patterns.
fn udev_rule(drive: &BlockDevice) -> Option<String> {
    let model = drive.model().filter(|model| {
        !model.is_empty()
            && model
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " ._+/-".contains(c))
    })?;
    // sysfs pads the model with blanks.
    Some(format!(
        "ACTION==\"add|change\", SUBSYSTEM==\"scsi_disk\", ATTRS{{model}}==\"{model}*\", \
         ATTR{{provisioning_mode}}=\"unmap\""
    ))
}

pub(super) fn drive_or_adapter(drive: &BlockDevice) -> Remedy {
    let path = quote(&drive.dev_path());
    match &drive.kind {
        DeviceKind::Nvme { .. } => Remedy::command(
            "See whether the controller offers Data Set Management at all; if not, a firmware \
             update or another drive is the only way, and unpartitioned space helps meanwhile.",
            format!("nvme id-ctrl -H {path} | grep -i 'data set management'"),
        ),
        DeviceKind::Loop { .. } => Remedy::advice(
            "A loop device passes discards if the filesystem that holds its file can punch holes: \
             move the file to XFS, ext4 or Btrfs.",
        ),
        DeviceKind::Mmc => Remedy::advice(
            "Some cards know no erase command: use another card, or leave part of this one \
             unpartitioned.",
        ),
        _ => Remedy::advice(
            "RAID adapters often hide TRIM: attach the drives through HBA or JBOD mode, or leave \
             part of each drive unused, so that it keeps spare blocks.",
        ),
    }
}
