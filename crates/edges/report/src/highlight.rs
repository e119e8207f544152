//! Which operations of an excerpt a dependency is about, so that a page can light them up.

use crate::document::{Excerpt, Link, LinkKind, LocalRead, TxnRef};
use crate::value::{OpKind, Operation, Value};
use std::collections::BTreeSet;

/// Operations of an excerpt, each as `2.0`: the transaction's place in the excerpt, and the operation's in the
/// transaction. `init.1` is the second initial value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Highlight {
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
    /// Whoever is meant, if the excerpt has it.
    pub(crate) fn of(excerpt: &Excerpt, meant: &TxnRef) -> Option<Self> {
        match meant {
            TxnRef::Initial => Some(Self::Initial),
            TxnRef::Txn(id) => Self::named(excerpt, id),
        }
    }

    /// The transaction with a name, if the excerpt has it.
    pub(crate) fn named(excerpt: &Excerpt, id: &str) -> Option<Self> {
        excerpt.transactions.iter().position(|it| it.id == id).map(Self::Txn)
    }

    /// `2`, or `init`.
    pub(crate) fn token(self) -> String {
        match self {
            Self::Initial => "init".to_owned(),
            Self::Txn(txn) => txn.to_string(),
        }
    }
}

impl Highlight {
    /// What a dependency is about.
    pub(crate) fn of_link(link: &Link, excerpt: &Excerpt) -> Self {
        let mut highlight = Self::default();
        let (from, to) = (Owner::of(excerpt, &link.from), Owner::of(excerpt, &link.to));
        highlight.owners.extend(from.into_iter().chain(to));
        let (Some(from), Some(to), Some(key)) = (from, to, link.key.as_ref()) else { return highlight };
        let ops = KeyOps { excerpt, key };
        match link.kind {
            LinkKind::ReadFrom => highlight.read_from(&ops, from, to),
            LinkKind::AntiDependency => {
                let reads = ops.reads(from);
                highlight.add(ops.owners().flat_map(|writer| ops.sources(writer, from, &reads)));
                highlight.add(reads.into_iter().map(|it| (from, it)));
                highlight.add(ops.last_writes(to));
            }
            LinkKind::VersionOrder => {
                highlight.add(ops.last_writes(from));
                highlight.add(ops.last_writes(to));
            }
            LinkKind::SessionOrder | LinkKind::RealTime => {}
        }
        if let Some(reader) = link.shown_by.as_deref().and_then(|it| Owner::named(excerpt, it)) {
            highlight.add(ops.reads(reader).into_iter().map(|it| (reader, it)));
        }
        highlight
    }

    /// Everybody on a cycle.
    pub(crate) fn of_cycle(cycle: &[Link], excerpt: &Excerpt) -> Self {
        let owners = cycle.iter().filter_map(|it| Owner::of(excerpt, &it.from)).collect();
        Self { owners, ..Self::default() }
    }

    /// A read that nothing explains.
    pub(crate) fn of_read(read: &LocalRead, excerpt: &Excerpt) -> Self {
        let mut highlight = Self::default();
        if let Some(reader) = Owner::named(excerpt, &read.transaction) {
            highlight.owners.insert(reader);
            highlight.add(read.op.map(|it| (reader, it)));
        }
        highlight
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

    fn read_from(&mut self, ops: &KeyOps<'_>, from: Owner, to: Owner) {
        let reads = ops.reads(to);
        let writes = ops.sources(from, to, &reads);
        if writes.is_empty() {
            self.add(ops.last_writes(from));
        }
        let is_source = |read: &usize| writes.is_empty() || !ops.sources(from, to, &[*read]).is_empty();
        self.add(reads.iter().filter(|it| is_source(it)).map(|it| (to, *it)));
        self.add(writes);
    }
}

/// The operations of an excerpt on one key.
struct KeyOps<'e> {
    excerpt: &'e Excerpt,
    key: &'e Value,
}

impl KeyOps<'_> {
    fn owners(&self) -> impl Iterator<Item = Owner> + use<> {
        (0..self.excerpt.transactions.len()).map(Owner::Txn).chain([Owner::Initial])
    }

    fn ops(&self, owner: Owner) -> &[Operation] {
        match owner {
            Owner::Initial => &[],
            Owner::Txn(txn) => &self.excerpt.transactions[txn].ops,
        }
    }

    fn places(&self, owner: Owner, is_meant: impl Fn(&Operation) -> bool) -> Vec<usize> {
        let ops = self.ops(owner).iter().enumerate();
        ops.filter(|it| it.1.key == *self.key && is_meant(it.1)).map(|it| it.0).collect()
    }

    fn reads(&self, owner: Owner) -> Vec<usize> {
        self.places(owner, Operation::is_read)
    }

    /// The initial state has values instead of operations.
    fn writes(&self, owner: Owner) -> Vec<usize> {
        match owner {
            Owner::Initial => self.excerpt.initial.iter().position(|it| it.key == *self.key).into_iter().collect(),
            Owner::Txn(_) => self.places(owner, |it| !it.is_read()),
        }
    }

    /// What a transaction finally made of the key: its last write, or everything that it appended.
    fn last_writes(&self, owner: Owner) -> Vec<(Owner, usize)> {
        let writes = self.writes(owner);
        let has_appends = self.ops(owner).iter().any(|it| it.key == *self.key && it.kind == OpKind::Append);
        let skipped = if has_appends { 0 } else { writes.len().saturating_sub(1) };
        writes.into_iter().skip(skipped).map(|it| (owner, it)).collect()
    }

    /// The writes of one transaction that reads of another show.
    fn sources(&self, writer: Owner, reader: Owner, reads: &[usize]) -> Vec<(Owner, usize)> {
        let shows = |write: usize, read: &Operation| match writer {
            Owner::Initial => self.excerpt.initial[write].is_read_by(read),
            Owner::Txn(_) => read.shows(&self.ops(writer)[write]),
        };
        let is_seen = |write: &usize| reads.iter().any(|it| shows(*write, &self.ops(reader)[*it]));
        if writer == reader {
            return Vec::new();
        }
        self.writes(writer).into_iter().filter(is_seen).map(|it| (writer, it)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Premises;
    use crate::value::tests::excerpt;

    fn highlight(excerpt: &Excerpt, from: &str, kind: LinkKind, key: &str, to: &str) -> String {
        let link = Link {
            from: from.to_owned().into(),
            to: to.to_owned().into(),
            kind,
            key: Some(Value::Text(key.to_owned())),
            because: String::new(),
            shown_by: None,
            premises: Premises::default(),
        };
        Highlight::of_link(&link, excerpt).ops()
    }

    #[test]
    fn only_the_operations_of_the_dependency_light_up() {
        let excerpt = excerpt("y=7 x=0", &["w(x,1) w(x,2) w(xy,2)", "r(x,0) r(x,2) r(y,7)", "w(x,3)"]);
        assert_eq!(highlight(&excerpt, "s0.1", LinkKind::ReadFrom, "x", "s1.1"), "0.1 1.1");
        assert_eq!(highlight(&excerpt, "s0.1", LinkKind::VersionOrder, "x", "s2.1"), "0.1 2.0");
        assert_eq!(highlight(&excerpt, "s1.1", LinkKind::AntiDependency, "x", "s2.1"), "init.1 0.1 1.0 1.1 2.0");
        assert_eq!(highlight(&excerpt, "init", LinkKind::ReadFrom, "y", "s1.1"), "init.0 1.2");
        assert_eq!(highlight(&excerpt, "s0.1", LinkKind::SessionOrder, "x", "s9.1"), "");
    }

    #[test]
    fn elements_of_lists_are_found() {
        let excerpt = excerpt("", &["append(l,1) append(l,2)", "r(l,[1,3])", "append(l,3)"]);
        assert_eq!(highlight(&excerpt, "s0.1", LinkKind::ReadFrom, "l", "s1.1"), "0.0 1.0");
        assert_eq!(highlight(&excerpt, "s0.1", LinkKind::VersionOrder, "l", "s2.1"), "0.0 0.1 2.0");
    }
}
