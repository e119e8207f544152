//! One connection of an application to a served database: what it says, message by message, and what it hears.
//!
//! Requests are answered in turns, statement by statement: each one waits for the engine's whole answer, because it may
//! have to be taken back when the store refuses what the statement did.

mod alone;
mod answer;
mod cursors;
mod ending;
mod statement;
mod weakly;

use crate::analyse::{Action, Plan};
use crate::catalogue::Catalogue;
use crate::condition::Parameter;
use crate::engine::{Engine, close};
use crate::handshake::{Connected, hear_unasked, let_in};
use crate::hidden;
use crate::prepared::{Prepared, is_tagged, parameters, parse_body, plan_all, type_numbers};
use crate::shared::Shared;
use crate::weak::Weak;
use crate::wire::{Message, Peer, add_result_format, add_result_formats_at, drop_last_description, is_timeout};
use ending::Ended;
use iso_history::Outcome;
use statement::{How, Stage, Txn};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often an idle connection looks whether the engine has something to say, or the run is over.
const TICK: Duration = Duration::from_millis(50);

/// Serves one client until it leaves.
pub(crate) fn serve_weakly(stream: TcpStream, shared: &Arc<Shared>, weak: &Weak) -> io::Result<()> {
    let Some(Connected { client, engine, number, session, watched }) = let_in(stream, shared)? else { return Ok(()) };
    weak.turn.connect(number);
    client.wait_at_most(Some(TICK))?;
    let mut served = Served {
        name: weak.take_name(session.unwrap_or_else(|| format!("s{number}"))),
        number,
        client,
        engine: Engine::new(engine),
        shared,
        weak,
        prepared: HashMap::new(),
        portals: HashMap::new(),
        cursors: HashSet::new(),
        batch: Vec::new(),
        txn: None,
        ended: Vec::new(),
        is_committing: false,
        is_skipping: false,
        has_copied: false,
        catalogue: shared.catalogue(),
    };
    let result = served.run();
    served.leave();
    drop(watched);
    result
}

struct Served<'s> {
    name: String,
    number: u64,
    client: Peer,
    engine: Engine,
    shared: &'s Arc<Shared>,
    weak: &'s Weak,
    prepared: HashMap<String, Prepared>,
    portals: HashMap<String, Portal>,
    /// Cursors whose rows the store has chosen.
    cursors: HashSet<String>,
    /// What was said since the last answer.
    batch: Vec<Message>,
    txn: Option<Txn>,
    ended: Vec<Ended>,
    is_committing: bool,
    /// Everything up to the next `Sync` is passed over.
    is_skipping: bool,
    /// A `Sync` that was sent before rows were copied does not count.
    has_copied: bool,
    catalogue: Arc<Catalogue>,
}

/// A statement with its parameters.
struct Portal {
    plan: Option<Arc<Plan>>,
    parameters: Vec<Parameter>,
    bind: Message,
    /// The engine knows it.
    is_bound: bool,
    /// Columns of its result that the client must not see.
    hidden: Vec<usize>,
    /// It is described when it is executed.
    describe: Option<Message>,
    /// What is left of its answer.
    left: VecDeque<Message>,
}

/// The answer to a statement, or why there is none.
type Answered = Result<Vec<Message>, Message>;

impl Served<'_> {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let message = match self.client.message() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(error) if is_timeout(&error) => {
                    if self.is_over() {
                        return self.say_goodbye();
                    }
                    hear_unasked(&mut self.engine.peer, &mut self.client)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if message.tag == b'X' {
                return Ok(());
            }
            let is_request = matches!(message.tag, b'Q' | b'S' | b'H' | b'F');
            self.batch.push(message);
            if is_request && !self.answer()? {
                return self.say_goodbye();
            }
        }
    }

    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }

    fn say_goodbye(&mut self) -> io::Result<()> {
        self.client.push(&Message::error("FATAL", "57P01", "isoscope ends the run"));
        self.client.flush()
    }

    /// Answers what was said so far, when it is the session's turn; false if that does not come any more.
    fn answer(&mut self) -> io::Result<bool> {
        let shared = self.shared;
        let is_over = || shared.is_over.load(Ordering::Relaxed);
        let needs_turn = !self.only_prepares() && !self.only_begins();
        let is_shared = needs_turn && self.shares_turn();
        if needs_turn && !is_shared {
            let has_run = self.txn.as_ref().is_some_and(|it| it.stage != Stage::Begun);
            if !self.weak.turn.acquire(self.number, &self.name, has_run, is_over) {
                return Ok(false);
            }
            if !has_run {
                // Others may have made tables since it began.
                self.catalogue = self.shared.catalogue();
            }
        }
        let mut batch = VecDeque::from(std::mem::take(&mut self.batch));
        let mut answered = Ok(());
        while let Some(message) = batch.pop_front().filter(|_| answered.is_ok()) {
            answered = self.handle(message, batch.front());
        }
        if let Some(txn) = self.txn.as_mut().filter(|it| needs_turn && it.stage == Stage::Begun) {
            txn.stage = Stage::Running;
        }
        for message in std::mem::take(&mut self.engine.aside) {
            self.client.push(&message);
        }
        // What is written down does not keep others from their turns, unless the order of the lines is to be the same again.
        if !self.weak.turn.is_by_arrival() {
            self.record_ended();
        }
        if is_shared {
            self.weak.turn.end_share();
        } else if !needs_turn {
            // Whoever has the turn still has it.
        } else if self.txn.is_some() {
            self.weak.turn.pause(self.number);
        } else {
            self.weak.turn.release(self.number);
        }
        self.record_ended();
        let flushed = self.client.flush();
        answered?;
        flushed?;
        Ok(true)
    }

    /// The connection is over; a transaction that is open is not committed any more.
    fn leave(&mut self) {
        let outcome = if self.is_committing { Outcome::Indeterminate } else { Outcome::Aborted };
        self.engine.peer.push(&Message::new(b'X', Vec::new()));
        self.engine.peer.flush().ok();
        // The engine has undone everything when it closes the connection.
        self.engine.peer.wait_at_most(Some(Duration::from_secs(5))).ok();
        while let Ok(Some(_)) = self.engine.peer.message() {}
        self.engine.peer.stream().shut();
        self.end(outcome);
        self.record_ended();
        self.weak.leave_name(&self.name);
        self.weak.turn.leave(self.number);
        self.client.stream().shut();
    }

    /// Answers one message, before another one.
    fn handle(&mut self, message: Message, next: Option<&Message>) -> io::Result<()> {
        if self.is_skipping && message.tag != b'S' {
            return Ok(());
        }
        match message.tag {
            b'Q' => self.query(&message),
            b'P' => self.parse(&message),
            b'B' => {
                self.bind(message);
                Ok(())
            }
            b'D' => self.describe(&message, next),
            b'E' => self.execute(&message),
            b'C' => self.close(&message),
            b'S' => self.sync(),
            b'F' => {
                self.client.push(&Message::error(
                    "ERROR",
                    "0A000",
                    "isoscope serves no function calls by the protocol",
                ));
                self.fail()?;
                self.say_ready();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn plans(&self, sql: &str) -> Vec<Arc<Plan>> {
        if self.txn.as_ref().is_some_and(|it| it.open.defines) {
            return plan_all(sql, &self.catalogue);
        }
        self.shared.plans(sql, &self.catalogue)
    }

    fn query(&mut self, message: &Message) -> io::Result<()> {
        self.portals.remove("");
        self.prepared.remove("");
        let Some(sql) = message.fields().text().map(str::to_owned) else {
            self.client.push(&Message::error("ERROR", "22021", "the statement is no UTF-8"));
            self.fail()?;
            self.say_ready();
            return Ok(());
        };
        self.look_up_catalogue();
        let plans = self.plans(&sql);
        if plans.is_empty() {
            self.client.push(&Message::new(b'I', Vec::new()));
        }
        for (nth, first) in plans.iter().enumerate() {
            // A statement before may have made tables.
            let plan = if self.txn.as_ref().is_some_and(|it| it.open.defines) {
                self.plans(&sql).get(nth).cloned().unwrap_or_else(|| Arc::clone(first))
            } else {
                Arc::clone(first)
            };
            let mut answered = self.statement(Some(&plan), &[], &How::Query)?;
            if nth + 1 == plans.len()
                && answered.is_ok()
                && let Err(error) = self.commit_implicit()?
            {
                answered = Err(error);
            }
            match answered {
                Ok(answer) => answer.iter().for_each(|it| self.client.push(it)),
                Err(error) => {
                    self.client.push(&error);
                    self.fail()?;
                    break;
                }
            }
        }
        self.say_ready();
        Ok(())
    }

    fn say_ready(&mut self) {
        let status = match &self.txn {
            Some(txn) if txn.is_explicit() => {
                if txn.has_failed() {
                    b'E'
                } else {
                    b'T'
                }
            }
            _ => b'I',
        };
        self.client.push(&Message::new(b'Z', vec![status]));
    }

    /// An error was said: what the statements of an implicit transaction did is taken back.
    fn fail(&mut self) -> io::Result<()> {
        match &mut self.txn {
            Some(txn) if txn.is_explicit() => txn.stage = Stage::Failed,
            Some(_) => self.roll_back_implicit()?,
            None => {}
        }
        Ok(())
    }

    /// An error of the extended protocol: the rest up to `Sync` is passed over.
    fn fail_until_sync(&mut self, error: &Message) -> io::Result<()> {
        self.client.push(error);
        self.is_skipping = true;
        self.fail()
    }

    fn sync(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_copied) {
            return Ok(());
        }
        if !self.is_skipping
            && let Err(error) = self.commit_implicit()?
        {
            self.client.push(&error);
            self.fail()?;
        }
        self.is_skipping = false;
        if self.engine.is_asked {
            self.engine.sync()?;
        }
        self.say_ready();
        Ok(())
    }

    /// Tables may have changed, but not during a transaction of others.
    fn look_up_catalogue(&mut self) {
        if self.txn.is_none() {
            self.catalogue = self.shared.catalogue();
        }
    }

    fn parse(&mut self, message: &Message) -> io::Result<()> {
        self.look_up_catalogue();
        let mut fields = message.fields();
        let (Some(name), Some(sql)) = (fields.text(), fields.text()) else {
            return self.fail_until_sync(&Message::error("ERROR", "22021", "the statement is no UTF-8"));
        };
        let types = type_numbers(fields);
        let plans = self.plans(sql);
        let plan = plans.first().cloned().filter(|_| plans.len() == 1);
        let text = plan.as_ref().map_or(sql, |it| statement::text_of(it));
        let body = parse_body(name, text, &types);
        let name = name.to_owned();
        self.prepared.insert(name.clone(), Prepared { plan, types, hidden: Vec::new() });
        self.exchange(&[Message::new(b'P', body)], b"1")?;
        if self.catalogue.has_hidden() && !self.is_skipping {
            self.find_hidden(&name)?;
        }
        Ok(())
    }

    /// Learns which columns of a statement's result the client must not see.
    fn find_hidden(&mut self, name: &str) -> io::Result<()> {
        self.engine.peer.push(&Message::new(b'D', [b"S", name.as_bytes(), b"\0"].concat()));
        self.engine.flush()?;
        loop {
            let message = self.engine.message()?;
            match message.tag {
                b'T' => {
                    if let Some(prepared) = self.prepared.get_mut(name) {
                        prepared.hidden = hidden::places(&message);
                    }
                    return Ok(());
                }
                b'n' => return Ok(()),
                // Whoever executes it hears why it does not work.
                b'E' => return self.engine.sync(),
                _ => {}
            }
        }
    }

    /// Asks the engine for something that is answered by messages of these kinds, and passes them on.
    fn exchange(&mut self, messages: &[Message], last: &[u8]) -> io::Result<()> {
        for message in messages {
            self.engine.peer.push(message);
        }
        self.engine.flush()?;
        loop {
            let message = self.engine.message()?;
            match message.tag {
                b'E' => {
                    self.engine.sync()?;
                    return self.fail_until_sync(&message);
                }
                // The client has heard of it before.
                b'2' => continue,
                _ => self.client.push(&message),
            }
            if last.contains(&message.tag) {
                return Ok(());
            }
        }
    }

    fn bind(&mut self, mut message: Message) {
        let mut fields = message.fields();
        let (portal, statement) = (fields.text().unwrap_or_default(), fields.text().unwrap_or_default());
        let portal = portal.to_owned();
        let prepared = self.prepared.get(statement);
        let parameters = prepared.and_then(|it| parameters(fields, &it.types)).unwrap_or_default();
        let plan = prepared.and_then(|it| it.plan.clone());
        let hidden = prepared.map(|it| it.hidden.clone()).unwrap_or_default();
        add_result_formats_at(&mut message.body, &hidden);
        if plan.as_ref().is_some_and(|it| is_tagged(it)) {
            add_result_format(&mut message.body);
        }
        let (describe, left) = (None, VecDeque::new());
        let made = Portal { plan, parameters, bind: message, is_bound: false, hidden, describe, left };
        self.portals.insert(portal, made);
        self.client.push(&Message::new(b'2', Vec::new()));
    }

    fn describe(&mut self, message: &Message, next: Option<&Message>) -> io::Result<()> {
        let mut fields = message.fields();
        let (kind, name) = (fields.byte(), fields.text().unwrap_or_default().to_owned());
        let is_executed = next.is_some_and(|it| it.tag == b'E' && it.fields().text() == Some(&name));
        if kind == Some(b'P')
            && is_executed
            && let Some(portal) = self.portals.get_mut(&name).filter(|it| !it.is_bound)
        {
            match portal.plan.as_ref().map(|it| &it.action) {
                // One question instead of two.
                Some(Action::Read(_) | Action::Change(..)) => {
                    portal.describe = Some(message.clone());
                    return Ok(());
                }
                Some(Action::Begin { .. } | Action::Commit | Action::Rollback) => {
                    self.client.push(&Message::new(b'n', Vec::new()));
                    return Ok(());
                }
                _ => {}
            }
        }
        let mut messages = vec![message.clone()];
        let plan = if kind == Some(b'S') {
            self.prepared.get(&name).and_then(|it| it.plan.clone())
        } else {
            let portal = self.portals.get_mut(&name);
            if let Some(portal) = portal.filter(|it| !it.is_bound) {
                portal.is_bound = true;
                messages.insert(0, portal.bind.clone());
            }
            self.portals.get(&name).and_then(|it| it.plan.clone())
        };
        for message in messages {
            self.engine.peer.push(&message);
        }
        self.engine.flush()?;
        loop {
            let mut message = self.engine.message()?;
            match message.tag {
                b'E' => {
                    self.engine.sync()?;
                    return self.fail_until_sync(&message);
                }
                b't' => {
                    if let Some(prepared) = self.prepared.get_mut(&name) {
                        prepared.types = type_numbers(message.fields());
                    }
                    self.client.push(&message);
                }
                b'T' | b'n' => {
                    if message.tag == b'T' && plan.is_some_and(|it| is_tagged(&it)) {
                        drop_last_description(&mut message.body);
                    }
                    let places = if message.tag == b'T' { hidden::places(&message) } else { Vec::new() };
                    hidden::drop_columns(&mut message, &places);
                    self.client.push(&message);
                    return Ok(());
                }
                b'2' => {}
                _ => self.client.push(&message),
            }
        }
    }

    fn execute(&mut self, message: &Message) -> io::Result<()> {
        let mut fields = message.fields();
        let name = fields.text().unwrap_or_default().to_owned();
        let most = fields.int().and_then(|it| usize::try_from(it).ok()).filter(|it| *it > 0).unwrap_or(usize::MAX);
        let Some(portal) = self.portals.get_mut(&name) else {
            // It was made by SQL: a cursor.
            let answered = self.statement(None, &[], &How::Portal { name, bind: None, hidden: Vec::new() })?;
            return self.say(answered);
        };
        if portal.left.is_empty() {
            let (plan, parameters) = (portal.plan.clone(), portal.parameters.clone());
            let tables = plan.iter().flat_map(|it| it.tables());
            if tables.into_iter().any(|it| self.catalogue.has_changed(it)) {
                let words = "a table of this statement was altered; prepare it again";
                return self.fail_until_sync(&Message::error("ERROR", "0A000", words));
            }
            // What a portal sees is settled when it is bound, so one that reads is bound after its view is in place.
            let is_again = portal.is_bound && !name.is_empty();
            let is_bound = portal.is_bound && plan.as_ref().is_some_and(|it| it.sources.is_empty());
            let mut bind = Vec::new();
            if !is_bound {
                bind.extend(is_again.then(|| close(b'P', &name)));
                bind.push(portal.bind.clone());
                bind.extend(portal.describe.take());
                portal.is_bound = true;
            }
            let how = How::Portal { name: name.clone(), bind: Some(bind), hidden: portal.hidden.clone() };
            let answer = match self.statement(plan.as_ref(), &parameters, &how)? {
                Ok(answer) => answer,
                Err(error) => return self.fail_until_sync(&error),
            };
            let Some(portal) = self.portals.get_mut(&name) else {
                // A commit has closed it.
                return self.say(Ok(answer));
            };
            portal.left = answer.into();
        }
        let Some(portal) = self.portals.get_mut(&name) else { return Ok(()) };
        let mut n_rows = 0;
        while let Some(message) = portal.left.pop_front() {
            if message.tag == b'D' {
                if n_rows == most {
                    portal.left.push_front(message);
                    self.client.push(&Message::new(b's', Vec::new()));
                    return Ok(());
                }
                n_rows += 1;
            }
            self.client.push(&message);
        }
        Ok(())
    }

    fn say(&mut self, answered: Answered) -> io::Result<()> {
        match answered {
            Ok(answer) => answer.iter().for_each(|it| self.client.push(it)),
            Err(error) => return self.fail_until_sync(&error),
        }
        Ok(())
    }

    fn close(&mut self, message: &Message) -> io::Result<()> {
        let mut fields = message.fields();
        let (kind, name) = (fields.byte(), fields.text().unwrap_or_default().to_owned());
        if kind == Some(b'S') {
            self.prepared.remove(&name);
        } else {
            self.portals.remove(&name);
        }
        self.exchange(std::slice::from_ref(message), b"3")
    }

    fn begin_if_idle(&mut self) {
        if self.txn.is_none() {
            self.look_up_catalogue();
            self.txn = Some(Txn::new(self.shared.ledger.now(), self.weak.level.short_name()));
        }
    }

    /// Does this statement end the transaction?
    fn ends(plan: Option<&Arc<Plan>>) -> bool {
        plan.is_some_and(|it| matches!(it.action, Action::Commit | Action::Rollback))
    }
}
