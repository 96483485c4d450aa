//! # ES001: every reroute scans all shards
//!
//! ## What it finds
//! Elasticsearch 6.8 to 7.5, whose master, at each reroute and for every shard, walks all shards on that
//! shard's node to find the relocating ones: n^2/m steps for n shards on m data nodes.
//!
//! ## Why it hurts
//! Creating, deleting, opening and closing an index, a node that comes or goes, and shards that start
//! all wait for reroutes, and the master makes one change at a time. Measured with the servers' own
//! code, milliseconds of one reroute that finds nothing to do, 2 data nodes:
//!
//! | | 2,500 shards | 5,000 | 10,000 | 25,000 |
//! |---|---|---|---|---|
//! | 6.8.23 | 29 | 229 | 1,074 | 8,601 |
//! | 7.1.1 | 22 | 149 | 754 | 4,833 |
//! | 7.4.0 | 34 | 225 | 1,473 | 11,395 |
//! | 7.6.0 | 1.2 | 2.7 | 11 | 37 |
//! | 7.17.28 | 1.5 | 3.5 | 14 | 41 |
//!
//! The finding predicts, at this cluster's size, the time of a reroute and of creating an index with this
//! version's defaults (6.8: 5 primaries, later 1; 1 replica), from the fewest to the most reroutes that it
//! takes, and the same for each remedy. The model is that of `trimtab shards cost` (docs/shards.md), fitted
//! to measurements on one machine; the finding states its error on held-out sizes.
//!
//! ## Evidence
//! The master's version, the number of assigned copies in the routing table, the number of data nodes,
//! and `cluster.routing.allocation.disk.include_relocations`.
//!
//! ## Remedy
//! At once: `include_relocations: false`, which ends the scan and is one setting. If its risk is too
//! high: `trimtab livefix`, an agent that gives the running version the lists of 7.6; each
//! master-eligible node is restarted once. Then upgrade to 7.6.0 or later, and reset or remove it. Or
//! fewer shards.
//!
//! ## Risk
//! Without `include_relocations` the master does not count what is on its way to a node: it may send
//! too much there, and move it away again when the disk is above its watermark.
//!
//! ## When it is silent
//! For 7.6 and later and for OpenSearch, which was forked from 7.10; with one data node, or where the
//! disk decider or `include_relocations` is switched off (ES004): nothing is scanned then. Also where the
//! elected master runs with the live fix; a note names the nodes that would scan if elected. Versions
//! before 6.8 were not measured and are reported as skipped. It is an error from 5 seconds on, a
//! warning from 0.2 seconds on, a note from 20 milliseconds on, and silent below: nobody notices
//! such a scan, and the setting is not worth its price (ES004).
//!
//! ## References
//! - Elasticsearch pull request 47817: the fix, in 7.6.0; issue 46941: the same stack at 60,000 shards
//! - Elasticsearch 7.5: `cluster.routing.allocation.disk.include_relocations` is deprecated

use crate::cluster::ClusterContext;
use crate::cluster::cost::{self, Model, describe_accuracy, format_ms_range, scanning};
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use facts::cluster::ShardCounts;
use facts::{Remedy, Severity};
use shards::cost::{IndexShape, OperationCost};
use shards::profile::{Profile, V6_8, V7_6, V7_17};

pub(crate) const RULE: Rule = Rule {
    id: "ES001",
    title: "every reroute scans all shards",
    source: include_str!("es001.rs"),
    check: Check::Cluster(check),
};

/// The setting that makes the scan necessary although it does not help.
pub(crate) const INCLUDE_RELOCATIONS: &str = "cluster.routing.allocation.disk.include_relocations";

/// Threshold for errors: several reroutes per request then approach the clients' timeout of 30
/// seconds.
const ERROR_MS: f64 = 5_000.0;
/// Threshold for warnings: users notice this.
const WARNING_MS: f64 = 200.0;
/// From this time of a reroute on, the setting that ends the scan is worth its price. ES004 is silent then.
const WORTH_FIXING_MS: f64 = 20.0;

/// Whether a reroute that scans takes so long that the scan should be switched off.
pub(crate) fn is_worth_fixing(scanning: &Model) -> bool {
    scanning.reroute().ms >= WORTH_FIXING_MS
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
        out.skip(RULE.id, why, None);
        return;
    }
    let Some(profile) = scanning(version) else {
        return;
    };
    // Reporting one missing answer is enough.
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
    let Some(model) = Model::of(cx).filter(is_worth_fixing) else {
        return;
    };
    let mut eligible = cx.cluster.master_eligible_nodes();
    if eligible.any(|node| node.is_master_of(cx.cluster) && node.has_live_fix()) {
        report_others(cx, out);
    } else {
        report(cx, profile, shards, &model, data_nodes, out);
    }
}

/// The master has the live fix: those that may be elected after it should have it as well.
fn report_others(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let others: Vec<String> = cx
        .cluster
        .master_eligible_nodes()
        .filter(|node| !node.voting_only && !node.has_live_fix())
        // An upgrade may be under way.
        .filter(|node| {
            node.version
                .as_ref()
                .is_none_or(|version| scanning(version).is_some())
        })
        .map(|node| printable(&node.name))
        .collect();
    if others.is_empty() {
        return;
    }
    let mut finding = cx.about_cluster(
        &RULE,
        Severity::Info,
        format!(
            "the live fix is missing on {}",
            units::count(others.len() as u64, "master-eligible node")
        ),
    );
    finding.why = format!(
        "The elected master runs with the live fix, so that its reroutes do not scan all shards. As soon as a node \
         without it is elected, they do: {}.",
        units::list(&others)
    );
    finding.add_evidence(
        "GET /_nodes: jvm.input_arguments without the live fix",
        units::list(&others),
    );
    finding.add_remedy(live_fix(None));
    out.findings.push(finding);
}

fn report(
    cx: &ClusterContext<'_>,
    profile: &'static Profile,
    shards: &ShardCounts,
    model: &Model,
    data_nodes: u64,
    out: &mut Outcome,
) {
    let assigned = cost::assigned(shards);
    let reroute = model.reroute();
    let severity = match reroute.ms {
        ERROR_MS.. => Severity::Error,
        WARNING_MS.. => Severity::Warning,
        _ => Severity::Info,
    };
    let mut finding = cx.about_cluster(
        &RULE,
        severity,
        format!(
            "every reroute scans all shards: about {} of the master's time",
            cost::format_ms(reroute.ms)
        ),
    );
    let creation = model.creation();
    let index = model.new_index();
    finding.why = format!(
        "For every shard, {} walks all shards on that shard's node to find the relocating ones. \
         For {} on {} a reroute is predicted to take {}, and creating an index of {}, in {}, {}. \
         Index changes, nodes that join or leave and shards that start all wait for reroutes, one \
         after the other. The model is fitted to {}'s own code; in cross-validation its \
         predictions were {}{}. All times scale with CPU speed.",
        cx.server(),
        units::count(assigned, "assigned shard"),
        units::count(data_nodes, "data node"),
        cost::format_ms(reroute.ms),
        describe_index(index),
        reroutes(&creation),
        format_ms_range(creation.least.ms, creation.most.ms),
        model.measured_version(),
        describe_accuracy(&reroute),
        if reroute.extrapolated {
            "; this cluster is outside the measured range, where they may be further off"
        } else {
            ""
        },
    );
    finding.add_evidence(
        "GET /_cluster/state/routing_table: copies assigned to a node",
        assigned,
    );
    finding.add_evidence("GET /_nodes: data nodes", data_nodes);
    let setting = cx.setting_evidence(INCLUDE_RELOCATIONS, "true");
    finding.evidence.push(setting);
    finding.remedy = remedies(cx, profile, shards, *model);
    out.findings.push(finding);
}

/// Formats `1 primary and 1 replica`, `5 primaries with 1 replica each`.
fn describe_index(index: IndexShape) -> String {
    let replicas = units::count(index.replicas, "replica");
    let primaries = units::count::counted(index.primaries, "primary", "primaries");
    if index.primaries == 1 {
        format!("{primaries} and {replicas}")
    } else {
        format!("{primaries} with {replicas} each")
    }
}

/// Formats `3 reroutes`, `4 to 11 reroutes`.
fn reroutes(creation: &OperationCost) -> String {
    let (least, most) = (creation.least.reroutes, creation.most.reroutes);
    if least == most {
        units::count(least, "reroute")
    } else {
        format!("{least} to {}", units::count(most, "reroute"))
    }
}

/// Formats the effect of a remedy: `100 ms a reroute, 250 ms to create that index`.
fn brings(model: Model) -> String {
    times(model, &model.creation())
}

fn times(model: Model, creation: &OperationCost) -> String {
    format!(
        "{} a reroute, {} to create that index",
        cost::format_ms(model.reroute().ms),
        format_ms_range(creation.least.ms, creation.most.ms)
    )
}

fn remedies(
    cx: &ClusterContext<'_>,
    profile: &Profile,
    shards: &ShardCounts,
    model: Model,
) -> Vec<Remedy> {
    let upgrade = Remedy::advice(format!(
        "Upgrade to 7.6.0 or later (7.17 is the last 7.x): it keeps lists of the relocating shards \
         instead of searching for them. Predicted on 7.6: {}; on 7.17: {}.",
        brings(model.on(&V7_6)),
        brings(model.on(&V7_17))
    ))
    .risk(if *profile == V6_8 {
        "From 6.8 this is a new major version: read its breaking changes first, and reindex \
         indices made by 5.x before."
    } else {
        "Take a snapshot first: there is no way back from an upgrade."
    });
    vec![
        without_relocations(cx, model),
        live_fix(Some(model)),
        upgrade,
        fewer_shards(shards, model),
    ]
}

fn without_relocations(cx: &ClusterContext<'_>, model: Model) -> Remedy {
    Remedy::command(
        format!(
            "At once, until you can upgrade: disable the check that triggers the scan. Predicted: {}.",
            brings(model.without_scan())
        ),
        cx.put_setting(INCLUDE_RELOCATIONS, "false"),
    )
    .risk(
        "The master no longer counts shards on their way to a node: it may send too many there, \
         cross the high watermark and move them away again, so that relocations repeat. After the \
         upgrade ES004 reminds you to reset it.",
    )
    .undo(cx.put_setting(INCLUDE_RELOCATIONS, "null"))
}

/// The remedy for who cannot take the setting's risk, nor upgrade yet.
fn live_fix(model: Option<Model>) -> Remedy {
    let gain = model.map_or(String::new(), |model| {
        let with_fix = times(model.on(&V7_6), &model.creation_with_fix());
        format!(" Predicted: {with_fix}.")
    });
    Remedy::command(
        format!(
            "If you cannot upgrade yet: install the live fix, an agent with which this version keeps lists as 7.6 does, \
             on each master-eligible node, then restart them one after the other, the elected master last.{gain}"
        ),
        "sudo trimtab livefix install --config /etc/elasticsearch --yes",
    )
    .risk(
        "It changes a class of the running server. It leaves versions that it does not know unchanged, and decides \
         nothing itself; docs/livefix.md says what was tested.",
    )
    .undo("sudo trimtab livefix uninstall --config /etc/elasticsearch --yes")
}

fn fewer_shards(shards: &ShardCounts, model: Model) -> Remedy {
    let assigned = cost::assigned(shards);
    let closed = shards.of_closed_indices.unwrap_or(0);
    let (which, left) = if closed > 0 {
        (
            format!(
                "without the {} of closed indices (ES002)",
                units::count::counted(closed, "copy", "copies")
            ),
            assigned.saturating_sub(closed),
        )
    } else {
        ("with half of them".to_owned(), assigned / 2)
    };
    Remedy::advice(format!(
        "Reduce the number of shards: with half as many, the scan costs a quarter. Predicted \
         {which}: {}. \
         Delete or shrink old indices, and give new ones fewer shards.",
        brings(model.with_copies(left))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed, node};
    use crate::test_host::only;
    use facts::cluster::SettingOrigin;

    fn cluster(version: &str, shards: u64, data_nodes: usize) -> TestCluster {
        TestCluster::new()
            .version(version)
            .data_nodes(data_nodes)
            .shards(shards)
    }

    #[test]
    fn the_prediction_matches_the_measurement() {
        let outcome = cluster("7.4.0", 25_000, 2).check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.subject, "cluster logs");
        // The measurement was between 7 and 11 s.
        let seconds: f64 = finding
            .title
            .strip_prefix("every reroute scans all shards: about ")
            .and_then(|rest| rest.strip_suffix(" s of the master's time"))
            .and_then(|number| number.parse().ok())
            .expect("seconds");
        assert!((5.0..=15.0).contains(&seconds), "{}", finding.title);
        let why = &finding.why;
        assert!(
            why.contains("creating an index of 1 primary and 1 replica, in 3 reroutes, "),
            "{why}"
        );
        assert!(
            why.contains("its predictions were within a factor of "),
            "{why}"
        );
        assert!(!why.contains("is outside the measured range"), "{why}");
        let old = cluster("6.8.23", 25_000, 2).check(&RULE);
        let why = &only(&old).why;
        assert!(
            why.contains("5 primaries with 1 replica each, in 4 to 11 reroutes"),
            "{why}"
        );
    }

    #[test]
    fn the_remedies_are_ranked() {
        let outcome = cluster("7.4.0", 25_000, 2).check(&RULE);
        let remedy = &only(&outcome).remedy;
        let begins: Vec<&str> = remedy
            .iter()
            .map(|remedy| remedy.text.split(' ').next().unwrap_or_default())
            .collect();
        assert_eq!(begins, ["At", "If", "Upgrade", "Reduce"]);
        for (at, what) in [
            (0, "Predicted: "),
            (1, "Predicted: "),
            (2, "Predicted on 7.6: "),
            (2, "; on 7.17: "),
            (3, "Predicted with half of them: "),
        ] {
            let text = &remedy[at].text;
            let told = text.split(what).nth(1).expect(what);
            assert!(told.starts_with(|c: char| c.is_ascii_digit()), "{text}");
        }
        assert_eq!(remedy[2].text.matches("to create that index").count(), 2);
        let risk = remedy[0].risk.as_deref().expect("a risk");
        assert!(risk.contains("relocations repeat"), "{risk}");
        let command = remedy[0].command.as_deref().expect("a command");
        assert!(
            command.contains("include_relocations\": false"),
            "{command}"
        );
    }

    #[test]
    fn with_the_live_fix_on_the_master_only_the_others_are_named() {
        let with_fix = |names: &'static [&'static str]| {
            let fixed = move |cluster: &mut facts::Cluster| {
                let nodes = cluster.nodes.iter_mut().flatten();
                for node in nodes.filter(|node| names.contains(&node.name.as_str())) {
                    node.java_agents = vec![facts::cluster::LIVE_FIX_JAR.to_owned()];
                }
            };
            let cluster = TestCluster::new().version("7.4.0").shards(25_000);
            cluster.with(fixed).check(&RULE)
        };
        assert_eq!(with_fix(&["es-1", "es-2", "es-3"]), Outcome::default());
        let outcome = with_fix(&["es-1"]);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert!(
            finding.why.ends_with("they do: es-2 and es-3."),
            "{}",
            finding.why
        );
        // The master scans, whatever the others have.
        assert_eq!(only(&with_fix(&["es-2", "es-3"])).severity, Severity::Error);
    }

    #[test]
    fn a_scan_that_nobody_notices_is_silent() {
        assert_eq!(cluster("7.4.0", 300, 3).check(&RULE), Outcome::default());
    }

    #[test]
    fn each_version_has_its_own_measurement_and_severity() {
        for (version, shards, nodes, measured, severity) in [
            ("6.8.0", 25_000, 2, "6.8.23", Severity::Error),
            ("7.1.1", 10_000, 2, "7.1.1", Severity::Warning),
            ("7.3.2", 10_000, 2, "7.4.0", Severity::Warning),
            ("7.5.2", 2_500, 2, "7.4.0", Severity::Info),
            // More nodes mean fewer copies to scan per shard.
            ("7.4.0", 25_000, 12, "7.4.0", Severity::Warning),
        ] {
            let outcome = cluster(version, shards, nodes).check(&RULE);
            assert_well_formed(&outcome);
            let finding = only(&outcome);
            assert!(
                finding
                    .why
                    .contains(&format!("fitted to {measured}'s own code"))
            );
            assert_eq!(finding.severity, severity, "{version} {}", finding.title);
        }
    }

    #[test]
    fn extrapolation_is_stated() {
        let outcome = cluster("7.4.0", 60_000, 10).check(&RULE);
        assert!(only(&outcome).why.contains("is outside the measured range"));
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
    fn missing_answers_are_skipped() {
        let without = |forget: fn(&mut facts::Cluster)| {
            let outcome = cluster("7.4.0", 25_000, 2).with(forget).check(&RULE);
            assert_well_formed(&outcome);
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
