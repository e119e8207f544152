//! Brute force at levels of databases: every interleaving of statements, executed as a server does it.
//!
//! A transaction does one statement after the other. A plain one reads what is committed, now or in the transaction's
//! snapshot. One that writes or locks waits until nobody else holds the row, finds its newest version, and holds it until
//! the transaction ends. A `for update` of several rows locks them one by one, in any order. A statement that looks for rows
//! to change does so in what is committed when it begins, and looks again at each row when it has it (`PostgreSQL`); or it
//! looks at one row after the other, in any order (`InnoDB`).

use crate::oracle::{start, valuations};
use iso_history::Snapshots;
use iso_program::{
    Claim, Instance, InstanceId, Judgement, Looks, Outcome, Program, ReadId, ReadMode, Source, StatementId, TxnRun,
    TxnStep, UnitId, UnitValue, Value, judge, run_instance,
};
use std::collections::{BTreeMap, BTreeSet};

/// Can something go wrong with such snapshots, for some of the open values? Nothing if there are too many states.
pub(crate) fn is_violated(program: &Program, snapshots: Snapshots, looks: Looks) -> Option<bool> {
    for symbols in valuations(program) {
        let Some(initial) = start(program, &symbols) else { continue };
        let server = Server { program, snapshots, looks, symbols: &symbols };
        let mut world = World { versions: initial.into_iter().map(|it| vec![(0, it)]).collect(), ..World::default() };
        world.clients.resize_with(program.instances().len(), Client::default);
        let mut seen = BTreeSet::new();
        if server.goes_wrong(&world, &mut seen)? {
            return Some(true);
        }
    }
    Some(false)
}

/// More states than this are not looked at.
const MAX_STATES: usize = 60_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    /// How many have committed.
    now: usize,
    /// By unit, every version with the time since which it is committed.
    versions: Vec<Vec<(usize, UnitValue)>>,
    clients: Vec<Client>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Client {
    /// What it has read so far.
    reads: BTreeMap<ReadId, UnitValue>,
    /// Statements that are done.
    done: BTreeSet<StatementId>,
    holds: BTreeSet<UnitId>,
    snapshot: Option<usize>,
    /// The earliest time that it looked at.
    first: Option<usize>,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Committed(usize),
    Aborted,
}

struct Server<'s> {
    program: &'s Program,
    snapshots: Snapshots,
    looks: Looks,
    symbols: &'s [Value],
}

impl World {
    fn value(&self, unit: UnitId, time: usize) -> UnitValue {
        let known = self.versions[unit.index()].iter().rev().find(|it| it.0 <= time);
        known.expect("every unit has an initial version").1.clone()
    }

    fn read(&mut self, idx: usize, read: ReadId, unit: UnitId, time: usize) {
        let value = self.value(unit, time);
        let client = &mut self.clients[idx];
        client.reads.insert(read, value);
        client.first = Some(client.first.map_or(time, |it| it.min(time)));
    }

    fn is_free(&self, unit: UnitId, client: usize) -> bool {
        let others = self.clients.iter().enumerate().filter(|it| it.0 != client && it.1.end.is_none());
        others.into_iter().all(|it| !it.1.holds.contains(&unit))
    }
}

fn statement(of: &Instance, step: &TxnStep) -> StatementId {
    match step {
        TxnStep::Read { read, .. } => of.read(*read).statement,
        TxnStep::Write { statement, .. } => *statement,
    }
}

impl Server<'_> {
    fn goes_wrong(&self, world: &World, seen: &mut BTreeSet<World>) -> Option<bool> {
        if world.clients.iter().all(|it| it.end.is_some()) {
            return Some(self.ends_badly(world));
        }
        if !seen.insert(world.clone()) {
            return Some(false);
        }
        if seen.len() > MAX_STATES {
            return None;
        }
        for client in (0..world.clients.len()).filter(|it| world.clients[*it].end.is_none()) {
            for next in self.next(world, client) {
                match next {
                    Next::Fails => return Some(true),
                    Next::Goes(next) => {
                        if self.goes_wrong(&next, seen)? {
                            return Some(true);
                        }
                    }
                }
            }
        }
        Some(false)
    }

    /// The transaction with what it has read; other reads find nothing that counts.
    fn run(&self, client: &Client, idx: usize) -> TxnRun {
        run_instance(self.program, InstanceId::from_index(idx), self.symbols, &mut |read, unit| {
            let missing = || self.program.unit(unit).fields.iter().map(|it| it.ty.default_value()).collect();
            client.reads.get(&read).cloned().unwrap_or_else(|| UnitValue::Present(missing()))
        })
    }

    /// Everything that one client may do next.
    fn next(&self, world: &World, idx: usize) -> Vec<Next> {
        let (client, of) = (&world.clients[idx], &self.program.instances()[idx]);
        let ran = self.run(client, idx);
        let open = ran.steps.iter().find(|it| !client.done.contains(&statement(of, it))).map(|it| statement(of, it));
        let Some(open) = open else { return self.end(world, idx, &ran).into_iter().collect() };
        let unread: Vec<(ReadId, UnitId, ReadMode)> = ran
            .steps
            .iter()
            .filter(|it| statement(of, it) == open)
            .filter_map(|it| match it {
                TxnStep::Read { read, unit, mode, source: Source::Outside, .. } if !client.reads.contains_key(read) => {
                    Some((*read, *unit, *mode))
                }
                _ => None,
            })
            .collect();
        match unread.first().map(|it| it.2) {
            None => self.finish(world.clone(), idx, open).into_iter().collect(),
            Some(ReadMode::Plain) => self.look(world, idx, open, &unread),
            Some(ReadMode::Search) if self.looks == Looks::Snapshot => {
                let mut next = world.clone();
                for (read, unit, _) in unread.iter().filter(|it| it.2 == ReadMode::Search) {
                    next.read(idx, *read, *unit, world.now);
                }
                vec![Next::Goes(Box::new(next))]
            }
            Some(ReadMode::Search) => {
                let searched = unread.iter().filter(|it| it.2 == ReadMode::Search);
                searched.filter_map(|it| self.visit(world, idx, open, it)).collect()
            }
            Some(ReadMode::Update) if of.read(unread[0].0).again.is_some() => {
                unread.iter().filter_map(|it| self.visit(world, idx, open, it)).collect()
            }
            Some(ReadMode::Check) if self.looks == Looks::NewestLocked => {
                let (read, unit, _) = unread[0];
                let exists = world.value(unit, world.now).exists();
                if exists && !world.is_free(unit, idx) {
                    return Vec::new();
                }
                let mut next = world.clone();
                next.read(idx, read, unit, world.now);
                if exists {
                    next.clients[idx].holds.insert(unit);
                }
                self.finish(next, idx, open).into_iter().collect()
            }
            Some(ReadMode::Update | ReadMode::Check) => {
                let mut next = world.clone();
                for (read, unit, _) in unread {
                    next.read(idx, read, unit, world.now);
                }
                self.finish(next, idx, open).into_iter().collect()
            }
            Some(ReadMode::ForUpdate) => {
                let lock = |it: &(ReadId, UnitId, ReadMode)| {
                    let exists = world.value(it.1, world.now).exists();
                    if exists && !world.is_free(it.1, idx) {
                        return None;
                    }
                    let mut next = world.clone();
                    next.read(idx, it.0, it.1, world.now);
                    if exists {
                        next.clients[idx].holds.insert(it.1);
                    }
                    if unread.len() > 1 { Some(Next::Goes(Box::new(next))) } else { self.finish(next, idx, open) }
                };
                unread.iter().filter_map(lock).collect()
            }
        }
    }

    /// Looks at a row as it is now and, if it fits, takes and changes it, unless somebody else holds it.
    fn visit(&self, world: &World, idx: usize, open: StatementId, row: &(ReadId, UnitId, ReadMode)) -> Option<Next> {
        let of = &self.program.instances()[idx];
        let mut next = world.clone();
        next.read(idx, row.0, row.1, world.now);
        if row.2 == ReadMode::Search {
            let again = (0..of.reads.len()).map(ReadId::from_index).find(|it| of.read(*it).again == Some(row.0))?;
            next.read(idx, again, row.1, world.now);
        }
        let ran = self.run(&next.clients[idx], idx);
        let is_taken = ran
            .steps
            .iter()
            .any(|it| matches!(it, TxnStep::Write { unit, statement, .. } if *unit == row.1 && *statement == open));
        if is_taken {
            if !next.is_free(row.1, idx) {
                return None;
            }
            next.clients[idx].holds.insert(row.1);
        }
        Some(Next::Goes(Box::new(next)))
    }

    /// A plain statement; a snapshot may be as old as the transaction, and that began at any time.
    fn look(&self, world: &World, idx: usize, open: StatementId, unread: &[(ReadId, UnitId, ReadMode)]) -> Vec<Next> {
        let times = match (self.snapshots, world.clients[idx].snapshot) {
            (Snapshots::PerStatement, _) => world.now..=world.now,
            (Snapshots::PerTransaction, Some(time)) => time..=time,
            (Snapshots::PerTransaction, None) => 0..=world.now,
        };
        let look = |time: usize| {
            let mut next = world.clone();
            if self.snapshots == Snapshots::PerTransaction {
                next.clients[idx].snapshot = Some(time);
            }
            for (read, unit, _) in unread {
                next.read(idx, *read, *unit, time);
            }
            self.finish(next, idx, open)
        };
        times.filter_map(look).collect()
    }

    /// The statement is done, if nobody holds what it writes.
    fn finish(&self, mut world: World, idx: usize, open: StatementId) -> Option<Next> {
        let of = &self.program.instances()[idx];
        let ran = self.run(&world.clients[idx], idx);
        for step in ran.steps.iter().filter(|it| statement(of, it) == open) {
            if let TxnStep::Write { unit, .. } = step {
                if !world.is_free(*unit, idx) {
                    return None;
                }
                world.clients[idx].holds.insert(*unit);
            }
        }
        let (client, now) = (&mut world.clients[idx], world.now);
        client.first = client.first.or(Some(now));
        client.done.insert(open);
        Some(Next::Goes(Box::new(world)))
    }

    fn end(&self, world: &World, idx: usize, ran: &TxnRun) -> Option<Next> {
        let mut next = world.clone();
        if matches!(ran.outcome, Outcome::Aborted { .. }) {
            next.clients[idx] = Client { end: Some(End::Aborted), ..Client::default() };
            return Some(Next::Goes(Box::new(next)));
        }
        if !self.keeps_session(world, idx) {
            return None;
        }
        if ran.outcome != Outcome::Committed {
            return Some(Next::Fails);
        }
        next.now += 1;
        for (unit, value) in &ran.writes {
            next.versions[unit.index()].push((next.now, value.clone()));
        }
        let first = world.clients[idx].first.or(Some(world.now));
        next.clients[idx] = Client { end: Some(End::Committed(next.now)), first, ..Client::default() };
        Some(Next::Goes(Box::new(next)))
    }

    /// Who committed earlier in the session had done so before this one looked at anything, and none later has.
    fn keeps_session(&self, world: &World, idx: usize) -> bool {
        let place = |it: usize| (self.program.instances()[it].session, self.program.instances()[it].place);
        let first = world.clients[idx].first.unwrap_or(world.now);
        world.clients.iter().enumerate().filter(|it| it.0 != idx && place(it.0).0 == place(idx).0).all(
            |(other, client)| match client.end {
                Some(End::Committed(at)) => place(other).1 < place(idx).1 && at <= first,
                _ => true,
            },
        )
    }

    fn ends_badly(&self, world: &World) -> bool {
        let at = |time: usize| -> Vec<UnitValue> {
            (0..world.versions.len()).map(|it| world.value(UnitId::from_index(it), time)).collect()
        };
        if self.is_false(self.program.invariants(), &at(world.now)) {
            return true;
        }
        if self.program.observers().is_empty() {
            return false;
        }
        match self.snapshots {
            Snapshots::PerTransaction => (0..=world.now).any(|it| self.is_false(self.program.observers(), &at(it))),
            // Each unit is read by a statement of its own, in any order.
            Snapshots::PerStatement => {
                let mut states = vec![Vec::new()];
                for versions in &world.versions {
                    let longer = |it: &Vec<UnitValue>| {
                        versions
                            .iter()
                            .map(|version| [&it[..], std::slice::from_ref(&version.1)].concat())
                            .collect::<Vec<_>>()
                    };
                    states = states.iter().flat_map(longer).collect();
                }
                states.iter().any(|it| self.is_false(self.program.observers(), it))
            }
        }
    }

    fn is_false(&self, claims: &[Claim], state: &[UnitValue]) -> bool {
        claims.iter().any(|it| judge(self.program, it, self.symbols, state) != Judgement::Holds)
    }
}

enum Next {
    /// The world after it.
    Goes(Box<World>),
    /// Something failed.
    Fails,
}
