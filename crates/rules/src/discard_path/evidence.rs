//! Evidence for why a layer loses discards.

use super::{Cause, Fault};
use facts::Evidence;
use facts::host::{AtaTrim, BlockDevice, DeviceKind, ProvisioningMode};

/// Returns evidence for the limits of a device's queue and, if it was read, for the cause.
pub(crate) fn evidence_of(fault: &Fault<'_>) -> Vec<Evidence> {
    let mut evidence = limits_of(fault.device);
    let mut push = |source: String, value: &str| evidence.push(Evidence::new(source, value));
    let path = &fault.device.sysfs_path;
    let table_of = |name: Option<&str>| {
        let name = name.unwrap_or(&fault.device.name);
        format!("dmsetup table {name}")
    };
    match (&fault.cause, &fault.device.kind) {
        (Cause::Crypt { table_read }, DeviceKind::DeviceMapper { name, uuid, .. }) => {
            if *table_read {
                push(table_of(name.as_deref()), "crypt, without allow_discards");
            }
            if let Some(uuid) = uuid {
                push(format!("{path}/dm/uuid"), uuid);
            }
        }
        (
            Cause::ThinIgnore { table_read: true }
            | Cause::ThinNoPassdown { table_read: true }
            | Cause::CacheNoPassdown
            | Cause::DmParityRaid,
            DeviceKind::DeviceMapper {
                name,
                targets: Some(targets),
                ..
            },
        ) => {
            for target in targets {
                let line = format!("{} {}", target.target_type, target.options.join(" "));
                push(table_of(name.as_deref()), line.trim_end());
            }
        }
        (
            _,
            DeviceKind::Md {
                level: Some(level), ..
            },
        ) => push(format!("{path}/md/level"), level),
        (
            _,
            DeviceKind::Scsi {
                model,
                provisioning_mode,
                ata_trim,
                ata_device,
                ..
            },
        ) => {
            if let Some(mode) = provisioning_mode {
                let source = format!("{path}/device/scsi_disk/*/provisioning_mode");
                push(source, mode_word(*mode));
            }
            if let Some(trim) = ata_trim {
                push(trim_attribute(ata_device.as_deref()), trim_word(*trim));
            }
            if let Some(model) = model {
                push(format!("{path}/device/model"), model);
            }
        }
        _ => {}
    }
    evidence
}

/// Returns the path of libata's attribute for the TRIM support of a drive.
pub(crate) fn trim_attribute(ata_device: Option<&str>) -> String {
    format!("sys/class/ata_device/{}/trim", ata_device.unwrap_or("*"))
}

/// Returns the discard limits of a device as evidence.
pub(crate) fn limits_of(device: &BlockDevice) -> Vec<Evidence> {
    let Some(limits) = device.discard else {
        return Vec::new();
    };
    [
        ("discard_max_bytes", limits.max_bytes),
        ("discard_max_hw_bytes", limits.max_hw_bytes),
    ]
    .into_iter()
    .filter_map(|(name, value)| {
        let source = format!("{}/queue/{name}", device.sysfs_path);
        Some(Evidence::new(source, value?))
    })
    .collect()
}

/// Returns the name used in sysfs.
fn mode_word(mode: ProvisioningMode) -> &'static str {
    match mode {
        ProvisioningMode::Full => "full",
        ProvisioningMode::Unmap => "unmap",
        ProvisioningMode::Writesame16 => "writesame_16",
        ProvisioningMode::Writesame10 => "writesame_10",
        ProvisioningMode::WritesameZero => "writesame_zero",
        ProvisioningMode::Disabled => "disabled",
    }
}

/// Returns the name used in sysfs.
fn trim_word(trim: AtaTrim) -> &'static str {
    match trim {
        AtaTrim::Unsupported => "unsupported",
        AtaTrim::Unqueued => "unqueued",
        AtaTrim::Queued => "queued",
        AtaTrim::ForcedUnqueued => "forced_unqueued",
        AtaTrim::ForcedUnsupported => "forced_unsupported",
    }
}
