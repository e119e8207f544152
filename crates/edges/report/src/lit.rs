//! Which operations of a part a dependency is about, so that a page can light them up.

use crate::document::{Link, LocalRead, Part};
use std::collections::BTreeSet;

/// Operations of a part, each as `2.0`: the transaction's place in the part, and the operation's in the transaction.
/// `init.1` is the second initial value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lit {
    ops: BTreeSet<(Owner, usize)>,
    owners: BTreeSet<Owner>,
}

/// Whose an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Initial,
    Txn(usize),
}

impl Owner {
    /// The owner with a name, if the part has it.
    pub(crate) fn of(part: &Part, id: &str) -> Option<Self> {
        match part.transactions.iter().position(|it| it.id == id) {
            Some(txn) => Some(Self::Txn(txn)),
            None => (id == "init").then_some(Self::Initial),
        }
    }

    /// `2`, or `init`.
    pub(crate) fn token(self) -> String {
        match self {
            Self::Initial => "init".to_owned(),
            Self::Txn(txn) => txn.to_string(),
        }
    }
}

impl Lit {
    /// What a dependency is about.
    pub(crate) fn of_link(link: &Link, part: &Part) -> Self {
        let mut lit = Self::default();
        let (from, to) = (Owner::of(part, &link.from), Owner::of(part, &link.to));
        lit.owners.extend(from.into_iter().chain(to));
        let (Some(from), Some(to), Some(key)) = (from, to, link.key.as_deref()) else { return lit };
        match link.kind.as_str() {
            "wr" => lit.read_from(part, from, to, key),
            "rw" => {
                let reads = on_key(part, from, key, Access::Read);
                for writer in (0..part.transactions.len()).map(Owner::Txn).chain([Owner::Initial]) {
                    lit.add(sources(part, writer, key, from, &reads));
                }
                lit.add(reads.into_iter().map(|it| (from, it)));
                lit.add(last_writes(part, to, key));
            }
            "ww" => {
                lit.add(last_writes(part, from, key));
                lit.add(last_writes(part, to, key));
            }
            _ => {}
        }
        if let Some(reader) = link.shown_by.as_deref().and_then(|it| Owner::of(part, it)) {
            lit.add(on_key(part, reader, key, Access::Read).into_iter().map(|it| (reader, it)));
        }
        lit
    }

    /// Everybody on a cycle.
    pub(crate) fn of_cycle(cycle: &[Link], part: &Part) -> Self {
        let owners = cycle.iter().filter_map(|it| Owner::of(part, &it.from)).collect();
        Self { owners, ..Self::default() }
    }

    /// A read that nothing explains.
    pub(crate) fn of_read(read: &LocalRead, part: &Part) -> Self {
        let mut lit = Self::default();
        if let Some(reader) = Owner::of(part, &read.transaction) {
            lit.owners.insert(reader);
            lit.add(read.op.map(|it| (reader, it)));
        }
        lit
    }

    /// The operations as an attribute's value.
    pub(crate) fn ops(&self) -> String {
        let tokens = self.ops.iter().map(|(owner, op)| format!("{}.{op}", owner.token()));
        tokens.collect::<Vec<_>>().join(" ")
    }

    /// The transactions as an attribute's value.
    pub(crate) fn txns(&self) -> String {
        self.owners.iter().map(|it| it.token()).collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, ops: impl IntoIterator<Item = (Owner, usize)>) {
        for (owner, op) in ops {
            self.owners.insert(owner);
            self.ops.insert((owner, op));
        }
    }

    fn read_from(&mut self, part: &Part, from: Owner, to: Owner, key: &str) {
        let reads = on_key(part, to, key, Access::Read);
        let writes: Vec<(Owner, usize)> = sources(part, from, key, to, &reads).collect();
        if writes.is_empty() {
            self.add(last_writes(part, from, key));
        }
        let is_source = |read: &usize| writes.is_empty() || sources(part, from, key, to, &[*read]).next().is_some();
        self.add(reads.iter().filter(|it| is_source(it)).map(|it| (to, *it)));
        self.add(writes);
    }
}

/// What an operation does to its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The value that an operation reads or writes, if it is about the key.
pub(crate) fn value<'o>(op: &'o str, key: &str, access: Access) -> Option<&'o str> {
    let inside = match access {
        Access::Read => op.strip_prefix("r(")?,
        Access::Write => op.strip_prefix("w(").or_else(|| op.strip_prefix("append("))?,
    };
    inside.strip_prefix(key)?.strip_prefix(',')?.strip_suffix(')')
}

fn op_text(part: &Part, owner: Owner, op: usize) -> Option<&str> {
    match owner {
        Owner::Txn(txn) => part.transactions.get(txn)?.ops.get(op).map(String::as_str),
        Owner::Initial => None,
    }
}

/// The places of operations on a key; the initial state only has values.
fn on_key(part: &Part, owner: Owner, key: &str, access: Access) -> Vec<usize> {
    match owner {
        Owner::Initial if access == Access::Read => Vec::new(),
        Owner::Initial => part.initial.iter().position(|it| it.0 == key).into_iter().collect(),
        Owner::Txn(txn) => {
            let ops = part.transactions[txn].ops.iter().enumerate();
            ops.filter(|it| value(it.1, key, access).is_some()).map(|it| it.0).collect()
        }
    }
}

/// What a transaction finally made of a key: its last write, or everything that it appended.
fn last_writes(part: &Part, owner: Owner, key: &str) -> Vec<(Owner, usize)> {
    let writes = on_key(part, owner, key, Access::Write);
    let is_append = |op: &usize| op_text(part, owner, *op).is_some_and(|it| it.starts_with("append("));
    let skipped = if writes.iter().any(is_append) { 0 } else { writes.len().saturating_sub(1) };
    writes.into_iter().skip(skipped).map(|it| (owner, it)).collect()
}

/// The writes of one transaction that reads of another return.
fn sources<'p>(
    part: &'p Part,
    writer: Owner,
    key: &'p str,
    reader: Owner,
    reads: &'p [usize],
) -> impl Iterator<Item = (Owner, usize)> + 'p {
    let written = move |op: usize| match writer {
        Owner::Initial => part.initial.get(op).map(|it| it.1.as_str()),
        Owner::Txn(_) => op_text(part, writer, op).and_then(|it| value(it, key, Access::Write)),
    };
    let is_seen = move |op: &usize| {
        let Some(written) = written(*op) else { return false };
        let mut seen = reads.iter().filter_map(|it| value(op_text(part, reader, *it)?, key, Access::Read));
        writer != reader && seen.any(|it| it == written || is_element(it, written))
    };
    on_key(part, writer, key, Access::Write).into_iter().filter(is_seen).map(move |it| (writer, it))
}

/// Is an element in a list, as in `[1,2]`?
pub(crate) fn is_element(list: &str, element: &str) -> bool {
    let elements = list.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    elements.is_some_and(|it| it.split(',').any(|it| it == element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Outcome, Premises, Transaction};

    fn part(txns: &[&[&str]]) -> Part {
        let txn = |(idx, ops): (usize, &&[&str])| Transaction {
            id: format!("s{idx}.1"),
            session: format!("s{idx}"),
            outcome: Outcome::Committed,
            place: None,
            times: None,
            ops: ops.iter().map(|it| (*it).to_owned()).collect(),
        };
        let initial = vec![("y".to_owned(), "7".to_owned()), ("x".to_owned(), "0".to_owned())];
        Part { transactions: txns.iter().enumerate().map(txn).collect(), initial, ..Part::default() }
    }

    fn lit(part: &Part, from: &str, kind: &str, key: &str, to: &str) -> String {
        let link = Link {
            from: from.to_owned(),
            to: to.to_owned(),
            kind: kind.to_owned(),
            key: Some(key.to_owned()),
            because: String::new(),
            shown_by: None,
            premises: Premises::default(),
        };
        Lit::of_link(&link, part).ops()
    }

    #[test]
    fn only_the_operations_of_the_dependency_are_lit() {
        let part = part(&[&["w(x,1)", "w(x,2)", "w(xy,2)"], &["r(x,0)", "r(x,2)", "r(y,7)"], &["w(x,3)"]]);
        assert_eq!(lit(&part, "s0.1", "wr", "x", "s1.1"), "0.1 1.1");
        assert_eq!(lit(&part, "s0.1", "ww", "x", "s2.1"), "0.1 2.0");
        assert_eq!(lit(&part, "s1.1", "rw", "x", "s2.1"), "init.1 0.1 1.0 1.1 2.0");
        assert_eq!(lit(&part, "init", "wr", "y", "s1.1"), "init.0 1.2");
        assert_eq!(lit(&part, "s0.1", "so", "x", "s9.1"), "");
    }

    #[test]
    fn elements_of_lists_are_found() {
        let part = part(&[&["append(l,1)", "append(l,2)"], &["r(l,[1,3])"], &["append(l,3)"]]);
        assert_eq!(lit(&part, "s0.1", "wr", "l", "s1.1"), "0.0 1.0");
        assert_eq!(lit(&part, "s0.1", "ww", "l", "s2.1"), "0.0 0.1 2.0");
    }
}
