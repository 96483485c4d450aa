//! The plain structs that cross crate borders: what a host is made of, what was found on it, and
//! what could not be looked at.
//!
//! This crate reads nothing and judges nothing. Units are part of a field's name (`_bytes`, `_s`),
//! what is unknown is `None` and never 0, and a missing fact leaves a [`Skipped`] that says why.

pub mod cluster;
mod error;
mod finding;
pub mod host;
pub mod series;
mod skipped;
mod stack;

pub use cluster::Cluster;
pub use error::InputError;
pub use finding::{Evidence, Finding, Remedy, Severity};
pub use host::Host;
pub use series::{Better, Dating, Series};
pub use skipped::Skipped;
pub use stack::{Layer, Stack};
