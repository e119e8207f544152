//! Statements of a sketched history: which reads are one statement, and which of them update, insert, lock or miss rows.
//!
//! A statement is some reads of a transaction, one after the other. It may write what it reads, and it may lock all of
//! it. A row may be absent: nobody made it yet, or somebody deleted it. An update that finds no row is an insert.
//! At most one version of a row is "no row", so that who reads it says from whom.

use crate::matrix::Matrix;
use crate::sketch::Sketch;
use iso_solve::{Circuit, Wire};

/// What of statements is varied, because a spec of the question looks at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a thing that a history may have")]
pub struct Statements {
    /// Statements of several reads.
    pub several_reads: bool,
    /// Statements that lock what they read.
    pub locks: bool,
    /// Rows that do not exist: inserts and deletes.
    pub absent_rows: bool,
    /// Rows that somebody deletes and makes again, and that are hidden from others meanwhile.
    pub hidden_rows: bool,
}

impl Statements {
    /// Is anything varied?
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// What is varied in either of two questions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            several_reads: self.several_reads || other.several_reads,
            locks: self.locks || other.locks,
            absent_rows: self.absent_rows || other.absent_rows,
            hidden_rows: self.hidden_rows || other.hidden_rows,
        }
    }
}

/// The statements of a sketch.
#[derive(Debug)]
pub(crate) struct StatementSketch {
    /// Slots and slots: other reads of the same statement.
    pub(crate) same: Matrix,
    /// By slot: its statement writes the key as well.
    pub(crate) updates: Vec<Wire>,
    /// By slot: its statement locks all that it reads.
    pub(crate) locking: Vec<Wire>,
    /// Transactions and keys: its version is that there is no row.
    pub(crate) absent: Matrix,
    /// Transactions and keys: it deletes the row and makes it again.
    pub(crate) remade: Matrix,
    /// Transactions and keys: it writes the row, and then a locking statement does not find it.
    pub(crate) lost: Matrix,
    /// By slot: it sees the newest version.
    pub(crate) newest: Vec<Wire>,
    /// By slot: it is an insert.
    pub(crate) inserts: Vec<Wire>,
    /// Transactions and keys: it makes the row by an insert.
    pub(crate) makes: Matrix,
}

impl StatementSketch {
    /// Each read is a statement by itself.
    pub(crate) fn none(n_slots: usize, n_txns: usize, n_keys: usize) -> Self {
        let of_keys = || Matrix::empty(n_txns, n_keys);
        Self {
            same: Matrix::empty(n_slots, n_slots),
            updates: vec![Wire::FALSE; n_slots],
            locking: vec![Wire::FALSE; n_slots],
            absent: of_keys(),
            remade: of_keys(),
            lost: of_keys(),
            newest: vec![Wire::FALSE; n_slots],
            inserts: vec![Wire::FALSE; n_slots],
            makes: of_keys(),
        }
    }

    /// Everything that makes a statement more than a single plain operation.
    pub(crate) fn marks(&self) -> Vec<Wire> {
        let mut marks = Vec::new();
        for matrix in [&self.absent, &self.remade, &self.lost] {
            marks.extend(cells(matrix));
        }
        for later in 0..self.same.n_rows() {
            marks.extend((0..later).map(|it| self.same.at(it, later)));
        }
        marks.extend(self.locking.iter().chain(&self.updates));
        marks.retain(|it| it.as_constant().is_none());
        marks
    }
}

/// The wires of a relation, row by row.
pub(crate) fn cells(of: &Matrix) -> impl Iterator<Item = Wire> + use<'_> {
    (0..of.n_rows()).flat_map(move |row| (0..of.n_cols()).map(move |col| of.at(row, col)))
}

impl Sketch {
    /// Draws statements, after reads and writes and, if there are statements of several reads, their order.
    pub(crate) fn draw_statements(&mut self, circuit: &mut Circuit) {
        let varied = self.aspects.statements;
        if !varied.any() {
            return;
        }
        if varied.absent_rows {
            self.draw_absent_rows(circuit);
        }
        for slot in 0..self.slots.len() {
            let updates = self.input(circuit);
            self.statements.updates[slot] = updates;
            if varied.locks {
                let locking = self.input(circuit);
                self.statements.locking[slot] = locking;
                self.laws.push(circuit.either(!locking, self.active[slot]));
            }
        }
        for slot in 0..self.slots.len() {
            self.limit_update(circuit, slot);
        }
        if varied.several_reads {
            self.draw_joint_reads(circuit);
        }
        self.derive_statements(circuit);
        if varied.hidden_rows {
            self.draw_hidden_rows(circuit);
        }
    }

    /// One version of a row at most is that there is none, and a scan that returned every version but that one saw it.
    fn draw_absent_rows(&mut self, circuit: &mut Circuit) {
        for key in 0..self.n_keys {
            for txn in 0..self.n_txns {
                let absent = self.input(circuit);
                self.statements.absent.set(txn, key, absent);
                self.laws.push(circuit.either(!absent, self.writes.at(txn, key)));
                for other in 0..txn {
                    self.laws.push(!circuit.both(absent, self.statements.absent.at(other, key)));
                }
            }
        }
        for slot in 0..self.slots.len() {
            for (source, other) in (0..self.n_txns).flat_map(|a| (0..self.n_txns).map(move |b| (a, b))) {
                if source != other {
                    let absent = self.statements.absent.at(other, self.slots[slot].key);
                    let seen = circuit.both(self.omitted[slot], self.from.at(slot, source));
                    self.laws.push(!circuit.both(seen, absent));
                }
            }
        }
    }

    /// An update returns the row and writes it; afterwards the transaction would read its own write. What an insert makes
    /// is a row.
    fn limit_update(&mut self, circuit: &mut Circuit, slot: usize) {
        let (place, updates) = (self.slots[slot], self.statements.updates[slot]);
        self.laws.push(circuit.either(!updates, self.active[slot]));
        self.laws.push(circuit.either(!updates, self.writes.at(place.txn, place.key)));
        self.laws.push(!circuit.both(updates, self.omitted[slot]));
        let is_later = |it: &usize| self.slots[*it].key == place.key && *it > slot;
        let later: Vec<usize> = self.slots_of(place.txn).filter(is_later).collect();
        for other in later {
            self.laws.push(!circuit.both(updates, self.active[other]));
        }
        let cases: Vec<Wire> = (0..self.n_txns)
            .map(|it| circuit.both(self.from.at(slot, it), self.statements.absent.at(it, place.key)))
            .collect();
        let finds_none = circuit.or(cases);
        let inserts = circuit.both(updates, finds_none);
        self.statements.inserts[slot] = inserts;
        self.laws.push(!circuit.both(inserts, self.statements.absent.at(place.txn, place.key)));
    }

    /// Statements of several reads, which follow each other, read each key once, and lock all or nothing.
    fn draw_joint_reads(&mut self, circuit: &mut Circuit) {
        for txn in 1..self.n_txns {
            let own: Vec<usize> = self.slots_of(txn).collect();
            for (idx, &b) in own.iter().enumerate() {
                for &a in &own[..idx] {
                    if self.slots[a].key == self.slots[b].key {
                        continue;
                    }
                    let same = self.input(circuit);
                    self.statements.same.set(a, b, same);
                    self.statements.same.set(b, a, same);
                    let both_there = circuit.both(self.active[a], self.active[b]);
                    self.laws.push(circuit.either(!same, both_there));
                    let alike = circuit.same(self.statements.locking[a], self.statements.locking[b]);
                    self.laws.push(circuit.either(!same, alike));
                }
            }
            for &a in &own {
                for &b in own.iter().filter(|it| **it != a) {
                    for &c in own.iter().filter(|it| **it != a && **it != b) {
                        let same = |x: usize, y: usize| self.statements.same.at(x, y);
                        let (ab, bc, ac) = (same(a, b), same(b, c), same(a, c));
                        let path = circuit.both(ab, bc);
                        self.laws.push(circuit.either(!path, ac));
                        let between = circuit.and([ac, self.po.at(a, b), self.po.at(b, c), self.active[b]]);
                        self.laws.push(circuit.either(!between, ab));
                    }
                }
            }
        }
    }

    /// What specs say of statements.
    fn derive_statements(&mut self, circuit: &mut Circuit) {
        for slot in 0..self.slots.len() {
            let place = self.slots[slot];
            let mates: Vec<Wire> = self
                .slots_of(place.txn)
                .map(|it| circuit.both(self.statements.same.at(slot, it), self.statements.updates[it]))
                .collect();
            let writes = circuit.or(mates);
            let omits = circuit.both(self.omitted[slot], writes);
            self.statements.newest[slot] =
                circuit.or([self.statements.updates[slot], self.statements.locking[slot], omits]);
            let made = self.statements.makes.at(place.txn, place.key);
            let makes = circuit.either(made, self.statements.inserts[slot]);
            self.statements.makes.set(place.txn, place.key, makes);
        }
    }

    /// Rows that are deleted and made again in one transaction. What others omit of them is told apart only if they wrote
    /// it themselves: no version explains that.
    fn draw_hidden_rows(&mut self, circuit: &mut Circuit) {
        for key in 0..self.n_keys {
            for txn in 1..self.n_txns {
                let (remade, lost) = (self.input(circuit), self.input(circuit));
                self.statements.remade.set(txn, key, remade);
                self.statements.lost.set(txn, key, lost);
                for mark in [remade, lost] {
                    self.laws.push(circuit.either(!mark, self.writes.at(txn, key)));
                    self.laws.push(!circuit.both(mark, self.statements.absent.at(txn, key)));
                }
                let own: Vec<usize> = self.slots_of(txn).filter(|it| self.slots[*it].key == key).collect();
                for slot in own {
                    self.laws.push(!circuit.both(remade, self.active[slot]));
                }
            }
            for txn in 1..self.n_txns {
                let others: Vec<Wire> = (1..self.n_txns)
                    .filter(|it| *it != txn)
                    .map(|it| {
                        let remade = self.statements.remade.at(it, key);
                        circuit.and([remade, !self.so.at(it, txn), !self.so.at(txn, it)])
                    })
                    .collect();
                let by_others = circuit.or(others);
                self.laws.push(circuit.either(!self.statements.lost.at(txn, key), by_others));
                let own: Vec<usize> = self.slots_of(txn).filter(|it| self.slots[*it].key == key).collect();
                for slot in own {
                    let omits = circuit.both(self.omitted[slot], self.statements.newest[slot]);
                    self.laws.push(!circuit.both(omits, by_others));
                }
            }
        }
    }

    /// Is there a row that a statement must have found, unless it was hidden?
    pub(crate) fn any_lost(&self, circuit: &mut Circuit) -> Wire {
        circuit.or(cells(&self.statements.lost).collect::<Vec<_>>())
    }
}
