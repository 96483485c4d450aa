//! `_cluster/state` as it comes: parts in any order, each name once.

use super::json::once;
use super::settings::IndexSink;
use crate::copy::{AllocationIndex, FORCED_ALLOCATION, ShardCopy};
use crate::model::{IndexIndex, IndexState, NodeIndex};
use serde::de::Error;
use std::collections::HashMap;

/// Numbers for names, in the order in which they are first seen.
#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<Box<str>, u32>,
}

impl Names {
    /// The number of a name, and whether it is new.
    pub fn number(&mut self, name: &str) -> (u32, bool) {
        if let Some(&number) = self.numbers.get(name) {
            return (number, false);
        }
        let number = u32::try_from(self.numbers.len()).expect("an input of less than 2^32 names");
        self.numbers.insert(name.into(), number);
        (number, true)
    }
}

/// A node as the state has it; `None` of what it does not tell.
#[derive(Debug, Default)]
pub struct RawNode {
    /// Its id.
    pub id: String,
    /// Whether it stands among the nodes, or was only named elsewhere.
    pub listed: bool,
    /// Its name.
    pub name: Option<String>,
    /// Address with port.
    pub transport_address: Option<String>,
    /// Attributes.
    pub attributes: Vec<(String, String)>,
    /// Roles.
    pub roles: Option<Vec<String>>,
    /// Version.
    pub version: Option<String>,
}

/// An index as the state has it.
#[derive(Debug, Default)]
pub struct RawIndex {
    /// Its name.
    pub name: String,
    /// Whether the metadata have it.
    pub listed: bool,
    /// Open or closed.
    pub state: Option<IndexState>,
    /// Settings.
    pub settings: IndexSink,
    /// Allocation ids in sync, by shard.
    pub in_sync: Vec<(u32, Vec<AllocationIndex>)>,
    /// Whether the routing table has it.
    pub routed: bool,
    /// Its copies, those of a shard side by side.
    pub copies: Vec<ShardCopy>,
}

/// A shard of a running snapshot or restore.
#[derive(Debug)]
pub struct RawProgress {
    /// The index, by name.
    pub index: String,
    /// The shard.
    pub shard: u32,
    /// The node, by id.
    pub node: Option<String>,
    /// Whether it is over.
    pub completed: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Raw {
    /// Name of the cluster.
    pub name: Option<String>,
    /// Id of the master.
    pub master: Option<String>,
    /// Nodes, by number.
    pub nodes: Vec<RawNode>,
    node_names: Names,
    /// Numbers of listed nodes in their order.
    pub listed_nodes: Vec<NodeIndex>,
    /// Indices, by number.
    pub indices: Vec<RawIndex>,
    index_names: Names,
    /// Numbers of routed indices in their order.
    pub routed_indices: Vec<IndexIndex>,
    allocations: Names,
    pub(super) restores: Names,
    /// Running snapshots.
    pub snapshots: Vec<RawProgress>,
    /// Running restores.
    pub restoring: Vec<RawProgress>,
    /// What had to be assumed.
    pub warnings: Vec<String>,
    /// Parts that were there: `nodes`, `metadata`, `metadata.indices`, `routing_table`.
    pub parts: Vec<&'static str>,
}

impl Raw {
    /// The number of a node, listed or not.
    pub fn node(&mut self, id: &str) -> NodeIndex {
        let (number, new) = self.node_names.number(id);
        if new {
            self.nodes.push(RawNode {
                id: id.to_owned(),
                ..RawNode::default()
            });
        }
        NodeIndex(number)
    }

    /// The number of an index, listed or not.
    pub fn index(&mut self, name: &str) -> IndexIndex {
        let (number, new) = self.index_names.number(name);
        if new {
            self.indices.push(RawIndex {
                name: name.to_owned(),
                ..RawIndex::default()
            });
        }
        IndexIndex(number)
    }

    /// Notes that a part is there.
    pub(super) fn part<E: Error>(&mut self, part: &'static str) -> Result<(), E> {
        once(&mut self.parts.contains(&part), part)?;
        self.parts.push(part);
        Ok(())
    }

    /// One more than the highest allocation id.
    pub fn next_allocation(&self) -> u64 {
        self.allocations.numbers.len() as u64 + 1
    }

    pub(super) fn allocation(&mut self, id: &str) -> AllocationIndex {
        // RecoverySource.ExistingStoreRecoverySource.FORCED_ALLOCATION_ID
        if id == "_forced_allocation_" {
            return FORCED_ALLOCATION;
        }
        AllocationIndex(u64::from(self.allocations.number(id).0) + 1)
    }
}
