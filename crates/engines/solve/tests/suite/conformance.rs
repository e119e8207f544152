//! What every [`SatSolver`] must do. A new implementation adds one line to [`all_solvers_conform`].

use crate::random::{Random, never};
use iso_solve::{Cadical, Lit, Portable, SatResult, SatSolver};

#[test]
fn all_solvers_conform() {
    conforms(Cadical::new);
    conforms(Portable::new);
    conforms(Portable::for_small_models);
}

/// Formulas that are too large to try all values, where they are hardest, with clauses and assumptions that come and go.
#[test]
fn the_portable_solver_agrees_with_cadical() {
    let n_found = (0..60).map(|seed| agrees(seed, 60, 3)).sum::<u32>() + agrees(1000, 150, 2);
    assert!((60..200).contains(&n_found), "{n_found} models");
}

/// How many of a few questions have a model.
fn agrees(seed: u64, n_variables: u32, n_rounds: u32) -> u32 {
    let mut random = Random::new(seed);
    let (mut one, mut other) = (Cadical::new(), Portable::new());
    let lits: Vec<Lit> = (0..n_variables).map(|_| one.new_var().positive()).collect();
    for _ in &lits {
        other.new_var();
    }
    let (mut clauses, mut n_found): (Vec<Vec<Lit>>, u32) = (Vec::new(), 0);
    for round in 0..n_rounds {
        for _ in 0..n_variables * 41 / 10 / n_rounds {
            let clause = (0..3).map(|_| random_lits(&mut random, &lits, 1)[0]).collect::<Vec<_>>();
            one.add_clause(&clause);
            other.add_clause(&clause);
            clauses.push(clause);
        }
        let assumptions = random_lits(&mut random, &lits, 4);
        let answer = other.solve(&assumptions, &mut never);
        assert_eq!(one.solve(&assumptions, &mut never), answer, "seed {seed}, round {round}");
        if answer == SatResult::Satisfiable {
            n_found += 1;
            assert!(
                with_units(&clauses, assumptions.iter().copied())
                    .iter()
                    .all(|it| it.iter().any(|lit| other.value(*lit)))
            );
        } else {
            let failed: Vec<Lit> = assumptions.iter().copied().filter(|it| other.is_failed(*it)).collect();
            assert_eq!(one.solve(&failed, &mut never), SatResult::Unsatisfiable, "seed {seed}, round {round}");
        }
        assert_eq!(one.is_refuted_at_once(&assumptions), other.is_refuted_at_once(&assumptions), "seed {seed}");
    }
    n_found
}

fn conforms<S: SatSolver>(new: impl Fn() -> S) {
    the_empty_formula_is_satisfiable(new());
    the_empty_clause_is_unsatisfiable(new());
    values_and_negations_are_opposite(new());
    assumptions_hold_for_one_call(new());
    failed_assumptions_refute(new());
    a_model_outlives_added_clauses(new());
    stopping_leaves_the_solver_usable(new());
    for seed in 0..300 {
        answers_agree_with_enumeration(new(), seed);
    }
}

fn the_empty_formula_is_satisfiable(mut solver: impl SatSolver) {
    assert_eq!(solver.solve(&[], &mut never), SatResult::Satisfiable);
    solver.new_var();
    assert_eq!(solver.solve(&[], &mut never), SatResult::Satisfiable);
}

fn the_empty_clause_is_unsatisfiable(mut solver: impl SatSolver) {
    solver.new_var();
    solver.add_clause(&[]);
    assert_eq!(solver.solve(&[], &mut never), SatResult::Unsatisfiable);
    assert_eq!(solver.solve(&[], &mut never), SatResult::Unsatisfiable);
}

fn values_and_negations_are_opposite(mut solver: impl SatSolver) {
    let (a, b) = (solver.new_var().positive(), solver.new_var().positive());
    solver.add_clause(&[a]);
    solver.add_clause(&[!a, !b]);
    assert_eq!(solver.solve(&[], &mut never), SatResult::Satisfiable);
    assert!(solver.value(a) && !solver.value(!a));
    assert!(!solver.value(b) && solver.value(!b));
    let statistics = solver.statistics();
    assert_eq!((statistics.n_variables, statistics.n_clauses), (2, 2));
}

fn assumptions_hold_for_one_call(mut solver: impl SatSolver) {
    let (a, b) = (solver.new_var().positive(), solver.new_var().positive());
    solver.add_clause(&[a, b]);
    assert_eq!(solver.solve(&[!a], &mut never), SatResult::Satisfiable);
    assert!(solver.value(b) && !solver.value(a));
    assert_eq!(solver.solve(&[!a, !b], &mut never), SatResult::Unsatisfiable);
    assert_eq!(solver.solve(&[], &mut never), SatResult::Satisfiable);
}

fn failed_assumptions_refute(mut solver: impl SatSolver) {
    let lits: Vec<Lit> = (0..4).map(|_| solver.new_var().positive()).collect();
    solver.add_clause(&[!lits[0], !lits[1]]);
    assert_eq!(solver.solve(&lits, &mut never), SatResult::Unsatisfiable);
    let failed: Vec<bool> = lits.iter().map(|&lit| solver.is_failed(lit)).collect();
    assert_eq!(failed, [true, true, false, false]);
}

fn a_model_outlives_added_clauses(mut solver: impl SatSolver) {
    let a = solver.new_var().positive();
    solver.add_clause(&[a]);
    assert_eq!(solver.solve(&[], &mut never), SatResult::Satisfiable);
    let b = solver.new_var().positive();
    solver.add_clause(&[b]);
    assert!(solver.value(a) && !solver.value(b));
}

fn stopping_leaves_the_solver_usable(mut solver: impl SatSolver) {
    add_pigeons(&mut solver, 8);
    assert_eq!(solver.solve(&[], &mut || true), SatResult::Stopped);
    let mut n_questions = 0;
    let mut fourth_time = || {
        n_questions += 1;
        n_questions > 3
    };
    assert_eq!(solver.solve(&[], &mut fourth_time), SatResult::Stopped);
    assert_eq!(n_questions, 4);
    assert_eq!(solver.solve(&[], &mut never), SatResult::Unsatisfiable);
}

/// One pigeon more than holes: unsatisfiable, and not quickly.
fn add_pigeons(solver: &mut impl SatSolver, n_holes: usize) {
    let mut pigeons: Vec<Vec<Lit>> = Vec::new();
    for _ in 0..=n_holes {
        let holes: Vec<Lit> = (0..n_holes).map(|_| solver.new_var().positive()).collect();
        solver.add_clause(&holes);
        for other in &pigeons {
            for (&hole, &other_hole) in holes.iter().zip(other) {
                solver.add_clause(&[!hole, !other_hole]);
            }
        }
        pigeons.push(holes);
    }
}

fn answers_agree_with_enumeration(mut solver: impl SatSolver, seed: u64) {
    let mut random = Random::new(seed);
    let n_variables = 1 + random.below(8);
    let lits: Vec<Lit> = (0..n_variables).map(|_| solver.new_var().positive()).collect();
    let mut clauses: Vec<Vec<Lit>> = Vec::new();
    for _round in 0..6 {
        for _ in 0..random.below(3 * n_variables) {
            let clause = random_lits(&mut random, &lits, 3);
            solver.add_clause(&clause);
            clauses.push(clause);
        }
        let assumptions = random_lits(&mut random, &lits, 2);
        let answer = solver.solve(&assumptions, &mut never);
        let expected = is_satisfiable(&with_units(&clauses, assumptions.iter().copied()), n_variables);
        assert_eq!(answer == SatResult::Satisfiable, expected, "seed {seed}");
        if expected {
            let is_true = |clause: &Vec<Lit>| clause.iter().any(|&lit| solver.value(lit));
            let constraints = with_units(&clauses, assumptions.iter().copied());
            assert!(constraints.iter().all(is_true), "seed {seed}");
        } else {
            let failed = assumptions.iter().copied().filter(|&lit| solver.is_failed(lit));
            assert!(!is_satisfiable(&with_units(&clauses, failed), n_variables), "seed {seed}");
        }
    }
}

fn random_lits(random: &mut Random, lits: &[Lit], max_len: u32) -> Vec<Lit> {
    let len = 1 + random.below(max_len);
    let mut pick = || {
        let lit = lits[random.below(lits.len() as u32) as usize];
        if random.one_in(2) { lit } else { !lit }
    };
    (0..len).map(|_| pick()).collect()
}

fn with_units(clauses: &[Vec<Lit>], units: impl Iterator<Item = Lit>) -> Vec<Vec<Lit>> {
    let mut clauses = clauses.to_vec();
    clauses.extend(units.map(|lit| vec![lit]));
    clauses
}

fn is_satisfiable(clauses: &[Vec<Lit>], n_variables: u32) -> bool {
    (0..1u32 << n_variables).any(|bits| {
        let is_true = |lit: &Lit| (bits >> lit.var().index() & 1 == 1) != lit.is_negative();
        clauses.iter().all(|clause| clause.iter().any(is_true))
    })
}
