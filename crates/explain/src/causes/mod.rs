//! Possible causes of a pattern among the jobs.

pub(crate) mod attribution;
pub(crate) mod likelihood;
pub(crate) mod matches;
