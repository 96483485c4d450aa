//! Simulates a cluster after a change, round by round until nothing moves any more.
//!
//! After each reroute recoveries end, and disk usage is read again. Where the master computes a desired
//! balance, they all do: where copies go does not depend on it. Otherwise those with the fewest bytes end
//! first, as on nodes whose bandwidth they share, and the master reroutes while the others go on. A round
//! ends with the last of the recoveries that it began with: the number of rounds says how often the cluster
//! has to wait for them, not how long.

mod changes;
mod places;
mod summary;

pub use changes::{
    ChangeError, NewIndex, NewNode, NodeShutdown, add_node, awaited, close, create, matching,
    remove_node, shut_down,
};
pub use summary::{ClusterSummary, Level, NodeLoad, level, summary};

use std::collections::{HashMap, HashSet};

use crate::copy::{AllocationIndex, CopyState, ShardCopy};
use crate::desired::DesiredBalance;
use crate::gateway::{OnDiskChange, Stores};
use crate::model::{Cluster, ClusterInfo, DiskUsage, NodeIndex, RoutingTable, ShardId};
use crate::nodes::{Change, RoutingError};
use crate::recovery::Transfers;
use crate::service::{self, CopyId, Live};
use places::Places;

/// What happened until nothing moved any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Course {
    /// Rounds in which a recovery or relocation began.
    pub rounds: u32,
    /// Whether the cluster became stable within the limit on rounds.
    pub quiet: bool,
    /// After how many reroutes the copies were where they had been before, if they go round in a circle and
    /// will never rest.
    pub circle_reroutes: Option<u32>,
    /// Copies that moved from node to node.
    pub moved: u64,
    /// Their total size in bytes, as far as known.
    pub moved_bytes: u64,
    /// Moves that would have sufficed: copies by which nodes gained in an index between the first and the
    /// last round, without those that were not on any node before.
    pub moves_needed: u64,
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
    /// Whether the computation of the desired balance came to its end; `None` where there is none (before
    /// 8.6 and in OpenSearch).
    pub converges: Option<bool>,
    /// Bytes over the network, as far as known: those of the busiest node, and those that a node could have
    /// sent until the last recovery ended.
    pub busiest_bytes: [u64; 2],
    /// Time spent waiting for lost nodes (`index.unassigned.node_left.delayed_timeout`), nanoseconds.
    pub waited_nanos: i64,
}

/// Reroutes, starts all recovering copies, and repeats until nothing happens.
///
/// First processes nodes that were removed before. `stores` is what was on disk before the change, and
/// `desired` the balance that the master had computed until then; without it, the present placement.
/// Allocation delays are waited out. `watch` sees the course after each round.
///
/// # Errors
/// If the routing table is inconsistent; the cluster is then unusable
pub fn run(
    cluster: &mut Cluster,
    desired: Option<&DesiredBalance>,
    stores: &mut Stores,
    mut now_nanos: i64,
    rounds_max: u32,
    watch: &mut dyn FnMut(&Course),
) -> Result<Course, RoutingError> {
    let mut course = Course::default();
    let mut transfers = Transfers::default();
    stores.observe(cluster);
    let first = service::nodes_changed(cluster, now_nanos)?;
    course.note(cluster, stores, &first, &mut transfers);
    stores.observe(cluster);
    let longest = cluster
        .indices
        .iter()
        .map(|index| index.settings.delayed_timeout_nanos)
        .max();
    let mut places = Places::of(cluster);
    let mut live = Live::new(std::mem::take(cluster))?;
    if let (true, Some(desired)) = (live.cluster().has_desired_balance(), desired) {
        live.walk_to(desired.clone());
    }
    let mut waited = false;
    let mut is_computed_again = false;
    let mut is_first = true;
    let ends_together = live.cluster().has_desired_balance();
    let mut of_round = HashSet::new();
    loop {
        // Copies that were recovering when the state was read start first.
        let mut running = recovering(&live);
        let mut ended = running.clone();
        if ends_together {
            transfers.end_all();
        } else {
            transfers.end_next(&mut ended);
        }
        end(&mut live, stores, &ended, std::mem::take(&mut is_first))?;
        let started = !ended.is_empty();
        let ended: HashSet<CopyId> = ended.into_iter().collect();
        running.retain(|copy| !ended.contains(copy));
        of_round.retain(|copy| !ended.contains(copy));
        if course.rounds >= rounds_max {
            // Try another round on a copy to find out whether the cluster is stable.
            let mut next = Live::new(live.cluster().clone())?;
            if let Some(computed) = live.desired() {
                next.walk_to(computed.balance.clone());
            }
            let changes = next.reroute(stores, now_nanos)?;
            course.quiet = running.is_empty() && !changes.iter().any(begins);
            break;
        }
        let changes = live.reroute(stores, now_nanos)?;
        course.note(live.cluster(), stores, &changes, &mut transfers);
        let began = changes.iter().any(begins);
        if of_round.is_empty() && (began || !running.is_empty()) {
            course.rounds += 1;
            of_round.extend(running);
            of_round.extend(changes.iter().filter_map(begun));
        }
        watch(&course);
        course.circle_reroutes = places.follow(&changes);
        if course.circle_reroutes.is_some() {
            break;
        }
        course.converges = live.desired().map(|computed| computed.balance.converged);
        if began || started {
            is_computed_again = false;
            continue;
        }
        // The server computes after every change, which matters once disks and counts have settled.
        if live.desired().is_some() && !std::mem::replace(&mut is_computed_again, true) {
            live.compute_again();
            continue;
        }
        let delayed = |copy: &ShardCopy| copy.unassigned.is_some_and(|info| info.delayed);
        if waited || !live.cluster().routing.copies().any(delayed) {
            course.quiet = true;
            break;
        }
        waited = true;
        live.compute_again();
        course.waited_nanos = longest.unwrap_or(0);
        now_nanos = now_nanos.saturating_add(course.waited_nanos);
    }
    transfers.end_all();
    course.busiest_bytes = transfers.busiest_bytes();
    *cluster = live.into_cluster();
    let recovered = course.primaries_recovered + course.replicas_recovered;
    course.moves_needed = places.gains(cluster).saturating_sub(recovered);
    Ok(course)
}

/// Like [`run`], and then creates indices, one after the other: each finds its place before the next one.
/// The first one is created with the changes that were made before.
///
/// # Errors
/// See [`run`] and [`create`]
pub fn run_creating(
    cluster: &mut Cluster,
    desired: Option<&DesiredBalance>,
    stores: &mut Stores,
    now_nanos: i64,
    rounds_max: u32,
    created: &[NewIndex],
    watch: &mut dyn FnMut(&Course),
) -> Result<Course, ChangeError> {
    let mut indices = created.iter();
    if let Some(index) = indices.next() {
        create(cluster, index, now_nanos)?;
    }
    let mut course = run(cluster, desired, stores, now_nanos, rounds_max, watch)?;
    for index in indices {
        create(cluster, index, now_nanos)?;
        let before = course;
        let watch = &mut |course: &Course| watch(&before.then(course));
        let left = rounds_max.saturating_sub(before.rounds);
        course = before.then(&run(cluster, None, stores, now_nanos, left, watch)?);
    }
    Ok(course)
}

fn begins(change: &Change) -> bool {
    begun(change).is_some()
}

/// The copy that begins to recover with a change.
fn begun(change: &Change) -> Option<CopyId> {
    let (Change::Initialized(copy) | Change::RelocationStarted { target: copy, .. }) = change
    else {
        return None;
    };
    copy_id(copy, copy.allocation)
}

fn copy_id(copy: &ShardCopy, allocation: Option<AllocationIndex>) -> Option<CopyId> {
    let shard = copy.shard;
    allocation.map(|allocation| CopyId { shard, allocation })
}

impl Course {
    /// This course, followed by another one.
    fn then(&self, next: &Course) -> Course {
        let sum = |of: fn(&Course) -> u64| of(self).saturating_add(of(next));
        Course {
            rounds: self.rounds.saturating_add(next.rounds),
            quiet: self.quiet && next.quiet,
            circle_reroutes: self.circle_reroutes.or(next.circle_reroutes),
            moved: sum(|course| course.moved),
            moved_bytes: sum(|course| course.moved_bytes),
            moves_needed: sum(|course| course.moves_needed),
            replicas_recovered: sum(|course| course.replicas_recovered),
            replica_bytes: sum(|course| course.replica_bytes),
            primaries_recovered: sum(|course| course.primaries_recovered),
            promoted: sum(|course| course.promoted),
            of_unknown_size: sum(|course| course.of_unknown_size),
            converges: next
                .converges
                .map(|last| last && self.converges != Some(false)),
            busiest_bytes: [
                sum(|course| course.busiest_bytes[0]),
                sum(|course| course.busiest_bytes[1]),
            ],
            waited_nanos: self.waited_nanos.saturating_add(next.waited_nanos),
        }
    }

    fn note(
        &mut self,
        cluster: &Cluster,
        stores: &Stores,
        changes: &[Change],
        transfers: &mut Transfers,
    ) {
        for change in changes {
            match change {
                Change::Initialized(copy) if copy.primary => self.primaries_recovered += 1,
                Change::Initialized(copy) => {
                    self.replicas_recovered += 1;
                    let bytes = self.bytes(cluster, copy);
                    self.replica_bytes += bytes;
                    // What is on the node already is not sent again.
                    if let Some(id) = begun(change)
                        && !copy.node.is_some_and(|node| stores.holds(copy.shard, node))
                    {
                        transfers.add(id, source(cluster, copy), copy.node, bytes);
                    }
                }
                Change::RelocationStarted { started, target } => {
                    self.moved += 1;
                    let bytes = self.bytes(cluster, started);
                    self.moved_bytes += bytes;
                    if let Some(id) = begun(change) {
                        transfers.add(id, source(cluster, started), target.node, bytes);
                    }
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

/// The node that sends a copy: that of the primary, even if a replica relocates.
fn source(cluster: &Cluster, copy: &ShardCopy) -> Option<NodeIndex> {
    let table = cluster.routing.table(copy.shard.index)?;
    table.primary(copy.shard.shard)?.node
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
    let recovering = recovering(live);
    end(live, stores, &recovering, is_first)?;
    Ok(!recovering.is_empty())
}

/// The copies that are recovering.
fn recovering(live: &Live) -> Vec<CopyId> {
    let copies = live.cluster().routing.copies();
    let recovers = |copy: &ShardCopy| match copy.state {
        CopyState::Relocating => copy_id(copy, copy.relocation),
        CopyState::Initializing => copy_id(copy, copy.allocation),
        CopyState::Unassigned | CopyState::Started => None,
    };
    copies.filter_map(recovers).collect()
}

/// Starts these copies, as [`start_all`].
fn end(
    live: &mut Live,
    stores: &mut Stores,
    starting: &[CopyId],
    is_first: bool,
) -> Result<(), RoutingError> {
    let mut on_disk = Vec::new();
    if !starting.is_empty() {
        let before: HashMap<(ShardId, NodeIndex), ShardCopy> = starting
            .iter()
            .flat_map(|copy| group(&live.cluster().routing, copy.shard))
            .filter_map(|copy| Some(((copy.shard, copy.node?), *copy)))
            .collect();
        live.start(starting)?;
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
            for copy in starting {
                read_paths(info, group(table, copy.shard));
            }
        });
    }
    Ok(())
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

#[cfg(test)]
mod tests;
