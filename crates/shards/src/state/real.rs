//! States of real servers made with their defaults (`lab/servers/moves.py`): four nodes at rest.

use super::{Source, State};
use crate::doubt::misread;
use crate::gateway::Stores;
use crate::model::Version;
use crate::service::cannot_remain;
use crate::what_if;

const STATES: [(&str, &[u8], bool); 5] = [
    (
        "Elasticsearch 7.17.28",
        include_bytes!("../../data/states/elasticsearch-7.17.28.json"),
        true,
    ),
    (
        "Elasticsearch 8.11.0",
        include_bytes!("../../data/states/elasticsearch-8.11.0.json"),
        true,
    ),
    (
        "Elasticsearch 9.2.0",
        include_bytes!("../../data/states/elasticsearch-9.2.0.json"),
        true,
    ),
    (
        "OpenSearch 2.19.1",
        include_bytes!("../../data/states/opensearch-2.19.1.json"),
        false,
    ),
    (
        "OpenSearch 3.0.0",
        include_bytes!("../../data/states/opensearch-3.0.0.json"),
        false,
    ),
];

fn read(bytes: &[u8]) -> State {
    State::read(Source::Bytes(bytes), Version::release(7, 17, 28)).unwrap()
}

#[test]
fn every_shard_may_stay_where_the_server_put_it() {
    for (server, bytes, has_tiers) in STATES {
        let cluster = read(bytes).cluster;
        assert_eq!(cluster.data_nodes.len(), 4, "{server}");
        let preferences = cluster.indices.iter();
        let tiered = preferences.filter(|index| !index.settings.tier_preference.is_empty());
        let expected = if has_tiers { cluster.indices.len() } else { 0 };
        assert_eq!(tiered.count(), expected, "{server}");
        assert!(cannot_remain(&cluster, 0).unwrap().is_empty(), "{server}");
        assert_eq!(misread(&cluster, 0).unwrap(), None, "{server}");
    }
}

#[test]
fn a_drained_node_is_emptied() {
    for (server, bytes, _) in STATES {
        let mut state = read(bytes);
        let key = "cluster.routing.allocation.exclude._name";
        state.set(key, "n4").unwrap();
        let cluster = &mut state.cluster;
        let mut stores = Stores::of(cluster);
        let course = what_if::run(cluster, None, &mut stores, 0, 1_000, &mut |_| ()).unwrap();
        assert!(course.quiet && course.moved > 0, "{server}: {course:?}");
        let names = |node| cluster.node(node).name.as_str();
        let on_n4 = cluster.routing.copies().filter_map(|copy| copy.node);
        assert_eq!(
            on_n4.filter(|&node| names(node) == "n4").count(),
            0,
            "{server}"
        );
    }
}
