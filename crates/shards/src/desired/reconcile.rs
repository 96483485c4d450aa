//! The next steps towards a desired balance (`DesiredBalanceReconciler`).

use std::collections::BTreeSet;

use super::ordering::{Recency, Walk};
use super::rules::Rules;
use super::{Assignment, DesiredBalance};
use crate::allocation::Allocation;
use crate::copy::{AllocationStatus, RecoverySource, ShardCopy, UNKNOWN_SIZE, UnassignedInfo};
use crate::deciders::{Join, NoReasons, Verdict, expected_size_bytes, matches};
use crate::model::{Cluster, IndexIndex, NodeIndex, ShardId};
use crate::nodes::{CopyIndex, RoutingNodes};

/// Walks towards a desired balance, round by round.
#[derive(Debug, Clone, Default)]
pub struct Reconciler {
    allocations: Recency,
    moves: Recency,
    /// The desired balance in a form that is quick to ask, if it was learnt.
    learnt: Option<Places>,
}

/// The wanted nodes of all shards, one after the other.
#[derive(Debug, Clone, Default)]
struct Places {
    /// Per index, where its shards begin in `spans`.
    starts: Vec<u32>,
    /// Per shard, where its nodes begin in `nodes`; that of the next one is where they end.
    spans: Vec<u32>,
    nodes: Vec<NodeIndex>,
    /// The started copies that are elsewhere, as of the last round; `None` if not known.
    misplaced: Option<BTreeSet<CopyIndex>>,
}

impl Places {
    fn of(cluster: &Cluster, desired: &DesiredBalance) -> Self {
        let mut places = Self::default();
        let end = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        for (index, known) in (0..).map(IndexIndex).zip(&cluster.indices) {
            places.starts.push(end(places.spans.len()));
            for shard in 0..known.shards {
                places.spans.push(end(places.nodes.len()));
                let wanted = desired.assignment(ShardId { index, shard });
                places
                    .nodes
                    .extend(wanted.iter().flat_map(|wanted| &wanted.nodes));
            }
        }
        places.starts.push(end(places.spans.len()));
        places.spans.push(end(places.nodes.len()));
        places
    }

    /// Whether a copy is on a node where its shard is wanted, or nothing is known of the shard.
    fn has(&self, shard: ShardId, node: NodeIndex) -> bool {
        let at = |list: &[u32], at: usize| list.get(at).map(|&place| place as usize);
        let Some(start) = at(&self.starts, shard.index.at()) else {
            return true;
        };
        let place = start + shard.shard as usize;
        let (Some(from), Some(to)) = (at(&self.spans, place), at(&self.spans, place + 1)) else {
            return true;
        };
        self.nodes[from..to].contains(&node)
    }

    fn is_misplaced(&self, copy: &ShardCopy) -> bool {
        let node = copy.node.filter(|_| copy.is_started());
        node.is_some_and(|node| !self.has(copy.shard, node))
    }

    /// The started copies that are elsewhere.
    fn misplaced(&mut self, nodes: &RoutingNodes) -> Vec<CopyIndex> {
        let misplaced = self.misplaced.take().unwrap_or_else(|| {
            let all = nodes.order().iter().flat_map(|&node| nodes.copies_on(node));
            let misplaced = all.filter(|(_, copy)| self.is_misplaced(copy));
            misplaced.map(|(handle, _)| handle).collect()
        });
        let handles = misplaced.iter().copied().collect();
        self.misplaced = Some(misplaced);
        handles
    }
}

impl Reconciler {
    /// A reconciler that has done nothing yet, as after a change of the master.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes this balance as the one to which all further rounds lead, which makes them faster.
    pub(crate) fn learn(&mut self, cluster: &Cluster, desired: &DesiredBalance) {
        self.learnt = Some(Places::of(cluster, desired));
    }

    /// Notes that a round has changed the copies of these shards.
    pub(crate) fn follow(&mut self, nodes: &RoutingNodes, changed: &[ShardId]) {
        let Some(places) = &mut self.learnt else {
            return;
        };
        let Some(mut misplaced) = places.misplaced.take() else {
            return;
        };
        for &handle in changed.iter().flat_map(|&shard| nodes.assigned(shard)) {
            if places.is_misplaced(nodes.copy(handle)) {
                misplaced.insert(handle);
            } else {
                misplaced.remove(&handle);
            }
        }
        places.misplaced = Some(misplaced);
    }

    /// Notes that the copies have got other handles.
    pub(crate) fn forget_copies(&mut self) {
        if let Some(places) = &mut self.learnt {
            places.misplaced = None;
        }
    }

    /// Initializes unassigned copies on their desired nodes, moves those that may not remain where they
    /// are, and then those that should be elsewhere.
    pub fn reconcile(&mut self, round: &mut Allocation<'_>, desired: &DesiredBalance) {
        let nodes = round.nodes.order().to_vec();
        self.allocations.retain(&nodes);
        self.moves.retain(&nodes);
        if nodes.is_empty() {
            refuse_new_primaries(round);
            return;
        }
        if desired.assignments.is_empty() {
            return;
        }
        round.reconciling = true;
        let rules = Rules::of(round.cluster);
        self.allocate_unassigned(round, rules, desired);
        let places = self.learnt.as_mut();
        let misplaced = places.map(|places| places.misplaced(round.nodes));
        if misplaced.as_ref().is_none_or(|copies| !copies.is_empty()) {
            self.move_copies(round, rules, desired, misplaced.as_deref());
            self.rebalance(round, rules, desired, misplaced.as_deref());
        }
        round.reconciling = false;
    }

    fn allocate_unassigned(
        &mut self,
        round: &mut Allocation<'_>,
        rules: Rules,
        desired: &DesiredBalance,
    ) {
        let mut turn = round.nodes.drain_unassigned();
        if turn.is_empty() {
            return;
        }
        let indices = turn
            .iter()
            .map(|handle| round.nodes.copy(*handle).shard.index);
        let ranks = crate::priority::ranks(round.cluster, indices);
        let key = |copy: &ShardCopy| (!copy.primary, ranks[&copy.shard.index], copy.shard.shard);
        turn.sort_by_cached_key(|handle| key(round.nodes.copy(*handle)));
        while !turn.is_empty() {
            let mut next = Vec::new();
            let mut rest = turn.into_iter().peekable();
            while let Some(handle) = rest.next() {
                let copy = *round.nodes.copy(handle);
                let status = self.place(round, rules, desired, handle);
                if let Some(status) = status {
                    round.nodes.ignore(handle, status);
                }
                let nodes = &mut *round.nodes;
                nodes.follow_with_replicas(&copy, status, &mut rest, &mut next);
            }
            turn = next;
        }
    }

    /// Initializes a copy on one of its desired nodes; a primary for which none of them is possible goes to
    /// any other. Returns why there is no node.
    fn place(
        &mut self,
        round: &mut Allocation<'_>,
        rules: Rules,
        desired: &DesiredBalance,
        handle: CopyIndex,
    ) -> Option<AllocationStatus> {
        let copy = *round.nodes.copy(handle);
        let Some(assignment) = desired.assignment(copy.shard) else {
            return Some(AllocationStatus::NoAttempt);
        };
        let ignored = rules.leaves_ignored && is_ignored(round, &copy, assignment);
        if ignored {
            return Some(AllocationStatus::NoAttempt);
        }
        let forced = forced_nodes(round, &copy);
        let is_forced = forced.is_some();
        let wanted = forced.unwrap_or_else(|| assignment.nodes.clone());
        let mut throttled = false;
        for fallback in [false, true] {
            if fallback && (is_forced && rules.leaves_ignored || !copy.primary || throttled) {
                break;
            }
            let nodes = if fallback {
                round.nodes.order()
            } else {
                &wanted
            };
            for node in self.allocations.sorted(nodes) {
                if !round.nodes.is_routed(node) || round.nodes.on_node(node, copy.shard).is_some() {
                    continue;
                }
                match round.can_allocate(&copy, node, &mut NoReasons) {
                    Verdict::Yes => {
                        let bytes = expected_size_bytes(round.cluster, &copy, UNKNOWN_SIZE);
                        round.nodes.initialize(handle, node, None, bytes);
                        self.allocations.record(node);
                        return None;
                    }
                    Verdict::Throttle => throttled = true,
                    Verdict::No => {}
                }
            }
        }
        Some(match () {
            () if !rules.leaves_ignored && was_ignored(&copy, assignment) => {
                AllocationStatus::NoAttempt
            }
            () if throttled => AllocationStatus::DecidersThrottled,
            () => AllocationStatus::DecidersNo,
        })
    }

    /// Moves copies that may not remain on their nodes.
    fn move_copies(
        &mut self,
        round: &mut Allocation<'_>,
        rules: Rules,
        desired: &DesiredBalance,
        candidates: Option<&[CopyIndex]>,
    ) {
        let mut walk = Walk::new(round, rules.order, &self.moves, false, candidates);
        while let Some(handle) = walk.next() {
            let Some((copy, from, wanted)) = misplaced(round, desired, handle) else {
                continue;
            };
            if round.can_allocate_anywhere(&copy, &mut NoReasons) != Verdict::Yes
                || round.can_remain(&copy, from, &mut NoReasons) != Verdict::No
            {
                continue;
            }
            let target = find_target(round, &copy, from, wanted, |round, node| {
                round.can_allocate(&copy, node, &mut NoReasons)
            });
            let target = target.or_else(|| {
                let vacates = round.cluster.is_replaced(from);
                vacates
                    .then(|| {
                        find_target(round, &copy, from, wanted, |round, node| {
                            round.can_force_during_replace(&copy, node, &mut NoReasons)
                        })
                    })
                    .flatten()
            });
            if let Some(to) = target {
                self.relocate(round, &mut walk, handle, from, to);
            }
        }
    }

    /// Moves copies that should be elsewhere.
    fn rebalance(
        &mut self,
        round: &mut Allocation<'_>,
        rules: Rules,
        desired: &DesiredBalance,
        candidates: Option<&[CopyIndex]>,
    ) {
        if round.can_rebalance_cluster(&mut NoReasons) != Verdict::Yes {
            return;
        }
        let mut walk = Walk::new(round, rules.order, &self.moves, true, candidates);
        while let Some(handle) = walk.next() {
            let Some((copy, from, wanted)) = misplaced(round, desired, handle) else {
                continue;
            };
            if round.can_rebalance(&copy, &mut NoReasons) != Verdict::Yes
                || round.can_allocate_anywhere(&copy, &mut NoReasons) != Verdict::Yes
            {
                continue;
            }
            let target = find_target(round, &copy, from, wanted, |round, node| {
                round.can_allocate(&copy, node, &mut NoReasons)
            });
            if let Some(to) = target {
                self.relocate(round, &mut walk, handle, from, to);
                // At the limit on concurrent rebalances no other copy may move either.
                if round.can_rebalance_cluster(&mut NoReasons) != Verdict::Yes {
                    return;
                }
            }
        }
    }

    fn relocate(
        &mut self,
        round: &mut Allocation<'_>,
        walk: &mut Walk,
        handle: CopyIndex,
        from: NodeIndex,
        to: NodeIndex,
    ) {
        let copy = round.nodes.copy(handle);
        let info = round.cluster.info.as_ref();
        let bytes = info.and_then(|info| info.size_bytes(copy.shard, copy.primary));
        round
            .nodes
            .relocate(handle, to, bytes.unwrap_or(UNKNOWN_SIZE));
        walk.defer(from);
        self.moves.record(from);
    }
}

/// A started copy that should be on another node, with its node and those on which it should be.
fn misplaced<'d>(
    round: &Allocation<'_>,
    desired: &'d DesiredBalance,
    handle: CopyIndex,
) -> Option<(ShardCopy, NodeIndex, &'d [NodeIndex])> {
    let copy = *round.nodes.copy(handle);
    let from = copy.node.filter(|_| copy.is_started())?;
    let wanted = &desired.assignment(copy.shard)?.nodes;
    (!wanted.contains(&from)).then_some((copy, from, wanted))
}

fn find_target(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    from: NodeIndex,
    wanted: &[NodeIndex],
    verdict: impl Fn(&Allocation<'_>, NodeIndex) -> Verdict,
) -> Option<NodeIndex> {
    debug_assert!(copy.is_started());
    let mut others = wanted
        .iter()
        .copied()
        .filter(|&node| node != from && round.nodes.is_routed(node));
    others.find(|&node| verdict(round, node) == Verdict::Yes)
}

/// Whether the computation left the copy to others (`isIgnored`).
fn is_ignored(round: &Allocation<'_>, copy: &ShardCopy, assignment: &Assignment) -> bool {
    let left = assignment.total.saturating_sub(assignment.ignored);
    match (assignment.ignored, left) {
        (0, _) => false,
        (_, 0) => true,
        (_, 1) => !copy.primary,
        _ => {
            let assigned = round.nodes.assigned_copies(copy.shard);
            let settled = assigned.filter(|copy| !copy.is_relocating()).count();
            left as usize <= settled
        }
    }
}

/// The same in 8.6, where it is asked only when no node was found.
fn was_ignored(copy: &ShardCopy, assignment: &Assignment) -> bool {
    if copy.primary {
        assignment.total == assignment.ignored
    } else {
        assignment.ignored > 0
    }
}

/// The nodes on which an index made by a shrink, a split or a clone has to begin
/// (`getForcedInitialShardAllocationToNodes`). Their order in the server is that of an immutable set.
fn forced_nodes(round: &Allocation<'_>, copy: &ShardCopy) -> Option<Vec<NodeIndex>> {
    if !copy.is_unassigned() || copy.recovery != Some(RecoverySource::LocalShards) {
        return None;
    }
    let index = round.index(copy.shard.index);
    let initial = &index.settings.initial_recovery;
    let all = (0..).map(NodeIndex).take(round.cluster.nodes.len());
    let by_filter = (!initial.is_empty()).then(|| -> Vec<NodeIndex> {
        let fits = |node: &NodeIndex| {
            let node = round.node(*node);
            node.present && matches(initial, Join::Or, node)
        };
        all.filter(fits).collect()
    });
    let by_source = crate::deciders::source_nodes(round, copy);
    match (by_filter, by_source) {
        (Some(some), Some(others)) => Some(
            some.into_iter()
                .filter(|node| others.contains(node))
                .collect(),
        ),
        (one, other) => one.or(other),
    }
}

/// Without a node, new primaries are told so (`failAllocationOfNewPrimaries`).
fn refuse_new_primaries(round: &mut Allocation<'_>) {
    for handle in round.nodes.unassigned().list().to_vec() {
        let copy = *round.nodes.copy(handle);
        let fresh = copy
            .unassigned
            .filter(|info| copy.primary && info.last_status == AllocationStatus::NoAttempt);
        if let Some(info) = fresh {
            let info = UnassignedInfo {
                last_status: AllocationStatus::DecidersNo,
                ..info
            };
            round.nodes.update_unassigned(handle, info);
        }
    }
}
