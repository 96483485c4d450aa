//! Decider inputs that are computed once per round.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::filters::{Fault, fault};
use super::rules::Rules;
use super::shutdowns::Shutdowns;
use super::tier_membership::Tiers;
use crate::model::{Cluster, DiskUsage, Filters, IndexIndex, NodeIndex, ShardId};
use crate::nodes::RoutingNodes;
use crate::sums::Sums;

/// Deciders of a round, with everything that stays constant during the round: settings, nodes and disks.
#[derive(Debug)]
pub struct Deciders {
    /// Counts and sums per node.
    pub(crate) sums: Sums,
    cluster_faults: Vec<Option<Fault>>,
    /// Filter class per index; 0 if it has no filters.
    filter_classes: Vec<u32>,
    /// Cached result of [`fault`] per class and node: 0 unknown, 1 passes, otherwise the fault plus 2.
    index_faults: Vec<Cell<u8>>,
    /// Whether any `total_shards_per_node` is set.
    limits: bool,
    snapshots: HashSet<(ShardId, NodeIndex)>,
    restores: HashSet<(u32, ShardId)>,
    pub(super) rules: Rules,
    pub(super) shutdowns: Shutdowns,
    pub(super) tiers: Tiers,
    pub(super) awareness: Vec<Awareness>,
    pub(super) disks: Disks,
}

/// One of the `awareness.attributes`, with its values numbered.
#[derive(Debug)]
pub(super) struct Awareness {
    /// The attribute's name.
    pub name: String,
    /// Value per node; `None` if the node does not have the attribute.
    pub values: Vec<Option<u32>>,
    /// Number of distinct values among the routed nodes; not having one counts as a value.
    pub distinct: u32,
    /// The values among the routed nodes.
    pub actual: HashSet<u32>,
    /// Values listed in `awareness.force`, with repetitions. Some may not exist on any node.
    pub forced: Vec<u32>,
}

/// Disk usage per node, with gaps filled in.
#[derive(Debug, Default)]
pub(super) struct Disks {
    /// Whether any node's usage is known, for the paths with the least and the most free space.
    pub least_known: bool,
    pub most_known: bool,
    /// Usage per node; the average where a node's usage is unknown.
    pub least: Vec<DiskUsage>,
    pub most: Vec<DiskUsage>,
}

impl Deciders {
    /// Prepares a round on this cluster. Nodes that have left must already be removed from the routing
    /// nodes.
    #[must_use]
    pub fn new(cluster: &Cluster, nodes: &RoutingNodes) -> Deciders {
        let settings = &cluster.settings;
        let faults = cluster.nodes.iter().map(|node| {
            fault(
                node,
                &settings.require,
                &settings.include,
                &settings.exclude,
            )
        });
        let (filter_classes, classes) = classes(cluster);
        Deciders {
            sums: Sums::default(),
            cluster_faults: faults.collect(),
            filter_classes,
            index_faults: vec![Cell::new(0); classes * cluster.nodes.len()],
            limits: settings.total_shards_per_node > 0
                || cluster
                    .indices
                    .iter()
                    .any(|index| index.settings.total_shards_per_node > 0),
            snapshots: cluster
                .snapshots
                .iter()
                .map(|read| (read.shard, read.node))
                .collect(),
            restores: {
                let running = cluster.restores.iter().filter(|restore| !restore.completed);
                running
                    .map(|restore| (restore.restore, restore.shard))
                    .collect()
            },
            rules: Rules::of(cluster),
            shutdowns: Shutdowns::new(cluster),
            tiers: Tiers::new(cluster),
            awareness: awareness(cluster, nodes),
            disks: disks(cluster),
        }
    }

    /// Updates the disk usage after new information has been read.
    pub(crate) fn read_disks(&mut self, cluster: &Cluster) {
        self.disks = disks(cluster);
        self.sums.forget_bytes();
    }

    /// Which of the cluster's filters rejects the node, if any.
    pub(crate) fn cluster_fault(&self, node: NodeIndex) -> Option<Fault> {
        self.cluster_faults[node.at()]
    }

    pub(super) fn index_fault(
        &self,
        cluster: &Cluster,
        index: IndexIndex,
        node: NodeIndex,
    ) -> Option<Fault> {
        let class = self.filter_classes[index.at()].checked_sub(1)?;
        let known = &self.index_faults[class as usize * cluster.nodes.len() + node.at()];
        let found = match known.get() {
            0 => {
                let settings = &cluster.index(index).settings;
                let node = cluster.node(node);
                fault(
                    node,
                    &settings.require,
                    &settings.include,
                    &settings.exclude,
                )
            }
            1 => None,
            2 => Some(Fault::Require),
            3 => Some(Fault::Include),
            _ => Some(Fault::Exclude),
        };
        known.set(found.map_or(1, |fault| fault as u8 + 2));
        found
    }

    /// Whether no filter, attribute or limit restricts any copy.
    pub(super) fn limits_nothing(&self) -> bool {
        !self.limits
            && self.awareness.is_empty()
            && self.index_faults.is_empty()
            && self.tiers.limit_nothing()
            && self.shutdowns.limit_nothing()
            && self.cluster_faults.iter().all(Option::is_none)
    }

    pub(super) fn is_snapshotted(&self, shard: ShardId, node: NodeIndex) -> bool {
        self.snapshots.contains(&(shard, node))
    }

    pub(super) fn is_restoring(&self, restore: u32, shard: ShardId) -> bool {
        self.restores.contains(&(restore, shard))
    }
}

/// Assigns equal filter groups the same number, so that each is matched against a node only once.
fn classes(cluster: &Cluster) -> (Vec<u32>, usize) {
    type Group = Vec<(String, Vec<String>)>;
    let mut known: HashMap<[&Group; 3], u32> = HashMap::new();
    let numbers = cluster.indices.iter().map(|index| {
        let settings = &index.settings;
        let groups = [&settings.require, &settings.include, &settings.exclude];
        if groups.iter().all(|group| group.is_empty()) {
            return 0;
        }
        let next = u32::try_from(known.len() + 1).expect("fewer than 2^32 indices");
        *known
            .entry(groups.map(|Filters(pairs)| pairs))
            .or_insert(next)
    });
    let numbers = numbers.collect();
    (numbers, known.len())
}

fn awareness(cluster: &Cluster, nodes: &RoutingNodes) -> Vec<Awareness> {
    let attributes = cluster.settings.awareness_attributes.iter();
    // If two groups have the same name the later one wins, as in the server's map.
    let groups = cluster.settings.awareness_forced.iter();
    let groups: HashMap<&str, &[String]> = groups
        .map(|(name, values)| (name.as_str(), values.as_slice()))
        .collect();
    let absence_is_a_value = Rules::of(cluster).absence_is_a_value;
    let prepare = |name: &String| {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut number = |value| {
            let next = u32::try_from(numbers.len()).expect("fewer than 2^32 values");
            *numbers.entry(value).or_insert(next)
        };
        let values = cluster
            .nodes
            .iter()
            .map(|node| node.attribute(name).map(&mut number));
        let values: Vec<Option<u32>> = values.collect();
        let routed = nodes
            .order()
            .iter()
            .filter(|node| cluster.node(**node).present);
        let counted = routed.map(|node| values[node.at()]);
        let distinct: HashSet<Option<u32>> = counted
            .filter(|value| absence_is_a_value || value.is_some())
            .collect();
        let forced = groups.get(name.as_str()).copied().unwrap_or_default();
        Awareness {
            name: name.clone(),
            actual: distinct.iter().copied().flatten().collect(),
            forced: forced.iter().map(|value| number(value)).collect(),
            distinct: u32::try_from(distinct.len()).expect("fewer than 2^32 nodes"),
            values,
        }
    };
    attributes.map(prepare).collect()
}

fn disks(cluster: &Cluster) -> Disks {
    let Some(info) = &cluster.info else {
        return Disks::default();
    };
    let fill = |known: &HashMap<NodeIndex, DiskUsage>| -> Vec<DiskUsage> {
        let count = i64::try_from(known.len()).unwrap_or(i64::MAX).max(1);
        let sum = |of: fn(&DiskUsage) -> i64| known.values().map(of).fold(0, i64::wrapping_add);
        let average = DiskUsage {
            path: None,
            total_bytes: sum(|usage| usage.total_bytes) / count,
            free_bytes: sum(|usage| usage.free_bytes) / count,
        };
        let nodes = (0..).map(NodeIndex).take(cluster.nodes.len());
        nodes
            .map(|node| known.get(&node).copied().unwrap_or(average))
            .collect()
    };
    Disks {
        least_known: !info.least.is_empty(),
        most_known: !info.most.is_empty(),
        least: fill(&info.least),
        most: fill(&info.most),
    }
}
