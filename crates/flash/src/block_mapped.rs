//! The drive of the articles: mapped by blocks, without a reserve, with a buffer in RAM.
//!
//! A page of the host has one place on the flash: page `n % pages_per_block` of block
//! `n / pages_per_block`. There is no block to move to, so that mapping needs no table, and nothing is
//! collected in the background. The rules, all of them:
//!
//! 1. A request whose pages in a block are all erased is programmed there at once.
//! 2. Otherwise the block is rewritten: every page that the drive holds to be valid is read into the
//!    buffer, those that are about to be overwritten included (the article's drive saves "the data
//!    that is there" before it looks at what is coming); the request is merged in; the block is
//!    erased; what the buffer holds is programmed.
//! 3. A discard makes pages known to be unused: they are not read any more, and not programmed again.
//!    It touches no flash. They can be programmed only after the next erase of their block.
//!
//! A request over several blocks is served block by block, in ascending order. Pages of a block may
//! be programmed in any order.
//!
//! By rule 2 a trim pays twice: less to read, and less to program where the unused pages are not those
//! that are written next. A drive that did not read what it is about to overwrite would read 8 KB in
//! the article's example in either case; the figures there (12 KB without, 8 KB with) are rule 2.

mod host;

pub use host::{Cell, Entry, FIVE_PAGES, Host, HostError, Operation, Picture, Told, five_pages};

use thiserror::Error;

/// The shape of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks, all of them for the host's data.
    pub blocks: u32,
}

/// Why a request cannot be served, or a drive not built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockMappedError {
    /// Nothing to hold, or more than a page number of 32 bits can name.
    #[error("{found} pages, expected 1 to {}", u32::MAX)]
    Pages {
        /// Blocks times pages.
        found: u64,
    },
    /// A page that the drive does not have.
    #[error("page {found} of a drive of {pages} pages")]
    Page {
        /// Asked for.
        found: u32,
        /// Of the drive.
        pages: u32,
    },
}

/// A page of flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Can be programmed.
    #[default]
    Erased,
    /// Holds data; what is in it, as the host marked it.
    Valid(u32),
    /// Holds data that the drive knows to be unused.
    Discarded(u32),
}

/// What was done since the start; all but `erased_blocks` in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Written by the host, each page of a request once.
    pub host_pages: u64,
    /// Read from flash into the buffer.
    pub read_pages: u64,
    /// Programmed.
    pub programmed_pages: u64,
    /// Valid pages that a discard made unused.
    pub discarded_pages: u64,
    /// Erased.
    pub erased_blocks: u64,
}

impl Counters {
    /// What was done since `earlier`.
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
    /// Valid pages went into the buffer.
    Read,
    /// Pages of the request went into the buffer.
    Merge,
    /// The block was erased.
    Erase,
    /// Pages were programmed.
    Program,
    /// Pages became known to be unused.
    Discard,
}

/// One step in one block, with the picture after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was done.
    pub action: Action,
    /// Where.
    pub block: u32,
    /// The pages that it was done to, from 0 within the block, ascending; all of them for an erase.
    pub pages: Vec<u32>,
    /// The block's pages.
    pub flash: Vec<Page>,
    /// The buffer, where it is in use: [`Page::Erased`] where it holds nothing.
    pub buffer: Option<Vec<Page>>,
}

/// A drive.
#[derive(Debug, Clone)]
pub struct BlockMapped {
    shape: Shape,
    flash: Vec<Page>,
    counters: Counters,
}

impl BlockMapped {
    /// An erased drive.
    ///
    /// # Errors
    /// [`BlockMappedError::Pages`].
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

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Pages that the host can address: all of them.
    pub fn pages(&self) -> u32 {
        self.shape.pages_per_block * self.shape.blocks
    }

    /// What was done.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The pages of a block; empty if there is no such block.
    pub fn block(&self, block: u32) -> &[Page] {
        let np = self.shape.pages_per_block as usize;
        self.flash.chunks(np).nth(block as usize).unwrap_or(&[])
    }

    /// Writes pages in one request and marks them with `data`; a page that is named twice is written
    /// once.
    ///
    /// # Errors
    /// [`BlockMappedError::Page`]; nothing was done then.
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

    /// Makes pages known to be unused. Those that hold nothing valid stay as they are.
    ///
    /// # Errors
    /// [`BlockMappedError::Page`]; nothing was done then.
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

    /// Rule 2.
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

    /// Pages of a request within each block, ascending, each once.
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

    fn done(drive: &BlockMapped) -> (u64, u64, u64) {
        let c = drive.counters();
        (c.read_pages, c.programmed_pages, c.erased_blocks)
    }

    #[test]
    fn erased_pages_are_programmed_in_place() {
        let mut drive = drive(4, 2);
        drive.write(&[1, 2], 7).expect("in range");
        drive.write(&[7, 0, 0], 8).expect("in range");
        assert_eq!(done(&drive), (0, 4, 0));
        assert_eq!(drive.counters().host_pages, 4);
        assert_eq!(drive.block(0), [Valid(8), Valid(7), Valid(7), Erased]);
        assert_eq!(drive.block(1), [Erased, Erased, Erased, Valid(8)]);
        assert_eq!(drive.block(2), []);
    }

    #[test]
    fn one_page_that_is_not_erased_rewrites_its_block_alone() {
        let mut drive = drive(4, 2);
        drive.write(&[0, 1, 4], 7).expect("in range");
        let steps = drive.write(&[1, 5], 8).expect("in range");
        // Block 0: two read, two programmed; block 1 has page 5 erased.
        assert_eq!(done(&drive), (2, 3 + 2 + 1, 1));
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
    fn a_discarded_page_needs_its_erase_and_nothing_else() {
        let mut drive = drive(2, 1);
        drive.write(&[0, 1], 7).expect("in range");
        assert_eq!(drive.discard(&[0, 1]).expect("in range").len(), 1);
        // Again: nothing valid is left.
        assert!(drive.discard(&[0, 1]).expect("in range").is_empty());
        assert_eq!(drive.counters().discarded_pages, 2);
        let steps = drive.write(&[1], 8).expect("in range");
        assert_eq!(steps[0].action, Action::Merge);
        assert_eq!(done(&drive), (0, 3, 1));
        assert_eq!(drive.block(0), [Page::Erased, Page::Valid(8)]);
    }

    #[test]
    fn what_is_out_of_range_changes_nothing() {
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
