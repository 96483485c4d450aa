//! Notices that a simulation goes round in a circle.

use std::collections::HashMap;

use crate::model::{NodeIndex, ShardId};

/// How often a whole circle has to be seen again. Once could be chance: the order of the copies on their
/// nodes matters as well as their places.
const RETURNS: u32 = 2;

/// The fingerprints of all steps so far.
#[derive(Debug, Default)]
pub(crate) struct Circle {
    steps: u32,
    seen: HashMap<u64, u32>,
    /// Steps since the same fingerprint, and how many steps in a row that was the same number.
    length: u32,
    repeated: u32,
}

impl Circle {
    /// Takes the fingerprint of the next step. Returns the steps of the circle if the last ones were those
    /// of a circle, [`RETURNS`] times over.
    pub fn follow(&mut self, fingerprint: u64) -> Option<u32> {
        self.steps += 1;
        let Some(before) = self.seen.insert(fingerprint, self.steps) else {
            (self.length, self.repeated) = (0, 0);
            return None;
        };
        let length = self.steps - before;
        self.repeated = if length == self.length {
            self.repeated + 1
        } else {
            1
        };
        self.length = length;
        (self.repeated >= length.saturating_mul(RETURNS)).then_some(length)
    }
}

/// A number for a copy on a node; the sum over all copies stands for their places.
pub(crate) fn place(shard: ShardId, primary: bool, node: NodeIndex) -> u64 {
    let word = (u64::from(shard.index.0) << 32) ^ u64::from(shard.shard);
    stir(stir(word) ^ (u64::from(node.0) << 1 | u64::from(primary)))
}

/// Mixes the bits of a number (`SplitMix64`).
pub(crate) fn stir(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::Circle;

    fn seen(steps: &[u64]) -> Vec<Option<u32>> {
        let mut circle = Circle::default();
        steps.iter().map(|&step| circle.follow(step)).collect()
    }

    #[test]
    fn a_circle_is_seen_when_it_was_gone_round_three_times() {
        // The first time is new, and two more are seen again.
        let found = seen(&[7, 1, 2, 1, 2, 1, 2]);
        assert_eq!(found[..6], [None; 6]);
        assert_eq!(found[6], Some(2));
        assert_eq!(seen(&[5, 5, 5]), [None, None, Some(1)]);
    }

    #[test]
    fn coming_back_on_another_way_is_none() {
        assert_eq!(seen(&[1, 2, 3, 1, 4, 2, 1, 3, 5]), [None; 9]);
    }
}
