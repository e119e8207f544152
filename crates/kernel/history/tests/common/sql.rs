//! Random histories with statements, updates, scans and deletes, for tests.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, reason = "these are tests of small numbers")]

use super::common::Random;
use iso_history::{
    Column, Comparison, Datum, History, HistoryBuilder, KeyId, Locking, Outcome, Place, Predicate, ValueId,
};

/// What random histories have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlShape {
    pub(crate) n_txns: usize,
    /// At most this many statements in a transaction.
    pub(crate) n_statements: usize,
    pub(crate) n_rows: usize,
    pub(crate) n_values: usize,
    pub(crate) n_sessions: usize,
    /// In percent.
    pub(crate) aborted: usize,
    pub(crate) indeterminate: usize,
    /// How often a statement looks at another state than the one before it.
    pub(crate) restless: usize,
}

impl SqlShape {
    pub(crate) const SMALL: Self = Self {
        n_txns: 3,
        n_statements: 3,
        n_rows: 2,
        n_values: 3,
        n_sessions: 3,
        aborted: 5,
        indeterminate: 0,
        restless: 40,
    };
}

/// For each row its value; none if it does not exist.
type State = Vec<Option<i64>>;

struct Client<'r> {
    random: &'r mut Random,
    builder: HistoryBuilder,
    shape: SqlShape,
    /// The states so far.
    states: Vec<State>,
    seen: State,
    own: Vec<(usize, Option<i64>)>,
}

impl Random {
    /// A history of a client that looks at old states now and then.
    pub(crate) fn sql_history(&mut self, shape: SqlShape) -> History {
        let first: State =
            (0..shape.n_rows).map(|_| self.percent(60).then(|| self.below(shape.n_values) as i64)).collect();
        let mut builder = HistoryBuilder::new();
        for (row, value) in first.iter().enumerate().filter(|it| it.1.is_some()) {
            let (key, value) = (builder.key(name(row)), builder.value(value.map_or(Datum::Null, Datum::Int)));
            builder.initial(key, value, Place::default());
        }
        let mut client =
            Client { random: self, builder, shape, states: vec![first.clone()], seen: first, own: Vec::new() };
        for _ in 0..shape.n_txns {
            client.txn();
        }
        client.builder.finish().unwrap()
    }
}

fn name(row: usize) -> Datum {
    Datum::text(format!("t/{row}"))
}

impl Client<'_> {
    fn txn(&mut self) {
        let session = self.random.below(self.shape.n_sessions);
        let session = self.builder.session(&format!("s{session}"));
        self.builder.begin(session, Place::default());
        self.own.clear();
        self.look();
        for _ in 0..=self.random.below(self.shape.n_statements) {
            if self.random.percent(self.shape.restless) {
                self.look();
            }
            self.statement();
        }
        let outcome = match self.random.below(100) {
            it if it < self.shape.aborted => Outcome::Aborted,
            it if it < self.shape.aborted + self.shape.indeterminate => Outcome::Indeterminate,
            _ => Outcome::Committed,
        };
        self.builder.end(outcome);
        if outcome != Outcome::Aborted {
            let mut state = self.states.last().unwrap().clone();
            for (row, value) in &self.own {
                state[*row] = *value;
            }
            self.states.push(state);
        }
    }

    /// Looks at one of the last states.
    fn look(&mut self) {
        let n = self.states.len();
        self.seen = self.states[n - 1 - self.random.below(n.min(3))].clone();
    }

    fn get(&self, row: usize) -> Option<i64> {
        self.own.iter().rfind(|it| it.0 == row).map_or(self.seen[row], |it| it.1)
    }

    fn key(&mut self, row: usize) -> KeyId {
        self.builder.key(name(row))
    }

    fn value(&mut self, value: Option<i64>) -> ValueId {
        self.builder.value(value.map_or(Datum::Null, Datum::Int))
    }

    fn statement(&mut self) {
        let row = self.random.below(self.shape.n_rows);
        match self.random.below(8) {
            0 => self.read(row),
            1 => {
                self.builder.begin_statement();
                self.read(row);
                self.read((row + 1) % self.shape.n_rows);
                let locking = if self.random.percent(30) { Locking::ForUpdate } else { Locking::Free };
                self.builder.end_statement(locking);
            }
            2 => {
                let (key, old) = (self.key(row), self.get(row));
                let new = self.new_value();
                let (old, new_id) = (self.value(old), self.value(new));
                self.builder.update(key, old, new_id);
                self.own.push((row, new));
            }
            3 => self.write(row),
            4 | 5 => {
                let predicate = self.predicate();
                self.scan(&predicate);
            }
            6 => self.update_where(),
            _ => {
                self.builder.begin_statement();
                let predicate = self.predicate();
                self.scan(&predicate);
                self.builder.end_statement(Locking::ForUpdate);
            }
        }
    }

    fn new_value(&mut self) -> Option<i64> {
        self.random.percent(80).then(|| self.random.below(self.shape.n_values) as i64)
    }

    fn read(&mut self, row: usize) {
        let (key, value) = (self.key(row), self.get(row));
        let value = self.value(value);
        self.builder.read(key, value);
    }

    fn write(&mut self, row: usize) {
        let (key, new) = (self.key(row), self.new_value());
        let value = self.value(new);
        self.builder.write(key, value);
        self.own.push((row, new));
    }

    fn predicate(&mut self) -> Predicate {
        let bound = Datum::Int(self.random.below(self.shape.n_values) as i64);
        let value = Column::Named("v".into());
        match self.random.below(4) {
            0 => Predicate::All,
            1 => Predicate::Compare(value, Comparison::AtMost, bound),
            2 => Predicate::Compare(value, Comparison::Equal, bound),
            _ => {
                let row = self.random.below(self.shape.n_rows) as i64;
                Predicate::Between(Column::Key, row.into(), (row + 1).into())
            }
        }
    }

    fn matching(&self, predicate: &Predicate) -> Vec<usize> {
        let is_match = |row: &usize| {
            let value = self.get(*row).map_or(Datum::Null, Datum::Int);
            predicate.matches(Datum::Int(*row as i64).as_name(), value.as_name(), &|_| false)
        };
        (0..self.shape.n_rows).filter(is_match).collect()
    }

    fn scan(&mut self, predicate: &Predicate) -> Vec<usize> {
        let rows = self.matching(predicate);
        let mut returned = Vec::new();
        for row in &rows {
            let (key, value) = (self.key(*row), self.get(*row));
            returned.push((key, self.value(value)));
        }
        self.builder.scan("t", predicate.clone(), returned);
        rows
    }

    fn update_where(&mut self) {
        self.builder.begin_statement();
        let predicate = self.predicate();
        for row in self.scan(&predicate) {
            self.write(row);
        }
        self.builder.end_statement(Locking::Free);
    }
}
