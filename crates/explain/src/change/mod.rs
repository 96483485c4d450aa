//! Changes of level and slope that stay.
//!
//! 1. `robust`: spikes are cut back; series of more than 16,384 samples become blocks.
//! 2. `propose`: seeded binary segmentation proposes places, near-linear in the number of blocks.
//! 3. `decide`: dynamic programming picks the changes among them, weighed against noise with
//!    memory, random walks included.
//! 4. `confirm`: what large innovations, or longer memory, explain as well is dropped.
//! 5. `place`: back to the samples: where exactly, and what changed.
//!
//! Nothing in it is random. Memory follows the order of samples; slopes follow their times.

#![allow(clippy::cast_precision_loss)] // counts of samples, microseconds of some years

mod confirm;
mod decide;
mod grid;
mod place;
pub(crate) mod point;
mod propose;
mod robust;
mod scaled;
pub(crate) mod segments;
#[cfg(test)]
mod tests;

pub use point::{BreakKind, ChangeOptions, ChangePoint, Segment, Segments};
pub use segments::{change_points, segments};
