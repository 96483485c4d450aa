//! Detects lasting changes of level and slope.
//!
//! 1. `robust`: outliers are clipped; series of more than 16,384 samples are averaged in blocks.
//! 2. `propose`: seeded binary segmentation proposes positions, in near-linear time.
//! 3. `decide`: dynamic programming selects the changes among them, against autocorrelated noise, including
//!    random walks.
//! 4. `confirm`: changes that large innovations, or longer memory, explain as well are dropped.
//! 5. `place`: back to the samples: the exact position and kind of each change.
//!
//! The algorithm is deterministic. Autocorrelation follows the order of samples; slopes follow their times.

#![allow(clippy::cast_precision_loss)] // counts of samples, microseconds of some years

mod confirm;
mod decide;
#[cfg(test)]
mod draw;
mod grid;
mod place;
mod point;
mod propose;
mod robust;
mod scaled;
mod segments;
#[cfg(test)]
mod tests;

pub use point::{BreakKind, ChangePoint, Segment, Segments};
pub use segments::segments;
