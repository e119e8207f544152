//! What the time of an event is: its `:time`, or where times say nothing, its place among the events.
//!
//! Jepsen writes events down as they happen, so that their order is real time. Where no event has a `:time`, or all have
//! the same, that order is taken, if there are invocations: `:index` where every event has one and they grow, otherwise the place in the file.
//! `:time nil` says that a time is not known, and is left at that.

use crate::form::Form;
use crate::sink::Sink;
use iso_history::Datum;

/// What an event says about when it happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    time: Option<i64>,
    index: i64,
    nth: i64,
}

/// Where times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Time,
    Index,
    Place,
}

impl Stamp {
    pub(super) fn read(self, reading: Reading) -> Option<i64> {
        match reading {
            Reading::Time => self.time,
            Reading::Index => Some(self.index),
            Reading::Place => Some(self.nth),
        }
    }
}

/// What the events so far say about time.
#[derive(Debug, Default)]
pub(super) struct Clock {
    n_events: i64,
    n_times: i64,
    /// Did an event say that its time is not known?
    has_nil: bool,
    first_time: Option<i64>,
    has_other_time: bool,
    last_index: Option<i64>,
    is_unordered: bool,
}

impl Clock {
    /// Looks at the next event of a client.
    pub(super) fn stamp(&mut self, event: &Form, line: u64, sink: &mut Sink<'_>) -> Stamp {
        let time = match event.get("time") {
            Some(Form::Datum(Datum::Int(time))) => Some(*time),
            None => None,
            Some(Form::Datum(Datum::Null)) => {
                self.has_nil = true;
                None
            }
            Some(_) => {
                sink.error(line, "the :time of an operation must be a 64-bit integer");
                None
            }
        };
        self.n_times += i64::from(time.is_some());
        self.has_other_time |= time.is_some_and(|it| *self.first_time.get_or_insert(it) != it);
        let index = match event.get("index") {
            Some(Form::Datum(Datum::Int(index))) => Some(*index),
            _ => None,
        };
        self.is_unordered |= index.is_none() || index <= self.last_index;
        self.last_index = index;
        self.n_events += 1;
        Stamp { time, index: index.unwrap_or_default(), nth: self.n_events }
    }

    /// Where times come from, after all events; completions alone do not say what was over before something began.
    pub(super) fn reading(&self, has_invocations: bool) -> Reading {
        // One transaction may well begin and end at the same time.
        let all_are_equal = self.n_times == self.n_events && self.n_events > 2 && !self.has_other_time;
        let says_time = self.n_times > 0 || self.has_nil;
        match (says_time && !all_are_equal || !has_invocations, self.is_unordered) {
            (true, _) => Reading::Time,
            (false, false) => Reading::Index,
            (false, true) => Reading::Place,
        }
    }
}
