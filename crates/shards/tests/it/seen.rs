//! Coverage of the generated clusters, to detect when the generator stops producing something.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::answer::Answer;
use crate::spec::{ClusterSpec, Step};

/// Number of states in which each word occurred: steps, copy states, reasons and statuses of unassigned
/// copies, settings.
#[derive(Debug, Default)]
pub struct Seen(BTreeMap<String, usize>);

/// What 60 clusters must cover.
const EXPECTED: [&str; 35] = [
    "step reroute",
    "step start",
    "step fail",
    "step node-left",
    "step node-joined",
    "step create",
    "step delete",
    "step close",
    "step open",
    "step settings",
    "step index-settings",
    "P INITIALIZING",
    "P STARTED",
    "P RELOCATING",
    "R INITIALIZING",
    "R STARTED",
    "R RELOCATING",
    "reason INDEX_CREATED",
    "reason CLUSTER_RECOVERED",
    "reason INDEX_CLOSED",
    "reason INDEX_REOPENED",
    "reason NODE_LEFT",
    "reason ALLOCATION_FAILED",
    "reason REPLICA_ADDED",
    "reason PRIMARY_FAILED",
    "status NO_ATTEMPT",
    "status DECIDERS_NO",
    "status DECIDERS_THROTTLED",
    "status NO_VALID_SHARD_COPY",
    "status FETCHING_SHARD_DATA",
    "delayed",
    "allocation.exclude",
    "allocation.awareness",
    "allocation.disk",
    "allocation.total_shards_per_node",
];

impl Seen {
    fn add(&mut self, word: String) {
        *self.0.entry(word).or_default() += 1;
    }

    pub fn cluster(&mut self, cluster: &ClusterSpec) {
        let keys: BTreeSet<String> = cluster
            .settings
            .keys()
            .map(|key| key.split('.').skip(2).take(2).collect::<Vec<_>>().join("."))
            .collect();
        for key in keys {
            self.add(key);
        }
    }

    pub fn step(&mut self, step: &Step) {
        let name = json!(step)["step"].as_str().unwrap_or_default().to_owned();
        self.add(format!("step {name}"));
    }

    pub fn state(&mut self, answer: &Answer) {
        let mut words = BTreeSet::new();
        for copy in answer.copies() {
            let kind = if copy.primary { "P" } else { "R" };
            words.insert(format!("{kind} {}", copy.state));
        }
        for line in &answer.unassigned {
            let mut parts = line.split(' ').skip(2);
            let mut part = || parts.next().unwrap_or_default();
            words.insert(format!("reason {}", part()));
            words.insert(format!("status {}", part()));
            if line.contains("delayed=true") {
                words.insert("delayed".to_owned());
            }
        }
        for word in words {
            self.add(word);
        }
    }

    /// Expected words that did not occur.
    pub fn missing(&self) -> Vec<&'static str> {
        let absent = |word: &&str| !self.0.contains_key(*word);
        EXPECTED.into_iter().filter(absent).collect()
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (word, count) in &self.0 {
            writeln!(f, "{count:8} {word}")?;
        }
        Ok(())
    }
}
