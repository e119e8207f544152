//! One stretch of a history as clauses: who sees whom, and who comes before whom.

use super::past::Past;
use super::timeline::{PARTS, Timeline};
use super::{Conflicts, View, Window};
use crate::problem::Problem;
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;
use iso_solve::{Lit, SatResult, SatSolver, Solver};

/// Transactions in an order, each with what it sees.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) txns: Vec<(TxnId, View)>,
    /// The reads of so many first ones are all explained.
    pub(super) n_judged: usize,
}

/// Who comes after the stretch may have been seen within it, if it is not farther behind, in transactions a session.
const MARGIN: u64 = 5;

/// Of the triangles that show that two transactions are in the wrong order, so many are forbidden at once.
const N_TRIANGLES: usize = 3;

/// A literal for each of some transactions of a session in a row; before the first one and after the last one, it is known.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    first: u32,
    n_lits: u32,
    /// Where its literals begin.
    start: usize,
}

pub(super) struct Stretch<'t> {
    timeline: &'t Timeline<'t>,
    problem: &'t Problem<'t>,
    past: &'t Past,
    window: Window,
    conflicts: Conflicts,
    /// The transactions of the stretch: those with a view that may change places, then the earliest others.
    live: Vec<TxnId>,
    /// So many of them have a view.
    n_movable: usize,
    /// By transaction: its place among these.
    nth_live: Vec<Option<usize>>,
    /// By session: how many keep their places, how many have a view, and how many of the others are in the stretch, too.
    n_settled: Vec<u32>,
    n_past: Vec<u32>,
    n_known: Vec<u32>,
    /// By key: its writers that keep their places, the newest first, and those of the stretch.
    settled_writers: Vec<Vec<TxnId>>,
    live_writers: Vec<Vec<TxnId>>,
    solver: Solver,
    /// True.
    yes: Lit,
    lits: Vec<Lit>,
    /// For each live transaction and session: whom it sees there. True before the row, and false after it.
    seen: Vec<Row>,
    /// For each live transaction and each session with a higher number: before whom it comes. False before the row, and true
    /// after it.
    before: Vec<Row>,
    /// For each live transaction: are all of its reads explained?
    is_judged: Vec<bool>,
}

impl<'t> Stretch<'t> {
    /// Everybody who has no place in the past, up to so many transactions altogether.
    pub(super) fn new(
        timeline: &'t Timeline<'t>,
        past: &'t Past,
        window: Window,
        conflicts: Conflicts,
        end: usize,
        usually_behind: u64,
    ) -> Self {
        let problem = timeline.problem;
        let has_no_place = |it: &&TxnId| past.place[it.index()].is_none();
        let n_live = end - past.order.len();
        let rest = timeline.by_moment.iter().filter(has_no_place).take(n_live);
        let live: Vec<TxnId> = past.movable().iter().chain(rest).copied().collect();
        let n_movable = past.movable().len();
        let mut nth_live = vec![None; problem.n_txns()];
        for (nth, txn) in live.iter().enumerate() {
            nth_live[txn.index()] = Some(nth);
        }
        let n_with = |is_counted: &dyn Fn(&TxnId) -> bool| {
            problem.sessions.iter().map(|it| it.partition_point(is_counted) as u32).collect::<Vec<u32>>()
        };
        let n_settled = n_with(&|it| past.settled_place(*it).is_some());
        let n_past = n_with(&|it| past.place[it.index()].is_some());
        let n_known = n_with(&|it| past.place[it.index()].is_some() || nth_live[it.index()].is_some());
        let mut solver = Solver::for_short_calls();
        let yes = solver.new_var().positive();
        solver.add_clause(&[yes]);
        let mut stretch = Self {
            timeline,
            problem,
            past,
            window,
            conflicts,
            settled_writers: writers_among(problem, past.order[..past.n_settled].iter().rev()),
            live_writers: writers_among(problem, live.iter()),
            live,
            n_movable,
            nth_live,
            n_settled,
            n_past,
            n_known,
            solver,
            yes,
            lits: Vec::new(),
            seen: Vec::new(),
            before: Vec::new(),
            is_judged: Vec::new(),
        };
        stretch.is_judged = (0..stretch.live.len()).map(|it| stretch.is_judged(it)).collect();
        stretch.make_rows(usually_behind);
        stretch
    }

    /// An order and views, or nothing if there are none.
    pub(super) fn solve(mut self, budget: &Budget<'_>) -> Result<Option<Part>, StopReason> {
        self.add_rules(budget)?;
        loop {
            budget.check()?;
            let mut stopped = None;
            let result = self.solver.solve(&[], &mut || {
                stopped = budget.check().err();
                stopped.is_some()
            });
            match result {
                SatResult::Satisfiable => {}
                SatResult::Unsatisfiable => return Ok(None),
                SatResult::Stopped => return Err(stopped.unwrap_or(StopReason::Steps)),
            }
            // To look at a model takes longer than to find it.
            self.live.iter().try_for_each(|_| budget.check())?;
            let (views, order) = (self.views(), self.order());
            let missing = self.missing_from_views(&views);
            let triangles = self.triangles(&order);
            if missing.is_empty() && triangles.is_empty() {
                let n_judged = order.iter().take_while(|it| self.is_judged[self.nth_live(**it)]).count();
                let with_view = |it: TxnId| (it, views[self.nth_live(it)].clone());
                return Ok(Some(Part { txns: order.into_iter().map(with_view).collect(), n_judged }));
            }
            for [reader, seen, hidden] in missing {
                let (sees, shows) = (self.sees(reader, seen), self.sees_known(seen, hidden));
                self.clause(&[!sees, !shows, self.sees(reader, hidden)]);
            }
            for [one, other, third] in triangles {
                let around = [self.is_before(one, other), self.is_before(other, third), self.is_before(third, one)];
                self.clause(&around.map(|it| !it));
            }
        }
    }

    fn nth_live(&self, txn: TxnId) -> usize {
        self.nth_live[txn.index()].expect("only transactions of the stretch are asked")
    }

    /// Is everybody whom a live transaction may have read from in the past or in the stretch?
    fn is_judged(&self, nth: usize) -> bool {
        nth < self.n_movable || !self.problem.reads_of(self.live[nth]).any(|read| self.may_come_later(read))
    }

    /// May the writer of what was read come after the stretch?
    fn may_come_later(&self, read: usize) -> bool {
        let at = self.problem.reads[read];
        let moment = |txn: TxnId| self.timeline.moment[txn.index()];
        let last = moment(at.reader) + self.window.apart.min(MARGIN) * PARTS;
        let mut writers = self.problem.candidates(read).iter().filter(|it| !it.is_initial());
        writers.any(|it| {
            let (session, nth) = self.problem.place_in_session(*it);
            nth >= self.n_known[session as usize] && moment(*it) <= last
        })
    }

    fn make_rows(&mut self, usually_behind: u64) {
        let n_sessions = self.problem.sessions.len();
        let (behind, apart) = (self.window.behind * PARTS, self.window.apart * PARTS);
        for nth in 0..self.live.len() {
            let txn = self.live[nth];
            let (own, nth_own) = self.problem.place_in_session(txn);
            let moment = self.timeline.moment[txn.index()];
            let n_past_own = self.n_past[own as usize];
            let base = match n_past_own {
                _ if nth < self.n_movable => self.past.views[txn.index()].clone(),
                0 => vec![0; n_sessions],
                n => self.past.views[self.problem.sessions[own as usize][n as usize - 1].index()].clone(),
            };
            for (session, base) in base.into_iter().enumerate() {
                if session == own as usize {
                    self.seen.push(Row { first: nth_own, ..Row::default() });
                    self.before.push(Row::default());
                    continue;
                }
                let n_known = self.n_known[session];
                let near = self.timeline.n_before(session, moment + apart + 1).min(n_known);
                let limit = self.timeline.limits[txn.index()][session];
                let end = if nth < self.n_movable { base } else { near.min(limit).max(base) };
                let first = self.timeline.n_before(session, moment.saturating_sub(behind)).min(end).max(base);
                let usual = moment.saturating_sub(usually_behind * PARTS);
                let row = self.row(session, first, end, |it| it < usual);
                self.seen.push(row);
                let first = self.timeline.n_before(session, moment.saturating_sub(apart)).max(self.n_settled[session]);
                let is_asked = session > own as usize;
                let end = if is_asked { near.max(first) } else { first };
                let row = self.row(session, first, end, |it| it > moment);
                self.before.push(row);
            }
        }
    }

    /// Makes literals for some transactions of a session, with what they are probably worth at their moments.
    fn row(&mut self, session: usize, first: u32, end: u32, is_likely: impl Fn(u64) -> bool) -> Row {
        let start = self.lits.len();
        for txn in &self.problem.sessions[session][first as usize..end as usize] {
            let var = self.solver.new_var();
            self.solver.prefer(var.literal(is_likely(self.timeline.moment[txn.index()])));
            self.lits.push(var.positive());
        }
        Row { first, n_lits: end - first, start }
    }

    /// The literal of a row, if it is no known one.
    fn lit(&self, row: Row, nth: u32) -> Option<Lit> {
        let is_open = nth >= row.first && nth < row.first + row.n_lits;
        is_open.then(|| self.lits[row.start + (nth - row.first) as usize])
    }

    /// Does a transaction of the stretch see another one?
    fn sees(&self, reader: TxnId, writer: TxnId) -> Lit {
        let (session, nth) = self.problem.place_in_session(writer);
        let row = self.seen[self.nth_live(reader) * self.problem.sessions.len() + session as usize];
        self.lit(row, nth).unwrap_or(if nth < row.first { self.yes } else { !self.yes })
    }

    /// The same for transactions that may have a place in the past.
    fn sees_known(&self, reader: TxnId, writer: TxnId) -> Lit {
        if self.nth_live[reader.index()].is_some() {
            return self.sees(reader, writer);
        }
        let (session, nth) = self.problem.place_in_session(writer);
        if nth < self.past.views[reader.index()][session as usize] { self.yes } else { !self.yes }
    }

    /// Does one transaction, of the stretch or the past, come before another one?
    fn is_before(&self, one: TxnId, other: TxnId) -> Lit {
        let known = |it: bool| if it { self.yes } else { !self.yes };
        match (self.past.settled_place(one), self.past.settled_place(other)) {
            (Some(one), Some(other)) => return known(one < other),
            (Some(_), None) => return self.yes,
            (None, Some(_)) => return !self.yes,
            (None, None) => {}
        }
        let (at_one, at_other) = (self.problem.place_in_session(one), self.problem.place_in_session(other));
        if at_one.0 == at_other.0 {
            return known(at_one.1 < at_other.1);
        }
        if at_one.0 > at_other.0 {
            return !self.is_before(other, one);
        }
        let row = self.before[self.nth_live(one) * self.problem.sessions.len() + at_other.0 as usize];
        self.lit(row, at_other.1).unwrap_or(known(at_other.1 >= row.first))
    }

    /// Adds a clause without what is known in it.
    fn clause(&mut self, clause: &[Lit]) {
        if !clause.contains(&self.yes) {
            let open: Vec<Lit> = clause.iter().copied().filter(|it| *it != !self.yes).collect();
            self.solver.add_clause(&open);
        }
    }

    fn add_rules(&mut self, budget: &Budget<'_>) -> Result<(), StopReason> {
        for nth in 0..self.live.len() {
            budget.check()?;
            let txn = self.live[nth];
            let (own, nth_own) = self.problem.place_in_session(txn);
            let next =
                self.problem.sessions[own as usize][..self.n_known[own as usize] as usize].get(nth_own as usize + 1);
            let next = next.copied();
            for session in (0..self.problem.sessions.len()).filter(|it| *it != own as usize) {
                self.add_rules_of_rows(txn, next, session);
            }
            for read in self.problem.reads_of(txn) {
                if nth < self.n_movable || !self.may_come_later(read) {
                    self.add_read(read);
                }
            }
        }
        if self.conflicts == Conflicts::Seen {
            self.add_conflicts();
        }
        Ok(())
    }

    /// Who sees a transaction sees those before it in its session, comes after it, and its own session goes on seeing it.
    fn add_rules_of_rows(&mut self, txn: TxnId, next: Option<TxnId>, session: usize) {
        let problem = self.problem;
        let idx = self.nth_live(txn) * problem.sessions.len() + session;
        let row = self.seen[idx];
        if let Some(last) = row.first.checked_sub(1) {
            self.clause(&[self.is_before(problem.sessions[session][last as usize], txn)]);
        }
        for nth in row.first..row.first + row.n_lits {
            let other = problem.sessions[session][nth as usize];
            let sees = self.sees(txn, other);
            if nth > row.first {
                self.clause(&[!sees, self.sees(txn, problem.sessions[session][nth as usize - 1])]);
            }
            if let Some(next) = next {
                self.clause(&[!sees, self.sees(next, other)]);
            }
            self.clause(&[!sees, self.is_before(other, txn)]);
        }
        let row = self.before[idx];
        for nth in row.first..row.first + row.n_lits {
            let other = problem.sessions[session][nth as usize];
            let is_before = self.is_before(txn, other);
            if nth + 1 < row.first + row.n_lits {
                self.clause(&[!is_before, self.is_before(txn, problem.sessions[session][nth as usize + 1])]);
            }
            if let Some(next) = next {
                self.clause(&[!self.is_before(next, other), is_before]);
            }
        }
    }

    /// Somebody who wrote what was read is seen, and is newer than all seen who wrote something else; or nobody is seen who
    /// wrote something else, if the value was there at first.
    fn add_read(&mut self, read: usize) {
        let (problem, at) = (self.problem, self.problem.reads[read]);
        let candidates = problem.candidates(read);
        let is_surely_seen = |it: &TxnId| self.sees(at.reader, *it) == self.yes;
        // Of those that keep their places, nobody older than one that is surely seen is the last one.
        let settled = &self.settled_writers[at.key.index()];
        let n_settled = settled.iter().position(is_surely_seen).map_or(settled.len(), |it| it + 1);
        let may_see = |it: &TxnId| *it != at.reader && self.sees(at.reader, *it) != !self.yes;
        let writers = settled[..n_settled].iter().chain(&self.live_writers[at.key.index()]).copied();
        let writers: Vec<TxnId> = writers.filter(may_see).collect();
        let surely_seen: Vec<TxnId> = writers.iter().copied().filter(is_surely_seen).collect();
        let may_be_last =
            |it: &TxnId| !surely_seen.iter().any(|last| last != it && self.is_before(*it, *last) == self.yes);
        let (right, wrong): (Vec<TxnId>, Vec<TxnId>) =
            writers.iter().copied().filter(may_be_last).partition(|it| candidates.contains(it));
        let mut one_of = Vec::new();
        if candidates.first().is_some_and(|it| it.is_initial()) {
            let source = self.solver.new_var().positive();
            for other in &wrong {
                self.clause(&[!source, !self.sees(at.reader, *other)]);
            }
            one_of.push(source);
        }
        for writer in right {
            let source = self.solver.new_var().positive();
            self.clause(&[!source, self.sees(at.reader, writer)]);
            for other in &wrong {
                self.clause(&[!source, !self.sees(at.reader, *other), self.is_before(*other, writer)]);
            }
            one_of.push(source);
        }
        self.clause(&one_of);
    }

    /// Of two writers of a key, the later one sees the earlier one.
    fn add_conflicts(&mut self) {
        let problem = self.problem;
        for nth in 0..self.live.len() {
            let txn = self.live[nth];
            for key in problem.writes_of(txn) {
                for other in problem.writers_of(key) {
                    let is_known = self.past.settled_place(*other).is_some() || self.nth_live[other.index()].is_some();
                    if *other != txn && is_known {
                        self.clause(&[!self.is_before(*other, txn), self.sees(txn, *other)]);
                    }
                }
            }
        }
    }

    fn is_true(&self, lit: Lit) -> bool {
        self.solver.value(lit)
    }

    /// What each live transaction sees in the model.
    fn views(&self) -> Vec<View> {
        let n_sessions = self.problem.sessions.len();
        let n_seen = |row: &Row| {
            let lits = &self.lits[row.start..row.start + row.n_lits as usize];
            row.first + lits.partition_point(|it| self.is_true(*it)) as u32
        };
        self.seen.chunks(n_sessions).map(|rows| rows.iter().map(n_seen).collect()).collect()
    }

    /// The stretch by how many come before each.
    fn order(&self) -> Vec<TxnId> {
        let n_before = |txn: &TxnId| self.live.iter().filter(|it| self.is_true(self.is_before(**it, *txn))).count();
        let mut order: Vec<(usize, TxnId)> = self.live.iter().map(|it| (n_before(it), *it)).collect();
        order.sort_by_key(|it| it.0);
        order.into_iter().map(|it| it.1).collect()
    }

    /// Who sees somebody who sees a third one, without seeing that.
    fn missing_from_views(&self, views: &[View]) -> Vec<[TxnId; 3]> {
        let mut missing = Vec::new();
        let sessions = &self.problem.sessions;
        let view_of = |txn: TxnId| match self.nth_live[txn.index()] {
            Some(nth) => &views[nth],
            None => &self.past.views[txn.index()],
        };
        for (reader, view) in self.live.iter().zip(views) {
            for (members, n_seen) in sessions.iter().zip(view) {
                let seen = &members[..*n_seen as usize];
                let Some(last) = seen.last() else { continue };
                for (session, (has, should)) in view.iter().zip(view_of(*last)).enumerate() {
                    for hidden in *has..(*should).max(*has) {
                        let shown = seen.iter().rev().take_while(|it| view_of(**it)[session] > hidden);
                        let hidden = sessions[session][hidden as usize];
                        missing.extend(shown.map(|it| [*reader, *it, hidden]));
                    }
                }
            }
        }
        missing
    }

    /// Three transactions in a circle, for each pair that the order has the wrong way round.
    ///
    /// Whoever has no fewer before it than one of those that come after it has somebody before it whom that one has not.
    fn triangles(&self, order: &[TxnId]) -> Vec<[TxnId; 3]> {
        let is_before = |one: TxnId, other: TxnId| self.is_true(self.is_before(one, other));
        let mut triangles = Vec::new();
        for (nth, first) in order.iter().enumerate() {
            for second in order[nth + 1..].iter().filter(|it| is_before(**it, *first)) {
                let between =
                    |it: &&TxnId| *it != first && *it != second && is_before(*first, **it) && is_before(**it, *second);
                let thirds = self.live.iter().filter(between).take(N_TRIANGLES);
                triangles.extend(thirds.map(|it| [*second, *first, *it]));
            }
        }
        triangles
    }
}

/// By key, those among some transactions that write it.
fn writers_among<'t>(problem: &Problem<'_>, txns: impl Iterator<Item = &'t TxnId>) -> Vec<Vec<TxnId>> {
    let mut writers = vec![Vec::new(); problem.facts.history().n_keys()];
    for txn in txns {
        for key in problem.writes_of(*txn) {
            writers[key.index()].push(*txn);
        }
    }
    writers
}
