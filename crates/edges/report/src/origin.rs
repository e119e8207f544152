//! Where the values that a history's reads returned came from, as its operations and a schedule tell.

use crate::document::{Evidence, Moment, Part};
use crate::lit::{Access, Owner, is_element, value};

/// The transactions of an allowed history in the order in which they committed.
pub(crate) fn commit_order(part: &Part, evidence: &Evidence) -> Option<Vec<usize>> {
    let names: Vec<&str> = match evidence {
        Evidence::Order { order, omitted: 0 } => order.iter().map(String::as_str).collect(),
        Evidence::Events { events, omitted: 0 } => {
            let commits = events.iter().filter(|it| it.0 == Moment::Commit);
            commits.map(|it| it.1.as_str()).collect()
        }
        _ => return None,
    };
    names.into_iter().map(|it| part.transactions.iter().position(|txn| txn.id == it)).collect()
}

/// Where a read's value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    From(Owner),
    /// More than one wrote it, and nothing here tells them apart.
    Several,
}

/// Who wrote what an operation read; none if it is no read, or if nobody wrote it.
///
/// Of several writers of the same value, the last one before the reader is meant if the order is `serial`.
pub(crate) fn origin(part: &Part, reader: usize, op: usize, serial: Option<&[usize]>) -> Option<Origin> {
    let txn = &part.transactions[reader];
    let read = txn.ops.get(op)?;
    let inside = read.strip_prefix("r(")?.strip_suffix(')')?;
    if txn.ops[..op].iter().any(|it| writes(it, inside)) {
        return Some(Origin::From(Owner::Txn(reader)));
    }
    let is_first = |(key, first): &(String, String)| value(read, key, Access::Read) == Some(first.as_str());
    let is_writer = |it: &usize| *it != reader && part.transactions[*it].ops.iter().any(|it| writes(it, inside));
    let initial = part.initial.iter().any(is_first).then_some(Owner::Initial);
    let writers: Vec<usize> = (0..part.transactions.len()).filter(is_writer).collect();
    match (writers.as_slice(), initial, serial) {
        ([], _, _) => initial.map(Origin::From),
        ([writer], None, _) => Some(Origin::From(Owner::Txn(*writer))),
        (_, _, Some(order)) => {
            let before = order.iter().take_while(|it| **it != reader).filter(|it| writers.contains(it)).last().copied();
            before.map(Owner::Txn).or(initial).map(Origin::From)
        }
        _ => Some(Origin::Several),
    }
}

/// The place of the write among those of its writer, or of the initial value, that an operation read.
pub(crate) fn source(part: &Part, writer: Owner, reader: usize, op: usize) -> Option<usize> {
    let read = part.transactions[reader].ops.get(op)?;
    let inside = read.strip_prefix("r(")?.strip_suffix(')')?;
    match writer {
        Owner::Initial => {
            part.initial.iter().position(|(key, first)| value(read, key, Access::Read) == Some(first.as_str()))
        }
        Owner::Txn(writer) => {
            let ops = &part.transactions[writer].ops;
            let end = if writer == reader { op } else { ops.len() };
            ops[..end].iter().rposition(|it| writes(it, inside))
        }
    }
}

/// Does an operation write what a read with `x,1` or `l,[1,2]` inside its brackets returned last?
fn writes(op: &str, read: &str) -> bool {
    if let Some(written) = op.strip_prefix("w(").and_then(|it| it.strip_suffix(')')) {
        return written == read;
    }
    let appended = op.strip_prefix("append(").and_then(|it| it.strip_suffix(')'));
    let Some((key, element)) = appended.and_then(|it| it.rsplit_once(',')) else { return false };
    let list = read.strip_prefix(key).and_then(|it| it.strip_prefix(','));
    list.is_some_and(|it| it.ends_with(&format!(",{element}]")) || it == format!("[{element}]"))
        && list.is_some_and(|it| is_element(it, element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Outcome, Transaction};

    #[test]
    fn of_equal_values_the_last_one_before_is_meant() {
        let txn = |id: &str, ops: &[&str]| Transaction {
            id: id.to_owned(),
            session: id.to_owned(),
            outcome: Outcome::Committed,
            place: None,
            times: None,
            ops: ops.iter().map(|it| (*it).to_owned()).collect(),
        };
        let transactions = vec![
            txn("a", &["w(x,1)"]),
            txn("b", &["w(x,1)", "append(l,2)"]),
            txn("c", &["r(x,1)", "r(l,[2])", "r(y,0)", "w(z,3)", "r(z,3)", "r(l,[12])"]),
        ];
        let initial = vec![("y".to_owned(), "0".to_owned())];
        let part = Part { initial, transactions, ..Part::default() };
        let of = |op: usize, order: &[usize]| origin(&part, 2, op, Some(order));
        let from = |txn: usize| Some(Origin::From(Owner::Txn(txn)));
        assert_eq!(of(0, &[0, 1, 2]), from(1));
        assert_eq!(of(0, &[1, 0, 2]), from(0));
        assert_eq!(origin(&part, 2, 0, None), Some(Origin::Several));
        assert_eq!(of(1, &[0, 1, 2]), from(1));
        assert_eq!(of(2, &[0, 1, 2]), Some(Origin::From(Owner::Initial)));
        assert_eq!(of(3, &[0, 1, 2]), None);
        assert_eq!(of(4, &[0, 1, 2]), from(2));
        assert_eq!(of(5, &[0, 1, 2]), None);
        assert_eq!(source(&part, Owner::Txn(1), 2, 1), Some(1));
        assert_eq!(source(&part, Owner::Initial, 2, 2), Some(0));
        assert_eq!(source(&part, Owner::Txn(2), 2, 4), Some(3));
        assert_eq!(source(&part, Owner::Txn(0), 2, 1), None);
    }
}
