//! Searches for the periods, or the jobs' runs, that explain a series better than noise does.

pub(crate) mod bootstrap;
pub(crate) mod fold;
mod moving;
pub(crate) mod periods;
pub(crate) mod runs;
pub(crate) mod scratch;
pub(crate) mod weekly;
pub(crate) mod windows;
