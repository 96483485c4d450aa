//! `SameShardAllocationDecider`: no two copies of a shard on the same node or host.

use super::decision::answer;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::{Node, NodeIndex};

const NAME: &str = "same_shard";

/// Whether the node and, with `same_shard.host`, its host have no copy of the shard.
pub(super) fn allocate<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if !round.cluster.settings.same_shard_host {
        return same_node(round, copy, node, why);
    }
    let mark = why.mark();
    if same_node(round, copy, node, why) == Verdict::No {
        return Verdict::No;
    }
    // A decider reports only one reason.
    why.discard_since(mark);
    let here = round.node(node);
    for other in round
        .nodes
        .assigned_copies(copy.shard)
        .filter_map(|copy| copy.node)
    {
        if !round.node(other).present {
            continue;
        }
        if let Some((kind, host)) = shared_host(here, round.node(other)) {
            return answer!(
                why,
                No,
                "a copy of this shard is on the host with the {kind} [{host}], on node [{}]; cluster \
                 setting [cluster.routing.allocation.same_shard.host=true]",
                round.node(other).id
            );
        }
    }
    answer!(why, Yes, "no copy of this shard is on this host")
}

/// Whether the node has no copy of the shard.
pub(super) fn same_node<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    match round.nodes.on_node(node, copy.shard) {
        Some(held) if W::ON => {
            let held = round.nodes.copy(held);
            if held.allocation.is_some() && held.allocation == copy.allocation {
                answer!(why, No, "this copy is on this node already")
            } else {
                let what = if held.primary { "primary" } else { "replica" };
                answer!(why, No, "a copy of this shard, a {what}, is on this node")
            }
        }
        Some(_) => Verdict::No,
        None => answer!(why, Yes, "no copy of this shard is on this node"),
    }
}

/// The name by which two nodes share a host: the address or, if an address is missing, the host name.
fn shared_host<'a>(one: &'a Node, other: &Node) -> Option<(&'static str, &'a str)> {
    if !one.host_address.is_empty() && !other.host_address.is_empty() {
        (one.host_address == other.host_address).then_some(("address", &one.host_address))
    } else if !one.host.is_empty() && one.host == other.host {
        Some(("name", &one.host))
    } else {
        None
    }
}
