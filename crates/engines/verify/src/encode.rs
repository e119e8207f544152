//! All executions of a program as one formula: who comes before whom, who sees whom, and what follows for every value.
//!
//! The axioms of Cerone, Bernardi and Gotsman 2015 are taken as they are: an order of the transactions, a visibility
//! within it, and each input is what the last visible writer wrote. (Seed papers that let a transaction start from one
//! earlier state miss executions in which it sees two that do not see each other.) Levels differ only in axioms about
//! order and visibility, so one formula serves them all; each axiom is an assumption. Read committed has a source for
//! each read instead.

mod formula;
mod limits;
mod moments;
mod reads;
mod sums;

use crate::answer::Effort;
use crate::bounds::Bounds;
use crate::execute::{FailureKind, Scope, Summary, execute, initial};
use crate::record::{Record, Shapes};
use crate::term::{Calculator, Comparisons, Term};
use formula::Formula;
use iso_history::Snapshots;
use iso_program::{Claim, Instance, Looks, Program, ReadId, Span, SymbolId, UnitId, UnitValue};
use iso_solve::{Circuit, SatResult, Values, Wire};
pub(crate) use limits::Limits;
use std::collections::BTreeMap;

/// What a level may ask of visibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Axiom {
    /// Who is seen by someone that is seen is seen.
    Transitive,
    /// Who comes before someone that is seen is seen.
    Prefix,
    /// Of two writers of a unit one sees the other.
    NoConflict,
    /// Everyone before is seen.
    Total,
    /// Of two that lock a unit, or of which one locks it and the other writes it, one sees the other.
    LocksAreSeen,
    /// Whoever locks a unit sees those who wrote it before; whoever writes it later need not see who had locked it.
    LockersSee,
}

/// How many versions of a unit a transaction may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// One: transactions are seen as a whole or not at all.
    Atomic,
    /// One for each read: read committed.
    PerRead,
    /// One for each moment at which a statement looks; so many plain reads share one.
    PerMoment(Snapshots, Looks),
}

/// Something that may be wrong, as the formula knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspect {
    Invariant(usize),
    Observer(usize),
    Inside {
        instance: usize,
        kind: FailureKind,
        span: Span,
    },
    /// Arithmetic in a condition.
    Claim {
        kind: FailureKind,
        span: Span,
    },
}

/// What a transaction reads at one place, or at all places of one unit.
struct Input {
    unit: UnitId,
    record: Record,
    /// Whose write it is; by node, the last one is the initial state. Only with a source for each read.
    sources: Vec<Wire>,
    /// Who had committed when it was made, by node. Only with moments.
    cut: Vec<Wire>,
}

/// A transaction of the program, or one that only observes.
struct Node {
    summary: Summary,
    /// Inputs by unit, or by read.
    inputs: BTreeMap<(UnitId, Option<ReadId>), Input>,
    session: Option<(usize, usize)>,
}

/// The formula of a program.
pub(crate) struct Encoding<'p> {
    pub(crate) program: &'p Program,
    visibility: Visibility,
    circuit: Circuit,
    /// What makes an execution one, apart from what follows.
    laws: Vec<Wire>,
    /// What ties sums, and the answers of comparisons, to bits.
    bit_laws: Vec<Wire>,
    /// Without the bits, if there are sums: what holds in this outline holds.
    outline: Option<Formula>,
    full: Option<Formula>,
    symbols: Vec<Term>,
    initial: Vec<Record>,
    nodes: Vec<Node>,
    /// Is the first before the second?
    order: Vec<Vec<Wire>>,
    /// Is the first seen by the second?
    sees: Vec<Vec<Wire>>,
    axioms: BTreeMap<Axiom, Wire>,
    /// By node: does it see everyone before it?
    total: Vec<Wire>,
    suspects: Vec<(Suspect, Wire)>,
    bounds: Bounds<'p>,
    /// Everything that was compared so far.
    comparisons: Comparisons,
    /// With a source for each read: in which order an observer reads the units.
    observed_orders: BTreeMap<usize, Vec<Vec<Wire>>>,
}

/// One execution that the formula has.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) suspects: Vec<Suspect>,
    pub(crate) symbols: Vec<i64>,
    /// Nodes from the first to the last.
    pub(crate) order: Vec<usize>,
    /// Who is seen by whom.
    pub(crate) sees: Vec<(usize, usize)>,
    /// By node, what it did.
    pub(crate) deeds: Vec<Deed>,
}

/// What a node did in an execution.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) commits: bool,
    /// Reads of the outside that it made, in program order; of an observer by unit. With whose write was read.
    pub(crate) reads: Vec<(Option<ReadId>, UnitId, UnitValue, Option<usize>)>,
    pub(crate) writes: Vec<(UnitId, UnitValue)>,
}

impl<'p> Encoding<'p> {
    pub(crate) fn new(program: &'p Program, visibility: Visibility) -> Self {
        let mut encoding = Self {
            program,
            visibility,
            circuit: Circuit::new(),
            laws: Vec::new(),
            bit_laws: Vec::new(),
            outline: None,
            full: None,
            symbols: Vec::new(),
            initial: Vec::new(),
            nodes: Vec::new(),
            order: Vec::new(),
            sees: Vec::new(),
            axioms: BTreeMap::new(),
            total: Vec::new(),
            suspects: Vec::new(),
            bounds: Bounds::new(program),
            comparisons: Comparisons::default(),
            observed_orders: BTreeMap::new(),
        };
        encoding.add_symbols();
        encoding.add_initial();
        for idx in 0..program.instances().len() {
            encoding.add_instance(idx);
        }
        for claim in program.observers() {
            encoding.add_observer(claim);
        }
        encoding.relate();
        match visibility {
            Visibility::Atomic => encoding.connect_atomic(),
            Visibility::PerRead => encoding.connect_reads(),
            Visibility::PerMoment(snapshots, looks) => encoding.connect_moments(snapshots, looks),
        }
        encoding.add_claims();
        encoding.relate_sums();
        encoding
    }

    fn assert(&mut self, wire: Wire) {
        self.laws.push(wire);
    }

    fn shapes(&self) -> Shapes<'p> {
        Shapes { program: self.program }
    }

    fn add_symbols(&mut self) {
        for symbol in (0..self.program.symbols().len()).map(SymbolId::from_index) {
            let (term, law) = self.shapes().symbol(&mut self.circuit, symbol);
            if term.number.is_some() { &mut self.bit_laws } else { &mut self.laws }.push(law);
            self.symbols.push(term);
        }
        self.compare_symbols();
    }

    fn add_initial(&mut self) {
        let program = self.program;
        let calculator = Calculator { circuit: &mut self.circuit, comparisons: &mut self.comparisons };
        let start = initial(program, calculator, &self.symbols);
        for failure in start.failures {
            self.assert(!failure.happens);
        }
        self.initial = start.state;
        for claim in program.assumptions() {
            let (holds, failures) = self.judge(claim, &self.initial.clone());
            self.assert(holds);
            for failure in failures {
                self.assert(!failure.1);
            }
        }
    }

    /// Is the claim true of the state, and what goes wrong in it?
    fn judge(&mut self, claim: &Claim, state: &[Record]) -> (Wire, Vec<(Suspect, Wire)>) {
        let calculator = Calculator { circuit: &mut self.circuit, comparisons: &mut self.comparisons };
        let mut scope = Scope::new(self.program, calculator, &self.symbols, state);
        let holds = scope.truth(&claim.holds, Wire::TRUE);
        let failures = scope.failures.into_iter();
        (holds, failures.map(|it| (Suspect::Claim { kind: it.kind, span: it.span }, it.happens)).collect())
    }

    fn add_instance(&mut self, idx: usize) {
        let instance: &Instance = &self.program.instances()[idx];
        let mut inputs = BTreeMap::new();
        for (read_idx, read) in instance.reads.iter().enumerate() {
            let read_id = (self.visibility != Visibility::Atomic).then(|| ReadId::from_index(read_idx));
            inputs.entry((read.unit, read_id)).or_insert_with(|| self.new_input(read.unit, Some(idx)));
        }
        let outside = |read: ReadId, unit: UnitId| {
            let read_id = (self.visibility != Visibility::Atomic).then_some(read);
            inputs[&(unit, read_id)].record.clone()
        };
        let calculator = Calculator { circuit: &mut self.circuit, comparisons: &mut self.comparisons };
        let summary = execute(self.program, instance, calculator, &self.symbols, &outside);
        for failure in &summary.failures {
            let suspect = Suspect::Inside { instance: idx, kind: failure.kind, span: failure.span };
            self.suspects.push((suspect, failure.happens));
        }
        self.nodes.push(Node { summary, inputs, session: Some((instance.session, instance.place)) });
    }

    fn new_input(&mut self, unit: UnitId, reader: Option<usize>) -> Input {
        let numbers = self.bounds.any(unit, reader, &mut self.circuit);
        let (record, law) = self.shapes().any_record(&mut self.circuit, unit, numbers);
        self.bit_laws.push(law);
        Input { unit, record, sources: Vec::new(), cut: Vec::new() }
    }

    /// An observer is a transaction that reads all units at once.
    fn add_observer(&mut self, claim: &Claim) {
        let mut inputs = BTreeMap::new();
        let mut state = Vec::new();
        for unit in (0..self.program.units().len()).map(UnitId::from_index) {
            let input = self.new_input(unit, None);
            state.push(input.record.clone());
            inputs.insert((unit, None), input);
        }
        let n_before = self.nodes.len() - self.program.instances().len();
        let (holds, failures) = self.judge(claim, &state);
        self.suspects.push((Suspect::Observer(n_before), !holds));
        self.suspects.extend(failures);
        let (writes, locks) = (BTreeMap::new(), BTreeMap::new());
        let (asks, locking, failures, touches) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let summary = Summary { asks, writes, locks, locking, touches, commits: Wire::TRUE, failures };
        self.nodes.push(Node { summary, inputs, session: None });
    }

    /// Order and visibility, and the axioms about them. Whoever aborts reads what the level allows, and is then no part of
    /// the history: no session and no one else depends on it.
    fn relate(&mut self) {
        let n = self.nodes.len();
        self.order = self.free_order(n);
        self.sees = vec![vec![Wire::FALSE; n]; n];
        let aborts: Vec<Wire> = (0..n).map(|it| self.aborts(it)).collect();
        for a in 0..n {
            for b in (0..n).filter(|it| *it != a) {
                let input = self.circuit.input();
                let in_session = Wire::constant(self.is_session_ordered(a, b));
                let in_session = self.circuit.and([in_session, !aborts[a], !aborts[b]]);
                let is_kept = self.circuit.either(!in_session, self.order[a][b]);
                self.assert(is_kept);
                let sees = self.circuit.either(in_session, input);
                self.sees[a][b] = self.circuit.both(sees, self.order[a][b]);
            }
        }
        self.symmetries();
        self.add_axioms(&aborts);
    }

    /// Does it end by `abort`? What fails is judged like what commits.
    fn aborts(&mut self, node: usize) -> Wire {
        let Summary { commits, failures, .. } = &self.nodes[node].summary;
        let mut others: Vec<Wire> = failures.iter().map(|it| !it.happens).collect();
        others.push(!*commits);
        self.circuit.and(others)
    }

    fn is_session_ordered(&self, a: usize, b: usize) -> bool {
        matches!((self.nodes[a].session, self.nodes[b].session), (Some(a), Some(b)) if a.0 == b.0 && a.1 < b.1)
    }

    /// Any strict total order of so many.
    fn free_order(&mut self, n: usize) -> Vec<Vec<Wire>> {
        let mut order = vec![vec![Wire::FALSE; n]; n];
        for (a, b) in (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))) {
            let before = self.circuit.input();
            (order[a][b], order[b][a]) = (before, !before);
        }
        // Each cycle of three, once in each direction; without one a tournament has no cycle at all.
        for (a, b, c) in triples(n).filter(|it| it.0 < it.1 && it.1 < it.2) {
            let (ab, bc, ca) = (order[a][b], order[b][c], order[c][a]);
            let (one_way, other_way) = (self.circuit.and([ab, bc, ca]), self.circuit.and([!ab, !bc, !ca]));
            self.assert(!one_way);
            self.assert(!other_way);
        }
        order
    }

    /// Sessions that are alike may as well begin in the order in which they are written.
    fn symmetries(&mut self) {
        let instances = self.program.instances();
        let is_closed = |it: &Instance| it.arguments.iter().all(|it| !matches!(it.1, iso_program::Expr::Symbol(_)));
        let all_closed = |session: usize| instances.iter().filter(|it| it.session == session).all(is_closed);
        for (a, first) in instances.iter().enumerate().filter(|it| it.1.place == 0) {
            let next = (a + 1..instances.len()).find(|it| instances[*it].group == first.group);
            if let Some(b) = next
                && all_closed(first.session)
                && all_closed(instances[b].session)
            {
                self.assert(self.order[a][b]);
            }
        }
    }

    fn add_axioms(&mut self, aborts: &[Wire]) {
        let n = self.nodes.len();
        let (mut transitive, mut prefix, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
        for (a, b, c) in triples(n) {
            let path = self.circuit.and([self.sees[a][b], self.sees[b][c], !aborts[b]]);
            transitive.push(self.circuit.either(!path, self.sees[a][c]));
            let path = self.circuit.and([self.order[a][b], self.sees[b][c], !aborts[b]]);
            prefix.push(self.circuit.either(!path, self.sees[a][c]));
        }
        for a in 0..n {
            for b in a + 1..n {
                let both = self.conflict(a, b);
                conflicts.push(self.circuit.or([!both, self.sees[a][b], self.sees[b][a]]));
            }
            let all: Vec<Wire> = (0..n)
                .filter(|it| *it != a)
                .map(|it| self.circuit.either(!self.order[it][a], self.sees[it][a]))
                .collect();
            let all = self.circuit.and(all);
            self.total.push(all);
        }
        let total = self.circuit.and(self.total.clone());
        for (axiom, laws) in [(Axiom::Transitive, transitive), (Axiom::Prefix, prefix), (Axiom::NoConflict, conflicts)]
        {
            let wire = self.circuit.and(laws);
            self.axioms.insert(axiom, wire);
        }
        self.axioms.insert(Axiom::Total, total);
    }

    fn writes(&self, node: usize, unit: UnitId) -> Wire {
        self.nodes[node].summary.writes.get(&unit).map_or(Wire::FALSE, |it| it.happens)
    }

    /// Do both write a unit?
    fn conflict(&mut self, a: usize, b: usize) -> Wire {
        let units: Vec<UnitId> = self.nodes[a].summary.writes.keys().copied().collect();
        let both: Vec<Wire> =
            units.iter().map(|it| self.circuit.both(self.writes(a, *it), self.writes(b, *it))).collect();
        self.circuit.or(both)
    }

    /// What seeing has to do with locks.
    fn add_lock_axioms(&mut self) {
        let (mut are_seen, mut lockers_see) = (Vec::new(), Vec::new());
        for a in 0..self.nodes.len() {
            let locked: Vec<(UnitId, Wire)> = self.nodes[a].summary.locks.iter().map(|it| (*it.0, *it.1)).collect();
            for (unit, locks) in locked {
                for b in (0..self.nodes.len()).filter(|it| *it != a) {
                    let other = self.nodes[b].summary.locks.get(&unit).copied().unwrap_or(Wire::FALSE);
                    let touches = self.circuit.either(other, self.writes(b, unit));
                    let both = self.circuit.both(locks, touches);
                    are_seen.push(self.circuit.or([!both, self.sees[a][b], self.sees[b][a]]));
                    let written_before = self.circuit.and([locks, self.writes(b, unit), self.order[b][a]]);
                    lockers_see.push(self.circuit.either(!written_before, self.sees[b][a]));
                }
            }
        }
        for (axiom, laws) in [(Axiom::LocksAreSeen, are_seen), (Axiom::LockersSee, lockers_see)] {
            let wire = self.circuit.and(laws);
            self.axioms.insert(axiom, wire);
        }
    }

    /// Each input is what the last visible writer wrote.
    fn connect_atomic(&mut self) {
        self.add_lock_axioms();
        let n = self.nodes.len();
        for reader in 0..n {
            let inputs: Vec<(UnitId, Record)> =
                self.nodes[reader].inputs.values().map(|it| (it.unit, it.record.clone())).collect();
            for (unit, record) in inputs {
                let seen: Vec<Wire> = (0..n)
                    .map(|it| if it == reader { Wire::FALSE } else { self.seen_write(it, reader, unit) })
                    .collect();
                let last = self.last_of(&seen);
                self.tie(unit, &record, &last);
            }
        }
    }

    fn seen_write(&mut self, writer: usize, reader: usize, unit: UnitId) -> Wire {
        let writes = self.writes(writer, unit);
        self.circuit.both(self.sees[writer][reader], writes)
    }

    /// By node: is it the last of those?
    fn last_of(&mut self, members: &[Wire]) -> Vec<Wire> {
        let n = members.len();
        let mut last = Vec::new();
        for a in 0..n {
            let later: Vec<Wire> =
                (0..n).filter(|it| *it != a).map(|it| !self.circuit.both(members[it], self.order[a][it])).collect();
            let none_later = self.circuit.and(later);
            last.push(self.circuit.both(members[a], none_later));
        }
        last
    }

    /// The record is what the source wrote, or the initial one if there is none.
    fn tie(&mut self, unit: UnitId, record: &Record, sources: &[Wire]) {
        for (writer, source) in sources.iter().enumerate().filter(|it| *it.1 != Wire::FALSE) {
            let Some(write) = self.nodes[writer].summary.writes.get(&unit) else { continue };
            let value = write.value.clone();
            self.tie_to(*source, record, &value);
        }
        let none = !self.circuit.or(sources.iter().copied());
        self.tie_to(none, record, &self.initial[unit.index()].clone());
    }

    fn tie_to(&mut self, premise: Wire, record: &Record, value: &Record) {
        let copied = record.copies(value, &mut self.circuit);
        let law = self.circuit.either(!premise, copied.same);
        let bit_law = self.circuit.either(!premise, copied.same_bits);
        self.laws.push(law);
        self.bit_laws.push(bit_law);
    }

    /// The last state, and what is said about it.
    fn add_claims(&mut self) {
        let mut last_state = Vec::new();
        for unit in (0..self.program.units().len()).map(UnitId::from_index) {
            let writers: Vec<Wire> = (0..self.nodes.len()).map(|it| self.writes(it, unit)).collect();
            let last = self.last_of(&writers);
            let mut record = self.initial[unit.index()].clone();
            for (writer, is_last) in last.iter().enumerate() {
                if let Some(write) = self.nodes[writer].summary.writes.get(&unit) {
                    record = Record::choose(*is_last, &write.value, &record, &mut self.circuit);
                }
            }
            last_state.push(record);
        }
        for (idx, claim) in self.program.invariants().iter().enumerate() {
            let (holds, failures) = self.judge(claim, &last_state);
            self.suspects.push((Suspect::Invariant(idx), !holds));
            self.suspects.extend(failures);
        }
    }

    /// An execution in which something is wrong, under these axioms, with these nodes seeing all before them.
    pub(crate) fn find(
        &mut self,
        axioms: &[Axiom],
        total: &[usize],
        limits: Limits,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<(Model, Vec<UnitValue>)>, Stopped> {
        let is_outside = |it: &Suspect| limits == Limits::Assumed && it.is_beyond_limits();
        let (outside, wrong): (Vec<(Suspect, Wire)>, Vec<_>) =
            self.suspects.iter().copied().partition(|it| is_outside(&it.0));
        let any = self.circuit.or(wrong.into_iter().map(|it| it.1).collect::<Vec<_>>());
        let mut assumed: Vec<Wire> = axioms.iter().map(|it| self.axioms[it]).collect();
        assumed.extend(total.iter().map(|it| self.total[*it]));
        assumed.extend(outside.into_iter().map(|it| !it.1));
        assumed.push(any);
        if self.shapes().has_sums() {
            let outline = self.outline.get_or_insert_with(|| Formula::new(&self.circuit, &[&self.laws]));
            match outline.solve(&self.circuit, &assumed, stop) {
                SatResult::Unsatisfiable => return Ok(None),
                SatResult::Stopped => return Err(Stopped),
                SatResult::Satisfiable => {}
            }
        }
        let full = self.full.get_or_insert_with(|| Formula::new(&self.circuit, &[&self.laws, &self.bit_laws]));
        match full.solve(&self.circuit, &assumed, stop) {
            SatResult::Unsatisfiable => Ok(None),
            SatResult::Stopped => Err(Stopped),
            SatResult::Satisfiable => {
                let values = full.values(&self.circuit);
                let units = (0..self.initial.len()).map(UnitId::from_index);
                let initial = units.map(|it| self.shapes().value(it, &self.initial[it.index()], &values)).collect();
                Ok(Some((self.model(&values), initial)))
            }
        }
    }

    fn model(&self, values: &Values) -> Model {
        let n = self.nodes.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|it| (0..n).filter(|other| values.of(self.order[*other][*it])).count());
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
        Model {
            suspects: self.suspects.iter().filter(|it| values.of(it.1)).map(|it| it.0).collect(),
            symbols: self.symbols.iter().map(|it| it.value(values)).collect(),
            sees: pairs.filter(|it| values.of(self.sees[it.0][it.1])).collect(),
            deeds: (0..n).map(|it| self.deed(it, &order, values)).collect(),
            order,
        }
    }

    fn deed(&self, node: usize, order: &[usize], values: &Values) -> Deed {
        let of = &self.nodes[node];
        let mut reads = Vec::new();
        for ((unit, read), input) in &of.inputs {
            let value = self.shapes().value(*unit, &input.record, values);
            let source = if input.sources.is_empty() {
                self.last_seen(node, *unit, order, values)
            } else {
                input.sources.iter().position(|it| values.of(*it))
            };
            // One input may serve several reads.
            let own = self.program.instances().get(node).map_or(&[][..], |it| &it.reads[..]);
            let places =
                own.iter().enumerate().filter(|it| it.1.unit == *unit && read.is_none_or(|r| r.index() == it.0));
            if of.session.is_none() {
                reads.push((None, *unit, value.clone(), source));
            }
            for (place, _) in places.filter(|it| values.of(of.summary.asks[it.0])) {
                reads.push((Some(ReadId::from_index(place)), *unit, value.clone(), source));
            }
        }
        let rank = |unit: UnitId| match (self.observed_orders.get(&node), of.inputs.get(&(unit, None))) {
            (Some(order), _) => order.iter().filter(|it| values.of(it[unit.index()])).count(),
            (None, Some(input)) if !input.cut.is_empty() => input.cut.iter().filter(|it| values.of(**it)).count(),
            _ => unit.index(),
        };
        reads.sort_by_key(|it| (it.0, rank(it.1)));
        let happened = of.summary.writes.iter().filter(|it| values.of(it.1.happens));
        let writes = happened.map(|it| (*it.0, self.shapes().value(*it.0, &it.1.value, values))).collect();
        Deed { commits: values.of(of.summary.commits), reads, writes }
    }

    fn last_seen(&self, reader: usize, unit: UnitId, order: &[usize], values: &Values) -> Option<usize> {
        let is_seen = |it: &&usize| values.of(self.sees[**it][reader]) && values.of(self.writes(**it, unit));
        order.iter().rev().find(is_seen).copied()
    }

    pub(crate) fn effort(&self) -> Effort {
        let mut effort = Effort::default();
        for formula in self.outline.iter().chain(&self.full) {
            let statistics = formula.statistics();
            effort.variables += statistics.n_variables;
            effort.clauses += statistics.n_clauses;
            effort.conflicts += statistics.n_conflicts;
        }
        effort
    }
}

/// The limit was reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped;

fn triples(n: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let pairs = (0..n).flat_map(move |a| (0..n).map(move |b| (a, b)));
    let all = pairs.flat_map(move |(a, b)| (0..n).map(move |c| (a, b, c)));
    all.filter(|it| it.0 != it.1 && it.1 != it.2 && it.0 != it.2)
}
