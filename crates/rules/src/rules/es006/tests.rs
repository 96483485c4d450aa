use super::*;
use crate::test_cluster::{TestCluster, assert_well_formed, data_node, disk, node};
use crate::test_host::only;

const TIB: u64 = 1 << 40;
const GIB: u64 = 1 << 30;

/// Returns es-1 with this much free disk space, and es-2 with plenty.
fn cluster(total_bytes: u64, available_bytes: u64) -> TestCluster {
    TestCluster::new().nodes([
        disk(data_node("es-1"), total_bytes, available_bytes),
        data_node("es-2"),
    ])
}

#[test]
fn each_watermark_has_its_severity() {
    for (percent_left, severity, title) in [
        (4, Severity::Error, "above the flood-stage watermark: "),
        (9, Severity::Warning, "above the high watermark: "),
        (14, Severity::Warning, "above the low watermark: "),
        (17, Severity::Info, "20.5 GiB from the low watermark: "),
    ] {
        let outcome = cluster(TIB, TIB / 100 * percent_left).check(&RULE);
        assert_well_formed(&outcome);
        let finding = only(&outcome);
        assert_eq!(finding.severity, severity, "{percent_left}");
        assert!(finding.title.starts_with(title), "{}", finding.title);
        assert_eq!(finding.subject, "node es-1");
    }
    assert_eq!(
        cluster(TIB, TIB / 100 * 21).check(&RULE),
        Outcome::default()
    );
}

#[test]
fn bytes_are_what_should_stay_free() {
    let with_bytes = |available_bytes| {
        let mut cluster = cluster(TIB, available_bytes);
        for (level, value) in LEVELS.into_iter().zip(["100gb", "50gb", "10gb"]) {
            cluster = cluster.setting(SettingOrigin::Persistent, level.key(), value);
        }
        cluster.check(&RULE)
    };
    let outcome = with_bytes(49 * GIB);
    assert_well_formed(&outcome);
    let finding = only(&outcome);
    assert_eq!(
        finding.title,
        "above the high watermark: 49 GiB of 1 TiB left"
    );
    assert!(
        finding
            .why
            .ends_with("50 GiB should stay free; to get below the low watermark, 100 GiB."),
        "{}",
        finding.why
    );
    assert_eq!(only(&with_bytes(100 * GIB)).severity, Severity::Info);
    assert_eq!(with_bytes(152 * GIB), Outcome::default());
}

#[test]
fn later_versions_ask_for_200_gb_at_most() {
    let outcome = cluster(8 * TIB, 190 * GIB).version("8.11.0").check(&RULE);
    assert!(only(&outcome).title.starts_with("above the low watermark"));
    // 15 % of it would be 1.2 TiB; "near" is 5 % of the disk above 200 GiB.
    let far = 8 * TIB / 20 + 201 * GIB;
    let outcome = cluster(8 * TIB, far).version("8.11.0").check(&RULE);
    assert_eq!(outcome, Outcome::default());
    // An explicitly set percentage applies unchanged.
    let key = WatermarkLevel::Low.key();
    let outcome = cluster(8 * TIB, far)
        .version("8.11.0")
        .setting(SettingOrigin::Persistent, key, "85%")
        .check(&RULE);
    assert!(only(&outcome).title.starts_with("above the low watermark"));
    let outcome = cluster(8 * TIB, far)
        .version("8.11.0")
        .setting(SettingOrigin::Persistent, key, "85%")
        .setting(
            SettingOrigin::Persistent,
            &format!("{key}.max_headroom"),
            "100GB",
        )
        .check(&RULE);
    assert_eq!(outcome, Outcome::default());
}

#[test]
fn large_disks_get_watermarks_in_bytes() {
    let outcome = cluster(8 * TIB, TIB).version("7.17.28").check(&RULE);
    assert_well_formed(&outcome);
    let text = &only(&outcome).remedy[1].text;
    assert!(text.contains("leaves 1.2 TiB unused"), "{text}");
    let outcome = cluster(TIB, TIB / 10).version("7.17.28").check(&RULE);
    assert_eq!(only(&outcome).remedy.len(), 1);
}

#[test]
fn old_versions_keep_the_block() {
    let flooded = |version| {
        let outcome = cluster(TIB, 0).version(version).check(&RULE);
        assert_well_formed(&outcome);
        only(&outcome).remedy.len()
    };
    assert_eq!(flooded("7.3.2"), 2);
    assert_eq!(flooded("7.4.0"), 1);
}

#[test]
fn a_single_data_node_gets_an_explanation() {
    const KEY: &str = "cluster.routing.allocation.disk.watermark.enable_for_single_data_node";
    let alone = |version: &str, left: u64| {
        TestCluster::new()
            .version(version)
            .nodes([disk(data_node("es-1"), TIB, left)])
    };
    for cluster in [
        alone("7.4.2", TIB / 12),
        alone("7.17.28", TIB / 8),
        alone("7.4.2", TIB / 8).opensearch("2.19.1"),
    ] {
        let outcome = cluster.check(&RULE);
        assert_well_formed(&outcome);
        let why = &only(&outcome).why;
        assert!(why.starts_with("With one data node"), "{why}");
    }
    for cluster in [
        alone("8.11.0", TIB / 12),
        alone("7.17.28", TIB / 12).setting(SettingOrigin::NodeFile, KEY, "true"),
        alone("7.4.2", 0),
    ] {
        let outcome = cluster.check(&RULE);
        let why = &only(&outcome).why;
        assert!(!why.starts_with("With one data node"), "{why}");
    }
}

#[test]
fn the_fullest_path_counts() {
    let mut two = data_node("es-1");
    let mut second = two.data_paths[0].clone();
    second.mount = Some("/data2 (/dev/sdb)".to_owned());
    second.available_bytes = TIB / 50;
    two.data_paths.push(second);
    let outcome = TestCluster::new()
        .nodes([two, data_node("es-2")])
        .check(&RULE);
    let finding = only(&outcome);
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.evidence[0].source.contains("/data2"));
}

#[test]
fn all_nodes_full_is_stated() {
    let full = |name| disk(data_node(name), TIB, TIB / 12);
    let outcome = TestCluster::new()
        .nodes([full("es-1"), full("es-2")])
        .check(&RULE);
    assert_eq!(outcome.findings.len(), 2);
    assert!(outcome.findings[0].why.contains("nowhere to go"));
}

#[test]
fn frozen_nodes_and_masters_do_not_count() {
    let outcome = TestCluster::new()
        .nodes([
            disk(node("f-1", &["data_frozen"]), TIB, 0),
            disk(node("m-1", &["master"]), TIB, 0),
            data_node("es-1"),
        ])
        .check(&RULE);
    assert_eq!(outcome, Outcome::default());
}

#[test]
fn a_decider_that_is_off_is_a_warning() {
    let outcome = cluster(TIB, 0)
        .setting(SettingOrigin::Persistent, ENABLED_KEY, "false")
        .check(&RULE);
    assert_well_formed(&outcome);
    assert_eq!(only(&outcome).severity, Severity::Warning);
    assert_eq!(only(&outcome).subject, "cluster logs");
}

#[test]
fn missing_answers_are_skipped() {
    let mut blind = data_node("es-1");
    blind.data_paths = Vec::new();
    blind.disk_total_bytes = None;
    for cluster in [
        TestCluster::new().with(|cluster| cluster.settings = None),
        TestCluster::new().with(|cluster| cluster.nodes = None),
        TestCluster::new().nodes([blind]),
        TestCluster::new().setting(
            SettingOrigin::Persistent,
            WatermarkLevel::High.key(),
            "some",
        ),
    ] {
        let outcome = cluster.check(&RULE);
        assert_well_formed(&outcome);
        assert!(outcome.findings.is_empty());
        assert_eq!(outcome.skipped.len(), 1);
    }
}
