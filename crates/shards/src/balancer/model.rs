//! The balancer's own picture of the cluster (`ModelNode`, `ModelIndex`).
//!
//! Nodes are numbered in the order of the server's hash map. Copies are listed by index, which is how
//! they are asked for; of a relocating copy only its target counts.

use std::collections::BTreeSet;

use crate::copy::ShardCopy;
use crate::model::{Cluster, IndexIndex, NodeIndex, ShardId};
use crate::nodes::RoutingNodes;

/// A copy as the model has it.
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

/// Where an index's entries lie.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: usize,
    len: usize,
    /// How many may lie there before they have to be put elsewhere.
    room: usize,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }
}

/// Copies by node and index, ahead of the cluster by what is throttled.
#[derive(Debug)]
pub(super) struct Model {
    order: Vec<NodeIndex>,
    /// Per node of the cluster its number here.
    places: Vec<u32>,
    /// Per node its copies.
    totals: Vec<i32>,
    /// The entries of all indices, those of one side by side.
    entries: Vec<Entry>,
    spans: Vec<Span>,
    /// The index that [`Model::count_of_index`] counts.
    selected: Option<IndexIndex>,
    counts: Vec<i32>,
    /// Indices whose entries have changed in this round.
    touched: BTreeSet<IndexIndex>,
    /// Those of rounds before, since [`Model::take_unproven`].
    unproven: BTreeSet<IndexIndex>,
    /// Entries that no index has any more.
    unused: usize,
}

impl Model {
    /// The model of all copies on these nodes, which come in the order of the server's map.
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

    /// Puts the copies of an index at the end of the entries, and counts them.
    fn list(&mut self, cluster: &Cluster, nodes: &RoutingNodes, index: IndexIndex) {
        // an index that was deleted has no copies, and its shards no place
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

    /// Brings the entries of indices that have changed in line with the nodes: those that are named, and
    /// those of which copies were put where they would go later.
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

    /// The indices whose entries have changed since this was last asked.
    pub fn take_unproven(&mut self) -> BTreeSet<IndexIndex> {
        let mut unproven = std::mem::take(&mut self.unproven);
        unproven.extend(&self.touched);
        unproven
    }

    /// The nodes by how many copies they have.
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

    /// The numbers of all nodes, in order.
    pub fn nodes(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.order.len()).expect("fewer than 2^32 nodes")
    }

    /// The node of the cluster behind a number.
    pub fn node(&self, node: u32) -> NodeIndex {
        self.order[node as usize]
    }

    /// The number of a routed node.
    pub fn place(&self, node: NodeIndex) -> u32 {
        self.places[node.at()]
    }

    /// Counts one index's copies per node from here on. Says whether that is a change.
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

    /// Copies on a node.
    pub fn count(&self, node: u32) -> i32 {
        self.totals[node as usize]
    }

    /// Copies of the selected index on a node.
    pub fn count_of_index(&self, node: u32) -> i32 {
        self.counts[node as usize]
    }

    /// Puts a copy on a node.
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

    /// Takes a started copy from its node.
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

    /// The highest shard number of an index's primaries on a node; -1 if there is none.
    pub fn highest_primary(&self, node: u32, index: IndexIndex) -> i64 {
        let entries = self.of_index(index).iter();
        let primaries = entries.filter(|entry| entry.node == node && entry.primary);
        primaries
            .map(|entry| i64::from(entry.shard))
            .max()
            .unwrap_or(-1)
    }

    /// The shards of an index that are started on a node, the lowest first.
    pub fn started(&self, node: u32, index: IndexIndex) -> Vec<u32> {
        let entries = self.of_index(index).iter();
        let started = entries.filter(|entry| entry.node == node && entry.started);
        let mut shards: Vec<u32> = started.map(|entry| entry.shard).collect();
        shards.sort_unstable();
        shards
    }

    /// The nodes with copies of an index, once for each copy.
    pub fn holders(&self, index: IndexIndex) -> impl Iterator<Item = u32> + '_ {
        self.of_index(index).iter().map(|entry| entry.node)
    }
}
