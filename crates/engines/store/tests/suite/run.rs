//! Random runs: sessions whose operations are interleaved in any order.

use crate::dice::Dice;
use iso_history::Datum;
use iso_spec::Level;
use iso_store::{Error, Key, Policy, Rows, SessionId, Store};

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
}

/// Runs transactions until so many have ended, and the rest until all have.
pub(crate) fn run(dice: &mut Dice, shape: &Shape, level: Level, policy: Policy, seed: u64) -> Store {
    let mut store = Store::new(level, policy, seed).unwrap();
    for row in 0..shape.n_rows {
        if dice.percent(50) {
            let value = value(dice, shape);
            store.load(&key(row), value).unwrap();
        }
    }
    let mut clients: Vec<Client> = (0..shape.n_sessions)
        .map(|idx| Client { session: store.session(&format!("s{}", idx + 1)), left: None })
        .collect();
    let mut n_begun = 0;
    loop {
        let open = clients.iter().position(|it| it.left.is_some() && shape.interleaving == Interleaving::Serial);
        // Some sessions are slow, and see others' writes late.
        let most = 1 + dice.below(clients.len());
        let at = open.unwrap_or_else(|| dice.below(most));
        match clients[at].left {
            None if n_begun == shape.n_txns => {
                if clients.iter().all(|it| it.left.is_none()) {
                    return store;
                }
            }
            None => {
                store.begin(clients[at].session).unwrap();
                n_begun += 1;
                clients[at].left = Some(1 + dice.below(shape.max_ops));
            }
            Some(n_ops) => clients[at].left = step(dice, shape, &mut store, clients[at].session, n_ops),
        }
    }
}

/// The next operation of a client; answers how many are left.
fn step(dice: &mut Dice, shape: &Shape, store: &mut Store, session: SessionId, n_left: usize) -> Option<usize> {
    let row = key(dice.below(shape.n_rows));
    let drawn = dice.below(100);
    let answer = if dice.percent(shape.aborts) {
        store.abort(session).unwrap();
        return None;
    } else if n_left == 0 {
        if let Err(error) = store.commit(session) {
            assert!(error.conflict().is_some(), "{error}");
        }
        return None;
    } else if drawn < shape.scans {
        scan(dice, store, session)
    } else if drawn < shape.scans + shape.deletes {
        store.delete(session, &row)
    } else if dice.percent(shape.writes) {
        let value = value(dice, shape);
        store.put(session, &row, value)
    } else {
        store.get(session, &row).map(|_| ())
    };
    match answer {
        Ok(()) => Some(n_left - 1),
        Err(Error::Conflict(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn scan(dice: &mut Dice, store: &mut Store, session: SessionId) -> Result<(), Error> {
    let rows = match dice.below(3) {
        0 => Rows::All,
        1 => Rows::prefix("0"),
        _ => Rows::range("01", "03"),
    };
    let found = store.scan(session, ["even", "odd"][dice.below(2)], &rows)?;
    assert!(found.is_sorted_by(|left, right| left.0 < right.0));
    assert!(found.iter().all(|it| rows.contains(&it.0.row)));
    Ok(())
}

fn key(row: usize) -> Key {
    Key::new(["even", "odd"][row % 2], format!("{:02}", row / 2))
}

fn value(dice: &mut Dice, shape: &Shape) -> Datum {
    (dice.below(shape.n_values) as i64).into()
}
