//! What it derives follows from what it names, and it forgets without forgetting anything that matters.

use super::*;
use crate::resolution::{Resolvent, resolve_with};

fn never() -> bool {
    false
}

/// Numbers that look random.
fn numbers(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |bound| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        ((state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32) % bound
    }
}

fn random_clauses(below: &mut impl FnMut(u32) -> u32, n_variables: u32, n_clauses: u32) -> Vec<Vec<Lit>> {
    let mut lit = || Var::new(below(n_variables) as usize).literal(below(2) == 0);
    (0..n_clauses).map(|_| (0..3).map(|_| lit()).collect()).collect()
}

fn solver_of(n_variables: u32, clauses: &[Vec<Lit>]) -> Portable {
    let mut solver = Portable::new();
    for _ in 0..n_variables {
        solver.new_var();
    }
    for clause in clauses {
        solver.add_clause(clause);
    }
    solver
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
    let mut n_refuted = 0;
    for seed in 1..150 {
        let below = &mut numbers(seed);
        let n_variables = 20 + below(30);
        let mut clauses = random_clauses(below, n_variables, 4 * n_variables + 15);
        clauses.push(vec![Var::new(0).positive()]);
        let trace = Rc::default();
        let solver = Portable::traced(Rc::clone(&trace));
        let Some(resolvents) = resolve_with(solver, &trace, n_variables as usize, &clauses, &mut never) else {
            assert_eq!(solver_of(n_variables, &clauses).solve(&[], &mut never), SatResult::Satisfiable, "seed {seed}");
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
    assert!(n_refuted > 20, "{n_refuted} refuted");
}

#[test]
fn forgetting_changes_no_answer() {
    for seed in 1..20 {
        let below = &mut numbers(seed);
        let clauses = random_clauses(below, 90, 380);
        let mut patient = solver_of(90, &clauses);
        let mut forgetful = solver_of(90, &clauses);
        forgetful.max_learned = 20;
        let answer = forgetful.solve(&[], &mut never);
        assert_eq!(answer, patient.solve(&[], &mut never), "seed {seed}");
        if answer == SatResult::Satisfiable {
            assert!(clauses.iter().all(|it| it.iter().any(|lit| forgetful.value(*lit))), "seed {seed}");
        }
    }
}

#[test]
fn unit_propagation_alone_refutes_what_it_can() {
    let mut solver = Portable::new();
    let [a, b, c] = [(); 3].map(|()| solver.new_var().positive());
    solver.add_clause(&[!a, b]);
    solver.add_clause(&[!b, c]);
    assert!(solver.is_refuted_at_once(&[a, !c]));
    assert!(!solver.is_refuted_at_once(&[a]));
    assert_eq!(solver.solve(&[a], &mut never), SatResult::Satisfiable);
    assert!(solver.value(c));
}
