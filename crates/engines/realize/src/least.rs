//! The least relation that contains what its rules say, and why a pair is in it.

use crate::join::Parts;
use crate::matrix::{Matrix, Rel};
use crate::view::{Outcome, View, unsupported};
use crate::why::Why;
use iso_form::Rule;
use iso_spec::{Elem, Formula, Variable};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// What rules force, before it is closed.
pub(crate) struct Forced {
    /// At once.
    direct: Rel,
    /// The steps that may stand before a pair, and after it, closed.
    before: Option<Steps>,
    after: Option<Steps>,
    /// All of these together.
    stepped: Rel,
}

struct Steps {
    single: Rel,
    closed: Rel,
}

impl Steps {
    fn new(single: Rel) -> Self {
        let closed = match &single {
            Rel::Bits(matrix) => Rel::Bits(matrix.closure()),
            Rel::Lists(..) => single.clone(),
        };
        Self { single, closed }
    }
}

impl View<'_> {
    pub(crate) fn least(&mut self, rules: &[Rule]) -> Outcome<Rc<Rel>> {
        let forced = self.forced(rules)?;
        let is_transitive = rules.iter().any(|it| matches!(it, Rule::Transitive));
        Ok(Rc::new(match &forced.stepped {
            Rel::Bits(matrix) if is_transitive => Rel::Bits(matrix.closure()),
            stepped => stepped.clone(),
        }))
    }

    fn forced(&mut self, rules: &[Rule]) -> Outcome<Rc<Forced>> {
        let address = rules.as_ptr() as usize;
        if let Some(forced) = self.forced.get(&address) {
            return Ok(Rc::clone(forced));
        }
        let direct = self.direct(rules)?;
        let (mut before, mut after) = (None, None);
        for rule in rules {
            match rule {
                Rule::Prefix => add(&mut before, &self.order),
                Rule::After(relation) => add(&mut before, &*self.table(relation)?),
                Rule::Before(relation) => add(&mut after, &*self.table(relation)?),
                _ => {}
            }
        }
        let (before, after) = (before.map(Steps::new), after.map(Steps::new));
        let mut stepped = direct.clone();
        if let Some(before) = &before {
            stepped = before.closed.compose(&stepped, true).combine(&stepped, |a, b| a | b);
        }
        if let Some(after) = &after {
            stepped = stepped.compose(&after.closed, true).combine(&stepped, |a, b| a | b);
        }
        let forced = Rc::new(Forced { direct, before, after, stepped });
        self.forced.insert(address, Rc::clone(&forced));
        Ok(forced)
    }

    fn direct(&mut self, rules: &[Rule]) -> Outcome<Rel> {
        let mut direct = Rel::Bits(Matrix::empty(self.ground.n_txns()));
        for rule in rules {
            let more = match rule {
                Rule::Contains(relation) => self.table(relation)?,
                Rule::Whenever(variables, premise, left, right) => {
                    let pairs = self.whenever(variables, premise, *left, *right)?;
                    Rc::new(Rel::of_pairs(Rel::Bits(Matrix::empty(self.ground.n_txns())), pairs))
                }
                Rule::Transitive | Rule::Prefix | Rule::After(_) | Rule::Before(_) => continue,
            };
            direct = direct.combine(&more, |a, b| a | b);
        }
        Ok(direct)
    }

    fn whenever(
        &mut self,
        variables: &[Variable],
        premise: &Arc<Formula>,
        left: Elem,
        right: Elem,
    ) -> Outcome<Vec<(u32, u32)>> {
        let plan = self.plan(variables, premise, true, Parts::All)?;
        let mut pairs = Vec::new();
        self.run(&plan, &mut |view| {
            pairs.push((view.value(left), view.value(right)));
            Ok(true)
        })?;
        Ok(pairs)
    }

    /// Why the least relation has this pair.
    pub(crate) fn why_least(&mut self, rules: &[Rule], a: u32, b: u32, why: &mut Why) -> Outcome<()> {
        let forced = self.forced(rules)?;
        let nothing = || unsupported("a pair that nothing forces");
        let is_transitive = rules.iter().any(|it| matches!(it, Rule::Transitive));
        let steps = if is_transitive { path(&forced.stepped, a, b).ok_or_else(nothing)? } else { vec![(a, b)] };
        for (from, to) in steps {
            let (first, last) = forced.middle(from, to).ok_or_else(nothing)?;
            self.why_forced(rules, first, last, why)?;
            if let Some(before) = forced.before.as_ref().filter(|_| first != from) {
                for step in path(&before.single, from, first).ok_or_else(nothing)? {
                    self.why_beside(rules, step, true, why)?;
                }
            }
            if let Some(after) = forced.after.as_ref().filter(|_| last != to) {
                for step in path(&after.single, last, to).ok_or_else(nothing)? {
                    self.why_beside(rules, step, false, why)?;
                }
            }
        }
        Ok(())
    }

    /// Why a step may stand before a pair, or after one.
    fn why_beside(&mut self, rules: &[Rule], (a, b): (u32, u32), is_before: bool, why: &mut Why) -> Outcome<()> {
        for rule in rules {
            match rule {
                Rule::After(relation) if is_before && self.relates(relation, a, b)? => {
                    return self.why_pair(relation, (a, b), true, why);
                }
                Rule::Before(relation) if !is_before && self.relates(relation, a, b)? => {
                    return self.why_pair(relation, (a, b), true, why);
                }
                _ => {}
            }
        }
        // It is one of the order.
        why.before(a, b);
        Ok(())
    }

    fn why_forced(&mut self, rules: &[Rule], a: u32, b: u32, why: &mut Why) -> Outcome<()> {
        let mut best: Option<Why> = None;
        for rule in rules {
            let mut own = Why::default();
            let is_it = match rule {
                Rule::Contains(relation) if self.relates(relation, a, b)? => {
                    self.why_pair(relation, (a, b), true, &mut own)?;
                    true
                }
                Rule::Whenever(variables, premise, left, right) => {
                    self.why_whenever((variables, premise), [(*left, a), (*right, b)], &mut own)?
                }
                _ => false,
            };
            if is_it && best.as_ref().is_none_or(|it| own.n_pairs() < it.n_pairs()) {
                best = Some(own);
            }
        }
        why.add(best.ok_or_else(|| unsupported("a pair that nothing forces"))?);
        Ok(())
    }

    /// Is the pair one of those that the rule adds, and why?
    fn why_whenever(
        &mut self,
        (variables, premise): (&[Variable], &Arc<Formula>),
        ends: [(Elem, u32); 2],
        why: &mut Why,
    ) -> Outcome<bool> {
        let is_end = |it: &&Variable| ends.iter().any(|end| end.0 == Elem::Var(it.id));
        let rest: Vec<Variable> = variables.iter().filter(|it| !is_end(it)).cloned().collect();
        let mut is_found = false;
        if ends.iter().any(|it| it.0 == Elem::Initial && it.1 != 0)
            || (ends[0].0 == ends[1].0 && ends[0].1 != ends[1].1)
        {
            return Ok(false);
        }
        for (elem, value) in ends {
            if let Elem::Var(id) = elem {
                self.values.insert(id, value);
            }
        }
        let plan = self.plan(&rest, premise, true, Parts::Rest)?;
        self.run(&plan, &mut |view| {
            is_found = true;
            view.why(premise, true, why)?;
            Ok(false)
        })?;
        Ok(is_found)
    }
}

impl Forced {
    /// The pair that is forced at once and makes this one follow.
    fn middle(&self, from: u32, to: u32) -> Option<(u32, u32)> {
        // Itself, if that is one: it needs no further reason.
        if self.direct.has(from, to) {
            return Some((from, to));
        }
        let reaches = |steps: &Option<Steps>, first: u32, last: u32| {
            first == last || steps.as_ref().is_some_and(|it| it.closed.has(first, last))
        };
        let firsts = (0..self.direct.n_rows() as u32).filter(|it| reaches(&self.before, from, *it));
        let last_of = |first: u32| self.direct.cols(first).into_iter().find(|it| reaches(&self.after, *it, to));
        firsts.into_iter().find_map(|first| Some((first, last_of(first)?)))
    }
}

fn add(steps: &mut Option<Rel>, more: &Rel) {
    *steps = Some(match steps.take() {
        Some(steps) => steps.combine(more, |a, b| a | b),
        None => more.clone(),
    });
}

/// The steps of a shortest way of one step or more.
pub(crate) fn path(table: &Rel, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
    let mut before = vec![u32::MAX; table.n_rows()];
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if table.has(at, to) {
            let mut steps = vec![(at, to)];
            let mut at = at;
            while at != from {
                steps.push((before[at as usize], at));
                at = before[at as usize];
            }
            steps.reverse();
            return Some(steps);
        }
        table.each(at, |next| {
            if next != from && before[next as usize] == u32::MAX {
                before[next as usize] = at;
                queue.push_back(next);
            }
        });
    }
    None
}
