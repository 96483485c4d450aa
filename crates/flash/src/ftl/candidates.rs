//! An exact index of the blocks with the fewest valid pages, without listing all blocks.

/// Closed blocks with fewer than `below` valid pages, grouped by their number of
/// valid pages (their level), oldest first. All other blocks are known to be worse, and cost
/// nothing while their pages become invalid; at most times that is nearly all blocks.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// Next and previous in a level's circular list; the heads of the levels come after the blocks.
    links: Vec<[u32; 2]>,
    /// Number of blocks per level.
    len: Vec<u32>,
    /// Index of the head of level 0, which is the number of blocks.
    heads: u32,
    /// Blocks with fewer valid pages than this are listed: 0 to pages per block + 1.
    below: u32,
    /// All levels below this one are empty.
    lowest: u32,
    /// Number of listed blocks.
    total: u32,
}

const NEXT: usize = 0;
const PREVIOUS: usize = 1;

impl Candidates {
    /// Creates the index for `blocks` blocks; `levels` is pages per block + 1, or 0 if candidates
    /// are not used.
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

    /// Blocks with fewer valid pages than this are listed.
    #[inline]
    pub(super) fn below(&self) -> u32 {
        self.below
    }

    /// Adds a closed block with `level` valid pages, fewer than `below`.
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

    /// Removes a block listed at `level`.
    pub(super) fn remove(&mut self, block: u32, level: u32) {
        let [next, previous] = self.links[block as usize];
        self.links[previous as usize][NEXT] = next;
        self.links[next as usize][PREVIOUS] = previous;
        self.len[level as usize] -= 1;
        self.total -= 1;
    }

    /// The oldest of the blocks with the fewest valid pages, or `None` if [`Candidates::refill`] is
    /// due.
    pub(super) fn best(&mut self) -> Option<u32> {
        if self.total == 0 {
            return None;
        }
        while self.len[self.lowest as usize] == 0 {
            self.lowest += 1;
        }
        Some(self.links[(self.heads + self.lowest) as usize][NEXT])
    }

    /// Rebuilds the lists so that at least a 64th of the closed blocks is listed. `levels` yields
    /// the closed blocks with their valid pages and is walked twice.
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

    /// Drops the worst levels while there are many more candidates than garbage collection needs.
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

    /// The blocks of a level, for the invariant checker.
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

    /// Number of listed blocks.
    pub(super) fn total(&self) -> u32 {
        self.total
    }
}
