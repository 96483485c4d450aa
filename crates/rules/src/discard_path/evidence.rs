//! Evidence for why a layer loses discards.

use super::{Cause, Fault};
use facts::Evidence;
use facts::host::{AtaTrim, BlockDevice, DeviceKind, ProvisioningMode};

/// Returns evidence for the limits of a device's queue and, if it was read, for the cause.
pub(crate) fn evidence_of(fault: &Fault<'_>) -> Vec<Evidence> {
    let mut evidence = limits_of(fault.device);
    let path = &fault.device.sysfs_path;
    match (&fault.cause, &fault.device.kind) {
        (Cause::Crypt { table_read: true }, DeviceKind::DeviceMapper { name, uuid, .. }) => {
            let name = name.as_deref().unwrap_or(&fault.device.name);
            evidence.push(Evidence::new(
                format!("dmsetup table {name}"),
                "crypt, without allow_discards",
            ));
            push_uuid(&mut evidence, path, uuid.as_deref());
        }
        (Cause::Crypt { .. }, DeviceKind::DeviceMapper { uuid, .. }) => {
            push_uuid(&mut evidence, path, uuid.as_deref());
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
            let name = name.as_deref().unwrap_or(&fault.device.name);
            for target in targets {
                evidence.push(Evidence::new(
                    format!("dmsetup table {name}"),
                    format!("{} {}", target.target_type, target.options.join(" "))
                        .trim_end()
                        .to_owned(),
                ));
            }
        }
        (
            _,
            DeviceKind::Md {
                level: Some(level), ..
            },
        ) => {
            evidence.push(Evidence::new(format!("{path}/md/level"), level));
        }
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
                evidence.push(Evidence::new(
                    format!("{path}/device/scsi_disk/*/provisioning_mode"),
                    mode_word(*mode),
                ));
            }
            if let Some(trim) = ata_trim {
                evidence.push(Evidence::new(
                    trim_attribute(ata_device.as_deref()),
                    trim_word(*trim),
                ));
            }
            if let Some(model) = model {
                evidence.push(Evidence::new(format!("{path}/device/model"), model));
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

fn push_uuid(evidence: &mut Vec<Evidence>, path: &str, uuid: Option<&str>) {
    if let Some(uuid) = uuid {
        evidence.push(Evidence::new(format!("{path}/dm/uuid"), uuid));
    }
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
