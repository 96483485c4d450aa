//! `trimtab shards`: simulates the master's shard decisions for a cluster state, and their cost.

pub mod args;
mod load;
mod run;
mod values;

pub use run::run;
