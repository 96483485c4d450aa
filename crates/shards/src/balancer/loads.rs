//! Write load and bytes per node, from 8.6 on.
//!
//! Sums are double precision and their order of addition is the server's, node by node.

use super::rules::{Bytes, LoadRules};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::{Cluster, IndexIndex, IndexState, NodeIndex, ShardId};

/// What weighs on the nodes besides the number of copies.
#[derive(Debug)]
pub(super) struct Loads {
    rules: LoadRules,
    /// Write load and bytes per node of the model.
    nodes: Vec<Load>,
    /// Averages per node.
    average: Load,
}

/// Write load and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    write: f64,
    bytes: f64,
}

impl Loads {
    /// Sums up the loads of the copies on these nodes.
    pub fn new(rules: LoadRules, round: &mut Allocation<'_>, order: &[NodeIndex]) -> Loads {
        round.nodes.put_in_order(round.cluster);
        let (cluster, nodes) = (round.cluster, &*round.nodes);
        let sum = |node: &NodeIndex| {
            let mut sum = Load::default();
            for (_, copy) in nodes.copies_on(*node) {
                if !copy.is_relocating() {
                    let load = of_copy(rules, cluster, copy);
                    sum.write += load.write;
                    sum.bytes += load.bytes;
                }
            }
            sum
        };
        let mut write = 0.0;
        let mut bytes: i64 = 0;
        for index in (0..).map(IndexIndex).take(cluster.indices.len()) {
            let known = cluster.index(index);
            if known.state == IndexState::Deleted {
                continue;
            }
            let load = known.forecast.write_load.unwrap_or(0.0);
            write += load * double(known.total_copies().cast_signed());
            bytes = bytes.wrapping_add(of_index(rules, cluster, index));
        }
        let count = double(i64::try_from(order.len()).unwrap_or(i64::MAX));
        Loads {
            rules,
            nodes: order.iter().map(sum).collect(),
            average: Load {
                write: write / count,
                bytes: double(bytes) / count,
            },
        }
    }

    pub fn add(&mut self, cluster: &Cluster, node: u32, copy: &ShardCopy) {
        let load = of_copy(self.rules, cluster, copy);
        let sum = &mut self.nodes[node as usize];
        sum.write += load.write;
        sum.bytes += load.bytes;
    }

    pub fn remove(&mut self, cluster: &Cluster, node: u32, copy: &ShardCopy) {
        let load = of_copy(self.rules, cluster, copy);
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

/// What one copy adds to its node.
fn of_copy(rules: LoadRules, cluster: &Cluster, copy: &ShardCopy) -> Load {
    let index = cluster.index(copy.shard.index);
    let forecast = index.forecast.shard_bytes;
    let measured = || size(cluster, copy.shard, copy.primary).unwrap_or(0);
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
