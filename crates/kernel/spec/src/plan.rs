//! Plans a query: which variable to bind next, and which conjuncts to check as soon as they can be.

use crate::formula::Sort;
use crate::program::{Ir, Program, QueryStep, Term};

/// Orders the variables of a conjunction; every conjunct is then a source of candidates or a check.
///
/// `free` are the slots that are bound outside. Returns the steps, and the conjuncts that they refer to.
pub(crate) fn plan(
    program: &Program,
    bound: &[(Term, Sort)],
    free: u64,
    mut conjuncts: Vec<Ir>,
    inverse: &dyn Fn(usize) -> Option<usize>,
) -> (Vec<QueryStep>, Vec<Ir>) {
    conjuncts.sort_by_key(|it| program.cost(it));
    let mut planner = Planner { program, inverse, known: free, used: vec![false; conjuncts.len()], steps: Vec::new() };
    planner.check(&conjuncts);
    let mut waiting: Vec<(Term, Sort)> = bound.to_vec();
    while let Some(best) =
        (0..waiting.len()).max_by_key(|it| (planner.worth(waiting[*it].0, &conjuncts), usize::MAX - it))
    {
        let (term, sort) = waiting.remove(best);
        planner.bind(term, sort, &conjuncts);
        planner.check(&conjuncts);
    }
    (planner.steps, conjuncts)
}

struct Planner<'p> {
    program: &'p Program,
    inverse: &'p dyn Fn(usize) -> Option<usize>,
    known: u64,
    used: Vec<bool>,
    steps: Vec<QueryStep>,
}

impl Planner<'_> {
    fn is_known(&self, term: Term) -> bool {
        term.slots() & !self.known == 0
    }

    /// The row that holds the candidates of `term` by this conjunct, if all else in it is known.
    fn candidates(&self, term: Term, conjunct: &Ir) -> Option<(usize, Term)> {
        let Ir::Atom { node, row, col, negated: false } = conjunct else { return None };
        let is_known_node = self.program.nodes[*node].free & !self.known == 0;
        if *col == term && *row != term && self.is_known(*row) && is_known_node {
            return Some((*node, *row));
        }
        if *row == term && *col != term && self.is_known(*col) && self.program.nodes[*node].free == 0 {
            return (self.inverse)(*node).map(|it| (it, *col));
        }
        None
    }

    /// How much is gained by binding this variable next.
    fn worth(&self, term: Term, conjuncts: &[Ir]) -> u32 {
        let mut worth = 0;
        for (conjunct, used) in conjuncts.iter().zip(&self.used) {
            let mentions = self.program.free(conjunct) & term.slots() != 0;
            let Ir::Atom { node, negated, .. } = conjunct else { continue };
            if *used || !mentions || *negated {
                continue;
            }
            let constant = u32::from(!self.program.nodes[*node].moving);
            if self.candidates(term, conjunct).is_some() {
                worth += 8 + 8 * constant;
            } else {
                worth += 1 + constant + 2 * u32::from(self.program.nodes[*node].free & term.slots() != 0);
            }
        }
        worth
    }

    fn bind(&mut self, term: Term, sort: Sort, conjuncts: &[Ir]) {
        let Term::Slot(slot) = term else { unreachable!("only slots are bound") };
        let mut rows = Vec::new();
        for (idx, conjunct) in conjuncts.iter().enumerate() {
            if self.used[idx] {
                continue;
            }
            if let Some(row) = self.candidates(term, conjunct) {
                rows.push(row);
                self.used[idx] = true;
            }
        }
        self.steps.push(QueryStep::Bind { slot, sort, rows });
        self.known |= term.slots();
    }

    fn check(&mut self, conjuncts: &[Ir]) {
        for (idx, conjunct) in conjuncts.iter().enumerate() {
            if !self.used[idx] && self.program.free(conjunct) & !self.known == 0 {
                self.used[idx] = true;
                self.steps.push(QueryStep::Check(idx));
            }
        }
    }
}
