//! An unpacked server: which one, and which version.

use super::archive::{ArchiveError, unpack};
use bench::path_error::{PathError, at};
use linux::folder::Folder;
use std::cmp::Ordering;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// In the workspace: what was unpacked.
const UNPACKED: &str = "server";

/// A server that experiments run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Product {
    /// Elasticsearch.
    Elasticsearch,
    /// OpenSearch.
    Opensearch,
}

impl Product {
    pub(crate) const ALL: [Self; 2] = [Self::Elasticsearch, Self::Opensearch];

    /// Its name in files and paths.
    pub fn id(self) -> &'static str {
        match self {
            Self::Elasticsearch => "elasticsearch",
            Self::Opensearch => "opensearch",
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elasticsearch => "Elasticsearch",
            Self::Opensearch => "OpenSearch",
        })
    }
}

/// A release, such as 6.8.23.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Before the first point.
    pub major: u32,
    /// Before the second.
    pub minor: u32,
    text: String,
}

impl Version {
    /// Parses `6.8.23`, or `3.0.0-beta1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let number = |part: Option<&str>| part?.parse().ok();
        let (major, minor) = (number(parts.next())?, number(parts.next())?);
        let is_patch = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        parts.next().is_some_and(is_patch).then(|| Self {
            major,
            minor,
            text: text.to_owned(),
        })
    }
}

impl PartialOrd<(u32, u32)> for Version {
    fn partial_cmp(&self, other: &(u32, u32)) -> Option<Ordering> {
        Some((self.major, self.minor).cmp(other))
    }
}

impl PartialEq<(u32, u32)> for Version {
    fn eq(&self, other: &(u32, u32)) -> bool {
        (self.major, self.minor) == *other
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An unpacked server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// Its folder, with `bin` and `lib`.
    pub home: PathBuf,
    /// Which server.
    pub product: Product,
    /// Which release.
    pub version: Version,
}

/// Why a folder is no server.
#[derive(Debug, Error)]
pub enum DistributionError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It cannot be unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// There is no server in it.
    #[error(
        "{}: expected an unpacked Elasticsearch or OpenSearch, found no lib/elasticsearch-VERSION.jar or \
         lib/opensearch-VERSION.jar",
        units::escape(&.0.to_string_lossy())
    )]
    None(PathBuf),
}

impl Distribution {
    /// Takes an unpacked server, or unpacks an archive in the folder `within`.
    ///
    /// # Errors
    /// If there is no server in either.
    pub fn open(path: &Path, within: &Folder) -> Result<Self, DistributionError> {
        if path.is_dir() {
            return Self::at(path);
        }
        let into = within.make_folder(UNPACKED, 0o755);
        let into = into.map_err(at(&within.join(UNPACKED)))?;
        Self::at(&unpack(path, &into)?)
    }

    /// Recognises the server in `home` by its main library, whose name has the version.
    ///
    /// # Errors
    /// If it is none.
    pub fn at(home: &Path) -> Result<Self, DistributionError> {
        let lib = home.join("lib");
        let files = match fs::read_dir(&lib) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DistributionError::None(home.to_owned()));
            }
            files => files.map_err(at(&lib))?,
        };
        let mut found = files.flatten().filter_map(|file| {
            let name = file.file_name();
            let name = name.to_str()?.strip_suffix(".jar")?;
            Product::ALL.into_iter().find_map(|product| {
                // elasticsearch-core-6.8.23.jar has no version after the first hyphen.
                let version = name.strip_prefix(product.id())?.strip_prefix('-')?;
                Some((product, Version::parse(version)?))
            })
        });
        let (product, version) = found
            .next()
            .ok_or_else(|| DistributionError::None(home.to_owned()))?;
        Ok(Self {
            home: home.to_owned(),
            product,
            version,
        })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.product, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(files: &[&str]) -> Result<Distribution, DistributionError> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("lib")).unwrap();
        for file in files {
            fs::write(home.path().join("lib").join(file), "").unwrap();
        }
        Distribution::at(home.path())
    }

    #[test]
    fn a_server_is_known_by_its_library() {
        let found = with(&[
            "elasticsearch-core-6.8.23.jar",
            "elasticsearch-x-content-6.8.23.jar",
            "lucene-core-7.7.3.jar",
            "elasticsearch-6.8.23.jar",
        ]);
        assert_eq!(found.unwrap().to_string(), "Elasticsearch 6.8.23");
        let found = with(&["opensearch-cli-3.0.0.jar", "opensearch-3.0.0-beta1.jar"]).unwrap();
        assert_eq!(found.to_string(), "OpenSearch 3.0.0-beta1");
        assert!(found.version >= (3, 0) && found.version < (3, 1));
        let none = with(&["lucene-core-7.7.3.jar", "elasticsearch-core-6.8.23.jar"]);
        assert!(matches!(none, Err(DistributionError::None(_))), "{none:?}");
    }
}
