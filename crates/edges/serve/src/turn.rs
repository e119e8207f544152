//! Who runs next: transactions of served applications take turns, so that a run can be repeated.
//!
//! Whoever begins a transaction has the turn until it ends. If all sessions were declared, the next one is drawn by the
//! seed as soon as all of them wait; so the order does not depend on how fast they are. Whoever has the turn and says
//! nothing for a while loses it to somebody who waits, because an application with two connections may need that.
//!
//! If turns are taken in the order of arrival, those who read the newest state and nothing else may share one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nobody waits longer before it looks again.
const TICK: Duration = Duration::from_millis(20);

/// Whose turn it is.
#[derive(Debug)]
pub(crate) struct Turn {
    inner: Mutex<Inner>,
    changed: Condvar,
    patience: Duration,
}

#[derive(Debug)]
struct Inner {
    holder: Option<u64>,
    /// How many share the turn.
    n_shares: usize,
    /// The holder is being served right now.
    is_busy: bool,
    /// Since when nothing has changed.
    since: Instant,
    /// Who waits, with the name of its session.
    waiting: BTreeMap<u64, Waiting>,
    connected: BTreeSet<u64>,
    /// Those who said nothing when they could have. Nobody waits for them until they do.
    idle: BTreeSet<u64>,
    n_ever_connected: usize,
    n_arrivals: u64,
    declared: Option<usize>,
    /// Sessions in the order in which their transactions are to run.
    planned: VecDeque<String>,
    random: u64,
}

#[derive(Debug)]
struct Waiting {
    session: String,
    arrival: u64,
    has_begun: bool,
}

impl Turn {
    /// Turns of so many sessions, if that is known, drawn by a seed or in a planned order.
    pub(crate) fn new(declared: Option<usize>, seed: u64, planned: VecDeque<String>, patience: Duration) -> Self {
        let inner = Inner {
            holder: None,
            n_shares: 0,
            is_busy: false,
            since: Instant::now(),
            waiting: BTreeMap::new(),
            connected: BTreeSet::new(),
            idle: BTreeSet::new(),
            n_ever_connected: 0,
            n_arrivals: 0,
            declared,
            planned,
            random: seed,
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new(), patience }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more session.
    pub(crate) fn connect(&self, number: u64) {
        let mut inner = self.lock();
        inner.connected.insert(number);
        inner.n_ever_connected += 1;
        self.changed.notify_all();
    }

    /// A session is gone, with its turn.
    pub(crate) fn leave(&self, number: u64) {
        let mut inner = self.lock();
        inner.connected.remove(&number);
        inner.idle.remove(&number);
        drop(inner);
        self.release(number);
    }

    /// Waits for the turn; false if the run is over. `has_begun` says whether its transaction is open already.
    pub(crate) fn acquire(&self, number: u64, session: &str, has_begun: bool, is_over: impl Fn() -> bool) -> bool {
        let mut inner = self.lock();
        if inner.holder == Some(number) {
            inner.is_busy = true;
            return true;
        }
        inner.idle.remove(&number);
        inner.n_arrivals += 1;
        let arrival = inner.n_arrivals;
        inner.waiting.insert(number, Waiting { session: session.to_owned(), arrival, has_begun });
        if inner.holder.is_none() && inner.waiting.len() == 1 {
            inner.since = Instant::now();
        }
        // Whoever waits already need not look again: this one does it for all.
        loop {
            if inner.holder != Some(number)
                && let Some(next) = inner.next(self.patience)
            {
                inner.give(next);
                self.changed.notify_all();
            }
            if inner.holder == Some(number) {
                return true;
            }
            if is_over() {
                inner.waiting.remove(&number);
                return false;
            }
            inner = self.changed.wait_timeout(inner, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Do sessions run as they come, and not as a seed or a plan says?
    pub(crate) fn is_by_arrival(&self) -> bool {
        let inner = self.lock();
        inner.declared.is_none() && inner.planned.is_empty()
    }

    /// Shares the turn, if nobody has it for himself, and nobody waits for that.
    pub(crate) fn try_share(&self) -> bool {
        let mut inner = self.lock();
        let is_free = inner.holder.is_none() && inner.waiting.is_empty();
        inner.n_shares += usize::from(is_free);
        is_free
    }

    /// Somebody who shared the turn is done.
    pub(crate) fn end_share(&self) {
        let mut inner = self.lock();
        inner.n_shares -= 1;
        if inner.n_shares == 0 && !inner.waiting.is_empty() {
            self.changed.notify_all();
        }
    }

    /// The session has its answer, and its transaction goes on. Nobody is woken, as nobody is next before patience ends.
    pub(crate) fn pause(&self, number: u64) {
        let mut inner = self.lock();
        if inner.holder == Some(number) {
            inner.is_busy = false;
            inner.since = Instant::now();
        }
    }

    /// The session's transaction has ended.
    pub(crate) fn release(&self, number: u64) {
        let mut inner = self.lock();
        inner.waiting.remove(&number);
        if inner.holder == Some(number) {
            inner.holder = None;
            inner.is_busy = false;
            inner.since = Instant::now();
        }
        if !inner.waiting.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Sessions whose planned turns were not taken.
    pub(crate) fn left(&self) -> Vec<String> {
        self.lock().planned.iter().cloned().collect()
    }
}

impl Inner {
    fn give(&mut self, number: u64) {
        if let Some(next) = self.waiting.remove(&number) {
            // Whoever comes out of turn uses up its next planned one.
            let place = self.planned.iter().position(|it| *it == next.session);
            if let Some(place) = place.filter(|_| !next.has_begun) {
                self.planned.remove(place);
            }
        }
        self.holder = Some(number);
        self.is_busy = true;
    }

    /// Who gets the turn now, if anybody does.
    fn next(&mut self, patience: Duration) -> Option<u64> {
        let is_late = self.since.elapsed() >= patience;
        if self.waiting.is_empty() || self.n_shares > 0 || self.holder.is_some() && (self.is_busy || !is_late) {
            return None;
        }
        // A transaction that lost its turn comes before new ones.
        let begun = self.waiting.iter().filter(|it| it.1.has_begun).min_by_key(|it| it.1.arrival);
        if let Some((number, _)) = begun {
            return Some(*number);
        }
        if let Some(session) = self.planned.front() {
            let planned = self.waiting.iter().find(|it| it.1.session == *session).map(|it| *it.0);
            if planned.is_some() || !is_late {
                return planned;
            }
        }
        if let Some(declared) = self.declared {
            let is_here = |it: &u64| self.waiting.contains_key(it) || self.idle.contains(it);
            let is_complete = self.n_ever_connected >= declared && self.connected.iter().all(is_here);
            if !is_complete && !is_late {
                return None;
            }
            self.idle = self.connected.iter().filter(|it| !self.waiting.contains_key(it)).copied().collect();
            let mut by_name: Vec<(&str, u64)> = self.waiting.iter().map(|it| (it.1.session.as_str(), *it.0)).collect();
            by_name.sort_unstable();
            let drawn = draw(&mut self.random, by_name.len());
            return Some(by_name[drawn].1);
        }
        self.waiting.iter().min_by_key(|it| it.1.arrival).map(|it| *it.0)
    }
}

/// A number below `n`, by a linear congruence whose upper bits are used.
fn draw(random: &mut u64, n: usize) -> usize {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*random >> 33) as usize) % n
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    /// The order in which sessions run that each have three transactions.
    fn order(seed: u64, planned: &[&str]) -> Vec<String> {
        let planned = planned.iter().map(|it| (*it).to_owned()).collect();
        let turn = Arc::new(Turn::new(Some(3), seed, planned, Duration::from_secs(5)));
        let order = Arc::new(Mutex::new(Vec::new()));
        (0..3).for_each(|number| turn.connect(number));
        let sessions = (0..3_u64).map(|number| {
            let (turn, order) = (Arc::clone(&turn), Arc::clone(&order));
            thread::spawn(move || {
                let name = format!("s{number}");
                for _ in 0..3 {
                    assert!(turn.acquire(number, &name, false, || false));
                    order.lock().unwrap().push(name.clone());
                    turn.release(number);
                }
                turn.leave(number);
            })
        });
        let sessions: Vec<thread::JoinHandle<()>> = sessions.collect();
        for session in sessions {
            session.join().unwrap();
        }
        Arc::try_unwrap(order).unwrap().into_inner().unwrap()
    }

    #[test]
    fn declared_sessions_run_in_the_order_of_the_seed() {
        let first = order(7, &[]);
        assert_eq!(first, order(7, &[]));
        assert!((0..9).any(|seed| order(seed, &[]) != first));
    }

    #[test]
    fn planned_sessions_run_in_the_order_of_the_plan() {
        let planned = ["s2", "s0", "s0", "s1", "s2", "s1", "s1", "s0", "s2"];
        assert_eq!(order(7, &planned), planned);
    }

    #[test]
    fn who_waits_for_the_turn_comes_before_those_who_would_share_it() {
        let turn = Arc::new(Turn::new(None, 1, VecDeque::new(), Duration::from_secs(5)));
        assert!(turn.is_by_arrival() && turn.try_share() && turn.try_share());
        let other = Arc::clone(&turn);
        let writer = thread::spawn(move || other.acquire(1, "s1", false, || false));
        while turn.lock().waiting.is_empty() {
            thread::yield_now();
        }
        assert!(!turn.try_share());
        turn.end_share();
        assert_eq!(turn.lock().holder, None);
        turn.end_share();
        assert!(writer.join().unwrap());
        assert!(!turn.try_share());
        turn.release(1);
        assert!(turn.try_share());
    }

    #[test]
    fn who_says_nothing_loses_the_turn() {
        let turn = Turn::new(None, 1, VecDeque::new(), Duration::from_millis(1));
        assert!(turn.acquire(1, "s1", false, || false));
        turn.pause(1);
        assert!(turn.acquire(2, "s2", false, || false));
        turn.release(2);
        assert!(turn.acquire(1, "s1", true, || false));
    }
}
