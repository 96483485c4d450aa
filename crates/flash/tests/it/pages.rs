//! The papers' random page writes, with and without trims.

use flash::ftl::{Ftl, Timeless};
use flash::random::Random;

/// Pages of a batch.
const BATCH: usize = 256;
/// One draw of 64 bits decides twice: its low 24 bits are compared with a share, its high bits
/// select a page.
const SHARE_MASK: u64 = (1 << 24) - 1;

/// A share, scaled to 2^24.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share, at most 1
fn share(of_one: f64) -> u64 {
    (of_one * 16_777_216.0).round() as u64
}

/// A page below `pages`, selected by the high bits.
#[allow(clippy::cast_possible_truncation)] // below the pages
fn high_page(bits: u64, pages: u32) -> u32 {
    ((u128::from(bits) * u128::from(pages)) >> 64) as u32
}

/// Writes, and the discards that follow them.
#[derive(Default)]
pub struct Batch {
    writes: Vec<u32>,
    discards: Vec<u32>,
}

/// A generator of page writes and discards.
pub trait PageWorkload {
    /// Adds the next requests to an empty batch.
    fn fill(&mut self, batch: &mut Batch);
}

/// Runs a workload until it has written at least `pages` pages.
pub fn run(ftl: &mut Ftl<Timeless>, workload: &mut impl PageWorkload, pages: u64) {
    let mut batch = Batch::default();
    let mut written = 0;
    while written < pages {
        batch.writes.clear();
        batch.discards.clear();
        workload.fill(&mut batch);
        ftl.write(&batch.writes);
        ftl.discard(&batch.discards);
        written += batch.writes.len() as u64;
    }
}

/// Uniform random writes.
pub struct Uniform {
    pages: u32,
    random: Random,
}

impl Uniform {
    pub fn new(pages: u32) -> Self {
        Self {
            pages,
            random: Random::new(1),
        }
    }
}

impl PageWorkload for Uniform {
    fn fill(&mut self, batch: &mut Batch) {
        let pages = (0..BATCH).map(|_| self.random.below_u32(self.pages));
        batch.writes.extend(pages);
    }
}

/// A small hot part, at the start, gets most writes.
pub struct HotCold {
    pages: u32,
    hot_pages: u32,
    /// Share of hot writes, scaled to 2^24.
    hot_writes: u64,
    random: Random,
}

impl HotCold {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a u32
    pub fn new(pages: u32, hot_share: f64, hot_traffic: f64) -> Self {
        Self {
            pages,
            hot_pages: (f64::from(pages) * hot_share).round() as u32,
            hot_writes: share(hot_traffic),
            random: Random::new(1),
        }
    }
}

impl PageWorkload for HotCold {
    fn fill(&mut self, batch: &mut Batch) {
        let pages = (0..BATCH).map(|_| {
            let bits = self.random.bits();
            if bits & SHARE_MASK < self.hot_writes {
                high_page(bits, self.hot_pages)
            } else {
                self.hot_pages + high_page(bits, self.pages - self.hot_pages)
            }
        });
        batch.writes.extend(pages);
    }
}

/// Uniform writes with trims: a share of the requests trims a page drawn from those in use, and the
/// others write a page drawn from all (Frankie, Hughes, Kreutz-Delgado 2012).
///
/// A page in use is found by drawing pages until one is in use.
pub struct UniformTrim {
    pages: u32,
    in_use: Vec<bool>,
    in_use_pages: u32,
    /// Share of trims among requests, scaled to 2^24.
    trims: u64,
    /// A write that has to wait for the next batch.
    held_back: Option<u32>,
    random: Random,
}

impl UniformTrim {
    /// All pages are in use at first.
    pub fn new(pages: u32, trim_share: f64) -> Self {
        Self {
            pages,
            in_use: vec![true; pages as usize],
            in_use_pages: pages,
            trims: share(trim_share),
            held_back: None,
            random: Random::new(1),
        }
    }

    /// Number of pages in use.
    pub fn in_use_pages(&self) -> u32 {
        self.in_use_pages
    }

    fn write(&mut self, batch: &mut Batch, page: u32) {
        let in_use = &mut self.in_use[page as usize];
        self.in_use_pages += u32::from(!*in_use);
        *in_use = true;
        batch.writes.push(page);
    }

    fn trim(&mut self, batch: &mut Batch) {
        let page = loop {
            let page = self.random.below_u32(self.pages);
            if self.in_use[page as usize] {
                break page;
            }
        };
        self.in_use[page as usize] = false;
        self.in_use_pages -= 1;
        batch.discards.push(page);
    }
}

impl PageWorkload for UniformTrim {
    fn fill(&mut self, batch: &mut Batch) {
        if let Some(page) = self.held_back.take() {
            self.write(batch, page);
        }
        while batch.writes.len() < BATCH && batch.discards.len() < BATCH {
            let bits = self.random.bits();
            if bits & SHARE_MASK < self.trims {
                self.trim(batch);
                continue;
            }
            let page = high_page(bits, self.pages);
            // A batch's discards come after its writes.
            if !self.in_use[page as usize] && batch.discards.contains(&page) {
                self.held_back = Some(page);
                return;
            }
            self.write(batch, page);
        }
    }
}
