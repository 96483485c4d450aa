use crate::discard_path::{self, DiscardPath};
use facts::host::{Mount, Store};
use facts::{Finding, Host, Skipped, Stack};
use jiff::Timestamp;
use std::collections::{BTreeSet, HashMap};

/// What a rule may look at: the facts, and views of them that several rules share.
pub struct Context<'a> {
    /// The host.
    pub host: &'a Host,
    /// "Now": the moment at which the facts were read.
    pub now: Timestamp,
    /// Mounts that sit on a block device, with their stack; bind mounts and subvolumes of the same
    /// filesystem stand once, at their first mount (or at the one a store's data lies on).
    pub volumes: Vec<Volume<'a>>,
    /// Indices (of the host's stores) by mount id.
    stores_by_mount: HashMap<u64, BTreeSet<usize>>,
}

/// A mounted filesystem on a block device.
pub struct Volume<'a> {
    /// The mount.
    pub mount: &'a Mount,
    /// The layers below.
    pub stack: Stack<'a>,
    /// Stores whose data lies on this filesystem, through any of its mounts.
    pub stores: Vec<&'a Store>,
    /// How far a discard gets below it.
    pub(crate) discards: DiscardPath<'a>,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Findings.
    pub findings: Vec<Finding>,
    /// Rules, or parts of them, that could not be decided.
    pub skipped: Vec<Skipped>,
    /// Ids of the rules that ran.
    pub rules_run: Vec<&'static str>,
}

impl<'a> Context<'a> {
    /// Prepares the shared views.
    pub fn new(host: &'a Host) -> Self {
        Self::of_mounts(host, |_| true)
    }

    /// The same for one filesystem alone: [`Self::volumes`] has at most the one below `mount`.
    pub(crate) fn of_filesystem(host: &'a Host, mount: &Mount) -> Self {
        Self::of_mounts(host, |other| other.device_number == mount.device_number)
    }

    fn of_mounts(host: &'a Host, is_meant: impl Fn(&Mount) -> bool) -> Self {
        let stores_by_mount = host.stores_by_mount();
        let mut volumes: Vec<Volume<'a>> = Vec::new();
        let mut by_device: HashMap<&str, usize> = HashMap::new();
        for mount in host.mounts.iter().filter(|mount| is_meant(mount)) {
            let Some(stack) = host.stack_of(mount) else {
                continue;
            };
            let stores = stores_of(host, &stores_by_mount, mount);
            if let Some(&known) = by_device.get(stack.top().name.as_str()) {
                let known = &mut volumes[known];
                if known.stores.is_empty() && !stores.is_empty() {
                    known.mount = mount;
                }
                for store in stores {
                    if !known.stores.contains(&store) {
                        known.stores.push(store);
                    }
                }
            } else {
                by_device.insert(&stack.top().name, volumes.len());
                volumes.push(Volume {
                    mount,
                    discards: discard_path::trace(&stack),
                    stack,
                    stores,
                });
            }
        }
        Self {
            host,
            now: host.read_at,
            volumes,
            stores_by_mount,
        }
    }

    /// Stores whose data is reached through this very mount, not another of the same filesystem.
    pub fn stores_on(&self, mount: &Mount) -> Vec<&'a Store> {
        stores_of(self.host, &self.stores_by_mount, mount)
    }
}

fn stores_of<'a>(
    host: &'a Host,
    stores_by_mount: &HashMap<u64, BTreeSet<usize>>,
    mount: &Mount,
) -> Vec<&'a Store> {
    stores_by_mount
        .get(&mount.id)
        .into_iter()
        .flatten()
        .map(|&index| &host.stores[index])
        .collect()
}
