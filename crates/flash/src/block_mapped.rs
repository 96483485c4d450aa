//! The drive of the articles: block-mapped, without spare area, with a RAM buffer.
//!
//! Each host page has a fixed location: page `n % pages_per_block` of block `n / pages_per_block`.
//! Since there is no spare block to move data to, the mapping needs no table, and nothing is
//! collected in the background. The complete rules:
//!
//! 1. A request whose pages in a block are all erased is programmed there directly.
//! 2. Otherwise the block is rewritten: every page the drive considers valid is read into the
//!    buffer, including those about to be overwritten (the article's drive saves "the data that is
//!    there" before it looks at what is coming); the request is merged in; the block is erased; the
//!    buffer is programmed.
//! 3. A discard marks pages as unused: they are no longer read, nor programmed again. It does not
//!    touch the flash. They can be programmed only after the next erase of their block.
//!
//! A request over several blocks is served block by block, in ascending order. Pages of a block may
//! be programmed in any order.
//!
//! By rule 2 a trim pays twice: there is less to read, and less to program if the unused pages are
//! not the ones written next. A drive that did not read pages it is about to overwrite would read 8
//! KB in the article's example in either case; the figures there (12 KB without, 8 KB with) follow
//! from rule 2.

mod host;

pub use host::{
    Cell, Entry, FIVE_PAGES, Host, HostError, Operation, Picture, StepReport, five_pages,
};

use thiserror::Error;

/// The shape of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes per page.
    pub page_bytes: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Number of blocks, all of which hold host data.
    pub blocks: u32,
}

/// An invalid request or drive shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockMappedError {
    /// No pages, or more than 32-bit page numbers allow.
    #[error("{found} pages, expected 1 to {}", u32::MAX)]
    Pages {
        /// Number of blocks times pages per block.
        found: u64,
    },
    /// A page number beyond the end of the drive.
    #[error("page {found} of a drive of {pages} pages")]
    Page {
        /// The page requested.
        found: u32,
        /// The number of pages of the drive.
        pages: u32,
    },
}

/// A page of flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Can be programmed.
    #[default]
    Erased,
    /// Holds data, identified by the mark that the host gave it.
    Valid(u32),
    /// Holds data that the drive knows to be unused.
    Discarded(u32),
}

/// Work done since the start; in pages except for `erased_blocks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Pages written by the host; each page of a request counts once.
    pub host_pages: u64,
    /// Pages read from flash into the buffer.
    pub read_pages: u64,
    /// Pages programmed.
    pub programmed_pages: u64,
    /// Valid pages that a discard marked as unused.
    pub discarded_pages: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
}

impl Counters {
    /// The difference to an `earlier` state.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_pages: self.host_pages - earlier.host_pages,
            read_pages: self.read_pages - earlier.read_pages,
            programmed_pages: self.programmed_pages - earlier.programmed_pages,
            discarded_pages: self.discarded_pages - earlier.discarded_pages,
            erased_blocks: self.erased_blocks - earlier.erased_blocks,
        }
    }
}

/// What the drive did in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Read valid pages into the buffer.
    Read,
    /// Copied pages of the request into the buffer.
    Merge,
    /// Erased the block.
    Erase,
    /// Programmed pages.
    Program,
    /// Marked pages as unused.
    Discard,
}

/// One step in one block, with the state after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was done.
    pub action: Action,
    /// The block.
    pub block: u32,
    /// The affected pages, from 0 within the block, ascending; for an erase, all of them.
    pub pages: Vec<u32>,
    /// The block's pages after the step.
    pub flash: Vec<Page>,
    /// The buffer, if in use; [`Page::Erased`] marks empty slots.
    pub buffer: Option<Vec<Page>>,
}

/// A block-mapped drive.
#[derive(Debug, Clone)]
pub struct BlockMapped {
    shape: Shape,
    flash: Vec<Page>,
    counters: Counters,
}

impl BlockMapped {
    /// Creates an erased drive.
    ///
    /// # Errors
    /// [`BlockMappedError::Pages`] if the number of pages is 0 or too large.
    pub fn new(shape: Shape) -> Result<Self, BlockMappedError> {
        let found = u64::from(shape.pages_per_block) * u64::from(shape.blocks);
        let pages = u32::try_from(found)
            .ok()
            .filter(|&pages| pages > 0)
            .ok_or(BlockMappedError::Pages { found })?;
        Ok(Self {
            shape,
            flash: vec![Page::Erased; pages as usize],
            counters: Counters::default(),
        })
    }

    /// The drive's shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Pages the host can address, which is all of them.
    pub fn pages(&self) -> u32 {
        self.shape.pages_per_block * self.shape.blocks
    }

    /// Work done since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The pages of a block, or an empty slice if there is no such block.
    pub fn block(&self, block: u32) -> &[Page] {
        let np = self.shape.pages_per_block as usize;
        self.flash.chunks(np).nth(block as usize).unwrap_or(&[])
    }

    /// Writes pages in one request and marks them with `data`. A page named twice is written once.
    ///
    /// # Errors
    /// [`BlockMappedError::Page`] if a page is beyond the end; nothing is changed.
    pub fn write(&mut self, pages: &[u32], data: u32) -> Result<Vec<Step>, BlockMappedError> {
        let mut steps = Vec::new();
        for (block, request) in self.by_block(pages)? {
            self.counters.host_pages += request.len() as u64;
            let here = self.place(block);
            let erased = |page: &u32| self.flash[here.start + *page as usize] == Page::Erased;
            if request.iter().all(erased) {
                for &page in &request {
                    self.flash[here.start + page as usize] = Page::Valid(data);
                }
                self.counters.programmed_pages += request.len() as u64;
                steps.push(self.step(Action::Program, block, request, None));
            } else {
                self.rewrite(block, request, data, &mut steps);
            }
        }
        Ok(steps)
    }

    /// Marks pages as unused. Pages without valid data stay as they are.
    ///
    /// # Errors
    /// [`BlockMappedError::Page`] if a page is beyond the end; nothing is changed.
    pub fn discard(&mut self, pages: &[u32]) -> Result<Vec<Step>, BlockMappedError> {
        let mut steps = Vec::new();
        for (block, mut request) in self.by_block(pages)? {
            let here = self.place(block);
            let flash = &mut self.flash[here];
            request.retain(|&page| match flash[page as usize] {
                Page::Valid(data) => {
                    flash[page as usize] = Page::Discarded(data);
                    true
                }
                Page::Erased | Page::Discarded(_) => false,
            });
            if !request.is_empty() {
                self.counters.discarded_pages += request.len() as u64;
                steps.push(self.step(Action::Discard, block, request, None));
            }
        }
        Ok(steps)
    }

    /// Rewrites a block, by rule 2.
    fn rewrite(&mut self, block: u32, request: Vec<u32>, data: u32, steps: &mut Vec<Step>) {
        let here = self.place(block);
        let mut buffer: Vec<Page> = self.flash[here.clone()]
            .iter()
            .map(|&page| match page {
                Page::Valid(_) => page,
                Page::Erased | Page::Discarded(_) => Page::Erased,
            })
            .collect();
        let held = |buffer: &[Page]| -> Vec<u32> {
            (0..)
                .zip(buffer)
                .filter(|(_, page)| **page != Page::Erased)
                .map(|(index, _)| index)
                .collect()
        };
        let read = held(&buffer);
        self.counters.read_pages += read.len() as u64;
        if !read.is_empty() {
            steps.push(self.step(Action::Read, block, read, Some(&buffer)));
        }
        for &page in &request {
            buffer[page as usize] = Page::Valid(data);
        }
        steps.push(self.step(Action::Merge, block, request, Some(&buffer)));

        self.flash[here.clone()].fill(Page::Erased);
        self.counters.erased_blocks += 1;
        let all = (0..self.shape.pages_per_block).collect();
        steps.push(self.step(Action::Erase, block, all, Some(&buffer)));

        let programmed = held(&buffer);
        self.counters.programmed_pages += programmed.len() as u64;
        self.flash[here].copy_from_slice(&buffer);
        steps.push(self.step(Action::Program, block, programmed, None));
    }

    fn step(&self, action: Action, block: u32, pages: Vec<u32>, buffer: Option<&[Page]>) -> Step {
        Step {
            action,
            block,
            pages,
            flash: self.block(block).to_vec(),
            buffer: buffer.map(<[Page]>::to_vec),
        }
    }

    fn place(&self, block: u32) -> std::ops::Range<usize> {
        let np = self.shape.pages_per_block as usize;
        let first = block as usize * np;
        first..first + np
    }

    /// Splits a request by block: pages within the block, ascending, without duplicates.
    fn by_block(&self, pages: &[u32]) -> Result<Vec<(u32, Vec<u32>)>, BlockMappedError> {
        let mut pages = pages.to_vec();
        pages.sort_unstable();
        pages.dedup();
        if let Some(&found) = pages.last().filter(|&&page| page >= self.pages()) {
            return Err(BlockMappedError::Page {
                found,
                pages: self.pages(),
            });
        }
        let np = self.shape.pages_per_block;
        Ok(pages
            .chunk_by(|a, b| a / np == b / np)
            .map(|chunk| (chunk[0] / np, chunk.iter().map(|page| page % np).collect()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Action::{Erase, Merge, Program, Read};
    use super::Page::{Erased, Valid};
    use super::*;

    fn drive(pages_per_block: u32, blocks: u32) -> BlockMapped {
        BlockMapped::new(Shape {
            page_bytes: 4096,
            pages_per_block,
            blocks,
        })
        .expect("a shape")
    }

    fn work_done(drive: &BlockMapped) -> (u64, u64, u64) {
        let c = drive.counters();
        (c.read_pages, c.programmed_pages, c.erased_blocks)
    }

    #[test]
    fn erased_pages_are_programmed_in_place() {
        let mut drive = drive(4, 2);
        drive.write(&[1, 2], 7).expect("in range");
        drive.write(&[7, 0, 0], 8).expect("in range");
        assert_eq!(work_done(&drive), (0, 4, 0));
        assert_eq!(drive.counters().host_pages, 4);
        assert_eq!(drive.block(0), [Valid(8), Valid(7), Valid(7), Erased]);
        assert_eq!(drive.block(1), [Erased, Erased, Erased, Valid(8)]);
        assert_eq!(drive.block(2), []);
    }

    #[test]
    fn a_conflict_rewrites_only_its_block() {
        let mut drive = drive(4, 2);
        drive.write(&[0, 1, 4], 7).expect("in range");
        let steps = drive.write(&[1, 5], 8).expect("in range");
        // Block 0: two read, two programmed; in block 1, page 5 is erased.
        assert_eq!(work_done(&drive), (2, 3 + 2 + 1, 1));
        let actions: Vec<(Action, u32)> = steps.iter().map(|s| (s.action, s.block)).collect();
        assert_eq!(
            actions,
            [
                (Read, 0),
                (Merge, 0),
                (Erase, 0),
                (Program, 0),
                (Program, 1)
            ]
        );
    }

    #[test]
    fn a_discarded_block_is_erased_without_reads() {
        let mut drive = drive(2, 1);
        drive.write(&[0, 1], 7).expect("in range");
        assert_eq!(drive.discard(&[0, 1]).expect("in range").len(), 1);
        // Again: nothing valid is left.
        assert!(drive.discard(&[0, 1]).expect("in range").is_empty());
        assert_eq!(drive.counters().discarded_pages, 2);
        let steps = drive.write(&[1], 8).expect("in range");
        assert_eq!(steps[0].action, Action::Merge);
        assert_eq!(work_done(&drive), (0, 3, 1));
        assert_eq!(drive.block(0), [Page::Erased, Page::Valid(8)]);
    }

    #[test]
    fn requests_out_of_range_change_nothing() {
        let mut drive = drive(2, 1);
        let error = drive.write(&[0, 2], 1).expect_err("page 2 of 2");
        assert_eq!(error.to_string(), "page 2 of a drive of 2 pages");
        assert!(drive.discard(&[u32::MAX]).is_err());
        assert_eq!(*drive.counters(), Counters::default());
        for (pages_per_block, blocks) in [(0, 1), (1, 0), (1 << 16, 1 << 16)] {
            let shape = Shape {
                page_bytes: 1,
                pages_per_block,
                blocks,
            };
            assert!(BlockMapped::new(shape).is_err());
        }
    }
}
