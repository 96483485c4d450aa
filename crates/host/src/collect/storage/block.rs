//! Block devices from `sys/block`: `Documentation/ABI/stable/sysfs-block` and the drivers' own
//! attributes. Each attribute costs one read, so only those that exist for the kind of device are
//! read.

use super::scsi;
use crate::source::Reader;
use crate::unread::Unread;
use facts::Skipped;
use facts::host::{BlockDevice, DeviceKind, DeviceNumber, DiscardLimits, IoCounters, IoLimits};
use linux::device_number;
use std::collections::{HashMap, HashSet};

/// More devices than any real host has; a hostile tree could contain any number.
const DEVICES_MAX: usize = 50_000;

/// Sectors in sysfs are 512 bytes, whatever the device's block size.
const SECTOR_BYTES: u64 = 512;

/// Reads all block devices, partitions included, sorted by name; dm tables and details that only
/// mdstat has are filled in later.
pub(super) fn read(reader: &Reader<'_>, skipped: &mut Vec<Skipped>) -> Vec<BlockDevice> {
    let disks = match reader.list("sys/block") {
        Ok(disks) => disks,
        Err(unread) => {
            // Denied paths are reported for the whole host.
            if unread != Unread::Denied {
                skipped.push(Skipped::new(
                    "block devices",
                    format!("sys/block: {unread}"),
                    Some("sysfs"),
                ));
            }
            return Vec::new();
        }
    };
    let mut nvme_paths: HashMap<String, Vec<&str>> = HashMap::new();
    for name in &disks {
        if let Some(head) = head_of_nvme_path(name) {
            nvme_paths.entry(head).or_default().push(name);
        }
    }
    let mut tree = Tree {
        reader,
        nvme_paths,
        classes: reader
            .list("sys/class/block")
            .unwrap_or_default()
            .into_iter()
            .collect(),
        devices: Vec::new(),
        skipped,
    };
    for name in &disks {
        if tree.devices.len() >= DEVICES_MAX {
            tree.skipped.push(Skipped::new(
                "further block devices",
                format!("more than {DEVICES_MAX}"),
                None,
            ));
            break;
        }
        // The paths below a multipath namespace are hidden: only the namespace is used.
        let is_path = head_of_nvme_path(name).is_some()
            && flag(reader, &format!("sys/block/{name}/hidden")) != Some(false);
        if !is_path {
            tree.read_disk(name);
        }
    }
    let mut devices = tree.devices;
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    devices.dedup_by(|a, b| a.name == b.name);
    devices
}

/// The state of reading one host's `sys/block`.
struct Tree<'r, 's, 'n> {
    reader: &'r Reader<'s>,
    /// Hidden paths by multipath namespace.
    nvme_paths: HashMap<String, Vec<&'n str>>,
    /// Names in `sys/class/block`.
    classes: HashSet<String>,
    devices: Vec<BlockDevice>,
    skipped: &'r mut Vec<Skipped>,
}

impl Tree<'_, '_, '_> {
    fn read_disk(&mut self, name: &str) {
        let reader = self.reader;
        let path = format!("sys/block/{name}");
        let size_bytes = size_bytes(reader, &path);
        if size_bytes == Some(0) && is_empty_slot(name) {
            return;
        }
        let Some(number) = self.device_number(&path) else {
            return;
        };
        let entries = reader.list(&path).unwrap_or_default();
        let mut below = if has(&entries, "slaves") {
            reader.list(&format!("{path}/slaves")).unwrap_or_default()
        } else {
            Vec::new()
        };
        below.sort();
        let queue = |attribute: &str| reader.number(&format!("{path}/queue/{attribute}"));
        let device = BlockDevice {
            name: name.to_owned(),
            number,
            sysfs_path: path.clone(),
            size_bytes,
            kind: self.kind(name, &path, &entries),
            below,
            discard: Some(DiscardLimits {
                granularity_bytes: queue("discard_granularity"),
                max_bytes: queue("discard_max_bytes"),
                max_hw_bytes: queue("discard_max_hw_bytes"),
            }),
            io_limits: Some(IoLimits {
                logical_block_bytes: queue("logical_block_size"),
                minimum_bytes: queue("minimum_io_size"),
                optimal_bytes: queue("optimal_io_size"),
            }),
            rotational: flag(reader, &format!("{path}/queue/rotational")),
            read_only: flag(reader, &format!("{path}/ro")),
            counters: self.disk_counters(name, &path),
        };
        self.devices.push(device);
        for entry in &entries {
            // The kernel names partitions after their disk: `sda1`, `nvme0n1p1`.
            let numbered = entry.strip_prefix(name).is_some_and(|rest| {
                let digits = rest.strip_prefix('p').unwrap_or(rest);
                !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
            });
            if numbered
                && self.devices.len() < DEVICES_MAX
                && reader
                    .attribute(&format!("{path}/{entry}/partition"))
                    .is_some()
            {
                self.read_partition(name, entry);
            }
        }
    }

    fn read_partition(&mut self, disk: &str, name: &str) {
        let reader = self.reader;
        let path = format!("sys/block/{disk}/{name}");
        let Some(number) = self.device_number(&path) else {
            return;
        };
        let class_path = self
            .classes
            .contains(name)
            .then(|| format!("sys/class/block/{name}"));
        self.devices.push(BlockDevice {
            name: name.to_owned(),
            number,
            size_bytes: size_bytes(reader, &path),
            kind: DeviceKind::Partition {
                start_bytes: sectors(reader, &format!("{path}/start")),
            },
            below: vec![disk.to_owned()],
            read_only: flag(reader, &format!("{path}/ro")),
            counters: counters(reader, &path),
            sysfs_path: class_path.unwrap_or(path),
            ..BlockDevice::default()
        });
    }

    fn device_number(&mut self, path: &str) -> Option<DeviceNumber> {
        let dev = self.reader.attribute(&format!("{path}/dev"));
        let number = dev.as_deref().and_then(device_number::parse);
        if number.is_none() {
            self.skipped.push(Skipped::new(
                format!("block device {path}"),
                format!("{path}/dev holds no device number"),
                None,
            ));
        }
        number
    }

    fn paths_of(&self, name: &str) -> &[&str] {
        self.nvme_paths.get(name).map_or(&[], Vec::as_slice)
    }

    /// Before 6.2 a multipath namespace had no counters of its own, so those of its paths are
    /// summed.
    fn disk_counters(&self, name: &str, path: &str) -> Option<IoCounters> {
        let own = counters(self.reader, path)?;
        if own.read_bytes > 0 || own.written_bytes > 0 {
            return Some(own);
        }
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let sum = self
            .paths_of(name)
            .iter()
            .filter_map(|path| counters(self.reader, &format!("sys/block/{path}")))
            .fold(own, |sum, path| IoCounters {
                read_bytes: sum.read_bytes.saturating_add(path.read_bytes),
                written_bytes: sum.written_bytes.saturating_add(path.written_bytes),
                discards: add(sum.discards, path.discards),
                discarded_bytes: add(sum.discarded_bytes, path.discarded_bytes),
            });
        Some(sum)
    }

    fn kind(&mut self, name: &str, path: &str, entries: &[String]) -> DeviceKind {
        let reader = self.reader;
        let attribute = |name: &str| reader.attribute(&format!("{path}/{name}"));
        if is_numbered(name, "dm-") {
            return DeviceKind::DeviceMapper {
                name: attribute("dm/name"),
                uuid: attribute("dm/uuid"),
                targets: None,
            };
        }
        // Named arrays are called `md_home`; all arrays have this directory.
        if has(entries, "md") {
            return DeviceKind::Md {
                level: attribute("md/level"),
                // 0 if the level has no chunks.
                chunk_bytes: reader
                    .number(&format!("{path}/md/chunk_size"))
                    .filter(|&bytes| bytes > 0),
                raid_disks: reader
                    .number(&format!("{path}/md/raid_disks"))
                    .and_then(|n| u32::try_from(n).ok()),
                array_state: attribute("md/array_state"),
                sync_action: attribute("md/sync_action"),
            };
        }
        if name.starts_with("nvme") {
            let transport = attribute("device/transport").or_else(|| {
                // A multipath namespace belongs to a subsystem; only its paths have a transport.
                let path = self.paths_of(name).first()?;
                reader.attribute(&format!("sys/block/{path}/device/transport"))
            });
            return DeviceKind::Nvme {
                model: attribute("device/model"),
                firmware: attribute("device/firmware_rev"),
                serial: attribute("device/serial"),
                transport,
            };
        }
        if is_lettered(name, "sd") || is_numbered(name, "sr") {
            return scsi::read(reader, path, self.skipped);
        }
        if is_lettered(name, "vd") {
            return DeviceKind::VirtioBlk {
                serial: attribute("serial"),
            };
        }
        if is_numbered(name, "bcache") {
            return DeviceKind::Bcache {
                backing: backing_device(reader, path),
            };
        }
        if is_numbered(name, "loop") {
            return DeviceKind::Loop {
                backing_file: attribute("loop/backing_file"),
            };
        }
        kind_by_name(name)
    }
}

/// Returns the device below a bcache device that is not its cache. The driver's link to the directory of
/// its attributes tells it: ../../../pci0000:00/0000:00:1f.2/.../block/sda/sda1/bcache
fn backing_device(reader: &Reader<'_>, path: &str) -> Option<String> {
    let target = reader.link(&format!("{path}/bcache")).ok()?;
    let (device, attributes) = target.rsplit_once('/')?;
    let name = device.rsplit('/').next().filter(|name| *name != "..")?;
    (attributes == "bcache").then(|| name.to_owned())
}

/// Returns the kind for devices whose name is sufficient.
fn kind_by_name(name: &str) -> DeviceKind {
    if is_lettered(name, "xvd") {
        return DeviceKind::Xen;
    }
    if name.starts_with("mmcblk") {
        return DeviceKind::Mmc;
    }
    if is_numbered(name, "zram") {
        return DeviceKind::Zram;
    }
    // `drbd0`, `etherd!e0.0`, `scinia`: the name starts with the driver, except for AoE.
    for (prefix, driver) in [
        ("nbd", "nbd"),
        ("rbd", "rbd"),
        ("drbd", "drbd"),
        ("rnbd", "rnbd"),
        ("etherd!", "aoe"),
        ("scini", "scini"),
    ] {
        if name.starts_with(prefix) {
            return DeviceKind::Network {
                driver: driver.to_owned(),
            };
        }
    }
    DeviceKind::Other
}

fn has(entries: &[String], entry: &str) -> bool {
    entries.iter().any(|known| known == entry)
}

fn sectors(reader: &Reader<'_>, path: &str) -> Option<u64> {
    reader.number(path)?.checked_mul(SECTOR_BYTES)
}

fn size_bytes(reader: &Reader<'_>, path: &str) -> Option<u64> {
    sectors(reader, &format!("{path}/size"))
}

/// Parses a flag: `0` or `1`, in newer modules `N` or `Y`.
pub(super) fn flag(reader: &Reader<'_>, path: &str) -> Option<bool> {
    match reader.attribute(path)?.as_str() {
        "0" | "N" => Some(false),
        "1" | "Y" => Some(true),
        _ => None,
    }
}

/// Whether this is a device that exists before anything is attached to it.
fn is_empty_slot(name: &str) -> bool {
    [
        "loop", "ram", "zram", "fd", "sr", "nbd", "rbd", "drbd", "rnbd",
    ]
    .iter()
    .any(|prefix| is_numbered(name, prefix))
}

/// Whether a name is a prefix plus a number, like `loop7`.
fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a name is a prefix plus letters, like `sdaa`.
fn is_lettered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase()))
}

/// Reads `stat` (`Documentation/block/stat.rst`): eleven fields, plus four for discards since 4.18
/// and two for flushes since 5.5.
fn counters(reader: &Reader<'_>, path: &str) -> Option<IoCounters> {
    parse_counters(&reader.attribute(&format!("{path}/stat"))?)
}

fn parse_counters(stat: &str) -> Option<IoCounters> {
    let fields = stat
        .split_ascii_whitespace()
        .take(17)
        .map(|field| field.parse::<u64>().ok())
        .collect::<Option<Vec<u64>>>()?;
    if fields.len() < 11 {
        return None;
    }
    Some(IoCounters {
        read_bytes: fields[2].saturating_mul(SECTOR_BYTES),
        written_bytes: fields[6].saturating_mul(SECTOR_BYTES),
        discards: fields.get(11).copied().filter(|_| fields.len() >= 15),
        discarded_bytes: fields
            .get(13)
            .filter(|_| fields.len() >= 15)
            .map(|sectors| sectors.saturating_mul(SECTOR_BYTES)),
    })
}

/// Returns the multipath namespace that a path belongs to: `nvme0n2` for `nvme0c1n2`.
fn head_of_nvme_path(name: &str) -> Option<String> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(subsystem) && digits(controller) && digits(namespace))
        .then(|| format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests;
