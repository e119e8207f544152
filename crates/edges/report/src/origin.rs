//! Where the values that a history's reads returned came from.

use crate::document::{EventKind, Evidence, Excerpt, Schedule};
use crate::highlight::Owner;

/// The transactions of an allowed history in the order in which they committed.
pub(crate) fn commit_order(excerpt: &Excerpt, evidence: &Evidence) -> Option<Vec<usize>> {
    let names: Vec<&str> = match &evidence.schedule {
        Schedule::Order { order, omitted: 0 } => order.iter().map(String::as_str).collect(),
        Schedule::Events { events, omitted: 0 } => {
            let commits = events.iter().filter(|it| it.0 == EventKind::Commit);
            commits.map(|it| it.1.as_str()).collect()
        }
        _ => return None,
    };
    names.into_iter().map(|it| excerpt.transactions.iter().position(|txn| txn.id == it)).collect()
}

/// Where a read's value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    From(Owner),
    /// More than one wrote it, and the document does not say which is meant.
    Several,
}

/// Who wrote what an operation read; none if it is no read, or if nobody wrote it.
///
/// The evidence says so. Documents of version 1 do not have that: there, it is whoever wrote the value, if only one did.
pub(crate) fn origin(excerpt: &Excerpt, reader: usize, op: usize, evidence: &Evidence) -> Option<Origin> {
    let txn = &excerpt.transactions[reader];
    let read = txn.ops.get(op).filter(|it| it.is_read())?;
    if txn.ops[..op].iter().any(|it| read.returns(it)) {
        return Some(Origin::From(Owner::Txn(reader)));
    }
    if let Some(source) = evidence.sources.iter().find(|it| it.transaction == txn.id && it.op == op) {
        return Owner::of(excerpt, &source.writer).map(Origin::From);
    }
    let is_writer = |it: &usize| *it != reader && excerpt.transactions[*it].ops.iter().any(|it| read.returns(it));
    let initial = excerpt.initial.iter().any(|it| it.is_read_by(read)).then_some(Owner::Initial);
    let mut writers = (0..excerpt.transactions.len()).filter(is_writer).map(Owner::Txn).chain(initial);
    let first = writers.next()?;
    Some(if writers.next().is_some() { Origin::Several } else { Origin::From(first) })
}

/// The place of the write among those of its writer, or of the initial value, that an operation read.
pub(crate) fn source(excerpt: &Excerpt, writer: Owner, reader: usize, op: usize) -> Option<usize> {
    let read = excerpt.transactions[reader].ops.get(op)?;
    match writer {
        Owner::Initial => excerpt.initial.iter().position(|it| it.is_read_by(read)),
        Owner::Txn(writer) => {
            let ops = &excerpt.transactions[writer].ops;
            let end = if writer == reader { op } else { ops.len() };
            ops[..end].iter().rposition(|it| read.returns(it))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ReadSource, TxnRef};
    use crate::value::tests::excerpt;

    #[test]
    fn of_equal_values_the_one_that_the_evidence_names_is_meant() {
        let excerpt =
            excerpt("y=0", &["w(x,1)", "w(x,1) append(l,2)", "r(x,1) r(l,[2]) r(y,0) w(z,3) r(z,3) r(l,[12])"]);
        let schedule = Schedule::Order { order: Vec::new(), omitted: 0 };
        let silent = Evidence { schedule: schedule.clone(), sources: Vec::new() };
        let from = |txn: usize| Some(Origin::From(Owner::Txn(txn)));
        for writer in [0, 1] {
            let writer_id = TxnRef::Txn(format!("s{writer}.1"));
            let sources = vec![ReadSource { transaction: "s2.1".to_owned(), op: 0, writer: writer_id }];
            assert_eq!(origin(&excerpt, 2, 0, &Evidence { schedule: schedule.clone(), sources }), from(writer));
        }
        let expected = [Some(Origin::Several), from(1), Some(Origin::From(Owner::Initial)), None, from(2), None];
        for (op, expected) in expected.into_iter().enumerate() {
            assert_eq!(origin(&excerpt, 2, op, &silent), expected, "{op}");
        }
        assert_eq!(source(&excerpt, Owner::Txn(1), 2, 1), Some(1));
        assert_eq!(source(&excerpt, Owner::Initial, 2, 2), Some(0));
        assert_eq!(source(&excerpt, Owner::Txn(2), 2, 4), Some(3));
        assert_eq!(source(&excerpt, Owner::Txn(0), 2, 1), None);
    }
}
