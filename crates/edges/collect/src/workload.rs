//! What sessions do while a history is collected: tables, rows to begin with, and transactions drawn by the seed.

use crate::answered::RowNames;
use crate::workloads::{Append, Bank, OfApplication, Ranges, Registers, Unique};
use crate::{APPLICATIONS, Application, Assertion, Client, Failure, Likeliness, Slot, Table, Transaction, Value};
use iso_formats::WrittenValues;
use std::fmt::Debug;
use std::sync::Arc;

/// What sessions do.
///
/// A transaction is chosen by the seed, its session and its number there alone, never by what others did. What it
/// writes may depend on what it reads.
pub trait Workload: Debug + Send + Sync {
    /// The name, as on the command line.
    fn name(&self) -> &'static str;

    /// The tables.
    fn tables(&self) -> Vec<Table>;

    /// What rows hold: one value, or a list that only grows.
    fn rows_are(&self) -> Rows {
        Rows::Registers
    }

    /// How rows are called in the history. With tables, rows that are not in the initial state do not exist.
    fn row_names(&self) -> RowNames {
        RowNames::Short
    }

    /// The rows of the initial state: table, row, value.
    fn rows(&self) -> Vec<(String, String, Value)>;

    /// The transaction of a turn.
    fn transaction(&self, turn: Turn) -> Box<dyn Transaction>;

    /// Does a value say who wrote it?
    fn written_values(&self) -> WrittenValues;

    /// Reads the rows when all is quiet; `n_turns` says how many transactions the longest session had.
    fn read_all(&self, client: &mut dyn Client, _n_turns: usize) -> Result<(), Failure> {
        self.tables().iter().try_for_each(|it| client.scan(&it.name, "").map(drop))
    }

    /// Do its transactions do the same whatever they read, by single rows? Others cannot run where a transaction is sent in one
    /// piece.
    fn is_fixed(&self) -> bool {
        false
    }

    /// What must hold when all is quiet.
    fn assertions(&self, _state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        Ok(Vec::new())
    }
}

/// What rows hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One value, which the next write replaces.
    Registers,
    /// A list, which appends make longer.
    Lists,
}

/// When a transaction is run, and for the how many-th time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Decides what is drawn.
    pub seed: u64,
    /// Which transaction of the session.
    pub slot: Slot,
    /// How many attempts the session made before, at any transaction: no two attempts write the same unique value.
    pub attempt: usize,
}

/// What the transactions of a workload are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// How many sessions there are.
    pub sessions: usize,
    /// How many keys there are.
    pub keys: usize,
    /// A transaction has at least so many operations.
    pub min_ops: usize,
    /// And at most so many.
    pub max_ops: usize,
    /// Which part of the operations reads, from 0 to 1.
    pub reads: f64,
    /// Which keys are drawn how often.
    pub keys_like: Likeliness,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { sessions: 10, keys: 100, min_ops: 1, max_ops: 8, reads: 0.5, keys_like: Likeliness::Uniform }
    }
}

/// The names of workloads that are no applications, and what they are.
pub const WORKLOADS: [(&str, &str); 8] = [
    ("rw", "registers: reads, and writes of values that are never written again"),
    ("rmw", "registers: each write comes after a read of the same key"),
    ("updates", "registers: reads, and statements that add 1 to what is there"),
    ("append", "lists: appends and reads; a list shows the order of its writers"),
    ("duplicates", "registers: few values, some far more often, so that equal ones are written again"),
    ("bank", "transfers between accounts, and audits that read all of them"),
    ("ranges", "rows that come and go; scans, updates and deletes by predicate"),
    ("unique", "bookings: a slot that no row has is booked by a new row"),
];

/// The workload or application of that name.
pub fn workload(name: &str, parameters: &Parameters) -> Option<Arc<dyn Workload>> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    Some(match wanted.as_str() {
        "rw" => Arc::new(Registers::blind(parameters)),
        "rmw" => Arc::new(Registers::read_modify_write(parameters)),
        "updates" => Arc::new(Registers::updates(parameters)),
        "append" => Arc::new(Append::new(parameters)),
        "duplicates" => Arc::new(Registers::duplicates(parameters)),
        "bank" => Arc::new(Bank::new(parameters)),
        "ranges" => Arc::new(Ranges::new(parameters)),
        "unique" => Arc::new(Unique::new(parameters)),
        _ => {
            let found: &'static dyn Application = APPLICATIONS.into_iter().find(|it| it.name() == wanted)?;
            Arc::new(OfApplication(found))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn shown(workload: &dyn Workload, seed: u64) -> Vec<String> {
        let slots = (0..4).flat_map(|session| (0..50).map(move |nth| Slot { session, nth }));
        slots.map(|slot| workload.transaction(Turn { seed, slot, attempt: slot.nth }).to_string()).collect()
    }

    #[test]
    fn a_seed_decides_every_transaction() {
        for name in WORKLOADS.map(|it| it.0).into_iter().chain(APPLICATIONS.map(Application::name)) {
            let parameters = Parameters { sessions: 4, keys_like: Likeliness::Zipf, ..Parameters::default() };
            let [one, other] = [(); 2].map(|()| workload(name, &parameters).unwrap());
            assert_eq!(one.name(), name);
            assert_eq!(shown(&*one, 7), shown(&*other, 7));
            assert!(name == "voter" || shown(&*one, 7) != shown(&*other, 8), "{name}");
        }
        assert!(workload("petstore", &Parameters::default()).is_none());
    }

    #[test]
    fn transactions_have_as_many_operations_as_they_should() {
        let parameters = Parameters { min_ops: 2, max_ops: 5, ..Parameters::default() };
        for name in ["rw", "updates", "append", "duplicates"] {
            let shown = shown(&*workload(name, &parameters).unwrap(), 1);
            let lengths: HashSet<usize> = shown.iter().map(|it| it.split(' ').count()).collect();
            assert_eq!(lengths, HashSet::from([2, 3, 4, 5]), "{name}");
        }
    }

    #[test]
    fn unique_values_are_never_written_again() {
        let parameters = Parameters { sessions: 4, reads: 0.0, ..Parameters::default() };
        let all = shown(&*workload("rw", &parameters).unwrap(), 1).join(" ");
        let values: Vec<&str> = all.split([' ', ',']).filter(|it| it.ends_with(')')).collect();
        assert!(values.len() > 200);
        assert_eq!(values.iter().collect::<HashSet<_>>().len(), values.len());
    }
}
