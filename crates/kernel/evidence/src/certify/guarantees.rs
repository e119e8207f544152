//! Session guarantees: one walk along each session.
//!
//! The walk remembers what was written in the session, or by those that the session read from, and compares that with
//! what the transaction that it comes to has read, or those who read from this transaction:
//!
//! | guarantee | remembers | compares with |
//! |---|---|---|
//! | read your writes | writes of the session | the next transaction |
//! | monotonic reads | whom the session read from | the next transaction |
//! | monotonic writes | writes of the session | who reads from the next transaction |
//! | writes follow reads | whom the session read from, with the next transaction | who reads from that |
//!
//! Cost: what is remembered, and reads times the sessions that their transaction read from.

use super::rows::Rows;
use super::uncertified::Uncertified;
use super::versions::{Place, Scheduled};
use super::visibility::Latest;
use iso_spec::Level;

/// Checks a schedule and its sources against a session guarantee.
pub(super) fn check_guarantee(scheduled: &Scheduled<'_>, level: Level) -> Result<(), Uncertified> {
    let sessions = scheduled.sessions();
    let mut latest = Latest::new(scheduled);
    let asks_readers = matches!(level, Level::MonotonicWrites | Level::WritesFollowReads);
    let readers = asks_readers.then(|| readers(scheduled));
    for session in 0..scheduled.history.n_sessions() as u32 {
        latest.start(session);
        for txn in sessions.of(session) {
            let compare = |latest: &Latest| match &readers {
                Some(readers) => readers.of(*txn).iter().try_for_each(|it| latest.check(scheduled, *it)),
                None if scheduled.is_stale(*txn) => latest.check(scheduled, *txn),
                None => Ok(()),
            };
            if level != Level::WritesFollowReads {
                compare(&latest)?;
            }
            if matches!(level, Level::MonotonicReads | Level::WritesFollowReads) {
                for (_, source) in scheduled.reads(*txn) {
                    latest.see_all(scheduled, *source);
                }
            } else {
                latest.see_all(scheduled, *txn);
            }
            if level == Level::WritesFollowReads {
                compare(&latest)?;
            }
        }
    }
    Ok(())
}

/// For each transaction, the stale readers that read from it. A reader is listed only at the last one of each session
/// that it read from, which has all others of the session before it.
fn readers(scheduled: &Scheduled<'_>) -> Rows<Place> {
    let mut pairs: Vec<(Place, Place)> = Vec::new();
    let mut last = vec![0; scheduled.history.n_sessions()];
    for reader in scheduled.places().filter(|it| scheduled.is_stale(*it)) {
        let sources = || scheduled.reads(reader).iter().map(|it| it.1).filter(|it| *it != 0);
        for source in sources() {
            let last = &mut last[scheduled.session(source)];
            *last = source.max(*last);
        }
        for source in sources() {
            let last = &mut last[scheduled.session(source)];
            if *last == source {
                pairs.push((source, reader));
                *last = 0;
            }
        }
        for source in sources() {
            last[scheduled.session(source)] = 0;
        }
    }
    let n_places = *scheduled.places().end() as usize + 1;
    Rows::grouped(n_places, || pairs.iter().map(|(source, reader)| (*source as usize, *reader)))
}
