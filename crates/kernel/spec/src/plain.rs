//! The plain evaluator: tries every witness and reads the formula word by word. Slow, and easy to believe.
//!
//! It shares the given relations with [`crate::evaluate`], but neither its compiled formulas nor its search.

use crate::evaluate::{Evaluation, Steps, has_mixed_lists, local_answer, most_favourable, unsourced};
use crate::execution::{Execution, NamedRelation};
use crate::formula::{Elem, Formula, Given, Relation, Set, Sort, WitnessKind};
use crate::session_order::SessionOrder;
use crate::spec::Spec;
use crate::world::{TooLarge, World, Worlds};
use iso_history::{Facts, TxnId};
use std::collections::BTreeSet;

type Pairs = BTreeSet<(usize, usize)>;

/// Decides whether a level allows a history, by trying every witness there is. For tests: only tiny histories end.
pub fn evaluate_plainly(facts: &Facts<'_>, spec: &Spec, limit: &mut Steps) -> Evaluation {
    evaluate_under(facts, &SessionOrder::Recorded, spec, limit)
}

/// As [`evaluate_plainly`], under the session order of [`crate::Prepared::with_session_order`].
pub fn evaluate_plainly_with_session_order(
    facts: &Facts<'_>,
    spec: &Spec,
    pairs: &[(TxnId, TxnId)],
    limit: &mut Steps,
) -> Evaluation {
    evaluate_under(facts, &SessionOrder::closing(pairs), spec, limit)
}

fn evaluate_under(facts: &Facts<'_>, so: &SessionOrder, spec: &Spec, limit: &mut Steps) -> Evaluation {
    if let Some(history) = most_favourable(facts, spec) {
        return evaluate_under(&Facts::new(&history), so, spec, limit);
    }
    if has_mixed_lists(facts, spec) {
        let Some(cases) = facts.history().mixed_cases() else { return Evaluation::TooLarge };
        let mut answers = cases.map(|it| evaluate_under(&Facts::new(&it), so, spec, limit));
        return answers.find(|it| *it != Evaluation::Forbidden).unwrap_or(Evaluation::Forbidden);
    }
    if let Some(answer) = local_answer(facts, spec) {
        return answer;
    }
    if facts.ambiguous_list().is_some() {
        let mut answers = facts.cases().into_iter().map(|it| evaluate_under(&Facts::new(&it), so, spec, limit));
        return answers.find(|it| *it != Evaluation::Forbidden).unwrap_or(Evaluation::Forbidden);
    }
    try_worlds(facts, so, spec, limit).unwrap_or(Evaluation::TooLarge)
}

fn try_worlds(facts: &Facts<'_>, so: &SessionOrder, spec: &Spec, limit: &mut Steps) -> Result<Evaluation, TooLarge> {
    let mut worlds = Worlds::new(facts, so, unsourced(spec))?;
    while let Some(world) = worlds.next()? {
        let places = matrices(spec, &world);
        let mut chosen = Vec::new();
        match try_witnesses(spec, &world, &places, &mut chosen, limit) {
            Some(true) => {
                return Ok(Evaluation::Allowed(execution(spec, &world, &places, &chosen)));
            }
            Some(false) => {}
            None => return Ok(Evaluation::OutOfSteps),
        }
    }
    Ok(Evaluation::Forbidden)
}

/// The matrices that make up the witness: which witness, and for versions which key.
fn matrices(spec: &Spec, world: &World) -> Vec<(usize, Option<usize>)> {
    let mut places = Vec::new();
    for (idx, witness) in spec.witnesses().iter().enumerate() {
        match witness.kind {
            WitnessKind::Versions => places.extend((0..world.keys.len()).map(|key| (idx, Some(key)))),
            _ => places.push((idx, None)),
        }
    }
    places
}

/// Tries everything for the matrices after those chosen. None if steps ran out.
fn try_witnesses(
    spec: &Spec,
    world: &World,
    places: &[(usize, Option<usize>)],
    chosen: &mut Vec<Pairs>,
    limit: &mut Steps,
) -> Option<bool> {
    if !limit.take() {
        return None;
    }
    let Some((witness, key)) = places.get(chosen.len()) else {
        let view = View { world, places, chosen };
        let mut all = spec.requirements().iter().chain([spec.formula()]);
        return Some(all.all(|it| view.is_true(it, &mut Vec::new())));
    };
    for pairs in possible(world, spec.witnesses()[*witness].kind, *key) {
        chosen.push(pairs);
        let found = try_witnesses(spec, world, places, chosen, limit);
        if found != Some(false) {
            return found;
        }
        chosen.pop();
    }
    Some(false)
}

fn possible(world: &World, kind: WitnessKind, key: Option<usize>) -> Vec<Pairs> {
    let n_txns = world.txns.len();
    if kind == WitnessKind::Relation {
        let all: Vec<(usize, usize)> = (0..n_txns).flat_map(|a| (0..n_txns).map(move |b| (a, b))).collect();
        let chosen = |mask: u64| all.iter().enumerate().filter(move |it| mask >> it.0 & 1 == 1).map(|it| *it.1);
        return (0..1u64 << all.len()).map(|mask| chosen(mask).collect()).collect();
    }
    let is_member = |txn: &usize| key.is_none_or(|key| world.writers[key] >> txn & 1 == 1);
    let mut orders = vec![vec![0]];
    for txn in (1..n_txns).filter(is_member) {
        let insert = |order: &Vec<usize>, at: usize| [&order[..at], &[txn], &order[at..]].concat();
        orders = orders.iter().flat_map(|it| (1..=it.len()).map(move |at| insert(it, at))).collect();
    }
    let pairs = |order: &Vec<usize>| -> Pairs {
        (0..order.len()).flat_map(|a| (a + 1..order.len()).map(move |b| (order[a], order[b]))).collect()
    };
    orders.iter().map(pairs).collect()
}

fn execution(spec: &Spec, world: &World, places: &[(usize, Option<usize>)], chosen: &[Pairs]) -> Execution {
    let named = |((witness, key), pairs): (&(usize, Option<usize>), &Pairs)| NamedRelation {
        name: spec.witnesses()[*witness].name.clone(),
        key: key.map(|it| world.keys[it]),
        pairs: pairs.iter().map(|it| (world.txns[it.0], world.txns[it.1])).collect(),
    };
    let relations = places.iter().zip(chosen).map(named).collect();
    Execution { relations, ..Execution::new(world.txns.iter().copied(), world.source_pairs()) }
}

/// A world with a complete witness.
struct View<'v> {
    world: &'v World,
    places: &'v [(usize, Option<usize>)],
    chosen: &'v [Pairs],
}

/// The values of the bound variables.
type Env = Vec<(u32, usize)>;

impl View<'_> {
    fn elem(elem: Elem, env: &Env) -> usize {
        match elem {
            Elem::Initial => 0,
            Elem::Var(id) => env.iter().rev().find(|it| it.0 == id).expect("variables are bound").1,
        }
    }

    fn is_true(&self, formula: &Formula, env: &mut Env) -> bool {
        match formula {
            Formula::Truth(truth) => *truth,
            Formula::Not(of) => !self.is_true(of, env),
            Formula::And(left, right) => self.is_true(left, env) && self.is_true(right, env),
            Formula::Or(left, right) => self.is_true(left, env) || self.is_true(right, env),
            Formula::Implies(left, right) => !self.is_true(left, env) || self.is_true(right, env),
            Formula::Iff(left, right) => self.is_true(left, env) == self.is_true(right, env),
            Formula::Exists(variables, body) => {
                let sorts: Vec<(u32, Sort)> = variables.iter().map(|it| (it.id, it.sort)).collect();
                self.some(&sorts, env, &mut |env| self.is_true(body, env))
            }
            Formula::Forall(variables, body) => {
                let sorts: Vec<(u32, Sort)> = variables.iter().map(|it| (it.id, it.sort)).collect();
                !self.some(&sorts, env, &mut |env| !self.is_true(body, env))
            }
            Formula::Equal(left, right) => Self::elem(*left, env) == Self::elem(*right, env),
            Formula::Member(elem, set) => self.set(set, env).contains(&Self::elem(*elem, env)),
            Formula::Related(relation, left, right) => {
                let pair = (Self::elem(*left, env), Self::elem(*right, env));
                self.relation(relation, env).contains(&pair)
            }
            Formula::SetWithin(left, right) => self.set(left, env).is_subset(&self.set(right, env)),
            Formula::Within(left, right) => self.relation(left, env).is_subset(&self.relation(right, env)),
            Formula::SetEmpty(set) => self.set(set, env).is_empty(),
            Formula::Empty(of) => self.relation(of, env).is_empty(),
            Formula::Acyclic(of) => closure(self.relation(of, env)).iter().all(|it| it.0 != it.1),
            Formula::Irreflexive(of) => self.relation(of, env).iter().all(|it| it.0 != it.1),
            Formula::Total(of) => {
                let (pairs, size) = (self.relation(of, env), self.world.size(of.sorts().0));
                let related = |a: usize, b: usize| pairs.contains(&(a, b)) || pairs.contains(&(b, a));
                (0..size).all(|a| (0..a).all(|b| related(a, b)))
            }
            Formula::Transitive(of) => {
                let pairs = self.relation(of, env);
                compose(&pairs, &pairs).is_subset(&pairs)
            }
        }
    }

    fn some(&self, variables: &[(u32, Sort)], env: &mut Env, test: &mut dyn FnMut(&mut Env) -> bool) -> bool {
        let Some(((id, sort), rest)) = variables.split_first() else { return test(env) };
        for value in 0..self.world.size(*sort) {
            env.push((*id, value));
            let found = self.some(rest, env, test);
            env.pop();
            if found {
                return true;
            }
        }
        false
    }

    fn set(&self, set: &Set, env: &mut Env) -> BTreeSet<usize> {
        match set {
            Set::Initial => [0].into(),
            Set::Union(left, right) => &self.set(left, env) | &self.set(right, env),
            Set::Intersection(left, right) => &self.set(left, env) & &self.set(right, env),
            Set::Difference(left, right) => &self.set(left, env) - &self.set(right, env),
            Set::Such(variable, body) => {
                let mut members = BTreeSet::new();
                self.some(&[(variable.id, variable.sort)], env, &mut |env| {
                    if self.is_true(body, env) {
                        members.insert(env[env.len() - 1].1);
                    }
                    false
                });
                members
            }
        }
    }

    fn relation(&self, relation: &Relation, env: &mut Env) -> Pairs {
        match relation {
            Relation::Given(given) => self.given(*given, None),
            Relation::At(given, key) => self.given(*given, Some(Self::elem(*key, env))),
            Relation::Union(left, right) => &self.relation(left, env) | &self.relation(right, env),
            Relation::Intersection(left, right) => &self.relation(left, env) & &self.relation(right, env),
            Relation::Difference(left, right) => &self.relation(left, env) - &self.relation(right, env),
            Relation::Composition(left, right) => compose(&self.relation(left, env), &self.relation(right, env)),
            Relation::Inverse(of) => self.relation(of, env).into_iter().map(|it| (it.1, it.0)).collect(),
            Relation::Closure(of) => closure(self.relation(of, env)),
            Relation::Reflexive(of) => {
                let mut pairs = self.relation(of, env);
                pairs.extend((0..self.world.size(of.sorts().0)).map(|it| (it, it)));
                pairs
            }
            Relation::On(set) => self.set(set, env).into_iter().map(|it| (it, it)).collect(),
            Relation::Such(left, right, body) => {
                let mut pairs = Pairs::new();
                self.some(&[(left.id, left.sort), (right.id, right.sort)], env, &mut |env| {
                    if self.is_true(body, env) {
                        pairs.insert((env[env.len() - 2].1, env[env.len() - 1].1));
                    }
                    false
                });
                pairs
            }
        }
    }

    fn given(&self, given: Given, key: Option<usize>) -> Pairs {
        let n_txns = self.world.txns.len();
        let of_key = |rows: &[u64], key: usize| pairs_of(&rows[key * n_txns..(key + 1) * n_txns]);
        match (given, key) {
            (Given::Witness(witness), key) => {
                let fits = |it: &(usize, Option<usize>)| it.0 == witness && (key.is_none() || it.1 == key);
                let parts = self.places.iter().zip(self.chosen).filter(|it| fits(it.0));
                parts.flat_map(|it| it.1.iter().copied()).collect()
            }
            (Given::WriteRead, Some(key)) => of_key(&self.world.wr_at, key),
            (Given::Listed, Some(key)) => of_key(&self.world.listed_at, key),
            _ => pairs_of(self.world.table(given)),
        }
    }
}

fn pairs_of(rows: &[u64]) -> Pairs {
    let cols = |word: u64| (0..64).filter(move |it| word >> it & 1 == 1);
    rows.iter().enumerate().flat_map(|(row, word)| cols(*word).map(move |col| (row, col))).collect()
}

fn compose(left: &Pairs, right: &Pairs) -> Pairs {
    left.iter().flat_map(|a| right.iter().filter(|b| b.0 == a.1).map(|b| (a.0, b.1))).collect()
}

fn closure(mut pairs: Pairs) -> Pairs {
    loop {
        let next = &compose(&pairs, &pairs) | &pairs;
        if next == pairs {
            return pairs;
        }
        pairs = next;
    }
}
