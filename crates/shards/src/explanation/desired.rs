//! Where the master of 8.6 and later wants the shards, where they are, and what holds them.

use std::collections::BTreeMap;

use super::rows::{DeciderRow, deciders};
use crate::copy::ShardCopy;
use crate::deciders::{Deciders, Decision, NoReasons, ReasonRecorder, Verdict};
use crate::desired::{Computed, DesiredBalance, End};
use crate::forecast::duration_s;
use crate::gateway::Stores;
use crate::model::{Cluster, NodeIndex};
use crate::nodes::{RoutingError, RoutingNodes};
use crate::service::Allocation;
use crate::what_if;
use schemars::JsonSchema;
use serde::Serialize;

/// Rounds that are simulated until the cluster is at rest.
const ROUNDS_MAX: u32 = 100_000;

/// Desired against actual places.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DesiredExplanation {
    /// Whether the server told its desired balance; otherwise it is computed from the present placement.
    pub told_by_server: bool,
    /// Whether the computation comes to its end.
    pub converges: bool,
    /// Iterations of the computation.
    pub iterations: u32,
    /// Shards on nodes.
    pub assigned: u64,
    /// Shards that are not on a node where they are wanted.
    pub elsewhere: u64,
    /// Shards among them that are on their way.
    pub moving: u64,
    /// Shards among them that move in the next reroute.
    pub next: u64,
    /// Shards among them that wait, by what holds them; the most first.
    pub held: Vec<Held>,
    /// Shards for which this model wants the same nodes as the server does, of those that the server told;
    /// null if it told none.
    pub agrees: Option<[u64; 2]>,
    /// Rounds until nothing moves any more.
    pub rounds: u32,
    /// Estimated time until then, from and to, seconds; null if sizes are not known.
    pub duration_s: Option<[f64; 2]>,
    /// Shards that are elsewhere even then: nothing lets them go where they are wanted.
    pub elsewhere_in_the_end: u64,
}

/// What holds shards where they are.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Held {
    /// The decider, as in the server's responses; null if the wanted nodes hold another copy of the shard
    /// until that has moved.
    pub decider: Option<&'static str>,
    /// `THROTTLE` (it waits) or `NO`.
    pub decision: &'static str,
    /// Number of shards.
    pub shards: u64,
    /// The reason given for one of them.
    pub example: String,
}

impl DesiredExplanation {
    /// Compares places. `cluster` is the state before the next reroute, `computed` what that computes, and
    /// `after` the state with its moves.
    pub(super) fn of(
        cluster: &Cluster,
        told: Option<&DesiredBalance>,
        computed: &Computed,
        after: &Cluster,
        now_nanos: i64,
        reroute_ms: f64,
    ) -> Result<Self, RoutingError> {
        let desired = &computed.balance;
        let (assigned, elsewhere) = places(cluster, desired);
        let (_, then) = places(after, desired);
        let mut rest = cluster.clone();
        let begin = told.map_or_else(
            || DesiredBalance::of_placement(cluster),
            DesiredBalance::clone,
        );
        let course = what_if::run(
            &mut rest,
            Some(&begin),
            &mut Stores::of(cluster),
            now_nanos,
            ROUNDS_MAX,
            &mut |_| (),
        )?;
        let counted = |list: &[ShardCopy]| list.len() as u64;
        let (moving, then_moving) = (arriving(&elsewhere, desired), arriving(&then, desired));
        let waiting: Vec<ShardCopy> = then.into_iter().filter(ShardCopy::is_started).collect();
        Ok(Self {
            told_by_server: told.is_some(),
            converges: computed.end == End::Rest,
            iterations: computed.iterations,
            assigned,
            elsewhere: counted(&elsewhere),
            moving,
            next: then_moving.saturating_sub(moving),
            held: held(after, desired, &waiting, now_nanos)?,
            agrees: told.map(|told| agreement(told, desired)),
            rounds: course.rounds,
            duration_s: duration_s(&rest, &course, reroute_ms),
            elsewhere_in_the_end: counted(&places(&rest, desired).1),
        })
    }
}

/// How many of these copies are on their way to a node where they are wanted.
fn arriving(elsewhere: &[ShardCopy], desired: &DesiredBalance) -> u64 {
    let arrives = |copy: &&ShardCopy| {
        let wanted = desired.assignment(copy.shard);
        let target = copy.relocating;
        wanted.is_some_and(|wanted| target.is_some_and(|node| wanted.nodes.contains(&node)))
    };
    elsewhere.iter().filter(arrives).count() as u64
}

/// Number of copies on nodes, and those whose node is not one where they are wanted.
fn places(cluster: &Cluster, desired: &DesiredBalance) -> (u64, Vec<ShardCopy>) {
    let mut elsewhere = Vec::new();
    let mut assigned = 0;
    for copy in cluster.routing.copies() {
        let Some(node) = copy.node else {
            continue;
        };
        assigned += 1;
        let wanted = desired.assignment(copy.shard);
        if wanted.is_some_and(|wanted| !wanted.nodes.contains(&node)) {
            elsewhere.push(*copy);
        }
    }
    (assigned, elsewhere)
}

/// Shards with the same set of nodes in both, and shards in both.
fn agreement(told: &DesiredBalance, computed: &DesiredBalance) -> [u64; 2] {
    let mut counts = [0, 0];
    for (shard, here) in &computed.assignments {
        let Some(there) = told.assignment(*shard) else {
            continue;
        };
        counts[1] += 1;
        let same = here.nodes.len() == there.nodes.len()
            && here.nodes.iter().all(|node| there.nodes.contains(node));
        counts[0] += u64::from(same);
    }
    counts
}

/// Asks the deciders why copies stay, in the order in which the server asks them.
fn held(
    cluster: &Cluster,
    desired: &DesiredBalance,
    waiting: &[ShardCopy],
    now_nanos: i64,
) -> Result<Vec<Held>, RoutingError> {
    let mut nodes = RoutingNodes::new(cluster)?;
    let deciders_here = Deciders::new(cluster, &nodes);
    let mut round = Allocation::new(cluster, &mut nodes, &deciders_here, now_nanos);
    round.reconciling = true;
    let mut rows: BTreeMap<(&'static str, Option<&'static str>), Held> = BTreeMap::new();
    for copy in waiting {
        let (Some(node), Some(wanted)) = (copy.node, desired.assignment(copy.shard)) else {
            continue;
        };
        let first = reason(&round, copy, node, &wanted.nodes);
        let row = rows
            .entry((first.decision, first.decider))
            .or_insert_with(|| Held {
                decider: first.decider,
                decision: first.decision,
                shards: 0,
                example: first.explanation.clone().unwrap_or_default(),
            });
        row.shards += 1;
    }
    let mut rows: Vec<Held> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.shards));
    Ok(rows)
}

/// The first decider that keeps a copy from the nodes where it is wanted.
fn reason(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    wanted: &[NodeIndex],
) -> DeciderRow {
    let must = round.can_remain(copy, node, &mut NoReasons) == Verdict::No;
    if !must {
        let mut why = ReasonRecorder::new(true);
        let mut verdict = round.can_rebalance_cluster(&mut why);
        if verdict == Verdict::Yes {
            verdict = round.can_rebalance(copy, &mut why);
        }
        if verdict != Verdict::Yes {
            return first(&why.decision(verdict));
        }
    }
    let mut why = ReasonRecorder::new(true);
    let verdict = round.can_allocate_anywhere(copy, &mut why);
    if verdict != Verdict::Yes {
        return first(&why.decision(verdict));
    }
    let mut last = None;
    for &target in wanted {
        if target == node || round.nodes.on_node(target, copy.shard).is_some() {
            continue;
        }
        let mut why = ReasonRecorder::new(true);
        let verdict = round.can_allocate(copy, target, &mut why);
        let row = first(&why.decision(verdict));
        // Waiting is more telling than a refusal elsewhere.
        if verdict == Verdict::Throttle || last.is_none() {
            last = Some(row);
        }
        if verdict == Verdict::Throttle {
            break;
        }
    }
    last.unwrap_or(DeciderRow {
        decider: None,
        decision: Verdict::Throttle.as_str(),
        explanation: Some(
            "another copy of the shard is on the wanted node, and has to move first".to_owned(),
        ),
    })
}

fn first(decision: &Decision) -> DeciderRow {
    let rows = deciders(decision);
    let not_yes = |row: &&DeciderRow| row.decision != Verdict::Yes.as_str();
    rows.iter().find(not_yes).cloned().unwrap_or(DeciderRow {
        decider: None,
        decision: decision.verdict.as_str(),
        explanation: Some("it may go in a later reroute".to_owned()),
    })
}
