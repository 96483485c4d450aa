//! Analyses short disk logs: too short for a pattern, long enough for a jump.
//!
//! A few samples of `iostat` from before and after a slowdown are no history, but they show what the disks
//! did: by how much writes jumped and reads fell, and whether the writes can have been writes at all.
//! Before 4.18 Linux counts discards as writes (Documentation/admin-guide/iostats.rst: fields 15 to 18 came
//! with 4.18), so a trim looks like gigabytes per second.
//!
//! **Definitions.** The *jump* is before the sample whose total written to all drives is the largest
//! multiple of that in the previous sample. The first sample of the log, which is undisturbed, is compared
//! with those after the jump:
//!
//! - writes rise by `first sample after the jump / first sample of the log`;
//! - reads fall by `first sample of the log / sample after the jump`, for each of those;
//! - CPU time spent waiting for disks is reported for the first sample of the log and the first after the
//!   jump.
//!
//! **What it never reports**: a period, a time of day, or who sent the discards.

mod jump;
mod mounts;
mod result;
mod sentences;
mod stack;
mod table;

pub use jump::{LogContext, read_disk_log};
pub use mounts::{MountedWith, parse_findmnt};
pub use result::{DeviceJump, DiskLog, FromTo, WritesAre};
