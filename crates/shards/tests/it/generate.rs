//! Generates a random cluster from a seed.

use std::collections::{BTreeMap, BTreeSet};

use crate::rng::Rng;
use crate::spec::{ClusterSpec, CopySpec, Given, IndexSpec, NodeSpec, Settings};

/// Unique names and numbers.
#[derive(Debug, Clone)]
pub struct Names {
    next_node: usize,
    next_index: usize,
    next_id: u64,
    /// Naming style of nodes and indices, which affects the order of hash maps.
    style: usize,
    versions: Vec<&'static str>,
    racks: usize,
}

impl Names {
    fn new(rng: &mut Rng) -> Self {
        let versions: &[&[&str]] = &[
            &["7.4.0"],
            &["7.4.0"],
            &["7.4.0"],
            &["7.4.0"],
            &["7.4.0", "7.3.2"],
            &["7.4.0", "7.2.0", "7.3.0"],
            &["7.4.0", "6.8.3", "7.1.1"],
        ];
        Self {
            next_node: 0,
            next_index: 0,
            next_id: 1,
            style: rng.below(4),
            versions: versions[rng.below(versions.len())].to_vec(),
            racks: rng.between(1, 4),
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Creates a new node.
    pub fn node(&mut self, rng: &mut Rng) -> NodeSpec {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        let number = self.next_node;
        self.next_node += 1;
        let id = match self.style {
            0 => format!("n{number}"),
            1 => format!("node-{number:03}"),
            // The form of the ids that the server generates.
            _ => (0..22)
                .map(|_| char::from(LETTERS[rng.below(LETTERS.len())]))
                .collect(),
        };
        let mut attributes = BTreeMap::new();
        if !rng.chance(8) {
            attributes.insert("rack".to_owned(), format!("r{}", rng.below(self.racks)));
        }
        if !rng.chance(15) {
            attributes.insert(
                "zone".to_owned(),
                rng.pick(&["east", "west", "north"]).to_owned(),
            );
        }
        if rng.chance(60) {
            attributes.insert(
                "box_type".to_owned(),
                rng.pick(&["hot", "warm", "cold"]).to_owned(),
            );
        }
        // Occasionally two nodes share a host.
        let host = if rng.chance(15) { number / 2 } else { number };
        NodeSpec {
            name: format!("{}-{number}", rng.pick(&["data", "es", "Hot"])),
            id,
            host: format!("host{host}.example"),
            address: format!("10.0.{}.{}", host / 8, host % 8 + 1),
            port: 9300 + number,
            attributes,
            data: !rng.chance(6),
            master: rng.chance(30),
            version: rng.pick(&self.versions).to_owned(),
        }
    }

    /// Creates a new index with every copy unassigned.
    pub fn index(&mut self, rng: &mut Rng, shards: usize, replicas: usize) -> IndexSpec {
        let number = self.next_index;
        self.next_index += 1;
        let name = match rng.below(5) {
            0 => format!("i{number}"),
            1 => format!(
                "logs-2019.{:02}.{:02}-{number}",
                number % 12 + 1,
                number % 28 + 1
            ),
            2 => format!(".monitoring-es-7-{number:06}"),
            3 => format!("größe-{number}"),
            _ => format!(
                "metricbeat-7.4.0-{:08x}-{number:06}",
                rng.next() & 0xFFFF_FFFF
            ),
        };
        let mut settings = Settings::new();
        let mut set = |key: &str, value: String| settings.insert(format!("index.{key}"), value);
        set("number_of_shards", shards.to_string());
        set("number_of_replicas", replicas.to_string());
        // Give some the same date, so that names decide.
        if !rng.chance(10) {
            let day = rng.below(20);
            set(
                "creation_date",
                (1_570_000_000_000 + day * 86_400_000).to_string(),
            );
        }
        if rng.chance(20) {
            set("priority", rng.pick(&["0", "1", "5", "100"]).to_owned());
        }
        if rng.chance(8) {
            set(
                "routing.allocation.total_shards_per_node",
                rng.between(1, 4).to_string(),
            );
        }
        if rng.chance(4) {
            let values = ["none", "new_primaries", "primaries", "all"];
            set("routing.allocation.enable", rng.pick(&values).to_owned());
        }
        if rng.chance(6) {
            let values = ["none", "primaries", "replicas", "all"];
            set("routing.rebalance.enable", rng.pick(&values).to_owned());
        }
        if rng.chance(10) {
            set("allocation.max_retries", rng.between(1, 4).to_string());
        }
        if rng.chance(60) {
            let values = ["0", "0ms", "100ms", "1m", "1d"];
            set(
                "unassigned.node_left.delayed_timeout",
                rng.pick(&values).to_owned(),
            );
        }
        if rng.chance(10) {
            let (key, value) = filter(rng, self);
            settings.insert(format!("index.routing.allocation.{key}"), value);
        }
        IndexSpec {
            uuid: format!("uuid-{number}-{:x}", rng.next()),
            name,
            settings,
            closed: false,
            in_sync: Vec::new(),
            shards: None,
        }
    }
}

/// A random filter: "exclude._name" and its value.
pub fn filter(rng: &mut Rng, names: &Names) -> (String, String) {
    let group = rng.pick(&["include", "exclude", "exclude", "require"]);
    let some = rng.below(names.next_node.max(1));
    let other = rng.below(names.next_node.max(1));
    let (attribute, value) = match rng.below(9) {
        0 => ("_name", format!("data-{some},es-{other}")),
        1 => (
            "_name",
            rng.pick(&["data-*", "*-1", "es-1*", "Hot*,es-*"])
                .to_owned(),
        ),
        2 => ("_ip", format!("10.0.{}.{}", some / 8, some % 8 + 1)),
        3 => (
            "_host_ip",
            rng.pick(&["10.0.0.*", "10.0.*.1", "*"]).to_owned(),
        ),
        4 => ("_publish_ip", format!("10.0.{}.*", some / 8)),
        5 => (
            "_host",
            rng.pick(&["host1*", "host2.example", "*.example"])
                .to_owned(),
        ),
        6 => (
            "box_type",
            rng.pick(&["hot", "warm,cold", "hot, warm", "c*"])
                .to_owned(),
        ),
        7 => ("rack", format!("r{}", rng.below(names.racks))),
        _ => ("zone", rng.pick(&["east", "w*", "north,east"]).to_owned()),
    };
    (format!("{group}.{attribute}"), value)
}

/// Random cluster settings; most are left at their defaults.
pub fn settings(rng: &mut Rng, names: &Names) -> Settings {
    let mut settings = Settings::new();
    let mut set = |key: &str, value: String| {
        settings.insert(format!("cluster.routing.{key}"), value);
    };
    let few = ["0", "1", "2", "5", "20", "100"];
    for key in [
        "allocation.node_initial_primaries_recoveries",
        "allocation.node_concurrent_incoming_recoveries",
        "allocation.node_concurrent_outgoing_recoveries",
        "allocation.node_concurrent_recoveries",
    ] {
        if rng.chance(25) {
            set(key, rng.pick(&few).to_owned());
        }
    }
    if rng.chance(40) {
        let values = ["-1", "0", "1", "2", "8", "50"];
        set(
            "allocation.cluster_concurrent_rebalance",
            rng.pick(&values).to_owned(),
        );
    }
    if rng.chance(45) {
        let values = ["always", "indices_primaries_active", "indices_all_active"];
        set("allocation.allow_rebalance", rng.pick(&values).to_owned());
    }
    if rng.chance(8) {
        let values = ["none", "new_primaries", "primaries", "all"];
        set("allocation.enable", rng.pick(&values).to_owned());
    }
    if rng.chance(12) {
        let values = ["none", "primaries", "replicas", "all"];
        set("rebalance.enable", rng.pick(&values).to_owned());
    }
    if rng.chance(12) {
        set(
            "allocation.same_shard.host",
            rng.pick(&["true", "false"]).to_owned(),
        );
    }
    if rng.chance(10) {
        set(
            "allocation.total_shards_per_node",
            rng.between(1, 60).to_string(),
        );
    }
    awareness(rng, &mut set);
    for _ in 0..2 {
        if rng.chance(15) {
            let (key, value) = filter(rng, names);
            set(&format!("allocation.{key}"), value);
        }
    }
    watermarks(rng, &mut set);
    if rng.chance(15) {
        set("allocation.disk.include_relocations", "false".to_owned());
    }
    if rng.chance(10) {
        set("allocation.disk.threshold_enabled", "false".to_owned());
    }
    if rng.chance(20) {
        let values = ["0.0", "0.1", "0.45", "0.9", "3.7"];
        set("allocation.balance.shard", rng.pick(&values).to_owned());
        set(
            "allocation.balance.index",
            rng.pick(&["0.2", "0.55", "1.3"]).to_owned(),
        );
    }
    if rng.chance(20) {
        let values = ["0.0", "0.5", "1.0", "1.5", "7.0"];
        set("allocation.balance.threshold", rng.pick(&values).to_owned());
    }
    settings
}

fn awareness(rng: &mut Rng, set: &mut impl FnMut(&str, String)) {
    if !rng.chance(25) {
        return;
    }
    let attributes = rng.pick(&["rack", "zone", "rack,zone", "zone, rack"]);
    set("allocation.awareness.attributes", attributes.to_owned());
    if rng.chance(50) {
        let values = rng.pick(&["r0,r1", "r0,r1,r2,r7", "r1"]);
        set("allocation.awareness.force.rack.values", values.to_owned());
    }
    if rng.chance(30) {
        set(
            "allocation.awareness.force.zone.values",
            "east,west,south".to_owned(),
        );
    }
}

fn watermarks(rng: &mut Rng, set: &mut impl FnMut(&str, String)) {
    let three = match rng.below(8) {
        0 => ["80%", "85%", "90%"],
        1 => ["0.70", "0.75", "0.99"],
        2 => ["60gb", "50gb", "40gb"],
        3 => ["200gb", "100gb", "1gb"],
        4 => ["82.5%", "82.5%", "82.5%"],
        _ => return,
    };
    for (name, value) in ["low", "high", "flood_stage"].into_iter().zip(three) {
        set(
            &format!("allocation.disk.watermark.{name}"),
            value.to_owned(),
        );
    }
}

/// Numbers of nodes and indices: mostly small clusters, which give more variety per second, and some
/// large ones.
fn sizes(rng: &mut Rng) -> (usize, usize) {
    match rng.below(20) {
        0 => (1, rng.between(0, 30)),
        1..=9 => (rng.between(2, 5), rng.between(1, 40)),
        10..=15 => (rng.between(2, 12), rng.between(10, 150)),
        16..=18 => (rng.between(5, 40), rng.between(50, 600)),
        _ => (rng.between(2, 40), rng.between(600, 2000)),
    }
}

pub fn cluster(rng: &mut Rng) -> (ClusterSpec, Names) {
    let mut names = Names::new(rng);
    let (node_count, copies) = sizes(rng);
    let nodes: Vec<NodeSpec> = (0..node_count).map(|_| names.node(rng)).collect();
    let settings = settings(rng, &names);
    let mut indices = Vec::new();
    let mut left = copies;
    let widest = *[1, 3, 5, 10, 40].get(rng.below(5)).expect("one of five");
    let layout = rng.below(6);
    while left > 0 {
        let replicas = *[0, 1, 1, 1, 2, 3].get(rng.below(6)).expect("one of six");
        let shards = rng.between(1, widest).min(left.div_ceil(replicas + 1));
        left = left.saturating_sub(shards * (replicas + 1));
        let mut index = names.index(rng, shards, replicas);
        place(rng, &mut names, &mut index, &nodes, layout);
        indices.push(index);
    }
    let cluster = ClusterSpec {
        settings,
        nodes,
        indices,
        without: Vec::new(),
    };
    (cluster, names)
}

/// Places the copies of an index: unassigned, spread evenly, at random, on some of the nodes, or partly
/// recovering.
fn place(
    rng: &mut Rng,
    names: &mut Names,
    index: &mut IndexSpec,
    nodes: &[NodeSpec],
    layout: usize,
) {
    let mut data: Vec<&NodeSpec> = nodes.iter().filter(|node| node.data).collect();
    if layout == 0 || data.is_empty() || rng.chance(5) {
        return;
    }
    if layout >= 3 {
        data.truncate(data.len().div_ceil(if layout == 3 { 2 } else { 1 }));
    }
    let shards = index.number("index.number_of_shards");
    let copies = 1 + index.number("index.number_of_replicas");
    let mut next = rng.below(data.len());
    let mut table = Vec::new();
    for _ in 0..shards {
        if layout != 1 {
            rng.shuffle(&mut data);
            next = 0;
        }
        let node = |i: usize| (i < data.len()).then(|| data[(next + i) % data.len()].id.clone());
        let on: Vec<Option<String>> = (0..copies as usize).map(node).collect();
        next += on.len();
        let taken: BTreeSet<&String> = on.iter().flatten().collect();
        let spare = data.iter().map(|node| &node.id);
        let spare = spare.filter(|id| !taken.contains(id)).cloned().collect();
        table.push(group(rng, names, on, spare, layout == 5));
    }
    if rng.chance(20) {
        index.closed = true;
    }
    index.in_sync = table.iter().map(|(_, in_sync)| in_sync.clone()).collect();
    index.shards = Some(table.into_iter().map(|(group, _)| group).collect());
}

/// The copies of one shard, and in-sync ids other than those of active copies.
fn group(
    rng: &mut Rng,
    names: &mut Names,
    on: Vec<Option<String>>,
    mut spare: Vec<String>,
    unsettled: bool,
) -> (Vec<CopySpec>, Vec<u64>) {
    let copy = |state, node: Option<String>, id| CopySpec {
        state,
        node,
        to: None,
        id,
        reason: "INDEX_CREATED",
        failures: 0,
        delayed: false,
    };
    let mut copies = Vec::new();
    let mut in_sync = Vec::new();
    // If the primary is lost, no copy is assigned, and its data may be anywhere or nowhere.
    if unsettled && rng.chance(15) {
        let reason = rng.pick(&[
            "CLUSTER_RECOVERED",
            "NODE_LEFT",
            "INDEX_REOPENED",
            "DANGLING_INDEX_IMPORTED",
        ]);
        for _ in &on {
            in_sync.push(names.id());
            let mut lost = copy(Given::Unassigned, None, None);
            lost.reason = reason;
            copies.push(lost);
        }
        return (copies, in_sync);
    }
    for (i, node) in on.into_iter().enumerate() {
        let replica = i > 0;
        if node.is_none() || (replica && unsettled && rng.chance(15)) {
            let mut absent = copy(Given::Unassigned, None, None);
            match rng.below(4) {
                0 => absent.reason = "REPLICA_ADDED",
                1 => {
                    absent.reason = "ALLOCATION_FAILED";
                    absent.failures = u32::try_from(rng.between(1, 5)).expect("small");
                }
                2 => {
                    absent.reason = "NODE_LEFT";
                    absent.delayed = rng.chance(60);
                }
                _ => {}
            }
            copies.push(absent);
        } else if replica && unsettled && rng.chance(10) {
            let mut recovering = copy(Given::Initializing, node, Some(names.id()));
            recovering.reason = rng.pick(&["INDEX_CREATED", "REPLICA_ADDED"]);
            copies.push(recovering);
        } else {
            let mut active = copy(Given::Started, node, Some(names.id()));
            if unsettled && rng.chance(6) && !spare.is_empty() {
                active.state = Given::Relocating;
                active.to = Some(spare.swap_remove(rng.below(spare.len())));
            }
            copies.push(active);
        }
    }
    (copies, in_sync)
}
