//! Workloads: who writes what, and when.
//!
//! A [`Workload`] operates on files: [`lsm`], [`segments`] (Lucene), [`log`], [`churn`], and
//! [`database`] (one file overwritten in place, by a pattern); [`mix`] runs several in parallel by
//! their shares.
//!
//! [`rhythm`] describes how the load varies over the day and the week. All random numbers come from
//! a seed.

pub mod churn;
pub mod database;
pub mod log;
pub mod lsm;
pub mod mix;
mod plan;
pub use plan::Namespace;
pub mod rhythm;
pub mod segments;
#[cfg(test)]
mod tests;
pub mod zipf;

/// A file operation. File numbers are chosen by the workload, and the filesystem uses the same
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Creates a new, empty file.
    Create {
        /// The file's number.
        file: u32,
    },
    /// Appends pages.
    Append {
        /// The file.
        file: u32,
        /// Number of pages.
        pages: u32,
    },
    /// Overwrites pages in place.
    Overwrite {
        /// The file.
        file: u32,
        /// First page, counted from the start of the file.
        offset: u32,
        /// Number of pages.
        pages: u32,
    },
    /// Reads pages.
    Read {
        /// The file.
        file: u32,
        /// First page, counted from the start of the file.
        offset: u32,
        /// Number of pages.
        pages: u32,
    },
    /// Deletes the file.
    Delete {
        /// The file.
        file: u32,
    },
}

impl Operation {
    /// Number of pages the operation writes.
    pub fn written_pages(&self) -> u32 {
        match *self {
            Self::Append { pages, .. } | Self::Overwrite { pages, .. } => pages,
            Self::Create { .. } | Self::Read { .. } | Self::Delete { .. } => 0,
        }
    }
}

/// An endless generator of file operations.
pub trait Workload {
    /// The next operation.
    fn next(&mut self) -> Operation;

    /// Whether the initial data has been written; from then on the workload is in its steady state.
    fn is_loaded(&self) -> bool;

    /// Upper bound of the total size of its files, in pages.
    fn peak_pages(&self) -> u64;
}
