//! A history that is not known yet: each thing that may be in it is an input of a circuit.
//!
//! Which writer each read saw is an input; there are no values. Transaction 0 is the initial one. A key exists if
//! somebody reads or writes it, and the initial transaction writes just the keys that exist.

use crate::lists::ListSketch;
use crate::matrix::Matrix;
use crate::question::{Aspects, BlindWrites, Scope, Sessions};
use crate::statements::StatementSketch;
use iso_solve::{Circuit, Wire};

/// What goes forward in the numbering of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    /// Who reads from whom does.
    pub(crate) orders_reads: bool,
    /// Session order does.
    pub(crate) orders_sessions: bool,
}

/// A read that a transaction may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) txn: usize,
    pub(crate) key: usize,
    /// 0 for the first read of the key, 1 for the second.
    pub(crate) copy: usize,
}

/// Everything that may be in a history of this many transactions and keys.
#[derive(Debug)]
pub(crate) struct Sketch {
    /// Transactions, the initial one included.
    pub(crate) n_txns: usize,
    pub(crate) n_keys: usize,
    pub(crate) aspects: Aspects,
    pub(crate) numbering: Numbering,
    pub(crate) slots: Vec<Slot>,
    /// Transactions and keys.
    pub(crate) writes: Matrix,
    /// Transactions and keys.
    pub(crate) reads: Matrix,
    /// By key.
    pub(crate) wr_at: Vec<Matrix>,
    pub(crate) wr: Matrix,
    pub(crate) so: Matrix,
    pub(crate) rt: Matrix,
    /// Slots and the transactions that they read from.
    pub(crate) from: Matrix,
    /// Slots and slots.
    pub(crate) po: Matrix,
    /// By slot: is there such a read?
    pub(crate) active: Vec<Wire>,
    /// By slot: is it a row that a scan did not return?
    pub(crate) omitted: Vec<Wire>,
    /// Which reads are one statement, and what it does.
    pub(crate) statements: StatementSketch,
    /// Which keys are lists.
    pub(crate) lists: ListSketch,
    /// By key: does it exist?
    pub(crate) used: Vec<Wire>,
    /// All inputs that make the history.
    pub(crate) inputs: Vec<Wire>,
    /// What every history of the scope satisfies.
    pub(crate) laws: Vec<Wire>,
}

impl Sketch {
    pub(crate) fn new(
        circuit: &mut Circuit,
        scope: &Scope,
        n_txns: usize,
        aspects: Aspects,
        numbering: Numbering,
    ) -> Self {
        let (n, n_keys) = (n_txns + 1, scope.keys);
        let mut sketch = Self {
            n_txns: n,
            n_keys,
            aspects,
            numbering,
            slots: Vec::new(),
            writes: Matrix::empty(n, n_keys),
            reads: Matrix::empty(n, n_keys),
            wr_at: vec![Matrix::empty(n, n); n_keys],
            wr: Matrix::empty(n, n),
            so: Matrix::empty(n, n),
            rt: Matrix::empty(n, n),
            from: Matrix::empty(0, n),
            po: Matrix::empty(0, 0),
            active: Vec::new(),
            omitted: Vec::new(),
            statements: StatementSketch::none(0, n, n_keys),
            lists: ListSketch::none(n, n_keys),
            used: Vec::new(),
            inputs: Vec::new(),
            laws: Vec::new(),
        };
        sketch.draw_operations(circuit);
        sketch.draw_scans(circuit, aspects.scans);
        sketch.draw_sessions(circuit);
        sketch.limit_sessions(circuit, scope.sessions);
        if aspects.real_time {
            sketch.draw_times(circuit);
        }
        if aspects.read_order {
            sketch.draw_read_order(circuit);
        }
        sketch.draw_statements(circuit);
        if aspects.lists {
            sketch.draw_lists(circuit);
        }
        sketch.limit_operations(circuit, scope);
        sketch
    }

    pub(crate) fn input(&mut self, circuit: &mut Circuit) -> Wire {
        let input = circuit.input();
        self.inputs.push(input);
        input
    }

    /// The slots of a transaction.
    pub(crate) fn slots_of(&self, txn: usize) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.slots.len()).filter(move |it| self.slots[*it].txn == txn)
    }

    fn draw_operations(&mut self, circuit: &mut Circuit) {
        let n = self.n_txns;
        for txn in 1..n {
            for key in 0..self.n_keys {
                let write = self.input(circuit);
                self.writes.set(txn, key, write);
                for copy in 0..=usize::from(self.aspects.rereads) {
                    self.slots.push(Slot { txn, key, copy });
                }
            }
        }
        self.from = Matrix::empty(self.slots.len(), n);
        for slot_idx in 0..self.slots.len() {
            let reader = self.slots[slot_idx].txn;
            for source in 0..n {
                if source != reader && (source < reader || !self.numbering.orders_reads) {
                    let from = self.input(circuit);
                    self.from.set(slot_idx, source, from);
                }
            }
        }
        self.statements = StatementSketch::none(self.slots.len(), n, self.n_keys);
        self.active = (0..self.slots.len()).map(|slot| circuit.or((0..n).map(|it| self.from.at(slot, it)))).collect();
        self.derive_reads(circuit);
    }

    /// Reads that are omissions: the version that a scan saw does not match, and all others of the row do.
    fn draw_scans(&mut self, circuit: &mut Circuit, at_most_scans: usize) {
        self.omitted = vec![Wire::FALSE; self.slots.len()];
        if at_most_scans == 0 {
            return;
        }
        for slot in 0..self.slots.len() {
            let omitted = self.input(circuit);
            self.omitted[slot] = omitted;
            self.laws.push(circuit.either(!omitted, self.active[slot]));
        }
        let few = at_most(circuit, &self.omitted.clone(), at_most_scans);
        self.laws.push(few);
    }

    fn derive_reads(&mut self, circuit: &mut Circuit) {
        let n = self.n_txns;
        for key in 0..self.n_keys {
            for txn in 1..n {
                let same: Vec<usize> = self.slots_of(txn).filter(|it| self.slots[*it].key == key).collect();
                let reads = circuit.or(same.iter().map(|it| self.active[*it]));
                self.reads.set(txn, key, reads);
                for source in 0..n {
                    let seen = circuit.or(same.iter().map(|it| self.from.at(*it, source)));
                    self.wr_at[key].set(source, txn, seen);
                }
            }
            let touched = (1..n).flat_map(|it| [self.writes.at(it, key), self.reads.at(it, key)]);
            let used = circuit.or(touched.collect::<Vec<_>>());
            self.used.push(used);
            self.writes.set(0, key, used);
        }
        self.wr = Matrix::from_fn(n, n, |a, b| circuit.or(self.wr_at.iter().map(|it| it.at(a, b))));
    }

    fn draw_sessions(&mut self, circuit: &mut Circuit) {
        for earlier in 0..self.n_txns {
            for later in 1..self.n_txns {
                let is_possible = earlier < later || (earlier > later && !self.numbering.orders_sessions);
                if earlier == 0 {
                    self.so.set(earlier, later, Wire::TRUE);
                } else if is_possible {
                    let input = self.input(circuit);
                    self.so.set(earlier, later, input);
                }
            }
        }
    }

    fn limit_operations(&mut self, circuit: &mut Circuit, scope: &Scope) {
        for txn in 1..self.n_txns {
            let ops = (0..self.n_keys).flat_map(|it| [self.writes.at(txn, it), self.reads.at(txn, it)]);
            self.laws.push(circuit.or(ops.collect::<Vec<_>>()));
        }
        for slot_idx in 0..self.slots.len() {
            self.limit_slot(circuit, slot_idx);
        }
        for key in 0..self.n_keys {
            let writers: Vec<Wire> = (1..self.n_txns).map(|it| self.writes.at(it, key)).collect();
            self.laws.push(at_most(circuit, &writers, scope.values.saturating_sub(1)));
            if scope.blind_writes == BlindWrites::Excluded {
                for txn in 1..self.n_txns {
                    self.laws.push(circuit.either(!self.writes.at(txn, key), self.reads.at(txn, key)));
                }
            }
        }
    }

    /// A read has one source, which writes the key; a second read of a key sees another version than the first.
    fn limit_slot(&mut self, circuit: &mut Circuit, slot_idx: usize) {
        let slot = self.slots[slot_idx];
        for source in 0..self.n_txns {
            let from = self.from.at(slot_idx, source);
            if source > 0 {
                self.laws.push(circuit.either(!from, self.writes.at(source, slot.key)));
            }
            for other in 0..source {
                self.laws.push(!circuit.both(from, self.from.at(slot_idx, other)));
            }
            if slot.copy > 0 {
                self.laws.push(circuit.either(!from, self.active[slot_idx - 1]));
                // Without an order of reads the two are numbered by their sources.
                let last = if self.aspects.read_order { source + 1 } else { self.n_txns };
                for other in source..last {
                    self.laws.push(!circuit.both(from, self.from.at(slot_idx - 1, other)));
                }
            }
        }
    }

    fn limit_sessions(&mut self, circuit: &mut Circuit, sessions: Sessions) {
        self.order_laws(circuit, |it| &it.so);
        let Sessions::Chains { at_most } = sessions else { return };
        for middle in 1..self.n_txns {
            for a in 1..self.n_txns {
                for b in a + 1..self.n_txns {
                    let related = circuit.either(self.so.at(a, b), self.so.at(b, a));
                    let fork = circuit.both(self.so.at(middle, a), self.so.at(middle, b));
                    let join = circuit.both(self.so.at(a, middle), self.so.at(b, middle));
                    self.laws.push(circuit.either(!fork, related));
                    self.laws.push(circuit.either(!join, related));
                }
            }
        }
        if let Some(at_most) = at_most.filter(|it| *it < self.n_txns - 1) {
            self.number_sessions(circuit, at_most);
        }
    }

    /// Gives each transaction the number of a session; two of the same session are ordered.
    fn number_sessions(&mut self, circuit: &mut Circuit, n_sessions: usize) {
        let numbers: Vec<Vec<Wire>> =
            (1..self.n_txns).map(|_| (0..n_sessions).map(|_| circuit.input()).collect()).collect();
        for (idx, own) in numbers.iter().enumerate() {
            self.laws.push(circuit.or(own.iter().copied()));
            for (other_idx, other) in numbers[..idx].iter().enumerate() {
                let related = circuit.either(self.so.at(idx + 1, other_idx + 1), self.so.at(other_idx + 1, idx + 1));
                for (left, right) in own.iter().zip(other) {
                    let same = circuit.both(*left, *right);
                    self.laws.push(circuit.either(!same, related));
                }
            }
        }
    }

    /// Strict partial order: what follows from two pairs is a pair, and no pair goes both ways.
    fn order_laws(&mut self, circuit: &mut Circuit, of: impl Fn(&Self) -> &Matrix) {
        let n = self.n_txns;
        let mut laws = Vec::new();
        let order = of(self);
        for a in 1..n {
            for b in (1..n).filter(|it| *it != a) {
                if a < b {
                    laws.push(!circuit.both(order.at(a, b), order.at(b, a)));
                }
                for c in (1..n).filter(|it| *it != a && *it != b) {
                    let path = circuit.both(order.at(a, b), order.at(b, c));
                    laws.push(circuit.either(!path, order.at(a, c)));
                }
            }
        }
        self.laws.extend(laws);
    }

    /// Real time is an interval order; a session begins its next transaction after the last one ended.
    fn draw_times(&mut self, circuit: &mut Circuit) {
        let n = self.n_txns;
        for earlier in 0..n {
            for later in (1..n).filter(|it| *it != earlier) {
                let before = if earlier == 0 { Wire::TRUE } else { self.input(circuit) };
                self.rt.set(earlier, later, before);
                self.laws.push(circuit.either(!self.so.at(earlier, later), before));
            }
        }
        self.order_laws(circuit, |it| &it.rt);
        for (a, b) in pairs(n) {
            for (c, d) in pairs(n) {
                if a < c && b != d {
                    let both = circuit.both(self.rt.at(a, b), self.rt.at(c, d));
                    let crossed = circuit.either(self.rt.at(a, d), self.rt.at(c, b));
                    self.laws.push(circuit.either(!both, crossed));
                }
            }
        }
    }

    fn draw_read_order(&mut self, circuit: &mut Circuit) {
        self.po = Matrix::empty(self.slots.len(), self.slots.len());
        for txn in 1..self.n_txns {
            let own: Vec<usize> = self.slots_of(txn).collect();
            for (idx, &later) in own.iter().enumerate() {
                for &earlier in &own[..idx] {
                    let (a, b) = (self.slots[earlier], self.slots[later]);
                    // Which of two reads of a key is called the second is free.
                    let before = if a.key == b.key { Wire::TRUE } else { self.input(circuit) };
                    self.po.set(earlier, later, before);
                    self.po.set(later, earlier, !before);
                }
            }
            for &a in &own {
                for &b in own.iter().filter(|it| **it != a) {
                    for &c in own.iter().filter(|it| **it != a && **it != b) {
                        let path = circuit.both(self.po.at(a, b), self.po.at(b, c));
                        self.laws.push(circuit.either(!path, self.po.at(a, c)));
                    }
                }
            }
        }
    }
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..n).flat_map(move |a| (1..n).map(move |b| (a, b))).filter(|it| it.0 != it.1)
}

/// At most so many of the wires are true: counted one after the other (Sinz 2005).
pub(crate) fn at_most(circuit: &mut Circuit, wires: &[Wire], limit: usize) -> Wire {
    if limit >= wires.len() {
        return Wire::TRUE;
    }
    // counts[c]: more than c of the wires so far are true.
    let mut counts = vec![Wire::FALSE; limit + 1];
    for wire in wires {
        for c in (0..=limit).rev() {
            let fewer = if c == 0 { Wire::TRUE } else { counts[c - 1] };
            let reached = circuit.both(*wire, fewer);
            counts[c] = circuit.either(counts[c], reached);
        }
    }
    !counts[limit]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_counts() {
        for limit in 0..5 {
            for bits in 0..16u32 {
                let mut circuit = Circuit::new();
                let wires: Vec<Wire> = (0..4).map(|it| Wire::constant(bits >> it & 1 == 1)).collect();
                let expected = bits.count_ones() as usize <= limit;
                assert_eq!(at_most(&mut circuit, &wires, limit), Wire::constant(expected), "{bits:04b} {limit}");
            }
        }
    }
}
