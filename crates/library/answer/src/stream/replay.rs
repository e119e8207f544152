//! The replay of a schedule along the recording that it is about, on a thread of its own if there is much of it.

use iso_evidence::{StreamedReplay, StreamedStep, Uncertified};
use iso_history::{Datum, KeyId, Outcome, StreamedBlock, StreamedPieces, StreamedTxn, StreamedValue, TableId};
use iso_spec::Level;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// For how many windows the weak levels remember versions, at least: a transaction waits in the window before it is replayed.
pub(super) const MEMORY_IN_WINDOWS: usize = 4;
/// So many transactions of unknown outcome are kept: somebody may read from them much later.
const MAX_UNKNOWN: usize = 1 << 14;
/// Fewer transactions are not worth a thread.
const WORTH_A_THREAD: u64 = 1 << 12;
/// So many orders go to the thread at once, and so many such batches wait for it.
const BATCH: usize = 1 << 11;
const MAX_BATCHES: usize = 4;

/// Replays a saved schedule along the recording that it is about, without any engine: transactions come in the order of the
/// recording, steps in that of the schedule, and nobody waits longer than the schedule makes it.
///
/// Where statements have snapshots, the steps are pieces of transactions, and are numbered so.
#[derive(Debug)]
pub struct SavedReplay {
    replay: StreamedReplay,
    level: Level,
    pieces: Option<StreamedPieces>,
    txns: Kept,
    /// How many transactions were told, and how many that may be steps.
    n_txns: u64,
    n_told: u64,
}

impl SavedReplay {
    /// A replay of a schedule of this level, for a window of that size; nothing if schedules of it cannot be replayed.
    pub fn new(level: Level, initial: StreamedValue, window: usize) -> Option<Self> {
        let replay = StreamedReplay::new(level, initial, window.saturating_mul(MEMORY_IN_WINDOWS))?;
        let pieces = level.snapshots().map(StreamedPieces::new);
        Some(Self { replay, level, pieces, txns: Kept::default(), n_txns: 0, n_told: 0 })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The initial value of one key.
    pub fn initial(&mut self, key: KeyId, value: StreamedValue) -> Result<(), Uncertified> {
        self.replay.initial(key, value)
    }

    /// A key is a row with this name, of a table that is scanned.
    pub fn row(&mut self, key: KeyId, table: TableId, name: Datum) {
        self.replay.row(key, table, name);
    }

    /// The next transaction of the recording.
    pub fn tell(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> Result<(), Uncertified> {
        self.n_txns += 1;
        let Some(pieces) = &mut self.pieces else { return self.tell_step(block, idx) };
        let (block, mut range) = pieces.of(block, idx);
        range.try_for_each(|it| self.tell_step(&block, it))
    }

    fn tell_step(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> Result<(), Uncertified> {
        let txn = block.txn(idx);
        self.replay.tell(&txn)?;
        self.txns.push(block, idx, txn.outcome);
        self.n_told += 1;
        Ok(())
    }

    /// How transactions have been cut so far, if they are.
    pub(super) fn pieces(&self) -> Option<&StreamedPieces> {
        self.pieces.as_ref()
    }

    /// A transaction that was told and may still be scheduled.
    pub(super) fn txn(&self, id: u64) -> Option<StreamedTxn<'_>> {
        self.txns.get(id)
    }

    /// All of them.
    pub(super) fn kept(&self) -> &Kept {
        &self.txns
    }

    /// How many transactions of the recording were told.
    pub fn n_txns(&self) -> u64 {
        self.n_txns
    }

    /// Steps with numbers below this one are of transactions that were told.
    pub fn n_told(&self) -> u64 {
        self.n_told
    }

    /// How many committed transactions are in the schedule.
    pub fn n_scheduled(&self) -> u64 {
        self.replay.n_scheduled()
    }

    /// How many pieces of them, if they are cut.
    pub fn n_pieces(&self) -> Option<u64> {
        self.pieces.as_ref().map(|_| self.replay.n_steps())
    }

    /// The next step of the schedule, of a transaction that was told.
    pub fn step(&mut self, step: StreamedStep, txn: u64, sources: &[u64]) -> Result<(), Uncertified> {
        let Some(it) = self.txns.get(txn) else {
            let reason = format!("transaction {txn} is in the schedule twice, or not in the recording");
            return Err(Uncertified { reason, is_too_large: false });
        };
        self.replay.step(step, &it, sources)?;
        if step != StreamedStep::Snapshot {
            self.txns.forget(txn);
        }
        Ok(())
    }

    /// Is everybody in the schedule who committed?
    pub fn finish(&self) -> Result<(), Uncertified> {
        self.replay.finish()
    }
}

/// Transactions of a recording that may still be scheduled, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    txns: VecDeque<Option<Spot>>,
    /// The number of the first one.
    first: u64,
    /// The blocks that they are in, each with how many of it are kept.
    blocks: VecDeque<(Arc<StreamedBlock>, u32)>,
    /// The number of the first block.
    first_block: u32,
    /// Those of unknown outcome that came before it, each in a block of its own.
    unknown: BTreeMap<u64, Arc<StreamedBlock>>,
}

/// Where a transaction stands.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// The number of its block; it may begin again at 0.
    block: u32,
    idx: u32,
    /// What became of it: here, so that nobody goes to the block only for this.
    outcome: Outcome,
}

impl Kept {
    pub(super) fn push(&mut self, block: &Arc<StreamedBlock>, idx: usize, outcome: Outcome) {
        match self.blocks.back_mut() {
            Some((last, n_kept)) if Arc::ptr_eq(last, block) => *n_kept += 1,
            _ => self.blocks.push_back((Arc::clone(block), 1)),
        }
        let block = self.first_block.wrapping_add(self.blocks.len() as u32 - 1);
        self.txns.push_back(Some(Spot { block, idx: idx as u32, outcome }));
    }

    /// The numbers of all that are kept, and of some that were.
    pub(super) fn ids(&self) -> Vec<u64> {
        self.unknown.keys().copied().chain(self.first..self.first + self.txns.len() as u64).collect()
    }

    pub(super) fn get(&self, id: u64) -> Option<StreamedTxn<'_>> {
        match id.checked_sub(self.first) {
            None => self.unknown.get(&id).map(|it| it.txn(0)),
            Some(idx) => self.at((*self.txns.get(usize::try_from(idx).ok()?)?)?),
        }
    }

    fn at(&self, spot: Spot) -> Option<StreamedTxn<'_>> {
        let (block, _) = self.blocks.get(spot.block.wrapping_sub(self.first_block) as usize)?;
        Some(block.txn(spot.idx as usize))
    }

    /// The transaction is over. Those before all that are not over are not kept, unless nobody knows what became of them.
    pub(super) fn forget(&mut self, id: u64) {
        match id.checked_sub(self.first) {
            None => drop(self.unknown.remove(&id)),
            Some(idx) => {
                if let Some(spot) = self.txns.get_mut(idx as usize).and_then(Option::take) {
                    self.release(spot);
                }
            }
        }
        while let Some(front) = self.txns.front().copied() {
            if let Some(spot) = front {
                if spot.outcome == Outcome::Committed {
                    break;
                }
                if spot.outcome == Outcome::Indeterminate {
                    let Some(txn) = self.at(spot) else { break };
                    let mut own = StreamedBlock::default();
                    own.copy(&txn);
                    self.unknown.insert(self.first, Arc::new(own));
                    if self.unknown.len() > MAX_UNKNOWN {
                        self.unknown.pop_first();
                    }
                }
                self.release(spot);
            }
            self.txns.pop_front();
            self.first += 1;
        }
    }

    /// One of a block is not kept any more; a block of which none is kept goes, when it is the first.
    fn release(&mut self, spot: Spot) {
        let idx = spot.block.wrapping_sub(self.first_block) as usize;
        if let Some((_, n_kept)) = self.blocks.get_mut(idx) {
            *n_kept -= 1;
        }
        while self.blocks.front().is_some_and(|it| it.1 == 0) {
            self.blocks.pop_front();
            self.first_block = self.first_block.wrapping_add(1);
        }
    }
}

/// A replay that is here at first, and on its own thread later.
#[derive(Debug)]
pub(super) enum Replayer {
    Here(Box<SavedReplay>),
    There(Remote),
}

/// What a replay is to do.
#[derive(Debug)]
enum Order {
    Initial(KeyId, StreamedValue),
    Row(KeyId, TableId, Datum),
    /// What follows is told of this block.
    Block(Arc<StreamedBlock>),
    Tell(u32),
    Step(StreamedStep, u64, Vec<u64>),
}

#[derive(Debug)]
pub(super) struct Remote {
    orders: Vec<Order>,
    batches: SyncSender<Vec<Order>>,
    /// The last one that was told of.
    block: Option<Arc<StreamedBlock>>,
    done: Arc<Done>,
    thread: JoinHandle<Result<Box<SavedReplay>, Uncertified>>,
}

/// How far the thread is.
#[derive(Debug, Default)]
struct Done {
    n_scheduled: AtomicU64,
    has_failed: AtomicBool,
}

impl Replayer {
    pub(super) fn new(replay: SavedReplay) -> Self {
        Self::Here(Box::new(replay))
    }

    pub(super) fn initial(&mut self, key: KeyId, value: StreamedValue) -> Result<(), Uncertified> {
        match self {
            Self::Here(replay) => replay.initial(key, value),
            Self::There(remote) => remote.order(Order::Initial(key, value)),
        }
    }

    pub(super) fn row(&mut self, key: KeyId, table: TableId, name: Datum) -> Result<(), Uncertified> {
        match self {
            Self::Here(replay) => replay.row(key, table, name),
            Self::There(remote) => return remote.order(Order::Row(key, table, name)),
        }
        Ok(())
    }

    pub(super) fn tell(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> Result<(), Uncertified> {
        if matches!(self, Self::Here(replay) if replay.n_told() >= WORTH_A_THREAD) {
            self.leave();
        }
        match self {
            Self::Here(replay) => replay.tell(block, idx),
            Self::There(remote) => remote.tell(block, idx),
        }
    }

    pub(super) fn step(&mut self, step: StreamedStep, txn: u64, sources: Vec<u64>) -> Result<(), Uncertified> {
        match self {
            Self::Here(replay) => replay.step(step, txn, &sources),
            Self::There(remote) => remote.order(Order::Step(step, txn, sources)),
        }
    }

    /// How many committed transactions were replayed so far.
    pub(super) fn n_scheduled(&self) -> u64 {
        match self {
            Self::Here(replay) => replay.n_scheduled(),
            Self::There(remote) => remote.done.n_scheduled.load(Ordering::Relaxed),
        }
    }

    /// How many pieces of transactions were replayed, if they are cut and the replay is here.
    pub(super) fn n_pieces(&self) -> Option<u64> {
        if let Self::Here(replay) = self { replay.n_pieces() } else { None }
    }

    /// Waits until everything is replayed, and comes back.
    pub(super) fn come_back(self) -> Result<Self, Uncertified> {
        match self {
            Self::Here(replay) => Ok(Self::Here(replay)),
            Self::There(remote) => remote.end().map(Self::Here),
        }
    }

    /// Is everybody in the schedule who committed?
    pub(super) fn finish(&self) -> Result<(), Uncertified> {
        if let Self::Here(replay) = self { replay.finish() } else { Err(uncertified("the replay is not over")) }
    }

    /// Goes on on a thread of its own; here, if there is none to be had.
    fn leave(&mut self) {
        let (hand, handed) = sync_channel::<Box<SavedReplay>>(1);
        let (batches, inbox) = sync_channel(MAX_BATCHES);
        let done = Arc::new(Done::default());
        let shared = Arc::clone(&done);
        let work = move || {
            let replay = handed.recv().map_err(|_| uncertified("there is nothing to replay"))?;
            let result = carry_out(replay, &inbox, &shared);
            shared.has_failed.store(result.is_err(), Ordering::Release);
            result
        };
        let Ok(thread) = thread::Builder::new().name("replay".to_owned()).spawn(work) else { return };
        let remote = Remote { orders: Vec::with_capacity(BATCH), batches, block: None, done, thread };
        if let Self::Here(replay) = std::mem::replace(self, Self::There(remote)) {
            hand.send(replay).ok();
        }
    }
}

impl Remote {
    fn tell(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> Result<(), Uncertified> {
        if !self.block.as_ref().is_some_and(|it| Arc::ptr_eq(it, block)) {
            self.block = Some(Arc::clone(block));
            self.order(Order::Block(Arc::clone(block)))?;
        }
        self.order(Order::Tell(idx as u32))
    }

    fn order(&mut self, order: Order) -> Result<(), Uncertified> {
        self.orders.push(order);
        if self.orders.len() < BATCH {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.orders, Vec::with_capacity(BATCH));
        // If nobody takes it, the thread says why when it is joined.
        self.batches.send(batch).ok();
        if self.done.has_failed.load(Ordering::Acquire) {
            return Err(uncertified("a step was not accepted"));
        }
        Ok(())
    }

    fn end(self) -> Result<Box<SavedReplay>, Uncertified> {
        self.batches.send(self.orders).ok();
        drop(self.batches);
        self.thread.join().unwrap_or_else(|_| Err(uncertified("the thread that replays has died")))
    }
}

fn carry_out(
    mut replay: Box<SavedReplay>,
    inbox: &Receiver<Vec<Order>>,
    done: &Done,
) -> Result<Box<SavedReplay>, Uncertified> {
    let mut told = Arc::default();
    for batch in inbox {
        for order in batch {
            match order {
                Order::Initial(key, value) => replay.initial(key, value)?,
                Order::Row(key, table, name) => replay.row(key, table, name),
                Order::Block(block) => told = block,
                Order::Tell(idx) => replay.tell(&told, idx as usize)?,
                Order::Step(step, txn, sources) => replay.step(step, txn, &sources)?,
            }
        }
        done.n_scheduled.store(replay.n_scheduled(), Ordering::Relaxed);
    }
    Ok(replay)
}

fn uncertified(reason: &str) -> Uncertified {
    Uncertified { reason: reason.to_owned(), is_too_large: false }
}
