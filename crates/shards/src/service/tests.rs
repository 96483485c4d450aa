use super::rounds::start_on;
use super::{
    CopyId, cannot_remain, close_index, create_index, metadata, nodes_changed, reroute,
    set_replicas,
};
use crate::copy::{
    AllocationIndex, AllocationStatus, FORCED_ALLOCATION, Reason, RecoverySource, ShardCopy,
    UnassignedInfo,
};
use crate::gateway::Stores;
use crate::model::{
    Cluster, Index, IndexIndex, IndexState, NodeIndex, RebalanceEnable, RoutingTable, ShardId,
    Version,
};
use crate::nodes::sample::{cluster as sample, shard, table};
use crate::nodes::{Change, RoutingError, RoutingNodes};

const ONE: ShardId = shard(0, 0);
const SECOND: i64 = 1_000_000_000;

/// Like [`sample`], with rebalancing disabled, so that only requested moves happen.
fn cluster(nodes: usize, indices: &[&str]) -> Cluster {
    let mut cluster = sample(nodes, indices);
    cluster.settings.rebalance_enable = RebalanceEnable::None;
    cluster
}

fn at(cluster: &Cluster, node: u32, id: ShardId) -> CopyId {
    let group = cluster.routing.table(id.index).unwrap().group(id.shard);
    let targets = group
        .iter()
        .filter(|copy| copy.is_relocating())
        .map(ShardCopy::relocation_target);
    let copies = group.iter().copied().chain(targets);
    let copy = copies
        .into_iter()
        .find(|copy| copy.node == Some(NodeIndex(node)))
        .unwrap();
    CopyId {
        shard: id,
        allocation: copy.allocation.unwrap(),
    }
}

fn in_sync(cluster: &Cluster, id: ShardId) -> Vec<AllocationIndex> {
    let mut ids = cluster.index(id.index).in_sync[id.shard as usize].clone();
    ids.sort_unstable();
    ids
}

fn active_ids(cluster: &Cluster, id: ShardId) -> Vec<AllocationIndex> {
    let group = cluster.routing.table(id.index).unwrap().group(id.shard);
    let active = group.iter().filter(|copy| copy.is_active());
    let mut ids: Vec<AllocationIndex> = active.filter_map(|copy| copy.allocation).collect();
    ids.sort_unstable();
    ids
}

fn infos(cluster: &Cluster, id: ShardId) -> Vec<UnassignedInfo> {
    let group = cluster.routing.table(id.index).unwrap().group(id.shard);
    group.iter().filter_map(|copy| copy.unassigned).collect()
}

/// Marks copies as started, without keeping the cluster ready as [`super::Live`] does.
pub(super) fn start(cluster: &mut Cluster, copies: &[CopyId]) -> Result<Vec<Change>, RoutingError> {
    let mut nodes = RoutingNodes::new(cluster)?;
    start_on(cluster, &mut nodes, copies)?;
    metadata::apply(cluster, &nodes);
    Ok(nodes.changes().log().to_vec())
}

/// A reroute in which the nodes report their earlier copies.
fn again(cluster: &mut Cluster, stores: &Stores, now_nanos: i64) -> Vec<Change> {
    reroute(cluster, stores, now_nanos).unwrap()
}

#[test]
fn a_reroute_with_nothing_to_do_changes_nothing() {
    let mut cluster = cluster(2, &["Ps0 Rs1", "Ps1 Rs0"]);
    let before = cluster.clone();
    assert_eq!(again(&mut cluster, &Stores::of(&before), 0), []);
    assert_eq!(cluster.routing.tables(), before.routing.tables());
    assert_eq!(cluster.indices, before.indices);
}

#[test]
fn copies_that_cannot_remain_are_listed() {
    let mut cluster = cluster(2, &["Ps0 Rs1", "Ps1 Rs0"]);
    assert_eq!(cannot_remain(&cluster, 0), Ok(Vec::new()));
    // The other node already has a copy of each shard.
    cluster.settings.exclude.add("_name", "n1");
    assert_eq!(again(&mut cluster, &Stores::default(), 0), []);
    let stuck = cannot_remain(&cluster, 0).unwrap();
    let places: Vec<_> = stuck.iter().map(|copy| (copy.shard, copy.node)).collect();
    let there = Some(NodeIndex(1));
    assert_eq!(places, [(ONE, there), (shard(1, 0), there)]);
}

#[test]
fn a_copy_that_has_started_is_in_sync() {
    let mut cluster = cluster(3, &["Ps0 Ri1"]);
    let replica = at(&cluster, 1, ONE);
    let changes = start(&mut cluster, &[replica]).unwrap();
    assert!(matches!(changes[..], [Change::Started(_)]));
    assert_eq!(table(&cluster, 0), "Ps0 Rs1");
    assert_eq!(in_sync(&cluster, ONE), active_ids(&cluster, ONE));
    assert_eq!(in_sync(&cluster, ONE).len(), 2);
}

#[test]
fn a_completed_move_swaps_ids() {
    let mut cluster = cluster(3, &["Pm01 Rs2"]);
    let target = at(&cluster, 1, ONE);
    start(&mut cluster, &[target]).unwrap();
    // Copies are listed node by node in the order of the server's map.
    assert_eq!(table(&cluster, 0), "Ps1 Rs2");
    assert_eq!(in_sync(&cluster, ONE), active_ids(&cluster, ONE));
}

#[test]
fn replicas_start_before_their_primary_has_moved() {
    let mut cluster = cluster(4, &["Pm01 Ri2"]);
    let both = [at(&cluster, 1, ONE), at(&cluster, 2, ONE)];
    start(&mut cluster, &both).unwrap();
    assert_eq!(table(&cluster, 0), "Ps1 Rs2");
    assert_eq!(in_sync(&cluster, ONE), active_ids(&cluster, ONE));
}

#[test]
fn only_recovering_copies_can_start() {
    let mut cluster = cluster(3, &["Ps0 Ri1"]);
    let before = cluster.clone();
    let mut refused = |copies: &[CopyId]| start(&mut cluster, copies).unwrap_err().to_string();
    let (primary, replica) = (at(&before, 0, ONE), at(&before, 1, ONE));
    assert!(refused(&[replica, primary]).contains("it is Started"));
    assert!(refused(&[replica, replica]).contains("named twice"));
    let unknown = CopyId {
        allocation: AllocationIndex(77),
        ..replica
    };
    assert!(refused(&[unknown]).contains("no node has a copy with allocation 77"));
    let nowhere = CopyId {
        shard: shard(3, 0),
        ..replica
    };
    assert!(refused(&[nowhere]).contains("cannot start [#3][0]"));
    assert_eq!(cluster.routing.tables(), before.routing.tables());
}

#[test]
fn in_sync_sets_are_trimmed_when_they_grow() {
    // With one replica the set may hold two ids. It has two ids without a copy, which are dropped when
    // the replica is added.
    let mut cluster = cluster(2, &["Ps0 Ri1"]);
    let primary = at(&cluster, 0, ONE).allocation;
    cluster.indices[0].in_sync[0] = vec![AllocationIndex(90), AllocationIndex(91), primary];
    let replica = at(&cluster, 1, ONE);
    start(&mut cluster, &[replica]).unwrap();
    assert_eq!(in_sync(&cluster, ONE), active_ids(&cluster, ONE));
}

#[test]
fn a_forced_stale_primary_is_in_sync_only_when_it_has_started() {
    let mut cluster = cluster(2, &["Pi0"]);
    let mut tables = cluster.routing.tables().to_vec();
    tables[0].copies[0].recovery = Some(RecoverySource::ForcedStalePrimary);
    cluster.routing = RoutingTable::new(tables);
    cluster.indices[0].in_sync[0] = vec![FORCED_ALLOCATION];
    let primary = at(&cluster, 0, ONE);
    start(&mut cluster, &[primary]).unwrap();
    assert_eq!(in_sync(&cluster, ONE), [primary.allocation]);
}

/// A node leaves the cluster.
fn leave(cluster: &mut Cluster, node: u32) {
    cluster.nodes[node as usize].present = false;
    cluster.data_nodes.retain(|other| other.0 != node);
}

#[test]
fn copies_of_a_departed_node_are_delayed_for_a_minute() {
    let mut cluster = cluster(3, &["Ps0 Rs1", "Ps1 Rs2"]);
    let mut stores = Stores::of(&cluster);
    leave(&mut cluster, 1);
    stores.observe(&cluster);
    let refused = reroute(&mut cluster, &stores, 5 * SECOND).unwrap_err();
    assert!(refused.to_string().contains("node n1"));
    nodes_changed(&mut cluster, 5 * SECOND).unwrap();
    again(&mut cluster, &stores, 5 * SECOND);
    assert_eq!(table(&cluster, 0), "Ps0 Ru");
    assert_eq!(table(&cluster, 1), "Ps2 Ru");
    let info = infos(&cluster, ONE)[0];
    assert!(info.delayed);
    assert_eq!((info.reason, info.at_nanos), (Reason::NodeLeft, 5 * SECOND));
    // The id of the copy that left remains in sync, because it may come back.
    assert_eq!(in_sync(&cluster, ONE).len(), 2);
    again(&mut cluster, &stores, 64 * SECOND);
    assert_eq!(table(&cluster, 0), "Ps0 Ru");
    // Then they wait no longer, and the balancer allocates them to the remaining nodes.
    again(&mut cluster, &stores, 65 * SECOND);
    assert_eq!(table(&cluster, 0), "Ps0 Ri2");
    assert_eq!(table(&cluster, 1), "Ri0 Ps2");
}

#[test]
fn a_departed_primary_without_a_replica_stays_in_sync() {
    let mut cluster = cluster(2, &["Ps0"]);
    let mut stores = Stores::of(&cluster);
    let primary = at(&cluster, 0, ONE);
    leave(&mut cluster, 0);
    stores.observe(&cluster);
    nodes_changed(&mut cluster, 0).unwrap();
    again(&mut cluster, &stores, 0);
    assert_eq!(table(&cluster, 0), "Pu");
    assert_eq!(in_sync(&cluster, ONE), [primary.allocation]);
    let info = infos(&cluster, ONE)[0];
    assert_eq!(info.last_status, AllocationStatus::NoValidShardCopy);
}

#[test]
fn a_returning_node_gets_its_copies_back() {
    let mut cluster = cluster(3, &["Ps0 Rs1", "Ps1"]);
    let mut stores = Stores::of(&cluster);
    let primary = at(&cluster, 1, shard(1, 0));
    leave(&mut cluster, 1);
    stores.observe(&cluster);
    nodes_changed(&mut cluster, 0).unwrap();
    again(&mut cluster, &stores, 0);
    cluster.nodes[1].present = true;
    cluster.data_nodes.push(NodeIndex(1));
    stores.observe(&cluster);
    again(&mut cluster, &stores, SECOND);
    assert_eq!(table(&cluster, 0), "Ps0 Ri1");
    // A primary keeps its allocation id.
    assert_eq!(table(&cluster, 1), "Pi1");
    assert_eq!(at(&cluster, 1, shard(1, 0)), primary);
}

#[test]
fn closing_allocates_everything_again() {
    let mut cluster = cluster(2, &["Ps0 Rs1"]);
    let stores = Stores::of(&cluster);
    let ids = in_sync(&cluster, ONE);
    close_index(&mut cluster, IndexIndex(0), 3);
    assert_eq!(table(&cluster, 0), "Pu Ru");
    assert_eq!(infos(&cluster, ONE)[0].reason, Reason::IndexClosed);
    assert_eq!(cluster.total_copies(), 2);
    again(&mut cluster, &stores, 4);
    assert_eq!(table(&cluster, 0), "Pi0 Ru");
    assert_eq!(in_sync(&cluster, ONE), ids);
    let primary = at(&cluster, 0, ONE);
    start(&mut cluster, &[primary]).unwrap();
    again(&mut cluster, &stores, 5);
    assert_eq!(table(&cluster, 0), "Ps0 Ri1");
    // A second time, nothing happens.
    let before = cluster.routing.clone();
    close_index(&mut cluster, IndexIndex(0), 6);
    assert_eq!(cluster.routing.tables(), before.tables());
}

#[test]
fn before_7_2_a_closed_index_is_not_routed() {
    let mut cluster = cluster(2, &["Ps0 Rs1", "Ps0 Rs1"]);
    cluster.nodes[1].version = Version::release(7, 1, 1);
    close_index(&mut cluster, IndexIndex(0), 0);
    assert_eq!(table(&cluster, 0), "not routed");
    assert_eq!(table(&cluster, 1), "Ps0 Rs1");
}

fn new_index(name: &str, shards: u32, replicas: u32) -> Index {
    Index {
        state: IndexState::Closed,
        ..Index::new(name.to_owned(), shards, replicas)
    }
}

#[test]
fn a_new_index_starts_empty() {
    let mut cluster = cluster(2, &["Ps0 Rs1"]);
    let index = create_index(&mut cluster, new_index("new", 2, 1), 9);
    assert_eq!(cluster.index(index).state, IndexState::Open);
    assert_eq!(table(&cluster, index.0), "Pu Ru|Pu Ru");
    let copies = &cluster.routing.table(index).unwrap().copies;
    let sources: Vec<_> = copies.iter().filter_map(|copy| copy.recovery).collect();
    let (empty, peer) = (RecoverySource::EmptyStore, RecoverySource::Peer);
    assert_eq!(sources, [empty, peer, empty, peer]);
    assert_eq!(infos(&cluster, shard(1, 0))[0].reason, Reason::IndexCreated);
    again(&mut cluster, &Stores::default(), 9);
    // Replicas wait for their primaries.
    let states = table(&cluster, index.0);
    assert_eq!(states.matches("Pi").count(), 2, "{states}");
    assert_eq!(states.matches("Ru").count(), 2, "{states}");
    // A resized index gets its shards from another.
    let mut resized = new_index("resized", 1, 0);
    resized.resize_source = Some(index);
    let index = create_index(&mut cluster, resized, 9);
    let primary = cluster.routing.table(index).unwrap().primary(0).unwrap();
    assert_eq!(primary.recovery, Some(RecoverySource::LocalShards));
}

#[test]
fn replicas_come_and_go() {
    let mut cluster = cluster(3, &["Ps0 Rs1 Ru|Ps1 Rs0 Rs2"]);
    set_replicas(&mut cluster, IndexIndex(0), 1, 0);
    // An unassigned one is removed first, else the first.
    assert_eq!(table(&cluster, 0), "Ps0 Rs1|Ps1 Rs2");
    set_replicas(&mut cluster, IndexIndex(0), 3, 0);
    assert_eq!(table(&cluster, 0), "Ps0 Rs1 Ru Ru|Ps1 Rs2 Ru Ru");
    assert_eq!(infos(&cluster, ONE)[0].reason, Reason::ReplicaAdded);
    set_replicas(&mut cluster, IndexIndex(0), 0, 0);
    assert_eq!(table(&cluster, 0), "Ps0|Ps1");
    assert_eq!(cluster.index(IndexIndex(0)).replicas, 0);
}

#[test]
fn replicas_expand_to_the_nodes() {
    for (nodes, range, replicas) in [
        (4, (0, 1), 1),
        (4, (0, u32::MAX), 3),
        (1, (0, u32::MAX), 0),
        // Fewer nodes than the minimum requires: unchanged.
        (2, (2, 5), 1),
        (4, (2, 2), 2),
    ] {
        let mut cluster = cluster(nodes, &["Ps0 Ru"]);
        cluster.indices[0].settings.auto_expand_replicas = Some(range);
        again(&mut cluster, &Stores::default(), 0);
        assert_eq!(
            cluster.indices[0].replicas, replicas,
            "{nodes} nodes, {range:?}"
        );
        let copies = cluster.routing.table(IndexIndex(0)).unwrap().copies.len();
        assert_eq!(copies, replicas as usize + 1, "{nodes} nodes, {range:?}");
    }
    let mut closed = cluster(4, &["Ps0 Rs1"]);
    closed.indices[0].settings.auto_expand_replicas = Some((0, u32::MAX));
    closed.indices[0].state = IndexState::Closed;
    again(&mut closed, &Stores::default(), 0);
    assert_eq!(closed.indices[0].replicas, 1);
}
