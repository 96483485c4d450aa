//! Properties that hold for every report, however hostile the host.

use crate::hosts;
use crate::schemas::{assert_valid, document_validator, sarif_validator};
use facts::host::{DeviceKind, Store, StoreEngine, StoreState};
use facts::{Evidence, Finding, Remedy, Severity, Skipped};
use page::Terminal;
use proptest::prelude::*;
use report::{Suppressed, TextOptions, json, markdown, nagios, openmetrics, sarif, text};

/// Any text: plain words, words without blanks, control characters, overrides, wide characters.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,120}",
        "[a-zA-Z/_0-9-]{0,200}",
        "[\\x00-\\x20\\x7f-\\x9f`|*<>a-z\u{200b}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{1b}]{0,60}",
        "[日本語é\u{300}\u{1f600} ]{0,90}",
        any::<String>(),
    ]
}

prop_compose! {
    fn remedy()(
        text in hostile(),
        command in proptest::option::of(hostile()),
        risk in proptest::option::of(hostile()),
        undo in proptest::option::of(hostile()),
    ) -> Remedy {
        Remedy { text, command, risk, undo }
    }
}

prop_compose! {
    fn finding()(
        rule in prop_oneof!["(TRIM|FS|SCHED)00[1-9]", hostile()],
        severity in prop_oneof![
            Just(Severity::Error), Just(Severity::Warning), Just(Severity::Info)
        ],
        subject in hostile(),
        mount_point in prop_oneof![
            Just(None), Just(Some("/mnt/data".to_owned())), hostile().prop_map(Some)
        ],
        cluster in prop_oneof![
            3 => Just(None), 1 => Just(Some("logs".to_owned())), 1 => hostile().prop_map(Some)
        ],
        device in prop_oneof![Just(None), Just(Some("dm-0".to_owned())), hostile().prop_map(Some)],
        title in hostile(),
        why in hostile(),
        evidence in proptest::collection::vec((hostile(), hostile()), 0..3),
        remedy in proptest::collection::vec(remedy(), 0..3),
    ) -> Finding {
        Finding {
            rule,
            severity,
            subject,
            mount_point,
            host: None,
            cluster,
            device,
            title,
            why,
            evidence: evidence
                .into_iter()
                .map(|(source, value)| Evidence { source, value })
                .collect(),
            remedy,
        }
    }
}

prop_compose! {
    /// The crypt host with every string replaced.
    fn case()(
        findings in proptest::collection::vec(finding(), 0..4),
        accepted in proptest::option::of((finding(), hostile())),
        words in proptest::collection::vec(hostile(), 20),
        kind in 0..3_u8,
        skipped in proptest::collection::vec((hostile(), hostile(), proptest::option::of(hostile())), 0..9),
    ) -> hosts::Case {
        let mut case = hosts::crypt();
        case.findings = findings;
        case.suppressed = accepted
            .into_iter()
            .map(|(finding, reason)| Suppressed { finding, reason })
            .collect();
        case.skipped = skipped
            .into_iter()
            .map(|(what, why, needs)| Skipped::new(what, why, needs.as_deref()))
            .collect();
        let mut words = words.into_iter();
        let mut word = || words.next().unwrap();
        let platform = &mut case.host.platform;
        platform.host_name = Some(word());
        platform.distribution = Some(word());
        platform.distribution_name = Some(word());
        platform.kernel_release = Some(word());
        case.host.mounts[0].fs_type = word();
        case.host.mounts[0].source = word();
        for device in &mut case.host.devices {
            match &mut device.kind {
                DeviceKind::Nvme { model, .. } => *model = Some(word()),
                DeviceKind::DeviceMapper { name, .. } => *name = Some(word()),
                _ => {}
            }
        }
        case.host.stores.push(Store {
            engine: StoreEngine::Other(word()),
            version: Some(word()),
            state: StoreState::Configured,
            pid: None,
            data_paths: vec![format!("/mnt/data/{}", word())],
            paths_from: word(),
            settings: vec![(word(), String::new())],
        });
        if kind > 0 {
            let mut cluster = hosts::es740();
            cluster.name = (kind == 1).then(&mut word);
            cluster.endpoint = word();
            for node in cluster.nodes.iter_mut().flatten() {
                node.name = word();
            }
            case.cluster = Some(cluster);
            case.without_host = kind == 2;
        }
        case.warnings = vec!["caution".to_owned()];
        case
    }
}

/// Returns whether a character is a control character, or hides or reorders text.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

fn harmless(output: &str) -> Result<(), TestCaseError> {
    for line in output.split('\n') {
        prop_assert!(!line.contains(steers), "{line:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_output_contains_control_sequences(case in case(), verbose: bool, unicode: bool) {
        let report = case.report();
        let terminal = Terminal { unicode, ..Terminal::default() };
        let options = TextOptions { terminal, verbose };
        for output in [
            text(&report, &options), markdown(&report), nagios(&report), json(&report),
            sarif(&report), openmetrics(&report, &[]),
        ] {
            harmless(&output)?;
        }
        // Colour adds SGR sequences and nothing else.
        let terminal = Terminal { color: true, ..terminal };
        let mut plain = text(&report, &TextOptions { terminal, verbose });
        for code in ["0", "1", "2", "36", "1;31", "1;33"] {
            plain = plain.replace(&format!("\u{1b}[{code}m"), "");
        }
        // Trailing blanks are only trimmed if no colour ends after them.
        let lines = |text: &str| text.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(lines(&plain), lines(&text(&report, &options)));
    }

    #[test]
    fn text_stays_within_its_width(case in case(), width in 40_usize..120, verbose: bool) {
        let mut case = case;
        // Remove everything that is never wrapped: commands, undo commands, evidence, code spans.
        for finding in &mut case.findings {
            finding.evidence.clear();
            for remedy in &mut finding.remedy {
                remedy.command = None;
                remedy.undo = None;
            }
        }
        let terminal = Terminal { width, ..Terminal::default() };
        let options = TextOptions { terminal, verbose };
        for line in text(&case.report(), &options).lines().filter(|line| !line.contains('`')) {
            let columns = units::display_width(line);
            prop_assert!(columns <= width, "{columns} of {width}: {line:?}");
        }
    }

    #[test]
    fn commands_are_never_altered(
        command in "[a-z0-9 /'\"=-]{1,150}",
        second in "[a-z0-9 /=-]{1,150}",
        width in 40_usize..100,
    ) {
        let lines = format!("x{command}x\nx{second}x");
        for is_undo in [false, true] {
            let mut case = hosts::crypt();
            let remedy = &mut case.findings[0].remedy[0];
            remedy.command = (!is_undo).then(|| lines.clone());
            remedy.undo = is_undo.then(|| lines.clone());
            let terminal = Terminal { width, ..Terminal::default() };
            let options = TextOptions { terminal, verbose: false };
            let output = text(&case.report(), &options);
            for expected in lines.lines() {
                let found = output.lines().any(|line| line.trim_start() == expected);
                prop_assert!(found, "{expected:?} in\n{output}");
            }
        }
    }

    #[test]
    fn json_and_sarif_are_valid_and_complete(case in case()) {
        let report = case.report();
        let document = json(&report);
        assert_valid(&document_validator(), &document);
        let log = sarif(&report);
        assert_valid(&sarif_validator(), &log);
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let log: serde_json::Value = serde_json::from_str(&log).unwrap();
        // No finding is lost or changed.
        let read: Vec<Finding> =
            serde_json::from_value(document["result"]["findings"].clone()).unwrap();
        prop_assert_eq!(read.len(), case.findings.len());
        for finding in &case.findings {
            prop_assert!(read.contains(finding));
        }
        let results = log["runs"][0]["results"].as_array().unwrap();
        prop_assert_eq!(results.len(), case.findings.len() + case.suppressed.len());
    }

    #[test]
    fn nagios_output_has_one_bar(case in case()) {
        prop_assert_eq!(nagios(&case.report()).matches('|').count(), 1);
    }
}
