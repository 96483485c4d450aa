//! Documents for `_bulk`.

use crate::hosts::{self, Case};
use facts::{Severity, Skipped};
use report::bulk;
use report::bulk::INDEX_TEMPLATE;
use serde_json::Value;
use std::collections::BTreeSet;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// The actions on documents of a rule: `update`, `delete`.
fn actions_on(case: &Case, end_of_id: &str) -> Vec<String> {
    let found = lines(&bulk(&case.report()));
    let actions = found.iter().filter_map(|line| {
        let (name, action) = line.as_object()?.iter().next()?;
        let id = action.get("_id")?.as_str()?;
        id.ends_with(end_of_id).then(|| name.clone())
    });
    actions.collect()
}

/// Indented, so that a change of one field is one line.
fn readable(text: &str) -> String {
    let mut readable = String::new();
    for line in lines(text) {
        match line.get("upsert").or(line.get("doc")) {
            None => readable.push_str(&line.to_string()),
            Some(document) => {
                readable.push_str(&serde_json::to_string_pretty(document).expect("JSON"));
            }
        }
        readable.push('\n');
    }
    readable
}

#[test]
fn documents_of_a_host_and_of_a_cluster() {
    insta::assert_snapshot!("bulk_crypt", readable(&bulk(&hosts::crypt().report())));
    insta::assert_snapshot!("bulk_cluster", readable(&bulk(&hosts::cluster().report())));
}

#[test]
fn each_host_of_several_has_its_documents() {
    let case = hosts::fleet();
    let text = bulk(&case.report());
    for line in lines(&text) {
        let Some(name) = line.pointer("/doc/host/name") else {
            continue;
        };
        assert!(name.as_str().is_some_and(|name| !name.is_empty()));
    }
    let ids: Vec<String> = lines(&text)
        .iter()
        .filter_map(|line| line.pointer("/update/_id"))
        .map(|id| id.as_str().expect("text").to_owned())
        .filter(|id| !id.contains('/'))
        .collect();
    assert_eq!(ids.len(), case.report().hosts.len());
    let different: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(different.len(), ids.len(), "{ids:?}");
}

#[test]
fn what_was_not_looked_at_stays_and_what_is_gone_is_deleted() {
    let mut case = hosts::crypt();
    let rule = case.findings[0].rule.clone();
    let end = format!("/{rule}");
    case.rules_run = vec![rule.clone().leak()];
    assert_eq!(actions_on(&case, &end), ["update"]);
    case.findings.retain(|finding| finding.rule != rule);
    case.skipped.clear();
    assert_eq!(actions_on(&case, &end), ["delete"]);
    case.skipped = vec![Skipped::new(rule, "no sysfs", None)];
    assert!(actions_on(&case, &end).is_empty());
    case.rules_run.clear();
    assert!(actions_on(&case, &end).is_empty());
}

#[test]
fn several_findings_of_a_rule_are_one_document_the_worst_first() {
    let mut case = hosts::crypt();
    let mut other = case.findings[0].clone();
    other.subject = "/other".to_owned();
    other.severity = Severity::Info;
    other.title = "a lesser one".to_owned();
    let rule = other.rule.clone();
    case.rules_run = vec![rule.clone().leak()];
    let others = case.findings.iter().filter(|finding| finding.rule == rule);
    let count = others.count() + 1;
    case.findings.insert(0, other);
    let found = lines(&bulk(&case.report()));
    // The host has one as well.
    let documents = found.iter().filter_map(|line| line.get("doc"));
    let documents: Vec<&Value> = documents
        .filter(|document| document.get("rule").is_some())
        .collect();
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0]["trimtab"]["count"], count);
    assert_ne!(documents[0]["message"], "a lesser one");
    let subjects = documents[0]["trimtab"]["subjects"]
        .as_array()
        .expect("a list");
    assert!(subjects.contains(&Value::from("/other")), "{subjects:?}");
}

/// Paths of all values that are no objects.
fn leaves(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                leaves(member, &format!("{path}/{name}"), into);
            }
        }
        Value::Null => {}
        _ => {
            into.insert(path.to_owned());
        }
    }
}

#[test]
fn the_template_maps_what_documents_have_and_nothing_else() {
    let template: Value = serde_json::from_str(INDEX_TEMPLATE).expect("JSON");
    let mappings = &template["template"]["mappings"];
    let mut mapped = BTreeSet::new();
    let mut types = BTreeSet::new();
    leaves(&mappings["properties"], "", &mut types);
    for path in types {
        if let Some(field) = path.strip_suffix("/type") {
            mapped.insert(field.replace("/properties", ""));
        }
    }
    // A field of that name.
    mapped.remove("/host/os");
    mapped.insert("/host/os/type".to_owned());
    let mut written = BTreeSet::new();
    for case in [hosts::crypt(), hosts::cluster(), hosts::fleet()] {
        for line in lines(&bulk(&case.report())) {
            if let Some(document) = line.get("upsert").or(line.get("doc")) {
                leaves(document, "", &mut written);
            }
        }
    }
    assert_eq!(
        mapped.difference(&written).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert_eq!(
        written.difference(&mapped).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert_eq!(mappings["_meta"]["trimtab_version"], template["version"]);
}
