//! Is everything true of a given execution that a level asks for? For histories of any size.
//!
//! Relations are tables that are computed once, quantifiers are joins (`join`): each variable takes the values that the
//! smallest relation leaves it. Nothing is searched for; the witness is part of the execution.
//! Cost: that of the largest join, and of unions of rows for compositions and closures of dense relations.

use crate::closure::closure;
use crate::execution::Execution;
use crate::formula::{Given, Sort, WitnessKind};
use crate::join::Join;
use crate::program::{Ir, MAX_SLOTS, NodeOp, Program, Property, Term};
use crate::row::{Row, Table};
use crate::scene::{KeyTable, Scene};
use crate::spec::Spec;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Somebody wanted the evaluation to end.
#[derive(Debug)]
pub(crate) struct Stopped;

pub(crate) type Outcome<T> = Result<T, Stopped>;

/// After so much work, whoever may stop it is asked.
const WORK_BETWEEN_QUESTIONS: u64 = 1 << 22;

/// The relations of a level on one execution.
pub(crate) struct Model<'p, 's> {
    pub(crate) program: &'p Program,
    scene: &'s Scene<'s, 's>,
    witnesses: Vec<Value>,
    tables: Vec<Option<Rc<Table>>>,
    inverses: FxHashMap<usize, Rc<Table>>,
    /// Tables of relations with free variables, each for the last values that it was asked for.
    latest: FxHashMap<usize, (Vec<u32>, Rc<Table>)>,
    givens: FxHashMap<(Given, bool), Rc<Table>>,
    families: FxHashMap<Given, Rc<Vec<KeyTable>>>,
    pub(crate) joins: FxHashMap<usize, Rc<Join>>,
    pub(crate) slots: [u32; MAX_SLOTS],
    work: u64,
    stop: &'s mut dyn FnMut() -> bool,
}

enum Value {
    Relation(Rc<Table>),
    Versions(Rc<Vec<KeyTable>>),
}

/// Is the witness of an execution legal, and is everything true that must be?
pub(crate) fn is_true(
    spec: &Spec,
    scene: &Scene<'_, '_>,
    execution: &Execution,
    stop: &mut dyn FnMut() -> bool,
) -> Outcome<bool> {
    let mut witnesses = Vec::new();
    for witness in spec.witnesses() {
        let value = match witness.kind {
            WitnessKind::Versions => scene.versions(execution, witness).map(|it| Value::Versions(Rc::new(it))),
            _ => scene.relation(execution, witness).map(|it| Value::Relation(Rc::new(it))),
        };
        let Some(value) = value else { return Ok(false) };
        witnesses.push(value);
    }
    let program = &*spec.program;
    let mut model = Model {
        program,
        scene,
        witnesses,
        tables: vec![None; program.nodes.len()],
        inverses: FxHashMap::default(),
        latest: FxHashMap::default(),
        givens: FxHashMap::default(),
        families: FxHashMap::default(),
        joins: FxHashMap::default(),
        slots: [0; MAX_SLOTS],
        work: 0,
        stop,
    };
    for conjunct in &program.conjuncts {
        if !model.truth(conjunct)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl<'p> Model<'p, '_> {
    pub(crate) fn truth(&mut self, ir: &'p Ir) -> Outcome<bool> {
        Ok(match ir {
            Ir::Truth(truth) => *truth,
            Ir::Equal { left, right, negated } => (self.place(*left) == self.place(*right)) != *negated,
            Ir::Atom { node, row, col, negated } => self.relates(*node, *row, *col)? != *negated,
            Ir::And(parts) => self.all(parts, true)?,
            Ir::Or(parts) => !self.all(parts, false)?,
            Ir::Exists { query, negated } => self.exists(*query)? != *negated,
            Ir::Within { left, right, negated } => self.table(*left)?.is_within(&*self.table(*right)?) != *negated,
            Ir::Property { property, node, negated } => has(*property, &*self.table(*node)?) != *negated,
        })
    }

    /// Have all parts this truth value?
    fn all(&mut self, parts: &'p [Ir], wanted: bool) -> Outcome<bool> {
        for part in parts {
            if self.truth(part)? != wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn relates(&mut self, node: usize, row: Term, col: Term) -> Outcome<bool> {
        let (row, col) = (self.place(row), self.place(col));
        if let NodeOp::At(given, key) = self.program.nodes[node].op {
            let key = self.place(key) as usize;
            return Ok(self.family(given)[key].row(row).contains(col));
        }
        Ok(self.table(node)?.has(row, col))
    }

    /// The value of a term.
    pub(crate) fn place(&self, term: Term) -> u32 {
        match term {
            Term::Slot(slot) => self.slots[usize::from(slot)],
            Term::Initial | Term::TheRow => 0,
        }
    }

    pub(crate) fn size(&self, sort: Sort) -> usize {
        self.scene.size(sort)
    }

    /// Counts work, and asks now and then whether to go on.
    pub(crate) fn spend(&mut self, work: usize) -> Outcome<()> {
        self.work += work as u64 + 1;
        if self.work > WORK_BETWEEN_QUESTIONS {
            self.work = 0;
            if (self.stop)() {
                return Err(Stopped);
            }
        }
        Ok(())
    }

    /// The parts of a relation by key.
    pub(crate) fn family(&mut self, given: Given) -> Rc<Vec<KeyTable>> {
        match given {
            Given::Witness(idx) => match &self.witnesses[idx] {
                Value::Versions(parts) => Rc::clone(parts),
                Value::Relation(_) => unreachable!("only versions have parts by key"),
            },
            _ => Rc::clone(self.families.entry(given).or_insert_with(|| Rc::new(self.scene.at(given)))),
        }
    }

    /// A relation, for the values that its free variables have now.
    pub(crate) fn table(&mut self, node: usize) -> Outcome<Rc<Table>> {
        let free = self.program.nodes[node].free;
        if free == 0 {
            if let Some(table) = &self.tables[node] {
                return Ok(Rc::clone(table));
            }
            let table = self.compute(node)?;
            self.tables[node] = Some(Rc::clone(&table));
            return Ok(table);
        }
        let values: Vec<u32> = (0..MAX_SLOTS).filter(|it| free >> it & 1 == 1).map(|it| self.slots[it]).collect();
        match self.latest.get(&node) {
            Some((known, table)) if *known == values => Ok(Rc::clone(table)),
            _ => {
                let table = self.compute(node)?;
                self.latest.insert(node, (values, Rc::clone(&table)));
                Ok(table)
            }
        }
    }

    /// A relation of the history, or its inverse, whether the level speaks of it or not.
    pub(crate) fn given(&mut self, given: Given, is_inverse: bool) -> Rc<Table> {
        let make = || {
            let table = self.scene.given(given);
            Rc::new(if is_inverse { table.inverse() } else { table })
        };
        Rc::clone(self.givens.entry((given, is_inverse)).or_insert_with(make))
    }

    /// A relation without free variables, backwards.
    pub(crate) fn inverse(&mut self, node: usize) -> Outcome<Rc<Table>> {
        if let Some(table) = self.inverses.get(&node) {
            return Ok(Rc::clone(table));
        }
        let table = Rc::new(self.table(node)?.inverse());
        self.inverses.insert(node, Rc::clone(&table));
        Ok(table)
    }

    fn compute(&mut self, node: usize) -> Outcome<Rc<Table>> {
        let (op, n_cols) = (self.program.nodes[node].op, self.size(self.program.nodes[node].cols));
        let n_rows = self.program.nodes[node].rows.map_or(1, |it| self.size(it));
        let table = match op {
            NodeOp::Given(given) => self.scene.given(given),
            NodeOp::Witness(idx) => match &self.witnesses[idx] {
                Value::Relation(table) => return Ok(Rc::clone(table)),
                Value::Versions(parts) => self.scene.union_of_keys(parts),
            },
            NodeOp::AllVersions(idx) => self.scene.union_of_keys(&self.family(Given::Witness(idx))),
            NodeOp::At(given, key) => {
                let key = self.place(key) as usize;
                self.scene.union_of_keys(&self.family(given)[key..=key])
            }
            NodeOp::InitialSet => Table { rows: vec![Row::List(vec![0])], n_cols },
            NodeOp::Union(left, right) => self.table(left)?.union(&*self.table(right)?),
            NodeOp::Intersection(left, right) => self.table(left)?.intersection(&*self.table(right)?),
            NodeOp::Difference(left, right) => self.table(left)?.difference(&*self.table(right)?),
            NodeOp::Composition(left, right) => self.table(left)?.composition(&*self.table(right)?),
            NodeOp::Inverse(of) => self.table(of)?.inverse(),
            NodeOp::Closure(of) => closure(&*self.table(of)?),
            NodeOp::Reflexive(of) => self.table(of)?.reflexive(),
            NodeOp::On(set) => {
                let mut pairs = Vec::new();
                self.table(set)?.rows[0].each(|it| pairs.push((it, it)));
                Table::of_pairs(n_rows, n_cols, pairs)
            }
            NodeOp::Such(query) => Table::of_pairs(n_rows, n_cols, self.collect(query)?),
        };
        self.spend(table.n_pairs() / 8)?;
        Ok(Rc::new(table))
    }
}

fn has(property: Property, table: &Table) -> bool {
    let elements = || (0..table.rows.len() as u32).zip(&table.rows);
    match property {
        Property::Irreflexive => elements().all(|(idx, row)| !row.contains(idx)),
        Property::Empty => table.rows.iter().all(|it| it.len() == 0),
        Property::Total => elements().all(|(a, row)| (0..a).all(|b| row.contains(b) || table.has(b, a))),
    }
}
