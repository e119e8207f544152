//! Does a document say the same of a history twice: in our notation, and transaction by transaction?

use crate::document::Transaction;
use crate::value::Operation;
use iso_history::{History, TxnId};

/// Compares transactions with the history that their document has in our notation; the error says where they differ.
pub fn compare_transactions(transactions: &[Transaction], history: &History) -> Result<(), String> {
    let txns: Vec<TxnId> = history.txns().filter(|it| !it.is_initial()).collect();
    if txns.len() != transactions.len() {
        return Err(format!("the history has {} transactions, and {} are listed", txns.len(), transactions.len()));
    }
    // A text has its transactions session by session.
    let mut listed: Vec<&Transaction> = transactions.iter().collect();
    for txn in txns {
        let ops: Vec<Operation> = history.ops(txn).map(|it| Operation::new(history, it)).collect();
        let session = history.session_of(txn).map(|it| history.session_name(it));
        let is_same = |it: &&Transaction| {
            let pairs = it.ops.iter().zip(&ops);
            Some(it.session.as_str()) == session
                && it.ops.len() == ops.len()
                && pairs.into_iter().all(|(a, b)| (a.kind, &a.key, &a.value) == (b.kind, &b.key, &b.value))
        };
        match listed.iter().position(is_same) {
            Some(place) => listed.remove(place),
            None => return Err(format!("{} is not listed as the history has it", history.label(txn))),
        };
    }
    Ok(())
}
