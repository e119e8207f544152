//! One question of the search: who is split, after which read, and which of its rows are the same.
//!
//! Rows have values: those of the split transaction, constants of the program, and [`FRESH`], which stands for one that
//! the split transaction and the constants are not. So what another transaction may touch is known slot by slot.

use crate::slots::{Slots, WayOf};
use iso_program::{Access, AccessKind, Constant, RowKey, TxnLevel};

/// The value of a row; see [`Question::n_values`].
pub(crate) type Value = usize;
/// A value that is none of the others.
pub(crate) const FRESH: Value = 0;

/// The split transaction, and what others may do beside it.
pub(crate) struct Question<'q, 't> {
    pub(crate) slots: &'q Slots<'t>,
    pub(crate) levels: &'q [TxnLevel],
    /// The way that is split.
    pub(crate) split: usize,
    /// The read after which it is, by place in the way.
    pub(crate) read: usize,
    /// By variable of the way, its value.
    pub(crate) values: Vec<Value>,
    pub(crate) n_values: usize,
    facts: Vec<SlotFacts>,
    usable: Vec<bool>,
}

/// What a transaction is in a cycle of more than two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// After the split one.
    Second,
    /// Between the second and the last.
    Middle,
    /// Before the split one.
    Last,
}

/// What a slot with a value means to the split transaction.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct SlotFacts {
    /// The two would wait for each other, or one would not commit.
    is_blocked: bool,
    /// It overwrites what was read: by place in its way.
    starts: Option<usize>,
    /// The split transaction writes what it reads: who reads, who writes.
    returns_by_rw: Option<(usize, usize)>,
    /// It comes before the split transaction in another way.
    returns: Option<(usize, usize)>,
    /// It is for certain in conflict with the split transaction.
    is_in_conflict: bool,
    /// It writes for certain what the split transaction reads.
    overwrites: bool,
    /// It reads for certain what the split transaction writes.
    is_overwritten: bool,
}

/// The values that the rows of a way may have: all different, or some the same as others or as constants.
pub(crate) fn values_of(slots: &Slots<'_>, split: usize, read: usize) -> Vec<Vec<Value>> {
    let way = slots.ways[split].way;
    let n_constants = slots.constants.len();
    let base: Vec<Value> = (0..way.variables.len()).map(|it| 1 + n_constants + it).collect();
    let constants = 1..=n_constants;
    let mut all = vec![base.clone()];
    let of_read = if let RowKey::Variable(variable) = way.accesses[read].key { Some(variable) } else { None };
    let firsts: Vec<Vec<Value>> = match of_read {
        None => vec![base.clone()],
        Some(variable) => {
            let with = |value| replaced(&base, variable, value);
            std::iter::once(base.clone()).chain(constants.clone().map(with)).collect()
        }
    };
    for first in firsts {
        for other in (0..base.len()).filter(|it| Some(*it) != of_read) {
            let same = of_read.map(|it| first[it]);
            all.extend(same.into_iter().chain(constants.clone()).map(|value| replaced(&first, other, value)));
        }
        all.push(first);
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|values| way.different.iter().all(|it| differ(slots, values, &it.0, &it.1)));
    all
}

fn replaced(values: &[Value], place: usize, value: Value) -> Vec<Value> {
    let mut values = values.to_vec();
    values[place] = value;
    values
}

fn differ(slots: &Slots<'_>, values: &[Value], left: &RowKey, right: &RowKey) -> bool {
    let value = |key: &RowKey| match key {
        RowKey::Variable(variable) => values.get(*variable).copied(),
        RowKey::Constant(constant) => slots.constants.binary_search(constant).ok().map(|it| it + 1),
        RowKey::All => None,
    };
    let (left, right) = (value(left), value(right));
    left.is_none() || right.is_none() || left != right
}

impl<'q, 't> Question<'q, 't> {
    pub(crate) fn new(
        slots: &'q Slots<'t>,
        levels: &'q [TxnLevel],
        split: usize,
        read: usize,
        values: Vec<Value>,
    ) -> Self {
        let n_values = 1 + slots.constants.len() + values.len();
        let mut question = Self { slots, levels, split, read, values, n_values, facts: Vec::new(), usable: Vec::new() };
        let all = (0..slots.all.len()).flat_map(|slot| (0..n_values).map(move |value| (slot, value)));
        question.facts = all.map(|(slot, value)| question.facts_of(slot, value)).collect();
        question.usable = slots.ways.iter().map(|it| question.is_possible(it)).collect();
        question
    }

    pub(crate) fn way(&self) -> &WayOf<'t> {
        &self.slots.ways[self.split]
    }

    pub(crate) fn level(&self) -> TxnLevel {
        self.levels[self.way().template]
    }

    /// The values that a slot may have.
    pub(crate) fn values_at(&self, slot: usize) -> std::ops::Range<Value> {
        match &self.slots.all[slot].key {
            RowKey::Variable(_) => 0..self.n_values,
            RowKey::All | RowKey::Constant(Constant::Only) => 0..1,
            RowKey::Constant(constant) => {
                let value = 1 + self.slots.constants.binary_search(constant).unwrap_or(0);
                value..value + 1
            }
        }
    }

    /// May the way be beside the split transaction at all?
    pub(crate) fn is_usable(&self, way: usize) -> bool {
        self.usable[way]
    }

    /// May a slot of another transaction have the value?
    pub(crate) fn is_free(&self, slot: usize, value: Value) -> bool {
        !self.facts(slot, value).is_blocked
    }

    /// An access that overwrites what was read.
    pub(crate) fn starts(&self, slot: usize, value: Value) -> Option<usize> {
        self.facts(slot, value).starts
    }

    /// Accesses of another transaction and of the split one, of which the first comes before the second.
    pub(crate) fn returns(&self, slot: usize, value: Value, second: TxnLevel) -> Option<(usize, usize)> {
        let facts = self.facts(slot, value);
        let last = self.levels[self.slots.ways[self.slots.all[slot].way].template];
        let serializable = TxnLevel::Serializable;
        let is_watched = [self.level(), second, last] == [serializable; 3];
        facts.returns_by_rw.filter(|_| !is_watched).or(facts.returns)
    }

    /// May the transaction have this role, entered and left by these slots? The cycle is as short as can be, so nobody in
    /// it is in conflict with the split transaction but where the cycle says so; otherwise it had a short cut.
    pub(crate) fn may_be(&self, role: Role, entry: (usize, Value), exit: (usize, Value)) -> bool {
        let way = &self.slots.ways[self.slots.all[entry.0].way];
        let others = way.slots.iter().filter(|it| ![entry.0, exit.0].contains(*it));
        let others = others.map(|slot| (*slot, self.values_at(*slot).start));
        let is_watched = self.level() == TxnLevel::Serializable;
        others.chain([entry, exit]).map(|it| self.facts(it.0, it.1)).all(|it| match role {
            Role::Second => !(is_watched && it.is_overwritten),
            Role::Middle => !it.is_in_conflict,
            Role::Last => !(is_watched && it.overwrites),
        })
    }

    /// May two slots of one way have these values together?
    pub(crate) fn fit(&self, one: (usize, Value), other: (usize, Value)) -> bool {
        let (left, right) = (&self.slots.all[one.0], &self.slots.all[other.0]);
        one.1 != other.1 || one.1 == FRESH || !are_different(self.slots.ways[left.way].way, &left.key, &right.key)
    }

    fn facts(&self, slot: usize, value: Value) -> &SlotFacts {
        &self.facts[slot * self.n_values + value]
    }

    fn is_possible(&self, of: &WayOf<'_>) -> bool {
        of.slots.iter().all(|slot| self.is_free(*slot, self.values_at(*slot).start))
    }

    fn facts_of(&self, slot: usize, value: Value) -> SlotFacts {
        let mut facts = SlotFacts::default();
        let of = &self.slots.all[slot];
        if !self.values_at(slot).contains(&value) {
            return facts;
        }
        let way = self.slots.ways[of.way].way;
        facts.is_blocked = self.slots.constants.iter().enumerate().any(|(idx, constant)| {
            idx + 1 == value && are_different(way, &of.key, &RowKey::Constant(constant.clone()))
        });
        for (own_place, own) in self.way().way.accesses.iter().enumerate() {
            let is_same_row = match (&own.key, &of.key) {
                (RowKey::Variable(variable), RowKey::Constant(_) | RowKey::Variable(_)) => {
                    self.values[*variable] == value
                }
                (RowKey::Constant(Constant::Only) | RowKey::All, _) | (_, RowKey::All) => true,
                (RowKey::Constant(constant), _) => {
                    self.slots.constants.binary_search(constant).is_ok_and(|it| it + 1 == value)
                }
            };
            if is_same_row {
                for (place, other) in self.slots.accesses(slot) {
                    self.note(&mut facts, (own_place, own), (place, other));
                }
            }
        }
        facts
    }

    /// What an access of the split transaction and one of another one, to the same row, mean.
    fn note(&self, facts: &mut SlotFacts, (own_place, own): (usize, &Access), (place, other): (usize, &Access)) {
        if own.relation != other.relation {
            return;
        }
        facts.is_blocked |= own.is_certain && other.is_certain && self.excludes(own_place, own, other);
        if own_place == self.read && self.slots.may_follow(own, other) && other.writes.meets(own.reads) {
            facts.starts = facts.starts.or(Some(place));
        }
        let is_in_conflict = self.slots.conflict(own, other);
        let may_return = self.slots.may_follow(other, own);
        if may_return && other.reads.meets(own.writes) {
            facts.returns_by_rw = facts.returns_by_rw.or(Some((place, own_place)));
        } else if may_return && self.comes_later(own_place, own, other) {
            facts.returns = facts.returns.or(Some((place, own_place)));
        }
        let is_certain = own.is_certain && other.is_certain;
        facts.is_in_conflict |= is_certain && is_in_conflict;
        facts.overwrites |= is_certain && other.writes.meets(own.reads);
        facts.is_overwritten |= is_certain && other.reads.meets(own.writes);
    }

    /// Can the other transaction not execute between the halves of the split one?
    fn excludes(&self, own_place: usize, own: &Access, other: &Access) -> bool {
        if self.slots.make_one_row(own, other) {
            return true;
        }
        match self.level() {
            TxnLevel::ReadCommitted => own_place <= self.read && own.locks && other.locks,
            TxnLevel::SnapshotIsolation => own.locks && other.locks,
            TxnLevel::RepeatableRead | TxnLevel::Serializable => {
                let is_made_anew = own.kind == AccessKind::Insert && other.kind == AccessKind::Delete;
                own.locks && !other.writes.is_empty() && !is_made_anew
            }
        }
    }

    /// Does the split transaction's access, in conflict with the other one, see that it has happened?
    fn comes_later(&self, own_place: usize, own: &Access, other: &Access) -> bool {
        match self.level() {
            TxnLevel::ReadCommitted => own_place > self.read,
            TxnLevel::SnapshotIsolation => false,
            TxnLevel::RepeatableRead | TxnLevel::Serializable => {
                let is_made_anew = own.kind == AccessKind::Insert && other.kind == AccessKind::Delete;
                own.locks && other.locks && (other.writes.is_empty() || is_made_anew)
            }
        }
    }
}

fn are_different(way: &iso_program::Way, left: &RowKey, right: &RowKey) -> bool {
    way.different.iter().any(|it| (&it.0, &it.1) == (left, right) || (&it.1, &it.0) == (left, right))
}
