//! Frees, at the device, what a filesystem no longer uses, without anybody noticing.
//!
//! A **pass** is one complete trim of a filesystem. It is cut into **steps**, ranges that suit the
//! filesystem's own geometry ([`geometry`]); each is handed to the kernel by a child process
//! ([`child`]); the pass then waits until the drives have settled ([`settle`]) and until their
//! latency is back within the budget ([`pace`]), and writes a checkpoint ([`state`]). What reached
//! each layer is told by the devices' own counters ([`account`]), never by the `len` that FITRIM
//! returns.
//!
//! Whether a filesystem may be trimmed at all is decided above this crate.

pub mod account;
pub mod child;
pub mod clock;
pub mod counters;
pub mod geometry;
pub mod kernel_log;
pub mod limits;
pub mod pace;
pub mod pass;
pub mod probe;
pub mod settle;
pub mod state;
pub mod stop;
pub mod target;

mod ioctl;
mod process;
mod range;

pub use range::{ByteRange, Cursor, Step, StepBudget};
