//! Transactions of a recording that is too long to be a [`History`](crate::History): what each of them read from others and
//! what it left behind.
//!
//! Keys and sessions are numbered by whoever reads the recording; values are kept as they are, because a table of all values
//! would grow with the recording. Transactions come in blocks, so that none of them has memory of its own. A list is a
//! register that holds its last element, and reads of it also say what it held before that. A scan is a read of each row that it
//! returned, and says which other rows did not match.

mod pieces;

pub use pieces::StreamedPieces;

use crate::streamed_scans::{Omitted, StreamedScan, StreamedTables};
use crate::{Access, Datum, Extent, KeyId, Name, Outcome, Predicate, SessionId, TableId};
use std::sync::Arc;

/// A value of a stream: most are integers, and take no memory of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StreamedValue {
    /// No value: a missing row.
    Null,
    /// No element: what a list holds at first. Whoever says so of a key says that it is a list.
    Empty,
    /// An integer.
    Int(i64),
    /// Anything else.
    Other(Arc<Datum>),
}

impl StreamedValue {
    /// The value, borrowed.
    pub fn as_name(&self) -> Name<'_> {
        match self {
            Self::Null | Self::Empty => Name::Null,
            Self::Int(number) => Name::Int(*number),
            Self::Other(datum) => datum.as_name(),
        }
    }
}

impl From<Name<'_>> for StreamedValue {
    fn from(name: Name<'_>) -> Self {
        match name {
            Name::Null => Self::Null,
            Name::Int(number) => Self::Int(number),
            other => Self::Other(Arc::new(other.to_datum())),
        }
    }
}

impl From<&Datum> for StreamedValue {
    fn from(datum: &Datum) -> Self {
        datum.as_name().into()
    }
}

/// A key with what was read or written there.
pub type StreamedOp = (KeyId, StreamedValue);

/// Which statement of its transaction a read is of, and what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedStatement {
    /// The statement, by a number that grows from one to the next.
    pub nth: u32,
    /// Does it see the newest version of its row, and not a snapshot? Such a row is locked until the transaction ends.
    pub newest: bool,
}

/// Transactions that follow each other in a recording.
#[derive(Clone, Debug, Default)]
pub struct StreamedBlock {
    heads: Vec<Head>,
    /// What is said of the reads of some transactions, one for each.
    statements: Vec<StreamedStatement>,
    /// The statement of what is pushed next, if that is said.
    open: Option<StreamedStatement>,
    /// For each transaction its reads, its writes, and what it overwrote itself.
    ops: Vec<StreamedOp>,
    writes: Vec<StreamedOp>,
    hidden: Vec<StreamedOp>,
    /// Lists that were read, each with where its elements begin.
    lists: Vec<(KeyId, u32)>,
    elements: Vec<StreamedValue>,
    scans: Vec<ScanEntry>,
    /// The rows that scans are about.
    scan_rows: Vec<KeyId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ScanEntry {
    table: TableId,
    predicate: Arc<Predicate>,
    extent: Extent,
    /// Where its rows begin, and how many there are.
    start: u32,
    n_rows: u32,
    /// The statement, and what it sees of rows that it does not return.
    statement: Option<StreamedStatement>,
}

#[derive(Clone, Debug)]
struct Head {
    session: SessionId,
    nth: u32,
    at: u64,
    begin: Option<i64>,
    end: Option<i64>,
    outcome: Outcome,
    start: u32,
    n_reads: u32,
    n_writes: u32,
    n_hidden: u32,
    lists: u32,
    n_lists: u32,
    scans: u32,
    n_scans: u32,
    statements: u32,
    n_statements: u32,
    part: Part,
    contradicted: Option<KeyId>,
}

/// What a transaction of a block is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// What it read is locked until the last part.
    pub(crate) locks: bool,
    pub(crate) is_last: bool,
}

impl Part {
    pub(crate) const WHOLE: Self = Self { locks: false, is_last: true };
}

/// A transaction, as one who replays it needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedTxn<'b> {
    /// Its session.
    pub session: SessionId,
    /// Its place in its session, from 0; those that aborted count.
    pub nth: u32,
    /// Its place in the recording: a line.
    pub at: u64,
    /// When it began, if the recording says so.
    pub begin: Option<i64>,
    /// When it ended; nothing if nobody knows, as for those of unknown outcome.
    pub end: Option<i64>,
    /// What became of it.
    pub outcome: Outcome,
    reads: &'b [StreamedOp],
    writes: &'b [StreamedOp],
    hidden: &'b [StreamedOp],
    lists: Lists<'b>,
    scans: Scans<'b>,
    statements: &'b [StreamedStatement],
    part: Part,
    contradicted: Option<KeyId>,
}

/// The scans of a transaction.
#[derive(Clone, Copy, Debug)]
struct Scans<'b> {
    entries: &'b [ScanEntry],
    /// Of all transactions of the block.
    rows: &'b [KeyId],
}

impl<'b> Scans<'b> {
    fn iter(self) -> impl Iterator<Item = StreamedScan<'b>> {
        self.entries.iter().map(move |it| {
            let rows = &self.rows[it.start as usize..][..it.n_rows as usize];
            let omitted = if it.extent == Extent::Whole { Omitted::AllBut(rows) } else { Omitted::Only(rows) };
            StreamedScan { table: it.table, predicate: &it.predicate, omitted }
        })
    }
}

impl PartialEq for Scans<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Scans<'_> {}

/// The lists that a transaction read.
#[derive(Clone, Copy, Debug)]
struct Lists<'b> {
    starts: &'b [(KeyId, u32)],
    /// Where the elements of the last one end.
    end: u32,
    elements: &'b [StreamedValue],
}

impl<'b> Lists<'b> {
    fn iter(self) -> impl Iterator<Item = (KeyId, &'b [StreamedValue])> {
        let ends = self.starts.iter().skip(1).map(|it| it.1).chain(std::iter::once(self.end));
        self.starts
            .iter()
            .zip(ends)
            .map(move |((key, start), end)| (*key, &self.elements[*start as usize..end as usize]))
    }
}

impl PartialEq for Lists<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Lists<'_> {}

impl StreamedBlock {
    /// A transaction begins, without operations. Nobody knows when one of unknown outcome took effect.
    pub fn begin(
        &mut self,
        (session, nth): (SessionId, u32),
        at: u64,
        outcome: Outcome,
        (begin, end): (Option<i64>, Option<i64>),
    ) {
        let end = end.filter(|_| outcome != Outcome::Indeterminate);
        self.open = None;
        self.heads.push(Head {
            session,
            nth,
            at,
            begin,
            end,
            outcome,
            start: self.ops.len() as u32,
            n_reads: 0,
            n_writes: 0,
            n_hidden: 0,
            lists: self.lists.len() as u32,
            n_lists: 0,
            scans: self.scans.len() as u32,
            n_scans: 0,
            statements: self.statements.len() as u32,
            n_statements: 0,
            part: Part::WHOLE,
            contradicted: None,
        });
    }

    /// What is added next to the last transaction is of this statement. Said of all of its operations, or of none: then each is a
    /// statement by itself that reads a snapshot.
    pub fn in_statement(&mut self, statement: StreamedStatement) {
        self.open = Some(statement);
    }

    fn push_read(&mut self, key: KeyId, value: StreamedValue) {
        self.ops.push((key, value));
        self.statements.extend(self.open);
    }

    /// Adds the next operation of the last transaction: a read that returned the value, or a write or an append of it. Others
    /// are not taken, and handed back.
    pub fn push(&mut self, access: Access, key: KeyId, value: StreamedValue) -> Result<(), Access> {
        let own = self.writes.iter_mut().find(|it| it.0 == key);
        match (access, own) {
            (Access::Read, None) => self.push_read(key, value),
            (Access::Read, Some(own)) => {
                if own.1 != value {
                    self.contradict(key);
                }
            }
            (Access::Write | Access::Append, None) => self.writes.push((key, value)),
            (Access::Write | Access::Append, Some(own)) => {
                self.hidden.push((key, std::mem::replace(&mut own.1, value)));
            }
            (other, _) => return Err(other),
        }
        Ok(())
    }

    /// Adds a read of a whole list to the last transaction. What it appended itself stands at the end; the rest is from others.
    pub fn push_list(&mut self, key: KeyId, elements: impl IntoIterator<Item = StreamedValue>) {
        let start = self.elements.len();
        self.elements.extend(elements);
        let own = self.hidden.iter().chain(&self.writes).filter(|it| it.0 == key);
        let n_own = own.clone().count();
        let (read, is_its_own) = match (self.elements.len() - start).checked_sub(n_own) {
            Some(n_others) => {
                let ends_with = self.elements[start + n_others..].iter();
                (start + n_others, ends_with.eq(own.map(|it| &it.1)))
            }
            None => (start, false),
        };
        self.elements.truncate(read);
        if !is_its_own {
            self.elements.truncate(start);
            self.contradict(key);
            return;
        }
        self.lists.push((key, start as u32));
        self.push_read(key, self.elements[start..].last().cloned().unwrap_or(StreamedValue::Empty));
    }

    /// Adds a scan to the last transaction, with every row that it returned: each of them is a read. What the transaction wrote
    /// itself comes first, as for reads. Returned rows match, and so does no row of its own that was not returned. The open
    /// statement is about rows that were not returned, others are named with their rows.
    pub fn push_scan(
        &mut self,
        (table, predicate): (TableId, Arc<Predicate>),
        returned: impl IntoIterator<Item = (StreamedOp, Option<StreamedStatement>)>,
        tables: &StreamedTables,
    ) {
        let (start, omitting) = (self.scan_rows.len(), self.open);
        for (row, statement) in returned {
            self.open = statement;
            self.scan_rows.push(row.0);
            self.push_returned((table, &predicate), row, tables);
        }
        self.open = omitting;
        let n_returned = self.scan_rows.len();
        for nth in 0..self.writes.len() {
            let row = self.writes[nth].0;
            let Some((_, name)) = tables.row(row).filter(|it| it.0 == table) else { continue };
            let is_returned = self.scan_rows[start..n_returned].contains(&row);
            if !is_returned && predicate.matches_streamed(name, &self.writes[nth].1) {
                self.contradict(row);
            }
            self.scan_rows.push(row);
        }
        self.scan_rows[start..].sort_unstable();
        self.end_scan(table, predicate, Extent::Whole, start);
    }

    /// Adds a row that a scan returned, of which no more is known.
    pub fn push_returned(
        &mut self,
        (table, predicate): (TableId, &Predicate),
        (row, value): StreamedOp,
        tables: &StreamedTables,
    ) {
        let name = tables.row(row).filter(|it| it.0 == table).map(|it| it.1);
        if !name.is_some_and(|it| predicate.matches_streamed(it, &value)) {
            self.contradict(row);
        }
        self.push(Access::Read, row, value).ok();
    }

    /// Adds a row that a scan did not return, if nothing is known of others.
    pub fn push_omission(
        &mut self,
        (table, predicate): (TableId, Arc<Predicate>),
        row: KeyId,
        tables: &StreamedTables,
    ) {
        let name = tables.row(row).map_or(Name::Null, |it| it.1);
        if let Some(own) = self.writes.iter().find(|it| it.0 == row) {
            if predicate.matches_streamed(name, &own.1) {
                self.contradict(row);
            }
            return;
        }
        let start = self.scan_rows.len();
        self.scan_rows.push(row);
        self.end_scan(table, predicate, Extent::Part, start);
    }

    fn end_scan(&mut self, table: TableId, predicate: Arc<Predicate>, extent: Extent, start: usize) {
        let n_rows = (self.scan_rows.len() - start) as u32;
        self.scans.push(ScanEntry { table, predicate, extent, start: start as u32, n_rows, statement: self.open });
    }

    fn contradict(&mut self, key: KeyId) {
        if let Some(head) = self.heads.last_mut() {
            head.contradicted.get_or_insert(key);
        }
    }

    /// The last transaction has no more operations.
    pub fn end(&mut self) {
        let Some(head) = self.heads.last_mut() else { return };
        head.n_reads = self.ops.len() as u32 - head.start;
        head.n_writes = self.writes.len() as u32;
        head.n_hidden = self.hidden.len() as u32;
        head.n_lists = self.lists.len() as u32 - head.lists;
        head.n_scans = self.scans.len() as u32 - head.scans;
        head.n_statements = self.statements.len() as u32 - head.statements;
        debug_assert!(head.n_statements == 0 || head.n_statements == head.n_reads, "all reads have one, or none has");
        self.ops.append(&mut self.writes);
        self.ops.append(&mut self.hidden);
    }

    /// Adds a transaction of another block.
    pub fn copy(&mut self, txn: &StreamedTxn<'_>) {
        self.begin((txn.session, txn.nth), txn.at, txn.outcome, (txn.begin, txn.end));
        self.ops.extend_from_slice(txn.reads);
        self.statements.extend_from_slice(txn.statements);
        for (key, elements) in txn.lists() {
            self.copy_list(key, elements);
        }
        for nth in 0..txn.scans.entries.len() {
            self.copy_scan(txn, nth);
        }
        self.copy_writes(txn);
        self.end_copy(txn.part, txn.contradicted);
    }

    fn copy_list(&mut self, key: KeyId, elements: &[StreamedValue]) {
        self.lists.push((key, self.elements.len() as u32));
        self.elements.extend_from_slice(elements);
    }

    fn copy_scan(&mut self, txn: &StreamedTxn<'_>, nth: usize) {
        let (entry, start) = (&txn.scans.entries[nth], self.scan_rows.len() as u32);
        self.scan_rows.extend_from_slice(&txn.scans.rows[entry.start as usize..][..entry.n_rows as usize]);
        self.scans.push(ScanEntry { start, ..entry.clone() });
    }

    fn copy_writes(&mut self, txn: &StreamedTxn<'_>) {
        self.writes.extend_from_slice(txn.writes);
        self.hidden.extend_from_slice(txn.hidden);
    }

    fn end_copy(&mut self, part: Part, contradicted: Option<KeyId>) {
        self.end();
        if let Some(head) = self.heads.last_mut() {
            (head.part, head.contradicted) = (part, contradicted);
        }
    }

    /// How many transactions there are.
    pub fn n_txns(&self) -> usize {
        self.heads.len()
    }

    /// How many operations they have; each element of a list counts, and each scan.
    pub fn n_ops(&self) -> usize {
        self.ops.len() + self.elements.len() + self.scans.len()
    }

    /// One of the transactions.
    #[inline]
    pub fn txn(&self, idx: usize) -> StreamedTxn<'_> {
        let head = &self.heads[idx];
        let reads = head.start as usize;
        let writes = reads + head.n_reads as usize;
        let hidden = writes + head.n_writes as usize;
        let (first_list, end_of_lists) = (head.lists as usize, (head.lists + head.n_lists) as usize);
        let scans = &self.scans[head.scans as usize..(head.scans + head.n_scans) as usize];
        StreamedTxn {
            session: head.session,
            nth: head.nth,
            at: head.at,
            begin: head.begin,
            end: head.end,
            outcome: head.outcome,
            reads: &self.ops[reads..writes],
            writes: &self.ops[writes..hidden],
            hidden: &self.ops[hidden..hidden + head.n_hidden as usize],
            lists: Lists {
                starts: &self.lists[first_list..end_of_lists],
                end: self.lists.get(end_of_lists).map_or(self.elements.len() as u32, |it| it.1),
                elements: &self.elements,
            },
            scans: Scans { entries: scans, rows: &self.scan_rows },
            statements: &self.statements[head.statements as usize..][..head.n_statements as usize],
            part: head.part,
            contradicted: head.contradicted,
        }
    }

    /// All of them.
    pub fn txns(&self) -> impl Iterator<Item = StreamedTxn<'_>> {
        (0..self.n_txns()).map(|it| self.txn(it))
    }
}

impl<'b> StreamedTxn<'b> {
    /// What it read from others, in its order; a key may be there more than once.
    pub fn reads(&self) -> &'b [StreamedOp] {
        self.reads
    }

    /// What it left behind: each key once, with the last value that it wrote.
    pub fn writes(&self) -> &'b [StreamedOp] {
        self.writes
    }

    /// What it wrote and then overwrote itself.
    pub fn hidden(&self) -> &'b [StreamedOp] {
        self.hidden
    }

    /// What it appended to a list, in order.
    pub fn appended(&self, key: KeyId) -> impl Iterator<Item = &'b StreamedValue> {
        self.hidden.iter().chain(self.writes).filter(move |it| it.0 == key).map(|it| &it.1)
    }

    /// The lists that it read, without what it had appended itself. Each is also among its reads, with its last element.
    pub fn lists(&self) -> impl Iterator<Item = (KeyId, &'b [StreamedValue])> {
        self.lists.iter()
    }

    /// What its scans did not return.
    pub fn scans(&self) -> impl Iterator<Item = StreamedScan<'b>> {
        self.scans.iter()
    }

    /// Does it have scans?
    #[inline]
    pub fn has_scans(&self) -> bool {
        !self.scans.entries.is_empty()
    }

    /// Is it a part of a transaction that locks what it reads, until the last part?
    #[inline]
    pub fn locks(&self) -> bool {
        self.part.locks
    }

    /// Is it a whole transaction, or the last part of one?
    #[inline]
    pub fn is_last(&self) -> bool {
        self.part.is_last
    }

    /// A key that it wrote and then read with another value than its own, or a row that does not fit its scan by itself.
    pub fn contradicted(&self) -> Option<KeyId> {
        self.contradicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_own_writes_are_internal_and_the_last_write_counts() {
        let (x, y) = (KeyId::from_index(0), KeyId::from_index(1));
        let mut block = StreamedBlock::default();
        let session = SessionId::from_index(0);
        block.begin((session, 0), 2, Outcome::Committed, (None, Some(7)));
        for (access, key, value) in [
            (Access::Read, x, 0),
            (Access::Write, x, 1),
            (Access::Read, x, 1),
            (Access::Write, x, 2),
            (Access::Read, y, 7),
        ] {
            block.push(access, key, StreamedValue::Int(value)).unwrap();
        }
        block.end();
        block.begin((session, 1), 3, Outcome::Indeterminate, (None, Some(8)));
        block.push(Access::Write, x, StreamedValue::Int(3)).unwrap();
        block.push(Access::Read, x, StreamedValue::Int(1)).unwrap();
        assert_eq!(block.push(Access::Omit, x, StreamedValue::Int(1)), Err(Access::Omit));
        block.end();
        let mut copied = StreamedBlock::default();
        copied.copy(&block.txn(1));
        let txn = block.txn(0);
        assert_eq!(txn.reads(), [(x, StreamedValue::Int(0)), (y, StreamedValue::Int(7))]);
        assert_eq!(txn.writes(), [(x, StreamedValue::Int(2))]);
        assert_eq!(txn.hidden(), [(x, StreamedValue::Int(1))]);
        assert_eq!((txn.contradicted(), txn.end), (None, Some(7)));
        assert_eq!(block.txn(1), copied.txn(0));
        assert_eq!((block.txn(1).contradicted(), block.txn(1).end), (Some(x), None));
        assert_eq!(block.txns().map(|it| it.writes().len()).sum::<usize>(), 2);
    }

    #[test]
    fn a_list_is_read_without_what_was_appended_and_holds_its_last_element() {
        let (x, y) = (KeyId::from_index(0), KeyId::from_index(1));
        let int = StreamedValue::Int;
        let mut block = StreamedBlock::default();
        for nth in 0..2 {
            block.begin((SessionId::from_index(0), nth), 2, Outcome::Committed, (None, None));
            block.push_list(y, []);
            block.push(Access::Append, x, int(7)).unwrap();
            block.push(Access::Append, x, int(8)).unwrap();
            block.push_list(x, [1, 2, 7, 8].map(int));
            block.end();
        }
        block.begin((SessionId::from_index(0), 2), 3, Outcome::Committed, (None, None));
        block.push(Access::Append, x, int(9)).unwrap();
        block.push_list(x, [1].map(int));
        block.end();
        let txn = block.txn(1);
        assert_eq!(txn.reads(), [(y, StreamedValue::Empty), (x, int(2))]);
        assert_eq!(txn.writes(), [(x, int(8))]);
        assert_eq!(txn.appended(x).cloned().collect::<Vec<_>>(), [7, 8].map(int));
        let lists: Vec<_> = txn.lists().map(|it| (it.0, it.1.to_vec())).collect();
        assert_eq!(lists, [(y, Vec::new()), (x, vec![int(1), int(2)])]);
        let mut copied = StreamedBlock::default();
        copied.copy(&txn);
        assert_eq!(copied.txn(0), txn);
        assert_eq!((block.txn(2).contradicted(), block.txn(2).lists().count()), (Some(x), 0));
    }
}
