use super::changes::find_node;
use super::*;
use crate::model::{Index, IndexState, Roles, Settings, Version, Watermark};
use crate::state::{Source, State};
use serde_json::{Value, json};

const GIB: i64 = 1 << 30;

/// A cluster with 100 GiB disks, of which 40 GiB are used by other data, and 1 GiB shards. Each index has
/// one shard and a replica, with the primary of index i on node i and its replica on the next node.
fn cluster(nodes: u32, indices: u32) -> Cluster {
    let started = |index: &str, primary: bool, node: u32| {
        json!({"state": "STARTED", "primary": primary, "node": format!("n{node}"), "shard": 0, "index": index,
            "allocation_id": {"id": format!("{index}-{primary}")}})
    };
    let (mut meta, mut table) = (serde_json::Map::new(), serde_json::Map::new());
    for at in 0..indices {
        let name = format!("i{at:03}");
        meta.insert(name.clone(), json!({"state": "open",
            "settings": {"index": {"number_of_shards": "1", "number_of_replicas": "1", "creation_date": "1"}},
            "in_sync_allocations": {"0": [format!("{name}-true"), format!("{name}-false")]}}));
        table.insert(
            name.clone(),
            json!({"shards": {"0": [
            started(&name, true, at % nodes), started(&name, false, (at + 1) % nodes)]}}),
        );
    }
    let listed: serde_json::Map<String, Value> = (0..nodes)
        .map(|node| (format!("n{node}"), json!({"name": format!("node-{node}"), "transport_address": format!("10.0.0.{node}:9300")})))
        .collect();
    let state = json!({"nodes": listed, "metadata": {"indices": meta}, "routing_table": {"indices": table}});
    let version = Version::release(7, 4, 0);
    let mut state = State::read(Source::Bytes(state.to_string().as_bytes()), version).unwrap();
    let per_node = i64::from(indices) * 2 / i64::from(nodes);
    let answers: serde_json::Map<String, Value> = (0..nodes)
        .map(|node| {
            (
                format!("n{node}"),
                json!({"roles": ["data"], "fs": {"data": [{"path": "/d",
            "total_in_bytes": 100 * GIB, "available_in_bytes": (60 - per_node) * GIB}]}}),
            )
        })
        .collect();
    state
        .read_nodes(Source::Bytes(
            json!({"nodes": answers}).to_string().as_bytes(),
        ))
        .unwrap();
    let rows: Vec<Value> = (0..indices)
        .flat_map(|at| ["p", "r"].map(|kind| json!({"index": format!("i{at:03}"), "shard": "0", "prirep": kind, "store": GIB.to_string()})))
        .collect();
    state
        .read_sizes(Source::Bytes(Value::from(rows).to_string().as_bytes()))
        .unwrap();
    state.cluster
}

fn run_on(cluster: &mut Cluster) -> Course {
    let mut stores = Stores::of(cluster);
    run(cluster, None, &mut stores, 0, 10_000, &mut |_| ()).unwrap()
}

fn copies(cluster: &Cluster) -> Vec<u64> {
    summary(cluster)
        .nodes
        .iter()
        .map(|node| node.copies)
        .collect()
}

#[test]
fn a_balanced_cluster_stays_as_it_is() {
    let mut cluster = cluster(3, 12);
    let before = summary(&cluster);
    let course = run_on(&mut cluster);
    assert_eq!(
        course,
        Course {
            quiet: true,
            ..Course::default()
        }
    );
    assert_eq!(summary(&cluster), before);
    assert_eq!(copies(&cluster), [8, 8, 8]);
    assert!((before.nodes[0].used_percent.unwrap() - 48.0).abs() < 1e-9);
}

#[test]
fn an_added_node_takes_its_share() {
    let mut cluster = cluster(3, 24);
    let stores = &mut Stores::of(&cluster);
    let new = NewNode {
        name: "new".to_owned(),
        id: None,
        attributes: Vec::new(),
        roles: Roles::default(),
        disk_bytes: None,
    };
    add_node(&mut cluster, &new, Version::release(7, 4, 0)).unwrap();
    assert!(matches!(
        add_node(&mut cluster, &new, Version::release(7, 4, 0)),
        Err(ChangeError::NodeExists(_))
    ));
    let course = run(&mut cluster, None, stores, 0, 10_000, &mut |_| ()).unwrap();
    assert!(course.quiet);
    // 48 copies on four nodes: twelve each, within the threshold of one.
    let after = copies(&cluster);
    assert_eq!(after.iter().sum::<u64>(), 48);
    assert!(
        after.iter().all(|count| (11..=13).contains(count)),
        "{after:?}"
    );
    // Only copies for the new node move, each once, and two at a time (cluster_concurrent_rebalance).
    assert_eq!(course.moved, after[3]);
    assert_eq!(course.moved_bytes, after[3] << 30);
    assert!(u64::from(course.rounds) >= course.moved / 2, "{course:?}");
    // Its disk is as large as the others' and holds the copies that moved.
    let node = &summary(&cluster).nodes[3];
    assert_eq!(node.bytes, after[3] << 30);
    #[allow(clippy::cast_precision_loss)]
    let used = after[3] as f64;
    assert!((node.used_percent.unwrap() - used).abs() < 1e-9, "{node:?}");
}

#[test]
fn copies_of_a_failed_node_are_rebuilt() {
    let mut cluster = cluster(4, 24);
    let mut stores = Stores::of(&cluster);
    let gone = remove_node(&mut cluster, "node-1").unwrap();
    assert!(matches!(
        remove_node(&mut cluster, "node-1"),
        Err(ChangeError::NoSuchNode { .. })
    ));
    let course = run(&mut cluster, None, &mut stores, 0, 10_000, &mut |_| ()).unwrap();
    assert!(course.quiet, "{course:?}");
    // Twelve copies were on it: six primaries, whose replicas are promoted, and six replicas.
    assert_eq!(course.promoted, 6);
    assert_eq!(course.replicas_recovered, 12);
    assert_eq!(course.replica_bytes, 12 << 30);
    let after = summary(&cluster);
    assert_eq!(
        (after.unassigned_primaries, after.unassigned_replicas),
        (0, 0)
    );
    assert!(after.nodes.iter().all(|node| node.node != gone));
    assert_eq!(after.nodes.iter().map(|node| node.copies).sum::<u64>(), 48);
}

#[test]
fn a_primary_without_replicas_stays_lost() {
    let mut cluster = cluster(2, 4);
    let mut stores = Stores::of(&cluster);
    remove_node(&mut cluster, "n0").unwrap();
    remove_node(&mut cluster, "n1").unwrap();
    let course = run(&mut cluster, None, &mut stores, 0, 100, &mut |_| ()).unwrap();
    assert!(course.quiet);
    let after = summary(&cluster);
    assert_eq!(
        (after.unassigned_primaries, after.unassigned_replicas),
        (4, 4)
    );
}

#[test]
fn an_excluded_node_is_drained() {
    let mut cluster = cluster(3, 12);
    cluster.settings.exclude.add("_name", "node-0");
    let course = run_on(&mut cluster);
    // Eight copies were on it. Each can only go to the one node without a copy of its shard.
    assert_eq!(course.moved, 8);
    assert_eq!(copies(&cluster), [0, 12, 12]);
    // Only its other data is left: 40 GiB.
    assert!((summary(&cluster).nodes[0].used_percent.unwrap() - 40.0).abs() < 1e-9);
}

#[test]
fn closing_keeps_copies_where_they_are() {
    let mut cluster = cluster(3, 12);
    let stores = &mut Stores::of(&cluster);
    assert_eq!(close(&mut cluster, "i00*", 0), Ok(10));
    assert!(matches!(
        close(&mut cluster, "i00*", 0),
        Err(ChangeError::NoSuchIndex(_))
    ));
    let course = run(&mut cluster, None, stores, 0, 1000, &mut |_| ()).unwrap();
    assert!(course.quiet);
    assert_eq!(
        (course.primaries_recovered, course.replicas_recovered),
        (10, 10)
    );
    let after = summary(&cluster);
    assert_eq!(
        (after.unassigned_primaries, after.unassigned_replicas),
        (0, 0)
    );
    assert_eq!(after.routed, 24);
    let closed = |index: &&Index| index.state == IndexState::Closed;
    assert_eq!(cluster.indices.iter().filter(closed).count(), 10);
}

#[test]
fn the_master_reroutes_while_a_large_copy_recovers() {
    let moved_in_first_round = |large: bool| {
        let mut cluster = cluster(3, 12);
        if large {
            let shard = ShardId {
                index: cluster.index_by_name("i000").unwrap(),
                shard: 0,
            };
            let info = cluster.info.as_mut().unwrap();
            info.set_size_bytes(shard, true, 20 * GIB);
            info.set_size_bytes(shard, false, 20 * GIB);
        }
        cluster.settings.exclude.add("_name", "node-0");
        let mut stores = Stores::of(&cluster);
        let mut moved = 0;
        let mut watch = |course: &Course| {
            if course.rounds == 1 {
                moved = course.moved;
            }
        };
        let course = run(&mut cluster, None, &mut stores, 0, 10_000, &mut watch).unwrap();
        assert_eq!((course.moved, course.quiet), (8, true));
        moved
    };
    // Each of the two other nodes takes two at a time (node_concurrent_incoming_recoveries).
    assert_eq!(moved_in_first_round(false), 4);
    assert_eq!(moved_in_first_round(true), 8);
}

#[test]
fn rounds_are_bounded() {
    let mut cluster = cluster(3, 12);
    cluster.settings.exclude.add("_name", "node-0");
    let course = run(
        &mut cluster,
        None,
        &mut Stores::default(),
        0,
        1,
        &mut |_| (),
    )
    .unwrap();
    assert_eq!((course.rounds, course.quiet), (1, false));
}

#[test]
fn the_last_round_allowed_may_be_the_last_needed() {
    let emptied = |rounds_max| {
        let mut cluster = cluster(3, 12);
        cluster.settings.exclude.add("_name", "node-0");
        let mut stores = Stores::of(&cluster);
        run(&mut cluster, None, &mut stores, 0, rounds_max, &mut |_| ()).unwrap()
    };
    let needed = emptied(10_000).rounds;
    assert!(emptied(needed).quiet);
    assert!(!emptied(needed - 1).quiet);
}

#[test]
fn closing_takes_no_space() {
    // All copies are reallocated where their files are, so disk usage does not change.
    let mut cluster = cluster(3, 12);
    let before = cluster.info.clone().unwrap();
    let mut stores = Stores::of(&cluster);
    close(&mut cluster, "*", 0).unwrap();
    let course = run(&mut cluster, None, &mut stores, 0, 10_000, &mut |_| ()).unwrap();
    assert!(course.quiet);
    assert_eq!(course.primaries_recovered, 12);
    let after = cluster.info.unwrap();
    assert_eq!(after.least, before.least);
    assert_eq!(after.most, before.most);
}

#[test]
fn moves_take_space_at_the_target_and_free_it_at_the_source() {
    let mut cluster = cluster(3, 12);
    cluster.settings.exclude.add("_name", "node-0");
    let free = |cluster: &Cluster| {
        let info = cluster.info.as_ref().unwrap();
        (0..3)
            .map(|at| info.least[&NodeIndex(at)].free_bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(free(&cluster), [52 * GIB; 3]);
    let course = run_on(&mut cluster);
    // Eight copies were on the node: four go to each of the two others.
    assert_eq!((course.moved, course.moved_bytes), (8, 8 << 30));
    assert_eq!(free(&cluster), [60 * GIB, 48 * GIB, 48 * GIB]);
}

#[test]
fn levels_by_watermark() {
    let settings = Settings::default();
    let at = |free_bytes| {
        level(
            &settings,
            &DiskUsage {
                path: None,
                total_bytes: 1000,
                free_bytes,
            },
        )
    };
    // 85, 90 and 95 % used by default; exactly at the watermark it is not exceeded.
    assert_eq!(
        [at(151), at(150), at(149), at(99), at(49)],
        [
            Level::Free,
            Level::Free,
            Level::Low,
            Level::High,
            Level::Flood
        ]
    );
    let bytes = Settings {
        watermark_high: Watermark::parse("200b").unwrap(),
        ..Settings::default()
    };
    let usage = DiskUsage {
        path: None,
        total_bytes: 1000,
        free_bytes: 199,
    };
    assert_eq!(level(&bytes, &usage), Level::High);
}

#[test]
fn ambiguous_node_names_need_the_id() {
    let mut cluster = cluster(2, 1);
    cluster.nodes[1].name = "node-0".to_owned();
    assert!(matches!(
        find_node(&cluster, "node-0"),
        Err(ChangeError::Ambiguous(_))
    ));
    assert_eq!(find_node(&cluster, "n1"), Ok(NodeIndex(1)));
}

#[test]
fn indices_are_created_one_after_the_other() {
    let new = |name: &str| NewIndex {
        name: name.to_owned(),
        shards: 3,
        replicas: 1,
    };
    let created = [new("one"), new("two")];
    let mut together = cluster(3, 6);
    let mut stores = Stores::of(&together);
    let course = run_creating(
        &mut together,
        None,
        &mut stores,
        0,
        100,
        &created,
        &mut |_| (),
    )
    .unwrap();
    // Three primaries each, which are followed by their replicas in a round of their own.
    assert_eq!(
        (course.primaries_recovered, course.replicas_recovered),
        (6, 6)
    );
    assert_eq!((course.rounds, course.quiet, course.moved), (4, true, 0));
    let mut apart = cluster(3, 6);
    let mut stores = Stores::of(&apart);
    for index in &created {
        create(&mut apart, index, 0).unwrap();
        run(&mut apart, None, &mut stores, 0, 100, &mut |_| ()).unwrap();
    }
    let places = |cluster: &Cluster| -> Vec<_> {
        let copies = cluster.routing.copies();
        copies
            .map(|copy| (copy.shard, copy.primary, copy.node))
            .collect()
    };
    assert_eq!(places(&together), places(&apart));
    let again = create(&mut together, &created[0], 0);
    assert_eq!(again, Err(ChangeError::IndexExists("one".to_owned())));
}

/// What the server tells, if it tells what would be assumed anyway, changes nothing.
#[test]
fn the_present_placement_is_what_is_assumed_to_be_desired() {
    let result = |told: bool| {
        let mut cluster = cluster(4, 12);
        cluster.version = Version::release(8, 19, 0);
        let desired = told.then(|| DesiredBalance::of_placement(&cluster));
        cluster.settings.exclude.add("_name", "node-1");
        let mut stores = Stores::of(&cluster);
        let desired = desired.as_ref();
        let course = run(&mut cluster, desired, &mut stores, 0, 1_000, &mut |_| ()).unwrap();
        assert_eq!(course.converges, Some(true));
        let copies = cluster.routing.copies();
        let places: Vec<_> = copies.map(|copy| (copy.shard, copy.node)).collect();
        (course, places)
    };
    assert_eq!(result(true), result(false));
}
