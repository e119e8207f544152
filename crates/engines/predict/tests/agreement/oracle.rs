//! Brute force: every run that the definition of a prediction speaks of, judged by the text of the levels.
//!
//! Each session repeats some of its committed transactions, the complete ones, and then perhaps the next one, which is on
//! the boundary. Whoever is read from is complete. Reads of complete transactions keep their observed writers. A
//! boundary transaction is cut after a read that has another writer (strict), or is whole, with any writers, at least one
//! of them another (relaxed).
//! Cost: the product of what the sessions can do, times the search of the reference evaluator.

use iso_evidence::Witness;
use iso_history::{Datum, Facts, History, HistoryBuilder, KeyId, Locking, Name, Op, OpId, Outcome, Place, TxnId};
use iso_predict::Boundary;
use iso_spec::{Catalogue, Level, Prepared, Steps};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;

/// What is decided about each run; a level after those that it implies.
const JUDGED: [Level; 6] = iso_predict::LEVELS;

/// The observed run: who committed in which session, and who read from whom.
#[derive(Debug)]
pub(crate) struct Observed<'h> {
    history: &'h History,
    sessions: Vec<Vec<TxnId>>,
    sources: BTreeMap<OpId, TxnId>,
}

/// A run that could have happened instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// In the order of the input; how many operations of each are left.
    pub(crate) txns: Vec<(TxnId, usize)>,
    /// The writer of each external read.
    pub(crate) sources: BTreeMap<OpId, TxnId>,
    /// Which of the transactions are on the boundary.
    pub(crate) boundary: Vec<TxnId>,
}

impl<'h> Observed<'h> {
    pub(crate) fn new(history: &'h History, witness: &Witness) -> Self {
        let committed = |it: &&TxnId| history.outcome(**it) == Outcome::Committed;
        let session = |it| history.session_txns(it).iter().filter(committed).copied().collect();
        Self {
            history,
            sessions: history.sessions().map(session).collect(),
            sources: witness.sources.iter().map(|it| (it.read, it.writer)).collect(),
        }
    }

    /// Who wrote what an external read saw.
    pub(crate) fn source(&self, read: OpId) -> Option<TxnId> {
        self.sources.get(&read).copied()
    }

    /// The reads of keys that the transaction has not written before, in program order.
    fn reads(&self, txn: TxnId) -> impl Iterator<Item = OpId> {
        let is_read = |it: &OpId| !self.history.op(*it).is_write();
        self.history.ops(txn).filter(is_read).filter(move |read| {
            let is_own = |it: OpId| it < *read && self.is_write_of(it, self.key(*read));
            !self.history.ops(txn).any(is_own)
        })
    }

    fn key(&self, op: OpId) -> KeyId {
        self.history.op(op).key()
    }

    fn is_write_of(&self, op: OpId, key: KeyId) -> bool {
        self.history.op(op).is_write() && self.key(op) == key
    }

    /// Does a transaction of which so many operations are left still write what the read sees? What was observed to be read
    /// is its last write.
    fn is_left(&self, read: OpId, (txn, n_ops): (TxnId, usize)) -> bool {
        let is_write = |it: &OpId| self.is_write_of(*it, self.key(read));
        let n_left = self.history.ops(txn).take(n_ops).filter(is_write).count();
        let n_all = self.history.ops(txn).filter(is_write).count();
        if self.source(read) == Some(txn) { n_left == n_all && n_left > 0 } else { n_left > 0 }
    }

    fn writes(&self, txn: TxnId, key: KeyId) -> bool {
        txn.is_initial() || self.history.ops(txn).any(|it| self.is_write_of(it, key))
    }
}

/// What one session can do after its complete transactions: nothing, or a transaction with so many operations.
#[derive(Clone, Debug)]
struct End {
    last: Option<(TxnId, usize)>,
    sources: Vec<(OpId, TxnId)>,
}

/// Visits every run.
pub(crate) fn each_run(observed: &Observed<'_>, boundary: Boundary, visit: &mut dyn FnMut(Run)) {
    let n_complete: Vec<Vec<usize>> = observed.sessions.iter().map(|it| (0..=it.len()).collect()).collect();
    for n_complete in product(&n_complete) {
        let parts = observed.sessions.iter().zip(&n_complete).map(|(session, n)| session.split_at(*n));
        let (complete, rest): (Vec<&[TxnId]>, Vec<&[TxnId]>) = parts.unzip();
        let complete: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(complete.concat()).collect();
        let reads = complete.iter().flat_map(|it| observed.reads(*it));
        let sources: BTreeMap<OpId, TxnId> = reads.map(|it| (it, observed.sources[&it])).collect();
        // Who may be seen, if it is there: perhaps those on the boundary, too.
        let next = rest.iter().filter_map(|it| it.first()).filter(|_| boundary == Boundary::StrictEvents);
        let seen: Vec<TxnId> = complete.iter().chain(next).copied().collect();
        if !sources.values().all(|it| seen.contains(it)) {
            continue;
        }
        let ends: Vec<Vec<End>> = rest.iter().map(|it| ends(observed, &seen, it, boundary)).collect();
        for ends in product(&ends) {
            let all = sources.iter().map(|(read, writer)| (*read, *writer));
            let mut all = all.chain(ends.iter().flat_map(|it| it.sources.iter().copied()));
            let is_there = |(read, writer): (OpId, TxnId)| {
                let last = ends.iter().filter_map(|it| it.last).find(|it| it.0 == writer);
                complete.contains(&writer) || last.is_some_and(|it| observed.is_left(read, it))
            };
            if !all.all(is_there) {
                continue;
            }
            let whole = complete[1..].iter().map(|it| (*it, observed.history.ops(*it).len()));
            let last: Vec<(TxnId, usize)> = ends.iter().filter_map(|it| it.last).collect();
            let mut txns: Vec<(TxnId, usize)> = whole.chain(last.iter().copied()).collect();
            txns.sort_unstable();
            let mut sources = sources.clone();
            sources.extend(ends.iter().flat_map(|it| &it.sources).copied());
            visit(Run { txns, sources, boundary: last.iter().map(|it| it.0).collect() });
        }
    }
}

/// Everything that a session can do after its complete transactions, given those of all sessions.
fn ends(observed: &Observed<'_>, complete: &[TxnId], rest: &[TxnId], boundary: Boundary) -> Vec<End> {
    let nothing = End { last: None, sources: Vec::new() };
    let Some(txn) = rest.first().copied() else { return vec![nothing] };
    let any = |read: OpId| -> Vec<(OpId, TxnId)> {
        let writers = complete.iter().filter(|it| **it != txn && observed.writes(**it, observed.key(read)));
        writers.map(|it| (read, *it)).collect()
    };
    let another = |read: OpId| -> Vec<(OpId, TxnId)> {
        any(read).into_iter().filter(|it| observed.source(read) != Some(it.1)).collect()
    };
    let as_observed = |read: OpId| -> Vec<(OpId, TxnId)> {
        let writer = observed.sources[&read];
        if complete.contains(&writer) { vec![(read, writer)] } else { Vec::new() }
    };
    let ops: Vec<OpId> = observed.history.ops(txn).collect();
    let reads: Vec<OpId> = observed.reads(txn).collect();
    let mut found = vec![nothing];
    match boundary {
        Boundary::Strict | Boundary::StrictEvents => {
            for (idx, read) in reads.iter().enumerate() {
                let earlier = reads[..idx].iter().map(|it| as_observed(*it));
                let choices: Vec<Vec<(OpId, TxnId)>> = earlier.chain([another(*read)]).collect();
                let n_ops = ops.iter().position(|it| it == read).unwrap() + 1;
                found.extend(product(&choices).into_iter().map(|sources| End { last: Some((txn, n_ops)), sources }));
            }
        }
        Boundary::Relaxed => {
            let choices: Vec<Vec<(OpId, TxnId)>> = reads.iter().map(|it| any(*it)).collect();
            let changes = |it: &Vec<(OpId, TxnId)>| it.iter().any(|(read, to)| observed.source(*read) != Some(*to));
            let changed = product(&choices).into_iter().filter(changes);
            found.extend(changed.map(|sources| End { last: Some((txn, ops.len())), sources }));
        }
    }
    found
}

/// Every way to take one of each.
fn product<T: Clone>(choices: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut found = vec![Vec::new()];
    for choices in choices {
        let longer = |it: &Vec<T>| choices.iter().map(|last| [it.as_slice(), from_ref(last)].concat()).collect();
        found = found.iter().flat_map(|it| -> Vec<Vec<T>> { longer(it) }).collect();
    }
    found
}

impl Run {
    /// The run as a history in which each write has a value of its own: the observed one with its number, as in `5#2`.
    pub(crate) fn history(&self, observed: &Observed<'_>) -> History {
        let history = observed.history;
        let mut builder = HistoryBuilder::new();
        for key in history.keys() {
            let initial = builder.value(history.value(history.initial_value(key)).to_datum());
            let key = builder.key(history.key_name(key).to_datum());
            builder.initial(key, initial, Place::default());
        }
        for (txn, n_ops) in &self.txns {
            let session = builder.session(history.session_name(history.session_of(*txn).unwrap()));
            builder.begin(session, Place::default());
            for op in history.ops(*txn).take(*n_ops) {
                if history.statement_of(op).ops().next() == Some(op) {
                    if builder.is_statement_open() {
                        builder.end_statement(Locking::Free);
                    }
                    builder.begin_statement();
                }
                let (key, seen) = (observed.key(op), self.version(observed, op));
                let value = match seen.map(|it| (it, history.op(it))) {
                    Some((seen, Op::Write { value, .. })) => numbered(history.value(value), seen.raw()),
                    _ => history.value(history.initial_value(key)).to_datum(),
                };
                let (key, value) = (builder.key(history.key_name(key).to_datum()), builder.value(value));
                if history.op(op).is_write() {
                    builder.write(key, value);
                    continue;
                }
                builder.read(key, value);
                if history.sees_newest(op) {
                    builder.lock_last_read();
                }
            }
            if builder.is_statement_open() {
                builder.end_statement(Locking::Free);
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    /// The write whose value an operation writes or sees; none is the initial state.
    fn version(&self, observed: &Observed<'_>, op: OpId) -> Option<OpId> {
        let (history, key) = (observed.history, observed.key(op));
        let writer = self.sources.get(&op).copied();
        let txn = writer.unwrap_or_else(|| history.txn_of(op));
        let n_ops = self.txns.iter().find(|it| it.0 == txn).map_or(usize::MAX, |it| it.1);
        let ops: Vec<OpId> = history.ops(txn).take(n_ops).collect();
        let mut ops = ops.into_iter().rev();
        // What is no external read is a write, or sees the one before it.
        ops.find(|it| (writer.is_some() || *it <= op) && observed.is_write_of(*it, key))
    }

    /// The reads whose writer is another one than observed, and that writer.
    pub(crate) fn changes(&self, observed: &Observed<'_>) -> BTreeSet<(OpId, TxnId)> {
        let is_other = |it: &(OpId, TxnId)| observed.source(it.0) != Some(it.1);
        self.sources.iter().map(|(read, writer)| (*read, *writer)).filter(is_other).collect()
    }

    /// The transactions with who reads from whom, as in `s1.2: { r(x) from init, w(x) }`.
    pub(crate) fn describe(&self, history: &History) -> String {
        let key = |it| history.key_name(history.op(it).key());
        let op = |it: OpId| match self.sources.get(&it) {
            Some(writer) => format!("r({}) from {}", key(it), history.label(*writer)),
            None if history.op(it).is_write() => format!("w({})", key(it)),
            None => format!("r({}) from itself", key(it)),
        };
        let txn = |(txn, n_ops): &(TxnId, usize)| {
            let ops: Vec<String> = history.ops(*txn).take(*n_ops).map(op).collect();
            format!("{}: {{ {} }}", history.label(*txn), ops.join(", "))
        };
        self.txns.iter().map(txn).collect::<Vec<_>>().join("\n")
    }

    /// Is there an interleaving of the sessions in which each read sees the last write?
    ///
    /// This is what the text of the level says, only faster: a test compares them.
    pub(crate) fn is_serializable(&self, observed: &Observed<'_>) -> bool {
        let mut sessions: BTreeMap<_, Vec<OracleStep>> = BTreeMap::new();
        for (txn, n_ops) in &self.txns {
            let ops = || observed.history.ops(*txn).take(*n_ops);
            let reads = ops().filter_map(|it| self.sources.get(&it).map(|writer| (observed.key(it), *writer)));
            let writes = ops().filter(|it| observed.history.op(*it).is_write()).map(|it| observed.key(it));
            let step = OracleStep { txn: *txn, reads: reads.collect(), writes: writes.collect() };
            sessions.entry(observed.history.session_of(*txn)).or_default().push(step);
        }
        let sessions: Vec<&[OracleStep]> = sessions.values().map(Vec::as_slice).collect();
        can_go_on(&sessions, &vec![TxnId::INITIAL; observed.history.n_keys()])
    }
}

fn numbered(value: Name<'_>, number: u32) -> Datum {
    match value {
        Name::Text(text) | Name::Number(text) => Datum::text(format!("{text}#{number}")),
        other => Datum::text(format!("{other}#{number}")),
    }
}

struct OracleStep {
    txn: TxnId,
    reads: Vec<(KeyId, TxnId)>,
    writes: Vec<KeyId>,
}

/// Can the rest of the sessions run, one transaction after the other, when these wrote the keys last?
fn can_go_on(sessions: &[&[OracleStep]], last: &[TxnId]) -> bool {
    let mut is_over = true;
    for (idx, session) in sessions.iter().enumerate() {
        let [step, rest @ ..] = session else { continue };
        is_over = false;
        if step.reads.iter().all(|(key, writer)| last[key.index()] == *writer) {
            let (mut sessions, mut last) = (sessions.to_vec(), last.to_vec());
            sessions[idx] = rest;
            step.writes.iter().for_each(|it| last[it.index()] = step.txn);
            if can_go_on(&sessions, &last) {
                return true;
            }
        }
    }
    is_over
}

/// Which levels allow a run that is not serializable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Allowed([bool; JUDGED.len()]);

impl Allowed {
    fn has(self, level: Level) -> bool {
        JUDGED.iter().position(|it| *it == level).is_some_and(|it| self.0[it])
    }
}

/// What the text of a level says about a history.
pub(crate) fn allows(history: &History, level: Level) -> bool {
    judge(&Prepared::new(&Facts::new(history)), level)
}

fn judge(prepared: &Prepared<'_, '_>, level: Level) -> bool {
    let answer = prepared.evaluate(Catalogue::builtin().of(level), &mut Steps::unlimited());
    answer.is_allowed().expect("small histories are decided")
}

/// Judges runs, and knows those that it has seen.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    known: FxHashMap<Vec<u8>, Allowed>,
    pub(crate) n_runs: u64,
    pub(crate) n_evaluated: u64,
}

/// The runs that are not serializable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings(Vec<(Allowed, Run)>);

impl Findings {
    /// The runs that the level allows and the target forbids.
    pub(crate) fn of(&self, level: Level, target: Level) -> impl Iterator<Item = &Run> {
        self.0.iter().filter(move |it| it.0.has(level) && !it.0.has(target)).map(|it| &it.1)
    }
}

impl Judge {
    pub(crate) fn findings(&mut self, observed: &Observed<'_>, boundary: Boundary) -> Findings {
        let mut findings = Findings::default();
        each_run(observed, boundary, &mut |run| {
            self.n_runs += 1;
            // All targets are implied by serializability, so such a run is never predicted.
            if !run.is_serializable(observed) {
                let allowed = self.allowed(observed, &run);
                findings.0.push((allowed, run));
            }
        });
        findings
    }

    fn allowed(&mut self, observed: &Observed<'_>, run: &Run) -> Allowed {
        let shape = shape(observed, run);
        if let Some(allowed) = self.known.get(&shape) {
            return *allowed;
        }
        self.n_evaluated += 1;
        let history = run.history(observed);
        let facts = Facts::new(&history);
        let prepared = Prepared::new(&facts);
        let mut allowed = Allowed::default();
        for (idx, level) in JUDGED.into_iter().enumerate() {
            let is_possible = JUDGED[..idx].iter().all(|it| !level.implies(*it) || allowed.has(*it));
            allowed.0[idx] = is_possible && judge(&prepared, level);
        }
        self.known.insert(shape, allowed);
        allowed
    }
}

/// What levels can tell of a run: external reads and written keys, with numbers for names.
///
/// Keys are numbered as they come, and transactions in their sessions: runs with the same shape differ only in names.
fn shape(observed: &Observed<'_>, run: &Run) -> Vec<u8> {
    const END_OF_TXN: u8 = 255;
    let history = observed.history;
    let mut txns: Vec<TxnId> = run.txns.iter().map(|it| it.0).collect();
    txns.sort_by_key(|it| history.session_of(*it));
    let number = |it: &TxnId| txns.iter().position(|txn| txn == it).map_or(0, |it| it as u8 + 1);
    let mut keys: Vec<KeyId> = Vec::new();
    let mut shape = Vec::new();
    let mut session = None;
    for txn in &txns {
        let n_ops = run.txns.iter().find(|it| it.0 == *txn).unwrap().1;
        shape.push(u8::from(history.session_of(*txn) != session));
        session = history.session_of(*txn);
        for op in history.ops(*txn).take(n_ops) {
            let source = run.sources.get(&op);
            if source.is_none() && !history.op(op).is_write() {
                continue;
            }
            let key = observed.key(op);
            let key_idx = keys.iter().position(|it| *it == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            shape.extend([key_idx as u8, source.map_or(END_OF_TXN, number)]);
        }
        shape.push(END_OF_TXN);
    }
    shape
}
