//! The transactions of a program as a workload: each at its own isolation level, with arguments that are drawn.
//!
//! A session has one isolation level, and runs the transactions of that level. So each transaction runs at exactly the level
//! that it was given, and all of them together at many.

use super::statement::{Done, Runner};
use super::{decoded, encoded, row_of, tables};
use crate::answered::RowNames;
use crate::{Assertion, Client, Failure, Random, Table, Transaction, Turn, Workload};
use iso_formats::WrittenValues;
use iso_history::{Locking, Predicate};
use iso_program::{
    Expr, Judgement, Program, Symbol, Type, UnitId, UnitValue, Value, initial_state, judge, judge_assumptions,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How often arguments are drawn until the assumptions hold.
const MAX_DRAWS: usize = 2000;

/// Which transactions of a program run, and where.
#[derive(Debug)]
pub struct ProgramWorkload {
    program: Arc<Program>,
    /// The isolation level of each instance of the program.
    levels: Vec<String>,
    /// The isolation level of each session.
    isolations: Vec<String>,
    /// Open values of the initial state.
    start: Vec<Value>,
}

impl ProgramWorkload {
    /// Each transaction of the program's `run` stands for any number of them. By transaction, its level; by session, its own.
    /// The error says what cannot be recorded.
    pub fn new(program: Program, levels: Vec<String>, isolations: Vec<String>, seed: u64) -> Result<Self, String> {
        if let Some(table) = program.tables().iter().find(|it| it.fields.len() > 1) {
            return Err(format!(
                "rows of `{}` have several fields, and histories are recorded by row: whoever reads one field would be \
                 in conflict with whoever writes another",
                table.name
            ));
        }
        let start = draw(&program, &mut Random::new(seed));
        Ok(Self {
            start: start.ok_or("no open values were found that satisfy the assumptions")?,
            program: Arc::new(program),
            levels,
            isolations,
        })
    }
}

/// Open values that the assumptions allow, if they are found.
fn draw(program: &Program, random: &mut Random) -> Option<Vec<Value>> {
    for attempt in 0..MAX_DRAWS {
        let mut value = |it: &Symbol| {
            // Large numbers, and those that only add up, soon leave the width.
            let is_small = it.ty == Type::Int && it.n_values() > 1000 && attempt < MAX_DRAWS / 2;
            let (low, high) = if is_small { (it.low.max(-25), it.high.min(25)) } else { (it.low, it.high) };
            let (low, high) = if low <= high { (low, high) } else { (it.low, it.high) };
            it.ty.value_of(random.amount(low, high))
        };
        let symbols: Vec<Value> = program.symbols().iter().map(&mut value).collect();
        if judge_assumptions(program, &symbols) == Judgement::Holds {
            return Some(symbols);
        }
    }
    None
}

impl Workload for ProgramWorkload {
    fn name(&self) -> &'static str {
        "program"
    }

    fn tables(&self) -> Vec<Table> {
        tables(&self.program)
    }

    fn row_names(&self) -> RowNames {
        RowNames::WithTable
    }

    fn rows(&self) -> Vec<(String, String, crate::Value)> {
        let state = initial_state(&self.program, &self.start);
        let row = |(idx, value): (usize, &UnitValue)| {
            let UnitValue::Present(fields) = value else { return None };
            let (table, row) = row_of(&self.program, UnitId::from_index(idx));
            Some((table, row, encoded(fields)))
        };
        state.iter().enumerate().filter_map(row).collect()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let mut random = Random::of(turn.seed, turn.slot.session, turn.slot.nth);
        let isolation = &self.isolations[turn.slot.session % self.isolations.len()];
        let own: Vec<usize> = (0..self.levels.len()).filter(|it| self.levels[*it] == *isolation).collect();
        let instance = own[random.below(own.len())];
        let symbols = draw(&self.program, &mut random).unwrap_or_else(|| self.start.clone());
        Box::new(Call { program: Arc::clone(&self.program), symbols, instance })
    }

    fn written_values(&self) -> WrittenValues {
        WrittenValues::Any
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let mut found = BTreeMap::new();
        for table in self.tables() {
            for (row, value) in state.select(&table.name, &Predicate::All, Locking::Free)? {
                found.insert((table.name.clone(), row), value);
            }
        }
        let units = (0..self.program.units().len()).map(UnitId::from_index);
        let value = |unit: UnitId| match found.get(&row_of(&self.program, unit)) {
            Some(value) => decoded(&self.program, unit, value),
            None => Ok(UnitValue::Missing),
        };
        let last: Vec<UnitValue> = units.map(value).collect::<Result<_, Failure>>()?;
        let is_broken = |it: &&iso_program::Claim| judge(&self.program, it, &self.start, &last) != Judgement::Holds;
        let wrong = self.program.invariants().iter().filter(is_broken);
        let wrong: Vec<String> = wrong.map(|it| self.program.place(it.span).text.to_owned()).collect();
        Ok(vec![Assertion::none_of("every invariant holds", &wrong)])
    }
}

/// A transaction with its arguments.
#[derive(Debug)]
struct Call {
    program: Arc<Program>,
    symbols: Vec<Value>,
    instance: usize,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.program.instances()[self.instance];
        let shown = |it: &Expr| match it {
            Expr::Const(value) => self.program.show(*value),
            Expr::Symbol(symbol) => self.program.show(self.symbols[symbol.index()]),
            _ => String::new(),
        };
        let arguments: Vec<String> = of.arguments.iter().map(|it| shown(&it.1)).collect();
        write!(f, "{}({})", of.txn, arguments.join(","))
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        let mut runner = Runner::new(&self.program, &self.symbols, self.instance, client);
        loop {
            match runner.go_on_inside()? {
                Done::Statement => {}
                Done::Committed => return Ok(()),
                Done::GaveUp(why) => return Err(Failure::aborted(why)),
            }
        }
    }
}
