//! From the events of processes to transactions of sessions.

use super::clock::{Clock, Stamp};
use crate::ReadError;
use crate::form::{Form, Syntax};
use crate::ops::TxnOps;
use crate::sink::Sink;
use iso_history::{Access, Datum, KeyId, Outcome, Place, ValueId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// About what a transaction takes while it waits.
const TXN_BYTES: usize = size_of::<Txn>();

/// A process, and how often it has crashed before.
type Client = (i64, u32);

/// What was read so far. Whether a key is a list, and what the time is, shows only at the end, so transactions wait.
pub(super) struct Events {
    syntax: Syntax,
    clock: Clock,
    txns: Vec<Txn>,
    mops: Vec<Mop>,
    elements: Vec<ValueId>,
    key_is_list: Vec<bool>,
    processes: FxHashMap<i64, Process>,
}

#[derive(Default)]
struct Process {
    n_crashes: u32,
    open: Option<Open>,
}

/// An operation that has begun.
struct Open {
    place: Place,
    begin: Stamp,
    writes: Vec<Mop>,
}

/// When a transaction was invoked and when it was completed, as far as events say.
type Times = (Option<Stamp>, Option<Stamp>);

struct Txn {
    client: Client,
    place: Place,
    times: Times,
    outcome: Outcome,
    /// Where its micro-operations end.
    end: usize,
}

#[derive(Clone, Copy)]
struct Mop {
    key: KeyId,
    seen: Seen,
}

#[derive(Clone, Copy)]
enum Seen {
    Value(Access, ValueId),
    /// A read of nil: the empty list, or the nil of a register.
    Nil(ValueId),
    /// A read of a list: where its elements are.
    List(usize, usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invoke,
    Ok,
    Fail,
    Info,
}

impl Events {
    pub(super) fn new(syntax: Syntax) -> Self {
        Self {
            syntax,
            clock: Clock::default(),
            txns: Vec::new(),
            mops: Vec::new(),
            elements: Vec::new(),
            key_is_list: Vec::new(),
            processes: FxHashMap::default(),
        }
    }

    /// Takes one event.
    pub(super) fn add(&mut self, event: &Form, line: u64, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let Form::Map(_) = event else {
            sink.error(line, "expected an operation: a map with :type, :process, :f and :value");
            return Ok(());
        };
        let Some(process) = process(event, line, sink) else { return Ok(()) };
        if event.get("f").and_then(Form::as_name) == Some("init") {
            let why = "an operation :init belongs to Elle's workload of closed predicates, which is not read; record \
                       scans in our own formats instead (docs/elle.md)";
            sink.error(line, why);
            return Ok(());
        }
        if let Some(other) = event.get("f").filter(|it| it.as_name() != Some("txn")) {
            sink.error(line, format!("the :f of an operation must be :txn, not {}", other.show(self.syntax)));
            return Ok(());
        }
        let kind = match event.get("type").and_then(Form::as_name) {
            Some("invoke") => Kind::Invoke,
            Some("ok") => Kind::Ok,
            Some("fail") => Kind::Fail,
            Some("info") => Kind::Info,
            _ => {
                sink.error(line, "expected a :type of invoke, ok, fail or info in the operation");
                return Ok(());
            }
        };
        let stamp = self.clock.stamp(event, line, sink);
        match self.mops(event.get("value"), kind, sink)? {
            Ok(mops) => self.step(process, (kind, stamp), mops, line, sink),
            Err(problem) => {
                sink.error(line, problem);
                Ok(())
            }
        }
    }

    fn step(
        &mut self,
        process: i64,
        (kind, stamp): (Kind, Stamp),
        mops: Vec<Mop>,
        line: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        let place = sink.place(line);
        let state = self.processes.entry(process).or_default();
        if kind == Kind::Invoke {
            let writes = mops;
            sink.meter().fits(writes.len() * size_of::<Mop>())?;
            if let Some(open) = state.open.replace(Open { place, begin: stamp, writes }) {
                let message =
                    format!("process {process} invokes an operation before that of line {} ended", open.place.at);
                sink.error(line, message);
            }
            return Ok(());
        }
        let client = (process, state.n_crashes);
        let open = state.open.take();
        let begin = open.as_ref().map(|it| it.begin);
        let writes = open.map_or_else(|| mops.clone(), |it| it.writes);
        match kind {
            Kind::Ok => self.push(client, place, (begin, Some(stamp)), Outcome::Committed, &mops, sink),
            Kind::Fail => self.push(client, place, (begin, Some(stamp)), Outcome::Aborted, &writes, sink),
            Kind::Info | Kind::Invoke => {
                state.n_crashes += 1;
                self.push(client, place, (begin, None), Outcome::Indeterminate, &writes, sink)
            }
        }
    }

    fn push(
        &mut self,
        client: Client,
        place: Place,
        times: Times,
        outcome: Outcome,
        mops: &[Mop],
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        sink.meter().keep(TXN_BYTES + size_of_val(mops))?;
        let is_known = |it: &&Mop| outcome == Outcome::Committed || it.is_write();
        self.mops.extend(mops.iter().filter(is_known));
        self.txns.push(Txn { client, place, times, outcome, end: self.mops.len() });
        Ok(())
    }

    /// The micro-operations of an event; of an invocation the writes only, since its reads saw nothing yet.
    fn mops(
        &mut self,
        value: Option<&Form>,
        kind: Kind,
        sink: &mut Sink<'_>,
    ) -> Result<Result<Vec<Mop>, String>, ReadError> {
        let forms = match value {
            Some(Form::Vector(forms)) => forms.as_slice(),
            None | Some(Form::Datum(Datum::Null)) if kind != Kind::Ok => &[],
            other => {
                let found = other.map_or_else(|| "none".to_owned(), |it| it.show(self.syntax));
                return Ok(Err(format!("expected a vector of micro-operations as the :value, found {found}")));
            }
        };
        let mut mops = Vec::with_capacity(forms.len());
        for form in forms {
            match self.mop(form, sink)? {
                Some(mop) if kind == Kind::Ok || mop.is_write() => mops.push(mop),
                Some(_) => {}
                None if is_of_predicates(form) => {
                    let found = form.show(self.syntax);
                    return Ok(Err(format!(
                        "{found} belongs to Elle's workload of closed predicates, which is not read; record scans in our \
                         own formats instead (docs/elle.md)"
                    )));
                }
                None => {
                    return Ok(Err(format!("expected {}, found {}", self.known_mops(), form.show(self.syntax))));
                }
            }
        }
        Ok(Ok(mops))
    }

    fn known_mops(&self) -> &'static str {
        match self.syntax {
            Syntax::Edn => "[:r key value], [:w key value] or [:append key value]",
            Syntax::Json => "[\"r\",key,value], [\"w\",key,value] or [\"append\",key,value]",
        }
    }

    fn mop(&mut self, form: &Form, sink: &mut Sink<'_>) -> Result<Option<Mop>, ReadError> {
        let Form::Vector(parts) = form else { return Ok(None) };
        let (name, key, value) = match parts.as_slice() {
            [name, key, value] => (name.as_name(), key.to_datum(), Some(value)),
            [name, key] => (name.as_name(), key.to_datum(), None),
            _ => return Ok(None),
        };
        let (Some(name), Some(key)) = (name, key) else { return Ok(None) };
        let key = sink.key(key)?;
        if self.key_is_list.len() <= key.index() {
            self.key_is_list.resize(key.index() + 1, false);
        }
        let access = match name {
            "r" => return self.read_mop(key, value, sink),
            "w" => Access::Write,
            "append" => Access::Append,
            _ => return Ok(None),
        };
        self.key_is_list[key.index()] |= access == Access::Append;
        let Some(value) = value.and_then(Form::to_datum) else { return Ok(None) };
        Ok(Some(Mop { key, seen: Seen::Value(access, sink.value(value)?) }))
    }

    fn read_mop(&mut self, key: KeyId, value: Option<&Form>, sink: &mut Sink<'_>) -> Result<Option<Mop>, ReadError> {
        let seen = match value {
            None | Some(Form::Datum(Datum::Null)) => Seen::Nil(sink.value(Datum::Null)?),
            Some(Form::Vector(elements)) => {
                self.key_is_list[key.index()] = true;
                let start = self.elements.len();
                for element in elements {
                    let Some(element) = element.to_datum() else { return Ok(None) };
                    self.elements.push(sink.value(element)?);
                }
                sink.meter().keep(elements.len() * size_of::<ValueId>())?;
                Seen::List(start, self.elements.len())
            }
            Some(form) => {
                let Some(value) = form.to_datum() else { return Ok(None) };
                Seen::Value(Access::Read, sink.value(value)?)
            }
        };
        Ok(Some(Mop { key, seen }))
    }

    /// Ends what never ended, and adds everything to the history, sessions in the order of their processes.
    pub(super) fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let mut unfinished: Vec<(Place, Client, Stamp, Vec<Mop>)> = Vec::new();
        let processes: BTreeMap<i64, Process> = std::mem::take(&mut self.processes).into_iter().collect();
        for (process, state) in processes {
            if let Some(open) = state.open {
                unfinished.push((open.place, (process, state.n_crashes), open.begin, open.writes));
            }
        }
        unfinished.sort_by_key(|it| it.0);
        for (place, client, begin, writes) in unfinished {
            self.push(client, place, (Some(begin), None), Outcome::Indeterminate, &writes, sink)?;
        }
        let mut clients: Vec<Client> = self.txns.iter().map(|it| it.client).collect();
        clients.sort_unstable();
        clients.dedup();
        for client in clients {
            sink.session(&session_name(client))?;
        }
        self.add_txns(sink)
    }

    fn add_txns(&self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let mut ops = TxnOps::default();
        let mut start = 0;
        let reading = self.clock.reading(self.txns.iter().any(|it| it.times.0.is_some() && it.times.1.is_some()));
        for txn in &self.txns {
            ops.clear();
            for mop in &self.mops[start..txn.end] {
                match mop.seen {
                    Seen::Value(access, value) => ops.push(access, mop.key, value),
                    Seen::Nil(_) if self.key_is_list[mop.key.index()] => ops.push_list(mop.key),
                    Seen::Nil(nil) => ops.push(Access::Read, mop.key, nil),
                    Seen::List(from, to) => {
                        self.elements[from..to].iter().for_each(|it| ops.element(*it));
                        ops.push_list(mop.key);
                    }
                }
            }
            start = txn.end;
            let session = sink.session(&session_name(txn.client))?;
            let (begin, end) = txn.times;
            let times = (begin.and_then(|it| it.read(reading)), end.and_then(|it| it.read(reading)));
            sink.txn(session, txn.place, times, &ops, txn.outcome)?;
        }
        Ok(())
    }
}

/// Is this a micro-operation of Elle's workload of closed predicates: a read by predicate, or a row that comes or goes?
fn is_of_predicates(form: &Form) -> bool {
    let Form::Vector(parts) = form else { return false };
    let name = parts.first().and_then(Form::as_name);
    name.is_some_and(|it| matches!(it, "rp" | "insert" | "delete"))
}

impl Mop {
    fn is_write(&self) -> bool {
        matches!(self.seen, Seen::Value(Access::Write | Access::Append, _))
    }
}

/// A process that has crashed goes on as another session: `3`, then `3/2`.
fn session_name((process, n_crashes): Client) -> String {
    match n_crashes {
        0 => process.to_string(),
        n => format!("{process}/{}", n + 1),
    }
}

/// The process of a client; the nemesis and other helpers have names instead of numbers.
fn process(event: &Form, line: u64, sink: &mut Sink<'_>) -> Option<i64> {
    match event.get("process") {
        Some(Form::Datum(Datum::Int(process))) => Some(*process),
        Some(Form::Name(_) | Form::Datum(Datum::Text(_))) => None,
        _ => {
            sink.error(line, "expected a :process in the operation: a number, or :nemesis");
            None
        }
    }
}
