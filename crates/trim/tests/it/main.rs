//! What only real filesystems, devices and processes can show.

mod child;
mod geometry;
mod limits;
mod state;
mod support;
