//! Finds the values of quantified variables, one variable after the other.
//!
//! The next variable is the one to which the relations leave the fewest values, by their average rows. Its values are
//! those of the smallest row, as far as all other rows have them; everything else is checked as soon as it can be.

use crate::formula::{Given, Sort};
use crate::model::{Model, Outcome};
use crate::program::{Ir, NodeOp, QueryStep, Term};
use crate::row::{Row, Table};
use crate::scene::KeyTable;
use std::rc::Rc;

/// How to find the values of a query's variables.
pub(crate) struct Join {
    /// Conjuncts without any of the variables.
    first: Vec<usize>,
    steps: Vec<Step>,
}

struct Step {
    slot: u8,
    sort: Sort,
    /// The values are in all of these rows, and in none of those.
    within: Vec<Source>,
    without: Vec<Source>,
    checks: Vec<usize>,
}

/// A row of values, found by what is known.
#[derive(Clone)]
enum Source {
    Row(Rc<Table>, Term),
    /// A row or column of the part of a relation that concerns a key.
    AtRow(Rc<Vec<KeyTable>>, Term, Term),
    AtCol(Rc<Vec<KeyTable>>, Term, Term),
    /// A row of a relation with free variables.
    Free(usize, Term),
    Same(Term),
}

/// The rows for one variable, and the conjuncts that they say all of.
#[derive(Default)]
struct Sources {
    rows: Vec<Source>,
    told: Vec<usize>,
}

impl Sources {
    fn push(&mut self, conjunct: usize, row: Source) {
        self.told.push(conjunct);
        self.rows.push(row);
    }
}

impl Model<'_, '_> {
    /// Are there values of the variables for which all conjuncts are true?
    pub(crate) fn exists(&mut self, query: usize) -> Outcome<bool> {
        let join = self.join(query)?;
        self.run(query, &join, &mut |_| true)
    }

    /// All pairs that the query collects.
    pub(crate) fn collect(&mut self, query: usize) -> Outcome<Vec<(u32, u32)>> {
        let join = self.join(query)?;
        let (row, col) = self.program.queries[query].out.expect("the query collects");
        let mut pairs = Vec::new();
        // Its variables may have the slots of others that whoever asks for the relation has given values.
        let slots = self.slots;
        self.run(query, &join, &mut |model| {
            pairs.push((model.place(row), model.place(col)));
            false
        })?;
        self.slots = slots;
        Ok(pairs)
    }

    /// Goes through all values until `found` says that it is enough.
    fn run(&mut self, query: usize, join: &Join, found: &mut dyn FnMut(&Self) -> bool) -> Outcome<bool> {
        Ok(self.are_true(query, &join.first)? && self.bind(query, &join.steps, found)?)
    }

    fn bind(&mut self, query: usize, steps: &[Step], found: &mut dyn FnMut(&Self) -> bool) -> Outcome<bool> {
        let Some((step, rest)) = steps.split_first() else { return Ok(found(self)) };
        let values = self.values(step)?;
        self.spend(values.len())?;
        for value in values {
            self.slots[usize::from(step.slot)] = value;
            if self.are_true(query, &step.checks)? && self.bind(query, rest, found)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn are_true(&mut self, query: usize, conjuncts: &[usize]) -> Outcome<bool> {
        let program = self.program;
        for conjunct in conjuncts {
            if !self.truth(&program.queries[query].conjuncts[*conjunct])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn values(&mut self, step: &Step) -> Outcome<Vec<u32>> {
        let (within, without) = (self.rows(&step.within)?, self.rows(&step.without)?);
        let within: Vec<&Row> = within.iter().map(Found::row).collect();
        let without: Vec<&Row> = without.iter().map(Found::row).collect();
        let Some(smallest) = (0..within.len()).min_by_key(|it| within[*it].len()) else {
            let all = 0..self.size(step.sort) as u32;
            return Ok(all.filter(|it| !without.iter().any(|row| row.contains(*it))).collect());
        };
        let others: Vec<&Row> = within.iter().enumerate().filter(|it| it.0 != smallest).map(|it| *it.1).collect();
        Ok(within[smallest].among(&others, &without))
    }

    fn rows<'s>(&mut self, sources: &'s [Source]) -> Outcome<Vec<Found<'s>>> {
        let mut found = Vec::with_capacity(sources.len());
        for source in sources {
            found.push(match source {
                Source::Row(table, row) => Found::Row(&table.rows[self.place(*row) as usize]),
                Source::AtRow(parts, key, row) => Found::Row(parts[self.place(*key) as usize].row(self.place(*row))),
                Source::AtCol(parts, key, col) => Found::Row(parts[self.place(*key) as usize].col(self.place(*col))),
                Source::Free(node, row) => Found::Table(self.table(*node)?, self.place(*row) as usize),
                Source::Same(term) => Found::Own(Row::List(vec![self.place(*term)])),
            });
        }
        Ok(found)
    }

    fn join(&mut self, query: usize) -> Outcome<Rc<Join>> {
        if let Some(join) = self.joins.get(&query) {
            return Ok(Rc::clone(join));
        }
        let join = Rc::new(self.plan(query)?);
        self.joins.insert(query, Rc::clone(&join));
        Ok(join)
    }

    fn plan(&mut self, query: usize) -> Outcome<Join> {
        let program = self.program;
        let found = &program.queries[query];
        let mut known = !found.bound;
        let mut waiting: Vec<(u8, Sort)> = found.steps.iter().filter_map(variable).collect();
        let mut used = vec![false; found.conjuncts.len()];
        let first = self.checks(query, known, &mut used);
        let mut steps = Vec::new();
        while !waiting.is_empty() {
            let mut best: Option<(usize, usize, Sources)> = None;
            for (idx, (slot, sort)) in waiting.iter().enumerate() {
                let sources = self.sources(query, *slot, known, false)?;
                let estimates = sources.rows.iter().map(|it| self.estimate(it));
                let n_values = estimates.fold(average(self.size(*sort), 1), usize::min);
                if best.as_ref().is_none_or(|it| n_values < it.0) {
                    best = Some((n_values, idx, sources));
                }
            }
            let Some((_, idx, within)) = best else { break };
            let (slot, sort) = waiting.remove(idx);
            let without = self.sources(query, slot, known, true)?;
            known |= 1 << slot;
            within.told.iter().chain(&without.told).for_each(|it| used[*it] = true);
            let (within, without) = (within.rows, without.rows);
            steps.push(Step { slot, sort, within, without, checks: self.checks(query, known, &mut used) });
        }
        Ok(Join { first, steps })
    }

    /// The conjuncts that can be checked now, and could not before.
    fn checks(&self, query: usize, known: u64, used: &mut [bool]) -> Vec<usize> {
        let mut ready = Vec::new();
        for (idx, conjunct) in self.program.queries[query].conjuncts.iter().enumerate() {
            if !used[idx] && self.program.free(conjunct) & !known == 0 {
                used[idx] = true;
                ready.push(idx);
            }
        }
        ready
    }

    /// The rows that hold the values of a variable, or those that are ruled out.
    fn sources(&mut self, query: usize, slot: u8, known: u64, negated: bool) -> Outcome<Sources> {
        let program = self.program;
        let mut sources = Sources::default();
        for (idx, conjunct) in program.queries[query].conjuncts.iter().enumerate() {
            match conjunct {
                Ir::Equal { left, right, negated: is_negated } if *is_negated == negated => {
                    for (own, other) in [(*left, *right), (*right, *left)] {
                        if own == Term::Slot(slot) && other != own && other.slots() & !known == 0 {
                            sources.push(idx, Source::Same(other));
                        }
                    }
                }
                Ir::Atom { node, row, col, negated: is_negated } if *is_negated == negated => {
                    if let Some(source) = self.source_of_atom((*node, *row, *col), slot, known)? {
                        sources.push(idx, source);
                    } else if !negated {
                        self.implied_sources((*node, *row, *col), slot, known, &mut sources.rows);
                    }
                }
                _ => {}
            }
        }
        Ok(sources)
    }

    /// The row that says for which values of a variable an atom is true, if all else in it is known.
    fn source_of_atom(
        &mut self,
        (node, row, col): (usize, Term, Term),
        slot: u8,
        known: u64,
    ) -> Outcome<Option<Source>> {
        let own = Term::Slot(slot);
        let is_known = |term: Term| term.slots() & !known == 0;
        let (finds_col, finds_row) = (col == own && is_known(row), row == own && is_known(col));
        let free = self.program.nodes[node].free;
        Ok(match self.program.nodes[node].op {
            NodeOp::At(given, key) if is_known(key) && finds_col => Some(Source::AtRow(self.family(given), key, row)),
            NodeOp::At(given, key) if is_known(key) && finds_row => Some(Source::AtCol(self.family(given), key, col)),
            NodeOp::At(..) => None,
            _ if finds_col && free == 0 => Some(Source::Row(self.table(node)?, row)),
            _ if finds_row && free == 0 => Some(Source::Row(self.inverse(node)?, col)),
            _ if finds_col && free & !known == 0 => Some(Source::Free(node, row)),
            _ => None,
        })
    }

    /// Whoever is related by a part that concerns a key writes it, or reads it.
    fn implied_sources(
        &mut self,
        (node, row, col): (usize, Term, Term),
        slot: u8,
        known: u64,
        sources: &mut Vec<Source>,
    ) {
        let NodeOp::At(given, key) = self.program.nodes[node].op else { return };
        let right = if given == Given::WriteRead { Given::Reads } else { Given::Writes };
        for (txn, given) in [(row, Given::Writes), (col, right)] {
            let is_known = |term: Term| term.slots() & !known == 0;
            if txn == Term::Slot(slot) && is_known(key) {
                sources.push(Source::Row(self.given(given, true), key));
            } else if key == Term::Slot(slot) && is_known(txn) {
                sources.push(Source::Row(self.given(given, false), txn));
            }
        }
    }

    /// How many values such a row has, on average.
    fn estimate(&self, source: &Source) -> usize {
        let of_parts = |parts: &[KeyTable], rows: fn(&KeyTable) -> &[(u32, Row)]| {
            let n_pairs = parts.iter().flat_map(rows).map(|it| it.1.len()).sum();
            average(n_pairs, parts.iter().map(|it| rows(it).len()).sum())
        };
        match source {
            Source::Row(table, _) => average(table.n_pairs(), table.rows.len()),
            Source::AtRow(parts, ..) => of_parts(parts, |it| &it.rows),
            Source::AtCol(parts, ..) => of_parts(parts, |it| &it.cols),
            Source::Free(node, _) => average(self.size(self.program.nodes[*node].cols), 2),
            Source::Same(_) => average(1, 1),
        }
    }
}

/// An average that is comparable with others.
fn average(n_all: usize, n_rows: usize) -> usize {
    n_all * 16 / n_rows.max(1)
}

/// A row that belongs to a table, or to nobody.
enum Found<'s> {
    Row(&'s Row),
    Table(Rc<Table>, usize),
    Own(Row),
}

impl Found<'_> {
    fn row(&self) -> &Row {
        match self {
            Self::Row(row) => row,
            Self::Table(table, idx) => &table.rows[*idx],
            Self::Own(row) => row,
        }
    }
}

fn variable(step: &QueryStep) -> Option<(u8, Sort)> {
    match step {
        QueryStep::Bind { slot, sort, .. } => Some((*slot, *sort)),
        QueryStep::Check(_) => None,
    }
}
