//! Streams against the engine in memory: random histories in windows of any size, and every small one.
//!
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose others and more.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../../../kernel/history/tests/common/mod.rs"]
mod common;
#[path = "streams/pieces.rs"]
mod pieces;
#[path = "streams/scanned.rs"]
mod scanned;
#[path = "../../../kernel/history/tests/common/sql.rs"]
mod sql;

use common::{Random, Shape, each_history, history, show};
use iso_answer::check;
use iso_answer::stream::{Standing, Steps, StreamCheck, Told};
use iso_evidence::{Budget, StreamedStep};
use iso_history::{History, HistoryBuilder, KeyId, Name, Op, Outcome, Place, SessionId};
use iso_spec::Level;
use std::collections::BTreeSet;

const LEVELS: [Level; 12] = [
    Level::StrictSerializable,
    Level::Serializable,
    Level::StrongSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::PrefixConsistency,
    Level::CausalConsistency,
    Level::ReadAtomic,
    Level::ReadCommitted,
    Level::ParallelSnapshotIsolation,
    Level::MonotonicReads,
    Level::ReadUncommitted,
    Level::SerializableNoSession,
];

/// A window that has everything decides these.
const DECIDED: [Level; 3] = [Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency];

/// What streams said of all histories.
#[derive(Debug, Default)]
struct Tally {
    held: usize,
    violated: usize,
    undecided: usize,
}

impl Tally {
    /// Streams a history in a window, and compares what is decided.
    fn compare(&mut self, history: &History, window: usize) {
        self.compare_at(&LEVELS, history, window);
    }

    fn compare_at(&mut self, levels: &[Level], history: &History, window: usize) {
        let Some(told) = Told::new(history) else { return };
        let mut saved = Saved::default();
        let streamed = told.check(levels, window, &mut saved, &Budget::unlimited()).unwrap();
        for (level, standing) in streamed.standings() {
            let expected = check(history, level, &Budget::unlimited()).is_allowed();
            match standing {
                Standing::Refused(wrong) => panic!("{wrong}\n{}", show(history)),
                Standing::Undecided => self.undecided += 1,
                Standing::Holds => self.held += 1,
                Standing::Violated(_) => self.violated += 1,
            }
            if let Some(found) = streamed.is_allowed(level) {
                let shown = show(history);
                assert_eq!(Some(found), expected, "{level} in a window of {window}:\n{shown}");
            }
            // Of two writers of a value, the second may come when the first was found not to fit.
            let is_certain =
                has_unique_values(history) && history.txns().all(|it| history.outcome(it) != Outcome::Indeterminate);
            // Which appends follow each other is nothing that the exact engine could be told of a part at prefix consistency.
            let is_told = level != Level::PrefixConsistency || history.keys().all(|it| !history.is_list(it));
            if window >= 100 && is_certain && is_told && DECIDED.contains(&level) {
                let shown = show(history);
                assert!(streamed.is_allowed(level).is_some(), "{level} is not decided:\n{shown}");
            }
            if matches!(standing, Standing::Holds) {
                saved.replay_as(&told, (level, streamed.streamed(level)), window);
            }
        }
    }
}

/// Is no value written to a key twice, nor its initial one?
fn has_unique_values(history: &History) -> bool {
    let mut written: BTreeSet<_> = history.keys().map(|it| (it, history.initial_value(it))).collect();
    let ops = history.txns().flat_map(|it| history.ops(it)).map(|it| history.op(it));
    let mut writes = ops.filter_map(|it| match it {
        Op::Write { key, value } | Op::Append { key, value } => Some((key, value)),
        _ => None,
    });
    writes.all(|it| written.insert(it))
}

/// Steps as a file would have them.
#[derive(Default)]
struct Saved {
    steps: Vec<(Level, u64, StreamedStep, Vec<u64>)>,
}

impl Steps for Saved {
    fn step(&mut self, level: Level, txn: u64, step: StreamedStep, sources: &[u64]) {
        self.steps.push((level, txn, step, sources.to_vec()));
    }
}

impl Saved {
    /// The saved schedule of a level is accepted by itself.
    fn replay(&self, told: &Told<'_>, level: Level, window: usize) {
        self.replay_as(told, (level, StreamCheck::streamed_as(level).unwrap()), window);
    }

    /// The same, for a level that is streamed as another one.
    fn replay_as(&self, told: &Told<'_>, (level, streamed): (Level, Level), window: usize) {
        let mut replay = told.replay(streamed, window);
        for (_, txn, step, sources) in self.steps.iter().filter(|it| it.0 == level) {
            replay.step(*step, *txn, sources).unwrap();
        }
        replay.finish().unwrap();
    }
}

/// Compares histories of these shapes with windows of several sizes.
fn compare_random(shape_of: impl Fn(&mut Random) -> Shape) {
    let mut tally = Tally::default();
    for seed in seeds(250) {
        let mut random = Random::new(seed);
        let shape = shape_of(&mut random);
        let history = random.history(shape);
        for window in [1, 2 + random.below(4), 100] {
            tally.compare(&history, window);
        }
    }
    assert!(tally.held > 1000 && tally.violated > 1000, "{tally:?}");
    assert!(tally.undecided < tally.held, "{tally:?}");
}

#[test]
fn random_histories_are_judged_as_in_memory_whatever_the_window() {
    compare_random(|random| Shape {
        n_txns: 2 + random.below(9),
        n_ops: 1 + random.below(4),
        n_keys: 1 + random.below(4),
        n_values: if random.percent(50) { 50 } else { 3 },
        n_sessions: 1 + random.below(4),
        aborted: 5,
        indeterminate: if random.percent(20) { 20 } else { 0 },
        timed: 50,
        lists: 0,
    });
}

#[test]
fn random_lists_are_judged_as_in_memory_whatever_the_window() {
    compare_random(|random| Shape {
        n_txns: 2 + random.below(7),
        n_ops: 1 + random.below(3),
        n_keys: 1 + random.below(3),
        n_values: if random.percent(80) { 50 } else { 4 },
        n_sessions: 1 + random.below(4),
        aborted: 5,
        indeterminate: if random.percent(20) { 20 } else { 0 },
        timed: 50,
        lists: 70,
    });
}

#[test]
fn long_runs_of_a_store_are_judged_as_in_memory_in_small_windows() {
    let mut tally = Tally::default();
    for seed in seeds(8) {
        let mut random = Random::new(seed);
        for rows in [Rows::Registers, Rows::Lists] {
            let history = run_of_a_store(&mut random, rows);
            for window in [1 + random.below(4), 8 + random.below(24), 400] {
                tally.compare(&history, window);
            }
        }
    }
    assert!(tally.held > 30 && tally.violated > 30, "{tally:?}");
    assert!(tally.undecided < tally.held + tally.violated, "{tally:?}");
}

/// What keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Registers,
    /// Every other one is a list.
    Lists,
}

/// Transactions of several sessions that read one snapshot each, sometimes an old one, and write what nobody wrote before.
/// A list is what was appended to it.
fn run_of_a_store(random: &mut Random, rows: Rows) -> History {
    let (n_sessions, n_keys) = (2 + random.below(4), 2 + random.below(8));
    let staleness = random.below(6);
    let mut builder = HistoryBuilder::new();
    let keys: Vec<KeyId> = (0..n_keys).map(|it| builder.key(format!("k{it}").as_str().into())).collect();
    let zero = builder.value_named(Name::Int(0));
    builder.default_initial(zero);
    let sessions: Vec<SessionId> = (0..n_sessions).map(|it| builder.session(&format!("s{it}"))).collect();
    // The states after each commit, from old to new.
    let mut states: Vec<Vec<Vec<i64>>> = vec![vec![Vec::new(); n_keys]];
    for nth in 0..i64::try_from(40 + random.below(80)).unwrap() {
        let time = 10 * nth;
        builder.begin(sessions[random.below(n_sessions)], Place::default());
        builder.times(Some(time - i64::try_from(random.below(25)).unwrap()), Some(time));
        let ago = if random.percent(10) { random.below(staleness + 1) } else { 0 };
        let snapshot = states[states.len().saturating_sub(1 + ago)].clone();
        let mut written: Vec<Vec<i64>> = vec![Vec::new(); n_keys];
        for nth_op in 0..=i64::try_from(random.below(4)).unwrap() {
            let key = random.below(n_keys);
            let is_list = rows == Rows::Lists && key.is_multiple_of(2);
            let seen = snapshot[key].iter().chain(&written[key]);
            if random.percent(50) && is_list {
                let seen: Vec<_> = seen.map(|it| builder.value_named(Name::Int(*it))).collect();
                builder.read_list(keys[key], seen);
            } else if random.percent(50) && !is_list {
                let value = builder.value_named(Name::Int(seen.last().copied().unwrap_or(0)));
                builder.read(keys[key], value);
            } else {
                let new = 10 * nth + nth_op + 1;
                written[key].push(new);
                let value = builder.value_named(Name::Int(new));
                if is_list { builder.append(keys[key], value) } else { builder.write(keys[key], value) }
            }
        }
        let outcome = if random.percent(4) { Outcome::Aborted } else { Outcome::Committed };
        builder.end(outcome);
        if outcome == Outcome::Committed {
            let mut next = states.last().unwrap().clone();
            next.iter_mut().zip(written).for_each(|(held, new)| held.extend(new));
            states.push(next);
        }
    }
    builder.finish().unwrap()
}

fn seeds(n_cases: u64) -> std::ops::Range<u64> {
    let setting = |name: &str, usual: u64| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(usual);
    let first = setting("ISOSCOPE_SEED", 0) << 20;
    first..first + setting("ISOSCOPE_CASES", n_cases)
}

/// Steps of one level, cut where no snapshot waits for its commit.
fn cuts(steps: &[(u64, StreamedStep, Vec<u64>)]) -> Vec<usize> {
    let mut n_open = 0;
    let is_cut = |(idx, it): (usize, &(u64, StreamedStep, Vec<u64>))| {
        n_open += i32::from(it.1 == StreamedStep::Snapshot) - i32::from(it.1 == StreamedStep::Commit);
        (n_open == 0).then_some(idx + 1)
    };
    std::iter::once(0).chain(steps.iter().enumerate().filter_map(is_cut)).collect()
}

/// Stops a check somewhere, and goes on with it: how often that was possible, and how often a changed schedule was refused.
fn resume(random: &mut Random, history: &History, level: Level, window: usize) -> (usize, usize) {
    let (mut n_resumed, mut n_refused) = (0, 0);
    let told = Told::new(history).unwrap();
    let mut saved = Saved::default();
    let whole = told.check(&[level], window, &mut saved, &Budget::unlimited()).unwrap();
    let steps: Vec<_> = saved.steps.into_iter().map(|(_, txn, step, sources)| (txn, step, sources)).collect();
    let cuts = cuts(&steps);
    let cut = cuts[random.below(cuts.len())];
    let mut more = Saved::default();
    let goes_on = told.check_after((level, window), &steps[..cut], &mut more, &Budget::unlimited());
    let goes_on = goes_on.unwrap().unwrap();
    let expected = check(history, level, &Budget::unlimited()).is_allowed();
    for check in [&whole, &goes_on] {
        let found = check.is_allowed(level);
        assert!(found.is_none() || found == expected, "{level}, {}", show(history));
    }
    if goes_on.is_allowed(level) == Some(true) {
        // What was saved before and after is one schedule.
        n_resumed += 1;
        let before = steps[..cut].iter().map(|(txn, step, sources)| (level, *txn, *step, sources.clone()));
        Saved { steps: before.chain(more.steps).collect() }.replay(&told, level, window);
    }
    // A schedule that was changed is refused, or explains the history all the same.
    if cut > 1 {
        let mut changed = steps[..cut].to_vec();
        let (one, other) = (random.below(cut), random.below(cut));
        changed.swap(one, other);
        match told.check_after((level, window), &changed, &mut Saved::default(), &Budget::unlimited()) {
            Ok(None) => {}
            Ok(Some(check)) => {
                let found = check.is_allowed(level);
                assert!(found.is_none() || found == expected, "{level}");
            }
            Err(_) => n_refused += 1,
        }
    }
    (n_resumed, n_refused)
}

#[test]
fn a_check_that_goes_on_after_a_saved_schedule_answers_as_one_that_was_not_stopped() {
    let (mut n_resumed, mut n_refused) = (0, 0);
    for seed in seeds(40) {
        let mut random = Random::new(seed);
        let rows = if random.percent(50) { Rows::Registers } else { Rows::Lists };
        let history = run_of_a_store(&mut random, rows);
        let window = 1 + random.below(24);
        for level in LEVELS.into_iter().take(5) {
            let (resumed, refused) = resume(&mut random, &history, level, window);
            n_resumed += resumed;
            n_refused += refused;
        }
    }
    assert!(n_resumed > 20 && n_refused > 20, "{n_resumed} resumed, {n_refused} refused");
}

#[test]
fn every_small_history_is_judged_as_in_memory() {
    let mut tally = Tally::default();
    let mut n = 0;
    each_history(3, 2, 2, &mut |history| {
        n += 1;
        if n % 67 == 0 {
            tally.compare(history, 1 + n % 3);
        }
    });
    assert!(tally.held > 100 && tally.violated > 100, "{tally:?}");
}

#[test]
fn a_window_that_has_everything_decides_everything() {
    for (text, level, expected) in [
        ("s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)", Level::SnapshotIsolation, false),
        ("s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)", Level::PrefixConsistency, true),
        ("s1: r(x,0) r(y,0) w(x,1)\ns2: r(x,0) r(y,0) w(y,1)", Level::SnapshotIsolation, true),
        ("s1: r(x,0) r(y,0) w(x,1)\ns2: r(x,0) r(y,0) w(y,1)", Level::Serializable, false),
        ("s1 1-2: w(x,1)\ns2 3-4: r(x,0)", Level::StrictSerializable, false),
        ("s1 1-2: w(x,1)\ns2 3-4: r(x,0)", Level::Serializable, true),
        ("s1: w(x,1)\ns1: r(x,0)", Level::ReadAtomic, false),
        ("s1: w(x,1)\ns1: r(x,0)", Level::ReadCommitted, true),
        ("s1: w(x,1) w(y,1)\ns2: r(x,1) r(y,0)", Level::ReadCommitted, false),
        ("s1: w(x,1)\ns2: r(x,1) w(y,1)\ns3: r(y,1) r(x,0)", Level::CausalConsistency, false),
        ("s1: w(x,1)\ns2: r(x,1) w(y,1)\ns3: r(y,1) r(x,0)", Level::ReadAtomic, true),
    ] {
        let history = history(text);
        let told = Told::new(&history).unwrap();
        let streamed = told.check(&[level], 100, &mut (), &Budget::unlimited()).unwrap();
        assert_eq!(streamed.is_allowed(level), Some(expected), "{level}:\n{text}");
    }
}
