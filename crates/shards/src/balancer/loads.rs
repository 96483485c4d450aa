//! Write load and bytes per node, from 8.6 on.
//!
//! Sums are double precision and their order of addition is the server's, node by node.

use super::rules::{Bytes, LoadRules};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::{Cluster, IndexIndex, NodeIndex, ShardId};

/// What weighs on the nodes besides the number of copies.
#[derive(Debug)]
pub(super) struct Loads {
    rules: LoadRules,
    /// Write load and bytes per node of the model.
    nodes: Vec<Load>,
    /// Those of the copies that are on the nodes, added in the order of their arrival.
    placed: Vec<Load>,
    /// Nodes whose copies have changed since.
    stale_nodes: Vec<bool>,
    /// Write load of all copies.
    write: f64,
    /// Bytes of all copies, per index.
    bytes: Vec<i64>,
    /// Shards of which a size has changed.
    stale_shards: Vec<ShardId>,
    of_shards: ShardLoads,
    /// Averages per node.
    average: Load,
}

/// Write load and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    write: f64,
    bytes: f64,
}

impl Load {
    fn add(&mut self, other: Load) {
        self.write += other.write;
        self.bytes += other.bytes;
    }
}

/// What each copy adds to its node.
#[derive(Debug, Default)]
struct ShardLoads {
    /// Per index, where its shards begin in `loads`.
    starts: Vec<usize>,
    /// Per shard, a replica and the primary.
    loads: Vec<[Load; 2]>,
}

impl ShardLoads {
    fn of(rules: LoadRules, cluster: &Cluster) -> Self {
        let mut all = Self::default();
        for (index, known) in (0..).map(IndexIndex).zip(&cluster.indices) {
            all.starts.push(all.loads.len());
            let shards = (0..known.shards).map(|shard| ShardId { index, shard });
            all.loads
                .extend(shards.map(|shard| of_shard(rules, cluster, shard)));
        }
        all
    }

    fn at(&self, shard: ShardId) -> usize {
        self.starts[shard.index.at()] + shard.shard as usize
    }

    fn of_copy(&self, copy: &ShardCopy) -> Load {
        self.loads[self.at(copy.shard)][usize::from(copy.primary)]
    }
}

impl Loads {
    /// Sums up the loads of the copies on these nodes.
    pub fn new(rules: LoadRules, round: &mut Allocation<'_>, order: &[NodeIndex]) -> Loads {
        round.nodes.put_in_order(round.cluster);
        let cluster = round.cluster;
        let mut write = 0.0;
        let mut bytes = vec![0; cluster.indices.len()];
        for index in (0..).map(IndexIndex).take(cluster.indices.len()) {
            let known = cluster.index(index);
            let load = known.forecast.write_load.unwrap_or(0.0);
            write += load * double(known.total_copies().cast_signed());
            bytes[index.at()] = of_index(rules, cluster, index);
        }
        let mut loads = Loads {
            rules,
            nodes: Vec::new(),
            placed: vec![Load::default(); order.len()],
            stale_nodes: vec![true; order.len()],
            write,
            bytes,
            stale_shards: Vec::new(),
            of_shards: ShardLoads::of(rules, cluster),
            average: Load::default(),
        };
        loads.refresh(round, order);
        loads
    }

    /// Sums up anew what has changed since the last time. No index may have been created or deleted, and
    /// no node have left or joined.
    pub fn refresh(&mut self, round: &Allocation<'_>, order: &[NodeIndex]) {
        for shard in std::mem::take(&mut self.stale_shards) {
            let at = self.of_shards.at(shard);
            self.of_shards.loads[at] = of_shard(self.rules, round.cluster, shard);
            self.bytes[shard.index.at()] = of_index(self.rules, round.cluster, shard.index);
        }
        for (at, &node) in order.iter().enumerate() {
            if std::mem::take(&mut self.stale_nodes[at]) {
                self.placed[at] = self.sum(round, node);
            }
            debug_assert_eq!(
                self.placed[at],
                self.sum(round, node),
                "a change went unnoticed"
            );
        }
        self.nodes.clone_from(&self.placed);
        let bytes = self.bytes.iter().copied().fold(0, i64::wrapping_add);
        let count = double(i64::try_from(order.len()).unwrap_or(i64::MAX));
        self.average = Load {
            write: self.write / count,
            bytes: double(bytes) / count,
        };
    }

    fn sum(&self, round: &Allocation<'_>, node: NodeIndex) -> Load {
        let mut sum = Load::default();
        for (_, copy) in round.nodes.copies_on(node) {
            if !copy.is_relocating() {
                sum.add(self.of_shards.of_copy(copy));
            }
        }
        sum
    }

    /// Notes that the copies on a node have changed, or their sizes.
    pub fn node_changed(&mut self, node: u32) {
        if let Some(stale) = self.stale_nodes.get_mut(node as usize) {
            *stale = true;
        }
    }

    /// Notes that a size of the shard has changed.
    pub fn size_changed(&mut self, shard: ShardId) {
        self.stale_shards.push(shard);
    }

    pub fn add(&mut self, node: u32, copy: &ShardCopy) {
        self.nodes[node as usize].add(self.of_shards.of_copy(copy));
    }

    pub fn remove(&mut self, node: u32, copy: &ShardCopy) {
        let load = self.of_shards.of_copy(copy);
        let sum = &mut self.nodes[node as usize];
        sum.write -= load.write;
        sum.bytes -= load.bytes;
    }

    /// How far a node is above the averages: write load and bytes.
    pub fn excess(&self, node: u32) -> (f32, f32) {
        let load = self.nodes[node as usize];
        (
            single(load.write - self.average.write),
            single(load.bytes - self.average.bytes),
        )
    }

    pub fn rules(&self) -> LoadRules {
        self.rules
    }
}

/// What a replica of a shard and its primary add to their nodes.
fn of_shard(rules: LoadRules, cluster: &Cluster, shard: ShardId) -> [Load; 2] {
    let index = cluster.index(shard.index);
    let forecast = index.forecast.shard_bytes;
    [false, true].map(|primary| {
        let measured = || size(cluster, shard, primary).unwrap_or(0);
        let bytes = match rules.bytes {
            _ if rules.partial_is_free && index.settings.partial_snapshot => 0,
            Bytes::Forecast => forecast.unwrap_or(0),
            Bytes::ForecastOrMeasured => forecast.unwrap_or_else(measured),
            Bytes::Larger => forecast.unwrap_or(0).max(measured()),
        };
        Load {
            write: index.forecast.write_load.unwrap_or(0.0),
            bytes: double(bytes),
        }
    })
}

/// Bytes of all copies of an index; those of unknown size count as the average of the others
/// (`getIndexDiskUsageInBytes`).
fn of_index(rules: LoadRules, cluster: &Cluster, index: IndexIndex) -> i64 {
    let known = cluster.index(index);
    let copies = known.total_copies().cast_signed();
    if rules.partial_is_free && known.settings.partial_snapshot {
        return 0;
    }
    let least = match (rules.bytes, known.forecast.shard_bytes) {
        (Bytes::Larger, forecast) => forecast.unwrap_or(-1),
        (_, Some(forecast)) => return forecast.wrapping_mul(copies),
        (_, None) => -1,
    };
    let replicas = i64::from(known.replicas);
    let (mut sum, mut count) = (0_i64, 0_i64);
    for shard in 0..known.shards {
        for (primary, times) in [(true, 1), (false, replicas)] {
            let bytes = size(cluster, ShardId { index, shard }, primary).unwrap_or(-1);
            let bytes = bytes.max(least);
            if bytes != -1 {
                sum = sum.wrapping_add(bytes.wrapping_mul(times));
                count += times;
            }
        }
    }
    if count == copies {
        sum
    } else if count == 0 {
        0
    } else {
        (sum / count).wrapping_mul(copies)
    }
}

/// Write load and bytes that the move of one copy of an index is taken to shift: the least difference
/// that is worth a move (`minWeightDelta`).
pub(super) fn of_move(rules: LoadRules, cluster: &Cluster, index: IndexIndex) -> (f32, f32) {
    let known = cluster.index(index);
    let write = single(known.forecast.write_load.unwrap_or(0.0));
    let forecast = known.forecast.shard_bytes.unwrap_or(0);
    if rules.bytes == Bytes::Forecast {
        return (write, single(double(forecast)));
    }
    if rules.partial_moves_free && known.settings.partial_snapshot {
        return (write, 0.0);
    }
    let shards = (0..known.shards).map(|shard| ShardId { index, shard });
    let sizes = shards.flat_map(|shard| [true, false].map(|primary| size(cluster, shard, primary)));
    let most = sizes.flatten().fold(forecast, i64::max);
    (write, long_to_single(most))
}

fn size(cluster: &Cluster, shard: ShardId, primary: bool) -> Option<i64> {
    cluster.info.as_ref()?.size_bytes(shard, primary)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "as Java converts a long to a double"
)]
fn double(number: i64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "as Java converts a long to a float"
)]
fn long_to_single(number: i64) -> f32 {
    number as f32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "as Java converts a double to a float"
)]
fn single(number: f64) -> f32 {
    number as f32
}
