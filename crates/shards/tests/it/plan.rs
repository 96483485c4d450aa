//! Plans the steps on a cluster from a seed and the server's responses.

use std::collections::BTreeMap;

use crate::answer::{Answer, Copy};
use crate::generate::{Names, filter, settings};
use crate::rng::Rng;
use crate::spec::{ClusterSpec, IndexSpec, NodeSpec, Planned, Settings, Step};

/// Maximum number of steps in a script.
const BOUND: usize = 70;
const MINUTE_NANOS: i64 = 60_000_000_000;

/// Plans the steps: after each event, copies start, fail and are rerouted until nothing moves or a limit
/// is reached, then the next event follows.
pub struct Planner {
    rng: Rng,
    names: Names,
    present: Vec<NodeSpec>,
    away: Vec<NodeSpec>,
    indices: BTreeMap<String, (IndexSpec, bool)>,
    events: usize,
    rounds: usize,
    made: usize,
    /// Whether the last step was a reroute that changed nothing.
    quiet: bool,
    last_was_reroute: bool,
}

impl Planner {
    pub fn new(rng: Rng, names: Names, cluster: &ClusterSpec) -> Self {
        let mut rng = rng;
        let indices = cluster.indices.iter();
        Self {
            events: rng.between(1, 6),
            rounds: rng.between(2, 16),
            rng,
            names,
            present: cluster.nodes.clone(),
            away: Vec::new(),
            indices: indices
                .map(|index| (index.name.clone(), (index.clone(), index.closed)))
                .collect(),
            made: 0,
            quiet: false,
            last_was_reroute: false,
        }
    }

    /// The next step; `None` at the end of the script.
    pub fn next(&mut self, answer: &Answer, changed: bool) -> Option<Planned> {
        if self.made == BOUND {
            return None;
        }
        self.quiet = self.last_was_reroute && !changed;
        let step = match self.drive(answer) {
            Some(step) => step,
            None if self.events == 0 => return None,
            None => {
                self.events -= 1;
                // After the last event, continue until nothing moves.
                self.rounds = if self.events == 0 {
                    BOUND
                } else {
                    self.rng.between(2, 12)
                };
                self.event(answer)
            }
        };
        self.last_was_reroute = matches!(step, Step::Reroute { .. });
        self.made += 1;
        let rng = &mut self.rng;
        Some(Planned {
            step,
            info: rng.chance(30).then(|| rng.next()),
            passed_nanos: if rng.chance(10) {
                MINUTE_NANOS
            } else {
                1_000_000
            },
            pending_percent: if rng.chance(5) { 40 } else { 0 },
        })
    }

    fn drive(&mut self, answer: &Answer) -> Option<Step> {
        self.rounds = self.rounds.checked_sub(1)?;
        let copies: Vec<Copy> = answer.copies().collect();
        if self.rng.chance(8) && !copies.is_empty() {
            return Some(self.fail(&copies));
        }
        let recovering: Vec<&Copy> = copies.iter().filter(|copy| !copy.is_active()).collect();
        if recovering.is_empty() || (!self.last_was_reroute && self.rng.chance(75)) {
            return (!self.quiet).then_some(Step::Reroute {
                retry_failed: false,
            });
        }
        let all = self.rng.chance(55);
        let mut started: Vec<_> = recovering
            .iter()
            .filter(|_| all || self.rng.chance(50))
            .map(|copy| (copy.index.clone(), copy.shard, copy.node.clone()))
            .collect();
        if started.is_empty() {
            let copy = recovering[self.rng.below(recovering.len())];
            started.push((copy.index.clone(), copy.shard, copy.node.clone()));
        }
        Some(Step::Start { copies: started })
    }

    fn fail(&mut self, copies: &[Copy]) -> Step {
        let mut failed = Vec::new();
        // Recovering copies fail more often than others.
        let recovering: Vec<&Copy> = copies.iter().filter(|copy| !copy.is_active()).collect();
        for _ in 0..self.rng.between(1, 3) {
            let copy = if recovering.is_empty() || self.rng.chance(30) {
                &copies[self.rng.below(copies.len())]
            } else {
                recovering[self.rng.below(recovering.len())]
            };
            let at = (copy.index.clone(), copy.shard, copy.node.clone());
            if !failed
                .iter()
                .any(|(a, b, c, _)| (a, b, c) == (&at.0, &at.1, &at.2))
            {
                failed.push((at.0, at.1, at.2, self.rng.chance(50)));
            }
        }
        Step::Fail { copies: failed }
    }

    fn some_indices(&mut self, closed: bool) -> Vec<String> {
        let mut names: Vec<String> = self
            .indices
            .iter()
            .filter(|(_, (_, is_closed))| *is_closed == closed)
            .map(|(name, _)| name.clone())
            .collect();
        self.rng.shuffle(&mut names);
        let most = if self.rng.chance(20) {
            names.len() / 2 + 1
        } else {
            2
        };
        names.truncate(self.rng.between(1, most.max(1)));
        names
    }

    fn event(&mut self, answer: &Answer) -> Step {
        for _ in 0..20 {
            let step = match self.rng.below(13) {
                0 | 1 => self.node_left(),
                2 | 3 => Some(self.node_joined()),
                4 => Some(self.create()),
                5 => self.on(false, |indices| Step::Delete { indices }),
                6 => self.on(false, |indices| Step::Close { indices }),
                7 => self.on(true, |indices| Step::Open { indices }),
                8 => Some(Step::Settings {
                    settings: settings(&mut self.rng, &self.names),
                }),
                9 | 10 => self.index_settings(),
                11 => Some(Step::Reroute { retry_failed: true }),
                _ => {
                    let copies: Vec<Copy> = answer.copies().collect();
                    (!copies.is_empty()).then(|| self.fail(&copies))
                }
            };
            if let Some(step) = step {
                return step;
            }
        }
        Step::Reroute {
            retry_failed: false,
        }
    }

    fn on(&mut self, closed: bool, make: fn(Vec<String>) -> Step) -> Option<Step> {
        let names = self.some_indices(closed);
        if names.is_empty() {
            return None;
        }
        let step = make(names.clone());
        for name in &names {
            if matches!(step, Step::Delete { .. }) {
                self.indices.remove(name);
            } else if let Some((_, is_closed)) = self.indices.get_mut(name) {
                *is_closed = !closed;
            }
        }
        Some(step)
    }

    fn node_left(&mut self) -> Option<Step> {
        // The last node never leaves, because there must be a master.
        let most = (self.present.len() - 1).min(if self.rng.chance(20) { 4 } else { 1 });
        if most == 0 {
            return None;
        }
        let mut nodes = Vec::new();
        for _ in 0..self.rng.between(1, most) {
            let gone = self.present.swap_remove(self.rng.below(self.present.len()));
            nodes.push(gone.id.clone());
            self.away.push(gone);
        }
        Some(Step::NodeLeft { nodes })
    }

    fn node_joined(&mut self) -> Step {
        let mut nodes = Vec::new();
        for _ in 0..self.rng.between(1, 2) {
            let node = if !self.away.is_empty() && self.rng.chance(70) {
                let back = self.rng.below(self.away.len());
                self.away.swap_remove(back)
            } else {
                self.names.node(&mut self.rng)
            };
            nodes.push(node);
        }
        self.present.extend(nodes.iter().cloned());
        Step::NodeJoined { nodes }
    }

    fn create(&mut self) -> Step {
        let shards = self.rng.between(1, 8);
        let replicas = self.rng.below(4);
        let index = self.names.index(&mut self.rng, shards, replicas);
        self.indices
            .insert(index.name.clone(), (index.clone(), false));
        // One at a time, as the server creates them.
        Step::Create {
            indices: vec![index],
        }
    }

    fn index_settings(&mut self) -> Option<Step> {
        let name = self.some_indices(false).into_iter().next()?;
        let mut changes: BTreeMap<String, Option<String>> = BTreeMap::new();
        let rng = &mut self.rng;
        let known: &mut Settings = &mut self.indices.get_mut(&name)?.0.settings;
        match rng.below(7) {
            0 | 1 => {
                let replicas = rng.below(4).to_string();
                changes.insert("index.number_of_replicas".to_owned(), Some(replicas));
            }
            2 => {
                let (key, value) = filter(rng, &self.names);
                changes.insert(format!("index.routing.allocation.{key}"), Some(value));
            }
            3 => {
                let keys: Vec<&String> = known
                    .keys()
                    .filter(|key| key.contains("routing") || key.contains("retries"))
                    .collect();
                let key = keys.get(rng.below(keys.len()))?;
                changes.insert((*key).clone(), None);
            }
            4 => {
                let value = rng.between(1, 5).to_string();
                let key = "index.routing.allocation.total_shards_per_node".to_owned();
                changes.insert(key, Some(value));
            }
            5 => {
                let value = rng
                    .pick(&["none", "primaries", "replicas", "all"])
                    .to_owned();
                changes.insert("index.routing.rebalance.enable".to_owned(), Some(value));
            }
            _ => {
                let value = rng.pick(&["0", "10", "1000"]).to_owned();
                changes.insert("index.priority".to_owned(), Some(value));
            }
        }
        for (key, value) in &changes {
            match value {
                Some(value) => known.insert(key.clone(), value.clone()),
                None => known.remove(key),
            };
        }
        Some(Step::IndexSettings {
            index: name,
            settings: changes,
        })
    }
}

/// Removes from a step whatever no longer exists; `None` if nothing is left. This keeps a script valid
/// when an index or a node is removed from it.
pub fn fit(step: &Step, answer: &Answer, known: &dyn Fn(&str) -> Known) -> Option<Step> {
    let has = |at: &(&String, u32, &String), recovering: bool| {
        answer.copies().any(|copy| {
            (&copy.index, copy.shard, &copy.node) == *at && (!recovering || !copy.is_active())
        })
    };
    let keep = |names: &[String], wanted: Known| -> Vec<String> {
        names
            .iter()
            .filter(|name| known(name) == wanted)
            .cloned()
            .collect()
    };
    let mut step = step.clone();
    let empty = match &mut step {
        Step::Start { copies } => {
            copies.retain(|(index, shard, node)| has(&(index, *shard, node), true));
            copies.is_empty()
        }
        Step::Fail { copies } => {
            copies.retain(|(index, shard, node, _)| has(&(index, *shard, node), false));
            copies.is_empty()
        }
        Step::NodeLeft { nodes } => {
            *nodes = keep(nodes, Known::Node);
            nodes.is_empty()
        }
        Step::Close { indices } => {
            *indices = keep(indices, Known::Open);
            indices.is_empty()
        }
        Step::Open { indices } => {
            *indices = keep(indices, Known::Closed);
            indices.is_empty()
        }
        Step::Delete { indices } => {
            indices.retain(|name| matches!(known(name), Known::Open | Known::Closed));
            indices.is_empty()
        }
        Step::IndexSettings { index, .. } => known(index) != Known::Open,
        Step::NodeJoined { nodes } => {
            nodes.retain(|node| known(&node.id) != Known::Node);
            nodes.is_empty()
        }
        Step::Reroute { .. } | Step::Create { .. } | Step::Settings { .. } => false,
    };
    (!empty).then_some(step)
}

/// What a name currently refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Node,
    Open,
    Closed,
    Nothing,
}
