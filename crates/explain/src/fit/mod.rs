//! Exact fits of patterns, one by one and jointly.

pub(crate) mod best;
mod clear_box;
pub(crate) mod extent;
pub(crate) mod find;
pub(crate) mod forms;
pub(crate) mod found;
pub(crate) mod likelihood;
pub(crate) mod located;
pub(crate) mod refine;
pub(crate) mod segmentation;
pub(crate) mod size;
pub(crate) mod together;
pub(crate) mod weekdays;
