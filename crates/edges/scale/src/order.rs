//! The order that is replayed: transactions by the end of each, and those that were moved.

use iso_formats::DataSet;
use rustc_hash::FxHashMap;

/// Positions stay below this, so that no engine has to compute beyond 64 bits.
const MAX_POSITION: i128 = 1 << 62;

/// A guess: transactions in the order of their ends, of which `txn` breaks ties. No two have the same position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The first number of a transaction.
    first_txn: i64,
    /// How many numbers there are.
    n_txns: i64,
    times: Option<Times>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    first: i64,
    /// So many units of time are one, where the range is too large for 64 bits. It is a guess; order by number then.
    unit: i64,
    has_begin: bool,
}

/// A transaction that stands elsewhere than its end says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its number.
    pub txn: i64,
    /// Where it stands.
    pub position: i64,
    /// Did it take effect? Of transactions of unknown outcome, that is decided as well.
    pub counts: bool,
}

impl Order {
    /// The guess for a data set.
    pub fn of(data: &DataSet) -> Self {
        let (first_txn, last_txn) = data.txns.unwrap_or((0, i64::MAX >> 24));
        let n_txns = last_txn.saturating_sub(first_txn).saturating_add(1).max(1);
        // Without the range of numbers, only the numbers themselves are known to differ.
        let times = data.times.filter(|_| data.has("end") && data.txns.is_some()).map(|(first, last)| {
            let span = i128::from(last) - i128::from(first) + 1;
            let mut unit: i64 = 1;
            while (span / i128::from(unit) + 1) * i128::from(n_txns) > MAX_POSITION {
                unit *= 2;
            }
            Times { first, unit, has_begin: data.has("begin") }
        });
        Self { first_txn, n_txns, times }
    }

    /// Where a transaction stands that was not moved.
    pub fn position(&self, txn: i64, begin: Option<i64>, end: Option<i64>) -> i64 {
        let after = self.times.map_or(0, |times| {
            let begin = begin.filter(|_| times.has_begin);
            (end.or(begin).unwrap_or(times.first) - times.first) / times.unit
        });
        after * self.n_txns + (txn - self.first_txn)
    }

    /// The same in SQL, of a row of `h`.
    pub(crate) fn sql(&self) -> String {
        let number = format!("(h.txn - {})", self.first_txn);
        let Some(Times { first, unit, has_begin }) = self.times else { return number };
        let time = if has_begin { "h.`end`, h.`begin`" } else { "h.`end`" };
        let after = format!("(COALESCE({time}, {first}) - {first})");
        let after = if unit == 1 { after } else { format!("CAST(({after} - {after} % {unit}) / {unit} AS BIGINT)") };
        format!("({after} * {} + {number})", self.n_txns)
    }

    /// Puts transactions into another order: they take the places that they had, in the new order.
    pub(crate) fn rearranged(&self, placed: &[Placed], moved: &FxHashMap<i64, Moved>) -> Vec<Moved> {
        let mut positions: Vec<i64> = placed.iter().map(|it| it.position(self, moved)).collect();
        positions.sort_unstable();
        let placed = placed.iter().zip(positions);
        placed.map(|(it, position)| Moved { txn: it.txn, position, counts: true }).collect()
    }
}

/// A transaction of a new order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) txn: i64,
    pub(crate) begin: Option<i64>,
    pub(crate) end: Option<i64>,
}

impl Placed {
    fn position(&self, order: &Order, moved: &FxHashMap<i64, Moved>) -> i64 {
        moved.get(&self.txn).map_or_else(|| order.position(self.txn, self.begin, self.end), |it| it.position)
    }
}
