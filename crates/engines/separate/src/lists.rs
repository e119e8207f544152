//! Lists of a sketched history: reads show who appended before whom.

use crate::matrix::Matrix;
use crate::sketch::Sketch;
use iso_solve::{Circuit, Wire};

/// Which keys are lists, and what is shown of them.
#[derive(Debug)]
pub(crate) struct ListSketch {
    /// By key: is it a list?
    pub(crate) is_list: Vec<Wire>,
    /// By key: an order of all transactions, in which the writers of the key appended to it.
    pub(crate) orders: Vec<Matrix>,
    /// By key: who is shown before whom.
    pub(crate) listed: Vec<Matrix>,
}

impl ListSketch {
    /// All keys are registers.
    pub(crate) fn none(n_txns: usize, n_keys: usize) -> Self {
        Self {
            is_list: vec![Wire::FALSE; n_keys],
            orders: vec![Matrix::empty(n_txns, n_txns); n_keys],
            listed: vec![Matrix::empty(n_txns, n_txns); n_keys],
        }
    }
}

impl Sketch {
    /// Draws lists, after reads and writes.
    pub(crate) fn draw_lists(&mut self, circuit: &mut Circuit) {
        for key in 0..self.n_keys {
            let is_list = self.input(circuit);
            self.lists.is_list[key] = is_list;
            let order = self.draw_order(circuit);
            for slot in (0..self.slots.len()).filter(|it| self.slots[*it].key == key) {
                let reader = self.slots[slot].txn;
                // Nobody sees what it appends later.
                for source in 1..self.n_txns {
                    let own = circuit.and([is_list, self.writes.at(reader, key), order.at(reader, source)]);
                    self.laws.push(!circuit.both(own, self.from.at(slot, source)));
                }
            }
            self.lists.listed[key] = self.listed(circuit, key, &order);
            self.lists.orders[key] = order;
        }
    }

    /// Any total order with the initial transaction first.
    fn draw_order(&mut self, circuit: &mut Circuit) -> Matrix {
        let n = self.n_txns;
        let mut order = Matrix::empty(n, n);
        for later in 1..n {
            order.set(0, later, Wire::TRUE);
            for earlier in 1..later {
                let before = self.input(circuit);
                order.set(earlier, later, before);
                order.set(later, earlier, !before);
            }
        }
        for (a, b, c) in (1..n).flat_map(|a| (1..n).flat_map(move |b| (1..n).map(move |c| (a, b, c)))) {
            if a != b && b != c && a != c {
                let path = circuit.both(order.at(a, b), order.at(b, c));
                self.laws.push(circuit.either(!path, order.at(a, c)));
            }
        }
        order
    }

    /// What was seen of a list comes in its order before everything else.
    fn listed(&self, circuit: &mut Circuit, key: usize, order: &Matrix) -> Matrix {
        let n = self.n_txns;
        let slots: Vec<usize> = (0..self.slots.len()).filter(|it| self.slots[*it].key == key).collect();
        let is_shown: Vec<Wire> = (0..n)
            .map(|writer| {
                let mut cases = vec![Wire::constant(writer == 0)];
                for &slot in &slots {
                    for source in 1..n {
                        let up_to = if source == writer { Wire::TRUE } else { order.at(writer, source) };
                        cases.push(circuit.both(self.from.at(slot, source), up_to));
                    }
                }
                circuit.or(cases)
            })
            .collect();
        Matrix::from_fn(n, n, |a, b| {
            let both_write = circuit.both(self.writes.at(a, key), self.writes.at(b, key));
            circuit.and([self.lists.is_list[key], both_write, is_shown[a], order.at(a, b)])
        })
    }
}
