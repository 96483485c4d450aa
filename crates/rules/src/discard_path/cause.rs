//! Why a layer loses discards, as far as its own facts show.

use facts::host::{AtaTrim, BlockDevice, DeviceKind, DmTarget, ProvisioningMode, ScsiTransport};

/// Why a layer loses discards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// `discard_max_bytes` is 0 and the hardware limit is not: it was set to 0 by hand, or by a
    /// driver after a discard failed.
    SwitchedOff {
        /// The hardware limit in bytes.
        max_hw_bytes: u64,
    },
    /// dm-crypt volume opened without `allow_discards`.
    Crypt {
        /// Whether the table was read and lacks the flag; otherwise only the limits show it.
        table_read: bool,
    },
    /// md RAID 4, 5 or 6 without `devices_handle_discard_safely`.
    ParityRaid,
    /// Device-mapper RAID 4, 5 or 6 (LVM), which depends on the same parameter.
    DmParityRaid,
    /// Thin pool that ignores discards.
    ThinIgnore {
        /// Whether the table was read and contains the flag; otherwise only the limits show it.
        table_read: bool,
    },
    /// Thin pool that frees its own blocks and does not tell the drives.
    ThinNoPassdown {
        /// Whether the table was read and contains the flag; otherwise only the limits show it.
        table_read: bool,
    },
    /// dm-cache that does not pass discards to the slow device.
    CacheNoPassdown,
    /// SCSI disk that does not announce UNMAP (`full`), or on which it was disabled (`disabled`).
    Provisioning(ProvisioningMode),
    /// SATA drive for which the kernel's blocklist forbids TRIM.
    Blocklisted,
    /// SATA drive without TRIM.
    AtaUnsupported,
    /// A USB bridge.
    Usb,
    /// virtio-blk without the discard feature.
    VirtioBlk,
    /// The queue refuses for no known reason.
    Unexplained,
}

/// Whether this is a thin pool's own device, by its table or LVM's suffix.
pub(crate) fn is_thin_pool(device: &BlockDevice) -> bool {
    has_target(device, "thin-pool")
        || (device.dm_targets().is_none()
            && device
                .dm_uuid()
                .is_some_and(|uuid| uuid.ends_with("-tpool")))
}

/// Whether this is a VDO volume: it uses discards for its own map and passes none down.
pub(crate) fn is_vdo(device: &BlockDevice) -> bool {
    has_target(device, "vdo")
        || (device.dm_targets().is_none()
            && device
                .dm_uuid()
                .is_some_and(|uuid| uuid.starts_with("VDO-") || uuid.ends_with("-vpool")))
}

/// Whether a device's device-mapper table has a target of this type.
pub(crate) fn has_target(device: &BlockDevice, target_type: &str) -> bool {
    device
        .dm_targets()
        .is_some_and(|targets| targets.iter().any(|t| t.target_type == target_type))
}

/// Whether this holds metadata of a thin pool, a cache or a RAID: discards of data do not go there.
pub(super) fn is_metadata(device: &BlockDevice) -> bool {
    let DeviceKind::DeviceMapper { name, uuid, .. } = &device.kind else {
        return false;
    };
    uuid.as_deref()
        .is_some_and(|uuid| ["-tmeta", "-cmeta"].iter().any(|end| uuid.ends_with(end)))
        || name.as_deref().is_some_and(|name| {
            ["_tmeta", "_cmeta"].iter().any(|end| name.ends_with(end)) || name.contains("_rmeta_")
        })
}

/// Returns why a layer takes discards without passing them on, according to its table.
pub(super) fn swallows(device: &BlockDevice) -> Option<Cause> {
    let targets = device.dm_targets()?;
    let with_word = |target_type: &str| {
        targets
            .iter()
            .any(|t| t.target_type == target_type && t.has("no_discard_passdown"))
    };
    if with_word("thin-pool") {
        Some(Cause::ThinNoPassdown { table_read: true })
    } else if with_word("cache") {
        Some(Cause::CacheNoPassdown)
    } else {
        None
    }
}

/// Models for which libata sets NOTRIM (drivers/ata/libata-core.c), as shown by the SCSI layer,
/// which cuts models to 16 characters.
const NO_TRIM_MODELS: &[&str] = &["SuperSSpeed S238", "M88V29"];

/// Whether the kernel disables TRIM on this drive because of its firmware.
pub(crate) fn is_blocklisted(drive: &BlockDevice) -> bool {
    let DeviceKind::Scsi {
        vendor,
        model,
        provisioning_mode,
        ata_trim,
        ..
    } = &drive.kind
    else {
        return false;
    };
    let on_the_list = vendor.as_deref() == Some("ATA")
        && model.as_deref().is_some_and(|model| {
            NO_TRIM_MODELS
                .iter()
                .any(|listed| model.starts_with(listed))
        });
    *ata_trim == Some(AtaTrim::ForcedUnsupported)
        || (on_the_list && *provisioning_mode == Some(ProvisioningMode::Disabled))
}

/// Returns why a layer refuses, if its own facts show it.
pub(super) fn own_cause(device: &BlockDevice) -> Option<Cause> {
    let own = match &device.kind {
        DeviceKind::DeviceMapper { uuid, targets, .. } => {
            dm_cause(uuid.as_deref(), targets.as_deref())
        }
        DeviceKind::Md { level, .. } => {
            matches!(level.as_deref(), Some("raid4" | "raid5" | "raid6"))
                .then_some(Cause::ParityRaid)
        }
        _ if is_blocklisted(device) => Some(Cause::Blocklisted),
        DeviceKind::VirtioBlk { .. } => Some(Cause::VirtioBlk),
        DeviceKind::Scsi {
            provisioning_mode,
            transport,
            ata_trim,
            ..
        } => scsi_cause(*provisioning_mode, *transport, *ata_trim),
        _ => None,
    };
    // Two drivers overwrite a hardware limit with 0 themselves: sd when UNMAP failed (from Linux
    // 6.10, with the mode `disabled`), and dm-thin for a pool whose data device only takes discards
    // smaller than the pool's blocks (before 6.10, pool_io_hints).
    let driver_did_it = match own {
        Some(Cause::Provisioning(_) | Cause::Blocklisted) => true,
        _ => is_thin_pool(device),
    };
    if driver_did_it {
        return own;
    }
    switched_off(device).or(own)
}

fn switched_off(device: &BlockDevice) -> Option<Cause> {
    let limits = device.discard?;
    let max_hw_bytes = limits.max_hw_bytes.filter(|&bytes| bytes > 0)?;
    (limits.max_bytes == Some(0)).then_some(Cause::SwitchedOff { max_hw_bytes })
}

fn dm_cause(uuid: Option<&str>, targets: Option<&[DmTarget]>) -> Option<Cause> {
    let Some(targets) = targets else {
        return uuid
            .is_some_and(|uuid| uuid.starts_with("CRYPT-"))
            .then_some(Cause::Crypt { table_read: false });
    };
    targets
        .iter()
        .find_map(|target| match target.target_type.as_str() {
            "crypt" if !target.has("allow_discards") => Some(Cause::Crypt { table_read: true }),
            "thin-pool" if target.has("ignore_discard") => {
                Some(Cause::ThinIgnore { table_read: true })
            }
            "thin-pool" if target.has("no_discard_passdown") => {
                Some(Cause::ThinNoPassdown { table_read: true })
            }
            "raid" => {
                let is_parity = |word: &String| {
                    ["raid4", "raid5", "raid6"]
                        .iter()
                        .any(|level| word.starts_with(level))
                };
                target
                    .options
                    .iter()
                    .any(is_parity)
                    .then_some(Cause::DmParityRaid)
            }
            _ => None,
        })
}

fn scsi_cause(
    mode: Option<ProvisioningMode>,
    transport: ScsiTransport,
    ata_trim: Option<AtaTrim>,
) -> Option<Cause> {
    match (ata_trim, transport, mode) {
        (Some(AtaTrim::Unsupported), _, _) => Some(Cause::AtaUnsupported),
        (_, ScsiTransport::Usb, _) => Some(Cause::Usb),
        (_, _, Some(mode @ (ProvisioningMode::Full | ProvisioningMode::Disabled))) => {
            Some(Cause::Provisioning(mode))
        }
        _ => None,
    }
}
