//! Random runs: sessions whose operations are interleaved in any order.

use crate::dice::Dice;
use iso_history::{Column, Comparison, Datum, Locking, Predicate};
use iso_spec::Level;
use iso_store::{Change, Condition, Error, Key, Policy, Rows, Savepoint, SessionId, Store};

/// What a random run looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) n_sessions: usize,
    pub(crate) n_txns: usize,
    pub(crate) max_ops: usize,
    pub(crate) n_rows: usize,
    pub(crate) n_values: usize,
    /// So many of a hundred operations scan, delete, and end their transaction by an abort.
    pub(crate) scans: usize,
    pub(crate) deletes: usize,
    pub(crate) aborts: usize,
    pub(crate) writes: usize,
    pub(crate) interleaving: Interleaving,
    /// So many of a hundred operations are updates or reads of the newest version, make savepoints or go back to them, and
    /// scan by a predicate; and so many of a hundred rows of the initial state are loaded when they are first named.
    pub(crate) updates: usize,
    pub(crate) savepoints: usize,
    pub(crate) predicates: usize,
    pub(crate) late: usize,
    /// So many of a hundred writes are inserts.
    pub(crate) inserts: usize,
    /// So many of a hundred operations begin a statement of several.
    pub(crate) statements: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interleaving {
    /// Sessions take turns at each operation.
    Any,
    /// A transaction ends before the next one begins.
    Serial,
}

impl Shape {
    pub(crate) fn small(dice: &mut Dice) -> Self {
        Self {
            n_sessions: 2 + dice.below(3),
            n_txns: 3 + dice.below(8),
            max_ops: 2 + dice.below(4),
            n_rows: 1 + dice.below(4),
            n_values: 1 + dice.below(4),
            scans: [0, 10, 25][dice.below(3)],
            deletes: [0, 10][dice.below(2)],
            aborts: [0, 5][dice.below(2)],
            writes: 30 + dice.below(40),
            interleaving: Interleaving::Any,
            updates: 0,
            savepoints: 0,
            predicates: 0,
            late: 0,
            inserts: 0,
            statements: 0,
        }
    }

    /// With everything that SQL has.
    pub(crate) fn sql(dice: &mut Dice) -> Self {
        Self {
            updates: [0, 20, 50][dice.below(3)],
            savepoints: [0, 15][dice.below(2)],
            predicates: [0, 20][dice.below(2)],
            late: [0, 50][dice.below(2)],
            inserts: [0, 50][dice.below(2)],
            statements: [0, 15][dice.below(2)],
            ..Self::small(dice)
        }
    }

    pub(crate) fn middle(dice: &mut Dice) -> Self {
        Self {
            n_sessions: 3 + dice.below(8),
            n_txns: 60 + dice.below(80),
            max_ops: 2 + dice.below(8),
            n_rows: 4 + dice.below(20),
            n_values: 1000,
            scans: [0, 3][dice.below(2)],
            ..Self::small(dice)
        }
    }
}

struct Client {
    session: SessionId,
    /// Operations left of the open transaction.
    left: Option<usize>,
    savepoints: Vec<Savepoint>,
    is_in_statement: bool,
}

/// Runs transactions until so many have ended, and the rest until all have.
pub(crate) fn run(dice: &mut Dice, shape: &Shape, level: Level, policy: Policy, seed: u64) -> Store {
    run_on(Store::new(level, policy, seed).unwrap(), dice, shape).0
}

/// The same on a store that is empty, with what each operation answered.
pub(crate) fn run_on(mut store: Store, dice: &mut Dice, shape: &Shape) -> (Store, Vec<String>) {
    let mut answers = Vec::new();
    let mut late = Vec::new();
    for row in 0..shape.n_rows {
        if dice.percent(50) {
            let value = value(dice, shape);
            if shape.late > 0 && dice.percent(shape.late) {
                late.push((key(row), value));
            } else {
                store.load(&key(row), value).unwrap();
            }
        }
    }
    let client = |session| Client { session, left: None, savepoints: Vec::new(), is_in_statement: false };
    let mut clients: Vec<Client> =
        (0..shape.n_sessions).map(|idx| client(store.session(&format!("s{}", idx + 1)))).collect();
    let mut n_begun = 0;
    loop {
        let open = clients.iter().position(|it| it.left.is_some() && shape.interleaving == Interleaving::Serial);
        // Some sessions are slow, and see others' writes late.
        let most = 1 + dice.below(clients.len());
        let at = open.unwrap_or_else(|| dice.below(most));
        match clients[at].left {
            None if n_begun == shape.n_txns => {
                if clients.iter().all(|it| it.left.is_none()) {
                    return (store, answers);
                }
            }
            None => {
                store.begin(clients[at].session).unwrap();
                n_begun += 1;
                let left = Some(1 + dice.below(shape.max_ops));
                clients[at] = Client { left, ..client(clients[at].session) };
            }
            Some(n_ops) => {
                if let Some((key, value)) = late.pop() {
                    match store.load(&key, value) {
                        Ok(()) | Err(Error::LoadedLate { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                if !mark(dice, shape, &mut store, &mut clients[at]) {
                    clients[at].left = step(dice, shape, &mut store, clients[at].session, n_ops, &mut answers);
                }
            }
        }
    }
}

/// Perhaps begins or ends a statement, or makes a savepoint, goes back to one or forgets it.
fn mark(dice: &mut Dice, shape: &Shape, store: &mut Store, client: &mut Client) -> bool {
    if client.is_in_statement && dice.percent(40) {
        client.is_in_statement = false;
        store.end_statement(client.session, Locking::Free).unwrap();
        return true;
    }
    if shape.statements > 0 && !client.is_in_statement && dice.percent(shape.statements) {
        client.is_in_statement = true;
        store.begin_statement(client.session).unwrap();
        return true;
    }
    if shape.savepoints == 0 || !dice.percent(shape.savepoints) {
        return false;
    }
    client.is_in_statement = false;
    let n = client.savepoints.len();
    match dice.below(4) {
        _ if n == 0 => client.savepoints.push(store.savepoint(client.session).unwrap()),
        0 => client.savepoints.push(store.savepoint(client.session).unwrap()),
        1 => {
            let at = dice.below(n);
            store.release(client.session, client.savepoints[at]).unwrap();
            client.savepoints.truncate(at);
        }
        _ => {
            let at = dice.below(n);
            store.rollback_to(client.session, client.savepoints[at]).unwrap();
            client.savepoints.truncate(at + 1);
        }
    }
    true
}

/// The next operation of a client; answers how many are left.
fn step(
    dice: &mut Dice,
    shape: &Shape,
    store: &mut Store,
    session: SessionId,
    n_left: usize,
    answers: &mut Vec<String>,
) -> Option<usize> {
    let row = key(dice.below(shape.n_rows));
    let drawn = dice.below(100);
    let answer = if dice.percent(shape.aborts) {
        store.abort(session).unwrap();
        return None;
    } else if n_left == 0 {
        match store.commit(session) {
            Ok(committed) => answers.push(format!("{committed:?}")),
            Err(error) => {
                assert!(error.conflict().is_some(), "{error}");
                answers.push(error.to_string());
            }
        }
        return None;
    } else if shape.predicates > 0 && dice.percent(shape.predicates) {
        scan_where(dice, store, session)
    } else if shape.updates > 0 && dice.percent(shape.updates) {
        update(dice, shape, store, session, &row)
    } else if drawn < shape.scans {
        scan(dice, store, session)
    } else if drawn < shape.scans + shape.deletes {
        store.delete(session, &row).map(|()| String::new())
    } else if dice.percent(shape.writes) {
        let value = value(dice, shape);
        if shape.inserts > 0 && dice.percent(shape.inserts) {
            store.insert(session, &row, value).map(|()| String::new())
        } else {
            store.put(session, &row, value).map(|()| String::new())
        }
    } else {
        store.get(session, &row).map(|it| format!("{it:?}"))
    };
    answers.push(format!("{session:?} {answer:?}"));
    match answer {
        Ok(_) | Err(Error::Exists { .. }) => Some(n_left - 1),
        Err(Error::Conflict(_)) => None,
        // The session tries something else when it is its turn again.
        Err(Error::Locked { .. }) => Some(n_left),
        Err(error) => panic!("{error}"),
    }
}

fn scan(dice: &mut Dice, store: &mut Store, session: SessionId) -> Result<String, Error> {
    let rows = match dice.below(3) {
        0 => Rows::All,
        1 => Rows::prefix("0"),
        _ => Rows::range("01", "03"),
    };
    let found = store.scan(session, ["even", "odd"][dice.below(2)], &rows)?;
    assert!(found.is_sorted_by(|left, right| left.0 < right.0));
    assert!(found.iter().all(|it| rows.contains(&it.0.row)));
    Ok(format!("{found:?}"))
}

fn scan_where(dice: &mut Dice, store: &mut Store, session: SessionId) -> Result<String, Error> {
    let low = dice.below(3) as i64;
    let predicate = Predicate::Compare(Column::Named("value".into()), Comparison::AtLeast, low.into());
    let is_match = move |_: &str, value: &Datum| matches!(value, Datum::Int(number) if *number >= low);
    let condition = match dice.below(2) {
        0 => Condition::new(predicate).unwrap(),
        _ => Condition::foreign(&format!("at least {low}"), is_match),
    };
    let rows = if dice.percent(50) { Rows::All } else { Rows::prefix("0") };
    let table = ["even", "odd"][dice.below(2)];
    let found = match dice.below(3) {
        0 => store.update_where(session, table, &rows, &condition, |_, old| match old {
            Datum::Int(number) if number % 3 == 0 => Change::Delete,
            Datum::Int(number) => Change::Put((number + 1).into()),
            _ => Change::Keep,
        })?,
        1 if low == 0 => store.update_where(session, table, &rows, &condition, |_, _| Change::Keep)?,
        _ => store.scan_where(session, table, &rows, &condition)?,
    };
    assert!(found.iter().all(|it| is_match(&it.0.row, &it.1)));
    Ok(format!("{found:?}"))
}

fn update(dice: &mut Dice, shape: &Shape, store: &mut Store, session: SessionId, row: &Key) -> Result<String, Error> {
    let value = value(dice, shape);
    let drawn = dice.below(10);
    let change = |old: Option<&Datum>| match (drawn, old) {
        (0, _) | (1, None) => Change::Keep,
        (1, Some(_)) => Change::Delete,
        _ => Change::Put(value),
    };
    store.update(session, row, change).map(|it| format!("{it:?}"))
}

fn key(row: usize) -> Key {
    Key::new(["even", "odd"][row % 2], format!("{:02}", row / 2))
}

fn value(dice: &mut Dice, shape: &Shape) -> Datum {
    (dice.below(shape.n_values) as i64).into()
}
