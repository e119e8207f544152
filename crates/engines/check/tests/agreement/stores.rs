//! Histories of simulated databases, with dozens of transactions: what each kind of database guarantees holds, and
//! after one read is changed, the answers still fit together.

use crate::draft::{Action, Draft, DraftTxn, Key, Value};
use crate::judge::{Tally, Test};
use crate::random::Random;
use crate::{Cases, seed};
use iso_check::check;
use iso_evidence::{Budget, StopReason, Verdict, certify};
use iso_spec::Level;
use std::cell::Cell;
use std::collections::BTreeMap;

const TESTS: &[Test] = &[Test::Together];
const FEW_VALUES: usize = 6;

#[test]
fn a_serial_database_keeps_every_level() {
    judge_store("serial", Isolation::Serial, Level::StrictSerializable);
}

#[test]
fn a_database_of_snapshots_where_the_first_committer_wins_keeps_snapshot_isolation() {
    judge_store("snapshots", Isolation::Snapshots, Level::SnapshotIsolation);
}

#[test]
fn a_database_of_replicas_that_forward_in_causal_order_keeps_causal_consistency() {
    judge_store("replicas", Isolation::Replicas, Level::CausalConsistency);
}

/// Nothing makes the core smaller here, so that it is certified as it was found.
#[test]
fn one_wrong_read_among_few_values_is_certified_at_any_size() {
    let n_asked = Cell::new(0);
    let stop = || {
        n_asked.set(n_asked.get() + 1);
        (n_asked.get() > 30_000).then_some(StopReason::Steps)
    };
    let at_once = || Some(StopReason::Timeout);
    for (isolation, level) in
        [(Isolation::Serial, Level::Serializable), (Isolation::Snapshots, Level::SnapshotIsolation)]
    {
        let mut n_large = 0;
        for case in 0..Cases::asked().of(12, 10) {
            let mut random = Random::of_case(seed().wrapping_mul(8) + 5, case);
            let database = Database {
                n_txns: 60,
                n_sessions: 5,
                n_keys: 6,
                n_values: Some(FEW_VALUES),
                writes: 50,
                first_list: 6,
                ..Database::random(&mut random, isolation)
            };
            let mut draft = mutated(&database.run(&mut random), &mut random);
            for txn in &mut draft.txns {
                (txn.begin, txn.end) = (None, None);
            }
            let history = draft.build();
            n_asked.set(0);
            let verdict = check(&history, level, &Budget::new(&stop).explained_until(&at_once));
            certify(&history, level, &verdict).unwrap_or_else(|it| panic!("{level}, case {case}: {it:?}\n{draft}"));
            n_large += usize::from(matches!(verdict, Verdict::Forbidden(it) if it.txns.len() > 32));
        }
        assert!(n_large > 2, "{level}: {n_large} large cores");
    }
}

/// Judges runs of a database, which must keep `level`, and the same runs with one read changed.
fn judge_store(name: &'static str, isolation: Isolation, level: Level) {
    let mut tally = Tally::new(name);
    for case in 0..Cases::asked().of(30, 10) {
        let mut random = Random::of_case(seed().wrapping_mul(8) + 4, case);
        let database = Database::random(&mut random, isolation);
        let draft = database.run(&mut random);
        let answers = tally.judge(&draft, TESTS);
        for broken in Level::ALL.into_iter().filter(|it| level.implies(*it) && answers.get(it) == Some(&false)) {
            tally.note(format!("{broken}: not allowed, though the database keeps it"), &draft);
        }
        tally.judge(&mutated(&draft, &mut random), TESTS);
    }
    tally.finish();
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Isolation {
    /// One transaction after the other.
    Serial,
    /// Reads from a snapshot; a transaction whose keys were written since does not commit.
    Snapshots,
    /// Each session has a replica; commits reach the others later, the last writer wins.
    Replicas,
}

struct Database {
    isolation: Isolation,
    n_txns: usize,
    n_sessions: usize,
    n_keys: usize,
    n_values: Option<usize>,
    /// How many of a hundred operations write.
    writes: usize,
    /// Keys from this one on are lists.
    first_list: usize,
    /// Every commit in order: who made it, with what it wrote.
    log: Vec<Commit>,
    n_written: i64,
}

struct Commit {
    session: usize,
    moment: i64,
    writes: Vec<Action>,
    /// How many commits of each session it follows.
    follows: Vec<usize>,
}

impl Database {
    fn random(random: &mut Random, isolation: Isolation) -> Self {
        let n_keys = 2 + random.below(12);
        let n_values = random.pick(&[None, None, Some(40), Some(FEW_VALUES)]);
        // With few values nearly every writer is a possible one, and searches grow.
        let n_more = if n_values == Some(FEW_VALUES) { 41 } else { 171 };
        let has_lists = isolation != Isolation::Replicas && random.percent(30);
        Self {
            isolation,
            n_txns: 30 + random.below(n_more),
            n_sessions: 3 + random.below(8),
            n_keys,
            n_values,
            writes: random.pick(&[20, 50, 80]),
            first_list: if has_lists { n_keys / 2 } else { n_keys },
            log: Vec::new(),
            n_written: 0,
        }
    }

    fn run(mut self, random: &mut Random) -> Draft {
        let mut draft = Draft { initial: Some(0), txns: Vec::new() };
        // What each session has seen: commits of each session, of which it has that many.
        let mut seen = vec![vec![0; self.n_sessions]; self.n_sessions];
        let mut last_end = vec![0; self.n_sessions];
        while draft.txns.len() < self.n_txns {
            let session = random.below(self.n_sessions);
            self.catch_up(random, session, &mut seen[session]);
            let now = 10 * draft.txns.len() as i64 + 10;
            let Some(mut txn) = self.run_one(random, session, &seen[session], now) else { continue };
            // Nothing else takes place within ten units.
            txn.begin = Some(match self.isolation {
                Isolation::Serial => now - random.below(9) as i64,
                _ => last_end[session] + 1,
            });
            txn.end = Some(now + random.below(9) as i64);
            last_end[session] = now + 9;
            let writes: Vec<Action> = txn.actions.iter().filter(|it| it.is_write()).cloned().collect();
            seen[session][session] += 1;
            self.log.push(Commit { session, moment: now, writes, follows: seen[session].clone() });
            draft.txns.push(txn);
        }
        draft
    }

    /// Lets a session see more of what was committed, and always its own.
    fn catch_up(&self, random: &mut Random, session: usize, seen: &mut Vec<usize>) {
        let counts = |log: &[Commit]| {
            let mut counts = vec![0; self.n_sessions];
            for commit in log {
                counts[commit.session] += 1;
            }
            counts
        };
        match self.isolation {
            Isolation::Serial => *seen = counts(&self.log),
            Isolation::Snapshots => {
                let own = self.log.iter().rposition(|it| it.session == session).map_or(0, |it| it + 1);
                // Usually a fresh snapshot; a stale one still has the session's own commits.
                let missing = if random.percent(60) { 0 } else { random.below(12) };
                let upto = self.log.len().saturating_sub(missing).max(own);
                *seen = counts(&self.log[..upto]);
            }
            Isolation::Replicas => {
                let other = random.below(self.n_sessions);
                // Everything that another session has made, with what that follows.
                if let Some(commit) = self.log.iter().rev().find(|it| it.session == other)
                    && random.percent(70)
                {
                    for (mine, theirs) in seen.iter_mut().zip(&commit.follows) {
                        *mine = (*mine).max(*theirs);
                    }
                }
            }
        }
    }

    /// Runs a transaction on what it sees; none if another one committed first.
    fn run_one(&mut self, random: &mut Random, session: usize, seen: &[usize], now: i64) -> Option<DraftTxn> {
        let mut txn = DraftTxn::new(session);
        let mut view = self.view(seen);
        for _ in 0..=random.below(6) {
            let key = random.below(self.n_keys);
            let action = if random.percent(self.writes) { self.write(random, key) } else { view.read(key) };
            view.apply(&action);
            txn.actions.push(action);
        }
        let is_written = |it: &Action| txn.actions.iter().any(|mine| mine.is_write() && mine.key() == it.key());
        let is_missed = |nth: usize| {
            let commit = &self.log[nth];
            let nth_of_session = self.log[..nth].iter().filter(|it| it.session == commit.session).count();
            debug_assert!(commit.moment < now);
            nth_of_session >= seen[commit.session] && commit.writes.iter().any(is_written)
        };
        let lost = self.isolation == Isolation::Snapshots && (0..self.log.len()).any(is_missed);
        (!lost).then_some(txn)
    }

    fn view(&self, seen: &[usize]) -> View {
        let mut view = View { first_list: self.first_list, registers: BTreeMap::new(), lists: BTreeMap::new() };
        let mut counts = vec![0; self.n_sessions];
        for commit in &self.log {
            counts[commit.session] += 1;
            if counts[commit.session] <= seen[commit.session] {
                commit.writes.iter().for_each(|it| view.apply(it));
            }
        }
        view
    }

    fn write(&mut self, random: &mut Random, key: Key) -> Action {
        self.n_written += 1;
        match self.n_values {
            _ if key >= self.first_list => Action::Append(key, self.n_written),
            Some(n_values) => Action::Write(key, Some(1 + random.below(n_values) as i64)),
            None => Action::Write(key, Some(self.n_written)),
        }
    }
}

/// What a transaction sees.
struct View {
    first_list: Key,
    registers: BTreeMap<Key, Value>,
    lists: BTreeMap<Key, Vec<i64>>,
}

impl View {
    fn read(&self, key: Key) -> Action {
        if key >= self.first_list {
            Action::ReadList(key, self.lists.get(&key).cloned().unwrap_or_default())
        } else {
            Action::Read(key, self.registers.get(&key).copied().unwrap_or(Some(0)))
        }
    }

    fn apply(&mut self, action: &Action) {
        match action {
            Action::Write(key, value) => {
                self.registers.insert(*key, *value);
            }
            Action::Append(key, value) => self.lists.entry(*key).or_default().push(*value),
            Action::Read(..) | Action::ReadList(..) => {}
        }
    }
}

/// The same history with one read that returns what another read or write of that key has, or a shorter list.
fn mutated(draft: &Draft, random: &mut Random) -> Draft {
    let mut mutated = draft.clone();
    for _ in 0..50 {
        let txn = random.below(draft.txns.len());
        let action = random.below(draft.txns[txn].actions.len());
        let changed = match &draft.txns[txn].actions[action] {
            Action::Read(key, value) => {
                let of_key = |it: &&Action| matches!(it, Action::Write(other, _) if other == key);
                let writes = draft.txns.iter().flat_map(|it| &it.actions).filter(of_key);
                let values = writes.filter_map(|it| if let Action::Write(_, it) = it { Some(*it) } else { None });
                let others: Vec<Value> = values.filter(|it| it != value).chain([Some(0)]).collect();
                Action::Read(*key, random.pick(&others))
            }
            Action::ReadList(key, values) if !values.is_empty() => {
                Action::ReadList(*key, values[..random.below(values.len())].to_vec())
            }
            _ => continue,
        };
        mutated.txns[txn].actions[action] = changed;
        return mutated;
    }
    mutated
}
