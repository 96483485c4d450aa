//! `AwarenessAllocationDecider`: spreads the copies of a shard over the values of node attributes.

use super::decision::answer;
use super::prepared::Awareness;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::NodeIndex;

const NAME: &str = "awareness";
const SETTING: &str = "cluster setting [cluster.routing.allocation.awareness.attributes";

/// Whether, for each attribute, the nodes with this node's value hold no more than their share of the
/// shard's copies: after the copy has moved there if `moving`, otherwise as it is now.
pub(super) fn under_capacity<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    moving: bool,
    why: &mut W,
) -> Verdict {
    let attributes = &round.deciders.awareness;
    if attributes.is_empty() {
        return answer!(why, Yes, "no attributes to be aware of; {SETTING}=]");
    }
    let wanted = u64::from(round.index(copy.shard.index).replicas) + 1;
    // Relocation targets count, because the copies will be there; relocation sources do not.
    let counted = || {
        let copies = round.nodes.assigned_copies(copy.shard);
        let counted = copies.filter(|copy| copy.is_started() || copy.is_initializing());
        counted.filter_map(|copy| copy.node)
    };
    for attribute in attributes {
        let Some(value) = attribute.values[node.at()] else {
            return answer!(
                why,
                No,
                "the node lacks the attribute [{}]; {SETTING}={}]",
                attribute.name,
                round.cluster.settings.awareness_attributes.join(",")
            );
        };
        let holds = |value: Option<u32>| counted().any(|node| attribute.values[node.at()] == value);
        let here = counted()
            .filter(|node| attribute.values[node.at()] == Some(value))
            .count();
        let mut here = i64::try_from(here).unwrap_or(i64::MAX);
        if !round.deciders.rules.absence_is_a_value {
            let at = if copy.is_relocating() {
                copy.relocating
            } else {
                copy.node
            };
            // A copy that stays among nodes of this value does not change their number.
            if moving && at.is_none_or(|at| attribute.values[at.at()] != Some(value)) {
                here += 1;
            }
            let mut values = attribute.actual.clone();
            values.extend(&attribute.forced);
            let most = wanted.div_ceil((values.len() as u64).max(1));
            if here > i64::try_from(most).unwrap_or(i64::MAX) {
                return too_many(
                    round,
                    attribute,
                    here,
                    wanted,
                    most,
                    values.len() as u64,
                    why,
                );
            }
            continue;
        }
        // The effect of the move on the counts: one more at the new node, one less at the old node if it
        // has any. A value stays known once counted, even at zero.
        let mut known = [None; 2];
        if moving {
            let at = if copy.is_relocating() {
                copy.relocating
            } else {
                copy.node
            };
            match at {
                Some(at) if at == node => {}
                Some(at) => {
                    let old = attribute.values[at.at()];
                    if old == Some(value) && here > 0 {
                        here -= 1;
                    }
                    here += 1;
                    known = [Some(old), Some(Some(value))];
                }
                None => {
                    here += 1;
                    known = [Some(Some(value)), None];
                }
            }
        }
        let missing = attribute
            .forced
            .iter()
            .map(|value| Some(*value))
            .filter(|value| !known.contains(&Some(*value)) && !holds(*value));
        let values = u64::from(attribute.distinct) + missing.count() as u64;
        let most = wanted.div_ceil(values.max(1));
        if here > i64::try_from(most).unwrap_or(i64::MAX) {
            return too_many(round, attribute, here, wanted, most, values, why);
        }
    }
    answer!(
        why,
        Yes,
        "the copies are spread as they should be; {SETTING}={}]",
        round.cluster.settings.awareness_attributes.join(",")
    )
}

fn too_many<W: ReasonSink>(
    round: &Allocation<'_>,
    attribute: &Awareness,
    here: i64,
    wanted: u64,
    most: u64,
    values: u64,
    why: &mut W,
) -> Verdict {
    answer!(
        why,
        No,
        "[{here}] of [{wanted}] copies would be on nodes with this value of [{}], at most \
         [{most}] may, since there are [{values}] values; {SETTING}={}]",
        attribute.name,
        round.cluster.settings.awareness_attributes.join(",")
    )
}
