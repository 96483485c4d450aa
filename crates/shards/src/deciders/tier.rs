//! Data tiers and nodes of a special kind: `DataTierAllocationDecider` and
//! `DedicatedFrozenNodeAllocationDecider` of Elasticsearch, `TargetPoolAllocationDecider` of OpenSearch.
//!
//! 7.4.0 has none of them. They answer only where an index or a node has what they are about, so a cluster
//! without tiers gets the answers of 7.4.0.

use super::decision::answer;
use super::tier_membership::{available, frozen_fault, in_tier, pool_fault};
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::model::{IndexIndex, IndexSettings, Node, NodeIndex};

/// Whether copies of an index may be put on a node.
pub(super) fn allocate<W: ReasonSink>(
    round: &Allocation<'_>,
    index: IndexIndex,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if !W::ON {
        return if round.deciders.tiers.allows(index, node) {
            Verdict::Yes
        } else {
            Verdict::No
        };
    }
    pool(round, index, node, why).and(tiers(round, index, node, why))
}

/// Whether copies of an index may remain on a node. OpenSearch does not ask its pools then.
pub(super) fn remain<W: ReasonSink>(
    round: &Allocation<'_>,
    index: IndexIndex,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if !W::ON && round.deciders.tiers.allows(index, node) {
        return Verdict::Yes;
    }
    tiers(round, index, node, why)
}

/// Whether an OpenSearch node is of the kind that holds the index.
pub(super) fn pool<W: ReasonSink>(
    round: &Allocation<'_>,
    index: IndexIndex,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "target_pool";
    let settings = &round.index(index).settings;
    if !pool_fault(settings, round.node(node)) {
        return Verdict::Yes;
    }
    let (shard, node) = if settings.remote_snapshot {
        ("REMOTE_CAPABLE", "LOCAL_ONLY")
    } else {
        ("LOCAL_ONLY", "REMOTE_CAPABLE")
    };
    answer!(
        why,
        No,
        "the pools do not fit: the shard's is [{shard}], the node's is [{node}]"
    )
}

/// Whether the tiers let copies of an index be on a node, mounted snapshots of the frozen tier included.
pub(super) fn tiers<W: ReasonSink>(
    round: &Allocation<'_>,
    index: IndexIndex,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "dedicated_frozen_node";
    let (settings, node) = (&round.index(index).settings, round.node(node));
    let frozen = if frozen_fault(settings, node) {
        answer!(
            why,
            No,
            "the node's only data role is [data_frozen], so it holds partially mounted snapshots only"
        )
    } else {
        Verdict::Yes
    };
    frozen.and(tier(round, settings, node, why))
}

fn tier<W: ReasonSink>(
    round: &Allocation<'_>,
    settings: &IndexSettings,
    node: &Node,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "data_tier";
    if settings.tier_preference.is_empty() {
        return Verdict::Yes;
    }
    let preference = settings.tier_preference.join(", ");
    let tier = available(round.cluster, &settings.tier_preference);
    if in_tier(settings, tier, node) {
        return answer!(
            why,
            Yes,
            "the index prefers the tiers [{preference}], and the node belongs to the tier [{}]",
            tier.unwrap_or_default()
        );
    }
    let Some(tier) = tier else {
        return answer!(
            why,
            No,
            "the index prefers the tiers [{preference}], and no node belongs to any of them"
        );
    };
    answer!(
        why,
        No,
        "the index prefers the tiers [{preference}], and the node does not belong to the tier [{tier}]"
    )
}

#[cfg(test)]
mod tests {
    use crate::copy::ShardCopy;
    use crate::deciders::fixture::Builder;
    use crate::deciders::{Decision, NoReasons, ReasonRecorder, Verdict};
    use crate::model::{IndexSettings, NodeIndex, Roles};

    /// A node for each list of roles, and a shard on the first.
    fn cluster(roles: &[&[&str]], change: impl FnOnce(&mut IndexSettings)) -> (Builder, ShardCopy) {
        let mut builder = Builder::new(u32::try_from(roles.len()).unwrap());
        for (node, roles) in builder.cluster.nodes.iter_mut().zip(roles) {
            node.roles = Roles::new(roles.iter().map(|&role| role.to_owned()).collect());
        }
        let index = builder.index("i", 1, 0);
        change(builder.settings(index));
        let copy = builder.started(index, 0, true, 0);
        (builder, copy)
    }

    /// The nodes that the shard may be put on, and whether it may remain on the first.
    fn places(roles: &[&[&str]], change: impl FnOnce(&mut IndexSettings)) -> (Vec<u32>, bool) {
        let (builder, copy) = cluster(roles, change);
        builder.ask(|round| {
            let index = copy.shard.index;
            let nodes = 0..u32::try_from(roles.len()).unwrap();
            let may = |node: &u32| {
                let node = NodeIndex(*node);
                let quick = super::allocate(round, index, node, &mut NoReasons);
                let told = super::allocate(round, index, node, &mut ReasonRecorder::new(false));
                assert_eq!(quick, told, "{node:?}");
                quick == Verdict::Yes
            };
            let remains = super::remain(round, index, NodeIndex(0), &mut NoReasons);
            (nodes.filter(may).collect(), remains == Verdict::Yes)
        })
    }

    fn prefers(tiers: &'static [&'static str]) -> impl FnOnce(&mut IndexSettings) {
        move |settings| {
            settings.tier_preference = tiers.iter().map(|&tier| tier.to_owned()).collect();
        }
    }

    #[test]
    fn the_first_preferred_tier_with_a_node_holds_the_index() {
        let roles: [&[&str]; 3] = [&["data_hot", "data_content"], &["data_warm"], &["data"]];
        assert_eq!(
            places(&roles, prefers(&["data_content"])),
            (vec![0, 2], true)
        );
        assert_eq!(
            places(&roles, prefers(&["data_warm", "data_hot"])),
            (vec![1, 2], false)
        );
        assert_eq!(
            places(&roles[..2], prefers(&["data_cold", "data_hot"])),
            (vec![0], true)
        );
        // The generic role belongs to every tier, so the preferred one has a node.
        assert_eq!(
            places(&roles, prefers(&["data_cold", "data_hot"])),
            (vec![2], false)
        );
        assert_eq!(
            places(&roles[..2], prefers(&["data_cold"])),
            (vec![], false)
        );
        assert_eq!(places(&roles, prefers(&[])), (vec![0, 1, 2], true));
    }

    #[test]
    fn the_defaults_of_the_servers_limit_nothing() {
        for roles in [
            &[
                "data",
                "data_cold",
                "data_content",
                "data_frozen",
                "data_hot",
                "data_warm",
            ][..],
            &["cluster_manager", "data", "ingest", "remote_cluster_client"],
            &["data"],
        ] {
            let (builder, _) = cluster(&[roles, roles], prefers(&["data_content"]));
            let limits_nothing = builder.ask(|round| round.deciders.tiers.limit_nothing());
            assert!(limits_nothing, "{roles:?}");
        }
    }

    #[test]
    fn a_frozen_node_holds_partially_mounted_snapshots_only() {
        let roles: [&[&str]; 2] = [&["data_frozen"], &["data_hot"]];
        assert_eq!(places(&roles, |_| ()), (vec![1], false));
        let partial = |settings: &mut IndexSettings| {
            settings.partial_snapshot = true;
            settings.tier_preference = vec!["data_frozen".to_owned()];
        };
        assert_eq!(places(&roles, partial), (vec![0], true));
    }

    #[test]
    fn opensearch_mounts_snapshots_on_nodes_with_a_cache() {
        for cache in ["search", "warm"] {
            let roles: [&[&str]; 3] = [&[cache], &["data"], &["data", cache]];
            // Copies that are there already are not driven away.
            assert_eq!(places(&roles, |_| ()), (vec![1, 2], true));
            let remote = |settings: &mut IndexSettings| settings.remote_snapshot = true;
            assert_eq!(places(&roles, remote), (vec![0, 2], true));
            // A preference restored from Elasticsearch means nothing.
            assert_eq!(
                places(&roles, prefers(&["data_content"])),
                (vec![1, 2], true)
            );
        }
    }

    #[test]
    fn reasons_name_the_preference_and_the_tier() {
        let (builder, copy) = cluster(&[&["data_warm"], &["data_hot"]], prefers(&["data_hot"]));
        let decision: Decision = builder.ask(|round| {
            let mut why = ReasonRecorder::new(true);
            let verdict = super::remain(round, copy.shard.index, NodeIndex(0), &mut why);
            why.decision(verdict)
        });
        assert_eq!(decision.reasons[0].decider, Some("data_tier"));
        let text = decision.reasons[0].explanation.as_deref().unwrap();
        assert!(
            text.contains("[data_hot]") && text.contains("does not belong"),
            "{text}"
        );
    }
}
