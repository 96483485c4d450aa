//! Validates JSON and SARIF against their schemas.

use crate::hosts;
use jsonschema::Validator;
use report::ssd::SsdAnswer;
use report::trim::lines;
use report::views::bench::BenchAnswer;
use report::views::livefix::LivefixAnswer;
use report::views::plan::PlanAnswer;
use report::views::shards::ShardsAnswer;
use report::{
    Answer, CheckResult, ExplainResult, NagiosStatus, generated_schema, json, nagios_status, sarif,
};
use serde_json::Value;
use std::path::Path;

/// The official schema, see `tests/data/README.md`.
const SARIF_SCHEMA: &str = include_str!("../data/sarif-schema-2.1.0.json");

pub fn validator(schema: &str) -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(&serde_json::from_str(schema).unwrap())
        .unwrap()
}

pub fn document_validator() -> Validator {
    validator(CheckResult::JSON_SCHEMA)
}

pub fn sarif_validator() -> Validator {
    validator(SARIF_SCHEMA)
}

pub fn assert_valid(validator: &Validator, text: &str) {
    let document: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
}

/// Checks that a document without one of these fields is not valid.
pub fn assert_required(validator: &Validator, document: &Value, fields: &[(&str, &str)]) {
    for (pointer, field) in fields {
        let mut without = document.clone();
        let parent = without.pointer_mut(pointer).unwrap();
        parent.as_object_mut().unwrap().remove(*field).unwrap();
        assert!(!validator.is_valid(&without), "{pointer}/{field}");
    }
}

/// What `--schema` prints. `make docs` writes it anew.
#[test]
fn published_schemas_are_those_of_the_types() {
    fn of<T: Answer>(command: &'static str) -> (String, &'static str, String) {
        let path = format!("report/schemas/{command}.json");
        (path, T::JSON_SCHEMA, generated_schema::<T>())
    }
    let track = bench::track::generated_schema();
    let all = [
        of::<CheckResult<'_>>("check"),
        of::<ExplainResult<'_>>("explain"),
        of::<SsdAnswer<'_>>("ssd"),
        of::<ShardsAnswer>("shards"),
        of::<PlanAnswer>("plan"),
        of::<BenchAnswer>("bench"),
        of::<LivefixAnswer>("livefix"),
        (
            "report/schemas/trim.json".to_owned(),
            lines::JSON_SCHEMA,
            lines::generated_schema(),
        ),
        (
            "bench/schemas/track.json".to_owned(),
            bench::track::JSON_SCHEMA,
            format!("{track:#}\n"),
        ),
    ];
    for (path, published, generated) in all {
        if std::env::var_os("WRITE_SCHEMAS").is_some() {
            let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
            std::fs::write(Path::new(crates).join(&path), generated).unwrap();
        } else {
            assert!(
                published == generated,
                "crates/{path} is out of date: run `make docs`"
            );
        }
    }
}

#[test]
fn documents_match_the_published_schema() {
    let validator = document_validator();
    for (_, case) in hosts::all() {
        assert_valid(&validator, &json(&case.report()));
    }
}

#[test]
fn schema_requires_the_documented_fields() {
    let validator = document_validator();
    let document: Value = serde_json::from_str(&json(&hosts::crypt().report())).unwrap();
    let fields = [
        ("", "schema"),
        ("", "generated_at"),
        ("", "skipped"),
        ("/result", "findings"),
        ("/result/counts", "error"),
        ("/result/findings/0", "remedy"),
        ("/result/mounts/0", "free_bytes"),
        ("/result/mounts/0/stack/0", "at_fault"),
        ("/result/mounts/0/stack/0/discard", "max_hw_bytes"),
    ];
    assert_required(&validator, &document, &fields);
    let mut other = document;
    other["schema"] = "trimtab.check/2".into();
    assert!(!validator.is_valid(&other));
}

#[test]
fn sarif_matches_the_official_schema() {
    let validator = sarif_validator();
    for (_, case) in hosts::all() {
        assert_valid(&validator, &sarif(&case.report()));
    }
    assert!(!validator.is_valid(&serde_json::json!({"version": "2.1.0"})));
}

#[test]
fn sarif_points_at_rules_and_accepted_findings() {
    let case = hosts::many_mounts();
    let log: Value = serde_json::from_str(&sarif(&case.report())).unwrap();
    let run = &log["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(
            run["tool"]["driver"]["rules"][index]["id"],
            result["ruleId"]
        );
    }
    assert_eq!(run["results"][0].get("suppressions"), None);
    assert_eq!(
        run["results"][1]["suppressions"][0]["justification"],
        "mail spool, needs them"
    );
}

#[test]
fn nagios_states() {
    let mut case = hosts::crypt();
    assert_eq!(nagios_status(&case.report()).exit_code(), 2);
    case.findings.remove(0);
    assert_eq!(nagios_status(&case.report()), NagiosStatus::Warning);
    case.findings.retain(|finding| finding.rule == "TRIM012");
    assert_eq!(nagios_status(&case.report()), NagiosStatus::Ok);
    case.findings.clear();
    case.rules_run = vec!["SCHED001", "FS004"];
    assert_eq!(nagios_status(&case.report()).exit_code(), 3);
}
