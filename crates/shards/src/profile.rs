//! Server versions, as far as they differ in the cost of a reroute.
//!
//! The profiles differ in the input (closed indices are in the
//! routing table from 7.2 on), in the work of a round (copies by state are found by scanning for every
//! query up to 7.5, and kept in sets from 7.6 on) and in when a reroute follows started copies (in the
//! same task up to 7.3, in a separate task from 7.4 on).

pub use crate::model::Product;
use crate::model::Version;

/// Properties of a version's allocator that affect the cost.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// The versions, for display: `7.4 to 7.5`.
    pub versions: &'static str,
    /// The measured version, which is the key of the coefficients.
    pub measured: &'static str,
    /// Whether closed indices stay in the routing table (`RoutingTable.Builder.addAsFromOpenToClose`).
    pub closed_in_table: bool,
    /// Whether each query for copies in a certain state scans all copies of a node
    /// (`RoutingNode.shardsWithState`), which makes a round quadratic in the number of copies.
    pub scans: bool,
    /// Whether the reroute after copies have started is a task of its own (`ShardStateAction`), which
    /// waits behind more urgent ones; before, it was part of the task that starts them.
    pub follow_up_reroute: bool,
    /// Primaries of an index that is created without saying how many (`index.number_of_shards`).
    pub default_primaries: u32,
}

/// Elasticsearch 6.8.
pub const V6_8: Profile = Profile {
    versions: "6.8",
    measured: "6.8.23",
    closed_in_table: false,
    scans: true,
    follow_up_reroute: false,
    default_primaries: 5,
};
/// Elasticsearch 7.0 and 7.1.
pub const V7_0: Profile = Profile {
    versions: "7.0 to 7.1",
    measured: "7.1.1",
    closed_in_table: false,
    scans: true,
    follow_up_reroute: false,
    default_primaries: 1,
};
/// Elasticsearch 7.2 and 7.3.
pub const V7_2: Profile = Profile {
    versions: "7.2 to 7.3",
    measured: "7.4.0",
    closed_in_table: true,
    scans: true,
    follow_up_reroute: false,
    default_primaries: 1,
};
/// Elasticsearch 7.4 and 7.5.
pub const V7_4: Profile = Profile {
    versions: "7.4 to 7.5",
    measured: "7.4.0",
    closed_in_table: true,
    scans: true,
    follow_up_reroute: true,
    default_primaries: 1,
};
/// Elasticsearch 7.6 to 7.16.
pub const V7_6: Profile = Profile {
    versions: "7.6 to 7.16",
    measured: "7.6.0",
    closed_in_table: true,
    scans: false,
    follow_up_reroute: true,
    default_primaries: 1,
};
/// Elasticsearch 7.17, and the legacy allocator of later versions.
pub const V7_17: Profile = Profile {
    versions: "7.17 and later",
    measured: "7.17.28",
    closed_in_table: true,
    scans: false,
    follow_up_reroute: true,
    default_primaries: 1,
};

/// All profiles, oldest first.
pub const PROFILES: [&Profile; 6] = [&V6_8, &V7_0, &V7_2, &V7_4, &V7_6, &V7_17];

/// A server version and the profile used for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The product.
    pub product: Product,
    /// The version.
    pub version: Version,
    /// The profile used for it.
    pub profile: &'static Profile,
    /// Why the profile may not fit, if it is not that of the version itself.
    pub warning: Option<String>,
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.product, self.version)
    }
}

/// Elasticsearch 7.4.0, the version whose decisions are modelled.
impl Default for Server {
    fn default() -> Self {
        Self {
            product: Product::Elasticsearch,
            version: Version::release(7, 4, 0),
            profile: &V7_4,
            warning: None,
        }
    }
}

/// There is no profile for a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The text is not a version.
    #[error("expected a version like 7.4.0, 7.17 or opensearch-2.19.1, found {0:?}")]
    NotAVersion(String),
    /// The version is not modelled.
    #[error("{product} {version} is not modelled: {modelled} are")]
    NotModelled {
        /// The product.
        product: Product,
        /// The requested version.
        version: Version,
        /// The modelled versions.
        modelled: &'static str,
    },
}

impl Server {
    /// Parses `7.4.0`, `7.17`, `elasticsearch-7.4.0`, `opensearch-2.19.1`; a suffix after the number
    /// (`-SNAPSHOT`) is ignored.
    ///
    /// # Errors
    /// If the text is not a version, or the version is not modelled
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let error = || ProfileError::NotAVersion(text.chars().take(40).collect());
        let lower = text.trim().to_ascii_lowercase();
        let (product, number) = match lower.split_once(['-', ' ']) {
            Some(("opensearch", rest)) => (Product::OpenSearch, rest),
            Some(("elasticsearch", rest)) => (Product::Elasticsearch, rest),
            _ => (Product::Elasticsearch, lower.as_str()),
        };
        Self::of(product, version(number).ok_or_else(error)?)
    }

    /// Looks up the profile for a version.
    ///
    /// # Errors
    /// If the version is not modelled
    pub fn of(product: Product, version: Version) -> Result<Self, ProfileError> {
        let refused = |modelled| {
            Err(ProfileError::NotModelled {
                product,
                version,
                modelled,
            })
        };
        let (major, minor) = (version.0 / 1_000_000, version.0 / 10_000 % 100);
        let (profile, warning) = match (product, major, minor) {
            (Product::OpenSearch, 1..=3, _) => (
                &V7_6,
                Some(format!(
                    "OpenSearch {version} was not measured; its times are those of Elasticsearch 7.10, \
                     from which it was forked"
                )),
            ),
            (Product::OpenSearch, ..) => return refused("OpenSearch 1 to 3"),
            (_, 6, 8) => (&V6_8, None),
            (_, 7, 0..=1) => (&V7_0, None),
            (_, 7, 2..=3) => (&V7_2, None),
            (_, 7, 4..=5) => (&V7_4, None),
            (_, 7, 6..=16) => (&V7_6, None),
            (_, 7, 17) => (&V7_17, None),
            (_, 8, 0..=5) => (
                &V7_17,
                Some(format!(
                    "Elasticsearch {version} was not measured; its times are those of 7.17"
                )),
            ),
            (_, 8 | 9, _) => (
                &V7_17,
                Some(format!(
                    "Times of a reroute are those of 7.17: from 8.6 on, as in Elasticsearch {version}, the \
                     master computes a desired balance beside its queue, and a reroute only walks towards it"
                )),
            ),
            _ => return refused("Elasticsearch 6.8 to 9"),
        };
        Ok(Self {
            product,
            version,
            profile,
            warning,
        })
    }
}

/// Parses `7.4.0`, `7.4`, `7.4.0-SNAPSHOT`: each part is below 100, as in the server's own numbering.
pub fn version(text: &str) -> Option<Version> {
    let number = text.split('-').next()?;
    let mut parts = number.split('.').map(|part| {
        let digits =
            !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
        if digits {
            part.parse::<u32>().ok()
        } else {
            None
        }
    });
    let (major, minor) = (parts.next()??, parts.next()??);
    let revision = match parts.next() {
        Some(part) => part?,
        None => 0,
    };
    parts
        .next()
        .is_none()
        .then(|| Version::release(major, minor, revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> (&'static str, bool) {
        let server = Server::parse(text).unwrap();
        (server.profile.versions, server.warning.is_some())
    }

    #[test]
    fn each_version_has_its_profile() {
        assert_eq!(profile("6.8.23"), ("6.8", false));
        assert_eq!(profile("7.1.1"), ("7.0 to 7.1", false));
        // 7.2 put closed indices into the table, 7.4 deferred the reroute, 7.6 introduced sets by state.
        assert_eq!(profile("7.2.0"), ("7.2 to 7.3", false));
        assert_eq!(profile("7.4"), ("7.4 to 7.5", false));
        assert_eq!(profile("7.5.2-SNAPSHOT"), ("7.4 to 7.5", false));
        assert_eq!(profile("7.6.0"), ("7.6 to 7.16", false));
        assert_eq!(profile("elasticsearch-7.17.28"), ("7.17 and later", false));
    }

    #[test]
    fn unmeasured_versions_map_to_a_profile_with_a_warning() {
        assert_eq!(profile("8.5.3"), ("7.17 and later", true));
        assert_eq!(profile("8.6.0"), ("7.17 and later", true));
        assert_eq!(profile("OpenSearch 2.19.1"), ("7.6 to 7.16", true));
        let desired = Server::parse("8.11.0").unwrap().warning.unwrap();
        assert!(desired.contains("desired balance"), "{desired}");
        assert!(
            !Server::parse("8.5.0")
                .unwrap()
                .warning
                .unwrap()
                .contains("desired")
        );
    }

    #[test]
    fn unsupported_versions_are_rejected_by_name() {
        for text in ["5.6.16", "6.7.2", "7.18.0", "10.0.0", "opensearch-4.0.0"] {
            let error = Server::parse(text).unwrap_err();
            assert!(matches!(error, ProfileError::NotModelled { .. }), "{text}");
            let number = text.trim_start_matches("opensearch-");
            assert!(error.to_string().contains(number), "{error}");
        }
        for text in [
            "",
            "7",
            "7.",
            "seven",
            "7.4.0.1",
            "7.400",
            "-7.4",
            "7.+4",
            "opensearch-",
        ] {
            let error = Server::parse(text).unwrap_err();
            assert!(matches!(error, ProfileError::NotAVersion(_)), "{text}");
        }
    }
}
