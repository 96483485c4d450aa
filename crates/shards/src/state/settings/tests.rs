use super::*;
use crate::model::Version;
use crate::state::State;

fn read(text: &str) -> ClusterSettings {
    ClusterSettings::read(Source::Bytes(text.as_bytes())).unwrap()
}

#[test]
fn transient_precedes_persistent_precedes_defaults() {
    let text = r#"{
        "persistent": {"cluster": {"routing": {"allocation": {"balance": {"shard": "0.3", "index": 0.2}}}}},
        "transient": {"cluster.routing.allocation.balance.shard": "0.1"},
        "defaults": {"cluster": {"routing": {"allocation": {"balance": {"index": "0.9", "threshold": "2.0"}}}}}
    }"#;
    let (settings, warnings) = read(text).settings().unwrap();
    assert!((settings.balance_shard - 0.1).abs() < 1e-6);
    assert!((settings.balance_index - 0.2).abs() < 1e-6);
    assert!((settings.balance_threshold - 2.0).abs() < 1e-6);
    assert!(warnings.is_empty());
}

#[test]
fn one_setting_covers_both_kinds_of_recoveries() {
    // The defaults list 2 for both, as a server without settings does.
    let defaults = r#""defaults": {"cluster.routing.allocation.node_concurrent_incoming_recoveries": "2",
        "cluster.routing.allocation.node_concurrent_outgoing_recoveries": "2"}"#;
    let both = format!(
        r#"{{{defaults}, "persistent": {{"cluster.routing.allocation.node_concurrent_recoveries": "10",
        "cluster.routing.allocation.node_concurrent_outgoing_recoveries": "7"}}}}"#
    );
    let (settings, _) = read(&both).settings().unwrap();
    assert_eq!(settings.node_concurrent_incoming_recoveries, 10);
    assert_eq!(settings.node_concurrent_outgoing_recoveries, 7);
}

#[test]
fn filters_lists_and_forced_values() {
    let text = r#"{"persistent": {"cluster.routing.allocation.exclude._name": "a,b",
        "cluster.routing.allocation.awareness.attributes": ["zone", "rack"],
        "cluster.routing.allocation.awareness.force.zone.values": "x, y",
        "cluster.routing.allocation.disk.watermark": {"low": "100gb", "high": "50gb", "flood_stage": "5gb"},
        "cluster.routing.something_new": "1", "search.max_buckets": "5"}}"#;
    let mut all = read(text);
    let (settings, warnings) = all.settings().unwrap();
    let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        settings.exclude.0,
        [("_name".to_owned(), strings(&["a", "b"]))]
    );
    assert_eq!(settings.awareness_attributes, ["zone", "rack"]);
    assert_eq!(
        settings.awareness_forced,
        [("zone".to_owned(), strings(&["x", "y"]))]
    );
    assert_eq!(settings.watermark_low.free_bytes, 100 << 30);
    // Unknown routing settings cause a warning; all others are ignored.
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("something_new"), "{warnings:?}");
    all.set("cluster.routing.allocation.exclude._name", "c");
    assert_eq!(all.settings().unwrap().0.exclude.0[0].1, ["c"]);
    all.set("cluster.routing.allocation.exclude._name", "null");
    assert!(all.settings().unwrap().0.exclude.is_empty());
}

#[test]
fn an_invalid_value_is_named() {
    for (name, value) in [
        ("cluster.routing.allocation.enable", "some"),
        ("cluster.routing.allocation.disk.watermark.high", "viel"),
        (
            "cluster.routing.allocation.cluster_concurrent_rebalance",
            "2.5",
        ),
        ("cluster.routing.allocation.same_shard.host", "yes"),
        ("cluster.routing.allocation.balance.shard", "NaN"),
        ("cluster.routing.allocation.balance.threshold", "-1"),
    ] {
        let mut settings = ClusterSettings::default();
        settings.set(name, value);
        let error = settings.settings().unwrap_err();
        assert!(error.name == name && error.found == value, "{error}");
    }
    let mut settings = ClusterSettings::default();
    settings.set("cluster.routing.allocation.balance.shard", "0");
    settings.set("cluster.routing.allocation.balance.index", "0.0");
    assert!(settings.settings().is_err());
    let error = ClusterSettings::read(Source::Bytes(b"{\"acknowledged\":true}")).unwrap_err();
    assert!(error.to_string().contains("persistent"), "{error}");
}

#[test]
fn impossible_watermarks_cause_a_warning() {
    let text = r#"{"persistent": {"cluster.routing.allocation.disk.watermark.high": "80%"}}"#;
    let (settings, warnings) = read(text).settings().unwrap();
    assert_eq!(settings.watermark_high.raw, "80%");
    assert!(
        warnings.len() == 1 && warnings[0].contains("include_defaults"),
        "{warnings:?}"
    );
    let text = r#"{"persistent": {"cluster.routing.allocation.disk.watermark.high": "80%"},
        "defaults": {"cluster.routing.allocation.disk.watermark.low": "75%"}}"#;
    assert!(read(text).settings().unwrap().1.is_empty());
}

#[test]
fn times_and_ranges() {
    assert_eq!(time_nanos("1m"), Some(60_000_000_000));
    assert_eq!(time_nanos("500ms"), Some(500_000_000));
    assert_eq!(time_nanos("0"), Some(0));
    for text in ["", "5", "m", "1.5m", "-2s", "99999999999d"] {
        assert_eq!(time_nanos(text), None, "{text}");
    }
    assert_eq!(auto_expand("x", "0-all"), Ok(Some((0, u32::MAX))));
    assert_eq!(auto_expand("x", "false"), Ok(None));
    assert!(auto_expand("x", "3-1").is_err());
}

/// A cluster with one node and no index.
fn empty() -> State {
    let text = br#"{"nodes": {"a": {"name": "a"}}, "metadata": {"indices": {}}, "routing_table": {"indices": {}}}"#;
    State::read(Source::Bytes(text), Version::release(7, 4, 0)).unwrap()
}

#[test]
fn watermarks_are_set_together_or_not_at_all() {
    let mut state = empty();
    let low = format!("{WATERMARK}low");
    let high = format!("{WATERMARK}high");
    let flood = format!("{WATERMARK}flood_stage");
    // Above the high watermark of 90 %.
    let error = state.set(&low, "92%").unwrap_err();
    assert!(matches!(error, StateError::Watermarks(_)), "{error}");
    assert!(error.to_string().contains("low 92%, high 90%"), "{error}");
    assert_eq!(state.cluster.settings.watermark_low.raw, "85%");
    // Temporarily there are 92 % and 90 %; only the final result counts.
    let all = [(&*low, "92%"), (&*high, "95%"), (&*flood, "97%")];
    state.set_all(all).unwrap();
    assert_eq!(state.cluster.settings.watermark_high.raw, "95%");
    let error = state.set(&flood, "10gb").unwrap_err();
    assert!(
        error.to_string().contains("all shares or all sizes"),
        "{error}"
    );
    // Reset, it is 90 % again.
    let error = state.set(&high, "").unwrap_err();
    assert!(error.to_string().contains("high 90%"), "{error}");
}

#[test]
fn watermarks_in_config_files_do_not_block_other_settings() {
    let mut state = empty();
    let part = br#"{"persistent": {"cluster.routing.allocation.disk.watermark.high": "80%"}}"#;
    state.read_settings(Source::Bytes(part)).unwrap();
    let said = |state: &State| {
        state
            .warnings
            .iter()
            .filter(|said| said.contains("include_defaults"))
            .count()
    };
    assert_eq!(said(&state), 1);
    state
        .set("cluster.routing.allocation.enable", "none")
        .unwrap();
    assert_eq!(said(&state), 1);
    // With all watermarks present there is no warning.
    let whole = br#"{"persistent": {"cluster.routing.allocation.disk.watermark.high": "80%"},
        "defaults": {"cluster.routing.allocation.disk.watermark.low": "75%"}}"#;
    state.read_settings(Source::Bytes(whole)).unwrap();
    assert_eq!(said(&state), 0);
}

#[test]
fn repeated_and_many_settings_are_read_in_one_pass() {
    // The later of two layers counts, and an empty value removes an earlier filter.
    let set = read(
        r#"{"defaults": {"cluster.routing.allocation.include.rack": "a", "cluster.routing.allocation.require.zone": "z"},
            "persistent": {"cluster.routing.allocation.include.rack": "b", "cluster.routing.allocation.require.zone": ""}}"#,
    );
    let (settings, _) = set.settings().unwrap();
    assert_eq!(
        settings.include.0,
        [("rack".to_owned(), vec!["b".to_owned()])]
    );
    assert!(settings.require.is_empty());
    let names: Vec<String> = (0..1_001).map(|at| format!("a{at}")).collect();
    let mut set = ClusterSettings::default();
    set.set(
        "cluster.routing.allocation.awareness.attributes",
        &names.join(","),
    );
    let error = set.settings().unwrap_err();
    assert!(
        error.to_string().contains("at most 1,000 attributes"),
        "{error}"
    );
}

#[test]
fn later_versions_set_headroom_and_recovery_rate() {
    let set = read(
        r#"{"defaults": {"cluster": {"routing": {"allocation": {"disk": {"watermark": {"low": "85%",
            "low.max_headroom": "200GB", "high.max_headroom": "-1"}}}}},
            "indices": {"recovery": {"max_bytes_per_sec": "100mb", "retry_delay_network": "5s"}}}}"#,
    );
    let (settings, warnings) = set.settings().unwrap();
    assert_eq!(settings.watermark_low.max_headroom_bytes, Some(200 << 30));
    assert_eq!(settings.watermark_high.max_headroom_bytes, None);
    assert_eq!(settings.recovery_bytes_per_s, Some(100 << 20));
    assert_eq!(warnings, Vec::<String>::new());
    let unlimited = read(r#"{"persistent": {"indices.recovery.max_bytes_per_sec": "-1"}}"#);
    assert_eq!(unlimited.settings().unwrap().0.recovery_bytes_per_s, None);
}
