use std::collections::{HashMap, HashSet};

use super::{Fetch, FileStore, StartedStore, StoreError, Stores, allocate_unassigned};
use crate::allocation::Allocation;
use crate::copy::{
    AllocationIndex, AllocationStatus, Reason, RecoverySource, ShardCopy, UnassignedInfo,
};
use crate::deciders::Deciders;
use crate::engine::Engine;
use crate::model::{Cluster, NodeIndex, RoutingTable, ShardId, TableOrder};
use crate::nodes::RoutingNodes;
use crate::nodes::sample::{cluster, shard, word};

/// Canned responses; none for the shards in `pending`.
#[derive(Default)]
struct FakeFetch {
    started: HashMap<ShardId, Vec<StartedStore>>,
    files: HashMap<ShardId, Vec<FileStore>>,
    pending: HashSet<ShardId>,
    asked: bool,
}

impl Fetch for FakeFetch {
    fn started(&self, shard: ShardId) -> Option<Vec<StartedStore>> {
        let known = self.started.get(&shard).cloned().unwrap_or_default();
        (!self.pending.contains(&shard)).then_some(known)
    }

    fn files(&self, shard: ShardId) -> Option<Vec<FileStore>> {
        let known = self.files.get(&shard).cloned().unwrap_or_default();
        (!self.pending.contains(&shard)).then_some(known)
    }

    fn has_asked_for_files(&self, _: ShardId) -> bool {
        self.asked
    }
}

fn store(node: u32, id: u64) -> StartedStore {
    StartedStore {
        node: NodeIndex(node),
        allocation: Some(AllocationIndex(id)),
        primary: false,
        error: None,
    }
}

fn files(node: u32, matching_bytes: u64, sync_id: Option<u64>) -> FileStore {
    FileStore {
        node: NodeIndex(node),
        is_empty: false,
        sync_id,
        matching_bytes,
    }
}

/// Result of the gateway allocator; groups list the copies on nodes, then the unassigned ones with their
/// status.
struct Placed {
    nodes: RoutingNodes,
    pending: bool,
}

impl Placed {
    fn group(&self, shard: ShardId) -> Vec<String> {
        let list = self.nodes.unassigned();
        let waiting = list.list().iter().chain(list.ignored());
        let waiting = waiting.map(|&handle| *self.nodes.copy(handle));
        let waiting = waiting.filter(|copy| copy.shard == shard).map(|copy| {
            let status = copy.unassigned.unwrap().last_status;
            format!("{} {status:?}", word(&copy))
        });
        self.nodes
            .assigned_copies(shard)
            .map(word)
            .chain(waiting)
            .collect()
    }

    fn copy(&self, shard: ShardId) -> &ShardCopy {
        self.nodes.assigned_copies(shard).next().unwrap()
    }
}

fn place_with(
    cluster: &Cluster,
    fetch: &dyn Fetch,
    prepare: impl Fn(&mut Allocation<'_>),
) -> Placed {
    let mut nodes = RoutingNodes::new(cluster).unwrap();
    let deciders = Deciders::new(cluster, &nodes, Engine::scan());
    let mut allocation = Allocation::new(cluster, &mut nodes, &deciders, 0);
    prepare(&mut allocation);
    allocate_unassigned(&mut allocation, fetch);
    let pending = allocation.has_pending_fetch;
    Placed { nodes, pending }
}

fn place(cluster: &Cluster, fetch: &dyn Fetch) -> Placed {
    place_with(cluster, fetch, |_| ())
}

/// Sets reason and delay of every unassigned copy.
fn waiting_for(cluster: &mut Cluster, reason: Reason, delayed: bool) {
    let mut tables = cluster.routing.tables().to_vec();
    for copy in tables.iter_mut().flat_map(|table| &mut table.copies) {
        if copy.unassigned.is_some() {
            let info = UnassignedInfo::new(reason, 0);
            copy.unassigned = Some(UnassignedInfo { delayed, ..info });
        }
    }
    cluster.routing = RoutingTable::new(tables, TableOrder::Kept);
}

fn in_sync(cluster: &mut Cluster, ids: &[u64]) {
    cluster.indices[0].in_sync[0] = ids.iter().copied().map(AllocationIndex).collect();
}

const ONE: ShardId = shard(0, 0);

#[test]
fn a_primary_goes_to_an_in_sync_copy() {
    let mut cluster = cluster(4, &["Pu"]);
    in_sync(&mut cluster, &[11, 12]);
    let mut fetch = FakeFetch::default();
    let best = |fetch: &FakeFetch| place(&cluster, fetch).copy(ONE).node.unwrap().0;
    // The stale copy does not count although it was the primary; the first of the others wins.
    let stale = StartedStore {
        primary: true,
        ..store(0, 99)
    };
    fetch
        .started
        .insert(ONE, vec![stale, store(1, 11), store(2, 12)]);
    assert_eq!(best(&fetch), 1);
    // One that was the primary takes precedence.
    let stores = fetch.started.get_mut(&ONE).unwrap();
    stores[2].primary = true;
    assert_eq!(best(&fetch), 2);
    // Unless it is locked: it still counts as a copy, but comes last.
    let stores = fetch.started.get_mut(&ONE).unwrap();
    stores[2].error = Some(StoreError::Locked);
    assert_eq!(best(&fetch), 1);
    let stores = fetch.started.get_mut(&ONE).unwrap();
    stores[1].error = Some(StoreError::Other);
    assert_eq!(best(&fetch), 2);
    let placed = place(&cluster, &fetch);
    // It takes over the allocation id of the data.
    assert_eq!(placed.copy(ONE).allocation, Some(AllocationIndex(12)));
    assert_eq!(
        placed.copy(ONE).recovery,
        Some(RecoverySource::ExistingStore)
    );
}

#[test]
fn a_primary_without_data_anywhere_stays_unassigned() {
    let mut cluster = cluster(2, &["Pu"]);
    in_sync(&mut cluster, &[11]);
    let mut fetch = FakeFetch::default();
    fetch.started.insert(ONE, vec![store(0, 99)]);
    assert_eq!(place(&cluster, &fetch).group(ONE), ["Pu NoValidShardCopy"]);
    // It does not go back to where it has just failed either.
    fetch.started.insert(ONE, vec![store(1, 11)]);
    let failed = |allocation: &mut Allocation<'_>| allocation.ignore_node(ONE, NodeIndex(1));
    let placed = place_with(&cluster, &fetch, failed);
    assert_eq!(placed.group(ONE), ["Pu NoValidShardCopy"]);
}

#[test]
fn new_primaries_are_left_to_the_balancer() {
    let mut cluster = cluster(2, &["Pu"]);
    let mut tables = cluster.routing.tables().to_vec();
    tables[0].copies[0].recovery = Some(RecoverySource::EmptyStore);
    cluster.routing = RoutingTable::new(tables.clone(), TableOrder::Kept);
    assert_eq!(
        place(&cluster, &FakeFetch::default()).group(ONE),
        ["Pu NoAttempt"]
    );
    // A snapshot restore is left to the balancer, too, if no node has data; otherwise any copy will do.
    tables[0].copies[0].recovery = Some(RecoverySource::Snapshot(1));
    cluster.routing = RoutingTable::new(tables, TableOrder::Kept);
    in_sync(&mut cluster, &[5]);
    cluster.restores.push(crate::model::RestoreShard {
        restore: 1,
        shard: ONE,
        completed: false,
    });
    let mut fetch = FakeFetch::default();
    assert_eq!(place(&cluster, &fetch).group(ONE), ["Pu NoAttempt"]);
    fetch.started.insert(ONE, vec![store(0, 99), store(1, 5)]);
    assert_eq!(place(&cluster, &fetch).group(ONE), ["Pi1"]);
}

#[test]
fn a_pending_fetch_blocks_later_primaries() {
    let mut cluster = cluster(2, &["Pu", "Pu", "Pu"]);
    // The newest index comes first, then the name that sorts last.
    cluster.indices[1].settings.creation_date = 10;
    for index in &mut cluster.indices {
        index.in_sync = vec![vec![AllocationIndex(11)]];
    }
    let mut fetch = FakeFetch::default();
    for index in 0..3 {
        fetch.started.insert(shard(index, 0), vec![store(0, 11)]);
    }
    fetch.pending.insert(shard(2, 0));
    let placed = place(&cluster, &fetch);
    assert!(placed.pending);
    assert_eq!(placed.group(shard(1, 0)), ["Pi0"]);
    assert_eq!(placed.group(shard(2, 0)), ["Pu FetchingShardData"]);
    assert_eq!(placed.group(shard(0, 0)), ["Pu FetchingShardData"]);
    // A higher priority takes precedence over both.
    cluster.indices[0].settings.priority = 2;
    assert_eq!(place(&cluster, &fetch).group(shard(0, 0)), ["Pi0"]);
}

#[test]
fn four_primaries_recover_per_node() {
    let mut cluster = cluster(2, &["Pu|Pu|Pu|Pu|Pu"]);
    let mut fetch = FakeFetch::default();
    for number in 0..5 {
        cluster.indices[0].in_sync[number as usize] = vec![AllocationIndex(u64::from(number))];
        fetch
            .started
            .insert(shard(0, number), vec![store(1, number.into())]);
    }
    let placed = place(&cluster, &fetch);
    for number in 0..4 {
        assert_eq!(placed.group(shard(0, number)), ["Pi1"]);
    }
    assert_eq!(placed.group(shard(0, 4)), ["Pu DecidersThrottled"]);
    assert!(!placed.pending);
}

#[test]
fn a_primary_is_forced_to_the_node_with_its_data() {
    let mut cluster = cluster(2, &["Pu"]);
    in_sync(&mut cluster, &[11]);
    cluster.settings.exclude.add("_name", "n1");
    let mut fetch = FakeFetch::default();
    fetch.started.insert(ONE, vec![store(1, 11)]);
    assert_eq!(place(&cluster, &fetch).group(ONE), ["Pi1"]);
    // But not after too many failures.
    let mut tables = cluster.routing.tables().to_vec();
    tables[0].copies[0].unassigned = Some(UnassignedInfo {
        failed_allocations: 5,
        ..UnassignedInfo::new(Reason::AllocationFailed, 0)
    });
    cluster.routing = RoutingTable::new(tables, TableOrder::Kept);
    assert_eq!(place(&cluster, &fetch).group(ONE), ["Pu DecidersNo"]);
}

#[test]
fn a_replica_goes_to_the_node_with_most_of_its_data() {
    let mut cluster = cluster(4, &["Ps0 Ru"]);
    waiting_for(&mut cluster, Reason::NodeLeft, true);
    let mut fetch = FakeFetch::default();
    let group = |fetch: &FakeFetch| place(&cluster, fetch).group(ONE);
    fetch.files.insert(
        ONE,
        vec![files(0, 9, Some(7)), files(1, 3, None), files(2, 5, None)],
    );
    assert_eq!(group(&fetch), ["Ps0", "Ri2"]);
    // A matching sync id beats any number of bytes.
    fetch.files.get_mut(&ONE).unwrap()[1].sync_id = Some(7);
    assert_eq!(group(&fetch), ["Ps0", "Ri1"]);
    // If a node has files but none that match, the replica does not wait.
    fetch
        .files
        .insert(ONE, vec![files(0, 9, None), files(3, 0, None)]);
    assert_eq!(group(&fetch), ["Ps0", "Ru NoAttempt"]);
    // Without any data it waits for its node and is ignored in this round.
    fetch.files.insert(ONE, vec![files(0, 9, None)]);
    let placed = place(&cluster, &fetch);
    assert_eq!(placed.nodes.unassigned().ignored().len(), 1);
    // If the primary's files could not be read, the balancer takes over.
    fetch.files.insert(ONE, Vec::new());
    assert_eq!(place(&cluster, &fetch).nodes.unassigned().list().len(), 1);
    // It does not wait once it is no longer delayed.
    waiting_for(&mut cluster, Reason::NodeLeft, false);
    fetch.files.insert(ONE, vec![files(0, 9, None)]);
    assert_eq!(place(&cluster, &fetch).nodes.unassigned().list().len(), 1);
    // A new index has no data, so nothing is fetched.
    waiting_for(&mut cluster, Reason::IndexCreated, false);
    fetch.pending.insert(ONE);
    assert!(!place(&cluster, &fetch).pending);
}

#[test]
fn a_replica_that_no_node_may_take_is_not_fetched() {
    let mut cluster = cluster(2, &["Pi0 Ru"]);
    let mut fetch = FakeFetch::default();
    fetch.pending.insert(ONE);
    let placed = place(&cluster, &fetch);
    assert!(!placed.pending);
    assert_eq!(placed.nodes.unassigned().ignored().len(), 1);
    // After commands it is, if its files have been fetched before.
    let commanded = |allocation: &mut Allocation<'_>| allocation.debug = true;
    assert!(!place_with(&cluster, &fetch, commanded).pending);
    fetch.asked = true;
    assert!(place_with(&cluster, &fetch, commanded).pending);
    // Without capacity for another recovery the replica is throttled.
    cluster = crate::nodes::sample::cluster(2, &["Ps0 Ru"]);
    cluster.settings.node_concurrent_incoming_recoveries = 0;
    fetch.asked = false;
    assert_eq!(
        place(&cluster, &fetch).nodes.unassigned().ignored().len(),
        1
    );
}

#[test]
fn a_recovery_is_cancelled_for_a_node_with_all_data() {
    let cluster = cluster(3, &["Ps0 Ri1"]);
    let mut fetch = FakeFetch::default();
    let group = |fetch: &FakeFetch| place(&cluster, fetch).group(ONE);
    fetch.files.insert(
        ONE,
        vec![files(0, 9, Some(7)), files(1, 3, None), files(2, 9, None)],
    );
    assert_eq!(group(&fetch), ["Ps0", "Ri1"]);
    fetch.files.get_mut(&ONE).unwrap()[2].sync_id = Some(7);
    assert_eq!(group(&fetch), ["Ps0", "Ri2"]);
    // Not if the current node has the sync id itself.
    fetch.files.get_mut(&ONE).unwrap()[1].sync_id = Some(7);
    assert_eq!(group(&fetch), ["Ps0", "Ri1"]);
}

#[test]
fn stores_remember_where_copies_were() {
    let mut cluster = cluster(3, &["Ps0 Rs1"]);
    let mut stores = Stores::of(&cluster);
    let held = |stores: &Stores| -> Vec<u32> {
        let started = stores.started(ONE).unwrap();
        started.iter().map(|store| store.node.0).collect()
    };
    assert_eq!(held(&stores), [0, 1]);
    // The replica's node leaves, and its copy fails.
    cluster.nodes[1].present = false;
    cluster.routing = crate::nodes::sample::cluster(3, &["Ps0 Ru"]).routing;
    stores.observe(&cluster);
    assert_eq!(held(&stores), [0]);
    // The node comes back before anything else happens: the data is still there.
    cluster.nodes[1].present = true;
    stores.observe(&cluster);
    assert_eq!(held(&stores), [0, 1]);
    assert_eq!(stores.files(ONE).unwrap().len(), 2);
    // Once all copies have started elsewhere, the node deletes its data.
    cluster.routing = crate::nodes::sample::cluster(3, &["Ps0 Rs2"]).routing;
    stores.observe(&cluster);
    assert_eq!(held(&stores), [0, 2]);
    assert!(stores.started(shard(9, 9)).unwrap().is_empty());
}

#[test]
fn only_primaries_keep_their_status() {
    let cluster = cluster(2, &["Pu Ru"]);
    let placed = place(&cluster, &FakeFetch::default());
    let statuses: Vec<AllocationStatus> = placed
        .nodes
        .unassigned()
        .ignored()
        .iter()
        .map(|&handle| placed.nodes.copy(handle).unassigned.unwrap().last_status)
        .collect();
    assert_eq!(
        statuses,
        [
            AllocationStatus::NoValidShardCopy,
            AllocationStatus::NoAttempt
        ]
    );
}
