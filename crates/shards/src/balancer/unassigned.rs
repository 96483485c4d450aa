//! Placement of unassigned copies (`allocateUnassigned`, `decideAllocateUnassigned`).

use super::Balancer;
use super::rules::Relocation;
use crate::copy::{AllocationStatus, ShardCopy, UNKNOWN_SIZE};
use crate::deciders::{NoReasons, ReasonSink, Verdict, expected_size_bytes};
use crate::nodes::CopyIndex;
use crate::priority;

/// The node chosen for a copy, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// YES: place it now; THROTTLE: place it there later.
    pub verdict: Verdict,
    /// The node's number in the model.
    pub node: Option<u32>,
}

impl Choice {
    const NO: Choice = Choice {
        verdict: Verdict::No,
        node: None,
    };

    /// The status recorded on the copy; `None` for an allocated copy.
    pub fn status(self) -> Option<AllocationStatus> {
        match self.verdict {
            Verdict::Yes => None,
            Verdict::Throttle => Some(AllocationStatus::DecidersThrottled),
            Verdict::No => Some(AllocationStatus::DecidersNo),
        }
    }
}

impl Balancer<'_, '_> {
    /// Places unassigned copies on the lightest nodes that accept them, primaries first, and ignores the
    /// rest. Identical replicas are placed one at a time, so that other shards get their turn. Returns
    /// whether any copy was placed.
    pub(super) fn allocate_unassigned(&mut self) -> bool {
        let mut turn = self.round.nodes.drain_unassigned();
        if turn.is_empty() {
            return false;
        }
        let mut any = false;
        let of = |handle: &CopyIndex| self.round.nodes.copy(*handle).shard.index;
        let keys = priority::ranks(self.round.cluster, turn.iter().map(of));
        let key = |copy: &ShardCopy| (!copy.primary, keys[&copy.shard.index], copy.shard.shard);
        turn.sort_by_cached_key(|handle| key(self.round.nodes.copy(*handle)));
        let mut throttled = Throttled::new(self.model.node_count());
        while !turn.is_empty() {
            let mut next = Vec::new();
            let mut rest = turn.into_iter().peekable();
            while let Some(handle) = rest.next() {
                let copy = *self.round.nodes.copy(handle);
                let choice = self.choose(
                    &copy,
                    &throttled,
                    self.round.debug,
                    &mut NoReasons,
                    |_, _, _, _| {},
                );
                let status = choice.status();
                any |= status.is_none();
                if let Some(node) = choice.node {
                    self.place(handle, &copy, node, choice.verdict, &mut throttled);
                }
                if let Some(status) = status {
                    self.round.nodes.ignore(handle, status);
                }
                let nodes = &mut *self.round.nodes;
                nodes.follow_with_replicas(&copy, status, &mut rest, &mut next);
            }
            turn = next;
        }
        any
    }

    fn place(
        &mut self,
        handle: CopyIndex,
        copy: &ShardCopy,
        place: u32,
        verdict: Verdict,
        throttled: &mut Throttled,
    ) {
        let node = self.model.node(place);
        if verdict == Verdict::Yes {
            let bytes = expected_size_bytes(self.round.cluster, copy, UNKNOWN_SIZE);
            self.round.nodes.initialize(handle, node, None, bytes);
            let copy = *self.round.nodes.copy(handle);
            self.put(place, &copy);
        } else {
            self.put(place, copy);
            if self.rules.skips_full_nodes
                && self.round.can_allocate_node(node, &mut NoReasons) != Verdict::Yes
            {
                throttled.add(place);
            }
        }
    }

    /// Chooses the lightest node that may take the copy, preferring YES to THROTTLE. Nodes are visited in
    /// model order; a tie goes to the node whose highest primary of the index follows the copy's shard
    /// most closely, so that replicas of new indices are spread like a ring.
    ///
    /// In `debug` mode no node is skipped, which also lets a heavier node win over a lighter one that
    /// comes before it. The server does this when it explains.
    pub(super) fn choose<W: ReasonSink>(
        &mut self,
        copy: &ShardCopy,
        throttled: &Throttled,
        debug: bool,
        why: &mut W,
        mut each: impl FnMut(u32, f32, Verdict, &mut W),
    ) -> Choice {
        if !debug {
            let anywhere = self.round.can_allocate_anywhere(copy, &mut NoReasons);
            if anywhere == Verdict::No || throttled.all() {
                return Choice::NO;
            }
        }
        let index = copy.shard.index;
        self.select(index);
        let mut lightest = f32::INFINITY;
        let mut best = Choice::NO;
        for node in self.model.nodes() {
            if throttled.contains(node) && !debug {
                continue;
            }
            let weight = self.weight_to_place(node);
            if weight > lightest && !debug {
                continue;
            }
            let verdict = self.round.can_allocate(copy, self.model.node(node), why);
            each(node, weight, verdict, why);
            if verdict == Verdict::No {
                continue;
            }
            let better = match best.node {
                #[expect(clippy::float_cmp, reason = "as the server compares weights")]
                Some(holder) if weight == lightest => {
                    if verdict == best.verdict {
                        self.comes_next(copy, node, holder)
                    } else {
                        verdict == Verdict::Yes
                    }
                }
                Some(_) => !self.rules.only_lighter || weight < lightest,
                None => true,
            };
            if better {
                lightest = weight;
                best = Choice {
                    verdict,
                    node: Some(node),
                };
            }
        }
        best
    }

    /// Weight of a node for a copy to be placed there: up to 7.6 with the copy, later without it.
    fn weight_to_place(&self, node: u32) -> f32 {
        match self.rules.relocation {
            Relocation::Weighed => self.weight(node, 1),
            Relocation::Stale | Relocation::Followed => self.weight(node, 0) + self.penalty(node),
        }
    }

    /// Returns whether `node` wins a tie against the current `holder`.
    fn comes_next(&self, copy: &ShardCopy, node: u32, holder: u32) -> bool {
        let shard = i64::from(copy.shard.shard);
        let high = self.model.highest_primary(node, copy.shard.index);
        let held = self.model.highest_primary(holder, copy.shard.index);
        let same_side = (high > shard && held > shard) || (high < shard && held < shard);
        (same_side && high < held) || (high > shard && held < shard)
    }
}

/// Nodes that take no more copies in this round.
#[derive(Debug)]
pub(super) struct Throttled {
    nodes: Vec<bool>,
    count: usize,
}

impl Throttled {
    pub fn new(nodes: usize) -> Throttled {
        Throttled {
            nodes: vec![false; nodes],
            count: 0,
        }
    }

    fn add(&mut self, node: u32) {
        let known = &mut self.nodes[node as usize];
        self.count += usize::from(!*known);
        *known = true;
    }

    fn contains(&self, node: u32) -> bool {
        self.nodes[node as usize]
    }

    fn all(&self) -> bool {
        self.count >= self.nodes.len()
    }
}
