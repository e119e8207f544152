//! From a certified prediction to its document.

use iso_answer::predict::{ChangedRead, Judged, Predicted};
use iso_history::{History, TxnId};
use iso_report::{PredictedRun, Rewired};

/// The document of a run that could have happened.
pub(crate) fn predicted_run(observed: &History, predicted: &Predicted) -> PredictedRun {
    let Predicted { prediction, judged } = predicted;
    let rewired = |it: &ChangedRead| Rewired { op: it.op, observed_op: it.observed_op, from: it.from, to: it.to };
    let mut run = PredictedRun::new(&iso_report::Predicted {
        observed,
        history: &prediction.history,
        txns: &prediction.txns,
        changed: prediction.changed.iter().map(rewired).collect(),
        cuts: prediction.cuts.iter().map(|it| it.txn).collect(),
        witness: &judged.witness,
        refutation: &judged.refutation,
        allowed: Some(Ok(())),
        forbidden: Some(Ok(())),
    });
    run.hides_conflict = prediction.hides_conflict;
    run
}

/// The document of the observed run as its own prediction.
pub(crate) fn observed_run(history: &History, judged: &Judged) -> PredictedRun {
    let txns: Vec<TxnId> = (0..history.n_txns()).map(TxnId::from_index).collect();
    PredictedRun::new(&iso_report::Predicted {
        observed: history,
        history,
        txns: &txns,
        changed: Vec::new(),
        cuts: Vec::new(),
        witness: &judged.witness,
        refutation: &judged.refutation,
        allowed: Some(Ok(())),
        forbidden: Some(Ok(())),
    })
}
