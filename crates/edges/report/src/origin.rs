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

/// Who wrote what an operation read; none if it is no read, or if nobody can tell.
///
/// Of several writers of the same value, the last one before the reader in the order is meant.
pub(crate) fn origin(part: &Part, reader: usize, op: usize, order: &[usize]) -> Option<Owner> {
    let txn = &part.transactions[reader];
    let read = txn.ops.get(op)?;
    let inside = read.strip_prefix("r(")?.strip_suffix(')')?;
    let is_of = |key: &str| value(read, key, Access::Read).is_some();
    let own = txn.ops[..op].iter().any(|it| writes(it, inside));
    if own {
        return Some(Owner::Txn(reader));
    }
    let place = |txn: usize| order.iter().position(|it| *it == txn);
    let mut writers: Vec<usize> = (0..part.transactions.len())
        .filter(|it| *it != reader && part.transactions[*it].ops.iter().any(|it| writes(it, inside)))
        .collect();
    let is_initial = part
        .initial
        .iter()
        .any(|(key, first)| is_of(key) && value(read, key, Access::Read).is_some_and(|seen| seen == first));
    if writers.len() > 1 || (is_initial && !writers.is_empty()) {
        writers.retain(|it| place(*it).is_some_and(|it| place(reader).is_some_and(|own| it < own)));
        writers.sort_by_key(|it| place(*it));
    }
    match writers.last() {
        Some(writer) => Some(Owner::Txn(*writer)),
        None => is_initial.then_some(Owner::Initial),
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
        let of = |op: usize, order: &[usize]| origin(&part, 2, op, order);
        assert_eq!(of(0, &[0, 1, 2]), Some(Owner::Txn(1)));
        assert_eq!(of(0, &[1, 0, 2]), Some(Owner::Txn(0)));
        assert_eq!(of(1, &[0, 1, 2]), Some(Owner::Txn(1)));
        assert_eq!(of(2, &[0, 1, 2]), Some(Owner::Initial));
        assert_eq!(of(3, &[0, 1, 2]), None);
        assert_eq!(of(4, &[0, 1, 2]), Some(Owner::Txn(2)));
        assert_eq!(of(5, &[0, 1, 2]), None);
    }
}
