//! Statements that change rows by a condition, or make one unless there is one, as one statement of SQL where that can be.
//!
//! What the program's condition says of a row becomes a predicate, if it compares the only number of the row with what is
//! known. Otherwise the rows are locked and the interpreter decides, which interleaves less.

use super::statement::{Runner, key_is};
use super::{decoded, encoded, row_of};
use crate::{Client, Failure, OnConflict};
use iso_history::{Column, Comparison, Locking, Predicate};
use iso_program::{
    Arith, Expr, Instance, ReadId, ReadMode, StatementId, Stmt, TxnRun, Type, UnitId, UnitPart, UnitValue, Value,
};
use std::collections::BTreeMap;
use std::ops::DerefMut;

/// A row that a statement may change.
struct Row {
    /// The first look at it, and that before the write.
    first: ReadId,
    again: ReadId,
    unit: UnitId,
    /// What SQL looks for, if that can be said.
    predicate: Option<Predicate>,
}

/// What a statement does to the rows that fit.
#[derive(PartialEq)]
enum Deed {
    Delete,
    Add(i64),
    Other,
}

impl<C: DerefMut<Target: Client>> Runner<'_, C> {
    /// Does the statement whose unread reads are these.
    pub(super) fn change(
        &mut self,
        instance: usize,
        statement: StatementId,
        reads: &[(ReadId, UnitId, ReadMode)],
        ran: &TxnRun,
    ) -> Result<String, Failure> {
        if let [(read, unit, ReadMode::Check)] = *reads
            && let Some((_, UnitValue::Present(new))) =
                self.written(instance, statement, &BTreeMap::from([(read, UnitValue::Missing)]))
        {
            return self.insert_or(instance, statement, (read, unit), &new, ran);
        }
        let of = &self.program.instances()[instance];
        let known = Known { runner: self, of, ran };
        let rows: Vec<Row> = reads.iter().map(|it| known.row(it.0, it.1)).collect();
        let deed = known.deed(statement, &rows);
        let is_said = rows.iter().all(|it| it.predicate.is_some());
        let table = row_of(self.program, rows[0].unit).0;
        let predicate = Predicate::Or(rows.iter().map(|it| self.looked_for(it)).collect());
        let found = match deed {
            Deed::Delete if is_said => self.client.delete_where(&table, &predicate)?,
            Deed::Add(by) if is_said => self.client.increase(&table, &predicate, by)?,
            _ => self.client.select(&table, &predicate, Locking::ForUpdate)?,
        };
        let found: BTreeMap<String, crate::Value> = found.into_iter().collect();
        for row in &rows {
            let value = match found.get(&row_of(self.program, row.unit).1) {
                Some(value) => decoded(self.program, row.unit, value)?,
                None => UnitValue::Missing,
            };
            self.reads.insert(row.first, value.clone());
            self.reads.insert(row.again, value);
        }
        let changed = self.all_written(instance, statement);
        let mut words: Vec<String> = Vec::new();
        for (unit, value) in changed {
            if deed == Deed::Other || !is_said {
                words.push(self.put(unit, &value)?);
            } else {
                words.push(format!("changes {}", self.shown(unit, &value)));
            }
        }
        Ok(if words.is_empty() { "finds no row to change".to_owned() } else { words.join(", ") })
    }

    fn looked_for(&self, row: &Row) -> Predicate {
        let key = key_is(&row_of(self.program, row.unit).1);
        match &row.predicate {
            Some(predicate) => Predicate::And(vec![key, predicate.clone()]),
            None => key,
        }
    }

    fn insert_or(
        &mut self,
        instance: usize,
        statement: StatementId,
        (read, unit): (ReadId, UnitId),
        new: &[Value],
        ran: &TxnRun,
    ) -> Result<String, Failure> {
        let of = &self.program.instances()[instance];
        let there = UnitValue::Present(self.program.unit(unit).fields.iter().map(|it| it.ty.default_value()).collect());
        let updated = self.written(instance, statement, &BTreeMap::from([(read, there.clone())]));
        let known = Known { runner: self, of, ran };
        let conflict = match (&updated, known.new_number(statement, unit, read)) {
            (None, _) => OnConflict::Nothing,
            (_, Some((by, true))) => OnConflict::Add(by),
            (Some((_, UnitValue::Present(fields))), Some((_, false))) => OnConflict::Set(encoded(fields)),
            _ => return self.insert_or_by_steps(instance, statement, (read, unit), new),
        };
        let (table, row) = row_of(self.program, unit);
        let is_changed = self.client.insert_or(&table, &row, encoded(new), &conflict)?;
        let old = match conflict {
            OnConflict::Nothing if is_changed => UnitValue::Missing,
            OnConflict::Nothing | OnConflict::Set(_) if !is_changed => there,
            // What is there now says what was there before, or it makes no difference.
            _ => match (self.get(unit)?, conflict) {
                (UnitValue::Present(now), _) if now == new => UnitValue::Missing,
                (UnitValue::Present(now), OnConflict::Add(by)) => {
                    UnitValue::Present(now.iter().map(|it| Value::Int(it.code() - by)).collect())
                }
                _ => there,
            },
        };
        self.reads.insert(read, old);
        let words: Vec<String> =
            self.all_written(instance, statement).iter().map(|(unit, it)| self.shown(*unit, it)).collect();
        Ok(if words.is_empty() { "finds the row there".to_owned() } else { format!("puts {}", words.join(", ")) })
    }

    /// Where no SQL says what is done to the row that is there.
    fn insert_or_by_steps(
        &mut self,
        instance: usize,
        statement: StatementId,
        (read, unit): (ReadId, UnitId),
        new: &[Value],
    ) -> Result<String, Failure> {
        let (table, row) = row_of(self.program, unit);
        if self.client.insert_or(&table, &row, encoded(new), &OnConflict::Nothing)? {
            self.reads.insert(read, UnitValue::Missing);
            return Ok(format!("inserts {}", self.shown(unit, &UnitValue::Present(new.to_vec()))));
        }
        let found = self.client.select(&table, &key_is(&row), Locking::ForUpdate)?;
        let Some((_, value)) = found.first() else {
            // It was removed in between: as if the statement had come a little later.
            return self.insert_or_by_steps(instance, statement, (read, unit), new);
        };
        let old = decoded(self.program, unit, value)?;
        self.reads.insert(read, old);
        let mut words = Vec::new();
        for (unit, value) in self.all_written(instance, statement) {
            words.push(self.put(unit, &value)?);
        }
        Ok(words.join(", "))
    }

    fn all_written(&self, instance: usize, statement: StatementId) -> Vec<(UnitId, UnitValue)> {
        let steps = self.run(instance, &BTreeMap::new()).steps.into_iter();
        let written = steps.filter_map(|it| match it {
            iso_program::TxnStep::Write { unit, value, statement: of, .. } if of == statement => Some((unit, value)),
            _ => None,
        });
        written.collect()
    }
}

/// What is known before a statement.
struct Known<'k, C> {
    runner: &'k Runner<'k, C>,
    of: &'k Instance,
    ran: &'k TxnRun,
}

impl<C: DerefMut<Target: Client>> Known<'_, C> {
    fn row(&self, first: ReadId, unit: UnitId) -> Row {
        let reads = (0..self.of.reads.len()).map(ReadId::from_index);
        let again = reads.into_iter().find(|it| self.of.read(*it).again == Some(first)).unwrap_or(first);
        let predicate = self.guard(&self.of.body, again, first, unit);
        Row { first, again, unit, predicate }
    }

    /// The condition under which a row is changed: that of the branch where it is read again, or written.
    fn guard(&self, body: &[Stmt], again: ReadId, first: ReadId, unit: UnitId) -> Option<Predicate> {
        let statement = self.of.read(first).statement;
        body.iter().find_map(|it| {
            let Stmt::If { condition, then, otherwise } = it else { return None };
            let begins = |it: &Stmt| match it {
                Stmt::Read(read) => *read == again && again != first,
                Stmt::Write { unit: of, statement: it, .. } => again == first && *of == unit && *it == statement,
                _ => false,
            };
            if then.first().is_some_and(begins) {
                return self.predicate(condition, first);
            }
            let inner = self.guard(then, again, first, unit);
            inner.or_else(|| self.guard(otherwise, again, first, unit))
        })
    }

    fn predicate(&self, expr: &Expr, row: ReadId) -> Option<Predicate> {
        let all = |parts: &[Expr]| parts.iter().map(|it| self.predicate(it, row)).collect::<Option<Vec<_>>>();
        match expr {
            Expr::Const(Value::Bool(true)) => Some(Predicate::All),
            Expr::Const(Value::Bool(false)) => Some(Predicate::Not(Box::new(Predicate::All))),
            Expr::Read(read, UnitPart::Exists) if *read == row => Some(Predicate::All),
            Expr::Not(inner) => Some(Predicate::Not(Box::new(self.predicate(inner, row)?))),
            Expr::And(parts) => Some(Predicate::And(all(parts)?)),
            Expr::Or(parts) => Some(Predicate::Or(all(parts)?)),
            Expr::Local(_) if mentions(self.resolved(expr), row) => self.predicate(self.resolved(expr), row),
            Expr::Equal(left, right) => self.comparison(left, right, row, [Comparison::Equal; 2]),
            Expr::Less(left, right) => self.comparison(left, right, row, [Comparison::Less, Comparison::Greater]),
            _ => None,
        }
    }

    /// The number of the row with something added, and something known.
    fn comparison(&self, left: &Expr, right: &Expr, row: ReadId, signs: [Comparison; 2]) -> Option<Predicate> {
        let compare = |of: &Expr, with: &Expr, sign: Comparison| {
            let by = self.shift(of, row)?;
            let bound = self.value(with)?.code().checked_sub(by)?;
            Some(Predicate::Compare(Column::Named("value".into()), sign, iso_history::Datum::Int(bound)))
        };
        compare(left, right, signs[0]).or_else(|| compare(right, left, signs[1]))
    }

    /// What is added to the only field of the row; a truth value or a member of an enum is its number.
    fn shift(&self, expr: &Expr, row: ReadId) -> Option<i64> {
        match expr {
            Expr::Read(read, UnitPart::Field(0)) if *read == row => {
                let unit = self.of.read(row).unit;
                (self.runner.program.unit(unit).fields.len() == 1).then_some(0)
            }
            Expr::Local(_) if mentions(self.resolved(expr), row) => self.shift(self.resolved(expr), row),
            Expr::Arith { op: Arith::Add, left, right, .. } => match self.value(right) {
                Some(by) => self.shift(left, row)?.checked_add(by.code()),
                None => self.shift(right, row)?.checked_add(self.value(left)?.code()),
            },
            Expr::Arith { op: Arith::Sub, left, right, .. } => {
                self.shift(left, row)?.checked_sub(self.value(right)?.code())
            }
            _ => None,
        }
    }

    /// The value of something that does not depend on the row.
    fn value(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Const(value) => Some(*value),
            Expr::Symbol(symbol) => Some(self.runner.symbols[symbol.index()]),
            Expr::Local(local) => {
                let reads_row = self.of.reads.iter().enumerate().any(|(idx, it)| {
                    matches!(it.mode, ReadMode::Check | ReadMode::Search | ReadMode::Update)
                        && !self.runner.reads.contains_key(&ReadId::from_index(idx))
                        && mentions(self.resolved(expr), ReadId::from_index(idx))
                });
                if reads_row { None } else { self.ran.locals[local.index()] }
            }
            Expr::Read(read, UnitPart::Field(field)) => match self.runner.reads.get(read)? {
                UnitValue::Present(fields) => fields.get(*field).copied(),
                UnitValue::Missing => None,
            },
            Expr::Arith { op, left, right, .. } => {
                op.apply(self.value(left)?.code(), self.value(right)?.code()).map(Value::Int)
            }
            _ => None,
        }
    }

    fn resolved<'e>(&'e self, expr: &'e Expr) -> &'e Expr {
        let Expr::Local(local) = expr else { return expr };
        definition(&self.of.body, *local).unwrap_or(expr)
    }

    /// What becomes of the only number of a row: something added to it, or something known.
    fn new_number(&self, statement: StatementId, unit: UnitId, read: ReadId) -> Option<(i64, bool)> {
        let [field] = &self.runner.program.unit(unit).fields[..] else { return None };
        let rows = written_rows(&self.of.body, statement, unit);
        let changing = |it: &&[Expr]| self.shift(&it[0], read).map(|by| (by, true));
        if let Some(by) = rows.iter().find_map(changing)
            && field.ty == Type::Int
        {
            return Some(by);
        }
        let is_known = rows.iter().all(|it| it.first().is_some_and(|it| self.value(it).is_some()));
        is_known.then_some((0, false))
    }

    fn deed(&self, statement: StatementId, rows: &[Row]) -> Deed {
        let mut deeds = Vec::new();
        for row in rows {
            let all = written_rows(&self.of.body, statement, row.unit);
            let number = all.first().filter(|it| it.len() == 1).and_then(|it| self.shift(&it[0], row.again));
            let is_int =
                matches!(self.runner.program.unit(row.unit).fields[..], [iso_program::Field { ty: Type::Int, .. }]);
            deeds.push(match (all.is_empty(), number) {
                (true, _) => Deed::Delete,
                (false, Some(by)) if is_int => Deed::Add(by),
                _ => Deed::Other,
            });
        }
        let is_one = deeds.windows(2).all(|it| it[0] == it[1]);
        deeds.pop().filter(|_| is_one).unwrap_or(Deed::Other)
    }
}

/// The new rows that a statement may write for a unit.
fn written_rows(body: &[Stmt], statement: StatementId, unit: UnitId) -> Vec<&[Expr]> {
    let mut rows = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Write { unit: of, row: Some(row), statement: it, .. } if *of == unit && *it == statement => {
                rows.push(&row[..]);
            }
            Stmt::If { then, otherwise, .. } => {
                rows.extend(written_rows(then, statement, unit));
                rows.extend(written_rows(otherwise, statement, unit));
            }
            _ => {}
        }
    }
    rows
}

fn mentions(expr: &Expr, row: ReadId) -> bool {
    match expr {
        Expr::Read(read, _) => *read == row,
        Expr::Not(inner) => mentions(inner, row),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(|it| mentions(it, row)),
        Expr::Equal(left, right) | Expr::Less(left, right) | Expr::Arith { left, right, .. } => {
            mentions(left, row) || mentions(right, row)
        }
        Expr::If(condition, yes, no) => [condition, yes, no].into_iter().any(|it| mentions(it, row)),
        Expr::Const(_) | Expr::Symbol(_) | Expr::Local(_) | Expr::State(..) => false,
    }
}

/// What a name is bound to.
fn definition(body: &[Stmt], wanted: iso_program::LocalId) -> Option<&Expr> {
    body.iter().find_map(|it| match it {
        Stmt::Let { local, value } if *local == wanted => Some(value),
        Stmt::If { then, otherwise, .. } => definition(then, wanted).or_else(|| definition(otherwise, wanted)),
        _ => None,
    })
}
