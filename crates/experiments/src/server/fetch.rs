//! Servers by name, `elasticsearch-6.8.23`, through Maven as it is configured on this machine.

use super::distribution::{Product, Version};
use bench::path_error::{PathError, at};
use facts::InputError;
use linux::run::{IfStuck, KeepStderr, Limits, RunError, run};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// Archives have up to 500 MB.
const DEADLINE: Duration = Duration::from_mins(15);

/// A server that Maven can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    product: Product,
    version: Version,
}

/// Why a server could not be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Maven is not installed.
    #[error("mvn is not installed: apt-get install maven, or name the server's archive or folder")]
    NoMaven,
    /// Maven did not end well by itself.
    #[error("mvn: {0}")]
    Run(#[source] RunError),
    /// Maven does not have it.
    #[error("Maven cannot fetch {artifact}: {message}")]
    Refused {
        /// Its coordinates.
        artifact: String,
        /// What Maven said.
        message: String,
    },
}

impl FromStr for Named {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let named = || {
            let (product, version) = text.split_once('-')?;
            let product = Product::ALL
                .into_iter()
                .find(|known| known.id() == product)?;
            // What is no version must not become a part of a coordinate.
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
            let version = Version::parse(version).filter(|_| version.chars().all(is_plain))?;
            Some(Self { product, version })
        };
        named().ok_or_else(|| {
            InputError::new(
                "--server",
                "elasticsearch-VERSION, opensearch-VERSION, or the path of an archive or of an unpacked server",
                text,
            )
        })
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.product.id(), self.version)
    }
}

impl Named {
    /// Its coordinates. The whole distribution of Elasticsearch is there for 5 and 6; what is there for later versions and
    /// for OpenSearch is made for integration tests, without most modules.
    fn artifact(&self) -> String {
        let group = match self.product {
            Product::Elasticsearch if self.version < (7, 0) => "org.elasticsearch.distribution.zip",
            Product::Elasticsearch => "org.elasticsearch.distribution.integ-test-zip",
            Product::Opensearch => "org.opensearch.distribution.integ-test-zip",
        };
        format!("{group}:{}:{}:zip", self.product.id(), self.version)
    }

    /// Returns the archive in the folder `cache`, fetched if it is not there.
    ///
    /// # Errors
    /// If Maven is missing or does not have it.
    pub fn fetch(&self, cache: &Path) -> Result<PathBuf, FetchError> {
        let archive = cache.join(format!("{self}.zip"));
        if archive.exists() {
            return Ok(archive);
        }
        fs::create_dir_all(cache).map_err(at(cache))?;
        // Beside it, so that the archive appears whole or not at all.
        let into = cache.join(format!(".fetch-{}", std::process::id()));
        let fetched = self.fetch_into(&into, &archive);
        let removed = fs::remove_dir_all(&into);
        fetched?;
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(at(&into))?,
        }
        Ok(archive)
    }

    fn fetch_into(&self, into: &Path, archive: &Path) -> Result<(), FetchError> {
        let artifact = self.artifact();
        let limits = Limits {
            deadline: DEADLINE,
            stdout_bytes_max: Some(1 << 20),
            keep_stderr: KeepStderr::Last,
            if_stuck: IfStuck::Abandon,
        };
        // The user's environment: it may name a proxy, and Maven's settings are in HOME.
        for arguments in [
            vec![
                "dependency:get".to_owned(),
                "-Dtransitive=false".to_owned(),
                format!("-Dartifact={artifact}"),
            ],
            vec![
                "-o".to_owned(),
                "dependency:copy".to_owned(),
                format!("-Dartifact={artifact}"),
                format!("-DoutputDirectory={}", into.display()),
            ],
        ] {
            let mut command = Command::new("mvn");
            command.args(["-B", "-q"]).args(arguments);
            let ended = run(&mut command, &limits).map_err(|error| match error {
                RunError::Start(error) if error.kind() == io::ErrorKind::NotFound => {
                    FetchError::NoMaven
                }
                error => FetchError::Run(error),
            })?;
            if !ended.status.success() {
                let said = String::from_utf8_lossy(&ended.stdout);
                let line = said.lines().find(|line| line.contains("ERROR"));
                return Err(FetchError::Refused {
                    artifact,
                    message: units::escape(line.unwrap_or("it gives no reason").trim())
                        .into_owned(),
                });
            }
        }
        let mut files = fs::read_dir(into).map_err(at(into))?;
        match files.next() {
            Some(file) => {
                let file = file.map_err(at(into))?.path();
                fs::rename(&file, archive).map_err(at(archive))?;
                Ok(())
            }
            None => Err(FetchError::Refused {
                artifact,
                message: "it copied nothing".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_products_with_versions() {
        for (text, artifact) in [
            (
                "elasticsearch-6.8.23",
                "org.elasticsearch.distribution.zip:elasticsearch:6.8.23:zip",
            ),
            (
                "elasticsearch-7.17.28",
                "org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.17.28:zip",
            ),
            (
                "opensearch-2.19.1",
                "org.opensearch.distribution.integ-test-zip:opensearch:2.19.1:zip",
            ),
        ] {
            let named: Named = text.parse().unwrap();
            assert_eq!(
                (named.to_string().as_str(), named.artifact().as_str()),
                (text, artifact)
            );
        }
        for text in [
            "",
            "elasticsearch",
            "elasticsearch-6",
            "mongodb-6.0.1",
            "elasticsearch-6.8.23:zip -Dx=y",
            "elasticsearch-6.8.2/../x",
        ] {
            assert!(text.parse::<Named>().is_err(), "{text}");
        }
    }
}
