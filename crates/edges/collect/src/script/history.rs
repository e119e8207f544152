//! What the steps of a script did, as a history.

use super::{Action, Answer, Played, Script};
use crate::answered::{Answered, Effect, RowNames, only_row, with_table};
use crate::recorder::row_name;
use crate::{Failure, Inserts, Value, list_of};
use iso_history::{Datum, History, HistoryBuilder, KeyId, Locking, Outcome, Place};
use std::collections::{BTreeMap, BTreeSet};

/// What has happened so far.
pub(super) struct Log<'s> {
    script: &'s Script,
    inserts: Inserts,
    answers: Vec<Answer>,
    pub(super) blocked: Vec<usize>,
    txns: Vec<ScriptTxn<'s>>,
    /// By session, its open transaction.
    open: BTreeMap<&'s str, usize>,
}

struct ScriptTxn<'s> {
    session: &'s str,
    /// The steps that were done.
    steps: Vec<usize>,
    begin: i64,
    end: Option<i64>,
    outcome: Outcome,
}

impl<'s> Log<'s> {
    pub(super) fn new(script: &'s Script, inserts: Inserts) -> Self {
        let answers = vec![Answer::Skipped; script.steps.len()];
        Self { script, inserts, answers, blocked: Vec::new(), txns: Vec::new(), open: BTreeMap::new() }
    }

    /// Notes what a step answered, and when it was sent and answered.
    pub(super) fn note(&mut self, idx: usize, answer: Answer, sent: i64, answered: i64) -> Result<(), Failure> {
        let step = &self.script.steps[idx];
        let session = step.session.as_str();
        let is_begin = matches!(step.action, Action::Begin { .. });
        if is_begin && answer == Answer::Done {
            self.open.insert(session, self.txns.len());
            let txn = ScriptTxn { session, steps: Vec::new(), begin: sent, end: None, outcome: Outcome::Aborted };
            self.txns.push(txn);
        } else if let Some(open) = self.open.get(session).copied() {
            let txn = &mut self.txns[open];
            let outcome = match (&answer, &step.action) {
                (Answer::Failed(Failure::Lost { .. }), Action::Commit) => Some(Outcome::Indeterminate),
                (Answer::Failed(_), _) | (_, Action::Abort) => Some(Outcome::Aborted),
                (_, Action::Commit) => Some(Outcome::Committed),
                _ => None,
            };
            if let Some(outcome) = outcome {
                // Nobody knows when a commit took place whose answer was lost.
                (txn.outcome, txn.end) = (outcome, (outcome != Outcome::Indeterminate).then_some(answered));
                self.open.remove(session);
            } else {
                txn.steps.push(idx);
            }
        } else if is_begin && let Answer::Failed(failure) = answer {
            return Err(failure);
        }
        self.answers[idx] = answer;
        Ok(())
    }

    /// What happened, if the script cannot go on: transactions that are open may commit, or may have.
    pub(super) fn cut_short(mut self) -> Option<Box<History>> {
        for open in std::mem::take(&mut self.open).into_values() {
            self.txns[open].outcome = Outcome::Indeterminate;
        }
        let has_any = !self.txns.is_empty();
        self.end().ok().filter(|_| has_any).map(|it| Box::new(it.history))
    }

    pub(super) fn end(self) -> Result<Played, Failure> {
        let mut builder = HistoryBuilder::new();
        let keys = self.keys();
        let mut ids = BTreeMap::new();
        for (table, row) in &keys {
            let key = match self.script.row_names() {
                RowNames::Short => builder.key(row_name(row).to_datum()),
                RowNames::WithTable => builder.key(Datum::text(with_table(table, row))),
            };
            ids.insert((table.clone(), row.clone()), key);
        }
        for (table, row, value) in &self.script.rows {
            let key = ids[&(table.clone(), row.clone())];
            if !self.script.has_lists(table) {
                let value = builder.value(value.clone().into());
                builder.initial(key, value, Place::default());
            } else if !list_of(Some(value))?.is_empty() {
                return Err(Failure::broken(format!("the list {table}:{row} of a script must be empty to begin with")));
            }
        }
        for txn in &self.txns {
            let session = builder.session(txn.session);
            builder.begin(session, Place::default());
            builder.times(Some(txn.begin), txn.end);
            for idx in &txn.steps {
                self.add(&mut builder, &ids, *idx)?;
            }
            builder.end(txn.outcome);
        }
        let defects = |found: Vec<iso_history::Defect>| {
            Failure::broken(found.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join("; "))
        };
        let history = builder.finish().map_err(defects)?;
        Ok(Played { history, answers: self.answers, blocked: self.blocked })
    }

    /// Every row that is there at any time, or that is asked for.
    fn keys(&self) -> BTreeSet<(String, String)> {
        let mut keys: BTreeSet<(String, String)> =
            self.script.rows.iter().map(|(table, row, _)| (table.clone(), row.clone())).collect();
        for step in &self.script.steps {
            if let Some((table, row)) = step.action.row() {
                keys.insert((table.to_owned(), row));
            }
        }
        keys
    }

    fn add(
        &self,
        builder: &mut HistoryBuilder,
        ids: &BTreeMap<(String, String), KeyId>,
        idx: usize,
    ) -> Result<(), Failure> {
        let id = |table: &str, row: &str| ids[&(table.to_owned(), row.to_owned())];
        match (&self.script.steps[idx].action, &self.answers[idx]) {
            (Action::Get { table, row }, Answer::Value(value)) => {
                self.add_read(builder, table, id(table, row), value.as_ref())?;
            }
            // A list that is not among the answers was read as well: it is empty.
            (Action::Scan { table, .. }, Answer::Rows(rows)) if self.script.has_lists(table) => {
                for ((_, row), key) in ids.iter().filter(|it| it.0.0 == *table) {
                    let value = rows.iter().find(|it| it.0 == *row).map(|it| &it.1);
                    self.add_read(builder, table, *key, value)?;
                }
            }
            (action, Answer::Rows(found)) => {
                let Some((table, predicate)) = action.predicate() else { return Ok(()) };
                let effect = effect_of(action);
                // Databases return rows in any order, which means nothing.
                let mut found = found.clone();
                found.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
                let found = &found[..];
                Answered { table, predicate, found, effect }.record(self.script.row_names(), builder);
            }
            // One that is done has seen that there was no row.
            (Action::Insert { table, row, value }, _) if self.inserts == Inserts::Checked => {
                let (none, value) = (builder.value(Datum::Null), builder.value(value.clone().into()));
                builder.update(id(table, row), none, value);
            }
            (Action::Put { table, row, value } | Action::Insert { table, row, value }, _) => {
                let value = builder.value(value.clone().into());
                builder.write(id(table, row), value);
            }
            (Action::Append { table, row, element }, _) => {
                let value = builder.value((*element).into());
                builder.append(id(table, row), value);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_read(
        &self,
        builder: &mut HistoryBuilder,
        table: &str,
        key: KeyId,
        value: Option<&Value>,
    ) -> Result<(), Failure> {
        if self.script.has_lists(table) {
            let elements: Vec<_> = list_of(value)?.into_iter().map(|it| builder.value(it.into())).collect();
            builder.read_list(key, elements);
        } else {
            let value = builder.value(value.map_or(Datum::Null, |it| it.clone().into()));
            builder.read(key, value);
        }
        Ok(())
    }
}

fn effect_of(action: &Action) -> Effect {
    match action {
        Action::Add { by, .. } => Effect::Add(*by),
        Action::Delete { .. } => Effect::Delete,
        Action::Scan { locking, .. } => Effect::Read(*locking),
        _ => Effect::Read(Locking::Free),
    }
}

impl Script {
    /// As in recorded workloads, one table needs no name unless its rows come and go, or are asked for by predicate.
    fn row_names(&self) -> RowNames {
        let is_there = |table: &str, row: &str| self.rows.iter().any(|it| it.0 == table && it.1 == row);
        let is_short = |action: &Action| match action {
            Action::Insert { .. } | Action::Delete { .. } => false,
            Action::Scan { table, .. } => self.has_lists(table),
            Action::Add { table, predicate, .. } => only_row(predicate).is_some_and(|row| is_there(table, &row)),
            _ => true,
        };
        let is_short = self.tables.len() == 1 && self.steps.iter().all(|it| is_short(&it.action));
        if is_short { RowNames::Short } else { RowNames::WithTable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_commit_has_an_unknown_outcome_and_no_end_and_what_was_lost_before_is_aborted() {
        let script = "table t int\nrow t x 0\ns1 begin any\ns1 put t x 1\ns1 commit\ns2 begin any\ns2 get t x";
        let script: Script = script.parse().unwrap();
        let mut log = Log::new(&script, Inserts::Checked);
        let lost = || Answer::Failed(Failure::lost("gone"));
        let answers = [Answer::Done, Answer::Done, lost(), Answer::Done, lost()];
        for (idx, answer) in answers.into_iter().enumerate() {
            log.note(idx, answer, idx as i64, idx as i64 + 1).unwrap();
        }
        let history = log.end().unwrap().history;
        let txns: Vec<_> = history.txns().filter(|it| !it.is_initial()).collect();
        assert_eq!((history.outcome(txns[0]), history.end(txns[0])), (Outcome::Indeterminate, None));
        assert_eq!((history.outcome(txns[1]), history.end(txns[1])), (Outcome::Aborted, Some(5)));
        assert_eq!(history.n_ops(), 1, "a read that was not answered is none");
    }
}
