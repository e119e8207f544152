//! What verification answers: that a program holds, or one execution that breaks it.

use crate::encode::{Deed, Model, Suspect};
use crate::execute::FailureKind;
use crate::layout::{self, bare};
use crate::level::Isolation;
use iso_evidence::StopReason;
use iso_history::{Datum, History, HistoryBuilder, Outcome, Place, TxnId};
use iso_program::{InstanceId, Program, ReadId, Span, SymbolId, UnitId, UnitKind, UnitValue, Value};

/// Does the program keep its promises under the level?
#[derive(Clone, Debug)]
pub struct Verification {
    /// The answer.
    pub verdict: Verdict,
    /// What it took.
    pub effort: Effort,
}

/// The answer for one level.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// In every execution that the level allows, for all open values.
    Holds,
    /// Not in this execution.
    Violated(Box<Counterexample>),
    /// The limit was reached first.
    Unknown(StopReason),
}

/// What a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Variables of the solver.
    pub variables: u64,
    /// Clauses of the solver.
    pub clauses: u64,
    /// Conflicts of the solver.
    pub conflicts: u64,
}

/// An execution that the level allows and in which something is wrong.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What is wrong; at least one thing.
    pub wrong: Vec<Wrong>,
    /// The open values, by symbol.
    pub symbols: Vec<Value>,
    /// The transactions in the order that decides between their writes.
    pub order: Vec<InstanceId>,
    /// Who is seen by whom. Where [`Isolation::has_sources`], each read has its own source instead.
    pub sees: Vec<(InstanceId, InstanceId)>,
    /// What each transaction did, by instance.
    pub transactions: Vec<Ran>,
    /// What the observer saw, if one saw something wrong.
    pub observed: Option<Observed>,
    /// The last state, by unit.
    pub last_state: Vec<UnitValue>,
    /// The execution as a history that `check` can judge, observer included.
    pub history: History,
    /// By instance, its transaction in the history; nothing if it is not in it.
    pub ids: Vec<Option<TxnId>>,
}

/// Something that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The invariant of that place is false in the last state.
    Invariant(usize),
    /// The observer of that place is false in the state that it saw.
    Observer(usize),
    /// Something failed in a transaction.
    Inside {
        /// The transaction.
        instance: InstanceId,
        /// What it was.
        kind: FailureKind,
        /// Where.
        span: Span,
    },
    /// Something failed while an invariant or observer was evaluated.
    InClaim {
        /// What it was.
        kind: FailureKind,
        /// Where.
        span: Span,
    },
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Did it commit?
    pub commits: bool,
    /// What it read from outside, in program order.
    pub reads: Vec<Seen>,
    /// What it wrote, if it committed.
    pub writes: Vec<(UnitId, UnitValue)>,
}

/// A read from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The place that reads; none for an observer.
    pub read: Option<ReadId>,
    /// The unit.
    pub unit: UnitId,
    /// What it found.
    pub value: UnitValue,
    /// Who wrote that; none for the initial state.
    pub source: Option<InstanceId>,
}

/// What an observer saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The place of the observer.
    pub observer: usize,
    /// Each unit, as it saw it.
    pub reads: Vec<Seen>,
}

impl Counterexample {
    pub(crate) fn new(program: &Program, isolation: Isolation, model: &Model, initial: &[UnitValue]) -> Self {
        let n = program.instances().len();
        let wrong: Vec<Wrong> = model.suspects.iter().map(|it| wrong(*it)).collect();
        let observer = observer(program, &wrong);
        let symbols = program.symbols().iter().zip(&model.symbols).map(|(symbol, code)| symbol.ty.value_of(*code));
        let order: Vec<usize> = model.order.iter().copied().filter(|it| *it < n).collect();
        let observed = observer.map(|it| Observed { observer: it, reads: seen(&model.deeds[n + it]) });
        let shown = model.order.iter().copied().filter(|it| *it < n || observer.is_some_and(|o| *it == n + o));
        let (history, ids) = history(program, isolation, model, &shown.collect::<Vec<_>>(), initial);
        Self {
            wrong,
            symbols: symbols.collect(),
            last_state: last_state(model, &order, initial),
            sees: model.sees.iter().filter(|it| it.0 < n && it.1 < n).map(|it| (id(it.0), id(it.1))).collect(),
            transactions: model.deeds[..n].iter().map(ran).collect(),
            order: order.into_iter().map(id).collect(),
            observed,
            history,
            ids: ids[..n].to_vec(),
        }
    }

    /// The value of an open value.
    pub fn symbol(&self, symbol: SymbolId) -> Value {
        self.symbols[symbol.index()]
    }
}

/// The observer that saw something wrong: one that is false, or else one that cannot be evaluated.
fn observer(program: &Program, wrong: &[Wrong]) -> Option<usize> {
    let is_false = |it: &Wrong| if let Wrong::Observer(idx) = it { Some(*idx) } else { None };
    let fails = |it: &Wrong| {
        let Wrong::InClaim { span, .. } = it else { return None };
        program.observers().iter().position(|it| it.span.start <= span.start && span.end <= it.span.end)
    };
    wrong.iter().find_map(is_false).or_else(|| wrong.iter().find_map(fails))
}

fn id(node: usize) -> InstanceId {
    InstanceId::from_index(node)
}

fn wrong(suspect: Suspect) -> Wrong {
    match suspect {
        Suspect::Invariant(idx) => Wrong::Invariant(idx),
        Suspect::Observer(idx) => Wrong::Observer(idx),
        Suspect::Inside { instance, kind, span } => Wrong::Inside { instance: id(instance), kind, span },
        Suspect::Claim { kind, span } => Wrong::InClaim { kind, span },
    }
}

fn seen(deed: &Deed) -> Vec<Seen> {
    let seen = |(read, unit, value, source): &(Option<ReadId>, UnitId, UnitValue, Option<usize>)| Seen {
        read: *read,
        unit: *unit,
        value: value.clone(),
        source: source.map(id),
    };
    deed.reads.iter().map(seen).collect()
}

fn ran(deed: &Deed) -> Ran {
    Ran { commits: deed.commits, reads: seen(deed), writes: deed.writes.clone() }
}

fn last_state(model: &Model, order: &[usize], initial: &[UnitValue]) -> Vec<UnitValue> {
    let mut state = initial.to_vec();
    for node in order {
        for (unit, value) in &model.deeds[*node].writes {
            state[unit.index()] = value.clone();
        }
    }
    state
}

/// The execution as a history: sessions as in the program, and one for the observer.
fn history(
    program: &Program,
    isolation: Isolation,
    model: &Model,
    order: &[usize],
    initial: &[UnitValue],
) -> (History, Vec<Option<TxnId>>) {
    let mut builder = HistoryBuilder::new();
    // Sessions stand as in the program, whoever comes first.
    for instance in program.instances() {
        builder.session(&format!("s{}", instance.session + 1));
    }
    for (idx, value) in initial.iter().enumerate() {
        let unit = UnitId::from_index(idx);
        let (key, value) = match isolation {
            Isolation::Paper(_) => (key_of(program, unit), datum(program, value)),
            Isolation::Database(_) => (layout::key_of(program, unit), layout::datum(program, value)),
        };
        let (key, value) = (builder.key(key), builder.value(value));
        builder.initial(key, value, Place::default());
    }
    let mut ids = vec![None; model.deeds.len()];
    for node in &in_session_order(program, order) {
        let deed = &model.deeds[*node];
        let session = match program.instances().get(*node) {
            Some(instance) => builder.session(&format!("s{}", instance.session + 1)),
            None => builder.session("observer"),
        };
        builder.begin(session, Place::default());
        match isolation {
            Isolation::Paper(_) => add_deed(&mut builder, program, deed),
            Isolation::Database(_) if *node < program.instances().len() => {
                layout::add_instance(&mut builder, program, model, *node, initial, isolation.looks());
            }
            Isolation::Database(_) => layout::add_observer(&mut builder, program, deed),
        }
        let outcome = if deed.commits { Outcome::Committed } else { Outcome::Aborted };
        ids[*node] = Some(builder.end(outcome));
    }
    (builder.finish().expect("an execution is a valid history"), ids)
}

/// What was read, and then what is left in the end.
fn add_deed(builder: &mut HistoryBuilder, program: &Program, deed: &Deed) {
    for (_, unit, value, _) in &deed.reads {
        let (key, value) = (builder.key(key_of(program, *unit)), builder.value(datum(program, value)));
        builder.read(key, value);
    }
    for (unit, value) in &deed.writes {
        let (key, value) = (builder.key(key_of(program, *unit)), builder.value(datum(program, value)));
        builder.write(key, value);
    }
}

/// The same order, but with the transactions of each session as they stand there: one that aborts has any place.
fn in_session_order(program: &Program, order: &[usize]) -> Vec<usize> {
    let session = |node: usize| program.instances().get(node).map(|it| it.session);
    let mut sorted = order.to_vec();
    for start in 0..sorted.len() {
        let rivals = (start + 1..sorted.len()).filter(|it| session(sorted[*it]).is_some());
        let same: Vec<usize> = rivals.filter(|it| session(sorted[*it]) == session(sorted[start])).collect();
        for later in same {
            if program.instances()[sorted[later]].place < program.instances()[sorted[start]].place {
                sorted.swap(start, later);
            }
        }
    }
    sorted
}

/// A unit as a key that needs no quotes, mostly: `x`, `accounts.x`, `seats.1`.
fn key_of(program: &Program, unit: UnitId) -> Datum {
    let of = program.unit(unit);
    Datum::text(match of.kind {
        UnitKind::Var => of.name.clone(),
        UnitKind::Row { table, key } => format!("{}.{}", program.tables()[table.index()].name, bare(program, key)),
    })
}

/// What a unit holds as one value. Values of one unit that differ stay so.
fn datum(program: &Program, value: &UnitValue) -> Datum {
    const MISSING: &str = "missing";
    match value {
        UnitValue::Missing => Datum::text(MISSING),
        UnitValue::Present(fields) => match fields[..] {
            [] => Datum::text("present"),
            [Value::Int(number)] => Datum::Int(number),
            [only] => {
                let word = bare(program, only);
                Datum::text(if word == MISSING { program.show(only) } else { word })
            }
            _ => Datum::text(fields.iter().map(|it| program.show(*it)).collect::<Vec<_>>().join(", ")),
        },
    }
}
