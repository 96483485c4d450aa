//! The blocks with the fewest valid pages, exactly, without a list of all blocks.

/// Closed blocks with at most [`Candidates::limit`] valid pages, by their number of valid pages, oldest
/// first. The rest of the blocks are known to be worse, and cost nothing while their pages become
/// invalid: that is nearly all of them nearly always.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// Next and previous in the circular list of a level; levels' heads come after the blocks.
    links: Vec<[u32; 2]>,
    /// Blocks by level.
    len: Vec<u32>,
    /// Index of the head of level 0: the number of blocks.
    heads: u32,
    /// Blocks of fewer valid pages than this are in the lists: 0 to pages per block + 1.
    below: u32,
    /// No level below this one has a block.
    lowest: u32,
    /// Blocks in the lists.
    total: u32,
}

const NEXT: usize = 0;
const PREVIOUS: usize = 1;

impl Candidates {
    /// For so many blocks; `levels` is pages per block + 1, or 0 where nobody asks for candidates.
    pub(super) fn new(blocks: u32, levels: u32) -> Self {
        let nodes = if levels == 0 { 0 } else { blocks + levels };
        Self {
            links: (0..nodes).map(|node| [node, node]).collect(),
            len: vec![0; levels as usize],
            heads: blocks,
            below: 0,
            lowest: 0,
            total: 0,
        }
    }

    /// Blocks of fewer valid pages are in the lists.
    #[inline]
    pub(super) fn below(&self) -> u32 {
        self.below
    }

    /// A closed block of `level` valid pages, less than `below`.
    pub(super) fn insert(&mut self, block: u32, level: u32) {
        let head = self.heads + level;
        let last = self.links[head as usize][PREVIOUS];
        self.links[last as usize][NEXT] = block;
        self.links[block as usize] = [head, last];
        self.links[head as usize][PREVIOUS] = block;
        self.len[level as usize] += 1;
        self.total += 1;
        self.lowest = self.lowest.min(level);
    }

    /// A block that was inserted at `level`.
    pub(super) fn remove(&mut self, block: u32, level: u32) {
        let [next, previous] = self.links[block as usize];
        self.links[previous as usize][NEXT] = next;
        self.links[next as usize][PREVIOUS] = previous;
        self.len[level as usize] -= 1;
        self.total -= 1;
    }

    /// The oldest of the blocks with the fewest valid pages; `None` where a [`Candidates::refill`] is due.
    pub(super) fn best(&mut self) -> Option<u32> {
        if self.total == 0 {
            return None;
        }
        while self.len[self.lowest as usize] == 0 {
            self.lowest += 1;
        }
        Some(self.links[(self.heads + self.lowest) as usize][NEXT])
    }

    /// The best now becomes the worst level that is tracked such that a 64th of the closed blocks are:
    /// `levels` are the closed blocks and their valid pages, walked twice.
    pub(super) fn refill(&mut self, levels: impl Iterator<Item = (u32, u32)> + Clone) {
        let mut histogram = vec![0u32; self.len.len()];
        let mut closed = 0u32;
        for (_, level) in levels.clone() {
            histogram[level as usize] += 1;
            closed += 1;
        }
        let enough = closed / 64 + 1;
        let mut covered = 0;
        self.below = 0;
        for blocks in histogram {
            self.below += 1;
            covered += blocks;
            if covered >= enough {
                break;
            }
        }
        self.lowest = self.below - 1;
        for (block, level) in levels {
            if level < self.below {
                self.insert(block, level);
            }
        }
    }

    /// Forgets the worst levels while there are many more candidates than a collection needs.
    pub(super) fn trim(&mut self, blocks: u32) {
        while self.total > blocks / 32 + 8 {
            let worst = self.below - 1;
            let len = self.len[worst as usize];
            if self.total - len <= blocks / 128 {
                return;
            }
            let head = self.heads + worst;
            self.links[head as usize] = [head, head];
            self.len[worst as usize] = 0;
            self.total -= len;
            self.below = worst;
        }
    }

    /// Blocks of a level, for the invariant checker.
    pub(super) fn level(&self, level: u32) -> impl Iterator<Item = u32> {
        let head = self.heads + level;
        let mut at = head;
        let nodes = self.links.len();
        std::iter::from_fn(move || {
            at = self.links[at as usize][NEXT];
            (at != head).then_some(at)
        })
        .take(nodes)
    }

    /// Bytes of the lists.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.links) + size_of_val(&*self.len)
    }

    /// Blocks in the lists.
    pub(super) fn total(&self) -> u32 {
        self.total
    }
}
