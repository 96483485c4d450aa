//! The list of all rules.

use crate::rule::Rule;
use crate::rules;

/// All rules, sorted by id.
static RULES: &[Rule] = &[
    rules::es001::RULE,
    rules::es002::RULE,
    rules::es003::RULE,
    rules::es004::RULE,
    rules::es005::RULE,
    rules::es006::RULE,
    rules::es007::RULE,
    rules::es008::RULE,
    rules::es010::RULE,
    rules::es011::RULE,
    rules::es012::RULE,
    rules::es013::RULE,
    rules::fs001::RULE,
    rules::fs002::RULE,
    rules::fs003::RULE,
    rules::fs004::RULE,
    rules::fs005::RULE,
    rules::sched001::RULE,
    rules::sched002::RULE,
    rules::trim001::RULE,
    rules::trim002::RULE,
    rules::trim003::RULE,
    rules::trim004::RULE,
    rules::trim005::RULE,
    rules::trim006::RULE,
    rules::trim007::RULE,
    rules::trim008::RULE,
    rules::trim009::RULE,
    rules::trim010::RULE,
    rules::trim011::RULE,
    rules::trim012::RULE,
    rules::trim013::RULE,
    rules::trim014::RULE,
];

/// Returns all rules, sorted by id.
pub fn all() -> &'static [Rule] {
    RULES
}

/// Returns the rule with this id, ignoring case.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// Ids of rules that no longer exist, which configurations may still name.
const RETIRED: &[&str] = &["ES009"];

/// Whether a rule with this id, in any case, existed in an earlier version.
pub fn is_retired(id: &str) -> bool {
    RETIRED
        .iter()
        .any(|retired| retired.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_sorted_and_unique() {
        assert!(all().is_sorted_by(|a, b| a.id < b.id));
    }

    #[test]
    fn every_rule_is_documented_under_the_same_headings() {
        const HEADINGS: &[&str] = &[
            "## What it finds",
            "## Why it hurts",
            "## Evidence",
            "## Remedy",
            "## Risk",
            "## When it is silent",
            "## References",
        ];
        for rule in all() {
            let documentation = rule.documentation();
            assert!(
                documentation.starts_with(&format!("# {}: {}\n", rule.id, rule.title)),
                "{}: its heading and its title differ",
                rule.id
            );
            let headings: Vec<&str> = documentation
                .lines()
                .filter(|line| line.starts_with("## "))
                .collect();
            assert_eq!(headings, HEADINGS, "{}", rule.id);
        }
    }

    #[test]
    fn rules_are_found_in_any_case() {
        assert_eq!(find("trim001").map(|rule| rule.id), Some("TRIM001"));
        assert!(find("TRIM999").is_none());
        assert!(is_retired("es009") && !is_retired("ES008"));
        assert!(RETIRED.iter().all(|id| find(id).is_none()));
    }
}
