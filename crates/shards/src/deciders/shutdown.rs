//! `NodeShutdownAllocationDecider` and `NodeReplacementAllocationDecider`: nodes that are about to leave take
//! nothing and keep nothing, and what one node holds goes to the one that replaces it. They are silent as
//! long as no node leaves.

use super::decision::answer;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::NodeIndex;

/// Whether a node takes or keeps copies.
pub(super) fn shutdown<W: ReasonSink>(
    round: &Allocation<'_>,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "node_shutdown";
    let shutdowns = &round.deciders.shutdowns;
    if shutdowns.leaving.is_empty() {
        return Verdict::Yes;
    }
    if shutdowns.leaves(node) {
        return answer!(
            why,
            No,
            "node [{}] is about to leave the cluster",
            round.node(node).id
        );
    }
    answer!(why, Yes, "this node is not about to leave")
}

/// Whether a copy may go to a node while nodes are being replaced.
pub(super) fn replacement<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "node_replacement";
    let replaced = &round.deciders.shutdowns.replaced;
    if replaced.is_empty() {
        return Verdict::Yes;
    }
    let target = &round.node(node).name;
    let relaxed = round.reconciling && round.deciders.rules.relaxes_replacement;
    if let Some(by) = copy.node.and_then(|from| replaced.get(&from)) {
        if by == target {
            return answer!(
                why,
                Yes,
                "node [{target}] replaces the one that has this copy"
            );
        }
        if relaxed {
            return answer!(
                why,
                Yes,
                "does not matter for the next step towards the desired balance"
            );
        }
        return answer!(
            why,
            No,
            "the node that has this copy is being replaced, so it may only go to node [{by}]"
        );
    }
    if let Some(by) = replaced.get(&node) {
        return answer!(why, No, "this node is being replaced by node [{by}]");
    }
    if replaced.values().any(|by| by == target) {
        if relaxed && !copy.is_unassigned() {
            return answer!(
                why,
                Yes,
                "does not matter for the next step towards the desired balance"
            );
        }
        return answer!(
            why,
            No,
            "node [{target}] replaces another one, and until that is done takes only what that one holds"
        );
    }
    answer!(
        why,
        Yes,
        "no replacement has to do with this copy and this node"
    )
}

/// Whether a copy may remain on a node while nodes are being replaced.
pub(super) fn replacement_remain<W: ReasonSink>(
    round: &Allocation<'_>,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "node_replacement";
    match round.deciders.shutdowns.replaced.get(&node) {
        Some(by) => answer!(why, No, "this node is being replaced by node [{by}]"),
        None => Verdict::Yes,
    }
}

/// Whether a copy may be forced onto the node that replaces its own.
pub(super) fn force_replacement<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "node_replacement";
    let replaced = &round.deciders.shutdowns.replaced;
    let by = copy.node.and_then(|from| replaced.get(&from));
    if by.is_some_and(|by| *by == round.node(node).name) {
        answer!(why, Yes, "this node replaces the one that has this copy")
    } else {
        answer!(
            why,
            No,
            "this node does not replace the one that has this copy"
        )
    }
}
