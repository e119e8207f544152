//! Copies of a history that differ in one thing.

use crate::layout::{Item, layout, part_of, returned_rows};
use iso_history::{History, HistoryBuilder, Locking, Matching, Op, OpId, Place, ScanId, ValueId};

/// The same history without its times, for formats that have none. Real-time levels mean nothing for it any more.
pub fn without_times(history: &History) -> History {
    copied(history, Without::Times).finish().expect("a valid history is valid without its times")
}

/// The same history with each update as a read and a write that may stand apart, for formats without statements. Levels of
/// papers mean the same for it, those of databases do not.
///
/// None if it has no updates, or other statements, too.
pub fn with_updates_apart(history: &History) -> Option<History> {
    let items = || history.txns().flat_map(|it| layout(history, it));
    let is_plain = |it: &Item| match it {
        Item::Op(op, locking) => *locking == Locking::Free && history.scan_of(*op).is_none(),
        Item::Update(..) => true,
        Item::Scan(..) | Item::Statement(..) => false,
    };
    let has_updates_only = history.has_statements() && items().all(|it| is_plain(&it));
    let copy = has_updates_only.then(|| copied(history, Without::Statements));
    copy.map(|it| it.finish().expect("a valid history is valid without its statements"))
}

/// What is left out of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    Nothing,
    Times,
    /// The operations stay.
    Statements,
}

/// A builder with everything else that a history has, under the same ids.
pub(crate) fn copied(history: &History, without: Without) -> HistoryBuilder {
    let mut copy = Copy { history, builder: HistoryBuilder::new() };
    copy.names();
    for txn in history.txns() {
        let Some(session) = history.session_of(txn) else { continue };
        copy.builder.begin(session, history.place(txn));
        if without != Without::Times {
            copy.builder.times(history.begin(txn), history.end(txn));
        }
        if history.has_statements() && without != Without::Statements {
            for item in layout(history, txn) {
                copy.item(&item);
            }
        } else {
            history.ops(txn).for_each(|it| copy.op(it));
        }
        copy.builder.end(history.outcome(txn));
    }
    for (foreign, key, value) in history.said_to_match() {
        copy.builder.matching(foreign, key, value, Matching::Matches, Place::default());
    }
    copy.builder
}

struct Copy<'h> {
    history: &'h History,
    builder: HistoryBuilder,
}

impl Copy<'_> {
    /// Sources, sessions, keys and values; in this order, they keep their ids.
    fn names(&mut self) {
        let (history, builder) = (self.history, &mut self.builder);
        let sources = (0..).map_while(|source| history.source(Place { source, at: 0 }));
        for (name, unit) in sources {
            builder.source(name, unit);
        }
        for session in history.sessions() {
            builder.session(history.session_name(session));
        }
        for key in history.keys() {
            builder.key_named(history.key_name(key));
        }
        for value in 0..history.n_values() {
            builder.value_named(history.value(ValueId::from_index(value)));
        }
        for key in history.keys().filter(|it| !history.is_list(*it)) {
            builder.initial(key, history.initial_value(key), Place::default());
        }
    }

    fn item(&mut self, item: &Item) {
        let is_part = self.builder.is_statement_open();
        if !is_part {
            self.builder.begin_statement();
        }
        match item {
            Item::Op(op, _) => self.op(*op),
            Item::Update(read, write) => [read, write].into_iter().for_each(|it| self.op(*it)),
            Item::Scan(scan, _) => self.scan(*scan),
            Item::Statement(items, _) => {
                for item in items {
                    self.item(item);
                }
            }
        }
        match item.locking() {
            // A statement of one operation is none, as long as it locks nothing.
            locking if !is_part => self.builder.end_statement(locking),
            Locking::ForUpdate => self.builder.lock_last_read(),
            Locking::Free => {}
        }
    }

    fn scan(&mut self, scan: ScanId) {
        let scan = self.history.scan(scan);
        self.builder.scan(scan.table, scan.predicate.clone(), returned_rows(self.history, &scan));
    }

    fn op(&mut self, op: OpId) {
        let builder = &mut self.builder;
        match (self.history.op(op), part_of(self.history, op)) {
            (Op::Read { key, value }, Some(scan)) => builder.returned(scan.table, scan.predicate.clone(), key, value),
            (Op::Omit { key, .. }, Some(scan)) => builder.omit(scan.table, scan.predicate.clone(), key),
            (Op::Read { key, value }, None) => builder.read(key, value),
            (Op::Write { key, value }, _) => builder.write(key, value),
            (Op::Append { key, value }, _) => builder.append(key, value),
            (Op::ReadList { key, values }, _) => builder.read_list(key, values.iter().copied()),
            // What a whole scan omitted is found again when the copy is complete.
            (Op::Omit { .. }, None) => {}
        }
    }
}
