//! `GET /`.

use facts::cluster::{Flavour, ServerVersion};
use serde::{Deserialize, Serialize};

/// Identity of the node that responds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The server product.
    pub flavour: Flavour,
    /// Version of the node that responded.
    pub version: ServerVersion,
    /// `cluster.name`.
    pub cluster_name: Option<String>,
}

#[derive(Deserialize)]
struct Raw {
    cluster_name: Option<String>,
    version: RawVersion,
    tagline: Option<String>,
}

#[derive(Deserialize)]
struct RawVersion {
    number: ServerVersion,
    distribution: Option<String>,
}

impl Root {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        let raw: Raw = serde_json::from_slice(body)?;
        // Elasticsearch reports no distribution. OpenSearch 1 can be configured to report version
        // 7.10.2 (compatibility.override_main_response_version); `_nodes` has the true version.
        let is_opensearch = raw
            .version
            .distribution
            .is_some_and(|name| name.eq_ignore_ascii_case("opensearch"))
            || raw.tagline.is_some_and(|line| line.contains("OpenSearch"));
        Ok(Self {
            flavour: if is_opensearch {
                Flavour::Opensearch
            } else {
                Flavour::Elasticsearch
            },
            version: raw.version.number,
            cluster_name: raw.cluster_name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_products_are_distinguished() {
        let root = |text: &str| Root::parse(text.as_bytes());
        let elastic = root(r#"{"cluster_name":"a","version":{"number":"7.4.2"}}"#).unwrap();
        assert_eq!(elastic.flavour, Flavour::Elasticsearch);
        assert_eq!(elastic.version, ServerVersion::new(7, 4, 2));
        let open = root(r#"{"version":{"number":"2.19.1","distribution":"opensearch"}}"#).unwrap();
        assert_eq!(open.flavour, Flavour::Opensearch);
        let disguised = root(
            r#"{"version":{"number":"7.10.2"},
            "tagline":"The OpenSearch Project: https://opensearch.org/"}"#,
        );
        assert_eq!(disguised.unwrap().flavour, Flavour::Opensearch);
        for other in [
            "{}",
            "[]",
            r#"{"version":"1"}"#,
            r#"{"version":{"number":"x"}}"#,
        ] {
            assert!(root(other).is_err(), "{other}");
        }
    }
}
