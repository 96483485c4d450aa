//! Iteration order of hppc's `ObjectObjectHashMap` and `IntObjectHashMap` (0.8.1), on which the server's
//! `ImmutableOpenMap` and `ImmutableOpenIntMap` are built, with deterministic key mixing.

const EMPTY: u32 = u32::MAX;
/// Slots of a new map (four expected elements, load factor 3/4).
const FIRST_SLOTS: usize = 8;

/// A map from hashes to items that reproduces the iteration order: open addressing with linear probing
/// and a different mixer for each buffer size.
#[derive(Debug, Clone)]
pub struct HppcOrder {
    /// Item per slot.
    slots: Vec<u32>,
    /// Hash per item.
    hashes: Vec<i32>,
    assigned: usize,
    /// The item with the key that marks an empty slot, the number 0. It is visited last.
    zero: Option<u32>,
    mixer: i32,
}

impl Default for HppcOrder {
    fn default() -> Self {
        Self {
            slots: vec![EMPTY; FIRST_SLOTS],
            hashes: Vec::new(),
            assigned: 0,
            zero: None,
            mixer: mixer(FIRST_SLOTS),
        }
    }
}

/// `HashOrderMixing.DETERMINISTIC`: a mix of the buffer size.
fn mixer(slots: usize) -> i32 {
    // A buffer has at most 2^30 slots.
    mix32(i32::try_from(slots).unwrap_or(i32::MAX))
}

/// `BitMixer.mix32`.
fn mix32(key: i32) -> i32 {
    let mut k = key.cast_unsigned();
    k = (k ^ (k >> 16)).wrapping_mul(0x85eb_ca6b);
    k = (k ^ (k >> 13)).wrapping_mul(0xc2b2_ae35);
    (k ^ (k >> 16)).cast_signed()
}

impl HppcOrder {
    /// Order of a map of strings, inserted one after the other.
    pub(crate) fn of_strings<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        let mut order = Self::default();
        for key in keys {
            order.insert_hash(super::string_hash(key));
        }
        order
    }

    /// Order of a map of numbers, inserted one after the other.
    pub(crate) fn of_numbers(keys: impl IntoIterator<Item = u32>) -> Self {
        let mut order = Self::default();
        for key in keys {
            if key == 0 {
                let item = order.admit(0);
                order.zero = Some(item);
            } else {
                order.insert_hash(key.cast_signed());
            }
        }
        order
    }

    /// Inserts a key that is not yet in the map, by its hash.
    pub(crate) fn insert_hash(&mut self, hash: i32) {
        let item = self.admit(hash);
        let slot = self.free_slot(hash);
        // At three quarters, the new key is first inserted into the old buffer, then all keys are
        // rehashed.
        let full = (self.slots.len() - 1).min((self.slots.len() * 3).div_ceil(4));
        self.slots[slot] = item;
        if self.assigned == full {
            self.grow();
        }
        self.assigned += 1;
    }

    /// Removes the key that was inserted as number `item`.
    pub fn remove(&mut self, item: usize) {
        let found = |held: u32| held != EMPTY && held as usize == item;
        if self.zero.is_some_and(found) {
            self.zero = None;
        }
        if let Some(slot) = self.slots.iter().position(|&held| found(held)) {
            self.close_gap(slot);
            self.assigned -= 1;
        }
    }

    /// Insertion numbers of the keys, in the map's iteration order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots
            .iter()
            .copied()
            .filter(|&item| item != EMPTY)
            .chain(self.zero)
            .map(|item| item as usize)
    }

    fn admit(&mut self, hash: i32) -> u32 {
        let item = u32::try_from(self.hashes.len()).expect("fewer than 2^32 keys");
        self.hashes.push(hash);
        item
    }

    fn ideal_slot(&self, hash: i32) -> usize {
        mix32(hash ^ self.mixer).cast_unsigned() as usize & (self.slots.len() - 1)
    }

    fn free_slot(&self, hash: i32) -> usize {
        let mut slot = self.ideal_slot(hash);
        while self.slots[slot] != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    fn grow(&mut self) {
        let doubled = self.slots.len() * 2;
        let before = std::mem::replace(&mut self.slots, vec![EMPTY; doubled]);
        self.mixer = mixer(doubled);
        for item in before.into_iter().rev().filter(|&item| item != EMPTY) {
            let slot = self.free_slot(self.hashes[item as usize]);
            self.slots[slot] = item;
        }
    }

    /// `shiftConflictingKeys`.
    fn close_gap(&mut self, gap: usize) {
        let mask = self.slots.len() - 1;
        let mut gap = gap;
        let mut distance = 0;
        loop {
            distance += 1;
            let slot = (gap + distance) & mask;
            let item = self.slots[slot];
            if item == EMPTY {
                break;
            }
            let ideal = self.ideal_slot(self.hashes[item as usize]);
            if (slot.wrapping_sub(ideal) & mask) >= distance {
                self.slots[gap] = item;
                gap = slot;
                distance = 0;
            }
        }
        self.slots[gap] = EMPTY;
    }
}
