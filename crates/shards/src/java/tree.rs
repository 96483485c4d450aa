//! A bin of a `HashMap` that has been converted to a red-black tree (`HashMap.TreeNode`).
//!
//! A tree bin is iterated along the same links as a list. A new key is linked after its parent in the
//! tree, and whenever the root changes it is moved to the front; the tree affects the order in no other
//! way.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::string_compare;

/// End of a list, or a missing child in a tree.
pub(super) const NONE: u32 = u32::MAX;

type Keys<'k> = [(&'k str, i32)];

#[derive(Debug, Clone, Copy)]
struct Links {
    parent: u32,
    left: u32,
    right: u32,
    red: bool,
}

const BLACK_LEAF: Links = Links {
    parent: NONE,
    left: NONE,
    right: NONE,
    red: false,
};

/// The shape of one tree.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    links: HashMap<u32, Links>,
    root: u32,
}

impl Tree {
    /// Builds a tree from a list (`treeify`). Also returns the new head of the list.
    pub fn of(head: u32, next: &mut [u32], keys: &Keys) -> (Self, u32) {
        let mut tree = Self {
            links: HashMap::new(),
            root: NONE,
        };
        let mut item = head;
        while item != NONE {
            tree.insert(item, keys);
            item = next[item as usize];
        }
        let head = tree.root_to_front(head, next);
        (tree, head)
    }

    /// Inserts a key into the tree and the list (`putTreeVal`). Returns the new head of the list.
    pub fn put(&mut self, item: u32, head: u32, next: &mut [u32], keys: &Keys) -> u32 {
        let parent = self.insert(item, keys);
        next[item as usize] = next[parent as usize];
        next[parent as usize] = item;
        self.root_to_front(head, next)
    }

    /// `moveRootToFront`.
    fn root_to_front(&self, head: u32, next: &mut [u32]) -> u32 {
        let root = self.root;
        if root != head {
            let mut before = head;
            while next[before as usize] != root {
                before = next[before as usize];
            }
            next[before as usize] = next[root as usize];
            next[root as usize] = head;
        }
        root
    }

    /// Inserts a key into the tree and rebalances. Returns its parent, or `NONE` for the first key.
    fn insert(&mut self, item: u32, keys: &Keys) -> u32 {
        self.links.insert(item, BLACK_LEAF);
        if self.root == NONE {
            self.root = item;
            return NONE;
        }
        let (key, hash) = keys[item as usize];
        let mut at = self.root;
        loop {
            let (other, other_hash) = keys[at as usize];
            let left = hash
                .cmp(&other_hash)
                .then_with(|| string_compare(key, other))
                != Ordering::Greater;
            let child = if left { self.left(at) } else { self.right(at) };
            if child != NONE {
                at = child;
                continue;
            }
            let links = self.get(at);
            if left {
                links.left = item;
            } else {
                links.right = item;
            }
            self.get(item).parent = at;
            self.balance(item);
            return at;
        }
    }

    fn get(&mut self, item: u32) -> &mut Links {
        self.links.get_mut(&item).expect("every key has its links")
    }

    fn parent(&self, item: u32) -> u32 {
        self.links.get(&item).map_or(NONE, |links| links.parent)
    }

    fn left(&self, item: u32) -> u32 {
        self.links.get(&item).map_or(NONE, |links| links.left)
    }

    fn right(&self, item: u32) -> u32 {
        self.links.get(&item).map_or(NONE, |links| links.right)
    }

    fn is_red(&self, item: u32) -> bool {
        self.links.get(&item).is_some_and(|links| links.red)
    }

    /// `balanceInsertion`.
    fn balance(&mut self, inserted: u32) {
        let mut x = inserted;
        self.get(x).red = true;
        loop {
            let mut parent = self.parent(x);
            if parent == NONE {
                self.get(x).red = false;
                return;
            }
            let mut grand = self.parent(parent);
            if !self.is_red(parent) || grand == NONE {
                return;
            }
            let parent_is_left = parent == self.left(grand);
            let uncle = if parent_is_left {
                self.right(grand)
            } else {
                self.left(grand)
            };
            if self.is_red(uncle) {
                self.get(uncle).red = false;
                self.get(parent).red = false;
                self.get(grand).red = true;
                x = grand;
                continue;
            }
            let inner = if parent_is_left {
                self.right(parent)
            } else {
                self.left(parent)
            };
            if x == inner {
                x = parent;
                self.rotate(x, parent_is_left);
                parent = self.parent(x);
                grand = self.parent(parent);
            }
            self.get(parent).red = false;
            if grand != NONE {
                self.get(grand).red = true;
                self.rotate(grand, !parent_is_left);
            }
        }
    }

    /// `rotateLeft` or `rotateRight`.
    fn rotate(&mut self, p: u32, to_left: bool) {
        let child = if to_left { self.right(p) } else { self.left(p) };
        if child == NONE {
            return;
        }
        let inner = if to_left {
            self.left(child)
        } else {
            self.right(child)
        };
        let links = self.get(p);
        if to_left {
            links.right = inner;
        } else {
            links.left = inner;
        }
        if inner != NONE {
            self.get(inner).parent = p;
        }
        let above = self.parent(p);
        self.get(child).parent = above;
        if above == NONE {
            self.root = child;
            self.get(child).red = false;
        } else if self.left(above) == p {
            self.get(above).left = child;
        } else {
            self.get(above).right = child;
        }
        let links = self.get(child);
        if to_left {
            links.left = p;
        } else {
            links.right = p;
        }
        self.get(p).parent = child;
    }
}
