//! When to begin again: often while the clauses learned get worse, and rarely in turns with that.
//!
//! Source: Biere & Fröhlich 2015 for the averages, Oh 2015 for the turns, Luby, Sinclair & Zuckerman 1993.

/// So much worse than on average.
const MARGIN: f64 = 1.1;
const FAST: f64 = 1.0 / 32.0;
const SLOW: f64 = 1.0 / 4096.0;
/// At least so many conflicts lie between two beginnings.
const SHORTEST: u64 = 8;
/// The unit of the rare ones.
const RARE: u64 = 512;
/// The length of the first turn; later ones grow with the square of their number.
const TURN: u64 = 1000;

#[derive(Debug, Default)]
pub(super) struct Restarts {
    fast: f64,
    slow: f64,
    n_conflicts: u64,
    n_since: u64,
    n_turns: u64,
    turn_ends: u64,
    n_rare: u64,
}

impl Restarts {
    /// A clause of this glue was learned.
    pub(super) fn learned(&mut self, glue: u32) {
        self.n_conflicts += 1;
        self.n_since += 1;
        let (glue, n) = (f64::from(glue), self.n_conflicts);
        // The first ones count as much as there are of them, so that averages begin where they belong.
        let share = |least: f64| (1.0 / f64::from(u32::try_from(n).unwrap_or(u32::MAX))).max(least);
        self.fast += share(FAST) * (glue - self.fast);
        self.slow += share(SLOW) * (glue - self.slow);
        if n >= self.turn_ends {
            self.n_turns += 1;
            self.turn_ends = n + TURN * self.n_turns * self.n_turns;
        }
    }

    /// Is it time?
    pub(super) fn is_due(&mut self) -> bool {
        let is_rare_turn = self.n_turns.is_multiple_of(2);
        let is_due = if is_rare_turn {
            self.n_since >= RARE * luby(self.n_rare + 1)
        } else {
            self.n_since >= SHORTEST && self.fast > MARGIN * self.slow
        };
        if is_due {
            self.n_since = 0;
            self.n_rare += u64::from(is_rare_turn);
        }
        is_due
    }
}

/// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ..
fn luby(nth: u64) -> u64 {
    let n_bits = u64::BITS - nth.leading_zeros();
    if nth + 1 == 1 << n_bits { 1 << (n_bits - 1) } else { luby(nth + 1 - (1 << (n_bits - 1))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_luby() {
        let first: Vec<u64> = (1..16).map(luby).collect();
        assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
