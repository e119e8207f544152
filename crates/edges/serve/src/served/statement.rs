//! One statement of a served application, and its transaction: what the store chooses is put in place, the engine
//! executes, and the store hears what was done.

use super::{Answered, Served};
use crate::analyse::{Action, Code, Plan, Scope, Sets};
use crate::catalogue::{self, Purpose, SCHEMA};
use crate::condition::Parameter;
use crate::engine::array;
use crate::transaction::{Block, Done, Missing, Open, Operation, Running, Seen, free, only_row, predicate_of};
use crate::view::{Own, Refused, Rows, View, store_key};
use crate::weak::{Opaque, Updates, rows_sql, spelled_rows};
use crate::wire::Message;
use iso_history::{Datum, Locking, SessionId};
use iso_spec::Level;
use iso_store::Savepoint;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Every transaction of the engine: it shows the newest state, and may write, as views are put in place by writes.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// What a database says when a second try may succeed.
const CONFLICT: &str = "40001";

/// A transaction that has begun.
pub(super) struct Txn {
    pub(super) open: Open,
    /// The engine was told that it begins. It hears of it together with the first statement that it executes.
    pub(super) has_block: bool,
    pub(super) stage: Stage,
    /// In the store, from the first statement on that concerns rows.
    pub(super) session: Option<SessionId>,
    pub(super) own: Own,
    savepoints: Vec<Saved>,
    /// It belongs to the setup, and has written.
    pub(super) is_setup: bool,
}

impl Txn {
    pub(super) fn new(begin: i64, level: &'static str) -> Self {
        Self {
            open: Open::new(begin, level),
            has_block: false,
            stage: Stage::Begun,
            session: None,
            own: Own::new(),
            savepoints: Vec::new(),
            is_setup: false,
        }
    }

    pub(super) fn is_explicit(&self) -> bool {
        self.open.block == Block::Explicit
    }

    pub(super) fn has_failed(&self) -> bool {
        self.stage == Stage::Failed
    }
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for its first turn.
    Begun,
    Running,
    /// An error was said, and nothing is done any more until it ends.
    Failed,
}

/// A savepoint of the application.
struct Saved {
    name: String,
    /// None before the transaction concerns rows.
    place: Option<Savepoint>,
    own: Own,
}

/// How a client asked for a statement.
pub(super) enum How {
    Query,
    /// By a portal, which some messages make known to the engine.
    Portal {
        name: String,
        bind: Option<Vec<Message>>,
        /// Columns of the result that the client must not see.
        hidden: Vec<usize>,
    },
}

/// What the engine is told instead of a statement: transactions have the same isolation there, whatever they ask for.
pub(super) fn text_of(plan: &Plan) -> &str {
    match plan.action {
        Action::Begin { .. } => BEGIN,
        Action::SetLevel { scope: Scope::Transaction, .. } => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        Action::SetLevel { scope: Scope::Session, .. } => {
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"
        }
        _ => &plan.sql,
    }
}

/// Statements that are about the session, or that do not run inside of a transaction.
fn is_outside(plan: &Plan) -> bool {
    let mut words = plan.sql.split_whitespace().map(str::to_ascii_uppercase);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match first.as_str() {
        "VACUUM" | "SET" | "SHOW" | "RESET" | "DISCARD" | "LISTEN" | "UNLISTEN" | "DEALLOCATE" | "CHECKPOINT"
        | "CLUSTER" | "REINDEX" | "ANALYZE" => true,
        "CREATE" | "DROP" => {
            matches!(second.as_str(), "DATABASE" | "TABLESPACE" | "SUBSCRIPTION")
                || words.any(|it| it == "CONCURRENTLY")
        }
        "ALTER" => second == "SYSTEM",
        // A query without tables.
        "SELECT" => matches!(plan.action, Action::Other) && plan.missing.is_none(),
        _ => false,
    }
}

impl Served<'_> {
    /// Executes one statement; the answer is not said yet.
    pub(super) fn statement(
        &mut self,
        plan: Option<&Arc<Plan>>,
        parameters: &[Parameter],
        how: &How,
    ) -> io::Result<Answered> {
        self.begin_if_idle();
        let Some(plan) = plan.map(Arc::clone) else {
            let nothing = Plan {
                sql: String::new(),
                text: "a statement that was prepared by SQL".to_owned(),
                action: Action::Other,
                missing: Some("the statement was prepared by SQL"),
                sources: Vec::new(),
                code: Code::None,
            };
            return self.change(&nothing, parameters, how);
        };
        if Self::ends(Some(&plan)) {
            return self.end_explicit(&plan, how);
        }
        if self.txn.as_ref().is_some_and(Txn::has_failed) && !matches!(plan.action, Action::RollbackTo(_)) {
            let words = "current transaction is aborted, commands ignored until end of transaction block";
            return Ok(Err(Message::error("ERROR", "25P02", words)));
        }
        if plan.code == Code::Called && self.weak.is_on() && self.weak.opaque == Opaque::Refused {
            let words = "this executes code of the database, and what it reads is not seen; isoscope serves it from the \
                         newest state with --allow-opaque, and the history is then known in part";
            return self.refuse(Refused::Unsupported(words.to_owned())).map(Err);
        }
        match &plan.action {
            Action::Begin { .. } if self.txn.as_ref().is_some_and(|it| !it.has_block && !it.is_explicit()) => {
                if let Some(txn) = self.txn.as_mut() {
                    txn.open.block = Block::Explicit;
                }
                let is_start = plan.sql.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("start"));
                Ok(Ok(vec![Message::text(b'C', if is_start { "START TRANSACTION" } else { "BEGIN" })]))
            }
            Action::Begin { .. } => {
                let answered = self.engine_answer(&plan, parameters, how)?.0;
                if let Some(txn) = self.txn.as_mut().filter(|_| answered.is_ok()) {
                    txn.has_block = true;
                    txn.open.block = Block::Explicit;
                }
                Ok(answered)
            }
            Action::SetLevel { .. } => self.engine_answer(&plan, parameters, how).map(|it| it.0),
            Action::Start => self.start(&plan, how),
            Action::Savepoint(name) => self.save(&plan, name, how),
            Action::Release(name) => {
                let answered = self.engine_answer(&plan, parameters, how)?.0;
                if let Some(txn) = self.txn.as_mut().filter(|_| answered.is_ok()) {
                    txn.open.release(name);
                    let nth = txn.savepoints.iter().rposition(|it| it.name == *name);
                    txn.savepoints.truncate(nth.unwrap_or(txn.savepoints.len()));
                }
                Ok(answered)
            }
            Action::RollbackTo(name) => self.roll_back_to(&plan, name, how),
            Action::Declare(cursor) if self.weak.is_on() => self.declare(&plan, cursor, parameters, how),
            Action::Fetch(name) if self.cursors.contains(name) => {
                self.engine_answer(&plan, parameters, how).map(|it| it.0)
            }
            _ if plan.sources.is_empty() || !self.weak.is_on() => self.change(&plan, parameters, how),
            Action::Change(..) if self.weak.updates == Updates::Weak => self.change_weakly(&plan, parameters, how),
            Action::Read(reading) if reading.locking == Locking::Free || self.weak.updates == Updates::Weak => {
                self.read(&plan, parameters, how)
            }
            Action::Other => self.read(&plan, parameters, how),
            _ => self.change(&plan, parameters, how),
        }
    }

    /// The marker: from now on, what happens is recorded.
    fn start(&mut self, plan: &Plan, how: &How) -> io::Result<Answered> {
        let answered = self.engine_answer(plan, &[], how)?.0;
        if answered.is_err() || self.weak.is_on() {
            return Ok(answered);
        }
        if self.weak.n_setups() > 0 {
            let words = "the run cannot start while a transaction is open that has written";
            return Ok(Err(Message::error("ERROR", "55000", words)));
        }
        Ok(match self.shared.start_weak(self.weak) {
            Ok(()) => answered,
            Err(failure) => Err(Message::error("ERROR", "XX000", &format!("the run cannot start: {failure}"))),
        })
    }

    /// Asks the engine something of our own, inside of the transaction.
    pub(super) fn ask(&mut self, sql: &str, parameters: &[&str]) -> io::Result<Result<(), Message>> {
        self.begin_if_explicit();
        Ok(self.engine.ask(sql, parameters)?.map(|_| ()))
    }

    /// The engine is in a transaction when it hears what comes next.
    pub(super) fn ensure_block(&mut self) {
        if let Some(txn) = self.txn.as_mut().filter(|it| !it.has_block) {
            self.engine.say_ahead(BEGIN);
            txn.has_block = true;
        }
    }

    /// The same, if the application has begun the transaction by name.
    pub(super) fn begin_if_explicit(&mut self) {
        if self.txn.as_ref().is_some_and(Txn::is_explicit) {
            self.ensure_block();
        }
    }

    /// The transaction in the store, which begins now if it has not.
    fn in_store(&mut self) -> Result<SessionId, Refused> {
        let Some(txn) = self.txn.as_mut() else { return Err(Refused::Broken("no transaction is open".to_owned())) };
        if let Some(session) = txn.session {
            return Ok(session);
        }
        let mut state = self.weak.state();
        let Some(state) = state.as_mut() else { return Err(Refused::Broken("the run has not begun".to_owned())) };
        let session = state.begin(&self.name)?;
        txn.session = Some(session);
        Ok(session)
    }

    /// Makes the engine's transaction fail as the store wants it, and gives the error.
    pub(super) fn refuse(&mut self, refused: Refused) -> io::Result<Message> {
        let (code, words) = match refused {
            Refused::Conflict(words) => (CONFLICT, format!("could not serialize access: {words}")),
            Refused::Unsupported(words) => ("0A000", words),
            Refused::Broken(words) => {
                self.shared.complain(words.clone());
                ("XX000", format!("isoscope: {words}"))
            }
        };
        let refused = self.ask(&format!("SELECT {SCHEMA}.refuse($1, $2)"), &[code, &words])?;
        // The engine may have said no already.
        let own = refused.err().filter(|it| it.field(b'C') == Some(code));
        Ok(own.unwrap_or_else(|| Message::error("ERROR", code, &words)))
    }

    /// A statement that only reads: its view is put in place, and taken away afterwards.
    pub(super) fn read(&mut self, plan: &Arc<Plan>, parameters: &[Parameter], how: &How) -> io::Result<Answered> {
        let view = match self.choose(plan, parameters) {
            Ok(view) => view,
            Err(refused) => return self.refuse(refused).map(Err),
        };
        // The newest state is there without any transaction of the engine.
        if !view.placed.is_empty() {
            self.ensure_block();
            if let Err(error) = self.place(&view)? {
                return self.refuse(unplaceable(&error)).map(Err);
            }
        }
        let (answered, mut running) = self.engine_answer(plan, parameters, how)?;
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if !view.placed.is_empty()
            && let Err(error) = self.take_view_away()?
        {
            return Ok(Err(error));
        }
        if let Some(seen) = running.rows.iter().find(|it| view.rows.get(&it.key) != Some(&it.value)) {
            self.shared.complain(format!("{} was shown with another value than the store had chosen", seen.key));
        }
        if self.weak.level == Level::ReadCommitted {
            // The order of reads matters there, and it is that of the store.
            running.rows.sort_by(|a, b| a.key.split_once('/').cmp(&b.key.split_once('/')));
        }
        let (done, missing) = running.done(plan);
        let mut done = if self.weak.level == Level::ReadCommitted { by_row(done, view) } else { done };
        if self.weak.updates == Updates::Weak {
            // Papers know no locks.
            done.locking = Locking::Free;
        }
        self.note(plan, done, missing);
        Ok(Ok(answer))
    }

    pub(super) fn take_view_away(&mut self) -> io::Result<Result<(), Message>> {
        for sql in ["ROLLBACK TO SAVEPOINT isoscope_view", "RELEASE SAVEPOINT isoscope_view"] {
            if let Err(error) = self.ask(sql, &[])? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    pub(super) fn choose(&mut self, plan: &Plan, parameters: &[Parameter]) -> Result<View, Refused> {
        let session = self.in_store()?;
        let mut state = self.weak.state();
        match (state.as_mut(), &self.txn) {
            (Some(state), Some(txn)) => state.choose(session, &plan.sources, parameters, &txn.own),
            _ => Err(Refused::Broken("the run has not begun".to_owned())),
        }
    }

    pub(super) fn place(&mut self, view: &View) -> io::Result<Result<(), Message>> {
        if let Err(error) = self.ask("SAVEPOINT isoscope_view", &[])? {
            return Ok(Err(error));
        }
        for placed in &view.placed {
            let sql = format!("SELECT {SCHEMA}.place_{}($1, $2)", placed.table);
            if let Err(error) = self.ask(&sql, &[&array(&placed.gone), &array(&placed.rows)])? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Notes what a statement did.
    pub(super) fn note(&mut self, plan: &Plan, done: Done, missing: Missing) {
        self.shared.ledger.statement(missing.map(|why| (why, plan.text.as_str())));
        if plan.code == Code::Called {
            self.shared.ledger.opaque();
        }
        if let Some(txn) = self.txn.as_mut().filter(|_| !done.operations.is_empty()) {
            txn.open.statements.push(done);
        }
    }

    /// Any other statement: it acts on the newest state, and the store hears what it did.
    pub(super) fn change(&mut self, plan: &Plan, parameters: &[Parameter], how: &How) -> io::Result<Answered> {
        if !is_outside(plan) {
            self.ensure_block();
        }
        let (answered, running) = self.engine_answer(plan, parameters, how)?;
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(late(error))),
        };
        if !self.weak.is_on() {
            self.note_setup(plan, &running);
            return Ok(Ok(answer));
        }
        // A database reads the row; in papers, nobody does.
        let is_blind = !self.weak.level.is_of_databases() && is_blind(plan, parameters);
        let spelled: HashMap<String, String> =
            running.written.iter().filter_map(|it| Some((it.new.as_ref()?.0.clone(), it.spelled.clone()?))).collect();
        let (mut done, missing) = running.done(plan);
        if is_blind {
            blind(&mut done);
        }
        if !done.operations.is_empty()
            && let Err(refused) = self.apply(&done, &spelled)
        {
            return self.refuse(refused).map(Err);
        }
        if matches!(plan.action, Action::Read(_) | Action::Change(..)) || plan.missing.is_some() || !is_outside(plan) {
            self.note(plan, done, missing);
        }
        if matches!(plan.action, Action::Define)
            && let Err(refused) = self.define(plan)
        {
            return self.refuse(refused).map(Err);
        }
        Ok(Ok(answer))
    }

    fn note_setup(&mut self, plan: &Plan, running: &Running) {
        let Some(txn) = self.txn.as_mut() else { return };
        txn.open.defines |= matches!(plan.action, Action::Define);
        if !txn.is_setup && (!running.written.is_empty() || txn.open.defines) && txn.has_block {
            txn.is_setup = true;
            self.weak.count_setup(true);
        }
    }

    pub(super) fn apply(&mut self, done: &Done, spelled: &HashMap<String, String>) -> Result<(), Refused> {
        let session = self.in_store()?;
        let mut state = self.weak.state();
        match (state.as_mut(), self.txn.as_mut()) {
            (Some(state), Some(txn)) => state.apply(session, done, spelled, &mut txn.own),
            _ => Err(Refused::Broken("the run has not begun".to_owned())),
        }
    }

    /// Tables were made or changed: they get triggers at once, and rows that they have already are written now.
    fn define(&mut self, plan: &Plan) -> Result<(), Refused> {
        let broken = |it: &dyn std::fmt::Display| Refused::Broken(format!("tables cannot be followed: {it}"));
        let attached = catalogue::attach(&mut self.engine, Purpose::Serve, &self.shared.word);
        let mut catalogue = attached.map_err(|it| broken(&it))?;
        self.weak.name_tables(&mut catalogue);
        if let Some(txn) = self.txn.as_mut() {
            txn.open.defines = true;
        }
        let new: Vec<(catalogue::Table, Rows)> = {
            let state = self.weak.state();
            let Some(state) = state.as_ref() else { return Ok(()) };
            let is_new = |it: &&catalogue::Table| it.has_key() && !state.has_table(&it.shown);
            let own = self.txn.as_ref().map(|it| &it.own);
            let before = |it: &catalogue::Table| {
                let old = self.catalogue.by_oid(it.oid);
                old.map_or(Rows::Written, |it| state.rows_of(&it.shown, own))
            };
            catalogue.tables().iter().filter(is_new).map(|it| (it.clone(), before(it))).collect()
        };
        if let Some((table, _)) = new.iter().find(|it| it.1 == Rows::Versions) {
            return Err(Refused::Unsupported(format!(
                "{} has rows in several versions, and old ones cannot have another shape; alter tables before the run, in \
                 --schema or with --after-setup",
                table.name
            )));
        }
        self.catalogue = Arc::new(catalogue);
        for (table, before) in new {
            use crate::catalogue::Asks;
            let rows = self.engine.rows(&rows_sql(&table)).map_err(|it| broken(&it))?;
            let (mut operations, mut spelled) = (Vec::new(), HashMap::new());
            for row in spelled_rows(&table, rows) {
                let key = format!("{}/{}", table.shown, row.name);
                if before == Rows::Initial {
                    // Nobody has seen them otherwise, so they were always like this.
                    if let Some(state) = self.weak.state().as_mut() {
                        state.load(&store_key(&key), row.value.clone(), row.spelled)?;
                    }
                    self.shared.ledger.add_initial(key, row.value);
                    continue;
                }
                spelled.insert(key.clone(), row.spelled);
                operations.push(Operation::Write { key, value: row.value });
            }
            if let Some(state) = self.weak.state().as_mut() {
                state.add_table(&table.shown);
            }
            if !operations.is_empty() {
                let done = Done { sql: Some(plan.text.clone()), ..free(operations) };
                self.apply(&done, &spelled)?;
                if let Some(txn) = self.txn.as_mut() {
                    txn.open.statements.push(done);
                }
            }
        }
        Ok(())
    }

    fn save(&mut self, plan: &Plan, name: &str, how: &How) -> io::Result<Answered> {
        let answered = self.engine_answer(plan, &[], how)?.0;
        if answered.is_err() {
            return Ok(answered);
        }
        let mut place = None;
        if let (Some(session), Some(state)) = (self.txn.as_ref().and_then(|it| it.session), self.weak.state().as_mut())
        {
            place = state.savepoint(session);
        }
        if let Some(txn) = self.txn.as_mut() {
            txn.open.save(name.to_owned());
            txn.savepoints.push(Saved { name: name.to_owned(), place, own: txn.own.clone() });
        }
        Ok(answered)
    }

    fn roll_back_to(&mut self, plan: &Plan, name: &str, how: &How) -> io::Result<Answered> {
        let answered = self.engine_answer(plan, &[], how)?.0;
        let Some(txn) = self.txn.as_mut().filter(|_| answered.is_ok()) else { return Ok(answered) };
        txn.stage = Stage::Running;
        txn.open.roll_back_to(name);
        let Some(nth) = txn.savepoints.iter().rposition(|it| it.name == name) else { return Ok(answered) };
        txn.savepoints.truncate(nth + 1);
        let saved = &mut txn.savepoints[nth];
        txn.own.clone_from(&saved.own);
        let Some(session) = txn.session else { return Ok(answered) };
        let mut state = self.weak.state();
        let undone = match (state.as_mut(), saved.place) {
            (Some(state), Some(place)) => state.roll_back_to(session, place),
            (Some(state), None) => {
                // Nothing concerned rows before the savepoint.
                state.abort(session);
                txn.session = None;
                Ok(())
            }
            (None, _) => Ok(()),
        };
        drop(state);
        match undone {
            Ok(()) => Ok(answered),
            Err(refused) => self.refuse(refused).map(Err),
        }
    }
}

/// Why a view cannot be put in place: somebody else has locked a row, or a constraint forbids these versions together.
pub(super) fn unplaceable(error: &Message) -> Refused {
    let why = error.field(b'M').unwrap_or("nobody knows why").to_owned();
    let words = format!("the versions that were chosen cannot be put in place: {why}");
    let is_usual = error.field(b'C').is_some_and(|it| it == "55P03" || it == "40P01" || it.starts_with("23"));
    if is_usual { Refused::Conflict(words) } else { Refused::Broken(words) }
}

/// At a level at which the order of reads matters, a scan is a read of each row that it looked at.
fn by_row(mut done: Done, view: View) -> Done {
    if done.operations.iter().any(|it| matches!(it, Operation::Scan { .. })) {
        let read = |(key, value): (String, Datum)| Operation::Read(Seen { key, value, writer: None });
        done.operations = view.looked_at.into_iter().map(read).collect();
    }
    done
}

/// Does a statement write constants to one row, which it names by its key?
fn is_blind(plan: &Plan, parameters: &[Parameter]) -> bool {
    let Action::Change(asked, Sets::Constants) = &plan.action else { return false };
    let predicate = predicate_of(asked.condition.as_ref(), parameters);
    predicate.is_some_and(|it| only_row(&it, &asked.table.key).is_some())
}

/// A row that becomes constants is not read, even if the engine did.
fn blind(done: &mut Done) {
    for operation in &mut done.operations {
        if let Operation::Update { key, new, .. } = operation {
            *operation = Operation::Write { key: std::mem::take(key), value: new.clone() };
        }
    }
}

/// Whoever waits for a row too long is told to try again.
pub(super) fn late(error: Message) -> Message {
    if error.field(b'C') == Some("55P03") {
        let words = "could not serialize access: another transaction has written this row and has not ended";
        return Message::error("ERROR", CONFLICT, words);
    }
    error
}
