//! Unresolved contents of `_cluster/state`, whose parts may come in any order; each name is stored once.

use super::json::once;
use super::settings::IndexSink;
use crate::copy::{AllocationIndex, FORCED_ALLOCATION, ShardCopy};
use crate::model::{IndexIndex, IndexState, NodeIndex, Stream};
use serde::de::Error;
use std::collections::{BTreeMap, HashMap};

/// Numbers names in the order of their first occurrence.
#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<Box<str>, u32>,
}

impl Names {
    /// Returns the number of a name, and whether it is new.
    pub fn number(&mut self, name: &str) -> (u32, bool) {
        if let Some(&number) = self.numbers.get(name) {
            return (number, false);
        }
        let number = u32::try_from(self.numbers.len()).expect("an input of less than 2^32 names");
        self.numbers.insert(name.into(), number);
        (number, true)
    }
}

/// A node as it appears in the state; missing fields are `None`.
#[derive(Debug, Default)]
pub struct RawNode {
    /// Node id.
    pub id: String,
    /// Whether it is listed among the nodes, as opposed to only being referred to.
    pub listed: bool,
    /// Node name.
    pub name: Option<String>,
    /// Transport address with port.
    pub transport_address: Option<String>,
    /// Attributes.
    pub attributes: BTreeMap<String, String>,
    /// Roles.
    pub roles: Option<Vec<String>>,
    /// Version.
    pub version: Option<String>,
}

/// An index as it appears in the state.
#[derive(Debug, Default)]
pub struct RawIndex {
    /// Index name.
    pub name: String,
    /// Whether it is in the metadata.
    pub listed: bool,
    /// Open or closed.
    pub state: Option<IndexState>,
    /// Settings.
    pub settings: IndexSink,
    /// In-sync allocation ids by shard.
    pub in_sync: Vec<(u32, Vec<AllocationIndex>)>,
    /// Whether it is in the routing table.
    pub routed: bool,
    /// Its copies, grouped by shard.
    pub copies: Vec<ShardCopy>,
}

/// A shard of a running snapshot or restore.
#[derive(Debug)]
pub struct RawProgress {
    /// Index name.
    pub index: String,
    /// Shard number.
    pub shard: u32,
    /// Node id.
    pub node: Option<String>,
    /// Whether it has ended.
    pub completed: bool,
}

/// The parsed state.
#[derive(Debug, Default)]
pub struct Raw {
    /// Places of indices in data streams, by name; they need not exist.
    pub streams: HashMap<String, Stream>,
    /// Cluster name.
    pub name: Option<String>,
    /// Id of the master.
    pub master: Option<String>,
    /// Nodes, by number.
    pub nodes: Vec<RawNode>,
    node_names: Names,
    /// Numbers of the listed nodes, in order.
    pub listed_nodes: Vec<NodeIndex>,
    /// Indices, by number.
    pub indices: Vec<RawIndex>,
    index_names: Names,
    /// Numbers of the routed indices, in order.
    pub routed_indices: Vec<IndexIndex>,
    allocations: Names,
    pub(super) restores: Names,
    /// Running snapshots.
    pub snapshots: Vec<RawProgress>,
    /// Running restores.
    pub restoring: Vec<RawProgress>,
    /// Assumptions made while reading.
    pub warnings: Vec<String>,
    /// Parts that were present: `nodes`, `metadata`, `metadata.indices`, `routing_table`.
    pub parts: Vec<&'static str>,
}

impl Raw {
    /// The number of a node, adding it if it is new.
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

    /// The number of an index, adding it if it is new.
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

    /// Records that a part is present.
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
