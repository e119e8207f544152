//! Resolvents follow from what they name, by unit propagation alone, and end in the empty clause.

use crate::random::{Random, never};
use iso_solve::{Cadical, Lit, Resolvent, SatResult, SatSolver, resolve, variable};

fn random_clauses(random: &mut Random, n_variables: u32, n_clauses: usize) -> Vec<Vec<Lit>> {
    let mut lit = || variable(random.below(n_variables)).literal(random.one_in(2));
    (0..n_clauses).map(|_| (0..3).map(|_| lit()).collect()).collect()
}

fn has_model(n_variables: u32, clauses: &[Vec<Lit>]) -> bool {
    let mut solver = Cadical::new();
    for _ in 0..n_variables {
        solver.new_var();
    }
    for clause in clauses {
        solver.add_clause(clause);
    }
    solver.solve(&[], &mut never) == SatResult::Satisfiable
}

/// Is a clause true because its negation leads from clause to clause into a contradiction?
fn follows(clause: &[Lit], antecedents: &[&[Lit]]) -> bool {
    let mut is_false: Vec<Lit> = clause.to_vec();
    for antecedent in antecedents {
        let mut left: Vec<Lit> = antecedent.iter().copied().filter(|it| !is_false.contains(it)).collect();
        left.dedup();
        match left.as_slice() {
            [] => return true,
            [only] => is_false.push(!*only),
            _ => return false,
        }
    }
    false
}

#[test]
fn every_resolvent_follows_from_its_antecedents() {
    let (mut n_refuted, mut n_satisfied) = (0, 0);
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let n_variables = 20 + random.below(30);
        let clauses = random_clauses(random, n_variables, 4 * n_variables as usize + 15);
        let Some(resolvents) = resolve(n_variables as usize, &clauses, &mut never) else {
            assert!(has_model(n_variables, &clauses), "seed {seed}");
            n_satisfied += 1;
            continue;
        };
        n_refuted += 1;
        let mut all: Vec<&[Lit]> = clauses.iter().map(Vec::as_slice).collect();
        for Resolvent { clause, antecedents } in &resolvents {
            let named: Vec<&[Lit]> = antecedents.iter().map(|it| all[*it as usize]).collect();
            assert!(follows(clause, &named), "seed {seed}: {clause:?} from {named:?}");
            all.push(clause);
        }
        assert!(all.last().is_some_and(|it| it.is_empty()), "seed {seed}");
    }
    assert!(n_refuted > 20 && n_satisfied > 20, "{n_refuted} refuted, {n_satisfied} satisfied");
}

#[test]
fn a_clause_without_literals_is_the_contradiction() {
    let clauses = vec![vec![variable(0).positive()], vec![]];
    let resolvents = resolve(1, &clauses, &mut never);
    assert_eq!(resolvents, Some(vec![Resolvent { clause: vec![], antecedents: vec![1] }]));
}

#[test]
fn who_is_stopped_has_no_answer() {
    let mut random = Random::new(1);
    let clauses = random_clauses(&mut random, 200, 860);
    assert_eq!(resolve(200, &clauses, &mut || true), None);
}
