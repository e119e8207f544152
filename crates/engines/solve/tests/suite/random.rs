//! Shared by the tests: a seeded generator, so that a failure can be repeated from its seed.

/// Marsaglia's xorshift generator with a multiplied output.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of `seed`; different seeds give unrelated sequences.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let output = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((output * u64::from(bound)) >> 32) as u32
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// Two different numbers below `bound`.
    pub(crate) fn two_below(&mut self, bound: u32) -> (u32, u32) {
        let first = self.below(bound);
        let second = self.below(bound - 1);
        (first, if second >= first { second + 1 } else { second })
    }
}

/// A stop callback that never stops.
pub(crate) fn never() -> bool {
    false
}
