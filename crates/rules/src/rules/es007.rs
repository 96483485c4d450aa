//! # ES007: too few masters, or masters that do other work
//!
//! ## What it finds
//! - one or two master-eligible nodes in a cluster of three nodes or more, or only one that may win an
//!   election (`voting_only` nodes only vote)
//! - Elasticsearch 6.8 with `discovery.zen.minimum_master_nodes` below a majority
//! - in a cluster of 10 data nodes or more, masters that hold data as well; and dedicated masters
//!   beside others that are not
//!
//! ## Why it hurts
//! With one or two master-eligible nodes the loss of one stops the cluster: a majority has to agree, and
//! the majority of two is two. Below a majority, 6.8 may elect two masters when the network is cut, and
//! loses what was written to one of them. A master that also searches and indexes is slow, or stops for
//! garbage collection, when the cluster needs it most.
//!
//! ## Evidence
//! The nodes with their roles. OpenSearch calls the role `cluster_manager`, from 2.0 on.
//!
//! ## Remedy
//! Three master-eligible nodes, in a large cluster dedicated to it; one may be `voting_only` in
//! Elasticsearch 7.3 and later.
//!
//! ## Risk
//! Roles change with a restart of the node, one node after the other. A node that loses the role `data`
//! must be emptied first.
//!
//! ## When it is silent
//! With fewer than three nodes, which cannot survive the loss of one in any case; from three masters
//! on. What is "large" is this rule's choice: 10 data nodes. A setting below a majority is an error, too
//! few masters and a busy elected one are warnings, the rest is a note.
//!
//! ## References
//! - Elasticsearch reference, "Voting configurations": high availability needs three master-eligible
//!   nodes, two of them not voting-only
//! - Elasticsearch reference 6.8, "Discovery settings": `minimum_master_nodes`
//! - OpenSearch documentation, "Creating a cluster": node roles

use crate::cluster::ClusterContext;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use crate::wording;
use facts::cluster::{ClusterNode, Flavour};
use facts::{Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "ES007",
    title: "too few masters, or masters that do other work",
    source: include_str!("es007.rs"),
    check: Check::Cluster(check),
};

const QUORUM_KEY: &str = "discovery.zen.minimum_master_nodes";
/// Number of masters needed to survive the loss of one.
const MASTERS_MIN: usize = 3;
/// From this many data nodes on, masters should have no other role.
const DATA_NODES_LARGE: usize = 10;

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let Some(nodes) = cx.nodes_or_skip(&RULE, out) else {
        return;
    };
    let masters: Vec<&ClusterNode> = cx.cluster.master_eligible_nodes().collect();
    quorum(cx, masters.len(), out);
    // An answer without any master-eligible node is incomplete.
    if masters.is_empty() {
        return;
    }
    if nodes.len() >= MASTERS_MIN {
        too_few(cx, &masters, nodes.len(), out);
    }
    mixed(cx, &masters, out);
}

/// Returns this server's term for a master.
fn master_word(cx: &ClusterContext<'_>) -> &'static str {
    match cx.cluster.flavour {
        Flavour::Opensearch if cx.cluster.version.major >= 2 => "cluster manager",
        _ => "master",
    }
}

/// Returns the configuration line that makes a node a dedicated master.
fn roles_line(cx: &ClusterContext<'_>) -> &'static str {
    match cx.cluster.flavour {
        Flavour::Opensearch if cx.cluster.version.major >= 2 => "node.roles: [ cluster_manager ]",
        Flavour::Opensearch => "node.roles: [ master ]",
        // node.roles was introduced in 7.9.
        Flavour::Elasticsearch if cx.is_elasticsearch_from(7, 9) => "node.roles: [ master ]",
        Flavour::Elasticsearch => "node.master: true, node.data: false, node.ingest: false",
    }
}

fn quorum(cx: &ClusterContext<'_>, masters: usize, out: &mut Outcome) {
    let is_old = cx.elasticsearch().is_some_and(|version| version.major < 7);
    if !is_old || masters < 2 {
        return;
    }
    let Some(settings) = cx.settings_or_skip(&RULE, out) else {
        return;
    };
    // Defaults to 1 if unset.
    let quorum = settings
        .text(QUORUM_KEY)
        .and_then(|text| text.parse::<i64>().ok())
        .filter(|&quorum| quorum > 0)
        .map_or(1, |quorum| usize::try_from(quorum).unwrap_or(usize::MAX));
    let majority = masters / 2 + 1;
    if quorum >= majority {
        return;
    }
    let mut finding = cx.about_setting(
        &RULE,
        Severity::Error,
        QUORUM_KEY,
        format!("{quorum} of {masters} master-eligible nodes may elect a master"),
    );
    finding.why = format!(
        "If the network is cut, each side with at least {} may elect a master of its own, and what \
         is written to one of them is lost afterwards. A majority of {masters} is {majority}.",
        units::count(quorum as u64, "node")
    );
    finding.evidence.push(cx.setting_evidence(QUORUM_KEY, "1"));
    finding.add_evidence("GET /_nodes: master-eligible nodes", masters);
    finding.add_remedy(
        Remedy::command(
            format!(
                "Set it to {majority} now, and in elasticsearch.yml of every master-eligible node \
                 as well."
            ),
            cx.put_setting(QUORUM_KEY, &majority.to_string()),
        )
        .risk(format!(
            "With fewer than {majority} master-eligible nodes up the cluster then has no master. \
             That is its purpose."
        ))
        .undo(cx.put_setting(QUORUM_KEY, "null")),
    );
    finding.add_remedy(Remedy::advice(
        "Elasticsearch 7.0 and later manage the voting nodes themselves.",
    ));
    out.findings.push(finding);
}

fn too_few(cx: &ClusterContext<'_>, masters: &[&ClusterNode], nodes: usize, out: &mut Outcome) {
    let word = master_word(cx);
    let electable = masters.iter().filter(|node| !node.voting_only).count();
    let (title, why) = if masters.len() == 1 {
        (
            format!(
                "one {word}-eligible node among {}",
                units::grouped(nodes as u64)
            ),
            format!(
                "When {} is down, nothing in the cluster can change, and Elasticsearch refuses \
                 writes by \
                 default; when its disk is lost, so is the cluster's state.",
                printable(&masters[0].name)
            ),
        )
    } else if masters.len() < MASTERS_MIN {
        (
            format!("two {word}-eligible nodes among {}", units::grouped(nodes as u64)),
            "A majority of two is two: when one of them is down the cluster has no master. Two are \
             worse than one, since the loss of either stops the cluster."
                .to_owned(),
        )
    } else if electable < 2 {
        (
            format!("only one {word}-eligible node can win an election"),
            "The others are voting_only: they vote and never become master. When this one is down, \
             there \
             is nobody to elect."
                .to_owned(),
        )
    } else {
        return;
    };
    let mut finding = cx.about_cluster(&RULE, Severity::Warning, title);
    finding.why = why;
    role_evidence(masters, &mut finding);
    finding.add_remedy(
        Remedy::advice(format!(
            "Have three {word}-eligible nodes, in different locations if you have several: {} on \
             dedicated nodes, or the role added to data nodes in a small cluster.",
            roles_line(cx)
        ))
        .risk("Each changed node has to restart: one at a time, waiting for green in between."),
    );
    if cx.is_elasticsearch_from(7, 3) && electable == 2 {
        finding.add_remedy(Remedy::advice(
            "The third may be a small node that only votes: roles master and voting_only.",
        ));
    }
    out.findings.push(finding);
}

fn mixed(cx: &ClusterContext<'_>, masters: &[&ClusterNode], out: &mut Outcome) {
    let word = master_word(cx);
    let data_nodes = cx.cluster.data_nodes().count();
    let (busy, dedicated): (Vec<&ClusterNode>, Vec<&ClusterNode>) =
        masters.iter().copied().partition(|node| node.data);
    let is_large = data_nodes >= DATA_NODES_LARGE;
    let has_enough = dedicated.len() >= MASTERS_MIN;
    if busy.is_empty() || !(is_large || has_enough) {
        return;
    }
    let elected = cx.cluster.master_node().filter(|node| node.data);
    let severity = match elected {
        Some(_) if is_large => Severity::Warning,
        _ => Severity::Info,
    };
    let title = match (elected, has_enough) {
        (Some(_), _) => format!("the elected {word} holds data as well"),
        (None, true) => format!(
            "{} may be elected {word} beside the dedicated ones",
            units::count(busy.len() as u64, "data node")
        ),
        (None, false) => format!(
            "{} may be elected {word}",
            units::count(busy.len() as u64, "data node")
        ),
    };
    let mut finding = match elected {
        Some(node) => cx.about_node(&RULE, severity, node, title),
        None => cx.about_cluster(&RULE, severity, title),
    };
    finding.why = format!(
        "Searches, indexing and long garbage collections on such a node delay every change of the \
         cluster, most of all under load. {}",
        if has_enough {
            "There are enough dedicated ones: the others need not be eligible."
        } else {
            "From 10 data nodes on, dedicated nodes are worth it; they may be small."
        }
    );
    if let Some(node) = elected {
        finding.add_evidence("GET /_cluster/state/master_node", printable(&node.name));
    }
    role_evidence(masters, &mut finding);
    finding.add_evidence("GET /_nodes: data nodes", data_nodes);
    let advice = if has_enough {
        let names: Vec<String> = busy.iter().map(|node| printable(&node.name)).collect();
        format!(
            "Remove the {word} role from {}, one restart at a time.",
            wording::list(&names)
        )
    } else {
        format!(
            "Add three dedicated nodes ({}), then remove the role from the data nodes, one restart \
             at a time.",
            roles_line(cx)
        )
    };
    finding.add_remedy(
        Remedy::advice(advice).risk(
            "Elasticsearch 7 and later: change less than half of the voting nodes at a time.",
        ),
    );
    out.findings.push(finding);
}

fn role_evidence(masters: &[&ClusterNode], finding: &mut Finding) {
    for node in masters.iter().take(wording::EVIDENCE_MAX) {
        let roles: Vec<String> = node.roles.iter().map(|role| printable(role)).collect();
        finding.add_evidence(
            format!("GET /_nodes: {}: roles", printable(&node.name)),
            roles.join(", "),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed, data_node, node};
    use crate::test_host::only;
    use facts::cluster::SettingOrigin;

    fn named(prefix: &str, number: usize, roles: &[&str]) -> Vec<ClusterNode> {
        (1..=number)
            .map(|n| node(&format!("{prefix}-{n}"), roles))
            .collect()
    }

    fn cluster(nodes: [Vec<ClusterNode>; 2]) -> TestCluster {
        TestCluster::new().nodes(nodes.into_iter().flatten())
    }

    #[test]
    fn one_or_two_of_three_are_a_warning() {
        for (masters, title) in [
            (1, "one master-eligible node among 4"),
            (2, "two master-eligible nodes among 5"),
        ] {
            let nodes = [named("m", masters, &["master"]), named("d", 3, &["data"])];
            let outcome = cluster(nodes).check(&RULE);
            assert_well_formed(&outcome);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Warning);
            assert_eq!(finding.title, title);
        }
        let nodes = [named("m", 3, &["master"]), named("d", 3, &["data"])];
        assert_eq!(cluster(nodes).check(&RULE), Outcome::default());
    }

    #[test]
    fn opensearch_has_its_own_name_for_them() {
        let nodes = [
            named("m", 1, &["cluster_manager"]),
            named("d", 3, &["data"]),
        ];
        let outcome = cluster(nodes).opensearch("2.19.1").check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.title, "one cluster manager-eligible node among 4");
        assert!(finding.remedy[0].text.contains("[ cluster_manager ]"));
    }

    #[test]
    fn nodes_that_only_vote_are_never_elected() {
        let nodes = [
            named("v", 2, &["master", "voting_only"]),
            vec![node("m", &["master"]), node("d", &["data"])],
        ];
        let outcome = cluster(nodes).check(&RULE);
        assert!(only(&outcome).title.starts_with("only one"));
        let nodes = [
            named("v", 1, &["master", "voting_only"]),
            named("m", 2, &["master", "data"]),
        ];
        assert_eq!(cluster(nodes).check(&RULE), Outcome::default());
    }

    #[test]
    fn small_clusters_may_mix() {
        for number in [1, 2, 3, 9] {
            let outcome = TestCluster::new().data_nodes(number).check(&RULE);
            assert_eq!(outcome, Outcome::default(), "{number}");
        }
    }

    #[test]
    fn large_clusters_need_dedicated_masters() {
        let outcome = TestCluster::new().data_nodes(10).check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.title, "the elected master holds data as well");
        assert_eq!(finding.subject, "node es-1");
        // It is not known which node is elected.
        let outcome = TestCluster::new()
            .data_nodes(10)
            .with(|cluster| cluster.master = None)
            .check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn dedicated_masters_beside_others_are_an_information() {
        let nodes = [named("m", 3, &["master"]), vec![data_node("d-1")]];
        let outcome = cluster(nodes)
            .with(|cluster| cluster.master = Some("id-m-1".to_owned()))
            .check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.remedy[0].text.contains("from d-1"));
    }

    #[test]
    fn less_than_a_majority_is_an_error_on_6_8() {
        let with = |quorum: Option<&str>, nodes: usize| {
            let mut cluster = TestCluster::new().version("6.8.23").data_nodes(nodes);
            if let Some(quorum) = quorum {
                cluster = cluster.setting(SettingOrigin::NodeFile, QUORUM_KEY, quorum);
            }
            cluster.check(&RULE)
        };
        for (quorum, nodes) in [(Some("1"), 3), (None, 2), (Some("-1"), 3), (Some("2"), 4)] {
            let outcome = with(quorum, nodes);
            assert_well_formed(&outcome);
            assert_eq!(
                only(&outcome).severity,
                Severity::Error,
                "{quorum:?} {nodes}"
            );
        }
        for (quorum, nodes) in [(Some("2"), 3), (Some("2"), 2), (None, 1), (Some("3"), 4)] {
            assert_eq!(
                with(quorum, nodes),
                Outcome::default(),
                "{quorum:?} {nodes}"
            );
        }
        let later = TestCluster::new().version("7.0.0").check(&RULE);
        assert_eq!(later, Outcome::default());
    }

    #[test]
    fn missing_answers_are_skipped() {
        for cluster in [
            TestCluster::new().with(|cluster| cluster.nodes = None),
            TestCluster::new()
                .version("6.8.23")
                .with(|cluster| cluster.settings = None),
        ] {
            let outcome = cluster.check(&RULE);
            assert_well_formed(&outcome);
            assert!(outcome.findings.is_empty());
            assert_eq!(outcome.skipped.len(), 1);
        }
    }
}
