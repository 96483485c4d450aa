//! Simulation of an SSD: flash pages are programmed once and erased in blocks, so overwritten or
//! deleted data has to be garbage-collected, and data the drive does not know is deleted is copied
//! again and again.
//!
//! No I/O and no clock: seeds and texts are passed in, and the same seed produces the same output.
//!
//! | module | what it is |
//! |---|---|
//! | [`geometry`] | page and block counts, and over-provisioning |
//! | [`random`] | the seeded random number generator |
//! | [`ftl`] | page-mapped translation layer: mapping, frontiers, garbage collection, TRIM |
//! | [`block_mapped`] | the block-mapped drive of the articles: five pages per block, no spare area |
//! | [`theory`] | write amplification in closed form |
//! | [`time`] | channels, dies, program, read and erase times; latencies |
//! | [`drive`] | a translation layer with timing, and RAID-0 of several |
//! | [`drive_file`] | a drive described in TOML |
//! | [`filesystem`] | files on a drive: deleting is not trimming |
//! | [`workload`] | generators of file operations: who writes what, and when |
//! | [`scenario`] | a workload on a filesystem on a drive for days: write amplification over time |
//! | [`setup`] | a scenario in everyday terms, compared with a changed setup |
//! | [`examples`] | the articles' examples as scenarios |

pub mod block_mapped;
pub mod drive;
pub mod drive_file;
pub mod examples;
pub mod filesystem;
pub mod ftl;
pub mod geometry;
pub mod random;
pub mod scenario;
pub mod setup;
pub mod theory;
pub mod time;
pub mod workload;
