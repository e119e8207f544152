//! Ranges: rows that come and go, and statements that ask for them by predicates.

use super::Mix;
use crate::answered::{RowNames, key_is};
use crate::{Client, Failure, Parameters, Random, Table, Transaction, Turn, Value, Workload};
use iso_formats::WrittenValues;
use iso_history::{Column, Comparison, Locking, Predicate};
use std::fmt;

const TABLE: &str = "item";
/// So many rows are in a range of keys, at most.
const WIDEST: usize = 4;

/// The workload.
#[derive(Debug)]
pub(crate) struct Ranges {
    mix: Mix,
}

impl Ranges {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self { mix: Mix::new(parameters) }
    }

    fn step(&self, turn: Turn, nth: usize, random: &mut Random) -> Step {
        if self.mix.is_read(random) {
            let locking = if random.below(4) == 0 { Locking::ForUpdate } else { Locking::Free };
            return Step::Scan(self.predicate(random), locking);
        }
        match random.below(4) {
            0 => Step::Increase(self.predicate(random)),
            1 => Step::Delete(self.range(random)),
            _ => Step::Toggle(self.mix.key(random), self.mix.unique(turn, nth)),
        }
    }

    fn predicate(&self, random: &mut Random) -> Predicate {
        let value = || Column::Named("value".into());
        match random.below(4) {
            0 => Predicate::All,
            1 => Predicate::Remainder { column: value(), divisor: 2, remainder: random.below(2) as i64 },
            2 => {
                let bound = (1 + random.below(8 * self.mix.parameters.keys)) as i64;
                Predicate::Compare(value(), Comparison::Less, bound.into())
            }
            _ => self.range(random),
        }
    }

    fn range(&self, random: &mut Random) -> Predicate {
        let (low, width) = (self.mix.key(random) as i64, random.below(WIDEST) as i64);
        Predicate::Between(Column::Key, low.into(), (low + width).into())
    }
}

impl Workload for Ranges {
    fn name(&self) -> &'static str {
        "ranges"
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of_ints(TABLE).numbered()]
    }

    fn row_names(&self) -> RowNames {
        RowNames::WithTable
    }

    /// Every other row is there.
    fn rows(&self) -> Vec<(String, String, Value)> {
        let keys = (1..=self.mix.parameters.keys).step_by(2);
        keys.map(|key| (TABLE.to_owned(), key.to_string(), Value::Int(0))).collect()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let mut random = Mix::random(turn);
        let n_ops = self.mix.n_ops(&mut random);
        Box::new(Steps((0..n_ops).map(|nth| self.step(turn, nth, &mut random)).collect()))
    }

    fn written_values(&self) -> WrittenValues {
        WrittenValues::Any
    }
}

#[derive(Debug)]
enum Step {
    Scan(Predicate, Locking),
    Increase(Predicate),
    Delete(Predicate),
    /// Deletes a row, or makes it where there is none.
    Toggle(usize, i64),
}

/// Statements, one after the other.
#[derive(Debug)]
struct Steps(Vec<Step>);

impl Transaction for Steps {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        let mut deleted: Vec<String> = Vec::new();
        for step in &self.0 {
            match step {
                Step::Scan(predicate, locking) => drop(client.select(TABLE, predicate, *locking)?),
                Step::Increase(predicate) => drop(client.increase(TABLE, predicate, 1)?),
                Step::Delete(predicate) => {
                    deleted.extend(client.delete_where(TABLE, predicate)?.into_iter().map(|it| it.0));
                }
                Step::Toggle(key, value) => {
                    let row = key.to_string();
                    deleted.extend(client.delete_where(TABLE, &key_is(&row))?.into_iter().map(|it| it.0));
                    // PostgreSQL does not show a row that is made again to statements that waited for it.
                    if !deleted.contains(&row) {
                        client.insert(TABLE, &row, Value::Int(*value))?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.0.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            match step {
                Step::Scan(predicate, Locking::Free) => write!(f, "{space}scan({predicate})")?,
                Step::Scan(predicate, Locking::ForUpdate) => write!(f, "{space}lock({predicate})")?,
                Step::Increase(predicate) => write!(f, "{space}add({predicate})")?,
                Step::Delete(predicate) => write!(f, "{space}del({predicate})")?,
                Step::Toggle(key, value) => write!(f, "{space}toggle({key},{value})")?,
            }
        }
        Ok(())
    }
}
