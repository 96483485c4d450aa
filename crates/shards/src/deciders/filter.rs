//! `FilterAllocationDecider`: restricts an index, or all indices, to certain nodes.

use super::decision::answer;
use super::filters::{Fault, Join, Shown, matches};
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::{Filters, IndexIndex, NodeIndex};

const NAME: &str = "filter";

/// Whether a copy may be allocated to a node. For an index that has just been shrunk, only nodes with a
/// copy of every source shard are allowed.
pub(super) fn allocate<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if copy.is_unassigned() && copy.recovery == Some(RecoverySource::LocalShards) {
        let initial = &round.index(copy.shard.index).settings.initial_recovery;
        if !initial.is_empty() && !matches(initial, Join::Or, round.node(node)) {
            return answer!(
                why,
                No,
                "a shrunk index begins on a node that holds all its source's shards, index setting \
                 [index.routing.allocation.initial_recovery] filters [{}]",
                Shown(initial, Join::Or)
            );
        }
    }
    index(round, copy.shard.index, node, why)
}

/// Whether a copy may remain on a node.
pub(super) fn remain<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    index(round, copy.shard.index, node, why)
}

/// Whether copies of an index may be on a node: checks the cluster's filters, then the index's.
pub(super) fn index<W: ReasonSink>(
    round: &Allocation<'_>,
    index: IndexIndex,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if let Some(fault) = round.deciders.cluster_fault(node) {
        let settings = &round.cluster.settings;
        let groups = [&settings.require, &settings.include, &settings.exclude];
        return rejection(fault, "cluster setting [cluster", groups, why);
    }
    if let Some(fault) = round.deciders.index_fault(round.cluster, index, node) {
        let settings = &round.index(index).settings;
        let groups = [&settings.require, &settings.include, &settings.exclude];
        return rejection(fault, "index setting [index", groups, why);
    }
    answer!(
        why,
        Yes,
        "the node passes all require, include and exclude filters"
    )
}

fn rejection<W: ReasonSink>(
    fault: Fault,
    scope: &str,
    groups: [&Filters; 3],
    why: &mut W,
) -> Verdict {
    let (filters, join, text, word) = match fault {
        Fault::Require => (groups[0], Join::And, "does not match", "require"),
        Fault::Include => (groups[1], Join::Or, "does not match", "include"),
        Fault::Exclude => (groups[2], Join::Or, "matches", "exclude"),
    };
    answer!(
        why,
        No,
        "the node {text} {scope}.routing.allocation.{word}] filters [{}]",
        Shown(filters, join)
    )
}
