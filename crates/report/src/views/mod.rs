//! One view for each answer: a result in, a [`page::Page`] out. What is said stands here, how it is
//! drawn in crate `page`.

pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod explain;
pub(crate) mod finding;
pub(crate) mod groups;
pub mod rule;
pub mod shards;
pub mod ssd;
pub(crate) mod stack;
pub(crate) mod trim;
