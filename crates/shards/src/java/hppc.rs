//! The order of hppc's `ObjectObjectHashMap` and `IntObjectHashMap` (0.8.1), which the server's
//! `ImmutableOpenMap` and `ImmutableOpenIntMap` are made of, with the deterministic mixing of keys.

const EMPTY: u32 = u32::MAX;
/// Slots of a new map (four elements expected, three quarters full at most).
const FIRST_SLOTS: usize = 8;

/// A map from hashes to items, for the order in which it is walked: open addressing, linear probing,
/// each size of the buffer with a mixer of its own.
#[derive(Debug, Clone)]
pub struct HppcOrder {
    /// Item per slot.
    slots: Vec<u32>,
    /// Hash per item.
    hashes: Vec<i32>,
    assigned: usize,
    /// The item with the key that marks an empty slot: the number 0. It is walked last.
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

/// `HashOrderMixing.DETERMINISTIC`: the size of the buffer, mixed.
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
    /// The order of a map of strings, put in one after the other.
    pub(crate) fn of_strings<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        let mut order = Self::default();
        for key in keys {
            order.insert_hash(super::string_hash(key));
        }
        order
    }

    /// The order of a map of numbers, put in one after the other.
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

    /// Puts in a key, by its hash, that is not yet there.
    pub(crate) fn insert_hash(&mut self, hash: i32) {
        let item = self.admit(hash);
        let slot = self.free_slot(hash);
        // At three quarters the new key first takes its slot in the old buffer, then all move.
        let full = (self.slots.len() - 1).min((self.slots.len() * 3).div_ceil(4));
        self.slots[slot] = item;
        if self.assigned == full {
            self.grow();
        }
        self.assigned += 1;
    }

    /// Takes out the key that was put in as the `item`th.
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

    /// The keys, by the order in which they were put in, in the order in which the map is walked.
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
