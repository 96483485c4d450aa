//! Queries over the network: recorded responses of real clusters, and failing servers.

mod play;
mod recorded;
mod trouble;
