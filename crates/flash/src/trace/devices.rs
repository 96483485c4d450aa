//! Device numbers.

use std::collections::HashMap;

/// Maximum number of devices in a trace; the largest public trace has some ten thousand.
pub const DEVICES_MAX: u32 = 1 << 20;

/// Slots of the cache in front of the map; a power of two.
const CACHE: usize = 1 << 11;

/// Device names in order of appearance.
#[derive(Debug)]
pub(crate) struct Devices {
    names: Vec<Box<[u8]>>,
    /// Uses the standard library's seeded hash, so crafted files cannot force collisions.
    numbers: HashMap<Box<[u8]>, u32>,
    /// A cache in front of the map, with a trivial hash.
    cache: Vec<Cached>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cached {
    ends: u64,
    /// 0 if the slot is free.
    len: u32,
    number: u32,
}

impl Devices {
    pub(crate) fn new() -> Self {
        Self {
            names: Vec::new(),
            numbers: HashMap::new(),
            cache: vec![Cached::default(); CACHE],
        }
    }

    pub(crate) fn name(&self, number: u32) -> Option<&[u8]> {
        self.names.get(number as usize).map(AsRef::as_ref)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of a nonempty name, assigning a new one if needed; `None` beyond [`DEVICES_MAX`].
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> Option<u32> {
        let ends = ends(name);
        let slot = slot(ends, name.len());
        let cached = self.cache[slot];
        if cached.ends == ends && cached.len as usize == name.len() {
            // Short names are equal if their ends are; for longer ones the rest is compared.
            if name.len() <= 8 || *self.names[cached.number as usize] == *name {
                return Some(cached.number);
            }
        }
        self.look_up(name, ends, slot)
    }

    #[cold]
    fn look_up(&mut self, name: &[u8], ends: u64, slot: usize) -> Option<u32> {
        let number = if let Some(number) = self.numbers.get(name) {
            *number
        } else {
            let next = u32::try_from(self.names.len()).ok()?;
            if next >= DEVICES_MAX {
                return None;
            }
            self.names.push(name.into());
            self.numbers.insert(name.into(), next);
            next
        };
        if let Ok(len) = u32::try_from(name.len()) {
            self.cache[slot] = Cached { ends, len, number };
        }
        Some(number)
    }
}

/// The first and the last four bytes, or fewer for short names: unique among names of the same
/// length up to eight bytes.
#[inline]
fn ends(name: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) << 32 | u64::from(last);
    }
    match *name {
        [a] => u64::from(a),
        [a, b] => u64::from(a) << 8 | u64::from(b),
        [a, b, c] => u64::from(a) << 16 | u64::from(b) << 8 | u64::from(c),
        _ => 0,
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation)] // eleven bits
fn slot(ends: u64, len: usize) -> usize {
    let mixed = (ends ^ len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - CACHE.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_equal_numbers() {
        let mut devices = Devices::new();
        // More names than the cache has slots.
        for round in 0..2 {
            for index in 0..20_000_u32 {
                let number = devices.number(format!("/dev/disk/{index}").as_bytes());
                assert_eq!(number, Some(index), "round {round}");
            }
        }
        // Names of every length.
        let long = "abcdefghijkl";
        for len in 1..12_u32 {
            let name = &long.as_bytes()[..len as usize];
            assert_eq!(devices.number(name), Some(19_999 + len));
            assert_eq!(devices.number(name), Some(19_999 + len));
        }
        assert_eq!(devices.len(), 20_011);
        assert_eq!(devices.name(19_999), Some(&b"/dev/disk/19999"[..]));
        assert_eq!(devices.name(20_011), None);
    }
}
