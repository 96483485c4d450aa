//! Documentation that is made from the program stays in step with it.

use crate::support::{repository, run, stdout};

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
fn the_readme_lists_the_rules_as_they_are() {
    let list = stdout(&run(&["rule"]));
    let rules = list.split("\n\n").next().unwrap();
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("README.md");
    assert!(
        readme.contains(rules),
        "README.md lists other rules than `trimtab rule`"
    );
}
