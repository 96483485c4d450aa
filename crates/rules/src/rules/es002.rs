//! # ES002: closed indices fill the routing table
//!
//! ## What it finds
//! Shards of closed indices that the master still places, balances and looks at: at least 100 copies
//! and a tenth of the routing table.
//!
//! ## Why it hurts
//! Up to Elasticsearch 7.1 an index that was closed left the routing table. Since 7.2 its shards stay
//! there, so that they are replicated and survive the loss of a node; OpenSearch, forked from 7.10,
//! does the same. A cluster kept small by closing old indices is therefore large again after that
//! upgrade: with the scan of 7.2 to 7.5 (ES001), 5,000 shards of which 80 % were closed cost 300 ms a
//! reroute on 7.4.0 and 8.9 ms on 7.1.1.
//!
//! ## Evidence
//! The number of closed indices and of their copies in the routing table.
//!
//! ## Remedy
//! Closed indices are not an archive: take a snapshot, delete the index, and restore it when needed. For
//! indices that have to stay: fewer shards before closing (shrink), or no replicas.
//!
//! ## Risk
//! A restore takes time; without replicas a closed index is lost with its node.
//!
//! ## When it is silent
//! Before 7.2; below 100 copies or a tenth of the routing table. An index that was closed before the
//! upgrade to 7.2 is not in the routing table until it is opened and closed again. It is a warning
//! where the copies cost 0.1 seconds or more of each reroute, else a note: later versions
//! place them at little cost, and they do not count against `cluster.max_shards_per_node`.
//!
//! ## References
//! - Elasticsearch pull request 39499, "Add support for replicating closed indices", 7.2.0
//! - Elasticsearch reference, "Cluster-level shard limits": closed indices do not contribute

use crate::cluster::ClusterContext;
use crate::cluster::cost::{self, Model, describe_accuracy, scanning};
use crate::finding;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use facts::cluster::Flavour;
use facts::{Finding, Remedy};
use shards::cost::Prediction;

pub(crate) const RULE: Rule = Rule {
    id: "ES002",
    title: "closed indices fill the routing table",
    source: include_str!("es002.rs"),
    check: Check::Cluster(check),
};

/// Fewer copies than this do not matter in any version.
const COPIES_MIN: u64 = 100;
/// A share below one in this many does not matter either.
const SHARE: u64 = 10;
/// Additional time per reroute from which this is a warning.
const WARNING_MS: f64 = 100.0;

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let cluster = cx.cluster;
    if cluster.flavour == Flavour::Elasticsearch && !cx.is_elasticsearch_from(7, 2) {
        return;
    }
    let counts = cluster
        .shards
        .as_ref()
        .and_then(|shards| Some((shards, shards.of_closed_indices?)));
    let what = "which shards of the routing table belong to closed indices";
    let path = "/_cluster/state/metadata,routing_table";
    let Some((shards, copies)) = cx.or_skip(counts, &RULE, what, path, out) else {
        return;
    };
    if copies < COPIES_MIN || copies.saturating_mul(SHARE) < shards.total {
        return;
    }
    let indices = cluster
        .indices
        .as_ref()
        .and_then(|i| i.closed_in_routing_table);
    let scan_ms = added_by_scan(cx, copies);
    let is_costly = scan_ms.is_some_and(|(with, without)| with.ms - without.ms >= WARNING_MS);
    let mut finding = cx.about_cluster(
        &RULE,
        finding::warning_if(is_costly),
        format!(
            "{} of closed indices are in the routing table",
            units::count::counted(copies, "copy", "copies")
        ),
    );
    finding.why = format!(
        "Since Elasticsearch 7.2 shards of closed indices stay in the routing table: the master \
         places, moves and balances them like those of open ones. Here they are {} of {}.{}",
        percent(copies, shards.total),
        units::count::counted(shards.total, "copy", "copies"),
        match scan_ms {
            Some((with, without)) => format!(
                " With the scan of this version (ES001) a reroute is predicted to take {} with \
                 them and \
                 {} without, {}.",
                cost::format_ms(with.ms),
                cost::format_ms(without.ms),
                describe_accuracy(&with)
            ),
            None if cx.elasticsearch().and_then(scanning).is_some() => {
                " This version scans for relocating shards (ES001), but not with this cluster's \
                 settings, so they cost little."
                    .to_owned()
            }
            None =>
                " They cost little in this version, but still take part in each reroute.".to_owned(),
        }
    );
    finding.add_evidence("GET /_cluster/state: copies of closed indices", copies);
    if let Some(indices) = indices {
        finding.add_evidence(
            "GET /_cluster/state: closed indices in the routing table",
            indices,
        );
    }
    add_remedies(cx, &mut finding);
    out.findings.push(finding);
}

/// Predicts a reroute with and without the closed copies, if this version scans.
fn added_by_scan(cx: &ClusterContext<'_>, copies: u64) -> Option<(Prediction, Prediction)> {
    let settings = cx.cluster.settings.as_ref()?;
    if !settings.include_relocations() || !settings.disk_threshold_enabled() {
        return None;
    }
    let model = Model::of(cx)?;
    let without = model.with_copies(model.copies().saturating_sub(copies));
    Some((model.reroute(), without.reroute()))
}

fn add_remedies(cx: &ClusterContext<'_>, finding: &mut Finding) {
    finding.add_remedy(
        Remedy::advice(
            "Take a snapshot of the closed indices, delete them, and restore one when it is asked for. \
             Name each closed index in the snapshot request: wildcards leave them out.",
        )
        .risk("A restore takes as long as copying the data; check the snapshot before deleting."),
    );
    finding.add_remedy(
        Remedy::command(
            "If their data exists elsewhere as well, drop the replicas of closed indices: that \
             halves their copies and the disk space they take.",
            cx.put(
                "/_all/_settings?expand_wildcards=closed",
                "{\n  \"index.number_of_replicas\": 0}",
            ),
        )
        .risk("Without a replica a closed index is lost with its disk.")
        .undo(cx.put(
            "/_all/_settings?expand_wildcards=closed",
            "{\n  \"index.number_of_replicas\": 1}",
        )),
    );
    finding.add_remedy(Remedy::advice(
        "In the future, shrink an index to one shard before closing it, and let lifecycle rules \
         delete it when it is no longer needed.",
    ));
}

fn percent(part: u64, whole: u64) -> String {
    format!("{} %", units::share::percent_done(part, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;
    use facts::Severity;

    fn cluster(version: &str) -> TestCluster {
        TestCluster::new()
            .version(version)
            .data_nodes(12)
            .shards(50_000)
            .closed(45_000)
    }

    #[test]
    fn mostly_closed_with_the_scan_is_a_warning() {
        let outcome = cluster("7.4.0").check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "45,000 copies of closed indices are in the routing table"
        );
        assert!(
            finding.why.contains("90 % of 50,000 copies"),
            "{}",
            finding.why
        );
        assert!(finding.why.contains("with them and"));
    }

    #[test]
    fn later_versions_place_them_at_little_cost() {
        for outcome in [
            cluster("7.17.28").check(&RULE),
            cluster("8.11.0").check(&RULE),
            cluster("7.4.0").opensearch("2.19.1").check(&RULE),
            // Nothing is scanned.
            cluster("7.4.0").data_nodes(1).check(&RULE),
        ] {
            assert_well_formed(&outcome);
            assert_eq!(only(&outcome).severity, Severity::Info);
        }
    }

    #[test]
    fn before_7_2_they_left_the_routing_table() {
        let outcome = cluster("7.1.1").check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn few_closed_copies_are_silent() {
        for (shards, closed) in [(5_000, 99), (5_000, 499), (5_000, 0), (0, 0)] {
            let outcome = cluster("7.4.0").shards(shards).closed(closed).check(&RULE);
            assert_eq!(outcome, Outcome::default(), "{shards} {closed}");
        }
    }

    #[test]
    fn unknown_states_are_skipped() {
        for forget in [
            |cluster: &mut facts::Cluster| cluster.shards = None,
            |cluster: &mut facts::Cluster| {
                if let Some(shards) = &mut cluster.shards {
                    shards.of_closed_indices = None;
                }
            },
        ] {
            let outcome = cluster("7.4.0").with(forget).check(&RULE);
            assert_well_formed(&outcome);
            assert!(outcome.findings.is_empty());
            assert_eq!(outcome.skipped.len(), 1);
        }
    }
}
