//! Pairs of catalogue levels.

use crate::all_cases;
use crate::ask::{Reply, ask, name, smaller, universe};
use crate::oracle::{Abstract, Scope as Universe};
use crate::survey::{Plan, Survey};
use iso_separate::{Aspects, Method, Question, Rereads, Scope, Size};
use iso_spec::{Catalogue, Spec};
use std::collections::{BTreeMap, BTreeSet};

/// What came of asking the engine and brute force the same.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// What they disagree about, and what is wrong with the engine's answers.
    pub(crate) disagreements: Vec<String>,
    /// Answers a part of which is one, too. The engine leaves out one thing after the other, but the first of two reads
    /// of a key cannot be left out alone, and some specs allow a part only in another order.
    pub(crate) reducible: Vec<String>,
}

/// The specs that must allow a history and those that must forbid it, by their places.
pub(crate) type Asked = (Vec<usize>, Vec<usize>);

/// Asks the engine and brute force about all these questions in one scope.
///
/// The last size of the scope has most of its histories, so of those only one in so many is looked at, or none.
pub(crate) fn compare(
    specs: &[&Spec],
    questions: &[Asked],
    scope: Scope,
    one_in: impl Fn(Aspects) -> Option<u64>,
) -> Comparison {
    let mut comparison = Comparison::default();
    let mut by_aspects: BTreeMap<[bool; 3], Vec<(&Asked, Reply)>> = BTreeMap::new();
    for asked in questions {
        let question = question(specs, asked, scope);
        let reply = ask(&question);
        comparison.disagreements.extend_from_slice(&reply.faults);
        if let Some(found) = &reply.found
            && scope.size == Size::UpTo
            && let Some(part) = smaller(&question, reply.aspects, found)
        {
            comparison.reducible.push(format!("{}: {} has {}", name(&question), found.show(), part.show()));
        }
        let Aspects { rereads, read_order, real_time, .. } = reply.aspects;
        by_aspects.entry([rereads, read_order, real_time]).or_default().push((asked, reply));
    }
    println!("{} of {} answers can be reduced", comparison.reducible.len(), questions.len());
    comparison.reducible.iter().for_each(|it| println!("  {it}"));
    for replies in by_aspects.into_values() {
        let aspects = replies[0].1.aspects;
        comparison.disagreements.extend(disagreements(specs, &replies, scope, one_in(aspects)));
    }
    comparison
}

/// What brute force says otherwise; the engine looked at the same aspects for all of these.
fn disagreements(specs: &[&Spec], replies: &[(&Asked, Reply)], scope: Scope, one_in: Option<u64>) -> Vec<String> {
    let aspects = replies[0].1.aspects;
    let plan = plan(&scope, aspects, one_in);
    let survey = Survey::new(&plan, specs, looked_for(&plan, replies));
    println!("{aspects:?}: {} questions, {} histories", replies.len(), survey.n_histories);
    let mut disagreements: Vec<String> =
        survey.missing.iter().map(|it| format!("brute force does not know {}", it.show())).collect();
    for (asked, reply) in replies {
        let (size, expected) = (reply.size(), survey.smallest(&asked.0, &asked.1));
        let is_same = match scope.size {
            Size::UpTo => size == expected,
            // An exact number of transactions may be reached by adding some, with whatever keys there were.
            Size::Exactly => size.map(|it| it.0) == expected.map(|it| it.0),
        };
        let is_beyond = one_in != Some(1) && size == Some((scope.txns, scope.keys)) && expected.is_none();
        if !is_same && !is_beyond {
            let found = reply.found.as_ref().map(Abstract::show);
            let name = name(&question(specs, asked, scope));
            disagreements.push(format!("{name}: brute force {expected:?}, engine {found:?}"));
        }
    }
    disagreements
}

pub(crate) fn question<'s>(specs: &[&'s Spec], asked: &Asked, scope: Scope) -> Question<'s> {
    let pick = |of: &[usize]| of.iter().map(|it| specs[*it]).collect::<Vec<_>>();
    Question { allowed: pick(&asked.0), forbidden: pick(&asked.1), scope, method: Method::default() }
}

fn plan(scope: &Scope, aspects: Aspects, one_in: Option<u64>) -> Plan {
    // If the engine says that rereads make no difference, then they do not.
    let rereads = scope.rereads != Rereads::No;
    let with_rereads = universe(scope, Aspects { rereads, ..aspects });
    let last = universe(scope, aspects);
    if scope.size == Size::Exactly {
        return Plan { whole: vec![with_rereads], sampled: Vec::new() };
    }
    let mut whole = with_rereads.and_smaller();
    whole.pop();
    if one_in == Some(1) {
        whole.push(last);
        return Plan { whole, sampled: Vec::new() };
    }
    if last.n_keys > 1 {
        whole.push(Universe { n_keys: last.n_keys - 1, ..with_rereads });
    }
    Plan { whole, sampled: one_in.into_iter().map(|it| (last, it)).collect() }
}

/// The answers that a survey must come across.
fn looked_for(plan: &Plan, replies: &[(&Asked, Reply)]) -> BTreeSet<Abstract> {
    let found = replies.iter().filter_map(|it| it.1.found.clone());
    found.filter(|it| plan.whole.iter().any(|scope| scope.has(it))).collect()
}

pub(crate) fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Every pair of different ones, as a question.
pub(crate) fn pairs(n_specs: usize) -> Vec<Asked> {
    let all = (0..n_specs).flat_map(|a| (0..n_specs).map(move |b| (a, b)));
    all.filter(|it| it.0 != it.1).map(|it| (vec![it.0], vec![it.1])).collect()
}

/// How many histories of the last size are looked at: where there are too many, few or none.
pub(crate) fn one_in(aspects: Aspects) -> Option<u64> {
    match (all_cases(), aspects.rereads, aspects.read_order || aspects.real_time) {
        (true, true, true) => Some(100),
        (true, ..) => Some(1),
        (false, true, true) => None,
        _ => Some(500),
    }
}

#[test]
fn pairs_of_catalogue_levels_are_separated_as_by_brute_force() {
    let specs: Vec<&Spec> = Catalogue::builtin().levels().collect();
    let comparison = compare(&specs, &pairs(specs.len()), Scope::up_to(3, 2, 4), one_in);
    assert_none(&comparison.disagreements);
    assert_none(&comparison.reducible);
}
