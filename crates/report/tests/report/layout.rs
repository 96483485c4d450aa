//! Layout of the text: what it shows, leaves out and does not repeat.

use crate::hosts::{self, Case};
use facts::host::DeviceKind;
use facts::{Finding, Remedy, Severity};
use page::Terminal;
use report::{TextOptions, json, text};
use serde_json::Value;

fn shown(case: &Case) -> String {
    text(&case.report(), &TextOptions::default())
}

#[test]
fn same_explanation_is_shown_once() {
    let mut case = hosts::many_mounts();
    case.findings = ["/vol/05", "/vol/04"]
        .map(|mount_point| Finding {
            mount_point: Some(mount_point.to_owned()),
            remedy: vec![Remedy::advice("Do this once.")],
            ..hosts::finding(
                "TRIM006",
                Severity::Warning,
                mount_point,
                "the trim job does not reach this mount",
                "A reason of some length.",
            )
        })
        .to_vec();
    let shown = shown(&case);
    assert_eq!(shown.matches("A reason of some length.").count(), 1);
    assert_eq!(shown.matches("Do this once.").count(), 1);
    assert!(shown.contains("why      as for /vol/04 above"), "{shown}");
    assert!(shown.contains("fix      as for /vol/04 above"), "{shown}");
    // Two of the 30 are drawn.
    assert!(shown.contains("28 other mounts"), "{shown}");
}

#[test]
fn most_severe_filesystem_first_and_host_last() {
    let mut case = hosts::many_mounts();
    let at = |mount_point: Option<&str>, severity, title: &str| Finding {
        mount_point: mount_point.map(str::to_owned),
        ..hosts::finding("TRIM001", severity, "x", title, "")
    };
    case.findings = vec![
        at(None, Severity::Error, "first title"),
        at(Some("/vol/01"), Severity::Info, "second title"),
        at(Some("/vol/02"), Severity::Warning, "third title"),
        at(Some("/vol/02"), Severity::Error, "fourth title"),
    ];
    let shown = shown(&case);
    let places: Vec<usize> = ["fourth", "third", "second", "first"]
        .map(|word| shown.find(&format!("{word} title")).unwrap())
        .to_vec();
    assert!(places.is_sorted(), "{shown}");
    assert!(
        shown.starts_with("2 errors, 1 warning, 1 note on files2"),
        "{shown}"
    );
}

#[test]
fn mounts_of_one_filesystem_are_grouped() {
    let mut case = hosts::crypt();
    // A bind mount, and a store on it that has no finding of its own.
    let mut bind = case.host.mounts[0].clone();
    bind.id = 99;
    bind.mount_point = "/var/lib/mongodb".to_owned();
    case.host.mounts.push(bind);
    let mut store = case.host.stores[0].clone();
    store.data_paths = vec!["/var/lib/mongodb".to_owned()];
    case.host.stores.push(store);
    let shown = shown(&case);
    assert!(shown.contains("/mnt/data, /var/lib/mongodb ──"), "{shown}");
    assert!(!shown.contains("Nothing found here."), "{shown}");
}

#[test]
fn a_store_on_no_known_mount_is_still_named() {
    let mut case = hosts::healthy();
    case.host.mounts.clear();
    let shown = shown(&case);
    assert!(shown.contains("store    OpenSearch 2.11.0, running, data in /var/lib/opensearch; on"));
}

#[test]
fn finding_about_an_unmounted_mount_point_is_shown() {
    let mut case = hosts::healthy();
    case.findings = vec![Finding {
        mount_point: Some("/gone".to_owned()),
        ..hosts::finding("TRIM006", Severity::Info, "/gone", "a title", "")
    }];
    let shown = shown(&case);
    let heading = shown
        .lines()
        .find(|line| line.starts_with("/gone ─"))
        .unwrap();
    assert!(heading.ends_with("─ not mounted"), "{shown}");
    assert!(shown.contains("a title"));
}

#[test]
fn nothing_checked_is_not_nothing_found() {
    let mut case = hosts::healthy();
    case.rules_run.clear();
    assert!(shown(&case).starts_with("Could not tell: "));
}

/// 64 drives that all differ, the last one blamed: the tree is cut but still leads to it.
#[test]
fn large_tree_is_truncated_but_keeps_the_blamed_layer() {
    let mut devices: Vec<_> = (0..64)
        .map(|index| hosts::nvme(index, &format!("Model {index}")))
        .collect();
    let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    let kind = DeviceKind::Md {
        level: Some("raid0".to_owned()),
        chunk_bytes: None,
        raid_disks: Some(64),
        array_state: None,
        sync_action: None,
    };
    let mut md = hosts::device("md0", (9, 0), kind, &[]);
    md.below = names;
    devices.push(md);
    let mounts = vec![hosts::mount(1, (9, 0), "/data", "xfs", "/dev/md0")];
    let mut case = Case::of("big", devices, mounts, Vec::new());
    case.findings = vec![Finding {
        mount_point: Some("/data".to_owned()),
        device: Some("nvme63n1".to_owned()),
        ..hosts::finding("TRIM008", Severity::Warning, "/dev/nvme63n1", "a title", "")
    }];
    let shown = shown(&case);
    // Rows 0 to 39 are md0 and 39 drives, then the blamed one: 24 of 65 are left out.
    assert!(shown.contains("... and 24 more layers"), "{shown}");
    let blamed = shown
        .lines()
        .find(|line| line.contains("nvme63n1  Model 63"));
    assert!(blamed.unwrap().ends_with("<-- TRIM008"), "{shown}");
}

#[test]
fn deep_stack_fits_a_narrow_page() {
    let mut devices: Vec<_> = (0..20_u32)
        .map(|index| {
            let kind = DeviceKind::Loop {
                backing_file: Some(format!("/srv/images/{index}/a-long-name.img")),
            };
            let below = format!("loop{}", index + 1);
            hosts::device(&format!("loop{index}"), (7, index), kind, &[&below])
        })
        .collect();
    devices[19].below.clear();
    let mounts = vec![hosts::mount(1, (7, 0), "/data", "xfs", "/dev/loop0")];
    let mut case = Case::of("deep", devices, mounts, Vec::new());
    case.findings = vec![Finding {
        mount_point: Some("/data".to_owned()),
        device: Some("loop19".to_owned()),
        ..hosts::finding("TRIM008", Severity::Warning, "/data", "a title", "")
    }];
    for (width, unicode) in [(40, false), (80, true)] {
        let terminal = Terminal {
            width,
            unicode,
            ..Terminal::default()
        };
        let options = TextOptions {
            terminal,
            verbose: false,
        };
        let shown = text(&case.report(), &options);
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest.unwrap() <= width, "{shown}");
        // A row that is wrapped has one blank between name and kind.
        assert!(shown.replace("  ", " ").contains("loop19 loop"), "{shown}");
        assert_eq!(shown.matches("<-- TRIM008").count(), 1, "{shown}");
    }
}

#[test]
fn a_layer_is_blamed_in_its_own_stacks_only() {
    let mut case = hosts::many_mounts();
    case.findings[0].device = Some("nvme0n1".to_owned());
    let blamed = |case: &Case| {
        let document: Value = serde_json::from_str(&json(&case.report())).unwrap();
        let mounts = document["result"]["mounts"].as_array().unwrap().clone();
        let blamed = mounts
            .iter()
            .filter(|mount| mount["stack"][1]["at_fault"] == serde_json::json!(["TRIM006"]));
        blamed.count()
    };
    assert_eq!(blamed(&case), 1);
    // A finding about the whole host concerns the drive wherever it is drawn.
    case.findings[0].mount_point = None;
    assert_eq!(blamed(&case), 30);
}

#[test]
fn cluster_has_its_own_section() {
    let shown = shown(&hosts::host_and_cluster());
    assert!(
        shown.contains("and cluster logs (Elasticsearch 7.4.0, 2 nodes, 25,000 shards)"),
        "{shown}"
    );
    // The cluster comes first, since all nodes share it; its own name is not repeated.
    let places = [
        "cluster logs ──",
        "ES001",
        "ES006",
        "/mnt/data ──",
        "TRIM001",
    ];
    let places: Vec<usize> = places.map(|word| shown.find(word).expect(word)).to_vec();
    assert!(places.is_sorted(), "{shown}");
    assert!(!shown.contains("(cluster logs)"), "{shown}");
    assert!(shown.contains("node es-2"), "{shown}");
}

#[test]
fn healthy_cluster_is_still_named() {
    let mut case = hosts::cluster();
    case.findings.clear();
    let shown = shown(&case);
    assert!(
        shown.starts_with("Nothing found on cluster logs (Elasticsearch 7.4.0, 2 nodes"),
        "{shown}"
    );
    assert!(shown.contains("Nothing found here."), "{shown}");
    // Nothing is said about a host that was not checked.
    for word in ["this host", "drive", "mount", "jobs are not known"] {
        assert!(!shown.contains(word), "{word} in {shown}");
    }
}

#[test]
fn lines_of_a_cluster_fit_80_columns() {
    let shown = shown(&hosts::cluster());
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
}

#[test]
fn the_document_has_the_cluster_and_no_platform() {
    let document: Value = serde_json::from_str(&json(&hosts::cluster().report())).unwrap();
    let result = &document["result"];
    assert!(result["platform"].is_null());
    assert_eq!(result["cluster"]["master"], "es-1");
    assert_eq!(result["cluster"]["data_nodes"], 2);
    assert_eq!(result["cluster"]["shards_of_closed_indices"], 20_000);
    assert_eq!(result["findings"][0]["cluster"], "logs");
    let document: Value = serde_json::from_str(&json(&hosts::crypt().report())).unwrap();
    assert!(document["result"].get("cluster").is_none());
}
