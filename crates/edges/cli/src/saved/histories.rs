//! Histories of documents, and the evidence for and against levels: read back, and given to the kernel.

use super::{Levels, Outcome};
use iso_evidence::{
    Anomaly, Budget, Event, Grounds, Refutation, Schedule, Source, Uncertified, Verdict, Witness, certify, certify_spec,
};
use iso_formats::{Format, ReadOptions, read_from};
use iso_history::{Facts, History, KeyId, OpId, Projection, Standing, TxnId};
use iso_report::{
    CoreNumbers, EventKind, Evidence, Excerpt, ExecutionRelation, RelationMembers, RelationShape, SavedDerivation,
    SavedGrounds, SpecWitness, Transaction, TxnRef, Value, compare_transactions,
};
use iso_spec::{Evaluation, Execution, Prepared, Spec, Steps, holds, holds_with_session_order};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A second or so of the reference evaluator.
const MAX_STEPS: u64 = 1 << 20;

/// A history of a document, or what is wrong with it.
#[derive(Debug)]
pub(super) struct SavedHistory(Result<History, String>);

/// A claim is shown, wrong, or cannot be looked at.
type Checked = Result<(), Problem>;

/// Why a claim is not certified.
pub(super) enum Problem {
    Wrong(String),
    Unchecked(String),
}

impl From<Uncertified> for Problem {
    fn from(why: Uncertified) -> Self {
        if why.is_too_large { Self::Unchecked(why.reason) } else { Self::Wrong(why.reason) }
    }
}

pub(super) fn wrong<T>(reason: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Wrong(reason.into()))
}

impl SavedHistory {
    /// Reads a history in our notation.
    pub(super) fn read_text(text: &str) -> Self {
        let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
        let history = read_from("history", text.as_bytes(), &options).map_err(|it| it.to_string());
        Self(history.and_then(|reading| {
            reading.into_history().map_err(|defects| {
                let first = defects.first().map_or_else(String::new, |it| it.message.clone());
                format!("the history cannot be read: {first}")
            })
        }))
    }

    /// The same, if it agrees with what the document lists.
    pub(super) fn read(text: &str, transactions: &[Transaction]) -> Self {
        let Self(history) = Self::read_text(text);
        Self(history.and_then(|it| compare_transactions(transactions, &it).map(|()| it)))
    }

    /// What becomes of a claim about the history.
    pub(super) fn and(&self, claim: impl FnOnce(&History) -> Checked) -> Outcome {
        match &self.0 {
            Err(reason) => Outcome::Refused(reason.clone()),
            Ok(history) => match claim(history) {
                Ok(()) => Outcome::Certified,
                Err(Problem::Wrong(reason)) => Outcome::Refused(reason),
                Err(Problem::Unchecked(reason)) => Outcome::Missing(reason),
            },
        }
    }
}

/// What can be claimed of a history.
pub(super) trait Claims {
    /// The witness of an answer explains it.
    fn is_explained(&self, levels: Levels<'_>, name: &str, evidence: &Evidence) -> Checked;
    /// The witness of a found history explains it.
    fn has_witness(&self, levels: Levels<'_>, witness: &SpecWitness, session_order: &[(String, String)]) -> Checked;
    /// The level forbids it, and that has these names.
    fn is_forbidden(&self, levels: Levels<'_>, name: &str, anomalies: &[String]) -> Checked;
    /// The same of the core of an answer, by its derivation if it has one.
    fn is_forbidden_core(&self, levels: Levels<'_>, name: &str, anomalies: &[String], core: &Excerpt) -> Checked;
    /// The text of the level forbids it.
    fn is_forbidden_by_text(&self, levels: Levels<'_>, name: &str, session_order: &[(String, String)]) -> Checked;
    /// The text of the level allows it.
    fn is_allowed_by_text(&self, levels: Levels<'_>, name: &str) -> Checked;
}

impl Claims for History {
    fn is_explained(&self, levels: Levels<'_>, name: &str, evidence: &Evidence) -> Checked {
        let spec = levels.spec(name).map_err(Problem::Unchecked)?;
        let facts = Facts::new(self);
        let sources = sources(self, &facts, evidence)?;
        let cut = || Problem::Unchecked("the document has only the beginning of the witness".to_owned());
        let schedule = match &evidence.schedule {
            iso_report::Schedule::Order { omitted, .. } | iso_report::Schedule::Events { omitted, .. }
                if *omitted > 0 =>
            {
                return Err(cut());
            }
            iso_report::Schedule::Order { order, .. } => Schedule::Order(named(self, order)?),
            iso_report::Schedule::Events { events, .. } => {
                let event = |(kind, name): &(EventKind, String)| {
                    let txn = txn(self, name)?;
                    Ok(match kind {
                        EventKind::Snapshot => Event::Snapshot(txn),
                        EventKind::Commit => Event::Commit(txn),
                    })
                };
                Schedule::Events(events.iter().map(event).collect::<Result<_, Problem>>()?)
            }
            iso_report::Schedule::Relations { relations } => {
                let is_cut = |it: &ExecutionRelation| match it.members {
                    RelationMembers::Order { omitted, .. } | RelationMembers::Pairs { omitted, .. } => omitted > 0,
                };
                if relations.iter().any(is_cut) {
                    return Err(cut());
                }
                Schedule::Execution(execution(self, &facts, relations, &sources)?)
            }
        };
        let is_execution = matches!(schedule, Schedule::Execution(_));
        let verdict = Verdict::Allowed(Witness { schedule, sources: Arc::new(sources.into_iter().collect()) });
        match levels.level(name).filter(|_| !is_execution) {
            // Whose statements took which snapshot is not in a document.
            Some(level) if level.snapshots().is_some() => self.is_allowed_by_text(levels, name),
            Some(level) => Ok(certify(self, level, &verdict)?),
            None => Ok(certify_spec(&facts, spec, &verdict, &Budget::unlimited())?),
        }
    }

    fn has_witness(&self, levels: Levels<'_>, witness: &SpecWitness, session_order: &[(String, String)]) -> Checked {
        let spec = levels.spec(&witness.level).map_err(Problem::Unchecked)?;
        let facts = Facts::new(self);
        let sources = only_sources(&facts)?;
        let sources = sources.iter().map(|it| (it.read, it.writer)).collect();
        let mut execution = Execution::new(included(&facts), sources);
        for relation in &witness.relations {
            execution = match &relation.shape {
                RelationShape::Order(order) => execution.with_order(&relation.name, &named(self, order)?),
                RelationShape::Pairs(pairs) => {
                    let pairs = pairs.iter().map(|it| Ok((reference(self, &it.0)?, reference(self, &it.1)?)));
                    execution.with_relation(&relation.name, pairs.collect::<Result<Vec<_>, Problem>>()?)
                }
                RelationShape::Versions(versions) => {
                    for of in versions {
                        let writers = named(self, &of.writers)?;
                        execution = execution.with_versions(&relation.name, key(self, &of.key)?, &writers);
                    }
                    execution
                }
            };
        }
        let order = session_pairs(self, session_order)?;
        let is_right = match &order[..] {
            [] => holds(&facts, spec, &execution),
            pairs => holds_with_session_order(&facts, spec, &execution, pairs),
        };
        if is_right { Ok(()) } else { wrong(format!("the witness is none of {}", spec.name())) }
    }

    fn is_forbidden(&self, levels: Levels<'_>, name: &str, anomalies: &[String]) -> Checked {
        forbidden(self, levels, name, anomalies, None)
    }

    fn is_forbidden_core(&self, levels: Levels<'_>, name: &str, anomalies: &[String], core: &Excerpt) -> Checked {
        let shown = match (&core.derivation, &core.grounds) {
            (Some(saved), _) => is_derived(self, saved, levels, name, anomalies, core),
            (None, Some(saved)) => has_grounds(self, saved, levels, name, anomalies, core),
            (None, None) => return self.is_forbidden(levels, name, anomalies),
        };
        // A small core needs neither, and what is true is certified.
        shown.or_else(|problem| self.is_forbidden(levels, name, anomalies).map_err(|_| problem))
    }

    fn is_forbidden_by_text(&self, levels: Levels<'_>, name: &str, session_order: &[(String, String)]) -> Checked {
        match evaluated(self, levels.spec(name).map_err(Problem::Unchecked)?, session_order)? {
            Evaluation::Forbidden => Ok(()),
            Evaluation::Allowed(_) => wrong(format!("{name} allows it")),
            _ => Err(Problem::Unchecked(format!("it is too large to be decided by the text of {name}"))),
        }
    }

    fn is_allowed_by_text(&self, levels: Levels<'_>, name: &str) -> Checked {
        match evaluated(self, levels.spec(name).map_err(Problem::Unchecked)?, &[])? {
            Evaluation::Allowed(_) => Ok(()),
            Evaluation::Forbidden => wrong(format!("{name} forbids it")),
            _ => Err(Problem::Unchecked(format!("it is too large to be decided by the text of {name}"))),
        }
    }
}

/// The level forbids a core by a derivation, which has the numbers of the core as a history of its own.
fn is_derived(
    history: &History,
    saved: &SavedDerivation,
    levels: Levels<'_>,
    name: &str,
    anomalies: &[String],
    core: &Excerpt,
) -> Checked {
    let txns: Vec<TxnId> = history.txns().filter(|it| !it.is_initial()).collect();
    let own = Projection::new(&Facts::new(history), &txns, &BTreeSet::new()).history;
    let numbers = CoreNumbers { history: &own, txns: listed(&own, &core.transactions)? };
    let derivation = saved.read(&numbers).map_err(Problem::Wrong)?;
    forbidden(history, levels, name, anomalies, Some(Arc::new(Grounds::Derivation(derivation))))
}

/// The level forbids a core case by case. Grounds have the numbers of a history whose transactions are in the order of the list:
/// which cases there are, and in which order, follows from it.
fn has_grounds(
    history: &History,
    saved: &SavedGrounds,
    levels: Levels<'_>,
    name: &str,
    anomalies: &[String],
    core: &Excerpt,
) -> Checked {
    let txns = listed(history, &core.transactions)?;
    let in_order = Projection::verbatim(history, &txns, |_| true).history;
    let grounds = saved.read().map_err(Problem::Wrong)?;
    forbidden(&in_order, levels, name, anomalies, Some(Arc::new(grounds)))
}

/// The level forbids a history on these grounds, and that has these names.
fn forbidden(
    history: &History,
    levels: Levels<'_>,
    name: &str,
    anomalies: &[String],
    grounds: Option<Arc<Grounds>>,
) -> Checked {
    let spec = levels.spec(name).map_err(Problem::Unchecked)?;
    let facts = Facts::new(history);
    let mut known = Vec::new();
    for anomaly in anomalies {
        match Anomaly::from_name(anomaly) {
            Some(anomaly) => known.push(anomaly),
            None => return wrong(format!("`{anomaly}` is no anomaly")),
        }
    }
    let txns: Vec<TxnId> = history.txns().filter(|it| !it.is_initial()).collect();
    let refutation = Refutation {
        anomalies: known,
        ops: txns.iter().flat_map(|it| history.ops(*it)).collect(),
        txns,
        // A read that nothing explains needs no more.
        local: facts.local().first().copied().filter(|_| grounds.is_none()),
        cycle: Vec::new(),
        proof: None,
        grounds,
    };
    let verdict = Verdict::Forbidden(refutation);
    match levels.level(name) {
        Some(level) => Ok(certify(history, level, &verdict)?),
        None => Ok(certify_spec(&facts, spec, &verdict, &Budget::unlimited())?),
    }
}

/// The transactions of a history in the order in which a document lists them: sessions have theirs in the same order.
fn listed(history: &History, transactions: &[Transaction]) -> Result<Vec<TxnId>, Problem> {
    let mut left: BTreeMap<&str, std::slice::Iter<'_, TxnId>> =
        history.sessions().map(|it| (history.session_name(it), history.session_txns(it).iter())).collect();
    let next = |it: &Transaction| left.get_mut(it.session.as_str())?.next().copied();
    let listed: Option<Vec<TxnId>> = transactions.iter().map(next).collect();
    listed.map_or_else(|| wrong("the transactions are not those of the history"), Ok)
}

fn evaluated(history: &History, spec: &Spec, session_order: &[(String, String)]) -> Result<Evaluation, Problem> {
    let facts = Facts::new(history);
    let order = session_pairs(history, session_order)?;
    let prepared = match &order[..] {
        [] => Prepared::new(&facts),
        pairs => Prepared::with_session_order(&facts, pairs),
    };
    Ok(prepared.evaluate(spec, &mut Steps::new(MAX_STEPS)))
}

/// The pairs, which must be a strict order of transactions.
fn session_pairs(history: &History, session_order: &[(String, String)]) -> Result<Vec<(TxnId, TxnId)>, Problem> {
    let pair = |it: &(String, String)| Ok((txn(history, &it.0)?, txn(history, &it.1)?));
    let mut pairs = session_order.iter().map(pair).collect::<Result<Vec<_>, Problem>>()?;
    if pairs.is_empty() {
        return Ok(pairs);
    }
    let mut left = pairs.clone();
    while !left.is_empty() {
        let n_before = left.len();
        let firsts: Vec<TxnId> = left.iter().map(|it| it.0).collect();
        left.retain(|it| firsts.contains(&it.1));
        if left.len() == n_before {
            return wrong("the session order has a cycle");
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

fn txn(history: &History, name: &str) -> Result<TxnId, Problem> {
    let mut txns = history.txns().filter(|it| !it.is_initial());
    txns.find(|it| history.label(*it) == name).map_or_else(|| wrong(format!("there is no transaction {name}")), Ok)
}

fn reference(history: &History, of: &TxnRef) -> Result<TxnId, Problem> {
    match of {
        TxnRef::Initial => Ok(TxnId::INITIAL),
        TxnRef::Txn(name) => txn(history, name),
    }
}

fn named(history: &History, names: &[String]) -> Result<Vec<TxnId>, Problem> {
    names.iter().map(|it| txn(history, it)).collect()
}

fn key(history: &History, name: &Value) -> Result<KeyId, Problem> {
    let mut keys = (0..history.n_keys()).map(KeyId::from_index);
    let is_it = |it: &KeyId| Value::from(history.key_name(*it)) == *name;
    keys.find(is_it).map_or_else(|| wrong(format!("there is no key {name}")), Ok)
}

/// Those that took part for sure.
fn included(facts: &Facts<'_>) -> Vec<TxnId> {
    facts.txns().filter(|it| facts.standing(*it) == Standing::Counted).collect()
}

/// Whose write each read saw, where the values say it.
fn only_sources(facts: &Facts<'_>) -> Result<Vec<Source>, Problem> {
    let mut sources = Vec::new();
    for (idx, read) in facts.reads().iter().enumerate() {
        match facts.candidates(idx) {
            [] => {}
            [writer] => sources.push(Source { read: read.op, writer: *writer }),
            _ => return Err(Problem::Unchecked("whose write a read saw is not in the document".to_owned())),
        }
    }
    Ok(sources)
}

/// Whose write each read saw, as the document says, or the values do.
fn sources(history: &History, facts: &Facts<'_>, evidence: &Evidence) -> Result<Vec<Source>, Problem> {
    let mut said: Vec<(OpId, TxnId)> = Vec::new();
    for source in &evidence.sources {
        let reader = txn(history, &source.transaction)?;
        let Some(read) = history.ops(reader).nth(source.op) else {
            return wrong(format!("{} has no operation {}", source.transaction, source.op));
        };
        said.push((read, reference(history, &source.writer)?));
    }
    let mut sources = Vec::new();
    for (idx, read) in facts.reads().iter().enumerate() {
        let known = said.iter().find(|it| it.0 == read.op).map(|it| it.1);
        match (known, facts.candidates(idx)) {
            (Some(writer), _) => sources.push(Source { read: read.op, writer }),
            (None, [writer]) => sources.push(Source { read: read.op, writer: *writer }),
            // Reads of whoever did not take part say nothing; certify finds out whether it may be left out.
            (None, _) => {}
        }
    }
    sources.sort_unstable();
    Ok(sources)
}

fn execution(
    history: &History,
    facts: &Facts<'_>,
    relations: &[ExecutionRelation],
    sources: &[Source],
) -> Result<Execution, Problem> {
    let mut execution = Execution::new(included(facts), sources.iter().map(|it| (it.read, it.writer)).collect());
    for relation in relations {
        let of_key = relation.key.as_ref().map(|it| key(history, it)).transpose()?;
        let pairs = match &relation.members {
            RelationMembers::Order { order, .. } => {
                let order = named(history, order)?;
                execution = match of_key {
                    Some(of_key) => execution.with_versions(&relation.name, of_key, &order),
                    None => execution.with_order(&relation.name, &order),
                };
                continue;
            }
            RelationMembers::Pairs { pairs, .. } => pairs,
        };
        let pairs = pairs.iter().map(|it| Ok((reference(history, &it.0)?, reference(history, &it.1)?)));
        let mut pairs = pairs.collect::<Result<Vec<_>, Problem>>()?;
        pairs.sort_unstable();
        let (name, key) = (relation.name.clone(), of_key);
        execution.relations.push(iso_spec::NamedRelation { name, key, pairs });
    }
    Ok(execution)
}
