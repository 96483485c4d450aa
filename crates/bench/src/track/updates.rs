//! Records with keys that are written again and again, as the rows of a B-tree.

use super::types::{Distribution, Updates};
use super::zipf::Zipf;
use crate::random::Random;
use std::io::Write as _;

/// YCSB's constant (Cooper et al. 2010, section 5.1).
const ZIPF_EXPONENT: f64 = 0.99;

/// The keys of an updater.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    count: u64,
    choice: Choice,
}

#[derive(Debug, Clone)]
enum Choice {
    Uniform,
    Zipf(Zipf),
    Sequential,
}

impl Keys {
    /// Creates `count` keys, above 0.
    pub(super) fn new(count: u64, distribution: Distribution) -> Self {
        let choice = match distribution {
            Distribution::Uniform => Choice::Uniform,
            Distribution::Zipf => Choice::Zipf(Zipf::new(count, ZIPF_EXPONENT)),
            Distribution::Sequential => Choice::Sequential,
        };
        Self { count, choice }
    }

    /// Returns the key of the n-th access.
    pub(super) fn nth(&self, n: u64, random: &mut Random) -> u64 {
        match &self.choice {
            Choice::Uniform => random.below(self.count),
            // Frequent keys are spread over the range, as YCSB's scrambled Zipf does.
            Choice::Zipf(zipf) => Random::stream(0, zipf.draw(random)).below(self.count),
            Choice::Sequential => n % self.count,
        }
    }

    /// Writes a key as text: `user000000000042`. All have the same length, so that their order is numeric.
    #[allow(clippy::unused_self)]
    pub(super) fn write(&self, key: u64, out: &mut Vec<u8>) {
        let _ = write!(out, "user{key:012}");
    }
}

/// Generates the records.
#[derive(Debug, Clone)]
pub(super) struct Records {
    keys: Keys,
    payload_bytes: usize,
    random: Random,
    written: u64,
}

/// Characters of payloads: 64 of them, so that 6 random bits choose one and nothing needs escaping.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

impl Records {
    pub(super) fn new(options: &Updates, seed: u64) -> Self {
        Self {
            keys: Keys::new(options.keys.0, options.distribution),
            payload_bytes: usize::try_from(options.payload.bytes).unwrap_or(usize::MAX),
            random: Random::new(seed),
            written: 0,
        }
    }

    /// Appends the next record to `out` and its key to `key`.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, key: &mut Vec<u8>) {
        let number = self.keys.nth(self.written, &mut self.random);
        self.written += 1;
        self.keys.write(number, key);
        let balance = self.random.below(1_000_000);
        let _ = write!(
            out,
            r#"{{"number":{number},"version":{},"balance":{}.{:02},"payload":""#,
            self.written,
            balance / 100,
            balance % 100
        );
        let mut left = self.payload_bytes;
        while left > 0 {
            // Ten letters of 6 bits each.
            let mut bits = self.random.bits();
            for _ in 0..left.min(10) {
                out.push(LETTERS[(bits & 63) as usize]);
                bits >>= 6;
            }
            left = left.saturating_sub(10);
        }
        out.extend_from_slice(b"\"}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::values::{Count, Size};
    use std::collections::BTreeMap;

    #[test]
    fn records_are_json_with_their_key_and_size() {
        for distribution in [
            Distribution::Uniform,
            Distribution::Zipf,
            Distribution::Sequential,
        ] {
            let options = Updates {
                keys: Count(10),
                distribution,
                payload: Size { bytes: 25 },
            };
            let mut records = Records::new(&options, 1);
            for n in 0..30_u64 {
                let (mut out, mut key) = (Vec::new(), Vec::new());
                records.write(&mut out, &mut key);
                let record: serde_json::Value = serde_json::from_slice(&out).unwrap();
                assert_eq!(record["payload"].as_str().unwrap().len(), 25);
                let number = record["number"].as_u64().unwrap();
                assert!(number < 10);
                assert_eq!(key, format!("user{number:012}").into_bytes());
                if distribution == Distribution::Sequential {
                    assert_eq!(number, n % 10);
                }
            }
        }
    }

    #[test]
    fn a_zipf_updater_has_hot_keys_that_are_not_neighbours() {
        let keys = Keys::new(1_000_000, Distribution::Zipf);
        let mut random = Random::new(5);
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        for n in 0..20_000 {
            *seen.entry(keys.nth(n, &mut random)).or_default() += 1;
        }
        let mut hot: Vec<(u32, u64)> = seen.into_iter().map(|(key, times)| (times, key)).collect();
        hot.sort_unstable_by(|a, b| b.cmp(a));
        // The sum of k^-0.99 over a million keys is 15.4 (Euler-Maclaurin: 100 (10^0.06 - 1) + 0.58), so the
        // hottest key has 6.5 % of the accesses.
        assert!((1_150..1_450).contains(&hot[0].0), "{}", hot[0].0);
        assert!(hot[0].1.abs_diff(hot[1].1) > 100, "{hot:?}");
    }
}
