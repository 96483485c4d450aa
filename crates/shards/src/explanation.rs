//! What the next reroute would do with each shard, and why: the result of `trimtab shards reroute`.

mod desired;
mod gains;
mod rows;

pub use desired::{DesiredExplanation, Held};
pub use gains::NodeGain;
pub use rows::DeciderRow;
use rows::deciders;

use crate::balancer::{self, CopyDecision, NodeResult, Outcome};
use crate::copy::{AllocationStatus, RecoverySource, ShardCopy};
use crate::deciders::{Deciders, NoReasons, Verdict};
use crate::desired::DesiredBalance;
use crate::doubt;
use crate::forecast::reroute_ms;
use crate::gateway::Stores;
use crate::model::{Cluster, NodeIndex};
use crate::nodes::{Change, CopyIndex, RoutingError, RoutingNodes};
use crate::profile::Server;
use crate::service::{self, Allocation, Live};
use crate::what_if::{NodeLoad, summary};
use schemars::JsonSchema;
use serde::Serialize;

/// Level of detail.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Maximum number of decisions to explain; all are counted.
    pub decisions_max: usize,
    /// Whether to include deciders that say yes.
    pub all_deciders: bool,
}

/// Explanation of the next reroute.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RerouteExplanation {
    /// The server the cluster runs.
    pub server: String,
    /// Shards in the routing table.
    pub routed_shards: u64,
    /// Live data nodes.
    pub data_nodes: usize,
    /// Time of a reroute with nothing to do: CPU time on the master, milliseconds.
    pub reroute_ms: f64,
    /// Shards that are allocated to a node.
    pub allocated: u64,
    /// Shards that must move.
    pub moved: u64,
    /// Shards that are rebalanced.
    pub rebalanced: u64,
    /// Shards that remain unassigned.
    pub unassigned: u64,
    /// Shards that cannot remain where they are but stay, because no node accepts them in this round.
    pub stuck: u64,
    /// New, empty primaries that are unassigned before the reroute.
    pub new_primaries: u64,
    /// What each data node gets, in the order of the state.
    pub nodes: Vec<NodeGain>,
    /// Where the shards are wanted, and what holds them; null before 8.6 and in OpenSearch, which have no
    /// desired balance.
    pub desired: Option<DesiredExplanation>,
    /// The decisions, up to the maximum: allocations, moves, shards that remain unassigned, shards that
    /// are stuck.
    pub decisions: Vec<DecisionRow>,
    /// Number of decisions left out.
    pub left_out: u64,
    /// Why the state cannot have been understood, so that the decisions mean nothing; null if nothing
    /// speaks against it.
    pub not_understood: Option<String>,
    /// Whether some decisions depend on the data on the nodes' disks, which had to be assumed.
    #[serde(skip)]
    #[schemars(skip)]
    pub from_disk: bool,
}

/// Decision for one shard.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DecisionRow {
    /// Index name.
    pub index: String,
    /// Shard number.
    pub shard: u32,
    /// Whether it is the primary.
    pub primary: bool,
    /// `allocate`, `move`, `rebalance`, `unassigned`, or `stuck`.
    pub decision: &'static str,
    /// Name of the node it is on.
    pub from: Option<String>,
    /// Name of the node it goes to.
    pub to: Option<String>,
    /// The reason, in one sentence.
    pub why: String,
    /// The deciders' decisions: first for the node the shard is on, then for each other node. They
    /// describe the state at the moment of the decision, after those before it; for shards that
    /// remain unassigned or are stuck, the state after the round.
    pub nodes: Vec<NodeRow>,
}

/// Decisions for one node.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeRow {
    /// The node's name.
    pub node: String,
    /// `yes`, `throttled`, `no` or `worse_balance`; for the shard's own node `can_remain` or
    /// `cannot_remain`.
    pub outcome: &'static str,
    /// The node's weight for the index; null for the shard's own node.
    pub weight: Option<f32>,
    /// The decision of each decider.
    pub deciders: Vec<DeciderRow>,
}

impl RerouteExplanation {
    /// Runs the next reroute of a cluster and explains it. From 8.6 on `desired` is the balance that the
    /// server told; without it, the present placement is where its computation begins.
    ///
    /// # Errors
    /// If the routing table is inconsistent
    pub fn of(
        cluster: &mut Cluster,
        desired: Option<&DesiredBalance>,
        server: &Server,
        now_nanos: i64,
        detail: Detail,
    ) -> Result<Self, RoutingError> {
        let shape = summary(cluster);
        let mut explained = Self {
            server: server.to_string(),
            routed_shards: shape.routed,
            data_nodes: shape.nodes.len(),
            reroute_ms: reroute_ms(cluster, &shape, server),
            allocated: 0,
            moved: 0,
            rebalanced: 0,
            unassigned: 0,
            stuck: 0,
            new_primaries: 0,
            nodes: Vec::new(),
            desired: None,
            decisions: Vec::new(),
            left_out: 0,
            not_understood: doubt::misread(cluster, now_nanos)?,
            from_disk: false,
        };
        explained.explain(cluster, desired, &shape.nodes, now_nanos, detail)?;
        Ok(explained)
    }

    /// Assumptions made by the explanation.
    pub fn warnings(&self) -> Vec<String> {
        let from_disk = self.from_disk.then(|| {
            "What the nodes hold on disk is unknown; assuming the data of their active shards."
                .to_owned()
        });
        from_disk.into_iter().collect()
    }

    fn explain(
        &mut self,
        cluster: &mut Cluster,
        desired: Option<&DesiredBalance>,
        loads: &[NodeLoad],
        now_nanos: i64,
        detail: Detail,
    ) -> Result<(), RoutingError> {
        let before = cluster.clone();
        let stores = Stores::of(cluster);
        let changes = if cluster.has_desired_balance() {
            let mut live = Live::new(std::mem::take(cluster))?;
            if let Some(desired) = desired {
                live.walk_to(desired.clone());
            }
            let changes = live.reroute(&stores, now_nanos)?;
            let computed = live.desired().cloned();
            *cluster = live.into_cluster();
            if let Some(computed) = computed {
                let ms = self.reroute_ms;
                self.desired = Some(DesiredExplanation::of(
                    &before, desired, &computed, cluster, now_nanos, ms,
                )?);
            }
            changes
        } else {
            service::reroute(cluster, &stores, now_nanos)?
        };
        let new = |copy: &&ShardCopy| copy.is_unassigned() && gains::is_new_primary(copy);
        self.new_primaries = before.routing.copies().filter(new).count() as u64;
        self.nodes = gains::of(&before, loads, &changes, now_nanos)?;
        let mut evaluator = Evaluator::new(&before, now_nanos, !detail.all_deciders)?;
        for change in &changes {
            let (copy, to) = match change {
                Change::Initialized(copy) => {
                    self.allocated += 1;
                    (copy, copy.node)
                }
                Change::RelocationStarted { started, target } => (started, target.node),
                _ => continue,
            };
            let moving = matches!(change, Change::RelocationStarted { .. });
            let must = moving && evaluator.must_move(copy);
            self.moved += u64::from(must);
            self.rebalanced += u64::from(moving && !must);
            if self.decisions.len() < detail.decisions_max {
                self.from_disk |= from_disk(copy);
                self.decisions
                    .push(evaluator.decided(copy, to, moving, must));
            } else {
                self.left_out += 1;
            }
            evaluator.follow(change);
        }
        let waiting: Vec<ShardCopy> = cluster
            .routing
            .copies()
            .filter(|copy| copy.is_unassigned())
            .copied()
            .collect();
        self.unassigned = waiting.len() as u64;
        let stuck = service::cannot_remain(cluster, now_nanos)?;
        self.stuck = stuck.len() as u64;
        let room = detail.decisions_max - self.decisions.len();
        let rest = waiting.len() + stuck.len();
        self.left_out += rest.saturating_sub(room) as u64;
        if room > 0 && rest > 0 {
            let mut evaluator = Evaluator::new(cluster, now_nanos, !detail.all_deciders)?;
            for copy in waiting.iter().chain(&stuck).take(room) {
                self.decisions.push(if copy.is_unassigned() {
                    self.from_disk |= from_disk(copy);
                    evaluator.waiting(copy)
                } else {
                    evaluator.stuck(copy)
                });
            }
        }
        Ok(())
    }
}

fn from_disk(copy: &ShardCopy) -> bool {
    copy.recovery.is_some_and(RecoverySource::is_existing_store)
}

/// Evaluates the deciders on a cluster in its current state.
struct Evaluator<'c> {
    cluster: &'c Cluster,
    nodes: RoutingNodes,
    deciders: Deciders,
    now_nanos: i64,
    without_yes: bool,
}

impl<'c> Evaluator<'c> {
    fn new(cluster: &'c Cluster, now_nanos: i64, without_yes: bool) -> Result<Self, RoutingError> {
        let nodes = RoutingNodes::new(cluster)?;
        let deciders = Deciders::new(cluster, &nodes);
        Ok(Self {
            cluster,
            nodes,
            deciders,
            now_nanos,
            without_yes,
        })
    }

    fn round(&mut self) -> Allocation<'_> {
        Allocation::new(
            self.cluster,
            &mut self.nodes,
            &self.deciders,
            self.now_nanos,
        )
    }

    fn ask(&mut self, handle: CopyIndex) -> CopyDecision {
        let without_yes = self.without_yes;
        let mut allocation = self.round();
        allocation.debug = true;
        balancer::explain(&mut allocation, handle, without_yes)
    }

    fn handle(&self, copy: &ShardCopy) -> Option<CopyIndex> {
        match copy
            .node
            .and_then(|node| self.nodes.on_node(node, copy.shard))
        {
            Some(handle) => Some(handle),
            // The copy was only just allocated, or not at all.
            None => self.unassigned(copy),
        }
    }

    fn unassigned(&self, copy: &ShardCopy) -> Option<CopyIndex> {
        let list = self.nodes.unassigned().list();
        list.iter().copied().find(|&handle| {
            let other = self.nodes.copy(handle);
            other.shard == copy.shard && other.primary == copy.primary
        })
    }

    /// Makes a change of the round, so that the next decision is seen as the round saw it.
    fn follow(&mut self, change: &Change) {
        let is_free = |nodes: &RoutingNodes, node, copy: &ShardCopy| {
            nodes.on_node(node, copy.shard).is_none()
        };
        match change {
            Change::Initialized(copy) => {
                if let (Some(handle), Some(node)) = (self.unassigned(copy), copy.node)
                    && is_free(&self.nodes, node, copy)
                {
                    self.nodes.take_unassigned(handle);
                    // Fresh ids come in the same order as in the round.
                    let existing = copy.allocation.filter(|_| copy.primary && from_disk(copy));
                    let bytes = copy.expected_bytes;
                    self.nodes.initialize(handle, node, existing, bytes);
                }
            }
            Change::RelocationStarted { started, target } => {
                if let (Some(handle), Some(node)) = (self.handle(started), target.node)
                    && is_free(&self.nodes, node, target)
                {
                    self.nodes.relocate(handle, node, target.expected_bytes);
                }
            }
            _ => {}
        }
    }

    /// Whether a started copy cannot remain where it is.
    fn must_move(&mut self, copy: &ShardCopy) -> bool {
        let Some(node) = copy.node else { return false };
        self.round().can_remain(copy, node, &mut NoReasons) == Verdict::No
    }

    fn name(&self, node: Option<NodeIndex>) -> Option<String> {
        node.map(|node| self.cluster.node(node).name.clone())
    }

    fn row(&self, copy: &ShardCopy, decision: &'static str, why: String) -> DecisionRow {
        DecisionRow {
            index: self.cluster.index(copy.shard.index).name.clone(),
            shard: copy.shard.shard,
            primary: copy.primary,
            decision,
            from: None,
            to: None,
            why,
            nodes: Vec::new(),
        }
    }

    fn decided(
        &mut self,
        copy: &ShardCopy,
        to: Option<NodeIndex>,
        moving: bool,
        must: bool,
    ) -> DecisionRow {
        let is_desired = self.cluster.has_desired_balance();
        let (decision, why) = match (moving, must) {
            (true, false) if is_desired => ("rebalance", "it is wanted there".to_owned()),
            (true, true) => ("move", "it cannot stay where it is".to_owned()),
            (true, false) => ("rebalance", "the balance gets better".to_owned()),
            (false, _) => ("allocate", allocated(copy).to_owned()),
        };
        let mut row = self.row(copy, decision, why);
        row.from = if moving { self.name(copy.node) } else { None };
        row.to = self.name(to);
        // The gateway chooses by the data on disk, not by the weights, and the desired balance was computed
        // before.
        if let Some(handle) = self
            .handle(copy)
            .filter(|_| !from_disk(copy) && !is_desired)
        {
            let decided = self.ask(handle);
            row.nodes = self.nodes_of(copy, &decided);
        }
        row
    }

    fn waiting(&mut self, copy: &ShardCopy) -> DecisionRow {
        let mut row = self.row(copy, "unassigned", String::new());
        let status = copy.unassigned.map(|info| (info.delayed, info.last_status));
        let mut last_status = None;
        if let Some(handle) = self.handle(copy)
            && let CopyDecision::Allocate(decision) = self.ask(handle)
        {
            last_status = decision.status;
            let anywhere = deciders(&decision.anywhere);
            if !anywhere.is_empty() {
                row.nodes.push(NodeRow {
                    node: "any node".to_owned(),
                    outcome: Outcome::from(decision.anywhere.verdict).as_str(),
                    weight: None,
                    deciders: anywhere,
                });
            }
            row.nodes
                .extend(decision.nodes.iter().map(|result| self.node_row(result)));
        }
        // The round's own result outranks that of an explanation, which skips no node.
        let throttled = matches!(status, Some((_, AllocationStatus::DecidersThrottled)))
            || last_status == Some(AllocationStatus::DecidersThrottled);
        let why = match (status, last_status) {
            (Some((true, _)), _) => "it waits for its node to come back",
            _ if throttled => return Self::throttled(row),
            (Some((_, AllocationStatus::NoValidShardCopy)), _) => {
                row.nodes.clear();
                "no node holds a copy that can become the primary"
            }
            (_, Some(_)) => "no node may take it",
            (_, None) => "it could go to a node in the next round",
        };
        row.why = String::from(why);
        row
    }

    /// Says which node a copy waits for: the lightest one that takes it now or later.
    fn throttled(mut row: DecisionRow) -> DecisionRow {
        let takes = |node: &&NodeRow| matches!(node.outcome, "yes" | "throttled");
        let lightest = row.nodes.iter().filter(takes).min_by(|a, b| {
            let weight = |row: &NodeRow| row.weight.unwrap_or(f32::INFINITY);
            weight(a).total_cmp(&weight(b))
        });
        row.why = match lightest.filter(|node| node.outcome == "throttled") {
            Some(node) => format!(
                "it waits for {}, the lightest, where too many recoveries are running already",
                node.node
            ),
            None => "too many recoveries are running already".to_owned(),
        };
        row
    }

    fn stuck(&mut self, copy: &ShardCopy) -> DecisionRow {
        let mut row = self.row(copy, "stuck", String::new());
        row.from = self.name(copy.node);
        let mut throttled = false;
        if let Some(handle) = self.handle(copy) {
            let decided = self.ask(handle);
            if let CopyDecision::Move(decision) = &decided {
                let is_throttled =
                    |result: &NodeResult| result.decision.verdict == Verdict::Throttle;
                throttled = decision.nodes.iter().any(is_throttled);
            }
            row.nodes = self.nodes_of(copy, &decided);
        }
        row.why = if throttled {
            "it cannot stay there, and moves once fewer recoveries run".to_owned()
        } else {
            "it cannot stay there, and no other node may take it".to_owned()
        };
        row
    }

    fn nodes_of(&self, copy: &ShardCopy, decided: &CopyDecision) -> Vec<NodeRow> {
        match decided {
            CopyDecision::NotTaken => Vec::new(),
            CopyDecision::Allocate(decision) => decision
                .nodes
                .iter()
                .map(|result| self.node_row(result))
                .collect(),
            CopyDecision::Move(decision) => {
                let remains = decision.can_remain.verdict != Verdict::No;
                let own = NodeRow {
                    node: self.name(copy.node).unwrap_or_default(),
                    outcome: if remains {
                        "can_remain"
                    } else {
                        "cannot_remain"
                    },
                    weight: None,
                    deciders: deciders(&decision.can_remain),
                };
                let others = decision.nodes.iter().map(|result| self.node_row(result));
                std::iter::once(own).chain(others).collect()
            }
        }
    }

    fn node_row(&self, result: &NodeResult) -> NodeRow {
        NodeRow {
            node: self.cluster.node(result.node).name.clone(),
            outcome: result.outcome.as_str(),
            weight: Some(result.weight),
            deciders: deciders(&result.decision),
        }
    }
}

fn allocated(copy: &ShardCopy) -> &'static str {
    match copy.recovery {
        Some(RecoverySource::EmptyStore) => "new and empty: the lightest node that may take it",
        Some(RecoverySource::ExistingStore | RecoverySource::ForcedStalePrimary) => {
            "the node has its data"
        }
        Some(RecoverySource::Snapshot(_)) => "from a snapshot: the lightest node that may take it",
        Some(RecoverySource::LocalShards) => "from another index on the node",
        Some(RecoverySource::Peer) | None => "from its primary: the lightest node that may take it",
    }
}

#[cfg(test)]
mod tests;
