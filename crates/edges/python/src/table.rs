//! Tables with an operation a row become histories.
//!
//! Rows of a transaction have the same session and the same name of a transaction, and need not stand together: a log in
//! the order of time is a table, too. Within a session, transactions come one after the other.
//!
//! Most of the time goes into looking up names, in tables that fit in no cache. So the values are looked up on a thread of
//! their own, and whole pieces of a column at once.

use iso_history::{
    Access, Datum, Defect, History, HistoryBuilder, KeyId, KeyNaming, Name, Outcome, Place, PlaceUnit, SessionId,
    Severity, ValueId, ValueNaming,
};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::thread;

/// What tables are called in messages; their lines are rows, from 1.
const SOURCE: &str = "rows";
/// So many names are looked up at once.
const AT_ONCE: usize = 4096;

/// A column, cell by cell.
pub(crate) trait Column: Send + Sync {
    /// How many cells it has.
    fn len(&self) -> usize;

    /// The cell of a row, from 0.
    fn cell(&self, row: usize) -> Cell<'_>;

    /// The cells of these rows, if they are integers that stand side by side.
    fn integers(&self, rows: Range<usize>) -> Option<&[i64]>;
}

/// What stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'c> {
    /// One value.
    Name(Name<'c>),
    /// A whole list, as a read of a list returns it.
    List(&'c [Datum]),
}

impl<'c> Cell<'c> {
    /// The value; a list is none.
    fn name(self) -> Option<Name<'c>> {
        match self {
            Self::Name(name) => Some(name),
            Self::List(_) => None,
        }
    }
}

/// The columns of a table.
pub(crate) struct Table {
    pub(crate) session: Box<dyn Column>,
    /// Without it, each row is a transaction.
    pub(crate) txn: Option<Box<dyn Column>>,
    pub(crate) op: Box<dyn Column>,
    pub(crate) key: Box<dyn Column>,
    pub(crate) value: Box<dyn Column>,
    pub(crate) status: Option<Box<dyn Column>>,
    pub(crate) begin: Option<Box<dyn Column>>,
    pub(crate) end: Option<Box<dyn Column>>,
    /// What every register holds at first.
    pub(crate) initial: Option<Datum>,
    /// What single registers hold at first.
    pub(crate) initials: Vec<(Datum, Datum)>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Append,
    Delete,
    /// No operation: the transaction ended so.
    Ends(Outcome),
}

/// A transaction while rows are sorted.
#[derive(Clone, Copy, Debug)]
struct Txn {
    session: SessionId,
    first_row: usize,
    n_rows: usize,
}

impl Table {
    /// The history, or what is wrong with the table; and what is worth a look.
    pub(crate) fn history(&self) -> (Option<History>, Vec<Defect>) {
        let mut reader = Reader { builder: HistoryBuilder::new(), defects: Vec::new() };
        reader.builder.source(SOURCE, PlaceUnit::Line);
        if let Some(problem) = self.uneven() {
            return (None, vec![problem]);
        }
        self.initial_values(&mut reader.builder);
        let (txns, txn_of_row) = self.transactions(&mut reader);
        let kinds: Vec<Kind> = (0..self.op.len()).map(|row| self.kind(row, &mut reader)).collect();
        let columns = self.columns(kinds, &mut reader);
        let rows = sorted_rows(&txns, &txn_of_row);
        drop(txn_of_row);
        let mut next = 0;
        let mut accesses = Vec::new();
        for txn in &txns {
            let places = next..next + txn.n_rows;
            next = places.end;
            let place = Place { source: 0, at: txn.first_row as u64 + 1 };
            reader.builder.begin(txn.session, place);
            match &rows {
                None => {
                    // Rows that stand together are operations that stand together, unless there is something special.
                    accesses.clear();
                    accesses.extend(columns.kinds[places.clone()].iter().map_while(|it| it.access()));
                    let is_plain = accesses.len() == txn.n_rows && !columns.has_lists;
                    if is_plain {
                        let (keys, values) = (&columns.keys[places.clone()], &columns.values[places.clone()]);
                        reader.builder.extend(&accesses, keys, values);
                    }
                    let ended = if is_plain { None } else { self.operations(places.clone(), &columns, &mut reader) };
                    self.end(places, ended, &mut reader);
                }
                Some(sorted) => {
                    let these = sorted[places].iter().map(|it| *it as usize);
                    let ended = self.operations(these.clone(), &columns, &mut reader);
                    self.end(these, ended, &mut reader);
                }
            }
        }
        if !reader.defects.is_empty() {
            return (None, reader.defects);
        }
        reader.builder.finish_with_defects()
    }

    fn uneven(&self) -> Option<Defect> {
        let n_rows = self.op.len();
        let columns = [
            ("session", Some(&self.session)),
            ("transaction", self.txn.as_ref()),
            ("key", Some(&self.key)),
            ("value", Some(&self.value)),
            ("status", self.status.as_ref()),
            ("begin", self.begin.as_ref()),
            ("end", self.end.as_ref()),
        ];
        let uneven = columns.into_iter().find_map(|(name, it)| it.filter(|it| it.len() != n_rows).map(|it| (name, it)));
        let (name, column) = uneven?;
        let message = format!(
            "the column of the {name} has {} cells, and that of the operation {n_rows}; columns have one cell a row",
            column.len()
        );
        Some(Defect { severity: Severity::Error, source: SOURCE.to_owned(), at: None, message })
    }

    fn initial_values(&self, builder: &mut HistoryBuilder) {
        if let Some(initial) = &self.initial {
            let value = builder.value_named(initial.as_name());
            builder.default_initial(value);
        }
        for (key, value) in &self.initials {
            let (key, value) = (builder.key_named(key.as_name()), builder.value_named(value.as_name()));
            builder.initial(key, value, Place::default());
        }
    }

    /// The transactions in the order of their first rows, and whose each row is.
    fn transactions<'t>(&'t self, reader: &mut Reader) -> (Vec<Txn>, Vec<u32>) {
        let n_rows = self.op.len();
        let mut sessions: FxHashMap<Name<'t>, SessionId> = FxHashMap::default();
        // Of each session, the transaction that runs.
        let mut running: Vec<Option<(Cell<'t>, u32)>> = Vec::new();
        let mut seen: FxHashMap<(SessionId, Name<'t>), u32> = FxHashMap::default();
        let mut txns: Vec<Txn> = Vec::new();
        let mut txn_of_row = Vec::with_capacity(n_rows);
        let mut last: Option<(Name<'t>, SessionId)> = None;
        for row in 0..n_rows {
            let name = match self.session.cell(row) {
                Cell::Name(name) if name != Name::Null => name,
                _ => {
                    reader.error(row, "the row has no session".to_owned());
                    Name::Null
                }
            };
            let session = match last {
                Some((same, session)) if same == name => session,
                _ => *sessions.entry(name).or_insert_with(|| reader.builder.session(&bare(name))),
            };
            last = Some((name, session));
            if running.len() <= session.index() {
                running.resize(session.index() + 1, None);
            }
            // A row without the name of a transaction is one by itself.
            let id = self.txn.as_ref().map_or(Cell::Name(Name::Null), |it| it.cell(row));
            let is_alone = id.name().is_none_or(|it| it == Name::Null);
            if let Some((_, txn)) = running[session.index()].filter(|it| it.0 == id && !is_alone) {
                txns[txn as usize].n_rows += 1;
                txn_of_row.push(txn);
                continue;
            }
            let number = txns.len() as u32;
            if let Some(name) = id.name().filter(|_| !is_alone)
                && let Some(earlier) = seen.insert((session, name), number)
            {
                let first = txns[earlier as usize].first_row + 1;
                reader.error(
                    row,
                    format!(
                        "transaction {} of session {} goes on after another one of that session has begun; it began at \
                         row {first}. A session runs one transaction after the other: give each client a session of its \
                         own, and each transaction a name of its own",
                        name.shown(),
                        bare(self.session.cell(row).name().unwrap_or(Name::Null)),
                    ),
                );
            }
            txns.push(Txn { session, first_row: row, n_rows: 1 });
            running[session.index()] = Some((id, number));
            txn_of_row.push(number);
        }
        (txns, txn_of_row)
    }

    fn kind(&self, row: usize, reader: &mut Reader) -> Kind {
        let cell = self.op.cell(row);
        if let Some(Name::Text(word)) = cell.name()
            && let Some(kind) = kind_of(word)
        {
            return kind;
        }
        let found = cell.name().map_or("a list".to_owned(), Name::shown);
        reader.error(row, format!("the operation must be read, write, append, delete, commit or abort, not {found}"));
        Kind::Read
    }

    /// The names of keys and values become numbers, both at the same time.
    fn columns(&self, kinds: Vec<Kind>, reader: &mut Reader) -> Columns {
        let Reader { builder, defects } = reader;
        let (mut keys, mut values) = builder.naming();
        let (keys, (values, has_lists)) = thread::scope(|scope| {
            let beside = thread::Builder::new().spawn_scoped(scope, || self.values(&mut values));
            let keys = self.keys(&mut keys, &kinds, defects);
            (keys, beside.expect("a thread can be started").join().expect("names are looked up without a failure"))
        });
        Columns { kinds, keys, values, has_lists }
    }

    fn keys(&self, keys: &mut KeyNaming<'_>, kinds: &[Kind], defects: &mut Vec<Defect>) -> Vec<KeyId> {
        let mut ids = Vec::with_capacity(kinds.len());
        let mut names = Vec::with_capacity(AT_ONCE);
        for rows in pieces(kinds.len()) {
            let ends = |row: usize| matches!(kinds[row], Kind::Ends(_));
            if let Some(integers) = self.key.integers(rows.clone()).filter(|_| !rows.clone().any(ends)) {
                keys.ints(integers, &mut ids);
                continue;
            }
            names.clear();
            for row in rows {
                let name = self.key.cell(row).name().filter(|it| *it != Name::Null);
                if name.is_none() && !ends(row) {
                    defects.push(error(row, "the operation has no key".to_owned()));
                }
                // The end of a transaction has no key of its own; whatever stands there is not looked at.
                let other = || self.key.cell(0).name();
                names.push(if ends(row) { other() } else { name }.unwrap_or(Name::Null));
            }
            keys.all_named(&names, &mut ids);
        }
        ids
    }

    /// The single values; that of a list is not looked at, but it is said whether there is one.
    fn values(&self, values: &mut ValueNaming<'_>) -> (Vec<ValueId>, bool) {
        let n_rows = self.value.len();
        let mut ids = Vec::with_capacity(n_rows);
        let mut names = Vec::with_capacity(AT_ONCE);
        let mut has_lists = false;
        for rows in pieces(n_rows) {
            if let Some(integers) = self.value.integers(rows.clone()) {
                values.ints(integers, &mut ids);
                continue;
            }
            names.clear();
            for row in rows {
                let name = self.value.cell(row).name();
                has_lists |= name.is_none();
                names.push(name.unwrap_or(Name::Null));
            }
            values.all_named(&names, &mut ids);
        }
        (ids, has_lists)
    }

    /// Adds the operations of these rows to the open transaction, one by one; how it ended, if a row says so.
    fn operations(&self, rows: impl Iterator<Item = usize>, columns: &Columns, reader: &mut Reader) -> Option<Outcome> {
        let mut outcome = None;
        for row in rows {
            let (key, value) = (columns.keys[row], columns.values[row]);
            match (columns.kinds[row], self.value.cell(row)) {
                (Kind::Read, Cell::List(list)) => {
                    let values: Vec<ValueId> = list.iter().map(|it| reader.builder.value_named(it.as_name())).collect();
                    reader.builder.read_list(key, values);
                }
                (Kind::Read, Cell::Name(_)) => reader.builder.read(key, value),
                (Kind::Write, Cell::Name(_)) => reader.builder.write(key, value),
                (Kind::Append, Cell::Name(_)) => reader.builder.append(key, value),
                (Kind::Write | Kind::Append, Cell::List(_)) => {
                    reader.error(row, "only a read has a whole list; append its elements one by one".to_owned());
                }
                (Kind::Delete, _) => {
                    let nothing = reader.builder.value_named(Name::Null);
                    reader.builder.write(key, nothing);
                }
                (Kind::Ends(how), _) => outcome = Some(how),
            }
        }
        outcome
    }

    /// Ends the open transaction, which has these rows.
    fn end(
        &self,
        rows: impl DoubleEndedIterator<Item = usize> + Clone,
        mut outcome: Option<Outcome>,
        reader: &mut Reader,
    ) {
        if let Some(status) = &self.status {
            outcome = rows.clone().rev().find_map(|row| reader.outcome(status.as_ref(), row)).or(outcome);
        }
        let begin = self.begin.as_ref().and_then(|it| rows.clone().find_map(|row| reader.time(it.as_ref(), row)));
        let end = self.end.as_ref().and_then(|it| rows.rev().find_map(|row| reader.time(it.as_ref(), row)));
        if begin.is_some() || end.is_some() {
            reader.builder.times(begin, end);
        }
        reader.builder.end(outcome.unwrap_or(Outcome::Committed));
    }
}

impl Kind {
    /// What it does to its key, if it is one plain operation.
    fn access(self) -> Option<Access> {
        match self {
            Self::Read => Some(Access::Read),
            Self::Write => Some(Access::Write),
            Self::Append => Some(Access::Append),
            Self::Delete | Self::Ends(_) => None,
        }
    }
}

/// The rows of a table in pieces.
fn pieces(n_rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_rows).step_by(AT_ONCE).map(move |start| start..n_rows.min(start + AT_ONCE))
}

/// The rows by transaction, each in the order of the table; none if they stand so already.
fn sorted_rows(txns: &[Txn], txn_of_row: &[u32]) -> Option<Vec<u32>> {
    if txn_of_row.is_sorted() {
        return None;
    }
    let mut starts = Vec::with_capacity(txns.len());
    let mut n_before = 0;
    for txn in txns {
        starts.push(n_before);
        n_before += txn.n_rows;
    }
    let mut rows = vec![0; txn_of_row.len()];
    for (row, txn) in txn_of_row.iter().enumerate() {
        let place = &mut starts[*txn as usize];
        rows[*place] = row as u32;
        *place += 1;
    }
    Some(rows)
}

struct Columns {
    kinds: Vec<Kind>,
    keys: Vec<KeyId>,
    values: Vec<ValueId>,
    /// Is there a value that is a whole list?
    has_lists: bool,
}

struct Reader {
    builder: HistoryBuilder,
    defects: Vec<Defect>,
}

impl Reader {
    fn error(&mut self, row: usize, message: String) {
        self.defects.push(error(row, message));
    }

    fn outcome(&mut self, column: &dyn Column, row: usize) -> Option<Outcome> {
        let found = match column.cell(row).name() {
            Some(Name::Null) => return None,
            Some(Name::Text(word)) => outcome_of(word),
            _ => None,
        };
        if found.is_none() {
            let cell = column.cell(row).name().map_or("a list".to_owned(), Name::shown);
            self.error(row, format!("the status must be commit, abort or unknown, not {cell}"));
        }
        found
    }

    fn time(&mut self, column: &dyn Column, row: usize) -> Option<i64> {
        match column.cell(row).name() {
            Some(Name::Null) => None,
            Some(Name::Int(time)) => Some(time),
            other => {
                let cell = other.map_or("a list".to_owned(), Name::shown);
                self.error(row, format!("a time must be a 64-bit integer, not {cell}; multiply seconds first"));
                None
            }
        }
    }
}

/// What is wrong with a row.
fn error(row: usize, message: String) -> Defect {
    let at = Some((row as u64 + 1, PlaceUnit::Line));
    Defect { severity: Severity::Error, source: SOURCE.to_owned(), at, message }
}

/// A name as a session has it: without quotes.
fn bare(name: Name<'_>) -> String {
    match name {
        Name::Text(text) => text.to_owned(),
        other => other.to_string(),
    }
}

fn kind_of(word: &str) -> Option<Kind> {
    let known = match word {
        "r" => return Some(Kind::Read),
        "w" => return Some(Kind::Write),
        other => other.to_ascii_lowercase(),
    };
    match known.as_str() {
        "r" | "read" => Some(Kind::Read),
        "w" | "write" => Some(Kind::Write),
        "a" | "append" => Some(Kind::Append),
        "d" | "del" | "delete" => Some(Kind::Delete),
        other => outcome_of(other).map(Kind::Ends),
    }
}

fn outcome_of(word: &str) -> Option<Outcome> {
    match word.to_ascii_lowercase().as_str() {
        "commit" | "committed" | "ok" => Some(Outcome::Committed),
        "abort" | "aborted" | "rollback" | "fail" => Some(Outcome::Aborted),
        "unknown" | "info" => Some(Outcome::Indeterminate),
        _ => None,
    }
}

/// Cells that somebody made one by one.
pub(crate) struct Made(pub(crate) Vec<MadeCell>);

/// One of them.
#[derive(Clone, Debug)]
pub(crate) enum MadeCell {
    Datum(Datum),
    List(Vec<Datum>),
}

impl Column for Made {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        match &self.0[row] {
            MadeCell::Datum(datum) => Cell::Name(datum.as_name()),
            MadeCell::List(list) => Cell::List(list),
        }
    }

    fn integers(&self, _: Range<usize>) -> Option<&[i64]> {
        None
    }
}
