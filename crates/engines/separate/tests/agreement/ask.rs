//! Questions to the engine, with every answer examined by the reference evaluator.

use crate::oracle::{self, Abstract, Order, ReadOrder, Reads, Times, allowed_by, interval_orders};
use iso_evidence::Budget;
use iso_history::Facts;
use iso_separate::{Answer, Aspects, BlindWrites, Found, Lists, Question, Scope, Sessions, StatementsWanted, separate};
use iso_spec::{Catalogue, Prepared, Spec, Steps, holds, holds_with_session_order};

/// What the engine says.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) aspects: Aspects,
    /// The history that it found, in its canonical form.
    pub(crate) found: Option<Abstract>,
    /// What is wrong with it.
    pub(crate) faults: Vec<String>,
}

impl Reply {
    /// Transactions and keys of what was found.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        self.found.as_ref().map(|it| (it.n, it.k))
    }
}

/// Asks the engine for histories of reads and writes alone, which is what brute force knows. What it finds should be
/// explained by all allowed specs, forbidden by all others, and in the scope.
pub(crate) fn ask(question: &Question<'_>) -> Reply {
    let scope = Scope { scans: Some(0), statements: StatementsWanted::No, lists: Lists::No, ..question.scope };
    let question = &Question { scope, ..question.clone() };
    let separation = separate(question, &Budget::unlimited());
    let aspects = separation.aspects;
    let mut faults = Vec::new();
    let found = match &separation.answer {
        Answer::Found(found) => Some(examined(question, aspects, found, &mut faults)),
        Answer::None => None,
        Answer::Unknown(reason) => panic!("{}: {reason:?} without a limit", name(question)),
    };
    Reply { aspects, found, faults }
}

/// A level of the catalogue.
pub(crate) fn level(name: &str) -> &'static Spec {
    Catalogue::builtin().find(name).unwrap_or_else(|it| panic!("{it}"))
}

/// As in `biswas.ra & !cerone.ra`.
pub(crate) fn name(question: &Question<'_>) -> String {
    let names = |of: &[&Spec]| of.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
    format!("{} & !{}", names(&question.allowed), names(&question.forbidden))
}

/// The oracle's scope of the same histories.
pub(crate) fn universe(scope: &Scope, aspects: Aspects) -> oracle::Scope {
    oracle::Scope {
        n_txns: scope.txns,
        n_keys: scope.keys,
        n_versions: scope.values,
        sessions: match scope.sessions {
            Sessions::Chains { at_most } => oracle::Sessions::Chains { at_most: at_most.unwrap_or(scope.txns) },
            Sessions::PartialOrder => oracle::Sessions::PartialOrder,
        },
        blind_writes: match scope.blind_writes {
            BlindWrites::Allowed => oracle::BlindWrites::Allowed,
            BlindWrites::Excluded => oracle::BlindWrites::Excluded,
        },
        reads: match (aspects.rereads, aspects.read_order) {
            (false, false) => Reads::Unordered,
            (false, true) => Reads::Ordered,
            (true, false) => Reads::RepeatedUnordered,
            (true, true) => Reads::Repeated,
        },
        times: if aspects.real_time { Times::Intervals } else { Times::None },
    }
}

fn examined(question: &Question<'_>, aspects: Aspects, found: &Found, faults: &mut Vec<String>) -> Abstract {
    let facts = Facts::new(&found.history);
    let order = found.session_order.as_deref();
    let read_order = if aspects.read_order { ReadOrder::Kept } else { ReadOrder::Ignored };
    let history = Abstract::from_history(&found.history, order, read_order);
    let mut fault = |text: &str| faults.push(format!("{}: {text} {}", name(question), history.show()));
    assert_eq!(found.executions.len(), question.allowed.len(), "each allowed spec explains it");
    for (spec, execution) in question.allowed.iter().zip(&found.executions) {
        let is_explained = match order {
            Some(pairs) => holds_with_session_order(&facts, spec, execution, pairs),
            None => holds(&facts, spec, execution),
        };
        if !is_explained {
            fault(&format!("{} does not hold with {execution:?} of", spec.name()));
        }
    }
    let prepared = order.map_or_else(|| Prepared::new(&facts), |it| Prepared::with_session_order(&facts, it));
    for spec in &question.forbidden {
        if prepared.evaluate(spec, &mut Steps::unlimited()).is_allowed() != Some(false) {
            fault(&format!("{} allows", spec.name()));
        }
    }
    let universe = oracle::Scope { n_txns: history.n, ..universe(&question.scope, aspects) };
    if history.n > question.scope.txns || !universe.has(&history) || history.rt.is_some() != aspects.real_time {
        fault("the scope does not have");
    }
    history
}

/// A part of the history that separates, too: without a read, a write, or some of session order or real time.
pub(crate) fn smaller(question: &Question<'_>, aspects: Aspects, history: &Abstract) -> Option<Abstract> {
    let universe = oracle::Scope { n_txns: history.n, ..universe(&question.scope, aspects) };
    let specs = [&question.allowed[..], &question.forbidden[..]].concat();
    let wanted = (1u128 << question.allowed.len()) - 1;
    parts(history).into_iter().filter(|it| universe.has(it)).find(|it| allowed_by(it, &specs) == wanted)
}

fn parts(history: &Abstract) -> Vec<Abstract> {
    let mut parts = Vec::new();
    for idx in 0..history.reads.len() {
        let mut part = history.clone();
        part.reads.remove(idx);
        parts.push(part);
    }
    for idx in 0..history.writes.len() {
        let mut part = history.clone();
        part.writes.remove(idx);
        parts.push(part);
    }
    for so in subsets(&history.so).into_iter().filter(is_closed) {
        parts.push(Abstract { so, ..history.clone() });
    }
    if let Some(rt) = &history.rt {
        let within = |it: &Order| it.len() < rt.len() && it.iter().all(|pair| rt.contains(pair));
        let orders = interval_orders(history.n, &history.so).into_iter().filter(within);
        parts.extend(orders.map(|it| Abstract { rt: Some(it), ..history.clone() }));
    }
    parts.into_iter().map(without_unused_keys).collect()
}

fn without_unused_keys(mut history: Abstract) -> Abstract {
    let mut used: Vec<u8> =
        history.reads.iter().map(|it| it.key).chain(history.writes.iter().map(|it| it.key)).collect();
    used.sort_unstable();
    used.dedup();
    let place = |key: u8| used.iter().position(|it| *it == key).expect("used") as u8;
    history.reads.iter_mut().for_each(|it| it.key = place(it.key));
    history.writes.iter_mut().for_each(|it| it.key = place(it.key));
    history.k = used.len();
    history
}

/// All subsets but the whole.
fn subsets(pairs: &Order) -> Vec<Order> {
    let chosen = |mask: u32| pairs.iter().enumerate().filter(move |it| mask >> it.0 & 1 == 1).map(|it| *it.1);
    (0..(1u32 << pairs.len()) - 1).map(|mask| chosen(mask).collect()).collect()
}

fn is_closed(order: &Order) -> bool {
    let goes_on = |one: &(u8, u8), next: &(u8, u8)| one.1 != next.0 || order.contains(&(one.0, next.1));
    order.iter().all(|one| order.iter().all(|next| goes_on(one, next)))
}
