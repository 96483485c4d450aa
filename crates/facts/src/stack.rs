use crate::host::{BlockDevice, Host, Mount};
use std::collections::HashSet;

/// The device layers below a mount, down to its drives.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack<'a> {
    /// Layers in depth-first order, each followed by everything below it, as a tree is drawn. A
    /// device reached by two paths (thin data and metadata on one drive) appears at both places,
    /// but the layers below it are listed only the first time.
    pub layers: Vec<Layer<'a>>,
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
        let mut seen = HashSet::new();
        let mut todo: Vec<(&BlockDevice, usize, Option<usize>)> = vec![(top, 0, None)];
        while let Some((device, depth, above)) = todo.pop() {
            let repeated = !seen.insert(device.name.as_str());
            let index = layers.len();
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
                if let Some(below) = self.device(name) {
                    todo.push((below, depth + 1, Some(index)));
                }
            }
        }
        Stack { layers }
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
    use crate::host::{DeviceKind, DeviceNumber};

    fn device(name: &str, minor: u32, below: &[&str]) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber { major: 253, minor },
            sysfs_path: format!("sys/block/{name}"),
            size_bytes: None,
            kind: DeviceKind::Other,
            below: below.iter().map(|&name| name.to_owned()).collect(),
            discard: None,
            io_limits: None,
            rotational: None,
            read_only: None,
            counters: None,
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
    fn a_cycle_of_slaves_terminates() {
        let host = host(vec![device("a", 1, &["b"]), device("b", 2, &["a"])]);
        assert_eq!(host.stack_below(&host.devices[0]).layers.len(), 3);
    }
}
