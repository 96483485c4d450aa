//! The layers below a mount, as the pass counts them, and what each may come to see.

use facts::host::{BlockDevice, DeviceKind, DeviceNumber};
use facts::{Host, Stack};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trim::account::{LayerName, Layers};

/// Where the kernel lists the devices of a mounted Btrfs.
const BTRFS_DIR: &str = "/sys/fs/btrfs";

/// The stacks below a filesystem: one, or one for each device of a Btrfs.
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

/// Kernel names of the devices of a Btrfs; none where the kernel does not tell.
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

/// The layers of some stacks, each device once.
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

/// Device-mapper targets that pass on only what they had mapped.
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

/// The drives with their numbers, for locks.
pub fn drives(stacks: &[Stack<'_>]) -> Vec<(String, DeviceNumber)> {
    let mut drives: Vec<(String, DeviceNumber)> = Vec::new();
    for drive in stacks.iter().flat_map(Stack::leaves) {
        if !drives.iter().any(|(name, _)| *name == drive.name) {
            drives.push((drive.name.clone(), drive.number));
        }
    }
    drives
}

/// The node of a device by its kernel name: names below /dev/mapper need udev.
pub fn node(device: &str) -> PathBuf {
    Path::new("/dev").join(device.replace('!', "/"))
}

/// Bytes of discards that each layer sees at most when `free_bytes` are discarded above. Known where
/// the way is: one device below, mirrors (each sees all), stripes (each sees its part).
pub fn expected(stacks: &[Stack<'_>], free_bytes: u64) -> BTreeMap<String, u64> {
    let mut expected = BTreeMap::new();
    // Of several devices of a Btrfs nobody knows which holds how much.
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
    // A device that is reached twice sees both.
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
    fn what_cannot_be_known_is_not_said() {
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
}
