//! Page patterns on a bare drive that have closed-form theory.
//!
//! They cost one random number per page and as little else as possible, because the translation
//! layer below them processes 100 million pages per second.

use std::ops::Range;

use thiserror::Error;

use super::zipf::Zipf;
use super::{Batch, PageWorkload};
use crate::random::Random;

/// One draw of 64 bits decides twice: its low 24 bits are compared with a share, its high bits
/// select a page. The page depends on the low bits only with a probability of `pages / 2^40`.
const SHARE_MASK: u64 = (1 << 24) - 1;

/// A share, scaled to 2^24.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share, at most 1
fn share(of_one: f64) -> u64 {
    (of_one * 16_777_216.0).round() as u64
}

/// A page below `pages`, selected by the high bits.
#[allow(clippy::cast_possible_truncation)] // below the pages
#[inline]
fn high_page(bits: u64, pages: u32) -> u32 {
    ((u128::from(bits) * u128::from(pages)) >> 64) as u32
}

/// Uniform random writes.
#[derive(Debug, Clone)]
pub struct Uniform {
    range: Range<u32>,
    random: Random,
}

impl Uniform {
    /// Writes over a range of pages.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn new(range: Range<u32>, seed: u64) -> Self {
        assert!(!range.is_empty());
        Self {
            range,
            random: Random::new(seed),
        }
    }
}

impl PageWorkload for Uniform {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        let (first, pages) = (self.range.start, self.range.end - self.range.start);
        batch.fill(|| first + self.random.below_u32(pages));
    }
}

/// Maps ranks to pages so that frequent pages are scattered over the range.
#[derive(Debug, Clone)]
pub struct Scattered {
    range: Range<u32>,
    step: u64,
}

impl Scattered {
    /// Creates the mapping for a range of pages.
    ///
    /// # Panics
    /// If the range is empty.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share of a u32
    pub fn new(range: Range<u32>) -> Self {
        assert!(!range.is_empty());
        let pages = u64::from(range.end - range.start);
        // Golden-section steps that are coprime to the number of pages visit each page once.
        let mut step = ((pages as f64 * 0.618_033_988_749_894_9) as u64).max(1);
        while divisor(step, pages) > 1 {
            step += 1;
        }
        Self { range, step }
    }

    /// The page of a rank (from 0, below the number of pages); different ranks have different
    /// pages.
    #[allow(clippy::cast_possible_truncation)] // below the range's end
    #[inline]
    pub fn page(&self, rank: u32) -> u32 {
        let pages = u64::from(self.range.end - self.range.start);
        self.range.start + (u64::from(rank) * self.step % pages) as u32
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Zipf-distributed writes, with the frequent pages scattered.
#[derive(Debug, Clone)]
pub struct Zipfian {
    zipf: Zipf,
    pages: Scattered,
    random: Random,
}

impl Zipfian {
    /// Writes over a range of pages; exponent 0 is uniform, 1 is classic Zipf.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn new(range: Range<u32>, exponent: f64, seed: u64) -> Self {
        Self {
            zipf: Zipf::new(range.end - range.start, exponent),
            pages: Scattered::new(range),
            random: Random::new(seed),
        }
    }
}

impl PageWorkload for Zipfian {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        batch.fill(|| self.pages.page(self.zipf.draw(&mut self.random) - 1));
    }
}

/// A small hot part gets most writes.
#[derive(Debug, Clone)]
pub struct HotCold {
    hot: Range<u32>,
    cold: Range<u32>,
    /// Share of hot writes, scaled to 2^24.
    hot_writes: u64,
    streams: Option<(u8, u8)>,
    /// Drawn pages not returned yet, if streams are separate.
    waiting: [Batch; 2],
    random: Random,
}

impl HotCold {
    /// The first `hot_share` of the pages gets `hot_traffic` of the writes; pages within each part
    /// are equally likely. If `streams` is set, hot and cold writes go to these streams.
    ///
    /// # Panics
    /// Unless both shares are between 0 and 1 and each part has at least one page.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // shares
    pub fn new(
        range: Range<u32>,
        hot_share: f64,
        hot_traffic: f64,
        streams: Option<(u8, u8)>,
        seed: u64,
    ) -> Self {
        let pages = f64::from(range.end - range.start);
        let border = range.start + (pages * hot_share).round() as u32;
        assert!((0.0..=1.0).contains(&hot_traffic));
        assert!(border > range.start && border < range.end);
        let mut waiting = [Batch::default(), Batch::default()];
        if let Some((hot, cold)) = streams {
            waiting[0].stream = hot;
            waiting[1].stream = cold;
        }
        Self {
            hot: range.start..border,
            cold: border..range.end,
            hot_writes: share(hot_traffic),
            streams,
            waiting,
            random: Random::new(seed),
        }
    }

    #[inline]
    fn draw(&mut self) -> (bool, u32) {
        let bits = self.random.bits();
        let hot = bits & SHARE_MASK < self.hot_writes;
        let range = if hot { &self.hot } else { &self.cold };
        (hot, range.start + high_page(bits, range.end - range.start))
    }
}

impl PageWorkload for HotCold {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        if self.streams.is_none() {
            batch.fill(|| self.draw().1);
            return;
        }
        loop {
            let (hot, page) = self.draw();
            let waiting = &mut self.waiting[usize::from(!hot)];
            waiting.write(page);
            if waiting.is_full() {
                batch.clone_from(waiting);
                waiting.clear();
                return;
            }
        }
    }
}

/// Sequential writes, over and over.
#[derive(Debug, Clone)]
pub struct Sequential {
    range: Range<u32>,
    next: u32,
}

impl Sequential {
    /// Writes over a range of pages.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn new(range: Range<u32>) -> Self {
        assert!(!range.is_empty());
        Self {
            next: range.start,
            range,
        }
    }
}

impl PageWorkload for Sequential {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        batch.fill(|| {
            let page = self.next;
            self.next = if page + 1 == self.range.end {
                self.range.start
            } else {
                page + 1
            };
            page
        });
    }
}

/// An impossible share of trims.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("the share of trims is {0}, expected 0 to 0.49: with 0.5 or more, no page remains in use")]
pub struct TrimShareError(pub f64);

/// Uniform writes with trims: a share q of the requests trims a page drawn from those in use, and
/// the others write a page drawn from all (Frankie, Hughes, Kreutz-Delgado: A mathematical model of
/// the trim command in NAND-flash SSDs, 2012). In the long run `(1 - 2q) / (1 - q)` of the pages
/// are in use.
///
/// A page in use is found by drawing pages until one is in use: exactly uniform, with one bit per
/// page, and on average `1/s` draws if a share `s` is in use (50 draws at q = 0.49).
#[derive(Debug, Clone)]
pub struct UniformTrim {
    pages: u32,
    in_use: Vec<u64>,
    in_use_pages: u32,
    /// Share of trims among requests, scaled to 2^24.
    trims: u64,
    /// A write that has to wait for the next batch.
    held_back: Option<u32>,
    random: Random,
}

impl UniformTrim {
    /// Requests on pages 0 to `pages` (above 0), with either all or none of them in use at first.
    ///
    /// # Errors
    /// If the share is negative or above 0.49.
    ///
    /// # Panics
    /// If there are no pages.
    pub fn new(
        pages: u32,
        trim_share: f64,
        all_in_use: bool,
        seed: u64,
    ) -> Result<Self, TrimShareError> {
        assert!(pages > 0);
        if !(0.0..=0.49).contains(&trim_share) {
            return Err(TrimShareError(trim_share));
        }
        let word = if all_in_use { u64::MAX } else { 0 };
        Ok(Self {
            pages,
            in_use: vec![word; pages.div_ceil(64) as usize],
            in_use_pages: if all_in_use { pages } else { 0 },
            trims: share(trim_share),
            held_back: None,
            random: Random::new(seed),
        })
    }

    /// Number of pages in use, as counted by the workload.
    pub fn in_use_pages(&self) -> u32 {
        self.in_use_pages
    }

    #[inline]
    fn is_in_use(&self, page: u32) -> bool {
        self.in_use[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Adds a write, unless the batch already discards the page: a batch's discards come after its
    /// writes.
    #[inline]
    fn write(&mut self, batch: &mut Batch, page: u32) -> bool {
        if !self.is_in_use(page) {
            if batch.discards().contains(&page) {
                return false;
            }
            self.in_use[page as usize / 64] |= 1 << (page % 64);
            self.in_use_pages += 1;
        }
        batch.write(page);
        true
    }
}

impl PageWorkload for UniformTrim {
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        batch.clear();
        batch.stream = 0;
        if let Some(page) = self.held_back.take() {
            self.write(batch, page);
        }
        while !batch.is_full() {
            let bits = self.random.bits();
            if bits & SHARE_MASK < self.trims {
                if self.in_use_pages == 0 {
                    continue; // nothing to trim: drop the request
                }
                let page = loop {
                    let page = self.random.below_u32(self.pages);
                    if self.is_in_use(page) {
                        break page;
                    }
                };
                self.in_use[page as usize / 64] &= !(1 << (page % 64));
                self.in_use_pages -= 1;
                batch.discard(page);
            } else {
                let page = high_page(bits, self.pages);
                if !self.write(batch, page) {
                    self.held_back = Some(page);
                    return;
                }
            }
        }
    }
}
