use super::*;
use crate::small_cluster;

fn forecast(state: &mut State, changes: &Changes) -> Result<Forecast, ForecastError> {
    Forecast::of(state, &Server::default(), changes, 0, 1_000, &mut |_| ())
}

fn removed(names: &[&str]) -> Changes {
    Changes {
        removed: names.iter().map(|&name| name.to_owned()).collect(),
        ..Changes::default()
    }
}

#[test]
fn a_failed_node_is_compensated() {
    // Node b has the primary of logs[1] and the replica of logs[0]. The replica of logs[1] on c is
    // promoted. Both lost copies are rebuilt on the two remaining nodes, along with the replica of
    // logs[2]; `new` is allocated: seven copies on two nodes.
    let answer = forecast(&mut small_cluster::full(40), &removed(&["node-b"])).unwrap();
    assert_eq!((answer.promoted, answer.replicas_recovered), (1, 3));
    assert_eq!(answer.replica_bytes, 30_000_000_000);
    assert_eq!((answer.before.data_nodes, answer.after.data_nodes), (3, 2));
    assert_eq!(answer.after.shards_per_node, Some([3, 4]));
    assert!(answer.quiet && !answer.worse);
    assert_eq!(answer.changes, ["node node-b removed"]);
}

#[test]
fn lost_primaries_are_worse() {
    let answer = forecast(&mut small_cluster::full(40), &removed(&["node-b", "a"])).unwrap();
    // No copy of logs[0] is left.
    assert_eq!(answer.after.unassigned_primaries, 1);
    assert!(answer.worse);
}

#[test]
fn an_unstable_cluster_is_worse() {
    let changes = Changes {
        settings: vec![
            (
                "cluster.routing.allocation.exclude._name".to_owned(),
                "node-c".to_owned(),
            ),
            (
                "cluster.routing.allocation.node_concurrent_recoveries".to_owned(),
                "1".to_owned(),
            ),
        ],
        ..Changes::default()
    };
    let mut state = small_cluster::full(40);
    let answer = Forecast::of(&mut state, &Server::default(), &changes, 0, 1, &mut |_| ()).unwrap();
    assert!(answer.worse && !answer.quiet);
    assert_eq!(answer.rounds, 1);
}

#[test]
fn the_version_determines_the_reroute_time() {
    let changes = Changes {
        to_server: Some(Server::parse("8.11.0").unwrap()),
        ..Changes::default()
    };
    let answer = forecast(&mut small_cluster::full(40), &changes).unwrap();
    assert_eq!(answer.after.server, "Elasticsearch 8.11.0");
    assert_eq!(
        answer.changes,
        ["Elasticsearch 7.4.0 replaced by Elasticsearch 8.11.0"]
    );
    let said = answer.warnings.join(" ");
    assert!(
        said.contains("computes a desired balance beside its queue"),
        "{said}"
    );
}

#[test]
fn filters_that_match_no_node_cause_a_warning() {
    let said = |key: &str, value: &str| {
        let key = format!("cluster.routing.allocation.{key}");
        let changes = Changes {
            settings: vec![(key, value.to_owned())],
            ..Changes::default()
        };
        let answer = forecast(&mut small_cluster::full(40), &changes).unwrap();
        answer.warnings.join(" ")
    };
    for group in ["exclude", "include", "require"] {
        let said = said(&format!("{group}._name"), "node-z");
        assert!(said.contains("matches none of the data nodes"), "{said}");
    }
    assert!(!said("exclude._name", "node-z,node-a").contains("matches none"));
    assert!(!said("exclude._name", "").contains("matches none"));
}

#[test]
fn invalid_changes_are_rejected() {
    let mut state = small_cluster::full(40);
    let error = forecast(&mut state, &removed(&["node-x"])).unwrap_err();
    assert!(matches!(error, ForecastError::Change(_)), "{error}");
    let changes = Changes {
        settings: vec![(
            "cluster.routing.allocation.enable".to_owned(),
            "maybe".to_owned(),
        )],
        ..Changes::default()
    };
    let error = forecast(&mut state, &changes).unwrap_err();
    assert!(matches!(error, ForecastError::Setting(_)), "{error}");
}

#[test]
fn a_disk_that_gets_emptier_crosses_its_watermarks() {
    // Node b is 92 % full, above the high watermark (90 %): one copy of 10 GB leaves, after which the
    // disk is below the low watermark (85 %).
    let answer = forecast(&mut small_cluster::full(92), &Changes::default()).unwrap();
    assert!(answer.moved >= 1 && !answer.worse);
    let crossed: Vec<(&str, Option<&str>, &str)> = answer
        .watermarks_crossed
        .iter()
        .map(|crossed| (crossed.node.as_str(), crossed.before, crossed.after))
        .collect();
    assert_eq!(crossed, [("node-b", Some("above high"), "below low")]);
}
