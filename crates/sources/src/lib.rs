//! Reads histories into [series](facts::series::Series).

mod csv;
mod detect;
mod error;
mod gather;
mod iostat;
mod jsonl;
pub mod mend;
mod rally;
mod reading;
mod sadf;
pub mod store;
mod table;
mod text;
pub mod times;

pub use detect::{FileOptions, Format, read_bytes, read_path};
pub use error::SourceError;
pub use reading::{Limits, Reading, Times};
