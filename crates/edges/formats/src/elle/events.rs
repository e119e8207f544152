//! From the events of processes to transactions of sessions.

use super::clock::{Clock, Stamp};
use super::rows::{self, Rows, Scan};
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
    /// Keys are rows of a table, since an operation `:init` said which there are.
    rows: Option<Rows>,
    scans: Vec<Scan>,
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
enum Seen {
    Value(Access, ValueId),
    /// A read of nil: the empty list, or the nil of a register.
    Nil(ValueId),
    /// A read of a list: where its elements are.
    List(usize, usize),
}

/// What a micro-operation does.
#[derive(Clone, Copy)]
enum Mop {
    /// To one key.
    Of(KeyId, Seen),
    /// A read by predicate, by its number.
    Scan(usize),
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
            rows: None,
            scans: Vec::new(),
        }
    }

    /// Takes one event.
    pub(super) fn add(&mut self, event: &Form, line: u64, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let Form::Map(_) = event else {
            sink.error(line, "expected an operation: a map with :type, :process, :f and :value");
            return Ok(());
        };
        let Some(process) = process(event, line, sink) else { return Ok(()) };
        let is_init = event.get("f").and_then(Form::as_name) == Some("init");
        if let Some(other) = event.get("f").filter(|it| !is_init && it.as_name() != Some("txn")) {
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
        if is_init {
            return self.init(event.get("value"), kind, line, sink);
        }
        match self.mops(event.get("value"), kind, sink)? {
            Ok(mops) => self.step(process, (kind, stamp), mops, line, sink),
            Err(problem) => {
                sink.error(line, problem);
                Ok(())
            }
        }
    }

    /// Takes the rows that there are to begin with.
    fn init(&mut self, value: Option<&Form>, kind: Kind, line: u64, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let has_begun = !self.txns.is_empty() || self.processes.values().any(|it| it.open.is_some());
        let why = match (kind, &self.rows) {
            (Kind::Invoke, _) => return Ok(()),
            (Kind::Fail | Kind::Info, _) => {
                "it is not known whether :init was done, so nobody knows which rows there were"
            }
            (Kind::Ok, Some(_)) => "there is one operation :init, and it was before",
            (Kind::Ok, None) if has_begun => "the operation :init comes before all transactions",
            (Kind::Ok, None) => {
                let begun = rows::begin(value, line, sink)?;
                match begun {
                    Some(rows) => self.rows = Some(rows),
                    None => sink.error(line, "the :value of an operation :init is a map of keys and values, as {:x 1}"),
                }
                return Ok(());
            }
        };
        sink.error(line, why);
        Ok(())
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
            let mop = match self.rows {
                Some(rows) => self.mop_of_rows(rows, form, kind, sink)?,
                None => self.mop(form, sink)?,
            };
            match mop {
                Some(mop) if kind == Kind::Ok || mop.is_write() => mops.push(mop),
                Some(_) => {}
                None if self.rows.is_none() && rows::is_of_rows(form) => {
                    let found = form.show(self.syntax);
                    return Ok(Err(format!(
                        "{found} is about rows, and it is not known which there were at first: an operation :init must \
                         come before all transactions (docs/elle.md)"
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
            syntax if self.rows.is_some() => rows::known_mops(syntax),
            Syntax::Edn => "[:r key value], [:w key value] or [:append key value]",
            Syntax::Json => "[\"r\",key,value], [\"w\",key,value] or [\"append\",key,value]",
        }
    }

    /// A micro-operation where keys are rows. What an invocation would read is not known yet.
    fn mop_of_rows(
        &mut self,
        rows: Rows,
        form: &Form,
        kind: Kind,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Mop>, ReadError> {
        Ok(match rows.read(form, kind == Kind::Ok, sink)? {
            Some(rows::RowMop::Of(access, key, value)) => {
                if self.key_is_list.len() <= key.index() {
                    self.key_is_list.resize(key.index() + 1, false);
                }
                Some(Mop::Of(key, Seen::Value(access, value)))
            }
            Some(rows::RowMop::Scan(scan)) => {
                sink.meter().keep(scan.bytes())?;
                self.scans.push(scan);
                Some(Mop::Scan(self.scans.len() - 1))
            }
            None => None,
        })
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
        Ok(Some(Mop::Of(key, Seen::Value(access, sink.value(value)?))))
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
        Ok(Some(Mop::Of(key, seen)))
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
                match *mop {
                    Mop::Scan(nth) => self.scans[nth].push_to(&mut ops),
                    Mop::Of(key, Seen::Value(access, value)) => ops.push(access, key, value),
                    Mop::Of(key, Seen::Nil(_)) if self.key_is_list[key.index()] => ops.push_list(key),
                    Mop::Of(key, Seen::Nil(nil)) => ops.push(Access::Read, key, nil),
                    Mop::Of(key, Seen::List(from, to)) => {
                        self.elements[from..to].iter().for_each(|it| ops.element(*it));
                        ops.push_list(key);
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

impl Mop {
    fn is_write(&self) -> bool {
        matches!(self, Self::Of(_, Seen::Value(Access::Write | Access::Append, _)))
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
