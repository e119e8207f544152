//! One transaction of a program on a connection, statement by statement.
//!
//! The interpreter runs the transaction with what was read so far, and so says which statement comes next. What a
//! statement that changes a row does to it is seen by what it writes for rows that it might find.

use super::{decoded, encoded, row_of};
use crate::{Client, Failure};
use iso_history::{Column, Comparison, Locking, Predicate};
use iso_program::{
    InstanceId, Judgement, Outcome, Program, ReadId, ReadMode, Source, StatementId, TxnRun, TxnStep, Type, UnitId,
    UnitKind, UnitValue, Value, initial_state, judge, run_instance,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::DerefMut;

/// What a transaction did when it was its turn.
pub(super) enum Step {
    /// A statement.
    Did(String),
    /// It committed, or aborted by itself.
    Ended(String),
    /// Something in it is wrong.
    Failed(String),
    /// The database aborted it, and it starts again.
    Conflict(String),
}

/// What a transaction did inside of one that somebody else begins and ends.
pub(super) enum Done {
    /// A statement.
    Statement,
    /// Everything; it is to be committed.
    Committed,
    /// It is to be aborted, because of this.
    GaveUp(String),
}

/// A transaction of a program, or an observer.
pub(super) struct Runner<'p, C> {
    pub(super) program: &'p Program,
    pub(super) symbols: &'p [Value],
    /// None for an observer.
    instance: Option<usize>,
    pub(super) client: C,
    is_open: bool,
    pub(super) reads: BTreeMap<ReadId, UnitValue>,
    done: BTreeSet<StatementId>,
    /// What an observer has seen.
    seen: Vec<UnitValue>,
}

impl<'p, C: DerefMut<Target: Client>> Runner<'p, C> {
    pub(super) fn new(program: &'p Program, symbols: &'p [Value], instance: usize, client: C) -> Self {
        let (reads, done, seen) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self { program, symbols, instance: Some(instance), client, is_open: false, reads, done, seen }
    }

    pub(super) fn observer(program: &'p Program, symbols: &'p [Value], client: C) -> Self {
        Self { instance: None, ..Self::new(program, symbols, 0, client) }
    }

    pub(super) fn name(&self) -> String {
        self.instance.map_or_else(|| "observer".to_owned(), |it| self.program.instances()[it].name.clone())
    }

    pub(super) fn process(&self) -> Option<u64> {
        self.client.process()
    }

    /// Nobody waits for it any more.
    pub(super) fn leave(&mut self) {
        if self.is_open {
            // Where the connection is lost, there is nothing to end.
            self.client.abort().ok();
        }
    }

    pub(super) fn step(&mut self) -> Result<Step, Failure> {
        match self.go_on() {
            Ok(step) => Ok(step),
            Err(Failure::Conflict { reason, .. }) => {
                self.is_open = false;
                self.reads.clear();
                self.done.clear();
                self.seen.clear();
                Ok(Step::Conflict(reason))
            }
            // A row of that key is there already.
            Err(Failure::Aborted { reason, .. }) => {
                self.client.abort()?;
                self.is_open = false;
                Ok(Step::Ended(format!("aborts: {reason}")))
            }
            Err(failure) => Err(failure),
        }
    }

    fn go_on(&mut self) -> Result<Step, Failure> {
        if !self.is_open {
            self.client.begin()?;
            self.is_open = true;
        }
        let Some(instance) = self.instance else { return self.observe() };
        let ran = self.run(instance, &BTreeMap::new());
        let next = ran.steps.iter().map(|it| self.statement(instance, it)).find(|it| !self.done.contains(it));
        let Some(statement) = next else { return self.end(&ran) };
        let words = self.perform(instance, statement, &ran)?;
        self.done.insert(statement);
        Ok(Step::Did(words))
    }

    /// The next statement of a transaction that somebody else has begun and will end.
    pub(super) fn go_on_inside(&mut self) -> Result<Done, Failure> {
        let instance = self.instance.unwrap_or_default();
        let ran = self.run(instance, &BTreeMap::new());
        let next = ran.steps.iter().map(|it| self.statement(instance, it)).find(|it| !self.done.contains(it));
        if let Some(statement) = next {
            self.perform(instance, statement, &ran)?;
            self.done.insert(statement);
            return Ok(Done::Statement);
        }
        Ok(match ran.outcome {
            Outcome::Committed => Done::Committed,
            Outcome::Aborted { .. } => Done::GaveUp("it gives up by itself".to_owned()),
            Outcome::AssertFailed { .. } => Done::GaveUp("an assertion is false".to_owned()),
            Outcome::Overflow { .. } => Done::GaveUp("a number leaves its range".to_owned()),
            Outcome::NoSuchRow { .. } => Done::GaveUp("a row is inserted that the table has not".to_owned()),
        })
    }

    fn end(&mut self, ran: &TxnRun) -> Result<Step, Failure> {
        let place = |span| format!("line {}", self.program.place(span).line);
        let failed = match ran.outcome {
            Outcome::Committed => {
                self.client.commit()?;
                self.is_open = false;
                return Ok(Step::Ended("commits".to_owned()));
            }
            Outcome::Aborted { .. } => None,
            Outcome::AssertFailed { span } => Some(format!("an assertion is false ({})", place(span))),
            Outcome::Overflow { span } => Some(format!("a number leaves its range ({})", place(span))),
            Outcome::NoSuchRow { span } => Some(format!("a row is inserted that the table has not ({})", place(span))),
        };
        self.client.abort()?;
        self.is_open = false;
        Ok(failed.map_or_else(|| Step::Ended("aborts".to_owned()), Step::Failed))
    }

    /// One unit after the other, the last ones first: who reads in that order sees what came later with what came earlier.
    fn observe(&mut self) -> Result<Step, Failure> {
        let n = self.program.units().len();
        if self.seen.len() < n {
            let unit = UnitId::from_index(n - 1 - self.seen.len());
            let value = self.get(unit)?;
            let words = format!("reads {} = {}", self.program.unit(unit).name, self.program.show_unit(unit, &value));
            self.seen.push(value);
            return Ok(Step::Did(words));
        }
        self.client.commit()?;
        self.is_open = false;
        let state: Vec<UnitValue> = self.seen.iter().rev().cloned().collect();
        let claims = self.program.observers();
        let is_false = claims.iter().any(|it| judge(self.program, it, self.symbols, &state) != Judgement::Holds);
        Ok(if is_false { Step::Failed("what is seen is wrong".to_owned()) } else { Step::Ended("commits".to_owned()) })
    }

    /// The transaction with what it has read, and with these; other reads find nothing that counts.
    pub(super) fn run(&self, instance: usize, also: &BTreeMap<ReadId, UnitValue>) -> TxnRun {
        let start = initial_state(self.program, self.symbols);
        run_instance(self.program, InstanceId::from_index(instance), self.symbols, &mut |read, unit| {
            let known = self.reads.get(&read).or_else(|| also.get(&read));
            known.cloned().unwrap_or_else(|| start[unit.index()].clone())
        })
    }

    fn statement(&self, instance: usize, step: &TxnStep) -> StatementId {
        match step {
            TxnStep::Read { read, .. } => self.program.instances()[instance].read(*read).statement,
            TxnStep::Write { statement, .. } => *statement,
        }
    }

    fn perform(&mut self, instance: usize, statement: StatementId, ran: &TxnRun) -> Result<String, Failure> {
        let steps = ran.steps.iter().filter(|it| self.statement(instance, it) == statement);
        let reads: Vec<(ReadId, UnitId, ReadMode)> = steps
            .filter_map(|it| match it {
                TxnStep::Read { read, unit, mode, source: Source::Outside, .. } => Some((*read, *unit, *mode)),
                _ => None,
            })
            .collect();
        // A search is about all rows, also those that the transaction wrote itself.
        let of = &self.program.instances()[instance];
        let searched = of.reads.iter().enumerate().filter(|it| it.1.statement == statement);
        let searched: Vec<(ReadId, UnitId, ReadMode)> = searched
            .filter(|it| it.1.mode == ReadMode::Search)
            .map(|(idx, it)| (ReadId::from_index(idx), it.unit, it.mode))
            .collect();
        if !searched.is_empty() {
            return self.change(instance, statement, &searched, ran);
        }
        match reads[..] {
            [(_, _, ReadMode::Check)] => self.change(instance, statement, &reads, ran),
            [(read, unit, ReadMode::Update)] => self.update(instance, statement, read, unit),
            [] => match self.written(instance, statement, &BTreeMap::new()) {
                Some((unit, value)) => self.put(unit, &value),
                None => Ok("reads what it wrote".to_owned()),
            },
            _ => self.look(&reads),
        }
    }

    /// A plain or a locking read, of one row by its key or of a whole table.
    fn look(&mut self, reads: &[(ReadId, UnitId, ReadMode)]) -> Result<String, Failure> {
        let locking = if reads[0].2 == ReadMode::ForUpdate { Locking::ForUpdate } else { Locking::Free };
        let lock = if locking == Locking::ForUpdate { " for update" } else { "" };
        let mut words = Vec::new();
        let is_one = reads.iter().all(|it| it.1 == reads[0].1);
        if is_one && locking == Locking::Free {
            let value = self.get(reads[0].1)?;
            words.push(self.shown(reads[0].1, &value));
            for (read, ..) in reads {
                self.reads.insert(*read, value.clone());
            }
        } else {
            let (table, row) = row_of(self.program, reads[0].1);
            let named: BTreeSet<String> = reads.iter().map(|it| row_of(self.program, it.1).1).collect();
            let is_all =
                self.program.tables().iter().any(|it| it.rows.len() == named.len() && it.rows.contains(&reads[0].1));
            let predicate = match is_all {
                _ if is_one => key_is(&row),
                true => Predicate::All,
                false => Predicate::OneOf(Column::Key, named.iter().map(|it| it.as_str().into()).collect()),
            };
            let rows: BTreeMap<String, crate::Value> =
                self.client.select(&table, &predicate, locking)?.into_iter().collect();
            for (read, unit, _) in reads {
                let value = match rows.get(&row_of(self.program, *unit).1) {
                    Some(value) => decoded(self.program, *unit, value)?,
                    None => UnitValue::Missing,
                };
                words.push(self.shown(*unit, &value));
                self.reads.insert(*read, value);
            }
        }
        Ok(format!("reads {}{lock}", words.join(", ")))
    }

    pub(super) fn get(&mut self, unit: UnitId) -> Result<UnitValue, Failure> {
        let (table, row) = row_of(self.program, unit);
        let found = self.client.get(&table, &row)?;
        found.map_or(Ok(UnitValue::Missing), |it| decoded(self.program, unit, &it))
    }

    pub(super) fn shown(&self, unit: UnitId, value: &UnitValue) -> String {
        format!("{} = {}", self.program.unit(unit).name, self.program.show_unit(unit, value))
    }

    /// What the statement writes, given what its read finds.
    pub(super) fn written(
        &self,
        instance: usize,
        statement: StatementId,
        also: &BTreeMap<ReadId, UnitValue>,
    ) -> Option<(UnitId, UnitValue)> {
        self.run(instance, also).steps.into_iter().find_map(|it| match it {
            TxnStep::Write { unit, value, statement: of, .. } if of == statement => Some((unit, value)),
            _ => None,
        })
    }

    /// INSERT; UPDATE that adds; or else the row is locked first, and then written or deleted.
    fn update(
        &mut self,
        instance: usize,
        statement: StatementId,
        read: ReadId,
        unit: UnitId,
    ) -> Result<String, Failure> {
        let of = self.program.unit(unit);
        let (table, row) = row_of(self.program, unit);
        let given = |value: UnitValue| BTreeMap::from([(read, value)]);
        if let (UnitKind::Row { .. }, Some((_, UnitValue::Present(fields)))) =
            (of.kind, self.written(instance, statement, &given(UnitValue::Missing)))
        {
            self.client.insert(&table, &row, encoded(&fields))?;
            self.reads.insert(read, UnitValue::Missing);
            return Ok(format!("inserts {}", self.shown(unit, &UnitValue::Present(fields))));
        }
        if let Some(by) = self.added(instance, statement, read, unit) {
            let rows = self.client.increase(&table, &key_is(&row), by)?;
            let old = rows.first().map_or(Ok(UnitValue::Missing), |it| decoded(self.program, unit, &it.1))?;
            let words = format!("adds {by} to {}", self.shown(unit, &old));
            self.reads.insert(read, old);
            return Ok(words);
        }
        let found = self.client.select(&table, &key_is(&row), Locking::ForUpdate)?;
        let old = found.first().map_or(Ok(UnitValue::Missing), |it| decoded(self.program, unit, &it.1))?;
        self.reads.insert(read, old);
        match self.written(instance, statement, &BTreeMap::new()) {
            Some((unit, value)) => self.put(unit, &value),
            None => Ok(format!("finds no {} to change", of.name)),
        }
    }

    /// What is added to the only number of a unit, whatever it is.
    fn added(&self, instance: usize, statement: StatementId, read: ReadId, unit: UnitId) -> Option<i64> {
        if !matches!(self.program.unit(unit).fields[..], [iso_program::Field { ty: Type::Int, .. }]) {
            return None;
        }
        let written = |old: i64| {
            let given = BTreeMap::from([(read, UnitValue::Present(vec![Value::Int(old)]))]);
            match self.written(instance, statement, &given)?.1 {
                UnitValue::Present(fields) => fields.first().map(|it| it.code()),
                UnitValue::Missing => None,
            }
        };
        let (zero, one) = (written(0)?, written(1)?);
        (one == zero + 1).then_some(zero)
    }

    pub(super) fn put(&mut self, unit: UnitId, value: &UnitValue) -> Result<String, Failure> {
        let (table, row) = row_of(self.program, unit);
        match value {
            UnitValue::Present(fields) => {
                self.client.put(&table, &row, encoded(fields))?;
                Ok(format!("writes {}", self.shown(unit, value)))
            }
            UnitValue::Missing => {
                self.client.delete(&table, &row)?;
                Ok(format!("deletes {}", self.program.unit(unit).name))
            }
        }
    }
}

pub(super) fn key_is(row: &str) -> Predicate {
    Predicate::Compare(Column::Key, Comparison::Equal, row.into())
}
