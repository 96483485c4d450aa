//! What would become of one copy, with every decider's reason: what the cluster's explain API tells
//! (`decideShardAllocation`, `decideRebalance`).

use super::Balancer;
use super::unassigned::Throttled;
use super::weight::within;
use crate::allocation::Allocation;
use crate::copy::{AllocationStatus, ShardCopy};
use crate::deciders::{Decision, Told, Verdict};
use crate::introsort::compare_f32;
use crate::model::NodeIndex;
use crate::nodes::CopyIndex;

/// How a question about a copy came out, for one node or for all (`AllocationDecision`); in the order in
/// which the server sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It can go there.
    Yes,
    /// It can, later.
    Throttled,
    /// It cannot.
    No,
    /// It could, but the balance would be no better.
    WorseBalance,
    /// Nodes have not yet said what they hold.
    AwaitingInfo,
    /// It waits for a node to come back.
    AllocationDelayed,
    /// No copy fit to be the primary was found.
    NoValidShardCopy,
    /// Nothing was tried.
    NoAttempt,
}

impl Outcome {
    /// As the server's answers spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Yes => "yes",
            Outcome::Throttled => "throttled",
            Outcome::No => "no",
            Outcome::WorseBalance => "worse_balance",
            Outcome::AwaitingInfo => "awaiting_info",
            Outcome::AllocationDelayed => "allocation_delayed",
            Outcome::NoValidShardCopy => "no_valid_shard_copy",
            Outcome::NoAttempt => "no_attempt",
        }
    }
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Yes => Outcome::Yes,
            Verdict::Throttle => Outcome::Throttled,
            Verdict::No => Outcome::No,
        }
    }
}

/// What would become of a copy on one node (`NodeAllocationResult`).
#[derive(Clone, Debug, PartialEq)]
pub struct NodeResult {
    /// The node.
    pub node: NodeIndex,
    /// Whether the copy could go there, the balance taken into account where it counts.
    pub outcome: Outcome,
    /// What the deciders say.
    pub decision: Decision,
    /// The node's rank by weight, from 1; nodes may share one.
    pub weight_ranking: u32,
    /// The node's weight for the copy's index: with the copy, if it is unassigned; as it is, if not.
    pub weight: f32,
}

/// What would become of an unassigned copy (`AllocateUnassignedDecision`).
#[derive(Clone, Debug, PartialEq)]
pub struct AllocateDecision {
    /// Why it is not allocated; none if it can be.
    pub status: Option<AllocationStatus>,
    /// Where it would go, now or, if throttled, later.
    pub target: Option<NodeIndex>,
    /// Whether it may be allocated anywhere at all, whatever the node.
    pub anywhere: Decision,
    /// Each node, the best first.
    pub nodes: Vec<NodeResult>,
}

/// What would become of a started copy (`MoveDecision`).
#[derive(Clone, Debug, PartialEq)]
pub struct MoveDecision {
    /// Whether it can stay.
    pub can_remain: Decision,
    /// Whether it may be moved for balance; none if it has to move anyway.
    pub can_rebalance: Option<Decision>,
    /// Whether it moves.
    pub outcome: Outcome,
    /// Where it would go.
    pub target: Option<NodeIndex>,
    /// The rank of its own node by weight; 0 if it has to move anyway.
    pub current_ranking: u32,
    /// Each other node, the best first.
    pub nodes: Vec<NodeResult>,
}

/// What would become of a copy (`ShardAllocationDecision`).
#[derive(Clone, Debug, PartialEq)]
pub enum CopyDecision {
    /// It recovers or moves: nothing is decided.
    NotTaken,
    /// It is unassigned.
    Allocate(AllocateDecision),
    /// It is started.
    Move(MoveDecision),
}

/// Explains what the balancer would do with a copy as things are. Nothing is changed.
///
/// The target of an unassigned copy is the one that the server names; it may differ from the one that a
/// round takes, since an explanation passes over no node (see [`super::allocate`]).
pub fn explain(round: &mut Allocation<'_>, handle: CopyIndex, without_yes: bool) -> CopyDecision {
    let copy = *round.nodes.copy(handle);
    let mut told = Told::new(without_yes);
    let mut balancer = Balancer::new(round);
    if copy.is_unassigned() {
        return CopyDecision::Allocate(balancer.explain_unassigned(&copy, &mut told));
    }
    let Some(node) = copy.node.filter(|_| copy.is_started()) else {
        return CopyDecision::NotTaken;
    };
    let verdict = balancer.round.can_remain(&copy, node, &mut told);
    let can_remain = told.decision(verdict);
    CopyDecision::Move(if verdict == Verdict::No {
        balancer.explain_move(&copy, node, can_remain, &mut told)
    } else {
        balancer.explain_rebalance(&copy, node, can_remain, &mut told)
    })
}

impl Balancer<'_, '_> {
    fn explain_unassigned(&mut self, copy: &ShardCopy, told: &mut Told) -> AllocateDecision {
        let anywhere = self.round.can_allocate_anywhere(copy, told);
        let anywhere = told.decision(anywhere);
        let throttled = Throttled::new(self.model.node_count());
        let mut found = Vec::new();
        let choice = self.choose(
            copy,
            &throttled,
            true,
            told,
            |node, weight, verdict, told| {
                found.push((node, weight, told.decision(verdict)));
            },
        );
        found.sort_by(|a, b| compare_f32(a.1, b.1));
        let ranked =
            found
                .into_iter()
                .zip(1..)
                .map(|((node, weight, decision), weight_ranking)| {
                    let node = self.model.node(node);
                    let outcome = decision.verdict.into();
                    NodeResult {
                        node,
                        outcome,
                        decision,
                        weight_ranking,
                        weight,
                    }
                });
        let nodes = ranked.collect();
        AllocateDecision {
            status: choice.status(),
            target: choice.node.map(|node| self.model.node(node)),
            anywhere,
            nodes: self.sorted(nodes),
        }
    }

    fn explain_move(
        &mut self,
        copy: &ShardCopy,
        node: NodeIndex,
        can_remain: Decision,
        told: &mut Told,
    ) -> MoveDecision {
        let mut found = Vec::new();
        let (verdict, target) = self.lightest(copy, node, told, |place, verdict, told| {
            found.push((place, told.decision(verdict)));
        });
        let ranked = found
            .into_iter()
            .zip(1..)
            .map(|((place, decision), weight_ranking)| NodeResult {
                node: self.model.node(place),
                outcome: decision.verdict.into(),
                decision,
                weight_ranking,
                weight: self.weight(place, 0),
            });
        let nodes = ranked.collect();
        MoveDecision {
            can_remain,
            can_rebalance: None,
            outcome: verdict.into(),
            target: target.map(|place| self.model.node(place)),
            current_ranking: 0,
            nodes: self.sorted(nodes),
        }
    }

    fn explain_rebalance(
        &mut self,
        copy: &ShardCopy,
        node: NodeIndex,
        can_remain: Decision,
        told: &mut Told,
    ) -> MoveDecision {
        let can_rebalance = self.round.can_rebalance(copy, told);
        let can_rebalance = told.decision(can_rebalance);
        self.reset(copy.shard.index, 0, self.sorter.len());
        let own = self.model.place(node);
        let own_weight = self.weight(own, 0);
        let mut best = Verdict::No;
        let mut target = None;
        // by what going there would do to the balance
        let (mut better, mut same, mut worse) = (Vec::new(), Vec::new(), Vec::new());
        for &place in self.sorter.nodes.iter().filter(|place| **place != own) {
            let verdict = self.round.can_allocate(copy, self.model.node(place), told);
            let result = (place, told.decision(verdict));
            let weight = self.weight(place, 0);
            let is_lighter = weight <= own_weight;
            if !is_lighter {
                worse.push(result);
                continue;
            }
            let delta = (own_weight - weight).abs();
            let then = self.weight(place, 1) - self.weight(own, -1);
            let is_closer = then < delta;
            if within(delta, self.threshold) || !is_closer {
                same.push(result);
                continue;
            }
            better.push(result);
            if verdict.higher_than(best) {
                best = verdict;
                target = Some(self.model.node(place));
            }
        }

        let result = |(place, decision): (u32, Decision), weight_ranking, is_better| NodeResult {
            node: self.model.node(place),
            outcome: match decision.verdict {
                Verdict::No => Outcome::No,
                verdict if is_better => verdict.into(),
                _ => Outcome::WorseBalance,
            },
            decision,
            weight_ranking,
            weight: self.weight(place, 0),
        };
        let mut ranking = 0;
        let mut nodes = Vec::with_capacity(self.sorter.len());
        for found in better {
            ranking += 1;
            nodes.push(result(found, ranking, true));
        }
        ranking += 1;
        let current_ranking = ranking;
        nodes.extend(
            same.into_iter()
                .map(|found| result(found, current_ranking, false)),
        );
        for found in worse {
            ranking += 1;
            nodes.push(result(found, ranking, false));
        }
        let outcome = if self.round.has_pending_fetch {
            Outcome::AwaitingInfo
        } else if can_rebalance.verdict == Verdict::Yes {
            best.into()
        } else {
            can_rebalance.verdict.into()
        };
        let free = can_rebalance.verdict == Verdict::Yes && !self.round.has_pending_fetch;
        MoveDecision {
            can_remain,
            can_rebalance: Some(can_rebalance),
            outcome,
            target: target.filter(|_| free),
            current_ranking,
            nodes: self.sorted(nodes),
        }
    }

    /// As answers list nodes: by outcome, rank and id.
    fn sorted(&self, mut nodes: Vec<NodeResult>) -> Vec<NodeResult> {
        let id = |node: NodeIndex| &self.round.cluster.node(node).id;
        nodes.sort_by(|a, b| {
            let by_rank = (a.outcome, a.weight_ranking).cmp(&(b.outcome, b.weight_ranking));
            by_rank.then_with(|| crate::java::string_compare(id(a.node), id(b.node)))
        });
        nodes
    }
}
