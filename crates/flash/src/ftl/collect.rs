//! Victim selection and moving of valid pages.

use super::physical::WORD_BITS;
use super::prefetch::prefetch;
use super::tables::{Frontier, Tables};
use super::{BlockState, Collection, Medium};

impl Tables {
    /// Chooses the next victim and removes it from the candidates.
    fn victim(&mut self) -> u32 {
        match self.collection {
            Collection::Greedy => {
                let block = self.best();
                let level = u32::from(self.count[block as usize]);
                self.candidates.remove(block, level);
                self.candidates.trim(self.blocks());
                block
            }
            Collection::Fifo => {
                let Some(block) = self.queue.pop_front() else {
                    unreachable!("without closed blocks there are free ones");
                };
                block
            }
            Collection::DChoices(choices) => {
                let mut best = self.draw();
                for _ in 1..choices {
                    let drawn = self.draw();
                    if self.count[drawn as usize] < self.count[best as usize] {
                        best = drawn;
                    }
                }
                best
            }
        }
    }

    /// Prefetches the data that the next collection will read, if the next victim is already known.
    fn prefetch_victim(&mut self) {
        const LINE_BYTES: usize = 64;
        let next = match self.collection {
            Collection::Greedy => self.candidates.best(),
            Collection::Fifo => self.queue.front().copied(),
            Collection::DChoices(_) => None,
        };
        if let Some(block) = next {
            prefetch(&self.valid, self.first_word(block));
            prefetch(&self.state, block as usize);
            prefetch(&self.erased, block as usize);
            let pages = self.pages_per_block as usize;
            let back = block as usize * pages;
            for page in (back..back + pages).step_by(LINE_BYTES / size_of::<u32>()) {
                prefetch(&self.p2l, page);
            }
        }
    }

    /// A closed block with the fewest valid pages.
    fn best(&mut self) -> u32 {
        loop {
            if let Some(block) = self.candidates.best() {
                return block;
            }
            let (count, state) = (&self.count, &self.state);
            self.candidates.refill(
                (0..)
                    .zip(count.iter().zip(state))
                    .filter(|(_, (_, state))| **state == BlockState::Closed)
                    .map(|(block, (count, _))| (block, u32::from(*count))),
            );
        }
    }

    /// Draws a closed block at random.
    fn draw(&mut self) -> u32 {
        loop {
            let block = self.random.below_u32(self.blocks());
            if self.state[block as usize] == BlockState::Closed {
                return block;
            }
        }
    }

    /// Moves a victim's valid pages to a frontier and erases it.
    #[inline(never)]
    pub(super) fn collect<M: Medium>(&mut self, medium: &mut M) {
        let victim = self.victim();
        self.prefetch_victim();
        let mut scratch = std::mem::take(&mut self.scratch);
        let valid = self.gather(victim, &mut scratch);
        let target = self.moved;
        let mut rest = &scratch[..valid];
        while !rest.is_empty() {
            let Frontier { block, next } = self.frontiers[target];
            let room = (self.pages_per_block - next) as usize;
            if room == 0 {
                self.open(target);
                continue;
            }
            let (now, later) = rest.split_at(rest.len().min(room));
            let first = (block as usize) * self.pages_per_block as usize + next as usize;
            self.p2l[first..first + now.len()].copy_from_slice(now);
            let place = (block << self.page_bits) | next;
            for (page, place) in now.iter().zip(place..) {
                self.l2p[*page as usize] = place;
            }
            #[allow(clippy::cast_possible_truncation)] // at most pages per block
            self.advance(target, next + now.len() as u32);
            rest = later;
        }
        self.scratch = scratch;
        self.counters.moved_pages += valid as u64;
        self.counters.erased_blocks += 1;
        self.erased[victim as usize] += 1;
        self.count[victim as usize] = 0;
        self.state[victim as usize] = BlockState::Free;
        self.free.push_back(victim);
        #[allow(clippy::cast_possible_truncation)] // at most pages per block
        medium.collect(valid as u32);
    }

    /// Copies the logical pages that the block holds to `pages`, clears their bits and returns
    /// their number.
    #[inline]
    fn gather(&mut self, block: u32, pages: &mut [u32]) -> usize {
        let first = self.first_word(block);
        let words = self.words();
        let back = (block as usize) * self.pages_per_block as usize;
        let back = &self.p2l[back..back + self.pages_per_block as usize];
        let mut found = 0;
        for (bits, back) in self.valid[first..first + words]
            .iter_mut()
            .zip(back.chunks(WORD_BITS as usize))
        {
            let mut rest = std::mem::take(bits);
            while rest != 0 {
                let page = back[rest.trailing_zeros() as usize];
                pages[found] = page;
                prefetch(&self.l2p, page as usize);
                found += 1;
                rest &= rest - 1;
            }
        }
        found
    }
}
