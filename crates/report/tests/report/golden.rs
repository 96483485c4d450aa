//! Golden files: renderings of five hosts.

use crate::hosts;
use crate::schemas::{assert_valid, document_validator};
use facts::host::{TrimPasses, TrimPlan};
use page::Terminal;
use report::{TextOptions, json, markdown, nagios, openmetrics, sarif, text};
use rules::{DiskCalendar, HeavyJob, TrimmedFilesystem};

#[test]
fn text_at_80_columns() {
    for (name, case) in hosts::all() {
        insta::assert_snapshot!(
            format!("text_{name}"),
            text(&case.report(), &TextOptions::default())
        );
    }
}

#[test]
fn text_in_ascii_at_60_columns() {
    let terminal = Terminal {
        width: 60,
        unicode: false,
        ..Terminal::default()
    };
    let options = TextOptions {
        terminal,
        verbose: false,
    };
    insta::assert_snapshot!("text_crypt_60", text(&hosts::crypt().report(), &options));
}

#[test]
fn text_in_full() {
    let options = TextOptions {
        verbose: true,
        ..TextOptions::default()
    };
    insta::assert_snapshot!(
        "text_crypt_verbose",
        text(&hosts::crypt().report(), &options)
    );
}

#[test]
fn json_document() {
    insta::assert_snapshot!("json_crypt", json(&hosts::crypt().report()));
    insta::assert_snapshot!("json_cluster", json(&hosts::cluster().report()));
}

#[test]
fn markdown_for_a_ticket() {
    insta::assert_snapshot!("markdown_crypt", markdown(&hosts::crypt().report()));
    insta::assert_snapshot!("markdown_cluster", markdown(&hosts::cluster().report()));
    insta::assert_snapshot!(
        "markdown_many_mounts",
        markdown(&hosts::many_mounts().report())
    );
}

#[test]
fn sarif_log() {
    insta::assert_snapshot!("sarif_crypt", sarif(&hosts::crypt().report()));
    insta::assert_snapshot!("sarif_cluster", sarif(&hosts::cluster().report()));
}

#[test]
fn nagios_plugin_output() {
    insta::assert_snapshot!("nagios_crypt", nagios(&hosts::crypt().report()));
    insta::assert_snapshot!("nagios_cluster", nagios(&hosts::cluster().report()));
    insta::assert_snapshot!("nagios_healthy", nagios(&hosts::healthy().report()));
}

#[test]
fn metrics() {
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let calendar = DiskCalendar {
        jobs: Some(vec![HeavyJob {
            name: "cron.weekly/fstrim".to_owned(),
            work: "trim",
            last_start: None,
            next_start: Some(at("2026-11-08T05:47:00Z")),
        }]),
        filesystems: vec![TrimmedFilesystem {
            mount_point: "/var/lib/elasticsearch".to_owned(),
            device: "/dev/mapper/data".to_owned(),
            fs_type: "xfs".to_owned(),
            has_store: true,
            discards_reach_drives: Some(false),
            last_trim: Some(at("2026-11-02T00:31:07Z")),
        }],
        is_complete: true,
    };
    let mut case = hosts::crypt();
    case.host.trim_plan = Some(TrimPlan {
        mount_points: vec!["/srv".to_owned()],
        ..TrimPlan::default()
    });
    case.host.trim_passes = vec![TrimPasses {
        mount_point: "/srv".to_owned(),
        ended_at: at("2026-11-03T02:00:01Z"),
        active_s: 3599.5,
        discarded_bytes: Some(7 << 30),
        completed_at: Some(at("2026-11-02T02:00:01Z")),
    }];
    insta::assert_snapshot!("metrics_crypt", openmetrics(&case.report(), &[calendar]));
    insta::assert_snapshot!("metrics_fleet", openmetrics(&hosts::fleet().report(), &[]));
    insta::assert_snapshot!(
        "metrics_cluster",
        openmetrics(&hosts::cluster().report(), &[])
    );
}

#[test]
fn several_hosts_have_a_section_each() {
    let case = hosts::fleet();
    let report = case.report();
    insta::assert_snapshot!("text_fleet", text(&report, &TextOptions::default()));
    insta::assert_snapshot!("markdown_fleet", markdown(&report));
    insta::assert_snapshot!("json_fleet", json(&report));
    insta::assert_snapshot!("nagios_fleet", nagios(&report));
}

#[test]
fn many_hosts_are_one_answer() {
    let case = hosts::large_fleet();
    let report = case.report();
    insta::assert_snapshot!("text_large_fleet", text(&report, &TextOptions::default()));
    insta::assert_snapshot!("markdown_large_fleet", markdown(&report));
    insta::assert_snapshot!("nagios_large_fleet", nagios(&report));
    let document = json(&report);
    assert_valid(&document_validator(), &document);
    assert!(document.contains("\"meetings\": ["), "{document}");
    // Each host has its section where everything is asked for.
    let verbose = TextOptions {
        verbose: true,
        ..TextOptions::default()
    };
    let all = text(&report, &verbose);
    for host in 1..=12 {
        assert!(all.contains(&format!("\ndb{host:02}")), "{all}");
    }
}

#[test]
fn blind_checks_say_so_first() {
    let case = hosts::blind();
    let report = case.report();
    insta::assert_snapshot!("text_blind", text(&report, &TextOptions::default()));
    insta::assert_snapshot!("nagios_blind", nagios(&report));
    assert!(sarif(&report).contains("\"executionSuccessful\": false"));
    assert!(json(&report).contains("\"answer\": \"could_not_tell\""));
}
