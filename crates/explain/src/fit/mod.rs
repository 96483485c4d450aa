//! Exact fits of patterns, one by one and jointly.

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
