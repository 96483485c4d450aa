//! Reads histories into [series](facts::series::Series).

pub mod elastic;
mod error;
pub mod ftdc;
pub mod prometheus;
mod reading;
mod samples;
mod server;

pub use error::SourceError;
pub use reading::{Limits, Reading, Times};
pub use server::{Server, identify};
