use crate::budget::Budget;
use crate::discard_path;
use crate::outcome::Outcome;
use crate::trim_jobs::{JOBS_NEED, JOBS_UNKNOWN, TrimJobs};
use crate::volume::Volume;
use facts::host::{BlockDevice, Mount, Store};
use facts::{Host, Skipped};
use jiff::Timestamp;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

/// The input of a rule: the facts, and views of them shared by several rules.
pub struct Context<'a> {
    /// The host.
    pub host: &'a Host,
    /// The time at which the facts were read.
    pub now: Timestamp,
    /// Mounts on a block device, with their stacks. Bind mounts and subvolumes of one filesystem
    /// are listed once, at the first mount (or at the one that holds a store's data).
    pub volumes: Vec<Volume<'a>>,
    /// The time left.
    pub(crate) budget: Budget<'a>,
    /// Number of filesystems that are not among the volumes, because the layers below all of them
    /// are too many or the time is used up.
    pub(crate) left_out: usize,
    /// The trim jobs, found when they are first asked for; `None` if jobs are not known.
    trim_jobs: OnceCell<Option<TrimJobs<'a>>>,
    /// Indices into the host's stores, by mount id.
    stores_by_mount: HashMap<u64, BTreeSet<usize>>,
}

/// Maximum number of layers below all volumes together. A host with 1,000 filesystems on an array
/// of 100 drives has a tenth of it; a hostile bundle may mount a deep stack thousands of times.
const LAYERS_MAX: usize = 1_000_000;

impl<'a> Context<'a> {
    /// Builds the shared views.
    pub fn new(host: &'a Host) -> Self {
        Self::within(Budget::unlimited(), host)
    }

    /// Builds the shared views; if the time is used up meanwhile, those of the first mounts.
    pub(crate) fn within(budget: Budget<'a>, host: &'a Host) -> Self {
        Self::of_mounts(budget, host, |_| true)
    }

    /// Builds the views for a single filesystem: [`Self::volumes`] has at most the one mounted at
    /// `mount`.
    pub(crate) fn of_filesystem(host: &'a Host, mount: &Mount) -> Self {
        let is_it = |other: &Mount| other.device_number == mount.device_number;
        Self::of_mounts(Budget::unlimited(), host, is_it)
    }

    fn of_mounts(budget: Budget<'a>, host: &'a Host, is_meant: impl Fn(&Mount) -> bool) -> Self {
        let stores_by_mount = host.stores_by_mount();
        let devices = host.device_index();
        let mut volumes: Vec<Volume<'a>> = Vec::new();
        let mut by_device: HashMap<&str, usize> = HashMap::new();
        let mut layers = 0;
        let mut left_out = 0;
        for mount in host.mounts.iter().filter(|mount| is_meant(mount)) {
            let Some(device) = devices.of(mount) else {
                continue;
            };
            let stores = stores_of(host, &stores_by_mount, mount);
            if let Some(&known) = by_device.get(device.name.as_str()) {
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
                if layers > LAYERS_MAX || budget.is_used_up() {
                    left_out += 1;
                    continue;
                }
                by_device.insert(&device.name, volumes.len());
                let stack = host.stack_below(device);
                layers += stack.layers.len();
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
            budget,
            left_out,
            trim_jobs: OnceCell::new(),
            stores_by_mount,
        }
    }

    /// Returns the volume whose filesystem is on a device.
    pub(crate) fn volume_on(&self, device: &BlockDevice) -> Option<&Volume<'a>> {
        let mut volumes = self.volumes.iter();
        volumes.find(|volume| volume.stack.top().name == device.name)
    }

    /// Iterates over the volumes as long as there is time.
    pub(crate) fn volumes_in_time(&self) -> impl Iterator<Item = &Volume<'a>> {
        self.volumes
            .iter()
            .take_while(|_| !self.budget.is_used_up())
    }

    /// Returns the trim jobs; `None` if the host's jobs are not known.
    pub(crate) fn trim_jobs(&self) -> Option<&TrimJobs<'a>> {
        let find = || TrimJobs::of(self.host, self.volumes.len(), &self.budget);
        self.trim_jobs.get_or_init(find).as_ref()
    }

    /// Returns the trim jobs, or records that the rule was skipped if the jobs are not known.
    pub(crate) fn trim_jobs_or_skip(&self, rule: &str, out: &mut Outcome) -> Option<&TrimJobs<'a>> {
        let trims = self.trim_jobs();
        let skipped = match trims {
            None => Some(Skipped::new(rule, JOBS_UNKNOWN, Some(JOBS_NEED))),
            Some(trims) => trims.left_out(rule),
        };
        out.skipped.extend(skipped);
        trims
    }

    /// Returns the stores whose data is reached through this mount, not another mount of the same
    /// filesystem.
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
