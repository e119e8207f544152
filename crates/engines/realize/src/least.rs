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
    /// The same, with everything before it where the relation is a prefix of the order.
    stepped: Rel,
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
        let stepped = match rules.iter().any(|it| matches!(it, Rule::Prefix)) {
            true => self.order.compose(&direct, true).combine(&direct, |a, b| a | b),
            false => direct.clone(),
        };
        let forced = Rc::new(Forced { direct, stepped });
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
                Rule::Transitive | Rule::Prefix => continue,
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
            let mut middle = from;
            if !forced.direct.has(from, to) {
                let is_it = |it: &u32| forced.direct.has(*it, to) && self.order.has(from, *it);
                middle = (0..self.ground.n_txns() as u32).find(is_it).ok_or_else(nothing)?;
                why.before(from, middle);
            }
            self.why_forced(rules, middle, to, why)?;
        }
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
