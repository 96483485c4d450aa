use crate::host::{BlockDevice, Host, Mount};
use std::collections::HashSet;

/// The device layers below a mount, down to its drives.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack<'a> {
    /// Layers in depth-first order, each followed by everything below it, as a tree is drawn. A
    /// device reached by two paths (thin data and metadata on one drive) appears at both places,
    /// but the layers below it are listed only the first time.
    pub layers: Vec<Layer<'a>>,
    /// Whether all layers were read, as far as those that were tell: a device may name one below it that is not
    /// there, one that always lies on others may name none, and of a drive's queue nothing may be known.
    pub is_complete: bool,
}

/// One layer of a stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer<'a> {
    /// The device.
    pub device: &'a BlockDevice,
    /// Depth; 0 for the mounted device.
    pub depth: usize,
    /// Index in `layers` of the layer above; `None` for the top.
    pub above: Option<usize>,
    /// Whether nothing is below it: a drive, as far as this kernel can see.
    pub is_leaf: bool,
    /// Whether it already appeared elsewhere in the same stack.
    pub repeated: bool,
}

/// Deeper than any real stack; a bundle may contain a cycle of `slaves`.
const DEPTH_MAX: usize = 32;
/// More layers than any real stack has; a hostile bundle could fan out.
const LAYERS_MAX: usize = 4096;

impl Host {
    /// Returns the stack below a mount; `None` if it has no block device (tmpfs, NFS) or sysfs does
    /// not show it.
    pub fn stack_of(&self, mount: &Mount) -> Option<Stack<'_>> {
        Some(self.stack_below(self.device_of(mount)?))
    }

    /// Returns the stack from a device downwards, the device included.
    pub fn stack_below<'a>(&'a self, top: &'a BlockDevice) -> Stack<'a> {
        let mut layers: Vec<Layer<'a>> = Vec::new();
        let mut is_complete = true;
        let mut seen = HashSet::new();
        let mut todo: Vec<(&BlockDevice, usize, Option<usize>)> = vec![(top, 0, None)];
        while let Some((device, depth, above)) = todo.pop() {
            let repeated = !seen.insert(device.name.as_str());
            let index = layers.len();
            is_complete &= !device.below.is_empty() || device.is_known_drive();
            layers.push(Layer {
                device,
                depth,
                above,
                is_leaf: device.below.is_empty(),
                repeated,
            });
            if layers.len() >= LAYERS_MAX {
                break;
            }
            if repeated || depth >= DEPTH_MAX {
                continue;
            }
            // Reversed because the last one pushed is visited first.
            for name in device.below.iter().rev() {
                match self.device(name) {
                    Some(below) => todo.push((below, depth + 1, Some(index))),
                    None => is_complete = false,
                }
            }
        }
        Stack {
            layers,
            is_complete,
        }
    }
}

impl<'a> Stack<'a> {
    /// Returns the mounted device.
    pub fn top(&self) -> &'a BlockDevice {
        self.layers[0].device
    }

    /// Iterates over the drives at the bottom, each once.
    pub fn leaves(&self) -> impl Iterator<Item = &'a BlockDevice> {
        self.layers
            .iter()
            .filter(|layer| layer.is_leaf && !layer.repeated)
            .map(|layer| layer.device)
    }

    /// Iterates over the drives that hold the data, each once: the drives at the bottom without those
    /// that only serve as a cache. They are the ones to trim.
    pub fn data_drives(&self) -> impl Iterator<Item = &'a BlockDevice> {
        // Layers come before what is below them.
        let mut is_cache = vec![false; self.layers.len()];
        let mut drives: Vec<&'a BlockDevice> = Vec::new();
        let mut seen = HashSet::new();
        for (index, layer) in self.layers.iter().enumerate() {
            is_cache[index] = layer.above.is_some_and(|above| {
                is_cache[above] || self.layers[above].device.is_cached_on(layer.device)
            });
            if layer.is_leaf && !is_cache[index] && seen.insert(layer.device.name.as_str()) {
                drives.push(layer.device);
            }
        }
        drives.into_iter()
    }

    /// Iterates over the layers directly below the layer at `index`.
    pub fn below(&self, index: usize) -> impl Iterator<Item = &Layer<'a>> {
        self.layers
            .iter()
            .filter(move |layer| layer.above == Some(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{DeviceKind, DeviceNumber, DmTarget};

    fn device(name: &str, minor: u32, below: &[&str]) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber { major: 253, minor },
            sysfs_path: format!("sys/block/{name}"),
            below: below.iter().map(|&name| name.to_owned()).collect(),
            ..BlockDevice::default()
        }
    }

    fn host(devices: Vec<BlockDevice>) -> Host {
        Host {
            devices,
            ..Host::default()
        }
    }

    #[test]
    fn a_shared_drive_appears_twice_but_is_one_leaf() {
        let host = host(vec![
            device("a", 1, &["b", "c"]),
            device("b", 2, &["d"]),
            device("c", 3, &["d"]),
            device("d", 4, &[]),
        ]);
        let stack = host.stack_below(&host.devices[0]);
        let drawn: Vec<_> = stack
            .layers
            .iter()
            .map(|l| (l.device.name.as_str(), l.depth))
            .collect();
        assert_eq!(drawn, [("a", 0), ("b", 1), ("d", 2), ("c", 1), ("d", 2)]);
        assert_eq!(stack.leaves().count(), 1);
    }

    #[test]
    fn the_data_of_a_cached_device_is_on_its_origin() {
        let mut bcache = device("bcache0", 1, &["sda1", "sdb"]);
        let backing = Some("sda1".to_owned());
        bcache.kind = DeviceKind::Bcache { backing };
        // The cache of the other one is a partition of the drive that holds the data.
        let mut cached = device("dm-0", 2, &["sda2", "sdb"]);
        let number = |minor| DeviceNumber { major: 253, minor };
        cached.kind = DeviceKind::DeviceMapper {
            name: None,
            uuid: None,
            targets: Some(vec![DmTarget {
                target_type: "cache".to_owned(),
                devices: vec![number(4), number(4), number(5)],
                ..DmTarget::default()
            }]),
        };
        let host = host(vec![
            bcache,
            cached,
            device("sda", 6, &[]),
            device("sda1", 3, &["sda"]),
            device("sda2", 4, &["sda"]),
            device("sdb", 5, &[]),
        ]);
        for (top, expected) in [(0, ["sda"]), (1, ["sdb"])] {
            let stack = host.stack_below(&host.devices[top]);
            let names: Vec<&str> = stack
                .data_drives()
                .map(|drive| drive.name.as_str())
                .collect();
            assert_eq!(names, expected);
            assert_eq!(stack.leaves().count(), 2);
        }
    }

    #[test]
    fn a_cycle_of_slaves_terminates() {
        let host = host(vec![device("a", 1, &["b"]), device("b", 2, &["a"])]);
        assert_eq!(host.stack_below(&host.devices[0]).layers.len(), 3);
    }
}
