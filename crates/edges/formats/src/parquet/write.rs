//! Writes a history as one file, or as a directory of files.

use super::columns::Column;
use super::{HEADER, N_ROWS, PART, kind, lock, spelling};
use crate::json::{write_name, write_string};
use crate::layout::{Item, layout, part_of};
use crate::write::{Initials, Said, WriteError};
use crate::{Header, jsonl};
use iso_history::{History, KeyId, Locking, Name, Op, OpId, Outcome, Scan, TxnId, ValueId};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use rustc_hash::FxHashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A row group ends after the transaction that reaches so many rows.
const GROUP_ROWS: usize = 1 << 20;
/// So many row groups are in one file of a directory: several for each worker of a cluster, each large enough to pay.
const FILE_GROUPS: usize = 4;

impl From<ParquetError> for WriteError {
    fn from(error: ParquetError) -> Self {
        Self::Io(match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        })
    }
}

/// Writes a history as one file.
pub(crate) fn write(history: &History, header: &Header, out: &mut (dyn Write + Send)) -> Result<(), WriteError> {
    let plan = Plan::new(history, header)?;
    let mut source = RowSource::new(&plan);
    let mut file = plan.begin(out)?;
    while let Some(rows) = source.next_group() {
        rows.write(&plan, file.next_row_group()?)?;
    }
    file.close()?;
    Ok(())
}

/// Writes a history as a directory of files, which is made.
pub(crate) fn write_directory(history: &History, header: &Header, directory: &Path) -> Result<(), WriteError> {
    let plan = Plan::new(history, header)?;
    fs::create_dir_all(directory)?;
    let mut source = RowSource::new(&plan);
    let (mut next, mut nth) = (source.next_group(), 0);
    while next.is_some() || nth == 0 {
        let mut file = plan.begin(File::create_new(directory.join(format!("part-{nth:05}.parquet")))?)?;
        for _ in 0..FILE_GROUPS {
            let Some(rows) = next.take() else { break };
            rows.write(&plan, file.next_row_group()?)?;
            next = source.next_group();
        }
        file.close()?;
        nth += 1;
    }
    Ok(())
}

/// What columns there are, and what is true of the whole history.
struct Plan<'h> {
    history: &'h History,
    said: Said<'h>,
    initials: Initials,
    header: String,
    n_rows: usize,
    keys: Cell,
    values: Cell,
    columns: Vec<Column>,
}

/// What the cells of a column of names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Int,
    Text,
}

impl<'h> Plan<'h> {
    fn new(history: &'h History, header: &Header) -> Result<Self, WriteError> {
        let said = Said::new(history);
        let initials = Initials::new(history, &said);
        let mut line = Vec::new();
        jsonl::write_header(history, &said, (&initials.default, &[]), header, &mut line)?;
        let header = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        let is_list = |key: KeyId| history.is_list(key);
        let has_lists = history.keys().any(is_list);
        let has_sql = history.has_statements();
        let has_said = history.said_to_match().next().is_some();
        let is_there = |column: &Column| match column {
            Column::Begin | Column::End => history.has_times(),
            Column::Elements => has_lists,
            Column::Matches => has_said,
            Column::Statement | Column::Lock | Column::Scan | Column::Table | Column::Predicate | Column::Extent => {
                has_sql
            }
            _ => true,
        };
        let columns = Column::ALL.into_iter().filter(is_there).collect();
        let is_int = |name: Name<'_>| matches!(name, Name::Int(_) | Name::Null);
        let cell = |are_ints: bool| if are_ints { Cell::Int } else { Cell::Text };
        let keys = cell(history.keys().all(|it| is_int(history.key_name(it))));
        let values = cell((0..history.n_values()).all(|it| is_int(history.value(ValueId::from_index(it)))));
        let mut plan = Self { history, said, initials, header, n_rows: 0, keys, values, columns };
        plan.n_rows = plan.initials.exceptions.len() + history.txns().map(|it| plan.n_rows_of(it)).sum::<usize>();
        Ok(plan)
    }

    /// The number of rows of a transaction.
    fn n_rows_of(&self, txn: TxnId) -> usize {
        if !self.history.has_statements() {
            return self.history.ops(txn).len().max(1);
        }
        let mut rows = RowGroup::new(self);
        rows.txn(txn);
        rows.len()
    }

    fn begin<W: Write + Send>(&self, out: W) -> Result<SerializedFileWriter<W>, WriteError> {
        let columns: Vec<String> = self.columns.iter().map(|it| self.declaration(*it)).collect();
        let schema = parse_message_type(&format!("message history {{ {} }}", columns.join(" ")))?;
        let path = |it: Column| ColumnPath::from(it.name());
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("isoscope {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(vec![
                KeyValue::new(HEADER.to_owned(), self.header.clone()),
                KeyValue::new(N_ROWS.to_owned(), self.n_rows.to_string()),
            ]));
        // Numbers that grow, or hardly repeat, are small as differences.
        let mut numbers = vec![Column::Txn, Column::Begin, Column::End];
        numbers.extend((self.values == Cell::Int).then_some(Column::Value));
        for column in numbers {
            properties = properties
                .set_column_dictionary_enabled(path(column), false)
                .set_column_encoding(path(column), Encoding::DELTA_BINARY_PACKED);
        }
        Ok(SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?)
    }

    fn declaration(&self, column: Column) -> String {
        let name = column.name();
        match column {
            Column::Txn => format!("required int64 {name};"),
            Column::Begin | Column::End => format!("optional int64 {name};"),
            Column::Op => format!("required int32 {name};"),
            Column::Statement | Column::Scan => format!("optional int32 {name};"),
            Column::Kind | Column::Status => format!("required binary {name} (UTF8);"),
            Column::Key if self.keys == Cell::Int => format!("optional int64 {name};"),
            Column::Value if self.values == Cell::Int => format!("optional int64 {name};"),
            _ => format!("optional binary {name} (UTF8);"),
        }
    }
}

/// Gives the rows of a history, one row group after the other.
struct RowSource<'p, 'h> {
    plan: &'p Plan<'h>,
    n_initials: usize,
    next_txn: usize,
}

impl<'p, 'h> RowSource<'p, 'h> {
    fn new(plan: &'p Plan<'h>) -> Self {
        Self { plan, n_initials: 0, next_txn: 1 }
    }

    fn next_group(&mut self) -> Option<RowGroup<'p, 'h>> {
        let mut rows = RowGroup::new(self.plan);
        let exceptions = &self.plan.initials.exceptions;
        while rows.len() < GROUP_ROWS && self.n_initials < exceptions.len() {
            rows.initial(self.n_initials, exceptions[self.n_initials]);
            self.n_initials += 1;
        }
        while rows.len() < GROUP_ROWS && self.next_txn < self.plan.history.n_txns() {
            rows.txn(TxnId::from_index(self.next_txn));
            self.next_txn += 1;
        }
        (rows.len() > 0).then_some(rows)
    }
}

/// The rows of a row group, by column.
struct RowGroup<'p, 'h> {
    plan: &'p Plan<'h>,
    rows: Vec<Row>,
    texts: Texts,
}

/// Texts that many rows share.
#[derive(Default)]
struct Texts {
    ids: FxHashMap<String, u32>,
    all: Vec<ByteArray>,
}

impl Texts {
    fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.all.len() as u32;
        self.all.push(ByteArray::from(text));
        self.ids.insert(text.to_owned(), id);
        id
    }
}

/// One row; texts are numbers of texts.
#[derive(Clone, Copy, Debug)]
struct Row {
    txn: TxnId,
    op: i32,
    kind: &'static str,
    key: Option<KeyId>,
    value: Option<ValueId>,
    elements: Option<u32>,
    statement: Option<i32>,
    lock: Option<&'static str>,
    scan: Option<i32>,
    table: Option<u32>,
    predicate: Option<u32>,
    extent: Option<&'static str>,
    matches: Option<u32>,
}

impl Row {
    fn new(txn: TxnId, kind: &'static str) -> Self {
        Self {
            txn,
            op: 0,
            kind,
            key: None,
            value: None,
            elements: None,
            statement: None,
            lock: None,
            scan: None,
            table: None,
            predicate: None,
            extent: None,
            matches: None,
        }
    }
}

/// Where in its transaction a row stands.
#[derive(Clone, Copy, Debug)]
struct Context {
    txn: TxnId,
    statement: Option<i32>,
    lock: Option<&'static str>,
}

impl Context {
    fn row(self, kind: &'static str) -> Row {
        Row { statement: self.statement, lock: self.lock, ..Row::new(self.txn, kind) }
    }
}

impl<'p, 'h> RowGroup<'p, 'h> {
    fn new(plan: &'p Plan<'h>) -> Self {
        Self { plan, rows: Vec::new(), texts: Texts::default() }
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn initial(&mut self, nth: usize, (key, value): (KeyId, ValueId)) {
        let matches = self.matches(key, value);
        let row = Row::new(TxnId::INITIAL, kind::INITIAL);
        self.rows.push(Row { key: Some(key), value: Some(value), matches, op: small(nth), ..row });
    }

    fn txn(&mut self, txn: TxnId) {
        let (history, start) = (self.plan.history, self.rows.len());
        let mut ctx = Context { txn, statement: None, lock: None };
        if history.has_statements() {
            let (mut n_statements, mut n_scans) = (0, 0);
            for item in layout(history, txn) {
                let locks = (item.locking() == Locking::ForUpdate).then_some(lock::STATEMENT);
                ctx = Context { lock: locks, statement: None, ..ctx };
                if matches!(item, Item::Update(..) | Item::Statement(..)) {
                    ctx.statement = Some(n_statements);
                    n_statements += 1;
                }
                self.item(&item, ctx, &mut n_scans);
            }
        } else {
            for op in history.ops(txn) {
                self.op(op, ctx);
            }
        }
        if self.rows.len() == start {
            self.rows.push(Row::new(txn, kind::NONE));
        }
        for (nth, row) in self.rows[start..].iter_mut().enumerate() {
            row.op = small(nth);
        }
    }

    fn item(&mut self, item: &Item, ctx: Context, n_scans: &mut i32) {
        match item {
            Item::Op(op, _) => self.op(*op, ctx),
            Item::Update(read, write) => {
                self.op(*read, ctx);
                self.op(*write, ctx);
            }
            Item::Scan(scan, _) => {
                let scan = self.plan.history.scan(*scan);
                self.scan(&scan, ctx, *n_scans);
                *n_scans += 1;
            }
            Item::Statement(items, _) => {
                for inner in items {
                    let own = (inner.locking() == Locking::ForUpdate).then_some(lock::ROW);
                    self.item(inner, Context { lock: ctx.lock.or(own), ..ctx }, n_scans);
                }
            }
        }
    }

    fn scan(&mut self, scan: &Scan<'_>, ctx: Context, number: i32) {
        let row = Row { scan: Some(number), ..ctx.row(kind::SCAN) };
        let row = self.asked(row, scan);
        self.rows.push(row);
        let history = self.plan.history;
        for op in scan.ops() {
            if let Op::Read { key, value } = history.op(op) {
                let row = ctx.row(kind::READ);
                self.rows.push(Row { key: Some(key), value: Some(value), scan: Some(number), ..row });
            }
        }
    }

    /// What a scan asked for.
    fn asked(&mut self, row: Row, scan: &Scan<'_>) -> Row {
        let (table, predicate) = (self.texts.id(scan.table), self.texts.id(&scan.predicate.to_string()));
        Row { table: Some(table), predicate: Some(predicate), ..row }
    }

    fn op(&mut self, op: OpId, ctx: Context) {
        let history = self.plan.history;
        let part = if history.has_statements() { part_of(history, op) } else { None };
        let row = match history.op(op) {
            Op::Read { key, value } => Row { key: Some(key), value: Some(value), ..ctx.row(kind::READ) },
            Op::Write { key, value } => {
                let matches = self.matches(key, value);
                Row { key: Some(key), value: Some(value), matches, ..ctx.row(kind::WRITE) }
            }
            Op::Append { key, value } => Row { key: Some(key), value: Some(value), ..ctx.row(kind::APPEND) },
            Op::ReadList { key, values } => {
                let elements = Some(self.elements(values));
                Row { key: Some(key), elements, ..ctx.row(kind::LIST) }
            }
            // What a whole scan omitted is not written: it follows from the rest.
            Op::Omit { .. } if part.is_none() => return,
            Op::Omit { key, .. } => Row { key: Some(key), ..ctx.row(kind::OMIT) },
        };
        let row = match part {
            Some(scan) => Row { extent: Some(PART), ..self.asked(row, &scan) },
            None => row,
        };
        self.rows.push(row);
    }

    fn elements(&mut self, values: &[ValueId]) -> u32 {
        let mut text = vec![b'['];
        for (nth, value) in values.iter().enumerate() {
            if nth > 0 {
                text.push(b',');
            }
            write_name(&mut text, self.plan.history.value(*value)).expect("a vector takes every byte");
        }
        text.push(b']');
        self.texts.id(&String::from_utf8_lossy(&text))
    }

    /// Which foreign predicates a version matches, as a JSON array.
    fn matches(&mut self, key: KeyId, value: ValueId) -> Option<u32> {
        let foreign = self.plan.said.of(key, value);
        if foreign.is_empty() {
            return None;
        }
        let mut text = vec![b'['];
        for (nth, foreign) in foreign.iter().enumerate() {
            if nth > 0 {
                text.push(b',');
            }
            write_string(&mut text, foreign).expect("a vector takes every byte");
        }
        text.push(b']');
        Some(self.texts.id(&String::from_utf8_lossy(&text)))
    }

    fn write<W: Write + Send>(
        mut self,
        plan: &Plan<'_>,
        mut group: SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), WriteError> {
        for column in &plan.columns {
            let mut writer = group.next_column()?.expect("the schema has as many columns");
            match self.cells(*column) {
                Cells::Ints(ints) => {
                    let (values, levels) = apart(ints);
                    writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                Cells::NeededInts(ints) => {
                    writer.typed::<Int64Type>().write_batch(&ints, None, None)?;
                }
                Cells::Small(ints) => {
                    let (values, levels) = apart(ints);
                    writer.typed::<Int32Type>().write_batch(&values, Some(&levels), None)?;
                }
                Cells::NeededSmall(ints) => {
                    writer.typed::<Int32Type>().write_batch(&ints, None, None)?;
                }
                Cells::Texts(texts) => {
                    let (values, levels) = apart(texts);
                    writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                }
                Cells::NeededTexts(texts) => {
                    writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn cells(&mut self, column: Column) -> Cells {
        let (history, rows) = (self.plan.history, &self.rows);
        let texts = &mut self.texts;
        let number = |it: TxnId| i64::from(it.raw());
        match column {
            Column::Txn => Cells::NeededInts(rows.iter().map(|it| number(it.txn)).collect()),
            Column::Op => Cells::NeededSmall(rows.iter().map(|it| it.op).collect()),
            Column::Begin => Cells::Ints(rows.iter().map(|it| history.begin(it.txn)).collect()),
            Column::End => Cells::Ints(rows.iter().map(|it| history.end(it.txn)).collect()),
            Column::Statement => Cells::Small(rows.iter().map(|it| it.statement).collect()),
            Column::Scan => Cells::Small(rows.iter().map(|it| it.scan).collect()),
            Column::Kind => Cells::NeededTexts(rows.iter().map(|it| texts.shared(it.kind)).collect()),
            Column::Status => {
                let status = |it: &Row| match history.outcome(it.txn) {
                    Outcome::Committed => "commit",
                    Outcome::Aborted => "abort",
                    Outcome::Indeterminate => "unknown",
                };
                Cells::NeededTexts(rows.iter().map(|it| texts.shared(status(it))).collect())
            }
            Column::Session => {
                let name = |it: &Row| history.session_of(it.txn).map(|it| history.session_name(it));
                Cells::Texts(rows.iter().map(|it| name(it).map(|it| texts.shared(it))).collect())
            }
            Column::Key => names(rows, self.plan.keys, |it| it.key.map(|it| history.key_name(it))),
            Column::Value => names(rows, self.plan.values, |it| it.value.map(|it| history.value(it))),
            Column::Lock => Cells::Texts(rows.iter().map(|it| it.lock.map(|it| texts.shared(it))).collect()),
            Column::Extent => Cells::Texts(rows.iter().map(|it| it.extent.map(|it| texts.shared(it))).collect()),
            Column::Elements => texts.of(rows, |it| it.elements),
            Column::Table => texts.of(rows, |it| it.table),
            Column::Predicate => texts.of(rows, |it| it.predicate),
            Column::Matches => texts.of(rows, |it| it.matches),
        }
    }
}

impl Texts {
    fn shared(&mut self, text: &str) -> ByteArray {
        let id = self.id(text);
        self.all[id as usize].clone()
    }

    fn of(&self, rows: &[Row], id: impl Fn(&Row) -> Option<u32>) -> Cells {
        Cells::Texts(rows.iter().map(|it| id(it).map(|it| self.all[it as usize].clone())).collect())
    }
}

/// The cells of a column; those that are needed are never null.
enum Cells {
    Ints(Vec<Option<i64>>),
    NeededInts(Vec<i64>),
    Small(Vec<Option<i32>>),
    NeededSmall(Vec<i32>),
    Texts(Vec<Option<ByteArray>>),
    NeededTexts(Vec<ByteArray>),
}

fn names<'n>(rows: &[Row], cell: Cell, name: impl Fn(&Row) -> Option<Name<'n>>) -> Cells {
    let int = |it: Name<'_>| if let Name::Int(number) = it { Some(number) } else { None };
    let text = |it: Name<'_>| spelling::write(it).map(|it| ByteArray::from(&*it));
    match cell {
        Cell::Int => Cells::Ints(rows.iter().map(|it| name(it).and_then(int)).collect()),
        Cell::Text => Cells::Texts(rows.iter().map(|it| name(it).and_then(text)).collect()),
    }
}

/// The number of an operation; ids of operations are not larger.
fn small(nth: usize) -> i32 {
    i32::try_from(nth).unwrap_or(i32::MAX)
}

/// The values that are there, and which rows have one.
fn apart<T>(cells: Vec<Option<T>>) -> (Vec<T>, Vec<i16>) {
    let levels = cells.iter().map(|it| i16::from(it.is_some())).collect();
    (cells.into_iter().flatten().collect(), levels)
}
