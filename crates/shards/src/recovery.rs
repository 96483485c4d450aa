//! Estimates how long the recoveries of a simulated change take, and which of them end first.
//!
//! A node sends, and receives, at most `indices.recovery.max_bytes_per_sec` at a time, whatever the number
//! of recoveries, which share it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::NodeIndex;
use crate::service::CopyId;

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Way {
    In,
    Out,
}

/// A recovery that has bytes to send.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    from: Option<NodeIndex>,
    to: Option<NodeIndex>,
    left_bytes: f64,
}

impl Transfer {
    fn ends(&self) -> impl Iterator<Item = (NodeIndex, Way)> {
        let from = self.from.map(|node| (node, Way::Out));
        from.into_iter().chain(self.to.map(|node| (node, Way::In)))
    }
}

/// Bytes that nodes send and receive.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    running: HashMap<CopyId, Transfer>,
    all: BTreeMap<(NodeIndex, Way), u64>,
    /// How many bytes a node could have sent so far.
    elapsed_bytes: f64,
}

impl Transfers {
    /// Adds the transfer for a copy that recovers.
    pub(crate) fn add(
        &mut self,
        copy: CopyId,
        from: Option<NodeIndex>,
        to: Option<NodeIndex>,
        bytes: u64,
    ) {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let left_bytes = bytes as f64;
        let transfer = Transfer {
            from,
            to,
            left_bytes,
        };
        for end in transfer.ends() {
            let sum = self.all.entry(end).or_default();
            *sum = sum.saturating_add(bytes);
        }
        self.running.insert(copy, transfer);
    }

    /// Ends all transfers: the node with the most bytes is waited for.
    pub(crate) fn end_all(&mut self) {
        let mut sums: HashMap<(NodeIndex, Way), f64> = HashMap::new();
        for (_, transfer) in self.running.drain() {
            for end in transfer.ends() {
                *sums.entry(end).or_default() += transfer.left_bytes;
            }
        }
        self.elapsed_bytes += sums.into_values().fold(0.0, f64::max);
    }

    /// Goes on until the first of these recoveries ends, and removes those that have not ended. A recovery
    /// without a transfer ends at once.
    pub(crate) fn end_next(&mut self, recovering: &mut Vec<CopyId>) {
        if recovering.is_empty() {
            return;
        }
        // A recovery that was restarted has another allocation id.
        let known: HashSet<CopyId> = recovering.iter().copied().collect();
        self.running.retain(|copy, _| known.contains(copy));
        let mut shares: HashMap<(NodeIndex, Way), f64> = HashMap::new();
        for end in self.running.values().flat_map(Transfer::ends) {
            *shares.entry(end).or_default() += 1.0;
        }
        // Its slower end decides how fast it is.
        let due = |transfer: &Transfer| {
            let share = transfer.ends().map(|end| shares[&end]).fold(1.0, f64::max);
            (transfer.left_bytes * share, share)
        };
        let waits = |copy: &CopyId| self.running.get(copy).map_or(0.0, |running| due(running).0);
        let step = recovering.iter().map(waits).fold(f64::INFINITY, f64::min);
        recovering.retain(|copy| waits(copy) <= step);
        for transfer in self.running.values_mut() {
            transfer.left_bytes -= step / due(transfer).1;
        }
        for copy in &*recovering {
            self.running.remove(copy);
        }
        self.elapsed_bytes += step;
    }

    /// Bytes that the busiest node sends or receives in all, and those that a node could have sent until the
    /// last transfer ended.
    pub(crate) fn busiest_bytes(&self) -> [u64; 2] {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is never negative"
        )]
        let elapsed = self.elapsed_bytes as u64;
        [self.all.values().copied().max().unwrap_or(0), elapsed]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::AllocationIndex;
    use crate::model::{IndexIndex, ShardId};

    fn copy(number: u32) -> CopyId {
        let shard = ShardId {
            index: IndexIndex(0),
            shard: number,
        };
        let allocation = AllocationIndex(number.into());
        CopyId { shard, allocation }
    }

    #[test]
    fn rounds_wait_for_their_busiest_node() {
        let mut transfers = Transfers::default();
        let [a, b, c] = [0, 1, 2].map(|node| Some(NodeIndex(node)));
        transfers.add(copy(0), a, b, 100);
        transfers.add(copy(1), a, c, 50);
        transfers.end_all();
        transfers.add(copy(2), b, c, 70);
        transfers.end_all();
        transfers.end_all();
        // The first sends 150 in the first round; the third receives 120 in all.
        assert_eq!(transfers.busiest_bytes(), [150, 220]);
    }

    #[test]
    fn recoveries_that_share_a_node_end_by_size() {
        let mut transfers = Transfers::default();
        let [a, b, c] = [0, 1, 2].map(|node| Some(NodeIndex(node)));
        transfers.add(copy(0), a, b, 100);
        transfers.add(copy(1), a, c, 50);
        let mut ended = |of: &[u32], wanted: &[u32], elapsed| {
            let mut recovering: Vec<CopyId> = of.iter().copied().map(copy).collect();
            transfers.end_next(&mut recovering);
            let wanted: Vec<CopyId> = wanted.iter().copied().map(copy).collect();
            assert_eq!(recovering, wanted);
            assert_eq!(transfers.busiest_bytes(), [150, elapsed]);
        };
        ended(&[], &[], 0);
        // One without a transfer is waited for by no one.
        ended(&[0, 1, 7], &[7], 0);
        // Each gets half: after 100 the second has sent its 50, and the first has 50 left.
        ended(&[0, 1], &[1], 100);
        ended(&[0], &[0], 150);
    }
}
