//! Moves copies that cannot remain where they are (`moveShards`, `decideMove`).

use super::Balancer;
use super::opensearch::Gate;
use crate::copy::{ShardCopy, UNKNOWN_SIZE};
use crate::deciders::{NoReasons, ReasonSink, Verdict};
use crate::model::NodeIndex;

impl Balancer<'_, '_> {
    /// Moves every started copy that a decider does not allow to remain to the lightest node that accepts
    /// it, if there is one. Takes copies from the nodes in turn. Returns whether any copy moves.
    pub(super) fn move_copies(&mut self) -> bool {
        // When no copy has to move, the loop below has no side effects either.
        if self.round.all_can_remain() {
            return false;
        }
        let mut gate = Gate::new(self);
        let mut any = false;
        let primaries_first = self.rules.open.is_some();
        self.round.nodes.put_in_order(self.round.cluster);
        for handle in self.round.nodes.interleaved(primaries_first) {
            if gate.is_shut() {
                break;
            }
            let copy = *self.round.nodes.copy(handle);
            if !gate.lets_go(self.round, &copy) {
                continue;
            }
            let Some(from) = copy.node.filter(|_| copy.is_started()) else {
                continue;
            };
            if self.round.can_remain(&copy, from, &mut NoReasons) != Verdict::No {
                continue;
            }
            let (verdict, target) =
                self.lightest(&copy, from, &mut gate, &mut NoReasons, |_, _, _| {});
            let target = target.filter(|_| verdict == Verdict::Yes);
            let Some(target) = target.or_else(|| self.replacement(&copy, from)) else {
                continue;
            };
            self.take_started(self.model.place(from), &copy);
            let bytes = self.size_bytes(&copy);
            let arriving = self
                .round
                .nodes
                .relocate(handle, self.model.node(target), bytes);
            let arriving = *self.round.nodes.copy(arriving);
            self.put(target, &arriving);
            any = true;
            if self.rules.one_at_a_time {
                break;
            }
            gate.look_at(self.round, self.model.node(target), target);
        }
        any
    }

    /// Finds the lightest other node that accepts the copy, and the best verdict up to there. When
    /// reasons are recorded, all nodes are evaluated.
    pub(super) fn lightest<W: ReasonSink>(
        &mut self,
        copy: &ShardCopy,
        from: NodeIndex,
        gate: &mut Gate,
        why: &mut W,
        mut each: impl FnMut(u32, Verdict, &mut W),
    ) -> (Verdict, Option<u32>) {
        self.reset(copy.shard.index, 0, self.sorter.len());
        let mut best = Verdict::No;
        let mut target = None;
        for &place in &self.sorter.nodes {
            let node = self.model.node(place);
            if node == from || gate.keeps_out(self.round, node, place) {
                continue;
            }
            let verdict = self.round.can_allocate(copy, node, why);
            each(place, verdict, why);
            if verdict > best {
                best = verdict;
                if best == Verdict::Yes {
                    target = Some(place);
                    if !W::ON {
                        break;
                    }
                }
            }
        }
        (best, target)
    }

    /// The node that replaces the copy's own, if the copy may be forced onto it. The nodes are sorted already.
    fn replacement(&self, copy: &ShardCopy, from: NodeIndex) -> Option<u32> {
        if !self.round.cluster.is_replaced(from) {
            return None;
        }
        let mut others = self.sorter.nodes.iter().copied();
        others.find(|&place| {
            let node = self.model.node(place);
            let force = || {
                self.round
                    .can_force_during_replace(copy, node, &mut NoReasons)
            };
            node != from && force() == Verdict::Yes
        })
    }

    /// Size of a copy for a relocation (`ClusterInfo.getShardSize`), bytes.
    pub(super) fn size_bytes(&self, copy: &ShardCopy) -> i64 {
        let info = self.round.cluster.info.as_ref();
        let known = info.and_then(|info| info.size_bytes(copy.shard, copy.primary));
        known.unwrap_or(UNKNOWN_SIZE)
    }
}
