//! Disks behind the SCSI layer: identity, transport, and how discards are sent.

use crate::source::Reader;
use facts::Skipped;
use facts::host::{AtaTrim, DeviceKind, ProvisioningMode, ScsiTransport};

/// Vendors (SCSI INQUIRY) of disks provided by a hypervisor, whatever adapter it emulates.
const VIRTUAL_VENDORS: &[&str] = &["Msft", "QEMU", "VBOX", "VMware", "VMware,"];

/// Reads the disk at `sys/block/NAME`.
pub(super) fn read(reader: &Reader<'_>, path: &str, skipped: &mut Vec<Skipped>) -> DeviceKind {
    let attribute = |name: &str| reader.attribute(&format!("{path}/device/{name}"));
    // ../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda
    let link = reader.link(path).unwrap_or_default();
    let vendor = attribute("vendor");
    let transport = transport(reader, &link, vendor.as_deref());
    let (ata_device, ata_trim) = match transport {
        ScsiTransport::Ata => ata_trim(reader, &link).unzip(),
        _ => (None, None),
    };
    DeviceKind::Scsi {
        vendor,
        model: attribute("model"),
        revision: attribute("rev"),
        provisioning_mode: provisioning_mode(reader, path, skipped),
        transport,
        ata_trim: ata_trim.flatten(),
        ata_device,
    }
}

/// `lbp_mode` in the kernel's `drivers/scsi/sd.c`.
fn provisioning_mode(
    reader: &Reader<'_>,
    path: &str,
    skipped: &mut Vec<Skipped>,
) -> Option<ProvisioningMode> {
    // The only entry, named by the SCSI address; an optical drive has none.
    let addresses = reader.list(&format!("{path}/device/scsi_disk")).ok()?;
    let path = format!(
        "{path}/device/scsi_disk/{}/provisioning_mode",
        addresses.first()?
    );
    let mode = reader.attribute(&path)?;
    match mode.as_str() {
        "full" => Some(ProvisioningMode::Full),
        "unmap" => Some(ProvisioningMode::Unmap),
        "writesame_16" => Some(ProvisioningMode::Writesame16),
        "writesame_10" => Some(ProvisioningMode::Writesame10),
        "writesame_zero" => Some(ProvisioningMode::WritesameZero),
        "disabled" => Some(ProvisioningMode::Disabled),
        _ => {
            skipped.push(unknown(&path));
            None
        }
    }
}

fn unknown(path: &str) -> Skipped {
    Skipped::new(path, "holds a word that this version does not know", None)
}

/// Determines a disk's transport from the devices above it in sysfs.
fn transport(reader: &Reader<'_>, link: &str, vendor: Option<&str>) -> ScsiTransport {
    let mut host = None;
    for device in link.split('/') {
        if numbered(device, "ata").is_some() {
            return ScsiTransport::Ata;
        }
        if numbered(device, "usb").is_some() {
            return ScsiTransport::Usb;
        }
        if numbered(device, "virtio").is_some() {
            return ScsiTransport::Virtio;
        }
        // iSCSI, Fibre Channel.
        if numbered(device, "session").is_some() || device.starts_with("rport-") {
            return ScsiTransport::Network;
        }
        // Hyper-V's bus: by its ACPI device (VMBUS, MSFT1000), or its name on old kernels
        // (vmbus_0_1).
        if device.to_ascii_lowercase().starts_with("vmbus") || device.starts_with("MSFT1000") {
            return ScsiTransport::Hypervisor;
        }
        host = host.or_else(|| numbered(device, "host").map(|_| device));
    }
    // A PCI adapter: its driver reveals more.
    let driver =
        host.and_then(|host| reader.attribute(&format!("sys/class/scsi_host/{host}/proc_name")));
    match driver.as_deref() {
        Some("ib_srp") => ScsiTransport::Network,
        Some("vmw_pvscsi" | "storvsc" | "storvsc_host") => ScsiTransport::Hypervisor,
        _ if vendor.is_some_and(|vendor| VIRTUAL_VENDORS.contains(&vendor)) => {
            ScsiTransport::Hypervisor
        }
        _ => ScsiTransport::Other,
    }
}

/// Returns the number after a prefix: 3 for `ata3` and `ata`.
fn numbered(device: &str, prefix: &str) -> Option<u32> {
    let digits = device.strip_prefix(prefix)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Reads `sys/class/ata_device/devP.D/trim`, as defined in the kernel's
/// `drivers/ata/libata-transport.c`: P is the port number, D the device number (0, or 1 for a
/// slave); for a disk behind a port multiplier it is `devP.M.0`. The SCSI address
/// HOST:CHANNEL:ID:LUN has D as its id and M as its channel (`ata_scsi_scan_host`). Returns the
/// device name and its TRIM support, which is `None` for an unknown value.
fn ata_trim(reader: &Reader<'_>, link: &str) -> Option<(String, Option<AtaTrim>)> {
    let mut devices = link.split('/');
    let port = devices.find_map(|device| numbered(device, "ata"))?;
    let target = devices.find_map(|device| device.strip_prefix("target"))?;
    let mut parts = target.split(':').skip(1);
    let channel: u32 = parts.next()?.parse().ok()?;
    let id: u32 = parts.next()?.parse().ok()?;
    let direct = format!("dev{port}.{id}");
    let behind_multiplier = format!("dev{port}.{channel}.0");
    let names = if channel == 0 {
        [direct, behind_multiplier]
    } else {
        [behind_multiplier, direct]
    };
    let (name, word) = names.into_iter().find_map(|name| {
        let word = reader.attribute(&format!("sys/class/ata_device/{name}/trim"))?;
        Some((name, word))
    })?;
    let trim = match word.as_str() {
        "unsupported" => Some(AtaTrim::Unsupported),
        "unqueued" => Some(AtaTrim::Unqueued),
        "queued" => Some(AtaTrim::Queued),
        "forced_unqueued" => Some(AtaTrim::ForcedUnqueued),
        "forced_unsupported" => Some(AtaTrim::ForcedUnsupported),
        _ => None,
    };
    Some((name, trim))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    /// Reads a disk with these attributes below `sys/block/sda`, which are stored where the link
    /// points.
    fn disk(link: &str, files: &[(&str, &str)]) -> (DeviceKind, Vec<Skipped>) {
        let mut source = MemorySource::new();
        if !link.is_empty() {
            source = source.symlink("sys/block/sda", link);
        }
        for (path, content) in files {
            let path = match (path.strip_prefix("sys/block/sda"), link.strip_prefix("..")) {
                (Some(attribute), Some(target)) => format!("sys{target}{attribute}"),
                _ => (*path).to_owned(),
            };
            source = source.file(&path, content);
        }
        let reader = Reader::new(&source);
        let mut skipped = Vec::new();
        (read(&reader, "sys/block/sda", &mut skipped), skipped)
    }

    fn transport_of(link: &str, files: &[(&str, &str)]) -> ScsiTransport {
        match disk(link, files).0 {
            DeviceKind::Scsi { transport, .. } => transport,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn links_reveal_the_transport() {
        for (link, expected) in [
            (
                "../devices/pci0000:00/0000:00:04.0/virtio2/host0/target0:0:0/0:0:0:0/block/sda",
                ScsiTransport::Virtio,
            ),
            (
                "../devices/pci0000:00/0000:00:05.0/ata1/host1/target1:0:0/1:0:0:0/block/sda",
                ScsiTransport::Ata,
            ),
            (
                "../devices/pci0000:00/0000:00:08.0/usb2/2-1/2-1:1.0/host7/target7:0:0/7:0:0:0/block/sda",
                ScsiTransport::Usb,
            ),
            (
                "../devices/platform/host2/session1/target2:0:0/2:0:0:1/block/sda",
                ScsiTransport::Network,
            ),
            (
                "../devices/pci0000:80/0000:81:00.0/host1/rport-1:0-2/target1:0:2/1:0:2:5/block/sda",
                ScsiTransport::Network,
            ),
            (
                "../devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/fd1d2cbd-ce7c-535c-966b-eb5f811c95f0/host0/target0:0:0/0:0:0:0/block/sda",
                ScsiTransport::Hypervisor,
            ),
            (
                "../devices/LNXSYSTM:00/device:00/PNP0A03:00/device:07/VMBUS:01/vmbus_0_1/host2/target2:0:0/2:0:0:0/block/sda",
                ScsiTransport::Hypervisor,
            ),
            (
                "../devices/pci0000:00/0000:00:1f.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda",
                ScsiTransport::Other,
            ),
            ("", ScsiTransport::Other),
        ] {
            assert_eq!(transport_of(link, &[]), expected, "{link}");
        }
    }

    #[test]
    fn adapters_and_vendors_reveal_other_transports() {
        let link = "../devices/pci0000:00/0000:00:15.0/0000:03:00.0/host32/target32:0:0/32:0:0:0/block/sda";
        let proc_name = "sys/class/scsi_host/host32/proc_name";
        assert_eq!(
            transport_of(link, &[(proc_name, "vmw_pvscsi\n")]),
            ScsiTransport::Hypervisor
        );
        assert_eq!(
            transport_of(link, &[(proc_name, "ib_srp\n")]),
            ScsiTransport::Network
        );
        assert_eq!(
            transport_of(link, &[(proc_name, "megaraid_sas\n")]),
            ScsiTransport::Other
        );
        assert_eq!(
            transport_of(
                link,
                &[
                    (proc_name, "mptspi\n"),
                    ("sys/block/sda/device/vendor", "VMware  \n")
                ]
            ),
            ScsiTransport::Hypervisor
        );
    }

    #[test]
    fn a_sata_ssd_with_its_trim() {
        let link = "../devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda";
        let (kind, skipped) = disk(
            link,
            &[
                ("sys/block/sda/device/vendor", "ATA     \n"),
                ("sys/block/sda/device/model", "Samsung SSD 860 \n"),
                ("sys/block/sda/device/rev", "1B6Q\n"),
                (
                    "sys/block/sda/device/scsi_disk/2:0:0:0/provisioning_mode",
                    "writesame_16\n",
                ),
                ("sys/class/ata_device/dev3.0/trim", "forced_unqueued\n"),
                ("sys/class/ata_device/dev2.0/trim", "queued\n"),
            ],
        );
        assert_eq!(skipped, []);
        assert_eq!(
            kind,
            DeviceKind::Scsi {
                vendor: Some("ATA".to_owned()),
                model: Some("Samsung SSD 860".to_owned()),
                revision: Some("1B6Q".to_owned()),
                provisioning_mode: Some(ProvisioningMode::Writesame16),
                transport: ScsiTransport::Ata,
                ata_trim: Some(AtaTrim::ForcedUnqueued),
                ata_device: Some("dev3.0".to_owned()),
            }
        );
    }

    #[test]
    fn disks_behind_a_port_multiplier_have_their_own_trim() {
        let files = [
            ("sys/class/ata_device/dev5.2.0/trim", "unqueued\n"),
            ("sys/class/ata_device/dev5.0.0/trim", "queued\n"),
        ];
        let trim = |target: &str| {
            let link =
                format!("../devices/pci0000:00/0000:00:1f.2/ata5/host4/target{target}/x/block/sda");
            match disk(&link, &files).0 {
                DeviceKind::Scsi { ata_trim, .. } => ata_trim,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(trim("4:2:0"), Some(AtaTrim::Unqueued));
        assert_eq!(trim("4:0:0"), Some(AtaTrim::Queued));
        assert_eq!(trim("4:9:9"), None);
        assert_eq!(trim("broken"), None);
    }

    #[test]
    fn every_provisioning_mode_of_the_kernel() {
        for (word, mode) in [
            ("full", Some(ProvisioningMode::Full)),
            ("unmap", Some(ProvisioningMode::Unmap)),
            ("writesame_16", Some(ProvisioningMode::Writesame16)),
            ("writesame_10", Some(ProvisioningMode::Writesame10)),
            ("writesame_zero", Some(ProvisioningMode::WritesameZero)),
            ("disabled", Some(ProvisioningMode::Disabled)),
            ("something", None),
        ] {
            let path = "sys/block/sda/device/scsi_disk/0:0:0:0/provisioning_mode";
            let (kind, skipped) = disk("", &[(path, word)]);
            let DeviceKind::Scsi {
                provisioning_mode, ..
            } = kind
            else {
                panic!("{kind:?}");
            };
            assert_eq!(provisioning_mode, mode);
            assert_eq!(skipped.len(), usize::from(mode.is_none()));
        }
    }
}
