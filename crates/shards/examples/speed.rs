//! Times allocation rounds of this crate. Prints CSV with the columns of `benches/shards/measure.sh`, for
//! the same clusters.
//!
//! `cargo run --release -p shards --example speed -- BUDGET_S SHAPE...`, where a shape is
//! INDICESxPRIMARIESxCOPIES@NODES. The version column holds one of:
//!
//! - `cold`: from a cluster state to its decisions, with nothing cached;
//! - `warm`: after one change to a cluster that is kept ready.
//!
//! `reroute` is a round with nothing to do (warm: after one copy has started, which is included in the
//! time). `create` is the reroute that allocates a new index (cold only). The digest is computed like that
//! of the real server's allocation in `measure.sh`: equal digests mean equal decisions.
//!
//! With `--desired` it times the desired balance of 8.19 and 9.2 instead, once each: of the cluster at rest, after a
//! node was lost, and after one has joined. Columns: version, operation, nodes, shards, ms, iterations.

use shards::copy::{AllocationIndex, CopyState, ShardCopy};
use shards::desired::{DesiredBalance, compute};
use shards::gateway::Stores;
use shards::java::string_hash;
use shards::model::{
    Cluster, ClusterInfo, DiskUsage, Index, IndexIndex, IndexSettings, IndexTable, Node, NodeIndex,
    RoutingTable, ShardId, Version,
};
use shards::nodes::RoutingNodes;
use shards::service::{self, CopyId, Live};
use std::process::ExitCode;
use std::time::Instant;

#[derive(Clone, Copy)]
struct Shape {
    indices: u32,
    primaries: u32,
    copies: u32,
    nodes: u32,
}

impl Shape {
    fn parse(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u32>> = text
            .split(['x', '@'])
            .map(|number| number.parse().ok().filter(|&number| number > 0))
            .collect();
        let &[indices, primaries, copies, nodes] = numbers?.as_slice() else {
            return None;
        };
        Some(Self {
            indices,
            primaries,
            copies,
            nodes,
        })
    }

    fn index(self, number: u32) -> Index {
        let name = if number < self.indices {
            format!("index-{number:07}")
        } else {
            "created".to_owned()
        };
        Index {
            uuid: format!("uuid-{name}"),
            settings: IndexSettings {
                creation_date: 1,
                ..IndexSettings::default()
            },
            ..Index::new(name, self.primaries, self.copies - 1)
        }
    }

    /// The cluster of `Cluster.java`: copies assigned to the nodes round-robin, disks 40 % used, sizes
    /// and paths known.
    fn cluster(self) -> Cluster {
        let node = |at: u32| Node {
            host_address: format!("10.0.{}.{}", at >> 8, at & 255),
            publish_address: format!("10.0.{}.{}", at >> 8, at & 255),
            ..Node::new(format!("node-{at}"), Version::release(7, 4, 0))
        };
        let mut info = ClusterInfo::default();
        let path = info.path("/data/nodes/0");
        let mut cluster = Cluster {
            nodes: (0..self.nodes).map(node).collect(),
            data_nodes: (0..self.nodes).map(NodeIndex).collect(),
            ..Cluster::default()
        };
        for &node in &cluster.data_nodes {
            let usage = DiskUsage {
                path: Some(path),
                total_bytes: 1 << 40,
                free_bytes: (1 << 40) / 100 * 60,
            };
            info.least.insert(node, usage);
            info.most.insert(node, usage);
        }
        let mut tables = Vec::new();
        let mut turn = 0;
        for number in 0..self.indices {
            let mut index = self.index(number);
            let number = IndexIndex(number);
            let mut copies = Vec::new();
            for shard in 0..self.primaries {
                let shard = ShardId {
                    index: number,
                    shard,
                };
                let mut in_sync = Vec::new();
                for copy in 0..self.copies {
                    let allocation = AllocationIndex(cluster.next_allocation);
                    cluster.next_allocation += 1;
                    in_sync.push(allocation);
                    let node = NodeIndex(turn % self.nodes);
                    let copy = ShardCopy::started(shard, copy == 0, node, allocation);
                    turn += 1;
                    info.set_size_bytes(shard, copy.primary, i64::from(1 + turn % 64) << 20);
                    info.set_data_path(&copy, path);
                    copies.push(copy);
                }
                index.in_sync.push(in_sync);
            }
            cluster.indices.push(index);
            tables.push(IndexTable {
                index: number,
                copies,
            });
        }
        cluster.routing = RoutingTable::new(tables);
        cluster.info = Some(info);
        cluster
    }
}

/// Hash of the whole allocation, computed as `Cluster.digest` in `Cluster.java` does.
fn digest(cluster: &Cluster) -> i32 {
    let name = |node: Option<NodeIndex>| match node {
        Some(node) => cluster.node(node).id.as_str(),
        None => "null",
    };
    let mut lines: Vec<String> = cluster
        .routing
        .copies()
        .map(|copy| {
            let state = match copy.state {
                CopyState::Unassigned => "UNASSIGNED",
                CopyState::Initializing => "INITIALIZING",
                CopyState::Started => "STARTED",
                CopyState::Relocating => "RELOCATING",
            };
            format!(
                "[{}][{}] {} {state} {} {}",
                cluster.index(copy.shard.index).name,
                copy.shard.shard,
                copy.primary,
                name(copy.node),
                name(copy.relocating)
            )
        })
        .collect();
    lines.sort_unstable();
    let hash = |hash: i32, line: &String| hash.wrapping_mul(31).wrapping_add(string_hash(line));
    lines.iter().fold(1, hash)
}

/// Repeats `run` until the budget is used up; returns the times it reports, in milliseconds.
fn times(budget_s: f64, mut run: impl FnMut() -> f64) -> Vec<f64> {
    let mut times = Vec::new();
    let began = Instant::now();
    while times.len() < 3 || times.len() < 400 && began.elapsed().as_secs_f64() < budget_s {
        times.push(run());
    }
    times
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed().as_secs_f64() * 1e3, result)
}

struct Rows {
    shape: Shape,
    budget_s: f64,
}

impl Rows {
    fn row(&self, how: &str, operation: &str, digest: i32, run: impl FnMut() -> f64) {
        let all = times(self.budget_s, run);
        let mut warm = all[all.len() / 2..].to_vec();
        warm.sort_by(f64::total_cmp);
        let Shape {
            indices,
            primaries,
            copies,
            nodes,
        } = self.shape;
        println!(
            "{how},{operation},{nodes},{indices},0,{primaries},{},{},{:.4},{:.4},{:.4},{},{digest:08x}",
            copies - 1,
            indices * primaries * copies,
            warm[warm.len() / 2],
            warm[0],
            warm[warm.len() - 1],
            all.len(),
        );
    }

    fn cold(&self, cluster: &Cluster) {
        let stores = Stores::default();
        // A round without work does not change the cluster.
        let mut same = cluster.clone();
        let found = digest(&same);
        self.row("cold", "reroute", found, || {
            let (ms, changes) = timed(|| service::reroute(&mut same, &stores, 0));
            assert!(changes.expect("a sound table").is_empty());
            ms
        });
        let mut created = cluster.clone();
        service::create_index(&mut created, self.shape.index(self.shape.indices), 0);
        let mut after = created.clone();
        service::reroute(&mut after, &stores, 0).expect("a sound table");
        self.row("cold", "create", digest(&after), || {
            let mut cluster = created.clone();
            timed(|| service::reroute(&mut cluster, &stores, 0).expect("a sound table")).0
        });
    }

    fn warm(&self, cluster: &Cluster) {
        let stores = Stores::default();
        let single = Index {
            shards: 1,
            replicas: 0,
            ..self.shape.index(self.shape.indices)
        };
        let mut created = cluster.clone();
        let number = service::create_index(&mut created, single, 0);
        // Balance is proven while the copy recovers, and that proof is what a later round rests on.
        created.settings.allow_rebalance = shards::model::AllowRebalance::Always;
        self.row("warm", "reroute", digest(cluster), || {
            let mut live = Live::new(created.clone()).expect("a sound table");
            live.reroute(&stores, 0).expect("a sound table");
            let copies = recovering(live.cluster(), number);
            let (ms, changes) = timed(|| {
                live.start(&copies).expect("it recovers");
                live.reroute(&stores, 0).expect("a sound table")
            });
            assert!(changes.is_empty());
            ms
        });
    }
}

/// Times the computation of the desired balance, which begins at the placement.
fn desired(shape: Shape) {
    let at_rest = shape.cluster();
    let mut lost = at_rest.clone();
    lost.nodes[0].present = false;
    lost.data_nodes.remove(0);
    service::nodes_changed(&mut lost, 0).expect("a sound table");
    let mut joined = at_rest.clone();
    joined.nodes.push(Node {
        id: "node-new".to_owned(),
        name: "node-new".to_owned(),
        ..joined.nodes[0].clone()
    });
    joined.data_nodes.push(NodeIndex(shape.nodes));
    for version in [Version::release(8, 19, 0), Version::release(9, 2, 0)] {
        for (operation, cluster) in [("rest", &at_rest), ("lost", &lost), ("joined", &joined)] {
            let mut cluster = cluster.clone();
            cluster.version = version;
            cluster.settings.allow_rebalance = shards::model::AllowRebalance::Always;
            let previous = DesiredBalance::of_placement(&at_rest);
            let (ms, computed) = timed(|| {
                let nodes = RoutingNodes::new(&cluster).expect("a sound table");
                compute(&cluster, &nodes, &[], &previous, 0)
            });
            println!(
                "{version},{operation},{},{},{ms:.1},{}",
                shape.nodes,
                shape.indices * shape.primaries * shape.copies,
                computed.iterations
            );
        }
    }
}

fn recovering(cluster: &Cluster, index: IndexIndex) -> Vec<CopyId> {
    let copies = cluster.routing.table(index).map(|table| &table.copies);
    let recovering = copies.into_iter().flatten().filter_map(|copy| {
        let allocation = copy.allocation.filter(|_| copy.is_initializing())?;
        Some(CopyId {
            shard: copy.shard,
            allocation,
        })
    });
    recovering.collect()
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let desired_only = arguments.iter().position(|word| word == "--desired");
    if let Some(at) = desired_only {
        arguments.remove(at);
    }
    let budget_s = arguments.first().and_then(|text| text.parse().ok());
    let shapes: Option<Vec<Shape>> = arguments
        .iter()
        .skip(1)
        .map(|text| Shape::parse(text))
        .collect();
    let (Some(budget_s), Some(shapes)) = (budget_s, shapes.filter(|shapes| !shapes.is_empty()))
    else {
        eprintln!("usage: speed [--desired] BUDGET_S INDICESxPRIMARIESxCOPIES@NODES...");
        return ExitCode::from(2);
    };
    for shape in shapes {
        if desired_only.is_some() {
            desired(shape);
            continue;
        }
        let rows = Rows { shape, budget_s };
        let cluster = shape.cluster();
        rows.cold(&cluster);
        rows.warm(&cluster);
    }
    ExitCode::SUCCESS
}
