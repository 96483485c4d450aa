//! Determines the storage medium of the drives below a filesystem, and how certain that is.
//!
//! `queue/rotational` alone is not conclusive: loop, virtio and SCSI disks report 1 regardless of
//! their medium. The kind of the drive counts first, then its model, then the flag if its driver is
//! known to query the drive (libata: IDENTIFY word 217; SAS: VPD page B1).

use facts::host::{
    AtaTrim, BlockDevice, Cloud, DeviceKind, Platform, ProvisioningMode, ScsiTransport,
};
use facts::{Evidence, Severity, Stack};

/// The storage medium of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Flash, which slows down if it is not told what is free.
    Flash,
    /// A hard disk.
    Rotating,
    /// Memory (zram).
    Memory,
    /// Cannot be determined from here.
    Unknown,
}

/// Where a drive is located, as seen from this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this machine, or passed through to it as a whole.
    Local,
    /// A cloud's local drive that comes with the instance: real flash, and the customer's to trim.
    InstanceStore,
    /// Emulated by a hypervisor, or a file behind a loop device: the host decides whether discards
    /// go any further.
    Virtual,
    /// A disk of a storage service or another machine (EBS, iSCSI, NVMe over Fabrics).
    Network,
    /// Behind a USB bridge.
    Usb,
}

/// The classification of one drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drive {
    /// The medium.
    pub(crate) medium: Medium,
    /// Whether the medium is certain.
    pub(crate) sure: bool,
    /// The location.
    pub(crate) place: Place,
}

impl Drive {
    fn sure(medium: Medium, place: Place) -> Self {
        Self {
            medium,
            sure: true,
            place,
        }
    }

    fn likely(medium: Medium, place: Place) -> Self {
        Self {
            medium,
            sure: false,
            place,
        }
    }

    fn unknown(place: Place) -> Self {
        Self::likely(Medium::Unknown, place)
    }

    /// Whether it is certainly or probably flash.
    pub(crate) fn is_flash(self) -> bool {
        self.medium == Medium::Flash
    }
}

/// The medium of all drives of a stack combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackMedium {
    /// Every drive is flash, and that is certain.
    Flash,
    /// At least one drive is probably flash.
    LikelyFlash,
    /// Hard disks only.
    Rotating,
    /// Disks of a hypervisor, a storage service or a USB bridge, or memory: nothing is known to be
    /// flash.
    Remote,
    /// Cannot be determined.
    Unknown,
}

impl StackMedium {
    /// Whether it is certainly or probably flash.
    pub(crate) fn is_flash(self) -> bool {
        matches!(self, Self::Flash | Self::LikelyFlash)
    }
}

/// NVMe models that are disks of a storage service. The names are documented by Amazon, Google and
/// Microsoft; `nvme_card-pd` is Google's Persistent Disk.
const NVME_NETWORK: &[&str] = &[
    "Amazon Elastic Block Store",
    "nvme_card-pd",
    "MSFT NVMe Accelerator",
    "Alibaba Cloud Elastic Block Storage",
];

/// NVMe models that are local drives of the cloud host, which come with the instance.
const NVME_INSTANCE_STORE: &[&str] = &[
    "Amazon EC2 NVMe Instance Storage",
    "nvme_card",
    "Microsoft NVMe Direct Disk",
];

/// NVMe controllers emulated by a hypervisor.
const NVME_VIRTUAL: &[&str] = &["QEMU NVMe", "VMware Virtual NVMe", "ORCL-VBOX-NVME"];

/// SCSI vendors and model prefixes of disks emulated by a hypervisor.
const SCSI_VIRTUAL: &[(&str, &str)] = &[
    ("QEMU", "QEMU HARDDISK"),
    ("ATA", "QEMU HARDDISK"),
    ("VMware", "V"),
    ("ATA", "VBOX HARDDISK"),
    ("VBOX", "HARDDISK"),
    ("Msft", "Virtual D"),
    ("XENSRC", ""),
    ("Nutanix", ""),
];

/// SCSI vendors and models of RAID adapters, which determine the flag themselves.
const RAID_ADAPTERS: &[&str] = &[
    "PERC",
    "MR9",
    "MR8",
    "MegaRAID",
    "AVAGO",
    "LOGICAL VOLUME",
    "ServeRA",
    "Adaptec",
    "ARECA",
    "RAID",
    "3ware",
];

/// Classifies one drive (a layer with nothing below it).
pub(crate) fn of_drive(platform: &Platform, drive: &BlockDevice) -> Drive {
    let rotational = drive.rotational;
    match &drive.kind {
        DeviceKind::Nvme {
            model, transport, ..
        } => judge_nvme(model.as_deref().unwrap_or(""), transport.as_deref()),
        DeviceKind::Scsi { .. } => judge_scsi(platform, drive),
        DeviceKind::VirtioBlk { .. } => Drive::unknown(match platform.cloud {
            // Alibaba's cloud disks come as virtio-blk.
            Some(Cloud::Alibaba) => Place::Network,
            _ => Place::Virtual,
        }),
        DeviceKind::Xen | DeviceKind::Loop { .. } => Drive::unknown(Place::Virtual),
        DeviceKind::Mmc => Drive::sure(Medium::Flash, Place::Local),
        DeviceKind::Network { .. } => Drive::unknown(Place::Network),
        DeviceKind::Zram => Drive::sure(Medium::Memory, Place::Local),
        // bcache, dm or md whose lower devices are not visible.
        DeviceKind::Bcache { .. } | DeviceKind::Md { .. } | DeviceKind::DeviceMapper { .. } => {
            match rotational {
                Some(false) => Drive::likely(Medium::Flash, Place::Local),
                _ => Drive::unknown(Place::Local),
            }
        }
        DeviceKind::Partition { .. } | DeviceKind::Other | DeviceKind::Unseen => {
            Drive::unknown(Place::Local)
        }
    }
}

fn judge_nvme(model: &str, transport: Option<&str>) -> Drive {
    let begins_with = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    // Check Persistent Disk before the local SSD, whose name is a prefix of it.
    if begins_with(NVME_NETWORK) {
        Drive::unknown(Place::Network)
    } else if begins_with(NVME_INSTANCE_STORE) {
        Drive::sure(Medium::Flash, Place::InstanceStore)
    } else if begins_with(NVME_VIRTUAL) {
        // An NVMe controller reports flash even if it is emulated by a hypervisor: the real medium
        // is not visible, and the store is configured as if it were flash.
        Drive::sure(Medium::Flash, Place::Virtual)
    } else {
        match transport {
            // A namespace of a storage array may be on any medium, which the array manages itself.
            Some("tcp" | "rdma" | "fc") => Drive::unknown(Place::Network),
            Some("loop") => Drive::unknown(Place::Virtual),
            _ => Drive::sure(Medium::Flash, Place::Local),
        }
    }
}

fn judge_scsi(platform: &Platform, drive: &BlockDevice) -> Drive {
    let DeviceKind::Scsi {
        vendor,
        model,
        provisioning_mode,
        transport,
        ata_trim,
        ..
    } = &drive.kind
    else {
        return Drive::unknown(Place::Local);
    };
    let vendor = vendor.as_deref().unwrap_or("");
    let model = model.as_deref().unwrap_or("");
    if vendor == "Google" {
        return match model {
            "EphemeralDisk" => Drive::sure(Medium::Flash, Place::InstanceStore),
            _ => Drive::unknown(Place::Network),
        };
    }
    let is_virtual = SCSI_VIRTUAL
        .iter()
        .any(|(v, m)| vendor == *v && model.starts_with(m));
    if is_virtual || matches!(transport, ScsiTransport::Virtio | ScsiTransport::Hypervisor) {
        // Azure's managed disks are Hyper-V disks.
        return Drive::unknown(match platform.cloud {
            Some(Cloud::Azure | Cloud::Alibaba) => Place::Network,
            _ => Place::Virtual,
        });
    }
    let calls_itself_ssd = model.contains("SSD") || model.contains("NVMe");
    match transport {
        ScsiTransport::Network => Drive::unknown(Place::Network),
        ScsiTransport::Usb => match drive.rotational {
            Some(false) => Drive::likely(Medium::Flash, Place::Usb),
            _ if calls_itself_ssd => Drive::likely(Medium::Flash, Place::Usb),
            _ => Drive::unknown(Place::Usb),
        },
        ScsiTransport::Ata => match drive.rotational {
            Some(false) => Drive::sure(Medium::Flash, Place::Local),
            _ if calls_itself_ssd => Drive::likely(Medium::Flash, Place::Local),
            // Early SSDs do not report their rotation rate, but a drive without TRIM is not one of
            // them.
            Some(true) if *ata_trim == Some(AtaTrim::Unsupported) => {
                Drive::sure(Medium::Rotating, Place::Local)
            }
            Some(true) => Drive::likely(Medium::Rotating, Place::Local),
            None => Drive::unknown(Place::Local),
        },
        _ => judge_other_scsi(
            platform,
            drive.rotational,
            *provisioning_mode,
            &format!("{vendor} {model}"),
            calls_itself_ssd,
        ),
    }
}

/// Classifies SAS drives and volumes of RAID adapters.
fn judge_other_scsi(
    platform: &Platform,
    rotational: Option<bool>,
    mode: Option<ProvisioningMode>,
    name: &str,
    calls_itself_ssd: bool,
) -> Drive {
    if platform.hypervisor.is_some() {
        return Drive::unknown(Place::Virtual);
    }
    let behind_raid = RAID_ADAPTERS.iter().any(|word| name.contains(word));
    match rotational {
        Some(false) if !behind_raid => Drive::sure(Medium::Flash, Place::Local),
        Some(false) => Drive::likely(Medium::Flash, Place::Local),
        _ if calls_itself_ssd => Drive::likely(Medium::Flash, Place::Local),
        // A thin-provisioned LUN reports that it is rotational and takes UNMAP.
        Some(true) if !behind_raid && mode == Some(ProvisioningMode::Full) => {
            Drive::likely(Medium::Rotating, Place::Local)
        }
        _ => Drive::unknown(Place::Local),
    }
}

/// Classifies the drives of a stack combined, without those of a cache.
pub(crate) fn of_stack(platform: &Platform, stack: &Stack<'_>) -> StackMedium {
    let drives: Vec<Drive> = stack
        .data_drives()
        .map(|leaf| of_drive(platform, leaf))
        .collect();
    let all = |test: fn(&Drive) -> bool| !drives.is_empty() && drives.iter().all(test);
    if all(|drive| drive.is_flash() && drive.sure) {
        StackMedium::Flash
    } else if drives.iter().any(|drive| drive.is_flash()) {
        StackMedium::LikelyFlash
    } else if all(|drive| drive.medium == Medium::Rotating) {
        StackMedium::Rotating
    } else if all(|drive| drive.place != Place::Local || drive.medium == Medium::Memory) {
        StackMedium::Remote
    } else {
        StackMedium::Unknown
    }
}

/// Returns the severity of lost discards: an error if a store's data is certainly on flash, an
/// information if nothing indicates flash.
pub(crate) fn severity_of_lost_discards(medium: StackMedium, has_store: bool) -> Severity {
    match (has_store, medium) {
        (true, StackMedium::Flash) => Severity::Error,
        (_, StackMedium::Rotating) | (false, StackMedium::Remote) => Severity::Info,
        _ => Severity::Warning,
    }
}

/// Returns the evidence for the classification of a drive.
pub(crate) fn evidence(drive: &BlockDevice) -> Evidence {
    if let Some(model) = drive.model() {
        return Evidence::new(format!("{}/device/model", drive.sysfs_path), model);
    }
    let value = match &drive.kind {
        DeviceKind::VirtioBlk { .. } => "virtio-blk".to_owned(),
        DeviceKind::Xen => "Xen virtual disk".to_owned(),
        DeviceKind::Loop { backing_file } => {
            return Evidence::new(
                format!("{}/loop/backing_file", drive.sysfs_path),
                backing_file.as_deref().unwrap_or("unknown"),
            );
        }
        DeviceKind::Network { driver } => driver.clone(),
        DeviceKind::Mmc => "MMC".to_owned(),
        _ => {
            let rotational = match drive.rotational {
                Some(true) => "1",
                Some(false) => "0",
                None => "unknown",
            };
            return Evidence::new(format!("{}/queue/rotational", drive.sysfs_path), rotational);
        }
    };
    Evidence::new(format!("{}/device", drive.sysfs_path), value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    fn judge(drive: &BlockDevice) -> Drive {
        of_drive(&Platform::default(), drive)
    }

    #[test]
    fn rotational_alone_is_not_conclusive() {
        let disk = scsi("sda", "QEMU", "QEMU HARDDISK", ScsiTransport::Virtio);
        assert_eq!(disk.rotational, Some(true));
        assert_eq!(judge(&disk), Drive::unknown(Place::Virtual));
        assert_eq!(judge(&virtio("vda")).medium, Medium::Unknown);
        let mut ahci = scsi("sdb", "ATA", "QEMU HARDDISK", ScsiTransport::Ata);
        ahci.rotational = Some(false);
        assert_eq!(judge(&ahci).place, Place::Virtual);
    }

    #[test]
    fn drives_that_report_their_medium() {
        assert_eq!(
            judge(&nvme("nvme0n1")),
            Drive::sure(Medium::Flash, Place::Local)
        );
        assert_eq!(
            judge(&sata("sda")),
            Drive::sure(Medium::Flash, Place::Local)
        );
        assert_eq!(
            judge(&hard_disk("sda")),
            Drive::sure(Medium::Rotating, Place::Local)
        );
    }

    #[test]
    fn cloud_drive_models() {
        let place = |model| judge(&nvme_model("nvme0n1", model)).place;
        assert_eq!(place("Amazon Elastic Block Store"), Place::Network);
        assert_eq!(
            place("Amazon EC2 NVMe Instance Storage"),
            Place::InstanceStore
        );
        assert_eq!(place("nvme_card-pd"), Place::Network);
        assert_eq!(place("nvme_card0"), Place::InstanceStore);
        assert_eq!(place("MSFT NVMe Accelerator v1.0"), Place::Network);
        assert_eq!(place("QEMU NVMe Ctrl"), Place::Virtual);
        let disk = scsi("sda", "Google", "PersistentDisk", ScsiTransport::Virtio);
        assert_eq!(judge(&disk).place, Place::Network);
    }

    #[test]
    fn a_namespace_of_an_array_is_a_network_disk() {
        let mut drive = nvme("nvme4n1");
        if let DeviceKind::Nvme { transport, .. } = &mut drive.kind {
            *transport = Some("tcp".to_owned());
        }
        assert_eq!(judge(&drive), Drive::unknown(Place::Network));
    }

    #[test]
    fn a_raid_adapters_flag_is_not_certain() {
        let mut volume = scsi("sda", "DELL", "PERC H740P Mini", ScsiTransport::Other);
        volume.rotational = Some(false);
        assert_eq!(judge(&volume), Drive::likely(Medium::Flash, Place::Local));
        let mut sas = scsi("sdb", "SEAGATE", "XS960SE70004", ScsiTransport::Other);
        sas.rotational = Some(false);
        assert_eq!(judge(&sas), Drive::sure(Medium::Flash, Place::Local));
    }

    #[test]
    fn one_doubtful_drive_makes_the_stack_doubtful() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), hard_disk("sda"), nvme("nvme1n1")])
            .device(md("md0", "raid1", &["nvme0n1", "sda"]))
            .device(md("md1", "raid1", &["nvme0n1", "nvme1n1"]))
            .build();
        let of = |name: &str| {
            let device = host.device(name).expect("device");
            of_stack(&host.platform, &host.stack_below(device))
        };
        assert_eq!(of("md0"), StackMedium::LikelyFlash);
        assert_eq!(of("md1"), StackMedium::Flash);
        assert_eq!(of("sda"), StackMedium::Rotating);
    }

    #[test]
    fn severity_needs_a_store_and_certain_flash_for_an_error() {
        use Severity::{Error, Info, Warning};
        let cases = [
            (StackMedium::Flash, true, Error),
            (StackMedium::Flash, false, Warning),
            (StackMedium::LikelyFlash, true, Warning),
            (StackMedium::Unknown, false, Warning),
            (StackMedium::Remote, true, Warning),
            (StackMedium::Remote, false, Info),
            (StackMedium::Rotating, true, Info),
        ];
        for (medium, has_store, expected) in cases {
            assert_eq!(severity_of_lost_discards(medium, has_store), expected);
        }
    }
}
