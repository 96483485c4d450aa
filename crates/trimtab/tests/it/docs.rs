//! Documentation that is made from the program stays in step with it.

use crate::support::{repository, run, stdout};
use std::path::Path;

#[test]
fn the_rule_catalogue_is_up_to_date() {
    let made = stdout(&run(&["rule", "--all"]));
    let kept = std::fs::read_to_string(repository().join("docs/rules.md")).expect("docs/rules.md");
    assert!(
        made == kept,
        "docs/rules.md is out of date: run `make docs`"
    );
}

#[test]
fn every_rule_explains_itself() {
    let list = stdout(&run(&["rule"]));
    let ids: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.ends_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(ids.len() >= 20, "{ids:?}");
    for id in ids {
        let text = stdout(&run(&["rule", &id.to_lowercase()]));
        assert!(text.starts_with(&format!("# {id}: ")), "{id}: {text}");
    }
}

#[test]
fn the_reference_of_check_lists_the_rules_as_they_are() {
    let list = stdout(&run(&["rule"]));
    let rules = list.split("\n\n").next().unwrap();
    assert!(
        text_of("docs/check.md").contains(rules),
        "docs/check.md lists other rules than `trimtab rule`"
    );
}

#[test]
fn the_readme_is_short() {
    let lines = text_of("README.md").lines().count();
    assert!(lines < 150, "README.md has {lines} lines");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = text_of(&document);
        for target in links(&text) {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let directory = Path::new(&document).parent().expect("a directory");
            let file = match path {
                "" => repository().join(&document),
                path => repository().join(directory).join(path),
            };
            let is_there = file.exists()
                && (anchor.is_empty()
                    || std::fs::read_to_string(&file)
                        .is_ok_and(|text| anchors(&text).any(|one| one == anchor)));
            if !is_there {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The documents for people, by their paths in the repository. docs/rules.md is made from the program.
fn documents() -> Vec<String> {
    let mut documents: Vec<String> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "samples/README.md",
    ]
    .map(str::to_owned)
    .to_vec();
    for entry in std::fs::read_dir(repository().join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") {
            documents.push(format!("docs/{name}"));
        }
    }
    documents.sort();
    documents
}

fn text_of(document: &str) -> String {
    std::fs::read_to_string(repository().join(document)).unwrap_or_else(|_| panic!("{document}"))
}

/// The targets of Markdown's links and pictures, outside of blocks of code.
fn links(document: &str) -> Vec<&str> {
    let prose = document.split("```").step_by(2);
    prose
        .flat_map(|text| text.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .collect()
}

/// The anchors that GitHub gives to headings.
fn anchors(document: &str) -> impl Iterator<Item = String> {
    document
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
}
