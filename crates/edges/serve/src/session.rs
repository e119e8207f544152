//! One connection of an application: messages go to the engine and answers come back, and what they say is noted.
//!
//! Requests are handled one after the other: whatever the client sends up to a query, a `Sync` or a `Flush` goes to the
//! engine at once, and then all that the engine has to answer goes to the client. So one thread is enough, and there is
//! never any doubt which statement an answer belongs to.

use crate::analyse::{Action, Plan, Scope, level_named};
use crate::catalogue::{self, Catalogue, TOLD};
use crate::handshake::{Connected, ask, hear_unasked, let_in};
use crate::prepared::{Owed, Portal, Prepared, is_tagged, parameters, parse_body, type_numbers};
use crate::row::parse;
use crate::shared::Shared;
use crate::transaction::{Block, Open, Running, Tale, seen_rows, tale};
use crate::wire::{Message, Peer, add_result_format, drop_last_description, drop_last_value, drop_place, is_timeout};
use iso_history::Outcome;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often an idle connection looks whether the engine has something to say, or the run is over.
const TICK: Duration = Duration::from_millis(50);
/// More bytes than that are not kept before they are sent.
const MUCH: usize = 256 << 10;

/// Serves one client until it leaves.
pub(crate) fn serve(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let Some(Connected { client, engine, number, watched, .. }) = let_in(stream, shared)? else { return Ok(()) };
    let mut session = Session::new(format!("s{number}"), client, engine, Arc::clone(shared))?;
    let result = session.run();
    session.leave();
    drop(watched);
    result
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts about one connection")]
struct Session {
    name: String,
    client: Peer,
    engine: Peer,
    shared: Arc<Shared>,
    /// The client is gone; what is under way is still heard to its end.
    is_client_gone: bool,
    /// It has asked for something and is not idle again.
    is_busy: bool,
    prepared: HashMap<String, Prepared>,
    portals: HashMap<String, Portal>,
    owed: VecDeque<Owed>,
    /// Statements of a query that have not ended, and the one that runs.
    queued: VecDeque<Arc<Plan>>,
    running: Running,
    txn: Option<Open>,
    /// When the client began to ask what it asks now.
    asked_at: i64,
    /// The engine passes over everything up to the next `Sync`.
    is_skipping: bool,
    /// The engine was asked for something that may end the transaction.
    is_committing: bool,
    default_level: &'static str,
    catalogue: Arc<Catalogue>,
}

impl Session {
    fn new(name: String, client: Peer, mut engine: Peer, shared: Arc<Shared>) -> io::Result<Self> {
        let shown = ask(&mut engine, "SHOW default_transaction_isolation")?;
        let default_level = level_named(&shown).unwrap_or("read-committed");
        client.wait_at_most(Some(TICK))?;
        let catalogue = shared.catalogue();
        Ok(Self {
            name,
            client,
            engine,
            shared,
            is_client_gone: false,
            is_busy: false,
            prepared: HashMap::new(),
            portals: HashMap::new(),
            owed: VecDeque::new(),
            queued: VecDeque::new(),
            running: Running::default(),
            txn: None,
            asked_at: 0,
            is_skipping: false,
            is_committing: false,
            default_level,
            catalogue,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        loop {
            let message = match self.client.message() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(error) if is_timeout(&error) => {
                    if self.shared.is_over.load(Ordering::Relaxed) {
                        self.tell(&Message::error("FATAL", "57P01", "isoscope ends the recording"));
                        return self.client.flush();
                    }
                    hear_unasked(&mut self.engine, &mut self.client)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if message.tag == b'X' {
                return Ok(());
            }
            self.handle(message)?;
            if self.is_client_gone {
                return Ok(());
            }
        }
    }

    /// The connection is over; a transaction that is open is not committed any more.
    fn leave(&mut self) {
        let outcome = if self.is_committing { Outcome::Indeterminate } else { Outcome::Aborted };
        self.note_running_writes();
        if let Some(txn) = self.txn.take() {
            self.shared.ledger.record(&self.name, &txn, outcome);
        }
        self.engine.push(&Message::new(b'X', Vec::new()));
        self.engine.flush().ok();
        self.engine.stream().shut();
        self.client.stream().shut();
        self.rest();
    }

    /// It is idle again.
    fn rest(&mut self) {
        if std::mem::take(&mut self.is_busy) {
            self.shared.gate.exit();
        }
    }

    fn note_running_writes(&mut self) {
        let done = std::mem::take(&mut self.running).failed();
        if let Some(txn) = self.txn.as_mut().filter(|_| !done.operations.is_empty()) {
            txn.statements.push(done);
        }
    }

    fn tell(&mut self, message: &Message) {
        if !self.is_client_gone {
            self.client.push(message);
            if self.client.n_waiting() > MUCH {
                self.is_client_gone = self.client.flush().is_err();
            }
        }
    }

    fn handle(&mut self, mut message: Message) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_busy, true) {
            self.shared.gate.enter();
        }
        if self.txn.is_none() {
            self.asked_at = self.shared.ledger.now();
        }
        match message.tag {
            b'Q' => return self.query(&message),
            b'P' => self.parse(&mut message),
            b'B' => self.bind(&mut message),
            b'D' => {
                let mut fields = message.fields();
                let (kind, name) = (fields.byte(), fields.text().unwrap_or_default().to_owned());
                let (statement, plan) = if kind == Some(b'S') {
                    (Some(name.clone()), self.prepared.get(&name).and_then(|it| it.plan.clone()))
                } else {
                    (None, self.portals.get(&name).and_then(|it| it.plan.clone()))
                };
                self.owed.push_back(Owed::Describe { statement, plan });
            }
            b'E' => {
                let name = message.fields().text().unwrap_or_default().to_owned();
                self.begin_if_idle();
                let portal = self.portals.get_mut(&name);
                let (plan, running) = portal.map(|it| (it.plan.clone(), it.run())).unwrap_or_default();
                self.is_committing |= plan.as_ref().is_some_and(|it| matches!(it.action, Action::Commit));
                self.owed.push_back(Owed::Execute { name, plan, running: Box::new(running) });
            }
            b'C' => {
                let mut fields = message.fields();
                let (kind, name) = (fields.byte(), fields.text().unwrap_or_default().to_owned());
                if kind == Some(b'S') {
                    self.prepared.remove(&name);
                } else {
                    self.portals.remove(&name);
                }
                self.owed.push_back(Owed::Close);
            }
            b'S' => {
                self.owed.push_back(Owed::Sync);
                self.is_committing |= self.txn.as_ref().is_some_and(|it| it.block == Block::Implicit);
                self.engine.push(&message);
                self.engine.flush()?;
                return self.hear(Until::Ready);
            }
            b'H' => {
                self.engine.push(&message);
                self.engine.flush()?;
                return if self.is_skipping { Ok(()) } else { self.hear(Until::Answered) };
            }
            b'F' => {
                self.begin_if_idle();
                self.shared.ledger.statement(Some(("a function was called by the protocol", "function call")));
                self.is_committing |= self.txn.as_ref().is_some_and(|it| it.block == Block::Implicit);
                self.engine.push(&message);
                self.engine.flush()?;
                return self.hear(Until::Ready);
            }
            _ => {}
        }
        self.engine.push(&message);
        if self.engine.n_waiting() > MUCH {
            self.engine.flush()?;
        }
        Ok(())
    }

    /// Whatever comes now belongs to a transaction. One that begins in the middle of a request began no earlier than the
    /// request, and nobody knows how much later.
    fn begin_if_idle(&mut self) {
        if self.txn.is_none() {
            self.catalogue = self.shared.catalogue();
            self.txn = Some(Open::new(self.asked_at, self.default_level));
        }
    }

    fn query(&mut self, message: &Message) -> io::Result<()> {
        self.begin_if_idle();
        let sql = message.fields().text().map(str::to_owned);
        let plans = sql.map(|it| self.shared.plans(&it, &self.catalogue));
        if let Some(plans) = plans {
            let sql: Vec<&str> = plans.iter().map(|it| it.sql.as_str()).collect();
            self.engine.push(&Message::text(b'Q', &sql.join(";\n")));
            self.queued = plans.iter().cloned().collect();
        } else {
            self.engine.push(message);
            self.queued.clear();
        }
        let ends = |it: &Arc<Plan>| matches!(it.action, Action::Commit);
        let is_implicit = self.txn.as_ref().is_some_and(|it| it.block == Block::Implicit);
        self.is_committing = is_implicit || self.queued.iter().any(ends);
        self.engine.flush()?;
        self.hear(Until::Ready)
    }

    fn parse(&mut self, message: &mut Message) {
        self.begin_if_idle();
        let mut fields = message.fields();
        let (Some(name), Some(sql)) = (fields.text(), fields.text()) else {
            return self.owed.push_back(Owed::Parse);
        };
        let plans = self.shared.plans(sql, &self.catalogue);
        let types = type_numbers(fields);
        let plan = plans.first().cloned().filter(|_| plans.len() == 1);
        if let Some(plan) = &plan {
            let name = name.to_owned();
            message.body = parse_body(&name, &plan.sql, &types);
            self.prepared.insert(name, Prepared { plan: Some(Arc::clone(plan)), types, hidden: Vec::new() });
        } else {
            self.prepared.insert(name.to_owned(), Prepared { plan: None, types, hidden: Vec::new() });
        }
        self.owed.push_back(Owed::Parse);
    }

    fn bind(&mut self, message: &mut Message) {
        self.begin_if_idle();
        self.owed.push_back(Owed::Bind);
        let mut fields = message.fields();
        let (Some(portal), Some(statement)) = (fields.text(), fields.text()) else { return };
        let Some(prepared) = self.prepared.get(statement) else { return };
        let parameters = parameters(fields, &prepared.types).unwrap_or_default();
        let running = Running { parameters, ..Running::default() };
        let is_tagged = prepared.plan.as_ref().is_some_and(|it| is_tagged(it));
        self.portals.insert(portal.to_owned(), Portal { plan: prepared.plan.clone(), running });
        if is_tagged {
            add_result_format(&mut message.body);
        }
    }

    /// Passes on answers until the engine waits for the client.
    fn hear(&mut self, until: Until) -> io::Result<()> {
        loop {
            if until == Until::Answered && self.owed.is_empty() {
                break;
            }
            let Some(message) = self.engine.message()? else {
                self.client.flush().ok();
                return Err(io::ErrorKind::ConnectionAborted.into());
            };
            match self.take(message)? {
                Next::More => {}
                Next::Client => break,
            }
        }
        if !self.is_client_gone {
            self.is_client_gone = self.client.flush().is_err();
        }
        Ok(())
    }

    /// One message of the engine.
    fn take(&mut self, mut message: Message) -> io::Result<Next> {
        match message.tag {
            b'N' if message.field(b'C') == Some(TOLD) => {
                self.listen(&message);
                return Ok(Next::More);
            }
            b't' => self.learn_types(&message),
            b'T' => {
                let plan = match self.owed.front() {
                    Some(Owed::Describe { plan, .. }) => plan.clone(),
                    _ => self.queued.front().cloned(),
                };
                if plan.is_some_and(|it| is_tagged(&it)) {
                    drop_last_description(&mut message.body);
                }
                self.pay(|it| matches!(it, Owed::Describe { .. }));
            }
            b'n' => self.pay(|it| matches!(it, Owed::Describe { .. })),
            b'1' => self.pay(|it| matches!(it, Owed::Parse)),
            b'2' => self.pay(|it| matches!(it, Owed::Bind)),
            b'3' => self.pay(|it| matches!(it, Owed::Close)),
            b'D' => self.row(&mut message),
            b'C' | b'I' => self.complete(&message),
            b's' => self.suspend(),
            // A connection that ends does not say how a commit went.
            b'E' if !matches!(message.field(b'V'), Some("FATAL" | "PANIC")) => {
                if self.current().0.is_some_and(|it| matches!(it.action, Action::Read(_))) {
                    drop_place(&mut message.body);
                }
                self.fail();
            }
            b'G' => {
                self.tell(&message);
                return self.copy_in();
            }
            b'Z' => {
                self.ready(message.body.first().copied().unwrap_or(b'I'));
                self.tell(&message);
                return Ok(Next::Client);
            }
            _ => {}
        }
        self.tell(&message);
        Ok(Next::More)
    }

    fn pay(&mut self, is_it: impl Fn(&Owed) -> bool) {
        if self.owed.front().is_some_and(is_it) {
            self.owed.pop_front();
        }
    }

    /// A portal has more rows than were asked for now.
    fn suspend(&mut self) {
        if let Some(Owed::Execute { name, running, .. }) = self.owed.pop_front()
            && let Some(portal) = self.portals.get_mut(&name)
        {
            portal.running = *running;
        }
    }

    fn learn_types(&mut self, message: &Message) {
        if let Some(Owed::Describe { statement: Some(name), .. }) = self.owed.front()
            && let Some(prepared) = self.prepared.get_mut(name)
        {
            prepared.types = type_numbers(message.fields());
        }
    }

    /// The statement to which the engine's words belong, and what is known of its run.
    fn current(&mut self) -> (Option<Arc<Plan>>, &mut Running) {
        if let Some(Owed::Execute { plan, running, .. }) = self.owed.front_mut() {
            return (plan.clone(), running);
        }
        (self.queued.front().cloned(), &mut self.running)
    }

    /// A trigger or a subquery tells something.
    fn listen(&mut self, message: &Message) {
        let text = message.field(b'M').unwrap_or_default().to_owned();
        let mut told = tale(&text, &self.catalogue);
        if told.is_none() {
            // A table may have been made a moment ago.
            self.catalogue = self.shared.catalogue();
            told = tale(&text, &self.catalogue);
        }
        let running = self.current().1;
        match told {
            Some(Tale::Wrote(written)) => running.written.push(*written),
            Some(Tale::Read(rows)) => running.rows.extend(rows),
            None => running.is_garbled = true,
        }
    }

    fn row(&mut self, message: &mut Message) {
        let catalogue = Arc::clone(&self.catalogue);
        let (plan, running) = self.current();
        running.n_rows += 1;
        if !plan.is_some_and(|it| is_tagged(&it)) {
            return;
        }
        let tag = drop_last_value(&mut message.body).and_then(|it| String::from_utf8(it).ok());
        if running.rows.len() > catalogue::LARGEST_SCAN {
            return;
        }
        match tag.and_then(|it| seen_rows(parse(&it)?, &catalogue)) {
            Some(rows) => running.rows.extend(rows),
            None => running.is_garbled = true,
        }
    }

    /// A statement has ended well.
    fn complete(&mut self, message: &Message) {
        let (plan, running) = self.current();
        let running = std::mem::take(running);
        let tag = message.fields().text().unwrap_or_default().to_owned();
        if matches!(self.owed.front(), Some(Owed::Execute { .. })) {
            self.owed.pop_front();
        } else {
            self.queued.pop_front();
        }
        let Some(plan) = plan else {
            self.begin_if_idle();
            return self.end_by_tag(&tag, running);
        };
        self.begin_if_idle();
        let (done, missing) = running.done(&plan);
        let is_statement = !matches!(
            plan.action,
            Action::Begin { .. } | Action::Commit | Action::Rollback | Action::Start | Action::SetLevel { .. }
        );
        if is_statement {
            self.shared.ledger.statement(missing.map(|why| (why, plan.text.as_str())));
        }
        let Some(txn) = self.txn.as_mut() else { return };
        if !done.operations.is_empty() {
            txn.statements.push(done);
        }
        match &plan.action {
            Action::Begin { level } => {
                txn.block = Block::Explicit;
                txn.level = level.unwrap_or(txn.level);
            }
            Action::Commit | Action::Rollback => {
                self.end(if tag == "COMMIT" { Outcome::Committed } else { Outcome::Aborted });
            }
            Action::Savepoint(name) => txn.save(name.clone()),
            Action::RollbackTo(name) => {
                txn.roll_back_to(name);
                txn.has_failed = false;
            }
            Action::Release(name) => txn.release(name),
            Action::SetLevel { level, scope: Scope::Transaction } => txn.level = level,
            Action::SetLevel { level, scope: Scope::Session } => self.default_level = level,
            Action::Start => self.shared.start(),
            Action::Define => txn.defines = true,
            Action::Opaque => txn.is_opaque |= txn.block == Block::Implicit,
            Action::Read(_) | Action::Change(..) | Action::Declare(_) | Action::Fetch(_) | Action::Other => {}
        }
    }

    /// A statement of which only the engine's last word is known.
    fn end_by_tag(&mut self, tag: &str, running: Running) {
        let done = running.failed();
        if let Some(txn) = self.txn.as_mut() {
            if !done.operations.is_empty() {
                txn.statements.push(done);
            }
            if tag == "BEGIN" {
                txn.block = Block::Explicit;
            }
        }
        match tag {
            "COMMIT" => self.end(Outcome::Committed),
            "PREPARE TRANSACTION" => self.end(Outcome::Indeterminate),
            _ => {}
        }
    }

    /// The request has failed; the engine forgets what comes until the next `Sync`.
    fn fail(&mut self) {
        let (_, running) = self.current();
        let done = std::mem::take(running).failed();
        if let Some(txn) = self.txn.as_mut() {
            txn.has_failed = true;
            if !done.operations.is_empty() {
                txn.statements.push(done);
            }
        }
        self.queued.clear();
        while self.owed.front().is_some_and(|it| !matches!(it, Owed::Sync)) {
            self.owed.pop_front();
        }
        self.is_skipping = true;
        // Whoever asked for a commit and got an error knows.
        self.is_committing = false;
    }

    /// The engine is ready for the next request.
    fn ready(&mut self, status: u8) {
        self.owed.clear();
        self.queued.clear();
        self.is_skipping = false;
        self.is_committing = false;
        if status == b'I' {
            self.note_running_writes();
            if let Some(txn) = &self.txn {
                let outcome = if txn.has_failed { Outcome::Aborted } else { Outcome::Committed };
                self.end(outcome);
            }
            self.rest();
        } else if let Some(txn) = self.txn.as_mut() {
            txn.block = Block::Explicit;
        }
    }

    fn end(&mut self, outcome: Outcome) {
        let Some(txn) = self.txn.take() else { return };
        let outcome = if txn.is_opaque && outcome == Outcome::Committed { Outcome::Indeterminate } else { outcome };
        self.shared.ledger.record(&self.name, &txn, outcome);
        self.is_committing = false;
        self.portals.clear();
        if txn.defines && outcome == Outcome::Committed {
            self.shared.refresh();
        }
    }

    /// The client sends rows until it says that they are all.
    fn copy_in(&mut self) -> io::Result<Next> {
        self.client.flush()?;
        self.client.wait_at_most(None)?;
        loop {
            let Some(message) = self.client.message()? else {
                self.is_client_gone = true;
                return Err(io::ErrorKind::ConnectionAborted.into());
            };
            self.engine.push(&message);
            if matches!(message.tag, b'c' | b'f') {
                break;
            }
            if self.engine.n_waiting() > MUCH {
                self.engine.flush()?;
            }
        }
        self.engine.flush()?;
        self.client.wait_at_most(Some(TICK))?;
        if matches!(self.owed.front(), Some(Owed::Execute { .. })) {
            // The engine has passed over the client's `Sync`; another one follows.
            self.owed.retain(|it| !matches!(it, Owed::Sync));
            return Ok(Next::Client);
        }
        Ok(Next::More)
    }
}

/// How far answers are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Ready,
    Answered,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    More,
    Client,
}
