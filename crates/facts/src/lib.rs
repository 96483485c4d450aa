//! Plain data types shared by all crates: the facts about a host or cluster, findings, and what
//! could not be examined.
//!
//! This crate does no I/O and applies no rules. Field names carry their units (`_bytes`, `_s`),
//! unknown values are `None` and never 0, and a missing fact leaves a [`Skipped`] entry with the
//! reason.

pub mod cluster;
mod edit;
mod error;
mod finding;
pub mod host;
pub mod series;
mod skipped;
mod stack;

pub use cluster::Cluster;
pub use edit::Edit;
pub use error::InputError;
pub use finding::{Evidence, Finding, Remedy, Severity};
pub use host::Host;
pub use series::{Better, Dating, Series};
pub use skipped::Skipped;
pub use stack::{Layer, Stack};
