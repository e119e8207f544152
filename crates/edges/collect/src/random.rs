//! A small seeded generator of random numbers: the same seed gives the same numbers, everywhere.
//!
//! Source: Steele, Lea & Flood 2014 (split-mix).

/// The state of the generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of one transaction: those of two transactions have nothing to do with each other.
    pub fn of(seed: u64, session: usize, nth: usize) -> Self {
        let mut mixed = seed;
        for part in [session as u64, nth as u64] {
            mixed = Self(mixed ^ part.wrapping_mul(0xd134_2543_de82_ef95)).next();
        }
        Self(mixed)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "an iterator without an end is no help here")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A fraction, below 1.
    #[allow(clippy::cast_precision_loss, reason = "as many bits are taken as a fraction has")]
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from 1 to `last`, as rows are numbered.
    pub fn one_to(&mut self, last: usize) -> usize {
        1 + self.below(last)
    }

    /// Two different numbers from 1 to `last`.
    pub fn two_of(&mut self, last: usize) -> (usize, usize) {
        let first = self.one_to(last);
        let second = self.one_to(last - 1);
        (first, if second < first { second } else { second + 1 })
    }

    /// A whole amount from `low` to `high`.
    pub fn amount(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(usize::try_from(high - low + 1).unwrap_or(1)) as i64
    }

    /// One of these, as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, choices: &[(usize, T)]) -> T {
        let sum = choices.iter().map(|it| it.0).sum();
        let mut at = self.below(sum);
        for (weight, choice) in choices {
            if at < *weight {
                return *choice;
            }
            at -= weight;
        }
        unreachable!("a number below the sum of the weights falls into one of them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_as_often_as_their_weights_say() {
        let mut random = Random::new(1);
        let mut n_drawn = [0; 3];
        for _ in 0..10_000 {
            n_drawn[random.weighted(&[(30, 0), (30, 1), (40, 2)])] += 1;
        }
        assert!(n_drawn.iter().zip([3000, 3000, 4000]).all(|(n, wanted): (&i32, i32)| (n - wanted).abs() < 200));
    }

    #[test]
    fn two_are_different_and_in_range() {
        let mut random = Random::new(2);
        for _ in 0..1000 {
            let (first, second) = random.two_of(5);
            assert!(first != second && (1..=5).contains(&first) && (1..=5).contains(&second));
        }
    }

    #[test]
    fn transactions_have_numbers_of_their_own() {
        let firsts: Vec<u64> =
            (0..9).flat_map(|session| (0..9).map(move |nth| Random::of(7, session, nth).next())).collect();
        let mut different = firsts.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), firsts.len());
    }
}
