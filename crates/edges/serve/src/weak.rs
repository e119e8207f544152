//! The weak side of a served database: its store, its turns, and the tables that it knows.

use crate::catalogue::{Catalogue, Column, SPELLING, Table};
use crate::row::{parse, table_row};
use crate::serve::ServeSetup;
use crate::shared::lock;
use crate::turn::Turn;
use crate::view::State;
use iso_collect::{Administration, Failure};
use iso_history::Datum;
use iso_spec::Level;
use iso_store::{Key, Policy, Store};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

/// What a served database has beyond a recorded one.
pub(crate) struct Weak {
    pub(crate) level: Level,
    pub(crate) turn: Turn,
    pub(crate) updates: Updates,
    pub(crate) opaque: Opaque,
    /// As whom all clients are known to an engine of our own.
    pub(crate) login: Option<Login>,
    policy: Policy,
    seed: u64,
    /// None before the run.
    state: Mutex<Option<State>>,
    incarnations: Mutex<HashMap<String, Vec<Definition>>>,
    /// Transactions of the setup that have written and not ended.
    n_setups: Mutex<usize>,
    /// Names of sessions that are connected.
    names: Mutex<HashSet<String>>,
}

/// What UPDATE and DELETE act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Updates {
    /// The newest version, as databases do.
    #[default]
    Newest,
    /// A version that the level allows: they read and write, as in papers.
    Weak,
}

/// What becomes of statements that execute code of the database, whose reads are not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opaque {
    /// They are refused.
    #[default]
    Refused,
    /// They see the newest state, and the history says that it is known in part.
    Allowed,
}

/// A user and a database of the engine.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) database: String,
}

/// What makes a table another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    oid: u32,
    columns: Vec<Column>,
    key: Vec<String>,
}

/// A row, with how the engine spells it.
pub(crate) struct SpelledRow {
    pub(crate) name: String,
    pub(crate) value: Datum,
    pub(crate) spelled: String,
}

impl Weak {
    pub(crate) fn new(setup: &ServeSetup, turn: Turn, login: Option<Login>) -> Self {
        Self {
            level: setup.level,
            turn,
            updates: setup.updates,
            opaque: setup.opaque,
            login,
            policy: setup.policy.clone(),
            seed: setup.seed,
            state: Mutex::default(),
            incarnations: Mutex::default(),
            n_setups: Mutex::default(),
            names: Mutex::default(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, Option<State>> {
        lock(&self.state)
    }

    /// The name of a session: what it wants to be called, unless somebody else is called so now.
    pub(crate) fn take_name(&self, wanted: String) -> String {
        let mut names = lock(&self.names);
        let others = (2..).map(|nth: u32| format!("{wanted}.{nth}"));
        let free = std::iter::once(wanted.clone()).chain(others).find(|it| !names.contains(it)).unwrap_or(wanted);
        names.insert(free.clone());
        free
    }

    pub(crate) fn leave_name(&self, name: &str) {
        lock(&self.names).remove(name);
    }

    /// May statements that are a transaction by themselves, and only read, run beside each other?
    pub(crate) fn may_share(&self) -> bool {
        matches!(self.policy, Policy::Latest) && self.turn.is_by_arrival()
    }

    pub(crate) fn is_on(&self) -> bool {
        self.state().is_some()
    }

    /// A transaction of the setup has written for the first time, or one that has ends.
    pub(crate) fn count_setup(&self, is_more: bool) {
        let mut n = lock(&self.n_setups);
        *n = if is_more { *n + 1 } else { n.saturating_sub(1) };
    }

    pub(crate) fn n_setups(&self) -> usize {
        *lock(&self.n_setups)
    }

    /// A table that was made again or altered is another one, and has another name in the history.
    pub(crate) fn name_tables(&self, catalogue: &mut Catalogue) {
        let mut incarnations = lock(&self.incarnations);
        let mut names = HashMap::new();
        for table in catalogue.tables().iter().filter(|it| it.has_key()) {
            let Table { oid, columns, key, shown, .. } = table;
            let definition = Definition { oid: *oid, columns: columns.clone(), key: key.clone() };
            let known = incarnations.entry(shown.clone()).or_default();
            let nth = known.iter().position(|it| *it == definition).unwrap_or_else(|| {
                known.push(definition);
                known.len() - 1
            });
            let name = if nth == 0 { shown.clone() } else { format!("{shown}@{}", nth + 1) };
            names.insert(*oid, name);
        }
        drop(incarnations);
        catalogue.show(|it| names.get(&it.oid).cloned().unwrap_or_else(|| it.shown.clone()));
    }

    /// Fills the store with all rows that the engine has. Gives them by their keys in the history.
    pub(crate) fn begin(
        &self,
        administration: &mut Administration,
        catalogue: &Catalogue,
    ) -> Result<HashMap<String, Datum>, Failure> {
        let broken = |it: iso_store::Error| Failure::Broken { message: it.to_string() };
        let mut state = State::new(Store::new(self.level, self.policy.clone(), self.seed).map_err(broken)?);
        let mut initial = HashMap::new();
        for setting in SPELLING.split("SET ").filter(|it| !it.is_empty()) {
            administration.run(&format!("SET {setting}"))?;
        }
        for table in catalogue.tables().iter().filter(|it| it.has_key()) {
            state.add_table(&table.shown);
            for row in spelled_rows(table, administration.rows(&rows_sql(table))?) {
                let key = Key::new(table.shown.as_str(), row.name.as_str());
                initial.insert(format!("{}/{}", table.shown, row.name), row.value.clone());
                state.load(&key, row.value, row.spelled).map_err(broken)?;
            }
        }
        *self.state() = Some(state);
        Ok(initial)
    }
}

/// A query for all rows of a table, with how they are spelled.
pub(crate) fn rows_sql(table: &Table) -> String {
    format!("SELECT {}::text, t::text FROM ONLY {} t", table.row_sql("t"), table.sql_name())
}

/// What the engine answered to it.
pub(crate) fn spelled_rows(table: &Table, rows: Vec<Vec<Option<String>>>) -> Vec<SpelledRow> {
    let row = |values: Vec<Option<String>>| {
        let mut texts = values.into_iter().map(Option::unwrap_or_default);
        let (told, spelled) = (texts.next()?, texts.next()?);
        let row = table_row(parse(&told)?, &table.key)?;
        Some(SpelledRow { name: row.name, value: row.value, spelled })
    };
    rows.into_iter().filter_map(row).collect()
}
