//! An SSD as its owner meets it: pages are programmed once and erased by the block, so that what is
//! overwritten or deleted has to be collected, and what the drive does not know to be deleted has to
//! be moved again and again.
//!
//! Pure: seeds and bytes are handed in, the same seed gives the same bytes out.
//!
//! | module | what it is |
//! |---|---|
//! | [`geometry`] | pages, blocks, and what counts as spare |
//! | [`random`] | the seeded generator, and numbers below a bound |
//! | [`ftl`] | the page-mapped translation layer: mapping, frontiers, collection, TRIM |
//! | [`block_mapped`] | the drive of five pages a block and no reserve, of which the articles tell |
//! | [`theory`] | write amplification in closed form, by paper |
//! | [`time`] | channels, dies, program, read and erase; latencies and throughput |
//! | [`drive`] | a translation layer with its time; RAID-0 of them |
//! | [`drive_file`] | a drive described in TOML |
//! | [`filesystem`] | files above a drive: deleted is not trimmed |
//! | [`workload`] | who writes what, and when |
//! | [`trace`] | recorded requests, streamed |
//! | [`scenario`] | a workload on a filesystem on a drive for days: write amplification over time |
//! | [`setup`] | a scenario as people describe it, beside what a change would bring |
//! | [`bare`] | a drive by itself under a pattern of page writes, beside theory |
//! | [`examples`] | the articles' stories as scenarios |
//! | [`calibrate`] | spare area and timing that explain a measured decay |

pub mod bare;
pub mod block_mapped;
pub mod calibrate;
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
pub mod trace;
pub mod workload;
