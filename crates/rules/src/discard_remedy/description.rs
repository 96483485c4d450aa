//! Names a layer that loses discards, and explains why it does.

use super::drive::is_made_by_a_host;
use crate::discard_path::{Cause, Fault};
use crate::shell::printable;
use facts::host::{BlockDevice, DeviceKind, ProvisioningMode};

/// Returns a layer's display name: `/dev/mapper/c0 (dm-0)`, `/dev/sda`.
pub(crate) fn name_of(device: &BlockDevice) -> String {
    let path = printable(&device.dev_path());
    match device.kind {
        DeviceKind::DeviceMapper { name: Some(_), .. } => {
            format!("{path} ({})", printable(&device.name))
        }
        _ => path,
    }
}

/// Returns the title of a finding about faults, of which the first stands for all.
pub(crate) fn title(faults: &[Fault<'_>]) -> String {
    let headline = headline(&faults[0]);
    match faults.len() {
        1 => headline,
        n => format!("{headline}, and {} more like it", n - 1),
    }
}

/// Returns the subject and verb of a title: "dm-crypt volume c0 drops discards".
fn headline(fault: &Fault<'_>) -> String {
    let name = name_of(fault.device);
    match &fault.cause {
        Cause::Crypt { .. } => format!("dm-crypt volume {name} drops every discard"),
        Cause::ParityRaid | Cause::DmParityRaid => {
            format!("{} {name} drops every discard", raid_level(fault.device))
        }
        Cause::ThinIgnore { .. } => format!("thin pool {name} ignores discards"),
        Cause::ThinNoPassdown { .. } => {
            format!("thin pool {name} does not pass discards on to the drives")
        }
        Cause::CacheNoPassdown => format!("cache {name} does not pass discards down"),
        Cause::SwitchedOff { .. } => format!("discards are switched off by hand on {name}"),
        Cause::VirtioBlk => format!("virtual disk {name} offers no discards"),
        Cause::Usb => format!("USB disk {name} offers no discards"),
        Cause::Provisioning(_) if is_made_by_a_host(fault.device) => {
            format!("virtual disk {name} offers no discards")
        }
        Cause::Provisioning(ProvisioningMode::Disabled) => {
            format!("discards are disabled in the SCSI layer for {name}")
        }
        Cause::Provisioning(_) | Cause::AtaUnsupported | Cause::Blocklisted => {
            format!("drive {name} takes no discards")
        }
        Cause::Unexplained if fault.is_drive => format!("drive {name} takes no discards"),
        Cause::Unexplained => format!("layer {name} drops every discard"),
    }
}

/// Explains in a sentence or two why the layer loses discards.
pub(crate) fn reason(fault: &Fault<'_>) -> String {
    match &fault.cause {
        Cause::Crypt { table_read: true } => {
            "dm-crypt passes discards only if it was opened with `allow_discards`; the volume's \
             table lacks that flag."
                .to_owned()
        }
        Cause::Crypt { table_read: false } => {
            "dm-crypt passes discards only if it was opened with `allow_discards`. Its table needs \
             root to be read, but its queue refuses discards while everything below takes them."
                .to_owned()
        }
        Cause::ParityRaid | Cause::DmParityRaid => {
            "RAID 4, 5 and 6 compute parity over blocks that were discarded, so md passes discards \
             only when it is told that every drive reads zeroes there afterwards \
             (raid456.devices_handle_discard_safely)."
                .to_owned()
        }
        Cause::ThinIgnore { table_read } => {
            let how_known = if *table_read {
                "its table says `ignore_discard`"
            } else {
                "its queue refuses discards while its data device takes them"
            };
            format!(
                "The pool neither gets blocks back from its volumes nor tells the drives: \
                 {how_known}."
            )
        }
        Cause::ThinNoPassdown { table_read } => {
            let how_known = if *table_read {
                "its table says `no_discard_passdown`"
            } else {
                "its volume takes discards and its limits show that nothing reaches the drives"
            };
            format!(
                "A trim gives blocks back to the pool and reports success, but {how_known}: what \
                 the pool does not use stays allocated on the drives."
            )
        }
        Cause::CacheNoPassdown => {
            "The cache forgets discarded blocks and does not tell the device behind it: its table \
             says `no_discard_passdown`."
                .to_owned()
        }
        Cause::SwitchedOff { max_hw_bytes } => {
            let or_driver = match fault.device.kind {
                DeviceKind::DeviceMapper { .. } | DeviceKind::Xen => {
                    ", unless its driver did after a discard had failed (the kernel's log says so)"
                }
                _ => "",
            };
            format!(
                "Its queue could take discards of {max_hw_bytes} bytes, and somebody wrote 0 into \
                 discard_max_bytes{or_driver}."
            )
        }
        Cause::VirtioBlk => "virtio-blk offers discards only if the host enabled them.".to_owned(),
        Cause::Usb => "Most USB bridges do not announce UNMAP, so the kernel sends none, even \
                       where the bridge would pass it on."
            .to_owned(),
        Cause::Provisioning(ProvisioningMode::Disabled) => {
            "provisioning_mode is `disabled`: the kernel saw UNMAP fail, or somebody switched it \
             off."
                .to_owned()
        }
        Cause::Provisioning(_) => {
            "provisioning_mode is `full`: the device does not announce UNMAP.".to_owned()
        }
        Cause::Blocklisted => {
            "The kernel's list of faulty firmware forbids TRIM on this model.".to_owned()
        }
        Cause::AtaUnsupported => "The drive does not announce TRIM.".to_owned(),
        Cause::Unexplained if fault.is_drive => {
            "The drive, or its adapter, announces no discard command.".to_owned()
        }
        Cause::Unexplained => unexplained_layer(fault.device),
    }
}

fn unexplained_layer(device: &BlockDevice) -> String {
    let mut types: Vec<String> = device
        .dm_targets()
        .unwrap_or_default()
        .iter()
        .map(|target| printable(&target.target_type))
        .collect();
    types.sort_unstable();
    types.dedup();
    if types.is_empty() {
        "Its queue refuses discards although everything below takes them.".to_owned()
    } else {
        format!(
            "Its queue refuses discards although everything below takes them; it is made of the \
             device-mapper target {}.",
            units::list(&types)
        )
    }
}

fn raid_level(device: &BlockDevice) -> String {
    match &device.kind {
        DeviceKind::Md {
            level: Some(level), ..
        } => printable(&level.to_uppercase()),
        _ => "RAID".to_owned(),
    }
}
