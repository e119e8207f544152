//! [`OrderSolver`] against enumeration of all orders on tiny graphs, and against plain SAT with cycle clauses added
//! after each model on larger ones.

use crate::random::{Random, never};
use iso_solve::{Cadical, DecisionPolicy, IncrementalOrder, Lit, OrderResult, OrderSolver, SatResult, SatSolver};

const POLICIES: [DecisionPolicy; 3] = [DecisionPolicy::Alternate, DecisionPolicy::Repair, DecisionPolicy::Activity];

/// A literal as the test knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Atom {
    /// The edge must be there, or need not be.
    Edge(u32, u32, bool),
    /// The first node is before the second.
    Before(u32, u32),
    /// The nodes are in this order.
    Path(u32, u32, u32),
    /// A plain variable has this value.
    Plain(u32, bool),
}

/// A formula that a test adds to a solver and to an oracle alike.
#[derive(Debug, Default, Clone)]
struct Formula {
    known: Vec<(u32, u32)>,
    clauses: Vec<Vec<Atom>>,
}

impl Formula {
    /// Whether some order of the nodes and some values of `n_plain` plain variables satisfy the formula.
    ///
    /// Given an order, an edge may be chosen if it agrees with the order, and need not be.
    fn is_satisfiable(&self, n_nodes: u32, n_plain: u32) -> bool {
        let mut order: Vec<u32> = (0..n_nodes).collect();
        any_permutation(&mut order, 0, &mut |order| {
            let mut position = vec![0; order.len()];
            for (place, &node) in order.iter().enumerate() {
                position[node as usize] = place;
            }
            let is_before = |a: u32, b: u32| position[a as usize] < position[b as usize];
            self.known.iter().all(|&(from, to)| is_before(from, to))
                && (0..1u32 << n_plain).any(|bits| self.holds(&is_before, bits))
        })
    }

    /// An edge literal that occurs in both polarities is free only if its edge agrees with the order; so all edges are
    /// enumerated as further plain variables.
    fn holds(&self, is_before: &impl Fn(u32, u32) -> bool, bits: u32) -> bool {
        let mut free: Vec<(u32, u32)> = Vec::new();
        for atom in self.clauses.iter().flatten() {
            if let Atom::Edge(from, to, _) = *atom
                && is_before(from, to)
                && !free.contains(&(from, to))
            {
                free.push((from, to));
            }
        }
        (0..1u64 << free.len()).any(|chosen| {
            let is_edge = |from: u32, to: u32| {
                let idx = free.iter().position(|&edge| edge == (from, to));
                idx.is_some_and(|idx| chosen >> idx & 1 == 1)
            };
            self.clauses.iter().all(|clause| {
                clause.iter().any(|&atom| match atom {
                    Atom::Edge(from, to, value) => is_edge(from, to) == value,
                    Atom::Before(first, second) => is_before(first, second),
                    Atom::Path(first, second, third) => is_before(first, second) && is_before(second, third),
                    Atom::Plain(idx, value) => (bits >> idx & 1 == 1) == value,
                })
            })
        })
    }
}

fn any_permutation(order: &mut [u32], from: usize, test: &mut impl FnMut(&[u32]) -> bool) -> bool {
    if from == order.len() {
        return test(order);
    }
    for idx in from..order.len() {
        order.swap(from, idx);
        let is_found = any_permutation(order, from + 1, test);
        order.swap(from, idx);
        if is_found {
            return true;
        }
    }
    false
}

/// The literal of `atom` in `solver`.
fn lit_of(solver: &mut OrderSolver, plain: &[Lit], atom: Atom) -> Lit {
    match atom {
        Atom::Edge(from, to, true) => solver.edge_lit(from, to),
        Atom::Edge(from, to, false) => !solver.edge_lit(from, to),
        Atom::Before(first, second) => solver.order_lit(first, second),
        Atom::Path(first, second, third) => solver.path_lit(first, second, third),
        Atom::Plain(idx, true) => plain[idx as usize],
        Atom::Plain(idx, false) => !plain[idx as usize],
    }
}

/// The model must satisfy each clause, and the order must agree with each edge that is there.
fn assert_is_model(solver: &mut OrderSolver, plain: &[Lit], formula: &Formula) {
    let order = solver.order();
    let mut seen = vec![false; order.len()];
    for (place, &node) in order.iter().enumerate() {
        assert_eq!(solver.position(node), place as u32);
        assert!(!std::mem::replace(&mut seen[node as usize], true));
    }
    for &(from, to) in &formula.known {
        assert!(solver.position(from) < solver.position(to));
    }
    for clause in &formula.clauses {
        let mut is_satisfied = false;
        for &atom in clause {
            let lit = lit_of(solver, plain, atom);
            is_satisfied |= solver.value(lit);
            match atom {
                Atom::Edge(from, to, value) if solver.value(lit) == value => {
                    assert!(solver.position(from) < solver.position(to));
                }
                Atom::Before(first, second) => {
                    let is_before = solver.position(first) < solver.position(second);
                    assert_eq!(solver.value(lit), is_before);
                }
                Atom::Path(first, second, third) if solver.value(lit) => {
                    assert!(solver.position(first) < solver.position(second));
                    assert!(solver.position(second) < solver.position(third));
                }
                Atom::Edge(..) | Atom::Path(..) | Atom::Plain(..) => {}
            }
        }
        assert!(is_satisfied, "{clause:?} is false");
    }
}

fn random_atom(random: &mut Random, n_nodes: u32, n_plain: u32) -> Atom {
    let (first, second) = random.two_below(n_nodes);
    match random.below(9) {
        0 => Atom::Edge(first, second, false),
        4 if n_nodes > 2 => Atom::Path(first, second, random.below(n_nodes)),
        1 | 2 => Atom::Edge(first, second, true),
        3 => Atom::Plain(random.below(n_plain), random.one_in(2)),
        _ => Atom::Before(first, second),
    }
}

/// Several rounds of adding clauses, known edges and nodes, each answer compared with enumeration.
fn compare_with_enumeration(seed: u64, policy: DecisionPolicy) -> (u32, u32) {
    let mut random = Random::new(seed);
    let mut n_nodes = 2 + random.below(4);
    let n_plain = 2;
    let mut solver = OrderSolver::new(n_nodes);
    solver.set_policy(policy);
    let plain: Vec<Lit> = (0..n_plain).map(|_| solver.new_lit()).collect();
    let mut formula = Formula::default();
    let (mut n_acyclic, mut n_cyclic) = (0, 0);
    for _round in 0..5 {
        if n_nodes < 6 && random.one_in(4) {
            assert_eq!(solver.add_node(), n_nodes);
            n_nodes += 1;
        }
        if random.one_in(3) {
            let edge = random.two_below(n_nodes);
            let known = Formula { known: formula.known.clone(), clauses: Vec::new() };
            match solver.add_known_edge(edge.0, edge.1) {
                Ok(()) => formula.known.push(edge),
                Err(cycle) => assert_is_known_cycle(&known, edge, &cycle),
            }
        }
        for _ in 0..random.below(3 + n_nodes) {
            let len = 1 + random.below(3);
            let clause: Vec<Atom> = (0..len).map(|_| random_atom(&mut random, n_nodes, n_plain)).collect();
            let lits: Vec<Lit> = clause.iter().map(|&atom| lit_of(&mut solver, &plain, atom)).collect();
            solver.add_clause(&lits);
            formula.clauses.push(clause);
        }
        let expected = formula.is_satisfiable(n_nodes, n_plain);
        match solver.solve(&mut never) {
            OrderResult::Acyclic => {
                assert!(expected, "seed {seed}: {formula:?}");
                assert_is_model(&mut solver, &plain, &formula);
                n_acyclic += 1;
            }
            OrderResult::Cyclic { touched } => {
                assert!(!expected, "seed {seed}: {formula:?}");
                assert!(touched.is_sorted() && touched.iter().all(|&node| node < n_nodes));
                n_cyclic += 1;
            }
            OrderResult::Stopped => panic!("nobody asked to stop"),
        }
    }
    (n_acyclic, n_cyclic)
}

fn assert_is_known_cycle(known: &Formula, edge: (u32, u32), cycle: &[(u32, u32)]) {
    assert_eq!(cycle[0], edge);
    assert!(cycle[1..].iter().all(|edge| known.known.contains(edge)));
    for (idx, &(_, to)) in cycle.iter().enumerate() {
        assert_eq!(to, cycle[(idx + 1) % cycle.len()].0);
    }
}

#[test]
fn answers_agree_with_enumeration() {
    for policy in POLICIES {
        let (mut n_acyclic, mut n_cyclic) = (0, 0);
        for seed in 0..1_000 {
            let (acyclic, cyclic) = compare_with_enumeration(seed, policy);
            n_acyclic += acyclic;
            n_cyclic += cyclic;
        }
        assert!(n_acyclic > 1_000 && n_cyclic > 1_000, "{n_acyclic} acyclic, {n_cyclic} cyclic");
    }
}

/// Plain SAT, with a clause for a cycle of each model until a model has none.
fn solve_offline(n_nodes: u32, clauses: &[Vec<(u32, u32)>]) -> bool {
    let mut sat = Cadical::new();
    let pairs: Vec<(u32, u32)> = (0..n_nodes).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let lits: Vec<Lit> = pairs.iter().map(|_| sat.new_var().positive()).collect();
    let lit_of = |(first, second): (u32, u32)| {
        let (a, b) = (first.min(second), first.max(second));
        let lit = lits[(b * (b - 1) / 2 + a) as usize];
        if a == first { lit } else { !lit }
    };
    for clause in clauses {
        sat.add_clause(&clause.iter().map(|&pair| lit_of(pair)).collect::<Vec<_>>());
    }
    while sat.solve(&[], &mut never) == SatResult::Satisfiable {
        let mut order = IncrementalOrder::new(n_nodes);
        let mut is_acyclic = true;
        for (&(a, b), &lit) in pairs.iter().zip(&lits) {
            let (from, to) = if sat.value(lit) { (a, b) } else { (b, a) };
            if let Err(path) = order.add_edge(from, to, 0) {
                let edges = path.iter().map(|&id| order.edge(id)).map(|edge| (edge.from, edge.to));
                let mut cycle: Vec<Lit> = edges.map(|pair| !lit_of(pair)).collect();
                cycle.push(!lit_of((from, to)));
                sat.add_clause(&cycle);
                is_acyclic = false;
            }
        }
        if is_acyclic {
            return true;
        }
    }
    false
}

/// Random clauses of three over "this before that".
fn random_order_clauses(seed: u64, n_nodes: u32, n_clauses: u32) -> Vec<Vec<(u32, u32)>> {
    let mut random = Random::new(seed);
    let mut clause = || (0..3).map(|_| random.two_below(n_nodes)).collect();
    (0..n_clauses).map(|_| clause()).collect()
}

fn order_solver(n_nodes: u32, clauses: &[Vec<(u32, u32)>], policy: DecisionPolicy) -> OrderSolver {
    let mut solver = OrderSolver::new(n_nodes);
    solver.set_policy(policy);
    for clause in clauses {
        let lits: Vec<Lit> = clause.iter().map(|&(a, b)| solver.order_lit(a, b)).collect();
        solver.add_clause(&lits);
    }
    solver
}

#[test]
fn searches_with_hundreds_of_conflicts_agree_with_plain_sat() {
    let mut most_cycles = [0; POLICIES.len()];
    let mut n_acyclic = 0;
    for seed in 0..12 {
        let clauses = random_order_clauses(seed, 20, 190 + 10 * seed as u32);
        let expected = solve_offline(20, &clauses);
        n_acyclic += u32::from(expected);
        for (policy, most_cycles) in POLICIES.into_iter().zip(&mut most_cycles) {
            let mut solver = order_solver(20, &clauses, policy);
            let is_acyclic = solver.solve(&mut never) == OrderResult::Acyclic;
            assert_eq!(is_acyclic, expected, "seed {seed}, {policy:?}");
            *most_cycles = solver.statistics().n_cycles.max(*most_cycles);
        }
    }
    assert!(most_cycles.iter().all(|&n_cycles| n_cycles > 500), "only {most_cycles:?} cycles were met");
    assert!((2..11).contains(&n_acyclic), "{n_acyclic} of 12 are acyclic");
}

/// A large sparse instance: each answer is checked by itself, because a hidden order satisfies all clauses.
#[test]
fn forty_nodes_with_a_hidden_order_are_solved_under_every_policy() {
    for policy in POLICIES {
        for seed in 0..6 {
            let mut clauses = random_order_clauses(seed, 40, 300);
            clauses.retain(|clause| clause.iter().any(|&(first, second)| (first * 17) % 40 < (second * 17) % 40));
            let mut solver = order_solver(40, &clauses, policy);
            assert_eq!(solver.solve(&mut never), OrderResult::Acyclic, "seed {seed}, {policy:?}");
            let holds = |clause: &Vec<(u32, u32)>| clause.iter().any(|&(a, b)| solver.position(a) < solver.position(b));
            assert!(clauses.iter().all(holds));
        }
    }
}

#[test]
fn a_stopped_search_can_be_taken_up_again() {
    let clauses = random_order_clauses(7, 20, 280);
    let mut solver = order_solver(20, &clauses, DecisionPolicy::Alternate);
    assert_eq!(solver.solve(&mut || true), OrderResult::Stopped);
    let mut n_questions = 0;
    let mut later = || {
        n_questions += 1;
        n_questions > 5
    };
    assert_eq!(solver.solve(&mut later), OrderResult::Stopped);
    let is_acyclic = solver.solve(&mut never) == OrderResult::Acyclic;
    assert_eq!(is_acyclic, solve_offline(20, &clauses));
}

#[test]
fn the_same_calls_give_the_same_answers() {
    let run = || {
        let clauses = random_order_clauses(3, 24, 260);
        let mut solver = order_solver(24, &clauses, DecisionPolicy::Alternate);
        let result = solver.solve(&mut never);
        (result, solver.order(), solver.statistics())
    };
    assert_eq!(run(), run());
}

#[test]
fn an_order_that_satisfies_all_clauses_needs_no_search() {
    let mut solver = OrderSolver::with_order(vec![2, 0, 1]);
    let (before, edge) = (solver.order_lit(2, 1), solver.edge_lit(0, 1));
    solver.add_clause(&[before]);
    solver.add_clause(&[edge]);
    assert_eq!(solver.solve(&mut never), OrderResult::Acyclic);
    assert_eq!(solver.order(), [2, 0, 1]);
    assert!(solver.value(before) && solver.value(edge));
    assert_eq!(solver.statistics().n_solves_without_search, 1);
}

#[test]
fn literals_are_shared() {
    let mut solver = OrderSolver::new(3);
    assert_eq!(solver.order_lit(2, 1), !solver.order_lit(1, 2));
    assert_eq!(solver.edge_lit(2, 1), solver.edge_lit(2, 1));
    assert_ne!(solver.edge_lit(2, 1), !solver.edge_lit(1, 2));
    assert_eq!(solver.statistics().sat.n_variables, 3);
}

#[test]
fn an_edge_from_a_node_to_itself_is_a_cycle() {
    let mut solver = OrderSolver::new(2);
    let lit = solver.edge_lit(1, 1);
    assert_eq!(solver.solve(&mut never), OrderResult::Acyclic);
    assert!(!solver.value(lit));
    solver.add_clause(&[lit]);
    assert_eq!(solver.solve(&mut never), OrderResult::Cyclic { touched: vec![1] });
    assert_eq!(solver.add_known_edge(0, 0), Err(vec![(0, 0)]));
}

#[test]
fn touched_names_the_nodes_on_the_cycle_and_no_others() {
    let mut solver = OrderSolver::new(6);
    solver.add_known_edge(1, 3).unwrap();
    solver.add_known_edge(0, 5).unwrap();
    let (forth, back) = (solver.edge_lit(3, 4), solver.edge_lit(4, 1));
    solver.add_clause(&[forth]);
    assert_eq!(solver.solve(&mut never), OrderResult::Acyclic);
    solver.add_clause(&[back]);
    assert_eq!(solver.solve(&mut never), OrderResult::Cyclic { touched: vec![1, 3, 4] });
}

#[test]
fn a_known_edge_against_a_forced_literal_is_found_by_the_next_solve() {
    let mut solver = OrderSolver::with_order(vec![2, 1, 0]);
    let lit = solver.edge_lit(0, 1);
    solver.add_clause(&[lit]);
    assert_eq!(solver.solve(&mut never), OrderResult::Acyclic);
    assert_eq!(solver.add_known_edge(1, 0), Ok(()));
    assert_eq!(solver.solve(&mut never), OrderResult::Cyclic { touched: vec![0, 1] });
}

#[test]
fn hundreds_of_rounds_keep_the_order_found_so_far() {
    let n_nodes = 300;
    let mut random = Random::new(5);
    let mut hidden: Vec<u32> = (0..n_nodes).collect();
    for idx in 1..n_nodes {
        hidden.swap(idx as usize, random.below(idx + 1) as usize);
    }
    let mut solver = OrderSolver::new(n_nodes);
    let mut clauses = Vec::new();
    for _round in 0..400 {
        // A clause that the current order violates, and that the hidden order satisfies.
        let mut clause = Vec::new();
        while clause.len() < 3 {
            let (a, b) = random.two_below(n_nodes);
            if solver.position(a) > solver.position(b) {
                clause.push((a, b));
            }
        }
        if clause.iter().all(|&(a, b)| hidden[a as usize] > hidden[b as usize]) {
            continue;
        }
        let lits: Vec<Lit> = clause.iter().map(|&(a, b)| solver.order_lit(a, b)).collect();
        solver.add_clause(&lits);
        clauses.push(clause);
        assert_eq!(solver.solve(&mut never), OrderResult::Acyclic);
        for clause in &clauses {
            assert!(clause.iter().any(|&(a, b)| solver.position(a) < solver.position(b)));
        }
    }
    assert!(clauses.len() > 300);
}
