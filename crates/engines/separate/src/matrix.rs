//! Relations whose pairs are wires of a circuit.

use iso_solve::{Circuit, Wire};

/// A relation: for each pair of elements a wire that says whether it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    n_rows: usize,
    n_cols: usize,
    wires: Vec<Wire>,
}

impl Matrix {
    /// No pair is in.
    pub(crate) fn empty(n_rows: usize, n_cols: usize) -> Self {
        Self { n_rows, n_cols, wires: vec![Wire::FALSE; n_rows * n_cols] }
    }

    /// The pairs for which that holds.
    pub(crate) fn from_fn(n_rows: usize, n_cols: usize, mut of: impl FnMut(usize, usize) -> Wire) -> Self {
        let pairs = (0..n_rows).flat_map(|row| (0..n_cols).map(move |col| (row, col)));
        Self { n_rows, n_cols, wires: pairs.map(|it| of(it.0, it.1)).collect() }
    }

    /// The order in which these come, as constants: `places[i]` is where element i stands.
    pub(crate) fn of_places(places: &[usize]) -> Self {
        Self::from_fn(places.len(), places.len(), |a, b| Wire::constant(places[a] < places[b]))
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub(crate) fn n_cols(&self) -> usize {
        self.n_cols
    }

    pub(crate) fn at(&self, row: usize, col: usize) -> Wire {
        self.wires[row * self.n_cols + col]
    }

    pub(crate) fn set(&mut self, row: usize, col: usize, wire: Wire) {
        self.wires[row * self.n_cols + col] = wire;
    }

    pub(crate) fn zip(&self, other: &Self, mut of: impl FnMut(Wire, Wire) -> Wire) -> Self {
        let wires = self.wires.iter().zip(&other.wires).map(|it| of(*it.0, *it.1)).collect();
        Self { n_rows: self.n_rows, n_cols: self.n_cols, wires }
    }

    pub(crate) fn union(&self, other: &Self, circuit: &mut Circuit) -> Self {
        self.zip(other, |a, b| circuit.either(a, b))
    }

    pub(crate) fn inverse(&self) -> Self {
        Self::from_fn(self.n_cols, self.n_rows, |row, col| self.at(col, row))
    }

    pub(crate) fn reflexive(&self) -> Self {
        Self::from_fn(self.n_rows, self.n_cols, |row, col| if row == col { Wire::TRUE } else { self.at(row, col) })
    }

    pub(crate) fn compose(&self, other: &Self, circuit: &mut Circuit) -> Self {
        Self::from_fn(self.n_rows, other.n_cols, |row, col| self.step(other, row, col, circuit))
    }

    /// Is there a step from `row` by this relation and then one by the other to `col`?
    pub(crate) fn step(&self, other: &Self, row: usize, col: usize, circuit: &mut Circuit) -> Wire {
        let mut steps = Vec::new();
        for middle in 0..self.n_cols {
            let (left, right) = (self.at(row, middle), other.at(middle, col));
            if left != Wire::FALSE && right != Wire::FALSE {
                steps.push(circuit.both(left, right));
            }
        }
        circuit.or(steps)
    }

    /// One step or more. If no cycle is possible, paths are counted from their ends; otherwise by Warshall (1962).
    pub(crate) fn closure(&self, circuit: &mut Circuit) -> Self {
        match self.possible_order() {
            Some(order) => self.closure_along(&order, circuit),
            None => self.closure_of_cycles(circuit),
        }
    }

    fn closure_along(&self, order: &[usize], circuit: &mut Circuit) -> Self {
        let mut closed = self.clone();
        for (place, &row) in order.iter().enumerate().rev() {
            for &col in &order[place + 1..] {
                let mut paths = vec![self.at(row, col)];
                for &middle in &order[place + 1..] {
                    let (first, rest) = (self.at(row, middle), closed.at(middle, col));
                    if middle != col && first != Wire::FALSE && rest != Wire::FALSE {
                        paths.push(circuit.both(first, rest));
                    }
                }
                closed.set(row, col, circuit.or(paths));
            }
        }
        closed
    }

    fn closure_of_cycles(&self, circuit: &mut Circuit) -> Self {
        let mut closed = self.clone();
        for middle in 0..self.n_rows {
            for row in 0..self.n_rows {
                let first = closed.at(row, middle);
                if first == Wire::FALSE || row == middle {
                    continue;
                }
                for col in 0..self.n_rows {
                    let rest = closed.at(middle, col);
                    if rest != Wire::FALSE && col != middle {
                        let path = circuit.both(first, rest);
                        closed.set(row, col, circuit.either(closed.at(row, col), path));
                    }
                }
            }
        }
        closed
    }

    /// An order of the elements that all possible pairs respect, if there is one.
    fn possible_order(&self) -> Option<Vec<usize>> {
        let n = self.n_rows;
        let mut n_before: Vec<usize> =
            (0..n).map(|col| (0..n).filter(|row| self.at(*row, col) != Wire::FALSE).count()).collect();
        let mut order: Vec<usize> = (0..n).filter(|it| n_before[*it] == 0).collect();
        let mut next = 0;
        while let Some(&row) = order.get(next) {
            next += 1;
            for (col, left) in n_before.iter_mut().enumerate() {
                if self.at(row, col) != Wire::FALSE {
                    *left -= 1;
                    if *left == 0 {
                        order.push(col);
                    }
                }
            }
        }
        (order.len() == n).then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_along_an_order_and_of_cycles_are_the_same() {
        let pairs = [(0, 1), (1, 2), (2, 3), (0, 4)];
        let mut circuit = Circuit::new();
        let acyclic = Matrix::from_fn(5, 5, |a, b| Wire::constant(pairs.contains(&(a, b))));
        assert_eq!(acyclic.closure(&mut circuit), acyclic.closure_of_cycles(&mut circuit));
        assert_eq!(acyclic.closure(&mut circuit).at(0, 3), Wire::TRUE);
        let mut cyclic = acyclic.clone();
        cyclic.set(3, 0, Wire::TRUE);
        let closed = cyclic.closure(&mut circuit);
        assert!((0..4).all(|it| closed.at(it, it) == Wire::TRUE) && closed.at(4, 4) == Wire::FALSE);
    }
}
