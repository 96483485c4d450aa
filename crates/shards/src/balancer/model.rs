//! The balancer's model of the cluster (`ModelNode`, `ModelIndex`).
//!
//! Nodes are numbered in the order of the server's hash map. Copies are stored per index, because they
//! are looked up that way; of a relocating copy only the target counts.

use std::collections::BTreeSet;

use crate::copy::ShardCopy;
use crate::model::{Cluster, IndexIndex, NodeIndex, ShardId};
use crate::nodes::RoutingNodes;

/// A copy in the model.
#[derive(Clone, Copy, Debug)]
struct Entry {
    node: u32,
    shard: u32,
    primary: bool,
    started: bool,
}

impl Entry {
    fn of(node: u32, copy: &ShardCopy) -> Entry {
        Entry {
            node,
            shard: copy.shard.shard,
            primary: copy.primary,
            started: copy.is_started(),
        }
    }
}

/// Location of an index's entries.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: usize,
    len: usize,
    /// Capacity: how many entries fit before they have to be moved.
    room: usize,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }
}

/// Copies by node and index, including throttled copies at their future nodes.
#[derive(Debug)]
pub(super) struct Model {
    order: Vec<NodeIndex>,
    /// Maps a node of the cluster to its number in the model.
    places: Vec<u32>,
    /// Number of copies per node.
    totals: Vec<i32>,
    /// Entries of all indices, grouped by index.
    entries: Vec<Entry>,
    spans: Vec<Span>,
    /// The index counted by [`Model::count_of_index`].
    selected: Option<IndexIndex>,
    counts: Vec<i32>,
    /// Indices whose entries changed in this round.
    touched: BTreeSet<IndexIndex>,
    /// Indices whose entries changed in earlier rounds, since the last [`Model::take_unproven`].
    unproven: BTreeSet<IndexIndex>,
    /// Entries that no longer belong to any index.
    unused: usize,
}

impl Model {
    /// Builds the model of all copies on these nodes, given in the order of the server's map.
    pub fn new(cluster: &Cluster, nodes: &RoutingNodes, order: Vec<NodeIndex>) -> Model {
        let mut places = vec![u32::MAX; cluster.nodes.len()];
        for (place, node) in (0..).zip(&order) {
            places[node.at()] = place;
        }
        let mut model = Model {
            counts: vec![0; order.len()],
            totals: vec![0; order.len()],
            selected: None,
            order,
            places,
            entries: Vec::with_capacity(nodes.copy_limit()),
            spans: Vec::with_capacity(cluster.indices.len()),
            touched: BTreeSet::new(),
            unproven: BTreeSet::new(),
            unused: 0,
        };
        for index in (0..).map(IndexIndex).take(cluster.indices.len()) {
            let start = model.entries.len();
            model.list(cluster, nodes, index);
            let len = model.entries.len() - start;
            model.spans.push(Span {
                start,
                len,
                room: len,
            });
        }
        model
    }

    /// Appends the copies of an index to the entries and counts them.
    fn list(&mut self, cluster: &Cluster, nodes: &RoutingNodes, index: IndexIndex) {
        // An index that is not routed has no copies, and its shards have no position.
        let routed = cluster.routing.table(index).is_some();
        let shards = if routed {
            cluster.index(index).shards
        } else {
            0
        };
        for shard in 0..shards {
            for copy in nodes.assigned_copies(ShardId { index, shard }) {
                let Some(node) = copy.node.filter(|_| !copy.is_relocating()) else {
                    continue;
                };
                let node = self.places[node.at()];
                self.totals[node as usize] += 1;
                self.entries.push(Entry::of(node, copy));
            }
        }
    }

    /// Updates the entries of the given indices, and of those with copies placed ahead of time, from the
    /// nodes.
    pub fn follow(&mut self, cluster: &Cluster, nodes: &RoutingNodes, changed: &[IndexIndex]) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(changed);
        self.unproven.extend(&touched);
        if self.unused > 64 && self.unused > self.entries.len() / 2 {
            let unproven = std::mem::take(&mut self.unproven);
            *self = Model::new(cluster, nodes, std::mem::take(&mut self.order));
            self.unproven = unproven;
            return;
        }
        self.deselect();
        self.spans.resize(cluster.indices.len(), Span::default());
        for index in touched {
            let before = self.spans[index.at()];
            for entry in &self.entries[before.range()] {
                self.totals[entry.node as usize] -= 1;
            }
            let start = self.entries.len();
            self.list(cluster, nodes, index);
            let len = self.entries.len() - start;
            self.spans[index.at()] = if len <= before.room {
                self.entries.copy_within(start.., before.start);
                self.entries.truncate(start);
                Span { len, ..before }
            } else {
                self.unused += before.room;
                Span {
                    start,
                    len,
                    room: len,
                }
            };
        }
    }

    /// Returns the indices whose entries have changed since the last call.
    pub fn take_unproven(&mut self) -> BTreeSet<IndexIndex> {
        let mut unproven = std::mem::take(&mut self.unproven);
        unproven.extend(&self.touched);
        unproven
    }

    /// The nodes, sorted by their number of copies.
    pub fn by_count(&self) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.nodes().collect();
        nodes.sort_by_key(|node| self.count(*node));
        nodes
    }

    fn deselect(&mut self) {
        if let Some(before) = self.selected.take() {
            for entry in &self.entries[self.spans[before.at()].range()] {
                self.counts[entry.node as usize] = 0;
            }
        }
    }

    pub fn node_count(&self) -> usize {
        self.order.len()
    }

    /// The cluster's nodes in the order of the model.
    pub fn order(&self) -> &[NodeIndex] {
        &self.order
    }

    /// Number of copies on all nodes.
    pub fn total(&self) -> i32 {
        self.totals.iter().sum()
    }

    /// Numbers of all nodes, ascending.
    pub fn nodes(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.order.len()).expect("fewer than 2^32 nodes")
    }

    /// The cluster's node for a model number.
    pub fn node(&self, node: u32) -> NodeIndex {
        self.order[node as usize]
    }

    /// The model number of a routed node.
    pub fn place(&self, node: NodeIndex) -> u32 {
        self.places[node.at()]
    }

    /// Selects the index whose copies are counted per node. Returns whether the selection changed.
    pub fn select(&mut self, index: IndexIndex) -> bool {
        if self.selected == Some(index) {
            return false;
        }
        self.deselect();
        self.selected = Some(index);
        for entry in &self.entries[self.spans[index.at()].range()] {
            self.counts[entry.node as usize] += 1;
        }
        true
    }

    fn of_index(&self, index: IndexIndex) -> &[Entry] {
        &self.entries[self.spans[index.at()].range()]
    }

    /// Number of copies on a node.
    pub fn count(&self, node: u32) -> i32 {
        self.totals[node as usize]
    }

    /// Number of copies of the selected index on a node.
    pub fn count_of_index(&self, node: u32) -> i32 {
        self.counts[node as usize]
    }

    /// Number of copies of the selected index on each node.
    pub fn counts_of_index(&self) -> &[i32] {
        &self.counts
    }

    /// Adds a copy to a node.
    pub fn add(&mut self, node: u32, copy: &ShardCopy) {
        let index = copy.shard.index;
        let span = &mut self.spans[index.at()];
        self.touched.insert(index);
        if span.len == span.room {
            self.unused += span.room;
            let range = span.range();
            *span = Span {
                start: self.entries.len(),
                len: span.len,
                room: 2 * span.len + 2,
            };
            self.entries.extend_from_within(range);
            let unused = Entry::of(node, copy);
            self.entries.resize(span.start + span.room, unused);
        }
        self.entries[span.start + span.len] = Entry::of(node, copy);
        span.len += 1;
        self.totals[node as usize] += 1;
        if self.selected == Some(index) {
            self.counts[node as usize] += 1;
        }
    }

    /// Removes a started copy from its node.
    pub fn remove_started(&mut self, node: u32, copy: &ShardCopy) {
        let index = copy.shard.index;
        self.touched.insert(index);
        let span = &mut self.spans[index.at()];
        let entries = &mut self.entries[span.range()];
        let found = entries.iter().position(|entry| {
            entry.node == node && entry.shard == copy.shard.shard && entry.started
        });
        debug_assert!(found.is_some(), "no such copy in the model");
        let Some(found) = found else { return };
        entries.swap(found, span.len - 1);
        span.len -= 1;
        self.totals[node as usize] -= 1;
        if self.selected == Some(index) {
            self.counts[node as usize] -= 1;
        }
    }

    /// Highest shard number among an index's primaries on a node; -1 if there is none.
    pub fn highest_primary(&self, node: u32, index: IndexIndex) -> i64 {
        let entries = self.of_index(index).iter();
        let primaries = entries.filter(|entry| entry.node == node && entry.primary);
        primaries
            .map(|entry| i64::from(entry.shard))
            .max()
            .unwrap_or(-1)
    }

    /// Started shards of an index on a node, lowest first.
    pub fn started(&self, node: u32, index: IndexIndex) -> Vec<u32> {
        let entries = self.of_index(index).iter();
        let started = entries.filter(|entry| entry.node == node && entry.started);
        let mut shards: Vec<u32> = started.map(|entry| entry.shard).collect();
        shards.sort_unstable();
        shards
    }

    /// Nodes that hold copies of an index, once per copy.
    pub fn holders(&self, index: IndexIndex) -> impl Iterator<Item = u32> + '_ {
        self.of_index(index).iter().map(|entry| entry.node)
    }
}
