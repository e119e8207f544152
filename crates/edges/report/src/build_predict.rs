//! From a prediction in the kernel's types to its document.

use crate::build::{Builder, place_of, transaction_in, txn_ref};
use crate::document::{Certified, Counts, Excerpt, LinkKind, Place, Transaction, TxnRef};
use crate::notation::{Comments, notation};
use crate::predict::{AllowedRun, ChangedRead, Cut, ForbiddenRun, PredictedRun, Version};
use crate::value::{InitialValue, Operation};
use iso_evidence::{Edge, Refutation, Witness};
use iso_history::{History, KeyId, OpId, TxnId};
use std::collections::BTreeSet;

/// Larger histories are shown in part.
const MAX_TXNS: usize = 10;
const MAX_OPS: usize = 14;

/// A predicted run, with what was checked about it.
#[derive(Clone, Debug)]
pub struct Predicted<'a> {
    /// The observed run.
    pub observed: &'a History,
    /// The predicted run.
    pub history: &'a History,
    /// For each transaction of the predicted run, the initial one included, the observed one that it repeats.
    pub txns: &'a [TxnId],
    /// The reads that have another writer, in the order of their transactions.
    pub changed: Vec<Rewired>,
    /// The last transactions of sessions that end early, in the predicted run.
    pub cuts: Vec<TxnId>,
    /// How the level explains the run.
    pub witness: &'a Witness,
    /// Why the target forbids it.
    pub refutation: &'a Refutation,
    /// Was the witness checked?
    pub allowed: Certified,
    /// Was the refutation checked?
    pub forbidden: Certified,
}

/// A read with another writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewired {
    /// The read in the predicted run.
    pub op: OpId,
    /// The read in the observed run.
    pub observed_op: OpId,
    /// The transaction of the observed run that it read from.
    pub from: TxnId,
    /// The transaction of the observed run whose repetition it reads from.
    pub to: TxnId,
}

impl PredictedRun {
    /// The document of a predicted run.
    pub fn new(of: &Predicted<'_>) -> Self {
        let builder = Builder::new(of.history);
        let selection = Selection::new(of);
        let refuted = builder.core(of.refutation);
        let predicted = Excerpt {
            summary: refuted.summary,
            cycle: refuted.cycle,
            local: refuted.local.map(|it| builder.in_whole(it, of.refutation)),
            ..selection.predicted(of)
        };
        Self {
            history: Excerpt::whole(of.history, None).history,
            size: Counts::of(of.history),
            changed: of.changed.iter().map(|it| changed_read(of, &selection, it)).collect(),
            cuts: of.cuts.iter().map(|it| cut(of, *it)).collect(),
            n_left_out: n_left_out(of),
            allowed: AllowedRun { evidence: builder.evidence(of.witness), certified: of.allowed.clone() },
            forbidden: ForbiddenRun {
                anomalies: of.refutation.anomalies.iter().map(ToString::to_string).collect(),
                shape: shape(&of.refutation.cycle),
                evidence: predicted,
                certified: of.forbidden.clone(),
            },
            observed: selection.observed(of),
            is_whole: selection.is_whole,
            renamed: renamed(of),
            hides_conflict: false,
            validation: None,
        }
    }
}

/// The kinds of a cycle's edges, without saying of what: `rw-rw`. Where the cycle begins makes no difference.
pub fn shape(cycle: &[Edge]) -> String {
    let kinds: Vec<&str> = cycle.iter().map(|it| LinkKind::from(it.because).word()).collect();
    let turned = |by: usize| kinds[by..].iter().chain(&kinds[..by]).copied().collect::<Vec<_>>().join("-");
    (0..kinds.len()).map(turned).min().unwrap_or_default()
}

/// Which transactions and operations are shown.
struct Selection {
    /// Is everything of the predicted run shown, and of the observed one?
    is_whole: bool,
    is_all_observed: bool,
    /// Transactions of the predicted run, and of the observed one.
    predicted: BTreeSet<TxnId>,
    observed: BTreeSet<TxnId>,
    /// Operations of the predicted run that are shown if not all are.
    ops: BTreeSet<OpId>,
    /// Keys of changed reads, in the observed run.
    keys: BTreeSet<KeyId>,
}

impl Selection {
    fn new(of: &Predicted<'_>) -> Self {
        let is_small = |it: &History| it.n_txns() <= MAX_TXNS + 1 && it.txns().all(|txn| it.ops(txn).len() <= MAX_OPS);
        let (is_whole, is_all_observed) = (is_small(of.history), is_small(of.observed));
        let (mut predicted, mut observed): (BTreeSet<TxnId>, BTreeSet<TxnId>) = (BTreeSet::new(), BTreeSet::new());
        let writers: Vec<TxnId> = of.changed.iter().flat_map(|it| [it.from, it.to]).collect();
        if is_whole {
            predicted.extend(of.history.txns());
        } else {
            predicted.extend(&of.refutation.txns);
            predicted.extend(of.changed.iter().map(|it| of.history.txn_of(it.op)));
            predicted.extend(of.history.txns().filter(|it| writers.contains(&of.txns[it.index()])));
        }
        if is_all_observed {
            observed.extend(of.observed.txns());
        } else {
            observed.extend(predicted.iter().map(|it| of.txns[it.index()]));
            observed.extend(writers.iter().filter(|it| !it.is_initial()));
        }
        let ops = of.refutation.ops.iter().copied().chain(of.changed.iter().map(|it| it.op)).collect();
        let keys = of.changed.iter().map(|it| of.observed.op(it.observed_op).key()).collect();
        Self { is_whole, is_all_observed, predicted, observed, ops, keys }
    }

    /// The operations of a transaction of the predicted run that are shown, each with its place.
    fn kept(&self, of: &Predicted<'_>, txn: TxnId) -> Vec<(usize, OpId)> {
        let twin = of.txns[txn.index()];
        // Names of keys may have other ids here, so that places are what the two runs share.
        let of_keys: Vec<bool> =
            of.observed.ops(twin).map(|it| self.keys.contains(&of.observed.op(it).key())).collect();
        let is_kept =
            |(idx, op): &(usize, OpId)| self.is_whole || self.ops.contains(op) || of_keys.get(*idx) == Some(&true);
        of.history.ops(txn).enumerate().filter(is_kept).collect()
    }

    fn predicted(&self, of: &Predicted<'_>) -> Excerpt {
        let transactions = self.predicted.iter().map(|txn| Transaction {
            // Where it stood is told of the one that it repeats.
            place: place(of.observed, of.txns[txn.index()]),
            ..transaction(of.history, *txn, self.kept(of, *txn).into_iter().map(|it| it.1))
        });
        whole(of.history, transactions.collect())
    }

    fn observed(&self, of: &Predicted<'_>) -> Excerpt {
        let transactions = self.observed.iter().map(|txn| {
            let twin = of.history.txns().find(|it| of.txns[it.index()] == *txn);
            let n_kept = twin.map_or(0, |it| of.history.ops(it).len());
            let kept: BTreeSet<usize> = twin.iter().flat_map(|it| self.kept(of, *it)).map(|it| it.0).collect();
            let is_of_interest = |op: OpId| self.is_all_observed || self.keys.contains(&of.observed.op(op).key());
            let is_shown = |(idx, op): &(usize, OpId)| kept.contains(idx) || (*idx >= n_kept && is_of_interest(*op));
            let ops = of.observed.ops(*txn).enumerate().filter(is_shown).map(|it| it.1);
            transaction(of.observed, *txn, ops)
        });
        whole(of.observed, transactions.collect())
    }
}

/// Transactions as an excerpt, with the initial values of what they touch.
fn whole(history: &History, transactions: Vec<Transaction>) -> Excerpt {
    let is_touched = |it: &InitialValue| transactions.iter().any(|txn| txn.ops.iter().any(|op| op.key == it.key));
    let initial = crate::build::initial_values(history).into_iter().filter(is_touched).collect();
    let mut excerpt = Excerpt { initial, transactions, ..Excerpt::default() };
    excerpt.history = notation(&excerpt, Comments::None);
    excerpt
}

fn transaction(history: &History, txn: TxnId, ops: impl Iterator<Item = OpId>) -> Transaction {
    transaction_in(history, txn, ops.map(|it| Operation::new(history, it)).collect())
}

fn session(history: &History, txn: TxnId) -> String {
    history.session_of(txn).map_or("init", |it| history.session_name(it)).to_owned()
}

fn place(history: &History, txn: TxnId) -> Option<Place> {
    if txn.is_initial() { None } else { place_of(history, txn) }
}

fn changed_read(of: &Predicted<'_>, selection: &Selection, read: &Rewired) -> ChangedRead {
    let txn = of.history.txn_of(read.op);
    let version = |op: Operation, writer: TxnId| Version {
        value: op.value,
        writer: txn_ref(of.observed, writer),
        place: place(of.observed, writer),
    };
    let predicted_writer = of.history.txns().find(|it| of.txns[it.index()] == read.to);
    let predicted = Operation::new(of.history, read.op);
    ChangedRead {
        transaction: of.history.label(txn),
        session: session(of.history, txn),
        place: place(of.observed, of.txns[txn.index()]),
        key: predicted.key.clone(),
        observed: version(Operation::new(of.observed, read.observed_op), read.from),
        predicted: Version {
            writer: predicted_writer.map_or(TxnRef::Initial, |it| txn_ref(of.history, it)),
            ..version(predicted, read.to)
        },
        op: selection.kept(of, txn).iter().position(|it| it.1 == read.op),
    }
}

fn cut(of: &Predicted<'_>, txn: TxnId) -> Cut {
    let twin = of.txns[txn.index()];
    let dropped: Vec<OpId> = of.observed.ops(twin).skip(of.history.ops(txn).len()).collect();
    Cut {
        transaction: of.history.label(txn),
        session: session(of.history, txn),
        place: place(of.observed, twin),
        n_changed: of.changed.iter().filter(|it| of.history.txn_of(it.op) == txn).count() as u64,
        n_dropped: dropped.len() as u64,
        n_dropped_writes: dropped.iter().filter(|it| of.observed.op(**it).is_write()).count() as u64,
    }
}

/// Those that were rolled back are nothing to repeat.
fn n_left_out(of: &Predicted<'_>) -> u64 {
    let repeated: BTreeSet<TxnId> = of.txns.iter().copied().collect();
    let counts = |it: &TxnId| of.observed.outcome(*it) != iso_history::Outcome::Aborted && !repeated.contains(it);
    of.observed.txns().filter(counts).count() as u64
}

fn renamed(of: &Predicted<'_>) -> Vec<(String, String)> {
    let names = of.history.txns().map(|it| (of.history.label(it), of.observed.label(of.txns[it.index()])));
    names.filter(|(predicted, observed)| predicted != observed).collect()
}
