//! A better first order: that of a window which goes along the history, as it goes along a recording ([`crate::stream`]).
//!
//! Where sessions were held up, by a scheduler or by a database, some transactions took effect long before they ended, and some
//! read from old snapshots. Each of them is thousands of places away from where it belongs, and repairing an order of all
//! transactions moves whatever is between. A window has places for them at the cost of what they depend on.
//! What comes out is a guess as any other: it is run, and repaired if something does not fit.

use super::frame::Frame;
use crate::rule::Events;
use crate::stream::{Resolved, Stream};
use iso_evidence::{Budget, StopReason, StreamedStep};
use iso_history::{Access, Outcome, StreamedBlock, StreamedTxn, StreamedValue, TxnId};
use iso_spec::Level;

/// Fewer transactions are repaired in no time.
const MIN_TXNS: usize = 1 << 13;
/// So much that does not fit is repaired in no time.
const MIN_MISFITS: usize = 16;
/// Up to here the window has all of them; of larger histories, so many.
const MAX_WHOLE: usize = 1 << 18;
const WINDOW: usize = 1 << 15;
/// Transactions are told in blocks of so many, which are gone when they have left the window.
const BLOCK: usize = 1 << 10;
/// So often a part of the window is decided by itself; where more does not fit, an order of all is no worse.
const MAX_RESOLVED: usize = 1 << 8;
/// Histories with so many transactions go through a window as a stream has it, if the large one was not enough, and so many parts
/// of that are decided by themselves.
const MIN_STREAMED: usize = 1 << 16;
const STREAMED_WINDOW: usize = 20_000;
/// What was written so many transactions ago may have left that window.
const FAR: usize = STREAMED_WINDOW / 2;
const MAX_RESOLVED_FAR: usize = 1 << 6;
/// The budget is asked after so many transactions.
const N_UNASKED: usize = 1 << 8;

/// Is it worth to let a window go along the history? Without times, there is no order that is nearly right.
pub(super) fn is_worth_it(frame: &Frame<'_>, n_misfits: usize) -> bool {
    let is_told_by_time = frame.facts.history().has_times() && !frame.sources.is_open() && frame.recovered.is_empty();
    is_told_by_time && frame.n_txns() >= MIN_TXNS && n_misfits >= MIN_MISFITS
}

/// The order of a window to which transactions are told in this order; nothing if one does not fit.
pub(super) fn order_of_window(
    frame: &Frame<'_>,
    order: &[TxnId],
    budget: &Budget<'_>,
) -> Result<Option<Vec<TxnId>>, StopReason> {
    let window = if order.len() <= MAX_WHOLE { order.len() } else { WINDOW };
    let near = Parts { max_txns: MIN_TXNS, max_resolved: MAX_RESOLVED };
    if let Some(found) = order_of_told(frame, order, (window, near), budget)? {
        return Ok(Some(found));
    }
    // As a recording is streamed. What is decided by itself there is smaller than what gets here.
    let far = Parts { max_txns: MIN_STREAMED, max_resolved: MAX_RESOLVED_FAR };
    match by_ends(frame, order).filter(|it| it.len() >= MIN_STREAMED) {
        Some(told) => order_of_told(frame, &told, (STREAMED_WINDOW, far), budget),
        None => Ok(None),
    }
}

/// The same transactions by their ends, as a recording has them: readers may come before whom they read from. Whoever only reads,
/// and what no window reaches, comes right after the last one that it read from: there it sees the same as anywhere later where it
/// fits. Nothing if ends are against sessions.
fn by_ends(frame: &Frame<'_>, order: &[TxnId]) -> Option<Vec<TxnId>> {
    let history = frame.facts.history();
    let mut told = order.to_vec();
    told.sort_by_cached_key(|it| frame.end(*it).or(history.begin(*it)).unwrap_or(i64::MIN));
    let mut places = vec![0; frame.n_txns()];
    // By session, how many it has had, and where the last of them is.
    let mut sessions = vec![(0, 0); history.n_sessions()];
    for (idx, txn) in (1..).zip(&told) {
        let (n_before, last) = &mut sessions[history.session_of(*txn)?.index()];
        let nth = history.nth_in_session(*txn);
        if nth < *n_before {
            return None;
        }
        let mut place = idx;
        if !frame.rule.real_time && writes_nothing(frame, *txn) {
            let sources = frame.reads_of(*txn).filter_map(|it| frame.source(it)).filter(|it| !it.is_initial());
            let is_told = |it: TxnId| Some(places[it.index()]).filter(|it| *it > 0);
            let newest = sources.map(is_told).try_fold(*last, |newest, it| it.map(|it| newest.max(it)));
            place = newest.filter(|it| idx - it > FAR).unwrap_or(idx);
        }
        (*n_before, *last) = (nth + 1, place);
        places[txn.index()] = place;
    }
    // Stable: whoever was moved follows whom it was moved to.
    told.sort_by_key(|it| places[it.index()]);
    Some(told)
}

fn writes_nothing(frame: &Frame<'_>, txn: TxnId) -> bool {
    frame.facts.written_keys(txn).next().is_none()
}

/// Which parts of a window are decided by themselves.
#[derive(Clone, Copy, Debug)]
struct Parts {
    /// They have fewer transactions.
    max_txns: usize,
    /// There are so many at most.
    max_resolved: usize,
}

fn order_of_told(
    frame: &Frame<'_>,
    told: &[TxnId],
    (window, parts): (usize, Parts),
    budget: &Budget<'_>,
) -> Result<Option<Vec<TxnId>>, StopReason> {
    let Some(stream) = Stream::new(level_of(frame), value(TxnId::INITIAL), window) else { return Ok(None) };
    let (blocks, n_left, order) = (Vec::new(), Vec::new(), Vec::new());
    let mut pass = Pass { frame, stream, told, parts, blocks, n_left, n_resolved: 0, order };
    for idx in 0..told.len() {
        if idx.is_multiple_of(N_UNASKED) {
            budget.check()?;
        }
        if !pass.take(idx, budget) {
            return Ok(None);
        }
    }
    Ok(pass.finish(budget))
}

/// What a window calls the order that is asked for.
fn level_of(frame: &Frame<'_>) -> Level {
    match (frame.rule.events, frame.rule.real_time) {
        (Events::One, false) => Level::Serializable,
        (Events::One, true) => Level::StrictSerializable,
        (Events::FirstCommitterWins, false) => Level::SnapshotIsolation,
        (Events::FirstCommitterWins, true) => Level::StrongSnapshotIsolation,
        (Events::StartAndCommit, _) => Level::PrefixConsistency,
    }
}

/// Versions are told apart by their writers.
fn value(writer: TxnId) -> StreamedValue {
    StreamedValue::Int(i64::from(writer.raw()))
}

struct Pass<'f> {
    frame: &'f Frame<'f>,
    stream: Stream,
    told: &'f [TxnId],
    blocks: Vec<Option<StreamedBlock>>,
    /// By block, how many have left the window.
    n_left: Vec<usize>,
    parts: Parts,
    n_resolved: usize,
    order: Vec<TxnId>,
}

impl Pass<'_> {
    /// Takes the next transaction; false if it does not fit.
    fn take(&mut self, idx: usize, budget: &Budget<'_>) -> bool {
        if idx.is_multiple_of(BLOCK) {
            let last = (idx + BLOCK).min(self.told.len());
            self.blocks.push(Some(self.block(idx..last)));
            self.n_left.push(0);
        }
        let Some(txn) = txn(&self.blocks, idx as u64) else { return false };
        let misfits: Vec<u64> = self.stream.take(idx as u64, &txn).iter().map(|it| it.id).collect();
        if !misfits.is_empty() && !self.resolve(&misfits, budget) {
            return false;
        }
        let mut late = Vec::new();
        while let Some(left) = self.stream.retire(&mut late) {
            self.leave(left.id, left.step);
        }
        late.is_empty()
    }

    fn resolve(&mut self, misfits: &[u64], budget: &Budget<'_>) -> bool {
        self.n_resolved += 1;
        if self.n_resolved > self.parts.max_resolved {
            return false;
        }
        let blocks = &self.blocks;
        let resolved =
            self.stream.resolve_smaller(misfits, self.parts.max_txns, &|id| txn(blocks, id), &budget.silent());
        resolved == Resolved::Ordered
    }

    fn leave(&mut self, id: u64, step: StreamedStep) {
        if step == StreamedStep::Snapshot {
            return;
        }
        let idx = id as usize;
        self.order.push(self.told[idx]);
        self.n_left[idx / BLOCK] += 1;
        if self.n_left[idx / BLOCK] == BLOCK {
            self.blocks[idx / BLOCK] = None;
        }
    }

    fn finish(mut self, budget: &Budget<'_>) -> Option<Vec<TxnId>> {
        loop {
            let mut misfits = Vec::new();
            match self.stream.drain(&mut misfits) {
                Some(left) => self.leave(left.id, left.step),
                None => return (misfits.is_empty() && self.order.len() == self.told.len()).then_some(self.order),
            }
            budget.check().ok()?;
        }
    }

    fn block(&self, told: std::ops::Range<usize>) -> StreamedBlock {
        let (facts, history) = (self.frame.facts, self.frame.facts.history());
        let mut block = StreamedBlock::default();
        for txn in &self.told[told] {
            let Some(session) = history.session_of(*txn) else { continue };
            let nth = history.nth_in_session(*txn) as u32;
            let times = (history.begin(*txn), self.frame.end(*txn));
            block.begin((session, nth), 0, Outcome::Committed, times);
            for read in self.frame.reads_of(*txn) {
                let source = self.frame.source(read).unwrap_or(TxnId::INITIAL);
                block.push(Access::Read, self.frame.key(read), value(source)).ok();
            }
            for key in facts.written_keys(*txn) {
                block.push(Access::Write, key, value(*txn)).ok();
            }
            block.end();
        }
        block
    }
}

fn txn(blocks: &[Option<StreamedBlock>], id: u64) -> Option<StreamedTxn<'_>> {
    let (block, idx) = (id as usize / BLOCK, id as usize % BLOCK);
    let block = blocks.get(block)?.as_ref()?;
    (idx < block.n_txns()).then(|| block.txn(idx))
}

#[cfg(test)]
mod tests {
    use super::super::place::place;
    use super::super::start::first_orders;
    use super::*;
    use crate::rule::Rule;
    use iso_history::{Datum, Facts, History, HistoryBuilder, Name, Place};

    /// Serial, but now and then a session hears of its commit long after it, of which nobody reads anything.
    fn run_with_late_writers() -> History {
        let mut builder = HistoryBuilder::new();
        let mut held: Vec<(i64, bool)> = vec![(0, false); 50];
        let mut state = 7_u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let keys: Vec<_> = (0..50).map(|it| builder.key(Datum::Int(it))).collect();
        for key in &keys {
            let zero = builder.value_named(Name::Int(0));
            builder.initial(*key, zero, Place::default());
        }
        for nth in 0..9000_i64 {
            let is_late = nth % 200 == 100;
            let name = if is_late { format!("late {}", nth / 200 % 15) } else { format!("s{}", nth % 8) };
            let session = builder.session(&name);
            builder.begin(session, Place::default());
            builder.times(Some(10 * nth), Some(10 * nth + if is_late { 20_000 } else { 5 }));
            if !is_late {
                for _ in 0..2 {
                    let key = below(50);
                    if !held[key].1 {
                        let value = builder.value_named(Name::Int(held[key].0));
                        builder.read(keys[key], value);
                    }
                }
            }
            let first = below(25);
            for key in [first, first + 25] {
                held[key] = (3 * nth + 1 + i64::from(key >= 25), is_late);
                let value = builder.value_named(Name::Int(held[key].0));
                builder.write(keys[key], value);
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    #[test]
    fn a_window_finds_the_places_of_writers_that_were_told_late() {
        let history = run_with_late_writers();
        let facts = Facts::new(&history);
        for level in [Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency] {
            let frame = Frame::new(&facts, Rule::of(level));
            let told = first_orders(&frame).unwrap().remove(0);
            let n_misfits = place(&frame, &told).misfits.len();
            assert!(is_worth_it(&frame, n_misfits), "{level}: {n_misfits}");
            let order = order_of_window(&frame, &told, &Budget::unlimited()).unwrap().unwrap();
            assert_eq!(place(&frame, &order).misfits, [], "{level}");
        }
    }

    #[test]
    fn whoever_reads_what_is_far_away_is_told_after_whom_it_read_from() {
        let mut builder = HistoryBuilder::new();
        let keys: Vec<_> = (0..4).map(|it| builder.key(Datum::Int(it))).collect();
        let int = |it: usize| i64::try_from(it).unwrap();
        let n_writers = FAR + 200;
        for nth in 0..n_writers {
            let session = builder.session("writer");
            builder.begin(session, Place::default());
            builder.times(Some(int(10 * nth)), Some(int(10 * nth + 5)));
            let value = builder.value_named(Name::Int(int(nth + 1)));
            builder.write(keys[nth % 4], value);
            builder.end(Outcome::Committed);
        }
        // What keys held after the hundredth of them, twice.
        for nth in n_writers..n_writers + 2 {
            let session = builder.session("reader");
            builder.begin(session, Place::default());
            builder.times(Some(int(10 * nth)), Some(int(10 * nth + 5)));
            for source in 96..100 {
                let value = builder.value_named(Name::Int(int(source + 1)));
                builder.read(keys[source % 4], value);
            }
            builder.end(Outcome::Committed);
        }
        let history = builder.finish().unwrap();
        let facts = Facts::new(&history);
        let txns: Vec<TxnId> = facts.txns().collect();
        let last = *txns.last().unwrap();
        let place = |level: Level| {
            let frame = Frame::new(&facts, Rule::of(level));
            by_ends(&frame, &txns).unwrap().iter().position(|it| *it == last).unwrap()
        };
        assert_eq!((place(Level::Serializable), place(Level::SnapshotIsolation)), (101, 101));
        assert_eq!(place(Level::StrictSerializable), txns.len() - 1);
    }
}
