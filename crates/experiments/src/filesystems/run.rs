//! What a run found.

use bench::trial::TrialDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// What a trial of a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queried {
    /// Writes the documents.
    Ingest,
    /// Queries, without the request cache.
    Query,
    /// Queries, with the request cache.
    QueryCached,
    /// Queries without the request cache, while documents are written.
    QueryWhileIngesting,
}

impl Queried {
    pub(crate) const QUERIES: [Self; 3] =
        [Self::Query, Self::QueryCached, Self::QueryWhileIngesting];

    /// Its name in paths.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Query => "query",
            Self::QueryCached => "query-cached",
            Self::QueryWhileIngesting => "query-while-ingesting",
        }
    }

    /// Its name, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Query => "query",
            Self::QueryCached => "query, request cache on",
            Self::QueryWhileIngesting => "query while ingesting",
        }
    }
}

/// One run of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VariantRun {
    /// The variant.
    pub variant: String,
    /// What the filesystem's use grew by.
    pub filesystem_bytes: u64,
    /// What the files take by compsize(8); `null` on other filesystems than Btrfs, or if it is not installed.
    pub compsize_bytes: Option<u64>,
    /// What the server says that its files take.
    pub store_bytes: u64,
    /// Documents in the index.
    pub documents: u64,
    /// Segments of the index.
    pub segments: u64,
    /// How far the kernel reads ahead on the filesystem, at most; `null` if it is not known.
    pub read_ahead_bytes: Option<u64>,
    /// Page cache that the server was given beside what it takes itself; `null` if it was not limited.
    pub cache_bytes: Option<u64>,
    /// Its trials, in order.
    pub trials: Vec<RunTrial>,
}

impl VariantRun {
    /// The trial of a kind.
    pub fn trial(&self, what: Queried) -> Option<&RunTrial> {
        self.trials.iter().find(|trial| trial.what == what)
    }
}

/// A trial of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunTrial {
    /// What it does.
    pub what: Queried,
    /// Its folder.
    pub folder: String,
    /// Bytes that the server read from the drive while it started: it was cold if there are any.
    pub start_read_bytes: u64,
    /// What was run and measured.
    pub trial: TrialDocument,
}
