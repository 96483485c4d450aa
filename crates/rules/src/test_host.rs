//! Hosts built in memory for the tests of the rules.
//!
//! Devices have the limits that a healthy setup shows on a 6.1 kernel; tests change what they are
//! about. Device numbers are derived from the names, so that dm tables can refer to them.

use crate::{Check, Context, Outcome, Rule};
use facts::host::{
    AtaTrim, BlockDevice, DeviceKind, DeviceNumber, DiscardLimits, DmTarget, FsUsage, IoLimits,
    Mount, ProvisioningMode, ScsiTransport, Store, StoreEngine, StoreState,
};
use facts::{Finding, Host};
use jiff::Timestamp;

/// Discard limit of an NVMe drive on Linux 6.1.
pub const NVME_MAX_BYTES: u64 = 2_147_483_136;

/// Derives a device number from the kernel name.
pub fn number_of(name: &str) -> DeviceNumber {
    if let Some(minor) = name.strip_prefix("dm-").and_then(|n| n.parse().ok()) {
        return DeviceNumber { major: 253, minor };
    }
    let minor = name.bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(131).wrapping_add(u32::from(byte))
    });
    DeviceNumber { major: 259, minor }
}

/// Returns limits with the same maximum for the queue and the hardware.
pub fn takes_discards(granularity_bytes: u64, max_bytes: u64) -> DiscardLimits {
    limits(granularity_bytes, max_bytes, max_bytes)
}

/// Returns the limits of a queue that refuses discards.
pub fn no_discards() -> DiscardLimits {
    limits(0, 0, 0)
}

/// Returns discard limits from granularity, maximum and hardware maximum, in bytes.
pub fn limits(granularity_bytes: u64, max_bytes: u64, max_hw_bytes: u64) -> DiscardLimits {
    DiscardLimits {
        granularity_bytes: Some(granularity_bytes),
        max_bytes: Some(max_bytes),
        max_hw_bytes: Some(max_hw_bytes),
    }
}

/// Returns a device of this kind above others: 1 TiB, flash, takes discards.
pub fn device(name: &str, kind: DeviceKind, below: &[&str]) -> BlockDevice {
    BlockDevice {
        name: name.to_owned(),
        number: number_of(name),
        sysfs_path: format!("sys/block/{name}"),
        size_bytes: Some(1 << 40),
        kind,
        below: below.iter().map(|&name| name.to_owned()).collect(),
        discard: Some(takes_discards(512, NVME_MAX_BYTES)),
        io_limits: Some(IoLimits {
            logical_block_bytes: Some(512),
            minimum_bytes: Some(512),
            optimal_bytes: Some(0),
        }),
        rotational: Some(false),
        read_only: Some(false),
        counters: None,
    }
}

/// Returns an NVMe drive that takes discards.
pub fn nvme(name: &str) -> BlockDevice {
    let kind = DeviceKind::Nvme {
        model: Some("SAMSUNG MZQL21T9HCJR-00A07".to_owned()),
        firmware: Some("GDC5602Q".to_owned()),
        serial: Some("S64GNE0R000001".to_owned()),
        transport: Some("pcie".to_owned()),
    };
    device(name, kind, &[])
}

/// Returns an NVMe drive of another model.
pub fn nvme_model(name: &str, model_name: &str) -> BlockDevice {
    let mut drive = nvme(name);
    if let DeviceKind::Nvme { model, .. } = &mut drive.kind {
        *model = Some(model_name.to_owned());
    }
    drive
}

/// Returns a SATA SSD that supports queued TRIM.
pub fn sata(name: &str) -> BlockDevice {
    let kind = DeviceKind::Scsi {
        vendor: Some("ATA".to_owned()),
        model: Some("INTEL SSDSC2KB01".to_owned()),
        revision: Some("0132".to_owned()),
        provisioning_mode: Some(ProvisioningMode::Unmap),
        transport: ScsiTransport::Ata,
        ata_trim: Some(AtaTrim::Queued),
        ata_device: Some("dev1.0".to_owned()),
    };
    let mut drive = device(name, kind, &[]);
    drive.discard = Some(takes_discards(512, 2_147_450_880));
    drive
}

/// Returns a SATA hard disk: rotational, without TRIM.
pub fn hard_disk(name: &str) -> BlockDevice {
    let kind = DeviceKind::Scsi {
        vendor: Some("ATA".to_owned()),
        model: Some("ST4000NM0035-1V4".to_owned()),
        revision: Some("TN03".to_owned()),
        provisioning_mode: Some(ProvisioningMode::Full),
        transport: ScsiTransport::Ata,
        ata_trim: Some(AtaTrim::Unsupported),
        ata_device: Some("dev1.0".to_owned()),
    };
    let mut drive = device(name, kind, &[]);
    drive.discard = Some(no_discards());
    drive.rotational = Some(true);
    drive
}

/// Returns a SCSI disk on some transport with UNMAP; rotational, as the SCSI layer reports for
/// most.
pub fn scsi(name: &str, vendor: &str, model: &str, transport: ScsiTransport) -> BlockDevice {
    let kind = DeviceKind::Scsi {
        vendor: Some(vendor.to_owned()),
        model: Some(model.to_owned()),
        revision: None,
        provisioning_mode: Some(ProvisioningMode::Unmap),
        transport,
        ata_trim: None,
        ata_device: None,
    };
    let mut drive = device(name, kind, &[]);
    drive.discard = Some(takes_discards(4096, 1 << 30));
    drive.rotational = Some(true);
    drive
}

/// Sets the provisioning mode of a SCSI disk; `Full` and `Disabled` refuse discards.
pub fn provisioning(mut drive: BlockDevice, mode: ProvisioningMode) -> BlockDevice {
    if let DeviceKind::Scsi {
        provisioning_mode, ..
    } = &mut drive.kind
    {
        *provisioning_mode = Some(mode);
    }
    if matches!(mode, ProvisioningMode::Full | ProvisioningMode::Disabled) {
        drive.discard = Some(limits(4096, 0, 0));
    }
    drive
}

/// Returns a virtio-blk disk that takes discards and reports that it is rotational.
pub fn virtio(name: &str) -> BlockDevice {
    let mut disk = device(name, DeviceKind::VirtioBlk { serial: None }, &[]);
    disk.rotational = Some(true);
    disk
}

/// Returns a partition that starts 1 MiB into its disk.
pub fn partition(name: &str, disk: &str) -> BlockDevice {
    let kind = DeviceKind::Partition {
        start_bytes: Some(1 << 20),
    };
    let mut partition = device(name, kind, &[disk]);
    partition.sysfs_path = format!("sys/class/block/{name}");
    partition.discard = None;
    partition.io_limits = None;
    partition.rotational = None;
    partition
}

/// Returns a software RAID with 512 KiB chunks; RAID 4/5/6 refuse discards, which is the default.
pub fn md(name: &str, level: &str, members: &[&str]) -> BlockDevice {
    let striped = level != "raid1";
    let disks = u32::try_from(members.len()).expect("few members");
    let parity = match level {
        "raid4" | "raid5" => 1,
        "raid6" => 2,
        _ => 0,
    };
    let kind = DeviceKind::Md {
        level: Some(level.to_owned()),
        chunk_bytes: striped.then_some(512 << 10),
        raid_disks: Some(disks),
        array_state: Some("clean".to_owned()),
        sync_action: Some("idle".to_owned()),
    };
    let mut array = device(name, kind, members);
    if parity > 0 {
        array.discard = Some(limits(262_144, 0, 0));
    }
    if striped {
        array.io_limits = Some(IoLimits {
            logical_block_bytes: Some(512),
            minimum_bytes: Some(512 << 10),
            optimal_bytes: Some((512 << 10) * u64::from(disks - parity)),
        });
    }
    array
}

/// Returns one line of a dm table over these devices, with optional flags.
pub fn target(target_type: &str, devices: &[&str], options: &[&str]) -> DmTarget {
    DmTarget {
        start_sectors: 0,
        len_sectors: 1 << 31,
        target_type: target_type.to_owned(),
        devices: devices.iter().map(|name| number_of(name)).collect(),
        options: options.iter().map(|&word| word.to_owned()).collect(),
        chunk_bytes: None,
        stripes: None,
    }
}

/// Returns a device-mapper device with its table.
pub fn dm(
    name: &str,
    dm_name: &str,
    uuid: &str,
    below: &[&str],
    targets: Vec<DmTarget>,
) -> BlockDevice {
    let kind = DeviceKind::DeviceMapper {
        name: Some(dm_name.to_owned()),
        uuid: Some(uuid.to_owned()),
        targets: Some(targets),
    };
    let mut below = below.to_vec();
    below.sort_unstable();
    device(name, kind, &below)
}

/// Returns a LUKS2 volume named `dm_name`; it refuses discards without `allow_discards`.
pub fn crypt(name: &str, dm_name: &str, below: &str, allow_discards: bool) -> BlockDevice {
    let options: &[&str] = if allow_discards {
        &["allow_discards"]
    } else {
        &[]
    };
    let table = target("crypt", &[below], options);
    let uuid = format!("CRYPT-LUKS2-7d0cd2ef0f5b43beb4086a2fad87bf43-{dm_name}");
    let mut volume = dm(name, dm_name, &uuid, &[below], vec![table]);
    if !allow_discards {
        volume.discard = Some(no_discards());
    }
    volume
}

/// Returns a linear logical volume with one segment on each device below.
pub fn lvm_linear(name: &str, dm_name: &str, below: &[&str]) -> BlockDevice {
    let segments = below
        .iter()
        .map(|device| target("linear", &[device], &[]))
        .collect();
    let uuid = format!("LVM-q942Fsz2IxFqNwO9e6cdWTrTeP3O7ISd{dm_name}");
    dm(name, dm_name, &uuid, below, segments)
}

/// Returns a thin pool over its metadata and data devices. `ignore_discard` and
/// `no_discard_passdown` make it refuse discards, because the pool's own queue does so with either
/// flag.
pub fn thin_pool(
    name: &str,
    dm_name: &str,
    meta: &str,
    data: &str,
    options: &[&str],
) -> BlockDevice {
    let table = target("thin-pool", &[meta, data], options);
    let uuid = format!("LVM-q942Fsz2IxFqNwO9e6cdWTrTeP3O7ISd{dm_name}-tpool");
    let mut pool = dm(name, dm_name, &uuid, &[meta, data], vec![table]);
    if !options.is_empty() {
        pool.discard = Some(no_discards());
    }
    pool
}

/// Returns a thin volume of a pool that passes discards down.
pub fn thin(name: &str, dm_name: &str, pool: &str) -> BlockDevice {
    let uuid = format!("LVM-q942Fsz2IxFqNwO9e6cdWTrTeP3O7ISd{dm_name}");
    let table = target("thin", &[pool], &[]);
    let mut volume = dm(name, dm_name, &uuid, &[pool], vec![table]);
    volume.discard = Some(limits(65536, 17_179_869_184, NVME_MAX_BYTES));
    volume
}

/// Returns the device with other discard limits.
pub fn with_discard(mut device: BlockDevice, limits: DiscardLimits) -> BlockDevice {
    device.discard = Some(limits);
    device
}

/// Returns the dm device with a table that could not be read, as without root.
pub fn without_table(mut device: BlockDevice) -> BlockDevice {
    if let DeviceKind::DeviceMapper { targets, .. } = &mut device.kind {
        *targets = None;
    }
    device
}

/// A host under construction: `TestHost::new().device(nvme("nvme0n1")).mount(...)`.
pub struct TestHost {
    host: Host,
}

impl TestHost {
    /// Creates a bare-metal Debian 12 host with kernel 6.1, without devices, mounts, stores and
    /// jobs.
    pub fn new() -> Self {
        let mut host = Host {
            // 2026-11-18T12:00:00Z, a Wednesday.
            read_at: Timestamp::from_second(1_794_916_800).expect("in range"),
            time_zone: Some("UTC".to_owned()),
            fstab: Some(Vec::new()),
            jobs: Some(Vec::new()),
            ..Host::default()
        };
        host.platform.distribution = Some("debian".to_owned());
        host.platform.distribution_version = Some("12".to_owned());
        host.platform.kernel_release = Some("6.1.0-40-amd64".to_owned());
        host.platform.systemd = Some(true);
        host.platform.uptime_s = Some(30.0 * 86_400.0);
        Self { host }
    }

    /// Adds a device.
    pub fn device(mut self, device: BlockDevice) -> Self {
        self.host.devices.push(device);
        self.host.devices.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Adds devices.
    pub fn devices(self, devices: impl IntoIterator<Item = BlockDevice>) -> Self {
        devices.into_iter().fold(self, Self::device)
    }

    /// Mounts a previously added device; options are separated by commas. 1 TiB, a quarter free.
    pub fn mount(mut self, mount_point: &str, device: &str, fs_type: &str, options: &str) -> Self {
        let source = self
            .host
            .device(device)
            .unwrap_or_else(|| panic!("no device {device} to mount"))
            .dev_path();
        self.host.mounts.push(Mount {
            id: 20 + self.host.mounts.len() as u64,
            device_number: number_of(device),
            root: "/".to_owned(),
            mount_point: mount_point.to_owned(),
            fs_type: fs_type.to_owned(),
            source,
            options: options.split(',').map(str::to_owned).collect(),
            usage: Some(FsUsage {
                block_bytes: 4096,
                size_bytes: 1 << 40,
                free_bytes: 1 << 38,
                available_bytes: 1 << 38,
            }),
            geometry: None,
            read_ahead_bytes: None,
            fstab_line: None,
        });
        self
    }

    /// Adds a running store with its data at `path`.
    pub fn store(self, engine: StoreEngine, version: &str, path: &str) -> Self {
        let version = Some(version.to_owned());
        self.with(|host| {
            host.stores.push(Store {
                engine,
                version,
                state: StoreState::Running,
                pid: Some(812),
                data_paths: vec![path.to_owned()],
                paths_from: "command line".to_owned(),
                settings: Vec::new(),
            });
        })
    }

    /// Adds a running Elasticsearch 8.11.0 with its data at `path`.
    pub fn elasticsearch(self, path: &str) -> Self {
        self.store(StoreEngine::Elasticsearch, "8.11.0", path)
    }

    /// Applies any other change.
    pub fn with(mut self, change: impl FnOnce(&mut Host)) -> Self {
        change(&mut self.host);
        self
    }

    /// Returns the host.
    pub fn build(self) -> Host {
        self.host
    }

    /// Runs one rule on this host.
    pub fn check(self, rule: &Rule) -> Outcome {
        let mut outcome = Outcome::default();
        let Check::Host(_, check) = rule.check else {
            panic!("{} is about a cluster", rule.id);
        };
        check(&Context::new(&self.host), &mut outcome);
        outcome
    }
}

/// Returns the only finding of an outcome.
///
/// # Panics
/// If there is none, or more than one.
pub fn only(outcome: &Outcome) -> &Finding {
    let [finding] = outcome.findings.as_slice() else {
        panic!("expected one finding, got {:#?}", outcome.findings);
    };
    finding
}
