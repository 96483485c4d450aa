//! Linux interfaces shared by several crates. Each is implemented once, and nothing here knows what
//! the result is used for.

pub mod atomic_file;
pub mod attributes;
pub mod child;
pub mod counters;
pub mod cpu;
pub mod device_number;
pub mod folder;
pub mod lock;
pub mod loop_device;
pub mod mount_id;
pub mod mount_points;
pub mod mountinfo;
pub mod octal;
mod poll;
pub mod realtime;
pub mod regular_file;
pub mod run;
pub mod xfs;

pub use poll::{read_some, wait_ready};
