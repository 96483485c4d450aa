//! # ES001: every reroute scans all shards
//!
//! ## What it finds
//! Elasticsearch 6.8 to 7.5 whose master, at each reroute, asks for every shard the node that holds it
//! for all of its shards, to see which of them are moving: n^2/m steps for n shards on m data nodes.
//!
//! ## Why it hurts
//! Creating, deleting, opening and closing an index, a node that comes or goes, and shards that start
//! all wait for reroutes, and the master makes one change at a time. Measured with the servers' own
//! code, milliseconds of one reroute that finds nothing to do, 2 data nodes:
//!
//! | | 2,500 shards | 5,000 | 10,000 | 25,000 |
//! |---|---|---|---|---|
//! | 6.8.23 | 63 | 325 | 1,794 | 8,924 |
//! | 7.1.1 | 38 | 233 | 962 | 4,793 |
//! | 7.4.0 | 48 | 383 | 1,776 | 7,219 |
//! | 7.4.0, `include_relocations: false` | 11 | 28 | 41 | 114 |
//! | 7.6.0 | 11 | 34 | 45 | 103 |
//!
//! The finding predicts the cost at this cluster's size: between two sizes on logarithmic scales,
//! beyond the largest as n^2, the scanning part divided by the number of data nodes. It was measured
//! on one machine, and single figures moved by half: take it as right within a factor of 2.
//!
//! ## Evidence
//! The master's version, the number of assigned copies in the routing table, the number of data nodes,
//! and `cluster.routing.allocation.disk.include_relocations`.
//!
//! ## Remedy
//! In this order: upgrade to 7.6.0 or later, which keeps the lists; where that must wait, a Java agent
//! on the master-eligible nodes that does the same (a live fix); `include_relocations: false`; fewer
//! shards.
//!
//! ## Risk
//! Without `include_relocations` the master does not count what is on its way to a node: it may send
//! too much there, and move it away again when the disk is above its watermark.
//!
//! ## When it is silent
//! For 7.6 and later and for OpenSearch, which was forked from 7.10; with one data node, or where the
//! disk decider or `include_relocations` is switched off (ES004): nothing is scanned then. Versions
//! before 6.8 were not measured and are reported as skipped. It is an error from 5 seconds on, a
//! warning from 0.2 seconds on, and an information below.
//!
//! ## References
//! - Elasticsearch pull request 47817: the fix, in 7.6.0; issue 46941: the same stack at 60,000 shards
//! - Elasticsearch 7.5: `cluster.routing.allocation.disk.include_relocations` is deprecated

use crate::catalogue::{Check, Rule};
use crate::cluster::cost::{self, Cost, Scanning};
use crate::cluster::{ClusterContext, count};
use crate::context::Outcome;
use facts::cluster::{ServerVersion, ShardCounts};
use facts::{Evidence, Remedy, Severity, Skipped};

pub(crate) const RULE: Rule = Rule {
    id: "ES001",
    title: "every reroute scans all shards",
    source: include_str!("es001.rs"),
    check: Check::Cluster(check),
};

/// The setting that makes the scan necessary, and is no help.
pub(crate) const INCLUDE_RELOCATIONS: &str = "cluster.routing.allocation.disk.include_relocations";

/// From here on several reroutes of one request come near the 30 seconds that clients wait.
const ERROR_MS: f64 = 5_000.0;
/// From here on people notice.
const WARNING_MS: f64 = 200.0;

/// Whether, and as which of the measured servers, this version scans; `None` where it does not, or
/// where it is older than what was measured.
pub(crate) fn scanning(version: &ServerVersion) -> Option<Scanning> {
    match (version.major, version.minor) {
        (6, 8..) => Some(Scanning::V6_8),
        (7, 0..=1) => Some(Scanning::V7_1),
        (7, 2..=5) => Some(Scanning::V7_4),
        _ => None,
    }
}

/// Copies that are on a node: those are scanned.
pub(crate) fn assigned(shards: &ShardCounts) -> u64 {
    shards.total.saturating_sub(shards.unassigned)
}

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let Some(version) = cx.elasticsearch() else {
        return;
    };
    if (version.major, version.minor) < (6, 8) {
        let why = format!(
            "what a reroute of {} costs was not measured (6.8 to 7.17 were)",
            cx.server()
        );
        out.skipped.push(Skipped::new(RULE.id, why, None));
        return;
    }
    let Some(server) = scanning(version) else {
        return;
    };
    // One answer that is missing is enough to say so.
    let Some(settings) = cx.settings_or_skip(&RULE, out) else {
        return;
    };
    if !settings.disk_threshold_enabled() || !settings.include_relocations() {
        return;
    }
    if cx.nodes_or_skip(&RULE, out).is_none() {
        return;
    }
    let data_nodes = cx.cluster.data_nodes().count() as u64;
    if data_nodes < 2 {
        return;
    }
    let shards = cx.cluster.shards.as_ref();
    let Some(shards) = cx.or_skip(
        shards,
        &RULE,
        "the routing table",
        "/_cluster/state/routing_table",
        out,
    ) else {
        return;
    };
    report(cx, server, shards, data_nodes, out);
}

fn report(
    cx: &ClusterContext<'_>,
    server: Scanning,
    shards: &ShardCounts,
    data_nodes: u64,
    out: &mut Outcome,
) {
    let assigned = assigned(shards);
    let cost = cost::reroute(server, assigned, data_nodes);
    let severity = match cost.with_scan_ms {
        ERROR_MS.. => Severity::Error,
        WARNING_MS.. => Severity::Warning,
        _ => Severity::Info,
    };
    let mut finding = cx.about_cluster(
        &RULE,
        severity,
        format!(
            "every reroute scans all shards: about {} of the master's time",
            cost::words(cost.with_scan_ms)
        ),
    );
    finding.why = format!(
        "{} asks for each shard its node for all of its shards, to see which of them move. For {} \
         on {} that is predicted to take {} each time ({}; 7.6.0: {}). The prediction rests on {}, \
         measured on one machine with 2 data nodes{}: take it as right within a factor of 2. Index \
         changes, nodes that come or go and shards that start all wait for reroutes, one after the \
         other.",
        cx.server(),
        count(assigned, "assigned shard"),
        count(data_nodes, "data node"),
        cost::words(cost.with_scan_ms),
        cost::range_words(cost.with_scan_ms),
        cost::words(cost.fixed_ms),
        server.measured_version(),
        if cost.is_extrapolated {
            " and 2,500 to 25,000 shards, which this cluster's size lies outside of"
        } else {
            ""
        },
    );
    finding.evidence.push(Evidence::new(
        "GET /_cluster/state/routing_table: copies assigned to a node",
        assigned,
    ));
    finding
        .evidence
        .push(Evidence::new("GET /_nodes: data nodes", data_nodes));
    finding
        .evidence
        .push(cx.setting_evidence(INCLUDE_RELOCATIONS, "true"));
    finding.remedy = remedies(cx, server, shards, data_nodes, &cost);
    out.findings.push(finding);
}

fn remedies(
    cx: &ClusterContext<'_>,
    server: Scanning,
    shards: &ShardCounts,
    data_nodes: u64,
    cost: &Cost,
) -> Vec<Remedy> {
    let upgrade = Remedy::advice(format!(
        "Upgrade to 7.6.0 or later (7.17 is the last line of 7): it keeps the lists of moving shards \
         instead of searching for them. Predicted: {} a reroute.",
        cost::words(cost.fixed_ms)
    ))
    .risk(if server == Scanning::V6_8 {
        "From 6.8 it is a new major version: read its breaking changes first; indices made by 5.x \
         have to be reindexed before."
    } else {
        "Take a snapshot first: there is no way back from an upgrade."
    });
    let live_fix = Remedy::advice(
        "Where the upgrade must wait: a live fix, a Java agent on the master-eligible nodes that keeps \
         each node's lists of shards by state and drops them on every change. A prototype took \
         7.4.0 at 10,000 shards from 1,776 to 45 ms, with the same allocation. trimtab does not ship \
         one yet.",
    )
    .risk(
        "The vendor does not support a server with a foreign agent; each master-eligible node has \
         to restart to load it.",
    );
    let mut all = vec![upgrade, live_fix, without_relocations(cx, cost)];
    all.push(fewer_shards(server, shards, data_nodes));
    all
}

fn without_relocations(cx: &ClusterContext<'_>, cost: &Cost) -> Remedy {
    Remedy::command(
        format!(
            "Switch off the question that is answered by scanning, until the upgrade. Predicted: \
             {} a reroute.",
            cost::words(cost.without_scan_ms)
        ),
        cx.put_setting(INCLUDE_RELOCATIONS, "false"),
    )
    .risk(
        "The master no longer counts what is on its way to a node: it may send too much there, \
         cross the high watermark and move it away again, so that relocations repeat. ES004 reminds \
         of it.",
    )
    .undo(cx.put_setting(INCLUDE_RELOCATIONS, "null"))
}

fn fewer_shards(server: Scanning, shards: &ShardCounts, data_nodes: u64) -> Remedy {
    let closed = shards.of_closed_indices.unwrap_or(0);
    let (which, left) = if closed > 0 {
        (
            format!(
                "without the {} of closed indices (ES002)",
                count(closed, "copy")
            ),
            assigned(shards).saturating_sub(closed),
        )
    } else {
        ("with half of them".to_owned(), assigned(shards) / 2)
    };
    let cost = cost::reroute(server, left, data_nodes);
    Remedy::advice(format!(
        "Have fewer shards: the scan costs a quarter when they are half as many. Predicted {which}: \
         {} a reroute. Delete or shrink old indices, and give new ones fewer shards.",
        cost::words(cost.with_scan_ms)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, node, sound};
    use crate::test_host::only;
    use facts::cluster::SettingOrigin;

    fn cluster(version: &str, shards: u64, data_nodes: usize) -> TestCluster {
        TestCluster::new()
            .version(version)
            .data_nodes(data_nodes)
            .shards(shards)
    }

    #[test]
    fn a_measured_cluster_is_predicted_as_measured() {
        let outcome = cluster("7.4.0", 25_000, 2).check(&RULE);
        sound(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.subject, "cluster logs");
        assert!(finding.title.ends_with("about 7.2 s of the master's time"));
        assert!(
            finding.why.contains("(3.6 s to 14 s; 7.6.0: 100 ms)"),
            "{}",
            finding.why
        );
        assert!(!finding.why.contains("lies outside"));
    }

    #[test]
    fn the_remedies_are_ranked() {
        let outcome = cluster("7.4.0", 25_000, 2).check(&RULE);
        let remedy = &only(&outcome).remedy;
        let begins: Vec<&str> = remedy
            .iter()
            .map(|remedy| remedy.text.split(' ').next().unwrap_or_default())
            .collect();
        assert_eq!(begins, ["Upgrade", "Where", "Switch", "Have"]);
        assert!(remedy[1].text.contains("live fix"));
        let risk = remedy[2].risk.as_deref().expect("a risk");
        assert!(risk.contains("relocations repeat"), "{risk}");
        let command = remedy[2].command.as_deref().expect("a command");
        assert!(
            command.contains("include_relocations\": false"),
            "{command}"
        );
    }

    #[test]
    fn each_version_has_its_own_measurement_and_severity() {
        for (version, shards, nodes, measured, severity) in [
            ("6.8.0", 25_000, 2, "6.8.23", Severity::Error),
            ("7.1.1", 10_000, 2, "7.1.1", Severity::Warning),
            ("7.5.2", 2_500, 2, "7.4.0", Severity::Info),
            // More nodes, less to scan for each shard.
            ("7.4.0", 25_000, 12, "7.4.0", Severity::Warning),
        ] {
            let outcome = cluster(version, shards, nodes).check(&RULE);
            sound(&outcome);
            let finding = only(&outcome);
            assert!(finding.why.contains(&format!("rests on {measured},")));
            assert_eq!(finding.severity, severity, "{version} {}", finding.title);
        }
    }

    #[test]
    fn beyond_what_was_measured_it_says_so() {
        let outcome = cluster("7.4.0", 60_000, 10).check(&RULE);
        assert!(only(&outcome).why.contains("lies outside"));
    }

    #[test]
    fn closed_indices_are_named_where_they_would_help() {
        let outcome = cluster("7.4.0", 50_000, 12).closed(45_000).check(&RULE);
        let last = only(&outcome).remedy.last().expect("a remedy");
        assert!(
            last.text.contains("45,000 copies of closed indices"),
            "{}",
            last.text
        );
    }

    #[test]
    fn fixed_versions_and_clusters_that_do_not_scan_are_silent() {
        let off = |key: &str| {
            cluster("7.4.0", 25_000, 2)
                .setting(SettingOrigin::Transient, key, "false")
                .check(&RULE)
        };
        for outcome in [
            cluster("7.6.0", 25_000, 2).check(&RULE),
            cluster("8.19.0", 25_000, 2).check(&RULE),
            cluster("7.4.0", 25_000, 2)
                .opensearch("1.3.20")
                .check(&RULE),
            cluster("7.4.0", 25_000, 1).check(&RULE),
            off(INCLUDE_RELOCATIONS),
            off("cluster.routing.allocation.disk.threshold_enabled"),
        ] {
            assert_eq!(outcome, Outcome::default());
        }
    }

    #[test]
    fn only_data_nodes_count() {
        let nodes = [
            node("m-1", &["master"]),
            node("m-2", &["master"]),
            node("d-1", &["data"]),
        ];
        let outcome = cluster("7.4.0", 25_000, 1).nodes(nodes).check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn what_is_not_told_is_skipped() {
        let without = |forget: fn(&mut facts::Cluster)| {
            let outcome = cluster("7.4.0", 25_000, 2).with(forget).check(&RULE);
            sound(&outcome);
            assert!(outcome.findings.is_empty());
            outcome.skipped[0].why.clone()
        };
        assert!(without(|cluster| cluster.settings = None).ends_with("the settings"));
        assert!(without(|cluster| cluster.nodes = None).ends_with("the nodes"));
        assert!(without(|cluster| cluster.shards = None).ends_with("the routing table"));
        let old = cluster("6.2.4", 25_000, 2).check(&RULE);
        assert!(old.findings.is_empty());
        assert!(old.skipped[0].why.contains("not measured"));
    }
}
