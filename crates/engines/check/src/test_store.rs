//! Stores that make histories for tests: transactions run one after the other, and see what their store lets them see.
#![allow(clippy::cast_possible_wrap, reason = "numbers of transactions, values and events are small")]

pub(crate) mod few_values;
mod notation;
mod record;

use iso_history::{History, Outcome};
pub(crate) use notation::{history, txns};
use record::{Op, Record, RecordedTxn};

/// A source of numbers that look random.
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 };
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 20) as usize % limit
    }

    /// A number below a limit, small ones more often.
    pub(crate) fn skewed(&mut self, limit: usize) -> usize {
        let below = 1 + self.below(limit);
        self.below(below)
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// How the transactions of a history behave, and how they are written down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) n_txns: usize,
    pub(crate) n_sessions: usize,
    pub(crate) n_keys: usize,
    /// The first keys are lists.
    pub(crate) n_lists: usize,
    pub(crate) max_ops: usize,
    /// So many transactions read older versions than the store has for them.
    pub(crate) n_mistakes: usize,
    pub(crate) sight: Sight,
    /// Does a transaction read a key again?
    pub(crate) rereads: bool,
    /// How many of a hundred operations write.
    pub(crate) writes: usize,
    pub(crate) keys: Keys,
    pub(crate) values: Values,
    /// How many of a hundred transactions abort, and of how many nobody knows whether they took place.
    pub(crate) aborted: usize,
    pub(crate) indeterminate: usize,
    /// So many writes are lost: nobody ever sees them.
    pub(crate) n_lost: usize,
    /// So many pairs of reads of a key, near each other, are exchanged.
    pub(crate) n_exchanged: usize,
    pub(crate) clock: Clock,
    pub(crate) input: Input,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            n_txns: 100,
            n_sessions: 5,
            n_keys: 20,
            n_lists: 0,
            max_ops: 6,
            n_mistakes: 0,
            sight: Sight::Serial,
            rereads: false,
            writes: 50,
            keys: Keys::Even,
            values: Values::Unique,
            aborted: 0,
            indeterminate: 0,
            n_lost: 0,
            n_exchanged: 0,
            clock: Clock::None,
            input: Input::Commits,
        }
    }
}

/// What a transaction sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Everything before it.
    Serial,
    /// Everything before some moment in the near past, and its session; it writes only what did not change since.
    Snapshot,
    /// As `Snapshot`, but it writes anything.
    Careless,
    /// What its replica has. Replicas get all writes in the same order, and late. Each key is written at one replica.
    Replicas,
    /// Each read sees what was there at some moment after that of the read before.
    Statements,
    /// Each read sees what was there at some moment in the near past.
    Torn,
}

/// Which keys are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// All alike.
    Even,
    /// The first ones more often.
    Skewed,
    /// The first few are used most of the time, and then mostly written without a look at them.
    Hot(usize),
}

/// Which values registers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Each write has its own.
    Unique,
    /// One of so many, among them the initial one.
    Few(usize),
    /// One of so many, some of them much more often than others.
    Skewed(usize),
}

/// Which times are recorded. A transaction takes place ten units after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// None.
    None,
    /// The events of the snapshot and the commit.
    Exact,
    /// Begins may be earlier, and ends later, by as many transactions; some are missing.
    Slack(usize),
    /// The clocks of some transactions are wrong by up to as many transactions.
    Wrong(usize),
}

/// In which order transactions are written down; sessions are always in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// As they committed.
    Commits,
    /// One session after the other.
    Sessions,
    /// As they committed, but for neighbours of up to this distance.
    Jittered(usize),
}

const N_REPLICAS: usize = 3;

/// One version of a key: when it was written, at which replica, and the value; of a list its last element.
#[derive(Clone, Copy)]
struct Version {
    at: usize,
    replica: usize,
    value: i64,
}

struct Store {
    manner: Manner,
    record: Record,
    versions: Vec<Vec<Version>>,
    n_written: i64,
    /// The moment of each session's last transaction.
    last_of_session: Vec<usize>,
    mistakes: Vec<usize>,
    /// The transactions whose writes are lost.
    lost: Vec<usize>,
}

/// Makes a history.
pub(crate) fn run(random: &mut Random, manner: Manner) -> History {
    let mut some = |n: usize| (0..n).map(|_| 1 + random.below(manner.n_txns)).collect();
    let mut store = Store {
        record: Record::new(manner.n_lists),
        versions: vec![Vec::new(); manner.n_keys],
        n_written: 0,
        last_of_session: vec![0; manner.n_sessions],
        mistakes: some(manner.n_mistakes),
        lost: some(manner.n_lost),
        manner,
    };
    for now in 1..=manner.n_txns {
        store.run_one(random, now);
    }
    let mut record = store.record;
    for _ in 0..manner.n_exchanged {
        record.exchange_reads(random);
    }
    record.write_down(random, manner.input)
}

impl Store {
    fn run_one(&mut self, random: &mut Random, now: usize) {
        let session = random.below(self.manner.n_sessions);
        let replica = session % N_REPLICAS;
        let first_snapshot = self.snapshot(random, session, now);
        let mut snapshot = first_snapshot;
        let mut txn = RecordedTxn::new(session, now);
        let mut own: Vec<(usize, i64)> = Vec::new();
        let mut was_read: Vec<usize> = Vec::new();
        let is_mistaken = self.mistakes.contains(&now);
        for _ in 0..=random.below(self.manner.max_ops) {
            let (is_write, key) = self.plan(random);
            if !self.manner.rereads && was_read.contains(&key) {
                continue;
            }
            if !is_write {
                was_read.push(key);
                let is_own = own.iter().any(|it| it.0 == key);
                let n_seen = self.n_seen(key, snapshot, replica);
                let n_wrong = if is_mistaken && !is_own { random.below(3).min(n_seen) } else { 0 };
                txn.ops.push(self.read(key, n_seen - n_wrong, &own));
            } else if self.may_write(key, snapshot, replica) {
                let value = self.new_value(random, key);
                txn.ops.push(Op::Write { key, value });
                own.push((key, value));
            }
            match self.manner.sight {
                Sight::Statements => snapshot += random.below(now - snapshot),
                Sight::Torn if random.below(8) == 0 => snapshot = now.saturating_sub(1 + random.below(20)),
                _ => {}
            }
        }
        txn.outcome = self.outcome(random);
        self.set_times(random, &mut txn, first_snapshot);
        let takes_place = match txn.outcome {
            Outcome::Committed => !self.lost.contains(&now),
            Outcome::Aborted => false,
            Outcome::Indeterminate => random.below(2) == 0,
        };
        if takes_place {
            for (key, value) in own {
                self.versions[key].push(Version { at: now, replica, value });
            }
        }
        self.record.txns.push(txn);
        self.last_of_session[session] = now;
    }

    fn snapshot(&self, random: &mut Random, session: usize, now: usize) -> usize {
        let lag = 1 + random.below(self.manner.n_sessions.min(20));
        match self.manner.sight {
            Sight::Serial => now - 1,
            Sight::Snapshot | Sight::Careless | Sight::Statements | Sight::Torn => {
                now.saturating_sub(lag).max(self.last_of_session[session])
            }
            // Replicas never go back.
            Sight::Replicas => now.saturating_sub(10 * (session % N_REPLICAS) + 1),
        }
    }

    /// Whether to write, and which key.
    fn plan(&self, random: &mut Random) -> (bool, usize) {
        let n_keys = self.manner.n_keys;
        let is_write = random.percent(self.manner.writes);
        match self.manner.keys {
            Keys::Skewed => (is_write, random.skewed(n_keys)),
            Keys::Hot(n_hot) if random.percent(70) => (random.percent(85), random.below(n_hot)),
            Keys::Even | Keys::Hot(_) => (is_write, random.below(n_keys)),
        }
    }

    fn outcome(&self, random: &mut Random) -> Outcome {
        let Manner { aborted, indeterminate, .. } = self.manner;
        let drawn = if aborted + indeterminate > 0 { random.below(100) } else { 100 };
        match drawn {
            _ if drawn < aborted => Outcome::Aborted,
            _ if drawn < aborted + indeterminate => Outcome::Indeterminate,
            _ => Outcome::Committed,
        }
    }

    fn set_times(&self, random: &mut Random, txn: &mut RecordedTxn, snapshot: usize) {
        let (begin, end) = (10 * snapshot as i64 + 5, 10 * txn.at as i64);
        let mut times = |n: usize| (random.below(10 * n + 1) as i64, random.below(10 * n + 1) as i64);
        (txn.begin, txn.end) = match self.manner.clock {
            Clock::None => return,
            Clock::Exact => (Some(begin), Some(end)),
            Clock::Slack(n) => {
                let (early, late) = times(n);
                let is_there = |it: &i64| it % 23 != 0;
                (Some(begin - early).filter(is_there), Some(end + late).filter(is_there))
            }
            Clock::Wrong(n) => {
                let (forward, back) = times(n);
                let shift = if forward % 5 == 0 { forward - back } else { 0 };
                (Some(begin + shift), Some(end + shift))
            }
        };
        // Whoever waits for it gives up some time, maybe before it takes place.
        if txn.outcome == Outcome::Indeterminate {
            txn.end = txn.begin.map(|it| it + random.below(20) as i64);
        }
    }

    /// How many versions of a key can be seen: in the order in which all replicas get them, with own ones at once.
    fn n_seen(&self, key: usize, snapshot: usize, replica: usize) -> usize {
        let is_seen =
            |it: &Version| it.at <= snapshot || (self.manner.sight == Sight::Replicas && it.replica == replica);
        self.versions[key].iter().rposition(is_seen).map_or(0, |it| it + 1)
    }

    fn may_write(&self, key: usize, snapshot: usize, replica: usize) -> bool {
        match self.manner.sight {
            Sight::Serial | Sight::Careless | Sight::Statements | Sight::Torn => true,
            Sight::Snapshot => self.versions[key].last().is_none_or(|it| it.at <= snapshot),
            Sight::Replicas => key % N_REPLICAS == replica,
        }
    }

    fn read(&self, key: usize, n_seen: usize, own: &[(usize, i64)]) -> Op {
        let own = own.iter().filter(|it| it.0 == key).map(|it| it.1);
        let seen: Vec<i64> = self.versions[key][..n_seen].iter().map(|it| it.value).chain(own).collect();
        if key < self.manner.n_lists {
            Op::ReadList { key, values: seen }
        } else {
            Op::Read { key, value: seen.last().copied().unwrap_or(record::INITIAL_VALUE) }
        }
    }

    fn new_value(&mut self, random: &mut Random, key: usize) -> i64 {
        self.n_written += 1;
        match self.manner.values {
            Values::Few(n) if key >= self.manner.n_lists => random.below(n) as i64 + record::INITIAL_VALUE,
            Values::Skewed(n) if key >= self.manner.n_lists => random.skewed(n) as i64,
            _ => self.n_written,
        }
    }
}
