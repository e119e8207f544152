//! Small random runs: what stores of several kinds could have shown.

use crate::draft::{Draft, DraftTxn, Key, Op, Value};
use iso_history::Outcome;

/// A sequence of numbers that look random (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below the limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// How the store answers reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    /// One transaction after the other: serializable.
    Serial,
    /// Each transaction reads a snapshot, and two that write a key do not overlap: snapshot isolation.
    Snapshot,
    /// Each transaction reads a snapshot: prefix consistency.
    Prefix,
    /// Mostly the latest write, else any.
    Careless,
}

/// A random run that brute force can deal with: about so many runs at most could have happened instead.
pub(crate) fn trace(dice: &mut Dice, n_runs_max: usize) -> Draft {
    let keys = &['x', 'y', 'z'][..=dice.below(3)];
    let store =
        dice.pick(&[Store::Serial, Store::Serial, Store::Serial, Store::Snapshot, Store::Prefix, Store::Careless]);
    let mut run = Running { draft: Draft::default(), store, has_duplicates: dice.percent(15), n_values: 0 };
    if dice.percent(50) {
        run.draft.initial = keys.iter().map(|it| (*it, 0)).collect();
    }
    for session in turns(dice) {
        let ops = operations(dice, keys);
        run.run(dice, session, &ops);
    }
    let mut draft = run.draft;
    while n_runs(&draft) > n_runs_max {
        draft.txns.pop();
    }
    draft
}

/// Which session runs next, again and again.
fn turns(dice: &mut Dice) -> Vec<usize> {
    let n_sessions = 2 + dice.below(2);
    let mut turns: Vec<usize> = (1..=n_sessions).flat_map(|it| vec![it; 1 + dice.below(3)]).collect();
    for idx in (1..turns.len()).rev() {
        turns.swap(idx, dice.below(idx + 1));
    }
    turns
}

/// What a transaction does: reads and writes without values.
fn operations(dice: &mut Dice, keys: &[Key]) -> Vec<(Access, Key)> {
    use Access::{Read, Write};
    let (key, other) = (dice.pick(keys), dice.pick(keys));
    match dice.below(10) {
        0 | 1 => vec![(Read, key), (Write, key)],
        2 => vec![(Read, key), (Write, other)],
        3 => vec![(Write, key)],
        4 => vec![(Read, key), (Read, other)],
        5 => vec![(Read, key), (Read, other), (Read, key)],
        6 => vec![(Write, key), (Read, key), (Read, other)],
        7 => vec![(Write, key), (Read, other), (Write, key)],
        _ => {
            let n = 1 + dice.below(4);
            (0..n).map(|_| (if dice.percent(55) { Read } else { Write }, dice.pick(keys))).collect()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// The run so far.
struct Running {
    draft: Draft,
    store: Store,
    has_duplicates: bool,
    n_values: i64,
}

impl Running {
    fn run(&mut self, dice: &mut Dice, session: usize, accesses: &[(Access, Key)]) {
        let snapshot = self.snapshot(dice, session, accesses);
        let outcome = if dice.percent(6) { Outcome::Aborted } else { Outcome::Committed };
        let mut txn = DraftTxn { session, outcome, ops: Vec::new() };
        for (access, key) in accesses {
            let op = match access {
                Access::Write => Op::Write(*key, Some(self.value(dice))),
                Access::Read => {
                    let own = txn.last_write(*key);
                    Op::Read(*key, own.unwrap_or_else(|| self.read(dice, *key, snapshot)))
                }
            };
            txn.ops.push(op);
        }
        self.draft.txns.push(txn);
    }

    fn value(&mut self, dice: &mut Dice) -> i64 {
        self.n_values += 1;
        if self.has_duplicates { dice.pick(&[0, 1, 2]) } else { self.n_values }
    }

    /// How many of the transactions so far the next one sees.
    fn snapshot(&self, dice: &mut Dice, session: usize, accesses: &[(Access, Key)]) -> usize {
        let txns = &self.draft.txns;
        let own = txns.iter().rposition(|it| it.session == session).map_or(0, |it| it + 1);
        let conflicts =
            |it: &DraftTxn| accesses.iter().any(|(access, key)| *access == Access::Write && it.writes(*key));
        let conflict = txns.iter().rposition(|it| it.committed() && conflicts(it)).map_or(0, |it| it + 1);
        let earliest = match self.store {
            Store::Serial | Store::Careless => txns.len(),
            Store::Snapshot => own.max(conflict),
            Store::Prefix => own,
        };
        if dice.percent(60) { earliest } else { earliest + dice.below(txns.len() - earliest + 1) }
    }

    /// What a read sees.
    fn read(&self, dice: &mut Dice, key: Key, snapshot: usize) -> Value {
        let writes = self.draft.txns[..snapshot].iter().filter(|it| it.committed()).filter_map(|it| it.last_write(key));
        let versions: Vec<Value> = std::iter::once(self.draft.initial_value(key)).chain(writes).collect();
        let is_latest = self.store != Store::Careless || dice.percent(50);
        if is_latest { versions[versions.len() - 1] } else { dice.pick(&versions) }
    }
}

/// At most so many runs could have happened instead.
fn n_runs(draft: &Draft) -> usize {
    let n_versions = |key: Key| 1 + draft.txns.iter().filter(|it| it.committed() && it.writes(key)).count();
    let n_ends = |txn: &DraftTxn| -> usize {
        let reads = (0..txn.ops.len()).filter(|it| txn.is_external(*it));
        reads.map(|it| n_versions(txn.ops[it].key())).product()
    };
    let of_session = |session: usize| -> usize {
        let txns = draft.txns.iter().filter(|it| it.session == session && it.committed());
        1 + txns.map(|it| 1 + n_ends(it)).sum::<usize>()
    };
    (1..=3).map(of_session).product()
}
