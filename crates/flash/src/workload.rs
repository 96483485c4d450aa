//! Workloads: who writes what, and when.
//!
//! There are two kinds:
//! - [`PageWorkload`] writes pages of a bare drive, in [batches](BATCH) so that the translation
//!   layer can prefetch; [`run`] drives one. [`pages`] has uniform, Zipf, hot and cold, sequential, and
//!   uniform with trims.
//! - [`Workload`] operates on files: [`lsm`], [`segments`] (Lucene), [`log`], [`churn`], and
//!   [`database`] (any of the page patterns within one file); [`mix`] runs several in parallel by
//!   their shares.
//!
//! [`rhythm`] describes how the load varies over the day and the week. All random numbers come from
//! a seed.

pub mod churn;
pub mod database;
pub mod log;
pub mod lsm;
pub mod mix;
pub mod pages;
mod plan;
pub use plan::Namespace;
pub mod rhythm;
pub mod segments;
#[cfg(test)]
mod tests;
pub mod zipf;

use crate::ftl::{Ftl, Medium};

/// Pages per batch: large enough that its discards can also be prefetched together.
pub const BATCH: usize = 256;

/// A batch of writes followed by discards, all on one stream.
#[derive(Debug, Clone)]
pub struct Batch {
    writes: [u32; BATCH],
    write_count: usize,
    discards: [u32; BATCH],
    discard_count: usize,
    /// Stream of the writes.
    pub stream: u8,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            writes: [0; BATCH],
            write_count: 0,
            discards: [0; BATCH],
            discard_count: 0,
            stream: 0,
        }
    }
}

impl Batch {
    /// Pages to be written, in order.
    #[inline]
    pub fn writes(&self) -> &[u32] {
        &self.writes[..self.write_count]
    }

    /// Pages to be discarded after the writes.
    #[inline]
    pub fn discards(&self) -> &[u32] {
        &self.discards[..self.discard_count]
    }

    /// Removes all writes and discards.
    #[inline]
    pub fn clear(&mut self) {
        self.write_count = 0;
        self.discard_count = 0;
    }

    /// Whether there is no room for another write or another discard.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.write_count == BATCH || self.discard_count == BATCH
    }

    /// Fills the batch with writes, and removes all discards.
    #[inline]
    pub fn fill(&mut self, mut page: impl FnMut() -> u32) {
        for slot in &mut self.writes {
            *slot = page();
        }
        self.write_count = BATCH;
        self.discard_count = 0;
    }

    /// Adds a write.
    ///
    /// # Panics
    /// If the batch is full.
    #[inline]
    pub fn write(&mut self, page: u32) {
        self.writes[self.write_count] = page;
        self.write_count += 1;
    }

    /// Adds a discard.
    ///
    /// # Panics
    /// If the batch is full.
    #[inline]
    pub fn discard(&mut self, page: u32) {
        self.discards[self.discard_count] = page;
        self.discard_count += 1;
    }
}

/// A generator of page writes and discards on a drive.
pub trait PageWorkload {
    /// Replaces the batch's content with the next operations: at least one write or discard.
    fn batch(&mut self, batch: &mut Batch);
}

impl<W: PageWorkload + ?Sized> PageWorkload for Box<W> {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        (**self).batch(batch);
    }
}

/// Runs a workload on a bare drive until it has written at least `pages` pages (at most a batch
/// more), and returns the number written.
pub fn run<M: Medium>(
    ftl: &mut Ftl<M>,
    workload: &mut (impl PageWorkload + ?Sized),
    pages: u64,
) -> u64 {
    let mut batch = Batch::default();
    let mut written = 0;
    while written < pages {
        workload.batch(&mut batch);
        ftl.write(batch.writes(), batch.stream);
        if batch.discard_count > 0 {
            ftl.discard(batch.discards());
        }
        written += batch.write_count as u64;
    }
    written
}

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
