//! Paced TRIM: discards a filesystem's unused space in small steps without disturbing the workload.
//!
//! A **pass** is one complete trim of a filesystem. It is cut into **steps**, ranges that suit the
//! filesystem's own geometry ([`geometry`]). Each step is handed to the kernel by a child process
//! ([`child`]). The pass then waits until the drives have settled ([`settle`]) and until their
//! latency is back within the budget ([`pace`]), and writes a checkpoint ([`state`]). How much
//! reached each layer is taken from the devices' own counters ([`account`]), never from the `len`
//! that FITRIM returns.
//!
//! A **session** is one run of the program for a pass: it takes the locks, finds the checkpoint of
//! an earlier session, waits for a window, runs the pass ([`session`]) and writes the audit log
//! ([`audit`]). [`forecast`] predicts what a pass would do, and [`status`] reports
//! how far it is. Nothing here prints: sessions emit [`events`] and end in a [`summary`].
//!
//! Whether a filesystem may be trimmed at all is decided by the callers of this crate.

pub mod account;
pub mod audit;
pub mod child;
pub mod clock;
pub mod counters;
pub mod debt;
pub mod events;
pub mod filesystem;
pub mod forecast;
pub mod geometry;
pub mod kernel_log;
pub mod layers;
pub mod pace;
pub mod pass;
pub mod privilege;
pub mod probe;
pub mod request;
pub mod resume;
pub mod session;
pub mod settle;
pub mod signals;
pub mod state;
pub mod status;
mod step;
pub mod stop;
pub mod summary;
pub mod target;
mod waiting;
pub mod window;

mod ioctl;
mod process;

pub use step::{ByteRange, Cursor, Step, StepBudget};
