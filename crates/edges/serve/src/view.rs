//! What a transaction of a served application sees: versions that the store chooses, and how they differ from the newest.

use crate::analyse::Asked;
use crate::catalogue::{Kind, Table};
use crate::condition::{Parameter, Template};
use crate::row::plain;
use crate::transaction::{Done, Operation, Written};
use iso_history::{Column, Comparison, Datum, Locking, Predicate, SessionId};
use iso_store::{Error, Key, Savepoint, Store};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The store, and the rows as the engine has them.
pub(crate) struct State {
    store: Store,
    tables: HashMap<Arc<str>, BTreeMap<Arc<str>, Versions>>,
}

/// The versions of a row that were ever committed.
#[derive(Debug)]
struct Versions {
    /// No row, if it was deleted.
    newest: Option<Datum>,
    /// How the engine spells each of them.
    spelled: Vec<(Datum, String)>,
    is_initial: bool,
    n_written: u32,
}

/// What is known of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All are as they were when the run began, and there are some.
    Initial,
    /// Each was written once, during the run.
    Written,
    /// Some row has several versions.
    Versions,
}

impl Versions {
    fn spelling(&self, value: &Datum) -> Option<&String> {
        self.spelled.iter().rfind(|it| it.0 == *value).map(|it| &it.1)
    }
}

/// A row as somebody wrote it, and how the engine spells it; none if it was deleted.
pub(crate) type OwnRow = Option<(Datum, String)>;
/// What a transaction has written.
pub(crate) type Own = BTreeMap<Key, OwnRow>;

/// What is put in place of the newest rows of a table.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) table: u32,
    /// Rows that are not to be there.
    pub(crate) gone: Vec<String>,
    /// Rows that are to be as this says.
    pub(crate) rows: Vec<String>,
}

/// A view for one statement.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) placed: Vec<Placed>,
    /// What rows are in it, by their keys in the history.
    pub(crate) rows: HashMap<String, Datum>,
    /// The same in the order of the store, with rows that are not there.
    pub(crate) looked_at: Vec<(String, Datum)>,
}

/// Why a transaction cannot go on.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Others changed what it needs; a second try may succeed.
    Conflict(String),
    /// This is not served.
    Unsupported(String),
    /// This should not happen.
    Broken(String),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict(conflict) => Self::Conflict(conflict.to_string()),
            // Whoever holds the lock cannot go on while somebody waits for it here.
            locked @ Error::Locked { .. } => Self::Conflict(locked.to_string()),
            other => Self::Broken(other.to_string()),
        }
    }
}

/// The key of the store for one of the history.
pub(crate) fn store_key(key: &str) -> Key {
    let (table, row) = key.split_once('/').unwrap_or(("", key));
    Key::new(table, row)
}

impl State {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, tables: HashMap::new() }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Is anything known of this table?
    pub(crate) fn has_table(&self, shown: &str) -> bool {
        self.tables.contains_key(shown)
    }

    pub(crate) fn add_table(&mut self, shown: &str) {
        self.tables.entry(shown.into()).or_default();
    }

    /// A row of the initial state.
    pub(crate) fn load(&mut self, key: &Key, value: Datum, spelled: String) -> Result<(), Error> {
        self.store.load(key, value.clone())?;
        let spelled = vec![(value.clone(), spelled)];
        let versions = Versions { newest: Some(value), spelled, is_initial: true, n_written: 0 };
        self.tables.entry(key.table.clone()).or_default().insert(key.row.clone(), versions);
        Ok(())
    }

    pub(crate) fn begin(&mut self, session: &str) -> Result<SessionId, Error> {
        let session = self.store.session(session);
        self.store.begin(session)?;
        Ok(session)
    }

    pub(crate) fn abort(&mut self, session: SessionId) {
        // A conflict has aborted it already.
        self.store.abort(session).ok();
    }

    pub(crate) fn commit(&mut self, session: SessionId, own: &Own) -> Result<(), Refused> {
        self.store.commit(session)?;
        for (key, row) in own {
            let rows = self.tables.entry(key.table.clone()).or_default();
            let nothing = || Versions { newest: None, spelled: Vec::new(), is_initial: false, n_written: 0 };
            let versions = rows.entry(key.row.clone()).or_insert_with(nothing);
            versions.n_written += 1;
            versions.newest = row.as_ref().map(|it| it.0.clone());
            if let Some((value, spelled)) = row
                && versions.spelled.last().is_none_or(|it| it.0 != *value)
            {
                versions.spelled.push((value.clone(), spelled.clone()));
            }
        }
        Ok(())
    }

    /// Chooses versions of all rows that a statement may read.
    pub(crate) fn choose(
        &mut self,
        session: SessionId,
        sources: &[Asked],
        parameters: &[Parameter],
        own: &Own,
    ) -> Result<View, Refused> {
        self.store.begin_statement(session)?;
        let view = self.choose_rows(session, sources, parameters, own)?;
        self.store.end_statement(session, Locking::Free)?;
        Ok(view)
    }

    fn choose_rows(
        &mut self,
        session: SessionId,
        sources: &[Asked],
        parameters: &[Parameter],
        own: &Own,
    ) -> Result<View, Refused> {
        let mut by_table: BTreeMap<&str, (&Table, Vec<&Asked>)> = BTreeMap::new();
        for source in sources {
            by_table.entry(&source.table.shown).or_insert((&source.table, Vec::new())).1.push(source);
        }
        let mut view = View::default();
        for (shown, (table, sources)) in by_table {
            let pinned: Option<Vec<Vec<String>>> = sources.iter().map(|it| pinned(it, parameters)).collect();
            let chosen = match pinned {
                Some(names) => {
                    let mut names: Vec<String> = names.into_iter().flatten().collect();
                    names.sort_unstable();
                    names.dedup();
                    let mut chosen = Vec::new();
                    for name in names {
                        let key = Key::new(shown, name);
                        let value = self.store.get(session, &key)?;
                        chosen.push((key, value));
                    }
                    chosen
                }
                None => self.scan(session, shown)?,
            };
            let mut placed = Placed { table: table.oid, gone: Vec::new(), rows: Vec::new() };
            for (key, value) in chosen {
                self.place(&key, value.as_ref(), own, &mut placed)?;
                let name = format!("{}/{}", key.table, key.row);
                view.looked_at.push((name.clone(), value.clone().unwrap_or(Datum::Null)));
                if let Some(value) = value {
                    view.rows.insert(name, value);
                }
            }
            if !placed.gone.is_empty() || !placed.rows.is_empty() {
                view.placed.push(placed);
            }
        }
        Ok(view)
    }

    /// All rows of a table that are in the view, and those of the newest state that are not.
    fn scan(&mut self, session: SessionId, table: &str) -> Result<Vec<(Key, Option<Datum>)>, Refused> {
        let found = self.store.scan(session, table, &iso_store::Rows::All)?;
        let mut chosen: BTreeMap<Key, Option<Datum>> = found.into_iter().map(|it| (it.0, Some(it.1))).collect();
        if let Some((table, rows)) = self.tables.get_key_value(table) {
            for row in rows.keys() {
                chosen.entry(Key { table: table.clone(), row: row.clone() }).or_insert(None);
            }
        }
        Ok(chosen.into_iter().collect())
    }

    /// Notes what must be put in place so that a row is as it was chosen.
    fn place(&self, key: &Key, value: Option<&Datum>, own: &Own, placed: &mut Placed) -> Result<(), Refused> {
        if own.contains_key(key) {
            return Ok(());
        }
        let versions = self.tables.get(&key.table).and_then(|it| it.get(&key.row));
        let newest = versions.and_then(|it| it.newest.as_ref());
        if newest == value {
            return Ok(());
        }
        let spelling = |value: &Datum| versions.and_then(|it| it.spelling(value)).cloned();
        let unknown = || Refused::Broken(format!("nobody knows how {key} is spelled"));
        match (value, newest) {
            (Some(value), _) => placed.rows.push(spelling(value).ok_or_else(unknown)?),
            (None, Some(newest)) => placed.gone.push(spelling(newest).ok_or_else(unknown)?),
            (None, None) => {}
        }
        Ok(())
    }

    /// What is known of the rows of a table, of which a transaction has written some.
    pub(crate) fn rows_of(&self, shown: &str, own: Option<&Own>) -> Rows {
        let Some(rows) = self.tables.get(shown).filter(|it| !it.is_empty()) else { return Rows::Written };
        let is_own = own.is_some_and(|own| own.keys().any(|it| &*it.table == shown));
        if is_own || rows.values().any(|it| u32::from(it.is_initial) + it.n_written > 1) {
            return Rows::Versions;
        }
        if rows.values().all(|it| it.is_initial) { Rows::Initial } else { Rows::Written }
    }

    /// What must be put into the newest state so that it has these rows.
    pub(crate) fn effects(&self, written: &[Written], own: &Own) -> Result<Vec<Placed>, Refused> {
        let mut last: BTreeMap<(u32, &str), Option<&String>> = BTreeMap::new();
        for one in written {
            if let Some((key, _)) = &one.old {
                last.insert((one.table, key), None);
            }
            if let Some((key, _)) = &one.new {
                let Some(spelled) = &one.spelled else {
                    return Err(Refused::Broken(format!("nobody said how {key} is spelled")));
                };
                last.insert((one.table, key), Some(spelled));
            }
        }
        let mut placed: BTreeMap<u32, Placed> = BTreeMap::new();
        for ((table, key), spelled) in last {
            let nothing = || Placed { table, gone: Vec::new(), rows: Vec::new() };
            let placed = placed.entry(table).or_insert_with(nothing);
            match spelled {
                Some(spelled) => placed.rows.push(spelled.clone()),
                None => placed.gone.extend(self.newest_spelling(&store_key(key), own)),
            }
        }
        Ok(placed.into_values().collect())
    }

    /// How the engine spells a row as it is now; none if there is none.
    fn newest_spelling(&self, key: &Key, own: &Own) -> Option<String> {
        if let Some(row) = own.get(key) {
            return row.as_ref().map(|it| it.1.clone());
        }
        let versions = self.tables.get(&key.table)?.get(&key.row)?;
        versions.newest.as_ref().and_then(|it| versions.spelling(it)).cloned()
    }

    /// Tells the store what a statement did on the newest state. Gives what the transaction has written.
    pub(crate) fn apply(
        &mut self,
        session: SessionId,
        done: &Done,
        spelled: &HashMap<String, String>,
        own: &mut Own,
    ) -> Result<(), Refused> {
        self.store.begin_statement(session)?;
        self.apply_operations(session, done, spelled, own)?;
        self.store.end_statement(session, done.locking)?;
        Ok(())
    }

    fn apply_operations(
        &mut self,
        session: SessionId,
        done: &Done,
        spelled: &HashMap<String, String>,
        own: &mut Own,
    ) -> Result<(), Refused> {
        for operation in &done.operations {
            match operation {
                Operation::Read(seen) => self.read_newest(session, &store_key(&seen.key))?,
                Operation::Scan { table, .. } => self.scan_newest(session, table, own)?,
                Operation::Update { key, new, .. } => {
                    let store_key = store_key(key);
                    self.read_newest(session, &store_key)?;
                    self.write(session, store_key, new, spelled.get(key), own)?;
                }
                Operation::Write { key, value } => {
                    self.write(session, store_key(key), value, spelled.get(key), own)?;
                }
            }
        }
        Ok(())
    }

    fn write(
        &mut self,
        session: SessionId,
        key: Key,
        value: &Datum,
        spelled: Option<&String>,
        own: &mut Own,
    ) -> Result<(), Refused> {
        if *value == Datum::Null {
            self.store.delete(session, &key)?;
            own.insert(key, None);
            return Ok(());
        }
        self.store.put(session, &key, value.clone())?;
        let Some(spelled) = spelled else {
            return Err(Refused::Broken(format!("nobody said how {key} is spelled")));
        };
        own.insert(key, Some((value.clone(), spelled.clone())));
        Ok(())
    }

    /// Reads the newest version of a row, if the level lets the transaction do that.
    fn read_newest(&mut self, session: SessionId, key: &Key) -> Result<(), Refused> {
        self.store.get_newest(session, key)?;
        Ok(())
    }

    pub(crate) fn savepoint(&mut self, session: SessionId) -> Option<Savepoint> {
        self.store.savepoint(session).ok()
    }

    /// Takes back what was written since a savepoint. A transaction that a conflict has aborted stays so.
    pub(crate) fn roll_back_to(&mut self, session: SessionId, place: Savepoint) -> Result<(), Refused> {
        match self.store.rollback_to(session, place) {
            Err(Error::NoTransaction { .. }) => Err(Refused::Conflict("the transaction was refused before".to_owned())),
            other => Ok(other?),
        }
    }

    fn scan_newest(&mut self, session: SessionId, table: &str, own: &Own) -> Result<(), Refused> {
        let found: HashMap<Key, Datum> =
            self.store.scan_newest(session, table, &iso_store::Rows::All)?.into_iter().collect();
        for (row, versions) in self.tables.get(table).into_iter().flatten() {
            let key = Key::new(table, row.clone());
            if !own.contains_key(&key) && found.get(&key) != versions.newest.as_ref() {
                return Err(Refused::Conflict(too_old(&key)));
            }
        }
        Ok(())
    }
}

fn too_old(key: &Key) -> String {
    format!(
        "{key} is changed by a statement that acts on its newest version, and the transaction has seen an older state"
    )
}

/// The rows that a condition asks for by their whole keys, if it does.
fn pinned(asked: &Asked, parameters: &[Parameter]) -> Option<Vec<String>> {
    let parts = match asked.condition.as_ref()? {
        Template::And(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let known: Vec<Predicate> = parts.iter().filter_map(|it| it.predicate(parameters)).collect();
    let key = &asked.table.key;
    let is_plain = |name: &String| {
        let kind = asked.table.column(name).map(|it| it.kind);
        matches!(kind, Some(Kind::Integer | Kind::Text | Kind::Bool | Kind::Uuid))
    };
    if !key.iter().all(is_plain) {
        return None;
    }
    let is_it = |column: &Column, name: &String| match column {
        Column::Key => key.len() == 1,
        Column::Named(other) => **other == **name,
    };
    // Numbers that are no integers may be spelled in several ways.
    let name_of = |it: &Datum| (!matches!(it, Datum::Number(_))).then(|| plain(it));
    let equal = |name: &String| {
        known.iter().find_map(|it| match it {
            Predicate::Compare(column, Comparison::Equal, datum) if is_it(column, name) => name_of(datum),
            _ => None,
        })
    };
    if let Some(parts) = key.iter().map(equal).collect::<Option<Vec<String>>>() {
        return Some(vec![parts.join(",")]);
    }
    let [name] = key.as_slice() else { return None };
    known.iter().find_map(|it| match it {
        Predicate::OneOf(column, data) if is_it(column, name) => data.iter().map(name_of).collect(),
        _ => None,
    })
}
