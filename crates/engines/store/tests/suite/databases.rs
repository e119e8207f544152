//! Stores at levels of databases: what they can answer, compared with the text of the level and with servers.
//!
//! A server runs statements one after the other, each on the newest state, and whoever needs a locked row waits. The store
//! runs whole transactions and lets statements look at old moments. Both must come to the same outcomes.

use crate::dice::Dice;
use crate::setting;
use iso_history::{Datum, Facts, History, HistoryBuilder, Locking, Outcome, Place};
use iso_spec::{Catalogue, Level, Prepared, Steps};
use iso_store::{Change, Error, Key, Policy, SessionId, Store, Values};
use std::collections::BTreeSet;

const LEVELS: [Level; 3] = [Level::StatementSnapshots, Level::TransactionSnapshot, Level::RowSnapshots];

#[derive(Clone, Debug)]
struct Program {
    txns: Vec<CaseTxn>,
}

#[derive(Clone, Debug)]
struct CaseTxn {
    session: usize,
    ops: Vec<(Kind, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Update,
    /// A read that locks.
    Lock,
}

/// By external read in the order of the program, the transaction that it read from; none is the initial state.
type Sources = Vec<Option<usize>>;

const N_KEYS: usize = 3;

impl Program {
    /// Reads `1: r0 u0 / 1: f1 / 2: w1`: sessions, and statements on rows.
    fn parse(text: &str) -> Self {
        let op = |word: &str| {
            let kind = match &word[..1] {
                "r" => Kind::Read,
                "w" => Kind::Write,
                "u" => Kind::Update,
                _ => Kind::Lock,
            };
            (kind, word[1..].parse().unwrap())
        };
        let txn = |part: &str| {
            let (session, ops) = part.split_once(':').unwrap();
            CaseTxn { session: session.trim().parse().unwrap(), ops: ops.split_whitespace().map(op).collect() }
        };
        Self { txns: text.split('/').map(txn).collect() }
    }

    fn random(dice: &mut Dice, kinds: &[Kind]) -> Self {
        let n_txns = 2 + dice.below(2);
        let n_sessions = 1 + dice.below(n_txns);
        let txn = |dice: &mut Dice| {
            let n_ops = 1 + dice.below(3);
            let ops = (0..n_ops).map(|_| (kinds[dice.below(kinds.len())], dice.below(2))).collect();
            CaseTxn { session: dice.below(n_sessions), ops }
        };
        Self { txns: (0..n_txns).map(|_| txn(dice)).collect() }
    }

    fn writes(&self, txn: usize, key: usize) -> bool {
        self.txns[txn].ops.iter().any(|it| it.1 == key && matches!(it.0, Kind::Write | Kind::Update))
    }

    /// Is this a read of what others wrote?
    fn is_external(&self, txn: usize, at: usize) -> bool {
        let (kind, key) = self.txns[txn].ops[at];
        let written = |it: &(Kind, usize)| it.1 == key && matches!(it.0, Kind::Write | Kind::Update);
        kind != Kind::Write && !self.txns[txn].ops[..at].iter().any(written)
    }

    fn candidates(&self) -> Vec<Sources> {
        let mut all: Vec<Sources> = vec![Vec::new()];
        for (reader, txn) in self.txns.iter().enumerate() {
            for (_, (_, key)) in txn.ops.iter().enumerate().filter(|it| self.is_external(reader, it.0)) {
                let writers = (0..self.txns.len()).filter(|it| *it != reader && self.writes(*it, *key));
                let choices: Vec<Option<usize>> = std::iter::once(None).chain(writers.map(Some)).collect();
                let longer =
                    |it: &Sources| choices.iter().map(|new| [it.as_slice(), &[*new]].concat()).collect::<Vec<_>>();
                all = all.iter().flat_map(longer).collect();
            }
        }
        all
    }

    fn value(txn: usize, at: usize) -> i64 {
        (100 * (txn + 1) + at) as i64
    }

    /// The history with these sources. Each write has a value of its own.
    fn history(&self, sources: &Sources) -> History {
        let mut builder = HistoryBuilder::new();
        let keys: Vec<_> = (0..N_KEYS).map(|it| builder.key((it as i64).into())).collect();
        let zero = builder.value(0.into());
        for key in &keys {
            builder.initial(*key, zero, Place::default());
        }
        let mut left = sources.iter();
        let last_write = |txn: usize, key: usize, until: usize| {
            let is_it = |it: &(Kind, usize)| it.1 == key && matches!(it.0, Kind::Write | Kind::Update);
            self.txns[txn].ops[..until].iter().rposition(is_it)
        };
        for (idx, txn) in self.txns.iter().enumerate() {
            let session = builder.session(&txn.session.to_string());
            builder.begin(session, Place::default());
            for (at, (kind, key)) in txn.ops.iter().enumerate() {
                let new = builder.value(Self::value(idx, at).into());
                if *kind == Kind::Write {
                    builder.write(keys[*key], new);
                    continue;
                }
                let old = match last_write(idx, *key, at) {
                    Some(own) => Self::value(idx, own),
                    None => left.next().unwrap().map_or(0, |writer| {
                        Self::value(writer, last_write(writer, *key, self.txns[writer].ops.len()).unwrap())
                    }),
                };
                let old = builder.value(old.into());
                match kind {
                    Kind::Update => builder.update(keys[*key], old, new),
                    Kind::Lock => {
                        builder.begin_statement();
                        builder.read(keys[*key], old);
                        builder.end_statement(Locking::ForUpdate);
                    }
                    _ => builder.read(keys[*key], old),
                }
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    /// What the text of a level allows.
    fn allowed(&self, level: Level) -> BTreeSet<Sources> {
        let spec = Catalogue::builtin().find(level.definition()).unwrap();
        let is_allowed = |it: &Sources| {
            let history = self.history(it);
            let facts = Facts::new(&history);
            Prepared::new(&facts).evaluate(spec, &mut Steps::unlimited()).is_allowed().unwrap()
        };
        self.candidates().into_iter().filter(is_allowed).collect()
    }

    fn store(&self, level: Level, policy: Policy, seed: u64) -> (Store, Vec<SessionId>) {
        let mut store = Store::new(level, policy, seed).unwrap();
        for idx in 0..N_KEYS {
            store.load(&key(idx), 0.into()).unwrap();
        }
        let sessions = self.txns.iter().map(|it| store.session(&it.session.to_string())).collect();
        (store, sessions)
    }

    /// The transactions that may begin once these have ended.
    fn next(&self, is_ended: &[bool]) -> Vec<usize> {
        let is_first = |it: &usize| {
            !is_ended[*it]
                && (0..*it).all(|other| self.txns[other].session != self.txns[*it].session || is_ended[other])
        };
        (0..self.txns.len()).filter(is_first).collect()
    }

    /// Every outcome of whole transactions, one after the other, whose plain reads get any version that they may.
    fn by_choices(&self, level: Level) -> BTreeSet<Sources> {
        let (store, sessions) = self.store(level, Policy::Latest, 0);
        let mut walk = Walk { program: self, sessions, outcomes: BTreeSet::new(), how: How::Choices };
        walk.go(&store, &Progress::new(self));
        walk.outcomes
    }

    /// Every outcome of statements in any order, as a server executes them: at READ COMMITTED each on the newest state.
    fn by_interleaving(&self, level: Level) -> BTreeSet<Sources> {
        let (store, sessions) = self.store(level, Policy::Latest, 0);
        let mut walk = Walk { program: self, sessions, outcomes: BTreeSet::new(), how: How::Interleaving };
        walk.go(&store, &Progress::new(self));
        walk.outcomes
    }
}

fn key(idx: usize) -> Key {
    Key::new("k", idx.to_string())
}

/// How far a run is.
#[derive(Clone, Debug)]
struct Progress {
    /// By transaction, the next operation; none if it has not begun.
    at: Vec<Option<usize>>,
    is_ended: Vec<bool>,
}

impl Progress {
    fn new(program: &Program) -> Self {
        Self { at: vec![None; program.txns.len()], is_ended: vec![false; program.txns.len()] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Choices,
    Interleaving,
}

/// A walk over all runs in which every transaction commits.
struct Walk<'p> {
    program: &'p Program,
    sessions: Vec<SessionId>,
    outcomes: BTreeSet<Sources>,
    how: How,
}

impl Walk<'_> {
    fn go(&mut self, store: &Store, progress: &Progress) {
        if progress.is_ended.iter().all(|it| *it) {
            self.outcomes.insert(self.sources(store));
            return;
        }
        let ready = self.program.next(&progress.is_ended);
        let open = ready.iter().copied().find(|it| progress.at[*it].is_some());
        let movers = match (self.how, open) {
            (How::Choices, Some(open)) => vec![open],
            _ => ready,
        };
        for txn in movers {
            self.step(store, progress, txn);
        }
    }

    /// Goes on with one statement of a transaction, in every way.
    fn step(&mut self, store: &Store, progress: &Progress, txn: usize) {
        let (session, mut store, mut progress) = (self.sessions[txn], store.clone(), progress.clone());
        let Some(at) = progress.at[txn] else {
            store.begin(session).unwrap();
            progress.at[txn] = Some(0);
            return self.step(&store, &progress, txn);
        };
        let Some((kind, row)) = self.program.txns[txn].ops.get(at).copied() else {
            progress.is_ended[txn] = true;
            if is_done(store.commit(session)) {
                self.go(&store, &progress);
            }
            return;
        };
        progress.at[txn] = Some(at + 1);
        let value: Datum = Program::value(txn, at).into();
        let answer = match kind {
            // Snapshots of transactions are taken before, which the store leaves open.
            Kind::Read if self.how == How::Choices || store.level() != Level::StatementSnapshots => {
                for writer in store.legal(session, &key(row)).unwrap() {
                    let mut next = store.clone();
                    next.get_from(session, &key(row), &writer).unwrap();
                    self.go(&next, &progress);
                }
                return;
            }
            Kind::Read => store.get(session, &key(row)).map(|_| ()),
            Kind::Write => store.put(session, &key(row), value),
            Kind::Update => store.update(session, &key(row), |_| Change::Put(value)).map(|_| ()),
            Kind::Lock => store.get_newest(session, &key(row)).map(|_| ()),
        };
        if is_done(answer) {
            self.go(&store, &progress);
        }
    }

    /// The sources of a run, in the order of the program.
    fn sources(&self, store: &Store) -> Sources {
        let history = store.history(Values::Distinct);
        let number = |txn: iso_history::TxnId| {
            let session = history.session_of(txn)?;
            let of_session = |it: &usize| self.program.txns[*it].session.to_string() == history.session_name(session);
            (0..self.program.txns.len()).filter(of_session).nth(history.nth_in_session(txn))
        };
        let mut sources: Vec<_> =
            store.sources().iter().map(|it| (number(history.txn_of(it.read)), it.read, number(it.writer))).collect();
        sources.sort_by_key(|it| (it.0, it.1));
        sources.into_iter().map(|it| it.2).collect()
    }
}

/// Was it done? Whoever waits or is aborted has done nothing.
fn is_done<T>(answer: Result<T, Error>) -> bool {
    match answer {
        Ok(_) => true,
        Err(Error::Conflict(_) | Error::Locked { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Answers how many outcomes each level has, and how many its text allows besides.
fn compare(program: &Program) -> [(usize, usize); 3] {
    LEVELS.map(|level| {
        let (chosen, interleaved) = (program.by_choices(level), program.by_interleaving(level));
        assert_eq!(chosen, interleaved, "{level} {program:?}");
        let allowed = program.allowed(level);
        assert!(chosen.is_subset(&allowed), "{level} {program:?}\n{chosen:?}\n{allowed:?}");
        (chosen.len(), allowed.len() - chosen.len())
    })
}

/// Lost updates by select and update, and by one statement; write skew; a read-only anomaly; locks that are taken first.
/// How many outcomes each level has, and how many more its text allows: it does not say when a row was locked that was not
/// read then.
const PROGRAMS: [(&str, [(usize, usize); 3]); 10] = [
    ("1: r0 w0 / 2: r0 w0", [(3, 0), (3, 0), (2, 0)]),
    ("1: u0 / 2: u0", [(2, 0), (2, 0), (2, 0)]),
    ("1: r0 u0 / 2: r0 u0", [(4, 0), (4, 0), (2, 0)]),
    ("1: r0 r1 u0 / 2: r0 r1 u1", [(3, 0), (3, 0), (3, 0)]),
    ("1: r0 r1 w0 / 2: r1 w1 / 3: r0 r1", [(7, 0), (7, 0), (7, 0)]),
    ("1: f0 r1 w1 / 2: f0 r1 w1", [(2, 1), (2, 1), (2, 0)]),
    ("1: w0 w1 / 2: r0 r1 r0", [(4, 0), (2, 0), (2, 0)]),
    ("1: u0 r1 / 2: u1 r0", [(3, 0), (3, 0), (3, 0)]),
    ("1: f0 / 2: u0 r1 / 2: w1", [(2, 0), (2, 0), (2, 0)]),
    ("1: w0 r1 / 2: w1 w0", [(2, 0), (2, 0), (2, 0)]),
];

#[test]
fn known_programs_have_the_outcomes_of_servers() {
    let found = PROGRAMS.map(|(text, _)| (text, compare(&Program::parse(text))));
    assert_eq!(found, PROGRAMS);
}

#[test]
fn random_programs_have_the_outcomes_of_servers() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let kinds = [Kind::Read, Kind::Read, Kind::Write, Kind::Update, Kind::Lock];
    for case in 0..setting("ISOSCOPE_CASES", 300) {
        compare(&Program::random(&mut Dice::new(seed.wrapping_add(case)), &kinds));
    }
}

/// Where every row that is written is read by the same statement, the text says when it was locked. That of `InnoDB` allows a
/// snapshot from before the first lock, which only `START TRANSACTION WITH CONSISTENT SNAPSHOT` takes.
#[test]
fn random_programs_with_updates_have_every_outcome_of_the_text() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let mut n_apart = 0;
    for case in 0..setting("ISOSCOPE_CASES", 300) {
        let program = Program::random(&mut Dice::new(seed.wrapping_add(case)), &[Kind::Read, Kind::Update]);
        let counts = compare(&program);
        assert_eq!([counts[0].1, counts[2].1], [0; 2], "{program:?}");
        n_apart += usize::from(counts[0] != counts[2]);
    }
    assert!(n_apart > 0, "some program tells READ COMMITTED from REPEATABLE READ");
}

/// A store of READ COMMITTED with rows 0 and 1, and two sessions with open transactions.
fn opened(level: Level) -> (Store, SessionId, SessionId) {
    let (mut store, sessions) = Program::parse("1: r0 / 2: r0").store(level, Policy::Latest, 0);
    for session in &sessions {
        store.begin(*session).unwrap();
    }
    (store, sessions[0], sessions[1])
}

fn add_one(old: Option<&Datum>) -> Change {
    match old {
        Some(Datum::Int(number)) => Change::Put((number + 1).into()),
        _ => Change::Keep,
    }
}

#[test]
fn whoever_needs_a_locked_row_waits_and_loses_nothing() {
    let (mut store, one, two) = opened(Level::StatementSnapshots);
    store.update(one, &key(0), add_one).unwrap();
    let error = store.update(two, &key(0), add_one).unwrap_err();
    assert_eq!(error.to_string(), "2.1 waits for k:0, which 1.1 has locked");
    assert_eq!(store.get(two, &key(0)).unwrap(), Some(0.into()), "plain reads wait for nobody");
    store.commit(one).unwrap();
    assert_eq!(store.update(two, &key(0), add_one).unwrap(), Some(1.into()));
    store.commit(two).unwrap();
}

#[test]
fn the_second_updater_is_aborted_at_repeatable_read() {
    let (mut store, one, two) = opened(Level::RowSnapshots);
    store.get(two, &key(0)).unwrap();
    store.update(one, &key(0), add_one).unwrap();
    assert!(matches!(store.update(two, &key(0), add_one), Err(Error::Locked { .. })));
    store.commit(one).unwrap();
    let error = store.update(two, &key(0), add_one).unwrap_err();
    assert_eq!(error.to_string(), "2.1 is aborted: k:0 was changed by 1.1, which it does not see");
}

#[test]
fn sessions_that_wait_for_each_other_are_a_conflict() {
    for level in LEVELS {
        let (mut store, one, two) = opened(level);
        store.put(one, &key(0), 1.into()).unwrap();
        store.put(two, &key(1), 2.into()).unwrap();
        assert!(matches!(store.put(one, &key(1), 1.into()), Err(Error::Locked { .. })), "{level}");
        let error = store.put(two, &key(0), 2.into()).unwrap_err();
        assert_eq!(error.to_string(), "2.1 is aborted: k:0 is locked by 1.1, which waits for 2.1", "{level}");
        store.put(one, &key(1), 1.into()).unwrap();
        store.commit(one).unwrap();
    }
}

#[test]
fn an_aborted_transaction_gives_its_locks_back() {
    let (mut store, one, two) = opened(Level::TransactionSnapshot);
    store.get_newest(one, &key(0)).unwrap();
    assert!(matches!(store.put(two, &key(0), 2.into()), Err(Error::Locked { .. })));
    store.abort(one).unwrap();
    store.put(two, &key(0), 2.into()).unwrap();
    store.commit(two).unwrap();
}

#[test]
fn an_insert_looks_at_the_newest_version() {
    for level in LEVELS {
        let (mut store, one, two) = opened(level);
        let new = Key::new("k", "9");
        assert_eq!(store.get(two, &new).unwrap(), None);
        store.insert(one, &new, 1.into()).unwrap();
        assert!(matches!(store.insert(two, &new, 2.into()), Err(Error::Locked { .. })), "{level}");
        store.commit(one).unwrap();
        assert_eq!(store.insert(two, &new, 2.into()), Err(Error::Exists { key: new.clone() }), "{level}");
        store.abort(two).unwrap();
    }
}

/// `PostgreSQL` lets an insert make a row that the snapshot has and somebody has deleted since.
#[test]
fn a_row_that_was_deleted_can_be_made_anew_at_repeatable_read() {
    let (mut store, one, two) = opened(Level::RowSnapshots);
    assert_eq!(store.get(one, &key(0)).unwrap(), Some(0.into()));
    store.delete(two, &key(0)).unwrap();
    store.commit(two).unwrap();
    assert_eq!(store.get(one, &key(0)).unwrap(), Some(0.into()), "the snapshot has it");
    store.insert(one, &key(0), 7.into()).unwrap();
    store.commit(one).unwrap();
    let history = store.history(Values::Distinct);
    let verdict = iso_evidence::Verdict::Allowed(store.witness());
    iso_evidence::certify(&history, Level::RowSnapshots, &verdict).unwrap();
    let si = iso_check::check(&history, Level::SnapshotIsolation, &iso_evidence::Budget::unlimited());
    assert!(matches!(si, iso_evidence::Verdict::Forbidden(_)));
}
