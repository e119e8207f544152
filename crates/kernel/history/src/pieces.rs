//! Cuts transactions at their statements, so that each piece reads at one moment.
//!
//! Where statements have snapshots of their own, a transaction happens in pieces: each statement's plain reads together,
//! and at last everything that locks or writes. Whoever reads what was written finds it in the last piece. A history is
//! allowed with such snapshots exactly if its pieces are serializable (decision 0019).
//!
//! - Rows that a statement locks have their newest version when it ends, all at once; what comes later sees at least that. So
//!   these reads are a piece behind the statement as well, if anything is read later.
//!   Such a read is there twice, and must have one source. So where it has several possible writers, each of them waits for the
//!   lock: a mark says whether it is taken, and they see that it is not.
//! - Rows that a locking statement looked at and did not return may have been looked at one by one, at any time until
//!   it ended. Each is a piece by itself. If there are several, they have sessions of their own, and marks, which are written and
//!   read by nobody else, say what they come after and before.

use crate::project::{Copy, n_external};
use crate::{
    Column, Comparison, Datum, Facts, History, KeyId, Op, OpId, Outcome, Predicate, Projection, TxnId, ValueId,
};
use crate::{PieceKind, Snapshots, Standing};
use rustc_hash::FxHashSet;

/// A history cut into pieces, with the way back.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// The pieces, as transactions.
    pub history: History,
    /// For each piece, the initial one included, the transaction that it is of.
    pub txns: Vec<TxnId>,
    /// For each piece, what it is.
    pub kinds: Vec<PieceKind>,
    /// For each operation of a piece, the one that it is; none for marks.
    pub ops: Vec<Option<OpId>>,
    /// For each key, the one that it is; any for marks.
    pub keys: Vec<KeyId>,
}

impl History {
    /// Cuts the history. Transactions that aborted stay whole: only their writes matter.
    ///
    /// The pieces of a transaction have numbers in an order in which they may happen one right after the other.
    pub fn pieces(&self, snapshots: Snapshots) -> Pieces {
        let mut cutter = Cutter::new(self);
        for txn in self.txns() {
            if self.outcome(txn) == Outcome::Aborted {
                cutter.chain_on(Draft::new(PieceKind::Commit, self.ops(txn).collect()));
            } else {
                cutter.cut(txn, snapshots);
            }
            cutter.end();
        }
        cutter.lock_rows();
        Writer::new(self).write(&cutter.drafts)
    }

    /// Cuts each transaction into what it sees of its snapshot, and the rest, which happens when it commits.
    ///
    /// What it overwrites has not changed in between. This says nothing of rows that it makes: an insert sees that there is
    /// none when it happens, whatever the snapshot has.
    ///
    /// Cost: for each row, the square of the number of its writers.
    pub fn snapshot_pieces(&self) -> Pieces {
        let mut cutter = Cutter::new(self);
        for txn in self.txns() {
            let reads = self.external_by_statement(txn).into_iter().flatten();
            let is_seen = self.outcome(txn) != Outcome::Aborted;
            let seen: Vec<OpId> = reads.filter(|it| is_seen && !self.is_insert(*it)).collect();
            let rest = self.ops(txn).filter(|it| seen.binary_search(it).is_err()).collect();
            if !seen.is_empty() {
                cutter.chain_on(Draft::moment(seen));
            }
            cutter.chain_on(Draft::new(PieceKind::Commit, rest));
            cutter.end();
        }
        cutter.lock_overwritten();
        Writer::new(self).write(&cutter.drafts)
    }

    /// The reads of a transaction of what others wrote, by statement.
    fn external_by_statement(&self, txn: TxnId) -> Vec<Vec<OpId>> {
        let mut statements: Vec<Vec<OpId>> = Vec::new();
        let (mut open, mut written, mut appended) = (None, FxHashSet::default(), Vec::new());
        for op in self.ops(txn) {
            let (statement, key) = (self.statement_of(op), self.op(op).key());
            if open != Some(statement) {
                open = Some(statement);
                statements.push(Vec::new());
            }
            let is_external = match self.op(op) {
                Op::Write { .. } => {
                    written.insert(key);
                    false
                }
                Op::Append { value, .. } => {
                    appended.push((key, value));
                    false
                }
                // A list that does not end in what the transaction appended is wrong by itself.
                Op::ReadList { values, .. } => {
                    let own: Vec<ValueId> = appended.iter().filter(|it| it.0 == key).map(|it| it.1).collect();
                    values.ends_with(&own)
                }
                Op::Read { .. } | Op::Omit { .. } => !written.contains(&key) && !self.is_hidden(op),
            };
            if is_external {
                statements.last_mut().into_iter().for_each(|it| it.push(op));
            }
        }
        statements
    }
}

/// A piece before it is a transaction.
struct Draft {
    kind: PieceKind,
    ops: Vec<OpId>,
    /// Marks that it reads, and marks that it writes.
    after: Vec<usize>,
    before: Vec<usize>,
    /// Locks that it takes, gives back, and finds free.
    takes: Vec<usize>,
    gives: Vec<usize>,
    free: Vec<usize>,
}

impl Draft {
    fn new(kind: PieceKind, ops: Vec<OpId>) -> Self {
        Self { kind, ops, after: vec![], before: vec![], takes: vec![], gives: vec![], free: vec![] }
    }

    fn moment(ops: Vec<OpId>) -> Self {
        Self::new(PieceKind::Moment(ops.first().copied()), ops)
    }
}

/// The pieces of a transaction: those that come one after the other, and those that do not.
#[derive(Default)]
struct Drafts {
    chain: Vec<Draft>,
    /// Each with the piece of the chain that it comes after.
    beside: Vec<(usize, Draft)>,
}

struct Cutter<'h> {
    history: &'h History,
    /// Of all transactions so far.
    drafts: Vec<Drafts>,
    n_marks: usize,
    /// Of the transaction in hand.
    chain: Vec<Draft>,
    beside: Vec<(usize, Draft)>,
    /// What the next piece of the chain comes after.
    pending: Vec<usize>,
    /// Reads that are there twice: the transaction, and which piece of it.
    locked: Vec<(TxnId, usize)>,
}

impl<'h> Cutter<'h> {
    fn new(history: &'h History) -> Self {
        Self {
            history,
            drafts: vec![Drafts::default()],
            n_marks: 0,
            chain: Vec::new(),
            beside: Vec::new(),
            pending: Vec::new(),
            locked: Vec::new(),
        }
    }

    fn end(&mut self) {
        let (chain, beside) = (std::mem::take(&mut self.chain), std::mem::take(&mut self.beside));
        self.drafts.push(Drafts { chain, beside });
    }

    /// Whoever may have written what a lock protects waits for it.
    fn lock_rows(&mut self) {
        if self.locked.is_empty() {
            return;
        }
        let facts = Facts::new(self.history);
        for (txn, piece) in std::mem::take(&mut self.locked) {
            for op in self.drafts[txn.index()].chain[piece].ops.clone() {
                let read = facts.reads().binary_search_by_key(&op, |it| it.op);
                let candidates = read.map_or(&[][..], |it| facts.candidates(it));
                if candidates.len() < 2 {
                    continue;
                }
                let lock = self.mark();
                self.drafts[txn.index()].chain[piece].takes.push(lock);
                self.commit(txn).gives.push(lock);
                for writer in candidates.iter().filter(|it| !it.is_initial()) {
                    self.commit(*writer).free.push(lock);
                }
            }
        }
    }

    /// Whoever writes what a transaction overwrites waits, from its snapshot until it commits.
    fn lock_overwritten(&mut self) {
        let facts = Facts::new(self.history);
        for txn in facts.txns().filter(|it| facts.standing(*it) == Standing::Counted) {
            if self.drafts[txn.index()].chain.len() < 2 {
                continue;
            }
            for (key, _) in facts.final_writes(txn).iter().filter(|it| !self.history.makes(txn, it.0)) {
                let others: Vec<TxnId> = facts.writers_of(*key).iter().copied().filter(|it| *it != txn).collect();
                if others.is_empty() {
                    continue;
                }
                let lock = self.mark();
                self.drafts[txn.index()].chain[0].takes.push(lock);
                self.commit(txn).gives.push(lock);
                for other in others {
                    self.commit(other).free.push(lock);
                }
            }
        }
    }

    fn commit(&mut self, txn: TxnId) -> &mut Draft {
        self.drafts[txn.index()].chain.last_mut().expect("every transaction ends")
    }

    fn cut(&mut self, txn: TxnId, snapshots: Snapshots) {
        let history = self.history;
        let statements = history.external_by_statement(txn);
        let is_plain = |it: &OpId| !history.sees_newest(*it);
        let is_omission = |it: &OpId| matches!(history.op(*it), Op::Omit { .. });
        let last_with_reads = statements.iter().rposition(|it| !it.is_empty());
        let first_plain = statements.iter().position(|it| it.iter().any(is_plain));
        let is_late = |it: usize| statements[..it].iter().any(|it| !it.is_empty());
        let takes_snapshot_late = snapshots == Snapshots::PerTransaction && first_plain.is_some_and(is_late);
        if takes_snapshot_late {
            self.chain_on(Draft::moment(Vec::new()));
        }
        let mut moved: Vec<OpId> = Vec::new();
        for (idx, statement) in statements.iter().enumerate() {
            let (plain, newest): (Vec<OpId>, Vec<OpId>) = statement.iter().copied().partition(is_plain);
            let (omitted, locked): (Vec<OpId>, Vec<OpId>) = newest.into_iter().partition(is_omission);
            moved.extend(plain.iter().chain(&omitted));
            let seen = match snapshots {
                Snapshots::PerTransaction if first_plain != Some(idx) => Vec::new(),
                Snapshots::PerTransaction => statements.iter().flatten().copied().filter(is_plain).collect(),
                Snapshots::PerStatement => plain,
            };
            match seen.is_empty() {
                true => {}
                false if takes_snapshot_late => self.take_snapshot_beside(seen),
                false => self.chain_on(Draft::moment(seen)),
            }
            let is_read_later = Some(idx) < last_with_reads;
            self.add_newest(txn, omitted, if is_read_later { locked } else { Vec::new() });
        }
        moved.sort_unstable();
        let rest = history.ops(txn).filter(|it| moved.binary_search(it).is_err() && !history.is_hidden(*it)).collect();
        self.chain_on(Draft::new(PieceKind::Commit, rest));
    }

    /// A snapshot that may be older than what the transaction locked before, but not than the transaction itself.
    fn take_snapshot_beside(&mut self, seen: Vec<OpId>) {
        let (start, end) = (self.mark(), self.mark());
        self.chain[0].before.push(start);
        self.beside.push((0, Draft { after: vec![start], before: vec![end], ..Draft::moment(seen) }));
        self.pending.push(end);
    }

    /// What a statement saw of newest versions: rows that it did not return, one by one, and rows that it locked, all at
    /// once.
    fn add_newest(&mut self, txn: TxnId, omitted: Vec<OpId>, locked: Vec<OpId>) {
        if let ([_], true) = (&omitted[..], locked.is_empty()) {
            self.chain_on(Draft::moment(omitted));
            return;
        }
        let mut ends = Vec::new();
        if !omitted.is_empty() {
            if self.chain.is_empty() || !self.pending.is_empty() {
                self.chain_on(Draft::new(PieceKind::Before(omitted[0]), Vec::new()));
            }
            let start = self.mark();
            self.chain.last_mut().into_iter().for_each(|it| it.before.push(start));
            for omission in omitted {
                let end = self.mark();
                ends.push(end);
                let draft = Draft { after: vec![start], before: vec![end], ..Draft::moment(vec![omission]) };
                self.beside.push((self.chain.len() - 1, draft));
            }
        }
        if !locked.is_empty() {
            self.locked.push((txn, self.chain.len()));
            self.chain_on(Draft::moment(locked));
        }
        self.pending.extend(ends);
    }

    fn mark(&mut self) -> usize {
        self.n_marks += 1;
        self.n_marks
    }

    fn chain_on(&mut self, mut draft: Draft) {
        draft.after.append(&mut self.pending);
        self.chain.push(draft);
    }
}

/// Makes transactions of pieces.
struct Writer<'h> {
    history: &'h History,
    copy: Copy<'h>,
    kinds: Vec<PieceKind>,
    ops: Vec<Option<OpId>>,
}

/// A lock is free if this is not so.
fn is_taken() -> Predicate {
    Predicate::Compare(Column::Named("lock".into()), Comparison::Equal, TAKEN.into())
}

const TAKEN: i64 = 1;
const GIVEN_BACK: i64 = 2;

impl<'h> Writer<'h> {
    fn new(history: &'h History) -> Self {
        Self { history, copy: Copy::new(history), kinds: vec![PieceKind::Commit], ops: Vec::new() }
    }

    fn write(mut self, drafts: &[Drafts]) -> Pieces {
        for (txn, drafts) in self.history.txns().zip(&drafts[1..]) {
            let mut beside: Vec<(usize, &(usize, Draft))> = drafts.beside.iter().enumerate().collect();
            beside.sort_by_key(|it| it.1.0);
            let mut beside = beside.into_iter().peekable();
            for (nth, draft) in drafts.chain.iter().enumerate() {
                self.copy.begin(txn);
                self.piece(txn, draft);
                while let Some((idx, (_, draft))) = beside.next_if(|it| it.1.0 == nth) {
                    // No name of a session in a file has a line end.
                    self.copy.begin_in(txn, &format!("{}\n{idx}", self.history.label(txn)));
                    self.piece(txn, draft);
                }
            }
        }
        let Projection { history, txns, keys, .. } = self.copy.finish();
        Pieces { history, txns, kinds: self.kinds, ops: self.ops, keys }
    }

    fn piece(&mut self, txn: TxnId, draft: &Draft) {
        for lock in &draft.free {
            let key = self.copy.mark(*lock);
            self.copy.builder.omit("", is_taken(), key);
            self.ops.push(None);
        }
        for mark in &draft.after {
            let (key, value) = (self.copy.mark(*mark), self.copy.builder.value(TAKEN.into()));
            self.copy.builder.read(key, value);
            self.ops.push(None);
        }
        let is_whole = draft.kind == PieceKind::Commit;
        for op in &draft.ops {
            let n_kept = if is_whole { usize::MAX } else { n_external(self.history, *op) };
            self.copy.op(*op, &|_, nth, _| nth < n_kept);
            self.ops.push(Some(*op));
        }
        let taken = draft.before.iter().chain(&draft.takes).map(|it| (*it, TAKEN));
        for (mark, value) in taken.chain(draft.gives.iter().map(|it| (*it, GIVEN_BACK))) {
            let (key, value) = (self.copy.mark(mark), self.copy.builder.value(value.into()));
            self.copy.builder.write(key, value);
            self.ops.push(None);
        }
        self.copy.builder.end(self.history.outcome(txn));
        self.kinds.push(draft.kind);
    }
}

impl Copy<'_> {
    /// A key that is in pieces only.
    fn mark(&mut self, number: usize) -> KeyId {
        let key = self.builder.key(Datum::text(format!("\nmark {number}")));
        if key.index() == self.keys.len() {
            // Nobody asks which key it is in the whole.
            self.keys.push(KeyId::from_index(0));
        }
        key
    }
}
