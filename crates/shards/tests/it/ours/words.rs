//! Reports our state in the driver's format.

use std::collections::HashSet;
use std::fmt::Write as _;

use shards::copy::{
    AllocationIndex, AllocationStatus, CopyState, Reason, RecoverySource, ShardCopy,
};
use shards::model::ShardId;
use shards::nodes::{RoutingError, RoutingNodes};

use super::Ours;
use crate::answer::{Answer, Order};

impl Ours {
    /// The state in the driver's format. Allocation ids are numbered in the order of their first
    /// occurrence.
    pub fn answer(&mut self) -> Result<Answer, RoutingError> {
        let nodes = RoutingNodes::new(&self.cluster)?;
        let mut answer = Answer::default();
        for &node in nodes.order() {
            let lines = nodes
                .copies_on(node)
                .map(|(_, copy)| self.line(copy))
                .collect();
            answer
                .nodes
                .push((self.cluster.node(node).id.clone(), lines));
        }
        for &handle in nodes.unassigned().list() {
            answer
                .unassigned
                .push(self.unassigned_line(nodes.copy(handle)));
        }
        let mut in_sync = Vec::new();
        for table in self.cluster.routing.tables() {
            for group in table.groups() {
                let shard = group[0].shard;
                let set = &self.cluster.index(shard.index).in_sync[shard.shard as usize];
                let active = group.iter().filter(|copy| copy.is_active());
                let mut active: Vec<_> = active.filter_map(|copy| copy.allocation).collect();
                let mut set = set.clone();
                active.sort();
                set.sort();
                if active != set {
                    in_sync.push((shard, set));
                }
            }
        }
        for (shard, set) in in_sync {
            let mut numbers: Vec<u64> = set.into_iter().map(|id| self.number(id)).collect();
            numbers.sort_unstable();
            let mut line = self.name(shard);
            for number in numbers {
                let _ = write!(line, " #{number}");
            }
            answer.in_sync.push(line);
        }
        answer.order = self.order();
        Ok(answer)
    }

    /// Adopts the server's in-sync sets if it had too many ids and dropped some without an assigned copy:
    /// which ones depends on the order of a hash set of random strings (`updateInSyncAllocations`). Sets
    /// that differ in any other way are left alone.
    pub fn adopt_trimmed(&mut self, server: &Answer) {
        let assigned: HashSet<u64> = server.copies().map(|copy| copy.id).collect();
        for line in &server.in_sync {
            let (name, ids) = line.split_once("] ").unwrap_or((line, ""));
            let Some((name, shard)) = name.split_once('[') else {
                continue;
            };
            let Some(index) = self.cluster.index_by_name(name) else {
                continue;
            };
            let theirs: HashSet<u64> = ids
                .split(' ')
                .filter_map(|id| id.strip_prefix('#')?.parse().ok())
                .collect();
            let theirs_here = theirs.iter().map(|id| self.ids.get(id).copied());
            let Some(theirs_here) = theirs_here.collect::<Option<Vec<AllocationIndex>>>() else {
                continue;
            };
            let full = self.cluster.index(index).replicas as usize + 1;
            let numbers = &self.numbers;
            let Some(ours) = shard
                .parse::<usize>()
                .ok()
                .and_then(|shard| self.cluster.indices[index.at()].in_sync.get_mut(shard))
            else {
                continue;
            };
            let ours_there: HashSet<u64> = ours
                .iter()
                .filter_map(|id| numbers.get(id).copied())
                .collect();
            let nowhere = theirs
                .symmetric_difference(&ours_there)
                .all(|id| !assigned.contains(id));
            if theirs.len() == full && ours.len() == full && nowhere {
                *ours = theirs_here;
            }
        }
    }

    fn order(&self) -> Order {
        let data = self.cluster.data_nodes.iter();
        Order {
            data_nodes: data
                .map(|&node| self.cluster.node(node).id.clone())
                .collect(),
            indices: self
                .cluster
                .routing
                .tables()
                .iter()
                .map(|table| {
                    let shards = table.groups().map(|group| group[0].shard.shard);
                    (
                        self.cluster.index(table.index).name.clone(),
                        shards.collect(),
                    )
                })
                .collect(),
        }
    }

    fn name(&self, shard: ShardId) -> String {
        format!("{}[{}]", self.cluster.index(shard.index).name, shard.shard)
    }

    fn number(&mut self, id: AllocationIndex) -> u64 {
        if let Some(&number) = self.numbers.get(&id) {
            return number;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.numbers.insert(id, number);
        self.ids.insert(number, id);
        number
    }

    fn head(&self, copy: &ShardCopy) -> String {
        format!(
            "{} {}",
            self.name(copy.shard),
            if copy.primary { "P" } else { "R" }
        )
    }

    fn line(&mut self, copy: &ShardCopy) -> String {
        let head = self.head(copy);
        let state = match copy.state {
            CopyState::Unassigned => "UNASSIGNED",
            CopyState::Initializing => "INITIALIZING",
            CopyState::Started => "STARTED",
            CopyState::Relocating => "RELOCATING",
        };
        let other = copy.relocating.map_or_else(String::new, |node| {
            let way = if copy.is_relocating() { "to" } else { "from" };
            format!("{way} {} ", self.cluster.node(node).id)
        });
        let number = copy.allocation.map_or(0, |id| self.number(id));
        format!("{head} {state} {other}#{number}")
    }

    fn unassigned_line(&self, copy: &ShardCopy) -> String {
        let info = copy
            .unassigned
            .as_ref()
            .expect("an unassigned copy has its reason");
        let status = match info.last_status {
            AllocationStatus::DecidersNo => "DECIDERS_NO",
            AllocationStatus::NoValidShardCopy => "NO_VALID_SHARD_COPY",
            AllocationStatus::DecidersThrottled => "DECIDERS_THROTTLED",
            AllocationStatus::FetchingShardData => "FETCHING_SHARD_DATA",
            AllocationStatus::DelayedAllocation => "DELAYED_ALLOCATION",
            AllocationStatus::NoAttempt => "NO_ATTEMPT",
        };
        let source = match copy.recovery {
            Some(RecoverySource::EmptyStore) => "EMPTY_STORE",
            Some(RecoverySource::ExistingStore | RecoverySource::ForcedStalePrimary) => {
                "EXISTING_STORE"
            }
            Some(RecoverySource::Peer) => "PEER",
            Some(RecoverySource::Snapshot(_)) => "SNAPSHOT",
            Some(RecoverySource::LocalShards) => "LOCAL_SHARDS",
            None => "NONE",
        };
        format!(
            "{} {} {status} failures={} delayed={} source={source}",
            self.head(copy),
            reason_name(info.reason),
            info.failed_allocations,
            info.delayed,
        )
    }
}

fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::IndexCreated => "INDEX_CREATED",
        Reason::ClusterRecovered => "CLUSTER_RECOVERED",
        Reason::IndexReopened => "INDEX_REOPENED",
        Reason::DanglingIndexImported => "DANGLING_INDEX_IMPORTED",
        Reason::NewIndexRestored => "NEW_INDEX_RESTORED",
        Reason::ExistingIndexRestored => "EXISTING_INDEX_RESTORED",
        Reason::ReplicaAdded => "REPLICA_ADDED",
        Reason::AllocationFailed => "ALLOCATION_FAILED",
        Reason::NodeLeft => "NODE_LEFT",
        Reason::RerouteCancelled => "REROUTE_CANCELLED",
        Reason::Reinitialized => "REINITIALIZED",
        Reason::ReallocatedReplica => "REALLOCATED_REPLICA",
        Reason::PrimaryFailed => "PRIMARY_FAILED",
        Reason::ForcedEmptyPrimary => "FORCED_EMPTY_PRIMARY",
        Reason::ManualAllocation => "MANUAL_ALLOCATION",
        Reason::IndexClosed => "INDEX_CLOSED",
    }
}
