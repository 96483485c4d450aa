//! Simulates a cluster after a change, round by round until nothing moves any more.
//!
//! A round is a reroute, after which all recovering copies start and disk usage is read again. The
//! duration of recoveries is not modelled: the number of rounds says how often the cluster has to wait
//! for them, not how long.

use std::collections::HashMap;

use crate::copy::{CopyState, ShardCopy};
use crate::deciders::simple_match;
use crate::gateway::{OnDiskChange, Stores};
use crate::model::{
    Cluster, ClusterInfo, DiskUsage, IndexIndex, IndexState, Node, NodeIndex, Roles, RoutingTable,
    Settings, ShardId, Version, Watermark,
};
use crate::nodes::{Change, RoutingError};
use crate::recovery::Transfers;
use crate::service::{self, CopyId, Live, Outcome, Round};

/// A node to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNode {
    /// The node's name, also used as its id.
    pub name: String,
    /// Node attributes.
    pub attributes: Vec<(String, String)>,
    /// Its roles; unknown ones are those of a node that holds everything.
    pub roles: Roles,
    /// Size of its disk in bytes; by default the median of the other nodes.
    pub disk_bytes: Option<i64>,
}

/// A change cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no such node.
    #[error("no node is called {asked:?}; nodes are {known}")]
    NoSuchNode {
        /// The requested name or id.
        asked: String,
        /// The first few existing names.
        known: String,
    },
    /// Several nodes have this name.
    #[error("{0:?} is the name of more than one node: give its id")]
    Ambiguous(String),
    /// A node with this name already exists.
    #[error("a node called {0:?} is there already")]
    NodeExists(String),
    /// There is no open index with this name.
    #[error("no open index matches {0:?}")]
    NoSuchIndex(String),
    /// The routing table is inconsistent.
    #[error(transparent)]
    Routing(#[from] RoutingError),
}

/// Adds an empty data node, which takes copies from the next reroute on.
///
/// # Errors
/// If a node with this name or id exists
///
/// # Panics
/// With more than 2^32 nodes
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
        attributes: new.attributes.iter().cloned().collect(),
        roles: new.roles.clone(),
        data: new.roles.hold_shards(),
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

/// Finds a node by name or id.
///
/// # Errors
/// If there is none, or several have the name
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

/// Removes a node as if it had failed: its copies are lost. To drain a node first, exclude it with the
/// setting `cluster.routing.allocation.exclude._name` instead.
///
/// # Errors
/// If there is no such node
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

/// Closes all open indices whose names match a pattern with `*`. Returns their number.
///
/// # Errors
/// If none matches
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
    /// Rounds in which a recovery or relocation began.
    pub rounds: u32,
    /// Whether the cluster became stable within the limit on rounds.
    pub quiet: bool,
    /// Copies that moved from node to node.
    pub moved: u64,
    /// Their total size in bytes, as far as known.
    pub moved_bytes: u64,
    /// Copies that recovered from their primary, possibly on a node that already had their data.
    pub replicas_recovered: u64,
    /// Their total size in bytes, as far as known.
    pub replica_bytes: u64,
    /// Primaries that recovered from disk or as empty.
    pub primaries_recovered: u64,
    /// Replicas promoted to primary.
    pub promoted: u64,
    /// Copies among these whose size is not known.
    pub of_unknown_size: u64,
    /// Bytes over the network, as far as known: those of the busiest node, and the sum of those of each
    /// round's busiest node.
    pub busiest_bytes: [u64; 2],
    /// Time spent waiting for lost nodes (`index.unassigned.node_left.delayed_timeout`), nanoseconds.
    pub waited_nanos: i64,
}

/// Reroutes, starts all recovering copies, and repeats until nothing happens.
///
/// First processes nodes that were removed before. `stores` is what was on disk before the change.
/// Allocation delays are waited out. `watch` sees the course after each round.
///
/// # Errors
/// If the routing table is inconsistent; the cluster is then unusable
pub fn run(
    cluster: &mut Cluster,
    stores: &mut Stores,
    mut now_nanos: i64,
    rounds_max: u32,
    watch: &mut dyn FnMut(&Course),
) -> Result<Course, RoutingError> {
    let mut course = Course::default();
    let mut transfers = Transfers::default();
    stores.observe(cluster);
    let first = service::nodes_changed(cluster, false, &Round::new(stores, now_nanos))?;
    course.note(cluster, stores, &first, &mut transfers);
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
        // Copies that were recovering when the state was read start first.
        let started = start_all(&mut live, stores, std::mem::take(&mut is_first))?;
        if course.rounds >= rounds_max {
            // Try another round on a copy to find out whether the cluster is stable.
            let mut next = live.cluster().clone();
            let outcome = service::reroute(&mut next, &Round::new(stores, now_nanos))?;
            course.quiet = !outcome.changes.iter().any(begins);
            break;
        }
        let outcome = live.reroute(stores, now_nanos)?;
        course.note(live.cluster(), stores, &outcome, &mut transfers);
        transfers.end_round();
        let began = outcome.changes.iter().any(begins);
        course.rounds += u32::from(began);
        watch(&course);
        if began || started {
            continue;
        }
        let delayed = |copy: &ShardCopy| copy.unassigned.is_some_and(|info| info.delayed);
        if waited || !live.cluster().routing.copies().any(delayed) {
            course.quiet = true;
            break;
        }
        waited = true;
        course.waited_nanos = longest.unwrap_or(0);
        now_nanos = now_nanos.saturating_add(course.waited_nanos);
    }
    course.busiest_bytes = transfers.busiest_bytes();
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
    fn note(
        &mut self,
        cluster: &Cluster,
        stores: &Stores,
        outcome: &Outcome,
        transfers: &mut Transfers,
    ) {
        for change in &outcome.changes {
            match change {
                Change::Initialized(copy) if copy.primary => self.primaries_recovered += 1,
                Change::Initialized(copy) => {
                    self.replicas_recovered += 1;
                    let bytes = self.bytes(cluster, copy);
                    self.replica_bytes += bytes;
                    // What is on the node already is not sent again.
                    if !copy.node.is_some_and(|node| stores.holds(copy.shard, node)) {
                        let table = cluster.routing.table(copy.shard.index);
                        let primary = table.and_then(|table| table.primary(copy.shard.shard));
                        transfers.add(primary.and_then(|copy| copy.node), copy.node, bytes);
                    }
                }
                Change::RelocationStarted { started, target } => {
                    self.moved += 1;
                    let bytes = self.bytes(cluster, started);
                    self.moved_bytes += bytes;
                    transfers.add(started.node, target.node, bytes);
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

/// Size of a copy; if unknown, that of the primary for a replica and vice versa.
fn size(cluster: &Cluster, shard: ShardId, primary: bool) -> Option<i64> {
    let info = cluster.info.as_ref()?;
    let own = info.size_bytes(shard, primary);
    own.or_else(|| info.size_bytes(shard, !primary))
}

/// Starts all recovering copies and reads the disks again. Returns whether any copy was started. The
/// first time, the paths of all copies are read, later those of the started ones.
pub(crate) fn start_all(
    live: &mut Live,
    stores: &mut Stores,
    is_first: bool,
) -> Result<bool, RoutingError> {
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

/// Updates disk usage to what the next reading would find: adds the given bytes of each new copy and
/// subtracts those of each deleted one, whose earlier location comes from the copy.
fn read_disks(info: &mut ClusterInfo, changes: &[(OnDiskChange, i64, Option<ShardCopy>)]) {
    for (change, bytes, copy) in changes {
        // New copies are stored on the path with the most space.
        let path = if change.added {
            info.most.get(&change.node).and_then(|usage| usage.path)
        } else {
            copy.and_then(|copy| info.data_path(&copy))
        };
        for usages in [&mut info.least, &mut info.most] {
            let same =
                |usage: &&mut DiskUsage| usage.path == path || (path.is_none() && !change.added);
            if let Some(usage) = usages.get_mut(&change.node).filter(same) {
                usage.free_bytes = if change.added {
                    usage.free_bytes.saturating_sub(*bytes)
                } else {
                    usage.free_bytes.saturating_add(*bytes)
                };
            }
        }
    }
}

/// Sets the paths of started copies for which none is known.
fn read_paths<'a>(info: &mut ClusterInfo, copies: impl IntoIterator<Item = &'a ShardCopy>) {
    for copy in copies.into_iter().filter(|copy| copy.is_started()) {
        if info.data_path(copy).is_none()
            && let Some(path) = copy.node.and_then(|node| info.most.get(&node)?.path)
        {
            info.set_data_path(copy, path);
        }
    }
}

/// How full a disk is relative to the watermarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Below all watermarks.
    Free,
    /// Above the low watermark: no new replicas.
    Low,
    /// Above the high watermark: copies move away.
    High,
    /// Above the flood stage: indices become read-only.
    Flood,
}

/// Load of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLoad {
    /// The node.
    pub node: NodeIndex,
    /// Copies on it, including recovering ones.
    pub copies: u64,
    /// Their total size in bytes, as far as known.
    pub bytes: u64,
    /// Usage of its fullest disk, percent; `None` if not known.
    pub used_percent: Option<f64>,
    /// Level of its fullest disk; `None` if its disks are not known.
    pub level: Option<Level>,
}

/// Summary of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSummary {
    /// Live data nodes, in the order of the state.
    pub nodes: Vec<NodeLoad>,
    /// Copies in the routing table.
    pub routed: u64,
    /// Unassigned primaries.
    pub unassigned_primaries: u64,
    /// Unassigned replicas.
    pub unassigned_replicas: u64,
}

/// Summarizes a cluster.
pub fn summary(cluster: &Cluster) -> ClusterSummary {
    let mut summary = ClusterSummary {
        nodes: Vec::new(),
        routed: 0,
        unassigned_primaries: 0,
        unassigned_replicas: 0,
    };
    let mut loads = vec![(0, 0); cluster.nodes.len()];
    for copy in cluster.routing.copies() {
        summary.routed += 1;
        let bytes =
            size(cluster, copy.shard, copy.primary).and_then(|bytes| u64::try_from(bytes).ok());
        for node in [copy.node, copy.relocating].into_iter().flatten() {
            let (copies, sum) = &mut loads[node.at()];
            *copies += 1;
            *sum += bytes.unwrap_or(0);
        }
        if copy.is_unassigned() && copy.primary {
            summary.unassigned_primaries += 1;
        } else if copy.is_unassigned() {
            summary.unassigned_replicas += 1;
        }
    }
    summary.nodes = cluster
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
    summary
}

/// Level of a disk relative to the watermarks.
pub fn level(settings: &Settings, usage: &DiskUsage) -> Level {
    let above = |watermark: &Watermark| {
        let watermark = watermark.of_disk(usage.total_bytes);
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
