//! Values, rows and states of a program as wires.

use crate::term::{Number, Term};
use iso_program::{Program, SymbolId, Type, UnitId, UnitValue, Value};
use iso_solve::{Circuit, Linear, Values, Wire, Word};

/// A unit: does it exist, and its fields.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) exists: Wire,
    /// What the fields are, defaults if it does not exist.
    pub(crate) fields: Vec<Term>,
}

/// Widths and types of the values of one program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes<'p> {
    pub(crate) program: &'p Program,
}

impl Shapes<'_> {
    /// How many bits a value of the type has. Positions of members are never negative, so they have a bit more.
    pub(crate) fn width(self, ty: Type) -> usize {
        match ty {
            Type::Int => self.program.width() as usize,
            Type::Bool => 2,
            Type::Member(domain) => {
                let n_members = self.program.domains()[domain.index()].members.len().max(2);
                (usize::BITS - (n_members - 1).leading_zeros()) as usize + 1
            }
        }
    }

    /// Are there open integers, so that sums of them may have to be compared?
    pub(crate) fn has_sums(self) -> bool {
        self.program.symbols().iter().any(|it| it.ty == Type::Int)
    }

    pub(crate) fn constant(self, value: Value) -> Term {
        let (ty, code) = (value.type_of(), value.code());
        if ty == Type::Int && self.has_sums() {
            Term::constant(code, self.width(ty))
        } else {
            Term::of(Word::constant(code, self.width(ty)))
        }
    }

    /// An open value, and what makes its bits one.
    pub(crate) fn symbol(self, circuit: &mut Circuit, symbol: SymbolId) -> (Term, Wire) {
        let of = &self.program.symbols()[symbol.index()];
        let (word, law) = self.any(circuit, of.ty);
        let within = within(circuit, &word, of.low, of.high);
        let sum = Linear::open(symbol.index());
        let number = (of.ty == Type::Int).then_some(Number { low: of.low, high: of.high, sum });
        (Term { word, number }, circuit.both(law, within))
    }

    /// Any value of the type, and what makes it one.
    fn any(self, circuit: &mut Circuit, ty: Type) -> (Word, Wire) {
        match ty {
            Type::Int => (Word::input(circuit, self.width(ty)), Wire::TRUE),
            Type::Bool => (truth_term(circuit.input()).word, Wire::TRUE),
            Type::Member(domain) => {
                let word = Word::input(circuit, self.width(ty));
                let n_members = self.program.domains()[domain.index()].members.len();
                let last = i64::try_from(n_members).unwrap_or(i64::MAX) - 1;
                let is_member = within(circuit, &word, 0, last);
                (word, is_member)
            }
        }
    }

    /// Any value of a unit, and what makes its bits one. By field, what is known of the number.
    pub(crate) fn any_record(
        self,
        circuit: &mut Circuit,
        unit: UnitId,
        numbers: Vec<Option<Number>>,
    ) -> (Record, Wire) {
        let of = self.program.unit(unit);
        let exists = if of.kind == iso_program::UnitKind::Var { Wire::TRUE } else { circuit.input() };
        let mut laws = Vec::new();
        let mut fields = Vec::new();
        for (field, number) in of.fields.iter().zip(numbers) {
            let (word, law) = self.any(circuit, field.ty);
            let default = self.constant(field.ty.default_value());
            let is_default = word.equals(&default.word, circuit);
            laws.extend([law, circuit.either(exists, is_default)]);
            fields.push(Term { word, number });
        }
        (Record { exists, fields }, circuit.and(laws))
    }

    /// A row that does not exist.
    pub(crate) fn missing(self, unit: UnitId) -> Record {
        let fields = self.program.unit(unit).fields.iter().map(|it| self.constant(it.ty.default_value())).collect();
        Record { exists: Wire::FALSE, fields }
    }

    /// What the unit holds for certain inputs.
    pub(crate) fn value(self, unit: UnitId, record: &Record, values: &Values) -> UnitValue {
        if !values.of(record.exists) {
            return UnitValue::Missing;
        }
        let fields = self.program.unit(unit).fields.iter().zip(&record.fields);
        UnitValue::Present(fields.map(|(field, word)| field.ty.value_of(word.value(values))).collect())
    }
}

/// A truth value as a number.
pub(crate) fn truth_term(wire: Wire) -> Term {
    Term::of(Word::of_bits(&[wire, Wire::FALSE]))
}

/// Is the number between the two, both included?
pub(crate) fn within(circuit: &mut Circuit, word: &Word, low: i64, high: i64) -> Wire {
    let (low, high) = (Word::constant(low, word.width()), Word::constant(high, word.width()));
    let (too_small, too_large) = (word.less_than(&low, circuit), high.less_than(word, circuit));
    circuit.and([!too_small, !too_large])
}

impl Record {
    /// This if the condition is true, else the other.
    pub(crate) fn choose(condition: Wire, yes: &Self, no: &Self, circuit: &mut Circuit) -> Self {
        let fields = yes.fields.iter().zip(&no.fields);
        Self {
            exists: circuit.choose(condition, yes.exists, no.exists),
            fields: fields.map(|it| Term::choose(condition, it.0, it.1, circuit)).collect(),
        }
    }

    /// Is it a copy of the other? Where numbers are sums, their bits are a matter of their own.
    pub(crate) fn copies(&self, other: &Self, circuit: &mut Circuit) -> Copied {
        let (mut same, mut same_bits) = (vec![circuit.same(self.exists, other.exists)], Vec::new());
        for (own, value) in self.fields.iter().zip(&other.fields) {
            let bits = own.word.equals(&value.word, circuit);
            match (&own.number, &value.number) {
                (Some(own), Some(value)) => {
                    same.push(own.sum.copies(&value.sum, circuit));
                    same_bits.push(bits);
                }
                _ => same.push(bits),
            }
        }
        Copied { same: circuit.and(same), same_bits: circuit.and(same_bits) }
    }
}

/// Is a record a copy of another one?
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// In everything but the bits of sums.
    pub(crate) same: Wire,
    /// In the bits of sums.
    pub(crate) same_bits: Wire,
}
