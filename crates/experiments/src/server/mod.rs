//! A node of Elasticsearch or OpenSearch of the experiment's own: on loopback, under a user of its own, alone.

mod archive;
mod configuration;
mod distribution;
mod fetch;
mod java;
mod node;

pub use archive::ArchiveError;
pub use distribution::{Distribution, DistributionError, Product, Version};
pub use fetch::{FetchError, Named};
pub use java::JavaError;
pub use node::{Node, NodeError, NodeOptions};
