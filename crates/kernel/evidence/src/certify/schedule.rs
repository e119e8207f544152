//! Does a schedule have everybody who must be in it, once, in session order and, if asked, in real-time order?

use super::uncertified::{Uncertified, wrong};
use crate::Event;
use iso_history::{History, Outcome, TxnId};

/// Checks an order of transactions.
pub(super) fn check_order(history: &History, order: &[TxnId], real_time: bool) -> Result<(), Uncertified> {
    check_members(history, order)?;
    let mut last_nth = vec![None; history.n_sessions()];
    for txn in order {
        advance(history, &mut last_nth, *txn)?;
    }
    if real_time { check_real_time(history, order.iter().map(|it| (*it, Bound::Both))) } else { Ok(()) }
}

/// Checks an order of snapshots and commits: each transaction has both, its snapshot first, and sees its session.
pub(super) fn check_events(history: &History, events: &[Event], real_time: bool) -> Result<(), Uncertified> {
    let commits: Vec<TxnId> = events.iter().filter_map(|it| commit(*it)).collect();
    check_members(history, &commits)?;
    if events.iter().any(|it| txn_of(*it).index() >= history.n_txns()) {
        return Err(Uncertified::new("the schedule names a transaction that does not exist"));
    }
    let mut last_nth = vec![None; history.n_sessions()];
    let mut open: Vec<Option<TxnId>> = vec![None; history.n_sessions()];
    for event in events {
        let txn = txn_of(*event);
        let session = history.session_of(txn).map_or(usize::MAX, iso_history::SessionId::index);
        let Some(slot) = open.get_mut(session) else {
            return Err(wrong(history, txn, "is no transaction of a session"));
        };
        match event {
            Event::Snapshot(_) if slot.is_none() => {
                advance(history, &mut last_nth, txn)?;
                *slot = Some(txn);
            }
            Event::Commit(_) if *slot == Some(txn) => *slot = None,
            _ => return Err(wrong(history, txn, "has its snapshot and commit out of session order")),
        }
    }
    if open.iter().any(Option::is_some) {
        return Err(Uncertified::new("a transaction of the schedule never commits"));
    }
    let bounds = events.iter().map(|it| match it {
        Event::Snapshot(txn) => (*txn, Bound::Begin),
        Event::Commit(txn) => (*txn, Bound::End),
    });
    if real_time { check_real_time(history, bounds) } else { Ok(()) }
}

fn commit(event: Event) -> Option<TxnId> {
    match event {
        Event::Commit(txn) => Some(txn),
        Event::Snapshot(_) => None,
    }
}

fn txn_of(event: Event) -> TxnId {
    match event {
        Event::Snapshot(txn) | Event::Commit(txn) => txn,
    }
}

/// Every committed transaction exactly once, no aborted one, and not the initial one.
fn check_members(history: &History, txns: &[TxnId]) -> Result<(), Uncertified> {
    let mut is_in = vec![false; history.n_txns()];
    for txn in txns {
        let Some(slot) = is_in.get_mut(txn.index()) else {
            return Err(Uncertified::new("the schedule names a transaction that does not exist"));
        };
        if *slot || txn.is_initial() {
            return Err(wrong(history, *txn, "is in the schedule twice, or is the initial transaction"));
        }
        *slot = true;
        if history.outcome(*txn) == Outcome::Aborted {
            return Err(wrong(history, *txn, "aborted, but is in the schedule"));
        }
    }
    match history.txns().find(|it| history.outcome(*it) == Outcome::Committed && !is_in[it.index()]) {
        Some(missing) => Err(wrong(history, missing, "committed, but is not in the schedule")),
        None => Ok(()),
    }
}

fn advance(history: &History, last_nth: &mut [Option<usize>], txn: TxnId) -> Result<(), Uncertified> {
    let session = history.session_of(txn).map_or(usize::MAX, iso_history::SessionId::index);
    let nth = history.nth_in_session(txn);
    match last_nth.get_mut(session) {
        Some(last) if last.is_none_or(|it| it < nth) => {
            *last = Some(nth);
            Ok(())
        }
        _ => Err(wrong(history, txn, "is out of session order in the schedule")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Begin,
    End,
    Both,
}

/// Whoever ended before another began has its end before the other's begin. From the back: nobody's end may come
/// after the begin of somebody who began later than that end, so the latest begin so far is enough.
fn check_real_time(history: &History, bounds: impl Iterator<Item = (TxnId, Bound)>) -> Result<(), Uncertified> {
    let mut latest_begin: Option<i64> = None;
    for (txn, bound) in bounds {
        if bound != Bound::Begin
            && history.outcome(txn) != Outcome::Indeterminate
            && let (Some(begin), Some(end)) = (latest_begin, history.end(txn))
            && end < begin
        {
            return Err(wrong(history, txn, "ended before a transaction began that the schedule puts before it"));
        }
        if bound != Bound::End {
            latest_begin = latest_begin.max(history.begin(txn));
        }
    }
    Ok(())
}
