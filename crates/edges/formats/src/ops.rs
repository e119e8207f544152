//! The operations of one transaction, before it is added to the history.

use iso_history::{Access, Datum, Extent, HistoryBuilder, KeyId, Locking, Name, Predicate, ValueId};

/// About what an operation, an element of a list and a scan take until their transaction is complete.
const OP_BYTES: usize = size_of::<TxnOp>();
const LIST_VALUE_BYTES: usize = size_of::<ValueId>();
const MARK_BYTES: usize = 2 * size_of::<(usize, Mark)>();

/// The operations of one transaction. Reused from transaction to transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct TxnOps {
    ops: Vec<TxnOp>,
    lists: Vec<ValueId>,
    /// What stands before which operation, in order.
    marks: Vec<(usize, Mark)>,
}

/// One operation; `value` of a list read is where its elements end in `lists`.
#[derive(Clone, Copy, Debug)]
struct TxnOp {
    access: Access,
    key: KeyId,
    value: u32,
}

/// What is said of the operations that follow.
#[derive(Clone, Debug)]
enum Mark {
    /// A statement begins.
    Begin,
    /// It ends.
    End(Locking),
    /// So many operations are rows that a scan returned.
    Scan { table: Box<str>, predicate: Predicate, extent: Extent, n_rows: usize },
    /// A scan did not return a row.
    Omit { table: Box<str>, predicate: Predicate, key: KeyId },
    /// The read before sees the newest version.
    Lock,
}

/// A place among the operations and what is said of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpsPlace {
    n_ops: usize,
    n_marks: usize,
}

impl TxnOps {
    pub(crate) fn clear(&mut self) {
        self.ops.clear();
        self.lists.clear();
        self.marks.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ops.len()
    }

    /// Adds a register read or write, or an append.
    pub(crate) fn push(&mut self, access: Access, key: KeyId, value: ValueId) {
        self.ops.push(TxnOp { access, key, value: value.raw() });
    }

    /// Adds an element to the list that the next [`Self::push_list`] reads.
    pub(crate) fn element(&mut self, value: ValueId) {
        self.lists.push(value);
    }

    /// Adds a list read of the elements since the last one.
    pub(crate) fn push_list(&mut self, key: KeyId) {
        self.ops.push(TxnOp { access: Access::ReadList, key, value: self.lists.len() as u32 });
    }

    /// Where the next operation will stand.
    pub(crate) fn here(&self) -> OpsPlace {
        OpsPlace { n_ops: self.ops.len(), n_marks: self.marks.len() }
    }

    /// Makes one statement of the operations since a place.
    pub(crate) fn wrap(&mut self, since: OpsPlace, locking: Locking) {
        self.marks.insert(since.n_marks, (since.n_ops, Mark::Begin));
        self.marks.push((self.ops.len(), Mark::End(locking)));
    }

    /// Makes a scan of the reads since a place.
    pub(crate) fn push_scan(&mut self, since: OpsPlace, table: Box<str>, predicate: Predicate, extent: Extent) {
        let n_rows = self.ops.len() - since.n_ops;
        self.marks.push((since.n_ops, Mark::Scan { table, predicate, extent, n_rows }));
    }

    /// Adds a row that a scan did not return.
    pub(crate) fn push_omission(&mut self, table: Box<str>, predicate: Predicate, key: KeyId) {
        self.marks.push((self.ops.len(), Mark::Omit { table, predicate, key }));
    }

    /// Says of the read or omission before that it sees the newest version.
    pub(crate) fn lock_last_read(&mut self) {
        self.marks.push((self.ops.len(), Mark::Lock));
    }

    /// What it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.ops.len() * OP_BYTES + self.lists.len() * LIST_VALUE_BYTES + self.marks.len() * MARK_BYTES
    }

    /// Adds all to the open transaction.
    pub(crate) fn push_to(&self, builder: &mut HistoryBuilder) {
        let (mut list_start, mut next) = (0, 0);
        let mut marks = self.marks.iter().peekable();
        loop {
            while let Some((_, mark)) = marks.next_if(|it| it.0 == next) {
                next += self.push_mark(mark, next, builder);
            }
            let Some(op) = self.ops.get(next) else { return };
            let value = ValueId::from_index(op.value as usize);
            match op.access {
                Access::Read => builder.read(op.key, value),
                Access::Write => builder.write(op.key, value),
                Access::Append => builder.append(op.key, value),
                Access::ReadList => {
                    let elements = list_start..op.value as usize;
                    list_start = elements.end;
                    builder.read_list(op.key, self.lists[elements].iter().copied());
                }
                // Omissions are marks: they have no value.
                Access::Omit => {}
            }
            next += 1;
        }
    }

    /// Adds what a mark says, and gives the number of operations that were added with it.
    fn push_mark(&self, mark: &Mark, at: usize, builder: &mut HistoryBuilder) -> usize {
        match mark {
            Mark::Begin => builder.begin_statement(),
            Mark::End(locking) => builder.end_statement(*locking),
            Mark::Lock => builder.lock_last_read(),
            Mark::Omit { table, predicate, key } => builder.omit(table, predicate.clone(), *key),
            Mark::Scan { table, predicate, extent, n_rows } => {
                let row = |it: &TxnOp| (it.key, ValueId::from_index(it.value as usize));
                let rows = self.ops[at..at + n_rows].iter().map(row);
                match extent {
                    Extent::Whole => builder.scan(table, predicate.clone(), rows),
                    Extent::Part => rows.for_each(|it| builder.returned(table, predicate.clone(), it.0, it.1)),
                }
                return *n_rows;
            }
        }
        0
    }
}

/// The table and the row of an omission. If there is no second name, the table is what stands before the first slash of the row.
pub(crate) fn table_and_row(first: Datum, second: Option<Datum>) -> Option<(Box<str>, Datum)> {
    let (table, row) = match (first, second) {
        (Datum::Text(table), Some(row)) => (table, row),
        (Datum::Text(row), None) => (row.split_once('/')?.0.into(), Datum::Text(row)),
        _ => return None,
    };
    let is_row = matches!(&row, Datum::Text(it) if it.strip_prefix(&*table).is_some_and(|it| it.starts_with('/')));
    is_row.then_some((table, row))
}

/// The table of an omitted row, if that is not what stands before the first slash of the row.
pub(crate) fn explicit_table<'t>(table: &'t str, row: Name<'_>) -> Option<Name<'t>> {
    let is_first = matches!(row, Name::Text(row) if row.split_once('/').is_some_and(|it| it.0 == table));
    (!is_first).then_some(Name::Text(table))
}
