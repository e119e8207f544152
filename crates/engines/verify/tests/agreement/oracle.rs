//! Brute force: every order of the transactions, everything that each may see, run by the interpreter.

use iso_program::{
    Claim, InstanceId, Judgement, Outcome, Program, ReadId, ReadMode, Source, TxnRun, TxnStep, UnitId, UnitValue,
    Value, initial_state, judge, judge_assumptions, run_instance,
};
use iso_spec::Level;

/// What locks do to who sees whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// Of two that lock a unit, or of which one writes it, one sees the other.
    Seen,
    /// Who locks a unit sees those who wrote it before; who writes it later need not see who had only locked it.
    AsServers,
}

/// Can something go wrong under the level, for some of the open values?
pub(crate) fn is_violated(program: &Program, level: Level) -> bool {
    is_violated_with(program, level, Locks::Seen)
}

/// The same, with locks as servers have them.
pub(crate) fn is_violated_with(program: &Program, level: Level, locks: Locks) -> bool {
    let orders = orders(program);
    valuations(program).iter().any(|symbols| {
        let Some(initial) = start(program, symbols) else { return false };
        let world = World { program, level, locks, symbols, initial: &initial };
        orders.iter().any(|order| match level {
            Level::ReadCommitted => world.breaks_by_reads(order),
            _ => world.breaks(order),
        })
    })
}

/// All values of the open values.
pub(crate) fn valuations(program: &Program) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for symbol in program.symbols() {
        let values = || (symbol.low..=symbol.high).map(|it| symbol.ty.value_of(it));
        let longer = |it: &Vec<Value>| values().map(|value| [it.clone(), vec![value]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The initial state, if the assumptions hold in it.
pub(crate) fn start(program: &Program, symbols: &[Value]) -> Option<Vec<UnitValue>> {
    (judge_assumptions(program, symbols) == Judgement::Holds).then(|| initial_state(program, symbols))
}

/// All orders of the instances.
pub(crate) fn orders(program: &Program) -> Vec<Vec<usize>> {
    fn extend(program: &Program, order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        let n = program.instances().len();
        if order.len() == n {
            all.push(order.clone());
            return;
        }
        for next in (0..n).filter(|it| !order.contains(it)).collect::<Vec<_>>() {
            order.push(next);
            extend(program, order, all);
            order.pop();
        }
    }
    let mut all = Vec::new();
    extend(program, &mut Vec::new(), &mut all);
    all
}

fn is_session_ordered(program: &Program, earlier: usize, later: usize) -> bool {
    let (a, b) = (&program.instances()[earlier], &program.instances()[later]);
    a.session == b.session && a.place < b.place
}

struct World<'w> {
    program: &'w Program,
    level: Level,
    locks: Locks,
    symbols: &'w [Value],
    initial: &'w [UnitValue],
}

/// What is known of an execution so far: who ran, in order, whom each saw, and what it wrote.
#[derive(Clone, Default)]
struct Past {
    ran: Vec<(usize, u32, TxnRun)>,
}

impl Past {
    fn seen_by(&self, instance: usize) -> u32 {
        self.ran.iter().find(|it| it.0 == instance).map_or(0, |it| it.1)
    }

    /// What a unit is for someone who sees these.
    fn value(&self, unit: UnitId, sees: u32, initial: &[UnitValue]) -> UnitValue {
        let writes = |it: &&(usize, u32, TxnRun)| sees >> it.0 & 1 == 1 && it.2.writes.contains_key(&unit);
        self.ran
            .iter()
            .rev()
            .find(writes)
            .map_or_else(|| initial[unit.index()].clone(), |it| it.2.writes[&unit].clone())
    }
}

impl World<'_> {
    fn breaks(&self, order: &[usize]) -> bool {
        self.go_on(order, &Past::default())
    }

    /// Tries everything that the next one may see. One that aborts is no part of what comes after.
    fn go_on(&self, order: &[usize], past: &Past) -> bool {
        let Some((&next, rest)) = order.split_first() else { return self.ends_badly(past) };
        let before: Vec<usize> = past.ran.iter().map(|it| it.0).collect();
        subsets(&before).into_iter().filter(|sees| self.is_allowed(past, *sees)).any(|sees| {
            let ran = self.run(next, &mut |_, unit| past.value(unit, sees, self.initial));
            if matches!(ran.outcome, Outcome::Aborted { .. }) {
                return self.go_on(rest, past);
            }
            let in_session = |it: &usize| !is_session_ordered(self.program, *it, next) || sees >> it & 1 == 1;
            if !before.iter().all(in_session) || !self.is_in_session_order(past, next) {
                return false;
            }
            if ran.outcome != Outcome::Committed {
                return true;
            }
            if !self.has_no_conflict(past, sees, &ran) {
                return false;
            }
            let mut longer = past.clone();
            longer.ran.push((next, sees, ran));
            self.go_on(rest, &longer)
        })
    }

    /// Does nobody who committed before come later in the session?
    fn is_in_session_order(&self, past: &Past, next: usize) -> bool {
        !past.ran.iter().any(|it| is_session_ordered(self.program, next, it.0))
    }

    fn run(&self, instance: usize, outside: &mut dyn FnMut(ReadId, UnitId) -> UnitValue) -> TxnRun {
        run_instance(self.program, InstanceId::from_index(instance), self.symbols, outside)
    }

    /// May someone after all of these see just those?
    fn is_allowed(&self, past: &Past, sees: u32) -> bool {
        let all: u32 = past.ran.iter().map(|it| 1 << it.0).sum();
        let members = || past.ran.iter().filter(|it| sees >> it.0 & 1 == 1);
        match self.level {
            Level::ReadAtomic | Level::UpdateAtomic => true,
            Level::CausalConsistency | Level::ParallelSnapshotIsolation => {
                members().all(|it| past.seen_by(it.0) & !sees == 0)
            }
            Level::PrefixConsistency | Level::SnapshotIsolation => {
                let last = past.ran.iter().rposition(|it| sees >> it.0 & 1 == 1);
                last.is_none_or(|last| past.ran[..last].iter().all(|it| sees >> it.0 & 1 == 1))
            }
            Level::Serializable => sees == all,
            other => unreachable!("{other} is not verified"),
        }
    }

    fn has_no_conflict(&self, past: &Past, sees: u32, ran: &TxnRun) -> bool {
        let asks =
            matches!(self.level, Level::UpdateAtomic | Level::ParallelSnapshotIsolation | Level::SnapshotIsolation);
        let clash = |it: &(usize, u32, TxnRun)| {
            sees >> it.0 & 1 == 0 && it.2.writes.keys().any(|unit| ran.writes.contains_key(unit))
        };
        // Locks are respected under every level.
        let touches = |it: &TxnRun, unit: &UnitId| it.writes.contains_key(unit) || it.locked().contains(unit);
        let is_locked_out = |it: &(usize, u32, TxnRun)| {
            if self.locks == Locks::AsServers {
                return sees >> it.0 & 1 == 0 && ran.locked().iter().any(|unit| it.2.writes.contains_key(unit));
            }
            sees >> it.0 & 1 == 0
                && (ran.locked().iter().any(|unit| touches(&it.2, unit))
                    || it.2.locked().iter().any(|unit| touches(ran, unit)))
        };
        !past.ran.iter().any(is_locked_out) && (!asks || !past.ran.iter().any(clash))
    }

    fn ends_badly(&self, past: &Past) -> bool {
        let all: u32 = past.ran.iter().map(|it| 1 << it.0).sum();
        let state = |sees: u32| -> Vec<UnitValue> {
            (0..self.initial.len()).map(|it| past.value(UnitId::from_index(it), sees, self.initial)).collect()
        };
        self.is_false(self.program.invariants(), &state(all)) || self.observed_badly(past, &state)
    }

    /// An observer may stand at any place of the order, and see whatever someone there may see.
    fn observed_badly(&self, past: &Past, state: &dyn Fn(u32) -> Vec<UnitValue>) -> bool {
        if self.program.observers().is_empty() {
            return false;
        }
        (0..=past.ran.len()).any(|place| {
            let before = Past { ran: past.ran[..place].to_vec() };
            let members: Vec<usize> = before.ran.iter().map(|it| it.0).collect();
            let allowed = subsets(&members).into_iter().filter(|it| self.is_allowed(&before, *it));
            allowed.into_iter().any(|it| self.is_false(self.program.observers(), &state(it)))
        })
    }

    fn is_false(&self, claims: &[Claim], state: &[UnitValue]) -> bool {
        claims.iter().any(|it| judge(self.program, it, self.symbols, state) != Judgement::Holds)
    }
}

/// Read committed: a source for each read, before the reader, never behind what it read before.
impl World<'_> {
    fn breaks_by_reads(&self, order: &[usize]) -> bool {
        self.go_on_by_reads(order, &Past::default())
    }

    fn go_on_by_reads(&self, order: &[usize], past: &Past) -> bool {
        let Some((&next, rest)) = order.split_first() else { return self.ends_badly_by_reads(past) };
        let mut choices: Vec<usize> = Vec::new();
        loop {
            let mut sizes = Vec::new();
            let mut floor: Vec<Option<usize>> = Vec::new();
            let ran = self.run(next, &mut |_, unit| {
                let options = options(past, unit, &floor);
                let at = sizes.len();
                sizes.push(options.len());
                let chosen = options[choices.get(at).copied().unwrap_or(0)];
                floor.push(chosen);
                chosen.map_or_else(|| self.initial[unit.index()].clone(), |it| past.ran[it].2.writes[&unit].clone())
            });
            let aborts = matches!(ran.outcome, Outcome::Aborted { .. });
            let is_in_order = aborts || self.is_in_session_order(past, next);
            if is_in_order && !aborts && ran.outcome != Outcome::Committed {
                return true;
            }
            // A read that locks finds what the last writer before it wrote.
            let asked = ran.steps.iter().filter(|it| matches!(it, TxnStep::Read { source: Source::Outside, .. }));
            let is_stale = |(step, from): (&TxnStep, &Option<usize>)| match step {
                TxnStep::Read { unit, value, mode: ReadMode::ForUpdate, .. } if value.exists() => {
                    let writes = |it: &usize| past.ran[*it].2.writes.contains_key(unit);
                    (0..past.ran.len()).rev().find(writes) != *from
                }
                _ => false,
            };
            if is_in_order && !asked.zip(&floor).any(is_stale) {
                let mut longer = past.clone();
                longer.ran.extend((!aborts).then_some((next, 0, ran)));
                if self.go_on_by_reads(rest, &longer) {
                    return true;
                }
            }
            choices.resize(sizes.len(), 0);
            if !advance(&mut choices, &sizes) {
                return false;
            }
        }
    }

    fn ends_badly_by_reads(&self, past: &Past) -> bool {
        let all: u32 = past.ran.iter().map(|it| 1 << it.0).sum();
        let units = || (0..self.initial.len()).map(UnitId::from_index);
        let last: Vec<UnitValue> = units().map(|it| past.value(it, all, self.initial)).collect();
        if self.is_false(self.program.invariants(), &last) {
            return true;
        }
        !self.program.observers().is_empty()
            && (0..=past.ran.len()).any(|place| {
                let before = Past { ran: past.ran[..place].to_vec() };
                self.observed_by_reads(&before, &mut Vec::new())
            })
    }

    /// An observer reads the units in any order.
    fn observed_by_reads(&self, past: &Past, read: &mut Vec<(usize, Option<usize>)>) -> bool {
        if read.len() == self.initial.len() {
            let mut state = self.initial.to_vec();
            for (idx, place) in read.iter().filter_map(|it| Some((it.0, it.1?))) {
                state[idx] = past.ran[place].2.writes[&UnitId::from_index(idx)].clone();
            }
            return self.is_false(self.program.observers(), &state);
        }
        let sources: Vec<Option<usize>> = read.iter().map(|it| it.1).collect();
        let left: Vec<usize> = (0..self.initial.len()).filter(|it| read.iter().all(|done| done.0 != *it)).collect();
        left.into_iter().any(|next| {
            options(past, UnitId::from_index(next), &sources).into_iter().any(|it| {
                read.push((next, it));
                let found = self.observed_by_reads(past, read);
                read.pop();
                found
            })
        })
    }
}

/// The writers of a unit that a read may have as its source, by place; none is the initial state.
fn options(past: &Past, unit: UnitId, read_before: &[Option<usize>]) -> Vec<Option<usize>> {
    let writes = |place: usize| past.ran[place].2.writes.contains_key(&unit);
    let floor = read_before.iter().flatten().copied().filter(|it| writes(*it)).max();
    let writers = (0..past.ran.len()).filter(|it| writes(*it) && floor.is_none_or(|floor| *it >= floor)).map(Some);
    floor.is_none().then_some(None).into_iter().chain(writers).collect()
}

/// The next vector of choices; false if that was the last one.
fn advance(choices: &mut Vec<usize>, sizes: &[usize]) -> bool {
    for at in (0..choices.len()).rev() {
        choices[at] += 1;
        if choices[at] < sizes[at] {
            choices.truncate(at + 1);
            return true;
        }
    }
    false
}

fn subsets(of: &[usize]) -> Vec<u32> {
    let chosen = |mask: u32| of.iter().enumerate().filter(|it| mask >> it.0 & 1 == 1).map(|it| 1 << it.1).sum();
    (0..1u32 << of.len()).map(chosen).collect()
}
