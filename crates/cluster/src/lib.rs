//! Queries a running Elasticsearch or OpenSearch cluster and turns the responses into
//! [`facts::Cluster`]. Every request is a GET, except for those of [`Upload`], which sends results to indices of
//! their own.
//!
//! - [`ask`] sends the requests and keeps only what the facts need from each response
//!   ([`Answers`]): an allow-list of keys, so that secrets in settings or attributes go no further.
//!   The two responses that grow with the cluster, its routing table and the settings of its
//!   indices, are counted while parsing; mappings are never requested.
//! - [`Answers::facts`] builds the facts, from live and saved responses alike.
//! - [`Answers::to_json`] and [`Answers::from_json`] save and load responses;
//!   [`Answers::anonymise`] replaces the names in them.
//! - [`diagnostics`] reads them out of an archive of elastic/support-diagnostics.
//! - [`require_green`] queries the health only.
//! - [`threads::from_file`] reads a saved thread dump or hot threads response.
//!
//! A missing response leaves a gap and a reason ([`Unanswered`]). The whole query fails only if
//! nothing can be learned: no response, rejected credentials, or another kind of server
//! ([`AskError`]).
//!
//! Paths and fields are named as in Elasticsearch 6.8 to 8 and OpenSearch 1 to 2.

mod anonymise;
mod answer;
mod answers;
mod ask;
mod assemble;
pub mod diagnostics;
mod green;
mod shards;
pub mod threads;
mod upload;
#[cfg(test)]
mod upload_tests;

pub use answer::indices::{IndexTally, Indices};
pub use answer::nodes::{Node, NodeStats, Nodes, NodesStats, Responses};
pub use answer::root::Root;
pub use answer::routing::{ClosedRouting, Routing};
pub use answer::settings::{Settings, SettingsByKey};
pub use answers::{Answers, Part, SCHEMA, Unanswered};
pub use ask::{AskError, ask, options};
pub use green::{GreenError, require_green};
pub use shards::{ShardAnswer, ask_root, ask_shards, shard_options};
pub use upload::{Indices as UploadIndices, Upload, UploadError, Uploaded};
