//! Waits until an index is at rest, so that sizes can be compared.

use super::track::INDEX;
use bounded_http::{Client, Endpoint, HttpError};
use serde::Deserialize;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Merges that take longer than this after the last document hang.
const MERGE_PATIENCE: Duration = Duration::from_mins(20);
const POLL: Duration = Duration::from_millis(500);
/// Longer than the server keeps the size of its files.
const SIZE_KEPT: Duration = Duration::from_millis(1_500);

/// Why an index does not come to rest.
#[derive(Debug, Error)]
pub enum SettleError {
    /// The server's answers.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Merges do not end.
    #[error("merges did not end within {} min", MERGE_PATIENCE.as_secs() / 60)]
    Merges,
    /// The user ended it.
    #[error("stopped")]
    Stopped,
}

/// An index at rest.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    /// What its files take.
    pub(super) store_bytes: u64,
    pub(super) documents: u64,
    pub(super) segments: u64,
}

/// What `_stats` says of an index.
#[derive(Debug, Deserialize)]
struct Stats {
    #[serde(rename = "_all")]
    all: All,
}

#[derive(Debug, Deserialize)]
struct All {
    primaries: Primaries,
}

#[derive(Debug, Deserialize)]
struct Primaries {
    docs: Count,
    store: Store,
    segments: Count,
    merges: Merges,
}

#[derive(Debug, Deserialize)]
struct Count {
    count: u64,
}

#[derive(Debug, Deserialize)]
struct Store {
    size_in_bytes: u64,
}

#[derive(Debug, Deserialize)]
struct Merges {
    current: u64,
}

/// Makes everything searchable and durable, and waits until no merge runs.
pub(super) fn settle(
    server: &Endpoint,
    is_stopped: impl Fn() -> bool,
) -> Result<Settled, SettleError> {
    let client = Client::new(bounded_http::Options {
        deadline: MERGE_PATIENCE,
        ..bounded_http::Options::default()
    })?;
    let flush = || -> Result<(), HttpError> {
        client
            .get(server, &format!("/{INDEX}/_refresh"))?
            .success()?;
        let path = format!("/{INDEX}/_flush?force=true&wait_if_ongoing=true");
        client.get(server, &path)?.success()?;
        Ok(())
    };
    let stats = || -> Result<Primaries, HttpError> {
        let path = format!("/{INDEX}/_stats/docs,store,segments,merge");
        let stats: Stats = client.get(server, &path)?.success()?.json()?;
        Ok(stats.all.primaries)
    };
    flush()?;
    let until = Instant::now() + MERGE_PATIENCE;
    while stats()?.merges.current > 0 {
        if is_stopped() {
            return Err(SettleError::Stopped);
        }
        if Instant::now() >= until {
            return Err(SettleError::Merges);
        }
        thread::sleep(POLL);
    }
    // What the merges replaced is removed by a flush.
    flush()?;
    thread::sleep(SIZE_KEPT);
    let stats = stats()?;
    Ok(Settled {
        store_bytes: stats.store.size_in_bytes,
        documents: stats.docs.count,
        segments: stats.segments.count,
    })
}
