//! # ES011: more concurrent rebalances make more moves, not faster ones
//!
//! ## What it finds
//! `cluster.routing.allocation.cluster_concurrent_rebalance` above its default of 2, or without a limit
//! (-1), on Elasticsearch 7.7 to 8.3 and on OpenSearch.
//!
//! ## Why it hurts
//! The balancer of these versions looks for further relocations with the weights of nodes as they were
//! before it planned the last ones. While relocations are throttled (a node takes two at a time) it moves
//! shards onto the node that has the fewest until that has too many, then away from it again. The more it
//! may plan at once, the more often. What was meant to fill a new node sooner keeps the network and the
//! drives busy for hours, and may never come to rest.
//!
//! Measured on the servers' own code, 360 shards on 12 nodes and a new one that should get 27 of them:
//!
//! | server | setting 1 or 2 | 3 | 4 |
//! |---|---|---|---|
//! | Elasticsearch up to 7.6, 8.4, 8.5 | 37 to 49 moves | | 33 to 71 |
//! | Elasticsearch 7.7 to 8.3 | 27 to 45 | 56 to 77 | 176 to 707, or without end |
//! | OpenSearch 1.3 to 2.19 | 27 to 45 | 61 to 75 | 217 to 475, or without end |
//!
//! ## Evidence
//! The setting and where it is set; the server's version; what the model of this version predicts for a
//! node that joins a cluster of this size.
//!
//! ## Remedy
//! Set it back. It takes effect at once, without a restart; relocations that run are finished. To fill a
//! node faster raise `indices.recovery.max_bytes_per_sec` instead.
//!
//! ## Risk
//! None.
//!
//! ## When it is silent
//! With fewer than two data nodes; where rebalancing is switched off; on other versions, and on
//! Elasticsearch from 8.6 on, which plans moves in another way. `trimtab shards what-if` predicts a
//! particular change.
//!
//! ## References
//! - Elasticsearch pull request 51632 (7.7: the weights of nodes no longer follow), 88385 (8.4: they do
//!   again); issue 87279
//! - OpenSearch issue 22949: shards move away from the node that was added

use crate::cluster::ClusterContext;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use facts::cluster::Flavour;
use facts::{Remedy, Severity};
use shards::joining::Joining;
use shards::model::{Balancing, Product, Version};

pub(crate) const RULE: Rule = Rule {
    id: "ES011",
    title: "more concurrent rebalances make more moves, not faster ones",
    source: include_str!("es011.rs"),
    check: Check::Cluster(check),
};

const KEY: &str = "cluster.routing.allocation.cluster_concurrent_rebalance";
const REBALANCE: &str = "cluster.routing.rebalance.enable";
const RECOVERIES: &str = "cluster.routing.allocation.node_concurrent_recoveries";
const DEFAULT: i32 = 2;

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let (product, version) = server(cx);
    if !Balancing::of(product, version).has_stale_weights() {
        return;
    }
    let Some(settings) = cx.settings_or_skip(&RULE, out) else {
        return;
    };
    let number = |key: &str| {
        settings
            .text(key)
            .and_then(|text| text.trim().parse::<i32>().ok())
    };
    let Some(set) = number(KEY).filter(|set| !(0..=DEFAULT).contains(set)) else {
        return;
    };
    let is_off = settings
        .text(REBALANCE)
        .is_some_and(|text| text.eq_ignore_ascii_case("none"));
    let data_nodes = match &cx.cluster.nodes {
        Some(_) => cx.cluster.data_nodes().count(),
        None => usize::MAX,
    };
    if is_off || data_nodes < 2 {
        return;
    }
    let shown = if set < 0 {
        "without a limit".to_owned()
    } else {
        format!("up to {set}")
    };
    let here = of_size(cx, product, version, data_nodes, number(RECOVERIES));
    let predicted = here.and_then(|here| predict(here, set));
    let mut finding = cx.about_setting(
        &RULE,
        Severity::Warning,
        KEY,
        format!("{shown} rebalances at once make this version move shards to and fro"),
    );
    finding.why = format!(
        "This version's balancer plans further relocations with the weights of nodes as they were before it \
         planned the last ones: it sends shards to the node that has the fewest until that has too many, and \
         away again.{}",
        predicted.as_deref().unwrap_or_default()
    );
    finding.evidence.push(cx.setting_evidence(KEY, "2"));
    let (text, value) = if cx.is_set_in_file(KEY) {
        (
            "Remove it from the configuration file of each master-eligible node. A persistent setting overrides \
             it at once, without a restart.",
            "2",
        )
    } else {
        (
            "Set it back: it takes effect at once, without a restart.",
            "null",
        )
    };
    finding.add_remedy(
        Remedy::command(text, cx.put_setting(KEY, value))
            .undo(cx.put_setting(KEY, &set.to_string())),
    );
    finding.add_remedy(Remedy::advice(
        "To fill a new node sooner, let each relocation be faster: indices.recovery.max_bytes_per_sec.",
    ));
    out.findings.push(finding);
}

fn server(cx: &ClusterContext<'_>) -> (Product, Version) {
    let version = &cx.cluster.version;
    let product = match cx.cluster.flavour {
        Flavour::Elasticsearch => Product::Elasticsearch,
        Flavour::Opensearch => Product::OpenSearch,
    };
    // No server has more than 99 minor versions, which is what the numbering has room for.
    let part = |number: u32| number.min(99);
    let (minor, patch) = (part(version.minor), part(version.patch));
    (product, Version::release(part(version.major), minor, patch))
}

/// A cluster of this size; `None` if the cluster did not tell enough.
fn of_size(
    cx: &ClusterContext<'_>,
    product: Product,
    version: Version,
    data_nodes: usize,
    recoveries: Option<i32>,
) -> Option<Joining> {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let shards = cx.cluster.shards.as_ref()?.total;
    let indices = cx.cluster.indices.as_ref()?.open;
    cx.cluster.nodes.as_ref()?;
    let here = Joining {
        product,
        version,
        data_nodes: number(data_nodes as u64),
        indices: number(indices),
        shards: number(shards),
        cluster_concurrent_rebalance: DEFAULT,
        node_concurrent_recoveries: recoveries.unwrap_or(2),
    };
    (shards > 0).then(|| here.capped())
}

/// Says what the setting costs when a node joins, and what the default would; `None` if it costs nothing.
fn predict(here: Joining, set: i32) -> Option<String> {
    let course = |cluster_concurrent_rebalance| {
        let here = Joining {
            cluster_concurrent_rebalance,
            ..here
        };
        here.course().ok()
    };
    let (now, default) = (course(set)?, course(DEFAULT)?);
    if now.quiet && now.moved <= default.moved {
        return None;
    }
    let moves = |moved: u64| units::count::counted(moved, "move", "moves");
    Some(format!(
        " Predicted for a node that joins {} with {}: {}, with the default {}, and {} would do.",
        units::count(here.data_nodes, "data node"),
        units::count(here.shards, "shard"),
        if now.quiet {
            moves(now.moved)
        } else {
            "the cluster never comes to rest".to_owned()
        },
        moves(default.moved),
        units::grouped(default.moves_needed)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;
    use facts::cluster::SettingOrigin;

    fn set(cluster: TestCluster, value: &str) -> Outcome {
        cluster
            .setting(SettingOrigin::Transient, KEY, value)
            .check(&RULE)
    }

    #[test]
    fn a_higher_value_is_found_where_weights_are_stale() {
        for cluster in [
            TestCluster::new().version("7.7.0"),
            TestCluster::new().version("7.17.28"),
            TestCluster::new().version("8.3.3"),
            TestCluster::new().opensearch("1.3.20"),
            TestCluster::new().opensearch("2.19.1"),
        ] {
            let outcome = set(cluster, "8");
            assert_well_formed(&outcome);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Warning);
            assert!(
                finding.title.starts_with("up to 8 rebalances"),
                "{}",
                finding.title
            );
            let command = finding.remedy[0].command.as_deref().unwrap_or_default();
            assert!(command.contains("null"), "{command}");
        }
    }

    #[test]
    fn other_versions_and_values_are_silent() {
        for version in ["6.8.23", "7.4.2", "7.6.2", "8.4.0", "8.11.0", "9.2.0"] {
            assert_eq!(
                set(TestCluster::new().version(version), "8"),
                Outcome::default(),
                "{version}"
            );
        }
        for value in ["0", "1", "2"] {
            assert_eq!(
                set(TestCluster::new(), value),
                Outcome::default(),
                "{value}"
            );
        }
        assert_eq!(TestCluster::new().check(&RULE), Outcome::default());
        assert_eq!(
            set(TestCluster::new().data_nodes(1), "8"),
            Outcome::default()
        );
        let off = TestCluster::new().setting(SettingOrigin::Persistent, REBALANCE, "none");
        assert_eq!(set(off, "8"), Outcome::default());
    }

    #[test]
    fn no_limit_counts_as_more_and_a_file_is_overridden() {
        let outcome = TestCluster::new()
            .setting(SettingOrigin::NodeFile, KEY, "-1")
            .check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert!(
            finding.title.starts_with("without a limit"),
            "{}",
            finding.title
        );
        let command = finding.remedy[0].command.as_deref().unwrap_or_default();
        assert!(
            command.contains('2') && !command.contains("null"),
            "{command}"
        );
    }

    #[test]
    fn without_settings_it_is_skipped() {
        let outcome = TestCluster::new()
            .with(|cluster| cluster.settings = None)
            .check(&RULE);
        assert_well_formed(&outcome);
        assert_eq!(outcome.skipped.len(), 1);
    }
}
