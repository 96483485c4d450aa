//! Groups findings by the filesystem that they concern, for the layout of text and Markdown.

use crate::check::sorted;
use facts::host::{DeviceIndex, DeviceNumber, Mount, Store, StoreEngine, StoreState};
use facts::{Finding, Host, Stack};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use units::bytes;

/// Maximum number of layers drawn; a hostile bundle may mount a deep stack thousands of times.
const LAYERS_MAX: usize = 65_536;

/// A filesystem with its stack, stores and findings.
#[derive(Default)]
pub(crate) struct Group<'a> {
    /// Its mounts that findings or stores refer to, in mountinfo's order; empty if a finding names
    /// a mount point that is not mounted.
    pub mounts: Vec<&'a Mount>,
    /// Mount points named by findings that are not mounted.
    pub unmounted: Vec<&'a str>,
    /// The layers below it.
    pub stack: Option<Stack<'a>>,
    /// Whether its devices were not read, so that most rules had nothing to look at.
    pub is_unread: bool,
    /// Stores whose data is on it.
    pub stores: Vec<&'a Store>,
    /// Findings, most severe first.
    pub findings: Vec<&'a Finding>,
}

/// The findings about a host, divided into groups.
pub(crate) struct Groups<'a> {
    /// Filesystems with findings, most severe first.
    pub troubled: Vec<Group<'a>>,
    /// Findings that concern no mount.
    pub host_wide: Vec<&'a Finding>,
    /// Filesystems of stores without findings; with `all`, every other filesystem as well.
    pub clean: Vec<Group<'a>>,
    /// Stores that belong to none of the groups, because the mount of their data is unknown.
    pub unplaced: Vec<&'a Store>,
    /// Number of mounts that belong to none of the groups and whose devices were read, or that have none.
    pub others: usize,
    /// Number of mounts that belong to none of the groups and whose devices were not read.
    pub others_unread: usize,
}

impl<'a> Groups<'a> {
    /// Groups findings about a host; `all` adds groups for the other mounts as well.
    pub fn of(host: &'a Host, findings: impl Iterator<Item = &'a Finding>, all: bool) -> Self {
        let filesystems = Filesystems::of(host);
        let stores = host.stores_by_mount();
        let mut groups: BTreeMap<Key<'a>, Group<'a>> = BTreeMap::new();
        let mut host_wide: Vec<&Finding> = Vec::new();
        let mut named: HashSet<u64> = stores.keys().copied().collect();

        for finding in findings {
            let Some(mount_point) = finding.mount_point.as_deref() else {
                host_wide.push(finding);
                continue;
            };
            let key = filesystems.key_of_mount_point(mount_point);
            if let Some(mount) = filesystems.last_at.get(mount_point) {
                named.insert(mount.id);
            }
            let group = groups.entry(key).or_default();
            group.findings.push(finding);
            if matches!(key, Key::Unmounted(_)) && !group.unmounted.contains(&mount_point) {
                group.unmounted.push(mount_point);
            }
        }
        let mut layers = 0;
        for mount in &host.mounts {
            if !all && !named.contains(&mount.id) {
                continue;
            }
            let group = groups.entry(filesystems.key_of(mount)).or_default();
            group.mounts.push(mount);
            for index in stores.get(&mount.id).into_iter().flatten() {
                let store = &host.stores[*index];
                if !group.stores.contains(&store) {
                    group.stores.push(store);
                }
            }
            group.is_unread |= filesystems.devices.is_unread(mount);
            if group.stack.is_none() && layers < LAYERS_MAX {
                let device = filesystems.devices.of(mount);
                group.stack = device.map(|device| host.stack_below(device));
                layers += group.stack.as_ref().map_or(0, |stack| stack.layers.len());
            }
        }
        let others: Vec<&Mount> = host
            .mounts
            .iter()
            .filter(|mount| !groups.contains_key(&filesystems.key_of(mount)))
            .collect();
        let unread = others.iter();
        let unread = unread.filter(|mount| filesystems.devices.is_unread(mount));
        let others_unread = unread.count();

        let placed: BTreeSet<usize> = stores.into_values().flatten().collect();
        let unplaced = host.stores.iter().enumerate();
        let unplaced = unplaced.filter(|(index, _)| !placed.contains(index));

        let (mut troubled, mut clean): (Vec<_>, Vec<_>) = groups
            .into_values()
            .partition(|group| !group.findings.is_empty());
        for group in &mut troubled {
            group.findings = sorted(std::mem::take(&mut group.findings));
        }
        troubled.sort_by(|a, b| a.order().cmp(&b.order()));
        clean.sort_by(|a, b| a.order().cmp(&b.order()));
        Self {
            troubled,
            host_wide: sorted(host_wide),
            clean,
            unplaced: unplaced.map(|(_, store)| store).collect(),
            others: others.len() - others_unread,
            others_unread,
        }
    }
}

impl<'a> Group<'a> {
    /// Sort key: most severe first, then those with stores, then by mount point.
    fn order(&self) -> impl Ord + use<'a> {
        (
            Reverse(self.findings.first().map(|finding| finding.severity)),
            self.stores.is_empty(),
            self.mount_points(),
        )
    }

    /// Returns every mount point of the group, each once.
    pub fn mount_points(&self) -> Vec<&'a str> {
        let mut points: Vec<&str> = Vec::new();
        let all = self.mounts.iter().map(|mount| mount.mount_point.as_str());
        for point in all.chain(self.unmounted.iter().copied()) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }

    /// Returns the heading: the mount points, the first three of them by name.
    pub fn title(&self) -> String {
        let points = self.mount_points();
        let mut title = points[..points.len().min(3)].join(", ");
        if points.len() > 3 {
            let _ = write!(title, " and {} more", points.len() - 3);
        }
        title
    }

    /// Describes the filesystem: `xfs, 1.8 TiB, 62 % full`, or `not mounted`.
    pub fn filesystem(&self) -> String {
        let Some(mount) = self.mounts.first() else {
            return "not mounted".to_owned();
        };
        let mut words = vec![mount.fs_type.clone()];
        if let Some(usage) = mount.usage {
            words.push(bytes(usage.size_bytes));
            // As df does: the share of what a user may fill, rounded up.
            let used = u128::from(usage.size_bytes.saturating_sub(usage.free_bytes));
            let fillable = used + u128::from(usage.available_bytes);
            if fillable > 0 {
                words.push(format!("{} % full", (used * 100).div_ceil(fillable)));
            }
        }
        if mount.is_read_only() {
            words.push("read-only".to_owned());
        }
        words.join(", ")
    }

    /// Returns the rules that blame this device, each once, most severe first. Host-wide findings
    /// count as well, because they concern the device wherever it is drawn.
    pub fn blamed_by(&self, device: &str, host_wide: &[&'a Finding]) -> Vec<&'a str> {
        let mut rules: Vec<&str> = Vec::new();
        for finding in self.findings.iter().chain(host_wide) {
            if finding.device.as_deref() == Some(device) && !rules.contains(&finding.rule.as_str())
            {
                rules.push(&finding.rule);
            }
        }
        rules
    }
}

/// Describes a store: `Elasticsearch 7.4.2, running, data in /mnt/data/es`.
pub(crate) fn describe_store(store: &Store) -> String {
    let mut words = store.engine.label().to_owned();
    if let Some(version) = &store.version {
        words.push(' ');
        words.push_str(version);
    }
    let state = match store.state {
        StoreState::Running => ", running",
        StoreState::Configured => ", configured, not seen running",
        StoreState::Given if store.engine == StoreEngine::DataPath => "",
        StoreState::Given => ", given by hand",
    };
    words.push_str(state);
    let verb = if store.engine == StoreEngine::DataPath {
        " "
    } else {
        ", data in "
    };
    if !store.data_paths.is_empty() {
        words.push_str(verb);
        words.push_str(&store.data_paths.join(", "));
    }
    words
}

/// Identifies a filesystem. Mounts of the same device are the same filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key<'a> {
    /// The device at the top of its stack.
    Device(&'a str),
    /// Number and source of a filesystem without a block device in sysfs.
    NoDevice(DeviceNumber, &'a str),
    /// A mount point that only a finding names.
    Unmounted(&'a str),
}

/// The host's mounts, indexed once.
pub(crate) struct Filesystems<'a> {
    pub devices: DeviceIndex<'a>,
    /// The last mount at each mount point, which hides the others.
    last_at: HashMap<&'a str, &'a Mount>,
}

impl<'a> Filesystems<'a> {
    pub fn of(host: &'a Host) -> Self {
        Self {
            devices: host.device_index(),
            last_at: host
                .mounts
                .iter()
                .map(|mount| (mount.mount_point.as_str(), mount))
                .collect(),
        }
    }

    pub fn key_of(&self, mount: &'a Mount) -> Key<'a> {
        match self.devices.of(mount) {
            Some(device) => Key::Device(&device.name),
            None => Key::NoDevice(mount.device_number, &mount.source),
        }
    }

    pub fn key_of_mount_point(&self, mount_point: &'a str) -> Key<'a> {
        match self.last_at.get(mount_point) {
            Some(mount) => self.key_of(mount),
            None => Key::Unmounted(mount_point),
        }
    }
}
