//! Lists of handles that keep their order.

use super::CopyIndex;

const INLINE: usize = 3;
const GONE: u32 = u32::MAX;
/// Gaps are kept in lists with fewer slots than this.
const COMPACTED_SLOTS_MIN: usize = 32;

/// A few handles in order, for a shard's assigned copies. Up to three are stored inline.
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

    /// Removes a handle; later ones move up.
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

/// A node's copies in the order of their arrival. Removing one leaves a gap, until there are too many.
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

    /// Appends a handle and returns its slot.
    pub fn push(&mut self, handle: CopyIndex) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 slots");
        self.slots.push(handle.0);
        self.len += 1;
        slot
    }

    /// Removes a handle from its slot, leaving a gap.
    pub fn take(&mut self, handle: CopyIndex, slot: u32) {
        let slot = slot as usize;
        debug_assert_eq!(self.slots.get(slot), Some(&handle.0), "not on this node");
        self.slots[slot] = GONE;
        self.len -= 1;
    }

    /// Closes the gaps if they outnumber the handles. If so, returns true: the handles' slots are then 0,
    /// 1, 2, ... in the order of [`Self::iter`].
    pub fn compact(&mut self) -> bool {
        let has_many_gaps =
            self.slots.len() > COMPACTED_SLOTS_MIN && self.slots.len() / 2 > self.len as usize;
        if has_many_gaps {
            self.slots.retain(|&slot| slot != GONE);
        }
        has_many_gaps
    }

    pub fn iter(&self) -> impl Iterator<Item = CopyIndex> + '_ {
        self.slots
            .iter()
            .filter(|&&slot| slot != GONE)
            .map(|&slot| CopyIndex(slot))
    }
}
