//! Replays a recording along a schedule that arrives piece by piece, in memory that does not grow with the recording.
//!
//! The state is what a store would hold: the last value of each key and, for the weak levels, versions that were overwritten
//! not long ago. A step names one transaction; what it read is compared at once, and then it can be forgotten. Session order
//! and "everybody once" need one number a session and two counts; real time needs the latest begin so far, as in
//! [`super::schedule`]. Lists are kept whole, and compared whole. Scans are compared with all rows that are there
//! ([`super::streamed_scans`]).
//!
//! At levels whose statements have snapshots, what is told and scheduled are pieces of transactions
//! ([`iso_history::StreamedPieces`]), one after the other. What a piece locks does not change until the last one.

use super::streamed_scans::Tables;
use super::streamed_sight::Sight;
use super::uncertified::Uncertified;
use iso_history::{Datum, KeyId, Outcome, StreamedOp, StreamedTxn, StreamedValue, TableId};
use iso_spec::Level;
use rustc_hash::FxHashMap;

/// What happens next in a streamed schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamedStep {
    /// The whole transaction: it reads and writes.
    Whole,
    /// It reads: its snapshot.
    Snapshot,
    /// Its writes happen.
    Commit,
}

/// A replay that has come to some point.
#[derive(Clone, Debug)]
pub struct StreamedReplay {
    rule: Rule,
    keys: Vec<Held>,
    default_initial: StreamedValue,
    sessions: Vec<SessionState>,
    latest_begin: Option<i64>,
    n_commits: u64,
    n_told: u64,
    n_steps: u64,
    /// Of these, how many were whole, or the last pieces.
    n_scheduled: u64,
    lists: Lists,
    tables: Tables,
    sight: Option<Sight>,
}

/// What lists hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    by_key: FxHashMap<KeyId, Vec<StreamedValue>>,
}

impl Lists {
    /// The initial value of a key: is it a list?
    fn begin(&mut self, key: KeyId, value: &StreamedValue) {
        if *value == StreamedValue::Empty {
            self.by_key.entry(key).or_default();
        }
    }

    /// What a list holds by now.
    fn get(&self, key: KeyId) -> &[StreamedValue] {
        self.by_key.get(&key).map_or(&[], Vec::as_slice)
    }

    /// What a transaction appends stands at the ends.
    fn append(&mut self, txn: &StreamedTxn<'_>) {
        if self.by_key.is_empty() {
            return;
        }
        for (key, _) in txn.writes() {
            if let Some(list) = self.by_key.get_mut(key) {
                list.extend(txn.appended(*key).cloned());
            }
        }
    }
}

/// What steps mean at a level.
#[derive(Clone, Copy, Debug)]
struct Rule {
    form: Form,
    real_time: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Whole transactions, one after the other, each on what the one before left.
    Serial,
    /// Snapshots and commits.
    Snapshots { first_committer_wins: bool },
    /// Whole transactions, that may read older versions.
    Sighted,
}

/// What a key holds, and since which commit.
#[derive(Clone, Debug)]
struct Held {
    value: StreamedValue,
    changed_at: u64,
}

#[derive(Clone, Debug, Default)]
struct SessionState {
    /// How far the schedule is: the next transaction must have this number at least.
    next: u32,
    /// The transaction that has its snapshot and not its commit, and when that was.
    open: Option<(u32, u64)>,
    /// How many the recording has told of.
    n_told: u32,
    /// What the pieces of the transaction in hand have locked, each with when it had changed.
    locked: Vec<(KeyId, u64)>,
}

impl StreamedReplay {
    /// A replay at a level, of a recording whose keys hold `default_initial` at first; nothing if schedules of this level
    /// cannot be replayed as a stream. `memory` says for how many steps the weak levels remember versions.
    pub fn new(level: Level, default_initial: StreamedValue, memory: usize) -> Option<Self> {
        let form = match level {
            Level::Serializable
            | Level::StrictSerializable
            | Level::StatementSnapshots
            | Level::TransactionSnapshot => Form::Serial,
            Level::SnapshotIsolation | Level::StrongSnapshotIsolation => Form::Snapshots { first_committer_wins: true },
            Level::PrefixConsistency => Form::Snapshots { first_committer_wins: false },
            Level::CausalConsistency | Level::ReadAtomic | Level::ReadCommitted => Form::Sighted,
            _ => return None,
        };
        Some(Self {
            rule: Rule { form, real_time: level.needs_times() },
            keys: Vec::new(),
            default_initial: default_initial.clone(),
            sessions: Vec::new(),
            latest_begin: None,
            n_commits: 0,
            n_told: 0,
            n_steps: 0,
            n_scheduled: 0,
            lists: Lists::default(),
            tables: Tables::default(),
            sight: (form == Form::Sighted).then(|| Sight::new(level, default_initial, memory as u64)),
        })
    }

    /// The initial value of one key, before anybody has touched it.
    pub fn initial(&mut self, key: KeyId, value: StreamedValue) -> Result<(), Uncertified> {
        self.lists.begin(key, &value);
        if value != StreamedValue::Null && self.tables.is_scanned(key) {
            return Err(Uncertified::new("the initial value of a row comes after a scan of its table"));
        }
        self.tables.hold(key, &value);
        let is_in_time = if let Some(sight) = &mut self.sight {
            sight.initial(key, value)
        } else {
            let held = self.held(key);
            held.value = value;
            held.changed_at == 0
        };
        if is_in_time { Ok(()) } else { Err(Uncertified::new("the initial value of a key comes after a write to it")) }
    }

    /// A key is a row with this name, of a table that is scanned. Whoever reads the recording says so before the first
    /// transaction that scans the table or has the key.
    pub fn row(&mut self, key: KeyId, table: TableId, name: Datum) {
        let held = self.keys.get(key.index()).map_or(&self.default_initial, |it| &it.value);
        self.tables.row(key, table, name, held);
    }

    /// The recording has this transaction; those of a session come in its order.
    pub fn tell(&mut self, txn: &StreamedTxn<'_>) -> Result<(), Uncertified> {
        let session = self.session(txn);
        if session.n_told != txn.nth {
            return Err(wrong(txn, "is not the next one of its session in the recording"));
        }
        session.n_told += 1;
        self.tables.tell(txn);
        if txn.outcome == Outcome::Committed {
            self.n_told += 1;
        }
        Ok(())
    }

    /// The schedule goes on with this transaction of the recording. `sources` says, for the weak levels, how many steps
    /// ago each read's source was (counted from 1; 0 is the newest version with the value that was read); it may be shorter
    /// than the reads.
    pub fn step(&mut self, step: StreamedStep, txn: &StreamedTxn<'_>, sources: &[u64]) -> Result<(), Uncertified> {
        match (self.rule.form, step) {
            (Form::Serial, StreamedStep::Whole) => {
                self.enter(txn)?;
                self.leave_real_time(txn)?;
                self.begin_real_time(txn);
                self.read(txn)?;
                self.keep_locks(txn)?;
                self.write(txn);
            }
            (Form::Sighted, StreamedStep::Whole) => {
                self.enter(txn)?;
                if txn.has_scans() {
                    return Err(wrong(txn, "has a scan, of which schedules of its level say nothing"));
                }
                if let Some(sight) = &mut self.sight {
                    sight.step(txn, sources)?;
                    // An older version of a list is its beginning.
                    self.read_lists(txn, <[StreamedValue]>::starts_with)?;
                    self.lists.append(txn);
                }
            }
            (Form::Snapshots { .. }, StreamedStep::Snapshot) => {
                self.enter(txn)?;
                self.begin_real_time(txn);
                self.read(txn)?;
                let n_commits = self.n_commits;
                self.session(txn).open = Some((txn.nth, n_commits));
            }
            (Form::Snapshots { first_committer_wins }, StreamedStep::Commit) => {
                let open = self.session(txn).open.take();
                let Some((_, since)) = open.filter(|it| it.0 == txn.nth) else {
                    return Err(wrong(txn, "commits without a snapshot"));
                };
                self.leave_real_time(txn)?;
                let is_changed = |it: &StreamedOp| self.keys.get(it.0.index()).is_some_and(|it| it.changed_at > since);
                if first_committer_wins && txn.writes().iter().any(is_changed) {
                    return Err(wrong(txn, "commits a write although somebody else did since its snapshot"));
                }
                self.write(txn);
            }
            _ => return Err(wrong(txn, "has a step that its level does not know")),
        }
        Ok(())
    }

    /// Is everybody in the schedule who committed? Only then does it explain the recording as far as it was told.
    pub fn finish(&self) -> Result<(), Uncertified> {
        if self.sessions.iter().any(|it| it.open.is_some()) {
            return Err(Uncertified::new("a transaction of the schedule never commits"));
        }
        if self.n_steps != self.n_told {
            let (told, scheduled) = (self.n_told, self.n_steps);
            return Err(Uncertified::new(format!(
                "{told} transactions committed, but {scheduled} are in the schedule"
            )));
        }
        Ok(())
    }

    /// How many steps of committed transactions it has: whole ones, or pieces.
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// How many committed transactions the schedule has so far.
    pub fn n_scheduled(&self) -> u64 {
        self.n_scheduled
    }

    /// A transaction comes into the schedule: it did not abort, and its session's earlier ones are over.
    fn enter(&mut self, txn: &StreamedTxn<'_>) -> Result<(), Uncertified> {
        if txn.outcome == Outcome::Aborted {
            return Err(wrong(txn, "aborted, but is in the schedule"));
        }
        if txn.contradicted().is_some() {
            return Err(wrong(txn, "does not read what it wrote itself, or has a row that does not fit its scan"));
        }
        let session = self.session(txn);
        if session.open.is_some() || txn.nth < session.next || txn.nth >= session.n_told {
            return Err(wrong(txn, "is out of session order in the schedule, or not in the recording"));
        }
        session.next = txn.nth + 1;
        if txn.outcome == Outcome::Committed {
            self.n_steps += 1;
            self.n_scheduled += u64::from(txn.is_last());
        }
        Ok(())
    }

    /// What a piece locks does not change until the last one, not even to an equal value.
    fn keep_locks(&mut self, txn: &StreamedTxn<'_>) -> Result<(), Uncertified> {
        if txn.is_last() && !txn.locks() && self.session(txn).locked.is_empty() {
            return Ok(());
        }
        let changed_at = |keys: &[Held], key: KeyId| keys.get(key.index()).map_or(0, |it| it.changed_at);
        if txn.locks() {
            let locked: Vec<(KeyId, u64)> = txn.reads().iter().map(|it| (it.0, changed_at(&self.keys, it.0))).collect();
            self.session(txn).locked.extend(locked);
        }
        if txn.is_last() {
            let locked = std::mem::take(&mut self.session(txn).locked);
            if locked.iter().any(|it| changed_at(&self.keys, it.0) != it.1) {
                return Err(wrong(txn, "has locked what somebody changed before it committed"));
            }
        }
        Ok(())
    }

    fn begin_real_time(&mut self, txn: &StreamedTxn<'_>) {
        self.latest_begin = self.latest_begin.max(txn.begin);
    }

    /// Whoever ended before another began comes before it.
    fn leave_real_time(&self, txn: &StreamedTxn<'_>) -> Result<(), Uncertified> {
        match (self.latest_begin, txn.end) {
            (Some(begin), Some(end)) if self.rule.real_time && end < begin => {
                Err(wrong(txn, "ended before a transaction began that the schedule puts before it"))
            }
            _ => Ok(()),
        }
    }

    fn read(&mut self, txn: &StreamedTxn<'_>) -> Result<(), Uncertified> {
        for (key, value) in txn.reads() {
            let held = self.keys.get(key.index()).map_or(&self.default_initial, |it| &it.value);
            if held != value {
                let (value, held) = (value.as_name().shown(), held.as_name().shown());
                return Err(wrong(txn, &format!("read {value}, but the schedule leaves {held} there")));
            }
        }
        if txn.has_scans() {
            let held = |key: KeyId| self.keys.get(key.index()).map_or(&self.default_initial, |it| &it.value);
            self.tables.check(txn, held)?;
        }
        self.read_lists(txn, |held, read| held == read)
    }

    fn read_lists(
        &self,
        txn: &StreamedTxn<'_>,
        is_held: impl Fn(&[StreamedValue], &[StreamedValue]) -> bool,
    ) -> Result<(), Uncertified> {
        if txn.lists().all(|(key, elements)| is_held(self.lists.get(key), elements)) {
            return Ok(());
        }
        Err(wrong(txn, "read a list whose elements the schedule appends in another order"))
    }

    fn write(&mut self, txn: &StreamedTxn<'_>) {
        self.n_commits += 1;
        let changed_at = self.n_commits;
        for (key, value) in txn.writes() {
            *self.held(*key) = Held { value: value.clone(), changed_at };
            self.tables.hold(*key, value);
        }
        self.lists.append(txn);
    }

    fn held(&mut self, key: KeyId) -> &mut Held {
        if key.index() >= self.keys.len() {
            let initial = Held { value: self.default_initial.clone(), changed_at: 0 };
            self.keys.resize(key.index() + 1, initial);
        }
        &mut self.keys[key.index()]
    }

    fn session(&mut self, txn: &StreamedTxn<'_>) -> &mut SessionState {
        let idx = txn.session.index();
        if idx >= self.sessions.len() {
            self.sessions.resize(idx + 1, SessionState::default());
        }
        &mut self.sessions[idx]
    }
}

/// Something is wrong with a transaction of a recording.
pub(super) fn wrong(txn: &StreamedTxn<'_>, what: &str) -> Uncertified {
    Uncertified::new(format!("the transaction of line {} {what}", txn.at))
}
