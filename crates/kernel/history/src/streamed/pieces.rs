//! Cuts transactions of a recording at their statements, as [`History::pieces`](crate::History::pieces) does.
//!
//! What plain reads of a snapshot see is a piece, and so is what a statement did not find although it looked at newest versions.
//! Everything that locks or writes is the last piece. What locks is a piece behind its statement as well, if anything is read
//! later: nobody overwrites it until the last piece. Each transaction has its pieces in one order, one after the other. Three things are cut more
//! strictly here than there, so that whatever has an order here has one there, but not the other way round:
//!
//! - What a statement that locks did not find, it did not find at one moment.
//! - A snapshot that all plain reads share is taken after what was locked before the first of them.
//! - A transaction of unknown outcome is not cut.

use super::{Part, StreamedBlock, StreamedStatement, StreamedTxn};
use crate::{Outcome, Snapshots};
use std::ops::Range;
use std::sync::Arc;

/// The pieces of the transactions of a recording.
#[derive(Clone, Debug)]
pub struct StreamedPieces {
    snapshots: Snapshots,
    /// How many each session has.
    n_of_session: Vec<u32>,
    /// The block that was cut last, its pieces, and where those of each transaction begin.
    cut: Option<Cut>,
}

#[derive(Clone, Debug)]
struct Cut {
    block: Arc<StreamedBlock>,
    first: usize,
    pieces: Arc<StreamedBlock>,
    starts: Vec<usize>,
}

/// What a statement saw: reads and scans, by their numbers in the transaction.
#[derive(Default)]
struct Seen {
    reads: Vec<usize>,
    scans: Vec<usize>,
}

impl Seen {
    fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.scans.is_empty()
    }
}

/// A statement with what it saw of its snapshot, and of newest versions.
#[derive(Default)]
struct Statement {
    nth: u32,
    plain: Seen,
    newest: Seen,
}

impl StreamedPieces {
    /// None so far.
    pub fn new(snapshots: Snapshots) -> Self {
        Self { snapshots, n_of_session: Vec::new(), cut: None }
    }

    /// The pieces of a transaction, which are some of a block. Those of a recording are asked for one after the other, and of a block
    /// from some on.
    pub fn of(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> (Arc<StreamedBlock>, Range<usize>) {
        if !self.cut.as_ref().is_some_and(|it| Arc::ptr_eq(&it.block, block) && it.first <= idx) {
            let (mut pieces, mut starts) = (StreamedBlock::default(), vec![0]);
            for nth in idx..block.n_txns() {
                self.cut(&block.txn(nth), &mut pieces);
                starts.push(pieces.n_txns());
            }
            self.cut = Some(Cut { block: Arc::clone(block), first: idx, pieces: Arc::new(pieces), starts });
        }
        let cut = self.cut.as_ref().expect("it was cut just now");
        let nth = idx - cut.first;
        (Arc::clone(&cut.pieces), cut.starts[nth]..cut.starts[nth + 1])
    }

    fn cut(&mut self, txn: &StreamedTxn<'_>, pieces: &mut StreamedBlock) {
        let session = txn.session.index();
        if session >= self.n_of_session.len() {
            self.n_of_session.resize(session + 1, 0);
        }
        let n = &mut self.n_of_session[session];
        if txn.outcome != Outcome::Committed {
            pieces.copy(&StreamedTxn { nth: *n, ..*txn });
            *n += 1;
            return;
        }
        let statements = txn.by_statement();
        let last = statements.iter().rposition(|it| !it.plain.is_empty() || !it.newest.is_empty());
        let first_plain = statements.iter().position(|it| !it.plain.is_empty());
        let (mut locked, n_before) = (Vec::new(), *n);
        for (idx, statement) in statements.iter().enumerate() {
            match self.snapshots {
                Snapshots::PerStatement => pieces.moment(txn, n, &[&statement.plain]),
                Snapshots::PerTransaction if first_plain == Some(idx) => {
                    let plain: Vec<&Seen> = statements.iter().map(|it| &it.plain).collect();
                    pieces.moment(txn, n, &plain);
                }
                Snapshots::PerTransaction => {}
            }
            pieces.moment(txn, n, &[&Seen { reads: Vec::new(), scans: statement.newest.scans.clone() }]);
            if last > Some(idx) && !statement.newest.reads.is_empty() {
                pieces.begin_part(txn, n, &[&statement.newest.reads]);
                pieces.end_copy(Part { locks: true, is_last: false }, None);
            }
            locked.extend(&statement.newest.reads);
        }
        if !locked.is_empty() || !txn.writes().is_empty() || txn.contradicted().is_some() || *n == n_before {
            pieces.begin_part(txn, n, &[&locked]);
            pieces.copy_writes(txn);
            pieces.end_copy(Part::WHOLE, txn.contradicted());
        } else if let Some(head) = pieces.heads.last_mut() {
            head.part.is_last = true;
        }
    }
}

impl StreamedBlock {
    /// A piece that sees all of this at one moment, if there is anything to see.
    fn moment(&mut self, txn: &StreamedTxn<'_>, n: &mut u32, seen: &[&Seen]) {
        if seen.iter().all(|it| it.is_empty()) {
            return;
        }
        let reads: Vec<&Vec<usize>> = seen.iter().map(|it| &it.reads).collect();
        self.begin_part(txn, n, &reads);
        for nth in seen.iter().flat_map(|it| &it.scans) {
            self.copy_scan(txn, *nth);
        }
        self.end_copy(Part { locks: false, is_last: false }, None);
    }

    /// The next piece of a session, with these reads of a transaction.
    fn begin_part(&mut self, txn: &StreamedTxn<'_>, n: &mut u32, reads: &[&Vec<usize>]) {
        self.begin((txn.session, *n), txn.at, txn.outcome, (txn.begin, txn.end));
        *n += 1;
        let mut lists = txn.lists().peekable();
        let mut wanted = reads.iter().flat_map(|it| it.iter().copied()).peekable();
        for (idx, (key, value)) in txn.reads().iter().enumerate() {
            // The next list is that of the next read of its key.
            let list = lists.next_if(|it| it.0 == *key);
            if wanted.next_if_eq(&idx).is_some() {
                self.ops.push((*key, value.clone()));
                if let Some((key, elements)) = list {
                    self.copy_list(key, elements);
                }
            }
        }
    }
}

impl StreamedTxn<'_> {
    /// What it saw, statement by statement.
    fn by_statement(&self) -> Vec<Statement> {
        let mut statements: Vec<Statement> = Vec::new();
        let alone = |it: usize| StreamedStatement { nth: it as u32, newest: false };
        for idx in 0..self.reads.len() {
            let said = self.statements.get(idx).copied().unwrap_or_else(|| alone(idx));
            seen_in(&mut statements, said).reads.push(idx);
        }
        for (nth, scan) in self.scans.entries.iter().enumerate() {
            let said = scan.statement.unwrap_or_else(|| alone(self.reads.len() + nth));
            seen_in(&mut statements, said).scans.push(nth);
        }
        statements
    }
}

/// What a statement saw of its snapshot, or of newest versions.
fn seen_in(statements: &mut Vec<Statement>, said: StreamedStatement) -> &mut Seen {
    let place = statements.partition_point(|it| it.nth < said.nth);
    if statements.get(place).is_none_or(|it| it.nth != said.nth) {
        statements.insert(place, Statement { nth: said.nth, ..Statement::default() });
    }
    let statement = &mut statements[place];
    if said.newest { &mut statement.newest } else { &mut statement.plain }
}
