//! A small seeded generator of random numbers: the same seed gives the same numbers, everywhere.
//!
//! Source: Steele, Lea & Flood 2014 (split-mix). Zipf's law has its exponent fixed to one, so that whole numbers
//! suffice and no machine rounds differently.

/// The state of the generator.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Numbers of which the k-th is drawn k times less often than the first.
#[derive(Debug)]
pub(crate) struct Zipf {
    /// Sums of the weights.
    until: Vec<u64>,
}

impl Zipf {
    /// Over the numbers below `bound`, which is not zero.
    pub(crate) fn new(bound: usize) -> Self {
        let mut sum = 0;
        let until = (1..=bound as u64).map(|rank| {
            sum += (1 << 40) / rank;
            sum
        });
        Self { until: until.collect() }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let sum = self.until.last().copied().unwrap_or(1);
        let at = random.below(sum as usize) as u64;
        self.until.partition_point(|it| *it <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_numbers_follow_zipf() {
        let (zipf, mut random) = (Zipf::new(100), Random::new(1));
        let mut n_drawn = [0_u32; 100];
        for _ in 0..100_000 {
            n_drawn[zipf.draw(&mut random)] += 1;
        }
        assert!((18_000..21_000).contains(&n_drawn[0]), "{}", n_drawn[0]);
        assert!((8_500..11_000).contains(&n_drawn[1]), "{}", n_drawn[1]);
        assert!(n_drawn[99] > 0);
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert!((0..1000).all(|_| !random.chance(0) && random.chance(100)));
    }
}
