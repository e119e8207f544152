//! Programs (`*.txn`) on a real database: their statements as SQL, in one interleaving after another.
//!
//! Each transaction has a connection and a thread. One statement is done at a time; one that waits for a lock is left
//! waiting, and the others go on. A transaction that the database aborts starts again. In the end the invariants are
//! judged in the state that the database is left in.

mod change;
mod statement;
mod workload;

use crate::{Client, Database, Failure, Random, Table, Watcher};
use iso_history::{Locking, Predicate};
use iso_program::{
    Judgement, Program, Type, UnitId, UnitKind, UnitValue, Value, initial_state, judge, judge_assumptions,
};
use statement::{Runner, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

pub use workload::ProgramWorkload;

/// A statement that takes longer waits for a lock, where nobody knows better.
const BLOCKED_AFTER: Duration = Duration::from_millis(300);

/// How often somebody is asked who knows better.
const LOOK: Duration = Duration::from_millis(2);

/// Drivers give up on a lock and on a statement long before.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(60);

/// A transaction that was aborted so often will not make it.
const MAX_TRIES: usize = 100;

/// What came of a program in many interleavings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// How many interleavings ran.
    pub n_runs: usize,
    /// In how many something was wrong.
    pub n_broken: usize,
    /// How often the database aborted a transaction, which then started again.
    pub n_conflicts: usize,
    /// The first in which something was wrong.
    pub first: Option<BrokenRun>,
}

/// An interleaving in which something was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRun {
    /// What was wrong, as clauses.
    pub wrong: Vec<String>,
    /// The open values.
    pub symbols: Vec<Value>,
    /// What was done, in the order in which it was answered.
    pub steps: Vec<TakenStep>,
    /// The state in the end, by unit.
    pub last: Vec<UnitValue>,
}

/// A statement, a commit or an abort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenStep {
    /// The transaction, as in `visit#2`.
    pub txn: String,
    /// What it did, and what it found.
    pub words: String,
    /// Did it wait for a lock?
    pub waited: bool,
}

/// How many interleavings are tried, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleavings {
    /// At most so many.
    pub n_runs: usize,
    /// Chooses those that are chosen at random.
    pub seed: u64,
}

/// Runs a program in many interleavings, for open values that its assumptions allow.
///
/// Every other run goes through all interleavings, one after the other, as far as they go; the others are chosen at random.
pub fn try_program(
    database: &dyn Database,
    isolation: &str,
    program: &Program,
    symbols: &[Vec<Value>],
    interleavings: Interleavings,
    stop: &dyn Fn() -> bool,
) -> Result<Trial, Failure> {
    if let Some(why) = database.no_scans() {
        return Err(Failure::broken(why));
    }
    database.set_up(&tables(program))?;
    let stage = Stage { database, isolation, program };
    let trial = stage.runs(symbols, interleavings, stop);
    match database.tear_down() {
        Ok(()) | Err(Failure::Lost { .. }) => trial,
        Err(failure) => trial.and(Err(failure)),
    }
}

/// So many choices of the open values that the assumptions allow; fewer if they are hard to find.
pub fn sample_symbols(program: &Program, n_wanted: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut random = Random::new(seed);
    let mut found: Vec<Vec<Value>> = Vec::new();
    for _ in 0..n_wanted * 1000 {
        if found.len() == n_wanted || (program.symbols().is_empty() && !found.is_empty()) {
            break;
        }
        let value = |it: &iso_program::Symbol| it.ty.value_of(random.amount(it.low, it.high));
        let symbols: Vec<Value> = program.symbols().iter().map(value).collect();
        if judge_assumptions(program, &symbols) == Judgement::Holds && !found.contains(&symbols) {
            found.push(symbols);
        }
    }
    found
}

/// Variables are rows of one table; each table of the program is one.
fn tables(program: &Program) -> Vec<Table> {
    let mut tables = vec![Table::of_ints("vars")];
    for (idx, table) in program.tables().iter().enumerate() {
        let name = format!("t{idx}");
        tables.push(if table.fields.len() > 1 { Table::of_texts(name) } else { Table::of_ints(name) });
    }
    tables
}

/// The table and the name of a unit's row.
fn row_of(program: &Program, unit: UnitId) -> (String, String) {
    let of = program.unit(unit);
    match of.kind {
        UnitKind::Var => ("vars".to_owned(), of.name.clone()),
        UnitKind::Row { table, key } => {
            let key = match key {
                Value::Member(domain, member) => program.domains()[domain.index()].members[member as usize].clone(),
                other => other.code().to_string(),
            };
            // Keys are texts there; in a history, one that looks like a number would be one, and match no predicate.
            let key = if key.parse::<i64>().is_ok() { format!("r{key}") } else { key };
            (format!("t{}", table.index()), key)
        }
    }
}

/// What a row has for fields: a number if there is at most one field, else all of them as a text.
fn encoded(fields: &[Value]) -> crate::Value {
    match fields {
        [] => crate::Value::Int(1),
        [only] => crate::Value::Int(only.code()),
        many => crate::Value::Text(many.iter().map(|it| it.code().to_string()).collect::<Vec<_>>().join(",")),
    }
}

fn decoded(program: &Program, unit: UnitId, value: &crate::Value) -> Result<UnitValue, Failure> {
    let types: Vec<Type> = program.unit(unit).fields.iter().map(|it| it.ty).collect();
    if types.is_empty() {
        return Ok(UnitValue::Present(Vec::new()));
    }
    let text = value.to_string();
    let wrong = || Failure::broken(format!("{} has `{text}`, which is not its", program.unit(unit).name));
    let codes: Option<Vec<i64>> = text.split(',').map(|it| it.parse().ok()).collect();
    let codes = codes.filter(|it| it.len() == types.len()).ok_or_else(wrong)?;
    Ok(UnitValue::Present(types.into_iter().zip(codes).map(|(ty, code)| ty.value_of(code)).collect()))
}

struct Stage<'s> {
    database: &'s dyn Database,
    isolation: &'s str,
    program: &'s Program,
}

/// What one interleaving was.
struct Run {
    wrong: Vec<String>,
    steps: Vec<TakenStep>,
    last: Vec<UnitValue>,
    n_conflicts: usize,
}

impl Stage<'_> {
    fn runs(&self, symbols: &[Vec<Value>], wanted: Interleavings, stop: &dyn Fn() -> bool) -> Result<Trial, Failure> {
        let mut control = self.database.connect(self.isolation)?;
        let mut trial = Trial::default();
        let mut random = Random::new(wanted.seed);
        // Where every other run has come to among all interleavings; none if it has been through them.
        let mut path: Option<Vec<usize>> = Some(Vec::new());
        while trial.n_runs < wanted.n_runs && !stop() {
            let symbols = match symbols {
                [] => break,
                [only] => only,
                many => &many[trial.n_runs % many.len()],
            };
            let mut sizes = Vec::new();
            let mut choose = |n: usize| {
                let at = sizes.len();
                sizes.push(n);
                match &path {
                    Some(path) if trial.n_runs % 2 == 0 => path.get(at).copied().unwrap_or(0).min(n - 1),
                    _ => random.below(n),
                }
            };
            let run = self.run(&mut *control, symbols, &mut choose)?;
            if trial.n_runs % 2 == 0 {
                path = path.and_then(|it| next_path(it, &sizes));
            }
            trial.n_runs += 1;
            trial.n_conflicts += run.n_conflicts;
            if !run.wrong.is_empty() {
                trial.n_broken += 1;
                let Run { wrong, steps, last, .. } = run;
                trial.first.get_or_insert(BrokenRun { wrong, symbols: symbols.clone(), steps, last });
            }
        }
        Ok(trial)
    }

    fn run(
        &self,
        control: &mut dyn Client,
        symbols: &[Value],
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Run, Failure> {
        self.reset(control, symbols)?;
        let n = self.program.instances().len();
        let mut runners: Vec<Runner<'_, Box<dyn Client + Send>>> = Vec::new();
        for idx in 0..n {
            runners.push(Runner::new(self.program, symbols, idx, self.database.connect(self.isolation)?));
        }
        if !self.program.observers().is_empty() {
            runners.push(Runner::observer(self.program, symbols, self.database.connect(self.isolation)?));
        }
        let names: Vec<String> = runners.iter().map(Runner::name).collect();
        let processes: Vec<Option<u64>> = runners.iter().map(Runner::process).collect();
        let (reply, replies) = mpsc::channel();
        let mut cast = Cast::new(names, processes, (reply, replies), self.database.watcher());
        thread::scope(|scope| {
            let mut orders = Vec::new();
            for (idx, mut runner) in runners.into_iter().enumerate() {
                let (sender, order): (Sender<()>, Receiver<()>) = mpsc::channel();
                let reply = cast.reply.clone();
                scope.spawn(move || {
                    while order.recv().is_ok() {
                        if reply.send((idx, runner.step())).is_err() {
                            break;
                        }
                    }
                    runner.leave();
                });
                orders.push(sender);
            }
            self.conduct(&mut cast, &orders, choose)
        })?;
        let last = self.state(control)?;
        let mut wrong = cast.wrong;
        for claim in self.program.invariants() {
            if judge(self.program, claim, symbols, &last) != Judgement::Holds {
                let label = claim.label.as_ref().map(|it| format!(" \"{it}\"")).unwrap_or_default();
                wrong.push(format!("invariant{label} is false"));
            }
        }
        Ok(Run { wrong, steps: cast.steps, last, n_conflicts: cast.n_conflicts })
    }

    /// Lets one after the other do something, until all have ended.
    fn conduct(
        &self,
        cast: &mut Cast,
        orders: &[Sender<()>],
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> Result<(), Failure> {
        loop {
            let is_ready = |it: &usize| {
                !cast.ended.contains(it) && !cast.pending.contains_key(it) && self.may_begin(*it, &cast.ended)
            };
            let mut ready: Vec<usize> = (0..orders.len()).filter(is_ready).collect();
            if ready.iter().any(|it| !cast.resting.contains(it)) {
                ready.retain(|it| !cast.resting.contains(it));
            }
            if ready.is_empty() {
                if cast.pending.is_empty() {
                    return Ok(());
                }
                let n_pending = cast.pending.len();
                cast.receive(GIVEN_UP_AFTER, |it| it.pending.len() < n_pending)?;
                continue;
            }
            let next = ready[choose(ready.len())];
            cast.pending.insert(next, false);
            orders[next].send(()).map_err(|_| Failure::broken("a session has ended by itself"))?;
            if !cast.settle(|it| !it.pending.contains_key(&next))? {
                cast.pending.insert(next, true);
            }
            cast.settle(|it| it.pending.is_empty())?;
        }
    }

    /// The transactions of a session come one after the other.
    fn may_begin(&self, idx: usize, ended: &BTreeSet<usize>) -> bool {
        let instances = self.program.instances();
        let Some(of) = instances.get(idx) else { return true };
        let before = |it: &usize| instances[*it].session == of.session && instances[*it].place < of.place;
        (0..instances.len()).filter(before).all(|it| ended.contains(&it))
    }

    fn reset(&self, control: &mut dyn Client, symbols: &[Value]) -> Result<(), Failure> {
        control.begin()?;
        for table in tables(self.program) {
            for (row, _) in control.select(&table.name, &Predicate::All, Locking::Free)? {
                control.delete(&table.name, &row)?;
            }
        }
        for (idx, value) in initial_state(self.program, symbols).iter().enumerate() {
            if let UnitValue::Present(fields) = value {
                let (table, row) = row_of(self.program, UnitId::from_index(idx));
                control.insert(&table, &row, encoded(fields))?;
            }
        }
        control.commit()
    }

    fn state(&self, control: &mut dyn Client) -> Result<Vec<UnitValue>, Failure> {
        control.begin()?;
        let mut found = BTreeMap::new();
        for table in tables(self.program) {
            for (row, value) in control.select(&table.name, &Predicate::All, Locking::Free)? {
                found.insert((table.name.clone(), row), value);
            }
        }
        control.commit()?;
        let units = (0..self.program.units().len()).map(UnitId::from_index);
        units
            .map(|unit| match found.get(&row_of(self.program, unit)) {
                Some(value) => decoded(self.program, unit, value),
                None => Ok(UnitValue::Missing),
            })
            .collect()
    }
}

/// The next path through all choices; none if that was the last one.
fn next_path(mut path: Vec<usize>, sizes: &[usize]) -> Option<Vec<usize>> {
    path.resize(sizes.len(), 0);
    for at in (0..path.len()).rev() {
        if path[at] + 1 < sizes[at] {
            path[at] += 1;
            path.truncate(at + 1);
            return Some(path);
        }
    }
    None
}

/// Who did something, and what.
type Reply = (usize, Result<Step, Failure>);

/// Who is where in one interleaving.
struct Cast {
    names: Vec<String>,
    processes: Vec<Option<u64>>,
    reply: Sender<Reply>,
    replies: Receiver<Reply>,
    watcher: Option<Box<dyn Watcher>>,
    /// Who was told to do something and has not answered, and whether that one waits for a lock.
    pending: BTreeMap<usize, bool>,
    ended: BTreeSet<usize>,
    /// Who was aborted by the database, and lets others go first until one of them has ended.
    resting: BTreeSet<usize>,
    steps: Vec<TakenStep>,
    wrong: Vec<String>,
    n_conflicts: usize,
}

impl Cast {
    fn new(
        names: Vec<String>,
        processes: Vec<Option<u64>>,
        (reply, replies): (Sender<Reply>, Receiver<Reply>),
        watcher: Option<Box<dyn Watcher>>,
    ) -> Self {
        Self {
            names,
            processes,
            reply,
            replies,
            watcher,
            pending: BTreeMap::new(),
            ended: BTreeSet::new(),
            resting: BTreeSet::new(),
            steps: Vec::new(),
            wrong: Vec::new(),
            n_conflicts: 0,
        }
    }

    /// Notes replies until something holds; false if all that are left to answer wait for locks.
    fn settle(&mut self, is_enough: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let until = Instant::now() + BLOCKED_AFTER;
        while Instant::now() < until {
            if self.receive(LOOK, &is_enough)? {
                return Ok(true);
            }
            if self.all_wait() {
                return self.receive(Duration::ZERO, &is_enough);
            }
        }
        Ok(false)
    }

    fn all_wait(&mut self) -> bool {
        let Some(Ok(waiting)) = self.watcher.as_mut().map(|it| it.waiting()) else {
            self.watcher = None;
            return false;
        };
        self.pending.keys().all(|it| self.processes[*it].is_some_and(|it| waiting.contains(&it)))
    }

    fn receive(&mut self, at_most: Duration, is_enough: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let until = Instant::now() + at_most;
        while !is_enough(self) {
            match self.replies.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((idx, step)) => self.note(idx, step?)?,
                Err(RecvTimeoutError::Timeout) if at_most == GIVEN_UP_AFTER => {
                    return Err(Failure::broken("a statement waits for a lock without end"));
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    fn note(&mut self, idx: usize, step: Step) -> Result<(), Failure> {
        let waited = self.pending.remove(&idx).unwrap_or(false);
        let words = match step {
            Step::Did(words) => words,
            Step::Ended(words) => {
                self.resting.clear();
                self.ended.insert(idx);
                words
            }
            Step::Failed(words) => {
                self.resting.clear();
                self.ended.insert(idx);
                self.wrong.push(format!("{words} in {}", self.names[idx]));
                words
            }
            Step::Conflict(words) => {
                self.n_conflicts += 1;
                self.resting.insert(idx);
                if self.n_conflicts > MAX_TRIES {
                    return Err(Failure::broken(format!("the database aborts again and again: {words}")));
                }
                format!("aborted by the database, starts again: {words}")
            }
        };
        self.steps.push(TakenStep { txn: self.names[idx].clone(), words, waited });
        Ok(())
    }
}
