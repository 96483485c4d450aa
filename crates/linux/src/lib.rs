//! What several rooms ask of the Linux kernel. Each question is asked in one place, and nothing here
//! knows what the answer is for.

pub mod atomic_file;
pub mod child;
pub mod device_number;
pub mod helper;
pub mod lock;
pub mod mountinfo;
pub mod octal;
pub mod run;
pub mod xfs;

mod poll;

pub use poll::{read_until, wait_ready};
