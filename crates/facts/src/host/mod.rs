//! Facts about a Linux host that affect the performance of its data stores.

mod device;
mod drive_writes;
mod guard;
mod job;
mod mount;
mod platform;
mod store;
mod trim_plan;

pub use device::{
    AtaTrim, BlockDevice, DeviceKind, DeviceNumber, DiscardLimits, DmTarget, IoCounters, IoLimits,
    ProvisioningMode, ScsiTransport,
};
pub use drive_writes::{DriveWrites, MediaWrites};
pub use guard::{ClockCondition, ClockSum, ClockText, Guard, SumOperator};
pub use job::{Calendars, EnabledState, Job, JobCommand, TimerState, Trigger};
pub use mount::{Crypttab, FsGeometry, FsUsage, FstabEntry, Mount};
pub use platform::{Cloud, Platform};
pub use store::{Store, StoreEngine, StoreState};
pub use trim_plan::{TrimPasses, TrimPlan};

use crate::Skipped;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// The facts of one host at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Host {
    /// When the facts were read: rules use this as the current time.
    pub read_at: Timestamp,
    /// IANA name of the host's time zone, if it could be determined.
    pub time_zone: Option<String>,
    /// Distribution, kernel, cloud, container.
    pub platform: Platform,
    /// Mounts in mountinfo order, without pseudo filesystems.
    pub mounts: Vec<Mount>,
    /// Number of further lines of mountinfo, which are not those of a mount.
    #[serde(default)]
    pub mounts_unread: u64,
    /// `/etc/fstab`; `None` if it is missing or could not be read.
    pub fstab: Option<Vec<FstabEntry>>,
    /// `/etc/crypttab`; empty if there is none.
    pub crypttab: Vec<Crypttab>,
    /// Every block device in sysfs, partitions included, sorted by name.
    pub devices: Vec<BlockDevice>,
    /// Stand-ins for the devices that mounts name, if no block device could be read: only name and
    /// number are known. Empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen_devices: Vec<BlockDevice>,
    /// All scheduled jobs; `None` if no scheduler configuration was found (a tree with neither
    /// cron's nor systemd's files).
    pub jobs: Option<Vec<Job>>,
    /// Whether the tree has files of systemd but no timer, so that timers may be missing in `jobs`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timers_unknown: bool,
    /// Data stores found on the host, and data paths added by the user.
    pub stores: Vec<Store>,
    /// Data paths supplied by the user that certainly do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_data_paths: Vec<String>,
    /// Whether processes could not be listed, so that running stores may be missing in `stores`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub running_stores_unknown: bool,
    /// LVM's `devices/issue_discards` setting; `None` if LVM is not configured here.
    pub lvm_issue_discards: Option<bool>,
    /// raid456's `devices_handle_discard_safely`; `None` if the module is not loaded.
    pub raid456_discards_safe: Option<bool>,
    /// Flash write counters reported by the drives; empty unless requested.
    #[serde(default)]
    pub drive_writes: Vec<DriveWrites>,
    /// What `trimtab plan --apply` has written here, compared with what is there; `None` where nobody looked, as in
    /// bundles.
    #[serde(default)]
    pub trim_plan: Option<TrimPlan>,
    /// The last passes of `trimtab trim` here, by filesystem; empty where nobody looked, as in bundles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trim_passes: Vec<TrimPasses>,
    /// What could not be read, and why.
    pub skipped: Vec<Skipped>,
}

impl Host {
    /// Returns the device with this kernel name.
    pub fn device(&self, name: &str) -> Option<&BlockDevice> {
        // `devices` is sorted by name.
        self.devices
            .binary_search_by(|device| device.name.as_str().cmp(name))
            .ok()
            .map(|index| &self.devices[index])
    }

    /// Returns the device with this number.
    pub(crate) fn device_by_number(&self, number: DeviceNumber) -> Option<&BlockDevice> {
        self.devices.iter().find(|device| device.number == number)
    }

    /// Returns the device under a mount. Btrfs mounts have an anonymous device number, so these are
    /// matched by source path.
    pub fn device_of(&self, mount: &Mount) -> Option<&BlockDevice> {
        self.device_by_number(mount.device_number)
            .or_else(|| self.device_by_path(&mount.source))
    }

    /// Returns the device for a path such as `/dev/md0`, `/dev/mapper/vg-data` or `/dev/vg/data`.
    pub fn device_by_path(&self, path: &str) -> Option<&BlockDevice> {
        let (name, mapper_name) = names_of_path(path)?;
        self.device(&name).or_else(|| {
            let mapper_name = mapper_name?;
            self.devices.iter().find(|device| {
                matches!(&device.kind, DeviceKind::DeviceMapper { name: Some(name), .. } if *name == mapper_name)
            })
        })
    }

    /// Whether block devices could be read, and so what is below the mounts.
    pub fn knows_devices(&self) -> bool {
        self.unseen_devices.is_empty() && !self.devices.is_empty()
    }

    /// Builds an index for looking devices up. For many mounts use this instead of
    /// [`Host::device_of`], which scans all devices each time. Unlike that, it also finds stand-ins
    /// in [`Host::unseen_devices`].
    pub fn device_index(&self) -> DeviceIndex<'_> {
        let mapped = self.devices.iter().rev().filter_map(|device| {
            let DeviceKind::DeviceMapper { name, .. } = &device.kind else {
                return None;
            };
            Some((name.as_deref()?, device))
        });
        let numbered = self.devices.iter().rev();
        DeviceIndex {
            host: self,
            by_number: numbered
                .chain(&self.unseen_devices)
                .map(|device| (device.number, device))
                .collect(),
            by_mapper_name: mapped.collect(),
        }
    }

    /// Returns the mount that contains a path: the one with the longest mount point that is a
    /// prefix of it; of several mounts at the same point the last, which hides the others.
    pub fn mount_of_path(&self, path: &str) -> Option<&Mount> {
        self.mounts
            .iter()
            .filter(|mount| mount.contains(path))
            .max_by_key(|mount| mount.mount_point.len())
    }

    /// Builds an index for looking mounts up by path. For many paths use this instead of
    /// [`Host::mount_of_path`], which scans all mounts each time.
    pub fn mount_index(&self) -> MountIndex<'_> {
        MountIndex(
            self.mounts
                .iter()
                .map(|mount| (mount.mount_point.as_str(), mount))
                .collect(),
        )
    }

    /// Returns the stores whose data is on this mount; for many mounts use
    /// [`Host::stores_by_mount`].
    pub fn stores_on(&self, mount: &Mount) -> Vec<&Store> {
        let stores = self.stores_by_mount();
        let indices = stores.get(&mount.id).into_iter().flatten();
        indices.map(|&index| &self.stores[index]).collect()
    }

    /// Maps each mount id to the indices (in `stores`) of the stores whose data is on it.
    pub fn stores_by_mount(&self) -> HashMap<u64, BTreeSet<usize>> {
        let mounts = self.mount_index();
        let mut stores: HashMap<u64, BTreeSet<usize>> = HashMap::new();
        for (index, store) in self.stores.iter().enumerate() {
            for mount in store.data_paths.iter().filter_map(|path| mounts.of(path)) {
                stores.entry(mount.id).or_default().insert(index);
            }
        }
        stores
    }
}

/// Returns the name in sysfs that a path below `/dev` stands for, and the device-mapper name.
fn names_of_path(path: &str) -> Option<(String, Option<String>)> {
    let rest = path.strip_prefix("/dev/")?;
    let mapper_name = match (rest.strip_prefix("mapper/"), rest.split_once('/')) {
        (Some(name), _) => Some(name.to_owned()),
        // LVM writes VG-LV and doubles the hyphens within either name.
        (None, Some((group, volume))) => Some(format!(
            "{}-{}",
            group.replace('-', "--"),
            volume.replace('-', "--")
        )),
        (None, None) => None,
    };
    // sysfs writes the slash of `cciss/c0d0` as `!`.
    Some((rest.replace('/', "!"), mapper_name))
}

/// Devices by number and by name.
#[derive(Debug, Clone)]
pub struct DeviceIndex<'a> {
    host: &'a Host,
    by_number: HashMap<DeviceNumber, &'a BlockDevice>,
    by_mapper_name: HashMap<&'a str, &'a BlockDevice>,
}

impl<'a> DeviceIndex<'a> {
    /// Returns the same as [`Host::device_of`].
    pub fn of(&self, mount: &Mount) -> Option<&'a BlockDevice> {
        if let Some(device) = self.by_number.get(&mount.device_number) {
            return Some(device);
        }
        let (name, mapper_name) = names_of_path(&mount.source)?;
        let mapped = || self.by_mapper_name.get(mapper_name?.as_str()).copied();
        self.host.device(&name).or_else(mapped)
    }

    /// Whether there are devices below a mount of which none was read.
    pub fn is_unseen(&self, mount: &Mount) -> bool {
        match self.of(mount) {
            Some(device) => matches!(device.kind, DeviceKind::Unseen),
            None => mount.is_on_device(),
        }
    }

    /// Whether there are devices below a mount of which one or more were not read.
    pub fn is_unread(&self, mount: &Mount) -> bool {
        let is_complete = |device| self.host.stack_below(device).is_complete;
        self.is_unseen(mount) || self.of(mount).is_some_and(|device| !is_complete(device))
    }
}

/// Mounts by mount point; of several at the same point the last, which hides the others.
#[derive(Debug, Clone)]
pub struct MountIndex<'a>(HashMap<&'a str, &'a Mount>);

impl<'a> MountIndex<'a> {
    /// Returns the same as [`Host::mount_of_path`].
    pub fn of(&self, path: &str) -> Option<&'a Mount> {
        if !path.starts_with('/') {
            return None;
        }
        let mut prefix = path;
        loop {
            if let Some(mount) = self.0.get(prefix) {
                return Some(mount);
            }
            prefix = match prefix.rfind('/') {
                Some(0) if prefix.len() > 1 => "/",
                Some(0) | None => return None,
                Some(at) => &prefix[..at],
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_index_agrees_with_a_linear_search() {
        let device = |name: &str, minor, mapper_name: Option<&str>| BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber { major: 253, minor },
            kind: mapper_name.map_or(DeviceKind::Other, |name| DeviceKind::DeviceMapper {
                name: Some(name.to_owned()),
                uuid: None,
                targets: None,
            }),
            ..BlockDevice::default()
        };
        // Two devices with one number and two with one name: a bundle may say so.
        let devices = vec![
            device("cciss!c0d0", 1, None),
            device("dm-0", 2, Some("vg--a-data")),
            device("dm-1", 2, Some("vg--a-data")),
            device("dm-2", 4, Some("backup")),
        ];
        let host = Host {
            devices,
            ..Host::default()
        };
        let index = host.device_index();
        for minor in 0..5 {
            for source in [
                "/dev/cciss/c0d0",
                "/dev/vg-a/data",
                "/dev/mapper/vg--a-data",
                "/dev/mapper/backup",
                "/dev/dm-1",
                "/dev/",
                "/dev/none",
                "tmpfs",
                "",
            ] {
                let mount = Mount {
                    device_number: DeviceNumber { major: 253, minor },
                    source: source.to_owned(),
                    ..Mount::default()
                };
                let name = |device: &BlockDevice| device.name.clone();
                assert_eq!(
                    index.of(&mount).map(name),
                    host.device_of(&mount).map(name),
                    "{source}"
                );
            }
        }
    }

    #[test]
    fn the_mount_index_agrees_with_a_linear_search() {
        let mount = |id, point: &str| Mount {
            id,
            mount_point: point.to_owned(),
            ..Mount::default()
        };
        let mut host = Host {
            mounts: vec![
                mount(1, "/"),
                mount(2, "/data"),
                mount(3, "/data/one"),
                mount(4, "/data"),
                mount(5, "/database"),
            ],
            ..Host::default()
        };
        let paths = [
            "/",
            "/data",
            "/data/",
            "/data/one",
            "/data/one/x",
            "/data/two//x",
            "/datab",
            "/database/",
            "data",
            "",
            "//data",
            "/data/ö/x",
        ];
        for _ in 0..2 {
            let index = host.mount_index();
            for path in paths {
                let searched = host.mount_of_path(path).map(|mount| mount.id);
                assert_eq!(index.of(path).map(|mount| mount.id), searched, "{path:?}");
            }
            host.mounts.remove(0);
        }
    }
}
