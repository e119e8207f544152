//! Streams of recordings at levels of databases, against the engine in memory.

use super::sql::SqlShape;
use super::*;
use iso_history::{Locking, Snapshots, ValueId};

/// These look at statements.
const OF_DATABASES: [Level; 4] =
    [Level::StatementSnapshots, Level::TransactionSnapshot, Level::RowSnapshots, Level::Serializable];

fn shape(random: &mut Random) -> SqlShape {
    SqlShape {
        n_txns: 2 + random.below(7),
        n_statements: 1 + random.below(3),
        n_rows: 1 + random.below(4),
        n_values: if random.percent(60) { 50 } else { 3 },
        n_sessions: 1 + random.below(4),
        aborted: 5,
        indeterminate: if random.percent(20) { 20 } else { 0 },
        restless: 10 + random.below(50),
    }
}

#[test]
fn random_statements_are_judged_as_in_memory_whatever_the_window() {
    let mut tally = Tally::default();
    for seed in seeds(400) {
        let mut random = Random::new(seed);
        let shape = shape(&mut random);
        let history = random.sql_history(shape);
        for window in [1, 2 + random.below(6), 100] {
            tally.compare_at(&OF_DATABASES, &history, window);
        }
    }
    assert!(tally.held > 500 && tally.violated > 500, "{tally:?}");
}

/// A step of a transaction.
#[derive(Clone, Debug)]
enum Did {
    /// Rows that one statement read, and whether it locked them.
    Read(Vec<(usize, i64)>, Locking),
    Update(usize, i64, i64),
}

/// A transaction that is not over.
struct Open {
    begin: i64,
    did: Vec<Did>,
    /// What it has written.
    own: Vec<(usize, i64)>,
    locked: Vec<usize>,
    snapshot: Option<Vec<i64>>,
}

/// Sessions of a database: plain reads see what was committed when their statement, or their transaction, began; updates and
/// reads that lock see the newest version, which nobody else overwrites until they commit. `wrong` of a hundred reads are of old states.
fn run_of_a_database(random: &mut Random, snapshots: Snapshots, n_txns: usize, wrong: usize) -> History {
    let (n_sessions, n_rows) = (2 + random.below(6), 3 + random.below(10));
    let is_unique = random.percent(70);
    let mut builder = HistoryBuilder::new();
    let keys: Vec<KeyId> = (0..n_rows).map(|it| builder.key(format!("t/{it}").as_str().into())).collect();
    let zero = builder.value_named(Name::Int(0));
    for key in &keys {
        builder.initial(*key, zero, Place::default());
    }
    let sessions: Vec<SessionId> = (0..n_sessions).map(|it| builder.session(&format!("s{it}"))).collect();
    let mut states: Vec<Vec<i64>> = vec![vec![0; n_rows]];
    let mut open: Vec<Option<Open>> = (0..n_sessions).map(|_| None).collect();
    let (mut time, mut n_over, mut newest_value) = (0, 0, 0);
    while n_over < n_txns {
        time += 1;
        let who = random.below(n_sessions);
        let taken = locked_by_others(&open, who);
        let txn = open[who].get_or_insert_with(|| Open {
            begin: time,
            did: Vec::new(),
            own: Vec::new(),
            locked: Vec::new(),
            snapshot: None,
        });
        if txn.did.len() > 1 + random.below(4) {
            let over = open[who].take().unwrap();
            let aborts = random.percent(5);
            tell(&mut builder, (sessions[who], time, aborts), &keys, &over);
            if !aborts {
                let mut next = states.last().unwrap().clone();
                for (row, value) in &over.own {
                    next[*row] = *value;
                }
                states.push(next);
            }
            n_over += 1;
            continue;
        }
        let newest = states.last().unwrap();
        let ago = if random.percent(wrong) { 1 + random.below(3) } else { 0 };
        let looked_at = &states[states.len().saturating_sub(1 + ago)];
        let own = |row: usize| txn.own.iter().rfind(|it| it.0 == row).map(|it| it.1);
        let row = random.below(n_rows);
        match random.below(4) {
            0 | 1 => {
                let state = match snapshots {
                    Snapshots::PerStatement => looked_at,
                    Snapshots::PerTransaction => txn.snapshot.get_or_insert_with(|| looked_at.clone()),
                };
                let rows = [row, (row + 1) % n_rows];
                let n = 1 + random.below(2);
                txn.did.push(Did::Read(
                    rows[..n].iter().map(|it| (*it, own(*it).unwrap_or(state[*it]))).collect(),
                    Locking::Free,
                ));
            }
            _ if taken.contains(&row) => {}
            2 => {
                txn.did.push(Did::Read(vec![(row, own(row).unwrap_or(newest[row]))], Locking::ForUpdate));
                txn.locked.push(row);
            }
            _ => {
                newest_value = if is_unique { newest_value + 1 } else { random.below(4).try_into().unwrap() };
                txn.did.push(Did::Update(row, own(row).unwrap_or(newest[row]), newest_value));
                txn.own.push((row, newest_value));
                txn.locked.push(row);
            }
        }
    }
    builder.finish().unwrap()
}

fn locked_by_others(open: &[Option<Open>], who: usize) -> Vec<usize> {
    let others = open.iter().enumerate().filter(|it| it.0 != who);
    others.filter_map(|it| it.1.as_ref()).flat_map(|it| it.locked.iter().copied()).collect()
}

fn tell(builder: &mut HistoryBuilder, (session, time, aborts): (SessionId, i64, bool), keys: &[KeyId], txn: &Open) {
    builder.begin(session, Place::default());
    builder.times(Some(txn.begin), Some(time));
    let value = |builder: &mut HistoryBuilder, it: i64| -> ValueId { builder.value_named(Name::Int(it)) };
    for did in &txn.did {
        match did {
            Did::Read(rows, locking) => {
                builder.begin_statement();
                for (row, seen) in rows {
                    let seen = value(builder, *seen);
                    builder.read(keys[*row], seen);
                }
                builder.end_statement(*locking);
            }
            Did::Update(row, old, new) => {
                let (old, new) = (value(builder, *old), value(builder, *new));
                builder.update(keys[*row], old, new);
            }
        }
    }
    builder.end(if aborts { Outcome::Aborted } else { Outcome::Committed });
}

#[test]
fn what_a_database_does_holds_in_small_windows_and_what_it_must_not_do_is_found() {
    let mut tally = Tally::default();
    let (mut n_right, mut n_streamed, mut n_not_serializable) = (0, 0, 0);
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        for (snapshots, level) in [
            (Snapshots::PerStatement, Level::StatementSnapshots),
            (Snapshots::PerTransaction, Level::TransactionSnapshot),
        ] {
            let wrong = if random.percent(50) { 3 } else { 0 };
            let n_txns = 20 + random.below(60);
            let history = run_of_a_database(&mut random, snapshots, n_txns, wrong);
            for window in [20 + random.below(30), 1000] {
                tally.compare_at(&[level, Level::Serializable], &history, window);
                let told = Told::new(&history).unwrap();
                let streamed = told.check(&[level], window, &mut (), &Budget::unlimited()).unwrap();
                if wrong == 0 {
                    n_right += 1;
                    n_streamed += usize::from(streamed.is_allowed(level) == Some(true));
                }
            }
            let ser = check(&history, Level::Serializable, &Budget::unlimited());
            n_not_serializable += usize::from(wrong == 0 && ser.is_allowed() == Some(false));
        }
    }
    assert!(n_right > 60 && n_not_serializable > 20, "{n_right} are right, {n_not_serializable} not serializable");
    assert!(n_streamed * 100 >= n_right * 95, "{n_streamed} of {n_right} hold as streams");
    assert!(tally.held > 60 && tally.violated > 60, "{tally:?}");
}

#[test]
fn a_check_of_pieces_goes_on_after_a_saved_schedule() {
    let (mut n_resumed, mut n_refused) = (0, 0);
    for seed in seeds(30) {
        let mut random = Random::new(seed);
        for (snapshots, level) in [
            (Snapshots::PerStatement, Level::StatementSnapshots),
            (Snapshots::PerTransaction, Level::TransactionSnapshot),
        ] {
            let history = run_of_a_database(&mut random, snapshots, 60, 0);
            let (resumed, refused) = resume(&mut random, &history, level, 4 + seed as usize % 40);
            n_resumed += resumed;
            n_refused += refused;
        }
    }
    assert!(n_resumed > 20 && n_refused > 20, "{n_resumed} resumed, {n_refused} refused");
}

/// Each statement of the transaction that took so long is a piece, and the window is needed until the last one has come.
#[test]
fn all_statements_of_a_long_transaction_see_what_was_there_when_it_began() {
    let mut builder = HistoryBuilder::new();
    let zero = builder.value_named(Name::Int(0));
    builder.default_initial(zero);
    let (x, y, z) = (builder.key("x".into()), builder.key("y".into()), builder.key("z".into()));
    let (long, others) = (builder.session("long"), builder.session("others"));
    let mut txn = |session: SessionId, begin: i64, end: i64, ops: &dyn Fn(&mut HistoryBuilder)| {
        builder.begin(session, Place::default());
        builder.times(Some(begin), Some(end));
        ops(&mut builder);
        builder.end(Outcome::Committed);
    };
    txn(long, 0, 1, &|it| it.read(z, zero));
    for nth in 1..=40 {
        txn(others, 10 * nth, 10 * nth + 5, &|it| {
            let value = it.value_named(Name::Int(nth));
            it.write(x, value);
            it.write(y, value);
        });
    }
    txn(long, 2, 500, &|it| {
        it.read(x, zero);
        it.read(y, zero);
        let value = it.value_named(Name::Int(100));
        it.write(z, value);
    });
    let history = builder.finish().unwrap();
    for window in [6, 10, 20] {
        let streamed =
            Told::new(&history).unwrap().check(&[Level::StatementSnapshots], window, &mut (), &Budget::unlimited());
        assert_eq!(streamed.unwrap().is_allowed(Level::StatementSnapshots), Some(true), "{window}");
    }
}

#[test]
fn what_was_locked_is_not_overwritten_even_by_an_equal_value() {
    // s1 holds x while it reads y before and after s2 wrote it, so s2 did not overwrite x, also if x is 0 again.
    let text = |middle: &str| {
        let mut builder = HistoryBuilder::new();
        let zero = builder.value_named(Name::Int(0));
        builder.default_initial(zero);
        let (x, y) = (builder.key("x".into()), builder.key("y".into()));
        let one = builder.value_named(Name::Int(1));
        let session = builder.session("s1");
        builder.begin(session, Place::default());
        builder.begin_statement();
        builder.read(x, zero);
        builder.end_statement(Locking::ForUpdate);
        builder.read(y, zero);
        builder.read(y, one);
        builder.write(x, one);
        builder.end(Outcome::Committed);
        let session = builder.session("s2");
        builder.begin(session, Place::default());
        if middle == "locked" {
            builder.write(x, one);
            builder.write(x, zero);
        }
        builder.write(y, one);
        builder.end(Outcome::Committed);
        builder.finish().unwrap()
    };
    for (middle, expected) in [("free", true), ("locked", false)] {
        let history = text(middle);
        let by_memory = check(&history, Level::StatementSnapshots, &Budget::unlimited()).is_allowed();
        assert_eq!(by_memory, Some(expected), "{middle}");
        let told = Told::new(&history).unwrap();
        let streamed = told.check(&[Level::StatementSnapshots], 100, &mut (), &Budget::unlimited()).unwrap();
        assert!(streamed.is_allowed(Level::StatementSnapshots).is_none_or(|it| it == expected), "{middle}");
    }
}
