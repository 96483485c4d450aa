//! Possible causes of a pattern among the jobs.

pub(crate) mod attribution;
mod baseline;
mod course;
mod events;
pub(crate) mod likelihood;
mod located;
pub(crate) mod matches;
mod response;
mod sums;
mod weighing;
