//! Expected sizes of copies.

use super::rules::Rules;
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::{Cluster, IndexIndex, RoutingTable, ShardId};

/// Expected size of a copy in bytes (`getExpectedShardSize`): the current size of its shard, or the total
/// size of the source shards if it is created from local shards; `default` if unknown.
#[must_use]
pub(crate) fn expected_size_bytes(cluster: &Cluster, copy: &ShardCopy, default: i64) -> i64 {
    let known = |shard, primary| cluster.info.as_ref()?.size_bytes(shard, primary);
    let index = cluster.index(copy.shard.index);
    let Some(source) = index
        .resize_source
        .filter(|_| !copy.is_active() && copy.recovery == Some(RecoverySource::LocalShards))
    else {
        let like_primary = || {
            let derives = !copy.primary && Rules::of(cluster).replica_like_primary;
            derives.then(|| known(copy.shard, true)).flatten()
        };
        return known(copy.shard, copy.primary)
            .or_else(like_primary)
            .unwrap_or(default);
    };
    let Some(from) = cluster.indices.get(source.at()) else {
        return default;
    };
    let shard = copy.shard.shard;
    let shards = if from.shards > index.shards {
        let factor = from.shards / index.shards.max(1);
        let first = shard.saturating_mul(factor);
        first..first.saturating_add(factor)
    } else {
        let shard = shard / (index.shards / from.shards.max(1)).max(1);
        shard..shard.saturating_add(1)
    };
    let size = |shard, primary| known(shard, primary).unwrap_or(0);
    match sizes_of_primaries(&cluster.routing, source, shards, size) {
        0 => default,
        bytes => bytes,
    }
}

/// Total size of the source shards of a copy created from local shards.
fn sizes_of_primaries(
    routing: &RoutingTable,
    source: IndexIndex,
    shards: std::ops::Range<u32>,
    size_bytes: impl Fn(ShardId, bool) -> i64,
) -> i64 {
    let Some(table) = routing.table(source) else {
        return 0;
    };
    let primaries = table.copies.iter().filter(|copy| copy.primary);
    let wanted = primaries.filter(|copy| shards.contains(&copy.shard.shard));
    wanted
        .map(|copy| size_bytes(copy.shard, true))
        .fold(0, i64::wrapping_add)
}
