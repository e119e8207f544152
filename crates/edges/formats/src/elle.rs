//! Histories of Jepsen, as Elle (Kingsbury & Alvaro 2020) reads them: EDN, or the same as JSON lines.
//!
//! Each event is a map with `:type` (`:invoke`, `:ok`, `:fail`, `:info`), `:process`, `:f`, `:time` and `:value`, a
//! vector of micro-operations `[:append k v] [:r k [..]] [:w k v] [:r k v]`; one map a line, or one vector of maps.
//! An `:ok` operation committed with what it says; a `:fail` one aborted, and of it only the writes are known; so they
//! are of one that ended `:info` or never, whose outcome is unknown. Its process has crashed: a later operation of
//! that number belongs to another session. Sessions are ordered by process. A `nil` read of a key that is a list
//! anywhere saw the empty list. Registers are nil at first. Operations of the nemesis are passed over; those of clients
//! must be transactions (`:f :txn`, or no `:f`), or `:init`, which makes keys rows of a table ([`rows`]). A file that is cut between two maps is a shorter history, unless the
//! maps stand in a vector.

mod clock;
mod edn;
mod events;
mod rows;
mod write;

pub(crate) use write::{write_edn, write_json};

use crate::fault::Fault;
use crate::form::{FORM_BYTES, Form, Syntax};
use crate::input::{Bytes, Input, LineBytes};
use crate::json::Json;
use crate::meter::Meter;
use crate::sink::Sink;
use crate::{ReadError, report};
use edn::Edn;
use events::Events;

/// Reads EDN.
pub(crate) fn read_edn(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut events = Events::new(Syntax::Edn);
    let result = read_edn_events(input, &mut events, sink);
    report(sink, result)?;
    events.finish(sink)
}

fn read_edn_events(input: &mut Input<'_>, events: &mut Events, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let meter = sink.meter();
    let mut edn = Edn::new(input);
    let close = match edn.peek()? {
        Some(b'[') => Some(b']'),
        Some(b'(') => Some(b')'),
        _ => None,
    };
    if close.is_some() {
        edn.bump();
    }
    loop {
        match edn.peek()? {
            Some(byte) if Some(byte) == close => {
                edn.bump();
                return match edn.peek()? {
                    None => Ok(()),
                    Some(_) => edn.wrong("expected the end of the file after the vector of operations"),
                };
            }
            None if close.is_some() => {
                return edn.wrong("the file ends inside the vector of operations; it was cut short");
            }
            None => return Ok(()),
            Some(_) => {}
        }
        let line = edn.line();
        let mut n_nodes = 0;
        if let Some(event) = edn.form(&mut || grow(meter, &mut n_nodes))? {
            events.add(&event, line, sink)?;
        }
    }
}

/// Reads JSON lines, or one JSON array.
pub(crate) fn read_json(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut events = Events::new(Syntax::Json);
    if Json::new(&mut *input).peek()? == Some(b'[') {
        let result = read_json_array(input, &mut events, sink);
        report(sink, result)?;
    } else {
        let mut buffer = Vec::new();
        while let Some(line) = input.next_line(&mut buffer)? {
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            let result = read_json_event(&mut Json::new(LineBytes::new(line)), line.number, &mut events, sink);
            report(sink, result.map_err(|it| it.in_line(line)))?;
        }
    }
    events.finish(sink)
}

fn read_json_event<B: Bytes>(
    json: &mut Json<B>,
    line: u64,
    events: &mut Events,
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    let meter = sink.meter();
    let mut n_nodes = 0;
    let event = json.form(&mut || grow(meter, &mut n_nodes))?;
    json.expect_end()?;
    Ok(events.add(&event, line, sink)?)
}

fn read_json_array(input: &mut Input<'_>, events: &mut Events, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let meter = sink.meter();
    let mut json = Json::new(&mut *input);
    json.array(|json| {
        json.peek()?;
        let line = json.bytes().line();
        let mut n_nodes = 0;
        let event: Form = json.form(&mut || grow(meter, &mut n_nodes))?;
        Ok(events.add(&event, line, sink)?)
    })?;
    json.expect_end()
}

fn grow(meter: &Meter<'_>, n_nodes: &mut usize) -> Result<(), ReadError> {
    *n_nodes += 1;
    // Vectors double when they grow.
    meter.fits(*n_nodes * FORM_BYTES * 2)
}
