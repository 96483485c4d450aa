//! The crate's side of the comparison: executes the same clusters and steps, and reports the state in the
//! driver's format.

use std::collections::HashMap;

use shards::copy::{
    AllocationIndex, AllocationStatus, CopyState, Reason, RecoverySource, ShardCopy, UnassignedInfo,
};
use shards::gateway::Stores;
use shards::model::{
    Cluster, Index, IndexIndex, IndexTable, Node, NodeIndex, RoutingTable, ShardId, Version,
};
use shards::nodes::{RoutingError, RoutingNodes};
use shards::service::{self, CopyId, Live};

use crate::answer::{Answer, Order};
use crate::driver::Server;
use crate::parse;
use crate::spec::{At, ClusterSpec, IndexSpec, NodeSpec, Step};

pub struct Ours {
    pub cluster: Cluster,
}

fn node(spec: &NodeSpec, version: Version) -> Node {
    Node {
        id: spec.id.clone(),
        name: spec.name.clone(),
        ..Node::new(spec.address.clone(), version)
    }
}

fn index(spec: &IndexSpec) -> Index {
    let shards = spec.number("index.number_of_shards");
    let replicas = spec.number("index.number_of_replicas");
    Index {
        uuid: spec.uuid.clone(),
        settings: parse::index(&spec.settings),
        in_sync: vec![Vec::new(); shards as usize],
        ..Index::new(spec.name.clone(), shards, replicas)
    }
}

impl Ours {
    /// Creates the cluster, with its maps in the server's iteration order.
    pub fn new(server: Server, spec: &ClusterSpec, order: &Order) -> Self {
        let nodes = spec.nodes.iter().map(|spec| node(spec, server.version));
        let mut ours = Self {
            cluster: Cluster {
                product: server.product,
                version: server.version,
                nodes: nodes.collect(),
                indices: spec.indices.iter().map(index).collect(),
                settings: parse::cluster(&spec.settings),
                ..Cluster::default()
            },
        };
        ours.order_nodes(order);
        let mut tables: HashMap<&str, Vec<Vec<ShardCopy>>> = HashMap::new();
        for spec in &spec.indices {
            tables.insert(&spec.name, ours.table(spec));
        }
        let ordered = order.indices.iter().map(|(name, shards)| IndexTable {
            index: ours.index_index(name),
            copies: shards
                .iter()
                .flat_map(|&shard| tables[name.as_str()][shard as usize].clone())
                .collect(),
        });
        ours.cluster.routing = RoutingTable::new(ordered.collect());
        ours
    }

    fn order_nodes(&mut self, order: &Order) {
        let nodes = order.data_nodes.iter();
        self.cluster.data_nodes = nodes.map(|id| self.node_index(id)).collect();
    }

    fn node_index(&self, id: &str) -> NodeIndex {
        let mut nodes = (0..).map(NodeIndex).zip(&self.cluster.nodes);
        let found = nodes.find(|(_, node)| node.id == id);
        found.unwrap_or_else(|| panic!("no node {id}")).0
    }

    pub fn index_index(&self, name: &str) -> IndexIndex {
        self.cluster
            .index_by_name(name)
            .unwrap_or_else(|| panic!("no index {name}"))
    }

    /// The copies of each shard, as they are given.
    fn table(&mut self, spec: &IndexSpec) -> Vec<Vec<ShardCopy>> {
        let index = self.index_index(&spec.name);
        let mut table = Vec::new();
        for (shard, nodes) in (0..).zip(spec.shards.iter().flatten()) {
            let shard = ShardId { index, shard };
            let copies = nodes.iter().enumerate();
            let copies = copies.map(|(at, node)| self.copy(shard, at == 0, node.as_deref()));
            table.push(copies.collect());
        }
        table
    }

    fn copy(&mut self, shard: ShardId, primary: bool, node: Option<&str>) -> ShardCopy {
        let Some(node) = node else {
            let source = if primary {
                RecoverySource::EmptyStore
            } else {
                RecoverySource::Peer
            };
            let info = UnassignedInfo::new(Reason::IndexCreated, 0);
            return ShardCopy::new_unassigned(shard, primary, source, info);
        };
        let id = AllocationIndex(self.cluster.next_allocation);
        self.cluster.next_allocation += 1;
        self.cluster.indices[shard.index.at()].in_sync[shard.shard as usize].push(id);
        ShardCopy::started(shard, primary, self.node_index(node), id)
    }

    fn copy_id(&self, (index, shard, node): &At) -> CopyId {
        let shard = ShardId {
            index: self.index_index(index),
            shard: *shard,
        };
        let node = self.node_index(node);
        let copies = self.cluster.routing.copies();
        let mut found = copies
            .filter(|copy| copy.shard == shard)
            .filter_map(|copy| {
                if copy.node == Some(node) {
                    copy.allocation
                } else {
                    copy.relocation.filter(|_| copy.relocating == Some(node))
                }
            });
        let allocation = found.next();
        let allocation =
            allocation.unwrap_or_else(|| panic!("{index}[{}] is not there", shard.shard));
        CopyId { shard, allocation }
    }

    /// Applies a step. If nodes joined, `order` gives the new order of the server's node map.
    pub fn step(&mut self, step: &Step, order: &Order) -> Result<(), RoutingError> {
        match step {
            Step::Start { copies } => {
                let copies: Vec<CopyId> = copies.iter().map(|at| self.copy_id(at)).collect();
                let mut live = Live::new(std::mem::take(&mut self.cluster))?;
                live.start(&copies)?;
                self.cluster = live.into_cluster();
                return Ok(());
            }
            Step::Create { indices } => {
                for spec in indices {
                    service::create_index(&mut self.cluster, index(spec), 0);
                }
                return Ok(());
            }
            Step::NodeJoined { nodes } => {
                let version = self.cluster.version;
                let joined = nodes.iter().map(|spec| node(spec, version));
                self.cluster.nodes.extend(joined);
                self.order_nodes(order);
            }
            Step::Settings { settings } => self.cluster.settings = parse::cluster(settings),
            Step::Reroute => {}
        }
        // No node has data of copies that are unassigned: they are all new.
        service::reroute(&mut self.cluster, &Stores::default(), 0).map(|_| ())
    }

    /// Reorders the maps as the server iterates over them.
    pub fn adopt(&mut self, order: &Order) {
        self.order_nodes(order);
        let ordered = order.indices.iter().map(|(name, shards)| {
            let index = self.index_index(name);
            let table = self.cluster.routing.table(index).expect("it is routed");
            let groups = shards.iter().map(|shard| table.group(*shard));
            IndexTable {
                index,
                copies: groups.flatten().copied().collect(),
            }
        });
        self.cluster.routing = RoutingTable::new(ordered.collect());
    }

    /// The state in the driver's format, without the order of the maps, which is the server's.
    pub fn answer(&self) -> Result<Answer, RoutingError> {
        let nodes = RoutingNodes::new(&self.cluster)?;
        let mut answer = Answer::default();
        for &node in nodes.order() {
            let copies = nodes.copies_on(node).map(|(_, copy)| self.line(copy));
            let id = self.cluster.node(node).id.clone();
            answer.nodes.push((id, copies.collect()));
        }
        for &handle in nodes.unassigned().list() {
            let copy = nodes.copy(handle);
            let info = copy.unassigned.expect("an unassigned copy has its reason");
            let status = match info.last_status {
                AllocationStatus::DecidersNo => "DECIDERS_NO",
                AllocationStatus::NoValidShardCopy => "NO_VALID_SHARD_COPY",
                AllocationStatus::DecidersThrottled => "DECIDERS_THROTTLED",
                AllocationStatus::DelayedAllocation => "DELAYED_ALLOCATION",
                AllocationStatus::NoAttempt => "NO_ATTEMPT",
            };
            answer
                .unassigned
                .push(format!("{} {status}", self.head(copy)));
        }
        Ok(answer)
    }

    fn head(&self, copy: &ShardCopy) -> String {
        format!(
            "{}[{}] {}",
            self.cluster.index(copy.shard.index).name,
            copy.shard.shard,
            if copy.primary { "P" } else { "R" }
        )
    }

    fn line(&self, copy: &ShardCopy) -> String {
        let state = match copy.state {
            CopyState::Unassigned => "UNASSIGNED",
            CopyState::Initializing => "INITIALIZING",
            CopyState::Started => "STARTED",
            CopyState::Relocating => "RELOCATING",
        };
        let other = copy.relocating.map_or_else(String::new, |node| {
            let way = if copy.is_relocating() { "to" } else { "from" };
            format!(" {way} {}", self.cluster.node(node).id)
        });
        format!("{} {state}{other}", self.head(copy))
    }
}
