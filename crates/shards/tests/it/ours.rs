//! The crate's side of the comparison: executes the same clusters and steps, and reports the state in the
//! driver's format.

mod words;

use std::collections::{BTreeMap, HashMap};

use shards::copy::{AllocationIndex, Reason, RecoverySource, ShardCopy, UnassignedInfo};
use shards::engine::Engine;
use shards::gateway::{Fetch, FileStore, StartedStore, StoreError};
use shards::model::{
    Cluster, ClusterInfo, DiskUsage, Index, IndexIndex, IndexState, IndexTable, Node, NodeIndex,
    RoutingTable, ShardId, TableOrder, Version,
};
use shards::nodes::RoutingError;
use shards::service::{self, CopyId, FailedCopy, Round};

use crate::answer::Order;
use crate::parse;
use crate::spec::{
    At, Attached, ClusterSpec, CopySpec, Given, IndexSpec, InfoSpec, NodeSpec, Settings, Step,
    StoreSpec, Usage,
};

pub struct Ours {
    engine: fn() -> Engine,
    pub cluster: Cluster,
    /// Per index, as written in the spec.
    settings: BTreeMap<String, Settings>,
    stores: BTreeMap<(String, u32), BTreeMap<String, StoreSpec>>,
    pending: Vec<(String, u32)>,
    now_nanos: i64,
    /// Maps allocation ids to the numbers in responses, and back.
    numbers: HashMap<AllocationIndex, u64>,
    ids: HashMap<u64, AllocationIndex>,
    next_number: u64,
}

fn node(spec: &NodeSpec) -> Node {
    let mut parts = spec
        .version
        .split('.')
        .map(|part| part.parse().expect("a number"));
    let mut part = || parts.next().expect("three numbers");
    Node {
        id: spec.id.clone(),
        name: spec.name.clone(),
        host: spec.host.clone(),
        host_address: spec.address.clone(),
        publish_address: spec.address.clone(),
        attributes: spec.attributes.clone(),
        roles: shards::model::Roles::default(),
        data: spec.data,
        version: Version::release(part(), part(), part()),
        present: true,
    }
}

fn index(spec: &IndexSpec) -> Index {
    let shards = spec.number("index.number_of_shards");
    let in_sync = (0..shards as usize).map(|shard| {
        let ids = spec.in_sync.get(shard).map_or(&[][..], Vec::as_slice);
        ids.iter().map(|&id| AllocationIndex(id)).collect()
    });
    Index {
        name: spec.name.clone(),
        uuid: spec.uuid.clone(),
        shards,
        replicas: spec.number("index.number_of_replicas"),
        state: if spec.closed {
            IndexState::Closed
        } else {
            IndexState::Open
        },
        settings: parse::index(&spec.settings),
        in_sync: in_sync.collect(),
        resize_source: None,
        forecast: shards::model::Forecast::default(),
    }
}

fn reason(name: &str) -> Reason {
    match name {
        "INDEX_CREATED" => Reason::IndexCreated,
        "CLUSTER_RECOVERED" => Reason::ClusterRecovered,
        "INDEX_REOPENED" => Reason::IndexReopened,
        "DANGLING_INDEX_IMPORTED" => Reason::DanglingIndexImported,
        "REPLICA_ADDED" => Reason::ReplicaAdded,
        "ALLOCATION_FAILED" => Reason::AllocationFailed,
        "NODE_LEFT" => Reason::NodeLeft,
        _ => panic!("the generator does not write {name}"),
    }
}

impl Ours {
    /// Creates the cluster, with its maps in the server's initial iteration order.
    pub fn new(spec: &ClusterSpec, order: &Order, with: &Attached, engine: fn() -> Engine) -> Self {
        let mut ours = Self {
            engine,
            cluster: Cluster {
                nodes: spec.nodes.iter().map(node).collect(),
                indices: spec.indices.iter().map(index).collect(),
                settings: parse::cluster(&spec.settings),
                ..Cluster::default()
            },
            settings: BTreeMap::new(),
            stores: BTreeMap::new(),
            pending: Vec::new(),
            now_nanos: 0,
            numbers: HashMap::new(),
            ids: HashMap::new(),
            next_number: 1,
        };
        ours.order_nodes(order);
        let mut tables: HashMap<&str, Vec<Vec<ShardCopy>>> = HashMap::new();
        for spec in &spec.indices {
            ours.settings
                .insert(spec.name.clone(), spec.settings.clone());
            for &id in spec.in_sync.iter().flatten() {
                ours.know(id);
            }
            tables.insert(&spec.name, ours.table(spec));
        }
        let ordered = order.indices.iter().map(|(name, shards)| IndexTable {
            index: ours
                .cluster
                .index_by_name(name)
                .expect("the server's are ours"),
            copies: shards
                .iter()
                .flat_map(|&shard| tables[name.as_str()][shard as usize].clone())
                .collect(),
        });
        ours.cluster.routing = RoutingTable::new(ordered.collect(), TableOrder::Deterministic);
        ours.attach(with);
        ours
    }

    fn know(&mut self, id: u64) {
        self.numbers.insert(AllocationIndex(id), id);
        self.ids.insert(id, AllocationIndex(id));
        self.next_number = self.next_number.max(id + 1);
        self.cluster.next_allocation = self.cluster.next_allocation.max(id + 1);
    }

    fn order_nodes(&mut self, order: &Order) {
        let nodes = order.data_nodes.iter();
        self.cluster.data_nodes = nodes.map(|id| self.node_index(id)).collect();
    }

    fn node_index(&self, id: &str) -> NodeIndex {
        self.cluster
            .node_by_id(id)
            .unwrap_or_else(|| panic!("no node {id}"))
    }

    pub fn index_index(&self, name: &str) -> IndexIndex {
        self.cluster
            .index_by_name(name)
            .unwrap_or_else(|| panic!("no index {name}"))
    }

    fn table(&mut self, spec: &IndexSpec) -> Vec<Vec<ShardCopy>> {
        let index = self.index_index(&spec.name);
        let Some(shards) = &spec.shards else {
            let copies = spec.number("index.number_of_replicas") + 1;
            let new = |shard, copy| {
                let source = if copy == 0 {
                    RecoverySource::EmptyStore
                } else {
                    RecoverySource::Peer
                };
                let info = UnassignedInfo::new(Reason::IndexCreated, 0);
                ShardCopy::new_unassigned(ShardId { index, shard }, copy == 0, source, info)
            };
            return (0..spec.number("index.number_of_shards"))
                .map(|shard| (0..copies).map(|copy| new(shard, copy)).collect())
                .collect();
        };
        let mut table = Vec::new();
        for (shard, group) in (0..).zip(shards) {
            let shard = ShardId { index, shard };
            let copies = group.iter().enumerate();
            table.push(
                copies
                    .map(|(i, copy)| self.copy(shard, i == 0, copy))
                    .collect(),
            );
        }
        table
    }

    fn copy(&mut self, shard: ShardId, primary: bool, spec: &CopySpec) -> ShardCopy {
        let at = shard.shard as usize;
        let had_data = !self.cluster.index(shard.index).in_sync[at].is_empty();
        let source = match (primary, had_data) {
            (false, _) => RecoverySource::Peer,
            (true, false) => RecoverySource::EmptyStore,
            (true, true) => RecoverySource::ExistingStore,
        };
        let info = UnassignedInfo {
            failed_allocations: spec.failures,
            delayed: spec.delayed,
            ..UnassignedInfo::new(reason(spec.reason), 0)
        };
        let copy = ShardCopy::new_unassigned(shard, primary, source, info);
        let (Some(node), Some(id)) = (&spec.node, spec.id) else {
            return copy;
        };
        self.know(id);
        let copy = copy.initialize(self.node_index(node), AllocationIndex(id), -1);
        if spec.state == Given::Initializing {
            return copy;
        }
        let sets = &mut self.cluster.indices[shard.index.at()].in_sync;
        sets[at].push(AllocationIndex(id));
        let copy = copy.move_to_started();
        match &spec.to {
            Some(to) => {
                // The generator counts from 1, so numbers from here on are unused.
                let target = AllocationIndex((1 << 40) | id);
                self.cluster.next_allocation = self.cluster.next_allocation.max(target.0 + 1);
                copy.relocate(self.node_index(to), target, -1)
            }
            None => copy,
        }
    }

    /// Applies the data attached to a step, before the step.
    fn attach(&mut self, with: &Attached) {
        self.now_nanos = with.clock;
        if let Some(info) = &with.info {
            self.cluster.info = Some(self.info(info));
        }
        for store in &with.stores {
            let nodes = self
                .stores
                .entry((store.index.clone(), store.shard))
                .or_default();
            if store.id.is_none() {
                nodes.remove(&store.node);
            } else {
                nodes.insert(store.node.clone(), store.clone());
            }
        }
        self.pending.clone_from(&with.pending);
    }

    fn info(&self, spec: &InfoSpec) -> ClusterInfo {
        let mut info = ClusterInfo::default();
        let usage = |(node, path, total_bytes, free_bytes): &Usage, info: &mut ClusterInfo| {
            let usage = DiskUsage {
                path: Some(info.path(path)),
                total_bytes: *total_bytes,
                free_bytes: *free_bytes,
            };
            (self.node_index(node), usage)
        };
        info.least = spec.least.iter().map(|of| usage(of, &mut info)).collect();
        info.most = spec.most.iter().map(|of| usage(of, &mut info)).collect();
        for (index, shard, primary, bytes) in &spec.sizes {
            let index = self.index_index(index);
            info.set_size_bytes(
                ShardId {
                    index,
                    shard: *shard,
                },
                *primary,
                *bytes,
            );
        }
        let mut copies = HashMap::new();
        for copy in self.cluster.routing.copies() {
            if let Some(node) = copy.node {
                copies.insert((copy.shard, node), *copy);
            }
            if copy.is_relocating() {
                let target = copy.relocation_target();
                copies.extend(target.node.map(|node| ((copy.shard, node), target)));
            }
        }
        for (index, shard, node, path) in &spec.paths {
            let index = self.index_index(index);
            let shard = ShardId {
                index,
                shard: *shard,
            };
            let path = info.path(path);
            info.set_data_path(&copies[&(shard, self.node_index(node))], path);
        }
        info
    }

    fn copy_id(&self, (index, shard, node): &At) -> CopyId {
        let shard = ShardId {
            index: self.index_index(index),
            shard: *shard,
        };
        let node = self.node_index(node);
        let mut found = None;
        for copy in self
            .cluster
            .routing
            .copies()
            .filter(|copy| copy.shard == shard)
        {
            if copy.node == Some(node) {
                found = copy.allocation;
            } else if copy.is_relocating() && copy.relocating == Some(node) {
                found = copy.relocation;
            }
        }
        let allocation = found.unwrap_or_else(|| panic!("{index}[{}] is not there", shard.shard));
        CopyId { shard, allocation }
    }

    /// Applies a step. If a node joined or left, `order` gives the new order of the server's node map.
    pub fn step(
        &mut self,
        step: &Step,
        with: &Attached,
        order: &Order,
    ) -> Result<(), RoutingError> {
        self.attach(with);
        match step {
            Step::NodeLeft { nodes } => {
                for id in nodes {
                    let at = self.node_index(id).at();
                    self.cluster.nodes[at].present = false;
                }
                self.order_nodes(order);
            }
            Step::NodeJoined { nodes } => {
                for spec in nodes {
                    match self.cluster.node_by_id(&spec.id) {
                        Some(known) => self.cluster.nodes[known.at()] = node(spec),
                        None => self.cluster.nodes.push(node(spec)),
                    }
                }
                self.order_nodes(order);
            }
            _ => {}
        }
        let now_nanos = self.now_nanos;
        let fetch = Held {
            stores: self.named_stores(),
            pending: self
                .pending
                .iter()
                .map(|(index, shard)| self.shard(index, *shard))
                .collect(),
        };
        let round = Round {
            fetch: &fetch,
            now_nanos,
            engine: self.engine,
        };
        match step {
            Step::Reroute { retry_failed: true } => {
                service::retry_failed(&mut self.cluster, &round)?
            }
            Step::Start { copies } => {
                let copies: Vec<CopyId> = copies.iter().map(|at| self.copy_id(at)).collect();
                service::start(&mut self.cluster, &copies)?
            }
            Step::Fail { copies } => {
                let failed: Vec<FailedCopy> = copies
                    .iter()
                    .map(|(index, shard, node, mark_stale)| FailedCopy {
                        copy: self.copy_id(&(index.clone(), *shard, node.clone())),
                        mark_stale: *mark_stale,
                    })
                    .collect();
                service::fail(&mut self.cluster, &failed, &[], &round)?
            }
            Step::NodeLeft { .. } => service::nodes_changed(&mut self.cluster, true, &round)?,
            _ => {
                self.prepare(step);
                service::reroute(&mut self.cluster, &round)?
            }
        };
        Ok(())
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
        self.cluster.routing = RoutingTable::new(ordered.collect(), TableOrder::Kept);
    }

    /// Applies the changes that precede the reroute.
    pub fn prepare(&mut self, step: &Step) {
        let now = self.now_nanos;
        match step {
            Step::Create { indices } => {
                for spec in indices {
                    self.settings
                        .insert(spec.name.clone(), spec.settings.clone());
                    service::create_index(&mut self.cluster, index(spec), now);
                }
            }
            Step::Delete { indices } => {
                for name in indices {
                    let index = self.index_index(name);
                    service::delete_index(&mut self.cluster, index);
                }
            }
            Step::Close { indices } => {
                for name in indices {
                    let index = self.index_index(name);
                    service::close_index(&mut self.cluster, index, now);
                }
            }
            Step::Open { indices } => {
                for name in indices {
                    let index = self.index_index(name);
                    service::open_index(&mut self.cluster, index, now);
                }
            }
            Step::Settings { settings } => self.cluster.settings = parse::cluster(settings),
            Step::IndexSettings { index, settings } => self.change(index, settings),
            _ => {}
        }
    }

    fn change(&mut self, name: &str, changes: &BTreeMap<String, Option<String>>) {
        let index = self.index_index(name);
        let written = self
            .settings
            .get_mut(name)
            .expect("every index has its settings");
        for (key, value) in changes {
            match value {
                Some(value) => written.insert(key.clone(), value.clone()),
                None => written.remove(key),
            };
        }
        let replicas = written["index.number_of_replicas"]
            .parse()
            .expect("a number");
        self.cluster.indices[index.at()].settings = parse::index(written);
        if self.cluster.index(index).replicas != replicas {
            service::set_replicas(&mut self.cluster, index, replicas, self.now_nanos);
        }
    }

    fn shard(&self, index: &str, shard: u32) -> ShardId {
        ShardId {
            index: self.index_index(index),
            shard,
        }
    }

    /// Store contents of the nodes that are present.
    fn named_stores(&self) -> HashMap<ShardId, Vec<(StartedStore, FileStore)>> {
        let mut named = HashMap::new();
        for ((index, shard), nodes) in &self.stores {
            let Some(index) = self.cluster.index_by_name(index) else {
                continue;
            };
            let mut held = Vec::new();
            for (id, store) in nodes {
                let Some(node) = self.cluster.node_by_id(id) else {
                    continue;
                };
                if !self.cluster.node(node).is_live_data() {
                    continue;
                }
                let started = StartedStore {
                    node,
                    allocation: store.id.map(|id| self.ids[&id]),
                    primary: store.primary,
                    error: store.problem.map(|problem| match problem {
                        "locked" => StoreError::Locked,
                        _ => StoreError::Other,
                    }),
                };
                // Every active copy has all files, so all of these files match.
                let bytes: i64 = store.files.iter().map(|(_, bytes, _)| bytes).sum();
                let files = FileStore {
                    node,
                    is_empty: store.files.is_empty(),
                    // The generator creates at most one sync id per shard.
                    sync_id: store.sync.as_ref().map(|_| 1),
                    matching_bytes: u64::try_from(bytes).expect("not negative"),
                };
                held.push((started, files));
            }
            named.insert(
                ShardId {
                    index,
                    shard: *shard,
                },
                held,
            );
        }
        named
    }
}

struct Held {
    stores: HashMap<ShardId, Vec<(StartedStore, FileStore)>>,
    pending: Vec<ShardId>,
}

impl Held {
    fn of<T>(&self, shard: ShardId, pick: fn(&(StartedStore, FileStore)) -> T) -> Option<Vec<T>> {
        if self.pending.contains(&shard) {
            return None;
        }
        let held = self.stores.get(&shard).map_or(&[][..], Vec::as_slice);
        Some(held.iter().map(pick).collect())
    }
}

impl Fetch for Held {
    fn started(&self, shard: ShardId) -> Option<Vec<StartedStore>> {
        self.of(shard, |held| held.0)
    }

    fn files(&self, shard: ShardId) -> Option<Vec<FileStore>> {
        self.of(shard, |held| held.1)
    }
}
