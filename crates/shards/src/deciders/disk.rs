//! `DiskThresholdDecider`: no copy is allocated to a node above the low watermark, and none remains above
//! the high one.
//!
//! The arithmetic is the server's: wrapping 64-bit byte counts, percentages in double precision.

use super::decision::answer;
use super::sizes::expected_size_bytes;
use super::words::Bytes;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::{DiskUsage, NodeIndex, PathIndex, Watermark};
use crate::sums::Disk;

const NAME: &str = "disk_threshold";
const LOW: &str = "cluster setting [cluster.routing.allocation.disk.watermark.low";
const HIGH: &str = "cluster setting [cluster.routing.allocation.disk.watermark.high";

/// Why disk usage is not considered for a copy, if that is the case.
fn irrelevant_to(round: &Allocation<'_>, copy: &ShardCopy, known: bool) -> Option<&'static str> {
    // `index.routing.allocation.disk.watermark.ignore`, which servers set for partially mounted snapshots.
    let ignores = round.index(copy.shard.index).settings.partial_snapshot;
    irrelevant(round, known).or(ignores.then_some("watermarks do not matter to this index"))
}

/// Why disk usage is not considered at all, if that is the case.
fn irrelevant(round: &Allocation<'_>, known: bool) -> Option<&'static str> {
    if !round.cluster.settings.disk_threshold_enabled {
        Some("cluster setting [cluster.routing.allocation.disk.threshold_enabled=false]")
    } else if round.deciders.rules.spares_single_node && round.cluster.data_nodes.len() <= 1 {
        Some("there is one data node only")
    } else if round.cluster.info.is_none() {
        Some("nothing is known about disks")
    } else if !known {
        Some("no disk usage is known")
    } else {
        None
    }
}

/// Disk usage of a node, including relocations to it and, for remaining, away from it.
fn usage(round: &Allocation<'_>, node: NodeIndex, disk: Disk) -> DiskUsage {
    let disks = &round.deciders.disks;
    let mut usage = match disk {
        Disk::Least => disks.least[node.at()],
        Disk::Most => disks.most[node.at()],
    };
    if round.cluster.settings.include_relocations {
        let moving = round.deciders.sums.relocating_bytes(
            round.cluster,
            round.nodes,
            node,
            disk,
            usage.path,
        );
        usage.free_bytes = usage.free_bytes.wrapping_sub(moving);
    }
    usage
}

/// Whether a copy may be allocated to a node, based on the node's path with the most free space.
pub(super) fn allocate<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if let Some(reason) = irrelevant_to(round, copy, round.deciders.disks.most_known) {
        return answer!(why, Yes, "{reason}");
    }
    let settings = &round.cluster.settings;
    let usage = usage(round, node, Disk::Most);
    if round.deciders.rules.disks_in_bytes {
        return allocate_in_bytes(round, copy, usage, why);
    }
    let low = &*settings.watermark_low.of_disk(usage.total_bytes);
    let high = &*settings.watermark_high.of_disk(usage.total_bytes);
    let free_percent = usage.free_percent();

    // A new, empty primary needs no space yet.
    let empty =
        copy.primary && !copy.is_active() && copy.recovery == Some(RecoverySource::EmptyStore);
    let short_of_bytes = usage.free_bytes < low.free_bytes;
    if short_of_bytes || free_percent < low.free_percent {
        if !empty {
            return below(LOW, low, usage, short_of_bytes, why);
        }
        let room = if short_of_bytes {
            usage.free_bytes > high.free_bytes
        } else {
            free_percent > high.free_percent
        };
        if !room {
            return below(HIGH, high, usage, short_of_bytes, why);
        }
        return answer!(
            why,
            Yes,
            "above the low watermark but below the high one, and this primary is new and empty; \
             {LOW}={}], {HIGH}={}], free [{}]",
            low.raw,
            high.raw,
            Bytes(usage.free_bytes)
        );
    }

    let size_bytes = expected_size_bytes(round.cluster, copy, 0);
    let after = DiskUsage {
        free_bytes: usage.free_bytes.wrapping_sub(size_bytes),
        ..usage
    };
    if after.free_bytes < high.free_bytes || after.free_percent() < high.free_percent {
        return answer!(
            why,
            No,
            "with this copy of [{}] the node would be above the high watermark, {HIGH}={}], free now \
             [{}, {free_percent:.1}%], then [{}, {:.1}%]",
            Bytes(size_bytes),
            high.raw,
            Bytes(usage.free_bytes),
            Bytes(after.free_bytes),
            after.free_percent()
        );
    }
    answer!(
        why,
        Yes,
        "enough room on the node: free [{}], size of the copy [{}], then free [{}]",
        Bytes(usage.free_bytes),
        Bytes(size_bytes),
        Bytes(after.free_bytes)
    )
}

/// [`allocate`] where shares of a disk are turned into bytes first.
fn allocate_in_bytes<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    usage: DiskUsage,
    why: &mut W,
) -> Verdict {
    let settings = &round.cluster.settings;
    let free = usage.free_bytes;
    if free < 0 {
        return answer!(
            why,
            No,
            "recoveries on their way to the node take [{}] more than is free there",
            Bytes(free.wrapping_neg())
        );
    }
    let low = settings.watermark_low.free_of(usage.total_bytes);
    let high = settings.watermark_high.free_of(usage.total_bytes);
    let empty =
        copy.primary && !copy.is_active() && copy.recovery == Some(RecoverySource::EmptyStore);
    if free < low {
        if !empty {
            return lacks(LOW, &settings.watermark_low, free, low, why);
        }
        if free <= high {
            return lacks(HIGH, &settings.watermark_high, free, high, why);
        }
        return answer!(
            why,
            Yes,
            "above the low watermark but below the high one, and this primary is new and empty; free [{}]",
            Bytes(free)
        );
    }
    let size_bytes = expected_size_bytes(round.cluster, copy, 0);
    let after = free.wrapping_sub(size_bytes);
    if after < high {
        return answer!(
            why,
            No,
            "with this copy of [{}] the node would be above the high watermark, {HIGH}={}]: free now [{}], \
             then [{}], needed [{}]",
            Bytes(size_bytes),
            settings.watermark_high.raw,
            Bytes(free),
            Bytes(after),
            Bytes(high)
        );
    }
    answer!(
        why,
        Yes,
        "enough room on the node: free [{}], size of the copy [{}], then free [{}]",
        Bytes(free),
        Bytes(size_bytes),
        Bytes(after)
    )
}

/// Whether a copy may be forced onto the node that replaces its own: only if it fits at all.
pub(super) fn force<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if let Some(reason) = irrelevant_to(round, copy, round.deciders.disks.most_known) {
        return answer!(why, Yes, "{reason}");
    }
    let free = usage(round, node, Disk::Most).free_bytes;
    let after = free.wrapping_sub(expected_size_bytes(round.cluster, copy, 0));
    if after < 0 {
        return answer!(
            why,
            No,
            "the node's disk would be full, with [{}] too much",
            Bytes(after.wrapping_neg())
        );
    }
    answer!(why, Yes, "the copy fits on the node's disk")
}

fn lacks<W: ReasonSink>(
    setting: &str,
    mark: &Watermark,
    free: i64,
    needed: i64,
    why: &mut W,
) -> Verdict {
    answer!(
        why,
        No,
        "the node is above the watermark, {setting}={}]: free [{}], needed [{}]",
        mark.raw,
        Bytes(free),
        Bytes(needed)
    )
}

/// Whether a copy may remain on its node, based on the node's path with the least free space. A copy on
/// another path, or on an unknown one, may remain.
pub(super) fn remain<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    if let Some(reason) = irrelevant_to(round, copy, round.deciders.disks.least_known) {
        return answer!(why, Yes, "{reason}");
    }
    let usage = usage(round, node, Disk::Least);
    if round.deciders.rules.disks_in_bytes {
        let mark = &round.cluster.settings.watermark_high;
        let high = mark.free_of(usage.total_bytes);
        if usage.free_bytes < high && lies_on(round, copy, usage.path) {
            return lacks(HIGH, mark, usage.free_bytes, high, why);
        }
        return answer!(
            why,
            Yes,
            "enough room for the copy to stay, or it does not lie on the node's fullest path: free [{}]",
            Bytes(usage.free_bytes)
        );
    }
    let high = &*round
        .cluster
        .settings
        .watermark_high
        .of_disk(usage.total_bytes);
    let short_of_bytes = usage.free_bytes < high.free_bytes;
    let enough = is_enough(&usage, high);
    if enough && !W::ON {
        return Verdict::Yes;
    }
    if !lies_on(round, copy, usage.path) {
        return answer!(
            why,
            Yes,
            "this copy does not lie on the node's fullest path, as far as is known"
        );
    }
    if enough {
        return answer!(
            why,
            Yes,
            "enough room for the copy to stay: free [{}], {HIGH}={}]",
            Bytes(usage.free_bytes),
            high.raw
        );
    }
    below(HIGH, high, usage, short_of_bytes, why)
}

/// Whether a copy is known to lie on this path.
fn lies_on(round: &Allocation<'_>, copy: &ShardCopy, path: Option<PathIndex>) -> bool {
    let info = round.cluster.info.as_ref();
    let on = info.and_then(|info| info.data_path(copy));
    on.is_some() && on == path
}

/// Whether no copy on the node has to leave for lack of space.
pub(super) fn all_remain(round: &Allocation<'_>, node: NodeIndex) -> bool {
    irrelevant(round, round.deciders.disks.least_known).is_some() || {
        let usage = usage(round, node, Disk::Least);
        let high = &round.cluster.settings.watermark_high;
        if round.deciders.rules.disks_in_bytes {
            return usage.free_bytes >= high.free_of(usage.total_bytes);
        }
        is_enough(&usage, &high.of_disk(usage.total_bytes))
    }
}

fn is_enough(usage: &DiskUsage, mark: &Watermark) -> bool {
    usage.free_bytes >= mark.free_bytes && usage.free_percent() >= mark.free_percent
}

fn below<W: ReasonSink>(
    setting: &str,
    mark: &Watermark,
    usage: DiskUsage,
    bytes: bool,
    why: &mut W,
) -> Verdict {
    if bytes {
        return answer!(
            why,
            No,
            "the node is above the watermark, {setting}={}]: free [{}], needed [{}]",
            mark.raw,
            Bytes(usage.free_bytes),
            Bytes(mark.free_bytes)
        );
    }
    answer!(
        why,
        No,
        "the node is above the watermark, {setting}={}]: used [{:.1}%], at most [{:.1}%]",
        mark.raw,
        usage.used_percent(),
        100.0 - mark.free_percent
    )
}
