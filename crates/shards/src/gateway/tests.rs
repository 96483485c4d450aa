use super::stores::Given;
use super::{Stores, allocate_unassigned};
use crate::allocation::Allocation;
use crate::copy::{
    AllocationIndex, AllocationStatus, Reason, RecoverySource, ShardCopy, UnassignedInfo,
};
use crate::deciders::Deciders;
use crate::model::{Cluster, RoutingTable, ShardId};
use crate::nodes::RoutingNodes;
use crate::nodes::sample::{cluster, shard, word};

/// Result of the gateway allocator; groups list the copies on nodes, then the unassigned ones with their
/// status.
struct Placed {
    nodes: RoutingNodes,
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

/// Stores that hold copies of one shard: node, allocation id, whether it was the primary.
fn on_disk(nodes: usize, given: &[(u32, u64, bool)]) -> Stores {
    Stores::given(nodes, &[(ONE, given)])
}

fn place(cluster: &Cluster, stores: &Stores) -> Placed {
    let mut nodes = RoutingNodes::new(cluster).unwrap();
    let deciders = Deciders::new(cluster, &nodes);
    allocate_unassigned(
        &mut Allocation::new(cluster, &mut nodes, &deciders, 0),
        stores,
    );
    Placed { nodes }
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
    cluster.routing = RoutingTable::new(tables);
}

fn in_sync(cluster: &mut Cluster, ids: &[u64]) {
    cluster.indices[0].in_sync[0] = ids.iter().copied().map(AllocationIndex).collect();
}

const ONE: ShardId = shard(0, 0);

#[test]
fn a_primary_goes_to_an_in_sync_copy() {
    let mut cluster = cluster(4, &["Pu"]);
    in_sync(&mut cluster, &[11, 12]);
    let placed = |given: &[(u32, u64, bool)]| place(&cluster, &on_disk(4, given));
    let best = |given: &[_]| placed(given).copy(ONE).node.unwrap().0;
    // The stale copy does not count although it was the primary; the first of the others wins.
    assert_eq!(best(&[(0, 99, true), (1, 11, false), (2, 12, false)]), 1);
    // One that was the primary takes precedence.
    let given = [(0, 99, true), (1, 11, false), (2, 12, true)];
    assert_eq!(best(&given), 2);
    // It takes over the allocation id of the data.
    let placed = placed(&given);
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
    let stores = on_disk(2, &[(0, 99, false)]);
    assert_eq!(place(&cluster, &stores).group(ONE), ["Pu NoValidShardCopy"]);
}

#[test]
fn new_primaries_are_left_to_the_balancer() {
    let mut cluster = cluster(2, &["Pu"]);
    let mut tables = cluster.routing.tables().to_vec();
    tables[0].copies[0].recovery = Some(RecoverySource::EmptyStore);
    cluster.routing = RoutingTable::new(tables.clone());
    let nothing = Stores::given(2, &[]);
    assert_eq!(place(&cluster, &nothing).group(ONE), ["Pu NoAttempt"]);
    // A snapshot restore is left to the balancer, too, if no node has data; otherwise any copy will do.
    tables[0].copies[0].recovery = Some(RecoverySource::Snapshot(1));
    cluster.routing = RoutingTable::new(tables);
    in_sync(&mut cluster, &[5]);
    cluster.restores.push(crate::model::RestoreShard {
        restore: 1,
        shard: ONE,
        completed: false,
    });
    assert_eq!(place(&cluster, &nothing).group(ONE), ["Pu NoAttempt"]);
    let stores = on_disk(2, &[(0, 99, false), (1, 5, false)]);
    assert_eq!(place(&cluster, &stores).group(ONE), ["Pi1"]);
}

#[test]
fn the_order_of_primaries_is_that_of_their_indices() {
    let mut cluster = cluster(2, &["Pu", "Pu", "Pu"]);
    // The newest index comes first, then the name that sorts last.
    cluster.indices[1].settings.creation_date = 10;
    for index in &mut cluster.indices {
        index.in_sync = vec![vec![AllocationIndex(11)]];
    }
    cluster.settings.node_initial_primaries_recoveries = 2;
    let on_first: &[(u32, u64, bool)] = &[(0, 11, false)];
    let given = [0, 1, 2].map(|index| (shard(index, 0), on_first));
    let stores = Stores::given(2, &given);
    let placed = place(&cluster, &stores);
    assert_eq!(placed.group(shard(1, 0)), ["Pi0"]);
    assert_eq!(placed.group(shard(2, 0)), ["Pi0"]);
    assert_eq!(placed.group(shard(0, 0)), ["Pu DecidersThrottled"]);
    // A higher priority takes precedence over both.
    cluster.indices[0].settings.priority = 2;
    assert_eq!(place(&cluster, &stores).group(shard(0, 0)), ["Pi0"]);
}

#[test]
fn four_primaries_recover_per_node() {
    let mut cluster = cluster(2, &["Pu|Pu|Pu|Pu|Pu"]);
    let on_second: Vec<[Given; 1]> = (0..5).map(|number| [(1, number, false)]).collect();
    let mut given: Vec<(ShardId, &[Given])> = Vec::new();
    for (number, copies) in (0..5_u32).zip(&on_second) {
        cluster.indices[0].in_sync[number as usize] = vec![AllocationIndex(u64::from(number))];
        given.push((shard(0, number), &copies[..]));
    }
    let placed = place(&cluster, &Stores::given(2, &given));
    for number in 0..4 {
        assert_eq!(placed.group(shard(0, number)), ["Pi1"]);
    }
    assert_eq!(placed.group(shard(0, 4)), ["Pu DecidersThrottled"]);
}

#[test]
fn a_primary_is_forced_to_the_node_with_its_data() {
    let mut cluster = cluster(2, &["Pu"]);
    in_sync(&mut cluster, &[11]);
    cluster.settings.exclude.add("_name", "n1");
    let stores = on_disk(2, &[(1, 11, false)]);
    assert_eq!(place(&cluster, &stores).group(ONE), ["Pi1"]);
    // But not after too many failures.
    let mut tables = cluster.routing.tables().to_vec();
    tables[0].copies[0].unassigned = Some(UnassignedInfo {
        failed_allocations: 5,
        ..UnassignedInfo::new(Reason::AllocationFailed, 0)
    });
    cluster.routing = RoutingTable::new(tables);
    assert_eq!(place(&cluster, &stores).group(ONE), ["Pu DecidersNo"]);
}

#[test]
fn a_replica_goes_to_a_node_with_its_data() {
    let mut cluster = cluster(4, &["Ps0 Ru"]);
    waiting_for(&mut cluster, Reason::NodeLeft, true);
    let placed = |cluster: &Cluster, given: &[(u32, u64, bool)]| place(cluster, &on_disk(4, given));
    let there = [(0, 1, true), (2, 7, false), (1, 8, false)];
    assert_eq!(placed(&cluster, &there).group(ONE), ["Ps0", "Ri2"]);
    // Without any data it waits for its node and is ignored in this round.
    let alone = [(0, 1, true)];
    let waits = placed(&cluster, &alone);
    assert_eq!(waits.nodes.unassigned().ignored().len(), 1);
    // If nothing is known of the primary's data, the balancer takes over.
    assert_eq!(placed(&cluster, &[]).nodes.unassigned().list().len(), 1);
    // It does not wait once it is no longer delayed.
    waiting_for(&mut cluster, Reason::NodeLeft, false);
    let free = placed(&cluster, &alone);
    assert_eq!(free.nodes.unassigned().list().len(), 1);
    // A new index has no data.
    waiting_for(&mut cluster, Reason::IndexCreated, false);
    let new = placed(&cluster, &there);
    assert_eq!(new.group(ONE), ["Ps0", "Ru NoAttempt"]);
}

#[test]
fn a_replica_that_no_node_may_take_is_ignored() {
    // Its primary has not started; without capacity for another recovery it is throttled.
    let recovering = cluster(2, &["Pi0 Ru"]);
    let mut crowded = cluster(2, &["Ps0 Ru"]);
    crowded.settings.node_concurrent_incoming_recoveries = 0;
    for cluster in [recovering, crowded] {
        let placed = place(&cluster, &Stores::of(&cluster));
        assert_eq!(placed.nodes.unassigned().ignored().len(), 1);
    }
}

#[test]
fn stores_remember_where_copies_were() {
    let mut cluster = cluster(3, &["Ps0 Rs1"]);
    let mut stores = Stores::of(&cluster);
    let held =
        |stores: &Stores| -> Vec<u32> { stores.on_disk(ONE).map(|known| known.node.0).collect() };
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
    // Once all copies have started elsewhere, the node deletes its data.
    cluster.routing = crate::nodes::sample::cluster(3, &["Ps0 Rs2"]).routing;
    stores.observe(&cluster);
    assert_eq!(held(&stores), [0, 2]);
    assert!(!stores.has_any(shard(9, 9)));
}

#[test]
fn only_primaries_keep_their_status() {
    let cluster = cluster(2, &["Pu Ru"]);
    let placed = place(&cluster, &Stores::given(2, &[]));
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
