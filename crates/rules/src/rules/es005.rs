//! # ES005: too many shards
//!
//! ## What it finds
//! - nodes with more copies for each GB of heap than the server's makers advise
//! - masters with too little heap for the number of indices
//! - a cluster close to the limit above which no index can be created
//!
//! ## Why it hurts
//! Each shard takes heap, file handles and threads of its node, and each index heap of the master. What
//! is advised depends on the version:
//!
//! | server | advice |
//! |---|---|
//! | Elasticsearch to 8.2 | at most 20 shards for each GB of a node's heap |
//! | Elasticsearch from 8.3 | at least 1 GB of each master's heap for 3,000 indices |
//! | OpenSearch | at most 25 shards for each GiB of a node's heap, and 1,000 on a node |
//!
//! From 7.0 on, and in OpenSearch, the master refuses new indices when there are more copies of open
//! indices than `cluster.max_shards_per_node` (1,000 unless set) for each data node.
//!
//! ## Evidence
//! Copies and heap of the nodes, the number of indices, the setting.
//!
//! ## Remedy
//! Fewer, larger shards of 10 to 50 GB: fewer primaries in templates, rollover by size instead of by
//! day, shrink, delete. Then nodes, then heap.
//!
//! ## Risk
//! A higher limit moves the point at which it breaks, and makes it worse.
//!
//! ## When it is silent
//! Below these figures. Nodes of the frozen tier alone are left out: they have a limit of their own.
//! Copies of closed indices take little heap: a node that is above the advice only if they count is
//! reported as skipped. Above the limit is an error, all else a warning.
//!
//! ## References
//! - Elasticsearch reference to 8.1, "Size your shards": aim for 20 shards or fewer per GB of heap
//! - Elasticsearch reference from 8.3, "Size your shards" (pull requests 86223 and 89081); in 8.2 the
//!   two disagree (issue 101233), and the shards' heap fell in 8.3
//! - Amazon OpenSearch Service Lens, AOSPERF01-BP01: 25 shards per GiB of heap, 1,000 per node

use crate::cluster::ClusterContext;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use crate::wording;
use facts::cluster::{ClusterNode, Flavour};
use facts::{Remedy, Severity};
use std::cmp::Reverse;

pub(crate) const RULE: Rule = Rule {
    id: "ES005",
    title: "too many shards",
    source: include_str!("es005.rs"),
    check: Check::Cluster(check),
};

const GIB: u64 = 1 << 30;
/// Indices per GiB of a master's heap.
const INDICES_PER_GIB: u64 = 3_000;
const LIMIT_KEY: &str = "cluster.max_shards_per_node";
const LIMIT_DEFAULT: u64 = 1_000;
/// Share of the limit, in percent, from which this is reported.
const LIMIT_NEAR_PERCENT: u64 = 90;

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    if cx.nodes_or_skip(&RULE, out).is_none() {
        return;
    }
    let data_nodes: Vec<&ClusterNode> = cx.nodes_with_shards().collect();
    match cx.cluster.flavour {
        Flavour::Elasticsearch if cx.is_elasticsearch_from(8, 3) => masters_heap(cx, out),
        Flavour::Elasticsearch => nodes_heap(cx, &data_nodes, 20, out),
        Flavour::Opensearch => nodes_heap(cx, &data_nodes, 25, out),
    }
    if cx.cluster.flavour == Flavour::Opensearch || cx.is_elasticsearch_from(7, 0) {
        cluster_limit(cx, data_nodes.len() as u64, out);
    }
}

/// Returns the number of copies advised for a heap.
fn advised_copies(heap_bytes: u64, per_gib: u64) -> u64 {
    let copies = u128::from(heap_bytes) * u128::from(per_gib) / u128::from(GIB);
    u64::try_from(copies).unwrap_or(u64::MAX)
}

fn is_too_many(copies: u64, heap_bytes: u64, per_gib: u64) -> bool {
    u128::from(copies) * u128::from(GIB) > u128::from(heap_bytes) * u128::from(per_gib)
}

fn nodes_heap(cx: &ClusterContext<'_>, nodes: &[&ClusterNode], per_gib: u64, out: &mut Outcome) {
    let closed = cx
        .cluster
        .shards
        .as_ref()
        .and_then(|shards| shards.of_closed_indices)
        .unwrap_or(0);
    let mut crowded: Vec<(&ClusterNode, u64, u64)> = Vec::new();
    let (mut unknown, mut undecided) = (0_u64, 0_u64);
    for &node in nodes {
        let (Some(copies), Some(heap)) = (node.shards, node.heap_max_bytes) else {
            unknown += 1;
            continue;
        };
        if is_too_many(copies.saturating_sub(closed), heap, per_gib) {
            crowded.push((node, copies, heap));
        } else if is_too_many(copies, heap, per_gib) {
            undecided += 1;
        }
    }
    if unknown > 0 {
        out.skip(
            RULE.id,
            format!(
                "copies or heap of {} are not known",
                units::count(unknown, "data node")
            ),
            Some("answers to GET /_nodes/jvm and GET /_cluster/state/routing_table"),
        );
    }
    if undecided > 0 {
        out.skip(
            format!("{} for nodes with closed indices", RULE.id),
            format!(
                "{} above {per_gib} copies for each GiB of heap only if closed indices count, \
                 which take little heap",
                if undecided == 1 {
                    "1 node is".to_owned()
                } else {
                    format!("{} nodes are", units::grouped(undecided))
                }
            ),
            None,
        );
    }
    if crowded.is_empty() {
        return;
    }
    crowded.sort_by_key(|&(node, copies, _)| (Reverse(copies), &node.name));
    let mut finding = cx.about_cluster(
        &RULE,
        Severity::Warning,
        format!(
            "more than {per_gib} shards for each GB of heap on {}",
            units::count(crowded.len() as u64, "node")
        ),
    );
    let (worst, copies, heap) = crowded[0];
    finding.why = format!(
        "Each shard takes heap and file handles on its node. For {} the advice is at most \
         {per_gib} shards for each GB of heap. That is {} on {} with its {} of heap, which holds \
         {}.",
        cx.server(),
        units::grouped(advised_copies(heap, per_gib)),
        printable(&worst.name),
        units::bytes(heap),
        units::grouped(copies)
    );
    for (node, copies, heap) in crowded.iter().take(wording::EVIDENCE_MAX) {
        finding.add_evidence(
            format!("GET /_nodes: {}", printable(&node.name)),
            format!(
                "{}, {} of heap",
                units::count::counted(*copies, "copy", "copies"),
                units::bytes(*heap)
            ),
        );
    }
    finding.remedy = fewer_shards();
    out.findings.push(finding);
}

fn masters_heap(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let indices = cx.cluster.indices.as_ref();
    let what = "how many indices there are";
    let Some(indices) = cx.or_skip(indices, &RULE, what, "/_cluster/state/metadata", out) else {
        return;
    };
    let indices = indices.open.saturating_add(indices.closed);
    let eligible = cx.cluster.master_eligible_nodes();
    let mut small: Vec<(&ClusterNode, u64)> = eligible
        .filter(|node| !node.voting_only)
        .filter_map(|node| Some((node, node.heap_max_bytes?)))
        .filter(|&(_, heap)| is_too_many(indices, heap, INDICES_PER_GIB))
        .collect();
    if small.is_empty() {
        return;
    }
    small.sort_by_key(|&(node, heap)| (heap, &node.name));
    let needed_bytes = indices.div_ceil(INDICES_PER_GIB).saturating_mul(GIB);
    let mut finding = cx.about_cluster(
        &RULE,
        Severity::Warning,
        format!(
            "{} have less than 1 GB of heap for 3,000 indices",
            units::count(small.len() as u64, "master-eligible node")
        ),
    );
    finding.why = format!(
        "The master holds the state of every index in its heap. For {} the advice is fewer than \
         3,000 indices for each GB of heap on every master: {} for the {} here, on top of what a \
         node needs for other work.",
        cx.server(),
        units::bytes(needed_bytes),
        units::count::counted(indices, "index", "indices")
    );
    finding.add_evidence("GET /_cluster/state/metadata: indices", indices);
    for (node, heap) in small.iter().take(wording::EVIDENCE_MAX) {
        finding.add_evidence(
            format!("GET /_nodes: {}: heap", printable(&node.name)),
            units::bytes(*heap),
        );
    }
    finding.remedy = vec![
        Remedy::advice(
            "Reduce the number of indices: roll over by size instead of by day, and delete old ones.",
        ),
        Remedy::advice(format!(
            "Give each master-eligible node {} of heap or more, preferably on dedicated nodes.",
            units::bytes(needed_bytes)
        )),
    ];
    out.findings.push(finding);
}

fn cluster_limit(cx: &ClusterContext<'_>, data_nodes: u64, out: &mut Outcome) {
    let counts = cx
        .cluster
        .shards
        .as_ref()
        .and_then(|shards| Some(shards.total.saturating_sub(shards.of_closed_indices?)));
    let what = "how many copies open indices have";
    let Some(open) = cx.or_skip(counts, &RULE, what, "/_cluster/state", out) else {
        return;
    };
    let Some(settings) = cx.settings_or_skip(&RULE, out) else {
        return;
    };
    let limit = match settings.text(LIMIT_KEY) {
        None => LIMIT_DEFAULT,
        Some(text) => {
            let Ok(limit) = text.parse::<u64>() else {
                let why = format!("{LIMIT_KEY} is no number: {}", printable(&text));
                out.skip(RULE.id, why, None);
                return;
            };
            limit
        }
    };
    let allowed = limit.saturating_mul(data_nodes);
    let percent = u128::from(open) * 100 / u128::from(allowed.max(1));
    if percent < u128::from(LIMIT_NEAR_PERCENT) || allowed == 0 {
        return;
    }
    let is_full = open >= allowed;
    let (severity, title) = if is_full {
        let title = "no index can be created: the shard limit is reached".to_owned();
        (Severity::Error, title)
    } else {
        let title = format!("the cluster has {percent} % of the shards that it allows");
        (Severity::Warning, title)
    };
    let mut finding = cx.about_setting(&RULE, severity, LIMIT_KEY, title);
    finding.why = format!(
        "{} refuses to create or open indices and to add replicas when copies of open indices \
         exceed {LIMIT_KEY} for each data node. Here are {} of {} allowed.",
        cx.server(),
        units::grouped(open),
        units::grouped(allowed)
    );
    finding.add_evidence(
        "GET /_cluster/state/routing_table: copies of open indices",
        open,
    );
    finding.add_evidence("GET /_nodes: data nodes", data_nodes);
    let setting = cx.setting_evidence(LIMIT_KEY, &LIMIT_DEFAULT.to_string());
    finding.evidence.push(setting);
    finding.remedy = fewer_shards();
    // An upgrade may leave more copies than the limit allows: the limit must then exceed those.
    let here = limit.max(open.div_ceil(data_nodes.max(1)));
    let raised = here.saturating_add(here / 10);
    finding.add_remedy(
        Remedy::command(
            "To gain time while you remove shards, raise the limit somewhat.",
            cx.put_setting(LIMIT_KEY, &raised.to_string()),
        )
        .risk("The cluster breaks later, but worse: reset the limit soon.")
        .undo(
            cx.put_setting(
                LIMIT_KEY,
                &settings
                    .text(LIMIT_KEY)
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                    .unwrap_or_else(|| "null".to_owned()),
            ),
        ),
    );
    out.findings.push(finding);
}

fn fewer_shards() -> Vec<Remedy> {
    vec![
        Remedy::advice(
            "Use fewer and larger shards, of 10 to 50 GB: fewer primaries in the templates of \
             small indices, rollover by size instead of by day.",
        ),
        Remedy::advice(
            "Among existing indices, delete empty and old ones, shrink those that are no longer \
             written, and merge small ones by reindexing.",
        )
        .risk("Shrinking and reindexing read and write everything once: do it in a quiet period."),
        Remedy::advice("Add data nodes. More heap per node helps up to about 30 GB."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed, data_node, node};
    use crate::test_host::only;
    use facts::cluster::{IndexCounts, SettingOrigin};

    /// Returns two nodes with this many copies each and 16 GiB of heap.
    fn crowded(copies: u64) -> TestCluster {
        let node = |name| ClusterNode {
            shards: Some(copies),
            ..data_node(name)
        };
        TestCluster::new()
            .nodes([node("es-1"), node("es-2")])
            .shards(100)
    }

    fn indices(open: u64) -> TestCluster {
        TestCluster::new().with(|cluster| {
            cluster.indices = Some(IndexCounts {
                open,
                closed: 0,
                closed_in_routing_table: Some(0),
                closed_shards_configured: 0,
            });
        })
    }

    #[test]
    fn more_than_20_for_each_gb_to_8_2() {
        // 16 GiB of heap: 320 copies are within the advice.
        for version in ["6.8.23", "7.17.28", "8.2.3"] {
            let outcome = crowded(321).version(version).check(&RULE);
            assert_well_formed(&outcome);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Warning);
            assert!(finding.title.ends_with("on 2 nodes"), "{}", finding.title);
            assert!(finding.why.contains("320 on es-1"), "{}", finding.why);
            let outcome = crowded(320).version(version).check(&RULE);
            assert_eq!(outcome, Outcome::default());
        }
        // The advice no longer applies.
        assert_eq!(
            crowded(900).version("8.3.0").check(&RULE),
            Outcome::default()
        );
    }

    #[test]
    fn opensearch_advises_25() {
        let outcome = crowded(401).opensearch("2.19.1").check(&RULE);
        assert_well_formed(&outcome);
        assert!(only(&outcome).title.starts_with("more than 25 shards"));
        let outcome = crowded(400).opensearch("2.19.1").check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn closed_indices_leave_it_undecided() {
        let outcome = crowded(400)
            .version("7.4.0")
            .shards(800)
            .closed(300)
            .check(&RULE);
        assert_well_formed(&outcome);
        assert!(outcome.findings.is_empty());
        assert!(outcome.skipped[0].why.starts_with("2 nodes are above 20"));
        // More than advised even without them.
        let outcome = crowded(700)
            .version("7.4.0")
            .shards(1_400)
            .closed(300)
            .check(&RULE);
        assert_eq!(outcome.findings.len(), 1);
    }

    #[test]
    fn from_8_3_masters_need_heap_for_indices() {
        let outcome = indices(48_001).version("8.11.0").check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert!(finding.title.starts_with("3 master-eligible nodes"));
        assert!(finding.why.contains("17 GiB for the 48,001 indices"));
        for cluster in [
            indices(48_000).version("8.11.0"),
            indices(48_001).version("8.2.0"),
        ] {
            assert_eq!(cluster.check(&RULE), Outcome::default());
        }
    }

    #[test]
    fn the_limit_of_the_cluster_is_an_error_when_reached() {
        let at = |shards| TestCluster::new().shards(shards);
        let outcome = at(3_000).check(&RULE);
        assert_well_formed(&outcome);
        assert_eq!(only(&outcome).severity, Severity::Error);
        let outcome = at(2_700).check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Warning);
        assert!(only(&outcome).title.contains("90 %"));
        assert_eq!(at(2_699).check(&RULE), Outcome::default());
        // Closed indices do not count, and 6.8 has no such limit.
        assert_eq!(at(3_000).closed(1_000).check(&RULE).findings, []);
        assert_eq!(at(3_000).version("6.8.23").check(&RULE).findings, []);
        let outcome = at(3_000)
            .setting(SettingOrigin::Persistent, LIMIT_KEY, "2000")
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn nodes_of_the_frozen_tier_do_not_count() {
        let nodes = [
            ClusterNode {
                shards: Some(2_000),
                ..node("frozen-1", &["data_frozen"])
            },
            data_node("es-1"),
        ];
        let outcome = TestCluster::new().nodes(nodes).shards(600).check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn missing_answers_are_skipped() {
        let skipped = |change: fn(&mut facts::Cluster)| {
            let outcome = TestCluster::new().with(change).check(&RULE);
            assert_well_formed(&outcome);
            assert!(outcome.findings.is_empty());
            outcome.skipped.len()
        };
        assert_eq!(skipped(|cluster| cluster.nodes = None), 1);
        assert_eq!(skipped(|cluster| cluster.shards = None), 1);
        assert_eq!(skipped(|cluster| cluster.settings = None), 1);
        let heapless = |cluster: &mut facts::Cluster| {
            for node in cluster.nodes.iter_mut().flatten() {
                node.heap_max_bytes = None;
            }
        };
        assert_eq!(skipped(heapless), 1);
    }
}
