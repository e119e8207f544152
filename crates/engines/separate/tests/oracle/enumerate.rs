//! Every history of a scope, one of each shape.
//!
//! For each shape of session order, a history is one use of a key for each of its keys: who writes it, and who reads it
//! from whom. The names of keys do not matter, so uses are taken as a multiset; those of transactions matter as far as
//! session order tells them apart, so of the multisets that renamings keeping that order turn into each other the least
//! is taken. Only then are reads put into all their orders, and transactions into all real-time orders, where what is
//! left of symmetry is removed by comparing.

use super::orders::{Order, automorphisms, interval_orders, order_classes, permutations};
use super::{Abstract, BlindWrites, Read, ReadOrder, Scope, Times, Write};
use std::collections::{BTreeMap, BTreeSet};

/// Calls `visit` with every history of the scope in its canonical form, each once.
pub(crate) fn each(scope: Scope, visit: &mut dyn FnMut(Abstract)) {
    each_shape(scope, &mut |shape| arrangements(scope, &shape).into_iter().for_each(&mut *visit));
}

/// Calls `visit` with every history of the scope, each once, but with times and the order of reads left out.
pub(crate) fn each_shape(scope: Scope, visit: &mut dyn FnMut(Abstract)) {
    let uses = key_uses(scope);
    for so in order_classes(scope.n_txns).into_iter().filter(|it| scope.has_order(scope.n_txns, it)) {
        let images = images(&uses, &automorphisms(scope.n_txns, &so));
        for n_keys in 1..=scope.n_keys {
            each_multiset(uses.len(), n_keys, &mut |chosen| {
                let chosen_uses: Vec<&KeyUse> = chosen.iter().map(|it| &uses[*it]).collect();
                let has_ops = |txn: usize| chosen_uses.iter().any(|it| it.is_used_by(txn));
                if (0..scope.n_txns).all(has_ops) && is_least(chosen, &images) {
                    visit(build(scope, &so, &chosen_uses).canonical());
                }
            });
        }
    }
}

/// What everybody does to one key. Sources are bits: the first is the initial state, then come transactions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeyUse {
    is_writer: Vec<bool>,
    sources: Vec<u32>,
}

impl KeyUse {
    fn is_used_by(&self, txn: usize) -> bool {
        self.is_writer[txn] || self.sources[txn] != 0
    }

    fn renamed(&self, names: &[u8]) -> Self {
        let mut other = self.clone();
        for (txn, name) in names.iter().enumerate() {
            other.is_writer[usize::from(*name)] = self.is_writer[txn];
            let from = |source: usize| self.sources[txn] >> (source + 1) & 1;
            let others = names.iter().enumerate().map(|(source, name)| from(source) << (name + 1));
            other.sources[usize::from(*name)] = (self.sources[txn] & 1) | others.sum::<u32>();
        }
        other
    }
}

/// Every use of a key that the scope has, but that nobody touches it.
fn key_uses(scope: Scope) -> Vec<KeyUse> {
    let mut uses = Vec::new();
    for writers in (0..1u32 << scope.n_txns).filter(|it| (it.count_ones() as usize) < scope.n_versions) {
        let mut choices = vec![vec![]];
        for txn in 0..scope.n_txns {
            let options = source_sets(scope, writers, txn);
            let extend = |it: &Vec<u32>| options.iter().map(|next| [&it[..], &[*next]].concat()).collect::<Vec<_>>();
            choices = choices.iter().flat_map(extend).collect();
        }
        let is_writer: Vec<bool> = (0..scope.n_txns).map(|it| writers >> it & 1 == 1).collect();
        uses.extend(choices.into_iter().map(|sources| KeyUse { is_writer: is_writer.clone(), sources }));
    }
    uses.retain(|it| (0..scope.n_txns).any(|txn| it.is_used_by(txn)));
    uses
}

/// Whom a transaction may read a key from, taken together.
fn source_sets(scope: Scope, writers: u32, txn: usize) -> Vec<u32> {
    let is_writer = writers >> txn & 1 == 1;
    let n_least = usize::from(is_writer && scope.blind_writes == BlindWrites::Excluded);
    let n_most = scope.reads.n_most();
    let possible = (writers & !(1 << txn)) << 1 | 1;
    let fits = |set: &u32| set & !possible == 0 && (n_least..=n_most).contains(&(set.count_ones() as usize));
    (0..=possible).filter(fits).collect()
}

/// By renaming, what each use turns into.
fn images(uses: &[KeyUse], renamings: &[Vec<u8>]) -> Vec<Vec<usize>> {
    let place: BTreeMap<&KeyUse, usize> = uses.iter().enumerate().map(|it| (it.1, it.0)).collect();
    renamings.iter().map(|names| uses.iter().map(|it| place[&it.renamed(names)]).collect()).collect()
}

fn is_least(chosen: &[usize], images: &[Vec<usize>]) -> bool {
    images.iter().all(|image| {
        let mut other: Vec<usize> = chosen.iter().map(|it| image[*it]).collect();
        other.sort_unstable();
        *chosen <= other[..]
    })
}

/// Calls `visit` with every ascending list of so many numbers below the bound, repetitions allowed.
fn each_multiset(bound: usize, n_members: usize, visit: &mut dyn FnMut(&[usize])) {
    fn extend(bound: usize, n_more: usize, chosen: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
        if n_more == 0 {
            return visit(chosen);
        }
        for next in chosen.last().copied().unwrap_or(0)..bound {
            chosen.push(next);
            extend(bound, n_more - 1, chosen, visit);
            chosen.pop();
        }
    }
    extend(bound, n_members, &mut Vec::new(), visit);
}

fn build(scope: Scope, so: &Order, uses: &[&KeyUse]) -> Abstract {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (key, key_use) in (0u8..).zip(uses) {
        for txn in 0..scope.n_txns as u8 {
            if key_use.is_writer[usize::from(txn)] {
                writes.push(Write { txn, key });
            }
            let sources = key_use.sources[usize::from(txn)];
            let source = |bit: u8| bit.checked_sub(1);
            let bits = (0..=scope.n_txns as u8).filter(|bit| sources >> bit & 1 == 1);
            reads.extend(bits.map(|bit| Read { txn, key, source: source(bit) }));
        }
    }
    let (n, k, so, read_order) = (scope.n_txns, uses.len(), so.clone(), ReadOrder::Ignored);
    let mut history = Abstract { n, k, so, writes, reads, read_order, rt: None };
    history.sort();
    history
}

/// The histories of the scope of which only the order of reads and real time were left out, in their canonical form.
pub(crate) fn arrangements(scope: Scope, shape: &Abstract) -> BTreeSet<Abstract> {
    if scope.read_order() == ReadOrder::Ignored && scope.times == Times::None {
        return BTreeSet::from([shape.clone()]);
    }
    let times = match scope.times {
        Times::None => vec![None],
        Times::Intervals => interval_orders(shape.n, &shape.so).into_iter().map(Some).collect(),
    };
    let mut all = BTreeSet::new();
    for reads in read_orders(scope, shape) {
        let timed = |rt: &Option<Order>| Abstract {
            reads: reads.clone(),
            read_order: scope.read_order(),
            rt: rt.clone(),
            ..shape.clone()
        };
        all.extend(times.iter().map(|rt| timed(rt).canonical()));
    }
    all
}

fn read_orders(scope: Scope, shape: &Abstract) -> Vec<Vec<Read>> {
    if scope.read_order() == ReadOrder::Ignored {
        return vec![shape.reads.clone()];
    }
    let mut all = vec![vec![]];
    for txn in 0..shape.n as u8 {
        let own: Vec<Read> = shape.reads.iter().filter(|it| it.txn == txn).copied().collect();
        let orders = permutations(own.len());
        let in_order = |order: &Vec<u8>| order.iter().map(|it| own[usize::from(*it)]).collect::<Vec<_>>();
        let extend =
            |it: &Vec<Read>| orders.iter().map(|order| [&it[..], &in_order(order)].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(extend).collect();
    }
    all
}
