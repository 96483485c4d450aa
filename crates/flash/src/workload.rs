//! Who writes what, and when.
//!
//! Two kinds:
//! - [`PageWorkload`] writes pages of a bare drive, in [batches](BATCH) so that the translation layer
//!   can fetch ahead; [`run`] drives one. [`pages`] has uniform, Zipf, hot and cold, sequential, uniform
//!   with trims, and mixes.
//! - [`Workload`] works on files: [`lsm`], [`segments`] (Lucene), [`log`], [`churn`], and [`database`]
//!   (any of the page patterns within one file); [`mix`] runs several side by side by their shares.
//!
//! [`rhythm`] says how the load lies over the day and the week. Everything drawn comes from a seed.

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

/// Pages of a batch: enough that the discards among them, too, are fetched ahead together.
pub const BATCH: usize = 256;

/// Some writes, then some discards, of one stream.
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
    /// Pages written, in order.
    #[inline]
    pub fn writes(&self) -> &[u32] {
        &self.writes[..self.write_count]
    }

    /// Pages discarded after that.
    #[inline]
    pub fn discards(&self) -> &[u32] {
        &self.discards[..self.discard_count]
    }

    /// Empties it.
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

    /// Fills all writes.
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

/// Writes pages of a drive.
pub trait PageWorkload {
    /// Replaces the batch's content by what comes next: at least one write or discard.
    fn batch(&mut self, batch: &mut Batch);
}

impl<W: PageWorkload + ?Sized> PageWorkload for Box<W> {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        (**self).batch(batch);
    }
}

/// Lets a workload write at least so many pages (up to a batch more) to a bare drive. Returns the pages
/// written.
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

/// What is done to a file. Numbers of files are the workload's choice; the filesystem knows them by
/// these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new, empty file.
    Create {
        /// Its number.
        file: u32,
        /// Stream that its data is written to.
        stream: u8,
    },
    /// Pages behind its end.
    Append {
        /// Which.
        file: u32,
        /// How many.
        pages: u32,
    },
    /// Pages in its midst, in place.
    Overwrite {
        /// Which.
        file: u32,
        /// First of them, in the file.
        offset: u32,
        /// How many.
        pages: u32,
    },
    /// Pages are read.
    Read {
        /// Which.
        file: u32,
        /// First of them, in the file.
        offset: u32,
        /// How many.
        pages: u32,
    },
    /// It is gone.
    Delete {
        /// Which.
        file: u32,
    },
}

impl Operation {
    /// Pages that it writes.
    pub fn written_pages(&self) -> u32 {
        match *self {
            Self::Append { pages, .. } | Self::Overwrite { pages, .. } => pages,
            Self::Create { .. } | Self::Read { .. } | Self::Delete { .. } => 0,
        }
    }
}

/// Works on files, without an end.
pub trait Workload {
    /// What is done next.
    fn next(&mut self) -> Operation;

    /// Whether the data that it starts with has been written; what comes after that is its steady
    /// state.
    fn is_loaded(&self) -> bool;

    /// Pages of its files at any moment, at most.
    fn peak_pages(&self) -> u64;
}
