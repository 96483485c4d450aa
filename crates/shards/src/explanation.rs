//! What the next reroute would do with each shard, and why: the answer of `trimtab shards reroute`.

use crate::balancer::{self, CopyDecision, NodeResult, Outcome};
use crate::copy::{AllocationStatus, RecoverySource, ShardCopy};
use crate::deciders::{Deciders, Decision, Silent, Verdict};
use crate::engine::Engine;
use crate::forecast::reroute_ms;
use crate::gateway::Stores;
use crate::model::{Cluster, NodeIndex};
use crate::nodes::{Change, CopyIndex, RoutingError, RoutingNodes};
use crate::profile::Server;
use crate::service::{self, Allocation, Round};
use crate::what_if::picture;
use schemars::JsonSchema;
use serde::Serialize;

/// What is explained, and how far.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Decisions that are explained at most; all are counted.
    pub decisions_max: usize,
    /// Deciders that say yes, too.
    pub all_deciders: bool,
}

/// What the next reroute would do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RerouteExplanation {
    /// What the cluster runs.
    pub server: String,
    /// Shards in the routing table.
    pub routed_shards: u64,
    /// Live data nodes.
    pub data_nodes: usize,
    /// A reroute with nothing to do, processor time of the master, milliseconds.
    pub reroute_ms: f64,
    /// Shards that are put on a node.
    pub allocated: u64,
    /// Shards that have to move.
    pub moved: u64,
    /// Shards that move for balance.
    pub rebalanced: u64,
    /// Shards that stay unassigned.
    pub unassigned: u64,
    /// Shards that cannot stay where they are, and stay, since no node takes them in this round.
    pub stuck: u64,
    /// The decisions, as many as asked for: what is allocated, what moves, what stays unassigned, what
    /// stays though it should not.
    pub decisions: Vec<DecisionRow>,
    /// Decisions that are not told.
    pub left_out: u64,
    /// Some were taken by what nodes have on disk, which had to be assumed.
    #[serde(skip)]
    #[schemars(skip)]
    pub from_disk: bool,
}

/// A decision about one shard.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DecisionRow {
    /// Index.
    pub index: String,
    /// Number of the shard.
    pub shard: u32,
    /// Whether it is the primary.
    pub primary: bool,
    /// `allocate`, `move`, `rebalance`, `unassigned`, or `stuck`.
    pub decision: &'static str,
    /// The node it is on, by name.
    pub from: Option<String>,
    /// The node it goes to, by name.
    pub to: Option<String>,
    /// Why, in a sentence.
    pub why: String,
    /// What the deciders say: of the node it is on first, then of each other node. As things were before
    /// the round; of shards that stay unassigned, as they are after it.
    pub nodes: Vec<NodeRow>,
}

/// What the deciders say of one node.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeRow {
    /// Its name.
    pub node: String,
    /// `yes`, `throttled`, `no`, `worse_balance`; `can_remain` and `cannot_remain` of its own node.
    pub outcome: &'static str,
    /// Its weight for the index; null for its own node.
    pub weight: Option<f32>,
    /// Each decider.
    pub deciders: Vec<DeciderRow>,
}

/// What one decider says.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeciderRow {
    /// Its name as in the server's answers; null where none was asked.
    pub decider: Option<&'static str>,
    /// `YES`, `THROTTLE`, `NO`.
    pub decision: &'static str,
    /// Why.
    pub explanation: Option<String>,
}

impl RerouteExplanation {
    /// Makes the next reroute of a cluster, and explains it.
    ///
    /// # Errors
    /// If the routing table contradicts itself.
    pub fn of(
        cluster: &mut Cluster,
        server: &Server,
        now_nanos: i64,
        detail: Detail,
    ) -> Result<Self, RoutingError> {
        let shape = picture(cluster);
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
            decisions: Vec::new(),
            left_out: 0,
            from_disk: false,
        };
        explained.explain(cluster, now_nanos, detail)?;
        Ok(explained)
    }

    /// What the explanation had to assume.
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
        now_nanos: i64,
        detail: Detail,
    ) -> Result<(), RoutingError> {
        let before = cluster.clone();
        let stores = Stores::of(cluster);
        let outcome = service::reroute(cluster, &Round::new(&stores, now_nanos))?;
        let mut asking = Asking::new(&before, now_nanos, !detail.all_deciders)?;
        for change in &outcome.changes {
            let (copy, to) = match change {
                Change::Initialized(copy) => {
                    self.allocated += 1;
                    (copy, copy.node)
                }
                Change::RelocationStarted { started, target } => (started, target.node),
                _ => continue,
            };
            let moving = matches!(change, Change::RelocationStarted { .. });
            let must = moving && asking.must_move(copy);
            self.moved += u64::from(must);
            self.rebalanced += u64::from(moving && !must);
            if self.decisions.len() < detail.decisions_max {
                self.from_disk |= from_disk(copy);
                self.decisions.push(asking.decided(copy, to, moving, must));
            } else {
                self.left_out += 1;
            }
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
            let mut asking = Asking::new(cluster, now_nanos, !detail.all_deciders)?;
            for copy in waiting.iter().chain(&stuck).take(room) {
                self.decisions.push(if copy.is_unassigned() {
                    self.from_disk |= from_disk(copy);
                    asking.waiting(copy)
                } else {
                    asking.stuck(copy)
                });
            }
        }
        Ok(())
    }
}

fn from_disk(copy: &ShardCopy) -> bool {
    copy.recovery.is_some_and(RecoverySource::is_existing_store)
}

/// Asks the deciders about a cluster as it stands.
struct Asking<'c> {
    cluster: &'c Cluster,
    nodes: RoutingNodes,
    deciders: Deciders,
    now_nanos: i64,
    without_yes: bool,
}

impl<'c> Asking<'c> {
    fn new(cluster: &'c Cluster, now_nanos: i64, without_yes: bool) -> Result<Self, RoutingError> {
        let nodes = RoutingNodes::new(cluster)?;
        let deciders = Deciders::new(cluster, &nodes, Engine::incremental());
        Ok(Self {
            cluster,
            nodes,
            deciders,
            now_nanos,
            without_yes,
        })
    }

    fn ask(&mut self, handle: CopyIndex) -> CopyDecision {
        let mut allocation = Allocation::new(
            self.cluster,
            &mut self.nodes,
            &self.deciders,
            self.now_nanos,
        );
        allocation.debug = true;
        balancer::explain(&mut allocation, handle, self.without_yes)
    }

    fn handle(&self, copy: &ShardCopy) -> Option<CopyIndex> {
        match copy
            .node
            .and_then(|node| self.nodes.on_node(node, copy.shard))
        {
            Some(handle) => Some(handle),
            // Put on a node only now, or not at all.
            None => self
                .nodes
                .unassigned()
                .list()
                .iter()
                .copied()
                .find(|&handle| {
                    let other = self.nodes.copy(handle);
                    other.shard == copy.shard && other.primary == copy.primary
                }),
        }
    }

    /// Whether a started copy cannot stay where it is.
    fn must_move(&mut self, copy: &ShardCopy) -> bool {
        let Some(node) = copy.node else { return false };
        let allocation = Allocation::new(
            self.cluster,
            &mut self.nodes,
            &self.deciders,
            self.now_nanos,
        );
        let verdict = allocation.can_remain(copy, node, &mut Silent);
        verdict == Verdict::No
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
        let (decision, why) = match (moving, must) {
            (true, true) => ("move", "it cannot stay where it is".to_owned()),
            (true, false) => ("rebalance", "the balance gets better".to_owned()),
            (false, _) => ("allocate", allocated(copy).to_owned()),
        };
        let mut row = self.row(copy, decision, why);
        row.from = if moving { self.name(copy.node) } else { None };
        row.to = self.name(to);
        // The gateway's choice is by the data, not by the deciders' weights.
        if let Some(handle) = self.handle(copy).filter(|_| !from_disk(copy)) {
            let decided = self.ask(handle);
            row.nodes = self.nodes_of(copy, &decided);
        }
        row
    }

    fn waiting(&mut self, copy: &ShardCopy) -> DecisionRow {
        let mut row = self.row(copy, "unassigned", String::new());
        let status = copy.unassigned.map(|info| (info.delayed, info.last_status));
        let mut told = None;
        if let Some(handle) = self.handle(copy)
            && let CopyDecision::Allocate(decision) = self.ask(handle)
        {
            told = decision.status;
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
        let why = match (status, told) {
            (Some((true, _)), _) => "it waits for its node to come back",
            (Some((_, AllocationStatus::NoValidShardCopy)), _) => {
                row.nodes.clear();
                "no node holds a copy that can become the primary"
            }
            (Some((_, AllocationStatus::FetchingShardData)), _) => {
                "nodes have not yet reported what they hold"
            }
            (_, Some(AllocationStatus::DecidersThrottled)) => "too many recoveries are running already",
            (_, Some(_)) => "no node may take it",
            (_, None) => "it could go to a node in the next round",
        };
        row.why = String::from(why);
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

fn deciders(decision: &Decision) -> Vec<DeciderRow> {
    let rows = decision.reasons.iter().map(|reason| DeciderRow {
        decider: reason.decider,
        decision: reason.verdict.as_str(),
        explanation: reason.explanation.clone(),
    });
    rows.collect()
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
