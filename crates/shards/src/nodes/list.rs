//! Lists of handles that keep their order.

use super::{CopyIndex, RoutingNodes};
use crate::model::NodeIndex;

const INLINE: usize = 3;
const GONE: u32 = u32::MAX;

/// A few handles in order: a shard's assigned copies. Nothing is allocated for up to three.
#[derive(Debug, Clone)]
pub(super) enum Handles {
    Few { len: u8, items: [CopyIndex; INLINE] },
    Many(Vec<CopyIndex>),
}

impl Default for Handles {
    fn default() -> Self {
        Self::Few {
            len: 0,
            items: [CopyIndex(GONE); INLINE],
        }
    }
}

impl Handles {
    pub fn as_slice(&self) -> &[CopyIndex] {
        match self {
            Self::Few { len, items } => &items[..usize::from(*len)],
            Self::Many(items) => items,
        }
    }

    pub fn push(&mut self, handle: CopyIndex) {
        match self {
            Self::Few { len, items } if usize::from(*len) < INLINE => {
                items[usize::from(*len)] = handle;
                *len += 1;
            }
            Self::Few { items, .. } => {
                let mut many = items.to_vec();
                many.push(handle);
                *self = Self::Many(many);
            }
            Self::Many(items) => items.push(handle),
        }
    }

    /// Takes a handle out; those behind it move up.
    pub fn remove(&mut self, handle: CopyIndex) {
        let found = self.as_slice().iter().position(|&other| other == handle);
        debug_assert!(found.is_some(), "no copy to remove");
        let Some(at) = found else { return };
        match self {
            Self::Few { len, items } => {
                items.copy_within(at + 1..usize::from(*len), at);
                *len -= 1;
            }
            Self::Many(items) => {
                items.remove(at);
            }
        }
    }
}

/// A node's copies in the order they came; taking one out leaves a gap until there are too many.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeList {
    slots: Vec<u32>,
    len: u32,
}

impl NodeList {
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Replaces the list.
    pub fn fill(&mut self, handles: &[CopyIndex]) {
        self.slots.clear();
        self.slots.extend(handles.iter().map(|handle| handle.0));
        self.len = u32::try_from(self.slots.len()).expect("fewer than 2^32 slots");
    }

    pub fn iter(&self) -> impl Iterator<Item = CopyIndex> + '_ {
        self.slots
            .iter()
            .filter(|&&slot| slot != GONE)
            .map(|&slot| CopyIndex(slot))
    }
}

impl RoutingNodes {
    pub(super) fn push_on_node(&mut self, handle: CopyIndex, node: NodeIndex) {
        let list = self.lists[node.at()].get_or_insert_default();
        self.spots[handle.at()] = u32::try_from(list.slots.len()).expect("fewer than 2^32 slots");
        list.slots.push(handle.0);
        list.len += 1;
    }

    pub(super) fn take_from_node(&mut self, handle: CopyIndex, node: NodeIndex) {
        let Some(list) = &mut self.lists[node.at()] else {
            return;
        };
        let spot = std::mem::replace(&mut self.spots[handle.at()], GONE) as usize;
        debug_assert_eq!(list.slots.get(spot), Some(&handle.0), "not on this node");
        list.slots[spot] = GONE;
        list.len -= 1;
        if list.slots.len() > 32 && list.slots.len() / 2 > list.len as usize {
            list.slots.retain(|&slot| slot != GONE);
            for (spot, &slot) in (0..).zip(&list.slots) {
                self.spots[slot as usize] = spot;
            }
        }
    }

    pub(super) fn assigned_add(&mut self, handle: CopyIndex) {
        if let Some(dense) = self.dense(self.copies[handle.at()].shard) {
            self.assigned[dense].push(handle);
        }
    }

    pub(super) fn assigned_remove(&mut self, handle: CopyIndex) {
        if let Some(dense) = self.dense(self.copies[handle.at()].shard) {
            self.assigned[dense].remove(handle);
        }
    }
}
