//! What the integers of each unit can be at most: their range, and the open values that they may be sums of.
//!
//! The transactions are executed again and again, each time on what their writes left the time before. Whatever is read
//! came about by a chain of different transactions, so as many rounds as there are transactions are enough.

use crate::execute::{execute, initial};
use crate::record::{Record, Shapes};
use crate::term::Number;
use iso_program::{Program, ReadId, SymbolId, UnitId};
use iso_solve::{Circuit, Linear, LinearShape};

/// Coefficients of inputs have no more bits than this; sums that need more are not kept.
const MAX_COEFFICIENT_BITS: usize = 3;

/// By unit and field, for integers; nothing at all if the program has no open integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds(Vec<Vec<Option<FieldBounds>>>);

/// What an integer can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldBounds {
    low: i64,
    high: i64,
    shape: LinearShape,
}

impl Bounds {
    pub(crate) fn new(program: &Program) -> Self {
        let shapes = Shapes { program };
        if !shapes.has_sums() {
            return Self::default();
        }
        let mut circuit = Circuit::new();
        let mut symbols = Vec::new();
        for symbol in (0..program.symbols().len()).map(SymbolId::from_index) {
            symbols.push(shapes.symbol(&mut circuit, symbol).0);
        }
        let start = initial(program, &mut circuit, &symbols).state;
        let mut bounds = Self(start.iter().map(|it| vec![None; it.fields.len()]).collect());
        for (idx, record) in start.iter().enumerate() {
            bounds.join(program, UnitId::from_index(idx), record);
        }
        for _ in program.instances() {
            let before = bounds.clone();
            for instance in program.instances() {
                let inputs: Vec<Record> =
                    instance.reads.iter().map(|it| shapes.any_record(&mut circuit, it.unit, &before).0).collect();
                let outside = |read: ReadId, _| inputs[read.index()].clone();
                let summary = execute(program, instance, &mut circuit, &symbols, &outside);
                for (unit, write) in &summary.writes {
                    bounds.join(program, *unit, &write.value);
                }
            }
            if bounds == before {
                break;
            }
        }
        bounds
    }

    pub(crate) fn of(&self, unit: UnitId, field: usize) -> Option<&FieldBounds> {
        self.0.get(unit.index())?.get(field)?.as_ref()
    }

    fn join(&mut self, program: &Program, unit: UnitId, record: &Record) {
        for (bounds, term) in self.0[unit.index()].iter_mut().zip(&record.fields) {
            if let Some(number) = &term.number {
                bounds.get_or_insert_with(|| FieldBounds::of(number)).join(number, program.width() as usize);
            }
        }
    }
}

impl FieldBounds {
    fn of(number: &Number) -> Self {
        Self { low: number.low, high: number.high, shape: number.sum.shape() }
    }

    fn join(&mut self, number: &Number, width: usize) {
        self.low = self.low.min(number.low);
        self.high = self.high.max(number.high);
        let shape = number.sum.shape();
        self.shape.constant = self.shape.constant.max(shape.constant).min(width);
        for (which, bits) in shape.coefficients {
            let own = self.shape.coefficients.entry(which).or_default();
            *own = bits.max(*own).min(MAX_COEFFICIENT_BITS);
        }
    }

    /// Any such number.
    pub(crate) fn any(&self, circuit: &mut Circuit) -> Number {
        Number { low: self.low, high: self.high, sum: Linear::input(circuit, &self.shape) }
    }
}
