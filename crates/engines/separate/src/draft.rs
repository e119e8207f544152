//! A history with all choices made, before it has names and values.

use crate::matrix::Matrix;
use crate::sketch::Sketch;
use iso_history::{
    Column, Comparison, Datum, History, HistoryBuilder, KeyId, Locking, Outcome, Place, Predicate, TxnId, ValueId,
};
use iso_solve::Values;

/// Who reads what from whom, who writes, and who comes before whom. Transaction 0 is the initial one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Draft {
    /// Transactions, the initial one included.
    pub(crate) n_txns: usize,
    /// Does the order of reads matter?
    pub(crate) reads_are_ordered: bool,
    /// By transaction its reads in program order.
    pub(crate) reads: Vec<Vec<DraftRead>>,
    /// By transaction the keys that it writes, ascending.
    pub(crate) writes: Vec<Vec<usize>>,
    /// By transaction, the initial one included, the rows of which its version is that there is none.
    pub(crate) absent: Vec<Vec<usize>>,
    /// By transaction the rows that it deletes and makes again.
    pub(crate) remade: Vec<Vec<usize>>,
    /// By transaction the rows that it writes, and that a locking statement then does not find.
    pub(crate) lost: Vec<Vec<usize>>,
    /// Keys that are lists, with their writers in the order of the list.
    pub(crate) lists: Vec<(usize, Vec<usize>)>,
    /// Session order, without the initial transaction.
    pub(crate) so: Vec<(usize, usize)>,
    /// Who ended before whom began, without the initial transaction, if that matters.
    pub(crate) rt: Option<Vec<(usize, usize)>>,
}

/// A read of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DraftRead {
    pub(crate) key: usize,
    /// Who wrote what was seen.
    pub(crate) source: usize,
    pub(crate) returned: Returned,
    /// Equal numbers in a transaction are one statement.
    pub(crate) statement: usize,
    /// Does its statement write the key as well?
    pub(crate) updates: bool,
    /// Does its statement lock all that it reads?
    pub(crate) locking: bool,
}

/// Did a read return what it saw?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Returned {
    Yes,
    /// It is a row that a scan did not return.
    No,
}

/// A draft as a history.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) history: History,
    /// By transaction of the draft its id.
    pub(crate) ids: Vec<TxnId>,
    /// By key of the draft its id.
    pub(crate) keys: Vec<Option<KeyId>>,
    /// Session order, if sessions cannot say it.
    pub(crate) session_order: Option<Vec<(TxnId, TxnId)>>,
}

impl Draft {
    /// What a sketch has when its inputs have these values.
    pub(crate) fn new(sketch: &Sketch, values: &Values) -> Self {
        let n = sketch.n_txns;
        let pairs = || (1..n).flat_map(|a| (1..n).map(move |b| (a, b))).filter(|it| it.0 != it.1);
        let mut draft = Self {
            n_txns: n,
            reads_are_ordered: sketch.aspects.read_order,
            reads: vec![Vec::new(); n],
            writes: vec![Vec::new(); n],
            absent: rows_of(&sketch.statements.absent, values),
            remade: rows_of(&sketch.statements.remade, values),
            lost: rows_of(&sketch.statements.lost, values),
            lists: lists_of(sketch, values),
            ..Self::default()
        };
        for txn in 1..n {
            draft.writes[txn] = (0..sketch.n_keys).filter(|it| values.of(sketch.writes.at(txn, *it))).collect();
            let mut slots: Vec<usize> = sketch.slots_of(txn).filter(|it| values.of(sketch.active[*it])).collect();
            if sketch.aspects.read_order {
                let n_before =
                    |slot: usize| sketch.slots_of(txn).filter(|it| values.of(sketch.po.at(*it, slot))).count();
                slots.sort_by_key(|it| n_before(*it));
            }
            for (nth, &slot) in slots.iter().enumerate() {
                let source = (0..n).find(|it| values.of(sketch.from.at(slot, *it)));
                let is_same = |it: &usize| values.of(sketch.statements.same.at(*it, slot));
                draft.reads[txn].push(DraftRead {
                    key: sketch.slots[slot].key,
                    source: source.expect("a read has a source"),
                    returned: if values.of(sketch.omitted[slot]) { Returned::No } else { Returned::Yes },
                    statement: slots.iter().position(is_same).map_or(nth, |it| it.min(nth)),
                    updates: values.of(sketch.statements.updates[slot]),
                    locking: values.of(sketch.statements.locking[slot]),
                });
            }
        }
        draft.so = pairs().filter(|it| values.of(sketch.so.at(it.0, it.1))).collect();
        if sketch.aspects.real_time {
            draft.rt = Some(pairs().filter(|it| values.of(sketch.rt.at(it.0, it.1))).collect());
        }
        draft
    }

    /// The same with transactions in front that read the initial state of a key; in the first session if the number of
    /// sessions is limited.
    pub(crate) fn with_padding(&self, n_more: usize, is_limited: bool) -> Self {
        let moved = |txn: usize| if txn == 0 { 0 } else { txn + n_more };
        let moved_pairs = |pairs: &[(usize, usize)]| pairs.iter().map(|it| (moved(it.0), moved(it.1))).collect();
        let key = self.keys().first().copied().unwrap_or(0);
        let mut padded = Self {
            n_txns: self.n_txns + n_more,
            reads_are_ordered: self.reads_are_ordered,
            lists: self.lists.clone(),
            so: moved_pairs(&self.so),
            ..Self::default()
        };
        padded.rt = self.rt.as_deref().map(moved_pairs);
        padded.reads = vec![Vec::new()];
        padded.reads.extend(std::iter::repeat_n(vec![DraftRead::plain(key, 0)], n_more));
        let moved_read = |it: &DraftRead| DraftRead { source: moved(it.source), ..*it };
        let moved_reads = |of: &Vec<DraftRead>| of.iter().map(moved_read).collect::<Vec<_>>();
        padded.reads.extend(self.reads[1..].iter().map(moved_reads));
        let later = |of: &[Vec<usize>]| {
            let of_padding = std::iter::repeat_n(Vec::new(), n_more);
            of[..1].iter().cloned().chain(of_padding).chain(of[1..].iter().cloned()).collect()
        };
        padded.writes = later(&self.writes);
        padded.absent = later(&self.absent);
        padded.remade = later(&self.remade);
        padded.lost = later(&self.lost);
        for pad in 1..=n_more {
            let in_session = |it: &usize| *it == 1 || self.is_before(1, *it) || self.is_before(*it, 1);
            if is_limited {
                padded.so.extend((pad + 1..=n_more).map(|it| (pad, it)));
                padded.so.extend((1..self.n_txns).filter(in_session).map(|it| (pad, moved(it))));
            }
            if let Some(rt) = &mut padded.rt {
                rt.extend((pad + 1..padded.n_txns).map(|it| (pad, it)));
            }
        }
        padded
    }

    /// The keys that somebody reads or writes, ascending.
    pub(crate) fn keys(&self) -> Vec<usize> {
        let read = self.reads.iter().flatten().map(|it| it.key);
        let mut keys: Vec<usize> = read.chain(self.writes.iter().flatten().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Reads and writes.
    pub(crate) fn n_operations(&self) -> usize {
        let n_reads: usize = self.reads.iter().map(Vec::len).sum();
        let n_writes: usize = self.writes.iter().map(Vec::len).sum();
        let n_scripted: usize = self.remade.iter().chain(&self.lost).map(Vec::len).sum();
        n_reads + n_writes + n_scripted
    }

    /// What makes statements more than single plain operations.
    pub(crate) fn n_marks(&self) -> usize {
        let of_rows: usize =
            [&self.absent, &self.remade, &self.lost].iter().flat_map(|it| it.iter()).map(Vec::len).sum();
        let of_reads = |it: &DraftRead| {
            usize::from(it.updates) + usize::from(it.locking) + usize::from(it.returned == Returned::No)
        };
        let joint = |reads: &Vec<DraftRead>| {
            let is_joint = |(idx, it): (usize, &DraftRead)| {
                reads[..idx].iter().filter(|other| other.statement == it.statement).count()
            };
            reads.iter().enumerate().map(is_joint).sum::<usize>()
        };
        of_rows + self.reads.iter().flatten().map(of_reads).sum::<usize>() + self.reads.iter().map(joint).sum::<usize>()
    }

    /// Operations, and who comes before whom: how much there is to look at.
    pub(crate) fn n_facts(&self) -> usize {
        self.n_operations() + self.so.len() + self.rt.as_ref().map_or(0, Vec::len)
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        self.so.contains(&(a, b))
    }

    /// Are transactions that have a common predecessor or successor always ordered?
    fn is_chains(&self) -> bool {
        let related = |a, b| a == b || self.is_before(a, b) || self.is_before(b, a);
        let clash = |it: &(usize, usize), other: &(usize, usize)| {
            (it.0 == other.0 && !related(it.1, other.1)) || (it.1 == other.1 && !related(it.0, other.0))
        };
        self.so.iter().all(|it| self.so.iter().all(|other| !clash(it, other)))
    }

    /// Transactions in an order that session order respects.
    fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (1..self.n_txns).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let is_next = |it: &usize| left.iter().all(|other| !self.is_before(*other, *it));
            let next = left.iter().position(is_next).expect("session order has no cycle");
            order.push(left.remove(next));
        }
        order
    }

    /// Names transactions by session, keys by letters, and values by counting.
    pub(crate) fn write(&self) -> Written {
        let mut builder = HistoryBuilder::new();
        let keys = self.name_keys(&mut builder);
        let (order, is_chains) = (self.order(), self.is_chains());
        let mut ids = vec![TxnId::INITIAL; self.n_txns];
        let mut values = vec![vec![ValueId::from_index(0); self.n_txns]; keys.len()];
        let mut numbers = vec![vec![0; self.n_txns]; keys.len()];
        for (key, of_key) in values.iter_mut().enumerate() {
            let writers = order.iter().filter(|it| self.writes[**it].contains(&key));
            for (nth, txn) in std::iter::once(&0).chain(writers).enumerate() {
                numbers[key][*txn] = number(nth);
                let is_absent = self.absent[*txn].contains(&key);
                let value = if is_absent { Datum::Null } else { Datum::Int(number(nth)) };
                of_key[*txn] = builder.value(value);
            }
        }
        let names = Names { keys, values, numbers, mentioned: self.keys_as_mentioned() };
        let mut sessions: Vec<usize> = vec![0; self.n_txns];
        let mut n_sessions = 0;
        for &txn in &order {
            let earlier = order.iter().find(|it| is_chains && self.is_before(**it, txn));
            sessions[txn] = earlier.map_or_else(
                || {
                    n_sessions += 1;
                    n_sessions
                },
                |it| sessions[*it],
            );
            let session = builder.session(&format!("s{}", sessions[txn]));
            builder.begin(session, Place::default());
            self.write_operations(txn, &names, &mut builder);
            if let Some((begin, end)) = self.interval(txn) {
                builder.times(Some(begin), Some(end));
            }
            ids[txn] = builder.end(Outcome::Committed);
        }
        let history = builder.finish().expect("a draft is a valid history");
        let named = |it: &(usize, usize)| (ids[it.0], ids[it.1]);
        let session_order = (!is_chains).then(|| self.so.iter().map(named).collect());
        Written { history, ids, keys: names.keys, session_order }
    }

    /// The statements of a transaction: what it reads first, then what it writes without reading it.
    fn write_operations(&self, txn: usize, names: &Names, builder: &mut HistoryBuilder) {
        let Names { keys, values, numbers, .. } = names;
        let mut reads = self.reads[txn].clone();
        if !self.reads_are_ordered {
            reads.sort_by_key(|it| (keys[it.key], it.updates));
        }
        let id = |key: usize| keys[key].expect("a key that is read or written exists");
        for statement in reads.chunk_by(|a, b| a.statement == b.statement) {
            builder.begin_statement();
            for read in statement {
                let is_absent = self.absent[read.source].contains(&read.key);
                if let Some(appended) = self.appended_to(read.key) {
                    let up_to = appended.iter().position(|it| *it == read.source).map_or(0, |it| it + 1);
                    builder.read_list(id(read.key), appended[..up_to].iter().map(|it| values[read.key][*it]));
                    continue;
                }
                match read.returned {
                    Returned::Yes => builder.read(id(read.key), values[read.key][read.source]),
                    Returned::No if is_absent => builder.scan(&names.table(read.key), Predicate::All, []),
                    Returned::No => omit(builder, &names.table(read.key), numbers[read.key][read.source]),
                }
            }
            for read in statement.iter().filter(|it| it.updates) {
                builder.write(id(read.key), values[read.key][txn]);
            }
            let is_locking = statement.iter().any(|it| it.locking);
            builder.end_statement(if is_locking { Locking::ForUpdate } else { Locking::Free });
        }
        let is_blind = |it: &usize| !reads.iter().any(|read| read.updates && read.key == *it);
        let mut writes: Vec<usize> = self.writes[txn].iter().copied().filter(is_blind).collect();
        writes.sort_by_key(|it| keys[*it]);
        for key in &writes {
            if self.remade[txn].contains(key) {
                let none = builder.value(Datum::Null);
                builder.write(id(*key), none);
            }
            match self.appended_to(*key) {
                Some(_) => builder.append(id(*key), values[*key][txn]),
                None => builder.write(id(*key), values[*key][txn]),
            }
        }
        for key in &self.lost[txn] {
            builder.begin_statement();
            builder.scan(&names.table(*key), Predicate::All, []);
            builder.end_statement(Locking::ForUpdate);
        }
    }

    fn name_keys(&self, builder: &mut HistoryBuilder) -> Vec<Option<KeyId>> {
        let used = self.keys();
        let mut keys = vec![None; used.last().map_or(0, |it| it + 1)];
        let zero = builder.value(Datum::Int(0));
        for (nth, key) in self.keys_as_mentioned().into_iter().enumerate() {
            let name = key_name(nth);
            let is_omitted = self.reads.iter().flatten().any(|it| it.key == key && it.returned == Returned::No);
            let is_in = |of: &[Vec<usize>]| of.iter().flatten().any(|it| *it == key);
            let is_row = is_omitted || is_in(&self.absent) || is_in(&self.remade) || is_in(&self.lost);
            let id = builder.key(Datum::text(if is_row { format!("{name}/1") } else { name }));
            if !self.absent[0].contains(&key) && self.appended_to(key).is_none() {
                builder.initial(id, zero, Place::default());
            }
            keys[key] = Some(id);
        }
        keys
    }

    /// Who appended to a key, first to last, if it is a list.
    fn appended_to(&self, key: usize) -> Option<&[usize]> {
        self.lists.iter().find(|it| it.0 == key).map(|it| &it.1[..])
    }

    /// The keys in the order in which a reader of the history meets them.
    fn keys_as_mentioned(&self) -> Vec<usize> {
        let mut mentioned: Vec<usize> = Vec::new();
        for txn in self.order() {
            let own = self.reads[txn].iter().map(|it| it.key).chain(self.writes[txn].iter().copied());
            for key in own {
                if !mentioned.contains(&key) {
                    mentioned.push(key);
                }
            }
        }
        mentioned
    }

    /// Begin and end of a transaction: whoever has the same transactions before it begins at the same time, and it ends
    /// just before the first of those that come after it begins.
    fn interval(&self, txn: usize) -> Option<(i64, i64)> {
        let rt = self.rt.as_ref()?;
        let begin = |txn: usize| {
            let n_before = |it: usize| rt.iter().filter(|pair| pair.1 == it).count();
            let mut counts: Vec<usize> = (1..self.n_txns).map(n_before).collect();
            counts.sort_unstable();
            counts.dedup();
            2 * number(counts.iter().position(|it| *it == n_before(txn)).unwrap_or(0))
        };
        let first_after = rt.iter().filter(|it| it.0 == txn).map(|it| begin(it.1)).min();
        let last = (1..self.n_txns).map(begin).max().unwrap_or(0);
        Some((begin(txn), first_after.map_or(last + 1, |it| it - 1)))
    }
}

/// What keys and versions of a draft are called.
struct Names {
    keys: Vec<Option<KeyId>>,
    /// By key and transaction: its version.
    values: Vec<Vec<ValueId>>,
    /// The same as numbers.
    numbers: Vec<Vec<i64>>,
    mentioned: Vec<usize>,
}

impl Names {
    /// The table of a row.
    fn table(&self, key: usize) -> String {
        key_name(self.mentioned.iter().position(|it| *it == key).unwrap_or(0))
    }
}

impl DraftRead {
    /// A read that is a statement by itself.
    fn plain(key: usize, source: usize) -> Self {
        Self { key, source, returned: Returned::Yes, statement: 0, updates: false, locking: false }
    }
}

/// By transaction the keys that a sketch relates it to.
fn rows_of(matrix: &Matrix, values: &Values) -> Vec<Vec<usize>> {
    let of = |txn: usize| (0..matrix.n_cols()).filter(|it| values.of(matrix.at(txn, *it))).collect();
    (0..matrix.n_rows()).map(of).collect()
}

/// The lists of a sketch, each with its writers in the order of the list.
fn lists_of(sketch: &Sketch, values: &Values) -> Vec<(usize, Vec<usize>)> {
    let is_list = |it: &usize| values.of(sketch.lists.is_list[*it]) && values.of(sketch.used[*it]);
    let writers = |key: usize| {
        let mut writers: Vec<usize> = (1..sketch.n_txns).filter(|it| values.of(sketch.writes.at(*it, key))).collect();
        let n_before =
            |it: usize| (1..sketch.n_txns).filter(|other| values.of(sketch.lists.orders[key].at(*other, it))).count();
        writers.sort_by_key(|it| n_before(*it));
        writers
    };
    (0..sketch.n_keys).filter(is_list).map(|it| (it, writers(it))).collect()
}

fn key_name(nth: usize) -> String {
    ["x", "y", "z", "u", "v", "w"].get(nth).map_or_else(|| format!("k{}", nth + 1), |it| (*it).to_owned())
}

/// A scan of a table of one row, which returns every version but this one.
fn omit(builder: &mut HistoryBuilder, table: &str, seen: i64) {
    let other = Predicate::Compare(Column::Named("v".into()), Comparison::Different, seen.into());
    builder.scan(table, other, []);
}

/// Drafts are small.
fn number(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}
