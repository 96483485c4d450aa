//! Iteration orders of Java collections that the server's decisions depend on: `HashMap` and `HashSet`,
//! and hppc maps with `-Dhppc.bitmixer=DETERMINISTIC`.

mod hppc;
mod string;
mod tree;

pub use hppc::HppcOrder;
pub(crate) use string::string_compare;
pub use string::string_hash;

use std::collections::HashMap;

use tree::{NONE, Tree};

/// A bin that grows beyond this becomes a tree, or the table doubles (`TREEIFY_THRESHOLD`).
const TREEIFY: u32 = 8;
/// A tree that has at most this many items after a split becomes a list (`UNTREEIFY_THRESHOLD`).
const UNTREEIFY: u32 = 6;
/// With fewer bins than this the table doubles instead (`MIN_TREEIFY_CAPACITY`).
const MIN_TREEIFY_CAPACITY: usize = 64;
/// Bins of a `HashMap` whose size is not given.
pub(crate) const DEFAULT_BINS: usize = 16;

/// Bins of a map made for this number of keys (`Maps.newMapWithExpectedSize`).
pub(crate) fn bins_for(expected: usize) -> usize {
    let capacity = if expected < 2 {
        expected + 1
    } else {
        // (int) (expected / 0.75 + 1.0)
        expected * 4 / 3 + 1
    };
    capacity.next_power_of_two()
}

/// Bins of a `HashMap` that began with `bins`, after a number of keys was inserted with `put`.
///
/// `computeIfAbsent` looks at the size before it inserts: there, `keys` is their number before the last call, whether or
/// not that found its key.
pub(crate) fn bins_after(mut bins: usize, keys: usize) -> usize {
    while keys > bins * 3 / 4 {
        bins *= 2;
    }
    bins
}

/// How keys came into a `HashMap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// `put`: at the end of their bins.
    Put,
    /// `computeIfAbsent`: at their beginning.
    ComputeIfAbsent,
}

/// Brings items into the order in which a `HashMap` of so many bins returns them, into which they were inserted one
/// after the other.
///
/// Bins that become trees are left out: with hashes that are spread well, one in ten million has that many
/// keys.
pub(crate) fn by_hash<T>(
    mut items: Vec<T>,
    filled: Filled,
    bins: usize,
    hash: impl Fn(&T) -> i32,
) -> Vec<T> {
    let bin = |item: &T| {
        let hash = hash(item).cast_unsigned();
        (hash ^ (hash >> 16)) as usize & (bins - 1)
    };
    if filled == Filled::ComputeIfAbsent {
        items.reverse();
    }
    items.sort_by_cached_key(bin);
    items
}

/// Iteration order of a `HashMap` or `HashSet` of strings.
///
/// The table starts with 16 bins and doubles when it is three quarters full. Doubling preserves the order
/// within a bin, and so does everything else with one exception: a bin of more than eight keys becomes a
/// tree (or, in a small table, makes it double), whose root is visited first.
#[derive(Debug, Clone)]
pub struct HashOrder<'k> {
    keys: Vec<(&'k str, i32)>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    lengths: Vec<u32>,
    next: Vec<u32>,
    trees: HashMap<usize, Tree>,
}

impl Default for HashOrder<'_> {
    fn default() -> Self {
        Self::with_bins(DEFAULT_BINS)
    }
}

impl<'k> HashOrder<'k> {
    fn with_bins(bins: usize) -> Self {
        Self {
            keys: Vec::new(),
            heads: vec![NONE; bins],
            tails: vec![NONE; bins],
            lengths: vec![0; bins],
            next: Vec::new(),
            trees: HashMap::new(),
        }
    }

    /// Returns the items in the iteration order of a new `HashMap` into which their keys were inserted
    /// one after the other. Keys must be distinct.
    pub fn of<T: Copy>(items: &[T], key: impl Fn(T) -> &'k str) -> Vec<T> {
        let mut order = Self::default();
        for &item in items {
            order.insert(key(item));
        }
        order.iter().map(|at| items[at]).collect()
    }

    /// Like [`HashOrder::of`], for a map created with room for `expected` keys
    /// (`Maps.newMapWithExpectedSize`).
    pub fn of_sized<T: Copy>(items: &[T], expected: usize, key: impl Fn(T) -> &'k str) -> Vec<T> {
        let mut order = Self::with_bins(bins_for(expected));
        for &item in items {
            order.insert(key(item));
        }
        order.iter().map(|at| items[at]).collect()
    }

    /// Inserts a key that is not yet in the map.
    ///
    /// # Panics
    /// With more than 2^32 keys.
    pub fn insert(&mut self, key: &'k str) {
        let item = u32::try_from(self.keys.len()).expect("fewer than 2^32 keys");
        let hash = string_hash(key);
        // HashMap.hash: mixes the upper half in, so that it matters even in small tables.
        self.keys.push((
            key,
            hash ^ hash.cast_unsigned().wrapping_shr(16).cast_signed(),
        ));
        self.next.push(NONE);
        let bin = self.bin(item);
        if let Some(tree) = self.trees.get_mut(&bin) {
            self.heads[bin] = tree.put(item, self.heads[bin], &mut self.next, &self.keys);
            self.lengths[bin] += 1;
        } else {
            self.append(bin, item);
            if self.lengths[bin] > TREEIFY {
                if self.heads.len() < MIN_TREEIFY_CAPACITY {
                    self.double();
                } else {
                    self.treeify(bin);
                }
            }
        }
        if self.keys.len() > self.heads.len() * 3 / 4 {
            self.double();
        }
    }

    /// Insertion numbers of the keys, in the map's iteration order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.heads.iter().flat_map(|&head| self.chain(head))
    }

    fn chain(&self, head: u32) -> impl Iterator<Item = usize> + '_ {
        let there = |item: u32| (item != NONE).then_some(item);
        std::iter::successors(there(head), move |&item| there(self.next[item as usize]))
            .map(|item| item as usize)
    }

    fn bin(&self, item: u32) -> usize {
        self.keys[item as usize].1.cast_unsigned() as usize & (self.heads.len() - 1)
    }

    fn append(&mut self, bin: usize, item: u32) {
        match self.tails[bin] {
            NONE => self.heads[bin] = item,
            tail => self.next[tail as usize] = item,
        }
        self.next[item as usize] = NONE;
        self.tails[bin] = item;
        self.lengths[bin] += 1;
    }

    fn treeify(&mut self, bin: usize) {
        let (tree, head) = Tree::of(self.heads[bin], &mut self.next, &self.keys);
        self.heads[bin] = head;
        self.trees.insert(bin, tree);
    }

    /// Doubles the number of bins: each is split in two, preserving the order within each.
    fn double(&mut self) {
        let before = self.heads.len();
        let heads = std::mem::replace(&mut self.heads, vec![NONE; before * 2]);
        self.tails = vec![NONE; before * 2];
        self.lengths = vec![0; before * 2];
        let mut trees = std::mem::take(&mut self.trees);
        for (bin, head) in heads.into_iter().enumerate() {
            let mut item = head;
            while item != NONE {
                let following = self.next[item as usize];
                let to = self.bin(item);
                self.append(to, item);
                item = following;
            }
            let Some(tree) = trees.remove(&bin) else {
                continue;
            };
            let halves = [bin, bin + before];
            let split = halves.iter().all(|&half| self.lengths[half] > 0);
            if split {
                for half in halves {
                    if self.lengths[half] > UNTREEIFY {
                        self.treeify(half);
                    }
                }
            } else {
                let all = halves[usize::from(self.lengths[bin] == 0)];
                self.trees.insert(all, tree);
            }
        }
    }
}

#[cfg(test)]
mod tests;
