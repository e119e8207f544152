//! Runs a workload: each step lets one randomly chosen session do one operation.
//!
//! The serializable store reads what is committed, and validates at commit that it is still current; blind writes
//! conflict with nobody. So commits are in a serial order, which respects real time. The snapshot store reads from the
//! state at begin, and a commit fails if somebody else has written one of its keys since. Losers are recorded as
//! aborted, and their sessions go on with other transactions. The causal store ([`Replicas`]) lets a session hear of
//! others at begin, now and then, and every commit succeeds.

use crate::inject::{Act, Line, N_VERSIONS, Where};
use crate::plan::{Access, Action, Asked, NO_ROW, Op, Outcome, Plan, Step, Txn};
use crate::program::{N_RESERVED, Program, program};
use crate::random::{Random, Zipf};
use crate::replicas::Replicas;
use crate::sink::Sink;
use crate::versions::{Version, Versions};
use crate::{Choice, GenerateError, Store, Values, Workload};
use std::io;
use std::ops::Range;

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Transactions that committed.
    pub n_committed: usize,
    /// Transactions that lost against others.
    pub n_aborted: usize,
}

/// Runs a workload until enough transactions have committed.
pub(crate) fn generate<S: Sink>(workload: &Workload, mut sink: S) -> Result<Tally, GenerateError> {
    workload.check()?;
    let mut run = Run::new(workload, &mut sink);
    while (run.n_commits as usize) < workload.n_txns {
        run.step()?;
    }
    let tally = Tally { n_committed: run.n_commits as usize, n_aborted: run.n_aborted };
    if run.stage.as_ref().is_some_and(|it| !it.acts.is_empty()) {
        return Err(GenerateError::Unfinished);
    }
    sink.finish()?;
    Ok(tally)
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Open,
    /// Takes part in the next act.
    Waiting,
}

#[derive(Debug)]
struct Session {
    phase: Phase,
    begin: u64,
    snapshot: u32,
    plan: Plan,
    n_done: usize,
    /// External reads: the key, and the commit that was seen.
    reads: Vec<(u32, u32)>,
    ops: Vec<Op>,
}

/// An anomaly that is going to happen.
struct Stage {
    acts: &'static [Act],
    /// The next act starts after so many commits.
    due: usize,
    gap: usize,
    /// Sessions that wait for the next act.
    players: Vec<usize>,
    keys: [u32; N_RESERVED as usize],
    values: [[u64; N_VERSIONS]; N_RESERVED as usize],
    /// Script keys that transactions read now and then, and how often they still do.
    shown: &'static [usize],
    n_shows: usize,
}

/// In so many of a hundred transactions, a session of the causal store hears first what another one knows.
const LEARNS_PERCENT: usize = 50;

/// How often script keys are read after an act.
const N_SHOWS: usize = 100;

struct Run<'a, S: Sink> {
    workload: &'a Workload,
    program: Box<dyn Program>,
    random: Random,
    value_choice: Option<Zipf>,
    versions: Versions,
    replicas: Replicas,
    sessions: Vec<Session>,
    stage: Option<Stage>,
    n_commits: u32,
    n_aborted: usize,
    last_value: u64,
    clock: u64,
    /// No open transaction has an older snapshot.
    horizon: u32,
    sink: &'a mut S,
}

impl<'a, S: Sink> Run<'a, S> {
    fn new(workload: &'a Workload, sink: &'a mut S) -> Self {
        let program = program(workload);
        let mut random = Random::new(workload.seed);
        let idle = |_| Session {
            phase: Phase::Idle,
            begin: 0,
            snapshot: 0,
            plan: Plan::default(),
            n_done: 0,
            reads: Vec::new(),
            ops: Vec::new(),
        };
        let stage = workload.injection.map(|it| Stage::new(it.script(), program.n_keys(), workload, &mut random));
        Self {
            workload,
            program,
            value_choice: match workload.values {
                Values::Few(n_values, Choice::Zipf) => Some(Zipf::new(n_values)),
                _ => None,
            },
            versions: match workload.store {
                Store::Serializable | Store::Causal => Versions::newest_only(),
                Store::Snapshot => Versions::with_older(),
            },
            replicas: Replicas::new(if workload.store == Store::Causal { workload.n_sessions } else { 0 }),
            sessions: (0..workload.n_sessions).map(idle).collect(),
            // Values of the script come first, so that nobody else writes them.
            last_value: stage.as_ref().map_or(0, |_| (N_RESERVED as usize * N_VERSIONS) as u64),
            stage,
            random,
            n_commits: 0,
            n_aborted: 0,
            clock: 0,
            horizon: 0,
            sink,
        }
    }

    fn step(&mut self) -> io::Result<()> {
        self.clock += 1;
        let idx = self.random.below(self.sessions.len());
        let session = &self.sessions[idx];
        match session.phase {
            Phase::Waiting => Ok(()),
            Phase::Idle => self.begin(idx),
            Phase::Open if session.n_done < session.plan.0.len() => {
                self.operate(idx);
                Ok(())
            }
            Phase::Open => self.end(idx),
        }
    }

    fn begin(&mut self, idx: usize) -> io::Result<()> {
        let session = &mut self.sessions[idx];
        session.begin = self.clock;
        session.snapshot = self.n_commits;
        session.n_done = 0;
        session.plan.0.clear();
        session.reads.clear();
        session.ops.clear();
        if let Some(stage) = &mut self.stage
            && stage.is_due(self.n_commits as usize)
        {
            session.phase = Phase::Waiting;
            stage.players.push(idx);
            return if stage.players.len() == stage.acts[0].players.len() { self.play() } else { Ok(()) };
        }
        session.phase = Phase::Open;
        if self.workload.store == Store::Causal && self.random.chance(LEARNS_PERCENT) {
            self.replicas.learn(idx, self.random.below(self.workload.n_sessions));
        }
        self.program.plan(idx, &mut self.random, &mut session.plan);
        if let Some(stage) = &mut self.stage
            && stage.n_shows > 0
            && self.random.chance(10)
        {
            stage.n_shows -= 1;
            let key = stage.shown[self.random.below(stage.shown.len())];
            session.plan.read(stage.keys[key]);
        }
        Ok(())
    }

    fn operate(&mut self, idx: usize) {
        let session = &self.sessions[idx];
        let Step { action, key } = session.plan.0[session.n_done];
        match action {
            Action::Write => {
                let value = self.next_value();
                self.push(idx, Access::Write, key, value);
            }
            Action::Read => {
                let value = self.read(idx, key);
                self.push(idx, Access::Read, key, value);
            }
            Action::Update | Action::Toggle => {
                let old = self.read(idx, key);
                let new = if action == Action::Toggle && old != NO_ROW { NO_ROW } else { self.next_value() };
                self.push(idx, Access::Old, key, old);
                self.push(idx, Access::Write, key, new);
            }
            Action::Scan(n_rows, asked) => self.scan(idx, key..key + n_rows, asked),
        }
        self.sessions[idx].n_done += 1;
    }

    /// All rows of the range at once.
    fn scan(&mut self, idx: usize, rows: Range<u32>, asked: Asked) {
        self.push(idx, Access::Scan, rows.start, u64::from(asked == Asked::Even));
        for key in rows {
            let value = self.read(idx, key);
            let access = if asked.is_match(value) { Access::Returned } else { Access::Omitted };
            self.push(idx, access, key, value);
        }
    }

    fn push(&mut self, idx: usize, access: Access, key: u32, value: u64) {
        self.sessions[idx].ops.push(Op { access, key, value });
    }

    fn read(&mut self, idx: usize, key: u32) -> u64 {
        let session = &mut self.sessions[idx];
        if let Some(own) = session.ops.iter().rev().find(|it| it.key == key && it.access == Access::Write) {
            return own.value;
        }
        let seen = match self.workload.store {
            Store::Causal => return self.replicas.read(idx, key),
            Store::Serializable => self.versions.newest(key),
            Store::Snapshot => self.versions.at(key, session.snapshot),
        };
        session.reads.push((key, seen.commit));
        seen.value
    }

    fn next_value(&mut self) -> u64 {
        match (self.workload.values, &self.value_choice) {
            (Values::Unique, _) => {
                self.last_value += 1;
                self.last_value
            }
            (Values::Few(..), Some(zipf)) => zipf.draw(&mut self.random) as u64 + 1,
            (Values::Few(n_values, _), None) => self.random.below(n_values) as u64 + 1,
        }
    }

    fn end(&mut self, idx: usize) -> io::Result<()> {
        let session = &self.sessions[idx];
        let mut writes = session.ops.iter().filter(|it| it.access == Access::Write);
        let may_commit = match self.workload.store {
            Store::Causal => true,
            Store::Serializable => session.reads.iter().all(|it| self.versions.newest(it.0).commit == it.1),
            Store::Snapshot => writes.all(|it| self.versions.newest(it.key).commit <= session.snapshot),
        };
        self.record(idx, idx, if may_commit { Outcome::Committed } else { Outcome::Aborted })
    }

    /// Writes a transaction down, and makes its writes visible if it commits.
    fn record(&mut self, idx: usize, shown_as: usize, outcome: Outcome) -> io::Result<()> {
        if outcome == Outcome::Committed {
            self.n_commits += 1;
            self.move_horizon();
            self.put(idx);
        } else {
            self.n_aborted += 1;
        }
        let session = &mut self.sessions[idx];
        session.phase = Phase::Idle;
        let Session { begin, ref ops, .. } = *session;
        self.sink.txn(&Txn { session: shown_as as u32, ops, outcome, begin, end: self.clock })
    }

    fn put(&mut self, idx: usize) {
        let writes = self.sessions[idx].ops.iter().filter(|it| it.access == Access::Write);
        if self.workload.store == Store::Causal {
            return self.replicas.commit(idx, writes.map(|it| (it.key, it.value)));
        }
        for Op { key, value, .. } in writes {
            self.versions.put(*key, Version { commit: self.n_commits, value: *value }, self.horizon);
        }
    }

    fn move_horizon(&mut self) {
        // Now and then is enough, as a horizon that is too old only keeps more.
        if self.workload.store == Store::Snapshot && self.n_commits.is_multiple_of(1024) {
            let open = self.sessions.iter().filter(|it| it.phase == Phase::Open);
            self.horizon = open.map(|it| it.snapshot).min().unwrap_or(self.n_commits);
        }
    }

    /// Plays the next act: its transactions commit one right after the other.
    fn play(&mut self) -> io::Result<()> {
        let Some(mut stage) = self.stage.take() else { return Ok(()) };
        let act = &stage.acts[0];
        let players = std::mem::take(&mut stage.players);
        let mut used = Vec::new();
        for (idx, player) in players.iter().zip(act.players) {
            if player.session == Where::Existing {
                let reads = [self.unused_key(&mut used), self.unused_key(&mut used)];
                let ops = reads.map(|key| Op { access: Access::Read, key, value: self.versions.newest(key).value });
                self.sessions[*idx].ops.extend(ops);
            }
            let op =
                |it: &Line| Op { access: it.access, key: stage.keys[it.key], value: stage.values[it.key][it.version] };
            self.sessions[*idx].ops.extend(player.lines.iter().map(op));
            if player.session == Where::Existing {
                let (key, value) = (self.unused_key(&mut used), self.next_value());
                self.sessions[*idx].ops.push(Op { access: Access::Write, key, value });
            }
        }
        for (idx, player) in players.iter().zip(act.players) {
            self.clock += 1;
            let shown_as = if player.session == Where::Existing { *idx } else { self.sessions.len() };
            self.record(*idx, shown_as, Outcome::Committed)?;
        }
        stage.shown = act.shown;
        stage.n_shows = N_SHOWS;
        stage.acts = &stage.acts[1..];
        stage.due = self.n_commits as usize + stage.gap;
        self.stage = Some(stage);
        Ok(())
    }

    /// A key that is there from the beginning, and that this act has not touched yet, if there is one.
    fn unused_key(&mut self, used: &mut Vec<u32>) -> u32 {
        let n_keys = self.program.n_keys() as usize;
        loop {
            let key = self.random.below(n_keys) as u32;
            if !used.contains(&key) {
                used.push(key);
                return key;
            }
        }
    }
}

impl Stage {
    fn new(acts: &'static [Act], first_key: u32, workload: &Workload, random: &mut Random) -> Self {
        let n_txns = workload.n_txns;
        let mut values = [[0; N_VERSIONS]; N_RESERVED as usize];
        let mut last_value = 0;
        for value in values.as_flattened_mut() {
            last_value += 1;
            *value = last_value;
        }
        Self {
            acts,
            due: n_txns * 2 / 5 + random.below(n_txns / 5 + 1),
            gap: n_txns / 50,
            players: Vec::new(),
            keys: std::array::from_fn(|idx| first_key + idx as u32),
            values,
            shown: &[],
            n_shows: 0,
        }
    }

    fn is_due(&self, n_commits: usize) -> bool {
        !self.acts.is_empty() && n_commits >= self.due
    }
}
