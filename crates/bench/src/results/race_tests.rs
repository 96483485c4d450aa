use super::*;
use serde_json::json;

fn minimal() -> Race {
    Race {
        rally_version: "trimtab 0.1.0".to_owned(),
        environment: "local".to_owned(),
        race_id: "night-1".to_owned(),
        started: "2026-11-21T03:08:05Z".parse().unwrap(),
        pipeline: "benchmark-only".to_owned(),
        user_tags: BTreeMap::new(),
        track: "metricbeat".to_owned(),
        challenge: None,
        car: vec!["external".to_owned()],
        track_params: BTreeMap::new(),
        properties: [(
            "cluster.distribution-version".to_owned(),
            "8.19.0".to_owned(),
        )]
        .into(),
        results: vec![ClusterResults {
            tasks: vec![Task {
                task: "bulk".to_owned(),
                operation: "bulk".to_owned(),
                ..Task::default()
            }],
            ..ClusterResults::default()
        }],
    }
}

#[test]
fn a_race_of_our_own_has_all_that_rally_asks_for() {
    let race = minimal().to_json();
    assert_eq!(race["race-timestamp"], json!("20261121T030805Z"));
    assert_eq!(race["@timestamp"], json!(1_795_230_485_000_i64));
    assert_eq!(race["cluster"]["distribution-version"], json!("8.19.0"));
    assert_eq!(race["cluster"]["revision"], Value::Null);
    // The object that Rally itself writes for a task without samples.
    assert_eq!(
        race["results"]["op_metrics"][0],
        json!({
            "task": "bulk", "operation": "bulk",
            "throughput": {"min": null, "mean": null, "median": null, "max": null, "unit": null},
            "latency": {}, "service_time": {}, "processing_time": {},
            "error_rate": null, "duration": null
        })
    );
}

#[test]
fn properties_with_odd_keys_round_trip() {
    let mut race = minimal();
    race.properties = [
        ("cluster.a.b", "1"),
        ("car-params.heap", "4g"),
        ("track-revision", "abc"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let again = Race::from_json("x", &race.to_json()).unwrap();
    assert_eq!(again.properties, race.properties);
    // What Rally has no place for, and what must not replace its own.
    race.properties = [("kernel", "6.12"), ("race-id", "forged")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let again = Race::from_json("x", &race.to_json()).unwrap();
    assert_eq!(
        (again.user_tags["kernel"].as_str(), again.race_id.as_str()),
        ("6.12", "night-1")
    );
}
