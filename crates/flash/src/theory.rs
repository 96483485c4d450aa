//! Write amplification in closed form, by paper: a reference for the simulation, and a quick
//! estimate where it need not be exact.
//!
//! Terms: *over-provisioning* (`over_provisioning`, 0.07 is 7 %) is defined in [`crate::geometry`];
//! *alpha* = 1 + over-provisioning is physical pages per logical page; *write amplification* is
//! pages programmed per page the host wrote, at best 1. All formulas describe page-mapped drives in
//! equilibrium under random single-page writes. None of them models time.
//!
//! Without spare area nothing can be collected: an over-provisioning of 0 or less gives infinity
//! everywhere. NaN gives NaN.

mod choices;
mod lambert;
mod skewed;
mod trimmed;
mod uniform;

pub use choices::d_choices;
pub use lambert::lambert_w0;
pub use skewed::{Class, SkewError, mixed_fifo};
pub use trimmed::{in_use_share, trimmed_over_provisioning};
pub use uniform::{fifo, greedy};
