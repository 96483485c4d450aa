//! The straightforward translation layer: a table in each direction, blocks in linked bins by number of valid
//! pages, greedy collection. No prefetch, no huge pages, no bitmap: invalid pages are marked in the
//! physical-to-logical table itself. A baseline for the speed of `flash::ftl`.

const NONE: u32 = u32::MAX;

struct Block {
    next: u32,
    previous: u32,
    valid: u32,
    closed: bool,
}

pub struct Plain {
    pages_per_block: u32,
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    blocks: Vec<Block>,
    /// Heads of the bins by valid pages.
    bins: Vec<u32>,
    lowest: usize,
    free: Vec<u32>,
    reserve: usize,
    /// The block that is written and its next page: of the host, of moved pages.
    frontiers: [(u32, u32); 2],
    pub host_pages: u64,
    pub moved_pages: u64,
}

impl Plain {
    /// Every page written once, in order.
    pub fn new(logical_pages: u32, data_blocks: u32, pages_per_block: u32, free: u32) -> Self {
        let blocks = data_blocks + 2 + free;
        let mut plain = Self {
            pages_per_block,
            l2p: vec![NONE; logical_pages as usize],
            p2l: vec![NONE; blocks as usize * pages_per_block as usize],
            blocks: (0..blocks)
                .map(|_| Block {
                    next: NONE,
                    previous: NONE,
                    valid: 0,
                    closed: false,
                })
                .collect(),
            bins: vec![NONE; pages_per_block as usize + 1],
            lowest: 0,
            free: (2..blocks).rev().collect(),
            reserve: free as usize,
            frontiers: [(0, 0), (1, 0)],
            host_pages: 0,
            moved_pages: 0,
        };
        for page in 0..logical_pages {
            plain.write(page);
        }
        plain
    }

    fn unlink(&mut self, block: u32) {
        let Block {
            next,
            previous,
            valid,
            ..
        } = self.blocks[block as usize];
        if previous == NONE {
            self.bins[valid as usize] = next;
        } else {
            self.blocks[previous as usize].next = next;
        }
        if next != NONE {
            self.blocks[next as usize].previous = previous;
        }
    }

    fn link(&mut self, block: u32) {
        let valid = self.blocks[block as usize].valid as usize;
        let next = std::mem::replace(&mut self.bins[valid], block);
        self.blocks[block as usize].next = next;
        self.blocks[block as usize].previous = NONE;
        if next != NONE {
            self.blocks[next as usize].previous = block;
        }
        self.lowest = self.lowest.min(valid);
    }

    pub fn write(&mut self, page: u32) {
        let old = self.l2p[page as usize];
        if old != NONE {
            self.p2l[old as usize] = NONE;
            let block = old / self.pages_per_block;
            if self.blocks[block as usize].closed {
                self.unlink(block);
                self.blocks[block as usize].valid -= 1;
                self.link(block);
            } else {
                self.blocks[block as usize].valid -= 1;
            }
        }
        self.program(page, 0);
        self.host_pages += 1;
        while self.free.len() < self.reserve {
            self.collect();
        }
    }

    fn program(&mut self, page: u32, frontier: usize) {
        let (block, next) = self.frontiers[frontier];
        let place = block * self.pages_per_block + next;
        self.l2p[page as usize] = place;
        self.p2l[place as usize] = page;
        self.blocks[block as usize].valid += 1;
        if next + 1 < self.pages_per_block {
            self.frontiers[frontier].1 = next + 1;
        } else {
            self.blocks[block as usize].closed = true;
            self.link(block);
            self.frontiers[frontier] = (self.free.pop().expect("a reserve"), 0);
        }
    }

    fn collect(&mut self) {
        while self.bins[self.lowest] == NONE {
            self.lowest += 1;
        }
        let victim = self.bins[self.lowest];
        self.unlink(victim);
        let first = victim * self.pages_per_block;
        for place in first..first + self.pages_per_block {
            let page = self.p2l[place as usize];
            if page != NONE {
                self.program(page, 1);
                self.moved_pages += 1;
                self.p2l[place as usize] = NONE;
            }
        }
        self.blocks[victim as usize].valid = 0;
        self.blocks[victim as usize].closed = false;
        self.free.push(victim);
    }
}
