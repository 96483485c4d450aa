//! The allocation deciders: whether a copy may be allocated to a node, remain there, or be rebalanced.
//!
//! There are sixteen, consulted in the order of `ClusterModule.createDeciders` in 7.4.0, and after them
//! those of later versions for tiers and special nodes. Each is a file or part of one and reports its reasons to a [`ReasonSink`], so that bulk decisions produce no text.

mod activity;
mod awareness;
pub(crate) mod decision;
mod disk;
mod enable;
mod filter;
mod filters;
mod limits;
mod pattern;
mod prepared;
mod recovery;
mod rules;
mod same_shard;
mod shutdown;
mod shutdowns;
mod sizes;
mod tier;
mod tier_membership;
mod words;

pub use decision::{Decision, NoReasons, Reason, ReasonRecorder, ReasonSink, Verdict};
pub use filters::{Join, matches};
pub(crate) use pattern::simple_match;
pub use prepared::Deciders;
pub(crate) use recovery::source_nodes;
pub(crate) use rules::{Arriving, Rules};
pub(crate) use sizes::expected_size_bytes;
pub(crate) use tier_membership::nodes_of as nodes_of_tier;

use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::{Index, IndexIndex, Node, NodeIndex};

/// Consults deciders in turn. Stops at the first NO unless reasons are recorded.
macro_rules! ask {
    ($why:ident: $($question:expr),+ $(,)?) => {{
        let mut all = Verdict::Yes;
        $(
            all = all.and($question);
            if all == Verdict::No && !decision::records_reasons($why) {
                return all;
            }
        )+
        all
    }};
}

/// The combined decisions of all deciders (`AllocationDeciders`).
impl<'a> Allocation<'a> {
    pub(crate) fn index(&self, index: IndexIndex) -> &'a Index {
        self.cluster.index(index)
    }

    pub(crate) fn node(&self, node: NodeIndex) -> &'a Node {
        self.cluster.node(node)
    }

    /// Whether the copy may be allocated to the node.
    pub(crate) fn can_allocate<W: ReasonSink>(
        &self,
        copy: &ShardCopy,
        node: NodeIndex,
        why: &mut W,
    ) -> Verdict {
        ask!(why:
            recovery::max_retry(self, copy, why),
            recovery::resize(self, copy, Some(node), why),
            activity::replica_after_primary(self, copy, why),
            enable::allocate(self, copy, why),
            recovery::node_version(self, copy, node, why),
            recovery::snapshot_in_progress(self, copy, why),
            recovery::restore_in_progress(self, copy, why),
            shutdown::shutdown(self, node, why),
            shutdown::replacement(self, copy, node, why),
            filter::allocate(self, copy, node, why),
            same_shard::allocate(self, copy, node, why),
            disk::allocate(self, copy, node, why),
            limits::throttling(self, copy, node, why),
            limits::shards_limit(self, copy, node, true, why),
            awareness::under_capacity(self, copy, node, true, why),
            tier::allocate(self, copy.shard.index, node, why),
        )
    }

    /// Whether a started copy may remain on its node.
    pub fn can_remain<W: ReasonSink>(
        &self,
        copy: &ShardCopy,
        node: NodeIndex,
        why: &mut W,
    ) -> Verdict {
        ask!(why:
            shutdown::shutdown(self, node, why),
            shutdown::replacement_remain(self, node, why),
            filter::remain(self, copy, node, why),
            disk::remain(self, copy, node, why),
            limits::shards_limit(self, copy, node, false, why),
            awareness::under_capacity(self, copy, node, false, why),
            tier::remain(self, copy.shard.index, node, why),
        )
    }

    /// Whether every copy may currently remain where it is, proven node by node without looking at each
    /// copy. `false` proves nothing.
    pub(crate) fn all_can_remain(&self) -> bool {
        self.deciders.limits_nothing()
            && self
                .nodes
                .order()
                .iter()
                .all(|&node| disk::all_remain(self, node))
    }

    /// Whether the copy may be allocated at all, on any node.
    pub(crate) fn can_allocate_anywhere<W: ReasonSink>(
        &self,
        copy: &ShardCopy,
        why: &mut W,
    ) -> Verdict {
        ask!(why:
            recovery::max_retry(self, copy, why),
            recovery::resize(self, copy, None, why),
            activity::replica_after_primary(self, copy, why),
            enable::allocate(self, copy, why),
            recovery::restore_in_progress(self, copy, why),
        )
    }

    /// Whether copies of the index may be allocated to the node.
    pub(crate) fn can_allocate_index<W: ReasonSink>(
        &self,
        index: IndexIndex,
        node: NodeIndex,
        why: &mut W,
    ) -> Verdict {
        ask!(why:
            filter::index(self, index, node, why),
            tier::allocate(self, index, node, why),
        )
    }

    /// Whether the node may take any copy at all.
    pub(crate) fn can_allocate_node<W: ReasonSink>(&self, node: NodeIndex, why: &mut W) -> Verdict {
        limits::node_limit(self, node, why)
    }

    /// Whether the copy may be rebalanced, to any node.
    pub(crate) fn can_rebalance<W: ReasonSink>(&self, copy: &ShardCopy, why: &mut W) -> Verdict {
        ask!(why:
            activity::rebalance_only_when_active(self, copy, why),
            activity::cluster_rebalance(self, why),
            activity::concurrent_rebalance(self, why),
            enable::rebalance(self, copy, why),
            recovery::snapshot_in_progress(self, copy, why),
        )
    }

    /// Whether rebalancing is allowed at all.
    pub(crate) fn can_rebalance_cluster<W: ReasonSink>(&self, why: &mut W) -> Verdict {
        ask!(why:
            activity::cluster_rebalance(self, why),
            activity::concurrent_rebalance(self, why),
            enable::rebalance_cluster(self, why),
        )
    }

    /// Whether an unassigned primary may be allocated, if necessary by force, to a node that has its
    /// data.
    ///
    /// Most deciders can be overridden by force; those that know the copy would be useless there cannot.
    pub(crate) fn can_force_allocate_primary<W: ReasonSink>(
        &self,
        copy: &ShardCopy,
        node: NodeIndex,
        why: &mut W,
    ) -> Verdict {
        debug_assert!(copy.primary && copy.is_unassigned());
        ask!(why:
            recovery::max_retry(self, copy, why),
            recovery::resize(self, copy, Some(node), why),
            self.forced(copy, node, why, |why| activity::replica_after_primary(self, copy, why)),
            self.forced(copy, node, why, |why| enable::allocate(self, copy, why)),
            self.forced(copy, node, why, |why| recovery::node_version(self, copy, node, why)),
            self.forced(copy, node, why, |why| recovery::snapshot_in_progress(self, copy, why)),
            recovery::restore_in_progress(self, copy, why),
            self.forced(copy, node, why, |why| shutdown::shutdown(self, node, why)),
            self.forced(copy, node, why, |why| shutdown::replacement(self, copy, node, why)),
            self.forced(copy, node, why, |why| filter::allocate(self, copy, node, why)),
            same_shard::same_node(self, copy, node, why),
            self.forced(copy, node, why, |why| disk::allocate(self, copy, node, why)),
            self.forced(copy, node, why, |why| limits::throttling(self, copy, node, why)),
            self.forced(copy, node, why, |why| limits::shards_limit(self, copy, node, true, why)),
            self.forced(copy, node, why, |why| {
                awareness::under_capacity(self, copy, node, true, why)
            }),
            self.forced(copy, node, why, |why| tier::tiers(self, copy.shard.index, node, why)),
            tier::pool(self, copy.shard.index, node, why),
        )
    }

    /// Whether a copy on a node that is being replaced may be forced onto the one that replaces it, although
    /// it may not be allocated there: watermarks, filters, limits and tiers then do not count.
    pub(crate) fn can_force_during_replace<W: ReasonSink>(
        &self,
        copy: &ShardCopy,
        node: NodeIndex,
        why: &mut W,
    ) -> Verdict {
        ask!(why:
            recovery::max_retry(self, copy, why),
            recovery::resize(self, copy, Some(node), why),
            activity::replica_after_primary(self, copy, why),
            recovery::node_version(self, copy, node, why),
            recovery::snapshot_in_progress(self, copy, why),
            recovery::restore_in_progress(self, copy, why),
            shutdown::force_replacement(self, copy, node, why),
            same_shard::allocate(self, copy, node, why),
            disk::force(self, copy, node, why),
            limits::throttling(self, copy, node, why),
            awareness::under_capacity(self, copy, node, true, why),
        )
    }

    /// Turns a NO into a YES if the decider can be overridden by force
    /// (`AllocationDecider.canForceAllocatePrimary`).
    fn forced<W: ReasonSink>(
        &self,
        copy: &ShardCopy,
        node: NodeIndex,
        why: &mut W,
        question: impl FnOnce(&mut W) -> Verdict,
    ) -> Verdict {
        let mark = why.mark();
        let verdict = question(why);
        if verdict != Verdict::No {
            return verdict;
        }
        if W::ON {
            let decider = why.discard_since(mark);
            let (shard, node) = (self.shown(copy.shard), &self.node(node).id);
            why.record(Reason {
                verdict: Verdict::Yes,
                decider,
                explanation: Some(format!(
                    "the primary of {shard} may be put on node [{node}] by force, since its data is there"
                )),
            });
        }
        Verdict::Yes
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
