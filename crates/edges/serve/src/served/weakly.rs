//! UPDATE and DELETE as papers read them: they look at a version that the level allows, and write what they make of it.
//!
//! The engine executes the statement on the chosen versions and tells what it wrote. That is taken back with the view, and
//! the rows are put into the newest state as they were told.

use super::statement::{How, late, unplaceable};
use super::{Answered, Served};
use crate::analyse::Plan;
use crate::catalogue::SCHEMA;
use crate::condition::Parameter;
use crate::engine::array;
use crate::transaction::{Done, Operation, Seen, Written};
use crate::view::{Placed, Refused, View};
use iso_history::{Datum, Locking};
use iso_spec::Level;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

impl Served<'_> {
    /// Changes rows as they are in a view.
    pub(super) fn change_weakly(
        &mut self,
        plan: &Arc<Plan>,
        parameters: &[Parameter],
        how: &How,
    ) -> io::Result<Answered> {
        self.ensure_block();
        let view = match self.choose(plan, parameters) {
            Ok(view) => view,
            Err(refused) => return self.refuse(refused).map(Err),
        };
        if let Err(error) = self.place(&view)? {
            return self.refuse(unplaceable(&error)).map(Err);
        }
        let (answered, running) = self.engine_answer(plan, parameters, how)?;
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(late(error))),
        };
        if let Err(error) = self.take_view_away()? {
            return Ok(Err(error));
        }
        let written = running.written.clone();
        let spelled: HashMap<String, String> =
            written.iter().filter_map(|it| Some((it.new.as_ref()?.0.clone(), it.spelled.clone()?))).collect();
        let (done, missing) = running.done(plan);
        let done = reads_and_writes(done, view, self.weak.level);
        match self.effects(&written) {
            Ok(effects) => {
                for Placed { table, gone, rows } in effects {
                    let sql = format!("SELECT {SCHEMA}.place_{table}($1, $2)");
                    if let Err(error) = self.ask(&sql, &[&array(&gone), &array(&rows)])? {
                        return Ok(Err(late(error)));
                    }
                }
            }
            Err(refused) => return self.refuse(refused).map(Err),
        }
        let writes: Vec<Operation> =
            done.operations.iter().filter(|it| matches!(it, Operation::Write { .. })).cloned().collect();
        if !writes.is_empty()
            && let Err(refused) = self.apply(&Done { operations: writes, ..done.clone() }, &spelled)
        {
            return self.refuse(refused).map(Err);
        }
        self.note(plan, done, missing);
        Ok(Ok(answer))
    }

    /// What the newest state becomes by rows that were written.
    fn effects(&self, written: &[Written]) -> Result<Vec<Placed>, Refused> {
        match (self.weak.state().as_ref(), &self.txn) {
            (Some(state), Some(txn)) => state.effects(written, &txn.own),
            _ => Err(Refused::Broken("the run has not begun".to_owned())),
        }
    }
}

/// An update of a row that the view has is a read and a write. What follows from it in other tables is a write, as nobody
/// has looked.
fn reads_and_writes(done: Done, view: View, level: Level) -> Done {
    let mut operations = Vec::new();
    let read = |(key, value): (String, Datum)| Operation::Read(Seen { key, value, writer: None });
    let is_by_row = level == Level::ReadCommitted;
    if is_by_row {
        operations.extend(view.looked_at.into_iter().map(read));
    }
    for operation in done.operations {
        match operation {
            Operation::Update { key, old, new } => {
                if !is_by_row && view.rows.get(&key) == Some(&old) {
                    operations.push(read((key.clone(), old)));
                }
                operations.push(Operation::Write { key, value: new });
            }
            Operation::Read(_) | Operation::Scan { .. } if is_by_row => {}
            other => operations.push(other),
        }
    }
    Done { operations, locking: Locking::Free, before: done.before, sql: done.sql }
}
