//! Stores that make histories: transactions run one after the other, and see what their store lets them see.

use iso_history::{History, HistoryBuilder, KeyId, Outcome, Place, SessionId, ValueId};

/// A source of numbers that look random.
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
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

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 20) as usize % limit
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// How the transactions of a history behave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) n_txns: usize,
    pub(super) n_sessions: usize,
    pub(super) n_keys: usize,
    /// The first keys are lists.
    pub(super) n_lists: usize,
    pub(super) max_ops: usize,
    /// So many transactions read older versions than the store has for them.
    pub(super) n_mistakes: usize,
    pub(super) sight: Sight,
    /// Does a transaction read a key again?
    pub(super) rereads: bool,
}

/// What a transaction sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Everything before it.
    Serial,
    /// Everything before some moment in the near past, and its session; it writes only what did not change since.
    Snapshot,
    /// What its replica has. Replicas get all writes in the same order, and late. Each key is written at one replica.
    Replicas,
    /// Each read sees what was there at some moment after that of the read before.
    Statements,
    /// Each read sees what was there at some moment in the near past.
    Torn,
}

const N_REPLICAS: usize = 3;

/// One version of a key: when it was written, at which replica, and the value; of a list its last element.
#[derive(Clone, Copy)]
struct Version {
    at: usize,
    replica: usize,
    value: ValueId,
}

struct Store {
    manner: Manner,
    builder: HistoryBuilder,
    keys: Vec<KeyId>,
    sessions: Vec<SessionId>,
    initial: ValueId,
    versions: Vec<Vec<Version>>,
    n_written: i64,
    /// The moment of each session's last transaction.
    last_of_session: Vec<usize>,
    mistakes: Vec<usize>,
}

/// Makes a history.
pub(super) fn run(random: &mut Random, manner: Manner) -> History {
    let mut builder = HistoryBuilder::new();
    let initial = builder.value((-1).into());
    builder.default_initial(initial);
    let mut store = Store {
        keys: (0..manner.n_keys).map(|it| builder.key(format!("x{it}").as_str().into())).collect(),
        sessions: (0..manner.n_sessions).map(|it| builder.session(&format!("s{it}"))).collect(),
        initial,
        versions: vec![Vec::new(); manner.n_keys],
        n_written: 0,
        last_of_session: vec![0; manner.n_sessions],
        mistakes: (0..manner.n_mistakes).map(|_| random.below(manner.n_txns)).collect(),
        manner,
        builder,
    };
    for now in 1..=manner.n_txns {
        store.run_one(random, now);
    }
    store.builder.finish().unwrap()
}

impl Store {
    fn run_one(&mut self, random: &mut Random, now: usize) {
        let session = random.below(self.manner.n_sessions);
        let replica = session % N_REPLICAS;
        let lag = 1 + random.below(self.manner.n_sessions.min(20));
        let mut snapshot = match self.manner.sight {
            Sight::Serial => now - 1,
            Sight::Snapshot | Sight::Statements | Sight::Torn => {
                now.saturating_sub(lag).max(self.last_of_session[session])
            }
            // Replicas never go back.
            Sight::Replicas => now.saturating_sub(10 * replica + 1),
        };
        self.builder.begin(self.sessions[session], Place::default());
        let mut own: Vec<(usize, ValueId)> = Vec::new();
        let mut was_read: Vec<usize> = Vec::new();
        let is_mistaken = self.mistakes.contains(&now);
        for _ in 0..=random.below(self.manner.max_ops) {
            let key = random.below(self.manner.n_keys);
            if !self.manner.rereads && was_read.contains(&key) {
                continue;
            }
            if random.below(2) == 0 {
                was_read.push(key);
                let is_own = own.iter().any(|it| it.0 == key);
                let n_seen = self.n_seen(key, snapshot, replica);
                let n_wrong = if is_mistaken && !is_own { random.below(3).min(n_seen) } else { 0 };
                self.read(key, n_seen - n_wrong, &own);
            } else if self.may_write(key, snapshot, replica) {
                own.push((key, self.write(key)));
            }
            match self.manner.sight {
                Sight::Statements => snapshot += random.below(now - snapshot),
                Sight::Torn if random.below(8) == 0 => snapshot = now.saturating_sub(1 + random.below(20)),
                _ => {}
            }
        }
        self.builder.end(Outcome::Committed);
        for (key, value) in own {
            self.versions[key].push(Version { at: now, replica, value });
        }
        self.last_of_session[session] = now;
    }

    /// How many versions of a key can be seen: in the order in which all replicas get them, with own ones at once.
    fn n_seen(&self, key: usize, snapshot: usize, replica: usize) -> usize {
        let is_seen =
            |it: &Version| it.at <= snapshot || (self.manner.sight == Sight::Replicas && it.replica == replica);
        self.versions[key].iter().rposition(is_seen).map_or(0, |it| it + 1)
    }

    fn may_write(&self, key: usize, snapshot: usize, replica: usize) -> bool {
        match self.manner.sight {
            Sight::Serial | Sight::Statements | Sight::Torn => true,
            Sight::Snapshot => self.versions[key].last().is_none_or(|it| it.at <= snapshot),
            Sight::Replicas => key % N_REPLICAS == replica,
        }
    }

    fn read(&mut self, key: usize, n_seen: usize, own: &[(usize, ValueId)]) {
        let own = own.iter().filter(|it| it.0 == key).map(|it| it.1);
        let seen: Vec<ValueId> = self.versions[key][..n_seen].iter().map(|it| it.value).chain(own).collect();
        if key < self.manner.n_lists {
            self.builder.read_list(self.keys[key], seen);
        } else {
            self.builder.read(self.keys[key], seen.last().copied().unwrap_or(self.initial));
        }
    }

    fn write(&mut self, key: usize) -> ValueId {
        self.n_written += 1;
        let value = self.builder.value(self.n_written.into());
        if key < self.manner.n_lists {
            self.builder.append(self.keys[key], value);
        } else {
            self.builder.write(self.keys[key], value);
        }
        value
    }
}
