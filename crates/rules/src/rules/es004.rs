//! # ES004: relocating shards are not counted in disk usage
//!
//! ## What it finds
//! `cluster.routing.allocation.disk.include_relocations: false`.
//!
//! ## Why it hurts
//! The disk decider then judges a node by what lies on it now, not by what is on its way to it. The
//! master may send several shards to one node, cross its high watermark, and move them away again: with
//! little free space the same relocations repeat. The setting is a remedy against the scan of
//! Elasticsearch 6.8 to 7.5 (ES001) and is easily forgotten there.
//!
//! ## Evidence
//! The setting and where it is set; how many shards relocate at the moment.
//!
//! ## Remedy
//! Take it back: at once where nothing is scanned (Elasticsearch from 7.6 on, OpenSearch), after the
//! upgrade elsewhere.
//!
//! ## Risk
//! On 6.8 to 7.5 reroutes become slow again: ES001 predicts how slow.
//!
//! ## When it is silent
//! With the default, and where the setting ends a scan that ES001 would report: it says what that costs.
//! Elasticsearch 8.0 removed the setting. It is a warning where the setting has no use, and a
//! note on the versions where it saves a short scan.
//!
//! ## References
//! - Elasticsearch 7.5, breaking changes: the setting is deprecated
//! - Elasticsearch pull requests 47443 (deprecation), 47717 (removal in 8.0) and 46079 (the overshoot
//!   of watermarks)

use crate::cluster::ClusterContext;
use crate::cluster::cost::{self, Model, describe_accuracy, scanning};
use crate::finding;
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::rules::es001::{INCLUDE_RELOCATIONS, is_worth_fixing};
use facts::{Finding, Remedy};

pub(crate) const RULE: Rule = Rule {
    id: "ES004",
    title: "relocating shards are not counted in disk usage",
    source: include_str!("es004.rs"),
    check: Check::Cluster(check),
};

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let Some(settings) = cx.settings_or_skip(&RULE, out) else {
        return;
    };
    // Without the decider the setting has no effect; ES006 covers that case.
    if settings.include_relocations() || !settings.disk_threshold_enabled() {
        return;
    }
    let saves_scan = cx.elasticsearch().and_then(scanning).is_some();
    // ES001 recommends the setting where it ends a scan that would take so long.
    if Model::of(cx).as_ref().is_some_and(is_worth_fixing) {
        return;
    }
    let severity = finding::warning_if(!saves_scan);
    let mut finding = cx.about_cluster(&RULE, severity, "disk checks ignore relocating shards");
    finding.why = format!(
        "The master looks at what is on a node's disks now, not at what is on its way there. It \
         may send too much to one node, cross the high watermark and move shards away again, so \
         that relocations repeat.{}{}",
        if saves_scan {
            " On this version the setting avoids the scan of ES001, at that price."
        } else {
            " The setting avoided a scan that this version no longer makes; it has no benefit here."
        },
        if cx.is_single_data_node_exempt() {
            " With one data node it has no effect yet."
        } else {
            ""
        }
    );
    let setting = cx.setting_evidence(INCLUDE_RELOCATIONS, "true");
    finding.evidence.push(setting);
    if let Some(shards) = &cx.cluster.shards {
        finding.add_evidence(
            "GET /_cluster/state/routing_table: relocating copies",
            shards.relocating,
        );
    }
    add_remedies(cx, saves_scan, &mut finding);
    out.findings.push(finding);
}

fn add_remedies(cx: &ClusterContext<'_>, saves_scan: bool, finding: &mut Finding) {
    let is_in_file = cx.is_set_in_file(INCLUDE_RELOCATIONS);
    let text = match (saves_scan, is_in_file) {
        (true, _) => "Upgrade to 7.6.0 or later, then remove the setting.",
        (false, true) => {
            "Remove it from the configuration file of each master-eligible node. Until they have \
             restarted, a persistent setting overrides it."
        }
        (false, false) => "Reset the setting.",
    };
    let value = if is_in_file { "true" } else { "null" };
    let mut remedy = Remedy::command(text, cx.put_setting(INCLUDE_RELOCATIONS, value))
        .undo(cx.put_setting(INCLUDE_RELOCATIONS, "false"));
    if saves_scan {
        remedy = remedy.risk(risk(cx));
        finding.add_remedy(remedy);
        finding.add_remedy(Remedy::advice(
            "Until then watch the disks (ES006), and watch for shards that move more than once.",
        ));
    } else {
        finding.add_remedy(remedy);
    }
}

/// Describes the cost of reverting the setting on a version that scans.
fn risk(cx: &ClusterContext<'_>) -> String {
    let Some(model) = Model::of(cx) else {
        let has_one = cx.cluster.nodes.is_some() && cx.cluster.data_nodes().count() < 2;
        let text = if has_one {
            "Before the upgrade each reroute scans all shards from the second data node on (ES001)."
        } else {
            "Before the upgrade each reroute scans all shards again (ES001)."
        };
        return text.to_owned();
    };
    let with = model.reroute();
    format!(
        "Before the upgrade each reroute scans again: predicted {} instead of {} for {}, {}.",
        cost::format_ms(with.ms),
        cost::format_ms(model.without_scan().reroute().ms),
        units::count(model.copies(), "shard"),
        describe_accuracy(&with)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;
    use facts::Severity;
    use facts::cluster::SettingOrigin;

    fn off(origin: SettingOrigin) -> TestCluster {
        TestCluster::new().setting(origin, INCLUDE_RELOCATIONS, "false")
    }

    #[test]
    fn where_nothing_is_scanned_it_is_a_warning() {
        for cluster in [
            off(SettingOrigin::Transient),
            off(SettingOrigin::Transient).version("7.6.0"),
            off(SettingOrigin::Transient).opensearch("2.19.1"),
        ] {
            let outcome = cluster.check(&RULE);
            assert_well_formed(&outcome);
            let finding = only(&outcome);
            assert_eq!(finding.severity, Severity::Warning);
            let command = finding.remedy[0].command.as_deref().expect("a command");
            assert!(command.contains("\"transient\": {"), "{command}");
            assert!(command.contains("include_relocations\": null"), "{command}");
        }
    }

    #[test]
    fn on_a_scanning_version_it_is_a_remedy_with_a_price() {
        let scanning = |shards: u64| {
            off(SettingOrigin::Persistent)
                .version("7.4.0")
                .data_nodes(2)
                .shards(shards)
        };
        // ES001 would recommend it.
        assert_eq!(scanning(10_000).check(&RULE), Outcome::default());
        let outcome = scanning(1_000).check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        let risk = finding.remedy[0].risk.as_deref().expect("a risk");
        assert!(risk.contains(" ms instead of "), "{risk}");
    }

    #[test]
    fn with_one_data_node_it_has_no_effect_yet() {
        let why = |version: &str, nodes| {
            let cluster = off(SettingOrigin::Transient)
                .version(version)
                .data_nodes(nodes);
            let outcome = cluster.check(&RULE);
            assert_well_formed(&outcome);
            only(&outcome).why.contains("no effect yet")
        };
        assert!(why("7.4.2", 1));
        assert!(why("7.17.28", 1));
        assert!(!why("7.17.28", 2));
    }

    #[test]
    fn a_file_is_edited_and_overruled() {
        let outcome = off(SettingOrigin::NodeFile).check(&RULE);
        assert_well_formed(&outcome);
        let remedy = &only(&outcome).remedy[0];
        assert!(remedy.text.contains("configuration file"));
        let command = remedy.command.as_deref().expect("a command");
        assert!(command.contains("\"persistent\": {"), "{command}");
        assert!(command.contains("include_relocations\": true"), "{command}");
    }

    #[test]
    fn the_default_and_a_switched_off_decider_are_silent() {
        let key = "cluster.routing.allocation.disk.threshold_enabled";
        for cluster in [
            TestCluster::new(),
            TestCluster::new().setting(SettingOrigin::Default, INCLUDE_RELOCATIONS, "true"),
            off(SettingOrigin::Persistent).setting(SettingOrigin::Persistent, key, "false"),
        ] {
            assert_eq!(cluster.check(&RULE), Outcome::default());
        }
    }

    #[test]
    fn unknown_settings_are_skipped() {
        let outcome = TestCluster::new()
            .with(|cluster| cluster.settings = None)
            .check(&RULE);
        assert_well_formed(&outcome);
        assert!(outcome.findings.is_empty());
        assert_eq!(outcome.skipped.len(), 1);
    }
}
