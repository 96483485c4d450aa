//! Analyses short disk logs: too short for a pattern, long enough for a burst.
//!
//! A few samples of `iostat` from before and after a slowdown are no history, but they show what the disks
//! did: what was discarded, by how much writes jumped and reads fell, and whether the writes can have been writes at all.
//! Before 4.18 Linux counts discards as writes (Documentation/admin-guide/iostats.rst: fields 15 to 18 came
//! with 4.18), so a trim looks like gigabytes per second.
//!
//! **Definitions.** A *burst* of discards is consecutive samples in which at least ten times as much is discarded, on all
//! drives, as in the quietest thirtieth of the log; the clearest is the one that discards most. Where discards are not counted, or none
//! stand out, the *jump* of writes is before the sample whose total written to all drives is the largest multiple of that
//! in the previous sample, and bursts are all samples of ten times that. What was *before* is the median of the samples
//! outside of bursts; of fewer than five, the first one, which is undisturbed:
//!
//! - rates rise by `in the burst / before`; reads fall by `before / sample of the burst`, for each;
//! - *harm* is what gets worse in the clearest burst of discards, or in all of writes: reads fall by half, or take three times as long; CPU time spent
//!   waiting for disks rises by three points; a device is busy; each in half of its samples, and beyond all samples outside
//!   of bursts. Writes that jump without harm are no finding.
//!
//! **What it never reports**: a period, or who sent the discards.

mod burst;
mod harm;
mod jump;
mod mounts;
mod result;
mod sentences;
mod stack;
mod table;

pub use jump::{LogContext, is_of_log, read_disk_log};
pub use mounts::MountedWith;
pub use result::{Burst, DeviceJump, DiskLog, Harm, HarmTo, Moved};
