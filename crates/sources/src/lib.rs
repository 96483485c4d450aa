//! Reads histories into [series](facts::series::Series).

mod error;
mod reading;
pub mod store;

pub use error::SourceError;
pub use reading::{Limits, Reading, Times};
