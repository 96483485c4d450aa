//! Matches nodes against groups of filters (`DiscoveryNodeFilters` of 7.4.0).

use std::fmt;

use super::pattern::simple_match;
use crate::model::{Filters, Node, Version};

/// Versions that filter by `_tier` (`DataTierAllocationDecider`).
const TIER_FILTERS: std::ops::Range<Version> =
    Version::release(7, 10, 0)..Version::release(8, 0, 0);

/// How the filters of a group, and the values of a filter, are combined (`OpType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// All must match: `require`.
    And,
    /// At least one must match: `include`, `exclude`.
    Or,
}

/// Whether the node matches. Addresses are an exception to [`Join::And`]: one matching value is enough.
#[must_use]
pub fn matches(filters: &Filters, join: Join, node: &Node) -> bool {
    let mut results = filters.0.iter().map(|(attribute, values)| {
        let any = |texts: &[&str]| {
            values
                .iter()
                .any(|value| texts.iter().any(|text| simple_match(value, text)))
        };
        let joined = |test: &dyn Fn(&String) -> bool| match join {
            Join::And => values.iter().all(test),
            Join::Or => values.iter().any(test),
        };
        match attribute.as_str() {
            "_ip" => any(&[&node.host_address, &node.publish_address]),
            "_host_ip" => any(&[&node.host_address]),
            "_publish_ip" => any(&[&node.publish_address]),
            "_host" => joined(&|value| {
                simple_match(value, &node.host) || simple_match(value, &node.host_address)
            }),
            // Ids are compared literally, without wildcards.
            "_id" => joined(&|value| *value == node.id),
            "_name" | "name" => joined(&|value| simple_match(value, &node.name)),
            // Before and after these versions it is an attribute like any other.
            "_tier" if TIER_FILTERS.contains(&node.version) => {
                joined(&|tier| node.roles.is_in_tier(tier))
            }
            _ => match node.attribute(attribute) {
                Some(found) => joined(&|value| simple_match(value, found)),
                None => false,
            },
        }
    });
    match join {
        Join::And => results.all(|matched| matched),
        Join::Or => results.any(|matched| matched),
    }
}

/// A group of filters as text, such as `rack:"a OR b",_name:"n*"`.
pub(crate) struct Shown<'a>(pub &'a Filters, pub Join);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.1 == Join::And { " AND " } else { " OR " };
        for (at, (attribute, values)) in self.0.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{attribute}:\"{}\"", values.join(word))?;
        }
        Ok(())
    }
}

/// The kind of filter group that rejects a node, in the order checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Require,
    Include,
    Exclude,
}

/// Returns the filter group that rejects the node, if any.
pub(super) fn fault(
    node: &Node,
    require: &Filters,
    include: &Filters,
    exclude: &Filters,
) -> Option<Fault> {
    if !require.is_empty() && !matches(require, Join::And, node) {
        Some(Fault::Require)
    } else if !include.is_empty() && !matches(include, Join::Or, node) {
        Some(Fault::Include)
    } else if !exclude.is_empty() && matches(exclude, Join::Or, node) {
        Some(Fault::Exclude)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        Node {
            name: "hot-1".into(),
            host: "db1.example.org".into(),
            host_address: "10.0.0.1".into(),
            publish_address: "192.168.7.1".into(),
            attributes: [("rack".into(), "r1".into()), ("disk".into(), "ssd".into())].into(),
            ..Node::new("Xy-1".to_owned(), Version::release(7, 4, 0))
        }
    }

    fn group(pairs: &[(&str, &str)]) -> Filters {
        let mut filters = Filters::default();
        for (attribute, values) in pairs {
            filters.add(attribute, values);
        }
        filters
    }

    #[test]
    fn each_kind_of_filter_checks_its_own_field() {
        for (attribute, value, expected) in [
            ("_ip", "10.0.0.*", true),
            ("_ip", "192.168.7.1", true),
            ("_host_ip", "192.168.*", false),
            ("_host_ip", "10.*", true),
            ("_publish_ip", "10.*", false),
            ("_publish_ip", "192.168.7.1", true),
            ("_host", "*.example.org", true),
            ("_host", "10.0.0.1", true),
            ("_name", "hot-*", true),
            ("name", "hot-1", true),
            ("_id", "Xy-1", true),
            ("_id", "Xy-*", false),
            ("rack", "r*", true),
            ("rack", "r2", false),
            ("zone", "*", false),
        ] {
            let filters = group(&[(attribute, value)]);
            for join in [Join::And, Join::Or] {
                assert_eq!(
                    matches(&filters, join, &node()),
                    expected,
                    "{attribute}={value} {join:?}"
                );
            }
        }
    }

    #[test]
    fn require_needs_all_and_include_one() {
        let both = group(&[("rack", "r1"), ("disk", "hdd")]);
        assert!(!matches(&both, Join::And, &node()));
        assert!(matches(&both, Join::Or, &node()));
        let values = group(&[("rack", "r1,r2")]);
        assert!(!matches(&values, Join::And, &node()));
        assert!(matches(&values, Join::Or, &node()));
        let missing = group(&[("zone", "a"), ("rack", "r1")]);
        assert!(!matches(&missing, Join::And, &node()));
        assert!(matches(&missing, Join::Or, &node()));
    }

    #[test]
    fn one_matching_address_suffices_even_for_require() {
        let values = group(&[
            ("_ip", "10.9.9.9,192.168.7.1"),
            ("_host_ip", "10.0.0.1,10.0.0.2"),
        ]);
        assert!(matches(&values, Join::And, &node()));
        let names = group(&[("_name", "hot-1,hot-2")]);
        assert!(!matches(&names, Join::And, &node()));
    }

    #[test]
    fn filters_are_shown_with_their_join() {
        let filters = group(&[("rack", "a,b"), ("_name", "n*")]);
        assert_eq!(
            Shown(&filters, Join::Or).to_string(),
            "rack:\"a OR b\",_name:\"n*\""
        );
    }
}
