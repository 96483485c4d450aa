//! Which versions need the fix.

use facts::cluster::{Flavour, ServerVersion};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a version needs the fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Its reroutes scan, and the fix was tried on it.
    Needed,
    /// It keeps lists instead of scanning: Elasticsearch from 7.6 on (pull request 47817), and OpenSearch.
    NotNeeded,
    /// Older than what the fix was tried on.
    NotTried,
}

/// Returns whether a version needs the fix.
pub fn need(flavour: Flavour, version: &ServerVersion) -> Need {
    match (flavour, version.major, version.minor) {
        (Flavour::Opensearch, ..) | (_, 7, 6..) | (_, 8.., _) => Need::NotNeeded,
        (_, 6, 8..) | (_, 7, _) => Need::Needed,
        _ => Need::NotTried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_6_8_to_7_5_need_it() {
        let of = |flavour, text: &str| need(flavour, &text.parse().unwrap());
        for (version, expected) in [
            ("5.6.16", Need::NotTried),
            ("6.7.2", Need::NotTried),
            ("6.8.0", Need::Needed),
            ("6.8.23", Need::Needed),
            ("7.0.0", Need::Needed),
            ("7.5.2", Need::Needed),
            ("7.6.0", Need::NotNeeded),
            ("7.17.28", Need::NotNeeded),
            ("9.2.0", Need::NotNeeded),
        ] {
            assert_eq!(of(Flavour::Elasticsearch, version), expected, "{version}");
        }
        assert_eq!(of(Flavour::Opensearch, "1.0.0"), Need::NotNeeded);
    }
}
