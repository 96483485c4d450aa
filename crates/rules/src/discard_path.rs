//! Finds where discards are lost in a device stack.
//!
//! A layer takes discards if its queue's `discard_max_bytes` is above 0; the granularity is
//! irrelevant. Every layer from the mounted device downward must take them. A layer that refuses
//! although all layers below take them is at fault, and so is a drive that refuses. Some layers
//! accept discards without passing them on: a thin pool without passdown, a RAID with one member
//! that refuses.
//!
//! Even if every layer takes discards, that does not prove that they reach the medium: sysfs ends
//! at the drive.

mod cause;
mod evidence;

pub(crate) use cause::{Cause, has_target, is_blocklisted, is_thin_pool, is_vdo};
pub(crate) use evidence::{evidence_of, limits_of, trim_attribute};

use cause::{is_metadata, own_cause, swallows};
use facts::host::{BlockDevice, DeviceKind, DiscardLimits, DmTarget};
use facts::{Layer, Skipped, Stack};
use std::collections::{HashMap, HashSet};

/// A layer that loses discards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault<'a> {
    /// The layer.
    pub(crate) device: &'a BlockDevice,
    /// Whether nothing is below it.
    pub(crate) is_drive: bool,
    /// Whether a layer above takes discards, so that `fstrim` reports success although they end
    /// here.
    pub(crate) swallows: bool,
    /// Why it loses them.
    pub(crate) cause: Cause,
}

/// The path of a discard from a mount down to the drives.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DiscardPath<'a> {
    /// Whether the mounted device takes discards, so that `fstrim` reports success; `None` if its
    /// limits are unknown.
    pub(crate) top_accepts: Option<bool>,
    /// Layers at fault, each listed once, from the top down.
    pub(crate) faults: Vec<Fault<'a>>,
    /// Layers above a fault that would refuse for a reason of their own once the fault is fixed.
    pub(crate) masked_faults: Vec<Fault<'a>>,
    /// Layers that could not be judged.
    pub(crate) unknown: Vec<&'a BlockDevice>,
}

impl DiscardPath<'_> {
    /// Whether discards reach the drives, as far as sysfs shows.
    pub(crate) fn reaches_drives(&self) -> Option<bool> {
        if !self.faults.is_empty() || self.top_accepts == Some(false) {
            Some(false)
        } else if self.top_accepts.is_none() || !self.unknown.is_empty() {
            None
        } else {
            Some(true)
        }
    }

    /// Describes what a rule could not determine here; `None` if nothing was missing.
    pub(crate) fn skipped(&self, rule: &str, mount_point: &str) -> Option<Skipped> {
        let first = self.unknown.first()?;
        let mount_point = crate::shell::printable(mount_point);
        Some(Skipped::new(
            format!("{rule} on {mount_point}"),
            format!(
                "the discard limits of {} are unknown",
                crate::shell::printable(&first.name)
            ),
            Some(&format!("{}/queue/discard_max_bytes", first.sysfs_path)),
        ))
    }
}

/// Whether a device says that it takes discards; `None` if its limits are unknown.
pub(crate) fn takes_discards(device: &BlockDevice) -> Option<bool> {
    device.discard.and_then(DiscardLimits::accepts)
}

/// Traces a discard down a stack.
pub(crate) fn trace<'a>(stack: &Stack<'a>) -> DiscardPath<'a> {
    let mut tracer = Tracer::new(stack);
    let tops = tracer.queues_at(0);
    let takes: Vec<Option<bool>> = tops.iter().map(|&index| tracer.takes(index)).collect();
    tracer.path.top_accepts = match takes.as_slice() {
        [] => None,
        answers if answers.contains(&Some(false)) => Some(false),
        answers if answers.contains(&None) => None,
        _ => Some(true),
    };
    if tops.is_empty() {
        tracer.path.unknown.push(stack.top());
    }
    tracer.visit_all(&tops);
    tracer.path
}

struct Tracer<'s, 'a> {
    stack: &'s Stack<'a>,
    /// For each layer, the indices of the layers directly below it, at their first occurrence in the
    /// stack.
    below: Vec<Vec<usize>>,
    /// Layers to visit (the next one last), and whether a layer above took the discard.
    todo: Vec<(usize, bool)>,
    visited: HashSet<usize>,
    /// Pools whose volume shows a hardware limit of 0 (before Linux 6.10 the sign of a pool without
    /// passdown); at fault if nothing else is.
    pools_in_doubt: Vec<usize>,
    path: DiscardPath<'a>,
}

impl<'s, 'a> Tracer<'s, 'a> {
    fn new(stack: &'s Stack<'a>) -> Self {
        let mut first_place: HashMap<&'a str, usize> = HashMap::new();
        for (index, layer) in stack.layers.iter().enumerate() {
            if !layer.repeated {
                first_place.insert(layer.device.name.as_str(), index);
            }
        }
        let mut below = vec![Vec::new(); stack.layers.len()];
        for (index, layer) in stack.layers.iter().enumerate() {
            if let Some(above) = layer.above {
                let name = layer.device.name.as_str();
                below[above].push(first_place.get(name).copied().unwrap_or(index));
            }
        }
        Self {
            stack,
            below,
            todo: Vec::new(),
            visited: HashSet::new(),
            pools_in_doubt: Vec::new(),
            path: DiscardPath::default(),
        }
    }

    fn layer(&self, index: usize) -> Layer<'a> {
        self.stack.layers[index]
    }

    /// Returns the layer at `index`, or the disks below it if it is a partition, which has no
    /// queue.
    fn queues_at(&self, index: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut todo = vec![index];
        let mut seen = HashSet::new();
        while let Some(index) = todo.pop() {
            if !seen.insert(index) {
                continue;
            }
            let layer = self.layer(index);
            if matches!(layer.device.kind, DeviceKind::Partition { .. })
                && layer.device.discard.is_none()
            {
                todo.extend(&self.below[index]);
            } else {
                found.push(index);
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns the layers to which discards of data are passed on.
    fn legs(&self, index: usize) -> Vec<usize> {
        let device = self.layer(index).device;
        if is_vdo(device) {
            return Vec::new();
        }
        // A thin pool lists its metadata device first.
        let metadata = device.dm_targets().and_then(|targets| match targets {
            [
                DmTarget {
                    target_type,
                    devices,
                    ..
                },
            ] if target_type == "thin-pool" && devices.len() > 1 => devices.first().copied(),
            _ => None,
        });
        let mut legs: Vec<usize> = self.below[index]
            .iter()
            .copied()
            .filter(|&below| {
                let below = self.layer(below).device;
                Some(below.number) != metadata && !is_metadata(below) && !device.is_cached_on(below)
            })
            .flat_map(|below| self.queues_at(below))
            .collect();
        legs.sort_unstable();
        legs.dedup();
        legs
    }

    /// Whether a layer takes discards. bcache announces that it does, and drops those that its backing
    /// device does not take: what fstrim sends then reaches no drive.
    fn takes(&self, index: usize) -> Option<bool> {
        let is_bcache = matches!(
            self.layer(index).device.kind,
            DeviceKind::Bcache { backing: Some(_) }
        );
        let refused_below = is_bcache && {
            let mut legs = self.legs(index).into_iter();
            legs.any(|leg| self.announces(leg) == Some(false))
        };
        if refused_below {
            return Some(false);
        }
        self.announces(index)
    }

    /// Whether a layer says that it takes discards.
    fn announces(&self, index: usize) -> Option<bool> {
        takes_discards(self.layer(index).device)
    }

    /// Visits every layer that a discard can reach. Uses a work list instead of recursion, which a
    /// hostile bundle could make thousands of calls deep.
    fn visit_all(&mut self, tops: &[usize]) {
        self.push_todo(tops, false);
        while let Some((index, under_taking)) = self.todo.pop() {
            // A bundle may contain a loop of `slaves`.
            if !self.visited.insert(index) {
                continue;
            }
            match self.takes(index) {
                Some(true) => self.visit_taking(index),
                Some(false) => self.visit_refusing(index, under_taking),
                None => {
                    let device = self.layer(index).device;
                    self.path.unknown.push(device);
                }
            }
        }
        if self.path.faults.is_empty() {
            for pool in std::mem::take(&mut self.pools_in_doubt) {
                self.push_fault(pool, true, Cause::ThinNoPassdown { table_read: false });
            }
        }
    }

    /// Pushes layers so that the first of `indices` is visited next.
    fn push_todo(&mut self, indices: &[usize], under_taking: bool) {
        let later = indices.iter().rev().map(|&index| (index, under_taking));
        self.todo.extend(later);
    }

    fn visit_taking(&mut self, index: usize) {
        let layer = self.layer(index);
        if let Some(cause) = swallows(layer.device) {
            self.push_fault(index, true, cause);
            return;
        }
        let legs = self.legs(index);
        let hw_is_zero = layer
            .device
            .discard
            .is_some_and(|limits| limits.max_hw_bytes == Some(0));
        if hw_is_zero {
            // The volume keeps its limits when passdown is enabled on the pool; then only the
            // pool's own limits show it (measured on 6.1, where the drives got the discards).
            let is_in_doubt = |&leg: &usize| {
                is_thin_pool(self.layer(leg).device) && self.takes(leg) != Some(true)
            };
            let pool = legs.iter().copied().find(is_in_doubt);
            self.pools_in_doubt.extend(pool);
        }
        self.push_todo(&legs, true);
    }

    fn visit_refusing(&mut self, index: usize, under_taking: bool) {
        let layer = self.layer(index);
        let legs = self.legs(index);
        let own = own_cause(layer.device);
        let under_taking = under_taking || self.announces(index) == Some(true);
        let refusing: Vec<usize> = legs
            .iter()
            .copied()
            .filter(|&leg| self.takes(leg) == Some(false))
            .collect();
        if !refusing.is_empty() {
            // Without the table, a dm-crypt volume may merely reflect what is below it.
            if let Some(cause) = own.filter(|cause| *cause != Cause::Crypt { table_read: false }) {
                self.path.masked_faults.push(Fault {
                    device: layer.device,
                    is_drive: false,
                    swallows: under_taking,
                    cause,
                });
            }
            self.push_todo(&refusing, under_taking);
            return;
        }
        // Legs that are missing or whose limits are unknown may be the ones at fault.
        let unknown_leg = legs.iter().copied().find(|&leg| self.takes(leg).is_none());
        let hidden_below = !layer.is_leaf && legs.is_empty() && !is_vdo(layer.device);
        let guess = || {
            is_thin_pool(layer.device).then_some(if under_taking {
                Cause::ThinNoPassdown { table_read: false }
            } else {
                Cause::ThinIgnore { table_read: false }
            })
        };
        if let Some(cause) = own {
            self.push_fault(index, under_taking, cause);
        } else if unknown_leg.is_some() || hidden_below {
            let device = self.layer(unknown_leg.unwrap_or(index)).device;
            self.path.unknown.push(device);
        } else {
            self.push_fault(index, under_taking, guess().unwrap_or(Cause::Unexplained));
        }
        // Discards lost further down matter once this layer is fixed.
        self.push_todo(&legs, false);
    }

    fn push_fault(&mut self, index: usize, swallows: bool, cause: Cause) {
        let layer = self.layer(index);
        let known = |fault: &Fault<'_>| fault.device.name == layer.device.name;
        if !self.path.faults.iter().any(known) {
            self.path.faults.push(Fault {
                device: layer.device,
                is_drive: layer.is_leaf,
                swallows,
                cause,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use facts::Host;
    use facts::host::DiscardLimits;

    fn path_of<'a>(host: &'a Host, top: &str) -> DiscardPath<'a> {
        trace(&host.stack_below(host.device(top).expect("device")))
    }

    fn faults<'a>(path: &'a DiscardPath<'_>) -> Vec<(&'a str, &'a Cause)> {
        path.faults
            .iter()
            .map(|fault| (fault.device.name.as_str(), &fault.cause))
            .collect()
    }

    #[test]
    fn discards_reach_the_drives_of_a_healthy_stack() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(partition("nvme0n1p1", "nvme0n1"))
            .device(md("md0", "raid0", &["nvme0n1p1", "nvme1n1"]))
            .device(crypt("dm-0", "c0", "md0", true))
            .build();
        let path = path_of(&host, "dm-0");
        assert_eq!(path.reaches_drives(), Some(true));
        assert_eq!(path.faults, []);
        // A partition has no queue; its disk's queue is used.
        assert_eq!(path_of(&host, "nvme0n1p1").top_accepts, Some(true));
    }

    #[test]
    fn the_deepest_refusing_layer_above_taking_ones_is_at_fault() {
        // A thin volume and its pool both refuse; the pool ignores discards, while its metadata and
        // data devices take them.
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(lvm_linear("dm-1", "vg-pool_tmeta", &["nvme0n1"]))
            .device(lvm_linear("dm-2", "vg-pool_tdata", &["nvme0n1"]))
            .device(thin_pool(
                "dm-3",
                "vg-pool-tpool",
                "dm-1",
                "dm-2",
                &["ignore_discard"],
            ))
            .device(with_discard(thin("dm-4", "vg-thin", "dm-3"), no_discards()))
            .build();
        let path = path_of(&host, "dm-4");
        assert_eq!(
            faults(&path),
            [("dm-3", &Cause::ThinIgnore { table_read: true })]
        );
        assert_eq!(path.top_accepts, Some(false));
        assert!(!path.faults[0].swallows);
    }

    #[test]
    fn a_pool_without_passdown_swallows_what_its_volume_took() {
        let host = |table: bool| {
            let pool = thin_pool(
                "dm-3",
                "vg-pool-tpool",
                "dm-1",
                "dm-2",
                &["no_discard_passdown"],
            );
            TestHost::new()
                .device(nvme("nvme0n1"))
                .device(lvm_linear("dm-1", "vg-pool_tmeta", &["nvme0n1"]))
                .device(lvm_linear("dm-2", "vg-pool_tdata", &["nvme0n1"]))
                .device(if table { pool } else { without_table(pool) })
                .device(with_discard(
                    thin("dm-4", "vg-thin", "dm-3"),
                    limits(65536, 17_179_869_184, 0),
                ))
                .build()
        };
        for table_read in [true, false] {
            let host = host(table_read);
            let path = path_of(&host, "dm-4");
            assert_eq!(
                faults(&path),
                [("dm-3", &Cause::ThinNoPassdown { table_read })]
            );
            assert!(path.faults[0].swallows);
            assert_eq!(path.top_accepts, Some(true));
            assert_eq!(path.reaches_drives(), Some(false));
        }
    }

    #[test]
    fn a_volume_keeps_its_zero_when_its_pool_begins_to_pass_discards() {
        // The state after `lvchange --discards passdown` on an active pool (Linux 6.1); the pool's
        // table is unknown, its own limits are fine.
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(without_table(thin_pool(
                "dm-3",
                "vg-pool-tpool",
                "nvme0n1",
                "nvme0n1",
                &[],
            )))
            .device(with_discard(
                thin("dm-4", "vg-thin", "dm-3"),
                limits(65536, 17_179_869_184, 0),
            ))
            .build();
        let path = path_of(&host, "dm-4");
        assert_eq!(faults(&path), []);
        assert_eq!(path.reaches_drives(), Some(true));
    }

    #[test]
    fn an_encrypted_member_is_at_fault_and_the_array_as_well() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1"), nvme("nvme2n1")])
            .device(crypt("dm-0", "c0", "nvme0n1", false))
            .device(crypt("dm-1", "c1", "nvme1n1", true))
            .device(crypt("dm-2", "c2", "nvme2n1", false))
            .device(md("md5", "raid5", &["dm-0", "dm-1", "dm-2"]))
            .build();
        let path = path_of(&host, "md5");
        let crypt = Cause::Crypt { table_read: true };
        assert_eq!(faults(&path), [("dm-0", &crypt), ("dm-2", &crypt)]);
        assert_eq!(path.masked_faults[0].cause, Cause::ParityRaid);
    }

    #[test]
    fn allow_discards_moves_the_fault_below() {
        let refusing = with_discard(crypt("dm-0", "c0", "vda", true), no_discards());
        let host = TestHost::new()
            .device(with_discard(virtio("vda"), no_discards()))
            .device(refusing)
            .build();
        let path = path_of(&host, "dm-0");
        assert_eq!(faults(&path), [("vda", &Cause::VirtioBlk)]);
        assert!(path.faults[0].is_drive);
        assert_eq!(path.masked_faults, []);
    }

    #[test]
    fn one_member_that_refuses_swallows() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), hard_disk("sda")])
            .device(md("md1", "raid1", &["nvme0n1", "sda"]))
            .build();
        let path = path_of(&host, "md1");
        assert_eq!(faults(&path), [("sda", &Cause::AtaUnsupported)]);
        assert!(path.faults[0].swallows);
    }

    #[test]
    fn unknown_limits_give_no_result() {
        let mut blind = nvme("nvme0n1");
        blind.discard = Some(DiscardLimits::default());
        let host = TestHost::new()
            .device(blind)
            .device(lvm_linear("dm-0", "vg-lv", &["nvme0n1"]))
            .build();
        let path = path_of(&host, "dm-0");
        assert_eq!(path.reaches_drives(), None);
        let skipped = path
            .skipped("TRIM001", "/data")
            .expect("something is missing");
        assert_eq!(
            skipped.needs.as_deref(),
            Some("sys/block/nvme0n1/queue/discard_max_bytes")
        );
    }

    #[test]
    fn vdo_ends_the_path() {
        let table = vec![target("vdo", &["sda"], &[])];
        let host = TestHost::new()
            .device(hard_disk("sda"))
            .device(dm("dm-0", "vg-vpool", "LVM-x-vpool", &["sda"], table))
            .build();
        assert_eq!(path_of(&host, "dm-0").reaches_drives(), Some(true));
    }

    #[test]
    fn a_loop_of_slaves_terminates() {
        let refusing = |name, below: &[&str]| {
            with_discard(device(name, DeviceKind::Other, below), no_discards())
        };
        let host = TestHost::new()
            .devices([refusing("a", &["b"]), refusing("b", &["a"])])
            .build();
        assert_eq!(path_of(&host, "a").reaches_drives(), Some(false));
    }

    #[test]
    fn thousands_of_layers_are_followed_without_recursion() {
        // Each device is above the previous one, and all of them are below the first: code that
        // visits a layer by a later occurrence has to go through all earlier ones.
        let count = 4000;
        let name = |n: usize| format!("x{n:04}");
        let all: Vec<String> = (1..count).map(name).collect();
        let mut devices = vec![device("top", DeviceKind::Other, &[])];
        devices[0].below.clone_from(&all);
        devices[0].discard = Some(no_discards());
        for n in 1..count {
            let below = if n > 1 { vec![name(n - 1)] } else { Vec::new() };
            let mut layer = device(&name(n), DeviceKind::Other, &[]);
            layer.below = below;
            devices.push(layer);
        }
        devices[count - 1].discard = Some(no_discards());
        let host = TestHost::new().devices(devices).build();
        assert_eq!(path_of(&host, "top").reaches_drives(), Some(false));
    }
}
