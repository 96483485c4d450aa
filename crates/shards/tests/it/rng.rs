//! Random numbers for the generator: the same seed always gives the same numbers.

/// xorshift64*, seeded through splitmix64.
#[derive(Debug, Clone)]
pub struct Rng(u64);

/// splitmix64: hashes a word, so that similar inputs give unrelated results.
fn stir(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(stir(seed) | 1)
    }

    /// A generator for the thing with this name, independent of other numbers drawn.
    pub fn of(seed: u64, name: &str) -> Self {
        let mut word = stir(seed);
        for byte in name.bytes() {
            word = stir(word ^ u64::from(byte));
        }
        Self::new(word)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// 0 to `bound` - 1.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u128::try_from(bound.max(1)).expect("a usize has at most 128 bits");
        let drawn = (u128::from(self.next()) * bound) >> 64;
        usize::try_from(drawn).expect("below the bound")
    }

    /// `low` to `high`, inclusive.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `percent` %.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}
