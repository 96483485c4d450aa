//! What is at a path.

use linux::attributes::Attributes;
use serde::{Deserialize, Serialize};

/// The contents of a file, with its mode, owner, group and extended attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its ACL and other extended attributes.
    #[serde(
        default,
        with = "stored_attributes",
        skip_serializing_if = "Attributes::is_empty"
    )]
    pub attributes: Attributes,
}

impl Contents {
    /// A new file of this process's user, root but for images that others make, that everybody may read.
    pub fn own(text: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: Bytes(text.into()),
            mode: 0o644,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            attributes: Attributes::default(),
        }
    }

    /// Contents that everybody may read, with the owner of another file and no ACL.
    pub fn readable(bytes: Vec<u8>, like: &Self) -> Self {
        Self {
            bytes: Bytes(bytes),
            mode: 0o644,
            attributes: Attributes::default(),
            ..like.clone()
        }
    }

    /// The same file with other bytes.
    #[must_use]
    pub fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self {
            bytes: Bytes(bytes),
            ..self.clone()
        }
    }
}

/// The bytes of a file; in JSON a string if they are UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Bytes> for Stored {
    fn from(Bytes(bytes): Bytes) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

impl From<Stored> for Bytes {
    fn from(stored: Stored) -> Self {
        Self(match stored {
            Stored::Text(text) => text.into_bytes(),
            Stored::Bytes(bytes) => bytes,
        })
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// What is at a path, if anything is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A file.
    File(Contents),
    /// A symbolic link, with its target.
    Link(String),
}

impl Entry {
    /// The contents of a file; `None` for a link.
    pub fn file(&self) -> Option<&Contents> {
        match self {
            Self::File(contents) => Some(contents),
            Self::Link(_) => None,
        }
    }
}

/// Attributes as pairs of a name and a value: neither has to be UTF-8.
mod stored_attributes {
    use linux::attributes::Attributes;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::CString;

    pub fn serialize<S: Serializer>(attributes: &Attributes, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            attributes
                .iter()
                .map(|(name, value)| (name.to_bytes(), value)),
        )
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Attributes, D::Error> {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::deserialize(from)?;
        let named = pairs
            .into_iter()
            .map(|(name, value)| Ok((CString::new(name)?, value)));
        named
            .collect::<Result<_, std::ffi::NulError>>()
            .map_err(serde::de::Error::custom)
    }
}
