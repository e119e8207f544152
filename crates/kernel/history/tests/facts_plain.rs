//! Facts of registers agree with their definitions, taken word for word.

mod common;

use common::{Random, Shape, show};
use iso_history::{Facts, History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, Standing, TxnId, ValueId};
use std::collections::BTreeSet;

/// Facts by definition, with a search for each question.
struct Plain<'h> {
    history: &'h History,
    inviable: BTreeSet<TxnId>,
}

impl<'h> Plain<'h> {
    fn new(history: &'h History) -> Self {
        let mut plain = Self { history, inviable: BTreeSet::new() };
        loop {
            let found = |it: &TxnId| history.outcome(*it) == Outcome::Indeterminate && plain.has_unexplained_read(*it);
            let inviable: BTreeSet<TxnId> = history.txns().filter(found).collect();
            if inviable == plain.inviable {
                return plain;
            }
            plain.inviable = inviable;
        }
    }

    fn final_write(&self, txn: TxnId, key: KeyId) -> Option<ValueId> {
        self.history.ops(txn).rev().find_map(|it| match self.history.op(it) {
            Op::Write { key: written, value } if written == key => Some(value),
            _ => None,
        })
    }

    fn own_write_before(&self, txn: TxnId, op: OpId, key: KeyId) -> Option<ValueId> {
        self.history.ops(txn).filter(|it| *it < op).rev().find_map(|it| match self.history.op(it) {
            Op::Write { key: written, value } if written == key => Some(value),
            _ => None,
        })
    }

    /// Its reads, with the value that the transaction itself had written before.
    fn reads(&self, txn: TxnId) -> impl Iterator<Item = (OpId, KeyId, ValueId, Option<ValueId>)> {
        self.history.ops(txn).filter_map(move |op| match self.history.op(op) {
            Op::Read { key, value } => Some((op, key, value, self.own_write_before(txn, op, key))),
            _ => None,
        })
    }

    fn writers(&self, reader: TxnId, key: KeyId, value: ValueId) -> Vec<TxnId> {
        let initial = Some(TxnId::INITIAL).filter(|_| self.history.initial_value(key) == value);
        let wrote = |it: &TxnId| {
            *it != reader && self.history.outcome(*it) != Outcome::Aborted && self.final_write(*it, key) == Some(value)
        };
        initial.into_iter().chain(self.history.txns().filter(wrote)).collect()
    }

    fn candidates(&self, reader: TxnId, key: KeyId, value: ValueId) -> Vec<TxnId> {
        let all = self.writers(reader, key, value);
        let viable: Vec<TxnId> = all.iter().copied().filter(|it| !self.inviable.contains(it)).collect();
        if viable.is_empty() { all.into_iter().take(1).collect() } else { viable }
    }

    fn has_unexplained_read(&self, txn: TxnId) -> bool {
        self.reads(txn).any(|(_, key, value, own)| match own {
            Some(own) => own != value,
            None => self.writers(txn, key, value).iter().all(|it| self.inviable.contains(it)),
        })
    }

    /// Who counts if these do, and those whom they can only have read from (or, with `may`, may have read from).
    fn closure(&self, mut counted: BTreeSet<TxnId>, may: bool) -> BTreeSet<TxnId> {
        loop {
            let mut next = counted.clone();
            for txn in &counted {
                for (_, key, value, _) in self.reads(*txn).filter(|it| it.3.is_none()) {
                    let candidates = self.candidates(*txn, key, value);
                    if may || candidates.len() == 1 {
                        next.extend(candidates);
                    }
                }
            }
            if next == counted {
                return counted;
            }
            counted = next;
        }
    }

    fn standing(&self) -> Vec<Standing> {
        let committed = self.history.txns().filter(|it| self.history.outcome(*it) == Outcome::Committed);
        let counted = self.closure(committed.collect(), false);
        let optional = self.closure(counted.clone(), true);
        let of = |it: TxnId| match (counted.contains(&it), optional.contains(&it)) {
            (true, _) => Standing::Counted,
            (_, true) => Standing::Optional,
            _ => Standing::Out,
        };
        self.history.txns().map(of).collect()
    }

    fn anomaly(&self, reader: TxnId, key: KeyId, value: ValueId) -> Option<LocalKind> {
        if !self.writers(reader, key, value).is_empty() {
            return None;
        }
        let wrote = |it: &TxnId| self.history.ops(*it).any(|op| self.history.op(op) == Op::Write { key, value });
        let all: Vec<TxnId> = self.history.txns().filter(wrote).collect();
        let aborted = all.iter().find(|it| self.history.outcome(**it) == Outcome::Aborted);
        let other = all.iter().find(|it| **it != reader);
        Some(match (aborted, other) {
            (Some(writer), _) => LocalKind::Aborted { writer: *writer },
            (_, Some(writer)) => LocalKind::Intermediate { writer: *writer },
            _ if all.is_empty() => LocalKind::ThinAir,
            _ => LocalKind::Future,
        })
    }

    fn unrepeatable(&self, reader: TxnId) -> Vec<LocalAnomaly> {
        let external: Vec<_> = self.reads(reader).filter(|it| it.3.is_none()).collect();
        let earlier = |op: OpId, key: KeyId, value: ValueId| {
            let mut before = external.iter().filter(|it| it.0 < op && it.1 == key && it.2 != value);
            before.find(|it| self.anomaly(reader, key, it.2).is_none())
        };
        let found = external.iter().filter_map(|(op, key, value, _)| Some((*op, earlier(*op, *key, *value)?.0)));
        found.map(|(op, earlier)| LocalAnomaly { reader, op, kind: LocalKind::Unrepeatable { earlier } }).collect()
    }
}

fn compare(history: &History) {
    let facts = Facts::new(history);
    let plain = Plain::new(history);
    let standing = plain.standing();
    assert_eq!(history.txns().map(|it| facts.standing(it)).collect::<Vec<_>>(), standing, "{}", show(history));
    let (mut n_reads, mut local, mut unrepeatable) = (0, Vec::new(), Vec::new());
    for (reader, standing) in history.txns().zip(standing) {
        assert_eq!(facts.reads_of(reader).start, n_reads, "{}", show(history));
        if standing == Standing::Out {
            continue;
        }
        for (op, key, value, own) in plain.reads(reader) {
            let kind = if let Some(expected) = own {
                Some(LocalKind::Internal { expected }).filter(|_| expected != value)
            } else {
                assert_eq!(facts.reads()[n_reads].op, op, "{}", show(history));
                let expected = plain.candidates(reader, key, value);
                assert_eq!(facts.candidates(n_reads), expected, "{op:?} of {}", show(history));
                n_reads += 1;
                plain.anomaly(reader, key, value)
            };
            local.extend(kind.filter(|_| standing == Standing::Counted).map(|kind| LocalAnomaly { reader, op, kind }));
        }
        if standing == Standing::Counted {
            unrepeatable.extend(plain.unrepeatable(reader));
        }
        for key in history.keys() {
            let written = facts.final_writes(reader).iter().find(|it| it.0 == key).map(|it| it.1);
            assert_eq!(written, plain.final_write(reader, key), "{}", show(history));
            assert_eq!(written.is_some(), facts.writers_of(key).contains(&reader), "{}", show(history));
        }
    }
    assert_eq!(facts.reads().len(), n_reads, "{}", show(history));
    assert_eq!(facts.local(), local, "{}", show(history));
    assert_eq!(facts.unrepeatable(), unrepeatable, "{}", show(history));
}

#[test]
fn facts_of_registers_agree_with_their_definitions() {
    let mut random = Random::new(21);
    for nth in 0..6000 {
        let shape = Shape {
            n_txns: 2 + nth % 6,
            n_ops: 1 + nth % 7,
            n_keys: 1 + nth % 3,
            n_values: 1 + nth % 5,
            aborted: nth % 20,
            indeterminate: nth % 70,
            lists: 0,
            ..Shape::MIXED
        };
        compare(&random.history(shape));
    }
}

#[test]
fn facts_of_few_values_and_many_writers_agree_with_their_definitions() {
    let mut random = Random::new(22);
    for indeterminate in [0, 0, 20, 60] {
        let shape = Shape { n_txns: 60, n_ops: 5, n_keys: 2, n_values: 2, indeterminate, lists: 0, ..Shape::MIXED };
        compare(&random.history(shape));
    }
}
