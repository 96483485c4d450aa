//! Frees, at the device, what a filesystem no longer uses, without anybody noticing.
//!
//! A **pass** is one complete trim of a filesystem. It is cut into **steps**, ranges that suit the
//! filesystem's own geometry ([`geometry`]); each is handed to the kernel by a child process
//! ([`child`]); the pass then waits until the drives have settled ([`settle`]) and until their
//! latency is back within the budget ([`pace`]), and writes a checkpoint ([`state`]). What reached
//! each layer is told by the devices' own counters ([`account`]), never by the `len` that FITRIM
//! returns.
//!
//! A **session** is what one call does for a pass: it takes the locks, finds the checkpoint of an
//! earlier session, waits for a window, lowers limits, makes the pass ([`session`]) and writes the
//! audit log ([`audit`]). What a pass would do is told beforehand ([`forecast`]), and how far it is by
//! [`status`]. Nothing here prints: sessions tell [`events`], and end in a [`summary`].
//!
//! Whether a filesystem may be trimmed at all is decided above this crate.

pub mod account;
pub mod audit;
pub mod child;
pub mod clock;
pub mod counters;
pub mod events;
pub mod filesystem;
pub mod forecast;
pub mod geometry;
pub mod kernel_log;
pub mod layers;
pub mod limits;
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
pub mod stop;
pub mod summary;
pub mod target;
mod waiting;
pub mod window;

mod ioctl;
mod process;
mod range;

pub use range::{ByteRange, Cursor, Step, StepBudget};
