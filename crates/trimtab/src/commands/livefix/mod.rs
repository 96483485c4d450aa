//! `trimtab livefix`: installs the agent that ends the scan of all shards in each reroute, and says where it is.

pub mod args;
mod run;

pub use run::run;
