//! Differential test of the balancer against the real one of many versions: random clusters that grow,
//! are drained and get new indices, compared after every step.
//!
//! The server runs without gateway, disks and desired balance (lab/shards/versions). The order of its
//! maps is adopted from its answers, since most of them are salted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use shards::model::{ClusterInfo, Product, ShardId};

use crate::answer::{Answer, Copy};
use crate::driver::{Driver, Server};
use crate::number;
use crate::ours::Ours;
use crate::rng::Rng;
use crate::spec::{ClusterSpec, IndexSpec, NodeSpec, Settings, Step};

/// Most steps on a cluster.
const STEPS: usize = 60;
/// Differences that are printed in full.
const REPORTED: usize = 3;

/// What an index weighs besides its copies.
#[derive(Clone, Copy, Default)]
struct Weight {
    write_load: Option<f64>,
    shard_bytes: Option<i64>,
}

/// Both sides of one cluster.
struct Course {
    server: Server,
    rng: Rng,
    nodes: Vec<NodeSpec>,
    next_index: usize,
    settings: Settings,
    weights: BTreeMap<String, Weight>,
    ours: Ours,
    answer: Answer,
}

fn node(rng: &mut Rng, number: usize) -> NodeSpec {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    let id = if rng.chance(50) {
        format!("node-{number}")
    } else {
        (0..22)
            .map(|_| char::from(LETTERS[rng.below(LETTERS.len())]))
            .collect()
    };
    NodeSpec {
        id,
        name: format!("n{number}"),
        address: format!("10.0.{}.{}", number / 200, number % 200 + 1),
        port: 9300,
    }
}

fn index(rng: &mut Rng, number: usize, shards: usize, replicas: usize) -> IndexSpec {
    let mut settings = Settings::new();
    let mut set = |key: &str, value: String| settings.insert(format!("index.{key}"), value);
    set("number_of_shards", shards.to_string());
    set("number_of_replicas", replicas.to_string());
    set("creation_date", (1_570_000_000_000 + number).to_string());
    if rng.chance(10) {
        let most = rng.between(1, 4).to_string();
        set("routing.allocation.total_shards_per_node", most);
    }
    IndexSpec {
        name: format!("index-{number}"),
        uuid: format!("uuid-{number}"),
        settings,
        shards: None,
    }
}

fn settings(rng: &mut Rng, server: Server, nodes: &[NodeSpec]) -> Settings {
    let mut settings = Settings::new();
    let mut set = |key: &str, value: &str| {
        settings.insert(
            format!("cluster.routing.allocation.{key}"),
            value.to_owned(),
        );
    };
    let rebalance = ["1", "2", "2", "3", "4", "8", "-1"];
    set("cluster_concurrent_rebalance", rng.pick(&rebalance));
    // Its default differs between versions.
    let allowed = [
        "always",
        "always",
        "indices_all_active",
        "indices_primaries_active",
    ];
    set("allow_rebalance", rng.pick(&allowed));
    if rng.chance(60) {
        set(
            "node_concurrent_recoveries",
            rng.pick(&["1", "2", "3", "10"]),
        );
    }
    if rng.chance(20) {
        let values = ["1", "2", "5"];
        set("node_concurrent_outgoing_recoveries", rng.pick(&values));
    }
    if rng.chance(20) {
        let values = ["1", "2", "20"];
        set("node_initial_primaries_recoveries", rng.pick(&values));
        if server.product == Product::OpenSearch {
            set("node_initial_replicas_recoveries", rng.pick(&values));
        }
    }
    if rng.chance(25) {
        set("balance.shard", rng.pick(&["0.1", "0.45", "0.9"]));
        set("balance.index", rng.pick(&["0.2", "0.55", "1.3"]));
    }
    if rng.chance(25) {
        // From 9 on, less than 1 is refused.
        let least = usize::from(server.is_elasticsearch_from(9, 0));
        let values = &["0.5", "1.0", "1.3", "2.5"][least..];
        set("balance.threshold", rng.pick(values));
    }
    if server.is_elasticsearch_from(8, 6) && rng.chance(30) {
        set("balance.write_load", rng.pick(&["0.0", "1.0", "10.0"]));
        set("balance.disk_usage", rng.pick(&["0.0", "2e-11", "1e-9"]));
    }
    if rng.chance(8) {
        let most = rng.between(5, 40).to_string();
        set("total_shards_per_node", &most);
    }
    if rng.chance(25) {
        let out = &nodes[rng.below(nodes.len())];
        set("exclude._name", &out.name);
    }
    settings
}

/// Places the copies of an index on some of the nodes.
fn place(rng: &mut Rng, index: &mut IndexSpec, nodes: &[NodeSpec]) {
    let shards = index.number("index.number_of_shards");
    let copies = 1 + index.number("index.number_of_replicas") as usize;
    let some = rng.between(1, nodes.len());
    let mut on: Vec<&NodeSpec> = nodes[..some].iter().collect();
    let table = (0..shards).map(|_| {
        rng.shuffle(&mut on);
        let copy = |at: usize| on.get(at).map(|node| node.id.clone());
        (0..copies).map(copy).collect()
    });
    index.shards = Some(table.collect());
}

impl Course {
    /// A random cluster, on both sides.
    fn random(driver: &mut Driver, server: Server, seed: u64) -> Result<Self, Vec<String>> {
        let mut rng = Rng::new(seed);
        let count = rng.between(2, 14);
        let nodes: Vec<NodeSpec> = (0..count).map(|number| node(&mut rng, number)).collect();
        let next_index = rng.between(1, 20);
        let indices: Vec<IndexSpec> = (0..next_index)
            .map(|number| {
                let (shards, replicas) = (rng.between(1, 12), rng.below(3));
                let mut index = index(&mut rng, number, shards, replicas);
                place(&mut rng, &mut index, &nodes);
                index
            })
            .collect();
        let settings = settings(&mut rng, server, &nodes);
        let spec = ClusterSpec {
            settings: settings.clone(),
            nodes: nodes.clone(),
            indices,
        };
        let mut weights = BTreeMap::new();
        let mut sizes = Vec::new();
        if server.is_elasticsearch_from(8, 6) {
            for index in &spec.indices {
                weights.insert(index.name.clone(), weight(&mut rng));
                for shard in 0..index.number("index.number_of_shards") {
                    for primary in [true, false] {
                        if rng.chance(80) {
                            let bytes = rng.below(100_000_000_000);
                            sizes.push((index.name.clone(), shard, primary, bytes));
                        }
                    }
                }
            }
        }
        Self::of(driver, server, rng, &spec, weights, &sizes)
    }

    fn of(
        driver: &mut Driver,
        server: Server,
        rng: Rng,
        spec: &ClusterSpec,
        weights: BTreeMap<String, Weight>,
        sizes: &[(String, u32, bool, usize)],
    ) -> Result<Self, Vec<String>> {
        let mut cluster = json!(spec);
        cluster["sizes"] = json!(sizes);
        for index in cluster["indices"].as_array_mut().expect("a list") {
            weigh(index, &weights);
        }
        let answer = driver.ask(&json!({ "cluster": cluster }))?;
        let mut ours = Ours::new(server, spec, &answer.order);
        if !sizes.is_empty() {
            let mut info = ClusterInfo::default();
            for (index, shard, primary, bytes) in sizes {
                let index = ours.index_index(index);
                let shard = ShardId {
                    index,
                    shard: *shard,
                };
                info.set_size_bytes(shard, *primary, i64::try_from(*bytes).expect("small"));
            }
            ours.cluster.info = Some(info);
        }
        let mut course = Self {
            server,
            rng,
            nodes: spec.nodes.clone(),
            next_index: spec.indices.len(),
            settings: spec.settings.clone(),
            weights,
            ours,
            answer,
        };
        course.forecast();
        course.compare()?;
        Ok(course)
    }

    /// Tells our side what the indices weigh.
    fn forecast(&mut self) {
        for index in &mut self.ours.cluster.indices {
            let weight = self.weights.get(&index.name).copied().unwrap_or_default();
            index.forecast.write_load = weight.write_load;
            index.forecast.shard_bytes = weight.shard_bytes;
        }
    }

    /// Takes a step on both sides and compares them. Returns whether anything changed.
    fn step(&mut self, driver: &mut Driver, step: &Step) -> Result<bool, Vec<String>> {
        let mut line = json!(step);
        if let Some(indices) = line["indices"].as_array_mut() {
            for index in indices {
                weigh(index, &self.weights);
            }
        }
        let answer = driver.ask(&line)?;
        self.ours
            .step(step, &answer.order)
            .map_err(|error| vec![format!("ours refused the step: {error}")])?;
        self.forecast();
        self.ours.adopt(&answer.order);
        let changed = !answer.same_copies(&self.answer);
        self.answer = answer;
        self.compare()?;
        Ok(changed)
    }

    fn compare(&mut self) -> Result<(), Vec<String>> {
        let ours = self.ours.answer();
        let ours = ours.map_err(|error| vec![format!("our table is broken: {error}")])?;
        let (theirs, ours) = (lines(&self.answer), lines(&ours));
        if theirs == ours {
            return Ok(());
        }
        let only = |a: &[String], b: &[String], side: &str| -> Vec<String> {
            let only = a.iter().filter(|line| !b.contains(line));
            only.map(|line| format!("{side}: {line}"))
                .take(12)
                .collect()
        };
        let mut found = only(&theirs, &ours, "server");
        found.extend(only(&ours, &theirs, "  ours"));
        if found.is_empty() {
            found.push("the order of the nodes".to_owned());
        }
        Err(found)
    }

    /// Copies that recover: index, shard, node.
    fn recovering(&self) -> Vec<(String, u32, String)> {
        let copies = self.answer.copies().filter(|copy| !copy.is_active());
        let mut copies: Vec<_> = copies
            .map(
                |Copy {
                     index, shard, node, ..
                 }| (index, shard, node),
            )
            .collect();
        copies.sort();
        copies
    }

    /// Some of the recovering copies.
    fn some(&mut self) -> Vec<(String, u32, String)> {
        let mut copies = self.recovering();
        let percent = [100, 100, 50, 30][self.rng.below(4)];
        let one = self.rng.below(copies.len());
        let mut at = 0;
        copies.retain(|_| {
            at += 1;
            self.rng.chance(percent) || at == one + 1
        });
        copies
    }

    /// Something happens to the cluster.
    fn event(&mut self) -> Step {
        match self.rng.below(4) {
            0 => {
                let number = self.nodes.len();
                let count = self.rng.between(1, 2);
                let joined: Vec<NodeSpec> = (number..number + count)
                    .map(|number| node(&mut self.rng, number))
                    .collect();
                self.nodes.extend(joined.iter().cloned());
                Step::NodeJoined { nodes: joined }
            }
            1 | 2 => {
                self.settings = settings(&mut self.rng, self.server, &self.nodes);
                Step::Settings {
                    settings: self.settings.clone(),
                }
            }
            _ => {
                let (shards, replicas) = (self.rng.between(1, 8), self.rng.below(3));
                let index = index(&mut self.rng, self.next_index, shards, replicas);
                self.next_index += 1;
                if self.server.is_elasticsearch_from(8, 6) {
                    let weight = weight(&mut self.rng);
                    self.weights.insert(index.name.clone(), weight);
                }
                Step::Create {
                    indices: vec![index],
                }
            }
        }
    }

    /// Goes on until nothing more happens; returns the number of steps.
    fn go(&mut self, driver: &mut Driver) -> Result<usize, Vec<String>> {
        let (mut rerouted, mut changed) = (false, true);
        for at in 0..STEPS {
            let step = if !rerouted && (changed || self.rng.chance(50)) {
                Step::Reroute
            } else if !self.recovering().is_empty() && self.rng.chance(90) {
                Step::Start {
                    copies: self.some(),
                }
            } else {
                self.event()
            };
            rerouted = matches!(step, Step::Reroute);
            changed = self.step(driver, &step).map_err(|mut lines| {
                lines.insert(0, format!("at step {at}, {}", word(&step)));
                lines
            })?;
        }
        Ok(STEPS)
    }
}

fn weight(rng: &mut Rng) -> Weight {
    let tenths = [0, 1, 3, 7, 20, 40];
    let load = f64::from(tenths[rng.below(tenths.len())]) / 10.0;
    let bytes = i64::try_from(rng.below(80_000_000_000)).expect("small");
    Weight {
        write_load: rng.chance(60).then_some(load),
        shard_bytes: rng.chance(50).then_some(bytes),
    }
}

fn weigh(index: &mut Value, weights: &BTreeMap<String, Weight>) {
    let name = index["name"].as_str().expect("a name");
    if let Some(weight) = weights.get(name).copied() {
        index["write_load"] = json!(weight.write_load);
        index["shard_bytes"] = json!(weight.shard_bytes);
    }
}

fn word(step: &Step) -> String {
    json!(step)["step"].as_str().expect("a word").to_owned()
}

/// A state as comparable lines: the nodes in their order, each with its copies in any order, and the
/// unassigned copies with their status.
fn lines(answer: &Answer) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (node, copies) in &answer.nodes {
        lines.push(format!("node {node}"));
        let copies = copies.iter().map(|line| format!("{node}: {line}"));
        let mut copies: Vec<String> = copies.collect();
        copies.sort();
        lines.extend(copies);
    }
    let unassigned = answer.unassigned.iter();
    let unassigned = unassigned.map(|line| format!("unassigned {line}"));
    let mut unassigned: Vec<String> = unassigned.collect();
    unassigned.sort();
    lines.extend(unassigned);
    lines
}

/// Compares `count` random clusters with a server.
fn compare(name: &'static str, first: u64, count: u64) -> Vec<String> {
    let server = Server::of(name);
    let Some(mut driver) = Driver::start(server) else {
        return Vec::new();
    };
    let (mut agreed, mut steps) = (0, 0);
    let mut differing = Vec::new();
    for seed in first..first + count {
        let found =
            Course::random(&mut driver, server, seed).and_then(|mut course| course.go(&mut driver));
        match found {
            Ok(made) => {
                agreed += 1;
                steps += made;
            }
            Err(lines) => {
                if differing.len() < REPORTED {
                    println!("{name}, cluster {seed}:\n  {}", lines.join("\n  "));
                }
                differing.push(format!("{name} {seed}: {}", lines[0]));
            }
        }
    }
    println!("{name}: {agreed} of {count} clusters agree, in {steps} steps");
    differing
}

/// Every generation of the balancer, and the versions that changed it.
const SERVERS: [&str; 15] = [
    "7.4.0",
    "7.6.2",
    "7.7.1",
    "7.17.28",
    "8.3.3",
    "8.4.3",
    "8.5.3",
    "8.6.2",
    "8.11.0",
    "8.15.5",
    "8.19.12",
    "9.2.0",
    "opensearch-1.3.20",
    "opensearch-2.19.1",
    "opensearch-3.0.0",
];

#[test]
fn a_few_clusters_match_three_versions() {
    let mut differing = compare("7.4.0", 1, 8);
    differing.extend(compare("7.17.28", 1, 8));
    differing.extend(compare("opensearch-2.19.1", 1, 8));
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// `COUNT` clusters from seed `SEED` on, of the servers in `VERSIONS` or all: `make test-versions`.
#[test]
#[ignore = "minutes: make test-versions"]
fn clusters_match_every_version() {
    let wanted = std::env::var("VERSIONS").unwrap_or_default();
    let mut differing = Vec::new();
    for server in SERVERS {
        if wanted.is_empty() || wanted.split(' ').any(|name| name == server) {
            differing.extend(compare(server, number("SEED", 1), number("COUNT", 500)));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
