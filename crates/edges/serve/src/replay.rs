//! Running an application along a prediction: what each read is to see, and in which order sessions take turns.

use iso_history::{Facts, History, Name, Op, TxnId};
use iso_store::{Key, Plan, TxnName, Writer};
use std::collections::VecDeque;

/// How a served application is to run.
#[derive(Clone, Debug)]
pub struct Along {
    /// Whom reads are to read from.
    pub plan: Plan,
    /// Sessions in the order in which their transactions are to run.
    pub order: VecDeque<String>,
}

impl Along {
    /// Along a history, whose transactions have their places in their sessions.
    pub fn history(history: &History) -> Self {
        let order: Vec<TxnId> = history.txns().collect();
        Self::renamed(history, &order, |txn| name_in(history, txn))
    }

    /// Along a history in some order of its transactions, which `name` knows by other names.
    pub fn renamed(history: &History, order: &[TxnId], name: impl Fn(TxnId) -> TxnName) -> Self {
        let facts = Facts::new(history);
        let mut plan = Plan::new();
        for (idx, read) in facts.reads().iter().enumerate() {
            let ([writer], Op::Read { key, .. }) = (facts.candidates(idx), history.op(read.op)) else { continue };
            let Name::Text(text) = history.key_name(key) else { continue };
            let Some((table, row)) = text.split_once('/') else { continue };
            let writer = if writer.is_initial() { Writer::Initial } else { Writer::Txn(name(*writer)) };
            plan.read(name(read.reader), Key::new(table, row), writer);
        }
        let sessions = order.iter().filter(|it| !it.is_initial()).map(|it| name(*it).session.to_string());
        Self { plan, order: sessions.collect() }
    }
}

/// What a transaction of a history is called in a run that repeats it.
pub fn name_in(history: &History, txn: TxnId) -> TxnName {
    let session = history.session_of(txn).map_or("", |it| history.session_name(it));
    TxnName::new(session, history.nth_in_session(txn))
}
