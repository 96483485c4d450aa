//! Small clusters for tests, in a compact notation.

use crate::copy::{
    AllocationIndex, CopyState, Reason, RecoverySource, ShardCopy, UNKNOWN_SIZE, UnassignedInfo,
};
use crate::model::{
    Cluster, Index, IndexIndex, IndexTable, Node, NodeIndex, RoutingTable, ShardId, Version,
};

/// A live data node on version 7.4.0.
pub(crate) fn node(id: &str) -> Node {
    Node {
        host_address: "10.0.0.1".to_owned(),
        publish_address: "10.0.0.1".to_owned(),
        ..Node::new(id.to_owned(), Version::release(7, 4, 0))
    }
}

/// A cluster of `nodes` nodes ("n0", "n1", ...) and one index per string ("i0", "i1", ...). An index is a
/// list of shards separated by `|`; a shard is a list of copies separated by spaces; a copy is:
///
/// - `P` or `R`, for primary and replica, followed by its state and node:
/// - `s0`: started on n0; `i0`: initializing on n0; `m01`: moving from n0 to n1; `u`: unassigned.
///
/// Allocation ids are assigned in order from 1; a relocation takes two. Active copies are in sync.
/// Recovering and unassigned primaries have an existing store.
pub(crate) fn cluster(nodes: usize, indices: &[&str]) -> Cluster {
    let mut cluster = Cluster {
        nodes: (0..nodes).map(|n| node(&format!("n{n}"))).collect(),
        ..Cluster::default()
    };
    cluster.data_nodes = (0..).map(NodeIndex).take(nodes).collect();
    let mut tables = Vec::new();
    for (number, text) in (0..).zip(indices) {
        let index = IndexIndex(number);
        let mut copies = Vec::new();
        let mut in_sync = Vec::new();
        for (shard, group) in (0..).zip(text.split('|')) {
            let id = ShardId { index, shard };
            let group: Vec<ShardCopy> = group
                .split_whitespace()
                .map(|word| copy(&mut cluster, id, word))
                .collect();
            let active = group.iter().filter(|copy| copy.is_active());
            in_sync.push(active.filter_map(|copy| copy.allocation).collect());
            copies.extend(group);
        }
        let shards = text.split('|').count();
        let replicas = u32::try_from(copies.len() / shards - 1).unwrap();
        cluster.indices.push(Index {
            uuid: format!("uuid{number}"),
            in_sync,
            ..Index::new(
                format!("i{number}"),
                u32::try_from(shards).unwrap(),
                replicas,
            )
        });
        tables.push(IndexTable { index, copies });
    }
    cluster.routing = RoutingTable::new(tables);
    cluster
}

fn copy(cluster: &mut Cluster, shard: ShardId, word: &str) -> ShardCopy {
    let mut letters = word.chars();
    let primary = letters.next() == Some('P');
    let state = letters.next().unwrap();
    let mut places = letters.map(|digit| NodeIndex(digit.to_digit(10).unwrap()));
    let mut fresh = || {
        let id = AllocationIndex(cluster.next_allocation);
        cluster.next_allocation += 1;
        Some(id)
    };
    let recovery = if primary {
        RecoverySource::ExistingStore
    } else {
        RecoverySource::Peer
    };
    let info = UnassignedInfo::new(Reason::ClusterRecovered, 0);
    let unassigned = ShardCopy::new_unassigned(shard, primary, recovery, info);
    match state {
        'u' => unassigned,
        'i' => unassigned.initialize(places.next().unwrap(), fresh().unwrap(), UNKNOWN_SIZE),
        _ => ShardCopy {
            node: places.next(),
            allocation: fresh(),
            relocating: places.next(),
            relocation: (state == 'm').then(fresh).flatten(),
            recovery: None,
            unassigned: None,
            state: if state == 'm' {
                CopyState::Relocating
            } else {
                CopyState::Started
            },
            ..unassigned
        },
    }
}

/// Creates a shard id.
pub(crate) const fn shard(index: u32, shard: u32) -> ShardId {
    ShardId {
        index: IndexIndex(index),
        shard,
    }
}

/// A copy in the notation of [`cluster`]; a relocation target is written as `t` with its node and source.
pub(crate) fn word(copy: &ShardCopy) -> String {
    let kind = if copy.primary { 'P' } else { 'R' };
    let place = |node: Option<NodeIndex>| node.map_or(String::new(), |node| node.0.to_string());
    let state = match copy.state {
        CopyState::Unassigned => 'u',
        CopyState::Initializing if copy.relocating.is_some() => 't',
        CopyState::Initializing => 'i',
        CopyState::Started => 's',
        CopyState::Relocating => 'm',
    };
    format!(
        "{kind}{state}{}{}",
        place(copy.node),
        place(copy.relocating)
    )
}

/// The table of an index in the notation of [`cluster`].
pub(crate) fn table(cluster: &Cluster, index: u32) -> String {
    let Some(table) = cluster.routing.table(IndexIndex(index)) else {
        return "not routed".to_owned();
    };
    let groups = table
        .groups()
        .map(|group| group.iter().map(word).collect::<Vec<_>>().join(" "));
    groups.collect::<Vec<_>>().join("|")
}
