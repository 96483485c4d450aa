//! The device layers below a mount, which of their counters count, and how much each layer may see.

use crate::account::{Discarded, LayerName, Layers};
use facts::host::{BlockDevice, DeviceKind, DeviceNumber};
use facts::{Host, Stack};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where the kernel lists the devices of a mounted Btrfs.
const BTRFS_DIR: &str = "/sys/fs/btrfs";

/// Returns the stacks below a filesystem: one, or one per device of a Btrfs.
pub fn stacks<'a>(host: &'a Host, stack: &Stack<'a>, btrfs_uuid: Option<&str>) -> Vec<Stack<'a>> {
    let devices = btrfs_uuid.map_or_else(Vec::new, |uuid| devices_of(Path::new(BTRFS_DIR), uuid));
    let below: Vec<Stack<'a>> = devices
        .iter()
        .filter_map(|name| host.device(name))
        .map(|device| host.stack_below(device))
        .collect();
    if below.is_empty() {
        vec![stack.clone()]
    } else {
        below
    }
}

/// Returns the kernel names of the devices of a Btrfs; empty if the kernel does not list them.
fn devices_of(btrfs_dir: &Path, uuid: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(btrfs_dir.join(uuid).join("devices")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Returns the layers of all stacks, each device once.
pub fn layers(stacks: &[Stack<'_>]) -> Layers {
    let mut layers: Vec<LayerName> = Vec::new();
    for layer in stacks.iter().flat_map(|stack| &stack.layers) {
        if !layers.iter().any(|known| known.device == layer.device.name) {
            layers.push(LayerName {
                device: layer.device.name.clone(),
                depth: layer.depth,
                is_leaf: layer.is_leaf,
                is_mapped: is_mapped(layer.device),
            });
        }
    }
    Layers { layers }
}

/// Device-mapper targets that pass down only what they had mapped.
const MAPPED_TARGETS: &[&str] = &["thin", "thin-pool", "vdo"];

fn is_mapped(device: &BlockDevice) -> bool {
    let DeviceKind::DeviceMapper { targets, .. } = &device.kind else {
        return false;
    };
    targets
        .iter()
        .flatten()
        .any(|target| MAPPED_TARGETS.contains(&target.target_type.as_str()))
}

/// Returns the drives with their device numbers, for locks.
pub fn drives(stacks: &[Stack<'_>]) -> Vec<(String, DeviceNumber)> {
    let mut drives: Vec<(String, DeviceNumber)> = Vec::new();
    for drive in stacks.iter().flat_map(Stack::leaves) {
        if !drives.iter().any(|(name, _)| *name == drive.name) {
            drives.push((drive.name.clone(), drive.number));
        }
    }
    drives
}

/// Returns the device node for a kernel name: names below /dev/mapper need udev.
pub fn node(device: &str) -> PathBuf {
    Path::new("/dev").join(device.replace('!', "/"))
}

/// Returns the maximum bytes of discards that each layer sees when `free_bytes` are discarded at
/// the top. Known for layers with one device below, for mirrors (each member sees all) and for
/// stripes (each member sees its share).
pub fn expected(stacks: &[Stack<'_>], free_bytes: u64) -> BTreeMap<String, u64> {
    let mut expected = BTreeMap::new();
    // It is unknown how data is spread over several devices of a Btrfs.
    let [stack] = stacks else {
        return expected;
    };
    let mut seen: Vec<Option<u64>> = vec![None; stack.layers.len()];
    for (index, layer) in stack.layers.iter().enumerate() {
        seen[index] = match layer.above {
            None => Some(free_bytes),
            Some(above) => seen[above].and_then(|bytes| {
                passed_on(
                    stack.layers[above].device,
                    bytes,
                    stack.below(above).count(),
                )
            }),
        };
        if let (Some(bytes), false) = (seen[index], layer.repeated) {
            expected.insert(layer.device.name.clone(), bytes);
        }
    }
    // A device that is reached by two paths sees the discards of both.
    for layer in stack.layers.iter().filter(|layer| layer.repeated) {
        expected.remove(&layer.device.name);
    }
    expected
}

fn passed_on(device: &BlockDevice, bytes: u64, below: usize) -> Option<u64> {
    let below = u64::try_from(below).ok()?;
    match &device.kind {
        _ if below == 1 => Some(bytes),
        DeviceKind::Md { level, .. } => match level.as_deref()? {
            "raid1" => Some(bytes),
            "raid0" => Some(bytes.div_ceil(below)),
            "raid10" => Some(bytes.saturating_mul(2).div_ceil(below)),
            _ => None,
        },
        _ => None,
    }
}

/// Which layers' counters can be trusted. md RAID0, RAID5 and RAID10 pass discards to their members
/// without counting any (drivers/md/raid0.c, since 5.14); a drive whose `queue/iostats` is 0 counts
/// nothing at all. Their zero means unknown, not "nothing discarded".
#[derive(Debug, Clone, Default)]
pub struct LayerCounters {
    layers: Vec<CountedLayer>,
}

#[derive(Debug, Clone)]
struct CountedLayer {
    name: LayerName,
    /// All devices below it.
    below: BTreeSet<String>,
    /// Disk of a partition. The kernel counts for both at once.
    disk: Option<String>,
    /// Whether it is a device-mapper device, which counts everything sent to it.
    is_mapper: bool,
}

/// Bytes discarded at one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerCount {
    /// Kernel name.
    pub device: String,
    /// Number of layers above it.
    pub depth: usize,
    /// Whether there is no layer below it.
    pub is_leaf: bool,
    /// Bytes discarded; `None` if the layer does not count discards.
    pub discarded_bytes: Option<u64>,
}

impl LayerCounters {
    /// Builds the table for the layers of `stacks`.
    pub fn new(stacks: &[Stack<'_>], layers: &Layers) -> Self {
        let counted = |name: &LayerName| {
            let mut layer = CountedLayer {
                name: name.clone(),
                below: BTreeSet::new(),
                disk: None,
                is_mapper: false,
            };
            for stack in stacks {
                for (index, known) in stack.layers.iter().enumerate() {
                    if known.device.name != name.device {
                        continue;
                    }
                    match known.device.kind {
                        DeviceKind::Partition { .. } => {
                            let disk = stack.below(index).next();
                            layer.disk = disk.map(|disk| disk.device.name.clone());
                        }
                        DeviceKind::DeviceMapper { .. } => layer.is_mapper = true,
                        _ => {}
                    }
                    layer.below.extend(all_below(stack, index));
                }
            }
            layer
        };
        Self {
            layers: layers.layers.iter().map(counted).collect(),
        }
    }

    /// Returns the mounted devices.
    pub fn top(&self) -> Vec<String> {
        let top = self.layers.iter().filter(|layer| layer.name.depth == 0);
        top.map(|layer| layer.name.device.clone()).collect()
    }

    /// Returns what each layer discarded, from the mount down.
    pub fn read(&self, discarded: &Discarded) -> Vec<LayerCount> {
        self.layers
            .iter()
            .map(|layer| LayerCount {
                device: layer.name.device.clone(),
                depth: layer.name.depth,
                is_leaf: layer.name.is_leaf,
                discarded_bytes: self.counted(layer, discarded),
            })
            .collect()
    }

    fn counted(&self, layer: &CountedLayer, discarded: &Discarded) -> Option<u64> {
        let bytes = *discarded.0.get(&layer.name.device)?;
        if bytes > 0 || layer.is_mapper {
            return Some(bytes);
        }
        let disk = layer.disk.as_ref();
        if let Some(disk) = disk.and_then(|disk| self.layer(disk)) {
            return self.counted(disk, discarded).map(|_| 0);
        }
        let is_nothing = |name: &String| discarded.0.get(name) == Some(&0);
        layer.below.iter().all(is_nothing).then_some(0)
    }

    fn layer(&self, device: &str) -> Option<&CountedLayer> {
        self.layers.iter().find(|layer| layer.name.device == device)
    }
}

/// Returns the names of all devices below the layer at `index`. A device already listed elsewhere
/// is not repeated here, and neither is anything below it.
fn all_below(stack: &Stack<'_>, index: usize) -> Vec<String> {
    let is_below = |mut at: usize| {
        while let Some(above) = stack.layers[at].above {
            if above == index {
                return true;
            }
            at = above;
        }
        false
    };
    (0..stack.layers.len())
        .filter(|&at| is_below(at))
        .map(|at| stack.layers[at].device.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, kind: DeviceKind, below: &[&str]) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber::default(),
            sysfs_path: format!("sys/block/{name}"),
            size_bytes: None,
            kind,
            below: below.iter().map(|&name| name.to_owned()).collect(),
            discard: None,
            io_limits: None,
            rotational: None,
            read_only: None,
            counters: None,
        }
    }

    fn md(name: &str, level: &str, below: &[&str]) -> BlockDevice {
        let kind = DeviceKind::Md {
            level: Some(level.to_owned()),
            chunk_bytes: None,
            raid_disks: None,
            array_state: None,
            sync_action: None,
        };
        device(name, kind, below)
    }

    fn host(mut devices: Vec<BlockDevice>) -> Host {
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        Host {
            devices,
            ..Host::default()
        }
    }

    #[test]
    fn mirrors_see_all_and_stripes_their_part() {
        for (level, each) in [("raid1", 1000), ("raid0", 250), ("raid10", 500)] {
            let host = host(vec![
                device("p", DeviceKind::Partition { start_bytes: None }, &["md0"]),
                md("md0", level, &["a", "b", "c", "d"]),
                device("a", DeviceKind::Other, &[]),
                device("b", DeviceKind::Other, &[]),
                device("c", DeviceKind::Other, &[]),
                device("d", DeviceKind::Other, &[]),
            ]);
            let stack = host.stack_below(host.device("p").unwrap());
            let expected = expected(&[stack], 1000);
            assert_eq!(expected["md0"], 1000);
            assert_eq!((expected["a"], expected["d"]), (each, each), "{level}");
        }
    }

    #[test]
    fn unknown_expectations_are_left_out() {
        let host = host(vec![
            device("dm-0", DeviceKind::Other, &["a", "b"]),
            md("md0", "raid5", &["a", "b"]),
            device("a", DeviceKind::Other, &[]),
            device("b", DeviceKind::Other, &[]),
        ]);
        for top in ["dm-0", "md0"] {
            let stack = host.stack_below(host.device(top).unwrap());
            let expected = expected(&[stack], 1000);
            assert_eq!(expected.len(), 1, "{top}");
        }
    }

    #[test]
    fn every_device_of_a_btrfs_is_a_top() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["sdb", "sda"] {
            std::fs::create_dir_all(directory.path().join("u-u/devices").join(name)).unwrap();
        }
        assert_eq!(devices_of(directory.path(), "u-u"), ["sda", "sdb"]);
        assert!(devices_of(directory.path(), "other").is_empty());
        let host = host(vec![
            device("sda", DeviceKind::Other, &[]),
            device("sdb", DeviceKind::Other, &[]),
        ]);
        let stacks: Vec<_> = host.devices.iter().map(|d| host.stack_below(d)).collect();
        assert_eq!(layers(&stacks).top(), ["sda", "sdb"]);
        assert_eq!(layers(&stacks).leaves(), ["sda", "sdb"]);
        assert_eq!(drives(&stacks).len(), 2);
        assert!(expected(&stacks, 1000).is_empty());
    }

    fn counted(host: &Host, top: &str, discarded: &[(&str, u64)]) -> Vec<(String, Option<u64>)> {
        let stacks = [host.stack_below(host.device(top).unwrap())];
        let discarded = discarded
            .iter()
            .map(|&(name, bytes)| (name.to_owned(), bytes));
        LayerCounters::new(&stacks, &layers(&stacks))
            .read(&Discarded(discarded.collect()))
            .iter()
            .map(|seen| (seen.device.clone(), seen.discarded_bytes))
            .collect()
    }

    fn partition(name: &str, disk: &str) -> BlockDevice {
        device(name, DeviceKind::Partition { start_bytes: None }, &[disk])
    }

    #[test]
    fn uncounted_stripe_is_not_at_zero() {
        let host = host(vec![
            partition("md0p1", "md0"),
            md("md0", "raid0", &["a", "b"]),
            device("a", DeviceKind::Other, &[]),
            device("b", DeviceKind::Other, &[]),
        ]);
        let seen = counted(
            &host,
            "md0p1",
            &[("md0p1", 0), ("md0", 0), ("a", 5), ("b", 0)],
        );
        let bytes: Vec<Option<u64>> = seen.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!(bytes, [None, None, Some(5), Some(0)]);
        // If no layer counted anything, zero is zero.
        let seen = counted(&host, "md0", &[("md0", 0), ("a", 0), ("b", 0)]);
        assert!(seen.iter().all(|(_, bytes)| *bytes == Some(0)), "{seen:?}");
    }

    #[test]
    fn zero_above_an_uncounted_drive_is_unknown() {
        let host = host(vec![
            partition("a1", "a"),
            device("a", DeviceKind::Other, &[]),
        ]);
        let seen = counted(&host, "a1", &[("a1", 0)]);
        assert_eq!(seen, [("a1".to_owned(), None), ("a".to_owned(), None)]);
        // Discards of others on the same disk say nothing about this partition's counters.
        let seen = counted(&host, "a1", &[("a1", 0), ("a", 7)]);
        assert_eq!(
            seen,
            [("a1".to_owned(), Some(0)), ("a".to_owned(), Some(7))]
        );
    }

    #[test]
    fn other_half_of_a_mirror_does_not_validate_a_zero() {
        let host = host(vec![
            md("md0", "raid1", &["dm-0", "dm-1"]),
            device("dm-0", DeviceKind::Other, &["a"]),
            device("dm-1", DeviceKind::Other, &["b"]),
            device("a", DeviceKind::Other, &[]),
            device("b", DeviceKind::Other, &[]),
        ]);
        let discarded = [("md0", 9), ("dm-0", 9), ("dm-1", 0), ("a", 9), ("b", 0)];
        let seen: BTreeMap<String, Option<u64>> =
            counted(&host, "md0", &discarded).into_iter().collect();
        assert_eq!((seen["dm-1"], seen["b"]), (Some(0), Some(0)));
    }
}
