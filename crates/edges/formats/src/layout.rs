//! Which operations of a transaction are written together: updates, scans, and statements in brackets.

use iso_history::{Extent, History, KeyId, Locking, Op, OpId, Scan, ScanId, Statement, TxnId, ValueId};
use rustc_hash::FxHashSet;

/// What is written as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A read, a write or an append; or a row of a scan of which the history has a part.
    Op(OpId, Locking),
    /// A read of a row and a write of it.
    Update(OpId, OpId),
    /// A whole scan.
    Scan(ScanId, Locking),
    /// Several of them in one statement.
    Statement(Vec<Item>, Locking),
}

impl Item {
    /// Is it said of it that it locks what it reads?
    pub(crate) fn locking(&self) -> Locking {
        match self {
            Self::Op(_, locking) | Self::Scan(_, locking) | Self::Statement(_, locking) => *locking,
            Self::Update(..) => Locking::Free,
        }
    }
}

/// The rows that a scan returned.
pub(crate) fn returned_rows(history: &History, scan: &Scan<'_>) -> impl Iterator<Item = (KeyId, ValueId)> {
    scan.ops().filter_map(|it| match history.op(it) {
        Op::Read { key, value } => Some((key, value)),
        _ => None,
    })
}

/// The scan of which the history has a part, if an operation is one of its rows.
pub(crate) fn part_of(history: &History, op: OpId) -> Option<Scan<'_>> {
    history.scan_of(op).map(|it| history.scan(it)).filter(|it| it.extent == Extent::Part)
}

/// The operations of a transaction, in order.
pub(crate) fn layout(history: &History, txn: TxnId) -> Vec<Item> {
    let mut scans = Scans { history, next: history.scans_of(txn).collect(), n_done: 0 };
    let mut items = Vec::with_capacity(history.ops(txn).len());
    let mut ops = history.ops(txn).peekable();
    while let Some(op) = ops.peek() {
        // Scans that neither returned nor omitted a row have no operations; they stand between those of others.
        items.extend(scans.without_ops(*op));
        let statement = history.statement_of(*op);
        items.push(scans.statement(statement));
        while ops.next_if(|it| statement.has(*it)).is_some() {}
    }
    items.extend(scans.next[scans.n_done..].iter().map(|it| Item::Scan(*it, Locking::Free)));
    items
}

/// The scans of a transaction, and how many of them are laid out.
struct Scans<'h> {
    history: &'h History,
    next: Vec<ScanId>,
    n_done: usize,
}

impl Scans<'_> {
    fn statement(&mut self, statement: Statement) -> Item {
        let locks = Locks::new(self.history, statement);
        let mut items = Vec::new();
        let mut ops = statement.ops().peekable();
        while let Some(op) = ops.next() {
            items.extend(self.without_ops(op));
            if let Some(scan) = self.whole_from(op) {
                let rows = self.history.scan(scan).ops;
                while ops.next_if(|it| rows.contains(&it.index())).is_some() {}
                items.push(Item::Scan(scan, Locking::Free));
            } else if let Some(write) = ops.next_if(|it| self.is_update(op, *it)) {
                items.push(Item::Update(op, write));
            } else {
                items.push(Item::Op(op, locks.of(op)));
            }
        }
        match (&mut items[..], locks.of_all) {
            ([Item::Op(op, _)], locking) => Item::Op(*op, locking),
            ([Item::Scan(scan, _)], locking) => Item::Scan(*scan, locking),
            ([Item::Update(read, write)], _) => Item::Update(*read, *write),
            (_, locking) => Item::Statement(items, locking),
        }
    }

    /// The scans without operations that stand before one.
    fn without_ops(&mut self, op: OpId) -> Vec<Item> {
        let has_none = |it: &&ScanId| {
            let ops = self.history.scan(**it).ops;
            ops.is_empty() && ops.start <= op.index()
        };
        let found: Vec<ScanId> = self.next[self.n_done..].iter().take_while(has_none).copied().collect();
        self.n_done += found.len();
        found.into_iter().map(|it| Item::Scan(it, Locking::Free)).collect()
    }

    /// The whole scan that begins with an operation. That of a part is passed over.
    fn whole_from(&mut self, op: OpId) -> Option<ScanId> {
        let next = *self.next.get(self.n_done)?;
        let scan = self.history.scan(next);
        if scan.ops.start != op.index() {
            return None;
        }
        self.n_done += 1;
        (scan.extent == Extent::Whole).then_some(next)
    }

    fn is_update(&self, read: OpId, write: OpId) -> bool {
        let next = self.next.get(self.n_done).map(|it| self.history.scan(*it));
        if next.is_some_and(|it| it.ops.start == write.index()) {
            // A scan without operations stands between the two.
            return false;
        }
        match (self.history.op(read), self.history.op(write)) {
            (Op::Read { key: one, .. }, Op::Write { key: other, .. }) => {
                one == other && self.history.scan_of(read).is_none()
            }
            _ => false,
        }
    }
}

/// Which reads of a statement are said to lock what they read.
struct Locks<'h> {
    history: &'h History,
    written: FxHashSet<KeyId>,
    /// Do all of them, so that it is said once?
    of_all: Locking,
}

impl<'h> Locks<'h> {
    fn new(history: &'h History, statement: Statement) -> Self {
        let ops = || statement.ops().map(|it| (it, history.op(it)));
        let written = ops().filter(|it| it.1.is_write()).map(|it| it.1.key()).collect();
        let mut locks = Self { history, written, of_all: Locking::Free };
        let is_read = |it: &(OpId, Op<'_>)| matches!(it.1, Op::Read { .. } | Op::Omit { .. });
        let all_lock = ops().filter(is_read).all(|it| history.sees_newest(it.0));
        if all_lock && ops().any(|it| locks.of(it.0) == Locking::ForUpdate) {
            locks.of_all = Locking::ForUpdate;
        }
        locks
    }

    /// Is it said of this operation? Where its statement writes the row, it need not be said.
    fn of(&self, op: OpId) -> Locking {
        let goes_without_saying = match self.history.op(op) {
            Op::Read { key, .. } => self.written.contains(&key),
            Op::Omit { .. } => !self.written.is_empty(),
            _ => false,
        };
        let is_said = self.of_all == Locking::Free && self.history.sees_newest(op) && !goes_without_saying;
        if is_said { Locking::ForUpdate } else { Locking::Free }
    }
}
