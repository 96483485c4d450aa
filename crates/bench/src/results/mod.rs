//! Results of other benchmarking tools, read into [trials](crate::compare::Trial); Rally's are also written.
//!
//! The format is recognised by what a document holds, not by its name. All input is hostile: sizes and counts
//! are bounded, and a value of another type than the tool writes is an error that names its place.

mod document;
mod error;
mod files;
mod format;
mod hyperfine;
mod json;
mod oha;
mod op_metrics;
mod opensearch;
mod race;
mod totals;

pub use error::ResultsError;
pub use files::{Reading, read_path};
pub use format::{Format, read_bytes};
pub use op_metrics::{Task, Throughput, Times};
pub use race::{ClusterResults, Race, read_race};
