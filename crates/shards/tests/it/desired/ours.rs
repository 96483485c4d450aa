//! The crate's side: takes the server's state before a round, and compares what it makes of it.

use std::collections::BTreeMap;

use serde_json::Value;
use shards::copy::{
    AllocationIndex, AllocationStatus, CopyState, Reason, RecoverySource, ShardCopy, UnassignedInfo,
};
use shards::deciders::Deciders;
use shards::desired::{Computed, DesiredBalance, End, Reconciler, compute};
use shards::model::{
    AllowRebalance, Cluster, ClusterInfo, DiskUsage, Forecast, Index, IndexIndex, IndexTable, Node,
    NodeIndex, Roles, RoutingTable, ShardId, Shutdown, ShutdownKind, Stream, Version, Watermark,
};
use shards::nodes::RoutingNodes;
use shards::service::Allocation;

use super::plan::{IndexSpec, Planner};
use super::told::{Copy, Told, Wanted};
use crate::parse;

/// What is kept from round to round: the balance and the reconciler, in the numbers of all nodes and
/// indices that were ever seen.
pub struct Ours {
    version: Version,
    nodes: Vec<String>,
    desired: DesiredBalance,
    reconciler: Reconciler,
}

/// A round before the server has done it.
pub struct Round {
    cluster: Cluster,
    nodes: RoutingNodes,
    order_differs: Option<String>,
    computed: Computed,
}

const GIB: i64 = 1 << 30;
/// Circles that the server goes on when the computation does not end.
const CIRCLES: u32 = 5;

fn settings(planner: &Planner, version: Version) -> shards::model::Settings {
    let mut known = parse::cluster(&planner.settings);
    let is_set = |key: &str| {
        planner
            .settings
            .contains_key(&format!("cluster.routing.allocation.{key}"))
    };
    if !is_set("allow_rebalance") && version >= Version::release(8, 16, 0) {
        known.allow_rebalance = AllowRebalance::Always;
    }
    let headroom = |mark: &mut Watermark, name: &str, gib: i64| {
        if !is_set(&format!("disk.watermark.{name}")) {
            mark.max_headroom_bytes = Some(gib * GIB);
        }
    };
    headroom(&mut known.watermark_low, "low", 200);
    headroom(&mut known.watermark_high, "high", 150);
    headroom(&mut known.watermark_flood_stage, "flood_stage", 100);
    known
}

fn reason(name: &str) -> Reason {
    match name {
        "INDEX_CREATED" => Reason::IndexCreated,
        "CLUSTER_RECOVERED" => Reason::ClusterRecovered,
        "REPLICA_ADDED" => Reason::ReplicaAdded,
        "ALLOCATION_FAILED" => Reason::AllocationFailed,
        "NODE_LEFT" | "NODE_RESTARTING" => Reason::NodeLeft,
        "PRIMARY_FAILED" => Reason::PrimaryFailed,
        _ => panic!("the server says {name}"),
    }
}

fn status(name: &str) -> AllocationStatus {
    match name {
        "NO_ATTEMPT" => AllocationStatus::NoAttempt,
        "DECIDERS_NO" => AllocationStatus::DecidersNo,
        "DECIDERS_THROTTLED" => AllocationStatus::DecidersThrottled,
        _ => panic!("the server says {name}"),
    }
}

fn source(name: &str) -> RecoverySource {
    match name {
        "EMPTY_STORE" => RecoverySource::EmptyStore,
        "EXISTING_STORE" => RecoverySource::ExistingStore,
        "PEER" => RecoverySource::Peer,
        _ => panic!("the server says {name}"),
    }
}

fn state(name: &str) -> CopyState {
    match name {
        "UNASSIGNED" => CopyState::Unassigned,
        "INITIALIZING" => CopyState::Initializing,
        "STARTED" => CopyState::Started,
        _ => CopyState::Relocating,
    }
}

impl Ours {
    pub fn new(version: Version) -> Self {
        Self {
            version,
            nodes: Vec::new(),
            desired: DesiredBalance::default(),
            reconciler: Reconciler::new(),
        }
    }

    fn number(&mut self, id: &str) -> NodeIndex {
        let at = self.nodes.iter().position(|known| known == id);
        let at = at.unwrap_or_else(|| {
            self.nodes.push(id.to_owned());
            self.nodes.len() - 1
        });
        NodeIndex(u32::try_from(at).expect("few"))
    }

    fn copy(&mut self, shard: ShardId, copy: &Copy) -> ShardCopy {
        let info = copy.reason.as_deref().map(|why| UnassignedInfo {
            failed_allocations: copy.failures,
            last_status: status(copy.status.as_deref().expect("with a reason")),
            last_node: copy.last.as_deref().map(|id| self.number(id)),
            ..UnassignedInfo::new(reason(why), 0)
        });
        ShardCopy {
            shard,
            node: copy.node.as_deref().map(|id| self.number(id)),
            relocating: copy.to.as_deref().map(|id| self.number(id)),
            allocation: copy.id.map(AllocationIndex),
            relocation: copy.relocation.map(AllocationIndex),
            recovery: copy.source.as_deref().map(source),
            unassigned: info,
            expected_bytes: copy.expected,
            failed_relocations: copy.failed_moves,
            state: state(&copy.state),
            primary: copy.primary,
        }
    }

    fn index(planner: &Planner, spec: &IndexSpec) -> Index {
        let mut of_stream = planner
            .indices
            .iter()
            .filter(|other| spec.stream.is_some() && other.stream == spec.stream);
        let stream = match of_stream.next_back() {
            None => Stream::None,
            Some(last) if last.name == spec.name => Stream::WriteIndex,
            Some(_) => Stream::Backing,
        };
        Index {
            uuid: spec.uuid.clone(),
            settings: parse::index(&spec.settings),
            forecast: Forecast {
                write_load: spec.write_load,
                shard_bytes: spec.shard_bytes,
                stream,
                system: spec.system,
            },
            ..Index::new(spec.name.clone(), spec.shards, spec.replicas)
        }
    }

    /// The cluster as the server has it.
    fn cluster(&mut self, planner: &Planner, told: &Told) -> Cluster {
        let mut tables = Vec::new();
        for (name, shards) in &told.indices {
            let at = planner
                .indices
                .iter()
                .position(|index| index.name == *name)
                .expect("the planner's own");
            let index = IndexIndex(u32::try_from(at).expect("few"));
            let mut copies = Vec::new();
            for (shard, group) in (0..).zip(shards) {
                let shard = ShardId { index, shard };
                copies.extend(group.iter().map(|copy| self.copy(shard, copy)));
            }
            tables.push(IndexTable { index, copies });
        }
        for id in told.data_nodes.iter().chain(planner.nodes.keys()) {
            self.number(id);
        }
        let shutdowns = planner
            .shutdowns
            .iter()
            .map(|(id, (kind, target))| Shutdown {
                node: self.number(id),
                kind: match *kind {
                    "REMOVE" => ShutdownKind::Remove,
                    "REPLACE" => ShutdownKind::Replace,
                    "SIGTERM" => ShutdownKind::Sigterm,
                    _ => ShutdownKind::Restart,
                },
                target: target.clone(),
                delay_nanos: None,
            });
        let shutdowns = shutdowns.collect();
        let nodes = self.nodes.iter().map(|id| {
            let spec = planner.every_node.get(id);
            Node {
                id: id.clone(),
                name: spec.map_or_else(String::new, |spec| spec.name.clone()),
                host: spec.map_or_else(String::new, |spec| spec.host.clone()),
                host_address: spec.map_or_else(String::new, |spec| spec.address.clone()),
                publish_address: spec.map_or_else(String::new, |spec| spec.address.clone()),
                attributes: spec.map_or_else(BTreeMap::new, |spec| spec.attributes.clone()),
                roles: Roles::default(),
                data: spec.is_some_and(|spec| spec.data),
                version: self.version,
                present: planner.nodes.contains_key(id),
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        let data_nodes = told.data_nodes.iter().map(|id| self.number(id)).collect();
        Cluster {
            version: self.version,
            nodes,
            data_nodes,
            indices: planner
                .indices
                .iter()
                .map(|spec| Self::index(planner, spec))
                .collect(),
            routing: RoutingTable::new(tables),
            settings: settings(planner, self.version),
            info: planner.info.as_ref().map(|info| self.info(planner, info)),
            shutdowns,
            next_allocation: 1_000_000,
            ..Cluster::default()
        }
    }

    fn info(&self, planner: &Planner, spec: &Value) -> ClusterInfo {
        let mut info = ClusterInfo::default();
        info.by_place = true;
        let list = |key: &str| spec[key].as_array().cloned().unwrap_or_default();
        let node = |value: &Value| {
            let id = value.as_str().expect("an id");
            let at = self.nodes.iter().position(|known| known == id);
            NodeIndex(u32::try_from(at.expect("a known node")).expect("few"))
        };
        let shard = |row: &Value| {
            let at = planner
                .indices
                .iter()
                .position(|index| Some(index.name.as_str()) == row[0].as_str());
            ShardId {
                index: IndexIndex(u32::try_from(at.expect("a known index")).expect("few")),
                shard: u32::try_from(row[1].as_u64().expect("a number")).expect("few"),
            }
        };
        for key in ["least", "most"] {
            for row in list(key) {
                let usage = DiskUsage {
                    path: Some(info.path(row[1].as_str().expect("a path"))),
                    total_bytes: row[2].as_i64().expect("bytes"),
                    free_bytes: row[3].as_i64().expect("bytes"),
                };
                let map = if key == "least" {
                    &mut info.least
                } else {
                    &mut info.most
                };
                map.insert(node(&row[0]), usage);
            }
        }
        for row in list("sizes") {
            let (primary, bytes) = (row[2].as_bool(), row[3].as_i64());
            info.set_size_bytes(shard(&row), primary.expect("a flag"), bytes.expect("bytes"));
        }
        for row in list("paths") {
            let shard = shard(&row);
            let path = info.path(row[3].as_str().expect("a path"));
            // The path belongs to the place.
            let copy = ShardCopy {
                node: Some(node(&row[2])),
                ..ShardCopy::new_unassigned(
                    shard,
                    true,
                    RecoverySource::Peer,
                    UnassignedInfo::new(Reason::IndexCreated, 0),
                )
            };
            info.set_data_path(&copy, path);
        }
        info
    }

    /// Computes the balance, if this step is a round. Where that goes round in a circle, the server is told
    /// to stop in the same phase some circles later, and where no end is found, to stop there.
    pub fn prepare(&mut self, planner: &Planner, step: &mut Value, before: &Told) -> Option<Round> {
        match step["step"].as_str() {
            Some("reset") => self.desired = DesiredBalance::default(),
            Some("round") => {}
            _ => return None,
        }
        if step["step"] != "round" {
            return None;
        }
        let cluster = self.cluster(planner, before);
        let mut nodes = RoutingNodes::new(&cluster).expect("a consistent table");
        let order = nodes.order().iter();
        let order: Vec<String> = order.map(|node| self.nodes[node.at()].clone()).collect();
        let untouched = nodes.clone();
        let ignored = gateway(&cluster, &mut nodes, step);
        let computed = compute(&cluster, &untouched, &ignored, &self.desired, 0);
        match computed.end {
            End::Rest => {}
            End::Circle { period } => {
                step["enough"] = (computed.iterations + CIRCLES * period).into();
            }
            End::TooLong => step["enough"] = computed.iterations.into(),
        }
        Some(Round {
            cluster,
            nodes,
            order_differs: (order != before.routed).then(|| {
                format!(
                    "order of the nodes: server {:?}, ours {order:?}",
                    before.routed
                )
            }),
            computed,
        })
    }

    /// Takes a balance as the one before the next round, where nothing is compared.
    pub fn follow(&mut self, round: Round) {
        self.desired = round.computed.balance;
    }

    /// Makes steps towards the balance, and says where the server has come to something else.
    pub fn compare(&mut self, round: Round, after: &Told) -> Vec<String> {
        let Round {
            cluster,
            mut nodes,
            order_differs,
            computed,
        } = round;
        let mut found: Vec<String> = order_differs.into_iter().collect();
        found.extend(self.balances(&cluster, after, &computed.balance));
        let converged = computed.end == End::Rest;
        if converged != after.converged || converged && computed.iterations != after.iterations {
            found.push(format!(
                "iterations: server {} (converged: {}), ours {} ({:?})",
                after.iterations, after.converged, computed.iterations, computed.end
            ));
        }
        self.desired = computed.balance;
        let deciders = Deciders::new(&cluster, &nodes);
        let mut round = Allocation::new(&cluster, &mut nodes, &deciders, 0);
        self.reconciler.reconcile(&mut round, &self.desired);
        found.extend(self.placements(&cluster, after, &nodes));
        found
    }

    fn balances(&self, cluster: &Cluster, after: &Told, ours: &DesiredBalance) -> Vec<String> {
        let own: BTreeMap<(String, u32), Wanted> = ours
            .assignments
            .iter()
            .map(|(shard, assignment)| {
                let nodes = assignment.nodes.iter();
                let nodes = nodes.map(|node| self.nodes[node.at()].clone()).collect();
                (
                    (cluster.index(shard.index).name.clone(), shard.shard),
                    (
                        nodes,
                        assignment.total,
                        assignment.unassigned,
                        assignment.ignored,
                    ),
                )
            })
            .collect();
        let server: BTreeMap<_, _> = after.desired.iter().cloned().collect();
        let mut found = Vec::new();
        for (key, wanted) in &server {
            match own.get(key) {
                Some(same) if same == wanted => {}
                other => found.push(format!(
                    "desired {key:?}: server {wanted:?}, ours {other:?}"
                )),
            }
        }
        found.extend(
            own.keys()
                .filter(|key| !server.contains_key(*key))
                .map(|key| format!("desired {key:?}: the server has none")),
        );
        found.truncate(12);
        found
    }

    fn placements(&self, cluster: &Cluster, after: &Told, nodes: &RoutingNodes) -> Vec<String> {
        let id = |node: Option<NodeIndex>| {
            node.map_or("-", |node| self.nodes[node.at()].as_str())
                .to_owned()
        };
        let mut own: Vec<String> = Vec::new();
        let on_nodes = nodes
            .order()
            .iter()
            .flat_map(|&node| nodes.copies_on(node).map(|(_, copy)| copy))
            .filter(|copy| !(copy.is_initializing() && copy.relocating.is_some()));
        let unassigned = nodes.unassigned();
        let elsewhere = unassigned.list().iter().chain(unassigned.ignored());
        for copy in on_nodes.chain(elsewhere.map(|&handle| nodes.copy(handle))) {
            let name = &cluster.index(copy.shard.index).name;
            let info = copy
                .unassigned
                .map(|info| (info.failed_allocations, info.last_status));
            own.push(format!(
                "{name}[{}] {} {:?} {} {} {} {info:?}",
                copy.shard.shard,
                copy.primary,
                copy.state,
                id(copy.node),
                id(copy.relocating),
                copy.expected_bytes,
            ));
        }
        let mut server: Vec<String> = after
            .copies()
            .map(|(index, shard, copy)| {
                let info = copy.reason.as_deref().map(|_| {
                    (
                        copy.failures,
                        status(copy.status.as_deref().expect("with a reason")),
                    )
                });
                format!(
                    "{index}[{shard}] {} {:?} {} {} {} {info:?}",
                    copy.primary,
                    state(&copy.state),
                    copy.node.as_deref().unwrap_or("-"),
                    copy.to.as_deref().unwrap_or("-"),
                    copy.expected,
                )
            })
            .collect();
        own.sort();
        server.sort();
        let mut found: Vec<String> = server
            .iter()
            .filter(|line| own.binary_search(line).is_err())
            .map(|line| format!("server {line}"))
            .chain(
                own.iter()
                    .filter(|line| server.binary_search(line).is_err())
                    .map(|line| format!("  ours {line}")),
            )
            .collect();
        found.truncate(16);
        found
    }
}

/// What Gateway.java does: primaries with data go back to their last node, or are ignored like the claimed
/// copies. Returns the ignored ones.
fn gateway(cluster: &Cluster, nodes: &mut RoutingNodes, step: &Value) -> Vec<ShardCopy> {
    let claimed: Vec<&str> = step["claimed"]
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let is_claimed = |copy: &ShardCopy| {
        let name = &cluster.index(copy.shard.index).name;
        let key = format!("{name} {} {}", copy.shard.shard, copy.primary);
        copy.recovery == Some(RecoverySource::ExistingStore) || claimed.contains(&key.as_str())
    };
    let mut ignored = Vec::new();
    let handles = nodes.drain_unassigned();
    for handle in handles {
        let copy = *nodes.copy(handle);
        if is_claimed(&copy) {
            ignored.push(copy);
            nodes.ignore(handle, AllocationStatus::NoAttempt);
        } else {
            nodes.keep(handle);
        }
    }
    ignored
}
