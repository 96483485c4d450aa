//! Asks a running Elasticsearch or OpenSearch what it is made of, and turns the answers into
//! [`facts::Cluster`]. It only reads: every request is a GET.
//!
//! - [`ask`] sends the requests and keeps of each answer what the facts need, and nothing else
//!   ([`Answers`]): an allow-list of keys, so that no secret that an operator put into a setting or
//!   an attribute gets any further. The two answers that grow with the cluster, its routing table
//!   and the settings of its indices, are counted while they are parsed; mappings are never asked
//!   for.
//! - [`Answers::facts`] makes the facts. Live and saved answers go the same way.
//! - [`Answers::to_json`] and [`Answers::from_json`] save them and read them back;
//!   [`Answers::anonymise`] replaces the names in them.
//! - [`require_green`] asks for its health alone.
//! - [`threads::from_file`] reads a saved thread dump or answer of hot threads.
//!
//! An answer that does not come leaves a gap and a reason ([`Unanswered`]). All fails only where
//! nothing could be said: nobody answers, the credentials are not accepted, or it is another kind
//! of server ([`AskError`]).
//!
//! Names of paths and fields are those of Elasticsearch 6.8 to 8 and OpenSearch 1 to 2.

mod anonymise;
mod answer;
mod answers;
mod ask;
mod assemble;
mod green;
mod shards;
pub mod threads;

pub use answer::indices::{IndexTally, Indices};
pub use answer::nodes::{Node, NodeStats, Nodes, NodesStats, Responses};
pub use answer::root::Root;
pub use answer::routing::{ClosedRouting, Routing};
pub use answer::settings::{Settings, SettingsByKey};
pub use answers::{Answers, Part, SCHEMA, Unanswered};
pub use ask::{AskError, ask, options};
pub use green::{GreenError, require_green};
pub use shards::{ShardAnswer, ask_root, ask_shards, shard_options};
