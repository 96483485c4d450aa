//! Models of series, noise and patterns.

pub(crate) mod form;
pub(crate) mod grid;
pub(crate) mod input;
pub(crate) mod noise;
pub(crate) mod pattern;
pub(crate) mod samples;
