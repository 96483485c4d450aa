//! The world outside the master, the same for both sides: disks, and which shards the nodes hold.
//! Everything is derived from the seed and the last response, item by item, so that removing an index
//! from a script does not change the disks for the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::{Answer, Copy, shard_of};
use crate::rng::Rng;
use crate::spec::{Attached, ClusterSpec, InfoSpec, Planned, Step, StoreSpec, Usage};

const GB: i64 = 1 << 30;
/// Segments of a shard; an old copy shares some of them with the primary.
const FILES: u64 = 12;

type Place = (String, u32, String);

#[derive(Debug, Clone)]
pub struct World {
    seed: u64,
    stores: BTreeMap<Place, StoreSpec>,
    /// Changes not yet sent.
    changed: BTreeSet<Place>,
    clock: i64,
}

impl World {
    pub fn new(seed: u64, cluster: &ClusterSpec) -> Self {
        let mut world = Self {
            seed,
            stores: BTreeMap::new(),
            changed: BTreeSet::new(),
            clock: 0,
        };
        let data: Vec<&str> = cluster
            .nodes
            .iter()
            .filter(|node| node.data)
            .map(|node| node.id.as_str())
            .collect();
        for index in &cluster.indices {
            for (shard, ids) in (0..).zip(&index.in_sync) {
                for (place, &id) in ids.iter().enumerate() {
                    let mut rng = Rng::of(seed, &format!("lost {} {shard} {place}", index.name));
                    if !data.is_empty() && rng.chance(80) {
                        let node = data[rng.below(data.len())];
                        world.old(&index.name, shard, node, id, place == 0);
                    }
                }
            }
        }
        world
    }

    fn put(&mut self, store: StoreSpec) {
        let place = (store.index.clone(), store.shard, store.node.clone());
        if self.stores.get(&place) != Some(&store) {
            self.changed.insert(place.clone());
            self.stores.insert(place, store);
        }
    }

    /// Adds an unused copy that shares some or all of the primary's files.
    fn old(&mut self, index: &str, shard: u32, node: &str, id: u64, primary: bool) {
        let mut rng = Rng::of(self.seed, &format!("old {index} {shard} {node}"));
        let mask = rng.next();
        // At most one node may match by sync id: of two the server takes the first in a hash map.
        let synced = rng.chance(50)
            && !self.stores.values().any(|store| {
                store.index == index
                    && store.shard == shard
                    && store.node != node
                    && store.sync.is_some()
            });
        let problem = match rng.below(30) {
            0 => Some("locked"),
            1 => Some("broken"),
            _ => None,
        };
        let files = self.files(index, shard, mask);
        self.put(StoreSpec {
            index: index.to_owned(),
            shard,
            node: node.to_owned(),
            id: Some(id),
            primary,
            problem,
            sync: self.sync_id(index, shard).filter(|_| synced),
            files,
        });
    }

    fn sync_id(&self, index: &str, shard: u32) -> Option<String> {
        let synced = Rng::of(self.seed, &format!("sync {index} {shard}")).chance(25);
        synced.then(|| format!("sync-{index}-{shard}"))
    }

    fn files(&self, index: &str, shard: u32, mask: u64) -> Vec<(String, i64, String)> {
        let mut rng = Rng::of(self.seed, &format!("files {index} {shard}"));
        (0..FILES)
            .map(|at| (at, i64::try_from(rng.next() >> 32).expect("32 bits")))
            .filter(|(at, _)| (mask >> at) & 1 == 1)
            .map(|(at, bytes)| (format!("_{at}.cfs"), bytes, format!("c{at}")))
            .collect()
    }

    /// Updates the nodes' stores after the master's decisions.
    pub fn follow(&mut self, answer: &Answer) {
        let copies: Vec<Copy> = answer.copies().collect();
        let mut assigned = BTreeSet::new();
        for copy in &copies {
            assigned.insert((copy.index.clone(), copy.shard, copy.node.clone()));
            if copy.is_active() {
                let files = self.files(&copy.index, copy.shard, u64::MAX);
                self.put(StoreSpec {
                    index: copy.index.clone(),
                    shard: copy.shard,
                    node: copy.node.clone(),
                    id: Some(copy.id),
                    primary: copy.primary,
                    problem: None,
                    sync: self.sync_id(&copy.index, copy.shard),
                    files,
                });
            }
        }
        let mut whole: BTreeMap<(&str, u32), bool> = BTreeMap::new();
        for copy in &copies {
            let all = whole.entry((&copy.index, copy.shard)).or_insert(true);
            *all &= copy.state == "STARTED";
        }
        for line in &answer.unassigned {
            whole.insert(shard_of(line), false);
        }
        let idle: Vec<StoreSpec> = self
            .stores
            .iter()
            .filter(|(place, _)| !assigned.contains(*place))
            .map(|(_, store)| store.clone())
            .collect();
        for store in idle {
            let name = format!("kept {} {} {}", store.index, store.shard, store.node);
            let kept = Rng::of(self.seed, &name).chance(20);
            match whole.get(&(store.index.as_str(), store.shard)) {
                // Once every copy has started, nodes delete their unused copies.
                Some(true) if !kept => self.take(&store),
                _ => {
                    if let Some(id) = store.id {
                        self.old(&store.index, store.shard, &store.node, id, store.primary);
                    }
                }
            }
        }
    }

    fn take(&mut self, store: &StoreSpec) {
        let place = (store.index.clone(), store.shard, store.node.clone());
        self.stores.remove(&place);
        self.changed.insert(place);
    }

    /// Removes the stores of deleted indices.
    fn forget(&mut self, step: &Step) {
        if let Step::Delete { indices } = step {
            let gone: Vec<StoreSpec> = self
                .stores
                .values()
                .filter(|store| indices.contains(&store.index))
                .cloned()
                .collect();
            for store in &gone {
                self.take(store);
            }
        }
    }

    /// Data attached to the initial cluster.
    pub fn at_first(&mut self) -> Attached {
        Attached {
            stores: self.told(),
            ..Attached::default()
        }
    }

    fn told(&mut self) -> Vec<StoreSpec> {
        std::mem::take(&mut self.changed)
            .into_iter()
            .map(|place| {
                self.stores.get(&place).cloned().unwrap_or(StoreSpec {
                    index: place.0,
                    shard: place.1,
                    node: place.2,
                    id: None,
                    primary: false,
                    problem: None,
                    sync: None,
                    files: Vec::new(),
                })
            })
            .collect()
    }

    /// Data attached to the step at this position of the script.
    pub fn attached(&mut self, planned: &Planned, at: usize, answer: &Answer) -> Attached {
        self.clock += planned.passed_nanos;
        self.forget(&planned.step);
        let mut pending = Vec::new();
        if planned.pending_percent > 0 {
            for (index, shards) in &answer.order.indices {
                for &shard in shards {
                    let name = format!("pending {at} {index} {shard}");
                    if Rng::of(self.seed, &name).chance(planned.pending_percent) {
                        pending.push((index.clone(), shard));
                    }
                }
            }
        }
        Attached {
            info: planned.info.map(|seed| info(seed, answer)),
            stores: self.told(),
            pending,
            clock: self.clock,
        }
    }
}

/// Disks, sizes and paths derived from a seed; free space is concentrated around the watermarks.
pub fn info(seed: u64, answer: &Answer) -> InfoSpec {
    let mut rng = Rng::of(seed, "disks");
    let total = [100, 500, 1000][rng.below(3)] * GB;
    let crowded = rng.chance(70);
    let two_paths = rng.chance(25);
    // A shard is some thousandths of a disk, or a large part of it.
    let largest = total / [1000, 1000, 400, 400, 200, 100, 50, 15][rng.below(8)];
    let mut info = InfoSpec::default();
    for node in &answer.order.data_nodes {
        let mut rng = Rng::of(seed, node);
        if rng.chance(4) {
            continue;
        }
        let total = if rng.chance(10) { total / 2 } else { total };
        let mut usage = |path: &str| -> Usage {
            let used = if crowded && rng.chance(60) {
                rng.between(780, 980)
            } else {
                rng.between(100, 800)
            };
            // Occasionally exactly at a watermark, otherwise some odd number of bytes.
            let odd = if rng.chance(20) {
                0
            } else {
                rng.below(1 << 20)
            };
            let used = total / 1000 * i64::try_from(used).expect("small");
            let free = total - used - i64::try_from(odd).expect("small");
            (node.clone(), path.to_owned(), total, free.max(0))
        };
        let mut paths = vec![usage("/data/0")];
        if two_paths {
            paths.push(usage("/data/1"));
        }
        paths.sort_by_key(|usage| usage.3);
        info.most.push(paths[paths.len() - 1].clone());
        info.least.push(paths.swap_remove(0));
    }
    for (index, shards) in &answer.order.indices {
        for &shard in shards {
            let mut rng = Rng::of(seed, &format!("size {index} {shard}"));
            let bytes = i64::try_from(rng.below(usize::try_from(largest).expect("64 bits")))
                .expect("63 bits");
            if !rng.chance(8) {
                info.sizes.push((index.clone(), shard, true, bytes));
            }
            if !rng.chance(12) {
                let replica = if rng.chance(70) { bytes } else { bytes / 2 };
                info.sizes.push((index.clone(), shard, false, replica));
            }
        }
    }
    for copy in answer.copies() {
        let mut rng = Rng::of(
            seed,
            &format!("path {} {} {}", copy.index, copy.shard, copy.node),
        );
        if !rng.chance(8) {
            let path = if two_paths && rng.chance(50) {
                "/data/1"
            } else {
                "/data/0"
            };
            info.paths
                .push((copy.index, copy.shard, copy.node, path.to_owned()));
        }
    }
    info
}
