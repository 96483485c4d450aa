//! Small clusters for tests, built copy by copy.

use super::{Deciders, Decision, ReasonRecorder, Verdict};
use crate::allocation::Allocation;
use crate::copy::{
    AllocationIndex, Reason, RecoverySource, ShardCopy, UNKNOWN_SIZE, UnassignedInfo,
};
use crate::model::{
    Cluster, ClusterInfo, DiskUsage, Index, IndexIndex, IndexSettings, IndexTable, Node, NodeIndex,
    RoutingTable, ShardId, Version,
};
use crate::nodes::RoutingNodes;

/// Builder of a test cluster. Copies of a shard must be added consecutively.
#[derive(Clone, Debug)]
pub(crate) struct Builder {
    pub cluster: Cluster,
    tables: Vec<IndexTable>,
}

pub(crate) fn node(at: u32) -> NodeIndex {
    NodeIndex(at)
}

impl Builder {
    /// Creates a cluster with data nodes `n0`, `n1` and so on, all on version 7.4.0.
    pub fn new(nodes: u32) -> Builder {
        let mut cluster = Cluster::default();
        for at in 0..nodes {
            cluster.nodes.push(Node {
                name: format!("name-{at}"),
                host: format!("host-{at}"),
                host_address: format!("10.0.0.{at}"),
                publish_address: format!("10.0.0.{at}"),
                ..Node::new(format!("n{at}"), Version::release(7, 4, 0))
            });
            cluster.data_nodes.push(node(at));
        }
        Builder {
            cluster,
            tables: Vec::new(),
        }
    }

    pub fn index(&mut self, name: &str, shards: u32, replicas: u32) -> IndexIndex {
        let index = IndexIndex(u32::try_from(self.tables.len()).unwrap());
        self.cluster.indices.push(Index {
            uuid: format!("uuid-{name}"),
            in_sync: vec![Vec::new(); shards as usize],
            ..Index::new(name.to_owned(), shards, replicas)
        });
        self.tables.push(IndexTable {
            index,
            copies: Vec::new(),
        });
        index
    }

    pub fn settings(&mut self, index: IndexIndex) -> &mut IndexSettings {
        &mut self.cluster.indices[index.at()].settings
    }

    fn push(&mut self, copy: ShardCopy) -> ShardCopy {
        self.tables[copy.shard.index.at()].copies.push(copy);
        copy
    }

    fn allocation(&mut self) -> AllocationIndex {
        self.cluster.next_allocation += 1;
        AllocationIndex(self.cluster.next_allocation - 1)
    }

    pub fn started(&mut self, index: IndexIndex, shard: u32, primary: bool, at: u32) -> ShardCopy {
        let allocation = self.allocation();
        let shard = ShardId { index, shard };
        self.push(ShardCopy::started(shard, primary, node(at), allocation))
    }

    pub fn relocating(
        &mut self,
        index: IndexIndex,
        shard: u32,
        primary: bool,
        (from, to): (u32, u32),
    ) -> ShardCopy {
        let started = self.started(index, shard, primary, from);
        self.tables[index.at()].copies.pop();
        let target = self.allocation();
        self.push(started.relocate(node(to), target, UNKNOWN_SIZE))
    }

    pub fn unassigned(
        &mut self,
        index: IndexIndex,
        shard: u32,
        primary: bool,
        recovery: RecoverySource,
    ) -> ShardCopy {
        let info = UnassignedInfo::new(Reason::IndexCreated, 0);
        self.push(ShardCopy::new_unassigned(
            ShardId { index, shard },
            primary,
            recovery,
            info,
        ))
    }

    pub fn initializing(
        &mut self,
        index: IndexIndex,
        shard: u32,
        primary: bool,
        at: u32,
        recovery: RecoverySource,
    ) -> ShardCopy {
        let unassigned = self.unassigned(index, shard, primary, recovery);
        self.tables[index.at()].copies.pop();
        let allocation = self.allocation();
        self.push(unassigned.initialize(node(at), allocation, UNKNOWN_SIZE))
    }

    /// Gives each node one 1,000-byte disk with the given free space, with the path `/d`.
    pub fn disks(&mut self, free_bytes: &[Option<i64>]) -> &mut ClusterInfo {
        let info = self.cluster.info.insert(ClusterInfo::default());
        let path = Some(info.path("/d"));
        for (at, free_bytes) in (0..).zip(free_bytes) {
            if let Some(free_bytes) = *free_bytes {
                let usage = DiskUsage {
                    path,
                    total_bytes: 1000,
                    free_bytes,
                };
                info.least.insert(node(at), usage);
                info.most.insert(node(at), usage);
            }
        }
        info
    }

    pub fn build(&self) -> Cluster {
        let mut cluster = self.cluster.clone();
        cluster.routing = RoutingTable::new(self.tables.clone());
        cluster
    }

    /// Evaluates `question` in a round on this cluster.
    pub fn ask<T>(&self, question: impl FnOnce(&mut Allocation<'_>) -> T) -> T {
        let cluster = self.build();
        let mut nodes = RoutingNodes::new(&cluster).expect("a table without contradictions");
        let deciders = Deciders::new(&cluster, &nodes);
        question(&mut Allocation::new(&cluster, &mut nodes, &deciders, 0))
    }

    /// One decider's verdict on allocating a copy to a node.
    pub fn allocate(&self, decider: &str, copy: &ShardCopy, at: u32) -> Verdict {
        self.ask(|round| {
            let decision = decision_with_reasons(|why| round.can_allocate(copy, node(at), why));
            verdict_of(&decision, decider)
        })
    }

    /// One decider's verdict on a copy remaining on its node.
    pub fn remain(&self, decider: &str, copy: &ShardCopy) -> Verdict {
        self.ask(|round| {
            let at = copy.node.expect("an assigned copy");
            verdict_of(
                &decision_with_reasons(|why| round.can_remain(copy, at, why)),
                decider,
            )
        })
    }

    /// One decider's verdict on rebalancing a copy.
    pub fn rebalance(&self, decider: &str, copy: &ShardCopy) -> Verdict {
        self.ask(|round| {
            verdict_of(
                &decision_with_reasons(|why| round.can_rebalance(copy, why)),
                decider,
            )
        })
    }
}

/// Evaluates `question` and records all reasons.
pub(crate) fn decision_with_reasons(
    question: impl FnOnce(&mut ReasonRecorder) -> Verdict,
) -> Decision {
    let mut recorder = ReasonRecorder::default();
    let verdict = question(&mut recorder);
    recorder.decision(verdict)
}

fn verdict_of(decision: &Decision, decider: &str) -> Verdict {
    let mut heard = decision
        .reasons
        .iter()
        .filter(|reason| reason.decider == Some(decider));
    let reason = heard
        .next()
        .unwrap_or_else(|| panic!("{decider} says nothing: {decision:?}"));
    assert!(heard.next().is_none(), "{decider} says more than one thing");
    assert!(reason.explanation.is_some());
    reason.verdict
}
