//! Which operations are one statement, and which statements read by predicate.
//!
//! A statement is a run of operations; one that is not mentioned has one operation. A scan is a statement or a part of
//! one: a read of each row that it returned, and an omission of each row that it might have returned and did not. An
//! omission is a read, too: it saw a version that does not match the predicate.

use crate::{Access, Column, History, KeyId, Name, Op, OpId, Outcome, Predicate, ScanId, TxnId, ValueId};
use std::ops::Range;

/// Statements and scans, in columns. Empty where the input has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sql {
    /// Those of several operations, and those that lock, in the order of the operations.
    pub(crate) statements: Vec<Statement>,
    /// In the order of the operations.
    pub(crate) scans: Vec<ScanEntry>,
    pub(crate) tables: Vec<Box<str>>,
    pub(crate) predicates: Vec<Predicate>,
    /// Which versions match which foreign predicates, ascending.
    pub(crate) said: Vec<(Box<str>, KeyId, ValueId)>,
    /// Reads that see the newest version of their row and not a snapshot, ascending.
    pub(crate) newest: Vec<u32>,
    /// The last write of each row that its transaction made by an insert, ascending.
    pub(crate) made: Vec<u32>,
    /// Omissions of rows that were hidden from their statement, ascending: they say nothing.
    pub(crate) hidden: Vec<u32>,
    /// The value of a row that does not exist.
    pub(crate) null: Option<ValueId>,
}

/// A run of operations that the database executed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// What it does to the rows that it reads.
    pub locking: Locking,
}

/// What a statement does to the rows that it reads and does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Locking {
    /// Nothing: a plain `SELECT`.
    Free,
    /// It locks them until its transaction ends, as `SELECT ... FOR UPDATE` does.
    ForUpdate,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanEntry {
    pub(crate) txn: TxnId,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) table: u32,
    pub(crate) predicate: u32,
    pub(crate) extent: Extent,
    /// What it is a part of; before the history is complete, its number.
    pub(crate) statement: Statement,
}

/// How much of a scan the history has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every row that it returned; all others it omitted.
    Whole,
    /// Some rows, in a part of a history.
    Part,
}

/// A read by predicate.
#[derive(Clone, Debug)]
pub struct Scan<'h> {
    /// The table.
    pub table: &'h str,
    /// Which rows it asks for.
    pub predicate: &'h Predicate,
    /// The transaction.
    pub txn: TxnId,
    /// Its reads and omissions.
    pub ops: Range<usize>,
    /// How much of it is here.
    pub extent: Extent,
}

/// How many plain reads of a transaction share a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// Those of one statement.
    PerStatement,
    /// All of them.
    PerTransaction,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PieceKind {
    /// Reads that see one moment, from this operation on; none if it holds all others of the transaction together.
    Moment(Option<OpId>),
    /// Nothing: it comes after earlier statements, and before the pieces of the statement that omitted this row.
    Before(OpId),
    /// Everything that locks or writes, when the transaction commits.
    Commit,
}

impl Statement {
    /// Its operations.
    pub fn ops(self) -> impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator {
        (self.start as usize..self.end as usize).map(OpId::from_index)
    }

    /// Is an operation one of its own?
    pub fn has(self, op: OpId) -> bool {
        (self.start..self.end).contains(&op.raw())
    }
}

impl Scan<'_> {
    /// Its reads and omissions.
    pub fn ops(&self) -> impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator + use<> {
        self.ops.clone().map(OpId::from_index)
    }
}

impl History {
    /// Does the history say of some operations that they are one statement, or that a statement locks, or is a scan?
    pub fn has_statements(&self) -> bool {
        !self.sql.statements.is_empty() || !self.sql.scans.is_empty()
    }

    /// Does the history have reads by predicate?
    pub fn has_scans(&self) -> bool {
        !self.sql.scans.is_empty()
    }

    /// Does some scan look at a row that it does not return?
    pub fn has_omissions(&self) -> bool {
        self.has_scans() && self.op_touch.iter().any(|it| it.access() == Access::Omit)
    }

    /// The statement of an operation.
    pub fn statement_of(&self, op: OpId) -> Statement {
        let alone = Statement { start: op.raw(), end: op.raw() + 1, locking: Locking::Free };
        let n_up_to_it = self.sql.statements.partition_point(|it| it.start <= op.raw());
        let last = n_up_to_it.checked_sub(1).map(|it| self.sql.statements[it]);
        last.filter(|it| op.raw() < it.end).unwrap_or(alone)
    }

    /// Which statement of several operations this is, from 0, in the order of the operations.
    pub fn nth_statement(&self, statement: Statement) -> Option<usize> {
        self.sql.statements.binary_search_by_key(&statement.start, |it| it.start).ok()
    }

    /// Every scan, in the order of the operations.
    pub fn scans(&self) -> impl DoubleEndedIterator<Item = ScanId> + use<> {
        (0..self.sql.scans.len()).map(ScanId::from_index)
    }

    /// A read by predicate.
    pub fn scan(&self, scan: ScanId) -> Scan<'_> {
        let entry = self.sql.scans[scan.index()];
        Scan {
            table: &self.sql.tables[entry.table as usize],
            predicate: &self.sql.predicates[entry.predicate as usize],
            txn: entry.txn,
            ops: entry.start as usize..entry.end as usize,
            extent: entry.extent,
        }
    }

    /// The scan that an operation is a part of.
    pub fn scan_of(&self, op: OpId) -> Option<ScanId> {
        let n_up_to_it = self.sql.scans.partition_point(|it| it.start <= op.raw());
        // Scans without operations stand where the next one begins.
        let before = self.sql.scans[..n_up_to_it].iter().rposition(|it| it.start < it.end)?;
        (op.raw() < self.sql.scans[before].end).then(|| ScanId::from_index(before))
    }

    /// The statement that a scan is a part of, also if it has no operations.
    pub fn statement_of_scan(&self, scan: ScanId) -> Statement {
        self.sql.scans[scan.index()].statement
    }

    /// Does a scan see newest versions of the rows that it does not return? It does if its statement writes or locks.
    pub fn omits_newest(&self, scan: ScanId) -> bool {
        let statement = self.statement_of_scan(scan);
        statement.locking == Locking::ForUpdate || statement.ops().any(|it| self.op(it).is_write())
    }

    /// The scans of a transaction, in program order.
    pub fn scans_of(&self, txn: TxnId) -> impl DoubleEndedIterator<Item = ScanId> + use<> {
        let start = self.sql.scans.partition_point(|it| it.txn < txn);
        let n = self.sql.scans[start..].partition_point(|it| it.txn == txn);
        (start..start + n).map(ScanId::from_index)
    }

    /// Does a version of a row match the predicate of a scan?
    pub fn matches(&self, scan: ScanId, key: KeyId, value: ValueId) -> bool {
        let entry = self.sql.scans[scan.index()];
        self.sql.matches(entry.table, entry.predicate, self.key_name(key), key, self.value(value), value)
    }

    /// Does a read see the newest version of its row, and not a snapshot? It does if its statement writes the row as well,
    /// or locks what it reads, and so does an omission of a statement that writes or locks.
    ///
    /// A row that was returned is then locked: nobody overwrites it before the transaction ends.
    pub fn sees_newest(&self, read: OpId) -> bool {
        self.sql.newest.binary_search(&read.raw()).is_ok()
    }

    /// Is this read an insert, which looks at the newest version of its row, and finds that there is none?
    pub fn is_insert(&self, read: OpId) -> bool {
        let Op::Read { key, value } = self.op(read) else { return false };
        Some(value) == self.sql.null && self.sees_newest(read) && self.makes(self.txn_of(read), key)
    }

    /// Does a transaction make some row by an insert?
    pub fn makes_rows(&self) -> bool {
        !self.sql.made.is_empty()
    }

    /// Does a transaction make this row by an insert, before it does anything else to it?
    pub fn makes(&self, txn: TxnId, row: KeyId) -> bool {
        let ops = self.op_range(txn);
        let start = self.sql.made.partition_point(|it| (*it as usize) < ops.start);
        let mut own = self.sql.made[start..].iter().take_while(|it| (**it as usize) < ops.end);
        own.any(|it| self.key_at(*it as usize) == row)
    }

    /// Does a transaction make this row by the insert whose effect this last write of it is?
    pub(crate) fn is_made_by(&self, write: OpId) -> bool {
        self.sql.made.binary_search(&write.raw()).is_ok()
    }

    /// Was this row hidden from the statement that omitted it?
    pub(crate) fn is_hidden(&self, omission: OpId) -> bool {
        self.sql.hidden.binary_search(&omission.raw()).is_ok()
    }

    /// Notes the rows that transactions make: the first write of each is part of an insert.
    pub(crate) fn note_made(&mut self) {
        let Some(null) = self.sql.null else { return };
        let mut made = std::mem::take(&mut self.sql.made);
        let inserts =
            |it: &u32| self.access_at(*it as usize) == Access::Read && self.op_value[*it as usize] == null.raw();
        for read in self.sql.newest.iter().copied().filter(inserts) {
            let (op, key) = (OpId::from_index(read as usize), self.key_at(read as usize));
            let mut writes = self.op_range(self.txn_of(op)).filter(|it| self.is_write_of(*it, key));
            let Some(first) = writes.next() else { continue };
            if first > op.index() && self.statement_of(op).has(OpId::from_index(first)) {
                made.push(writes.next_back().unwrap_or(first) as u32);
            }
        }
        made.sort_unstable();
        made.dedup();
        self.sql.made = made;
    }

    fn is_write_of(&self, op: usize, key: KeyId) -> bool {
        self.access_at(op) == Access::Write && self.key_at(op) == key
    }

    /// The history for databases whose updates act on the newest version, or none if that makes no difference: an append is
    /// an update, so a list that is read after an append of its own is the newest version, and not one of a snapshot.
    pub fn with_locked_lists(&self) -> Option<Self> {
        let is_new = |it: &u32| self.sql.newest.binary_search(it).is_err();
        let mut locked = self.lists_after_own_appends();
        locked.retain(is_new);
        (!locked.is_empty()).then(|| {
            let mut history = self.clone();
            history.sql.newest.append(&mut locked);
            history.sql.newest.sort_unstable();
            history
        })
    }

    fn lists_after_own_appends(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for txn in self.txns() {
            let ops = self.op_range(txn);
            let appends = |it: usize, key: KeyId| self.access_at(it) == Access::Append && self.key_at(it) == key;
            let lists = ops.clone().filter(|it| self.access_at(*it) == Access::ReadList);
            let after = lists.filter(|read| (ops.start..*read).any(|it| appends(it, self.key_at(*read))));
            found.extend(after.map(|it| it as u32));
        }
        found
    }

    /// The history for databases that know a row by more than its key, or none if that makes no difference: a row that
    /// somebody deletes and makes again is another one. A statement that locks, and waited for the old one, finds neither.
    ///
    /// So an omission of such a statement says nothing of a row to which another session did that.
    pub fn with_hidden_rows(&self) -> Option<Self> {
        let omits = |it: &u32| self.access_at(*it as usize) == Access::Omit;
        if !self.sql.hidden.is_empty() || !self.sql.newest.iter().any(omits) {
            return None;
        }
        let again = self.made_again();
        let is_hidden = |it: &u32| {
            let reader = self.session_of(self.txn_of(OpId::from_index(*it as usize)));
            let mut others = again.iter().filter(|other| other.1 == self.key_at(*it as usize));
            omits(it) && others.any(|other| self.session_of(other.0) != reader)
        };
        let hidden: Vec<u32> = self.sql.newest.iter().copied().filter(is_hidden).collect();
        (!hidden.is_empty()).then(|| {
            let mut history = self.clone();
            history.sql.hidden = hidden;
            history
        })
    }

    /// Rows that a transaction deletes and then makes again.
    fn made_again(&self) -> Vec<(TxnId, KeyId)> {
        let Some(null) = self.sql.null else { return Vec::new() };
        let mut again = Vec::new();
        for txn in self.txns().filter(|it| self.outcome(*it) != Outcome::Aborted) {
            let ops = self.op_range(txn);
            let is_delete = |it: &usize| self.access_at(*it) == Access::Write && self.op_value[*it] == null.raw();
            for delete in ops.clone().filter(is_delete) {
                let key = self.key_at(delete);
                if (delete + 1..ops.end).any(|it| self.is_write_of(it, key) && self.op_value[it] != null.raw()) {
                    again.push((txn, key));
                }
            }
        }
        again
    }

    /// Does the statement of this read write the row as well?
    pub fn is_update(&self, read: OpId) -> bool {
        let key = self.op(read).key();
        self.statement_of(read).ops().any(|it| self.op(it).is_write() && self.op(it).key() == key)
    }

    /// Notes the reads that see the newest version of their row.
    pub(crate) fn note_newest(&mut self) {
        let mut newest = std::mem::take(&mut self.sql.newest);
        for statement in &self.sql.statements {
            let mut written: Vec<KeyId> = Vec::new();
            written.extend(statement.ops().map(|it| self.op(it)).filter(|it| it.is_write()).map(Op::key));
            for op in statement.ops() {
                let is_newest = match self.op(op) {
                    Op::Read { key, .. } | Op::ReadList { key, .. } => {
                        statement.locking == Locking::ForUpdate || written.contains(&key)
                    }
                    Op::Omit { .. } => statement.locking == Locking::ForUpdate || !written.is_empty(),
                    _ => false,
                };
                newest.extend(is_newest.then_some(op.raw()));
            }
        }
        newest.sort_unstable();
        newest.dedup();
        self.sql.newest = newest;
    }

    /// The only value of a row that does not match the predicate of a scan, if any other does.
    pub(crate) fn only_unmatched(&self, scan: ScanId, key: KeyId) -> Option<ValueId> {
        let Scan { table, predicate, .. } = self.scan(scan);
        let is_match = |row: Name<'_>| predicate.matches(row, Name::Int(0), &|_| false);
        let is_only = predicate.is_about_rows() && is_match(row_name(table, self.key_name(key)));
        self.sql.null.filter(|_| is_only)
    }

    /// A statement of one operation that locks nothing needs no mention.
    pub(crate) fn forget_trivial_statements(&mut self) {
        self.sql.statements.retain(|it| it.end - it.start > 1 || (it.locking != Locking::Free && it.start < it.end));
    }

    /// The predicate of a scan, by number: equal numbers are equal predicates.
    pub(crate) fn predicate_of(&self, scan: ScanId) -> u32 {
        self.sql.scans[scan.index()].predicate
    }

    /// Which versions match which foreign predicates, as the input says.
    pub fn said_to_match(&self) -> impl Iterator<Item = (&str, KeyId, ValueId)> {
        self.sql.said.iter().map(|it| (&*it.0, it.1, it.2))
    }
}

impl Sql {
    /// All statements are known: scans have theirs instead of its number.
    pub(crate) fn note_statements_of_scans(&mut self) {
        for scan in &mut self.scans {
            let alone = Statement { start: scan.start, end: scan.end, locking: Locking::Free };
            scan.statement = self.statements.get(scan.statement.start as usize).copied().unwrap_or(alone);
        }
    }

    pub(crate) fn matches(
        &self,
        table: u32,
        predicate: u32,
        key_name: Name<'_>,
        key: KeyId,
        value_name: Name<'_>,
        value: ValueId,
    ) -> bool {
        let is_said = |text: &str| {
            let find = |it: &(Box<str>, KeyId, ValueId)| (&*it.0, it.1, it.2).cmp(&(text, key, value));
            self.said.binary_search_by(find).is_ok()
        };
        let row = row_name(&self.tables[table as usize], key_name);
        self.predicates[predicate as usize].matches(row, value_name, &is_said)
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.statements.len() * size_of::<Statement>()
            + self.scans.len() * size_of::<ScanEntry>()
            + self.predicates.len() * size_of::<Predicate>()
            + self.newest.len() * size_of::<u32>()
    }

    /// The number of a table; a new one is added.
    pub(crate) fn table(&mut self, name: &str) -> u32 {
        let found = self.tables.iter().position(|it| **it == *name);
        found.unwrap_or_else(|| {
            self.tables.push(name.into());
            self.tables.len() - 1
        }) as u32
    }
}

/// The name of a row within its table: what stands behind the table's name.
pub(crate) fn row_name<'n>(table: &str, key: Name<'n>) -> Name<'n> {
    let Name::Text(text) = key else { return key };
    let row = text.strip_prefix(table).and_then(|it| it.strip_prefix('/')).unwrap_or(text);
    match row.parse::<i64>() {
        Ok(number) if number.to_string() == row => Name::Int(number),
        _ => Name::Text(row),
    }
}

impl Predicate {
    /// Does it look at the row's name only, so that every version that exists matches, or none?
    pub(crate) fn is_about_rows(&self) -> bool {
        match self {
            Self::All => true,
            Self::Compare(column, ..)
            | Self::Between(column, ..)
            | Self::OneOf(column, _)
            | Self::Remainder { column, .. } => *column == Column::Key,
            Self::Foreign(_) => false,
            Self::Not(inner) => inner.is_about_rows(),
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::is_about_rows),
        }
    }
}
