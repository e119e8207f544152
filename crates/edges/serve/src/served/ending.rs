//! How transactions of a served application end: the store and the engine agree, or nothing is committed.

use super::statement::{How, Txn};
use super::{Answered, Served};
use crate::analyse::{Action, Plan};
use crate::transaction::{Block, Open};
use crate::wire::Message;
use iso_history::Outcome;
use std::io;
use std::sync::Arc;

/// A transaction that has ended, and is not written down yet.
pub(super) struct Ended {
    open: Open,
    outcome: Outcome,
    end: i64,
}

impl Served<'_> {
    /// COMMIT or ROLLBACK.
    pub(super) fn end_explicit(&mut self, plan: &Plan, how: &How) -> io::Result<Answered> {
        let is_commit = matches!(plan.action, Action::Commit) && self.txn.as_ref().is_some_and(|it| !it.has_failed());
        if is_commit && let Err(error) = self.commit_in_store()? {
            return Ok(Err(error));
        }
        let chains = plan.sql.to_ascii_lowercase().contains("chain");
        self.is_committing = is_commit;
        let answered = if self.txn.as_ref().is_some_and(Txn::has_failed) {
            // The engine need not know that it failed.
            let sql = if chains { "ROLLBACK AND CHAIN" } else { "ROLLBACK" };
            self.ask(sql, &[])?.map(|()| vec![Message::text(b'C', "ROLLBACK")])
        } else {
            self.engine_answer(plan, &[], how)?.0
        };
        self.is_committing = false;
        let is_committed = is_commit && answered.is_ok();
        if is_commit && answered.is_err() {
            self.shared.complain("the engine refused a commit that the store had accepted".to_owned());
        }
        self.end(if is_committed { Outcome::Committed } else { Outcome::Aborted });
        // AND CHAIN begins the next one.
        if chains && answered.is_ok() {
            self.begin_if_idle();
            if let Some(txn) = self.txn.as_mut() {
                (txn.has_block, txn.open.block) = (true, Block::Explicit);
            }
        }
        Ok(answered)
    }

    /// Commits in the store what the engine can surely commit; an error has ended the transaction, or made it fail.
    fn commit_in_store(&mut self) -> io::Result<Result<(), Message>> {
        let Some(session) = self.txn.as_ref().and_then(|it| it.session) else { return Ok(Ok(())) };
        if self.catalogue.has_late_constraints
            && let Err(error) = self.ask("SET CONSTRAINTS ALL IMMEDIATE", &[])?
        {
            self.abort_all()?;
            return Ok(Err(error));
        }
        let refused = match (self.weak.state().as_mut(), &self.txn) {
            (Some(state), Some(txn)) => state.commit(session, &txn.own).err(),
            _ => None,
        };
        let Some(refused) = refused else { return Ok(Ok(())) };
        let error = self.refuse(refused)?;
        self.abort_all()?;
        Ok(Err(error))
    }

    fn abort_all(&mut self) -> io::Result<()> {
        self.ask("ROLLBACK", &[])?.ok();
        self.end(Outcome::Aborted);
        Ok(())
    }

    /// Ends a transaction that nobody has begun by name.
    pub(super) fn commit_implicit(&mut self) -> io::Result<Result<(), Message>> {
        if self.txn.as_ref().is_none_or(Txn::is_explicit) {
            return Ok(Ok(()));
        }
        if let Err(error) = self.commit_in_store()? {
            return Ok(Err(error));
        }
        if self.txn.as_ref().is_some_and(|it| it.has_block) {
            self.is_committing = true;
            let committed = self.ask("COMMIT", &[])?;
            self.is_committing = false;
            if let Err(error) = committed {
                self.end(Outcome::Aborted);
                return Ok(Err(error));
            }
        }
        self.end(Outcome::Committed);
        Ok(Ok(()))
    }

    pub(super) fn roll_back_implicit(&mut self) -> io::Result<()> {
        if self.txn.as_ref().is_some_and(|it| it.has_block) {
            return self.abort_all();
        }
        self.end(Outcome::Aborted);
        Ok(())
    }

    /// Writes down the transactions that have ended.
    pub(super) fn record_ended(&mut self) {
        for Ended { open, outcome, end } in self.ended.drain(..) {
            self.shared.ledger.record_ended(&self.name, &open, outcome, end);
        }
    }

    /// The transaction has ended in the engine.
    pub(super) fn end(&mut self, outcome: Outcome) {
        let Some(txn) = self.txn.take() else { return };
        self.portals.clear();
        if let Some(session) = txn.session
            && outcome != Outcome::Committed
            && let Some(state) = self.weak.state().as_mut()
        {
            state.abort(session);
        }
        if txn.is_setup {
            self.weak.count_setup(false);
        }
        let defines = txn.open.defines;
        self.ended.push(Ended { open: txn.open, outcome, end: self.shared.ledger.now() });
        // Before the run, nothing is recorded; a run that begins meanwhile must not have it.
        if !self.weak.is_on() {
            self.record_ended();
        }
        if defines && outcome == Outcome::Committed {
            if self.weak.is_on() {
                self.shared.replace_catalogue(Arc::clone(&self.catalogue));
            } else {
                self.shared.refresh();
            }
        }
    }
}
