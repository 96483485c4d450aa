//! Converts settings from text to the crate's types. An unknown key is a bug in the generator.

use shards::model::{
    AllocationEnable, AllowRebalance, Filters, IndexSettings, RebalanceEnable, Settings as Known,
    Watermark,
};

use crate::spec::Settings;

fn number<T: std::str::FromStr>(key: &str, value: &str) -> T {
    value
        .parse()
        .unwrap_or_else(|_| panic!("{key} is {value}, no number"))
}

fn watermark(value: &str) -> Watermark {
    Watermark::parse(value).unwrap_or_else(|error| panic!("{error}"))
}

fn list(value: &str) -> Vec<String> {
    value
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn allocation(value: &str) -> AllocationEnable {
    match value {
        "none" => AllocationEnable::None,
        "new_primaries" => AllocationEnable::NewPrimaries,
        "primaries" => AllocationEnable::Primaries,
        "all" => AllocationEnable::All,
        _ => panic!("no such allocation.enable: {value}"),
    }
}

fn rebalance(value: &str) -> RebalanceEnable {
    match value {
        "none" => RebalanceEnable::None,
        "primaries" => RebalanceEnable::Primaries,
        "replicas" => RebalanceEnable::Replicas,
        "all" => RebalanceEnable::All,
        _ => panic!("no such rebalance.enable: {value}"),
    }
}

/// Adds the filter if the key is that of a filter. Returns whether it is.
fn filter(groups: [&mut Filters; 3], key: &str, value: &str) -> bool {
    for (group, filters) in ["require.", "include.", "exclude."].into_iter().zip(groups) {
        if let Some(attribute) = key.strip_prefix(group) {
            filters.add(attribute, value);
            return true;
        }
    }
    false
}

pub fn cluster(written: &Settings) -> Known {
    let mut known = Known::default();
    if let Some(both) = written.get("cluster.routing.allocation.node_concurrent_recoveries") {
        known.node_concurrent_incoming_recoveries = number("recoveries", both);
        known.node_concurrent_outgoing_recoveries = number("recoveries", both);
    }
    for (full, value) in written {
        let key = full
            .strip_prefix("cluster.routing.")
            .unwrap_or_else(|| panic!("the generator does not write {full}"));
        if key == "rebalance.enable" {
            known.rebalance_enable = rebalance(value);
            continue;
        }
        let key = key.strip_prefix("allocation.").expect("all others");
        if filter(
            [&mut known.require, &mut known.include, &mut known.exclude],
            key,
            value,
        ) {
            continue;
        }
        match key {
            "enable" => known.allocation_enable = allocation(value),
            "allow_rebalance" => {
                known.allow_rebalance = match value.as_str() {
                    "always" => AllowRebalance::Always,
                    "indices_primaries_active" => AllowRebalance::IndicesPrimariesActive,
                    _ => AllowRebalance::IndicesAllActive,
                }
            }
            "cluster_concurrent_rebalance" => {
                known.cluster_concurrent_rebalance = number(key, value);
            }
            "node_initial_replicas_recoveries" => {
                known.node_initial_replicas_recoveries = number(key, value);
            }
            "node_initial_primaries_recoveries" => {
                known.node_initial_primaries_recoveries = number(key, value);
            }
            "node_concurrent_outgoing_recoveries" => {
                known.node_concurrent_outgoing_recoveries = number(key, value);
            }
            "node_concurrent_recoveries" => {}
            "same_shard.host" => known.same_shard_host = value == "true",
            "total_shards_per_node" => known.total_shards_per_node = number(key, value),
            "awareness.attributes" => known.awareness_attributes = list(value),
            "disk.threshold_enabled" => known.disk_threshold_enabled = value == "true",
            "disk.watermark.low" => known.watermark_low = watermark(value),
            "disk.watermark.high" => known.watermark_high = watermark(value),
            "disk.watermark.flood_stage" => known.watermark_flood_stage = watermark(value),
            "balance.shard" => known.balance_shard = number(key, value),
            "balance.index" => known.balance_index = number(key, value),
            "balance.write_load" => known.balance_write_load = number(key, value),
            "balance.disk_usage" => known.balance_disk_usage = number(key, value),
            "balance.threshold" => known.balance_threshold = number(key, value),
            _ => {
                let forced = key
                    .strip_prefix("awareness.force.")
                    .and_then(|rest| rest.strip_suffix(".values"))
                    .unwrap_or_else(|| panic!("the generator does not write {full}"));
                known
                    .awareness_forced
                    .push((forced.to_owned(), list(value)));
            }
        }
    }
    known
}

pub fn index(written: &Settings) -> IndexSettings {
    let mut known = IndexSettings::default();
    for (full, value) in written {
        let key = full
            .strip_prefix("index.")
            .unwrap_or_else(|| panic!("the generator does not write {full}"));
        if let Some(rest) = key.strip_prefix("routing.allocation.")
            && filter(
                [&mut known.require, &mut known.include, &mut known.exclude],
                rest,
                value,
            )
        {
            continue;
        }
        match key {
            "number_of_shards" | "number_of_replicas" => {}
            "creation_date" => known.creation_date = number(key, value),
            "priority" => known.priority = number(key, value),
            "allocation.max_retries" => known.max_retries = number(key, value),
            "routing.allocation.enable" => known.allocation_enable = Some(allocation(value)),
            "routing.rebalance.enable" => known.rebalance_enable = Some(rebalance(value)),
            "routing.allocation.total_shards_per_node" => {
                known.total_shards_per_node = number(key, value);
            }
            "unassigned.node_left.delayed_timeout" => {
                known.delayed_timeout_nanos = number(key, value);
            }
            _ => panic!("the generator does not write {full}"),
        }
    }
    known
}
