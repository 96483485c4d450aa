//! How much a check could look at.

use facts::Host;
use facts::host::DeviceNumber;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fmt;
use units::count;

/// How many rules could decide anything, and on how many filesystems. A rule counts once for each host
/// that it ran on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Coverage {
    /// Rules that ran.
    pub rules: u64,
    /// Those that were skipped entirely: they had nothing to look at.
    pub undecided: u64,
    /// Filesystems on block devices, lines of mountinfo that were not understood, and stores' data on no known mount.
    pub filesystems: u64,
    /// Those of which a device was not read, those lines, and that data.
    pub filesystems_unread: u64,
    /// Those of them that hold a store's data.
    pub filesystems_unread_with_store: u64,
}

impl Coverage {
    /// Whether most rules or filesystems, or that of a store, had nothing to look at, or no rule ran: no
    /// finding means nothing then.
    pub fn is_mostly_blind(self) -> bool {
        self.has_few_rules()
            || self.filesystems_unread * 2 > self.filesystems
            || self.filesystems_unread_with_store > 0
    }

    fn has_few_rules(self) -> bool {
        self.rules == 0 || self.undecided * 2 > self.rules
    }

    /// Counts a host's filesystems.
    pub(crate) fn add_filesystems(&mut self, host: &Host) {
        let devices = host.device_index();
        let stores = host.stores_by_mount();
        // Mounts of one device are one filesystem.
        let mut is_unread: HashMap<(DeviceNumber, &str), bool> = HashMap::new();
        let mut with_store = HashSet::new();
        for mount in &host.mounts {
            let device = devices.of(mount);
            if device.is_none() && !mount.is_on_device() {
                continue;
            }
            let filesystem = device
                .map_or((mount.device_number, mount.source.as_str()), |device| {
                    (device.number, device.name.as_str())
                });
            is_unread.insert(filesystem, devices.is_unread(mount));
            if stores.contains_key(&mount.id) {
                with_store.insert(filesystem);
            }
        }
        self.filesystems += is_unread.len() as u64 + host.mounts_unread;
        is_unread.retain(|_, is_unread| *is_unread);
        let unread = is_unread.keys();
        let with_store = unread.filter(|filesystem| with_store.contains(*filesystem));
        self.filesystems_unread_with_store += with_store.count() as u64;
        self.filesystems_unread += is_unread.len() as u64 + host.mounts_unread;
        // Data on a filesystem of which not even the mount was read.
        let mounts = host.mount_index();
        let is_nowhere = |path: &String| path.starts_with('/') && mounts.of(path).is_none();
        let stores = host.stores.iter();
        let nowhere = stores.filter(|store| store.data_paths.iter().any(is_nowhere));
        let nowhere = nowhere.count() as u64;
        self.filesystems += nowhere;
        self.filesystems_unread += nowhere;
        self.filesystems_unread_with_store += nowhere;
    }
}

impl fmt::Display for Coverage {
    /// Formats `18 of 20 rules had nothing to look at`, or `3 of 4 filesystems could not be looked at` where
    /// that is what is missing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_few_rules() && self.filesystems_unread > 0 {
            let all = count(self.filesystems, "filesystem");
            let store = match self.filesystems_unread_with_store {
                0 => "",
                _ => ", including a store's,",
            };
            let unread = self.filesystems_unread;
            return write!(f, "{unread} of {all}{store} could not be looked at");
        }
        match self.rules {
            0 => f.write_str("no rule ran"),
            1 => f.write_str("the only rule had nothing to look at"),
            rules => {
                let rules = count(rules, "rule");
                write!(f, "{} of {rules} had nothing to look at", self.undecided)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use facts::host::{BlockDevice, DeviceKind, Mount, Store, StoreEngine, StoreState};

    /// Returns a host with these mounts, of which only `sda1` is on a device that was read, and a store on
    /// `/data`.
    pub(crate) fn host_with(mounts: &[(&str, &str)]) -> Host {
        let mount = |(id, (point, source)): (usize, &(&str, &str))| Mount {
            id: id as u64,
            device_number: DeviceNumber::default(),
            root: "/".to_owned(),
            mount_point: (*point).to_owned(),
            fs_type: "xfs".to_owned(),
            source: (*source).to_owned(),
            options: Vec::new(),
            usage: None,
            geometry: None,
            read_ahead_bytes: None,
            fstab_line: None,
        };
        Host {
            mounts: mounts.iter().enumerate().map(mount).collect(),
            devices: vec![BlockDevice {
                name: "sda1".to_owned(),
                number: DeviceNumber { major: 8, minor: 1 },
                sysfs_path: "sys/block/sda/sda1".to_owned(),
                size_bytes: None,
                kind: DeviceKind::Other,
                below: Vec::new(),
                discard: None,
                io_limits: None,
                rotational: Some(false),
                read_only: None,
                counters: None,
            }],
            stores: vec![Store {
                engine: StoreEngine::DataPath,
                version: None,
                state: StoreState::Given,
                pid: None,
                data_paths: vec!["/data".to_owned()],
                paths_from: "--data-path".to_owned(),
                settings: Vec::new(),
            }],
            ..Host::default()
        }
    }

    /// A layer that names a device which was not read, one that names none, and a store's data on no known mount.
    #[test]
    fn filesystems_of_which_a_part_was_not_read_are_told() {
        let coverage = |host: &Host| {
            let mut coverage = Coverage {
                rules: 1,
                ..Coverage::default()
            };
            coverage.add_filesystems(host);
            coverage
        };
        let assert_blind = |host: &Host, what: &str| {
            let coverage = coverage(host);
            assert!(coverage.is_mostly_blind());
            assert_eq!(
                coverage.to_string(),
                format!("{what} could not be looked at")
            );
        };
        let mut host = host_with(&[("/", "/dev/sda1")]);
        host.stores.clear();
        assert_eq!(coverage(&host).filesystems_unread, 0);
        host.devices[0].below = vec!["sda".to_owned()];
        assert_blind(&host, "1 of 1 filesystem");
        host.devices[0].below.clear();
        host.devices[0].rotational = None;
        assert_blind(&host, "1 of 1 filesystem");
        host.devices[0].rotational = Some(true);
        host.devices[0].kind = DeviceKind::Md {
            level: Some("raid1".to_owned()),
            chunk_bytes: None,
            raid_disks: Some(2),
            array_state: None,
            sync_action: None,
        };
        assert_blind(&host, "1 of 1 filesystem");
        let host = host_with(&[("/srv", "/dev/sda1")]);
        assert_blind(&host, "1 of 2 filesystems, including a store's,");
    }
}
