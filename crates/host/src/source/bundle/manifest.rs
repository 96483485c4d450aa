use crate::source::Stat;
use crate::unread::Unread;
use jiff::Timestamp;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Name and version of the bundle format. Adding a field does not change it.
pub const SCHEMA: &str = "trimtab.bundle/1";

/// `manifest.json`: the description of a bundle, and the answers that cannot be stored as files in
/// a tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the tool that wrote it.
    #[serde(default)]
    pub tool_version: String,
    /// When the host was read: the current time for all findings from the bundle.
    #[serde(default)]
    pub collected_at: Option<Timestamp>,
    /// Name of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Whether names, addresses and serial numbers were replaced.
    #[serde(default)]
    pub anonymised: bool,
    /// Effective user id of the collecting process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub euid: Option<u32>,
    /// Data paths supplied by the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_paths: Vec<String>,
    /// Whether everything that was queried is in this bundle, with its outcome.
    #[serde(default)]
    pub complete: bool,
    /// Directory listings by path.
    #[serde(default)]
    pub lists: BTreeMap<String, Vec<String>>,
    /// Link targets by path.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
    /// Kind, mode and modification time by path.
    #[serde(default)]
    pub stats: BTreeMap<String, Stat>,
    /// Contents of files whose paths are not allowed in an archive (`a/../b`, or below another
    /// file).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Content>,
    /// What could not be read, and why.
    #[serde(default)]
    pub unread: UnreadPaths,
}

/// What could not be read, by type of query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UnreadPaths {
    /// Contents by path.
    #[serde(default)]
    pub file: BTreeMap<String, Unread>,
    /// Directory listings by path.
    #[serde(default)]
    pub list: BTreeMap<String, Unread>,
    /// Link targets by path.
    #[serde(default)]
    pub link: BTreeMap<String, Unread>,
    /// Stats by path.
    #[serde(default)]
    pub stat: BTreeMap<String, Unread>,
    /// Command outputs by name.
    #[serde(default)]
    pub command: BTreeMap<String, Unread>,
}

/// A file's contents in JSON: a string, or numbers if it is not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

/// Written by hand: the implementation that serde derives for an untagged enum buffers each number
/// in 32 bytes before it knows the variant.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of bytes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Content, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = numbers.next_element()? {
                    bytes.push(byte);
                }
                Ok(Content::Bytes(bytes))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl Content {
    /// Returns the contents.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_strings_or_bytes() {
        for content in [
            Content::from(b"a".to_vec()),
            Content::from(vec![0xff, 0]),
            Content::Bytes(Vec::new()),
        ] {
            let json = serde_json::to_string(&content).expect("it is written");
            let read: Content = serde_json::from_str(&json).expect("it is read");
            assert_eq!(read, content);
        }
        for json in ["256", "[256]", "[-1]", "{}", "null", "[[1]]"] {
            assert!(serde_json::from_str::<Content>(json).is_err(), "{json}");
        }
    }
}
