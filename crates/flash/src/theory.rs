//! Write amplification in closed form, by paper: what the simulation is measured against, and what
//! an answer costs that need not be exact.
//!
//! Words: *over-provisioning* (`over_provisioning`, 0.07 is 7 %) as [`crate::geometry`] counts it;
//! *alpha* = 1 + over-provisioning, physical pages by logical page; *write amplification*, pages
//! programmed by page that the host wrote, 1 at best. All formulas describe page-mapped drives in
//! equilibrium, whose host writes single pages at random, except [`over_writes`], which describes the
//! way there. None knows the time.
//!
//! Without spare area nothing can be collected: over-provisioning of 0 and less gives infinity
//! everywhere, and what is not a number stays so.

mod choices;
mod lambert;
mod skewed;
mod transient;
mod trimmed;
mod uniform;

pub use choices::d_choices;
pub use lambert::lambert_w0;
pub use skewed::{Class, SkewError, mixed_fifo, separated};
pub use transient::{Curve, Start, over_writes};
pub use trimmed::{in_use_share, trimmed_over_provisioning};
pub use uniform::{fifo, fifo_over_provisioning, greedy, random_choice};
