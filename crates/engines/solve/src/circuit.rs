//! Formulas as a shared graph of conjunctions: equal parts are one gate, and constants fold away.
//!
//! The only gate is an "and" of any number of wires, and a wire may be negated (Kuehlmann & Krohm 1997 do the same with
//! two inputs). We differ: conjunctions of conjunctions are joined while they are short, so that a formula that was
//! built in two ways is often one gate, and a large disjunction is one clause.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::{Not, Range};

/// A gate's output or its negation: something that is true or false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire(u32);

/// What all wires of a circuit are for certain inputs.
#[derive(Clone, Debug)]
pub struct Values(Vec<bool>);

impl Values {
    /// The value of a wire.
    pub fn of(&self, wire: Wire) -> bool {
        self.0[wire.gate()] != wire.is_negated()
    }

    /// Was the wire there already?
    pub fn has(&self, wire: Wire) -> bool {
        wire.gate() < self.0.len()
    }
}

/// Conjunctions up to this length are joined with the conjunction that they stand in.
const MAX_JOINED: usize = 24;
const EMPTY: u32 = u32::MAX;

/// A growing set of gates. Wires stay valid while it grows.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// For each gate where its wires end; an input has none. Gate 0 is the constant.
    ends: Vec<u32>,
    wires: Vec<Wire>,
    /// Gates by the hash of their wires.
    table: Vec<u32>,
    n_ands: usize,
    scratch: Vec<Wire>,
}

impl Wire {
    /// Always true.
    pub const TRUE: Self = Self(0);
    /// Always false.
    pub const FALSE: Self = Self(1);

    /// The wire that is always that.
    pub fn constant(truth: bool) -> Self {
        if truth { Self::TRUE } else { Self::FALSE }
    }

    /// Its value, if it always has the same.
    pub fn as_constant(self) -> Option<bool> {
        (self.0 < 2).then_some(self == Self::TRUE)
    }

    /// Is it the negation of its gate?
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// The number of its gate.
    pub fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }
}

impl Not for Wire {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl Circuit {
    /// Only the constants.
    pub fn new() -> Self {
        Self { ends: vec![0], wires: Vec::new(), table: vec![EMPTY; 1 << 8], n_ands: 0, scratch: Vec::new() }
    }

    /// A new input.
    pub fn input(&mut self) -> Wire {
        self.push_gate()
    }

    /// How many gates there are, inputs included.
    pub fn n_gates(&self) -> usize {
        self.ends.len()
    }

    /// What a gate is the conjunction of; nothing for an input.
    pub fn conjuncts(&self, gate: usize) -> &[Wire] {
        &self.wires[self.range(gate)]
    }

    /// True if all are.
    pub fn and(&mut self, wires: impl IntoIterator<Item = Wire>) -> Wire {
        let mut all = std::mem::take(&mut self.scratch);
        all.clear();
        let mut is_possible = true;
        for wire in wires {
            if wire == Wire::FALSE {
                is_possible = false;
                break;
            }
            self.join(wire, &mut all);
        }
        let result = if is_possible { self.and_of(&mut all) } else { Wire::FALSE };
        self.scratch = all;
        result
    }

    /// True if one is.
    pub fn or(&mut self, wires: impl IntoIterator<Item = Wire>) -> Wire {
        !self.and(wires.into_iter().map(|it| !it))
    }

    /// True if both are.
    pub fn both(&mut self, left: Wire, right: Wire) -> Wire {
        match (left, right) {
            (Wire::FALSE, _) | (_, Wire::FALSE) => Wire::FALSE,
            (Wire::TRUE, other) | (other, Wire::TRUE) => other,
            _ => self.and([left, right]),
        }
    }

    /// True if one of the two is.
    pub fn either(&mut self, left: Wire, right: Wire) -> Wire {
        !self.both(!left, !right)
    }

    /// True if both are the same.
    pub fn same(&mut self, left: Wire, right: Wire) -> Wire {
        let (both, neither) = (self.both(left, right), self.both(!left, !right));
        self.either(both, neither)
    }

    /// The first if the condition is true, else the second.
    pub fn choose(&mut self, condition: Wire, yes: Wire, no: Wire) -> Wire {
        if yes == no {
            return yes;
        }
        let (taken, not_taken) = (self.both(condition, yes), self.both(!condition, no));
        self.either(taken, not_taken)
    }

    /// The value of every gate, given those of the inputs.
    pub fn evaluate(&self, mut input: impl FnMut(Wire) -> bool) -> Values {
        let mut values = vec![true];
        for gate in 1..self.n_gates() {
            let conjuncts = self.conjuncts(gate);
            let value = if conjuncts.is_empty() {
                input(Wire((gate << 1) as u32))
            } else {
                conjuncts.iter().all(|it| values[it.gate()] != it.is_negated())
            };
            values.push(value);
        }
        Values(values)
    }

    fn join(&self, wire: Wire, all: &mut Vec<Wire>) {
        if wire == Wire::TRUE {
            return;
        }
        let range = self.range(wire.gate());
        if wire.is_negated() || range.is_empty() || range.len() > MAX_JOINED {
            all.push(wire);
        } else {
            all.extend_from_slice(&self.wires[range]);
        }
    }

    fn and_of(&mut self, all: &mut Vec<Wire>) -> Wire {
        all.sort_unstable();
        all.dedup();
        // A wire and its negation are neighbours now.
        if all.windows(2).any(|it| it[0] == !it[1]) {
            return Wire::FALSE;
        }
        match all[..] {
            [] => Wire::TRUE,
            [only] => only,
            _ => self.gate_of(all),
        }
    }

    fn gate_of(&mut self, all: &[Wire]) -> Wire {
        if 2 * self.n_ands >= self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut at = hash(all) & mask;
        while self.table[at] != EMPTY {
            let gate = self.table[at];
            if self.conjuncts(gate as usize) == all {
                return Wire(gate << 1);
            }
            at = (at + 1) & mask;
        }
        self.wires.extend_from_slice(all);
        let wire = self.push_gate();
        self.table[at] = wire.0 >> 1;
        self.n_ands += 1;
        wire
    }

    fn push_gate(&mut self) -> Wire {
        let gate = u32::try_from(self.ends.len()).ok().filter(|it| *it < u32::MAX / 4);
        let gate = gate.expect("memory runs out before gates do");
        self.ends.push(self.wires.len() as u32);
        Wire(gate << 1)
    }

    fn grow(&mut self) {
        let size = 2 * self.table.len();
        self.table = vec![EMPTY; size];
        for gate in 1..self.ends.len() {
            let range = self.range(gate);
            if range.is_empty() {
                continue;
            }
            let mut at = hash(&self.wires[range]) & (size - 1);
            while self.table[at] != EMPTY {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = gate as u32;
        }
    }

    fn range(&self, gate: usize) -> Range<usize> {
        let start = if gate == 0 { 0 } else { self.ends[gate - 1] };
        start as usize..self.ends[gate] as usize
    }
}

impl Default for Circuit {
    fn default() -> Self {
        Self::new()
    }
}

fn hash(wires: &[Wire]) -> usize {
    let mut hasher = FxHasher::default();
    wires.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 29)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_formulas_are_one_gate_and_constants_fold() {
        let mut circuit = Circuit::new();
        let (a, b, c) = (circuit.input(), circuit.input(), circuit.input());
        let ab = circuit.and([a, b]);
        assert_eq!(circuit.and([b, a, Wire::TRUE, b]), ab);
        assert_eq!(circuit.and([a, Wire::FALSE, b]), Wire::FALSE);
        assert_eq!(circuit.and([a, !a]), Wire::FALSE);
        assert_eq!(circuit.or([a, !a]), Wire::TRUE);
        assert_eq!(circuit.and([]), Wire::TRUE);
        let (nested, flat) = (circuit.and([ab, c]), circuit.and([a, b, c]));
        assert_eq!(nested, flat);
        let (left, right) = (circuit.or([a, b]), circuit.or([b, c]));
        assert_eq!(circuit.or([left, right]), circuit.or([c, b, a]));
        assert_eq!(circuit.same(a, a), Wire::TRUE);
        assert_eq!(circuit.same(a, !a), Wire::FALSE);
    }

    #[test]
    fn many_gates_stay_distinct() {
        let mut circuit = Circuit::new();
        let inputs: Vec<Wire> = (0..60).map(|_| circuit.input()).collect();
        let pairs = |circuit: &mut Circuit| -> Vec<Wire> {
            let each = inputs.iter().flat_map(|a| inputs.iter().map(move |b| (*a, *b)));
            each.filter(|it| it.0 < it.1).map(|it| circuit.and([it.0, !it.1])).collect()
        };
        let first = pairs(&mut circuit);
        assert_eq!(first, pairs(&mut circuit));
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 60 * 59 / 2);
    }
}
