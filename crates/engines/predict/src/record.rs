//! A predicted run as a history that anybody can check.
//!
//! Reads name their writers, but a history only has values. So each version gets a value of its own: where a value is
//! written to a key again, it is numbered, as in `5#2`. A row that a scan did not return is a read of the version that it
//! saw.

use crate::run::{Role, Run};
use crate::trace::{INITIAL, Trace, TxnIdx};
use crate::{ChangedRead, Cut, Prediction};
use iso_history::{Datum, History, HistoryBuilder, KeyId, Locking, Op, OpId, Outcome, Place, TxnId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What becomes of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statements {
    /// They are there as observed. What is left of an update on the boundary is a read that locks.
    Kept,
    Dropped,
}

/// Writes a run down.
pub(crate) fn record(history: &History, trace: &Trace, run: &Run, statements: Statements) -> Prediction {
    let mut writer = Recorder::new(history, trace, statements);
    let mut txns: Vec<TxnIdx> = trace.txns().filter(|it| run.is_in(*it)).collect();
    txns.sort_unstable_by_key(|it| trace.ids[*it as usize]);
    for txn in txns {
        writer.transaction(run, txn);
    }
    let Recorder { builder, kept, cuts, changed, .. } = writer;
    let history = builder.finish().expect("a run made of a valid history is valid");
    Prediction { history, txns: kept, cuts, changed, hides_conflict: false }
}

struct Recorder<'a> {
    history: &'a History,
    trace: &'a Trace,
    statements: Statements,
    builder: HistoryBuilder,
    /// By write, the value that it has now.
    labels: FxHashMap<OpId, Datum>,
    /// By transaction and key, its last write.
    last_writes: FxHashMap<(TxnId, KeyId), OpId>,
    n_ops: usize,
    kept: Vec<TxnId>,
    cuts: Vec<Cut>,
    changed: Vec<ChangedRead>,
}

impl<'a> Recorder<'a> {
    fn new(history: &'a History, trace: &'a Trace, statements: Statements) -> Self {
        let mut ids = trace.ids.clone();
        ids.sort_unstable();
        let mut last_writes = FxHashMap::default();
        let is_there = |it: &OpId| !trace.early.iter().any(|cut| cut.id == history.txn_of(*it) && cut.read < *it);
        let writes = ids.iter().flat_map(|it| history.ops(*it)).filter(|it| history.op(*it).is_write());
        for op in writes.filter(is_there) {
            last_writes.insert((history.txn_of(op), history.op(op).key()), op);
        }
        Self {
            history,
            trace,
            statements,
            builder: builder(history, &ids),
            labels: labels(history, &ids),
            last_writes,
            n_ops: 0,
            kept: vec![TxnId::INITIAL],
            cuts: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn transaction(&mut self, run: &Run, txn: TxnIdx) {
        let id = self.trace.ids[txn as usize];
        let name = self.history.session_of(id).map_or("", |it| self.history.session_name(it));
        let session = self.builder.session(name);
        self.builder.begin(session, self.history.place(id));
        let reads = &self.trace.reads[txn as usize];
        let early = self.trace.early_cut(txn);
        let end = run.last_read(txn).map(|nth| reads[nth].op).or(early.map(|it| it.read));
        let mut own: FxHashMap<KeyId, OpId> = FxHashMap::default();
        let mut n_dropped = 0;
        for op in self.history.ops(id) {
            if end.is_some_and(|end| op > end) {
                n_dropped += 1;
                continue;
            }
            self.open_statement(op);
            self.op(run, txn, op, &mut own);
        }
        self.close_statement();
        let predicted = self.builder.end(Outcome::Committed);
        self.kept.push(id);
        if early.is_some() || matches!(run.roles[txn as usize], Role::Cut(_)) {
            self.cuts.push(Cut { txn: predicted, n_dropped });
        }
    }

    /// Begins a statement with its first operation, and ends the one before.
    fn open_statement(&mut self, op: OpId) {
        if self.statements == Statements::Kept && self.history.statement_of(op).ops().next() == Some(op) {
            self.close_statement();
            self.builder.begin_statement();
        }
    }

    fn close_statement(&mut self) {
        if self.builder.is_statement_open() {
            // Each read says by itself whether it locks.
            self.builder.end_statement(Locking::Free);
        }
    }

    fn op(&mut self, run: &Run, txn: TxnIdx, op: OpId, own: &mut FxHashMap<KeyId, OpId>) {
        let key = self.history.op(op).key();
        let value = match self.history.op(op) {
            Op::Write { .. } => {
                own.insert(key, op);
                self.labels[&op].clone()
            }
            _ => match own.get(&key) {
                Some(write) => self.labels[write].clone(),
                None => self.seen(run, txn, op, key),
            },
        };
        let name = self.history.key_name(key);
        let copied = self.builder.key_named(name);
        let initial = self.builder.value_named(self.history.value(self.history.initial_value(key)));
        self.builder.initial(copied, initial, Place::default());
        let value = self.builder.value(value);
        if let Op::Write { .. } = self.history.op(op) {
            self.builder.write(copied, value);
        } else {
            self.builder.read(copied, value);
            if self.statements == Statements::Kept && self.history.sees_newest(op) {
                self.builder.lock_last_read();
            }
        }
        self.n_ops += 1;
    }

    /// What a read of another transaction's write sees now.
    fn seen(&mut self, run: &Run, txn: TxnIdx, op: OpId, key: KeyId) -> Datum {
        let reads = &self.trace.reads[txn as usize];
        let nth = reads.iter().position(|it| it.op == op).expect("a read of a foreign write has a source");
        let observed = reads[nth].source;
        let seen = run.reads[txn as usize].iter().find(|it| it.nth == nth);
        let source = seen.map_or(observed, |it| it.source);
        let id = |txn: TxnIdx| if txn == INITIAL { TxnId::INITIAL } else { self.trace.ids[txn as usize] };
        let early = self.trace.early_cut(txn).filter(|it| it.read == op);
        let (from, to) = (early.map_or(id(observed), |it| it.observed), id(source));
        if from != to {
            self.changed.push(ChangedRead { op: OpId::from_index(self.n_ops), observed_op: op, from, to });
        }
        match self.last_writes.get(&(id(source), key)) {
            Some(write) => self.labels[write].clone(),
            None => self.history.value(self.history.initial_value(key)).to_datum(),
        }
    }
}

/// A builder that knows where the observed history came from.
fn builder(history: &History, ids: &[TxnId]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    let n_sources = ids.iter().map(|it| history.place(*it).source + 1).max().unwrap_or(0);
    for source in 0..n_sources {
        if let Some((name, unit)) = history.source(Place { source, ..Place::default() }) {
            builder.source(name, unit);
        }
    }
    builder
}

/// By write, a value that no other write of its key has.
fn labels(history: &History, ids: &[TxnId]) -> FxHashMap<OpId, Datum> {
    let writes = || ids.iter().flat_map(|it| history.ops(*it)).filter(|it| history.op(*it).is_write());
    let value = |op| match history.op(op) {
        Op::Write { value, .. } => history.value(value).to_datum(),
        _ => Datum::Null,
    };
    let initial = |key| history.value(history.initial_value(key)).to_datum();
    let mut taken: FxHashSet<(KeyId, Datum)> = FxHashSet::default();
    for op in writes() {
        let key = history.op(op).key();
        taken.extend([(key, value(op)), (key, initial(key))]);
    }
    let mut times: FxHashMap<(KeyId, Datum), u32> = FxHashMap::default();
    let mut labels = FxHashMap::default();
    for op in writes() {
        let key = history.op(op).key();
        times.entry((key, initial(key))).or_insert(1);
        let n_times = times.entry((key, value(op))).or_insert(0);
        *n_times += 1;
        let mut label = value(op);
        while *n_times > 1 {
            label = Datum::text(format!("{}#{n_times}", plain(&value(op))));
            if taken.insert((key, label.clone())) {
                break;
            }
            *n_times += 1;
        }
        labels.insert(op, label);
    }
    labels
}

/// A value without quotes.
fn plain(value: &Datum) -> String {
    match value {
        Datum::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}
