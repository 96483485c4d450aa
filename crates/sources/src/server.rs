//! What a URL leads to.

use crate::SourceError;
use http::{Client, Endpoint, ErrorKind, HttpError, Response, shown};
use serde::Deserialize;
use std::fmt;

/// A server that keeps histories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Prometheus, or another server with its query interface.
    Prometheus {
        /// Its version, where it tells.
        version: Option<String>,
    },
    /// Elasticsearch.
    Elasticsearch {
        /// Its version.
        version: String,
    },
    /// OpenSearch.
    OpenSearch {
        /// Its version.
        version: String,
    },
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prometheus { version: None } => f.write_str("Prometheus"),
            Self::Prometheus {
                version: Some(version),
            } => write!(f, "Prometheus {version}"),
            Self::Elasticsearch { version } => write!(f, "Elasticsearch {version}"),
            Self::OpenSearch { version } => write!(f, "OpenSearch {version}"),
        }
    }
}

/// What answers at `/` of Elasticsearch and OpenSearch.
#[derive(Deserialize)]
struct Root {
    version: RootVersion,
}

#[derive(Deserialize)]
struct RootVersion {
    number: String,
    /// Only OpenSearch has it.
    distribution: Option<String>,
}

/// What answers at Prometheus' `/api/v1/status/buildinfo`.
#[derive(Deserialize)]
struct BuildInfo {
    status: String,
    data: Option<BuildData>,
}

#[derive(Deserialize)]
struct BuildData {
    version: Option<String>,
}

/// Asks a URL what it leads to: the root page of Elasticsearch and OpenSearch, else Prometheus' build
/// information (from 2.14 on), else a question to its query interface.
///
/// # Errors
/// Where nobody answers, where credentials are missing, and where it is none of these.
pub fn identify(client: &Client, endpoint: &Endpoint) -> Result<Server, SourceError> {
    let root = asked(client.get(endpoint, "/"))?;
    if let Some(root) = root.and_then(|answer| answer.json::<Root>().ok()) {
        let version = shown(root.version.number.as_bytes());
        return Ok(match root.version.distribution.as_deref() {
            Some("opensearch") => Server::OpenSearch { version },
            _ => Server::Elasticsearch { version },
        });
    }
    for page in ["/api/v1/status/buildinfo", "/api/v1/query?query=1"] {
        let answer = asked(client.get(endpoint, page))?;
        let info = answer.and_then(|answer| answer.json::<BuildInfo>().ok());
        if let Some(info) = info.filter(|info| info.status == "success") {
            let version = info.data.and_then(|data| data.version);
            let version = version.map(|version| shown(version.as_bytes()));
            return Ok(Server::Prometheus { version });
        }
    }
    Err(SourceError::refused(
        endpoint.to_string(),
        "neither Elasticsearch nor OpenSearch nor Prometheus answers here: give the server's own URL, \
         its base path included",
    ))
}

/// The answer if it is one of the page; `None` where the server has no such page, or none for us.
fn asked(outcome: Result<Response, HttpError>) -> Result<Option<Response>, HttpError> {
    match outcome.and_then(Response::success) {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match error.kind {
            ErrorKind::Status {
                code: 401 | 403, ..
            } => Err(error),
            ErrorKind::Status { .. } | ErrorKind::Redirect { .. } => Ok(None),
            _ => Err(error),
        },
    }
}
