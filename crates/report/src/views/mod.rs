//! Views: each turns a result into a [`page::Page`]. Views decide what is shown; the `page` crate
//! decides how it is drawn.

pub mod bench;
pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod explain;
pub(crate) mod finding;
mod fleet;
pub(crate) mod groups;
pub mod livefix;
mod phrases;
pub mod plan;
pub mod rule;
pub mod shards;
pub mod ssd;
pub(crate) mod stack;
pub(crate) mod trim;
