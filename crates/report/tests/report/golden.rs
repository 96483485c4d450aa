//! Golden files: renderings of five hosts.

use crate::hosts;
use report::{TextOptions, json, markdown, nagios, sarif, text};

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
    let options = TextOptions {
        width: 60,
        unicode: false,
        ..TextOptions::default()
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
fn several_hosts_have_a_section_each() {
    let case = hosts::fleet();
    let report = case.report();
    insta::assert_snapshot!("text_fleet", text(&report, &TextOptions::default()));
    insta::assert_snapshot!("markdown_fleet", markdown(&report));
    insta::assert_snapshot!("json_fleet", json(&report));
    insta::assert_snapshot!("nagios_fleet", nagios(&report));
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
