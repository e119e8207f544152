//! The checker against the definitions: every small history, random larger ones, simulated databases, and searches with
//! many conflicts.
//!
//! `ISOSCOPE_SEED` chooses other random histories. `ISOSCOPE_CASES` says how many, and `all` takes every small history
//! as well; without it, as many as the suite has time for.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "counts are shown with --nocapture")]
#![allow(clippy::cast_possible_wrap, reason = "numbers of transactions, values and moments are small")]

mod conflicts;
mod draft;
mod judge;
mod larger;
mod machine;
mod meanings;
mod names;
mod random;
mod small;
mod stores;

/// Which random histories to make.
fn seed() -> u64 {
    std::env::var("ISOSCOPE_SEED").ok().map_or(0, |it| it.parse().expect("ISOSCOPE_SEED is a number"))
}

/// How many histories to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cases {
    /// As many as fit into the time of the suite.
    Few,
    /// About so many random ones.
    Number(usize),
    /// Everything that is small, and many random ones.
    All,
}

impl Cases {
    fn asked() -> Self {
        match std::env::var("ISOSCOPE_CASES").ok().as_deref() {
            None | Some("") => Self::Few,
            Some("all") => Self::All,
            Some(number) => Self::Number(number.parse().expect("ISOSCOPE_CASES is a number or `all`")),
        }
    }

    /// How many of a kind of random history: `few` in the suite, and the given part of what is asked for else.
    fn of(self, few: usize, per_mille: usize) -> usize {
        const ALL: usize = 20_000;
        match self {
            Self::Few => few,
            Self::Number(number) => (number * per_mille).div_ceil(1_000),
            Self::All => (ALL * per_mille).div_ceil(1_000),
        }
    }
}
