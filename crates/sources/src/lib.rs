//! Reads histories into [series](facts::series::Series): from files (CSV, JSON lines, `iostat`, `sadf`,
//! FTDC, Rally) and from servers (Prometheus, Elasticsearch, OpenSearch).

pub mod clean;
mod collector;
mod csv;
mod detect;
mod discard_time;
pub mod elastic;
mod error;
pub mod ftdc;
pub mod gaps;
mod iostat;
mod jsonl;
mod options;
pub mod prometheus;
mod rally;
mod reading;
mod sadf;
mod saved;
mod server;
mod successive;
mod table;
#[cfg(test)]
mod testing;
mod text;
pub mod times;

pub use detect::{files_of, read_bytes, read_path};
pub use error::SourceError;
pub use options::{FileOptions, Format};
pub use reading::{Limits, Reading, Times};
pub use server::{Server, identify};
pub use successive::join_successive;
