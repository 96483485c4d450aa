//! Identifies the server behind a URL.

use crate::SourceError;
use bounded_http::{Client, Endpoint, ErrorKind, HttpError, Response, shown};
use serde::Deserialize;
use std::fmt;

/// A server that stores histories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Prometheus or a compatible server.
    Prometheus {
        /// Its version, if reported.
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

/// The response at `/` of Elasticsearch and OpenSearch.
#[derive(Deserialize)]
struct Root {
    version: RootVersion,
}

#[derive(Deserialize)]
struct RootVersion {
    number: String,
    /// Present only in OpenSearch.
    distribution: Option<String>,
}

/// The response at Prometheus' `/api/v1/status/buildinfo`.
#[derive(Deserialize)]
struct BuildInfo {
    status: String,
    data: Option<BuildData>,
}

#[derive(Deserialize)]
struct BuildData {
    version: Option<String>,
}

/// Identifies the server at a URL by the root page of Elasticsearch and OpenSearch, Prometheus' build
/// information (2.14 and later), or its query API.
///
/// # Errors
/// When nothing answers, when credentials are missing, or when it is none of these servers.
pub fn identify(client: &Client, endpoint: &Endpoint) -> Result<Server, SourceError> {
    let root = if_found(client.get(endpoint, "/"))?;
    if let Some(root) = root.and_then(|answer| answer.json::<Root>().ok()) {
        let version = shown(root.version.number.as_bytes());
        return Ok(match root.version.distribution.as_deref() {
            Some("opensearch") => Server::OpenSearch { version },
            _ => Server::Elasticsearch { version },
        });
    }
    for page in ["/api/v1/status/buildinfo", "/api/v1/query?query=1"] {
        let answer = if_found(client.get(endpoint, page))?;
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

/// Returns the response if the page exists; `None` if the server has no such page, or denies access to it.
fn if_found(outcome: Result<Response, HttpError>) -> Result<Option<Response>, HttpError> {
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
