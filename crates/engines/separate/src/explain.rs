//! Why a spec forbids a history: what fails for each witness that one could try.

use crate::known::KnownHistory;
use crate::matrix::Matrix;
use crate::plan::Plans;
use crate::separate::relations;
use crate::sketch::Slot;
use crate::translate::{KeyRange, Translator, WitnessValue};
use crate::witness::{Board, Rest};
use crate::words::Namer;
use iso_form::{Form, Signed, conjuncts};
use iso_history::{Facts, History, OpId, TxnId};
use iso_solve::{Circuit, Wire};
use iso_spec::{Execution, Formula, Relation, Sort, Spec, Variable};
use std::rc::Rc;
use std::sync::Arc;

/// What fails, witness by witness.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Different reasons, each with the first witness that fails for it.
    pub failures: Vec<Failure>,
    /// How many further reasons were left out.
    pub n_omitted: usize,
    /// Was every witness tried that the spec could have? Otherwise only some that come near.
    pub is_exhaustive: bool,
}

/// Why a witness does not explain a history.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The witness.
    pub execution: Execution,
    /// What is wrong with it.
    pub because: String,
    /// How many other witnesses fail for the same reason.
    pub n_alike: usize,
}

/// So many orders of transactions are tried: all of those of six.
const MAX_ORDERS: usize = 720;

/// Says why the spec forbids the history, with at most so many reasons; nothing if it is open what happened.
pub fn explain(
    history: &History,
    session_order: Option<&[(TxnId, TxnId)]>,
    spec: &Spec,
    max_reasons: usize,
) -> Explanation {
    let facts = Facts::new(history);
    let Some(known) = KnownHistory::new(&facts, session_order) else { return Explanation::default() };
    let sources = (0..facts.reads().len()).map(|it| (facts.reads()[it].op, facts.candidates(it)[0])).collect();
    let mut explainer = Explainer::new(history, spec, known, sources);
    let mut seen: Vec<Vec<NamedPairs>> = Vec::new();
    let mut reasons: Vec<(usize, Failure)> = Vec::new();
    let orders = orders(explainer.txns.len());
    let is_complete = orders.is_some();
    for places in orders.unwrap_or_else(|| explainer.some_orders()) {
        let (values, execution) = explainer.witness(&places);
        let pairs: Vec<NamedPairs> = execution.relations.iter().map(|it| (it.name.clone(), it.pairs.clone())).collect();
        if seen.contains(&pairs) {
            continue;
        }
        seen.push(pairs);
        let Some((rank, because)) = explainer.failure(&values) else { continue };
        match reasons.iter_mut().find(|it| it.1.because == because) {
            Some((_, failure)) => failure.n_alike += 1,
            None => reasons.push((rank, Failure { execution, because, n_alike: 0 })),
        }
    }
    // What the framework requires is the least interesting reason.
    reasons.sort_by_key(|it| it.0);
    let n_omitted = reasons.len().saturating_sub(max_reasons);
    let failures = reasons.into_iter().take(max_reasons).map(|it| it.1).collect();
    Explanation { failures, n_omitted, is_exhaustive: is_complete && explainer.form.follows_from_order() }
}

type NamedPairs = (String, Vec<(TxnId, TxnId)>);

struct Explainer<'e> {
    history: &'e History,
    spec: &'e Spec,
    form: Form<'e>,
    board: Board,
    txns: Vec<TxnId>,
    keys: Vec<iso_history::KeyId>,
    sources: Vec<(OpId, TxnId)>,
    /// What must be true, the requirements of the framework last.
    parts: Vec<Signed>,
    n_own_parts: usize,
}

impl<'e> Explainer<'e> {
    fn new(history: &'e History, spec: &'e Spec, known: KnownHistory, sources: Vec<(OpId, TxnId)>) -> Self {
        let KnownHistory { sketch, txns, keys } = known;
        let mut parts = Vec::new();
        conjuncts(spec.formula(), true, &mut parts);
        let n_own_parts = parts.len();
        for requirement in spec.requirements() {
            conjuncts(requirement, true, &mut parts);
        }
        let board = Board { circuit: Circuit::new(), sketch, plans: Plans::default() };
        Self { history, spec, form: Form::new(spec), board, txns, keys, sources, parts, n_own_parts }
    }

    /// The witness that follows from an order of the transactions.
    fn witness(&mut self, places: &[usize]) -> (Vec<WitnessValue>, Execution) {
        let order = Rc::new(Matrix::of_places(places));
        let witness = self.board.witness(&self.form, Some(order), Rest::Guess(0));
        let keys: Vec<_> = self.keys.iter().map(|it| Some(*it)).collect();
        let mut execution = Execution::new(self.txns.iter().copied(), self.sources.clone());
        execution.relations = relations(self.spec, &witness, &self.txns, &keys);
        (witness.values, execution)
    }

    /// The first part that is not true; requirements only count if the level's own parts are all true.
    fn failure(&mut self, values: &[WitnessValue]) -> Option<(usize, String)> {
        let Board { circuit, sketch, plans } = &mut self.board;
        let mut translator = Translator::new(circuit, sketch, plans, values);
        let is_false = |translator: &mut Translator<'_>, part: &Signed| {
            translator.formula(&part.formula) != Wire::constant(part.is_true)
        };
        let required = (self.n_own_parts..self.parts.len()).find(|it| is_false(&mut translator, &self.parts[*it]));
        let own = (0..self.n_own_parts).find(|it| is_false(&mut translator, &self.parts[*it]));
        let (rank, at) = match (required, own) {
            (None, Some(own)) => (0, own),
            (Some(required), _) => (1, required),
            (None, None) => return None,
        };
        let (history, txns, keys) = (self.history, &self.txns, &self.keys);
        let slots = self.board.sketch.slots.clone();
        let name = |sort: Sort, elem: usize| match sort {
            Sort::Txn if elem == 0 => "init".to_owned(),
            Sort::Txn => history.label(txns[elem]),
            Sort::Key => history.key_name(keys[elem]).to_string(),
            Sort::Read => {
                let slot = slots[elem];
                let (reader, key) = (history.label(txns[slot.txn]), history.key_name(keys[slot.key]));
                let same = |it: &&Slot| it.txn == slot.txn && it.key == slot.key;
                let nth = match (slots.iter().filter(same).count(), slots[..elem].iter().filter(same).count()) {
                    (1, _) => "",
                    (_, 0) => "first ",
                    (_, 1) => "second ",
                    _ => "later ",
                };
                format!("{reader}'s {nth}read of {key}")
            }
        };
        let mut namer = Namer { spec: self.spec, name: &name, values: Vec::new() };
        let Board { circuit, sketch, plans } = &mut self.board;
        let mut translator = Translator::new(circuit, sketch, plans, values);
        let part = &self.parts[at];
        Some((rank, sentence(&mut translator, &mut namer, part)))
    }

    /// Some orders, if there are too many: those that session order and reads respect come first.
    fn some_orders(&self) -> Vec<Vec<usize>> {
        let (n, sketch) = (self.txns.len(), &self.board.sketch);
        let mut orders = Vec::new();
        let mut sequence = vec![0];
        let is_next = |it: usize, sequence: &[usize]| {
            let before = |other: usize| sketch.so.at(other, it) == Wire::TRUE || sketch.wr.at(other, it) == Wire::TRUE;
            !sequence.contains(&it) && (0..n).all(|other| !before(other) || sequence.contains(&other))
        };
        extend(&mut sequence, n, &is_next, &mut orders);
        orders
    }
}

/// All orders with the initial transaction first, by place; nothing if there are too many.
fn orders(n: usize) -> Option<Vec<Vec<usize>>> {
    let n_orders = (1..n).try_fold(1usize, |product, it| product.checked_mul(it).filter(|it| *it <= MAX_ORDERS))?;
    let mut all = Vec::with_capacity(n_orders);
    extend(&mut vec![0], n, &|it, sequence| !sequence.contains(&it), &mut all);
    Some(all)
}

fn extend(
    sequence: &mut Vec<usize>,
    n: usize,
    is_next: &dyn Fn(usize, &[usize]) -> bool,
    orders: &mut Vec<Vec<usize>>,
) {
    if orders.len() >= MAX_ORDERS {
        return;
    }
    if sequence.len() == n {
        let mut places = vec![0; n];
        for (place, txn) in sequence.iter().enumerate() {
            places[*txn] = place;
        }
        orders.push(places);
        return;
    }
    for it in 0..n {
        if is_next(it, sequence) {
            sequence.push(it);
            extend(sequence, n, is_next, orders);
            sequence.pop();
        }
    }
}

/// Why a part is not true.
fn sentence(translator: &mut Translator<'_>, namer: &mut Namer<'_>, part: &Signed) -> String {
    match (&*part.formula, part.is_true) {
        (Formula::Forall(variables, body), true) | (Formula::Exists(variables, body), false) => {
            let is_true = !part.is_true;
            instance(translator, namer, variables, body, is_true).unwrap_or_else(|| whole(namer, part))
        }
        (Formula::Within(left, right), true) => {
            let (inside, outside) = (translator.matrix(left), translator.matrix(right));
            let pair = first_pair(&inside, |a, b| inside.at(a, b) == Wire::TRUE && outside.at(a, b) != Wire::TRUE);
            match pair {
                Some((a, b)) => {
                    let sorts = left.sorts();
                    let (a, b) = ((namer.name)(sorts.0, a), (namer.name)(sorts.1, b));
                    format!("({a}, {b}) is in {} but not in {}", namer.relation(left), namer.relation(right))
                }
                None => whole(namer, part),
            }
        }
        (Formula::Acyclic(of), true) => cycle(translator, namer, of).unwrap_or_else(|| whole(namer, part)),
        (Formula::Irreflexive(of), true) => {
            let matrix = translator.matrix(of);
            match (0..matrix.n_rows()).find(|it| matrix.at(*it, *it) == Wire::TRUE) {
                Some(own) => {
                    let own = (namer.name)(of.sorts().0, own);
                    format!("({own}, {own}) is in {}", namer.relation(of))
                }
                None => whole(namer, part),
            }
        }
        _ => whole(namer, part),
    }
}

fn whole(namer: &Namer<'_>, part: &Signed) -> String {
    let words = if part.is_true { "it is not so that" } else { "it is so that" };
    format!("{words} {}", namer.formula(&part.formula))
}

/// The first values for which the body is true, or false, as one sentence: what is so, but what is not.
fn instance(
    translator: &mut Translator<'_>,
    namer: &mut Namer<'_>,
    variables: &[Variable],
    body: &Arc<Formula>,
    is_true: bool,
) -> Option<String> {
    let mut first: Option<Vec<usize>> = None;
    translator.each_case(variables, body, is_true, KeyRange::All, &mut |values, case| {
        if case == Wire::TRUE && first.is_none() {
            first = Some(variables.iter().map(|it| values[it.id as usize]).collect());
        }
    });
    namer.values = variables.iter().zip(first?).map(|(variable, value)| (variable.id, variable.sort, value)).collect();
    let mut parts = Vec::new();
    conjuncts(body, is_true, &mut parts);
    let so: Vec<String> =
        parts.iter().filter(|it| it.is_true).filter_map(|it| namer.clause(&it.formula, true)).collect();
    let not: Vec<String> =
        parts.iter().filter(|it| !it.is_true).filter_map(|it| namer.clause(&it.formula, false)).collect();
    Some(match (so.is_empty(), not.is_empty()) {
        (_, true) => so.join(", "),
        (true, false) => not.join(", "),
        (false, false) => format!("{}, but {}", so.join(", "), not.join(", ")),
    })
}

fn cycle(translator: &mut Translator<'_>, namer: &Namer<'_>, of: &Arc<Relation>) -> Option<String> {
    let matrix = translator.matrix(of);
    let n = matrix.n_rows();
    let mut shortest: Option<Vec<usize>> = None;
    for start in 0..n {
        // Breadth first from each element back to itself.
        let mut before = vec![usize::MAX; n];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for next in (0..n).filter(|it| matrix.at(at, *it) == Wire::TRUE) {
                if before[next] == usize::MAX {
                    before[next] = at;
                    queue.push_back(next);
                }
            }
        }
        if before[start] == usize::MAX {
            continue;
        }
        let mut path = vec![start];
        let mut at = before[start];
        while at != start {
            path.push(at);
            at = before[at];
        }
        path.push(start);
        path.reverse();
        if shortest.as_ref().is_none_or(|it| path.len() < it.len()) {
            shortest = Some(path);
        }
    }
    let names: Vec<String> = shortest?.into_iter().map(|it| (namer.name)(of.sorts().0, it)).collect();
    Some(format!("{} is a cycle of {}", names.join(" -> "), namer.relation(of)))
}

fn first_pair(of: &Matrix, is_it: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
    (0..of.n_rows()).flat_map(|a| (0..of.n_cols()).map(move |b| (a, b))).find(|it| is_it(it.0, it.1))
}
