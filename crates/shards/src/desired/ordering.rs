//! Which nodes were used least recently (`NodeAllocationOrdering`), and the order in which copies are looked
//! at (`OrderedShardsIterator`).

use std::collections::{HashMap, VecDeque};

use super::rules::MoveOrder;
use crate::allocation::Allocation;
use crate::model::NodeIndex;
use crate::nodes::CopyIndex;

/// When each node was last used.
#[derive(Debug, Clone, Default)]
pub(super) struct Recency {
    last: u64,
    used: HashMap<NodeIndex, u64>,
}

impl Recency {
    pub fn record(&mut self, node: NodeIndex) {
        self.last += 1;
        self.used.insert(node, self.last);
    }

    pub fn retain(&mut self, nodes: &[NodeIndex]) {
        self.used.retain(|node, _| nodes.contains(node));
    }

    /// The nodes, the least recently used first.
    pub fn sorted(&self, nodes: &[NodeIndex]) -> Vec<NodeIndex> {
        let mut nodes = nodes.to_vec();
        nodes.sort_by_key(|node| self.used.get(node).copied().unwrap_or(0));
        nodes
    }
}

/// The copies on all nodes, one after the other.
pub(super) struct Walk {
    order: MoveOrder,
    queue: VecDeque<(NodeIndex, std::vec::IntoIter<CopyIndex>)>,
}

impl Walk {
    /// A snapshot of the copies. Where balance alone is the reason (`rebalances`), the indices that data
    /// streams write to come last. Copies that are not among the `candidates` may be passed over.
    pub fn new(
        round: &Allocation<'_>,
        order: MoveOrder,
        recency: &Recency,
        rebalances: bool,
        candidates: Option<&[CopyIndex]>,
    ) -> Self {
        let nodes = match order {
            MoveOrder::Interleaved => round.nodes.order().to_vec(),
            _ => recency.sorted(round.nodes.order()),
        };
        let list = |node: NodeIndex| {
            let mut handles: Vec<CopyIndex> = match candidates {
                // Here all copies take their turns.
                _ if order == MoveOrder::Interleaved => round.nodes.handles_on(node).collect(),
                None => round.nodes.handles_on(node).collect(),
                Some(candidates) => round.nodes.select_on(node, candidates),
            };
            if order == MoveOrder::ByNodeAndStream {
                let stream = |handle: &CopyIndex| {
                    let index = round.nodes.copy(*handle).shard.index;
                    round.index(index).forecast.stream
                };
                if rebalances {
                    handles.sort_by_key(|handle| std::cmp::Reverse(stream(handle)));
                } else {
                    handles.sort_by_key(stream);
                }
            }
            (node, handles.into_iter())
        };
        Self {
            order,
            queue: nodes
                .into_iter()
                .map(list)
                .filter(|(_, handles)| handles.len() > 0)
                .collect(),
        }
    }

    /// Puts a node at the end if its copies are being looked at.
    pub fn defer(&mut self, node: NodeIndex) {
        if self.order != MoveOrder::Interleaved
            && self.queue.front().is_some_and(|(front, _)| *front == node)
        {
            self.queue.rotate_left(1);
        }
    }
}

impl Iterator for Walk {
    type Item = CopyIndex;

    fn next(&mut self) -> Option<CopyIndex> {
        let (_, handles) = self.queue.front_mut()?;
        let next = handles.next();
        if handles.len() == 0 {
            self.queue.pop_front();
        } else if self.order == MoveOrder::Interleaved {
            self.queue.rotate_left(1);
        }
        next
    }
}
