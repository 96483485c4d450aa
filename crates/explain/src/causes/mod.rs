//! Which jobs may be behind a pattern.

pub(crate) mod attribution;
pub(crate) mod likelihood;
pub(crate) mod matches;
