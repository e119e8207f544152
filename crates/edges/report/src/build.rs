//! From the kernel's types to the document.

use crate::derivation::SavedDerivation;
use crate::document::{
    CheckReport, Counts, Defect, EventKind, Evidence, Excerpt, Judgement, LevelName, LevelReport, Link, LinkKind,
    LocalRead, Outcome, Place, Premises, ReadSource, Schedule, Severity, Transaction, TxnRef,
};
use crate::execution::{ExecutionRelation, RelationMembers};
use crate::explain::Explainer;
use crate::explain_local::local_edges;
use crate::grounds::SavedGrounds;
use crate::notation::{Comments, notation};
use crate::surroundings::Surroundings;
use crate::value::{InitialValue, Operation, Value, key_words};
use iso_evidence::{Anomaly, Edge, Event, Grounds, Reason, Refutation, Verdict, Witness};
use iso_history::{Facts, History, KeyId, LocalKind, Op, OpId, PieceKind, PlaceUnit, Projection, TxnId};
use iso_spec::{Execution, Level};
use std::cell::OnceCell;

/// Larger histories are not shown in whole.
const MAX_WHOLE_TXNS: usize = 24;
const MAX_WHOLE_OPS: usize = 200;
/// So many pairs of a relation are always shown, and no document has more than so many.
const FEW_PAIRS: usize = 1_000;
const MAX_PAIRS: usize = 100_000;

/// The answer of an engine for one level.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The level; a [`Level`](iso_spec::Level) converts to its names.
    pub level: LevelName,
    /// The answer.
    pub verdict: &'a Verdict,
    /// Did the evidence pass an independent check? None if nobody looked.
    pub certified: Option<Result<(), String>>,
}

/// How the answers came about.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The files that were read.
    pub inputs: Vec<String>,
    /// What was wrong with them.
    pub defects: Vec<iso_history::Defect>,
    /// How long everything took.
    pub seconds: f64,
    /// The most memory that was in use at once, if the system tells.
    pub peak_bytes: Option<u64>,
}

/// How long a document may become.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The most entries of a witness's order; all of them if none is given.
    pub max_order: Option<usize>,
}

impl CheckReport {
    /// The report of a run that judged a history at some levels.
    pub fn new(history: &History, run: Run, answers: &[Answer<'_>], limits: Limits) -> Self {
        let builder = Builder { limits, ..Builder::new(history) };
        let is_allowed = answers.iter().any(|it| matches!(it.verdict, Verdict::Allowed(_)));
        let levels: Vec<LevelReport> = answers.iter().map(|it| builder.level(it)).collect();
        let whole = if is_allowed { Self::whole(history) } else { None };
        let surroundings = if whole.is_none() { Surroundings::new(history, &levels) } else { None };
        Self {
            history: Some(Counts::of(history)),
            levels,
            whole,
            surroundings: surroundings.map(Box::new),
            ..Self::of_unreadable(run)
        }
    }

    /// The whole history as an excerpt with nothing wrong; none if it is too large to be looked at.
    pub fn whole(history: &History) -> Option<Box<Excerpt>> {
        if !is_small(history) {
            return None;
        }
        let txns: Vec<TxnId> = history.txns().collect();
        let (builder, projection) = (Builder::new(history), Projection::verbatim(history, &txns, |_| true));
        let mut excerpt = Excerpt {
            initial: initial_values(&projection.history),
            transactions: projection.history.txns().map(|it| builder.transaction(&projection, it, true)).collect(),
            ..Excerpt::default()
        };
        excerpt.history = notation(&excerpt, Comments::None);
        Some(Box::new(excerpt))
    }

    /// The report of a run whose input could not be read: its defects and nothing else.
    pub fn of_unreadable(run: Run) -> Self {
        Self {
            inputs: run.inputs,
            defects: run.defects.into_iter().map(Defect::from).collect(),
            seconds: run.seconds,
            peak_bytes: run.peak_bytes,
            durability: None,
            history: None,
            promise: None,
            levels: Vec::new(),
            whole: None,
            surroundings: None,
            over_time: None,
        }
    }
}

impl LevelReport {
    /// One answer about a history, in words.
    pub fn new(history: &History, answer: &Answer<'_>, limits: Limits) -> Self {
        Builder { limits, ..Builder::new(history) }.level(answer)
    }
}

impl Counts {
    /// The size of a history.
    pub fn of(history: &History) -> Self {
        let count = |outcome| history.txns().filter(|it| history.outcome(*it) == outcome).count() as u64;
        Self {
            sessions: history.n_sessions() as u64,
            transactions: history.n_txns() as u64 - 1,
            committed: count(iso_history::Outcome::Committed),
            aborted: count(iso_history::Outcome::Aborted),
            unknown: count(iso_history::Outcome::Indeterminate),
            operations: history.n_ops() as u64,
            keys: history.n_keys() as u64,
        }
    }
}

impl From<iso_history::Defect> for Defect {
    fn from(defect: iso_history::Defect) -> Self {
        let file = (!defect.source.is_empty()).then_some(defect.source);
        Self {
            severity: match defect.severity {
                iso_history::Severity::Error => Severity::Error,
                iso_history::Severity::Warning => Severity::Warning,
            },
            place: Place::new(file, defect.at),
            message: defect.message,
        }
    }
}

impl Place {
    pub(crate) fn new(file: Option<String>, at: Option<(u64, PlaceUnit)>) -> Self {
        let only = |wanted| at.filter(|it| it.1 == wanted).map(|it| it.0);
        Self { file, line: only(PlaceUnit::Line), byte: only(PlaceUnit::Byte), txn: only(PlaceUnit::Txn) }
    }
}

impl From<Reason> for LinkKind {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Session => Self::SessionOrder,
            Reason::RealTime => Self::RealTime,
            Reason::ReadFrom { .. } => Self::ReadFrom,
            Reason::VersionOrder { .. } | Reason::FirstCommitter { .. } => Self::VersionOrder,
            Reason::AntiDependency { .. } => Self::AntiDependency,
        }
    }
}

impl From<iso_history::Outcome> for Outcome {
    fn from(outcome: iso_history::Outcome) -> Self {
        match outcome {
            iso_history::Outcome::Committed => Self::Committed,
            iso_history::Outcome::Aborted => Self::Aborted,
            iso_history::Outcome::Indeterminate => Self::Indeterminate,
        }
    }
}

/// Turns evidence about one history into words.
pub(crate) struct Builder<'h> {
    history: &'h History,
    /// Only refutations need them.
    facts: OnceCell<Facts<'h>>,
    limits: Limits,
}

impl<'h> Builder<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        Self { history, facts: OnceCell::new(), limits: Limits::default() }
    }

    fn facts(&self) -> &Facts<'h> {
        self.facts.get_or_init(|| Facts::new(self.history))
    }

    fn level(&self, answer: &Answer<'_>) -> LevelReport {
        let judgement = match answer.verdict {
            Verdict::Allowed(witness) => {
                Judgement::Holds { evidence: Evidence { sources: self.sources(witness), ..self.evidence(witness) } }
            }
            Verdict::Forbidden(refutation) => Judgement::Violated {
                anomalies: refutation.anomalies.iter().map(ToString::to_string).collect(),
                core: Box::new(self.core_of(refutation, &answer.level)),
            },
            Verdict::Unknown(reason) => Judgement::Unknown { reason: reason.to_string() },
        };
        LevelReport { level: answer.level.clone(), judgement, certified: answer.certified.clone() }
    }

    pub(crate) fn evidence(&self, witness: &Witness) -> Evidence {
        let label = |txn: TxnId| self.history.label(txn);
        let limit = self.limits.max_order.unwrap_or(usize::MAX);
        let schedule = match &witness.schedule {
            iso_evidence::Schedule::Order(order) => Schedule::Order {
                order: order.iter().take(limit).map(|it| label(*it)).collect(),
                omitted: order.len().saturating_sub(limit),
            },
            iso_evidence::Schedule::Events(events) => {
                let event = |it: &Event| match it {
                    Event::Snapshot(txn) => (EventKind::Snapshot, label(*txn)),
                    Event::Commit(txn) => (EventKind::Commit, label(*txn)),
                };
                Schedule::Events {
                    events: events.iter().take(limit).map(event).collect(),
                    omitted: events.len().saturating_sub(limit),
                }
            }
            // A transaction takes a snapshot for each statement that only reads.
            iso_evidence::Schedule::Pieces(pieces) => {
                let event = |it: &(TxnId, PieceKind)| match it.1 {
                    PieceKind::Moment(_) | PieceKind::Before(_) => (EventKind::Snapshot, label(it.0)),
                    PieceKind::Commit => (EventKind::Commit, label(it.0)),
                };
                Schedule::Events {
                    events: pieces.iter().take(limit).map(event).collect(),
                    omitted: pieces.len().saturating_sub(limit),
                }
            }
            iso_evidence::Schedule::Execution(execution) => {
                Schedule::Relations { relations: self.relations(execution, limit) }
            }
        };
        Evidence { schedule, sources: Vec::new() }
    }

    fn relations(&self, execution: &Execution, limit: usize) -> Vec<ExecutionRelation> {
        let named = |name: &str, key: Option<KeyId>, members: RelationMembers| ExecutionRelation {
            name: name.to_owned(),
            key: key.map(|it| self.history.key_name(it).into()),
            members,
        };
        let orders = execution.orders.iter().map(|it| {
            let order = it.first_to_last.iter().take(limit).map(|it| self.history.label(*it)).collect();
            let omitted = it.first_to_last.len().saturating_sub(limit);
            named(&it.name, it.key, RelationMembers::Order { order, omitted })
        });
        let members = |all: &mut dyn Iterator<Item = (TxnId, TxnId)>| {
            let shown: Vec<(TxnId, TxnId)> = all.take(limit.clamp(FEW_PAIRS, MAX_PAIRS)).collect();
            RelationMembers::Pairs { pairs: pairs(self.history, &shown), omitted: all.count() }
        };
        let relations = &mut execution.relations.iter();
        let others = relations.map(|it| named(&it.name, it.key, members(&mut it.pairs.iter().copied())));
        let rows = execution.rows.iter().map(|it| named(&it.name, None, members(&mut it.pairs(&execution.included))));
        orders.chain(others).chain(rows).collect()
    }

    /// Whose write each read saw, of a history that is shown as a whole.
    fn sources(&self, witness: &Witness) -> Vec<ReadSource> {
        if !is_small(self.history) {
            return Vec::new();
        }
        let source = |it: iso_evidence::Source| {
            let reader = self.history.txn_of(it.read);
            let op = self.history.ops(reader).position(|op| op == it.read)?;
            Some(ReadSource { transaction: self.history.label(reader), op, writer: txn_ref(self.history, it.writer) })
        };
        witness.sources.iter().filter_map(source).collect()
    }

    pub(crate) fn core(&self, refutation: &Refutation) -> Excerpt {
        let explainer = Explainer::new(self.facts());
        let projection = self.projection(refutation);
        let shows_times = shows_times(refutation);
        let mut core = Excerpt {
            summary: summary(refutation, &projection.history),
            history: String::new(),
            initial: initial_values(&projection.history),
            transactions: projection.history.txns().map(|it| self.transaction(&projection, it, shows_times)).collect(),
            cycle: self.cycle(&explainer, refutation),
            cases: self.cases(&explainer, refutation),
            local: self.local(&explainer, refutation, &projection),
            derivation: None,
            grounds: None,
        };
        core.history = notation(&core, Comments::None);
        core
    }

    /// The core of an answer, with what `certify` needs to replay it.
    fn core_of(&self, refutation: &Refutation, level: &LevelName) -> Excerpt {
        // There, derivations are about pieces of transactions.
        let is_in_pieces =
            Level::from_name(&level.short).is_some_and(|it| it.snapshots().is_some() || it == Level::RowSnapshots);
        let (mut derivation, mut grounds) = (None, None);
        match refutation.grounds.as_deref() {
            Some(Grounds::Derivation(it)) if !is_in_pieces => {
                derivation = SavedDerivation::new(&self.projection(refutation).history, it).map(Box::new);
            }
            Some(it) => grounds = SavedGrounds::new(it).map(Box::new),
            None => {}
        }
        Excerpt { derivation, grounds, ..self.core(refutation) }
    }

    /// The core as a history of its own.
    fn projection(&self, refutation: &Refutation) -> Projection {
        let is_listed = |op: OpId| refutation.ops.binary_search(&op).is_ok();
        Projection::verbatim(self.history, &refutation.txns, is_listed)
    }

    fn transaction(&self, projection: &Projection, txn: TxnId, shows_times: bool) -> Transaction {
        let whole = projection.txns[txn.index()];
        let times = (self.history.begin(whole), self.history.end(whole));
        let ops = projection.history.ops(txn).map(|it| Operation::new(&projection.history, it)).collect();
        let times = (shows_times && times != (None, None)).then_some(times);
        Transaction { times, ..transaction_in(self.history, whole, ops) }
    }

    pub(crate) fn link(&self, explainer: &Explainer<'_>, edge: &Edge) -> Link {
        let key = match edge.because {
            Reason::Session | Reason::RealTime => None,
            Reason::ReadFrom { read } => Some(self.history.op(read).key()),
            Reason::VersionOrder { key, .. } | Reason::FirstCommitter { key } | Reason::AntiDependency { key, .. } => {
                Some(key)
            }
        };
        let shown_by = match edge.because {
            Reason::VersionOrder { shown_by, .. } => shown_by,
            _ => None,
        };
        Link {
            from: txn_ref(self.history, edge.from),
            to: txn_ref(self.history, edge.to),
            kind: LinkKind::from(edge.because),
            key: key.map(|it| self.history.key_name(it).into()),
            because: explainer.edge(edge),
            shown_by: shown_by.map(|it| self.history.label(self.history.txn_of(it))),
            premises: Premises::default(),
        }
    }

    fn local(&self, explainer: &Explainer<'_>, refutation: &Refutation, projection: &Projection) -> Option<LocalRead> {
        let anomaly = refutation.local.as_ref()?;
        let in_part = projection.txns.iter().position(|it| *it == anomaly.reader).map(TxnId::from_index);
        let ops: Vec<OpId> = in_part.iter().flat_map(|it| projection.history.ops(*it)).collect();
        let edges = local_edges(anomaly);
        Some(LocalRead {
            because: explainer.local(anomaly),
            transaction: self.history.label(anomaly.reader),
            op: ops.iter().position(|it| projection.ops[it.index()] == anomaly.op),
            links: edges.iter().map(|it| self.link(explainer, it)).collect(),
        })
    }

    /// The same read, with its place in the whole transaction instead of the excerpt's.
    pub(crate) fn in_whole(&self, read: LocalRead, refutation: &Refutation) -> LocalRead {
        let op = refutation.local.as_ref().and_then(|it| self.history.ops(it.reader).position(|op| op == it.op));
        LocalRead { op, ..read }
    }
}

/// A transaction of a history with some of its operations, and without times.
pub(crate) fn transaction_in(history: &History, txn: TxnId, ops: Vec<Operation>) -> Transaction {
    Transaction {
        id: history.label(txn),
        session: history.session_of(txn).map_or("init", |it| history.session_name(it)).to_owned(),
        nth: history.nth_in_session(txn) + 1,
        outcome: history.outcome(txn).into(),
        place: place_of(history, txn),
        times: None,
        ops,
        statements: Vec::new(),
    }
}

/// Where a transaction stands in the input, if that is known.
pub(crate) fn place_of(history: &History, txn: TxnId) -> Option<Place> {
    let place = history.place(txn);
    let (file, unit) = history.source(place)?;
    Some(Place::new((!file.is_empty()).then(|| file.to_owned()), Some((place.at, unit))))
}

/// Keys with what they were at first.
pub(crate) fn initial_values(history: &History) -> Vec<InitialValue> {
    let value = |key| {
        if history.is_list(key) { Value::List(Vec::new()) } else { history.value(history.initial_value(key)).into() }
    };
    history.keys().map(|it| InitialValue { key: history.key_name(it).into(), value: value(it) }).collect()
}

/// A transaction as documents refer to it.
pub(crate) fn txn_ref(history: &History, txn: TxnId) -> TxnRef {
    if txn.is_initial() { TxnRef::Initial } else { TxnRef::Txn(history.label(txn)) }
}

/// Pairs of transactions as documents refer to them.
pub(crate) fn pairs(history: &History, pairs: &[(TxnId, TxnId)]) -> Vec<(TxnRef, TxnRef)> {
    pairs.iter().map(|it| (txn_ref(history, it.0), txn_ref(history, it.1))).collect()
}

fn is_small(history: &History) -> bool {
    history.n_txns() <= MAX_WHOLE_TXNS && history.n_ops() <= MAX_WHOLE_OPS
}

/// Times belong to the excerpt if it is forbidden because of them, or may be.
fn shows_times(refutation: &Refutation) -> bool {
    let needs_a_case_split = refutation.cycle.is_empty() && refutation.local.is_none();
    needs_a_case_split || refutation.cycle.iter().any(|it| it.because == Reason::RealTime)
}

fn summary(refutation: &Refutation, excerpt: &History) -> String {
    match (refutation.local.map(|it| it.kind), refutation.anomalies.first()) {
        (Some(LocalKind::Interleaved { torn, between }), _) if torn == between => {
            sentence("a list shows the elements of one transaction in an order that it never had")
        }
        (Some(LocalKind::Interleaved { .. }), _) => {
            sentence("a list shows one transaction's elements between another's (G0, dirty write)")
        }
        (_, Some(Anomaly::LostUpdate)) if !has_updates(excerpt) => {
            sentence(&format!("transactions write {} without seeing each other", rivals(excerpt)))
        }
        (_, Some(anomaly)) => sentence(anomaly.summary()),
        (_, None) if refutation.cycle.is_empty() => sentence("no order of these transactions explains what they read"),
        (_, None) => sentence("these transactions depend on each other in a cycle"),
    }
}

/// Do two transactions of the excerpt read and write the same key?
fn has_updates(excerpt: &History) -> bool {
    let updates = |txn: TxnId, key| {
        let on_key = || excerpt.ops(txn).map(|it| excerpt.op(it)).filter(|it| it.key() == key);
        on_key().any(Op::is_write) && on_key().any(|it| !it.is_write())
    };
    excerpt.keys().any(|key| excerpt.txns().filter(|it| updates(*it, key)).count() > 1)
}

/// The keys that several transactions of the excerpt write.
fn rivals(excerpt: &History) -> String {
    let writes = |txn: TxnId, key| excerpt.ops(txn).any(|it| excerpt.op(it).key() == key && excerpt.op(it).is_write());
    let is_contended = |key: &KeyId| excerpt.txns().filter(|it| writes(*it, *key)).count() > 1;
    let keys: Vec<String> =
        excerpt.keys().filter(is_contended).map(|it| key_words(&excerpt.key_name(it).into())).collect();
    if keys.is_empty() { "the same key".to_owned() } else { keys.join(" and ") }
}

/// A clause as a sentence of its own.
pub(crate) fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str())
}
