//! Explains the decision for one copy, with every decider's reason, as the server's cluster allocation
//! explain API does (`decideShardAllocation`, `decideRebalance`).

use super::Balancer;
use super::opensearch::Gate;
use super::rules::Relocation;
use super::unassigned::Throttled;
use super::weight::within;
use crate::allocation::Allocation;
use crate::copy::{AllocationStatus, ShardCopy};
use crate::deciders::{Decision, ReasonRecorder, Verdict};
use crate::introsort::compare_f32;
use crate::model::NodeIndex;
use crate::nodes::CopyIndex;

/// Outcome of an allocation decision, for one node or overall (`AllocationDecision`), in the server's
/// sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The copy can go there.
    Yes,
    /// The copy can go there, but later.
    Throttled,
    /// The copy cannot go there.
    No,
    /// The copy could go there, but the balance would not improve.
    WorseBalance,
}

impl Outcome {
    /// The name used in the server's responses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Yes => "yes",
            Outcome::Throttled => "throttled",
            Outcome::No => "no",
            Outcome::WorseBalance => "worse_balance",
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

/// Decision for a copy on one node (`NodeAllocationResult`).
#[derive(Clone, Debug, PartialEq)]
pub struct NodeResult {
    /// The node.
    pub node: NodeIndex,
    /// Whether the copy could go there; where balance matters, this includes its effect on the balance.
    pub outcome: Outcome,
    /// The deciders' decision.
    pub decision: Decision,
    /// The node's rank by weight, from 1; nodes may share a rank.
    pub weight_ranking: u32,
    /// The node's weight for the copy's index: including the copy if it is unassigned, as it is now
    /// otherwise.
    pub weight: f32,
}

/// Decision for an unassigned copy (`AllocateUnassignedDecision`).
#[derive(Clone, Debug, PartialEq)]
pub struct AllocateDecision {
    /// Why it is not allocated; `None` if it can be.
    pub status: Option<AllocationStatus>,
    /// Whether it may be allocated at all, on any node.
    pub anywhere: Decision,
    /// The nodes, best first.
    pub nodes: Vec<NodeResult>,
}

/// Decision for a started copy (`MoveDecision`).
#[derive(Clone, Debug, PartialEq)]
pub struct MoveDecision {
    /// Whether it can remain on its node.
    pub can_remain: Decision,
    /// The other nodes, best first.
    pub nodes: Vec<NodeResult>,
}

/// Decision for a copy (`ShardAllocationDecision`).
#[derive(Clone, Debug, PartialEq)]
pub enum CopyDecision {
    /// No decision: the copy is recovering or relocating.
    NotTaken,
    /// The copy is unassigned.
    Allocate(AllocateDecision),
    /// The copy is started.
    Move(MoveDecision),
}

/// Explains what the balancer would do with a copy now, without changing anything.
///
/// For an unassigned copy these are the decisions that the server's explain API returns. They may differ from
/// those of an actual round, because an explanation does not skip any node (see [`super::allocate`]).
pub fn explain(round: &mut Allocation<'_>, handle: CopyIndex, without_yes: bool) -> CopyDecision {
    let copy = *round.nodes.copy(handle);
    let mut recorder = ReasonRecorder::new(without_yes);
    let mut balancer = Balancer::new(round);
    if copy.is_unassigned() {
        return CopyDecision::Allocate(balancer.explain_unassigned(&copy, &mut recorder));
    }
    let Some(node) = copy.node.filter(|_| copy.is_started()) else {
        return CopyDecision::NotTaken;
    };
    let verdict = balancer.round.can_remain(&copy, node, &mut recorder);
    let can_remain = recorder.decision(verdict);
    CopyDecision::Move(if verdict == Verdict::No {
        balancer.explain_move(&copy, node, can_remain, &mut recorder)
    } else {
        balancer.explain_rebalance(&copy, node, can_remain, &mut recorder)
    })
}

impl Balancer<'_, '_> {
    fn explain_unassigned(
        &mut self,
        copy: &ShardCopy,
        recorder: &mut ReasonRecorder,
    ) -> AllocateDecision {
        let anywhere = self.round.can_allocate_anywhere(copy, recorder);
        let anywhere = recorder.decision(anywhere);
        let throttled = Throttled::new(self.model.node_count());
        let mut found = Vec::new();
        let choice = self.choose(
            copy,
            &throttled,
            true,
            recorder,
            |node, weight, verdict, recorder| {
                found.push((node, weight, recorder.decision(verdict)));
            },
        );
        found.sort_by(|a, b| compare_f32(a.1, b.1));
        AllocateDecision {
            status: choice.status(),
            anywhere,
            nodes: self.ranked(found),
        }
    }

    fn explain_move(
        &mut self,
        copy: &ShardCopy,
        node: NodeIndex,
        can_remain: Decision,
        recorder: &mut ReasonRecorder,
    ) -> MoveDecision {
        let mut found = Vec::new();
        let mut gate = Gate::open();
        self.lightest(
            copy,
            node,
            &mut gate,
            recorder,
            |place, verdict, recorder| {
                found.push((place, recorder.decision(verdict)));
            },
        );
        let weighed = found
            .into_iter()
            .map(|(place, decision)| (place, self.weight(place, 0), decision));
        MoveDecision {
            can_remain,
            nodes: self.ranked(weighed.collect()),
        }
    }

    /// The results for nodes with their weights, which are in the order of their ranks.
    fn ranked(&self, found: Vec<(u32, f32, Decision)>) -> Vec<NodeResult> {
        let ranked = (1..).zip(found);
        let results = ranked.map(|(weight_ranking, (place, weight, decision))| NodeResult {
            node: self.model.node(place),
            outcome: decision.verdict.into(),
            decision,
            weight_ranking,
            weight,
        });
        self.sorted(results.collect())
    }

    fn explain_rebalance(
        &mut self,
        copy: &ShardCopy,
        node: NodeIndex,
        can_remain: Decision,
        recorder: &mut ReasonRecorder,
    ) -> MoveDecision {
        self.reset(copy.shard.index, 0, self.sorter.len());
        let own = self.model.place(node);
        let own_weight = self.weight(own, 0);
        let threshold = self.threshold_of(copy.shard.index);
        // Grouped by the effect that moving there would have on the balance.
        let (mut better, mut same, mut worse) = (Vec::new(), Vec::new(), Vec::new());
        for &place in self.sorter.nodes.iter().filter(|place| **place != own) {
            let verdict = self
                .round
                .can_allocate(copy, self.model.node(place), recorder);
            let result = (place, recorder.decision(verdict));
            let weight = self.weight(place, 0);
            let is_lighter = weight <= own_weight;
            if !is_lighter {
                worse.push(result);
                continue;
            }
            let delta = (own_weight - weight).abs();
            let is_closer = if self.rules.open.is_some() {
                2.0 + weight - own_weight < delta
            } else if self.rules.loads.is_some() {
                weight + threshold < own_weight
            } else if self.rules.relocation == Relocation::Weighed {
                self.weight(place, 1) - self.weight(own, -1) < delta
            } else {
                weight + 1.0 < own_weight
            };
            if within(delta, threshold) || !is_closer {
                same.push(result);
                continue;
            }
            better.push(result);
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
        // That of its own node.
        ranking += 1;
        nodes.extend(same.into_iter().map(|found| result(found, ranking, false)));
        for found in worse {
            ranking += 1;
            nodes.push(result(found, ranking, false));
        }
        MoveDecision {
            can_remain,
            nodes: self.sorted(nodes),
        }
    }

    /// Sorts nodes as in the server's responses: by outcome, rank and id.
    fn sorted(&self, mut nodes: Vec<NodeResult>) -> Vec<NodeResult> {
        let id = |node: NodeIndex| &self.round.cluster.node(node).id;
        nodes.sort_by(|a, b| {
            let by_rank = (a.outcome, a.weight_ranking).cmp(&(b.outcome, b.weight_ranking));
            by_rank.then_with(|| crate::java::string_compare(id(a.node), id(b.node)))
        });
        nodes
    }
}
