//! A history without names and values: who reads which key from whom, who writes what, session order and real time.

use super::orders::{Order, is_union_of_chains, permutations, renamed};
use iso_history::{Facts, History, HistoryBuilder, Outcome, Place, TxnId};

/// A history whose writes all have values of their own. Transactions and keys are numbers from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Abstract {
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// Session order: closed, ascending, and earlier transactions have smaller numbers.
    pub(crate) so: Order,
    /// Ascending.
    pub(crate) writes: Vec<Write>,
    /// One transaction after the other, in program order, or in that of the keys if it is ignored.
    pub(crate) reads: Vec<Read>,
    pub(crate) read_order: ReadOrder,
    /// Who ended before whom began, if there are times: an interval order, ascending, that contains session order.
    pub(crate) rt: Option<Order>,
}

/// A transaction writes a key, after all its reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) txn: u8,
    pub(crate) key: u8,
}

/// A transaction reads a key from another one, or from the initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Read {
    pub(crate) txn: u8,
    pub(crate) key: u8,
    pub(crate) source: Option<u8>,
}

/// Do histories differ that read the same in another order?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReadOrder {
    Ignored,
    Kept,
}

impl Abstract {
    /// The least of all histories that differ in the names of transactions and keys only.
    pub(crate) fn canonical(&self) -> Self {
        let key_names = permutations(self.k);
        let names = permutations(self.n).into_iter().filter_map(|txns| Some((renamed(&self.so, &txns)?, txns)));
        let all = names.flat_map(|(so, txns)| {
            key_names.iter().map(move |keys| self.renamed(so.clone(), &txns, keys)).collect::<Vec<_>>()
        });
        all.min().expect("an order can be numbered from first to last")
    }

    fn renamed(&self, so: Order, txns: &[u8], keys: &[u8]) -> Self {
        let (txn, key) = (|it: u8| txns[usize::from(it)], |it: u8| keys[usize::from(it)]);
        let write = |it: &Write| Write { txn: txn(it.txn), key: key(it.key) };
        let read = |it: &Read| Read { txn: txn(it.txn), key: key(it.key), source: it.source.map(txn) };
        let mut history = Self {
            so,
            writes: self.writes.iter().map(write).collect(),
            reads: self.reads.iter().map(read).collect(),
            rt: self.rt.as_ref().map(|rt| rt.iter().map(|it| (txn(it.0), txn(it.1))).collect()),
            ..*self
        };
        history.sort();
        history
    }

    /// Puts everything in its order; program order stays.
    pub(crate) fn sort(&mut self) {
        self.so.sort_unstable();
        self.writes.sort_unstable();
        self.rt.iter_mut().for_each(|it| it.sort_unstable());
        match self.read_order {
            ReadOrder::Ignored => self.reads.sort_unstable(),
            ReadOrder::Kept => self.reads.sort_by_key(|it| it.txn),
        }
    }

    /// How much there is to it. What contains another history, and is another one, has a larger size.
    pub(crate) fn size(&self) -> usize {
        let n_pairs = self.so.len() + self.rt.as_ref().map_or(0, Vec::len);
        self.n + self.k + n_pairs + self.writes.len() + self.reads.len()
    }

    /// Can the other history be found in this one: its transactions and keys under other names, with all its reads from
    /// the same sources, writes, and session order, and, if they count, the order of its reads and real time?
    pub(crate) fn contains(&self, other: &Self) -> bool {
        if other.n > self.n || other.k > self.k || other.reads.len() > self.reads.len() || other.size() > self.size() {
            return false;
        }
        let key_names = permutations(self.k);
        permutations(self.n).iter().any(|txns| {
            let txn = |it: u8| txns[usize::from(it)];
            let has_all = |own: &Order, pairs: &Order| pairs.iter().all(|it| own.contains(&(txn(it.0), txn(it.1))));
            has_all(&self.so, &other.so)
                && self.rt.as_ref().zip(other.rt.as_ref()).is_none_or(|(own, pairs)| has_all(own, pairs))
                && key_names.iter().any(|keys| self.contains_ops(other, txns, keys))
        })
    }

    /// The same, once the names are chosen; those of numbers that the other does not have play no part.
    fn contains_ops(&self, other: &Self, txns: &[u8], keys: &[u8]) -> bool {
        let (txn, key) = (|it: u8| txns[usize::from(it)], |it: u8| keys[usize::from(it)]);
        let mut writes = other.writes.iter().map(|it| Write { txn: txn(it.txn), key: key(it.key) });
        let reads =
            other.reads.iter().map(|it| Read { txn: txn(it.txn), key: key(it.key), source: it.source.map(txn) });
        writes.all(|it| self.writes.contains(&it))
            && match self.read_order {
                ReadOrder::Ignored => reads.into_iter().all(|it| self.reads.contains(&it)),
                ReadOrder::Kept => self.has_in_order(&reads.collect::<Vec<_>>()),
            }
    }

    fn has_in_order(&self, wanted: &[Read]) -> bool {
        (0..self.n as u8).all(|txn| {
            let mut own = self.reads.iter().filter(|it| it.txn == txn);
            wanted.iter().filter(|it| it.txn == txn).all(|read| own.any(|it| it == read))
        })
    }

    /// A history for the evaluator, in which transaction 0 is the first after the initial one. If session order is no
    /// union of chains, each transaction has a session of its own, and the order comes beside it.
    pub(crate) fn to_history(&self) -> (History, Option<Vec<(TxnId, TxnId)>>) {
        let are_chains = is_union_of_chains(&self.so);
        let mut builder = HistoryBuilder::new();
        let values: Vec<_> = (0..=self.n as u32).map(|it| builder.value(i64::from(it).into())).collect();
        builder.default_initial(values[0]);
        let name = |it: u8| ["x", "y", "z", "u", "v"][usize::from(it)];
        let keys: Vec<_> = (0..self.k as u8).map(|it| builder.key(name(it).into())).collect();
        for txn in 0..self.n as u8 {
            let first = self.so.iter().filter(|it| are_chains && it.1 == txn).map(|it| it.0).min().unwrap_or(txn);
            let session = builder.session(&format!("s{}", first + 1));
            builder.begin(session, Place::default());
            for read in self.reads.iter().filter(|it| it.txn == txn) {
                builder.read(keys[usize::from(read.key)], values[read.source.map_or(0, |it| usize::from(it) + 1)]);
            }
            for write in self.writes.iter().filter(|it| it.txn == txn) {
                builder.write(keys[usize::from(write.key)], values[usize::from(txn) + 1]);
            }
            if let Some(rt) = &self.rt {
                let (begin, end) = interval(self.n, rt, txn);
                builder.times(Some(begin), Some(end));
            }
            builder.end(Outcome::Committed);
        }
        let id = |it: u8| TxnId::from_index(usize::from(it) + 1);
        let pairs = (!are_chains).then(|| self.so.iter().map(|it| (id(it.0), id(it.1))).collect());
        (builder.finish().expect("it is a history"), pairs)
    }

    /// The canonical form of a history of committed transactions, whose reads have one possible source each. Session
    /// order is the history's, or these pairs, which must be closed.
    pub(crate) fn from_history(history: &History, so: Option<&[(TxnId, TxnId)]>, read_order: ReadOrder) -> Self {
        let facts = Facts::new(history);
        let number = |it: TxnId| it.index() as u8 - 1;
        let touched = |it: &iso_history::KeyId| history.txns().any(|txn| touches(history, txn, *it));
        let keys: Vec<_> = history.keys().filter(touched).collect();
        let key_number = |key| keys.iter().position(|it| *it == key).expect("touched") as u8;
        let read = |(idx, it): (usize, &iso_history::ExternalRead)| {
            let [source] = facts.candidates(idx) else { panic!("a read has one source") };
            let source = (!source.is_initial()).then(|| number(*source));
            Read { txn: number(it.reader), key: key_number(it.key), source }
        };
        let own = |txn| facts.final_writes(txn).iter().map(move |it| (txn, it.0));
        let all = || history.txns().flat_map(|a| history.txns().map(move |b| (a, b)));
        let recorded = || all().filter(|it| history.is_session_ordered(it.0, it.1)).collect();
        let mut so: Vec<_> = so.map_or_else(recorded, <[_]>::to_vec);
        so.retain(|it| !it.0.is_initial());
        let timed = || all().filter(|it| history.is_real_time_ordered(it.0, it.1));
        let mut found = Self {
            n: history.n_txns() - 1,
            k: keys.len(),
            so: so.iter().map(|it| (number(it.0), number(it.1))).collect(),
            writes: history.txns().flat_map(own).map(|it| Write { txn: number(it.0), key: key_number(it.1) }).collect(),
            reads: facts.reads().iter().enumerate().map(read).collect(),
            read_order,
            rt: history.has_times().then(|| timed().map(|it| (number(it.0), number(it.1))).collect()),
        };
        found.sort();
        found.canonical()
    }

    /// The history in a few words, for a person.
    pub(crate) fn show(&self) -> String {
        let (history, pairs) = self.to_history();
        let label = |txn: TxnId| match pairs {
            Some(_) => format!("t{}", txn.index()),
            None => history.label(txn),
        };
        let ops = |txn| history.ops(txn).map(|it| history.render_op(it)).collect::<Vec<_>>().join(" ");
        let mut lines: Vec<String> = history.txns().map(|it| format!("{}: {}", label(it), ops(it))).collect();
        if let Some(pairs) = &pairs {
            let order: Vec<String> = pairs.iter().map(|it| format!("{} < {}", label(it.0), label(it.1))).collect();
            lines.push(order.join(", "));
        }
        if let Some(rt) = &self.rt {
            let id = |it: u8| label(TxnId::from_index(usize::from(it) + 1));
            let order: Vec<String> = rt.iter().map(|it| format!("{} ended before {}", id(it.0), id(it.1))).collect();
            lines.push(order.join(", "));
        }
        lines.join("; ")
    }
}

/// Begin and end: in an interval order, of two sets of predecessors one contains the other.
fn interval(n: usize, rt: &Order, txn: u8) -> (i64, i64) {
    let begin = |txn: u8| 2 * i64::from(rt.iter().filter(|it| it.1 == txn).count() as u32);
    let first_after = rt.iter().filter(|it| it.0 == txn).map(|it| begin(it.1)).min();
    (begin(txn), first_after.unwrap_or(2 * i64::from(n as u32)) - 1)
}

fn touches(history: &History, txn: TxnId, key: iso_history::KeyId) -> bool {
    history.ops(txn).any(|it| history.op(it).key() == key)
}
