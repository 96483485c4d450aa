//! Builds a consistent [`Cluster`] from the parsed state.

use super::json::shown;
use super::nodes::without_port;
use super::raw::{Raw, RawIndex, RawNode};
use super::settings::ClusterSettings;
use super::{State, StateError};
use crate::copy::{AllocationIndex, RecoverySource, ShardCopy};
use crate::model::{
    Cluster, Forecast, Index, IndexIndex, IndexState, IndexTable, Node, NodeIndex, RestoreShard,
    Roles, RoutingTable, ShardId, SnapshotShard, Version,
};
use crate::profile;
use std::collections::{HashMap, HashSet};

/// Maximum number of shards of all indices.
const SHARDS_MAX: u64 = 20_000_000;

fn contradiction<T>(text: String) -> Result<T, StateError> {
    Err(StateError::Contradiction(text))
}

/// Builds the state and checks every reference.
pub fn state(mut raw: Raw, version: Version) -> Result<State, StateError> {
    for part in ["nodes", "metadata.indices", "routing_table"] {
        if !raw.parts.contains(&part) {
            return contradiction(format!(
                "_cluster/state: {part} is missing: ask for nodes, metadata and routing_table"
            ));
        }
    }
    let roles_known: Vec<bool> = raw.nodes.iter().map(|node| node.roles.is_some()).collect();
    let versions_known = raw.nodes.iter().map(|node| known_version(node).is_some());
    let versions_known = versions_known.collect();
    check_copies(&raw)?;
    let (indices, tables) = indices(&mut raw)?;
    let nodes: Vec<Node> = raw
        .nodes
        .iter()
        .map(|node| read_node(node, version))
        .collect();
    let data_nodes = raw.listed_nodes.iter().copied();
    let data_nodes = data_nodes
        .filter(|node| nodes[node.at()].is_live_data())
        .collect();
    let mut state = State {
        name: raw.name.take(),
        master: raw.master.take(),
        cluster: Cluster {
            data_nodes,
            indices,
            routing: RoutingTable::new(tables),
            nodes,
            next_allocation: raw.next_allocation(),
            ..Cluster::default()
        },
        desired: None,
        desired_work: None,
        settings: ClusterSettings::default(),
        warnings: std::mem::take(&mut raw.warnings),
        roles_known,
        versions_known,
    };
    progress(&raw, &mut state.cluster);
    Ok(state)
}

fn known_version(raw: &RawNode) -> Option<Version> {
    raw.version.as_deref().and_then(profile::version)
}

fn read_node(raw: &RawNode, version: Version) -> Node {
    let roles = raw.roles.clone().map_or_else(Roles::default, Roles::new);
    let address = raw.transport_address.as_deref().map_or("", without_port);
    Node {
        id: raw.id.clone(),
        name: raw.name.clone().unwrap_or_else(|| raw.id.clone()),
        host: address.to_owned(),
        host_address: address.to_owned(),
        publish_address: address.to_owned(),
        attributes: raw.attributes.clone(),
        data: roles.hold_shards(),
        roles,
        version: known_version(raw).unwrap_or(version),
        present: raw.listed,
    }
}

/// Checks that every copy is on a listed node, every allocation id is used once, and no node has two
/// copies of a shard.
fn check_copies(raw: &Raw) -> Result<(), StateError> {
    let mut holders: HashMap<AllocationIndex, ShardId> = HashMap::new();
    for index in &raw.indices {
        for copy in &index.copies {
            let name = || format!("[{}][{}]", shown(&index.name), copy.shard.shard);
            for node in [copy.node, copy.relocating].into_iter().flatten() {
                let node = &raw.nodes[node.at()];
                if !node.listed {
                    return contradiction(format!(
                        "a copy of {} is on node {}, which the state does not list",
                        name(),
                        shown(&node.id)
                    ));
                }
            }
            if copy.is_unassigned() != copy.node.is_none() {
                return contradiction(format!(
                    "a copy of {} is {:?} and {} a node",
                    name(),
                    copy.state,
                    if copy.node.is_none() { "lacks" } else { "has" }
                ));
            }
            if copy.is_relocating() && (copy.relocating.is_none() || copy.relocation.is_none()) {
                return contradiction(format!(
                    "a copy of {} relocates, but not to where, or without an id for it",
                    name()
                ));
            }
            for id in [copy.allocation, copy.relocation].into_iter().flatten() {
                if let Some(other) = holders.insert(id, copy.shard) {
                    return contradiction(format!(
                        "a copy of {} has the allocation id of a copy of [{}][{}]",
                        name(),
                        shown(&raw.indices[other.index.at()].name),
                        other.shard
                    ));
                }
            }
        }
    }
    Ok(())
}

fn indices(raw: &mut Raw) -> Result<(Vec<Index>, Vec<IndexTable>), StateError> {
    let names: HashMap<String, IndexIndex> = raw
        .indices
        .iter()
        .enumerate()
        .filter(|(_, index)| index.settings.resize_source.is_some() || index.listed)
        .filter_map(|(at, index)| Some((index.name.clone(), IndexIndex(u32::try_from(at).ok()?))))
        .collect();
    // Closed indices need not be in any table, so one line of text could claim any number of shards.
    let all: u64 = raw
        .indices
        .iter()
        .filter_map(|index| index.settings.shards)
        .map(u64::from)
        .sum();
    if all > SHARDS_MAX {
        return contradiction(format!(
            "the metadata have {all} shards: more than {SHARDS_MAX} are not read"
        ));
    }
    let mut tables: Vec<Option<IndexTable>> = Vec::new();
    let mut indices = Vec::with_capacity(raw.indices.len());
    for at in 0..raw.indices.len() {
        let mut index = std::mem::take(&mut raw.indices[at]);
        let (mut read, table) = read_index(&mut index, &names)?;
        read.forecast.stream = raw.streams.get(&read.name).copied().unwrap_or_default();
        let number = IndexIndex(u32::try_from(at).expect("numbered before"));
        check_table(&read, &index, &table, raw)?;
        tables.push(index.routed.then_some(IndexTable {
            index: number,
            copies: table,
        }));
        // The name is needed when other indices refer to it.
        raw.indices[at].name = index.name;
        indices.push(read);
    }
    let ordered = raw.routed_indices.iter();
    let ordered = ordered
        .filter_map(|index| tables[index.at()].take())
        .collect();
    Ok((indices, ordered))
}

fn read_index(
    raw: &mut RawIndex,
    names: &HashMap<String, IndexIndex>,
) -> Result<(Index, Vec<ShardCopy>), StateError> {
    let name = shown(&raw.name);
    if !raw.listed {
        return contradiction(format!(
            "index {name} is in the routing table, but not in the metadata"
        ));
    }
    let Some(shards) = raw.settings.shards else {
        return contradiction(format!("index {name} has no index.number_of_shards"));
    };
    // The server allows 1,024 by default (es.index.max_number_of_shards).
    if shards == 0 || shards > 100_000 {
        return contradiction(format!(
            "index {name}: expected 1 to 100,000 shards, found {shards}"
        ));
    }
    let Some(state) = raw.state else {
        return contradiction(format!("index {name} is neither open nor closed"));
    };
    let mut in_sync = vec![Vec::new(); shards as usize];
    for (shard, ids) in raw.in_sync.drain(..) {
        let Some(set) = in_sync.get_mut(shard as usize) else {
            return contradiction(format!(
                "index {name} has {shards} shards, and allocation ids in sync for shard {shard}"
            ));
        };
        *set = ids;
    }
    raw.settings.settings.settle();
    let source = raw.settings.resize_source.as_deref();
    let index = Index {
        name: raw.name.clone(),
        uuid: std::mem::take(&mut raw.settings.uuid),
        shards,
        replicas: raw.settings.replicas.unwrap_or(1),
        state,
        settings: std::mem::take(&mut raw.settings.settings),
        in_sync,
        resize_source: source.and_then(|source| names.get(source).copied()),
        forecast: Forecast::default(),
    };
    Ok((index, std::mem::take(&mut raw.copies)))
}

/// Checks that the index's table has each shard once, with one primary and all replicas, no two on a
/// node.
fn check_table(
    index: &Index,
    raw: &RawIndex,
    copies: &[ShardCopy],
    all: &Raw,
) -> Result<(), StateError> {
    let name = shown(&index.name);
    if !raw.routed {
        // Closed indices are only routed from 7.2 on.
        return if index.state == IndexState::Open {
            contradiction(format!(
                "index {name} is open, but not in the routing table"
            ))
        } else {
            Ok(())
        };
    }
    let mut seen = vec![false; index.shards as usize];
    for group in copies.chunk_by(|a, b| a.shard == b.shard) {
        let shard = group[0].shard.shard;
        if shard >= index.shards {
            return contradiction(format!(
                "index {name} has {} shards, and the routing table has its shard {shard}",
                index.shards
            ));
        }
        if std::mem::replace(&mut seen[shard as usize], true) {
            return contradiction(format!(
                "shard [{name}][{shard}] is in the routing table twice"
            ));
        }
        let primaries = group.iter().filter(|copy| copy.primary).count();
        if primaries != 1 {
            return contradiction(format!("[{name}][{shard}] has {primaries} primaries"));
        }
        if group.len() as u64 != u64::from(index.replicas) + 1 {
            return contradiction(format!(
                "index {name} has {} replicas, and the routing table has {} copies of its shard {shard}",
                index.replicas,
                group.len()
            ));
        }
        let mut holders: HashSet<NodeIndex> = HashSet::with_capacity(group.len());
        for copy in group {
            let nodes = [copy.node, copy.relocating].into_iter().flatten();
            for node in nodes {
                if !holders.insert(node) {
                    let id = shown(&all.nodes[node.at()].id);
                    return contradiction(format!(
                        "two copies of [{name}][{shard}] are on node {id}"
                    ));
                }
            }
        }
    }
    if let Some(missing) = seen.iter().position(|seen| !seen) {
        return contradiction(format!(
            "index {name} has {} shards, and the routing table lacks its shard {missing}",
            index.shards
        ));
    }
    Ok(())
}

/// Converts running snapshots and restores, as far as their shards exist.
fn progress(raw: &Raw, cluster: &mut Cluster) {
    let names: HashMap<&str, u32> = if raw.snapshots.is_empty() && raw.restoring.is_empty() {
        HashMap::new()
    } else {
        let numbered = cluster.indices.iter().zip(0..);
        numbered
            .map(|(index, at)| (index.name.as_str(), at))
            .collect()
    };
    let shard = |index: &str, shard: u32| {
        let index = IndexIndex(*names.get(index)?);
        (shard < cluster.index(index).shards).then_some(ShardId { index, shard })
    };
    let nodes: HashMap<&str, NodeIndex> = if raw.snapshots.is_empty() {
        HashMap::new()
    } else {
        let numbered = cluster.nodes.iter().zip((0..).map(NodeIndex));
        numbered.map(|(node, at)| (node.id.as_str(), at)).collect()
    };
    let mut snapshots = Vec::new();
    for entry in raw.snapshots.iter().filter(|entry| !entry.completed) {
        let Some(node) = &entry.node else { continue };
        let node = nodes.get(node.as_str()).copied();
        // A deleted index or a node that has left will soon end its part of a snapshot.
        if let (Some(shard), Some(node)) = (shard(&entry.index, entry.shard), node) {
            snapshots.push(SnapshotShard { shard, node });
        }
    }
    let mut restores = Vec::new();
    for entry in &raw.restoring {
        let Some(shard) = shard(&entry.index, entry.shard) else {
            continue;
        };
        let table = cluster.routing.table(shard.index);
        // The response does not say which restore it is, but the copy waiting for it does.
        let source = table
            .and_then(|table| table.primary(shard.shard))
            .and_then(|copy| copy.recovery);
        if let Some(RecoverySource::Snapshot(restore)) = source {
            restores.push(RestoreShard {
                restore,
                shard,
                completed: entry.completed,
            });
        }
    }
    cluster.snapshots = snapshots;
    cluster.restores = restores;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (address, host) in [
            ("10.0.0.1:9300", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("[::1]:9300", "::1"),
            ("[::1]", "::1"),
            ("::1", "::1"),
            ("es1.example:9300", "es1.example"),
            ("", ""),
        ] {
            assert_eq!(without_port(address), host, "{address}");
        }
    }
}
