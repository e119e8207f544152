//! Looks for the shortest chain of transactions from one that overwrites what was read back to the split transaction.
//!
//! Breadth first over *entries*: a slot of a way with its value, by which the transaction before is in conflict with it.
//! A transaction that is entered at one slot is left at the same or at any other one; so an entry is all that matters.

use crate::danger::{Danger, Edge, Member, RowValue};
use crate::question::{FRESH, Question, Role, Value};
use iso_program::{RowKey, TxnLevel};
use std::collections::VecDeque;

/// A slot and its value.
type Token = (usize, Value);

/// How an entry was reached.
#[derive(Clone, Copy)]
struct Reached {
    entry: Token,
    /// The entry of the transaction before and the slot by which it was left; nothing for the first.
    from: Option<(usize, Token)>,
    n_members: usize,
}

/// The shortest split run of fewer than `limit` transactions.
pub(crate) fn search(question: &Question<'_, '_>, limit: usize) -> Option<Danger> {
    if question.level() != TxnLevel::Serializable {
        return Search::new(question, limit).run(None);
    }
    // Whether the second one is serializable, too, decides who may be the last.
    let weaker = Search::new(question, limit).run(Some(false));
    let limit = weaker.as_ref().map_or(limit, |it| it.members.len());
    Search::new(question, limit).run(Some(true)).or(weaker)
}

struct Search<'s, 'q, 't> {
    question: &'s Question<'q, 't>,
    limit: usize,
    reached: Vec<Reached>,
    queue: VecDeque<usize>,
    is_entered: Vec<bool>,
    /// By which tokens the second, and by which a later transaction was left already.
    is_left: [Vec<bool>; 2],
}

impl<'s, 'q, 't> Search<'s, 'q, 't> {
    fn new(question: &'s Question<'q, 't>, limit: usize) -> Self {
        let n_tokens = question.slots.all.len() * question.n_values;
        Self {
            question,
            limit,
            reached: Vec::new(),
            queue: VecDeque::new(),
            is_entered: vec![false; n_tokens],
            is_left: [vec![false; n_tokens], vec![false; n_tokens]],
        }
    }

    /// `serializable` restricts the second transaction to those that are at that level, or to those that are not.
    fn run(mut self, serializable: Option<bool>) -> Option<Danger> {
        let slots = self.question.slots;
        for slot in 0..slots.all.len() {
            let level = self.level(slot);
            if serializable.is_some_and(|it| it != (level == TxnLevel::Serializable)) {
                continue;
            }
            for value in self.question.values_at(slot) {
                if self.question.starts(slot, value).is_some() {
                    self.enter((slot, value), None, 2);
                }
            }
        }
        let second = if serializable == Some(true) { TxnLevel::Serializable } else { TxnLevel::ReadCommitted };
        while let Some(at) = self.queue.pop_front() {
            if self.reached[at].n_members >= self.limit {
                return None;
            }
            if let Some((token, accesses)) = self.back(at, second) {
                return Some(self.danger(at, token, accesses));
            }
            self.leave(at);
        }
        None
    }

    fn level(&self, slot: usize) -> TxnLevel {
        self.question.levels[self.question.slots.ways[self.question.slots.all[slot].way].template]
    }

    fn index(&self, token: Token) -> usize {
        token.0 * self.question.n_values + token.1
    }

    fn enter(&mut self, token: Token, from: Option<(usize, Token)>, n_members: usize) {
        let way = self.question.slots.all[token.0].way;
        let index = self.index(token);
        if self.is_entered[index] || !self.question.is_usable(way) || !self.question.is_free(token.0, token.1) {
            return;
        }
        self.is_entered[index] = true;
        self.queue.push_back(self.reached.len());
        self.reached.push(Reached { entry: token, from, n_members });
    }

    /// The tokens by which a transaction with this entry can be left.
    fn exits(&self, entry: Token) -> impl Iterator<Item = Token> + use<'s, 'q, 't> {
        let question = self.question;
        let way = question.slots.all[entry.0].way;
        let others = question.slots.ways[way].slots.iter().copied();
        others.flat_map(move |slot| {
            let values = if slot == entry.0 { entry.1..entry.1 + 1 } else { question.values_at(slot) };
            let fits = move |value: &Value| question.is_free(slot, *value) && question.fit(entry, (slot, *value));
            values.filter(fits).map(move |value| (slot, value))
        })
    }

    /// Is the transaction in conflict with the split one, so that it may be the last?
    fn back(&self, at: usize, second: TxnLevel) -> Option<(Token, (usize, usize))> {
        let Reached { entry, from, .. } = self.reached[at];
        let mut exits = self.exits(entry).filter(|it| from.is_none() || self.question.may_be(Role::Last, entry, *it));
        exits.find_map(|it| Some((it, self.question.returns(it.0, it.1, second)?)))
    }

    /// Goes on to all that are in conflict with the transaction.
    fn leave(&mut self, at: usize) {
        let Reached { entry, from, n_members } = self.reached[at];
        let is_middle = from.is_some();
        let role = if is_middle { Role::Middle } else { Role::Second };
        let exits: Vec<Token> = self.exits(entry).collect();
        for exit in exits {
            let index = self.index(exit);
            if self.is_left[usize::from(is_middle)][index] || !self.question.may_be(role, entry, exit) {
                continue;
            }
            self.is_left[usize::from(is_middle)][index] = true;
            for next in &self.question.slots.joined[exit.0] {
                for value in self.shared_values(exit, *next) {
                    self.enter((*next, value), Some((at, exit)), n_members + 1);
                }
            }
        }
    }

    /// The values with which the next slot is about a row of the last one.
    fn shared_values(&self, last: Token, next: usize) -> Vec<Value> {
        let slots = &self.question.slots.all;
        let values = self.question.values_at(next);
        let is_any = slots[last.0].key == RowKey::All || slots[next].key == RowKey::All;
        values.filter(|it| is_any || *it == last.1).collect()
    }

    fn danger(&self, last: usize, exit: Token, (before, after): (usize, usize)) -> Danger {
        let mut naming = Naming { question: self.question, n_fresh: 0 };
        let mut chain = vec![(last, exit)];
        while let Some((at, left)) = self.reached[chain[chain.len() - 1].0].from {
            chain.push((at, left));
        }
        chain.reverse();
        let mut members = vec![naming.split()];
        let mut cycle = Vec::new();
        let mut shared: Option<RowValue> = None;
        for (place, (at, exit)) in chain.iter().enumerate() {
            let Reached { entry, .. } = self.reached[*at];
            let (member, left_by) = naming.member(entry, *exit, shared.take());
            members.push(member);
            shared = left_by;
            let next = chain.get(place + 1).map(|it| self.reached[it.0].entry.0);
            if place == 0 {
                let write = self.question.starts(entry.0, entry.1).unwrap_or_default();
                cycle.push(Edge { from: 0, before: self.question.read, to: 1, after: write });
            }
            if let Some(next) = next
                && let Some((before, after)) = self.question.slots.conflicting(exit.0, next)
            {
                cycle.push(Edge { from: place + 1, before, to: place + 2, after });
            }
        }
        cycle.push(Edge { from: members.len() - 1, before, to: 0, after });
        Danger { members, read: self.question.read, cycle }
    }
}

/// Gives rows names.
struct Naming<'s, 'q, 't> {
    question: &'s Question<'q, 't>,
    n_fresh: usize,
}

impl Naming<'_, '_, '_> {
    fn named(&mut self, value: Value) -> RowValue {
        let constants = &self.question.slots.constants;
        match value {
            FRESH => {
                self.n_fresh += 1;
                RowValue::Symbol(self.question.n_values + self.n_fresh)
            }
            value if value <= constants.len() => RowValue::Constant(constants[value - 1].clone()),
            value => RowValue::Symbol(value),
        }
    }

    fn split(&mut self) -> Member {
        let of = self.question.way();
        let values = self.question.values.clone().into_iter().map(|it| self.named(it)).collect();
        Member { template: of.template, way: of.place, values }
    }

    /// A transaction that is entered and left by slots, and the row by which it is left. A fresh row that the one before was
    /// left by is the same here.
    fn member(&mut self, entry: Token, exit: Token, shared: Option<RowValue>) -> (Member, Option<RowValue>) {
        let slots = self.question.slots;
        let of = &slots.ways[slots.all[entry.0].way];
        let at = |token: Token| if let RowKey::Variable(idx) = slots.all[token.0].key { Some(idx) } else { None };
        let mut values: Vec<Option<RowValue>> = vec![None; of.way.variables.len()];
        if let Some(idx) = at(entry) {
            values[idx] = Some(match shared {
                Some(shared) if entry.1 == FRESH => shared,
                _ => self.named(entry.1),
            });
        }
        if let Some(idx) = at(exit)
            && values[idx].is_none()
        {
            values[idx] = Some(self.named(exit.1));
        }
        let values: Vec<RowValue> = values.into_iter().map(|it| it.unwrap_or_else(|| self.named(FRESH))).collect();
        let left_by = at(exit).map(|idx| values[idx].clone());
        (Member { template: of.template, way: of.place, values }, left_by)
    }
}
