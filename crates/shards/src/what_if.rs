//! What would become of a cluster after a change: rounds until nothing moves any more.
//!
//! A round is a reroute; then all copies that recover have started, and disks are read anew. How long
//! recoveries take is not known here: the number of rounds says how often the cluster has to wait for
//! them, not how long.

use std::collections::HashMap;

use crate::copy::{CopyState, ShardCopy};
use crate::deciders::simple_match;
use crate::gateway::{OnDiskChange, Stores};
use crate::model::{
    Cluster, ClusterInfo, DiskUsage, IndexIndex, IndexState, Node, NodeIndex, RoutingTable,
    Settings, ShardId, Version, Watermark,
};
use crate::nodes::{Change, RoutingError};
use crate::service::{self, CopyId, Live, Outcome, Round};

/// A node that is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNode {
    /// Its name, and its id.
    pub name: String,
    /// Its attributes.
    pub attributes: Vec<(String, String)>,
    /// Size of its disk, bytes; as large as the median of the others if it is not told.
    pub disk_bytes: Option<i64>,
}

/// A change that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// No such node.
    #[error("no node is called {asked:?}; nodes are {known}")]
    NoSuchNode {
        /// The name or id asked for.
        asked: String,
        /// Names that there are, the first of them.
        known: String,
    },
    /// More than one node of that name.
    #[error("{0:?} is the name of more than one node: give its id")]
    Ambiguous(String),
    /// A node of that name is there already.
    #[error("a node called {0:?} is there already")]
    NodeExists(String),
    /// No open index of that name.
    #[error("no open index matches {0:?}")]
    NoSuchIndex(String),
    /// The routing table contradicts itself.
    #[error(transparent)]
    Routing(#[from] RoutingError),
}

/// Adds an empty data node. It takes copies from the next reroute on.
///
/// # Errors
/// If a node of that name or id is there.
///
/// # Panics
/// With more than 2^32 nodes.
pub fn add_node(cluster: &mut Cluster, new: &NewNode, version: Version) -> Result<(), ChangeError> {
    let taken = |node: &Node| node.present && (node.name == new.name || node.id == new.name);
    if cluster.nodes.iter().any(taken) {
        return Err(ChangeError::NodeExists(new.name.clone()));
    }
    let number = NodeIndex(u32::try_from(cluster.nodes.len()).expect("fewer than 2^32 nodes"));
    let version = cluster
        .nodes
        .iter()
        .filter(|node| node.present)
        .map(|node| node.version)
        .max()
        .unwrap_or(version);
    cluster.nodes.push(Node {
        id: new.name.clone(),
        name: new.name.clone(),
        host: new.name.clone(),
        // No other node has this address: it is on a host of its own.
        host_address: new.name.clone(),
        publish_address: new.name.clone(),
        attributes: new.attributes.clone(),
        data: true,
        version,
        present: true,
    });
    cluster.data_nodes.push(number);
    let Some(info) = &mut cluster.info else {
        return Ok(());
    };
    let mut sizes: Vec<i64> = info.most.values().map(|usage| usage.total_bytes).collect();
    sizes.sort_unstable();
    if let Some(total_bytes) = new.disk_bytes.or(sizes.get(sizes.len() / 2).copied()) {
        let usage = DiskUsage {
            path: Some(info.path(&format!("the disk of {}", new.name))),
            total_bytes,
            free_bytes: total_bytes,
        };
        info.least.insert(number, usage);
        info.most.insert(number, usage);
    }
    Ok(())
}

/// The node of that name or id.
///
/// # Errors
/// If there is none, or several have the name.
pub(crate) fn find_node(cluster: &Cluster, asked: &str) -> Result<NodeIndex, ChangeError> {
    let present = || {
        (0..)
            .map(NodeIndex)
            .zip(&cluster.nodes)
            .filter(|(_, node)| node.present)
    };
    if let Some((number, _)) = present().find(|(_, node)| node.id == asked) {
        return Ok(number);
    }
    let mut named = present().filter(|(_, node)| node.name == asked);
    match (named.next(), named.next()) {
        (Some((number, _)), None) => Ok(number),
        (Some(_), Some(_)) => Err(ChangeError::Ambiguous(asked.to_owned())),
        (None, _) => {
            let first = present().take(8).map(|(_, node)| node.name.as_str());
            Err(ChangeError::NoSuchNode {
                asked: asked.to_owned(),
                known: first.collect::<Vec<_>>().join(", "),
            })
        }
    }
}

/// Takes a node away, as if it had died: its copies are gone. A node that is to be emptied first is
/// excluded by the setting `cluster.routing.allocation.exclude._name` instead.
///
/// # Errors
/// If there is no such node.
pub fn remove_node(cluster: &mut Cluster, asked: &str) -> Result<NodeIndex, ChangeError> {
    let number = find_node(cluster, asked)?;
    cluster.nodes[number.at()].present = false;
    cluster.data_nodes.retain(|&node| node != number);
    if let Some(info) = &mut cluster.info {
        info.least.remove(&number);
        info.most.remove(&number);
    }
    Ok(number)
}

/// Closes all open indices whose names match a pattern with `*`; how many.
///
/// # Errors
/// If none does.
pub fn close(cluster: &mut Cluster, pattern: &str, now_nanos: i64) -> Result<usize, ChangeError> {
    let matching: Vec<IndexIndex> = (0..)
        .map(IndexIndex)
        .zip(&cluster.indices)
        .filter(|(_, index)| index.state == IndexState::Open && simple_match(pattern, &index.name))
        .map(|(number, _)| number)
        .collect();
    if matching.is_empty() {
        return Err(ChangeError::NoSuchIndex(pattern.to_owned()));
    }
    for &index in &matching {
        service::close_index(cluster, index, now_nanos);
    }
    Ok(matching.len())
}

/// What happened until nothing moved any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Course {
    /// Rounds in which something was begun.
    pub rounds: u32,
    /// Whether it came to rest; otherwise the limit of rounds ended it.
    pub quiet: bool,
    /// Copies that moved from node to node.
    pub moved: u64,
    /// Their size, bytes, as far as it is known.
    pub moved_bytes: u64,
    /// Copies that recovered from their primary, on a node that may have had them.
    pub replicas_recovered: u64,
    /// Their size, bytes, as far as it is known.
    pub replica_bytes: u64,
    /// Primaries that recovered from disk, or empty.
    pub primaries_recovered: u64,
    /// Replicas that became primaries.
    pub promoted: u64,
    /// Copies among all these whose size is not known.
    pub of_unknown_size: u64,
}

/// Reroutes, lets everything that recovers start, and repeats until nothing happens.
///
/// Nodes that were taken away before are noticed first. `stores` is what was on disk before the change.
/// Delays of copies that wait for a node are let pass.
///
/// # Errors
/// If the routing table contradicts itself; the cluster is lost then.
pub fn run(
    cluster: &mut Cluster,
    stores: &mut Stores,
    mut now_nanos: i64,
    rounds_max: u32,
) -> Result<Course, RoutingError> {
    let mut course = Course::default();
    stores.observe(cluster);
    let first = service::nodes_changed(cluster, false, &Round::new(stores, now_nanos))?;
    course.note(cluster, &first);
    stores.observe(cluster);
    let longest = cluster
        .indices
        .iter()
        .map(|index| index.settings.delayed_timeout_nanos)
        .max();
    let mut live = Live::new(std::mem::take(cluster))?;
    let mut waited = false;
    let mut is_first = true;
    loop {
        // What recovered when the state was read starts first, too.
        let started = start_all(&mut live, stores, std::mem::take(&mut is_first))?;
        if course.rounds >= rounds_max {
            // A round more would tell whether it is at rest; it is not made.
            let mut next = live.cluster().clone();
            let outcome = service::reroute(&mut next, &Round::new(stores, now_nanos))?;
            course.quiet = !outcome.changes.iter().any(begins);
            break;
        }
        let outcome = live.reroute(stores, now_nanos)?;
        course.note(live.cluster(), &outcome);
        let began = outcome.changes.iter().any(begins);
        course.rounds += u32::from(began);
        if began || started {
            continue;
        }
        let delayed = |copy: &ShardCopy| copy.unassigned.is_some_and(|info| info.delayed);
        if waited || !live.cluster().routing.copies().any(delayed) {
            course.quiet = true;
            break;
        }
        waited = true;
        now_nanos = now_nanos.saturating_add(longest.unwrap_or(0));
    }
    *cluster = live.into_cluster();
    Ok(course)
}

fn begins(change: &Change) -> bool {
    matches!(
        change,
        Change::Initialized(_) | Change::RelocationStarted { .. }
    )
}

impl Course {
    fn note(&mut self, cluster: &Cluster, outcome: &Outcome) {
        for change in &outcome.changes {
            match change {
                Change::Initialized(copy) if copy.primary => self.primaries_recovered += 1,
                Change::Initialized(copy) => {
                    self.replicas_recovered += 1;
                    self.replica_bytes += self.bytes(cluster, copy);
                }
                Change::RelocationStarted { started, .. } => {
                    self.moved += 1;
                    self.moved_bytes += self.bytes(cluster, started);
                }
                Change::Promoted(_) => self.promoted += 1,
                _ => {}
            }
        }
    }

    fn bytes(&mut self, cluster: &Cluster, copy: &ShardCopy) -> u64 {
        let bytes =
            size(cluster, copy.shard, copy.primary).and_then(|bytes| u64::try_from(bytes).ok());
        self.of_unknown_size += u64::from(bytes.is_none());
        bytes.unwrap_or(0)
    }
}

/// The size of a copy; that of the primary where the replica's is not known, and the other way round.
fn size(cluster: &Cluster, shard: ShardId, primary: bool) -> Option<i64> {
    let info = cluster.info.as_ref()?;
    let own = info.size_bytes(shard, primary);
    own.or_else(|| info.size_bytes(shard, !primary))
}

/// Everything that recovers has started, and disks are read; whether anything has. At first the paths of
/// all copies are read, later those of what has started.
fn start_all(live: &mut Live, stores: &mut Stores, is_first: bool) -> Result<bool, RoutingError> {
    let mut starting = Vec::new();
    for copy in live.cluster().routing.copies() {
        let allocation = match copy.state {
            CopyState::Relocating => copy.relocation,
            CopyState::Initializing => copy.allocation,
            CopyState::Unassigned | CopyState::Started => None,
        };
        let shard = copy.shard;
        starting.extend(allocation.map(|allocation| CopyId { shard, allocation }));
    }
    let mut on_disk = Vec::new();
    if !starting.is_empty() {
        let before: HashMap<(ShardId, NodeIndex), ShardCopy> = starting
            .iter()
            .flat_map(|copy| group(&live.cluster().routing, copy.shard))
            .filter_map(|copy| Some(((copy.shard, copy.node?), *copy)))
            .collect();
        live.start(&starting)?;
        let mut shards: Vec<ShardId> = starting.iter().map(|copy| copy.shard).collect();
        shards.sort_unstable();
        shards.dedup();
        let changes = stores.observe_shards(live.cluster(), shards.into_iter());
        on_disk.extend(changes.into_iter().filter_map(|change| {
            let bytes = size(live.cluster(), change.shard, false)?;
            Some((
                change,
                bytes,
                before.get(&(change.shard, change.node)).copied(),
            ))
        }));
    }
    if is_first {
        live.read_disks(|info, table| {
            read_disks(info, &on_disk);
            read_paths(info, table.copies());
        });
    } else if !starting.is_empty() {
        live.read_disks(|info, table| {
            read_disks(info, &on_disk);
            for copy in &starting {
                read_paths(info, group(table, copy.shard));
            }
        });
    }
    Ok(!starting.is_empty())
}

fn group(table: &RoutingTable, shard: ShardId) -> &[ShardCopy] {
    let table = table.table(shard.index);
    table.map_or(&[], |table| table.group(shard.shard))
}

/// Disks as the next reading would find them: with what came, which takes so many bytes, and without what
/// went, of which the copy tells where it lay.
fn read_disks(info: &mut ClusterInfo, changes: &[(OnDiskChange, i64, Option<ShardCopy>)]) {
    for (change, bytes, copy) in changes {
        // New copies come to the path with the most space.
        let path = if change.came {
            info.most.get(&change.node).and_then(|usage| usage.path)
        } else {
            copy.and_then(|copy| info.data_path(&copy))
        };
        for usages in [&mut info.least, &mut info.most] {
            let same =
                |usage: &&mut DiskUsage| usage.path == path || (path.is_none() && !change.came);
            if let Some(usage) = usages.get_mut(&change.node).filter(same) {
                usage.free_bytes = if change.came {
                    usage.free_bytes.saturating_sub(*bytes)
                } else {
                    usage.free_bytes.saturating_add(*bytes)
                };
            }
        }
    }
}

/// The paths of started copies that are not known yet.
fn read_paths<'a>(info: &mut ClusterInfo, copies: impl IntoIterator<Item = &'a ShardCopy>) {
    for copy in copies.into_iter().filter(|copy| copy.is_started()) {
        if info.data_path(copy).is_none()
            && let Some(path) = copy.node.and_then(|node| info.most.get(&node)?.path)
        {
            info.set_data_path(copy, path);
        }
    }
}

/// How full a disk is, by the watermarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Below all.
    Free,
    /// Above the low watermark: no new replicas.
    Low,
    /// Above the high one: copies move away.
    High,
    /// Above the flood stage: indices become read-only.
    Flood,
}

/// A node as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLoad {
    /// Which.
    pub node: NodeIndex,
    /// Copies on it, recovering ones included.
    pub copies: u64,
    /// Their size, bytes, as far as it is known.
    pub bytes: u64,
    /// Of its fullest disk what is used, percent; `None` where it was not told.
    pub used_percent: Option<f64>,
    /// By the watermarks; `None` where its disks were not told.
    pub level: Option<Level>,
}

/// The cluster as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Live data nodes, in the order of the state.
    pub nodes: Vec<NodeLoad>,
    /// Copies in the routing table.
    pub routed: u64,
    /// Primaries that are on no node.
    pub unassigned_primaries: u64,
    /// Replicas that are on no node.
    pub unassigned_replicas: u64,
}

/// Looks at the cluster.
pub fn picture(cluster: &Cluster) -> Picture {
    let mut picture = Picture {
        nodes: Vec::new(),
        routed: 0,
        unassigned_primaries: 0,
        unassigned_replicas: 0,
    };
    let mut loads = vec![(0, 0); cluster.nodes.len()];
    for copy in cluster.routing.copies() {
        picture.routed += 1;
        let bytes =
            size(cluster, copy.shard, copy.primary).and_then(|bytes| u64::try_from(bytes).ok());
        for node in [copy.node, copy.relocating].into_iter().flatten() {
            let (copies, sum) = &mut loads[node.at()];
            *copies += 1;
            *sum += bytes.unwrap_or(0);
        }
        if copy.is_unassigned() && copy.primary {
            picture.unassigned_primaries += 1;
        } else if copy.is_unassigned() {
            picture.unassigned_replicas += 1;
        }
    }
    picture.nodes = cluster
        .data_nodes
        .iter()
        .map(|&node| {
            let (copies, bytes) = loads[node.at()];
            let usage = cluster.info.as_ref().and_then(|info| info.least.get(&node));
            NodeLoad {
                node,
                copies,
                bytes,
                used_percent: usage.map(DiskUsage::used_percent),
                level: usage.map(|usage| level(&cluster.settings, usage)),
            }
        })
        .collect();
    picture
}

/// Where a disk stands by the watermarks.
pub fn level(settings: &Settings, usage: &DiskUsage) -> Level {
    let above = |watermark: &Watermark| {
        usage.free_bytes < watermark.free_bytes || usage.free_percent() < watermark.free_percent
    };
    if above(&settings.watermark_flood_stage) {
        Level::Flood
    } else if above(&settings.watermark_high) {
        Level::High
    } else if above(&settings.watermark_low) {
        Level::Low
    } else {
        Level::Free
    }
}

#[cfg(test)]
mod tests;
