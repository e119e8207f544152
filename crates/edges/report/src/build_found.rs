//! From the kernel's types to a found history.

use crate::build::{Builder, pairs, transaction_in, txn_ref};
use crate::document::{Certified, Excerpt, Transaction, TxnRef};
use crate::found::{Failure, Found, KeyVersions, RelationShape, SpecRefutation, SpecWitness, WitnessRelation};
use crate::notation::{Comments, notation};
use crate::phrases::relation_words;
use crate::value::{Operation, Value};
use iso_evidence::Refutation;
use iso_history::{History, TxnId};
use iso_spec::{Execution, NamedRelation, Spec, WitnessKind};
use std::collections::BTreeSet;

/// A level that allows the history, and how.
#[derive(Clone, Debug)]
pub struct AllowedBy<'a> {
    /// The level.
    pub spec: &'a Spec,
    /// What its framework says must exist.
    pub execution: &'a Execution,
    /// Was it checked?
    pub certified: Certified,
}

/// A level that forbids the history, and why: by a refutation, by what fails for witnesses, or by both.
#[derive(Clone, Debug)]
pub struct ForbiddenBy<'a> {
    /// The level.
    pub spec: &'a Spec,
    /// Why, if the level is one that `check` decides.
    pub refutation: Option<&'a Refutation>,
    /// What fails for witnesses that one could try.
    pub failures: Vec<Failure>,
    /// How many more of them fail.
    pub omitted: usize,
    /// Are these all witnesses that one could try, or only some that come near?
    pub is_exhaustive: bool,
    /// Was it checked?
    pub certified: Certified,
}

impl Found {
    /// A history with the evidence of each level. `session_order` has all its pairs, if the sessions of the history do
    /// not say everything.
    pub fn new(
        history: &History,
        session_order: Option<&[(TxnId, TxnId)]>,
        allowed: &[AllowedBy<'_>],
        forbidden: &[ForbiddenBy<'_>],
    ) -> Self {
        let builder = Builder::new(history);
        let session_order = beyond_sessions(history, session_order.unwrap_or_default());
        let label = |txn: TxnId| history.label(txn);
        let mut found = Self {
            history: String::new(),
            initial: crate::build::initial_values(history),
            transactions: history.txns().map(|it| transaction(history, it)).collect(),
            session_order: session_order.iter().map(|it| (label(it.0), label(it.1))).collect(),
            witnesses: allowed.iter().map(|it| witness(history, it)).collect(),
            refutations: forbidden.iter().map(|it| refutation(&builder, it)).collect(),
        };
        let comments = found.session_order.iter().map(|(from, to)| format!("# session order: {from} < {to}\n"));
        found.history = comments.collect::<String>() + &notation(&found.as_excerpt(), Comments::None);
        found
    }
}

impl Excerpt {
    /// A whole history, with what makes a level forbid it, if one does.
    pub fn whole(history: &History, refutation: Option<&Refutation>) -> Self {
        let mut whole = Found::new(history, None, &[], &[]).as_excerpt();
        if let Some(refutation) = refutation {
            let builder = Builder::new(history);
            let core = builder.core(refutation);
            whole.summary = core.summary;
            whole.cycle = core.cycle;
            whole.local = core.local.map(|it| builder.in_whole(it, refutation));
        }
        whole
    }
}

impl Failure {
    /// That a witness does not do, and why.
    pub fn new(history: &History, spec: &Spec, execution: &Execution, because: impl Into<String>) -> Self {
        let txns: Vec<TxnRef> = history.txns().map(|it| txn_ref(history, it)).collect();
        let words = relations(history, spec, execution).iter().map(|it| relation_words(it, &txns)).collect::<Vec<_>>();
        Self { witness: words.join("; "), because: because.into() }
    }
}

fn transaction(history: &History, txn: TxnId) -> Transaction {
    let times = (history.begin(txn), history.end(txn));
    Transaction {
        // Nobody wrote it down: the history was made up.
        place: None,
        times: (times != (None, None)).then_some(times),
        ..transaction_in(history, txn, history.ops(txn).map(|it| Operation::new(history, it)).collect())
    }
}

/// The pairs that do not follow from the sessions or from other pairs.
fn beyond_sessions(history: &History, pairs: &[(TxnId, TxnId)]) -> Vec<(TxnId, TxnId)> {
    let given: BTreeSet<(TxnId, TxnId)> = pairs.iter().copied().filter(|it| !it.0.is_initial()).collect();
    let is_before = |a: TxnId, b: TxnId| given.contains(&(a, b)) || history.is_session_ordered(a, b);
    let follows = |(a, b): (TxnId, TxnId)| {
        history.is_session_ordered(a, b) || history.txns().any(|between| is_before(a, between) && is_before(between, b))
    };
    given.iter().copied().filter(|it| !follows(*it)).collect()
}

fn witness(history: &History, allowed: &AllowedBy<'_>) -> SpecWitness {
    SpecWitness {
        level: allowed.spec.name().to_owned(),
        framework: allowed.spec.framework().to_owned(),
        relations: relations(history, allowed.spec, allowed.execution),
        certified: allowed.certified.clone(),
    }
}

/// What exists, in the order of the framework.
fn relations(history: &History, spec: &Spec, execution: &Execution) -> Vec<WitnessRelation> {
    let wanted = spec.witnesses().iter();
    wanted.map(|it| WitnessRelation { name: it.name.clone(), shape: shape(history, execution, it) }).collect()
}

fn shape(history: &History, execution: &Execution, wanted: &iso_spec::Witness) -> RelationShape {
    let label = |txn: &TxnId| history.label(*txn);
    match wanted.kind {
        WitnessKind::Order => {
            RelationShape::Order(execution.order(&wanted.name).unwrap_or_default().iter().map(label).collect())
        }
        WitnessKind::Relation => {
            RelationShape::Pairs(pairs(history, &execution.pairs(&wanted.name).unwrap_or_default()))
        }
        WitnessKind::Versions => {
            let parts = execution.relations.iter().filter(|it| it.name == wanted.name);
            let of_key = |it: &NamedRelation| KeyVersions {
                key: it.key.map_or(Value::Missing, |key| history.key_name(key).into()),
                writers: oldest_first(&it.pairs).iter().map(label).collect(),
            };
            RelationShape::Versions(parts.map(of_key).collect())
        }
    }
}

/// The members of a total order but the initial transaction.
fn oldest_first(pairs: &[(TxnId, TxnId)]) -> Vec<TxnId> {
    let members: BTreeSet<TxnId> = pairs.iter().flat_map(|it| [it.0, it.1]).filter(|it| !it.is_initial()).collect();
    let mut members: Vec<TxnId> = members.into_iter().collect();
    members.sort_by_key(|txn| pairs.iter().filter(|it| it.1 == *txn).count());
    members
}

fn refutation(builder: &Builder<'_>, forbidden: &ForbiddenBy<'_>) -> SpecRefutation {
    let base = SpecRefutation {
        level: forbidden.spec.name().to_owned(),
        failures: forbidden.failures.clone(),
        omitted: forbidden.omitted,
        is_exhaustive: forbidden.is_exhaustive,
        certified: forbidden.certified.clone(),
        ..SpecRefutation::default()
    };
    let Some(refutation) = forbidden.refutation else { return base };
    let core = builder.core(refutation);
    SpecRefutation {
        anomalies: refutation.anomalies.iter().map(ToString::to_string).collect(),
        summary: core.summary,
        cycle: core.cycle,
        local: core.local.map(|it| builder.in_whole(it, refutation)),
        ..base
    }
}
