//! Invariants of the tables, which hold between requests.

use super::BlockState;
use super::Collection;
use super::physical::NONE;
use super::tables::Tables;

impl Tables {
    /// Whether a physical page is valid.
    pub(super) fn is_valid(&self, block: u32, page: u32) -> bool {
        let place = (block << self.page_bits) | page;
        self.valid[(place / 64) as usize] & (1 << (place % 64)) != 0
    }

    /// Pages of a block that have been programmed since it was erased.
    pub(super) fn programmed(&self, block: u32) -> u32 {
        match self.state[block as usize] {
            BlockState::Free => 0,
            BlockState::Closed => self.pages_per_block,
            // A full frontier may still name a block that has since been opened by another
            // frontier.
            BlockState::Open => self
                .frontiers
                .iter()
                .find(|frontier| frontier.block == block && frontier.next < self.pages_per_block)
                .map_or(0, |frontier| frontier.next),
        }
    }

    /// Valid pages of a block. The count of an open block includes its pages not programmed yet.
    pub(super) fn valid_pages(&self, block: u32) -> u32 {
        let count = u32::from(self.count[block as usize]);
        match self.state[block as usize] {
            BlockState::Open => count - (self.pages_per_block - self.programmed(block)),
            BlockState::Free | BlockState::Closed => count,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.check_mapping()?;
        self.check_blocks()?;
        self.check_lists()
    }

    /// The mapping between logical and physical pages is one to one, and every valid page is
    /// mapped.
    fn check_mapping(&self) -> Result<(), String> {
        let mut mapped = 0;
        for (page, place) in (0u32..).zip(&self.l2p).filter(|(_, place)| **place != NONE) {
            mapped += 1;
            let (block, within) = (place >> self.page_bits, place & ((1 << self.page_bits) - 1));
            if block >= self.blocks() || within >= self.programmed(block) {
                return Err(format!(
                    "page {page} lies at {block}:{within}, which is not programmed"
                ));
            }
            if !self.is_valid(block, within) {
                return Err(format!(
                    "page {page} lies at {block}:{within}, which is invalid"
                ));
            }
            let back = self.p2l[block as usize * self.pages_per_block as usize + within as usize];
            if back != page {
                return Err(format!(
                    "page {page} lies at {block}:{within}, which holds page {back}"
                ));
            }
        }
        if mapped != self.mapped {
            return Err(format!(
                "{mapped} pages are mapped, counted were {}",
                self.mapped
            ));
        }
        let valid: u64 = (0..self.blocks())
            .map(|block| u64::from(self.valid_pages(block)))
            .sum();
        if valid != mapped {
            return Err(format!("{mapped} pages are mapped, {valid} are valid"));
        }
        Ok(())
    }

    /// Each block's count matches its bits, and no bit is set where there is no valid page.
    fn check_blocks(&self) -> Result<(), String> {
        let words = 1usize << (self.page_bits - 6);
        for (block, bits) in (0u32..).zip(self.valid.chunks(words)) {
            let set: u32 = bits.iter().map(|word| word.count_ones()).sum();
            let count = u32::from(self.count[block as usize]);
            if set != count {
                return Err(format!(
                    "block {block} has {set} valid pages, counted were {count}"
                ));
            }
            let beyond =
                (self.pages_per_block..1 << self.page_bits).any(|page| self.is_valid(block, page));
            if beyond {
                return Err(format!("block {block} has valid pages beyond its end"));
            }
            let state = self.state[block as usize];
            let unwritten = (self.programmed(block)..self.pages_per_block)
                .all(|page| self.is_valid(block, page));
            if state == BlockState::Open && !unwritten {
                return Err(format!(
                    "block {block} lost pages that were not programmed yet"
                ));
            }
            if state == BlockState::Free && count > 0 {
                return Err(format!("block {block} is free and has {count} valid pages"));
            }
        }
        Ok(())
    }

    /// Every block is free, open or closed, and is in the matching list exactly once.
    fn check_lists(&self) -> Result<(), String> {
        let of =
            |state| (0..self.blocks()).filter(move |block| self.state[*block as usize] == state);
        let mut free: Vec<u32> = self.free.iter().copied().collect();
        free.sort_unstable();
        if !free.iter().copied().eq(of(BlockState::Free)) {
            return Err(format!("the free list is {free:?}"));
        }
        let unopened = self.frontiers.iter().filter(|f| f.block == NONE).count();
        if free.len() + 1 < self.kept as usize || unopened >= self.kept as usize {
            return Err(format!(
                "{} of {} kept blocks are free",
                free.len(),
                self.kept
            ));
        }
        let mut open: Vec<u32> = self
            .frontiers
            .iter()
            .filter(|frontier| frontier.next < self.pages_per_block)
            .map(|frontier| frontier.block)
            .collect();
        open.sort_unstable();
        if !open.iter().copied().eq(of(BlockState::Open)) {
            return Err(format!("the frontiers are {open:?}"));
        }
        match self.collection {
            Collection::Greedy => self.check_candidates(),
            Collection::Fifo => {
                let mut queue: Vec<u32> = self.queue.iter().copied().collect();
                queue.sort_unstable();
                if queue.iter().copied().eq(of(BlockState::Closed)) {
                    Ok(())
                } else {
                    Err(format!("the queue of closed blocks is {queue:?}"))
                }
            }
            Collection::DChoices(_) => Ok(()),
        }
    }

    /// The candidates are the closed blocks below the bound, each at its level.
    fn check_candidates(&self) -> Result<(), String> {
        let below = self.candidates.below();
        let closed = (0..self.blocks())
            .filter(|block| self.state[*block as usize] == BlockState::Closed)
            .filter(|block| u32::from(self.count[*block as usize]) < below)
            .count();
        let mut listed = 0;
        for level in 0..=self.pages_per_block {
            for block in self.candidates.level(level) {
                let count = u32::from(self.count[block as usize]);
                let state = self.state[block as usize];
                if count != level || state != BlockState::Closed || level >= below {
                    return Err(format!(
                        "block {block} ({state:?}, {count} valid) is a candidate of level {level}"
                    ));
                }
                listed += 1;
            }
        }
        if listed != closed || listed != self.candidates.total() as usize {
            return Err(format!(
                "{closed} blocks are candidates, {listed} are listed, counted were {}",
                self.candidates.total()
            ));
        }
        Ok(())
    }
}
