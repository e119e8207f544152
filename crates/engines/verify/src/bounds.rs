//! What the integers of each unit can be at most: their range, and the open values that they may be sums of.
//!
//! Conditions are left aside: whatever is written may be written. What a transaction finds in a unit came about by a
//! chain of other transactions, each of them once. So the bounds for some transactions are those of the initial state
//! and, for each of them, of what it writes within the bounds for the others. Only transactions whose writes flow into
//! the unit count; if there are many, a number of steps takes the place of the set.

mod extent;

use crate::record::Shapes;
use crate::term::Number;
use extent::Extent;
use iso_program::{Arith, Expr, Instance, LocalId, Program, ReadId, Stmt, Type, UnitId, UnitPart, Value};
use iso_solve::{Circuit, Linear};
use std::collections::{BTreeMap, BTreeSet};

/// Sets of more transactions than this are not distinguished.
const MAX_SET: usize = 5;

/// Bounds of all units, found when they are asked for; nothing if the program has no open integers.
#[derive(Clone, Debug)]
pub(crate) struct Bounds<'p> {
    shapes: Shapes<'p>,
    /// By unit: which instances write it, or what flows into it?
    relevant: Vec<BTreeSet<usize>>,
    known: BTreeMap<(UnitId, Others), Vec<Option<Extent>>>,
}

/// Who may have written what is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Others {
    These(BTreeSet<usize>),
    /// So many, one after the other.
    Any(usize),
}

/// What an instance writes, as far as values go.
struct Flow<'a, 'p> {
    bounds: &'a mut Bounds<'p>,
    instance: &'p Instance,
    others: Others,
    /// The statements without their conditions.
    body: Vec<&'p Stmt>,
    locals: BTreeMap<LocalId, Option<Extent>>,
    reads: BTreeMap<ReadId, Vec<Option<Extent>>>,
    /// The units of the outside that were asked for.
    asked: BTreeSet<UnitId>,
}

impl<'p> Bounds<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let mut bounds = Self { shapes: Shapes { program }, relevant: Vec::new(), known: BTreeMap::new() };
        if bounds.shapes.has_sums() {
            bounds.find_relevant();
        }
        bounds
    }

    /// Any values for the fields of a unit as someone finds them; nothing for what is no integer.
    pub(crate) fn any(&mut self, unit: UnitId, reader: Option<usize>, circuit: &mut Circuit) -> Vec<Option<Number>> {
        if !self.shapes.has_sums() {
            return vec![None; self.shapes.program.unit(unit).fields.len()];
        }
        let others = (0..self.shapes.program.instances().len()).filter(|it| Some(*it) != reader);
        let extents = self.fields(unit, &Others::These(others.collect()));
        let number = |it: Extent, circuit: &mut Circuit| Number {
            low: it.range.0,
            high: it.range.1,
            sum: Linear::input(circuit, &it.shape),
        };
        extents.into_iter().map(|it| it.map(|it| number(it, circuit))).collect()
    }

    fn width(&self) -> usize {
        self.shapes.program.width() as usize
    }

    /// The first look at what flows where is with nobody else around.
    fn find_relevant(&mut self) {
        let program = self.shapes.program;
        let n_units = program.units().len();
        self.relevant = vec![BTreeSet::new(); n_units];
        let mut flows: Vec<(UnitId, usize, BTreeSet<UnitId>)> = Vec::new();
        for unit in (0..n_units).map(UnitId::from_index) {
            for writer in 0..program.instances().len() {
                let mut flow = Flow::new(self, writer, Others::These(BTreeSet::new()));
                if flow.written(unit).is_some() {
                    flows.push((unit, writer, flow.asked));
                }
            }
        }
        self.known.clear();
        loop {
            let before = self.relevant.clone();
            for (unit, writer, asked) in &flows {
                let from: BTreeSet<usize> = asked.iter().flat_map(|it| before[it.index()].clone()).collect();
                self.relevant[unit.index()].extend(from);
                self.relevant[unit.index()].insert(*writer);
            }
            if self.relevant == before {
                break;
            }
        }
    }

    fn fields(&mut self, unit: UnitId, others: &Others) -> Vec<Option<Extent>> {
        let others = others.among(&self.relevant[unit.index()]);
        let key = (unit, others);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let mut fields = self.initial(unit);
        for writer in 0..self.shapes.program.instances().len() {
            if let Some(left) = key.1.without(writer)
                && let Some(written) = Flow::new(self, writer, left).written(unit)
            {
                fields = hull(&fields, &written, self.width());
            }
        }
        self.known.insert(key, fields.clone());
        fields
    }

    fn initial(&mut self, unit: UnitId) -> Vec<Option<Extent>> {
        let program = self.shapes.program;
        let initial = &program.initial()[unit.index()];
        let fields: Vec<_> = initial.fields.iter().map(|it| extent(program, it, &mut |_| None)).collect();
        match initial.exists {
            Expr::Const(Value::Bool(true)) => fields,
            _ => hull(&fields, &self.missing(unit), self.width()),
        }
    }

    fn missing(&self, unit: UnitId) -> Vec<Option<Extent>> {
        let fields = self.shapes.program.unit(unit).fields.iter();
        fields.map(|it| (it.ty == Type::Int).then(|| Extent::constant(0))).collect()
    }
}

impl Others {
    /// Those of them that count.
    fn among(&self, relevant: &BTreeSet<usize>) -> Self {
        match self {
            Self::These(all) => {
                let these: BTreeSet<usize> = all.intersection(relevant).copied().collect();
                if these.len() > MAX_SET { Self::Any(these.len()) } else { Self::These(these) }
            }
            Self::Any(n_steps) => Self::Any(*n_steps),
        }
    }

    /// Who is left before that one, if it is among them.
    fn without(&self, writer: usize) -> Option<Self> {
        match self {
            Self::These(all) => all.contains(&writer).then(|| {
                let others = all.iter().copied().filter(|it| *it != writer);
                Self::These(others.collect())
            }),
            Self::Any(n_steps) => n_steps.checked_sub(1).map(Self::Any),
        }
    }
}

impl<'a, 'p> Flow<'a, 'p> {
    fn new(bounds: &'a mut Bounds<'p>, writer: usize, others: Others) -> Self {
        let instance = &bounds.shapes.program.instances()[writer];
        let mut body = Vec::new();
        flatten(&instance.body, &mut body);
        let (locals, reads, asked) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { bounds, instance, others, body, locals, reads, asked }
    }

    /// All that it may write to a unit; nothing if it does not.
    fn written(&mut self, unit: UnitId) -> Option<Vec<Option<Extent>>> {
        self.written_before(unit, self.body.len())
    }

    fn written_before(&mut self, unit: UnitId, place: usize) -> Option<Vec<Option<Extent>>> {
        let mut all: Option<Vec<Option<Extent>>> = None;
        for idx in 0..place {
            let Stmt::Write { unit: written, row, .. } = self.body[idx] else { continue };
            if *written != unit {
                continue;
            }
            let fields = match row {
                Some(fields) => fields.iter().map(|it| self.extent(it)).collect(),
                None => self.bounds.missing(unit),
            };
            all = Some(all.map_or_else(|| fields.clone(), |it| hull(&it, &fields, self.bounds.width())));
        }
        all
    }

    fn extent(&mut self, expr: &'p Expr) -> Option<Extent> {
        let program = self.bounds.shapes.program;
        extent(program, expr, &mut |leaf| match leaf {
            Expr::Local(local) => self.local(*local),
            Expr::Read(read, UnitPart::Field(field)) => self.read(*read)[*field].clone(),
            _ => None,
        })
    }

    fn local(&mut self, local: LocalId) -> Option<Extent> {
        if let Some(known) = self.locals.get(&local) {
            return known.clone();
        }
        let value = self.body.iter().find_map(|it| match it {
            Stmt::Let { local: bound, value } if *bound == local => Some(value),
            _ => None,
        });
        let found = value.and_then(|it| self.extent(it));
        self.locals.insert(local, found.clone());
        found
    }

    /// What it wrote before, or what the others left.
    fn read(&mut self, read: ReadId) -> Vec<Option<Extent>> {
        if let Some(known) = self.reads.get(&read) {
            return known.clone();
        }
        let unit = self.instance.read(read).unit;
        self.asked.insert(unit);
        let mut found = self.bounds.fields(unit, &self.others);
        let place = self.body.iter().position(|it| matches!(it, Stmt::Read(it) if *it == read));
        if let Some(own) = place.and_then(|it| self.written_before(unit, it)) {
            found = hull(&found, &own, self.bounds.width());
        }
        self.reads.insert(read, found.clone());
        found
    }
}

/// All statements in a row, whatever they depend on.
fn flatten<'p>(body: &'p [Stmt], all: &mut Vec<&'p Stmt>) {
    for stmt in body {
        all.push(stmt);
        if let Stmt::If { then, otherwise, .. } = stmt {
            flatten(then, all);
            flatten(otherwise, all);
        }
    }
}

/// What an integer can be; nothing if it is something else. Names and reads are looked up.
fn extent<'p>(
    program: &Program,
    expr: &'p Expr,
    look_up: &mut dyn FnMut(&'p Expr) -> Option<Extent>,
) -> Option<Extent> {
    let width = program.width() as usize;
    match expr {
        Expr::Const(Value::Int(value)) => Some(Extent::constant(*value)),
        Expr::Symbol(symbol) => {
            let of = &program.symbols()[symbol.index()];
            (of.ty == Type::Int).then(|| Extent::open(symbol.index(), (of.low, of.high)))
        }
        Expr::Arith { op, left, right, .. } => {
            let (left, right) = (extent(program, left, look_up)?, extent(program, right, look_up)?);
            Some(match op {
                Arith::Add => left.add(&right, width),
                Arith::Sub => left.sub(&right, width),
                Arith::Mul => left.mul(&right, width),
            })
        }
        Expr::If(_, yes, no) => {
            let (yes, no) = (extent(program, yes, look_up)?, extent(program, no, look_up)?);
            Some(yes.hull(&no, width))
        }
        leaf => look_up(leaf),
    }
}

fn hull(left: &[Option<Extent>], right: &[Option<Extent>], width: usize) -> Vec<Option<Extent>> {
    let both = |(left, right): (&Option<Extent>, &Option<Extent>)| {
        left.as_ref().zip(right.as_ref()).map(|(left, right)| left.hull(right, width))
    };
    left.iter().zip(right).map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_program::parse;

    /// What a variable is between, for a reader, and how often the first open value may be in it.
    fn found(text: &str, unit: usize, reader: Option<usize>) -> ((i64, i64), Option<(i64, i64)>) {
        let program = parse(text, "bounds.txn").expect("a program of the test");
        let others = (0..program.instances().len()).filter(|it| Some(*it) != reader).collect();
        let fields = Bounds::new(&program).fields(UnitId::from_index(unit), &Others::These(others));
        let extent = fields[0].clone().expect("an integer");
        (extent.range, extent.shape.coefficients.get(&0).copied())
    }

    #[test]
    fn each_transaction_counts_once_and_none_for_itself() {
        let add = |n: usize| {
            let calls = vec!["add(any int in 0..10)"; n].join(" || ");
            format!("var x: int = 1\ntxn add(n: int) {{ x += n }}\nrun {calls}\ninvariant x >= 0")
        };
        assert_eq!(found(&add(2), 0, None), ((1, 21), Some((0, 1))));
        assert_eq!(found(&add(2), 0, Some(0)), ((1, 11), None));
        // Of many it is only known how many there are, so each may as well be all of them.
        assert_eq!(found(&add(9), 0, None), ((1, 91), Some((0, 3))));
    }

    #[test]
    fn only_what_flows_into_a_variable_counts() {
        let text = "width 8\nvar x: int = 0\nvar y: int = 5\n\
            txn a(n: int) { if y > 0 { x = 2 - 3 * n } }\ntxn b(n: int) { y = x\n y += 1 }\n\
            run a(any int in 0..10) || b(7)\ninvariant x < 9";
        assert_eq!(found(text, 0, None), ((-28, 2), Some((-3, 0))));
        assert_eq!(found(text, 1, None), ((-28, 6), Some((-3, 0))));
        assert_eq!(found(text, 1, Some(1)), ((5, 5), None));
        // Three times as much leaves the width if it is more than 15, and is no value then.
        let narrow = text.replace("width 8", "width 5");
        assert_eq!(found(&narrow, 0, None).0, (-13, 2));
    }
}
