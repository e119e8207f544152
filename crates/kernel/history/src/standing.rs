//! Who counts: indeterminate outcomes are settled by who read from them.

use crate::survey::{SeenList, Survey};
use crate::{History, Outcome, Standing, TxnId};

/// Indeterminate transactions that cannot have committed: those with an unexplained read, and those that can only
/// have read from such a transaction.
pub(crate) fn inviable(history: &History, survey: &Survey) -> Vec<bool> {
    let mut inviable = vec![false; history.n_txns()];
    let is_indeterminate = |it: TxnId| history.outcome(it) == Outcome::Indeterminate;
    for anomaly in survey.anomalies.iter().filter(|it| is_indeterminate(it.reader)) {
        inviable[anomaly.reader.index()] = true;
    }
    if !inviable.contains(&true) {
        return inviable;
    }
    let mut open: Vec<TxnId> = history.txns().filter(|it| is_indeterminate(*it) && !inviable[it.index()]).collect();
    loop {
        let n_before = open.len();
        open.retain(|reader| {
            let is_unexplained = survey
                .range(*reader)
                .any(|read_idx| survey.candidates(read_idx).iter().all(|it| it == reader || inviable[it.index()]));
            inviable[reader.index()] |= is_unexplained;
            !is_unexplained
        });
        if open.len() == n_before {
            return inviable;
        }
    }
}

/// The standing of every transaction: who must count, then who may.
pub(crate) fn standing(history: &History, survey: &Survey) -> Vec<Standing> {
    let of_outcome = |it: &Outcome| if *it == Outcome::Committed { Standing::Counted } else { Standing::Out };
    let mut standing: Vec<Standing> = history.txn_outcome.iter().map(of_outcome).collect();
    if history.has_indeterminate_outcomes() {
        let mut followed = vec![0; survey.versions.writers.len()];
        for to in [Standing::Counted, Standing::Optional] {
            let counted = history.txns().filter(|it| standing[it.index()] == Standing::Counted).collect();
            spread(survey, &mut standing, counted, to, &mut followed);
        }
    }
    standing
}

/// Follows reads from `pending` to transactions that are out and gives them `to`: all of them if they may count, the
/// only possible ones if they must.
///
/// `followed` says for each position among the candidates how far a range from there was followed already: reads of
/// the same version share it.
fn spread(survey: &Survey, standing: &mut [Standing], mut pending: Vec<TxnId>, to: Standing, followed: &mut [u32]) {
    let give = |txn: TxnId, standing: &mut [Standing], pending: &mut Vec<TxnId>| {
        if standing[txn.index()] == Standing::Out {
            standing[txn.index()] = to;
            pending.push(txn);
        }
    };
    while let Some(reader) = pending.pop() {
        for read_idx in survey.range(reader) {
            if let Some(source) = survey.reads.only(read_idx) {
                give(source, standing, &mut pending);
            }
            let Some((start, end)) = survey.reads.range(read_idx) else { continue };
            if to == Standing::Optional && start < end && followed[start as usize] < end {
                followed[start as usize] = end;
                for source in survey.candidates(read_idx) {
                    give(*source, standing, &mut pending);
                }
            }
        }
        // What a list shows was all there, not only its last version.
        for list in survey.lists_of(reader).iter().filter(|it| it.seen != SeenList::Intermediate) {
            let open = list.possible.iter().filter(|_| to == Standing::Optional);
            for source in list.writers.iter().chain(open) {
                give(*source, standing, &mut pending);
            }
        }
    }
}
