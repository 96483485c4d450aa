//! # ES013: shards are not where the desired balance wants them
//!
//! ## What it finds
//! Elasticsearch 8.6 and later computes where each shard should be, the desired balance, and moves
//! shards there step by step. It finds a computation that never finishes, and many shards that
//! are on the wrong nodes while nothing moves.
//!
//! ## Why it hurts
//! Without a result, shards move towards plans that are out of date, a processor of the master is busy
//! all the time, and up to 8.16 the shards of new indices wait. Shards that stay where they should not
//! be leave nodes with more load, or a fuller disk, than others.
//!
//! ## Evidence
//! How many computations were asked for, ended and converged since the master started, how long they
//! took, and how many started copies are not on a node that is desired (`GET _internal/desired_balance`).
//!
//! ## Remedy
//! For a computation without end, a higher `cluster.routing.allocation.balance.threshold`, a fresh start
//! of the computation, 8.18 or later, and fewer shards. For shards that do not move, what forbids it:
//! settings of allocation and rebalancing, a `cluster_concurrent_rebalance` of 0 among them, and what `_cluster/allocation/explain` says of one of them.
//!
//! ## Risk
//! A fresh start forgets what was planned: other shards may move.
//!
//! ## When it is silent
//! While shards move or recover, since 10 % of many shards take long. Below 10 % (the setting
//! `cluster.routing.allocation.desired_balance.undesired_allocations.threshold`), and below three
//! copies a data node: from there on the server warns in its own log, but also while all is well. With
//! one computation that converged, with fewer than five that ended, and in less than a minute of
//! computing. It needs the cluster privilege `manage`; OpenSearch has no desired balance.
//!
//! ## References
//! - Elasticsearch reference: troubleshooting an unbalanced cluster
//! - Elasticsearch issue 128021 (does not converge with many shards), pull requests 91343 (desired
//!   balance, 8.6), 101426 (counts of undesired copies, 8.12) and 115511 (new indices wait 1 s, 8.17)

use crate::cluster::{ClusterContext, remedies};
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use facts::cluster::{DesiredBalance, DesiredCopies, HealthStatus, ShardCounts};
use facts::{Evidence, Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "ES013",
    title: "shards are not where the desired balance wants them",
    source: include_str!("es013.rs"),
    check: Check::Cluster(check),
};

/// Computations that ended without a result, from which it is no coincidence: a change of the cluster
/// while one runs ends it.
const EXECUTED_MIN: u64 = 5;
/// Time spent on them.
const COMPUTATION_MIN_MS: u64 = 60_000;
/// The server's own limits (`DesiredBalanceReconciler`).
const UNDESIRED_SHARE: f64 = 0.1;
const UNDESIRED_PER_NODE: u64 = 2;
const SHARE_KEY: &str =
    "cluster.routing.allocation.desired_balance.undesired_allocations.threshold";
/// A setting that can keep shards where they are.
struct Brake {
    key: &'static str,
    /// A value at which it does not.
    free: &'static str,
    holds: fn(&str) -> bool,
}
/// A computation under such a setting plans no moves, but keeps those that were planned before.
const BRAKES: &[Brake] = &[
    Brake {
        key: "cluster.routing.allocation.enable",
        free: "all",
        holds: |value| value != "all",
    },
    Brake {
        key: "cluster.routing.rebalance.enable",
        free: "all",
        holds: |value| value != "all",
    },
    Brake {
        key: "cluster.routing.allocation.cluster_concurrent_rebalance",
        free: "2",
        holds: |value| value == "0",
    },
];
const ALLOW_KEY: &str = "cluster.routing.allocation.allow_rebalance";

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    if !cx.is_elasticsearch_from(8, 6) {
        return;
    }
    let balance = cx.cluster.desired_balance.as_ref();
    let what = "its desired balance";
    let Some(balance) = cx.or_skip(balance, &RULE, what, "/_internal/desired_balance", out) else {
        return;
    };
    if is_endless(balance) {
        out.findings.push(endless(cx, balance));
    }
    let (Some(copies), Some(shards)) = (balance.copies, &cx.cluster.shards) else {
        let why = "how many shards are elsewhere, or whether any moves, was not told";
        let needs = "answers to GET /_internal/desired_balance and /_cluster/state";
        out.skip(RULE.id, why, Some(needs));
        return;
    };
    if shards.relocating == 0 && shards.initializing == 0 && is_far(cx, copies) {
        out.findings.push(far(cx, balance, copies, shards));
    }
}

/// Whether computations end only because newer ones are asked for.
fn is_endless(balance: &DesiredBalance) -> bool {
    balance.converged == 0
        && balance.executed >= EXECUTED_MIN
        && balance.computation_ms >= COMPUTATION_MIN_MS
}

/// Whether the server itself would warn of so many undesired copies.
fn is_far(cx: &ClusterContext<'_>, copies: DesiredCopies) -> bool {
    let nodes = cx.cluster.data_nodes().count() as u64;
    let share = cx
        .setting_text(SHARE_KEY)
        .and_then(|text| text.parse::<f64>().ok())
        .unwrap_or(UNDESIRED_SHARE);
    #[expect(clippy::cast_precision_loss, reason = "compared with a share")]
    let (undesired, started) = (copies.undesired as f64, copies.started as f64);
    undesired > share * started && copies.undesired > UNDESIRED_PER_NODE.saturating_mul(nodes)
}

fn endless(cx: &ClusterContext<'_>, balance: &DesiredBalance) -> Finding {
    let title = "the desired balance does not converge";
    let mut finding = cx.about_cluster(&RULE, Severity::Warning, title);
    finding.why = format!(
        "The master computes where shards should be, and begins again before it has found that: {} \
         ended, none with a result. Shards move towards interim plans, and a processor is busy all \
         the time.",
        units::count(balance.executed, "computation")
    );
    if !cx.is_elasticsearch_from(8, 17) {
        finding
            .why
            .push_str(" Before 8.17 the shards of a new index also wait for the result.");
    }
    finding.evidence.extend(computations(balance));
    remedies::desired_balance(cx, &mut finding.remedy);
    finding.add_remedy(Remedy::advice(
        "Reduce the number of shards, and change the cluster less often: each change of the routing \
         table starts the computation again.",
    ));
    finding
}

fn far(
    cx: &ClusterContext<'_>,
    balance: &DesiredBalance,
    copies: DesiredCopies,
    shards: &ShardCounts,
) -> Finding {
    let title = format!(
        "{} of {} shards should be on other nodes, and none moves",
        copies.undesired, copies.started
    );
    let mut finding = cx.about_cluster(&RULE, Severity::Warning, title);
    // Two findings of this rule can be told apart.
    finding.subject.push_str(": shards");
    finding.why.push_str(
        "The master knows where they should be, but does not move them: a setting or a decider \
         forbids it. Until then some nodes carry more than others.",
    );
    finding.evidence.extend(computations(balance));
    let source = "GET /_cluster/state/routing_table";
    finding.add_evidence(
        source,
        format!(
            "{} relocating, {} initializing, {} unassigned",
            shards.relocating, shards.initializing, shards.unassigned
        ),
    );
    for &Brake { key, free, holds } in BRAKES {
        if !cx.setting_text(key).is_some_and(|value| holds(&value)) {
            continue;
        }
        finding.evidence.push(cx.setting_evidence(key, free));
        finding.add_remedy(
            Remedy::command(
                "Allow it again, if nothing is being maintained.",
                cx.put_setting(key, &format!("\"{free}\"")),
            )
            .risk("Shards begin to move, two at a time unless set otherwise."),
        );
    }
    let is_green = cx
        .cluster
        .health
        .as_ref()
        .is_none_or(|health| health.status == HealthStatus::Green);
    if shards.unassigned > 0 || !is_green {
        let setting = cx.setting_evidence(ALLOW_KEY, "the version's default");
        finding.evidence.push(setting);
        finding.add_remedy(Remedy::advice(
            "Have all copies assigned first: unless cluster.routing.allocation.allow_rebalance is \
             always, shards are not moved for better balance before that.",
        ));
    }
    finding.add_remedy(Remedy::advice(
        "Ask what keeps one of them: GET /_cat/shards names shards on the node with the most, and \
         POST /_cluster/allocation/explain with index, shard and primary says which decider refuses \
         each other node (disks above the watermark, filters, awareness, too many on a node).",
    ));
    finding
}

fn computations(balance: &DesiredBalance) -> Vec<Evidence> {
    let source = "GET /_internal/desired_balance";
    #[expect(clippy::cast_precision_loss, reason = "shown in whole seconds")]
    let seconds = balance.computation_ms as f64 / 1000.0;
    let mut all = vec![Evidence::new(
        format!("{source}: stats"),
        format!(
            "{} submitted, {} ended, {} converged, {} of computing{}",
            units::count(balance.submitted, "computation"),
            balance.executed,
            balance.converged,
            units::seconds(seconds),
            if balance.computing { ", one runs" } else { "" }
        ),
    )];
    if let Some(copies) = balance.copies {
        all.push(Evidence::new(
            format!("{source}: not on a desired node"),
            format!("{} of {} started copies", copies.undesired, copies.started),
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;
    use facts::cluster::SettingOrigin;

    fn balance(started: u64, undesired: u64) -> DesiredBalance {
        DesiredBalance {
            computing: false,
            submitted: 20,
            executed: 20,
            converged: 20,
            computation_ms: 400,
            copies: Some(DesiredCopies { started, undesired }),
        }
    }

    /// Three data nodes with 300 copies.
    fn cluster(version: &str, balance: DesiredBalance) -> TestCluster {
        TestCluster::new()
            .version(version)
            .with(|cluster| cluster.desired_balance = Some(balance))
    }

    fn check_of(cluster: TestCluster) -> Outcome {
        let outcome = cluster.check(&RULE);
        assert_well_formed(&outcome);
        outcome
    }

    fn ways_out(finding: &Finding) -> String {
        let remedies = finding.remedy.iter();
        let texts = remedies.flat_map(|remedy| [Some(&remedy.text), remedy.command.as_ref()]);
        texts
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn many_shards_elsewhere_are_found_where_nothing_moves() {
        let outcome = check_of(cluster("8.15.0", balance(300, 31)));
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "31 of 300 shards should be on other nodes, and none moves"
        );
        assert!(ways_out(finding).contains("allocation/explain"));
        // 10 %; two for each of three nodes; something moves.
        for silent in [balance(300, 30), balance(20, 6), balance(300, 0)] {
            assert_eq!(check_of(cluster("8.15.0", silent)), Outcome::default());
        }
        assert_eq!(
            check_of(cluster("8.15.0", balance(20, 7))).findings.len(),
            1
        );
        for moves in [
            |shards: &mut ShardCounts| shards.relocating = 1,
            |shards: &mut ShardCounts| shards.initializing = 1,
        ] {
            let moving = cluster("8.15.0", balance(300, 200))
                .with(|cluster| moves(cluster.shards.as_mut().expect("shards")));
            assert_eq!(check_of(moving), Outcome::default());
        }
        // The limit may be set.
        let set = cluster("8.15.0", balance(300, 200)).setting(
            SettingOrigin::Persistent,
            SHARE_KEY,
            "0.8",
        );
        assert_eq!(check_of(set), Outcome::default());
    }

    #[test]
    fn what_forbids_the_moves_is_named() {
        let cures_of = |key, value| {
            let stopped =
                cluster("8.15.0", balance(300, 200)).setting(SettingOrigin::Transient, key, value);
            ways_out(only(&check_of(stopped)))
        };
        for (key, value) in [
            ("cluster.routing.rebalance.enable", "none"),
            (
                "cluster.routing.allocation.cluster_concurrent_rebalance",
                "0",
            ),
        ] {
            let cures = cures_of(key, value);
            assert!(
                cures.contains("\"transient\"") && cures.contains(key),
                "{cures}"
            );
            assert!(!cures.contains("allow_rebalance"), "{cures}");
        }
        let key = "cluster.routing.allocation.cluster_concurrent_rebalance";
        assert!(!cures_of(key, "4").contains(key));
        let unassigned = cluster("8.15.0", balance(300, 200)).with(|cluster| {
            if let Some(shards) = &mut cluster.shards {
                shards.unassigned = 5;
            }
        });
        assert!(ways_out(only(&check_of(unassigned))).contains("allow_rebalance"));
    }

    #[test]
    fn a_balance_that_is_never_found() {
        let never = DesiredBalance {
            computing: true,
            submitted: 9_000,
            executed: 120,
            converged: 0,
            computation_ms: 3_600_000,
            ..balance(300, 10)
        };
        let outcome = check_of(cluster("8.15.0", never.clone()));
        let finding = only(&outcome);
        assert_eq!(finding.title, "the desired balance does not converge");
        assert!(
            finding.why.contains("120 computations ended"),
            "{}",
            finding.why
        );
        assert!(finding.why.contains("Before 8.17"), "{}", finding.why);
        let cures = ways_out(finding);
        for cure in ["balance.threshold", "DELETE", "8.18"] {
            assert!(cures.contains(cure), "{cure}: {cures}");
        }
        let outcome = check_of(cluster("9.2.0", never.clone()));
        let cures = ways_out(only(&outcome));
        assert!(
            !cures.contains("8.18") && cures.contains("DELETE"),
            "{cures}"
        );
        for fine in [
            DesiredBalance {
                converged: 1,
                ..never.clone()
            },
            DesiredBalance {
                executed: 4,
                ..never.clone()
            },
            DesiredBalance {
                computation_ms: 59_999,
                ..never.clone()
            },
        ] {
            assert_eq!(check_of(cluster("8.15.0", fine)), Outcome::default());
        }
        // Both at once.
        let both = DesiredBalance {
            copies: balance(300, 200).copies,
            ..never
        };
        assert_eq!(check_of(cluster("8.15.0", both)).findings.len(), 2);
    }

    #[test]
    fn unknown_is_skipped_and_others_have_none() {
        let unknown = TestCluster::new().version("8.15.0");
        assert_eq!(check_of(unknown).skipped.len(), 1);
        let uncounted = DesiredBalance {
            copies: None,
            ..balance(0, 0)
        };
        assert_eq!(check_of(cluster("8.8.0", uncounted)).skipped.len(), 1);
        for other in [
            TestCluster::new().version("7.17.28"),
            TestCluster::new().version("8.5.3"),
            TestCluster::new().opensearch("2.19.1"),
        ] {
            assert_eq!(check_of(other), Outcome::default());
        }
    }
}
