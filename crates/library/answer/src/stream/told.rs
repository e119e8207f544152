//! A history that is in memory, told as a recording: in the order of ends.

use super::{Recording, Resumption, SavedReplay, Standing, Steps, StreamCheck};
use iso_evidence::{Budget, StreamedStep, Uncertified};
use iso_history::{
    Access, Datum, Extent, History, KeyId, Name, Op, OpId, Projection, Scan, ScanId, StreamedBlock, StreamedStatement,
    StreamedTables, StreamedValue, TableId, TxnId, ValueId,
};
use iso_spec::Level;
use std::sync::Arc;

/// A history, told from its first end to its last.
#[derive(Debug)]
pub struct Told<'h> {
    history: &'h History,
    /// The same, with lists that were appended to locked.
    locked: Option<History>,
    tables: StreamedTables,
    /// Rows of tables that are scanned.
    rows: Vec<(KeyId, TableId, Datum)>,
}

impl<'h> Told<'h> {
    /// Nothing if the history has a scan that only the database can evaluate, which is not streamed.
    pub fn new(history: &'h History) -> Option<Self> {
        let mut tables = StreamedTables::default();
        for scan in history.scans().map(|it| history.scan(it)) {
            if !scan.predicate.foreign().is_empty() {
                return None;
            }
            if tables.get(scan.table).is_none() {
                tables.add(scan.table);
            }
        }
        let mut rows = Vec::new();
        for key in history.keys() {
            let Name::Text(name) = history.key_name(key) else { continue };
            let Some(table) = tables.table_of(name) else { continue };
            tables.add_row(key, table, name);
            rows.extend(tables.row(key).map(|it| (key, table, it.1.to_datum())));
        }
        Some(Self { history, locked: history.with_locked_lists(), tables, rows })
    }

    /// What a key holds at first.
    fn initial(&self, key: KeyId) -> StreamedValue {
        if self.history.is_list(key) {
            return StreamedValue::Empty;
        }
        self.history.value(self.history.initial_value(key)).into()
    }

    /// Checks levels with a window of that size. The first level that cannot be streamed is an error.
    pub fn check(
        &self,
        levels: &[Level],
        window: usize,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) -> Result<StreamCheck, Level> {
        let mut check = StreamCheck::new(levels, &StreamedValue::Null, window)?;
        for key in self.history.keys() {
            let is_in_time = check.initial(key, &self.initial(key));
            debug_assert!(is_in_time, "nothing has happened yet");
        }
        self.rows.iter().for_each(|(key, table, name)| check.row(*key, *table, name));
        let block = Arc::new(self.block());
        for idx in 0..block.n_txns() {
            check.take((&block, idx), self, steps, budget);
        }
        check.finish(self, steps, budget);
        Ok(check)
    }

    /// Checks a level that goes on after a saved schedule. Nothing if that is not possible, an error if the kernel refuses it.
    pub fn check_after(
        &self,
        (level, window): (Level, usize),
        saved: &[(u64, StreamedStep, Vec<u64>)],
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) -> Result<Option<StreamCheck>, Uncertified> {
        let Some(mut resumed) = Resumption::new(level, &StreamedValue::Null, window) else { return Ok(None) };
        for key in self.history.keys() {
            resumed.initial(key, &self.initial(key))?;
        }
        self.rows.iter().for_each(|(key, table, name)| resumed.row(*key, *table, name));
        let block = Arc::new(self.block());
        for (txn, step, sources) in saved {
            while resumed.n_told() <= *txn {
                resumed.tell(&block, resumed.n_txns() as usize)?;
            }
            resumed.step(*step, *txn, sources)?;
        }
        let n_txns = resumed.n_txns() as usize;
        let Some(mut check) = resumed.go_on(self, steps, budget) else { return Ok(None) };
        for idx in n_txns..block.n_txns() {
            check.take((&block, idx), self, steps, budget);
        }
        check.finish(self, steps, budget);
        Ok(Some(check))
    }

    /// A replay of a saved schedule of this history, which has heard all of it.
    ///
    /// # Panics
    ///
    /// If schedules of the level are not replayed as streams.
    pub fn replay(&self, level: Level, window: usize) -> SavedReplay {
        let mut replay = SavedReplay::new(level, StreamedValue::Null, window).expect("the level was streamed");
        for key in self.history.keys() {
            replay.initial(key, self.initial(key)).expect("it is the first");
        }
        self.rows.iter().for_each(|(key, table, name)| replay.row(*key, *table, name.clone()));
        let block = Arc::new(self.block());
        for idx in 0..block.n_txns() {
            replay.tell(&block, idx).expect("sessions are in order");
        }
        replay
    }

    /// Transactions by their ends; nobody before an earlier one of its session.
    fn in_order_of_ends(&self) -> Vec<TxnId> {
        let mut latest = vec![i64::MIN; self.history.n_sessions()];
        let mut txns: Vec<(i64, TxnId)> = Vec::with_capacity(self.history.n_txns());
        let mut last = i64::MIN;
        for txn in self.history.txns() {
            // Without an end, it keeps its place among its neighbours.
            let end = self.history.end(txn).unwrap_or(last);
            last = end;
            let end = match self.history.session_of(txn) {
                Some(session) => {
                    let latest = &mut latest[session.index()];
                    *latest = (*latest).max(end);
                    *latest
                }
                None => end,
            };
            txns.push((end, txn));
        }
        txns.sort_by_key(|it| it.0);
        txns.into_iter().map(|it| it.1).collect()
    }

    fn block(&self) -> StreamedBlock {
        let mut block = StreamedBlock::default();
        for txn in self.in_order_of_ends() {
            self.tell(txn, &mut block);
        }
        block
    }

    fn tell(&self, txn: TxnId, block: &mut StreamedBlock) {
        let history = self.history;
        let session = history.session_of(txn).expect("only the initial transaction has no session");
        let (nth, at) = (history.nth_in_session(txn) as u32, history.place(txn).at);
        block.begin((session, nth), at, history.outcome(txn), (history.begin(txn), history.end(txn)));
        let mut ops = history.ops(txn).peekable();
        for id in history.scans_of(txn) {
            let scan = history.scan(id);
            while let Some(op) = ops.next_if(|it| it.index() < scan.ops.start) {
                self.tell_op(op, block);
            }
            while ops.next_if(|it| it.index() < scan.ops.end).is_some() {}
            self.tell_scan((&scan, self.statement_of_scan(id)), block);
        }
        ops.for_each(|it| self.tell_op(it, block));
        block.end();
    }

    fn value(&self, value: ValueId) -> StreamedValue {
        self.history.value(value).into()
    }

    /// Those with operations have odd numbers, and those without have even ones between them.
    fn statement_of(&self, op: OpId) -> StreamedStatement {
        let history = self.locked.as_ref().unwrap_or(self.history);
        let start = history.statement_of(op).ops().next().unwrap_or(op);
        StreamedStatement { nth: 2 * start.raw() + 1, newest: history.sees_newest(op) }
    }

    fn statement_of_scan(&self, scan: ScanId) -> StreamedStatement {
        let first = self.history.statement_of_scan(scan).ops().next();
        let nth = first.map_or(2 * self.history.scan(scan).ops.start as u32, |it| 2 * it.raw() + 1);
        StreamedStatement { nth, newest: self.history.omits_newest(scan) }
    }

    fn tell_op(&self, op: OpId, block: &mut StreamedBlock) {
        block.in_statement(self.statement_of(op));
        let (access, key, value) = match self.history.op(op) {
            Op::Read { key, value } => (Access::Read, key, value),
            Op::Write { key, value } => (Access::Write, key, value),
            Op::Append { key, value } => (Access::Append, key, value),
            Op::ReadList { key, values } => return block.push_list(key, values.iter().map(|it| self.value(*it))),
            Op::Omit { .. } => unreachable!("omissions are parts of scans"),
        };
        block.push(access, key, self.value(value)).expect("it reads or writes");
    }

    fn tell_scan(&self, (scan, statement): (&Scan<'_>, StreamedStatement), block: &mut StreamedBlock) {
        let table = self.tables.get(scan.table).expect("all tables were added");
        let predicate = Arc::new(scan.predicate.clone());
        let returned = scan.ops().filter_map(|it| match self.history.op(it) {
            Op::Read { key, value } => Some(((key, self.value(value)), Some(self.statement_of(it)))),
            _ => None,
        });
        block.in_statement(statement);
        if scan.extent == Extent::Whole {
            return block.push_scan((table, predicate), returned, &self.tables);
        }
        for (row, of) in returned {
            if let Some(statement) = of {
                block.in_statement(statement);
            }
            block.push_returned((table, &predicate), row, &self.tables);
        }
        block.in_statement(statement);
        for op in scan.ops() {
            if let Op::Omit { key, .. } = self.history.op(op) {
                block.push_omission((table, Arc::clone(&predicate)), key, &self.tables);
            }
        }
    }
}

impl Recording for Told<'_> {
    fn about(&self, keys: &[KeyId]) -> Option<History> {
        let stays = |op: OpId| keys.contains(&self.history.op(op).key());
        let txns: Vec<TxnId> = self.history.txns().filter(|it| self.history.ops(*it).any(stays)).collect();
        Some(Projection::verbatim(self.history, &txns, stays).history)
    }
}

impl StreamCheck {
    /// Is this level decided, and how? Nothing if it is not.
    pub fn is_allowed(&self, level: Level) -> Option<bool> {
        match self.standings().find(|it| it.0 == level)?.1 {
            Standing::Holds => Some(true),
            Standing::Violated(_) => Some(false),
            Standing::Undecided | Standing::Refused(_) => None,
        }
    }
}
