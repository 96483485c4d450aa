use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The server product. The two differ in some names, and their code diverges only slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// Elasticsearch.
    Elasticsearch,
    /// OpenSearch, forked from Elasticsearch 7.10.2 as its version 1.0.
    Opensearch,
}

impl Flavour {
    /// Returns the product name for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::Elasticsearch => "Elasticsearch",
            Self::Opensearch => "OpenSearch",
        }
    }
}

/// A server version: `7.4.0`, `2.19.1`, `8.0.0-rc1`. Ordered by its numbers; a version with a
/// qualifier sorts before the release. Versions of different products are not comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerVersion {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Patch version; 0 if not reported.
    pub patch: u32,
    /// Text after the hyphen: `SNAPSHOT`, `rc1`.
    pub qualifier: Option<String>,
}

impl ServerVersion {
    /// Creates a release version.
    pub fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
            qualifier: None,
        }
    }
}

impl PartialOrd for ServerVersion {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ServerVersion {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch, v.qualifier.is_none());
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| self.qualifier.cmp(&other.qualifier))
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        match &self.qualifier {
            Some(qualifier) => write!(f, "-{qualifier}"),
            None => Ok(()),
        }
    }
}

/// Maximum qualifier length accepted, in characters.
const QUALIFIER_CHARS_MAX: usize = 32;

impl FromStr for ServerVersion {
    type Err = String;

    /// # Errors
    /// If `text` is not a version; the error says what was expected.
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || "a version such as 7.4.0".to_owned();
        let (numbers, qualifier) = match text.split_once('-') {
            Some((numbers, qualifier)) => (numbers, Some(qualifier)),
            None => (text, None),
        };
        let mut parts = numbers.split('.').map(|part| {
            // parse() would accept a sign.
            let digits = part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        });
        let mut next = || parts.next();
        let (major, minor) = (next(), next());
        let (Some(Some(major)), Some(Some(minor))) = (major, minor) else {
            return Err(error());
        };
        let patch = match next() {
            None => 0,
            Some(patch) => patch.ok_or_else(error)?,
        };
        let plain = |text: &str| {
            !text.is_empty()
                && text.chars().count() <= QUALIFIER_CHARS_MAX
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
        };
        if next().is_some() || qualifier.is_some_and(|text| !plain(text)) {
            return Err(error());
        }
        Ok(Self {
            major,
            minor,
            patch,
            qualifier: qualifier.map(str::to_owned),
        })
    }
}

impl Serialize for ServerVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ServerVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|expected: String| {
            let found: String = text.chars().take(QUALIFIER_CHARS_MAX).collect();
            serde::de::Error::custom(format!("expected {expected}, found {found:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let sorted = [
            "6.8.23",
            "7.4.0",
            "7.4.2",
            "7.10.2",
            "7.17.28",
            "8.0.0-SNAPSHOT",
            "8.0.0-rc1",
            "8.0.0",
        ];
        let versions: Vec<ServerVersion> = sorted.iter().map(|v| v.parse().unwrap()).collect();
        assert!(versions.windows(2).all(|pair| pair[0] < pair[1]));
        for (version, text) in versions.iter().zip(sorted) {
            assert_eq!(version.to_string(), text);
        }
        assert_eq!("2.19".parse(), Ok(ServerVersion::new(2, 19, 0)));
    }

    #[test]
    fn other_texts_are_rejected_as_versions() {
        for text in [
            "",
            "7",
            "7.",
            "7.x",
            "+7.1",
            "7.1.2.3",
            "7.1.2-",
            "7.1.2-a b",
            "4294967296.0",
        ] {
            assert!(text.parse::<ServerVersion>().is_err(), "{text}");
        }
    }
}
