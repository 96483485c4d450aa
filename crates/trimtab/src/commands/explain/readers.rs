//! The way to each reader: what the command line says, in the readers' own words.

use super::args::FileArgs;
use super::load::IndexQuery;
use http::{Client, Endpoint};
use sources::{Limits, Reading, SourceError, Times};
use std::path::Path;
use std::time::Duration;

fn absent(name: &str) -> SourceError {
    SourceError::Empty {
        source_name: name.to_owned(),
        reason: "this reader is not connected".to_owned(),
    }
}

pub fn is_store(_path: &Path) -> bool {
    false
}

pub fn store(
    path: &Path,
    _select: &[String],
    _times: &Times,
    _limits: &Limits,
) -> Result<Reading, SourceError> {
    Err(absent(&path.display().to_string()))
}

pub fn save(path: &Path, _reading: &Reading) -> Result<String, SourceError> {
    Err(absent(&path.display().to_string()))
}

pub fn is_ftdc(_path: &Path) -> bool {
    false
}

pub fn ftdc(
    path: &Path,
    _select: &[String],
    _step: Option<Duration>,
    _times: &Times,
    _limits: &Limits,
) -> Result<Reading, SourceError> {
    Err(absent(&path.display().to_string()))
}

pub fn file(
    path: &Path,
    _arguments: &FileArgs,
    _step: Option<Duration>,
    _times: &Times,
    _limits: Limits,
) -> Result<Reading, SourceError> {
    Err(absent(&path.display().to_string()))
}

pub fn prometheus(
    _client: &Client,
    endpoint: &Endpoint,
    _queries: &[String],
    _step: Duration,
    _times: &Times,
    _limits: &Limits,
) -> Result<Reading, SourceError> {
    Err(absent(&endpoint.to_string()))
}

pub fn index(
    _client: &Client,
    endpoint: &Endpoint,
    query: &IndexQuery<'_>,
    _step: Duration,
    _times: &Times,
    _limits: &Limits,
) -> Result<Reading, SourceError> {
    let IndexQuery {
        index,
        field,
        split_by,
        aggregate,
        filter,
    } = query;
    let _ = (index, field, split_by, aggregate, filter);
    Err(absent(&endpoint.to_string()))
}
