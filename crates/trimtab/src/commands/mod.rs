//! One file per command: arguments to libraries, results to renderers.

pub mod check;
pub mod cluster;
pub mod collect;
pub mod manual;
pub mod rule;
pub mod shards;
pub mod source;
pub mod ssd;
pub mod trim;
