use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Major and minor number of a device.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct DeviceNumber {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// One block device in sysfs: a drive, a partition, or a layer on top of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name: `nvme0n1`, `sda1`, `dm-0`, `md127`.
    pub name: String,
    /// Device number.
    pub number: DeviceNumber,
    /// Directory of its attributes, without the leading slash: `sys/block/dm-0`, or
    /// `sys/class/block/sda1` for a partition. Evidence is named relative to it.
    pub sysfs_path: String,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Kind of device.
    pub kind: DeviceKind,
    /// Kernel names of the devices directly below: `slaves`, or the disk of a partition. Sorted.
    pub below: Vec<String>,
    /// Discard limits of its request queue; `None` for a partition, which uses its disk's.
    pub discard: Option<DiscardLimits>,
    /// Block sizes and stripe hints of its queue; `None` for a partition.
    pub io_limits: Option<IoLimits>,
    /// `queue/rotational`. Loop, virtio and SCSI disks report 1 regardless of the medium.
    pub rotational: Option<bool>,
    /// Whether it is read-only.
    pub read_only: Option<bool>,
    /// Counters since boot (or since the device appeared).
    pub counters: Option<IoCounters>,
}

impl BlockDevice {
    /// Returns the path that people type.
    pub fn dev_path(&self) -> String {
        match &self.kind {
            DeviceKind::DeviceMapper {
                name: Some(name), ..
            } => format!("/dev/mapper/{name}"),
            _ => format!("/dev/{}", self.name.replace('!', "/")),
        }
    }

    /// Returns the drive's model name, for kinds that have one.
    pub fn model(&self) -> Option<&str> {
        match &self.kind {
            DeviceKind::Nvme { model, .. } | DeviceKind::Scsi { model, .. } => model.as_deref(),
            _ => None,
        }
    }

    /// Returns the device-mapper UUID, whose prefix names the owner (`CRYPT-`, `LVM-`, `mpath-`).
    pub fn dm_uuid(&self) -> Option<&str> {
        match &self.kind {
            DeviceKind::DeviceMapper { uuid, .. } => uuid.as_deref(),
            _ => None,
        }
    }

    /// Whether it can be a drive, below which nothing is, and anything of its queue was read.
    pub fn is_known_drive(&self) -> bool {
        let lies_on_others = matches!(
            self.kind,
            DeviceKind::DeviceMapper { .. } | DeviceKind::Md { .. }
        );
        let limits = self.discard.unwrap_or_default();
        !lies_on_others && (limits != DiscardLimits::default() || self.rotational.is_some())
    }

    /// Whether a device directly below merely caches what another one below holds (bcache, dm-cache,
    /// dm-writecache): discards of data do not go there.
    pub fn is_cached_on(&self, below: &Self) -> bool {
        if let DeviceKind::Bcache { backing } = &self.kind {
            return backing.as_ref().is_some_and(|name| *name != below.name);
        }
        let Some([target]) = self.dm_targets() else {
            return false;
        };
        let origin = match (target.target_type.as_str(), target.devices.as_slice()) {
            // Metadata, cache, origin.
            ("cache", [_, _, origin, ..]) | ("writecache", [origin, _, ..]) => *origin,
            _ => return false,
        };
        below.number != origin
    }

    /// Returns the device-mapper targets, if the table could be read.
    pub fn dm_targets(&self) -> Option<&[DmTarget]> {
        match &self.kind {
            DeviceKind::DeviceMapper { targets, .. } => targets.as_deref(),
            _ => None,
        }
    }
}

/// Kind of block device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DeviceKind {
    /// A partition of the disk below.
    Partition {
        /// Offset of its first byte on the disk.
        start_bytes: Option<u64>,
    },
    /// An NVMe namespace.
    Nvme {
        /// Model of the controller, trimmed.
        model: Option<String>,
        /// Firmware revision.
        firmware: Option<String>,
        /// Serial number.
        serial: Option<String>,
        /// `pcie`, `tcp`, `rdma`, `fc`, `loop`.
        transport: Option<String>,
    },
    /// A disk behind the SCSI layer: SAS, SATA, USB, virtio-scsi, iSCSI.
    Scsi {
        /// Vendor, trimmed (`ATA` for SATA drives).
        vendor: Option<String>,
        /// Model, trimmed; the SCSI layer cuts it to 16 characters.
        model: Option<String>,
        /// Firmware revision.
        revision: Option<String>,
        /// How discards are sent.
        provisioning_mode: Option<ProvisioningMode>,
        /// Transport or driver it is attached through.
        transport: ScsiTransport,
        /// What libata reports about TRIM, for SATA drives.
        ata_trim: Option<AtaTrim>,
        /// libata's name for a SATA drive below `sys/class/ata_device`: `dev3.0`.
        ata_device: Option<String>,
    },
    /// A virtio-blk disk.
    VirtioBlk {
        /// Serial number given by the host.
        serial: Option<String>,
    },
    /// A Xen virtual disk (`xvda`).
    Xen,
    /// An MMC or SD card, eMMC.
    Mmc,
    /// A network block device with its own driver (`nbd`, `rbd`, `drbd`).
    Network {
        /// Driver name.
        driver: String,
    },
    /// A loop device.
    Loop {
        /// The file behind it.
        backing_file: Option<String>,
    },
    /// A software RAID.
    Md {
        /// `raid0`, `raid1`, `raid5`, `linear`, ...
        level: Option<String>,
        /// Chunk size in bytes; `None` if the level has none.
        chunk_bytes: Option<u64>,
        /// Number of devices in the array, without spares.
        raid_disks: Option<u32>,
        /// `clean`, `active`, `inactive`, ...
        array_state: Option<String>,
        /// `idle`, `check`, `resync`, `recover`, ...
        sync_action: Option<String>,
    },
    /// A device-mapper device: dm-crypt, LVM, multipath, VDO.
    DeviceMapper {
        /// Name below /dev/mapper.
        name: Option<String>,
        /// UUID; its prefix names the owner.
        uuid: Option<String>,
        /// The table without keys; `None` if reading it requires root.
        targets: Option<Vec<DmTarget>>,
    },
    /// Compressed memory.
    Zram,
    /// A bcache device.
    Bcache {
        /// Kernel name of the device that holds its data; the others below are caches. `None` if
        /// unknown, and for a volume that lies on the cache alone.
        backing: Option<String>,
    },
    /// A legacy VDO, or a driver unknown to this tool.
    #[default]
    Other,
    /// Only named by a mount: no block devices were read.
    Unseen,
}

/// One line of a device-mapper table. Fields that hold a key are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DmTarget {
    /// First 512-byte sector.
    pub start_sectors: u64,
    /// Length in 512-byte sectors.
    pub len_sectors: u64,
    /// `linear`, `striped`, `crypt`, `thin`, `thin-pool`, `vdo`, `raid`, ...
    pub target_type: String,
    /// Devices the target refers to, as `major:minor`.
    pub devices: Vec<DeviceNumber>,
    /// Optional arguments that matter here: `allow_discards`, `ignore_discard`,
    /// `no_discard_passdown`, `raid5_ls`.
    pub options: Vec<String>,
    /// Stripe or chunk size in bytes, for striped and raid targets.
    pub chunk_bytes: Option<u64>,
    /// Number of stripes, for striped targets.
    pub stripes: Option<u32>,
}

impl DmTarget {
    /// Whether an optional argument is set.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|word| word == option)
    }
}

/// Discard limits of a request queue. Granularity alone is no evidence of support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiscardLimits {
    /// `discard_granularity`.
    pub granularity_bytes: Option<u64>,
    /// `discard_max_bytes`; 0 means that discards are refused. Writable by root.
    pub max_bytes: Option<u64>,
    /// `discard_max_hw_bytes`; missing before kernel 4.3.
    pub max_hw_bytes: Option<u64>,
}

impl DiscardLimits {
    /// Whether the queue accepts discards at all; `None` if unknown.
    pub fn accepts(self) -> Option<bool> {
        self.max_bytes.map(|max| max > 0)
    }
}

/// Block sizes and stripe hints of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IoLimits {
    /// `logical_block_size`.
    pub logical_block_bytes: Option<u64>,
    /// `minimum_io_size`: the chunk of a striped device.
    pub minimum_bytes: Option<u64>,
    /// `optimal_io_size`: the full stripe; 0 if there is none.
    pub optimal_bytes: Option<u64>,
}

/// Counters of `stat`, in bytes and requests since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IoCounters {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written; before kernel 4.18 discards are counted here too.
    pub written_bytes: u64,
    /// Discards completed; `None` before kernel 4.18.
    pub discards: Option<u64>,
    /// Bytes discarded; `None` before kernel 4.18.
    pub discarded_bytes: Option<u64>,
}

/// How the SCSI layer sends a discard (`scsi_disk/*/provisioning_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvisioningMode {
    /// The device is fully provisioned: it accepts no discards.
    Full,
    /// UNMAP.
    Unmap,
    /// WRITE SAME (16) with the unmap bit.
    Writesame16,
    /// WRITE SAME (10) with the unmap bit.
    Writesame10,
    /// WRITE SAME of zeros.
    WritesameZero,
    /// Disabled, by a quirk or by the administrator.
    Disabled,
}

/// The transport or driver of a SCSI disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScsiTransport {
    /// libata.
    Ata,
    /// usb-storage or UAS.
    Usb,
    /// virtio-scsi.
    Virtio,
    /// iSCSI, Fibre Channel, SRP.
    Network,
    /// `storvsc` of Hyper-V, `pvscsi` of VMware.
    Hypervisor,
    /// A SAS or RAID adapter, or one that the device path does not reveal.
    Other,
}

/// TRIM support according to libata (`ata_device/*/trim`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtaTrim {
    /// The drive does not support TRIM.
    Unsupported,
    /// TRIM waits until the drive's queue is empty.
    Unqueued,
    /// TRIM is queued like any other command (SATA 3.1).
    Queued,
    /// The drive claims queued TRIM, but libata's quirk list disables queuing.
    ForcedUnqueued,
    /// The drive claims TRIM, but libata's quirk list disables it.
    ForcedUnsupported,
}
