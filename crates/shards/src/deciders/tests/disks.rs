//! Disk threshold: which watermark applies when, and which bytes are counted.

use super::super::fixture::{Builder, node};
use super::super::{NoReasons, Verdict, expected_size_bytes};
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::{DiskUsage, IndexIndex, Watermark};
use Verdict::{No, Yes};

const DISK: &str = "disk_threshold";

/// Two nodes with 1,000-byte disks, so the low watermark is at 150 bytes free and the high one at 100.
fn builder(free_bytes: i64) -> (Builder, IndexIndex) {
    let mut builder = Builder::new(2);
    builder.disks(&[Some(free_bytes), Some(1000)]);
    let index = builder.index("i", 3, 0);
    (builder, index)
}

fn verdict(builder: &Builder, copy: &ShardCopy) -> Verdict {
    builder.allocate(DISK, copy, 0)
}

#[test]
fn share_and_byte_watermarks_at_their_limits() {
    for (low, high) in [("85%", "90%"), ("0.85", "0.90"), ("150b", "100b")] {
        for (free, old, fresh) in [
            (150, Yes, Yes),
            (149, No, Yes),
            (101, No, Yes),
            (100, No, No),
            (-1, No, No),
        ] {
            let (mut builder, index) = builder(free);
            builder.cluster.settings.watermark_low = Watermark::parse(low).unwrap();
            builder.cluster.settings.watermark_high = Watermark::parse(high).unwrap();
            let existing = builder.unassigned(index, 0, true, RecoverySource::ExistingStore);
            let empty = builder.unassigned(index, 1, true, RecoverySource::EmptyStore);
            let moving = builder.started(index, 2, true, 1);
            assert_eq!(verdict(&builder, &existing), old, "{low} {free}");
            assert_eq!(verdict(&builder, &moving), old, "{low} {free}");
            assert_eq!(verdict(&builder, &empty), fresh, "{low} {free}");
        }
    }
}

#[test]
fn the_copy_has_to_fit_below_the_high_watermark() {
    for (size, expected) in [(0, Yes), (100, Yes), (101, No)] {
        let (mut builder, index) = builder(200);
        let copy = builder.unassigned(index, 0, true, RecoverySource::ExistingStore);
        builder
            .cluster
            .info
            .as_mut()
            .unwrap()
            .set_size_bytes(copy.shard, true, size);
        assert_eq!(verdict(&builder, &copy), expected, "{size}");
        // The same with watermarks in bytes.
        builder.cluster.settings.watermark_low = Watermark::parse("150b").unwrap();
        builder.cluster.settings.watermark_high = Watermark::parse("100b").unwrap();
        assert_eq!(verdict(&builder, &copy), expected, "{size}");
    }
}

#[test]
fn force_overrides_the_disk() {
    let (mut builder, index) = builder(10);
    let copy = builder.unassigned(index, 0, true, RecoverySource::ExistingStore);
    builder.ask(|round| {
        assert_eq!(round.can_allocate(&copy, node(0), &mut NoReasons), No);
        assert_eq!(
            round.can_force_allocate_primary(&copy, node(0), &mut NoReasons),
            Yes
        );
    });
}

#[test]
fn copies_leave_a_path_above_the_high_watermark() {
    for (free, expected) in [(100, Yes), (99, No)] {
        let (mut builder, index) = builder(free);
        let here = builder.started(index, 0, true, 0);
        let elsewhere = builder.started(index, 1, true, 0);
        let unknown = builder.started(index, 2, true, 0);
        let info = builder.cluster.info.as_mut().unwrap();
        let (path, other) = (info.path("/d"), info.path("/e"));
        info.set_data_path(&here, path);
        info.set_data_path(&elsewhere, other);
        assert_eq!(builder.remain(DISK, &here), expected, "{free}");
        assert_eq!(builder.remain(DISK, &elsewhere), Yes);
        assert_eq!(builder.remain(DISK, &unknown), Yes);
        let silent = builder.ask(|round| round.can_remain(&here, node(0), &mut NoReasons));
        assert_eq!(silent, expected);
    }
}

#[test]
fn outgoing_bytes_only_count_for_remaining() {
    let (mut builder, index) = builder(150);
    let leaving = builder.relocating(index, 0, true, (0, 1));
    let held = builder.started(index, 1, true, 0);
    let other = builder.index("j", 1, 0);
    let fresh = builder.index("k", 1, 0);
    let copy = builder.unassigned(fresh, 0, true, RecoverySource::ExistingStore);
    let info = builder.cluster.info.as_mut().unwrap();
    let path = info.path("/d");
    info.set_size_bytes(leaving.shard, true, 60);
    // Its path was read before it began to move.
    info.set_data_path(&leaving.cancel_relocation(), path);
    info.set_data_path(&held, path);
    assert_eq!(verdict(&builder, &copy), Yes);
    assert_eq!(builder.remain(DISK, &held), Yes);

    // 60 leave and 111 arrive: 39 free for allocating, 99 free for remaining.
    let arriving = builder.relocating(other, 0, true, (1, 0));
    let size = |builder: &mut Builder, bytes| {
        let info = builder.cluster.info.as_mut().unwrap();
        info.set_size_bytes(arriving.shard, true, bytes);
    };
    size(&mut builder, 111);
    assert_eq!(verdict(&builder, &copy), No);
    assert_eq!(builder.remain(DISK, &held), No);
    size(&mut builder, 110);
    assert_eq!(verdict(&builder, &copy), No);
    assert_eq!(builder.remain(DISK, &held), Yes);

    builder.cluster.settings.include_relocations = false;
    assert_eq!(verdict(&builder, &copy), Yes);
}

#[test]
fn bytes_arriving_on_another_path_do_not_count() {
    let (mut builder, index) = builder(150);
    let copy = builder.unassigned(index, 0, true, RecoverySource::ExistingStore);
    let arriving = builder.relocating(index, 1, true, (1, 0));
    let info = builder.cluster.info.as_mut().unwrap();
    info.set_size_bytes(arriving.shard, true, 1);
    assert_eq!(verdict(&builder, &copy), No);
    let info = builder.cluster.info.as_mut().unwrap();
    let other = info.path("/e");
    info.set_data_path(&arriving.relocation_target(), other);
    assert_eq!(verdict(&builder, &copy), Yes);
}

#[test]
fn a_node_with_unknown_usage_counts_as_the_average() {
    // (100 + 200) / 2 = 150 of 1,000 free is at the low watermark; one byte less is above it.
    for (free, expected) in [(200, Yes), (199, No)] {
        let mut builder = Builder::new(3);
        builder.disks(&[None, Some(100), Some(free)]);
        let index = builder.index("i", 1, 0);
        let copy = builder.unassigned(index, 0, true, RecoverySource::ExistingStore);
        assert_eq!(verdict(&builder, &copy), expected, "{free}");
    }
}

#[test]
fn disks_are_ignored_if_unknown_or_with_one_node() {
    let (mut builder, index) = builder(10);
    let copy = builder.unassigned(index, 0, true, RecoverySource::ExistingStore);
    assert_eq!(verdict(&builder, &copy), No);
    let change = |change: fn(&mut Builder)| {
        let mut builder = builder.clone();
        change(&mut builder);
        verdict(&builder, &copy)
    };
    assert_eq!(
        change(|b| b.cluster.settings.disk_threshold_enabled = false),
        Yes
    );
    assert_eq!(change(|b| b.cluster.data_nodes.truncate(1)), Yes);
    assert_eq!(change(|b| b.cluster.info = None), Yes);
    assert_eq!(
        change(|b| b.cluster.info.as_mut().unwrap().most.clear()),
        Yes
    );
    // A disk of size zero counts as 100 % free.
    let empty = DiskUsage {
        path: None,
        total_bytes: 0,
        free_bytes: -5,
    };
    builder
        .cluster
        .info
        .as_mut()
        .unwrap()
        .most
        .insert(node(0), empty);
    assert_eq!(
        verdict(&builder, &copy),
        No,
        "but has fewer than 0 bytes free"
    );
    let none = DiskUsage {
        free_bytes: 0,
        ..empty
    };
    builder
        .cluster
        .info
        .as_mut()
        .unwrap()
        .most
        .insert(node(0), none);
    assert_eq!(verdict(&builder, &copy), Yes);
}

#[test]
fn copies_from_local_shards_have_the_size_of_their_sources() {
    let mut builder = Builder::new(2);
    let source = builder.index("source", 4, 0);
    for shard in 0..4 {
        builder.started(source, shard, true, 0);
    }
    let info = builder.disks(&[Some(1000), Some(1000)]);
    for shard in 0..4 {
        info.set_size_bytes(
            crate::model::ShardId {
                index: source,
                shard,
            },
            true,
            1 << shard,
        );
    }
    let mut sizes = |shards: u32| -> Vec<i64> {
        let index = builder.index("target", shards, 0);
        builder.cluster.indices[index.at()].resize_source = Some(source);
        let copies: Vec<ShardCopy> = (0..shards)
            .map(|shard| builder.unassigned(index, shard, true, RecoverySource::LocalShards))
            .collect();
        let cluster = builder.build();
        copies
            .iter()
            .map(|copy| expected_size_bytes(&cluster, copy, -1))
            .collect()
    };
    assert_eq!(sizes(2), [1 + 2, 4 + 8], "shrunk");
    assert_eq!(sizes(4), [1, 2, 4, 8], "cloned");
    assert_eq!(sizes(8), [1, 1, 2, 2, 4, 4, 8, 8], "split");
}
