//! Deciders that restrict a copy to certain nodes: filters, hosts, limits, awareness.

use super::super::fixture::{Builder, decision_with_reasons, node};
use super::super::{NoReasons, Verdict};
use crate::copy::RecoverySource;
use Verdict::{No, Yes};

#[test]
fn cluster_filters_precede_index_filters() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 2, 0);
    let copy = builder.unassigned(index, 0, true, RecoverySource::EmptyStore);
    let held = builder.started(index, 1, true, 0);
    let verdicts = |builder: &Builder| [0, 1, 2].map(|at| builder.allocate("filter", &copy, at));
    assert_eq!(verdicts(&builder), [Yes, Yes, Yes]);

    builder.settings(index).require.add("_name", "name-0");
    assert_eq!(verdicts(&builder), [Yes, No, No]);
    assert_eq!(builder.remain("filter", &held), Yes);
    let by_index = builder
        .ask(|round| [0, 1, 2].map(|at| round.can_allocate_index(index, node(at), &mut NoReasons)));
    assert_eq!(by_index, [Yes, No, No]);

    builder.cluster.settings.exclude.add("_ip", "10.0.0.0");
    assert_eq!(verdicts(&builder), [No, No, No]);
    assert_eq!(builder.remain("filter", &held), No);
    let why = builder.ask(|round| {
        let decision = decision_with_reasons(|why| round.can_remain(&held, node(0), why));
        let filter = decision
            .reasons
            .into_iter()
            .find(|reason| reason.decider == Some("filter"));
        filter.unwrap().explanation.unwrap()
    });
    assert!(why.contains("cluster.routing.allocation.exclude"), "{why}");
    assert!(why.contains("_ip:\"10.0.0.0\""), "{why}");
}

#[test]
fn indices_with_equal_filters_share_decisions() {
    let mut builder = Builder::new(2);
    for (name, value) in [("a", "name-0"), ("b", "name-1"), ("c", "name-0")] {
        let index = builder.index(name, 1, 0);
        builder.unassigned(index, 0, true, RecoverySource::EmptyStore);
        builder.settings(index).include.add("_name", value);
    }
    let verdicts = builder.ask(|round| {
        let index = crate::model::IndexIndex;
        [0, 1, 2]
            .map(|at| [0, 1].map(|n| round.can_allocate_index(index(at), node(n), &mut NoReasons)))
    });
    assert_eq!(verdicts, [[Yes, No], [No, Yes], [Yes, No]]);
}

#[test]
fn a_shrunk_index_starts_on_its_source_nodes() {
    let mut builder = Builder::new(2);
    let source = builder.index("source", 2, 0);
    builder.started(source, 0, true, 0);
    builder.started(source, 1, true, 0);
    let index = builder.index("shrunk", 1, 0);
    builder.cluster.indices[index.at()].resize_source = Some(source);
    builder.settings(index).initial_recovery.add("_id", "n0");
    let copy = builder.unassigned(index, 0, true, RecoverySource::LocalShards);
    assert_eq!(
        [0, 1].map(|at| builder.allocate("filter", &copy, at)),
        [Yes, No]
    );
}

#[test]
fn copies_of_a_shard_share_no_node_and_optionally_no_host() {
    let mut builder = Builder::new(4);
    let index = builder.index("i", 1, 1);
    builder.started(index, 0, true, 0);
    let replica = builder.unassigned(index, 0, false, RecoverySource::Peer);
    let verdicts =
        |builder: &Builder| [0, 1, 2, 3].map(|at| builder.allocate("same_shard", &replica, at));
    // Node 1 is on node 0's host, node 2 has no address but the same host name, node 3 shares only the
    // name.
    builder.cluster.nodes[1].host_address = "10.0.0.0".into();
    builder.cluster.nodes[2].host_address = String::new();
    builder.cluster.nodes[2].host = "host-0".into();
    builder.cluster.nodes[3].host = "host-0".into();
    assert_eq!(verdicts(&builder), [No, Yes, Yes, Yes]);
    builder.cluster.settings.same_shard_host = true;
    assert_eq!(verdicts(&builder), [No, No, No, Yes]);
}

#[test]
fn copies_per_node_are_limited() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 4, 0);
    let held = builder.started(index, 0, true, 0);
    builder.started(index, 1, true, 0);
    // It is leaving node 0, so it does not count there, but it does on node 1.
    builder.relocating(index, 2, true, (0, 1));
    let copy = builder.unassigned(index, 3, true, RecoverySource::EmptyStore);
    let other = builder.index("j", 1, 0);
    let foreign = builder.unassigned(other, 0, true, RecoverySource::EmptyStore);
    for (of_index, of_node, here, stays) in [
        (-1, -1, [Yes, Yes], Yes),
        (3, -1, [Yes, Yes], Yes),
        (2, -1, [No, Yes], Yes),
        (1, -1, [No, No], No),
        (-1, 2, [No, Yes], Yes),
        (-1, 1, [No, No], No),
        (0, 3, [Yes, Yes], Yes),
    ] {
        builder.settings(index).total_shards_per_node = of_index;
        builder.cluster.settings.total_shards_per_node = of_node;
        let verdicts = [0, 1].map(|at| builder.allocate("shards_limit", &copy, at));
        assert_eq!(verdicts, here, "{of_index} {of_node}");
        assert_eq!(
            builder.remain("shards_limit", &held),
            stays,
            "{of_index} {of_node}"
        );
        // The limit of one index does not apply to another.
        let foreign = builder.allocate("shards_limit", &foreign, 0);
        assert_eq!(foreign, if (1..=2).contains(&of_node) { No } else { Yes });
        let node_level = builder.ask(|round| round.can_allocate_node(node(0), &mut NoReasons));
        assert_eq!(node_level, foreign);
    }
}

/// Four nodes: two in zone a, one in b, one in no zone.
fn zones() -> Builder {
    let mut builder = Builder::new(4);
    for (at, zone) in [(0, "a"), (1, "a"), (2, "b")] {
        builder.cluster.nodes[at]
            .attributes
            .insert("zone".into(), zone.into());
    }
    builder
        .cluster
        .settings
        .awareness_attributes
        .push("zone".into());
    builder
}

#[test]
fn a_node_without_the_attribute_is_rejected_but_counts_as_a_value() {
    let mut builder = zones();
    let index = builder.index("i", 1, 2);
    let primary = builder.started(index, 0, true, 0);
    let replica = builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder.unassigned(index, 0, false, RecoverySource::Peer);
    // Three copies over the values a, b and none: one each.
    let verdicts = [0, 1, 2, 3].map(|at| builder.allocate("awareness", &replica, at));
    assert_eq!(verdicts, [No, No, Yes, No]);
    assert_eq!(builder.remain("awareness", &primary), Yes);
    // Without the node that has no zone: two values, so two copies in a.
    builder.cluster.data_nodes.pop();
    builder.cluster.nodes[3].present = false;
    let verdicts = [1, 2].map(|at| builder.allocate("awareness", &replica, at));
    assert_eq!(verdicts, [Yes, Yes]);
}

#[test]
fn forced_values_reserve_capacity_for_missing_zones() {
    let mut builder = Builder::new(2);
    for at in 0..2 {
        builder.cluster.nodes[at]
            .attributes
            .insert("zone".into(), "a".into());
    }
    let index = builder.index("i", 1, 1);
    builder.started(index, 0, true, 0);
    let replica = builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder
        .cluster
        .settings
        .awareness_attributes
        .push("zone".into());
    assert_eq!(builder.allocate("awareness", &replica, 1), Yes);
    let forced = ("zone".into(), vec!["a".into(), "b".into()]);
    builder.cluster.settings.awareness_forced.push(forced);
    assert_eq!(builder.allocate("awareness", &replica, 1), No);
}

#[test]
fn moving_within_a_zone_changes_no_count() {
    let mut builder = zones();
    builder.cluster.data_nodes.pop();
    builder.cluster.nodes[3].present = false;
    let index = builder.index("i", 1, 1);
    let primary = builder.started(index, 0, true, 0);
    let replica = builder.started(index, 0, false, 2);
    // One copy per zone: the primary may move within its zone, the replica may not move into it.
    assert_eq!(builder.allocate("awareness", &primary, 1), Yes);
    assert_eq!(builder.allocate("awareness", &primary, 2), No);
    assert_eq!(builder.allocate("awareness", &replica, 1), No);
    assert_eq!(builder.remain("awareness", &replica), Yes);
}

#[test]
fn relocating_copies_count_at_their_target() {
    let mut builder = zones();
    builder.cluster.data_nodes.pop();
    builder.cluster.nodes[3].present = false;
    let index = builder.index("i", 1, 1);
    let primary = builder.relocating(index, 0, true, (0, 2));
    let replica = builder.unassigned(index, 0, false, RecoverySource::Peer);
    assert!(primary.is_relocating());
    let verdicts = [1, 2].map(|at| builder.allocate("awareness", &replica, at));
    assert_eq!(verdicts, [Yes, No]);
}
