//! Random clusters and steps, from a seed and the server's answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::told::Told;
use crate::rng::Rng;
use crate::spec::Settings;

const GB: i64 = 1 << 30;
/// Most events in a script; each is followed by rounds and starts.
const EVENTS_MAX: usize = 7;

#[derive(Debug, Clone)]
pub struct NodeSpec {
    pub id: String,
    pub name: String,
    pub host: String,
    pub address: String,
    pub attributes: BTreeMap<String, String>,
    pub data: bool,
    port: usize,
}

impl NodeSpec {
    fn json(&self) -> Value {
        let roles: &[&str] = if self.data {
            &["data", "master"]
        } else {
            &["master"]
        };
        json!({"id": self.id, "name": self.name, "host": self.host, "address": self.address,
            "port": self.port, "attributes": self.attributes, "roles": roles})
    }
}

#[derive(Debug, Clone)]
pub struct IndexSpec {
    pub name: String,
    pub uuid: String,
    pub shards: u32,
    pub replicas: u32,
    pub settings: Settings,
    pub system: bool,
    pub write_load: Option<f64>,
    pub shard_bytes: Option<i64>,
    pub stream: Option<String>,
}

impl IndexSpec {
    fn json(&self) -> Value {
        let mut settings = self.settings.clone();
        settings.insert("index.number_of_shards".into(), self.shards.to_string());
        settings.insert("index.number_of_replicas".into(), self.replicas.to_string());
        json!({"name": self.name, "uuid": self.uuid, "settings": settings, "system": self.system,
            "write_load": self.write_load, "shard_bytes": self.shard_bytes, "stream": self.stream})
    }
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Event,
    Round,
    Start,
}

pub struct Planner {
    rng: Rng,
    cluster: Value,
    pub nodes: BTreeMap<String, NodeSpec>,
    pub every_node: BTreeMap<String, NodeSpec>,
    away: Vec<NodeSpec>,
    pub indices: Vec<IndexSpec>,
    pub settings: Settings,
    /// Per node, the kind of its shutdown and the name of the node that replaces it.
    pub shutdowns: BTreeMap<String, (&'static str, Option<String>)>,
    pub info: Option<Value>,
    /// Whether write loads and sizes are given, and whether disks are near their watermarks.
    loads: bool,
    style: usize,
    racks: usize,
    numbers: usize,
    events: usize,
    rounds: usize,
    next: Next,
}

impl Planner {
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::of(seed, "desired");
        let mut planner = Self {
            cluster: Value::Null,
            nodes: BTreeMap::new(),
            every_node: BTreeMap::new(),
            away: Vec::new(),
            indices: Vec::new(),
            settings: Settings::new(),
            shutdowns: BTreeMap::new(),
            info: None,
            loads: rng.chance(70),
            style: rng.below(3),
            racks: rng.between(1, 4),
            numbers: 0,
            events: rng.between(2, EVENTS_MAX),
            rounds: 0,
            next: Next::Round,
            rng,
        };
        planner.begin();
        planner
    }

    pub fn cluster(&self) -> &Value {
        &self.cluster
    }

    fn begin(&mut self) {
        let (nodes, mut copies) = match self.rng.below(10) {
            0 => (1, 6),
            1..=6 => (self.rng.between(2, 6), self.rng.between(1, 40)),
            7..=8 => (self.rng.between(3, 14), self.rng.between(10, 120)),
            _ => (self.rng.between(5, 30), self.rng.between(50, 300)),
        };
        for _ in 0..nodes {
            let node = self.new_node();
            self.add(node);
        }
        self.settings = self.new_settings();
        let mut tables = Vec::new();
        let layout = self.rng.below(4);
        let mut id = 0;
        while copies > 0 {
            let index = self.new_index();
            let mut spec = index.json();
            let more = (index.shards * (index.replicas + 1)) as usize;
            copies = copies.saturating_sub(more);
            if layout > 0 {
                let shards = self.placed(&index, layout, &mut id);
                spec["shards"] = shards;
            }
            self.indices.push(index);
            tables.push(spec);
        }
        self.info = self.rng.chance(85).then(|| self.new_info());
        let nodes: Vec<Value> = self.nodes.values().map(NodeSpec::json).collect();
        self.cluster = json!({"cluster": {"nodes": nodes, "indices": tables, "settings": self.settings,
            "shutdowns": [], "info": self.info}});
    }

    /// Started copies, spread evenly, at random or over some of the nodes.
    fn placed(&mut self, index: &IndexSpec, layout: usize, id: &mut u64) -> Value {
        let mut data: Vec<String> = self
            .nodes
            .values()
            .filter(|node| node.data)
            .map(|node| node.id.clone())
            .collect();
        if layout == 3 {
            data.truncate(data.len().div_ceil(2));
        }
        let mut at = self.rng.below(data.len().max(1));
        let mut shards = Vec::new();
        for _ in 0..index.shards {
            if layout != 1 {
                self.rng.shuffle(&mut data);
            }
            let mut copies = Vec::new();
            for copy in 0..=index.replicas as usize {
                let is_there = copy < data.len() && !(copy > 0 && self.rng.chance(8));
                if is_there {
                    *id += 1;
                    copies.push(
                        json!({"state": "STARTED", "node": data[(at + copy) % data.len()],
                        "id": *id, "reason": "INDEX_CREATED", "failures": 0}),
                    );
                } else if copy == 0 {
                    let reason = "CLUSTER_RECOVERED";
                    copies.push(json!({"state": "UNASSIGNED", "reason": reason, "failures": 0}));
                } else {
                    let last = self.rng.chance(30).then(|| self.some_node()).flatten();
                    let failures = self.rng.below(3);
                    let reason = if failures > 0 {
                        "ALLOCATION_FAILED"
                    } else {
                        "REPLICA_ADDED"
                    };
                    copies.push(
                        json!({"state": "UNASSIGNED", "reason": reason, "failures": failures,
                        "last": last}),
                    );
                }
            }
            at += copies.len();
            shards.push(copies);
        }
        json!(shards)
    }

    fn some_node(&mut self) -> Option<String> {
        let ids: Vec<&String> = self.nodes.keys().collect();
        (!ids.is_empty()).then(|| ids[self.rng.below(ids.len())].clone())
    }

    fn add(&mut self, node: NodeSpec) {
        self.every_node.insert(node.id.clone(), node.clone());
        self.nodes.insert(node.id.clone(), node);
    }

    fn new_node(&mut self) -> NodeSpec {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        let rng = &mut self.rng;
        let number = self.every_node.len();
        let id = match self.style {
            0 => format!("n{number}"),
            _ => (0..22)
                .map(|_| char::from(LETTERS[rng.below(LETTERS.len())]))
                .collect(),
        };
        let mut attributes = BTreeMap::new();
        if !rng.chance(8) {
            attributes.insert("rack".to_owned(), format!("r{}", rng.below(self.racks)));
        }
        if rng.chance(70) {
            let tier = rng.pick(&["hot", "warm", "cold"]);
            attributes.insert("box".to_owned(), tier.to_owned());
        }
        let host = if rng.chance(15) { number / 2 } else { number };
        NodeSpec {
            id,
            name: format!("es-{number}"),
            host: format!("host{host}.example"),
            address: format!("10.0.{}.{}", host / 100, host % 100 + 1),
            attributes,
            data: number == 0 || !rng.chance(6),
            port: 9300 + number,
        }
    }

    fn new_index(&mut self) -> IndexSpec {
        let rng = &mut self.rng;
        let number = self.numbers;
        self.numbers += 1;
        let uuid = format!("{:016x}{number:06}", rng.next());
        let stream = rng.chance(25).then(|| format!("stream-{}", rng.below(3)));
        let name = match (&stream, rng.below(3)) {
            (Some(stream), _) => format!(".ds-{stream}-2026.11.01-{number:06}"),
            (None, 0) => format!("i{number}"),
            (None, 1) => format!(
                "logs-2026.{:02}.{:02}-{number}",
                number % 12 + 1,
                number % 28 + 1
            ),
            (None, _) => format!("größe-{number}"),
        };
        let mut settings = Settings::new();
        let mut set = |key: &str, value: String| settings.insert(format!("index.{key}"), value);
        let day = rng.below(20);
        set(
            "creation_date",
            (1_570_000_000_000 + day * 86_400_000).to_string(),
        );
        set("unassigned.node_left.delayed_timeout", "0".to_owned());
        if rng.chance(20) {
            set("priority", rng.pick(&["0", "1", "5", "100"]).to_owned());
        }
        if rng.chance(8) {
            let limit = rng.between(1, 4).to_string();
            set("routing.allocation.total_shards_per_node", limit);
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
        if rng.chance(20) {
            let group = rng.pick(&["require", "include", "exclude"]);
            let value = rng.pick(&["hot", "warm", "cold", "hot,warm"]);
            set(&format!("routing.allocation.{group}.box"), value.to_owned());
        }
        let loaded = self.loads && rng.chance(50);
        IndexSpec {
            name,
            uuid,
            shards: u32::try_from(*[1, 1, 2, 3, 5, 10].get(rng.below(6)).expect("six"))
                .expect("small"),
            replicas: [0, 0, 1, 1, 1, 2, 3][rng.below(7)],
            settings,
            system: rng.chance(5),
            write_load: loaded
                .then(|| f64::from(u32::try_from(rng.below(400)).expect("small")) / 100.0),
            shard_bytes: (self.loads && rng.chance(40))
                .then(|| i64::try_from(rng.below(60)).expect("small") * GB),
            stream,
        }
    }

    fn new_settings(&mut self) -> Settings {
        let rng = &mut self.rng;
        let mut settings = Settings::new();
        let mut set = |key: &str, value: String| {
            settings.insert(format!("cluster.routing.{key}"), value);
        };
        if rng.chance(15) {
            let value = rng.pick(&["always", "indices_primaries_active", "indices_all_active"]);
            set("allocation.allow_rebalance", value.to_owned());
        }
        if rng.chance(25) {
            let value = rng.pick(&["-1", "0", "1", "5"]);
            set("allocation.cluster_concurrent_rebalance", value.to_owned());
        }
        if rng.chance(30) {
            let value = rng.pick(&["0", "1", "3", "8"]);
            set("allocation.node_concurrent_recoveries", value.to_owned());
        }
        if rng.chance(15) {
            let value = rng.pick(&["0", "1", "2", "20"]);
            set(
                "allocation.node_initial_primaries_recoveries",
                value.to_owned(),
            );
        }
        if rng.chance(6) {
            let value = rng.pick(&["none", "new_primaries", "primaries", "all"]);
            set("allocation.enable", value.to_owned());
        }
        if rng.chance(8) {
            let value = rng.pick(&["none", "primaries", "replicas", "all"]);
            set("rebalance.enable", value.to_owned());
        }
        if rng.chance(10) {
            set("allocation.same_shard.host", "true".to_owned());
        }
        if rng.chance(8) {
            let limit = rng.between(3, 40).to_string();
            set("allocation.total_shards_per_node", limit);
        }
        if rng.chance(20) {
            set("allocation.awareness.attributes", "rack".to_owned());
            if rng.chance(40) {
                let values = rng.pick(&["r0,r1", "r0,r1,r2,r7", "r1"]);
                set("allocation.awareness.force.rack.values", values.to_owned());
            }
        }
        if rng.chance(20) {
            let group = rng.pick(&["require", "include", "exclude"]);
            let (key, value) = match rng.below(3) {
                0 => ("_name".to_owned(), format!("es-{}", rng.below(6))),
                1 => (
                    "box".to_owned(),
                    rng.pick(&["hot", "warm", "cold"]).to_owned(),
                ),
                _ => ("_ip".to_owned(), format!("10.0.0.{}", rng.between(1, 6))),
            };
            if group == "exclude" || rng.chance(30) {
                set(&format!("allocation.{group}.{key}"), value);
            }
        }
        let marks = match rng.below(8) {
            0 => Some(["80%", "85%", "90%"]),
            1 => Some(["0.70", "0.75", "0.99"]),
            2 => Some(["60gb", "50gb", "40gb"]),
            3 => Some(["200gb", "100gb", "1gb"]),
            _ => None,
        };
        if let Some(marks) = marks {
            for (name, value) in ["low", "high", "flood_stage"].into_iter().zip(marks) {
                set(
                    &format!("allocation.disk.watermark.{name}"),
                    value.to_owned(),
                );
            }
        }
        if rng.chance(5) {
            set("allocation.disk.threshold_enabled", "false".to_owned());
        }
        if !self.loads {
            set("allocation.balance.write_load", "0".to_owned());
            set("allocation.balance.disk_usage", "0".to_owned());
        }
        if rng.chance(20) {
            let value = rng.pick(&["1.0", "1.5", "3"]);
            set("allocation.balance.threshold", value.to_owned());
        }
        settings
    }

    /// Disks, sizes and paths; many disks are near their watermarks.
    fn new_info(&mut self) -> Value {
        let rng = &mut self.rng;
        let total = [100, 500, 1000, 4000][rng.below(4)] * GB;
        let crowded = rng.chance(50);
        let two_paths = rng.chance(15);
        let largest = total / [4000, 1000, 400, 100, 30, 10][rng.below(6)];
        let (mut least, mut most) = (Vec::new(), Vec::new());
        for node in self.nodes.values().filter(|node| node.data) {
            if rng.chance(4) {
                continue;
            }
            let mut usage = |path: &str| {
                let used = if crowded && rng.chance(50) {
                    rng.between(780, 990)
                } else {
                    rng.between(50, 800)
                };
                let odd = if rng.chance(20) {
                    0
                } else {
                    rng.below(1 << 20)
                };
                let used = total / 1000 * i64::try_from(used).expect("small");
                let free = total - used - i64::try_from(odd).expect("small");
                (free.max(0), json!([node.id, path, total, free.max(0)]))
            };
            let mut paths = vec![usage("/data/0")];
            if two_paths {
                paths.push(usage("/data/1"));
            }
            paths.sort_by_key(|(free, _)| *free);
            most.push(paths[paths.len() - 1].1.clone());
            least.push(paths.swap_remove(0).1);
        }
        let (mut sizes, mut places) = (Vec::new(), Vec::new());
        for index in &self.indices {
            for shard in 0..index.shards {
                let bytes = i64::try_from(rng.below(usize::try_from(largest).expect("64 bits")));
                let bytes = bytes.expect("63 bits");
                if !rng.chance(10) {
                    sizes.push(json!([index.name, shard, true, bytes]));
                }
                if !rng.chance(15) {
                    let replica = if rng.chance(70) { bytes } else { bytes / 2 };
                    sizes.push(json!([index.name, shard, false, replica]));
                }
                for node in self.nodes.keys() {
                    if !rng.chance(10) {
                        let path = if two_paths && rng.chance(50) {
                            "/data/1"
                        } else {
                            "/data/0"
                        };
                        places.push(json!([index.name, shard, node, path]));
                    }
                }
            }
        }
        json!({"least": least, "most": most, "sizes": sizes, "paths": places})
    }

    /// The next step, or the end of the script.
    pub fn next(&mut self, told: &Told) -> Option<Value> {
        loop {
            match self.next {
                Next::Round => {
                    self.next = Next::Start;
                    if self.rng.chance(10) {
                        self.info = Some(self.new_info());
                        let claimed = self.claimed(told);
                        return Some(
                            json!({"step": "round", "claimed": claimed, "info": self.info}),
                        );
                    }
                    return Some(json!({"step": "round", "claimed": self.claimed(told)}));
                }
                Next::Start => {
                    let mut starting: Vec<Value> = told
                        .copies()
                        .filter(|(_, _, copy)| {
                            matches!(copy.state.as_str(), "INITIALIZING" | "RELOCATING")
                        })
                        .map(|(index, shard, copy)| {
                            let node = if copy.state == "RELOCATING" {
                                &copy.to
                            } else {
                                &copy.node
                            };
                            json!([index, shard, node])
                        })
                        .collect();
                    if starting.is_empty() || self.rounds == 0 {
                        self.next = Next::Event;
                        continue;
                    }
                    self.rounds -= 1;
                    self.next = Next::Round;
                    if self.rng.chance(10) {
                        let at = self.rng.below(starting.len());
                        return Some(json!({"step": "fail", "copies": [starting[at]]}));
                    }
                    if self.rng.chance(50) {
                        self.rng.shuffle(&mut starting);
                        starting.truncate(self.rng.between(1, starting.len()));
                    }
                    return Some(json!({"step": "start", "copies": starting}));
                }
                Next::Event => {
                    if self.events == 0 {
                        return None;
                    }
                    self.events -= 1;
                    self.rounds = self.rng.below(10);
                    self.next = Next::Round;
                    if let Some(event) = self.event(told) {
                        return Some(event);
                    }
                }
            }
        }
    }

    fn claimed(&mut self, told: &Told) -> Vec<String> {
        let mut claimed = BTreeSet::new();
        for (index, shard, copy) in told.copies() {
            let existing = copy.source.as_deref() != Some("EMPTY_STORE");
            if copy.state == "UNASSIGNED" && existing && self.rng.chance(12) {
                claimed.insert(format!("{index} {shard} {}", copy.primary));
            }
        }
        claimed.into_iter().collect()
    }

    fn event(&mut self, told: &Told) -> Option<Value> {
        match self.rng.below(14) {
            0 | 1 => {
                let data = self.nodes.values().filter(|node| node.data).count();
                if data < 2 {
                    return None;
                }
                let id = self.some_node()?;
                let node = self.nodes.remove(&id)?;
                self.away.push(node);
                Some(json!({"step": "node-left", "nodes": [id]}))
            }
            2 => {
                let node = self.away.pop()?;
                let spec = node.json();
                self.add(node);
                Some(json!({"step": "node-joined", "nodes": [spec]}))
            }
            3 | 4 => {
                let node = self.new_node();
                let spec = node.json();
                self.add(node);
                Some(json!({"step": "node-joined", "nodes": [spec]}))
            }
            5 => {
                let index = self.new_index();
                let spec = index.json();
                self.indices.push(index);
                Some(json!({"step": "create", "indices": [spec]}))
            }
            6 => {
                let at = self.rng.below(self.indices.len());
                let number = u32::try_from(self.rng.below(4)).expect("small");
                let index = self.indices.get_mut(at)?;
                if index.replicas == number {
                    return None;
                }
                index.replicas = number;
                Some(json!({"step": "replicas", "index": index.name, "number": number}))
            }
            7 => {
                self.settings = self.new_settings();
                Some(json!({"step": "settings", "settings": self.settings}))
            }
            8 => {
                self.info = Some(self.new_info());
                Some(json!({"step": "round", "info": self.info, "claimed": self.claimed(told)}))
            }
            9 | 10 => {
                let id = self.some_node()?;
                let kind = ["REMOVE", "REPLACE", "SIGTERM", "RESTART"][self.rng.below(4)];
                let target = (kind == "REPLACE").then(|| {
                    let names: Vec<&String> = self
                        .nodes
                        .values()
                        .filter(|node| node.id != id)
                        .map(|node| &node.name)
                        .collect();
                    if names.is_empty() {
                        "nobody".to_owned()
                    } else {
                        names[self.rng.below(names.len())].clone()
                    }
                });
                if self.rng.chance(70) {
                    self.shutdowns.clear();
                }
                self.shutdowns.insert(id, (kind, target));
                Some(self.tell_shutdowns())
            }
            11 => {
                self.shutdowns.clear();
                Some(self.tell_shutdowns())
            }
            12 => {
                let started: Vec<Value> = told
                    .copies()
                    .filter(|(_, _, copy)| copy.state == "STARTED")
                    .map(|(index, shard, copy)| json!([index, shard, copy.node]))
                    .collect();
                if started.is_empty() {
                    return None;
                }
                let at = self.rng.below(started.len());
                Some(json!({"step": "fail", "copies": [started[at]]}))
            }
            _ => Some(json!({"step": "reset"})),
        }
    }

    fn tell_shutdowns(&self) -> Value {
        let all: Vec<Value> = self
            .shutdowns
            .iter()
            .map(|(node, (kind, target))| json!({"node": node, "kind": kind, "target": target}))
            .collect();
        json!({"step": "shutdowns", "shutdowns": all})
    }
}
