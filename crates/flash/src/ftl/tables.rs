//! The tables of the translation layer and the operations on them.
//!
//! A host write touches three random places: the page's logical-to-physical entry, and one bit and
//! one count of the block that held the page before. Physical-to-logical is written in order, and
//! read in order when a block is collected; the price is the extra valid bit that collection has to
//! check.

use std::collections::VecDeque;
use std::ops::Range;

use super::candidates::Candidates;
use super::physical::{NONE, PhysicalTables, WORD_BITS};
use super::prefetch::{prefetch, table};
use super::{BlockState, Collection, Counters, Medium, Settings};
use crate::geometry::{GeometryError, page_bits};
use crate::random::Random;

/// Pages prefetched together: enough to hide a miss, few enough to stay in the L1 cache.
const BATCH: usize = 64;
/// A bitmap of up to this many words stays in a near cache anyway: 256 KiB, 2 million pages.
const WORDS_NEAR: usize = 1 << 15;
/// Mixed into the seed for the blocks that [`Collection::DChoices`] draws.
const CHOICES: u64 = u64::from_be_bytes(*b"ftl::cho");

/// Index of the host's frontier.
const HOST: usize = 0;

/// A frontier: a block being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frontier {
    /// `NONE` before the first write; a full frontier keeps its (closed) block until the next
    /// write.
    pub(super) block: u32,
    /// The next page to program; equals pages per block if a new block is needed.
    pub(super) next: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub(super) pages_per_block: u32,
    /// A physical page number is `block << page_bits | page`.
    pub(super) page_bits: u32,
    /// Logical to physical page, or `NONE`.
    pub(super) l2p: Vec<u32>,
    /// Physical to logical page, indexed by block times pages per block, without gaps.
    pub(super) p2l: Vec<u32>,
    /// One bit per physical page. In an open block the bits of pages not programmed yet are set
    /// too.
    pub(super) valid: Vec<u64>,
    /// Valid pages per block; in an open block, pages not programmed yet count as valid.
    pub(super) count: Vec<u16>,
    pub(super) erased: Vec<u32>,
    pub(super) state: Vec<BlockState>,
    pub(super) collection: Collection,
    /// Closed blocks for `Collection::Greedy`.
    pub(super) candidates: Candidates,
    /// Closed blocks for `Collection::Fifo`.
    pub(super) queue: VecDeque<u32>,
    /// Erased blocks, oldest erase first.
    pub(super) free: VecDeque<u32>,
    /// The host's frontier, followed by that for moved pages if it is separate.
    pub(super) frontiers: Vec<Frontier>,
    /// Index of the frontier for moved pages, which may be the host's.
    pub(super) moved: usize,
    /// Free blocks that the host cannot use: the reserve, and one for each frontier not opened yet.
    pub(super) kept: u32,
    pub(super) counters: Counters,
    pub(super) mapped: u64,
    pub(super) random: Random,
    /// Logical pages of the block being collected.
    pub(super) scratch: Vec<u32>,
}

/// Splits `pages` into batches, each paired with the pages that follow it.
fn batches(pages: &[u32]) -> impl Iterator<Item = (&[u32], &[u32])> {
    let mut rest = pages;
    std::iter::from_fn(move || {
        let (batch, ahead) = rest.split_at(rest.len().min(BATCH));
        rest = ahead;
        (!batch.is_empty()).then_some((batch, ahead))
    })
}

impl Tables {
    pub(super) fn new(settings: &Settings) -> Result<Self, GeometryError> {
        let error = GeometryError::out_of_bounds;
        let geometry = &settings.geometry;
        if settings.free_blocks_min == 0 {
            return Err(error(
                "the free reserve",
                &0,
                "at least the block that collection writes to",
            ));
        }
        if settings.collection == Collection::DChoices(0) {
            return Err(error("the number of choices", &0, "1 or more"));
        }
        let moved = usize::from(settings.separate_moved);
        let frontiers = 1 + moved;
        let page_bits = page_bits(geometry.pages_per_block);
        // When a victim is chosen, the frontier that needs room is full and already counts as a
        // data block, so it adds none here. Collection then chooses among `data_blocks`, as the
        // formulas assume.
        let blocks = u64::from(geometry.data_blocks)
            + u64::from(settings.free_blocks_min)
            + frontiers as u64
            - 1;
        // The last page number must stay free for `NONE`, and the candidates' levels need numbers
        // too.
        let levels = geometry.pages_per_block + 1;
        if blocks << page_bits > u64::from(NONE) || blocks + u64::from(levels) > u64::from(NONE) {
            return Err(error(
                "the number of blocks",
                &blocks,
                &format!(
                    "at most {} of {} pages: logical and spare pages have 32-bit numbers together",
                    (u64::from(NONE) >> page_bits).min(u64::from(NONE - levels)),
                    geometry.pages_per_block
                ),
            ));
        }
        let logical = usize::try_from(geometry.logical_pages);
        let (Ok(logical), Ok(blocks)) = (logical, u32::try_from(blocks)) else {
            return Err(error(
                "the number of pages",
                &geometry.logical_pages,
                "fewer",
            ));
        };
        let physical = blocks as usize * geometry.pages_per_block as usize;
        let words = (blocks as usize) << (page_bits - WORD_BITS.trailing_zeros());
        let greedy = settings.collection == Collection::Greedy;
        Ok(Self {
            pages_per_block: geometry.pages_per_block,
            page_bits,
            l2p: table(logical, NONE),
            p2l: table(physical, 0),
            valid: table(words, 0),
            count: vec![0; blocks as usize],
            erased: vec![0; blocks as usize],
            state: vec![BlockState::Free; blocks as usize],
            collection: settings.collection,
            candidates: Candidates::new(blocks, if greedy { levels } else { 0 }),
            queue: VecDeque::new(),
            free: (0..blocks).collect(),
            frontiers: vec![
                Frontier {
                    block: NONE,
                    next: geometry.pages_per_block,
                };
                frontiers
            ],
            moved,
            kept: settings.free_blocks_min + 1 + u32::from(settings.separate_moved),
            counters: Counters::default(),
            mapped: 0,
            random: Random::new(settings.seed ^ CHOICES),
            scratch: vec![0; geometry.pages_per_block as usize],
        })
    }

    pub(super) fn blocks(&self) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // checked when built
        let blocks = self.count.len() as u32;
        blocks
    }

    /// Index of the first bitmap word of a block.
    pub(super) fn first_word(&self, block: u32) -> usize {
        (block as usize) << (self.page_bits - WORD_BITS.trailing_zeros())
    }

    /// Bitmap words in use per block.
    pub(super) fn words(&self) -> usize {
        self.pages_per_block.div_ceil(WORD_BITS) as usize
    }

    // ---- writes ----

    pub(super) fn write<M: Medium>(&mut self, pages: &[u32], medium: &mut M) {
        self.counters.host_pages += pages.len() as u64;
        self.prefetch_entries(pages);
        for (batch, ahead) in batches(pages) {
            self.prefetch_entries(ahead);
            self.prefetch_invalidation(batch);
            let mut rest = batch;
            while !rest.is_empty() {
                let room = self.make_room(medium);
                let (now, later) = rest.split_at(rest.len().min(room));
                self.program(now, medium);
                rest = later;
            }
        }
    }

    /// Prefetches the mapping entries of the first batch of `pages`.
    #[inline]
    fn prefetch_entries(&self, pages: &[u32]) {
        for page in pages.iter().take(BATCH) {
            prefetch(&self.l2p, *page as usize);
        }
    }

    /// Prefetches what invalidating the pages will touch.
    #[inline]
    fn prefetch_invalidation(&self, batch: &[u32]) {
        if self.valid.len() <= WORDS_NEAR {
            return;
        }
        for page in batch {
            let old = self.l2p[*page as usize];
            if old != NONE {
                prefetch(&self.valid, (old / WORD_BITS) as usize);
                prefetch(&self.count, (old >> self.page_bits) as usize);
            }
        }
    }

    /// Like `prefetch_invalidation`, for consecutive logical pages; skips pages physically following the previous
    /// one, which are prefetched already.
    #[inline]
    fn prefetch_run_invalidation(&self, run: Range<usize>) {
        if self.valid.len() <= WORDS_NEAR {
            return;
        }
        let mut before = NONE;
        for old in &self.l2p[run] {
            if *old != NONE && *old != before.wrapping_add(1) {
                prefetch(&self.valid, (*old / WORD_BITS) as usize);
                prefetch(&self.count, (*old >> self.page_bits) as usize);
            }
            before = *old;
        }
    }

    /// Programs pages into the host's frontier, which must have room for them.
    #[inline]
    fn program<M: Medium>(&mut self, pages: &[u32], medium: &mut M) {
        let Frontier { block, next } = self.frontiers[HOST];
        let first = (block as usize) * self.pages_per_block as usize + next as usize;
        self.p2l[first..first + pages.len()].copy_from_slice(pages);
        let place = (block << self.page_bits) | next;
        let mut mapped = 0;
        let (l2p, mut physical) = self.physical();
        for (at, page) in (0..).zip(pages) {
            let old = std::mem::replace(&mut l2p[*page as usize], place + at);
            if old == NONE {
                mapped += 1;
            } else {
                physical.invalidate(old);
            }
        }
        self.mapped += mapped;
        #[allow(clippy::cast_possible_truncation)] // at most pages per block
        let pages = pages.len() as u32;
        medium.program(self.place(block, next), pages);
        self.advance(HOST, next + pages);
    }

    /// The physical page number of a page of a block.
    #[inline]
    pub(super) fn place(&self, block: u32, next: u32) -> u32 {
        block * self.pages_per_block + next
    }

    /// Programs `pages` consecutive logical pages.
    pub(super) fn write_run<M: Medium>(&mut self, first: u32, pages: u32, medium: &mut M) {
        self.counters.host_pages += u64::from(pages);
        let mut first = first;
        let mut rest = pages;
        while rest > 0 {
            let room = self.make_room(medium);
            #[allow(clippy::cast_possible_truncation)] // at most pages per block
            let now = rest.min(room as u32);
            self.program_run(first, now, medium);
            first += now;
            rest -= now;
        }
    }

    fn program_run<M: Medium>(&mut self, first: u32, pages: u32, medium: &mut M) {
        let Frontier { block, next } = self.frontiers[HOST];
        let back = (block as usize) * self.pages_per_block as usize + next as usize;
        for (entry, page) in self.p2l[back..back + pages as usize]
            .iter_mut()
            .zip(first..)
        {
            *entry = page;
        }
        let run = first as usize..first as usize + pages as usize;
        self.prefetch_run_invalidation(run.clone());
        let place = (block << self.page_bits) | next;
        let mut mapped = 0;
        let (l2p, mut physical) = self.physical();
        let entries = &mut l2p[run];
        for (at, entry) in (0..).zip(entries) {
            let old = std::mem::replace(entry, place + at);
            if old == NONE {
                mapped += 1;
            } else {
                physical.invalidate(old);
            }
        }
        self.mapped += mapped;
        medium.program(self.place(block, next), pages);
        self.advance(HOST, next + pages);
    }

    /// Moves the frontier's write position to `next`, and closes its block if full.
    pub(super) fn advance(&mut self, frontier: usize, next: u32) {
        self.frontiers[frontier].next = next;
        if next == self.pages_per_block {
            self.close(self.frontiers[frontier].block);
        }
    }

    /// Borrows the logical-to-physical table and the tables of physical pages and blocks
    /// separately.
    #[inline]
    fn physical(&mut self) -> (&mut [u32], PhysicalTables<'_>) {
        let physical = PhysicalTables {
            valid: &mut self.valid,
            count: &mut self.count,
            state: &self.state,
            page_bits: self.page_bits,
            below: self.candidates.below(),
            candidates: &mut self.candidates,
        };
        (&mut self.l2p, physical)
    }

    // ---- discards ----

    pub(super) fn discard(&mut self, pages: &[u32]) -> u64 {
        let mut unmapped = 0;
        self.prefetch_entries(pages);
        for (batch, ahead) in batches(pages) {
            self.prefetch_entries(ahead);
            self.prefetch_invalidation(batch);
            let (l2p, mut physical) = self.physical();
            for page in batch {
                unmapped += u64::from(physical.unmap(&mut l2p[*page as usize]));
            }
        }
        self.unmapped(unmapped)
    }

    pub(super) fn discard_run(&mut self, first: u32, pages: u32) -> u64 {
        let mut unmapped = 0;
        let end = first as usize + pages as usize;
        for start in (first as usize..end).step_by(BATCH) {
            let run = start..end.min(start + BATCH);
            self.prefetch_run_invalidation(run.clone());
            let (l2p, mut physical) = self.physical();
            for entry in &mut l2p[run] {
                unmapped += u64::from(physical.unmap(entry));
            }
        }
        self.unmapped(unmapped)
    }

    fn unmapped(&mut self, pages: u64) -> u64 {
        self.mapped -= pages;
        self.counters.trimmed_pages += pages;
        pages
    }

    // ---- blocks ----

    /// Collects garbage if necessary, and returns the number of free pages in the host's frontier
    /// (at least 1).
    #[inline]
    fn make_room<M: Medium>(&mut self, medium: &mut M) -> usize {
        loop {
            let room = self.pages_per_block - self.frontiers[HOST].next;
            if room > 0 {
                return room as usize;
            }
            self.open_or_collect(medium);
        }
    }

    /// Opens a block for the host's frontier, or collects one.
    #[cold]
    fn open_or_collect<M: Medium>(&mut self, medium: &mut M) {
        let first = u32::from(self.frontiers[HOST].block == NONE);
        if self.free.len() > (self.kept - first) as usize {
            self.open(HOST);
        } else {
            self.collect(medium);
        }
    }

    /// Takes a free block for the frontier.
    pub(super) fn open(&mut self, frontier: usize) {
        let Some(block) = self.free.pop_front() else {
            unreachable!("collection needs one free block at most, and the reserve has it");
        };
        if self.frontiers[frontier].block == NONE {
            self.kept -= 1;
        }
        self.frontiers[frontier] = Frontier { block, next: 0 };
        self.state[block as usize] = BlockState::Open;
        #[allow(clippy::cast_possible_truncation)] // at most 65,535
        let count = self.pages_per_block as u16;
        self.count[block as usize] = count;
        let first = self.first_word(block);
        let words = self.words();
        self.valid[first..first + words].fill(u64::MAX);
        let beyond = self.pages_per_block % WORD_BITS;
        if beyond > 0 {
            self.valid[first + words - 1] = (1 << beyond) - 1;
        }
    }

    /// Marks a block as closed after its last page was programmed.
    fn close(&mut self, block: u32) {
        self.state[block as usize] = BlockState::Closed;
        match self.collection {
            Collection::Greedy => {
                let level = u32::from(self.count[block as usize]);
                if level < self.candidates.below() {
                    self.candidates.insert(block, level);
                }
            }
            Collection::Fifo => self.queue.push_back(block),
            Collection::DChoices(_) => {}
        }
    }
}
