//! Deciders that enforce numeric limits: `ThrottlingAllocationDecider`, `ShardsLimitAllocationDecider`.

use super::decision::answer;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::NodeIndex;
use crate::sums::Sums;

/// Limits the number of concurrent recoveries per node.
pub(super) fn throttling<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "throttling";
    const INITIAL: &str =
        "cluster setting [cluster.routing.allocation.node_initial_primaries_recoveries";
    const FIRST: &str =
        "cluster setting [cluster.routing.allocation.node_initial_replicas_recoveries";
    const INCOMING: &str =
        "cluster setting [cluster.routing.allocation.node_concurrent_incoming_recoveries";
    const OUTGOING: &str =
        "cluster setting [cluster.routing.allocation.node_concurrent_outgoing_recoveries";
    let settings = &round.cluster.settings;
    if copy.primary && copy.is_unassigned() {
        if round.simulating {
            return answer!(
                why,
                Yes,
                "new primaries are not throttled in the simulation"
            );
        }
        let limit = settings.node_initial_primaries_recoveries;
        let running = round.deciders.sums.initial_primaries(round.nodes, node);
        if i64::from(running) >= i64::from(limit) {
            return answer!(
                why,
                Throttle,
                "[{running}] primaries recover from this node's own disk, {INITIAL}={limit}]"
            );
        }
        return answer!(
            why,
            Yes,
            "[{running}] primaries recover from this node's own disk, {INITIAL}={limit}]"
        );
    }
    // OpenSearch counts and limits the first recoveries of replicas apart.
    let is_first = copy.is_of_new_index() && round.nodes.first_recoveries(node).is_some();
    let counts = |node| match round.nodes.first_recoveries(node) {
        Some(counts) if is_first => counts,
        _ => (
            round.nodes.incoming_recoveries(node),
            round.nodes.outgoing_recoveries(node),
        ),
    };
    let (limit, most, [into_setting, out_setting]) = if is_first {
        let limit = settings.node_initial_replicas_recoveries;
        (limit, limit, [FIRST, FIRST])
    } else {
        (
            settings.node_concurrent_incoming_recoveries,
            settings.node_concurrent_outgoing_recoveries,
            [INCOMING, OUTGOING],
        )
    };
    let (incoming, _) = counts(node);
    if incoming >= limit {
        return answer!(
            why,
            Throttle,
            "[{incoming}] recoveries run into this node, {into_setting}={limit}]"
        );
    }
    let primary = round.nodes.active_primary(copy.shard);
    let Some(source) = primary.and_then(|primary| round.nodes.copy(primary).node) else {
        return answer!(
            why,
            No,
            "the primary that this copy recovers from is not active yet"
        );
    };
    let (_, outgoing) = counts(source);
    if outgoing >= most {
        return answer!(
            why,
            Throttle,
            "[{outgoing}] recoveries run out of node [{}], which has the primary, {out_setting}={most}]",
            round.node(source).id
        );
    }
    answer!(
        why,
        Yes,
        "[{incoming}] recoveries run into this node, {into_setting}={limit}]; [{outgoing}] out of the \
         primary's, {out_setting}={most}]"
    )
}

const CLUSTER: &str = "cluster setting [cluster.routing.allocation.total_shards_per_node";
const INDEX: &str = "index setting [index.routing.allocation.total_shards_per_node";

/// Limits the number of copies per node, in total and per index. Copies that are moving away do not
/// count.
///
/// To be added (`adding`), a copy needs the count to be below the limit; to remain, the limit must not be
/// exceeded.
pub(super) fn shards_limit<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    adding: bool,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "shards_limit";
    let index = copy.shard.index;
    let of_index = round.index(index).settings.total_shards_per_node;
    let of_node = round.cluster.settings.total_shards_per_node;
    if of_index <= 0 && of_node <= 0 {
        return answer!(
            why,
            Yes,
            "no limits: {CLUSTER}={of_node}], {INDEX}={of_index}]"
        );
    }
    let over = |count: u32, limit: i32| {
        limit > 0 && i64::from(count) + i64::from(adding) > i64::from(limit)
    };
    let all = round.deciders.sums.owned(round.nodes, node);
    if over(all, of_node) {
        return answer!(
            why,
            No,
            "[{all}] copies are on the node, {CLUSTER}={of_node}]"
        );
    }
    if of_index > 0 {
        let count = Sums::owned_of_index(round.cluster, round.nodes, node, index);
        if over(count, of_index) {
            return answer!(
                why,
                No,
                "[{count}] copies of index [{}] are on the node, {INDEX}={of_index}]",
                round.index(index).name
            );
        }
    }
    answer!(
        why,
        Yes,
        "[{all}] copies are on the node, {CLUSTER}={of_node}], {INDEX}={of_index}]"
    )
}

/// Whether the node may take a copy of any index.
pub(super) fn node_limit<W: ReasonSink>(
    round: &Allocation<'_>,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "shards_limit";
    let limit = round.cluster.settings.total_shards_per_node;
    if limit <= 0 {
        return answer!(why, Yes, "no limit: {CLUSTER}={limit}]");
    }
    let count = round.deciders.sums.owned(round.nodes, node);
    if i64::from(count) >= i64::from(limit) {
        return answer!(
            why,
            No,
            "[{count}] copies are on the node, {CLUSTER}={limit}]"
        );
    }
    answer!(
        why,
        Yes,
        "[{count}] copies are on the node, {CLUSTER}={limit}]"
    )
}
