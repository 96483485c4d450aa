//! Tests that need real filesystems, devices and processes.

mod child;
mod geometry;
mod state;
mod support;
