//! Estimates how long the recoveries of a simulated change take.
//!
//! A node sends, and receives, at most `indices.recovery.max_bytes_per_sec` at a time, whatever the number
//! of recoveries. The server starts the next recovery as soon as one ends, where the simulation waits for
//! all of a round: the time lies between that of the node with the most bytes in all, and that of the
//! rounds one after the other.

use std::collections::BTreeMap;

use crate::model::NodeIndex;

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    In,
    Out,
}

/// Bytes that nodes send and receive, round by round.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    round: BTreeMap<(NodeIndex, Way), u64>,
    all: BTreeMap<(NodeIndex, Way), u64>,
    by_rounds: u64,
}

impl Transfers {
    /// Adds a transfer of this round.
    pub(crate) fn add(&mut self, from: Option<NodeIndex>, to: Option<NodeIndex>, bytes: u64) {
        for end in [
            from.map(|node| (node, Way::Out)),
            to.map(|node| (node, Way::In)),
        ] {
            let Some(end) = end else { continue };
            for sums in [&mut self.round, &mut self.all] {
                let sum = sums.entry(end).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
    }

    /// Ends a round: all its transfers are waited for.
    pub(crate) fn end_round(&mut self) {
        let longest = self.round.values().copied().max().unwrap_or(0);
        self.by_rounds = self.by_rounds.saturating_add(longest);
        self.round.clear();
    }

    /// Bytes that the busiest node sends or receives in all, and the sum of those of each round's.
    pub(crate) fn busiest_bytes(&self) -> [u64; 2] {
        [
            self.all.values().copied().max().unwrap_or(0),
            self.by_rounds,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_wait_for_their_busiest_node() {
        let mut transfers = Transfers::default();
        let [a, b, c] = [0, 1, 2].map(|node| Some(NodeIndex(node)));
        transfers.add(a, b, 100);
        transfers.add(a, c, 50);
        transfers.end_round();
        transfers.add(b, c, 70);
        transfers.end_round();
        transfers.end_round();
        // The first sends 150 in the first round; the third receives 120 in all.
        assert_eq!(transfers.busiest_bytes(), [150, 220]);
    }
}
