//! Every outcome that the text of a level allows can be reached.

use crate::dice::Dice;
use crate::setting;
use iso_history::{Facts, History, HistoryBuilder, OpId, Outcome, Place, TxnId};
use iso_spec::{Catalogue, Level, Prepared, Steps};
use iso_store::{Error, Key, LEVELS, Policy, Rows, SessionId, Source, Store, Values, Writer};
use std::collections::BTreeSet;

/// Transactions in the order of their sessions.
#[derive(Clone, Debug)]
struct Program {
    n_keys: usize,
    txns: Vec<CaseTxn>,
}

#[derive(Clone, Debug)]
struct CaseTxn {
    session: usize,
    ops: Vec<Op>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Read(usize),
    Write(usize),
}

/// By external read in the order of the program, the transaction that it read from; none is the initial state.
type Sources = Vec<Option<usize>>;

impl Program {
    /// Reads `1: r0 w0 / 1: r1 / 2: w1`: sessions, and reads and writes of keys.
    fn parse(text: &str) -> Self {
        let op = |word: &str| {
            let key = word[1..].parse().unwrap();
            if word.starts_with('r') { Op::Read(key) } else { Op::Write(key) }
        };
        let txn = |part: &str| {
            let (session, ops) = part.split_once(':').unwrap();
            CaseTxn { session: session.trim().parse().unwrap(), ops: ops.split_whitespace().map(op).collect() }
        };
        Self { n_keys: 3, txns: text.split('/').map(txn).collect() }
    }

    fn random(dice: &mut Dice) -> Self {
        let (n_keys, n_txns) = (1 + dice.below(3), 2 + dice.below(3));
        let n_sessions = 1 + dice.below(n_txns);
        let mut n_reads = 0;
        let txns = (0..n_txns).map(|_| {
            let mut ops = Vec::new();
            for _ in 0..=dice.below(3) {
                let key = dice.below(n_keys);
                if n_reads < 5 && dice.percent(55) {
                    n_reads += 1;
                    ops.push(Op::Read(key));
                } else {
                    ops.push(Op::Write(key));
                }
            }
            CaseTxn { session: dice.below(n_sessions), ops }
        });
        Self { n_keys, txns: txns.collect() }
    }

    /// The external reads: transaction and key.
    fn reads(&self) -> Vec<(usize, usize)> {
        let mut reads = Vec::new();
        for (idx, txn) in self.txns.iter().enumerate() {
            for (at, op) in txn.ops.iter().enumerate() {
                if let Op::Read(key) = op
                    && !txn.ops[..at].contains(&Op::Write(*key))
                {
                    reads.push((idx, *key));
                }
            }
        }
        reads
    }

    /// Every way in which reads may get their versions.
    fn candidates(&self) -> Vec<Sources> {
        let mut all = vec![Vec::new()];
        for (reader, key) in self.reads() {
            let writes = |it: &usize| *it != reader && self.txns[*it].ops.contains(&Op::Write(key));
            let writers: Vec<usize> = (0..self.txns.len()).filter(writes).collect();
            let choices = || std::iter::once(None).chain(writers.iter().copied().map(Some));
            let longer = |it: &Sources| choices().map(|new| [it.as_slice(), &[new]].concat()).collect::<Vec<_>>();
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// The history with these sources. Each write has a value of its own.
    fn history(&self, sources: &Sources) -> History {
        let mut builder = HistoryBuilder::new();
        let keys: Vec<_> = (0..self.n_keys).map(|it| builder.key((it as i64).into())).collect();
        let mut left = sources.iter();
        let final_value = |txn: usize, key: usize| {
            let last = self.txns[txn].ops.iter().rposition(|it| *it == Op::Write(key)).unwrap();
            (100 * (txn + 1) + last) as i64
        };
        for (idx, txn) in self.txns.iter().enumerate() {
            let session = builder.session(&txn.session.to_string());
            builder.begin(session, Place::default());
            for (at, op) in txn.ops.iter().enumerate() {
                let own = |key| txn.ops[..at].iter().rposition(|it| *it == Op::Write(key));
                match *op {
                    Op::Write(key) => {
                        let value = builder.value(((100 * (idx + 1) + at) as i64).into());
                        builder.write(keys[key], value);
                    }
                    Op::Read(key) => {
                        let datum = match own(key) {
                            Some(written) => ((100 * (idx + 1) + written) as i64).into(),
                            None => match left.next().unwrap() {
                                Some(writer) => final_value(*writer, key).into(),
                                None => iso_history::Datum::Null,
                            },
                        };
                        let value = builder.value(datum);
                        builder.read(keys[key], value);
                    }
                }
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    /// What the text of each level allows.
    fn allowed(&self) -> Vec<BTreeSet<Sources>> {
        let mut allowed = vec![BTreeSet::new(); LEVELS.len()];
        for sources in self.candidates() {
            let history = self.history(&sources);
            let facts = Facts::new(&history);
            let prepared = Prepared::new(&facts);
            for (at, level) in LEVELS.into_iter().enumerate() {
                let spec = Catalogue::builtin().find(level.definition()).unwrap();
                if prepared.evaluate(spec, &mut Steps::unlimited()).is_allowed().unwrap() {
                    allowed[at].insert(sources.clone());
                }
            }
        }
        allowed
    }

    /// Every order of the transactions in which sessions are in order.
    fn orders(&self) -> Vec<Vec<usize>> {
        let mut done = Vec::new();
        let mut partial = vec![Vec::new()];
        while let Some(order) = partial.pop() {
            if order.len() == self.txns.len() {
                done.push(order);
                continue;
            }
            let is_next = |it: &usize| {
                let earlier = |other: usize| self.txns[other].session == self.txns[*it].session;
                !order.contains(it) && (0..*it).filter(|other| earlier(*other)).all(|other| order.contains(&other))
            };
            for next in (0..self.txns.len()).filter(is_next) {
                partial.push([order.as_slice(), &[next]].concat());
            }
        }
        done
    }

    fn key(idx: usize) -> Key {
        Key::new("k", idx.to_string())
    }

    /// The transaction that a writer is.
    fn txn_of(&self, writer: &Writer) -> Option<usize> {
        let Writer::Txn(name) = writer else { return None };
        let of_session = |it: &usize| self.txns[*it].session.to_string() == *name.session;
        (0..self.txns.len()).filter(of_session).nth(name.nth)
    }

    fn store(&self, level: Level, policy: Policy, seed: u64) -> (Store, Vec<SessionId>) {
        let mut store = Store::new(level, policy, seed).unwrap();
        let sessions = self.txns.iter().map(|it| store.session(&it.session.to_string())).collect();
        (store, sessions)
    }

    /// What serial runs in any order can reach.
    fn reached(&self, level: Level) -> BTreeSet<Sources> {
        let mut reached = BTreeSet::new();
        for order in self.orders() {
            let (store, sessions) = self.store(level, Policy::Latest, 0);
            let mut walk = Walk { program: self, sessions: &sessions, order: &order, reached: &mut reached };
            walk.from(store, 0, 0, &mut Vec::new());
        }
        reached
    }
}

/// A walk over all choices of a serial run.
struct Walk<'p> {
    program: &'p Program,
    sessions: &'p [SessionId],
    order: &'p [usize],
    reached: &'p mut BTreeSet<Sources>,
}

impl Walk<'_> {
    /// Goes on with an operation of the transaction at a place of the order.
    fn from(&mut self, mut store: Store, at: usize, op_idx: usize, taken: &mut Vec<(usize, Option<usize>)>) {
        let Some(txn_idx) = self.order.get(at).copied() else {
            // Reads in the order of the program; the sort is stable.
            let mut sorted = taken.clone();
            sorted.sort_by_key(|it| it.0);
            self.reached.insert(sorted.into_iter().map(|it| it.1).collect());
            return;
        };
        let session = self.sessions[txn_idx];
        let ops = &self.program.txns[txn_idx].ops;
        if op_idx == 0 {
            store.begin(session).unwrap();
        }
        match ops.get(op_idx) {
            None => {
                if is_done(store.commit(session)) {
                    self.from(store, at + 1, 0, taken);
                }
            }
            Some(Op::Write(key)) => {
                let value = (100 * (txn_idx + 1) + op_idx) as i64;
                if is_done(store.put(session, &Program::key(*key), value.into())) {
                    self.from(store, at, op_idx + 1, taken);
                }
            }
            Some(Op::Read(key)) => {
                let name = Program::key(*key);
                for writer in store.legal(session, &name).unwrap() {
                    let mut next = store.clone();
                    let is_own = ops[..op_idx].contains(&Op::Write(*key));
                    if !is_done(next.get_from(session, &name, &writer)) {
                        continue;
                    }
                    if !is_own {
                        taken.push((txn_idx, self.program.txn_of(&writer)));
                    }
                    self.from(next, at, op_idx + 1, taken);
                    if !is_own {
                        taken.pop();
                    }
                }
            }
        }
    }
}

/// Was it done, and was there no conflict?
fn is_done<T>(answer: Result<T, Error>) -> bool {
    match answer {
        Ok(_) => true,
        Err(Error::Conflict(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Answers how many outcomes each level has.
fn assert_complete(program: &Program) -> Vec<usize> {
    let allowed = program.allowed();
    for (level, allowed) in LEVELS.into_iter().zip(&allowed) {
        let reached = program.reached(level);
        let lacking: Vec<_> = allowed.difference(&reached).collect();
        let wrong: Vec<_> = reached.difference(allowed).collect();
        assert!(lacking.is_empty() && wrong.is_empty(), "{level} {program:?}\nlacks {lacking:?}\nhas {wrong:?}");
    }
    allowed.iter().map(BTreeSet::len).collect()
}

/// Lost update, write skew, long fork, fractured reads, causality, the read-only anomaly, sessions that only read.
const PROGRAMS: [&str; 10] = [
    "1: r0 w0 / 2: r0 w0",
    "1: r0 r1 w0 / 2: r0 r1 w1",
    "1: w0 / 2: w1 / 3: r0 r1 / 4: r0 r1",
    "1: w0 w1 / 2: r0 r1 r0",
    "1: w0 / 2: r0 w1 / 3: r1 r0",
    "1: r0 r1 w0 / 2: r1 w1 / 3: r0 r1",
    "1: w0 / 1: w1 / 2: r1 / 2: r0",
    "1: w0 / 2: w0 / 3: r0 / 3: r0",
    "1: r0 w1 / 2: w0 w1 / 3: w0 r1 / 3: r1",
    "1: w0 w0 / 1: r0 w0 / 2: r0 w0 r0",
];

#[test]
fn every_outcome_of_known_programs_is_reached() {
    for text in PROGRAMS {
        println!("{text}: {:?}", assert_complete(&Program::parse(text)));
    }
}

#[test]
fn every_outcome_of_random_programs_is_reached() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let mut n_apart = 0;
    let n_cases = setting("ISOSCOPE_CASES", 300);
    for case in 0..n_cases {
        let counts = assert_complete(&Program::random(&mut Dice::new(seed.wrapping_add(case))));
        n_apart += u64::from(counts[0] != counts[LEVELS.len() - 1]);
    }
    println!("{n_apart} of {n_cases} programs tell levels apart");
    assert!(n_apart * 10 > n_cases, "{n_apart}");
}

#[test]
fn random_reads_reach_every_outcome() {
    for text in &PROGRAMS[..6] {
        assert_reached_by_chance(text, Reading::RowByRow);
    }
}

/// Rows that others insert later were read as missing.
#[test]
fn random_scans_reach_every_outcome() {
    for text in
        ["1: r0 r1 w0 / 2: r0 r1 w1", "1: w0 / 2: w1 / 3: r0 r1 / 4: r0 r1", "1: r0 r1 w1 / 1: r0 r1 / 2: w0 r1"]
    {
        assert_reached_by_chance(text, Reading::Scans);
    }
}

/// How the reads of a program are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    RowByRow,
    /// Reads of the rows 0 and 1, one after the other, are a scan.
    Scans,
}

fn assert_reached_by_chance(text: &str, reading: Reading) {
    let program = Program::parse(text);
    for (level, allowed) in LEVELS.into_iter().zip(program.allowed()) {
        let mut reached = BTreeSet::new();
        for seed in 0..4000 {
            reached.extend(random_run(&program, level, reading, seed));
            if reached.len() == allowed.len() {
                break;
            }
        }
        assert_eq!(reached, allowed, "{text} at {level}");
    }
}

/// A serial run in a random order, unless a transaction aborts.
fn random_run(program: &Program, level: Level, reading: Reading, seed: u64) -> Option<Sources> {
    let orders = program.orders();
    let order = &orders[Dice::new(seed).below(orders.len())];
    let (mut store, sessions) = program.store(level, Policy::Random, seed);
    for txn in order {
        let session = sessions[*txn];
        store.begin(session).unwrap();
        let mut left = program.txns[*txn].ops.as_slice();
        while let [op, rest @ ..] = left {
            left = rest;
            let is_done = match op {
                Op::Read(0) if reading == Reading::Scans && rest.first() == Some(&Op::Read(1)) => {
                    left = &rest[1..];
                    is_done(store.scan(session, "k", &Rows::All))
                }
                Op::Read(key) => is_done(store.get(session, &Program::key(*key))),
                Op::Write(key) => is_done(store.put(session, &Program::key(*key), (left.len() as i64).into())),
            };
            if !is_done {
                return None;
            }
        }
        if !is_done(store.commit(session)) {
            return None;
        }
    }
    Some(sources_of(reading, &store, order))
}

/// The sources of a serial run, in the order of the program.
fn sources_of(reading: Reading, store: &Store, order: &[usize]) -> Sources {
    let history = store.history(Values::Distinct);
    // Transactions of the history are in the order of the run.
    let txn_of = |it: TxnId| (!it.is_initial()).then(|| order[it.index() - 1]);
    let name_of = |it: OpId| history.key_name(history.op(it).key()).to_string();
    let source = |it: &Source| (txn_of(history.txn_of(it.read)), name_of(it.read), txn_of(it.writer));
    let mut sources: Vec<_> = store.sources().iter().map(source).collect();
    if reading == Reading::Scans {
        // Rows that came later are last in a scan.
        sources.sort();
    } else {
        sources.sort_by_key(|it| it.0);
    }
    sources.into_iter().map(|it| it.2).collect()
}
